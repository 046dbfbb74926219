//! The ledger: what responses change in a step, added up as impulses while somebody watches.
//!
//! A response is seen from outside: the field it changes is copied before and compared afterwards, so that no kernel pays for
//! being watched and every one of them is.

use core::marker::PhantomData;

use pliant_core::account::ContactAccount;
use pliant_core::backend::{Backend, Map};
use pliant_core::field::Field;
use pliant_core::lane::{Lane, Real};
use pliant_core::model::Model;
use pliant_core::vec3::Vec3;

use super::rebound::Keep;

/// Who gave an impulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Giver {
    Colliders,
    Surfaces,
}

/// How the change of a field becomes an impulse, with h the substep \[s\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change<S> {
    /// Positions: m Δx/h.
    Positions { h: S },
    /// Forces: h Δf.
    Forces { h: S },
}

/// Impulses of the step so far, by slot.
#[derive(Clone, Debug)]
pub(super) struct Ledger<S> {
    before: Field<S>,
    given: [Field<S>; 2],
}

impl<S: Real> Ledger<S> {
    pub fn new(model: &Model<S>) -> Self {
        let zeros = || Field::zeros(model.plan());
        Self { before: zeros(), given: [zeros(), zeros()] }
    }
    pub fn clear(&mut self) {
        self.given.iter_mut().for_each(Field::clear);
    }
    /// Remembers a field that a response is about to change.
    pub fn open<B: Backend<Scalar = S>>(&mut self, field: &mut Field<S>, on: &B) {
        on.map(&Keep::default(), [field, &mut self.before]);
    }
    /// Adds what the response changed in it.
    pub fn close<B: Backend<Scalar = S>>(&mut self, giver: Giver, change: Change<S>, field: &mut Field<S>, on: &B) {
        let to = &mut self.given[giver as usize];
        match change {
            Change::Positions { h } => on.map(&Shift(S::ONE / h), [field, &mut self.before, to]),
            Change::Forces { h } => on.map(&Push(h), [field, &mut self.before, to]),
        }
    }
    /// The same for velocities, whose masses are with the positions: m Δv.
    pub fn close_velocities<B: Backend<Scalar = S>>(&mut self, x: &mut Field<S>, v: &mut Field<S>, on: &B) {
        on.map(&Kick(PhantomData), [x, v, &mut self.before, &mut self.given[Giver::Colliders as usize]]);
    }
    /// Adds an impulse on one slot \[N s\], for what changes no field.
    #[cfg(feature = "linear")]
    pub fn give(&mut self, giver: Giver, slot: usize, impulse: Vec3<S>) {
        let to = &mut self.given[giver as usize];
        to.set_vector(slot, (Vec3::from(to.vector(slot)) + impulse).into());
    }
    /// The account in the user's order.
    pub fn report(&self, model: &Model<S>, to: &mut ContactAccount<S>) {
        to.clear(model.particle_count());
        self.given[0].unpack(model.plan(), &mut to.colliders);
        self.given[1].unpack(model.plan(), &mut to.surfaces);
    }
}

/// J ← J + s (x − before)/w: fields x, before, J.
struct Shift<S>(S);

impl<S: Real> Map<3> for Shift<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, before, sum]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        [x, before, sum + (x - before) * w.divide_or_zero(L::splat(self.0))]
    }
}

/// J ← J + s (f − before): fields f, before, J.
struct Push<S>(S);

impl<S: Real> Map<3> for Push<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, _: L, [f, before, sum]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        [f, before, sum + (f - before) * L::splat(self.0)]
    }
}

/// J ← J + (v − before)/w: fields x, v, before, J.
struct Kick<S>(PhantomData<S>);

impl<S: Real> Map<4> for Kick<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, v, before, sum]: [Vec3<L>; 4]) -> [Vec3<L>; 4] {
        [x, v, before, sum + (v - before) * w.divide_or_zero(L::one())]
    }
}
