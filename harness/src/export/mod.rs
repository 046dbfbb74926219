//! Saved steps as files that other programs read.

mod gltf;

use std::fmt::Write as _;
use std::path::Path;
use std::rc::Rc;

use pliant::Pose;
use pliant::core::body::Role;

use crate::cli::Export;
use crate::failure::Failure;
use crate::scene::Scene;
use crate::scene::obstacles::place;
use crate::simulation::Run;
use crate::{output, render};

/// Pixels of an exported picture.
const PICTURE: [usize; 2] = [960, 640];

/// A saved step.
pub struct Frame {
    /// The scene as it was then: bodies tear.
    pub scene: Rc<Scene>,
    /// Its number; 0 is the start.
    pub step: usize,
    /// Where the particles are \[m\].
    pub positions: Vec<[f64; 3]>,
    /// Where the rigid bodies are.
    pub poses: Vec<Pose>,
}

impl Frame {
    /// Where a run is after `step` frames.
    pub fn of(run: &dyn Run, step: usize) -> Self {
        Self { scene: Rc::clone(run.scene()), step, positions: run.positions(), poses: run.poses() }
    }

    /// The same with the corners of the rigid bodies behind the particles.
    fn with_corners(&self, shape: &Shape) -> Self {
        let corners = shape.solids.iter().zip(&self.poses);
        let corners = corners.flat_map(|(solid, &pose)| solid.iter().map(move |&p| place(pose, p)));
        let positions = self.positions.iter().copied().chain(corners).collect();
        Self { scene: Rc::clone(&self.scene), step: self.step, positions, poses: self.poses.clone() }
    }
}

/// What to draw between the particles: triangles, or links where there are none; numbered over all bodies. Corners of rigid bodies
/// are numbered behind the particles.
pub struct Shape {
    pub triangles: Vec<[u32; 3]>,
    pub links: Vec<[u32; 2]>,
    /// Corners of each rigid body, in its own frame \[m\].
    solids: Vec<Vec<[f64; 3]>>,
}

impl Shape {
    fn of(scene: &Scene) -> Self {
        let mut shape = Self { triangles: Vec::new(), links: Vec::new(), solids: Vec::new() };
        for (first, body) in scene.placed() {
            shape.triangles.extend(body.triangles().iter().map(|t| t.map(|i| i + first)));
            if body.triangles().is_empty() {
                let table = &body.tables().distance;
                let stretch = table.ids.iter().zip(&table.role).filter(|(_, role)| **role == Role::Stretch);
                shape.links.extend(stretch.map(|(ids, _)| ids.map(|i| i + first)));
            }
        }
        let mut first = scene.particle_count();
        for solid in &scene.solids {
            let (corners, triangles) = solid.outline();
            shape.triangles.extend(triangles.iter().map(|t| t.map(|i| (i + first) as u32)));
            first += corners.len();
            shape.solids.push(corners);
        }
        shape
    }
}

/// Writes the saved steps into a folder.
pub fn write(format: Export, frames: &[Frame], out: &Path) -> Result<(), Failure> {
    let Some(last) = frames.last() else { return Ok(()) };
    let name = &last.scene.name;
    let one = |extension: &str| out.join(format!("{name}.{extension}"));
    let numbered = |frame: &Frame, extension: &str| out.join(format!("{name}_{:05}.{extension}", frame.step));
    if format == Export::Png {
        return frames.iter().try_for_each(|frame| {
            let time = frame.step as f64 * frame.scene.dt;
            let picture = render::picture(&frame.scene, &frame.positions, &frame.poses, time, PICTURE);
            output::write(&numbered(frame, "png"), &picture)
        });
    }
    let shapes: Vec<Shape> = frames.iter().map(|frame| Shape::of(&frame.scene)).collect();
    let whole: Vec<Frame> = frames.iter().zip(&shapes).map(|(frame, shape)| frame.with_corners(shape)).collect();
    let shaped = || whole.iter().zip(&shapes);
    match format {
        Export::Csv => {
            if !last.scene.solids.is_empty() {
                output::write(&out.join(format!("{name}_bodies.csv")), poses(&whole).as_bytes())?;
            }
            output::write(&one("csv"), csv(&whole).as_bytes())
        }
        Export::Gltf => {
            let torn = whole.iter().any(|frame| frame.positions.len() != whole[0].positions.len());
            if torn {
                let why = "a body tore, and one animation has one set of vertices; export obj or ply, or fewer frames";
                return Err(Failure::Input(why.to_owned()));
            }
            output::write(&one("gltf"), gltf::text(&last.scene, &shapes[0], &whole)?.as_bytes())
        }
        Export::Obj => {
            shaped().try_for_each(|(frame, shape)| output::write(&numbered(frame, "obj"), obj(shape, frame).as_bytes()))
        }
        Export::Ply => {
            shaped().try_for_each(|(frame, shape)| output::write(&numbered(frame, "ply"), ply(shape, frame).as_bytes()))
        }
        // Written above: a picture needs no corners of its own.
        Export::Png => Ok(()),
    }
}

/// Shortest decimals that read back as the same bits. Writing to a string cannot fail.
fn csv(frames: &[Frame]) -> String {
    let mut text = String::from("step,vertex,x,y,z\n");
    for frame in frames {
        for (vertex, [x, y, z]) in frame.positions.iter().enumerate() {
            let _ = writeln!(text, "{},{vertex},{x:?},{y:?},{z:?}", frame.step);
        }
    }
    text
}

/// Poses of the rigid bodies, as exact.
fn poses(frames: &[Frame]) -> String {
    let mut text = String::from("step,body,x,y,z,qx,qy,qz,qw\n");
    for frame in frames {
        for (body, pose) in frame.poses.iter().enumerate() {
            let ([x, y, z], [i, j, k, w]) = (pose.translation, pose.rotation.0);
            let _ = writeln!(text, "{},{body},{x:?},{y:?},{z:?},{i:?},{j:?},{k:?},{w:?}", frame.step);
        }
    }
    text
}

/// Wavefront counts from 1.
fn obj(shape: &Shape, frame: &Frame) -> String {
    let mut text = String::new();
    for [x, y, z] in &frame.positions {
        let _ = writeln!(text, "v {x} {y} {z}");
    }
    for [a, b] in shape.links.iter().map(|l| l.map(|i| i + 1)) {
        let _ = writeln!(text, "l {a} {b}");
    }
    for [a, b, c] in shape.triangles.iter().map(|t| t.map(|i| i + 1)) {
        let _ = writeln!(text, "f {a} {b} {c}");
    }
    text
}

fn ply(shape: &Shape, frame: &Frame) -> String {
    let mut text = format!(
        "ply\nformat ascii 1.0\nelement vertex {}\nproperty double x\nproperty double y\nproperty double z\n\
         element face {}\nproperty list uchar int vertex_indices\nelement edge {}\nproperty int vertex1\n\
         property int vertex2\nend_header\n",
        frame.positions.len(),
        shape.triangles.len(),
        shape.links.len()
    );
    for [x, y, z] in &frame.positions {
        let _ = writeln!(text, "{x} {y} {z}");
    }
    for [a, b, c] in &shape.triangles {
        let _ = writeln!(text, "3 {a} {b} {c}");
    }
    for [a, b] in &shape.links {
        let _ = writeln!(text, "{a} {b}");
    }
    text
}
