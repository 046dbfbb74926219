//! Preconditioned conjugate gradients on a matrix of 3 × 3 blocks.
//!
//! Solves A x = b without a factor of A: a product with A and a preconditioned residual an iteration. Fast where few
//! iterations do — solids, soft cloth — and light on memory. Rows are cut into domains that threads work on side by side;
//! sums run over a domain in order, then over the domains in order: one result for any number of threads.   [Hestenes, Stiefel
//! 1952]

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::lane::{Lane, Real};

use super::cholesky::length;
use super::domains::Domains;
use super::error::LinearError;
use super::pattern::Pattern;
use super::precondition::{Incomplete, Preconditioner, block, times, times_by_rows};

/// When conjugate gradients stop, and what helps them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct PcgOptions {
    /// Stop when |b − A x| ≤ tolerance · |b|.
    pub tolerance: f64,
    /// Stop after so many iterations.
    pub iterations: usize,
    /// The preconditioner.
    pub preconditioner: Preconditioner,
}

impl Default for PcgOptions {
    fn default() -> Self {
        Self { tolerance: 1e-3, iterations: 1000, preconditioner: Preconditioner::BlockIc }
    }
}

/// How a solve went.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PcgReport {
    /// Iterations taken.
    pub iterations: usize,
    /// |b − A x| / |b| at the end, by the recurrence; 0 for b = 0.
    pub residual: f64,
    /// Whether the tolerance was reached.
    pub converged: bool,
}

/// Conjugate gradients for the matrices of one pattern.
#[derive(Debug)]
pub struct Pcg<S> {
    options: PcgOptions,
    rows: Domains,
    domains: Vec<Domain<S>>,
    /// Search direction, in domain order.
    p: Vec<[S; 3]>,
}

/// What a domain owns.
#[derive(Debug)]
struct Domain<S> {
    factor: Incomplete<S>,
    x: Vec<[S; 3]>,
    r: Vec<[S; 3]>,
    z: Vec<[S; 3]>,
    q: Vec<[S; 3]>,
    /// Partial sums of the last pass.
    sums: [S; 2],
    /// Row whose diagonal block is not positive definite.
    fault: Option<usize>,
}

impl<S: Real> Pcg<S> {
    /// Orders the rows and sets memory aside.
    pub fn new(pattern: &Pattern, options: PcgOptions) -> Self {
        let rows = Domains::new(pattern);
        let domain = |d: usize| {
            let zeros = vec![[S::ZERO; 3]; rows.cuts[d + 1] - rows.cuts[d]];
            Domain {
                factor: Incomplete::new(&rows, d, options.preconditioner),
                x: zeros.clone(),
                r: zeros.clone(),
                z: zeros.clone(),
                q: zeros,
                sums: [S::ZERO; 2],
                fault: None,
            }
        };
        let domains = (0..rows.cuts.len() - 1).map(domain).collect();
        Self { options, p: vec![[S::ZERO; 3]; rows.len()], domains, rows }
    }

    /// The options.
    pub fn options(&self) -> &PcgOptions {
        &self.options
    }

    /// Makes the preconditioner of a matrix: nine numbers for every entry of the pattern, as in [`super::Cholesky::factor`].
    pub fn refresh(&mut self, values: &[S], on: &impl Backend<Scalar = S>) -> Result<(), LinearError> {
        length("values", values.len(), (self.rows.items.len() + self.rows.len()) / 2 * 9)?;
        on.fork(&Refresh { rows: &self.rows, values }, Cut::Every(1), &mut self.domains);
        match self.domains.iter().find_map(|domain| domain.fault) {
            Some(row) => Err(LinearError::NotPositive { node: self.rows.nodes[row] }),
            None => Ok(()),
        }
    }

    /// Replaces the right-hand side, three numbers a node in node order, by the solution, starting from 0.
    ///
    /// `values` are those of the last [`Pcg::refresh`], or close to them. A direction along which the matrix is not positive
    /// is an error: the matrix is indefinite, and `rhs` is left as it was.
    pub fn solve(
        &mut self,
        values: &[S],
        rhs: &mut [S],
        on: &impl Backend<Scalar = S>,
    ) -> Result<PcgReport, LinearError> {
        length("values", values.len(), (self.rows.items.len() + self.rows.len()) / 2 * 9)?;
        length("right-hand side", rhs.len(), self.rows.len() * 3)?;
        let Self { rows, domains, p, options } = self;
        on.fork(&Start { rows, rhs }, Cut::Every(1), domains);
        let [mut rz, rr] = total(domains);
        let norm = rr.to_f64().sqrt();
        if !norm.is_finite() {
            return Err(LinearError::NotFinite { what: "right-hand side" });
        }
        let mut report = PcgReport { iterations: 0, residual: if norm > 0.0 { 1.0 } else { 0.0 }, converged: false };
        // A solve that broke down leaves directions that are not finite, and 0 · ∞ is no zero.
        p.fill([S::ZERO; 3]);
        let mut beta = S::ZERO;
        while report.residual > options.tolerance && report.iterations < options.iterations {
            // p = z + β p;  q = A p
            on.fork(&Direct { domains, beta }, Cut::At(&rows.cuts), p);
            on.fork(&Multiply { rows, values, p }, Cut::Every(1), domains);
            let curvature = total(domains)[0];
            if curvature <= S::ZERO || !curvature.is_finite() {
                return Err(LinearError::Indefinite { iteration: report.iterations });
            }
            // x += α p;  r −= α q;  z = M⁻¹ r
            on.fork(&Advance { rows, p, alpha: rz / curvature }, Cut::Every(1), domains);
            let [next, rr] = total(domains);
            beta = next / rz;
            rz = next;
            report.iterations += 1;
            report.residual = rr.to_f64().sqrt() / norm;
        }
        if !report.residual.is_finite() {
            return Err(LinearError::Indefinite { iteration: report.iterations });
        }
        report.converged = report.residual <= options.tolerance;
        on.fork(&Finish { rows, domains }, Cut::Every(3 * FINISH), rhs);
        Ok(report)
    }
}

/// Nodes a task copies at a time.
const FINISH: usize = 2048;

/// Partial sums of all domains, in order.
fn total<S: Real>(domains: &[Domain<S>]) -> [S; 2] {
    let mut sums = [S::ZERO; 2];
    for domain in domains {
        sums = [sums[0] + domain.sums[0], sums[1] + domain.sums[1]];
    }
    sums
}

#[inline(always)]
fn dot<S: Real>(a: &[S; 3], b: &[S; 3]) -> S {
    (a[0] * b[0] + a[1] * b[1]) + a[2] * b[2]
}

/// Σ a·b over a domain: four running sums.
#[inline(always)]
fn dots<S: Real>(a: &[[S; 3]], b: &[[S; 3]]) -> S {
    let mut sums = [S::ZERO; 4];
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        sums[i % 4] = sums[i % 4] + dot(a, b);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

struct Refresh<'a, S> {
    rows: &'a Domains,
    values: &'a [S],
}

impl<S: Real> Task<Domain<S>> for Refresh<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _: usize, own: &mut [Domain<S>]) {
        own[0].fault = own[0].factor.refresh(self.rows, self.values).err();
    }
}

/// x = 0, r = b, z = M⁻¹ r.
struct Start<'a, S> {
    rows: &'a Domains,
    rhs: &'a [S],
}

impl<S: Real> Task<Domain<S>> for Start<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Domain<S>]) {
        let Domain { factor, x, r, z, sums, .. } = &mut own[0];
        let first = self.rows.cuts[index];
        let (rhs, _) = self.rhs.as_chunks::<3>();
        for (i, r) in r.iter_mut().enumerate() {
            *r = rhs[self.rows.nodes[first + i] as usize];
        }
        x.fill([S::ZERO; 3]);
        factor.apply(r, z);
        *sums = [dots(r, z), dots(r, r)];
    }
}

struct Direct<'a, S> {
    domains: &'a [Domain<S>],
    beta: S,
}

impl<S: Real> Task<[S; 3]> for Direct<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [[S; 3]]) {
        for (p, z) in own.iter_mut().zip(&self.domains[index].z) {
            for a in 0..3 {
                p[a] = z[a] + self.beta * p[a];
            }
        }
    }
}

struct Multiply<'a, S> {
    rows: &'a Domains,
    values: &'a [S],
    p: &'a [[S; 3]],
}

impl<S: Real> Task<Domain<S>> for Multiply<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Domain<S>]) {
        let Domain { q, sums, .. } = &mut own[0];
        let first = self.rows.cuts[index];
        for (i, q) in q.iter_mut().enumerate() {
            *q = row_times(self.rows, first + i, self.values, self.p);
        }
        *sums = [dots(&self.p[first..first + q.len()], q), S::ZERO];
    }
}

/// One row of A x: stored blocks first, then transposed ones.
#[inline(always)]
pub(super) fn row_times<S: Real>(rows: &Domains, row: usize, values: &[S], x: &[[S; 3]]) -> [S; 3] {
    let [stored, transposed] = rows.row(row);
    let mut sum = [S::ZERO; 3];
    for item in stored {
        let y = times(&block(values, item.entry as usize), &x[item.column as usize]);
        sum = [sum[0] + y[0], sum[1] + y[1], sum[2] + y[2]];
    }
    for item in transposed {
        let y = times_by_rows(&block(values, item.entry as usize), &x[item.column as usize]);
        sum = [sum[0] + y[0], sum[1] + y[1], sum[2] + y[2]];
    }
    sum
}

struct Advance<'a, S> {
    rows: &'a Domains,
    p: &'a [[S; 3]],
    alpha: S,
}

impl<S: Real> Task<Domain<S>> for Advance<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Domain<S>]) {
        let Domain { factor, x, r, z, q, sums, .. } = &mut own[0];
        let p = &self.p[self.rows.cuts[index]..self.rows.cuts[index + 1]];
        for (i, p) in p.iter().enumerate() {
            for a in 0..3 {
                x[i][a] = x[i][a] + self.alpha * p[a];
                r[i][a] = r[i][a] - self.alpha * q[i][a];
            }
        }
        factor.apply(r, z);
        *sums = [dots(r, z), dots(r, r)];
    }
}

/// Copies the solution into node order.
struct Finish<'a, S> {
    rows: &'a Domains,
    domains: &'a [Domain<S>],
}

impl<S: Real> Task<S> for Finish<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [S]) {
        for (k, to) in own.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let row = self.rows.places[index * FINISH + k] as usize;
            let domain = self.rows.cuts.partition_point(|&cut| cut <= row) - 1;
            *to = self.domains[domain].x[row - self.rows.cuts[domain]];
        }
    }
}
