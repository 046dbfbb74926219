//! Every backend and every thread count gives the same bits, and a step allocates nothing after the first.

use pliant::backends::AnyBackend;
use pliant::core::body::StretchRange;
use pliant::core::kinds::Orthotropic;
use pliant::prelude::*;
use pliant::{
    Acceleration, ColliderForm, Elasticity, Law, Newton, NewtonOptions, Projective, ProjectiveOptions, SchurForm,
};
use pliant_harness::instances::{Boxed, Instances};

/// Cloth with every kind that is an energy.
fn cloth() -> Body {
    let mesh = ClothGrid::square(1.0, 13).build().expect("a grid").mesh;
    let body = Body::surface(&mesh, Bending::Isometric).expect("a flat mesh").with_mass(0.2).pinned([0, 12]);
    body.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Bend, 0.1).attached(160, [0.5, -0.2, 0.9], 1e-2)
}

/// A jelly of the given law.
fn jelly(law: Law) -> Body {
    let mesh = tet_box([4, 2, 2], [0.4, 0.2, 0.2], Split::Five).expect("a box");
    Body::elastic_solid(&mesh, Elasticity { law, young: 2e4, poisson: 0.3 }).expect("sound").pinned(0..3)
}

/// A sheet of elastic triangles.
fn sheet(law: Law) -> Body {
    let mesh = ClothGrid::square(0.5, 6).build().expect("a grid").mesh;
    let elasticity = Elasticity { law, young: 1e5, poisson: 0.25 };
    let body = Body::elastic_sheet(&mesh, elasticity, 1e-3, Bending::Dihedral).expect("sound");
    body.with_compliance(Role::Bend, 10.0).pinned([0, 5])
}

/// A curved sheet of woven triangles with soft limits, bent around its rest shape.
fn shell(bending: Bending) -> Body {
    let flat = ClothGrid::square(0.5, 6).build().expect("a grid").mesh;
    let mesh = flat.transformed(|p| [0.3 * (3.0 * p.x).sin(), 0.3 * (3.0 * p.x).cos(), p.z].into()).expect("a shell");
    let (cloth, warp) = (Orthotropic { young: [1e5, 5e4], poisson: 0.2, shear: 2e4 }, [0.0, 0.0, 1.0]);
    let body = Body::woven_sheet(&mesh, &cloth, 1e-3, warp, bending).expect("sound");
    let range = Some(StretchRange { lower: 0.999, upper: 1.001 });
    let body = body.with_stretch_limits(warp, range, range).expect("sound").with_compliance(Role::Stretch, 5e-4);
    body.with_compliance(Role::Bend, 10.0).pinned([0, 5])
}

/// A soft balloon that hangs by one particle.
fn balloon() -> Body {
    let body = Body::balloon(&icosphere(0.3, 2).expect("a sphere"), 1.5).expect("closed").with_mass(0.1).pinned([0]);
    let body = body.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Bend, 1e-2);
    body.with_compliance(Role::Volume, 1e-6)
}

/// A ball and a slab under the cloth.
fn colliders() -> [Collider; 2] {
    let ball = Collider::sphere(0.2).at([0.5, -0.21, 0.6]).with_friction(0.4);
    [ball, Collider::cuboid([2.0, 0.1, 2.0]).at([0.5, -0.5, 0.5]).with_friction(0.2).with_restitution(0.3)]
}

fn bits<S: Instances>(name: &str, mut solver: Boxed<S>, body: &Body, on: &AnyBackend<S>, steps: usize) -> Vec<u64> {
    let (mut model, mut particles) = Model::<S>::build(&[body]).expect("sound");
    if name.contains("colliders") {
        for collider in colliders() {
            model.colliders_mut().push(collider).expect("valid");
        }
    }
    model.environment.gravity = [0.0, -9.81, 0.0].map(S::from_f64);
    solver.prepare(&model).expect("energies");
    for step in 0..steps {
        let done = solver.step(&model, &mut particles, S::from_f64(1.0 / 60.0), on);
        done.unwrap_or_else(|error| panic!("{name} on {}, step {step}: {error}", on.name()));
    }
    let columns = particles.x.axes().into_iter().chain(particles.v.axes()).flatten();
    let forces = solver.forces(&model).into_iter().flat_map(|(_, values)| values);
    columns.copied().chain(forces).map(|v| v.bits()).collect()
}

fn everywhere<S: Instances>(name: &str, make: impl Fn() -> Boxed<S>, body: &Body, steps: usize) {
    let backend = |name, threads| AnyBackend::<S>::by_name(name, Some(threads)).expect("a backend of this build");
    let expected = bits(name, make(), body, &backend("scalar", 1), steps);
    for (kind, threads) in [
        ("simd", 1),
        ("simd-portable", 1),
        ("parallel", 1),
        ("parallel", 2),
        ("parallel", 3),
        ("parallel", 5),
        ("parallel", 8),
    ] {
        let found = bits(name, make(), body, &backend(kind, threads), steps);
        assert!(found == expected, "{name} on {kind} with {threads} threads");
    }
}

fn all<S: Instances>(steps: usize) {
    let newton = || S::newton(Newton::new(NewtonOptions { iterations: 4, ..NewtonOptions::default() }));
    everywhere::<S>("newton, cloth", newton, &cloth(), steps);
    everywhere::<S>("newton, jelly", newton, &jelly(Law::NeoHookean), steps / 2);
    everywhere::<S>("newton, balloon", newton, &balloon(), steps / 2);
    everywhere::<S>("newton, sheet", newton, &sheet(Law::Corotated), steps / 2);
    for bending in [Bending::CubicShell, Bending::Cotangent, Bending::Dihedral] {
        everywhere::<S>("newton, shell", newton, &shell(bending), steps / 2);
    }
    for acceleration in [Acceleration::None, Acceleration::Chebyshev, Acceleration::Anderson(4), Acceleration::Lbfgs(4)]
    {
        let options = ProjectiveOptions { iterations: 6, acceleration, ..ProjectiveOptions::default() };
        let make = || S::projective(Projective::new(options));
        everywhere::<S>("projective, cloth", make, &cloth(), steps);
        everywhere::<S>("projective, balloon", make, &balloon(), steps / 2);
        everywhere::<S>("projective, jelly", make, &jelly(Law::Corotated), steps / 2);
    }
    for form in [SchurForm::Position, SchurForm::Accurate, SchurForm::Velocity, SchurForm::Kkt] {
        let make = || S::schur(XpbdOn::new(XpbdOptions { substeps: 2, iterations: 2 }).with_form(form));
        everywhere::<S>("schur, cloth", make, &cloth(), steps / 2);
        if matches!(form, SchurForm::Position | SchurForm::Kkt) {
            everywhere::<S>("schur, balloon", make, &balloon(), steps / 2);
        }
    }
}

/// The same where colliders take part in the minimum.
fn among_colliders<S: Instances>() {
    let penalties = [
        Penalty::Buffered { stiffness: 1e3, buffer: 0.01 },
        Penalty::LogBarrier { strength: 1e-3, buffer: 0.01 },
        Penalty::Linear { stiffness: 1e3 },
    ];
    for penalty in penalties {
        let colliders = ColliderForm::Energy(penalty);
        let options = NewtonOptions { iterations: 4, colliders, ..NewtonOptions::default() };
        everywhere::<S>("newton, colliders", || S::newton(Newton::new(options)), &cloth(), 20);
    }
    for acceleration in [Acceleration::None, Acceleration::Lbfgs(4)] {
        let options = ProjectiveOptions { collider_weight: Some(10.0), acceleration, ..ProjectiveOptions::default() };
        everywhere::<S>("projective, colliders", || S::projective(Projective::new(options)), &cloth(), 20);
    }
}

#[test]
fn in_single_precision() {
    all::<f32>(20);
    among_colliders::<f32>();
}

#[test]
fn in_double_precision() {
    all::<f64>(20);
    among_colliders::<f64>();
}
