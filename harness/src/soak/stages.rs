//! The scenes of a soak: some fifty to two hundred particles each, with everything that touches, tears, flows or is joined.
//!
//! All stand over a ground plane, so that heights, and with them the energy a scene may hold, are bounded.

use pliant::core::body::{Body, Elasticity, Law, Role};
use pliant::core::error::BuildError;
use pliant::core::mesh::{ClothGrid, Rope, Split, icosphere, tet_box};
use pliant::core::wind::Wind;
use pliant::{
    Collider, Deformation, Grouping, Joint, Matching, Plasticity, Pose, RigidBody, Rotation, SelfContact, Tearing,
};

use crate::scene::Scene;
use crate::scene::obstacles::Obstacle;
use crate::scene::solids::Solid;

/// Height of the ground \[m\].
pub const GROUND: f64 = -1.0;

/// A scene of the soak.
pub struct Stage {
    /// Name on the command line.
    pub name: &'static str,
    /// Whether surfaces meet each other: the only scenes of solvers that guard them.
    pub surfaces: bool,
    /// Whether nothing but rigid bodies moves.
    pub bodies_alone: bool,
    build: fn(&Needs) -> Result<Scene, BuildError>,
}

/// What a solver asks of a scene.
pub struct Needs {
    /// Whether it runs on clusters, which do not tear.
    pub clusters: bool,
}

impl Stage {
    const fn of(name: &'static str, build: fn(&Needs) -> Result<Scene, BuildError>) -> Self {
        Self { name, surfaces: false, bodies_alone: false, build }
    }

    /// The scene, on its ground.
    pub fn scene(&self, needs: &Needs) -> Result<Scene, BuildError> {
        let mut scene = (self.build)(needs)?;
        scene.name = self.name.to_owned();
        scene.damping = 0.1;
        let ground = Collider::plane([0.0, 1.0, 0.0]).at([0.0, GROUND, 0.0]).with_friction(0.5).with_restitution(0.2);
        scene.obstacles.insert(0, Obstacle::still(ground));
        Ok(scene)
    }
}

/// Every scene.
pub const STAGES: &[Stage] = &[
    Stage::of("curtain", curtain),
    Stage::of("rope", rope),
    Stage::of("jelly", jelly),
    Stage::of("rubber", rubber),
    Stage::of("balloon", balloon),
    Stage::of("dents", dents),
    Stage { surfaces: true, ..Stage::of("layers", layers) },
    Stage::of("coupled", coupled),
    Stage { bodies_alone: true, ..Stage::of("blocks", blocks) },
];

/// A cloth of this many particles a side whose links are springs.
pub fn soft_cloth(size: f64, side: usize, mass: f64, compliance: f64) -> Result<Body, BuildError> {
    let cloth = Body::cloth(&ClothGrid::square(size, side))?.with_mass(mass);
    let roles = [Role::Stretch, Role::Shear, Role::Bend];
    Ok(roles.into_iter().fold(cloth, |body, role| body.with_compliance(role, compliance)))
}

/// A cloth that flows and tears hangs by pins and a target in the wind, over a ball that moves.
fn curtain(needs: &Needs) -> Result<Scene, BuildError> {
    let law = Plasticity { yields_at: 0.02, creep: 2.0, bound: 0.2 };
    let cloth = soft_cloth(1.0, 9, 0.5, 1e-3)?.with_plasticity(Role::Stretch, law).with_thickness(0.01);
    let cloth = cloth.pinned([0, 8]).attached(76, [0.5, 0.0, 1.0], 1e-2);
    let cloth = if needs.clusters { cloth } else { cloth.with_tearing(Tearing::at_strain(0.3)) };
    let ball = Collider::sphere(0.2).at([0.5, -0.35, 0.5]).with_friction(0.4);
    let moving = Obstacle { amplitude: [0.1, 0.15, 0.0], frequency: 0.4, ..Obstacle::still(ball) };
    let wind = Some(Wind { velocity: [0.5, 0.0, 1.0], density: 1.2, drag: 0.6, lift: 0.4 });
    Ok(Scene { obstacles: vec![moving], wind, ..Scene::new("", vec![cloth]) })
}

/// A rope on tethers and loose particles fall over a capsule that turns.
fn rope(_: &Needs) -> Result<Scene, BuildError> {
    let rope = Rope::new(40, [0.0, 0.5, 0.0], [1.2, 0.5, 0.0])?;
    let rope = Body::rope(&rope, true)?.pinned([0]).with_tethers(0.05).with_thickness(0.01);
    let rope = [Role::Stretch, Role::Bend].into_iter().fold(rope, |body, role| body.with_compliance(role, 1e-4));
    let dust = Body::particles((0..16).map(|i| [0.1 * f64::from(i % 4), 0.8, 0.1 * f64::from(i / 4)])).with_mass(0.2);
    let bar = Collider::capsule(0.1, 0.8).at([0.4, -0.2, 0.1]).with_friction(0.3).with_restitution(0.3);
    let turning = Obstacle { spin: [0.0, 0.7, 0.4], ..Obstacle::still(bar) };
    Ok(Scene { obstacles: vec![turning], ..Scene::new("", vec![rope, dust]) })
}

/// A cube of links and volumes drops onto a box that slides to and fro.
fn jelly(_: &Needs) -> Result<Scene, BuildError> {
    let cube = Body::solid(&tet_box([3; 3], [0.4; 3], Split::Five)?)?.with_mass(8.0);
    let soft = cube.with_compliance(Role::Stretch, 1e-4).with_compliance(Role::Volume, 1e-8);
    let step = Collider::cuboid([0.5, 0.2, 0.5]).at([0.1, -0.7, 0.2]).with_friction(0.6);
    let sliding = Obstacle { amplitude: [0.2, 0.0, 0.1], frequency: 0.5, ..Obstacle::still(step) };
    Ok(Scene { obstacles: vec![sliding], ..Scene::new("", vec![soft]) })
}

/// A bar of rubber, held at one end.
fn rubber(_: &Needs) -> Result<Scene, BuildError> {
    let elasticity = Elasticity { law: Law::NeoHookean, young: 2e4, poisson: 0.35 };
    let mesh = tet_box([6, 2, 2], [0.9, 0.2, 0.2], Split::Five)?;
    let ends: Vec<u32> = (0..).zip(mesh.positions()).filter(|(_, p)| p.x < 1e-6).map(|(i, _)| i).collect();
    let bar = Body::elastic_solid(&mesh, elasticity)?.with_mass(3.0).pinned(ends);
    let ball = Collider::torus(0.25, 0.08).at([0.6, -0.4, 0.1]).with_friction(0.3);
    let lifting = Obstacle { amplitude: [0.0, 0.2, 0.0], frequency: 0.3, ..Obstacle::still(ball) };
    Ok(Scene { obstacles: vec![lifting], ..Scene::new("", vec![bar]) })
}

/// A balloon of soft rubber.
fn balloon(_: &Needs) -> Result<Scene, BuildError> {
    let ball = Body::balloon(&icosphere(0.3, 1)?, 1.2)?.with_mass(0.5);
    let soft = [Role::Stretch, Role::Bend].into_iter().fold(ball, |body, role| body.with_compliance(role, 2e-3));
    let bat = Collider::cylinder(0.3, 0.1).at([0.0, -0.8, 0.0]).with_restitution(0.6);
    let batting = Obstacle { amplitude: [0.0, 0.1, 0.0], frequency: 0.8, ..Obstacle::still(bat) };
    Ok(Scene { obstacles: vec![batting], ..Scene::new("", vec![soft.with_compliance(Role::Volume, 1e-4)]) })
}

/// A cube of clusters that keeps its dents.
fn dents(_: &Needs) -> Result<Scene, BuildError> {
    let points = (0..64).map(|i| [i % 4, i / 4 % 4, i / 16].map(|c| 0.1 * f64::from(c)));
    let matching = Matching::soft(0.6)
        .with_deformation(Deformation::Linear { share: 0.6 })
        .with_plasticity(Plasticity { yields_at: 0.02, creep: 5.0, bound: 0.3 });
    let grouping = Grouping::Lattice { cell: 0.2, reach: 1 };
    let cube = Body::particles(points).with_mass(5.0).with_clusters(grouping, matching)?;
    let wedge = Collider::cuboid([0.2; 3]).at([0.2, -0.9, 0.2]).turned(Rotation::about([1.0, 0.0, 1.0], 0.8));
    let spinning = Obstacle { spin: [0.0, 0.5, 0.0], ..Obstacle::still(wedge.with_friction(0.5)) };
    Ok(Scene { obstacles: vec![spinning], ..Scene::new("", vec![cube]) })
}

/// Two sheets that keep clear of each other fall onto a ball.
fn layers(_: &Needs) -> Result<Scene, BuildError> {
    let contact = SelfContact { thickness: 0.02, ..SelfContact::default() };
    let sheet = |height: f64| {
        let sheet = soft_cloth(0.5, 6, 0.1, 1e-3)?.translated([0.03 * height, height, 0.0]);
        Ok::<_, BuildError>(sheet.with_self_contact(contact))
    };
    let ball = Collider::sphere(0.2).at([0.25, -0.3, 0.25]).with_friction(0.4);
    let moving = Obstacle { amplitude: [0.05, 0.05, 0.0], frequency: 0.3, ..Obstacle::still(ball) };
    Ok(Scene { obstacles: vec![moving], ..Scene::new("", vec![sheet(0.0)?, sheet(0.04)?]) })
}

/// A cloth fastened to the top box of a pile, which a lever disturbs.
fn coupled(_: &Needs) -> Result<Scene, BuildError> {
    let cloth = soft_cloth(0.5, 7, 0.3, 1e-3)?.with_thickness(0.01).translated([-0.25, -0.05, -0.25]);
    let pile = |i: u32| RigidBody::cuboid([0.3; 3], 100.0).at([0.0, GROUND + 0.15 + 0.3 * f64::from(i), 0.0]);
    let lever = RigidBody::capsule(0.05, 0.3, 300.0).at([0.8, -0.5, 0.0]).kinematic();
    let weight = RigidBody::sphere(0.1, 300.0).at([1.1, -0.5, 0.0]);
    let solids = (0..3).map(pile).chain([lever, weight]).map(Solid::from).collect();
    let joints = vec![Joint::ball([3, 4], [0.95, -0.5, 0.0])];
    Ok(Scene { solids, joints, fastened: vec![(0, 2), (6, 2)], ..Scene::new("", vec![cloth]) })
}

/// A pile of boxes and balls, a lever, and a chain of joints of every kind.
fn blocks(_: &Needs) -> Result<Scene, BuildError> {
    let pile = (0..5).map(|i| {
        let place = [0.02 * f64::from(i), GROUND + 0.15 + 0.3 * f64::from(i), 0.0];
        RigidBody::cuboid([0.3; 3], 300.0).at(place).with_friction(0.5)
    });
    let lever = RigidBody::capsule(0.05, 0.3, 500.0).at([0.9, -0.5, 0.0]).kinematic();
    let chain = (0..4).map(|i| RigidBody::sphere(0.08, 400.0).at([1.2 + 0.2 * f64::from(i), -0.5, 0.0]));
    let solids = pile.chain([lever]).chain(chain).map(Solid::from).collect();
    let axis = [0.0, 0.0, 1.0];
    let joints = vec![
        Joint::ball([5, 6], [1.1, -0.5, 0.0]),
        Joint::hinge([6, 7], [1.3, -0.5, 0.0], axis).with_limits(-1.0, 1.0),
        Joint::swing_twist([7, 8], [1.5, -0.5, 0.0], [1.0, 0.0, 0.0], 0.6, [-0.5, 0.5]),
        Joint::distance([8, 9], [[1.6, -0.5, 0.0], [1.8, -0.5, 0.0]], [0.1, 0.25]),
    ];
    Ok(Scene { solids, joints, ..Scene::new("", Vec::new()) })
}

/// Where a lever, the one kinematic body of a scene, is at a time \[s\]: it swings about its start.
pub fn lever(start: Pose, time: f64) -> Pose {
    start.turned(Rotation::about([0.0, 0.0, 1.0], 0.8 * (1.5 * time).sin()))
}
