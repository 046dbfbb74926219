//! Which candidates are near each other, or may come near during the step.
//!
//! Boxes along the axes hold much that is far apart. Closest points at the start, and how far the two primitives move
//! relative to each other, tell better: on the way a distance changes by no more than that.

use super::candidates::{Candidate, MeshCandidates};
use super::distance::Pair;
use super::filter::{EDGE_EDGE, Judge, VERTEX_TRIANGLE, judge, kept};
use crate::backend::Backend;
use crate::lane::{Lane, Real};
use crate::vec3::Vec3;

/// Finds near candidates; keeps its memory between steps.
#[derive(Clone, Debug, Default)]
pub struct NearSearch {
    verdicts: Vec<u32>,
    near: Vec<Candidate>,
}

impl NearSearch {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the candidates that may come within `reach` \[m\] on their way.
    pub fn run<S: Real, B: Backend<Scalar = S>>(&mut self, candidates: &MeshCandidates<S>, reach: S, on: &B) {
        self.near.clear();
        for (pair, part) in candidates.by_kind() {
            judge(&StaysFar(reach), pair, part, candidates.way(), &mut self.verdicts, on);
            self.near.extend(kept(&self.verdicts, part));
        }
    }

    /// Keeps the candidates whose corners may cross the dividing planes between them, however far each of them goes: those
    /// that approach each other along their closest points at the start by more than `share` of their distance.
    pub fn run_divided<S: Real, B: Backend<Scalar = S>>(&mut self, candidates: &MeshCandidates<S>, share: S, on: &B) {
        self.near.clear();
        for (pair, part) in candidates.by_kind() {
            judge(&StaysDivided(share), pair, part, candidates.way(), &mut self.verdicts, on);
            self.near.extend(kept(&self.verdicts, part));
        }
    }

    /// Puts what was found in the order of kinds and corners, whatever the order of the candidates.
    pub fn sort(&mut self) {
        self.near.sort_unstable_by_key(|c| (c.pair, c.corners));
    }

    /// What was found, in the order of the candidates unless sorted.
    pub fn near(&self) -> &[Candidate] {
        &self.near
    }
}

/// Lets a pair go that stays beyond the reach.
struct StaysFar<S>(S);

impl<S: Real> Judge<S> for StaysFar<S> {
    #[inline(always)]
    fn lets_go<L: Lane<Scalar = S>>(&self, pair: Pair, start: &[Vec3<L>; 4], end: &[Vec3<L>; 4]) -> L::Mask {
        stays_far(pair, start, end, L::splat(self.0))
    }
}

/// Whether the distance of a pair at the start exceeds the reach and all relative motion.
#[inline(always)]
pub(super) fn stays_far<L: Lane>(pair: Pair, start: &[Vec3<L>; 4], end: &[Vec3<L>; 4], reach: L) -> L::Mask {
    match pair {
        Pair::VertexTriangle => stays_beyond::<L, 3>(pair, start, end, VERTEX_TRIANGLE, reach),
        Pair::EdgeEdge => stays_beyond::<L, 4>(pair, start, end, EDGE_EDGE, reach),
    }
}

/// Two bounds from below on every distance on the way; either above the reach is enough:
/// ```text
///   d − max |Δᵢ − Δⱼ|                     Δ the way of a corner: points move by convex combinations of these
///   min n·(xᵢ − xⱼ) at both ends          n along the closest points at the start: linear in time
/// ```
#[inline(always)]
fn stays_beyond<L: Lane, const Q: usize>(
    pair: Pair,
    start: &[Vec3<L>; 4],
    end: &[Vec3<L>; 4],
    pairs: [[usize; 2]; Q],
    reach: L,
) -> L::Mask {
    let closest = pair.closest(start);
    let distance = closest.distance_sq.sqrt();
    let n = closest.between * distance.divide_or_zero(L::one());
    let mut motion_sq = L::zero();
    let mut gap = distance;
    for k in 0..Q {
        let [i, j] = pairs[k];
        motion_sq = ((end[i] - start[i]) - (end[j] - start[j])).length_sq().max(motion_sq);
        gap = n.dot(end[i] - end[j]).min(gap);
    }
    (distance - motion_sq.sqrt()).max(gap).gt(reach * L::constant(1.0 + 1e-5))
}

/// Lets a pair go whose corners stay on their sides of a plane, one by one.
struct StaysDivided<S>(S);

impl<S: Real> Judge<S> for StaysDivided<S> {
    #[inline(always)]
    fn lets_go<L: Lane<Scalar = S>>(&self, pair: Pair, start: &[Vec3<L>; 4], end: &[Vec3<L>; 4]) -> L::Mask {
        let closest = pair.closest(start);
        let distance = closest.distance_sq.sqrt();
        let n = closest.between * distance.divide_or_zero(L::one());
        let first = pair.first_corners();
        let (mut one, mut other) = (L::zero(), L::zero());
        for k in 0..4 {
            let along = n.dot(end[k] - start[k]);
            if k < first {
                one = one.max(L::zero() - along);
            } else {
                other = other.max(along);
            }
        }
        (distance * L::splat(self.0)).gt(one + other)
    }
}
