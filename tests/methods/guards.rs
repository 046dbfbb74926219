//! Surfaces behind guards: no state that is accepted ever passes through itself, and the guards say how near they came.

use pliant::core::body::{Bending, Body};
use pliant::core::collide::SelfContact;
use pliant::core::error::{BuildError, StepError};
use pliant::core::mesh::{ClothGrid, Rope, Split, TriMesh, icosphere, tet_box};
use pliant::core::model::Model;
use pliant::core::sdf::{Collider, Colliders, Pose};
use pliant::core::warning::Warning;
use pliant::{Guard, GuardOutcome, InteriorPoint, IntersectionFree, Pbd, PbdOptions, XpbdOn};
use pliant_harness::instances::{Boxed, Instances};

use crate::simd;
use crate::stage::{Stage, contact, crash, momentum, soft, stack, stay, twist};

fn guards() -> [Guard; 3] {
    let interior = Guard::InteriorPoint(InteriorPoint::default());
    [interior, Guard::Truncation { passes: 3 }, Guard::ImpactZones { rounds: 12 }]
}

fn xpbd<S: Instances>() -> Boxed<S> {
    S::xpbd(XpbdOn::with_substeps(10))
}

fn guarded(guard: Guard) -> IntersectionFree<Boxed<f32>, f32> {
    IntersectionFree::new(xpbd::<f32>(), guard)
}

/// Runs a stage, in which particles go at least `progress` \[m\] on average.
fn run(name: &str, stage: &mut Stage<f32>, guard: Guard, steps: usize, progress: f64) {
    let on = simd();
    let mut solver = guarded(guard);
    f32::guard(&mut solver).prepare(&stage.model).expect("valid options");
    let (mut missed, mut held, mut short) = (0.0_f64, 0, 0);
    let (mut farthest, mut fastest) = (0.0_f64, 0.0_f64);
    for step in 0..steps {
        let report = stage.step(f32::guard(&mut solver), &on);
        missed = missed.max(solver.remaining());
        let here = match solver.outcome() {
            GuardOutcome::Met => 0,
            GuardOutcome::Held { vertices, .. } => vertices,
            _ => {
                short += 1;
                0
            }
        };
        held += here;
        assert_eq!((report.missed, report.held), (solver.remaining(), here), "{name}: the report says the same");
        let found = stage.intersections();
        assert_eq!(found, stage.intersections_by_brute_force(), "{name}");
        assert_eq!(found, 0, "{name}, {guard:?}: {found} intersections after step {step}");
        let (far, fast) = stage.extent();
        (farthest, fastest) = (farthest.max(far), fastest.max(fast));
    }
    // Nothing is thrown: neither what is kept, nor what the method inside proposes.
    assert!(
        farthest < 1.0 && fastest < 60.0 && missed < 1.0,
        "{name}, {guard:?}: {farthest} m, {fastest} m/s, {missed} m"
    );
    assert!(stage.progress() > progress, "{name}, {guard:?}: went {} m on average", stage.progress());
    println!(
        "{name}, {guard:?}: {:.3} m on average, farthest miss {missed:.4} m, {short} steps cut short, {held} vertices held, {farthest:.3} m, {fastest:.2} m/s",
        stage.progress()
    );
}

/// One test a guard, so that they run side by side.
macro_rules! promises {
    ($twisted:ident, $stacked:ident, $guard:expr) => {
        #[test]
        fn $twisted() {
            run("ten turns", &mut twist(5, 6.0), $guard, 100, 0.09);
        }
        #[test]
        fn $stacked() {
            run("ten layers", &mut stack(10, 6, 1e-4), $guard, 60, 0.09);
        }
    };
}
promises!(twisted_ten_times_behind_an_interior_point, ten_layers_behind_an_interior_point, guards()[0]);
promises!(twisted_ten_times_behind_truncation, ten_layers_behind_truncation, guards()[1]);
promises!(twisted_ten_times_behind_impact_zones, ten_layers_behind_impact_zones, guards()[2]);

#[test]
fn impact_zones_keep_momentum_and_order() {
    let on = simd();
    let mut solver = IntersectionFree::new(xpbd::<f64>(), guards()[2]);
    let mut stage = crash([1.0, -3.0], 1e-3);
    f64::guard(&mut solver).prepare(&stage.model).expect("valid options");
    let (before, _) = momentum(&stage);
    let start = stage.particles.v.clone();
    for _ in 0..30 {
        stage.step(f64::guard(&mut solver), &on);
        assert_eq!((solver.outcome(), stage.intersections()), (GuardOutcome::Met, 0));
    }
    let (after, [lower, upper]) = momentum(&stage);
    assert_ne!(stage.particles.v, start, "they met");
    for k in 0..3 {
        assert!((after[k] - before[k]).abs() < 1e-9 * before[1].abs(), "{before:?}, then {after:?}");
    }
    assert!(lower < upper, "the lower sheet stays below: {lower} and {upper}");
}

/// A small sheet that slides over a larger one, which is held, this far from the origin along each axis.
fn slide(far: f64) -> Stage<f32> {
    let sheet = |side: f64, n: usize| {
        soft(Body::cloth(&ClothGrid::square(side, n)).expect("a grid").with_self_contact(contact(0.005)), 1e-3)
    };
    let table = sheet(1.2, 9).pinned(0..81).translated([far; 3]);
    let load = sheet(0.3, 6).with_mass(0.1).translated([far + 0.21, far + 0.0049, far + 0.43]);
    Stage::new(&[table, load.with_velocities([[1.0, 0.0, 0.0]; 36])], &[], stay)
}

/// From 40 m on numbers of single precision are farther apart than a thousandth of this thickness: no move is as short as that.
#[test]
fn an_interior_point_comes_to_an_end_where_coordinates_are_coarse() {
    let on = simd();
    for far in [0.0, 50.0, 100.0, 200.0, 500.0] {
        let mut stage = slide(far);
        let mut solver = IntersectionFree::new(f32::pbd(Pbd::new(PbdOptions::default())), Guard::default());
        f32::guard(&mut solver).prepare(&stage.model).expect("valid options");
        let mut met = 0;
        for _ in 0..40 {
            stage.step(f32::guard(&mut solver), &on);
            assert_eq!(stage.intersections(), 0, "{far} m");
            met += usize::from(solver.outcome() == GuardOutcome::Met);
        }
        println!("{far} m from the origin: {met} of 40 steps came to an end");
        assert!(met >= 27, "{far} m: {met} of 40 steps came to an end");
    }
}

/// Two sheets that meet at speeds at which an interior point gives up now and then, and two others far away. One of those is finer
/// than the thickness: its vertices are nearer than that at rest, and so they meet nobody.
#[test]
fn bodies_that_meet_nobody_are_not_held_up_by_those_that_do() {
    let on = simd();
    for (guard, speed) in guards().into_iter().flat_map(|guard| [4.0, 16.0].map(|speed| (guard, speed))) {
        let mut bodies = crash::<f64>([speed, -speed], 0.0).bodies;
        let glide = bodies[0].clone().translated([10.0, 0.0, 0.0]).with_velocities([[0.0, 0.0, 1.0]; 64]);
        bodies.push(glide);
        let fine = Body::cloth(&ClothGrid::square(0.04, 9)).expect("a grid").with_self_contact(contact(0.01));
        bodies.push(fine.translated([20.0, 0.0, 0.0]).with_velocities([[0.0, 0.0, 0.1]; 81]));
        let mut stage = Stage::<f64>::new(&bodies, &[], stay);
        stage.model.environment.gravity = [0.0; 3];
        let mut solver = f64::guarded(IntersectionFree::new(f64::pbd(Pbd::new(PbdOptions::default())), guard));
        solver.prepare(&stage.model).expect("valid options");
        let mut met = false;
        for step in 0..30 {
            stage.step(&mut *solver, &on);
            assert_eq!(stage.intersections(), 0, "{guard:?}");
            met |= stage.particles.v.get(30)[1] < 0.5 * speed;
            for (vertex, expected) in [(2 * 64 + 30, 1.0), (3 * 64 + 40, 0.1)] {
                let [_, _, along] = stage.particles.v.get(vertex);
                let off = (along - expected).abs() / expected;
                assert!(off < 1e-6, "{guard:?}, {speed} m/s: {along} of {expected} m/s in step {step}");
            }
        }
        assert!(met, "{guard:?}: the two met");
    }
}

/// A zone that holds pins cannot move as one: it stays where it was, which is no success.
#[test]
fn impact_zones_that_are_held_by_pins_say_so() {
    let on = simd();
    let mut stage = twist::<f32>(5, 6.0);
    let mut solver = guarded(Guard::ImpactZones { rounds: 2 });
    f32::guard(&mut solver).prepare(&stage.model).expect("valid options");
    let mut stopped = 0;
    for step in 0..100 {
        let before = stage.particles.x.clone();
        let report = stage.step(f32::guard(&mut solver), &on);
        // The ends turn and pull: whoever is free moves on, unless it is held.
        let free = (0..before.len()).filter(|&i| stage.model.inv_mass()[i] > 0.0);
        let still = free.filter(|&i| stage.particles.x.get(i) == before.get(i)).count();
        stopped += usize::from(still > 0);
        let held = if let GuardOutcome::Held { vertices, .. } = solver.outcome() { vertices } else { 0 };
        assert!(held >= still, "step {step}: {still} stand still, {held} are told: {:?}", solver.outcome());
        assert_eq!(report.held, held);
    }
    assert!(stopped > 5, "{stopped} steps with zones that could not move");
}

/// A sheet whose corner pokes through another one, and two solids that overlap.
fn tangles() -> [(&'static str, Stage<f32>); 2] {
    let soft = |body: Body| soft(body.with_self_contact(contact(0.01)), 1e-3);
    let flat = soft(Body::cloth(&ClothGrid::square(0.5, 8)).expect("a grid"));
    let tilted = flat.clone().posed(|[x, _, z]| [0.1 + x, 0.1 * (x + z) - 0.015, 0.12 + z]);
    let block = soft(Body::solid(&tet_box([3, 3, 3], [0.3; 3], Split::Five).expect("a box")).expect("a solid"));
    let above = block.clone().translated([0.031, 0.28, 0.043]);
    let still = |bodies: &[Body]| {
        let mut stage = Stage::new(bodies, &[], |at, _| at);
        stage.model.environment.gravity = [0.0; 3];
        stage
    };
    [("corner", still(&[flat, tilted])), ("boxes", still(&[block, above]))]
}

#[test]
fn a_start_state_that_intersects_is_untangled_on_request_only() {
    let on = simd();
    for (name, mut stage) in tangles() {
        let found = stage.intersections();
        assert!(found > 0, "{name}");
        let mut strict = f32::guarded(guarded(Guard::default()));
        strict.prepare(&stage.model).expect("valid options");
        let before = stage.particles.clone();
        let refused = strict.step(&stage.model, &mut stage.particles, 0.01, &on);
        assert!(matches!(refused, Err(StepError::Intersecting { count, .. }) if count == found), "{name}: {refused:?}");
        assert!(refused.is_err_and(|error| error.to_string().contains(".untangling(")), "{name}: no cure");
        // One round is not enough: refused as well, and nothing has moved.
        let mut hasty = f32::guarded(guarded(Guard::default()).untangling(1));
        hasty.prepare(&stage.model).expect("valid options");
        assert!(hasty.step(&stage.model, &mut stage.particles, 0.01, &on).is_err(), "{name}");
        assert_eq!(stage.particles, before, "{name}: nothing has changed");
        let mut patient = f32::guarded(guarded(Guard::default()).untangling(300));
        patient.prepare(&stage.model).expect("valid options");
        for _ in 0..5 {
            stage.step(&mut *patient, &on);
            assert_eq!(stage.intersections(), 0, "{name}");
        }
    }
}

#[test]
fn a_thickness_above_the_shortest_edge_is_told_with_the_number() {
    let build = |thickness: f64| {
        let loose = Body::particles([[5.0; 3]]);
        let cloth = Body::cloth(&ClothGrid::square(1.0, 11)).expect("a grid").with_self_contact(contact(thickness));
        Model::<f32>::build(&[&loose, &cloth]).expect("usable").0.warnings().to_vec()
    };
    assert_eq!(build(0.05), []);
    let found = build(0.15);
    let [Warning::ThickSurface { body: 1, thickness, edge }] = found[..] else { panic!("{found:?}") };
    assert!(thickness == 0.15 && (edge - 0.1).abs() < 1e-9);
    assert!(found[0].to_string().contains("0.15 m"), "{}", found[0]);
}

/// Millimetres taken for metres: everything would be near everything, and the memory full.
#[test]
fn surfaces_much_thicker_than_their_edges_are_refused() {
    let build = |body: Body, thickness: f64| {
        let loose = Body::particles([[5.0; 3]]);
        Model::<f32>::build(&[&loose, &body.with_self_contact(contact(thickness))]).map(|_| ())
    };
    let cloth = || Body::cloth(&ClothGrid::square(1.0, 11)).expect("a grid");
    let rope = || Body::rope(&Rope::new(10, [0.0; 3], [1.0, 0.0, 0.0]).expect("a rope"), true).expect("a rope");
    // Edges of 0.1 m and diagonals of 0.141 m; links of 0.1 m.
    for (body, fits, refused) in [(cloth(), 0.8, 1.0), (rope(), 6.3, 6.5)] {
        assert_eq!(build(body.clone(), fits), Ok(()));
        let error = build(body, refused).expect_err("too thick");
        let BuildError::TooThick { body: 1, thickness, edge, most } = error else { panic!("{error}") };
        assert!(thickness == refused && fits <= most * edge && most * edge < refused, "{error}");
    }
}

#[test]
fn particles_thicker_than_their_edges_are_told_with_both_numbers() {
    let build = |body: Body| Model::<f32>::build(&[&body]).expect("usable").0.warnings().to_vec();
    let cloth = || Body::cloth(&ClothGrid::square(1.0, 11)).expect("a grid");
    let rope = || Body::rope(&Rope::new(10, [0.0; 3], [1.0, 0.0, 0.0]).expect("a rope"), true).expect("a rope");
    assert_eq!(build(cloth()), []);
    for body in [cloth(), rope()] {
        assert_eq!(build(body.clone().with_thickness(0.05)), []);
        let found = build(body.with_thickness(5.0));
        let [Warning::ThickParticles { body: 0, thickness, edge }] = found[..] else { panic!("{found:?}") };
        assert!(thickness == 5.0 && (edge - 0.1).abs() < 1e-9);
        assert!(
            found[0]
                .to_string()
                .contains(&format!("keep 5 m from colliders, but the shortest edge between them is {edge} m")),
            "{}",
            found[0]
        );
    }
    // Only edges whose own ends are thick count, and loose particles have none.
    let one = |thick| build(cloth().with_thicknesses((0..121).map(|p| if p == 60 { thick } else { 0.01 })));
    assert_eq!((one(0.09).len(), one(0.11).len()), (0, 1));
    assert_eq!(build(Body::particles([[0.0; 3], [0.1, 0.0, 0.0]]).with_thickness(5.0)), []);
}

/// Triangles without area, vertices on top of each other, and colliders that hold the cloth from the start.
#[test]
fn degenerate_surfaces_are_carried_without_harm() {
    // A mesh refuses three corners in a line, so that one becomes flat on its way here.
    let positions = [[0.0, 0.1, 0.0], [0.1, 0.1, 0.001], [0.2, 0.1, 0.0], [0.1, 0.1, 0.1], [0.1, 0.1, -0.1]];
    let mesh = TriMesh::new(positions, [[0, 2, 3], [0, 1, 2], [1, 0, 4], [2, 1, 4]]).expect("a mesh");
    let sliver = Body::surface(&mesh, Bending::None).expect("a surface").with_mass(0.05);
    let sliver = sliver.posed(|[x, y, z]| if z == 0.001 { [x, y, 0.0] } else { [x, y, z] });
    let sliver = sliver.with_self_contact(contact(0.01));
    let sheet = Body::cloth(&ClothGrid::square(0.4, 5)).expect("a grid").translated([-0.1, 0.0, -0.2]);
    let sheet = sheet.with_self_contact(contact(0.01)).pinned([0, 4, 20, 24]);
    for guard in guards() {
        let ball = Collider::sphere(0.05).at([0.1, 0.0, 0.0]);
        let mut stage = Stage::<f32>::new(&[sliver.clone(), sheet.clone()], &[ball], |at, _| at);
        let mut solver = f32::guarded(guarded(guard));
        solver.prepare(&stage.model).expect("valid options");
        let on = simd();
        for _ in 0..30 {
            match solver.step(&stage.model, &mut stage.particles, 1.0 / 60.0, &on) {
                Ok(_) => assert_eq!(stage.particles.x.first_non_finite(), None),
                // A triangle in a line may touch what lies in it: told, not stumbled over.
                Err(error) => assert!(matches!(error, StepError::Intersecting { .. }), "{error:?}"),
            }
        }
        assert!((0..stage.particles.len()).all(|i| stage.particles.x.get(i).iter().all(|c| c.is_finite())));
    }
}

fn sheet(settings: SelfContact) -> Result<(), BuildError> {
    let body = Body::cloth(&ClothGrid::square(0.5, 4))?.with_self_contact(settings);
    Model::<f32>::build(&[&body]).map(|_| ())
}

fn add(collider: Collider) -> Result<(), BuildError> {
    Colliders::<f32>::default().push(collider)
}

/// A ball without its first triangle, or with it turned around.
fn torn(turned: bool) -> Result<(), BuildError> {
    let ball = icosphere(0.5, 1)?;
    let (first, others) = ball.triangles().split_first().expect("triangles");
    let [a, b, c] = *first;
    let triangles = others.iter().copied().chain(turned.then_some([a, c, b]));
    Collider::mesh(&TriMesh::new(ball.positions().iter().copied(), triangles)?, 16).map(|_| ())
}

fn prepare(guard: Guard) -> Result<(), BuildError> {
    let (model, _) = Model::<f32>::build(&[&Body::particles([[0.0; 3]])])?;
    f32::guarded(guarded(guard)).prepare(&model)
}

/// Poses, shapes, meshes, thicknesses, coefficients and options that cannot be, and what names them in the error.
#[test]
fn contact_that_cannot_be_is_refused_by_name() {
    const NAN: f64 = f64::NAN;
    let ball = || Collider::sphere(0.5);
    let bend = |settings: InteriorPoint| prepare(Guard::InteriorPoint(settings));
    let rows: [(&str, Result<(), BuildError>); 25] = [
        ("translation", add(ball().at([0.0, NAN, 0.0]))),
        ("rotation", add(ball().turned([NAN, 0.0, 0.0, 1.0]))),
        ("length of the rotation", add(ball().turned([0.0; 4]))),
        ("radius", add(Collider::sphere(0.0))),
        ("half side", add(Collider::cuboid([1.0, 0.0, 1.0]))),
        ("half length", add(Collider::capsule(0.1, 0.0))),
        ("half height", add(Collider::cylinder(0.1, 0.0))),
        ("minor radius", add(Collider::torus(0.1, 0.0))),
        ("length of its normal", add(Collider::plane([0.0; 3]))),
        ("friction", add(ball().with_friction(-0.1))),
        ("OpenSurface", torn(false)),
        ("InconsistentWinding", torn(true)),
        ("ZeroArea", TriMesh::new([[0.0; 3], [1.0; 3], [2.0; 3]], [[0, 1, 2]]).map(|_| ()).map_err(BuildError::from)),
        ("thickness", sheet(contact(-0.01))),
        ("thickness", sheet(contact(0.0))),
        ("thickness", sheet(contact(NAN))),
        ("friction", sheet(SelfContact { friction: -0.5, ..contact(0.01) })),
        ("recovery", sheet(SelfContact { recovery: NAN, ..contact(0.01) })),
        ("thickness", Model::<f32>::build(&[&Body::particles([[0.0; 3]]).with_thickness(-0.1)]).map(|_| ())),
        ("passes", prepare(Guard::Truncation { passes: 0 })),
        ("rounds", prepare(Guard::ImpactZones { rounds: 0 })),
        ("reach", bend(InteriorPoint { reach: 0.0, ..InteriorPoint::default() })),
        ("reach", bend(InteriorPoint { reach: 1.5, ..InteriorPoint::default() })),
        ("tolerance", bend(InteriorPoint { tolerance: NAN, ..InteriorPoint::default() })),
        ("iterations", bend(InteriorPoint { iterations: 0, ..InteriorPoint::default() })),
    ];
    for (row, (name, result)) in rows.into_iter().enumerate() {
        let error = result.expect_err(name);
        let named = match &error {
            BuildError::BadValue { quantity, .. } => (*quantity).to_owned(),
            BuildError::BadOption { name, .. } => (*name).to_owned(),
            other => format!("{other:?}"),
        };
        assert!(named.contains(name), "row {row}: {named} instead of {name}: {error}");
    }
}

/// A pose that is not finite is refused on the way too, and the collider stays where it was sent before.
#[test]
fn colliders_are_not_sent_to_nowhere() {
    let mut set = Colliders::<f32>::new([Collider::sphere(0.5)]).expect("a ball");
    let there = Pose::at([0.0, 1.0, 0.0]);
    set.send(0, there).expect("a pose");
    for nowhere in
        [Pose::at([f64::INFINITY, 0.0, 0.0]), there.turned([0.0; 4]), there.turned([0.0, f64::NAN, 0.0, 1.0])]
    {
        assert!(matches!(set.send(0, nowhere), Err(BuildError::BadValue { row: 0, .. })), "{nowhere:?}");
        assert_eq!(set.described()[0].pose, there);
    }
}

/// Colliders inside a body: vertices they cover come out, those they do not are left alone, and nothing flies away.
#[test]
fn colliders_that_start_inside_a_body_do_no_harm() {
    let block = Body::solid(&tet_box([3, 3, 3], [0.3; 3], Split::Five).expect("a box")).expect("a solid");
    let block = soft(block.with_mass(1.0).with_self_contact(contact(0.01)), 1e-4).translated([-0.15; 3]);
    for (radius, centre) in [(0.02, [0.0; 3]), (0.08, [0.0; 3]), (0.1, [0.15, 0.0, 0.0]), (0.05, [-0.15; 3])] {
        for guard in [None].into_iter().chain(guards().map(Some)) {
            let ball = Collider::sphere(radius).at(centre);
            let mut stage = Stage::<f32>::new(core::slice::from_ref(&block), &[ball], stay);
            stage.model.environment.gravity = [0.0; 3];
            let mut solver = match guard {
                None => xpbd::<f32>(),
                Some(guard) => f32::guarded(guarded(guard)),
            };
            solver.prepare(&stage.model).expect("valid options");
            let on = simd();
            (0..20).for_each(|_| _ = stage.step(&mut *solver, &on));
            let (far, fast) = stage.extent();
            assert!(far < 3.0 && fast < 15.0, "{guard:?}, {radius} m at {centre:?}: {far} m, {fast} m/s");
            for i in 0..stage.particles.len() {
                let at = stage.particles.x.get(i).map(f64::from);
                let depth = radius - (0..3).map(|k| (at[k] - centre[k]).powi(2)).sum::<f64>().sqrt();
                assert!(depth < 0.01, "{guard:?}: particle {i} is {depth} m inside");
            }
        }
    }
}
