//! How kernels reach a field: rows or columns, by offset or in whole vectors, shared between threads.

use pliant_core::field::{Field, Layout, MOST_ROWS};
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::vec3::Vec3;

use crate::memory::{MemoryLane, row_offsets};

/// A field's memory, shared by the tasks of a phase.
#[derive(Clone, Copy)]
pub(crate) struct View<S> {
    pub base: *mut S,
    pub slots: usize,
    pub layout: Layout,
}

// SAFETY: tasks that run side by side touch disjoint slots (checked when the stencil was built, or by disjoint slot
// ranges), so sharing the pointer shares no number.
unsafe impl<S: Send> Send for View<S> {}
// SAFETY: as above.
unsafe impl<S: Send> Sync for View<S> {}

impl<S: Real> View<S> {
    /// A view to read and write.
    pub fn of(field: &mut Field<S>) -> Self {
        let (slots, layout) = Self::dimensions(field);
        Self { base: field.octets_mut().as_mut_ptr().cast(), slots, layout }
    }
    /// A view to read only.
    pub fn read_only(field: &Field<S>) -> Self {
        let (slots, layout) = Self::dimensions(field);
        Self { base: field.octets().as_ptr().cast_mut().cast(), slots, layout }
    }
    /// Models refuse more slots than offsets reach; a field of somebody's own plan must not get past that either.
    fn dimensions(field: &Field<S>) -> (usize, Layout) {
        let slots = field.slot_count();
        assert!(slots <= MOST_ROWS, "{slots} slots, but offsets of 32 bits reach {MOST_ROWS}");
        (slots, field.layout())
    }

    /// Vector and weight of `WIDTH` consecutive slots.
    ///
    /// # Safety
    /// They are inside the field, and no other thread writes them.
    #[inline(always)]
    pub unsafe fn load<L: MemoryLane<Scalar = S>>(self, slot: usize) -> (Vec3<L>, L) {
        // SAFETY: passed on to the caller; a view has at most `MOST_ROWS` slots, so that no offset wraps.
        unsafe {
            match self.layout {
                Layout::Rows => {
                    let [x, y, z, w] = L::gather(self.base, row_offsets(slot).as_ptr());
                    (Vec3::new(x, y, z), w)
                }
                Layout::Columns => ColumnsContiguous::<'_, 1>::read(self, slot),
            }
        }
    }
    /// Replaces vector and weight of `WIDTH` consecutive slots.
    ///
    /// # Safety
    /// They are inside the field, and no other thread touches them.
    #[inline(always)]
    pub unsafe fn store<L: MemoryLane<Scalar = S>>(self, slot: usize, v: Vec3<L>, w: L) {
        // SAFETY: passed on to the caller; a view has at most `MOST_ROWS` slots, so that no offset wraps.
        unsafe {
            match self.layout {
                Layout::Rows => L::scatter(self.base, row_offsets(slot).as_ptr(), [v.x, v.y, v.z, w]),
                Layout::Columns => ColumnsContiguous::<'_, 1>::write(self, slot, v),
            }
        }
    }
}

/// How the corners of a block are found in a field.
pub(crate) trait Access<S: Real, const N: usize>: Copy {
    /// Vector and weight of a corner, lanes `at ..` of the block.
    ///
    /// # Safety
    /// The stencil fits the field; no other thread writes these slots.
    unsafe fn load<L: MemoryLane<Scalar = S>>(self, x: View<S>, block: usize, corner: usize, at: usize)
    -> (Vec3<L>, L);
    /// Replaces the vector of a corner, lanes `at ..` of the block.
    ///
    /// # Safety
    /// The stencil fits the field; no other thread touches these slots.
    unsafe fn store<L: MemoryLane<Scalar = S>>(
        self,
        x: View<S>,
        block: usize,
        corner: usize,
        at: usize,
        v: Vec3<L>,
        w: L,
    );
}

#[derive(Clone, Copy)]
pub(crate) struct RowsIndexed<'a, const N: usize>(pub &'a [[[u32; BLOCK]; N]]);

impl<S: Real, const N: usize> Access<S, N> for RowsIndexed<'_, N> {
    #[inline(always)]
    unsafe fn load<L: MemoryLane<Scalar = S>>(
        self,
        x: View<S>,
        block: usize,
        corner: usize,
        at: usize,
    ) -> (Vec3<L>, L) {
        // SAFETY: offsets were checked by the stencil.
        let [a, b, c, w] = unsafe { L::gather(x.base, self.0[block][corner][at..].as_ptr()) };
        (Vec3::new(a, b, c), w)
    }
    #[inline(always)]
    unsafe fn store<L: MemoryLane<Scalar = S>>(
        self,
        x: View<S>,
        block: usize,
        corner: usize,
        at: usize,
        v: Vec3<L>,
        w: L,
    ) {
        // SAFETY: offsets were checked by the stencil.
        unsafe { L::scatter(x.base, self.0[block][corner][at..].as_ptr(), [v.x, v.y, v.z, w]) }
    }
}

/// Single numbers picked from columns: the slow road for sets that do not follow a lattice.
#[derive(Clone, Copy)]
pub(crate) struct ColumnsIndexed<'a, const N: usize>(pub &'a [[[u32; BLOCK]; N]]);

impl<S: Real, const N: usize> Access<S, N> for ColumnsIndexed<'_, N> {
    #[inline(always)]
    unsafe fn load<L: MemoryLane<Scalar = S>>(
        self,
        x: View<S>,
        block: usize,
        corner: usize,
        at: usize,
    ) -> (Vec3<L>, L) {
        let mut columns = [Octet([S::ZERO; BLOCK]); 4];
        for lane in at..at + L::WIDTH {
            let slot = self.0[block][corner][lane] as usize;
            for (k, column) in columns.iter_mut().enumerate() {
                // SAFETY: offsets were checked by the stencil; columns are `slots` apart.
                column.0[lane] = unsafe { *x.base.add(slot + k * x.slots) };
            }
        }
        let [a, b, c, w] = &columns;
        (Vec3::new(L::load(a, at), L::load(b, at), L::load(c, at)), L::load(w, at))
    }
    #[inline(always)]
    unsafe fn store<L: MemoryLane<Scalar = S>>(
        self,
        x: View<S>,
        block: usize,
        corner: usize,
        at: usize,
        v: Vec3<L>,
        _: L,
    ) {
        let mut columns = [Octet([S::ZERO; BLOCK]); 3];
        v.x.store(&mut columns[0], at);
        v.y.store(&mut columns[1], at);
        v.z.store(&mut columns[2], at);
        for lane in at..at + L::WIDTH {
            let slot = self.0[block][corner][lane] as usize;
            for (k, column) in columns.iter().enumerate() {
                // SAFETY: offsets were checked by the stencil; columns are `slots` apart.
                unsafe { *x.base.add(slot + k * x.slots) = column.0[lane] }
            }
        }
    }
}

/// Whole vectors of columns: lattices.
#[derive(Clone, Copy)]
pub(crate) struct ColumnsContiguous<'a, const N: usize>(pub &'a [[u32; N]]);

impl<const N: usize> ColumnsContiguous<'_, N> {
    /// # Safety
    /// `WIDTH` slots from `slot` are inside the field, and no other thread writes them.
    #[inline(always)]
    unsafe fn read<L: MemoryLane>(x: View<L::Scalar>, slot: usize) -> (Vec3<L>, L) {
        // SAFETY: passed on to the caller; columns are `slots` apart.
        unsafe {
            let p = x.base.add(slot);
            (Vec3::new(L::read(p), L::read(p.add(x.slots)), L::read(p.add(2 * x.slots))), L::read(p.add(3 * x.slots)))
        }
    }
    /// # Safety
    /// `WIDTH` slots from `slot` are inside the field, and no other thread touches them.
    #[inline(always)]
    unsafe fn write<L: MemoryLane>(x: View<L::Scalar>, slot: usize, v: Vec3<L>) {
        // SAFETY: passed on to the caller; columns are `slots` apart.
        unsafe {
            let p = x.base.add(slot);
            v.x.write(p);
            v.y.write(p.add(x.slots));
            v.z.write(p.add(2 * x.slots));
        }
    }
}

impl<S: Real, const N: usize> Access<S, N> for ColumnsContiguous<'_, N> {
    #[inline(always)]
    unsafe fn load<L: MemoryLane<Scalar = S>>(
        self,
        x: View<S>,
        block: usize,
        corner: usize,
        at: usize,
    ) -> (Vec3<L>, L) {
        // SAFETY: starts were checked by the stencil for all eight lanes.
        unsafe { Self::read(x, self.0[block][corner] as usize + at) }
    }
    #[inline(always)]
    unsafe fn store<L: MemoryLane<Scalar = S>>(
        self,
        x: View<S>,
        block: usize,
        corner: usize,
        at: usize,
        v: Vec3<L>,
        _: L,
    ) {
        // SAFETY: starts were checked by the stencil for all eight lanes.
        unsafe { Self::write(x, self.0[block][corner] as usize + at, v) }
    }
}

/// Constants of a block, lanes `at ..`.
#[inline(always)]
pub(crate) fn constants<L: Lane, const W: usize>(blocks: &[[Octet<L::Scalar>; W]], block: usize, at: usize) -> [L; W] {
    let mut c = [L::zero(); W];
    for (to, from) in c.iter_mut().zip(&blocks[block]) {
        *to = L::load(from, at);
    }
    c
}

/// A set's multipliers, shared by the tasks of a phase: each task owns the octets of its blocks.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(pub *mut T);

// SAFETY: tasks use disjoint ranges (consecutive block or slot ranges), so sharing the pointer shares no element.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// # Safety
    /// `i` is inside the slice this was made from, and belongs to this task alone.
    #[inline(always)]
    pub unsafe fn at<'a>(self, i: usize) -> &'a mut T {
        // SAFETY: passed on to the caller.
        unsafe { &mut *self.0.add(i) }
    }
}
