//! Bit parity: every backend, lane width and thread count computes the bits of the scalar backend.
//!
//! Positions, velocities and multipliers are compared with `==` on their bits, for every solver, every constraint kind,
//! both memory layouts and both precisions.

use std::sync::Arc;

use pliant::backends::{AnyBackend, Parallel};
use pliant::core::backend::Backend;
use pliant::core::lane::Real;
use pliant::core::schedule::LayoutChoice;
use pliant::core::solver::Solver;
use pliant::solvers::{XpbdOn, XpbdOptions};
use pliant_harness::instances::Instances;

use crate::scenes::{Method, Scene, Stage, giants, zoo};

/// The scalar backend, and every backend that must agree with it.
///
/// Picked at run time: one instance of every solver serves all of them, which keeps this crate quick to build.
struct Crew<S: Instances> {
    scalar: AnyBackend<S>,
    others: Vec<AnyBackend<S>>,
}

impl<S: Instances> Crew<S> {
    fn new() -> Self {
        let pick = |name, threads| AnyBackend::by_name(name, threads).expect("built with default features");
        let mut others = vec![pick("simd", None), pick("simd-portable", None)];
        others.extend([1, 2, 3, 5, 8].map(|threads| pick("parallel", Some(threads))));
        assert_eq!(others.iter().map(Backend::threads).collect::<Vec<_>>(), [1, 1, 1, 2, 3, 5, 8]);
        assert_eq!(others[1].isa(), "wide");
        Self { scalar: pick("scalar", None), others }
    }
}

/// All bits of a run's result.
#[derive(PartialEq)]
struct Outcome {
    positions: Vec<u64>,
    velocities: Vec<u64>,
    multipliers: Vec<(&'static str, Vec<u64>)>,
    travel: f64,
    parts: usize,
}

fn bits<S: Real>(columns: [&[S]; 3]) -> Vec<u64> {
    columns.into_iter().flatten().map(|v| v.bits()).collect()
}

fn outcome<S: Instances>(stage: &Stage<S>, method: Method, steps: usize, on: &AnyBackend<S>) -> Outcome {
    outcome_of(stage.clone(), method.solver(), method.time_step(), steps, on)
}

fn outcome_of<B: Backend>(
    mut stage: Stage<B::Scalar>,
    mut solver: Box<dyn Solver<B>>,
    dt: f64,
    steps: usize,
    on: &B,
) -> Outcome {
    solver.prepare(&stage.model).unwrap_or_else(|error| panic!("{}, {}: {error}", stage.name, solver.name()));
    let start = stage.particles.x.clone();
    let dt = B::Scalar::from_f64(dt);
    let mut travel: f64 = 0.0;
    for _ in 0..steps {
        stage.advance(solver.as_mut(), dt, on);
        travel = travel.max(stage.travel(&start));
    }
    let forces = solver.forces(&stage.model);
    Outcome {
        positions: bits(stage.particles.x.axes()),
        velocities: bits(stage.particles.v.axes()),
        multipliers: forces.iter().map(|(kind, list)| (*kind, list.iter().map(|v| v.bits()).collect())).collect(),
        travel,
        parts: stage.model.plan().part_count(),
    }
}

/// Equal, or a message that says where the first difference is.
fn assert_same(scene: &Scene, method: Method, layout: LayoutChoice, who: &str, expected: &Outcome, found: &Outcome) {
    let at = |a: &[u64], b: &[u64]| a.iter().zip(b).position(|(a, b)| a != b);
    let case = format!("{}, {method:?}, {layout:?}, {who}", scene.name);
    let count = expected.positions.len() / 3;
    if let Some(i) = at(&expected.positions, &found.positions) {
        panic!("{case}: axis {} of position {} differs", i / count, i % count);
    }
    if let Some(i) = at(&expected.velocities, &found.velocities) {
        panic!("{case}: axis {} of velocity {} differs", i / count, i % count);
    }
    for ((kind, a), (_, b)) in expected.multipliers.iter().zip(&found.multipliers) {
        assert_eq!(at(a, b), None, "{case}: a multiplier of kind {kind} differs");
    }
    assert!(expected == found, "{case}: lists of different lengths");
}

/// The scalar outcome is worth comparing: things moved, and every kind of constraint has pulled on something.
fn assert_lively(scene: &Scene, method: Method, outcome: &Outcome) {
    assert!(outcome.travel > 1e-3, "{}, {method:?}: nothing moved farther than {} m", scene.name, outcome.travel);
    let lists: Vec<_> = outcome.multipliers.iter().filter(|(_, list)| !list.is_empty()).collect();
    for (kind, list) in &lists {
        // ±0 in either precision.
        let pulls = list.iter().filter(|&&v| v << 1 != 0 && v != 1 << 31).count();
        assert!(pulls > 0, "{}: no {kind} constraint ever pulls", scene.name);
    }
    assert_eq!(matches!(method, Method::Xpbd { .. }), !lists.is_empty(), "{}: multipliers of {method:?}", scene.name);
}

fn compare<S: Instances>(scene: &Scene, method: Method, layout: LayoutChoice, steps: usize, crew: &Crew<S>) -> Outcome {
    let stage = scene.stage::<S>(layout);
    let expected = outcome(&stage, method, steps, &crew.scalar);
    assert_lively(scene, method, &expected);
    for on in &crew.others {
        let who = format!("{} of {}, {} threads", on.name(), on.isa(), on.threads());
        assert_same(scene, method, layout, &who, &expected, &outcome(&stage, method, steps, on));
    }
    expected
}

const STEPS: usize = 200;

/// 200 steps of every scene of the zoo that the method carries, in both layouts.
fn zoo_agrees<S: Instances>(methods: &[Method]) {
    let crew = Crew::<S>::new();
    let mut ragged = 0;
    for scene in zoo() {
        for &method in methods.iter().filter(|method| method.carries(&scene)) {
            let first = compare(&scene, method, LayoutChoice::Auto, STEPS, &crew);
            ragged += usize::from(!(first.positions.len() / 3).is_multiple_of(8));
            let on_lattice = scene.stage::<S>(LayoutChoice::Auto).model.plan().layout()
                != scene.stage::<S>(LayoutChoice::Rows).model.plan().layout();
            if on_lattice {
                compare(&scene, method, LayoutChoice::Rows, STEPS, &crew);
            }
        }
    }
    assert!(ragged > 5 * methods.len(), "only {ragged} scenes have a particle count that is no multiple of a lane");
}

const XPBD_SMALL_STEPS: Method = Method::Xpbd { substeps: 3, iterations: 1 };
const XPBD_ITERATED: Method = Method::Xpbd { substeps: 1, iterations: 4 };
const XPBD_BOTH: Method = Method::Xpbd { substeps: 2, iterations: 2 };
const PBD: Method = Method::Pbd { substeps: 1, iterations: 4, stiffness: 1.0 };
const PBD_SOFT: Method = Method::Pbd { substeps: 2, iterations: 2, stiffness: 0.7 };
const JACOBI: Method = Method::Jacobi { substeps: 2, iterations: 3 };
const SYMPLECTIC: Method = Method::Symplectic { substeps: 2 };

#[test]
fn xpbd_in_single_precision() {
    zoo_agrees::<f32>(&[Method::Xpbd { substeps: 1, iterations: 1 }, XPBD_SMALL_STEPS, XPBD_ITERATED]);
}

#[test]
fn xpbd_in_double_precision() {
    zoo_agrees::<f64>(&[XPBD_SMALL_STEPS, XPBD_BOTH]);
}

#[test]
fn pbd_by_gauss_seidel_and_jacobi() {
    zoo_agrees::<f32>(&[PBD, PBD_SOFT, JACOBI]);
    zoo_agrees::<f64>(&[PBD, JACOBI]);
}

#[test]
fn symplectic_euler() {
    zoo_agrees::<f32>(&[SYMPLECTIC]);
    zoo_agrees::<f64>(&[SYMPLECTIC]);
}

/// Scenes of several parts: here threads really run side by side.
fn giants_agree<S: Instances>(methods: &[(Method, usize)]) {
    let crew = Crew::<S>::new();
    for scene in giants() {
        for &(method, steps) in methods.iter().filter(|(method, _)| method.carries(&scene)) {
            let outcome = compare(&scene, method, LayoutChoice::Auto, steps, &crew);
            assert!(outcome.parts >= 3, "{} has only {} parts", scene.name, outcome.parts);
        }
    }
}

#[test]
fn several_parts_side_by_side_in_single_precision() {
    giants_agree::<f32>(&[(XPBD_BOTH, 8), (PBD, 6), (JACOBI, 6), (SYMPLECTIC, 30)]);
}

#[test]
fn several_parts_side_by_side_in_double_precision() {
    giants_agree::<f64>(&[(XPBD_SMALL_STEPS, 6)]);
}

#[test]
fn a_wide_curtain_for_two_hundred_steps_on_every_thread_count() {
    let (crew, wide) = (Crew::<f32>::new(), &giants()[0]);
    let outcome = compare(wide, Method::Xpbd { substeps: 1, iterations: 1 }, LayoutChoice::Auto, STEPS, &crew);
    assert!(outcome.parts >= 3, "{} parts", outcome.parts);
}

/// The threads of an application's rayon pool instead of our own. (`AnyBackend` stands for every other backend type: all
/// are one type with different units.)
#[test]
fn a_rayon_pool_computes_the_same_bits() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("three threads");
    let on_rayon = AnyBackend::from(Parallel::<f32>::on_rayon(Arc::new(pool)));
    let alone = AnyBackend::from(Parallel::<f32>::with_threads(1));
    let xpbd = || f32::xpbd(XpbdOn::new(XpbdOptions { substeps: 2, iterations: 2 }));
    let scenes = zoo().into_iter().map(|scene| (scene, 40)).chain(giants().into_iter().map(|scene| (scene, 4)));
    for (scene, steps) in scenes {
        let stage = scene.stage::<f32>(LayoutChoice::Auto);
        let run = |on| outcome_of(stage.clone(), xpbd(), XPBD_BOTH.time_step(), steps, on);
        let expected = run(&alone);
        assert_same(&scene, XPBD_BOTH, LayoutChoice::Auto, "rayon", &expected, &run(&on_rayon));
    }
}

#[test]
fn the_same_run_twice_gives_the_same_bits() {
    let (crew, scene) = (Crew::<f32>::new(), &giants()[1]);
    let three_threads = &crew.others[4];
    let stage = scene.stage::<f32>(LayoutChoice::Auto);
    let run = || outcome(&stage, XPBD_SMALL_STEPS, 5, three_threads);
    let first = run();
    for _ in 0..3 {
        assert_same(scene, XPBD_SMALL_STEPS, LayoutChoice::Auto, "again", &first, &run());
    }
}
