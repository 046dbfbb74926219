//! Shape matching passes, for the solver of their own (`solver.rs`) and inside the sweeps of PBD and XPBD.
//!
//! A pass is four forks: sums over chunks of members, the shapes that fit the sums, pulls towards the goals, and the sum of
//! its pulls for every particle. Nothing depends on the number of threads: chunks are added in order, pulls too.

mod desk;
mod solver;

pub use solver::{ShapeMatching, ShapeMatchingOptions};

use pliant_core::backend::Backend;
use pliant_core::error::BuildError;
use pliant_core::field::Field;
use pliant_core::lane::Real;
use pliant_core::model::Model;

use desk::Desk;

/// What passes over the clusters of a model need, plastic deformations included.
#[derive(Clone, Debug)]
pub(crate) struct Matching<S> {
    plain: Desk<S, 0>,
    quadratic: Desk<S, 6>,
    tuned: Option<(S, usize)>,
    empty: bool,
}

impl<S: Real> Matching<S> {
    /// Scratch for a model's clusters.
    pub fn new(model: &Model<S>) -> Self {
        let (clusters, plan) = (model.clusters(), model.plan());
        Self {
            plain: Desk::new(&clusters.plain, plan),
            quadratic: Desk::new(&clusters.quadratic, plan),
            tuned: None,
            empty: clusters.is_empty(),
        }
    }

    /// Goes back to the plastic deformations of the last step that succeeded, and makes stiffness fit a substep of `h` \[s\]
    /// with this many passes.
    pub fn begin(&mut self, model: &Model<S>, h: S, passes: usize) {
        self.plain.restore();
        self.quadratic.restore();
        if self.tuned != Some((h, passes)) {
            // What is left of the way after a sixtieth of a second is 1 − k: n passes of k' leave (1 − k')ⁿ.
            let exponent = 60.0 * h.to_f64() / passes as f64;
            let stiffness = |k: f64| S::from_f64(1.0 - (1.0 - k).powf(exponent));
            self.plain.tune(&model.clusters().plain, stiffness);
            self.quadratic.tune(&model.clusters().quadratic, stiffness);
            self.tuned = Some((h, passes));
        }
    }

    /// One pass: every particle goes towards its goals. The first pass of a substep of `h` \[s\] lets rest shapes flow.
    pub fn pass<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, x: &mut Field<S>, flow: Option<S>, on: &B) {
        if self.empty {
            return;
        }
        let clusters = model.clusters();
        self.plain.measure(&clusters.plain, x, flow, on);
        self.quadratic.measure(&clusters.quadratic, x, flow, on);
        self.plain.apply(x, on);
        self.quadratic.apply(x, on);
    }

    /// Keeps the plastic deformations; called when a step succeeded.
    pub fn arrive(&mut self) {
        self.plain.keep();
        self.quadratic.keep();
    }
}

/// Clusters a pass goes over.
pub(crate) fn count<S: Real>(model: &Model<S>) -> usize {
    model.clusters().len()
}

/// Clusters are projections: methods of forces and energies cannot carry them.
pub(crate) fn refuse<S: Real>(model: &Model<S>) -> Result<(), BuildError> {
    let reason = "clusters are projected, not forces; use PBD, XPBD by sweeps, or shape matching";
    let refusal = BuildError::Unsupported { what: "cluster", row: 0, reason };
    if model.clusters().is_empty() { Ok(()) } else { Err(refusal) }
}
