//! Random sequences of edits and steps in two worlds on two backends: they answer alike, an error changes nothing, a stale
//! handle is an error, and numbers stay finite.

use std::fmt::Debug;

use pliant::prelude::*;

use crate::bodies;
use crate::input::{Input, choice};

/// Edits and steps of one input.
const MOST: usize = 24;
/// Pairs of backends and methods that a trailer chooses from; the first ones without it.
const BACKENDS: [[&str; 2]; 4] =
    [["scalar", "simd"], ["simd", "parallel"], ["parallel", "scalar"], ["simd-portable", "parallel"]];
const METHODS: [&str; 6] = ["xpbd-colored", "pbd", "symplectic", "projective", "newton", "shape-matching"];

struct Twins {
    worlds: [World; 2],
    choice: u8,
    bodies: Vec<BodyId>,
    gone: Vec<BodyId>,
    rigid: Vec<RigidId>,
    gone_rigid: Vec<RigidId>,
    colliders: Vec<ColliderId>,
    snapshots: Vec<Snapshot>,
}

impl Twins {
    /// Does the same to both; they answer alike, and whoever refuses has changed nothing.
    fn both<T: PartialEq + Debug, E: PartialEq + Debug>(
        &mut self,
        act: impl Fn(&mut World) -> Result<T, E>,
    ) -> Result<T, E> {
        let before = self.worlds[0].snapshot();
        let [first, second] = &mut self.worlds;
        // NaN in an error is no difference.
        let (a, b) = (act(first), act(second));
        assert_eq!(format!("{a:?}"), format!("{b:?}"), "backends answer differently");
        assert_eq!(first.state_hash(), second.state_hash(), "backends differ in their state");
        if let Err(error) = &a {
            let after = first.snapshot();
            let differs = before.as_bytes().iter().zip(after.as_bytes()).position(|(a, b)| a != b);
            let sizes = [before.as_bytes().len(), after.as_bytes().len()];
            assert!(after == before, "refused ({error:?}), and yet byte {differs:?} of {sizes:?} changed");
        }
        a
    }
}

/// Two empty worlds, with the method and on the backends of a choice.
fn empty(choice: u8) -> [World; 2] {
    let (pair, method) = (usize::from(choice) % BACKENDS.len(), usize::from(choice) / BACKENDS.len() % METHODS.len());
    BACKENDS[pair].map(|backend| {
        let method = Method::by_name(METHODS[method]).expect("a method of this build");
        World::with_method(method, Best::by_name(backend, Some(2)).unwrap_or_default())
    })
}

/// Edits as the bytes say.
pub fn target(data: &[u8]) {
    let (data, choice) = choice(data);
    let mut input = Input::new(data);
    let mut twins = Twins {
        worlds: empty(choice),
        choice,
        bodies: Vec::new(),
        gone: Vec::new(),
        rigid: Vec::new(),
        gone_rigid: Vec::new(),
        colliders: Vec::new(),
        snapshots: Vec::new(),
    };
    for _ in 0..MOST {
        if input.is_empty() {
            break;
        }
        act(&mut twins, &mut input);
    }
    for id in twins.gone.clone() {
        assert!(matches!(twins.both(|world| world.remove(id)), Err(BuildError::NotFound { .. })));
        assert!(matches!(twins.both(|world| world.pin(id, 0)), Err(BuildError::NotFound { .. })));
    }
    for id in twins.gone_rigid.clone() {
        assert!(matches!(twins.both(|world| world.remove_rigid(id)), Err(BuildError::NotFound { .. })));
    }
}

/// Goes on, goes back and goes on again: the same bits, whatever was edited just before.
fn resume(twins: &mut Twins) {
    let snapshots = [0, 1].map(|k: usize| twins.worlds[k].snapshot());
    assert!(snapshots[0] == snapshots[1], "backends write different snapshots");
    let first = two_steps(twins);
    let [one, other] = &mut twins.worlds;
    one.restore(&snapshots[1]).expect("a snapshot of its twin");
    other.restore(&snapshots[0]).expect("a snapshot of its twin");
    assert!(two_steps(twins) == first, "a resumed run differs");
}

/// Worlds made of full snapshots go on as those they were taken of.
fn revive(twins: &mut Twins) {
    let full = twins.both(|world| world.full_snapshot()).expect("everything here has a description");
    let first = two_steps(twins);
    twins.worlds = empty(twins.choice);
    for world in &mut twins.worlds {
        world.restore_full(&full).expect("a full snapshot of a sound world");
    }
    assert!(two_steps(twins) == first, "a world made of a full snapshot differs");
}

/// Changes what something is made of, or makes one body of two.
fn describe_anew(twins: &mut Twins, input: &mut Input<'_>, body: Option<BodyId>, rigid: Option<RigidId>) {
    let (choice, [a, b]) = (input.below(5), [input.number(2.0), input.number(1.0)]);
    match (choice, body, rigid) {
        (0, Some(id), _) => {
            let role = [Role::Stretch, Role::Bend, Role::Volume, Role::Attach][input.below(4)];
            drop(twins.both(|world| world.edit(id, |body| Ok(body.with_mass(a).with_compliance(role, b)))));
        }
        (1, Some(id), _) => {
            let Some(other) = bodies::body(input) else { return };
            drop(twins.both(|world| world.edit(id, |_| Ok(other.clone()))));
        }
        (2, Some(id), _) => {
            let ids = [id, twins.bodies.get(input.below(twins.bodies.len())).copied().unwrap_or(id)];
            if let Ok(whole) = twins.both(|world| world.merge(&ids)) {
                twins.bodies.retain(|other| !ids.contains(other));
                twins.bodies.push(whole);
                twins.gone.extend(ids);
            }
        }
        (3, ..) => {
            let Some(&id) = twins.colliders.last() else { return };
            let change = |to: Collider| Collider { shape: Shape::Sphere { radius: a }, ..to }.with_friction(b);
            drop(twins.both(|world| world.edit_collider(id, change)));
        }
        (_, _, Some(id)) => {
            let change = |body: RigidBody| RigidBody { density: 100.0 * a, ..body }.with_friction(b);
            drop(twins.both(|world| world.edit_rigid(id, change)));
        }
        _ => {}
    }
}

fn two_steps(twins: &mut Twins) -> [(bool, u64); 2] {
    [(); 2].map(|()| {
        let taken = twins.both(|world| world.step(1.0 / 60.0).map(drop)).is_ok();
        (taken, twins.worlds[0].state_hash())
    })
}

fn act(twins: &mut Twins, input: &mut Input<'_>) {
    let vector = |input: &mut Input<'_>| [input.number(1.0) as f32, input.number(1.0) as f32, 0.0];
    let body = twins.bodies.get(input.below(twins.bodies.len())).or(twins.gone.first()).copied();
    let rigid = twins.rigid.get(input.below(twins.rigid.len())).or(twins.gone_rigid.first()).copied();
    let particle = u32::from(input.byte() % 20);
    match (input.below(20), body, rigid) {
        (0 | 1, ..) if twins.bodies.len() < 4 => {
            let Some(body) = bodies::body(input) else { return };
            let id = twins.both(|world| world.add(body.clone()));
            twins.bodies.extend(id);
        }
        (2, Some(id), _) => {
            if twins.both(|world| world.remove(id)).is_ok() {
                twins.bodies.retain(|other| *other != id);
                twins.gone.push(id);
            }
        }
        (3, Some(id), _) => drop(twins.both(|world| world.pin(id, particle))),
        (4, Some(id), _) => drop(twins.both(|world| world.release(id, particle))),
        (5, Some(id), _) => {
            let to = vector(input);
            drop(twins.both(|world| world.move_pin(id, particle, to)));
        }
        (6, Some(id), _) => {
            let to = vector(input);
            drop(twins.both(|world| world.set_position(id, particle, to)));
        }
        (7, Some(id), _) => {
            let to = vector(input);
            drop(twins.both(|world| world.set_velocity(id, particle, to)));
        }
        (8, Some(id), _) => {
            let force = vector(input);
            drop(twins.both(|world| world.set_force(id, particle, force)));
        }
        (9, Some(id), _) => {
            let edge = [particle, u32::from(input.byte() % 20)];
            drop(twins.both(|world| world.tear(id, edge)));
        }
        (10, ..) if twins.colliders.len() < 3 => {
            let size = input.number(0.5);
            let collider = match input.below(3) {
                0 => Collider::sphere(size),
                1 => Collider::cuboid([size, 0.2, input.number(0.5)]),
                _ => Collider::plane([0.0, 1.0, 0.0]),
            };
            let collider = collider.at([0.0, -input.number(1.0), 0.0]).with_friction(input.number(1.0));
            let id = twins.both(|world| world.add_collider(collider.clone()));
            twins.colliders.extend(id);
        }
        (11, ..) => {
            let Some(id) = twins.colliders.pop() else { return };
            twins.both(|world| world.remove_collider(id)).expect("it is there");
            assert!(twins.both(|world| world.remove_collider(id)).is_err(), "a stale collider");
        }
        (12, ..) => {
            let Some(&id) = twins.colliders.last() else { return };
            let to = Pose::at([input.number(1.0), input.number(1.0), 0.0]);
            drop(twins.both(|world| world.move_collider(id, to)));
        }
        (13, ..) if twins.rigid.len() < 4 => {
            let place = [input.within(1.0), input.within(1.0), input.within(1.0)];
            let solid = match input.below(3) {
                0 => RigidBody::sphere(input.number(0.3), input.number(500.0)),
                1 => RigidBody::cuboid([input.number(0.3), 0.1, 0.2], 200.0),
                _ => RigidBody::capsule(0.1, input.number(0.3), 100.0).kinematic(),
            };
            let id = twins.both(|world| world.add_rigid(&solid.clone().at(place)));
            twins.rigid.extend(id);
        }
        (14, _, Some(id)) => {
            if twins.both(|world| world.remove_rigid(id)).is_ok() {
                twins.rigid.retain(|other| *other != id);
                twins.gone_rigid.push(id);
            }
        }
        (15, Some(body), Some(id)) => {
            if input.byte().is_multiple_of(2) {
                drop(twins.both(|world| world.fasten(body, particle, id)));
            } else {
                drop(twins.both(|world| world.unfasten(body, particle)));
            }
        }
        (15, None, Some(id)) => {
            let impulse = vector(input);
            drop(twins.both(|world| world.strike_rigid(id, impulse, [0.0; 3])));
        }
        (16, ..) => {
            match input.below(4) {
                0 => revive(twins),
                2 => resume(twins),
                _ => {}
            }
            if twins.snapshots.len() < 3 {
                twins.snapshots.push(twins.worlds[0].snapshot());
            } else {
                let snapshot = twins.snapshots[input.below(3)].clone();
                let _ = twins.both(|world| world.restore(&snapshot));
            }
        }
        (17, ..) => describe_anew(twins, input, body, rigid),
        _ => {
            let dt = if input.byte() < 250 { 1.0 / 60.0 } else { input.number(1.0) as f32 };
            for _ in 0..1 + input.below(3) {
                let before = twins.worlds[0].time();
                match twins.both(|world| world.step(dt).map(drop)) {
                    Err(StepError::NotTorn(_)) | Ok(()) => {}
                    Err(_) => assert_eq!(twins.worlds[0].time(), before),
                }
            }
            let particles = twins.worlds[0].particles();
            assert!(particles.x.first_non_finite().is_none() && particles.v.first_non_finite().is_none(), "not finite");
        }
    }
}
