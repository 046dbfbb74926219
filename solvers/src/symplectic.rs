//! Symplectic Euler: explicit forces, new velocities, then new positions.   [METHODS 3; C 5–6]
//!
//! Every compliant constraint is a spring: E = C²/(2α), f = −C/α ∇C, plus damping −β Ċ ∇C; a tether is one that only
//! pulls, a balloon one whose force is the pressure inside. The method is stable below h ≈ 2√(m/k); beyond that the kit
//! reports divergence instead of returning infinities.

use core::marker::PhantomData;

use pliant_core::account::ContactAccount;
use pliant_core::backend::{Backend, Emit, Map, TUNING};
use pliant_core::columns::Particles;
use pliant_core::constraint::Constraint;
use pliant_core::constraints::{Set, Visitor};
use pliant_core::error::{BuildError, StepError};
use pliant_core::field::Field;
use pliant_core::lane::{Lane, Real};
use pliant_core::model::Model;
use pliant_core::schedule::Incidence;
use pliant_core::snapshot::{Fingerprint, Reader, SnapshotError, Writer};
use pliant_core::solver::{Solver, StepReport};
use pliant_core::vec3::Vec3;

use crate::aim::Aim;
use crate::balloon::BalloonLot;
use crate::contact::Response;
use crate::flight::Flight;
use crate::gauss_seidel::check_count;
use crate::lots::{Allocate, Lot, Reshape, outdated};

/// Explicit mass–spring dynamics.
#[derive(Clone, Debug)]
pub struct Symplectic<S> {
    substeps: usize,
    response: Response,
    engine: Option<Engine<S>>,
}

#[derive(Clone, Debug)]
struct Engine<S> {
    flight: Flight<S>,
    lots: Vec<Lot<S>>,
    sums: Vec<(Incidence, Vec<[S; 4]>)>,
    balloons: Vec<BalloonLot<S>>,
    aim: Aim<S>,
    /// The rest shapes that the lots hold.
    rest_revision: u64,
}

impl<S: Real> Symplectic<S> {
    /// A solver that takes this many substeps a step.
    pub fn new(substeps: usize) -> Self {
        Self { substeps, response: Response::default(), engine: None }
    }
    /// How particles respond to colliders: by impulses unless chosen here.
    #[cfg(feature = "collision")]
    #[must_use]
    pub fn with_response(mut self, response: Response) -> Self {
        self.response = response;
        self
    }
}

/// The force of one constraint on each corner; tuning holds stiffness, damping, gate.
struct Force<S, K>(PhantomData<(S, K)>);

impl<S: Real, K: Constraint<N, P>, const N: usize, const P: usize> Emit<N, P, N> for Force<S, K> {
    type Scalar = S;
    const READS_VELOCITY: bool = true;

    #[inline(always)]
    fn record<L: Lane<Scalar = S>>(
        &self,
        parameters: &[L; P],
        tuning: &[L; TUNING],
        x: &[Vec3<L>; N],
        _: &[L; N],
        v: &[Vec3<L>; N],
    ) -> [Vec3<L>; N] {
        let [stiffness, damping, _] = *tuning;
        let (c, mut grad) = K::eval(parameters, x);
        // Ċ = Σ ∇C·v
        let mut rate = L::zero();
        for k in 0..N {
            rate = rate + grad[k].dot(v[k]);
        }
        let pull = -(stiffness * c + damping * rate);
        for g in &mut grad {
            *g = *g * pull;
        }
        grad
    }
}

/// v ← v/(1 + h d) + h (g + w f), x ← x + h v, force back to zero: fields x, v, force.
struct Advance<S> {
    h: S,
    keep: S,
    gravity: [S; 3],
}

impl<S: Real> Map<3> for Advance<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, v, f]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        let h = L::splat(self.h);
        let v = v * L::splat(self.keep) + (f * w + Vec3::splat(self.gravity)) * h;
        let free = w.gt(L::zero());
        let v = Vec3::select(free, v, Vec3::zero());
        [x + v * h, v, Vec3::zero()]
    }
}

/// Copies stiffness and damping of every set, and refuses rigid constraints.
struct Springs<'a, S> {
    lots: core::slice::IterMut<'a, Lot<S>>,
    model: &'a Model<S>,
    sums: Vec<(Incidence, Vec<[S; 4]>)>,
    rigid: Option<(&'static str, usize)>,
}

impl<S: Real> Visitor<S> for Springs<'_, S> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        let Some(lot) = self.lots.next() else { return };
        if let Some(row) = set.compliance().iter().position(|&a| a <= S::ZERO) {
            self.rigid = self.rigid.or(Some((K::NAME, row)));
        }
        set.stencil().scatter(set.compliance().iter().map(|&a| S::ONE / a), &mut lot.tuning, 0, TUNING);
        set.stencil().scatter(set.damping().iter().copied(), &mut lot.tuning, 1, TUNING);
        let incidence = Incidence::new(self.model.plan(), set.stencil(), set.ids());
        let records = vec![[S::ZERO; 4]; incidence.record_count()];
        self.sums.push((incidence, records));
    }
}

struct Pull<'a, S, B> {
    lots: core::slice::Iter<'a, Lot<S>>,
    sums: core::slice::IterMut<'a, (Incidence, Vec<[S; 4]>)>,
    x: &'a Field<S>,
    v: &'a Field<S>,
    force: &'a mut Field<S>,
    on: &'a B,
}

impl<S: Real, B: Backend<Scalar = S>> Visitor<S> for Pull<'_, S, B> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        let (Some(lot), Some((incidence, records))) = (self.lots.next(), self.sums.next()) else { return };
        if !set.is_empty() {
            let kernel = Force::<S, K>(PhantomData);
            self.on.emit::<_, N, P, N>(&kernel, set.stencil(), lot.blocks(), self.x, self.v, records);
            self.on.gather(incidence, records, self.force);
        }
    }
}

/// Positions at the start of a substep: fields x, start.
struct Remember<S>(PhantomData<S>);

impl<S: Real> Map<2> for Remember<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, _: L, [x, _]: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        [x, x]
    }
}

impl<S: Real, B: Backend<Scalar = S>> Solver<B> for Symplectic<S> {
    fn name(&self) -> &'static str {
        "symplectic"
    }

    fn identify(&self, hash: &mut Fingerprint) {
        hash.add_name("symplectic");
        hash.add_shown(&(self.substeps, self.response));
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        check_count("substeps", self.substeps)?;
        crate::refuse_elastic(model)?;
        crate::matching::refuse(model)?;
        self.response.check::<S>()?;
        let mut allocate = Allocate { lots: Vec::new(), fold: false };
        model.constraints().visit(&mut allocate);
        let mut lots = allocate.lots;
        let mut springs = Springs { lots: lots.iter_mut(), model, sums: Vec::new(), rigid: None };
        model.constraints().visit(&mut springs);
        let hard = model.constraints().balloons.iter().position(|balloon| balloon.compliance <= S::ZERO);
        if let Some((what, row)) = springs.rigid.or(hard.map(|row| ("balloon", row))) {
            let reason = "an explicit force needs compliance above 0; a rigid constraint needs PBD or XPBD";
            return Err(BuildError::Unsupported { what, row, reason });
        }
        let sums = springs.sums;
        let (mut flight, aim) = (Flight::new(model), Aim::new(model, &lots));
        flight.contacts.hold_off(self.response.reach());
        let (balloons, rest_revision) = (BalloonLot::all(model), model.rest_revision());
        self.engine = Some(Engine { flight, lots, sums, balloons, aim, rest_revision });
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, on: &B) -> Result<StepReport, StepError> {
        let Engine { flight, lots, sums, balloons, aim, rest_revision } =
            self.engine.as_mut().ok_or(StepError::NotPrepared)?;
        flight.begin(model, particles, dt)?;
        if outdated(rest_revision, model) {
            model.constraints().visit(&mut Reshape { lots: lots.iter_mut(), model, tuning: None });
        }
        let h = dt / S::from_f64(self.substeps as f64);
        let keep = S::ONE / (S::ONE + h * model.environment.damping);
        let advance = Advance { h, keep, gravity: model.environment.gravity };
        for k in 0..self.substeps {
            flight.load(model, on);
            aim.at(lots, flight, model, (k, self.substeps));
            let Flight { x, v, force, .. } = &mut *flight;
            model.constraints().visit(&mut Pull { lots: lots.iter(), sums: sums.iter_mut(), x, v, force, on });
            for (lot, balloon) in balloons.iter_mut().zip(&model.constraints().balloons) {
                lot.press(balloon, &flight.x, &mut flight.force, S::ONE, on);
            }
            let Flight { x, start, v, force, contacts, .. } = &mut *flight;
            contacts.place(model, (k, self.substeps));
            contacts.push(self.response, model, (h, keep), [&mut *x, &mut *v, &mut *force], on);
            if contacts.repels(model) {
                on.map(&Remember(PhantomData), [&mut *x, start]);
            }
            on.map(&advance, [&mut *x, &mut *v, force]);
            flight.move_pins(model, particles, h, (k, self.substeps));
            let Flight { x, start, v, contacts, .. } = &mut *flight;
            // Colliders have the last word. Surfaces change velocities by what they move over h, so that x − h v is still where
            // the substep began, as impulses need it.
            contacts.repel(model, [&mut *x, start, &mut *v], on);
            contacts.strike(self.response, model, h, [x, v], on);
        }
        flight.end(model, particles, self.substeps, on)?;
        aim.arrive(model);
        Ok(crate::report(self.substeps, 1, model))
    }

    fn account(&mut self) -> Option<&mut ContactAccount<S>> {
        self.engine.as_mut()?.flight.contacts.account()
    }

    fn remember(&self, to: &mut Writer) {
        if let Some(Engine { flight, aim, .. }) = &self.engine {
            flight.contacts.remember(to);
            aim.remember(to);
        }
    }
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let Some(Engine { flight, aim, .. }) = &mut self.engine else { return Ok(()) };
        flight.contacts.recall(from)?;
        aim.recall(from)
    }
}
