//! The loops of the five ways through memory, generic over lane width and over how particles are addressed.
//!
//! Each struct here is one task: plain pointers and a range. `run` is inlined into the instruction set that was chosen.

use core::ops::Range;

use pliant_core::backend::{Emit, Join, Map, Measure, PairRule, REDUCE_SLOTS, Rule, TUNING};
use pliant_core::field::{Field, Layout};
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::schedule::{Addresses, Incidence, Stencil};
use pliant_core::vec3::Vec3;

use crate::memory::{Kernel, MemoryLane, row_offsets};

/// A field's memory, shared by the tasks of a phase.
#[derive(Clone, Copy)]
pub(crate) struct View<S> {
    base: *mut S,
    slots: usize,
    layout: Layout,
}

// SAFETY: tasks that run side by side touch disjoint slots (checked when the stencil was built, or by disjoint slot
// ranges), so sharing the pointer shares no number.
unsafe impl<S: Send> Send for View<S> {}
// SAFETY: as above.
unsafe impl<S: Send> Sync for View<S> {}

impl<S: Real> View<S> {
    /// A view to read and write.
    pub fn of(field: &mut Field<S>) -> Self {
        let (slots, layout) = (field.slot_count(), field.layout());
        Self { base: field.octets_mut().as_mut_ptr().cast(), slots, layout }
    }
    /// A view to read only.
    pub fn read_only(field: &Field<S>) -> Self {
        Self { base: field.octets().as_ptr().cast_mut().cast(), slots: field.slot_count(), layout: field.layout() }
    }

    /// Vector and weight of `WIDTH` consecutive slots.
    ///
    /// # Safety
    /// They are inside the field, and no other thread writes them.
    #[inline(always)]
    unsafe fn load<L: MemoryLane<Scalar = S>>(self, slot: usize) -> (Vec3<L>, L) {
        // SAFETY: passed on to the caller.
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
    unsafe fn store<L: MemoryLane<Scalar = S>>(self, slot: usize, v: Vec3<L>, w: L) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self.layout {
                Layout::Rows => L::scatter(self.base, row_offsets(slot).as_ptr(), [v.x, v.y, v.z, w]),
                Layout::Columns => ColumnsContiguous::<'_, 1>::write(self, slot, v),
            }
        }
    }
}

/// How the corners of a block are found in a field.
trait Access<S: Real, const N: usize>: Copy {
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
struct RowsIndexed<'a, const N: usize>(&'a [[[u32; BLOCK]; N]]);

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
struct ColumnsIndexed<'a, const N: usize>(&'a [[[u32; BLOCK]; N]]);

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
struct ColumnsContiguous<'a, const N: usize>(&'a [[u32; N]]);

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
fn constants<L: Lane, const W: usize>(blocks: &[[Octet<L::Scalar>; W]], block: usize, at: usize) -> [L; W] {
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
    unsafe fn at<'a>(self, i: usize) -> &'a mut T {
        // SAFETY: passed on to the caller.
        unsafe { &mut *self.0.add(i) }
    }
}

/// A task of [`pliant_core::backend::Backend::sweep`].
pub(crate) struct Sweep<'a, S: Real, R, const N: usize, const P: usize> {
    pub rule: &'a R,
    pub stencil: &'a Stencil<N>,
    pub parameters: &'a [[Octet<S>; P]],
    pub tuning: &'a [[Octet<S>; TUNING]],
    pub lambda: Shared<Octet<S>>,
    pub x: View<S>,
    pub start: View<S>,
    pub blocks: Range<usize>,
}

impl<S: Real, R: Rule<N, P, Scalar = S>, const N: usize, const P: usize> Sweep<'_, S, R, N, P> {
    #[inline(always)]
    fn over<L: MemoryLane<Scalar = S>, A: Access<S, N>>(self, access: A) {
        for block in self.blocks {
            let mut at = 0;
            while at < BLOCK {
                let p = constants::<L, P>(self.parameters, block, at);
                let tuning = constants::<L, TUNING>(self.tuning, block, at);
                let mut x = [Vec3::zero(); N];
                let mut w = [L::zero(); N];
                let mut start = [Vec3::zero(); N];
                // SAFETY: the stencil fits the fields; tasks of a phase touch disjoint slots and own their blocks.
                unsafe {
                    for k in 0..N {
                        (x[k], w[k]) = access.load(self.x, block, k, at);
                    }
                    if R::READS_START {
                        for k in 0..N {
                            (start[k], _) = access.load::<L>(self.start, block, k, at);
                        }
                    } else {
                        start = x;
                    }
                    let octet = self.lambda.at(block);
                    let lambda = if R::READS_LAMBDA { L::load(octet, at) } else { L::zero() };
                    let lambda = self.rule.update(&p, &tuning, &mut x, &w, &start, lambda);
                    if R::WRITES_LAMBDA {
                        lambda.store(octet, at);
                    }
                    for k in 0..N {
                        access.store(self.x, block, k, at, x[k], w[k]);
                    }
                }
                at += L::WIDTH;
            }
        }
    }
}

impl<S: Real, R: Rule<N, P, Scalar = S>, const N: usize, const P: usize> Kernel<S> for Sweep<'_, S, R, N, P> {
    #[inline(always)]
    fn run<L: MemoryLane<Scalar = S>>(self) {
        match (self.stencil.addresses(), self.x.layout) {
            (Addresses::Indexed(a), Layout::Rows) => self.over::<L, _>(RowsIndexed(a)),
            (Addresses::Indexed(a), Layout::Columns) => self.over::<L, _>(ColumnsIndexed(a)),
            (Addresses::Contiguous(a), _) => self.over::<L, _>(ColumnsContiguous(a)),
        }
    }
}

/// A task of [`pliant_core::backend::Backend::sweep_pairs`].
pub(crate) struct SweepPairs<'a, S: Real, R, const W: usize> {
    pub rule: &'a R,
    pub stencil: &'a Stencil<2>,
    pub constants: &'a [[Octet<S>; W]],
    pub compliance: &'a [Octet<S>],
    pub lambda: Shared<Octet<S>>,
    pub x: View<S>,
    pub blocks: Range<usize>,
}

impl<S: Real, R: PairRule<W, Scalar = S>, const W: usize> SweepPairs<'_, S, R, W> {
    /// Applies the rule to lanes `at ..` of a block.
    ///
    /// # Safety
    /// The block's multipliers belong to this task alone.
    #[inline(always)]
    unsafe fn update<L: Lane<Scalar = S>>(&self, block: usize, at: usize, d: Vec3<L>) -> (L, L) {
        let p = constants::<L, W>(self.constants, block, at);
        // SAFETY: passed on to the caller.
        let octet = unsafe { self.lambda.at(block) };
        let (compliance, lambda) = if R::READS_LAMBDA {
            (L::load(&self.compliance[block], at), L::load(octet, at))
        } else {
            (L::zero(), L::zero())
        };
        let (sa, sb, lambda) = self.rule.update(&p, compliance, d, lambda);
        if R::WRITES_LAMBDA {
            lambda.store(octet, at);
        }
        (sa, sb)
    }

    /// One block part of the narrow road: difference in row form, multiples of it added back.
    #[inline(always)]
    fn rows<L: MemoryLane<Scalar = S>>(self, offsets: &[[[u32; BLOCK]; 2]]) {
        for block in self.blocks.clone() {
            let [a, b] = &offsets[block];
            let mut at = 0;
            while at < BLOCK {
                let (a, b) = (a[at..].as_ptr(), b[at..].as_ptr());
                // SAFETY: the stencil fits the field; tasks of a phase touch disjoint slots and own their blocks.
                unsafe {
                    let (pair, d) = L::read_pair(self.x.base, a, b);
                    let s = self.update(block, at, d);
                    L::move_pair(self.x.base, a, b, pair, d, s);
                }
                at += L::WIDTH;
            }
        }
    }

    #[inline(always)]
    fn over<L: MemoryLane<Scalar = S>, A: Access<S, 2>>(self, access: A) {
        for block in self.blocks.clone() {
            let mut at = 0;
            while at < BLOCK {
                // SAFETY: the stencil fits the field; tasks of a phase touch disjoint slots and own their blocks.
                unsafe {
                    let (xa, wa) = access.load::<L>(self.x, block, 0, at);
                    let (xb, wb) = access.load::<L>(self.x, block, 1, at);
                    let d = xa - xb;
                    let (sa, sb) = self.update(block, at, d);
                    access.store(self.x, block, 0, at, xa + d * sa, wa);
                    access.store(self.x, block, 1, at, xb - d * sb, wb);
                }
                at += L::WIDTH;
            }
        }
    }
}

impl<S: Real, R: PairRule<W, Scalar = S>, const W: usize> Kernel<S> for SweepPairs<'_, S, R, W> {
    #[inline(always)]
    fn run<L: MemoryLane<Scalar = S>>(self) {
        match (self.stencil.addresses(), self.x.layout) {
            (Addresses::Indexed(a), Layout::Rows) => self.rows::<L>(a),
            (Addresses::Indexed(a), Layout::Columns) => self.over::<L, _>(ColumnsIndexed(a)),
            (Addresses::Contiguous(a), _) => self.over::<L, _>(ColumnsContiguous(a)),
        }
    }
}

/// A task of [`pliant_core::backend::Backend::emit`].
pub(crate) struct EmitRecords<'a, S: Real, E, const N: usize, const P: usize> {
    pub kernel: &'a E,
    pub stencil: &'a Stencil<N>,
    pub parameters: &'a [[Octet<S>; P]],
    pub tuning: &'a [[Octet<S>; TUNING]],
    pub x: View<S>,
    pub v: View<S>,
    pub records: Shared<[S; 4]>,
    pub blocks: Range<usize>,
}

impl<S: Real, E: Emit<N, P, Scalar = S>, const N: usize, const P: usize> EmitRecords<'_, S, E, N, P> {
    #[inline(always)]
    fn over<L: MemoryLane<Scalar = S>, A: Access<S, N>>(self, access: A) {
        for block in self.blocks {
            let mut at = 0;
            while at < BLOCK {
                let p = constants::<L, P>(self.parameters, block, at);
                let tuning = constants::<L, TUNING>(self.tuning, block, at);
                let mut x = [Vec3::zero(); N];
                let mut w = [L::zero(); N];
                let mut v = [Vec3::zero(); N];
                // SAFETY: the stencil fits the fields, which nobody writes; the records of a block belong to its task.
                unsafe {
                    for k in 0..N {
                        (x[k], w[k]) = access.load(self.x, block, k, at);
                    }
                    if E::READS_VELOCITY {
                        for k in 0..N {
                            (v[k], _) = access.load::<L>(self.v, block, k, at);
                        }
                    } else {
                        v = x;
                    }
                    let out = self.kernel.record(&p, &tuning, &x, &w, &v);
                    for (k, corner) in out.iter().enumerate() {
                        let mut offsets = [0; BLOCK];
                        for (l, offset) in offsets.iter_mut().enumerate() {
                            *offset = 4 * ((block * BLOCK + at + l) * N + k) as u32;
                        }
                        let columns = [corner.x, corner.y, corner.z, L::zero()];
                        L::scatter(self.records.0.cast(), offsets.as_ptr(), columns);
                    }
                }
                at += L::WIDTH;
            }
        }
    }
}

impl<S: Real, E: Emit<N, P, Scalar = S>, const N: usize, const P: usize> Kernel<S> for EmitRecords<'_, S, E, N, P> {
    #[inline(always)]
    fn run<L: MemoryLane<Scalar = S>>(self) {
        match (self.stencil.addresses(), self.x.layout) {
            (Addresses::Indexed(a), Layout::Rows) => self.over::<L, _>(RowsIndexed(a)),
            (Addresses::Indexed(a), Layout::Columns) => self.over::<L, _>(ColumnsIndexed(a)),
            (Addresses::Contiguous(a), _) => self.over::<L, _>(ColumnsContiguous(a)),
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

/// A task of [`pliant_core::backend::Backend::map`].
pub(crate) struct MapSlots<'a, S: Real, M, const F: usize> {
    pub kernel: &'a M,
    pub fields: [View<S>; F],
    pub slots: Range<usize>,
}

impl<S: Real, M: Map<F, Scalar = S>, const F: usize> Kernel<S> for MapSlots<'_, S, M, F> {
    #[inline(always)]
    fn run<L: MemoryLane<Scalar = S>>(self) {
        let mut slot = self.slots.start;
        while slot < self.slots.end {
            let mut v = [Vec3::zero(); F];
            let mut w = [L::zero(); F];
            // SAFETY: slots are inside the fields (a multiple of every width) and belong to this task alone.
            unsafe {
                for f in 0..F {
                    (v[f], w[f]) = self.fields[f].load::<L>(slot);
                }
                let out = self.kernel.apply(w[0], v);
                for f in 0..F {
                    self.fields[f].store(slot, out[f], w[f]);
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
        // a − a is 0 for finite numbers and NaN otherwise.
        Join::Max => a.max(b) + ((a - a) + (b - b)),
    }
}
