//! Surfaces behind guards: no state that is accepted ever passes through itself, and the guards say how near they came.
#![cfg(all(feature = "collision", feature = "xpbd-colored"))]

mod stage;

use pliant_backends::Scalar;
use pliant_core::body::{Bending, Body, Role};
use pliant_core::collide::SelfContact;
use pliant_core::error::{BuildError, StepError};
use pliant_core::mesh::{ClothGrid, Split, TriMesh, tet_box};
use pliant_core::model::Model;
use pliant_core::sdf::Collider;
use pliant_core::solver::Solver;
use pliant_core::warning::Warning;
use pliant_solvers::{Colored, Guard, GuardOutcome, InteriorPoint, IntersectionFree, XpbdOn};
use stage::{Stage, contact, crash, momentum, stack, twist};

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

/// One test a guard, so that they run side by side.
macro_rules! promises {
    ($twisted:ident, $stacked:ident, $guard:expr) => {
        #[test]
        fn $twisted() {
            run("ten turns", &mut twist(5, 10.0), $guard, 100);
        }
        #[test]
        fn $stacked() {
            run("ten layers", &mut stack(10, 6), $guard, 60);
        }
    };
}
promises!(twisted_ten_times_behind_an_interior_point, ten_layers_behind_an_interior_point, guards()[0]);
promises!(twisted_ten_times_behind_truncation, ten_layers_behind_truncation, guards()[1]);
promises!(twisted_ten_times_behind_impact_zones, ten_layers_behind_impact_zones, guards()[2]);

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

/// A sheet whose corner pokes through another one, and two solids that overlap.
fn tangles() -> [(&'static str, Stage<f32>); 2] {
    let soft = |body: Body| {
        let body = body.with_self_contact(contact(0.01));
        [Role::Stretch, Role::Shear, Role::Bend].into_iter().fold(body, |b, role| b.with_compliance(role, 1e-3))
    };
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
    let on = Scalar::<f32>::new();
    for (name, mut stage) in tangles() {
        let found = stage.intersections();
        assert!(found > 0, "{name}");
        let mut strict = guarded(Guard::default());
        Solver::<Scalar<f32>>::prepare(&mut strict, &stage.model).expect("valid options");
        let before = stage.particles.clone();
        let refused = strict.step(&stage.model, &mut stage.particles, 0.01, &on);
        assert!(matches!(refused, Err(StepError::Intersecting { count, .. }) if count == found), "{name}: {refused:?}");
        // One round is not enough: refused as well, and nothing has moved.
        let mut hasty = guarded(Guard::default()).untangling(1);
        Solver::<Scalar<f32>>::prepare(&mut hasty, &stage.model).expect("valid options");
        assert!(hasty.step(&stage.model, &mut stage.particles, 0.01, &on).is_err(), "{name}");
        assert_eq!(stage.particles, before, "{name}: nothing has changed");
        let mut patient = guarded(Guard::default()).untangling(300);
        Solver::<Scalar<f32>>::prepare(&mut patient, &stage.model).expect("valid options");
        for _ in 0..5 {
            stage.step(&mut patient, &on);
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
        let mut solver = guarded(guard);
        Solver::<Scalar<f32>>::prepare(&mut solver, &stage.model).expect("valid options");
        let on = Scalar::<f32>::new();
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

#[test]
fn options_that_cannot_be_are_refused() {
    let build = |settings: SelfContact| {
        let body = Body::cloth(&ClothGrid::square(0.5, 4)).expect("a grid").with_self_contact(settings);
        Model::<f32>::build(&[&body]).map(|_| ())
    };
    assert!(matches!(build(contact(-0.01)), Err(BuildError::BadOption { value, .. }) if value == -0.01));
    assert!(matches!(build(SelfContact { friction: -0.5, ..contact(0.01) }), Err(BuildError::BadOption { .. })));
    let (model, _) = Model::<f32>::build(&[&Body::particles([[0.0; 3]])]).expect("a particle");
    let mut solver = guarded(Guard::ImpactZones { rounds: 0 });
    let prepared = Solver::<Scalar<f32>>::prepare(&mut solver, &model);
    assert!(matches!(prepared, Err(BuildError::BadOption { name: "rounds", .. })), "{prepared:?}");
}
