//! Random scenes, sound and unsound: several bodies with several changes each, on any solver and backend.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pliant::prelude::*;
use proptest::prelude::*;

use crate::{bodies, finite, methods, state};

/// Bodies by their place in the list, each with the places of its changes.
type Cast = Vec<(usize, Vec<usize>)>;

fn scene() -> impl Strategy<Value = (Cast, usize, usize, f32, bool)> {
    let cast = prop::collection::vec((any::<usize>(), prop::collection::vec(any::<usize>(), 0..3)), 1..4);
    let dt = prop_oneof![Just(1.0 / 60.0), 1e-6..1.0_f32, any::<f32>()];
    (cast, any::<usize>(), 0..4_usize, dt, any::<bool>())
}

/// What is wrong with how a world took a scene.
fn live((cast, method, backend, dt, ground): (Cast, usize, usize, f32, bool)) -> Result<(), String> {
    let backend = ["scalar", "simd", "simd-portable", "parallel"][backend];
    let mut world = World::on(Best::by_name(backend, Some(2)).unwrap());
    let mut all = methods();
    let (name, solver) = all.swap_remove(method % all.len());
    world.set_solver(solver).map_err(|error| format!("{name}: {error}"))?;
    if ground {
        world.add_collider(Collider::plane([0.0, 1.0, 0.0]).at([0.0, -0.1, 0.0]).with_friction(0.5)).unwrap();
    }
    let (listed, mut changes) = (bodies::all(), bodies::number_changes());
    changes.extend(bodies::shape_changes());
    for (which, by) in cast {
        let (label, body) = &listed[which % listed.len()];
        let by: Vec<_> = by.iter().map(|at| &changes[at % changes.len()]).collect();
        let body = by.iter().fold(body.clone(), |body, (_, change)| change(body));
        let before = state(&world);
        if let Err(error) = world.add(body)
            && state(&world) != before
        {
            let by: Vec<_> = by.iter().map(|(what, _)| what).collect();
            return Err(format!("{name}, {label} with {by:?}: refused ({error}), and yet something changed"));
        }
    }
    for _ in 0..4 {
        let before = state(&world);
        match world.step(dt) {
            Ok(_) if !finite(&world) => return Err(format!("{name}: numbers that are not finite")),
            Ok(_) | Err(StepError::NotTorn(_)) => {}
            Err(error) if state(&world) != before => return Err(format!("{name}: {error}, and yet something changed")),
            Err(_) => break,
        }
    }
    // A snapshot of whatever it has become leads back to it.
    let (hash, snapshot) = (world.state_hash(), world.snapshot());
    let _ = world.step(1e-4);
    world.restore(&snapshot).map_err(|error| format!("{name}: its own snapshot is refused: {error}"))?;
    if world.state_hash() == hash { Ok(()) } else { Err(format!("{name}: a snapshot leads elsewhere")) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_scenes_end_in_errors_or_in_finite_numbers(scene in scene()) {
        let outcome = catch_unwind(AssertUnwindSafe(|| live(scene)));
        prop_assert!(matches!(outcome, Ok(Ok(()))), "{:?}", outcome.map_err(|_| "panicked"));
    }
}
