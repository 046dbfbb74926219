//! What all bodies have together: momentum, angular momentum and energy, summed in double precision.

use super::bodies::{RigidBodies, scaled};
use super::quaternion::Quaternion;
use crate::lane::Real;
use crate::vec3::Vec3;

impl<S: Real> RigidBodies<S> {
    /// Σ m v of the dynamic bodies \[kg m/s\].
    pub fn linear_momentum(&self) -> [f64; 3] {
        let mut sum = Vec3::zero();
        for row in 0..self.len() {
            sum = sum + self.vector(&self.v, row) * self.mass(row).unwrap_or(0.0);
        }
        sum.into()
    }
    /// Σ m x × v + I ω of the dynamic bodies, about the origin \[kg m²/s\].
    pub fn angular_momentum(&self) -> [f64; 3] {
        let mut sum = Vec3::zero();
        for row in 0..self.len() {
            let orbit = self.vector(&self.x, row).cross(self.vector(&self.v, row)) * self.mass(row).unwrap_or(0.0);
            sum = sum + orbit + self.spin(row);
        }
        sum.into()
    }
    /// Σ ½ m v² + ½ ω · I ω of the dynamic bodies \[J\].
    pub fn kinetic_energy(&self) -> f64 {
        let of = |row: usize| {
            let linear = self.vector(&self.v, row).length_sq() * self.mass(row).unwrap_or(0.0);
            0.5 * (linear + self.vector(&self.omega, row).dot(self.spin(row)))
        };
        (0..self.len()).map(of).sum()
    }
    /// I ω in the world's axes.
    fn spin(&self, row: usize) -> Vec3<f64> {
        let q = Quaternion::new(self.q[row].map(S::to_f64));
        q.rotate(scaled(q.unrotate(self.vector(&self.omega, row)), self.inertia().get(row).map(S::to_f64)))
    }
}
