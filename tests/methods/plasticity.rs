//! Plastic flow under every method: its copies of rest shapes follow, and what was bent, stretched or dented stays so.

use pliant::core::body::{Bending, Body, Elasticity, Law, Role};
use pliant::core::columns::Particles;
use pliant::core::kinds::Dihedral;
use pliant::core::mesh::{TriMesh, shuffled_sheet, tet_box};
use pliant::core::model::Model;
use pliant::core::plasticity::Plasticity;
use pliant::{
    Acceleration, Iteration, Newton, NewtonOptions, Pbd, PbdOptions, Projective, ProjectiveOptions, StrainLimited,
    StrainLimits, Symplectic, XpbdOn, XpbdOptions,
};
use pliant_harness::instances::{self, Instances};

use crate::simd;

type Boxed = instances::Boxed<f64>;
type Method = (&'static str, fn() -> Boxed);

const DT: f64 = 1.0 / 60.0;

fn newton() -> Boxed {
    f64::newton(Newton::new(NewtonOptions { tolerance: 1e-9, ..NewtonOptions::default() }))
}

/// Every method that carries constraints, made anew.
fn methods() -> Vec<Method> {
    fn pbd(iteration: Iteration) -> Boxed {
        f64::pbd(Pbd::new(PbdOptions { substeps: 4, iterations: 2, stiffness: 0.5, iteration }))
    }
    fn projective() -> Boxed {
        let acceleration = Acceleration::Lbfgs(5);
        f64::projective(Projective::new(ProjectiveOptions {
            iterations: 20,
            acceleration,
            ..ProjectiveOptions::default()
        }))
    }
    fn xpbd() -> Boxed {
        f64::xpbd(XpbdOn::with_substeps(8))
    }
    vec![
        ("xpbd", xpbd),
        ("schur", || f64::schur(XpbdOn::new(XpbdOptions { substeps: 2, iterations: 1 }))),
        ("pbd", || pbd(Iteration::GaussSeidel)),
        ("jacobi", || pbd(Iteration::Jacobi { relaxation: 1.0 })),
        ("symplectic", || f64::symplectic(Symplectic::new(40))),
        ("newton", newton),
        ("projective", projective),
        ("strain limits", || f64::limited(StrainLimited::new(xpbd(), StrainLimits::default()))),
    ]
}

/// Steps and flows.
fn advance(solver: &mut Boxed, model: &mut Model<f64>, particles: &mut Particles<f64>) -> bool {
    solver.step(model, particles, DT, &simd()).unwrap();
    model.flow(particles, DT)
}

#[test]
fn every_method_takes_over_what_flowed() {
    let law = Plasticity { yields_at: 0.005, creep: 5.0, bound: 0.5 };
    let sheet = Body::surface(&shuffled_sheet(6, 1.0, 2).unwrap(), Bending::Dihedral).unwrap().with_mass(0.5);
    let sheet = sheet.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Bend, 1e-1).pinned([0, 5]);
    let sheet = sheet.with_plasticity(Role::Stretch, law).with_plasticity(Role::Bend, law);
    let mesh = tet_box([3, 1, 1], [0.6, 0.2, 0.2], Default::default()).unwrap();
    let blocks = [Law::Corotated, Law::NeoHookean].map(|material| {
        let block = Body::elastic_solid(&mesh, Elasticity { law: material, young: 2e4, poisson: 0.3 }).unwrap();
        block.pinned([0, 1, 2, 3]).with_plasticity(Role::Elastic, law)
    });
    // PBD carries them too, but rigidly: without strain nothing flows.
    let carries_tets = |name| !matches!(name, "pbd" | "schur" | "jacobi" | "symplectic" | "strain limits");
    let cases = methods().into_iter().flat_map(|method| {
        let blocks = blocks.iter().filter(move |_| carries_tets(method.0));
        std::iter::once(&sheet).chain(blocks).map(move |body| (method, body))
    });
    for ((name, method), body) in cases {
        let (mut model, mut particles) = Model::<f64>::build(&[body]).unwrap();
        let mut solver = method();
        solver.prepare(&model).unwrap();
        let mut flowed = 0;
        for _ in 0..10 {
            flowed += usize::from(advance(&mut solver, &mut model, &mut particles));
        }
        assert!(flowed >= 5, "{name}: only {flowed} steps flowed");
        // One that was prepared just now has copied every rest shape.
        let mut fresh = method();
        fresh.prepare(&model).unwrap();
        let mut again = particles.clone();
        solver.step(&model, &mut particles, DT, &simd()).unwrap();
        fresh.step(&model, &mut again, DT, &simd()).unwrap();
        assert_eq!(particles.state_hash(), again.state_hash(), "{name}");
    }
}

#[test]
fn without_creep_the_bits_are_those_of_an_elastic_body() {
    let law = Plasticity { yields_at: 0.0, creep: 0.0, bound: 0.5 };
    let sheet = Body::surface(&shuffled_sheet(5, 1.0, 2).unwrap(), Bending::Dihedral).unwrap().with_mass(0.5);
    let sheet = sheet.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Bend, 1e-1).pinned([0]);
    let plastic = sheet.clone().with_plasticity(Role::Stretch, law).with_plasticity(Role::Bend, law);
    for (name, method) in methods() {
        let hashes = [&sheet, &plastic].map(|body| {
            let (mut model, mut particles) = Model::<f64>::build(&[body]).unwrap();
            let mut solver = method();
            solver.prepare(&model).unwrap();
            for _ in 0..5 {
                assert!(!advance(&mut solver, &mut model, &mut particles));
            }
            particles.state_hash()
        });
        assert_eq!(hashes[0], hashes[1], "{name}");
    }
}

/// Two triangles with a common edge.
fn hinge() -> Body {
    let corners = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.2], [-0.2, 0.0, 0.1], [0.2, 0.0, 0.1]];
    let mesh = TriMesh::new(corners, [[0, 1, 2], [1, 0, 3]]).unwrap();
    let body = Body::surface(&mesh, Bending::Dihedral).unwrap();
    body.with_compliance(Role::Stretch, 1e-5).with_compliance(Role::Bend, 1e-2)
}

fn angle(particles: &Particles<f64>) -> f64 {
    let [cos, sin] = Dihedral::rest([0, 1, 2, 3].map(|p| particles.x.get(p)));
    sin.atan2(cos)
}

#[test]
fn a_bent_hinge_keeps_its_angle() {
    let law = Plasticity { yields_at: 0.2, creep: 8.0, bound: 3.0 };
    for (plastic, low, high) in [(true, 0.7, 0.85), (false, -0.02, 0.02)] {
        let body = if plastic { hinge().with_plasticity(Role::Bend, law) } else { hinge() };
        // Held at one radian for a second, then let go.
        let bent =
            body.clone().posed(|p| if p[0] > 0.1 { [0.2 * 1.0_f64.cos(), -0.2 * 1.0_f64.sin(), p[2]] } else { p });
        let (mut held, particles) = Model::<f64>::build(&[&bent.clone().pinned([0, 1, 2, 3])]).unwrap();
        let mut solver = f64::xpbd(XpbdOn::with_substeps(20));
        solver.prepare(&held).unwrap();
        held.environment.gravity = [0.0; 3];
        let mut particles = particles;
        for _ in 0..60 {
            advance(&mut solver, &mut held, &mut particles);
        }
        let start = angle(&particles);
        assert!((start.abs() - 1.0).abs() < 1e-9);
        let (mut free, _) = Model::<f64>::build(&[&bent.pinned([0, 1, 2])]).unwrap();
        free.inherit(0, &held, 0);
        free.environment.gravity = [0.0; 3];
        free.environment.damping = 8.0;
        solver.prepare(&free).unwrap();
        for _ in 0..400 {
            advance(&mut solver, &mut free, &mut particles);
        }
        let kept = angle(&particles) * start.signum();
        assert!((low..high).contains(&kept), "plastic {plastic}: {kept} rad are left of one");
    }
}

#[test]
fn a_dented_block_keeps_its_dent() {
    for (material, plastic) in [(Law::Corotated, true), (Law::NeoHookean, true), (Law::Corotated, false)] {
        let mesh = tet_box([2, 2, 2], [0.2, 0.2, 0.2], Default::default()).unwrap();
        let clay = Elasticity { law: material, young: 2e4, poisson: 0.3 };
        let body = Body::elastic_solid(&mesh, clay).unwrap();
        let law = Plasticity { yields_at: 0.02, creep: 10.0, bound: 1.0 };
        let body = if plastic { body.with_plasticity(Role::Elastic, law) } else { body };
        let count = body.particle_count() as u32;
        let y = |p: u32| body.positions()[p as usize][1];
        let (low, top) = ((0..count).map(y).fold(f64::MAX, f64::min), (0..count).map(y).fold(f64::MIN, f64::max));
        let floor: Vec<u32> = (0..count).filter(|&p| y(p) < low + 1e-9).collect();
        let lid: Vec<u32> = (0..count).filter(|&p| y(p) > top - 1e-9).collect();
        // Pressed down by a quarter of its height within half a second, held, and let go.
        let pressed = body.clone().pinned(floor.iter().chain(&lid).copied());
        let (mut model, mut particles) = Model::<f64>::build(&[&pressed]).unwrap();
        model.environment.gravity = [0.0; 3];
        let mut solver = newton();
        solver.prepare(&model).unwrap();
        for step in 1..=60 {
            for &p in &lid {
                let [x, y, z] = body.positions()[p as usize];
                model.move_pin(p, [x, y - 0.05 * f64::from(step.min(30)) / 30.0, z]).unwrap();
            }
            advance(&mut solver, &mut model, &mut particles);
        }
        let (mut free, _) = Model::<f64>::build(&[&body.clone().pinned(floor)]).unwrap();
        free.inherit(0, &model, 0);
        free.environment.gravity = [0.0; 3];
        free.environment.damping = 5.0;
        solver.prepare(&free).unwrap();
        for _ in 0..120 {
            advance(&mut solver, &mut free, &mut particles);
        }
        let height = |p: &u32| top - particles.x.get(*p as usize)[1];
        let dent = lid.iter().map(height).sum::<f64>() / lid.len() as f64;
        if plastic {
            assert!(dent > 0.02 && dent < 0.05, "{material:?}: {dent} m are left of 0.05");
        } else {
            assert!(dent.abs() < 1e-3, "an elastic block is back: {dent}");
        }
    }
}
