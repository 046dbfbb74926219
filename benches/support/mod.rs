//! What the benches share: scenes, the textbook loops they are measured against, and timing that survives a noisy machine.
#![allow(dead_code, reason = "every bench uses a part of this module")]

pub mod report;
pub mod textbook;
pub mod timing;

use pliant::backends::Precision;
use pliant::core::backend::Backend;
use pliant::core::body::{Body, Role};
use pliant::core::columns::Particles;
use pliant::core::mesh::ClothGrid;
use pliant::core::model::Model;
use pliant::core::schedule::LayoutChoice;
use pliant::core::solver::Solver;
use pliant::solvers::{Colored, XpbdOn, XpbdOptions};

/// Frame time of every scene \[s\].
pub const FRAME: f32 = 1.0 / 60.0;

/// The cloth of all comparisons: 1 m × 1 m, 0.2 kg, structural links, both shears, skip-one bends, two pinned corners.
pub fn curtain(n: usize) -> Body {
    Body::cloth(&ClothGrid::square(1.0, n)).expect("a valid grid").with_mass(0.2).pinned([0, n as u32 - 1])
}

/// A model in motion under XPBD.
pub struct Run<S, B: Backend> {
    pub model: Model<S>,
    pub particles: Particles<S>,
    pub solver: Box<dyn Solver<B>>,
    pub backend: B,
}

impl<B: Backend<Scalar = f32>> Run<f32, B> {
    pub fn new(body: &Body, layout: LayoutChoice, substeps: usize, backend: B) -> Self {
        let (model, particles) = Model::build_with(&[body], layout).expect("a valid body");
        let mut solver: Box<dyn Solver<B>> =
            Box::new(XpbdOn::<Colored, f32>::new(XpbdOptions { substeps, iterations: 1 }));
        solver.prepare(&model).expect("valid options");
        Self { model, particles, solver, backend }
    }

    /// A frame that begins with these particles.
    pub fn frame_from(&mut self, particles: Particles<f32>) {
        self.particles = particles;
        self.frame();
    }

    pub fn frame(&mut self) {
        self.solver.step(&self.model, &mut self.particles, FRAME, &self.backend).expect("a stable step");
    }
}

/// Mean and maximum stretch \[%\] of the elongated structural links.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretch {
    sum: f64,
    count: usize,
    max: f64,
}

impl Stretch {
    pub fn add<S: Precision>(&mut self, body: &Body, particles: &Particles<S>) {
        let links = &body.tables().distance;
        for (i, ids) in links.ids.iter().enumerate().filter(|(i, _)| links.role[*i] == Role::Stretch) {
            let [a, b] = ids.map(|p| particles.x.get(p as usize).map(|c| c.to_f64()));
            let length = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
            let stretch = 100.0 * (length / links.parameters[i][0] - 1.0);
            if stretch > 0.0 {
                self.sum += stretch;
                self.count += 1;
                self.max = self.max.max(stretch);
            }
        }
    }
    pub fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
    pub fn max(&self) -> f64 {
        self.max
    }
}
