//! Wind: the aerodynamic force of moving air on the triangles of a cloth.

use crate::lane::{Lane, Real};
use crate::vec3::Vec3;

/// A uniform wind and how a surface catches it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Wind<S> {
    /// Velocity of the air \[m/s\].
    pub velocity: [S; 3],
    /// Density of the air ρ \[kg/m³\]; 1.2 at sea level.
    pub density: S,
    /// Drag coefficient C_D \[1\]: the push along the relative wind.
    pub drag: S,
    /// Lift coefficient C_L \[1\]: the push across the relative wind, towards the normal.
    pub lift: S,
}

impl<S: Real> Default for Wind<S> {
    /// Still air at sea level that pushes along the relative wind alone: density 1.2 kg/m³, drag 1, no lift.
    fn default() -> Self {
        Self { velocity: [S::ZERO; 3], density: S::from_f64(1.2), drag: S::ONE, lift: S::ZERO }
    }
}

impl<S: Real> Wind<S> {
    /// The force on the triangle with corners `x` \[m\] and corner velocities `v` \[m/s\]; give each corner a third \[N\].
    ///
    /// With u = wind − mean corner velocity, unit normal n turned so that u · n ≥ 0, area A:
    /// ```text
    ///   F = ½ρA [ (C_D − C_L)(u · n) u + C_L |u|² n ]                                     \[Wilson14\]
    ///     = ½ρA [  C_D (u · n) u   +   C_L |u|² (n − (û · n) û)  ],   û = u/|u|
    ///              drag, along u        lift, across u
    /// ```
    /// so F · u = ½ρA C_D |u|² (u · n) ≥ 0: the air never gains energy from its own motion. With the area vector
    /// m = (x₁ − x₀) × (x₂ − x₀) = 2A n nothing is normalised and a triangle without area feels nothing:
    /// F = ¼ρ [(C_D − C_L)(u · m) u + C_L |u|² m].
    ///
    /// The side of the normal does not depend on the winding. Lift jumps from one side to the other when the wind passes
    /// through grazing, u · n = 0; exactly there no side is better and the force is zero.
    #[inline(always)]
    pub fn triangle_force<L: Lane<Scalar = S>>(&self, x: &[Vec3<L>; 3], v: &[Vec3<L>; 3]) -> Vec3<L> {
        let mean = (v[0] + v[1] + v[2]) * L::constant(1.0 / 3.0);
        let u = Vec3::splat(self.velocity) - mean;
        let m = (x[1] - x[0]).cross(x[2] - x[0]);
        let flow = u.dot(m);
        // The sign of u · m, 0 for grazing wind.
        let side = L::select(flow.gt(L::zero()), L::one(), L::select(L::zero().gt(flow), -L::one(), L::zero()));
        let (drag, lift) = (L::splat(self.drag), L::splat(self.lift));
        let along = (drag - lift) * (flow * side);
        let across = lift * u.length_sq() * side;
        (u * along + m * across) * (L::constant(0.25) * L::splat(self.density))
    }
}
