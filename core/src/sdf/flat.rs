//! Shapes with flat sides: plane, box, cylinder.   [METHODS 10]

use crate::lane::Lane;
use crate::vec3::Vec3;

/// −1 where a is negative, else 1.
#[inline(always)]
fn side<L: Lane>(a: L) -> L {
    L::select(L::zero().gt(a), -L::one(), L::one())
}

/// φ = n · p: everything below a plane through the origin is solid. `normal` is a unit vector.
#[inline(always)]
pub(super) fn plane<L: Lane>(normal: [L::Scalar; 3], p: Vec3<L>) -> (L, Vec3<L>) {
    let n = Vec3::splat(normal);
    (n.dot(p), n)
}

/// A box about the origin with these half sides.
///
/// With q = |p| − b, taken by symmetry in the octant of positive coordinates: outside φ = |max(q, 0)| and ∇φ points from
/// the nearest point of the box; inside φ = max qₖ and ∇φ is the nearest side's axis, the first of equals.
#[inline(always)]
pub(super) fn cuboid<L: Lane>(half: [L::Scalar; 3], p: Vec3<L>) -> (L, Vec3<L>) {
    let zero = L::zero();
    let q = Vec3::new(p.x.abs(), p.y.abs(), p.z.abs()) - Vec3::splat(half);
    let out = Vec3::new(q.x.max(zero), q.y.max(zero), q.z.max(zero));
    let distance = out.length();
    let outside = distance.gt(zero);
    let inverse = L::one() / L::select(outside, distance, L::one());
    let deepest = q.x.max(q.y).max(q.z);
    let on_x = q.x.ge(deepest);
    let x = L::select(on_x, L::one(), zero);
    let y = L::select(q.y.ge(deepest), L::one() - x, zero);
    let z = L::one() - x - y;
    let n = Vec3::select(outside, out * inverse, Vec3::new(x, y, z));
    let n = Vec3::new(n.x * side(p.x), n.y * side(p.y), n.z * side(p.z));
    (L::select(outside, distance, deepest), n)
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
    let outside = distance.gt(zero);
    let inverse = L::one() / L::select(outside, distance, L::one());
    let by_side = a.ge(b);
    let across = L::select(outside, out_a * inverse, L::select(by_side, L::one(), zero));
    let along = L::select(outside, out_b * inverse, L::select(by_side, zero, L::one()));
    let (ux, uz) = super::round::radial(p.x, p.z, rho);
    (L::select(outside, distance, L::select(by_side, a, b)), Vec3::new(ux * across, side(p.y) * along, uz * across))
}
