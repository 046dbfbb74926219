//! Pairs in blocks of eight that share no vertex, so that a block's lanes can move their vertices at once.
//!
//! A number of blocks are open at a time, and every vertex has a bit for each of them that it is in. A pair goes into the first
//! open block that has none of its vertices; full blocks leave and make room. The order of pairs alone decides the result.

use pliant_core::collide::Candidate;
use pliant_core::lane::{BLOCK, Real};

use super::push::Block;
use super::rows::Rows;

/// Blocks that are open at a time: a vertex is in about as many pairs where surfaces press against each other.
const OPEN: usize = 32;

/// Where blocks are filled.
#[derive(Clone, Debug)]
pub(super) struct Packer {
    /// By row: one bit for each open block it is in.
    used: Vec<u32>,
    /// Corners of the open blocks, and how many pairs each holds.
    open: [[[u32; BLOCK]; 4]; OPEN],
    filled: [u32; OPEN],
}

impl Packer {
    /// For this many rows.
    pub fn new(rows: usize) -> Self {
        Self { used: vec![0; rows], open: [[[0; BLOCK]; 4]; OPEN], filled: [0; OPEN] }
    }

    /// Appends blocks with all pairs of the list, kind by kind.
    pub fn pack<S: Real>(&mut self, list: &[Candidate], rows: &Rows<S>, blocks: &mut Vec<Block<S>>) {
        for pairs in list.chunk_by(|a, b| a.pair == b.pair) {
            let kind = pairs[0].pair;
            // Neighbours in the list share vertices: the lanes of a block come from eight parts of it.
            let part = pairs.len().div_ceil(BLOCK);
            for pair in (0..part).flat_map(|k| pairs.iter().skip(k).step_by(part)) {
                let at = pair.corners.map(|vertex| rows.of(vertex));
                let taken = at.iter().fold(0, |taken, &row| taken | self.used[row as usize]);
                let mut k = taken.trailing_ones() as usize;
                if k == OPEN {
                    // A vertex is in all of them: the fullest leaves as it is.
                    k = (0..OPEN).rev().max_by_key(|&k| self.filled[k]).unwrap_or(0);
                    self.close(k, kind, rows, blocks);
                }
                let lane = self.filled[k] as usize % BLOCK;
                for corner in 0..4 {
                    self.open[k][corner][lane] = at[corner];
                    self.used[at[corner] as usize] |= 1 << k;
                }
                self.filled[k] += 1;
                if self.filled[k] as usize == BLOCK {
                    self.close(k, kind, rows, blocks);
                }
            }
            (0..OPEN).for_each(|k| self.close(k, kind, rows, blocks));
        }
    }

    /// Takes leave of an open block.
    fn close<S: Real>(
        &mut self,
        k: usize,
        kind: pliant_core::collide::distance::Pair,
        rows: &Rows<S>,
        blocks: &mut Vec<Block<S>>,
    ) {
        let count = core::mem::take(&mut self.filled[k]) as usize;
        if count == 0 {
            return;
        }
        let mut block = Block::empty(kind, rows.idle());
        for corner in 0..4 {
            for lane in 0..count {
                let row = self.open[k][corner][lane];
                self.used[row as usize] &= !(1 << k);
                block.at[corner][lane] = row;
            }
        }
        blocks.push(block);
    }
}
