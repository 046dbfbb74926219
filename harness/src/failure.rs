//! How a command ends when it does not end well: one line on stderr and an exit status.

use std::path::Path;
use std::process::ExitCode;

use pliant::core::error::{BuildError, StepError};

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The request cannot be carried out as it stands: exit status 2.
    #[error("{0}")]
    Input(String),
    /// Everything ran, and a check did not hold: exit status 1.
    #[error("{0}")]
    Check(String),
    /// The user stopped the run: exit status 130.
    #[error("{0}")]
    Interrupted(String),
}

impl Failure {
    /// A problem with a file, named first.
    pub fn at(path: &Path, problem: impl std::fmt::Display) -> Self {
        Self::Input(format!("{}: {problem}", path.display()))
    }

    /// The exit status.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Input(_) => 2,
            Self::Check(_) => 1,
            Self::Interrupted(_) => 130,
        })
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        Self::Check(error.to_string())
    }
}

/// "unknown solver `x`; available: a, b".
pub(crate) fn unknown<'a>(what: &str, name: &str, available: impl IntoIterator<Item = &'a str>) -> Failure {
    let list: Vec<_> = available.into_iter().collect();
    Failure::Input(format!("unknown {what} `{name}`; available: {}", list.join(", ")))
}
