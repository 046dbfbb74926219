//! Shape matching as a method: fly free, collide, match shapes, collide, take velocities.   [METHODS 9; R 24–26; Müller05]

use pliant_core::account::ContactAccount;
use pliant_core::backend::Backend;
use pliant_core::columns::Particles;
use pliant_core::constraint::Constraint;
use pliant_core::constraints::{Set, Visitor};
use pliant_core::dent::Dent;
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::snapshot::{Fingerprint, Reader, SnapshotError, Writer};
use pliant_core::solver::{Solver, StepReport};

use super::Matching;
use crate::flight::Flight;
use crate::gauss_seidel::check_count;

/// How often a substep meets colliders: before and after matching.   [R 35–43]
const COLLISIONS: usize = 2;

/// Options of shape matching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct ShapeMatchingOptions {
    /// Substeps a step; four by default.
    pub substeps: usize,
    /// Passes over the clusters a substep; one by default. More carry motion further through overlapping clusters.
    pub iterations: usize,
}

impl Default for ShapeMatchingOptions {
    fn default() -> Self {
        Self { substeps: 4, iterations: 1 }
    }
}

/// Meshless shape matching: clusters pull back to their rest shape, unconditionally stable and as cheap as it gets.
///
/// Clusters are all it knows. A body with constraints needs clusters that cover them (see `Body::with_clusters`); what has neither
/// flies free.
///
/// ```
/// use pliant_backends::Scalar;
/// use pliant_core::matching::{Grouping, Matching};
/// use pliant_core::{body::Body, model::Model, solver::Solver};
/// use pliant_solvers::ShapeMatching;
///
/// let points = (0..125).map(|i| [i % 5, i / 5 % 5, i / 25].map(|c| 0.1 * f64::from(c)));
/// let jelly = Body::particles(points).with_clusters(Grouping::Lattice { cell: 0.2, reach: 1 }, Matching::soft(0.5))?;
/// let (model, mut particles) = Model::<f32>::build(&[&jelly])?;
/// let mut solver = ShapeMatching::default();
/// let on = Scalar::new();
/// Solver::<Scalar>::prepare(&mut solver, &model)?;
/// solver.step(&model, &mut particles, 1.0 / 60.0, &on)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ShapeMatching<S = f32> {
    options: ShapeMatchingOptions,
    engine: Option<Box<(Flight<S>, Matching<S>)>>,
}

impl<S: Real> ShapeMatching<S> {
    /// A solver with these options.
    pub fn new(options: ShapeMatchingOptions) -> Self {
        Self { options, engine: None }
    }
}

impl<S: Real> Default for ShapeMatching<S> {
    fn default() -> Self {
        Self::new(ShapeMatchingOptions::default())
    }
}

/// Finds a constraint with a free particle that no cluster holds.
struct Uncovered<'a, S> {
    model: &'a Model<S>,
    found: Option<(&'static str, usize)>,
}

impl<S: Real> Uncovered<'_, S> {
    fn look<'a>(&mut self, what: &'static str, mut rows: impl Iterator<Item = &'a [u32]>) {
        let (w, clusters) = (self.model.inv_mass(), &self.model.clusters().memberships);
        let loose = |&p: &u32| w[p as usize] > S::ZERO && clusters[p as usize] == 0;
        let row = rows.position(|ids| ids.iter().any(loose));
        self.found = self.found.or(row.map(|row| (what, row)));
    }
}

impl<S: Real> Visitor<S> for Uncovered<'_, S> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        self.look(K::NAME, set.ids().iter().map(<[u32; N]>::as_slice));
    }
}

impl<S: Real, B: Backend<Scalar = S>> Solver<B> for ShapeMatching<S> {
    fn name(&self) -> &'static str {
        "shape-matching"
    }

    fn identify(&self, hash: &mut Fingerprint) {
        hash.add_name("shape-matching");
        hash.add_shown(&self.options);
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        check_count("substeps", self.options.substeps)?;
        check_count("iterations", self.options.iterations)?;
        crate::refuse_elastic(model)?;
        if !model.constraints().attachment.is_empty() {
            let reason = "shape matching knows no attachments; pin the particle and move the pin, or use PBD or XPBD";
            return Err(BuildError::Unsupported { what: "attachment", row: 0, reason });
        }
        let mut uncovered = Uncovered { model, found: None };
        model.constraints().visit(&mut uncovered);
        uncovered.look("balloon", model.constraints().balloons.iter().map(|b| b.triangles.as_flattened()));
        if let Some((what, row)) = uncovered.found {
            let reason =
                "shape matching knows clusters only, and none holds this; give the body clusters, or use PBD or XPBD";
            return Err(BuildError::Unsupported { what, row, reason });
        }
        self.engine = Some(Box::new((Flight::for_sweeps(model, COLLISIONS), Matching::new(model))));
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, on: &B) -> Result<StepReport, StepError> {
        let (flight, matching) = &mut **self.engine.as_mut().ok_or(StepError::NotPrepared)?;
        let ShapeMatchingOptions { substeps, iterations } = self.options;
        flight.begin(model, particles, dt)?;
        let h = dt / S::from_f64(substeps as f64);
        matching.begin(model, h, iterations);
        for k in 0..substeps {
            flight.predict(model, particles, h, (k, substeps), on);
            flight.collide(model, (0, COLLISIONS), on);
            for iteration in 0..iterations {
                matching.pass(model, &mut flight.x, (iteration == 0).then_some(h), on);
            }
            flight.collide(model, (1, COLLISIONS), on);
        }
        flight.land(model, h, on);
        flight.end(model, particles, substeps, on)?;
        matching.arrive();
        let mut report = StepReport::default();
        report.substeps = substeps;
        report.iterations = substeps * iterations;
        report.projections = report.iterations * model.clusters().len();
        Ok(report)
    }

    fn remember(&self, to: &mut Writer) {
        if let Some((flight, matching)) = self.engine.as_deref() {
            flight.contacts.remember(to);
            matching.remember(to);
        }
    }
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let Some((flight, matching)) = self.engine.as_deref_mut() else { return Ok(()) };
        flight.contacts.recall(from)?;
        matching.recall(from)
    }
    fn dents(&self, model: &Model<S>) -> Vec<Dent<S>> {
        self.engine.as_ref().map_or_else(Vec::new, |engine| engine.1.dents(model))
    }
    fn put_dents(&mut self, model: &Model<S>, dents: &[Option<Dent<S>>]) {
        if let Some(engine) = &mut self.engine {
            engine.1.put_dents(model, dents);
        }
    }
    fn account(&mut self) -> Option<&mut ContactAccount<S>> {
        self.engine.as_mut()?.0.contacts.account()
    }
}
