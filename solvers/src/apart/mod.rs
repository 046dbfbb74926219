//! Surfaces that never pass through each other, whatever method moved them.
//!
//! [`IntersectionFree`] lets any solver take its step and then moves the surfaces from where they were towards where it put
//! them, in straight moves that continuous detection has proved free of contact: a state is accepted only with that proof.
//! How the moves are chosen is a [`Guard`]; neither kind can break the promise, they differ in how near they come.

mod interior;
mod truncate;

use pliant_core::backend::Backend;
use pliant_core::collide::ccd::CcdOptions;
use pliant_core::collide::{CollideError, ContactSearch, MeshCandidates, NearSearch, intersect};
use pliant_core::columns::{Columns, Particles};
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::solver::{Solver, StepReport};

use crate::gauss_seidel::check_count;
use interior::Interior;

pub use interior::InteriorPoint;

/// How surfaces are moved towards their targets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Guard {
    /// Minimises the distance to the targets under a barrier between surfaces: layers slide along each other.
    InteriorPoint(InteriorPoint),
    /// Every vertex goes as far as the planes halfway between it and everything near allow, in this many passes. Cheap, and
    /// one contact stops nobody else; vertices that are stopped stay where they are.
    Truncation {
        /// Passes over all pairs; 3 let layers that fall together fall.
        passes: usize,
    },
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
    remaining: f64,
}

/// Surfaces on their way.
#[derive(Clone, Debug)]
struct Path<S> {
    /// Built in the first step, which brings a backend.
    candidates: Option<MeshCandidates<S>>,
    search: ContactSearch,
    near: NearSearch,
    /// By vertex: where it is, where it tries to go, and where the inner solver put it.
    now: Columns<S>,
    next: Columns<S>,
    target: Columns<S>,
}

/// Continuous detection keeps this share of every distance: what rounding takes is far less.
const KEEP: f64 = 0.1;
/// Attempts to go a shorter way before staying.
const RETREATS: usize = 12;

impl<S: Real> Path<S> {
    fn new(model: &Model<S>) -> Self {
        let zeros = || Columns::zeros(model.surfaces().particles.len());
        let (search, near) = (ContactSearch::new(), NearSearch::new());
        Self { candidates: None, search, near, now: zeros(), next: zeros(), target: zeros() }
    }

    /// Whether the way from `now` to `next` is free of contact; when not, the part of it that surely is. Candidates within
    /// `reach` of it are found on the way.
    fn free<B: Backend<Scalar = S>>(&mut self, reach: S, on: &B) -> Result<f64, CollideError> {
        let Some(candidates) = &mut self.candidates else { return Ok(0.0) };
        candidates.find(&self.now, &self.next, reach, on)?;
        self.search.run(candidates, &CcdOptions { keep: KEEP, ..CcdOptions::default() }, on);
        Ok(if self.search.contacts().is_empty() { 1.0 } else { self.search.earliest() })
    }

    /// next = now + share (next − now).
    fn shorten(&mut self, share: f64) {
        let share = S::from_f64(share);
        let Self { now, next, .. } = self;
        for (now, next) in [(&now.x, &mut next.x), (&now.y, &mut next.y), (&now.z, &mut next.z)] {
            for (now, next) in now.iter().zip(next) {
                *next = *now + (*next - *now) * share;
            }
        }
    }

    /// Shortens the way until it is free; returns how much of it is left, 0 to stay.
    fn retreat<B: Backend<Scalar = S>>(&mut self, reach: S, on: &B) -> Result<f64, CollideError> {
        let mut left = 1.0;
        for _ in 0..RETREATS {
            let free = self.free(reach, on)?;
            if free >= 1.0 {
                return Ok(left);
            }
            left *= free;
            if left <= 1e-9 || left.is_nan() {
                break;
            }
            self.shorten(free);
        }
        Ok(0.0)
    }

    fn accept(&mut self) {
        core::mem::swap(&mut self.now, &mut self.next);
    }

    /// The largest distance to a target \[m\].
    fn remaining(&self) -> f64 {
        let apart = |(a, b): ([S; 3], [S; 3])| (0..3).map(|k| (a[k] - b[k]).to_f64().powi(2)).sum::<f64>();
        self.now.iter().zip(self.target.iter()).map(apart).fold(0.0, f64::max).sqrt()
    }
}

impl<T, S: Real> IntersectionFree<T, S> {
    /// Puts a guard behind a solver.
    pub fn new(inner: T, guard: Guard) -> Self {
        Self { inner, guard, scratch: None }
    }
    /// The solver inside.
    pub fn inner(&self) -> &T {
        &self.inner
    }
    /// The guard.
    pub fn guard(&self) -> Guard {
        self.guard
    }
    /// How far the farthest vertex ended from where the inner solver put it, in the last step \[m\].
    pub fn remaining(&self) -> f64 {
        self.scratch.as_ref().map_or(0.0, |scratch| scratch.remaining)
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
            remaining: 0.0,
        }
    }

    /// Refuses a start state whose surfaces pass through each other.
    fn check_start<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        x: &Columns<S>,
        on: &B,
    ) -> Result<(), StepError> {
        if self.known && self.accepted == *x {
            return Ok(());
        }
        let surfaces = model.surfaces();
        if self.path.candidates.is_none() {
            self.path.candidates = Some(crate::contact::candidates(model, on).map_err(step_error)?);
        }
        let places = surfaces.particles.iter().map(|&p| x.get(p as usize)).collect();
        let groups = surfaces.groups();
        let found = intersect::piercings(&surfaces.edges, &surfaces.triangles, &places, groups.as_deref(), on)
            .map_err(step_error)?;
        if let Some(first) = found.first() {
            let particle = |vertex: u32| surfaces.particles[vertex as usize];
            let (edge, triangle) = (first.edge.map(particle), first.triangle.map(particle));
            return Err(StepError::Intersecting { edge, triangle, count: found.len() });
        }
        self.known = true;
        Ok(())
    }
}

fn speed_sq<S: Real>(v: [S; 3]) -> S {
    v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
}

fn step_error(error: CollideError) -> StepError {
    match error {
        CollideError::NotFinite { row, value, .. } => StepError::NotFinite { what: "surface vertex", row, value },
        _ => StepError::NotPrepared,
    }
}

impl<S: Real, B: Backend<Scalar = S>, T: Solver<B>> Solver<B> for IntersectionFree<T, S> {
    fn name(&self) -> &'static str {
        "intersection-free"
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        match &self.guard {
            Guard::InteriorPoint(options) => options.check()?,
            Guard::Truncation { passes } => check_count("passes", *passes)?,
        }
        self.inner.prepare(model)?;
        self.scratch = Some(Box::new(Scratch::new(model)));
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, on: &B) -> Result<StepReport, StepError> {
        let scratch = self.scratch.as_mut().filter(|s| s.model == model.id()).ok_or(StepError::NotPrepared)?;
        let (found, expected) = (particles.len(), model.particle_count());
        if found != expected || particles.v.len() != expected {
            return Err(StepError::WrongState { found, expected });
        }
        let surfaces = model.surfaces();
        if surfaces.is_empty() {
            return self.inner.step(model, particles, dt, on);
        }
        scratch.check_start(model, &particles.x, on)?;
        let Scratch { after, accepted, path, interior, remaining, .. } = &mut **scratch;
        after.x.copy_from(0..expected, &particles.x, 0);
        after.v.copy_from(0..expected, &particles.v, 0);
        let mut report = self.inner.step(model, after, dt, on)?;

        for (vertex, &particle) in surfaces.particles.iter().enumerate() {
            path.now.set(vertex, particles.x.get(particle as usize));
            path.target.set(vertex, after.x.get(particle as usize));
        }
        let (iterations, converged) = match &self.guard {
            Guard::InteriorPoint(options) => interior.run(options, model, path, on),
            Guard::Truncation { passes } => truncate::run(*passes, path, on),
        }
        .map_err(step_error)?;
        report.iterations += iterations;
        report.converged &= converged;
        *remaining = path.remaining();

        let inv_dt = S::ONE / dt;
        for (vertex, &particle) in surfaces.particles.iter().enumerate() {
            let particle = particle as usize;
            let (x, goal) = (path.now.get(vertex), path.target.get(vertex));
            if x == goal {
                continue;
            }
            let (before, v) = (particles.x.get(particle), after.v.get(particle));
            let pushed = core::array::from_fn(|k| v[k] + (x[k] - goal[k]) * inv_dt);
            let moved = core::array::from_fn(|k| (x[k] - before[k]) * inv_dt);
            after.x.set(particle, x);
            // At the minimum corrections are impulses of the barrier, and momentum is kept. Short of it a vertex that is held
            // up again and again must not gather speed that it never had.
            let keep = converged || speed_sq(pushed) < speed_sq(moved);
            after.v.set(particle, if keep { pushed } else { moved });
        }
        particles.x.copy_from(0..expected, &after.x, 0);
        particles.v.copy_from(0..expected, &after.v, 0);
        accepted.copy_from(0..expected, &particles.x, 0);
        Ok(report)
    }

    fn forces(&self, model: &Model<S>) -> Vec<(&'static str, Vec<S>)> {
        self.inner.forces(model)
    }
}
