//! The load of wind on the surface triangles: one force a triangle, a third of it to each corner.

use pliant_core::backend::{Backend, Blocks, Emit, TUNING};
use pliant_core::field::Field;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::model::Model;
use pliant_core::schedule::Incidence;
use pliant_core::vec3::Vec3;
use pliant_core::wind::Wind;

/// Scratch for the wind on a model's surface.
#[derive(Clone, Debug)]
pub(crate) struct WindLoad<S> {
    incidence: Incidence,
    records: Vec<[S; 4]>,
    /// The kernel has no constants of its own; backends still want a block's worth of them.
    parameters: Vec<Octet<S>>,
    tuning: Vec<Octet<S>>,
}

struct Push<S>(Wind<S>);

impl<S: Real> Emit<3, 1, 3> for Push<S> {
    type Scalar = S;
    const READS_VELOCITY: bool = true;

    #[inline(always)]
    fn record<L: Lane<Scalar = S>>(
        &self,
        _: &[L; 1],
        _: &[L; TUNING],
        x: &[Vec3<L>; 3],
        _: &[L; 3],
        v: &[Vec3<L>; 3],
    ) -> [Vec3<L>; 3] {
        let third = self.0.triangle_force(x, v) * L::constant(1.0 / 3.0);
        [third; 3]
    }
}

impl<S: Real> WindLoad<S> {
    pub fn new(model: &Model<S>) -> Self {
        let incidence = Incidence::new(model.plan(), model.surface(), model.triangles());
        let blocks = model.surface().block_count();
        Self {
            records: vec![[S::ZERO; 4]; incidence.record_count()],
            parameters: vec![Octet([S::ZERO; BLOCK]); blocks],
            tuning: vec![Octet([S::ZERO; BLOCK]); blocks * TUNING],
            incidence,
        }
    }

    /// Adds the wind's force to `force`.
    pub fn apply<B: Backend<Scalar = S>>(
        &mut self,
        wind: Wind<S>,
        model: &Model<S>,
        x: &Field<S>,
        v: &Field<S>,
        force: &mut Field<S>,
        on: &B,
    ) {
        let blocks = Blocks { parameters: &self.parameters, tuning: &self.tuning };
        on.emit(&Push(wind), model.surface(), blocks, x, v, &mut self.records);
        on.gather(&self.incidence, &self.records, force);
    }
}
