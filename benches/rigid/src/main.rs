//! Rigid bodies against rapier3d in one run: 5,000 falling boxes, 100 ragdolls; and what coupling to particles costs.
//!
//! `cargo run --release -p pliant-rigid-bench`. Both engines get the same bodies, 60 steps a second, and as many threads as
//! there are cores; times are milliseconds a step, the mean over the window that is named. Sleeping is off in both.
//! Words after `--` choose rows: `-- ragdolls simd` runs those alone, for a profiler.
#![allow(clippy::unwrap_used, reason = "a bench that cannot be set up cannot run")]

mod coupled;

use std::num::NonZero;
use std::time::Instant;

use pliant_backends::AnyBackend;
use pliant_core::rigid::{Ragdoll, RigidBodies, RigidBody};
use pliant_solvers::{RigidOptions, RigidSolver};
use rapier3d::prelude as rapier;

const STEPS: usize = 240;
/// Steps whose times count: things have landed and settle.
const SETTLED: usize = 180;

/// Corner of a box in a grid of columns with room between them.
fn place(i: usize) -> [f64; 3] {
    let (side, layer) = (25, 25 * 25);
    let (x, z, y) = (i % side, i / side % side, i / layer);
    // A little out of line, so that columns topple into a pile.
    let nudge = ((i * 7919) % 101) as f64 * 0.002;
    [0.62 * x as f64 + nudge, 0.4 + 0.62 * y as f64, 0.62 * z as f64 - nudge]
}

/// Mean milliseconds a step over all steps and over the settled ones.
fn time(mut step: impl FnMut()) -> [f64; 2] {
    let (mut all, mut settled) = (0.0, 0.0);
    for k in 0..STEPS {
        let start = Instant::now();
        step();
        let spent = start.elapsed().as_secs_f64() * 1e3;
        all += spent;
        if k >= SETTLED {
            settled += spent;
        }
    }
    [all / STEPS as f64, settled / (STEPS - SETTLED) as f64]
}

fn ours(bodies: &RigidBodies<f32>, backend: &str, threads: usize) -> ([f64; 2], u64) {
    let on = AnyBackend::<f32>::by_name(backend, Some(threads)).unwrap();
    let mut bodies = bodies.clone();
    let mut solver = RigidSolver::new(RigidOptions { sleep: None, ..RigidOptions::default() });
    solver.prepare(&bodies).unwrap();
    let times = time(|| {
        solver.step(&mut bodies, [0.0, -9.81, 0.0], 1.0 / 60.0, &on).unwrap();
    });
    (times, bodies.state_hash())
}

/// How much of a joint rapier is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joints {
    /// Points and axes alone: spherical joints where ours swing and twist.
    Bare,
    /// Limits (a box of angles for our cone) and dampers (motors that drive to speed 0) as well: what ours hold.
    Whole,
}

/// The same bodies and joints for rapier.
fn theirs(bodies: &RigidBodies<f32>, detail: Joints) -> [f64; 2] {
    use pliant_core::rigid::{Freedom, Mobility, Solid};
    let mut set = rapier::RigidBodySet::new();
    let mut colliders = rapier::ColliderSet::new();
    let mut joints = rapier::ImpulseJointSet::new();
    let mut handles = Vec::new();
    let vector = |v: [f64; 3]| rapier::Vector::new(v[0] as f32, v[1] as f32, v[2] as f32);
    for (row, body) in bodies.described().iter().enumerate() {
        let pose = bodies.pose(row);
        let [x, y, z, w] = pose.rotation.0.map(|c| c as f32);
        let at = rapier::Pose::from_parts(vector(pose.translation), rapier::Rotation::from_xyzw(x, y, z, w));
        let builder = match body.mobility {
            Mobility::Dynamic => rapier::RigidBodyBuilder::dynamic(),
            _ => rapier::RigidBodyBuilder::fixed(),
        };
        let handle = set.insert(builder.pose(at).can_sleep(false));
        for part in &body.parts {
            let shape = match part.solid {
                Solid::Cuboid { half } => {
                    rapier::ColliderBuilder::cuboid(half[0] as f32, half[1] as f32, half[2] as f32)
                }
                Solid::Capsule { radius, half_length } => {
                    rapier::ColliderBuilder::capsule_y(half_length as f32, radius as f32)
                }
                _ => rapier::ColliderBuilder::halfspace(rapier::nalgebra::Unit::new_unchecked(rapier::Vector::Y)),
            };
            let shape = shape.density(body.density as f32).friction(body.friction as f32);
            colliders.insert_with_parent(shape, handle, &mut set);
        }
        handles.push(handle);
    }
    for joint in bodies.joints() {
        let [a, b] = joint.bodies.map(|row| handles[row]);
        let turn = rapier::GenericJoint::complete_ang_frame(vector(joint.axis).normalize());
        let frame = |k: usize| {
            let here = rapier::Pose::from_parts(vector(joint.points[k]), turn);
            set[[a, b][k]].position().inverse() * here
        };
        let twist = rapier::JointAxis::AngX;
        let swings = [rapier::JointAxis::AngY, rapier::JointAxis::AngZ];
        let (locked, limits) = match joint.freedom {
            Freedom::Hinge { limits } => (rapier::JointAxesMask::LOCKED_REVOLUTE_AXES, limits),
            Freedom::SwingTwist { twist, .. } => (rapier::JointAxesMask::LOCKED_SPHERICAL_AXES, Some(twist)),
            _ => (rapier::JointAxesMask::LOCKED_SPHERICAL_AXES, None),
        };
        let mut built = rapier::GenericJointBuilder::new(locked)
            .local_frame1(frame(0))
            .local_frame2(frame(1))
            .contacts_enabled(joint.touching);
        if detail == Joints::Whole {
            if let Some(range) = limits {
                built = built.limits(twist, range.map(|angle| angle as f32));
            }
            let mut free = vec![twist];
            if let Freedom::SwingTwist { swing, .. } = joint.freedom {
                free.extend(swings);
                for axis in swings {
                    built = built.limits(axis, [-swing as f32, swing as f32]);
                }
            }
            for axis in free {
                built = built.motor_model(axis, rapier::MotorModel::ForceBased);
                built = built.motor_velocity(axis, 0.0, joint.damping as f32);
            }
        }
        joints.insert(a, b, built.build(), true);
    }
    let mut pipeline = rapier::PhysicsPipeline::new();
    let mut islands = rapier::IslandManager::new();
    let mut broad = rapier::DefaultBroadPhase::new();
    let mut narrow = rapier::NarrowPhase::new();
    let mut multibody = rapier::MultibodyJointSet::new();
    let mut soft = rapier::SoftBodySet::new();
    let mut ccd = rapier::CCDSolver::new();
    let parameters = rapier::IntegrationParameters::default();
    time(|| {
        pipeline.step(
            rapier::Vector::new(0.0, -9.81, 0.0),
            &parameters,
            &mut islands,
            &mut broad,
            &mut narrow,
            &mut set,
            &mut colliders,
            &mut joints,
            &mut multibody,
            &mut soft,
            &mut ccd,
            &(),
            &(),
        );
    })
}

fn main() {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut boxes = RigidBodies::<f32>::new();
    boxes.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    for i in 0..5000 {
        boxes.push(&RigidBody::cuboid([0.5; 3], 500.0).at(place(i))).unwrap();
    }
    let mut dolls = RigidBodies::<f32>::new();
    dolls.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    for i in 0..100 {
        let at = [2.0 * f64::from(i % 10), 0.5 + 0.1 * f64::from(i % 7), 1.0 * f64::from(i / 10)];
        Ragdoll::new(1.8).at(at).build(&mut dolls).unwrap();
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |row: &str| words.iter().all(|word| row.contains(word.as_str()));
    println!(
        "| scene | engine | ms a step, all {STEPS} | ms a step, from step {SETTLED} on |\n| --- | --- | --- | --- |"
    );
    for (scene, bodies) in [("5,000 falling boxes", &boxes), ("100 ragdolls", &dolls)] {
        for (name, threads) in [("scalar", 1), ("simd", 1), ("parallel", threads)] {
            if wanted(&format!("{scene} {name}")) {
                let ([all, settled], hash) = ours(bodies, name, threads);
                println!("| {scene} | pliant {name} × {threads} (state {hash:016x}) | {all:.2} | {settled:.2} |");
            }
        }
        for (name, detail) in [("rapier3d 0.36", Joints::Whole), ("rapier3d 0.36, bare joints", Joints::Bare)] {
            if wanted(&format!("{scene} {name}")) && (detail == Joints::Whole || !bodies.joints().is_empty()) {
                let [all, settled] = theirs(bodies, detail);
                println!("| {scene} | {name} (`simd8`, `parallel`) | {all:.2} | {settled:.2} |");
            }
        }
    }
    for (name, threads) in [("scalar", 1), ("simd", 1), ("parallel", threads)] {
        if wanted(&format!("coupled {name}")) {
            let [together, particles, bodies] = coupled::costs(name, threads);
            let (count, share) = (coupled::SIDE.pow(3), 1.0 - (particles + bodies) / together);
            println!(
                "coupled, {count} particles on a box, {name} × {threads}: {together:.3} ms a step together; particles alone \
                 {particles:.3}, bodies alone {bodies:.3}; coupling {:.0} %",
                100.0 * share
            );
        }
    }
}
