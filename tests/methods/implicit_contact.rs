//! Colliders in methods that minimise: slopes, bounces, particles that start inside. A strip that buckles until its tip slips is a
//! check of `pliant validate`.

use std::f64::consts::FRAC_PI_6;

use pliant::core::body::{Body, Role};
use pliant::core::columns::Particles;
use pliant::core::error::BuildError;
use pliant::core::mesh::ClothGrid;
use pliant::core::model::Model;
use pliant::core::sdf::{Collider, Penalty};
use pliant::{Acceleration, ColliderForm, Newton, NewtonOptions, Projective, ProjectiveOptions, XpbdOn};
use pliant_harness::instances::{Boxed, Instances};

use crate::simd;

type Method = Boxed<f64>;

/// A model in motion.
struct Run {
    model: Model<f64>,
    particles: Particles<f64>,
    solver: Method,
}

impl Run {
    fn new(body: &Body, collider: Collider, mut solver: Method) -> Self {
        let (mut model, particles) = Model::build(&[body]).expect("a valid body");
        model.colliders_mut().push(collider).expect("a valid collider");
        solver.prepare(&model).expect("valid options");
        Self { model, particles, solver }
    }
    fn step(&mut self, dt: f64) {
        self.solver.step(&self.model, &mut self.particles, dt, &simd()).expect("a step");
    }
    fn at(&self, particle: usize) -> [f64; 3] {
        self.particles.x.get(particle)
    }
}

fn newton(substeps: usize, colliders: ColliderForm) -> Method {
    f64::newton(Newton::new(NewtonOptions { substeps, colliders, tolerance: 1e-10, ..NewtonOptions::default() }))
}

fn projective(substeps: usize, collider_weight: Option<f64>, acceleration: Acceleration) -> Method {
    let options = ProjectiveOptions { substeps, collider_weight, acceleration, ..ProjectiveOptions::default() };
    f64::projective(Projective::new(options))
}

const LINEAR: ColliderForm = ColliderForm::Energy(Penalty::Linear { stiffness: 1e4 });
const BUFFERED: ColliderForm = ColliderForm::Energy(Penalty::Buffered { stiffness: 1e4, buffer: 1e-3 });
const WEIGHED: ColliderForm = ColliderForm::Weighed { weight: 1e3, buffer: 1e-3 };
const BARRIER: ColliderForm = ColliderForm::Energy(Penalty::LogBarrier { strength: 1e-3, buffer: 1e-3 });

/// Every form that colliders take in these methods.
fn methods(substeps: usize) -> Vec<(&'static str, Method)> {
    vec![
        ("newton", newton(substeps, ColliderForm::Project)),
        ("newton, linear", newton(substeps, LINEAR)),
        ("newton, buffered", newton(substeps, BUFFERED)),
        ("newton, weighed", newton(substeps, WEIGHED)),
        ("newton, barrier", newton(substeps, BARRIER)),
        ("projective", projective(substeps, None, Acceleration::None)),
        ("projective, weighed", projective(substeps, Some(10.0), Acceleration::None)),
        ("xpbd-schur", f64::schur(XpbdOn::with_substeps(substeps))),
        ("projective, L-BFGS", projective(substeps, Some(10.0), Acceleration::Lbfgs(5))),
    ]
}

/// A plane tilted by 30° about z: downhill is −x.
fn slope(friction: f64) -> Collider {
    Collider::plane([-FRAC_PI_6.sin(), FRAC_PI_6.cos(), 0.0]).with_friction(friction)
}

/// A sheet on the slope, clear of it by a buffer's width.
fn sheet() -> Body {
    let tilt =
        |[x, y, z]: [f64; 3]| [x * FRAC_PI_6.cos() - y * FRAC_PI_6.sin(), x * FRAC_PI_6.sin() + y * FRAC_PI_6.cos(), z];
    let sheet = Body::cloth(&ClothGrid::square(0.5, 4)).expect("a grid").with_mass(16.0);
    let sheet = sheet.with_compliance(Role::Stretch, 1e-4).with_compliance(Role::Shear, 1e-4);
    sheet.with_compliance(Role::Bend, 1e-3).translated([0.0, 1e-3, 0.0]).posed(tilt)
}

#[test]
fn bodies_stick_to_a_slope_or_slide_as_coulomb_says() {
    let dt = 1.0 / 60.0;
    let normal = [-FRAC_PI_6.sin(), FRAC_PI_6.cos(), 0.0];
    let particle = Body::particles([normal.map(|c| 1e-3 * c)]);
    for body in [particle, sheet()] {
        for index in 0..methods(2).len() {
            let run = |friction| {
                let (name, method) = methods(2).swap_remove(index);
                let mut run = Run::new(&body, slope(friction), method);
                (0..30).for_each(|_| run.step(dt));
                (name, run)
            };
            for friction in [0.58, 0.8] {
                let (name, mut still) = run(friction);
                let start = still.at(0);
                (0..60).for_each(|_| still.step(dt));
                let d: Vec<f64> = (0..3).map(|k| still.at(0)[k] - start[k]).collect();
                let creep = (d[0] * FRAC_PI_6.cos() + d[1] * FRAC_PI_6.sin()).abs();
                assert!(creep < 1e-3, "{name}: creeps at {creep} m/s for μ = {friction}");
            }
            let (name, mut sliding) = run(0.3);
            let speed = |run: &Run| run.particles.v.get(0).iter().map(|c| c * c).sum::<f64>().sqrt();
            let before = speed(&sliding);
            (0..60).for_each(|_| sliding.step(dt));
            let a = speed(&sliding) - before;
            assert!((a - 2.356_287).abs() < 0.01 * 2.356_287, "{name}: slides at {a} m/s²");
        }
    }
}

#[test]
fn bounces_reach_the_heights_that_restitution_leaves() {
    let floor = Collider::plane([0.0, 1.0, 0.0]).with_restitution(0.8);
    // What is stopped inside a buffer does not bounce.
    for (name, method) in methods(10).into_iter().filter(|(name, _)| *name != "newton, weighed") {
        let mut run = Run::new(&Body::particles([[0.0, 1.0, 0.0]]), floor.clone(), method);
        let (mut last, mut rising, mut found) = (1.0, false, Vec::new());
        while found.len() < 3 {
            run.step(1.0 / 240.0);
            let y = run.at(0)[1];
            if rising && y < last {
                found.push(last);
            }
            rising = y > last;
            last = y;
        }
        for (height, expected) in found.into_iter().zip([0.64, 0.4096, 0.262_144]) {
            assert!((height / expected - 1.0).abs() < 0.02, "{name}: {height} m instead of {expected} m");
        }
    }
}

/// Colliders that start inside a body: particles come out, and stay finite.
#[test]
fn particles_that_start_inside_come_out() {
    for collider in [Collider::sphere(0.3), Collider::cuboid([0.4, 0.4, 0.4]), Collider::capsule(0.2, 0.3)] {
        for (name, method) in methods(2) {
            let mut run = Run::new(&Body::particles([[0.0; 3], [0.05, 0.0, 0.02]]), collider.clone(), method);
            run.model.environment.gravity = [0.0; 3];
            (0..6).for_each(|_| run.step(1.0 / 60.0));
            for particle in 0..2 {
                let away = run.at(particle).iter().map(|c| c * c).sum::<f64>().sqrt();
                assert!(away.is_finite() && away > 0.19, "{name}, {:?}: {away} m", collider.shape);
            }
        }
    }
}

#[test]
fn bad_options_are_refused() {
    let (model, _) = Model::<f64>::build(&[&Body::particles([[0.0; 3]])]).expect("valid");
    let bad = ColliderForm::Energy(Penalty::Linear { stiffness: -1.0 });
    let error = newton(1, bad).prepare(&model).expect_err("a negative stiffness");
    assert!(matches!(error, BuildError::BadOption { name: "penalty stiffness", .. }), "{error}");
    let bad = ColliderForm::Weighed { weight: 1e3, buffer: 0.0 };
    let error = newton(1, bad).prepare(&model).expect_err("no buffer");
    assert!(matches!(error, BuildError::BadOption { name: "penalty buffer", .. }), "{error}");
    for weight in [0.0, -1.0, f64::NAN] {
        let error = projective(1, Some(weight), Acceleration::None).prepare(&model).expect_err("a bad weight");
        assert!(matches!(error, BuildError::BadOption { name: "collider weight", .. }), "{error}");
    }
}
