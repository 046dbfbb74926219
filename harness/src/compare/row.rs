//! A row of a comparison: its fields are the keys of the JSON and the columns of the CSV.

use serde::{Deserialize, Serialize};

/// What one solver did on one backend and scene in one precision. Figures of a run that failed are absent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub scene: String,
    pub solver: String,
    pub backend: String,
    pub precision: String,
    pub isa: String,
    pub threads: usize,
    pub particles: usize,
    pub constraints: usize,
    pub substeps: usize,
    pub iterations: usize,
    pub frames: usize,
    pub ms_per_frame_min: Option<f64>,
    pub ms_per_frame_median: Option<f64>,
    pub ns_per_projection_min: Option<f64>,
    pub speedup_vs_scalar: Option<f64>,
    pub allocations_per_step: Option<f64>,
    pub state_hash: Option<String>,
    pub max_strain: Option<f64>,
    pub energy: Option<f64>,
    pub relative_error: Option<f64>,
    pub status: String,
}

impl Row {
    /// Whether the run came to its end, whatever it looks like there.
    pub fn is_ok(&self) -> bool {
        self.status == "ok" || self.status.starts_with(PASSED)
    }
    /// Whether it was not even tried, a scene being too large for a slow solver.
    pub fn was_left_out(&self) -> bool {
        self.status.starts_with(LEFT_OUT)
    }
}

/// How the status of a run that was not tried begins.
pub const LEFT_OUT: &str = "left out by default";

/// How the status of a run begins that came to its end, but with edges that pass through something. It has all figures.
pub const PASSED: &str = "not solved";

/// Fills in the speed-up of every row over the scalar backend of the same solver, scene and precision.
pub fn fill_speedups(rows: &mut [Row]) {
    let scalar: Vec<_> = rows
        .iter()
        .filter(|row| row.backend == "scalar")
        .filter_map(|row| Some((key(row), row.ms_per_frame_min?)))
        .collect();
    for row in rows {
        let base = scalar.iter().find(|(other, _)| *other == key(row)).map(|(_, ms)| *ms);
        row.speedup_vs_scalar = base.zip(row.ms_per_frame_min).map(|(base, ms)| base / ms);
    }
}

/// What rows share that do the same arithmetic.
pub fn key(row: &Row) -> [String; 3] {
    [row.scene.clone(), row.solver.clone(), row.precision.clone()]
}
