//! Three-by-three matrices of lanes, stored by columns.

use crate::lane::Lane;
use crate::vec3::Vec3;
use core::ops::{Add, Mul};

/// A matrix whose entries are lanes; `columns[c]` is the image of axis `c`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mat3<L> {
    /// The images of the three axes.
    pub columns: [Vec3<L>; 3],
}

impl<L: Lane> Mat3<L> {
    /// From columns.
    #[inline(always)]
    pub fn from_columns(a: Vec3<L>, b: Vec3<L>, c: Vec3<L>) -> Self {
        Self { columns: [a, b, c] }
    }
    /// The identity scaled by `s`.
    #[inline(always)]
    pub fn diagonal(s: L) -> Self {
        let o = L::zero();
        Self::from_columns(Vec3::new(s, o, o), Vec3::new(o, s, o), Vec3::new(o, o, s))
    }
    /// a bᵀ.
    #[inline(always)]
    pub fn outer(a: Vec3<L>, b: Vec3<L>) -> Self {
        Self::from_columns(a * b.x, a * b.y, a * b.z)
    }
    /// The transpose.
    #[inline(always)]
    pub fn transpose(self) -> Self {
        let [a, b, c] = self.columns;
        Self::from_columns(Vec3::new(a.x, b.x, c.x), Vec3::new(a.y, b.y, c.y), Vec3::new(a.z, b.z, c.z))
    }
    /// det = a × b · c: six times the signed volume of the tetrahedron the columns span.
    #[inline(always)]
    pub fn determinant(self) -> L {
        let [a, b, c] = self.columns;
        a.cross(b).dot(c)
    }
    /// The cofactor matrix, whose columns are ∂det/∂column: b × c, c × a, a × b.
    #[inline(always)]
    pub fn cofactor(self) -> Self {
        let [a, b, c] = self.columns;
        Self::from_columns(b.cross(c), c.cross(a), a.cross(b))
    }
}

impl<L: Lane> Mul<Vec3<L>> for Mat3<L> {
    type Output = Vec3<L>;
    #[inline(always)]
    fn mul(self, v: Vec3<L>) -> Vec3<L> {
        let [a, b, c] = self.columns;
        a * v.x + b * v.y + c * v.z
    }
}

impl<L: Lane> Mul for Mat3<L> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, rhs: Self) -> Self {
        let [a, b, c] = rhs.columns;
        Self::from_columns(self * a, self * b, self * c)
    }
}

impl<L: Lane> Mul<L> for Mat3<L> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: L) -> Self {
        let [a, b, c] = self.columns;
        Self::from_columns(a * s, b * s, c * s)
    }
}

impl<L: Lane> Add for Mat3<L> {
    type Output = Self;
    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        let ([a, b, c], [d, e, f]) = (self.columns, rhs.columns);
        Self::from_columns(a + d, b + e, c + f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cofactor_is_the_scaled_inverse_transpose() {
        let m = Mat3::<f64>::from_columns([2.0, 1.0, 0.5].into(), [-1.0, 3.0, 0.25].into(), [0.0, 0.5, 4.0].into());
        let product = m.transpose() * m.cofactor();
        let expected = Mat3::diagonal(m.determinant());
        for c in 0..3 {
            assert!((product.columns[c] - expected.columns[c]).length() < 1e-12);
        }
    }

    #[test]
    fn outer_times_vector_is_scaled_projection() {
        let (a, b, v) = (Vec3::from([1.0, 2.0, 3.0]), Vec3::from([0.5, -1.0, 2.0]), Vec3::from([4.0, 0.0, -1.0]));
        assert_eq!(Mat3::<f64>::outer(a, b) * v, a * b.dot(v));
        assert_eq!((Mat3::diagonal(2.0) + Mat3::diagonal(1.0)) * v, v * 3.0);
        assert_eq!((Mat3::diagonal(2.0) * 2.0) * v, v * 4.0);
    }
}
