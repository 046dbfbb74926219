//! Bodies on their own: the spinning T-handle, loads, and what a step refuses.

use pliant::core::error::{BuildError, StepError};
use pliant::core::mesh::{MeshError, TriMesh, icosphere, tube};
use pliant::core::rigid::{Joint, MassProperties, Quaternion, RigidBodies, RigidBody};
use pliant::core::sdf::{Pose, Rotation};
use pliant::core::vec3::Vec3;
use pliant::{Gyroscopic, RigidOptions, RigidSolver};
use pliant_harness::instances::Instances;

use super::{Stage, apart};
use crate::simd;

/// When ω_y in the body's frame changes sign, and the largest drifts of angular momentum and energy on the way.
fn spin<S: Instances>(gyroscopic: Gyroscopic, substeps: usize) -> (Vec<f64>, f64, f64) {
    let mut bodies = RigidBodies::<S>::new();
    let handle = RigidBody::of_mass(MassProperties::diagonal(1.0, [13.0, 10.0, 5.0])).spinning([0.01, 5.0, 0.01]);
    bodies.push(&handle).unwrap();
    let (start, energy) = (bodies.angular_momentum(), bodies.kinetic_energy());
    let options = RigidOptions { gyroscopic, substeps, sleep: None, ..RigidOptions::default() };
    let mut stage = Stage::new(bodies, options, 1.0 / 60.0).weightless();
    let (mut flips, mut drift, mut energy_drift) = (Vec::new(), 0.0_f64, 0.0_f64);
    let local = |stage: &Stage<S>| {
        Quaternion::new(stage.bodies.q[0]).unrotate(Vec3::from(stage.bodies.omega.get(0))).y.to_f64()
    };
    let mut last = local(&stage);
    let size = apart(start, [0.0; 3]);
    for step in 0..1200 {
        stage.step();
        let now = local(&stage);
        if now * last < 0.0 {
            flips.push((f64::from(step) + last / (last - now)) / 60.0);
        }
        last = now;
        drift = drift.max(apart(stage.bodies.angular_momentum(), start) / size);
        energy_drift = energy_drift.max((stage.bodies.kinetic_energy() / energy - 1.0).abs());
    }
    (flips, drift, energy_drift)
}

const FLIPS: [f64; 3] = [2.7672, 9.2179, 15.6685];

#[test]
fn a_t_handle_flips_on_time() {
    for (gyroscopic, (flips, drift, energy), energy_bound) in [
        (Gyroscopic::Momentum, spin::<f64>(Gyroscopic::Momentum, 8), 1e-3),
        (Gyroscopic::Explicit, spin::<f64>(Gyroscopic::Explicit, 400), 1e-2),
        (Gyroscopic::Implicit, spin::<f64>(Gyroscopic::Implicit, 400), 1e-2),
    ] {
        println!("{gyroscopic:?}: flips {flips:?}, momentum {drift:e}, energy {energy:e}");
        assert_eq!(flips.len(), 3, "{gyroscopic:?}: {flips:?}");
        for (found, expected) in flips.iter().zip(FLIPS) {
            assert!((found / expected - 1.0).abs() < 0.01, "{gyroscopic:?}: {found} instead of {expected}");
        }
        assert!(drift < 1e-3, "{gyroscopic:?}: angular momentum drifts by {drift}");
        assert!(energy < energy_bound, "{gyroscopic:?}: energy drifts by {energy}");
    }
}

#[test]
fn a_t_handle_in_single_precision_flips_on_time_once() {
    // How long it stays near the unstable axis is decided by 2 E I₂ − L², here 5.6·10⁻⁷ of L², and every rounding in mid-flip changes
    // that by some hundredths. Were everything exact but the state, rounded once a step, later flips would come up to 1.8 % early
    // (by how the body stands at first); with all substeps in single precision they are some percent off. Momentum and energy are kept.
    let (flips, drift, energy) = spin::<f32>(Gyroscopic::Momentum, 8);
    println!("flips {flips:?}, momentum {drift:e}, energy {energy:e}");
    assert!((flips[0] / FLIPS[0] - 1.0).abs() < 0.01, "{flips:?}");
    assert!(flips.len() == 3 && flips.iter().zip(FLIPS).all(|(t, then)| (t / then - 1.0).abs() < 0.15), "{flips:?}");
    assert!(drift < 1e-4 && energy < 1e-3, "momentum drifts by {drift}, energy by {energy}");
}

#[test]
fn without_the_gyroscopic_term_it_never_flips() {
    let (flips, drift, _) = spin::<f64>(Gyroscopic::None, 8);
    assert!(flips.is_empty() && drift > 1e-3, "{flips:?}, {drift}");
}

#[test]
fn the_orientation_follows_the_reference() {
    let table = include_str!("../../data/rigid_dzhanibekov.csv");
    let mut bodies = RigidBodies::<f64>::new();
    let handle = RigidBody::of_mass(MassProperties::diagonal(1.0, [13.0, 10.0, 5.0])).spinning([0.01, 5.0, 0.01]);
    bodies.push(&handle).unwrap();
    let options = RigidOptions { substeps: 100, sleep: None, ..RigidOptions::default() };
    let mut stage = Stage::new(bodies, options, 0.1).weightless();
    for (row, line) in table.lines().skip(1).take(61).enumerate() {
        let value: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        if row > 0 {
            stage.step();
        }
        let q = Quaternion::new(stage.bodies.q[0]);
        let expected = Quaternion::new([value[5], value[6], value[7], value[4]]);
        let angle = (q * expected.conjugate()).small_rotation().length();
        let omega = <[f64; 3]>::from(q.unrotate(stage.bodies.omega.get(0).into()));
        assert!(angle < 0.02, "t = {}: turned by {angle}", value[0]);
        assert!(apart(omega, [value[1], value[2], value[3]]) < 0.02, "t = {}: {omega:?}", value[0]);
    }
}

#[test]
fn a_fast_needle_stays_bounded_without_forces() {
    // 300 rad/s across a long body, two substeps: where an explicit gyroscopic force explodes.
    for gyroscopic in [Gyroscopic::Momentum, Gyroscopic::Implicit] {
        let mut bodies = RigidBodies::<f32>::new();
        bodies.push(&RigidBody::cuboid([0.02, 1.0, 0.05], 800.0).spinning([200.0, 150.0, 150.0])).unwrap();
        let energy = bodies.kinetic_energy();
        let options = RigidOptions { gyroscopic, substeps: 2, sleep: None, ..RigidOptions::default() };
        let mut stage = Stage::new(bodies, options, 1.0 / 60.0).weightless();
        stage.run(5.0);
        let q = stage.bodies.q[0].iter().map(|c| c * c).sum::<f32>();
        assert!((q - 1.0).abs() < 1e-5, "the quaternion has length² {q}");
        assert!(stage.bodies.kinetic_energy() < 30.0 * energy, "{gyroscopic:?}: {}", stage.bodies.kinetic_energy());
    }
}

#[test]
fn forces_at_points_and_damping_act_as_told() {
    let mut bodies = RigidBodies::<f64>::new();
    let body = RigidBody::of_mass(MassProperties::diagonal(2.0, [1.0, 1.0, 1.0]));
    bodies.push(&body.clone()).unwrap();
    bodies
        .push(&body.with_damping(1.0, 2.0).moving([1.0, 0.0, 0.0]).spinning([0.0, 1.0, 0.0]).at([9.0, 0.0, 0.0]))
        .unwrap();
    bodies.apply_force(0, [4.0, 0.0, 0.0], [0.0, 0.5, 0.0]);
    let options = RigidOptions { substeps: 100, sleep: None, ..RigidOptions::default() };
    let mut stage = Stage::new(bodies, options, 0.5).weightless();
    stage.step();
    // f t / m and r × f t / I; then the force is gone.
    assert!(apart(stage.bodies.v.get(0), [1.0, 0.0, 0.0]) < 1e-12);
    assert!(apart(stage.bodies.omega.get(0), [0.0, 0.0, -1.0]) < 1e-12);
    assert!((stage.bodies.v.get(1)[0] - (-0.5_f64).exp()).abs() < 2e-3);
    assert!((stage.bodies.omega.get(1)[1] - (-1.0_f64).exp()).abs() < 4e-3);
    stage.step();
    assert!(apart(stage.bodies.v.get(0), [1.0, 0.0, 0.0]) < 1e-12);
}

#[test]
fn a_kinematic_body_arrives_exactly() {
    let mut bodies = RigidBodies::<f64>::new();
    let lift = bodies.push(&RigidBody::cuboid([1.0; 3], 1.0).kinematic()).unwrap();
    let mut stage = Stage::new(bodies, RigidOptions::default(), 0.1);
    let to = Pose::at([0.3, 0.1, 0.0]).turned(Rotation::about([0.0, 0.0, 1.0], 0.4));
    stage.bodies.send(lift, to).unwrap();
    stage.step();
    assert_eq!(stage.bodies.pose(lift), to);
    assert!((stage.bodies.omega.get(lift)[2] - 4.0).abs() < 1e-9);
    stage.step();
    assert_eq!(stage.bodies.v.get(lift), [0.0; 3]);
}

#[test]
fn bad_steps_are_refused_and_change_nothing() {
    let mut bodies = RigidBodies::<f32>::new();
    bodies.push(&RigidBody::sphere(0.5, 10.0)).unwrap();
    let mut solver = RigidSolver::new(RigidOptions::default());
    let on = simd();
    let step = |solver: &mut RigidSolver<f32>, bodies: &mut RigidBodies<f32>, gravity: [f32; 3], dt: f32| {
        f32::step_rigid(solver, bodies, gravity, dt, &on)
    };
    assert_eq!(step(&mut solver, &mut bodies, [0.0; 3], 0.1), Err(StepError::NotPrepared));
    solver.prepare(&bodies).unwrap();
    let before = bodies.clone();
    for dt in [0.0, -1.0, f32::NAN, 5.0] {
        assert!(matches!(step(&mut solver, &mut bodies, [0.0; 3], dt), Err(StepError::BadTimeStep { .. })));
    }
    assert!(matches!(step(&mut solver, &mut bodies, [f32::NAN; 3], 0.1), Err(StepError::NotFinite { .. })));
    assert!(matches!(step(&mut solver, &mut bodies, [3e38; 3], 0.1), Err(StepError::BodyDiverged { body: 0, .. })));
    assert_eq!(bodies, before);
    bodies.v.set(0, [f32::INFINITY, 0.0, 0.0]);
    assert!(matches!(step(&mut solver, &mut bodies, [0.0; 3], 0.1), Err(StepError::NotFinite { row: 0, .. })));
    bodies.v.set(0, [0.0; 3]);
    bodies.q[0] = [0.0; 4];
    assert!(matches!(step(&mut solver, &mut bodies, [0.0; 3], 0.1), Err(StepError::NotFinite { row: 0, .. })));
    for options in [
        RigidOptions { substeps: 0, ..RigidOptions::default() },
        RigidOptions { margin: f64::NAN, ..RigidOptions::default() },
        RigidOptions { slop: -1.0, ..RigidOptions::default() },
        RigidOptions { joint_iterations: 2000, ..RigidOptions::default() },
    ] {
        assert!(RigidSolver::<f32>::new(options).prepare(&bodies).is_err());
    }
}

#[test]
fn bad_bodies_and_joints_get_typed_errors_and_change_nothing() {
    type Attempt = fn(&mut RigidBodies<f32>) -> Result<usize, BuildError>;
    type Expected = fn(&BuildError) -> bool;
    fn inverted() -> TriMesh {
        let ball = icosphere(0.5, 1).unwrap();
        TriMesh::new(ball.positions().iter().copied(), ball.triangles().iter().map(|&[a, b, c]| [a, c, b])).unwrap()
    }
    const X: [f64; 3] = [1.0, 0.0, 0.0];
    // The floor is row 0, a shelf row 1, two balls rows 2 and 3.
    let table: [(&str, Attempt, Expected); 12] = [
        (
            "open mesh",
            |b| b.push(&RigidBody::mesh(&tube(0.2, 1.0, 8, 2).unwrap(), 16, 1.0)?),
            |e| matches!(e, BuildError::Mesh(MeshError::OpenSurface { .. })),
        ),
        (
            "inverted mesh",
            |b| b.push(&RigidBody::mesh(&inverted(), 16, 1.0)?),
            |e| matches!(e, BuildError::BadValue { .. }),
        ),
        (
            "mass of an inverted mesh",
            |b| b.push(&RigidBody::of_mass(MassProperties::of_mesh(&inverted(), 1.0)?)),
            |e| matches!(e, BuildError::BadValue { quantity: "enclosed volume", .. }),
        ),
        (
            "zero inertia",
            |b| b.push(&RigidBody::of_mass(MassProperties::diagonal(1.0, [0.0; 3]))),
            |e| matches!(e, BuildError::BadValue { row: 4, .. }),
        ),
        (
            "inertia of NaN",
            |b| b.push(&RigidBody::of_mass(MassProperties::diagonal(1.0, [1.0, f64::NAN, 1.0]))),
            |e| matches!(e, BuildError::BadValue { quantity: "inertia", row: 4, .. }),
        ),
        (
            "orientation of length 0",
            |b| b.push(&RigidBody::sphere(0.5, 1.0).turned([0.0; 4])),
            |e| matches!(e, BuildError::BadValue { row: 4, .. }),
        ),
        (
            "orientation of NaN",
            |b| b.push(&RigidBody::sphere(0.5, 1.0).turned([f64::NAN, 0.0, 0.0, 1.0])),
            |e| matches!(e, BuildError::BadValue { row: 4, .. }),
        ),
        (
            "missing body",
            |b| b.join(&Joint::ball([2, 9], X)),
            |e| matches!(e, BuildError::OutOfRange { particle: 9, count: 4, corner: 1, .. }),
        ),
        ("one body twice", |b| b.join(&Joint::ball([2, 2], X)), |e| matches!(e, BuildError::Repeated { .. })),
        (
            "hinge limits in the wrong order",
            |b| b.join(&Joint::hinge([2, 3], X, X).with_limits(1.0, -1.0)),
            |e| matches!(e, BuildError::BadValue { quantity: "hinge limits", .. }),
        ),
        (
            "twist limits in the wrong order",
            |b| b.join(&Joint::swing_twist([2, 3], X, X, 0.5, [0.4, -0.4])),
            |e| matches!(e, BuildError::BadValue { quantity: "twist limits", .. }),
        ),
        ("two static bodies", |b| b.join(&Joint::ball([0, 1], X)), |e| matches!(e, BuildError::Unsupported { .. })),
    ];
    let mut bodies = RigidBodies::<f32>::new();
    bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    bodies.push(&RigidBody::cuboid([1.0; 3], 1.0).held()).unwrap();
    bodies.push(&RigidBody::sphere(0.5, 1.0)).unwrap();
    bodies.push(&RigidBody::sphere(0.5, 1.0).at([2.0, 0.0, 0.0])).unwrap();
    let before = bodies.clone();
    for (name, attempt, expected) in table {
        let error = attempt(&mut bodies).expect_err(name);
        assert!(expected(&error), "{name}: {error:?}");
        assert_eq!(bodies, before, "{name}");
    }
    // Of another length than 1, but not 0: normalised.
    let row = bodies.push(&RigidBody::sphere(0.5, 1.0).turned([0.0, 0.0, 3.0, 4.0])).unwrap();
    assert_eq!(bodies.q[row], [0.0, 0.0, 0.6, 0.8]);
}
