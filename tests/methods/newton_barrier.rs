//! Newton's method with a barrier between surfaces, and friction along them.

use pliant::backends::AnyBackend;
use pliant::core::body::Body;
use pliant::core::collide::SelfContact;
use pliant::core::columns::Particles;
use pliant::core::error::{BuildError, StepError};
use pliant::core::mesh::ClothGrid;
use pliant::core::model::Model;
use pliant::core::solver::{Solver, StepReport};
use pliant::{Guard, IntersectionFree, Newton, NewtonOptions, SurfaceBarrier};
use pliant_harness::instances::{Boxed, Instances};

use crate::simd;
use crate::stage::{FRAME, Stage, contact, crash, momentum, soft, stack, twist};

fn newton(iterations: usize) -> Boxed<f64> {
    let options = NewtonOptions { iterations, tolerance: 1e-6, ..NewtonOptions::default() };
    f64::newton(Newton::new(options).with_barrier(SurfaceBarrier::default()))
}

/// To the last digits but two or three.
fn precise() -> Boxed<f64> {
    let options = NewtonOptions { iterations: 100, tolerance: 1e-11, ..NewtonOptions::default() };
    f64::newton(Newton::new(options).with_barrier(SurfaceBarrier::default()))
}

/// Runs a stage, in which particles go at least `progress` \[m\] on average.
fn run(name: &str, stage: &mut Stage<f64>, steps: usize, progress: f64) {
    let on = simd();
    let mut solver = newton(15);
    solver.prepare(&stage.model).expect("valid options");
    let (mut iterations, mut converged) = (0, 0);
    let begin = std::time::Instant::now();
    for step in 0..steps {
        let report = stage.step(&mut *solver, &on);
        iterations += report.iterations;
        converged += usize::from(report.converged);
        let found = stage.intersections();
        assert_eq!(found, stage.intersections_by_brute_force(), "{name}");
        assert_eq!(found, 0, "{name}: {found} intersections after step {step}");
    }
    assert!(stage.progress() > progress, "{name}: went {} m on average", stage.progress());
    println!(
        "{name}: {:.3} m on average, {iterations} iterations in {steps} steps, {converged} of them converged, {:.1} ms a step",
        stage.progress(),
        begin.elapsed().as_secs_f64() * 1e3 / steps as f64
    );
}

#[test]
fn cloth_twisted_ten_times_never_passes_through_itself() {
    run("ten turns", &mut twist(5, 6.0), 100, 0.09);
}

#[test]
fn ten_layers_stay_apart() {
    run("ten layers", &mut stack(10, 5, 1e-4), 40, 0.09);
}

#[test]
fn sheets_that_meet_keep_their_momentum_and_their_order() {
    let on = simd();
    let mut stage = crash::<f64>([1.0, -3.0], 1e-3);
    let mut solver = precise();
    solver.prepare(&stage.model).expect("valid options");
    let (before, _) = momentum(&stage);
    let start = stage.particles.v.clone();
    for step in 0..20 {
        let report = stage.step(&mut *solver, &on);
        println!("step {step}: {} iterations, converged {}", report.iterations, report.converged);
        assert_eq!(stage.intersections(), 0);
    }
    let (after, [lower, upper]) = momentum(&stage);
    println!("{before:?}, then {after:?}");
    assert_ne!(stage.particles.v, start, "they met");
    for k in 0..3 {
        assert!((after[k] - before[k]).abs() < 1e-7 * before[1].abs(), "{before:?}, then {after:?}");
    }
    assert!(lower < upper, "the lower sheet stays below: {lower} and {upper}");
}

/// Free fall, for looking at what a guard alone does.
struct Fall;

impl Solver<AnyBackend<f64>> for Fall {
    fn name(&self) -> &'static str {
        "fall"
    }
    fn prepare(&mut self, _: &Model<f64>) -> Result<(), BuildError> {
        Ok(())
    }
    fn step(
        &mut self,
        model: &Model<f64>,
        state: &mut Particles<f64>,
        dt: f64,
        _: &AnyBackend<f64>,
    ) -> Result<StepReport, StepError> {
        for i in (0..state.len()).filter(|&i| model.inv_mass()[i] > 0.0) {
            let v: [f64; 3] = core::array::from_fn(|k| state.v.get(i)[k] + dt * model.environment.gravity[k]);
            state.v.set(i, v);
            state.x.set(i, core::array::from_fn(|k| state.x.get(i)[k] + dt * v[k]));
        }
        Ok(StepReport::default())
    }
}

/// A small sheet on a large one of so many vertices along each side that is held, pushed sideways with 1 m/s.
fn sledge(side: f64, n: usize, friction: f64) -> Stage<f64> {
    let settings = SelfContact { friction, ..contact(0.02) };
    let sheet = |side: f64, n: usize| {
        soft(Body::cloth(&ClothGrid::square(side, n)).expect("a grid").with_self_contact(settings), 1e-3)
    };
    let table = sheet(side, n).pinned(0..(n * n) as u32);
    let sheet = sheet(0.3, 4).with_mass(0.1).translated([0.21, 0.0165, side - 0.77]);
    Stage::new(&[table, sheet.with_velocities([[1.0, 0.0, 0.0]; 16])], &[], |at, _| at)
}

/// The mean velocity of the small sheet.
fn speed(stage: &Stage<f64>, axis: usize) -> f64 {
    let count = stage.particles.len();
    (count - 16..count).map(|i| stage.particles.v.get(i)[axis]).sum::<f64>() / 16.0
}

/// On a table of two triangles all pairs press straight up: Coulomb's law holds to what iterations leave. On one of many triangles
/// edges and corners hold the sheet a little and push it on again, differently for every friction. There minima lie at kinks too, where
/// edges are parallel: neither method may take those for a lack of iterations, for friction would keep the loads a step begins with.
#[test]
fn friction_slows_a_sheet_that_slides_by_coulombs_law() {
    let on = simd();
    type Make = fn() -> Boxed<f64>;
    let methods: [(&str, Make); 2] = [
        // More digits than this there are none at kinks.
        ("newton", || newton(100)),
        ("guard", || f64::guarded(IntersectionFree::new(Box::new(Fall), Guard::default()))),
    ];
    for (name, make) in methods {
        for (side, n, askew) in [(4.0, 2, 0.0), (1.2, 5, 1.0)] {
            for friction in [0.0, 0.1, 0.3] {
                let mut stage = sledge(side, n, friction);
                let mut solver = make();
                solver.prepare(&stage.model).expect("valid options");
                (0..12).for_each(|_| _ = stage.step(&mut *solver, &on));
                let lost = 1.0 - speed(&stage, 0);
                // μ times what pressed the sheets together: its weight, and what made it rise.
                let expected = friction * (9.81 * 12.0 * FRAME + speed(&stage, 1));
                println!("{name}, {n} × {n}, friction {friction}: {lost:.5} m/s lost against {expected:.5}");
                let most = 1e-4 + 0.005 * expected + askew * if friction > 0.0 { 0.008 } else { 0.018 };
                assert!((lost - expected).abs() < most, "{name}, {n} × {n}, {friction}: {lost} against {expected}");
            }
        }
    }
}

#[test]
fn options_and_models_that_cannot_be_are_refused() {
    let stage = crash::<f64>([1.0, -3.0], 1e-3);
    for barrier in [
        SurfaceBarrier { reach: 0.0, ..SurfaceBarrier::default() },
        SurfaceBarrier { reach: 1.5, ..SurfaceBarrier::default() },
        SurfaceBarrier { stiffness: f64::NAN, ..SurfaceBarrier::default() },
    ] {
        let mut solver = f64::newton(Newton::default().with_barrier(barrier));
        let prepared = solver.prepare(&stage.model);
        assert!(matches!(prepared, Err(BuildError::BadOption { .. })), "{barrier:?}");
    }
    let flat = Body::cloth(&ClothGrid::square(0.5, 4)).expect("a grid").with_self_contact(contact(0.01));
    let flat = soft(flat, 1e-3);
    let upright = flat.clone().posed(|[x, _, z]| [x, z - 0.25, 0.21]);
    let mut stage = Stage::<f64>::new(&[flat, upright], &[], |at, _| at);
    let mut solver = newton(10);
    solver.prepare(&stage.model).expect("valid options");
    let before = stage.particles.clone();
    let refused = solver.step(&stage.model, &mut stage.particles, 0.01, &simd());
    assert!(matches!(refused, Err(StepError::Intersecting { .. })), "{refused:?}");
    assert_eq!(stage.particles, before, "nothing has changed");
}
