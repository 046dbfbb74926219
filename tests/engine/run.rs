//! A model, its state and a solver, stepped together: what most physics tests are written with.

use pliant::backends::AnyBackend;
use pliant::core::body::Body;
use pliant::core::columns::Particles;
use pliant::core::error::StepError;
use pliant::core::model::Model;
use pliant::core::solver::{Solver, StepReport};
use pliant_harness::instances::Instances;

use crate::scenes::Method;

/// Everything a simulation needs, on the scalar backend.
pub struct Run<S: Instances> {
    pub model: Model<S>,
    pub particles: Particles<S>,
    pub solver: Box<dyn Solver<AnyBackend<S>>>,
    pub on: AnyBackend<S>,
}

impl<S: Instances> Run<S> {
    /// Bodies made ready for a method.
    pub fn new(bodies: &[&Body], method: Method) -> Self {
        let (model, particles) = Model::build(bodies).unwrap_or_else(|error| panic!("{error}"));
        let mut solver = method.solver();
        solver.prepare(&model).unwrap_or_else(|error| panic!("{method:?}: {error}"));
        let on = AnyBackend::by_name("scalar", None).expect("always built");
        Self { model, particles, solver, on }
    }
    /// A step that must work.
    pub fn step(&mut self, dt: f64) -> StepReport {
        self.try_step(dt).unwrap_or_else(|error| panic!("{}: {error}", self.solver.name()))
    }
    /// A step.
    pub fn try_step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        self.solver.step(&self.model, &mut self.particles, S::from_f64(dt), &self.on)
    }
    /// The multipliers of a kind as forces \[N\].
    pub fn forces(&self, kind: &str) -> Vec<f64> {
        let lists = self.solver.forces(&self.model);
        let (_, list) = lists.iter().find(|(name, _)| *name == kind).unwrap_or_else(|| panic!("no {kind}"));
        list.iter().map(|v| v.to_f64()).collect()
    }
    /// Position of a particle \[m\].
    pub fn at(&self, particle: usize) -> [f64; 3] {
        self.particles.x.get(particle).map(S::to_f64)
    }
    /// Distance between two particles \[m\].
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (self.at(a), self.at(b));
        (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
    }
}

/// Particles that nothing holds, 1 m apart.
pub fn free(count: usize) -> Body {
    Body::particles((0..count).map(|i| [i as f64, 0.0, 0.0]))
}
