//! Worlds whose bodies flow and tear: the same bits on every backend and after every restore, and nothing else disturbed.
#![cfg(all(feature = "xpbd-colored", feature = "collision"))]
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use pliant::prelude::*;

const DT: f32 = 1.0 / 60.0;

fn worlds() -> Vec<World> {
    let names = Best::<f32>::names().into_iter();
    names.map(|name| World::on(Best::by_name(name, Some(2)).unwrap())).collect()
}

/// A cloth on two pinned sides, and a stranger beside it on either side of it in the model.
fn banner(world: &mut World) -> [BodyId; 3] {
    let stranger = |y: f64| Body::cloth(&ClothGrid::square(0.5, 6)).unwrap().translated([0.0, y, 0.0]).pinned([0, 5]);
    let first = world.add(stranger(3.0)).unwrap();
    let law = Plasticity { yields_at: 0.05, creep: 4.0, bound: 0.3 };
    let columns = 12;
    let sides = (0..columns).flat_map(|row| [row * columns, row * columns + columns - 1]);
    let cloth = Body::cloth(&ClothGrid::square(1.0, columns as usize)).unwrap().pinned(sides);
    let soft = [Role::Stretch, Role::Shear, Role::Bend].into_iter().fold(cloth, |b, r| b.with_compliance(r, 1e-4));
    let soft = soft.with_plasticity(Role::Stretch, law).with_tearing(Tearing::at_strain(0.35));
    let banner = world.add(soft).unwrap();
    let last = world.add(stranger(-3.0).with_plasticity(Role::Stretch, law)).unwrap();
    [first, banner, last]
}

/// Pulls one side of the banner away.
fn pull(world: &mut World, banner: BodyId, step: usize) {
    for row in 0..12 {
        let z = row as f32 / 11.0;
        world.move_pin(banner, row * 12 + 11, [1.0 + 0.012 * step as f32, 0.0, z]).unwrap();
    }
}

fn bits(world: &World, body: BodyId) -> Vec<[u32; 3]> {
    let (x, v) = (world.positions(body).unwrap(), world.velocities(body).unwrap());
    x.iter().chain(v.iter()).map(|vector| vector.map(f32::to_bits)).collect()
}

#[test]
fn a_banner_is_torn_to_the_same_bits_on_every_backend() {
    let mut seen: Option<(u64, Vec<TearEvent>)> = None;
    for mut world in worlds() {
        let [_, banner, _] = banner(&mut world);
        let mut indices = world.triangles(banner).unwrap().to_vec();
        let (mut events, mut vertices) = (Vec::new(), world.positions(banner).unwrap().len());
        for step in 1..=80 {
            pull(&mut world, banner, step);
            world.step(DT).unwrap();
            for event in world.tears() {
                assert!(event.body == banner && event.tear.strain > 0.35 && !event.tear.splits.is_empty());
                for split in &event.tear.splits {
                    assert_eq!(split.copy as usize, vertices, "copies are appended in order");
                    vertices += 1;
                    for &t in &split.triangles {
                        indices[t as usize].iter_mut().filter(|v| **v == split.vertex).for_each(|v| *v = split.copy);
                    }
                }
            }
            assert!(world.tears().len() <= 8);
            events.extend(world.tears().iter().cloned());
            assert_eq!(world.positions(banner).unwrap().len(), vertices);
        }
        assert_eq!(indices, world.triangles(banner).unwrap(), "reports are all one needs to follow");
        assert!(world.particles().x.first_non_finite().is_none());
        assert!(events.len() > 12, "only {} tears", events.len());
        let run = (world.state_hash(), events);
        assert_eq!(*seen.get_or_insert_with(|| run.clone()), run, "{}", world.backend().name());
    }
}

#[test]
fn a_tear_leaves_everything_else_as_it_was() {
    let mut world = World::new();
    world.watch_contacts(true);
    let floor = Collider::plane([0.0, 1.0, 0.0]).at([0.0, -3.2, 0.0]);
    world.add_collider(floor).unwrap();
    let all = banner(&mut world);
    let [first, banner, last] = all;
    world.set_force(last, 7, [0.0, 0.5, 0.0]).unwrap();
    for step in 1..=12 {
        pull(&mut world, banner, step);
        world.step(DT).unwrap();
    }
    assert!(world.tears().is_empty() && !world.contacts().is_empty());
    let momentum = |world: &World| {
        let mut sum = [0.0_f64; 6];
        for (i, &w) in world.model().inv_mass().iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let (x, v) = (world.particles().x.get(i).map(f64::from), world.particles().v.get(i).map(f64::from));
            for k in 0..3 {
                let (p, q) = ((k + 1) % 3, (k + 2) % 3);
                sum[k] += v[k] / f64::from(w);
                sum[3 + k] += (x[p] * v[q] - x[q] * v[p]) / f64::from(w);
            }
        }
        sum
    };
    let rest = |world: &World| -> Vec<u32> {
        let mut rest: Vec<u32> =
            world.model().constraints().distance.parameters()[0].iter().map(|l| l.to_bits()).collect();
        rest.sort_unstable();
        rest.dedup();
        rest
    };
    let touching = |world: &World| -> Vec<_> {
        let contacts = world.contacts().iter();
        contacts
            .map(|contact| match contact.pair {
                ContactPair::Collider { particle, .. } => world.locate(particle as usize).unwrap(),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    let before = (all.map(|body| bits(&world, body)), momentum(&world), rest(&world), touching(&world));
    let (pins, forces) = (world.model().pin_targets().clone(), world.environment().forces.clone().unwrap());

    let tear = world.tear(banner, [66, 67]).unwrap();
    assert_eq!((tear.edge, tear.splits.len(), tear.splits[0].copy), ([66, 67], 1, 144));
    let count = 144;
    assert_eq!(bits(&world, first), before.0[0]);
    assert_eq!(bits(&world, last), before.0[2]);
    let torn = bits(&world, banner);
    assert_eq!((&torn[..count], &torn[count + 1..2 * count + 1]), (&before.0[1][..count], &before.0[1][count..]));
    let vertex = tear.splits[0].vertex as usize;
    assert_eq!((torn[count], torn[2 * count + 1]), (torn[vertex], torn[count + 1 + vertex]), "a copy moves alike");
    for (old, new) in before.1.iter().zip(momentum(&world)) {
        assert!((old - new).abs() < 1e-7, "momentum {old} became {new}");
    }
    assert_eq!(rest(&world), before.2, "no rest length was lost or measured anew");
    assert_eq!(touching(&world), before.3, "contacts are of the same particles");
    assert_eq!((world.model().pin_targets(), world.body(banner).unwrap().pins().len()), (&pins, 24));
    let moved = world.model().body(2).unwrap().start;
    assert_eq!(world.environment().forces.as_ref().unwrap().get(moved + 7), forces.get(moved - 1 + 7));

    // Errors leave the world alone.
    let hash = world.state_hash();
    assert_eq!(world.tear(banner, [0, 143]), Err(BuildError::NotFound { what: "edge" }));
    assert_eq!(world.state_hash(), hash);
    // A body that does not tear by itself can be torn, and everything goes on.
    world.tear(first, [14, 15]).unwrap();
    for step in 13..=20 {
        pull(&mut world, banner, step);
        world.step(DT).unwrap();
    }
    assert!(world.particles().x.first_non_finite().is_none());
}

#[test]
fn snapshots_go_back_and_forth_across_tears() {
    let run = |world: &mut World, banner: BodyId, steps: core::ops::RangeInclusive<usize>| {
        for step in steps {
            pull(world, banner, step);
            world.step(DT).unwrap();
        }
        world.state_hash()
    };
    let mut world = World::new();
    let [_, body, _] = banner(&mut world);
    run(&mut world, body, 1..=25);
    let early = world.snapshot();
    let vertices = world.positions(body).unwrap().len();
    run(&mut world, body, 26..=50);
    let late = world.snapshot();
    let torn = world.positions(body).unwrap().len();
    assert!(torn > vertices, "it tore in between");
    let end = run(&mut world, body, 51..=70);

    world.restore(&early).unwrap();
    assert_eq!(world.positions(body).unwrap().len(), vertices, "mended");
    assert_eq!(run(&mut world, body, 26..=70), end);
    // What tore in the last step of a run that is undone is no news of the state that is gone back to.
    world.restore(&early).unwrap();
    let mut step = 26;
    while world.tears().is_empty() {
        run(&mut world, body, step..=step);
        step += 1;
    }
    world.restore(&early).unwrap();
    assert!(world.tears().is_empty());
    world.restore(&late).unwrap();
    assert_eq!(world.positions(body).unwrap().len(), torn);
    assert_eq!(run(&mut world, body, 51..=70), end);

    // In a world of another backend that never tore.
    for mut other in worlds() {
        let [_, same, _] = banner(&mut other);
        other.restore(&Snapshot::from_bytes(late.as_bytes()).unwrap()).unwrap();
        assert_eq!(other.triangles(same).unwrap().len(), world.triangles(body).unwrap().len());
        assert_eq!(run(&mut other, same, 51..=70), end, "{}", other.backend().name());
    }
    // A pin makes the tears part of the body.
    world.pin(body, 100).unwrap();
    assert!(world.restore(&early).is_err());
    let now = world.snapshot();
    let next = run(&mut world, body, 71..=75);
    world.restore(&now).unwrap();
    assert_eq!(run(&mut world, body, 71..=75), next);
}

#[test]
fn what_flowed_survives_a_rebuild_and_zero_creep_is_none_at_all() {
    let hung = |law: Option<Plasticity>| {
        let mut world = World::new();
        let cloth = Body::cloth(&ClothGrid::square(1.0, 8)).unwrap().with_mass(2.0).pinned([0, 7]);
        let soft = [Role::Stretch, Role::Shear, Role::Bend].into_iter().fold(cloth, |b, r| b.with_compliance(r, 1e-2));
        let soft = law.into_iter().fold(soft, |b, law| b.with_plasticity(Role::Stretch, law));
        let id = world.add(soft).unwrap();
        (world, id)
    };
    let law = Plasticity { yields_at: 0.02, creep: 2.0, bound: 0.5 };
    let (mut plain, _) = hung(None);
    let (mut still, _) = hung(Some(Plasticity { creep: 0.0, ..law }));
    let (mut flowing, id) = hung(Some(law));
    for _ in 0..60 {
        for world in [&mut plain, &mut still, &mut flowing] {
            world.step(DT).unwrap();
        }
        assert_eq!(plain.state_hash(), still.state_hash());
    }
    assert_ne!(plain.state_hash(), flowing.state_hash());
    let rest = |world: &World| world.model().constraints().distance.parameters()[0].clone();
    assert_eq!((rest(&plain), rest(&plain) == rest(&flowing)), (rest(&still), false));
    // Bodies come and go, pins too: rest lengths stay.
    let before = rest(&flowing);
    let other = flowing.add(Body::cloth(&ClothGrid::square(1.0, 3)).unwrap()).unwrap();
    assert_eq!(rest(&flowing)[..before.len()], before);
    flowing.pin(id, 20).unwrap();
    flowing.remove(other).unwrap();
    assert_eq!(rest(&flowing), before);
    // And in a snapshot.
    let snapshot = flowing.snapshot();
    flowing.step(DT).unwrap();
    let (end, after) = (flowing.state_hash(), rest(&flowing));
    flowing.restore(&snapshot).unwrap();
    assert_eq!(rest(&flowing), before);
    flowing.step(DT).unwrap();
    assert_eq!((flowing.state_hash(), rest(&flowing)), (end, after));
}

#[test]
fn torn_cloth_keeps_its_skin_and_its_distance() {
    let mut world = World::new();
    let contact = SelfContact { thickness: 0.02, ..SelfContact::default() };
    let cloth = Body::cloth(&ClothGrid::square(1.0, 10)).unwrap().with_self_contact(contact).with_thickness(0.01);
    let cloth = world.add(cloth).unwrap();
    let bone = world.add_bone(Pose::IDENTITY).unwrap();
    let skinning = Skinning {
        bones: vec![bone.into()],
        weights: vec![vec![(0, 1.0)]; 100],
        max_distance: vec![0.05; 100],
        backstop: Vec::new(),
    };
    world.skin(cloth, &skinning).unwrap();
    world.step(DT).unwrap();
    let mut tears = 0;
    for row in 1..9 {
        tears += usize::from(world.tear(cloth, [row * 10 + 4, row * 10 + 5]).is_ok());
    }
    assert!(tears >= 4);
    let snapshot = world.snapshot();
    let count = world.positions(cloth).unwrap().len();
    assert_eq!(world.model().skin().unwrap().particles().len(), count, "copies hang on the same bones");
    for _ in 0..30 {
        world.step(DT).unwrap();
    }
    let end = world.state_hash();
    for (i, x) in world.positions(cloth).unwrap().iter().enumerate() {
        assert!(x.iter().all(|c| c.is_finite()) && x[1] >= -0.0501 && x[1] < 0.05, "vertex {i} at {x:?}");
    }
    world.restore(&snapshot).unwrap();
    for _ in 0..30 {
        world.step(DT).unwrap();
    }
    assert_eq!(world.state_hash(), end);
}
