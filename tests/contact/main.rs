//! Surfaces among themselves: in real time, and with the promise that nothing ever passes through anything.
#![cfg(all(feature = "simd", feature = "parallel", feature = "xpbd-colored", feature = "collision"))]

mod far;
mod groups;
mod held;
mod seams;
#[path = "../stage/mod.rs"]
mod stage;
mod stages;
#[cfg(feature = "newton")]
mod torn;

use pliant::backends::AnyBackend;
use pliant::prelude::*;
#[cfg(feature = "newton")]
use pliant::{ContactWatch, Newton, NewtonOptions, SurfaceBarrier};
use pliant_harness::instances::{Boxed, Instances};
use stage::{Stage, contact, crash, momentum, soft, stack, stay, twist};
use stages::{run, run_blind, xpbd};

const GUARDS: [Guard; 3] = [
    Guard::InteriorPoint(InteriorPoint { reach: 1.0, stiffness: 1.0, iterations: 20, tolerance: 0.01 }),
    Guard::Truncation { passes: 3 },
    Guard::ImpactZones { rounds: 12 },
];

#[test]
fn twisted_cloth_never_passes_through_itself_behind_a_guard() {
    for guard in GUARDS {
        let (counts, missed) = run(&mut twist::<f32>(8, 1.0), Some(guard), 90);
        println!("twist, {guard:?}: farthest miss {missed:.4} m");
        assert!(counts.iter().all(|&c| c == 0), "{guard:?}: {counts:?}");
    }
}

#[test]
fn a_stack_of_ten_layers_stays_apart_behind_a_guard() {
    for guard in GUARDS {
        let (counts, missed) = run(&mut stack::<f32>(10, 6, 0.0), Some(guard), 60);
        println!("stack, {guard:?}: farthest miss {missed:.4} m");
        assert!(counts.iter().all(|&c| c == 0), "{guard:?}: {counts:?}");
    }
}

/// The cheap mode promises nothing; what it leaves is told, and compared with no contact at all.
#[test]
fn in_real_time_fewer_intersections_remain_than_without_contact() {
    let sum = |name: &str, counts: &[usize]| {
        let steps = counts.iter().filter(|&&c| c > 0).count();
        let most = counts.iter().max().copied().unwrap_or_default();
        println!("{name}: {steps} of {} steps with intersections, at most {most}", counts.len());
        counts.iter().sum::<usize>()
    };
    for (name, stage, steps) in [
        ("twist", (|| twist::<f32>(8, 1.0)) as fn() -> Stage<f32>, 150),
        ("stack", || stack::<f32>(10, 8, 0.0), 90),
        ("two sheets", || stack::<f32>(2, 12, 0.0), 90),
    ] {
        let with = sum(&format!("{name} in real time"), &run(&mut stage(), None, steps).0);
        let without = sum(&format!("{name} without contact"), &run_blind(stage(), steps));
        assert!(without > 0 && with < without / 2, "{name}: {with} against {without}");
    }
}

#[test]
fn sheets_that_meet_keep_their_momentum_and_their_order() {
    let on = AnyBackend::<f64>::by_name("scalar", None).expect("built");
    let solvers: [(&str, Boxed<f64>); 3] = [
        ("xpbd", xpbd::<f64>()),
        ("pbd", f64::pbd(Pbd::new(PbdOptions { substeps: 4, iterations: 3, ..PbdOptions::default() }))),
        ("behind a barrier", f64::guarded(IntersectionFree::new(xpbd::<f64>(), Guard::default()))),
    ];
    for (name, mut solver) in solvers {
        let mut stage = crash::<f64>([1.0, -0.5], 0.0);
        solver.prepare(&stage.model).expect("valid options");
        let (before, _) = momentum(&stage);
        let start = stage.particles.v.clone();
        (0..30).for_each(|_| _ = stage.step(&mut *solver, &on));
        let (after, [lower, upper]) = momentum(&stage);
        assert_ne!(stage.particles.v, start, "{name}: they met");
        // The barrier stops at its tolerance; constraints are exact to rounding.
        let tolerance = if name == "behind a barrier" { 0.02 } else { 1e-9 };
        for k in 0..3 {
            assert!((after[k] - before[k]).abs() < tolerance * before[1].abs(), "{name}: {before:?}, then {after:?}");
        }
        assert!(lower < upper, "{name}: the lower sheet stays below, {lower} and {upper}");
    }
}

#[test]
fn explicit_and_elastic_methods_keep_surfaces_apart_too() {
    let on = AnyBackend::<f32>::by_name("simd", None).expect("built");
    let mut stage = crash::<f32>([1.0, -0.5], 0.0);
    let bodies: Vec<Body> = stage.bodies.iter().map(|body| soft(body.clone(), 1e-2)).collect();
    let environment = stage.model.environment.clone();
    stage = Stage::new(&bodies, &[], stay);
    stage.model.environment = environment;
    let mut solver = f32::symplectic(Symplectic::new(20));
    solver.prepare(&stage.model).expect("valid options");
    (0..30).for_each(|_| _ = stage.step(&mut *solver, &on));
    let (_, [lower, upper]) = momentum(&stage);
    assert!(lower < upper, "the lower sheet stays below: {lower} and {upper}");
}

/// Layers that push each other apart right above a floor: in an explicit method, too, nobody ends inside of it.
#[test]
fn colliders_have_the_last_word_over_layers_in_explicit_methods() {
    let on = AnyBackend::<f32>::by_name("simd", None).expect("built");
    let sheet = |y: f64| {
        let sheet = Body::cloth(&ClothGrid::square(0.4, 6)).expect("a grid").with_mass(0.1);
        soft(sheet.with_self_contact(contact(0.02)), 1e-2).translated([0.03 * y, y, 0.02 * y])
    };
    let floor = Collider::plane([0.0, 1.0, 0.0]).with_friction(0.3);
    let mut stage = Stage::<f32>::new(&[sheet(0.001), sheet(0.006)], &[floor], stay);
    let mut solver = f32::symplectic(Symplectic::new(20));
    solver.prepare(&stage.model).expect("valid options");
    let mut pressed = 0;
    for step in 0..30 {
        stage.step(&mut *solver, &on);
        for i in 0..stage.particles.len() {
            let (y, v) = (stage.particles.x.y[i], stage.particles.v.y[i]);
            assert!(y > -1e-6, "step {step}: particle {i} is {} m inside the floor", -y);
            assert!(v.abs() < 3.0, "step {step}: particle {i} is thrown at {v} m/s");
            pressed += usize::from(i < 36 && y < 1e-6);
        }
    }
    assert!(pressed > 36, "the lower sheet is pressed to the floor");
    let (_, [lower, upper]) = momentum(&stage);
    assert!(upper > lower + 0.01, "the layers came apart: {lower} and {upper}");
}

#[test]
fn intersections_of_a_world_are_told_by_body_and_vertex() {
    let flat = Body::cloth(&ClothGrid::square(0.5, 4)).expect("a grid").with_self_contact(contact(0.01));
    let upright = flat.clone().posed(|[x, _, z]| [x, z - 0.25, 0.21]);
    let mut world = World::new();
    let loose = world.add(Body::particles([[5.0; 3]])).expect("a particle");
    let flat = world.add(flat).expect("a sheet");
    assert_eq!((world.intersections().expect("finite"), world.warnings()), (Vec::new(), &[][..]));
    let upright = world.add(upright).expect("a sheet");
    let found = world.intersections().expect("finite");
    let stage = {
        let bodies: Vec<Body> = [flat, upright].map(|id| world.body(id).expect("there").clone()).to_vec();
        Stage::<f32>::new(&bodies, &[], stay)
    };
    assert!(!found.is_empty() && found.len() == stage.intersections(), "{found:?}");
    for pair in &found {
        assert!(pair.edge_body != pair.triangle_body && ![pair.edge_body, pair.triangle_body].contains(&loose));
        let at = |id: BodyId, vertex: u32| world.positions(id).expect("there").get(vertex as usize);
        // The upright sheet stands in z = 0.21, the flat one lies in y = 0: they meet where both do.
        let (edge, triangle) =
            (pair.edge.map(|v| at(pair.edge_body, v)), pair.triangle.map(|v| at(pair.triangle_body, v)));
        let axis = if pair.edge_body == upright { 1 } else { 2 };
        let level = if axis == 1 { 0.0 } else { 0.21 };
        assert!((edge[0][axis] - level) * (edge[1][axis] - level) <= 0.0, "{pair:?} at {edge:?}");
        assert!(triangle.iter().all(|p| (p[axis] - level).abs() < 1e-6), "{pair:?} at {triangle:?}");
    }
}

/// A flat sheet whose neighbours are closer than the thickness stays as it is.
#[test]
fn neighbours_closer_than_the_thickness_at_rest_do_not_push() {
    for guard in [None, Some(GUARDS[0])] {
        let sheet = Body::cloth(&ClothGrid::square(0.1, 12)).expect("a grid").with_self_contact(contact(0.03));
        let mut stage = Stage::<f64>::new(&[sheet], &[], stay);
        stage.model.environment.gravity = [0.0; 3];
        run(&mut stage, guard, 20);
        for (i, rest) in stage.rest.iter().enumerate() {
            let at = stage.particles.x.get(i);
            assert!((0..3).all(|k| (at[k] - rest[k]).abs() < 1e-9), "particle {i} went from {rest:?} to {at:?}");
        }
    }
}

#[test]
fn groups_that_do_not_touch_pass_through_each_other() {
    let lonely = SelfContact { groups: Groups { member: 1, touches: 2 }, ..contact(0.01) };
    let mut stage = crash::<f64>([1.0, -0.5], 0.0);
    let bodies: Vec<Body> = stage.bodies.iter().map(|b| b.clone().with_self_contact(lonely)).collect();
    stage = Stage::new(&bodies, &[], stay);
    stage.model.environment.gravity = [0.0; 3];
    run(&mut stage, None, 30);
    let (_, [lower, upper]) = momentum(&stage);
    assert!(lower > upper, "they went through: {lower} and {upper}");
}

#[test]
fn every_backend_gives_the_same_bits() {
    let mut backends = vec![("scalar", None), ("simd", None), ("simd-portable", None)];
    backends.extend([1, 2, 5].map(|threads| ("parallel", Some(threads))));
    for guard in [None].into_iter().chain(GUARDS.map(Some)) {
        let mut hashes = Vec::new();
        for &(name, threads) in &backends {
            let on = AnyBackend::<f32>::by_name(name, threads).expect("built");
            let mut solver = match guard {
                None => xpbd::<f32>(),
                Some(guard) => f32::guarded(IntersectionFree::new(xpbd::<f32>(), guard)),
            };
            let mut stage = stack::<f32>(3, 10, 0.0);
            solver.prepare(&stage.model).expect("valid options");
            (0..20).for_each(|_| _ = stage.step(&mut *solver, &on));
            hashes.push(stage.particles.state_hash());
        }
        assert!(hashes.iter().all(|h| *h == hashes[0]), "{guard:?}: {hashes:x?}");
    }
}

/// More vertices than a task of the search takes, and than a chunk of sums: threads really share the work.
#[test]
fn large_surfaces_give_the_same_bits_on_any_number_of_threads() {
    let scene = || stack::<f32>(2, 30, 0.0);
    let hash = |mut stage: Stage<f32>, name: &str, threads: Option<usize>| {
        let on = AnyBackend::<f32>::by_name(name, threads).expect("built");
        let mut solver = xpbd::<f32>();
        solver.prepare(&stage.model).expect("valid options");
        (0..24).for_each(|_| _ = stage.step(&mut *solver, &on));
        stage.particles.state_hash()
    };
    assert!(scene().model.surfaces().particles.len() > 1024);
    let first = hash(scene(), "scalar", None);
    for threads in [1, 2, 5] {
        assert_eq!(hash(scene(), "parallel", Some(threads)), first, "{threads} threads");
    }
    let nobody = SelfContact { groups: Groups { member: 1, touches: 0 }, ..contact(0.008) };
    let alone: Vec<Body> = scene().bodies.iter().map(|body| body.clone().with_self_contact(nobody)).collect();
    let alone = Stage::new(&alone, &scene().colliders, stay);
    assert_ne!(hash(alone, "scalar", None), first, "layers did meet");
}

/// The same for Newton's method under a barrier, and for the contacts that are told afterwards.
#[cfg(feature = "newton")]
#[test]
fn every_backend_tells_the_same_contacts() {
    let mut backends = vec![("scalar", None), ("simd", None), ("simd-portable", None)];
    backends.extend([1, 2, 5].map(|threads| ("parallel", Some(threads))));
    let bodies = |stage: Stage<f32>| stage.bodies.iter().map(|body| soft(body.clone(), 1e-3)).collect::<Vec<_>>();
    let newton = || {
        let options = NewtonOptions { iterations: 6, ..NewtonOptions::default() };
        f32::newton(Newton::new(options).with_barrier(SurfaceBarrier::default()))
    };
    for (name, make) in [("xpbd", xpbd::<f32> as fn() -> Boxed<f32>), ("newton", newton)] {
        let mut told = Vec::new();
        for &(backend, threads) in &backends {
            let on = AnyBackend::<f32>::by_name(backend, threads).expect("built");
            let stack = stack::<f32>(3, 8, 0.0);
            let colliders = stack.colliders.clone();
            let mut stage = Stage::<f32>::new(&bodies(stack), &colliders, stay);
            let mut solver = make();
            solver.prepare(&stage.model).expect("valid options");
            let mut watch = ContactWatch::new(1e-3);
            let mut events = Vec::new();
            for _ in 0..16 {
                solver.account().expect("an account").open = true;
                stage.step(&mut *solver, &on);
                let account = solver.account();
                watch.update(&stage.model, &stage.particles, account.as_deref(), 1.0 / 60.0, &on).expect("finite");
                events.extend_from_slice(watch.events());
            }
            told.push((stage.particles.state_hash(), events));
        }
        assert!(told[0].1.iter().any(|e| matches!(e.pair, ContactPair::Collider { .. })), "{name}");
        assert!(told[0].1.iter().any(|e| matches!(e.pair, ContactPair::VertexTriangle { .. })), "{name}");
        assert!(told[0].1.iter().any(|e| e.impulse > 0.0 && e.phase == ContactPhase::Persist), "{name}");
        assert!(told.iter().all(|t| *t == told[0]), "{name}");
    }
}

#[test]
fn a_start_state_that_intersects_is_refused_with_a_pair() {
    let flat = Body::cloth(&ClothGrid::square(0.5, 4)).expect("a grid").with_self_contact(contact(0.01));
    let upright = flat.clone().posed(|[x, _, z]| [x, z - 0.25, 0.21]);
    let mut stage = Stage::<f32>::new(&[flat, upright], &[], stay);
    let mut solver = f32::guarded(IntersectionFree::new(xpbd::<f32>(), Guard::default()));
    let on = AnyBackend::<f32>::by_name("simd", None).expect("built");
    solver.prepare(&stage.model).expect("valid options");
    let before = stage.particles.clone();
    match solver.step(&stage.model, &mut stage.particles, 0.01, &on) {
        Err(StepError::Intersecting { edge, triangle, count }) => {
            assert!(count > 0 && count == stage.intersections());
            assert!(edge.iter().all(|e| !triangle.contains(e)), "{edge:?} and {triangle:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(stage.particles, before, "nothing has changed");
}

#[test]
fn options_that_cannot_be_are_refused() {
    let build = |contact: SelfContact| {
        let body = Body::cloth(&ClothGrid::square(0.5, 4)).expect("a grid").with_self_contact(contact);
        Model::<f32>::build(&[&body]).map(|_| ())
    };
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(build(contact(bad)), Err(BuildError::BadOption { .. })), "thickness {bad}");
    }
    assert!(build(SelfContact { friction: -0.1, ..contact(0.01) }).is_err());
    assert!(build(SelfContact { recovery: f64::NAN, ..contact(0.01) }).is_err());
    assert_eq!(build(contact(0.01)), Ok(()));
    let (model, _) = Model::<f32>::build(&[&Body::particles([[0.0; 3]])]).expect("a particle");
    for guard in [
        Guard::Truncation { passes: 0 },
        Guard::InteriorPoint(InteriorPoint { reach: 0.0, ..InteriorPoint::default() }),
        Guard::InteriorPoint(InteriorPoint { iterations: 0, ..InteriorPoint::default() }),
        Guard::InteriorPoint(InteriorPoint { tolerance: f64::NAN, ..InteriorPoint::default() }),
    ] {
        let prepared = f32::guarded(IntersectionFree::new(xpbd::<f32>(), guard)).prepare(&model);
        assert!(matches!(prepared, Err(BuildError::BadOption { .. })), "{guard:?}");
    }
}
