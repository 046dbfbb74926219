//! Shape matching in a build without it: no cluster, nothing to do.

use pliant_core::backend::Backend;
use pliant_core::dent::Dent;
use pliant_core::error::BuildError;
use pliant_core::field::Field;
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};

#[derive(Clone, Debug)]
pub(crate) struct Matching<S>(core::marker::PhantomData<S>);

impl<S: Real> Matching<S> {
    pub fn new(_: &Model<S>) -> Self {
        Self(core::marker::PhantomData)
    }
    pub fn begin(&mut self, _: &Model<S>, _: S, _: usize) {}
    pub fn pass<B: Backend<Scalar = S>>(&mut self, _: &Model<S>, _: &mut Field<S>, _: Option<S>, _: &B) {}
    pub fn arrive(&mut self) {}
    pub fn dents(&self, _: &Model<S>) -> Vec<Dent<S>> {
        Vec::new()
    }
    pub fn put_dents(&mut self, _: &Model<S>, _: &[Option<Dent<S>>]) {}
    pub fn remember(&self, _: &mut Writer) {}
    pub fn recall(&mut self, _: &mut Reader<'_>) -> Result<(), SnapshotError> {
        Ok(())
    }
}

pub(crate) fn count<S: Real>(_: &Model<S>) -> usize {
    0
}

pub(crate) fn refuse<S: Real>(_: &Model<S>) -> Result<(), BuildError> {
    Ok(())
}
