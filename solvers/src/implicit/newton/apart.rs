//! Newton's method with a barrier between surfaces: no state it accepts ever intersects.   [METHODS 10; C 51–53; Li20]
//!
//! ```text
//!   minimise F(x) + B(x) + D(x)        barrier B and lagged friction D between surfaces: see `apart/term`
//!   (∇²F + ∇²B + ∇²D) Δ = −∇,          x ← x + s Δ, s limited by first contacts, then halved until the sum decreases
//! ```
//! Which pairs are near changes all the time, and with it the pattern of the matrix. The factor stays that of ∇²F, whose
//! pattern never changes, with the diagonal blocks of the pairs; it preconditions conjugate gradients on the whole, in which
//! the pairs are a product without a matrix.
//!
//! Pins start where they were, and move along with the steps as far as contact lets them; one that would be driven through a
//! surface stays behind. Colliders act after the minimum, in a move that is limited in the same way, and inside it if they are
//! asked to ([`ColliderForm`](super::ColliderForm)).

use pliant_core::backend::Backend;
use pliant_core::columns::Particles;
use pliant_core::error::{BuildError, StepError};
use pliant_core::field::Field;
use pliant_core::model::Model;
use pliant_core::solver::StepReport;
use pliant_core::vec3::Vec3;

use super::super::descent::Start;
use super::super::energies::Energies;
use super::super::nodes::{Nodes, PINNED};
use super::{Engine, NewtonOptions};
use crate::apart::interior::check_reach;
use crate::apart::path::Path;
use crate::apart::term::{LAGS, Term, vector};
use crate::linear::Dense;

/// The barrier between surfaces inside Newton's method.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct SurfaceBarrier {
    /// The barrier acts within this share of the thickness; 1 by default \[1\].
    pub reach: f64,
    /// κ h² over the mean mass of a vertex; 1 by default \[1\].
    pub stiffness: f64,
}

impl Default for SurfaceBarrier {
    fn default() -> Self {
        Self { reach: 1.0, stiffness: 1.0 }
    }
}

/// Shorter and shorter ways before a step stays.
const RETREATS: usize = 12;
/// Halvings of a way that is free, before an iteration gives up.
const HALVINGS: usize = 20;
/// Share of the predicted decrease a step must achieve.
const ENOUGH: f64 = 1e-4;

/// Surfaces of a model under Newton's method.
#[derive(Clone, Debug)]
pub(super) struct Apart<S> {
    options: SurfaceBarrier,
    path: Path<S>,
    pub term: Term,
    mean_mass: f64,
    /// Slots and nodes by vertex.
    slots: Vec<u32>,
    pub nodes: Vec<u32>,
    /// Whether `path.now` is known to be free of intersections, and belongs to the state.
    known: bool,
    /// By vertex: scratch, and the impulses of the step.
    push: Vec<Vec3<f64>>,
    pull: Vec<Vec3<f64>>,
    given: Vec<Vec3<f64>>,
    /// By node: conjugate gradients.
    pub solution: Vec<Vec3<f64>>,
    pub residual: Vec<Vec3<f64>>,
    pub search: Vec<Vec3<f64>>,
    pub image: Vec<Vec3<f64>>,
    pub solved: Vec<Vec3<f64>>,
    pub diagonal: Vec<f64>,
    /// By vertex: what pairs add to it.
    pub bounds: Vec<f64>,
    /// The matrix that is factored.
    pub values: Vec<S>,
}

impl<S: Dense> Apart<S> {
    pub fn new(model: &Model<S>, nodes: &Nodes, options: SurfaceBarrier) -> Result<Self, BuildError> {
        check_reach(options.reach)?;
        if !(options.stiffness.is_finite() && options.stiffness > 0.0) {
            let (name, expected) = ("stiffness", "a finite number above 0");
            return Err(BuildError::BadOption { name, value: options.stiffness, expected });
        }
        if !model.constraints().balloons.is_empty() {
            let reason = "balloons couple all vertices, which conjugate gradients under a barrier do not carry; put \
                          IntersectionFree behind Newton instead";
            return Err(BuildError::Unsupported { what: "balloon", row: 0, reason });
        }
        let particles = &model.surfaces().particles;
        let free: Vec<f64> = particles.iter().map(|&p| model.inv_mass()[p as usize].to_f64()).collect();
        let free: Vec<f64> = free.into_iter().filter(|w| *w > 0.0).map(|w| 1.0 / w).collect();
        let zeros = |count: usize| vec![Vec3::zero(); count];
        let (vertices, count) = (particles.len(), nodes.len());
        Ok(Self {
            options,
            path: Path::new(model),
            term: Term::default(),
            mean_mass: if free.is_empty() { 1.0 } else { free.iter().sum::<f64>() / free.len() as f64 },
            slots: particles.iter().map(|&p| model.plan().slots()[p as usize]).collect(),
            nodes: particles.iter().map(|&p| nodes.of[p as usize]).collect(),
            known: false,
            push: zeros(vertices),
            pull: zeros(vertices),
            given: zeros(vertices),
            solution: zeros(count),
            residual: zeros(count),
            search: zeros(count),
            image: zeros(count),
            solved: zeros(count),
            diagonal: vec![0.0; count],
            bounds: vec![0.0; vertices],
            values: Vec::new(),
        })
    }

    /// Takes the state before a step; refuses one that intersects.
    fn start<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &Particles<S>,
        on: &B,
    ) -> Result<(), StepError> {
        let mut same = self.known;
        for (vertex, &particle) in model.surfaces().particles.iter().enumerate() {
            let x = particles.x.get(particle as usize);
            same &= self.path.now.get(vertex) == x;
            self.path.now.set(vertex, x);
        }
        self.known = false;
        if !same {
            self.path.check_start(model, on)?;
        }
        self.given.fill(Vec3::zero());
        Ok(())
    }

    fn read(&mut self, x: &Field<S>) {
        for (vertex, &slot) in self.slots.iter().enumerate() {
            self.path.next.set(vertex, x.vector(slot as usize));
        }
    }

    /// Pairs near the end of the way that was just looked at.
    fn look_around<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, on: &B) {
        self.path.find_near(self.limit(model), on);
        self.term.take(model, self.path.near.near(), self.options.reach);
    }

    fn limit(&self, model: &Model<S>) -> S {
        S::from_f64(self.options.reach * model.surfaces().reach.to_f64())
    }

    /// Looks at friction again, at the place reached; whether there is any.
    fn lag(&mut self, kappa: f64, h: f64) -> bool {
        let Path { near, now, start, .. } = &self.path;
        self.term.lag(near.near(), now, start, kappa, h)
    }

    /// Adds q ← (∇²B + ∇²D) p by nodes, through vertices; pins do not move.
    pub fn multiply(&mut self) {
        for (to, &node) in self.push.iter_mut().zip(&self.nodes) {
            *to = if node == PINNED { Vec3::zero() } else { self.search[node as usize] };
        }
        self.pull.fill(Vec3::zero());
        self.term.multiply(&self.push, &mut self.pull);
        for (q, &node) in self.pull.iter().zip(&self.nodes) {
            if node != PINNED {
                self.image[node as usize] = self.image[node as usize] + *q;
            }
        }
    }

    /// Derivatives at `now`, and −(∇B + ∇D) added to the right-hand side.
    fn differentiate(&mut self, kappa: f64, right: &mut [S]) {
        self.term.differentiate(self.path.near.near(), &self.path.now, kappa);
        self.pull.fill(Vec3::zero());
        self.term.add_gradient(&mut self.pull);
        for (g, &node) in self.pull.iter().zip(&self.nodes).filter(|(_, node)| **node != PINNED) {
            for (k, g) in <[f64; 3]>::from(*g).into_iter().enumerate() {
                let at = &mut right[3 * node as usize + k];
                *at = S::from_f64(at.to_f64() - g);
            }
        }
    }
}

impl<S: Dense> Engine<S> {
    /// A step under the barrier.
    pub(super) fn step_apart<B: Backend<Scalar = S>>(
        &mut self,
        apart: &mut Apart<S>,
        (model, extra, options): (&Model<S>, &impl Energies<S>, &NewtonOptions),
        particles: &mut Particles<S>,
        dt: S,
        on: &B,
    ) -> Result<StepReport, StepError> {
        self.descent.flight.begin(model, particles, dt)?;
        apart.start(model, particles, on)?;
        let h = dt / S::from_f64(options.substeps as f64);
        let mut report = StepReport::default();
        report.substeps = options.substeps;
        for k in 0..options.substeps {
            self.descent.begin(model, particles, h, (k, options.substeps), Start::Current, on);
            self.minimise_apart(apart, (model, extra, options), &mut report, on)?;
            for (given, pull) in apart.given.iter_mut().zip(&apart.pull) {
                *given = *given - *pull * h.to_f64();
            }
            self.settle_apart(apart, model, on)?;
        }
        report.projections = report.iterations * model.constraints().len();
        self.descent.end(model, particles, h, options.substeps, on)?;
        // Pins that stayed behind are where they got to.
        for (vertex, &particle) in model.surfaces().particles.iter().enumerate() {
            particles.x.set(particle as usize, apart.path.now.get(vertex));
        }
        if let Some(account) = self.descent.flight.contacts.account().filter(|account| account.open) {
            for (given, &particle) in apart.given.iter().zip(&model.surfaces().particles) {
                let at = vector(account.surfaces.get(particle as usize)) + *given;
                account.surfaces.set(particle as usize, [at.x, at.y, at.z].map(S::from_f64));
            }
        }
        apart.known = true;
        Ok(report)
    }

    /// Puts pins a part `t` of their way through the substep.
    fn place_pins(&mut self, model: &Model<S>, t: f64) {
        let flight = &mut self.descent.flight;
        for &pin in model.pins() {
            let slot = model.plan().slots()[pin as usize] as usize;
            let (from, to) = (flight.start.vector(slot), self.descent.goal.vector(slot));
            flight.x.set_vector(slot, if t >= 1.0 { to } else { crate::flight::lerp(from, to, S::from_f64(t)) });
        }
    }

    fn pins_move(&self, model: &Model<S>) -> bool {
        let slots = model.pins().iter().map(|&pin| model.plan().slots()[pin as usize] as usize);
        slots.into_iter().any(|slot| self.descent.flight.start.vector(slot) != self.descent.goal.vector(slot))
    }

    /// Goes `share` of the direction at hand, with pins from `t` on towards their goals; returns how far they get.
    fn advance_apart<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, share: f64, t: f64, on: &B) -> f64 {
        self.descent.advance(share, on);
        let reached = if share >= 1.0 { 1.0 } else { t + share * (1.0 - t) };
        self.place_pins(model, reached);
        reached
    }

    fn minimise_apart<B: Backend<Scalar = S>>(
        &mut self,
        apart: &mut Apart<S>,
        (model, extra, options): (&Model<S>, &impl Energies<S>, &NewtonOptions),
        report: &mut StepReport,
        on: &B,
    ) -> Result<(), StepError> {
        let inv_h_sq = self.descent.inv_h_sq().to_f64();
        let (kappa, h) = (apart.options.stiffness * apart.mean_mass * inv_h_sq, 1.0 / inv_h_sq.sqrt());
        let (limit, count) = (apart.limit(model), apart.slots.len());
        let finest = 8.0 * S::EPSILON.to_f64();
        let noise = 4.0 * S::EPSILON.to_f64();
        // What is near at the start, and how hard it is pressed together.
        let Path { start, now, next, .. } = &mut apart.path;
        next.copy_from(0..count, now, 0);
        start.copy_from(0..count, now, 0);
        apart.path.free(limit, on)?;
        apart.look_around(model, on);
        apart.lag(kappa, h);
        self.descent.relag(model, on);
        let mut lags = 1;
        // How far pins are, and F + B + D once they have arrived.
        let (mut t, mut value) = (if self.pins_move(model) { 0.0 } else { 1.0 }, None);
        self.cautious = 0;
        let mut converged = false;
        for iteration in 0..options.iterations {
            // Elements see pins where they are going.
            self.place_pins(model, 1.0);
            let residual = self.descent.gradient(model, extra, on);
            if residual.is_nan() {
                return Err(StepError::BadEnergy { what: "gradient", row: 0, value: residual });
            }
            self.descent.nodes.read(&self.descent.objective.gradient, -S::ONE, &mut self.right, on);
            apart.differentiate(kappa, &mut self.right);
            report.residual = self.right.iter().fold(0.0, |most, r| most.max(r.to_f64().abs()));
            if t >= 1.0 && report.residual <= options.gradient_tolerance {
                converged = true;
            }
            // A minimum: friction as hard as layers are pressed together there, and on, if iterations are left for it.
            let again = converged && lags < LAGS && 2 * iteration < options.iterations;
            if again && (apart.lag(kappa, h) | self.descent.relag(model, on)) {
                (converged, value) = (false, None);
                lags += 1;
                continue;
            }
            if converged {
                break;
            }
            report.iterations += 1;
            let solved = self.direction_apart(apart, (model, extra, options.hessian), on);
            let solved = solved.ok_or(StepError::NotPositive { iteration })?;
            report.factorizations += solved.attempts;
            report.projected += usize::from(solved.projected);
            report.shifts += usize::from(solved.shifted);
            let slope: f64 = -self.right.iter().zip(&self.step).map(|(r, s)| r.to_f64() * s.to_f64()).sum::<f64>();
            if t >= 1.0 && value.is_none() {
                let near = apart.path.near.near();
                value = Some(self.descent.value(model, extra, on)? + apart.term.value(near, &apart.path.now, kappa));
            }
            let length = self.descent.aim_along(&self.step, on);
            // The longest way that is free of contact.
            let (mut share, mut reached, mut free) = (1.0, t, false);
            for _ in 0..RETREATS {
                reached = self.advance_apart(model, share, t, on);
                apart.read(&self.descent.flight.x);
                let part = apart.path.free(limit, on)?;
                free = part >= 1.0;
                if free || part <= 1e-9 || part.is_nan() {
                    break;
                }
                share *= part;
            }
            let mut accepted = free && value.is_none();
            if let Some(from) = value.filter(|_| free) {
                for _ in 0..HALVINGS {
                    apart.look_around(model, on);
                    let trial = self.descent.value(model, extra, on).unwrap_or(f64::INFINITY);
                    let trial = trial + apart.term.value(apart.path.near.near(), &apart.path.next, kappa);
                    if free && trial <= from + ENOUGH * share * slope + noise * from.abs() {
                        (value, accepted) = (Some(trial), true);
                        break;
                    }
                    share *= 0.5;
                    self.advance_apart(model, share, t, on);
                    apart.read(&self.descent.flight.x);
                    free = apart.path.free(limit, on)? >= 1.0;
                }
            }
            if !accepted {
                // Nowhere to go from here: stay.
                self.advance_apart(model, 0.0, t, on);
                apart.read(&self.descent.flight.x);
                apart.path.free(limit, on)?;
                apart.look_around(model, on);
                converged = t >= 1.0 && length <= 1e3 * finest;
                if converged {
                    continue;
                }
                break;
            }
            apart.look_around(model, on);
            apart.path.accept();
            t = reached;
            converged = t >= 1.0 && value.is_some() && length * share <= options.tolerance.max(finest);
        }
        report.converged &= converged;
        self.place_pins(model, t);
        // The last derivatives tell what the barrier gave.
        apart.term.differentiate(apart.path.near.near(), &apart.path.now, kappa);
        apart.pull.fill(Vec3::zero());
        apart.term.add_gradient(&mut apart.pull);
        Ok(())
    }

    /// Moves what the minimum left inside colliders out of them, as far as that is free of contact.
    fn settle_apart<B: Backend<Scalar = S>>(
        &mut self,
        apart: &mut Apart<S>,
        model: &Model<S>,
        on: &B,
    ) -> Result<(), StepError> {
        if model.colliders().is_empty() {
            return Ok(());
        }
        self.descent.keep_base(on);
        self.descent.settle(model, on);
        self.descent.aim_from_base(on);
        let limit = apart.limit(model);
        let mut share = 1.0;
        for _ in 0..RETREATS {
            apart.read(&self.descent.flight.x);
            let part = apart.path.free(limit, on)?;
            if part >= 1.0 {
                apart.path.accept();
                return Ok(());
            }
            share *= part;
            self.descent.advance(share, on);
        }
        self.descent.advance(0.0, on);
        Ok(())
    }
}
