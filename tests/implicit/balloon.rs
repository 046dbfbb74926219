//! Volumes in implicit methods: one energy that couples all particles of a surface.

use pliant::backends::AnyBackend;
use pliant::prelude::*;
use pliant::solvers::StepObjective;
use pliant::{Acceleration, Newton, NewtonOptions, Projective, ProjectiveOptions, SchurForm};
use pliant_harness::instances::{Boxed, Instances};

const DT: f64 = 1.0 / 60.0;

fn ball(inflation: f64, at: f64) -> Body {
    let mesh = icosphere(0.3, 2).expect("a sphere");
    let body = Body::balloon(&mesh, inflation).expect("closed").with_mass(0.1).pinned([0]);
    let body = body.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Bend, 1e-2);
    body.with_compliance(Role::Volume, 1e-6).translated([at, 0.0, 0.0])
}

/// Two balloons of different pressure: a system of two dense rows.
fn model() -> (Model<f64>, Particles<f64>) {
    Model::build(&[&ball(1.5, 0.0), &ball(1.2, 1.0)]).expect("sound")
}

fn newton() -> Boxed<f64> {
    f64::newton(Newton::new(NewtonOptions { iterations: 200, tolerance: 1e-10, ..NewtonOptions::default() }))
}

fn after(mut solver: Boxed<f64>, steps: usize) -> (Particles<f64>, StepReport) {
    let (model, mut particles) = model();
    solver.prepare(&model).expect("energies");
    let mut report = StepReport::default();
    for _ in 0..steps {
        report = solver.step(&model, &mut particles, DT, &AnyBackend::scalar()).expect("a step");
    }
    (particles, report)
}

fn distance(a: &Particles<f64>, b: &Particles<f64>) -> f64 {
    let apart = |(a, b): ([f64; 3], [f64; 3])| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
    a.x.iter().zip(b.x.iter()).map(apart).fold(0.0, f64::max)
}

/// The volume inside the particles of an icosphere, by its triangles.
fn volume(particles: &Particles<f64>, first: usize) -> f64 {
    let mesh = icosphere(0.3, 2).expect("a sphere");
    let of = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|p| particles.x.get(first + p as usize));
        let cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]];
        (0..3).map(|k| a[k] * cross[k]).sum::<f64>() / 6.0
    };
    mesh.triangles().iter().map(of).sum()
}

#[test]
fn newton_finds_the_minimum_with_every_gradient_in_it() {
    let (found, report) = after(newton(), 1);
    assert!(report.converged && report.residual < 1e-6, "{report:?}");
    // F by itself, in all directions of some particles: nothing nearby is lower.
    let (model, start) = model();
    let on = Scalar::new();
    let mut objective = StepObjective::new(&model).expect("energies");
    objective.begin(&model, &start, DT, &on).expect("a state");
    let least = objective.value(&model, &found.x, &on).expect("finite");
    let step = 1e-5;
    for particle in [1, 50, 120, 200, 300] {
        for k in 0..3 {
            let mut sides = [0.0; 2];
            for (side, sign) in sides.iter_mut().zip([1.0, -1.0]) {
                let mut x = found.x.clone();
                let mut at = x.get(particle);
                at[k] += sign * step;
                x.set(particle, at);
                *side = objective.value(&model, &x, &on).expect("finite");
            }
            let slope = (sides[0] - sides[1]) / (2.0 * step);
            assert!(slope.abs() < 1e-5, "particle {particle}, axis {k}: {slope} N");
            assert!(sides.iter().all(|&side| side > least), "particle {particle}, axis {k}");
        }
    }
}

#[test]
fn projective_dynamics_reaches_the_same_minimum() {
    let (expected, _) = after(newton(), 1);
    for acceleration in [Acceleration::None, Acceleration::Lbfgs(8)] {
        let options = ProjectiveOptions { iterations: 300, acceleration, ..ProjectiveOptions::default() };
        let (found, _) = after(f64::projective(Projective::new(options)), 1);
        let error = distance(&found, &expected);
        // Plain iterations converge slowly.
        let limit = if acceleration == Acceleration::None { 1e-4 } else { 1e-6 };
        assert!(error < limit, "{acceleration:?}: {error:e} m");
    }
}

#[test]
fn every_method_keeps_the_volumes() {
    let schur = |form| f64::schur(XpbdOn::new(XpbdOptions { substeps: 5, iterations: 2 }).with_form(form));
    let lbfgs = ProjectiveOptions { acceleration: Acceleration::Lbfgs(5), ..ProjectiveOptions::default() };
    let rest = icosphere(0.3, 2).expect("a sphere").volume().expect("closed");
    let second = icosphere(0.3, 2).expect("a sphere").positions().len();
    for (name, solver) in [
        ("newton", newton()),
        ("projective", f64::projective(Projective::new(lbfgs))),
        ("schur", schur(SchurForm::Position)),
        ("kkt", schur(SchurForm::Kkt)),
    ] {
        let (particles, _) = after(solver, 30);
        let ratios = [volume(&particles, 0) / rest, volume(&particles, second) / rest];
        assert!((ratios[0] - 1.5).abs() < 0.02 && (ratios[1] - 1.2).abs() < 0.02, "{name}: {ratios:?}");
    }
}

#[test]
fn rigid_volumes_and_forms_without_room_are_refused() {
    let refused = |mut solver: Boxed<f64>, body: Body| {
        let (model, _) = Model::build(&[&body]).expect("sound");
        solver.prepare(&model).expect_err("refused").to_string()
    };
    let rigid = ball(1.5, 0.0).with_compliance(Role::Volume, 0.0);
    assert!(refused(newton(), rigid).contains("balloon 0"));
    for form in [SchurForm::Accurate, SchurForm::Velocity] {
        let schur = XpbdOn::new(XpbdOptions { substeps: 1, iterations: 1 }).with_form(form);
        assert!(refused(f64::schur(schur), ball(1.5, 0.0)).contains("balloon 0"));
    }
}
