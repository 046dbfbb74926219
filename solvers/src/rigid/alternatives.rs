//! Other responses to contact: one averaged impulse a pair (R 35–43), and penalty forces.
//!
//! Both are simpler than sequential impulses and do not stack as well; they are here to be compared with.

use pliant_core::lane::{Lane, Real};
use pliant_core::vec3::Vec3;

use super::flight::{Moving, half};
use super::joints::{mobility, solve};
use super::manifold::{Manifold, Point};

/// Arms and gap of a point as the bodies stand now; see `impulses` for why both share one point.
fn now<S: Real>(point: &Point<S>, n: Vec3<S>, a: &Moving<S>, b: &Moving<S>) -> ([Vec3<S>; 2], S) {
    let shift = [a, b].map(|body| (half(&body.shift, 0), half(&body.shift, 1)));
    let (ma, mb) = (shift[0].0 + shift[0].1.cross(point.ra), shift[1].0 + shift[1].1.cross(point.rb));
    let common = (ma + mb) * S::from_f64(0.5);
    ([point.ra + common - shift[0].0, point.rb + common - shift[1].0], point.gap + (mb - ma).dot(n))
}

/// j on the second body, −j on the first.
fn push<S: Real>(moving: &mut [Moving<S>], places: [usize; 2], arms: [Vec3<S>; 2], j: Vec3<S>) {
    moving[places[0]].push(arms[0], -j);
    moving[places[1]].push(arms[1], j);
}

/// The averaged impulse of R 35–43, corrected: for each manifold the mean of all overlapping points gets the impulse that gives it
/// the velocity of a bounce with friction, j = K⁻¹ (v_new − v), K = K_a + K_b; the deepest overlap is pushed out.
///
/// One impulse cannot hold a face still: bodies rock between their corners, and sliding friction comes out up to a fifth too
/// strong (a box on an incline).
pub(crate) fn average<S: Real>(manifolds: &[Manifold<S>], slots: &[u32], moving: &mut [Moving<S>], inv_h: S, slop: S) {
    for manifold in manifolds {
        let places = manifold.bodies.map(|row| slots[row as usize] as usize);
        let (a, b) = (moving[places[0]], moving[places[1]]);
        let n = manifold.n;
        let (mut arms, mut deepest, mut count) = ([Vec3::zero(); 2], S::ZERO, S::ZERO);
        for point in &manifold.points[..manifold.count] {
            let (r, gap) = now(point, n, &a, &b);
            let v_n = (b.velocity_at(r[1]) - a.velocity_at(r[0])).dot(n);
            // Inside, or inside before the substep ends.
            if gap + v_n / inv_h < S::ZERO {
                arms = [arms[0] + r[0], arms[1] + r[1]];
                count = count + S::ONE;
            }
            deepest = Lane::min(deepest, gap);
        }
        if count > S::ZERO {
            let arms = arms.map(|r| r * (S::ONE / count));
            let v = b.velocity_at(arms[1]) - a.velocity_at(arms[0]);
            let v_n = v.dot(n);
            // Only when approaching (R 32, corrected): v_N ← −e v_N, v_T ← max(1 − μ(1 + e)|v_N|/|v_T|, 0) v_T.
            if v_n < S::ZERO {
                let v_t = v - n * v_n;
                let lost = manifold.friction * (S::ONE + manifold.restitution) * -v_n;
                let kept = Lane::max(S::ONE - v_t.length().divide_or_zero(lost), S::ZERO);
                let kept = if v_t.length() > S::ZERO { kept } else { S::ZERO };
                let new = v_t * kept - n * (manifold.restitution * v_n);
                let k = mobility(&a, arms[0]) + mobility(&b, arms[1]);
                push(moving, places, arms, solve(k, new - v));
            }
        }
        // c ← c − φ ∇φ (R 43, corrected), shared by mass; without giving speed.
        let out = -(deepest + slop);
        let weights = [a.inv_mass(), b.inv_mass()];
        if out > S::ZERO {
            let share = (weights[0] + weights[1]).divide_or_zero(out);
            moving[places[0]].displace(-(n * (share * weights[0])), S::ZERO);
            moving[places[1]].displace(n * (share * weights[1]), S::ZERO);
        }
    }
}

/// Penalty forces: f_n = max(−k φ − c v_n, 0), friction up to μ f_n against the motion along the surface.
pub(crate) fn penalise<S: Real>(
    manifolds: &[Manifold<S>],
    slots: &[u32],
    moving: &mut [Moving<S>],
    h: S,
    [stiffness, damping]: [S; 2],
) {
    for manifold in manifolds {
        let places = manifold.bodies.map(|row| slots[row as usize] as usize);
        let n = manifold.n;
        for point in &manifold.points[..manifold.count] {
            let (a, b) = (moving[places[0]], moving[places[1]]);
            let (arms, gap) = now(point, n, &a, &b);
            if gap >= S::ZERO {
                continue;
            }
            let v = b.velocity_at(arms[1]) - a.velocity_at(arms[0]);
            let v_n = v.dot(n);
            let j = Lane::max(-(stiffness * gap) - damping * v_n, S::ZERO) * h;
            let v_t = v - n * v_n;
            let slip = v_t.length();
            // At most what stops the point.
            let t = v_t * slip.divide_or_zero(S::ONE);
            let k = (mobility(&a, arms[0]) * t + mobility(&b, arms[1]) * t).dot(t);
            let drag = Lane::min(manifold.friction * j, k.divide_or_zero(slip));
            push(moving, places, arms, n * j - t * drag);
        }
    }
}
