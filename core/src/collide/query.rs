//! Overlapping pairs of one tree with itself or of two trees.

use super::CollideError;
use super::bvh::{Bvh, Node};
use super::flat::{Patches, Sharing};
use crate::backend::{Backend, Cut, Task};
use crate::lane::{BLOCK, Lane, Octet, Real};

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

/// Stands where there is no vertex.
const NO_VERTEX: u32 = u32::MAX;

/// Who eight leaves are, in columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf<S> {
    ids: [u32; BLOCK],
    corners: [[u32; BLOCK]; 3],
    /// The same as numbers, for lanes.
    numbers: [Octet<S>; 3],
    member: [u32; BLOCK],
    touches: [u32; BLOCK],
    /// One bit for each corner, by a hash of its id: leaves without a common bit share no vertex.
    marks: [u64; 4],
}

impl<S> Leaf<S> {
    /// Vertices of the primitives, by corner.
    #[inline(always)]
    pub fn corners(&self) -> &[[u32; BLOCK]; 3] {
        &self.corners
    }

    /// Whether some of the primitives may share a vertex.
    #[inline(always)]
    fn may_share(&self, other: &Self) -> bool {
        let mut common = 0;
        for k in 0..4 {
            common |= self.marks[k] & other.marks[k];
        }
        common != 0
    }
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

    /// How much of a filter these leaves need.
    pub(super) fn filter<S: Real>(&self, count: usize) -> Filter {
        let highest = match self.elements {
            Elements::None => None,
            Elements::Vertices => Some((count as u32).saturating_sub(1)),
            Elements::Edges(edges) => edges.iter().flatten().copied().max(),
            Elements::Triangles(triangles) => triangles.iter().flatten().copied().max(),
        };
        // Whole numbers up to 1/ε = 2²³ are exact and have exact differences in `f32`, all ids in `f64`.
        let limit = (1.0 / S::EPSILON.to_f64()).min(f64::from(u32::MAX)) as u32;
        match highest {
            _ if self.groups.is_some() => Filter::Full,
            None => Filter::None,
            Some(id) if id < limit => Filter::Vertices,
            Some(_) => Filter::Full,
        }
    }

    /// Leaves in tree order.
    pub(super) fn collect<S: Real>(&self, order: &[u32], to: &mut Vec<Leaf<S>>) {
        to.clear();
        to.extend(order.chunks(BLOCK).map(|ids| {
            // Lanes that are not used never overlap anything: what they hold does not matter.
            let mut leaf = Leaf {
                ids: [0; BLOCK],
                corners: [[NO_VERTEX; BLOCK]; 3],
                numbers: [Octet([S::ZERO; BLOCK]); 3],
                member: [0; BLOCK],
                touches: [0; BLOCK],
                marks: [0; 4],
            };
            for (lane, &id) in ids.iter().enumerate() {
                let at = id as usize;
                let corners = match self.elements {
                    // No vertex at all, which `may_meet` knows.
                    Elements::None => [NO_VERTEX; 3],
                    Elements::Vertices => [id; 3],
                    Elements::Edges(edges) => [edges[at][0], edges[at][1], edges[at][1]],
                    Elements::Triangles(triangles) => triangles[at],
                };
                let groups = self.groups.map_or(Groups::ALL, |groups| groups[at]);
                leaf.ids[lane] = id;
                for k in 0..3 {
                    leaf.corners[k][lane] = corners[k];
                    leaf.numbers[k].0[lane] = S::from_f64(f64::from(corners[k]));
                }
                leaf.member[lane] = groups.member;
                leaf.touches[lane] = groups.touches;
                if !matches!(self.elements, Elements::None) {
                    for corner in corners {
                        // The upper bits of a product by 2³²/φ are well mixed.
                        let mark = corner.wrapping_mul(0x9e37_79b9) >> 24;
                        leaf.marks[mark as usize / 64] |= 1 << (mark % 64);
                    }
                }
            }
            for lane in ids.len()..BLOCK {
                // Never looked at, but real vertices, so that lanes may load them.
                for k in 0..3 {
                    leaf.corners[k][lane] = leaf.corners[k][0];
                }
            }
            leaf
        }));
    }
}

/// The lanes of `b` that lane `i` of `a` may meet: no common vertex, groups that meet. One bit each.
///
/// In integers, for every case; [`apart`] is the quick way for most.
#[inline(always)]
pub(super) fn may_meet<S>(a: &Leaf<S>, i: usize, b: &Leaf<S>) -> u32 {
    let (member, touches) = (a.member[i], a.touches[i]);
    let mut shared = [0_u32; BLOCK];
    for mine in 0..3 {
        let corner = a.corners[mine][i];
        for theirs in 0..3 {
            for l in 0..BLOCK {
                shared[l] |= u32::from(corner == b.corners[theirs][l]);
            }
        }
    }
    // No vertex equals no vertex, but it is not shared.
    let known = u32::from(a.corners[0][i] != NO_VERTEX);
    let mut bits = 0;
    for l in 0..BLOCK {
        let meet = u32::from(member & b.touches[l] != 0) & u32::from(b.member[l] & touches != 0);
        bits |= (meet & !(shared[l] & known)) << l;
    }
    bits
}

/// How pairs of leaves are told apart from neighbours, from the cheapest way to the most general.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Filter {
    /// Every pair is wanted.
    None,
    /// Those without a common vertex.
    Vertices,
    /// Groups, or ids too large for lanes.
    Full,
}

/// The lanes of `b` that share no vertex with lane `i` of `a`, one bit each.
///
/// A product of differences of ids is 0 where two agree, and NaN if another factor overflowed: neither is above 0.
#[inline(always)]
fn apart<L: Lane>(a: &Leaf<L::Scalar>, i: usize, b: &Leaf<L::Scalar>) -> u32 {
    let (c0, c1, c2) = (L::splat(a.numbers[0].0[i]), L::splat(a.numbers[1].0[i]), L::splat(a.numbers[2].0[i]));
    let mut bits = 0;
    let mut at = 0;
    while at < BLOCK {
        let (b0, b1, b2) = (L::load(&b.numbers[0], at), L::load(&b.numbers[1], at), L::load(&b.numbers[2], at));
        let p0 = (c0 - b0) * (c0 - b1) * (c0 - b2);
        let p1 = (c1 - b0) * (c1 - b1) * (c1 - b2);
        let p2 = (c2 - b0) * (c2 - b1) * (c2 - b2);
        let p = p0 * p1 * p2;
        bits |= L::bits((p * p).gt(L::zero())) << at;
        at += L::WIDTH;
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
    /// Pairs, and room behind them.
    pairs: Vec<[u32; 2]>,
    count: usize,
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
        super::curve::radix_sort(&mut self.keys, &mut self.other, 0, 2 * width);
        let mask = (1_u64 << width) - 1;
        for (pair, key) in self.list.iter_mut().zip(&self.keys) {
            *pair = [(key >> width) as u32, (key & mask) as u32];
        }
    }

    /// All pairs of one tree whose boxes overlap, the lower primitive first; each once.
    pub fn within<S: Real, B: Backend<Scalar = S>, const ENDS: usize>(&mut self, tree: &Bvh<S, ENDS>, on: &B) {
        self.search::<S, B, true, ENDS>(tree, tree, None, on);
    }

    /// All pairs of a primitive of `first` and one of `second` whose boxes overlap; each once.
    pub fn between<S: Real, B: Backend<Scalar = S>, const ENDS: usize>(
        &mut self,
        first: &Bvh<S, ENDS>,
        second: &Bvh<S, ENDS>,
        on: &B,
    ) {
        self.search::<S, B, false, ENDS>(first, second, None, on);
    }

    /// [`within`](Self::within) but for pairs in flat patches.
    pub(super) fn within_bent<S: Real, B: Backend<Scalar = S>, const ENDS: usize>(
        &mut self,
        tree: &Bvh<S, ENDS>,
        sharing: &Sharing,
        on: &B,
    ) {
        let patches = Patches { bends: [&tree.bends, &tree.bends], sharing };
        self.search::<S, B, true, ENDS>(tree, tree, Some(patches), on);
    }

    /// [`between`](Self::between) but for pairs in flat patches.
    pub(super) fn between_bent<S: Real, B: Backend<Scalar = S>, const ENDS: usize>(
        &mut self,
        first: &Bvh<S, ENDS>,
        second: &Bvh<S, ENDS>,
        sharing: &Sharing,
        on: &B,
    ) {
        let patches = Patches { bends: [&first.bends, &second.bends], sharing };
        self.search::<S, B, false, ENDS>(first, second, Some(patches), on);
    }

    fn search<S: Real, B: Backend<Scalar = S>, const SELF: bool, const ENDS: usize>(
        &mut self,
        a: &Bvh<S, ENDS>,
        b: &Bvh<S, ENDS>,
        patches: Option<Patches<'_, S>>,
        on: &B,
    ) {
        self.list.clear();
        self.seeds.clear();
        if a.is_empty() || b.is_empty() {
            return;
        }
        let top = |tree: &Bvh<S, ENDS>| (tree.depth() - 1) as u8;
        self.seeds.push(Seed { level: [top(a), top(b)], node: [0, 0] });
        let filter = a.filter.max(b.filter);
        let search = Search::<S, SELF, ENDS> { a, b, seeds: &[], filter, patches };
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
        on.fork(&Search::<S, SELF, ENDS> { a, b, seeds: &self.seeds, filter, patches }, Cut::Every(1), tasks);
        for task in tasks {
            let found = &task.pairs[..task.count];
            if SELF {
                self.list.extend(found.iter().map(|&[a, b]| [a.min(b), a.max(b)]));
            } else {
                self.list.extend_from_slice(found);
            }
        }
    }
}

/// Room for the pairs of two nodes and the writes after the last; a power of two.
const ROOM: usize = 128;

/// The places of the bits that are set in each byte, lowest first, and how many there are.
const PLACES: [([u8; BLOCK], u8); 256] = {
    let mut places = [([0; BLOCK], 0); 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < BLOCK {
            if byte >> bit & 1 == 1 {
                let (list, count) = &mut places[byte];
                list[*count as usize] = bit as u8;
                *count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    places
};

/// A query under way.
struct Search<'a, S, const SELF: bool, const ENDS: usize> {
    a: &'a Bvh<S, ENDS>,
    b: &'a Bvh<S, ENDS>,
    seeds: &'a [Seed],
    filter: Filter,
    /// Where given, pairs in flat patches are not wanted.
    patches: Option<Patches<'a, S>>,
}

impl<S: Real, const SELF: bool, const ENDS: usize> Search<'_, S, SELF, ENDS> {
    /// Pairs of children that overlap, on the level below. A taller tree descends alone until both have one height.
    #[inline(always)]
    fn descend<L: Lane<Scalar = S>>(&self, seed: Seed, to: &mut Vec<Seed>) {
        let [la, lb] = seed.level;
        let (ka, kb) = (seed.node[0] as usize, seed.node[1] as usize);
        let a = &self.a.nodes[self.a.levels[la as usize] + ka];
        let b = &self.b.nodes[self.b.levels[lb as usize] + kb];
        if la != lb {
            // The lower tree waits at its root.
            let (tall, bound, taller) = if la > lb { (a, &self.b.bound, 0) } else { (b, &self.a.bound, 1) };
            let mut bits = tall.eight::<L>().overlapping(bound);
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
        let level = la as usize;
        if let Some(patches) = &self.patches
            && patches.hide(level, [self.a.levels[level] + ka, self.b.levels[level] + kb], [ka, kb])
        {
            return;
        }
        let mut rows = self.rows::<L>(a, lb as usize, kb);
        let eight = b.eight::<L>();
        while rows != 0 {
            let i = rows.trailing_zeros();
            rows &= rows - 1;
            let mut bits = eight.overlapping(&a.child(i as usize));
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

    /// The children of `a` that overlap node `kb` of a level as a whole.
    #[inline(always)]
    fn rows<L: Lane<Scalar = S>>(&self, a: &Node<S, ENDS>, level: usize, kb: usize) -> u32 {
        if level + 1 >= self.b.depth() {
            return a.eight::<L>().overlapping(&self.b.bound);
        }
        let parent = &self.b.nodes[self.b.levels[level + 1] + kb / BLOCK];
        a.eight::<L>().overlapping(&parent.child(kb % BLOCK))
    }

    /// Pairs of leaves of two nodes of the lowest level, written to `found` from `count` on; returns the new count.
    #[inline(always)]
    fn compare<L: Lane<Scalar = S>>(&self, ka: usize, kb: usize, found: &mut Vec<[u32; 2]>, count: usize) -> usize {
        if found.len() < count + ROOM {
            found.resize(2 * count + ROOM, [0; 2]);
        }
        let Some(room) = found[count..].first_chunk_mut::<ROOM>() else { return count };
        let (a, b) = (&self.a.nodes[ka], &self.b.nodes[kb]);
        let (leaf_a, leaf_b) = (&self.a.leaves[ka], &self.b.leaves[kb]);
        let same = SELF && ka == kb;
        // Most pairs of nodes are no neighbours.
        let neighbours = leaf_a.may_share(leaf_b);
        let filter = if self.filter == Filter::Vertices && !neighbours { Filter::None } else { self.filter };
        if neighbours
            && let Some(patches) = &self.patches
            && patches.hide(0, [ka, kb], [ka, kb])
        {
            return count;
        }
        let mut rows = self.rows::<L>(a, 0, kb);
        let eight = b.eight::<L>();
        let mut written = 0;
        while rows != 0 {
            let i = rows.trailing_zeros() as usize % BLOCK;
            rows &= rows - 1;
            let mut bits = eight.overlapping(&a.child(i));
            if same {
                bits &= (u32::MAX << 1) << i;
            }
            if bits == 0 {
                continue;
            }
            bits &= match filter {
                Filter::None => u32::MAX,
                // One lane at a time the integers are quicker, and say the same.
                Filter::Vertices if L::WIDTH > 1 => apart::<L>(leaf_a, i, leaf_b),
                Filter::Vertices => may_meet(leaf_a, i, leaf_b),
                Filter::Full => may_meet(leaf_a, i, leaf_b),
            };
            // Four writes at a time: how many pairs a row has cannot be predicted, and a wrong guess costs more.
            let first = leaf_a.ids[i];
            let (places, more) = &PLACES[bits as usize % 256];
            for l in 0..4 {
                room[(written + l) % ROOM] = [first, leaf_b.ids[places[l] as usize % BLOCK]];
            }
            if *more > 4 {
                for l in 4..BLOCK {
                    room[(written + l) % ROOM] = [first, leaf_b.ids[places[l] as usize % BLOCK]];
                }
            }
            written += *more as usize;
        }
        count + written
    }
}

impl<S: Real, const SELF: bool, const ENDS: usize> Task<Found> for Search<'_, S, SELF, ENDS> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Found]) {
        // Tasks take equal runs of seeds, the first ones one more.
        let count = self.seeds.len().min(TASKS);
        let (from, to) = (self.seeds.len() * index / count, self.seeds.len() * (index + 1) / count);
        for found in own {
            let mut count = 0;
            for &seed in &self.seeds[from..to] {
                found.stack.push(seed);
                while let Some(seed) = found.stack.pop() {
                    if seed.level == [0, 0] {
                        let (a, b) = (seed.node[0] as usize, seed.node[1] as usize);
                        count = self.compare::<L>(a, b, &mut found.pairs, count);
                    } else {
                        self.descend::<L>(seed, &mut found.stack);
                    }
                }
            }
            found.count = count;
        }
    }
}
