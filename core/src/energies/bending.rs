//! Quadratic bending: the energy of a hinge of two triangles whose rest shape is flat.
//!
//! Hinge edge x₀ x₁, opposite vertices x₂ (triangle 012) and x₃ (triangle 013):
//! ```text
//!            1               θ₀, θ₁: angles at x₀, x₁ in triangle 012, area A₀
//!          ╱ │ ╲             θ₂, θ₃: angles at x₀, x₁ in triangle 013, area A₁
//!        ╱ θ₁│θ₃ ╲
//!       2    │    3          q = [cot θ₁ + cot θ₃,  cot θ₀ + cot θ₂,
//!        ╲ θ₀│θ₂ ╱                −cot θ₀ − cot θ₁, −cot θ₂ − cot θ₃],   Σ qᵢ = 0
//!          ╲ │ ╱
//!            0               E = k_b · 3/(2(A₀ + A₁)) |Σ qᵢ xᵢ|²        [METHODS 5; C 16–18; Bergou06]
//! ```
//! q and the areas come from the rest shape, x is current. Both are folded into q' = q √(3/(A₀ + A₁)) \[1/m\], so that
//! E = k_b/2 |e|² with the curvature vector e = Σ q'ᵢ xᵢ \[1\]; the constraint kind
//! [`IsometricBending`](crate::kinds::IsometricBending) uses the same q'.

use crate::lane::Lane;
use crate::vec3::Vec3;

/// The coefficients q \[1\] and the area A₀ + A₁ \[m²\] of a rest shape \[m\]. A triangle without area counts as absent:
/// its cotangents are taken as 0.
#[inline(always)]
pub fn coefficients<L: Lane>(rest: &[Vec3<L>; 4]) -> ([L; 4], L) {
    let (e, a, b) = (rest[1] - rest[0], rest[2] - rest[0], rest[3] - rest[0]);
    let (twice_area_0, twice_area_1) = (e.cross(a).length(), e.cross(b).length());
    // cot = dot/|cross| of the two sides at a corner; at x₁ they are −e and (a − e), (b − e).
    let cot_0 = twice_area_0.divide_or_zero(e.dot(a));
    let cot_1 = twice_area_0.divide_or_zero(e.dot(e - a));
    let cot_2 = twice_area_1.divide_or_zero(e.dot(b));
    let cot_3 = twice_area_1.divide_or_zero(e.dot(e - b));
    let q = [cot_1 + cot_3, cot_0 + cot_2, -(cot_0 + cot_1), -(cot_2 + cot_3)];
    (q, L::constant(0.5) * (twice_area_0 + twice_area_1))
}

/// q' = q √(3/(A₀ + A₁)) \[1/m\] of a rest shape \[m\]; zero without area.
#[inline(always)]
pub fn scaled_coefficients<L: Lane>(rest: &[Vec3<L>; 4]) -> [L; 4] {
    let (q, area) = coefficients(rest);
    let scale = area.divide_or_zero(L::constant(3.0)).sqrt();
    [q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale]
}

/// e = Σ q'ᵢ xᵢ \[1\], zero exactly when flat.
///
/// Summed over differences to x₀, which Σ q'ᵢ = 0 allows: far from the origin the plain sum would cancel.
#[inline(always)]
pub fn curvature<L: Lane>(q: &[L; 4], x: &[Vec3<L>; 4]) -> Vec3<L> {
    (x[1] - x[0]) * q[1] + (x[2] - x[0]) * q[2] + (x[3] - x[0]) * q[3]
}

/// k_b q' q'ᵀ \[N/m\]: the constant, positive semi-definite Hessian is this 4×4 matrix times the 3×3 identity.
#[inline(always)]
pub fn hessian<L: Lane>(stiffness: L, q: &[L; 4]) -> [[L; 4]; 4] {
    let (k0, k1, k2, k3) = (stiffness * q[0], stiffness * q[1], stiffness * q[2], stiffness * q[3]);
    // Each product once: the matrix is then symmetric to the last bit.
    let (k01, k02, k03) = (k0 * q[1], k0 * q[2], k0 * q[3]);
    let (k12, k13, k23) = (k1 * q[2], k1 * q[3], k2 * q[3]);
    [[k0 * q[0], k01, k02, k03], [k01, k1 * q[1], k12, k13], [k02, k12, k2 * q[2], k23], [k03, k13, k23, k3 * q[3]]]
}
