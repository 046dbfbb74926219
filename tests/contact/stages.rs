//! Runs of stages with the methods of the harness.
#![allow(dead_code, reason = "tests and benches each use a part of this module")]

use pliant::backends::AnyBackend;
use pliant::prelude::*;
use pliant_harness::instances::{Boxed, Instances};

use crate::stage::{Stage, contact};

pub fn xpbd<S: Instances>() -> Boxed<S> {
    S::xpbd(XpbdOn::with_substeps(10))
}

/// Runs a stage; returns the intersections after each step, and how far targets were missed.
pub fn run<S: Instances>(stage: &mut Stage<S>, guard: Option<Guard>, steps: usize) -> (Vec<usize>, f64) {
    let on = AnyBackend::<S>::by_name("simd", None).expect("built");
    let mut solver = match guard {
        Some(guard) => S::guarded(IntersectionFree::new(xpbd::<S>(), guard)),
        None => xpbd::<S>(),
    };
    solver.prepare(&stage.model).expect("valid options");
    let (mut counts, mut missed) = (Vec::new(), 0.0_f64);
    for _ in 0..steps {
        missed = missed.max(stage.step(&mut *solver, &on).missed);
        counts.push(stage.intersections());
    }
    (counts, missed)
}

/// The same bodies with all surfaces in groups that touch nothing.
pub fn run_blind(stage: Stage<f32>, steps: usize) -> Vec<usize> {
    let nobody = SelfContact { groups: Groups { member: 1, touches: 0 }, ..contact(0.008) };
    let bodies: Vec<Body> = stage.bodies.iter().map(|b| b.clone().with_self_contact(nobody)).collect();
    let mut blind = Stage::new(&bodies, &stage.colliders, stage.pins);
    blind.model.environment = stage.model.environment.clone();
    run(&mut blind, None, steps).0
}
