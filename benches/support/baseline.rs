//! faer's own sparse Cholesky, called as its documentation says: the baseline of the sparse layer.

use faer::Spec;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltParams;
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::linalg::{SupernodalThreshold, SymbolicSupernodalParams};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::traits::RealField;
use faer::{Conj, MatMut, Par, Side};
use pliant::solvers::linear::Pattern;

/// Relaxation that measured best for meshes.
const RELAX: [(usize, f64); 4] = [(4, 1.0), (16, 0.8), (48, 0.1), (usize::MAX, 0.05)];

/// A lower triangle in compressed columns, and its factor.
pub struct Faer<T> {
    pub starts: Vec<u32>,
    pub rows: Vec<u32>,
    pub values: Vec<T>,
    symbolic: SymbolicCholesky<u32>,
    factor: Vec<T>,
    memory: MemBuffer,
}

impl<T: RealField + Copy> Faer<T> {
    /// The same matrix as `values` of a pattern, in the same elimination order.
    pub fn new(pattern: &Pattern, block: usize, values: &[T], supernodal: bool) -> Self {
        let n = pattern.node_count();
        let (mut starts, mut rows, mut numbers) = (vec![0_u32], Vec::new(), Vec::new());
        for column in 0..n {
            let entries: Vec<(usize, usize)> = pattern.column_entries(column).collect();
            for b in 0..block {
                for &(row, entry) in &entries {
                    for a in 0..block {
                        if row * block + a >= column * block + b {
                            rows.push((row * block + a) as u32);
                            numbers.push(values[(entry * block + b) * block + a]);
                        }
                    }
                }
                starts.push(rows.len() as u32);
            }
        }
        let size = n * block;
        let shape = SymbolicSparseColMatRef::new_checked(size, size, &starts, None, &rows);
        let threshold =
            if supernodal { SupernodalThreshold::FORCE_SUPERNODAL } else { SupernodalThreshold::FORCE_SIMPLICIAL };
        let params = CholeskySymbolicParams {
            supernodal_flop_ratio_threshold: threshold,
            supernodal_params: SymbolicSupernodalParams { relax: Some(&RELAX) },
            ..Default::default()
        };
        // The pattern is in elimination order already; the matrix is postordered.
        let identity: Vec<u32> = (0..size as u32).collect();
        let order = SymmetricOrdering::Custom(PermRef::new_checked(&identity, &identity, size));
        let symbolic = factorize_symbolic_cholesky(shape, Side::Lower, order, params).expect("a valid pattern");
        let llt: Spec<LltParams, T> = Default::default();
        let factor = vec![T::zero_impl(); symbolic.len_val()];
        let memory = MemBuffer::new(
            symbolic
                .factorize_numeric_llt_scratch::<T>(Par::Seq, llt)
                .or(symbolic.solve_in_place_scratch::<T>(3, Par::Seq)),
        );
        Self { starts, rows, values: numbers, symbolic, factor, memory }
    }

    pub fn factor(&mut self) {
        let size = self.starts.len() - 1;
        let shape = SymbolicSparseColMatRef::new_checked(size, size, &self.starts, None, &self.rows);
        let matrix = SparseColMatRef::new(shape, &self.values);
        self.symbolic
            .factorize_numeric_llt(
                &mut self.factor,
                matrix,
                Side::Lower,
                Default::default(),
                Par::Seq,
                MemStack::new(&mut self.memory),
                Default::default(),
            )
            .expect("a positive definite matrix");
    }

    /// Right-hand sides by columns.
    pub fn solve(&mut self, rhs: &mut [T]) {
        let size = self.starts.len() - 1;
        let columns = rhs.len() / size;
        let llt = LltRef::new(&self.symbolic, &self.factor);
        let rhs = MatMut::from_column_major_slice_mut(rhs, size, columns);
        llt.solve_in_place_with_conj(Conj::No, rhs, Par::Seq, MemStack::new(&mut self.memory));
    }
}
