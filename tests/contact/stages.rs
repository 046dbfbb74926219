//! Surfaces that press against themselves and each other: what tests and benches look at.
#![allow(dead_code, reason = "tests and benches each use a part of this module")]

use pliant::backends::{AnyBackend, Precision};
use pliant::core::collide::Surfaces;
use pliant::core::collide::intersect::piercings;
use pliant::prelude::*;
use pliant_harness::instances::{Boxed, Instances};

pub const FRAME: f64 = 1.0 / 60.0;

/// Bodies, what holds them, and how their pins move.
pub struct Stage<S> {
    pub model: Model<S>,
    pub particles: Particles<S>,
    pub time: f64,
    pub pins: fn([f64; 3], f64) -> [f64; 3],
    pub rest: Vec<[f64; 3]>,
    pub bodies: Vec<Body>,
    pub colliders: Vec<Collider>,
}

impl<S: Precision> Stage<S> {
    pub fn new(bodies: &[Body], colliders: &[Collider], pins: fn([f64; 3], f64) -> [f64; 3]) -> Self {
        let all: Vec<&Body> = bodies.iter().collect();
        let (mut model, particles) = Model::build(&all).expect("valid bodies");
        colliders.iter().cloned().for_each(|c| model.colliders_mut().push(c).expect("a valid collider"));
        let rest = (0..particles.len()).map(|i| particles.x.get(i).map(S::to_f64)).collect();
        let (bodies, colliders) = (bodies.to_vec(), colliders.to_vec());
        Self { model, particles, time: 0.0, pins, rest, bodies, colliders }
    }
    pub fn step<B: Backend<Scalar = S>>(&mut self, solver: &mut dyn Solver<B>, on: &B) -> StepReport {
        self.time += FRAME;
        for pin in self.model.pins().to_vec() {
            let to = (self.pins)(self.rest[pin as usize], self.time).map(S::from_f64);
            self.model.move_pin(pin, to).expect("a pin");
        }
        solver.step(&self.model, &mut self.particles, S::from_f64(FRAME), on).expect("a step")
    }
    pub fn intersections(&self) -> usize {
        intersections(self.model.surfaces(), &self.particles)
    }
}

/// Edges that pass through triangles, counted exactly.
pub fn intersections<S: Precision>(surfaces: &Surfaces<S>, particles: &Particles<S>) -> usize {
    let at = |&p: &u32| particles.x.get(p as usize).map(S::to_f64);
    let places = surfaces.particles.iter().map(at).collect();
    let found = piercings(&surfaces.edges, &surfaces.triangles, &places, None, &Scalar::<f64>::new());
    found.expect("finite positions").len()
}

pub fn stay(at: [f64; 3], _: f64) -> [f64; 3] {
    at
}

pub fn contact(thickness: f64) -> SelfContact {
    SelfContact { thickness, friction: 0.3, ..SelfContact::default() }
}

/// A soft strip whose ends turn about its long axis against each other, one turn a second in all.
pub fn twist<S: Precision>(n: usize) -> Stage<S> {
    let columns = 3 * n;
    let mut body = Body::cloth(&ClothGrid::new(columns, n, 1.0, 0.3)).expect("a grid").with_mass(0.1);
    for role in [Role::Stretch, Role::Shear, Role::Bend] {
        body = body.with_compliance(role, 1e-2);
    }
    let centre = |p: [f64; 3]| [p[0] - 0.5, p[1], p[2] - 0.15];
    let ends = (0..columns * n).filter(|i| i % columns == 0 || i % columns == columns - 1).map(|i| i as u32);
    let body = body.posed(centre).pinned(ends).with_self_contact(contact(0.008));
    let turn = |[x, y, z]: [f64; 3], time: f64| {
        let angle = core::f64::consts::PI * time * x.signum();
        // The ends come closer as the strip gets shorter.
        let [sin, cos] = [angle.sin(), angle.cos()];
        [x * (1.0 - 0.05 * time), y * cos - z * sin, y * sin + z * cos]
    };
    let mut stage = Stage::new(&[body], &[], turn);
    stage.model.environment.damping = S::ONE;
    stage
}

/// Layers that fall on a ball, one onto the other.
pub fn stack<S: Precision>(layers: usize, n: usize) -> Stage<S> {
    let layer = |k: usize| {
        let sheet = Body::cloth(&ClothGrid::square(0.6, n)).expect("a grid").with_mass(0.05);
        // Turned a little against each other, as no two layers lie alike.
        let (sin, cos) = (0.1 * k as f64).sin_cos();
        let height = 0.02 * (k + 1) as f64;
        sheet
            .posed(move |[x, _, z]| {
                let (x, z) = (x - 0.3, z - 0.3);
                [x * cos - z * sin, height, x * sin + z * cos]
            })
            .with_thickness(0.004)
            .with_self_contact(contact(0.008))
    };
    let bodies: Vec<Body> = (0..layers).map(layer).collect();
    Stage::new(&bodies, &[Collider::sphere(0.2).at([0.0, -0.2, 0.0]).with_friction(0.3)], stay)
}

pub fn xpbd<S: Instances>() -> Boxed<S> {
    S::xpbd(XpbdOn::with_substeps(10))
}

/// Runs a stage; returns the intersections after each step, and how far targets were missed.
pub fn run<S: Instances>(stage: &mut Stage<S>, guard: Option<Guard>, steps: usize) -> (Vec<usize>, f64) {
    let on = AnyBackend::<S>::by_name("simd", None).expect("built");
    let mut missed: f64 = 0.0;
    let mut counts = Vec::new();
    if let Some(guard) = guard {
        let mut solver = IntersectionFree::<_, S>::new(xpbd::<S>(), guard);
        Solver::<AnyBackend<S>>::prepare(&mut solver, &stage.model).expect("valid options");
        for _ in 0..steps {
            stage.step(&mut solver, &on);
            missed = missed.max(solver.remaining());
            counts.push(stage.intersections());
        }
    } else {
        let mut solver = xpbd::<S>();
        solver.prepare(&stage.model).expect("valid options");
        for _ in 0..steps {
            stage.step(&mut *solver, &on);
            counts.push(stage.intersections());
        }
    }
    (counts, missed)
}

/// The same bodies with all surfaces in groups that touch nothing.
pub fn run_blind(stage: Stage<f32>, steps: usize) -> Vec<usize> {
    let on = AnyBackend::<f32>::by_name("simd", None).expect("built");
    let mut blind = Stage::new(&stage.bodies, &stage.colliders, stage.pins);
    blind.model = {
        let nobody = SelfContact { groups: Groups { member: 1, touches: 0 }, ..contact(0.008) };
        let bodies: Vec<Body> = stage.bodies.iter().map(|b| b.clone().with_self_contact(nobody)).collect();
        let mut model = Stage::<f32>::new(&bodies, &stage.colliders, stage.pins).model;
        model.environment = stage.model.environment.clone();
        model
    };
    let mut solver = xpbd::<f32>();
    solver.prepare(&blind.model).expect("valid options");
    let count = |_| {
        blind.step(&mut *solver, &on);
        blind.intersections()
    };
    (0..steps).map(count).collect()
}

/// Two free sheets fly into each other.
pub fn crash<S: Precision>() -> Stage<S> {
    let sheet = |height: f64, speed: f64, turn: f64| {
        let count = 100;
        let lie = move |[x, _, z]: [f64; 3]| [x + turn * z, height + 0.1 * turn * x, z - turn * x];
        Body::cloth(&ClothGrid::square(0.5, 10))
            .expect("a grid")
            .posed(lie)
            .with_velocities((0..count).map(|_| [0.1 * speed, speed, 0.0]))
            .with_self_contact(contact(0.01))
    };
    let mut stage = Stage::new(&[sheet(0.0, 1.0, 0.0), sheet(0.05, -0.5, 0.2)], &[], stay);
    stage.model.environment.gravity = [S::ZERO; 3];
    stage
}

/// Linear momentum and mean height of each half.
pub fn momentum<S: Precision>(stage: &Stage<S>) -> ([f64; 3], [f64; 2]) {
    let (mut sum, mut heights) = ([0.0; 3], [0.0; 2]);
    let count = stage.particles.len();
    for i in 0..count {
        let m = 1.0 / stage.model.inv_mass()[i].to_f64();
        let v = stage.particles.v.get(i).map(S::to_f64);
        (0..3).for_each(|k| sum[k] += m * v[k]);
        heights[2 * i / count] += stage.particles.x.get(i)[1].to_f64() / (count / 2) as f64;
    }
    (sum, heights)
}
