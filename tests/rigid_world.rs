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
    assert!(lowest > -1e-3, "the cube sank to {lowest}");
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

/// The speed that a box of friction μ gains in a second on a collider plane of 30°, along the slope \[m/s²\].
fn slide(friction: f64) -> f32 {
    let (sin, cos) = (30.0_f64.to_radians().sin(), 30.0_f64.to_radians().cos());
    let tilt = Rotation::about([0.0, 0.0, 1.0], -30.0_f64.to_radians());
    let mut world = World::new();
    world.add_collider(Collider::plane([sin, cos, 0.0]).with_friction(friction)).unwrap();
    let stone = RigidBody::cuboid([0.4, 0.2, 0.4], 500.0).at([0.1 * sin, 0.1 * cos, 0.0]).turned(tilt);
    let stone = world.add_rigid(&stone.with_friction(friction)).unwrap();
    // Over its first steps it settles.
    for _ in 0..12 {
        world.step(1.0 / 120.0).unwrap();
    }
    let speed = |world: &World| {
        let [v, _] = world.rigid_velocity(stone).unwrap();
        v[0] * cos as f32 - v[1] * sin as f32
    };
    let before = speed(&world);
    for _ in 0..120 {
        world.step(1.0 / 120.0).unwrap();
    }
    speed(&world) - before
}

#[test]
fn boxes_slide_on_colliders_as_coulomb_says() {
    let gained = slide(0.3);
    println!("{gained} m/s²");
    assert!((gained / 2.356 - 1.0).abs() < 0.01, "{gained} m/s² instead of 2.356");
    let stuck = slide(0.6);
    assert!(stuck.abs() < 1e-3, "it slides by {stuck} m/s²");
}

#[test]
fn balls_bounce_off_colliders() {
    let mut world = World::new();
    world.add_collider(Collider::plane([0.0, 1.0, 0.0]).with_restitution(0.8)).unwrap();
    let ball = world.add_rigid(&RigidBody::sphere(0.1, 500.0).at([0.0, 1.1, 0.0])).unwrap();
    let (mut apexes, mut last) = (Vec::new(), [2.0_f32; 2]);
    for _ in 0..800 {
        world.step(1.0 / 240.0).unwrap();
        let y = world.rigid_pose(ball).unwrap().translation[1] as f32 - 0.1;
        if last[1] > last[0] && last[1] > y {
            apexes.push(last[1]);
        }
        last = [last[1], y];
    }
    println!("{apexes:?}");
    for (apex, expected) in apexes.iter().zip([0.64, 0.4096, 0.262_144]) {
        assert!((apex / expected - 1.0).abs() < 0.02, "{apex} m instead of {expected}");
    }
    assert!(apexes.len() >= 3);
}

#[test]
fn rigid_bodies_rest_on_colliders_of_every_shape_and_ride_them() {
    let ring = Shape::Torus { major: 0.3, minor: 0.1 };
    let plate = Shape::Cuboid { half: [1.0, 0.1, 1.0] };
    let dish = plate.difference(Shape::Sphere { radius: 0.5 }.translated([0.0, 0.5, 0.0]));
    // A shape, and where a ball of 0.3 m comes to rest on its axis.
    let shapes = [
        (Shape::Plane { normal: [0.0, 1.0, 0.0] }, 0.3),
        (Shape::Cuboid { half: [0.5, 0.1, 0.5] }, 0.4),
        (Shape::Cylinder { radius: 0.5, half_height: 0.1 }, 0.4),
        // Centres of ball and tube are 0.4 m apart, 0.3 m of it across.
        (ring, (0.4_f64 * 0.4 - 0.3 * 0.3).sqrt()),
        (dish, 0.3),
    ];
    for (shape, height) in shapes {
        let mut world = World::new();
        let lift = world.add_collider(Collider::new(shape.clone()).with_friction(0.5)).unwrap();
        let ball = world.add_rigid(&RigidBody::sphere(0.3, 100.0).at([0.0, 0.5, 0.0])).unwrap();
        for _ in 0..240 {
            world.step(1.0 / 120.0).unwrap();
        }
        let rest = world.rigid_pose(ball).unwrap().translation[1];
        println!("{shape:?}: {rest}");
        assert!((rest - height).abs() < 2e-3, "{shape:?}: rests at {rest}, not at {height}");
        for step in 1..=60 {
            world.move_collider(lift, Pose::at([0.0, 0.01 * f64::from(step), 0.0])).unwrap();
            world.step(1.0 / 120.0).unwrap();
        }
        let lifted = world.rigid_pose(ball).unwrap().translation[1];
        assert!((lifted - rest - 0.6).abs() < 0.02, "{shape:?}: lifted by {} m", lifted - rest);
        world.remove_collider(lift).unwrap();
        for _ in 0..120 {
            world.step(1.0 / 120.0).unwrap();
        }
        assert!(world.rigid_pose(ball).unwrap().translation[1] < lifted - 1.0, "{shape:?}: nothing holds it any more");
        assert_eq!(world.rigid_bodies().len(), 1);
    }
}

#[test]
fn cloth_rests_on_a_box_that_rests_on_a_collider() {
    let mut world = World::new();
    world.add_collider(Collider::plane([0.0, 1.0, 0.0]).with_friction(0.5)).unwrap();
    let table = world.add_rigid(&RigidBody::cuboid([0.6, 0.4, 0.6], 100.0).at([0.5, 0.2, 0.5])).unwrap();
    let grid = ClothGrid::square(1.0, 25);
    let cloth = Body::cloth(&grid).unwrap().with_mass(0.3).with_thickness(0.005).translated([0.0, 0.45, 0.0]);
    let cloth = world.add(cloth).unwrap();
    for _ in 0..240 {
        world.step(1.0 / 120.0).unwrap();
    }
    let pose = world.rigid_pose(table).unwrap();
    assert!((pose.translation[1] - 0.2).abs() < 2e-3 && (pose.translation[0] - 0.5).abs() < 5e-3, "{pose:?}");
    let mut on_top = 0;
    for p in world.positions(cloth).unwrap().iter() {
        let beside = [0, 2].map(|k| (p[k] - 0.5).abs() - 0.3);
        let inside = beside[0].max(beside[1]).max(p[1] - 0.4);
        assert!(inside > -2e-3, "{p:?} is {inside} m inside the table");
        on_top += usize::from((p[1] - 0.405).abs() < 0.01);
    }
    println!("{on_top} particles lie on the table");
    assert!(on_top > 75, "{on_top} particles lie on the table");
}

#[test]
fn a_fastened_pair_keeps_momentum() {
    let mut world = World::new();
    world.environment_mut().gravity = [0.0; 3];
    let at = |i: usize| [i % 4, i / 16, i / 4 % 4].map(|k| 0.1 * k as f64);
    let cloud = world.add(Body::particles((0..64).map(at)).with_mass(12.8)).unwrap();
    let stone = RigidBody::cuboid([0.3, 0.1, 0.2], 300.0).at([0.15, 0.45, 0.15]);
    let stone = world.add_rigid(&stone.moving([0.5, 0.0, -0.3]).spinning([1.0, 2.0, -1.0])).unwrap();
    for particle in 48..64 {
        world.fasten(cloud, particle, stone).unwrap();
    }
    // Linear and angular momentum of everything.
    let momentum = |world: &World| {
        let (mut p, mut l) = (world.rigid_bodies().linear_momentum(), world.rigid_bodies().angular_momentum());
        for (x, v) in world.particles().x.iter().zip(world.particles().v.iter()) {
            let (x, v) = (x.map(f64::from), v.map(|c| 0.2 * f64::from(c)));
            let turn = [x[1] * v[2] - x[2] * v[1], x[2] * v[0] - x[0] * v[2], x[0] * v[1] - x[1] * v[0]];
            p = std::array::from_fn(|k| p[k] + v[k]);
            l = std::array::from_fn(|k| l[k] + turn[k]);
        }
        (p, l)
    };
    let apart = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    let (p, l) = momentum(&world);
    let held: Vec<_> = (48..64).map(|i| world.rigid_pose(stone).unwrap().unplace(at(i))).collect();
    for _ in 0..120 {
        world.step(1.0 / 120.0).unwrap();
    }
    let (p1, l1) = momentum(&world);
    let pose = world.rigid_pose(stone).unwrap();
    let gaps =
        held.iter().zip(48..64).map(|(&point, i)| apart(pose.place(point), world.particles().x.get(i).map(f64::from)));
    let gap = gaps.fold(0.0, f64::max);
    println!("{:e} and {:e} lost, {gap:e} m apart", apart(p, p1), apart(l, l1));
    // Velocities are differences of positions: single precision rounds each by 4e-5 m/s a substep, 1200 times. In double precision
    // it is 1e-11 (tests/methods/rigid/coupling.rs).
    assert!(apart(p, p1) < 2e-3 && apart(l, l1) < 2e-3, "{p:?} and {l:?} became {p1:?} and {l1:?}");
    assert!(gap < 1e-4, "fastenings come apart by {gap} m");
    assert!(p1[0].abs() > 0.5, "it moves");
}

#[test]
fn a_body_thrown_too_far_takes_the_particles_method_back_too() {
    let mut world = World::new();
    let cloud = world.add(Body::particles([[0.0; 3], [1.0, 0.0, 0.0]]).with_mass(2.0).pinned([0])).unwrap();
    // A speck on a long arm: whatever moves the arm's end spins it beyond all numbers.
    let speck = world.add_rigid(&RigidBody::sphere(1e-4, 1e-3).at([1.0, 1.0, 0.0])).unwrap();
    world.fasten(cloud, 1, speck).unwrap();
    let floor = world.add_collider(Collider::plane([0.0, 1.0, 0.0]).at([0.0, -5.0, 0.0])).unwrap();
    world.step(1e-3).unwrap();
    world.move_collider(floor, Pose::at([0.0, -4.9, 0.0])).unwrap();

    world.set_velocity(cloud, 1, [3e5, 2e5, 1e5]).unwrap();
    let before = world.snapshot();
    let failed = world.step(1e-3);
    assert!(matches!(failed, Err(StepError::BodyDiverged { quantity: "pose or velocity", .. })), "{failed:?}");
    assert!(world.snapshot() == before, "the method remembers where the floor was");
}
