//! The rigid bodies, joints and fastenings of a scene file.

use pliant::core::mesh::{TriMesh, read_obj};
use pliant::{Joint, Motor, RigidBodies, RigidBody, RigidOptions, RigidSolver, Rotation};
use serde::Deserialize;
use toml::Spanned;

use super::Scene;
use super::file::Source;
use super::solids::Solid;
use crate::failure::{Failure, unknown};

/// The kinds of rigid bodies.
const KINDS: [&str; 7] = ["plane", "sphere", "box", "capsule", "cylinder", "hull", "mesh"];
/// The kinds of joints.
const JOINTS: [&str; 6] = ["ball", "hinge", "swing-twist", "slider", "fixed", "distance"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RigidFile {
    kind: Spanned<String>,
    name: Option<Spanned<String>>,
    normal: Option<Spanned<[f64; 3]>>,
    radius: Option<Spanned<f64>>,
    size: Option<Spanned<[f64; 3]>>,
    length: Option<Spanned<f64>>,
    height: Option<Spanned<f64>>,
    file: Option<Spanned<String>>,
    cells: Option<Spanned<usize>>,
    density: Option<Spanned<f64>>,
    #[serde(default)]
    fixed: bool,
    position: Option<Spanned<[f64; 3]>>,
    axis: Option<Spanned<[f64; 3]>>,
    angle: Option<Spanned<f64>>,
    velocity: Option<Spanned<[f64; 3]>>,
    spin: Option<Spanned<[f64; 3]>>,
    friction: Option<Spanned<f64>>,
    restitution: Option<Spanned<f64>>,
    damping: Option<Spanned<[f64; 2]>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JointFile {
    kind: Spanned<String>,
    bodies: Spanned<[String; 2]>,
    at: Option<Spanned<[f64; 3]>>,
    ends: Option<Spanned<[[f64; 3]; 2]>>,
    axis: Option<Spanned<[f64; 3]>>,
    limits: Option<Spanned<[f64; 2]>>,
    swing: Option<Spanned<f64>>,
    compliance: Option<Spanned<f64>>,
    angular_compliance: Option<Spanned<f64>>,
    damping: Option<Spanned<f64>>,
    motor: Option<MotorFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MotorFile {
    speed: Option<Spanned<f64>>,
    place: Option<Spanned<f64>>,
    stiffness: Option<Spanned<f64>>,
    damping: Option<Spanned<f64>>,
    limit: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FastenFile {
    body: Spanned<usize>,
    particles: Spanned<Vec<u32>>,
    to: Spanned<String>,
}

/// What a scene file says about rigid bodies.
pub(super) struct Files<'a> {
    pub bodies: &'a [RigidFile],
    pub joints: &'a [JointFile],
    pub fasten: &'a [FastenFile],
}

/// Adds rigid bodies, joints and fastenings to a scene that has its particles.
pub(super) fn add(source: &Source, files: &Files<'_>, scene: &mut Scene) -> Result<(), Failure> {
    let mut names: Vec<String> = Vec::new();
    let mut bodies = RigidBodies::<f64>::new();
    for (row, file) in files.bodies.iter().enumerate() {
        let name = file.name.as_ref().map_or_else(|| row.to_string(), |name| name.get_ref().clone());
        if names.contains(&name) {
            let span = file.name.as_ref().map_or(file.kind.span(), Spanned::span);
            return Err(source.fail(span, "name", format!("`{name}` is the name of another rigid body")));
        }
        names.push(name);
        let solid = build(source, file)?;
        // Everything else that can be wrong is found by making it ready, while its place in the file is known.
        let refuse = |error| source.fail(file.kind.span(), "rigid", error);
        bodies.push(&solid.body).map_err(refuse)?;
        let mut alone = RigidBodies::<f64>::new();
        alone.push(&solid.body).map_err(refuse)?;
        RigidSolver::new(RigidOptions::default()).prepare(&alone).map_err(refuse)?;
        scene.solids.push(solid);
    }
    let find = |span, field, name: &str| {
        let found = names.iter().position(|other| other == name);
        found.ok_or_else(|| source.fail(span, field, unknown("rigid body", name, names.iter().map(String::as_str))))
    };
    for file in files.joints {
        let [a, b] = file.bodies.get_ref();
        let rows = [find(file.bodies.span(), "bodies", a)?, find(file.bodies.span(), "bodies", b)?];
        let joint = joined(source, file, rows)?;
        bodies.join(&joint).map_err(|error| source.fail(file.kind.span(), "joint", error))?;
        scene.joints.push(joint);
    }
    for file in files.fasten {
        let to = find(file.to.span(), "to", file.to.get_ref())?;
        let Some((first, body)) = scene.placed().nth(*file.body.get_ref()) else {
            let problem = format!("{}; expected the number of a [[body]], counted from 0", file.body.get_ref());
            return Err(source.fail(file.body.span(), "body", problem));
        };
        let count = body.particle_count() as u32;
        if let Some(bad) = file.particles.get_ref().iter().find(|&&p| p >= count) {
            let problem = format!("{bad}; expected a particle, 0 to {}", count.saturating_sub(1));
            return Err(source.fail(file.particles.span(), "particles", problem));
        }
        scene.fastened.extend(file.particles.get_ref().iter().map(|p| (first + p, to)));
    }
    Ok(())
}

fn build(source: &Source, file: &RigidFile) -> Result<Solid, Failure> {
    let kind = file.kind.get_ref().as_str();
    let needs = |field| move || source.fail(file.kind.span(), field, format!("missing; a {kind} needs it"));
    let size = |value: &Option<Spanned<f64>>, field| {
        let value = value.as_ref().ok_or_else(needs(field))?;
        source.number(value, field, "a number above 0", |v| v > 0.0)
    };
    let density = match &file.density {
        Some(density) => source.number(density, "density", "a number above 0", |v| v > 0.0)?,
        None => 1000.0,
    };
    let mut mesh = None;
    let read = |mesh: &mut Option<TriMesh>, make: &dyn Fn(&TriMesh) -> Result<RigidBody, _>| {
        let name = file.file.as_ref().ok_or_else(needs("file"))?;
        let read = read_obj(source.beside(name.get_ref())).map_err(|e| source.fail(name.span(), "file", e))?;
        let body = make(&read).map_err(|e: pliant::BuildError| source.fail(name.span(), "file", e))?;
        *mesh = Some(read);
        Ok::<_, Failure>(body)
    };
    let mut body = match kind {
        "plane" => RigidBody::plane(file.normal.as_ref().map_or(Ok([0.0, 1.0, 0.0]), |n| source.vector(n, "normal"))?),
        "sphere" => RigidBody::sphere(size(&file.radius, "radius")?, density),
        "box" => RigidBody::cuboid(source.vector(file.size.as_ref().ok_or_else(needs("size"))?, "size")?, density),
        "capsule" => RigidBody::capsule(size(&file.radius, "radius")?, size(&file.length, "length")?, density),
        "cylinder" => RigidBody::cylinder(size(&file.radius, "radius")?, size(&file.height, "height")?, density),
        "hull" => read(&mut mesh, &|mesh| RigidBody::convex(mesh, density))?,
        "mesh" => {
            let cells = file.cells.as_ref().map_or(Ok(48), |cells| source.count(cells, "cells"))?;
            read(&mut mesh, &|mesh| RigidBody::mesh(mesh, cells, density))?
        }
        other => {
            let problem = unknown("kind of rigid body", other, KINDS);
            return Err(source.fail(file.kind.span(), "kind", problem));
        }
    };
    // The surface of a hull is that of its points, which need not be that of its mesh.
    mesh = mesh.filter(|_| kind == "mesh");
    if file.fixed {
        body = body.held();
    }
    if let Some(position) = &file.position {
        body = body.at(source.vector(position, "position")?);
    }
    if let Some(angle) = &file.angle {
        let degrees = source.number(angle, "angle", "a number of degrees", |_| true)?;
        let axis = file.axis.as_ref().map_or(Ok([0.0, 1.0, 0.0]), |axis| source.vector(axis, "axis"))?;
        body = body.turned(Rotation::about(axis, degrees.to_radians()));
    }
    if let Some(velocity) = &file.velocity {
        body = body.moving(source.vector(velocity, "velocity")?);
    }
    if let Some(spin) = &file.spin {
        body = body.spinning(source.vector(spin, "spin")?);
    }
    if let Some(friction) = &file.friction {
        body = body.with_friction(source.number(friction, "friction", "0 or more", |v| v >= 0.0)?);
    }
    if let Some(restitution) = &file.restitution {
        let e = source.number(restitution, "restitution", "0 to 1", |v| (0.0..=1.0).contains(&v))?;
        body = body.with_restitution(e);
    }
    if let Some(damping) = &file.damping {
        let [linear, angular] = *damping.get_ref();
        body = body.with_damping(linear, angular);
    }
    Ok(Solid { body, mesh })
}

fn joined(source: &Source, file: &JointFile, bodies: [usize; 2]) -> Result<Joint, Failure> {
    let kind = file.kind.get_ref().as_str();
    let needs = |field| move || source.fail(file.kind.span(), field, format!("missing; a {kind} joint needs it"));
    let vector =
        |value: &Option<Spanned<[f64; 3]>>, field| source.vector(value.as_ref().ok_or_else(needs(field))?, field);
    let at = || vector(&file.at, "at");
    let axis = || vector(&file.axis, "axis");
    let limits = file.limits.as_ref().map(|limits| *limits.get_ref());
    let degrees = limits.map(|limits| limits.map(f64::to_radians));
    let within = |joint: Joint, limits: Option<[f64; 2]>| match limits {
        Some([low, high]) => joint.with_limits(low, high),
        None => joint,
    };
    let mut joint = match kind {
        "ball" => Joint::ball(bodies, at()?),
        "hinge" => within(Joint::hinge(bodies, at()?, axis()?), degrees),
        "swing-twist" => {
            let swing = *file.swing.as_ref().ok_or_else(needs("swing"))?.get_ref();
            Joint::swing_twist(bodies, at()?, axis()?, swing.to_radians(), degrees.ok_or_else(needs("limits"))?)
        }
        "slider" => within(Joint::slider(bodies, at()?, axis()?), limits),
        "fixed" => Joint::fixed(bodies, at()?),
        "distance" => {
            let ends = *file.ends.as_ref().ok_or_else(needs("ends"))?.get_ref();
            Joint::distance(bodies, ends, limits.ok_or_else(needs("limits"))?)
        }
        other => return Err(source.fail(file.kind.span(), "kind", unknown("kind of joint", other, JOINTS))),
    };
    if limits.is_some() && matches!(kind, "ball" | "fixed") {
        let span = file.limits.as_ref().map_or(file.kind.span(), Spanned::span);
        return Err(source.fail(span, "limits", format!("a {kind} joint has none")));
    }
    let number = |value: &Option<Spanned<f64>>| value.as_ref().map_or(0.0, |value| *value.get_ref());
    joint = joint.with_compliance(number(&file.compliance), number(&file.angular_compliance));
    joint = joint.with_damping(number(&file.damping));
    if let Some(motor) = &file.motor {
        joint = joint.with_motor(driven(source, file, motor)?);
    }
    Ok(joint)
}

fn driven(source: &Source, file: &JointFile, motor: &MotorFile) -> Result<Motor, Failure> {
    // Hinges are told in degrees, sliders in metres.
    let hinge = file.kind.get_ref() == "hinge";
    let target = |value: &Spanned<f64>| if hinge { value.get_ref().to_radians() } else { *value.get_ref() };
    let missing = |field| move || source.fail(file.kind.span(), field, "missing; the motor needs it");
    let number = |value: &Option<Spanned<f64>>, field| value.as_ref().map(|v| *v.get_ref()).ok_or_else(missing(field));
    match (&motor.speed, &motor.place) {
        (Some(speed), None) => {
            let limit = motor.limit.as_ref().map_or(f64::INFINITY, |limit| *limit.get_ref());
            Ok(Motor::Speed { target: target(speed), damping: number(&motor.damping, "damping")?, limit })
        }
        (None, Some(place)) => Ok(Motor::Place {
            target: target(place),
            stiffness: number(&motor.stiffness, "stiffness")?,
            damping: number(&motor.damping, "damping")?,
        }),
        _ => Err(source.fail(file.kind.span(), "motor", "expected either `speed` or `place`")),
    }
}
