//! Fields: how vectors travel inside a step, in the order and layout the schedule chose.
//!
//! At rest data are columns in the user's order. A solver packs them once a step into fields, where particles stand in
//! *slot* order and either as 16-byte rows `[x y z w]` (one load a particle; any mesh) or as columns (whole vectors of
//! lanes; grids whose lanes are neighbours in memory).

use crate::columns::Columns;
use crate::lane::{BLOCK, Octet, Real};
use crate::schedule::Plan;

/// The most rows of four numbers that offsets of 32 bits reach: the last number of the last row is number 2³² − 1. Models refuse more
/// slots, backends refuse more slots of a field and more records of elements.
pub const MOST_ROWS: usize = 1 << 30;

/// Where the four numbers of a slot stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `x y z w` of a slot side by side: a 16-byte row in single precision.
    Rows,
    /// All x, then all y, all z, all w.
    Columns,
}

/// Four numbers a slot: a vector and a weight (the inverse mass for positions, unused otherwise).
#[derive(Clone, Debug)]
pub struct Field<S> {
    octets: Vec<Octet<S>>,
    slots: usize,
    layout: Layout,
}

impl<S: Real> Field<S> {
    /// A field of zeros for every slot of a plan.
    pub fn zeros(plan: &Plan) -> Self {
        let octets = vec![Octet([S::ZERO; BLOCK]); 4 * plan.slot_count() / BLOCK];
        Self { octets, slots: plan.slot_count(), layout: plan.layout() }
    }
    /// A field without slots: a stand-in while the real one is away.
    pub fn empty() -> Self {
        Self { octets: Vec::new(), slots: 0, layout: Layout::Rows }
    }
    /// How many slots there are, idle ones included: a multiple of [`BLOCK`].
    pub fn slot_count(&self) -> usize {
        self.slots
    }
    /// Where the numbers of a slot stand.
    pub fn layout(&self) -> Layout {
        self.layout
    }
    /// All numbers as they stand in memory: `4 · slot_count / BLOCK` octets.
    pub fn octets(&self) -> &[Octet<S>] {
        &self.octets
    }
    /// All numbers as they stand in memory, to be changed.
    pub fn octets_mut(&mut self) -> &mut [Octet<S>] {
        &mut self.octets
    }

    #[inline]
    fn place(&self, slot: usize, component: usize) -> (usize, usize) {
        let at = match self.layout {
            Layout::Rows => 4 * slot + component,
            Layout::Columns => component * self.slots + slot,
        };
        (at / BLOCK, at % BLOCK)
    }
    /// Component 0–2 of a slot's vector, or its weight as component 3.
    #[inline]
    pub fn get(&self, slot: usize, component: usize) -> S {
        let (octet, lane) = self.place(slot, component);
        self.octets[octet].0[lane]
    }
    /// Replaces component 0–2 of a slot's vector, or its weight as component 3.
    #[inline]
    pub fn set(&mut self, slot: usize, component: usize, value: S) {
        let (octet, lane) = self.place(slot, component);
        self.octets[octet].0[lane] = value;
    }
    /// The vector of a slot.
    #[inline]
    pub fn vector(&self, slot: usize) -> [S; 3] {
        [self.get(slot, 0), self.get(slot, 1), self.get(slot, 2)]
    }
    /// Replaces the vector of a slot.
    #[inline]
    pub fn set_vector(&mut self, slot: usize, v: [S; 3]) {
        for (component, value) in v.into_iter().enumerate() {
            self.set(slot, component, value);
        }
    }
    /// Zero everywhere.
    pub fn clear(&mut self) {
        self.octets.fill(Octet([S::ZERO; BLOCK]));
    }

    /// Copies the user's columns into slot order.
    pub fn pack(&mut self, plan: &Plan, from: &Columns<S>) {
        let [x, y, z] = from.axes();
        match self.layout {
            Layout::Rows => {
                for ((&slot, &x), (&y, &z)) in plan.slots().iter().zip(x).zip(y.iter().zip(z)) {
                    let slot = slot as usize;
                    let half = &mut self.octets[slot / 2].0[4 * (slot % 2)..][..3];
                    half[0] = x;
                    half[1] = y;
                    half[2] = z;
                }
            }
            Layout::Columns => {
                for (component, column) in [x, y, z].into_iter().enumerate() {
                    let target = &mut self.octets[component * self.slots / BLOCK..][..self.slots / BLOCK];
                    for (&slot, &value) in plan.slots().iter().zip(column) {
                        target[slot as usize / BLOCK].0[slot as usize % BLOCK] = value;
                    }
                }
            }
        }
    }
    /// Copies the vectors back into the user's columns and order.
    pub fn unpack(&self, plan: &Plan, to: &mut Columns<S>) {
        match self.layout {
            Layout::Rows => {
                let Columns { x, y, z } = to;
                for ((&slot, x), (y, z)) in plan.slots().iter().zip(x).zip(y.iter_mut().zip(z)) {
                    let slot = slot as usize;
                    let half = &self.octets[slot / 2].0[4 * (slot % 2)..][..3];
                    *x = half[0];
                    *y = half[1];
                    *z = half[2];
                }
            }
            Layout::Columns => {
                for (component, column) in [&mut to.x, &mut to.y, &mut to.z].into_iter().enumerate() {
                    let source = &self.octets[component * self.slots / BLOCK..][..self.slots / BLOCK];
                    for (&slot, value) in plan.slots().iter().zip(column) {
                        *value = source[slot as usize / BLOCK].0[slot as usize % BLOCK];
                    }
                }
            }
        }
    }
}
