//! Three-vectors of lanes: several vectors side by side, one component a register.

use crate::lane::{Lane, Real};
use core::ops::{Add, Mul, Neg, Sub};

/// A vector whose components are lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vec3<L> {
    /// First component.
    pub x: L,
    /// Second component.
    pub y: L,
    /// Third component.
    pub z: L,
}

impl<L: Lane> Vec3<L> {
    /// From components.
    #[inline(always)]
    pub fn new(x: L, y: L, z: L) -> Self {
        Self { x, y, z }
    }
    /// The zero vector.
    #[inline(always)]
    pub fn zero() -> Self {
        Self::new(L::zero(), L::zero(), L::zero())
    }
    /// The same vector in every lane.
    #[inline(always)]
    pub fn splat(v: [L::Scalar; 3]) -> Self {
        Self::new(L::splat(v[0]), L::splat(v[1]), L::splat(v[2]))
    }
    /// a · b, summed x, y, z in this order.
    #[inline(always)]
    pub fn dot(self, rhs: Self) -> L {
        self.x * rhs.x + self.y * rhs.y + self.z * rhs.z
    }
    /// a × b.
    #[inline(always)]
    pub fn cross(self, rhs: Self) -> Self {
        Self::new(self.y * rhs.z - self.z * rhs.y, self.z * rhs.x - self.x * rhs.z, self.x * rhs.y - self.y * rhs.x)
    }
    /// |a|².
    #[inline(always)]
    pub fn length_sq(self) -> L {
        self.dot(self)
    }
    /// |a|.
    #[inline(always)]
    pub fn length(self) -> L {
        self.length_sq().sqrt()
    }
    /// `a` where the mask holds, else `b`.
    #[inline(always)]
    pub fn select(mask: L::Mask, a: Self, b: Self) -> Self {
        Self::new(L::select(mask, a.x, b.x), L::select(mask, a.y, b.y), L::select(mask, a.z, b.z))
    }
}

impl<S: Real> Vec3<S> {
    /// The same vector in double precision.
    pub fn to_double(self) -> Vec3<f64> {
        Vec3 { x: self.x.to_f64(), y: self.y.to_f64(), z: self.z.to_f64() }
    }
    /// A vector of double precision, rounded.
    pub fn from_double(v: Vec3<f64>) -> Self {
        Self { x: S::from_f64(v.x), y: S::from_f64(v.y), z: S::from_f64(v.z) }
    }
}

impl<S: Real> From<[S; 3]> for Vec3<S> {
    fn from(v: [S; 3]) -> Self {
        Self::new(v[0], v[1], v[2])
    }
}

impl<S: Real> From<Vec3<S>> for [S; 3] {
    fn from(v: Vec3<S>) -> Self {
        [v.x, v.y, v.z]
    }
}

impl<L: Lane> Add for Vec3<L> {
    type Output = Self;
    #[inline(always)]
    fn add(self, rhs: Self) -> Self {
        Self::new(self.x + rhs.x, self.y + rhs.y, self.z + rhs.z)
    }
}

impl<L: Lane> Sub for Vec3<L> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, rhs: Self) -> Self {
        Self::new(self.x - rhs.x, self.y - rhs.y, self.z - rhs.z)
    }
}

impl<L: Lane> Neg for Vec3<L> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.x, -self.y, -self.z)
    }
}

impl<L: Lane> Mul<L> for Vec3<L> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: L) -> Self {
        Self::new(self.x * s, self.y * s, self.z * s)
    }
}
