//! Changing a running world: pins, targets, forces, single particles.
//!
//! Vectors are taken as anything that converts into an array of the backend's scalar: arrays themselves,
//! vectors of `glam` and points and vectors of `mint`, and `ultraviolet`'s `Vec3` (single precision) or `DVec3` (double
//! precision).

use pliant_core::backend::Backend;
use pliant_core::columns::Columns;
use pliant_core::error::BuildError;
use pliant_core::lane::Real;

use super::{BodyId, WorldOn};

impl<B: Backend> WorldOn<B> {
    /// Holds a particle where it is, at rest; nothing happens when it is pinned already.
    ///
    /// The model is rebuilt; a body with tethers gets tethers to the new pin.
    ///
    /// # Errors
    /// When there is no such body or particle.
    pub fn pin(&mut self, id: BodyId, particle: u32) -> Result<(), BuildError> {
        let (index, at) = self.find_particle(id, particle)?;
        if self.pin_target(at).is_some() {
            return Ok(());
        }
        let mut changed = self.members[index].body.clone();
        changed.pin(particle);
        self.change_body(index, changed)
    }

    /// Sends a pin to a new place \[m\]; it arrives at the end of the next step, in a straight line over the substeps.
    ///
    /// # Errors
    /// When there is no such body or particle, the particle is not a pin, or the target is not finite.
    pub fn move_pin(&mut self, id: BodyId, particle: u32, to: impl Into<[B::Scalar; 3]>) -> Result<(), BuildError> {
        let (_, at) = self.find_particle(id, particle)?;
        if self.pin_target(at).is_none() {
            return Err(BuildError::NotPinned { particle });
        }
        self.model.move_pin(at as u32, to.into())
    }

    /// Lets a pin go: the particle gets its own mass back and keeps the velocity the pin had; tethers to it vanish.
    ///
    /// The model is rebuilt.
    ///
    /// # Errors
    /// When there is no such body or particle, the particle is not a pin, or has no mass of its own.
    pub fn release(&mut self, id: BodyId, particle: u32) -> Result<(), BuildError> {
        let (index, at) = self.find_particle(id, particle)?;
        if self.pin_target(at).is_none() {
            return Err(BuildError::NotPinned { particle });
        }
        let mut changed = self.members[index].body.clone();
        changed.release(particle);
        self.change_body(index, changed)
    }

    /// Sends the target of a body's attachment to a new place \[m\]; `row` counts the body's attachments.
    ///
    /// # Errors
    /// When there is no such body or attachment, or the target is not finite.
    pub fn move_attachment(&mut self, id: BodyId, row: usize, to: impl Into<[B::Scalar; 3]>) -> Result<(), BuildError> {
        let rows = self.attachments_of(self.handles.find(id)?);
        if row >= rows.len() {
            return Err(BuildError::NoSuchRow { what: "attachment", row, count: rows.len() });
        }
        self.model.move_attachment(rows.start + row, to.into())
    }

    /// Puts a force on a particle that acts until it is changed \[N\]; zero takes it away.
    ///
    /// # Errors
    /// When there is no such body or particle, or the force is not finite.
    pub fn set_force(&mut self, id: BodyId, particle: u32, force: impl Into<[B::Scalar; 3]>) -> Result<(), BuildError> {
        let (_, at) = self.find_particle(id, particle)?;
        let force = finite(particle, "force", force.into())?;
        let count = self.particles.len();
        let forces = self.model.environment.forces.get_or_insert_with(|| Columns::zeros(count));
        if let Some(found) = forces.axes().map(<[_]>::len).into_iter().find(|&found| found != count) {
            return Err(BuildError::Length { what: "environment.forces", found, expected: count });
        }
        forces.set(at, force);
        Ok(())
    }

    /// Takes the forces on all particles of all bodies away.
    pub fn clear_forces(&mut self) {
        self.model.environment.forces = None;
    }

    /// Gives a free particle a velocity \[m/s\].
    ///
    /// # Errors
    /// When there is no such body or particle, the velocity is not finite, or the particle is a pin.
    pub fn set_velocity(
        &mut self,
        id: BodyId,
        particle: u32,
        velocity: impl Into<[B::Scalar; 3]>,
    ) -> Result<(), BuildError> {
        let (_, at) = self.find_particle(id, particle)?;
        let velocity = finite(particle, "velocity", velocity.into())?;
        if self.pin_target(at).is_some() {
            let reason = "a pin's velocity follows from its motion; use move_pin, or release it first";
            return Err(BuildError::Unsupported { what: "particle", row: particle as usize, reason });
        }
        self.particles.v.set(at, velocity);
        Ok(())
    }

    /// Puts a particle somewhere else at once \[m\], without a velocity from the jump; a pin stays there.
    ///
    /// # Errors
    /// When there is no such body or particle, or the position is not finite.
    pub fn set_position(&mut self, id: BodyId, particle: u32, to: impl Into<[B::Scalar; 3]>) -> Result<(), BuildError> {
        let (_, at) = self.find_particle(id, particle)?;
        let to = finite(particle, "position", to.into())?;
        if self.pin_target(at).is_some() {
            self.model.move_pin(at as u32, to)?;
        }
        self.particles.x.set(at, to);
        Ok(())
    }

    /// A body's place among the members and a particle's number in the model.
    pub(super) fn find_particle(&self, id: BodyId, particle: u32) -> Result<(usize, usize), BuildError> {
        let index = self.handles.find(id)?;
        let (range, row) = (self.range_of(index), particle as usize);
        if row >= range.len() {
            let count = range.len();
            return Err(BuildError::OutOfRange { what: "particle", row, corner: 0, particle, count });
        }
        Ok((index, range.start + row))
    }
}

fn finite<S: Real>(particle: u32, quantity: &'static str, vector: [S; 3]) -> Result<[S; 3], BuildError> {
    match vector.into_iter().find(|c| !c.is_finite()) {
        Some(value) => {
            let (what, row, value, expected) = ("particle", particle as usize, value.to_f64(), "a finite number");
            Err(BuildError::BadValue { what, row, quantity, value, expected })
        }
        None => Ok(vector),
    }
}
