//! Snapshots: a resumed run gives the same bits at every later step, for every solver and backend; what is no snapshot of a
//! world leaves it as it is.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

#[path = "../common/mod.rs"]
mod common;
mod foreign;

use common::Random;
use pliant::prelude::*;
use pliant::{ColliderForm, Projective, ProjectiveOptions, SurfaceBarrier, Symplectic};
use pliant_harness::instances::{Boxed, Instances};

type TestWorld = WorldOn<AnyBackend<f32>>;
type Build = fn(Boxed<f32>, AnyBackend<f32>) -> TestWorld;

const DT: f32 = 1.0 / 60.0;
/// Snapshots of a run, taken at random among its first steps.
const TAKEN: usize = 10;
const FIRST: usize = 60;
/// Steps of the runs that resume it.
const RESUMED: usize = 200;
/// How many times as large as positions and velocities a snapshot is at most, of boxes in a pile and of sheets that lie on each other
/// all over. Measured are 15 and 25.
const PILE_RATIO: f64 = 20.0;
const LAYERS_RATIO: f64 = 35.0;
const BACKENDS: [&str; 4] = ["scalar", "simd", "simd-portable", "parallel"];

fn backend(name: &str) -> AnyBackend<f32> {
    AnyBackend::by_name(name, Some(2)).unwrap()
}

/// A cloth of springs that flow, which hangs by pins and attachments, over a collider that moves; in the wind.
fn curtain(solver: Boxed<f32>, on: AnyBackend<f32>) -> TestWorld {
    let mut world = TestWorld::with_method(solver, on);
    let ball = Collider::sphere(0.2).at([0.5, -0.25, 0.5]).with_friction(0.4);
    world.add_collider(ball).unwrap();
    let cloth = Body::cloth(&ClothGrid::square(1.0, 6)).unwrap().with_mass(0.5);
    let soft =
        [Role::Stretch, Role::Shear, Role::Bend].into_iter().fold(cloth, |b, role| b.with_compliance(role, 2e-3));
    let law = Plasticity { yields_at: 0.01, creep: 2.0, bound: 0.2 };
    let soft = soft.with_plasticity(Role::Stretch, law).with_plasticity(Role::Bend, law);
    world.add(soft.pinned([0, 5]).attached(32, [0.5, 0.1, 1.0], 1e-2).with_thickness(0.01)).unwrap();
    world.environment_mut().wind = Some(Wind { velocity: [1.0, 0.0, 2.0], density: 1.2, drag: 0.6, lift: 0.4 });
    world.watch_contacts(true);
    world
}

/// A stiff cloth, large enough for coarser layers of itself.
fn banner(solver: Boxed<f32>, on: AnyBackend<f32>) -> TestWorld {
    let mut world = TestWorld::with_method(solver, on);
    world.add_collider(Collider::sphere(0.3).at([0.5, -0.4, 0.5]).with_friction(0.3)).unwrap();
    world.add(Body::cloth(&ClothGrid::square(1.0, 12)).unwrap().with_mass(0.5).pinned([0, 11])).unwrap();
    world
}

/// A balloon of soft rubber that bounces.
fn balloon(solver: Boxed<f32>, on: AnyBackend<f32>) -> TestWorld {
    let mut world = TestWorld::with_method(solver, on);
    world.add_collider(Collider::plane([0.0, 1.0, 0.0]).with_restitution(0.6)).unwrap();
    let ball = Body::balloon(&icosphere(0.3, 0).unwrap(), 1.2).unwrap().with_mass(0.5);
    let soft = [Role::Stretch, Role::Bend].into_iter().fold(ball, |b, role| b.with_compliance(role, 2e-3));
    world.add(soft.with_compliance(Role::Volume, 1e-4).translated([0.0, 0.5, 0.0])).unwrap();
    world
}

/// A rope on tethers from a pin.
fn tethered(solver: Boxed<f32>, on: AnyBackend<f32>) -> TestWorld {
    let mut world = TestWorld::with_method(solver, on);
    let rope = Rope::new(12, [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]).unwrap();
    world.add(Body::rope(&rope, false).unwrap().pinned([0]).with_tethers(0.02)).unwrap();
    world
}

/// Two sheets that keep clear of each other fall onto a ball.
fn layers(solver: Boxed<f32>, on: AnyBackend<f32>) -> TestWorld {
    let mut world = TestWorld::with_method(solver, on);
    world.add_collider(Collider::sphere(0.2).at([0.25, -0.22, 0.25]).with_friction(0.4)).unwrap();
    let contact = SelfContact { thickness: 0.02, ..SelfContact::default() };
    for height in [0.0, 0.04] {
        let sheet = Body::cloth(&ClothGrid::square(0.5, 5)).unwrap().with_mass(0.1);
        let soft =
            [Role::Stretch, Role::Shear, Role::Bend].into_iter().fold(sheet, |b, role| b.with_compliance(role, 1e-3));
        world.add(soft.translated([0.03 * height, height, 0.0]).with_self_contact(contact)).unwrap();
    }
    world
}

/// A cube of clusters that keeps its dents falls on the floor.
fn dents(solver: Boxed<f32>, on: AnyBackend<f32>) -> TestWorld {
    let mut world = TestWorld::with_method(solver, on);
    world.add_collider(Collider::plane([0.0, 1.0, 0.0]).with_friction(0.5)).unwrap();
    let points = (0..64).map(|i| [i % 4, i / 4 % 4, i / 16].map(|c| 0.08 * f64::from(c)));
    let matching = Matching::soft(0.6)
        .with_deformation(Deformation::Linear { share: 0.6 })
        .with_plasticity(Plasticity { yields_at: 0.02, creep: 5.0, bound: 0.5 });
    let grouping = Grouping::Lattice { cell: 0.16, reach: 1 };
    let cube = Body::particles(points).with_mass(5.0).with_clusters(grouping, matching).unwrap();
    world.add(cube.translated([0.0, 0.4, 0.0])).unwrap();
    world
}

/// Boxes, a ragdoll and a cloth that is fastened to one box and lies on another.
fn bodies(solver: Boxed<f32>, on: AnyBackend<f32>) -> TestWorld {
    let mut world = TestWorld::with_method(solver, on);
    world.add_rigid(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    for i in 0..4 {
        let place = [0.02 * f64::from(i), 0.15 + 0.3 * f64::from(i), 0.0];
        world.add_rigid(&RigidBody::cuboid([0.3; 3], 300.0).at(place)).unwrap();
    }
    let top = world.rigid_ids()[4];
    let lever = world.add_rigid(&RigidBody::capsule(0.05, 0.3, 500.0).at([1.0, 0.6, 0.0]).kinematic()).unwrap();
    let weight = world.add_rigid(&RigidBody::sphere(0.1, 400.0).at([1.3, 0.6, 0.0])).unwrap();
    world.join([lever, weight], Joint::ball([0, 0], [1.15, 0.6, 0.0])).unwrap();
    let cloth = Body::cloth(&ClothGrid::square(0.5, 4)).unwrap().with_mass(0.3).with_thickness(0.01);
    let cloth = world.add(cloth.translated([-0.2, 1.23, -0.25])).unwrap();
    world.fasten(cloth, 0, top).unwrap();
    let still = world.add_bone(Pose::IDENTITY).unwrap();
    let skinning = Skinning {
        bones: vec![top.into(), still.into()],
        weights: vec![vec![(0, 0.7), (1, 0.3)]; 16],
        max_distance: vec![0.3; 16],
        backstop: Vec::new(),
    };
    world.skin(cloth, &skinning).unwrap();
    world
}

/// What a user does before a step, as a function of the step alone.
fn drive(world: &mut TestWorld, step: usize) {
    let t = step as f32 * DT;
    let ids: Vec<BodyId> = world.bodies().collect();
    if let Some(&first) = ids.first()
        && world.body(first).unwrap().tables().attachment.ids.len() == 1
    {
        world.move_pin(first, 5, [1.0 - 0.1 * (3.0 * t).sin(), 0.05 * (5.0 * t).sin(), 0.0]).unwrap();
        world.move_attachment(first, 0, [0.5, 0.1 + 0.1 * (4.0 * t).sin(), 1.0]).unwrap();
        let ball = world.collider_at(0).unwrap();
        world.move_collider(ball, Pose::at([0.5, -0.25 + 0.1 * f64::from((2.0 * t).sin()), 0.5])).unwrap();
    }
    if let Some(&lever) = world.rigid_ids().get(5) {
        let turn = Rotation::about([0.0, 0.0, 1.0], f64::from((2.0 * t).sin()));
        world.send_rigid(lever, Pose::at([1.0, 0.6, 0.0]).turned(turn)).unwrap();
        // Loads of the next step are part of the state.
        let weight = world.rigid_ids()[6];
        world.push_rigid(weight, [0.0, 0.0, 5.0 * t.sin()], [1.3, 0.6, 0.0]).unwrap();
    }
}

/// Takes snapshots before random steps of a run, between driving and stepping, and resumes each on every backend.
fn resumes(name: &str, build: Build, solver: &dyn Fn() -> Boxed<f32>) {
    resumes_on(BACKENDS.len(), name, build, solver);
}

/// The same for scenes and methods whose steps take long: each snapshot on one backend, in turn.
fn resumes_in_turn(name: &str, build: Build, solver: &dyn Fn() -> Boxed<f32>) {
    resumes_on(1, name, build, solver);
}

fn resumes_on(backends: usize, name: &str, build: Build, solver: &dyn Fn() -> Boxed<f32>) {
    let mut random = Random::new(7);
    let mut taken = std::collections::BTreeSet::new();
    while taken.len() < TAKEN {
        taken.insert(random.below(FIRST));
    }
    let mut world = build(solver(), backend("simd"));
    let (mut hashes, mut contacts, mut snapshots) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..FIRST + RESUMED {
        drive(&mut world, step);
        if taken.contains(&step) {
            snapshots.push((step, world.snapshot(), world.full_snapshot().unwrap()));
        }
        world.step(DT).unwrap_or_else(|error| panic!("{name}, step {step}: {error}"));
        hashes.push(world.state_hash());
        contacts.push(world.contacts().to_vec());
    }
    for (number, (start, snapshot, full)) in snapshots.iter().enumerate() {
        let copy = Snapshot::from_bytes(snapshot.as_bytes()).unwrap();
        for turn in 0..backends {
            let on = BACKENDS[(number + turn) % BACKENDS.len()];
            // Into a world that has just been built, once into the one that went on, and now and then from nothing.
            let mut fresh = build(solver(), backend(on));
            let resumed = if turn == 0 && number == 1 { &mut world } else { &mut fresh };
            if number % 5 == 2 {
                *resumed = TestWorld::with_method(solver(), backend(on));
                resumed.restore_full(full).unwrap();
            } else {
                resumed.restore(&copy).unwrap();
            }
            assert_eq!(resumed.snapshot(), *snapshot, "{name}: what was restored is what was taken");
            for step in *start..start + RESUMED {
                if step > *start {
                    drive(resumed, step);
                }
                resumed.step(DT).unwrap();
                assert_eq!(resumed.state_hash(), hashes[step], "{name} on {on}: from step {start}, step {step}");
                assert_eq!(resumed.contacts(), contacts[step], "{name} on {on}: from step {start}, step {step}");
            }
        }
    }
}

/// A step of these scenes in double precision is the same code; one world of it.
#[test]
fn worlds_in_double_precision_resume() {
    let build = |on: &str| {
        let solver = f64::xpbd(XpbdOn::new(XpbdOptions { substeps: 4, iterations: 2 }));
        let mut world = f64::world(solver, AnyBackend::by_name(on, Some(2)).unwrap());
        world.add_collider(Collider::sphere(0.2).at([0.5, -0.25, 0.5]).with_friction(0.4)).unwrap();
        let cloth = Body::cloth(&ClothGrid::square(1.0, 6)).unwrap().with_mass(0.5).with_thickness(0.01);
        world.add(cloth.pinned([0, 5]).attached(32, [0.5, 0.1, 1.0], 1e-2)).unwrap();
        world.add_rigid(&RigidBody::sphere(0.1, 200.0).at([0.5, 0.3, 0.5])).unwrap();
        world
    };
    let mut world = build("simd");
    for _ in 0..30 {
        world.step(1.0 / 60.0).unwrap();
    }
    let taken = world.snapshot();
    let hashes: Vec<u64> = (0..RESUMED)
        .map(|_| {
            world.step(1.0 / 60.0).unwrap();
            world.state_hash()
        })
        .collect();
    for on in BACKENDS {
        let mut resumed = build(on);
        resumed.restore(&taken).unwrap();
        for (step, &hash) in hashes.iter().enumerate() {
            resumed.step(1.0 / 60.0).unwrap();
            assert_eq!(resumed.state_hash(), hash, "{on}: step {step}");
        }
    }
    // Precisions are told apart.
    assert!(matches!(curtain(xpbd(), backend("simd")).restore(&taken), Err(SnapshotError::Foreign { .. })));
}

fn xpbd() -> Boxed<f32> {
    f32::xpbd(XpbdOn::new(XpbdOptions { substeps: 4, iterations: 2 }))
}

#[test]
fn springs_pins_and_colliders_resume_under_every_method() {
    resumes("xpbd", curtain, &xpbd);
    resumes("schur", curtain, &|| f32::schur(XpbdOn::new(XpbdOptions { substeps: 2, iterations: 2 })));
    resumes("symplectic", curtain, &|| f32::symplectic(Symplectic::new(10)));
    resumes("pbd", curtain, &|| f32::pbd(Pbd::new(PbdOptions { substeps: 2, iterations: 3, ..PbdOptions::default() })));
    let iteration = pliant::Iteration::Jacobi { relaxation: 1.0 };
    resumes("jacobi", curtain, &|| f32::pbd(Pbd::new(PbdOptions { substeps: 4, iteration, ..PbdOptions::default() })));
    resumes("layers", banner, &|| {
        f32::xpbd(XpbdOn::new(XpbdOptions { substeps: 2, iterations: 2 }).with_layers(LayerOptions::default()))
    });
    for (name, acceleration) in [
        ("projective, L-BFGS", pliant::Acceleration::Lbfgs(5)),
        ("projective, Anderson", pliant::Acceleration::Anderson(4)),
        ("projective, Chebyshev", pliant::Acceleration::Chebyshev),
    ] {
        let options = ProjectiveOptions { iterations: 6, acceleration, ..ProjectiveOptions::default() };
        resumes(name, curtain, &|| f32::projective(Projective::new(options)));
    }
    let newton = NewtonOptions { tolerance: 1e-5, ..NewtonOptions::default() };
    resumes("newton", curtain, &|| f32::newton(Newton::new(newton)));
    let penalty = Penalty::Buffered { stiffness: 500.0, buffer: 0.01 };
    let pressed = NewtonOptions { colliders: ColliderForm::Energy(penalty), iterations: 8, ..newton };
    resumes("newton with friction", curtain, &|| f32::newton(Newton::new(pressed)));
    resumes("strain limits", curtain, &|| {
        f32::limited(StrainLimited::new(xpbd(), StrainLimits { stretch: 1.05, ..StrainLimits::default() }))
    });
}

#[test]
fn surfaces_in_contact_resume_under_every_method() {
    resumes("xpbd", layers, &xpbd);
    resumes("pbd", layers, &|| f32::pbd(Pbd::new(PbdOptions { substeps: 4, ..PbdOptions::default() })));
    resumes_in_turn("symplectic", layers, &|| f32::symplectic(Symplectic::new(60)));
    for guard in [Guard::default(), Guard::Truncation { passes: 4 }, Guard::ImpactZones { rounds: 20 }] {
        resumes_in_turn("guarded", layers, &|| f32::guarded(IntersectionFree::new(xpbd(), guard)));
    }
    let newton = NewtonOptions { iterations: 6, tolerance: 1e-4, ..NewtonOptions::default() };
    resumes_in_turn("barrier", layers, &|| f32::newton(Newton::new(newton).with_barrier(SurfaceBarrier::default())));
}

#[test]
fn balloons_and_tethers_resume() {
    resumes("xpbd", balloon, &xpbd);
    resumes("schur", balloon, &|| f32::schur(XpbdOn::new(XpbdOptions { substeps: 2, iterations: 2 })));
    resumes("symplectic", balloon, &|| f32::symplectic(Symplectic::new(20)));
    resumes("projective", balloon, &|| f32::projective(Projective::new(ProjectiveOptions::default())));
    resumes("newton", balloon, &|| f32::newton(Newton::default()));
    resumes("xpbd", tethered, &xpbd);
    resumes("pbd", tethered, &|| f32::pbd(Pbd::new(PbdOptions { substeps: 4, ..PbdOptions::default() })));
}

#[test]
fn plastic_clusters_resume() {
    let options = ShapeMatchingOptions { substeps: 2, iterations: 1 };
    resumes("shape matching", dents, &|| f32::shape_matching(ShapeMatching::new(options)));
    resumes("xpbd", dents, &xpbd);
}

#[test]
fn rigid_bodies_joints_and_couplings_resume() {
    resumes("xpbd", bodies, &xpbd);
    resumes("pbd", bodies, &|| f32::pbd(Pbd::new(PbdOptions { substeps: 4, ..PbdOptions::default() })));
}

/// In contact, pairs are remembered too: what they were pushed with, and on which side of each other they are. That is bounded by
/// how many there are; here everything touches.
#[test]
fn a_snapshot_of_things_in_contact_holds_their_pairs_and_no_more() {
    let mut pile = World::new();
    pile.add_rigid(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    for i in 0..64 {
        let place = [f64::from(i % 4), f64::from(i / 16), f64::from(i / 4 % 4)].map(|c| 0.21 * c + 0.11);
        pile.add_rigid(&RigidBody::cuboid([0.2; 3], 300.0).at(place)).unwrap();
    }
    let mut sheets = World::new();
    let contact = SelfContact { thickness: 0.01, ..SelfContact::default() };
    for height in 0..3 {
        let sheet = Body::cloth(&ClothGrid::square(0.5, 15)).unwrap().with_self_contact(contact);
        sheets.add(sheet.pinned([0, 14, 210, 224]).translated([0.0, 0.009 * f64::from(height), 0.0])).unwrap();
    }
    for (name, world, raw, most) in
        [("pile", &mut pile, 65 * 14, PILE_RATIO), ("layers", &mut sheets, 3 * 225 * 6, LAYERS_RATIO)]
    {
        for _ in 0..20 {
            world.step(DT).unwrap();
        }
        let (size, raw) = (world.snapshot().as_bytes().len() as f64, (raw * size_of::<f32>()) as f64);
        println!("{name}: {size} bytes for a state of {raw}, {:.2} times as many", size / raw);
        assert!(size < most * raw, "{name}: {size} bytes for a state of {raw}");
    }
}

#[test]
fn a_snapshot_is_hardly_larger_than_the_state() {
    let mut world = World::new();
    world.add(Body::cloth(&ClothGrid::square(1.0, 30)).unwrap().pinned([0, 29])).unwrap();
    world.step(DT).unwrap();
    let (size, raw) = (world.snapshot().as_bytes().len(), 900 * 6 * size_of::<f32>());
    assert!(size * 10 < raw * 11, "{size} bytes for a state of {raw}");
    let mut world = World::new();
    for i in 0..100 {
        world.add_rigid(&RigidBody::sphere(0.1, 100.0).at([f64::from(i), 0.0, 0.0])).unwrap();
    }
    world.step(DT).unwrap();
    // Position, orientation, velocity, angular velocity, and how long it has been still.
    let (size, raw) = (world.snapshot().as_bytes().len(), 100 * 14 * size_of::<f32>());
    assert!(size * 10 < raw * 11, "{size} bytes for a state of {raw}");
}

#[test]
fn damaged_and_foreign_data_are_refused_and_change_nothing() {
    let small = || {
        let mut world = bodies(xpbd(), backend("scalar"));
        (0..3).for_each(|step| {
            drive(&mut world, step);
            world.step(DT).unwrap();
        });
        world
    };
    let mut world = small();
    let (before, time) = (world.state_hash(), world.time());
    let good = world.snapshot();
    let bytes = good.as_bytes();
    for at in 0..bytes.len() {
        let mut bad = bytes.to_vec();
        bad[at] ^= 1 << (at % 8);
        assert!(Snapshot::from_bytes(&bad).is_err(), "byte {at}");
        assert!(Snapshot::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
    }
    // Other bodies, another solver, another precision, another joint.
    let mut other = small();
    other.add_rigid(&RigidBody::sphere(0.1, 100.0)).unwrap();
    let pbd = bodies(f32::pbd(Pbd::default()), backend("scalar"));
    let mut unjoined = bodies(xpbd(), backend("scalar"));
    unjoined.remove_rigid(unjoined.rigid_ids()[6]).unwrap();
    for foreign in [other.snapshot(), pbd.snapshot(), unjoined.snapshot(), curtain(xpbd(), backend("simd")).snapshot()]
    {
        assert!(matches!(world.restore(&foreign), Err(SnapshotError::Foreign { .. })));
        assert_eq!((world.state_hash(), world.time()), (before, time));
    }
    let mut other = TestWorld::with_method(f32::pbd(Pbd::default()), backend("scalar"));
    let refused = other.restore_full(&world.full_snapshot().unwrap());
    assert!(matches!(refused, Err(SnapshotError::Foreign { .. })), "another solver");
    assert_eq!(other.bodies().len(), 0);
    // Bones may come and go: found out half-way through, and taken back.
    let mut boned = bodies(xpbd(), backend("scalar"));
    boned.add_bone(Pose::at([9.0, 0.0, 0.0])).unwrap();
    for step in 0..5 {
        drive(&mut boned, step);
        boned.step(DT).unwrap();
    }
    assert_eq!(world.restore(&boned.snapshot()), Err(SnapshotError::Foreign { what: "bones" }));
    assert_eq!(world.snapshot(), good);
    let mut twin = small();
    for _ in 0..10 {
        world.step(DT).unwrap();
        twin.step(DT).unwrap();
    }
    assert_eq!(world.state_hash(), twin.state_hash());
    // Bodies alone: a world without particles has no memory of a solver.
    let mut empty = TestWorld::with_method(xpbd(), backend("simd"));
    let nothing = empty.snapshot();
    assert_eq!(empty.restore(&nothing), Ok(()));
}
