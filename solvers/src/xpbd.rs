//! XPBD: compliant constraints whose stiffness does not depend on the iteration count.   [METHODS 8; Macklin16]

use core::marker::PhantomData;

use pliant_core::account::ContactAccount;
use pliant_core::backend::Backend;
use pliant_core::columns::Particles;
#[cfg(feature = "xpbd-colored")]
use pliant_core::dent::Dent;
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::snapshot::{Fingerprint, Reader, SnapshotError, Writer};
use pliant_core::solver::{Solver, StepReport};

use crate::gauss_seidel::check_count;
#[cfg(feature = "xpbd-colored")]
use crate::{gauss_seidel::GaussSeidel, layers::LayerOptions, lots::Tuning};
#[cfg(feature = "xpbd-schur")]
use crate::{
    implicit::{SchurEngine, SchurForm, Settings},
    linear::Dense,
};

/// How XPBD's linear system is solved: one constraint after the other, in packed blocks.
#[cfg(feature = "xpbd-colored")]
#[derive(Clone, Copy, Debug)]
pub enum Colored {}

/// How XPBD's linear system is solved: all constraints together, by a sparse factorisation.
#[cfg(feature = "xpbd-schur")]
#[derive(Clone, Copy, Debug)]
pub enum Schur {}

/// Options of XPBD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
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

/// Extended position-based dynamics by the path `P`: `Colored` or `Schur`.
#[derive(Debug)]
pub struct XpbdOn<P, S> {
    options: XpbdOptions,
    #[cfg(feature = "xpbd-schur")]
    form: SchurForm,
    #[cfg(feature = "xpbd-colored")]
    layers: Option<LayerOptions>,
    engine: Option<Engine<S>>,
    #[cfg(feature = "xpbd-colored")]
    substep: S,
    path: PhantomData<(P, S)>,
}

/// What a path works with.
#[derive(Debug)]
enum Engine<S> {
    #[cfg(feature = "xpbd-colored")]
    Colored(Box<GaussSeidel<S>>),
    #[cfg(feature = "xpbd-schur")]
    Schur(Box<SchurEngine<S>>),
}

impl<P, S: Real> XpbdOn<P, S> {
    /// A solver with these options.
    pub fn new(options: XpbdOptions) -> Self {
        Self {
            options,
            #[cfg(feature = "xpbd-schur")]
            form: SchurForm::Position,
            #[cfg(feature = "xpbd-colored")]
            layers: None,
            engine: None,
            #[cfg(feature = "xpbd-colored")]
            substep: S::ZERO,
            path: PhantomData,
        }
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

#[cfg(feature = "xpbd-colored")]
impl<S: Real> XpbdOn<Colored, S> {
    /// Solves coarser layers of the bodies first; prepare again afterwards.
    #[must_use]
    pub fn with_layers(mut self, layers: LayerOptions) -> Self {
        (self.layers, self.engine) = (Some(layers), None);
        self
    }
}

#[cfg(feature = "xpbd-schur")]
impl<S: Real> XpbdOn<Schur, S> {
    /// Chooses which linear system is solved; prepare again afterwards.
    #[must_use]
    pub fn with_form(mut self, form: SchurForm) -> Self {
        (self.form, self.engine) = (form, None);
        self
    }
}

fn check(options: XpbdOptions) -> Result<(), BuildError> {
    check_count("substeps", options.substeps)?;
    check_count("iterations", options.iterations)
}

#[cfg(feature = "xpbd-colored")]
impl<S: Real, B: Backend<Scalar = S>> Solver<B> for XpbdOn<Colored, S> {
    fn name(&self) -> &'static str {
        "xpbd-colored"
    }

    fn identify(&self, hash: &mut Fingerprint) {
        hash.add_name("xpbd-colored");
        hash.add_shown(&(self.options, self.layers));
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        check(self.options)?;
        crate::refuse_shells(model)?;
        self.engine = Some(Engine::Colored(Box::new(GaussSeidel::new(model, self.layers, self.options.iterations)?)));
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, on: &B) -> Result<StepReport, StepError> {
        let Some(Engine::Colored(engine)) = &mut self.engine else { return Err(StepError::NotPrepared) };
        let counts = (self.options.substeps, self.options.iterations);
        self.substep = dt / S::from_f64(self.options.substeps as f64);
        // α̃ = α/h²,  γ̃ = α̃ β̃/h with β̃ = h² β.
        let tuning = |h: S| Tuning { compliance: S::ONE / (h * h), damping: S::ONE / h, gate: S::ONE };
        engine.step(model, particles, dt, counts, tuning, on)
    }

    fn forces(&self, model: &Model<S>) -> Vec<(&'static str, Vec<S>)> {
        match &self.engine {
            Some(Engine::Colored(engine)) => engine.forces(model, self.substep),
            _ => Vec::new(),
        }
    }

    fn account(&mut self) -> Option<&mut ContactAccount<S>> {
        let Some(Engine::Colored(engine)) = &mut self.engine else { return None };
        engine.account()
    }

    fn remember(&self, to: &mut Writer) {
        if let Some(Engine::Colored(engine)) = &self.engine {
            engine.remember(to);
        }
    }
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let Some(Engine::Colored(engine)) = &mut self.engine else { return Ok(()) };
        engine.recall(from)
    }
    fn dents(&self, model: &Model<S>) -> Vec<Dent<S>> {
        let Some(Engine::Colored(engine)) = &self.engine else { return Vec::new() };
        engine.dents(model)
    }
    fn put_dents(&mut self, model: &Model<S>, dents: &[Option<Dent<S>>]) {
        let Some(Engine::Colored(engine)) = &mut self.engine else { return };
        engine.put_dents(model, dents);
    }
}

#[cfg(feature = "xpbd-schur")]
impl<S: Dense, B: Backend<Scalar = S>> Solver<B> for XpbdOn<Schur, S> {
    fn name(&self) -> &'static str {
        "xpbd-schur"
    }

    fn identify(&self, hash: &mut Fingerprint) {
        hash.add_name("xpbd-schur");
        hash.add_shown(&(self.options, self.form));
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        check(self.options)?;
        self.engine = Some(Engine::Schur(Box::new(SchurEngine::new(model, self.form)?)));
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, on: &B) -> Result<StepReport, StepError> {
        let Some(Engine::Schur(engine)) = &mut self.engine else { return Err(StepError::NotPrepared) };
        let XpbdOptions { substeps, iterations } = self.options;
        engine.step(model, particles, dt, Settings { substeps, iterations }, on)
    }

    fn forces(&self, model: &Model<S>) -> Vec<(&'static str, Vec<S>)> {
        match &self.engine {
            Some(Engine::Schur(engine)) => engine.forces(model),
            _ => Vec::new(),
        }
    }

    fn account(&mut self) -> Option<&mut ContactAccount<S>> {
        let Some(Engine::Schur(engine)) = &mut self.engine else { return None };
        engine.account()
    }

    fn remember(&self, to: &mut Writer) {
        if let Some(Engine::Schur(engine)) = &self.engine {
            engine.remember(to);
        }
    }
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let Some(Engine::Schur(engine)) = &mut self.engine else { return Ok(()) };
        engine.recall(from)
    }
}
