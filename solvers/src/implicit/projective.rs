//! Projective Dynamics: implicit Euler with one constant matrix, factored once.   [METHODS 7; C 27–35]
//!
//! A local step projects every element onto its constraint, a global step solves (M/h² + Σ w AᵀA) x = M/h² x̂ + Σ w AᵀB y.
//! With the energies E_c = w/2 |A x − B y(x)|² that is the same as
//! ```text
//!   x ← x − A⁻¹ ∇F(x),      A = M/h² + Σ k W ⊗ I₃
//! ```
//! because the projection y is a minimum and drops out of ∇F. This form is the one used here: the local step is a gradient
//! (the same kernels Newton uses), corrections stay accurate in single precision, pins need no column of the matrix and
//! may move without refactoring, and energies that are no such quadratics fit in, with [`Acceleration::Lbfgs`] to make
//! them converge.

use pliant_core::account::ContactAccount;
use pliant_core::backend::Backend;
use pliant_core::columns::Particles;
use pliant_core::constraints::{EnergyVisitor, Set};
use pliant_core::energy::Energy;
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::snapshot::{Fingerprint, Reader, SnapshotError, Writer};
use pliant_core::solver::{Solver, StepReport};

use super::accelerate::{Acceleration, History};
use super::collider_energy::ColliderTerms;
use super::descent::{Descent, Start};
use super::energies::Energies;
use super::nodes::{Nodes, PINNED};
use super::objective::visit;
use super::pressure::Pressure;
use crate::gauss_seidel::check_count;
use crate::linear::{Cholesky, Dense, Pattern, Tiles};

/// Options of Projective Dynamics.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct ProjectiveOptions {
    /// Substeps a step; one by default.
    pub substeps: usize,
    /// Most iterations a substep; ten by default.
    pub iterations: usize,
    /// How iterations are accelerated; not at all by default.
    pub acceleration: Acceleration,
    /// Stop when no particle moves further than this in an iteration \[m\]; 0, the default, runs all iterations.
    pub tolerance: f64,
    /// How heavily colliders weigh as constraints w/2 |x − p(x)|², p(x) where contact and friction would move a particle, as
    /// a multiple of the particle's own weight in A. `None`, the default: one projection a substep, after the iterations.
    ///
    /// A is factored again whenever other particles are in contact than a substep ago.
    pub collider_weight: Option<f64>,
}

impl Default for ProjectiveOptions {
    fn default() -> Self {
        let (acceleration, collider_weight) = (Acceleration::None, None);
        Self { substeps: 1, iterations: 10, acceleration, tolerance: 0.0, collider_weight }
    }
}

/// Projective Dynamics, with energies of the user's own in `X`.
#[derive(Debug)]
pub struct Projective<S, X = ()> {
    options: ProjectiveOptions,
    extra: X,
    engine: Option<Engine<S>>,
}

#[derive(Debug)]
struct Engine<S> {
    descent: Descent<S>,
    pattern: Pattern,
    factor: Cholesky<S>,
    /// The factor once more, for many solves.
    tiles: Tiles<S>,
    /// Σ k W of the elements as they were made, an entry each. Where rest shapes flow, A stays: iterations still go down ∇F of
    /// the shapes of now, only by another measure of length.
    stiffness: Vec<S>,
    values: Vec<S>,
    /// 1/h² of the factor.
    factored: Option<S>,
    history: History<S>,
    pressure: Pressure<S>,
    /// The step at hand, three numbers a node.
    step: Vec<S>,
    mixed: Vec<S>,
}

impl<S: Dense> Projective<S> {
    /// A solver with these options.
    pub fn new(options: ProjectiveOptions) -> Self {
        Self { options, extra: (), engine: None }
    }
}

impl<S: Dense> Default for Projective<S> {
    fn default() -> Self {
        Self::new(ProjectiveOptions::default())
    }
}

impl<S: Dense, X: Energies<S>> Projective<S, X> {
    /// Minimises these energies too.
    pub fn with<Y: Energies<S>>(self, energies: Y) -> Projective<S, (X, Y)> {
        Projective { options: self.options, extra: (self.extra, energies), engine: None }
    }
}

/// Collects the groups of nodes that couple, then the entries k W.
struct Collect<'a, S> {
    nodes: &'a Nodes,
    rest: &'a [[f64; 3]],
    groups: Vec<Vec<u32>>,
    into: Option<(&'a Pattern, &'a mut [f64])>,
    precision: core::marker::PhantomData<S>,
}

impl<S: Real> EnergyVisitor<S> for Collect<'_, S> {
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>) {
        for (row, ids) in set.ids().iter().enumerate() {
            let Some((pattern, values)) = &mut self.into else {
                self.groups.push(self.nodes.group(ids));
                continue;
            };
            // Not the parameters of now: A would depend on how far rest shapes had flowed when it was built.
            let p = set.made_with(row).map(S::to_f64);
            let w = E::proxy(&p, &ids.map(|i| self.rest[i as usize]));
            let k = 1.0 / set.compliance()[row].to_f64();
            for a in 0..N {
                for b in 0..=a {
                    let (i, j) = (self.nodes.of[ids[a] as usize], self.nodes.of[ids[b] as usize]);
                    if let Some((entry, _)) = (i != PINNED && j != PINNED).then(|| pattern.slot(i, j)).flatten() {
                        values[entry] += k * w[a][b];
                    }
                }
            }
        }
    }
}

impl<S: Dense> Engine<S> {
    fn new(model: &Model<S>, extra: &impl Energies<S>, options: ProjectiveOptions) -> Result<Self, BuildError> {
        let mut descent = Descent::new(model, extra)?;
        descent.objective.surround_springs(model);
        let nodes = &descent.nodes;
        let precision = core::marker::PhantomData;
        let mut collect = Collect { nodes, rest: model.rest(), groups: Vec::new(), into: None, precision };
        visit(model.constraints(), extra, &mut collect);
        let pattern = Pattern::new(nodes.len(), collect.groups.iter(), super::ordering(model));
        let mut sums = vec![0.0; pattern.entry_count()];
        let into = Some((&pattern, sums.as_mut_slice()));
        visit(
            model.constraints(),
            extra,
            &mut Collect { nodes, rest: model.rest(), groups: Vec::new(), into, precision },
        );
        let factor = Cholesky::new(&pattern, 1).map_err(super::linear_error)?;
        let tiles = Tiles::room(&factor).map_err(super::linear_error)?;
        let length = 3 * nodes.len();
        Ok(Self {
            stiffness: sums.iter().map(|&v| S::from_f64(v)).collect(),
            values: vec![S::ZERO; sums.len()],
            factored: None,
            history: History::new(length, options.acceleration),
            pressure: Pressure::new(model, nodes),
            step: vec![S::ZERO; length],
            mixed: vec![S::ZERO; if matches!(options.acceleration, Acceleration::Anderson(_)) { length } else { 0 }],
            descent,
            pattern,
            factor,
            tiles,
        })
    }

    /// Factors A when h changed; returns whether it did.
    fn refactor<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, inv_h_sq: S, on: &B) -> Result<bool, StepError> {
        if self.factored == Some(inv_h_sq) && !self.descent.colliders.changed() {
            return Ok(false);
        }
        self.factored = None;
        self.values.copy_from_slice(&self.stiffness);
        for (node, &particle) in self.descent.nodes.particles.iter().enumerate() {
            let entry = self.pattern.diagonal(node as u32);
            let own = self.values[entry] + inv_h_sq / model.inv_mass()[particle as usize];
            self.values[entry] = own + self.descent.colliders.pull(node, own);
        }
        // M/h² is positive and W semi-definite: only numbers out of range can fail.
        let factored = self.factor.factor(&self.values, on).and_then(|()| self.tiles.refresh(&self.factor, on));
        factored.map_err(|_| StepError::NotPositive { iteration: 0 })?;
        self.factored = Some(inv_h_sq);
        Ok(true)
    }

    /// `step` ← A⁻¹ `step`, A with what the balloons add at the current positions.
    fn solve<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, on: &B) {
        // Lengths were fixed in `new`; a factor is there.
        let Self { descent: Descent { objective, nodes, flight, .. }, pressure, tiles, step, .. } = self;
        let mut solve = |side: &mut [S]| tiles.solve(side, on).is_ok();
        let solved = solve(step);
        debug_assert!(solved);
        if pressure.refresh(model, (&mut objective.balloons, nodes), &flight.x, on, solve) {
            pressure.apply(step, on);
        }
    }

    /// One iteration; returns how far the particle that moved most went \[m\], and |∇F| before.
    fn iterate<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        extra: &impl Energies<S>,
        acceleration: Acceleration,
        on: &B,
    ) -> Result<(f64, f64), StepError> {
        let residual = self.descent.gradient(model, extra, on);
        let mut weights = [0.0; 16];
        if let Acceleration::Lbfgs(_) = acceleration {
            self.descent.nodes.read(&self.descent.objective.gradient, S::ONE, &mut self.step, on);
            self.history.lbfgs_before(&mut self.step, &mut weights, on);
            self.solve(model, on);
            self.history.lbfgs_after(&mut self.step, &weights, on);
            let slope = -self.history.product_with_filed(&self.step, on);
            for s in &mut self.step {
                *s = -*s;
            }
            let from = self.descent.value(model, extra, on)?;
            let length = self.descent.aim_along(&self.step, on);
            let search = self.descent.search(model, extra, (from, slope), on)?;
            self.history.took(&self.step, search.share, on);
            return Ok((length * search.share, residual));
        }
        self.descent.nodes.read(&self.descent.objective.gradient, -S::ONE, &mut self.step, on);
        self.solve(model, on);
        match acceleration {
            Acceleration::Chebyshev => self.history.chebyshev(&mut self.step, on),
            Acceleration::Anderson(_) => {
                if self.history.anderson(&self.step, &mut self.mixed, on) {
                    let from = self.descent.value(model, extra, on)?;
                    let length = self.descent.aim_along(&self.mixed, on);
                    self.descent.advance(1.0, on);
                    if self.descent.value(model, extra, on).is_ok_and(|value| value <= from) {
                        self.history.took(&self.mixed, 1.0, on);
                        return Ok((length, residual));
                    }
                    self.descent.advance(0.0, on);
                }
                self.history.took(&self.step, 1.0, on);
            }
            Acceleration::None | Acceleration::Lbfgs(_) => {}
        }
        let length = self.descent.aim_along(&self.step, on);
        self.descent.advance(1.0, on);
        Ok((length, residual))
    }
}

impl<S: Dense, X: Energies<S>, B: Backend<Scalar = S>> Solver<B> for Projective<S, X> {
    fn name(&self) -> &'static str {
        "projective"
    }

    fn identify(&self, hash: &mut Fingerprint) {
        hash.add_name("projective");
        hash.add_shown(&self.options);
        self.extra.visit(hash);
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        crate::matching::refuse(model)?;
        let options = self.options;
        check_count("substeps", options.substeps)?;
        check_count("iterations", options.iterations)?;
        super::check_tolerance(options.tolerance)?;
        if let Some(value) = options.collider_weight.filter(|w| !(w.is_finite() && *w > 0.0)) {
            let expected = "a finite number above 0";
            return Err(BuildError::BadOption { name: "collider weight", value, expected });
        }
        let mut engine = Engine::new(model, &self.extra, options)?;
        let Descent { flight, nodes, .. } = &engine.descent;
        engine.descent.colliders = ColliderTerms::targets(model, flight, nodes, options.collider_weight);
        self.engine = Some(engine);
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, on: &B) -> Result<StepReport, StepError> {
        let Self { options, extra, engine } = self;
        let engine = engine.as_mut().ok_or(StepError::NotPrepared)?;
        engine.descent.flight.begin(model, particles, dt)?;
        let h = dt / S::from_f64(options.substeps as f64);
        let mut report = StepReport::default();
        report.substeps = options.substeps;
        for k in 0..options.substeps {
            engine.descent.begin(model, particles, h, (k, options.substeps), Start::Predicted, on);
            let inv_h_sq = engine.descent.inv_h_sq();
            report.factorizations += usize::from(engine.refactor(model, inv_h_sq, on)?);
            if matches!(options.acceleration, Acceleration::Lbfgs(_)) {
                engine.descent.start_lower(model, extra, on)?;
            }
            engine.history.restart();
            let mut met = options.tolerance == 0.0;
            for _ in 0..options.iterations {
                let (length, residual) = engine.iterate(model, extra, options.acceleration, on)?;
                report.iterations += 1;
                report.residual = residual;
                if options.tolerance > 0.0 && length <= options.tolerance {
                    met = true;
                    break;
                }
            }
            report.converged &= met;
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
