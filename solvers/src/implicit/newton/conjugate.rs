//! The linear systems of Newton's method under a barrier: conjugate gradients around the factor that never changes its pattern.

use pliant_core::backend::Backend;
use pliant_core::energy::Curvature;
use pliant_core::model::Model;
use pliant_core::vec3::Vec3;

use super::super::energies::Energies;
use super::super::nodes::PINNED;
use super::apart::Apart;
use super::{Engine, Hessian, Solved};
use crate::apart::term::vector;
use crate::linear::{Dense, Pattern};

/// Conjugate gradients end at this part of the first residual, or after so many rounds.
const CLOSE: f64 = 1e-2;
const ROUNDS: usize = 200;

/// q ← A p for a symmetric matrix of 3 × 3 blocks, by columns of its lower triangle.
fn product<S: Dense>(pattern: &Pattern, values: &[S], p: &[Vec3<f64>], q: &mut [Vec3<f64>]) {
    q.fill(Vec3::zero());
    for place in 0..pattern.node_count() {
        let column = pattern.node(place) as usize;
        for (below, entry) in pattern.column_entries(place) {
            let row = pattern.node(below) as usize;
            let b = &values[9 * entry..9 * entry + 9];
            let c: [Vec3<f64>; 3] = [0, 3, 6].map(|k| vector([b[k], b[k + 1], b[k + 2]]));
            let x = p[column];
            q[row] = q[row] + (c[0] * x.x + c[1] * x.y + c[2] * x.z);
            if row != column {
                let y = p[row];
                q[column] = q[column] + Vec3::new(c[0].dot(y), c[1].dot(y), c[2].dot(y));
            }
        }
    }
}

fn dot(a: &[Vec3<f64>], b: &[Vec3<f64>]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

impl<S: Dense> Engine<S> {
    /// Assembles and solves for the step: exact, convex, shifted, as without a barrier.
    pub(super) fn direction_apart<B: Backend<Scalar = S>>(
        &mut self,
        apart: &mut Apart<S>,
        (model, extra, hessian): (&Model<S>, &impl Energies<S>, Hessian),
        on: &B,
    ) -> Option<Solved> {
        let mut done = Solved::default();
        let cautious = hessian == Hessian::Adaptive && self.cautious > 0;
        self.cautious = self.cautious.saturating_sub(1);
        let exact = hessian != Hessian::Convex && !cautious;
        let mut curvature = if exact { Curvature::Exact } else { Curvature::Convex };
        done.projected = cautious;
        let mut shift = 0.0;
        while shift < 1e8 {
            self.assemble(model, extra, curvature, S::from_f64(shift), on);
            done.attempts += 1;
            self.weigh(apart);
            if self.linear.refresh(&apart.values, on).is_ok() && self.conjugate(apart, on) {
                return Some(done);
            }
            if hessian == Hessian::Adaptive && curvature == Curvature::Exact {
                (curvature, done.projected, self.cautious) = (Curvature::Convex, true, 2);
            } else {
                (shift, done.shifted) = (if shift == 0.0 { 1.0 } else { 4.0 * shift }, true);
            }
        }
        None
    }

    /// Conjugate gradients for `step`; whether the matrix was positive along every direction. An early end is no failure: any
    /// iterate is a direction of descent.
    fn conjugate<B: Backend<Scalar = S>>(&mut self, apart: &mut Apart<S>, on: &B) -> bool {
        let count = apart.solution.len();
        apart.solution.fill(Vec3::zero());
        for (node, residual) in apart.residual.iter_mut().enumerate() {
            *residual = vector([self.right[3 * node], self.right[3 * node + 1], self.right[3 * node + 2]]);
        }
        if !self.linear.is_direct() {
            self.find_diagonal(apart);
        }
        if !self.precondition(apart, on) {
            return false;
        }
        apart.search.copy_from_slice(&apart.solved);
        let mut rho = dot(&apart.residual, &apart.solved);
        let enough = CLOSE * CLOSE * rho;
        for _ in 0..ROUNDS {
            if rho <= enough || rho <= 0.0 {
                break;
            }
            product(&self.pattern, &self.values, &apart.search, &mut apart.image);
            apart.multiply();
            let bend = dot(&apart.search, &apart.image);
            if bend <= 0.0 || !bend.is_finite() {
                return false;
            }
            let length = rho / bend;
            for node in 0..count {
                apart.solution[node] = apart.solution[node] + apart.search[node] * length;
                apart.residual[node] = apart.residual[node] - apart.image[node] * length;
            }
            if !self.precondition(apart, on) {
                return false;
            }
            let next = dot(&apart.residual, &apart.solved);
            let turn = next / rho;
            rho = next;
            for node in 0..count {
                apart.search[node] = apart.solved[node] + apart.search[node] * turn;
            }
        }
        for (to, from) in self.step.as_chunks_mut::<3>().0.iter_mut().zip(&apart.solution) {
            *to = [from.x, from.y, from.z].map(S::from_f64);
        }
        rho.is_finite()
    }

    /// `solved` ← the residual through the factor of ∇²F, or over its diagonal where there is none.
    fn precondition<B: Backend<Scalar = S>>(&mut self, apart: &mut Apart<S>, on: &B) -> bool {
        if !self.linear.is_direct() {
            for node in 0..apart.solved.len() {
                apart.solved[node] = apart.residual[node] * apart.diagonal[node];
            }
            return true;
        }
        for (to, from) in self.step.as_chunks_mut::<3>().0.iter_mut().zip(&apart.residual) {
            *to = [from.x, from.y, from.z].map(S::from_f64);
        }
        if self.linear.solve(&apart.values, &mut self.step, on).is_err() {
            return false;
        }
        for (to, &from) in apart.solved.iter_mut().zip(self.step.as_chunks::<3>().0) {
            *to = vector(from);
        }
        true
    }

    /// ∇²F with the diagonal blocks of the pairs: what is factored.
    ///
    /// With them ten layers take 8 rounds of conjugate gradients an iteration instead of 19, a wrung strip 51 instead of 40.
    fn weigh(&self, apart: &mut Apart<S>) {
        let Apart { values, term, nodes, .. } = apart;
        values.clear();
        values.extend_from_slice(&self.values);
        term.visit_blocks(|vertex, block| {
            let node = nodes[vertex as usize];
            if node != PINNED {
                let at = 9 * self.pattern.diagonal(node);
                for (column, numbers) in block.iter().enumerate() {
                    for (row, &more) in numbers.iter().enumerate() {
                        let value = &mut values[at + 3 * column + row];
                        *value = S::from_f64(value.to_f64() + more);
                    }
                }
            }
        });
    }

    fn find_diagonal(&self, apart: &mut Apart<S>) {
        apart.bounds.fill(0.0);
        apart.term.add_diagonal(&mut apart.bounds);
        for (node, d) in apart.diagonal.iter_mut().enumerate() {
            let at = 9 * self.pattern.diagonal(node as u32);
            *d = (self.values[at].to_f64() + self.values[at + 4].to_f64() + self.values[at + 8].to_f64()) / 3.0;
        }
        for (more, &node) in apart.bounds.iter().zip(&apart.nodes).filter(|(_, node)| **node != PINNED) {
            apart.diagonal[node as usize] += more;
        }
        for d in &mut apart.diagonal {
            *d = if *d > 0.0 { 1.0 / *d } else { 1.0 };
        }
    }
}
