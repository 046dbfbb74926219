//! One error for programs that do not care where it came from.

use pliant_core::error::{BuildError, StepError};
use pliant_core::mesh::MeshError;
use pliant_core::snapshot::SnapshotError;

use crate::method::UnknownName;

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
    /// Bytes were no snapshot, or that of another world.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Something was asked for by a name that this build does not know.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
}
