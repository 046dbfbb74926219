//! Obstacles: the colliders of a scene, how they move, and what they look like in a picture.

use std::f64::consts::{PI, TAU};

use pliant::core::mesh::{TriMesh, icosphere};
use pliant::{Collider, Pose, Rotation, Shape};

/// A collider and its motion: it starts at its own pose, moves by v t + a sin(2π f t) and turns about itself by ω t.
#[derive(Clone, Debug)]
pub struct Obstacle {
    /// What it is and where it starts.
    pub collider: Collider,
    /// The mesh it was sampled from, if so.
    pub mesh: Option<TriMesh>,
    /// Steady velocity v \[m/s\].
    pub velocity: [f64; 3],
    /// Amplitude a of the oscillation \[m\].
    pub amplitude: [f64; 3],
    /// Frequency f of the oscillation \[1/s\].
    pub frequency: f64,
    /// Angular velocity ω \[rad/s\].
    pub spin: [f64; 3],
    /// When it stops \[s\], if it does.
    pub until: Option<f64>,
}

/// Vertices and triangles.
pub type Outline = (Vec<[f64; 3]>, Vec<[usize; 3]>);

/// How much of a plane is drawn beyond what stands on it \[m\].
const MARGIN: f64 = 0.2;
/// How often the faces of a ball are divided.
const BALL: u32 = 4;

impl Obstacle {
    /// A collider that stays where it is.
    pub fn still(collider: Collider) -> Self {
        let zero = [0.0; 3];
        Self { collider, mesh: None, velocity: zero, amplitude: zero, frequency: 1.0, spin: zero, until: None }
    }

    /// Whether it ever moves.
    pub fn moves(&self) -> bool {
        [self.velocity, self.amplitude, self.spin] != [[0.0; 3]; 3]
    }

    /// Where it is after `time` \[s\].
    pub fn pose(&self, time: f64) -> Pose {
        let t = self.until.map_or(time, |until| time.min(until));
        let wave = (TAU * self.frequency * t).sin();
        let start = self.collider.pose;
        let rate = self.spin.iter().map(|c| c * c).sum::<f64>().sqrt();
        let turn = if rate > 0.0 { Rotation::about(self.spin, rate * t) } else { Rotation::IDENTITY };
        let [ax, ay, az, aw] = turn.0;
        let [bx, by, bz, bw] = start.rotation.0;
        Pose {
            translation: std::array::from_fn(|k| {
                start.translation[k] + self.velocity[k] * t + self.amplitude[k] * wave
            }),
            rotation: Rotation([
                aw * bx + ax * bw + ay * bz - az * by,
                aw * by - ax * bz + ay * bw + az * bx,
                aw * bz + ax * by - ay * bx + az * bw,
                aw * bw - ax * bx - ay * by - az * bz,
            ]),
        }
    }

    /// What to draw after `time` \[s\]; nothing for shapes that have no simple surface, or none that ends.
    pub fn outline(&self, time: f64) -> Option<Outline> {
        let (points, triangles) = match &self.mesh {
            Some(mesh) => from_mesh(mesh),
            None => surface(&self.collider.shape, BALL)?,
        };
        let pose = self.pose(time);
        Some((points.into_iter().map(|p| place(pose, p)).collect(), triangles))
    }

    /// The piece of a plane that lies below these points after `time` \[s\], if it is one.
    pub fn ground(&self, time: f64, points: &[[f64; 3]]) -> Option<Outline> {
        let Shape::Plane { normal } = self.collider.shape else { return None };
        let pose = self.pose(time);
        Some(ground(normal, |p| place(pose, p), points))
    }
}

/// The piece of a plane that lies below some points; `stand` says where what is on the plane through the origin is in the world.
pub(super) fn ground(normal: [f64; 3], stand: impl Fn([f64; 3]) -> [f64; 3], points: &[[f64; 3]]) -> Outline {
    let origin = stand([0.0; 3]);
    let reach = within(normal).map(|axis| {
        let axis = stand(axis);
        let along = |p: &[f64; 3]| (0..3).map(|k| (p[k] - origin[k]) * (axis[k] - origin[k])).sum::<f64>();
        let ends = points.iter().map(along).map(|at| [at, at]).reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        let [low, high] = ends.unwrap_or_default();
        [low - MARGIN, high + MARGIN]
    });
    let (corners, triangles) = square(normal, reach);
    (corners.into_iter().map(stand).collect(), triangles)
}

/// R p + t.
pub(crate) fn place(pose: Pose, p: [f64; 3]) -> [f64; 3] {
    let [x, y, z, w] = pose.rotation.0;
    let length_sq = x * x + y * y + z * z + w * w;
    let u = [x, y, z];
    let cross =
        |a: [f64; 3], b: [f64; 3]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let (c, t) = (cross(u, p), pose.translation);
    let d = cross(u, c);
    std::array::from_fn(|k| p[k] + 2.0 * (w * c[k] + d[k]) / length_sq + t[k])
}

pub(super) fn from_mesh(mesh: &TriMesh) -> Outline {
    let points = mesh.positions().iter().map(|&p| p.into()).collect();
    (points, mesh.triangles().iter().map(|t| t.map(|i| i as usize)).collect())
}

/// The surface of a simple shape; faces of a ball are divided `ball` times.
pub(super) fn surface(shape: &Shape, ball: u32) -> Option<Outline> {
    match *shape {
        Shape::Sphere { radius } => Some(from_mesh(&icosphere(radius, ball).ok()?)),
        Shape::Cuboid { half } => {
            let mut outline: Outline = (Vec::new(), Vec::new());
            // A side at a time, so that no normal is smoothed around an edge.
            for axis in 0..3 {
                for side in [-1.0, 1.0] {
                    let first = outline.0.len();
                    for (s, t) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                        let mut p = [0.0; 3];
                        p[axis] = side * half[axis];
                        p[(axis + 1) % 3] = side * s * half[(axis + 1) % 3];
                        p[(axis + 2) % 3] = t * half[(axis + 2) % 3];
                        outline.0.push(p);
                    }
                    outline.1.extend([[first, first + 1, first + 2], [first, first + 2, first + 3]]);
                }
            }
            Some(outline)
        }
        Shape::Capsule { radius, half_length } => {
            let arc = (0..=16).map(|i| {
                let angle = PI * f64::from(i) / 16.0;
                let cap = if i <= 8 { half_length } else { -half_length };
                [radius * angle.sin(), cap + radius * angle.cos()]
            });
            Some(turned(arc.collect(), false))
        }
        Shape::Cylinder { radius, half_height } => {
            let (r, y) = (radius, half_height);
            Some(turned(vec![[0.0, y], [r, y], [r, y], [r, -y], [r, -y], [0.0, -y]], false))
        }
        Shape::Torus { major, minor } => {
            let tube = (0..24).map(|i| {
                let angle = -TAU * f64::from(i) / 24.0;
                [major + minor * angle.cos(), minor * angle.sin()]
            });
            Some(turned(tube.collect(), true))
        }
        Shape::Offset(ref inner, _) => surface(inner, ball),
        _ => None,
    }
}

/// Two directions of length one in a plane, at right angles.
fn within(normal: [f64; 3]) -> [[f64; 3]; 2] {
    let length = normal.iter().map(|c| c * c).sum::<f64>().sqrt();
    let n = normal.map(|c| c / length);
    // Any direction that is not the normal gives two in the plane.
    let a = if n[0].abs() < 0.9 { [0.0, n[2], -n[1]] } else { [-n[2], 0.0, n[0]] };
    let size = a.iter().map(|c| c * c).sum::<f64>().sqrt();
    let a = a.map(|c| c / size);
    [a, [n[1] * a[2] - n[2] * a[1], n[2] * a[0] - n[0] * a[2], n[0] * a[1] - n[1] * a[0]]]
}

/// A piece of a plane through the origin, from and to along its two directions \[m\].
fn square(normal: [f64; 3], [along, across]: [[f64; 2]; 2]) -> Outline {
    let [a, b] = within(normal);
    let corner = |s: f64, t: f64| std::array::from_fn(|k| s * a[k] + t * b[k]);
    let corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[i, j]: [usize; 2]| corner(along[i], across[j]));
    (corners.to_vec(), vec![[0, 1, 2], [0, 2, 3]])
}

/// A line of points (distance from the axis, height) turned about the y axis.
fn turned(line: Vec<[f64; 2]>, closed: bool) -> Outline {
    const AROUND: usize = 48;
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    for step in 0..AROUND {
        let (sin, cos) = (TAU * step as f64 / AROUND as f64).sin_cos();
        points.extend(line.iter().map(|&[r, y]| [r * cos, y, r * sin]));
    }
    let n = line.len();
    for step in 0..AROUND {
        let next = (step + 1) % AROUND;
        for i in 0..if closed { n } else { n - 1 } {
            let j = (i + 1) % n;
            let [a, b, c, d] = [step * n + i, step * n + j, next * n + j, next * n + i];
            triangles.extend([[a, c, b], [a, d, c]]);
        }
    }
    (points, triangles)
}
