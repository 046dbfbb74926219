//! Tetrahedron volume: four particles that keep the volume they span.

use crate::body::Unfit;
use crate::constraint::Constraint;
use crate::lane::Lane;
use crate::vec3::Vec3;

/// C = V − V₀ with V = (x₁ − x₀) × (x₂ − x₀) · (x₃ − x₀)/6; the parameter is the rest volume V₀ \[m³\].
///
/// V is signed: positive when x₃ lies on the side from which 0, 1, 2 run counter-clockwise. An inverted tetrahedron has
/// V < 0 and is pushed back through flat.
/// ```text
///          3
///         ╱│╲          ∇₁V = (x₂ − x₀) × (x₃ − x₀)/6
///        ╱ │ ╲         ∇₂V = (x₃ − x₀) × (x₁ − x₀)/6
///       ╱  │  ╲        ∇₃V = (x₁ − x₀) × (x₂ − x₀)/6
///      0───┼───2       ∇₀V = −∇₁V − ∇₂V − ∇₃V
///        ╲ │ ╱
///          1           [METHODS 6; P]
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TetVolume;

impl TetVolume {
    /// Whether parameters make sense.
    pub(crate) fn accept(p: &[f64; 1]) -> Result<(), Unfit> {
        if p[0] > 0.0 { Ok(()) } else { Err(("rest volume", p[0], "a number above 0 (check the corner order)")) }
    }
}

impl Constraint<4, 1> for TetVolume {
    const NAME: &'static str = "tet volume";

    #[inline(always)]
    fn eval<L: Lane>(p: &[L; 1], x: &[Vec3<L>; 4]) -> (L, [Vec3<L>; 4]) {
        let sixth = L::constant(1.0 / 6.0);
        let (a, b, c) = (x[1] - x[0], x[2] - x[0], x[3] - x[0]);
        let grad_1 = b.cross(c) * sixth;
        let grad_2 = c.cross(a) * sixth;
        let grad_3 = a.cross(b) * sixth;
        let grad_0 = -(grad_1 + grad_2 + grad_3);
        (grad_3.dot(c) - p[0], [grad_0, grad_1, grad_2, grad_3])
    }
}
