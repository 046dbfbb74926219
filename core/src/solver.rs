//! Solvers: an update rule and a schedule.

use crate::account::ContactAccount;
use crate::backend::Backend;
use crate::columns::Particles;
use crate::dent::Dent;
use crate::error::{BuildError, StepError};
use crate::model::Model;
use crate::snapshot::{Fingerprint, Keepsake, Reader, SnapshotError, Writer};

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepReport {
    /// Substeps taken.
    pub substeps: usize,
    /// Iterations over all substeps.
    pub iterations: usize,
    /// Constraint projections (or force evaluations) over all iterations.
    pub projections: usize,
    /// Numeric factorisations of a matrix.
    pub factorizations: usize,
    /// Iterations whose exact Hessian was not positive definite and was replaced by the convex one.
    pub projected: usize,
    /// Iterations whose matrix had to be shifted along the diagonal as well.
    pub shifts: usize,
    /// The largest component of ∇F at the end, for methods that minimise \[N\].
    pub residual: f64,
    /// Whether every substep met its tolerance; always so for methods without one.
    pub converged: bool,
    /// How far a guard that keeps surfaces apart left the farthest vertex from where the method had put it; 0 without one \[m\].
    pub missed: f64,
    /// Vertices that such a guard held where they were before the step.
    pub held: usize,
}

impl Default for StepReport {
    fn default() -> Self {
        Self {
            substeps: 0,
            iterations: 0,
            projections: 0,
            factorizations: 0,
            projected: 0,
            shifts: 0,
            residual: 0.0,
            converged: true,
            missed: 0.0,
            held: 0,
        }
    }
}

/// A method that advances a model in time.
///
/// Object safe, so that an application can hold `Box<dyn Solver<B>>` and swap methods.
pub trait Solver<B: Backend>: Send + Sync {
    /// Name in reports.
    fn name(&self) -> &'static str;

    /// Adds to a hash whatever decides how a run goes on and is no memory: options, and the method inside of one that has one.
    /// Worlds take a snapshot back only if it agrees. The name alone, unless a method says otherwise.
    fn identify(&self, hash: &mut Fingerprint) {
        hash.add_name(self.name());
    }

    /// Makes ready for a model: checks options, sizes scratch memory. Must be called again when a model was rebuilt.
    ///
    /// # Errors
    /// When an option is outside its range, or the method cannot carry one of the model's constraints.
    fn prepare(&mut self, model: &Model<B::Scalar>) -> Result<(), BuildError>;

    /// Advances the particles by `dt` \[s\] without allocating.
    ///
    /// # Errors
    /// When `dt` is not usable or the step diverges; the particles are then as they were.
    fn step(
        &mut self,
        model: &Model<B::Scalar>,
        particles: &mut Particles<B::Scalar>,
        dt: B::Scalar,
        on: &B,
    ) -> Result<StepReport, StepError>;

    /// The multipliers of the last substep in the user's order, one list a constraint kind, as constraint forces \[N\]
    /// (for kinds measured in metres: tension is negative). Empty for methods without multipliers.
    fn forces(&self, model: &Model<B::Scalar>) -> Vec<(&'static str, Vec<B::Scalar>)> {
        let _ = model;
        Vec::new()
    }

    /// The method's account of what contacts do, to be opened and read; `None` for methods that keep none.
    fn account(&mut self) -> Option<&mut ContactAccount<B::Scalar>> {
        None
    }

    /// Writes down what the method remembers from step to step beside the particles: whatever the next step depends on that
    /// [`Solver::prepare`] does not set up. Nothing for most methods, and unless a method says otherwise.
    fn remember(&self, to: &mut Writer) {
        let _ = to;
    }

    /// Takes back what [`Solver::remember`] wrote, after it was prepared for an equal model: the next step gives the same bits as it
    /// gave then. Everything that could have been written is replaced.
    ///
    /// # Errors
    /// When these are not the memories of such a method; they may be half taken back then.
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let _ = from;
        Ok(())
    }

    /// What the clusters of a model have flowed, in the model's order; nothing for methods that keep no plastic deformations.
    fn dents(&self, model: &Model<B::Scalar>) -> Vec<Dent<B::Scalar>> {
        let _ = model;
        Vec::new()
    }

    /// Lets the clusters of the model it was prepared for go on from dents, one entry a cluster; `None` for the rest shape that was
    /// described.
    fn put_dents(&mut self, model: &Model<B::Scalar>, dents: &[Option<Dent<B::Scalar>>]) {
        let _ = (model, dents);
    }
}

/// What a method remembered before a step, for those who let it step and may have to refuse the result: particles are given back
/// from a copy, and what the method remembers from here.
#[derive(Clone, Debug, Default)]
pub struct Undo {
    memory: Keepsake,
}

impl Undo {
    /// The method is about to step.
    pub fn note<B: Backend>(&mut self, solver: &(impl Solver<B> + ?Sized)) {
        self.memory.keep(|to| solver.remember(to));
    }
    /// Passes on what came of a step that succeeded; if that is an error, the method is as it was when noted.
    ///
    /// # Errors
    /// The one that was given, or [`StepError::NotPrepared`] if the method cannot read what it wrote: it must be prepared again.
    pub fn settle<B: Backend, T>(
        &self,
        result: Result<T, StepError>,
        solver: &mut (impl Solver<B> + ?Sized),
    ) -> Result<T, StepError> {
        if result.is_err() {
            self.memory.give_back(|from| solver.recall(from)).map_err(|_| StepError::NotPrepared)?;
        }
        result
    }
}

/// Methods picked at run time go wherever a method goes: behind limits and guards, into worlds.
impl<B: Backend> Solver<B> for Box<dyn Solver<B>> {
    fn name(&self) -> &'static str {
        (**self).name()
    }
    fn identify(&self, hash: &mut Fingerprint) {
        (**self).identify(hash);
    }
    fn prepare(&mut self, model: &Model<B::Scalar>) -> Result<(), BuildError> {
        (**self).prepare(model)
    }
    fn step(
        &mut self,
        model: &Model<B::Scalar>,
        particles: &mut Particles<B::Scalar>,
        dt: B::Scalar,
        on: &B,
    ) -> Result<StepReport, StepError> {
        (**self).step(model, particles, dt, on)
    }
    fn forces(&self, model: &Model<B::Scalar>) -> Vec<(&'static str, Vec<B::Scalar>)> {
        (**self).forces(model)
    }
    fn account(&mut self) -> Option<&mut ContactAccount<B::Scalar>> {
        (**self).account()
    }
    fn remember(&self, to: &mut Writer) {
        (**self).remember(to);
    }
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        (**self).recall(from)
    }
    fn dents(&self, model: &Model<B::Scalar>) -> Vec<Dent<B::Scalar>> {
        (**self).dents(model)
    }
    fn put_dents(&mut self, model: &Model<B::Scalar>, dents: &[Option<Dent<B::Scalar>>]) {
        (**self).put_dents(model, dents);
    }
}

/// The longest step any method takes \[s\]: beyond it something upstream went wrong (a pause, a unit mix-up).
pub const LONGEST_STEP: f64 = 1.0;

/// Time steps are longer than this \[s\]: below it (x − start)/h is nothing but rounding.
pub const SHORTEST_STEP: f64 = 1e-9;

/// Checks a time step.
///
/// # Errors
/// When it is NaN, not longer than [`SHORTEST_STEP`], or longer than [`LONGEST_STEP`].
pub fn check_time_step(dt: f64) -> Result<(), StepError> {
    if dt > SHORTEST_STEP && dt <= LONGEST_STEP {
        Ok(())
    } else {
        Err(StepError::BadTimeStep { dt, least: SHORTEST_STEP, limit: LONGEST_STEP })
    }
}
