//! Snapshots of a world: its moving state as bytes, and back.

use pliant_core::backend::Backend;
#[cfg(feature = "collision")]
use pliant_core::lane::Real;
use pliant_core::snapshot::{Fingerprint, Reader, Snapshot, SnapshotError, Writer};
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
        Snapshot::new(self.fingerprint(), |to| self.remember(to))
    }

    /// Goes back, or forward, to a snapshot of this world or of one with equal bodies, joints, colliders and solver: every later step
    /// gives the same bits as it gave there, on any backend. Bodies that tore in between are mended, or torn as they were then,
    /// unless bodies were added, removed, edited, merged or pinned since.
    ///
    /// # Errors
    /// [`SnapshotError::Foreign`] when it was taken of another world, [`SnapshotError::NotFinite`] when somebody put numbers into it
    /// that no world has; this one is then as it was.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let mut from = snapshot.read(self.fingerprint())?;
        let before = self.snapshot();
        let taken = self.recall(&mut from).and_then(|()| from.finish());
        if taken.is_err() {
            // What this world wrote a moment ago it can read.
            let _ = self.recall(&mut before.read(self.fingerprint())?);
        }
        taken
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let mut hash = Fingerprint::new();
        hash.add_name(self.solver.name());
        hash.add(self.whole_fingerprint());
        #[cfg(feature = "collision")]
        self.skins.identify(&mut hash, |body| {
            let member = self.handles.find(body).unwrap_or(usize::MAX);
            (member, self.members.get(member).map_or(0, |member| member.whole().particle_count()))
        });
        #[cfg(feature = "rigid")]
        hash.add(self.rigid.bodies.fingerprint());
        hash.value()
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
        self.time = from.f64()?;
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
