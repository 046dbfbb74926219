//! Rigid bodies against analytic answers: free rotation, friction, bounces, stacks, joints, parity of backends.

mod contact;
mod coupling;
mod exchange;
mod free;
mod joints;
mod parity;

use pliant::core::rigid::RigidBodies;
use pliant::{RigidOptions, RigidReport, RigidSolver};
use pliant_harness::instances::Instances;

use crate::simd;

/// Gravity of the tests \[m/s²\].
pub(crate) const G: f64 = 9.81;

/// Bodies and a solver, stepped together.
pub(crate) struct Stage<S: Instances> {
    pub(crate) bodies: RigidBodies<S>,
    pub(crate) solver: RigidSolver<S>,
    pub(crate) gravity: [f64; 3],
    pub(crate) dt: f64,
}

impl<S: Instances> Stage<S> {
    pub(crate) fn new(bodies: RigidBodies<S>, options: RigidOptions, dt: f64) -> Self {
        let mut solver = RigidSolver::new(options);
        solver.prepare(&bodies).unwrap();
        Self { bodies, solver, gravity: [0.0, -G, 0.0], dt }
    }
    pub(crate) fn weightless(mut self) -> Self {
        self.gravity = [0.0; 3];
        self
    }
    pub(crate) fn step(&mut self) -> RigidReport {
        let (gravity, dt) = (self.gravity.map(S::from_f64), S::from_f64(self.dt));
        S::step_rigid(&mut self.solver, &mut self.bodies, gravity, dt, &simd()).unwrap()
    }
    pub(crate) fn run(&mut self, seconds: f64) {
        for _ in 0..(seconds / self.dt).round() as usize {
            self.step();
        }
    }
}

/// |a − b|.
pub(crate) fn apart(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}
