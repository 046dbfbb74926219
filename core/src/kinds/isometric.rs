//! Isometric bending: a hinge of two triangles that keeps the length of its curvature vector, by a quadratic energy.

use crate::constraint::Constraint;
use crate::energies::bending;
use crate::lane::Lane;
use crate::vec3::Vec3;

/// C = |Σ q'ᵢ xᵢ| − c₀, with the four scaled coefficients q'ᵢ = qᵢ √(3/(A₀ + A₁)) \[1/m\] of the rest shape and the rest
/// curvature c₀ \[1\] as parameters.
///
/// With compliance α = 1/k_b and c₀ = 0 the XPBD energy C²/(2α) is exactly the quadratic bending energy
/// E = k_b · 3/(2(A₀ + A₁)) |Σ qᵢ xᵢ|² of a flat rest shape. With c₀ = |Σ q'ᵢ x̄ᵢ| it is the cotangent bending of Projective
/// Dynamics: the distance of the curvature vector e = Σ q'ᵢ xᵢ to the rest one, turned so as to match it, and the nearest
/// turned vector is c₀ e/|e|. A hinge and not a one-ring carries it, so that every element has four corners; the hinge form
/// is that of ShapeOp. It does not know to which side a hinge is folded: pressed flat, it may leave to the other side.
///
/// Vertex order as [`Dihedral`](super::Dihedral): edge 0 1, opposite 2 and 3. ∇ᵢC = q'ᵢ e/|e|, and zero when flat, where C
/// has its kink. Units: C \[1\], k_b \[J\].   [METHODS 5; C 16–18; Bergou06, Bouaziz14]
#[derive(Clone, Copy, Debug)]
pub struct IsometricBending;

impl IsometricBending {
    /// The parameters q' of the rest shape `x` \[m\] and c₀ = 0: wants to be flat.
    pub fn rest(x: [[f64; 3]; 4]) -> [f64; 5] {
        let [q0, q1, q2, q3] = bending::scaled_coefficients(&x.map(Vec3::from));
        [q0, q1, q2, q3, 0.0]
    }

    /// The parameters q' of the rest shape `x` \[m\] and its own curvature: wants to be as curved as that.
    pub fn curved_rest(x: [[f64; 3]; 4]) -> [f64; 5] {
        let x = x.map(Vec3::from);
        let q = bending::scaled_coefficients(&x);
        [q[0], q[1], q[2], q[3], bending::curvature(&q, &x).length()]
    }

    /// The first four parameters.
    #[inline(always)]
    pub(crate) fn coefficients<L: Lane>(p: &[L; 5]) -> [L; 4] {
        [p[0], p[1], p[2], p[3]]
    }
}

impl Constraint<4, 5> for IsometricBending {
    const NAME: &'static str = "isometric bending";

    #[inline(always)]
    fn eval<L: Lane>(p: &[L; 5], x: &[Vec3<L>; 4]) -> (L, [Vec3<L>; 4]) {
        let e = bending::curvature(&Self::coefficients(p), x);
        let length = e.length();
        let n = e * length.divide_or_zero(L::one());
        (length - p[4], [n * p[0], n * p[1], n * p[2], n * p[3]])
    }
}
