//! The barrier between surfaces and friction along them, as terms of an objective.
//!
//! ```text
//!   B(x) = κ Σ b(d)                            ∂d/∂xᵢ = wᵢ n                                  [METHODS 10; Li20]
//!   D(x) = Σ μ λ f₀(|u|)                       u = (1 − n nᵀ) Σ wᵢ (xᵢ − xᵢ⁰)
//!   f₁(y) = f₀'(y) = 2y/ε − y²/ε² below ε, then 1: sticking is sliding by less than ε
//! ```
//! b acts within the reach of a pair. Friction is lagged: n, w and the load λ = −κ b'(d) are those of an earlier state, so
//! that D is an energy; that of the start at first, then a few times that of the minimum found. Of the Hessians the convex parts are
//! kept, κ b'' ∇d ∇dᵀ and μ λ f₁/|u| (1 − n nᵀ).

use pliant_core::collide::Candidate;
use pliant_core::collide::barrier::barrier;
use pliant_core::collide::distance::Closest;
use pliant_core::columns::Columns;
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::vec3::Vec3;

use crate::contact::{pair_friction, pair_thickness};

/// Slip that counts as sticking, as a share of the reach, and the speed of it at the most \[m/s\]: what sticks must not creep, however
/// short a step is.
const SLIP: f64 = 2e-3;
const CREEP: f64 = 5e-4;
/// How often a step looks at friction: with the loads it begins with, and with those it finds.
pub(crate) const LAGS: usize = 4;

/// A pair within reach of the barrier.
#[derive(Clone, Copy, Debug)]
struct Row {
    corners: [u32; 4],
    /// ∇d at each corner.
    gradient: [Vec3<f64>; 4],
    slope: f64,
    curvature: f64,
}

/// A pair that was pressed together when friction was last looked at.
#[derive(Clone, Copy, Debug)]
struct Slide {
    corners: [u32; 4],
    weights: [f64; 4],
    normal: Vec3<f64>,
    /// μ λ: the most that friction holds.
    load: f64,
    slip: f64,
    /// Σ wᵢ xᵢ⁰.
    from: Vec3<f64>,
    /// μ λ f₁/|u| and u, at the place that was last differentiated.
    hold: f64,
    u: Vec3<f64>,
}

impl Slide {
    fn travel<S: Real>(&self, x: &Columns<S>) -> Vec3<f64> {
        let mut r = -self.from;
        for k in 0..4 {
            r = r + vector(x.get(self.corners[k] as usize)) * self.weights[k];
        }
        r - self.normal * self.normal.dot(r)
    }

    fn value(&self, length: f64) -> f64 {
        let (y, e) = (length, self.slip);
        self.load * if y < e { y * y / e - y * y * y / (3.0 * e * e) + e / 3.0 } else { y }
    }

    fn hold_at(&self, length: f64) -> f64 {
        let (y, e) = (length, self.slip);
        self.load * if y < e { 2.0 / e - y / (e * e) } else { 1.0 / y }
    }
}

/// Where a pair's barrier begins \[m\], and its friction.
#[derive(Clone, Copy, Debug)]
struct Bound {
    reach: f64,
    friction: f64,
}

/// Pairs of surfaces that are near, in terms of energies; sums run in the order of the pairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Term {
    rows: Vec<Row>,
    bounds: Vec<Bound>,
    slides: Vec<Slide>,
}

impl Term {
    /// Takes the pairs that may be within `share` of their thickness.
    pub fn take<S: Real>(&mut self, model: &Model<S>, near: &[Candidate], share: f64) {
        self.bounds.clear();
        let bound = |pair| Bound { reach: share * pair_thickness(model, pair), friction: pair_friction(model, pair) };
        self.bounds.extend(near.iter().map(bound));
    }

    /// B + D at `x`.
    pub fn value<S: Real>(&self, near: &[Candidate], x: &Columns<S>, kappa: f64) -> f64 {
        let mut sum = 0.0;
        for (candidate, bound) in near.iter().zip(&self.bounds) {
            sum += kappa * barrier(closest(candidate, x).distance_sq.sqrt(), bound.reach).value;
        }
        sum + self.slides.iter().map(|slide| slide.value(slide.travel(x).length())).sum::<f64>()
    }

    /// Those pairs that are within the reach of their barrier at `x`, by more than `margin` \[m\].
    pub fn pressed<'a, S: Real>(
        &'a self,
        near: &'a [Candidate],
        x: &'a Columns<S>,
        margin: f64,
    ) -> impl Iterator<Item = &'a Candidate> {
        let bounds = near.iter().zip(&self.bounds);
        let inside =
            move |(pair, bound): &(&Candidate, &Bound)| closest(pair, x).distance_sq.sqrt() < bound.reach - margin;
        bounds.filter(inside).map(|(pair, _)| pair)
    }

    /// Looks at friction again: who is pressed together at `x` resists having left `start` a time of `h` ago, as hard as it is
    /// pressed. Returns whether anybody is.
    pub fn lag<S: Real>(&mut self, near: &[Candidate], x: &Columns<S>, start: &Columns<S>, kappa: f64, h: f64) -> bool {
        self.slides.clear();
        for (candidate, bound) in near.iter().zip(&self.bounds) {
            let now = closest(candidate, x);
            let distance = now.distance_sq.sqrt();
            if !(distance > 0.0 && distance < bound.reach && bound.friction > 0.0) {
                continue;
            }
            let load = -bound.friction * kappa * barrier(distance, bound.reach).slope;
            let mut from = Vec3::zero();
            for k in 0..4 {
                from = from + vector(start.get(candidate.corners[k] as usize)) * now.weights[k];
            }
            self.slides.push(Slide {
                corners: candidate.corners,
                weights: now.weights,
                normal: now.between * (1.0 / distance),
                load,
                slip: (SLIP * bound.reach).min(CREEP * h),
                from,
                hold: 0.0,
                u: Vec3::zero(),
            });
        }
        !self.slides.is_empty()
    }

    /// Forgets friction.
    pub fn release(&mut self) {
        self.slides.clear();
    }

    /// Derivatives at `x`.
    pub fn differentiate<S: Real>(&mut self, near: &[Candidate], x: &Columns<S>, kappa: f64) {
        self.rows.clear();
        for (candidate, bound) in near.iter().zip(&self.bounds) {
            let now = closest(candidate, x);
            let distance = now.distance_sq.sqrt();
            if !(distance > 0.0 && distance < bound.reach) {
                continue;
            }
            let b = barrier(distance, bound.reach);
            let n = now.between * (1.0 / distance);
            self.rows.push(Row {
                corners: candidate.corners,
                gradient: now.weights.map(|w| n * w),
                slope: kappa * b.slope,
                curvature: kappa * b.curvature,
            });
        }
        for slide in &mut self.slides {
            slide.u = slide.travel(x);
            slide.hold = slide.hold_at(slide.u.length());
        }
    }

    /// Takes friction for as stiff as it would be at `x`, in the Hessian; gradients are to be added before.
    pub fn loosen<S: Real>(&mut self, x: &Columns<S>) {
        for slide in &mut self.slides {
            slide.hold = slide.hold_at(slide.travel(x).length());
        }
    }

    /// Adds ∇B + ∇D, one vector a vertex.
    pub fn add_gradient(&self, to: &mut [Vec3<f64>]) {
        for row in &self.rows {
            for k in 0..4 {
                let at = row.corners[k] as usize;
                to[at] = to[at] + row.gradient[k] * row.slope;
            }
        }
        for slide in &self.slides {
            for k in 0..4 {
                let at = slide.corners[k] as usize;
                to[at] = to[at] + slide.u * (slide.hold * slide.weights[k]);
            }
        }
    }

    /// Adds a bound on the diagonal blocks of the Hessian, one number a vertex.
    pub fn add_diagonal(&self, to: &mut [f64]) {
        for row in &self.rows {
            for k in 0..4 {
                to[row.corners[k] as usize] += row.curvature * row.gradient[k].length_sq();
            }
        }
        for slide in &self.slides {
            for k in 0..4 {
                to[slide.corners[k] as usize] += slide.hold * slide.weights[k] * slide.weights[k];
            }
        }
    }

    /// Visits the diagonal blocks of the Hessian: vertex and block.
    #[cfg(feature = "newton")]
    pub fn visit_blocks(&self, mut visit: impl FnMut(u32, [[f64; 3]; 3])) {
        for row in &self.rows {
            for k in 0..4 {
                let g: [f64; 3] = row.gradient[k].into();
                visit(row.corners[k], g.map(|a| g.map(|b| row.curvature * a * b)));
            }
        }
        for slide in &self.slides {
            let n: [f64; 3] = slide.normal.into();
            let mut block = n.map(|a| n.map(|b| -a * b));
            (0..3).for_each(|k| block[k][k] += 1.0);
            for k in 0..4 {
                let scale = slide.hold * slide.weights[k] * slide.weights[k];
                visit(slide.corners[k], block.map(|column| column.map(|b| scale * b)));
            }
        }
    }

    /// q ← q + (∇²B + ∇²D) p.
    pub fn multiply(&self, p: &[Vec3<f64>], q: &mut [Vec3<f64>]) {
        for row in &self.rows {
            let mut along = 0.0;
            for k in 0..4 {
                along += row.gradient[k].dot(p[row.corners[k] as usize]);
            }
            for k in 0..4 {
                let at = row.corners[k] as usize;
                q[at] = q[at] + row.gradient[k] * (row.curvature * along);
            }
        }
        for slide in &self.slides {
            let mut r = Vec3::zero();
            for k in 0..4 {
                r = r + p[slide.corners[k] as usize] * slide.weights[k];
            }
            let held = (r - slide.normal * slide.normal.dot(r)) * slide.hold;
            for k in 0..4 {
                let at = slide.corners[k] as usize;
                q[at] = q[at] + held * slide.weights[k];
            }
        }
    }
}

pub(crate) fn vector<S: Real>(x: [S; 3]) -> Vec3<f64> {
    Vec3::from(x).to_double()
}

pub(crate) fn closest<S: Real>(candidate: &Candidate, x: &Columns<S>) -> Closest<f64> {
    candidate.pair.closest(&candidate.corners.map(|v| vector(x.get(v as usize))))
}
