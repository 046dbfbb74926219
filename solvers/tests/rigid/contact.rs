//! Contact: inclines, bounces, stacks, free collisions, and every pair of shapes.

use pliant_core::mesh::icosphere;
use pliant_core::rigid::{RigidBodies, RigidBody};
use pliant_core::sdf::{Pose, Rotation, Shape};
use pliant_solvers::{RigidOptions, RigidResponse};

use crate::{G, Stage, apart};

fn awake() -> RigidOptions {
    RigidOptions { sleep: None, ..RigidOptions::default() }
}

/// How fast a box on a 30° incline is after a second, along the slope \[m/s\].
fn slide(friction: f64, options: RigidOptions) -> f64 {
    let mut bodies = RigidBodies::<f64>::new();
    let tilt = Rotation::about([0.0, 0.0, 1.0], -core::f64::consts::FRAC_PI_6);
    let (sin, cos) = (-core::f64::consts::FRAC_PI_6).sin_cos();
    bodies.push(&RigidBody::plane([-sin, cos, 0.0]).with_friction(friction)).unwrap();
    let start = [-sin * 0.25, cos * 0.25, 0.0];
    bodies.push(&RigidBody::cuboid([1.0, 0.5, 1.0], 100.0).at(start).turned(tilt).with_friction(friction)).unwrap();
    let mut stage = Stage::new(bodies, options, 1.0 / 60.0);
    stage.run(1.0);
    let v = stage.bodies.v.get(1);
    v[0] * cos + v[1] * sin
}

#[test]
fn boxes_stick_and_slide_on_an_incline() {
    let expected = G * (0.5 - 0.3 * 0.75_f64.sqrt());
    let found = slide(0.3, awake());
    println!("slides with {found} m/s², expected {expected}");
    assert!((found / expected - 1.0).abs() < 0.01, "{found} instead of {expected}");
    let creep = slide(0.58, awake()).abs();
    println!("creeps with {creep:e} m/s");
    assert!(creep < 1e-3, "sticks, but creeps with {creep} m/s");
    assert!(slide(0.57, awake()) > 0.01, "below tan 30° it slides");
    let averaged = slide(0.3, RigidOptions { response: RigidResponse::Averaged, substeps: 8, ..awake() });
    assert!((averaged / expected - 1.0).abs() < 0.25, "averaged impulses: {averaged} instead of {expected}");
    let stiffness = RigidResponse::Penalty { stiffness: 2e5, damping: 2e3 };
    let penalty = slide(0.3, RigidOptions { response: stiffness, substeps: 20, ..awake() });
    assert!((penalty / expected - 1.0).abs() < 0.03, "penalty forces: {penalty} instead of {expected}");
}

fn apexes(response: RigidResponse) -> Vec<f64> {
    let mut bodies = RigidBodies::<f64>::new();
    bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    bodies.push(&RigidBody::sphere(0.1, 100.0).at([0.0, 1.1, 0.0]).with_restitution(0.8)).unwrap();
    let mut stage = Stage::new(bodies, RigidOptions { response, substeps: 8, ..awake() }, 1.0 / 240.0);
    let (mut apexes, mut last) = (Vec::new(), -1.0);
    while apexes.len() < 3 {
        stage.step();
        let v = stage.bodies.v.get(1)[1];
        if last > 0.0 && v <= 0.0 {
            apexes.push(stage.bodies.x.get(1)[1] - 0.1);
        }
        last = v;
    }
    apexes
}

#[test]
fn a_ball_bounces_to_the_right_heights() {
    for response in [RigidResponse::Sequential, RigidResponse::Averaged] {
        let found = apexes(response);
        println!("{response:?}: {found:?}");
        for (found, expected) in found.iter().zip([0.64, 0.4096, 0.262_144]) {
            assert!((found / expected - 1.0).abs() < 0.02, "{response:?}: {found} instead of {expected}");
        }
    }
}

fn stack() -> RigidBodies<f32> {
    let mut bodies = RigidBodies::new();
    bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    for i in 0..10 {
        bodies.push(&RigidBody::cuboid([0.5; 3], 500.0).at([0.0, 0.25 + 0.5 * f64::from(i), 0.0])).unwrap();
    }
    bodies
}

/// How far the boxes move from second 5 to second 60, and how far the stack has sunk by then \[m\].
fn creep(stage: &mut Stage<f32>) -> [f64; 2] {
    // Contacts give a little, and the stack sways on them: settled after five seconds.
    stage.run(5.0);
    let settled: Vec<_> = (1..11).map(|row| stage.bodies.pose(row).translation).collect();
    stage.run(55.0);
    let moved = (1..11).map(|row| apart(stage.bodies.pose(row).translation, settled[row - 1])).fold(0.0, f64::max);
    [moved, 4.75 - settled[9][1]]
}

#[test]
fn a_stack_of_ten_boxes_stands_for_a_minute() {
    // Kept awake, eight substeps hold it; the four of the default leave 2.5 mm.
    let mut stage = Stage::new(stack(), RigidOptions { substeps: 8, ..awake() }, 1.0 / 60.0);
    let [moved, sunk] = creep(&mut stage);
    println!("awake, creeps by {moved:e} m in 55 s, sank by {sunk:e} m");
    assert!(moved < 1e-3, "the stack creeps by {moved} m");
    assert!(sunk.abs() < 0.02, "ten boxes sank by {sunk} m");
}

#[test]
fn a_stack_left_alone_falls_asleep_and_wakes_when_it_is_pushed() {
    let mut stage = Stage::new(stack(), RigidOptions::default(), 1.0 / 60.0);
    let [moved, sunk] = creep(&mut stage);
    println!("by default, creeps by {moved:e} m in 55 s, sank by {sunk:e} m");
    assert!(moved < 1e-3 && sunk.abs() < 0.02, "{moved} {sunk}");
    assert_eq!(stage.step().asleep, 10);
    let there = stage.bodies.state_hash();
    stage.step();
    assert_eq!(stage.bodies.state_hash(), there);
    stage.bodies.apply_impulse(5, [100.0, 0.0, 0.0], stage.bodies.x.get(5));
    assert_eq!(stage.step().asleep, 0);
}

#[test]
fn free_collisions_keep_momentum() {
    for response in [RigidResponse::Sequential, RigidResponse::Averaged] {
        let mut bodies = RigidBodies::<f64>::new();
        let push = |bodies: &mut RigidBodies<f64>, body: RigidBody| {
            bodies.push(&body.with_friction(0.6).with_restitution(0.4)).unwrap();
        };
        push(
            &mut bodies,
            RigidBody::cuboid([0.4, 0.6, 0.3], 500.0)
                .at([-1.0, 0.1, 0.05])
                .moving([3.0, 0.0, 0.0])
                .spinning([1.0, -2.0, 3.0]),
        );
        push(
            &mut bodies,
            RigidBody::capsule(0.2, 0.8, 700.0).at([0.6, 0.0, 0.0]).moving([-1.0, 0.2, 0.0]).spinning([0.0, 4.0, -1.0]),
        );
        push(&mut bodies, RigidBody::sphere(0.3, 300.0).at([0.2, 1.2, 0.0]).moving([0.0, -2.0, 0.0]));
        let (p, l) = (bodies.linear_momentum(), bodies.angular_momentum());
        let scale = 500.0 * 0.072 * 3.0;
        let mut stage = Stage::new(bodies, RigidOptions { response, ..awake() }, 1.0 / 60.0).weightless();
        let mut touched = 0;
        for _ in 0..90 {
            touched += stage.step().contacts;
        }
        let (dp, dl) =
            (apart(stage.bodies.linear_momentum(), p) / scale, apart(stage.bodies.angular_momentum(), l) / scale);
        println!("{response:?}: {touched} contacts, momentum off by {dp:e}, angular momentum by {dl:e}");
        assert!(touched > 0);
        assert!(dp < 1e-5 && dl < 1e-5, "{response:?}: {dp} {dl}");
    }
}

/// Drops a body onto a floor of some kind and returns where it comes to rest.
fn settle(body: &RigidBody, floor: &RigidBody) -> Pose {
    let mut bodies = RigidBodies::<f32>::new();
    bodies.push(floor).unwrap();
    bodies.push(body).unwrap();
    let mut stage = Stage::new(bodies, awake(), 1.0 / 60.0);
    stage.run(3.0);
    stage.bodies.pose(1)
}

#[test]
fn every_kind_of_solid_rests_on_every_kind_of_floor() {
    let ball = icosphere(0.3, 2).unwrap();
    let solids = [
        ("sphere", RigidBody::sphere(0.3, 500.0), 0.3),
        ("box", RigidBody::cuboid([0.6; 3], 500.0), 0.3),
        (
            "capsule",
            RigidBody::capsule(0.3, 0.4, 500.0).turned(Rotation::about([1.0, 0.0, 0.0], core::f64::consts::FRAC_PI_2)),
            0.3,
        ),
        ("cylinder", RigidBody::cylinder(0.3, 0.6, 500.0), 0.3),
        ("convex", RigidBody::convex(&ball, 500.0).unwrap(), 0.3),
        ("mesh", RigidBody::mesh(&ball, 24, 500.0).unwrap(), 0.3),
    ];
    let slab = Shape::Cuboid { half: [2.0, 0.5, 2.0] };
    let floors = [
        ("half-space", RigidBody::plane([0.0, 1.0, 0.0])),
        ("slab", RigidBody::fixed(slab.clone()).at([0.0, -0.5, 0.0])),
        ("field", RigidBody::fixed(slab.rounded(0.1)).at([0.0, -0.5, 0.0])),
    ];
    for (floor_name, floor) in &floors {
        for (name, solid, height) in &solids {
            let solid = solid.clone().at([0.0, height + 0.05, 0.0]).with_damping(0.0, 2.0);
            let rest = settle(&solid, floor).translation;
            let off = (rest[1] - height).abs();
            assert!(off < 0.02, "{name} on {floor_name}: rests at {rest:?}, off by {off}");
            assert!(rest[0].abs() < 0.1 && rest[2].abs() < 0.1, "{name} on {floor_name}: wanders to {rest:?}");
        }
    }
}

#[test]
fn a_fast_ball_does_not_pass_a_thin_wall() {
    let mut bodies = RigidBodies::<f32>::new();
    bodies.push(&RigidBody::cuboid([0.02, 4.0, 4.0], 1.0).held()).unwrap();
    bodies.push(&RigidBody::sphere(0.05, 1000.0).at([-1.0, 0.0, 0.0]).moving([150.0, 0.0, 0.0])).unwrap();
    let mut stage = Stage::new(bodies, awake(), 1.0 / 60.0).weightless();
    stage.run(0.5);
    assert!(stage.bodies.x.get(1)[0] < 0.0, "{:?}", stage.bodies.x.get(1));
}

#[test]
fn a_pile_of_mixed_bodies_comes_to_rest_above_the_floor() {
    let mut bodies = RigidBodies::<f32>::new();
    bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    for i in 0..40_u32 {
        let at = [0.3 * f64::from(i % 3) - 0.3, 0.4 + 0.35 * f64::from(i), 0.25 * f64::from(i % 2)];
        let body = match i % 4 {
            0 => RigidBody::cuboid([0.4, 0.3, 0.5], 600.0),
            1 => RigidBody::sphere(0.2, 600.0),
            2 => RigidBody::capsule(0.12, 0.4, 600.0),
            _ => RigidBody::cylinder(0.2, 0.3, 600.0),
        };
        let turn = Rotation::about([1.0, 0.3, 0.7], 0.4 * f64::from(i));
        bodies.push(&body.at(at).turned(turn).with_damping(0.1, 1.0)).unwrap();
    }
    let mut stage = Stage::new(bodies, RigidOptions::default(), 1.0 / 60.0);
    stage.run(12.0);
    let lowest = (1..41).map(|row| stage.bodies.x.get(row)[1]).fold(f32::MAX, f32::min);
    assert!(lowest > 0.08, "a body sank to {lowest}");
    let energy = stage.bodies.kinetic_energy();
    println!("energy left: {energy} J, asleep {}", stage.bodies.asleep.iter().flatten().count());
    assert!(energy < 10.0, "still moving with {energy} J");
}
