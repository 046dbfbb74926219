//! When the candidates of a step first touch: a filter on lanes, then a careful search for what it lets through.
//!
//! Nearly all candidates pass each other at a distance, and one direction proves it: that of the closest points at the
//! start. Eight pairs at a time, in the precision of the state, the filter computes it and the gap it keeps at both ends of
//! the way (a gap is linear in time, so the ends are enough). A pair is let go only if that gap exceeds everything the search
//! in double precision would stop for, plus a bound on the filter's own rounding: the answers are those of the search alone.

use super::candidates::{Candidate, MeshCandidates};
use super::ccd::{CcdOptions, Impact, first_contact};
use super::distance::Pair;
use crate::backend::{Backend, Cut, Task};
use crate::lane::{BLOCK, Lane, Octet, Real};
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

/// Blocks of eight candidates a task of the filter looks at.
const FILTER_BLOCKS: usize = 256;
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
        let (list, way) = (candidates.list(), candidates.way());
        let (first, second) = list.split_at(candidates.vertex_triangle_count());
        self.survivors.clear();
        for (pair, part) in [(Pair::VertexTriangle, first), (Pair::EdgeEdge, second)] {
            self.verdicts.clear();
            self.verdicts.resize(part.len().div_ceil(BLOCK), 0);
            let filter = FilterTask { pair, list: part, way, options };
            on.fork(&filter, Cut::Every(FILTER_BLOCKS), &mut self.verdicts);
            for (block, &bits) in self.verdicts.iter().enumerate() {
                let mut bits = bits;
                while bits != 0 {
                    let candidate = part[block * BLOCK + bits.trailing_zeros() as usize];
                    self.survivors.push(Survivor { candidate, impact: None });
                    bits &= bits - 1;
                }
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

/// The filter: one bit for each candidate of a block that it lets through.
struct FilterTask<'a, S> {
    pair: Pair,
    list: &'a [Candidate],
    way: &'a [Octet<S>],
    options: &'a CcdOptions,
}

impl<S: Real> Task<u32> for FilterTask<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [u32]) {
        let mut columns = [[Octet([S::ZERO; BLOCK]); 6]; 4];
        for (k, verdict) in own.iter_mut().enumerate() {
            let block = (index * FILTER_BLOCKS + k) * BLOCK;
            let count = BLOCK.min(self.list.len() - block);
            for lane in 0..BLOCK {
                // The last block repeats its last candidate.
                let corners = &self.list[block + lane.min(count - 1)].corners;
                for corner in 0..4 {
                    let row = &self.way[corners[corner] as usize].0;
                    for (axis, place) in [0, 1, 2, 4, 5, 6].into_iter().enumerate() {
                        columns[corner][axis].0[lane] = row[place];
                    }
                }
            }
            let mut clear = 0;
            let mut at = 0;
            while at < BLOCK {
                let mut start = [Vec3::zero(); 4];
                let mut end = [Vec3::zero(); 4];
                for corner in 0..4 {
                    let c = &columns[corner];
                    start[corner] = Vec3::new(L::load(&c[0], at), L::load(&c[1], at), L::load(&c[2], at));
                    end[corner] = Vec3::new(L::load(&c[3], at), L::load(&c[4], at), L::load(&c[5], at));
                }
                let mask = match self.pair {
                    Pair::VertexTriangle => {
                        let pairs = [[0, 1], [0, 2], [0, 3]];
                        stays_clear::<L, 3>(self.pair, &start, &end, pairs, self.options)
                    }
                    Pair::EdgeEdge => {
                        let pairs = [[0, 2], [0, 3], [1, 2], [1, 3]];
                        stays_clear::<L, 4>(self.pair, &start, &end, pairs, self.options)
                    }
                };
                clear |= L::bits(mask) << at;
                at += L::WIDTH;
            }
            *verdict = !clear & (u32::MAX >> (32 - count as u32));
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
    let (least, keep) = (L::constant(options.min_separation.max(0.0) * (1.0 + epsilon)), L::constant(options.keep));
    let surplus = (distance - least).max(zero);
    let slack = extent * L::constant(options.tolerance.max(0.0) + 32.0 * epsilon);
    // A NaN anywhere is not above anything.
    (gap + blemish).gt(least + keep * surplus + slack + least * L::constant(4.0 * epsilon))
}
