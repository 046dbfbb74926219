//! Measuring: every method climbs its ladder; a rung is the least of several steps from the same state.

use std::time::{Duration, Instant};

use pliant::backends::AnyBackend;
use pliant::core::backend::Backend;
use pliant::core::columns::{Columns, Particles};
use pliant::core::model::Model;
use pliant::core::solver::Solver;

use super::methods::{self, Method};
use super::problem::Problem;
use super::row::StudyRow;
use crate::failure::Failure;
use crate::interrupt;
use crate::solvers::{Number, backend};

/// What to measure.
pub struct Settings<'a> {
    pub backend: &'a str,
    pub threads: Option<usize>,
    /// Shorter ladders and fewer repeats.
    pub quick: bool,
    /// Names of solvers.
    pub solvers: &'a [String],
}

/// A method goes no higher once a step has taken this long.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// A rung is not repeated beyond this, after its second time.
const SHARE: Duration = Duration::from_millis(200);
const MOST_SAMPLES: usize = 25;
/// Nothing left to gain.
const EXACT: f64 = 1e-13;

/// The step in this precision.
struct Step<S: Number> {
    model: Model<S>,
    start: Particles<S>,
    dt: S,
    on: AnyBackend<S>,
}

impl<S: Number> Step<S> {
    /// Takes it; how long that took, and where it led.
    fn take(&self, solver: &mut dyn Solver<AnyBackend<S>>) -> Result<(Duration, Columns<S>), Failure> {
        let mut particles = self.start.clone();
        let begin = Instant::now();
        solver.step(&self.model, &mut particles, self.dt, &self.on)?;
        Ok((begin.elapsed(), particles.x))
    }
}

/// The rows of a problem in one precision.
pub fn measure<S: Number>(problem: &Problem, settings: &Settings<'_>) -> Result<Vec<StudyRow>, Failure> {
    let (model, _) = problem.scene.build::<S>()?;
    let cast = |from: &Columns<f64>| from.iter().map(|v| v.map(S::from_f64)).collect::<Columns<S>>();
    let start = Particles { x: cast(&problem.start.x), v: cast(&problem.start.v) };
    let on = backend::<S>(settings.backend, settings.threads)?;
    let step = Step { model, start, dt: S::from_f64(problem.scene.dt), on };
    let mut rows = Vec::new();
    for method in methods::all::<S>().iter().filter(|method| settings.solvers.iter().any(|s| s == method.solver)) {
        climb(problem, &step, method, settings, &mut rows);
    }
    Ok(rows)
}

/// Every rung of a method, until it is exact, takes too long or fails.
fn climb<S: Number>(
    problem: &Problem,
    step: &Step<S>,
    method: &Method<S>,
    settings: &Settings<'_>,
    rows: &mut Vec<StudyRow>,
) {
    for &work in method.ladder.iter().step_by(if settings.quick { 2 } else { 1 }) {
        if interrupt::requested() {
            return;
        }
        let mut row = StudyRow {
            scene: problem.scene.name.clone(),
            method: method.name.to_owned(),
            backend: settings.backend.to_owned(),
            precision: S::NAME.to_owned(),
            isa: step.on.isa().to_owned(),
            threads: step.on.threads(),
            particles: step.start.len(),
            constraints: problem.constraints(),
            substeps: if method.by_substeps { work } else { 1 },
            iterations: if method.by_substeps { 1 } else { work },
            ms_per_step_min: None,
            ms_per_step_median: None,
            objective_gap: None,
            position_error: None,
            status: "ok".to_owned(),
        };
        let goes_on = match rung(problem, step, (method.make)(work).as_mut(), &mut row) {
            Ok(slowest) => slowest < PATIENCE && row.position_error.is_some_and(|error| error > EXACT),
            Err(failure) => {
                row.status = failure.to_string();
                false
            }
        };
        rows.push(row);
        if !goes_on {
            return;
        }
    }
}

/// Fills in the figures of a row; returns the longest time of a step.
///
/// The first step also factors what stays constant: it gives the error, not the time.
fn rung<S: Number>(
    problem: &Problem,
    step: &Step<S>,
    solver: &mut dyn Solver<AnyBackend<S>>,
    row: &mut StudyRow,
) -> Result<Duration, Failure> {
    solver.prepare(&step.model)?;
    let (_, found) = step.take(solver)?;
    let distance = problem.distance(&found)?;
    let mut samples = Vec::new();
    let mut spent = Duration::ZERO;
    while samples.len() < 2 || (spent < SHARE && samples.len() < MOST_SAMPLES) {
        let (time, _) = step.take(solver)?;
        spent += time;
        samples.push(time);
        if time > PATIENCE {
            break;
        }
    }
    samples.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    row.ms_per_step_min = samples.first().copied().map(ms);
    row.ms_per_step_median = samples.get(samples.len() / 2).copied().map(ms);
    (row.objective_gap, row.position_error) = (Some(distance.gap), Some(distance.position));
    Ok(samples.last().copied().unwrap_or_default())
}
