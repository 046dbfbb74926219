//! Sparse Cholesky: A = L Lᵀ by dense panels up the elimination tree, branches side by side.
//!
//! The multifrontal method: a supernode's *front* gathers its entries of A and the update matrices of its children, is
//! factored as one dense panel, and passes the update −L₂₁L₂₁ᵀ on to its parent. Everything is placed when the factor is
//! made; a refactorisation allocates nothing.   [Liu 1992]

use core::marker::PhantomData;

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::lane::{Lane, Real};

use super::NONE;
use super::branches::{Branches, FIRST, Front, Part};
use super::dense::{Dense, Workspace};
use super::error::LinearError;
use super::panels;
use super::pattern::Pattern;
use super::substitution::{Share, Substitution, solve};

/// Most right-hand sides of one solve with blocks of one number.
const PLANES: usize = 3;

/// The factor of a symmetric positive definite matrix with one number (n × n) or one 3 × 3 block (3n × 3n) an entry.
///
/// ```
/// use pliant_solvers::linear::{Cholesky, Ordering, Pattern};
/// # let on = pliant_backends::Scalar::<f64>::new();
/// // A = [4 1; 1 3], b = [1 2]
/// let pattern = Pattern::new(2, [[0, 1]].iter(), Ordering::Amd);
/// let mut values = vec![0.0; pattern.entry_count()];
/// for (row, column, value) in [(0, 0, 4.0), (0, 1, 1.0), (1, 1, 3.0)] {
///     values[pattern.slot(row, column).expect("in the pattern").0] = value;
/// }
/// let mut factor = Cholesky::new(&pattern, 1)?;
/// factor.factor(&values, &on)?;
/// let mut x = [1.0, 2.0];
/// factor.solve(&mut x, 1, &on)?;
/// assert!((x[0] - 1.0 / 11.0_f64).abs() < 1e-15 && (x[1] - 7.0 / 11.0_f64).abs() < 1e-15);
/// # Ok::<(), pliant_solvers::linear::LinearError>(())
/// ```
#[derive(Debug)]
pub struct Cholesky<S> {
    block: usize,
    entry_count: usize,
    tree: Branches,
    /// Branches in order, then the top.
    shares: Vec<Share<Numbers<S>, S>>,
}

/// The numbers of a part.
#[derive(Debug)]
pub(super) struct Numbers<S> {
    pub panels: Vec<S>,
    updates: Vec<S>,
    workspace: Workspace,
    /// Numbers a block has on a side.
    block: usize,
    /// One front of a right-hand side.
    front: Vec<S>,
    /// Node whose pivot failed.
    fault: Option<u32>,
}

impl<S: Dense> Numbers<S> {
    fn new(part: &Part, block: usize) -> Self {
        Self {
            panels: vec![S::ZERO; part.panel_size],
            updates: vec![S::ZERO; part.update_size],
            workspace: S::workspace(part.widest() * block),
            block,
            front: vec![S::ZERO; part.tallest() * block],
            fault: None,
        }
    }
}

impl<S: Dense> Cholesky<S> {
    /// Analyses a pattern and sets memory aside; `block` is 1 (a number an entry) or 3 (a 3 × 3 block an entry).
    pub fn new(pattern: &Pattern, block: usize) -> Result<Self, LinearError> {
        if block != 1 && block != 3 {
            return Err(LinearError::Block { block });
        }
        let tree = Branches::new(pattern, block)?;
        let share = |part: &Part| Share::new(Numbers::new(part, block), part, PLANES);
        let shares = tree.branches.iter().chain([&tree.top]).map(share).collect();
        Ok(Self { block, entry_count: pattern.entry_count(), tree, shares })
    }

    /// Nodes of the matrix.
    pub fn node_count(&self) -> usize {
        self.tree.homes.len()
    }
    /// Numbers an entry has on a side: 1 or 3.
    pub fn block(&self) -> usize {
        self.block
    }
    /// Numbers the factor holds.
    pub fn size(&self) -> usize {
        self.tree.size()
    }

    /// Factors a matrix: `values` has one number, or nine (the block by columns), for every entry of the pattern.
    ///
    /// Blocks are those of the stored triangle: row place ≥ column place; diagonal blocks are symmetric. Allocates nothing.
    /// After an error the factor is unusable until the next success. The backend may have another precision: it only provides
    /// threads, the dense kernels choose their own instructions.
    pub fn factor<T: Real>(&mut self, values: &[S], on: &impl Backend<Scalar = T>) -> Result<(), LinearError> {
        length("values", values.len(), self.entry_count * self.block * self.block)?;
        let lanes = PhantomData::<T>;
        let Self { tree, shares, block, .. } = self;
        let Some((top, branches)) = shares.split_last_mut() else { return Ok(()) };
        on.fork(&Factor { lanes, tree, values, block: *block, below: None }, Cut::Every(1), branches);
        if let Some(node) = branches.iter().find_map(|branch| branch.form.fault) {
            return Err(LinearError::NotPositive { node });
        }
        let join = Factor { lanes, tree, values, block: *block, below: Some(&*branches) };
        on.fork(&join, Cut::Every(1), core::slice::from_mut(top));
        top.form.fault.map_or(Ok(()), |node| Err(LinearError::NotPositive { node }))
    }

    /// Replaces right-hand sides by the solutions of A x = b.
    ///
    /// `rhs` is in node order. With blocks of 3 it holds three numbers a node and `columns` is 1; with blocks of 1 it holds
    /// `columns` (1 to 3) interleaved right-hand sides: all numbers of node 0 first. Allocates nothing.
    pub fn solve<T: Real>(
        &mut self,
        rhs: &mut [S],
        columns: usize,
        on: &impl Backend<Scalar = T>,
    ) -> Result<(), LinearError> {
        let most = if self.block == 1 { PLANES } else { 1 };
        let lot = self.block * columns.clamp(1, most);
        length("right-hand side", rhs.len(), self.node_count() * self.block * columns)?;
        length("columns of the right-hand side", columns, lot / self.block)?;
        solve(&self.tree, &mut self.shares, rhs, lot, on);
        Ok(())
    }

    /// The cut elimination tree.
    pub(super) fn tree(&self) -> &Branches {
        &self.tree
    }
    /// The panels of every part, the top last.
    pub(super) fn panels(&self) -> impl Iterator<Item = &[S]> {
        self.shares.iter().map(|share| share.form.panels.as_slice())
    }
}

impl<S: Dense, T: Real> Substitution<S, T> for Numbers<S> {
    #[inline(always)]
    fn stride(lot: usize) -> usize {
        lot
    }

    #[inline(always)]
    fn forward<L: Lane<Scalar = T>>(&mut self, part: &Part, x: &mut [S], lot: usize) {
        for front in &part.fronts {
            for plane in 0..lot / self.block {
                if self.block == 1 {
                    panels::forward::<S, 1>(part, front, (lot, plane), &self.panels, x, &mut self.front);
                } else {
                    panels::forward::<S, 3>(part, front, (lot, plane), &self.panels, x, &mut self.front);
                }
            }
        }
    }
    #[inline(always)]
    fn backward<L: Lane<Scalar = T>>(&mut self, part: &Part, x: &mut [S], lot: usize) {
        for front in part.fronts.iter().rev() {
            for plane in 0..lot / self.block {
                if self.block == 1 {
                    panels::backward::<S, 1>(part, front, (lot, plane), &self.panels, x, &mut self.front);
                } else {
                    panels::backward::<S, 3>(part, front, (lot, plane), &self.panels, x, &mut self.front);
                }
            }
        }
    }
}

/// Checks the length of a slice.
pub(super) fn length(what: &'static str, found: usize, expected: usize) -> Result<(), LinearError> {
    if found == expected { Ok(()) } else { Err(LinearError::Length { what, found, expected }) }
}

/// Factors one part; `below` holds the branches when it is the top's turn.
struct Factor<'a, S, T> {
    lanes: PhantomData<T>,
    tree: &'a Branches,
    values: &'a [S],
    block: usize,
    below: Option<&'a [Share<Numbers<S>, S>]>,
}

impl<S: Dense, T: Real> Task<Share<Numbers<S>, S>> for Factor<'_, S, T> {
    type Scalar = T;
    #[inline(always)]
    fn run<L: Lane<Scalar = T>>(&self, index: usize, own: &mut [Share<Numbers<S>, S>]) {
        // Dense kernels choose their own instructions: nothing here depends on the lane.
        let part = if self.below.is_some() { &self.tree.top } else { &self.tree.branches[index] };
        let below = (self.below.unwrap_or_default(), self.tree.branches.as_slice());
        if self.block == 1 {
            factor_part::<S, 1>(part, self.values, below, &mut own[0].form);
        } else {
            factor_part::<S, 3>(part, self.values, below, &mut own[0].form);
        }
    }
}

fn factor_part<S: Dense, const K: usize>(
    part: &Part,
    values: &[S],
    (below, below_parts): (&[Share<Numbers<S>, S>], &[Part]),
    own: &mut Numbers<S>,
) {
    own.fault = None;
    let mut entry_rows = part.entry_rows.as_slice();
    for front in &part.fronts {
        let (c, r) = (front.columns * K, front.rows.len() * K);
        let height = c + r;
        let panel = &mut own.panels[front.panel..front.panel + height * c];
        panel.fill(S::ZERO);
        let (rows, rest) = entry_rows.split_at(front.entries.len());
        entry_rows = rest;
        enter::<S, K>(panel, height, rows, &values[front.entries.start * K * K..front.entries.end * K * K]);
        for child in &part.children[front.children.clone()] {
            let (home, updates) = if child.branch == NONE {
                (part, own.updates.as_slice())
            } else {
                (&below_parts[child.branch as usize], below[child.branch as usize].form.updates.as_slice())
            };
            let child = &home.fronts[child.front as usize];
            add_to_panel::<S, K>(panel, height, front.columns, child, home, updates);
        }
        if let Err(column) = S::factor(panel, height, c, &mut own.workspace) {
            own.fault = Some(part.nodes[front.start + column / K]);
            return;
        }
        if r == 0 {
            continue;
        }
        let place = front.update..front.update + r * r;
        S::update(panel, height, c, &mut own.updates[place.clone()]);
        for child in &part.children[front.children.clone()] {
            if child.branch == NONE {
                let child = &part.fronts[child.front as usize];
                let size = (child.rows.len() * K).pow(2);
                // The plan of the updates keeps a child's matrix apart from its parent's.
                if let Ok([from, to]) = own.updates.get_disjoint_mut([child.update..child.update + size, place.clone()])
                {
                    add_to_update::<S, K>(to, r, front.columns, child, part, from);
                }
            } else {
                let home = &below_parts[child.branch as usize];
                let from = &home.fronts[child.front as usize];
                let size = (from.rows.len() * K).pow(2);
                let updates = &below[child.branch as usize].form.updates[from.update..from.update + size];
                add_to_update::<S, K>(&mut own.updates[place.clone()], r, front.columns, from, home, updates);
            }
        }
    }
}

/// Writes the entries of A into the panel: `rows` counts from the top of the front.
fn enter<S: Dense, const K: usize>(panel: &mut [S], height: usize, rows: &[u32], values: &[S]) {
    let mut next = 0;
    for (&row, block) in rows.iter().zip(values.chunks_exact(K * K)) {
        next += (row >> 31) as usize;
        let (row, column) = ((row & !FIRST) as usize, next - 1);
        for b in 0..K {
            let start = (column * K + b) * height + row * K;
            panel[start..start + K].copy_from_slice(&block[b * K..b * K + K]);
        }
    }
}

/// Adds the columns of a child's update matrix that belong to its parent's own columns.
fn add_to_panel<S: Dense, const K: usize>(
    panel: &mut [S],
    height: usize,
    columns: usize,
    child: &Front,
    home: &Part,
    updates: &[S],
) {
    let relative = &home.relative[child.rows.clone()];
    let size = relative.len() * K;
    let update = &updates[child.update..child.update + size * size];
    let own = relative.partition_point(|&row| (row as usize) < columns);
    for j in 0..own {
        for b in 0..K {
            let from = &update[(j * K + b) * size..][..size];
            let to = &mut panel[(relative[j] as usize * K + b) * height..][..height];
            add_column::<S, K>(to, &from[j * K..], &relative[j..], 0);
        }
    }
}

/// Adds the remaining columns to the parent's update matrix.
fn add_to_update<S: Dense, const K: usize>(
    to: &mut [S],
    height: usize,
    columns: usize,
    child: &Front,
    home: &Part,
    update: &[S],
) {
    let relative = &home.relative[child.rows.clone()];
    let size = relative.len() * K;
    let own = relative.partition_point(|&row| (row as usize) < columns);
    for j in own..relative.len() {
        for b in 0..K {
            let from = &update[(j * K + b) * size..][..size];
            let to = &mut to[((relative[j] as usize - columns) * K + b) * height..][..height];
            add_column::<S, K>(to, &from[j * K..], &relative[j..], columns);
        }
    }
}

/// Adds `from` to the rows of `to` that `relative` names. What stands above the diagonal is noise that nobody reads.
#[inline(always)]
fn add_column<S: Dense, const K: usize>(to: &mut [S], from: &[S], relative: &[u32], skip: usize) {
    for (from, &row) in from.as_chunks::<K>().0.iter().zip(relative) {
        let start = (row as usize - skip) * K;
        let to = &mut to[start..start + K];
        for a in 0..K {
            to[a] = to[a] + from[a];
        }
    }
}
