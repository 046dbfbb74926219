//! The objective of implicit Euler: what Newton and Projective Dynamics minimise.
//!
//! ```text
//!   F(x) = 1/(2h²) |x − x̂|²_M + E(x),    ∇F = M (x − x̂)/h² + ∇E,    ∇²F = M/h² + ∇²E      [METHODS 4; C 7–15]
//! ```
//! E sums every constraint as E = C²/(2α), the elastic elements, and whatever energies a user adds. Sums run in a fixed
//! order and F is added up in double precision, so that a line search sees small decreases in single precision too.

pub(super) mod emit;

use core::marker::PhantomData;

use pliant_core::backend::{Backend, Cut, Join, Map, Measure, REDUCE_SLOTS, TUNING, Task};
use pliant_core::constraints::{Constraints, EnergyVisitor, Set};
use pliant_core::energy::Energy;
use pliant_core::error::{BuildError, StepError};
use pliant_core::field::Field;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::model::Model;
use pliant_core::schedule::Incidence;
use pliant_core::vec3::Vec3;

use emit::{EmitGradients, EmitValues, Springs};

use super::energies::Energies;
use crate::balloon::BalloonLot;
use crate::lots::{Lot, Reshape, outdated, zeros};

const RIGID: &str = "a rigid constraint has no energy; give it a compliance above 0, or use PBD or XPBD";

/// Records whose energies one task adds up.
const CHUNK: usize = 2048;

/// Everything F needs besides positions: constants in block order, and room for what elements emit.
#[derive(Clone, Debug)]
pub(crate) struct Objective<S> {
    /// Constants of every set; tuning holds the stiffness k = 1/α.
    pub lots: Vec<Lot<S>>,
    sums: Vec<Sums<S>>,
    /// Volumes: one energy each on all particles of a surface.
    pub balloons: Vec<BalloonLot<S>>,
    /// Springs around particles, for methods whose iterations are as cheap as this sum.
    springs: Option<Springs<S>>,
    /// ∇F after [`Objective::gradient`].
    pub gradient: Field<S>,
    partials: Vec<Octet<S>>,
    energies: Vec<f64>,
    /// The rest shapes that the constants are of.
    rest_revision: u64,
}

/// What the elements of one set emit, and where it goes.
#[derive(Clone, Debug)]
struct Sums<S> {
    incidence: Incidence,
    gradients: Vec<[S; 4]>,
    values: Vec<[S; 4]>,
}

impl<S: Real> Objective<S> {
    /// Sized for a model and the user's own energies.
    ///
    /// # Errors
    /// When a constraint is rigid or damped: neither is an energy.
    pub fn new(model: &Model<S>, extra: &impl Energies<S>) -> Result<Self, BuildError> {
        Self::build(model, extra, false)
    }

    /// The same, whatever the compliances: F must not be asked for.
    #[cfg(feature = "xpbd-schur")]
    pub fn allowing_rigid(model: &Model<S>) -> Result<Self, BuildError> {
        Self::build(model, &(), true)
    }

    fn build(model: &Model<S>, extra: &impl Energies<S>, rigid: bool) -> Result<Self, BuildError> {
        let hard = model.constraints().balloons.iter().position(|balloon| balloon.compliance <= S::ZERO && !rigid);
        if let Some(row) = hard {
            return Err(BuildError::Unsupported { what: "balloon", row, reason: RIGID });
        }
        let mut prepare = Prepare { model, lots: Vec::new(), sums: Vec::new(), rigid, refused: None };
        visit(model.constraints(), extra, &mut prepare);
        let Prepare { lots, sums, refused, .. } = prepare;
        if let Some(error) = refused {
            return Err(error);
        }
        let gradient = Field::zeros(model.plan());
        let partials = zeros(gradient.slot_count().div_ceil(REDUCE_SLOTS));
        let longest = sums.iter().map(|s| s.values.len()).max().unwrap_or(0).max(gradient.slot_count());
        let (balloons, energies) = (BalloonLot::all(model), vec![0.0; longest.div_ceil(CHUNK)]);
        let rest_revision = model.rest_revision();
        Ok(Self { lots, sums, balloons, springs: None, gradient, partials, energies, rest_revision })
    }

    /// Sums springs around particles from now on, instead of through records: three times as fast, in another order.
    #[cfg(feature = "projective")]
    pub fn surround_springs(&mut self, model: &Model<S>) {
        self.springs = Some(Springs::new(model));
    }

    /// Brings constants up to date with rest shapes that flowed. Stiffnesses k stay. What was factored stays as well: Newton
    /// factors the Hessian at hand anyway, and the matrix of Projective Dynamics is one of rest shapes that have not flowed.
    pub fn reshape(&mut self, model: &Model<S>) {
        if outdated(&mut self.rest_revision, model) {
            model.constraints().visit_energies(&mut Reshape { lots: self.lots.iter_mut(), model, tuning: None });
            if let Some(springs) = &mut self.springs {
                springs.rest(model);
            }
        }
    }

    /// F(x) \[J\], in double precision.
    pub fn value<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        extra: &impl Energies<S>,
        at: &At<'_, S>,
        on: &B,
    ) -> f64 {
        let inertia = InertiaEnergy { x: at.x, goal: at.goal, half_inv_h_sq: S::from_f64(0.5) * at.inv_h_sq };
        let slots = at.x.slot_count();
        let mut total = self.add_up(slots, &inertia, on);
        let mut emit = EmitValues { lots: self.lots.iter(), sums: self.sums.iter_mut(), x: at.x, on };
        visit(model.constraints(), extra, &mut emit);
        for set in 0..self.sums.len() {
            let records = core::mem::take(&mut self.sums[set].values);
            total += self.add_up(records.len(), &Records(&records), on);
            self.sums[set].values = records;
        }
        for (lot, balloon) in self.balloons.iter_mut().zip(&model.constraints().balloons) {
            total += lot.energy(balloon, at.x, on);
        }
        total
    }

    /// Σ over `count` items, chunk after chunk.
    fn add_up<B, T>(&mut self, count: usize, of: &T, on: &B) -> f64
    where
        B: Backend<Scalar = S>,
        T: Item<Scalar = S>,
    {
        let chunks = &mut self.energies[..count.div_ceil(CHUNK)];
        on.fork(&AddUp { of, count }, Cut::Every(1), chunks);
        chunks.iter().sum()
    }

    /// ∇F(x) into `gradient` \[N\]; zero at pins.
    pub fn gradient<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        extra: &impl Energies<S>,
        at: &mut At<'_, S>,
        on: &B,
    ) {
        self.gradient.clear();
        let mut emit = EmitGradients {
            lots: self.lots.iter(),
            sums: self.sums.iter_mut(),
            springs: self.springs.as_ref(),
            x: at.x,
            to: &mut self.gradient,
            on,
        };
        visit(model.constraints(), extra, &mut emit);
        for (lot, balloon) in self.balloons.iter_mut().zip(&model.constraints().balloons) {
            lot.press(balloon, at.x, &mut self.gradient, -S::ONE, on);
        }
        on.map(&Inertia(at.inv_h_sq), [at.x, at.goal, &mut self.gradient]);
    }

    /// The largest component of ∇F \[N\]; NaN once any is not finite.
    pub fn residual<B: Backend<Scalar = S>>(&mut self, on: &B) -> f64 {
        largest(&self.gradient, &mut self.partials, on)
    }

    /// The largest component of a field.
    pub fn largest<B: Backend<Scalar = S>>(&mut self, field: &Field<S>, on: &B) -> f64 {
        largest(field, &mut self.partials, on)
    }

    /// ∇F · Δ over all slots.
    #[cfg(feature = "xpbd-schur")]
    pub fn slope<B: Backend<Scalar = S>>(&mut self, delta: &Field<S>, on: &B) -> f64 {
        let gradient = core::mem::replace(&mut self.gradient, Field::empty());
        let slope = self.add_up(delta.slot_count(), &Product { a: &gradient, b: delta }, on);
        self.gradient = gradient;
        slope
    }

    /// The first element whose energy is not finite, after [`Objective::value`] returned such a number.
    pub fn blame(&self, model: &Model<S>, extra: &impl Energies<S>) -> Option<StepError> {
        let mut search = Blame { sums: self.sums.iter(), found: None };
        visit(model.constraints(), extra, &mut search);
        search.found
    }
}

/// Where F is asked for: positions (weight: inverse mass), the inertial prediction x̂, and 1/h².
pub(crate) struct At<'a, S> {
    pub x: &'a mut Field<S>,
    pub goal: &'a mut Field<S>,
    pub inv_h_sq: S,
}

/// The model's energies, then the user's.
pub(crate) fn visit<S: Real>(
    constraints: &Constraints<S>,
    extra: &impl Energies<S>,
    visitor: &mut impl EnergyVisitor<S>,
) {
    constraints.visit_energies(visitor);
    extra.visit(visitor);
}

fn largest<S: Real, B: Backend<Scalar = S>>(field: &Field<S>, partials: &mut [Octet<S>], on: &B) -> f64 {
    on.reduce(&Largest(PhantomData), Join::Max, [field], partials).to_f64()
}

struct Largest<S>(PhantomData<S>);

impl<S: Real> Measure<1> for Largest<S> {
    type Scalar = S;
    #[inline(always)]
    fn value<L: Lane<Scalar = S>>(&self, _: L, [v]: [Vec3<L>; 1]) -> L {
        v.x.abs().max(v.y.abs()).max(v.z.abs()) + (v.x.blemish() + v.y.blemish() + v.z.blemish())
    }
}

/// g ← g + (x − x̂)/(w h²), and zero where w = 0: fields x, x̂, g.
struct Inertia<S>(S);

impl<S: Real> Map<3> for Inertia<S> {
    type Scalar = S;
    const WRITES: [bool; 3] = [false, false, true];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, goal, g]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        let g = g + (x - goal) * w.divide_or_zero(L::splat(self.0));
        [x, goal, Vec3::select(w.gt(L::zero()), g, Vec3::zero())]
    }
}

/// Numbers to be added up.
trait Item: Sync {
    type Scalar: Real;
    fn get(&self, index: usize) -> f64;
}

struct AddUp<'a, T> {
    of: &'a T,
    count: usize,
}

impl<T: Item> Task<f64> for AddUp<'_, T> {
    type Scalar = T::Scalar;
    #[inline(always)]
    fn run<L: Lane<Scalar = T::Scalar>>(&self, index: usize, own: &mut [f64]) {
        let mut sum = 0.0;
        for i in index * CHUNK..self.count.min((index + 1) * CHUNK) {
            sum += self.of.get(i);
        }
        own[0] = sum;
    }
}

struct Records<'a, S>(&'a [[S; 4]]);

impl<S: Real> Item for Records<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn get(&self, index: usize) -> f64 {
        self.0[index][0].to_f64()
    }
}

/// 1/(2 w h²) |x − x̂|² of a slot.
struct InertiaEnergy<'a, S> {
    x: &'a Field<S>,
    goal: &'a Field<S>,
    half_inv_h_sq: S,
}

impl<S: Real> Item for InertiaEnergy<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn get(&self, slot: usize) -> f64 {
        let w = self.x.get(slot, 3);
        let d = Vec3::from(self.x.vector(slot)) - Vec3::from(self.goal.vector(slot));
        (d.length_sq() * w.divide_or_zero(self.half_inv_h_sq)).to_f64()
    }
}

/// a · b of a slot.
#[cfg(feature = "xpbd-schur")]
struct Product<'a, S> {
    a: &'a Field<S>,
    b: &'a Field<S>,
}

#[cfg(feature = "xpbd-schur")]
impl<S: Real> Item for Product<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn get(&self, slot: usize) -> f64 {
        let (a, b) = (self.a.vector(slot), self.b.vector(slot));
        (0..3).map(|k| a[k].to_f64() * b[k].to_f64()).sum()
    }
}

/// Sizes lots and sums, and refuses what is no energy.
struct Prepare<'a, S> {
    model: &'a Model<S>,
    lots: Vec<Lot<S>>,
    sums: Vec<Sums<S>>,
    /// Whether rigid constraints may pass.
    rigid: bool,
    refused: Option<BuildError>,
}

impl<S: Real> EnergyVisitor<S> for Prepare<'_, S> {
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>) {
        let refuse = |row, reason| Some(BuildError::Unsupported { what: E::NAME, row, reason });
        if let Some(row) = set.compliance().iter().position(|&a| a <= S::ZERO && !self.rigid) {
            self.refused = self.refused.take().or(refuse(row, RIGID));
        }
        if let Some(row) = set.damping().iter().position(|&b| b > S::ZERO) {
            let reason = "a damped constraint has no energy; damp velocities instead, or use XPBD";
            self.refused = self.refused.take().or(refuse(row, reason));
        }
        let mut lot = Lot::new::<_, N, P>(E::NAME, set);
        let stiffness = set.compliance().iter().map(|a| a.divide_or_zero(S::ONE));
        set.stencil().scatter(stiffness, &mut lot.tuning, 0, TUNING);
        self.lots.push(lot);
        let incidence = Incidence::new(self.model.plan(), set.stencil(), set.ids());
        let (gradients, values) = (incidence.record_count(), set.stencil().block_count() * BLOCK);
        let empty = [S::ZERO; 4];
        self.sums.push(Sums { incidence, gradients: vec![empty; gradients], values: vec![empty; values] });
    }
}

struct Blame<'a, S> {
    sums: core::slice::Iter<'a, Sums<S>>,
    found: Option<StepError>,
}

impl<S: Real> EnergyVisitor<S> for Blame<'_, S> {
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>) {
        let Some(sums) = self.sums.next() else { return };
        for row in 0..set.len() {
            let (block, lane) = set.stencil().place(row);
            let value = sums.values[block * BLOCK + lane][0];
            if self.found.is_none() && !value.is_finite() {
                self.found = Some(StepError::BadEnergy { what: E::NAME, row, value: value.to_f64() });
            }
        }
    }
}
