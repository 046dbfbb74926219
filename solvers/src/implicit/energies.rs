//! Energies of the user's own, beside those of the model.

use pliant_core::constraints::{EnergyVisitor, Set};
use pliant_core::energy::Energy;
use pliant_core::lane::Real;

/// Sets of energies that a method minimises together with the model's; `()` is none, a pair is both.
pub trait Energies<S: Real>: Send + Sync {
    /// Whether there is any set. With one, positions stay in the world's frame during a step: an energy may know places.
    const ANY: bool;

    /// Visits every set, always in the same order.
    fn visit(&self, visitor: &mut impl EnergyVisitor<S>);
}

impl<S: Real> Energies<S> for () {
    const ANY: bool = false;
    fn visit(&self, _: &mut impl EnergyVisitor<S>) {}
}

impl<S: Real, A: Energies<S>, B: Energies<S>> Energies<S> for (A, B) {
    const ANY: bool = A::ANY || B::ANY;
    fn visit(&self, visitor: &mut impl EnergyVisitor<S>) {
        self.0.visit(visitor);
        self.1.visit(visitor);
    }
}

/// Elements of one energy, made for a model with [`Set::for_model`].
#[derive(Clone, Debug)]
pub struct EnergySet<S, E, const N: usize, const P: usize, const R: usize>(pub Set<S, E, N, P>);

impl<S: Real, E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize> Energies<S>
    for EnergySet<S, E, N, P, R>
{
    const ANY: bool = true;
    fn visit(&self, visitor: &mut impl EnergyVisitor<S>) {
        visitor.visit(&self.0);
    }
}
