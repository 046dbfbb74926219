//! Lots: a solver's working copy of every constraint set, in block order.

use pliant_core::backend::{Blocks, TUNING};
use pliant_core::constraint::{Constraint, Radial};
use pliant_core::constraints::{Set, Visitor};
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
        let w = self.model.inv_mass();
        for (c, ids) in set.ids().iter().enumerate() {
            let (block, lane) = set.stencil().place(c);
            let alpha = set.compliance()[c] * self.tuning.compliance;
            let (folded, compliance) =
                fold(set.parameters()[0][c], ids.map(|p| w[p as usize]), alpha, self.tuning.gate);
            lot.tuning[block].0[lane] = compliance;
            for (column, value) in folded.into_iter().enumerate() {
                lot.parameters[block * FOLDED + column].0[lane] = value;
            }
        }
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
