//! Colliders of a world: what its bodies cannot enter.

use pliant_core::backend::Backend;
use pliant_core::error::BuildError;
use pliant_core::sdf::{Collider, Colliders, Pose};

use super::rebuild::Memory;
use super::{ColliderId, WorldOn};

impl<B: Backend> WorldOn<B> {
    /// Adds something solid that bodies, soft and rigid ones, rest on, slide on and bounce off; the solver is prepared again.
    ///
    /// Particles that start inside are pushed out along the shortest way, at up to 10 m/s, and keep the speed of it: add colliders
    /// beside bodies.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let mut world = World::new();
    /// let floor = world.add_collider(Collider::plane([0.0, 1.0, 0.0]).with_friction(0.4))?;
    /// let stone = world.add(Body::particles([[0.0, 0.5, 0.0]]))?;
    /// for _ in 0..60 {
    ///     world.step(1.0 / 60.0)?;
    /// }
    /// assert_eq!(world.positions(stone)?.get(0)[1], 0.0);
    /// world.remove_collider(floor)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The first thing that is wrong with it: sizes that are not above 0, friction below 0, restitution outside 0 to 1, a
    /// pose that is not finite, shapes nested deeper than 256, or cut out of what is cut off more than four times over; the world is
    /// then as it was.
    pub fn add_collider(&mut self, collider: Collider) -> Result<ColliderId, BuildError> {
        let mut colliders = self.model.colliders().clone();
        colliders.push(collider)?;
        let place = colliders.len() - 1;
        self.replace_colliders(colliders, true, Some)?;
        Ok(self.collider_handles.insert(place))
    }

    /// Sends a collider to a new pose; it arrives at the end of the next step, and carries along what it touches.
    ///
    /// Over the substeps it moves in a straight line and turns along the shorter arc: send it by less than half a turn a
    /// step.
    ///
    /// Particles are followed in the collider's own frame, along the chord of each substep. Where it turns by an angle θ in a
    /// substep, the way of a particle at a distance r from the axis bends, and the chord misses it by up to r (1 − cos(θ/2)):
    /// 9 mm at 1 m and 15°. A thin collider (a blade, a door) should turn by less than about 15° in a substep, or particles
    /// may come out on its other side. More substeps help, and so do several shorter steps with a call before each.
    ///
    /// # Errors
    /// When there is no such collider, or the pose is not finite or its quaternion has no length.
    pub fn move_collider(&mut self, id: ColliderId, to: Pose) -> Result<(), BuildError> {
        let place = self.collider_handles.find(id)?;
        self.model.colliders_mut().send(place, to)
    }

    /// Takes a collider away for good; the solver is prepared again.
    ///
    /// Its contacts leave the list without a [`ContactPhase::End`](crate::ContactPhase::End): who keeps count of them forgets
    /// the collider's here.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed before.
    pub fn remove_collider(&mut self, id: ColliderId) -> Result<(), BuildError> {
        let place = self.collider_handles.find(id)?;
        let mut colliders = self.model.colliders().clone();
        colliders.remove(place)?;
        self.replace_colliders(colliders, true, |at| (at != place).then(|| at - usize::from(at > place)))?;
        if let Some(watch) = &mut self.watch {
            let gone = place as u32;
            watch.renumber(Some, |at| (at != gone).then_some(if at > gone { at - 1 } else { at }));
        }
        self.collider_handles.remove(id);
        Ok(())
    }

    /// A collider as it was described; its pose is where it will be at the end of the next step.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed.
    pub fn collider(&self, id: ColliderId) -> Result<&Collider, BuildError> {
        Ok(&self.model.colliders().described()[self.collider_handles.find(id)?])
    }

    /// Changes what a collider is while time runs: its shape, friction, restitution. `change` gets the collider as it was
    /// described; a pose that it changes is where the collider is sent, as by [`WorldOn::move_collider`].
    ///
    /// Nothing else changes: bodies keep their state, and solvers go on from what they remember of contacts.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let mut world = World::new();
    /// let floor = world.add_collider(Collider::plane([0.0, 1.0, 0.0]))?;
    /// world.edit_collider(floor, |floor| floor.with_friction(0.8))?;
    /// assert_eq!(world.collider(floor)?.friction, 0.8);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When it was removed, or as for [`WorldOn::add_collider`]; the world is then as it was.
    pub fn edit_collider(
        &mut self,
        id: ColliderId,
        change: impl FnOnce(Collider) -> Collider,
    ) -> Result<(), BuildError> {
        let place = self.collider_handles.find(id)?;
        let mut colliders = self.model.colliders().clone();
        colliders.replace(place, change(colliders.described()[place].clone()))?;
        let matters = colliders.described() != self.model.colliders().described();
        self.replace_colliders(colliders, matters, Some)
    }

    /// Puts other colliders in the place of all; `twin` says which of the new ones an old one is, and `matters` whether sleeping
    /// bodies should look.
    fn replace_colliders(
        &mut self,
        colliders: Colliders<B::Scalar>,
        matters: bool,
        twin: impl Fn(usize) -> Option<usize>,
    ) -> Result<(), BuildError> {
        let memory = Memory::of(&*self.solver);
        let before = core::mem::replace(self.model.colliders_mut(), colliders);
        let faced = self.face_colliders(&memory, matters, twin);
        if faced.is_err() {
            *self.model.colliders_mut() = before;
            // These were accepted before.
            self.face_colliders(&memory, false, Some)?;
        }
        faced
    }

    /// Makes everything that moves ready for the colliders of the model.
    fn face_colliders(
        &mut self,
        memory: &Memory,
        matters: bool,
        twin: impl Fn(usize) -> Option<usize>,
    ) -> Result<(), BuildError> {
        if !self.members.is_empty() {
            memory.resume(&mut *self.solver, &mut self.model, &self.settled)?;
        }
        #[cfg(feature = "rigid")]
        self.rigid.rearrange(self.model.colliders(), matters, |_| Ok(()), Some, twin)?;
        #[cfg(not(feature = "rigid"))]
        let _ = (matters, twin);
        Ok(())
    }
}
