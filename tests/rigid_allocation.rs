//! A step of rigid bodies allocates nothing once its buffers have grown.
//!
//! Every allocation of the process is counted, whichever thread makes it; one test alone in this crate, so that nobody else
//! allocates meanwhile.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

#[path = "../harness/src/allocations.rs"]
mod allocations;

use allocations::Counting;
use pliant::prelude::*;
use pliant_harness::instances::Instances;

#[global_allocator]
static COUNTING: Counting = Counting;

const STEPS: usize = 60;

fn falling_boxes() -> RigidBodies<f32> {
    let mut bodies = RigidBodies::new();
    bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    for i in 0..60_u32 {
        let at = [0.52 * f64::from(i % 4), 0.3 + 0.51 * f64::from(i / 4), 0.1 * f64::from(i % 3)];
        bodies.push(&RigidBody::cuboid([0.5; 3], 500.0).at(at)).unwrap();
    }
    bodies
}

fn ragdolls() -> RigidBodies<f32> {
    let mut bodies = RigidBodies::new();
    bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    bodies.push(&RigidBody::cuboid([4.0, 0.5, 4.0], 1.0).at([0.0, 0.25, 0.0]).held()).unwrap();
    for i in 0..9_u32 {
        let at = [0.8 * f64::from(i % 3), 0.5 + 0.3 * f64::from(i), 0.3 * f64::from(i / 3)];
        Ragdoll::new(1.8).at(at).build(&mut bodies).unwrap();
    }
    bodies
}

/// Hulls, cylinders, capsules and sampled meshes that fall onto each other.
fn stones() -> RigidBodies<f32> {
    let mut bodies = RigidBodies::new();
    bodies.push(&RigidBody::cuboid([4.0, 0.5, 4.0], 1.0).at([0.0, -0.25, 0.0]).held()).unwrap();
    let ball = icosphere(0.25, 1).unwrap();
    for i in 0..24_u32 {
        let body = match i % 4 {
            0 => RigidBody::convex(&ball, 500.0).unwrap(),
            1 => RigidBody::cylinder(0.2, 0.4, 500.0),
            2 => RigidBody::capsule(0.15, 0.3, 500.0),
            _ => RigidBody::mesh(&ball, 12, 500.0).unwrap(),
        };
        bodies.push(&body.at([0.3 * f64::from(i % 3), 0.3 + 0.3 * f64::from(i), 0.2 * f64::from(i % 2)])).unwrap();
    }
    bodies
}

#[test]
fn a_warm_step_allocates_nothing() {
    let (sequential, averaged) = (RigidResponse::Sequential, RigidResponse::Averaged);
    for (scene, start, responses) in [
        ("falling boxes", falling_boxes(), vec![sequential, averaged]),
        ("ragdolls", ragdolls(), vec![sequential]),
        ("stones", stones(), vec![sequential]),
    ] {
        for response in responses {
            for name in AnyBackend::<f32>::names() {
                let on = AnyBackend::by_name(name, Some(2)).unwrap();
                let mut solver = RigidSolver::new(RigidOptions { response, ..RigidOptions::default() });
                solver.prepare(&start).unwrap();
                let mut again = [start.clone(), start.clone()];
                let mut counts = [0; 2];
                // The same steps twice: buffers have seen everything when they begin again.
                for (bodies, count) in again.iter_mut().zip(&mut counts) {
                    solver.cool();
                    let before = allocations::count();
                    for _ in 0..STEPS {
                        f32::step_rigid(&mut solver, bodies, [0.0, -9.81, 0.0], 1.0 / 60.0, &on).unwrap();
                    }
                    *count = allocations::count() - before;
                }
                assert!(counts[0] > 0, "the first run grows its buffers, or nothing is counted");
                assert_eq!(counts[1], 0, "{scene}, {response:?} on {name}");
                assert_eq!(again[0].state_hash(), again[1].state_hash());
            }
        }
    }
}
