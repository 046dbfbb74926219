//! Lots: a solver's working copy of every constraint set, in block order.

use pliant_core::backend::{Blocks, TUNING};
use pliant_core::constraint::{Constraint, Radial};
#[cfg(feature = "linear")]
use pliant_core::constraints::EnergyVisitor;
use pliant_core::constraints::{Set, Visitor};
#[cfg(feature = "linear")]
use pliant_core::energy::Energy;
use pliant_core::lane::{BLOCK, Octet, Real};
use pliant_core::model::Model;

#[cfg(feature = "xpbd-colored")]
use crate::project::inverse;
use crate::project::{FOLDED, fold};

/// One set: constants and multipliers in block order.
#[derive(Clone, Debug)]
pub(crate) struct Lot<S> {
    /// The kind's name.
    pub name: &'static str,
    /// `P` octets a block, or [`FOLDED`] for pairs that are folded.
    pub parameters: Vec<Octet<S>>,
    /// [`TUNING`] octets a block, or one (α̃ inv) when folded.
    pub tuning: Vec<Octet<S>>,
    /// One octet a block.
    pub lambda: Vec<Octet<S>>,
    /// Whether any constraint of the set is damped.
    pub damped: bool,
    /// Whether `parameters` are folded.
    pub folded: bool,
}

impl<S: Real> Lot<S> {
    /// Room for a set, with the parameters of its formula.
    pub fn new<K, const N: usize, const P: usize>(name: &'static str, set: &Set<S, K, N, P>) -> Self {
        let (stencil, blocks) = (set.stencil(), set.stencil().block_count());
        let mut lot = Self {
            name,
            parameters: zeros(blocks * P),
            tuning: zeros(blocks * TUNING),
            lambda: zeros(blocks),
            damped: set.damping().iter().any(|&b| b > S::ZERO),
            folded: false,
        };
        for (column, values) in set.parameters().iter().enumerate() {
            stencil.scatter(values.iter().copied(), &mut lot.parameters, column, P);
        }
        lot
    }

    pub fn blocks(&self) -> Blocks<'_, S> {
        Blocks { parameters: &self.parameters, tuning: &self.tuning }
    }
}

/// How compliance and damping of a constraint enter the method at hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tuning<S> {
    /// α̃ = α · this.
    pub compliance: S,
    /// γ̃ = α β · this.
    pub damping: S,
    /// The gate of every constraint: 1, or the stiffness of PBD.
    pub gate: S,
}

pub(crate) fn zeros<S: Real>(count: usize) -> Vec<Octet<S>> {
    vec![Octet([S::ZERO; BLOCK]); count]
}

/// Whether rest shapes have flowed since this was last asked.
pub(crate) fn outdated<S: Real>(seen: &mut u64, model: &Model<S>) -> bool {
    core::mem::replace(seen, model.rest_revision()) != model.rest_revision()
}

/// Brings the parameters of rows that flowed up to date: a visitor over the same sets, in the same order, as the lots were made.
pub(crate) struct Reshape<'a, S> {
    pub lots: core::slice::IterMut<'a, Lot<S>>,
    pub model: &'a Model<S>,
    /// How folded pairs are tuned.
    pub tuning: Option<Tuning<S>>,
}

impl<S: Real> Reshape<'_, S> {
    fn copy<K, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        let Some(lot) = self.lots.next() else { return };
        for &row in set.plastic().rows() {
            let (block, lane) = set.stencil().place(row as usize);
            for (column, values) in set.parameters().iter().enumerate() {
                lot.parameters[block * P + column].0[lane] = values[row as usize];
            }
        }
    }
}

impl<S: Real> Visitor<S> for Reshape<'_, S> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        self.copy(set);
    }
    fn visit_pairs<K: Radial>(&mut self, set: &Set<S, K, 2, 1>) {
        if !self.lots.as_slice().first().is_some_and(|lot| lot.folded) {
            return self.copy(set);
        }
        let Some(lot) = self.lots.next() else { return };
        let Some(tuning) = self.tuning else { return };
        set.plastic().rows().iter().for_each(|&row| fold_row(lot, set, row as usize, self.model, tuning));
    }
}

#[cfg(feature = "linear")]
impl<S: Real> EnergyVisitor<S> for Reshape<'_, S> {
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>) {
        self.copy(set);
    }
}

/// Writes the constants of a folded pair.
fn fold_row<S: Real, K>(lot: &mut Lot<S>, set: &Set<S, K, 2, 1>, row: usize, model: &Model<S>, tuning: Tuning<S>) {
    let (block, lane) = set.stencil().place(row);
    let alpha = set.compliance()[row] * tuning.compliance;
    let w = set.ids()[row].map(|p| model.inv_mass()[p as usize]);
    let (folded, compliance) = fold(set.parameters()[0][row], w, alpha, tuning.gate);
    lot.tuning[block].0[lane] = compliance;
    for (column, value) in folded.into_iter().enumerate() {
        lot.parameters[block * FOLDED + column].0[lane] = value;
    }
}

/// Sizes a lot for every set and copies the parameters; folds pairs when `fold` says so.
pub(crate) struct Allocate<S> {
    pub lots: Vec<Lot<S>>,
    pub fold: bool,
}

impl<S: Real> Visitor<S> for Allocate<S> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        self.lots.push(Lot::new(K::NAME, set));
    }
    fn visit_pairs<K: Radial>(&mut self, set: &Set<S, K, 2, 1>) {
        let damped = set.damping().iter().any(|&b| b > S::ZERO);
        if damped || !self.fold {
            return self.visit(set);
        }
        let blocks = set.stencil().block_count();
        let parameters = zeros(blocks * FOLDED);
        let (name, lambda) = (<K as Radial>::NAME, zeros(blocks));
        self.lots.push(Lot { name, parameters, tuning: zeros(blocks), lambda, damped, folded: true });
    }
}

/// Refreshes what depends on the step size.
pub(crate) struct Tune<'a, S> {
    pub lots: core::slice::IterMut<'a, Lot<S>>,
    pub model: &'a Model<S>,
    pub tuning: Tuning<S>,
}

impl<S: Real> Visitor<S> for Tune<'_, S> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        let Some(lot) = self.lots.next() else { return };
        let (stencil, tuning) = (set.stencil(), self.tuning);
        let alpha = set.compliance().iter().map(|&a| a * tuning.compliance);
        let gamma = set.compliance().iter().zip(set.damping()).map(|(&a, &b)| a * b * tuning.damping);
        stencil.scatter(alpha, &mut lot.tuning, 0, TUNING);
        stencil.scatter(gamma, &mut lot.tuning, 1, TUNING);
        stencil.scatter((0..set.len()).map(|_| tuning.gate), &mut lot.tuning, 2, TUNING);
    }
    fn visit_pairs<K: Radial>(&mut self, set: &Set<S, K, 2, 1>) {
        if !self.lots.as_slice().first().is_some_and(|lot| lot.folded) {
            return self.visit(set);
        }
        let Some(lot) = self.lots.next() else { return };
        (0..set.len()).for_each(|row| fold_row(lot, set, row, self.model, self.tuning));
    }
}

/// Reads the multipliers back in the user's order, divided by `scale`.
#[cfg(feature = "xpbd-colored")]
pub(crate) struct Multipliers<'a, S> {
    pub lots: core::slice::Iter<'a, Lot<S>>,
    pub model: &'a Model<S>,
    pub tuning: Tuning<S>,
    pub scale: S,
    pub found: Vec<(&'static str, Vec<S>)>,
}

#[cfg(feature = "xpbd-colored")]
impl<S: Real> Visitor<S> for Multipliers<'_, S> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        let Some(lot) = self.lots.next() else { return };
        let w = self.model.inv_mass();
        let lambda = |c: usize| {
            let (block, lane) = set.stencil().place(c);
            let value = lot.lambda[block].0[lane] * self.scale;
            if lot.folded {
                let ids = set.ids()[c];
                let alpha = set.compliance()[c] * self.tuning.compliance;
                value * inverse([w[ids[0] as usize], w[ids[1 % N] as usize]], alpha)
            } else {
                value
            }
        };
        self.found.push((K::NAME, (0..set.len()).map(lambda).collect()));
    }
}
