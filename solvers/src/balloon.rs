//! The volume inside a closed surface, held by one constraint on all its vertices.
//!
//! C = V − V₀ with V = ⅓ Σ xᵢ·∇ᵢV (V is homogeneous of degree three), so one pass over the triangles gives gradient and
//! value. Gradients are summed a vertex, the two scalars by a fixed reduction tree: the same bits on every backend.

use pliant_core::backend::{Backend, Blocks, Emit, Join, Map, Measure, REDUCE_SLOTS, TUNING};
use pliant_core::constraints::Balloon;
use pliant_core::field::Field;
use pliant_core::kinds::triangle_volume::corner_gradients;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::model::Model;
use pliant_core::schedule::Incidence;
use pliant_core::vec3::Vec3;

/// Scratch for one balloon.
#[derive(Clone, Debug)]
pub(crate) struct BalloonLot<S> {
    incidence: Incidence,
    records: Vec<[S; 4]>,
    parameters: Vec<Octet<S>>,
    tuning: Vec<Octet<S>>,
    gradient: Field<S>,
    partials: Vec<Octet<S>>,
    origin: usize,
    pub lambda: S,
}

struct Gradient<S>([S; 3]);

impl<S: Real> Emit<3, 1, 3> for Gradient<S> {
    type Scalar = S;
    const READS_VELOCITY: bool = false;

    #[inline(always)]
    fn record<L: Lane<Scalar = S>>(
        &self,
        _: &[L; 1],
        _: &[L; TUNING],
        x: &[Vec3<L>; 3],
        _: &[L; 3],
        _: &[Vec3<L>; 3],
    ) -> [Vec3<L>; 3] {
        corner_gradients(x, Vec3::splat(self.0))
    }
}

/// (x − origin)·∇V: three times the vertex's share of the volume.
struct Volume<S>([S; 3]);

impl<S: Real> Measure<2> for Volume<S> {
    type Scalar = S;
    #[inline(always)]
    fn value<L: Lane<Scalar = S>>(&self, _: L, [x, grad]: [Vec3<L>; 2]) -> L {
        (x - Vec3::splat(self.0)).dot(grad)
    }
}

/// w |∇V|².
struct Weight<S>(core::marker::PhantomData<S>);

impl<S: Real> Measure<2> for Weight<S> {
    type Scalar = S;
    #[inline(always)]
    fn value<L: Lane<Scalar = S>>(&self, w: L, [_, grad]: [Vec3<L>; 2]) -> L {
        w * grad.length_sq()
    }
}

/// x ← x + w ∇V Δλ, and the gradient back to zero.
struct Move<S>(S);

impl<S: Real> Map<2> for Move<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, grad]: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        [x + grad * (w * L::splat(self.0)), Vec3::zero()]
    }
}

impl<S: Real> BalloonLot<S> {
    pub fn new(model: &Model<S>, balloon: &Balloon<S>) -> Self {
        let incidence = Incidence::new(model.plan(), &balloon.stencil, &balloon.triangles);
        let blocks = balloon.stencil.block_count();
        let gradient = Field::zeros(model.plan());
        Self {
            records: vec![[S::ZERO; 4]; incidence.record_count()],
            parameters: vec![Octet([S::ZERO; BLOCK]); blocks],
            tuning: vec![Octet([S::ZERO; BLOCK]); blocks * TUNING],
            partials: vec![Octet([S::ZERO; BLOCK]); gradient.slot_count().div_ceil(REDUCE_SLOTS)],
            origin: model.plan().slots()[balloon.triangles[0][0] as usize] as usize,
            gradient,
            incidence,
            lambda: S::ZERO,
        }
    }

    /// One projection: Δλ = (−C − α̃ λ)/(Σ w|∇C|² + α̃), scaled by the gate.
    pub fn project<B: Backend<Scalar = S>>(
        &mut self,
        balloon: &Balloon<S>,
        alpha: S,
        gate: S,
        x: &mut Field<S>,
        on: &B,
    ) {
        let origin = x.vector(self.origin);
        let blocks = Blocks { parameters: &self.parameters, tuning: &self.tuning };
        on.emit(&Gradient(origin), &balloon.stencil, blocks, x, x, &mut self.records);
        on.gather(&self.incidence, &self.records, &mut self.gradient);
        let fields = [&*x, &self.gradient];
        let volume = on.reduce(&Volume(origin), Join::Sum, fields, &mut self.partials) / S::from_f64(3.0);
        let weight = on.reduce(&Weight(core::marker::PhantomData), Join::Sum, fields, &mut self.partials);
        let residual = balloon.volume - volume - alpha * self.lambda;
        let delta = gate * (weight + alpha).divide_or_zero(residual);
        self.lambda = self.lambda + delta;
        on.map(&Move(delta), [x, &mut self.gradient]);
    }
}
