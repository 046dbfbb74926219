//! A step of everything: rigid bodies, the particles they push and are pushed by, and the colliders that hold both.

use pliant_core::backend::Backend;
use pliant_core::columns::Particles;
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::rigid::{Mobility, RigidBodies, RigidBody};
use pliant_core::sdf::{Collider, Colliders, Pose};
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::solver::{Solver, StepReport};

use super::{Coupling, RigidOptions, RigidReport, RigidSolver};

/// Steps particles and rigid bodies that push each other.
///
/// Colliders hold bodies through twins: immovable bodies of the same shapes, behind all others. Particles meet the collider,
/// bodies its twin.
pub struct Together<S> {
    solver: RigidSolver<S>,
    coupling: Coupling<S>,
    /// How many of the bodies, the last ones, are twins of colliders.
    twins: usize,
    /// Revision of the bodies that solver and coupling are ready for.
    prepared: Option<u64>,
}

impl<S: Real> Together<S> {
    /// With options for the bodies; they are checked by [`Together::prepare`].
    pub fn new(options: RigidOptions) -> Self {
        Self { solver: RigidSolver::new(options), coupling: Coupling::new(), twins: 0, prepared: None }
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

    /// Gives every collider its twin, behind all bodies; without bodies there are none.
    ///
    /// # Errors
    /// When a collider cannot be a body.
    pub fn mirror(&mut self, bodies: &mut RigidBodies<S>, colliders: &Colliders<S>) -> Result<(), BuildError> {
        self.strip(bodies)?;
        if !bodies.is_empty() {
            for (collider, &pose) in colliders.described().iter().zip(colliders.settled()) {
                bodies.push(&twin(collider, pose))?;
                self.twins += 1;
            }
        }
        Ok(())
    }

    /// Takes the twins away: whoever adds or removes bodies works on the others alone, and then asks for twins again.
    ///
    /// # Errors
    /// When there are fewer bodies than twins.
    pub fn strip(&mut self, bodies: &mut RigidBodies<S>) -> Result<(), BuildError> {
        while self.twins > 0 {
            bodies.remove(bodies.len().wrapping_sub(1))?;
            self.twins -= 1;
        }
        Ok(())
    }

    /// Makes ready for a list of bodies, from nothing: no contact is remembered.
    ///
    /// # Errors
    /// When an option is outside its range, or a convex body has no hull.
    pub fn prepare(&mut self, bodies: &RigidBodies<S>) -> Result<(), BuildError> {
        self.prepared = None;
        self.solver.prepare(bodies)?;
        self.coupling.prepare(bodies, bodies.len().saturating_sub(self.twins))?;
        self.prepared = Some(bodies.revision());
        Ok(())
    }

    /// Makes ready for a list of bodies after some came or went; contacts of the others go on.
    fn prepare_again(&mut self, bodies: &RigidBodies<S>) -> Result<(), BuildError> {
        let (contacts, given) = (self.solver.take_contacts(), self.coupling.take_given());
        self.prepare(bodies)?;
        self.solver.put_contacts(contacts);
        self.coupling.put_given(given);
        Ok(())
    }

    /// Tells it that rows of bodies are others now, or gone: what it remembers of them follows. `row` keeps their order.
    pub fn renumber(&mut self, row: impl Fn(usize) -> Option<usize>) {
        self.solver.renumber(&row);
        self.coupling.renumber(&row);
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
        solver.put_contacts(self.solver.take_contacts());
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
    /// bodies. Twins go where their colliders were sent.
    ///
    /// # Errors
    /// When `dt` is not usable or either method fails; particles and bodies are then as they were.
    pub fn step<B: Backend<Scalar = S>>(
        &mut self,
        (solver, model, particles): (&mut dyn Solver<B>, &Model<S>, &mut Particles<S>),
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
            self.prepare_again(bodies).map_err(|_| StepError::NotPrepared)?;
        }
        let (first, colliders) = (bodies.len().saturating_sub(self.twins), model.colliders());
        let mut twins = colliders.described().iter().zip(colliders.settled()).take(self.twins).enumerate();
        let sent = twins.try_for_each(|(place, (collider, settled))| {
            let moves = collider.pose != *settled;
            if moves { bodies.send(first + place, collider.pose).map_err(|_| StepError::NotPrepared) } else { Ok(()) }
        });
        let particles = (solver, model, particles);
        let stepped = sent.and_then(|()| self.coupling.step(particles, (&mut self.solver, &mut *bodies), dt, on));
        if stepped.is_err() {
            // The next step sends them anew.
            (first..bodies.len()).for_each(|twin| bodies.call_back(twin));
        }
        stepped
    }
}

/// The body that stands for a collider among bodies.
fn twin(collider: &Collider, pose: Pose) -> RigidBody {
    RigidBody {
        mobility: Mobility::Kinematic,
        pose,
        friction: collider.friction,
        restitution: collider.restitution,
        ..RigidBody::fixed(collider.shape.clone())
    }
}

/// A hash over every bit of positions, poses and velocities of particles and bodies: that of the particles where there are no bodies.
pub fn state_hash<S: Real>(particles: &Particles<S>, bodies: &RigidBodies<S>) -> u64 {
    let hash = particles.state_hash();
    if bodies.is_empty() { hash } else { hash.rotate_left(1) ^ bodies.state_hash() }
}
