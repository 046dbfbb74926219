//! The environment: what may change from frame to frame without rebuilding anything.

use crate::columns::Columns;
use crate::lane::Real;
use crate::wind::Wind;

/// Loads and losses that act on every particle.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Environment<S> {
    /// Acceleration of free fall \[m/s²\].
    pub gravity: [S; 3],
    /// Velocity damping rate d \[1/s\]: v ← v / (1 + h d) before loads act, so that static loads are not scaled.
    pub damping: S,
    /// Moving air, if any.
    pub wind: Option<Wind<S>>,
    /// A force on every particle \[N\], if any.
    pub forces: Option<Columns<S>>,
}

impl<S: Real> Default for Environment<S> {
    fn default() -> Self {
        let gravity = [S::ZERO, S::from_f64(-9.81), S::ZERO];
        Self { gravity, damping: S::ZERO, wind: None, forces: None }
    }
}
