//! Particles and rigid bodies together: contact and fastenings exchange momentum, in every particle method.

use pliant::backends::AnyBackend;
use pliant::core::body::{Body, Role};
use pliant::core::columns::Particles;
use pliant::core::mesh::{ClothGrid, Split, icosphere, tet_box};
use pliant::core::model::Model;
use pliant::core::rigid::{Quaternion, RigidBodies, RigidBody};
use pliant::core::vec3::Vec3;
use pliant::{
    Coupling, Fastening, Newton, NewtonOptions, Pbd, PbdOptions, Projective, ProjectiveOptions, RigidOptions,
    RigidSolver, Symplectic, XpbdOn,
};
use pliant_harness::instances::{self, Boxed, Instances};

use super::{G, apart};
use crate::simd;

/// Soft and rigid bodies, stepped together.
pub(crate) struct Both {
    model: Model<f64>,
    particles: Particles<f64>,
    pub(crate) bodies: RigidBodies<f64>,
    soft: Boxed<f64>,
    rigid: RigidSolver<f64>,
    coupling: Coupling<f64>,
}

impl Both {
    pub(crate) fn new(soft: Boxed<f64>, body: &Body, bodies: RigidBodies<f64>, gravity: f64) -> Self {
        let (mut soft, (mut model, particles)) = (soft, Model::build(&[body]).unwrap());
        model.environment.gravity = [0.0, gravity, 0.0];
        soft.prepare(&model).unwrap();
        let mut rigid = RigidSolver::new(RigidOptions { sleep: None, ..RigidOptions::default() });
        rigid.prepare(&bodies).unwrap();
        let mut coupling = Coupling::new();
        coupling.prepare(&bodies, bodies.len()).unwrap();
        Self { model, particles, bodies, soft, rigid, coupling }
    }
    /// On several lanes of one thread.
    pub(crate) fn step(&mut self, dt: f64) {
        self.step_on(dt, &simd());
    }
    fn step_on(&mut self, dt: f64, on: &AnyBackend<f64>) {
        let Self { model, particles, bodies, soft, rigid, coupling } = self;
        instances::step_coupled(coupling, (&mut **soft, model, particles), (rigid, bodies), dt, on).unwrap();
    }
    /// Linear and angular momentum of the particles.
    pub(crate) fn of_particles(&self) -> [Vec3<f64>; 2] {
        let (mut p, mut l) = (Vec3::zero(), Vec3::zero());
        for (i, w) in self.model.inv_mass().iter().enumerate() {
            let (x, of_one) = (Vec3::from(self.particles.x.get(i)), Vec3::from(self.particles.v.get(i)) * (1.0 / w));
            (p, l) = (p + of_one, l + x.cross(of_one));
        }
        [p, l]
    }
    /// Linear and angular momentum of everything.
    fn momentum(&self) -> [[f64; 3]; 2] {
        let of_bodies = [self.bodies.linear_momentum(), self.bodies.angular_momentum()];
        let of_particles = self.of_particles();
        [0, 1].map(|k| (Vec3::from(of_bodies[k]) + of_particles[k]).into())
    }
    /// The lowest particle \[m\].
    fn lowest(&self) -> f64 {
        self.particles.x.y.iter().copied().fold(f64::MAX, f64::min)
    }
    /// The fastest particle \[m/s\].
    fn fastest(&self) -> f64 {
        self.particles.v.iter().map(|v| apart(v, [0.0; 3])).fold(0.0, f64::max)
    }
}

fn pbd() -> Boxed<f64> {
    f64::pbd(Pbd::new(PbdOptions { substeps: 10, iterations: 1, ..PbdOptions::default() }))
}

/// Every method that carries damped springs.
pub(crate) fn methods() -> Vec<(&'static str, Boxed<f64>)> {
    let symplectic = f64::symplectic(Symplectic::new(100));
    vec![("pbd", pbd()), ("symplectic", symplectic), ("xpbd", f64::xpbd(XpbdOn::with_substeps(10)))]
}

/// Every method, for particles without constraints.
pub(crate) fn every_method() -> Vec<(&'static str, Boxed<f64>)> {
    let mut all = methods();
    all.push(("newton", f64::newton(Newton::new(NewtonOptions { substeps: 2, ..NewtonOptions::default() }))));
    let options = ProjectiveOptions { substeps: 2, iterations: 10, ..ProjectiveOptions::default() };
    all.push(("projective", f64::projective(Projective::new(options))));
    all
}

/// A cube of 0.4 m and 12.8 kg of damped springs.
pub(crate) fn cube(at: [f64; 3]) -> Body {
    let mesh = tet_box([4; 3], [0.4; 3], Split::Five).unwrap();
    let mesh = mesh.transformed(|p| p + at.into()).unwrap();
    let body = Body::solid(&mesh).unwrap().with_mass(12.8);
    let body = body.with_compliance(Role::Stretch, 2e-5).with_damping(Role::Stretch, 2.0);
    body.with_compliance(Role::Volume, 2e-9)
}

#[test]
fn a_soft_cube_rests_on_a_rigid_plane_in_every_method() {
    for (name, soft) in methods() {
        let mut bodies = RigidBodies::new();
        bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
        let mut both = Both::new(soft, &cube([0.0, 0.02, 0.0]), bodies, -G);
        for _ in 0..240 {
            both.step(1.0 / 120.0);
            assert!(both.lowest() > -1e-3, "{name}: sank to {} m", both.lowest());
        }
        println!("{name}: lowest {:e} m, fastest {:e} m/s", both.lowest(), both.fastest());
        assert!(both.lowest() < 1e-3, "{name} floats at {}", both.lowest());
        assert!(both.fastest() < 0.1, "{name} is not at rest: {} m/s", both.fastest());
    }
}

#[test]
fn a_soft_cube_carries_a_box_in_every_method() {
    for (name, soft) in methods() {
        let mut bodies = RigidBodies::new();
        bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
        let load = bodies.push(&RigidBody::cuboid([0.3, 0.1, 0.3], 200.0).at([0.2, 0.46, 0.2])).unwrap();
        let mut both = Both::new(soft, &cube([0.0, 0.001, 0.0]), bodies, -G);
        for _ in 0..240 {
            both.step(1.0 / 120.0);
        }
        let (height, speed) = (both.bodies.x.get(load)[1], apart(both.bodies.v.get(load), [0.0; 3]));
        let push = both.coupling.impulse(load)[1] / (both.bodies.mass(load).unwrap() * G / 120.0);
        println!("{name}: box at {height} m, {speed:e} m/s, lowest {:e}, load {push}", both.lowest());
        assert!(height > 0.35 && height < 0.46, "{name}: the box rests on the cube: {height}");
        assert!(speed < 0.02, "{name}: at rest: {speed}");
        assert!(both.lowest() > -1e-3, "{name}: the cube rests on the floor: {}", both.lowest());
        assert!((push - 1.0).abs() < 0.2, "{name}: the cube carries {push} of the box's weight");
    }
}

/// Loose particles: no method has anything to lose but what coupling loses.
pub(crate) fn cloud() -> Body {
    let at = |i: usize| [i % 4, i / 4 % 4, i / 16].map(|k| 0.1 * k as f64);
    Body::particles((0..64).map(at)).with_mass(12.8)
}

/// Relative losses of linear and angular momentum over a quarter of a second.
fn losses(both: &mut Both, scale: f64) -> [f64; 2] {
    let [p, l] = both.momentum();
    for _ in 0..60 {
        both.step(1.0 / 240.0);
    }
    let [p1, l1] = both.momentum();
    [apart(p, p1) / scale, apart(l, l1) / scale]
}

/// Thrown at things that stand about the origin.
pub(crate) fn stone() -> RigidBody {
    let stone = RigidBody::cuboid([0.3, 0.2, 0.25], 300.0).at([0.56, 0.1, 0.05]).with_restitution(0.3);
    stone.moving([-2.0, 0.0, 0.0]).spinning([0.5, 1.0, -1.0]).with_friction(0.5)
}

#[test]
fn a_fastened_pair_keeps_momentum() {
    for (name, soft) in every_method() {
        let mut bodies = RigidBodies::new();
        let stone = RigidBody::cuboid([0.3, 0.1, 0.2], 300.0).at([0.15, 0.45, 0.15]);
        let stone = bodies.push(&stone.moving([0.5, 0.0, -0.3]).spinning([1.0, 2.0, -1.0])).unwrap();
        let mut both = Both::new(soft, &cloud(), bodies, 0.0);
        let top = (0..both.particles.len() as u32).filter(|&i| both.particles.x.get(i as usize)[1] > 0.25);
        let fasten = |i: u32| Fastening::new(i, stone, &both.particles, &both.bodies).unwrap();
        let fastenings: Vec<_> = top.map(fasten).collect();
        both.coupling.fasten(fastenings);
        let scale = both.bodies.mass(stone).unwrap();
        let [dp, dl] = losses(&mut both, scale);
        let pose = both.bodies.principal_pose(stone);
        let q = Quaternion::new(pose.rotation.0);
        let gaps = both.coupling.fastenings().iter().map(|f| {
            let point = q.rotate(f.point.into()) + pose.translation.into();
            apart(point.into(), both.particles.x.get(f.particle as usize))
        });
        let gap = gaps.fold(0.0, f64::max);
        println!("{name}: {dp:e} and {dl:e} lost, {gap:e} m apart");
        assert!(dp < 1e-5 && dl < 1e-5, "{name}: {dp:e} and {dl:e} lost");
        assert!(gap < 2e-3, "{name}: fastenings come apart by {gap} m");
        assert!(Fastening::new(10_000, stone, &both.particles, &both.bodies).is_err());
        assert!(Fastening::new(0, 7, &both.particles, &both.bodies).is_err());
    }
}

#[test]
fn mass_ratios_of_a_thousand_stay_in_bounds() {
    // The cube has 12.8 kg.
    for (name, mass) in [("light", 0.0128), ("heavy", 12_800.0)] {
        let mut bodies = RigidBodies::new();
        bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
        let load = RigidBody::cuboid([0.5, 0.1, 0.5], mass / 0.025).at([0.2, 0.47, 0.2]);
        let load = bodies.push(&load).unwrap();
        let mut both = Both::new(pbd(), &cube([0.0, 0.001, 0.0]), bodies, -G);
        let mut fastest = 0.0_f64;
        for _ in 0..240 {
            both.step(1.0 / 120.0);
            fastest = fastest.max(apart(both.bodies.v.get(load), [0.0; 3]));
        }
        let (x, v) = (both.bodies.x.get(load), apart(both.bodies.v.get(load), [0.0; 3]));
        println!("{name}: box at {x:?} m, {v:e} m/s, at most {fastest} m/s, lowest particle {:e}", both.lowest());
        assert!(x[1] > 0.04 && x[1] < 0.47, "{name}: the box is at {}", x[1]);
        // Nothing is shot away: no faster than a fall through the height of the cube.
        assert!(fastest < 3.0, "{name}: the box reached {fastest} m/s");
        assert!((x[0] - 0.2).abs() < 0.2 && (x[2] - 0.2).abs() < 0.2, "{name}: the box stays above the cube: {x:?}");
        assert!(both.lowest() > -1e-3, "{name}: the cube is above the floor");
        // Squeezed flat it spreads, but nothing is thrown out of a square of three times its sides, nor above where the box began.
        let farthest = both.particles.x.iter().flat_map(|x| [x[0], x[2]]).map(|c| (c - 0.2).abs()).fold(0.0, f64::max);
        let highest = both.particles.x.y.iter().copied().fold(f64::MIN, f64::max);
        println!("{name}: particles reach {farthest} m to the side and {highest} m up");
        assert!(farthest < 0.6 && highest < 0.47, "{name}: particles reach {farthest} m to the side, {highest} m up");
    }
}

#[test]
fn boxes_stand_on_a_box_on_a_soft_cube() {
    let mut bodies = RigidBodies::new();
    bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    let tower: Vec<usize> = (0..3)
        .map(|i| {
            bodies.push(&RigidBody::cuboid([0.3, 0.1, 0.3], 200.0).at([0.2, 0.452 + 0.1 * f64::from(i), 0.2])).unwrap()
        })
        .collect();
    let mut both = Both::new(pbd(), &cube([0.0, 0.001, 0.0]), bodies, -G);
    for _ in 0..480 {
        both.step(1.0 / 120.0);
    }
    for &row in &tower {
        let (x, v) = (both.bodies.x.get(row), apart(both.bodies.v.get(row), [0.0; 3]));
        println!("box {row} at {x:?}, {v:e} m/s");
        assert!(v < 0.02 && (x[0] - 0.2).abs() < 0.01, "box {row} at {x:?}, {v} m/s");
    }
    let gap = both.bodies.x.get(tower[2])[1] - both.bodies.x.get(tower[0])[1];
    assert!((gap - 0.2).abs() < 2e-3, "boxes are {gap} m apart");
}

#[test]
fn a_ball_thrown_into_a_curtain_is_caught() {
    let grid = ClothGrid::square(1.0, 21);
    let hung = Body::cloth(&grid).unwrap().with_mass(0.4).posed(|p| [p[0], -p[2], 0.0]);
    let curtain = hung.pinned((0..21).collect::<Vec<_>>()).with_thickness(0.005);
    let mut bodies = RigidBodies::new();
    let ball = RigidBody::sphere(0.12, 20.0).at([0.5, -0.5, 0.4]).moving([0.0, 1.0, -3.0]);
    let ball = bodies.push(&ball).unwrap();
    let mut both = Both::new(pbd(), &curtain, bodies, -G);
    let mut deepest = f64::MAX;
    for _ in 0..90 {
        both.step(1.0 / 120.0);
        let at = both.bodies.x.get(ball);
        for x in both.particles.x.iter() {
            deepest = deepest.min(apart(x, at) - 0.12);
        }
    }
    let speed = both.bodies.v.get(ball)[2];
    println!("ball at {:?}, {speed} m/s through the cloth; deepest {deepest:e} m", both.bodies.x.get(ball));
    assert!(deepest > -1e-3, "particles are {deepest} m inside the ball");
    assert!(speed > -2.5, "the curtain slows the ball down: {speed}");
}

#[test]
fn particles_land_on_hulls() {
    let hull = RigidBody::convex(&icosphere(1.0, 3).unwrap(), 100.0).unwrap().held().with_friction(1.0);
    let mut bodies = RigidBodies::new();
    bodies.push(&hull).unwrap();
    let mut both = Both::new(pbd(), &Body::particles([[0.02, 1.2, 0.01]]).with_mass(0.1), bodies, -G);
    let mut nearest = f64::MAX;
    for _ in 0..90 {
        both.step(1.0 / 120.0);
        nearest = nearest.min(apart(both.particles.x.get(0), [0.0; 3]));
    }
    println!("{nearest} m from the centre");
    assert!(nearest > 0.97 && nearest <= 1.0, "{nearest} m from the centre");
    assert!(both.particles.x.get(0)[1] > 0.9, "it stays on top: {:?}", both.particles.x.get(0));
}

#[test]
fn coupling_gives_the_same_bits_everywhere() {
    let run = |on: &AnyBackend<f64>| {
        let mut bodies = RigidBodies::new();
        bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
        bodies.push(&RigidBody::sphere(0.15, 400.0).at([0.2, 0.6, 0.25]).spinning([3.0, 0.0, 1.0])).unwrap();
        let mut both = Both::new(pbd(), &cube([0.0, 0.02, 0.0]), bodies, -G);
        for _ in 0..60 {
            both.step_on(1.0 / 120.0, on);
        }
        (both.particles.state_hash(), both.bodies.state_hash())
    };
    let expected = run(&AnyBackend::by_name("scalar", None).unwrap());
    for name in AnyBackend::<f64>::names() {
        for threads in [1, 2, 3, 5] {
            assert_eq!(run(&AnyBackend::by_name(name, Some(threads)).unwrap()), expected, "{name}, {threads} threads");
        }
    }
}
