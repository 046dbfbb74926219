//! Colliders inside a minimisation: as repulsive energies of the distance with friction, or as targets that contact would
//! move particles to.
//!
//! ```text
//!   energies   E = Σ P(φ − thickness) + Σ μ λ f(|T Δx|)          λ, T: force and tangent plane of the round before
//!   targets    E = Σ w/2 |x − p(x)|²                             p: where projection puts a particle, friction included
//! ```
//! f(y) is y, rounded off below the slip ε: f′ = 2y/ε − (y/ε)². A particle that sticks creeps by less than ε a substep.
//! Normal forces are lagged because friction has no potential of its own: with λ and T held it is convex, and a few rounds
//! find the λ that agrees with the minimum.   [Li20, section 5]
//!
//! Both leave the last word to projection after the minimum: what is still inside a collider then is moved out.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::error::BuildError;
use pliant_core::field::Field;
use pliant_core::lane::{Lane, Real};
use pliant_core::model::Model;
use pliant_core::sdf::{Penalty, Placed, Solid};
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::vec3::Vec3;

use super::collider_targets::Targets;
use super::nodes::Nodes;
use crate::contact::Strata;
use crate::flight::Flight;
use crate::linear::Pattern;

/// How colliders act on Newton's method.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ColliderForm {
    /// One projection a substep, after the minimum was found: cheap, exact rest and restitution; what a collider pushes back
    /// is felt by the rest of a body in the next substep.
    #[default]
    Project,
    /// A repulsive energy of the distance in F, with Coulomb friction as a dissipative potential: bodies under load find their
    /// equilibrium with what they lean on. A [`Penalty::Buffered`] or [`Penalty::LogBarrier`] holds them off the surface.
    Energy(Penalty),
    /// The same as a [`Penalty::Buffered`] that needs no knowledge of how heavy bodies are: a particle of mass m is held off by a
    /// spring of k = weight · m/h². What outweighs inertia a thousand times holds cloth that is pulled hard over an edge, and stops
    /// particles inside the buffer: they never arrive, and restitution means nothing to them.
    Weighed {
        /// k over m/h² \[1\].
        weight: f64,
        /// ε \[m\].
        buffer: f64,
    },
}

impl ColliderForm {
    pub(super) fn check<S: Real>(&self) -> Result<(), BuildError> {
        self.penalty().map_or(Ok(()), |(penalty, _)| penalty.check::<S>())
    }
    /// The gap at which they begin to push \[m\].
    pub(super) fn reach(self) -> f64 {
        self.penalty().map_or(0.0, |(penalty, _)| penalty.reach())
    }

    /// The energy, if there is one, and whether it is measured in units of m/h².
    fn penalty(self) -> Option<(Penalty, bool)> {
        match self {
            Self::Project => None,
            Self::Energy(penalty) => Some((penalty, false)),
            Self::Weighed { weight, buffer } => Some((Penalty::Buffered { stiffness: weight, buffer }, true)),
        }
    }
}

/// Sliding slower than this counts as sticking \[m/s\].
const SLIP: f64 = 1e-4;
/// Rounds of friction a substep, at most.
pub(super) const ROUNDS: usize = 6;
/// Normal forces that agree to this share end the rounds.
const AGREE: f64 = 1e-3;
/// Nodes a task looks at.
const CHUNK: usize = 256;

/// What a minimisation adds for colliders.
#[derive(Clone, Debug)]
pub(crate) enum ColliderTerms<S> {
    None,
    Energy(ColliderEnergy<S>),
    Targets(Targets<S>),
}

impl<S: Real> ColliderTerms<S> {
    /// What Newton's method minimises besides.
    pub fn energies(model: &Model<S>, nodes: &Nodes, form: ColliderForm) -> Self {
        match form.penalty() {
            Some(penalty) if !model.colliders().is_empty() => Self::Energy(ColliderEnergy::new(model, nodes, penalty)),
            _ => Self::None,
        }
    }
    /// The constraints of Projective Dynamics for colliders.
    pub fn targets(model: &Model<S>, flight: &Flight<S>, nodes: &Nodes, weight: Option<f64>) -> Self {
        match weight {
            Some(weight) if !model.colliders().is_empty() => Self::Targets(Targets::new(flight, nodes, weight)),
            _ => Self::None,
        }
    }
    /// Whether other particles are in contact than a substep ago, so that their pulls changed.
    pub fn changed(&self) -> bool {
        matches!(self, Self::Targets(targets) if targets.changed)
    }
    /// What contact adds to a node's weight \[N/m\], given what it weighs without.
    pub fn pull(&mut self, node: usize, own: S) -> S {
        match self {
            Self::Targets(targets) => targets.weigh(node, own),
            _ => S::ZERO,
        }
    }
    /// Takes note of a substep of h \[s\].
    pub fn begin(&mut self, model: &Model<S>, flight: &Flight<S>, h: S) {
        match self {
            Self::None => {}
            Self::Energy(energy) => energy.begin(h),
            Self::Targets(targets) => targets.begin(model, flight, h),
        }
    }
    /// Their energy at the current positions \[J\].
    pub fn value<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, flight: &mut Flight<S>, on: &B) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Energy(energy) => energy.look(model, flight, on),
            Self::Targets(targets) => targets.value(model, flight, on),
        }
    }
    /// Adds their gradient at the current positions \[N\].
    pub fn gradient<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        flight: &mut Flight<S>,
        to: &mut Field<S>,
        on: &B,
    ) {
        match self {
            Self::None => {}
            Self::Energy(energy) => {
                energy.look(model, flight, on);
                energy.add_gradient(to);
            }
            Self::Targets(targets) => targets.gradient(model, flight, to, on),
        }
    }
    /// Notes the forces at the current positions, where a substep ends, if somebody watches: what a minimum is reached by on the way
    /// there is no impulse.
    pub fn tell<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, flight: &mut Flight<S>, on: &B) {
        if !flight.contacts.is_watched() {
            return;
        }
        match self {
            Self::None => {}
            Self::Energy(energy) => {
                energy.look(model, flight, on);
                for (&slot, touch) in energy.slots.iter().zip(&energy.touches) {
                    flight.contacts.note_force(slot, -touch.gradient);
                }
            }
            Self::Targets(targets) => targets.tell(model, flight, on),
        }
    }
    /// Adds their Hessian where the gradient was asked for last; always convex.
    pub fn hessian(&self, pattern: &Pattern, values: &mut [S]) {
        if let Self::Energy(energy) = self {
            energy.add_hessian(pattern, values);
        }
    }
    /// Writes down the normal forces that friction goes by.
    pub fn remember(&self, to: &mut Writer) {
        if let Self::Energy(energy) = self {
            energy.remember(to);
        }
    }
    /// Takes them back.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        match self {
            Self::Energy(energy) => energy.recall(from),
            _ => Ok(()),
        }
    }
    /// Takes the normal forces at the current positions as those that friction goes by; whether that makes a difference.
    pub fn relag<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, flight: &Flight<S>, on: &B) -> bool {
        match self {
            Self::Energy(energy) => energy.relag(model, flight, on),
            _ => false,
        }
    }
}

/// Repulsion and friction of every free particle.
#[derive(Clone, Debug)]
pub(crate) struct ColliderEnergy<S> {
    penalty: Penalty,
    /// By node, where the penalty is in units of m/h²: m \[kg\].
    masses: Vec<S>,
    inv_h_sq: S,
    slots: Vec<u32>,
    touches: Vec<Touch<S>>,
    /// By node, then by collider.
    lags: Vec<Lag<S>>,
    slip: S,
}

/// Energy, gradient and the lower triangle of the Hessian of a particle, column after column.
#[derive(Clone, Copy, Debug)]
struct Touch<S> {
    energy: f64,
    gradient: Vec3<S>,
    hessian: [S; 6],
}

/// The normal force \[N\] and the normal in the collider's frame that friction goes by.
#[derive(Clone, Copy, Debug)]
struct Lag<S> {
    force: S,
    normal: Vec3<S>,
    /// By how much the force changed \[N\].
    change: S,
}

impl<S: Real> ColliderEnergy<S> {
    pub fn new(model: &Model<S>, nodes: &Nodes, (penalty, weighed): (Penalty, bool)) -> Self {
        let weigh = |&particle: &u32| S::ONE / model.inv_mass()[particle as usize];
        let zero = Vec3::zero();
        let touch = Touch { energy: 0.0, gradient: zero, hessian: [S::ZERO; 6] };
        let lag = Lag { force: S::ZERO, normal: zero, change: S::ZERO };
        Self {
            penalty,
            masses: if weighed { nodes.particles.iter().map(weigh).collect() } else { Vec::new() },
            inv_h_sq: S::ONE,
            slots: nodes.slots().to_vec(),
            touches: vec![touch; nodes.len()],
            lags: vec![lag; nodes.len() * model.colliders().len()],
            slip: S::ONE,
        }
    }

    fn begin(&mut self, h: S) {
        (self.slip, self.inv_h_sq) = (S::from_f64(SLIP) * h, S::ONE / (h * h));
    }

    /// What the penalty of a node is a multiple of: m/h², or 1.
    fn unit(&self, node: usize) -> S {
        self.masses.get(node).map_or(S::ONE, |&mass| mass * self.inv_h_sq)
    }

    /// Looks at every node; returns the sum of energies.
    fn look<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, flight: &Flight<S>, on: &B) -> f64 {
        let mut touches = core::mem::take(&mut self.touches);
        on.fork(&Look { of: self, around: Around::new(model, flight) }, Cut::Every(CHUNK), &mut touches);
        self.touches = touches;
        self.touches.iter().map(|touch| touch.energy).sum()
    }

    /// Few particles touch: those that do, by their places.
    fn remember(&self, to: &mut Writer) {
        to.count(self.lags.len());
        let touching = || self.lags.iter().enumerate().filter(|(_, lag)| lag.force != S::ZERO);
        to.count(touching().count());
        for (place, lag) in touching() {
            to.count(place);
            to.reals(&[lag.force, lag.normal.x, lag.normal.y, lag.normal.z]);
        }
    }
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let none = Lag { force: S::ZERO, normal: Vec3::zero(), change: S::ZERO };
        self.lags.fill(none);
        // Of other colliders than there were, nothing is known.
        let same = from.count(0)? == self.lags.len();
        for _ in 0..from.count(8 + 4 * size_of::<S>())? {
            let place = from.count(0)?;
            let lag = Lag { force: from.real()?, normal: from.vector()?.into(), ..none };
            if same {
                *self.lags.get_mut(place).ok_or(SnapshotError::Foreign { what: "colliders" })? = lag;
            }
        }
        Ok(())
    }

    fn add_gradient(&self, to: &mut Field<S>) {
        for (&slot, touch) in self.slots.iter().zip(&self.touches) {
            let slot = slot as usize;
            to.set_vector(slot, (Vec3::from(to.vector(slot)) + touch.gradient).into());
        }
    }

    fn add_hessian(&self, pattern: &Pattern, values: &mut [S]) {
        for (node, touch) in self.touches.iter().enumerate() {
            let at = 9 * pattern.diagonal(node as u32);
            let [xx, yx, zx, yy, zy, zz] = touch.hessian;
            for (k, h) in [xx, yx, zx, yx, yy, zy, zx, zy, zz].into_iter().enumerate() {
                values[at + k] = values[at + k] + h;
            }
        }
    }

    fn relag<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, flight: &Flight<S>, on: &B) -> bool {
        let count = model.colliders().len();
        if model.colliders().solids().iter().all(|solid| solid.friction <= S::ZERO) {
            return false;
        }
        let mut lags = core::mem::take(&mut self.lags);
        let kernel = Relag { of: self, around: Around::new(model, flight), count };
        on.fork(&kernel, Cut::Every(CHUNK * count), &mut lags);
        self.lags = lags;
        let largest = |of: fn(&Lag<S>) -> S| self.lags.iter().map(|lag| of(lag).to_f64()).fold(0.0, f64::max);
        largest(|lag| lag.change) > AGREE * largest(|lag| lag.force)
    }
}

/// Where particles and colliders are.
pub(super) struct Around<'a, S> {
    pub solids: &'a [Solid<S>],
    pub placed: &'a [Placed<S>],
    shells: &'a Field<S>,
    pub strata: &'a Strata<S>,
    x: &'a Field<S>,
    start: &'a Field<S>,
}

impl<'a, S: Real> Around<'a, S> {
    pub fn new(model: &'a Model<S>, flight: &'a Flight<S>) -> Self {
        let (placed, shells, strata) = flight.contacts.surroundings();
        Self { solids: model.colliders().solids(), placed, shells, strata, x: &flight.x, start: &flight.start }
    }
    /// Place, place at the start, thickness and origin of a slot.
    pub fn particle(&self, slot: u32) -> (Vec3<S>, Vec3<S>, S, Vec3<S>) {
        let slot = slot as usize;
        let [x, start, origin] = [self.x, self.start, self.shells].map(|field| Vec3::from(field.vector(slot)));
        (x, start, self.shells.get(slot, 3), origin)
    }
}

struct Look<'a, S> {
    of: &'a ColliderEnergy<S>,
    around: Around<'a, S>,
}

impl<S: Real> Task<Touch<S>> for Look<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Touch<S>]) {
        for (k, touch) in own.iter_mut().enumerate() {
            *touch = self.of.touch(index * CHUNK + k, &self.around);
        }
    }
}

impl<S: Real> ColliderEnergy<S> {
    fn touch(&self, node: usize, around: &Around<'_, S>) -> Touch<S> {
        let (x, start, thickness, origin) = around.particle(self.slots[node]);
        let (reach, unit) = (thickness + S::from_f64(self.penalty.reach()), self.unit(node));
        let (mut energy, mut gradient, mut hessian) = (S::ZERO, Vec3::zero(), [S::ZERO; 6]);
        for (c, (solid, placed)) in around.solids.iter().zip(around.placed).enumerate() {
            if !around.strata.meets(self.slots[node], c) {
                continue;
            }
            let (end, travel) = placed.enter(x, start, origin);
            if let Some((phi, n)) = solid.distance(reach, end) {
                let (force, stiffness) = self.penalty.push(phi - thickness);
                let n = placed.leave(n);
                energy = energy + unit * self.penalty.energy(phi - thickness);
                gradient = gradient - n * (unit * force);
                // P′∇²φ is left out: it is negative around convex shapes, and small beside P″.
                add_outer(&mut hessian, unit * stiffness, n);
            }
            let Lag { force, normal, .. } = self.lags[node * around.solids.len() + c];
            let most = solid.friction * force;
            if most > S::ZERO {
                let slide = travel - normal * travel.dot(normal);
                let y = slide.length();
                let (value, pull, bend) = slip(y, self.slip);
                let (slide, normal) = (placed.leave(slide), placed.leave(normal));
                energy = energy + most * value;
                gradient = gradient + slide * (most * pull);
                // f′/y (T − u uᵀ) + f″ u uᵀ, u = slide/y.
                for k in [0, 3, 5] {
                    hessian[k] = hessian[k] + most * pull;
                }
                add_outer(&mut hessian, -(most * pull), normal);
                add_outer(&mut hessian, most * (bend - pull), slide * y.divide_or_zero(S::ONE));
            }
        }
        Touch { energy: energy.to_f64(), gradient, hessian }
    }
}

/// f, f′/y and f″ of sliding by y, rounded off below ε.
fn slip<S: Real>(y: S, epsilon: S) -> (S, S, S) {
    if y >= epsilon {
        return (y, S::ONE / y, S::ZERO);
    }
    let (inverse, t, two) = (S::ONE / epsilon, y / epsilon, S::from_f64(2.0));
    let third = S::from_f64(1.0 / 3.0);
    (epsilon * (t * t * (S::ONE - t * third) + third), inverse * (two - t), inverse * (two - two * t))
}

/// H ← H + s v vᵀ.
fn add_outer<S: Real>(hessian: &mut [S; 6], s: S, v: Vec3<S>) {
    let products = [v.x * v.x, v.y * v.x, v.z * v.x, v.y * v.y, v.z * v.y, v.z * v.z];
    for k in 0..6 {
        hessian[k] = hessian[k] + s * products[k];
    }
}

struct Relag<'a, S> {
    of: &'a ColliderEnergy<S>,
    around: Around<'a, S>,
    count: usize,
}

impl<S: Real> Task<Lag<S>> for Relag<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Lag<S>]) {
        let penalty = self.of.penalty;
        for (k, lags) in own.chunks_mut(self.count).enumerate() {
            let node = index * CHUNK + k;
            let (slot, unit) = (self.of.slots[node], self.of.unit(node));
            let (x, start, thickness, origin) = self.around.particle(slot);
            let reach = thickness + S::from_f64(penalty.reach());
            for (c, ((solid, placed), lag)) in self.around.solids.iter().zip(self.around.placed).zip(lags).enumerate() {
                let (end, _) = placed.enter(x, start, origin);
                let found = solid.distance(reach, end).filter(|_| self.around.strata.meets(slot, c));
                let (force, normal) = match found {
                    Some((phi, n)) => (unit * penalty.push(phi - thickness).0, n),
                    None => (S::ZERO, Vec3::zero()),
                };
                *lag = Lag { force, normal, change: (force - lag.force).abs() };
            }
        }
    }
}
