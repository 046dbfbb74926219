//! Other responses to contact: one averaged impulse a pair (R 35–43), and penalty forces.
//!
//! Both are simpler than sequential impulses and do not stack as well; they are here to be compared with.

use pliant_core::lane::{Lane, Real};
use pliant_core::vec3::Vec3;

use super::flight::{Moving, half};
use super::impulses::Terms;
use super::joints::{mobility, solve};
use super::manifold::{Manifold, Point};

/// A point as the bodies stand now; see `impulses` for why both share one point.
struct Now<S> {
    arms: [Vec3<S>; 2],
    gap: S,
    /// How far the second body has moved over the first since the step began \[m\].
    slid: Vec3<S>,
}

impl<S: Real> Now<S> {
    fn new(point: &Point<S>, n: Vec3<S>, a: &Moving<S>, b: &Moving<S>) -> Self {
        let shift = [a, b].map(|body| (half(&body.shift, 0), half(&body.shift, 1)));
        let (ma, mb) = (shift[0].0 + shift[0].1.cross(point.ra), shift[1].0 + shift[1].1.cross(point.rb));
        let (common, moved) = ((ma + mb) * S::from_f64(0.5), mb - ma);
        let away = moved.dot(n);
        Self {
            arms: [point.ra + common - shift[0].0, point.rb + common - shift[1].0],
            gap: point.gap + away,
            slid: moved - n * away,
        }
    }
}

/// Takes note of how far points have crept, for the next step: until now they knew it for the start of this one.
pub(crate) fn keep<S: Real>(manifolds: &mut [Manifold<S>], slots: &[u32], moving: &[Moving<S>]) {
    for manifold in manifolds {
        let [a, b] = manifold.bodies.map(|row| &moving[slots[row as usize] as usize]);
        for point in &mut manifold.points[..manifold.count] {
            point.crept = point.crept + Now::new(point, manifold.n, a, b).slid;
        }
    }
}

/// j on the second body, −j on the first.
fn push<S: Real>(moving: &mut [Moving<S>], places: [usize; 2], arms: [Vec3<S>; 2], j: Vec3<S>) {
    moving[places[0]].push(arms[0], -j);
    moving[places[1]].push(arms[1], j);
}

/// The averaged impulse of R 35–43, corrected: for each manifold the mean of all points that would be inside at the end of the
/// substep gets one impulse, and the deepest overlap is pushed out.
///
/// With e the restitution, μ the friction, K = K_a + K_b and t the direction in which the point slides:
/// ```text
///   sticks   j = K⁻¹ (−e v_n n − v)                    where that is inside the cone |j_t| ≤ μ j_n
///   slides   j = j_n (n − μ t),   j_n = −(1 + e) v_n / (n · K (n − μ t))
/// ```
/// R 32 limits the *change of velocity* along the surface by μ times that along the normal. That is Coulomb's law for a particle,
/// whose K is a multiple of 1; for a body struck beside its centre the law is one of impulses, and the cone above is it.
///
/// Points count as much as they would be inside, not all alike: the mean point then moves with the load, like a centre of pressure,
/// and a box that friction tries to tip leans on its front edge instead of rocking from edge to edge. What sticks goes back to where
/// it began to stick, as in `impulses`. Sliding is then as Coulomb says (a box on an incline: within 0.2 %); sticking is not quite:
/// one impulse leaves a box rocking, friction acts only in the substeps in which it lands, and next to the limit the box creeps by
/// 0.009 m/s.
pub(crate) fn average<S: Real>(
    manifolds: &mut [Manifold<S>],
    slots: &[u32],
    moving: &mut [Moving<S>],
    terms: &Terms<S>,
) {
    for manifold in manifolds {
        let places = manifold.bodies.map(|row| slots[row as usize] as usize);
        let (a, b) = (moving[places[0]], moving[places[1]]);
        let (n, e) = (manifold.n, manifold.restitution);
        let points = &mut manifold.points[..manifold.count];
        let (mut arms, mut deepest, mut total) = ([Vec3::zero(); 2], S::ZERO, S::ZERO);
        let mut crept = Vec3::zero();
        for point in points.iter() {
            let Now { arms: r, gap, slid } = Now::new(point, n, &a, &b);
            let v_n = (b.velocity_at(r[1]) - a.velocity_at(r[0])).dot(n);
            let inside = Lane::max(-(gap + v_n / terms.inv_h), S::ZERO);
            arms = [arms[0] + r[0] * inside, arms[1] + r[1] * inside];
            crept = crept + (point.crept + slid) * inside;
            total = total + inside;
            deepest = Lane::min(deepest, gap);
        }
        if total > S::ZERO {
            let mean = S::ONE / total;
            let arms = arms.map(|r| r * mean);
            let v = b.velocity_at(arms[1]) - a.velocity_at(arms[0]);
            let v_n = v.dot(n);
            // Only when approaching.
            if v_n < S::ZERO {
                let k = mobility(&a, arms[0]) + mobility(&b, arms[1]);
                let mut j = solve(k, -(n * (e * v_n)) - v - crept * (terms.soft[0].rate * mean));
                let asked = j.dot(n);
                let along = j - n * asked;
                if along.length() > manifold.friction * asked {
                    // Against the motion, or where there is none, where the motion would begin.
                    let v_t = v - n * v_n;
                    let way = if v_t.length() > S::ZERO { v_t } else { -along };
                    let pushed = n - way * (way.length().divide_or_zero(manifold.friction));
                    let j_n = (k * pushed).dot(n).divide_or_zero(-(S::ONE + e) * v_n);
                    j = pushed * Lane::max(j_n, S::ZERO);
                    // What slides remembers as much as friction could hold.
                    let held = along.length().divide_or_zero(manifold.friction * Lane::max(asked, S::ZERO));
                    for point in points {
                        let slid = Now::new(point, n, &a, &b).slid;
                        point.crept = (point.crept + slid) * held - slid;
                    }
                }
                push(moving, places, arms, j);
            }
        }
        // c ← c − φ ∇φ (R 43, corrected), shared by mass; without giving speed.
        let out = -(deepest + terms.slop);
        let weights = [a.inv_mass(), b.inv_mass()];
        if out > S::ZERO {
            let share = (weights[0] + weights[1]).divide_or_zero(out);
            moving[places[0]].displace(-(n * (share * weights[0])), S::ZERO);
            moving[places[1]].displace(n * (share * weights[1]), S::ZERO);
        }
    }
}

/// Penalty forces: f_n = max(−k φ − c v_n, 0), and along the surface a spring and damper of the same strength from where the point
/// began to stick, f_t = −k s − c v_t. Where that is more than μ f_n the point slides, and s is what the spring can hold (Cundall
/// and Strack 1979).
pub(crate) fn penalise<S: Real>(
    manifolds: &mut [Manifold<S>],
    slots: &[u32],
    moving: &mut [Moving<S>],
    terms: &Terms<S>,
    [stiffness, damping]: [S; 2],
) {
    let h = S::ONE / terms.inv_h;
    for manifold in manifolds {
        let places = manifold.bodies.map(|row| slots[row as usize] as usize);
        let n = manifold.n;
        for point in &mut manifold.points[..manifold.count] {
            let (a, b) = (moving[places[0]], moving[places[1]]);
            let Now { arms, gap, slid } = Now::new(point, n, &a, &b);
            if gap >= S::ZERO {
                point.crept = -slid;
                continue;
            }
            let v = b.velocity_at(arms[1]) - a.velocity_at(arms[0]);
            let v_n = v.dot(n);
            let j = Lane::max(-(stiffness * gap) - damping * v_n, S::ZERO) * h;
            let (v_t, limit) = (v - n * v_n, manifold.friction * j);
            let asked = ((point.crept + slid) * stiffness + v_t * damping) * h;
            let size = asked.length();
            let held = if size > limit { asked * size.divide_or_zero(limit) } else { asked };
            if size > limit {
                point.crept = (held * terms.inv_h - v_t * damping) * (S::ONE / stiffness) - slid;
            }
            push(moving, places, arms, n * j - held);
        }
    }
}
