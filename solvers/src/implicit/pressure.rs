//! Balloons in linear systems: every volume couples all its particles, which no sparse matrix should hold.
//!
//! E = (V − V₀)²/(2α) adds u uᵀ/α with u = ∇V to the Hessian. Solved around the sparse factor of A:   [Woodbury]
//! ```text
//!   (A + Σ u uᵀ/α)⁻¹ b = s − Z (α + Uᵀ Z)⁻¹ Uᵀ s,      s = A⁻¹ b,   Z = A⁻¹ U
//! ```
//! The other part of the Hessian, p ∇²V, is left out: it is indefinite, and small beside the tension that balances p.

use pliant_core::backend::Backend;
use pliant_core::field::Field;
use pliant_core::lane::Real;
use pliant_core::model::Model;

use super::nodes::Nodes;
use super::vectors::{add, dot, partials};
use crate::balloon::BalloonLot;

/// Columns of all balloons of a model, three numbers a node.
#[derive(Clone, Debug)]
pub(crate) struct Pressure<S> {
    /// U.
    sides: Vec<Vec<S>>,
    /// Z.
    solved: Vec<Vec<S>>,
    /// α + Uᵀ Z, and Uᵀ s, then what is taken off of every column.
    small: Vec<Vec<f64>>,
    right: Vec<f64>,
    partials: Vec<f64>,
}

impl<S: Real> Pressure<S> {
    pub fn new(model: &Model<S>, nodes: &Nodes) -> Self {
        let count = model.constraints().balloons.len();
        let columns = || vec![vec![S::ZERO; 3 * nodes.len()]; count];
        let (small, right) = (vec![vec![0.0; count]; count], vec![0.0; count]);
        Self { sides: columns(), solved: columns(), small, right, partials: partials(3 * nodes.len()) }
    }

    /// Takes ∇V of every balloon at `x`, and A⁻¹ ∇V by `solve`; returns whether all could be solved.
    pub fn refresh<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        (lots, nodes): (&mut [BalloonLot<S>], &Nodes),
        x: &Field<S>,
        on: &B,
        mut solve: impl FnMut(&mut [S]) -> bool,
    ) -> bool {
        let balloons = &model.constraints().balloons;
        for (k, (lot, balloon)) in lots.iter_mut().zip(balloons).enumerate() {
            lot.gradient(balloon, x, on, |gradient| nodes.read(gradient, S::ONE, &mut self.sides[k], on));
            self.solved[k].copy_from_slice(&self.sides[k]);
            if !solve(&mut self.solved[k]) {
                return false;
            }
        }
        for (k, balloon) in balloons.iter().enumerate() {
            for l in 0..balloons.len() {
                self.small[k][l] = dot(&self.sides[k], &self.solved[l], &mut self.partials, on);
            }
            self.small[k][k] += balloon.compliance.to_f64();
        }
        // L Lᵀ in place: symmetric and positive definite, as A is.
        for k in 0..balloons.len() {
            for l in 0..=k {
                let sum: f64 = (0..l).map(|m| self.small[k][m] * self.small[l][m]).sum();
                let rest = self.small[k][l] - sum;
                self.small[k][l] = if k == l { rest.sqrt() } else { rest / self.small[l][l] };
            }
            if self.small[k][k].is_nan() || self.small[k][k] <= 0.0 {
                return false;
            }
        }
        true
    }

    /// s − Z (α + Uᵀ Z)⁻¹ Uᵀ s in place of s.
    pub fn apply<B: Backend<Scalar = S>>(&mut self, step: &mut [S], on: &B) {
        let count = self.sides.len();
        for k in 0..count {
            let sum: f64 = (0..k).map(|l| self.small[k][l] * self.right[l]).sum();
            self.right[k] = (dot(&self.sides[k], step, &mut self.partials, on) - sum) / self.small[k][k];
        }
        for k in (0..count).rev() {
            let sum: f64 = (k + 1..count).map(|l| self.small[l][k] * self.right[l]).sum();
            self.right[k] = (self.right[k] - sum) / self.small[k][k];
        }
        for (solved, &share) in self.solved.iter().zip(&self.right) {
            add(step, -share, solved, on);
        }
    }
}
