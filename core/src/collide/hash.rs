//! A spatial hash: boxes sorted into the cells of a grid, where only cell mates are compared.
//!
//! Simpler than a tree and as fast when all primitives are of about one size; primitives much larger than a cell are kept
//! apart and compared with everything. Cells are listed by sorting, not in a hash table: no collisions, no random order.

use super::aabb::Aabb;
use super::leaves::{Leaf, Leaves, may_meet};
use super::query::Pairs;
use super::{CollideError, curve};
use crate::lane::{BLOCK, Real};

/// Cells a box may cover before it counts as large.
const MOST_CELLS: u32 = 64;
/// Cells an axis has at most: three coordinates fit into the upper part of a key beside the primitive's number.
const AXIS_CELLS: f64 = 1024.0;

/// A grid of cells with the boxes in them; keeps its memory between uses.
#[derive(Clone, Debug, Default)]
pub struct SpatialHash {
    /// Cell (upper 32 bits) and primitive of each entry, sorted.
    entries: Vec<u64>,
    other: Vec<u64>,
    large: Vec<u32>,
    identity: Vec<u32>,
    leaves: Vec<Leaf<f32>>,
}

/// The grid of one query.
struct Grid {
    low: [f64; 3],
    inv_cell: f64,
}

impl Grid {
    /// The cell of a coordinate; monotonic, so that boxes that overlap share a cell.
    fn cell(&self, v: f64, axis: usize) -> u32 {
        // The conversion saturates at 0.
        (((v - self.low[axis]) * self.inv_cell) as u32).min(AXIS_CELLS as u32 - 1)
    }

    fn corner<S: Real>(&self, corner: [S; 3]) -> [u32; 3] {
        [0, 1, 2].map(|k| self.cell(corner[k].to_f64(), k))
    }
}

fn key(cell: [u32; 3]) -> u64 {
    u64::from(cell[0] << 20 | cell[1] << 10 | cell[2])
}

impl SpatialHash {
    /// No cells yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// All pairs whose boxes overlap, the lower primitive first, each once, in ascending order.
    ///
    /// `cell` is the side of a cell \[m\]; `None` takes one and a half times the mean extent of a box, which suits
    /// primitives of one size. Cells are enlarged where 1024 of them would not span the boxes along an axis.
    ///
    /// # Errors
    /// A box that is not finite or inverted, another number of `leaves` than of boxes, a cell that is not positive.
    pub fn pairs<S: Real>(
        &mut self,
        boxes: &[Aabb<S>],
        leaves: &Leaves<'_>,
        cell: Option<f64>,
        pairs: &mut Pairs,
    ) -> Result<(), CollideError> {
        Aabb::check(boxes)?;
        leaves.check(boxes.len())?;
        if let Some(cell) = cell
            && !(cell > 0.0 && cell.is_finite())
        {
            let expected = "a finite length above 0, or none";
            return Err(CollideError::BadOption { name: "the side of a cell", value: cell, expected });
        }
        self.identity.clear();
        self.identity.extend(0..boxes.len() as u32);
        leaves.collect(&self.identity, &mut self.leaves);
        let grid = grid(boxes, cell);
        self.sort_into_cells(boxes, &grid);

        let list = pairs.list_mut();
        list.clear();
        let mut emit = |leaves: &[Leaf<f32>], a: u32, b: u32| {
            let (i, j) = (a as usize, b as usize);
            let allowed = may_meet(&leaves[i / BLOCK], i % BLOCK, &leaves[j / BLOCK]) >> (j % BLOCK) & 1 == 1;
            if allowed && boxes[i].overlaps(&boxes[j]) {
                list.push([a.min(b), a.max(b)]);
            }
        };
        for mates in self.entries.chunk_by(|a, b| a >> 32 == b >> 32) {
            for (k, &first) in mates.iter().enumerate() {
                for &second in &mates[k + 1..] {
                    let (a, b) = (first as u32, second as u32);
                    // Of the cells both are in, only that of the higher of their lowest corners reports them.
                    let (p, q) = (boxes[a as usize].low(), boxes[b as usize].low());
                    let home = grid.corner([0, 1, 2].map(|k| if p[k] > q[k] { p[k] } else { q[k] }));
                    if key(home) == first >> 32 {
                        emit(&self.leaves, a, b);
                    }
                }
            }
        }
        for (k, &a) in self.large.iter().enumerate() {
            for b in 0..boxes.len() as u32 {
                // Two large ones are compared once.
                if b != a && self.large[..=k].binary_search(&b).is_err() {
                    emit(&self.leaves, a, b);
                }
            }
        }
        pairs.sort();
        Ok(())
    }

    fn sort_into_cells<S: Real>(&mut self, boxes: &[Aabb<S>], grid: &Grid) {
        self.entries.clear();
        self.large.clear();
        for (id, aabb) in boxes.iter().enumerate() {
            let (low, high) = (grid.corner(aabb.low()), grid.corner(aabb.high()));
            let count = (0..3).map(|k| high[k] - low[k] + 1).fold(1_u32, u32::saturating_mul);
            if count > MOST_CELLS {
                self.large.push(id as u32);
                continue;
            }
            for x in low[0]..=high[0] {
                for y in low[1]..=high[1] {
                    for z in low[2]..=high[2] {
                        self.entries.push(key([x, y, z]) << 32 | id as u64);
                    }
                }
            }
        }
        curve::radix_sort(&mut self.entries, &mut self.other, 32, 30);
    }
}

/// Where the grid begins and how fine it is.
fn grid<S: Real>(boxes: &[Aabb<S>], cell: Option<f64>) -> Grid {
    let mut whole = Aabb::empty();
    let mut extent = 0.0;
    for aabb in boxes {
        whole = whole.union(aabb);
        let (low, high) = (aabb.low(), aabb.high());
        extent += (0..3).fold(0.0_f64, |m, k| m.max(high[k].to_f64() - low[k].to_f64()));
    }
    let mean = extent / boxes.len().max(1) as f64;
    let (low, high) = (whole.low().map(S::to_f64), whole.high().map(S::to_f64));
    let widest = (0..3).fold(0.0_f64, |m, k| m.max(high[k] - low[k]));
    let side = cell.unwrap_or(1.5 * mean).max(widest / (AXIS_CELLS - 1.0));
    // All boxes in one point: one cell.
    let inv_cell = if side > 0.0 && (1.0 / side).is_finite() { 1.0 / side } else { 0.0 };
    Grid { low, inv_cell }
}
