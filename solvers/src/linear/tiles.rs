//! Inverse-panel tiles: a factor rewritten so that three right-hand sides pass through it without recurrence.
//!
//! A supernode is cut into pieces of at most 64 columns. For a piece with diagonal block L₁₁ and rows below L₂₁, keep
//! G = [L₁₁⁻¹; −L₂₁L₁₁⁻¹]. Then substitution is two products with the same numbers:
//!
//! ```text
//! forward   [y; Δ] = G b           Δ is added to the rows below
//! backward  x = Gᵀ [y; x_below]
//! ```
//!
//! G is stored in tiles of eight rows, column by column, without the zeros above L₁₁⁻¹'s diagonal tiles. Rewriting costs about
//! as much as factoring: worth it when a factor is used many times (Projective Dynamics), not when it is used once.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::lane::{BLOCK, Lane, Octet, Real};

use super::branches::{Branches, Part};
use super::cholesky::{Cholesky, length};
use super::dense::Dense;
use super::error::LinearError;
use super::substitution::{Share, Substitution, solve};

/// Most columns of a piece: the inverse of a larger block costs more zeros and rounding than it saves.
const PIECE: usize = 64;
/// Right-hand sides.
const LOT: usize = 3;
/// Columns whose dot products run together in the backward pass.
const TEAM: usize = 4;

/// The factor of an n × n matrix in a form that solves three right-hand sides fast.
#[derive(Debug)]
pub struct Tiles<S> {
    tree: Branches,
    shares: Vec<Share<Pieces<S>, S>>,
}

/// Up to 64 columns of a supernode.
#[derive(Clone, Debug)]
struct Piece {
    /// First own column, local to the part.
    start: usize,
    columns: usize,
    /// Range of `Pieces::rows`: rows below, local to the part.
    rows: core::ops::Range<usize>,
    /// First octet of `Pieces::tiles`.
    tile: usize,
    /// First number of the supernode's panel, its height, and the piece's first column in it.
    panel: [usize; 3],
}

/// The pieces of a part.
#[derive(Debug)]
struct Pieces<S> {
    pieces: Vec<Piece>,
    rows: Vec<u32>,
    tiles: Vec<Octet<S>>,
    /// Rows of one piece, tile by tile: an octet of every right-hand side.
    gathered: Vec<[Octet<S>; LOT]>,
    /// G of one piece by columns, while tiles are written.
    inverse: Vec<S>,
}

/// Columns of a tile: those that do not lie right of the diagonal.
#[inline(always)]
fn tile_columns(tile: usize, columns: usize) -> usize {
    columns.min((tile + 1) * BLOCK)
}

impl<S: Dense> Pieces<S> {
    fn new(part: &Part) -> Self {
        let mut own = Self { pieces: vec![], rows: vec![], tiles: vec![], gathered: vec![], inverse: vec![] };
        let (mut tallest, mut largest, mut octets) = (0, 0, 0);
        for front in &part.fronts {
            let height = front.columns + front.rows.len();
            let mut first = 0;
            while first < front.columns {
                let columns = PIECE.min(front.columns - first);
                let (start, end) = (own.rows.len(), front.start + front.columns);
                own.rows.extend((front.start + first + columns..end).map(|column| column as u32));
                own.rows.extend(&part.rows[front.rows.clone()]);
                own.pieces.push(Piece {
                    start: front.start + first,
                    columns,
                    rows: start..own.rows.len(),
                    tile: octets,
                    panel: [front.panel, height, first],
                });
                let tiles = (height - first).div_ceil(BLOCK);
                octets += (0..tiles).map(|t| tile_columns(t, columns)).sum::<usize>();
                tallest = tallest.max(tiles);
                largest = largest.max((height - first) * columns);
                first += columns;
            }
        }
        own.tiles = vec![Octet([S::ZERO; BLOCK]); octets];
        own.gathered = vec![[Octet([S::ZERO; BLOCK]); LOT]; tallest];
        own.inverse = vec![S::ZERO; largest];
        own
    }

    /// Rewrites the panels of the part.
    fn refresh(&mut self, panels: &[S]) {
        for piece in &self.pieces {
            let [panel, height, first] = piece.panel;
            let rows = height - first;
            let inverse = &mut self.inverse[..rows * piece.columns];
            // The panel ends where the next begins; only the piece's columns are read.
            S::invert(&panels[panel..panel + height * (first + piece.columns)], height, first, piece.columns, inverse);
            let mut at = piece.tile;
            for tile in 0..rows.div_ceil(BLOCK) {
                for column in 0..tile_columns(tile, piece.columns) {
                    let from = &inverse[column * rows + tile * BLOCK..(column + 1) * rows];
                    let octet = &mut self.tiles[at].0;
                    let count = from.len().min(BLOCK);
                    octet[..count].copy_from_slice(&from[..count]);
                    octet[count..].fill(S::ZERO);
                    at += 1;
                }
            }
        }
    }
}

impl<S: Dense> Tiles<S> {
    /// Rewrites a factor of an n × n matrix.
    pub fn new(factor: &Cholesky<S>, on: &impl Backend<Scalar = S>) -> Result<Self, LinearError> {
        if factor.block() != 1 {
            return Err(LinearError::Block { block: factor.block() });
        }
        let tree = factor.tree().clone();
        let share = |part: &Part| Share::new(Pieces::new(part), part, LOT);
        let shares = tree.branches.iter().chain([&tree.top]).map(share).collect();
        let mut tiles = Self { tree, shares };
        tiles.refresh(factor, on)?;
        Ok(tiles)
    }

    /// Takes over a new factor of the same pattern; allocates nothing.
    pub fn refresh(&mut self, factor: &Cholesky<S>, on: &impl Backend<Scalar = S>) -> Result<(), LinearError> {
        length("factor", factor.size(), self.tree.size())?;
        on.fork(&Rewrite { factor }, Cut::Every(1), &mut self.shares);
        Ok(())
    }

    /// Replaces three interleaved right-hand sides, in node order, by the solutions; allocates nothing.
    pub fn solve(&mut self, rhs: &mut [S], on: &impl Backend<Scalar = S>) -> Result<(), LinearError> {
        length("right-hand side", rhs.len(), self.tree.homes.len() * LOT)?;
        solve(&self.tree, &mut self.shares, rhs, LOT, on);
        Ok(())
    }
}

struct Rewrite<'a, S> {
    factor: &'a Cholesky<S>,
}

impl<S: Dense> Task<Share<Pieces<S>, S>> for Rewrite<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Share<Pieces<S>, S>]) {
        if let Some(panels) = self.factor.panels().nth(index) {
            own[0].form.refresh(panels);
        }
    }
}

impl<S: Dense> Substitution<S, S> for Pieces<S> {
    #[inline(always)]
    fn forward<L: Lane<Scalar = S>>(&mut self, _: &Part, x: &mut [S], _: usize) {
        let (x, _) = x.as_chunks_mut::<LOT>();
        for piece in &self.pieces {
            let rows = &self.rows[piece.rows.clone()];
            let tiles = (piece.columns + rows.len()).div_ceil(BLOCK);
            let out = &mut self.gathered[..tiles];
            products::<L>(&self.tiles[piece.tile..], piece.columns, &x[piece.start..][..piece.columns], out);
            // [y; Δ]: own rows are replaced, rows below are added to.
            let own = &mut x[piece.start..][..piece.columns];
            for (i, to) in own.iter_mut().enumerate() {
                let from = &out[i / BLOCK];
                for k in 0..LOT {
                    to[k] = from[k].0[i % BLOCK];
                }
            }
            for (i, &row) in (piece.columns..).zip(rows) {
                let (from, to) = (&out[i / BLOCK], &mut x[row as usize]);
                for k in 0..LOT {
                    to[k] = to[k] + from[k].0[i % BLOCK];
                }
            }
        }
    }

    #[inline(always)]
    fn backward<L: Lane<Scalar = S>>(&mut self, _: &Part, x: &mut [S], _: usize) {
        let (x, _) = x.as_chunks_mut::<LOT>();
        for piece in self.pieces.iter().rev() {
            let rows = &self.rows[piece.rows.clone()];
            let height = piece.columns + rows.len();
            let tiles = height.div_ceil(BLOCK);
            let gathered = &mut self.gathered[..tiles];
            // Numbers of an earlier piece behind the last row meet zeros, but must be finite.
            for k in 0..LOT {
                gathered[tiles - 1][k] = Octet([S::ZERO; BLOCK]);
            }
            let own = &mut x[piece.start..][..piece.columns];
            for (i, from) in own.iter().enumerate() {
                for k in 0..LOT {
                    gathered[i / BLOCK][k].0[i % BLOCK] = from[k];
                }
            }
            for (i, &row) in (piece.columns..).zip(rows) {
                let from = &x[row as usize];
                for k in 0..LOT {
                    gathered[i / BLOCK][k].0[i % BLOCK] = from[k];
                }
            }
            let own = &mut x[piece.start..][..piece.columns];
            transposed_products::<L>(&self.tiles[piece.tile..], gathered, own);
        }
    }
}

/// out = G b, tile by tile.
#[inline(always)]
fn products<L: Lane>(
    tiles: &[Octet<L::Scalar>],
    columns: usize,
    b: &[[L::Scalar; LOT]],
    out: &mut [[Octet<L::Scalar>; LOT]],
) {
    let mut first = 0;
    let mut t = 0;
    while t < out.len() {
        let count = tile_columns(t, columns);
        // Below the triangle two tiles share the loads of b.
        if count == columns && t + 1 < out.len() {
            let (upper, lower) = tiles[first..first + 2 * count].split_at(count);
            let (pair, _) = out[t..].split_at_mut(2);
            tile_pair::<L>([upper, lower], &b[..count], pair);
            first += 2 * count;
            t += 2;
        } else {
            one_tile::<L>(&tiles[first..first + count], &b[..count], &mut out[t]);
            first += count;
            t += 1;
        }
    }
}

#[inline(always)]
fn one_tile<L: Lane>(tile: &[Octet<L::Scalar>], b: &[[L::Scalar; LOT]], out: &mut [Octet<L::Scalar>; LOT]) {
    let mut at = 0;
    while at < BLOCK {
        let mut sums = [L::zero(); LOT];
        for j in 0..tile.len().min(b.len()) {
            let g = L::load(&tile[j], at);
            for k in 0..LOT {
                sums[k] = sums[k] + g * L::splat(b[j][k]);
            }
        }
        for k in 0..LOT {
            sums[k].store(&mut out[k], at);
        }
        at += L::WIDTH;
    }
}

#[inline(always)]
fn tile_pair<L: Lane>(tiles: [&[Octet<L::Scalar>]; 2], b: &[[L::Scalar; LOT]], out: &mut [[Octet<L::Scalar>; LOT]]) {
    let mut at = 0;
    while at < BLOCK {
        let mut sums = [[L::zero(); LOT]; 2];
        for j in 0..tiles[0].len().min(tiles[1].len()).min(b.len()) {
            let g = [L::load(&tiles[0][j], at), L::load(&tiles[1][j], at)];
            for k in 0..LOT {
                let b = L::splat(b[j][k]);
                sums[0][k] = sums[0][k] + g[0] * b;
                sums[1][k] = sums[1][k] + g[1] * b;
            }
        }
        for t in 0..2 {
            for k in 0..LOT {
                sums[t][k].store(&mut out[t][k], at);
            }
        }
        at += L::WIDTH;
    }
}

/// x = Gᵀ v, eight columns at a time.
#[inline(always)]
fn transposed_products<L: Lane>(tiles: &[Octet<L::Scalar>], v: &[[Octet<L::Scalar>; LOT]], x: &mut [[L::Scalar; LOT]]) {
    let columns = x.len();
    // First octet of the first tile that reaches these columns: tiles before it have 8, 16, … columns.
    let mut first = 0;
    for (tile, x) in x.chunks_mut(BLOCK).enumerate() {
        let mut out = [[Octet([L::Scalar::ZERO; BLOCK]); BLOCK]; LOT];
        let mut done = 0;
        while done < x.len() {
            let column = tile * BLOCK + done;
            let place = (tile, first, column, columns);
            match x.len() - done {
                1 => dots::<L, 1>(tiles, v, place, &mut out, done),
                2 => dots::<L, 2>(tiles, v, place, &mut out, done),
                3 => dots::<L, 3>(tiles, v, place, &mut out, done),
                _ => dots::<L, TEAM>(tiles, v, place, &mut out, done),
            }
            done += TEAM;
        }
        let sums = [L::sums(&out[0]), L::sums(&out[1]), L::sums(&out[2])];
        for (i, to) in x.iter_mut().enumerate() {
            for k in 0..LOT {
                to[k] = sums[k].0[i];
            }
        }
        first += tile_columns(tile, columns);
    }
}

/// Eight running sums of the dot products of `M` columns with v, from the tile on that reaches them.
#[inline(always)]
fn dots<L: Lane, const M: usize>(
    tiles: &[Octet<L::Scalar>],
    v: &[[Octet<L::Scalar>; LOT]],
    (tile, start, column, columns): (usize, usize, usize, usize),
    out: &mut [[Octet<L::Scalar>; BLOCK]; LOT],
    done: usize,
) {
    let mut at = 0;
    while at < BLOCK {
        let mut sums = [[L::zero(); LOT]; M];
        let mut first = start + column;
        for t in tile..v.len() {
            let strip = &tiles[first..first + M];
            let y = [L::load(&v[t][0], at), L::load(&v[t][1], at), L::load(&v[t][2], at)];
            for m in 0..M {
                let g = L::load(&strip[m], at);
                for k in 0..LOT {
                    sums[m][k] = sums[m][k] + g * y[k];
                }
            }
            first += tile_columns(t, columns);
        }
        for m in 0..M {
            for k in 0..LOT {
                sums[m][k].store(&mut out[k][done + m], at);
            }
        }
        at += L::WIDTH;
    }
}
