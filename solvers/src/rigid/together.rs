//! A step of everything: impulses between particles and bodies, then the particles by their method, then the bodies by theirs.

use pliant_core::backend::Backend;
use pliant_core::columns::{Columns, Particles};
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::rigid::RigidBodies;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::solver::{Solver, StepReport};

use super::{Coupling, RigidOptions, RigidReport, RigidSolver};

/// Steps particles and rigid bodies that push each other: the one place that knows the order.
///
/// A failed step takes everything back, whichever of the two failed.
pub struct Together<S> {
    solver: RigidSolver<S>,
    coupling: Coupling<S>,
    /// Revision of the bodies that both are ready for.
    prepared: Option<u64>,
    /// The state before a step, in case it fails.
    velocities: [Columns<S>; 2],
    particles: Particles<S>,
}

impl<S: Real> Together<S> {
    /// With options for the bodies; they are checked by [`Together::prepare`].
    pub fn new(options: RigidOptions) -> Self {
        Self {
            solver: RigidSolver::new(options),
            coupling: Coupling::new(),
            prepared: None,
            velocities: [Columns::zeros(0), Columns::zeros(0)],
            particles: Particles::default(),
        }
    }
    /// What moves the bodies.
    pub fn solver(&self) -> &RigidSolver<S> {
        &self.solver
    }
    /// What couples them to particles.
    pub fn coupling(&self) -> &Coupling<S> {
        &self.coupling
    }
    /// What couples them to particles, to fasten some.
    pub fn coupling_mut(&mut self) -> &mut Coupling<S> {
        &mut self.coupling
    }

    /// Makes ready for a list of bodies, from nothing: no contact is remembered.
    ///
    /// # Errors
    /// When an option is outside its range, or a convex body has no hull.
    pub fn prepare(&mut self, bodies: &RigidBodies<S>) -> Result<(), BuildError> {
        self.prepared = None;
        self.solver.prepare(bodies)?;
        self.coupling.prepare(bodies)?;
        self.prepared = Some(bodies.revision());
        Ok(())
    }

    /// Forgets the impulses that contacts and couplings start from: what comes next depends on the state alone.
    pub fn cool(&mut self) {
        self.solver.cool();
        self.coupling.cool();
    }

    /// Replaces the options of the bodies' solver.
    ///
    /// # Errors
    /// When an option is outside its range; the old ones stay.
    pub fn set_options(&mut self, options: RigidOptions, bodies: &RigidBodies<S>) -> Result<(), BuildError> {
        let mut solver = RigidSolver::new(options);
        solver.prepare(bodies)?;
        (self.solver, self.prepared) = (solver, None);
        Ok(())
    }

    /// Writes down what the next step depends on beside particles and bodies.
    pub fn remember(&self, to: &mut Writer) {
        self.solver.remember(to);
        self.coupling.remember(to);
    }
    /// Takes it back, for equal bodies: the next step gives the same bits.
    ///
    /// # Errors
    /// When it belongs to other bodies; it may be half taken back then.
    pub fn recall(&mut self, bodies: &RigidBodies<S>, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        if self.prepared != Some(bodies.revision()) {
            self.prepare(bodies).map_err(|_| SnapshotError::Foreign { what: "rigid bodies" })?;
        }
        self.solver.recall(from)?;
        self.coupling.recall(from)
    }

    /// Advances everything by `dt` \[s\]. Without bodies this is a step of the particles, and without particles one of the
    /// bodies.
    ///
    /// # Errors
    /// When `dt` is not usable or either method fails; particles and bodies are then as they were.
    pub fn step<B: Backend<Scalar = S>>(
        &mut self,
        solver: &mut dyn Solver<B>,
        model: &Model<S>,
        particles: &mut Particles<S>,
        bodies: &mut RigidBodies<S>,
        dt: S,
        on: &B,
    ) -> Result<(StepReport, RigidReport), StepError> {
        if bodies.is_empty() {
            let moved = (!particles.is_empty()).then(|| solver.step(model, particles, dt, on)).transpose()?;
            return Ok((moved.unwrap_or_default(), RigidReport::default()));
        }
        if self.prepared != Some(bodies.revision()) {
            // Everything was checked when it was added.
            self.prepare(bodies).map_err(|_| StepError::NotPrepared)?;
        }
        if let Some(value) = model.environment.gravity.into_iter().find(|c| !c.is_finite()) {
            return Err(StepError::NotFinite { what: "gravity", row: 0, value: value.to_f64() });
        }
        self.keep(particles, bodies);
        let stepped = self.advance(solver, model, particles, bodies, dt, on);
        if stepped.is_err() {
            self.undo(particles, bodies);
        }
        stepped
    }

    fn advance<B: Backend<Scalar = S>>(
        &mut self,
        solver: &mut dyn Solver<B>,
        model: &Model<S>,
        particles: &mut Particles<S>,
        bodies: &mut RigidBodies<S>,
        dt: S,
        on: &B,
    ) -> Result<(StepReport, RigidReport), StepError> {
        let mut moved = StepReport::default();
        if !particles.is_empty() {
            // Bodies and fastenings are checked when they change, so that nothing can be missing.
            self.coupling.exchange(model, particles, bodies, dt, on).map_err(|_| StepError::NotPrepared)?;
            moved = solver.step(model, particles, dt, on)?;
        }
        Ok((moved, self.solver.step(bodies, model.environment.gravity, dt, on)?))
    }

    /// Remembers the state for [`Together::undo`].
    fn keep(&mut self, particles: &Particles<S>, bodies: &RigidBodies<S>) {
        let (count, points) = (bodies.len(), particles.len());
        if self.velocities[0].len() != count || self.particles.len() != points {
            self.velocities = [Columns::zeros(count), Columns::zeros(count)];
            self.particles = Particles::at_rest(Columns::zeros(points));
        }
        self.velocities[0].copy_from(0..count, &bodies.v, 0);
        self.velocities[1].copy_from(0..count, &bodies.omega, 0);
        self.particles.x.copy_from(0..points, &particles.x, 0);
        self.particles.v.copy_from(0..points, &particles.v, 0);
    }

    /// Takes back what the exchange and the particles' step did; a bodies' step that fails takes itself back.
    fn undo(&mut self, particles: &mut Particles<S>, bodies: &mut RigidBodies<S>) {
        let (count, points) = (bodies.len(), particles.len());
        bodies.v.copy_from(0..count, &self.velocities[0], 0);
        bodies.omega.copy_from(0..count, &self.velocities[1], 0);
        particles.x.copy_from(0..points, &self.particles.x, 0);
        particles.v.copy_from(0..points, &self.particles.v, 0);
        // What it remembers may be what went wrong.
        self.coupling.cool();
    }
}

/// A hash over every bit of the state of particles and bodies: that of the particles where there are no bodies.
pub fn state_hash<S: Real>(particles: &Particles<S>, bodies: &RigidBodies<S>) -> u64 {
    let hash = particles.state_hash();
    if bodies.is_empty() { hash } else { hash.rotate_left(1) ^ bodies.state_hash() }
}
