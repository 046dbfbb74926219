//! One error for programs that do not care where it came from.

use pliant_core::error::{BuildError, StepError};
use pliant_core::mesh::MeshError;

/// Anything that can go wrong: made by `?` from the errors of meshes, builds and steps.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A body, model or option was not usable.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A step could not be taken.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A mesh was not usable.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}
