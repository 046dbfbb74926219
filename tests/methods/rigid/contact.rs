//! Contact: inclines, bounces, stacks, free collisions, and every pair of shapes.

use pliant::core::mesh::{TriMesh, icosphere};
use pliant::core::rigid::{RigidBodies, RigidBody};
use pliant::core::sdf::{Pose, Rotation, Shape};
use pliant::{RigidOptions, RigidResponse};
use pliant_harness::instances::Instances;
use ultraviolet::DVec3;

use super::{G, Stage, apart};

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

/// Springs for bodies of about 50 kg.
const SPRINGS: RigidResponse = RigidResponse::Penalty { stiffness: 2e5, damping: 2e3 };

#[test]
fn boxes_stick_and_slide_on_an_incline_with_every_response() {
    let expected = G * (0.5 - 0.3 * 0.75_f64.sqrt());
    // One impulse a pair leaves the box rocking, and friction acts only when it does: it creeps by 0.009 m/s next to the limit.
    for (response, substeps, tolerance, most) in [
        (RigidResponse::Sequential, 4, 0.01, 1e-3),
        (RigidResponse::Averaged, 8, 0.01, 1.5e-2),
        (SPRINGS, 20, 0.03, 1e-3),
    ] {
        let options = RigidOptions { response, substeps, ..awake() };
        let found = slide(0.3, options);
        let (creep, slips) = (slide(0.58, options).abs(), slide(0.57, options));
        println!("{response:?}: slides with {found} m/s² (expected {expected}), creeps with {creep:e}, slips {slips}");
        assert!((found / expected - 1.0).abs() < tolerance, "{response:?}: {found} instead of {expected}");
        assert!(creep < most, "{response:?}: sticks, but creeps with {creep} m/s");
        assert!(slips > 0.01, "{response:?}: below tan 30° it slides");
    }
}

/// Heights of the first three bounces of a ball that is dropped from 1 m \[m\].
fn apexes(restitution: f64, response: RigidResponse, substeps: usize) -> Vec<f64> {
    let mut bodies = RigidBodies::<f64>::new();
    bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    bodies.push(&RigidBody::sphere(0.1, 100.0).at([0.0, 1.1, 0.0]).with_restitution(restitution)).unwrap();
    let mut stage = Stage::new(bodies, RigidOptions { response, substeps, ..awake() }, 1.0 / 240.0);
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
fn a_ball_bounces_to_the_right_heights_with_every_response() {
    // Springs know no restitution, only damping: e = exp(−π ζ/√(1 − ζ²)), c = 2 ζ √(k m).
    let mass = 100.0 * 4.0 / 3.0 * core::f64::consts::PI * 1e-3;
    let log = 0.8_f64.ln();
    let zeta = -log / (core::f64::consts::PI.powi(2) + log * log).sqrt();
    let stiffness = 2e4_f64;
    let springs = RigidResponse::Penalty { stiffness, damping: 2.0 * zeta * (stiffness * mass).sqrt() };
    for (response, substeps, tolerance) in
        [(RigidResponse::Sequential, 8, 0.02), (RigidResponse::Averaged, 8, 0.02), (springs, 20, 0.05)]
    {
        let found = apexes(0.8, response, substeps);
        println!("{response:?}: {found:?}");
        for (found, expected) in found.iter().zip([0.64, 0.4096, 0.262_144]) {
            assert!((found / expected - 1.0).abs() < tolerance, "{response:?}: {found} instead of {expected}");
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
    // Kept awake: what sleeps does not creep.
    let mut stage = Stage::new(stack(), awake(), 1.0 / 60.0);
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

/// What sleeps is struck like what is awake: a ball loses what a box gains, however fast it comes.
#[test]
fn sleepers_are_struck_like_others() {
    for speed in [0.5, 3.0, 10.0, 40.0] {
        let strike = |sleep: bool| {
            let mut bodies = RigidBodies::<f64>::new();
            bodies.push(&RigidBody::cuboid([0.4; 3], 500.0)).unwrap();
            bodies
                .push(&RigidBody::sphere(0.2, 1000.0).at([-0.5 - speed, 0.0, 0.0]).moving([speed, 0.0, 0.0]))
                .unwrap();
            let options = if sleep { RigidOptions::default() } else { awake() };
            let mut stage = Stage::new(bodies, options, 1.0 / 60.0).weightless();
            let before = stage.bodies.linear_momentum();
            let mut slept = false;
            for _ in 0..90 {
                slept |= stage.step().asleep == 1;
            }
            assert_eq!(slept, sleep, "the box sleeps until it is struck");
            let lost = (stage.bodies.linear_momentum()[0] / before[0] - 1.0).abs();
            assert!(lost < 1e-12, "{speed} m/s, sleep {sleep}: momentum is off by {lost:e} of it");
            stage.bodies.v.get(1)
        };
        assert_eq!(strike(true), strike(false), "{speed} m/s");
    }
}

/// Three bodies that collide in free flight: contacts, and how far momentum and angular momentum are off after 1.5 s, as
/// shares of what the bodies carry.
fn collide<S: Instances>(response: RigidResponse) -> (usize, f64, f64) {
    let mut bodies = RigidBodies::<S>::new();
    let box_ = RigidBody::cuboid([0.4, 0.6, 0.3], 500.0).at([-1.0, 0.1, 0.05]).moving([3.0, 0.0, 0.0]);
    let capsule = RigidBody::capsule(0.2, 0.8, 700.0).at([0.6, 0.0, 0.0]).moving([-1.0, 0.2, 0.0]);
    let ball = RigidBody::sphere(0.3, 300.0).at([0.2, 1.2, 0.0]).moving([0.0, -2.0, 0.0]);
    for body in [box_.spinning([1.0, -2.0, 3.0]), capsule.spinning([0.0, 4.0, -1.0]), ball] {
        bodies.push(&body.with_friction(0.6).with_restitution(0.4)).unwrap();
    }
    let (p, l) = (bodies.linear_momentum(), bodies.angular_momentum());
    let scale = 500.0 * 0.072 * 3.0;
    let mut stage = Stage::new(bodies, RigidOptions { response, ..awake() }, 1.0 / 60.0).weightless();
    let touched = (0..90).map(|_| stage.step().contacts).sum();
    let off = |now: [f64; 3], then: [f64; 3]| apart(now, then) / scale;
    (touched, off(stage.bodies.linear_momentum(), p), off(stage.bodies.angular_momentum(), l))
}

#[test]
fn free_collisions_keep_momentum_in_both_precisions() {
    for (response, (touched, dp, dl)) in [
        (RigidResponse::Sequential, collide::<f32>(RigidResponse::Sequential)),
        (RigidResponse::Sequential, collide::<f64>(RigidResponse::Sequential)),
        (RigidResponse::Averaged, collide::<f32>(RigidResponse::Averaged)),
        (RigidResponse::Averaged, collide::<f64>(RigidResponse::Averaged)),
    ] {
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

/// A torus about y of triangles.
fn torus(major: f64, minor: f64) -> TriMesh {
    let (around, across) = (32, 16);
    let turn = |i: u32, n: u32| core::f64::consts::TAU * f64::from(i) / f64::from(n);
    let corner = |i: u32, k: u32| {
        let ((s, c), (t, d)) = (turn(i, around).sin_cos(), turn(k, across).sin_cos());
        DVec3::new((major + minor * d) * c, minor * t, (major + minor * d) * s)
    };
    let cells = (0..around).flat_map(|i| (0..across).map(move |k| (i, k)));
    let index = |i: u32, k: u32| (i % around) * across + k % across;
    let faces = cells.clone().flat_map(|(i, k)| {
        let [a, b, c, d] = [index(i, k), index(i + 1, k), index(i + 1, k + 1), index(i, k + 1)];
        [[a, d, c], [a, c, b]]
    });
    TriMesh::new(cells.map(|(i, k)| corner(i, k)), faces).unwrap()
}

#[test]
fn meshes_rest_on_meshes_and_links_of_tori_hold_together() {
    // A ring on a ring: 2 × 0.1 m apart, neither has a middle to stand on.
    let ring = torus(0.4, 0.1);
    let body = RigidBody::mesh(&ring, 40, 500.0).unwrap().with_damping(0.0, 2.0);
    let rest = settle(&body.clone().at([0.0, 0.22, 0.0]), &body.clone().with_damping(0.0, 0.0).held()).translation;
    println!("ring on ring at {rest:?}");
    assert!((rest[1] - 0.2).abs() < 0.02 && rest[0].abs() < 0.05 && rest[2].abs() < 0.05, "{rest:?}");
    // A ball of triangles in the hole of a fixed ring stays 0.35 + 0.1 m from the tube's centre line.
    let ball = RigidBody::mesh(&icosphere(0.35, 3).unwrap(), 40, 500.0).unwrap().with_damping(0.0, 2.0);
    let rest = settle(&ball.at([0.0, 0.3, 0.0]), &body.clone().with_damping(0.0, 0.0).held()).translation;
    let height = (0.45_f64.powi(2) - 0.4_f64.powi(2)).sqrt();
    println!("ball in ring at {rest:?}, expected {height}");
    assert!((rest[1] - height).abs() < 0.02, "{rest:?}");
    // Two links of a chain: the lower ring hangs in the upper one by its tube.
    let upright = Rotation::about([1.0, 0.0, 0.0], core::f64::consts::FRAC_PI_2);
    let across = Rotation::about([0.0, 0.0, 1.0], core::f64::consts::FRAC_PI_2);
    let upper = body.clone().with_damping(0.0, 0.0).turned(upright).held();
    let rest = settle(&body.turned(across).at([0.0, -0.55, 0.0]), &upper).translation;
    println!("link hangs at {rest:?}");
    assert!((rest[1] + 0.6).abs() < 0.02, "{rest:?}");
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
