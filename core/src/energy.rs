//! Energies: the only home of E, ∇E and ∇²E of an element, for the methods that minimise them.
//!
//! Every constraint kind is also an energy, E = k/2 C² with the stiffness k = 1/α; elastic elements are energies without
//! being constraints. Formulas here are written for k = 1: whoever calls them multiplies. To add an element, write one file
//! in `energies/`, implement [`Energy`], and give it a line in [`crate::constraints::Constraints::visit_energies`].

use crate::constraint::Constraint;
use crate::lane::Lane;
use crate::mat3::Mat3;
use crate::vec3::Vec3;

/// Which second derivative a method wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curvature {
    /// The true one, indefinite where an element is compressed.
    Exact,
    /// The nearest positive semi-definite one, element by element: always a descent direction.
    Convex,
}

/// An energy on `N` particles with `P` parameters, whose Hessian travels in `R` columns (see [`Energy::hessian`]).
pub trait Energy<const N: usize, const P: usize, const R: usize>: Copy + Send + Sync + 'static {
    /// The element's name in reports and errors.
    const NAME: &'static str;

    /// E for k = 1.
    fn value<L: Lane>(p: &[L; P], x: &[Vec3<L>; N]) -> L;

    /// ∇E of each corner, for k = 1.
    fn gradient<L: Lane>(p: &[L; P], x: &[Vec3<L>; N]) -> [Vec3<L>; N];

    /// ∇²E for k = 1, as the columns of its 3×3 blocks, three a block.
    ///
    /// A pair has one block H and the Hessian \[H −H; −H H\] (`R = 3`). Every other element lists the blocks ∂²E/∂xₐ∂xᵦ of
    /// its lower triangle row by row: (0,0), (1,0), (1,1), (2,0) … (`R = 3 N (N + 1)/2`).
    fn hessian<L: Lane>(p: &[L; P], x: &[Vec3<L>; N], curvature: Curvature) -> [Vec3<L>; R];

    /// A constant matrix W with ∇²E ≈ W ⊗ I₃ for k = 1, from the rest shape \[m\]: the quadratic that Projective Dynamics
    /// puts in the energy's place.
    fn proxy(p: &[f64; P], rest: &[[f64; 3]; N]) -> [[f64; N]; N];
}

/// E = ½ C².
#[inline(always)]
pub fn half_square<K: Constraint<N, P>, L: Lane, const N: usize, const P: usize>(p: &[L; P], x: &[Vec3<L>; N]) -> L {
    let (c, _) = K::eval(p, x);
    L::constant(0.5) * c * c
}

/// ∇E = C ∇C of E = ½ C².
#[inline(always)]
pub fn half_square_gradient<K: Constraint<N, P>, L: Lane, const N: usize, const P: usize>(
    p: &[L; P],
    x: &[Vec3<L>; N],
) -> [Vec3<L>; N] {
    let (c, mut grad) = K::eval(p, x);
    for g in &mut grad {
        *g = *g * c;
    }
    grad
}

/// The blocks g gᵀ of a Hessian's lower triangle.
#[inline(always)]
pub fn outer_blocks<L: Lane, const N: usize>(g: &[Vec3<L>; N]) -> [[Mat3<L>; N]; N] {
    let mut blocks = [[Mat3::diagonal(L::zero()); N]; N];
    for a in 0..N {
        for b in 0..=a {
            blocks[a][b] = Mat3::outer(g[a], g[b]);
        }
    }
    blocks
}

/// The blocks gₐ gᵦ B of a Hessian's lower triangle, for an energy of one vector Σ gₐ xₐ with second derivative B.
#[inline(always)]
pub fn scaled_blocks<L: Lane, const N: usize>(g: &[L; N], block: Mat3<L>) -> [[Mat3<L>; N]; N] {
    let mut blocks = [[Mat3::diagonal(L::zero()); N]; N];
    for a in 0..N {
        for b in 0..=a {
            blocks[a][b] = block * (g[a] * g[b]);
        }
    }
    blocks
}

/// The columns of the lower triangle's blocks, row by row: the form [`Energy::hessian`] returns.
#[inline(always)]
pub fn lower_columns<L: Lane, const N: usize, const R: usize>(blocks: &[[Mat3<L>; N]; N]) -> [Vec3<L>; R] {
    let mut columns = [Vec3::zero(); R];
    let mut at = 0;
    for a in 0..N {
        for b in 0..=a {
            columns[at..at + 3].copy_from_slice(&blocks[a][b].columns);
            at += 3;
        }
    }
    columns
}

/// A diagonal bound of the Hessian of ½ C² at rest: ∇C ∇Cᵀ ⪯ diag(|∇ₐC| Σ |∇ᵦC|).
///
/// For kinds whose Hessian is no multiple of the identity; slow, but Projective Dynamics stays stable with it.
pub fn bounding_proxy<K: Constraint<N, P>, const N: usize, const P: usize>(
    p: &[f64; P],
    rest: &[[f64; 3]; N],
) -> [[f64; N]; N] {
    let (_, grad) = K::eval(p, &rest.map(Vec3::from));
    let lengths = grad.map(Vec3::length);
    let sum: f64 = lengths.iter().sum();
    core::array::from_fn(|a| core::array::from_fn(|b| if a == b { lengths[a] * sum } else { 0.0 }))
}

/// Σ over the outer product of coefficients: W = q qᵀ.
pub fn outer_proxy<const N: usize>(q: [f64; N]) -> [[f64; N]; N] {
    q.map(|a| q.map(|b| a * b))
}
