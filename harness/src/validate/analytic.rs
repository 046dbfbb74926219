//! Solutions known in closed form.

use pliant::backends::AnyBackend;
use pliant::core::body::{Body, Role};
use pliant::core::columns::Particles;
use pliant::core::solver::Solver;

use super::{Check, Verdict};
use crate::failure::Failure;
use crate::scene::Scene;
use crate::solvers::{SOLVERS, SolverEntry, Work, backend, find};

/// Every check; one that cannot run says why.
pub fn checks() -> Vec<Check> {
    let mut checks: Vec<Check> = SOLVERS
        .iter()
        .filter(|entry| !entry.bodies_alone)
        .map(|entry| free_fall(entry).unwrap_or_else(|e| broken("free fall", &e)))
        .collect();
    for (name, check) in [
        ("oscillator, backward Euler", backward_euler as fn() -> Result<Check, Failure>),
        ("oscillator, symplectic Euler", symplectic_euler),
        ("hanging chain", hanging_chain),
        ("turned rest shape", turned_rest_shape),
    ] {
        checks.push(check().unwrap_or_else(|error| broken(name, &error)));
    }
    checks
}

fn broken(name: &str, error: &Failure) -> Check {
    Check { name: name.to_owned(), verdict: Verdict::Broken(error.to_string()) }
}

/// The state after `steps` steps of `dt` \[s\], in double precision.
fn run(scene: &Scene, entry: &SolverEntry, work: Work, dt: f64, steps: usize) -> Result<Particles<f64>, Failure> {
    let (model, mut particles) = scene.build::<f64>()?;
    let on: AnyBackend<f64> = backend("scalar", None)?;
    let mut solver: Box<dyn Solver<AnyBackend<f64>>> = <f64 as crate::solvers::Number>::solver(entry, work);
    solver.prepare(&model)?;
    for _ in 0..steps {
        solver.step(&model, &mut particles, dt, &on)?;
    }
    Ok(particles)
}

const ONE: Work = Work { substeps: 1, iterations: 1 };

/// y = −g dt² n (n + 1)/2 after n steps of any Euler method.
fn free_fall(entry: &SolverEntry) -> Result<Check, Failure> {
    let scene = Scene::new("fall", vec![Body::particles([[0.0; 3]])]);
    let y = run(&scene, entry, ONE, 1.0 / 60.0, 60)?.x.y[0];
    Ok(Check::measured(format!("free fall, {}", entry.name), (y + 4.98675).abs(), 1e-6))
}

/// A mass of 1 kg on a spring of 100 N/m, 1 m beyond its rest length of 2 m.
fn oscillator() -> Scene {
    let mut body = Body::particles([[0.0; 3], [3.0, 0.0, 0.0]]);
    body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [2.0]);
    let body = body.with_compliance(Role::Stretch, 0.01).pinned([0]);
    Scene { gravity: [0.0; 3], ..Scene::new("oscillator", vec![body]) }
}

/// Displacement \[m\] and velocity \[m/s\] of the oscillator.
fn displacement(state: &Particles<f64>) -> [f64; 2] {
    [state.x.x[1] - 2.0, state.v.x[1]]
}

/// One spring, one iteration: XPBD is backward Euler, whose energy after 100 steps is known.
fn backward_euler() -> Result<Check, Failure> {
    let [x, v] = displacement(&run(&oscillator(), find("xpbd-colored")?, ONE, 0.01, 100)?);
    let ratio = (0.5 * v * v + 50.0 * x * x) / 50.0;
    Ok(Check::measured("oscillator, xpbd-colored = backward Euler", (ratio - 0.369_711_212_329_118_9).abs(), 1e-12))
}

/// ½mv² + ½kx² − ½ dt k x v is constant.
fn symplectic_euler() -> Result<Check, Failure> {
    let [x, v] = displacement(&run(&oscillator(), find("symplectic")?, ONE, 0.01, 1000)?);
    let invariant = 0.5 * v * v + 50.0 * x * x - 0.5 * 0.01 * 100.0 * x * v;
    Ok(Check::measured("oscillator, symplectic invariant", (invariant / 50.0 - 1.0).abs(), 1e-12))
}

/// Ten masses of 0.1 kg on springs of 1000 N/m come to rest 0.053955 m below their rest lengths.
fn hanging_chain() -> Result<Check, Failure> {
    let mut body = Body::particles((0..=10).map(|i| [0.0, -0.1 * f64::from(i), 0.0])).with_masses([0.1; 11]);
    for i in 0..10 {
        body.tables_mut().distance.push(Role::Stretch, 0, [i, i + 1], [0.1]);
    }
    let body = body.with_compliance(Role::Stretch, 1e-3).pinned([0]);
    let scene = Scene { damping: 3.0, ..Scene::new("chain", vec![body]) };
    let state = run(&scene, find("xpbd-colored")?, Work { substeps: 1, iterations: 100 }, 1.0 / 60.0, 1200)?;
    let extension = -state.x.y[10] - 1.0;
    Ok(Check::measured("hanging chain, xpbd-colored", (extension / 0.053955 - 1.0).abs(), 1e-4))
}

/// A rest shape that was turned by 1.1 rad, moved and stretched by a quarter along one axis: shape matching finds the turn, and
/// puts every particle where the rest shape then is.
fn turned_rest_shape() -> Result<Check, Failure> {
    let (sin, cos) = 1.1_f64.sin_cos();
    let place =
        |[x, y, z]: [f64; 3], stretch: f64| [cos * stretch * x - sin * y + 2.0, sin * stretch * x + cos * y, z - 1.0];
    let rest: Vec<[f64; 3]> =
        (0..27).map(|i| [i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1].map(|c| 0.1 * f64::from(c))).collect();
    let body = Body::particles(rest.clone()).with_rigid_cluster(0..27).posed(|p| place(p, 1.25));
    let scene = Scene { gravity: [0.0; 3], ..Scene::new("turned rest shape", vec![body]) };
    let state = run(&scene, find("shape-matching")?, ONE, 1.0 / 60.0, 1)?;
    let off = |(found, rest): ([f64; 3], &[f64; 3])| {
        let goal = place(*rest, 1.0);
        (0..3).map(|k| (found[k] - goal[k]).abs()).fold(0.0, f64::max)
    };
    let worst = state.x.iter().zip(&rest).map(off).fold(0.0, f64::max);
    Ok(Check::measured("turned rest shape, shape-matching", worst, 1e-12))
}
