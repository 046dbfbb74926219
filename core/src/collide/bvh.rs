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
//!
//! Things on their way have two boxes, one at each end (`ENDS` = 2), and between them a box that moves in a straight line:
//! two that are apart along an axis at both ends, in the same order, are apart all the way. What moves together stays apart
//! however far it goes, while boxes around whole ways would overlap.

use std::sync::OnceLock;

use super::CollideError;
use super::aabb::Aabb;
use super::curve;
use super::flat::Bend;
use super::kin::{self, Kin};
use super::leaves::{Elements, Filter, Leaf, Leaves};
use super::node::Ends;
pub(super) use super::node::Node;
use crate::backend::{Backend, Cut, Task};
use crate::lane::{BLOCK, Lane, Octet, Real};

/// Nodes a task of a refit fills.
pub(super) const REFIT_NODES: usize = 128;
/// How much the nodes may outgrow their leaves, over what it was when sorted, before sorting again is advised.
const WORN: f64 = 2.0;

/// A tree of boxes with eight children a node.
#[derive(Clone, Debug)]
pub struct Bvh<S, const ENDS: usize = 1> {
    /// How many primitives there are.
    count: usize,
    /// The primitive of each leaf; the last one again until its node is full.
    order: Vec<u32>,
    /// All nodes, lowest level first; the last one is the root.
    pub(super) nodes: Vec<Node<S, ENDS>>,
    /// As many, for the next refit.
    spare: Vec<Node<S, ENDS>>,
    /// First node of each level, and the number of nodes.
    pub(super) levels: Vec<usize>,
    pub(super) leaves: Vec<Leaf<S>>,
    pub(super) filter: Filter,
    /// Whether each leaf is one vertex.
    pub(super) points: bool,
    /// The highest vertex of the leaves, where they have any.
    highest: Option<u32>,
    /// By node of the lowest level: who shares vertices with it. Found when it is first asked for.
    kin: OnceLock<Vec<Kin<S>>>,
    /// By node: which way the surface in it faces; empty where nobody asked.
    pub(super) bends: Vec<Bend<S>>,
    scratch: curve::Scratch,
    /// The box around everything.
    pub(super) bound: Ends<S, ENDS>,
    /// [`Self::looseness`] when the leaves were sorted.
    fresh: f64,
}

impl<S: Real> Bvh<S> {
    /// A tree of nothing.
    pub fn new() -> Self {
        Self::nothing()
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
        self.arrange(boxes, leaves)?;
        self.fill_from(boxes, on);
        self.fresh = self.looseness();
        Ok(())
    }

    /// Moves the boxes, keeps the order of the leaves.
    ///
    /// # Errors
    /// A box that is not finite or inverted, or another number of boxes than the tree was built with. The tree is then
    /// as it was.
    pub fn refit<B: Backend<Scalar = S>>(&mut self, boxes: &[Aabb<S>], on: &B) -> Result<(), CollideError> {
        if boxes.len() != self.count {
            return Err(CollideError::Length { what: "list of boxes", found: boxes.len(), expected: self.count });
        }
        // Into other nodes: these stay as they are if a box is not sound, which the least numbers of all then tell.
        self.spare.resize(self.nodes.len(), Node::empty());
        std::mem::swap(&mut self.nodes, &mut self.spare);
        let before = self.bound;
        self.fill_from(boxes, on);
        if self.bound[0].contains(&S::from_f64(f64::NEG_INFINITY)) {
            std::mem::swap(&mut self.nodes, &mut self.spare);
            self.bound = before;
            Aabb::check(boxes)?;
        }
        Ok(())
    }

    /// Fills all nodes. A box that is not sound reaches −∞ there, and so does every box around it.
    fn fill_from<B: Backend<Scalar = S>>(&mut self, boxes: &[Aabb<S>], on: &B) {
        let order = self.order.as_chunks().0;
        let nodes = &mut self.nodes[..order.len()];
        on.fork(&FillLeaves { boxes, order }, Cut::Every(REFIT_NODES), nodes);
        self.fill_above(on);
    }

    /// The box around everything; empty for an empty tree.
    pub fn bound(&self) -> Aabb<S> {
        let [a, b, c, d, e, f] = self.bound[0];
        Aabb::new([a, b, c], [-d, -e, -f])
    }
}

impl<S: Real, const ENDS: usize> Bvh<S, ENDS> {
    pub(super) fn nothing() -> Self {
        Self {
            count: 0,
            order: Vec::new(),
            nodes: Vec::new(),
            spare: Vec::new(),
            levels: Vec::new(),
            leaves: Vec::new(),
            filter: Filter::None,
            points: false,
            highest: None,
            kin: OnceLock::new(),
            bends: Vec::new(),
            scratch: curve::Scratch::default(),
            bound: [[S::from_f64(f64::INFINITY); 6]; ENDS],
            fresh: 0.0,
        }
    }

    /// Sorts the primitives and makes room for the nodes, which are yet to be filled.
    pub(super) fn arrange(&mut self, boxes: &[Aabb<S>], leaves: &Leaves<'_>) -> Result<(), CollideError> {
        leaves.check(boxes.len())?;
        curve::sort(boxes, &mut self.order, &mut self.scratch);
        self.count = boxes.len();
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
        self.bound = Node::empty().child(0);
        leaves.collect(&self.order, &mut self.leaves);
        if let Some(&last) = self.order.last() {
            self.order.resize(self.count.next_multiple_of(BLOCK), last);
        }
        self.highest = leaves.highest(boxes.len());
        self.filter = leaves.filter::<S>(self.highest);
        self.points = matches!(leaves.elements, Elements::Vertices);
        self.kin = OnceLock::new();
        Ok(())
    }

    /// The lowest level, to be filled, and who is in it.
    pub(super) fn lowest(&mut self) -> (&mut [Node<S, ENDS>], &[Leaf<S>]) {
        let count = self.leaves.len();
        (&mut self.nodes[..count], &self.leaves)
    }

    /// Fills all levels above the lowest.
    pub(super) fn fill_above<B: Backend<Scalar = S>>(&mut self, on: &B) {
        for level in 1..self.depth() {
            let (below, rest) = self.nodes.split_at_mut(self.levels[level]);
            let nodes = &mut rest[..self.levels[level + 1] - self.levels[level]];
            on.fork(&FillNodes { below: &below[self.levels[level - 1]..] }, Cut::Every(REFIT_NODES), nodes);
        }
        self.bound = self.nodes.last().map_or(self.bound, Node::bound);
    }

    /// Room for the bends of all nodes, who is in those of the lowest level, and where the levels begin.
    pub(super) fn bending(&mut self) -> (&mut [Bend<S>], &[Leaf<S>], &[usize]) {
        self.bends.resize(self.nodes.len(), Bend::new());
        (&mut self.bends, &self.leaves, &self.levels)
    }

    /// Takes note of how well the leaves are sorted.
    pub(super) fn settle(&mut self) {
        self.fresh = self.looseness();
    }

    /// By node of the lowest level: who shares vertices with it. Empty where that is not known beforehand.
    pub(super) fn kin(&self) -> &[Kin<S>] {
        // Ids far beyond the number of primitives would take more memory than they are worth; the places of nodes have to be
        // exact as numbers.
        let few = self.leaves.len() < 1 << 23;
        match self.highest {
            Some(highest) if few && self.filter == Filter::Vertices && highest as usize <= 8 * self.len() + 1024 => {
                self.kin.get_or_init(|| kin::find(&self.leaves, highest as usize + 1))
            }
            _ => &[],
        }
    }

    /// How many primitives there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The primitive of a leaf.
    pub(super) fn primitive(&self, leaf: usize) -> u32 {
        self.order[leaf]
    }

    /// The primitives of all nodes of the lowest level.
    pub(super) fn primitives(&self) -> &[[u32; BLOCK]] {
        self.order.as_chunks().0
    }

    /// The box around a node of a level, as its parent has it.
    #[inline(always)]
    pub(super) fn bound_of(&self, level: usize, node: usize) -> Ends<S, ENDS> {
        if level + 1 >= self.depth() {
            return self.bound;
        }
        self.nodes[self.levels[level + 1] + node / BLOCK].child(node % BLOCK)
    }

    /// How many levels of nodes there are.
    pub(super) fn depth(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// The surface of all nodes over that of all leaves: how loosely nodes hold what is in them.
    fn looseness(&self) -> f64 {
        let surface = |[a, b, c, d, e, f]: [S; 6]| Aabb::new([a, b, c], [-d, -e, -f]).half_surface();
        let nodes: f64 = self.nodes.iter().map(|node| surface(node.bound()[0])).sum();
        let leaves: f64 = (0..self.len()).map(|i| surface(self.nodes[i / BLOCK].child(i % BLOCK)[0])).sum();
        if leaves > 0.0 { nodes / leaves } else { 0.0 }
    }

    /// Whether the primitives have moved apart so far that building again would pay: neighbours in the order are no longer
    /// neighbours in space. Costs about as much as a refit; asking every few dozen steps is enough.
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
    order: &'a [[u32; BLOCK]],
}

impl<S: Real> Task<Node<S, 1>> for FillLeaves<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Node<S, 1>]) {
        let nothing = [S::ZERO; 4];
        for (k, node) in own.iter_mut().enumerate() {
            let place = index * REFIT_NODES + k;
            let ids = &self.order[place];
            let (mut lows, mut highs) = ([&nothing; BLOCK], [&nothing; BLOCK]);
            for lane in 0..BLOCK {
                (lows[lane], highs[lane]) = self.boxes[ids[lane] as usize].corners();
            }
            let mut at = 0;
            while at < BLOCK {
                let (low, high) = (L::turn_rows(lows, at), L::turn_rows(highs, at));
                for axis in 0..3 {
                    // Sound: low ≤ high, and neither is infinite; then both zeros below are zero.
                    let (zero, width) = (low[axis].blemish() + high[axis].blemish(), low[axis] + high[axis]);
                    let sound = L::both(zero.ge(L::zero()), L::zero().ge(width));
                    let bottom = L::constant(f64::NEG_INFINITY);
                    L::select(sound, low[axis], bottom).store(&mut node.ends[0][axis], at);
                    L::select(sound, high[axis], bottom).store(&mut node.ends[0][axis + 3], at);
                }
                at += L::WIDTH;
            }
            node.clear_from(BLOCK.min(self.boxes.len() - place * BLOCK));
        }
    }
}

/// Fills nodes of a higher level.
struct FillNodes<'a, S, const ENDS: usize> {
    below: &'a [Node<S, ENDS>],
}

impl<S: Real, const ENDS: usize> Task<Node<S, ENDS>> for FillNodes<'_, S, ENDS> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Node<S, ENDS>]) {
        for (k, node) in own.iter_mut().enumerate() {
            let first = (index * REFIT_NODES + k) * BLOCK;
            let count = BLOCK.min(self.below.len() - first);
            let children = &self.below[first..first + count];
            for end in 0..ENDS {
                for k in 0..6 {
                    let mut column = [Octet([S::from_f64(f64::INFINITY); BLOCK]); BLOCK];
                    for lane in 0..count {
                        column[lane] = children[lane].ends[end][k];
                    }
                    node.ends[end][k] = L::least(&column);
                }
            }
        }
    }
}
