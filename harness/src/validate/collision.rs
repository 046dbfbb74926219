//! Collision geometry: distances and the barrier against tables computed in exact or 50-digit arithmetic.

use std::path::Path;

use pliant::core::collide::barrier::barrier as contact_barrier;
use pliant::core::collide::distance::Pair;
use pliant::core::lane::Real;
use pliant::core::vec3::Vec3;

use super::Check;
use super::elements::{error, flat, tolerance};
use super::table::Table;
use crate::failure::Failure;

/// A pair by its name in the tables.
pub fn pair(name: &str) -> Result<Pair, Failure> {
    match name {
        "pt" | "vt" => Ok(Pair::VertexTriangle),
        "ee" => Ok(Pair::EdgeEdge),
        other => Err(Failure::Input(format!("there is no kind `{other}`"))),
    }
}

/// `distance_ref`.
pub fn distances(path: &Path) -> Result<Vec<Check>, Failure> {
    let table = Table::read(path)?;
    let mut checks = distances_in::<f64>(&table)?;
    checks.extend(distances_in::<f32>(&table)?);
    Ok(checks)
}

fn distances_in<S: Real>(table: &Table) -> Result<Vec<Check>, Failure> {
    let mut worst = [0.0_f64; 2];
    let mut refused = 0_u32;
    for row in 0..table.len() {
        let x: [f64; 12] = table.numbers(row, "x")?;
        let corners: [Vec3<f64>; 4] = std::array::from_fn(|i| Vec3::from([x[3 * i], x[3 * i + 1], x[3 * i + 2]]));
        let pair = pair(table.text(row, "kind")?)?;
        let distance_sq = table.number(row, "dist2")?;
        if distance_sq < box_distance_sq(pair, &corners) {
            refused += 1;
            continue;
        }
        let closest = pair.closest(&corners.map(|c| Vec3::from(<[f64; 3]>::from(c).map(S::from_f64))));
        // r is a difference of coordinates and carries roundings δ = 2 ε max|x|: |Δd²| ≤ 2 d δ + δ², |Δ∇d²| ≤ 2 δ.
        let delta = 2.0 * S::EPSILON.to_f64() * x.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let roundings = 2.0 * distance_sq.sqrt() * delta + delta * delta;
        worst[0] = worst[0].max(error(&[closest.distance_sq.to_f64()], &[distance_sq], roundings));
        let (actual, expected) = (flat(&closest.gradient()), table.numbers::<12>(row, "g")?);
        worst[1] = worst[1].max(if ambiguous(pair, &corners) {
            // Many pairs of points are equally near, all by the same r: compare what each primitive gets as a whole.
            error(&whole(pair, &actual), &whole(pair, &expected), 4.0 * delta)
        } else {
            error(&actual, &expected, 2.0 * delta)
        });
    }
    let names = ["distance²", "gradient"].into_iter().zip(worst);
    let mut checks: Vec<_> =
        names.map(|(name, figure)| Check::measured(format!("{name} {}", S::NAME), figure, tolerance::<S>())).collect();
    if refused > 0 {
        // Said, not counted as a failure: the row, not the kit, contradicts itself.
        let name = format!("rows nearer than their bounding boxes, left out ({})", S::NAME);
        checks.push(Check::told(name, f64::from(refused)));
    }
    Ok(checks)
}

/// The squared distance of the primitives' bounding boxes \[m²\]: no distance can be less.
fn box_distance_sq(pair: Pair, corners: &[Vec3<f64>; 4]) -> f64 {
    let (first, second) = corners.split_at(pair.first_corners());
    let gap = |axis: fn(&Vec3<f64>) -> f64| {
        let range = |side: &[Vec3<f64>]| {
            side.iter().map(axis).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
        };
        let ((a, b), (c, d)) = (range(first), range(second));
        (c - b).max(a - d).max(0.0)
    };
    let gaps = [gap(|v| v.x), gap(|v| v.y), gap(|v| v.z)];
    gaps.iter().map(|g| g * g).sum()
}

/// Whether the closest points need not be unique: parallel edges, a triangle without area.
fn ambiguous(pair: Pair, x: &[Vec3<f64>; 4]) -> bool {
    let normal = match pair {
        Pair::VertexTriangle => (x[2] - x[1]).cross(x[3] - x[1]),
        Pair::EdgeEdge => (x[1] - x[0]).cross(x[3] - x[2]),
    };
    normal.length_sq() == 0.0
}

/// The sums of a gradient over each primitive.
fn whole(pair: Pair, gradient: &[f64]) -> [f64; 6] {
    let mut sums = [0.0; 6];
    for (i, v) in gradient.iter().enumerate() {
        sums[if i < 3 * pair.first_corners() { i % 3 } else { 3 + i % 3 }] += v;
    }
    sums
}

/// `barrier_ref`.
pub fn barrier(path: &Path) -> Result<Vec<Check>, Failure> {
    let table = Table::read(path)?;
    let mut checks = barrier_in::<f64>(&table)?;
    checks.extend(barrier_in::<f32>(&table)?);
    Ok(checks)
}

fn barrier_in<S: Real>(table: &Table) -> Result<Vec<Check>, Failure> {
    let mut worst = [0.0_f64; 3];
    for row in 0..table.len() {
        let (d, reach) = (table.number(row, "d")?, table.number(row, "dhat")?);
        let (near, far) = (S::from_f64(d), S::from_f64(reach));
        let b = contact_barrier(near, far);
        // The inputs round to S. Moving d and d̂ by δ each moves the gap g = d̂ − d by 2δ: relatively 2δ/g, and b ∝ g³,
        // b' ∝ g², b'' ∝ g near d̂.
        let delta = (near.to_f64() - d).abs() + (far.to_f64() - reach).abs();
        let gap = (reach - d).max(0.0);
        for (i, (actual, column)) in [(b.value, "b"), (b.slope, "b1"), (b.curvature, "b2")].into_iter().enumerate() {
            let expected = table.number(row, column)?;
            let roundings = if gap > 0.0 { 6.0 * delta / gap * expected.abs() } else { 0.0 };
            worst[i] = worst[i].max(error(&[actual.to_f64()], &[expected], roundings));
        }
    }
    let names = ["b", "b'", "b''"].into_iter().zip(worst);
    Ok(names.map(|(name, figure)| Check::measured(format!("{name} {}", S::NAME), figure, tolerance::<S>())).collect())
}
