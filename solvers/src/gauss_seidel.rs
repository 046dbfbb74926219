//! The engine under PBD and XPBD: predict, sweep every constraint, take velocities from positions.

use core::marker::PhantomData;

use pliant_core::account::ContactAccount;
use pliant_core::backend::{Backend, Blocks, PairRule};
use pliant_core::columns::Particles;
use pliant_core::constraint::{Constraint, Radial};
use pliant_core::constraints::{Set, Visitor};
use pliant_core::dent::Dent;
use pliant_core::error::{BuildError, StepError};
use pliant_core::field::Field;
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::solver::StepReport;

use crate::aim::Aim;
use crate::balloon::BalloonLot;
use crate::flight::Flight;
use crate::layers::{LayerOptions, Layers};
#[cfg(feature = "xpbd-colored")]
use crate::lots::Multipliers;
use crate::lots::{Allocate, Lot, Reshape, Tune, Tuning, outdated};
use crate::matching::Matching;
use crate::project::{FOLDED, Project, ProjectPair};

/// Scratch and multipliers, sized for a model.
#[derive(Clone, Debug)]
pub(crate) struct GaussSeidel<S> {
    pub flight: Flight<S>,
    lots: Vec<Lot<S>>,
    balloons: Vec<BalloonLot<S>>,
    tuned: Option<Tuning<S>>,
    /// The rest shapes that the lots hold.
    rest_revision: u64,
    aim: Aim<S>,
    matching: Matching<S>,
    layers: Option<Layers<S>>,
}

impl<S: Real> GaussSeidel<S> {
    /// For so many sweeps a substep.
    pub fn new(model: &Model<S>, layers: Option<LayerOptions>, sweeps: usize) -> Result<Self, BuildError> {
        let mut allocate = Allocate { lots: Vec::new(), fold: true };
        model.constraints().visit_with_elements(&mut allocate);
        Ok(Self {
            flight: Flight::for_sweeps(model, sweeps),
            aim: Aim::new(model, &allocate.lots),
            lots: allocate.lots,
            balloons: BalloonLot::all(model),
            tuned: None,
            rest_revision: model.rest_revision(),
            matching: Matching::new(model),
            layers: layers.map(|options| Layers::new(model, options)).transpose()?,
        })
    }

    /// One step of `substeps`, each with `iterations` sweeps.
    pub fn step<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &mut Particles<S>,
        dt: S,
        (substeps, iterations): (usize, usize),
        tuning_of: impl Fn(S) -> Tuning<S>,
        on: &B,
    ) -> Result<StepReport, StepError> {
        self.flight.begin(model, particles, dt)?;
        let h = dt / S::from_f64(substeps as f64);
        self.tune(model, tuning_of(h));
        self.matching.begin(model, h, iterations);
        for k in 0..substeps {
            self.flight.predict(model, particles, h, (k, substeps), on);
            self.aim.at(&mut self.lots, &self.flight, model, (k, substeps));
            // A better start for the sweeps. Not before later ones: multipliers would know nothing of it.
            if let Some(layers) = &mut self.layers {
                layers.correct(&mut self.flight.x, on);
            }
            for iteration in 0..iterations {
                // Nobody reads the multipliers of a substep with one sweep, unless it is the last one.
                let pass = match (iteration, iterations > 1 || k + 1 == substeps) {
                    (0, true) => Pass::First,
                    (0, false) => Pass::Only,
                    _ => Pass::Later,
                };
                self.sweep(model, pass, on);
                self.matching.pass(model, &mut self.flight.x, (iteration == 0).then_some(h), on);
                // Last, since what is solved last is satisfied best: nothing is inside a collider when a substep ends.
                self.flight.collide(model, (iteration, iterations), on);
            }
        }
        self.flight.land(model, h, on);
        self.flight.end(model, particles, substeps, on)?;
        self.aim.arrive(model);
        self.matching.arrive();
        Ok(crate::report(substeps, iterations, model))
    }

    fn tune(&mut self, model: &Model<S>, tuning: Tuning<S>) {
        if self.tuned != Some(tuning) {
            model.constraints().visit_with_elements(&mut Tune { lots: self.lots.iter_mut(), model, tuning });
            if let Some(layers) = &mut self.layers {
                layers.tune(tuning);
            }
            self.tuned = Some(tuning);
        }
        if outdated(&mut self.rest_revision, model) {
            model.constraints().visit_with_elements(&mut Reshape {
                lots: self.lots.iter_mut(),
                model,
                tuning: self.tuned,
            });
        }
    }

    /// One Gauss–Seidel sweep over every set. The first sweep of a substep starts from λ = 0.
    fn sweep<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, pass: Pass, on: &B) {
        let Some(tuning) = self.tuned else { return };
        let Flight { x, start, .. } = &mut self.flight;
        model.constraints().visit_with_elements(&mut Sweep { lots: self.lots.iter_mut(), x, start, pass, on });
        // Volumes last: what is solved last is satisfied best, and one projection satisfies a volume.
        for (lot, balloon) in self.balloons.iter_mut().zip(&model.constraints().balloons) {
            if pass != Pass::Later {
                lot.lambda = S::ZERO;
            }
            lot.project(balloon, balloon.compliance * tuning.compliance, tuning.gate, &mut self.flight.x, on);
        }
    }

    /// What contacts did over the last step.
    pub fn account(&mut self) -> Option<&mut ContactAccount<S>> {
        self.flight.contacts.account()
    }

    /// Writes down what the next step depends on.
    pub fn remember(&self, to: &mut Writer) {
        self.flight.contacts.remember(to);
        self.aim.remember(to);
        self.matching.remember(to);
    }
    /// Takes it back.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.flight.contacts.recall(from)?;
        self.aim.recall(from)?;
        self.matching.recall(from)
    }
    /// What clusters have flowed.
    pub fn dents(&self, model: &Model<S>) -> Vec<Dent<S>> {
        self.matching.dents(model)
    }
    /// Takes it over.
    pub fn put_dents(&mut self, model: &Model<S>, dents: &[Option<Dent<S>>]) {
        self.matching.put_dents(model, dents);
    }

    /// Multipliers of the last substep in the user's order, as forces λ/h² \[N\].
    #[cfg(feature = "xpbd-colored")]
    pub fn forces(&self, model: &Model<S>, h: S) -> Vec<(&'static str, Vec<S>)> {
        let Some(tuning) = self.tuned.filter(|_| self.flight.is_for(model)) else { return Vec::new() };
        let scale = S::ONE / (h * h);
        let mut read = Multipliers { lots: self.lots.iter(), model, tuning, scale, found: Vec::new() };
        model.constraints().visit_with_elements(&mut read);
        let mut found = read.found;
        found.push(("balloon", self.balloons.iter().map(|b| b.lambda * scale).collect()));
        found
    }
}

/// Which sweep of a substep this is, as far as multipliers are concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// λ starts at 0 and is not read again.
    Only,
    /// λ starts at 0 and is kept.
    First,
    /// λ goes on from the sweep before.
    Later,
}

struct Sweep<'a, S, B> {
    lots: core::slice::IterMut<'a, Lot<S>>,
    x: &'a mut Field<S>,
    start: &'a Field<S>,
    pass: Pass,
    on: &'a B,
}

impl<S: Real, B: Backend<Scalar = S>> Visitor<S> for Sweep<'_, S, B> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        let Some(lot) = self.lots.next() else { return };
        if set.is_empty() {
            return;
        }
        let (first, keep) = (self.pass != Pass::Later, self.pass != Pass::Only);
        let rule = Project::<S, K> { first, keep, damped: lot.damped, kind: PhantomData };
        let blocks = Blocks { parameters: &lot.parameters, tuning: &lot.tuning };
        self.on.sweep(&rule, set.stencil(), blocks, &mut lot.lambda, self.x, self.start);
    }
    fn visit_pairs<K: Radial>(&mut self, set: &Set<S, K, 2, 1>) {
        if !self.lots.as_slice().first().is_some_and(|lot| lot.folded) {
            return self.visit(set);
        }
        let Some(lot) = self.lots.next() else { return };
        if set.is_empty() {
            return;
        }
        match self.pass {
            Pass::Only => self.run_pairs(&ProjectPair::<S, K, true, false>(PhantomData), set, lot),
            Pass::First => self.run_pairs(&ProjectPair::<S, K, true, true>(PhantomData), set, lot),
            Pass::Later => self.run_pairs(&ProjectPair::<S, K, false, true>(PhantomData), set, lot),
        }
    }
}

impl<S: Real, B: Backend<Scalar = S>> Sweep<'_, S, B> {
    fn run_pairs<K>(&mut self, rule: &impl PairRule<FOLDED, Scalar = S>, set: &Set<S, K, 2, 1>, lot: &mut Lot<S>) {
        self.on.sweep_pairs(rule, set.stencil(), &lot.parameters, &lot.tuning, &mut lot.lambda, self.x);
    }
}

/// The most substeps, iterations or passes that are taken as meant: a step with more would not come back.
pub(crate) const MOST_PASSES: usize = 100_000;

/// Checks counts of substeps, iterations and passes.
pub(crate) fn check_count(name: &'static str, value: usize) -> Result<(), BuildError> {
    if (1..=MOST_PASSES).contains(&value) {
        Ok(())
    } else {
        Err(BuildError::BadOption { name, value: value as f64, expected: "1 to 100000" })
    }
}
