//! Dihedral angle: two triangles that keep the angle between them across their common edge.

use crate::constraint::Constraint;
use crate::energies::bending;
use crate::lane::{Lane, Real};
use crate::math::atan2;
use crate::vec3::Vec3;

/// How thin a triangle may be, in units of rounding ε, before its normal is mostly rounding error and counts as absent.
const THINNEST: f64 = 4.0;

/// C = θ − θ₀, wrapped into (−π, π] \[rad\]; the parameters are cos θ₀ and sin θ₀ \[1\].   [METHODS 5]
///
/// Vertex order: the edge x₀ x₁, then x₂ opposite in triangle 012 and x₃ opposite in triangle 013.
/// ```text
///            1                e  = x₁ − x₀
///          ╱ │ ╲              n₁ = e × (x₂ − x₀)
///        ╱   │   ╲            n₂ = (x₃ − x₀) × e
///       2  e │    3           θ  = angle from n₁ to n₂ about e:  0 when flat,
///        ╲   │   ╱                 |n₁||n₂| cos θ = n₁ · n₂
///          ╲ │ ╱                   |n₁||n₂| sin θ = (n₁ × n₂) · e/|e| = −|e| n₁ · (x₃ − x₀)
///            0
/// ```
/// The sign: in the sketch both normals point at the reader, and θ > 0 when the wings x₂, x₃ fold away from the reader (a
/// ridge), θ < 0 when they fold towards the reader (a valley). There is no acos and no normalised normal, so flat is as
/// accurate as any other angle. The rest angle is subtracted by rotating (cos θ, sin θ) back before atan2, so the
/// difference wraps by itself.
///
/// Gradient, with t₂, t₃ the foot points of x₂, x₃ along the edge, tₖ = (xₖ − x₀) · e/|e|²:
/// ```text
///   ∇₂θ = −|e| n₁/|n₁|²      ∇₁θ = −t₂ ∇₂θ − t₃ ∇₃θ
///   ∇₃θ = −|e| n₂/|n₂|²      ∇₀θ = −∇₁θ − ∇₂θ − ∇₃θ
/// ```
/// When either triangle has no area there is no angle: C = 0 and ∇C = 0.
#[derive(Clone, Copy, Debug)]
pub struct Dihedral;

impl Dihedral {
    /// What a bending stiffness k_b \[J\] is multiplied with to give the stiffness of the angle: 3 |e|²/(A₀ + A₁) \[1\].
    ///
    /// E = k_b/2 · 3 |e|²/(A₀ + A₁) (θ − θ₀)² is quadratic bending to second order at a flat rest shape, because its curvature
    /// vector has the length |Σ qᵢ xᵢ| = 2 |e| sin(θ/2). A shape without area gives 0.
    pub fn stiffness(x: [[f64; 3]; 4]) -> f64 {
        let rest = x.map(Vec3::from);
        let (_, area) = bending::coefficients(&rest);
        area.divide_or_zero(3.0 * (rest[1] - rest[0]).length_sq())
    }

    /// The parameters cos θ₀, sin θ₀ that make the shape `x` \[m\] the rest shape; a degenerate one counts as flat.
    pub fn rest(x: [[f64; 3]; 4]) -> [f64; 2] {
        let [x0, x1, x2, x3] = x.map(Vec3::from);
        let (e, b) = (x1 - x0, x3 - x0);
        let (cos, sin) = cos_sin(e.length(), e.cross(x2 - x0), b.cross(e), b);
        let length = (cos * cos + sin * sin).sqrt();
        if length > 0.0 { [cos / length, sin / length] } else { [1.0, 0.0] }
    }
}

/// |n₁||n₂| cos θ and |n₁||n₂| sin θ, from the edge length, both normals and b = x₃ − x₀.
#[inline(always)]
fn cos_sin<L: Lane>(edge: L, n1: Vec3<L>, n2: Vec3<L>, b: Vec3<L>) -> (L, L) {
    (n1.dot(n2), -(edge * n1.dot(b)))
}

impl Constraint<4, 2> for Dihedral {
    const NAME: &'static str = "dihedral";

    #[inline(always)]
    fn eval<L: Lane>(p: &[L; 2], x: &[Vec3<L>; 4]) -> (L, [Vec3<L>; 4]) {
        let [cos_rest, sin_rest] = *p;
        let (e, a, b) = (x[1] - x[0], x[2] - x[0], x[3] - x[0]);
        let (n1, n2) = (e.cross(a), b.cross(e));
        let (e_sq, n1_sq, n2_sq) = (e.length_sq(), n1.length_sq(), n2.length_sq());
        let (along_a, along_b) = (a.dot(e), b.dot(e));
        let edge = e_sq.sqrt();

        // C = atan2(sin(θ − θ₀), cos(θ − θ₀)), both scaled by |n₁||n₂|.
        let (cos, sin) = cos_sin(edge, n1, n2, b);
        let c = atan2(sin * cos_rest - cos * sin_rest, cos * cos_rest + sin * sin_rest);

        // n = |e| · height, and rounding leaves errors of ε |e| |a| in it: it means something while
        // height > 4ε · (|e| + |foot point|). The bound also keeps |e|/|n|² finite, whatever the size.
        let thin = L::splat(L::Scalar::EPSILON) * L::constant(THINNEST);
        let (thin_sq, e_4) = (thin * thin, e_sq * e_sq);
        let sound =
            L::both(n1_sq.gt(thin_sq * (e_4 + along_a * along_a)), n2_sq.gt(thin_sq * (e_4 + along_b * along_b)));
        let scale_1 = L::select(sound, edge / L::select(sound, n1_sq, L::one()), L::zero());
        let scale_2 = L::select(sound, edge / L::select(sound, n2_sq, L::one()), L::zero());

        // tₖ by 1/|e| twice: 1/|e|² would overflow first.
        let inv_edge = edge.divide_or_zero(L::one());
        let (foot_a, foot_b) = (along_a * inv_edge * inv_edge, along_b * inv_edge * inv_edge);
        let (minus_grad_2, minus_grad_3) = (n1 * scale_1, n2 * scale_2);
        let grad_1 = minus_grad_2 * foot_a + minus_grad_3 * foot_b;
        let grad_0 = minus_grad_2 + minus_grad_3 - grad_1;
        (L::select(sound, c, L::zero()), [grad_0, grad_1, -minus_grad_2, -minus_grad_3])
    }
}
