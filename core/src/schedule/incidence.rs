//! Incidence: which records of a set belong to a particle, so that sums need no atomics and have one order.

use super::plan::Plan;
use super::stencil::Stencil;
use crate::lane::BLOCK;

/// For every slot, the rows that [`crate::backend::Backend::emit`] wrote for it, in constraint order (compressed rows).
#[derive(Clone, Debug)]
pub struct Incidence {
    starts: Vec<u32>,
    records: Vec<u32>,
    record_count: usize,
}

impl Incidence {
    /// Finds the records of every slot.
    pub fn new<const N: usize>(plan: &Plan, stencil: &Stencil<N>, ids: &[[u32; N]]) -> Self {
        let slot = |p: u32| plan.slots()[p as usize] as usize;
        let mut starts = vec![0_u32; plan.slot_count() + 1];
        for &p in ids.iter().flatten() {
            starts[slot(p) + 1] += 1;
        }
        for i in 0..plan.slot_count() {
            starts[i + 1] += starts[i];
        }
        let mut cursor = starts.clone();
        let mut records = vec![0; ids.len() * N];
        for (c, particles) in ids.iter().enumerate() {
            let (block, lane) = stencil.place(c);
            for (corner, &p) in particles.iter().enumerate() {
                let at = &mut cursor[slot(p)];
                records[*at as usize] = ((block * BLOCK + lane) * N + corner) as u32;
                *at += 1;
            }
        }
        Self { starts, records, record_count: stencil.block_count() * BLOCK * N }
    }

    /// Slots covered.
    pub fn slot_count(&self) -> usize {
        self.starts.len() - 1
    }
    /// Rows that `emit` writes for this set.
    pub fn record_count(&self) -> usize {
        self.record_count
    }
    /// The records of a slot.
    #[inline]
    pub fn of(&self, slot: usize) -> &[u32] {
        &self.records[self.starts[slot] as usize..self.starts[slot + 1] as usize]
    }
}
