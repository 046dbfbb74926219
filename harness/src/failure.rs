//! How a command ends when it does not end well: one line on stderr and an exit status.

use std::path::Path;
use std::process::ExitCode;

use pliant::core::error::{BuildError, StepError};

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line makes no sense: exit status 2.
    #[error("{0}")]
    Usage(String),
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

    /// The message as one line for stderr.
    pub fn line(&self) -> String {
        let line = one_line(&self.to_string());
        // What the parser of the command line says begins with its own "error:".
        if matches!(self, Self::Usage(_)) { line } else { format!("error: {line}") }
    }

    /// The exit status.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Usage(_) | Self::Input(_) => 2,
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

/// The first paragraph of a message, on one line.
pub(crate) fn one_line(message: &str) -> String {
    let paragraph = message.lines().take_while(|line| !line.trim().is_empty());
    paragraph.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// "unknown solver `x`; available: a, b".
pub(crate) fn unknown<'a>(what: &str, name: &str, available: impl IntoIterator<Item = &'a str>) -> Failure {
    let list: Vec<_> = available.into_iter().collect();
    Failure::Input(format!("unknown {what} `{name}`; available: {}", list.join(", ")))
}
