//! Preconditioners: cheap stand-ins M for a matrix, applied inside a domain.
//!
//! Both forms of M are symmetric positive definite whatever happens: an incomplete pivot that fails is replaced by the
//! pivot of the matrix itself.

use pliant_core::lane::Real;

use super::NONE;
use super::domains::Domains;

/// A 3 × 3 block by columns.
type Block<S> = [S; 9];

/// How a domain's residual is preconditioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Preconditioner {
    /// Inverse of every diagonal block.
    BlockJacobi,
    /// Incomplete Cholesky factor with the pattern of the matrix, by 3 × 3 blocks; couplings between domains are left out.
    #[default]
    BlockIc,
}

/// The incomplete factor L of a domain, row by row; block Jacobi has rows without blocks.
#[derive(Clone, Debug)]
pub(super) struct Incomplete<S> {
    /// First row of the domain.
    first: usize,
    starts: Vec<u32>,
    /// Column of every block, local to the domain, rising in a row.
    columns: Vec<u32>,
    /// Entry of the pattern · 2 + transposed, for every block.
    sources: Vec<u32>,
    blocks: Vec<Block<S>>,
    /// L_ii⁻¹ of every row.
    pivots: Vec<Block<S>>,
    /// Block of the row at hand in every column, or [`NONE`].
    marks: Vec<u32>,
}

impl<S: Real> Incomplete<S> {
    pub fn new(domains: &Domains, domain: usize, kind: Preconditioner) -> Self {
        let rows = domains.cuts[domain]..domains.cuts[domain + 1];
        let (mut starts, mut columns, mut sources) = (vec![0], Vec::new(), Vec::new());
        for row in rows.clone() {
            let mut blocks: Vec<(u32, u32)> = Vec::new();
            if kind == Preconditioner::BlockIc {
                for (transposed, items) in domains.row(row).into_iter().enumerate() {
                    let inside = items.iter().filter(|item| (rows.start..row).contains(&(item.column as usize)));
                    blocks.extend(inside.map(|i| (i.column - rows.start as u32, i.entry * 2 + transposed as u32)));
                }
                blocks.sort_unstable();
            }
            columns.extend(blocks.iter().map(|b| b.0));
            sources.extend(blocks.iter().map(|b| b.1));
            starts.push(columns.len() as u32);
        }
        let blocks = vec![[S::ZERO; 9]; columns.len()];
        let pivots = vec![[S::ZERO; 9]; rows.len()];
        Self { first: rows.start, starts, columns, sources, blocks, marks: vec![NONE; rows.len()], pivots }
    }

    /// Factors the domain anew. Fails with the row whose diagonal block is not positive definite.
    pub fn refresh(&mut self, domains: &Domains, values: &[S]) -> Result<(), usize> {
        for row in 0..self.pivots.len() {
            let own = self.starts[row] as usize..self.starts[row + 1] as usize;
            for at in own.clone() {
                self.marks[self.columns[at] as usize] = at as u32;
            }
            let entry = domains.diagonal[self.first + row] as usize;
            let diagonal = block(values, entry);
            let mut pivot = diagonal;
            for at in own.clone() {
                let j = self.columns[at] as usize;
                let source = self.sources[at];
                let mut sum = block(values, source as usize / 2);
                if source % 2 == 1 {
                    sum = transpose(&sum);
                }
                // L_ij = (A_ij − Σ_k L_ik L_jkᵀ) L_jj⁻ᵀ
                for other in self.starts[j] as usize..self.starts[j + 1] as usize {
                    let mark = self.marks[self.columns[other] as usize];
                    if mark != NONE {
                        subtract_product(&mut sum, &self.blocks[mark as usize], &self.blocks[other]);
                    }
                }
                let l = times_transposed(&sum, &self.pivots[j]);
                self.blocks[at] = l;
                subtract_product(&mut pivot, &l, &l);
            }
            for at in own {
                self.marks[self.columns[at] as usize] = NONE;
            }
            // L_ii L_iiᵀ = A_ii − Σ_k L_ik L_ikᵀ, or A_ii alone where dropped entries were missed too much.
            self.pivots[row] = inverse_factor(&pivot).or_else(|| inverse_factor(&diagonal)).ok_or(self.first + row)?;
        }
        Ok(())
    }

    /// z = (L Lᵀ)⁻¹ r.
    #[inline(always)]
    pub fn apply(&self, r: &[[S; 3]], z: &mut [[S; 3]]) {
        for row in 0..self.pivots.len() {
            let mut sum = r[row];
            for at in self.starts[row] as usize..self.starts[row + 1] as usize {
                let (l, y) = (&self.blocks[at], z[self.columns[at] as usize]);
                for a in 0..3 {
                    sum[a] = sum[a] - ((l[a] * y[0] + l[3 + a] * y[1]) + l[6 + a] * y[2]);
                }
            }
            z[row] = times(&self.pivots[row], &sum);
        }
        for row in (0..self.pivots.len()).rev() {
            let y = times_by_rows(&self.pivots[row], &z[row]);
            z[row] = y;
            for at in self.starts[row] as usize..self.starts[row + 1] as usize {
                let (l, to) = (&self.blocks[at], &mut z[self.columns[at] as usize]);
                for a in 0..3 {
                    to[a] = to[a] - ((l[3 * a] * y[0] + l[3 * a + 1] * y[1]) + l[3 * a + 2] * y[2]);
                }
            }
        }
    }
}

/// The block of an entry.
#[inline(always)]
pub(super) fn block<S: Real>(values: &[S], entry: usize) -> Block<S> {
    let mut block = [S::ZERO; 9];
    block.copy_from_slice(&values[entry * 9..entry * 9 + 9]);
    block
}

fn transpose<S: Real>(b: &Block<S>) -> Block<S> {
    [b[0], b[3], b[6], b[1], b[4], b[7], b[2], b[5], b[8]]
}

/// B x.
#[inline(always)]
pub(super) fn times<S: Real>(b: &Block<S>, x: &[S; 3]) -> [S; 3] {
    let mut y = [S::ZERO; 3];
    for a in 0..3 {
        y[a] = (b[a] * x[0] + b[3 + a] * x[1]) + b[6 + a] * x[2];
    }
    y
}

/// Bᵀ x.
#[inline(always)]
pub(super) fn times_by_rows<S: Real>(b: &Block<S>, x: &[S; 3]) -> [S; 3] {
    let mut y = [S::ZERO; 3];
    for a in 0..3 {
        y[a] = (b[3 * a] * x[0] + b[3 * a + 1] * x[1]) + b[3 * a + 2] * x[2];
    }
    y
}

/// to −= a bᵀ.
#[inline(always)]
fn subtract_product<S: Real>(to: &mut Block<S>, a: &Block<S>, b: &Block<S>) {
    for column in 0..3 {
        for row in 0..3 {
            let dot = (a[row] * b[column] + a[3 + row] * b[3 + column]) + a[6 + row] * b[6 + column];
            to[3 * column + row] = to[3 * column + row] - dot;
        }
    }
}

/// a bᵀ.
#[inline(always)]
fn times_transposed<S: Real>(a: &Block<S>, b: &Block<S>) -> Block<S> {
    let mut product = [S::ZERO; 9];
    subtract_product(&mut product, a, b);
    product.map(|v| -v)
}

/// L⁻¹ with L Lᵀ = b, from the lower triangle; nothing when b is not positive definite.
fn inverse_factor<S: Real>(b: &Block<S>) -> Option<Block<S>> {
    let positive = |v: S| (v > S::ZERO && v.is_finite()).then(|| v.sqrt());
    let l00 = positive(b[0])?;
    let (l10, l20) = (b[1] / l00, b[2] / l00);
    let l11 = positive(b[4] - l10 * l10)?;
    let l21 = (b[5] - l20 * l10) / l11;
    let l22 = positive((b[8] - l20 * l20) - l21 * l21)?;
    let (m00, m11, m22) = (S::ONE / l00, S::ONE / l11, S::ONE / l22);
    let m10 = -(l10 * m00) * m11;
    let m21 = -(l21 * m11) * m22;
    let m20 = -(l20 * m00 + l21 * m10) * m22;
    Some([m00, m10, m20, S::ZERO, m11, m21, S::ZERO, S::ZERO, m22])
}
