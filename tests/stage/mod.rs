//! Surfaces that press against themselves and each other: what the tests of guards, of the facade and the benches look at.
#![allow(dead_code, reason = "tests and benches each use a part of this module")]

use core::f64::consts::PI;

use pliant::core::backend::Backend;
use pliant::core::body::{Body, Role};
use pliant::core::collide::intersect::{Piercing, segment_triangle};
use pliant::core::collide::{SelfContact, Surfaces};
use pliant::core::columns::{Columns, Particles};
use pliant::core::lane::Real;
use pliant::core::mesh::ClothGrid;
use pliant::core::model::Model;
use pliant::core::sdf::Collider;
use pliant::core::solver::{Solver, StepReport};
use pliant_harness::instances;

pub const FRAME: f64 = 1.0 / 60.0;

/// Bodies, what holds them, and how their pins move.
pub struct Stage<S> {
    pub model: Model<S>,
    pub particles: Particles<S>,
    pub time: f64,
    pub pins: Box<dyn Fn([f64; 3], f64) -> [f64; 3]>,
    pub rest: Vec<[f64; 3]>,
    pub bodies: Vec<Body>,
    pub colliders: Vec<Collider>,
}

impl<S: Real> Stage<S> {
    pub fn new(bodies: &[Body], colliders: &[Collider], pins: impl Fn([f64; 3], f64) -> [f64; 3] + 'static) -> Self {
        let all: Vec<&Body> = bodies.iter().collect();
        let (mut model, particles) = Model::build(&all).expect("valid bodies");
        colliders.iter().cloned().for_each(|c| model.colliders_mut().push(c).expect("a valid collider"));
        let rest = (0..particles.len()).map(|i| particles.x.get(i).map(S::to_f64)).collect();
        let (bodies, colliders) = (bodies.to_vec(), colliders.to_vec());
        Self { model, particles, time: 0.0, pins: Box::new(pins), rest, bodies, colliders }
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
    /// The same without the trees that guards rely on: every edge against every triangle.
    pub fn intersections_by_brute_force(&self) -> usize {
        let surfaces = self.model.surfaces();
        let at = |v: &u32| self.particles.x.get(surfaces.particles[*v as usize] as usize).map(S::to_f64);
        let range = |corners: &[[f64; 3]]| {
            let side = |k: usize, pick: fn(f64, f64) -> f64| corners.iter().map(|c| c[k]).reduce(pick).unwrap_or(0.0);
            [0, 1, 2].map(|k| [side(k, f64::min), side(k, f64::max)])
        };
        let edges: Vec<_> = surfaces.edges.iter().map(|e| (e, e.each_ref().map(at))).collect();
        let edges: Vec<_> = edges.into_iter().map(|(e, x)| (e, x, range(&x))).collect();
        let mut count = 0;
        for triangle in &surfaces.triangles {
            let corners = triangle.each_ref().map(at);
            let around = range(&corners);
            for (edge, ends, range) in &edges {
                let apart = (0..3).any(|k| range[k][0] > around[k][1] || around[k][0] > range[k][1]);
                let joined = edge.iter().any(|v| triangle.contains(v));
                count += usize::from(!apart && !joined && segment_triangle(*ends, corners));
            }
        }
        count
    }
    /// How far free particles are from where they began, on average \[m\]: a guard that never moves keeps surfaces apart too.
    pub fn progress(&self) -> f64 {
        let free = || (0..self.rest.len()).filter(|&i| self.model.inv_mass()[i] > S::ZERO);
        let away = |i: usize| {
            let at = self.particles.x.get(i).map(S::to_f64);
            (0..3).map(|k| (at[k] - self.rest[i][k]).powi(2)).sum::<f64>().sqrt()
        };
        free().map(away).sum::<f64>() / free().count() as f64
    }
    /// The largest coordinate and the largest speed in one direction \[m, m/s\].
    pub fn extent(&self) -> (f64, f64) {
        let most = |columns: &Columns<S>| columns.iter().flatten().map(|x| x.to_f64().abs()).fold(0.0, f64::max);
        (most(&self.particles.x), most(&self.particles.v))
    }
}

/// Edges that pass through triangles, counted exactly.
pub fn intersections<S: Real>(surfaces: &Surfaces<S>, particles: &Particles<S>) -> usize {
    piercings_of(surfaces, particles).len()
}

/// Edges that pass through triangles, found exactly.
pub fn piercings_of<S: Real>(surfaces: &Surfaces<S>, particles: &Particles<S>) -> Vec<Piercing> {
    let at = |&p: &u32| particles.x.get(p as usize).map(S::to_f64);
    let places = surfaces.particles.iter().map(at).collect();
    instances::piercings(&surfaces.edges, &surfaces.triangles, &places).expect("finite positions")
}

pub fn stay(at: [f64; 3], _: f64) -> [f64; 3] {
    at
}

pub fn contact(thickness: f64) -> SelfContact {
    SelfContact { thickness, friction: 0.3, ..SelfContact::default() }
}

/// A soft strip whose ends turn about its long axis against each other, so many turns a second in all.
pub fn twist<S: Real>(n: usize, speed: f64) -> Stage<S> {
    let columns = 3 * n;
    let body = soft(Body::cloth(&ClothGrid::new(columns, n, 1.0, 0.3)).expect("a grid").with_mass(0.1), 1e-2);
    let ends = (0..columns * n).filter(|i| i % columns == 0 || i % columns == columns - 1).map(|i| i as u32);
    let body = body.posed(|p| [p[0] - 0.5, p[1], p[2] - 0.15]).pinned(ends).with_self_contact(contact(0.008));
    let turn = move |[x, y, z]: [f64; 3], time: f64| {
        let turns = speed * time;
        let (sin, cos) = (PI * turns * x.signum()).sin_cos();
        // The ends come closer as the strip gets shorter.
        [x * (1.0 - 0.05 * turns), y * cos - z * sin, y * sin + z * cos]
    };
    let mut stage = Stage::new(&[body], &[], turn);
    stage.model.environment.damping = S::ONE;
    stage
}

/// The same body, giving way by so many metres a newton.
pub fn soft(body: Body, compliance: f64) -> Body {
    let roles = [Role::Stretch, Role::Shear, Role::Bend];
    roles.into_iter().fold(body, |body, role| body.with_compliance(role, compliance))
}

/// Layers that fall on a ball, one onto the other.
pub fn stack<S: Real>(layers: usize, n: usize, compliance: f64) -> Stage<S> {
    let layer = |k: usize| {
        let sheet = soft(Body::cloth(&ClothGrid::square(0.6, n)).expect("a grid").with_mass(0.05), compliance);
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

/// Two sheets that fly at each other without gravity, with these speeds upwards \[m/s\].
pub fn crash<S: Real>([lower, upper]: [f64; 2], compliance: f64) -> Stage<S> {
    let sheet = |y: f64, speed: f64, turn: f64| {
        let (sin, cos) = turn.sin_cos();
        let mass = if y > 0.0 { 0.1 } else { 0.2 };
        soft(Body::cloth(&ClothGrid::square(0.5, 8)).expect("a grid").with_mass(mass), compliance)
            .posed(move |[x, _, z]| {
                let (x, z) = (x - 0.25, z - 0.25);
                [x * cos - z * sin, y, x * sin + z * cos]
            })
            .with_velocities([[0.0, speed, 0.0]; 64])
            .with_self_contact(contact(0.01))
    };
    let mut stage = Stage::new(&[sheet(-0.1, lower, 0.0), sheet(0.1, upper, 0.3)], &[], stay);
    stage.model.environment.gravity = [S::ZERO; 3];
    stage
}

/// Momentum of all particles, and the mean heights of the first and the second half of them.
pub fn momentum<S: Real>(stage: &Stage<S>) -> ([f64; 3], [f64; 2]) {
    let (mut sum, mut heights) = ([0.0; 3], [0.0; 2]);
    let count = stage.particles.len();
    for i in 0..count {
        let (x, v, w) = (stage.particles.x.get(i), stage.particles.v.get(i), stage.model.inv_mass()[i].to_f64());
        (0..3).for_each(|k| sum[k] += v[k].to_f64() / w);
        heights[2 * i / count] += x[1].to_f64() * 2.0 / count as f64;
    }
    (sum, heights)
}
