//! What comes near between two plates: vertices of either with triangles of the other, and edges of both.
//!
//! Two plates have eight corners and stand for up to 41 pairs, one bit each:
//! ```text
//!   8s + 2c + t     vertex c of plate s with triangle t of the other          16 of them
//!   16 + 5i + j     edge i of the first plate with edge j of the second       25
//! ```
//! The corners of eight pairs of plates are loaded once, and everything that any of them stands for is looked at from there.

use super::candidates::Candidate;
use super::distance::Pair;
use super::near::stays_far;
use super::plates::{EDGES, Plates, TRIANGLES};
use crate::backend::Task;
use crate::lane::{BLOCK, Lane, Octet, Real};
use crate::vec3::Vec3;

/// How many of the bits are vertices with triangles: the first ones.
const VERTEX_TRIANGLE: usize = 16;
const BITS: usize = VERTEX_TRIANGLE + EDGES.len() * EDGES.len();

/// The corners of all pairs among the eight, those of the second plate from 4 on.
const CORNERS: [[usize; 4]; BITS] = {
    let mut corners = [[0; 4]; BITS];
    let mut bit = 0;
    while bit < VERTEX_TRIANGLE {
        let (side, vertex, [a, b, c]) = (4 * (bit / 8), bit / 2 % 4, TRIANGLES[bit % 2]);
        let other = 4 - side;
        corners[bit] = [side + vertex, other + a, other + b, other + c];
        bit += 1;
    }
    while bit < BITS {
        let (first, second) = ((bit - VERTEX_TRIANGLE) / EDGES.len(), (bit - VERTEX_TRIANGLE) % EDGES.len());
        let ([a, b], [c, d]) = (EDGES[first], EDGES[second]);
        corners[bit] = [a, b, 4 + c, 4 + d];
        bit += 1;
    }
    corners
};

/// What eight pairs of plates stand for and comes near, one bit a pair of primitives.
pub(super) type Verdict = [u64; BLOCK];

/// Blocks of eight pairs of plates a task looks at.
pub(super) const BETWEEN_BLOCKS: usize = 64;

/// Finds out what may come within reach, eight pairs of plates at a time.
pub(super) struct Between<'a, S> {
    pub way: &'a [Octet<S>],
    pub plates: &'a Plates,
    pub pairs: &'a [[u32; 2]],
    pub reach: Reach<'a, S>,
}

/// Within which distance plates are near each other.
pub(super) struct Reach<'a, S> {
    pub whole: S,
    /// By plate: which share of it is theirs; none where all have all of it. Two have the mean of both.
    pub shares: &'a [S],
}

impl<S: Real> Reach<'_, S> {
    /// Of up to eight pairs.
    #[inline(always)]
    pub fn of(&self, pairs: &[[u32; 2]]) -> Octet<S> {
        let mut reach = Octet([self.whole; BLOCK]);
        if !self.shares.is_empty() {
            for (reach, [one, other]) in reach.0.iter_mut().zip(pairs) {
                let both = self.shares[*one as usize] + self.shares[*other as usize];
                *reach = *reach * (S::from_f64(0.5) * both);
            }
        }
        reach
    }
}

impl<S: Real> Task<Verdict> for Between<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Verdict]) {
        for (k, verdict) in own.iter_mut().enumerate() {
            let pairs = eight(self.pairs, index * BETWEEN_BLOCKS + k);
            let (rows, reaches) = (rows(self.plates.corners(), pairs), self.reach.of(pairs));
            *verdict = [0; BLOCK];
            for lane in 0..pairs.len() {
                verdict[lane] = self.plates.stand_for(pairs[lane]);
            }
            let mut at = 0;
            while at < BLOCK {
                let (ends, reach) = (load::<L>(self.way, &rows, at), L::load(&reaches, at));
                let mut bits = 0;
                for lane in at..at + L::WIDTH {
                    bits |= verdict[lane];
                }
                while bits != 0 {
                    let bit = bits.trailing_zeros() as usize % BITS;
                    bits &= bits - 1;
                    let [a, b, c, d] = CORNERS[bit];
                    let start = [ends[0][a], ends[0][b], ends[0][c], ends[0][d]];
                    let end = [ends[1][a], ends[1][b], ends[1][c], ends[1][d]];
                    let gone = if bit < VERTEX_TRIANGLE {
                        stays_far(Pair::VertexTriangle, &start, &end, reach)
                    } else {
                        stays_far(Pair::EdgeEdge, &start, &end, reach)
                    };
                    let gone = u64::from(L::bits(gone));
                    for lane in 0..L::WIDTH {
                        verdict[at + lane] &= !((gone >> lane & 1) << bit);
                    }
                }
                at += L::WIDTH;
            }
        }
    }
}

/// Appends what pairs of plates were found to bring near: vertices with triangles, then edges.
pub(super) fn tell(verdicts: &[Verdict], plates: &Plates, pairs: &[[u32; 2]], to: &mut Vec<Candidate>) {
    let edges = u64::MAX << VERTEX_TRIANGLE;
    for (pair, kind) in [(Pair::VertexTriangle, !edges), (Pair::EdgeEdge, edges)] {
        for (&bits, &plate_pair) in verdicts.as_flattened().iter().zip(pairs) {
            let mut bits = bits & kind;
            if bits == 0 {
                continue;
            }
            while bits != 0 {
                to.push(Candidate { pair, corners: corners_of(plates, plate_pair, bits.trailing_zeros()) });
                bits &= bits - 1;
            }
        }
    }
}

/// The corners of one pair of primitives of two plates.
#[inline]
pub(super) fn corners_of(plates: &Plates, [one, other]: [u32; 2], bit: u32) -> [u32; 4] {
    let ([a, b, c, d], [e, f, g, h]) = (plates.corners()[one as usize], plates.corners()[other as usize]);
    let ids = [a, b, c, d, e, f, g, h];
    CORNERS[bit as usize % BITS].map(|corner| ids[corner])
}

/// Which pair of primitives of two plates this is, if it is one they stand for.
pub(super) fn bit_of(plates: &Plates, pair: [u32; 2], candidate: &Candidate) -> Option<u32> {
    let stands = plates.stand_for(pair);
    let kind = |bit: u32| if bit < VERTEX_TRIANGLE as u32 { Pair::VertexTriangle } else { Pair::EdgeEdge };
    let alike = |&bit: &u32| kind(bit) == candidate.pair && corners_of(plates, pair, bit) == candidate.corners;
    (0..BITS as u32).filter(|bit| stands >> bit & 1 == 1).find(alike)
}

/// Up to eight pairs: a block of a list.
#[inline(always)]
pub(super) fn eight(pairs: &[[u32; 2]], block: usize) -> &[[u32; 2]] {
    &pairs[block * BLOCK..pairs.len().min((block + 1) * BLOCK)]
}

/// Rows of the way where the corners of eight pairs of plates start, those of the second plates from 4 on. Fewer pairs are
/// repeated.
#[inline(always)]
pub(super) fn rows(plates: &[[u32; 4]], pairs: &[[u32; 2]]) -> [[u32; BLOCK]; 8] {
    let mut rows = [[0; BLOCK]; 8];
    for lane in 0..BLOCK {
        let pair = pairs[lane.min(pairs.len() - 1)];
        for side in 0..2 {
            let plate = &plates[pair[side] as usize];
            for corner in 0..4 {
                rows[4 * side + corner][lane] = 2 * plate[corner];
            }
        }
    }
    rows
}

/// The eight corners of pairs of plates, at both ends of their way.
#[inline(always)]
pub(super) fn load<L: Lane>(way: &[Octet<L::Scalar>], rows: &[[u32; BLOCK]; 8], at: usize) -> [[Vec3<L>; 8]; 2] {
    let mut ends = [[Vec3::zero(); 8]; 2];
    for corner in 0..8 {
        let mut rows = rows[corner];
        for end in 0..2 {
            let [x, y, z, _] = L::from_rows(way, &rows, at);
            ends[end][corner] = Vec3::new(x, y, z);
            for lane in 0..BLOCK {
                rows[lane] |= 1;
            }
        }
    }
    ends
}

/// Bit k of a number of up to five, moved to bit `by` · k.
const fn spread<const N: usize>(by: usize) -> [u64; N] {
    let mut spread = [0; N];
    let mut bits = 0;
    while bits < N {
        let mut bit = 0;
        while bit < 5 {
            spread[bits] |= (bits as u64 >> bit & 1) << (by * bit);
            bit += 1;
        }
        bits += 1;
    }
    spread
}

/// All pairs of vertices, of which there is a bit each, with these triangles of the other plate.
#[inline]
pub(super) fn vertices_with(vertices: u8, triangles: u8, side: usize) -> u64 {
    const SPREAD: [u64; 16] = spread(2);
    (SPREAD[vertices as usize % 16] * u64::from(triangles)) << (8 * side)
}

/// All pairs of edges, of which there is a bit each.
#[inline]
pub(super) fn edges_with(first: u8, second: u8) -> u64 {
    const SPREAD: [u64; 32] = spread(EDGES.len());
    (SPREAD[first as usize % 32] * u64::from(second)) << VERTEX_TRIANGLE
}

/// The triangle of either plate that a pair of primitives belongs to, 0 or 1, where `edges` says it of the edges of each.
#[inline]
pub(super) fn triangles_of(bit: usize, edges: [[usize; 5]; 2]) -> [usize; 2] {
    if bit < VERTEX_TRIANGLE {
        // The last corner is in the second triangle alone.
        let (own, other) = (usize::from(bit / 2 % 4 == 3), bit % 2);
        return if bit < 8 { [own, other] } else { [other, own] };
    }
    let pair = bit - VERTEX_TRIANGLE;
    [edges[0][pair / EDGES.len() % 5], edges[1][pair % EDGES.len()]]
}
