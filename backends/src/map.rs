//! Loops over particles: maps, and reductions in a fixed tree.

use core::ops::Range;

use pliant_core::backend::{Join, Light, Map, Measure, REDUCE_SLOTS};
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::vec3::Vec3;

use crate::access::{Shared, View};
use crate::memory::{Kernel, MemoryLane};

/// A task of [`pliant_core::backend::Backend::map`].
pub(crate) struct MapSlots<'a, S: Real, M, const F: usize> {
    pub kernel: &'a M,
    pub fields: [View<S>; F],
    pub slots: Range<usize>,
}

impl<S: Real, M: Map<F, Scalar = S>, const F: usize> MapSlots<'_, S, M, F> {
    /// # Safety
    /// Slots `slot ..` are inside the fields and belong to this task.
    #[inline(always)]
    unsafe fn load<L: MemoryLane<Scalar = S>>(&self, slot: usize) -> ([L; F], [Vec3<L>; F]) {
        let (mut w, mut v) = ([L::zero(); F], [Vec3::zero(); F]);
        for f in 0..F {
            // SAFETY: passed on to the caller.
            (v[f], w[f]) = unsafe { self.fields[f].load::<L>(slot) };
        }
        (w, v)
    }
    /// # Safety
    /// As for `load`.
    #[inline(always)]
    unsafe fn store<L: MemoryLane<Scalar = S>>(&self, slot: usize, w: [L; F], out: [Vec3<L>; F]) {
        for f in 0..F {
            if M::WRITES[f] {
                // SAFETY: passed on to the caller.
                unsafe { self.fields[f].store(slot, out[f], w[f]) };
            }
        }
    }
}

impl<S: Real, M: Map<F, Scalar = S>, const F: usize> Kernel<S> for MapSlots<'_, S, M, F> {
    #[inline(always)]
    fn run<L: MemoryLane<Scalar = S>>(self) {
        let mut slot = self.slots.start;
        while slot < self.slots.end {
            // SAFETY: slots are inside the fields (a multiple of every width) and belong to this task alone.
            unsafe {
                let (w, v) = self.load::<L>(slot);
                match self.kernel.light(w, v) {
                    Light::Idle => {}
                    Light::Done(out) => self.store(slot, w, out),
                    Light::Rare => self.store(slot, w, self.kernel.apply_weighted(w, v)),
                }
            }
            slot += L::WIDTH;
        }
    }
}

/// A task of [`pliant_core::backend::Backend::reduce`]: eight running results a chunk, whatever the width.
pub(crate) struct ReduceSlots<'a, S: Real, M, const F: usize> {
    pub kernel: &'a M,
    pub join: Join,
    pub fields: [View<S>; F],
    pub partials: Shared<Octet<S>>,
    pub chunk: usize,
    pub slot_count: usize,
}

impl<S: Real, M: Measure<F, Scalar = S>, const F: usize> Kernel<S> for ReduceSlots<'_, S, M, F> {
    #[inline(always)]
    fn run<L: MemoryLane<Scalar = S>>(self) {
        let mut result = Octet([S::ZERO; BLOCK]);
        let first = self.chunk * REDUCE_SLOTS;
        let mut slot = first;
        while slot < self.slot_count.min(first + REDUCE_SLOTS) {
            let mut at = 0;
            while at < BLOCK {
                let mut v = [Vec3::zero(); F];
                let mut w = [L::zero(); F];
                for f in 0..F {
                    // SAFETY: slots are inside the fields, which nobody writes.
                    (v[f], w[f]) = unsafe { self.fields[f].load::<L>(slot + at) };
                }
                let value = self.kernel.value(w[0], v);
                join_lanes(self.join, L::load(&result, at), value).store(&mut result, at);
                at += L::WIDTH;
            }
            slot += BLOCK;
        }
        // SAFETY: a chunk's partial result belongs to its task alone.
        unsafe { *self.partials.at(self.chunk) = result }
    }
}

/// The sum, or the larger; not-a-number once either is not finite.
#[inline(always)]
pub(crate) fn join_lanes<L: Lane>(join: Join, a: L, b: L) -> L {
    match join {
        Join::Sum => a + b,
        Join::Max => a.max(b) + (a.blemish() + b.blemish()),
    }
}
