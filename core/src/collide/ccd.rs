//! When do two primitives that move in straight lines first touch? Never too late, in floating point.
//!
//! The answer must be safe, not exact: a step shortened to the reported time is free of contact, and no contact on the way
//! goes unnoticed. Cubic coplanarity equations lose this to rounding and to every degenerate case (flat, parallel, without
//! area). Here nothing degenerate exists, because the search rests on one certificate. [METHODS 10; C 49–50]
//!
//! **The certificate.** Two convex primitives are apart at time s if some direction n separates all differences of their
//! corners. The differences are linear in time; let n turn linearly too, from nₐ at time a to n_b at time b. Then every
//! n·q is a quadratic, known by its Bernstein coefficients on [a, b]:
//! ```text
//!   vertex–triangle:  qᵢ = p − xᵢ      edge–edge:  qᵢⱼ = aᵢ − bⱼ      q(s) = (1 − s) q⁰ + s q¹      s = a + σ (b − a)
//!   n(σ)·q(σ) = (1 − σ)² nₐ·qₐ + σ(1 − σ) (nₐ·q_b + n_b·qₐ) + σ² n_b·q_b
//!   n·q > δ for every q on [0, σ]   ⇒   distance > δ on [a, a + σ (b − a)]                  (|n| ≤ 1)
//! ```
//! The first root of each quadratic bounds σ. The rounding of everything that enters is bounded and added to δ, so that a
//! certified interval holds for the exact motion of the given numbers, whatever nₐ and n_b are.
//!
//! **The search.** Start at t = 0. Take nₐ along the closest points at t and n_b along those a little beyond the predicted
//! contact (however inaccurate: a bad direction only proves less), and go on to the end of the certified interval. Stop when
//! it reaches 1 (clear), when the distance is within the tolerance (impact), or after a bounded number of evaluations (an
//! early, safe time). With n_b = nₐ a step is never shorter than one of conservative advancement, (d − δ)/max |q̇|; the
//! turning direction follows tilting faces and makes the approach converge quadratically.
//!
//! Everything happens in double precision on differences scaled to unit size by a power of two, whatever the state's
//! precision: offsets far from the origin, common translation, tiny and huge scenes cost no accuracy.

use super::distance::{self, Closest, Pair};
use crate::math::power_of_two;
use crate::vec3::Vec3;

/// The corners of a pair at one moment \[m\], as [`Pair`] orders them.
pub type Corners = [[f64; 3]; 4];

/// How closely and how long to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CcdOptions {
    /// δ: the distance to stay above \[m\]. Being this close counts as contact.
    pub min_separation: f64,
    /// The part of the start distance beyond δ that must be left, in [0, 1): 0 stops as late as possible; a solver that
    /// has to go on from there keeps 0.1 to 0.2. Less than 0 counts as 0.
    pub keep: f64,
    /// How far above δ an approach may already count as contact, over the largest difference of corners in the query. A
    /// false positive has no smallest distance above δ plus this, unless it is [`early`](Impact::early).
    pub tolerance: f64,
    /// Evaluations of the distance after which the time reached so far is returned as it is, early. Hardly any query takes more than
    /// 20; slivers that pass each other at a few millionths of their way take hundreds.
    pub max_evaluations: u32,
}

impl Default for CcdOptions {
    fn default() -> Self {
        Self { min_separation: 0.0, keep: 0.0, tolerance: 1e-9, max_evaluations: 1024 }
    }
}

/// The end of the way that is known to be free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// Fraction of the way, in [0, 1], at or before the first contact. On [0, time] the primitives are farther apart than δ,
    /// unless it is 0: then they may touch already.
    pub time: f64,
    /// Whether the search ran out of evaluations or of digits before it came within the tolerance of contact.
    pub early: bool,
    /// How often the distance was evaluated.
    pub evaluations: u32,
}

/// First contact of a moving vertex and a moving triangle, corners `[p, a, b, c]`; `None` when they stay clear.
///
/// ```
/// use pliant_core::collide::ccd::{CcdOptions, vertex_triangle};
///
/// let below = [[0.2, 0.2, -1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let mut above = below;
/// above[0][2] = 3.0;
/// let impact = vertex_triangle(&below, &above, &CcdOptions::default()).expect("it passes through");
/// assert!(impact.time <= 0.25 && impact.time > 0.2499);
/// above[0] = [5.0, 0.2, -0.5];
/// assert!(vertex_triangle(&below, &above, &CcdOptions::default()).is_none());
/// ```
pub fn vertex_triangle(start: &Corners, end: &Corners, options: &CcdOptions) -> Option<Impact> {
    first_contact(Pair::VertexTriangle, start, end, options)
}

/// First contact of two moving edges, corners `[a₀, a₁, b₀, b₁]`; `None` when they stay clear.
pub fn edge_edge(start: &Corners, end: &Corners, options: &CcdOptions) -> Option<Impact> {
    first_contact(Pair::EdgeEdge, start, end, options)
}

/// First contact of either kind of pair. Coordinates that are not finite count as contact at time 0.
pub fn first_contact(pair: Pair, start: &Corners, end: &Corners, options: &CcdOptions) -> Option<Impact> {
    Query::new(pair, start, end).map_or_else(|now| now, |query| query.search(options))
}

/// Half a unit in the last place of 1.
const U: f64 = f64::EPSILON / 2.0;
/// What rounding may take from a coefficient n·q. Components of q are at most 1; rounding of the differences (U) and of
/// their interpolation (4U) and a dot product of three terms (3U Σ|nₖqₖ|, |n|₁ ≤ √3) stay below 8.1 · √3 U < 15U. Doubled.
const SLACK: f64 = 32.0 * U;
/// The same for a coefficient of (e₁ × e₂)·q with |e| components at most 2: at most 550U. Doubled.
const NORMAL_SLACK: f64 = 1024.0 * U;
/// 1 − 16U: rounds a quotient or product of a few terms down.
const DOWN: f64 = 1.0 - 16.0 * U;

/// Differences of corners at both ends of the way, scaled to at most 1.
struct Query {
    pair: Pair,
    /// How many differences there are: 3 (vertex–triangle) or 4.
    count: usize,
    start: [Vec3<f64>; 4],
    end: [Vec3<f64>; 4],
    /// Scaled length = metres · scale; a power of two.
    scale: f64,
}

impl Query {
    /// The differences, or the answer where no search is needed.
    fn new(pair: Pair, start: &Corners, end: &Corners) -> Result<Self, Option<Impact>> {
        let now = Err(Some(Impact { time: 0.0, early: false, evaluations: 0 }));
        let largest = [start, end].into_iter().flatten().flatten().fold(0.0_f64, |m, v| {
            // A NaN must not get lost in a maximum.
            if v.is_finite() { m.max(v.abs()) } else { f64::INFINITY }
        });
        if largest == f64::INFINITY {
            return now;
        }
        // Beyond 2^1000 differences could overflow: halve the exponents' reach first. What that underflows is 2^−2000 of
        // the rest.
        let shrink = if largest > power_of_two(1000) { power_of_two(-100) } else { 1.0 };
        let (count, pairs): (usize, [[usize; 2]; 4]) = match pair {
            // The fourth repeats the third.
            Pair::VertexTriangle => (3, [[0, 1], [0, 2], [0, 3], [0, 3]]),
            Pair::EdgeEdge => (4, [[0, 2], [0, 3], [1, 2], [1, 3]]),
        };
        let differences = |x: &Corners| {
            pairs.map(|[i, j]| {
                let d = [0, 1, 2].map(|k| x[i][k] * shrink - x[j][k] * shrink);
                Vec3::from(d)
            })
        };
        let (start, end) = (differences(start), differences(end));
        let extent = start.iter().chain(&end).fold(0.0_f64, |m, q| m.max(q.x.abs()).max(q.y.abs()).max(q.z.abs()));
        if extent == 0.0 {
            return now;
        }
        // Two factors, since the inverse of a subnormal extent overflows.
        let (first, second) = inverse_power_of_two(extent);
        let unit = |q: Vec3<f64>| q * first * second;
        Ok(Self { pair, count, start: start.map(unit), end: end.map(unit), scale: first * shrink * second })
    }

    /// The differences at time t.
    #[inline]
    fn differences(&self, t: f64) -> [Vec3<f64>; 4] {
        let (early, late) = (1.0 - t, t);
        let at = |i: usize| self.start[i] * early + self.end[i] * late;
        [at(0), at(1), at(2), at(3)]
    }

    /// The closest points at the moment with these differences. The second primitive stands at the origin.
    #[inline]
    fn closest(&self, q: &[Vec3<f64>; 4]) -> Closest<f64> {
        match self.pair {
            // p = 0, xᵢ = −qᵢ.
            Pair::VertexTriangle => distance::vertex_triangle(&[Vec3::zero(), -q[0], -q[1], -q[2]]),
            // b₀ = 0: a₀ = q₀₀, a₁ = q₁₀, b₁ = q₀₀ − q₀₁.
            Pair::EdgeEdge => distance::edge_edge(&[q[0], q[2], Vec3::zero(), q[0] - q[1]]),
        }
    }

    /// How fast the closest points come nearer: −n·ṙ, with ṙ from the weights (which need not change to first order).
    fn closing_speed(&self, closest: &Closest<f64>, n: Vec3<f64>) -> f64 {
        let rate = |i: usize| n.dot(self.end[i] - self.start[i]);
        let w = closest.weights;
        match self.pair {
            Pair::VertexTriangle => w[1] * rate(0) + w[2] * rate(1) + w[3] * rate(2),
            // r = a(s) − b(t) = Σ over i, j of wᵢ |wⱼ| qᵢⱼ.
            Pair::EdgeEdge => w[0] * (w[2] * rate(0) + w[3] * rate(1)) + w[1] * (w[2] * rate(2) + w[3] * rate(3)),
        }
    }

    /// The part σ of the way from differences `qa` to `qb`, on which a direction turning from `na` to `nb` keeps the
    /// primitives more than `least` apart, rounding included.
    fn certify(&self, ends: [&[Vec3<f64>; 4]; 2], na: Vec3<f64>, nb: Vec3<f64>, margin: f64) -> f64 {
        let [qa, qb] = ends;
        let least = margin + SLACK;
        let mut part = 1.0_f64;
        for i in 0..self.count {
            let c0 = na.dot(qa[i]) - least;
            let c1 = 0.5 * (na.dot(qb[i]) + nb.dot(qa[i])) - least;
            let c2 = nb.dot(qb[i]) - least;
            part = part.min(first_root(c0, c1, c2));
        }
        part
    }

    /// The same for the common normal n = e₁ × e₂ of both primitives, which is quadratic in time: n·q is the cubic of
    /// coplanarity, the same for every q. It proves most where two faces or two edges meet squarely, and nothing where
    /// both lie in one plane.
    fn certify_normal(&self, ends: [&[Vec3<f64>; 4]; 2], margin: f64) -> f64 {
        let [qa, qb] = ends;
        let edges = |q: &[Vec3<f64>; 4]| match self.pair {
            Pair::VertexTriangle => (q[0] - q[1], q[0] - q[2]),
            Pair::EdgeEdge => (q[2] - q[0], q[0] - q[1]),
        };
        let ((a1, a2), (b1, b2)) = (edges(qa), edges(qb));
        // Bernstein coefficients of n (degree 2) and of n·q (degree 3).
        let n = [a1.cross(a2), (a1.cross(b2) + b1.cross(a2)) * 0.5, b1.cross(b2)];
        let (q, p) = (qa[0], qb[0]);
        let third = 1.0 / 3.0;
        let c = [
            n[0].dot(q),
            (n[0].dot(p) + 2.0 * n[1].dot(q)) * third,
            (2.0 * n[1].dot(p) + n[2].dot(q)) * third,
            n[2].dot(p),
        ];
        let longest_sq = n[0].length_sq().max(n[1].length_sq()).max(n[2].length_sq());
        let least = margin * longest_sq.sqrt() * (1.0 + 64.0 * U) + NORMAL_SLACK;
        let side = if c[0] < 0.0 { -1.0 } else { 1.0 };
        let c = c.map(|c| side * c - least);
        let apart = c[0] > 0.0;
        if !apart {
            return 0.0;
        }
        // The curve lies in the hull of its control points (k/3, cₖ); the hull reaches 0 on the earliest of the chords
        // that do.
        let mut part = 1.0_f64;
        for i in 0..3 {
            for j in i + 1..4 {
                if c[i] > 0.0 && c[j] <= 0.0 {
                    let along = c[i] / (c[i] - c[j]);
                    part = part.min((i as f64 + along * (j - i) as f64) * third * DOWN);
                }
            }
        }
        part
    }

    fn search(&self, options: &CcdOptions) -> Option<Impact> {
        // Subnormal scenes have an infinite scale: 0 stays 0.
        let mut margin = if options.min_separation > 0.0 { options.min_separation * self.scale } else { 0.0 };
        // The extent is at least ½ here.
        let mut within = 0.5 * options.tolerance.max(0.0);
        let end = self.differences(1.0);
        let (mut t, mut stride) = (0.0, 1.0_f64);
        let mut evaluations = 1;
        let mut q = self.differences(0.0);
        let mut closest = self.closest(&q);
        loop {
            let distance = closest.distance_sq.sqrt();
            if t == 0.0 && options.keep > 0.0 {
                // Keep a part of what there is beyond δ, and let the tolerance not swallow the rest.
                let surplus = (distance - margin).max(0.0);
                margin += options.keep * surplus;
                within = within.min(0.25 * (1.0 - options.keep) * surplus);
            }
            // A NaN is not apart.
            let apart = distance > margin + within;
            if !apart {
                return Some(Impact { time: t, early: false, evaluations });
            }
            // A direction that does not turn, up to the end.
            let n = closest.between * (DOWN / distance);
            let part = self.certify([&q, &end], n, n, margin);
            if part >= 1.0 {
                return None;
            }
            let mut next = advance(t, 1.0, part);

            // The common normal of both primitives as it really turns.
            let part = self.certify_normal([&q, &end], margin);
            if part >= 1.0 {
                return None;
            }
            next = next.max(advance(t, 1.0, part));

            // A direction that turns, towards twice the predicted time of contact; not needed half-way there already.
            let speed = self.closing_speed(&closest, n);
            let ahead = if speed > 0.0 { 2.0 * (distance - margin) / speed } else { 1.0 };
            let target = 1.0_f64.min(t + ahead.min(stride));
            let mut arrived = None;
            if t + 0.5 * (target - t) > next && evaluations < options.max_evaluations {
                evaluations += 1;
                let there = self.differences(target);
                let beyond = self.closest(&there);
                let length = beyond.distance_sq.sqrt();
                let mut part = 0.0;
                if length > 0.0 {
                    // Beyond contact the closest points have changed sides.
                    let side = if n.dot(beyond.between) < 0.0 { -1.0 } else { 1.0 };
                    let turned = beyond.between * (side * DOWN / length);
                    part = self.certify([&q, &there], n, turned, margin);
                    if part >= 1.0 {
                        arrived = Some((there, beyond));
                        next = target;
                    } else {
                        next = next.max(advance(t, target, part));
                    }
                }
                // A direction is straight enough over about this time.
                stride = if part >= 1.0 { 3.0 * (target - t) } else { (target - t) * (2.0 * part).clamp(0.1, 1.0) };
            }
            if next >= 1.0 {
                return None;
            }
            if next <= t || evaluations >= options.max_evaluations {
                return Some(Impact { time: next.max(t), early: true, evaluations });
            }
            t = next;
            (q, closest) = arrived.unwrap_or_else(|| {
                evaluations += 1;
                let q = self.differences(t);
                (q, self.closest(&q))
            });
        }
    }
}

/// a + σ (b − a), rounded down; b for σ = 1.
fn advance(a: f64, b: f64, part: f64) -> f64 {
    if part >= 1.0 { b } else { (a + part * (b - a) * DOWN) * (1.0 - 2.0 * U) }
}

/// A lower bound of the first σ in [0, 1] at which (1 − σ)² c₀ + 2σ(1 − σ) c₁ + σ² c₂ is not positive; 1 when there is none.
///
/// With x = σ/(1 − σ) in [0, ∞): c₀ + 2 c₁ x + c₂ x² = 0, written without differences of like numbers.
fn first_root(c0: f64, c1: f64, c2: f64) -> f64 {
    // A NaN proves nothing.
    let apart = c0 > 0.0;
    if !apart {
        return 0.0;
    }
    if c1 >= 0.0 && c2 >= 0.0 {
        return 1.0;
    }
    let (square, product) = (c1 * c1, c0 * c2);
    // Rounded up: a larger discriminant has an earlier root.
    let discriminant = square - product + 16.0 * U * (square + product.abs());
    if discriminant < 0.0 {
        // c₁² < c₀ c₂ without doubt: no root.
        return 1.0;
    }
    let root = discriminant.sqrt();
    let x = if c1 <= 0.0 { c0 / (root - c1) } else { (c1 + root) / -c2 * (1.0 - 64.0 * U) };
    // An infinite x cannot be trusted, and is not needed.
    if x.is_finite() { (x * DOWN) / (1.0 + x) * DOWN } else { 0.0 }
}

/// (f, g) with f g = 2ᵏ and extent · 2ᵏ in [½, 1], for extent > 0.
fn inverse_power_of_two(extent: f64) -> (f64, f64) {
    // Subnormal numbers first become normal ones.
    let lift = if extent < power_of_two(-900) { power_of_two(200) } else { 1.0 };
    let exponent = ((extent * lift).to_bits() >> 52) as i32 - 1023;
    // extent · lift is in [2ᵉ, 2ᵉ⁺¹): times 2^−(e+1) it is in [½, 1).
    (lift, power_of_two(-(exponent + 1)))
}
