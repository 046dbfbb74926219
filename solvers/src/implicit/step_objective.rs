//! F of one step, for those who judge a method: how far a result is from the minimum of implicit Euler.

use pliant_core::backend::Backend;
use pliant_core::columns::{Columns, Particles};
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::Real;
use pliant_core::model::Model;

use super::descent::{Descent, Start};

/// The objective that a step of implicit Euler minimises, F(x) = 1/(2 dt²) |x − x̂|²_M + E(x), at any positions.
///
/// The same F, by the same code, that Newton's line search sees.
#[derive(Clone, Debug)]
pub struct StepObjective<S> {
    descent: Descent<S>,
}

impl<S: Real> StepObjective<S> {
    /// Sized for a model.
    ///
    /// # Errors
    /// When the model has a constraint without an energy: a rigid or damped one.
    pub fn new(model: &Model<S>) -> Result<Self, BuildError> {
        Ok(Self { descent: Descent::new(model, &())? })
    }

    /// Takes the state a step of `dt` \[s\] starts from.
    ///
    /// # Errors
    /// When `dt` or the state is not usable, or the model is not the one this was made for.
    pub fn begin<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &Particles<S>,
        dt: S,
        on: &B,
    ) -> Result<(), StepError> {
        self.descent.flight.begin(model, particles, dt)?;
        self.descent.begin(model, particles, dt, (0, 1), Start::Current, on);
        Ok(())
    }

    /// F at these positions \[J\], in double precision; after [`StepObjective::begin`].
    ///
    /// # Errors
    /// When there are fewer or more positions than particles, or an energy is not finite there.
    pub fn value<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        positions: &Columns<S>,
        on: &B,
    ) -> Result<f64, StepError> {
        let (found, expected) = (positions.len(), model.particle_count());
        if found != expected {
            return Err(StepError::WrongState { found, expected });
        }
        for (particle, x) in positions.iter().enumerate() {
            let x = self.descent.flight.local(model, particle as u32, x);
            self.descent.flight.x.set_vector(model.plan().slots()[particle] as usize, x);
        }
        self.descent.value(model, &(), on)
    }
}
