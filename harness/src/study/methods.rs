//! The methods of the study and their ladders of work.

use pliant::backends::AnyBackend;
use pliant::core::solver::Solver;
use pliant::solvers::{
    Acceleration, Iteration, Newton, NewtonOptions, Pbd, PbdOptions, Projective, ProjectiveOptions, SchurForm, XpbdOn,
    XpbdOptions,
};

use crate::solvers::Number;

/// A method at rising work.
pub struct Method<S: Number> {
    /// The solver it is an option of.
    pub solver: &'static str,
    /// Name in tables and charts.
    pub name: &'static str,
    /// Whether a rung is a number of substeps; of iterations otherwise.
    pub by_substeps: bool,
    /// How much work, step by step.
    pub ladder: &'static [usize],
    /// The solver at a rung.
    pub make: fn(usize) -> Box<dyn Solver<AnyBackend<S>>>,
}

/// Solvers of the study.
pub fn solvers() -> [&'static str; 5] {
    ["pbd", "xpbd-colored", "xpbd-schur", "projective", "newton"]
}

/// Sweeps cost little and gain little.
const SWEEPS: &[usize] = &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/// Iterations with a solve.
const SOLVES: &[usize] = &[1, 2, 5, 10, 20, 50, 100, 200, 500];
/// Iterations with a factorisation.
const FACTORS: &[usize] = &[1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30];

/// Earlier steps that Anderson and L-BFGS look back on.
const WINDOW: usize = 8;

/// Every method, in the order of tables.
pub fn all<S: Number>() -> Vec<Method<S>> {
    vec![
        Method { solver: "pbd", name: "pbd", by_substeps: false, ladder: SWEEPS, make: pbd },
        Method {
            solver: "xpbd-colored",
            name: "xpbd-colored, iterations",
            by_substeps: false,
            ladder: SWEEPS,
            make: |iterations| S::xpbd(XpbdOn::new(XpbdOptions { substeps: 1, iterations })),
        },
        Method {
            solver: "xpbd-colored",
            name: "xpbd-colored, substeps",
            by_substeps: true,
            ladder: SWEEPS,
            make: |substeps| S::xpbd(XpbdOn::with_substeps(substeps)),
        },
        Method {
            solver: "xpbd-schur",
            name: "xpbd-schur, textbook",
            by_substeps: false,
            ladder: FACTORS,
            make: |iterations| schur(iterations, SchurForm::Position),
        },
        Method {
            solver: "xpbd-schur",
            name: "xpbd-schur, accurate",
            by_substeps: false,
            ladder: FACTORS,
            make: |iterations| schur(iterations, SchurForm::Accurate),
        },
        Method {
            solver: "projective",
            name: "projective, plain",
            by_substeps: false,
            ladder: SOLVES,
            make: |iterations| projective(iterations, Acceleration::None),
        },
        Method {
            solver: "projective",
            name: "projective, Anderson",
            by_substeps: false,
            ladder: SOLVES,
            make: |iterations| projective(iterations, Acceleration::Anderson(WINDOW)),
        },
        Method {
            solver: "projective",
            name: "projective, L-BFGS",
            by_substeps: false,
            ladder: SOLVES,
            make: |iterations| projective(iterations, Acceleration::Lbfgs(WINDOW)),
        },
        Method { solver: "newton", name: "newton", by_substeps: false, ladder: FACTORS, make: newton },
    ]
}

fn pbd<S: Number>(iterations: usize) -> Box<dyn Solver<AnyBackend<S>>> {
    S::pbd(Pbd::new(PbdOptions { substeps: 1, iterations, stiffness: 1.0, iteration: Iteration::GaussSeidel }))
}

fn schur<S: Number>(iterations: usize, form: SchurForm) -> Box<dyn Solver<AnyBackend<S>>> {
    S::schur(XpbdOn::new(XpbdOptions { substeps: 1, iterations }).with_form(form))
}

fn projective<S: Number>(iterations: usize, acceleration: Acceleration) -> Box<dyn Solver<AnyBackend<S>>> {
    S::projective(Projective::new(ProjectiveOptions { iterations, acceleration, ..ProjectiveOptions::default() }))
}

fn newton<S: Number>(iterations: usize) -> Box<dyn Solver<AnyBackend<S>>> {
    S::newton(Newton::new(NewtonOptions { iterations, ..NewtonOptions::default() }))
}
