//! One step of implicit Euler whose answer is known: the state it starts from, and the minimum.

use pliant::core::columns::{Columns, Particles};
use pliant::core::lane::Real;
use pliant::core::model::Model;
use pliant::core::solver::{Solver, StepReport};
use pliant::solvers::{Newton, NewtonOptions, StepObjective};

use crate::failure::Failure;
use crate::instances::Instances;
use crate::scene::Scene;
use crate::solvers::backend;

/// A step and its answer.
pub struct Problem {
    /// What it is a step of.
    pub scene: Scene,
    model: Model<f64>,
    /// Where it starts.
    pub start: Particles<f64>,
    minimum: Columns<f64>,
    /// F at the start and at the minimum \[J\].
    range: [f64; 2],
    /// The mean length of an edge \[m\].
    edge: f64,
    report: StepReport,
    frames: usize,
}

/// How far a result is from the answer.
#[derive(Clone, Copy, Debug)]
pub struct Distance {
    /// (F − F*)/(F₀ − F*): 1 for doing nothing, 0 at the minimum.
    pub gap: f64,
    /// The root of the mean squared distance of particles from where they belong, over the mean edge.
    pub position: f64,
}

impl Problem {
    /// Runs a scene for some frames and solves the next step to the end.
    pub fn new(scene: &Scene, frames: usize) -> Result<Self, Failure> {
        let name = &scene.name;
        let refuse = |error: &dyn std::fmt::Display| Failure::Input(format!("{name} has no reference: {error}"));
        if !scene.motions.is_empty() || !scene.obstacles.is_empty() {
            return Err(refuse(&"pins and bodies must not move or collide; F has no term for that"));
        }
        let (model, mut start) = scene.build::<f64>()?;
        let on = backend::<f64>("scalar", None)?;
        let options = NewtonOptions { iterations: 500, tolerance: 1e-13, ..NewtonOptions::default() };
        let mut newton = f64::newton(Newton::new(options));
        newton.prepare(&model).map_err(|error| refuse(&error))?;
        for _ in 0..frames {
            newton.step(&model, &mut start, scene.dt, &on)?;
        }
        let mut after = start.clone();
        let report = newton.step(&model, &mut after, scene.dt, &on)?;
        if !report.converged {
            return Err(refuse(&"Newton's method did not converge"));
        }
        let mut objective = StepObjective::new(&model)?;
        objective.begin(&model, &start, scene.dt, &on)?;
        let range = [objective.value(&model, &start.x, &on)?, objective.value(&model, &after.x, &on)?];
        let edge = mean_edge(scene);
        Ok(Self { scene: scene.clone(), model, start, minimum: after.x, range, edge, report, frames })
    }

    /// How far positions are from the answer, whatever precision they were found in.
    pub fn distance<S: Real>(&self, found: &Columns<S>) -> Result<Distance, Failure> {
        let found: Columns<f64> = found.iter().map(|x| x.map(S::to_f64)).collect();
        let on = backend::<f64>("scalar", None)?;
        let mut objective = StepObjective::new(&self.model)?;
        objective.begin(&self.model, &self.start, self.scene.dt, &on)?;
        let value = objective.value(&self.model, &found, &on)?;
        let [most, least] = self.range;
        let squares = found.iter().zip(self.minimum.iter());
        let sum: f64 = squares.flat_map(|(a, b)| (0..3).map(move |k| (a[k] - b[k]).powi(2))).sum();
        Ok(Distance {
            gap: (value - least) / (most - least),
            position: (sum / found.len().max(1) as f64).sqrt() / self.edge,
        })
    }

    /// Constraints and elements.
    pub fn constraints(&self) -> usize {
        self.model.constraints().len()
    }

    /// One line about the reference.
    pub fn about(&self) -> String {
        let StepReport { iterations, projected, .. } = self.report;
        format!(
            "{}: step {} of 1/{:.0} s, {} particles, {} constraints; Newton converged in {iterations} iterations, {projected} of \
             them with an indefinite Hessian",
            self.scene.name,
            self.frames + 1,
            1.0 / self.scene.dt,
            self.scene.particle_count(),
            self.constraints()
        )
    }
}

/// The mean rest length of links; of the edges of triangles where there are no links.
fn mean_edge(scene: &Scene) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u32);
    let mut add = |length: f64| (sum, count) = (sum + length, count + 1);
    for body in &scene.bodies {
        let links = &body.tables().distance.parameters;
        links.iter().for_each(|[rest]| add(*rest));
        for ids in body.triangles().iter().filter(|_| links.is_empty()) {
            for k in 0..3 {
                let [a, b] = [ids[k], ids[(k + 1) % 3]].map(|i| body.positions()[i as usize]);
                add((0..3).map(|c| (a[c] - b[c]).powi(2)).sum::<f64>().sqrt());
            }
        }
    }
    if count > 0 { sum / f64::from(count) } else { 1.0 }
}
