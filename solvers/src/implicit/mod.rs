//! Methods that minimise: implicit Euler by Newton, Projective Dynamics, and what they share.
//!
//! | file | what it does |
//! | --- | --- |
//! | `objective` | F, ∇F and the blocks of ∇²F from the energies of a model |
//! | `descent` | where a minimisation stands, and its line search |
//! | `step_objective` | F of a step, for those who judge a method |
//! | `nodes` | free particles, numbered for linear systems |
//! | `vectors` | products and sums of long vectors |
//! | `pressure` | balloons around a sparse factor |
//! | `collider_energy`, `collider_targets` | colliders as energies and as constraints |
//! | `energies` | energies of the user's own |
//! | `accelerate` | Chebyshev, Anderson, L-BFGS |
//! | `rows`, `kkt` | constraints as one linear system |
//! | `newton`, `projective`, `schur` | one method a file |

#![cfg_attr(
    not(all(feature = "newton", feature = "projective", feature = "xpbd-schur")),
    allow(dead_code, reason = "a method that is not built leaves its share unused")
)]

#[cfg(feature = "projective")]
mod accelerate;
#[cfg(feature = "collision")]
mod collider_energy;
#[cfg(not(feature = "collision"))]
#[path = "collider_none.rs"]
mod collider_energy;
#[cfg(feature = "collision")]
mod collider_targets;
mod descent;
mod energies;
#[cfg(feature = "xpbd-schur")]
mod kkt;
#[cfg(feature = "newton")]
mod newton;
mod nodes;
mod objective;
#[cfg(any(feature = "newton", feature = "projective"))]
mod pressure;
#[cfg(feature = "projective")]
mod projective;
#[cfg(feature = "xpbd-schur")]
mod rows;
#[cfg(feature = "xpbd-schur")]
mod schur;
mod step_objective;
mod vectors;

#[cfg(feature = "projective")]
pub use accelerate::Acceleration;
pub use collider_energy::ColliderForm;
pub use descent::Start;
pub use energies::{Energies, EnergySet};
#[cfg(all(feature = "newton", feature = "collision"))]
pub use newton::SurfaceBarrier;
#[cfg(feature = "newton")]
pub use newton::{Hessian, Newton, NewtonOptions};
#[cfg(feature = "projective")]
pub use projective::{Projective, ProjectiveOptions};

#[cfg(feature = "xpbd-schur")]
pub use schur::SchurForm;
#[cfg(feature = "xpbd-schur")]
pub(crate) use schur::{SchurEngine, Settings};
pub use step_objective::StepObjective;

use pliant_core::error::BuildError;
use pliant_core::lane::Real;
use pliant_core::model::Model;

use crate::linear::{LinearError, Ordering};

/// Solids fill in less by nested dissection, cloth by minimum degree.
fn ordering<S: Real>(model: &Model<S>) -> Ordering {
    let constraints = model.constraints();
    let tets = &constraints.elastic;
    let solid = constraints.tet_volume.len() + tets.corotated_tet.len() + tets.neo_hookean_tet.len() > 0;
    if solid { Ordering::NestedDissection } else { Ordering::Amd }
}

/// A linear system that cannot be set up is a model this method cannot carry.
fn linear_error(_: LinearError) -> BuildError {
    let reason = "its factor would be too large; use conjugate gradients, a coarser mesh, PBD or XPBD";
    BuildError::Unsupported { what: "model", row: 0, reason }
}

fn check_tolerance(tolerance: f64) -> Result<(), BuildError> {
    if tolerance.is_finite() && tolerance >= 0.0 {
        return Ok(());
    }
    Err(BuildError::BadOption { name: "tolerance", value: tolerance, expected: "a finite number, 0 or more" })
}
