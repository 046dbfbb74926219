//! What is compiled where a world is made, and not again in every crate that uses one.
//!
//! Whoever writes the name of a generic function compiles it, with everything it calls: kernels of contact and rigid bodies in a
//! step, schedules of every constraint kind in a rebuild. A pointer does not. Worlds are made in this crate by [`World::new`],
//! [`World::on`] and [`World::with_method`]; those of other backends and precisions are compiled where [`WorldOn::with`] is called.
//!
//! [`World::new`]: super::World::new
//! [`World::on`]: super::World::on
//! [`World::with_method`]: super::World::with_method

use pliant_core::backend::Backend;
use pliant_core::error::{BuildError, StepError};
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::solver::StepReport;

use super::WorldOn;
use super::rebuild::{Draft, Heir};

/// The large parts of a world, by pointer.
#[allow(clippy::type_complexity, reason = "the types are those of the methods they point to")]
pub(super) struct Compiled<B: Backend> {
    pub advance: fn(&mut WorldOn<B>, B::Scalar) -> Result<StepReport, StepError>,
    draft: fn(&WorldOn<B>, &[Heir<'_>]) -> Result<Draft<B::Scalar>, BuildError>,
    replace: fn(&mut WorldOn<B>, Draft<B::Scalar>) -> Result<(), BuildError>,
    remember: fn(&WorldOn<B>, &mut Writer),
    recall: fn(&mut WorldOn<B>, &mut Reader<'_>) -> Result<(), SnapshotError>,
}

impl<B: Backend> Compiled<B> {
    pub fn here() -> Self {
        Self {
            advance: WorldOn::advance,
            draft: WorldOn::make_draft,
            replace: WorldOn::put_in_place,
            remember: WorldOn::write_down,
            recall: WorldOn::read_back,
        }
    }
}

impl<B: Backend> WorldOn<B> {
    /// Builds a model of these bodies; those made of current members bring their state along.
    pub(super) fn draft(&self, heirs: &[Heir<'_>]) -> Result<Draft<B::Scalar>, BuildError> {
        (self.compiled.draft)(self, heirs)
    }
    /// Makes the solver ready for a draft and replaces the model by it, without giving up what is known about tears. Listed
    /// contacts follow their particles. On an error nothing has changed.
    pub(super) fn replace(&mut self, draft: Draft<B::Scalar>) -> Result<(), BuildError> {
        (self.compiled.replace)(self, draft)
    }
    /// Writes down everything that moves.
    pub(super) fn remember(&self, to: &mut Writer) {
        (self.compiled.remember)(self, to);
    }
    /// Takes it back; half of it, where something does not fit.
    pub(super) fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        (self.compiled.recall)(self, from)
    }
}
