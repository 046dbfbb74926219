//! Plasticity: rest shapes that follow what goes beyond the yield, and so keep dents, creases and stretch.
//!
//! After a step every plastic element is looked at once ([`Model::flow`](crate::model::Model::flow)). Where its elastic strain e
//! is beyond the yield y, the rest shape moves until less of the excess is left; with the element held still
//! ```text
//!   e(t) − y = (e(0) − y) exp(−creep t)
//! ```
//! exactly, whatever the step. What flowed in all never exceeds the bound. `forms.rs` says what e is for each kind of element,
//! `rows.rs` holds the state. Everything runs in double precision: small steps of a slow flow are not lost to rounding.

mod forms;
mod rows;

pub use forms::Yields;
pub use rows::PlasticRows;

use crate::error::BuildError;

/// How elements keep a deformation: their rest shape follows what goes beyond the yield.
///
/// What strain is depends on the element: the change of length over the rest length for links, the angle against the rest
/// angle for hinges \[rad\], the norm of the logarithmic strain without its change of volume for tetrahedra, and the norm of the
/// stretch minus one for clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Plasticity {
    /// Strain below this springs back entirely \[1\].
    pub yields_at: f64,
    /// How fast the strain beyond the yield is kept: a share of 1 − exp(−creep t) in the time t; for clusters, the share of the
    /// whole deformation in a second \[1/s\].
    pub creep: f64,
    /// The rest shape never deviates more than this from the one it had; below 1 for clusters. A link's rest length stays
    /// between 1/(1 + bound) and 1 + bound times what it was \[1\].
    pub bound: f64,
}

impl Plasticity {
    /// Refuses numbers that mean nothing.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        let numbers = [("plasticity.yields_at", self.yields_at), ("plasticity.creep", self.creep)];
        for (name, value) in numbers.into_iter().chain([("plasticity.bound", self.bound)]) {
            if !(value.is_finite() && value >= 0.0) {
                return Err(BuildError::BadOption { name, value, expected: "a finite number, 0 or more" });
            }
        }
        Ok(())
    }

    /// The share of the excess that is left after `dt` \[s\].
    pub(crate) fn left_after(&self, dt: f64) -> f64 {
        libm::exp(-self.creep * dt)
    }
}
