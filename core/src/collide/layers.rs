//! Which parts of surfaces come near each other, for those who want to know early and may err.
//!
//! One tree holds the plates: two triangles side by side each, and edges that belong to no triangle. Every vertex and every
//! edge is spoken for by one plate that it belongs to, so that two plates that may meet stand for a few pairs of a vertex and a
//! triangle or of two edges, and no pair comes twice [Curtis08]. One tree is refitted and searched where three would be, and
//! boxes around two triangles of a grid are no larger than those around one.
//!
//! Left out are pairs whose triangles share a vertex, and pairs within patches that are about flat (see `flat`): they are
//! neighbours in a sheet, which bending keeps apart. Pushing them apart as well makes a crumpled sheet fight itself, and leaves
//! more intersections than it prevents.

use super::CollideError;
use super::aabb::Aabb;
use super::between::{BETWEEN_BLOCKS, Between, Reach, Verdict, bit_of, corners_of, eight, load, rows, tell};
use super::bvh::{Bvh, REFIT_NODES};
use super::candidates::{Candidate, Surround, check_elements, check_groups, pave};
use super::flat::{Face, Sharing, face_above};
use super::known::Known;
use super::leaves::{Elements, Groups, Leaf, Leaves};
use super::plates::Plates;
use super::query::Pairs;
use super::stir::Stir;
use crate::backend::{Backend, Cut, Task};
use crate::columns::Columns;
use crate::lane::{BLOCK, Lane, Octet, Real};
use crate::vec3::Vec3;

/// Finds pairs of moving surfaces that come near each other; keeps its memory between looks.
#[derive(Clone, Debug)]
pub struct LayerSearch<S> {
    plates: Plates,
    vertex_count: usize,
    tree: Bvh<S, 2>,
    /// By node of the tree: whether it holds parts that nothing joins.
    mixed: Vec<bool>,
    /// By plate, and by node of the lowest level, how much of the reach is theirs; none where all have all of it.
    shares: Vec<S>,
    leaf_shares: Vec<Octet<S>>,
    sharing: Sharing,
    stir: Stir,
    pairs: Pairs,
    /// Pairs of plates that no plane keeps apart.
    plate_pairs: Vec<[u32; 2]>,
    verdicts: Vec<u32>,
    /// What is near between them, and what of that was not told before.
    between: Vec<Verdict>,
    fresh: Vec<Verdict>,
    known: Known,
    near: Vec<Candidate>,
}

impl<S: Real> LayerSearch<S> {
    /// For vertices, edges and triangles, sorted as they are at rest. Vertices without an edge or a triangle are not looked
    /// for. `groups` tells for each vertex which others it may touch; a plate has the groups of its first vertex.
    ///
    /// # Errors
    /// Positions that the precision cannot hold, a vertex that does not exist, another number of groups than of vertices.
    pub fn new<B: Backend<Scalar = S>>(
        rest: &Columns<S>,
        edges: &[[u32; 2]],
        triangles: &[[u32; 3]],
        groups: Option<&[Groups]>,
        on: &B,
    ) -> Result<Self, CollideError> {
        let count = rest.len();
        check_elements(count, edges, triangles)?;
        check_groups(count, groups)?;
        let mut this = Self {
            plates: Plates::new(rest, edges, triangles),
            vertex_count: count,
            tree: Bvh::nothing(),
            mixed: Vec::new(),
            shares: Vec::new(),
            leaf_shares: Vec::new(),
            sharing: Sharing::default(),
            stir: Stir::default(),
            pairs: Pairs::new(),
            plate_pairs: Vec::new(),
            verdicts: Vec::new(),
            between: Vec::new(),
            fresh: Vec::new(),
            known: Known::default(),
            near: Vec::new(),
        };
        let mut way = Vec::new();
        pave(&mut way, [rest, rest], count)?;
        let plates = this.plates.corners();
        let boxes: Vec<Aabb<S>> =
            plates.iter().map(|plate| Aabb::around(&plate.map(|v| rest.get(v as usize)))).collect();
        let own: Option<Vec<Groups>> =
            groups.map(|groups| plates.iter().map(|plate| groups[plate[0] as usize]).collect());
        let leaves = Leaves { elements: Elements::Plates(plates), groups: own.as_deref() };
        this.tree.arrange(&boxes, &leaves)?;
        this.surround(&way, S::ZERO, on);
        this.sharing = Sharing::new(&this.tree.leaves, &this.tree.leaves, count);
        this.stir = Stir::new(&this.tree.leaves, this.tree.len(), this.tree.nodes.len(), count);
        this.mixed = mixed(&this.tree, &this.plates.pieces(count));
        Ok(this)
    }

    /// Lets some come nearer than others before they are told: by vertex, which share of the reach is theirs, 0 to 1. Two plates are
    /// told within the mean of their shares.
    ///
    /// # Errors
    /// Another number of shares than there are vertices.
    pub fn with_shares(mut self, shares: &[S]) -> Result<Self, CollideError> {
        if shares.len() != self.vertex_count {
            let (found, expected) = (shares.len(), self.vertex_count);
            return Err(CollideError::Length { what: "list of shares", found, expected });
        }
        let largest = |a: S, v: u32| Lane::max(a, shares[v as usize]);
        self.shares = self.plates.corners().iter().map(|plate| plate.iter().copied().fold(S::ZERO, largest)).collect();
        let of = |leaf: &Leaf<S>, lane: usize| leaf.corners().iter().map(|corner| corner[lane]).fold(S::ZERO, largest);
        self.leaf_shares =
            self.tree.leaves.iter().map(|leaf| Octet(core::array::from_fn(|lane| of(leaf, lane)))).collect();
        Ok(self)
    }

    /// Finds pairs that may come within `reach` of each other \[m\] while every vertex moves in a straight line, but for
    /// neighbours in a sheet; in an order that the tree alone decides. `way` holds start and end of each vertex:
    /// `[x y z · x' y' z' ·]` \[m\].
    ///
    /// # Errors
    /// Positions that are not finite (named by vertex), another number of them than there are vertices, a negative reach.
    /// What the last look found is then kept.
    pub fn find<B: Backend<Scalar = S>>(&mut self, way: &[Octet<S>], reach: S, on: &B) -> Result<(), CollideError> {
        self.look(way, reach, false, on)?;
        self.tell_all();
        Ok(())
    }

    /// The same, but tells those pairs alone that were not told since all of them were.
    ///
    /// # Errors
    /// As for [`Self::find`].
    pub fn find_new<B: Backend<Scalar = S>>(&mut self, way: &[Octet<S>], reach: S, on: &B) -> Result<(), CollideError> {
        self.look(way, reach, false, on)?;
        self.tell_new(|_| true);
        Ok(())
    }

    /// The same for pairs that have one of these vertices at least: what is new where nobody else has left the way that the
    /// last look was told. `restless` has a flag for every vertex, and `list` those that are set.
    ///
    /// # Errors
    /// As for [`Self::find`]; another number of flags than there are vertices.
    pub fn find_new_of<B: Backend<Scalar = S>>(
        &mut self,
        (list, restless): (&[u32], &[bool]),
        way: &[Octet<S>],
        reach: S,
        on: &B,
    ) -> Result<(), CollideError> {
        if restless.len() != self.vertex_count || list.iter().any(|&v| v as usize >= self.vertex_count) {
            let (what, expected) = ("list of restless vertices", self.vertex_count);
            return Err(CollideError::Length { what, found: restless.len(), expected });
        }
        self.stir.mark(list, &self.tree.levels);
        self.look(way, reach, true, on)?;
        self.tell_new(|corners| corners.iter().any(|&v| restless[v as usize]));
        Ok(())
    }

    /// Tells everything that the last look found, whatever was told before.
    pub fn tell_all(&mut self) {
        self.near.clear();
        tell(&self.between, &self.plates, &self.plate_pairs, &mut self.near);
        self.known.clear();
        for (&bits, &pair) in self.between.as_flattened().iter().zip(&self.plate_pairs) {
            if bits != 0 {
                self.known.add(pair, bits);
            }
        }
    }

    /// Tells what the last look found and was not told before, where the corners are wanted.
    fn tell_new(&mut self, wanted: impl Fn(&[u32; 4]) -> bool) {
        self.fresh.clear();
        self.fresh.resize(self.between.len(), Verdict::default());
        let verdicts = self.between.as_flattened().iter().zip(self.fresh.as_flattened_mut());
        for ((&found, fresh), &pair) in verdicts.zip(&self.plate_pairs) {
            let mut bits = found & !self.known.of(pair);
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                bits ^= bit;
                if wanted(&corners_of(&self.plates, pair, bit.trailing_zeros())) {
                    *fresh |= bit;
                }
            }
            if *fresh != 0 {
                self.known.add(pair, *fresh);
            }
        }
        self.near.clear();
        tell(&self.fresh, &self.plates, &self.plate_pairs, &mut self.near);
    }

    /// How many pairs the last look found, told before or not.
    pub fn found(&self) -> usize {
        self.between.as_flattened().iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// From now on these pairs count as told, and no others: what somebody goes on with who was told elsewhere.
    pub fn know(&mut self, told: impl Iterator<Item = Candidate>) {
        self.known.clear();
        for candidate in told {
            let of = |corner: usize| self.stir.leaves_of(candidate.corners[corner]);
            let second = candidate.pair.first_corners();
            for (&one, &other) in of(0).iter().flat_map(|one| of(second).iter().map(move |other| (one, other))) {
                let [one, other] = [one, other].map(|leaf| self.tree.primitive(leaf as usize));
                let pair = [one.min(other), one.max(other)];
                if let Some(bit) = bit_of(&self.plates, pair, &candidate) {
                    self.known.add(pair, 1 << bit);
                }
            }
        }
    }

    fn look<B: Backend<Scalar = S>>(
        &mut self,
        way: &[Octet<S>],
        reach: S,
        some: bool,
        on: &B,
    ) -> Result<(), CollideError> {
        if !(reach >= S::ZERO && Real::is_finite(reach)) {
            let expected = "a finite length, 0 or more";
            return Err(CollideError::BadOption { name: "the reach of a contact", value: reach.to_f64(), expected });
        }
        check_way(way, self.vertex_count)?;
        // Half on each side: two boxes overlap when their contents come within the whole.
        self.surround(way, S::from_f64(0.5) * reach, on);
        self.face(way, on);
        self.pairs.within_bent(&self.tree, &self.sharing, some.then(|| self.stir.masks()), on);
        self.divide(way, reach, on);
        self.look_between(way, reach, on);
        Ok(())
    }

    /// What was told: vertex–triangle pairs, then edge–edge pairs.
    pub fn near(&self) -> &[Candidate] {
        &self.near
    }

    /// Boxes around all plates at both ends of their way.
    fn surround<B: Backend<Scalar = S>>(&mut self, way: &[Octet<S>], radius: S, on: &B) {
        let count = self.tree.len();
        let (nodes, leaves) = self.tree.lowest();
        let task = Surround::<S, 4> { way, leaves, count, radius, shares: &self.leaf_shares };
        on.fork(&task, Cut::Every(REFIT_NODES), nodes);
        self.tree.fill_above(on);
    }

    /// Which way the surface faces in all nodes.
    fn face<B: Backend<Scalar = S>>(&mut self, way: &[Octet<S>], on: &B) {
        let (bends, leaves, levels) = self.tree.bending();
        let (lowest, above) = bends.split_at_mut(leaves.len());
        let task = Face { way, leaves, mixed: &self.mixed };
        on.fork(&task, Cut::Every(REFIT_NODES), lowest);
        face_above(lowest, above, levels, &self.mixed);
    }

    /// Lets pairs of plates go that a plane keeps apart.
    fn divide<B: Backend<Scalar = S>>(&mut self, way: &[Octet<S>], reach: S, on: &B) {
        let pairs = self.pairs.list();
        self.verdicts.clear();
        self.verdicts.resize(pairs.len().div_ceil(BLOCK), 0);
        let task =
            Divide { way, plates: self.plates.corners(), pairs, reach: Reach { whole: reach, shares: &self.shares } };
        on.fork(&task, Cut::Every(DIVIDE_BLOCKS), &mut self.verdicts);
        self.plate_pairs.clear();
        for (&verdict, pairs) in self.verdicts.iter().zip(pairs.chunks(BLOCK)) {
            let mut bits = verdict;
            while bits != 0 {
                self.plate_pairs.push(pairs[bits.trailing_zeros() as usize]);
                bits &= bits - 1;
            }
        }
    }

    /// Finds out what comes near between the plates that are left.
    fn look_between<B: Backend<Scalar = S>>(&mut self, way: &[Octet<S>], reach: S, on: &B) {
        let (plates, pairs) = (&self.plates, &self.plate_pairs[..]);
        self.between.clear();
        self.between.resize(pairs.len().div_ceil(BLOCK), Verdict::default());
        let reach = Reach { whole: reach, shares: &self.shares };
        on.fork(&Between { way, plates, pairs, reach }, Cut::Every(BETWEEN_BLOCKS), &mut self.between);
    }
}

/// Refuses positions that are not finite, and another number of them.
fn check_way<S: Real>(way: &[Octet<S>], expected: usize) -> Result<(), CollideError> {
    if way.len() != expected {
        return Err(CollideError::Length { what: "list of positions", found: way.len(), expected });
    }
    // 0 · x is 0 for what is finite and NaN for all else; the culprit is looked for afterwards.
    let mut sums = [S::ZERO; BLOCK];
    for place in way {
        for k in 0..BLOCK {
            sums[k] = sums[k] + place.0[k] * S::ZERO;
        }
    }
    if sums == [S::ZERO; BLOCK] {
        return Ok(());
    }
    let bad = |place: &Octet<S>| place.0.into_iter().find(|v| !Real::is_finite(*v));
    match way.iter().enumerate().find_map(|(row, place)| Some((row, bad(place)?))) {
        Some((row, value)) => Err(CollideError::NotFinite { what: "vertex", row, value: value.to_f64() }),
        None => Ok(()),
    }
}

/// By node: whether it holds plates of several pieces.
fn mixed<S: Real>(tree: &Bvh<S, 2>, pieces: &[u32]) -> Vec<bool> {
    // The piece of a node, or none.
    let common = |of: &[Option<u32>]| of[0].filter(|_| of.iter().all(|piece| *piece == of[0]));
    let leaf = |corners: &[[u32; BLOCK]; 4]| common(&corners[0].map(|v| Some(pieces[v as usize])));
    let mut below: Vec<Option<u32>> = tree.leaves.iter().map(|l| leaf(l.corners())).collect();
    let mut all = below.clone();
    while below.len() > 1 {
        below = below.chunks(BLOCK).map(common).collect();
        all.extend_from_slice(&below);
    }
    all.iter().map(Option::is_none).collect()
}

/// Blocks of eight pairs of plates a task looks at.
const DIVIDE_BLOCKS: usize = 256;

/// Finds the pairs of plates that may come within reach, eight at a time.
struct Divide<'a, S> {
    way: &'a [Octet<S>],
    plates: &'a [[u32; 4]],
    pairs: &'a [[u32; 2]],
    reach: Reach<'a, S>,
}

impl<S: Real> Task<u32> for Divide<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [u32]) {
        for (k, verdict) in own.iter_mut().enumerate() {
            let pairs = eight(self.pairs, index * DIVIDE_BLOCKS + k);
            let (rows, reaches) = (rows(self.plates, pairs), self.reach.of(pairs));
            let mut clear = 0;
            let mut at = 0;
            while at < BLOCK {
                let reach = L::load(&reaches, at) * L::constant(1.0 + 1e-5);
                clear |= divided::<L>(&load(self.way, &rows, at), reach) << at;
                at += L::WIDTH;
            }
            *verdict = !clear & (u32::MAX >> (32 - pairs.len() as u32));
        }
    }
}

/// Which pairs of plates one of three directions keeps apart by more than `reach`, at both ends and so all the way: across
/// either plate, and from middle to middle.
#[inline(always)]
fn divided<L: Lane>(ends: &[[Vec3<L>; 8]; 2], reach: L) -> u32 {
    let x = &ends[0];
    let axes = [
        (x[2] - x[0]).cross(x[3] - x[1]),
        (x[6] - x[4]).cross(x[7] - x[5]),
        (x[4] + x[5] + x[6] + x[7]) - (x[0] + x[1] + x[2] + x[3]),
    ];
    let mut bits = 0;
    for axis in 0..3 {
        let n = axes[axis] * axes[axis].length().divide_or_zero(L::one());
        // From the first plate to the second, and the other way round.
        let (mut ahead, mut behind) = (L::constant(f64::INFINITY), L::constant(f64::INFINITY));
        for end in 0..2 {
            let x = &ends[end];
            let (mut low, mut high) = ([L::zero(); 2], [L::zero(); 2]);
            for side in 0..2 {
                let first = n.dot(x[4 * side] - x[0]);
                let second = n.dot(x[4 * side + 1] - x[0]);
                let third = n.dot(x[4 * side + 2] - x[0]);
                let fourth = n.dot(x[4 * side + 3] - x[0]);
                low[side] = first.min(second).min(third.min(fourth));
                high[side] = first.max(second).max(third.max(fourth));
            }
            ahead = (low[1] - high[0]).min(ahead);
            behind = (low[0] - high[1]).min(behind);
        }
        bits |= L::bits(ahead.max(behind).gt(reach));
    }
    bits
}
