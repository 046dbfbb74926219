//! Dense kernels: the only place where panels are handed to `faer`, once for `f32` and once for `f64`.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::traits::RealField;
use faer::{Accum, MatMut, MatRef, Par};
use pliant_core::lane::Real;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Memory that the dense kernels work in.
pub struct Workspace(MemBuffer);

impl core::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Workspace").field(&self.0.len()).finish()
    }
}

/// A precision that matrices can be factored in: `f32` and `f64`.
pub trait Dense: Real + sealed::Sealed {
    /// Memory for panels of up to this many columns.
    #[doc(hidden)]
    fn workspace(columns: usize) -> Workspace;

    /// Turns the panel [A₁₁; A₂₁] (`rows` × `columns`, by columns) into [L₁₁; L₂₁] with L₁₁L₁₁ᵀ = A₁₁, L₂₁L₁₁ᵀ = A₂₁.
    /// Only the lower triangle of A₁₁ is read and written. Fails with the first column whose pivot is not positive.
    #[doc(hidden)]
    fn factor(panel: &mut [Self], rows: usize, columns: usize, workspace: &mut Workspace) -> Result<(), usize>;

    /// The lower triangle of −L₂₁L₂₁ᵀ, replacing that of `update`.
    #[doc(hidden)]
    fn update(panel: &[Self], rows: usize, columns: usize, update: &mut [Self]);

    /// [L₁₁⁻¹; −L₂₁L₁₁⁻¹] of `width` columns of a panel from the given one on, into `inverse` (by columns).
    #[doc(hidden)]
    fn invert(panel: &[Self], rows: usize, first: usize, width: usize, inverse: &mut [Self]);
}

fn workspace<T: RealField>(columns: usize) -> Workspace {
    let request: StackReq = cholesky_in_place_scratch::<T>(columns, Par::Seq, Default::default());
    Workspace(MemBuffer::new(request))
}

fn factor<T: RealField + Copy>(
    panel: &mut [T],
    rows: usize,
    columns: usize,
    workspace: &mut Workspace,
) -> Result<(), usize> {
    let panel = MatMut::from_column_major_slice_mut(panel, rows, columns);
    let (mut top, bottom) = panel.split_at_row_mut(columns);
    let memory = MemStack::new(&mut workspace.0);
    if let Err(faer::linalg::cholesky::llt::factor::LltError::NonPositivePivot { index }) =
        cholesky_in_place(top.as_mut(), Default::default(), Par::Seq, memory, Default::default())
    {
        return Err(index);
    }
    // An infinite entry passes the test of the pivots.
    for j in 0..columns {
        if !faer::traits::math_utils::is_finite(&top[(j, j)]) {
            return Err(j);
        }
    }
    solve_lower_triangular_in_place(top.as_ref(), bottom.transpose_mut(), Par::Seq);
    Ok(())
}

fn update<T: RealField + Copy>(panel: &[T], rows: usize, columns: usize, update: &mut [T]) {
    let below = MatRef::from_column_major_slice(panel, rows, columns).split_at_row(columns).1;
    let target = MatMut::from_column_major_slice_mut(update, rows - columns, rows - columns);
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    matmul(target, lower, Accum::Replace, below, full, below.transpose(), full, -T::one_impl(), Par::Seq);
}

fn invert<T: RealField + Copy>(panel: &[T], rows: usize, first: usize, width: usize, inverse: &mut [T]) {
    let panel = MatRef::from_column_major_slice(&panel[first * rows..(first + width) * rows], rows, width);
    let (top, bottom) = panel.split_at_row(first).1.split_at_row(width);
    inverse.fill(T::zero_impl());
    let (mut above, below) = MatMut::from_column_major_slice_mut(inverse, rows - first, width).split_at_row_mut(width);
    invert_lower_triangular(above.as_mut(), top, Par::Seq);
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    matmul(below, full, Accum::Replace, bottom, full, above.as_ref(), lower, -T::one_impl(), Par::Seq);
}

/// Writes the kernels of one precision; the only difference between the two is the type's name.
macro_rules! dense {
    ($t:ident) => {
        impl Dense for $t {
            fn workspace(columns: usize) -> Workspace {
                workspace::<$t>(columns)
            }
            fn factor(panel: &mut [$t], rows: usize, columns: usize, workspace: &mut Workspace) -> Result<(), usize> {
                factor(panel, rows, columns, workspace)
            }
            fn update(panel: &[$t], rows: usize, columns: usize, to: &mut [$t]) {
                update(panel, rows, columns, to);
            }
            fn invert(panel: &[$t], rows: usize, first: usize, width: usize, inverse: &mut [$t]) {
                invert(panel, rows, first, width, inverse);
            }
        }
    };
}

dense!(f32);
dense!(f64);
