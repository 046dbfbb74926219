//! Who reaches a given error first.

use super::row::StudyRow;

/// A way to say how far a step is from the minimum.
#[derive(Clone, Copy)]
pub struct Measure {
    /// What it is, for people.
    pub name: &'static str,
    /// What it is, beside an axis.
    pub axis: &'static str,
    /// The figure of a row.
    pub of: fn(&StudyRow) -> Option<f64>,
}

/// Both measures of the study.
pub const MEASURES: [Measure; 2] = [
    Measure {
        name: "error (RMS distance from the minimum over the mean edge)",
        axis: "error over edge length (log)",
        of: |row| row.position_error,
    },
    Measure {
        name: "objective gap ((F − F*)/(F₀ − F*))", axis: "objective gap (log)", of: |row| row.objective_gap
    },
];

/// Errors and gaps of interest.
pub const LEVELS: [f64; 6] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9];

/// How long a method takes to every level on a scene; nothing where its ladder ends before.
pub struct Reach {
    pub scene: String,
    pub method: String,
    pub precision: String,
    /// Milliseconds a step.
    pub ms: [Option<f64>; LEVELS.len()],
    /// Whether no other method is faster.
    pub first: [bool; LEVELS.len()],
}

/// One line a scene, precision and method that ran.
pub fn reaches(rows: &[StudyRow], measure: Measure) -> Vec<Reach> {
    let mut found: Vec<Reach> = Vec::new();
    for row in rows.iter().filter(|row| row.ms_per_step_min.is_some()) {
        let (scene, method, precision) = (row.scene.clone(), row.method.clone(), row.precision.clone());
        let known = found.iter().any(|r| r.scene == scene && r.method == method && r.precision == precision);
        if !known {
            let time = |level: f64| {
                let of = rows.iter().filter(|other| {
                    other.scene == scene
                        && other.method == method
                        && other.precision == precision
                        && (measure.of)(other).is_some_and(|error| error <= level)
                });
                of.filter_map(|other| other.ms_per_step_min).min_by(f64::total_cmp)
            };
            let ms = LEVELS.map(time);
            found.push(Reach { scene, method, precision, ms, first: [false; LEVELS.len()] });
        }
    }
    for level in 0..LEVELS.len() {
        for i in 0..found.len() {
            let (Some(own), reach) = (found[i].ms[level], &found[i]) else { continue };
            let rivals = found.iter().filter(|o| o.scene == reach.scene && o.precision == reach.precision);
            let first = rivals.filter_map(|o| o.ms[level]).all(|other| own <= other);
            found[i].first[level] = first;
        }
    }
    found
}
