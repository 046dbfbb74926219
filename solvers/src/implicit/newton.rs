//! Implicit Euler by Newton's method: the reference every cheaper method is measured against.   [METHODS 4; C 7–15]
//!
//! ```text
//!   solve ∇²F Δ = −∇F,   x ← x + s Δ with s ∈ {1, ½, ¼ …} small enough,   until Δ is short;   v = (x − x_start)/h
//! ```
//! The exact Hessian converges quadratically but is indefinite where elements are compressed. A factorisation that meets a
//! pivot that is not positive is repeated with the convex Hessian, element by element, and if an energy of the user's own
//! is not convex even then, with a growing shift along the diagonal. Both are reported.

#[cfg(feature = "collision")]
mod apart;
#[cfg(feature = "collision")]
mod conjugate;

use pliant_core::account::ContactAccount;
use pliant_core::backend::Backend;
use pliant_core::columns::Particles;
use pliant_core::constraints::{EnergyVisitor, Set};
use pliant_core::energy::{Curvature, Energy};
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::{BLOCK, Real};
use pliant_core::model::Model;
use pliant_core::snapshot::{Fingerprint, Reader, SnapshotError, Writer};
use pliant_core::solver::{Solver, StepReport};

use super::collider_energy::{ColliderForm, ColliderTerms, ROUNDS};
use super::descent::{Descent, Start};
use super::energies::Energies;
use super::nodes::Nodes;
use super::objective::emit::EmitHessians;
use super::objective::visit;
use super::pressure::Pressure;
use super::vectors::{dot, partials};
use crate::gauss_seidel::check_count;
use crate::linear::{Dense, HessianForm, LinearMethod, LinearSolver, Pattern, SlotMap};

#[cfg(feature = "collision")]
pub use apart::SurfaceBarrier;

/// Which Hessian Newton's method uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Hessian {
    /// The exact one where it is positive definite, else the convex one: fast and robust.
    #[default]
    Adaptive,
    /// The exact one, shifted along the diagonal where it is not positive definite.
    Exact,
    /// Always the convex one.
    Convex,
}

/// Options of Newton's method.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct NewtonOptions {
    /// Substeps a step; one by default.
    pub substeps: usize,
    /// Most iterations a substep; 50 by default.
    pub iterations: usize,
    /// Stop when no particle moves further than this in an iteration \[m\]; 1e-12 by default. Single precision stops at its
    /// rounding error if that comes first.
    pub tolerance: f64,
    /// Stop when no component of ∇F is larger than this \[N\]; 0, the default, leaves it to `tolerance`.
    pub gradient_tolerance: f64,
    /// Where iterations start.
    pub start: Start,
    /// Which Hessian is used.
    pub hessian: Hessian,
    /// How linear systems are solved.
    pub linear: LinearMethod,
    /// How colliders act: one projection a substep, after the minimum, by default.
    pub colliders: ColliderForm,
}

impl Default for NewtonOptions {
    fn default() -> Self {
        Self {
            substeps: 1,
            iterations: 50,
            tolerance: 1e-12,
            gradient_tolerance: 0.0,
            start: Start::Current,
            hessian: Hessian::Adaptive,
            linear: LinearMethod::Automatic,
            colliders: ColliderForm::Project,
        }
    }
}

/// Implicit Euler by Newton's method, with energies of the user's own in `X`.
#[derive(Debug)]
pub struct Newton<S, X = ()> {
    options: NewtonOptions,
    extra: X,
    engine: Option<Engine<S>>,
    #[cfg(feature = "collision")]
    barrier: Option<SurfaceBarrier>,
    #[cfg(feature = "collision")]
    apart: Option<Box<apart::Apart<S>>>,
}

#[derive(Debug)]
struct Engine<S> {
    descent: Descent<S>,
    pattern: Pattern,
    linear: LinearSolver<S>,
    /// Where the Hessian records of every set go; nothing for empty sets.
    maps: Vec<Option<SlotMap>>,
    records: Vec<Vec<[S; 4]>>,
    values: Vec<S>,
    /// M/h², one number a node, shifted when needed.
    diagonal: Vec<S>,
    /// −∇F, then Δ: three numbers a node.
    right: Vec<S>,
    step: Vec<S>,
    partials: Vec<f64>,
    pressure: Pressure<S>,
    /// Iterations that go on with the convex Hessian before the exact one is tried again.
    cautious: usize,
}

impl<S: Dense> Newton<S> {
    /// A solver with these options.
    pub fn new(options: NewtonOptions) -> Self {
        Self {
            options,
            extra: (),
            engine: None,
            #[cfg(feature = "collision")]
            barrier: None,
            #[cfg(feature = "collision")]
            apart: None,
        }
    }
}

impl<S: Dense> Default for Newton<S> {
    fn default() -> Self {
        Self::new(NewtonOptions::default())
    }
}

impl<S: Dense, X: Energies<S>> Newton<S, X> {
    /// Minimises these energies too.
    pub fn with<Y: Energies<S>>(self, energies: Y) -> Newton<S, (X, Y)> {
        Newton {
            options: self.options,
            extra: (self.extra, energies),
            engine: None,
            #[cfg(feature = "collision")]
            barrier: self.barrier,
            #[cfg(feature = "collision")]
            apart: None,
        }
    }

    /// Minimises a barrier between surfaces with [`SelfContact`](pliant_core::collide::SelfContact) and their friction
    /// too: no state that a step accepts ever intersects. Positions then stay in the world's frame during a step.
    ///
    /// A start state that intersects is refused with [`StepError::Intersecting`]. Colliders act after the minimum, in a move
    /// that is limited in the same way, which cloth pulled hard over them does not bear: let them act inside it
    /// ([`NewtonOptions::colliders`]). Pins that would be driven through a surface stay behind.
    #[cfg(feature = "collision")]
    #[must_use]
    pub fn with_barrier(mut self, barrier: SurfaceBarrier) -> Self {
        (self.barrier, self.engine, self.apart) = (Some(barrier), None, None);
        self
    }

    /// Makes the barrier ready, if there is one and something to keep apart.
    #[cfg(feature = "collision")]
    fn keep_apart(&mut self, model: &Model<S>, mut engine: Engine<S>) -> Result<Engine<S>, BuildError> {
        self.apart = None;
        if let Some(barrier) = self.barrier.filter(|_| !model.surfaces().is_empty()) {
            self.apart = Some(Box::new(apart::Apart::new(model, &engine.descent.nodes, barrier)?));
            engine.descent.flight.world_frame = true;
            engine.descent.flight.contacts.leave_surfaces();
        }
        Ok(engine)
    }
}

/// The groups of nodes that elements couple.
struct Groups<'a> {
    nodes: &'a Nodes,
    groups: Vec<Vec<u32>>,
}

impl<S: Real> EnergyVisitor<S> for Groups<'_> {
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>) {
        self.groups.extend(set.ids().iter().map(|ids| self.nodes.group(ids)));
    }
}

/// Room for the Hessian records of every set, and where they go.
struct Map<'a, S> {
    pattern: &'a Pattern,
    nodes: &'a Nodes,
    maps: Vec<Option<SlotMap>>,
    records: Vec<Vec<[S; 4]>>,
}

impl<S: Real> EnergyVisitor<S> for Map<'_, S> {
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>) {
        let form = if N == 2 && R == 3 { HessianForm::Difference } else { HessianForm::Lower };
        let map = SlotMap::elements(self.pattern, set.stencil(), set.ids(), &self.nodes.of, form);
        self.maps.push((!set.is_empty()).then_some(map));
        self.records.push(vec![[S::ZERO; 4]; set.stencil().block_count() * BLOCK * R]);
    }
}

/// How the linear system of an iteration was solved.
#[derive(Clone, Copy, Default)]
struct Solved {
    attempts: usize,
    projected: bool,
    shifted: bool,
}

impl<S: Dense> Engine<S> {
    fn new(model: &Model<S>, extra: &impl Energies<S>, method: LinearMethod) -> Result<Self, BuildError> {
        let descent = Descent::new(model, extra)?;
        let mut groups = Groups { nodes: &descent.nodes, groups: Vec::new() };
        visit(model.constraints(), extra, &mut groups);
        let pattern = Pattern::new(descent.nodes.len(), groups.groups.iter(), super::ordering(model));
        let mut map = Map { pattern: &pattern, nodes: &descent.nodes, maps: Vec::new(), records: Vec::new() };
        visit(model.constraints(), extra, &mut map);
        let Map { maps, records, .. } = map;
        let linear = LinearSolver::new(&pattern, method).map_err(super::linear_error)?;
        let length = 3 * descent.nodes.len();
        Ok(Self {
            values: vec![S::ZERO; 9 * pattern.entry_count()],
            diagonal: vec![S::ZERO; descent.nodes.len()],
            right: vec![S::ZERO; length],
            step: vec![S::ZERO; length],
            partials: partials(length),
            pressure: Pressure::new(model, &descent.nodes),
            cautious: 0,
            descent,
            pattern,
            linear,
            maps,
            records,
        })
    }

    /// ∇²F at the current positions, shifted by `shift` times M/h².
    fn assemble<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        extra: &impl Energies<S>,
        curvature: Curvature,
        shift: S,
        on: &B,
    ) {
        let mass_scale = self.descent.inv_h_sq() * (S::ONE + shift);
        for (d, &particle) in self.diagonal.iter_mut().zip(&self.descent.nodes.particles) {
            *d = mass_scale / model.inv_mass()[particle as usize];
        }
        let Descent { flight, objective, .. } = &self.descent;
        let (lots, records) = (objective.lots.iter(), self.records.iter_mut());
        visit(model.constraints(), extra, &mut EmitHessians { lots, records, x: &flight.x, curvature, on });
        let mut maps = self.maps.iter().zip(&self.records).filter_map(|(map, records)| Some((map.as_ref()?, records)));
        // Sizes were fixed in `new`, so that nothing here can fail.
        let mut done = Ok(());
        match maps.next() {
            Some((map, records)) => done = done.and(map.write(&self.diagonal, records, &mut self.values, on)),
            None => self.write_diagonal(),
        }
        let maps = self.maps.iter().zip(&self.records).filter_map(|(map, records)| Some((map.as_ref()?, records)));
        for (map, records) in maps.skip(1) {
            done = done.and(map.add(records, &mut self.values, on));
        }
        self.descent.colliders.hessian(&self.pattern, &mut self.values);
        debug_assert!(done.is_ok());
    }

    /// Particles without any element: M/h² alone.
    fn write_diagonal(&mut self) {
        self.values.fill(S::ZERO);
        for (node, &d) in self.diagonal.iter().enumerate() {
            let at = 9 * self.pattern.diagonal(node as u32);
            for k in [0, 4, 8] {
                self.values[at + k] = d;
            }
        }
    }

    /// Assembles and solves for the Newton step until it succeeds: exact, convex, shifted.
    fn direction<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        extra: &impl Energies<S>,
        hessian: Hessian,
        on: &B,
    ) -> Option<Solved> {
        let mut done = Solved::default();
        let cautious = hessian == Hessian::Adaptive && self.cautious > 0;
        self.cautious = self.cautious.saturating_sub(1);
        let mut curvature = match hessian {
            Hessian::Convex => Curvature::Convex,
            Hessian::Adaptive if cautious => Curvature::Convex,
            Hessian::Exact | Hessian::Adaptive => Curvature::Exact,
        };
        done.projected = cautious;
        // A shift by M/h² weighs as much as inertia; 10⁸ times that leaves nothing of the element.
        let mut shift = 0.0;
        while shift < 1e8 {
            self.assemble(model, extra, curvature, S::from_f64(shift), on);
            done.attempts += 1;
            self.step.copy_from_slice(&self.right);
            let refreshed = self.linear.refresh(&self.values, on);
            let solved = refreshed.and_then(|()| self.linear.solve(&self.values, &mut self.step, on)).is_ok();
            if solved && self.balloons(model, on) {
                self.pressure.apply(&mut self.step, on);
                return Some(done);
            }
            if hessian == Hessian::Adaptive && curvature == Curvature::Exact {
                (curvature, done.projected, self.cautious) = (Curvature::Convex, true, 2);
            } else {
                (shift, done.shifted) = (if shift == 0.0 { 1.0 } else { 4.0 * shift }, true);
            }
        }
        None
    }

    /// Makes the balloons' part of the Hessian ready; whether that worked.
    fn balloons<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, on: &B) -> bool {
        let Self { descent: Descent { objective, nodes, flight, .. }, pressure, linear, values, .. } = self;
        let solve = |side: &mut [S]| linear.solve(values, side, on).is_ok();
        pressure.refresh(model, (&mut objective.balloons, nodes), &flight.x, on, solve)
    }

    /// Minimises F over one substep.
    fn minimise<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        extra: &impl Energies<S>,
        options: &NewtonOptions,
        report: &mut StepReport,
        on: &B,
    ) -> Result<(), StepError> {
        let mut value = self.descent.value(model, extra, on)?;
        // Coordinates inside a step are metres near a body's own origin: this is their rounding error.
        let finest = 8.0 * S::EPSILON.to_f64();
        self.cautious = 0;
        for iteration in 0..options.iterations {
            report.residual = self.descent.gradient(model, extra, on);
            if report.residual.is_nan() {
                return Err(StepError::BadEnergy { what: "gradient", row: 0, value: report.residual });
            }
            if report.residual <= options.gradient_tolerance {
                return Ok(());
            }
            report.iterations += 1;
            self.descent.nodes.read(&self.descent.objective.gradient, -S::ONE, &mut self.right, on);
            let solved = self.direction(model, extra, options.hessian, on);
            let solved = solved.ok_or(StepError::NotPositive { iteration })?;
            report.factorizations += solved.attempts;
            report.projected += usize::from(solved.projected);
            report.shifts += usize::from(solved.shifted);
            let slope = -dot(&self.right, &self.step, &mut self.partials, on);
            let length = self.descent.aim_along(&self.step, on);
            let search = self.descent.search(model, extra, (value, slope), on)?;
            value = search.value;
            if length * search.share <= options.tolerance.max(finest) {
                // No share at all of a long step means that the model is not smooth here.
                report.converged &= search.share > 0.0 || length <= 1e3 * finest;
                return Ok(());
            }
        }
        report.converged = false;
        Ok(())
    }
}

impl<S: Dense, X: Energies<S>, B: Backend<Scalar = S>> Solver<B> for Newton<S, X> {
    fn name(&self) -> &'static str {
        "newton"
    }

    fn identify(&self, hash: &mut Fingerprint) {
        hash.add_name("newton");
        hash.add_shown(&self.options);
        #[cfg(feature = "collision")]
        hash.add_shown(&self.barrier);
        self.extra.visit(hash);
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        crate::matching::refuse(model)?;
        check_count("substeps", self.options.substeps)?;
        check_count("iterations", self.options.iterations)?;
        super::check_tolerance(self.options.tolerance)?;
        super::check_tolerance(self.options.gradient_tolerance)?;
        self.options.colliders.check::<S>()?;
        let mut engine = Engine::new(model, &self.extra, self.options.linear)?;
        engine.descent.colliders = ColliderTerms::energies(model, &engine.descent.nodes, self.options.colliders);
        engine.descent.flight.contacts.hold_off(self.options.colliders.reach());
        #[cfg(feature = "collision")]
        let engine = self.keep_apart(model, engine)?;
        self.engine = Some(engine);
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, on: &B) -> Result<StepReport, StepError> {
        let Self { options, extra, engine, .. } = self;
        let engine = engine.as_mut().ok_or(StepError::NotPrepared)?;
        #[cfg(feature = "collision")]
        if let Some(apart) = &mut self.apart {
            return engine.step_apart(apart, (model, extra, options), particles, dt, on);
        }
        engine.descent.flight.begin(model, particles, dt)?;
        let h = dt / S::from_f64(options.substeps as f64);
        let mut report = StepReport::default();
        report.substeps = options.substeps;
        for k in 0..options.substeps {
            engine.descent.begin(model, particles, h, (k, options.substeps), options.start, on);
            for _ in 0..ROUNDS {
                engine.minimise(model, extra, options, &mut report, on)?;
                if !engine.descent.relag(model, on) {
                    break;
                }
            }
            engine.descent.settle(model, on);
        }
        report.projections = report.iterations * model.constraints().len();
        engine.descent.end(model, particles, h, options.substeps, on)?;
        Ok(report)
    }

    fn account(&mut self) -> Option<&mut ContactAccount<S>> {
        self.engine.as_mut()?.descent.flight.contacts.account()
    }

    fn remember(&self, to: &mut Writer) {
        if let Some(engine) = &self.engine {
            engine.descent.remember(to);
        }
    }
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let Some(engine) = &mut self.engine else { return Ok(()) };
        engine.descent.recall(from)
    }
}
