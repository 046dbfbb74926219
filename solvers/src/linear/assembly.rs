//! Assembly: matrix values are refreshed in place from the records that elements emit, without triplets or allocation.
//!
//! When the map is made, every entry of the pattern gets the list of the blocks that add into it. Refreshing then is a sum an
//! entry, in the order of the elements: no two threads write the same entry, and there is one order of summation.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::lane::{BLOCK, Lane, Real};
use pliant_core::schedule::Stencil;

use super::NONE;
use super::cholesky::length;
use super::error::LinearError;
use super::pattern::Pattern;

/// Numbers of a 3 × 3 block.
const SIZE: usize = 9;
/// Entries a task sums up.
const ENTRIES: usize = 1024;

/// One 3 × 3 block of a record and the pair of nodes it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contribution {
    /// First of the three rows of the block: its columns, one a row.
    pub record: u32,
    /// Node of the block's rows.
    pub row: u32,
    /// Node of the block's columns.
    pub column: u32,
    /// Whether the block is subtracted.
    pub negative: bool,
}

/// What the record of an element holds of its Hessian, three rows a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HessianForm {
    /// The lower blocks, row by row: (0,0), (1,0), (1,1), (2,0), …
    Lower,
    /// Of a pair, one symmetric block H, which enters [H −H; −H H].
    Difference,
}

/// For every entry of a pattern, the blocks of one set of records that add into it.
#[derive(Clone, Debug)]
pub struct SlotMap {
    starts: Vec<u32>,
    /// Row of the record · 4 + transposed · 2 + negative.
    items: Vec<u32>,
    /// Node of every entry on the diagonal, [`NONE`] elsewhere.
    diagonal: Vec<u32>,
    node_count: usize,
    /// Rows the records must have.
    row_count: usize,
}

impl SlotMap {
    /// From a list of blocks, which are summed in this order. Pairs of nodes that the pattern does not have are a programming
    /// error of a solver.
    ///
    /// # Panics
    /// When a pair is not in the pattern.
    pub fn new(pattern: &Pattern, contributions: impl Iterator<Item = Contribution> + Clone) -> Self {
        let place = |c: &Contribution| pattern.slot(c.row, c.column).expect("groups of the pattern hold all pairs");
        let mut starts = vec![0_u32; pattern.entry_count() + 1];
        let mut row_count = 0;
        for c in contributions.clone() {
            starts[place(&c).0 + 1] += 1;
            row_count = row_count.max(c.record as usize + 3);
        }
        for i in 0..pattern.entry_count() {
            starts[i + 1] += starts[i];
        }
        let mut cursor = starts.clone();
        let mut items = vec![0; starts[pattern.entry_count()] as usize];
        for c in contributions {
            let (entry, transposed) = place(&c);
            items[cursor[entry] as usize] = c.record << 2 | u32::from(transposed) << 1 | u32::from(c.negative);
            cursor[entry] += 1;
        }
        let mut diagonal = vec![NONE; pattern.entry_count()];
        for node in 0..pattern.node_count() as u32 {
            diagonal[pattern.diagonal(node)] = node;
        }
        Self { starts, items, diagonal, node_count: pattern.node_count(), row_count }
    }

    /// For elements that emit their Hessians in this form. `nodes` holds the node of every particle, `u32::MAX` for one that is
    /// not part of the system.
    pub fn elements<const N: usize>(
        pattern: &Pattern,
        stencil: &Stencil<N>,
        ids: &[[u32; N]],
        nodes: &[u32],
        form: HessianForm,
    ) -> Self {
        let difference = form == HessianForm::Difference;
        let rows = if difference { 3 } else { 3 * N * (N + 1) / 2 };
        let mut all = Vec::new();
        for (element, ids) in ids.iter().enumerate() {
            let (block, lane) = stencil.place(element);
            let mut record = ((block * BLOCK + lane) * rows) as u32;
            for a in 0..N {
                for b in 0..=a {
                    let (row, column) = (nodes[ids[a] as usize], nodes[ids[b] as usize]);
                    if row != NONE && column != NONE {
                        all.push(Contribution { record, row, column, negative: difference && a != b });
                    }
                    record += if difference { 0 } else { 3 };
                }
            }
        }
        Self::new(pattern, all.iter().copied())
    }

    /// values = diagonal ⊗ I₃ + Σ blocks, with one number of `diagonal` a node (M/h², shifts).
    pub fn write<S: Real>(
        &self,
        diagonal: &[S],
        records: &[[S; 4]],
        values: &mut [S],
        on: &impl Backend<Scalar = S>,
    ) -> Result<(), LinearError> {
        length("diagonal", diagonal.len(), self.node_count)?;
        self.sum(Some(diagonal), records, values, on)
    }

    /// values += Σ blocks: for further sets of elements.
    pub fn add<S: Real>(
        &self,
        records: &[[S; 4]],
        values: &mut [S],
        on: &impl Backend<Scalar = S>,
    ) -> Result<(), LinearError> {
        self.sum(None, records, values, on)
    }

    fn sum<S: Real>(
        &self,
        diagonal: Option<&[S]>,
        records: &[[S; 4]],
        values: &mut [S],
        on: &impl Backend<Scalar = S>,
    ) -> Result<(), LinearError> {
        length("values", values.len(), self.diagonal.len() * SIZE)?;
        if records.len() < self.row_count {
            return Err(LinearError::Length { what: "records", found: records.len(), expected: self.row_count });
        }
        on.fork(&Sum { map: self, diagonal, records }, Cut::Every(ENTRIES * SIZE), values);
        Ok(())
    }
}

struct Sum<'a, S> {
    map: &'a SlotMap,
    diagonal: Option<&'a [S]>,
    records: &'a [[S; 4]],
}

impl<S: Real> Task<S> for Sum<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [S]) {
        let first = index * ENTRIES;
        let count = own.len() / SIZE;
        let starts = &self.map.starts[first..=first + count];
        let diagonal = &self.map.diagonal[first..first + count];
        for (e, to) in own.as_chunks_mut::<SIZE>().0.iter_mut().enumerate() {
            let mut sum = [[S::ZERO; 4]; 3];
            match self.diagonal {
                Some(numbers) if diagonal[e] != NONE => {
                    for k in 0..3 {
                        sum[k][k] = numbers[diagonal[e] as usize];
                    }
                }
                Some(_) => {}
                None => {
                    for k in 0..3 {
                        sum[k] = [to[3 * k], to[3 * k + 1], to[3 * k + 2], S::ZERO];
                    }
                }
            }
            for &item in &self.map.items[starts[e] as usize..starts[e + 1] as usize] {
                let row = (item >> 2) as usize;
                let sign = if item & 1 == 0 { S::ONE } else { -S::ONE };
                let block = &self.records[row..row + 3];
                if item & 2 == 0 {
                    for k in 0..3 {
                        for a in 0..4 {
                            sum[k][a] = sum[k][a] + sign * block[k][a];
                        }
                    }
                } else {
                    for k in 0..3 {
                        for a in 0..3 {
                            sum[k][a] = sum[k][a] + sign * block[a][k];
                        }
                    }
                }
            }
            for k in 0..3 {
                to[3 * k..3 * k + 3].copy_from_slice(&sum[k][..3]);
            }
        }
    }
}
