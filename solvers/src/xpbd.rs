//! XPBD: compliant constraints whose stiffness does not depend on the iteration count.   [METHODS 8; Macklin16]

use core::marker::PhantomData;

use pliant_core::backend::Backend;
use pliant_core::columns::Particles;
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::solver::{Solver, StepReport};

use crate::gauss_seidel::{GaussSeidel, check_count};
use crate::lots::Tuning;

/// How XPBD's linear system is solved: one constraint after the other, in packed blocks.
#[derive(Clone, Copy, Debug)]
pub enum Colored {}

/// Options of XPBD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XpbdOptions {
    /// Substeps a step; ten by default. Substeps beat iterations at equal cost, by a factor of ten in stretch.
    pub substeps: usize,
    /// Sweeps a substep; one by default ("small steps").
    pub iterations: usize,
}

impl Default for XpbdOptions {
    fn default() -> Self {
        Self { substeps: 10, iterations: 1 }
    }
}

/// Extended position-based dynamics by the path `P`; see [`Colored`].
#[derive(Clone, Debug)]
pub struct XpbdOn<P, S> {
    options: XpbdOptions,
    engine: Option<GaussSeidel<S>>,
    substep: S,
    path: PhantomData<P>,
}

impl<P, S: Real> XpbdOn<P, S> {
    /// A solver with these options.
    pub fn new(options: XpbdOptions) -> Self {
        Self { options, engine: None, substep: S::ZERO, path: PhantomData }
    }
    /// A solver with this many substeps a step, one sweep each.
    pub fn with_substeps(substeps: usize) -> Self {
        Self::new(XpbdOptions { substeps, iterations: 1 })
    }
}

impl<P, S: Real> Default for XpbdOn<P, S> {
    fn default() -> Self {
        Self::new(XpbdOptions::default())
    }
}

impl<S: Real, B: Backend<Scalar = S>> Solver<B> for XpbdOn<Colored, S> {
    fn name(&self) -> &'static str {
        "xpbd-colored"
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        check_count("substeps", self.options.substeps)?;
        check_count("iterations", self.options.iterations)?;
        self.engine = Some(GaussSeidel::new(model));
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, on: &B) -> Result<StepReport, StepError> {
        let engine = self.engine.as_mut().ok_or(StepError::NotPrepared)?;
        let counts = (self.options.substeps, self.options.iterations);
        self.substep = dt / S::from_f64(self.options.substeps as f64);
        // α̃ = α/h²,  γ̃ = α̃ β̃/h with β̃ = h² β.
        let tuning = |h: S| Tuning { compliance: S::ONE / (h * h), damping: S::ONE / h, gate: S::ONE };
        engine.step(model, particles, dt, counts, tuning, on)
    }

    fn forces(&self, model: &Model<S>) -> Vec<(&'static str, Vec<S>)> {
        self.engine.as_ref().map_or_else(Vec::new, |engine| engine.forces(model, self.substep))
    }
}
