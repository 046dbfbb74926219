//! Overlapping pairs of one tree with itself or of two trees.

use super::bvh::{Bvh, Node};
use super::flat::{Patches, Sharing};
use super::leaves::{Filter, apart, may_meet};
use crate::backend::{Backend, Cut, Task};
use crate::lane::{BLOCK, Lane, Real};

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
#[derive(Clone, Copy, Debug, Default)]
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
        let mut room = [Seed::default(); BELOW];
        while self.seeds.len() < TASKS && self.seeds.iter().any(|seed| seed.level != [0, 0]) {
            self.next.clear();
            for &seed in &self.seeds {
                let count = search.below::<S>(seed, &mut room);
                self.next.extend_from_slice(&room[..count]);
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

/// Pairs of children that two nodes have at most.
const BELOW: usize = BLOCK * BLOCK;
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
    /// Pairs of children that overlap, on the level below; returns how many. A taller tree descends alone until both have
    /// one height.
    #[inline(always)]
    fn descend<L: Lane<Scalar = S>>(&self, seed: Seed, to: &mut [Seed; BELOW]) -> usize {
        let [la, lb] = seed.level;
        let (ka, kb) = (seed.node[0] as usize, seed.node[1] as usize);
        let a = &self.a.nodes[self.a.levels[la as usize] + ka];
        let b = &self.b.nodes[self.b.levels[lb as usize] + kb];
        let mut count = 0;
        if la != lb {
            // The lower tree waits at its root.
            let (tall, bound, taller) = if la > lb { (a, &self.b.bound, 0) } else { (b, &self.a.bound, 1) };
            let mut bits = tall.eight::<L>().overlapping(bound);
            while bits != 0 {
                let mut next = seed;
                next.level[taller] -= 1;
                next.node[taller] = seed.node[taller] * BLOCK as u32 + bits.trailing_zeros();
                to[count % BELOW] = next;
                count += 1;
                bits &= bits - 1;
            }
            return count;
        }
        let same = SELF && ka == kb;
        let level = la as usize;
        if let Some(patches) = &self.patches
            && patches.flat([self.a.levels[level] + ka, self.b.levels[level] + kb])
            && patches.share(level, [ka, kb])
        {
            return count;
        }
        let mut rows = self.rows::<L>(a, level, kb);
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
                let node = [(ka * BLOCK) as u32 + i, (kb * BLOCK) as u32 + j];
                to[count % BELOW] = Seed { level: [la - 1, lb - 1], node };
                count += 1;
            }
        }
        count
    }

    /// The same; a pair on the lowest level already stays as it is.
    #[inline(always)]
    fn below<L: Lane<Scalar = S>>(&self, seed: Seed, to: &mut [Seed; BELOW]) -> usize {
        if seed.level == [0, 0] {
            to[0] = seed;
            return 1;
        }
        self.descend::<L>(seed, to)
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
        let mut patch = None;
        if neighbours
            && let Some(patches) = &self.patches
            && patches.share(0, [ka, kb])
        {
            if patches.flat([ka, kb]) {
                return count;
            }
            patch = Some(patches);
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
            if let Some(patches) = patch {
                bits &= !patches.agree::<L>(ka, i, kb);
            }
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
            let mut room = [Seed::default(); BELOW];
            for &seed in &self.seeds[from..to] {
                found.stack.push(seed);
                while let Some(seed) = found.stack.pop() {
                    let below = self.below::<L>(seed, &mut room);
                    let below = &room[..below];
                    if below.first().is_some_and(|first| first.level != [0, 0]) {
                        found.stack.extend_from_slice(below);
                        continue;
                    }
                    for pair in below {
                        let (a, b) = (pair.node[0] as usize, pair.node[1] as usize);
                        count = self.compare::<L>(a, b, &mut found.pairs, count);
                    }
                }
            }
            found.count = count;
        }
    }
}
