//! Descent: the state of a minimisation inside a step, and the line search every method shares.

use pliant_core::backend::{Backend, Map};
use pliant_core::columns::Particles;
use pliant_core::error::{BuildError, StepError};
use pliant_core::field::Field;
use pliant_core::lane::{Lane, Real};
use pliant_core::model::Model;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::vec3::Vec3;

use super::collider_energy::{ColliderForm, ColliderTerms};
use super::energies::Energies;
use super::nodes::Nodes;
use super::objective::{At, Objective};
use crate::aim::Aim;
use crate::flight::Flight;

/// Where a minimisation starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Start {
    /// Where the particles are: safe for stiff models.
    #[default]
    Current,
    /// Where inertia and loads would take them: exact for free flight.
    Predicted,
}

/// Halvings of a step before a line search gives up.
const HALVINGS: usize = 40;
/// Share of the predicted decrease a step must achieve (Armijo).
const ENOUGH: f64 = 1e-4;

/// Positions, prediction, direction, and the objective.
#[derive(Clone, Debug)]
pub(crate) struct Descent<S> {
    pub flight: Flight<S>,
    pub objective: Objective<S>,
    pub nodes: Nodes,
    /// What colliders add to F.
    pub colliders: ColliderTerms<S>,
    aim: Aim<S>,
    /// x̂.
    pub goal: Field<S>,
    /// Positions a line search starts from.
    pub base: Field<S>,
    /// The step to take from there.
    pub delta: Field<S>,
    inv_h_sq: S,
}

/// x ← base + s delta: fields x, base, delta.
struct Advance<S>(S);

impl<S: Real> Map<3> for Advance<S> {
    type Scalar = S;
    const WRITES: [bool; 3] = [true, false, false];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, _: L, [_, base, delta]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        [base + delta * L::splat(self.0), base, delta]
    }
}

/// The second vector becomes the first.
pub(crate) struct Copy<S>(pub core::marker::PhantomData<S>);

impl<S: Real> Map<2> for Copy<S> {
    type Scalar = S;
    const WRITES: [bool; 2] = [false, true];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, _: L, [from, _]: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        [from, from]
    }
}

/// delta ← x − base: fields x, base, delta.
#[cfg(all(feature = "newton", feature = "collision"))]
struct Depart<S>(core::marker::PhantomData<S>);

#[cfg(all(feature = "newton", feature = "collision"))]
impl<S: Real> Map<3> for Depart<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, _: L, [x, base, _]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        [x, base, x - base]
    }
}

/// How a line search ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// F at the new place.
    pub value: f64,
    /// The share of the step taken; 0 when no share made F smaller.
    pub share: f64,
}

impl<S: Real> Descent<S> {
    pub fn new<X: Energies<S>>(model: &Model<S>, extra: &X) -> Result<Self, BuildError> {
        let mut descent = Self::around(model, Objective::new(model, extra)?);
        descent.flight.world_frame = X::ANY;
        Ok(descent)
    }

    /// For methods that only use the constants of the constraints, never F.
    #[cfg(feature = "xpbd-schur")]
    pub fn allowing_rigid(model: &Model<S>) -> Result<Self, BuildError> {
        Ok(Self::around(model, Objective::allowing_rigid(model)?))
    }

    fn around(model: &Model<S>, objective: Objective<S>) -> Self {
        let nodes = Nodes::new(model);
        Self {
            flight: Flight::new(model),
            aim: Aim::new(model, &objective.lots),
            objective,
            colliders: ColliderTerms::energies(model, &nodes, ColliderForm::Project),
            nodes,
            goal: Field::zeros(model.plan()),
            base: Field::zeros(model.plan()),
            delta: Field::zeros(model.plan()),
            inv_h_sq: S::ZERO,
        }
    }

    /// Writes down what the next step depends on: factors and histories follow from it.
    pub fn remember(&self, to: &mut Writer) {
        self.flight.contacts.remember(to);
        self.aim.remember(to);
        self.colliders.remember(to);
    }
    /// Takes it back.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.flight.contacts.recall(from)?;
        self.aim.recall(from)?;
        self.colliders.recall(from)
    }

    /// Predicts x̂ of substep `k` of `n` and puts the particles where the minimisation starts.
    pub fn begin<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &Particles<S>,
        h: S,
        (k, n): (usize, usize),
        start: Start,
        on: &B,
    ) {
        self.flight.predict(model, particles, h, (k, n), on);
        self.objective.reshape(model);
        self.aim.at(&mut self.objective.lots, &self.flight, model, (k, n));
        let copy = Copy(core::marker::PhantomData);
        on.map(&copy, [&mut self.flight.x, &mut self.goal]);
        self.colliders.begin(model, &self.flight, h);
        if start == Start::Current {
            self.stay(model, on);
        }
        self.inv_h_sq = S::ONE / (h * h);
    }

    /// Puts the particles back where the substep started; pins are where they are going already.
    fn stay<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, on: &B) {
        // Weights stay with their fields.
        on.map(&Copy(core::marker::PhantomData), [&mut self.flight.start, &mut self.flight.x]);
        for &pin in model.pins() {
            let slot = model.plan().slots()[pin as usize] as usize;
            self.flight.x.set_vector(slot, self.goal.vector(slot));
        }
    }

    /// After a start at the prediction: goes on from there or from the current positions, whichever has the smaller F.
    ///
    /// A method that never lets F grow then never gains energy, however few iterations it takes: F at the current positions
    /// is what kinetic and elastic energy amount to.
    #[cfg(feature = "projective")]
    pub fn start_lower<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        extra: &impl Energies<S>,
        on: &B,
    ) -> Result<(), StepError> {
        let predicted = self.value(model, extra, on);
        self.stay(model, on);
        let current = self.value(model, extra, on)?;
        if predicted.is_ok_and(|predicted| predicted < current) {
            on.map(&Copy(core::marker::PhantomData), [&mut self.goal, &mut self.flight.x]);
        }
        Ok(())
    }

    /// Looks at the friction of colliders again, at the current positions; whether that makes a difference.
    #[cfg(feature = "newton")]
    pub fn relag<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, on: &B) -> bool {
        self.colliders.relag(model, &self.flight, on)
    }

    /// 1/h² of this substep \[1/s²\].
    pub fn inv_h_sq(&self) -> S {
        self.inv_h_sq
    }

    /// F at the current positions, finite or not.
    fn total<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, extra: &impl Energies<S>, on: &B) -> f64 {
        let at = At { x: &mut self.flight.x, goal: &mut self.goal, inv_h_sq: self.inv_h_sq };
        self.objective.value(model, extra, &at, on) + self.colliders.value(model, &mut self.flight, on)
    }

    /// F at the current positions.
    pub fn value<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        extra: &impl Energies<S>,
        on: &B,
    ) -> Result<f64, StepError> {
        let value = self.total(model, extra, on);
        match value.is_finite() {
            true => Ok(value),
            false => Err(self.objective.blame(model, extra).unwrap_or(StepError::BadEnergy {
                what: "inertia",
                row: 0,
                value,
            })),
        }
    }

    /// ∇F at the current positions; returns its largest component \[N\].
    pub fn gradient<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, extra: &impl Energies<S>, on: &B) -> f64 {
        let mut at = At { x: &mut self.flight.x, goal: &mut self.goal, inv_h_sq: self.inv_h_sq };
        self.objective.gradient(model, extra, &mut at, on);
        self.colliders.gradient(model, &mut self.flight, &mut self.objective.gradient, on);
        self.objective.residual(on)
    }

    /// Takes a step given as three numbers a node as the direction; returns its largest component \[m\].
    pub fn aim_along<B: Backend<Scalar = S>>(&mut self, step: &[S], on: &B) -> f64 {
        self.nodes.write(step, &mut self.delta);
        on.map(&Copy(core::marker::PhantomData), [&mut self.flight.x, &mut self.base]);
        self.objective.largest(&self.delta, on)
    }

    /// Takes the current positions as those that directions start from.
    #[cfg(all(feature = "newton", feature = "collision"))]
    pub fn keep_base<B: Backend<Scalar = S>>(&mut self, on: &B) {
        on.map(&Copy(core::marker::PhantomData), [&mut self.flight.x, &mut self.base]);
    }

    /// Takes the way from there to the current positions as the direction.
    #[cfg(all(feature = "newton", feature = "collision"))]
    pub fn aim_from_base<B: Backend<Scalar = S>>(&mut self, on: &B) {
        on.map(&Depart(core::marker::PhantomData), [&mut self.flight.x, &mut self.base, &mut self.delta]);
    }

    /// ∇F · Δ of the direction at hand, after [`Descent::gradient`].
    #[cfg(feature = "xpbd-schur")]
    pub fn slope<B: Backend<Scalar = S>>(&mut self, on: &B) -> f64 {
        self.objective.slope(&self.delta, on)
    }

    /// x = base + share · delta.
    pub fn advance<B: Backend<Scalar = S>>(&mut self, share: f64, on: &B) {
        on.map(&Advance(S::from_f64(share)), [&mut self.flight.x, &mut self.base, &mut self.delta]);
    }

    /// Backtracks along the direction until F is small enough: F(x + sΔ) ≤ F(x) + 10⁻⁴ s ∇F·Δ.
    ///
    /// `from` is F at the base and `slope` = ∇F·Δ there. Decreases below what rounding shows count as decreases.
    pub fn search<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        extra: &impl Energies<S>,
        (from, slope): (f64, f64),
        on: &B,
    ) -> Result<Search, StepError> {
        let noise = 4.0 * S::EPSILON.to_f64() * from.abs();
        let mut share = 1.0;
        for _ in 0..HALVINGS {
            self.advance(share, on);
            let value = self.total(model, extra, on);
            // A trial that overflows is only too long; NaN at the base was caught before.
            if value <= from + ENOUGH * share * slope + noise {
                return Ok(Search { value, share });
            }
            share *= 0.5;
        }
        self.advance(0.0, on);
        let value = self.value(model, extra, on)?;
        Ok(Search { value, share: 0.0 })
    }

    /// Moves what the minimum left inside colliders out of them, with friction; after every substep. What colliders gave in the minimum
    /// is told before.
    ///
    /// A projection after the fact, not a barrier in F: cheap, and exact for everything that is not under tension there.
    pub fn settle<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, on: &B) {
        self.colliders.tell(model, &mut self.flight, on);
        self.flight.collide(model, (0, 1), on);
    }

    /// Velocities and the state out, after the last substep.
    pub fn end<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &mut Particles<S>,
        h: S,
        substeps: usize,
        on: &B,
    ) -> Result<(), StepError> {
        self.flight.land(model, h, on);
        self.flight.end(model, particles, substeps, on)?;
        self.aim.arrive(model);
        Ok(())
    }
}
