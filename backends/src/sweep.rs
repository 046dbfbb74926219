//! Gauss–Seidel loops: every constraint sees what the ones before it did.
//!
//! Each struct is one task: plain pointers and a range of blocks. `run` is inlined into the instruction set that was chosen.

use core::ops::Range;

use pliant_core::backend::{PairRule, Rule, TUNING};
use pliant_core::field::Layout;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::schedule::{Addresses, Stencil};
use pliant_core::vec3::Vec3;

use crate::access::{Access, ColumnsContiguous, ColumnsIndexed, RowsIndexed, Shared, View, constants};
use crate::memory::{Kernel, MemoryLane};

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

impl<S: Real + MemoryLane<Scalar = S>, R: Rule<N, P, Scalar = S>, const N: usize, const P: usize>
    Sweep<'_, S, R, N, P>
{
    /// Picking single numbers from columns is scalar work, whatever the lanes: not inlined, so that they share what is compiled.
    #[inline(never)]
    fn pick(self, offsets: &[[[u32; BLOCK]; N]]) {
        self.over::<S, _>(ColumnsIndexed(offsets));
    }

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
                    if self.rule.reads_start() {
                        for k in 0..N {
                            (start[k], _) = access.load::<L>(self.start, block, k, at);
                        }
                    } else {
                        start = x;
                    }
                    let octet = self.lambda.at(block);
                    let lambda = if self.rule.reads_lambda() { L::load(octet, at) } else { L::zero() };
                    let lambda = self.rule.update(&p, &tuning, &mut x, &w, &start, lambda);
                    if self.rule.writes_lambda() {
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

impl<S: Real + MemoryLane<Scalar = S>, R: Rule<N, P, Scalar = S>, const N: usize, const P: usize> Kernel<S>
    for Sweep<'_, S, R, N, P>
{
    #[inline(always)]
    fn run<L: MemoryLane<Scalar = S>>(self) {
        match (self.stencil.addresses(), self.x.layout) {
            (Addresses::Indexed(a), Layout::Rows) => self.over::<L, _>(RowsIndexed(a)),
            (Addresses::Indexed(a), Layout::Columns) => self.pick(a),
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

impl<S: Real + MemoryLane<Scalar = S>, R: PairRule<W, Scalar = S>, const W: usize> SweepPairs<'_, S, R, W> {
    /// As for [`Sweep::pick`].
    #[inline(never)]
    fn pick(self, offsets: &[[[u32; BLOCK]; 2]]) {
        self.over::<S, _>(ColumnsIndexed(offsets));
    }

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

impl<S: Real + MemoryLane<Scalar = S>, R: PairRule<W, Scalar = S>, const W: usize> Kernel<S>
    for SweepPairs<'_, S, R, W>
{
    #[inline(always)]
    fn run<L: MemoryLane<Scalar = S>>(self) {
        match (self.stencil.addresses(), self.x.layout) {
            (Addresses::Indexed(a), Layout::Rows) => self.rows::<L>(a),
            (Addresses::Indexed(a), Layout::Columns) => self.pick(a),
            (Addresses::Contiguous(a), _) => self.over::<L, _>(ColumnsContiguous(a)),
        }
    }
}
