//! XPBD by a sparse Schur complement: all constraints of a step solved together.   [METHODS 8; C 36–44]
//!
//! ```text
//!   position form   (J M⁻¹ Jᵀ + α̃) Δλ = −C − α̃ λ,              Δx = M⁻¹ Jᵀ Δλ          J at the current x
//!   accurate        (J M⁻¹ Jᵀ + α̃) Δλ = −C − α̃ λ + J r,        Δx = M⁻¹ Jᵀ Δλ − r      r = (x − x̂) − M⁻¹ Jᵀ λ
//!   velocity form   (h² J M⁻¹ Jᵀ + α) λ = −C − h J v,          v ← v + h M⁻¹ Jᵀ λ      J at the start of the step
//!   KKT             [M −Jᵀ; −J −α̃] [Δx; Δλ] = [0; C + α̃ λ]                             the same Δλ, without M⁻¹
//! ```
//! λ has absorbed h², α̃ = α/h². The textbook forms drop the primal residual r and settle near, not at, the minimum of
//! implicit Euler's F ; the accurate form keeps it and, with a line search on F, converges to the minimum itself: its Δx is
//! the Gauss–Newton step of F whatever λ is.
//!
//! A balloon would be a dense row: it borders the sparse system S Δλ = r instead. With s = J M⁻¹∇V, z = S⁻¹ s, t = S⁻¹ r:
//! ```text
//!   Δλ_V = (V₀ − V − α̃ λ_V − sᵀ t)/(∇Vᵀ M⁻¹ ∇V + α̃ − sᵀ z),      Δλ = t − z Δλ_V
//! ```

use core::marker::PhantomData;

use pliant_core::account::ContactAccount;
use pliant_core::backend::{Backend, Map};
use pliant_core::columns::Particles;
use pliant_core::error::{BuildError, StepError};
use pliant_core::field::Field;
use pliant_core::lane::{Lane, Real};
use pliant_core::model::Model;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::solver::StepReport;
use pliant_core::vec3::Vec3;

use super::descent::{Copy, Descent, Start};
use super::kkt::Kkt;
use super::rows::Rows;
use super::vectors::{add, dot, partials};
use crate::linear::{Cholesky, Dense};

/// Which linear system the Schur path of XPBD solves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SchurForm {
    /// The textbook's: multipliers and positions, the primal residual dropped.
    #[default]
    Position,
    /// The same with the primal residual and a line search: converges to the minimum of implicit Euler. Every constraint
    /// needs a compliance above 0.
    Accurate,
    /// One linear solve a substep at the positions where it starts.   [C 44]
    Velocity,
    /// The position form without eliminating positions: a quasi-definite matrix, factored as L D Lᵀ.
    Kkt,
}

/// Substeps and iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub substeps: usize,
    pub iterations: usize,
}

#[derive(Debug)]
pub(crate) struct SchurEngine<S> {
    descent: Descent<S>,
    rows: Rows<S>,
    factor: Factor<S>,
    values: Vec<S>,
    lambda: Vec<S>,
    right: Vec<S>,
    /// Jᵀ λ, or M⁻¹ Jᵀ Δλ.
    pull: Field<S>,
    /// r, or x̂ − x_start.
    primal: Field<S>,
    borders: Vec<Border<S>>,
    partials: Vec<f64>,
    form: SchurForm,
}

/// The row of a balloon.
#[derive(Debug)]
struct Border<S> {
    /// M⁻¹ ∇V.
    row: Field<S>,
    /// s, and z.
    side: Vec<S>,
    solved: Vec<S>,
}

#[derive(Debug)]
enum Factor<S> {
    Schur(Box<Cholesky<S>>),
    Kkt(Box<Kkt<S>>),
}

/// r = (x − x̂) − w Jᵀλ, zero at pins: fields x, x̂, Jᵀλ, r.
struct Residual<S>(PhantomData<S>);

impl<S: Real> Map<4> for Residual<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, goal, pull, _]: [Vec3<L>; 4]) -> [Vec3<L>; 4] {
        let r = (x - goal) - pull * w;
        [x, goal, pull, Vec3::select(w.gt(L::zero()), r, Vec3::zero())]
    }
}

/// x ← x + w Jᵀ Δλ: fields x, Jᵀ Δλ.
struct Push<S>(PhantomData<S>);

impl<S: Real> Map<2> for Push<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, pull]: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        [x + pull * w, pull]
    }
}

/// x ← x + Δλ row: fields x, row.
struct Inflate<S>(S);

impl<S: Real> Map<2> for Inflate<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, _: L, [x, row]: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        [x + row * L::splat(self.0), row]
    }
}

/// Δ = w Jᵀ Δλ − r: fields x (for w), Jᵀ Δλ, r, Δ.
struct Direction<S>(PhantomData<S>);

impl<S: Real> Map<4> for Direction<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, pull, r, _]: [Vec3<L>; 4]) -> [Vec3<L>; 4] {
        [x, pull, r, pull * w - r]
    }
}

/// d = x̂ − start: fields x̂, start, d.
struct Travel<S>(PhantomData<S>);

impl<S: Real> Map<3> for Travel<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, _: L, [goal, start, _]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        [goal, start, goal - start]
    }
}

impl<S: Dense> SchurEngine<S> {
    pub fn new(model: &Model<S>, form: SchurForm) -> Result<Self, BuildError> {
        let descent =
            if form == SchurForm::Accurate { Descent::new(model, &())? } else { Descent::allowing_rigid(model)? };
        crate::refuse_elastic(model)?;
        crate::matching::refuse(model)?;
        let textbook = matches!(form, SchurForm::Position | SchurForm::Kkt);
        if !textbook && !model.constraints().balloons.is_empty() {
            let reason = "this Schur form has no room for a row of all particles; use `Position`, `Kkt` or Newton";
            return Err(BuildError::Unsupported { what: "balloon", row: 0, reason });
        }
        let rows = Rows::new(model, &descent.nodes);
        let factor = match form {
            SchurForm::Kkt => Factor::Kkt(Box::new(Kkt::new(model, &descent.nodes, &rows)?)),
            _ => Factor::Schur(Box::new(Cholesky::new(&rows.pattern, 1).map_err(super::linear_error)?)),
        };
        let border = |_: &_| {
            let side = vec![S::ZERO; rows.len()];
            Border { row: Field::zeros(model.plan()), solved: side.clone(), side }
        };
        Ok(Self {
            borders: model.constraints().balloons.iter().map(border).collect(),
            partials: partials(rows.len()),
            values: vec![S::ZERO; rows.pattern.entry_count()],
            lambda: vec![S::ZERO; rows.len()],
            right: vec![S::ZERO; rows.len()],
            pull: Field::zeros(model.plan()),
            primal: Field::zeros(model.plan()),
            descent,
            rows,
            factor,
            form,
        })
    }

    pub fn step<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &mut Particles<S>,
        dt: S,
        settings: Settings,
        on: &B,
    ) -> Result<StepReport, StepError> {
        self.descent.flight.begin(model, particles, dt)?;
        let h = dt / S::from_f64(settings.substeps as f64);
        let mut report = StepReport::default();
        report.substeps = settings.substeps;
        let iterations = if self.form == SchurForm::Velocity { 1 } else { settings.iterations };
        for k in 0..settings.substeps {
            self.descent.begin(model, particles, h, (k, settings.substeps), Start::Predicted, on);
            self.lambda.fill(S::ZERO);
            self.descent.objective.balloons.iter_mut().for_each(|lot| lot.lambda = S::ZERO);
            for iteration in 0..iterations {
                report.iterations += 1;
                match self.form {
                    SchurForm::Accurate => self.accurate(model, iteration, &mut report, on)?,
                    SchurForm::Velocity => self.velocity(model, &mut report, on)?,
                    SchurForm::Position | SchurForm::Kkt => self.position(model, iteration, &mut report, on)?,
                }
            }
            self.descent.settle(model, on);
        }
        report.projections = report.iterations * model.constraints().len();
        self.descent.end(model, particles, h, settings.substeps, on)?;
        Ok(report)
    }

    /// Solves for Δλ in `right`; a singular matrix (rigid constraints that say the same thing twice) is shifted and reported.
    fn solve<B: Backend<Scalar = S>>(
        &mut self,
        iteration: usize,
        report: &mut StepReport,
        on: &B,
    ) -> Result<(), StepError> {
        let scale = self.descent.inv_h_sq();
        report.factorizations += 1;
        let failed = StepError::NotPositive { iteration };
        let factor = match &mut self.factor {
            Factor::Kkt(kkt) => {
                return kkt.solve(&self.rows, scale, &mut self.right).map_err(|()| failed);
            }
            Factor::Schur(factor) => factor,
        };
        let mut shift = 0.0;
        for _ in 0..8 {
            self.rows.matrix(scale, S::from_f64(shift), &mut self.values, on);
            if factor.factor(&self.values, on).is_ok() {
                return factor.solve(&mut self.right, 1, on).map_err(|_| failed);
            }
            // In units of the mean diagonal: w |∇C|².
            let count = self.rows.len().max(1);
            let mean: f64 = (0..count).map(|c| self.values[self.rows.pattern.diagonal(c as u32)].to_f64()).sum::<f64>()
                / count as f64;
            shift = if shift == 0.0 { 64.0 * S::EPSILON.to_f64() * mean } else { 16.0 * shift };
            report.shifts += 1;
            report.factorizations += 1;
        }
        Err(failed)
    }

    /// −C − α̃ λ into `right`, C and ∇C at the current positions.
    fn residuals<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, on: &B) {
        self.rows.evaluate(model, &self.descent.objective.lots, &self.descent.flight.x, on);
        let scale = self.descent.inv_h_sq();
        for (c, right) in self.right.iter_mut().enumerate() {
            *right = -(self.rows.values[c] + self.rows.compliance[c] * scale * self.lambda[c]);
        }
    }

    fn raise(&mut self, share: S) {
        for (lambda, &delta) in self.lambda.iter_mut().zip(&self.right) {
            *lambda = *lambda + share * delta;
        }
    }

    fn position<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        iteration: usize,
        report: &mut StepReport,
        on: &B,
    ) -> Result<(), StepError> {
        self.residuals(model, on);
        self.solve(iteration, report, on)?;
        self.border(model, on).ok_or(StepError::NotPositive { iteration })?;
        self.raise(S::ONE);
        self.pull.clear();
        self.rows.transposed(&self.right, &mut self.pull, on);
        on.map(&Push(PhantomData), [&mut self.descent.flight.x, &mut self.pull]);
        Ok(())
    }

    /// Solves for the balloons too: Δλ in `right` gives way to their pressures, and the positions follow those. Surfaces
    /// share no particles, so that one balloon at a time is exact.
    fn border<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, on: &B) -> Option<()> {
        let scale = self.descent.inv_h_sq();
        let Descent { objective, flight, .. } = &mut self.descent;
        let lots = objective.balloons.iter_mut().zip(&model.constraints().balloons);
        for ((lot, balloon), Border { row, side, solved }) in lots.zip(&mut self.borders) {
            let [volume, weight] = lot.row(balloon, &mut flight.x, row, on);
            side.fill(S::ZERO);
            self.rows.times(row, side, on);
            solved.copy_from_slice(side);
            match &mut self.factor {
                Factor::Schur(factor) => factor.solve(solved, 1, on).ok()?,
                Factor::Kkt(kkt) => kkt.solve(&self.rows, scale, solved).ok()?,
            }
            let alpha = balloon.compliance * scale;
            let [of_right, of_side] = [&self.right, &*solved].map(|v| dot(side, v, &mut self.partials, on));
            let residual = (balloon.volume - volume - alpha * lot.lambda).to_f64() - of_right;
            // Everything pinned: nothing can give way.
            let delta = ((weight + alpha).to_f64() - of_side).divide_or_zero(residual);
            add(&mut self.right, -delta, solved, on);
            lot.lambda = lot.lambda + S::from_f64(delta);
            on.map(&Inflate(S::from_f64(delta)), [&mut flight.x, row]);
        }
        Some(())
    }

    fn velocity<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        report: &mut StepReport,
        on: &B,
    ) -> Result<(), StepError> {
        // x̂ − start = h v: everything is taken at the start, pins included.
        let travel = Travel(PhantomData);
        on.map(&travel, [&mut self.descent.flight.x, &mut self.descent.flight.start, &mut self.primal]);
        self.rows.evaluate(model, &self.descent.objective.lots, &self.descent.flight.start, on);
        self.right.fill(S::ZERO);
        self.rows.times(&self.primal, &mut self.right, on);
        for (right, &c) in self.right.iter_mut().zip(&self.rows.values) {
            *right = -(*right + c);
        }
        self.solve(0, report, on)?;
        self.raise(S::ONE);
        self.pull.clear();
        self.rows.transposed(&self.right, &mut self.pull, on);
        on.map(&Push(PhantomData), [&mut self.descent.flight.x, &mut self.pull]);
        Ok(())
    }

    fn accurate<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        iteration: usize,
        report: &mut StepReport,
        on: &B,
    ) -> Result<(), StepError> {
        self.residuals(model, on);
        self.pull.clear();
        self.rows.transposed(&self.lambda, &mut self.pull, on);
        let Descent { flight, goal, .. } = &mut self.descent;
        on.map(&Residual(PhantomData), [&mut flight.x, goal, &mut self.pull, &mut self.primal]);
        self.rows.times(&self.primal, &mut self.right, on);
        self.solve(iteration, report, on)?;
        self.pull.clear();
        self.rows.transposed(&self.right, &mut self.pull, on);
        let Descent { flight, delta, .. } = &mut self.descent;
        on.map(&Direction(PhantomData), [&mut flight.x, &mut self.pull, &mut self.primal, delta]);
        let value = self.descent.value(model, &(), on)?;
        report.residual = self.descent.gradient(model, &(), on);
        let slope = self.descent.slope(on);
        on.map(&Copy(PhantomData), [&mut self.descent.flight.x, &mut self.descent.base]);
        let search = self.descent.search(model, &(), (value, slope), on)?;
        self.raise(S::from_f64(search.share));
        Ok(())
    }

    /// Writes down what the next step depends on.
    pub fn remember(&self, to: &mut Writer) {
        self.descent.remember(to);
    }
    /// Takes it back.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.descent.recall(from)
    }

    /// What contacts did over the last step.
    pub fn account(&mut self) -> Option<&mut ContactAccount<S>> {
        self.descent.flight.contacts.account()
    }

    /// λ/h² of the last substep in the order of the sets \[N\].
    pub fn forces(&self, model: &Model<S>) -> Vec<(&'static str, Vec<S>)> {
        if !self.descent.flight.is_for(model) {
            return Vec::new();
        }
        let scale = self.descent.inv_h_sq();
        let mut all = self.lambda.iter().map(|&l| l * scale);
        let mut found = Vec::new();
        for (name, count) in model.constraints().sizes() {
            found.push((name, all.by_ref().take(count).collect()));
        }
        found.push(("balloon", self.descent.objective.balloons.iter().map(|b| b.lambda * scale).collect()));
        found
    }
}
