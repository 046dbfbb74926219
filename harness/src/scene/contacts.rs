//! Built-in scenes of contact: between bodies, of a body with itself, and with colliders that move.

use std::f64::consts::TAU;

use pliant::core::body::{Bending, Body, Role};
use pliant::core::error::BuildError;
use pliant::core::mesh::{ClothGrid, Rope, Split, tet_box, tube};
use pliant::{Collider, SelfContact};

use super::obstacles::Obstacle;
use super::{Motion, Scene};

fn layers(thickness: f64, friction: f64) -> SelfContact {
    SelfContact { thickness, friction, ..SelfContact::default() }
}

/// 1 m of cotton over a ring of 60 cm that lies flat above the floor: folds fall into its hole.
pub(super) fn torus() -> Result<Scene, BuildError> {
    let cloth = Body::cloth(&ClothGrid::square(1.0, 60))?
        .with_mass(0.2)
        .with_compliance(Role::Bend, 1e-3)
        .with_thickness(0.005)
        .translated([-0.5, 0.5, -0.5])
        .with_self_contact(layers(0.008, 0.3));
    let ring = Collider::torus(0.3, 0.08).at([0.0, 0.35, 0.0]).with_friction(0.3);
    let floor = Collider::plane([0.0, 1.0, 0.0]).with_friction(0.6);
    let obstacles = [floor, ring].map(Obstacle::still).to_vec();
    Ok(Scene { damping: 0.5, obstacles, ..Scene::new("torus", vec![cloth]) })
}

/// 80 cm of cloth pulled by its middle through a ring of 24 cm, at half a metre a second.
pub(super) fn ring() -> Result<Scene, BuildError> {
    let n = 41_u32;
    let middle = n / 2 * n + n / 2;
    let cloth = Body::cloth(&ClothGrid::square(0.8, n as usize))?
        .with_mass(0.1)
        .with_compliance(Role::Bend, 1e-2)
        .with_thickness(0.004)
        .translated([-0.4, 0.05, -0.4])
        .pinned([middle])
        .with_self_contact(layers(0.008, 0.1));
    let ring = Collider::torus(0.14, 0.02).with_friction(0.1);
    let pull = Motion { until: Some(1.8), ..Motion::steady(middle, [0.0, -0.5, 0.0]) };
    let (motions, obstacles) = (vec![pull], vec![Obstacle::still(ring)]);
    Ok(Scene { damping: 0.5, motions, obstacles, ..Scene::new("ring", vec![cloth]) })
}

/// Ten sheets of 60 cm, turned against each other, that fall on a ball of 50 cm.
pub(super) fn stack() -> Result<Scene, BuildError> {
    let mut bodies = Vec::new();
    for k in 0..10 {
        let (sin, cos) = (0.1 * f64::from(k)).sin_cos();
        let height = 0.015 * f64::from(k + 1);
        let sheet = Body::cloth(&ClothGrid::square(0.6, 20))?
            .with_mass(0.06)
            .with_compliance(Role::Bend, 1e-3)
            .posed(move |[x, _, z]| {
                let (x, z) = (x - 0.3, z - 0.3);
                [x * cos - z * sin, height, x * sin + z * cos]
            })
            .with_thickness(0.004)
            .with_self_contact(layers(0.008, 0.3));
        bodies.push(sheet);
    }
    let ball = Collider::sphere(0.25).at([0.0, -0.25, 0.0]).with_friction(0.4);
    let floor = Collider::plane([0.0, 1.0, 0.0]).at([0.0, -0.5, 0.0]).with_friction(0.6);
    let obstacles = [floor, ball].map(Obstacle::still).to_vec();
    Ok(Scene { damping: 0.5, obstacles, ..Scene::new("stack", bodies) })
}

/// A tube of cloth, 1 m long and 20 cm thick, wrung by ten turns in five seconds.
pub(super) fn twist() -> Result<Scene, BuildError> {
    let (around, along) = (24_u32, 40_u32);
    let rims = (0..around).chain(around * along..around * (along + 1));
    let cloth = Body::surface(&tube(0.1, 1.0, around as usize, along as usize)?, Bending::CrossLinks)?
        .with_mass(0.15)
        .with_compliance(Role::Stretch, 1e-3)
        .with_compliance(Role::Bend, 1e-2)
        .pinned(rims.clone())
        .with_self_contact(layers(0.006, 0.2));
    let motion = |particle: u32| {
        let side = if particle < around { 1.0 } else { -1.0 };
        // Five turns each way; wrung cloth gets shorter.
        let spin = [0.0, side * TAU, 0.0];
        Motion { spin, until: Some(5.0), ..Motion::steady(particle, [0.0, 0.03 * side, 0.0]) }
    };
    let motions = rims.map(motion).collect();
    Ok(Scene { damping: 1.0, gravity: [0.0; 3], frames: 320, motions, ..Scene::new("twist", vec![cloth]) })
}

/// Five boxes of jelly that fall on one another.
pub(super) fn boxes() -> Result<Scene, BuildError> {
    let mut bodies = Vec::new();
    for k in 0..5 {
        let mesh = tet_box([5, 5, 5], [0.3, 0.3, 0.3], Split::Five)?;
        let (sin, cos) = (0.4 * f64::from(k)).sin_cos();
        let [aside, height] = [0.04 * sin, 0.02 + 0.4 * f64::from(k)];
        let block = Body::solid(&mesh)?
            .with_compliance(Role::Stretch, 1e-4)
            .posed(move |[x, y, z]| {
                let (x, z) = (x - 0.15, z - 0.15);
                [x * cos - z * sin + aside, y + height, x * sin + z * cos]
            })
            .with_thickness(0.005)
            .with_self_contact(layers(0.012, 0.4));
        bodies.push(block);
    }
    let floor = Collider::plane([0.0, 1.0, 0.0]).with_friction(0.6);
    Ok(Scene { damping: 0.5, obstacles: vec![Obstacle::still(floor)], ..Scene::new("boxes", bodies) })
}

/// A rope with an overhand knot in it, pulled tight by its ends.
pub(super) fn knot() -> Result<Scene, BuildError> {
    const SEGMENTS: usize = 120;
    // Half of a trefoil is an overhand knot; its ends go on straight.
    let curve = |t: f64| {
        let (s, c) = (t.sin(), t.cos());
        let (s2, c2) = ((2.0 * t).sin(), (2.0 * t).cos());
        [0.1 * (s + 2.0 * s2), 0.1 * (c - 2.0 * c2), -0.06 * (3.0 * t).sin()]
    };
    let begin = 0.25;
    let mut line: Vec<[f64; 3]> =
        (0..=4000).map(|i| curve(begin + (TAU - 2.0 * begin) * f64::from(i) / 4000.0)).collect();
    let tail = |from: [f64; 3], back: [f64; 3]| {
        let d: [f64; 3] = std::array::from_fn(|k| from[k] - back[k]);
        let length = d.iter().map(|c| c * c).sum::<f64>().sqrt();
        (1..=400).map(move |i| std::array::from_fn(|k| from[k] + d[k] / length * 0.35 * f64::from(i) / 400.0))
    };
    let mut points: Vec<[f64; 3]> = tail(line[0], line[20]).collect();
    let ending: Vec<[f64; 3]> = tail(line[4000], line[3980]).collect();
    points.reverse();
    points.append(&mut line);
    points.extend(ending);
    let points = evenly(&points, SEGMENTS);
    let ends = [points[0], points[SEGMENTS]];
    let mut rope = Rope::new(SEGMENTS, ends[0], ends[1])?;
    for (to, &from) in rope.points.iter_mut().zip(&points) {
        *to = from.into();
    }
    let last = SEGMENTS as u32;
    let rope = Body::rope(&rope, true)?
        .with_compliance(Role::Bend, 1e-2)
        .pinned([0, last])
        .with_self_contact(layers(0.012, 0.2));
    let pull = |particle: u32, end: [f64; 3], other: [f64; 3]| {
        let d: [f64; 3] = std::array::from_fn(|k| end[k] - other[k]);
        let length = d.iter().map(|c| c * c).sum::<f64>().sqrt();
        // The ends come from 0.4 m to 2.8 m apart, of 3.12 m of rope: what is left is in the knot.
        Motion { until: Some(2.4), ..Motion::steady(particle, d.map(|c| 0.5 * c / length)) }
    };
    let motions = vec![pull(0, ends[0], ends[1]), pull(last, ends[1], ends[0])];
    Ok(Scene { damping: 1.0, gravity: [0.0; 3], frames: 180, motions, ..Scene::new("knot", vec![rope]) })
}

/// Points along a line, as many segments of one length.
fn evenly(line: &[[f64; 3]], segments: usize) -> Vec<[f64; 3]> {
    let distance = |a: [f64; 3], b: [f64; 3]| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
    let mut travelled = vec![0.0];
    for pair in line.windows(2) {
        travelled.push(travelled[travelled.len() - 1] + distance(pair[0], pair[1]));
    }
    let whole = travelled[travelled.len() - 1];
    let at = |s: f64| {
        let i = travelled.partition_point(|&t| t < s).clamp(1, line.len() - 1);
        let share = (s - travelled[i - 1]) / (travelled[i] - travelled[i - 1]);
        std::array::from_fn(|k| line[i - 1][k] + (line[i][k] - line[i - 1][k]) * share.clamp(0.0, 1.0))
    };
    (0..=segments).map(|k| at(whole * k as f64 / segments as f64)).collect()
}

/// Half a metre of cloth that meets a plate of 4 mm at 100 m/s: 42 plates a substep.
pub(super) fn bullet() -> Result<Scene, BuildError> {
    let grid = ClothGrid::square(0.5, 24);
    let cloth = Body::cloth(&grid)?
        .with_mass(0.05)
        .translated([-0.25, 0.8, -0.25])
        .with_velocities(vec![[0.0, -100.0, 0.0]; 24 * 24])
        .with_thickness(0.002);
    let plate = Collider::cuboid([1.2, 0.004, 1.2]).with_friction(0.3);
    Ok(Scene { frames: 60, obstacles: vec![Obstacle::still(plate)], ..Scene::new("bullet", vec![cloth]) })
}
