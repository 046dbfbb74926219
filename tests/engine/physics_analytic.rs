//! Known answers: free fall, oscillators, the hanging chain, the catenary, pendulums and a reference trajectory.
//!
//! The numbers are those of `analytic_expected.json` and were computed independently of this project.

use pliant::core::body::{Body, Role};
use pliant::core::error::StepError;
use pliant::core::mesh::Rope;
use pliant_harness::instances::Instances;

use crate::common::Table;
use crate::run::{Run, free};
use crate::scenes::Method;

/// Every solver, with settings that suit a handful of particles.
const SOLVERS: [Method; 4] = [
    Method::Xpbd { substeps: 1, iterations: 1 },
    Method::Pbd { substeps: 1, iterations: 2, stiffness: 1.0 },
    Method::Jacobi { substeps: 1, iterations: 2 },
    Method::Symplectic { substeps: 1 },
];

/// y₆₀ = −g h² Σ k = −9.81 · (1/60)² · 60 · 61/2 = −4.98675 m: symplectic and implicit Euler agree on free fall.
fn falls<S: Instances>(tolerance: f64) {
    for method in SOLVERS {
        let mut run = Run::<S>::new(&[&free(3)], method);
        for _ in 0..60 {
            run.step(1.0 / 60.0);
        }
        for i in 0..3 {
            let fall = run.at(i)[1];
            assert!((fall + 4.98675).abs() < tolerance, "{method:?} in {}: {fall}", S::NAME);
        }
    }
}

#[test]
fn free_fall() {
    falls::<f64>(1e-6);
    // v = (x⁺ − x)/h hands the rounding δ ≤ 2⁻²² m of x⁺ near 5 m on to all later steps: √(Σ (60 − k)²) · δ ≈ 6e-5 m.
    falls::<f32>(1e-4);
}

/// A mass of 1 kg on a spring of 100 N/m and rest length 1 m along x; displaced by `x0`.
fn oscillator(x0: f64) -> Body {
    let mut body = Body::particles([[0.0; 3], [1.0 + x0, 0.0, 0.0]]).with_masses([0.0, 1.0]).pinned([0]);
    body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [1.0]);
    body.with_compliance(Role::Stretch, 0.01)
}

fn without_gravity<S: Instances>(body: &Body, method: Method) -> Run<S> {
    let mut run = Run::new(&[body], method);
    run.model.environment.gravity = [S::ZERO; 3];
    run
}

/// ½mv² + ½kx² − ½ dt k x v is constant under symplectic Euler; the plain energy is not.
#[test]
fn symplectic_oscillator_keeps_its_invariant_and_period() {
    let (k, dt) = (100.0, 0.01);
    let mut run = without_gravity::<f64>(&oscillator(0.1), Method::Symplectic { substeps: 1 });
    let state = |run: &Run<f64>| (run.particles.x.x[1] - 1.0, run.particles.v.x[1]);
    let invariant = |(x, v): (f64, f64)| 0.5 * v * v + 0.5 * k * x * x - 0.5 * dt * k * x * v;
    let start = invariant(state(&run));
    let (mut crossings, mut before, mut energy_swing) = (Vec::new(), state(&run).0, 0.0_f64);
    for step in 1..=10_000 {
        run.step(dt);
        let (x, v) = state(&run);
        // The coordinate is 1 + x: its rounding, ε per step, turns into a random walk of the amplitude.
        assert!((invariant((x, v)) / start - 1.0).abs() < 1e-12, "step {step}: {}", invariant((x, v)) / start - 1.0);
        energy_swing = energy_swing.max((0.5 * v * v + 0.5 * k * x * x) / start - 1.0);
        if before < 0.0 && x >= 0.0 {
            // Linear interpolation between the samples on both sides of zero.
            crossings.push(dt * (f64::from(step) - x / (x - before)));
        }
        before = x;
    }
    assert!(energy_swing > 0.01, "the energy itself swings with dt: {energy_swing}");
    let period = (crossings[crossings.len() - 1] - crossings[0]) / (crossings.len() - 1) as f64;
    // T = 2π dt / (2 asin(ω dt/2)); the ends' interpolation errors are divided by 150 periods.
    assert!((period - 0.628_056_545_650_254_1).abs() < 1e-6, "{period}");
}

/// Symplectic Euler is stable up to ω dt = 2: at dt = 0.2 for ω = 10.
#[test]
fn symplectic_oscillator_diverges_above_its_limit_and_says_so() {
    let mut below = without_gravity::<f64>(&oscillator(0.01), Method::Symplectic { substeps: 1 });
    for _ in 0..2000 {
        below.step(0.199);
        // The orbit is an ellipse with a half axis of x₀/√(1 − (ω dt/2)²) = 10 x₀.
        assert!((below.particles.x.x[1] - 1.0).abs() < 0.101, "bounded below the limit");
    }

    let mut above = without_gravity::<f64>(&oscillator(0.1), Method::Symplectic { substeps: 1 });
    let mut kept = above.particles.clone();
    let error = (0..2000).find_map(|_| {
        kept = above.particles.clone();
        above.try_step(0.21).err()
    });
    let Some(StepError::Diverged { particle: 1, quantity, value, .. }) = error else { panic!("{error:?}") };
    assert!(value >= 1e9 && ["position", "velocity"].contains(&quantity), "{quantity} {value}");
    assert_eq!(above.particles.state_hash(), kept.state_hash(), "the state is as it was");
}

/// One XPBD iteration solves a single linear spring exactly: x⁺ = (x + h v)/(1 + h²k/m), v⁺ = (x⁺ − x)/h.
#[test]
fn one_spring_by_xpbd_is_backward_euler() {
    let (h, k) = (0.01_f64, 100.0);
    // Zero rest length at the origin: the coordinate is the displacement, and nothing is lost to rounding near 1.
    let mut body = Body::particles([[0.0; 3], [1.0, 0.0, 0.0]]).with_masses([0.0, 1.0]).pinned([0]);
    body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [0.0]);
    let body = body.with_compliance(Role::Stretch, 1.0 / k);
    // A spring through its zero length changes direction, not force: the 1-D oscillator all the way.
    let mut run = without_gravity::<f64>(&body, Method::Xpbd { substeps: 1, iterations: 1 });
    let (mut x, mut v) = (1.0_f64, 0.0_f64);
    let energy = |x: f64, v: f64| 0.5 * v * v + 0.5 * k * x * x;
    let start = energy(x, v);
    for step in 0..100 {
        let amplitude = energy(x, v).sqrt();
        let next = (x + h * v) / (1.0 + h * h * k);
        (x, v) = (next, (next - x) / h);
        run.step(h);
        let (found, speed) = (run.particles.x.x[1], run.particles.v.x[1]);
        assert!((found - x).abs() < 1e-14, "step {step}: {found} instead of {x}");
        // v is a difference of positions over h.
        assert!((speed - v).abs() < 2e-14 / h, "step {step}: {speed} instead of {v}");
        // E falls by 1/(1 + h²k) a step, the amplitude by its root.
        let kept = energy(found, speed).sqrt() / amplitude;
        assert!((kept - 0.995_037_190_209_989_3).abs() < 1e-12, "step {step}: {kept}");
    }
    let ratio = energy(run.particles.x.x[1], run.particles.v.x[1]) / start;
    assert!((ratio - 0.369_711_212_329_118_9).abs() < 1e-12, "{ratio}");
    assert!((run.particles.x.x[1] + 0.520_866_526_040_103_2).abs() < 1e-13);
    assert!((run.particles.v.x[1] - 3.137_025_253_006_963).abs() < 1e-11);
}

/// 10 masses of 0.1 kg on springs of 1000 N/m below a pin.
fn chain() -> Body {
    let rope = Rope::new(10, [0.0; 3], [0.0, -1.0, 0.0]).expect("ten segments");
    Body::rope(&rope, false).expect("finite").with_masses([0.1; 11]).pinned([0]).with_compliance(Role::Stretch, 1e-3)
}

fn settle(run: &mut Run<f64>, dt: f64, limit: usize) {
    for _ in 0..limit {
        run.step(dt);
        // v = (x⁺ − x)/h rounds to a few ε/h, 1e-11 at h = 1e-4 s.
        if run.particles.v.y.iter().all(|v| v.abs() < 2e-11) {
            return;
        }
    }
    panic!("still moving after {limit} steps");
}

/// Σ (N − i) m g/k for i = 0 … 9 = 55 · 0.1 · 9.81/1000 m. With few iterations the chain hangs lower: the table of the
/// validation data for Gauss–Seidel from the top to the bottom. Packing must keep that order.
#[test]
fn hanging_chain_matches_the_iteration_and_substep_table() {
    for (substeps, iterations, expected) in
        [(1, 1, 3.27273), (1, 5, 1.18793), (1, 20, 1.00057), (1, 50, 1.0), (5, 1, 1.09091), (20, 1, 1.00568)]
    {
        let mut run = Run::<f64>::new(&[&chain()], Method::Xpbd { substeps, iterations });
        settle(&mut run, 1.0 / 60.0, 20_000);
        let ratio = -(run.particles.x.y[10] + 1.0) / 0.053955;
        assert!((ratio - expected).abs() < 1e-3, "{substeps} × {iterations}: {ratio} instead of {expected}");
    }
}

/// At rest spring i carries the (N − i) masses below it: λ/h² = −(N − i) m g, tension negative.
#[test]
fn hanging_chain_forces_carry_the_weight_below() {
    let mut run = Run::<f64>::new(&[&chain()], Method::Xpbd { substeps: 1, iterations: 200 });
    settle(&mut run, 1.0 / 60.0, 20_000);
    let forces = run.forces("distance");
    assert_eq!(forces.len(), 10);
    for (i, force) in forces.into_iter().enumerate() {
        let weight = (10 - i) as f64 * 0.1 * 9.81;
        assert!((force + weight).abs() < 1e-6, "spring {i}: {force} instead of {}", -weight);
        let length = run.particles.x.y[i] - run.particles.x.y[i + 1];
        assert!((length - 0.1 - weight / 1000.0).abs() < 1e-9, "spring {i} is {length} m long");
    }
    let extension = -(run.particles.x.y[10] + 1.0);
    assert!((extension - 0.053955).abs() < 1e-4 * 0.053955, "{extension}");
}

/// Stiffness does not depend on how the work is split, once converged.
#[test]
fn extension_does_not_depend_on_iterations_or_substeps_once_converged() {
    let mut found = Vec::new();
    for (substeps, iterations) in [(1, 100), (4, 60), (10, 40), (200, 1)] {
        let mut run = Run::<f64>::new(&[&chain()], Method::Xpbd { substeps, iterations });
        run.model.environment.damping = 5.0;
        settle(&mut run, 1.0 / 60.0, 20_000);
        found.push(-(run.particles.x.y[10] + 1.0));
    }
    for extension in &found {
        assert!((extension / 0.053955 - 1.0).abs() < 1e-4, "{found:?}");
    }
}

/// A chain of rigid links between two points 1 m apart, 1.5 m long, at rest: the discrete catenary.
#[test]
fn catenary_sag() {
    for (links, expected, substeps) in [(20_usize, 0.503_446_634_340_195_4, 200), (100, 0.502_665_627_013_259_5, 600)] {
        let count = links + 1;
        // A zigzag of the right length to start with: x runs from 0 to 1, y down and up again.
        let sag = (0.75_f64.powi(2) - 0.25).sqrt();
        let place = |i: usize| {
            let t = i as f64 / links as f64;
            [t, -2.0 * sag * t.min(1.0 - t), 0.0]
        };
        let mut body = Body::particles((0..count).map(place)).with_masses((0..count).map(|_| 0.01));
        for i in 1..count as u32 {
            body.tables_mut().distance.push(Role::Stretch, 0, [i - 1, i], [1.5 / links as f64]);
        }
        let body = body.pinned([0, count as u32 - 1]);
        let mut run = Run::<f64>::new(&[&body], Method::Xpbd { substeps, iterations: 1 });
        run.model.environment.damping = 6.0;
        for _ in 0..300 {
            run.step(1.0 / 60.0);
        }
        let speed = run.particles.v.iter().flatten().fold(0.0, |m: f64, v| m.max(v.abs()));
        assert!(speed < 1e-4, "{links} links: still moving at {speed} m/s");
        let sag = -run.particles.x.y.iter().copied().fold(0.0, f64::min);
        assert!((sag - expected).abs() < 1e-4, "{links} links: sag {sag} instead of {expected}");
    }
}

/// Four times the time that a rigid pendulum of 1 m, let go at an angle, takes to its lowest point \[s\].
fn pendulum_period(degrees: f64, dt: f64) -> f64 {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let mut body = Body::particles([[0.0; 3], [sin, -cos, 0.0]]).pinned([0]);
    body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [1.0]);
    let mut run = Run::<f64>::new(&[&body], Method::Xpbd { substeps: 1, iterations: 1 });
    let mut before = sin;
    for step in 1.. {
        run.step(dt);
        let x = run.particles.x.x[1];
        if x <= 0.0 {
            // A quarter of the period has passed.
            return 4.0 * dt * (f64::from(step) - x / (x - before));
        }
        before = x;
    }
    unreachable!("it swings through the middle")
}

/// First order at least; small swings do better, since their period hardly depends on the amplitude that is lost.
#[test]
fn pendulum_period_error_at_least_halves_with_the_step() {
    for (degrees, exact) in [(5.0, 2.007_021_914_469_057), (90.0, 2.367_841_947_576_237_3)] {
        let errors = [1.0, 2.0, 4.0, 8.0].map(|fine| (pendulum_period(degrees, 1.0 / (240.0 * fine)) - exact).abs());
        assert!(errors[3] < 2e-3 * exact, "{degrees}°: {errors:?}");
        for pair in errors.windows(2) {
            let ratio = pair[0] / pair[1];
            assert!(ratio > 1.8, "{degrees}°: {errors:?} shrink by {ratio} only");
        }
    }
}

/// 200 symplectic steps of 1e-4 s of the 8 × 8 cloth of the validation data.
fn follows_the_reference<S: Instances>(tolerance: f64) {
    let particles = Table::read("newton_ref_8x8_dt60_particles.csv");
    let springs = Table::read("newton_ref_8x8_dt60_springs.csv");
    let vector = |row: &crate::common::Row, names: [&str; 3]| names.map(|name| row.number(name));
    let rows: Vec<_> = particles.rows().collect();
    let pinned = (0_u32..).zip(&rows).filter(|(_, row)| row.number("pinned") == 1.0).map(|(i, _)| i);
    let mut body = Body::particles(rows.iter().map(|row| vector(row, ["x", "y", "z"])))
        .with_masses(rows.iter().map(|row| row.number("mass")))
        .with_velocities(rows.iter().map(|row| vector(row, ["vx", "vy", "vz"])))
        .pinned(pinned.collect::<Vec<_>>());
    for row in springs.rows() {
        let table = &mut body.tables_mut().distance;
        table.push(Role::Stretch, 0, ["i", "j"].map(|name| row.number(name) as u32), [row.number("rest")]);
        *table.compliance.last_mut().expect("just pushed") = 1.0 / row.number("k");
    }
    let mut run = Run::<S>::new(&[&body], Method::Symplectic { substeps: 1 });
    for _ in 0..200 {
        run.step(1e-4);
    }
    let reference = Table::read("symplectic_ref_8x8_dt60.csv");
    assert_eq!(reference.rows().count(), 64);
    for row in reference.rows() {
        let vertex = row.number("vertex") as usize;
        let (found, expected) = (run.particles.x.get(vertex), vector(&row, ["x", "y", "z"]));
        for axis in 0..3 {
            let error = (found[axis].to_f64() - expected[axis]).abs();
            assert!(error < tolerance, "vertex {vertex}, axis {axis} in {}: off by {error:e} m", S::NAME);
        }
    }
}

#[test]
fn symplectic_cloth_follows_the_reference_trajectory() {
    follows_the_reference::<f64>(1e-12);
    follows_the_reference::<f32>(1e-5);
}
