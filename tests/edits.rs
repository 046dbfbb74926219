//! Edits of a running world: what changes, what everything else keeps bit for bit, and what is refused.

use pliant::prelude::*;
use pliant::{Cluster, SelfContact};

const DT: f32 = 1.0 / 60.0;

fn run(world: &mut World, steps: usize) -> Result<(), StepError> {
    (0..steps).try_for_each(|_| world.step(DT).map(|_| ()))
}

/// Every bit of a body's positions and velocities.
fn bits(world: &World, id: BodyId) -> Result<Vec<[u32; 6]>, BuildError> {
    let (x, v) = (world.positions(id)?, world.velocities(id)?);
    Ok(x.iter().zip(v.iter()).map(|(x, v)| [x[0], x[1], x[2], v[0], v[1], v[2]].map(f32::to_bits)).collect())
}

/// A world in which everything remembers something.
struct Busy {
    world: World,
    cloth: BodyId,
    can: BodyId,
    rope: BodyId,
    ball: ColliderId,
    boxes: [RigidId; 3],
    joint: JointId,
    bone: BoneId,
}

fn busy() -> Result<Busy, Error> {
    let mut world = World::new();
    world.watch_contacts(true);
    world.add_collider(Collider::plane([0.0, 1.0, 0.0]).at([0.0, -1.0, 0.0]).with_friction(0.5))?;
    let ball = world.add_collider(Collider::sphere(0.3).at([0.5, -0.4, 0.5]).with_friction(0.3))?;
    let contact = SelfContact { thickness: 0.02, ..SelfContact::default() };
    let cloth = Body::cloth(&ClothGrid::square(1.0, 16))?.pinned([0]).with_thickness(0.01).with_self_contact(contact);
    let cloth = world.add(cloth)?;
    let tin = Plasticity { yields_at: 0.001, creep: 20.0, bound: 0.5 };
    let can = Body::surface(&icosphere(0.2, 2)?, Bending::Dihedral)?
        .translated([-0.6, -0.7, 0.0])
        .with_compliance(Role::Stretch, 1e-4)
        .with_compliance(Role::Bend, 1e-2)
        .with_plasticity(Role::Stretch, tin)
        .with_plasticity(Role::Bend, tin);
    let can = world.add(can)?;
    let rope = Body::rope(&Rope::new(12, [2.0, 0.0, 0.0], [3.0, 0.0, 0.0])?, true)?;
    let dough = Matching::soft(0.4).with_plasticity(Plasticity { yields_at: 0.01, creep: 5.0, bound: 0.5 });
    let rope = rope.attached(0, [2.0, 0.0, 0.0], 1e-4).with_cluster([8, 9, 10, 11, 12], dough);
    let rope = world.add(rope)?;
    let mut boxes = Vec::new();
    for i in 0..3 {
        let at = [-2.0, -0.89 + 0.21 * f64::from(i), 0.0];
        boxes.push(world.add_rigid(&RigidBody::cuboid([0.2; 3], 300.0).at(at))?);
    }
    let boxes: [RigidId; 3] = boxes.try_into().expect("three boxes");
    let joint = world.join([boxes[1], boxes[2]], Joint::ball([0, 0], [-2.0, -0.57, 0.0]))?;
    let hook = world.add_rigid(&RigidBody::sphere(0.05, 500.0).at([3.0, -0.2, 0.0]))?;
    world.fasten(rope, 12, hook)?;
    let bone = world.add_bone(Pose::at([0.0, 0.0, 1.0]))?;
    let mut skinning = Skinning { bones: vec![bone.into()], ..Skinning::default() };
    skinning.weights = (0..256).map(|i| if i >= 240 { vec![(0, 1.0)] } else { Vec::new() }).collect();
    skinning.max_distance = vec![0.05; 256];
    world.skin(cloth, &skinning)?;
    world.set_force(rope, 6, [0.0, 0.0, 0.1])?;
    run(&mut world, 40)?;
    world.move_pin(cloth, 0, [0.05, 0.1, 0.0])?;
    world.move_attachment(rope, 0, [2.05, 0.1, 0.0])?;
    world.move_collider(ball, Pose::at([0.5, -0.38, 0.5]))?;
    world.move_bone(bone, Pose::at([0.02, 0.0, 1.0]))?;
    Ok(Busy { world, cloth, can, rope, ball, boxes, joint, bone })
}

#[test]
fn an_edit_that_changes_nothing_changes_nothing_that_follows() -> Result<(), Error> {
    let mut straight = busy()?.world;
    let Busy { world: mut edited, cloth, can, rope, ball, boxes, .. } = busy()?;
    assert!(straight.contacts().len() > 10, "things touch");
    let before = edited.snapshot();
    for id in [cloth, can, rope] {
        edited.edit(id, Ok)?;
        assert_eq!(edited.snapshot(), before, "state, flow and memories");
    }
    edited.edit_collider(ball, |ball| ball)?;
    for id in boxes {
        edited.edit_rigid(id, |body| body)?;
    }
    for _ in 0..30 {
        run(&mut straight, 1)?;
        run(&mut edited, 1)?;
        assert_eq!(straight.state_hash(), edited.state_hash());
        assert_eq!(straight.contacts(), edited.contacts());
    }
    Ok(())
}

#[test]
fn an_edit_changes_what_it_says_and_others_keep_every_bit() -> Result<(), Error> {
    let Busy { mut world, cloth, can, rope, ball, .. } = busy()?;
    let before = [bits(&world, cloth)?, bits(&world, can)?, bits(&world, rope)?];
    let flowed = world.model().constraints().distance.parameters()[0].clone();
    let [pins, targets] = [world.model().pin_targets().clone(), world.model().attachment_targets().clone()];
    let mass: f64 = world.body(cloth)?.masses().iter().sum();

    world.edit(cloth, |body| Ok(body.with_mass(2.0 * mass).with_compliance(Role::Bend, 0.5).translated([9.0; 3])))?;
    world.edit_collider(ball, |ball| ball.with_friction(0.9).with_restitution(0.1))?;
    assert_eq!(before, [bits(&world, cloth)?, bits(&world, can)?, bits(&world, rope)?], "also where it is itself");
    assert_eq!(world.model().constraints().distance.parameters()[0], flowed, "and what flowed elsewhere");
    assert_eq!([&pins, &targets], [world.model().pin_targets(), world.model().attachment_targets()]);
    let now: f64 = world.model().inv_mass()[1..256].iter().map(|w| f64::from(1.0 / w)).sum();
    let pinned = world.body(cloth)?.masses()[0];
    assert!((now + pinned - 2.0 * mass).abs() < 1e-5 * mass, "{now} kg");
    assert_eq!(world.collider(ball)?.friction, 0.9);
    run(&mut world, 2)?;

    // Constraints that come and go, next to some that flowed.
    let links = world.body(can)?.tables().distance.ids.clone();
    let first = world.model().body(1).expect("the can").start as u32;
    let lengths = |world: &World| {
        let set = &world.model().constraints().distance;
        let rows = set.ids().iter().zip(&set.parameters()[0]);
        rows.map(|(ids, length)| (ids.map(|id| id.wrapping_sub(first)), *length)).collect::<Vec<_>>()
    };
    let old = lengths(&world);
    world.edit(can, |mut body| {
        let rows = body.tables_mut();
        rows.distance.ids.swap(3, 4);
        rows.distance.parameters.swap(3, 4);
        rows.distance.push(Role::Stretch, 0, [0, 5], [0.3]);
        Ok(body)
    })?;
    let new = lengths(&world);
    assert_eq!(new.len(), old.len() + 1);
    assert!(links.iter().all(|ids| old.iter().find(|o| o.0 == *ids) == new.iter().find(|n| n.0 == *ids)));
    // Another rest shape is one that has not flowed.
    world.edit(can, |mut body| {
        body.tables_mut().distance.parameters[0] = [0.123];
        Ok(body)
    })?;
    assert!(lengths(&world).contains(&(links[0], 0.123)));

    // An attachment that is still the same goes on; another one starts where it is described.
    world.edit(rope, |body| Ok(body.attached(3, [2.3, 0.2, 0.0], 1e-3)))?;
    assert_eq!(world.model().attachment_targets().get(0), [2.05, 0.1, 0.0]);
    assert_eq!(world.model().attachment_targets().get(1), [2.3, 0.2, 0.0]);
    run(&mut world, 2)?;
    Ok(())
}

#[test]
fn merged_bodies_keep_every_bit() -> Result<(), Error> {
    let Busy { mut world, cloth, can, rope, .. } = busy()?;
    // What there is one of must be equal.
    let tin = world.body(can)?.plasticity().to_vec();
    world.edit(rope, |mut body| {
        *body.plasticity_mut() = tin;
        Ok(body)
    })?;
    run(&mut world, 3)?;
    world.move_pin(cloth, 0, [0.1, 0.1, 0.0])?;
    world.move_attachment(rope, 0, [2.1, 0.1, 0.0])?;
    let parts = [bits(&world, rope)?, bits(&world, can)?].concat();
    let (aside, targets) = (bits(&world, cloth)?, world.model().attachment_targets().clone());
    let mut flowed: Vec<f32> = world.model().constraints().distance.parameters()[0].clone();
    let contacts = world.contacts().len();

    let both = world.merge(&[rope, can])?;
    assert_eq!((bits(&world, both)?, bits(&world, cloth)?), (parts, aside));
    assert_eq!(world.bodies().collect::<Vec<_>>(), [cloth, both]);
    assert_eq!(world.model().attachment_targets(), &targets);
    let mut now: Vec<f32> = world.model().constraints().distance.parameters()[0].clone();
    flowed.sort_by(f32::total_cmp);
    now.sort_by(f32::total_cmp);
    assert_eq!(flowed, now, "rest lengths that flowed");
    assert_eq!(world.contacts().len(), contacts);
    assert_eq!(world.environment().forces.as_ref().map(|f| f.get(256 + 6)), Some([0.0, 0.0, 0.1]));
    assert_eq!(world.body(both)?.clusters()[0].particles, [8, 9, 10, 11, 12]);
    run(&mut world, 5)?;
    // The hook still hangs on the rope's end, particle 12 of the whole.
    world.unfasten(both, 12)?;

    // A skinned body takes its bones along: particle 240 + 13 of what comes is the cloth's 240.
    let rope = world.add(Body::rope(&Rope::new(12, [2.0, 1.0, 0.0], [3.0, 1.0, 0.0])?, false)?)?;
    let contact = *world.body(cloth)?.self_contact().expect("it keeps clear of itself");
    world.edit(rope, |body| Ok(body.with_self_contact(contact)))?;
    let whole = world.merge(&[rope, cloth])?;
    run(&mut world, 1)?;
    let skin = world.model().skin().expect("a skin").particles().to_vec();
    let first = world.model().body(1).expect("the whole").start as u32;
    assert_eq!(skin, (first + 13 + 240..first + 13 + 256).collect::<Vec<_>>());
    world.unskin(whole)?;
    run(&mut world, 1)?;
    Ok(())
}

/// A cube of eight particles that keeps its dents.
fn dough(at: [f64; 3]) -> Body {
    let corners = (0..8).map(|i| [i % 2, i / 2 % 2, i / 4].map(|c| 0.2 * f64::from(c)));
    let plasticity = Plasticity { yields_at: 0.02, creep: 20.0, bound: 0.5 };
    Body::particles(corners).with_cluster(0..8, Matching::soft(0.5).with_plasticity(plasticity)).translated(at)
}

/// How high each cube of a body is, however it is turned \[m\].
fn heights(world: &World, id: BodyId) -> Result<Vec<f32>, BuildError> {
    let x: Vec<[f32; 3]> = world.positions(id)?.iter().collect();
    let edge = |x: &[[f32; 3]]| (0..3).map(|k| (x[2][k] - x[0][k]).powi(2)).sum::<f32>().sqrt();
    Ok(x.chunks(8).map(edge).collect())
}

#[test]
fn dents_stay_with_their_clusters_whoever_comes_and_goes() -> Result<(), Error> {
    let mut world = World::new();
    world.environment_mut().gravity = [0.0; 3];
    let places = [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]];
    let [low, high, plain] = places.map(|at| world.add(dough(at)));
    let (low, high, plain) = (low?, high?, plain?);
    // Held in another shape of the same volume until that is theirs.
    for _ in 0..20 {
        for (id, squeeze, place) in [(low, 0.8_f64, places[0]), (high, 1.25, places[1])] {
            let across = 1.0 / squeeze.sqrt();
            for (i, corner) in dough(place).positions().to_vec().into_iter().enumerate() {
                let to = [place[0] + across * (corner[0] - place[0]), squeeze * corner[1], across * corner[2]];
                world.set_position(id, i as u32, to.map(|c| c as f32))?;
                world.set_velocity(id, i as u32, [0.0; 3])?;
            }
        }
        run(&mut world, 1)?;
    }
    run(&mut world, 60)?;
    let mut dented = Vec::new();
    for id in [low, high, plain] {
        dented.extend(heights(&world, id)?);
    }
    assert!(dented[0] < 0.185 && dented[1] > 0.215 && (dented[2] - 0.2).abs() < 1e-4, "{dented:?} m");

    let check = |world: &mut World, both: &[BodyId], what: &str| -> Result<(), Error> {
        run(world, 30)?;
        let mut now = Vec::new();
        for &id in both {
            now.extend(heights(world, id)?);
        }
        let kept = now.iter().zip(&dented).all(|(now, before)| (now - before).abs() < 1e-3);
        assert!(kept && now.len() == 3, "{what}: {now:?} m, {dented:?} m before");
        Ok(())
    };
    // Equal bodies: all numbers stay what they are, and the last is the first now.
    let both = world.merge(&[low, high])?;
    assert_eq!(world.bodies().collect::<Vec<_>>(), [plain, both]);
    let all = [both, plain];
    check(&mut world, &all, "merged")?;
    let guest = world.add(Body::particles([[9.0, 0.0, 0.0]; 2]))?;
    check(&mut world, &all, "another body")?;
    world.remove(guest)?;
    check(&mut world, &all, "it is gone")?;
    // A pin weighs more than all others: the cluster has other principal axes.
    world.pin(both, 3)?;
    check(&mut world, &all, "pinned")?;
    world.release(both, 3)?;
    check(&mut world, &all, "released")?;
    world.edit(both, |body| Ok(body.with_masses((0..16).map(|i| 1.0 + f64::from(i % 5)))))?;
    check(&mut world, &all, "uneven masses")?;
    for method in ["pbd", "shape-matching"] {
        world.set_method(Method::by_name(method)?)?;
        check(&mut world, &all, method)?;
    }
    // A cluster that does not flow has the shape it was made with.
    world.edit(both, |mut body| {
        body.clusters_mut()[0].matching.plasticity = None;
        Ok(body)
    })?;
    run(&mut world, 60)?;
    let now = heights(&world, both)?;
    assert!((now[0] - 0.2).abs() < 1e-3 && (now[1] - dented[1]).abs() < 1e-3, "{now:?} m");
    Ok(())
}

#[test]
fn attachments_that_stay_keep_their_targets_in_any_row() -> Result<(), Error> {
    let rope = || Body::rope(&Rope::new(8, [0.0; 3], [1.0, 0.0, 0.0])?, true);
    let end = |body: Body| body.attached(8, [1.0, 0.0, 0.0], 1e-3).attached(8, [1.0, 0.0, 0.0], 1e-3);
    let mut world = World::new();
    let body = end(rope()?.attached(0, [0.0; 3], 1e-3).attached(4, [0.5, 0.0, 0.0], 1e-3));
    let body = world.add(body)?;
    run(&mut world, 2)?;
    let sent = [[0.0, 0.1, 0.0], [0.5, 0.1, 0.0], [1.0, 0.1, 0.0], [1.0, 0.2, 0.0_f32]];
    for (row, to) in sent.into_iter().enumerate() {
        world.move_attachment(body, row, to)?;
    }
    let targets = |world: &World| world.model().attachment_targets().iter().collect::<Vec<_>>();
    assert_eq!(targets(&world), sent);
    // Without the first; the two at the end are alike but for their order.
    let fewer = end(rope()?.attached(4, [0.5, 0.0, 0.0], 1e-3));
    world.edit(body, |_| Ok(fewer))?;
    assert_eq!(targets(&world), sent[1..]);
    // In another order, and next to one that nobody has seen.
    let more = end(rope()?.attached(2, [0.25, 0.3, 0.0], 1e-3)).attached(4, [0.5, 0.0, 0.0], 1e-3);
    world.edit(body, |_| Ok(more))?;
    assert_eq!(targets(&world), [[0.25, 0.3, 0.0], sent[2], sent[3], sent[1]]);
    run(&mut world, 1)?;
    Ok(())
}

#[test]
fn refused_edits_leave_the_world_as_it_was() -> Result<(), Error> {
    let Busy { mut world, cloth, can, rope, ball, .. } = busy()?;
    let balloon = world.add(Body::balloon(&icosphere(0.2, 1)?, 1.0)?.translated([5.0, 0.0, 0.0]))?;
    run(&mut world, 1)?;
    let before = world.snapshot();
    let refused =
        |world: &mut World, edit: fn(Body) -> Result<Body, BuildError>| world.edit(cloth, edit).expect_err("refused");
    let length = refused(&mut world, |_| Ok(Body::particles([[0.0; 3]])));
    assert!(matches!(length, BuildError::Length { found: 1, expected: 256, .. }), "{length}");
    assert_eq!(refused(&mut world, |_| Err(BuildError::Empty)), BuildError::Empty);
    for edit in [
        |body: Body| Ok(body.with_mass(f64::NAN)),
        |body: Body| Ok(body.with_compliance(Role::Stretch, -1.0)),
        |body: Body| Ok(body.pinned([256])),
        |body: Body| Ok(body.with_tethers(f64::NAN)),
        |mut body: Body| {
            body.tables_mut().distance.ids[5] = [7, 7];
            Ok(body)
        },
        |mut body: Body| {
            body.tables_mut().distance.ids.pop();
            Ok(body)
        },
        |mut body: Body| {
            body.clusters_mut().push(Cluster { particles: vec![999], matching: Matching::RIGID });
            Ok(body)
        },
    ] {
        let _ = refused(&mut world, edit);
    }
    assert!(world.edit_collider(ball, |ball| ball.with_friction(-1.0)).is_err());
    assert!(world.edit_collider(ball, |ball| Collider { shape: Shape::Sphere { radius: 0.0 }, ..ball }).is_err());
    assert!(world.edit_collider(ball, |ball| ball.at([f64::NAN; 3])).is_err());
    assert_eq!(world.merge(&[can, rope, can]), Err(BuildError::MergedTwice { row: 2, first: 0 }));
    assert_eq!(world.merge(&[]), Err(BuildError::NothingToMerge));
    for pair in [[rope, can], [cloth, rope], [balloon, rope], [rope, balloon]] {
        assert!(matches!(world.merge(&pair), Err(BuildError::Unsupported { row: 1, .. })));
    }
    // A solver that cannot carry what an edit makes of a body keeps what it remembers of the rest.
    let shell = |mut body: Body| {
        body.tables_mut().cubic_shell.push(Role::Bend, 0, [0, 1, 16, 17], [0.1; 12]);
        Ok(body)
    };
    assert!(world.edit(cloth, shell).is_err());
    assert_eq!(world.snapshot(), before);
    run(&mut world, 2)?;
    Ok(())
}

#[test]
fn rigid_bodies_and_colliders_come_and_go_without_a_jolt() -> Result<(), Error> {
    let Busy { mut world, boxes, .. } = busy()?;
    run(&mut world, 60)?;
    let heights = |world: &World| boxes.map(|id| world.rigid_pose(id).map_or(f64::NAN, |pose| pose.translation[1]));
    let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-6);
    // What the stack does when nothing happens.
    let calm = world.snapshot();
    run(&mut world, 1)?;
    let undisturbed = heights(&world);
    run(&mut world, 1)?;
    let later = heights(&world);
    world.restore(&calm)?;

    let far = world.add_collider(Collider::sphere(0.1).at([50.0, 0.0, 0.0]))?;
    let guest = world.add_rigid(&RigidBody::sphere(0.1, 100.0).at([60.0, 0.0, 0.0]))?;
    // What the next step starts from is in a snapshot that is taken now.
    let snapshot = world.snapshot();
    run(&mut world, 1)?;
    let after = world.state_hash();
    assert!(near(heights(&world), undisturbed), "{:?} m, undisturbed {undisturbed:?}", heights(&world));
    world.restore(&snapshot)?;
    run(&mut world, 1)?;
    assert_eq!(world.state_hash(), after);
    world.edit_rigid(guest, |body| body.with_friction(0.1))?;
    assert!(world.edit_rigid(guest, |body| body.with_friction(-0.1)).is_err());
    world.remove_rigid(guest)?;
    world.remove_collider(far)?;
    run(&mut world, 1)?;
    assert!(near(heights(&world), later), "{:?} m, undisturbed {later:?}", heights(&world));
    Ok(())
}

#[test]
fn every_edit_refuses_a_stale_handle() -> Result<(), Error> {
    let Busy { mut world, cloth, can, rope, ball, boxes, joint, bone } = busy()?;
    let (body, rigid) = (rope, boxes[2]);
    world.remove(body)?;
    world.remove_collider(ball)?;
    world.remove_rigid(rigid)?;
    let stale_bone = world.add_bone(Pose::IDENTITY)?;
    world.remove_bone(stale_bone)?;
    // Their places are taken again: by others.
    world.add_bone(Pose::IDENTITY)?;
    world.add(Body::particles([[7.0, 0.0, 0.0]; 13]))?;
    world.add_collider(Collider::sphere(0.1).at([9.0, 0.0, 0.0]))?;
    world.add_rigid(&RigidBody::sphere(0.1, 100.0).at([8.0, 0.0, 0.0]))?;
    run(&mut world, 1)?;
    let before = world.snapshot();
    let skinning = Skinning::default();
    type Edit<'a> = (&'static str, Box<dyn Fn(&mut World) -> Result<(), BuildError> + 'a>);
    let edits: Vec<Edit<'_>> = vec![
        ("body", Box::new(|w| w.remove(body))),
        ("body", Box::new(|w| w.edit(body, Ok))),
        ("body", Box::new(|w| w.merge(&[can, body]).map(|_| ()))),
        ("body", Box::new(|w| w.pin(body, 0))),
        ("body", Box::new(|w| w.move_pin(body, 0, [0.0; 3]))),
        ("body", Box::new(|w| w.release(body, 0))),
        ("body", Box::new(|w| w.move_attachment(body, 0, [0.0; 3]))),
        ("body", Box::new(|w| w.set_force(body, 0, [0.0; 3]))),
        ("body", Box::new(|w| w.set_velocity(body, 0, [0.0; 3]))),
        ("body", Box::new(|w| w.set_position(body, 0, [0.0; 3]))),
        ("body", Box::new(|w| w.tear(body, [0, 1]).map(|_| ()))),
        ("body", Box::new(|w| w.skin(body, &skinning))),
        ("body", Box::new(|w| w.unskin(body))),
        ("body", Box::new(|w| w.fasten(body, 0, boxes[0]))),
        ("fastening", Box::new(|w| w.unfasten(body, 12))),
        ("rigid body", Box::new(|w| w.fasten(can, 0, rigid))),
        ("collider", Box::new(|w| w.remove_collider(ball))),
        ("collider", Box::new(|w| w.edit_collider(ball, |ball| ball))),
        ("collider", Box::new(|w| w.move_collider(ball, Pose::IDENTITY))),
        ("rigid body", Box::new(|w| w.remove_rigid(rigid))),
        ("rigid body", Box::new(|w| w.edit_rigid(rigid, |body| body))),
        ("rigid body", Box::new(|w| w.set_rigid_pose(rigid, Pose::IDENTITY))),
        ("rigid body", Box::new(|w| w.send_rigid(rigid, Pose::IDENTITY))),
        ("rigid body", Box::new(|w| w.push_rigid(rigid, [0.0; 3], [0.0; 3]))),
        ("rigid body", Box::new(|w| w.strike_rigid(rigid, [0.0; 3], [0.0; 3]))),
        ("rigid body", Box::new(|w| w.join([boxes[0], rigid], Joint::ball([0, 0], [0.0; 3])).map(|_| ()))),
        ("joint", Box::new(|w| w.unjoin(joint))),
        ("bone", Box::new(|w| w.move_bone(stale_bone, Pose::IDENTITY))),
        ("bone", Box::new(|w| w.remove_bone(stale_bone))),
    ];
    for (at, (what, edit)) in edits.iter().enumerate() {
        assert_eq!(edit(&mut world), Err(BuildError::NotFound { what }), "edit {at}");
        assert_eq!(world.snapshot(), before, "edit {at}");
    }
    assert!(world.contains(cloth) && world.bone(bone).is_ok());
    Ok(())
}
