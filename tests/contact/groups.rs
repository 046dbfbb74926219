//! Colliders that stop some bodies and let others pass, in every method.

use pliant::backends::AnyBackend;
use pliant::prelude::*;
use pliant_harness::instances::{Boxed, Instances};

/// Two kinds of bodies, and what is there for one of them alone.
const SOLID: Groups = Groups { member: 1, touches: 1 };
const GHOST: Groups = Groups { member: 2, touches: u32::MAX };

fn floor(y: f64) -> Collider {
    Collider::plane([0.0, 1.0, 0.0]).at([0.0, y, 0.0]).with_friction(0.3).with_restitution(0.2)
}

/// Particles of both kinds at the same height, in an order that is not that of the kinds.
fn bodies() -> [Body; 3] {
    let at = |x: f64| Body::particles([[x, 0.3, 0.0], [x, 0.35, 0.1]]);
    [
        at(0.0).with_collider_groups(GHOST),
        at(1.0).with_collider_groups(SOLID).with_thickness(0.01),
        // Of all groups, as every body is that says nothing.
        at(2.0),
    ]
}

fn methods() -> Vec<(&'static str, Boxed<f32>)> {
    let penalty = Penalty::Buffered { stiffness: 5e3, buffer: 1e-3 };
    let pbd = PbdOptions { substeps: 5, iterations: 2, ..PbdOptions::default() };
    let mut methods = vec![
        ("symplectic", f32::symplectic(Symplectic::new(10))),
        ("symplectic, penalty", f32::symplectic(Symplectic::new(40).with_response(Response::Penalty(penalty)))),
        ("pbd", f32::pbd(Pbd::new(pbd))),
        ("xpbd", f32::xpbd(XpbdOn::with_substeps(5))),
    ];
    #[cfg(feature = "xpbd-schur")]
    methods.push(("xpbd-schur", f32::schur(XpbdOn::with_substeps(5))));
    #[cfg(feature = "rigid")]
    methods.push(("shape-matching", f32::shape_matching(ShapeMatching::new(ShapeMatchingOptions::default()))));
    #[cfg(feature = "newton")]
    for (name, colliders) in
        [("newton", pliant::ColliderForm::Project), ("newton, energy", pliant::ColliderForm::Energy(penalty))]
    {
        let options = NewtonOptions { substeps: 4, colliders, ..NewtonOptions::default() };
        methods.push((name, f32::newton(Newton::new(options))));
    }
    #[cfg(feature = "projective")]
    for (name, collider_weight) in [("projective", None), ("projective, weighed", Some(10.0))] {
        let options = ProjectiveOptions { substeps: 4, collider_weight, ..ProjectiveOptions::default() };
        methods.push((name, f32::projective(Projective::new(options))));
    }
    methods
}

/// The first floor is for one kind, the second for all, the third for one again: three passes.
fn floors() -> [Collider; 3] {
    [floor(0.0).with_groups(SOLID), floor(-0.5), floor(-1.0).with_groups(SOLID)]
}

fn settle(mut solver: Boxed<f32>, bodies: &[Body], colliders: &[Collider], backend: &str) -> Particles<f32> {
    let on = AnyBackend::<f32>::by_name(backend, Some(2)).expect("built");
    let all: Vec<&Body> = bodies.iter().collect();
    let (mut model, mut particles) = Model::build(&all).expect("valid bodies");
    colliders.iter().cloned().for_each(|c| model.colliders_mut().push(c).expect("a valid collider"));
    // Penalties bounce for ever otherwise.
    model.environment.damping = 4.0;
    solver.prepare(&model).expect("valid options");
    (0..300).for_each(|_| _ = solver.step(&model, &mut particles, 1.0 / 60.0, &on).expect("a step"));
    particles
}

#[test]
fn colliders_stop_bodies_whose_groups_they_meet_in_every_method() {
    for index in 0..methods().len() {
        let solver = || methods().swap_remove(index);
        let (name, method) = solver();
        let state = settle(method, &bodies(), &floors(), "simd");
        // The ghosts fall to the floor for all; the others lie on the first one.
        for (particle, expected) in [-0.5, -0.5, 0.01, 0.01, 0.0, 0.0].into_iter().enumerate() {
            let y = state.x.y[particle];
            assert!((y - expected).abs() < 6e-3, "{name}: particle {particle} lies at {y} m, not at {expected} m");
        }
        for backend in ["scalar", "parallel"] {
            assert_eq!(settle(solver().1, &bodies(), &floors(), backend), state, "{name} on {backend}");
        }
        // Who meets all colliders moves as in a world without groups, to the bit, where particles do not share a line search.
        if !name.starts_with("newton") && !name.starts_with("projective") {
            let plain = settle(solver().1, &bodies(), &floors().map(|floor| floor.with_groups(Groups::ALL)), "simd");
            assert!((plain.x.y[0]).abs() < 6e-3, "{name}: ghosts lie on the first floor, too");
            for particle in 2..6 {
                assert_eq!(state.x.get(particle), plain.x.get(particle), "{name}: particle {particle}");
            }
        }
    }
}

#[test]
fn groups_of_colliders_are_told_edited_and_written_down() {
    let mut world = World::new();
    let [ghost, solid, _] = bodies().map(|body| world.add(body).expect("a body"));
    let first = world.add_collider(floor(0.0)).expect("a floor");
    let second = world.add_collider(floor(-0.5)).expect("a floor");
    world.watch_contacts(true);
    let run = |world: &mut World| (0..150).for_each(|_| _ = world.step(1.0 / 60.0).expect("a step"));
    let meets = |world: &World| {
        let mut met = Vec::new();
        for contact in world.contacts() {
            let ContactPair::Collider { particle, collider } = contact.pair else { continue };
            let body = world.locate(particle as usize).expect("a body").0;
            met.push((body, world.collider_at(collider).expect("a collider")));
        }
        met.sort_by_key(|pair| format!("{pair:?}"));
        met.dedup();
        met
    };
    run(&mut world);
    assert!(meets(&world).iter().all(|pair| pair.1 == first) && meets(&world).len() == 3);
    // In a running world: who no longer meets the floor falls through.
    world.edit_collider(first, |floor| floor.with_groups(SOLID)).expect("a floor");
    run(&mut world);
    assert!(meets(&world).contains(&(ghost, second)) && !meets(&world).contains(&(ghost, first)));
    assert!(meets(&world).contains(&(solid, first)));
    let height = |world: &World, id: BodyId| world.positions(id).expect("there").get(0)[1];
    assert!((height(&world, ghost) + 0.5).abs() < 1e-3 && (height(&world, solid) - 0.01).abs() < 1e-3);
    #[cfg(feature = "serde")]
    {
        let mut other = World::new();
        other.restore_full(&world.full_snapshot().expect("bytes")).expect("the same build");
        assert_eq!(other.body(ghost).expect("there").collider_groups(), GHOST);
        assert_eq!(other.collider(first).expect("there").groups, SOLID);
        // A description from before there were groups meets everything.
        let mut text = serde_json::to_value(floor(0.0).with_groups(SOLID)).expect("JSON");
        assert_eq!(serde_json::from_value::<Collider>(text.clone()).expect("a collider").groups, SOLID);
        text.as_object_mut().expect("fields").remove("groups");
        assert_eq!(serde_json::from_value::<Collider>(text).expect("a collider").groups, Groups::ALL);
    }
}

#[test]
fn bodies_that_meet_other_colliders_are_not_merged() {
    let mut world = World::new();
    let [ghost, solid, _] = bodies().map(|body| world.add(body).expect("a body"));
    let error = world.merge(&[ghost, solid]).expect_err("other groups");
    assert!(error.to_string().contains("with_collider_groups"), "{error}");
}
