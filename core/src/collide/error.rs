//! What can be wrong with the input of a broad phase.

use crate::error::StepError;

/// A broad phase could not be built or queried. Nothing was changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CollideError {
    /// A box or vertex has a coordinate that is NaN or infinite.
    #[error("{what} {row} has the coordinate {value}; coordinates must be finite")]
    NotFinite {
        /// "box" or "vertex".
        what: &'static str,
        /// Row of their list.
        row: usize,
        /// The coordinate \[m\].
        value: f64,
    },
    /// A box's lowest corner lies above its highest.
    #[error("box {row} runs from {low} to {high} along {axis}; swap its corners")]
    Inverted {
        /// Row of the list of boxes.
        row: usize,
        /// `x`, `y` or `z`.
        axis: &'static str,
        /// Lower end \[m\].
        low: f64,
        /// Upper end \[m\].
        high: f64,
    },
    /// Lists that belong together have different lengths.
    #[error("{what} has {found} entries, but {expected} are needed; build again after adding or removing any")]
    Length {
        /// The list.
        what: &'static str,
        /// Entries it has.
        found: usize,
        /// Entries it should have.
        expected: usize,
    },
    /// An index of an element is out of range.
    #[error("{what} {row} names vertex {vertex}, but there are {count} vertices")]
    OutOfRange {
        /// The list.
        what: &'static str,
        /// Row of the list.
        row: usize,
        /// The vertex that does not exist.
        vertex: u32,
        /// Vertices there are.
        count: usize,
    },
    /// A setting is outside its range.
    #[error("{name} is {value}; expected {expected}")]
    BadOption {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it should be.
        expected: &'static str,
    },
}

/// Inside a step only positions can be wrong; everything else was checked when the solver was prepared.
impl From<CollideError> for StepError {
    fn from(error: CollideError) -> Self {
        match error {
            CollideError::NotFinite { row, value, .. } => Self::NotFinite { what: "surface vertex", row, value },
            _ => Self::NotPrepared,
        }
    }
}
