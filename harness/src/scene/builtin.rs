//! The scenes every comparison can choose from, in one table.

use pliant::core::body::{Bending, Body, Elasticity, Law, Role};
use pliant::core::error::BuildError;
use pliant::core::matching::{Deformation, Grouping, Matching};
use pliant::core::mesh::{ClothGrid, Rope, Split, TriMesh, icosphere, shuffled_sheet, tet_box};
use pliant::core::wind::Wind;
use pliant::{Collider, Rotation, SelfContact};

use super::obstacles::Obstacle;
use super::{Scene, contacts, materials, rigid};

/// A line of the table.
#[derive(Clone, Copy)]
pub struct SceneEntry {
    /// Name on the command line and in reports.
    pub name: &'static str,
    /// One line on what it tests.
    pub about: &'static str,
    build: fn() -> Result<Scene, BuildError>,
}

impl SceneEntry {
    /// A scene under this name, with one line on what it tests.
    pub const fn new(name: &'static str, about: &'static str, build: fn() -> Result<Scene, BuildError>) -> Self {
        Self { name, about, build }
    }

    /// Builds the scene.
    ///
    /// # Errors
    /// When a body cannot be built; never for the built-in scenes.
    pub fn scene(&self) -> Result<Scene, BuildError> {
        (self.build)().map(|scene| Scene { name: self.name.to_owned(), ..scene })
    }
}

/// Every built-in scene. To add one: a function that builds it, and a line here.
pub const SCENES: &[SceneEntry] = &[
    SceneEntry {
        name: "curtain-32",
        about: "5,826 rigid links: overheads show, everything fits the caches",
        build: || curtain(32),
    },
    SceneEntry { name: "curtain-100", about: "59,002 rigid links: the size of a hero garment", build: || curtain(100) },
    SceneEntry {
        name: "curtain-200",
        about: "238,002 rigid links: beyond the second-level cache",
        build: || curtain(200),
    },
    SceneEntry {
        name: "curtain-316",
        about: "595,978 rigid links on 100,000 particles: memory bandwidth",
        build: || curtain(316),
    },
    SceneEntry {
        name: "shuffled",
        about: "an irregular triangle mesh with shuffled numbers: what ordering and colouring save",
        build: shuffled,
    },
    SceneEntry { name: "flag", about: "a flag in wind: aerodynamic forces, fast motion, a pinned edge", build: flag },
    SceneEntry { name: "jelly", about: "a clamped bar of tetrahedra: volume constraints, soft links", build: jelly },
    SceneEntry {
        name: "rope",
        about: "a rope with 1000 times a point's mass at its end: stretch under a bad mass ratio",
        build: rope,
    },
    SceneEntry {
        name: "cantilever",
        about: "a clamped sheet under its own weight: quadratic bending alone holds it up",
        build: cantilever,
    },
    SceneEntry {
        name: "balloon",
        about: "a closed surface inflated to 1.5 times its volume: one constraint on every vertex",
        build: balloon,
    },
    SceneEntry {
        name: "drape",
        about: "a cloth of 100 x 100 falls over a ball, onto the floor and into folds: contact with friction",
        build: drape,
    },
    SceneEntry {
        name: "incline",
        about: "a cloth slides down a slope of 30 degrees at friction 0.3: 2.356 m/s2",
        build: incline,
    },
    SceneEntry {
        name: "bounce",
        about: "particles fall from 1 m at restitution 0.8: apexes 0.64, 0.41 and 0.26 m",
        build: bounce,
    },
    SceneEntry {
        name: "stiff-curtain",
        about: "cloth of stiff springs, none rigid: what a minimum of implicit Euler costs",
        build: stiff_curtain,
    },
    SceneEntry {
        name: "soft-jelly",
        about: "a clamped bar of elastic tetrahedra, for methods that minimise energies",
        build: soft_jelly,
    },
    SceneEntry {
        name: "heavy-rope",
        about: "the rope with 1000 times a point's mass at its end, its links stiff springs",
        build: heavy_rope,
    },
    SceneEntry {
        name: "compressed-sheet",
        about: "a sheet squeezed to 80 % of its width: springs under pressure make the Hessian indefinite",
        build: compressed_sheet,
    },
    SceneEntry {
        name: "buttons",
        about: "a shirt front in the wind with seven rigid buttons: clusters among the constraints of a cloth",
        build: buttons,
    },
    SceneEntry {
        name: "jelly-cube",
        about: "a meshless cube of 2,197 particles falls on its corner: overlapping clusters, nothing else",
        build: jelly_cube,
    },
    SceneEntry {
        name: "torus",
        about: "a cloth of 60 x 60 drapes over a ring and itself: contact with a shape that has a hole",
        build: contacts::torus,
    },
    SceneEntry {
        name: "ring",
        about: "a cloth pulled by its middle through a ring: tight folds against a collider",
        build: contacts::ring,
    },
    SceneEntry {
        name: "stack",
        about: "ten layers of cloth fall on a ball: contact on top of contact",
        build: contacts::stack,
    },
    SceneEntry {
        name: "twist",
        about: "a tube of cloth wrung by ten turns: self contact everywhere",
        build: contacts::twist,
    },
    SceneEntry {
        name: "boxes",
        about: "five boxes of jelly fall on one another: contact between solids",
        build: contacts::boxes,
    },
    SceneEntry {
        name: "knot",
        about: "a rope with an overhand knot, pulled tight: edges against edges",
        build: contacts::knot,
    },
    SceneEntry {
        name: "bullet",
        about: "a sheet meets a plate of 4 mm at 100 m/s: nothing may get through",
        build: contacts::bullet,
    },
    SceneEntry {
        name: "t-handle",
        about: "a handle spins about its middle axis without weight: the gyroscopic term flips it",
        build: rigid::t_handle,
    },
    SceneEntry {
        name: "box-stack",
        about: "ten rigid boxes on one another: warm-started contact that stands still",
        build: rigid::stack,
    },
    SceneEntry {
        name: "dominoes",
        about: "forty dominoes in a bend, the first one pushed: contacts that come and go",
        build: rigid::dominoes,
    },
    SceneEntry {
        name: "box-incline",
        about: "boxes on a slope of 30 degrees at friction 0.3, 0.5 and 0.7: 2.356 and 0.657 m/s2, and one stays",
        build: rigid::incline,
    },
    SceneEntry {
        name: "balls",
        about: "balls of restitution 0 to 1 fall from 1 m, a hull and a sampled mesh behind them",
        build: rigid::balls,
    },
    SceneEntry {
        name: "ragdoll",
        about: "a person of eleven capsules falls down ten stairs: joints with limits",
        build: rigid::ragdoll,
    },
    SceneEntry {
        name: "jelly-carrier",
        about: "a block of jelly carries a rigid box that falls on it: coupling both ways",
        build: rigid::jelly_carrier,
    },
    SceneEntry {
        name: "chain",
        about: "a chain of 100 links swings with a thousandfold mass at its end: stretch of joints",
        build: rigid::chain,
    },
    SceneEntry {
        name: "leaf-spring",
        about: "a leaf bent to a quarter of a circle at rest, clamped and let go: hinges with rest angles",
        build: materials::leaf_spring,
    },
    SceneEntry {
        name: "pinched-tube",
        about: "a tube pinched in its middle: bending around a curved rest shape",
        build: materials::pinched_tube,
    },
    SceneEntry {
        name: "lock",
        about: "two sheets held along a diagonal: springs along all edges lock, springs along threads do not",
        build: materials::lock,
    },
    SceneEntry {
        name: "resolutions",
        about: "one piece of wool as 8, 16 and 32 cells a side: a material that knows no mesh",
        build: materials::resolutions,
    },
    SceneEntry {
        name: "dented-can",
        about: "a ball dents a can and goes: hinges that flow beyond their yield",
        build: materials::dented_can,
    },
    SceneEntry {
        name: "tearing-flag",
        about: "a banner between two poles that a storm tears: edges part at a strain",
        build: materials::tearing_flag,
    },
];

/// The cloth of all comparisons: 1 m × 1 m, 0.2 kg, structural links, both shears, skip-one bends, two pinned corners.
fn curtain(n: usize) -> Result<Scene, BuildError> {
    let cloth = Body::cloth(&ClothGrid::square(1.0, n))?.with_mass(0.2).pinned([0, n as u32 - 1]);
    Ok(Scene { damping: 0.1, ..Scene::new("curtain", vec![cloth]) })
}

fn shuffled() -> Result<Scene, BuildError> {
    let mesh = shuffled_sheet(100, 1.0, 1)?;
    let corners = [nearest(&mesh, [0.0, 0.0, 0.0]), nearest(&mesh, [1.0, 0.0, 0.0])];
    let cloth = Body::surface(&mesh, Bending::CrossLinks)?.with_mass(0.2).pinned(corners);
    Ok(Scene { damping: 0.1, ..Scene::new("shuffled", vec![cloth]) })
}

/// The vertex closest to a place.
fn nearest(mesh: &TriMesh, place: [f64; 3]) -> u32 {
    let distance = |at: usize| {
        let p: [f64; 3] = mesh.positions()[at].into();
        (0..3).map(|k| (p[k] - place[k]).powi(2)).sum::<f64>()
    };
    (0..mesh.vertex_count()).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap_or(0) as u32
}

/// 1.5 m × 1 m of light cloth on a pole, in a fresh breeze that does not blow straight along it.
fn flag() -> Result<Scene, BuildError> {
    let (columns, rows) = (76_u32, 51_u32);
    let cloth = Body::cloth(&ClothGrid::new(columns as usize, rows as usize, 1.5, 1.0))?
        .with_mass(0.18)
        .with_compliance(Role::Bend, 1e-2)
        .posed(|[x, _, z]| [x, 1.0 - z, 0.02 * (4.0 * x).sin()])
        .pinned((0..rows).map(|j| j * columns));
    let wind = Wind { velocity: [7.0, 0.0, 1.5], density: 1.2, drag: 0.6, lift: 0.4 };
    Ok(Scene { damping: 0.1, wind: Some(wind), ..Scene::new("flag", vec![cloth]) })
}

/// 1.2 m of soft rubber, 30 cm thick, clamped at one end.
fn jelly() -> Result<Scene, BuildError> {
    let mesh = tet_box([32, 8, 8], [1.2, 0.3, 0.3], Split::Five)?;
    let clamped: Vec<u32> = (0..).zip(mesh.positions()).filter(|(_, p)| p.x < 1e-9).map(|(i, _)| i).collect();
    let bar = Body::solid(&mesh)?.with_compliance(Role::Stretch, 2e-4).pinned(clamped);
    Ok(Scene { damping: 0.5, ..Scene::new("jelly", vec![bar]) })
}

/// 1 m of rope that swings down from the horizontal.
fn rope() -> Result<Scene, BuildError> {
    let rope = Body::rope(&Rope::new(50, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0])?, false)?;
    let mut masses = vec![1e-3; rope.particle_count()];
    if let Some(last) = masses.last_mut() {
        *last = 1.0;
    }
    Ok(Scene { damping: 0.1, ..Scene::new("rope", vec![rope.with_masses(masses).pinned([0])]) })
}

/// The same rope of springs of 10⁵ N/m: the weight at its end stretches it by half a percent.
fn heavy_rope() -> Result<Scene, BuildError> {
    let scene = rope()?;
    let bodies = scene.bodies.into_iter().map(|body| body.with_compliance(Role::Stretch, 1e-5)).collect();
    Ok(Scene { bodies, ..scene })
}

/// The small curtain of springs: 10⁵ N/m along the threads, softer across them and in bending.
fn stiff_curtain() -> Result<Scene, BuildError> {
    let scene = curtain(32)?;
    let springs = |body: Body| {
        body.with_compliance(Role::Stretch, 1e-5).with_compliance(Role::Shear, 1e-4).with_compliance(Role::Bend, 1e-3)
    };
    Ok(Scene { bodies: scene.bodies.into_iter().map(springs).collect(), ..scene })
}

/// 1.2 m of gelatine, 30 cm thick, clamped at one end.
fn soft_jelly() -> Result<Scene, BuildError> {
    let mesh = tet_box([16, 4, 4], [1.2, 0.3, 0.3], Split::Five)?;
    let clamped: Vec<u32> = (0..).zip(mesh.positions()).filter(|(_, p)| p.x < 1e-9).map(|(i, _)| i).collect();
    let gelatine = Elasticity { law: Law::Corotated, young: 1e5, poisson: 0.4 };
    let bar = Body::elastic_solid(&mesh, gelatine)?.pinned(clamped);
    Ok(Scene { damping: 0.5, ..Scene::new("soft-jelly", vec![bar]) })
}

/// 1 m × 1 m of cloth between two bars that came 20 cm closer; a slight wave says which way it buckles.
fn compressed_sheet() -> Result<Scene, BuildError> {
    let n = 24_u32;
    let wave = |x: f64, z: f64| 0.01 * (std::f64::consts::PI * x).sin() * (1.0 + 0.5 * (5.0 * z).cos());
    let sheet = Body::cloth(&ClothGrid::square(1.0, n as usize))?
        .with_mass(0.2)
        .with_compliance(Role::Stretch, 1e-3)
        .with_compliance(Role::Shear, 2e-3)
        .with_compliance(Role::Bend, 1e-2)
        .posed(|[x, _, z]| [0.8 * x, wave(x, z), z])
        .pinned((0..n).flat_map(|j| [j * n, j * n + n - 1]));
    Ok(Scene { damping: 0.5, ..Scene::new("compressed-sheet", vec![sheet]) })
}

/// A strip 1 m long and 25 cm wide, clamped at one short side, that hangs by about its own length.
fn cantilever() -> Result<Scene, BuildError> {
    let (columns, rows) = (61_u32, 16_u32);
    let grid = ClothGrid::new(columns as usize, rows as usize, 1.0, 0.25).build()?;
    let strip = Body::surface(&grid.mesh, Bending::Isometric)?
        .with_mass(0.05)
        // Γ = weight per area · L³/D of about 10.
        .with_compliance(Role::Bend, 1.0 / 0.066)
        .pinned((0..rows).flat_map(|j| [j * columns, j * columns + 1]));
    Ok(Scene { damping: 0.5, ..Scene::new("cantilever", vec![strip]) })
}

/// A rubber ball of 60 cm that hangs by its top and holds half as much air again as it would at rest.
fn balloon() -> Result<Scene, BuildError> {
    let mesh = icosphere(0.3, 4)?;
    let top = nearest(&mesh, [0.0, 0.3, 0.0]);
    let ball = Body::balloon(&mesh, 1.5)?
        .with_mass(0.1)
        .with_compliance(Role::Stretch, 1e-3)
        .with_compliance(Role::Bend, 1e-2)
        .pinned([top]);
    Ok(Scene { damping: 1.0, ..Scene::new("balloon", vec![ball]) })
}

/// 1 m of cotton that falls onto a ball of 60 cm, and down its sides. It starts a centimetre above: thrown down from higher, cloth
/// crumples at the scale of its edges, and real-time contact may leave a few intersections for good
/// (`benches/results/self_contact.md`).
fn drape() -> Result<Scene, BuildError> {
    let cloth = Body::cloth(&ClothGrid::square(1.0, 100))?
        .with_mass(0.2)
        .with_compliance(Role::Bend, 1e-3)
        .with_thickness(0.005)
        .translated([-0.5, 0.56, -0.5])
        .with_self_contact(SelfContact { thickness: 0.005, ..SelfContact::default() });
    let ball = Collider::sphere(0.3).at([0.0, 0.25, 0.0]).with_friction(0.4);
    let floor = Collider::plane([0.0, 1.0, 0.0]).with_friction(0.6);
    let obstacles = [floor, ball].map(Obstacle::still).to_vec();
    Ok(Scene { damping: 0.5, obstacles, ..Scene::new("drape", vec![cloth]) })
}

/// Half a metre of cloth on a ramp 4 m long.
fn incline() -> Result<Scene, BuildError> {
    let (sin, cos) = std::f64::consts::FRAC_PI_6.sin_cos();
    let cloth = Body::cloth(&ClothGrid::square(0.5, 32))?
        .with_mass(0.05)
        .posed(|[x, _, z]| [(x + 1.0) * cos, (x + 1.0) * sin + 1e-3, z - 0.25]);
    let ramp = Collider::cuboid([4.0, 0.1, 1.0])
        .turned(Rotation::about([0.0, 0.0, 1.0], std::f64::consts::FRAC_PI_6))
        .at([0.05 * sin, -0.05 * cos, 0.0])
        .with_friction(0.3);
    Ok(Scene { frames: 60, obstacles: vec![Obstacle::still(ramp)], ..Scene::new("incline", vec![cloth]) })
}

/// 40 cm × 60 cm of cotton that hangs by its collar, and buttons of 2 cm and 2 g down its middle.
fn buttons() -> Result<Scene, BuildError> {
    let (columns, rows) = (41_u32, 61_u32);
    let mut shirt = Body::cloth(&ClothGrid::new(columns as usize, rows as usize, 0.4, 0.6))?
        .with_mass(0.05)
        .with_compliance(Role::Bend, 1e-3);
    let mut masses = shirt.masses().to_vec();
    for button in 0..7 {
        let (i, j) = (f64::from(columns / 2), 6.0 + 8.0 * f64::from(button));
        let inside = |p: &u32| (f64::from(p % columns) - i).hypot(f64::from(p / columns) - j) <= 1.05;
        let disc: Vec<u32> = (0..columns * rows).filter(inside).collect();
        disc.iter().for_each(|&p| masses[p as usize] += 2e-3 / disc.len() as f64);
        shirt = shirt.with_rigid_cluster(disc);
    }
    let shirt = shirt.with_masses(masses).posed(|[x, _, z]| [x, 0.6 - z, 0.01 * (9.0 * x).sin()]).pinned(0..columns);
    let wind = Wind { velocity: [0.5, 0.0, 3.0], density: 1.2, drag: 0.6, lift: 0.4 };
    Ok(Scene { damping: 0.3, wind: Some(wind), ..Scene::new("buttons", vec![shirt]) })
}

/// 36 cm of jelly, 1 particle every 3 cm; clusters of up to 125 particles, each half as wide as the cube is in all.
fn jelly_cube() -> Result<Scene, BuildError> {
    let mesh = tet_box([12; 3], [0.36; 3], Split::Five)?;
    let mut cube = Body::solid(&mesh)?.with_mass(20.0);
    *cube.tables_mut() = Default::default();
    let matching = Matching::soft(0.7).with_deformation(Deformation::Linear { share: 0.4 });
    let (sin, cos) = 0.6_f64.sin_cos();
    let cube = cube
        .with_clusters(Grouping::Lattice { cell: 0.06, reach: 1 }, matching)?
        .posed(|[x, y, z]| [cos * x - sin * y, sin * x + cos * y + 0.3, cos * z])
        .posed(|[x, y, z]| [x, cos * y - sin * z + 0.3, sin * y + cos * z]);
    let floor = Collider::plane([0.0, 1.0, 0.0]).with_friction(0.5);
    Ok(Scene { damping: 0.3, obstacles: vec![Obstacle::still(floor)], ..Scene::new("jelly-cube", vec![cube]) })
}

/// A row of particles in free fall.
fn bounce() -> Result<Scene, BuildError> {
    let row = Body::particles((0..32).map(|i| [0.1 * f64::from(i), 1.0, 0.0]));
    let floor = Collider::plane([0.0, 1.0, 0.0]).with_restitution(0.8);
    Ok(Scene { obstacles: vec![Obstacle::still(floor)], ..Scene::new("bounce", vec![row]) })
}
