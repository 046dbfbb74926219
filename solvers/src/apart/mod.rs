//! Surfaces that never pass through each other, whatever method moved them.
//!
//! [`IntersectionFree`] lets any solver take its step and then moves the surfaces from where they were towards where it put
//! them, in straight moves that continuous detection has proved free of contact: a state is accepted only with that proof.
//! How the moves are chosen is a [`Guard`]; no kind can break the promise, they differ in how near they come.

pub(crate) mod interior;
pub(crate) mod path;
pub(crate) mod term;
mod truncate;
mod untangle;
mod zones;

use pliant_core::account::ContactAccount;
use pliant_core::backend::Backend;
use pliant_core::columns::{Columns, Particles};
use pliant_core::dent::Dent;
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::snapshot::{Fingerprint, Reader, SnapshotError, Writer};
use pliant_core::solver::{Solver, StepReport, Undo};

use crate::gauss_seidel::check_count;
use interior::Interior;
use path::Path;
use zones::Zones;

pub use interior::InteriorPoint;

/// How surfaces are moved towards their targets.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Guard {
    /// Minimises the distance to the targets under a barrier between surfaces: layers slide along each other.
    InteriorPoint(InteriorPoint),
    /// Every vertex goes as far as the planes halfway between it and everything near allow, in this many passes. Cheap, and
    /// one contact stops nobody else; vertices that are stopped stay where they are.
    Truncation {
        /// Passes over all pairs; 3 let layers that fall together fall.
        passes: usize,
    },
    /// Vertices that collide are solved together, inelastically and with their momentum kept, in zones that grow until no
    /// contact is left; zones that do not come apart move rigidly, and at worst are held where they were.
    ImpactZones {
        /// Projections before zones become rigid; 12 are plenty.
        rounds: usize,
    },
}

/// How a guard's step ended. The surfaces are apart in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GuardOutcome {
    /// The targets were reached, or came as near as contact allows.
    #[default]
    Met,
    /// It ran out of iterations on the way.
    Short,
    /// Impact zones did not come apart, or held a pin that would not move with them, and were held where they were before the
    /// step.
    Held {
        /// How many.
        zones: usize,
        /// Vertices in them.
        vertices: usize,
    },
}

impl GuardOutcome {
    fn of((iterations, converged): (usize, bool)) -> (usize, Self) {
        (iterations, if converged { Self::Met } else { Self::Short })
    }
}

impl Default for Guard {
    fn default() -> Self {
        Self::InteriorPoint(InteriorPoint::default())
    }
}

/// Any solver, followed by moving its result so that no surface with [`SelfContact`](pliant_core::collide::SelfContact)
/// ever passes through itself or another one.
///
/// Velocities follow the corrections, v += Δx/dt; where the guard stopped short they are at most the way that was really
/// gone over dt. Pins too stay behind where they would be driven through a surface.
/// Colliders are the inner solver's business: a surface pressed between another one and a collider may be left inside it.
#[derive(Clone, Debug)]
pub struct IntersectionFree<T, S = f32> {
    inner: T,
    guard: Guard,
    /// Rounds of untangling that a start state may take.
    untangling: usize,
    scratch: Option<Box<Scratch<S>>>,
}

#[derive(Clone, Debug)]
struct Scratch<S> {
    model: u64,
    /// The state after the inner solver.
    after: Particles<S>,
    /// The last state that was accepted: its surfaces are known to be apart.
    accepted: Columns<S>,
    known: bool,
    path: Path<S>,
    interior: Interior,
    zones: Zones,
    remaining: f64,
    outcome: GuardOutcome,
    /// The inner solver before its step.
    undo: Undo,
}

impl<T, S: Real> IntersectionFree<T, S> {
    /// Puts a guard behind a solver.
    pub fn new(inner: T, guard: Guard) -> Self {
        Self { inner, guard, untangling: 0, scratch: None }
    }
    /// Moves surfaces that intersect before a step apart, in up to so many rounds of a fraction of a thickness each, instead
    /// of refusing them. Works for borders that poke through and solids that overlap; what is still tangled afterwards is
    /// refused as before, and nothing has moved.
    #[must_use]
    pub fn untangling(mut self, rounds: usize) -> Self {
        self.untangling = rounds;
        self
    }
    /// The solver inside.
    pub fn inner(&self) -> &T {
        &self.inner
    }
    /// The guard.
    pub fn guard(&self) -> Guard {
        self.guard
    }
    /// How far the farthest vertex ended from where the inner solver put it, in the last step \[m\];
    /// [`StepReport::missed`] too.
    pub fn remaining(&self) -> f64 {
        self.scratch.as_ref().map_or(0.0, |scratch| scratch.remaining)
    }
    /// How the guard's last step ended.
    pub fn outcome(&self) -> GuardOutcome {
        self.scratch.as_ref().map_or(GuardOutcome::Met, |scratch| scratch.outcome)
    }
}

impl<S: Real> Scratch<S> {
    fn new(model: &Model<S>) -> Self {
        Self {
            model: model.id(),
            after: Particles::at_rest(Columns::zeros(model.particle_count())),
            accepted: Columns::zeros(model.particle_count()),
            known: false,
            path: Path::new(model),
            interior: Interior::new(model),
            zones: Zones::new(model),
            remaining: 0.0,
            outcome: GuardOutcome::Met,
            undo: Undo::default(),
        }
    }

    /// Takes the state before a step into `after`, untangled if need be, and refuses it if its surfaces pass through each
    /// other.
    fn check_start<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &Particles<S>,
        untangling: usize,
        on: &B,
    ) -> Result<(), StepError> {
        let (x, count) = (&particles.x, particles.len());
        self.after.x.copy_from(0..count, x, 0);
        self.after.v.copy_from(0..count, &particles.v, 0);
        if self.known && self.accepted == *x {
            return Ok(());
        }
        for (vertex, &particle) in model.surfaces().particles.iter().enumerate() {
            self.path.now.set(vertex, x.get(particle as usize));
        }
        let refused = self.path.check_start(model, on);
        if let Err(error) = refused {
            if untangling == 0 || !untangle::run(untangling, model, &mut self.path.now, on)? {
                return Err(error);
            }
            for (vertex, &particle) in model.surfaces().particles.iter().enumerate() {
                self.after.x.set(particle as usize, self.path.now.get(vertex));
            }
        }
        self.known = true;
        Ok(())
    }
}

/// Adds the impulses of the guard to an account, m Δx/dt.
fn note<S: Real>(model: &Model<S>, path: &Path<S>, inv_dt: S, to: &mut Columns<S>) {
    for (vertex, &particle) in model.surfaces().particles.iter().enumerate() {
        let particle = particle as usize;
        let scale = model.inv_mass()[particle].divide_or_zero(inv_dt);
        let (x, goal) = (path.now.get(vertex), path.target.get(vertex));
        if particle < to.len() {
            let before = to.get(particle);
            to.set(particle, core::array::from_fn(|k| before[k] + (x[k] - goal[k]) * scale));
        }
    }
}

fn speed_sq<S: Real>(v: [S; 3]) -> S {
    v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
}

impl<S: Real, B: Backend<Scalar = S>, T: Solver<B>> Solver<B> for IntersectionFree<T, S> {
    fn name(&self) -> &'static str {
        "intersection-free"
    }

    fn identify(&self, hash: &mut Fingerprint) {
        hash.add_name("intersection-free");
        hash.add_shown(&(self.guard, self.untangling));
        self.inner.identify(hash);
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        match &self.guard {
            Guard::InteriorPoint(options) => options.check()?,
            Guard::Truncation { passes } => check_count("passes", *passes)?,
            Guard::ImpactZones { rounds } => check_count("rounds", *rounds)?,
        }
        self.inner.prepare(model)?;
        self.scratch = Some(Box::new(Scratch::new(model)));
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, on: &B) -> Result<StepReport, StepError> {
        let scratch = self.scratch.as_mut().filter(|s| s.model == model.id()).ok_or(StepError::NotPrepared)?;
        let expected = model.particle_count();
        particles.fit(expected)?;
        let surfaces = model.surfaces();
        if surfaces.is_empty() {
            return self.inner.step(model, particles, dt, on);
        }
        scratch.check_start(model, particles, self.untangling, on)?;
        let Scratch { after, accepted, path, interior, zones, remaining, outcome, undo, .. } = &mut **scratch;
        for (vertex, &particle) in surfaces.particles.iter().enumerate() {
            path.now.set(vertex, after.x.get(particle as usize));
        }
        // Where the step begins, until it is accepted.
        accepted.copy_from(0..expected, &after.x, 0);
        undo.note(&self.inner);
        let mut report = self.inner.step(model, after, dt, on)?;

        for (vertex, &particle) in surfaces.particles.iter().enumerate() {
            path.target.set(vertex, after.x.get(particle as usize));
        }
        let guarded = match &self.guard {
            Guard::InteriorPoint(options) => interior.run(options, model, path, dt.to_f64(), on).map(GuardOutcome::of),
            Guard::Truncation { passes } => truncate::run(*passes, path, on).map(GuardOutcome::of),
            Guard::ImpactZones { rounds } => zones.run(*rounds, model, path, on),
        };
        let (iterations, ended) = undo.settle(guarded.map_err(StepError::from), &mut self.inner)?;
        *outcome = ended;
        let converged = ended == GuardOutcome::Met;
        report.iterations += iterations;
        report.converged &= converged;
        *remaining = path.remaining();
        report.missed = *remaining;
        if let GuardOutcome::Held { vertices, .. } = ended {
            report.held = vertices;
        }

        let inv_dt = S::ONE / dt;
        for (vertex, &particle) in surfaces.particles.iter().enumerate() {
            let particle = particle as usize;
            let (x, goal) = (path.now.get(vertex), path.target.get(vertex));
            if x == goal {
                continue;
            }
            let (before, v) = (accepted.get(particle), after.v.get(particle));
            let pushed = core::array::from_fn(|k| v[k] + (x[k] - goal[k]) * inv_dt);
            let moved = core::array::from_fn(|k| (x[k] - before[k]) * inv_dt);
            after.x.set(particle, x);
            // At the minimum corrections are impulses of the barrier, and momentum is kept. Short of it a vertex that is held
            // up again and again must not gather speed that it never had.
            let keep = converged || speed_sq(pushed) < speed_sq(moved);
            after.v.set(particle, if keep { pushed } else { moved });
        }
        if let Some(account) = self.inner.account().filter(|account| account.open) {
            note(model, path, inv_dt, &mut account.surfaces);
        }
        particles.x.copy_from(0..expected, &after.x, 0);
        particles.v.copy_from(0..expected, &after.v, 0);
        accepted.copy_from(0..expected, &particles.x, 0);
        Ok(report)
    }

    fn forces(&self, model: &Model<S>) -> Vec<(&'static str, Vec<S>)> {
        self.inner.forces(model)
    }

    fn account(&mut self) -> Option<&mut ContactAccount<S>> {
        self.inner.account()
    }

    fn remember(&self, to: &mut Writer) {
        self.inner.remember(to);
    }
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        if let Some(scratch) = &mut self.scratch {
            // A state that was accepted passes the check again.
            scratch.known = false;
        }
        self.inner.recall(from)
    }
    fn dents(&self, model: &Model<S>) -> Vec<Dent<S>> {
        self.inner.dents(model)
    }
    fn put_dents(&mut self, model: &Model<S>, dents: &[Option<Dent<S>>]) {
        self.inner.put_dents(model, dents);
    }
}
