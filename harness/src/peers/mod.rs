//! Engines from elsewhere, run on the same scenes for comparison (feature `peers`).

mod rapier;

use crate::solvers::SolverEntry;

/// Every engine of this build.
pub const PEERS: [SolverEntry; 1] = [SolverEntry::new(
    "rapier",
    "soft bodies of rapier3d 0.36: edges as soft constraints, solved by its own substeps",
    rapier::make,
    rapier::make,
)
.on_its_own()];
