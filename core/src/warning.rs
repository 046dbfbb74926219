//! What is allowed but probably not meant: found when a model is built, for the user to read.

use core::fmt;

/// Something in a model that will work, but perhaps not as hoped.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// A surface keeps layers farther apart than its shortest edge is long: it cannot fold as sharply as its mesh could, and
    /// neighbours keep their distance at rest instead.
    ThickSurface {
        /// The body, by its place in the list the model was built from.
        body: usize,
        /// Thickness of its self contact \[m\].
        thickness: f64,
        /// Its shortest edge at rest \[m\].
        edge: f64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ThickSurface { body, thickness, edge } => write!(
                f,
                "body {body}: the thickness of self contact is {thickness} m, but the shortest edge is {edge} m long; use a thickness below that, or a coarser mesh"
            ),
        }
    }
}
