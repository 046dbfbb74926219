//! How far two primitives are apart, at which points, and which way they must move to change that.
//!
//! A point and a triangle, or two edges, are four corners xᵢ. The vector between the closest points is a weighted sum of
//! them, the distance its length, and the gradient follows because the weights are optimal (their own change costs
//! nothing to first order):
//! ```text
//!   r = Σ wᵢ xᵢ      d² = |r|²      ∂d²/∂xᵢ = 2 wᵢ r                                        [METHODS 10; C 45–46]
//!   vertex–triangle [p, a, b, c]:   w = (1, −u, −v, −t),         u + v + t = 1
//!   edge–edge [a₀, a₁, b₀, b₁]:     w = (1 − s, s, −(1 − t), −t)
//! ```
//! **Degenerate input is no special case.** Every candidate (a corner, a point inside an edge, a point inside the face)
//! is a pair of points that really lie on the primitives, and the nearest wins: a triangle without area falls back on its
//! edges, an edge without length on its ends, parallel edges on their ends. Interior points whose normal is well determined
//! take r along that normal, which keeps its direction accurate however close they are.
//!
//! Lengths below 1e-9 or above 1e9 (`f32`), 1e-76 or 1e76 (`f64`) under- or overflow in fourth powers: scale them first,
//! as [`ccd`](super::ccd) does.

use crate::lane::{Lane, Real};
use crate::vec3::Vec3;

/// The two kinds of contact between triangle meshes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pair {
    /// Corners `[p, a, b, c]`.
    VertexTriangle,
    /// Corners `[a₀, a₁, b₀, b₁]`.
    EdgeEdge,
}

impl Pair {
    /// How many corners the first primitive has; those of the second come after them.
    #[inline(always)]
    pub const fn first_corners(self) -> usize {
        match self {
            Self::VertexTriangle => 1,
            Self::EdgeEdge => 2,
        }
    }

    /// The closest points of the two primitives with these corners.
    #[inline(always)]
    pub fn closest<L: Lane>(self, x: &[Vec3<L>; 4]) -> Closest<L> {
        match self {
            Self::VertexTriangle => vertex_triangle(x),
            Self::EdgeEdge => edge_edge(x),
        }
    }
}

/// The closest points of two primitives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closest<L> {
    /// r = Σ wᵢ xᵢ, from the second primitive to the first \[m\].
    pub between: Vec3<L>,
    /// d² = |r|² \[m²\].
    pub distance_sq: L,
    /// w: what each corner contributes to r. Exactly 0 for corners that take no part.
    pub weights: [L; 4],
}

impl<L: Lane> Closest<L> {
    /// ∂d²/∂xᵢ = 2 wᵢ r \[m\].
    #[inline(always)]
    pub fn gradient(&self) -> [Vec3<L>; 4] {
        let twice = self.between + self.between;
        [twice * self.weights[0], twice * self.weights[1], twice * self.weights[2], twice * self.weights[3]]
    }

    /// The nearer of two candidates; the first when they are equally near.
    #[inline(always)]
    fn nearer(self, other: Self) -> Self {
        let closer = self.distance_sq.gt(other.distance_sq);
        Self::select(closer, other, self)
    }

    #[inline(always)]
    fn select(mask: L::Mask, a: Self, b: Self) -> Self {
        let mut weights = b.weights;
        for i in 0..4 {
            weights[i] = L::select(mask, a.weights[i], b.weights[i]);
        }
        Self {
            between: Vec3::select(mask, a.between, b.between),
            distance_sq: L::select(mask, a.distance_sq, b.distance_sq),
            weights,
        }
    }
}

/// The farthest that a corner is moved for each metre that its weighted sum has to.
const LEVER: f64 = 4.0;

/// How readily Σ wᵢ xᵢ gives way: corners that move by (wᵢ/mᵢ)/give each move it by 1, or by less where that would move a
/// corner by more than 4. \[1/kg\]
/// ```text
///   give = max(Σ wᵢ²/mᵢ, max |wᵢ|/(4 mᵢ))
/// ```
/// The bound is for pins: where they carry nearly all of the weight, the corner with the rest w would be thrown by 1/w. Free
/// corners of like masses never reach it. 0 when nobody can move.
///
/// ```
/// use pliant_core::collide::distance::give;
///
/// assert_eq!(give(&[1.0, -0.5, -0.5, 0.0], &[1.0; 4]), 1.5);
/// // Pins, but for a corner that carries a millionth: it moves by w/m / give = 4.
/// assert_eq!(give(&[1.0, -0.999999, -1e-6, 0.0], &[0.0, 0.0, 2.0, 2.0]), 5e-7);
/// ```
#[inline(always)]
pub fn give<L: Lane, const N: usize>(weights: &[L; N], inv_mass: &[L; N]) -> L {
    let (mut sum, mut most) = (L::zero(), L::zero());
    for i in 0..N {
        sum = sum + weights[i] * weights[i] * inv_mass[i];
        most = most.max(weights[i].abs() * inv_mass[i]);
    }
    sum.max(most * L::constant(1.0 / LEVER))
}

/// Which parts of the two primitives hold the closest points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Two corners.
    PointPoint,
    /// A corner and the inside of an edge.
    PointEdge,
    /// A corner and the inside of a triangle.
    PointTriangle,
    /// The insides of two edges.
    EdgeEdge,
}

impl<S: Real> Closest<S> {
    /// Which parts of the primitives hold the closest points: told by how many corners take part on each side.
    pub fn feature(&self) -> Feature {
        let side = |sign: S| self.weights.iter().filter(|&&w| w * sign > S::ZERO).count();
        match (side(S::ONE), side(-S::ONE)) {
            (1, 1) => Feature::PointPoint,
            (1, 3) => Feature::PointTriangle,
            (2, 2) => Feature::EdgeEdge,
            _ => Feature::PointEdge,
        }
    }
}

/// The place on a segment nearest to a point: (t, r) with t in [0, 1] from `a` and r from that place to the point.
/// `from_a` = p − a, `from_b` = p − b, `along` = b − a.
#[inline(always)]
fn point_segment<L: Lane>(from_a: Vec3<L>, from_b: Vec3<L>, along: Vec3<L>) -> (L, Vec3<L>) {
    let length_sq = along.length_sq();
    let t = length_sq.divide_or_zero(from_a.dot(along)).max(L::zero()).min(L::one());
    // Taken twice: what the first rounding leaves along the edge has the size of the primitives, not of r.
    let rough = from_a - along * t;
    let across = rough - along * length_sq.divide_or_zero(rough.dot(along));
    // At the ends the differences themselves: a + 1·(b − a) need not be b.
    let inner = Vec3::select(t.gt(L::zero()), across, from_a);
    (t, Vec3::select(t.ge(L::one()), from_b, inner))
}

/// Whether sin² of the angle between two vectors with cross product `n` exceeds ε: then the direction of `n` has kept
/// half its digits at least, and r is better taken along it than from the points, whose own error has the size of the
/// primitives and not of r.
#[inline(always)]
fn well_determined<L: Lane>(n_sq: L, a: Vec3<L>, b: Vec3<L>) -> L::Mask {
    n_sq.gt(L::splat(L::Scalar::EPSILON) * a.length_sq() * b.length_sq())
}

/// Closest points of the vertex x₀ and the triangle x₁ x₂ x₃.
#[inline(always)]
pub fn vertex_triangle<L: Lane>(x: &[Vec3<L>; 4]) -> Closest<L> {
    let (zero, one) = (L::zero(), L::one());
    let [p, a, b, c] = *x;
    let (ab, ac, bc) = (b - a, c - a, c - b);
    let (ap, bp, cp) = (p - a, p - b, p - c);

    let (t, r) = point_segment(ap, bp, ab);
    let on_ab = Closest { between: r, distance_sq: r.length_sq(), weights: [one, t - one, -t, zero] };
    let (t, r) = point_segment(bp, cp, bc);
    let on_bc = Closest { between: r, distance_sq: r.length_sq(), weights: [one, zero, t - one, -t] };
    let (t, r) = point_segment(ap, cp, ac);
    let on_ac = Closest { between: r, distance_sq: r.length_sq(), weights: [one, t - one, zero, -t] };
    let border = on_ab.nearer(on_bc).nearer(on_ac);

    // n = (b − a) × (c − a); the weight of a corner is the area the foot of p cuts off at the opposite edge, over |n|².
    let n = ab.cross(ac);
    let n_sq = n.length_sq();
    let (area_a, area_b, area_c) = (bc.cross(bp).dot(n), -ac.cross(cp).dot(n), ab.cross(ap).dot(n));
    let inside = L::both(L::both(area_a.gt(zero), area_b.gt(zero)), L::both(area_c.gt(zero), n_sq.gt(zero)));
    let (v, t) = (n_sq.divide_or_zero(area_b), n_sq.divide_or_zero(area_c));
    let u = one - v - t;
    let along_n = n * n_sq.divide_or_zero(n.dot(ap));
    let through_points = ap - ab * v - ac * t;
    let r = Vec3::select(well_determined(n_sq, ab, ac), along_n, through_points);
    let face = Closest { between: r, distance_sq: r.length_sq(), weights: [one, -u, -v, -t] };
    let real = L::both(L::both(inside, u.gt(zero)), border.distance_sq.gt(face.distance_sq));
    Closest::select(real, face, border)
}

/// Closest points of the edges x₀ x₁ and x₂ x₃.
#[inline(always)]
pub fn edge_edge<L: Lane>(x: &[Vec3<L>; 4]) -> Closest<L> {
    let (zero, one) = (L::zero(), L::one());
    let [a0, a1, b0, b1] = *x;
    let (a, b) = (a1 - a0, b1 - b0);
    let (r00, r01, r10, r11) = (a0 - b0, a0 - b1, a1 - b0, a1 - b1);

    let (t, r) = point_segment(r00, r01, b);
    let first = Closest { between: r, distance_sq: r.length_sq(), weights: [one, zero, t - one, -t] };
    let (t, r) = point_segment(r10, r11, b);
    let second = Closest { between: r, distance_sq: r.length_sq(), weights: [zero, one, t - one, -t] };
    let (s, r) = point_segment(-r00, -r10, a);
    let third = Closest { between: -r, distance_sq: r.length_sq(), weights: [one - s, s, -one, zero] };
    let (s, r) = point_segment(-r01, -r11, a);
    let fourth = Closest { between: -r, distance_sq: r.length_sq(), weights: [one - s, s, zero, -one] };
    let ends = first.nearer(second).nearer(third).nearer(fourth);

    // n = a × b. r(s, t) = r₀₀ + s a − t b is parallel to n where s = −(r₀₀ × b)·n/|n|², t = −(r₀₀ × a)·n/|n|².
    let n = a.cross(b);
    let n_sq = n.length_sq();
    let s = n_sq.divide_or_zero(-r00.cross(b).dot(n));
    let t = n_sq.divide_or_zero(-r00.cross(a).dot(n));
    let inside = L::both(L::both(s.gt(zero), one.gt(s)), L::both(t.gt(zero), one.gt(t)));
    let along_n = n * n_sq.divide_or_zero(n.dot(r00));
    let through_points = r00 + a * s - b * t;
    let r = Vec3::select(well_determined(n_sq, a, b), along_n, through_points);
    let crossing = Closest { between: r, distance_sq: r.length_sq(), weights: [one - s, s, t - one, -t] };
    let real = L::both(L::both(inside, n_sq.gt(zero)), ends.distance_sq.gt(crossing.distance_sq));
    Closest::select(real, crossing, ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::{BLOCK, Octet};

    #[test]
    fn every_width_gives_the_scalar_bits() {
        let mut state = 3_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 29) - 2.0
        };
        for round in 0..400 {
            // Coarse grids make ties and degenerate shapes common.
            let grain = if round % 2 == 0 { 1.0 } else { 1e-6 };
            let mut columns = [[Octet([0.0_f32; BLOCK]); 3]; 4];
            for value in columns.iter_mut().flatten().flat_map(|c| &mut c.0) {
                *value = ((random() / grain).round() * grain) as f32;
            }
            for pair in [Pair::VertexTriangle, Pair::EdgeEdge] {
                let load = |c: &Octet<f32>| wide::f32x8::load(c, 0);
                let wide = pair.closest(&columns.map(|c| Vec3::new(load(&c[0]), load(&c[1]), load(&c[2]))));
                let wide = [wide.between.x, wide.between.y, wide.between.z, wide.distance_sq]
                    .into_iter()
                    .chain(wide.weights)
                    .map(|v| v.to_array());
                let wide: Vec<_> = wide.collect();
                for lane in 0..BLOCK {
                    let x = columns.map(|c| Vec3::new(c[0].0[lane], c[1].0[lane], c[2].0[lane]));
                    let Closest { between: r, distance_sq, weights } = pair.closest(&x);
                    let scalar = [r.x, r.y, r.z, distance_sq].into_iter().chain(weights);
                    for (value, octet) in scalar.zip(&wide) {
                        assert_eq!(value.to_bits(), octet[lane].to_bits(), "{pair:?}");
                    }
                }
            }
        }
    }
}
