//! Particles and rigid bodies together: contact and fastenings exchange momentum.

use pliant_backends::{AnyBackend, Scalar};
use pliant_core::backend::Backend;
use pliant_core::body::Body;
use pliant_core::columns::Particles;
use pliant_core::mesh::{Split, tet_box};
use pliant_core::model::Model;
use pliant_core::rigid::{RigidBodies, RigidBody};
use pliant_core::solver::Solver;
use pliant_solvers::{Coupling, Fastening, Pbd, PbdOptions, RigidOptions, RigidSolver};

use crate::{G, apart};

/// A soft cube and rigid bodies, stepped together.
struct Both {
    model: Model<f64>,
    particles: Particles<f64>,
    bodies: RigidBodies<f64>,
    soft: Pbd<f64>,
    rigid: RigidSolver<f64>,
    coupling: Coupling<f64>,
}

impl Both {
    fn new(body: &Body, bodies: RigidBodies<f64>, gravity: f64) -> Self {
        let (mut model, particles) = Model::build(&[body]).unwrap();
        model.environment.gravity = [0.0, gravity, 0.0];
        let mut soft = Pbd::new(PbdOptions { substeps: 4, iterations: 2, ..PbdOptions::default() });
        Solver::<Scalar<f64>>::prepare(&mut soft, &model).unwrap();
        let mut rigid = RigidSolver::new(RigidOptions { sleep: None, ..RigidOptions::default() });
        rigid.prepare(&bodies).unwrap();
        let mut coupling = Coupling::new();
        coupling.prepare(&bodies).unwrap();
        Self { model, particles, bodies, soft, rigid, coupling }
    }
    fn step<B: Backend<Scalar = f64>>(&mut self, dt: f64, on: &B) {
        let Self { model, particles, bodies, coupling, .. } = self;
        coupling.exchange(model, particles, bodies, dt, on).unwrap();
        self.advance(dt, on);
    }
    fn advance<B: Backend<Scalar = f64>>(&mut self, dt: f64, on: &B) {
        let Self { model, particles, bodies, soft, rigid, .. } = self;
        soft.step(model, particles, dt, on).unwrap();
        rigid.step(bodies, model.environment.gravity, dt, on).unwrap();
    }
    /// Linear and angular momentum of everything.
    fn momentum(&self) -> ([f64; 3], [f64; 3]) {
        let (mut p, mut l) = (self.bodies.linear_momentum(), self.bodies.angular_momentum());
        for (i, w) in self.model.inv_mass().iter().enumerate() {
            let (x, v) = (self.particles.x.get(i), self.particles.v.get(i));
            let cross = [x[1] * v[2] - x[2] * v[1], x[2] * v[0] - x[0] * v[2], x[0] * v[1] - x[1] * v[0]];
            for k in 0..3 {
                p[k] += v[k] / w;
                l[k] += cross[k] / w;
            }
        }
        (p, l)
    }
}

fn cube(at: [f64; 3]) -> Body {
    let mesh = tet_box([4; 3], [0.4; 3], Split::Five).unwrap();
    let mesh = mesh.transformed(|p| p + at.into()).unwrap();
    Body::solid(&mesh).unwrap().with_mass(12.8)
}

#[test]
fn a_collision_of_a_soft_cube_and_a_box_keeps_momentum() {
    let mut bodies = RigidBodies::new();
    let stone = RigidBody::cuboid([0.3, 0.2, 0.25], 300.0).at([0.55, 0.1, 0.05]);
    bodies.push(&stone.moving([-2.0, 0.0, 0.0]).spinning([0.5, 1.0, -1.0]).with_friction(0.5)).unwrap();
    let mut both = Both::new(&cube([0.0; 3]), bodies, 0.0);
    let (p, l) = both.momentum();
    let scale = 2.0 * both.bodies.mass(0).unwrap();
    // What the exchange itself loses, and what is lost over all: PBD keeps the angular momentum of its particles only to
    // the order of its substep.
    let mut lost = [0.0_f64; 2];
    for _ in 0..120 {
        let (p, l) = both.momentum();
        let Both { model, particles, bodies, coupling, .. } = &mut both;
        coupling.exchange(model, particles, bodies, 1.0 / 240.0, &Scalar::new()).unwrap();
        let (p1, l1) = both.momentum();
        lost = [lost[0].max(apart(p, p1) / scale), lost[1].max(apart(l, l1) / scale)];
        both.advance(1.0 / 240.0, &Scalar::new());
    }
    let (p1, l1) = both.momentum();
    let speed = both.bodies.v.get(0)[0];
    let (dp, dl) = (apart(p, p1) / scale, apart(l, l1) / scale);
    println!("exchange loses {lost:?}; over all {dp:e} and {dl:e}; box at {speed} m/s");
    assert!(speed > -1.5, "the box was slowed down: {speed}");
    assert!(lost[0] < 1e-5 && lost[1] < 1e-5 && dp < 1e-5);
    assert!(dl < 1e-3);
}

#[test]
fn a_soft_cube_carries_a_box() {
    let mut bodies = RigidBodies::new();
    bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    let load = bodies.push(&RigidBody::cuboid([0.3, 0.1, 0.3], 200.0).at([0.2, 0.46, 0.2])).unwrap();
    let mut both = Both::new(&cube([0.0, 0.001, 0.0]), bodies, -G);
    for _ in 0..480 {
        both.step(1.0 / 240.0, &Scalar::new());
    }
    let (height, speed) = (both.bodies.x.get(load)[1], both.bodies.v.get(load));
    let lowest = both.particles.x.y.iter().copied().fold(f64::MAX, f64::min);
    println!("box at {height} m, {speed:?} m/s, lowest particle {lowest}");
    assert!(height > 0.4 && height < 0.46, "the box rests on the cube: {height}");
    assert!(apart(speed, [0.0; 3]) < 0.05, "at rest: {speed:?}");
    assert!(lowest > -0.01, "the cube rests on the floor: {lowest}");
}

#[test]
fn a_box_fastened_to_a_soft_cube_stays_with_it() {
    let mut bodies = RigidBodies::new();
    let weight = bodies.push(&RigidBody::cuboid([0.1; 3], 1000.0).at([0.05, 0.25, 0.05])).unwrap();
    let mut both = Both::new(&cube([0.0; 3]).pinned([0, 4, 20, 24]), bodies, 0.0);
    let near: Vec<u32> =
        (0..both.particles.len() as u32).filter(|&i| both.particles.x.get(i as usize)[1] > 0.35).collect();
    let fastenings = near.iter().map(|&i| Fastening::new(i, weight, &both.particles, &both.bodies).unwrap()).collect();
    both.coupling.fasten(fastenings);
    both.bodies.v.set(weight, [0.3, 0.0, 0.0]);
    for _ in 0..240 {
        both.step(1.0 / 240.0, &Scalar::new());
    }
    let pose = both.bodies.principal_pose(weight);
    let q = pliant_core::rigid::Quaternion::new(pose.rotation.0);
    let worst = both.coupling.fastenings().iter().map(|f| {
        let point = q.rotate(f.point.into()) + pose.translation.into();
        apart(point.into(), both.particles.x.get(f.particle as usize))
    });
    let worst = worst.fold(0.0, f64::max);
    println!("fastenings are apart by {worst:e} m");
    assert!(worst < 0.02, "fastenings come apart by {worst} m");
    assert!(Fastening::new(10_000, weight, &both.particles, &both.bodies).is_err());
    assert!(Fastening::new(0, 7, &both.particles, &both.bodies).is_err());
}

#[test]
fn coupling_gives_the_same_bits_everywhere() {
    let run = |on: &AnyBackend<f64>| {
        let mut bodies = RigidBodies::new();
        bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
        bodies.push(&RigidBody::sphere(0.15, 400.0).at([0.2, 0.6, 0.25]).spinning([3.0, 0.0, 1.0])).unwrap();
        let mut both = Both::new(&cube([0.0, 0.02, 0.0]), bodies, -G);
        for _ in 0..60 {
            both.step(1.0 / 120.0, on);
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
