//! Lattices: grids whose lanes are neighbours in memory, so that a block is whole vector loads instead of a gather.
//!
//! A row of `columns` particles is cut into eight chunks of K; lane `l` of vector `s` holds particle `i = l·K + s`:
//!
//! ```text
//! particle i:   0 1 2 … K−1 | K … 2K−1 | …          vector s = i mod K, lane l = i div K
//! memory:       [0, K, 2K, …, 7K] [1, K+1, …] …      slot = (row·K + s)·8 + l
//! ```
//!
//! The neighbour to the right is then the *next vector, same lane*: eight links run at once and none shares a particle.
//! Only at s = K − 1 does a link leave its chunk; the neighbour is vector 0 one lane further, an unaligned load.

use super::plan::Plan;
use crate::lane::BLOCK;

/// A rectangular grid of particles inside a model: `id = first + row · columns + column`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lattice {
    /// Id of the particle in row 0, column 0.
    pub first: u32,
    /// Particles a row.
    pub columns: u32,
    /// Number of rows.
    pub rows: u32,
}

impl Lattice {
    /// How many particles the lattice holds.
    pub fn len(&self) -> usize {
        self.columns as usize * self.rows as usize
    }
    /// Whether the lattice holds no particle.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Vectors a row (K).
    pub(super) fn vectors(&self) -> u32 {
        self.columns.div_ceil(BLOCK as u32)
    }
    /// Slots the lattice takes, the unused lanes of its last chunk included.
    pub(crate) fn slot_count(&self) -> usize {
        self.rows as usize * self.vectors() as usize * BLOCK
    }
    /// Slot of a particle, relative to the lattice's first slot.
    pub(super) fn slot(&self, particle: u32) -> u32 {
        let (row, i) = self.place(particle);
        let k = self.vectors();
        (row * k + i % k) * BLOCK as u32 + i / k
    }
    /// Row and column of a particle.
    pub(super) fn place(&self, particle: u32) -> (u32, u32) {
        let local = particle - self.first;
        (local / self.columns, local % self.columns)
    }
}

/// Where a constraint stands on a lattice: which block it belongs to, and its lane there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cell<const N: usize> {
    /// Sort key: rows come in order, and inside a row vectors; links along a row take eight rows at a time.
    order: (u32, u32, u32),
    /// First slot of the block, for every corner.
    pub starts: [u32; N],
    /// Lane inside the block.
    pub lane: u32,
}

/// The block and lane of a constraint, or `None` when its corners do not move in step with the lanes.
pub(super) fn cell<const N: usize>(plan: &Plan, particles: &[u32; N]) -> Option<Cell<N>> {
    let (lattice, base) = plan.lattice_of(particles[0])?;
    let k = lattice.vectors();
    let mut anchor = lattice.place(particles[0]);
    for &p in &particles[1..] {
        let (other, _) = plan.lattice_of(p)?;
        if other.first != lattice.first {
            return None;
        }
        anchor = anchor.min_by_column(lattice.place(p));
    }
    let (row0, i0) = anchor;
    let (lane, s0) = (i0 / k, i0 % k);
    let mut starts = [0; N];
    let (mut low, mut high) = (u32::MAX, 0);
    for (start, &p) in starts.iter_mut().zip(particles) {
        let (row, i) = lattice.place(p);
        let across = i - i0;
        // A corner may reach into the next chunk, one lane further, but a block must not touch a vector twice.
        if across + 2 > k {
            return None;
        }
        let s = s0 + across;
        *start = base + (row * k + s % k) * BLOCK as u32 + s / k;
        low = low.min(row);
        high = high.max(row);
    }
    let first_row = if plan.sweeps_down() { lattice.rows - 1 - high } else { low };
    // Links along a row form a chain through its vectors; eight rows in turn keep consecutive blocks independent.
    let order = if low == high && N > 1 { (first_row / 8, s0, row0 % 8) } else { (first_row, s0, 0) };
    Some(Cell { order, starts, lane })
}

trait MinByColumn {
    fn min_by_column(self, other: Self) -> Self;
}

impl MinByColumn for (u32, u32) {
    fn min_by_column(self, other: Self) -> Self {
        if (other.1, other.0) < (self.1, self.0) { other } else { self }
    }
}
