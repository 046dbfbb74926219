//! A tree of boxes that finds overlapping pairs without looking at all of them.
//!
//! The primitives are sorted once along a space-filling curve, in the rest pose, and every eight neighbours in that order
//! share a node, every eight nodes a parent, up to one root. No pointers: node k of a level holds the children 8k to 8k + 7
//! of the level below. While things move the boxes are refitted; the order stays. For cloth this is not only cheaper than
//! sorting again but better: folded layers that happen to be near do not get mixed up.
//! ```text
//!   level 1      [ 0 .. 7 ]                     column k of a node: number k of its eight children's boxes,
//!   level 0  [ 0..7 ] [ 8..15 ] ...             one vector load; children that do not exist are empty boxes
//!   leaves   o o o o o o o o  o o ...
//! ```
//! Queries descend pairs of nodes, eight children against eight. The result is the set of pairs that brute force would find,
//! in an order that depends on the tree alone, not on the lane width or the number of threads.

use super::CollideError;
use super::aabb::Aabb;
use super::morton;
use super::query::{Filter, Leaf, Leaves};
use crate::backend::{Backend, Cut, Task};
use crate::lane::{BLOCK, Lane, Octet, Real};

/// Nodes a task of a refit fills.
const REFIT_NODES: usize = 128;
/// How much the nodes may outgrow their leaves, over what it was when sorted, before sorting again is advised.
const WORN: f64 = 2.0;

/// Eight boxes side by side and the box around them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<S> {
    /// Number k of [`Aabb`] for each child.
    pub columns: [Octet<S>; 6],
    pub bound: Aabb<S>,
}

impl<S: Real> Node<S> {
    fn empty() -> Self {
        let far = Octet([S::from_f64(f64::INFINITY); BLOCK]);
        Self { columns: [far; 6], bound: Aabb::empty() }
    }

    /// The negated columns, ready to be compared with boxes.
    #[inline(always)]
    pub fn eight<L: Lane<Scalar = S>>(&self) -> Eight<L> {
        let mut negated = [[L::zero(); 6]; BLOCK];
        let mut at = 0;
        while at < BLOCK {
            for k in 0..6 {
                negated[at / L::WIDTH][k] = -L::load(&self.columns[k], at);
            }
            at += L::WIDTH;
        }
        Eight(negated)
    }

    /// The box of one child.
    #[inline(always)]
    pub fn child(&self, lane: usize) -> [S; 6] {
        let c = &self.columns;
        [c[0].0[lane], c[1].0[lane], c[2].0[lane], c[3].0[lane], c[4].0[lane], c[5].0[lane]]
    }
}

/// Eight boxes in registers: [`Node::columns`] with their signs changed, in runs of lanes.
pub(super) struct Eight<L>([[L; 6]; BLOCK]);

impl<L: Lane> Eight<L> {
    /// Which of the boxes overlap another one, one bit each.
    #[inline(always)]
    pub fn overlapping(&self, other: [L::Scalar; 6]) -> u32 {
        let mut bits = 0;
        let mut at = 0;
        while at < BLOCK {
            let c = &self.0[at / L::WIDTH];
            // low ≤ high' is −low ≥ −high', and low' ≤ high is high ≥ low'.
            let mut mask = c[0].ge(L::splat(other[3]));
            mask = L::both(mask, c[1].ge(L::splat(other[4])));
            mask = L::both(mask, c[2].ge(L::splat(other[5])));
            mask = L::both(mask, c[3].ge(L::splat(other[0])));
            mask = L::both(mask, c[4].ge(L::splat(other[1])));
            mask = L::both(mask, c[5].ge(L::splat(other[2])));
            bits |= L::bits(mask) << at;
            at += L::WIDTH;
        }
        bits
    }
}

/// A tree of boxes with eight children a node.
#[derive(Clone, Debug)]
pub struct Bvh<S> {
    /// The primitive of each leaf.
    order: Vec<u32>,
    /// All nodes, lowest level first; the last one is the root.
    pub(super) nodes: Vec<Node<S>>,
    /// First node of each level, and the number of nodes.
    pub(super) levels: Vec<usize>,
    pub(super) leaves: Vec<Leaf<S>>,
    pub(super) filter: Filter,
    scratch: morton::Scratch,
    /// [`Self::looseness`] when the leaves were sorted.
    fresh: f64,
}

impl<S: Real> Bvh<S> {
    /// A tree of nothing.
    pub fn new() -> Self {
        Self {
            order: Vec::new(),
            nodes: Vec::new(),
            levels: Vec::new(),
            leaves: Vec::new(),
            filter: Filter::None,
            scratch: morton::Scratch::default(),
            fresh: 0.0,
        }
    }

    /// Sorts the primitives by where their boxes are and builds the tree. Keeps its memory for the next time.
    ///
    /// `leaves` tells which pairs are never wanted (primitives that share a vertex, groups that ignore each other).
    ///
    /// # Errors
    /// A box that is not finite or inverted, or another number of `leaves` than of boxes.
    pub fn build<B: Backend<Scalar = S>>(
        &mut self,
        boxes: &[Aabb<S>],
        leaves: &Leaves<'_>,
        on: &B,
    ) -> Result<(), CollideError> {
        Aabb::check(boxes)?;
        leaves.check(boxes.len())?;
        morton::sort(boxes, &mut self.order, &mut self.scratch);
        self.levels.clear();
        let mut total = 0;
        let mut width = boxes.len();
        while width > 0 {
            let nodes = width.div_ceil(BLOCK);
            self.levels.push(total);
            total += nodes;
            width = if nodes > 1 { nodes } else { 0 };
        }
        self.levels.push(total);
        self.nodes.clear();
        self.nodes.resize(total, Node::empty());
        leaves.collect(&self.order, &mut self.leaves);
        self.filter = leaves.filter::<S>(boxes.len());
        self.fill(boxes, on);
        self.fresh = self.looseness();
        Ok(())
    }

    /// Moves the boxes, keeps the order of the leaves.
    ///
    /// # Errors
    /// A box that is not finite or inverted, or another number of boxes than the tree was built with. The tree is then
    /// as it was.
    pub fn refit<B: Backend<Scalar = S>>(&mut self, boxes: &[Aabb<S>], on: &B) -> Result<(), CollideError> {
        if boxes.len() != self.order.len() {
            return Err(CollideError::Length { what: "list of boxes", found: boxes.len(), expected: self.order.len() });
        }
        Aabb::check(boxes)?;
        self.fill(boxes, on);
        Ok(())
    }

    fn fill<B: Backend<Scalar = S>>(&mut self, boxes: &[Aabb<S>], on: &B) {
        for level in 0..self.depth() {
            let (below, rest) = self.nodes.split_at_mut(self.levels[level]);
            let nodes = &mut rest[..self.levels[level + 1] - self.levels[level]];
            let cut = Cut::Every(REFIT_NODES);
            if level == 0 {
                on.fork(&FillLeaves { boxes, order: &self.order }, cut, nodes);
            } else {
                on.fork(&FillNodes { below: &below[self.levels[level - 1]..] }, cut, nodes);
            }
        }
    }

    /// How many primitives there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The primitive of a leaf.
    pub(super) fn primitive(&self, leaf: usize) -> u32 {
        self.order[leaf]
    }

    /// How many levels of nodes there are.
    pub(super) fn depth(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// The box around everything; empty for an empty tree.
    pub fn bound(&self) -> Aabb<S> {
        self.nodes.last().map_or_else(Aabb::empty, |root| root.bound)
    }

    /// The surface of all nodes over that of all leaves: how loosely nodes hold what is in them.
    fn looseness(&self) -> f64 {
        let nodes: f64 = self.nodes.iter().map(|node| node.bound.half_surface()).sum();
        let leaf = |i: usize| {
            let [a, b, c, d, e, f] = self.nodes[i / BLOCK].child(i % BLOCK);
            Aabb::new([a, b, c], [-d, -e, -f]).half_surface()
        };
        let leaves: f64 = (0..self.len()).map(leaf).sum();
        if leaves > 0.0 { nodes / leaves } else { 0.0 }
    }

    /// Whether the primitives have moved apart so far that building again would pay: neighbours in the order are no longer
    /// neighbours in space. Costs about half a refit; asking every few dozen steps is enough.
    pub fn worn(&self) -> bool {
        self.looseness() > WORN * self.fresh
    }
}

impl<S: Real> Default for Bvh<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// Fills nodes of the lowest level.
struct FillLeaves<'a, S> {
    boxes: &'a [Aabb<S>],
    order: &'a [u32],
}

impl<S: Real> Task<Node<S>> for FillLeaves<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Node<S>]) {
        for (k, node) in own.iter_mut().enumerate() {
            let first = (index * REFIT_NODES + k) * BLOCK;
            let count = BLOCK.min(self.order.len() - first);
            let mut bound = [L::splat(S::from_f64(f64::INFINITY)); BLOCK];
            for lane in 0..count {
                place::<L>(node, lane, &self.boxes[self.order[first + lane] as usize], &mut bound);
            }
            keep::<L>(node, bound);
        }
    }
}

/// Fills nodes of a higher level.
struct FillNodes<'a, S> {
    below: &'a [Node<S>],
}

impl<S: Real> Task<Node<S>> for FillNodes<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Node<S>]) {
        for (k, node) in own.iter_mut().enumerate() {
            let first = (index * REFIT_NODES + k) * BLOCK;
            let count = BLOCK.min(self.below.len() - first);
            let mut bound = [L::splat(S::from_f64(f64::INFINITY)); BLOCK];
            for lane in 0..count {
                place::<L>(node, lane, &self.below[first + lane].bound, &mut bound);
            }
            keep::<L>(node, bound);
        }
    }
}

/// Puts a child's box into its lane and under the bound.
#[inline(always)]
fn place<L: Lane>(node: &mut Node<L::Scalar>, lane: usize, child: &Aabb<L::Scalar>, bound: &mut [L; BLOCK]) {
    for k in 0..6 {
        node.columns[k].0[lane] = child.0.0[k];
    }
    let mut at = 0;
    while at < BLOCK {
        bound[at / L::WIDTH] = L::load(&child.0, at).min(bound[at / L::WIDTH]);
        at += L::WIDTH;
    }
}

/// Stores the bound; its two spare numbers become 0 as in every box.
#[inline(always)]
fn keep<L: Lane>(node: &mut Node<L::Scalar>, bound: [L; BLOCK]) {
    let mut at = 0;
    while at < BLOCK {
        bound[at / L::WIDTH].store(&mut node.bound.0, at);
        at += L::WIDTH;
    }
}
