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
//! G is stored in tiles of eight rows, column by column, without the zeros above L₁₁⁻¹'s diagonal tiles. A node's right-hand
//! sides are one row of four numbers, turned into lanes and back in registers. Rewriting costs about as much as factoring:
//! worth it when a factor is used many times (Projective Dynamics), not when it is used once.

use core::ops::Range;

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::lane::{BLOCK, Lane, Octet, Real};

use super::branches::{Branches, Part};
use super::cholesky::{Cholesky, length};
use super::dense::Dense;
use super::error::LinearError;
use super::substitution::{Share, Substitution, solve};

/// Most columns of a piece: the inverse of a larger block costs more rounding than it saves.
const PIECE: usize = 64;
/// Right-hand sides.
const LOT: usize = 3;
/// Numbers of a row: the right-hand sides and an idle one.
const ROW: usize = 4;
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
    /// Own columns and rows below.
    height: usize,
    /// Range of `Pieces::places`: eight a tile.
    tiles: Range<usize>,
    /// First octet of `Pieces::tiles`.
    first: usize,
    /// First number of the supernode's panel, its height, and the piece's first column in it.
    panel: [usize; 3],
}

/// The pieces of a part.
#[derive(Debug)]
struct Pieces<S> {
    pieces: Vec<Piece>,
    /// Rows of every tile, local to the part: own columns, rows below, and any row again to fill the last tile.
    places: Vec<[u32; BLOCK]>,
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

/// Octets in the tiles before this one: 8, 16, … columns, then all of them.
#[inline(always)]
fn tile_start(tile: usize, columns: usize) -> usize {
    let short = tile.min(columns / BLOCK);
    BLOCK * short * (short + 1) / 2 + (tile - short) * columns
}

impl<S: Dense> Pieces<S> {
    fn new(part: &Part) -> Self {
        let mut own = Self { pieces: vec![], places: vec![], tiles: vec![], gathered: vec![], inverse: vec![] };
        let (mut tallest, mut largest, mut octets) = (0, 0, 0);
        for front in &part.fronts {
            let (inner, below) = (front.start..front.start + front.columns, &part.rows[front.rows.clone()]);
            let rows: Vec<u32> = inner.map(|column| column as u32).chain(below.iter().copied()).collect();
            for first in (0..front.columns).step_by(PIECE) {
                let columns = PIECE.min(front.columns - first);
                let rows = &rows[first..];
                let (start, height) = (own.places.len(), rows.len());
                let tile = |rows: &[u32]| core::array::from_fn(|l| rows.get(l).copied().unwrap_or(rows[0]));
                own.places.extend(rows.chunks(BLOCK).map(tile));
                let tiles = start..own.places.len();
                tallest = tallest.max(tiles.len());
                largest = largest.max(height * columns);
                let panel = [front.panel, front.columns + below.len(), first];
                let octet_count = tile_start(tiles.len(), columns);
                own.pieces.push(Piece { start: front.start + first, columns, height, tiles, first: octets, panel });
                octets += octet_count;
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
            let inverse = &mut self.inverse[..piece.height * piece.columns];
            // The panel ends where the next begins; only the piece's columns are read.
            S::invert(&panels[panel..panel + height * (first + piece.columns)], height, first, piece.columns, inverse);
            let mut at = piece.first;
            for tile in 0..piece.tiles.len() {
                for column in 0..tile_columns(tile, piece.columns) {
                    let from = &inverse[column * piece.height + tile * BLOCK..(column + 1) * piece.height];
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
        let mut tiles = Self::room(factor)?;
        tiles.refresh(factor, on)?;
        Ok(tiles)
    }

    /// Sets memory aside for a factor that has no numbers yet; to be refreshed before solving.
    pub fn room(factor: &Cholesky<S>) -> Result<Self, LinearError> {
        if factor.block() != 1 {
            return Err(LinearError::Block { block: factor.block() });
        }
        let tree = factor.tree().clone();
        let share = |part: &Part| Share::new(Pieces::new(part), part, ROW);
        let shares = tree.branches.iter().chain([&tree.top]).map(share).collect();
        Ok(Self { tree, shares })
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
    fn stride(_: usize) -> usize {
        ROW
    }

    #[inline(always)]
    fn forward<L: Lane<Scalar = S>>(&mut self, _: &Part, x: &mut [S], _: usize) {
        let (x, _) = x.as_chunks_mut::<ROW>();
        for piece in &self.pieces {
            let places = &self.places[piece.tiles.clone()];
            let tiles = &self.tiles[piece.first..][..tile_start(places.len(), piece.columns)];
            let mut own = piece.columns.div_ceil(BLOCK);
            // Tiles below the triangle in pairs that share the loads of b; one more joins the triangle when they are odd.
            own += (places.len() - own) % 2;
            let below = &tiles[tile_start(own, piece.columns)..];
            for (pair, places) in below.chunks_exact(2 * piece.columns).zip(places[own..].as_chunks::<2>().0) {
                let (upper, lower) = pair.split_at(piece.columns);
                let b = &x[piece.start..][..piece.columns];
                let rows = products::<L, 2>([upper, lower], b);
                add_rows(&rows[0], &places[0], x);
                add_rows(&rows[1], &places[1], x);
            }
            // From the last tile to the first: a tile needs b up to its own rows only, and those before still hold it.
            for tile in (0..own).rev() {
                let b = &x[piece.start..][..tile_columns(tile, piece.columns)];
                let [rows] = products::<L, 1>([&tiles[tile_start(tile, piece.columns)..][..b.len()]], b);
                let replaced = piece.columns.saturating_sub(tile * BLOCK).min(BLOCK);
                for l in 0..(piece.height - tile * BLOCK).min(BLOCK) {
                    let to = &mut x[places[tile][l] as usize];
                    let before = if l < replaced { [S::ZERO; ROW] } else { *to };
                    *to = (S::Quad::from(before) + S::Quad::from(rows[l])).into();
                }
            }
        }
    }

    #[inline(always)]
    fn backward<L: Lane<Scalar = S>>(&mut self, _: &Part, x: &mut [S], _: usize) {
        let (x, _) = x.as_chunks_mut::<ROW>();
        for piece in self.pieces.iter().rev() {
            let places = &self.places[piece.tiles.clone()];
            let gathered = &mut self.gathered[..places.len()];
            for (to, places) in gathered.iter_mut().zip(places) {
                let mut rows = [&x[places[0] as usize]; BLOCK];
                for l in 1..BLOCK {
                    rows[l] = &x[places[l] as usize];
                }
                let mut at = 0;
                while at < BLOCK {
                    let columns = L::turn_rows(rows, at);
                    for k in 0..LOT {
                        columns[k].store(&mut to[k], at);
                    }
                    at += L::WIDTH;
                }
            }
            let tiles = &self.tiles[piece.first..][..tile_start(places.len(), piece.columns)];
            transposed_products::<L>(tiles, gathered, &mut x[piece.start..][..piece.columns]);
        }
    }
}

/// Adds rows to those that `places` names. Rows that fill up the last tile are zero.
#[inline(always)]
fn add_rows<S: Real>(rows: &[[S; ROW]; BLOCK], places: &[u32; BLOCK], x: &mut [[S; ROW]]) {
    for l in 0..BLOCK {
        let to = &mut x[places[l] as usize];
        *to = (S::Quad::from(*to) + S::Quad::from(rows[l])).into();
    }
}

/// G b of `T` tiles, as rows.
#[inline(always)]
fn products<L: Lane, const T: usize>(
    tiles: [&[Octet<L::Scalar>]; T],
    b: &[[L::Scalar; ROW]],
) -> [[[L::Scalar; ROW]; BLOCK]; T] {
    let mut rows = [[[L::Scalar::ZERO; ROW]; BLOCK]; T];
    let mut at = 0;
    while at < BLOCK {
        let mut sums = [[L::zero(); LOT]; T];
        for j in 0..b.len() {
            let mut g = [L::zero(); T];
            for t in 0..T {
                g[t] = L::load(&tiles[t][j], at);
            }
            for k in 0..LOT {
                let b = L::splat(b[j][k]);
                for t in 0..T {
                    sums[t][k] = sums[t][k] + g[t] * b;
                }
            }
        }
        for t in 0..T {
            L::turn_columns(sums[t], &mut rows[t], at);
        }
        at += L::WIDTH;
    }
    rows
}

/// x = Gᵀ v, eight columns at a time.
#[inline(always)]
fn transposed_products<L: Lane>(tiles: &[Octet<L::Scalar>], v: &[[Octet<L::Scalar>; LOT]], x: &mut [[L::Scalar; ROW]]) {
    let columns = x.len();
    for (tile, x) in x.chunks_mut(BLOCK).enumerate() {
        let first = tile_start(tile, columns);
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
        let mut rows = [[L::Scalar::ZERO; ROW]; BLOCK];
        let mut at = 0;
        while at < BLOCK {
            L::turn_columns([L::load(&sums[0], at), L::load(&sums[1], at), L::load(&sums[2], at)], &mut rows, at);
            at += L::WIDTH;
        }
        x.copy_from_slice(&rows[..x.len()]);
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
