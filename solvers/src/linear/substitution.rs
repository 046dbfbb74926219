//! Substitution up and down the cut elimination tree: the order of events, whatever form the factor has.
//!
//! ```text
//! branches, side by side   gather own rows of b, eliminate, leave the rest for the top in the outer rows
//! top                      gather, add what the branches left (branch by branch), eliminate, substitute back
//! branches, side by side   fetch outer rows from the top, substitute back
//! nodes, side by side      copy the solution into node order
//! ```

use core::marker::PhantomData;

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::lane::{Lane, Real};

use super::branches::{Branches, Part};

/// Nodes a task copies at a time.
const COPY: usize = 2048;

/// A part's share of a factor, in some form that can be substituted through.
///
/// `x` holds a row of `stride` numbers for every own column and then for every outer row of the part: `lot` right-hand sides
/// (1 to 3), and zeros where rows are wider. Implementations are `#[inline(always)]` and give the same bits for every lane. `T` is the precision of the backend, which may differ from the
/// factor's where lanes are not used.
pub(super) trait Substitution<S: Real, T: Real>: Send + Sync {
    /// Numbers a row of `x` has for this many right-hand sides: `lot`, or 4 in all.
    fn stride(lot: usize) -> usize;
    /// Own rows: L y = b; outer rows: plus −L₂₁ y.
    fn forward<L: Lane<Scalar = T>>(&mut self, part: &Part, x: &mut [S], lot: usize);
    /// Own rows: Lᵀ x = y − L₂₁ᵀ x_outer.
    fn backward<L: Lane<Scalar = T>>(&mut self, part: &Part, x: &mut [S], lot: usize);
}

/// A part's share of a factor and of the vectors that pass through it.
#[derive(Debug)]
pub(super) struct Share<F, S> {
    pub form: F,
    x: Vec<S>,
}

impl<F, S: Real> Share<F, S> {
    /// Room for `most` numbers a column.
    pub fn new(form: F, part: &Part, most: usize) -> Self {
        Self { form, x: vec![S::ZERO; part.width() * most] }
    }
}

/// Replaces `lot` numbers a node by the solution. The last share is the top's.
pub(super) fn solve<F: Substitution<S, T>, S: Real, T: Real>(
    tree: &Branches,
    shares: &mut [Share<F, S>],
    rhs: &mut [S],
    lot: usize,
    on: &impl Backend<Scalar = T>,
) {
    let lanes = PhantomData::<T>;
    let Some((top, branches)) = shares.split_last_mut() else { return };
    on.fork(&Forward { lanes, tree, lot, rhs, below: None }, Cut::Every(1), branches);
    on.fork(&Forward { lanes, tree, lot, rhs, below: Some(&*branches) }, Cut::Every(1), core::slice::from_mut(top));
    on.fork(&Backward { lanes, tree, lot, above: None }, Cut::Every(1), core::slice::from_mut(top));
    on.fork(&Backward { lanes, tree, lot, above: Some(&*top) }, Cut::Every(1), branches);
    on.fork(&Collect { lanes, tree, lot, shares }, Cut::Every(COPY * lot), rhs);
}

/// Copies the rows that `index` names into rows of `width` numbers; a length known at compile time avoids a call a row.
#[inline(always)]
fn pick<S: Real>(to: &mut [S], width: usize, from: &[S], lot: usize, index: &[u32]) {
    match (lot, width) {
        (1, _) => pick_rows::<S, 1, 1>(to, from, index),
        (2, _) => pick_rows::<S, 2, 2>(to, from, index),
        (3, 3) => pick_rows::<S, 3, 3>(to, from, index),
        (3, _) => pick_rows::<S, 3, 4>(to, from, index),
        _ => pick_rows::<S, 4, 4>(to, from, index),
    }
}

#[inline(always)]
fn pick_rows<S: Real, const FROM: usize, const TO: usize>(to: &mut [S], from: &[S], index: &[u32]) {
    let from = from.as_chunks::<FROM>().0;
    for (to, &row) in to.as_chunks_mut::<TO>().0.iter_mut().zip(index) {
        to[..FROM].copy_from_slice(&from[row as usize]);
    }
}

/// Gathers the right-hand side of a part and eliminates; `below` holds the branches when it is the top's turn.
struct Forward<'a, F, S, T> {
    lanes: PhantomData<T>,
    tree: &'a Branches,
    lot: usize,
    rhs: &'a [S],
    below: Option<&'a [Share<F, S>]>,
}

impl<F: Substitution<S, T>, S: Real, T: Real> Task<Share<F, S>> for Forward<'_, F, S, T> {
    type Scalar = T;
    #[inline(always)]
    fn run<L: Lane<Scalar = T>>(&self, index: usize, own: &mut [Share<F, S>]) {
        let (lot, row) = (self.lot, F::stride(self.lot));
        let part = if self.below.is_some() { &self.tree.top } else { &self.tree.branches[index] };
        let Share { form, x } = &mut own[0];
        let x = &mut x[..part.width() * row];
        let (inner, outer) = x.split_at_mut(part.nodes.len() * row);
        pick(inner, row, self.rhs, lot, &part.nodes);
        outer.fill(S::ZERO);
        for (home, share) in self.tree.branches.iter().zip(self.below.unwrap_or_default()) {
            let passed = share.x[home.nodes.len() * row..].chunks_exact(row);
            for (from, &column) in passed.zip(&home.outer) {
                for (to, &value) in inner[column as usize * row..][..row].iter_mut().zip(from) {
                    *to = *to + value;
                }
            }
        }
        form.forward::<L>(part, x, lot);
    }
}

/// Substitutes back through a part; a branch first fetches its outer rows from the top.
struct Backward<'a, F, S, T> {
    lanes: PhantomData<T>,
    tree: &'a Branches,
    lot: usize,
    above: Option<&'a Share<F, S>>,
}

impl<F: Substitution<S, T>, S: Real, T: Real> Task<Share<F, S>> for Backward<'_, F, S, T> {
    type Scalar = T;
    #[inline(always)]
    fn run<L: Lane<Scalar = T>>(&self, index: usize, own: &mut [Share<F, S>]) {
        let row = F::stride(self.lot);
        let part = if self.above.is_some() { &self.tree.branches[index] } else { &self.tree.top };
        let Share { form, x } = &mut own[0];
        let x = &mut x[..part.width() * row];
        if let Some(top) = self.above {
            pick(&mut x[part.nodes.len() * row..], row, &top.x, row, &part.outer);
        }
        form.backward::<L>(part, x, self.lot);
    }
}

/// Copies solutions back into node order.
struct Collect<'a, F, S, T> {
    lanes: PhantomData<T>,
    tree: &'a Branches,
    lot: usize,
    shares: &'a [Share<F, S>],
}

impl<F, S: Real, T> Collect<'_, F, S, T> {
    #[inline(always)]
    fn rows<const FROM: usize, const TO: usize>(&self, to: &mut [S], homes: &[[u32; 2]]) {
        for (to, &[part, column]) in to.as_chunks_mut::<TO>().0.iter_mut().zip(homes) {
            to.copy_from_slice(&self.shares[part as usize].x.as_chunks::<FROM>().0[column as usize][..TO]);
        }
    }
}

impl<F: Substitution<S, T>, S: Real, T: Real> Task<S> for Collect<'_, F, S, T> {
    type Scalar = T;
    #[inline(always)]
    fn run<L: Lane<Scalar = T>>(&self, index: usize, own: &mut [S]) {
        let homes = &self.tree.homes[index * COPY..];
        match (F::stride(self.lot), self.lot) {
            (1, _) => self.rows::<1, 1>(own, homes),
            (2, _) => self.rows::<2, 2>(own, homes),
            (3, _) => self.rows::<3, 3>(own, homes),
            _ => self.rows::<4, 3>(own, homes),
        }
    }
}
