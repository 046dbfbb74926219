//! Rigid bodies: the spinning T-handle against its table, and scenes whose outcome is known.

use std::path::Path;

use pliant::core::rigid::Quaternion;
use pliant::core::vec3::Vec3;
use pliant::{AnyBackend, Joint, MassProperties, RigidBodies, RigidBody, RigidOptions, RigidSolver, Rotation};

use super::table::Table;
use super::{Check, analytic};
use crate::failure::Failure;
use crate::instances::Instances;

/// Bodies that are stepped sixty times a second.
struct Stage {
    bodies: RigidBodies<f64>,
    solver: RigidSolver<f64>,
    gravity: [f64; 3],
    dt: f64,
}

impl Stage {
    fn new(list: &[RigidBody], substeps: usize) -> Result<Self, Failure> {
        let mut bodies = RigidBodies::new();
        for body in list {
            bodies.push(body).map_err(refused)?;
        }
        let solver = RigidSolver::new(RigidOptions { substeps, sleep: None, ..RigidOptions::default() });
        Ok(Self { bodies, solver, gravity: [0.0, -9.81, 0.0], dt: 1.0 / 60.0 })
    }
    fn ready(mut self) -> Result<Self, Failure> {
        self.solver.prepare(&self.bodies).map_err(refused)?;
        Ok(self)
    }
    fn step(&mut self) -> Result<(), Failure> {
        let on = AnyBackend::scalar();
        let stepped = f64::step_rigid(&mut self.solver, &mut self.bodies, self.gravity, self.dt, &on);
        stepped.map(|_| ()).map_err(refused)
    }
    fn run(&mut self, steps: usize) -> Result<(), Failure> {
        (0..steps).try_for_each(|_| self.step())
    }
}

fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::Input(error.to_string())
}

fn apart(a: [f64; 3], b: [f64; 3]) -> f64 {
    (Vec3::from(a) - Vec3::from(b)).length()
}

fn floor() -> RigidBody {
    RigidBody::plane([0.0, 1.0, 0.0])
}

/// `rigid_dzhanibekov`: ω in the body's frame and the orientation, six seconds through the first flip.
pub fn handle(path: &Path) -> Result<Vec<Check>, Failure> {
    let table = Table::read(path)?;
    let mut stage = Stage::new(&[spinning_handle()], 100)?.ready()?;
    (stage.gravity, stage.dt) = ([0.0; 3], 0.1);
    let start = stage.bodies.angular_momentum();
    let (mut turned, mut spin) = (0.0_f64, 0.0_f64);
    for row in 0..table.len().min(61) {
        if row > 0 {
            stage.step()?;
        }
        let q = Quaternion::new(stage.bodies.q[0]);
        let [w, x, y, z] =
            [table.number(row, "qw")?, table.number(row, "qx")?, table.number(row, "qy")?, table.number(row, "qz")?];
        turned = turned.max((q * Quaternion::new([x, y, z, w]).conjugate()).small_rotation().length());
        let expected = [table.number(row, "wx_body")?, table.number(row, "wy_body")?, table.number(row, "wz_body")?];
        spin = spin.max(apart(q.unrotate(stage.bodies.omega.get(0).into()).into(), expected));
    }
    let drift = apart(stage.bodies.angular_momentum(), start) / Vec3::from(start).length();
    Ok(vec![
        Check::measured("orientation (rad)", turned, 0.02),
        Check::measured("angular velocity (rad/s)", spin, 0.02),
        Check::measured("angular momentum", drift, 1e-3),
    ])
}

/// Scenes with a known outcome; a scene that cannot be built or stepped fails its line.
pub fn checks() -> Vec<Check> {
    let mut checks = inclines(2.356_287, 0.58);
    checks.push(bounces([0.64, 0.4096, 0.262_144]));
    checks.push(line("stack of ten boxes: creep over 20 s (m)", stack(), 1e-3));
    checks.push(line("chain of 100 links, 1000 : 1: stretch", chain(), 0.01));
    checks
}

fn line(name: &str, figure: Result<f64, Failure>, tolerance: f64) -> Check {
    let name = format!("rigid, {name}");
    analytic::line(&name, figure.map(|figure| Check::measured(&name, figure, tolerance)))
}

/// A block on a 30° slope: how fast it slides down under a friction of 0.3 \[m/s²\], and a friction that holds it.
pub fn inclines(acceleration: f64, sticking: f64) -> Vec<Check> {
    let slides = incline(0.3).map(|a| (a / acceleration - 1.0).abs());
    vec![
        line(&format!("incline, μ = 0.3: acceleration against {acceleration:.6}"), slides, 0.01),
        line(&format!("incline, μ = {sticking:.2}: creep (m/s)"), incline(sticking).map(f64::abs), 1e-3),
    ]
}

/// A ball dropped from 1 m, with restitution 0.8: the worst relative error of its first three heights.
pub fn bounces(heights: [f64; 3]) -> Check {
    line("bouncing ball, e = 0.8: first three heights", bounce(heights), 0.02)
}

/// When the T-handle's ω along y changes sign, against these times \[s\].
pub fn flips(times: &[f64]) -> Result<f64, Failure> {
    let mut stage = Stage::new(&[spinning_handle()], 10)?.ready()?;
    (stage.gravity, stage.dt) = ([0.0; 3], 0.01);
    let spin = |stage: &Stage| {
        let omega: [f64; 3] = Quaternion::new(stage.bodies.q[0]).unrotate(stage.bodies.omega.get(0).into()).into();
        omega[1]
    };
    let (mut worst, mut steps, mut before) = (0.0_f64, 0.0, spin(&stage));
    for &expected in times {
        loop {
            stage.step()?;
            steps += 1.0;
            let after = spin(&stage);
            let share = before / (before - after);
            let flipped = before * after <= 0.0;
            before = after;
            if flipped {
                worst = worst.max((stage.dt * (steps - 1.0 + share) / expected - 1.0).abs());
                break;
            }
            if stage.dt * steps > 2.0 * expected {
                return Ok(f64::INFINITY);
            }
        }
    }
    Ok(worst)
}

/// I = (13, 10, 5), turning about its middle axis, a little off.
fn spinning_handle() -> RigidBody {
    RigidBody::of_mass(MassProperties::diagonal(1.0, [13.0, 10.0, 5.0])).spinning([0.01, 5.0, 0.01])
}

/// Speed along a 30° slope after a second \[m/s\].
fn incline(friction: f64) -> Result<f64, Failure> {
    let angle = -core::f64::consts::FRAC_PI_6;
    let (sin, cos) = angle.sin_cos();
    let slope = RigidBody::plane([-sin, cos, 0.0]).with_friction(friction);
    let block = RigidBody::cuboid([1.0, 0.5, 1.0], 100.0).at([-sin * 0.25, cos * 0.25, 0.0]).with_friction(friction);
    let mut stage = Stage::new(&[slope, block.turned(Rotation::about([0.0, 0.0, 1.0], angle))], 4)?.ready()?;
    stage.run(60)?;
    let v = stage.bodies.v.get(1);
    Ok(v[0] * cos + v[1] * sin)
}

/// The worst relative error of three apexes.
fn bounce(heights: [f64; 3]) -> Result<f64, Failure> {
    let ball = RigidBody::sphere(0.1, 100.0).at([0.0, 1.1, 0.0]).with_restitution(0.8);
    let mut stage = Stage::new(&[floor(), ball], 8)?.ready()?;
    stage.dt = 1.0 / 240.0;
    let (mut worst, mut last) = (0.0_f64, -1.0);
    for expected in heights {
        loop {
            stage.step()?;
            let v = stage.bodies.v.get(1)[1];
            let turning = last > 0.0 && v <= 0.0;
            last = v;
            if turning {
                break;
            }
        }
        worst = worst.max(((stage.bodies.x.get(1)[1] - 0.1) / expected - 1.0).abs());
    }
    Ok(worst)
}

/// How far the boxes of a settled stack move in twenty seconds \[m\].
fn stack() -> Result<f64, Failure> {
    let boxes = (0..10).map(|i| RigidBody::cuboid([0.5; 3], 500.0).at([0.0, 0.25 + 0.5 * f64::from(i), 0.0]));
    let list: Vec<_> = std::iter::once(floor()).chain(boxes).collect();
    // Kept awake; four substeps leave twice the tolerance.
    let mut stage = Stage::new(&list, 8)?.ready()?;
    stage.run(300)?;
    let settled = stage.bodies.x.clone();
    stage.run(1200)?;
    Ok((1..11).map(|row| apart(stage.bodies.x.get(row), settled.get(row))).fold(0.0, f64::max))
}

/// The largest stretch of a chain that a heavy ball falls into.
fn chain() -> Result<f64, Failure> {
    let link = |i: usize| RigidBody::capsule(0.02, 0.06, 1000.0).at([0.0, -0.05 - 0.1 * i as f64, 0.0]);
    let anchor = RigidBody::cuboid([0.1; 3], 1.0).held();
    let mut stage = Stage::new(&std::iter::once(anchor).chain((0..100).map(link)).collect::<Vec<_>>(), 100)?;
    let mass = 1000.0 * stage.bodies.mass(1).unwrap_or(1.0);
    let density = mass / (4.0 / 3.0 * core::f64::consts::PI * 0.027);
    stage.bodies.push(&RigidBody::sphere(0.3, density).at([0.0, -10.3, 0.0])).map_err(refused)?;
    for i in 0..101_usize {
        stage.bodies.join(&Joint::ball([i, i + 1], [0.0, -0.1 * i as f64, 0.0])).map_err(refused)?;
    }
    let mut stage = stage.ready()?;
    let mut worst = 0.0_f64;
    for _ in 0..120 {
        stage.step()?;
        worst = worst.max((-stage.bodies.x.get(101)[1] - 10.3) / 10.0);
    }
    Ok(worst)
}
