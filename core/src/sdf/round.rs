//! Shapes without flat sides: sphere, capsule, torus.   [METHODS 10]

use crate::lane::Lane;
use crate::vec3::Vec3;

/// (x, z)/ρ; on the axis, where every direction is as good, +x.
#[inline(always)]
pub(super) fn radial<L: Lane>(x: L, z: L, rho: L) -> (L, L) {
    let off_axis = rho.gt(L::zero());
    let inverse = L::one() / L::select(off_axis, rho, L::one());
    (L::select(off_axis, x * inverse, L::one()), L::select(off_axis, z * inverse, L::zero()))
}

/// A sphere about the origin: φ = |p| − r. At its centre, where every direction is as good, up.
#[inline(always)]
pub(super) fn sphere<L: Lane>(radius: L::Scalar, p: Vec3<L>) -> (L, Vec3<L>) {
    let length = p.length();
    let off_centre = length.gt(L::zero());
    let inverse = L::one() / L::select(off_centre, length, L::one());
    let up = Vec3::new(L::zero(), L::one(), L::zero());
    (length - L::splat(radius), Vec3::select(off_centre, p * inverse, up))
}

/// A capsule: all points within r of the segment from −a to a on the y axis. On the segment itself +x is out.
#[inline(always)]
pub(super) fn capsule<L: Lane>(radius: L::Scalar, half_length: L::Scalar, p: Vec3<L>) -> (L, Vec3<L>) {
    let a = L::splat(half_length);
    let beyond = p.y - p.y.min(a).max(-a);
    let q = Vec3::new(p.x, beyond, p.z);
    let length = q.length();
    let off_axis = length.gt(L::zero());
    let inverse = L::one() / L::select(off_axis, length, L::one());
    let out = Vec3::new(L::one(), L::zero(), L::zero());
    (length - L::splat(radius), Vec3::select(off_axis, q * inverse, out))
}

/// A torus about the y axis: all points within `minor` of the circle of radius `major`.
///
/// With c = ρ − R: φ = √(c² + y²) − r. On the circle itself up is out; on the axis +x is.
#[inline(always)]
pub(super) fn torus<L: Lane>(major: L::Scalar, minor: L::Scalar, p: Vec3<L>) -> (L, Vec3<L>) {
    let rho = (p.x * p.x + p.z * p.z).sqrt();
    let c = rho - L::splat(major);
    let length = (c * c + p.y * p.y).sqrt();
    let off_circle = length.gt(L::zero());
    let inverse = L::one() / L::select(off_circle, length, L::one());
    let across = L::select(off_circle, c * inverse, L::zero());
    let up = L::select(off_circle, p.y * inverse, L::one());
    let (ux, uz) = radial(p.x, p.z, rho);
    (length - L::splat(minor), Vec3::new(ux * across, up, uz * across))
}
