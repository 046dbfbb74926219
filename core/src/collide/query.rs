//! Overlapping pairs of one tree with itself or of two trees.

use super::CollideError;
use super::bvh::Bvh;
use crate::backend::{Backend, Cut, Task};
use crate::lane::{BLOCK, Lane, Real};

/// Which groups a primitive belongs to and which it may touch, one bit a group.
///
/// Two primitives meet when each one's groups appear in the other's mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Groups this belongs to.
    pub member: u32,
    /// Groups this may touch.
    pub touches: u32,
}

impl Groups {
    /// In every group and touching every group.
    pub const ALL: Self = Self { member: u32::MAX, touches: u32::MAX };

    /// Whether the two may touch.
    pub fn meet(self, other: Self) -> bool {
        self.member & other.touches != 0 && other.member & self.touches != 0
    }
}

/// What the primitives are, as far as it decides which pairs are never wanted.
///
/// Pairs that share a vertex are left out, in one tree as between two: vertices, edges and triangles of one mesh use the
/// same vertex ids. Primitives of different meshes need different ids.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leaves<'a> {
    /// Vertex ids of each primitive.
    pub elements: Elements<'a>,
    /// Groups of each primitive; all touch all when absent.
    pub groups: Option<&'a [Groups]>,
}

/// Vertex ids of primitives.
#[derive(Clone, Copy, Debug, Default)]
pub enum Elements<'a> {
    /// Nothing shares a vertex with anything.
    #[default]
    None,
    /// Primitive i is vertex i.
    Vertices,
    /// Two ids each.
    Edges(&'a [[u32; 2]]),
    /// Three ids each.
    Triangles(&'a [[u32; 3]]),
}

/// Who eight leaves are, in columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    ids: [u32; BLOCK],
    corners: [[u32; BLOCK]; 3],
    member: [u32; BLOCK],
    touches: [u32; BLOCK],
}

impl Leaves<'_> {
    pub(super) fn check(&self, count: usize) -> Result<(), CollideError> {
        let expect = |what, found| {
            if found == count { Ok(()) } else { Err(CollideError::Length { what, found, expected: count }) }
        };
        match self.elements {
            Elements::None | Elements::Vertices => {}
            Elements::Edges(ids) => expect("list of edges", ids.len())?,
            Elements::Triangles(ids) => expect("list of triangles", ids.len())?,
        }
        self.groups.map_or(Ok(()), |groups| expect("list of groups", groups.len()))
    }

    /// Leaves in tree order.
    pub(super) fn collect(&self, order: &[u32], to: &mut Vec<Leaf>) {
        to.clear();
        to.extend(order.chunks(BLOCK).map(|ids| {
            // Lanes that are not used never overlap anything: what they hold does not matter.
            let mut leaf =
                Leaf { ids: [0; BLOCK], corners: [[u32::MAX; BLOCK]; 3], member: [0; BLOCK], touches: [0; BLOCK] };
            for (lane, &id) in ids.iter().enumerate() {
                let at = id as usize;
                let corners = match self.elements {
                    // No vertex at all, which `may_meet` knows.
                    Elements::None => [u32::MAX; 3],
                    Elements::Vertices => [id; 3],
                    Elements::Edges(edges) => [edges[at][0], edges[at][1], edges[at][1]],
                    Elements::Triangles(triangles) => triangles[at],
                };
                let groups = self.groups.map_or(Groups::ALL, |groups| groups[at]);
                leaf.ids[lane] = id;
                for k in 0..3 {
                    leaf.corners[k][lane] = corners[k];
                }
                leaf.member[lane] = groups.member;
                leaf.touches[lane] = groups.touches;
            }
            leaf
        }));
    }
}

/// The lanes of `b` that lane `i` of `a` may meet: no common vertex, groups that meet. One bit each.
///
/// Plain loops over eight numbers: compilers turn them into vector instructions of whatever set is turned on.
#[inline(always)]
pub(super) fn may_meet(a: &Leaf, i: usize, b: &Leaf) -> u32 {
    let (c0, c1, c2) = (a.corners[0][i], a.corners[1][i], a.corners[2][i]);
    let (member, touches) = (a.member[i], a.touches[i]);
    let mut keep = [0_u32; BLOCK];
    for l in 0..BLOCK {
        let (b0, b1, b2) = (b.corners[0][l], b.corners[1][l], b.corners[2][l]);
        let shared = (c0 == b0) | (c0 == b1) | (c0 == b2) | (c1 == b0) | (c1 == b1) | (c1 == b2);
        let shared = (shared | (c2 == b0) | (c2 == b1) | (c2 == b2)) & (b0 != u32::MAX);
        let meet = (member & b.touches[l] != 0) & (b.member[l] & touches != 0);
        keep[l] = u32::from(!shared & meet) << l;
    }
    let mut bits = 0;
    for l in 0..BLOCK {
        bits |= keep[l];
    }
    bits
}

/// Pairs of primitives and the memory that finding them takes; keep it between queries.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    list: Vec<[u32; 2]>,
    seeds: Vec<Seed>,
    next: Vec<Seed>,
    tasks: Vec<Found>,
    pub(super) keys: Vec<u64>,
    pub(super) other: Vec<u64>,
}

/// Two nodes of one level each, whose children are to be compared.
#[derive(Clone, Copy, Debug)]
struct Seed {
    level: [u8; 2],
    node: [u32; 2],
}

/// What one task found.
#[derive(Clone, Debug, Default)]
struct Found {
    stack: Vec<Seed>,
    pairs: Vec<[u32; 2]>,
}

/// Into how many tasks a query is cut at most. Never by the number of threads: the order of pairs depends on it.
const TASKS: usize = 64;

impl Pairs {
    /// No pairs yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The pairs.
    pub fn list(&self) -> &[[u32; 2]] {
        &self.list
    }

    pub(super) fn list_mut(&mut self) -> &mut Vec<[u32; 2]> {
        &mut self.list
    }

    /// Puts the pairs in ascending order, by the first primitive and then the second.
    pub fn sort(&mut self) {
        let bits = self.list.iter().fold(0, |bits, pair| bits | pair[0] | pair[1]);
        let width = 32 - bits.leading_zeros();
        self.keys.clear();
        self.keys.extend(self.list.iter().map(|&[a, b]| u64::from(a) << width | u64::from(b)));
        super::morton::radix_sort(&mut self.keys, &mut self.other, 0, 2 * width);
        let mask = (1_u64 << width) - 1;
        for (pair, key) in self.list.iter_mut().zip(&self.keys) {
            *pair = [(key >> width) as u32, (key & mask) as u32];
        }
    }

    /// All pairs of one tree whose boxes overlap, the lower primitive first; each once.
    pub fn within<S: Real, B: Backend<Scalar = S>>(&mut self, tree: &Bvh<S>, on: &B) {
        self.search::<S, B, true>(tree, tree, on);
    }

    /// All pairs of a primitive of `first` and one of `second` whose boxes overlap; each once.
    pub fn between<S: Real, B: Backend<Scalar = S>>(&mut self, first: &Bvh<S>, second: &Bvh<S>, on: &B) {
        self.search::<S, B, false>(first, second, on);
    }

    fn search<S: Real, B: Backend<Scalar = S>, const SELF: bool>(&mut self, a: &Bvh<S>, b: &Bvh<S>, on: &B) {
        self.list.clear();
        self.seeds.clear();
        if a.is_empty() || b.is_empty() {
            return;
        }
        let top = |tree: &Bvh<S>| (tree.depth() - 1) as u8;
        self.seeds.push(Seed { level: [top(a), top(b)], node: [0, 0] });
        let search = Search::<S, SELF> { a, b, seeds: &[] };
        // Level by level until there is enough to share.
        while self.seeds.len() < TASKS && self.seeds.iter().any(|seed| seed.level != [0, 0]) {
            self.next.clear();
            for &seed in &self.seeds {
                if seed.level == [0, 0] {
                    self.next.push(seed);
                } else {
                    search.descend::<S>(seed, &mut self.next);
                }
            }
            std::mem::swap(&mut self.seeds, &mut self.next);
        }
        let count = self.seeds.len().min(TASKS);
        if self.tasks.len() < count {
            self.tasks.resize_with(count, Found::default);
        }
        let tasks = &mut self.tasks[..count];
        on.fork(&Search::<S, SELF> { a, b, seeds: &self.seeds }, Cut::Every(1), tasks);
        for task in tasks {
            self.list.extend_from_slice(&task.pairs);
        }
    }
}

/// A query under way.
struct Search<'a, S, const SELF: bool> {
    a: &'a Bvh<S>,
    b: &'a Bvh<S>,
    seeds: &'a [Seed],
}

impl<S: Real, const SELF: bool> Search<'_, S, SELF> {
    /// Pairs of children that overlap, on the level below. A taller tree descends alone until both have one height.
    #[inline(always)]
    fn descend<L: Lane<Scalar = S>>(&self, seed: Seed, to: &mut Vec<Seed>) {
        let [la, lb] = seed.level;
        let (ka, kb) = (seed.node[0] as usize, seed.node[1] as usize);
        let a = &self.a.nodes[self.a.levels[la as usize] + ka];
        let b = &self.b.nodes[self.b.levels[lb as usize] + kb];
        if la != lb {
            let (tall, short, taller) = if la > lb { (a, b, 0) } else { (b, a, 1) };
            let bound = &short.bound.0.0;
            let mut bits = tall.overlapping::<L>([bound[0], bound[1], bound[2], bound[3], bound[4], bound[5]]);
            while bits != 0 {
                let mut next = seed;
                next.level[taller] -= 1;
                next.node[taller] = seed.node[taller] * BLOCK as u32 + bits.trailing_zeros();
                to.push(next);
                bits &= bits - 1;
            }
            return;
        }
        let same = SELF && ka == kb;
        let bound = &b.bound.0.0;
        let mut rows = a.overlapping::<L>([bound[0], bound[1], bound[2], bound[3], bound[4], bound[5]]);
        while rows != 0 {
            let i = rows.trailing_zeros();
            rows &= rows - 1;
            let mut bits = b.overlapping::<L>(a.child(i as usize));
            if same {
                // The child with itself and with those after it.
                bits &= u32::MAX << i;
            }
            while bits != 0 {
                let j = bits.trailing_zeros();
                bits &= bits - 1;
                to.push(Seed { level: [la - 1, lb - 1], node: [(ka * BLOCK) as u32 + i, (kb * BLOCK) as u32 + j] });
            }
        }
    }

    /// Pairs of leaves of two nodes of the lowest level.
    #[inline(always)]
    fn compare<L: Lane<Scalar = S>>(&self, ka: usize, kb: usize, to: &mut Vec<[u32; 2]>) {
        let (a, b) = (&self.a.nodes[ka], &self.b.nodes[kb]);
        let (leaf_a, leaf_b) = (&self.a.leaves[ka], &self.b.leaves[kb]);
        let same = SELF && ka == kb;
        let bound = &b.bound.0.0;
        let mut rows = a.overlapping::<L>([bound[0], bound[1], bound[2], bound[3], bound[4], bound[5]]);
        while rows != 0 {
            let i = rows.trailing_zeros() as usize;
            rows &= rows - 1;
            let mut bits = b.overlapping::<L>(a.child(i));
            if same {
                bits &= (u32::MAX << 1) << i;
            }
            if bits == 0 {
                continue;
            }
            bits &= may_meet(leaf_a, i, leaf_b);
            let first = leaf_a.ids[i];
            while bits != 0 {
                let second = leaf_b.ids[bits.trailing_zeros() as usize];
                bits &= bits - 1;
                to.push(if SELF { [first.min(second), first.max(second)] } else { [first, second] });
            }
        }
    }
}

impl<S: Real, const SELF: bool> Task<Found> for Search<'_, S, SELF> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Found]) {
        // Tasks take equal runs of seeds, the first ones one more.
        let count = self.seeds.len().min(TASKS);
        let (from, to) = (self.seeds.len() * index / count, self.seeds.len() * (index + 1) / count);
        for found in own {
            found.pairs.clear();
            for &seed in &self.seeds[from..to] {
                found.stack.push(seed);
                while let Some(seed) = found.stack.pop() {
                    if seed.level == [0, 0] {
                        self.compare::<L>(seed.node[0] as usize, seed.node[1] as usize, &mut found.pairs);
                    } else {
                        self.descend::<L>(seed, &mut found.stack);
                    }
                }
            }
        }
    }
}
