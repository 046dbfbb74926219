//! L D Lᵀ of a symmetric quasi-definite matrix, by faer: for systems that are not positive definite but strongly factorable.
//!
//! In double precision whatever the state's: multipliers and positions differ by orders of magnitude, and no pivoting hides
//! it.   \[Vanderbei95\]

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::ldlt::factor::{LdltParams, LdltRegularization};
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LdltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, Spec};

use super::error::LinearError;

/// The factor of a matrix given by the compressed columns of its lower triangle.
pub struct Ldlt {
    starts: Vec<u32>,
    rows: Vec<u32>,
    symbolic: SymbolicCholesky<u32>,
    factor: Vec<f64>,
    memory: MemBuffer,
}

impl core::fmt::Debug for Ldlt {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ldlt").field("size", &self.size()).finish_non_exhaustive()
    }
}

impl Ldlt {
    /// Analyses a pattern: first entry of every column, and the rows of the entries, rising from the diagonal.
    ///
    /// # Errors
    /// When the factor would be too large.
    pub fn new(starts: Vec<u32>, rows: Vec<u32>) -> Result<Self, LinearError> {
        let size = starts.len() - 1;
        let shape = SymbolicSparseColMatRef::new_checked(size, size, &starts, None, &rows);
        let params = CholeskySymbolicParams {
            supernodal_flop_ratio_threshold: SupernodalThreshold::FORCE_SUPERNODAL,
            ..Default::default()
        };
        let symbolic = factorize_symbolic_cholesky(shape, Side::Lower, SymmetricOrdering::Amd, params)
            .map_err(|_| LinearError::TooLarge { nodes: size })?;
        let spec: Spec<LdltParams, f64> = Default::default();
        let memory = MemBuffer::new(
            symbolic
                .factorize_numeric_ldlt_scratch::<f64>(Par::Seq, spec)
                .or(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq)),
        );
        let factor = vec![0.0; symbolic.len_val()];
        Ok(Self { starts, rows, symbolic, factor, memory })
    }

    /// Rows of the matrix.
    pub fn size(&self) -> usize {
        self.starts.len() - 1
    }

    /// Factors the matrix with these values of its entries and replaces the right-hand side by the solution.
    ///
    /// # Errors
    /// When a pivot vanishes. Allocates nothing.
    pub fn solve(&mut self, values: &[f64], rhs: &mut [f64]) -> Result<(), LinearError> {
        let size = self.size();
        if size == 0 {
            return Ok(());
        }
        let shape = SymbolicSparseColMatRef::new_checked(size, size, &self.starts, None, &self.rows);
        let stack = MemStack::new(&mut self.memory);
        self.symbolic
            .factorize_numeric_ldlt(
                &mut self.factor,
                SparseColMatRef::new(shape, values),
                Side::Lower,
                LdltRegularization::default(),
                Par::Seq,
                stack,
                Default::default(),
            )
            .map_err(|_| LinearError::NotPositive { node: 0 })?;
        let factor = LdltRef::new(&self.symbolic, &self.factor);
        let rhs = MatMut::from_column_major_slice_mut(rhs, size, 1);
        factor.solve_in_place_with_conj(Conj::No, rhs, Par::Seq, MemStack::new(&mut self.memory));
        Ok(())
    }
}
