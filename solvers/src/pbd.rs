//! PBD: rigid constraints projected one after the other, or all at once and averaged.   [METHODS 6; Müller07]

use core::marker::PhantomData;

use pliant_core::account::ContactAccount;
use pliant_core::backend::{Backend, Emit, Map, TUNING};
use pliant_core::columns::Particles;
use pliant_core::constraint::Constraint;
use pliant_core::constraints::{Set, Visitor};
use pliant_core::dent::Dent;
use pliant_core::error::{BuildError, StepError};
use pliant_core::field::Field;
use pliant_core::lane::{Lane, Real};
use pliant_core::model::Model;
use pliant_core::schedule::Incidence;
use pliant_core::snapshot::{Fingerprint, Reader, SnapshotError, Writer};
use pliant_core::solver::{Solver, StepReport};
use pliant_core::vec3::Vec3;

use crate::aim::Aim;
use crate::balloon::BalloonLot;
use crate::flight::Flight;
use crate::gauss_seidel::{GaussSeidel, check_count};
use crate::layers::LayerOptions;
use crate::lots::{Allocate, Lot, Reshape, Tune, Tuning, outdated};
use crate::matching::Matching;

/// How PBD goes through the constraints.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Iteration {
    /// One after the other: each sees what the ones before it did.
    #[default]
    GaussSeidel,
    /// All from the same state; a particle moves by the average of its corrections times `relaxation` (1 to 2).
    Jacobi {
        /// Over-relaxation of the average.
        relaxation: f64,
    },
}

/// Options of PBD.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct PbdOptions {
    /// Substeps a step.
    pub substeps: usize,
    /// Passes over the constraints a substep.
    pub iterations: usize,
    /// Share of a constraint's error removed by `iterations` passes, 0 to 1: k' = 1 − (1 − k)^(1/iterations) a pass.
    pub stiffness: f64,
    /// The way through the constraints.
    pub iteration: Iteration,
}

impl Default for PbdOptions {
    fn default() -> Self {
        Self { substeps: 1, iterations: 10, stiffness: 1.0, iteration: Iteration::GaussSeidel }
    }
}

#[derive(Clone, Debug)]
enum Engine<S> {
    GaussSeidel(Box<GaussSeidel<S>>),
    Jacobi(Box<Jacobi<S>>),
}

/// Position-based dynamics: compliance is ignored, every constraint is as stiff as the passes make it.
#[derive(Clone, Debug)]
pub struct Pbd<S> {
    options: PbdOptions,
    layers: Option<LayerOptions>,
    engine: Option<Engine<S>>,
}

impl<S: Real> Pbd<S> {
    /// A solver with these options.
    pub fn new(options: PbdOptions) -> Self {
        Self { options, layers: None, engine: None }
    }
    /// Solves coarser layers of the bodies first, in Gauss–Seidel order; prepare again afterwards.
    #[must_use]
    pub fn with_layers(mut self, layers: LayerOptions) -> Self {
        (self.layers, self.engine) = (Some(layers), None);
        self
    }
    /// k' = 1 − (1 − k)^(1/n): n passes remove the share k.
    fn pass_stiffness(&self) -> S {
        S::from_f64(1.0 - (1.0 - self.options.stiffness).powf(1.0 / self.options.iterations as f64))
    }
}

impl<S: Real> Default for Pbd<S> {
    fn default() -> Self {
        Self::new(PbdOptions::default())
    }
}

impl<S: Real, B: Backend<Scalar = S>> Solver<B> for Pbd<S> {
    fn name(&self) -> &'static str {
        "pbd"
    }

    fn identify(&self, hash: &mut Fingerprint) {
        hash.add_name("pbd");
        hash.add_shown(&(self.options, self.layers));
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        check_count("substeps", self.options.substeps)?;
        match self.options.iteration {
            Iteration::GaussSeidel => crate::refuse_shells(model)?,
            Iteration::Jacobi { .. } => crate::refuse_elastic(model)?,
        }
        if self.layers.is_some() && self.options.iteration != Iteration::GaussSeidel {
            let reason = "layers need sweeps in Gauss–Seidel order; use Iteration::GaussSeidel";
            return Err(BuildError::Unsupported { what: "layers", row: 0, reason });
        }
        check_count("iterations", self.options.iterations)?;
        let value = self.options.stiffness;
        if !(0.0..=1.0).contains(&value) {
            return Err(BuildError::BadOption { name: "stiffness", value, expected: "0 to 1" });
        }
        let iterations = self.options.iterations;
        self.engine = Some(match self.options.iteration {
            Iteration::GaussSeidel => Engine::GaussSeidel(Box::new(GaussSeidel::new(model, self.layers, iterations)?)),
            Iteration::Jacobi { relaxation } => Engine::Jacobi(Box::new(Jacobi::new(model, relaxation, iterations)?)),
        });
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, on: &B) -> Result<StepReport, StepError> {
        let gate = self.pass_stiffness();
        let tuning = Tuning { compliance: S::ZERO, damping: S::ZERO, gate };
        let counts = (self.options.substeps, self.options.iterations);
        match self.engine.as_mut().ok_or(StepError::NotPrepared)? {
            Engine::GaussSeidel(engine) => engine.step(model, particles, dt, counts, |_| tuning, on),
            Engine::Jacobi(engine) => engine.step(model, particles, dt, counts, tuning, on),
        }
    }

    fn account(&mut self) -> Option<&mut ContactAccount<S>> {
        match self.engine.as_mut()? {
            Engine::GaussSeidel(engine) => engine.account(),
            Engine::Jacobi(engine) => engine.flight.contacts.account(),
        }
    }

    fn remember(&self, to: &mut Writer) {
        match &self.engine {
            Some(Engine::GaussSeidel(engine)) => engine.remember(to),
            Some(Engine::Jacobi(engine)) => engine.remember(to),
            None => {}
        }
    }
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        match &mut self.engine {
            Some(Engine::GaussSeidel(engine)) => engine.recall(from),
            Some(Engine::Jacobi(engine)) => engine.recall(from),
            None => Ok(()),
        }
    }
    fn dents(&self, model: &Model<S>) -> Vec<Dent<S>> {
        match &self.engine {
            Some(Engine::GaussSeidel(engine)) => engine.dents(model),
            Some(Engine::Jacobi(engine)) => engine.matching.dents(model),
            None => Vec::new(),
        }
    }
    fn put_dents(&mut self, model: &Model<S>, dents: &[Option<Dent<S>>]) {
        match &mut self.engine {
            Some(Engine::GaussSeidel(engine)) => engine.put_dents(model, dents),
            Some(Engine::Jacobi(engine)) => engine.matching.put_dents(model, dents),
            None => {}
        }
    }
}

/// Jacobi passes: corrections of all constraints from one state, averaged a particle.
#[derive(Clone, Debug)]
struct Jacobi<S> {
    flight: Flight<S>,
    lots: Vec<Lot<S>>,
    sums: Vec<(Incidence, Vec<[S; 4]>)>,
    /// Corrections; the weight is relaxation / number of constraints on the particle.
    correction: Field<S>,
    balloons: Vec<BalloonLot<S>>,
    tuned: Option<Tuning<S>>,
    /// The rest shapes that the lots hold.
    rest_revision: u64,
    aim: Aim<S>,
    matching: Matching<S>,
}

/// −C/(Σ w|∇C|²) w ∇C times the gate, for each corner.
struct Correct<S, K>(PhantomData<(S, K)>);

impl<S: Real, K: Constraint<N, P>, const N: usize, const P: usize> Emit<N, P, N> for Correct<S, K> {
    type Scalar = S;
    const READS_VELOCITY: bool = false;

    #[inline(always)]
    fn record<L: Lane<Scalar = S>>(
        &self,
        parameters: &[L; P],
        tuning: &[L; TUNING],
        x: &[Vec3<L>; N],
        w: &[L; N],
        start: &[Vec3<L>; N],
    ) -> [Vec3<L>; N] {
        use pliant_core::backend::Rule;
        // The projection stands in one place; its correction is where it moved the corners.
        let mut moved = *x;
        crate::project::Project::<S, K>::once().update(parameters, tuning, &mut moved, w, start, L::zero());
        for k in 0..N {
            moved[k] = moved[k] - x[k];
        }
        moved
    }
}

/// x ← x + share · correction, and the correction back to zero: fields correction, x.
struct Apply<S>(PhantomData<S>);

impl<S: Real> Map<2> for Apply<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, share: L, [correction, x]: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        [Vec3::zero(), x + correction * share]
    }
}

/// Finds the records of every set and counts constraints a particle. Slack tethers count too: whether one pulls changes
/// from pass to pass, and a share that is too small converges where one that is too large does not.
struct Incidences<'a, S> {
    model: &'a Model<S>,
    sums: Vec<(Incidence, Vec<[S; 4]>)>,
    counts: Vec<u32>,
}

impl<S: Real> Visitor<S> for Incidences<'_, S> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        let incidence = Incidence::new(self.model.plan(), set.stencil(), set.ids());
        let records = vec![[S::ZERO; 4]; incidence.record_count()];
        self.sums.push((incidence, records));
        for &p in set.ids().iter().flatten() {
            self.counts[p as usize] += 1;
        }
    }
}

struct Pass<'a, S, B> {
    lots: core::slice::Iter<'a, Lot<S>>,
    sums: core::slice::IterMut<'a, (Incidence, Vec<[S; 4]>)>,
    x: &'a Field<S>,
    correction: &'a mut Field<S>,
    on: &'a B,
}

impl<S: Real, B: Backend<Scalar = S>> Visitor<S> for Pass<'_, S, B> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        let (Some(lot), Some((incidence, records))) = (self.lots.next(), self.sums.next()) else { return };
        if !set.is_empty() {
            let kernel = Correct::<S, K>(PhantomData);
            self.on.emit::<_, N, P, N>(&kernel, set.stencil(), lot.blocks(), self.x, self.x, records);
            self.on.gather(incidence, records, self.correction);
        }
    }
}

impl<S: Real> Jacobi<S> {
    /// Writes down what the next step depends on.
    fn remember(&self, to: &mut Writer) {
        self.flight.contacts.remember(to);
        self.aim.remember(to);
        self.matching.remember(to);
    }
    /// Takes it back.
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.flight.contacts.recall(from)?;
        self.aim.recall(from)?;
        self.matching.recall(from)
    }

    fn new(model: &Model<S>, relaxation: f64, sweeps: usize) -> Result<Self, BuildError> {
        if !(relaxation > 0.0 && relaxation <= 2.0) {
            return Err(BuildError::BadOption {
                name: "relaxation",
                value: relaxation,
                expected: "above 0, at most 2",
            });
        }
        let mut allocate = Allocate { lots: Vec::new(), fold: false };
        model.constraints().visit(&mut allocate);
        let mut found = Incidences { model, sums: Vec::new(), counts: vec![0; model.particle_count()] };
        model.constraints().visit(&mut found);
        for balloon in &model.constraints().balloons {
            // A surface names each of its vertices several times; its volume is one constraint on them.
            let mut vertices: Vec<u32> = balloon.triangles.iter().flatten().copied().collect();
            vertices.sort_unstable();
            vertices.dedup();
            for p in vertices {
                found.counts[p as usize] += 1;
            }
        }
        let mut correction = Field::zeros(model.plan());
        for (&slot, &count) in model.plan().slots().iter().zip(&found.counts) {
            correction.set(slot as usize, 3, S::from_f64(relaxation / f64::from(count.max(1))));
        }
        let (aim, lots) = (Aim::new(model, &allocate.lots), allocate.lots);
        let balloons = BalloonLot::all(model);
        Ok(Self {
            flight: Flight::for_sweeps(model, sweeps),
            lots,
            sums: found.sums,
            correction,
            balloons,
            tuned: None,
            rest_revision: model.rest_revision(),
            aim,
            matching: Matching::new(model),
        })
    }

    fn step<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &mut Particles<S>,
        dt: S,
        (substeps, iterations): (usize, usize),
        tuning: Tuning<S>,
        on: &B,
    ) -> Result<StepReport, StepError> {
        self.flight.begin(model, particles, dt)?;
        if self.tuned != Some(tuning) {
            model.constraints().visit(&mut Tune { lots: self.lots.iter_mut(), model, tuning });
            self.tuned = Some(tuning);
        }
        if outdated(&mut self.rest_revision, model) {
            model.constraints().visit(&mut Reshape { lots: self.lots.iter_mut(), model, tuning: self.tuned });
        }
        let h = dt / S::from_f64(substeps as f64);
        self.matching.begin(model, h, iterations);
        for k in 0..substeps {
            self.flight.predict(model, particles, h, (k, substeps), on);
            self.aim.at(&mut self.lots, &self.flight, model, (k, substeps));
            for iteration in 0..iterations {
                let (x, correction) = (&self.flight.x, &mut self.correction);
                model.constraints().visit(&mut Pass {
                    lots: self.lots.iter(),
                    sums: self.sums.iter_mut(),
                    x,
                    correction,
                    on,
                });
                for (lot, balloon) in self.balloons.iter_mut().zip(&model.constraints().balloons) {
                    lot.correct(balloon, tuning.gate, &mut self.flight.x, &mut self.correction, on);
                }
                on.map(&Apply(PhantomData), [&mut self.correction, &mut self.flight.x]);
                self.matching.pass(model, &mut self.flight.x, (iteration == 0).then_some(h), on);
                self.flight.collide(model, (iteration, iterations), on);
            }
        }
        self.flight.land(model, h, on);
        self.flight.end(model, particles, substeps, on)?;
        self.aim.arrive(model);
        self.matching.arrive();
        Ok(crate::report(substeps, iterations, model))
    }
}
