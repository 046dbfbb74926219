//! Polar decomposition on lanes: the rotation nearest to a matrix, for any matrix at all.
//!
//! R maximises tr(RᵀA) over the rotations, det R = +1. With A = U diag(σ) Vᵀ and rotations U and V (σ₂ carries the sign of
//! det A), R = U Vᵀ; singular and reflected matrices need no case of their own. Quaternion iterations are cheaper a turn but
//! stall where the two smallest singular values nearly cancel; Jacobi sweeps do not, and their number is fixed.   [METHODS 9]

use ultraviolet::{DMat3, DRotor3};

use crate::lane::{Lane, Real};
use crate::mat3::Mat3;
use crate::svd::{Svd, svd_from};
use crate::vec3::Vec3;

/// A rotation and the axes of the stretch it leaves: A ≈ R V diag(σ) Vᵀ.
#[derive(Clone, Copy, Debug)]
pub struct Polar<L> {
    /// The rotation R.
    pub rotation: Mat3<L>,
    /// The axes V of the stretch: a guess for the next matrix of a sequence. Turning A as a whole does not change them.
    pub axes: Mat3<L>,
}

/// The rotation nearest to A, to rounding.
#[inline(always)]
pub fn rotation<L: Lane>(a: Mat3<L>) -> Mat3<L> {
    polar(a, Mat3::diagonal(L::one()), full_sweeps::<L::Scalar>()).rotation
}

/// The rotation nearest to A from a guess at the axes of its stretch, with this many sweeps.
///
/// Convergence is quadratic in the angle between guess and axes: two sweeps find the rotation of a matrix whose stretch turned
/// by a few degrees since the last one. With too few sweeps the result is a rotation all the same, and the next guess better.
#[inline(always)]
pub fn polar<L: Lane>(a: Mat3<L>, guess: Mat3<L>, sweeps: usize) -> Polar<L> {
    let Svd { u, v, .. } = svd_from(a, guess, sweeps);
    Polar { rotation: u * v.transpose(), axes: v }
}

/// Sweeps that find any rotation to the last digits of a precision, from whatever guess.
#[inline(always)]
pub fn full_sweeps<S: Real>() -> usize {
    if S::EPSILON > S::from_f64(1e-10) { 4 } else { 6 }
}

/// A rotation matrix as a rotor, for users.
///
/// One of the four numbers of a quaternion is at least ½: it is found first and divides the others. (`ultraviolet`'s own
/// conversion loses half the digits near half turns.)
pub fn rotor<S: Real>(r: Mat3<S>) -> DRotor3 {
    let [a, b, c] = r.columns.map(|v| <[S; 3]>::from(v).map(S::to_f64));
    // 4 q qᵀ, with q = [x, y, z, w].
    let squares = [
        [1.0 + a[0] - b[1] - c[2], a[1] + b[0], a[2] + c[0], b[2] - c[1]],
        [a[1] + b[0], 1.0 - a[0] + b[1] - c[2], b[2] + c[1], c[0] - a[2]],
        [a[2] + c[0], b[2] + c[1], 1.0 - a[0] - b[1] + c[2], a[1] - b[0]],
        [b[2] - c[1], c[0] - a[2], a[1] - b[0], 1.0 + a[0] + b[1] + c[2]],
    ];
    let largest = (0..4).fold(0, |best, k| if squares[k][k] > squares[best][best] { k } else { best });
    DRotor3::from_quaternion_array(squares[largest]).normalized()
}

/// A rotor as a rotation matrix.
pub fn matrix<S: Real>(rotor: DRotor3) -> Mat3<S> {
    let DMat3 { cols } = rotor.into_matrix();
    Mat3 { columns: cols.map(|c| Vec3::new(S::from_f64(c.x), S::from_f64(c.y), S::from_f64(c.z))) }
}
