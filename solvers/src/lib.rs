//! Time integration methods of the pliant solver kit: one file a method.
#![forbid(unsafe_code)]

mod balloon;
mod flight;
mod gauss_seidel;
mod lots;
mod pbd;
mod project;
mod symplectic;
mod wind;
mod xpbd;

pub use pbd::{Iteration, Pbd, PbdOptions};
pub use symplectic::Symplectic;
pub use xpbd::{Colored, XpbdOn, XpbdOptions};

use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::solver::StepReport;

/// The report of a step of this many substeps with this many passes each.
fn report<S: Real>(substeps: usize, iterations: usize, model: &Model<S>) -> StepReport {
    let mut report = StepReport::default();
    report.substeps = substeps;
    report.iterations = substeps * iterations;
    report.projections = report.iterations * model.constraints().len();
    report
}
