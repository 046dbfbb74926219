//! Energies and their derivatives against tables computed in 50-digit arithmetic.
//!
//! An entry is judged relative to the largest of its vector or matrix. Where the quantity is a small difference of large
//! terms (the stretch near rest, the fold near flat), a few roundings of those terms are taken off first: no algorithm in
//! working precision can do better.

use std::path::Path;

use pliant::core::energies::{bending as hinge, spring};
use pliant::core::energy::Energy;
use pliant::core::kinds::IsometricBending;
use pliant::core::lane::Real;
use pliant::core::vec3::Vec3;

use super::Check;
use super::table::Table;
use crate::failure::Failure;

/// max |actual − expected| less `roundings`, over the largest expected.
pub fn error(actual: &[f64], expected: &[f64], roundings: f64) -> f64 {
    let size = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let worst = actual.iter().zip(expected).fold(0.0_f64, |m, (a, e)| {
        let error = (a - e).abs();
        if error.is_nan() { f64::INFINITY } else { m.max(error) }
    });
    let rest = (worst - roundings).max(0.0);
    if rest == 0.0 { 0.0 } else { rest / size }
}

pub fn flat<S: Real>(vectors: &[Vec3<S>]) -> Vec<f64> {
    vectors.iter().flat_map(|v| [v.x, v.y, v.z]).map(S::to_f64).collect()
}

pub fn tolerance<S: Real>() -> f64 {
    if S::NAME == "f32" { 1e-5 } else { 1e-12 }
}

fn length(v: &[f64]) -> f64 {
    v.iter().map(|c| c * c).sum::<f64>().sqrt()
}

/// `spring_ref`.
pub fn springs(path: &Path) -> Result<Vec<Check>, Failure> {
    let table = Table::read(path)?;
    let mut checks = springs_in::<f64>(&table)?;
    checks.extend(springs_in::<f32>(&table)?);
    Ok(checks)
}

fn springs_in<S: Real>(table: &Table) -> Result<Vec<Check>, Failure> {
    let mut worst = [0.0_f64; 3];
    for row in 0..table.len() {
        let x: [f64; 6] = table.numbers(row, "x")?;
        let (k, rest) = (table.number(row, "k")?, table.number(row, "rest")?);
        let end = |at: usize| Vec3::from([x[at], x[at + 1], x[at + 2]].map(S::from_f64));
        let (stiffness, rest_length, d) = (S::from_f64(k), S::from_f64(rest), end(0) - end(3));
        // ℓ carries roundings δ = 2 ε max(ℓ, L); then |ΔE| ≤ k (|ℓ − L| δ + δ²/2) and |Δ∇E| ≤ k δ.
        let delta = 2.0 * S::EPSILON.to_f64() * length(&flat(&[d])).max(rest);
        let energy = table.number(row, "E")?;
        let roundings = k * ((2.0 * energy / k).sqrt() * delta + 0.5 * delta * delta);
        worst[0] = worst[0].max(error(&[spring::energy(stiffness, rest_length, d).to_f64()], &[energy], roundings));
        let gradient = spring::gradient(stiffness, rest_length, d);
        worst[1] = worst[1].max(error(&flat(&[gradient, -gradient]), &table.numbers::<6>(row, "g")?, k * delta));
        let block = flat(&spring::hessian_exact(stiffness, rest_length, d).columns);
        let (mut actual, mut expected) = (Vec::new(), Vec::new());
        for i in 0..6 {
            for j in i..6 {
                let value = block[3 * (j % 3) + i % 3];
                actual.push(if (i < 3) == (j < 3) { value } else { -value });
                expected.push(table.number(row, &format!("H{i}{j}"))?);
            }
        }
        worst[2] = worst[2].max(error(&actual, &expected, 0.0));
    }
    let names = ["energy", "gradient", "hessian"].into_iter().zip(worst);
    Ok(names.map(|(name, figure)| Check::measured(format!("{name} {}", S::NAME), figure, tolerance::<S>())).collect())
}

/// `bending_ref`.
pub fn bending(path: &Path) -> Result<Vec<Check>, Failure> {
    let table = Table::read(path)?;
    let mut checks = bending_in::<f64>(&table)?;
    checks.extend(bending_in::<f32>(&table)?);
    Ok(checks)
}

fn bending_in<S: Real>(table: &Table) -> Result<Vec<Check>, Failure> {
    let mut worst = [0.0_f64; 4];
    for row in 0..table.len() {
        let (rest, x): ([[f64; 3]; 4], [[f64; 3]; 4]) = (table.vectors(row, "R")?, table.vectors(row, "X")?);
        let points = |x: [[f64; 3]; 4]| x.map(|p| Vec3::from(p.map(S::from_f64)));
        let (flat_rest, now) = (points(rest), points(x));
        let k = table.number(row, "k")?;
        let stiffness = S::from_f64(k);
        let (q, _) = hinge::coefficients(&flat_rest);
        worst[0] = worst[0].max(error(&q.map(S::to_f64), &table.numbers::<4>(row, "K")?, 0.0));
        // e = Σ q'ᵢ (xᵢ − x₀) carries roundings δ = 2 ε Σ |q'ᵢ||xᵢ − x₀|; |ΔE| ≤ k (|e| δ + δ²/2), |Δ∇ᵢE| ≤ k |q'ᵢ| δ.
        let scaled = hinge::scaled_coefficients(&flat_rest);
        let p = IsometricBending::rest(rest).map(S::from_f64);
        let terms: f64 = (1..4).map(|i| scaled[i].to_f64().abs() * length(&[0, 1, 2].map(|c| x[i][c] - x[0][c]))).sum();
        let delta = 2.0 * S::EPSILON.to_f64() * terms;
        let energy = table.number(row, "E")?;
        let roundings = k * ((2.0 * energy / k).sqrt() * delta + 0.5 * delta * delta);
        worst[1] =
            worst[1].max(error(&[(stiffness * IsometricBending::value(&p, &now)).to_f64()], &[energy], roundings));
        let steepest = scaled.iter().fold(0.0_f64, |m, v| m.max(v.to_f64().abs()));
        let gradient = flat(&IsometricBending::gradient(&p, &now).map(|g| g * stiffness));
        let expected = table.vectors::<4>(row, "g")?.concat();
        worst[2] = worst[2].max(error(&gradient, &expected, k * steepest * delta));
        let matrix = hinge::hessian(stiffness, &scaled);
        let (mut actual, mut expected) = (Vec::new(), Vec::new());
        for i in 0..4 {
            for j in i..4 {
                actual.push(matrix[i][j].to_f64());
                expected.push(table.number(row, &format!("kQ{i}{j}"))?);
            }
        }
        worst[3] = worst[3].max(error(&actual, &expected, 0.0));
    }
    let names = ["coefficients", "energy", "gradient", "hessian"].into_iter().zip(worst);
    Ok(names.map(|(name, figure)| Check::measured(format!("{name} {}", S::NAME), figure, tolerance::<S>())).collect())
}
