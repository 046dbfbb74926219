//! Shapes with flat sides: plane, box, cylinder.   [METHODS 10]

use super::round::{inverse, radial};
use crate::lane::Lane;
use crate::vec3::Vec3;

/// φ = n · p: everything below a plane through the origin is solid. `normal` is a unit vector.
#[inline(always)]
pub(super) fn plane<L: Lane>(normal: [L::Scalar; 3], p: Vec3<L>) -> (L, Vec3<L>) {
    let n = Vec3::splat(normal);
    (n.dot(p), n)
}

/// A box about the origin with these half sides b.
///
/// With q = |p| − b, taken by symmetry in the octant of positive coordinates: outside φ = |max(q, 0)| and ∇φ points from the
/// nearest point of the box; inside φ = max qₖ and ∇φ is the nearest side's axis, or between those of equally near sides.
#[inline(always)]
pub(super) fn cuboid<L: Lane>(half: [L::Scalar; 3], p: Vec3<L>) -> (L, Vec3<L>) {
    let (zero, one) = (L::zero(), L::one());
    let q = Vec3::new(p.x.abs(), p.y.abs(), p.z.abs()) - Vec3::splat(half);
    let deepest = q.x.max(q.y).max(q.z);
    // A square must not vanish: closer than this to the surface is on it.
    let outside = deepest.gt(L::constant(1e-18));
    let out = Vec3::new(
        L::select(outside, q.x.max(zero), L::select(q.x.ge(deepest), one, zero)),
        L::select(outside, q.y.max(zero), L::select(q.y.ge(deepest), one, zero)),
        L::select(outside, q.z.max(zero), L::select(q.z.ge(deepest), one, zero)),
    );
    let length = out.length();
    let inverse = one / length;
    let n = Vec3::new(out.x.copysign(p.x), out.y.copysign(p.y), out.z.copysign(p.z)) * inverse;
    (L::select(outside, length, deepest), n)
}

/// A cylinder about the y axis.
///
/// A box in the half plane (ρ, |y|), ρ the distance from the axis: the same cases as for a box.
#[inline(always)]
pub(super) fn cylinder<L: Lane>(radius: L::Scalar, half_height: L::Scalar, p: Vec3<L>) -> (L, Vec3<L>) {
    let zero = L::zero();
    let rho = (p.x * p.x + p.z * p.z).sqrt();
    let (a, b) = (rho - L::splat(radius), p.y.abs() - L::splat(half_height));
    let (out_a, out_b) = (a.max(zero), b.max(zero));
    let distance = (out_a * out_a + out_b * out_b).sqrt();
    let (outside, inverse) = inverse(distance);
    let by_side = a.ge(b);
    let across = L::select(outside, out_a * inverse, L::select(by_side, L::one(), zero));
    let along = L::select(outside, out_b * inverse, L::select(by_side, zero, L::one()));
    let (ux, uz) = radial(p.x, p.z, rho);
    (L::select(outside, distance, L::select(by_side, a, b)), Vec3::new(ux * across, along.copysign(p.y), uz * across))
}
