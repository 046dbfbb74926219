//! XPBD by the Schur complement: on its plateau in textbook form, at Newton's minimum in accurate form.

use super::reference::read;
use pliant::prelude::*;
use pliant::{SchurForm, XpbdOn, XpbdOptions};
use pliant_harness::instances::{Boxed, Instances};

fn solver(form: SchurForm, iterations: usize) -> Boxed<f64> {
    f64::schur(XpbdOn::new(XpbdOptions { substeps: 1, iterations }).with_form(form))
}

/// Case, time step, from which step, and what the textbook form is known to settle at \[m\].
const CASES: [(&str, f64, usize, f64); 3] =
    [("8x8_dt240", 1.0 / 240.0, 15, 7.7e-6), ("8x8_dt60", 1.0 / 60.0, 2, 2.7e-4), ("8x8_dt60", 1.0 / 60.0, 10, 1.1e-3)];

#[test]
fn textbook_forms_settle_on_their_plateaus() {
    for (name, dt, step, known) in CASES {
        let found = [10, 50].map(|n| read(name, dt).one_step(&mut solver(SchurForm::Position, n), step));
        assert!((found[1] / found[0] - 1.0).abs() < 1e-6, "{name}, step {step}: still moving, {found:?}");
        assert!((0.8..1.2).contains(&(found[1] / known)), "{name}, step {step}: {found:?} m, known {known:e}");
    }
}

#[test]
fn the_accurate_form_reaches_newton() {
    for (name, dt, step, _) in CASES {
        let found = read(name, dt).one_step(&mut solver(SchurForm::Accurate, 400), step);
        assert!(found < 1e-9, "{name}, step {step}: {found:e} m");
    }
}

#[test]
fn kkt_and_schur_agree_to_rounding() {
    for (name, dt, step, _) in CASES {
        let reference = read(name, dt);
        let run = |form| {
            let (model, _) = reference.model::<f64>();
            let mut particles = reference.state::<f64>(step);
            let mut solver = solver(form, 3);
            solver.prepare(&model).expect("springs");
            solver.step(&model, &mut particles, dt, &AnyBackend::scalar()).expect("a step");
            let forces = solver.forces(&model);
            (particles.x, forces)
        };
        let ((a, forces_a), (b, forces_b)) = (run(SchurForm::Position), run(SchurForm::Kkt));
        for i in 0..a.len() {
            let (p, q) = (a.get(i), b.get(i));
            assert!((0..3).all(|k| (p[k] - q[k]).abs() < 1e-12), "{name}, particle {i}: {p:?} against {q:?}");
        }
        for ((kind, a), (_, b)) in forces_a.iter().zip(&forces_b) {
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a.abs())), "{kind}");
        }
    }
}

#[test]
fn the_velocity_form_is_one_linear_solve() {
    for (name, dt, step, _) in CASES {
        let velocity = read(name, dt).one_step(&mut solver(SchurForm::Velocity, 1), step);
        let position = read(name, dt).one_step(&mut solver(SchurForm::Position, 1), step);
        // Linearised at the start instead of the prediction: the same order of error, and no more.
        assert!(velocity < 20.0 * position, "{name}, step {step}: {velocity:e} m against {position:e} m");
    }
}

/// A spring alone, one iteration: backward Euler, to rounding.
#[test]
fn one_spring_is_backward_euler() {
    for form in [SchurForm::Position, SchurForm::Accurate, SchurForm::Velocity, SchurForm::Kkt] {
        let mut body = Body::particles([[0.0; 3], [1.5, 0.0, 0.0]]).pinned([0]);
        body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [1.0]);
        body.tables_mut().distance.compliance[0] = 0.01;
        let (mut model, mut particles) = Model::<f64>::build(&[&body]).expect("sound");
        model.environment.gravity = [0.0; 3];
        let mut solver = solver(form, 1);
        solver.prepare(&model).expect("a spring");
        let (h, k) = (0.01, 100.0);
        let (mut x, mut v) = (0.5, 0.0);
        for _ in 0..100 {
            solver.step(&model, &mut particles, h, &AnyBackend::scalar()).expect("a step");
            v = (v - h * k * x) / (1.0 + h * h * k);
            x += h * v;
            assert!((particles.x.get(1)[0] - 1.0 - x).abs() < 1e-13, "{form:?}");
        }
    }
}

/// Rigid, and more constraints than degrees of freedom: the matrix is singular, shifted, and the report says so.
#[test]
fn redundant_rigid_constraints_are_shifted_and_reported() {
    let body = Body::cloth(&ClothGrid::square(1.0, 6)).expect("a grid").pinned([0, 5]);
    let (mut model, mut particles) = Model::<f64>::build(&[&body]).expect("sound");
    model.environment.gravity = [0.0, -9.81, 0.0];
    let mut solver = solver(SchurForm::Position, 2);
    solver.prepare(&model).expect("constraints");
    let mut shifts = 0;
    for _ in 0..10 {
        shifts += solver.step(&model, &mut particles, 1.0 / 60.0, &AnyBackend::scalar()).expect("a step").shifts;
    }
    assert!(shifts > 0);
    assert!(particles.x.first_non_finite().is_none());
}
