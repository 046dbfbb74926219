//! The solvers a comparison can choose from, in one table.

use pliant::backends::{AnyBackend, Precision};
use pliant::core::solver::Solver;
use pliant::solvers::{Colored, Iteration, Pbd, PbdOptions, Symplectic, XpbdOn, XpbdOptions};

use crate::failure::{Failure, unknown};
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

/// Makes a solver that puts so much work into a step.
pub type Make<S> = fn(Work) -> Box<dyn Solver<AnyBackend<S>>>;

/// A line of the table.
#[derive(Clone, Copy)]
pub struct SolverEntry {
    /// Name on the command line and in reports.
    pub name: &'static str,
    /// One line on what it is.
    pub about: &'static str,
    /// Whether it uses the backend it is given; if not, it is run on `scalar` only.
    pub uses_backend: bool,
    /// Whether it is explicit: too stiff constraints are softened to what is stable at its substep.
    pub explicit: bool,
    single: Make<f32>,
    double: Make<f64>,
}

impl SolverEntry {
    /// A solver that uses the backend it is given, made in either precision by the same generic function:
    /// `SolverEntry::new("mine", "what it is", mine, mine)`.
    pub const fn new(name: &'static str, about: &'static str, single: Make<f32>, double: Make<f64>) -> Self {
        Self { name, about, uses_backend: true, explicit: false, single, double }
    }
    /// The same, for a solver with loops of its own: it is run on `scalar` only.
    #[must_use]
    pub const fn on_its_own(self) -> Self {
        Self { uses_backend: false, ..self }
    }
    /// The same, for an explicit method: too stiff constraints are softened to what its substep carries.
    #[must_use]
    pub const fn explicit(self) -> Self {
        Self { explicit: true, ..self }
    }
}

/// Every solver of this build. To add one: a function that makes it, and a line here.
pub const SOLVERS: &[SolverEntry] = &[
    SolverEntry {
        name: "textbook",
        about: "XPBD as a plain loop over an array of structures: the baseline",
        uses_backend: false,
        explicit: false,
        single: textbook,
        double: textbook,
    },
    SolverEntry {
        name: "symplectic",
        about: "symplectic Euler on springs as stiff as its substep allows",
        uses_backend: true,
        explicit: true,
        single: symplectic,
        double: symplectic,
    },
    SolverEntry {
        name: "pbd",
        about: "position-based dynamics, Gauss-Seidel: every constraint rigid",
        uses_backend: true,
        explicit: false,
        single: pbd,
        double: pbd,
    },
    SolverEntry {
        name: "xpbd-colored",
        about: "XPBD by coloured Gauss-Seidel",
        uses_backend: true,
        explicit: false,
        single: xpbd_colored,
        double: xpbd_colored,
    },
];

/// Names that are spoken for and not built yet.
const PLANNED: [&str; 4] = ["xpbd-schur", "projective", "newton", "shape-matching"];

fn textbook<S: Precision>(work: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    Box::new(Textbook::new(work.substeps, work.iterations))
}

/// An explicit method has no iterations: it takes that many more substeps, for equal work.
fn symplectic<S: Precision>(work: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    Box::new(Symplectic::new(explicit_substeps(work)))
}

fn pbd<S: Precision>(Work { substeps, iterations }: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    Box::new(Pbd::new(PbdOptions { substeps, iterations, stiffness: 1.0, iteration: Iteration::GaussSeidel }))
}

fn xpbd_colored<S: Precision>(Work { substeps, iterations }: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    Box::new(XpbdOn::<Colored, S>::new(XpbdOptions { substeps, iterations }))
}

/// Substeps of an explicit method that costs as much as `work`.
pub(crate) fn explicit_substeps(work: Work) -> usize {
    work.substeps.saturating_mul(work.iterations)
}

/// A precision the harness can run: `f32` or `f64`.
pub trait Number: Precision {
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
    if PLANNED.contains(&name) {
        let list: Vec<_> = available.collect();
        return Failure::Input(format!("solver `{name}` is not built yet; available: {}", list.join(", ")));
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
