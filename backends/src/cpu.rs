//! The backend: which lanes, which crew of threads, and the checks that make raw access sound.

use core::marker::PhantomData;

use pliant_core::backend::{
    Around, Backend, Blocks, Cut, Emit, Join, Map, Measure, PairRule, REDUCE_SLOTS, Rule, TUNING, Task,
};
use pliant_core::field::{Field, MOST_ROWS};
use pliant_core::lane::{BLOCK, Octet, Real};
use pliant_core::schedule::{Incidence, Neighbours, Stencil};

use crate::access::{Shared, View};
use crate::emit::{EmitRecords, gather_slots};
use crate::fork::{Portions, RunTask};
use crate::isa::{Precision, dispatch};
use crate::map::{MapSlots, ReduceSlots, join_lanes};
use crate::surround::Surround;
use crate::sweep::{Sweep, SweepPairs};
use crate::unit::Unit;

/// Slots a task of `map`, `gather` and `reduce` covers, at least and at most.
const TASK_SLOTS: [usize; 2] = [2048, 4096];

/// Blocks of eight slots a task of `surround` covers: some ten microseconds of work at most.
const SURROUND_BLOCKS: [usize; 2] = [32, 128];

/// Blocks of elements a task of `emit` covers.
const EMIT_BLOCKS: [usize; 2] = [128, 512];

/// Blocks below which a phase is not worth waking anyone for: one to ten microseconds of work, by kind.
const SMALL_PHASE: usize = 128;

/// Kernels on this processor: some lanes, some threads. Use it through [`crate::Scalar`], [`crate::Simd`] and
/// [`crate::Parallel`], or pick at run time with [`crate::AnyBackend`].
#[derive(Clone, Debug)]
pub struct Cpu<S, U> {
    unit: U,
    precision: PhantomData<S>,
}

impl<S: Precision, U: Unit> Cpu<S, U> {
    pub(crate) fn with(unit: U) -> Self {
        Self { unit, precision: PhantomData }
    }

    pub(crate) fn into_unit(self) -> U {
        self.unit
    }

    /// Runs the tasks of every phase; small phases stay on this thread.
    fn phases<const N: usize>(&self, stencil: &Stencil<N>, task: &(dyn Fn(core::ops::Range<usize>) + Sync)) {
        for phase in stencil.phases() {
            let tasks = &stencil.tasks()[phase.clone()];
            let blocks: usize = tasks.iter().map(ExactSizeIterator::len).sum();
            if blocks < SMALL_PHASE {
                tasks.iter().for_each(|blocks| task(blocks.clone()));
            } else {
                self.unit.run(tasks.len(), &|i| task(tasks[i].clone()));
            }
        }
    }

    /// Runs ranges of at most `most` items, and of no fewer than `least` so that every thread gets as many.
    fn ranges(&self, count: usize, [least, most]: [usize; 2], task: &(dyn Fn(core::ops::Range<usize>) + Sync)) {
        let even = count.div_ceil(most).next_multiple_of(self.unit.threads()).max(1);
        let step = count.div_ceil(even).max(least);
        self.unit.run(count.div_ceil(step), &|i| task(i * step..count.min((i + 1) * step)));
    }

    /// Runs ranges of slots, whole blocks.
    fn slots(&self, count: usize, task: &(dyn Fn(core::ops::Range<usize>) + Sync)) {
        let blocks = count.div_ceil(BLOCK);
        self.ranges(blocks, TASK_SLOTS.map(|slots| slots / BLOCK), &|range| {
            task(range.start * BLOCK..count.min(range.end * BLOCK));
        });
    }
}

fn fits<S: Real, const N: usize>(stencil: &Stencil<N>, field: &Field<S>) {
    assert!(stencil.fits(field.slot_count(), field.layout()), "the stencil and the field are of different plans");
}

type Chunks<'a, S, const P: usize> = (&'a [[Octet<S>; P]], &'a [[Octet<S>; TUNING]]);

fn chunks<'a, S: Real, const N: usize, const P: usize>(
    stencil: &Stencil<N>,
    blocks: Blocks<'a, S>,
) -> Chunks<'a, S, P> {
    let ((parameters, _), (tuning, _)) = (blocks.parameters.as_chunks(), blocks.tuning.as_chunks());
    assert!(parameters.len() == stencil.block_count() && tuning.len() == stencil.block_count());
    (parameters, tuning)
}

impl<S: Precision, U: Unit> Backend for Cpu<S, U> {
    type Scalar = S;

    fn name(&self) -> &'static str {
        self.unit.name()
    }
    fn isa(&self) -> &'static str {
        self.unit.isa().name()
    }
    fn threads(&self) -> usize {
        self.unit.threads()
    }

    fn map<M: Map<F, Scalar = S>, const F: usize>(&self, kernel: &M, fields: [&mut Field<S>; F]) {
        let count = fields.first().map_or(0, |f| f.slot_count());
        let same = fields.iter().all(|f| f.slot_count() == count && f.layout() == fields[0].layout());
        assert!(same, "the fields are of different plans");
        let fields = fields.map(View::of);
        self.slots(count, &|slots| dispatch(self.unit.isa(), MapSlots { kernel, fields, slots }));
    }

    fn sweep<R: Rule<N, P, Scalar = S>, const N: usize, const P: usize>(
        &self,
        rule: &R,
        stencil: &Stencil<N>,
        blocks: Blocks<'_, S>,
        lambda: &mut [Octet<S>],
        x: &mut Field<S>,
        start: &Field<S>,
    ) {
        fits(stencil, x);
        fits(stencil, start);
        let (parameters, tuning) = chunks(stencil, blocks);
        assert!(lambda.len() == stencil.block_count(), "a multiplier for every lane");
        let (lambda, x, start) = (Shared(lambda.as_mut_ptr()), View::of(x), View::read_only(start));
        self.phases(stencil, &|blocks| {
            dispatch(self.unit.isa(), Sweep { rule, stencil, parameters, tuning, lambda, x, start, blocks });
        });
    }

    fn sweep_pairs<R: PairRule<W, Scalar = S>, const W: usize>(
        &self,
        rule: &R,
        stencil: &Stencil<2>,
        constants: &[Octet<S>],
        compliance: &[Octet<S>],
        lambda: &mut [Octet<S>],
        x: &mut Field<S>,
    ) {
        fits(stencil, x);
        let (constants, _) = constants.as_chunks::<W>();
        let count = stencil.block_count();
        assert!(constants.len() == count && compliance.len() == count && lambda.len() == count);
        let (lambda, x) = (Shared(lambda.as_mut_ptr()), View::of(x));
        self.phases(stencil, &|blocks| {
            dispatch(self.unit.isa(), SweepPairs { rule, stencil, constants, compliance, lambda, x, blocks });
        });
    }

    fn emit<E: Emit<N, P, R, Scalar = S>, const N: usize, const P: usize, const R: usize>(
        &self,
        kernel: &E,
        stencil: &Stencil<N>,
        blocks: Blocks<'_, S>,
        x: &Field<S>,
        v: &Field<S>,
        records: &mut [[S; 4]],
    ) {
        fits(stencil, x);
        fits(stencil, v);
        let (parameters, tuning) = chunks(stencil, blocks);
        let count = stencil.block_count();
        assert!(records.len() == count * BLOCK * R, "{R} records for every element");
        assert!(records.len() <= MOST_ROWS, "{} records, but offsets of 32 bits reach {MOST_ROWS}", records.len());
        let (records, x, v) = (Shared(records.as_mut_ptr()), View::read_only(x), View::read_only(v));
        self.ranges(count, EMIT_BLOCKS, &|blocks| {
            dispatch(self.unit.isa(), EmitRecords { kernel, stencil, parameters, tuning, x, v, records, blocks });
        });
    }

    fn gather(&self, incidence: &Incidence, records: &[[S; 4]], to: &mut Field<S>) {
        assert!(incidence.slot_count() == to.slot_count() && incidence.record_count() == records.len());
        let to = View::of(to);
        self.slots(incidence.slot_count(), &|slots| gather_slots(incidence, records, to, slots));
    }

    fn surround<K: Around<P, Scalar = S>, const P: usize>(
        &self,
        kernel: &K,
        neighbours: &Neighbours,
        parameters: &[Octet<S>],
        x: &Field<S>,
        to: &mut Field<S>,
    ) {
        let fit = |field: &Field<S>| neighbours.fits(field.slot_count(), field.layout());
        assert!(fit(x) && fit(to), "the neighbours and the field are of different plans");
        let (parameters, _) = parameters.as_chunks::<P>();
        assert!(parameters.len() == neighbours.item_count(), "parameters for every item");
        let (x, to) = (View::read_only(x), View::of(to));
        self.ranges(neighbours.slot_count() / BLOCK, SURROUND_BLOCKS, &|blocks| {
            dispatch(self.unit.isa(), Surround { kernel, neighbours, parameters, x, to, blocks });
        });
    }

    fn fork<T: Task<D, Scalar = S>, D: Send>(&self, task: &T, cut: Cut<'_>, data: &mut [D]) {
        let portions = Portions::new(cut, data);
        self.unit.run(portions.count(), &|index| {
            dispatch(self.unit.isa(), RunTask { task, portions: &portions, index, precision: PhantomData });
        });
    }

    fn reduce<M: Measure<F, Scalar = S>, const F: usize>(
        &self,
        kernel: &M,
        join: Join,
        fields: [&Field<S>; F],
        partials: &mut [Octet<S>],
    ) -> S {
        let slot_count = fields.first().map_or(0, |f| f.slot_count());
        assert!(fields.iter().all(|f| f.slot_count() == slot_count), "the fields are of different plans");
        let chunks = slot_count.div_ceil(REDUCE_SLOTS);
        assert!(partials.len() >= chunks, "a partial result for every {REDUCE_SLOTS} slots");
        let (views, shared) = (fields.map(View::read_only), Shared(partials.as_mut_ptr()));
        self.ranges(chunks, TASK_SLOTS.map(|slots| slots / REDUCE_SLOTS), &|range| {
            for chunk in range {
                dispatch(
                    self.unit.isa(),
                    ReduceSlots { kernel, join, fields: views, partials: shared, chunk, slot_count },
                );
            }
        });
        // Chunk after chunk, then lane after lane: one order for everybody.
        let mut total = Octet([S::ZERO; BLOCK]);
        for partial in &partials[..chunks] {
            for (sum, &value) in total.0.iter_mut().zip(&partial.0) {
                *sum = join_lanes(join, *sum, value);
            }
        }
        total.0.into_iter().fold(S::ZERO, |sum, value| join_lanes(join, sum, value))
    }
}
