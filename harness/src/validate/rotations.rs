//! Nearest rotations against a table computed in 50-digit arithmetic: singular, reflected, huge and tiny matrices.

use std::path::Path;

use pliant::core::lane::Real;
use pliant::core::mat3::Mat3;
use pliant::core::polar::rotation;
use pliant::core::vec3::Vec3;

use super::Check;
use super::table::Table;
use crate::failure::Failure;

/// `polar_ref`: the rotation R with det R = +1 that maximises tr(RᵀA).
pub fn rotations(path: &Path) -> Result<Vec<Check>, Failure> {
    let table = Table::read(path)?;
    let mut checks = rotations_in::<f64>(&table, 1e-14)?;
    checks.extend(rotations_in::<f32>(&table, 1e-6)?);
    Ok(checks)
}

/// `tolerance` is that of an entry of R where it is well determined, and of everything that does not depend on that.
fn rotations_in<S: Real>(table: &Table, tolerance: f64) -> Result<Vec<Check>, Failure> {
    let (mut departure, mut shortfall, mut difference) = (0.0_f64, 0.0_f64, 0.0_f64);
    for row in 0..table.len() {
        let a = matrix(table, row, "A")?;
        let r = columns(rotation(mat3::<S>(&a)));
        departure = worst(departure, orthogonality(&r));
        // Rounding A to S moves the trace by a share of |A|.
        let size = a.iter().flatten().map(|v| v * v).sum::<f64>().sqrt();
        let trace: f64 = a.iter().flatten().zip(r.iter().flatten()).map(|(a, r)| a * r).sum();
        let missing = (trace - table.number(row, "trRtA")?).abs();
        shortfall = worst(shortfall, if size > 0.0 { missing / size } else { missing });
        // Elsewhere many rotations are as good as each other; and the nearer to that, the less R is determined.
        if table.number(row, "unique")? == 1.0 {
            let expected = matrix(table, row, "R")?;
            let entries = r.iter().flatten().zip(expected.iter().flatten());
            let off = entries.map(|(found, expected)| (found - expected).abs()).fold(0.0, worst);
            difference = worst(difference, off * table.number(row, "gap_rel")?);
        }
    }
    let named = |name: &str, figure| Check::measured(format!("{name} {}", S::NAME), figure, tolerance);
    Ok(vec![
        named("RᵀR − I and det R − 1", departure),
        named("trace over |A|", shortfall),
        named("R times gap", difference),
    ])
}

/// The larger, infinite once one is NaN.
fn worst(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// By columns: `[column][row]`.
type Columns = [[f64; 3]; 3];

fn matrix(table: &Table, row: usize, name: &str) -> Result<Columns, Failure> {
    let mut matrix = [[0.0; 3]; 3];
    for (j, column) in matrix.iter_mut().enumerate() {
        for (i, value) in column.iter_mut().enumerate() {
            *value = table.number(row, &format!("{name}{i}{j}"))?;
        }
    }
    Ok(matrix)
}

fn mat3<S: Real>(a: &Columns) -> Mat3<S> {
    let [x, y, z] = a.map(|column| Vec3::from(column.map(S::from_f64)));
    Mat3::from_columns(x, y, z)
}

fn columns<S: Real>(r: Mat3<S>) -> Columns {
    r.columns.map(|column| <[S; 3]>::from(column).map(S::to_f64))
}

/// How far a matrix is from a rotation.
fn orthogonality(r: &Columns) -> f64 {
    let dot = |a: &[f64; 3], b: &[f64; 3]| (0..3).map(|k| a[k] * b[k]).sum::<f64>();
    let mut off = (mat3::<f64>(r).determinant() - 1.0).abs();
    for i in 0..3 {
        for j in 0..=i {
            off = worst(off, (dot(&r[i], &r[j]) - f64::from(u8::from(i == j))).abs());
        }
    }
    off
}
