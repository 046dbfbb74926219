//! Strain limiting: after a step of any method, no link is longer or shorter than it may be.   [METHODS 6]

use pliant_core::account::ContactAccount;
use pliant_core::backend::{Backend, Blocks, Map, TUNING};
use pliant_core::columns::{Columns, Particles};
use pliant_core::dent::Dent;
use pliant_core::error::{BuildError, StepError};
use pliant_core::kinds::DistanceRange;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::model::Model;
use pliant_core::snapshot::{Fingerprint, Reader, SnapshotError, Writer};
use pliant_core::solver::{Solver, StepReport, Undo};
use pliant_core::vec3::Vec3;

use crate::flight::Flight;
use crate::gauss_seidel::check_count;
use crate::lots::outdated;
use crate::project::Project;

/// Parameters of [`DistanceRange`]: lower bound, upper bound, compression scale.
const PARAMETERS: usize = 3;

/// How far links may stretch and shrink.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct StrainLimits {
    /// Longest length allowed as a ratio of the rest length, 1 or more; 1.1 by default \[1\].
    pub stretch: f64,
    /// Shortest length allowed as a ratio of the rest length, 0 to 1; 0 by default: no limit \[1\].
    ///
    /// It holds for every distance link, those that resist bending included: close to 1 it keeps a cloth from folding.
    pub compression: f64,
    /// Sweeps over the links after a step; ten by default. Each carries a limit about one link further.
    pub iterations: usize,
}

impl Default for StrainLimits {
    fn default() -> Self {
        Self { stretch: 1.1, compression: 0.0, iterations: 10 }
    }
}

impl StrainLimits {
    fn check(&self) -> Result<(), BuildError> {
        let bad = |name, value, expected| Err(BuildError::BadOption { name, value, expected });
        if !(self.stretch.is_finite() && self.stretch >= 1.0) {
            return bad("stretch", self.stretch, "a finite number, 1 or more");
        }
        if !(0.0..=1.0).contains(&self.compression) {
            return bad("compression", self.compression, "0 to 1");
        }
        check_count("iterations", self.iterations)
    }
}

/// Any solver, followed by strain limiting: the distance links of the model are projected into
/// \[compression · L, stretch · L\], and velocities follow the corrections, v += Δx/dt.
///
/// Corrections are equal and opposite impulses, so momentum is kept; energy is only taken away where a link was beyond its
/// limits. Soft methods (PBD with few passes, explicit springs) thus stay bounded in one cheap pass. Links of rest
/// length 0 have no strain and are left alone.
///
/// ```
/// use pliant_backends::Scalar;
/// use pliant_core::body::{Body, Role};
/// use pliant_core::{mesh::ClothGrid, model::Model, solver::Solver};
/// use pliant_solvers::{StrainLimited, StrainLimits, Symplectic};
///
/// // Springs this soft would stretch several times their length.
/// let mut cloth = Body::cloth(&ClothGrid::square(1.0, 8))?.pinned([0, 7]);
/// for role in [Role::Stretch, Role::Shear, Role::Bend] {
///     cloth = cloth.with_compliance(role, 1.0);
/// }
/// let (model, mut particles) = Model::<f32>::build(&[&cloth])?;
/// let mut solver = StrainLimited::new(Symplectic::new(4), StrainLimits::default());
/// let on = Scalar::new();
/// Solver::<Scalar>::prepare(&mut solver, &model)?;
/// for _ in 0..30 {
///     solver.step(&model, &mut particles, 1.0 / 60.0, &on)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StrainLimited<T, S = f32> {
    inner: T,
    limits: StrainLimits,
    scratch: Option<Scratch<S>>,
}

#[derive(Clone, Debug)]
struct Scratch<S> {
    flight: Flight<S>,
    /// The state after the inner solver: the caller's is written only when everything went well.
    after: Particles<S>,
    /// Links in block order.
    parameters: Vec<Octet<S>>,
    tuning: Vec<Octet<S>>,
    lambda: Vec<Octet<S>>,
    /// The rest lengths that the parameters are of.
    rest_revision: u64,
    /// The inner solver before its step.
    undo: Undo,
}

impl<T, S: Real> StrainLimited<T, S> {
    /// Puts limits behind a solver.
    pub fn new(inner: T, limits: StrainLimits) -> Self {
        Self { inner, limits, scratch: None }
    }
    /// The solver inside.
    pub fn inner(&self) -> &T {
        &self.inner
    }
    /// The limits.
    pub fn limits(&self) -> StrainLimits {
        self.limits
    }
}

impl<S: Real> Scratch<S> {
    fn new(model: &Model<S>, limits: &StrainLimits) -> Self {
        let blocks = model.constraints().distance.stencil().block_count();
        let zeros = |count: usize| vec![Octet([S::ZERO; BLOCK]); count];
        let (parameters, tuning) = (zeros(blocks * PARAMETERS), zeros(blocks * TUNING));
        let after = Particles::at_rest(Columns::zeros(model.particle_count()));
        let (flight, lambda, rest_revision) = (Flight::new(model), zeros(blocks), model.rest_revision());
        let undo = Undo::default();
        let mut scratch = Self { flight, after, parameters, tuning, lambda, rest_revision, undo };
        scratch.measure(model, limits);
        scratch
    }

    /// Sets the limits of every link from its rest length.
    fn measure(&mut self, model: &Model<S>, limits: &StrainLimits) {
        let links = &model.constraints().distance;
        let rest = || links.parameters()[0].iter().map(|length| length.to_f64());
        let range = |length: f64| DistanceRange::range(limits.compression * length, limits.stretch * length);
        for column in 0..PARAMETERS {
            links.stencil().scatter(
                rest().map(|length| S::from_f64(range(length)[column])),
                &mut self.parameters,
                column,
                PARAMETERS,
            );
        }
        // Rigid and undamped: of the tuning only the gate is not zero.
        let gate = rest().map(|length| if length > 0.0 { S::ONE } else { S::ZERO });
        links.stencil().scatter(gate, &mut self.tuning, TUNING - 1, TUNING);
    }

    /// From the state after the inner solver to the one within limits.
    fn limit<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        limits: &StrainLimits,
        (particles, substeps): (&mut Particles<S>, usize),
        dt: S,
        on: &B,
    ) -> Result<(), StepError> {
        self.flight.begin(model, &self.after, dt)?;
        self.flight.start.pack(model.plan(), &self.after.x);
        if outdated(&mut self.rest_revision, model) {
            self.measure(model, limits);
        }
        if !model.constraints().distance.is_empty() {
            self.project(model, limits.iterations, on);
        }
        let Flight { x, start, v, .. } = &mut self.flight;
        on.map(&Settle(S::ONE / dt), [x, start, v]);
        self.flight.end(model, particles, substeps, on)
    }

    /// Sweeps over the links, from the positions in flight.
    fn project<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, iterations: usize, on: &B) {
        let stencil = model.constraints().distance.stencil();
        let Flight { x, start, .. } = &mut self.flight;
        let blocks = Blocks { parameters: &self.parameters, tuning: &self.tuning };
        // Without compliance the multiplier does not matter: every sweep is a first one, and keeps none.
        let rule = Project::<S, DistanceRange>::once();
        for _ in 0..iterations {
            on.sweep(&rule, stencil, blocks, &mut self.lambda, x, start);
        }
    }
}

/// v += (x − start)/dt: fields x, start, v.
struct Settle<S>(S);

impl<S: Real> Map<3> for Settle<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, _: L, [x, start, v]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        [x, start, v + (x - start) * L::splat(self.0)]
    }
}

impl<S: Real, B: Backend<Scalar = S>, T: Solver<B>> Solver<B> for StrainLimited<T, S> {
    fn name(&self) -> &'static str {
        "strain-limited"
    }

    fn identify(&self, hash: &mut Fingerprint) {
        hash.add_name("strain-limited");
        hash.add_shown(&self.limits);
        self.inner.identify(hash);
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        self.limits.check()?;
        self.inner.prepare(model)?;
        self.scratch = Some(Scratch::new(model, &self.limits));
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, on: &B) -> Result<StepReport, StepError> {
        let scratch = self.scratch.as_mut().ok_or(StepError::NotPrepared)?;
        let links = &model.constraints().distance;
        if scratch.after.len() != model.particle_count() || scratch.lambda.len() != links.stencil().block_count() {
            return Err(StepError::NotPrepared);
        }
        let expected = model.particle_count();
        particles.fit(expected)?;
        scratch.after.x.copy_from(0..expected, &particles.x, 0);
        scratch.after.v.copy_from(0..expected, &particles.v, 0);
        scratch.undo.note(&self.inner);
        let mut report = self.inner.step(model, &mut scratch.after, dt, on)?;
        let limited = scratch.limit(model, &self.limits, (particles, report.substeps), dt, on);
        scratch.undo.settle(limited, &mut self.inner)?;
        report.iterations += self.limits.iterations;
        report.projections += self.limits.iterations * links.len();
        Ok(report)
    }

    fn forces(&self, model: &Model<S>) -> Vec<(&'static str, Vec<S>)> {
        self.inner.forces(model)
    }

    fn account(&mut self) -> Option<&mut ContactAccount<S>> {
        self.inner.account()
    }

    fn remember(&self, to: &mut Writer) {
        self.inner.remember(to);
    }
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.inner.recall(from)
    }
    fn dents(&self, model: &Model<S>) -> Vec<Dent<S>> {
        self.inner.dents(model)
    }
    fn put_dents(&mut self, model: &Model<S>, dents: &[Option<Dent<S>>]) {
        self.inner.put_dents(model, dents);
    }
}
