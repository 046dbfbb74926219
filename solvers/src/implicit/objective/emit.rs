//! What elements emit for the objective: their energies, gradients and Hessians, times their stiffness.

use core::marker::PhantomData;

use pliant_core::backend::{Around, Backend, Emit, TUNING};
use pliant_core::constraints::{EnergyVisitor, Set};
use pliant_core::energies::spring;
use pliant_core::energy::{Curvature, Energy};
use pliant_core::field::Field;
use pliant_core::kinds::Distance;
use pliant_core::lane::{Lane, Octet, Real};
use pliant_core::model::Model;
use pliant_core::schedule::Neighbours;
use pliant_core::vec3::Vec3;

use super::Sums;
use crate::lots::Lot;

/// k E, k ∇E, k ∇²E of an element.
struct Scaled<S, E> {
    curvature: Curvature,
    energy: PhantomData<(S, E)>,
}

impl<S, E> Scaled<S, E> {
    fn new(curvature: Curvature) -> Self {
        Self { curvature, energy: PhantomData }
    }
}

struct Value<S, E>(PhantomData<(S, E)>);
struct Gradient<S, E>(PhantomData<(S, E)>);

/// The energy of one element in the first component of a record. `R` only tells energies apart.
struct Tagged<T, const R: usize>(T);

impl<S: Real, E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize> Emit<N, P, 1>
    for Tagged<Value<S, E>, R>
{
    type Scalar = S;
    const READS_VELOCITY: bool = false;
    #[inline(always)]
    fn record<L: Lane<Scalar = S>>(
        &self,
        p: &[L; P],
        tuning: &[L; TUNING],
        x: &[Vec3<L>; N],
        _: &[L; N],
        _: &[Vec3<L>; N],
    ) -> [Vec3<L>; 1] {
        [Vec3::new(E::value(p, x) * tuning[0], L::zero(), L::zero())]
    }
}

impl<S: Real, E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize> Emit<N, P, N>
    for Tagged<Gradient<S, E>, R>
{
    type Scalar = S;
    const READS_VELOCITY: bool = false;
    #[inline(always)]
    fn record<L: Lane<Scalar = S>>(
        &self,
        p: &[L; P],
        tuning: &[L; TUNING],
        x: &[Vec3<L>; N],
        _: &[L; N],
        _: &[Vec3<L>; N],
    ) -> [Vec3<L>; N] {
        let mut grad = E::gradient(p, x);
        for g in &mut grad {
            *g = *g * tuning[0];
        }
        grad
    }
}

impl<S: Real, E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize> Emit<N, P, R> for Scaled<S, E> {
    type Scalar = S;
    const READS_VELOCITY: bool = false;
    #[inline(always)]
    fn record<L: Lane<Scalar = S>>(
        &self,
        p: &[L; P],
        tuning: &[L; TUNING],
        x: &[Vec3<L>; N],
        _: &[L; N],
        _: &[Vec3<L>; N],
    ) -> [Vec3<L>; R] {
        let mut columns = E::hessian(p, x, self.curvature);
        for c in &mut columns {
            *c = *c * tuning[0];
        }
        columns
    }
}

/// k (ℓ − L) n, with parameters L and k.
struct SpringPull<S>(PhantomData<S>);

impl<S: Real> Around<2> for SpringPull<S> {
    type Scalar = S;
    #[inline(always)]
    fn pull<L: Lane<Scalar = S>>(&self, p: &[L; 2], d: Vec3<L>) -> Vec3<L> {
        spring::gradient(p[1], p[0], d)
    }
}

/// The springs around every particle: rest length and stiffness in item order.
#[derive(Clone, Debug)]
pub(super) struct Springs<S> {
    neighbours: Neighbours,
    parameters: Vec<Octet<S>>,
}

impl<S: Real> Springs<S> {
    #[cfg(feature = "projective")]
    pub fn new(model: &Model<S>) -> Self {
        let set = &model.constraints().distance;
        let neighbours = Neighbours::new(model.plan(), set.ids());
        let parameters = crate::lots::zeros(2 * neighbours.item_count());
        let mut springs = Self { neighbours, parameters };
        springs.rest(model);
        springs.neighbours.scatter(|c| set.compliance()[c].divide_or_zero(S::ONE), &mut springs.parameters, 1, 2);
        springs
    }

    /// Copies the rest lengths.
    pub fn rest(&mut self, model: &Model<S>) {
        let set = &model.constraints().distance;
        self.neighbours.scatter(|c| set.parameters()[0][c], &mut self.parameters, 0, 2);
    }
}

pub(super) struct EmitValues<'a, S, B> {
    pub lots: core::slice::Iter<'a, Lot<S>>,
    pub sums: core::slice::IterMut<'a, Sums<S>>,
    pub x: &'a Field<S>,
    pub on: &'a B,
}

impl<S: Real, B: Backend<Scalar = S>> EnergyVisitor<S> for EmitValues<'_, S, B> {
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>) {
        let (Some(lot), Some(sums)) = (self.lots.next(), self.sums.next()) else { return };
        if !set.is_empty() {
            let kernel = Tagged::<Value<S, E>, R>(Value(PhantomData));
            self.on.emit::<_, N, P, 1>(&kernel, set.stencil(), lot.blocks(), self.x, self.x, &mut sums.values);
        }
    }
}

pub(super) struct EmitGradients<'a, S, B> {
    pub lots: core::slice::Iter<'a, Lot<S>>,
    pub sums: core::slice::IterMut<'a, Sums<S>>,
    pub springs: Option<&'a Springs<S>>,
    pub x: &'a Field<S>,
    pub to: &'a mut Field<S>,
    pub on: &'a B,
}

impl<S: Real, B: Backend<Scalar = S>> EnergyVisitor<S> for EmitGradients<'_, S, B> {
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>) {
        let (Some(lot), Some(sums)) = (self.lots.next(), self.sums.next()) else { return };
        if !set.is_empty() {
            let kernel = Tagged::<Gradient<S, E>, R>(Gradient(PhantomData));
            self.on.emit::<_, N, P, N>(&kernel, set.stencil(), lot.blocks(), self.x, self.x, &mut sums.gradients);
            self.on.gather(&sums.incidence, &sums.gradients, self.to);
        }
    }
    fn visit_springs(&mut self, set: &Set<S, Distance, 2, 1>) {
        let Some(Springs { neighbours, parameters }) = self.springs else { return self.visit(set) };
        let (Some(_), Some(_)) = (self.lots.next(), self.sums.next()) else { return };
        if !set.is_empty() {
            self.on.surround(&SpringPull(PhantomData), neighbours, parameters, self.x, self.to);
        }
    }
}

/// Emits the Hessians of every set into one list of records a set.
pub(crate) struct EmitHessians<'a, S, B> {
    pub lots: core::slice::Iter<'a, Lot<S>>,
    pub records: core::slice::IterMut<'a, Vec<[S; 4]>>,
    pub x: &'a Field<S>,
    pub curvature: Curvature,
    pub on: &'a B,
}

impl<S: Real, B: Backend<Scalar = S>> EnergyVisitor<S> for EmitHessians<'_, S, B> {
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>) {
        let (Some(lot), Some(records)) = (self.lots.next(), self.records.next()) else { return };
        if !set.is_empty() {
            let kernel = Scaled::<S, E>::new(self.curvature);
            self.on.emit::<_, N, P, R>(&kernel, set.stencil(), lot.blocks(), self.x, self.x, records);
        }
    }
}
