//! Measuring: all runs of a scene take turns, so that noise of the machine hits all alike.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use super::plan::{Cell, Plan};
use super::row::{LEFT_OUT, PASSED, Row, fill_speedups};
use super::{Outcome, Shown};
use crate::failure::Failure;
use crate::passages::Passages;
use crate::scene::Scene;
use crate::simulation::{self, Choice, Run, State};
use crate::{allocations, interrupt, render};

/// Repeats beyond this add nothing but time.
const MOST_ROUNDS: usize = 25;
/// A run that has taken this part of a scene's patience is not repeated: what takes long varies little.
const SHARE: u32 = 4;

/// One run and what was measured of it.
struct Trial {
    row: Row,
    run: Option<Box<dyn Run>>,
    samples: Vec<f64>,
    /// Time in all samples.
    spent: Duration,
    projections: usize,
    allocations: Option<u64>,
    state: Option<State>,
    passages: Passages,
}

/// Runs the plan.
pub fn measure(plan: &Plan, bar: &ProgressBar) -> Result<Outcome, Failure> {
    let mut outcome =
        Outcome { rows: Vec::new(), planned: plan.cell_count(), shown: Vec::new(), interrupted: false, merged: false };
    for (entry, cells) in &plan.scenes {
        if interrupt::requested() {
            break;
        }
        bar.set_message(entry.name);
        let scene = entry.scene()?;
        let mut trials = trials(&scene, cells, plan)?;
        outcome.planned -= cells.len() - trials.len();
        rounds(&mut trials, plan);
        let best = trials.iter().filter(|trial| !trial.samples.is_empty() && trial.run.is_some());
        if let Some(trial) =
            best.max_by_key(|trial| (trial.row.solver == "xpbd-colored", trial.row.solver != "symplectic"))
            && let Some(run) = &trial.run
        {
            let caption = format!("{}, after {} frames of {}", entry.name, plan.frames, trial.row.solver);
            outcome.shown.push(Shown {
                caption,
                about: entry.about,
                picture: render::picture(
                    run.scene(),
                    &run.positions(),
                    &run.poses(),
                    plan.frames as f64 * scene.dt,
                    [480, 360],
                ),
            });
        }
        // A run that never finished once says nothing.
        outcome.rows.extend(trials.into_iter().filter(Trial::is_done).map(|trial| trial.finish(plan.frames)));
        bar.inc(cells.len() as u64);
    }
    fill_speedups(&mut outcome.rows);
    outcome.interrupted = interrupt::requested() && outcome.rows.len() < outcome.planned;
    Ok(outcome)
}

/// A run for every cell; a slow method that nobody asked for has one row on a large scene, which says so.
fn trials(scene: &Scene, cells: &[Cell], plan: &Plan) -> Result<Vec<Trial>, Failure> {
    let constraints = scene.build::<f32>()?.0.constraints().len() + scene.joints.len();
    let mut trials: Vec<Trial> = Vec::new();
    // Without being told, methods for particles run where there are particles, and that for bodies alone where there are none.
    let bodies_alone = scene.particle_count() == 0;
    for cell in cells.iter().filter(|cell| plan.named || cell.solver.bodies_alone == bodies_alone) {
        if plan.named || constraints <= cell.solver.largest / plan.haste {
            trials.push(Trial::new(scene, cell, plan));
        } else if trials.iter().all(|trial| trial.row.solver != cell.solver.name) {
            trials.push(Trial::left_out(scene, cell, plan, constraints));
        }
    }
    Ok(trials)
}

fn rounds(trials: &mut [Trial], plan: &Plan) {
    let begin = Instant::now();
    for round in 0..MOST_ROUNDS {
        if round >= plan.least_rounds && begin.elapsed() > plan.patience {
            return;
        }
        for trial in &mut *trials {
            if interrupt::requested() {
                return;
            }
            if trial.spent < plan.patience / SHARE {
                trial.sample(plan.frames);
            }
        }
    }
}

impl Trial {
    /// A row without a run.
    fn idle(scene: &Scene, cell: &Cell, plan: &Plan) -> Self {
        let row = Row {
            scene: scene.name.clone(),
            solver: cell.solver.name.to_owned(),
            backend: cell.backend.clone(),
            precision: cell.precision.clone(),
            isa: String::new(),
            threads: 1,
            particles: scene.particle_count(),
            constraints: 0,
            substeps: plan.work.substeps,
            iterations: plan.work.iterations,
            frames: plan.frames,
            ms_per_frame_min: None,
            ms_per_frame_median: None,
            ns_per_projection_min: None,
            speedup_vs_scalar: None,
            allocations_per_step: None,
            state_hash: None,
            max_strain: None,
            energy: None,
            relative_error: None,
            status: "ok".to_owned(),
        };
        Self {
            row,
            run: None,
            samples: Vec::new(),
            spent: Duration::ZERO,
            projections: 0,
            allocations: None,
            state: None,
            passages: Passages::default(),
        }
    }

    fn left_out(scene: &Scene, cell: &Cell, plan: &Plan, constraints: usize) -> Self {
        let mut trial = Self::idle(scene, cell, plan);
        let name = cell.solver.name;
        trial.row.constraints = constraints;
        trial.row.status =
            format!("{LEFT_OUT}: {constraints} constraints take it long; choose it with --solvers {name}");
        trial
    }

    fn new(scene: &Scene, cell: &Cell, plan: &Plan) -> Self {
        let mut trial = Self::idle(scene, cell, plan);
        let row = &mut trial.row;
        let Cell { solver, backend, precision } = cell;
        let choice = Choice { solver: *solver, backend, precision, threads: plan.threads, work: plan.work };
        trial.run = match simulation::start(scene, choice) {
            Ok(run) => {
                let setup = run.setup();
                row.isa = setup.isa.to_owned();
                (row.threads, row.constraints) = (setup.threads, setup.constraints);
                Some(run)
            }
            Err(failure) => {
                row.status = failure.to_string();
                None
            }
        };
        trial
    }

    fn is_done(&self) -> bool {
        self.run.is_none() || !self.samples.is_empty()
    }

    /// Runs all frames once. A failure ends this trial and no other.
    fn sample(&mut self, frames: usize) {
        let Some(run) = &mut self.run else { return };
        match once(run.as_mut(), frames) {
            Ok((time, projections, allocations)) => {
                self.spent += time;
                self.samples.push(time.as_secs_f64() * 1e3 / frames as f64);
                self.projections = projections;
                self.allocations = Some(self.allocations.map_or(allocations, |least| least.min(allocations)));
                if self.state.is_none() {
                    (self.state, self.passages) = (Some(run.state()), run.passages());
                }
            }
            Err(failure) => {
                self.row.status = failure.to_string();
                self.run = None;
            }
        }
    }

    fn finish(mut self, frames: usize) -> Row {
        self.samples.sort_by(f64::total_cmp);
        let row = &mut self.row;
        if let (Some(&least), Some(state), true) = (self.samples.first(), self.state, row.status == "ok") {
            row.ms_per_frame_min = Some(least);
            row.ms_per_frame_median = Some(self.samples[self.samples.len() / 2]);
            let projections = self.projections as f64 / frames as f64;
            row.ns_per_projection_min = (projections > 0.0).then(|| least * 1e6 / projections);
            row.allocations_per_step = self.allocations.map(|count| count as f64 / frames as f64);
            row.state_hash = Some(format!("{:016x}", state.hash));
            row.max_strain = Some(state.max_strain);
            row.energy = Some(state.energy);
            if self.passages.any() {
                row.status = format!("{PASSED}: {}", self.passages);
            }
        }
        self.row
    }
}

/// Time, projections and allocations of all frames from the start.
fn once(run: &mut dyn Run, frames: usize) -> Result<(Duration, usize, u64), Failure> {
    run.reset()?;
    let mut projections = 0;
    let (before, begin) = (allocations::count(), Instant::now());
    for _ in 0..frames {
        projections += run.frame()?;
    }
    let time = begin.elapsed();
    Ok((time, projections, allocations::count() - before))
}
