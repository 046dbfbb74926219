//! Contact in a build without collision: nothing to meet, nothing to do.

use pliant_core::account::ContactAccount;
use pliant_core::backend::Backend;
use pliant_core::error::BuildError;
use pliant_core::field::Field;
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Response;

impl Response {
    pub fn check<S: Real>(&self) -> Result<(), BuildError> {
        Ok(())
    }
    pub fn reach(&self) -> f64 {
        0.0
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Contacts<S>(core::marker::PhantomData<S>);

impl<S: Real> Contacts<S> {
    pub fn new(_: &Model<S>) -> Self {
        Self(core::marker::PhantomData)
    }
    pub fn expect_sweeps(&mut self, _: &Model<S>, _: usize) {}
    pub fn fit(&self, _: &Model<S>) -> bool {
        true
    }
    pub fn begin(&mut self, _: &Model<S>, _: &[[S; 3]], _: S) {}
    pub fn place(&mut self, _: &Model<S>, _: (usize, usize)) {}
    pub fn project<B: Backend<Scalar = S>>(&mut self, _: &Model<S>, _: [&mut Field<S>; 2], _: (usize, usize), _: &B) {}
    pub fn bounces(&self) -> bool {
        false
    }
    pub fn keep<B: Backend<Scalar = S>>(&self, _: &mut Field<S>, _: &mut Field<S>, _: &B) {}
    pub fn rebound<B: Backend<Scalar = S>>(&mut self, _: &Model<S>, _: S, _: [&mut Field<S>; 3], _: &B) {}
    pub fn push<B: Backend<Scalar = S>>(&mut self, _: Response, _: &Model<S>, _: (S, S), _: [&mut Field<S>; 3], _: &B) {
    }
    pub fn strike<B: Backend<Scalar = S>>(&mut self, _: Response, _: &Model<S>, _: S, _: [&mut Field<S>; 2], _: &B) {}
    pub fn repels(&self, _: &Model<S>) -> bool {
        false
    }
    pub fn repel<B: Backend<Scalar = S>>(&mut self, _: &Model<S>, _: [&mut Field<S>; 3], _: &B) {}
    pub fn hold_off(&mut self, _: f64) {}
    pub fn arrive(&mut self, _: &Model<S>) {}
    pub fn remember(&self, _: &mut Writer) {}
    pub fn recall(&mut self, _: &mut Reader<'_>) -> Result<(), SnapshotError> {
        Ok(())
    }
    pub fn account(&mut self) -> Option<&mut ContactAccount<S>> {
        None
    }
}
