//! Time integration methods of the pliant solver kit: one file a method.
#![forbid(unsafe_code)]

mod aim;
#[cfg(feature = "collision")]
mod apart;
mod balloon;
#[cfg(feature = "collision")]
mod contact;
#[cfg(not(feature = "collision"))]
#[path = "contact_none.rs"]
mod contact;
mod flight;
mod gauss_seidel;
#[cfg(feature = "linear")]
mod implicit;
mod layers;
#[cfg(feature = "linear")]
pub mod linear;
mod lots;
#[cfg(feature = "rigid")]
mod matching;
#[cfg(not(feature = "rigid"))]
#[path = "matching_none.rs"]
mod matching;
mod pbd;
mod project;
#[cfg(feature = "rigid")]
mod rigid;
mod strain_limit;
mod symplectic;
mod wind;
#[cfg(any(feature = "xpbd-colored", feature = "xpbd-schur"))]
mod xpbd;

#[cfg(feature = "collision")]
pub use apart::{Guard, GuardOutcome, InteriorPoint, IntersectionFree};
#[cfg(feature = "collision")]
pub use contact::{ContactEvent, ContactPair, ContactPhase, ContactWatch, Response};
#[cfg(feature = "xpbd-schur")]
pub use implicit::SchurForm;
#[cfg(all(feature = "newton", feature = "collision"))]
pub use implicit::SurfaceBarrier;
#[cfg(feature = "projective")]
pub use implicit::{Acceleration, Projective, ProjectiveOptions};
#[cfg(feature = "linear")]
pub use implicit::{ColliderForm, Energies, EnergySet, Start, StepObjective};
#[cfg(feature = "newton")]
pub use implicit::{Hessian, Newton, NewtonOptions};
pub use layers::LayerOptions;
#[cfg(feature = "rigid")]
pub use matching::{ShapeMatching, ShapeMatchingOptions};
pub use pbd::{Iteration, Pbd, PbdOptions};
#[cfg(feature = "rigid")]
pub use rigid::{
    Coupling, Fastening, Gyroscopic, RigidOptions, RigidReport, RigidResponse, RigidSolver, Sleep, Together, state_hash,
};
pub use strain_limit::{StrainLimited, StrainLimits};
pub use symplectic::Symplectic;
#[cfg(feature = "xpbd-colored")]
pub use xpbd::Colored;
#[cfg(feature = "xpbd-schur")]
pub use xpbd::Schur;
#[cfg(any(feature = "xpbd-colored", feature = "xpbd-schur"))]
pub use xpbd::{XpbdOn, XpbdOptions};

use pliant_core::error::BuildError;
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::solver::StepReport;

/// The report of a step of this many substeps with this many passes each.
fn report<S: Real>(substeps: usize, iterations: usize, model: &Model<S>) -> StepReport {
    let mut report = StepReport::default();
    report.substeps = substeps;
    report.iterations = substeps * iterations;
    report.projections = report.iterations * (model.constraints().len() + matching::count(model));
    report
}

/// Elastic elements are energies: methods that need forces or gradients of constraints one by one cannot carry them.
fn refuse_elastic<S: Real>(model: &Model<S>) -> Result<(), BuildError> {
    let reason = "elastic elements are energies; use Newton, Projective Dynamics, or sweeps of PBD or XPBD";
    model
        .constraints()
        .elastic
        .first()
        .map_or(Ok(()), |(what, _)| Err(BuildError::Unsupported { what, row: 0, reason }))
}

/// Sweeps carry every element but cubic shells, which are no square of anything.
fn refuse_shells<S: Real>(model: &Model<S>) -> Result<(), BuildError> {
    if model.constraints().elastic.cubic_shell.is_empty() {
        return Ok(());
    }
    let reason = "cubic shells are an energy without a constraint form; use Bending::Dihedral or Bending::Cotangent, \
                  or Newton or Projective Dynamics";
    Err(BuildError::Unsupported { what: "cubic shell", row: 0, reason })
}
