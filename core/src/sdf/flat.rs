//! Shapes with flat sides: plane, box, cylinder.   [METHODS 10]

use super::round::{inverse, radial};
use crate::lane::{BLOCK, Lane, Octet, Real};
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
/// nearest point of the box; inside φ = max qₖ and ∇φ is the nearest side's axis. One formula for both,
/// ```text
///   m = max(q − s, 0),   s = min(max qₖ − ε, 0):      φ = |m| + s,   ∇φ = m/|m|
/// ```
/// rounds edges and the ridges inside by ε (`edge`), a few units in the last place of the half sides.
#[inline(always)]
pub(super) fn cuboid<L: Lane>(sides: &Sides<L::Scalar>, p: Vec3<L>) -> (L, Vec3<L>) {
    let zero = L::zero();
    let [a, b, c] = &sides.half;
    let q = Vec3::new(p.x.abs() - L::load(a, 0), p.y.abs() - L::load(b, 0), p.z.abs() - L::load(c, 0));
    let s = (q.x.max(q.y).max(q.z) - L::load(&sides.edge, 0)).min(zero);
    let m = Vec3::new((q.x - s).max(zero), (q.y - s).max(zero), (q.z - s).max(zero));
    // Never 0: the largest component is ε or more. Root and quotient do not wait for each other: 1/|m| = |m|/|m|².
    let square = m.length_sq();
    let length = square.sqrt();
    let n = m * (length * (L::one() / square));
    (length + s, Vec3::new(n.x.flip(p.x), n.y.flip(p.y), n.z.flip(p.z)))
}

/// The numbers of a box, in all lanes: operands from memory, which do not have to be spread first.
#[derive(Clone, Debug)]
pub(super) struct Sides<S> {
    /// Half sides \[m\].
    half: [Octet<S>; 3],
    /// How far edges are rounded \[m\].
    edge: Octet<S>,
}

/// How far the edges of a box are rounded, in units in the last place of its half sides.
const EDGE: f64 = 64.0;
/// The least of it \[m\]: its square is within single precision.
const LEAST_EDGE: f64 = 1e-18;

impl<S: Real> Sides<S> {
    pub fn new(half: [S; 3]) -> Self {
        let size: f64 = half.iter().map(|h| h.to_f64()).sum();
        let edge = (EDGE * S::EPSILON.to_f64() * size).max(LEAST_EDGE);
        let all = |v| Octet([v; BLOCK]);
        Self { half: half.map(all), edge: all(S::from_f64(edge)) }
    }
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
    (L::select(outside, distance, L::select(by_side, a, b)), Vec3::new(ux * across, along.flip(p.y), uz * across))
}
