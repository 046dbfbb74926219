//! Shape matching passes, for the solver of their own (`solver.rs`) and inside the sweeps of PBD and XPBD.
//!
//! A pass finds sums over the members of clusters, the shapes that fit the sums, pulls towards the goals, and the sum of its
//! pulls for every particle (`kernels.rs`, on the memory of `desk.rs`). Nothing depends on the number of threads: chunks are
//! added in order, pulls too.

mod desk;
mod kernels;
mod solver;

pub use solver::{ShapeMatching, ShapeMatchingOptions};

use pliant_core::backend::Backend;
use pliant_core::error::BuildError;
use pliant_core::field::Field;
use pliant_core::lane::Real;
use pliant_core::mat3::Mat3;
use pliant_core::matching::Dent;
use pliant_core::model::Model;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};

use desk::Desk;

/// What passes over the clusters of a model need, plastic deformations included.
#[derive(Clone, Debug)]
pub(crate) struct Matching<S> {
    plain: [Desk<S, 0>; 2],
    quadratic: [Desk<S, 6>; 2],
    tuned: Option<(S, usize)>,
    empty: bool,
    plastic: bool,
}

impl<S: Real> Matching<S> {
    /// Scratch for a model's clusters.
    pub fn new(model: &Model<S>) -> Self {
        let (clusters, plan) = (model.clusters(), model.plan());
        let [whole, cut] = &clusters.plain;
        let [whole_quadratic, cut_quadratic] = &clusters.quadratic;
        Self {
            plain: [Desk::new(whole, plan, true), Desk::new(cut, plan, false)],
            quadratic: [Desk::new(whole_quadratic, plan, true), Desk::new(cut_quadratic, plan, false)],
            tuned: None,
            empty: clusters.is_empty(),
            plastic: clusters.is_plastic(),
        }
    }

    /// Goes back to the plastic deformations of the last step that succeeded, and makes stiffness fit a substep of `h` \[s\]
    /// with this many passes.
    pub fn begin(&mut self, model: &Model<S>, h: S, passes: usize) {
        if self.plastic {
            self.plain.iter_mut().for_each(Desk::restore);
            self.quadratic.iter_mut().for_each(Desk::restore);
        }
        if self.tuned != Some((h, passes)) {
            // What is left of the way after a sixtieth of a second is 1 − k: n passes of k' leave (1 − k')ⁿ.
            let exponent = 60.0 * h.to_f64() / passes as f64;
            let stiffness = |k: f64| S::from_f64(1.0 - (1.0 - k).powf(exponent));
            let clusters = model.clusters();
            self.plain.iter_mut().zip(&clusters.plain).for_each(|(desk, bundle)| desk.tune(bundle, stiffness));
            self.quadratic.iter_mut().zip(&clusters.quadratic).for_each(|(desk, bundle)| desk.tune(bundle, stiffness));
            self.tuned = Some((h, passes));
        }
    }

    /// One pass: every particle goes towards its goals. The first pass of a substep of `h` \[s\] lets rest shapes flow.
    pub fn pass<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, x: &mut Field<S>, flow: Option<S>, on: &B) {
        if self.empty {
            return;
        }
        // All pulls are found before any particle moves.
        let clusters = model.clusters();
        self.plain.iter_mut().zip(&clusters.plain).for_each(|(desk, bundle)| desk.measure(bundle, x, flow, on));
        self.quadratic.iter_mut().zip(&clusters.quadratic).for_each(|(desk, bundle)| desk.measure(bundle, x, flow, on));
        self.plain.iter().for_each(|desk| desk.apply(x, on));
        self.quadratic.iter().for_each(|desk| desk.apply(x, on));
    }

    /// Writes the plastic deformations down.
    pub fn remember(&self, to: &mut Writer) {
        if self.plastic {
            self.plain.iter().for_each(|desk| desk.remember(to));
            self.quadratic.iter().for_each(|desk| desk.remember(to));
        }
    }
    /// Takes them back.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        if self.plastic {
            self.plain.iter_mut().try_for_each(|desk| desk.recall(from))?;
            self.quadratic.iter_mut().try_for_each(|desk| desk.recall(from))?;
        }
        Ok(())
    }

    /// What clusters have flowed, in the model's order; nothing if none can.
    pub fn dents(&self, model: &Model<S>) -> Vec<Dent<S>> {
        let clusters = model.clusters();
        if !self.plastic || !clusters.is_plastic() {
            return Vec::new();
        }
        let mut dents = vec![Dent { plastic: Dent::NONE, axes: Mat3::diagonal(1.0) }; clusters.len()];
        self.plain.iter().zip(&clusters.plain).for_each(|(desk, bundle)| desk.list_dents(bundle, &mut dents));
        self.quadratic.iter().zip(&clusters.quadratic).for_each(|(desk, bundle)| desk.list_dents(bundle, &mut dents));
        dents
    }
    /// Takes them over.
    pub fn put_dents(&mut self, model: &Model<S>, dents: &[Option<Dent<S>>]) {
        if self.plastic {
            let clusters = model.clusters();
            self.plain.iter_mut().zip(&clusters.plain).for_each(|(desk, bundle)| desk.put_dents(bundle, dents));
            self.quadratic.iter_mut().zip(&clusters.quadratic).for_each(|(desk, bundle)| desk.put_dents(bundle, dents));
        }
    }

    /// Keeps the plastic deformations; called when a step succeeded.
    pub fn arrive(&mut self) {
        if self.plastic {
            self.plain.iter_mut().for_each(Desk::keep);
            self.quadratic.iter_mut().for_each(Desk::keep);
        }
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
