//! Scenes of rigid bodies: alone, joined, and with particles that push them.

use std::f64::consts::{FRAC_PI_6, PI};

use pliant::core::body::{Body, Role};
use pliant::core::error::BuildError;
use pliant::core::mesh::{Split, icosphere, tet_box};
use pliant::core::rigid::{Ragdoll, RigidBodies};
use pliant::{Collider, Joint, RigidBody, RigidOptions, Rotation, Shape};

use super::Scene;
use super::obstacles::Obstacle;
use super::solids::Solid;

fn of_solids(name: &str, solids: impl IntoIterator<Item = RigidBody>) -> Scene {
    Scene { solids: solids.into_iter().map(Solid::from).collect(), ..Scene::new(name, Vec::new()) }
}

fn floor() -> RigidBody {
    RigidBody::plane([0.0, 1.0, 0.0])
}

/// A bar of 30 cm and a stem of 15 cm, spinning about the stem: the axis of the middle moment of inertia. It flips again and
/// again.
pub(super) fn t_handle() -> Result<Scene, BuildError> {
    let across = Rotation::about([0.0, 0.0, 1.0], 0.5 * PI);
    let bar = Shape::Cylinder { radius: 0.02, half_height: 0.15 }.turned(across);
    let stem = Shape::Cylinder { radius: 0.02, half_height: 0.075 }.translated([0.0, -0.095, 0.0]);
    let handle = RigidBody::new(bar.union(stem), 2700.0).spinning([0.02, 8.0, 0.02]).sleeping(false);
    Ok(Scene { gravity: [0.0; 3], frames: 600, ..of_solids("t-handle", [handle]) })
}

/// Ten boxes of 50 cm.
pub(super) fn stack() -> Result<Scene, BuildError> {
    let boxes = (0..10).map(|i| RigidBody::cuboid([0.5; 3], 500.0).at([0.0, 0.25 + 0.5 * f64::from(i), 0.0]));
    Ok(of_solids("box-stack", std::iter::once(floor()).chain(boxes)))
}

/// Forty dominoes of 24 cm in a bend; the first one is pushed.
pub(super) fn dominoes() -> Result<Scene, BuildError> {
    let size = [0.04, 0.24, 0.12];
    // An arc of 2 m radius, a domino every 11 cm.
    let domino = |i: u32| {
        let angle = 0.055 * f64::from(i);
        let place = [2.0 * angle.sin(), 0.5 * size[1], 2.0 * (1.0 - angle.cos())];
        // About its foot.
        let (push, turn) = if i == 0 { ([0.5, 0.0, 0.0], [0.0, 0.0, -4.0]) } else { ([0.0; 3], [0.0; 3]) };
        let piece = RigidBody::cuboid(size, 700.0).at(place).turned(Rotation::about([0.0, 1.0, 0.0], -angle));
        piece.moving(push).spinning(turn).with_friction(0.3)
    };
    Ok(of_solids("dominoes", std::iter::once(floor()).chain((0..40).map(domino))))
}

/// Boxes on a slope of 30° at friction 0.3, 0.5 and 0.7: two slide, by 2.356 and 0.657 m/s², and one stays.
pub(super) fn incline() -> Result<Scene, BuildError> {
    let turn = Rotation::about([0.0, 0.0, 1.0], FRAC_PI_6);
    let (sin, cos) = FRAC_PI_6.sin_cos();
    let ramp = RigidBody::cuboid([4.0, 0.2, 1.4], 1.0).held().turned(turn).at([0.1 * sin, -0.1 * cos, 0.0]);
    let block = |(at, friction): (f64, f64)| {
        // Half its height above the slope, 1.2 m up.
        let place = [1.2 * cos - 0.1 * sin, 1.2 * sin + 0.1 * cos, at];
        // Of two bodies the geometric mean of frictions counts.
        let own = friction * friction / ramp.friction;
        RigidBody::cuboid([0.3, 0.2, 0.3], 500.0).at(place).turned(turn).with_friction(own)
    };
    let blocks = [(-0.45, 0.3), (0.0, 0.5), (0.45, 0.7)].map(block);
    Ok(Scene { frames: 75, ..of_solids("box-incline", std::iter::once(ramp).chain(blocks)) })
}

/// Balls of restitution 0, 0.2 … 1 and two solids with corners, dropped from 1 m.
pub(super) fn balls() -> Result<Scene, BuildError> {
    let ball = |i: u32| {
        let place = [0.3 * f64::from(i), 1.1, 0.0];
        RigidBody::sphere(0.1, 600.0).at(place).with_restitution(0.2 * f64::from(i))
    };
    let mut scene = of_solids("balls", std::iter::once(floor()).chain((0..6).map(ball)));
    let gem = icosphere(0.12, 0)?;
    let hull = RigidBody::convex(&gem, 600.0)?.at([0.45, 1.2, 0.5]).spinning([1.0, 0.0, 2.0]).with_restitution(0.5);
    let sampled = RigidBody::mesh(&gem, 24, 600.0)?.at([1.05, 1.2, 0.5]).spinning([2.0, 0.0, -1.0]);
    scene.solids.extend([hull, sampled].map(|body| Solid { body, mesh: Some(gem.clone()) }));
    Ok(Scene { frames: 50, ..scene })
}

/// A person of 1.8 m at the top of ten stairs, pushed.
pub(super) fn ragdoll() -> Result<Scene, BuildError> {
    let (rise, run) = (0.18, 0.30);
    let stair = |i: u32| {
        let height = rise * f64::from(10 - i);
        let length = if i == 0 { 1.2 } else { run };
        let from = if i == 0 { -1.2 } else { run * f64::from(i - 1) };
        RigidBody::cuboid([length, height, 2.0], 1.0).held().at([from + 0.5 * length, 0.5 * height, 0.0])
    };
    let mut bodies = RigidBodies::<f64>::new();
    // Facing down the stairs.
    let person =
        Ragdoll::new(1.8).at([-0.3, 10.0 * rise + 0.02, 0.0]).turned(Rotation::about([0.0, 1.0, 0.0], 0.5 * PI));
    person.build(&mut bodies)?;
    let stairs: Vec<_> = std::iter::once(floor()).chain((0..10).map(stair)).collect();
    let first = stairs.len();
    let shift = |joint: &Joint| Joint { bodies: joint.bodies.map(|row| row + first), ..joint.clone() };
    let joints = bodies.joints().iter().map(shift).collect();
    let bones = bodies.described().iter().cloned().map(|bone| bone.moving([2.0, 0.0, 0.2]));
    Ok(Scene { joints, frames: 180, ..of_solids("ragdoll", stairs.into_iter().chain(bones)) })
}

/// 60 cm of jelly on the floor with a box of 5 kg that falls on it.
pub(super) fn jelly_carrier() -> Result<Scene, BuildError> {
    let mesh = tet_box([8, 4, 8], [0.6, 0.3, 0.6], Split::Five)?;
    let jelly = Body::solid(&mesh)?
        .with_mass(60.0)
        .with_compliance(Role::Stretch, 2e-5)
        .with_thickness(0.005)
        .translated([-0.3, 0.01, -0.3]);
    let ground = Collider::plane([0.0, 1.0, 0.0]).with_friction(0.6);
    let carried = RigidBody::cuboid([0.3, 0.2, 0.3], 300.0).at([0.02, 0.5, 0.0]).with_friction(0.6);
    let scene = of_solids("jelly-carrier", [carried]);
    Ok(Scene { bodies: vec![jelly], obstacles: vec![Obstacle::still(ground)], damping: 0.5, ..scene })
}

/// 10 m of chain that swings, and a ball of a thousand links' mass at its end.
pub(super) fn chain() -> Result<Scene, BuildError> {
    const TILT: f64 = 0.5;
    let (sin, cos) = TILT.sin_cos();
    let along = |s: f64| [s * sin, -s * cos, 0.0];
    let turn = Rotation::about([0.0, 0.0, 1.0], TILT);
    let link = RigidBody::capsule(0.02, 0.06, 1000.0).turned(turn).sleeping(false);
    let links = (0..100).map(|i| link.clone().at(along(0.05 + 0.1 * f64::from(i))));
    let mut alone = RigidBodies::<f64>::new();
    alone.push(&link)?;
    let mass = 1000.0 * alone.mass(0).unwrap_or(1.0);
    let ball = RigidBody::sphere(0.3, mass / (4.0 / 3.0 * PI * 0.027)).at(along(10.3)).sleeping(false);
    let anchor = RigidBody::cuboid([0.1; 3], 1.0).held();
    let joints = (0..101_usize).map(|i| Joint::ball([i, i + 1], along(0.1 * i as f64))).collect();
    let rigid = RigidOptions { substeps: 100, ..RigidOptions::default() };
    let bodies = std::iter::once(anchor).chain(links).chain([ball]);
    Ok(Scene { joints, rigid, ..of_solids("chain", bodies) })
}
