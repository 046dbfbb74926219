//! Twins: one scene in two worlds on two backends, which must agree on everything that is asked of them.

use std::fmt::Debug;

use pliant::backends::AnyBackend;
use pliant::core::rigid::Mobility;
use pliant::{BodyId, BuildError, ColliderId, Pose, RigidId, Snapshot, World};

use super::stages::{self, GROUND};
use crate::measure;
use crate::scene::Scene;
use crate::scene::obstacles::Obstacle;
use crate::solvers::{Number, SolverEntry, Work};

/// Work a step: enough that nothing stretches beyond reason, little enough for a million steps.
pub const WORK: Work = Work { substeps: 4, iterations: 2 };

/// The energy a kilogram may have \[J/kg\]: see [`Twins::energy`].
///
/// Whatever happens in a scene begins at most 2 m above the ground and is driven by things that move at no more than 3 m/s, so
/// that honest mechanics holds some 24 J/kg. Edits put work in on top (releases of stretched cloth, pushes, tears): four times as
/// much is allowed, that is everything at 14 m/s. A scene that blows up leaves it behind within a few steps.
pub const ENERGY_BOUND: f64 = 4.0 * (9.81 * 2.0 + 0.5 * 3.0 * 3.0);

/// One scene in two worlds.
pub struct Twins {
    worlds: [World; 2],
    /// Bodies of the scene, then those that edits added.
    pub bodies: Vec<BodyId>,
    /// Rigid bodies of the scene, then those that edits added.
    pub rigid: Vec<RigidId>,
    obstacles: Vec<(ColliderId, Obstacle)>,
    levers: Vec<(RigidId, Pose)>,
    dt: f32,
    /// What it takes to make another empty world of each kind.
    solver: SolverEntry,
    backends: [AnyBackend<f32>; 2],
    /// Steps since the scene began.
    pub step: u64,
}

/// What went wrong, in a few words.
pub type Trouble = String;

impl Twins {
    /// Raises a scene, made ready for a solver, on two backends.
    pub fn new(scene: &Scene, solver: &SolverEntry, backends: [&str; 2]) -> Result<Self, Trouble> {
        let pick = |name: &str| AnyBackend::by_name(name, Some(2)).ok_or_else(|| format!("no backend `{name}`"));
        let backends = [pick(backends[0])?, pick(backends[1])?];
        let build = |on: &AnyBackend<f32>| raise(scene, solver, on.clone()).map_err(|error| error.to_string());
        let [(first, cast), (second, other)] = [build(&backends[0])?, build(&backends[1])?];
        if cast.bodies != other.bodies || cast.rigid != other.rigid {
            return Err("equal worlds have different handles".to_owned());
        }
        let Cast { bodies, rigid, colliders } = cast;
        let levers = (rigid.iter().zip(&scene.solids))
            .filter(|(_, solid)| solid.body.mobility == Mobility::Kinematic)
            .map(|(id, solid)| (*id, solid.body.pose))
            .collect();
        let obstacles = colliders.into_iter().zip(scene.obstacles.iter().cloned()).collect();
        let (worlds, dt) = ([first, second], scene.dt as f32);
        Ok(Self { worlds, bodies, rigid, obstacles, levers, dt, solver: *solver, backends, step: 0 })
    }

    /// The first of both, to look at.
    pub fn world(&self) -> &World {
        &self.worlds[0]
    }

    /// Does the same to both worlds; they must answer alike.
    pub fn both<T: PartialEq + Debug>(&mut self, what: &str, act: impl Fn(&mut World) -> T) -> Result<T, Trouble> {
        let [first, second] = &mut self.worlds;
        let (a, b) = (act(first), act(second));
        if a == b { Ok(a) } else { Err(format!("{what}: one backend says {a:?}, the other {b:?}")) }
    }

    /// An edit that may be refused: whoever refuses must not have changed anything.
    pub fn edit<T: PartialEq + Debug, E: PartialEq + Debug>(
        &mut self,
        what: &str,
        act: impl Fn(&mut World) -> Result<T, E>,
    ) -> Result<Option<T>, Trouble> {
        let before = self.snapshots()?;
        let done = self.both(what, act)?.ok();
        if done.is_none() && self.snapshots()? != before {
            return Err(format!("{what} was refused, and yet something changed"));
        }
        Ok(done)
    }

    /// Drives what moves by itself and takes a step in both worlds; returns the hash that both agree on.
    pub fn advance(&mut self) -> Result<u64, Trouble> {
        let (time, dt) = ((self.step + 1) as f64 * f64::from(self.dt), self.dt);
        for (id, obstacle) in self.obstacles.iter().filter(|(_, obstacle)| obstacle.moves()) {
            let pose = obstacle.pose(time);
            for world in &mut self.worlds {
                world.move_collider(*id, pose).map_err(|error| format!("moving a collider: {error}"))?;
            }
        }
        for (id, start) in &self.levers {
            let pose = stages::lever(*start, time);
            for world in &mut self.worlds {
                world.send_rigid(*id, pose).map_err(|error| format!("sending a body: {error}"))?;
            }
        }
        if let Err(error) = self.both("a step", |world| world.step(dt).map(drop))? {
            return Err(error.to_string());
        }
        self.step += 1;
        self.finite()?;
        let hash = self.both("state hash", |world| world.state_hash())?;
        if self.worlds[0].contacts() != self.worlds[1].contacts() {
            return Err("backends list different contacts".to_owned());
        }
        if self.worlds[0].tears() != self.worlds[1].tears() {
            return Err("backends tear different edges".to_owned());
        }
        Ok(hash)
    }

    fn finite(&self) -> Result<(), Trouble> {
        let (particles, solids) = (self.world().particles(), self.world().rigid_bodies());
        let columns = [("position", &particles.x), ("velocity", &particles.v)];
        let rigid = [("place", &solids.x), ("velocity", &solids.v), ("angular velocity", &solids.omega)];
        for (what, column) in columns.into_iter().chain(rigid) {
            if let Some(row) = column.first_non_finite() {
                return Err(format!("{what} {row} is {:?}", column.get(row)));
            }
        }
        Ok(())
    }

    /// The energy of everything that moves, over its mass \[J/kg\]: kinetic, and gravitational above the ground.
    ///
    /// Elastic energy is left out: rigid constraints have none, and methods that minimise are put back outside colliders after
    /// their minimum, against springs of any stiffness; what comes of it is motion in the next step, and counts then.
    pub fn energy(&self) -> f64 {
        let (world, solids) = (self.world(), self.world().rigid_bodies());
        let gravity = world.environment().gravity.map(f64::from);
        let soft: f64 = world.model().inv_mass().iter().filter(|w| **w > 0.0).map(|w| 1.0 / f64::from(*w)).sum();
        let mass = soft + (0..solids.len()).filter_map(|row| solids.mass(row)).sum::<f64>();
        let energy = measure::motion_energy(world.model(), world.particles()) + measure::rigid_energy(solids, gravity);
        if mass > 0.0 { energy / mass + gravity[1] * GROUND } else { 0.0 }
    }

    /// What both worlds write of their moving state: the same.
    fn snapshots(&mut self) -> Result<Snapshot, Trouble> {
        let [first, second] = [0, 1].map(|k: usize| self.worlds[k].snapshot());
        if first == second { Ok(first) } else { Err("backends take different snapshots of equal states".to_owned()) }
    }

    /// Takes a snapshot, goes on, goes back and goes on again: the same bits. Returns how many steps that took.
    pub fn rewind(&mut self, steps: u64) -> Result<u64, Trouble> {
        let snapshot = self.snapshots()?;
        self.again(steps, |twins| {
            let restored = twins.worlds.iter_mut().map(|world| world.restore(&snapshot));
            restored.collect::<Result<(), _>>().map_err(|error| format!("restoring a snapshot: {error}"))
        })
    }

    /// The same with full snapshots, of which new worlds are made.
    pub fn revive(&mut self, steps: u64) -> Result<u64, Trouble> {
        let snapshots = self.both("a full snapshot", |world| world.full_snapshot())?;
        let snapshot = snapshots.map_err(|error| format!("taking a full snapshot: {error}"))?;
        self.again(steps, |twins| {
            for (world, on) in twins.worlds.iter_mut().zip(&twins.backends) {
                *world = empty(&twins.solver, on.clone()).map_err(|error| error.to_string())?;
                world.restore_full(&snapshot).map_err(|error| format!("restoring a full snapshot: {error}"))?;
            }
            Ok(())
        })
    }

    /// Goes on, goes back by `back` and goes on again.
    fn again(&mut self, steps: u64, back: impl FnOnce(&mut Self) -> Result<(), Trouble>) -> Result<u64, Trouble> {
        let start = self.step;
        let hashes = (0..steps).map(|_| self.advance()).collect::<Result<Vec<_>, _>>()?;
        back(self)?;
        self.step = start;
        for (at, &hash) in hashes.iter().enumerate() {
            if self.advance()? != hash {
                return Err(format!("a run resumed at step {start} differs after {} steps", at + 1));
            }
        }
        Ok(2 * steps)
    }
}

/// Handles of a scene in a world.
struct Cast {
    bodies: Vec<BodyId>,
    rigid: Vec<RigidId>,
    colliders: Vec<ColliderId>,
}

/// A world with this solver and nothing in it.
fn empty(solver: &SolverEntry, backend: AnyBackend<f32>) -> Result<World, BuildError> {
    let mut world = World::on(backend);
    world.set_solver(f32::solver(solver, WORK))?;
    Ok(world)
}

fn raise(scene: &Scene, solver: &SolverEntry, backend: AnyBackend<f32>) -> Result<(World, Cast), BuildError> {
    let mut world = empty(solver, backend)?;
    let colliders = scene.obstacles.iter().map(|obstacle| world.add_collider(obstacle.collider.clone()));
    let colliders = colliders.collect::<Result<Vec<_>, _>>()?;
    let bodies = scene.bodies.iter().map(|body| world.add(body.clone())).collect::<Result<Vec<_>, _>>()?;
    let rigid = scene.solids.iter().map(|solid| world.add_rigid(&solid.body)).collect::<Result<Vec<_>, _>>()?;
    for joint in &scene.joints {
        world.join(joint.bodies.map(|row| rigid[row]), joint.clone())?;
    }
    for &(particle, row) in &scene.fastened {
        if let Some((body, particle)) = world.locate(particle as usize) {
            world.fasten(body, particle, rigid[row])?;
        }
    }
    let environment = world.environment_mut();
    environment.damping = scene.damping as f32;
    environment.wind = scene.wind.map(|wind| pliant::Wind {
        velocity: wind.velocity.map(|c| c as f32),
        density: wind.density as f32,
        drag: wind.drag as f32,
        lift: wind.lift as f32,
    });
    Ok((world, Cast { bodies, rigid, colliders }))
}
