//! The colliders of a scene file.

use std::f64::consts::PI;

use pliant::core::mesh::read_obj;
use pliant::core::sdf::Colliders;
use pliant::{Collider, Rotation};
use serde::Deserialize;
use toml::Spanned;

use super::file::Source;
use super::obstacles::Obstacle;
use crate::failure::{Failure, unknown};

/// The kinds of colliders.
const KINDS: [&str; 7] = ["plane", "sphere", "box", "capsule", "cylinder", "torus", "obj"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ColliderFile {
    kind: Spanned<String>,
    normal: Option<Spanned<[f64; 3]>>,
    radius: Option<Spanned<f64>>,
    size: Option<Spanned<[f64; 3]>>,
    length: Option<Spanned<f64>>,
    height: Option<Spanned<f64>>,
    tube: Option<Spanned<f64>>,
    file: Option<Spanned<String>>,
    cells: Option<Spanned<usize>>,
    rounding: Option<Spanned<f64>>,
    position: Option<Spanned<[f64; 3]>>,
    axis: Option<Spanned<[f64; 3]>>,
    angle: Option<Spanned<f64>>,
    friction: Option<Spanned<f64>>,
    restitution: Option<Spanned<f64>>,
    motion: Option<MotionFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MotionFile {
    velocity: Option<Spanned<[f64; 3]>>,
    amplitude: Option<Spanned<[f64; 3]>>,
    frequency: Option<Spanned<f64>>,
    spin: Option<Spanned<[f64; 3]>>,
    until: Option<Spanned<f64>>,
}

/// Collider `row` and its motion, in a scene of frames of `dt` \[s\].
pub(super) fn build(source: &Source, file: &ColliderFile, row: usize, dt: f64) -> Result<Obstacle, Failure> {
    let kind = file.kind.get_ref().as_str();
    let needs = |field| move || source.fail(file.kind.span(), field, format!("missing; a {kind} needs it"));
    let size = |value: &Option<Spanned<f64>>, field| {
        let value = value.as_ref().ok_or_else(needs(field))?;
        source.number(value, field, "a number above 0", |v| v > 0.0)
    };
    let mut mesh = None;
    let mut collider = match kind {
        "plane" => Collider::plane(file.normal.as_ref().map_or(Ok([0.0, 1.0, 0.0]), |n| source.vector(n, "normal"))?),
        "sphere" => Collider::sphere(size(&file.radius, "radius")?),
        "box" => Collider::cuboid(source.vector(file.size.as_ref().ok_or_else(needs("size"))?, "size")?),
        "capsule" => Collider::capsule(size(&file.radius, "radius")?, size(&file.length, "length")?),
        "cylinder" => Collider::cylinder(size(&file.radius, "radius")?, size(&file.height, "height")?),
        "torus" => Collider::torus(size(&file.radius, "radius")?, size(&file.tube, "tube")?),
        "obj" => {
            let name = file.file.as_ref().ok_or_else(needs("file"))?;
            let read = read_obj(source.beside(name.get_ref())).map_err(|e| source.fail(name.span(), "file", e))?;
            let cells = file.cells.as_ref().map_or(48, |cells| *cells.get_ref());
            let sampled = Collider::mesh(&read, cells).map_err(|e| source.fail(name.span(), "file", e))?;
            mesh = Some(read);
            sampled
        }
        other => {
            let problem = unknown("kind of collider", other, KINDS);
            return Err(source.fail(file.kind.span(), "kind", problem));
        }
    };
    if let Some(rounding) = &file.rounding {
        let r = source.number(rounding, "rounding", "a number above 0", |v| v > 0.0)?;
        if !matches!(kind, "box" | "cylinder") {
            let problem = format!("{r}; a {kind} stays as it is: only a box or a cylinder has edges to round");
            return Err(source.fail(rounding.span(), "rounding", problem));
        }
        collider.shape = collider.shape.rounded(r);
    }
    if let Some(position) = &file.position {
        collider = collider.at(source.vector(position, "position")?);
    }
    if let Some(angle) = &file.angle {
        let degrees = source.number(angle, "angle", "a number of degrees", |_| true)?;
        let axis = file.axis.as_ref().map_or(Ok([0.0, 1.0, 0.0]), |axis| source.vector(axis, "axis"))?;
        collider = collider.turned(Rotation::about(axis, degrees.to_radians()));
    }
    if let Some(friction) = &file.friction {
        collider = collider.with_friction(source.number(friction, "friction", "0 or more", |v| v >= 0.0)?);
    }
    if let Some(restitution) = &file.restitution {
        let e = source.number(restitution, "restitution", "0 to 1", |v| (0.0..=1.0).contains(&v))?;
        collider = collider.with_restitution(e);
    }
    // Everything else that can be wrong is found by making it ready, while its place in the file is known.
    Colliders::<f32>::new([collider.clone()]).map_err(|e| source.fail(file.kind.span(), "collider", e))?;
    let mut obstacle = Obstacle { mesh, ..Obstacle::still(collider) };
    if let Some(motion) = &file.motion {
        let vector =
            |value: &Option<Spanned<[f64; 3]>>, field| value.as_ref().map_or(Ok([0.0; 3]), |v| source.vector(v, field));
        let positive = |value: &Spanned<f64>, field| source.number(value, field, "0 or more", |v| v >= 0.0);
        obstacle.velocity = vector(&motion.velocity, "velocity")?;
        obstacle.amplitude = vector(&motion.amplitude, "amplitude")?;
        obstacle.spin = vector(&motion.spin, "spin")?;
        // Between two poses a collider turns along the shorter arc: half a turn has none, and more would go backwards.
        let rate = obstacle.spin.iter().map(|c| c * c).sum::<f64>().sqrt();
        if let Some(spin) = &motion.spin
            && rate * dt >= PI
        {
            let problem = format!(
                "{rate:.4} rad/s of collider {row} (a {kind}) is {:.4} rad a frame; expected less than half a turn \
                 (π): a `dt` below {:.3e}, or a slower spin",
                rate * dt,
                PI / rate
            );
            return Err(source.fail(spin.span(), "spin", problem));
        }
        obstacle.frequency = motion.frequency.as_ref().map_or(Ok(1.0), |f| positive(f, "frequency"))?;
        obstacle.until = motion.until.as_ref().map(|until| positive(until, "until")).transpose()?;
    }
    Ok(obstacle)
}
