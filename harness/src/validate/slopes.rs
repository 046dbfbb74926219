//! A particle on a slope and one that bounces, under every method of the kit: friction and restitution as they were asked for.

use std::f64::consts::FRAC_PI_6;

use pliant::Collider;
use pliant::core::body::Body;
use pliant::core::columns::Particles;

use super::Check;
use super::analytic::{ONE, line, run, watch};
use crate::failure::Failure;
use crate::scene::Scene;
use crate::scene::obstacles::Obstacle;
use crate::solvers::{SOLVERS, SolverEntry};

/// Every method that moves particles; the textbook's loop is a baseline, and knows no restitution.
fn methods() -> impl Iterator<Item = &'static SolverEntry> {
    SOLVERS.iter().filter(|entry| !entry.bodies_alone && entry.name != "textbook")
}

/// Every check, against solutions in closed form: a = g (sin θ − μ cos θ), the n-th apex at e²ⁿ of the height.
pub fn checks() -> Vec<Check> {
    let acceleration = 9.81 * (FRAC_PI_6.sin() - 0.3 * FRAC_PI_6.cos());
    let mut checks = inclines(acceleration, 0.58);
    checks.extend(bounces([0.64, 0.4096, 0.262_144]));
    checks
}

/// A slope of 30°: the acceleration under a friction of 0.3 \[m/s²\], and a friction that holds.
pub fn inclines(acceleration: f64, sticking: f64) -> Vec<Check> {
    let slides = |entry: &SolverEntry| {
        let [before, after] = [speed_after(entry, 0.3, 30)?, speed_after(entry, 0.3, 90)?];
        let name = format!("incline, μ = 0.3: acceleration, {}", entry.name);
        Ok(Check::measured(name, ((after - before) / acceleration - 1.0).abs(), 0.01))
    };
    let sticks = |entry: &SolverEntry| {
        let name = format!("incline, μ = {sticking:.2}: creep (m/s), {}", entry.name);
        Ok(Check::measured(name, speed_after(entry, sticking, 90)?.abs(), 1e-3))
    };
    methods().flat_map(|entry| [line("incline", slides(entry)), line("incline", sticks(entry))]).collect()
}

/// Speed down a 30° slope after so many steps of 1/60 s from rest \[m/s\].
fn speed_after(entry: &SolverEntry, friction: f64, steps: usize) -> Result<f64, Failure> {
    let (sin, cos) = FRAC_PI_6.sin_cos();
    let normal = [-sin, cos, 0.0];
    let mut scene = Scene::new("incline", vec![Body::particles([[0.0; 3]])]);
    scene.obstacles.push(Obstacle::still(Collider::plane(normal).with_friction(friction)));
    let [x, y, _] = run(&scene, entry, ONE, 1.0 / 60.0, steps)?.v.get(0);
    Ok(-(x * cos + y * sin))
}

/// Dropped from 1 m with restitution 0.8: the worst relative error of the first three apexes.
pub fn bounces(heights: [f64; 3]) -> Vec<Check> {
    let bounce = |entry: &SolverEntry| {
        let name = format!("bounce, e = 0.8: first three heights, {}", entry.name);
        Ok(Check::measured(name, bounce(entry, heights)?, 0.02))
    };
    methods().map(|entry| line("bounce", bounce(entry))).collect()
}

fn bounce(entry: &SolverEntry, heights: [f64; 3]) -> Result<f64, Failure> {
    let floor = Collider::plane([0.0, 1.0, 0.0]).with_restitution(0.8);
    let mut scene = Scene::new("bounce", vec![Body::particles([[0.0, 1.0, 0.0]])]);
    scene.obstacles.push(Obstacle::still(floor));
    let mut apexes = Vec::new();
    let (mut last, mut rising) = (1.0, false);
    let mut show = |state: &Particles<f64>| {
        let y = state.x.y[0];
        if rising && y < last {
            apexes.push(last);
        }
        (rising, last) = (y > last, y);
    };
    // Two seconds hold three apexes; a substep of 1/2400 s blurs them by half a per cent.
    watch(&scene, entry, ONE, 1.0 / 2400.0, 4800, &mut show)?;
    if apexes.len() < heights.len() {
        return Ok(f64::INFINITY);
    }
    Ok(apexes.iter().zip(heights).map(|(found, height)| (found / height - 1.0).abs()).fold(0.0, f64::max))
}
