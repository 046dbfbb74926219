//! Full snapshots: worlds from bytes alone, with their handles; bytes that are none leave a world as it is.

use pliant::prelude::*;
use pliant::{SelfContact, parry3d};

const DT: f32 = 1.0 / 60.0;

fn run(world: &mut World, steps: usize) -> Result<(), StepError> {
    (0..steps).try_for_each(|_| world.step(DT).map(|_| ()))
}

/// One of everything, small.
fn various() -> Result<World, Error> {
    let mut world = World::new();
    world.watch_contacts(true);
    let dish = Shape::Cuboid { half: [0.5, 0.1, 0.5] }
        .difference(Shape::Sphere { radius: 0.3 }.translated([0.0, 0.2, 0.0]))
        .turned(Rotation::about([0.0, 1.0, 0.0], 0.3));
    let gone = world.add_collider(Collider::torus(0.3, 0.1))?;
    world.add_collider(Collider::new(dish).at([0.2, -0.3, 0.2]).with_friction(0.4))?;
    world.add_collider(Collider::mesh(&icosphere(0.2, 1)?, 4)?.at([-1.5, -0.6, 0.0]).with_restitution(0.3))?;
    world.remove_collider(gone)?;
    let tin = Plasticity { yields_at: 0.001, creep: 10.0, bound: 0.5 };
    let contact = SelfContact { thickness: 0.02, ..SelfContact::default() };
    let cloth = Body::cloth(&ClothGrid::square(0.5, 5))?
        .pinned([0])
        .attached(4, [0.5, 0.0, 0.0], 1e-3)
        .with_compliance(Role::Stretch, 1e-4)
        .with_plasticity(Role::Stretch, tin)
        .with_tethers(0.05)
        .with_thickness(0.01)
        .with_self_contact(contact)
        .with_tearing(Tearing::at_strain(0.5));
    let cloth = world.add(cloth)?;
    let gone = world.add(Body::particles([[9.0; 3]]))?;
    let gel = Body::solid_of(&Material::GEL, &tet_box([1; 3], [0.1; 3], Split::Five)?)?.translated([-1.5, 0.0, 0.0]);
    world.add(gel.with_cluster(0..4, Matching::soft(0.3).with_deformation(Deformation::Linear { share: 0.5 })))?;
    world.remove(gone)?;
    world.add(Body::balloon(&icosphere(0.1, 0)?, 1.1)?.translated([0.2, 0.4, 0.2]))?;
    let turn = Rotation::about([1.0, 2.0, 0.5], 0.7);
    let plank = Shape::Cuboid { half: [0.2, 0.03, 0.1] }.turned(turn).union(Shape::Sphere { radius: 0.05 });
    let plank = world.add_rigid(&RigidBody::new(plank, 300.0).at([2.0, 0.3, 0.0]).turned(turn))?;
    let stone = world.add_rigid(&RigidBody::convex(&icosphere(0.1, 0)?, 900.0)?.at([2.2, 0.6, 0.0]))?;
    let ground = world.add_rigid(&RigidBody::plane([0.0, 1.0, 0.0]).at([0.0, -1.0, 0.0]))?;
    let hinge = Joint::hinge([0, 0], [2.1, 0.45, 0.0], [0.0, 0.0, 1.0]).with_limits(-1.0, 1.0);
    world.join([plank, stone], hinge.with_motor(Motor::Speed { target: 1.0, damping: 0.1, limit: 1.0 }))?;
    world.set_rigid_options(RigidOptions { substeps: 6, ..RigidOptions::default() })?;
    let bone = world.add_bone(Pose::at([0.0, 0.0, 0.5]).turned(turn))?;
    let weights = (0..25).map(|i| if i >= 20 { vec![(0, 0.6), (1, 0.4)] } else { Vec::new() }).collect();
    // Not the plank, which cloth is tied to: limits that hang on it would pull it along without end.
    let bones = vec![bone.into(), ground.into()];
    world.skin(cloth, &Skinning { bones, weights, max_distance: vec![0.2; 25], backstop: Vec::new() })?;
    world.fasten(cloth, 24, plank)?;
    world.set_force(cloth, 12, [0.0, 0.1, 0.0])?;
    world.environment_mut().wind = Some(Wind { velocity: [1.0, 0.0, 0.0], density: 1.2, drag: 0.5, lift: 0.1 });
    // Joints were made where bodies no longer are.
    run(&mut world, 25)?;
    world.tear(cloth, [11, 12])?;
    run(&mut world, 5)?;
    world.move_pin(cloth, 0, [0.05, 0.0, 0.0])?;
    Ok(world)
}

#[test]
fn a_world_from_bytes_goes_on_with_the_same_bits_and_handles() -> Result<(), Error> {
    let mut world = various()?;
    let bytes = world.full_snapshot()?.as_bytes().to_vec();
    let mut other = World::new();
    // Whatever it was before.
    let stale = other.add(Body::particles([[0.0; 3]; 3]))?;
    other.restore_full(&Snapshot::from_bytes(&bytes)?)?;
    assert_eq!(other.snapshot(), world.snapshot());
    assert_eq!(other.full_snapshot()?.as_bytes(), bytes, "what was restored is what was taken");
    assert!(other.bodies().eq(world.bodies()) && other.rigid_ids() == world.rigid_ids());
    assert_eq!(other.positions(stale)?.len(), world.positions(stale)?.len(), "a number like any other");
    for step in 0..60 {
        if step == 20 {
            // Both are edited alike, and handles of what comes are the same.
            let edit = |world: &mut World| -> Result<(BodyId, ColliderId, RigidId, JointId), Error> {
                let ids: Vec<_> = world.bodies().collect();
                world.remove(ids[1])?;
                let collider = world.add_collider(Collider::sphere(0.1).at([5.0, 0.0, 0.0]))?;
                let rigid = world.add_rigid(&RigidBody::sphere(0.1, 100.0).at([2.0, 1.0, 0.0]))?;
                let joint = world.join([rigid, world.rigid_ids()[0]], Joint::ball([0, 0], [2.0, 0.8, 0.0]))?;
                world.move_pin(ids[0], 0, [0.0, 0.1, 0.0])?;
                Ok((world.add(Body::particles([[3.0, 0.0, 0.0]]))?, collider, rigid, joint))
            };
            assert_eq!(edit(&mut world)?, edit(&mut other)?);
        }
        run(&mut world, 1)?;
        run(&mut other, 1)?;
        assert_eq!(world.state_hash(), other.state_hash(), "step {step}");
        assert_eq!(world.contacts(), other.contacts(), "step {step}");
        assert_eq!(world.tears(), other.tears(), "step {step}");
    }
    let mut empty = World::new();
    empty.restore_full(&World::new().full_snapshot()?)?;
    assert_eq!(empty.bodies().len(), 0);
    Ok(())
}

/// The same snapshot with other bytes and a checksum to match.
fn forged(good: &Snapshot, change: impl FnOnce(&mut Vec<u8>)) -> Snapshot {
    let bytes = good.as_bytes();
    let fingerprint = u64::from_le_bytes(bytes[24..32].try_into().expect("eight bytes"));
    let mut state = bytes[32..bytes.len() - 8].to_vec();
    change(&mut state);
    Snapshot::new(fingerprint, |to| to.bytes(&state))
}

#[test]
fn bytes_that_are_none_are_refused_and_change_nothing() -> Result<(), Error> {
    let good = various()?.full_snapshot()?;
    let bytes = good.as_bytes();
    let mut world = World::new();
    let rope = Body::rope(&Rope::new(6, [0.0; 3], [1.0, 0.0, 0.0])?, true)?;
    world.add(rope.pinned([0]))?;
    world.add_rigid(&RigidBody::sphere(0.1, 100.0).at([0.0, -2.0, 0.0]))?;
    run(&mut world, 3)?;
    let before = world.full_snapshot()?;
    for at in (0..bytes.len()).step_by(7) {
        let mut bad = bytes.to_vec();
        bad[at] ^= 1 << (at % 8);
        assert!(Snapshot::from_bytes(&bad).is_err() && Snapshot::from_bytes(&bytes[..at]).is_err(), "byte {at}");
    }
    // Snapshots of one kind are not those of the other.
    assert!(matches!(world.restore_full(&world.snapshot()), Err(SnapshotError::Foreign { .. })));
    assert!(matches!(world.restore(&good), Err(SnapshotError::Foreign { .. })));

    // Forged ones, checksum included: an error and no change, or a world that can be described.
    let length = bytes.len() - 40;
    let (mut refused, mut tried) = (0, 0);
    let mut empty = World::new();
    let nothing = empty.full_snapshot()?;
    for at in (0..length).step_by(41) {
        let cut = forged(&good, |state| state.truncate(at));
        assert!(world.restore_full(&cut).is_err(), "cut at {at}");
        let bad = forged(&good, |state| state[at] ^= 0x80 >> (at % 8));
        for (world, before) in [(&mut world, &before), (&mut empty, &nothing)] {
            tried += 1;
            if let Err(error) = world.restore_full(&bad) {
                refused += 1;
                assert_eq!(world.full_snapshot()?, *before, "{error}");
            } else {
                // It may be odd; then a step says so.
                let _ = world.step(DT);
                world.restore_full(before)?;
            }
        }
    }
    assert!(refused > tried / 10, "{refused} of {tried} were refused");
    for lie in [u64::MAX, u64::MAX / 2, length as u64, 1 << 40] {
        let lying = forged(&good, |state| state[..8].copy_from_slice(&lie.to_le_bytes()));
        assert!(world.restore_full(&lying).is_err());
    }
    // A list that claims to be longer than all memory.
    let lying =
        forged(&good, |state| state[8..18].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]));
    assert_eq!(world.restore_full(&lying), Err(SnapshotError::Unreadable));
    assert_eq!(world.full_snapshot()?, before);
    run(&mut world, 3)?;
    Ok(())
}

#[test]
fn what_has_no_description_is_named() -> Result<(), Error> {
    let mut world = World::new();
    world.add_collider(Collider::sphere(0.1))?;
    assert!(world.full_snapshot().is_ok());
    let ball = Shape::Parry(parry3d::shape::SharedShape::ball(0.2).into());
    world.add_collider(Collider::new(Shape::Sphere { radius: 0.1 }.union(ball)))?;
    let refused = world.full_snapshot().map(|_| ());
    assert!(matches!(refused, Err(SnapshotError::Unwritable { what: "collider", row: 1, .. })), "{refused:?}");
    Ok(())
}

#[test]
fn shapes_that_nest_too_deep_to_be_read_are_not_written() -> Result<(), Error> {
    let ball = |radius: f64| Shape::Sphere { radius };
    let row_of = |count: u32| (1..count).fold(ball(0.1), |row, i| row.union(ball(0.1 + 0.001 * f64::from(i))));
    let mut world = World::new();
    world.add_collider(Collider::new(row_of(65)))?;
    assert_eq!(row_of(65).depth(), Shape::DEEPEST);
    World::new().restore_full(&world.full_snapshot()?)?;
    let deep = world.add_collider(Collider::new(row_of(66)))?;
    let refused = world.full_snapshot().map(|_| ());
    assert!(matches!(refused, Err(SnapshotError::Unwritable { what: "collider", row: 1, .. })), "{refused:?}");
    world.remove_collider(deep)?;
    assert!(world.full_snapshot().is_ok());
    // Unions become parts of a rigid body; what is cut out of a part stays in it.
    let cut = (0..65).fold(ball(0.5), |row, i| row.difference(ball(0.1 + 0.001 * f64::from(i))));
    world.add_rigid(&RigidBody::fixed(cut))?;
    let refused = world.full_snapshot().map(|_| ());
    assert!(matches!(refused, Err(SnapshotError::Unwritable { what: "rigid body", row: 0, .. })), "{refused:?}");
    Ok(())
}

#[test]
fn a_world_without_soft_bodies_does_not_depend_on_those_it_had() -> Result<(), Error> {
    let rigid = || -> Result<World, Error> {
        let mut world = World::new();
        world.add_rigid(&RigidBody::plane([0.0, 1.0, 0.0]))?;
        world.add_rigid(&RigidBody::cuboid([0.2; 3], 300.0).at([0.0, 0.15, 0.0]))?;
        run(&mut world, 10)?;
        Ok(world)
    };
    // A cloth that touches itself gives the solver something to remember.
    let visit = |world: &mut World| -> Result<(), Error> {
        let contact = SelfContact { thickness: 0.02, ..SelfContact::default() };
        let cloth = Body::cloth(&ClothGrid::square(0.5, 6))?.attached(0, [0.0; 3], 1e-3);
        let cloth = world.add(cloth.with_self_contact(contact).translated([0.0, 2.0, 0.0]))?;
        run(world, 2)?;
        Ok(world.remove(cloth)?)
    };
    let go_on_alike = |mut a: World, mut b: World| -> Result<(), Error> {
        for step in 0..20 {
            run(&mut a, 1)?;
            run(&mut b, 1)?;
            assert_eq!(a.state_hash(), b.state_hash(), "step {step}");
        }
        Ok(())
    };
    // Taken after a cloth was there, for a world that never had one.
    let mut world = rigid()?;
    visit(&mut world)?;
    let mut other = World::new();
    other.restore_full(&world.full_snapshot()?)?;
    go_on_alike(world, other)?;
    // The other way round.
    let (world, mut other) = (rigid()?, World::new());
    visit(&mut other)?;
    other.restore_full(&world.full_snapshot()?)?;
    go_on_alike(world, other)?;
    // A cloth comes and goes between taking and restoring.
    let (world, mut other) = (rigid()?, rigid()?);
    let snapshot = other.snapshot();
    visit(&mut other)?;
    other.restore(&snapshot)?;
    go_on_alike(world, other)
}

/// After 2³² − 1 bodies in one place its handles would begin again, and one that was removed long ago would name another body.
#[test]
fn a_place_whose_handles_are_used_up_is_retired() -> Result<(), Error> {
    let mut world = World::new();
    let gone = world.add(Body::particles([[0.0; 3]]))?;
    world.remove(gone)?;
    // A list of one place, one body removed from it, nobody in it: as if there had been 2³² − 2.
    let worn = forged(&world.full_snapshot()?, |state| {
        assert_eq!(state[8..11], [1, 1, 0]);
        state.splice(9..10, [0xfe, 0xff, 0xff, 0xff, 0x0f]);
        let length = u64::from_le_bytes(state[..8].try_into().expect("eight bytes")) + 4;
        state[..8].copy_from_slice(&length.to_le_bytes());
    });
    world.restore_full(&worn)?;
    let last = world.add(Body::particles([[0.0; 3]]))?;
    assert_eq!(last.to_bits(), (u64::from(u32::MAX - 1) << 32) | 1);
    world.remove(last)?;
    let next = world.add(Body::particles([[0.0; 3]]))?;
    assert_eq!(next.to_bits(), 2, "a new place, and not the first handle of the old one");
    assert!(world.contains(next) && !world.contains(last) && !world.contains(gone));
    Ok(())
}
