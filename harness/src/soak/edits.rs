//! Edits of a running world, at random: what a game does to its scene between steps.

use pliant::core::body::Body;
use pliant::core::error::BuildError;
use pliant::core::mesh::Rope;
use pliant::{BodyId, Collider, ColliderId, RigidBody, RigidId, Shape, Tearing};

use super::stages::{Needs, soft_cloth};
use super::twins::{Trouble, Twins, WORK};
use crate::random::Random;
use crate::scene::Scene;
use crate::soften::soften_scene;
use crate::solvers::SolverEntry;

/// The most that edits add of bodies, rigid bodies and colliders each: scenes stay small.
const MOST: usize = 2;
/// The most pins that edits set.
const MOST_PINS: usize = 3;

/// What edits have added and may take away again.
#[derive(Default)]
pub struct Added {
    bodies: Vec<BodyId>,
    rigid: Vec<RigidId>,
    colliders: Vec<ColliderId>,
    pins: Vec<(BodyId, u32)>,
    fastened: Vec<(BodyId, u32)>,
    /// Handles of what is gone for good.
    stale: Vec<BodyId>,
    /// Whether a particle is being pushed.
    pushed: bool,
    /// Edges that edits tore.
    pub tears: u64,
}

/// One edit of both worlds; returns whether a snapshot tells them from what they were. Some edits find nothing to do, are refused, or
/// only ask.
pub fn edit(twins: &mut Twins, added: &mut Added, random: &mut Random, solver: &SolverEntry) -> Result<bool, Trouble> {
    let before = twins.world().snapshot();
    attempt(twins, added, random, solver)?;
    Ok(twins.world().snapshot() != before)
}

fn attempt(twins: &mut Twins, added: &mut Added, random: &mut Random, solver: &SolverEntry) -> Result<(), Trouble> {
    let soft = !twins.bodies.is_empty();
    // A push lasts until the next edit: what is pushed for ever gains energy for ever.
    if std::mem::take(&mut added.pushed) {
        twins.both("clearing forces", |world| world.clear_forces())?;
    }
    match random.below(22) {
        0 if soft && added.bodies.len() < MOST => {
            let body = spare(random, added.bodies.len(), solver).map_err(|error| error.to_string())?;
            let id = twins.both("adding a body", |world| world.add(body.clone()))?;
            let id = id.map_err(|error| format!("adding a body: {error}"))?;
            added.bodies.push(id);
            twins.bodies.push(id);
        }
        1 => {
            if let Some(id) = added.bodies.pop() {
                twins.both("removing a body", |world| world.remove(id))?.map_err(|error| error.to_string())?;
                twins.bodies.retain(|other| *other != id);
                added.pins.retain(|(body, _)| *body != id);
                added.fastened.retain(|(body, _)| *body != id);
                added.stale.push(id);
            }
        }
        2 if soft && added.pins.len() < MOST_PINS => {
            let at = any_particle(twins, random)?;
            // A new pin of a body on tethers pulls all of it in at once, and no energy bound holds.
            let free = |body: &Body| !body.pins().contains(&at.1) && body.tethers().slack.is_none();
            if twins.world().body(at.0).is_ok_and(free)
                && twins.edit("pinning", |world| world.pin(at.0, at.1))?.is_some()
            {
                added.pins.push(at);
            }
        }
        3 => {
            if let Some((body, particle)) = added.pins.pop() {
                twins.edit("releasing a pin", |world| world.release(body, particle))?;
            }
        }
        4 if added.colliders.len() < MOST => {
            let place = [random.between(-0.5, 1.5), random.between(-0.9, -0.6), random.between(-0.5, 1.0)];
            let ball = Collider::sphere(random.between(0.05, 0.2)).at(place).with_friction(random.between(0.0, 1.0));
            let id = twins.both("adding a collider", |world| world.add_collider(ball.clone()))?;
            added.colliders.push(id.map_err(|error| error.to_string())?);
        }
        5 => {
            if let Some(id) = added.colliders.pop() {
                twins.both("removing a collider", |world| world.remove_collider(id))?.map_err(|e| e.to_string())?;
                if twins.edit("removing a collider twice", |world| world.remove_collider(id))?.is_some() {
                    return Err("a stale collider was removed again".to_owned());
                }
            }
        }
        6 if added.rigid.len() < MOST && !twins.rigid.is_empty() => {
            // A place each: bodies that start inside others are thrown out.
            let place = [-0.8, 0.2 + 0.5 * added.rigid.len() as f64, random.between(-0.2, 0.2)];
            let ball = RigidBody::sphere(0.1, 200.0).at(place).with_restitution(0.3);
            let id = twins.both("adding a rigid body", |world| world.add_rigid(&ball))?;
            let id = id.map_err(|error| error.to_string())?;
            added.rigid.push(id);
            twins.rigid.push(id);
        }
        7 => {
            if let Some(id) = added.rigid.pop() {
                twins.both("removing a rigid body", |world| world.remove_rigid(id))?.map_err(|e| e.to_string())?;
                twins.rigid.retain(|other| *other != id);
            }
        }
        8 if soft => {
            let ((body, particle), force) = (any_particle(twins, random)?, random.direction());
            // Twice its weight.
            let mass = twins.world().body(body).map_or(0.0, |body| body.masses()[particle as usize]);
            let force = force.map(|c| (c * 20.0 * mass) as f32);
            added.pushed = twins.edit("pushing a particle", |world| world.set_force(body, particle, force))?.is_some();
        }
        10 if soft => {
            let ((body, particle), velocity) = (any_particle(twins, random)?, random.point(1.0).map(|c| c as f32));
            twins.edit("setting a velocity", |world| world.set_velocity(body, particle, velocity))?;
        }
        11 if soft => {
            let body = twins.bodies[random.below(twins.bodies.len())];
            let triangles = twins.world().triangles(body).map_err(|error| error.to_string())?;
            if !triangles.is_empty() {
                let [a, b, _] = triangles[random.below(triangles.len())];
                added.tears += u64::from(twins.edit("tearing", |world| world.tear(body, [a, b]))?.is_some());
            }
        }
        12 if !twins.rigid.is_empty() => {
            let id = twins.rigid[random.below(twins.rigid.len())];
            let impulse = random.point(1.0).map(|c| c as f32);
            let place = twins.world().rigid_pose(id).map_err(|error| error.to_string())?.translation;
            twins.edit("striking", |world| world.strike_rigid(id, impulse, place.map(|c| c as f32)))?;
        }
        13 if soft && !twins.rigid.is_empty() && added.fastened.is_empty() => {
            let at = any_particle(twins, random)?;
            let to = twins.rigid[0];
            if near(twins, at, to) && twins.edit("fastening", |world| world.fasten(at.0, at.1, to))?.is_some() {
                added.fastened.push(at);
            }
        }
        14 => {
            if let Some(at) = added.fastened.pop() {
                twins.edit("unfastening", |world| world.unfasten(at.0, at.1))?;
            }
            let watch = random.below(2) == 0;
            twins.both("watching contacts", |world| world.watch_contacts(watch))?;
        }
        15 if soft => {
            let id = twins.bodies[random.below(twins.bodies.len())];
            let [heavier, softer] = [(); 2].map(|()| random.between(0.7, 1.4));
            twins.edit("changing a body", |world| world.edit(id, |body| Ok(changed(body, heavier, softer))))?;
        }
        16 => {
            if let [first, second] = added.bodies[..] {
                merge(twins, added, [first, second])?;
            }
        }
        17 => {
            if let Some(&id) = added.colliders.last() {
                let (radius, friction) = (random.between(0.05, 0.2), random.between(0.0, 1.0));
                let change =
                    |ball: Collider| Collider { shape: Shape::Sphere { radius }, ..ball }.with_friction(friction);
                twins
                    .both("changing a collider", |world| world.edit_collider(id, change))?
                    .map_err(|e| e.to_string())?;
            }
        }
        18 if !twins.rigid.is_empty() => {
            let id = twins.rigid[random.below(twins.rigid.len())];
            let (denser, friction) = (random.between(0.7, 1.4), random.between(0.2, 0.8));
            let change = |body: RigidBody| {
                let density = body.density * denser;
                RigidBody { density, ..body }.with_friction(friction)
            };
            twins.edit("changing a rigid body", |world| world.edit_rigid(id, change))?;
        }
        _ => {
            for id in added.stale.clone() {
                let asked = twins.both("a stale handle", |world| {
                    let refused = [
                        world.remove(id),
                        world.pin(id, 0),
                        world.positions(id).map(drop),
                        world.edit(id, Ok),
                        world.merge(&[id]).map(drop),
                    ];
                    refused.iter().all(|answer| matches!(answer, Err(BuildError::NotFound { .. })))
                })?;
                if !asked {
                    return Err("a handle of a removed body was accepted".to_owned());
                }
            }
        }
    }
    Ok(())
}

/// A body that is so many times as heavy, and whose links give so many times as much.
fn changed(mut body: Body, heavier: f64, softer: f64) -> Body {
    let mass: f64 = body.masses().iter().sum();
    for compliance in &mut body.tables_mut().distance.compliance {
        *compliance *= softer;
    }
    body.with_mass(mass * heavier)
}

/// Makes one body of two that edits added; what hung on the parts hangs on the whole.
fn merge(twins: &mut Twins, added: &mut Added, parts: [BodyId; 2]) -> Result<(), Trouble> {
    let first = twins.world().positions(parts[0]).map_err(|error| error.to_string())?.len() as u32;
    let Some(whole) = twins.edit("merging", |world| world.merge(&parts))? else { return Ok(()) };
    for (body, particle) in added.pins.iter_mut().chain(&mut added.fastened) {
        if parts.contains(body) {
            *particle += if *body == parts[1] { first } else { 0 };
            *body = whole;
        }
    }
    for bodies in [&mut added.bodies, &mut twins.bodies] {
        bodies.retain(|body| !parts.contains(body));
        bodies.push(whole);
    }
    added.stale.extend(parts);
    Ok(())
}

/// A particle of any body.
fn any_particle(twins: &Twins, random: &mut Random) -> Result<(BodyId, u32), Trouble> {
    let body = twins.bodies[random.below(twins.bodies.len())];
    let count = twins.world().positions(body).map_err(|error| error.to_string())?.len();
    Ok((body, random.below(count) as u32))
}

/// Whether a particle is within reach of a rigid body: what is fastened over a distance swings with a long arm.
fn near(twins: &Twins, (body, particle): (BodyId, u32), to: RigidId) -> bool {
    let (Ok(places), Ok(pose)) = (twins.world().positions(body), twins.world().rigid_pose(to)) else { return false };
    let place = places.get(particle as usize).map(f64::from);
    (0..3).map(|k| (place[k] - pose.translation[k]).powi(2)).sum::<f64>() < 0.5 * 0.5
}

/// A small body for an edit to add, made ready for a solver, beside the scene.
fn spare(random: &mut Random, slot: usize, solver: &SolverEntry) -> Result<Body, BuildError> {
    let needs = Needs::of(solver);
    let body = match random.below(3) {
        0 => {
            let cloth = soft_cloth(0.4, 4, 0.05, 1e-3)?;
            if needs.clusters { cloth } else { cloth.with_tearing(Tearing::at_strain(0.5)) }
        }
        1 => Body::rope(&Rope::new(6, [0.0; 3], [0.4, 0.0, 0.0])?, false)?.pinned([0]).with_tethers(0.05),
        _ => Body::particles((0..5).map(|i| [0.1 * f64::from(i), 0.0, 0.0])).with_mass(0.1),
    };
    let place = [-2.0 - slot as f64, random.between(-0.5, 0.5), 0.0];
    let mut scene = Scene::new("", vec![body.translated(place)]);
    soften_scene(&mut scene, solver, WORK);
    Ok(scene.bodies.remove(0))
}
