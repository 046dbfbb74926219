//! Newton against the reference trajectories, and how it gets there.

use super::reference::{CASES, read};
use pliant::prelude::*;
use pliant::{Hessian, Newton, NewtonOptions};
use pliant_harness::instances::Instances;

/// The largest error over all steps of a trajectory \[m\].
fn trajectory<S: Instances>(name: &str, dt: f64) -> f64 {
    let reference = read(name, dt);
    let (model, mut particles) = reference.model::<S>();
    let mut solver = S::newton(Newton::default());
    solver.prepare(&model).expect("springs");
    let mut worst = 0.0_f64;
    for step in 1..reference.states.len() {
        let report = solver.step(&model, &mut particles, S::from_f64(dt), &AnyBackend::scalar()).expect("a step");
        assert!(report.converged, "{name}, step {step}: {report:?}");
        worst = worst.max(reference.error(&particles.x, step));
    }
    worst
}

#[test]
fn trajectories_in_double_precision() {
    for (name, dt) in CASES {
        let worst = trajectory::<f64>(name, dt);
        assert!(worst < 1e-9, "{name}: {worst:e} m");
    }
}

#[test]
fn trajectories_in_single_precision() {
    for (name, dt) in CASES {
        let worst = trajectory::<f32>(name, dt);
        assert!(worst < 1e-5, "{name}: {worst:e} m");
    }
}

/// Stopped after k iterations, the residual near the end is about the square of the one before.
#[test]
fn convergence_is_quadratic() {
    let reference = read("8x8_dt60", 1.0 / 60.0);
    let (model, _) = reference.model::<f64>();
    let residual = |iterations: usize| {
        let options = NewtonOptions { iterations, tolerance: 0.0, ..NewtonOptions::default() };
        let mut solver = f64::newton(Newton::new(options));
        let mut particles = reference.state::<f64>(2);
        solver.prepare(&model).expect("springs");
        let report = solver.step(&model, &mut particles, reference.dt, &AnyBackend::scalar()).expect("a step");
        (report.residual, report)
    };
    // `residual` is taken at the start of the last iteration.
    let ladder: Vec<f64> = (1..=12).map(|k| residual(k).0).collect();
    let quadratic = ladder.windows(3).any(|w| {
        let (a, b, c) = (w[0].log10(), w[1].log10(), w[2].log10());
        a < -1.0 && c > -13.0 && (b - c) > 1.7 * (a - b) && (a - b) > 0.8
    });
    assert!(quadratic, "residuals {ladder:?}");
}

/// A sheet squeezed to 60 %: the exact Hessian is indefinite, and the report says what was done about it.
#[test]
fn compressed_sheets_converge_and_report_the_projection() {
    let body = Body::cloth(&ClothGrid::square(1.0, 12)).expect("a grid").with_mass(0.2);
    let body = body
        .with_compliance(Role::Stretch, 1e-4)
        .with_compliance(Role::Shear, 1e-4)
        .with_compliance(Role::Bend, 1e-2)
        .posed(|[x, y, z]| [0.6 * x, y + 0.001 * (40.0 * x).sin(), 0.6 * z]);
    for hessian in [Hessian::Adaptive, Hessian::Exact, Hessian::Convex] {
        let (model, mut particles) = Model::<f64>::build(&[&body]).expect("sound");
        let options = NewtonOptions { iterations: 200, hessian, ..NewtonOptions::default() };
        let mut solver = f64::newton(Newton::new(options));
        solver.prepare(&model).expect("springs");
        let report = solver.step(&model, &mut particles, 1.0 / 60.0, &AnyBackend::scalar()).expect("a step");
        // Without the negative part of the Hessian convergence is linear only.
        let known = if hessian == Hessian::Convex { 1e-3 } else { 1e-6 };
        assert!((report.converged || hessian == Hessian::Convex) && report.residual < known, "{report:?}");
        match hessian {
            Hessian::Adaptive => assert!(report.projected > 0 && report.shifts == 0, "{report:?}"),
            Hessian::Exact => assert!(report.projected == 0 && report.shifts > 0, "{report:?}"),
            Hessian::Convex => assert!(report.projected == 0 && report.shifts == 0, "{report:?}"),
        }
    }
}

#[test]
fn free_bodies_pieces_and_pinned_bodies_are_fine() {
    let loose = Body::cloth(&ClothGrid::square(1.0, 4)).expect("a grid").with_compliance(Role::Stretch, 1e-3);
    let loose = loose.with_compliance(Role::Shear, 1e-3).with_compliance(Role::Bend, 1e-3);
    let held = loose.clone().pinned(0..16).translated([3.0, 0.0, 0.0]);
    let single = Body::particles([[0.0, 5.0, 0.0]]);
    let (mut model, mut particles) = Model::<f64>::build(&[&loose, &held, &single]).expect("sound");
    model.environment.gravity = [0.0, -10.0, 0.0];
    let mut solver = f64::newton(Newton::default());
    solver.prepare(&model).expect("springs");
    let before = particles.clone();
    let report = solver.step(&model, &mut particles, 0.1, &AnyBackend::scalar()).expect("a step");
    assert!(report.converged);
    for i in 0..16 {
        assert!((particles.x.get(i)[1] - before.x.get(i)[1] + 0.1).abs() < 1e-12, "free fall: h² g");
        assert_eq!(particles.x.get(16 + i), before.x.get(16 + i), "held");
    }
    assert!((particles.x.get(32)[1] - 4.9).abs() < 1e-12);
    let only = Body::particles([[0.0; 3]]).pinned([0]);
    let (model, mut particles) = Model::<f64>::build(&[&only]).expect("sound");
    solver.prepare(&model).expect("nothing to solve");
    solver.step(&model, &mut particles, 0.1, &AnyBackend::scalar()).expect("nothing moves");
}

#[test]
fn what_is_no_energy_is_refused() {
    let rigid = Body::cloth(&ClothGrid::square(1.0, 4)).expect("a grid");
    let (model, _) = Model::<f64>::build(&[&rigid]).expect("sound");
    let refused = |result: Result<(), BuildError>| result.expect_err("refused").to_string();
    let message = refused(f64::newton(Newton::default()).prepare(&model));
    assert!(message.contains("distance 0") && message.contains("compliance"), "{message}");
    let options = NewtonOptions { tolerance: f64::NAN, ..NewtonOptions::default() };
    let message = refused(f64::newton(Newton::new(options)).prepare(&model));
    assert!(message.contains("tolerance"), "{message}");
}

/// A user's own energy, E = k y⁴/4, and one that is not a number.
mod own {
    use super::*;
    use pliant::core::constraints::Set;
    use pliant::core::energy::{Curvature, Energy};
    use pliant::core::lane::Lane;
    use pliant::core::vec3::Vec3;
    use pliant::solvers::EnergySet;

    #[derive(Clone, Copy, Debug)]
    struct Quartic;

    impl Energy<1, 1, 3> for Quartic {
        const NAME: &'static str = "quartic";
        fn value<L: Lane>(p: &[L; 1], x: &[Vec3<L>; 1]) -> L {
            let y = x[0].y - p[0];
            L::constant(0.25) * y * y * y * y
        }
        fn gradient<L: Lane>(p: &[L; 1], x: &[Vec3<L>; 1]) -> [Vec3<L>; 1] {
            let y = x[0].y - p[0];
            [Vec3::new(L::zero(), y * y * y, L::zero())]
        }
        fn hessian<L: Lane>(p: &[L; 1], x: &[Vec3<L>; 1], _: Curvature) -> [Vec3<L>; 3] {
            let y = x[0].y - p[0];
            [Vec3::zero(), Vec3::new(L::zero(), L::constant(3.0) * y * y, L::zero()), Vec3::zero()]
        }
        fn proxy(_: &[f64; 1], _: &[[f64; 3]; 1]) -> [[f64; 1]; 1] {
            [[1.0]]
        }
    }

    #[test]
    fn an_energy_of_the_users_own_is_minimised() {
        let body = Body::particles([[0.0, 1.0, 0.0], [1.0, 2.0, 0.0]]);
        let (mut model, mut particles) = Model::<f64>::build(&[&body]).expect("sound");
        model.environment.gravity = [0.0, -10.0, 0.0];
        let set = Set::for_model(&model, "quartic", vec![[0], [1]], &[[0.0], [0.0]], &[100.0, 50.0]).expect("sound");
        let mut solver = Newton::<f64>::default().with(EnergySet::<_, Quartic, 1, 1, 3>(set));
        // One backend will do: Newton's method is compiled here for this energy.
        let on = Scalar::new();
        Solver::<Scalar<f64>>::prepare(&mut solver, &model).expect("an energy");
        for _ in 0..200 {
            solver.step(&model, &mut particles, 0.05, &on).expect("a step");
        }
        // At rest: k y³ = −m g.
        for (i, k) in [(0, 100.0_f64), (1, 50.0)] {
            let y = particles.x.get(i)[1];
            assert!((k * y * y * y + 10.0).abs() < 1e-3, "particle {i} rests at {y}");
        }
    }

    #[test]
    fn an_energy_that_is_not_a_number_is_named_and_changes_nothing() {
        let body = Body::particles([[0.0, 1.0, 0.0], [1.0, 1e200, 0.0].map(|c: f64| c.min(1e8)), [2.0, 0.0, 0.0]]);
        let (model, mut particles) = Model::<f64>::build(&[&body]).expect("sound");
        // y⁴ overflows for the second particle's rest height.
        let parameters = [[0.0], [1e100], [0.0]];
        let set = Set::for_model(&model, "quartic", vec![[0], [1], [2]], &parameters, &[1.0; 3]).expect("sound");
        let mut solver = Newton::<f64>::default().with(EnergySet::<_, Quartic, 1, 1, 3>(set));
        let on = Scalar::new();
        Solver::<Scalar<f64>>::prepare(&mut solver, &model).expect("an energy");
        let before = particles.clone();
        let error = solver.step(&model, &mut particles, 0.05, &on).expect_err("overflow");
        assert!(matches!(error, StepError::BadEnergy { what: "quartic", row: 1, .. }), "{error}");
        assert_eq!(particles.x, before.x);
    }

    #[test]
    fn bad_rows_of_an_own_energy_are_refused() {
        let body = Body::particles([[0.0; 3]]);
        let (model, _) = Model::<f64>::build(&[&body]).expect("sound");
        let make = |ids, p: f64, k: f64| Set::<f64, Quartic, 1, 1>::for_model(&model, "quartic", ids, &[[p]], &[k]);
        assert!(make(vec![[7]], 0.0, 1.0).is_err() && make(vec![[0]], f64::NAN, 1.0).is_err());
        assert!(make(vec![[0]], 0.0, 0.0).is_err() && make(vec![[0]], 0.0, f64::NAN).is_err());
        assert!(make(vec![], 0.0, 1.0).is_err() && make(vec![[0]], 0.0, 1.0).is_ok());
    }
}
