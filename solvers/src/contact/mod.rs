//! Contact of particles with colliders: where colliders are in a substep, and the passes over particles that respond.
//!
//! One file a response: `project` (positions, for PBD and XPBD), `rebound` (the velocities after it), `impulse` and `force`
//! (for explicit methods). Every pass visits the colliders one after the other for each vector of particles; which of them a
//! vector can skip is judged for all of its lanes at once and never changes a result.
//!
//! `repel` keeps surfaces clear of themselves and of each other; colliders have the last word, but for the `limit`s of a skin.

mod events;
mod force;
mod impulse;
mod ledger;
mod limit;
mod pairs;
mod project;
mod rebound;
mod repel;
mod strata;

use pliant_core::account::ContactAccount;
use pliant_core::backend::Backend;
use pliant_core::error::BuildError;
use pliant_core::field::Field;
use pliant_core::lane::{Lane, Real};
use pliant_core::model::Model;
use pliant_core::sdf::{Gate, Penalty, Placed, Pose, Solid};
use pliant_core::snapshot::{Reader, SnapshotError, Writer};

pub use events::{ContactEvent, ContactPair, ContactPhase, ContactWatch};
use force::Force;
use impulse::Impulse;
use ledger::{Change, Giver, Ledger};
use limit::Limits;
pub(crate) use pairs::{candidates, pair_friction, pair_thickness};
use pairs::{owners, side_by_side};
use project::Project;
use rebound::{Keep, Rebound};
use repel::Repulsion;
pub(crate) use strata::Strata;

/// How fast projection lets particles out of colliders that they began a step in \[m/s\]: at once they would be shot out with their depth
/// over a substep. At 3 m/s layers behind a guard, which now and then are held inside, stay there for long.
const RISE: f64 = 10.0;

/// How an explicit method responds to colliders.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Response {
    /// Positions are pushed out, velocities reflected with restitution and slowed by Coulomb friction. Exact rest on slopes.
    #[default]
    Impulse,
    /// A repulsive force of the distance, with Coulomb friction. Needs a substep below 2√(m/k), like any spring. Looks at where
    /// particles are and not at how they came there: [`Collider::continuous`](pliant_core::sdf::Collider::continuous) means nothing
    /// to it, and what is fast passes through what is thin.
    Penalty(Penalty),
}

impl Response {
    /// Checks the numbers of a penalty in the precision of a model.
    pub(crate) fn check<S: Real>(&self) -> Result<(), BuildError> {
        match self {
            Self::Impulse => Ok(()),
            Self::Penalty(penalty) => penalty.check::<S>(),
        }
    }
    /// The gap at which it begins to push \[m\].
    pub(crate) fn reach(&self) -> f64 {
        match self {
            Self::Impulse => 0.0,
            Self::Penalty(penalty) => penalty.reach(),
        }
    }
}

/// The colliders of a model in motion, and what particles need to know about them.
#[derive(Clone, Debug)]
pub(crate) struct Contacts<S> {
    /// Poses at the end of the last step.
    last: Vec<Pose>,
    /// Motion over the current substep.
    placed: Vec<Placed<S>>,
    /// What is asked of each collider first.
    gates: Vec<Gate<S>>,
    /// By slot: the origin of the body's frame (0 where all share one, which colliders are then placed in), and the
    /// thickness as the weight.
    shells: Field<S>,
    /// By slot: what colliders moved particles by in this substep so far, for methods that sweep more than once.
    given: Option<Field<S>>,
    strata: Strata<S>,
    /// The thickness of all particles, where it is one.
    thickness: Option<S>,
    /// The origin of all bodies in this step, where it is one.
    origin: Option<[S; 3]>,
    /// How far the origins of bodies are from that of colliders \[m\].
    far: S,
    bounces: bool,
    /// Whether the shells hold origins.
    scattered: bool,
    repulsion: Repulsion<S>,
    limits: Limits<S>,
    /// Whether surfaces are somebody else's business.
    guarded: bool,
    account: ContactAccount<S>,
    /// While the account is open.
    ledger: Option<Box<Ledger<S>>>,
    /// Time of the step and of a substep \[s\].
    dt: S,
    h: S,
}

/// What the kernels of all responses share.
#[derive(Clone, Copy)]
struct Around<'a, S> {
    solids: &'a [Solid<S>],
    placed: &'a [Placed<S>],
    gates: &'a [Gate<S>],
    /// Of all particles, for the kernels without shells.
    thickness: S,
}

/// Implements `Map` for a response, with the particles' shells as one field more than it has (`$n`). Fields say whether they
/// change.
macro_rules! respond {
    ($response:ident, $n:literal, $with_shells:literal, [$($field:ident: $writes:literal),+]) => {
        impl<S: Real> Map<$with_shells> for $response<'_, S> {
            type Scalar = S;
            const WRITES: [bool; $with_shells] = [$($writes,)+ false];
            #[inline(always)]
            fn apply<L: Lane<Scalar = S>>(&self, w: L, fields: [Vec3<L>; $with_shells]) -> [Vec3<L>; $with_shells] {
                self.apply_weighted([w; $with_shells], fields)
            }
            #[inline(always)]
            fn apply_weighted<L: Lane<Scalar = S>>(
                &self,
                weights: [L; $with_shells],
                [$($field,)+ origin]: [Vec3<L>; $with_shells],
            ) -> [Vec3<L>; $with_shells] {
                let [$($field),+] = self.respond(weights[0], weights[$n], origin, [$($field),+]);
                [$($field,)+ origin]
            }
        }
    };
}
use respond;

impl<S: Real> Contacts<S> {
    /// Scratch for a model's colliders.
    pub fn new(model: &Model<S>) -> Self {
        let colliders = model.colliders();
        let last: Vec<Pose> = colliders.settled().to_vec();
        let placed: Vec<_> = last.iter().map(|&pose| Placed::new(pose, pose, [0.0, 1.0], [0.0; 3])).collect();
        let mut shells = Field::zeros(model.plan());
        for (&slot, &thickness) in model.plan().slots().iter().zip(model.thickness()) {
            shells.set(slot as usize, 3, thickness);
        }
        let first = model.thickness().first().copied();
        let thickness = first.filter(|first| model.thickness().iter().all(|t| t == first));
        let bounces = colliders.solids().iter().any(|solid| solid.restitution > S::ZERO);
        Self {
            last,
            gates: gates(model, &placed, S::ZERO).collect(),
            placed,
            strata: Strata::new(model, &shells),
            shells,
            given: None,
            thickness,
            origin: None,
            far: S::ZERO,
            bounces,
            scattered: false,
            repulsion: Repulsion::new(model),
            limits: Limits::new(model),
            guarded: false,
            account: ContactAccount::default(),
            ledger: None,
            dt: S::ZERO,
            h: S::ZERO,
        }
    }

    /// Makes room for methods that take so many sweeps a substep.
    pub fn expect_sweeps(&mut self, model: &Model<S>, sweeps: usize) {
        self.given = (sweeps > 1 && !self.last.is_empty()).then(|| Field::zeros(model.plan()));
    }

    /// Whether this was made for as many colliders as the model has.
    pub fn fit(&self, model: &Model<S>) -> bool {
        self.last.len() == model.colliders().len()
    }

    /// Takes note of the frames that the bodies live in during this step.
    pub fn begin(&mut self, model: &Model<S>, origins: &[[S; 3]], dt: S) {
        self.repulsion.begin(model, origins, dt);
        self.limits.begin(model, origins);
        self.dt = dt;
        if let Some(partner) = &mut self.account.partner {
            partner.begin(model, origins, dt);
        }
        if self.account.open {
            self.ledger.get_or_insert_with(|| Box::new(Ledger::new(model))).clear();
        } else {
            self.ledger = None;
        }
        if self.last.is_empty() {
            return;
        }
        self.origin = origins.first().copied().filter(|first| origins.iter().all(|o| o == first));
        let scattered = self.origin.is_none();
        let away = origins.iter().flatten().fold(S::ZERO, |far, c| Lane::max(far, c.abs()));
        self.far = if scattered { away + away } else { S::ZERO };
        if self.strata.is_outdated(model) {
            self.strata = Strata::new(model, &self.shells);
        }
        if scattered || self.scattered {
            for (body, &origin) in origins.iter().enumerate() {
                for particle in model.body(body).unwrap_or_default() {
                    let origin = if scattered { origin } else { [S::ZERO; 3] };
                    let slot = model.plan().slots()[particle] as usize;
                    self.shells.set_vector(slot, origin);
                    self.strata.set_origin(slot, origin);
                }
            }
        }
        self.scattered = scattered;
    }

    /// Moves the colliders to substep `k` of `n`.
    pub fn place(&mut self, model: &Model<S>, (k, n): (usize, usize)) {
        self.repulsion.place((k, n));
        self.limits.place((k, n));
        if let Some(partner) = &mut self.account.partner {
            partner.place((k, n));
        }
        self.h = self.dt / S::from_f64(n as f64);
        let part = [k as f64 / n as f64, (k + 1) as f64 / n as f64];
        let origin = self.origin.map_or([0.0; 3], |origin| origin.map(S::to_f64));
        for ((placed, &from), to) in self.placed.iter_mut().zip(&self.last).zip(model.colliders().described()) {
            *placed = Placed::new(from, to.pose, part, origin);
        }
        self.gates.clear();
        self.gates.extend(gates(model, &self.placed, self.far));
    }

    /// The colliders' motion over the substep, the particles' shells, and who meets whom.
    #[cfg(feature = "linear")]
    pub fn surroundings(&self) -> (&[Placed<S>], &Field<S>, &Strata<S>) {
        (&self.placed, &self.shells, &self.strata)
    }

    /// What kernels look at in a pass, and the particles' shells.
    fn split<'a>(&'a mut self, model: &'a Model<S>, pass: usize) -> (Around<'a, S>, &'a mut Field<S>) {
        let thickness = self.thickness.unwrap_or(S::ZERO);
        let solids = model.colliders().solids();
        match self.strata.pass(pass) {
            None => (Around { solids, placed: &self.placed, gates: &self.gates, thickness }, &mut self.shells),
            Some((range, shells)) => {
                let (solids, placed) = (&solids[range.clone()], &self.placed[range.clone()]);
                (Around { solids, placed, gates: &self.gates[range], thickness }, shells)
            }
        }
    }

    /// Moves positions off other surfaces, partners and colliders, with friction, and to where their skin lets them be; `start`
    /// holds the positions at the start of the substep. The substep does so in `sweep.1` sweeps, of which this is number `sweep.0`.
    pub fn project<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        [x, start]: [&mut Field<S>; 2],
        sweep: (usize, usize),
        on: &B,
    ) {
        self.apart(model, [x, start], None, sweep, on);
        if let Some(partner) = &mut self.account.partner {
            partner.project(x, start);
        }
        if !self.last.is_empty() {
            self.watch(x, on);
            self.project_colliders(model, [x, start], sweep, on);
            self.note(Giver::Colliders, Change::Positions { h: self.h }, x, on);
        }
        self.limits.project(x, on);
    }

    /// The same for colliders alone, unnoted: to see where they would move positions to.
    pub fn project_colliders<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        [x, start]: [&mut Field<S>; 2],
        sweep: (usize, usize),
        on: &B,
    ) {
        // While the kernels borrow the rest. Friction alone asks what earlier sweeps gave.
        let mut kept = self.given.take();
        let slows = sweep.1 > 1 && model.colliders().solids().iter().any(|solid| solid.friction > S::ZERO);
        let mut given = kept.as_mut().filter(|_| slows);
        if let Some(given) = given.as_mut().filter(|_| sweep.0 == 0) {
            given.clear();
        }
        let rise = S::from_f64(RISE) * self.h;
        let alike = self.thickness.is_some() && !self.scattered && self.strata.is_empty();
        for pass in 0..self.strata.passes() {
            let (around, shells) = self.split(model, pass);
            let (fields, given) = ([&mut *x, &mut *start, shells], given.as_deref_mut());
            if around.gates.iter().any(Gate::closes) {
                Project::<S, true> { around, rise }.run(fields, given, alike, on);
            } else {
                Project::<S, false> { around, rise }.run(fields, given, alike, on);
            }
        }
        self.given = kept;
    }

    /// Whether velocities change after positions were solved.
    pub fn bounces(&self) -> bool {
        self.bounces || self.account.partner.as_ref().is_some_and(|partner| partner.bounces())
    }
    /// Keeps the velocities that particles approach with.
    pub fn keep<B: Backend<Scalar = S>>(&self, v: &mut Field<S>, kept: &mut Field<S>, on: &B) {
        on.map(&Keep::default(), [v, kept]);
    }
    /// Gives particles that were stopped the velocity they bounce off with; `kept` is what they approached with.
    pub fn rebound<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        h: S,
        [x, v, kept]: [&mut Field<S>; 3],
        on: &B,
    ) {
        self.watch(v, on);
        for pass in 0..self.strata.passes() {
            let (around, shells) = self.split(model, pass);
            let kernel = Rebound { around, h, inv_h: S::ONE / h, rest: rest_speed(model, h) };
            on.map(&kernel, [&mut *x, &mut *v, &mut *kept, shells]);
        }
        self.note_velocities(x, v, on);
        if let Some(partner) = self.account.partner.as_mut().filter(|partner| partner.bounces()) {
            partner.rebound(x, v, kept);
        }
    }

    /// Adds the penalty forces of an explicit method, after all others.
    pub fn push<B: Backend<Scalar = S>>(
        &mut self,
        response: Response,
        model: &Model<S>,
        (h, keep): (S, S),
        [x, v, force]: [&mut Field<S>; 3],
        on: &B,
    ) {
        let Response::Penalty(penalty) = response else { return };
        if !self.last.is_empty() {
            self.watch(force, on);
            for pass in 0..self.strata.passes() {
                let (around, shells) = self.split(model, pass);
                let (inv_h, gravity) = (S::ONE / h, model.environment.gravity);
                let kernel = Force { around, penalty, h, inv_h, keep, gravity };
                on.map(&kernel, [&mut *x, &mut *v, &mut *force, shells]);
            }
            self.note(Giver::Colliders, Change::Forces { h }, force, on);
        }
    }

    /// Responds by impulses, after positions of an explicit method have advanced by h v. Partners always do.
    pub fn strike<B: Backend<Scalar = S>>(
        &mut self,
        response: Response,
        model: &Model<S>,
        h: S,
        [x, v]: [&mut Field<S>; 2],
        on: &B,
    ) {
        if let Some(partner) = &mut self.account.partner {
            partner.strike(x, v);
        }
        if response == Response::Impulse && !self.last.is_empty() {
            self.watch(v, on);
            for pass in 0..self.strata.passes() {
                let (around, shells) = self.split(model, pass);
                let kernel = Impulse { around, h, inv_h: S::ONE / h, rest: rest_speed(model, h) };
                on.map(&kernel, [&mut *x, &mut *v, shells]);
            }
            self.note_velocities(x, v, on);
        }
        self.limits.strike(h, [x, v], on);
    }

    /// Whether surfaces keep clear of each other, so that explicit methods must remember where a substep began.
    pub fn repels(&self, model: &Model<S>) -> bool {
        !model.surfaces().is_empty() && !self.guarded
    }
    /// Leaves surfaces to a method that keeps them apart by itself.
    #[cfg(feature = "newton")]
    pub fn leave_surfaces(&mut self) {
        self.guarded = true;
    }
    /// Moves positions and velocities off other surfaces, after positions of an explicit method have advanced.
    pub fn repel<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, [x, start, v]: [&mut Field<S>; 3], on: &B) {
        self.apart(model, [x, start], Some(v), (0, 1), on);
    }

    fn apart<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        [x, start]: [&mut Field<S>; 2],
        v: Option<&mut Field<S>>,
        sweep: (usize, usize),
        on: &B,
    ) {
        if self.repels(model) {
            self.watch(x, on);
            self.repulsion.push(model, [x, start], v, sweep, on);
            self.note(Giver::Surfaces, Change::Positions { h: self.h }, x, on);
        }
    }

    /// Remembers a field that a response is about to change, if somebody watches.
    fn watch<B: Backend<Scalar = S>>(&mut self, field: &mut Field<S>, on: &B) {
        if let Some(ledger) = &mut self.ledger {
            ledger.open(field, on);
        }
    }
    fn note<B: Backend<Scalar = S>>(&mut self, giver: Giver, change: Change<S>, field: &mut Field<S>, on: &B) {
        if let Some(ledger) = &mut self.ledger {
            ledger.close(giver, change, field, on);
        }
    }
    fn note_velocities<B: Backend<Scalar = S>>(&mut self, x: &mut Field<S>, v: &mut Field<S>, on: &B) {
        if let Some(ledger) = &mut self.ledger {
            ledger.close_velocities(x, v, on);
        }
    }
    /// Whether somebody watches.
    #[cfg(feature = "linear")]
    pub fn is_watched(&self) -> bool {
        self.ledger.is_some()
    }
    /// Notes a force \[N\] of colliders that acted on a slot for the whole substep.
    #[cfg(feature = "linear")]
    pub fn note_force(&mut self, slot: u32, force: pliant_core::vec3::Vec3<S>) {
        if let Some(ledger) = &mut self.ledger {
            ledger.give(Giver::Colliders, slot as usize, force * self.h);
        }
    }
    /// Tells those who watch at which gap colliders begin to push \[m\].
    pub fn hold_off(&mut self, gap: f64) {
        self.account.buffer = S::from_f64(gap);
    }
    /// What contacts did over the last step.
    pub fn account(&mut self) -> Option<&mut ContactAccount<S>> {
        Some(&mut self.account)
    }

    /// Writes down where colliders ended up, and what surfaces remember of each other.
    pub fn remember(&self, to: &mut Writer) {
        to.count(self.last.len());
        self.last.iter().for_each(|pose| pose.write(to));
        self.repulsion.remember(to);
    }
    /// Takes it back. Other colliders than there were stand where they are.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let count = from.count(7 * size_of::<f64>())?;
        let poses = (0..count).map(|_| Pose::read(from)).collect::<Result<Vec<_>, _>>()?;
        if count == self.last.len() {
            self.last = poses;
        }
        self.repulsion.recall(from)
    }

    /// Remembers where colliders and surfaces ended up; called when a step succeeded.
    pub fn arrive(&mut self, model: &Model<S>) {
        for (last, collider) in self.last.iter_mut().zip(model.colliders().described()) {
            *last = collider.pose;
        }
        self.repulsion.arrive();
        if let Some(ledger) = &self.ledger {
            ledger.report(model, &mut self.account);
        }
    }
}

/// The gates of colliders in a substep.
fn gates<S: Real>(model: &Model<S>, placed: &[Placed<S>], far: S) -> impl Iterator<Item = Gate<S>> {
    model.colliders().solids().iter().zip(placed).map(move |(solid, placed)| Gate::new(solid, placed, far))
}

/// Approaches slower than this are rest: twice what gravity adds in a substep.   [Müller20]
fn rest_speed<S: Real>(model: &Model<S>, h: S) -> S {
    let g = model.environment.gravity;
    S::from_f64(2.0) * h * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]).sqrt()
}
