//! Substitution through one panel of a factor, for one right-hand side.
//!
//! Four columns go through memory together; dot products keep eight running sums in a fixed order, so that every instruction
//! set gives the same bits.

use super::branches::{Front, Part};
use super::dense::Dense;

/// Columns that go through memory together.
const STRIP: usize = 4;

/// Copies one right-hand side of a front's own rows, `K` numbers each.
#[inline(always)]
fn gather<S: Dense, const K: usize>(to: &mut [S], from: &[S], lot: usize, plane: usize) {
    for (to, from) in to.as_chunks_mut::<K>().0.iter_mut().zip(from.chunks_exact(lot)) {
        to.copy_from_slice(&from[plane..plane + K]);
    }
}

/// Right-hand side `plane` of rows of `lot` numbers, `K` of them its own.
///
/// Solves L₁₁ y = b for the front's own rows of `x` and adds −L₂₁ y to the rows below; `front` is scratch.
#[inline(always)]
pub(super) fn forward<S: Dense, const K: usize>(
    part: &Part,
    one: &Front,
    (lot, plane): (usize, usize),
    panels: &[S],
    x: &mut [S],
    front: &mut [S],
) {
    let (c, r) = (one.columns * K, one.rows.len() * K);
    let height = c + r;
    let panel = &panels[one.panel..one.panel + height * c];
    let front = &mut front[..height];
    gather::<S, K>(&mut front[..c], &x[one.start * lot..], lot, plane);
    front[c..].fill(S::ZERO);
    let mut j = 0;
    while j < c {
        let strip = STRIP.min(c - j);
        let mut y = [S::ZERO; STRIP];
        for k in 0..strip {
            let column = &panel[(j + k) * height..(j + k + 1) * height];
            y[k] = front[j + k] / column[j + k];
            front[j + k] = y[k];
            for i in j + k + 1..j + strip {
                front[i] = front[i] - column[i] * y[k];
            }
        }
        let rest = &mut front[j + strip..];
        if strip == STRIP {
            let [a, b, c, d] = strip_columns(panel, height, j);
            for i in 0..rest.len().min(a.len()).min(b.len()).min(c.len()).min(d.len()) {
                rest[i] = rest[i] - ((a[i] * y[0] + b[i] * y[1]) + (c[i] * y[2] + d[i] * y[3]));
            }
        } else {
            for k in 0..strip {
                let column = &panel[(j + k) * height + j + strip..(j + k + 1) * height];
                for (to, &l) in rest.iter_mut().zip(column) {
                    *to = *to - l * y[k];
                }
            }
        }
        j += strip;
    }
    for (from, to) in front[..c].as_chunks::<K>().0.iter().zip(x[one.start * lot..].chunks_exact_mut(lot)) {
        to[plane..plane + K].copy_from_slice(from);
    }
    for (k, &row) in part.rows[one.rows.clone()].iter().enumerate() {
        for a in 0..K {
            let at = row as usize * lot + plane + a;
            x[at] = x[at] + front[c + k * K + a];
        }
    }
}

/// Solves L₁₁ᵀ x = y − L₂₁ᵀ x_below for the front's own rows of `x`; `front` is scratch.
#[inline(always)]
pub(super) fn backward<S: Dense, const K: usize>(
    part: &Part,
    one: &Front,
    (lot, plane): (usize, usize),
    panels: &[S],
    x: &mut [S],
    front: &mut [S],
) {
    let (c, r) = (one.columns * K, one.rows.len() * K);
    let height = c + r;
    let panel = &panels[one.panel..one.panel + height * c];
    let front = &mut front[..height];
    gather::<S, K>(&mut front[..c], &x[one.start * lot..], lot, plane);
    for (k, &row) in part.rows[one.rows.clone()].iter().enumerate() {
        for a in 0..K {
            front[c + k * K + a] = x[row as usize * lot + plane + a];
        }
    }
    // From the last column to the first; the short strip, if any, is the last one of `forward`.
    let mut end = c;
    while end > 0 {
        let strip = if end % STRIP == 0 { STRIP } else { end % STRIP };
        let j = end - strip;
        let mut sums = [S::ZERO; STRIP];
        if strip == STRIP {
            sums = dots(strip_columns(panel, height, j), &front[end..]);
        } else {
            for k in 0..strip {
                let column = &panel[(j + k) * height + end..(j + k + 1) * height];
                sums[k] = dots([column; 1], &front[end..])[0];
            }
        }
        for k in (0..strip).rev() {
            let column = &panel[(j + k) * height..(j + k + 1) * height];
            let mut sum = sums[k];
            for i in j + k + 1..end {
                sum = sum + column[i] * front[i];
            }
            front[j + k] = (front[j + k] - sum) / column[j + k];
        }
        end = j;
    }
    for (from, to) in front[..c].as_chunks::<K>().0.iter().zip(x[one.start * lot..].chunks_exact_mut(lot)) {
        to[plane..plane + K].copy_from_slice(from);
    }
}

/// Four neighbouring columns of a panel below row `j` + 4.
#[inline(always)]
fn strip_columns<S>(panel: &[S], height: usize, j: usize) -> [&[S]; STRIP] {
    let below = j + STRIP;
    [
        &panel[j * height + below..(j + 1) * height],
        &panel[(j + 1) * height + below..(j + 2) * height],
        &panel[(j + 2) * height + below..(j + 3) * height],
        &panel[(j + 3) * height + below..(j + 4) * height],
    ]
}

/// Dot products of columns with a vector: eight running sums each, joined as a tree, then the tail in order.
#[inline(always)]
fn dots<S: Dense, const M: usize>(columns: [&[S]; M], x: &[S]) -> [S; M] {
    let (chunks, tail) = x.as_chunks::<8>();
    let mut sums = [[S::ZERO; 8]; M];
    for (at, x) in chunks.iter().enumerate() {
        for m in 0..M {
            let column = &columns[m][at * 8..at * 8 + 8];
            for l in 0..8 {
                sums[m][l] = sums[m][l] + column[l] * x[l];
            }
        }
    }
    let mut out = [S::ZERO; M];
    for m in 0..M {
        let s = &sums[m];
        let mut sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
        for (i, &x) in tail.iter().enumerate() {
            sum = sum + columns[m][chunks.len() * 8 + i] * x;
        }
        out[m] = sum;
    }
    out
}
