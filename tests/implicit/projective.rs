//! Projective Dynamics against the converged solution of the same step.

use super::reference::{Reference, read};
use pliant::prelude::*;
use pliant::{Acceleration, Newton, Projective, ProjectiveOptions};
use pliant_harness::instances::{Boxed, Instances};

fn solver(iterations: usize, acceleration: Acceleration) -> Boxed<f64> {
    f64::projective(Projective::new(ProjectiveOptions { iterations, acceleration, ..ProjectiveOptions::default() }))
}

/// What the method is known to reach, one step from the reference state, to the two digits it is known to.
#[test]
fn the_ladder_of_iterations() {
    for (name, dt, step, ladder) in [
        ("8x8_dt240", 1.0 / 240.0, 15, [(10, 1.2e-4), (100, 9e-7), (1000, 1e-12)]),
        ("8x8_dt60", 1.0 / 60.0, 2, [(10, 1.4e-3), (100, 7e-4), (1000, 1.3e-5)]),
        ("8x8_dt60", 1.0 / 60.0, 10, [(10, 2.4e-3), (100, 5e-4), (1000, 1.9e-5)]),
    ] {
        let reference = read(name, dt);
        for (iterations, known) in ladder {
            let found = reference.one_step(&mut solver(iterations, Acceleration::None), step);
            assert!(found < 1.15 * known, "{name}, step {step}, {iterations} iterations: {found:e} m, known {known:e}");
        }
    }
}

#[test]
fn every_acceleration_beats_the_plain_iteration() {
    let reference = read("8x8_dt60", 1.0 / 60.0);
    let error = |acceleration| reference.one_step(&mut solver(100, acceleration), 2);
    let plain = error(Acceleration::None);
    assert!(error(Acceleration::Chebyshev) < 0.6 * plain);
    assert!(error(Acceleration::Anderson(5)) < 1e-3 * plain);
    assert!(error(Acceleration::Lbfgs(5)) < 1e-2 * plain);
}

/// A curtain of 20 × 20 with stiff springs, a few steps on its way down.
fn curtain() -> (Model<f64>, Particles<f64>) {
    let body = Body::cloth(&ClothGrid::square(1.0, 20)).expect("a grid").with_mass(0.2).pinned([0, 19]);
    let body = body.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Shear, 2e-3);
    let (mut model, mut particles) = Model::build(&[&body.with_compliance(Role::Bend, 1e-2)]).expect("a sound body");
    model.environment.gravity = [0.0, -9.81, 0.0];
    let mut newton = f64::newton(Newton::default());
    newton.prepare(&model).expect("springs");
    for _ in 0..10 {
        newton.step(&model, &mut particles, 1.0 / 60.0, &AnyBackend::scalar()).expect("a step");
    }
    (model, particles)
}

fn rows(particles: &Particles<f64>) -> Vec<[f64; 3]> {
    (0..particles.len()).map(|i| particles.x.get(i)).collect()
}

/// Whoever is within 1e-4 m of Newton's solution after k iterations, where three times as many plain ones are not.
#[test]
fn accelerated_needs_a_third_of_the_iterations() {
    let (model, start) = curtain();
    let mut expected = start.clone();
    let mut newton = f64::newton(Newton::default());
    newton.prepare(&model).expect("springs");
    newton.step(&model, &mut expected, 1.0 / 60.0, &AnyBackend::scalar()).expect("a step");
    let expected = Reference { body: Body::default(), dt: 0.0, states: vec![rows(&expected)] };
    let reached = |iterations: usize, acceleration: Acceleration| {
        let (mut solver, mut particles) = (solver(iterations, acceleration), start.clone());
        solver.prepare(&model).expect("springs");
        solver.step(&model, &mut particles, 1.0 / 60.0, &AnyBackend::scalar()).expect("a step");
        expected.error(&particles.x, 0) < 1e-4
    };
    for acceleration in [Acceleration::Anderson(5), Acceleration::Lbfgs(5)] {
        let needed = (1..40).map(|k| 8 * k).find(|&k| reached(k, acceleration)).expect("320 are enough");
        assert!(!reached(3 * needed, Acceleration::None), "{acceleration:?} needs {needed}, plain at most three times");
    }
}

/// A constant matrix: one factorisation for many steps, another when dt changes, none when a pin moves.
#[test]
fn the_matrix_is_factored_only_when_it_changes() {
    let (mut model, mut particles) = curtain();
    let mut solver = f64::projective(Projective::default());
    solver.prepare(&model).expect("springs");
    let mut step = |model: &Model<f64>, dt: f64| {
        solver.step(model, &mut particles, dt, &AnyBackend::scalar()).expect("a step").factorizations
    };
    assert_eq!([step(&model, 0.01), step(&model, 0.01), step(&model, 0.01)], [1, 0, 0]);
    model.move_pin(0, [0.0, 0.1, 0.0]).expect("a pin");
    assert_eq!([step(&model, 0.01), step(&model, 0.02), step(&model, 0.02)], [0, 1, 0]);
}
