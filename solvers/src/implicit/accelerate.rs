//! Acceleration of a fixed-point iteration x ← x + r(x): fewer iterations for a little memory.
//!
//! Projective Dynamics gains a constant number of digits an iteration; what it did in the last few iterations tells how to
//! gain more. All of these only see the proposed steps, so they serve any iteration of that form.

use pliant_core::backend::Backend;
use pliant_core::lane::Real;

use super::vectors::{add, dot, partials};

/// How Projective Dynamics is accelerated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Acceleration {
    /// Not at all.
    #[default]
    None,
    /// The Chebyshev semi-iteration with an estimated spectral radius: costs nothing, gains least.   \[Wang15\]
    Chebyshev,
    /// Anderson mixing over this many earlier steps, taken back whenever it would raise F.   \[Peng18\]
    Anderson(usize),
    /// L-BFGS over this many earlier steps, the constant matrix as first Hessian, with a line search on F. The only choice
    /// that is exact for energies that are no quadratics of their projection.   \[Liu17\]
    Lbfgs(usize),
}

/// Plain iterations before Chebyshev begins: its radius is estimated from the last two.
const WARM_UP: usize = 8;

/// Steps and differences of the iterations before this one.
#[derive(Clone, Debug)]
pub(crate) struct History<S> {
    window: usize,
    /// Rings of past differences: of positions, and of residuals or gradients.
    moved: Vec<Vec<S>>,
    turned: Vec<Vec<S>>,
    /// Products moved·turned (L-BFGS).
    products: Vec<f64>,
    count: usize,
    next: usize,
    /// The residual or gradient of the iteration before.
    last: Vec<S>,
    /// The step taken there.
    step: Vec<S>,
    iteration: usize,
    last_size: f64,
    omega: f64,
    radius: f64,
    partials: Vec<f64>,
}

impl<S: Real> History<S> {
    /// Room for vectors of this length.
    pub fn new(length: usize, acceleration: Acceleration) -> Self {
        let window = match acceleration {
            Acceleration::None | Acceleration::Chebyshev => 0,
            Acceleration::Anderson(window) | Acceleration::Lbfgs(window) => window.clamp(1, 16),
        };
        let zeros = || vec![S::ZERO; length];
        let kept = if acceleration == Acceleration::None { 0 } else { length };
        Self {
            window,
            moved: (0..window).map(|_| zeros()).collect(),
            turned: (0..window).map(|_| zeros()).collect(),
            products: vec![0.0; window],
            count: 0,
            next: 0,
            last: vec![S::ZERO; kept],
            step: vec![S::ZERO; kept],
            iteration: 0,
            last_size: 0.0,
            omega: 1.0,
            radius: 0.0,
            partials: partials(length),
        }
    }

    /// Forgets everything, for another step.
    pub fn restart(&mut self) {
        (self.count, self.next, self.iteration, self.omega) = (0, 0, 0, 1.0);
    }

    /// Records the step that was taken from the last iterate, `share` of `step`.
    pub fn took<B: Backend<Scalar = S>>(&mut self, step: &[S], share: f64, on: &B) {
        self.step.fill(S::ZERO);
        add(&mut self.step, share, step, on);
    }

    /// Files the differences since the last iterate; `now` is the residual or gradient here.
    fn file<B: Backend<Scalar = S>>(&mut self, now: &[S], on: &B) {
        if self.iteration > 0 {
            let at = self.next;
            self.moved[at].copy_from_slice(&self.step);
            self.turned[at].copy_from_slice(now);
            add(&mut self.turned[at], -1.0, &self.last, on);
            self.products[at] = dot(&self.moved[at], &self.turned[at], &mut self.partials, on);
            self.next = (at + 1) % self.window;
            self.count = (self.count + 1).min(self.window);
        }
        self.last.copy_from_slice(now);
        self.iteration += 1;
    }

    /// Places of the ring, the newest first.
    fn newest_first(&self) -> impl DoubleEndedIterator<Item = usize> + use<S> {
        let (next, window) = (self.next, self.window.max(1));
        (1..=self.count).map(move |back| (next + window - back) % window)
    }

    /// Chebyshev: the step ω r + (ω − 1) p, with p the step before.   [Wang15, eq. 11]
    pub fn chebyshev<B: Backend<Scalar = S>>(&mut self, r: &mut [S], on: &B) {
        let size = dot(r, r, &mut self.partials, on).sqrt();
        let k = self.iteration;
        if k > 0 && size > 2.0 * self.last_size {
            // It overshoots: begin again, more carefully.
            (self.omega, self.radius) = (1.0, self.radius * 0.9);
            self.iteration = WARM_UP;
        } else if k == WARM_UP {
            self.radius = (size / self.last_size.max(f64::MIN_POSITIVE)).min(0.9995);
            self.omega = 2.0 / (2.0 - self.radius * self.radius);
        } else if k > WARM_UP {
            self.omega = 4.0 / (4.0 - self.radius * self.radius * self.omega);
        }
        if self.iteration >= WARM_UP && self.omega > 1.0 {
            let omega = S::from_f64(self.omega);
            let ratio = S::from_f64(self.omega - 1.0);
            for (r, &p) in r.iter_mut().zip(&self.step) {
                *r = *r * omega + p * ratio;
            }
        }
        self.step.copy_from_slice(r);
        self.last_size = size;
        self.iteration += 1;
    }

    /// Anderson: the step r − Σ γⱼ (Δxⱼ + Δrⱼ) with γ minimising |r − Σ γⱼ Δrⱼ|, into `mixed`; false when it is just r.
    pub fn anderson<B: Backend<Scalar = S>>(&mut self, r: &[S], mixed: &mut [S], on: &B) -> bool {
        self.file(r, on);
        mixed.copy_from_slice(r);
        let places: [usize; 16] = {
            let mut places = [0; 16];
            self.newest_first().enumerate().for_each(|(i, p)| places[i] = p);
            places
        };
        let (m, places) = (self.count, &places[..self.count]);
        let (mut matrix, mut right) = ([[0.0; 16]; 16], [0.0; 16]);
        for (i, &a) in places.iter().enumerate() {
            for (j, &b) in places.iter().enumerate().take(i + 1) {
                matrix[i][j] = dot(&self.turned[a], &self.turned[b], &mut self.partials, on);
                matrix[j][i] = matrix[i][j];
            }
            right[i] = dot(&self.turned[a], r, &mut self.partials, on);
        }
        // A little weight on the diagonal keeps nearly parallel differences apart.
        for i in 0..m {
            matrix[i][i] *= 1.0 + 1e-10;
        }
        if m == 0 || !solve_small(&mut matrix, &mut right, m) {
            return false;
        }
        for (i, &p) in places.iter().enumerate() {
            add(mixed, -right[i], &self.moved[p], on);
            add(mixed, -right[i], &self.turned[p], on);
        }
        true
    }

    /// L-BFGS, first half: turns the gradient g in `q` into what the first Hessian is solved with.
    pub fn lbfgs_before<B: Backend<Scalar = S>>(&mut self, q: &mut [S], weights: &mut [f64; 16], on: &B) {
        self.file(q, on);
        for p in self.newest_first() {
            // A difference against the curvature condition would make the Hessian indefinite: skip it.
            if self.products[p] > 0.0 {
                weights[p] = dot(&self.moved[p], q, &mut self.partials, on) / self.products[p];
                add(q, -weights[p], &self.turned[p], on);
            }
        }
    }

    /// L-BFGS, second half: turns the solution in `q` into H g.
    pub fn lbfgs_after<B: Backend<Scalar = S>>(&mut self, q: &mut [S], weights: &[f64; 16], on: &B) {
        for p in self.newest_first().rev() {
            if self.products[p] > 0.0 {
                let beta = dot(&self.turned[p], q, &mut self.partials, on) / self.products[p];
                add(q, weights[p] - beta, &self.moved[p], on);
            }
        }
    }

    /// The product of a vector with the residual or gradient of this iteration.
    pub fn product_with_filed<B: Backend<Scalar = S>>(&mut self, a: &[S], on: &B) -> f64 {
        dot(a, &self.last, &mut self.partials, on)
    }
}

/// Gaussian elimination with row exchanges; false when singular.
fn solve_small(matrix: &mut [[f64; 16]; 16], right: &mut [f64; 16], m: usize) -> bool {
    for k in 0..m {
        let Some(pivot) = (k..m).max_by(|&a, &b| matrix[a][k].abs().total_cmp(&matrix[b][k].abs())) else {
            return false;
        };
        matrix.swap(k, pivot);
        right.swap(k, pivot);
        if matrix[k][k] == 0.0 || !matrix[k][k].is_finite() {
            return false;
        }
        for i in k + 1..m {
            let factor = matrix[i][k] / matrix[k][k];
            for j in k..m {
                matrix[i][j] -= factor * matrix[k][j];
            }
            right[i] -= factor * right[k];
        }
    }
    for k in (0..m).rev() {
        for j in k + 1..m {
            right[k] -= matrix[k][j] * right[j];
        }
        right[k] /= matrix[k][k];
    }
    right[..m].iter().all(|v| v.is_finite())
}
