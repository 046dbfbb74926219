//! Rigid bodies in a world: handles, coupling with soft bodies, errors that change nothing, the same bits everywhere.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use pliant::prelude::*;

fn cube() -> Body {
    // Contact is between particles and bodies: enough of them lie under the box to carry it.
    let mesh = tet_box([6; 3], [0.4; 3], Split::Five).unwrap();
    Body::solid(&mesh).unwrap().with_mass(12.0).translated([0.0, 0.01, 0.0])
}

/// A soft cube on a floor, a box on top of it, and a ball that hangs from the box.
fn scene(on: Best) -> (World, BodyId, RigidId) {
    let mut world = World::on(on);
    // The floor of the particles, and the same for rigid bodies.
    world.add_collider(Collider::plane([0.0, 1.0, 0.0]).with_friction(0.5)).unwrap();
    world.add_rigid(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    let jelly = world.add(cube()).unwrap();
    let load = world.add_rigid(&RigidBody::cuboid([0.3, 0.1, 0.3], 200.0).at([0.2, 0.47, 0.2])).unwrap();
    let ball = world.add_rigid(&RigidBody::sphere(0.05, 500.0).at([0.5, 0.47, 0.2])).unwrap();
    world.join([load, ball], Joint::ball([0, 0], [0.35, 0.47, 0.2])).unwrap();
    (world, jelly, load)
}

#[test]
fn a_jelly_cube_carries_a_box() {
    let (mut world, jelly, load) = scene(Best::new());
    for _ in 0..240 {
        world.step(1.0 / 120.0).unwrap();
    }
    let height = world.rigid_pose(load).unwrap().translation[1];
    assert!(height > 0.35 && height < 0.5, "the box is at {height}");
    let lowest = world.positions(jelly).unwrap().iter().map(|p| p[1]).fold(f32::MAX, f32::min);
    assert!(lowest > -0.02, "the cube sank to {lowest}");
    assert!(world.rigid_report().contacts > 0 || world.rigid_report().joints == 1);
}

#[test]
fn every_backend_gives_the_same_bits() {
    let run = |on: Best| {
        let (mut world, ..) = scene(on);
        for _ in 0..60 {
            world.step(1.0 / 120.0).unwrap();
        }
        world.state_hash()
    };
    let expected = run(Best::by_name("scalar", None).unwrap());
    for name in Best::<f32>::names() {
        for threads in [1, 2, 3, 5] {
            assert_eq!(run(Best::by_name(name, Some(threads)).unwrap()), expected, "{name} with {threads} threads");
        }
    }
}

#[test]
fn handles_outlive_nothing() {
    let (mut world, jelly, load) = scene(Best::new());
    world.fasten(jelly, 0, load).unwrap();
    assert!(world.fasten(jelly, 10_000, load).is_err());
    let before = world.state_hash();
    assert!(world.add_rigid(&RigidBody::sphere(-1.0, 1.0)).is_err());
    let floor = world.rigid_ids()[0];
    assert!(world.join([floor, floor], Joint::ball([0, 0], [0.0; 3])).is_err());
    assert!(world.step(f32::NAN).is_err());
    assert_eq!(world.state_hash(), before);
    world.remove_rigid(load).unwrap();
    assert!(world.remove_rigid(load).is_err() && world.rigid_pose(load).is_err());
    assert_eq!(world.rigid_bodies().joints().len(), 0, "its joint went with it");
    assert!(world.unfasten(jelly, 0).is_err(), "and its fastening");
    world.remove(jelly).unwrap();
    world.step(1.0 / 60.0).unwrap();
    assert_eq!(world.rigid_ids().len(), 2);
}

#[test]
fn a_failing_step_changes_nothing() {
    let (mut world, _, load) = scene(Best::new());
    world.step(1.0 / 120.0).unwrap();
    let before = world.state_hash();
    world.environment_mut().gravity = [0.0, f32::NAN, 0.0];
    assert!(world.step(1.0 / 120.0).is_err());
    assert_eq!(world.state_hash(), before);
    world.environment_mut().gravity = [0.0, -9.81, 0.0];
    assert!(world.push_rigid(load, [f32::INFINITY, 0.0, 0.0], [0.0; 3]).is_err());
    assert!(world.strike_rigid(load, [0.0; 3], [f32::NAN; 3]).is_err());
    // A force that throws the box out of the world.
    world.push_rigid(load, [1e30, 0.0, 0.0], [0.2, 0.5, 0.2]).unwrap();
    assert!(matches!(world.step(1.0 / 120.0), Err(StepError::BodyDiverged { .. })));
    assert_eq!(world.state_hash(), before);
}
