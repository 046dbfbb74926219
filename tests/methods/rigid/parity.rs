//! Same bits on every backend and thread count, and after a copy of the state.

use pliant::backends::AnyBackend;
use pliant::core::lane::Real;
use pliant::core::mesh::icosphere;
use pliant::core::rigid::{Ragdoll, RigidBodies, RigidBody};
use pliant::core::sdf::Rotation;
use pliant::{RigidOptions, RigidResponse, RigidSolver};
use pliant_harness::instances::Instances;

fn scene<S: Real>() -> RigidBodies<S> {
    let mut bodies = RigidBodies::new();
    bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    for i in 0..60_u32 {
        let at = [0.5 * f64::from(i % 4) - 1.0, 0.4 + 0.3 * f64::from(i / 4), 0.5 * f64::from(i % 3)];
        let body = match i % 3 {
            0 => RigidBody::cuboid([0.4, 0.3, 0.5], 600.0),
            1 => RigidBody::sphere(0.2, 600.0).with_restitution(0.5),
            _ => RigidBody::capsule(0.12, 0.3, 600.0),
        };
        bodies.push(&body.at(at).turned(Rotation::about([1.0, 0.3, 0.7], f64::from(i)))).unwrap();
    }
    let stone = RigidBody::mesh(&icosphere(0.3, 2).unwrap(), 16, 900.0).unwrap();
    bodies.push(&stone.at([0.0, 6.0, 0.4])).unwrap();
    for i in 0..3 {
        Ragdoll::new(1.6).at([1.7 * f64::from(i), 5.0 + f64::from(i), 0.0]).build(&mut bodies).unwrap();
    }
    bodies
}

fn run<S: Instances>(options: RigidOptions, steps: usize, on: &AnyBackend<S>) -> u64 {
    let mut bodies = scene();
    let mut solver = RigidSolver::new(options);
    solver.prepare(&bodies).unwrap();
    let (gravity, dt) = ([0.0, -9.81, 0.0].map(S::from_f64), S::from_f64(1.0 / 60.0));
    for _ in 0..steps {
        S::step_rigid(&mut solver, &mut bodies, gravity, dt, on).unwrap();
    }
    bodies.state_hash()
}

#[test]
fn every_backend_gives_the_same_bits() {
    for response in
        [RigidResponse::Sequential, RigidResponse::Averaged, RigidResponse::Penalty { stiffness: 5e3, damping: 30.0 }]
    {
        let options = RigidOptions { response, ..RigidOptions::default() };
        let expected = run::<f32>(options, 30, &AnyBackend::scalar());
        let double = run::<f64>(options, 12, &AnyBackend::scalar());
        for name in AnyBackend::<f32>::names() {
            for threads in [1, 2, 3, 5] {
                let on = AnyBackend::<f32>::by_name(name, Some(threads)).unwrap();
                assert_eq!(run(options, 30, &on), expected, "{response:?} on {name} with {threads} threads");
                let on = AnyBackend::<f64>::by_name(name, Some(threads)).unwrap();
                assert_eq!(run(options, 12, &on), double, "{response:?} on {name} with {threads} threads, f64");
            }
        }
    }
}
