//! Overlapping pairs of one tree with itself or of two trees.

use std::marker::PhantomData;

use super::bvh::Bvh;
use super::flat::{Patches, Sharing};
use super::kin::Kin;
use super::leaves::{Filter, apart, grouped, may_meet};
use crate::backend::{Backend, Cut, Task};
use crate::lane::{BLOCK, Lane, Real};

/// Pairs of primitives and the memory that finding them takes; keep it between queries.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    list: Vec<[u32; 2]>,
    seeds: Vec<Seed>,
    next: Vec<Seed>,
    tasks: Vec<Found>,
    /// Where the pairs of each task begin in the list, and where the last ones end.
    starts: Vec<usize>,
    pub(super) keys: Vec<u64>,
    pub(super) other: Vec<u64>,
}

/// Two nodes of one level each, whose children are to be compared.
#[derive(Clone, Copy, Debug, Default)]
struct Seed {
    level: [u8; 2],
    node: [u32; 2],
}

/// Two nodes of the lowest level and which of their leaves meet: bit 8i + j for leaf i of the first and j of the second.
#[derive(Clone, Copy, Debug, Default)]
struct Meeting {
    node: [u32; 2],
    bits: u64,
}

/// What one task found.
#[derive(Clone, Debug, Default)]
struct Found {
    stack: Vec<Seed>,
    meetings: Vec<Meeting>,
    /// How many pairs of leaves they are.
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

    /// [`within`](Self::within) but for pairs in flat patches, and only those of which one is marked where `stirred` has marks
    /// (see `stir`).
    pub(super) fn within_bent<S: Real, B: Backend<Scalar = S>, const ENDS: usize>(
        &mut self,
        tree: &Bvh<S, ENDS>,
        sharing: &Sharing,
        stirred: Option<&[u8]>,
        on: &B,
    ) {
        let patches = Patches { bends: [&tree.bends, &tree.bends], sharing, stirred };
        self.search::<S, B, true, ENDS>(tree, tree, Some(patches), on);
    }

    fn search<S: Real, B: Backend<Scalar = S>, const SELF: bool, const ENDS: usize>(
        &mut self,
        a: &Bvh<S, ENDS>,
        b: &Bvh<S, ENDS>,
        patches: Option<Patches<'_, S>>,
        on: &B,
    ) {
        self.seeds.clear();
        if a.is_empty() || b.is_empty() {
            self.list.clear();
            return;
        }
        let top = |tree: &Bvh<S, ENDS>| (tree.depth() - 1) as u8;
        self.seeds.push(Seed { level: [top(a), top(b)], node: [0, 0] });
        let filter = a.filter.max(b.filter);
        let kin = if SELF && patches.is_none() { a.kin() } else { &[] };
        let search = Search::<S, SELF, ENDS> { a, b, seeds: &[], filter, kin, patches };
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
        on.fork(&Search::<S, SELF, ENDS> { seeds: &self.seeds, ..search }, Cut::Every(1), tasks);
        self.starts.clear();
        self.starts.push(0);
        let mut total = 0;
        for task in &*tasks {
            total += task.count;
            self.starts.push(total);
        }
        self.list.resize(total, [0; 2]);
        let tell = Tell::<S, SELF> { a: a.primitives(), b: b.primitives(), tasks, precision: PhantomData };
        on.fork(&tell, Cut::At(&self.starts), &mut self.list);
    }
}

/// Pairs of children that two nodes have at most.
const BELOW: usize = BLOCK * BLOCK;
/// Pairs of nodes that are compared together.
const BATCH: usize = 2 * BELOW;
/// Of a node's children with themselves: bit 8i + j for j ≥ i.
const FROM_SELF: u64 = 0x80c0_e0f0_f8fc_feff;
/// The same for j > i.
const AFTER_SELF: u64 = 0x0080_c0e0_f0f8_fcfe;

/// A query under way.
struct Search<'a, S, const SELF: bool, const ENDS: usize> {
    a: &'a Bvh<S, ENDS>,
    b: &'a Bvh<S, ENDS>,
    seeds: &'a [Seed],
    filter: Filter,
    /// By node of `a`: its neighbours in the same tree, as far as they are known.
    kin: &'a [Kin<S>],
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
            let mut bits = tall.overlapping::<L>(bound);
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
        let mut wanted = u64::MAX;
        if let Some(patches) = &self.patches {
            let places = [self.a.levels[level] + ka, self.b.levels[level] + kb];
            wanted = patches.stirred(places);
            if wanted == 0 || patches.flat(places) && patches.share(level, [ka, kb]) {
                return count;
            }
        }
        if same {
            wanted &= FROM_SELF;
        }
        let mut bits = a.overlaps::<L>(b, &self.b.bound_of(level, kb), wanted);
        let first = [(ka * BLOCK) as u32, (kb * BLOCK) as u32];
        while bits != 0 {
            let place = bits.trailing_zeros();
            bits &= bits - 1;
            let node = [first[0] + place / 8, first[1] + place % 8];
            to[count % BELOW] = Seed { level: [la - 1, lb - 1], node };
            count += 1;
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

    /// Finds out which leaves meet in pairs of nodes of the lowest level.
    ///
    /// One question after the other, each asked of all pairs of nodes: loops whose branches can be guessed.
    #[inline(always)]
    fn compare<L: Lane<Scalar = S>>(&self, nodes: &[Seed], found: &mut Found) {
        let mut meetings = [Meeting::default(); BATCH];
        let mut met = 0;
        for seed in nodes {
            let [a, b] = [seed.node[0] as usize, seed.node[1] as usize];
            let mut wanted = if SELF && a == b { AFTER_SELF } else { u64::MAX };
            if let Some(patches) = &self.patches {
                wanted &= patches.stirred([a, b]);
                // Two nodes side by side overlap, and most of their leaves face one way: cheaper to ask about that first.
                if wanted != 0 && patches.share(0, [a, b]) {
                    if !patches.flat([a, b]) {
                        wanted &= !patches.agree::<L>(a, b);
                    } else {
                        wanted = 0;
                    }
                }
                if wanted == 0 {
                    continue;
                }
            }
            let bits = self.a.nodes[a].overlaps::<L>(&self.b.nodes[b], &self.b.bound_of(0, b), wanted);
            meetings[met % BATCH] = Meeting { node: seed.node, bits };
            met += usize::from(bits != 0);
        }
        let meetings = &mut meetings[..met.min(BATCH)];
        if self.filter != Filter::None {
            self.filter::<L>(meetings);
        }
        for meeting in &*meetings {
            found.count += meeting.bits.count_ones() as usize;
        }
        found.meetings.extend_from_slice(meetings);
    }

    /// Takes back pairs of leaves that are never wanted. In patches that is for groups alone to say: which way two leaves face
    /// was asked before, and counts instead of a common vertex.
    #[inline(always)]
    fn filter<L: Lane<Scalar = S>>(&self, meetings: &mut [Meeting]) {
        if self.patches.is_some() {
            if self.filter == Filter::Full {
                for meeting in meetings {
                    let [a, b] = meeting.node;
                    meeting.bits &= grouped(&self.a.leaves[a as usize], &self.b.leaves[b as usize]);
                }
            }
            return;
        }
        // Most pairs of nodes are no neighbours, or known ones; the others are looked at closely.
        let mut close = [0_u8; BATCH];
        let mut count = 0;
        for (k, meeting) in meetings.iter_mut().enumerate() {
            let [a, b] = meeting.node;
            let look = if let Some(kin) = self.kin.get(a as usize) {
                meeting.bits &= kin.apart::<L>(b);
                kin.more
            } else {
                self.filter == Filter::Full || self.a.leaves[a as usize].may_share(&self.b.leaves[b as usize])
            };
            close[count % BATCH] = k as u8;
            count += usize::from(look);
        }
        for &k in &close[..count.min(BATCH)] {
            let meeting = &mut meetings[k as usize % BATCH];
            let [ka, kb] = [meeting.node[0] as usize, meeting.node[1] as usize];
            meeting.bits &= match self.kin.get(ka) {
                Some(kin) if !kin.lost => self.kin[kb].apart::<L>(ka as u32),
                _ => self.wanted::<L>(ka, kb),
            };
        }
    }

    /// Which leaves of two nodes may meet as far as vertices and groups say.
    #[inline(always)]
    fn wanted<L: Lane<Scalar = S>>(&self, ka: usize, kb: usize) -> u64 {
        let (a, b) = (&self.a.leaves[ka], &self.b.leaves[kb]);
        // One lane at a time the integers are quicker, and say the same.
        if self.filter == Filter::Full || L::WIDTH == 1 {
            let mut bits = 0;
            for i in 0..BLOCK {
                bits |= u64::from(may_meet(a, i, b)) << (BLOCK * i);
            }
            return bits;
        }
        if self.a.points { apart::<L, 1>(a, b) } else { apart::<L, 3>(a, b) }
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
            found.meetings.clear();
            found.count = 0;
            let mut room = [Seed::default(); BELOW];
            // Pairs of nodes of the lowest level, until there are enough of them.
            let mut nodes = [Seed::default(); BATCH];
            let mut waiting = 0;
            for &seed in &self.seeds[from..to] {
                found.stack.push(seed);
                while let Some(seed) = found.stack.pop() {
                    let below = self.below::<L>(seed, &mut room);
                    let below = &room[..below];
                    if below.first().is_some_and(|first| first.level != [0, 0]) {
                        found.stack.extend_from_slice(below);
                        continue;
                    }
                    nodes[waiting..waiting + below.len()].copy_from_slice(below);
                    waiting += below.len();
                    if waiting > BATCH - BELOW {
                        self.compare::<L>(&nodes[..waiting], found);
                        waiting = 0;
                    }
                }
            }
            self.compare::<L>(&nodes[..waiting], found);
        }
    }
}

/// Writes down the pairs that tasks found.
struct Tell<'a, S, const SELF: bool> {
    /// By node of the lowest level.
    a: &'a [[u32; BLOCK]],
    b: &'a [[u32; BLOCK]],
    tasks: &'a [Found],
    precision: PhantomData<S>,
}

impl<S: Real, const SELF: bool> Task<[u32; 2]> for Tell<'_, S, SELF> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [[u32; 2]]) {
        let mut at = 0;
        let mut aside = [[0; 2]; BELOW];
        for meeting in &self.tasks[index].meetings {
            let [a, b] = meeting.node;
            let (a, b) = (&self.a[a as usize], &self.b[b as usize]);
            // Room for the most there can be, so that no write has to be checked; the last ones go elsewhere first.
            let room = own[at..].first_chunk_mut();
            let last = room.is_none();
            let count = tell::<L, SELF>(meeting.bits, a, b, room.unwrap_or(&mut aside));
            if last {
                own[at..at + count].copy_from_slice(&aside[..count]);
            }
            at += count;
        }
    }
}

/// Writes down pairs of leaves, given by their bits; returns how many.
#[inline(always)]
fn tell<L: Lane, const SELF: bool>(bits: u64, a: &[u32; BLOCK], b: &[u32; BLOCK], to: &mut [[u32; 2]; BELOW]) -> usize {
    let mut count = 0;
    for i in 0..BLOCK {
        // As many as there are at most: whatever does not count is overwritten by the next ones.
        if let Some(room) = to[count.min(BELOW - BLOCK)..].first_chunk_mut() {
            count += L::pair_up::<SELF>(a[i], b, (bits >> (BLOCK * i)) as u8, room);
        }
    }
    count
}
