//! Worlds: handles, kept state, pins that come and go, and errors that change nothing.

use pliant::prelude::*;
use pliant_harness::instances::Instances;

const DT: f32 = 1.0 / 60.0;

fn cloth(n: usize) -> Result<Body, BuildError> {
    Body::cloth(&ClothGrid::square(1.0, n))
}

fn rope() -> Result<Body, Error> {
    Ok(Body::rope(&Rope::new(10, [3.0, 0.0, 0.0], [4.0, 0.0, 0.0])?, true)?)
}

fn run(world: &mut World, steps: usize) -> Result<(), StepError> {
    (0..steps).try_for_each(|_| world.step(DT).map(|_| ()))
}

/// Every bit of a body's positions and velocities.
fn bits(world: &World, id: BodyId) -> Result<Vec<[u32; 6]>, BuildError> {
    let (x, v) = (world.positions(id)?, world.velocities(id)?);
    Ok(x.iter().zip(v.iter()).map(|(x, v)| [x[0], x[1], x[2], v[0], v[1], v[2]].map(f32::to_bits)).collect())
}

/// A world with a swinging cloth and an attached rope, some way into its motion, with moved targets and a force.
fn busy() -> Result<(World, BodyId, BodyId), Error> {
    let mut world = World::new();
    let cloth = world.add(cloth(12)?.pinned([0, 11]).with_tethers(0.1))?;
    let rope = world.add(rope()?.attached(0, [3.0, 0.0, 0.0], 1e-4))?;
    world.environment_mut().damping = 0.1;
    world.set_force(rope, 10, [0.0, 0.0, 0.2])?;
    run(&mut world, 15)?;
    world.move_pin(cloth, 11, [0.8, 0.1, 0.2])?;
    world.move_attachment(rope, 0, [3.2, 0.1, 0.0])?;
    Ok((world, cloth, rope))
}

#[test]
fn adding_and_removing_keeps_the_others_bit_for_bit() -> Result<(), Error> {
    let (mut world, cloth_id, rope_id) = busy()?;
    let before = [bits(&world, cloth_id)?, bits(&world, rope_id)?];
    let (pins, targets) = (world.model().pin_targets().clone(), world.model().attachment_targets().clone());

    let solid = world.add(Body::solid(&tet_box([2, 2, 2], [0.2, 0.2, 0.2], Split::Five)?)?)?;
    assert_eq!(before, [bits(&world, cloth_id)?, bits(&world, rope_id)?]);
    assert_eq!(world.model().pin_targets(), &pins);
    assert_eq!(world.model().attachment_targets(), &targets);
    assert_eq!(world.environment().damping, 0.1);
    let force = |world: &World, at| world.environment().forces.as_ref().map(|f| f.get(at));
    assert_eq!(force(&world, 144 + 10), Some([0.0, 0.0, 0.2]));
    assert_eq!(force(&world, 144 + 11), Some([0.0; 3]));

    world.remove(cloth_id)?;
    assert_eq!(before[1], bits(&world, rope_id)?);
    assert_eq!(world.model().attachment_targets(), &targets);
    assert_eq!(force(&world, 10), Some([0.0, 0.0, 0.2]));
    assert_eq!(world.bodies().collect::<Vec<_>>(), [rope_id, solid]);
    run(&mut world, 3)?;
    Ok(())
}

#[test]
fn bodies_added_together_are_bodies_added_one_by_one() -> Result<(), Error> {
    let bodies = || -> Result<Vec<Body>, Error> { Ok(vec![cloth(6)?.pinned([0]), rope()?, cloth(5)?.pinned([4])]) };
    let (mut together, first, _) = busy()?;
    let (mut one_by_one, ..) = busy()?;
    let ids = together.add_all(bodies()?)?;
    let others = bodies()?.into_iter().map(|body| one_by_one.add(body)).collect::<Result<Vec<_>, _>>()?;
    assert_eq!(ids, others, "the same handles");
    run(&mut together, 20)?;
    run(&mut one_by_one, 20)?;
    for id in ids.into_iter().chain([first]) {
        assert_eq!(bits(&together, id)?, bits(&one_by_one, id)?);
    }
    // One that is wrong: none is added.
    let before = together.snapshot();
    let mut wrong = bodies()?;
    wrong.push(cloth(4)?.with_mass(f64::NAN));
    together.add_all(wrong).expect_err("a mass that is no number");
    assert!(together.snapshot() == before);
    assert!(together.add_all([])?.is_empty());
    Ok(())
}

#[test]
fn a_rebuild_does_not_change_what_follows() -> Result<(), Error> {
    // A rope that comes and goes, between orders to targets and the step that carries them out.
    let (mut straight, cloth_id, rope_id) = busy()?;
    let (mut detour, ..) = busy()?;
    let guest = detour.add(Body::particles([[9.0, 0.0, 0.0]]))?;
    detour.remove(guest)?;
    run(&mut straight, 5)?;
    run(&mut detour, 5)?;
    assert_eq!(bits(&straight, cloth_id)?, bits(&detour, cloth_id)?);
    assert_eq!(bits(&straight, rope_id)?, bits(&detour, rope_id)?);
    assert_eq!(straight.state_hash(), detour.state_hash());
    Ok(())
}

#[test]
fn stale_handles_are_refused() -> Result<(), Error> {
    let mut world = World::new();
    let first = world.add(cloth(4)?)?;
    let second = world.add(rope()?)?;
    world.remove(first)?;
    // The place is taken again, the handle is not.
    let third = world.add(cloth(5)?)?;
    assert_ne!(first, third);
    assert!(!world.contains(first) && world.contains(second) && world.contains(third));
    let gone = Err(BuildError::NotFound { what: "body" });
    assert_eq!(world.remove(first), gone);
    assert_eq!(world.positions(first).map(|_| ()), gone);
    assert_eq!(world.velocities(first).map(|_| ()), gone);
    assert_eq!(world.vertices(first).map(|_| ()), gone);
    assert_eq!(world.triangles(first).map(|_| ()), gone);
    assert_eq!(world.pin(first, 0), gone);
    assert_eq!(world.release(first, 0), gone);
    assert_eq!(world.move_pin(first, 0, [0.0; 3]), gone);
    assert_eq!(world.move_attachment(first, 0, [0.0; 3]), gone);
    assert_eq!(world.set_force(first, 0, [0.0; 3]), gone);
    assert_eq!(world.positions(second)?.len(), 11);
    assert_eq!(world.positions(third)?.len(), 25);
    assert_eq!(world.locate(11 + 7), Some((third, 7)));
    assert_eq!(world.locate(36), None);
    Ok(())
}

#[test]
fn pins_arrive_exactly_where_they_are_sent() -> Result<(), Error> {
    let mut world = World::new();
    let id = world.add(cloth(8)?.pinned([0, 7]))?;
    for step in 1..=20 {
        let target = [0.1 / step as f32, 0.013 * step as f32, -0.007 * step as f32];
        world.move_pin(id, 7, target)?;
        world.step(DT)?;
        assert_eq!(world.positions(id)?.get(7), target);
        assert_eq!(world.positions(id)?.get(0), [0.0; 3]);
    }
    // It travels in a straight line at constant speed: its velocity is the way over the time.
    let from = world.positions(id)?.get(7);
    world.move_pin(id, 7, [from[0] + 0.1, from[1], from[2]])?;
    world.step(DT)?;
    let [vx, vy, vz] = world.velocities(id)?.get(7);
    assert!((vx - 0.1 / DT).abs() < 1e-3 && vy == 0.0 && vz == 0.0, "{vx} {vy} {vz}");
    Ok(())
}

#[test]
fn vectors_of_another_crate_are_welcome() -> Result<(), Error> {
    let mut world = World::new();
    let id = world.add(cloth(4)?.pinned([0]))?;
    world.move_pin(id, 0, ultraviolet::Vec3::new(0.1, 0.2, 0.3))?;
    world.step(DT)?;
    assert_eq!(world.positions(id)?.get(0), [0.1, 0.2, 0.3]);

    let mut precise = f64::world(f64::xpbd(XpbdOn::with_substeps(10)), AnyBackend::new());
    let id = precise.add(cloth(4)?.pinned([0]))?;
    precise.move_pin(id, 0, ultraviolet::DVec3::new(0.1, 0.2, 0.3))?;
    precise.step(1.0 / 60.0)?;
    assert_eq!(precise.positions(id)?.get(0), [0.1, 0.2, 0.3]);
    Ok(())
}

#[test]
fn released_pins_fall_and_new_pins_hold() -> Result<(), Error> {
    let mut world = World::new();
    let id = world.add(cloth(10)?.pinned([0, 9]).with_tethers(0.0))?;
    run(&mut world, 10)?;
    let (before, tethers) = (bits(&world, id)?, world.model().constraints().tether.len());

    world.release(id, 9)?;
    assert_eq!(before, bits(&world, id)?);
    assert_eq!(world.model().pins(), [0]);
    assert!(world.model().inv_mass()[9] > 0.0);
    assert!(world.model().tether_anchors().iter().all(|&pin| pin == 0));
    assert!(world.model().constraints().tether.len() < tethers);
    let height = world.positions(id)?.get(9)[1];
    run(&mut world, 10)?;
    assert!(world.positions(id)?.get(9)[1] < height - 0.05);

    // Caught in the air, while everything else moves on.
    let (x, v) = (world.positions(id)?.get(9), world.velocities(id)?.get(10));
    world.pin(id, 9)?;
    world.pin(id, 9)?;
    assert_eq!(world.body(id)?.pins(), [0, 9]);
    assert_eq!(world.velocities(id)?.get(9), [0.0; 3]);
    assert_eq!(world.velocities(id)?.get(10), v);
    run(&mut world, 10)?;
    assert_eq!(world.positions(id)?.get(9), x);
    assert_eq!(world.release(id, 5), Err(BuildError::NotPinned { particle: 5 }));
    Ok(())
}

#[test]
fn errors_leave_the_world_unchanged() -> Result<(), Error> {
    let (mut world, id, rope_id) = busy()?;
    let (mut twin, ..) = busy()?;
    let (hash, pins) = (world.state_hash(), world.model().pin_targets().clone());

    assert_eq!(world.add(Body::particles([])), Err(BuildError::Empty));
    assert!(matches!(world.add(Body::particles([[f64::NAN, 0.0, 0.0]])), Err(BuildError::BadValue { .. })));
    assert!(matches!(world.add(cloth(4)?.pinned([16])), Err(BuildError::OutOfRange { particle: 16, .. })));
    assert!(matches!(world.pin(id, 144), Err(BuildError::OutOfRange { particle: 144, count: 144, .. })));
    // Particle 144 exists, but belongs to the rope.
    assert!(matches!(world.move_pin(id, 144, [0.0; 3]), Err(BuildError::OutOfRange { .. })));
    assert_eq!(world.move_pin(id, 5, [0.0; 3]), Err(BuildError::NotPinned { particle: 5 }));
    assert!(matches!(world.move_pin(id, 0, [f32::INFINITY, 0.0, 0.0]), Err(BuildError::BadValue { .. })));
    let (what, row, count) = ("attachment", 1, 1);
    assert_eq!(world.move_attachment(rope_id, row, [0.0; 3]), Err(BuildError::NoSuchRow { what, row, count }));
    assert!(matches!(world.move_attachment(rope_id, 0, [f32::NAN; 3]), Err(BuildError::BadValue { .. })));
    assert!(matches!(world.set_force(id, 3, [f32::NAN; 3]), Err(BuildError::BadValue { .. })));
    assert!(matches!(world.set_velocity(id, 0, [1.0, 0.0, 0.0]), Err(BuildError::Unsupported { .. })));
    assert!(matches!(world.write_vertices(id, &mut [[0.0; 3]; 7]), Err(BuildError::Length { found: 7, .. })));
    assert!(matches!(world.normals(id, &mut [[0.0; 3]; 7]), Err(BuildError::Length { found: 7, .. })));
    for dt in [0.0, -DT, f32::NAN, f32::INFINITY, 2.0] {
        assert!(matches!(world.step(dt), Err(StepError::BadTimeStep { .. })), "{dt}");
    }
    // A solver that cannot carry the bodies is refused, the old one goes on.
    assert!(matches!(world.set_method(Symplectic::new(8)), Err(BuildError::Unsupported { .. })));

    assert_eq!(world.state_hash(), hash);
    assert_eq!(world.model().pin_targets(), &pins);
    assert_eq!((world.time(), world.bodies().len()), (twin.time(), 2));
    run(&mut world, 3)?;
    run(&mut twin, 3)?;
    assert_eq!(world.state_hash(), twin.state_hash());
    Ok(())
}

#[test]
fn a_body_the_solver_refuses_is_not_added() -> Result<(), Error> {
    let soft = |n| -> Result<Body, BuildError> {
        let roles = [Role::Stretch, Role::Shear, Role::Bend];
        Ok(roles.into_iter().fold(cloth(n)?.pinned([0]), |body, role| body.with_compliance(role, 1e-2)))
    };
    let mut world = World::with_method(f32::symplectic(Symplectic::new(20)), Best::new());
    let mut twin = World::with_method(f32::symplectic(Symplectic::new(20)), Best::new());
    for world in [&mut world, &mut twin] {
        world.add(soft(6)?)?;
        run(world, 5)?;
    }
    assert!(matches!(world.add(cloth(4)?), Err(BuildError::Unsupported { .. })));
    run(&mut world, 5)?;
    run(&mut twin, 5)?;
    assert_eq!(world.state_hash(), twin.state_hash());

    // Bad options are found when the solver meets its first body.
    let options = PbdOptions { iterations: 0, ..PbdOptions::default() };
    let mut world = World::with_method(f32::pbd(Pbd::new(options)), Best::new());
    assert!(matches!(world.add(cloth(4)?), Err(BuildError::BadOption { name: "iterations", .. })));
    Ok(())
}

#[test]
fn a_pin_without_mass_cannot_be_released() -> Result<(), Error> {
    let mut world = World::new();
    let id = world.add(Body::particles([[0.0; 3], [1.0, 0.0, 0.0]]).with_masses([0.0, 1.0]).pinned([0]))?;
    assert!(matches!(world.release(id, 0), Err(BuildError::BadValue { quantity: "mass", .. })));
    assert_eq!(world.model().pins(), [0]);
    run(&mut world, 2)?;
    Ok(())
}

#[test]
fn a_body_pinned_everywhere_stays() -> Result<(), Error> {
    let mut world = World::new();
    let id = world.add(cloth(6)?.pinned(0..36).with_tethers(0.0))?;
    let before = world.positions(id)?.iter().collect::<Vec<_>>();
    world.environment_mut().wind = Some(Wind { velocity: [10.0, 5.0, 0.0], density: 1.2, drag: 1.0, lift: 0.5 });
    run(&mut world, 20)?;
    assert!(world.positions(id)?.iter().eq(before));
    assert!(world.velocities(id)?.iter().all(|v| v == [0.0; 3]));
    Ok(())
}

#[test]
fn one_particle_falls_freely() -> Result<(), Error> {
    let mut world = f64::world(f64::xpbd(XpbdOn::with_substeps(10)), AnyBackend::new());
    let id = world.add(Body::particles([[1.0, 2.0, 3.0]]).with_velocities([[1.0, 0.0, 0.0]]))?;
    for _ in 0..60 {
        world.step(1.0 / 60.0)?;
    }
    let [x, y, z] = world.positions(id)?.get(0);
    // y = 2 − g t²/2, and symplectic Euler falls g h t/2 further.
    let h = 1.0 / 600.0;
    assert!((x - 2.0).abs() < 1e-9 && z == 3.0, "{x} {z}");
    assert!((y - (2.0 - 4.905 - 4.905 * h)).abs() < 1e-9, "{y}");
    assert!((world.time() - 1.0).abs() < 1e-9);
    Ok(())
}

#[test]
fn disconnected_pieces_do_not_feel_each_other() -> Result<(), Error> {
    // Two links in one body: one hangs on a pin, one falls.
    let mut body = Body::particles([[0.0; 3], [0.0, -1.0, 0.0], [5.0, 0.0, 0.0], [5.0, -1.0, 0.0]]).pinned([0]);
    let links = &mut body.tables_mut().distance;
    links.push(Role::Stretch, 0, [0, 1], [1.0]);
    links.push(Role::Stretch, 0, [2, 3], [1.0]);
    let mut world = World::new();
    let id = world.add(body)?;
    run(&mut world, 30)?;
    let x = world.positions(id)?;
    assert!((x.get(1)[1] + 1.0).abs() < 1e-3);
    assert!((x.get(2)[1] + 9.81 / 8.0).abs() < 0.05);
    assert!((x.get(2)[1] - x.get(3)[1] - 1.0).abs() < 1e-5);
    Ok(())
}

#[test]
fn time_passes_in_an_empty_world() -> Result<(), Error> {
    let mut world = World::new();
    assert_eq!(world.step(0.5)?, StepReport::default());
    assert!(world.step(f32::NAN).is_err());
    assert_eq!(world.time(), 0.5);
    assert!(world.constraint_forces().is_empty());
    let id = world.add(cloth(4)?)?;
    world.set_method(Pbd::default())?;
    run(&mut world, 2)?;
    world.remove(id)?;
    world.set_method(Pbd::default())?;
    run(&mut world, 2)?;
    assert!(world.particles().is_empty() && world.bodies().len() == 0);
    Ok(())
}

#[test]
fn forces_push_until_taken_away() -> Result<(), Error> {
    let mut world = f64::world(f64::xpbd(XpbdOn::with_substeps(10)), AnyBackend::new());
    world.environment_mut().gravity = [0.0; 3];
    let id = world.add(Body::particles([[0.0; 3], [1.0, 0.0, 0.0]]).with_masses([2.0, 2.0]))?;
    world.set_force(id, 1, [4.0, 0.0, 0.0])?;
    for _ in 0..60 {
        world.step(1.0 / 60.0)?;
    }
    let v = world.velocities(id)?;
    assert!(v.get(0) == [0.0; 3] && (v.get(1)[0] - 2.0).abs() < 1e-9, "{:?}", v.get(1));
    world.clear_forces();
    world.set_velocity(id, 1, [0.0, 1.0, 0.0])?;
    world.set_position(id, 1, [0.0; 3])?;
    for _ in 0..60 {
        world.step(1.0 / 60.0)?;
    }
    let [x, y, _] = world.positions(id)?.get(1);
    assert!(x == 0.0 && (y - 1.0).abs() < 1e-9, "{x} {y}");
    Ok(())
}

#[test]
fn vertices_and_normals_are_ready_to_draw() -> Result<(), Error> {
    let mut world = World::new();
    let ball = world.add(Body::surface(&icosphere(1.0, 2)?, Bending::Dihedral)?)?;
    let id = world.add(cloth(5)?.pinned(0..25))?;
    world.step(DT)?;
    let vertices = world.vertices(id)?.to_vec();
    assert!(world.positions(id)?.iter().eq(vertices.iter().copied()));
    assert_eq!(bytemuck::cast_slice::<_, u8>(&vertices).len(), 25 * 12);
    // The second time nothing is allocated: the same buffer comes back.
    let first = world.vertices(id)?.as_ptr();
    assert_eq!(first, world.vertices(id)?.as_ptr());
    assert_eq!(world.triangles(id)?.len(), 32);
    let mut normals = vec![[0.0; 3]; 25];
    world.normals(id, &mut normals)?;
    assert!(normals.iter().all(|n| n.map(f32::abs) == [0.0, 1.0, 0.0]));
    let mut normals = vec![[0.0; 3]; world.positions(ball)?.len()];
    world.normals(ball, &mut normals)?;
    assert!(normals.iter().all(|n| (n.iter().map(|c| c * c).sum::<f32>() - 1.0).abs() < 1e-5));
    Ok(())
}

#[test]
fn every_backend_gives_the_same_world() -> Result<(), Error> {
    let hash = |name: &str, threads| -> Result<u64, Error> {
        let Some(backend) = AnyBackend::<f32>::by_name(name, threads) else { return Ok(0) };
        let mut world = f32::world(f32::pbd(Pbd::default()), backend);
        let id = world.add(cloth(40)?.pinned([0, 39]))?;
        world.add(rope()?)?;
        for step in 0..10 {
            world.move_pin(id, 0, [0.0, 0.0, 0.01 * step as f32])?;
            world.step(DT)?;
        }
        world.release(id, 0)?;
        world.step(DT)?;
        Ok(world.state_hash())
    };
    let reference = hash("scalar", None)?;
    for name in AnyBackend::<f32>::names() {
        assert_eq!(hash(name, Some(3))?, reference, "{name}");
    }
    Ok(())
}

/// In single precision a velocity taken from positions near 1000 m would have steps of 4 cm/s; frames of bodies prevent it.
#[test]
fn far_from_the_origin_things_fall_alike() -> Result<(), Error> {
    for height in [0.0, 10.0, 100.0, 1000.0, 100_000.0] {
        let mut world = World::new();
        let body = world.add(Body::particles([[height, height, -height]]))?;
        for _ in 0..30 {
            world.step(1.0 / 60.0)?;
        }
        let v = world.velocities(body)?.get(0)[1];
        assert!((v + 4.905).abs() < 0.01, "at {height} m: {v} m/s");
    }
    Ok(())
}

/// Contacts outlive changes of numbers: bodies and colliders may go, what is left still touches.
#[cfg(feature = "collision")]
#[test]
fn contacts_are_told_from_begin_to_end() -> Result<(), Error> {
    let mut world = World::new();
    let ramp = world.add_collider(Collider::cuboid([1.0, 1.0, 1.0]).at([5.0, 0.0, 0.0]))?;
    let floor = world.add_collider(Collider::plane([0.0, 1.0, 0.0]))?;
    let first = world.add(Body::particles([[0.0, 0.01, 0.0], [0.0, 9.0, 0.0]]))?;
    let second = world.add(Body::particles([[1.0, 0.01, 0.0]]))?;
    run(&mut world, 2)?;
    assert!(world.contacts().is_empty(), "nobody watches");
    world.watch_contacts(true);
    run(&mut world, 10)?;
    let pairs: Vec<_> = world.contacts().iter().map(|contact| contact.pair).collect();
    let on_floor = |particle, collider| ContactPair::Collider { particle, collider };
    assert_eq!(pairs, [on_floor(0, 1), on_floor(2, 1)]);
    assert!(world.contacts().iter().all(|contact| contact.phase == ContactPhase::Persist));
    assert_eq!((world.collider_at(1), world.collider_at(2)), (Some(floor), None));

    // A solver that was prepared anew keeps its account, too.
    world.remove(first)?;
    world.remove_collider(ramp)?;
    world.step(DT)?;
    let [contact] = world.contacts() else { panic!("{:?}", world.contacts()) };
    assert_eq!((contact.pair, contact.phase), (on_floor(0, 0), ContactPhase::Persist));
    assert!((contact.impulse - 9.81 * DT).abs() < 1e-4, "{}", contact.impulse);

    world.set_velocity(second, 0, [0.0, 5.0, 0.0])?;
    world.step(DT)?;
    let [contact] = world.contacts() else { panic!("{:?}", world.contacts()) };
    assert_eq!((contact.phase, contact.impulse), (ContactPhase::End, 0.0));
    world.step(DT)?;
    assert!(world.contacts().is_empty());

    let hash = world.state_hash();
    let probe = world.probe()?;
    assert_eq!(probe.ray([3.0, 2.0, 0.0], [0.0, -1.0, 0.0], 5.0).map(|hit| hit.target), Some(Target::Collider(0)));
    assert_eq!(world.state_hash(), hash, "looking changes nothing");
    Ok(())
}

/// Whatever momentum a step gave a particle beyond its weight, contacts tell of, however far it was thrown.
#[cfg(feature = "collision")]
#[test]
fn no_bounce_goes_untold() -> Result<(), Error> {
    for method in Method::names() {
        let mut world = World::with_method(Method::by_name(method)?, Best::new());
        world.add_collider(Collider::plane([0.0, 1.0, 0.0]).with_restitution(0.8))?;
        let ball = world.add(Body::particles([[0.0, 0.5, 0.0]]))?;
        world.watch_contacts(true);
        let mut speed = 0.0;
        for step in 0..300 {
            world.step(DT)?;
            let before = std::mem::replace(&mut speed, world.velocities(ball)?.get(0)[1]);
            let told: f32 = world.contacts().iter().map(|contact| contact.impulse).sum();
            let gained = speed - before + 9.81 * DT;
            assert!((told - gained).abs() < 1e-3, "{method}, step {step}: {told} N s told of {gained}");
        }
    }
    Ok(())
}

#[test]
fn methods_are_found_by_name_and_handles_survive_as_numbers() -> Result<(), Error> {
    for name in Method::names() {
        assert_eq!(Method::by_name(name)?.name(), name);
    }
    let error = Method::by_name("magic").err().map(|error| error.to_string()).unwrap_or_default();
    assert!(Method::names().all(|name| error.contains(name)), "{error}");

    let few = Effort { substeps: Some(3), iterations: Some(2) };
    let mut world = World::with_method(Method::by_name_with("pbd", few)?, Best::new());
    let cloth = Body::cloth(&ClothGrid::square(1.0, 4))?.pinned([0]);
    let ids = [world.add(cloth.clone())?, world.add(cloth)?];
    let report = world.step(1.0 / 60.0)?;
    assert_eq!((report.substeps, report.iterations), (3, 6));
    let numbers = ids.map(BodyId::to_bits);
    assert_eq!(numbers.map(BodyId::from_bits), ids.map(Some));
    assert_eq!(BodyId::from_bits(0), None, "no handle is 0");
    world.remove(ids[0])?;
    let still_there = numbers.map(|bits| BodyId::from_bits(bits).is_some_and(|id| world.contains(id)));
    assert_eq!(still_there, [false, true], "stale as a number, too");
    Ok(())
}
