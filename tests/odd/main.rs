//! Odd input on every solver: each case of the table ends in a typed error that changes nothing, or in finite numbers.
//!
//! A [`Case`] prepares a world, does something odd to it and lets it run; [`endure`] watches. Tables are made of small lists:
//! bodies × what may be odd about a body (`bodies.rs`), and what may be odd about the world around them (`around.rs`). Random scenes
//! of several bodies with several changes each are in `random.rs`.
#![cfg(feature = "full")]
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod around;
mod bodies;
mod random;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pliant::prelude::*;
use pliant::{Acceleration, Iteration, Projective, ProjectiveOptions};
use pliant_harness::instances::{Boxed, Instances};
use pliant_harness::solvers::{Number, SOLVERS, Work};

/// Something done to a world.
type Act = Box<dyn Fn(&mut World) -> Result<(), Error> + Sync>;

/// A row of the table.
pub struct Case {
    /// What is odd.
    name: String,
    /// What is there before.
    prepare: Act,
    /// The odd thing.
    odd: Act,
    /// Time step afterwards \[s\].
    dt: f32,
}

impl Case {
    /// Something odd in a world that is empty but for the bystander.
    pub fn new(name: impl Into<String>, odd: impl Fn(&mut World) -> Result<(), Error> + Sync + 'static) -> Self {
        Self { name: name.into(), prepare: Box::new(|_| Ok(())), odd: Box::new(odd), dt: 1.0 / 60.0 }
    }
    /// The same after something else was done.
    pub fn after(self, prepare: impl Fn(&mut World) -> Result<(), Error> + Sync + 'static) -> Self {
        Self { prepare: Box::new(prepare), ..self }
    }
    /// The same with another time step.
    pub fn at(self, dt: f32) -> Self {
        Self { dt, ..self }
    }
}

/// Every method, ready to be prepared.
fn methods() -> Vec<(&'static str, Boxed<f32>)> {
    let work = Work { substeps: 2, iterations: 2 };
    let of_table = SOLVERS.iter().filter(|entry| entry.uses_backend && !entry.bodies_alone);
    let mut methods: Vec<_> = of_table.map(|entry| (entry.name, f32::solver(entry, work))).collect();
    let iteration = Iteration::Jacobi { relaxation: 1.0 };
    methods.push(("jacobi", f32::pbd(Pbd::new(PbdOptions { iteration, ..PbdOptions::default() }))));
    for (name, acceleration) in [
        ("projective, plain", Acceleration::None),
        ("projective, Chebyshev", Acceleration::Chebyshev),
        ("projective, Anderson", Acceleration::Anderson(4)),
    ] {
        let options = ProjectiveOptions { iterations: 4, acceleration, ..ProjectiveOptions::default() };
        methods.push((name, f32::projective(Projective::new(options))));
    }
    methods
}

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// The method does not carry what the case is about, and says so.
    Unsupported,
    /// A typed error, and nothing changed.
    Refused,
    /// A step could not be taken, and nothing changed.
    Failed,
    /// Finite numbers.
    Finite,
}

/// Everything of a world that an error must leave alone.
fn state(world: &World) -> (Snapshot, usize, usize, usize) {
    let (bodies, rigid) = (world.bodies().len(), world.rigid_ids().len());
    (world.snapshot(), bodies, rigid, world.model().colliders().len())
}

fn finite(world: &World) -> bool {
    let (particles, rigid) = (world.particles(), world.rigid_bodies());
    let columns = [&particles.x, &particles.v, &rigid.x, &rigid.v, &rigid.omega];
    columns.iter().all(|column| column.first_non_finite().is_none())
        && world.constraint_forces().iter().all(|(_, forces)| forces.iter().all(|force| force.is_finite()))
}

/// Lets a world with this solver live through a case.
fn endure(case: &Case, solver: Boxed<f32>, backend: &str) -> Result<End, String> {
    let mut world = World::on(Best::by_name(backend, Some(2)).unwrap());
    world.set_solver(solver).map_err(|error| format!("an empty world is refused: {error}"))?;
    // Somebody who has nothing to do with it.
    let bystander = world.add(Body::particles([[5.0, 5.0, 5.0], [5.5, 5.0, 5.0]])).unwrap();
    match (case.prepare)(&mut world) {
        Ok(()) => {}
        Err(Error::Build(BuildError::Unsupported { .. })) => return Ok(End::Unsupported),
        Err(error) => return Err(format!("what is there before is refused: {error}")),
    }
    let before = state(&world);
    if let Err(error) = (case.odd)(&mut world) {
        if state(&world) != before {
            return Err(format!("refused ({error}), and yet something changed"));
        }
        // Life goes on.
        world.step(1e-4).map_err(|next| format!("after a refusal ({error}) nothing works any more: {next}"))?;
        let unsupported = matches!(error, Error::Build(BuildError::Unsupported { .. }));
        return Ok(if unsupported { End::Unsupported } else { End::Refused });
    }
    for step in 0..3 {
        let before = state(&world);
        match world.step(case.dt) {
            Ok(_) if !finite(&world) => return Err(format!("step {step} left numbers that are not finite")),
            Ok(_) => {}
            Err(StepError::NotTorn(_)) => {}
            Err(error) if state(&world) != before => return Err(format!("{error}, and yet something changed")),
            Err(_) => return Ok(End::Failed),
        }
    }
    world.positions(bystander).map_err(|error| error.to_string())?;
    Ok(End::Finite)
}

/// Runs a table on every solver, each case on one of the backends in turn; returns how many runs ended in which way.
fn run(cases: &[Case]) -> [usize; 4] {
    let backends = ["simd", "scalar", "simd-portable", "parallel"];
    let (mut ends, mut wrong, mut turn) = ([0; 4], Vec::new(), 0);
    for case in cases {
        for (name, solver) in methods() {
            turn += 1;
            // Now and then another backend than the quick one.
            let backend = if turn % 7 == 0 { backends[turn / 7 % 4] } else { "simd" };
            match catch_unwind(AssertUnwindSafe(|| endure(case, solver, backend))) {
                Ok(Ok(end)) => ends[end as usize] += 1,
                Ok(Err(problem)) => wrong.push(format!("{}, {name} on {backend}: {problem}", case.name)),
                Err(_) => wrong.push(format!("{}, {name} on {backend}: panicked", case.name)),
            }
        }
    }
    let [unsupported, refused, failed, finite] = ends;
    println!(
        "{} cases: {unsupported} unsupported, {refused} refused, {failed} failed steps, {finite} finite",
        cases.len()
    );
    assert!(wrong.is_empty(), "{} of {} runs:\n{}", wrong.len(), turn, wrong.join("\n"));
    ends
}

#[test]
fn odd_numbers_in_bodies() {
    let [unsupported, refused, failed, finite] = run(&bodies::numbers());
    assert!(unsupported > 0 && refused > 0 && failed > 0 && finite > 0);
}

#[test]
fn odd_shapes_and_rows_of_bodies() {
    let [_, refused, _, finite] = run(&bodies::shapes());
    assert!(refused > 0 && finite > 0);
}

#[test]
fn time_steps_from_a_microsecond_to_a_second_and_beyond() {
    let [_, _, failed, finite] = run(&bodies::time_steps());
    assert!(failed > 0 && finite > 0);
}

/// What no step makes unstable must be taken by methods that nothing makes unstable: a failed step would be as typed an error.
#[test]
fn pbd_and_xpbd_take_every_time_step_of_dust_and_ropes() {
    let mut taken = 0;
    for (what, dt) in bodies::TAKEN.into_iter().flat_map(|dt| ["dust", "rope"].map(|what| (what, dt))) {
        for (name, solver) in methods().into_iter().filter(|(name, _)| ["pbd", "xpbd-colored", "jacobi"].contains(name))
        {
            let (_, body) = bodies::all().into_iter().find(|(name, _)| *name == what).unwrap();
            let case = Case::new(what, |_| Ok(())).after(move |world| Ok(world.add(body.clone()).map(drop)?)).at(dt);
            assert_eq!(endure(&case, solver, "simd"), Ok(End::Finite), "{what}, {name}: a step of {dt} s");
            taken += 1;
        }
    }
    assert_eq!(taken, bodies::TAKEN.len() * 2 * 3);
}

#[test]
fn odd_worlds_around_bodies() {
    let [_, refused, failed, finite] = run(&around::cases());
    assert!(refused > 0 && failed > 0 && finite > 0);
}

#[test]
fn the_table_has_more_than_two_hundred_distinct_cases() {
    let tables = [bodies::numbers(), bodies::shapes(), bodies::time_steps(), around::cases()];
    let all: Vec<String> = tables.into_iter().flatten().map(|case| case.name).collect();
    let distinct: BTreeSet<&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len(), "every case has a name of its own");
    println!("{} cases on {} methods", all.len(), methods().len());
    assert!(all.len() >= 200, "{} cases", all.len());
}

/// A speed that overflows makes a step fail with NaN everywhere; once it is gone, the world goes on as one that never saw it.
#[test]
fn failed_steps_leave_no_trace_on_any_method_and_backend() {
    let (mut failures, mut wrong) = (0, Vec::new());
    for backend in ["scalar", "simd", "simd-portable", "parallel"] {
        for (name, body) in bodies::all() {
            for ((method, first), (_, second)) in methods().into_iter().zip(methods()) {
                let build = |solver| {
                    let mut world = World::on(Best::by_name(backend, Some(2)).unwrap());
                    world.set_solver(solver).unwrap();
                    world.add_collider(Collider::plane([0.0, 1.0, 0.0]).at([0.0, -0.4, 0.0])).unwrap();
                    let id = world.add(body.clone()).ok()?;
                    world.step(1e-3).ok()?;
                    Some((world, id))
                };
                let (Some((mut struck, id)), Some((mut calm, _))) = (build(first), build(second)) else { continue };
                let velocity = struck.velocities(id).unwrap().get(2);
                struck.set_velocity(id, 2, [0.0, 1e30, 0.0]).unwrap();
                failures += usize::from(struck.step(1e-3).is_err());
                struck.set_velocity(id, 2, velocity).unwrap();
                let same = (0..3).all(|_| {
                    let taken = (struck.step(1e-3).map(drop), calm.step(1e-3).map(drop));
                    taken.0 == taken.1 && struck.state_hash() == calm.state_hash()
                });
                if !same {
                    wrong.push(format!("{name}, {method} on {backend}"));
                }
            }
        }
    }
    assert!(failures > 100, "only {failures} steps failed");
    assert!(wrong.is_empty(), "{} worlds remember a step that failed:\n{}", wrong.len(), wrong.join("\n"));
}

/// A count that was meant for something else, such as −1 as an unsigned number, must not make a step that never ends.
#[test]
fn counts_that_no_step_comes_back_from_are_refused() {
    let body = Body::particles([[0.0; 3], [1.0, 0.0, 0.0]]);
    let (model, _) = Model::<f32>::build(&[&body]).unwrap();
    let swept = |substeps, iterations| f32::xpbd(XpbdOn::new(XpbdOptions { substeps, iterations }));
    let pbd = |substeps, iterations| f32::pbd(Pbd::new(PbdOptions { substeps, iterations, ..PbdOptions::default() }));
    let few = || swept(1, 1);
    let solvers = |most: usize| -> Vec<(&str, Boxed<f32>)> {
        vec![
            ("substeps", swept(most, 1)),
            ("iterations", swept(1, most)),
            ("substeps", pbd(most, 1)),
            ("iterations", pbd(1, most)),
            ("substeps", f32::schur(XpbdOn::new(XpbdOptions { substeps: most, iterations: 1 }))),
            ("substeps", f32::symplectic(Symplectic::new(most))),
            (
                "iterations",
                f32::projective(Projective::new(ProjectiveOptions { iterations: most, ..Default::default() })),
            ),
            ("iterations", f32::newton(Newton::new(NewtonOptions { iterations: most, ..Default::default() }))),
            (
                "substeps",
                f32::shape_matching(ShapeMatching::new(ShapeMatchingOptions { substeps: most, iterations: 1 })),
            ),
            (
                "iterations",
                f32::limited(StrainLimited::new(few(), StrainLimits { iterations: most, ..Default::default() })),
            ),
            ("passes", f32::guarded(IntersectionFree::new(few(), Guard::Truncation { passes: most }))),
        ]
    };
    for (name, mut solver) in solvers(100_000) {
        assert_eq!(solver.prepare(&model), Ok(()), "{name} of {}", solver.name());
    }
    for most in [0, 100_001, usize::MAX] {
        for (name, mut solver) in solvers(most) {
            let (value, expected) = (most as f64, "1 to 100000");
            let refused = Err(BuildError::BadOption { name, value, expected });
            assert_eq!(solver.prepare(&model), refused, "{}", solver.name());
        }
    }
}

/// A million particles, once a method.
#[test]
fn a_million_particles() {
    let body = Body::particles((0..1_000_000).map(|i| [f64::from(i % 1000), 0.0, f64::from(i / 1000)]));
    let (model, start) = Model::<f32>::build(&[&body]).unwrap();
    let on = AnyBackend::by_name("parallel", Some(2)).unwrap();
    let mut ran = Vec::new();
    for (name, mut solver) in methods() {
        let mut particles = start.clone();
        match solver.prepare(&model) {
            Err(BuildError::Unsupported { .. }) => continue,
            prepared => prepared.unwrap_or_else(|error| panic!("{name}: {error}")),
        }
        solver.step(&model, &mut particles, 1e-3, &on).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(particles.x.first_non_finite().is_none(), "{name}");
        assert!(particles.v.get(999_999)[1] < -9e-3, "{name}: the last one falls too");
        ran.push(name);
    }
    assert_eq!(ran.len(), methods().len(), "only {ran:?} ran");
}

/// A million particles that hold each other, once a method that needs no factorisation: blocks, offsets and records of three million
/// links. Every other row of a checkerboard is pulled down, so that links have something to do.
#[test]
fn a_cloth_of_a_million_particles() {
    let cloth = Body::cloth(&ClothGrid::square(999.0, 1000)).unwrap().pinned([0, 999]).with_mass(1e6);
    let soft =
        [Role::Stretch, Role::Shear, Role::Bend].into_iter().fold(cloth, |b, role| b.with_compliance(role, 1e-4));
    let (model, start) = Model::<f32>::build(&[&soft]).unwrap();
    drop(soft);
    assert!(model.constraints().len() > 3_000_000);
    let on = AnyBackend::by_name("parallel", Some(2)).unwrap();
    let mut ran = Vec::new();
    let swept = ["pbd", "xpbd-colored", "symplectic", "jacobi"];
    for (name, mut solver) in methods().into_iter().filter(|(name, _)| swept.contains(name)) {
        solver.prepare(&model).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut particles = start.clone();
        particles.v.set(999_999, [0.0, -10.0, 0.0]);
        solver.step(&model, &mut particles, 1e-3, &on).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(particles.x.first_non_finite().is_none(), "{name}");
        assert!(particles.v.get(500_500)[1] < -9e-3, "{name}: the middle falls");
        assert!(particles.v.get(999_998)[1] < particles.v.get(999_000)[1], "{name}: a neighbour is pulled along");
        ran.push(name);
    }
    assert_eq!(ran.len(), swept.len(), "only {ran:?} ran");
}
