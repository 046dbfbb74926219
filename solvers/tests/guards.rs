//! Surfaces behind guards: no state that is accepted ever passes through itself, and the guards say how near they came.
#![cfg(all(feature = "collision", feature = "xpbd-colored"))]

mod stage;

use pliant_backends::Scalar;
use pliant_core::solver::Solver;
use pliant_solvers::{Colored, Guard, GuardOutcome, InteriorPoint, IntersectionFree, XpbdOn};
use stage::{Stage, crash, momentum, stack, twist};

fn guards() -> [Guard; 3] {
    let interior = Guard::InteriorPoint(InteriorPoint::default());
    [interior, Guard::Truncation { passes: 3 }, Guard::ImpactZones { rounds: 12 }]
}

fn guarded(guard: Guard) -> IntersectionFree<XpbdOn<Colored, f32>, f32> {
    IntersectionFree::new(XpbdOn::with_substeps(10), guard)
}

fn run(name: &str, stage: &mut Stage<f32>, guard: Guard, steps: usize) {
    let on = Scalar::<f32>::new();
    let mut solver = guarded(guard);
    Solver::<Scalar<f32>>::prepare(&mut solver, &stage.model).expect("valid options");
    let (mut missed, mut held, mut short) = (0.0_f64, 0, 0);
    for step in 0..steps {
        stage.step(&mut solver, &on);
        missed = missed.max(solver.remaining());
        match solver.outcome() {
            GuardOutcome::Met => {}
            GuardOutcome::Held { vertices, .. } => held += vertices,
            _ => short += 1,
        }
        let found = stage.intersections();
        assert_eq!(found, 0, "{name}, {guard:?}: {found} intersections after step {step}");
    }
    println!("{name}, {guard:?}: farthest miss {missed:.4} m, {short} steps cut short, {held} vertices held");
}

#[test]
fn cloth_twisted_ten_times_never_passes_through_itself() {
    for guard in guards() {
        run("ten turns", &mut twist(6, 10.0), guard, 150);
    }
}

#[test]
fn ten_layers_stay_apart() {
    for guard in guards() {
        run("ten layers", &mut stack(10, 8), guard, 90);
    }
}

#[test]
fn impact_zones_keep_momentum_and_order() {
    let on = Scalar::<f32>::new();
    let mut solver = guarded(Guard::ImpactZones { rounds: 12 });
    let mut stage = crash();
    Solver::<Scalar<f32>>::prepare(&mut solver, &stage.model).expect("valid options");
    let (before, _) = momentum(&stage);
    let start = stage.particles.v.clone();
    for _ in 0..30 {
        stage.step(&mut solver, &on);
        assert_eq!((solver.outcome(), stage.intersections()), (GuardOutcome::Met, 0));
    }
    let (after, [lower, upper]) = momentum(&stage);
    assert_ne!(stage.particles.v, start, "they met");
    for k in 0..3 {
        assert!((after[k] - before[k]).abs() < 1e-4 * before[1].abs(), "{before:?}, then {after:?}");
    }
    assert!(lower < upper, "the lower sheet stays below: {lower} and {upper}");
}
