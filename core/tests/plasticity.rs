//! Plastic flow of elements that are held still: exactly the exponential, whatever the step; nothing below the yield, nothing
//! beyond the bound; and what is asked of kinds that cannot.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use pliant_core::body::{Bending, Body, Elasticity, Law, Role};
use pliant_core::columns::Particles;
use pliant_core::error::BuildError;
use pliant_core::lane::Real;
use pliant_core::mesh::{TetMesh, TriMesh};
use pliant_core::model::Model;
use pliant_core::plasticity::Plasticity;
use pliant_core::snapshot::Snapshot;

const LAW: Plasticity = Plasticity { yields_at: 0.1, creep: 3.0, bound: 5.0 };

fn link(law: Plasticity, length: f64) -> Body {
    let mut body = Body::particles([[0.0; 3], [1.0, 0.0, 0.0]]).with_plasticity(Role::Stretch, law);
    body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [1.0]);
    body.posed(|p| p.map(|c| c * length))
}

/// Two triangles that are flat at rest, one of them folded by an angle.
fn hinge(law: Plasticity, angle: f64) -> Body {
    let corners = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.5, 0.0], [1.0, 0.5, 0.0]];
    let mesh = TriMesh::new(corners, [[0, 1, 2], [1, 0, 3]]).unwrap();
    let body = Body::surface(&mesh, Bending::Dihedral).unwrap().with_plasticity(Role::Bend, law);
    body.posed(|p| if p[0] > 0.5 { [angle.cos(), 0.5, angle.sin()] } else { p })
}

/// A tetrahedron, deformed by a matrix.
fn tet(law: Plasticity, material: Law, f: [[f64; 3]; 3]) -> Body {
    let corners = [[0.1, 0.0, 0.0], [1.0, 0.1, 0.0], [0.0, 1.0, 0.2], [0.0, 0.3, 1.0]];
    let mesh = TetMesh::new(corners, [[0, 1, 2, 3]]).unwrap();
    let elasticity = Elasticity { law: material, young: 1e4, poisson: 0.3 };
    let body = Body::elastic_solid(&mesh, elasticity).unwrap().with_plasticity(Role::Elastic, law);
    body.posed(|p| [0, 1, 2].map(|i| (0..3).map(|j| f[i][j] * p[j]).sum()))
}

/// Holds a body still for a second in so many steps.
fn hold<S: Real>(body: &Body, steps: usize) -> (Model<S>, Particles<S>) {
    let (mut model, particles) = Model::<S>::build(&[body]).unwrap();
    for _ in 0..steps {
        model.flow(&particles, S::from_f64(1.0 / steps as f64));
    }
    (model, particles)
}

fn rest_length<S: Real>(model: &Model<S>) -> f64 {
    model.constraints().distance.parameters()[0][0].to_f64()
}

fn rest_angle<S: Real>(model: &Model<S>) -> f64 {
    let [cos, sin] = model.constraints().dihedral.parameters();
    sin[0].to_f64().atan2(cos[0].to_f64())
}

/// σ of F = Ds D⁻¹ by the eigenvalues of FᵀF: independent of the code under test.
fn stretches(model: &Model<f64>, particles: &Particles<f64>, neo: bool) -> [f64; 3] {
    let elastic = &model.constraints().elastic;
    let p = if neo { elastic.neo_hookean_tet.parameters() } else { elastic.corotated_tet.parameters() };
    let x: Vec<[f64; 3]> = particles.x.iter().collect();
    let edge = |k: usize, i: usize| x[k + 1][i] - x[0][i];
    let f = |i: usize, j: usize| (0..3).map(|k| edge(k, i) * p[3 * j + k][0]).sum::<f64>();
    let c = |i: usize, j: usize| (0..3).map(|k| f(k, i) * f(k, j)).sum::<f64>();
    // Eigenvalues of a symmetric matrix in closed form.
    let mean = (c(0, 0) + c(1, 1) + c(2, 2)) / 3.0;
    let b = |i: usize, j: usize| c(i, j) - if i == j { mean } else { 0.0 };
    let size = ((0..9).map(|k| b(k / 3, k % 3).powi(2)).sum::<f64>() / 6.0).sqrt();
    if size < 1e-14 {
        return [mean.sqrt(); 3];
    }
    let det = b(0, 0) * (b(1, 1) * b(2, 2) - b(1, 2) * b(2, 1)) - b(0, 1) * (b(1, 0) * b(2, 2) - b(1, 2) * b(2, 0))
        + b(0, 2) * (b(1, 0) * b(2, 1) - b(1, 1) * b(2, 0));
    let phi = (det / (2.0 * size.powi(3))).clamp(-1.0, 1.0).acos() / 3.0;
    [0.0, 2.0, 4.0].map(|k: f64| (mean + 2.0 * size * (phi + k * core::f64::consts::PI / 3.0).cos()).sqrt())
}

fn shear_strain(sigma: [f64; 3]) -> f64 {
    let logs = sigma.map(f64::ln);
    let mean = logs.iter().sum::<f64>() / 3.0;
    logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>().sqrt()
}

const SHEAR: [[f64; 3]; 3] = [[1.3, 0.4, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, 1.1]];

#[test]
fn a_link_held_beyond_its_yield_flows_by_the_exponential_whatever_the_step() {
    for length in [1.5, 0.6] {
        let elastic = if length > 1.0 { length / 1.1 } else { length / 0.9 };
        let exact = elastic + (1.0 - elastic) * (-3.0_f64).exp();
        for steps in [1, 7, 60, 1000] {
            let double = rest_length(&hold::<f64>(&link(LAW, length), steps).0);
            assert!((double - exact).abs() < 1e-13, "{steps} steps to {length}: {double}, not {exact}");
            let single = rest_length(&hold::<f32>(&link(LAW, length), steps).0);
            assert!((single - exact).abs() < 1e-7, "{steps} single steps to {length}: {single}, not {exact}");
        }
    }
}

#[test]
fn a_hinge_held_beyond_its_yield_flows_by_the_exponential_whatever_the_step() {
    for angle in [0.9, -0.7] {
        let exact = (f64::abs(angle) - 0.1) * (1.0 - (-3.0_f64).exp());
        for steps in [1, 60, 1000] {
            let flowed = rest_angle(&hold::<f64>(&hinge(LAW, angle), steps).0);
            assert!((flowed.abs() - exact).abs() < 1e-12, "{steps} steps: {flowed}, not {exact}");
        }
    }
    let one_way = rest_angle(&hold::<f64>(&hinge(LAW, 0.9), 1).0);
    assert!(one_way * rest_angle(&hold::<f64>(&hinge(LAW, -0.9), 1).0) < 0.0, "both ways");
}

#[test]
fn a_tetrahedron_held_beyond_its_yield_flows_by_the_exponential_and_keeps_its_volume() {
    for (neo, material) in [(false, Law::Corotated), (true, Law::NeoHookean)] {
        let body = tet(LAW, material, SHEAR);
        let (model, particles) = Model::<f64>::build(&[&body]).unwrap();
        let before = stretches(&model, &particles, neo);
        let exact = 0.1 + (shear_strain(before) - 0.1) * (-3.0_f64).exp();
        for steps in [1, 60, 1000] {
            let (model, particles) = hold::<f64>(&body, steps);
            let after = stretches(&model, &particles, neo);
            assert!((shear_strain(after) - exact).abs() < 1e-9, "{steps}: {}, not {exact}", shear_strain(after));
            let [was, is] = [before, after].map(|sigma| sigma.iter().product::<f64>());
            assert!((is / was - 1.0).abs() < 1e-12, "{steps}: volume {was} became {is}");
        }
    }
    // Pressure alone never flows.
    let squeezed =
        tet(Plasticity { yields_at: 0.0, ..LAW }, Law::Corotated, [[0.5, 0., 0.], [0., 0.5, 0.], [0., 0., 0.5]]);
    let (model, particles) = hold::<f64>(&squeezed, 60);
    assert!(stretches(&model, &particles, false).iter().all(|s| (s - 0.5).abs() < 1e-12));
}

#[test]
fn nothing_flows_below_the_yield_and_nothing_beyond_the_bound() {
    let stiff = Plasticity { yields_at: 0.6, ..LAW };
    for body in [link(stiff, 1.5), hinge(stiff, 0.5), tet(stiff, Law::Corotated, SHEAR)] {
        let (mut model, particles) = Model::<f32>::build(&[&body]).unwrap();
        let before = (model.rest_revision(), model.constraints().distance.parameters().clone());
        assert!(!model.flow(&particles, 1.0));
        assert_eq!((model.rest_revision(), model.constraints().distance.parameters().clone()), before);
    }
    let tight = Plasticity { bound: 0.25, creep: 100.0, ..LAW };
    for (length, rest) in [(3.0, 1.25), (0.2, 1.0 / 1.25)] {
        for steps in [1, 50] {
            assert_eq!(rest_length(&hold::<f64>(&link(tight, length), steps).0), rest);
        }
    }
    for angle in [1.5, -1.5] {
        let flowed = rest_angle(&hold::<f64>(&hinge(tight, angle), 50).0);
        assert!((flowed.abs() - 0.25).abs() < 1e-15, "{flowed}");
    }
    // What is elastic and what flowed add up for one shear: F = F_elastic F_plastic.
    let stretched = [[2.0, 0.0, 0.0], [0.0, 0.5_f64.sqrt(), 0.0], [0.0, 0.0, 0.5_f64.sqrt()]];
    let body = tet(tight, Law::NeoHookean, stretched);
    let (model, particles) = Model::<f64>::build(&[&body]).unwrap();
    let all = shear_strain(stretches(&model, &particles, true));
    let (model, particles) = hold::<f64>(&body, 50);
    let elastic = shear_strain(stretches(&model, &particles, true));
    assert!((all - elastic - 0.25).abs() < 1e-12, "{all} − {elastic}");
    // At the bound nothing changes any more: solvers need not copy anything.
    let (mut model, particles) = hold::<f64>(&link(tight, 3.0), 3);
    assert!(!model.flow(&particles, 0.1));
}

#[test]
fn flat_and_inverted_tetrahedra_and_links_of_no_length_stay_finite() {
    let soft = Plasticity { yields_at: 0.0, ..LAW };
    let flat = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]];
    let inverted = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]];
    for f in [flat, inverted, [[0.0; 3]; 3]] {
        let body = tet(soft, Law::NeoHookean, f);
        let start = Model::<f32>::build(&[&body]).unwrap().0;
        let (model, _) = hold::<f32>(&body, 10);
        let of = |model: &Model<f32>| model.constraints().elastic.neo_hookean_tet.parameters().clone();
        assert_eq!(of(&model), of(&start), "no logarithm, no flow");
    }
    let (model, _) = hold::<f32>(&link(soft, 0.0), 10);
    assert!(rest_length(&model) > 0.0);
    let mut point = Body::particles([[0.0; 3], [0.5, 0.0, 0.0]]).with_plasticity(Role::Stretch, soft);
    point.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [0.0]);
    assert_eq!(rest_length(&hold::<f32>(&point, 10).0), 0.0);
}

#[test]
fn what_flowed_is_in_snapshots_and_not_in_the_fingerprint() {
    let bodies = [link(LAW, 1.5), hinge(LAW, 0.9), tet(LAW, Law::Corotated, SHEAR)];
    let bodies: Vec<&Body> = bodies.iter().collect();
    let (mut model, particles) = Model::<f32>::build(&bodies).unwrap();
    model.flow(&particles, 0.1);
    let snapshot = Snapshot::new(model.fingerprint(), |to| model.remember(to));
    let (mut other, _) = Model::<f32>::build(&bodies).unwrap();
    other.recall(&mut snapshot.read(other.fingerprint()).unwrap()).unwrap();
    for model in [&mut model, &mut other] {
        model.flow(&particles, 0.1);
    }
    let all = |model: &Model<f32>| {
        let constraints = model.constraints();
        let tets = constraints.elastic.corotated_tet.parameters();
        let columns = constraints.distance.parameters().iter().chain(constraints.dihedral.parameters()).chain(tets);
        columns.flatten().map(|value| value.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(all(&model), all(&other));
    assert_ne!(all(&model), all(&Model::build(&bodies).unwrap().0));
}

#[test]
fn numbers_and_kinds_that_cannot_flow_are_refused() {
    let refused = |body: &Body| Model::<f32>::build(&[body]).unwrap_err();
    for (name, law) in [
        ("plasticity.yields_at", Plasticity { yields_at: -0.1, ..LAW }),
        ("plasticity.yields_at", Plasticity { yields_at: f64::NAN, ..LAW }),
        ("plasticity.creep", Plasticity { creep: -1.0, ..LAW }),
        ("plasticity.creep", Plasticity { creep: f64::INFINITY, ..LAW }),
        ("plasticity.bound", Plasticity { bound: -1.0, ..LAW }),
        ("plasticity.bound", Plasticity { bound: f64::NAN, ..LAW }),
    ] {
        match refused(&link(law, 1.0)) {
            BuildError::BadOption { name: found, .. } => assert_eq!(found, name),
            other => panic!("{other}"),
        }
    }
    let corners = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.5, 0.0], [1.0, 0.5, 0.0]];
    let mesh = TriMesh::new(corners, [[0, 1, 2], [1, 0, 3]]).unwrap();
    let isometric = Body::surface(&mesh, Bending::Isometric).unwrap().with_plasticity(Role::Bend, LAW);
    assert!(matches!(refused(&isometric), BuildError::Unsupported { what: "isometric bending", row: 0, .. }));
    let nothing = Body::surface(&mesh, Bending::None).unwrap().with_plasticity(Role::Bend, LAW);
    assert!(matches!(refused(&nothing), BuildError::Unsupported { what: "plasticity of body", .. }));
}
