//! The choice between a factor and conjugate gradients for systems of 3 × 3 blocks.

use pliant_core::backend::Backend;

use super::cholesky::Cholesky;
use super::dense::Dense;
use super::error::LinearError;
use super::pattern::Pattern;
use super::pcg::{Pcg, PcgOptions};

/// Entries of a factor to entries of its matrix from which conjugate gradients take over.
///
/// Surfaces fill in slowly (8 to 14 times from 10,000 to 100,000 vertices) and stiff cloth needs many iterations; solids fill
/// in fast (30 times at 10,000 vertices, 60 at 50,000) and need few.
const FILL: usize = 16;

/// How linear systems are solved.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LinearMethod {
    /// By a factor where it stays sparse, by conjugate gradients where it fills in.
    #[default]
    Automatic,
    /// By a sparse Cholesky factor.
    Direct,
    /// By preconditioned conjugate gradients.
    Pcg(PcgOptions),
}

/// What a solve took.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinearReport {
    /// Iterations of conjugate gradients; 0 for a factor.
    pub iterations: usize,
    /// Relative residual of conjugate gradients; 0 for a factor, which solves to rounding.
    pub residual: f64,
    /// Whether the tolerance was reached.
    pub converged: bool,
}

/// A solver for the matrices of one pattern with 3 × 3 blocks: refresh it with values, then solve.
#[derive(Debug)]
#[non_exhaustive]
pub enum LinearSolver<S> {
    /// A factor.
    Direct(Cholesky<S>),
    /// Conjugate gradients.
    Pcg(Pcg<S>),
}

impl<S: Dense> LinearSolver<S> {
    /// Sets a solver up.
    pub fn new(pattern: &Pattern, method: LinearMethod) -> Result<Self, LinearError> {
        let filled = pattern.fill() > FILL * pattern.entry_count();
        Ok(match method {
            LinearMethod::Pcg(options) => Self::Pcg(Pcg::new(pattern, options)),
            LinearMethod::Automatic if filled => Self::Pcg(Pcg::new(pattern, PcgOptions::default())),
            LinearMethod::Automatic | LinearMethod::Direct => Self::Direct(Cholesky::new(pattern, 3)?),
        })
    }

    /// Whether systems are solved by a factor.
    pub fn is_direct(&self) -> bool {
        matches!(self, Self::Direct(_))
    }

    /// Factors the matrix, or makes its preconditioner; values as in [`Cholesky::factor`].
    pub fn refresh(&mut self, values: &[S], on: &impl Backend<Scalar = S>) -> Result<(), LinearError> {
        match self {
            Self::Direct(factor) => factor.factor(values, on),
            Self::Pcg(pcg) => pcg.refresh(values, on),
        }
    }

    /// Replaces the right-hand side, three numbers a node in node order, by the solution; `values` as last refreshed.
    pub fn solve(
        &mut self,
        values: &[S],
        rhs: &mut [S],
        on: &impl Backend<Scalar = S>,
    ) -> Result<LinearReport, LinearError> {
        match self {
            Self::Direct(factor) => {
                factor.solve(rhs, 1, on)?;
                Ok(LinearReport { iterations: 0, residual: 0.0, converged: true })
            }
            Self::Pcg(pcg) => {
                let report = pcg.solve(values, rhs, on)?;
                let (iterations, residual, converged) = (report.iterations, report.residual, report.converged);
                Ok(LinearReport { iterations, residual, converged })
            }
        }
    }
}
