//! Solutions known in closed form.

use pliant::backends::AnyBackend;
use pliant::core::body::{Body, Role};
use pliant::core::columns::Particles;
use pliant::core::solver::Solver;

use super::{Check, Verdict};
use crate::failure::Failure;
use crate::scene::Scene;
use crate::solvers::{SOLVERS, SolverEntry, Work, backend, find};

/// What 60 steps of 1/60 s fall by under any Euler method: −g dt² n (n + 1)/2 \[m\].
const FALL: f64 = -4.98675;
/// What backward Euler leaves of the oscillator's energy after 100 steps.
const ENERGY_LEFT: f64 = 0.369_711_212_329_118_9;
/// What the hanging chain is longer by \[m\].
const EXTENSION: f64 = 0.053_955;

/// Every check, against solutions written out here.
pub fn checks() -> Vec<Check> {
    let mut checks = free_falls(FALL);
    checks.extend(oscillators(ENERGY_LEFT));
    checks.extend([line("hanging chain", hanging_chain(EXTENSION)), line("turned rest shape", turned_rest_shape())]);
    checks
}

/// A result, or a line that says why there is none.
pub fn line(name: &str, check: Result<Check, Failure>) -> Check {
    check.unwrap_or_else(|error| Check { name: name.to_owned(), verdict: Verdict::Broken(error.to_string()) })
}

/// Every method that moves particles, falling by `expected` \[m\].
pub fn free_falls(expected: f64) -> Vec<Check> {
    let entries = SOLVERS.iter().filter(|entry| !entry.bodies_alone);
    entries.map(|entry| line("free fall", free_fall(entry, expected))).collect()
}

/// One spring: backward Euler leaves a known share of its energy, symplectic Euler an invariant.
pub fn oscillators(energy_left: f64) -> Vec<Check> {
    vec![
        line("oscillator, backward Euler", backward_euler(energy_left)),
        line("oscillator, symplectic Euler", symplectic_euler()),
    ]
}

/// The state after `steps` steps of `dt` \[s\], in double precision.
pub fn run(scene: &Scene, entry: &SolverEntry, work: Work, dt: f64, steps: usize) -> Result<Particles<f64>, Failure> {
    watch(scene, entry, work, dt, steps, &mut |_| ())
}

/// The same, shown after every step.
pub fn watch(
    scene: &Scene,
    entry: &SolverEntry,
    work: Work,
    dt: f64,
    steps: usize,
    show: &mut dyn FnMut(&Particles<f64>),
) -> Result<Particles<f64>, Failure> {
    let (model, mut particles) = scene.build::<f64>()?;
    let on: AnyBackend<f64> = backend("scalar", None)?;
    let mut solver: Box<dyn Solver<AnyBackend<f64>>> = <f64 as crate::solvers::Number>::solver(entry, work);
    solver.prepare(&model)?;
    for _ in 0..steps {
        solver.step(&model, &mut particles, dt, &on)?;
        show(&particles);
    }
    Ok(particles)
}

/// One pass over the constraints a step.
pub const ONE: Work = Work { substeps: 1, iterations: 1 };

fn free_fall(entry: &SolverEntry, expected: f64) -> Result<Check, Failure> {
    let scene = Scene::new("fall", vec![Body::particles([[0.0; 3]])]);
    let y = run(&scene, entry, ONE, 1.0 / 60.0, 60)?.x.y[0];
    Ok(Check::measured(format!("free fall, {}", entry.name), (y - expected).abs(), 1e-6))
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
fn backward_euler(expected: f64) -> Result<Check, Failure> {
    let [x, v] = displacement(&run(&oscillator(), find("xpbd-colored")?, ONE, 0.01, 100)?);
    let ratio = (0.5 * v * v + 50.0 * x * x) / 50.0;
    Ok(Check::measured("oscillator, xpbd-colored = backward Euler", (ratio - expected).abs(), 1e-12))
}

/// ½mv² + ½kx² − ½ dt k x v is constant.
fn symplectic_euler() -> Result<Check, Failure> {
    let [x, v] = displacement(&run(&oscillator(), find("symplectic")?, ONE, 0.01, 1000)?);
    let invariant = 0.5 * v * v + 50.0 * x * x - 0.5 * 0.01 * 100.0 * x * v;
    Ok(Check::measured("oscillator, symplectic invariant", (invariant / 50.0 - 1.0).abs(), 1e-12))
}

/// Ten masses of 0.1 kg on springs of 1000 N/m come to rest below their rest lengths.
pub fn hanging_chain(expected: f64) -> Result<Check, Failure> {
    let mut body = Body::particles((0..=10).map(|i| [0.0, -0.1 * f64::from(i), 0.0])).with_masses([0.1; 11]);
    for i in 0..10 {
        body.tables_mut().distance.push(Role::Stretch, 0, [i, i + 1], [0.1]);
    }
    let body = body.with_compliance(Role::Stretch, 1e-3).pinned([0]);
    let scene = Scene { damping: 3.0, ..Scene::new("chain", vec![body]) };
    let state = run(&scene, find("xpbd-colored")?, Work { substeps: 1, iterations: 100 }, 1.0 / 60.0, 1200)?;
    let extension = -state.x.y[10] - 1.0;
    Ok(Check::measured("hanging chain, xpbd-colored", (extension / expected - 1.0).abs(), 1e-4))
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
