//! Projective Dynamics against the converged solution of the same step.

use super::reference::read;
use pliant::prelude::*;
use pliant::{Acceleration, Projective, ProjectiveOptions};

fn error(name: &str, dt: f64, step: usize, iterations: usize, acceleration: Acceleration) -> f64 {
    let options = ProjectiveOptions { iterations, acceleration, ..ProjectiveOptions::default() };
    read(name, dt).one_step::<f64>(&mut Projective::<f64>::new(options), step)
}

/// What the method is known to reach (two digits), one step from the reference state.
#[test]
fn the_ladder_of_iterations() {
    let plain = Acceleration::None;
    for (name, dt, step, ladder) in [
        ("8x8_dt240", 1.0 / 240.0, 2, [(10, 1.2e-4), (100, 9e-7), (1000, 2.8e-13)]),
        ("8x8_dt60", 1.0 / 60.0, 2, [(10, 1.4e-3), (100, 7e-4), (1000, 1.3e-5)]),
        ("8x8_dt60", 1.0 / 60.0, 10, [(10, 2.4e-3), (100, 5e-4), (1000, 1.9e-5)]),
    ] {
        for (iterations, known) in ladder {
            let found = error(name, dt, step, iterations, plain);
            println!("{name}, step {step}, {iterations} iterations: {found:e} m, known {known:e}");
        }
    }
}

#[test]
fn accelerations_converge_to_the_same_state_sooner() {
    for acceleration in [Acceleration::None, Acceleration::Chebyshev, Acceleration::Anderson(5), Acceleration::Lbfgs(5)]
    {
        for iterations in [10, 30, 100, 300] {
            let found = error("8x8_dt60", 1.0 / 60.0, 2, iterations, acceleration);
            println!("{acceleration:?}, {iterations}: {found:e}");
        }
    }
}
