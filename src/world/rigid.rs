//! Rigid bodies of a world: beside its particles, coupled to them both ways, and held by its colliders.
//!
//! Every collider has a twin among the bodies, behind those of the user: an immovable body of the same shape that the others
//! rest on. Particles meet the collider, bodies its twin.

use pliant_core::backend::Backend;
use pliant_core::columns::Particles;
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::rigid::{Joint, RigidBodies, RigidBody};
use pliant_core::sdf::{Colliders, Pose};
use pliant_core::snapshot::Fingerprint;
use pliant_core::solver::{Solver, StepReport};
use pliant_solvers::{Fastening, RigidOptions, RigidReport, RigidSolver, Together};

use super::handles::Handles;
use super::{BodyId, JointId, RigidId, WorldOn};

/// Everything rigid in a world.
pub(super) struct Rigid<S> {
    pub bodies: RigidBodies<S>,
    pub together: Together<S>,
    pub report: RigidReport,
    pub handles: Handles<RigidId>,
    pub joint_handles: Handles<JointId>,
    /// In the order of the bodies and joints.
    pub ids: Vec<RigidId>,
    pub joint_ids: Vec<JointId>,
    pub fastened: Vec<Fastened>,
}

/// A particle fastened to a rigid body.
#[cfg_attr(feature = "serde", derive(Clone, Copy, serde::Serialize, serde::Deserialize))]
pub(super) struct Fastened {
    pub body: BodyId,
    pub particle: u32,
    pub to: RigidId,
    /// In the principal frame \[m\].
    pub point: [f64; 3],
}

impl<S: Real> Rigid<S> {
    pub fn new() -> Self {
        Self {
            bodies: RigidBodies::new(),
            together: Together::new(RigidOptions::default()),
            report: RigidReport::default(),
            handles: Handles::default(),
            joint_handles: Handles::default(),
            ids: Vec::new(),
            joint_ids: Vec::new(),
            fastened: Vec::new(),
        }
    }

    /// Refuses what only a solver finds out about a body: a hull without volume.
    pub fn check(&self, body: &RigidBody) -> Result<(), BuildError> {
        let mut alone = RigidBodies::<S>::new();
        alone.push(body)?;
        RigidSolver::new(*self.together.solver().options()).prepare(&alone)
    }

    /// Whether the user has no bodies; colliders have no twins then.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Changes bodies, and gives every collider its twin behind them. `body` and `twin` say which row and collider each that was there
    /// before is now: what is remembered of their contacts stays. Bodies wake up where that may matter to them.
    pub fn rearrange<T>(
        &mut self,
        colliders: &Colliders<S>,
        matters: bool,
        change: impl FnOnce(&mut RigidBodies<S>) -> Result<T, BuildError>,
        body: impl Fn(usize) -> Option<usize>,
        twin: impl Fn(usize) -> Option<usize>,
    ) -> Result<T, BuildError> {
        let before = self.ids.len();
        let rest: Vec<_> = self.bodies.asleep.iter().copied().zip(self.bodies.still.iter().copied()).collect();
        self.together.strip(&mut self.bodies)?;
        let changed = change(&mut self.bodies);
        let now = self.bodies.len();
        self.together.mirror(&mut self.bodies, colliders)?;
        for (row, rest) in rest.into_iter().enumerate().take(before).filter(|_| !matters) {
            if let Some(row) = body(row) {
                (self.bodies.asleep[row], self.bodies.still[row]) = rest;
            }
        }
        self.together.renumber(|row| match row.checked_sub(before) {
            None => body(row),
            Some(place) => twin(place).map(|place| now + place),
        });
        changed
    }

    /// Where a body will be after `dt` \[s\], as far as one knows.
    pub fn pose_after(&self, id: RigidId, dt: f64) -> Result<Pose, BuildError> {
        Ok(self.bodies.pose_after(self.handles.find(id)?, dt))
    }

    /// Moves bodies and particles; on an error both are as they were.
    pub fn step<B: Backend<Scalar = S>>(
        &mut self,
        soft: (&mut dyn Solver<B>, &Model<S>, &mut Particles<S>),
        dt: S,
        on: &B,
    ) -> Result<StepReport, StepError> {
        let (report, moved) = self.together.step(soft, &mut self.bodies, dt, on)?;
        self.report = moved;
        Ok(report)
    }
}

impl<B: Backend> WorldOn<B> {
    /// Adds a rigid body. It touches the other rigid bodies, all particles, and is pushed back by them; colliders hold it.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.add_collider(Collider::plane([0.0, 1.0, 0.0]))?;
    /// let ball = world.add_rigid(&RigidBody::sphere(0.5, 100.0).at([0.0, 2.0, 0.0]))?;
    /// for _ in 0..120 {
    ///     world.step(1.0 / 60.0)?;
    /// }
    /// assert!((world.rigid_pose(ball)?.translation[1] - 0.5).abs() < 1e-3);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The first thing that is wrong with it; the world is then as it was.
    pub fn add_rigid(&mut self, body: &RigidBody) -> Result<RigidId, BuildError> {
        self.rigid.check(body)?;
        let row = self.rigid.rearrange(self.model.colliders(), false, |bodies| bodies.push(body), Some, Some)?;
        let id = self.rigid.handles.insert(row);
        self.rigid.ids.push(id);
        Ok(id)
    }

    /// Removes a rigid body, its joints and its fastenings for good.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed before.
    pub fn remove_rigid(&mut self, id: RigidId) -> Result<(), BuildError> {
        let row = self.rigid.handles.find(id)?;
        let joints = self.rigid.bodies.joints();
        let gone: Vec<usize> = (0..joints.len()).filter(|&joint| joints[joint].bodies.contains(&row)).collect();
        let moved = |other| (other != row).then(|| other - usize::from(other > row));
        self.rigid.rearrange(self.model.colliders(), true, |bodies| bodies.remove(row), moved, Some)?;
        for joint in gone.into_iter().rev() {
            let id = self.rigid.joint_ids.remove(joint);
            self.rigid.joint_handles.remove(id);
        }
        self.rigid.handles.remove(id);
        self.rigid.ids.remove(row);
        self.rigid.fastened.retain(|fastened| fastened.to != id);
        self.refasten();
        Ok(())
    }

    /// Changes what a rigid body is while time runs: its shape, mass, friction, mobility. `change` gets the body as it was
    /// described; it stays where it is and moves on as it did, whatever pose and velocities the new description has. Joints and
    /// fastenings hold the same points, and what is remembered of contacts stays.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ball = world.add_rigid(&RigidBody::sphere(0.5, 100.0))?;
    /// world.edit_rigid(ball, |ball| RigidBody { density: 300.0, ..ball }.with_friction(0.9))?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When it was removed, or the first thing that is wrong with the new description; the world is then as it was.
    pub fn edit_rigid(&mut self, id: RigidId, change: impl FnOnce(RigidBody) -> RigidBody) -> Result<(), BuildError> {
        let row = self.rigid.handles.find(id)?;
        let before = &self.rigid.bodies.described()[row];
        let changed = change(before.clone());
        let matters = changed != *before;
        self.rigid.check(&RigidBody { velocity: [0.0; 3], angular_velocity: [0.0; 3], ..changed.clone() })?;
        // Whatever would be refused is refused before anything changes.
        self.rigid.bodies.clone().replace(row, &changed)?;
        let replace = |bodies: &mut RigidBodies<B::Scalar>| bodies.replace(row, &changed);
        let moved = self.rigid.rearrange(self.model.colliders(), matters, replace, Some, Some)?;
        if moved != Pose::IDENTITY {
            for fastened in self.rigid.fastened.iter_mut().filter(|fastened| fastened.to == id) {
                fastened.point = moved.place(fastened.point);
            }
            self.refasten();
        }
        Ok(())
    }

    /// Joins two rigid bodies as they stand now; the rows that the joint names are replaced by these bodies'.
    ///
    /// # Errors
    /// When a body was removed, both are immovable, or a limit or number of the joint is not usable.
    pub fn join(&mut self, bodies: [RigidId; 2], joint: Joint) -> Result<JointId, BuildError> {
        let rows = [self.rigid.handles.find(bodies[0])?, self.rigid.handles.find(bodies[1])?];
        let row = self.rigid.bodies.join(&Joint { bodies: rows, ..joint })?;
        let id = self.rigid.joint_handles.insert(row);
        self.rigid.joint_ids.push(id);
        Ok(id)
    }

    /// Takes a joint away for good.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it, or one of its bodies, was removed before.
    pub fn unjoin(&mut self, id: JointId) -> Result<(), BuildError> {
        let row = self.rigid.joint_handles.find(id)?;
        self.rigid.bodies.unjoin(row)?;
        self.rigid.joint_handles.remove(id);
        self.rigid.joint_ids.remove(row);
        Ok(())
    }

    /// Fastens a particle where it is now to a rigid body where it is now; they pull at each other from then on.
    ///
    /// # Errors
    /// When the body, the particle or the rigid body does not exist.
    pub fn fasten(&mut self, body: BodyId, particle: u32, to: RigidId) -> Result<(), BuildError> {
        let (_, at) = self.find_particle(body, particle)?;
        let row = self.rigid.handles.find(to)?;
        let point = Fastening::new(at as u32, row, &self.particles, &self.rigid.bodies)?.point;
        self.rigid.fastened.retain(|f| (f.body, f.particle, f.to) != (body, particle, to));
        self.rigid.fastened.push(Fastened { body, particle, to, point });
        self.refasten();
        Ok(())
    }

    /// Lets go of a particle that was fastened to rigid bodies.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was not.
    pub fn unfasten(&mut self, body: BodyId, particle: u32) -> Result<(), BuildError> {
        let before = self.rigid.fastened.len();
        self.rigid.fastened.retain(|f| (f.body, f.particle) != (body, particle));
        if self.rigid.fastened.len() == before {
            return Err(BuildError::NotFound { what: "fastening" });
        }
        self.refasten();
        Ok(())
    }

    /// Tells the coupling which particles and rows fastenings are between now; those of removed bodies are dropped.
    pub(super) fn refasten(&mut self) {
        let mut kept = Vec::new();
        let mut list = Vec::new();
        for fastened in core::mem::take(&mut self.rigid.fastened) {
            let particle = self.find_particle(fastened.body, fastened.particle);
            if let (Ok((_, at)), Ok(row)) = (particle, self.rigid.handles.find(fastened.to)) {
                list.push(Fastening { particle: at as u32, body: row as u32, point: fastened.point });
                kept.push(fastened);
            }
        }
        self.rigid.fastened = kept;
        self.rigid.together.coupling_mut().fasten(list);
    }

    /// What is fastened of a body is fastened of another, whose particle `first` is its first one.
    pub(super) fn pass_on_fastenings(&mut self, body: BodyId, to: BodyId, first: u32) {
        for fastened in self.rigid.fastened.iter_mut().filter(|fastened| fastened.body == body) {
            (fastened.body, fastened.particle) = (to, fastened.particle + first);
        }
    }

    /// Adds everything about rigid bodies to a hash that decides how a run goes on and is no state. Without bodies there is nothing,
    /// so that options count from the first one on.
    pub(super) fn identify_rigid(&self, hash: &mut Fingerprint) {
        let rigid = &self.rigid;
        if rigid.bodies.is_empty() {
            return;
        }
        hash.add(rigid.bodies.fingerprint());
        hash.add_shown(rigid.together.solver().options());
        for Fastened { body, particle, to, point } in &rigid.fastened {
            hash.add_all(
                [self.handles.find(*body), rigid.handles.find(*to)].map(|row| row.map_or(u64::MAX, |r| r as u64)),
            );
            hash.add(u64::from(*particle));
            hash.add_reals(point);
        }
    }

    /// Options of the method that moves rigid bodies.
    ///
    /// # Errors
    /// When an option is outside its range; the old ones stay.
    pub fn set_rigid_options(&mut self, options: RigidOptions) -> Result<(), BuildError> {
        self.rigid.together.set_options(options, &self.rigid.bodies)
    }

    /// Where a rigid body is: the pose of the frame its shape was described in.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed.
    pub fn rigid_pose(&self, id: RigidId) -> Result<Pose, BuildError> {
        Ok(self.rigid.bodies.pose(self.rigid.handles.find(id)?))
    }
    /// Puts a rigid body somewhere else at once.
    ///
    /// # Errors
    /// When it was removed, or the pose is not finite or has a quaternion of no length.
    pub fn set_rigid_pose(&mut self, id: RigidId, pose: Pose) -> Result<(), BuildError> {
        let row = self.rigid.handles.find(id)?;
        self.rigid.bodies.set_pose(row, pose)
    }
    /// Sends a kinematic body to a new pose; it arrives at the end of the next step, and carries along what it touches.
    ///
    /// # Errors
    /// When it was removed or is not kinematic, or the pose is not usable.
    pub fn send_rigid(&mut self, id: RigidId, pose: Pose) -> Result<(), BuildError> {
        let row = self.rigid.handles.find(id)?;
        self.rigid.bodies.send(row, pose)
    }
    /// A force at a point of the world over the next step \[N, m\].
    ///
    /// # Errors
    /// When the body was removed, or a number is not finite.
    pub fn push_rigid(
        &mut self,
        id: RigidId,
        force: impl Into<[B::Scalar; 3]>,
        point: impl Into<[B::Scalar; 3]>,
    ) -> Result<(), BuildError> {
        let row = self.rigid.handles.find(id)?;
        let (force, point) = (force.into(), point.into());
        finite(row, "force or point", force.into_iter().chain(point))?;
        self.rigid.bodies.apply_force(row, force, point);
        Ok(())
    }
    /// An impulse at a point of the world, at once \[N s, m\].
    ///
    /// # Errors
    /// When the body was removed, or a number is not finite.
    pub fn strike_rigid(
        &mut self,
        id: RigidId,
        impulse: impl Into<[B::Scalar; 3]>,
        point: impl Into<[B::Scalar; 3]>,
    ) -> Result<(), BuildError> {
        let row = self.rigid.handles.find(id)?;
        let (impulse, point) = (impulse.into(), point.into());
        finite(row, "impulse or point", impulse.into_iter().chain(point))?;
        self.rigid.bodies.apply_impulse(row, impulse, point);
        Ok(())
    }
    /// Velocity of a rigid body's centre of mass \[m/s\] and its angular velocity \[rad/s\].
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed.
    pub fn rigid_velocity(&self, id: RigidId) -> Result<[[B::Scalar; 3]; 2], BuildError> {
        let row = self.rigid.handles.find(id)?;
        Ok([self.rigid.bodies.v.get(row), self.rigid.bodies.omega.get(row)])
    }
    /// Handles of all rigid bodies, in the order of [`WorldOn::rigid_bodies`].
    pub fn rigid_ids(&self) -> &[RigidId] {
        &self.rigid.ids
    }
    /// The columns of all rigid bodies; behind them stand the twins of colliders, in the order of these.
    pub fn rigid_bodies(&self) -> &RigidBodies<B::Scalar> {
        &self.rigid.bodies
    }
    /// What the last step of the rigid bodies did.
    pub fn rigid_report(&self) -> RigidReport {
        self.rigid.report
    }
}

pub(super) fn finite<S: Real>(
    row: usize,
    quantity: &'static str,
    values: impl IntoIterator<Item = S>,
) -> Result<(), BuildError> {
    match values.into_iter().find(|c| !c.is_finite()) {
        Some(value) => {
            let (what, value, expected) = ("rigid body", value.to_f64(), "a finite number");
            Err(BuildError::BadValue { what, row, quantity, value, expected })
        }
        None => Ok(()),
    }
}
