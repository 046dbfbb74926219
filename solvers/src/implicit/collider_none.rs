//! Colliders in a build without collision: nothing to meet.

use core::marker::PhantomData;

use pliant_core::backend::Backend;
use pliant_core::error::BuildError;
use pliant_core::field::Field;
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};

use super::nodes::Nodes;
use crate::flight::Flight;
use crate::linear::Pattern;

/// How colliders act on Newton's method, in builds with `collision`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ColliderForm {
    /// There are none.
    #[default]
    Project,
}

impl ColliderForm {
    pub(super) fn check<S: Real>(&self) -> Result<(), BuildError> {
        Ok(())
    }
    pub(super) fn reach(self) -> f64 {
        0.0
    }
}

pub(super) const ROUNDS: usize = 1;

#[derive(Clone, Debug)]
pub(crate) struct ColliderTerms<S>(PhantomData<S>);

impl<S: Real> ColliderTerms<S> {
    pub fn energies(_: &Model<S>, _: &Nodes, _: ColliderForm) -> Self {
        Self(PhantomData)
    }
    pub fn targets(_: &Model<S>, _: &Flight<S>, _: &Nodes, _: Option<f64>) -> Self {
        Self(PhantomData)
    }
    pub fn changed(&self) -> bool {
        false
    }
    pub fn pull(&mut self, _: usize, _: S) -> S {
        S::ZERO
    }
    pub fn begin(&mut self, _: &Model<S>, _: &Flight<S>, _: S) {}
    pub fn value<B: Backend<Scalar = S>>(&mut self, _: &Model<S>, _: &mut Flight<S>, _: &B) -> f64 {
        0.0
    }
    pub fn gradient<B: Backend<Scalar = S>>(&mut self, _: &Model<S>, _: &mut Flight<S>, _: &mut Field<S>, _: &B) {}
    pub fn tell<B: Backend<Scalar = S>>(&mut self, _: &Model<S>, _: &mut Flight<S>, _: &B) {}
    pub fn hessian(&self, _: &Pattern, _: &mut [S]) {}
    pub fn remember(&self, _: &mut Writer) {}
    pub fn recall(&mut self, _: &mut Reader<'_>) -> Result<(), SnapshotError> {
        Ok(())
    }
    pub fn relag<B: Backend<Scalar = S>>(&mut self, _: &Model<S>, _: &Flight<S>, _: &B) -> bool {
        false
    }
}
