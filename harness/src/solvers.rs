//! The solvers a comparison can choose from, in one table.

use pliant::backends::{AnyBackend, Precision};
use pliant::core::backend::Backend;
use pliant::core::columns::Particles;
use pliant::core::error::{BuildError, StepError};
use pliant::core::model::Model;
use pliant::core::solver::{Solver, StepReport};
use pliant::solvers::{
    Acceleration, ColliderForm, Guard, IntersectionFree, Iteration, Newton, NewtonOptions, Pbd, PbdOptions, Projective,
    ProjectiveOptions, ShapeMatching, ShapeMatchingOptions, SurfaceBarrier, Symplectic, XpbdOn, XpbdOptions,
};

use crate::failure::{Failure, unknown};
use crate::instances::Instances;
use crate::scene::Scene;
use crate::textbook::Textbook;

/// How much work a solver may put into a step: the same for all, so that times compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Substeps a step.
    pub substeps: usize,
    /// Passes over the constraints a substep.
    pub iterations: usize,
}

impl Default for Work {
    fn default() -> Self {
        Self { substeps: 10, iterations: 1 }
    }
}

impl Work {
    /// Passes over the constraints a step.
    pub(crate) fn passes(self) -> usize {
        self.substeps.saturating_mul(self.iterations)
    }
}

/// The stiffest constraints a method carries; what is stiffer is softened for it, and its rows say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Rigid ones.
    Rigid,
    /// Any stiffness that is finite: it minimises an energy.
    Compliant,
    /// What is stable at its substep: it is explicit.
    Stable,
    /// None: it knows clusters of particles alone.
    Clusters,
}

/// Makes a solver that puts so much work into a step.
pub type Make<S> = fn(Work) -> Box<dyn Solver<AnyBackend<S>>>;

/// How a method is made for scenes in which surfaces keep clear of each other.
#[derive(Clone, Copy)]
struct Layered {
    single: Make<f32>,
    double: Make<f64>,
    /// Whether it then keeps them apart inside its step. That is not possible for balloons.
    keeps_apart: bool,
}

/// A line of the table.
#[derive(Clone, Copy)]
pub struct SolverEntry {
    /// Name on the command line and in reports.
    pub name: &'static str,
    /// One line on what it is.
    pub about: &'static str,
    /// Whether it uses the backend it is given; if not, it is run on `scalar` only.
    pub uses_backend: bool,
    /// The stiffest constraints it carries.
    pub carries: Carries,
    /// Whether it knows clusters of particles that hold their shape.
    pub clusters: bool,
    /// Whether it moves no particles: for scenes of rigid bodies alone.
    pub bodies_alone: bool,
    /// Whether it keeps surfaces apart inside its step, whatever it takes.
    pub keeps_apart: bool,
    /// The most constraints it is run on without being asked for by name.
    pub largest: usize,
    /// How it is made where surfaces keep clear of each other, if otherwise.
    layered: Option<Layered>,
    single: Make<f32>,
    double: Make<f64>,
}

impl SolverEntry {
    /// A solver that uses the backend it is given, made in either precision by the same generic function:
    /// `SolverEntry::new("mine", "what it is", mine, mine)`.
    pub const fn new(name: &'static str, about: &'static str, single: Make<f32>, double: Make<f64>) -> Self {
        let (carries, largest, no) = (Carries::Rigid, usize::MAX, false);
        let (clusters, bodies_alone, keeps_apart) = (no, no, no);
        let (uses_backend, layered) = (true, None);
        Self {
            name,
            about,
            uses_backend,
            carries,
            clusters,
            bodies_alone,
            keeps_apart,
            largest,
            layered,
            single,
            double,
        }
    }
    /// The same, for a solver with loops of its own: it is run on `scalar` only.
    #[must_use]
    pub const fn on_its_own(self) -> Self {
        Self { uses_backend: false, ..self }
    }
    /// The same, for an explicit method: too stiff constraints are softened to what its substep carries.
    #[must_use]
    pub const fn explicit(self) -> Self {
        Self { carries: Carries::Stable, ..self }
    }
    /// The same, for a method that minimises an energy: rigid constraints become stiff springs.
    #[must_use]
    pub const fn compliant(self) -> Self {
        Self { carries: Carries::Compliant, ..self }
    }
    /// The same, for a method that knows clusters beside constraints; for others, links stand for them.
    #[must_use]
    pub const fn with_clusters(self) -> Self {
        Self { clusters: true, ..self }
    }
    /// The same, for a method that knows clusters alone: overlapping clusters stand for constraints.
    #[must_use]
    pub const fn clusters_only(self) -> Self {
        Self { carries: Carries::Clusters, clusters: true, ..self }
    }
    /// The same, for a method that never lets surfaces pass through each other.
    #[must_use]
    pub const fn apart(self) -> Self {
        Self { keeps_apart: true, ..self }
    }
    /// The same, for a method that is made otherwise where surfaces keep clear of each other.
    const fn layered(self, single: Make<f32>, double: Make<f64>, keeps_apart: bool) -> Self {
        Self { layered: Some(Layered { single, double, keeps_apart }), ..self }
    }
    /// The method as this scene needs it.
    #[must_use]
    pub fn facing(self, scene: &Scene) -> Self {
        let balloons = || scene.bodies.iter().any(|body| body.inflation().is_some());
        match self.layered {
            Some(Layered { single, double, keeps_apart }) if scene.has_layers() && !(keeps_apart && balloons()) => {
                Self { single, double, keeps_apart: self.keeps_apart || keeps_apart, ..self }
            }
            _ => self,
        }
    }
    /// The work it puts into a step of this scene, given what the others do. Explicit methods carry springs as soft as their
    /// substep is long, and bodies that soft are dented for good by what falls on them.
    #[must_use]
    pub fn effort(&self, scene: &Scene, work: Work) -> Work {
        let finer = if self.carries == Carries::Stable && scene.has_layers() { FINER } else { 1 };
        Work { substeps: work.substeps.saturating_mul(finer), ..work }
    }
    /// Whether it pushes surfaces apart only after it has minimised an energy: what is stiff or under load does not bear that.
    #[must_use]
    pub fn parts_late(&self) -> bool {
        self.carries == Carries::Compliant && !self.keeps_apart
    }
    /// The same, for a method that is slow on large scenes: with more constraints it is only run when asked for by name.
    #[must_use]
    pub const fn up_to(self, constraints: usize) -> Self {
        Self { largest: constraints, ..self }
    }
}

/// How many more substeps explicit methods take where surfaces keep clear of each other: springs are 16 times as stiff.
const FINER: usize = 4;

/// Every solver of this build. To add one: a function that makes it, and a line here.
pub const SOLVERS: &[SolverEntry] = &[
    SolverEntry::new("textbook", "XPBD as a plain loop over an array of structures: the baseline", textbook, textbook)
        .on_its_own(),
    SolverEntry::new(
        "symplectic",
        "symplectic Euler on springs as stiff as its substep allows",
        symplectic,
        symplectic,
    )
    .explicit(),
    SolverEntry::new("pbd", "position-based dynamics, Gauss-Seidel: every constraint rigid", pbd, pbd).with_clusters(),
    SolverEntry::new("xpbd-colored", "XPBD by coloured Gauss-Seidel", xpbd_colored, xpbd_colored).with_clusters(),
    SolverEntry::new(
        "xpbd-schur",
        "XPBD by a sparse Schur complement: all constraints of a substep solved together",
        xpbd_schur,
        xpbd_schur,
    )
    .up_to(2_000),
    SolverEntry::new(
        "projective",
        "Projective Dynamics by L-BFGS: one constant matrix, factored once",
        projective,
        projective,
    )
    .compliant()
    .layered(projective_layered, projective_layered, false)
    .up_to(100_000),
    SolverEntry::new("newton", "implicit Euler by Newton's method, to convergence", newton, newton)
        .compliant()
        .layered(newton_layered, newton_layered, true)
        .up_to(5_000),
    SolverEntry::new(
        "shape-matching",
        "meshless shape matching: overlapping clusters instead of constraints",
        shape_matching,
        shape_matching,
    )
    .clusters_only()
    .up_to(100_000),
    SolverEntry {
        bodies_alone: true,
        ..SolverEntry::new(
            "rigid",
            "rigid bodies alone, by sequential impulses and XPBD joints; beside particles they move under any solver",
            bodies_alone,
            bodies_alone,
        )
    },
    // Only when asked for by name: without surfaces in contact they are XPBD and Newton.
    SolverEntry::new(
        "xpbd-apart",
        "XPBD behind an interior point: surfaces in contact never pass through each other",
        xpbd_apart,
        xpbd_apart,
    )
    .apart()
    .up_to(0),
    SolverEntry::new(
        "newton-apart",
        "Newton's method with a barrier between surfaces in contact and their friction",
        newton_apart,
        newton_apart,
    )
    .compliant()
    .apart()
    .layered(newton_layered, newton_layered, true)
    .up_to(0),
];

fn textbook<S: Precision>(work: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    Box::new(Textbook::new(work.substeps, work.iterations))
}

/// An explicit method has no iterations: it takes that many more substeps, for equal work.
fn symplectic<S: Number>(work: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    S::symplectic(Symplectic::new(work.passes()))
}

fn pbd<S: Number>(Work { substeps, iterations }: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    S::pbd(Pbd::new(PbdOptions { substeps, iterations, stiffness: 1.0, iteration: Iteration::GaussSeidel }))
}

fn xpbd_colored<S: Number>(Work { substeps, iterations }: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    S::xpbd(XpbdOn::new(XpbdOptions { substeps, iterations }))
}

/// The same substeps and iterations as by sweeps: what a factorisation costs, and what it gains.
fn xpbd_schur<S: Number>(Work { substeps, iterations }: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    S::schur(XpbdOn::new(XpbdOptions { substeps, iterations }))
}

/// As many iterations as the others have passes, in one substep. Plain iterations diverge where an energy is no quadratic of
/// a projection (the volumes of `jelly`); L-BFGS has a line search and carries every energy.
fn projective<S: Number>(work: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    let acceleration = Acceleration::Lbfgs(8);
    let options = ProjectiveOptions { iterations: work.passes(), acceleration, ..ProjectiveOptions::default() };
    S::projective(Projective::new(options))
}

/// Links under load pull particles through what stops them only after the minimum: colliders take part in it here, as heavy as a
/// particle itself. Surfaces still come after it, in as many substeps as the others take; a second iteration in each spreads
/// what they changed.
fn projective_layered<S: Number>(Work { substeps, iterations }: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    let (acceleration, iterations, collider_weight) = (Acceleration::Lbfgs(8), iterations.max(2), Some(1.0));
    let options =
        ProjectiveOptions { substeps, iterations, acceleration, collider_weight, ..ProjectiveOptions::default() };
    S::projective(Projective::new(options))
}

/// One substep, iterated until nothing moves by more than a micrometre: its work is what convergence takes.
fn newton<S: Number>(_: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    S::newton(Newton::new(NewtonOptions { tolerance: 1e-6, ..NewtonOptions::default() }))
}

fn shape_matching<S: Number>(Work { substeps, iterations }: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    S::shape_matching(ShapeMatching::new(ShapeMatchingOptions { substeps, iterations }))
}

fn xpbd_apart<S: Number>(work: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    S::guarded(IntersectionFree::new(xpbd_colored::<S>(work), Guard::default()))
}

/// Few iterations: contact makes the last digits expensive, and every iterate is safe.
fn newton_apart<S: Number>(_: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    let options = NewtonOptions { iterations: 20, tolerance: 1e-5, ..NewtonOptions::default() };
    S::newton(Newton::new(options).with_barrier(SurfaceBarrier::default()))
}

/// Colliders take part in the minimum: after it, they only stop single particles of cloth that is pulled over them. Short substeps
/// with few iterations: after 12 iterations to 10⁻⁶ m each, layers of `ring` touched so closely that its pin was held up for good.
fn newton_layered<S: Number>(_: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    let colliders = ColliderForm::Weighed { weight: 1e3, buffer: 1e-3 };
    let options = NewtonOptions { substeps: 4, iterations: 5, tolerance: 1e-5, colliders, ..NewtonOptions::default() };
    S::newton(Newton::new(options).with_barrier(SurfaceBarrier::default()))
}

fn bodies_alone<S: Precision>(_: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    Box::new(BodiesAlone)
}

/// Stands for a method where there are no particles to move.
struct BodiesAlone;

impl<B: Backend> Solver<B> for BodiesAlone {
    fn name(&self) -> &'static str {
        "rigid"
    }
    fn prepare(&mut self, model: &Model<B::Scalar>) -> Result<(), BuildError> {
        if model.particle_count() == 0 {
            return Ok(());
        }
        let reason = "the solver `rigid` moves rigid bodies alone; choose a method for particles, and it moves both";
        Err(BuildError::Unsupported { what: "particle", row: 0, reason })
    }
    fn step(
        &mut self,
        _: &Model<B::Scalar>,
        particles: &mut Particles<B::Scalar>,
        _: B::Scalar,
        _: &B,
    ) -> Result<StepReport, StepError> {
        if particles.is_empty() { Ok(StepReport::default()) } else { Err(StepError::NotPrepared) }
    }
}

/// A precision the harness can run: `f32` or `f64`.
pub trait Number: Instances {
    /// The solver of a line of the table in this precision.
    fn solver(entry: &SolverEntry, work: Work) -> Box<dyn Solver<AnyBackend<Self>>>;
}

impl Number for f32 {
    fn solver(entry: &SolverEntry, work: Work) -> Box<dyn Solver<AnyBackend<Self>>> {
        (entry.single)(work)
    }
}

impl Number for f64 {
    fn solver(entry: &SolverEntry, work: Work) -> Box<dyn Solver<AnyBackend<Self>>> {
        (entry.double)(work)
    }
}

/// The built-in solver of this name.
///
/// # Errors
/// When there is none; the message lists those there are.
pub fn find(name: &str) -> Result<&'static SolverEntry, Failure> {
    let found = SOLVERS.iter().find(|entry| entry.name == name);
    found.ok_or_else(|| missing(name, SOLVERS.iter().map(|entry| entry.name)))
}

/// Why there is no solver of this name, and those there are.
pub(crate) fn missing<'a>(name: &str, available: impl Iterator<Item = &'a str>) -> Failure {
    if name == "rapier" {
        let reason =
            "solver `rapier` needs the feature `peers`: cargo run --release -p pliant-harness --features peers --";
        return Failure::Input(reason.to_owned());
    }
    unknown("solver", name, available)
}

/// A backend by name.
///
/// # Errors
/// When this build does not have it; the message lists those it has.
pub fn backend<S: Number>(name: &str, threads: Option<usize>) -> Result<AnyBackend<S>, Failure> {
    AnyBackend::by_name(name, threads).ok_or_else(|| unknown("backend", name, AnyBackend::<S>::names()))
}
