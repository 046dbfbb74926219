//! What may be odd about the world around bodies: loads, targets, colliders, rigid bodies, joints, handles.

use pliant::Columns;
use pliant::prelude::*;

use crate::{Case, bodies};

const NASTY: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
/// Finite, and out of all proportion, or hardly anything.
const EXTREME: [f64; 6] = [1e-42, 1e4, 1e7, 1e15, 1e30, 3e38];

/// A cloth that hangs by two pins: bodies 1 of the world, behind the bystander.
fn cloth(world: &mut World) -> Result<BodyId, Error> {
    let (_, body) = bodies::all().into_iter().find(|(name, _)| *name == "cloth").unwrap();
    Ok(world.add(body)?)
}

fn first(world: &World) -> BodyId {
    world.bodies().last().unwrap()
}

/// The whole table.
pub fn cases() -> Vec<Case> {
    let mut cases = loads();
    cases.extend(targets());
    cases.extend(colliders());
    cases.extend(rigid());
    cases.extend(handles());
    cases
}

/// Something done to a world in which a cloth hangs.
fn with_cloth(name: String, odd: impl Fn(&mut World) -> Result<(), Error> + Sync + 'static) -> Case {
    Case::new(name, odd).after(|world| cloth(world).map(drop))
}

fn values() -> impl Iterator<Item = f64> {
    NASTY.into_iter().chain(EXTREME).chain([-1.0, 0.0, -0.0])
}

fn loads() -> Vec<Case> {
    let mut cases = Vec::new();
    for value in values() {
        let v = value as f32;
        let mut of = |name: &str, edit: fn(&mut Environment<f32>, f32)| {
            let odd = move |world: &mut World| {
                edit(world.environment_mut(), v);
                Ok(())
            };
            cases.push(with_cloth(format!("{name} {value}"), odd));
        };
        of("gravity", |environment, v| environment.gravity[1] = v);
        of("air damping", |environment, v| environment.damping = v);
        fn windy(environment: &mut Environment<f32>) -> &mut Wind<f32> {
            environment.wind.insert(Wind { velocity: [1.0; 3], density: 1.2, drag: 0.6, lift: 0.4 })
        }
        of("wind", |environment, v| windy(environment).velocity[2] = v);
        of("air of density", |environment, v| windy(environment).density = v);
        of("drag", |environment, v| windy(environment).drag = v);
        of("lift", |environment, v| windy(environment).lift = v);
        of("a load of", |environment, v| {
            let mut forces = Columns::zeros(18);
            forces.set(7, [0.0, v, 0.0]);
            environment.forces = Some(forces);
        });
    }
    cases.push(with_cloth("loads of too few".to_owned(), |world| {
        world.environment_mut().forces = Some(Columns::zeros(3));
        Ok(())
    }));
    for axis in 0..3 {
        cases.push(with_cloth(format!("loads whose column {axis} is short"), move |world| {
            let mut forces = Columns::zeros(18);
            [&mut forces.x, &mut forces.y, &mut forces.z][axis].truncate(7);
            world.environment_mut().forces = Some(forces);
            Ok(())
        }));
        cases.push(with_cloth(format!("a push where column {axis} is short"), move |world| {
            let mut forces = Columns::zeros(18);
            [&mut forces.x, &mut forces.y, &mut forces.z][axis].clear();
            world.environment_mut().forces = Some(forces);
            let pushed = world.set_force(first(world), 5, [0.0, 1.0, 0.0]);
            world.clear_forces();
            Ok(pushed?)
        }));
    }
    cases
}

fn targets() -> Vec<Case> {
    let mut cases = Vec::new();
    for value in values() {
        let to = [0.1, value as f32, 0.2];
        let mut of = |name: &str, odd: fn(&mut World, BodyId, [f32; 3]) -> Result<(), BuildError>| {
            let odd = move |world: &mut World| Ok(odd(world, first(world), to)?);
            cases.push(with_cloth(format!("{name} {value}"), odd));
        };
        of("a pin sent to", |world, id, to| world.move_pin(id, 3, to));
        of("a particle put at", |world, id, to| world.set_position(id, 5, to));
        of("a pin put at", |world, id, to| world.set_position(id, 0, to));
        of("a particle sped to", |world, id, to| world.set_velocity(id, 5, to));
        of("a push of", |world, id, to| world.set_force(id, 5, to));
        of("a pin pushed by", |world, id, to| world.set_force(id, 0, to));
    }
    cases
}

fn colliders() -> Vec<Case> {
    let mut cases = Vec::new();
    fn add(name: String, collider: Collider, to: &mut Vec<Case>) {
        to.push(with_cloth(name, move |world| Ok(world.add_collider(collider.clone()).map(drop)?)));
    }
    for value in values() {
        let ball = || Collider::sphere(0.2).at([0.2, -0.3, 0.2]);
        add(format!("a ball of radius {value}"), Collider::sphere(value).at([0.2, -0.3, 0.2]), &mut cases);
        add(format!("a box of width {value}"), Collider::cuboid([0.2, value, 0.2]).at([0.2, -0.3, 0.2]), &mut cases);
        add(format!("a capsule of length {value}"), Collider::capsule(0.1, value), &mut cases);
        add(format!("a cylinder of height {value}"), Collider::cylinder(0.1, value), &mut cases);
        add(format!("a torus of radius {value}"), Collider::torus(value, 0.1), &mut cases);
        add(
            format!("a plane with normal {value}"),
            Collider::plane([0.0, value, 0.0]).at([0.0, -0.1, 0.0]),
            &mut cases,
        );
        add(format!("collider friction {value}"), ball().with_friction(value), &mut cases);
        add(format!("collider restitution {value}"), ball().with_restitution(value), &mut cases);
        add(format!("a collider at {value}"), Collider::sphere(0.2).at([0.2, value, 0.2]), &mut cases);
        add(format!("a collider turned by {value}"), ball().turned(Rotation([value, 0.0, 0.0, 0.0])), &mut cases);
        let send = move |world: &mut World| {
            let id = world.collider_at(0).unwrap();
            Ok(world.move_collider(id, Pose::at([0.2, value, 0.2]))?)
        };
        let before = |world: &mut World| {
            world.add_collider(Collider::sphere(0.2).at([0.2, -0.3, 0.2]))?;
            cloth(world).map(drop)
        };
        cases.push(Case::new(format!("a collider sent to {value}"), send).after(before));
    }
    add("a ball around the whole body".to_owned(), Collider::sphere(10.0), &mut cases);
    add("a ball whose centre is a particle".to_owned(), Collider::sphere(0.1), &mut cases);
    add("a box whose face is the cloth".to_owned(), Collider::cuboid([2.0, 2.0, 2.0]).at([0.0, -1.0, 0.0]), &mut cases);
    let flat = TriMesh::new([[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]]).unwrap();
    cases.push(with_cloth("a collider of an open mesh".to_owned(), move |world| {
        Ok(world.add_collider(Collider::mesh(&flat, 8)?).map(drop)?)
    }));
    cases
}

fn rigid() -> Vec<Case> {
    let mut cases = Vec::new();
    for value in values() {
        let mut of = |name: &str, body: RigidBody| {
            let odd = move |world: &mut World| Ok(world.add_rigid(&body).map(drop)?);
            cases.push(with_cloth(format!("{name} {value}"), odd));
        };
        let ball = || RigidBody::sphere(0.1, 100.0).at([0.2, 0.3, 0.2]);
        of("a rigid ball of radius", RigidBody::sphere(value, 100.0));
        of("a rigid box of width", RigidBody::cuboid([0.1, value, 0.1], 100.0));
        of("a rigid ball of density", RigidBody::sphere(0.1, value));
        of("rigid friction", ball().with_friction(value));
        of("rigid restitution", ball().with_restitution(value));
        of("rigid damping", ball().with_damping(value, value));
        of("a rigid ball at", RigidBody::sphere(0.1, 100.0).at([0.0, value, 0.0]));
        of("a rigid velocity of", ball().moving([0.0, value, 0.0]));
        of("a rigid spin of", ball().spinning([0.0, value, 0.0]));
        of("a rigid quaternion of", ball().turned(Rotation([0.0, 0.0, value, 0.0])));
        let v = value as f32;
        let mut to = |name: &str, odd: fn(&mut World, [RigidId; 2], f64, f32) -> Result<(), BuildError>| {
            let odd = move |world: &mut World| Ok(odd(world, [world.rigid_ids()[0], world.rigid_ids()[1]], value, v)?);
            let before = |world: &mut World| {
                cloth(world)?;
                world.add_rigid(&RigidBody::sphere(0.1, 100.0).at([0.2, 0.2, 0.2]))?;
                world.add_rigid(&RigidBody::sphere(0.1, 100.0).at([0.5, 0.2, 0.2]))?;
                Ok(())
            };
            cases.push(Case::new(format!("{name} {value}"), odd).after(before));
        };
        to("a rigid body put at", |w, [a, _], value, _| w.set_rigid_pose(a, Pose::at([0.0, value, 0.0])));
        to("a rigid push of", |w, [a, _], _, v| w.push_rigid(a, [0.0, v, 0.0], [0.2; 3]));
        to("a rigid push at", |w, [a, _], _, v| w.push_rigid(a, [0.0, 1.0, 0.0], [v, 0.2, 0.2]));
        to("a rigid impulse of", |w, [a, _], _, v| w.strike_rigid(a, [0.0, v, 0.0], [0.2; 3]));
        to("a joint at", |w, ids, value, _| w.join(ids, Joint::ball([0, 0], [value, 0.2, 0.2])).map(drop));
        to("a hinge about", |w, ids, value, _| {
            w.join(ids, Joint::hinge([0, 0], [0.3, 0.2, 0.2], [0.0, value, 0.0])).map(drop)
        });
        to("a hinge limited to", |w, ids, value, _| {
            let hinge = Joint::hinge([0, 0], [0.3, 0.2, 0.2], [0.0, 1.0, 0.0]);
            w.join(ids, hinge.with_limits(value, 1.0)).map(drop)
        });
        to("a joint of compliance", |w, ids, value, _| {
            w.join(ids, Joint::ball([0, 0], [0.3, 0.2, 0.2]).with_compliance(value, value)).map(drop)
        });
        to("a distance joint from", |w, ids, value, _| {
            let points = [[0.2; 3], [0.5, 0.2, 0.2]];
            w.join(ids, Joint::distance([0, 0], points, [value, 0.4])).map(drop)
        });
    }
    let before = |world: &mut World| {
        cloth(world)?;
        world.add_rigid(&RigidBody::sphere(0.1, 100.0).held())?;
        world.add_rigid(&RigidBody::sphere(0.1, 100.0).at([1.0, 0.0, 0.0]).held())?;
        Ok(())
    };
    let mut of = |name: &str, odd: fn(&mut World, [RigidId; 2]) -> Result<(), BuildError>| {
        let odd = move |world: &mut World| Ok(odd(world, [world.rigid_ids()[0], world.rigid_ids()[1]])?);
        cases.push(Case::new(name, odd).after(before));
    };
    of("a joint of two that are held", |w, ids| w.join(ids, Joint::ball([0, 0], [0.5, 0.0, 0.0])).map(drop));
    of("a joint of one with itself", |w, [a, _]| w.join([a, a], Joint::ball([0, 0], [0.5, 0.0, 0.0])).map(drop));
    of("a held body sent away", |w, [a, _]| w.send_rigid(a, Pose::IDENTITY));
    of("a fastening of nobody", |w, [a, _]| w.fasten(first(w), 99, a));
    of("nothing unfastened", |w, _| w.unfasten(first(w), 0));
    of("a rigid body inside another", |w, _| w.add_rigid(&RigidBody::sphere(0.1, 100.0)).map(drop));
    cases
}

/// What is not there, or not any more.
fn handles() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut of = |name: &str, odd: fn(&mut World, BodyId) -> Result<(), BuildError>| {
        cases.push(with_cloth(name.to_owned(), move |world| Ok(odd(world, first(world))?)));
    };
    of("pinning nobody", |world, id| world.pin(id, 16));
    of("pinning again", |world, id| world.pin(id, 0));
    of("pinning everybody", |world, id| (0..16).try_for_each(|p| world.pin(id, p)));
    of("releasing everybody", |world, id| [0, 3].into_iter().try_for_each(|p| world.release(id, p)));
    of("releasing who is free", |world, id| world.release(id, 5));
    of("sending who is free", |world, id| world.move_pin(id, 5, [0.0; 3]));
    of("speeding up a pin", |world, id| world.set_velocity(id, 0, [1.0; 3]));
    of("a target that is not there", |world, id| world.move_attachment(id, 0, [0.0; 3]));
    of("tearing what is no edge", |world, id| world.tear(id, [0, 15]).map(drop));
    of("tearing a particle", |world, id| world.tear(id, [5, 5]).map(drop));
    of("tearing beyond the body", |world, id| world.tear(id, [5, 99]).map(drop));
    of("tearing an edge", |world, id| world.tear(id, [5, 6]).map(drop));
    of("removing the body", |world, id| world.remove(id));
    of("vertices into too small a buffer", |world, id| world.write_vertices(id, &mut [[0.0; 3]; 3]));
    cases.push(Case::new("a particle beyond the body", |world| Ok(world.pin(first(world), 7)?)));
    let mut stale = |name: &str, odd: fn(&mut World, BodyId) -> Result<(), BuildError>| {
        let after_it_is_gone = move |world: &mut World| {
            let gone = cloth(world)?;
            world.remove(gone)?;
            // The same place, another body: the old handle stays dead.
            let alive = cloth(world)?;
            let answer = odd(world, gone);
            world.remove(alive)?;
            assert!(matches!(answer, Err(BuildError::NotFound { .. })), "{answer:?}");
            Ok(answer?)
        };
        cases.push(Case::new(format!("{name} by a stale handle"), after_it_is_gone));
    };
    stale("removing", |world, id| world.remove(id));
    stale("pinning", |world, id| world.pin(id, 1));
    stale("releasing", |world, id| world.release(id, 0));
    stale("sending a pin", |world, id| world.move_pin(id, 0, [0.0; 3]));
    stale("placing", |world, id| world.set_position(id, 1, [0.0; 3]));
    stale("speeding up", |world, id| world.set_velocity(id, 1, [0.0; 3]));
    stale("pushing", |world, id| world.set_force(id, 1, [0.0; 3]));
    stale("tearing", |world, id| world.tear(id, [5, 6]).map(drop));
    stale("changing", |world, id| world.edit(id, Ok));
    stale("merging", |world, id| world.merge(&[first(world), id]).map(drop));
    stale("looking", |world, id| world.positions(id).map(drop));
    stale("writing vertices", |world, id| world.write_vertices(id, &mut [[0.0; 3]; 16]));
    cases
}
