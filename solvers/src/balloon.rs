//! The volume inside a closed surface, held by one constraint on all its vertices.
//!
//! C = V − V₀ with V = ⅓ Σ xᵢ·∇ᵢV (V is homogeneous of degree three), so one pass over the triangles gives gradient and
//! value. Gradients are summed a vertex, the two scalars by a fixed reduction tree: the same bits on every backend.
//! Sweeps [`project`](BalloonLot::project) it, Jacobi passes [`correct`](BalloonLot::correct) by it, and explicit forces
//! [`press`](BalloonLot::press); implicit methods also take its [`energy`](BalloonLot::energy) and
//! [`gradient`](BalloonLot::gradient).

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

/// correction ← correction + w ∇V Δλ, and the gradient back to zero: fields x, correction, gradient.
struct Add<S>(S);

impl<S: Real> Map<3> for Add<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, correction, grad]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        [x, correction + grad * (w * L::splat(self.0)), Vec3::zero()]
    }
}

/// to ← w ∇V, and the gradient back to zero: fields x, gradient, to.
#[cfg(feature = "xpbd-schur")]
struct Weigh<S>(core::marker::PhantomData<S>);

#[cfg(feature = "xpbd-schur")]
impl<S: Real> Map<3> for Weigh<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, grad, _]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        [x, Vec3::zero(), grad * w]
    }
}

/// f ← f + p ∇V, and the gradient back to zero: fields force, gradient.
struct Press<S>(S);

impl<S: Real> Map<2> for Press<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, _: L, [force, grad]: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        [force + grad * L::splat(self.0), Vec3::zero()]
    }
}

impl<S: Real> BalloonLot<S> {
    /// Scratch for every balloon of a model.
    pub fn all(model: &Model<S>) -> Vec<Self> {
        model.constraints().balloons.iter().map(|balloon| Self::new(model, balloon)).collect()
    }

    fn new(model: &Model<S>, balloon: &Balloon<S>) -> Self {
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

    /// ∇V into the gradient field, which must be zero; returns V \[m³\].
    fn measure<B: Backend<Scalar = S>>(&mut self, balloon: &Balloon<S>, x: &Field<S>, on: &B) -> S {
        let origin = x.vector(self.origin);
        let blocks = Blocks { parameters: &self.parameters, tuning: &self.tuning };
        on.emit(&Gradient(origin), &balloon.stencil, blocks, x, x, &mut self.records);
        on.gather(&self.incidence, &self.records, &mut self.gradient);
        on.reduce(&Volume(origin), Join::Sum, [x, &self.gradient], &mut self.partials) / S::from_f64(3.0)
    }

    /// Δλ = (−C − α̃ λ)/(Σ w|∇C|² + α̃), scaled by the gate; the gradient stays for whoever applies it.
    fn multiplier<B: Backend<Scalar = S>>(
        &mut self,
        balloon: &Balloon<S>,
        alpha: S,
        gate: S,
        x: &Field<S>,
        on: &B,
    ) -> S {
        let volume = self.measure(balloon, x, on);
        let weight = on.reduce(&Weight(core::marker::PhantomData), Join::Sum, [x, &self.gradient], &mut self.partials);
        let residual = balloon.volume - volume - alpha * self.lambda;
        gate * (weight + alpha).divide_or_zero(residual)
    }

    /// One projection: x ← x + w ∇C Δλ.
    pub fn project<B: Backend<Scalar = S>>(
        &mut self,
        balloon: &Balloon<S>,
        alpha: S,
        gate: S,
        x: &mut Field<S>,
        on: &B,
    ) {
        let delta = self.multiplier(balloon, alpha, gate, x, on);
        self.lambda = self.lambda + delta;
        on.map(&Move(delta), [x, &mut self.gradient]);
    }

    /// Adds what a rigid projection would move to `correction` and leaves `x` as it is.
    pub fn correct<B: Backend<Scalar = S>>(
        &mut self,
        balloon: &Balloon<S>,
        gate: S,
        x: &mut Field<S>,
        correction: &mut Field<S>,
        on: &B,
    ) {
        let delta = self.multiplier(balloon, S::ZERO, gate, x, on);
        on.map(&Add(delta), [x, correction, &mut self.gradient]);
    }

    /// Adds the force of E = C²/(2α), times `sign`, to `force`: the pressure p = −C/α \[Pa\] on every vertex's share ∇V of
    /// the surface.
    pub fn press<B: Backend<Scalar = S>>(
        &mut self,
        balloon: &Balloon<S>,
        x: &Field<S>,
        force: &mut Field<S>,
        sign: S,
        on: &B,
    ) {
        let pressure = (balloon.volume - self.measure(balloon, x, on)) / balloon.compliance;
        on.map(&Press(sign * pressure), [force, &mut self.gradient]);
    }

    /// E = C²/(2α) \[J\].
    #[cfg(feature = "linear")]
    pub fn energy<B: Backend<Scalar = S>>(&mut self, balloon: &Balloon<S>, x: &Field<S>, on: &B) -> f64 {
        let excess = (self.measure(balloon, x, on) - balloon.volume).to_f64();
        self.gradient.clear();
        excess * excess / (2.0 * balloon.compliance.to_f64())
    }

    /// w ∇V into `to`; returns V \[m³\] and Σ w|∇V|².
    #[cfg(feature = "xpbd-schur")]
    pub fn row<B: Backend<Scalar = S>>(
        &mut self,
        balloon: &Balloon<S>,
        x: &mut Field<S>,
        to: &mut Field<S>,
        on: &B,
    ) -> [S; 2] {
        let volume = self.measure(balloon, x, on);
        let weight = on.reduce(&Weight(core::marker::PhantomData), Join::Sum, [x, &self.gradient], &mut self.partials);
        on.map(&Weigh(core::marker::PhantomData), [x, &mut self.gradient, to]);
        [volume, weight]
    }

    /// Hands ∇V to `read`.
    #[cfg(any(feature = "newton", feature = "projective"))]
    pub fn gradient<B: Backend<Scalar = S>>(
        &mut self,
        balloon: &Balloon<S>,
        x: &Field<S>,
        on: &B,
        read: impl FnOnce(&Field<S>),
    ) {
        self.measure(balloon, x, on);
        read(&self.gradient);
        self.gradient.clear();
    }
}
