//! Isometric bending: a hinge of two triangles that wants to be flat, by a quadratic energy.

use crate::constraint::Constraint;
use crate::energies::bending;
use crate::lane::Lane;
use crate::vec3::Vec3;

/// C = φ = |Σ q'ᵢ xᵢ|, with the four scaled coefficients q'ᵢ = qᵢ √(3/(A₀ + A₁)) \[1/m\] of the rest shape as parameters.
///
/// With compliance α = 1/k_b the XPBD energy φ²/(2α) is exactly the quadratic bending energy
/// E = k_b · 3/(2(A₀ + A₁)) |Σ qᵢ xᵢ|². Vertex order as [`Dihedral`](super::Dihedral): edge 0 1, opposite 2 and 3.
/// ∇ᵢφ = q'ᵢ e/|e| with e = Σ q'ᵢ xᵢ, and zero when flat, where φ has its kink. Units: φ \[1\], k_b \[J\].
/// The rest shape must be flat; use [`Dihedral`](super::Dihedral) for curved ones.   [METHODS 5; C 16–18; Bergou06]
#[derive(Clone, Copy, Debug)]
pub struct IsometricBending;

impl IsometricBending {
    /// The parameters q' of the rest shape `x` \[m\].
    pub fn rest(x: [[f64; 3]; 4]) -> [f64; 4] {
        bending::scaled_coefficients(&x.map(Vec3::from))
    }
}

impl Constraint<4, 4> for IsometricBending {
    const NAME: &'static str = "isometric bending";

    #[inline(always)]
    fn eval<L: Lane>(p: &[L; 4], x: &[Vec3<L>; 4]) -> (L, [Vec3<L>; 4]) {
        let e = bending::curvature(p, x);
        let length = e.length();
        let n = e * length.divide_or_zero(L::one());
        (length, [n * p[0], n * p[1], n * p[2], n * p[3]])
    }
}
