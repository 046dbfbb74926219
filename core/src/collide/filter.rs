//! Looking at all candidates quickly: eight at a time on lanes, one bit each for those that deserve a closer look.

use super::candidates::Candidate;
use super::distance::Pair;
use crate::backend::{Backend, Cut, Task};
use crate::lane::{BLOCK, Lane, Octet, Real};
use crate::vec3::Vec3;

/// Blocks of eight candidates a task looks at.
const FILTER_BLOCKS: usize = 256;

/// Corners of either primitive whose differences say how the two move past each other.
pub(super) const VERTEX_TRIANGLE: [[usize; 2]; 3] = [[0, 1], [0, 2], [0, 3]];
/// The same for two edges.
pub(super) const EDGE_EDGE: [[usize; 2]; 4] = [[0, 2], [0, 3], [1, 2], [1, 3]];

/// A question about the way of a pair.
pub(super) trait Judge<S: Real>: Sync {
    /// The pairs that need no closer look.
    fn lets_go<L: Lane<Scalar = S>>(&self, pair: Pair, start: &[Vec3<L>; 4], end: &[Vec3<L>; 4]) -> L::Mask;
}

/// Asks about every candidate of one kind: eight bits a verdict, set for those that are kept.
pub(super) fn judge<S: Real, J: Judge<S>, B: Backend<Scalar = S>>(
    question: &J,
    pair: Pair,
    list: &[Candidate],
    way: &[Octet<S>],
    verdicts: &mut Vec<u32>,
    on: &B,
) {
    verdicts.clear();
    verdicts.resize(list.len().div_ceil(BLOCK), 0);
    on.fork(&FilterTask { question, pair, list, way }, Cut::Every(FILTER_BLOCKS), verdicts);
}

/// The candidates whose bits are set, in order.
pub(super) fn kept<'a>(verdicts: &'a [u32], list: &'a [Candidate]) -> impl Iterator<Item = Candidate> + 'a {
    verdicts.iter().enumerate().flat_map(move |(block, &bits)| {
        let mut bits = bits;
        core::iter::from_fn(move || {
            let lane = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(list[block * BLOCK + lane])
        })
    })
}

struct FilterTask<'a, S, J> {
    question: &'a J,
    pair: Pair,
    list: &'a [Candidate],
    way: &'a [Octet<S>],
}

impl<S: Real, J: Judge<S>> Task<u32> for FilterTask<'_, S, J> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [u32]) {
        for (k, verdict) in own.iter_mut().enumerate() {
            let block = (index * FILTER_BLOCKS + k) * BLOCK;
            let count = BLOCK.min(self.list.len() - block);
            // Rows of the way, at both ends; the last block repeats its last candidate.
            let mut rows = [[[0; BLOCK]; 4]; 2];
            for lane in 0..BLOCK {
                let corners = &self.list[block + lane.min(count - 1)].corners;
                for corner in 0..4 {
                    rows[0][corner][lane] = 2 * corners[corner];
                    rows[1][corner][lane] = 2 * corners[corner] + 1;
                }
            }
            let mut clear = 0;
            let mut at = 0;
            while at < BLOCK {
                let mut ends = [[Vec3::zero(); 4]; 2];
                for end in 0..2 {
                    for corner in 0..4 {
                        let [x, y, z, _] = L::from_rows(self.way, &rows[end][corner], at);
                        ends[end][corner] = Vec3::new(x, y, z);
                    }
                }
                clear |= L::bits(self.question.lets_go(self.pair, &ends[0], &ends[1])) << at;
                at += L::WIDTH;
            }
            *verdict = !clear & (u32::MAX >> (32 - count as u32));
        }
    }
}
