//! When the candidates of a step first touch: a filter on lanes, then a careful search for what it lets through.
//!
//! Nearly all candidates pass each other at a distance, and one direction proves it: that of the closest points at the
//! start. Eight pairs at a time, in the precision of the state, the filter computes it and the gap it keeps at both ends of
//! the way (a gap is linear in time, so the ends are enough). A pair is let go only if that gap exceeds everything the search
//! in double precision would stop for, plus a bound on the filter's own rounding: the answers are those of the search alone.

use super::candidates::{Candidate, MeshCandidates};
use super::ccd::{CcdOptions, Impact, first_contact};
use super::distance::Pair;
use super::filter::{EDGE_EDGE, Judge, VERTEX_TRIANGLE, judge, kept};
use crate::backend::{Backend, Cut, Task};
use crate::lane::{Lane, Octet, Real};
use crate::vec3::Vec3;

/// A candidate that comes too close, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Who.
    pub candidate: Candidate,
    /// When.
    pub impact: Impact,
}

/// Finds first contacts; keeps its memory between steps.
#[derive(Clone, Debug, Default)]
pub struct ContactSearch {
    verdicts: Vec<u32>,
    survivors: Vec<Survivor>,
    contacts: Vec<Contact>,
}

#[derive(Clone, Copy, Debug)]
struct Survivor {
    candidate: Candidate,
    impact: Option<Impact>,
}

/// Candidates a task of the search looks at.
const SEARCHES: usize = 64;

impl ContactSearch {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks for the first contact of every candidate.
    pub fn run<S: Real, B: Backend<Scalar = S>>(
        &mut self,
        candidates: &MeshCandidates<S>,
        options: &CcdOptions,
        on: &B,
    ) {
        let way = candidates.way();
        self.survivors.clear();
        for (pair, part) in candidates.by_kind() {
            judge(&StaysClear(options), pair, part, way, &mut self.verdicts, on);
            for candidate in kept(&self.verdicts, part) {
                self.survivors.push(Survivor { candidate, impact: None });
            }
        }
        on.fork(&SearchTask { way, options }, Cut::Every(SEARCHES), &mut self.survivors);
        self.contacts.clear();
        self.contacts.extend(
            self.survivors.iter().filter_map(|s| s.impact.map(|impact| Contact { candidate: s.candidate, impact })),
        );
    }

    /// The contacts, in the order of the candidates.
    pub fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// The part of the way that all may go, in [0, 1].
    pub fn earliest(&self) -> f64 {
        self.contacts.iter().fold(1.0, |t, contact| t.min(contact.impact.time))
    }

    /// How many candidates the filter let through.
    pub fn survivor_count(&self) -> usize {
        self.survivors.len()
    }
}

/// The search alone, for one candidate.
pub(super) fn search<S: Real>(way: &[Octet<S>], candidate: &Candidate, options: &CcdOptions) -> Option<Impact> {
    let corner = |i: u32, at: usize| {
        let row = &way[i as usize].0;
        [row[at].to_f64(), row[at + 1].to_f64(), row[at + 2].to_f64()]
    };
    let (start, end) = (candidate.corners.map(|i| corner(i, 0)), candidate.corners.map(|i| corner(i, 4)));
    first_contact(candidate.pair, &start, &end, options)
}

impl<S: Real> MeshCandidates<S> {
    /// First contacts without the filter, one candidate after the other: what [`ContactSearch`] must agree with.
    pub fn search_all<'a>(&'a self, options: &'a CcdOptions) -> impl Iterator<Item = Contact> + 'a {
        self.list().iter().filter_map(move |candidate| {
            search(self.way(), candidate, options).map(|impact| Contact { candidate: *candidate, impact })
        })
    }
}

/// The careful search for what the filter let through.
struct SearchTask<'a, S> {
    way: &'a [Octet<S>],
    options: &'a CcdOptions,
}

impl<S: Real> Task<Survivor> for SearchTask<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _index: usize, own: &mut [Survivor]) {
        for survivor in own {
            survivor.impact = search(self.way, &survivor.candidate, self.options);
        }
    }
}

/// Lets a pair go whose closest points at the start show a direction that stays clear.
struct StaysClear<'a>(&'a CcdOptions);

impl<S: Real> Judge<S> for StaysClear<'_> {
    #[inline(always)]
    fn lets_go<L: Lane<Scalar = S>>(&self, pair: Pair, start: &[Vec3<L>; 4], end: &[Vec3<L>; 4]) -> L::Mask {
        match pair {
            Pair::VertexTriangle => stays_clear::<L, 3>(pair, start, end, VERTEX_TRIANGLE, self.0),
            Pair::EdgeEdge => stays_clear::<L, 4>(pair, start, end, EDGE_EDGE, self.0),
        }
    }
}

/// Whether the direction of the closest points at the start keeps all differences of corners apart at both ends.
///
/// With u = ε/2 of the lane: a difference is exact to u of itself, a dot product of three terms adds 3u, and |n| ≤ 1 + 4u;
/// all below 16ε times the largest component of a difference. The distance carries the same.
#[inline(always)]
fn stays_clear<L: Lane, const Q: usize>(
    pair: Pair,
    start: &[Vec3<L>; 4],
    end: &[Vec3<L>; 4],
    pairs: [[usize; 2]; Q],
    options: &CcdOptions,
) -> L::Mask {
    let zero = L::zero();
    let closest = pair.closest(start);
    let distance = closest.distance_sq.sqrt();
    let n = closest.between * distance.divide_or_zero(L::one());
    let mut extent = zero;
    let mut blemish = zero;
    let mut gap = L::constant(f64::INFINITY);
    for k in 0..Q {
        let [i, j] = pairs[k];
        let (q, p) = (start[i] - start[j], end[i] - end[j]);
        extent = q.x.abs().max(q.y.abs()).max(q.z.abs()).max(extent);
        extent = p.x.abs().max(p.y.abs()).max(p.z.abs()).max(extent);
        let (early, late) = (n.dot(q), n.dot(p));
        blemish = blemish + early.blemish() + late.blemish();
        gap = early.min(late).min(gap);
    }
    // δ + keep (d − δ) + tolerance · extent + rounding; every constant rounded up by the 16ε it adds.
    let epsilon = L::Scalar::EPSILON.to_f64();
    let least = L::constant(options.min_separation.max(0.0) * (1.0 + epsilon));
    // Below 0 it means 0, as in the search: else pairs that meet would be let go.
    let keep = L::constant(options.keep.max(0.0));
    let surplus = (distance - least).max(zero);
    let slack = extent * L::constant(options.tolerance.max(0.0) + 32.0 * epsilon);
    // A NaN anywhere is not above anything.
    (gap + blemish).gt(least + keep * surplus + slack + least * L::constant(4.0 * epsilon))
}
