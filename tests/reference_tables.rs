//! Energies and bending kinds against reference tables computed independently in 50-digit arithmetic.
//!
//! The tables ask for a relative 1e-12 in f64 and 1e-5 in f32. An entry of a vector or matrix is judged relative to the
//! largest entry, since small entries of a rotated quantity are differences of large ones. Where the quantity itself is a
//! small difference (the stretch ℓ − L near rest, the angle near flat), no algorithm in working precision can keep a
//! relative error: the bound then adds a few roundings ε of the terms that cancel. Each such term is named where it is used.
//! Every input of both tables is exactly an f32, so f32 runs on every row.

mod common;

use common::{Row, Table};
use pliant::core::constraint::Constraint;
use pliant::core::energies::{bending, spring};
use pliant::core::energy::Energy;
use pliant::core::kinds::{Dihedral, IsometricBending};
use pliant::core::lane::Real;
use pliant::core::vec3::Vec3;

/// The relative error asked for.
fn relative<S: Real>() -> f64 {
    if S::NAME == "f32" { 1e-5 } else { 1e-12 }
}

fn epsilon<S: Real>() -> f64 {
    S::EPSILON.to_f64()
}

/// A number of the table in the precision under test; every input must be exact.
fn exact<S: Real>(v: f64) -> S {
    let rounded = S::from_f64(v);
    assert_eq!(rounded.to_f64(), v, "an input of the table is not exactly {}", S::NAME);
    rounded
}

fn points<S: Real, const N: usize>(x: [[f64; 3]; N]) -> [Vec3<S>; N] {
    x.map(|p| Vec3::from(p.map(exact::<S>)))
}

fn flat<S: Real>(vectors: &[Vec3<S>]) -> Vec<f64> {
    vectors.iter().flat_map(|v| [v.x, v.y, v.z]).map(S::to_f64).collect()
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|c| c * c).sum::<f64>().sqrt()
}

fn difference(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// Every value within `tolerance · largest expected + roundings` of the table.
fn check(row: &Row, what: &str, actual: &[f64], expected: &[f64], tolerance: f64, roundings: f64) {
    assert_eq!(actual.len(), expected.len());
    let bound = tolerance * largest(expected) + roundings;
    for (i, (a, e)) in actual.iter().zip(expected).enumerate() {
        let (id, cat) = (row.text("id"), row.text("cat"));
        assert!((a - e).abs() <= bound, "row {id} ({cat}), {what} {i}: {a:e}, not {e:e} within {bound:e}");
    }
}

fn symmetric<S: Real, const N: usize>(m: &[[S; N]; N]) -> bool {
    (0..N).all(|i| (0..i).all(|j| m[i][j] == m[j][i]))
}

/// The smallest eigenvalue of a symmetric matrix, by cyclic Jacobi rotations.
fn smallest_eigenvalue<const N: usize>(mut m: [[f64; N]; N]) -> f64 {
    for _sweep in 0..30 {
        for p in 0..N {
            for q in p + 1..N {
                if m[p][q] == 0.0 {
                    continue;
                }
                let tau = (m[q][q] - m[p][p]) / (2.0 * m[p][q]);
                let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
                let c = 1.0 / (1.0 + t * t).sqrt();
                let s = t * c;
                for row in &mut m {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (old_p, old_q) = (m[p], m[q]);
                m[p] = std::array::from_fn(|k| c * old_p[k] - s * old_q[k]);
                m[q] = std::array::from_fn(|k| s * old_p[k] + c * old_q[k]);
            }
        }
    }
    (0..N).map(|i| m[i][i]).fold(f64::INFINITY, f64::min)
}

fn spring_rows<S: Real>() {
    let table = Table::read("spring_ref.csv");
    let (mut indefinite, mut count) = (0, 0);
    for row in table.rows() {
        let x: [f64; 6] = row.numbers("x");
        let [xi, xj] = points::<S, 2>([[x[0], x[1], x[2]], [x[3], x[4], x[5]]]);
        let (k, rest) = (exact::<S>(row.number("k")), exact::<S>(row.number("rest")));
        let d = xi - xj;

        // ℓ carries a few roundings of its own size, whatever is subtracted from it: δ = 2 ε max(ℓ, L).
        // Then |ΔE| ≤ k (|ℓ − L| δ + δ²/2) and |Δ∇E| ≤ k δ.
        let (stiffness, rest_length) = (k.to_f64(), rest.to_f64());
        let current = length(flat(&[d])[..].try_into().expect("three components"));
        let delta = 2.0 * epsilon::<S>() * current.max(rest_length);
        let stretch = (2.0 * row.number("E") / stiffness).sqrt();

        let energy = spring::energy(k, rest, d).to_f64();
        let energy_roundings = stiffness * (stretch * delta + 0.5 * delta * delta);
        check(&row, "energy", &[energy], &[row.number("E")], relative::<S>(), energy_roundings);

        let gradient = spring::gradient(k, rest, d);
        let expected: [f64; 6] = row.numbers("g");
        check(&row, "gradient", &flat(&[gradient, -gradient]), &expected, relative::<S>(), stiffness * delta);

        // Every entry of H is of the size of the largest or the difference of two such: no extra roundings.
        let exact_block = full(spring::hessian_exact(k, rest, d));
        assert!(symmetric(&exact_block), "row {}: symmetric to the last bit", row.text("id"));
        let (actual, expected): (Vec<_>, Vec<_>) = (0..6)
            .flat_map(|i| (i..6).map(move |j| (i, j)))
            .map(|(i, j)| (exact_block[i][j], row.number(&format!("H{i}{j}"))))
            .unzip();
        check(&row, "hessian", &actual, &expected, relative::<S>(), 0.0);

        // The sign: compressed springs are indefinite, and the projected form never is.
        let size = largest(&expected);
        let expected_smallest = row.number("Hmin_eig");
        let smallest = smallest_eigenvalue(exact_block);
        check(&row, "smallest eigenvalue", &[smallest], &[expected_smallest], 0.0, relative::<S>() * size);
        if expected_smallest < -1e3 * epsilon::<S>() * size {
            indefinite += 1;
            assert!(smallest < 0.0 && current < rest_length, "row {}: compressed is indefinite", row.text("id"));
        }
        let projected = full(spring::hessian_projected(k, rest, d));
        let projected_smallest = smallest_eigenvalue(projected);
        assert!(projected_smallest >= -4.0 * epsilon::<S>() * size, "row {}: {projected_smallest}", row.text("id"));
        if current > rest_length + delta {
            assert_eq!(projected, exact_block, "row {}: projection changes compressed springs only", row.text("id"));
        }
        count += 1;
    }
    assert_eq!(count, 180);
    assert!(indefinite >= 46, "all compressed rows are indefinite, {indefinite} found");
}

/// [H −H; −H H].
fn full<S: Real>(block: pliant::core::mat3::Mat3<S>) -> [[f64; 6]; 6] {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let column: [S; 3] = block.columns[j % 3].into();
            if (i < 3) == (j < 3) { column[i % 3].to_f64() } else { -column[i % 3].to_f64() }
        })
    })
}

#[test]
fn springs_match_in_f64() {
    spring_rows::<f64>();
}

#[test]
fn springs_match_in_f32() {
    spring_rows::<f32>();
}

/// How much thinner than its sides the thinner triangle of a hinge is: max |e||side|/|e × side|, at least 1.
fn slenderness(x: &[[f64; 3]; 4]) -> f64 {
    let e = difference(x[1], x[0]);
    let of = |k: usize| {
        let side = difference(x[k], x[0]);
        let normal: [f64; 3] = Vec3::from(e).cross(Vec3::from(side)).into();
        length(e) * length(side) / length(normal)
    };
    of(2).max(of(3))
}

fn bending_rows<S: Real>() {
    let table = Table::read("bending_ref.csv");
    let mut count = 0;
    for row in table.rows() {
        let (rest_f64, x_f64) = (row.vectors::<4>("R"), row.vectors::<4>("X"));
        let (rest, x, k) = (points::<S, 4>(rest_f64), points::<S, 4>(x_f64), exact::<S>(row.number("k")));
        let (tolerance, eps) = (relative::<S>(), epsilon::<S>());

        let (q, area) = bending::coefficients(&rest);
        let q_expected: [f64; 4] = row.numbers("K");
        check(&row, "q", &q.map(S::to_f64), &q_expected, tolerance, 0.0);
        check(&row, "area", &[area.to_f64()], &[row.number("A0plusA1")], tolerance, 0.0);

        // e = Σ q'ᵢ (xᵢ − x₀): near flat the terms cancel, leaving roundings δ = 2 ε Σ |q'ᵢ||xᵢ − x₀|.
        // With E = k/2 |e|²: |ΔE| ≤ k (|e| δ + δ²/2) and |Δ∇ᵢE| ≤ k |q'ᵢ| δ.
        let scaled = bending::scaled_coefficients(&rest);
        let (stiffness, energy_expected) = (k.to_f64(), row.number("E"));
        let terms: f64 = (1..4).map(|i| scaled[i].to_f64().abs() * length(difference(x_f64[i], x_f64[0]))).sum();
        let delta = 2.0 * eps * terms;
        let bend = (2.0 * energy_expected / stiffness).sqrt();
        let parameters = IsometricBending::rest(rest_f64).map(S::from_f64);
        let energy = (k * IsometricBending::value(&parameters, &x)).to_f64();
        let energy_roundings = stiffness * (bend * delta + 0.5 * delta * delta);
        check(&row, "energy", &[energy], &[energy_expected], tolerance, energy_roundings);
        let gradient = flat(&IsometricBending::gradient(&parameters, &x).map(|g| g * k));
        let expected = row.vectors::<4>("g").concat();
        let steepest = largest(&scaled.map(S::to_f64));
        check(&row, "gradient", &gradient, &expected, tolerance, stiffness * steepest * delta);

        let matrix = bending::hessian(k, &scaled);
        let (actual, expected): (Vec<_>, Vec<_>) = (0..4)
            .flat_map(|i| (i..4).map(move |j| (i, j)))
            .map(|(i, j)| (matrix[i][j].to_f64(), row.number(&format!("kQ{i}{j}"))))
            .unzip();
        check(&row, "kQ", &actual, &expected, tolerance, 0.0);
        assert!(symmetric(&matrix), "row {}: symmetric to the last bit", row.text("id"));

        // The constraint kind is the same energy: φ²/(2α) with α = 1/k.
        let (phi, _) = IsometricBending::eval(&parameters, &x);
        let as_energy = 0.5 * stiffness * phi.to_f64() * phi.to_f64();
        check(&row, "φ²/(2α)", &[as_energy], &[energy_expected], tolerance, energy_roundings);

        // sin θ is a triple product that cancels near flat, with roundings ε |e||n₁||x₃ − x₀|, over |n₁||n₂|: in θ they
        // are ε times the slenderness. One f32 row needs this, with θ = 0.0011.
        let angle_roundings = eps * slenderness(&x_f64);
        let (theta, gradient) = Dihedral::eval(&[S::ONE, S::ZERO], &x);
        let theta_expected = row.number("theta");
        check(&row, "theta", &[theta.to_f64()], &[theta_expected], tolerance, angle_roundings);
        let expected = row.vectors::<4>("dth").concat();
        check(&row, "theta gradient", &flat(&gradient), &expected, tolerance, 0.0);

        // C = θ − θ₀, wrapped, with the rest angle stored as cosine and sine.
        let [cos, sin] = Dihedral::rest(rest_f64);
        let theta_rest = row.number("theta_rest");
        check(&row, "rest angle", &[sin.atan2(cos)], &[theta_rest], 1e-12, 0.0);
        let (c, _) = Dihedral::eval(&[cos, sin].map(S::from_f64), &x);
        let turn = std::f64::consts::TAU;
        let wrapped = (theta_expected - theta_rest) - turn * ((theta_expected - theta_rest) / turn).round();
        check(&row, "θ − θ₀", &[c.to_f64()], &[wrapped], tolerance, angle_roundings);
        count += 1;
    }
    assert_eq!(count, 180);
}

#[test]
fn bending_matches_in_f64() {
    bending_rows::<f64>();
}

#[test]
fn bending_matches_in_f32() {
    bending_rows::<f32>();
}

#[test]
fn hexadecimal_floats_are_read_exactly() {
    let read = |text| common::parse_float(text).expect("a number");
    assert_eq!(read("0x1.8p+1"), 3.0);
    assert_eq!(read("-0x1.0000000000001p-3"), -0.125 - f64::EPSILON / 8.0);
    assert_eq!(read("0x0.0p+0"), 0.0);
    assert_eq!(read("0x0.0000000000001p-1022"), f64::from_bits(1));
    assert_eq!(read("0x1.fffffffffffffp+1023"), f64::MAX);
    assert_eq!(read("-1.5e-3"), -0.0015);
    assert!(common::parse_float("0x1.8q+1").is_none() && common::parse_float("stone").is_none());
}
