//! Every energy against central differences, rigid motion and hand-computed values; convex Hessians are convex.

#[path = "../../tests/common/mod.rs"]
mod common;
mod differences;

use common::Random;
use differences::{Points, slope};
use pliant_core::constraint::Constraint;
use pliant_core::energies::CubicShell;
use pliant_core::energies::elastic::{Corotated, ElasticTet, ElasticTriangle, Material, NeoHookean};
use pliant_core::energy::{Curvature, Energy};
use pliant_core::kinds::{
    Attachment, Dihedral, Distance, DistanceRange, IsometricBending, Orthotropic, StretchLimit, TetVolume, Tether,
    TriangleStrain,
};
use pliant_core::vec3::Vec3;

fn random_points<const N: usize>(random: &mut Random) -> Points<N> {
    std::array::from_fn(|_| random.point(1.0).into())
}

/// The whole 3N × 3N Hessian, by rows.
fn full<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(
    p: &[f64; P],
    x: &Points<N>,
    curvature: Curvature,
) -> Vec<Vec<f64>> {
    let columns = E::hessian(p, x, curvature);
    let mut h = vec![vec![0.0; 3 * N]; 3 * N];
    let pair = N == 2 && R == 3;
    let mut at = 0;
    for a in 0..N {
        for b in 0..=a {
            for c in 0..3 {
                let column: [f64; 3] = columns[if pair { c } else { at + c }].into();
                for r in 0..3 {
                    let value = if pair && a != b { -column[r] } else { column[r] };
                    h[3 * a + r][3 * b + c] = value;
                    h[3 * b + c][3 * a + r] = value;
                }
            }
            at += 3;
        }
    }
    assert!(pair || at == R, "{}: {R} columns do not hold the lower triangle", E::NAME);
    h
}

/// ∇E against differences of E, ∇²E against differences of ∇E (`exact`), and the convex Hessian against random directions.
fn check<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(
    random: &mut Random,
    p: &[f64; P],
    x: &Points<N>,
    exact: bool,
) {
    let grad = E::gradient(p, x);
    let h = full::<E, N, P, R>(p, x, Curvature::Exact);
    let size = h.iter().flatten().fold(1.0, |m: f64, v| m.max(v.abs()));
    for k in 0..N {
        for axis in 0..3 {
            let measured = slope(x, k, axis, |x| E::value(p, x));
            let found = <[f64; 3]>::from(grad[k])[axis];
            assert!((measured - found).abs() < 1e-7 * size, "{}: gradient {found}, measured {measured}", E::NAME);
            for row in (0..3 * N).filter(|_| exact) {
                let measured = slope(x, k, axis, |x| <[f64; 3]>::from(E::gradient(p, x)[row / 3])[row % 3]);
                let found = h[row][3 * k + axis];
                assert!(
                    (measured - found).abs() < 2e-7 * size,
                    "{}: Hessian ({row}, {}) {found}, measured {measured}",
                    E::NAME,
                    3 * k + axis
                );
            }
        }
    }
    let convex = full::<E, N, P, R>(p, x, Curvature::Convex);
    for _ in 0..20 {
        let d: Vec<f64> = (0..3 * N).map(|_| random.between(-1.0, 1.0)).collect();
        let form = |h: &[Vec<f64>]| -> f64 {
            (0..3 * N).map(|i| (0..3 * N).map(|j| d[i] * h[i][j] * d[j]).sum::<f64>()).sum()
        };
        assert!(form(&convex) > -1e-10 * size, "{}: not convex: {}", E::NAME, form(&convex));
    }
}

#[test]
fn pairs_and_single_particles() {
    let mut random = Random::new(11);
    for _ in 0..100 {
        let x = random_points::<2>(&mut random);
        if (x[0] - x[1]).length() < 0.2 {
            continue;
        }
        check::<Distance, 2, 1, 3>(&mut random, &[random_rest(&x, 0.4)], &x, true);
        check::<Distance, 2, 1, 3>(&mut random, &[random_rest(&x, 1.7)], &x, true);
        for parameters in [
            DistanceRange::tension_only(random_rest(&x, 0.7)),
            DistanceRange::soft_compression(random_rest(&x, 1.5), 0.2),
            DistanceRange::dead_zone((x[0] - x[1]).length(), 0.1),
        ] {
            check::<DistanceRange, 2, 3, 3>(&mut random, &parameters, &x, true);
        }
        let [a, b, c]: [f64; 3] = x[1].into();
        check::<Tether, 1, 4, 3>(&mut random, &[a, b, c, random_rest(&x, 0.5)], &[x[0]], true);
        check::<Tether, 1, 4, 3>(&mut random, &[a, b, c, random_rest(&x, 1.5)], &[x[0]], true);
        check::<Attachment, 1, 3, 3>(&mut random, &[a, b, c], &[x[0]], true);
    }
}

fn random_rest(x: &Points<2>, ratio: f64) -> f64 {
    (x[0] - x[1]).length() * ratio
}

#[test]
fn hinges_and_volumes() {
    let mut random = Random::new(12);
    for _ in 0..60 {
        let rest = random_points::<4>(&mut random);
        let x = random_points::<4>(&mut random);
        let flat = rest.map(|p| [p.x, p.y, 0.0]);
        check::<IsometricBending, 4, 5, 30>(&mut random, &IsometricBending::rest(flat), &x, true);
        check::<TetVolume, 4, 1, 30>(&mut random, &[random_volume(&rest)], &x, true);
        let area = |k: usize| (x[1] - x[0]).cross(x[k] - x[0]).length();
        if area(2) > 0.5 && area(3) > 0.5 {
            let rest_angle = Dihedral::rest(x.map(|p| <[f64; 3]>::from(p + Vec3::new(0.1 * p.y, 0.0, 0.2 * p.x))));
            check::<Dihedral, 4, 2, 30>(&mut random, &rest_angle, &x, true);
            check::<Dihedral, 4, 2, 30>(&mut random, &Dihedral::rest(x.map(Into::into)), &x, true);
            let near = x.map(|p| p + Vec3::from(random.point(0.2)));
            let rest = x.map(<[f64; 3]>::from);
            check::<CubicShell, 4, 12, 30>(&mut random, &CubicShell::rest(rest), &near, true);
            check::<IsometricBending, 4, 5, 30>(&mut random, &IsometricBending::curved_rest(rest), &near, true);
        }
    }
}

fn random_volume(x: &Points<4>) -> f64 {
    ((x[1] - x[0]).cross(x[2] - x[0]).dot(x[3] - x[0]) / 6.0).abs()
}

/// A corner of a cube with side 1, bent a little.
fn rest_tet(random: &mut Random) -> [[f64; 3]; 4] {
    let mut corner = |x: f64, y: f64, z: f64| {
        let d = random.point(0.2);
        [x + d[0], y + d[1], z + d[2]]
    };
    [corner(0.0, 0.0, 0.0), corner(1.0, 0.0, 0.0), corner(0.0, 1.0, 0.0), corner(0.0, 0.0, 1.0)]
}

fn elastic<M: Material>(seed: u64) {
    let mut random = Random::new(seed);
    for round in 0..60 {
        let rest = rest_tet(&mut random);
        let (p, volume) = ElasticTet::<M>::rest(rest, 1.3, 2.1);
        assert!(volume > 0.0);
        // Stretched, sheared, and every third one inverted.
        let strength = if round % 3 == 0 { 1.2 } else { 0.4 };
        let x = rest.map(|c| {
            let d = random.point(strength);
            Vec3::from([c[0] + d[0], c[1] + d[1], c[2] + d[2]])
        });
        check::<ElasticTet<M>, 4, 11, 30>(&mut random, &p, &x, well_shaped(&p, &x));
        let (p, area) = ElasticTriangle::<M>::rest([rest[0], rest[1], rest[2]], 1.3, 2.1);
        assert!(area > 0.0);
        let x = [x[0], x[1], x[2]];
        if (x[1] - x[0]).cross(x[2] - x[0]).length() > 0.2 {
            check::<ElasticTriangle<M>, 3, 6, 18>(&mut random, &p, &x, true);
        }
        // At rest, moved and turned: no energy, no force.
        let turned = rest.map(|[x, y, z]| Vec3::from([5.0 - y, x + 1.0, z]));
        let (p, _) = ElasticTet::<M>::rest(rest, 1.3, 2.1);
        assert!(ElasticTet::<M>::value(&p, &turned).abs() < 1e-14);
        assert!(ElasticTet::<M>::gradient(&p, &turned).iter().all(|g| g.length() < 1e-13));
        let (p, _) = ElasticTriangle::<M>::rest([rest[0], rest[1], rest[2]], 1.3, 2.1);
        let turned = [turned[0], turned[1], turned[2]];
        assert!(ElasticTriangle::<M>::value(&p, &turned).abs() < 1e-14);
        assert!(ElasticTriangle::<M>::gradient(&p, &turned).iter().all(|g| g.length() < 1e-13));
    }
}

/// Away from σᵢ + σⱼ = 0, where the corotated energy has its kink.
fn well_shaped(p: &[f64; 11], x: &Points<4>) -> bool {
    let inverse = pliant_core::mat3::Mat3::from_columns(
        Vec3::new(p[0], p[1], p[2]),
        Vec3::new(p[3], p[4], p[5]),
        Vec3::new(p[6], p[7], p[8]),
    );
    let edges = pliant_core::mat3::Mat3::from_columns(x[1] - x[0], x[2] - x[0], x[3] - x[0]);
    let sigma = pliant_core::svd::svd(edges * inverse).sigma;
    sigma[1] + sigma[2] > 0.15
}

/// Triangle strain and its limits, with a warp that is not parallel to an edge.
#[test]
fn woven_triangles() {
    let mut random = Random::new(15);
    let cloth = Orthotropic { young: [5.0, 2.0], poisson: 0.4, shear: 0.3 };
    let rows = cloth.rows().expect("sound moduli");
    for _ in 0..60 {
        let [x0, x1, x2, _] = rest_tet(&mut random);
        let rest = [x0, x1, x2];
        let ([p0, p1, p2, p3], area) = TriangleStrain::frame(rest, [0.8, 0.6, 0.3]).expect("a direction");
        assert!(
            (area - 0.5 * (Vec3::from(x1) - Vec3::from(x0)).cross(Vec3::from(x2) - Vec3::from(x0)).length()).abs()
                < 1e-14
        );
        let x = rest.map(|c| Vec3::from(c) + Vec3::from(random.point(0.4)));
        for [a, b, c] in rows {
            let p = [p0, p1, p2, p3, a, b, c];
            check::<TriangleStrain, 3, 7, 18>(&mut random, &p, &x, true);
            let (value, grad) = TriangleStrain::eval(&p, &rest.map(|[x, y, z]| Vec3::from([5.0 - y, x + 1.0, z])));
            assert!(value.abs() < 1e-13 && grad[1].length() > 0.1, "nothing at rest, and a way to go");
        }
        for (lower, upper) in [(0.2, 0.5), (1.5, 2.0)] {
            check::<StretchLimit, 3, 4, 18>(&mut random, &[p2, p3, lower, upper], &x, true);
        }
    }
    // Stretched along the warp, free across it: the Young's modulus of the warp answers, and the weft shrinks by ν.
    let strain = |warp: f64, weft: f64| {
        let e = [warp, weft, 0.0];
        rows.iter().map(|row| (0..3).map(|k| row[k] * e[k]).sum::<f64>().powi(2)).sum::<f64>() / 2.0
    };
    assert!((strain(1.0, -0.4) - 2.5).abs() < 1e-12);
    assert!(strain(1.0, -0.4) < strain(1.0, -0.5) && strain(1.0, -0.4) < strain(1.0, -0.3));
}

/// The constraint of an elastic element is the root of its energy: C²/2 = Ψ, C ∇C = ∇Ψ.
#[test]
fn elements_as_constraints_share_their_energy() {
    fn one<M: Material>(random: &mut Random) {
        let rest = rest_tet(random);
        let x = rest.map(|c| Vec3::from(c) + Vec3::from(random.point(0.5)));
        let (p, _) = ElasticTet::<M>::rest(rest, 1.3, 2.1);
        let ((c, grad), wanted) = (ElasticTet::<M>::eval(&p, &x), ElasticTet::<M>::gradient(&p, &x));
        assert!((0.5 * c * c - ElasticTet::<M>::value(&p, &x)).abs() < 1e-13);
        assert!((0..4).all(|k| (grad[k] * c - wanted[k]).length() < 1e-12));
        let (p, _) = ElasticTriangle::<M>::rest([rest[0], rest[1], rest[2]], 1.3, 2.1);
        let x = [x[0], x[1], x[2]];
        let ((c, grad), wanted) = (ElasticTriangle::<M>::eval(&p, &x), ElasticTriangle::<M>::gradient(&p, &x));
        assert!((0.5 * c * c - ElasticTriangle::<M>::value(&p, &x)).abs() < 1e-13);
        assert!((0..3).all(|k| (grad[k] * c - wanted[k]).length() < 1e-12));
    }
    let mut random = Random::new(16);
    for _ in 0..100 {
        one::<Corotated>(&mut random);
        one::<NeoHookean>(&mut random);
    }
}

#[test]
fn corotated_elements() {
    elastic::<Corotated>(13);
}

#[test]
fn neo_hookean_elements() {
    elastic::<NeoHookean>(14);
}

/// Both materials agree with Hooke's law for small strains: Ψ = μ |ε|² + λ/2 tr(ε)².
#[test]
fn small_strains_follow_hooke() {
    let (mu, lambda, small) = (3.0, 5.0, 1e-5);
    let rest = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let strain = [[2.0, 0.5, 0.0], [0.5, -1.0, 0.3], [0.0, 0.3, 0.7]];
    let x = rest.map(|c: [f64; 3]| {
        Vec3::from([0, 1, 2].map(|r| c[r] + small * (0..3).map(|k| strain[r][k] * c[k]).sum::<f64>()))
    });
    let squares: f64 = strain.iter().flatten().map(|e| e * e).sum();
    let trace: f64 = 2.0 - 1.0 + 0.7;
    let hooke = small * small * (mu * squares + 0.5 * lambda * trace * trace);
    let (p, _) = ElasticTet::<Corotated>::rest(rest, mu, lambda);
    let found = [ElasticTet::<Corotated>::value(&p, &x), ElasticTet::<NeoHookean>::value(&p, &x)];
    for value in found {
        assert!((value / hooke - 1.0).abs() < 1e-4, "{value} against {hooke}");
    }
}
