//! Bending models on whole meshes: rest shapes, rigid motion, and how the models agree.

#[path = "../../tests/common/mod.rs"]
mod common;

use common::Random;
use pliant_core::body::{Bending, Body, Role, Table};
use pliant_core::constraint::Constraint;
use pliant_core::energies::CubicShell;
use pliant_core::energy::Energy;
use pliant_core::error::BuildError;
use pliant_core::kinds::{Dihedral, IsometricBending};
use pliant_core::mesh::{ClothGrid, Diagonals, TriMesh, icosphere};
use pliant_core::vec3::Vec3;

type Points = Vec<Vec3<f64>>;

/// Energy and gradient of every bending row of a body, at any positions.
fn bend(body: &Body, x: &Points) -> (f64, Points) {
    let mut sum = (0.0, vec![Vec3::zero(); x.len()]);
    let tables = body.tables();
    add::<Dihedral, 4, 2, 30>(&tables.dihedral, x, &mut sum);
    add::<IsometricBending, 4, 5, 30>(&tables.isometric, x, &mut sum);
    add::<CubicShell, 4, 12, 30>(&tables.cubic_shell, x, &mut sum);
    sum
}

fn add<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(
    table: &Table<N, P>,
    x: &Points,
    sum: &mut (f64, Points),
) {
    for (row, ids) in table.ids.iter().enumerate() {
        let at = ids.map(|p| x[p as usize]);
        let k = 1.0 / table.compliance[row];
        sum.0 += k * E::value(&table.parameters[row], &at);
        for (g, &p) in E::gradient(&table.parameters[row], &at).iter().zip(ids) {
            sum.1[p as usize] = sum.1[p as usize] + *g * k;
        }
    }
}

fn largest(forces: &Points) -> f64 {
    forces.iter().map(|f| f.length()).fold(0.0, f64::max)
}

fn points(body: &Body) -> Points {
    body.positions().iter().map(|&p| p.into()).collect()
}

/// A quarter of a cylinder of radius 0.5, and of a sphere; triangles of every shape.
fn curved() -> [(&'static str, TriMesh); 3] {
    let grid = ClothGrid::new(13, 9, 0.8, 0.6).diagonals(Diagonals::Alternating).build().expect("a grid").mesh;
    let cylinder = grid.transformed(|p| [0.5 * (2.0 * p.x).sin(), 0.5 * (2.0 * p.x).cos(), p.z].into());
    let sphere = grid.transformed(|p| {
        let (u, v) = (2.0 * p.x - 0.8, 2.0 * p.z - 0.6);
        [0.5 * u.sin() * v.cos(), 0.5 * u.cos() * v.cos(), 0.5 * v.sin()].into()
    });
    let ball = icosphere(0.5, 2);
    [
        ("cylinder patch", cylinder.expect("a cylinder")),
        ("sphere patch", sphere.expect("a sphere")),
        ("ball", ball.expect("a ball")),
    ]
}

const CURVED: [Bending; 3] = [Bending::Dihedral, Bending::Cotangent, Bending::CubicShell];

fn body(mesh: &TriMesh, bending: Bending, stiffness: f64) -> Body {
    Body::surface(mesh, bending).expect("a surface").with_compliance(Role::Bend, 1.0 / stiffness)
}

fn turned(x: &Points) -> Points {
    // Rodrigues about (1, 2, 3)/√14 by 1.1 rad, and a shift.
    let axis = Vec3::new(1.0, 2.0, 3.0) * (1.0 / 14.0_f64.sqrt());
    let (sin, cos) = 1.1_f64.sin_cos();
    let turn = |p: Vec3<f64>| p * cos + axis.cross(p) * sin + axis * (axis.dot(p) * (1.0 - cos));
    x.iter().map(|&p| turn(p) + Vec3::new(3.0, -2.0, 5.0)).collect()
}

#[test]
fn curved_rest_shapes_are_at_rest() {
    for (name, mesh) in curved() {
        // What flattening weighs on the same mesh: the scale of "nothing".
        let flatten = body(&mesh, Bending::Flatten, 1.0);
        let (energy, force) = bend(&flatten, &points(&flatten));
        let scale = largest(&force);
        assert!(energy > 0.5 && scale > 1.0, "{name}: {energy} {scale}");
        for bending in CURVED {
            let body = body(&mesh, bending, 1.0);
            for x in [points(&body), turned(&points(&body))] {
                let (rest_energy, rest_force) = bend(&body, &x);
                let pull = largest(&rest_force);
                assert!(rest_energy.abs() < 1e-12 * energy, "{name}, {bending:?}: E = {rest_energy} of {energy}");
                assert!(pull < 1e-11 * scale, "{name}, {bending:?}: force {pull} of {scale}");
            }
        }
    }
}

#[test]
fn rigid_motion_changes_nothing() {
    let mut random = Random::new(3);
    for (name, mesh) in curved() {
        for bending in CURVED.into_iter().chain([Bending::Flatten]) {
            let body = body(&mesh, bending, 1.0);
            let x: Points = points(&body).iter().map(|&p| p + Vec3::from(random.point(0.01))).collect();
            let ((energy, force), (moved, _)) = (bend(&body, &x), bend(&body, &turned(&x)));
            assert!((energy - moved).abs() < 1e-11 * energy.abs(), "{name}, {bending:?}: {energy} moved to {moved}");
            let size = largest(&force);
            let net = force.iter().fold(Vec3::zero(), |sum, f| sum + *f).length();
            let torque = force.iter().zip(&x).fold(Vec3::zero(), |sum, (f, x)| sum + x.cross(*f)).length();
            assert!(net < 1e-10 * size && torque < 1e-10 * size, "{name}, {bending:?}: {net} {torque} of {size}");
        }
    }
}

/// On a flat rest shape all models are quadratic bending to second order: their difference falls with the fourth power of the
/// amplitude where quadratic bending falls with the second.
#[test]
fn models_agree_to_second_order_at_flat_rest() {
    let mesh = ClothGrid::new(9, 7, 0.8, 0.6).diagonals(Diagonals::Alternating).build().expect("a grid").mesh;
    let energy = |bending, amplitude: f64| {
        let body = body(&mesh, bending, 2.0);
        let lift = |p: &Vec3<f64>| amplitude * ((7.0 * p.x).sin() + (5.0 * p.z + 9.0 * p.x).cos());
        bend(&body, &points(&body).iter().map(|p| Vec3::new(p.x, lift(p), p.z)).collect()).0
    };
    for bending in CURVED {
        let off = |amplitude: f64| (energy(bending, amplitude) / energy(Bending::Isometric, amplitude) - 1.0).abs();
        assert!(off(1e-3) < 1e-3, "{bending:?}: {}", off(1e-3));
        assert!(off(1e-4) < 1.1e-2 * off(1e-3) + 1e-12, "{bending:?}: {} after {}", off(1e-4), off(1e-3));
    }
    assert_eq!(energy(Bending::Flatten, 1e-2), energy(Bending::Isometric, 1e-2));
}

/// Around a curved rest shape cubic shells and the dihedral energy agree to second order while edges keep their lengths: a
/// single hinge that only folds.
#[test]
fn cubic_shells_fold_like_the_angle() {
    let at = |theta: f64| {
        let fold = [0.6 * theta.cos(), 0.6 * theta.sin(), 0.7];
        [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [-0.8, 0.0, 0.4], fold].map(Vec3::from)
    };
    for rest in [0.0, 0.3, -1.0, 2.5] {
        let x = at(rest).map(<[f64; 3]>::from);
        let (cubic, angle, s) = (CubicShell::rest(x), Dihedral::rest(x), Dihedral::stiffness(x));
        for turn in [1e-3, -1e-2, 0.1, -0.5] {
            let (a, b) = (CubicShell::value(&cubic, &at(rest + turn)), s * Dihedral::value(&angle, &at(rest + turn)));
            assert!((a / b - 1.0).abs() < 0.09 * turn * turn + 1e-7, "{rest} + {turn}: {a} against {b}");
            // Exactly s² (1 − cos(θ − θ̄)).
            assert!((a - s * (1.0 - turn.cos())).abs() < 1e-14 * s.max(1.0), "{rest} + {turn}");
        }
    }
}

#[test]
fn quadratic_bending_of_a_curved_shape_is_refused_or_chosen() {
    let [(_, mesh), ..] = curved();
    let error = Body::surface(&mesh, Bending::Isometric).expect_err("a curved shape");
    let BuildError::CurvedRest { hinge, edge, angle } = error.clone() else { panic!("{error}") };
    assert_eq!(mesh.topology().expect("manifold").hinges[hinge][..2], edge);
    assert!(angle.abs() > 0.05);
    for cure in ["Cotangent", "CubicShell", "Dihedral", "Flatten"] {
        assert!(error.to_string().contains(cure), "{error}");
    }
    assert!(Body::surface(&mesh, Bending::Flatten).is_ok());
}

/// The reference table: quadratic bending and the angle with their gradients, and nothing at the rows' rest shapes.
#[test]
fn reference_rows() {
    let table = common::Table::parse("bending_ref.csv", include_str!("../../tests/data/bending_ref.csv"));
    let mut count = 0;
    for row in table.rows() {
        let (rest, x, k) = (row.vectors::<4>("R"), row.vectors::<4>("X").map(Vec3::from), row.number("k"));
        let close = |what: &str, found: &[Vec3<f64>; 4], wanted: [[f64; 3]; 4]| {
            let size = wanted.iter().fold(0.0_f64, |m, w| m.max(Vec3::from(*w).length()));
            let off = (0..4).map(|i| (found[i] - Vec3::from(wanted[i])).length()).fold(0.0, f64::max);
            assert!(off <= 1e-11 * size.max(1e-3 * k), "row {}: {what} off by {off} of {size}", row.text("id"));
        };
        let p = IsometricBending::rest(rest);
        let (energy, wanted) = (k * IsometricBending::value(&p, &x), row.number("E"));
        assert!((energy - wanted).abs() <= 1e-12 * wanted.max(1e-3 * k), "row {}: {energy}, {wanted}", row.text("id"));
        close("gradient", &IsometricBending::gradient(&p, &x).map(|g| g * k), row.vectors::<4>("g"));
        let (theta, gradient) = Dihedral::eval(&[1.0, 0.0], &x);
        assert!((theta - row.number("theta")).abs() < 1e-11, "row {}: θ = {theta}", row.text("id"));
        let wanted = row.vectors::<4>("dth");
        let steepest = wanted.iter().map(|w| Vec3::from(*w).length()).fold(0.0, f64::max);
        assert!((0..4).all(|i| (gradient[i] - Vec3::from(wanted[i])).length() < 1e-11 * steepest));

        let at_rest = rest.map(Vec3::from);
        let scale = 1.0 + p[..4].iter().map(|q| q * q).sum::<f64>();
        for (energy, gradient) in [
            (
                CubicShell::value(&CubicShell::rest(rest), &at_rest),
                CubicShell::gradient(&CubicShell::rest(rest), &at_rest),
            ),
            (
                IsometricBending::value(&IsometricBending::curved_rest(rest), &at_rest),
                IsometricBending::gradient(&IsometricBending::curved_rest(rest), &at_rest),
            ),
            (Dihedral::value(&Dihedral::rest(rest), &at_rest), Dihedral::gradient(&Dihedral::rest(rest), &at_rest)),
        ] {
            let pull = gradient.iter().map(|g| g.length()).fold(0.0, f64::max);
            assert!(energy.abs() < 1e-11 * scale && pull < 1e-11 * scale, "row {}: {energy} {pull}", row.text("id"));
        }
        count += 1;
    }
    assert_eq!(count, 180);
}
