//! Joints: chains under load, limits, motors, sliders, ragdolls.

use pliant::RigidOptions;
use pliant::core::rigid::{Joint, Motor, Quaternion, Ragdoll, RigidBodies, RigidBody};
use pliant::core::vec3::Vec3;

use super::{G, Stage, apart};

fn awake(substeps: usize) -> RigidOptions {
    RigidOptions { sleep: None, substeps, ..RigidOptions::default() }
}

/// A hundred links of 0.1 m with a thousandfold mass at the end, and its length.
fn chain() -> RigidBodies<f64> {
    let mut bodies = RigidBodies::<f64>::new();
    bodies.push(&RigidBody::cuboid([0.1; 3], 1.0).held()).unwrap();
    let link = |i: usize| RigidBody::capsule(0.02, 0.06, 1000.0).at([0.0, -0.05 - 0.1 * i as f64, 0.0]);
    for i in 0..100 {
        bodies.push(&link(i)).unwrap();
        bodies.join(&Joint::ball([i, i + 1], [0.0, -0.1 * i as f64, 0.0])).unwrap();
    }
    let mass = 1000.0 * bodies.mass(1).unwrap();
    let radius = 0.3;
    let density = mass / (4.0 / 3.0 * core::f64::consts::PI * radius * radius * radius);
    let end = bodies.push(&RigidBody::sphere(radius, density).at([0.0, -10.3, 0.0])).unwrap();
    bodies.join(&Joint::ball([100, end], [0.0, -10.0, 0.0])).unwrap();
    bodies
}

#[test]
fn a_chain_of_a_hundred_links_carries_a_thousandfold_mass() {
    let bodies = chain();
    let ratio = bodies.mass(101).unwrap() / bodies.mass(1).unwrap();
    assert!((ratio - 1000.0).abs() < 1.0);
    let mut stage = Stage::new(bodies, awake(100), 1.0 / 60.0);
    let mut worst = 0.0_f64;
    for _ in 0..120 {
        stage.step();
        worst = worst.max(-stage.bodies.x.get(101)[1] - 10.3);
    }
    println!("stretches by {worst} m of 10 m");
    assert!(worst < 0.1, "the chain stretches by {worst} m of 10 m");
}

#[test]
fn a_compliant_joint_gives_as_told() {
    let mut bodies = RigidBodies::<f64>::new();
    bodies.push(&RigidBody::cuboid([0.1; 3], 1.0).held()).unwrap();
    let weight = bodies.push(&RigidBody::cuboid([0.2; 3], 1000.0).with_damping(4.0, 4.0)).unwrap();
    bodies.join(&Joint::ball([0, weight], [0.0; 3]).with_compliance(1e-3, 0.0)).unwrap();
    let load = bodies.mass(weight).unwrap() * G;
    let mut stage = Stage::new(bodies, awake(10), 1.0 / 60.0);
    stage.run(4.0);
    let sag = -stage.bodies.x.get(weight)[1];
    assert!((sag / (load * 1e-3) - 1.0).abs() < 0.01, "sags by {sag} instead of {}", load * 1e-3);
}

#[test]
fn a_pendulum_on_a_hinge_keeps_its_plane_and_its_period() {
    // A rod of length 1, hinged at its end: T = 2π √(2L/3g) for small swings.
    let mut bodies = RigidBodies::<f64>::new();
    bodies.push(&RigidBody::cuboid([0.1; 3], 1.0).held()).unwrap();
    let (sin, cos) = 0.05_f64.sin_cos();
    let rod = RigidBody::cuboid([0.02, 1.0, 0.02], 800.0).at([0.5 * sin, -0.5 * cos, 0.0]).turned([
        0.0,
        0.0,
        (0.025_f64).sin(),
        (0.025_f64).cos(),
    ]);
    bodies.push(&rod).unwrap();
    bodies.join(&Joint::hinge([0, 1], [0.0; 3], [0.0, 0.0, 1.0])).unwrap();
    let mut stage = Stage::new(bodies, awake(20), 1.0 / 60.0);
    let (mut crossings, mut last) = (Vec::new(), 1.0);
    for step in 0..600 {
        stage.step();
        let [x, _, z] = stage.bodies.x.get(1);
        assert!(z.abs() < 1e-6);
        if x * last < 0.0 {
            crossings.push((f64::from(step) + last / (last - x)) / 60.0);
        }
        last = x;
    }
    let count = crossings.len();
    let period = 2.0 * (crossings[count - 1] - crossings[0]) / (count - 1) as f64;
    let expected = 2.0 * core::f64::consts::PI * (2.0 / (3.0 * G)).sqrt();
    println!("period {period}, expected {expected}");
    assert!((period / expected - 1.0).abs() < 0.01, "{period} instead of {expected}");
}

/// Angle of a body about z.
fn angle(bodies: &RigidBodies<f64>, row: usize) -> f64 {
    let [_, _, z, w] = bodies.q[row];
    2.0 * z.atan2(w)
}

#[test]
fn limits_stop_and_motors_drive() {
    let build = |joint: &dyn Fn(Joint) -> Joint| {
        let mut bodies = RigidBodies::<f64>::new();
        bodies.push(&RigidBody::cuboid([0.1; 3], 1.0).held()).unwrap();
        bodies.push(&RigidBody::cuboid([1.0, 0.1, 0.1], 100.0).at([0.5, 0.0, 0.0])).unwrap();
        bodies.join(&joint(Joint::hinge([0, 1], [0.0; 3], [0.0, 0.0, 1.0]))).unwrap();
        bodies
    };
    // Falls until the limit.
    let mut stage = Stage::new(build(&|joint| joint.with_limits(-0.5, 0.2).with_damping(0.2)), awake(10), 1.0 / 60.0);
    stage.run(3.0);
    let found = angle(&stage.bodies, 1);
    assert!((found + 0.5).abs() < 0.01, "rests at {found}");
    // A strong motor turns it steadily.
    let motor = Motor::Speed { target: 2.0, damping: 1e5, limit: 1e6 };
    let mut stage = Stage::new(build(&|joint| joint.with_motor(motor)), awake(10), 1.0 / 60.0);
    stage.run(1.0);
    let speed = stage.bodies.omega.get(1)[2];
    assert!((speed - 2.0).abs() < 0.05, "turns with {speed} rad/s");
    // A weak one cannot lift the beam: m g l/2 = 4.9 N m.
    let motor = Motor::Speed { target: 2.0, damping: 1e5, limit: 1.0 };
    let mut stage = Stage::new(build(&|joint| joint.with_motor(motor).with_limits(-1.0, 1.0)), awake(10), 1.0 / 60.0);
    stage.run(2.0);
    assert!(angle(&stage.bodies, 1) < -0.9);
    // A spring holds it near its target: k (θ − θ₀) = −m g l/2 cos θ.
    let motor = Motor::Place { target: 0.3, stiffness: 100.0, damping: 20.0 };
    let mut stage = Stage::new(build(&|joint| joint.with_motor(motor)), awake(10), 1.0 / 60.0);
    stage.run(6.0);
    let theta = angle(&stage.bodies, 1);
    let weight = stage.bodies.mass(1).unwrap() * G;
    let torque = 100.0 * (theta - 0.3) + 0.5 * weight * theta.cos();
    println!("spring at {theta}, torque left {torque}");
    assert!(torque.abs() < 0.1, "the spring holds {theta} with {torque} N m too much");
}

#[test]
fn a_slider_slides_along_its_axis_only() {
    let mut bodies = RigidBodies::<f64>::new();
    bodies.push(&RigidBody::cuboid([0.1; 3], 1.0).held()).unwrap();
    let body = RigidBody::cuboid([0.3, 0.2, 0.2], 300.0).at([0.0, -1.0, 0.0]).spinning([3.0, 1.0, -2.0]);
    bodies.push(&body).unwrap();
    bodies.join(&Joint::slider([0, 1], [0.0, -1.0, 0.0], [0.6, -0.8, 0.0]).with_limits(0.0, 0.7)).unwrap();
    let mut stage = Stage::new(bodies, awake(20), 1.0 / 60.0);
    for _ in 0..180 {
        stage.step();
        let [x, y, z] = stage.bodies.x.get(1);
        let along = 0.6 * x - 0.8 * (y + 1.0);
        let across = apart([x, y + 1.0, z], [0.6 * along, -0.8 * along, 0.0]);
        assert!(across < 2e-3, "off its axis by {across}");
        assert!(along < 0.71 && along > -0.01, "at {along}");
        assert!(Quaternion::new(stage.bodies.q[0]).small_rotation().length() < 0.02);
    }
    let [x, y, _] = stage.bodies.x.get(1);
    assert!((0.6 * x - 0.8 * (y + 1.0) - 0.7).abs() < 2e-3, "slid down to its limit");
}

#[test]
fn fixed_and_distance_joints_hold() {
    let mut bodies = RigidBodies::<f64>::new();
    bodies.push(&RigidBody::cuboid([0.1; 3], 1.0).held()).unwrap();
    for i in 0..3 {
        bodies.push(&RigidBody::cuboid([0.4, 0.1, 0.1], 500.0).at([0.2 + 0.4 * f64::from(i), 0.0, 0.0])).unwrap();
        bodies.join(&Joint::fixed([i as usize, i as usize + 1], [0.4 * f64::from(i), 0.0, 0.0])).unwrap();
    }
    let hanging = bodies.push(&RigidBody::sphere(0.1, 500.0).at([1.2, -1.0, 0.0])).unwrap();
    bodies.join(&Joint::distance([3, hanging], [[1.2, 0.0, 0.0], [1.2, -1.0, 0.0]], [0.0, 1.5])).unwrap();
    let mut stage = Stage::new(bodies, awake(40), 1.0 / 60.0);
    stage.run(3.0);
    let tip = stage.bodies.x.get(3);
    assert!((tip[1]).abs() < 0.02, "the glued beam sags to {tip:?}");
    let d = Vec3::from(stage.bodies.x.get(hanging)) - Vec3::from([1.2, tip[1], 0.0]);
    assert!((d.length() - 1.5).abs() < 0.02, "hangs at {}", d.length());
}

#[test]
fn joints_without_gravity_keep_momentum() {
    let mut bodies = RigidBodies::<f64>::new();
    for i in 0..4 {
        let body = RigidBody::cuboid([0.9, 0.2, 0.3], 400.0).at([f64::from(i), 0.0, 0.0]);
        bodies.push(&body.spinning([0.3 * f64::from(i), 0.5, -0.2]).moving([0.0, 0.1 * f64::from(i), 0.0])).unwrap();
        if i > 0 {
            bodies.join(&Joint::ball([i as usize - 1, i as usize], [f64::from(i) - 0.5, 0.0, 0.0])).unwrap();
        }
    }
    let p = bodies.linear_momentum();
    let mut stage = Stage::new(bodies, awake(20), 1.0 / 60.0).weightless();
    // The first step brings velocities into line with the joints; what they are then must stay.
    stage.step();
    let (l, size) = (stage.bodies.angular_momentum(), apart(stage.bodies.angular_momentum(), [0.0; 3]));
    stage.run(2.0);
    let drift = apart(stage.bodies.angular_momentum(), l) / size;
    println!("angular momentum drifts by {drift:e}");
    assert!(apart(stage.bodies.linear_momentum(), p) < 1e-9 * size);
    assert!(drift < 1e-2, "angular momentum drifts by {drift}");
}

#[test]
fn a_ragdoll_falls_and_stays_together() {
    let mut bodies = RigidBodies::<f32>::new();
    bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    Ragdoll::new(1.8).at([0.0, 0.5, 0.0]).build(&mut bodies).unwrap();
    let joints = bodies.joints().to_vec();
    let mut stage = Stage::new(bodies, awake(8), 1.0 / 60.0);
    let anchors: Vec<_> = stage.bodies.joint_terms().iter().map(|terms| (terms.bodies, terms.anchors)).collect();
    let mut worst = 0.0_f64;
    for _ in 0..300 {
        stage.step();
        for (pair, anchor) in &anchors {
            let place = |k: usize| {
                let row = pair[k] as usize;
                let q = Quaternion::new(stage.bodies.q[row].map(f64::from));
                let r = q.rotate(Vec3::from(anchor[k].map(f64::from)));
                <[f64; 3]>::from(Vec3::from(stage.bodies.x.get(row).map(f64::from)) + r)
            };
            worst = worst.max(apart(place(0), place(1)));
        }
    }
    let energy = stage.bodies.kinetic_energy();
    println!("{} joints, apart by at most {worst:e} m, energy {energy} J", joints.len());
    assert!(worst < 1e-2, "joints come apart by {worst} m");
    let lowest = (1..12).map(|row| stage.bodies.x.get(row)[1]).fold(f32::MAX, f32::min);
    assert!(lowest > 0.02, "a bone sank to {lowest}");
    assert!(energy < 5.0, "still moving with {energy} J");
}
