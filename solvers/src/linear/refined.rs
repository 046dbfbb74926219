//! A single-precision factor with double-precision refinement: nearly the accuracy of `f64` at little more than the cost of
//! `f32`.
//!
//! x ← x + A₃₂⁻¹ (b − A x), with the residual in double precision: every round gains six or seven digits as long as the
//! matrix is far from singular in single precision.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::lane::Lane;

use super::cholesky::{Cholesky, length};
use super::domains::Domains;
use super::error::LinearError;
use super::pattern::Pattern;
use super::pcg::row_times;

/// Nodes a task works on.
const NODES: usize = 1024;
/// Numbers a task rounds.
const ROUND: usize = 16384;

/// The factor of a 3n × 3n matrix in `f32`, solving in `f64`.
#[derive(Debug)]
pub struct Refined {
    factor: Cholesky<f32>,
    rows: Domains,
    rounded: Vec<f32>,
    x: Vec<[f64; 3]>,
    residual: Vec<[f64; 3]>,
    correction: Vec<f32>,
}

impl Refined {
    /// Analyses a pattern and sets memory aside.
    pub fn new(pattern: &Pattern) -> Result<Self, LinearError> {
        let n = pattern.node_count();
        Ok(Self {
            factor: Cholesky::new(pattern, 3)?,
            rows: Domains::in_order(pattern, (0..n as u32).collect()),
            rounded: vec![0.0; pattern.entry_count() * 9],
            x: vec![[0.0; 3]; n],
            residual: vec![[0.0; 3]; n],
            correction: vec![0.0; n * 3],
        })
    }

    /// Factors a matrix, rounded to single precision; values as in [`Cholesky::factor`]. Allocates nothing.
    pub fn factor(&mut self, values: &[f64], on: &impl Backend<Scalar = f64>) -> Result<(), LinearError> {
        length("values", values.len(), self.rounded.len())?;
        on.fork(&Round { from: values, scale: 1.0 }, Cut::Every(ROUND), &mut self.rounded);
        self.factor.factor(&self.rounded, on)
    }

    /// Replaces the right-hand side, three numbers a node in node order, by the solution after `refinements` rounds (one
    /// usually does), and returns the largest number of the residual b − A x. Allocates nothing.
    pub fn solve(
        &mut self,
        values: &[f64],
        rhs: &mut [f64],
        refinements: usize,
        on: &impl Backend<Scalar = f64>,
    ) -> Result<f64, LinearError> {
        length("values", values.len(), self.rounded.len())?;
        length("right-hand side", rhs.len(), self.x.len() * 3)?;
        let Self { factor, rows, x, residual, correction, .. } = self;
        x.fill([0.0; 3]);
        residual.as_flattened_mut().copy_from_slice(rhs);
        let mut largest = peak(residual);
        if !largest.is_finite() {
            return Err(LinearError::NotFinite { what: "right-hand side" });
        }
        for _ in 0..=refinements {
            if largest == 0.0 || !largest.is_finite() {
                break;
            }
            // Scaled to 1, small residuals do not vanish in single precision.
            let scale = 1.0 / largest;
            on.fork(&Round { from: residual.as_flattened(), scale }, Cut::Every(ROUND), correction);
            factor.solve(correction, 1, on)?;
            on.fork(&Correct { correction, scale: largest }, Cut::Every(NODES), x);
            on.fork(&Residual { rows, values, x, rhs }, Cut::Every(NODES), residual);
            largest = peak(residual);
        }
        rhs.copy_from_slice(x.as_flattened());
        Ok(largest)
    }
}

/// The largest number; NaN once any is NaN.
fn peak(v: &[[f64; 3]]) -> f64 {
    v.as_flattened().iter().fold(0.0, |peak, v| if v.abs() > peak || v.is_nan() { v.abs() } else { peak })
}

struct Round<'a> {
    from: &'a [f64],
    scale: f64,
}

impl Task<f32> for Round<'_> {
    type Scalar = f64;
    #[inline(always)]
    fn run<L: Lane<Scalar = f64>>(&self, index: usize, own: &mut [f32]) {
        for (to, from) in own.iter_mut().zip(&self.from[index * ROUND..]) {
            *to = (from * self.scale) as f32;
        }
    }
}

struct Correct<'a> {
    correction: &'a [f32],
    scale: f64,
}

impl Task<[f64; 3]> for Correct<'_> {
    type Scalar = f64;
    #[inline(always)]
    fn run<L: Lane<Scalar = f64>>(&self, index: usize, own: &mut [[f64; 3]]) {
        for (to, from) in own.as_flattened_mut().iter_mut().zip(&self.correction[index * NODES * 3..]) {
            *to += self.scale * f64::from(*from);
        }
    }
}

struct Residual<'a> {
    rows: &'a Domains,
    values: &'a [f64],
    x: &'a [[f64; 3]],
    rhs: &'a [f64],
}

impl Task<[f64; 3]> for Residual<'_> {
    type Scalar = f64;
    #[inline(always)]
    fn run<L: Lane<Scalar = f64>>(&self, index: usize, own: &mut [[f64; 3]]) {
        let (rhs, _) = self.rhs.as_chunks::<3>();
        for (i, to) in own.iter_mut().enumerate() {
            let row = index * NODES + i;
            let y = row_times(self.rows, row, self.values, self.x);
            *to = [rhs[row][0] - y[0], rhs[row][1] - y[1], rhs[row][2] - y[2]];
        }
    }
}
