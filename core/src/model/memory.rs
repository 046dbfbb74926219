//! What a snapshot holds of a model: loads, and where everything that is led was sent.

use super::Model;
use crate::columns::Columns;
use crate::environment::Environment;
use crate::lane::Real;
use crate::snapshot::{Reader, SnapshotError, Writer};
use crate::wind::Wind;

impl<S: Real> Model<S> {
    /// Writes down what moves in a model: the environment, targets, rest shapes that flow, and where colliders are.
    pub fn remember(&self, to: &mut Writer) {
        let Environment { gravity, damping, wind, forces } = &self.environment;
        to.reals(gravity);
        to.reals(&[*damping]);
        to.flag(wind.is_some());
        if let Some(Wind { velocity, density, drag, lift }) = wind {
            to.reals(velocity);
            to.reals(&[*density, *drag, *lift]);
        }
        // Forces on fewer or more particles than there are stop the next step, and are no state.
        let forces = forces.as_ref().filter(|forces| forces.shape() == Ok(self.particle_count()));
        to.flag(forces.is_some());
        if let Some(forces) = forces {
            to.columns(forces);
        }
        to.columns(&self.pin_targets);
        to.columns(&self.attachment_targets);
        self.remember_flow(to);
        #[cfg(feature = "collision")]
        {
            to.count(self.colliders.len());
            self.colliders.remember(to);
            to.flag(self.skin.is_some());
            if let Some(skin) = &self.skin {
                skin.remember(to);
            }
        }
    }
    /// Takes it back, for a model with the same fingerprint.
    ///
    /// # Errors
    /// When it was another model's; it may be half taken back then.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        // A step refuses numbers that it cannot use; a snapshot must not bring in what no user could set either.
        let gravity = from.finite_reals("gravity")?;
        let [damping] = from.finite_reals("damping")?;
        let wind = if from.flag()? {
            let velocity = from.finite_reals("wind")?;
            let [density, drag, lift] = from.finite_reals("wind")?;
            Some(Wind { velocity, density, drag, lift })
        } else {
            None
        };
        let mut forces = None;
        if from.flag()? {
            let mut columns = Columns::zeros(self.particle_count());
            from.finite_columns(&mut columns, "force")?;
            forces = Some(columns);
        }
        self.environment = Environment { gravity, damping, wind, forces };
        from.finite_columns(&mut self.pin_targets, "target")?;
        from.finite_columns(&mut self.attachment_targets, "target")?;
        self.recall_flow(from)?;
        #[cfg(feature = "collision")]
        {
            from.exactly(self.colliders.len(), "colliders")?;
            self.colliders.recall(from)?;
            match (from.flag()?, &mut self.skin) {
                (true, Some(skin)) => skin.recall(from)?,
                (false, None) => {}
                _ => return Err(SnapshotError::Foreign { what: "skins" }),
            }
        }
        Ok(())
    }
}
