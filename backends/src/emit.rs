//! Contributions of elements to particles without conflicts: records first, then a sum a particle in a fixed order.

use core::ops::Range;

use pliant_core::backend::{Emit, TUNING};
use pliant_core::field::Layout;
use pliant_core::lane::{BLOCK, Octet, Real};
use pliant_core::schedule::{Addresses, Incidence, Stencil};
use pliant_core::vec3::Vec3;

use crate::access::{Access, ColumnsContiguous, ColumnsIndexed, RowsIndexed, Shared, View, constants};
use crate::memory::{Kernel, MemoryLane};

/// A task of [`pliant_core::backend::Backend::emit`].
pub(crate) struct EmitRecords<'a, S: Real, E, const N: usize, const P: usize, const R: usize> {
    pub kernel: &'a E,
    pub stencil: &'a Stencil<N>,
    pub parameters: &'a [[Octet<S>; P]],
    pub tuning: &'a [[Octet<S>; TUNING]],
    pub x: View<S>,
    pub v: View<S>,
    pub records: Shared<[S; 4]>,
    pub blocks: Range<usize>,
}

impl<S: Real, E: Emit<N, P, R, Scalar = S>, const N: usize, const P: usize, const R: usize>
    EmitRecords<'_, S, E, N, P, R>
{
    /// One loop for every road: kernels are large here, and choosing the road a block at a time costs nothing beside them.
    #[inline(always)]
    fn over<L: MemoryLane<Scalar = S>>(self, road: Road<'_, N>) {
        for block in self.blocks {
            let mut at = 0;
            while at < BLOCK {
                let p = constants::<L, P>(self.parameters, block, at);
                let tuning = constants::<L, TUNING>(self.tuning, block, at);
                let mut x = [Vec3::zero(); N];
                let mut w = [L::zero(); N];
                let mut v = [Vec3::zero(); N];
                // SAFETY: the stencil fits the fields, which nobody writes; the records of a block belong to its task. There are
                // at most `MOST_ROWS` of them, so that no offset wraps: `emit` asserts it.
                unsafe {
                    for k in 0..N {
                        (x[k], w[k]) = road.load(self.x, block, k, at);
                    }
                    if E::READS_VELOCITY {
                        for k in 0..N {
                            (v[k], _) = road.load::<S, L>(self.v, block, k, at);
                        }
                    } else {
                        v = x;
                    }
                    let out = self.kernel.record(&p, &tuning, &x, &w, &v);
                    for (r, row) in out.iter().enumerate() {
                        let mut offsets = [0; BLOCK];
                        for (l, offset) in offsets.iter_mut().enumerate() {
                            *offset = 4 * ((block * BLOCK + at + l) * R + r) as u32;
                        }
                        let columns = [row.x, row.y, row.z, L::zero()];
                        L::scatter(self.records.0.cast(), offsets.as_ptr(), columns);
                    }
                }
                at += L::WIDTH;
            }
        }
    }
}

impl<S, E, const N: usize, const P: usize, const R: usize> Kernel<S> for EmitRecords<'_, S, E, N, P, R>
where
    S: Real + MemoryLane<Scalar = S>,
    E: Emit<N, P, R, Scalar = S>,
{
    #[inline(always)]
    fn run<L: MemoryLane<Scalar = S>>(self) {
        let road = match (self.stencil.addresses(), self.x.layout) {
            (Addresses::Indexed(a), Layout::Rows) => Road::RowsIndexed(RowsIndexed(a)),
            (Addresses::Indexed(a), Layout::Columns) => Road::ColumnsIndexed(ColumnsIndexed(a)),
            (Addresses::Contiguous(a), _) => Road::ColumnsContiguous(ColumnsContiguous(a)),
        };
        self.over::<L>(road);
    }
}

/// How the corners of a set are reached.
#[derive(Clone, Copy)]
enum Road<'a, const N: usize> {
    RowsIndexed(RowsIndexed<'a, N>),
    ColumnsIndexed(ColumnsIndexed<'a, N>),
    ColumnsContiguous(ColumnsContiguous<'a, N>),
}

impl<const N: usize> Road<'_, N> {
    /// # Safety
    /// As for [`Access::load`].
    #[inline(always)]
    unsafe fn load<S: Real, L: MemoryLane<Scalar = S>>(
        self,
        x: View<S>,
        block: usize,
        corner: usize,
        at: usize,
    ) -> (Vec3<L>, L) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self {
                Self::RowsIndexed(access) => access.load(x, block, corner, at),
                Self::ColumnsIndexed(access) => access.load(x, block, corner, at),
                Self::ColumnsContiguous(access) => access.load(x, block, corner, at),
            }
        }
    }
}

/// A task of [`pliant_core::backend::Backend::gather`]: a row is added as a whole, so lanes have nothing to add.
pub(crate) fn gather_slots<S: Real>(incidence: &Incidence, records: &[[S; 4]], to: View<S>, slots: Range<usize>) {
    let (slot_stride, component_stride) = match to.layout {
        Layout::Rows => (4, 1),
        Layout::Columns => (1, to.slots),
    };
    for slot in slots {
        let mut sum = [S::ZERO; 4];
        for &r in incidence.of(slot) {
            let row = records[r as usize];
            for k in 0..4 {
                sum[k] = sum[k] + row[k];
            }
        }
        for (k, value) in sum.into_iter().enumerate().take(3) {
            // SAFETY: the slot is inside the field and belongs to this task alone.
            unsafe {
                let p = to.base.add(slot * slot_stride + k * component_stride);
                *p = *p + value;
            }
        }
    }
}
