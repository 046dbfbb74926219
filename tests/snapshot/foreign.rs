//! Snapshots of worlds that only look alike: each difference that decides how a run goes on is refused by name, and changes nothing.

use pliant::prelude::*;
use pliant::{Acceleration, ColliderForm, Groups, Motor, Projective, ProjectiveOptions, SurfaceBarrier};
use pliant_harness::instances::{Boxed, Instances};

use crate::{DT, TestWorld, backend, banner, curtain, xpbd};

const BODIES: &str = "bodies, constraints or skins";
const SOLVER: &str = "the solver or its options";
const COLLIDERS: &str = "colliders";
const RIGID: &str = "rigid bodies, joints, fastenings or their options";

const SOME: Groups = Groups { member: 1, touches: 2 };

/// A world with one of everything, each as a function of what it usually is.
struct Setup {
    cloth: fn(Body) -> Body,
    contact: SelfContact,
    tearing: Tearing,
    matching: Matching,
    collider: fn(Collider) -> Collider,
    solid: fn(RigidBody) -> RigidBody,
    joint: fn(Joint) -> Joint,
    options: RigidOptions,
    fastened: u32,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            cloth: |cloth| cloth,
            contact: SelfContact { thickness: 0.01, ..SelfContact::default() },
            tearing: Tearing::at_strain(0.5),
            matching: Matching::soft(0.6),
            collider: |ball| ball,
            solid: |solid| solid,
            joint: |joint| joint,
            options: RigidOptions::default(),
            fastened: 3,
        }
    }
}

impl Setup {
    fn world(&self) -> TestWorld {
        let mut world = TestWorld::with_method(xpbd(), backend("simd"));
        world.set_rigid_options(self.options).unwrap();
        let cloth = Body::cloth(&ClothGrid::square(0.4, 4)).unwrap().pinned([0]);
        let cloth = (self.cloth)(cloth.with_self_contact(self.contact).with_tearing(self.tearing));
        let cloth = world.add(cloth).unwrap();
        let points = (0..8).map(|i| [i % 2, i / 2 % 2, i / 4].map(|c| 0.1 * f64::from(c)));
        let jelly = Body::particles(points).with_cluster(0..8, self.matching).translated([2.0, 0.0, 0.0]);
        world.add(jelly).unwrap();
        world.add_collider((self.collider)(Collider::sphere(0.2).at([0.2, -0.6, 0.2]))).unwrap();
        let lever = world.add_rigid(&RigidBody::cuboid([0.2; 3], 200.0).at([-1.0, 0.0, 0.0]).kinematic()).unwrap();
        // Mass properties of its own: other shapes have the same.
        let mass = MassProperties::diagonal(1.0, [0.004; 3]);
        let ball = RigidBody::sphere(0.1, 200.0).with_mass_properties(mass);
        let solid = world.add_rigid(&(self.solid)(ball.at([-1.4, 0.0, 0.0]))).unwrap();
        let hinge = Joint::hinge([0, 0], [-1.2, 0.0, 0.0], [0.0, 0.0, 1.0]);
        let motor = Motor::Speed { target: 1.0, damping: 0.1, limit: 2.0 };
        world.join([lever, solid], (self.joint)(hinge.with_motor(motor))).unwrap();
        world.fasten(cloth, self.fastened, solid).unwrap();
        world
    }
}

/// The world refuses the other's snapshot, says what is different, and is as it was; the other way round too.
fn refuse(name: &str, what: &'static str, mut one: TestWorld, mut other: TestWorld) {
    for _ in 0..2 {
        one.step(DT).unwrap_or_else(|error| panic!("{name}: {error}"));
        other.step(DT).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let taken = [one.snapshot(), other.snapshot()];
    assert_eq!(one.restore(&taken[1]), Err(SnapshotError::Foreign { what }), "{name}");
    assert_eq!(other.restore(&taken[0]), Err(SnapshotError::Foreign { what }), "{name}, the other way round");
    assert!([one.snapshot(), other.snapshot()] == taken, "{name}: nothing changes");
    one.restore(&taken[0]).unwrap();
}

#[test]
fn what_decides_how_a_run_goes_on_is_told_apart() {
    let usual = Setup::default;
    let contact = usual().contact;
    let rows: Vec<(&str, &'static str, Setup)> = vec![
        ("masses", BODIES, Setup { cloth: |cloth| cloth.with_mass(0.7), ..usual() }),
        ("thickness of self contact", BODIES, Setup { contact: SelfContact { thickness: 0.02, ..contact }, ..usual() }),
        ("friction of self contact", BODIES, Setup { contact: SelfContact { friction: 0.9, ..contact }, ..usual() }),
        ("recovery of self contact", BODIES, Setup { contact: SelfContact { recovery: 0.3, ..contact }, ..usual() }),
        ("where it tears", BODIES, Setup { tearing: Tearing::at_strain(0.6), ..usual() }),
        ("how much tears at once", BODIES, Setup { tearing: Tearing { most: 3, ..usual().tearing }, ..usual() }),
        ("stiffness of clusters", BODIES, Setup { matching: Matching::soft(0.5), ..usual() }),
        (
            "deformation of clusters",
            BODIES,
            Setup { matching: Matching::soft(0.6).with_deformation(Deformation::Linear { share: 0.2 }), ..usual() },
        ),
        ("shape of a collider", COLLIDERS, Setup { collider: |_| Collider::cuboid([0.3; 3]), ..usual() }),
        ("size of a collider", COLLIDERS, Setup { collider: |_| Collider::sphere(0.21), ..usual() }),
        ("friction of a collider", COLLIDERS, Setup { collider: |ball| ball.with_friction(0.3), ..usual() }),
        ("restitution of a collider", COLLIDERS, Setup { collider: |ball| ball.with_restitution(0.3), ..usual() }),
        ("fast particles at a collider", COLLIDERS, Setup { collider: |ball| ball.with_continuous(false), ..usual() }),
        ("groups of a collider", COLLIDERS, Setup { collider: |ball| ball.with_groups(SOME), ..usual() }),
        ("groups of a body", BODIES, Setup { cloth: |cloth| cloth.with_collider_groups(SOME), ..usual() }),
        ("rigid friction", RIGID, Setup { solid: |solid| solid.with_friction(0.1), ..usual() }),
        ("rigid restitution", RIGID, Setup { solid: |solid| solid.with_restitution(0.1), ..usual() }),
        ("rigid damping", RIGID, Setup { solid: |solid| solid.with_damping(0.1, 0.0), ..usual() }),
        ("rigid groups", RIGID, Setup { solid: |solid| RigidBody { groups: SOME, ..solid }, ..usual() }),
        ("rigid sleep", RIGID, Setup { solid: |solid| RigidBody { sleeps: false, ..solid }, ..usual() }),
        (
            "rigid shape of equal mass",
            RIGID,
            Setup { solid: |solid| RigidBody { parts: RigidBody::sphere(0.12, 1.0).parts, ..solid }, ..usual() },
        ),
        (
            "a motor's speed",
            RIGID,
            Setup {
                joint: |joint| joint.with_motor(Motor::Speed { target: 2.0, damping: 0.1, limit: 2.0 }),
                ..usual()
            },
        ),
        ("no motor", RIGID, Setup { joint: |joint| Joint { motor: None, ..joint }, ..usual() }),
        ("damping of a joint", RIGID, Setup { joint: |joint| joint.with_damping(0.2), ..usual() }),
        ("give of a joint", RIGID, Setup { joint: |joint| joint.with_compliance(0.0, 1e-3), ..usual() }),
        ("joined bodies that touch", RIGID, Setup { joint: |joint| Joint { touching: true, ..joint }, ..usual() }),
        (
            "options of rigid bodies",
            RIGID,
            Setup { options: RigidOptions { substeps: 7, ..RigidOptions::default() }, ..usual() },
        ),
        ("what is fastened", RIGID, Setup { fastened: 15, ..usual() }),
    ];
    for (name, what, setup) in rows {
        refuse(name, what, usual().world(), setup.world());
    }
}

/// Pairs of methods that differ in one number or in the method inside.
fn pairs() -> Vec<(&'static str, Boxed<f32>, Boxed<f32>)> {
    let coloured = |substeps, iterations| f32::xpbd(XpbdOn::new(XpbdOptions { substeps, iterations }));
    let layered = |layers| f32::xpbd(XpbdOn::new(XpbdOptions { substeps: 4, iterations: 2 }).with_layers(layers));
    let pbd = |options| f32::pbd(Pbd::new(options));
    let limited = |inner: Boxed<f32>, stretch| -> Boxed<f32> {
        f32::limited(StrainLimited::new(inner, StrainLimits { stretch, ..StrainLimits::default() }))
    };
    let guarded = |inner: Boxed<f32>, guard| f32::guarded(IntersectionFree::new(inner, guard));
    let projective = |options| f32::projective(Projective::new(options));
    let newton = |options| f32::newton(Newton::new(options));
    let schur = || XpbdOn::new(XpbdOptions { substeps: 2, iterations: 2 });
    let (usual, iteration) = (PbdOptions::default(), pliant::Iteration::Jacobi { relaxation: 1.0 });
    let penalty = Penalty::Buffered { stiffness: 500.0, buffer: 0.01 };
    let zones = Guard::ImpactZones { rounds: 12 };
    vec![
        ("substeps", coloured(10, 1), coloured(4, 1)),
        ("iterations", coloured(4, 1), coloured(4, 2)),
        ("layers", coloured(4, 2), layered(LayerOptions::default())),
        (
            "sweeps of layers",
            layered(LayerOptions { sweeps: 3, ..LayerOptions::default() }),
            layered(LayerOptions::default()),
        ),
        ("pbd stiffness", pbd(usual), pbd(PbdOptions { stiffness: 0.5, ..usual })),
        ("pbd order", pbd(usual), pbd(PbdOptions { iteration, ..usual })),
        ("explicit substeps", f32::symplectic(Symplectic::new(10)), f32::symplectic(Symplectic::new(11))),
        (
            "explicit response",
            f32::symplectic(Symplectic::new(10)),
            f32::symplectic(Symplectic::new(10).with_response(Response::Penalty(penalty))),
        ),
        ("form of the Schur path", f32::schur(schur()), f32::schur(schur().with_form(pliant::SchurForm::Velocity))),
        (
            "acceleration",
            projective(ProjectiveOptions::default()),
            projective(ProjectiveOptions { acceleration: Acceleration::Chebyshev, ..ProjectiveOptions::default() }),
        ),
        (
            "tolerance",
            newton(NewtonOptions::default()),
            newton(NewtonOptions { tolerance: 1e-4, ..NewtonOptions::default() }),
        ),
        (
            "colliders in the minimum",
            newton(NewtonOptions::default()),
            newton(NewtonOptions { colliders: ColliderForm::Energy(penalty), ..NewtonOptions::default() }),
        ),
        (
            "a barrier",
            newton(NewtonOptions::default()),
            f32::newton(Newton::default().with_barrier(SurfaceBarrier::default())),
        ),
        ("limits", limited(xpbd(), 1.1), limited(xpbd(), 1.05)),
        ("the method behind limits", limited(xpbd(), 1.1), limited(pbd(usual), 1.1)),
        ("options behind limits", limited(coloured(10, 1), 1.1), limited(coloured(4, 1), 1.1)),
        ("guards", guarded(xpbd(), Guard::default()), guarded(xpbd(), zones)),
        ("the method behind a guard", guarded(xpbd(), zones), guarded(pbd(usual), zones)),
        ("untangling", guarded(xpbd(), zones), f32::guarded(IntersectionFree::new(xpbd(), zones).untangling(4))),
    ]
}

#[test]
fn options_of_methods_and_methods_inside_others_are_told_apart() {
    for (name, one, other) in pairs() {
        // Layers know nothing of links that flow, explicit methods nothing of rigid ones.
        let build = if name.contains("layers") { banner } else { curtain };
        refuse(name, SOLVER, build(one, backend("simd")), build(other, backend("simd")));
    }
}

#[test]
fn what_is_in_a_snapshot_may_have_changed_in_between() {
    let mut world = Setup::default().world();
    world.step(DT).unwrap();
    let (taken, hash) = (world.snapshot(), world.state_hash());
    let cloth = world.bodies().next().unwrap();
    world.environment_mut().gravity = [1.0, 2.0, 3.0];
    world.environment_mut().wind = Some(Wind { velocity: [3.0, 0.0, 0.0], ..Wind::default() });
    world.environment_mut().damping = 0.5;
    world.set_force(cloth, 5, [0.0, 1.0, 0.0]).unwrap();
    world.move_pin(cloth, 0, [0.0, 0.1, 0.0]).unwrap();
    let ball = world.collider_at(0).unwrap();
    world.move_collider(ball, Pose::at([0.2, -0.3, 0.2])).unwrap();
    world.watch_contacts(true);
    world.step(DT).unwrap();
    world.restore(&taken).unwrap();
    assert_eq!((world.state_hash(), world.environment().wind), (hash, None));
    world.watch_contacts(false);
    assert!(world.snapshot() == taken);
    // A world whose environment holds what no step takes is given back as it was, too.
    let mut other = Setup { fastened: 15, ..Setup::default() }.world();
    other.environment_mut().gravity[0] = f32::NAN;
    let before = other.environment().gravity.map(f32::to_bits);
    assert!(other.restore(&taken).is_err());
    assert_eq!(other.environment().gravity.map(f32::to_bits), before);
}

/// The same snapshot with some of its last bytes before the checksum, or of those after `at`, replaced.
fn forged(good: &Snapshot, at: usize, bytes: &[u8]) -> Snapshot {
    let all = good.as_bytes();
    let fingerprint = u64::from_le_bytes(all[24..32].try_into().unwrap());
    let mut state = all[32..all.len() - 8].to_vec();
    state[at..at + bytes.len()].copy_from_slice(bytes);
    Snapshot::new(fingerprint, |to| to.bytes(&state))
}

#[test]
fn times_and_loads_that_are_not_finite_are_refused() {
    let mut world = TestWorld::with_method(xpbd(), backend("simd"));
    let body = world.add(Body::particles([[0.0; 3], [1.0, 0.0, 0.0]])).unwrap();
    world.environment_mut().wind = Some(Wind::default());
    world.set_force(body, 0, [1.0, 0.0, 0.0]).unwrap();
    world.step(DT).unwrap();
    let good = world.snapshot();
    // Four hashes, the time, a flag for tears; positions and velocities of two particles.
    let (time, loads) = (4 * 8, 4 * 8 + 8 + 1 + 2 * 2 * 3 * 4);
    let number = f32::NAN.to_le_bytes();
    let cases: [(&str, usize, &[u8]); 6] = [
        ("time", time, &f64::NAN.to_le_bytes()),
        ("gravity", loads + 4, &number),
        ("damping", loads + 12, &number),
        ("wind", loads + 16 + 1, &number),
        ("wind", loads + 16 + 1 + 20, &f32::INFINITY.to_le_bytes()),
        ("force", loads + 16 + 1 + 24 + 1, &number),
    ];
    for (what, at, bytes) in cases {
        assert_eq!(world.restore(&forged(&good, at, bytes)), Err(SnapshotError::NotFinite { what }));
        assert!(world.snapshot() == good, "{what}: nothing changes");
    }
    world.restore(&good).unwrap();
}

#[test]
fn forces_of_the_wrong_length_do_not_spoil_snapshots() {
    let mut world = TestWorld::with_method(xpbd(), backend("simd"));
    let body = world.add(Body::particles([[0.0; 3], [1.0, 0.0, 0.0]])).unwrap();
    world.step(DT).unwrap();
    let mut uneven = pliant::Columns::zeros(2);
    uneven.z.clear();
    for forces in [pliant::Columns::zeros(5), uneven] {
        world.environment_mut().forces = Some(forces);
        let refused = world.set_force(body, 0, [1.0, 0.0, 0.0]);
        assert!(
            matches!(refused, Err(BuildError::Length { what: "environment.forces", expected: 2, .. })),
            "{refused:?}"
        );
        let taken = world.snapshot();
        assert!(world.step(DT).is_err());
        world.restore(&taken).unwrap();
        world.step(DT).unwrap();
    }
}
