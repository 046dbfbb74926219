//! Cloth on bones: limits that hold in every method, bones of both kinds, errors that change nothing.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pliant::core::snapshot::{Reader, Writer};
use pliant::prelude::*;

const SIDE: usize = 12;

/// A cloth of 1 m in the plane y = 0; its normals point up or down, all the same way.
fn cloth() -> Body {
    let body = Body::cloth(&ClothGrid::square(1.0, SIDE)).unwrap().with_mass(0.3);
    body.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Shear, 1e-3).with_compliance(Role::Bend, 1e-2)
}

fn skinning(bones: Vec<SkinBone>) -> Skinning {
    let count = SIDE * SIDE;
    // From one bone to the other along x; the first row follows exactly, the last may go 0.3 m away.
    let across = |i: usize| (i % SIDE) as f64 / (SIDE - 1) as f64;
    let weights = (0..count).map(|i| vec![(0, 2.0 - 2.0 * across(i)), (1, 2.0 * across(i))]).collect();
    let max_distance = (0..count).map(|i| 0.3 * (i / SIDE) as f64 / (SIDE - 1) as f64).collect();
    let backstop = vec![Backstop { offset: 0.02, radius: 0.5 }; count];
    Skinning { bones, weights, max_distance, backstop }
}

/// Where two bones are at time t, from where they began.
fn poses(t: f64) -> [Pose; 2] {
    let sway = Rotation::about([0.3, 1.0, 0.2], 0.8 * (3.0 * t).sin());
    let step = Pose::at([0.6 * (2.0 * t).sin(), 0.2 * (5.0 * t).sin(), 0.3 * t]);
    [
        step.turned(sway),
        Pose {
            translation: step.translation.map(|c| 1.2 * c),
            ..step.turned(Rotation::about([0.0, 0.0, 1.0], 0.3 * t))
        },
    ]
}

fn check(world: &World, cloth: BodyId, bind: &[[f64; 3]], normals: &[[f64; 3]], bones: [Pose; 2], name: &str) {
    let skinning = skinning(Vec::new());
    for (i, x) in world.positions(cloth).unwrap().iter().enumerate() {
        let x = x.map(f64::from);
        let sum: f64 = skinning.weights[i].iter().map(|w| w.1).sum();
        let (mut place, mut normal) = ([0.0; 3], [0.0; 3]);
        for &(bone, weight) in &skinning.weights[i] {
            let (p, n) = (bones[bone].place(bind[i]), bones[bone].turn(normals[i]));
            for k in 0..3 {
                place[k] += weight / sum * p[k];
                normal[k] += weight / sum * n[k];
            }
        }
        let length = |d: [f64; 3]| d.iter().map(|c| c * c).sum::<f64>().sqrt();
        let unit = normal.map(|c| c / length(normal));
        let off: [f64; 3] = std::array::from_fn(|k| x[k] - place[k]);
        let max = skinning.max_distance[i];
        assert!(length(off) <= max + 2e-6, "{name}: particle {i} is {} m from its place, more than {max}", length(off));
        let back: [f64; 3] = std::array::from_fn(|k| off[k] + 0.52 * unit[k]);
        assert!(length(back) >= 0.5 - 2e-6, "{name}: particle {i} is {} m inside its backstop", 0.5 - length(back));
    }
}

#[test]
fn limits_hold_in_every_step() {
    let mut solvers: Vec<(&str, World)> = vec![("xpbd", World::new())];
    solvers.push((
        "pbd",
        World::with_method(Pbd::new(PbdOptions { substeps: 4, iterations: 3, ..Default::default() }), Best::new()),
    ));
    solvers.push(("symplectic", World::with_method(Symplectic::new(60), Best::new())));
    for (name, mut world) in solvers {
        let cloth = world.add(cloth()).unwrap();
        let bind: Vec<[f64; 3]> = world.positions(cloth).unwrap().iter().map(|p| p.map(f64::from)).collect();
        let mut normals = vec![[0.0; 3]; bind.len()];
        world.normals(cloth, &mut normals).unwrap();
        let normals: Vec<[f64; 3]> = normals.iter().map(|n| n.map(f64::from)).collect();
        let bones = [world.add_bone(Pose::IDENTITY).unwrap(), world.add_bone(Pose::IDENTITY).unwrap()];
        world.skin(cloth, &skinning(bones.map(Into::into).to_vec())).unwrap();
        // In the way: limits come first.
        world.add_collider(Collider::sphere(0.2).at([0.5, -0.1, 0.5])).unwrap();
        for step in 1..=120 {
            let now = poses(f64::from(step) / 60.0);
            for (bone, pose) in bones.into_iter().zip(now) {
                world.move_bone(bone, pose).unwrap();
            }
            world.step(1.0 / 60.0).unwrap();
            check(&world, cloth, &bind, &normals, now, name);
        }
        // Without its skin it falls.
        world.unskin(cloth).unwrap();
        for _ in 0..60 {
            world.step(1.0 / 60.0).unwrap();
        }
        let lowest = world.positions(cloth).unwrap().iter().map(|p| p[1]).fold(f32::MAX, f32::min);
        assert!(lowest < -1.0, "{name}: {lowest}");
    }
}

#[test]
fn every_backend_gives_the_same_bits() {
    let run = |on: Best| {
        let mut world = World::on(on);
        let cloth = world.add(cloth()).unwrap();
        let bones = [world.add_bone(Pose::IDENTITY).unwrap(), world.add_bone(Pose::IDENTITY).unwrap()];
        world.skin(cloth, &skinning(bones.map(Into::into).to_vec())).unwrap();
        for step in 1..=30 {
            for (bone, pose) in bones.into_iter().zip(poses(f64::from(step) / 60.0)) {
                world.move_bone(bone, pose).unwrap();
            }
            world.step(1.0 / 60.0).unwrap();
        }
        world.state_hash()
    };
    let expected = run(Best::by_name("scalar", None).unwrap());
    for name in Best::<f32>::names() {
        for threads in [1, 2, 5] {
            assert_eq!(run(Best::by_name(name, Some(threads)).unwrap()), expected, "{name} with {threads} threads");
        }
    }
}

#[test]
fn bad_skins_are_refused_and_change_nothing() {
    let mut world = World::new();
    let body = world.add(cloth()).unwrap();
    let bones = [world.add_bone(Pose::IDENTITY).unwrap(), world.add_bone(Pose::IDENTITY).unwrap()];
    let good = skinning(bones.map(Into::into).to_vec());
    let bad = [
        Skinning { weights: Vec::new(), ..good.clone() },
        Skinning { weights: vec![vec![(2, 1.0)]; SIDE * SIDE], ..good.clone() },
        Skinning { weights: vec![vec![(0, -1.0)]; SIDE * SIDE], ..good.clone() },
        Skinning { weights: vec![vec![(0, 0.0)]; SIDE * SIDE], ..good.clone() },
        Skinning { weights: vec![vec![(0, f64::NAN)]; SIDE * SIDE], ..good.clone() },
        Skinning { max_distance: vec![-0.1; SIDE * SIDE], ..good.clone() },
        Skinning { max_distance: vec![f64::NAN; SIDE * SIDE], ..good.clone() },
        Skinning { max_distance: vec![0.1; 3], ..good.clone() },
        Skinning { backstop: vec![Backstop { offset: -1.0, radius: 0.1 }; SIDE * SIDE], ..good.clone() },
        Skinning { backstop: vec![Backstop { offset: 0.0, radius: f64::INFINITY }; SIDE * SIDE], ..good.clone() },
    ];
    for (case, skinning) in bad.iter().enumerate() {
        let error = world.skin(body, skinning).unwrap_err();
        println!("{case}: {error}");
        assert!(world.model().skin().is_none(), "case {case}");
    }
    assert!(world.unskin(body).is_err() && world.add_bone(Pose::IDENTITY.turned([0.0; 4])).is_err());
    assert!(world.move_bone(bones[0], Pose::at([f64::NAN, 0.0, 0.0])).is_err());
    world.skin(body, &good).unwrap();
    assert!(world.skin(body, &bad[3]).is_err());
    assert_eq!(world.model().skin().unwrap().particles().len(), SIDE * SIDE, "the old skin stays");
    // Infinite distances are free; a second body and its removal renumber nothing wrongly.
    let other = world.add(cloth().translated([3.0, 0.0, 0.0])).unwrap();
    let free = Skinning { max_distance: vec![f64::INFINITY; SIDE * SIDE], backstop: Vec::new(), ..good };
    world.skin(other, &free).unwrap();
    world.remove(body).unwrap();
    for _ in 0..30 {
        world.step(1.0 / 60.0).unwrap();
    }
    let highest = world.positions(other).unwrap().iter().map(|p| p[1]).fold(f32::MIN, f32::max);
    assert!(highest < -1.0, "nothing holds it: {highest}");
    assert!(world.skin(body, &free).is_err(), "it is gone");
}

#[cfg(feature = "rigid")]
#[test]
fn cloth_follows_a_rigid_body() {
    let mut world = World::new();
    let cloth = world.add(cloth()).unwrap();
    let arm = RigidBody { mobility: pliant::Mobility::Kinematic, ..RigidBody::capsule(0.1, 0.5, 100.0) };
    let arm = world.add_rigid(&arm.at([0.5, -0.5, 0.5])).unwrap();
    let weights = vec![vec![(0, 1.0)]; SIDE * SIDE];
    let max_distance = vec![0.0; SIDE * SIDE];
    world.skin(cloth, &Skinning { bones: vec![arm.into()], weights, max_distance, backstop: Vec::new() }).unwrap();
    let before = world.positions(cloth).unwrap().get(17);
    for step in 1..=10 {
        world.send_rigid(arm, Pose::at([0.5 + 0.1 * f64::from(step), -0.5, 0.5])).unwrap();
        world.step(1.0 / 60.0).unwrap();
        let now = world.positions(cloth).unwrap().get(17);
        assert!((now[0] - before[0] - 0.1 * step as f32).abs() < 1e-5 && (now[1] - before[1]).abs() < 1e-6, "{now:?}");
    }
}

/// A body whose particles follow one bone exactly.
fn strapped(world: &mut World, body: Body, bone: SkinBone) -> BodyId {
    let count = body.particle_count();
    let id = world.add(body).unwrap();
    let (weights, max_distance) = (vec![vec![(0, 1.0)]; count], vec![0.0; count]);
    world.skin(id, &Skinning { bones: vec![bone], weights, max_distance, backstop: Vec::new() }).unwrap();
    id
}

/// Every bit of a body's positions and velocities.
fn bits(world: &World, id: BodyId) -> Vec<[u32; 3]> {
    let (x, v) = (world.positions(id).unwrap(), world.velocities(id).unwrap());
    x.iter().chain(v.iter()).map(|c| c.map(f32::to_bits)).collect()
}

/// A cloth whose bone went away stays where it was, whatever happens around it.
fn stays(mut world: World, body: BodyId) {
    let before: Vec<[f32; 3]> = world.positions(body).unwrap().iter().collect();
    let check = |world: &mut World, what: &str| {
        world.step(1.0 / 60.0).unwrap();
        for (x, before) in world.positions(body).unwrap().iter().zip(&before) {
            assert!((0..3).all(|k| (x[k] - before[k]).abs() < 1e-5), "{what}: {x:?}, {before:?} before");
        }
    };
    check(&mut world, "left alone");
    let bone = world.add_bone(Pose::IDENTITY).unwrap();
    let other = strapped(&mut world, cloth().translated([0.0, 5.0, 0.0]), bone.into());
    check(&mut world, "another skin");
    world.add(Body::particles([[9.0; 3]])).unwrap();
    check(&mut world, "another body");
    world.tear(body, [65, 66]).unwrap();
    let count = world.positions(body).unwrap().len();
    assert!(count > SIDE * SIDE);
    check(&mut world, "torn");
    world.unskin(other).unwrap();
    check(&mut world, "a skin less");
    world.remove(other).unwrap();
    check(&mut world, "a body less");
    let origin = [0.0_f32; 3];
    assert!(world.positions(body).unwrap().iter().all(|x| x != origin), "copies neither");
}

#[test]
fn cloth_on_a_bone_that_is_gone_stays_where_it_was() {
    let mut world = World::new();
    let bone = world.add_bone(Pose::IDENTITY).unwrap();
    let body = strapped(&mut world, cloth().translated([3.0, 2.0, 0.0]), bone.into());
    world.move_bone(bone, Pose::at([0.5, 0.0, 0.0])).unwrap();
    world.step(1.0 / 60.0).unwrap();
    world.remove_bone(bone).unwrap();
    assert!(world.bone(bone).is_err() && world.remove_bone(bone).is_err());
    stays(world, body);
}

#[cfg(feature = "rigid")]
#[test]
fn cloth_on_a_rigid_body_that_is_gone_stays_where_it_was() {
    let mut world = World::new();
    let arm = RigidBody { mobility: pliant::Mobility::Kinematic, ..RigidBody::capsule(0.1, 0.5, 100.0) };
    let arm = world.add_rigid(&arm.at([3.0, 0.0, 0.0])).unwrap();
    let body = strapped(&mut world, cloth().translated([3.0, 2.0, 0.0]), arm.into());
    world.step(1.0 / 60.0).unwrap();
    world.remove_rigid(arm).unwrap();
    stays(world, body);
}

#[test]
fn what_happens_to_one_skin_leaves_the_way_of_the_others_alone() {
    let build = || {
        let mut world = World::new();
        let bones = [(); 2].map(|()| world.add_bone(Pose::IDENTITY).unwrap());
        let first = strapped(&mut world, cloth(), bones[0].into());
        let second = strapped(&mut world, cloth().translated([0.0, 3.0, 0.0]), bones[1].into());
        world.step(1.0 / 60.0).unwrap();
        // On their way, not there yet.
        world.move_bone(bones[0], Pose::at([0.0, 0.0, 0.3])).unwrap();
        world.move_bone(bones[1], Pose::at([0.2, 0.1, 0.0])).unwrap();
        (world, first, second)
    };
    let (mut straight, _, second) = build();
    straight.step(1.0 / 60.0).unwrap();
    let expected = bits(&straight, second);
    let speed = straight.velocities(second).unwrap().get(40)[0];
    assert!((speed - 12.0).abs() < 0.01, "0.2 m in a sixtieth of a second: {speed} m/s");
    type Edit = fn(&mut World, BodyId);
    let edits: [(&str, Edit); 4] = [
        ("removed", |world, first| world.remove(first).unwrap()),
        ("taken off", |world, first| world.unskin(first).unwrap()),
        ("torn", |world, first| assert!(world.tear(first, [65, 66]).is_ok())),
        ("joined by a third", |world, _| {
            let bone = world.add_bone(Pose::IDENTITY).unwrap();
            strapped(world, cloth().translated([0.0, 6.0, 0.0]), bone.into());
        }),
    ];
    for (what, edit) in edits {
        let (mut world, first, second) = build();
        edit(&mut world, first);
        world.step(1.0 / 60.0).unwrap();
        assert!(bits(&world, second) == expected, "{what}");
    }
}

/// A method that refuses a model once when it is told to.
struct Moody {
    inner: Box<dyn Solver<Best>>,
    refuses: Arc<AtomicBool>,
}

impl Solver<Best> for Moody {
    fn name(&self) -> &'static str {
        "moody"
    }
    fn prepare(&mut self, model: &Model<f32>) -> Result<(), BuildError> {
        if self.refuses.swap(false, Ordering::Relaxed) { Err(BuildError::Empty) } else { self.inner.prepare(model) }
    }
    fn step(
        &mut self,
        model: &Model<f32>,
        particles: &mut Particles<f32>,
        dt: f32,
        on: &Best,
    ) -> Result<StepReport, StepError> {
        self.inner.step(model, particles, dt, on)
    }
    fn remember(&self, to: &mut Writer) {
        self.inner.remember(to);
    }
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.inner.recall(from)
    }
}

#[test]
fn a_solver_that_refuses_leaves_skins_as_they_were() {
    let refuses = Arc::new(AtomicBool::new(false));
    let inner = Method::by_name("pbd").unwrap().into_solver();
    let moody = Moody { inner, refuses: Arc::clone(&refuses) };
    let mut world = World::with_method(Method::own(moody), Best::new());
    let bone = world.add_bone(Pose::IDENTITY).unwrap();
    let body = strapped(&mut world, cloth(), bone.into());
    let bare = world.add(cloth().translated([0.0, 3.0, 0.0])).unwrap();
    world.step(1.0 / 60.0).unwrap();
    world.move_bone(bone, Pose::at([0.1, 0.0, 0.0])).unwrap();
    let (before, skin) = (world.snapshot(), world.model().skin().cloned());
    refuses.store(true, Ordering::Relaxed);
    assert_eq!(world.unskin(body), Err(BuildError::Empty));
    assert!(world.snapshot() == before && world.model().skin().cloned() == skin);
    let count = SIDE * SIDE;
    let (weights, max_distance) = (vec![vec![(0, 1.0)]; count], vec![0.0; count]);
    let skinning = Skinning { bones: vec![bone.into()], weights, max_distance, backstop: Vec::new() };
    for id in [body, bare] {
        refuses.store(true, Ordering::Relaxed);
        assert_eq!(world.skin(id, &skinning), Err(BuildError::Empty));
        assert!(world.snapshot() == before && world.model().skin().cloned() == skin);
    }
    world.step(1.0 / 60.0).unwrap();
    assert!((world.positions(body).unwrap().get(0)[0] - 0.1).abs() < 1e-6, "it still hangs on its bone");
    world.unskin(body).unwrap();
    assert!(world.model().skin().is_none());
}
