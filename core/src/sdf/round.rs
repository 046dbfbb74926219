//! Shapes without flat sides: sphere, capsule, torus.   [METHODS 10]

use crate::lane::Lane;
use crate::vec3::Vec3;

/// (x, z)/ρ; on the axis, where every direction is as good, +x.
#[inline(always)]
pub(super) fn radial<L: Lane>(x: L, z: L, rho: L) -> (L, L) {
    let (off_axis, inverse) = inverse(rho);
    (L::select(off_axis, x * inverse, L::one()), z * inverse)
}

/// Whether a length is above 0, and its inverse; 1 where it is 0, as are then the components it was made of, or too small
/// to count beside the 1 that a select puts into one of them.
#[inline(always)]
pub(super) fn inverse<L: Lane>(length: L) -> (L::Mask, L) {
    let long = length.gt(L::zero());
    (long, L::one() / L::select(long, length, L::one()))
}

/// v/|v| and |v|; up where v has no length.
#[inline(always)]
pub(super) fn unit_or_up<L: Lane>(v: Vec3<L>) -> (L, Vec3<L>) {
    let length = v.length();
    let (long, inverse) = inverse(length);
    (length, Vec3::new(v.x * inverse, L::select(long, v.y * inverse, L::one()), v.z * inverse))
}

/// A sphere about the origin: φ = |p| − r. At its centre, where every direction is as good, up.
#[inline(always)]
pub(super) fn sphere<L: Lane>(radius: L::Scalar, p: Vec3<L>) -> (L, Vec3<L>) {
    let (length, n) = unit_or_up(p);
    (length - L::splat(radius), n)
}

/// A capsule: all points within r of the segment from −a to a on the y axis. On the segment itself +x is out.
#[inline(always)]
pub(super) fn capsule<L: Lane>(radius: L::Scalar, half_length: L::Scalar, p: Vec3<L>) -> (L, Vec3<L>) {
    let a = L::splat(half_length);
    let beyond = p.y - p.y.min(a).max(-a);
    let q = Vec3::new(p.x, beyond, p.z);
    let length = q.length();
    let (off_axis, inverse) = inverse(length);
    let n = Vec3::new(L::select(off_axis, q.x * inverse, L::one()), q.y * inverse, q.z * inverse);
    (length - L::splat(radius), n)
}

/// A torus about the y axis: all points within `minor` of the circle of radius `major`.
///
/// With c = ρ − R: φ = √(c² + y²) − r. On the circle itself up is out; on the axis +x is.
#[inline(always)]
pub(super) fn torus<L: Lane>(major: L::Scalar, minor: L::Scalar, p: Vec3<L>) -> (L, Vec3<L>) {
    let rho = (p.x * p.x + p.z * p.z).sqrt();
    let c = rho - L::splat(major);
    let length = (c * c + p.y * p.y).sqrt();
    let (off_circle, inverse) = inverse(length);
    let across = c * inverse;
    let up = L::select(off_circle, p.y * inverse, L::one());
    let (ux, uz) = radial(p.x, p.z, rho);
    (length - L::splat(minor), Vec3::new(ux * across, up, uz * across))
}
