//! Snapshots of a world: its moving state as bytes, and back.

use pliant_core::backend::Backend;
use pliant_core::lane::Real;
use pliant_core::snapshot::{Fingerprint, Keepsake, Reader, Snapshot, SnapshotError, Writer};
#[cfg(feature = "collision")]
use pliant_solvers::ContactWatch;

use super::WorldOn;

impl<B: Backend> WorldOn<B> {
    /// The moving state as bytes: positions, velocities, targets, poses, loads, time, and what methods remember from step to step.
    /// Bodies, constraints, colliders and the solver are not in it. Whatever would be found again by stepping is left out, such as
    /// [`constraint_forces`](Self::constraint_forces) and reports of the last step.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let build = || -> Result<World, Error> {
    ///     let mut world = World::new();
    ///     world.add(Body::cloth(&ClothGrid::square(1.0, 10))?.pinned([0, 9]))?;
    ///     Ok(world)
    /// };
    /// let mut world = build()?;
    /// world.step(1.0 / 60.0)?;
    /// let snapshot = world.snapshot();
    /// let stored = snapshot.as_bytes().to_vec();
    /// world.step(1.0 / 60.0)?;
    ///
    /// let mut other = build()?;
    /// other.restore(&Snapshot::from_bytes(&stored)?)?;
    /// other.step(1.0 / 60.0)?;
    /// assert_eq!(other.state_hash(), world.state_hash());
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(format::<B::Scalar>("snapshot"), |to| {
            self.sign(to);
            self.remember(to);
        })
    }

    /// Goes back, or forward, to a snapshot of this world or of one with equal bodies, joints, colliders and solver: every later step
    /// gives the same bits as it gave there, on any backend. Bodies that tore in between are mended, or torn as they were then,
    /// unless bodies were added, removed, edited, merged or pinned since; read [`triangles`](Self::triangles) again after that.
    /// [`tears`](Self::tears) starts empty.
    ///
    /// What may be different: the backend, whether contacts are watched, and everything that is in the snapshot itself, which is
    /// taken back: targets, poses and loads, gravity, wind and damping. What decides how a run goes on must be the same: rows,
    /// masses, self-contact, clusters and tearing of bodies; shape, friction and restitution of colliders and rigid bodies, their
    /// groups and damping; joints with their motors, and fastenings; the method, the one inside of it, and all their options.
    /// Methods of your own say what counts by [`Solver::identify`](pliant_core::solver::Solver::identify).
    ///
    /// # Errors
    /// [`SnapshotError::Foreign`] when it was taken of another world, with what is different; [`SnapshotError::NotFinite`] when
    /// somebody put numbers into it that no world has; this one is then as it was.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let mut from = snapshot.read(format::<B::Scalar>("snapshot"))?;
        self.check_signature(&mut from)?;
        // The environment is the user's to write into, and may hold what no snapshot gives back.
        let environment = core::mem::take(&mut self.model.environment);
        let mut before = Keepsake::default();
        before.keep(|to| self.remember(to));
        let taken = self.recall(&mut from).and_then(|()| from.finish());
        if taken.is_err() {
            // What this world wrote a moment ago it can read.
            let _ = before.give_back(|from| self.recall(from));
            self.model.environment = environment;
        }
        taken
    }

    /// What must be the same for a snapshot to fit, part by part.
    fn signature(&self) -> [(&'static str, u64); 4] {
        let of = |identify: &dyn Fn(&mut Fingerprint)| {
            let mut hash = Fingerprint::new();
            identify(&mut hash);
            hash.value()
        };
        let bodies = of(&|hash| {
            hash.add(self.whole_fingerprint());
            self.members.iter().for_each(|member| hash.add_shown(&member.body.tearing()));
            #[cfg(feature = "collision")]
            self.skins.identify(hash, |body| {
                let member = self.handles.find(body).unwrap_or(usize::MAX);
                (member, self.members.get(member).map_or(0, |member| member.whole().particle_count()))
            });
        });
        #[cfg(feature = "collision")]
        let colliders = self.model.colliders().fingerprint();
        #[cfg(not(feature = "collision"))]
        let colliders = 0;
        #[cfg(feature = "rigid")]
        let rigid = of(&|hash| self.identify_rigid(hash));
        #[cfg(not(feature = "rigid"))]
        let rigid = 0;
        [
            ("bodies, constraints or skins", bodies),
            ("the solver or its options", of(&|hash| self.solver.identify(hash))),
            ("colliders", colliders),
            ("rigid bodies, joints, fastenings or their options", rigid),
        ]
    }

    /// Writes down what world this is.
    pub(super) fn sign(&self, to: &mut Writer) {
        self.signature().into_iter().for_each(|(_, hash)| to.u64(hash));
    }

    /// Refuses what was signed by another world.
    pub(super) fn check_signature(&self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.signature().into_iter().try_for_each(|(what, hash)| from.agrees(hash, what))
    }

    /// See [`WorldOn::remember`], by which everybody else calls it.
    pub(super) fn write_down(&self, to: &mut Writer) {
        to.f64(self.time);
        self.remember_tears(to);
        to.columns(&self.particles.x);
        to.columns(&self.particles.v);
        self.model.remember(to);
        to.columns(&self.settled);
        // A solver without particles may be prepared for some that are gone.
        if !self.members.is_empty() {
            self.solver.remember(to);
        }
        #[cfg(feature = "collision")]
        {
            self.skins.remember(to);
            to.flag(self.watch.is_some());
            if let Some(watch) = &self.watch {
                watch.remember(to);
            }
        }
        #[cfg(feature = "rigid")]
        if !self.rigid.bodies.is_empty() {
            self.rigid.bodies.remember(to);
            self.rigid.together.remember(to);
        }
    }

    /// See [`WorldOn::recall`], by which everybody else calls it.
    pub(super) fn read_back(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let [time] = from.finite_reals("time")?;
        self.time = time;
        self.recall_tears(from)?;
        from.finite_columns(&mut self.particles.x, "position")?;
        from.finite_columns(&mut self.particles.v, "velocity")?;
        self.model.recall(from)?;
        from.finite_columns(&mut self.settled, "target")?;
        if !self.members.is_empty() {
            self.solver.recall(from)?;
        }
        #[cfg(feature = "collision")]
        self.skins.recall(from)?;
        #[cfg(feature = "collision")]
        self.recall_contacts(from)?;
        #[cfg(feature = "rigid")]
        if !self.rigid.bodies.is_empty() {
            self.rigid.bodies.recall(from)?;
            self.rigid.together.recall(&self.rigid.bodies, from)?;
        }
        Ok(())
    }

    /// Contacts as they were listed; a world that does not watch them reads past them.
    #[cfg(feature = "collision")]
    fn recall_contacts(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let mut unwatched = ContactWatch::new(B::Scalar::ZERO);
        let watch = self.watch.as_deref_mut().unwrap_or(&mut unwatched);
        if from.flag()? {
            watch.recall(from)
        } else {
            watch.forget();
            Ok(())
        }
    }
}

/// Tells snapshots of this kind and build from others: their bytes depend on the precision and on what there may be.
pub(super) fn format<S: Real>(kind: &str) -> u64 {
    let mut hash = Fingerprint::new();
    hash.add_name(kind);
    hash.add_name(S::NAME);
    hash.add_all([cfg!(feature = "collision"), cfg!(feature = "rigid")].map(u64::from));
    hash.value()
}
