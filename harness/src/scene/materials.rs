//! Built-in scenes of materials: curved rest shapes, locking and its cure, resolution, plastic flow, tearing.

use std::f64::consts::PI;

use pliant::Collider;
use pliant::core::body::{Bending, Body, Role};
use pliant::core::error::BuildError;
use pliant::core::material::Material;
use pliant::core::mesh::{ClothGrid, Diagonals, tube};
use pliant::core::plasticity::Plasticity;
use pliant::core::tearing::Tearing;
use pliant::core::wind::Wind;

use super::obstacles::Obstacle;
use super::{Motion, Scene};

/// A light leaf of 60 cm, bent to a quarter of a circle at rest, clamped at its lower end and let go. Its cells are large: one sweep
/// a substep carries the moment of stiff hinges over a few of them only.
pub(super) fn leaf_spring() -> Result<Scene, BuildError> {
    let (columns, rows) = (13_u32, 3_u32);
    let (length, width) = (0.6, 0.06);
    let radius = 2.0 * length / PI;
    let flat = ClothGrid::new(columns as usize, rows as usize, length, width).diagonals(Diagonals::Alternating);
    let curved = flat.build()?.mesh.transformed(|p| {
        let angle = p.x / radius;
        [radius * angle.sin(), radius * (1.0 - angle.cos()), p.z - 0.5 * width].into()
    })?;
    let stiffness = 0.3;
    let leaf = Body::surface(&curved, Bending::Dihedral)?
        .with_mass(0.005)
        .with_compliance(Role::Stretch, 1e-6)
        .with_compliance(Role::Bend, curved.mean_bending_factor([0.0, 0.0, 1.0]) / stiffness)
        .pinned((0..rows).flat_map(|j| [j * columns, j * columns + 1]));
    Ok(Scene { damping: 0.3, ..Scene::new("leaf-spring", vec![leaf]) })
}

/// A tube of 10 cm that is pinched in its middle to a third of its width for a second.
pub(super) fn pinched_tube() -> Result<Scene, BuildError> {
    let (around, along) = (32_u32, 40_u32);
    let mesh = tube(0.05, 0.25, around as usize, along as usize)?;
    let middle = along / 2 * around;
    let fingers = [middle, middle + around / 2];
    let wall = Body::surface(&mesh, Bending::Dihedral)?
        .with_mass(0.02)
        .with_compliance(Role::Stretch, 1e-6)
        .with_compliance(Role::Bend, mesh.mean_bending_factor([0.0, 1.0, 0.0]) / 2e-5)
        .pinned(fingers);
    let towards_the_axis = fingers.map(|finger| {
        let p = mesh.positions()[finger as usize];
        let speed = -0.66 * 0.05 / (p.x * p.x + p.z * p.z).sqrt();
        Motion { until: Some(1.0), ..Motion::steady(finger, [speed * p.x, 0.0, speed * p.z]) }
    });
    let (motions, gravity) = (towards_the_axis.to_vec(), [0.0; 3]);
    Ok(Scene { damping: 2.0, gravity, motions, ..Scene::new("pinched-tube", vec![wall]) })
}

/// Two sheets held along a diagonal, which bend across the diagonals of their cells: springs along all edges lock the first,
/// springs along threads alone let the second hang.
pub(super) fn lock() -> Result<Scene, BuildError> {
    let n = 25_u32;
    let mesh = ClothGrid::square(0.8, n as usize).diagonals(Diagonals::OneWay).build()?.mesh;
    let threads = mesh.edges_along(|_| [1.0, 0.0, 0.0].into(), 10.0)?;
    let sheet = Body::surface(&mesh, Bending::None)?
        .with_mass(0.1)
        .with_compliance(Role::Stretch, 1e-5)
        .pinned((0..n).map(|i| i * n + (n - 1 - i)));
    let cured = sheet.clone().linked_along(&threads).translated([1.2, 0.0, 0.0]);
    Ok(Scene { damping: 2.0, ..Scene::new("lock", vec![sheet, cured]) })
}

/// Three squares of wool of 8², 16² and 32² cells side by side: one material, one extension and one drape.
pub(super) fn resolutions() -> Result<Scene, BuildError> {
    let mut bodies = Vec::new();
    for (place, n) in [9_u32, 17, 33].into_iter().enumerate() {
        let mesh = ClothGrid::square(0.5, n as usize).diagonals(Diagonals::Alternating).build()?.mesh;
        let sheet = Body::sheet_of(&Material::WOOL, &mesh, [1.0, 0.0, 0.0])?
            .posed(move |[x, _, z]| [x + 0.6 * place as f64, -z, 0.02 * (PI * x / 0.5).sin()])
            .pinned(0..n);
        bodies.push(sheet);
    }
    Ok(Scene { damping: 2.0, ..Scene::new("resolutions", bodies) })
}

/// A can of tin, its rims held, that a ball dents; the dent stays when the ball goes.
pub(super) fn dented_can() -> Result<Scene, BuildError> {
    let (around, along) = (40_u32, 30_u32);
    let mesh = tube(0.033, 0.11, around as usize, along as usize)?;
    let can = Body::surface(&mesh, Bending::Dihedral)?
        .with_mass(0.015)
        .with_compliance(Role::Stretch, 1e-6)
        .with_compliance(Role::Bend, mesh.mean_bending_factor([0.0, 1.0, 0.0]) / 2e-3)
        .with_plasticity(Role::Bend, Plasticity { yields_at: 0.03, creep: 40.0, bound: 2.0 })
        .pinned((0..around).chain(around * along..around * (along + 1)));
    // In by 1.4 cm after a quarter of a second, and out again.
    let ball = Collider::sphere(0.012).at([0.047, 0.055, 0.0]);
    let ball = Obstacle { amplitude: [-0.014, 0.0, 0.0], until: Some(0.75), ..Obstacle::still(ball) };
    let gravity = [0.0; 3];
    Ok(Scene { damping: 3.0, gravity, frames: 60, obstacles: vec![ball], ..Scene::new("dented-can", vec![can]) })
}

/// A banner of 3 m by 1.5 m between two poles in a storm that is too much for it.
pub(super) fn tearing_flag() -> Result<Scene, BuildError> {
    let (columns, rows) = (30_u32, 16_u32);
    let banner = Body::cloth(&ClothGrid::new(columns as usize, rows as usize, 3.0, 1.5))?
        .with_mass(0.9)
        .with_compliance(Role::Stretch, 2e-4)
        .with_compliance(Role::Shear, 1e-3)
        .with_compliance(Role::Bend, 1e-2)
        .posed(|[x, _, z]| [x, 1.5 - z, 0.0])
        .pinned((0..rows).flat_map(|row| [row * columns, row * columns + columns - 1]))
        .with_tearing(Tearing::at_strain(0.25));
    let wind = Some(Wind { velocity: [2.0, 0.0, 35.0], density: 1.2, drag: 1.0, lift: 0.3 });
    Ok(Scene { damping: 0.2, wind, ..Scene::new("tearing-flag", vec![banner]) })
}
