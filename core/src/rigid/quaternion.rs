//! Unit quaternions of lanes: how rigid bodies are turned.

use core::ops::Mul;

use crate::lane::{Lane, Real};
use crate::mat3::Mat3;
use crate::vec3::Vec3;

/// A quaternion v + w whose components are lanes; rotations have length 1, w the cosine of half the angle (R 7, corrected).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quaternion<L> {
    /// Vector part: the axis times the sine of half the angle.
    pub v: Vec3<L>,
    /// Scalar part.
    pub w: L,
}

impl<L: Lane> Quaternion<L> {
    /// No rotation.
    #[inline(always)]
    pub fn identity() -> Self {
        Self { v: Vec3::zero(), w: L::one() }
    }
    /// From `[x, y, z, w]`.
    #[inline(always)]
    pub fn new([x, y, z, w]: [L; 4]) -> Self {
        Self { v: Vec3::new(x, y, z), w }
    }
    /// As `[x, y, z, w]`.
    #[inline(always)]
    pub fn components(self) -> [L; 4] {
        [self.v.x, self.v.y, self.v.z, self.w]
    }
    /// The inverse of a unit quaternion.
    #[inline(always)]
    pub fn conjugate(self) -> Self {
        Self { v: -self.v, w: self.w }
    }
    /// To length 1; no rotation where there is no length.
    #[inline(always)]
    pub fn normalized(self) -> Self {
        let length = (self.v.length_sq() + self.w * self.w).sqrt();
        let long = length.gt(L::zero());
        let inverse = L::one() / L::select(long, length, L::one());
        Self { v: Vec3::select(long, self.v * inverse, Vec3::zero()), w: L::select(long, self.w * inverse, L::one()) }
    }
    /// R p = p + 2w (v × p) + 2 v × (v × p).
    #[inline(always)]
    pub fn rotate(self, p: Vec3<L>) -> Vec3<L> {
        let t = self.v.cross(p);
        let t = t + t;
        p + t * self.w + self.v.cross(t)
    }
    /// Rᵀ p.
    #[inline(always)]
    pub fn unrotate(self, p: Vec3<L>) -> Vec3<L> {
        self.conjugate().rotate(p)
    }
    /// The rotation matrix.
    #[inline(always)]
    pub fn matrix(self) -> Mat3<L> {
        let (zero, one) = (L::zero(), L::one());
        Mat3::from_columns(
            self.rotate(Vec3::new(one, zero, zero)),
            self.rotate(Vec3::new(zero, one, zero)),
            self.rotate(Vec3::new(zero, zero, one)),
        )
    }
    /// Turned further by a small rotation vector θ \[rad\]: q ← normalise(q + ½ \[θ, 0\] q)   (R 15).
    ///
    /// The angle turned is 2 atan(|θ|/2): short by |θ|²/12 of itself.
    #[inline(always)]
    pub fn turned(self, theta: Vec3<L>) -> Self {
        let half = Self { v: theta * L::constant(0.5), w: L::zero() };
        let by = half * self;
        Self { v: self.v + by.v, w: self.w + by.w }.normalized()
    }
    /// The rotation vector of a rotation by less than half a turn, as 2 sin(θ/2) about its axis \[rad\]: exact for small
    /// angles, with the right direction for all.
    #[inline(always)]
    pub fn small_rotation(self) -> Vec3<L> {
        let two = L::constant(2.0);
        self.v * L::select(L::zero().gt(self.w), -two, two)
    }
}

impl<L: Lane> Mul for Quaternion<L> {
    type Output = Self;
    /// The rotation `rhs`, followed by this one.
    #[inline(always)]
    fn mul(self, rhs: Self) -> Self {
        Self { v: rhs.v * self.w + self.v * rhs.w + self.v.cross(rhs.v), w: self.w * rhs.w - self.v.dot(rhs.v) }
    }
}

impl<S: Real> From<[S; 4]> for Quaternion<S> {
    fn from(components: [S; 4]) -> Self {
        Self::new(components)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_product_and_matrix_agree() {
        let (s, c) = 0.35_f64.sin_cos();
        let a = Quaternion::new([0.6 * s, 0.0, 0.8 * s, c]);
        let b = Quaternion::new([0.1, -0.7, 0.3, 0.2]).normalized();
        let p = Vec3::from([1.0, -2.0, 0.5]);
        assert!(((a * b).rotate(p) - a.rotate(b.rotate(p))).length() < 1e-14);
        assert!((a.matrix() * p - a.rotate(p)).length() < 1e-14);
        assert!((a.unrotate(a.rotate(p)) - p).length() < 1e-14);
        // An axis and an angle: a quarter turn about z takes x to y.
        let q = Quaternion::new([0.0, 0.0, 0.5_f64.sqrt(), 0.5_f64.sqrt()]);
        assert!((q.rotate([1.0, 0.0, 0.0].into()) - [0.0, 1.0, 0.0].into()).length() < 1e-15);
    }

    #[test]
    fn small_turns_are_the_rotation_vector() {
        let theta = Vec3::from([1e-4, -2e-4, 5e-5]);
        let q = Quaternion::new([0.1, 0.2, -0.3, 0.9]).normalized();
        let turned = q.turned(theta);
        assert!(((turned * q.conjugate()).small_rotation() - theta).length() < 1e-10);
        assert_eq!(Quaternion::new([0.0_f32; 4]).normalized(), Quaternion::identity());
    }
}
