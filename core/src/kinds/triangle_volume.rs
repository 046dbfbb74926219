//! Triangle volume: what one triangle of a closed mesh contributes to the gradient of the enclosed volume.
//!
//! A pressure or volume constraint touches every vertex of a body, so it is not a [`Constraint`](crate::constraint::Constraint)
//! of a few particles: a solver sums these shares over the triangles and applies one multiplier to the whole body.

use crate::lane::Lane;
use crate::vec3::Vec3;

/// The share ∂V/∂xₖ \[m²\] of the triangle `x` in the volume V = Σ (a − o) × (b − o) · (c − o)/6 of a closed mesh.
///
/// ```text
///   ∂V/∂a = (b − o) × (c − o)/6      ∂V/∂b = (c − o) × (a − o)/6      ∂V/∂c = (a − o) × (b − o)/6
/// ```
/// V > 0 when the triangles run counter-clockwise seen from outside. Around a vertex of a closed mesh the terms with the
/// origin o cancel, edge by edge, so the sums do not depend on o; single shares do, and they grow with the distance to o.
/// Choose o near the body (its first vertex, its centre) and `f32` loses nothing when the body is far from zero.
#[inline(always)]
pub fn corner_gradients<L: Lane>(x: &[Vec3<L>; 3], origin: Vec3<L>) -> [Vec3<L>; 3] {
    let sixth = L::constant(1.0 / 6.0);
    let (a, b, c) = (x[0] - origin, x[1] - origin, x[2] - origin);
    [b.cross(c) * sixth, c.cross(a) * sixth, a.cross(b) * sixth]
}
