//! A soak: every solver for many steps, with contacts, edits, tears and snapshots, in two worlds on two backends side by side.
//!
//! Steps come in *lives*: a scene is raised, lived in for some hundred steps, and dropped. What happens in a life follows from the
//! seed, the names of solver and scene, and the life's number alone, so that a failure can be repeated by itself. After every step:
//! no number is NaN or infinite, both backends agree on every bit, on contacts and on tears, and the energy is within
//! [`twins::ENERGY_BOUND`]. Every now and then a snapshot is taken and returned to. Over a life, memory in use may not grow once warm,
//! and over the lives of a scene nothing may be left behind.

mod edits;
mod stages;
mod twins;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use pliant::core::snapshot::Fingerprint;
use serde::Serialize;

use crate::cli::{Format, SoakArgs, say};
use crate::failure::{Failure, unknown};
use crate::random::Random;
use crate::soften::soften_scene;
use crate::solvers::{Carries, SOLVERS, SolverEntry};
use crate::{allocations, compare, interrupt};

use edits::Added;
use stages::{Needs, STAGES, Stage};
use twins::{ENERGY_BOUND, Trouble, Twins, WORK};

/// Steps of a life.
const LIFE: u64 = 600;
/// The first steps of a life, in which buffers may grow.
const WARM: u64 = 200;
/// One step in so many begins with an edit, and one in so many takes a snapshot and comes back to it.
const EDIT_EVERY: usize = 20;
const REWIND_EVERY: usize = 120;
/// Backends that take turns beside `simd`.
const PARTNERS: [&str; 3] = ["scalar", "parallel", "simd-portable"];
/// How much more than when it was warm a life may hold: buffers grow in powers of two, and edits come and go.
const MEMORY_SLACK: f64 = 2.0;
/// What all lives of a scene after the first may leave behind, that is nothing; threads that end late are allowed for \[bytes\].
const LEFT_BEHIND: i64 = 16 * 1024;

impl Needs {
    /// What a solver asks of a scene.
    fn of(solver: &SolverEntry) -> Self {
        Self { clusters: solver.carries == Carries::Clusters }
    }
}

/// A solver on a scene, and what came of it so far.
struct Trial {
    solver: SolverEntry,
    stage: &'static Stage,
    /// Steps it is to take.
    share: u64,
    row: Row,
}

/// A line of the result.
#[derive(Clone, Debug, Serialize)]
struct Row {
    solver: &'static str,
    scene: &'static str,
    steps: u64,
    lives: u64,
    edits: u64,
    tears: u64,
    /// Snapshots taken and returned to.
    snapshots: u64,
    /// The most energy a kilogram had \[J/kg\].
    energy: f64,
    /// The most bytes two worlds held.
    bytes: i64,
    /// Bytes that lives after the first left behind.
    left: i64,
    /// Over the states at the end of all lives.
    state_hash: String,
    seconds: f64,
}

/// `pliant soak`.
pub fn run(args: &SoakArgs) -> Result<(), Failure> {
    let limit = args.minutes.map(|minutes| {
        let usable = minutes.is_finite() && minutes > 0.0;
        usable
            .then(|| Duration::from_secs_f64(60.0 * minutes))
            .ok_or_else(|| Failure::Usage(format!("error: --minutes is {minutes}; expected a finite number above 0")))
    });
    let limit = limit.transpose()?;
    let mut trials = trials(args)?;
    interrupt::listen();
    let bar = compare::progress(args.steps as usize);
    let started = Instant::now();
    let over = || interrupt::requested() || limit.is_some_and(|limit| started.elapsed() >= limit);
    let mut resident = None;
    for life in args.life.. {
        for trial in &mut trials {
            if over() || trial.row.steps >= trial.share {
                continue;
            }
            bar.set_message(format!("{} on {}", trial.solver.name, trial.stage.name));
            trial.live(args.seed, life)?;
            bar.set_position(bar.position() + trial.row.steps.min(LIFE));
        }
        if life == args.life {
            resident = resident_bytes();
        }
        if over() || trials.iter().all(|trial| trial.row.steps >= trial.share) {
            break;
        }
    }
    bar.finish_and_clear();
    let rows: Vec<Row> = trials.into_iter().map(|trial| trial.row).collect();
    match args.format {
        Format::Table => say(&table(&rows, args, resident, started.elapsed())),
        Format::Json => say(&serde_json::to_string_pretty(&rows).map_err(|e| Failure::Input(e.to_string()))?),
        Format::Csv => say(compare::csv(&rows)?.trim_end()),
    }
    if interrupt::requested() {
        let done: u64 = rows.iter().map(|row| row.steps).sum();
        return Err(Failure::Interrupted(format!("stopped after {done} of {} steps; all checks held", args.steps)));
    }
    Ok(())
}

/// The solvers of a soak: all of the table but the textbook loop, which is a baseline for times and knows no contact.
fn solvers() -> impl Iterator<Item = &'static SolverEntry> {
    SOLVERS.iter().filter(|entry| entry.uses_backend)
}

/// How many steps a solver takes for one of the dearest.
fn weight(solver: &SolverEntry) -> u64 {
    match solver.name {
        "newton" | "newton-apart" | "xpbd-apart" | "xpbd-schur" => 1,
        "projective" => 3,
        _ => 10,
    }
}

fn trials(args: &SoakArgs) -> Result<Vec<Trial>, Failure> {
    if args.steps == 0 {
        return Err(Failure::Usage("error: --steps is 0; expected 1 or more".to_owned()));
    }
    for name in args.solvers.iter().flatten() {
        if !solvers().any(|entry| entry.name == name) {
            return Err(unknown("solver", name, solvers().map(|entry| entry.name)));
        }
    }
    for name in args.scenes.iter().flatten() {
        if !STAGES.iter().any(|stage| stage.name == name) {
            return Err(unknown("scene", name, STAGES.iter().map(|stage| stage.name)));
        }
    }
    let chosen = |list: &Option<Vec<String>>, name: &str| list.as_ref().is_none_or(|l| l.iter().any(|n| n == name));
    let suits = |solver: &SolverEntry, stage: &Stage| {
        let guards = solver.name.ends_with("-apart");
        solver.bodies_alone == stage.bodies_alone && (stage.surfaces || !guards)
    };
    let mut trials = Vec::new();
    for solver in solvers().filter(|entry| chosen(&args.solvers, entry.name)) {
        for stage in STAGES.iter().filter(|stage| chosen(&args.scenes, stage.name) && suits(solver, stage)) {
            trials.push(Trial { solver: *solver, stage, share: 0, row: Row::new(solver.name, stage.name) });
        }
    }
    let total: u64 = trials.iter().map(|trial| weight(&trial.solver)).sum();
    if total == 0 {
        return Err(Failure::Input("none of these scenes suits any of these solvers".to_owned()));
    }
    for trial in &mut trials {
        trial.share = (args.steps * weight(&trial.solver)).div_ceil(total);
    }
    Ok(trials)
}

impl Row {
    fn new(solver: &'static str, scene: &'static str) -> Self {
        let (steps, lives, edits, tears, snapshots) = (0, 0, 0, 0, 0);
        let state_hash = String::new();
        Self {
            solver,
            scene,
            steps,
            lives,
            edits,
            tears,
            snapshots,
            energy: 0.0,
            bytes: 0,
            left: 0,
            state_hash,
            seconds: 0.0,
        }
    }
}

impl Trial {
    /// One more life; what goes wrong in it is told with what it takes to see it again.
    fn live(&mut self, seed: u64, life: u64) -> Result<(), Failure> {
        let (started, before) = (Instant::now(), allocations::live_bytes());
        let taken = self.row.steps;
        let outcome = catch_unwind(AssertUnwindSafe(|| self.life(seed, life, before)));
        let trouble = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(trouble)) => Some(trouble),
            Err(panic) => Some(format!("panicked: {}", message(&*panic))),
        };
        let left = allocations::live_bytes() - before;
        // The first life fills what is made once: names, tables, the state hash.
        if self.row.lives > 0 {
            self.row.left += left;
        }
        let leak = (trouble.is_none() && self.row.left > LEFT_BEHIND)
            .then(|| format!("{} bytes were left behind by {} lives", self.row.left, self.row.lives));
        self.row.lives += 1;
        self.row.seconds += started.elapsed().as_secs_f64();
        let Some(trouble) = trouble.or(leak) else { return Ok(()) };
        let (solver, scene, steps) = (self.solver.name, self.stage.name, self.row.steps - taken + 1);
        Err(Failure::Check(format!(
            "{solver} on {scene}, seed {seed}, life {life}, step {steps}: {trouble}; repeat with `pliant soak --solvers {solver} --scenes {scene} --seed {seed} --life {life} --steps {steps}`"
        )))
    }

    fn life(&mut self, seed: u64, life: u64, before: i64) -> Result<(), Trouble> {
        let mut name = Fingerprint::new();
        name.add_name(self.solver.name);
        name.add_name(self.stage.name);
        [seed, life].into_iter().for_each(|word| name.add(word));
        let mut random = Random::new(name.value());
        let mut scene = self.stage.scene(&Needs::of(&self.solver)).map_err(|error| error.to_string())?;
        soften_scene(&mut scene, &self.solver, WORK);
        let mut twins = Twins::new(&scene, &self.solver, ["simd", PARTNERS[(life % 3) as usize]])?;
        twins.both("watching contacts", |world| world.watch_contacts(true))?;
        let (mut added, mut warm, mut most, mut hash) = (Added::default(), 0, 0, 0);
        let end = (self.row.steps + LIFE).min(self.share.max(self.row.steps + 1));
        let start = self.row.steps;
        while self.row.steps < end {
            if random.below(EDIT_EVERY) == 0 {
                let changed = edits::edit(&mut twins, &mut added, &mut random, &self.solver)?;
                self.row.edits += u64::from(changed);
            }
            if random.below(REWIND_EVERY) == 0 {
                let (steps, full) = (1 + random.below(20) as u64, random.below(3) == 0);
                self.row.steps += if full { twins.revive(steps)? } else { twins.rewind(steps)? };
                self.row.snapshots += 1;
            }
            hash = twins.advance()?;
            self.row.steps += 1;
            self.row.tears += twins.world().tears().len() as u64;
            let energy = twins.energy();
            self.row.energy = self.row.energy.max(energy);
            if energy.is_nan() || energy > ENERGY_BOUND {
                return Err(format!("the energy is {energy:.3} J/kg, above the bound of {ENERGY_BOUND:.3}"));
            }
            let held = allocations::live_bytes() - before;
            most = most.max(held);
            if self.row.steps - start <= WARM {
                warm = most;
            } else if held as f64 > MEMORY_SLACK * warm as f64 {
                return Err(format!("two worlds hold {held} bytes, and held {warm} when they were warm"));
            }
        }
        self.row.bytes = self.row.bytes.max(most);
        self.row.tears += added.tears;
        let mut chain = Fingerprint::new();
        chain.add_name(&self.row.state_hash);
        chain.add(hash);
        self.row.state_hash = format!("{:016x}", chain.value());
        Ok(())
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}

/// Memory of this process that is in use \[bytes\], where the system tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

fn table(rows: &[Row], args: &SoakArgs, warm: Option<u64>, took: Duration) -> String {
    let mut lines = vec![
        ["solver", "scene", "steps", "lives", "edits", "tears", "snapshots", "J/kg", "KiB", "left", "state", "s"]
            .map(str::to_owned),
    ];
    lines.extend(rows.iter().map(|row| {
        [
            row.solver.to_owned(),
            row.scene.to_owned(),
            row.steps.to_string(),
            row.lives.to_string(),
            row.edits.to_string(),
            row.tears.to_string(),
            row.snapshots.to_string(),
            format!("{:.1}", row.energy),
            (row.bytes / 1024).to_string(),
            row.left.to_string(),
            row.state_hash.chars().take(8).collect(),
            format!("{:.1}", row.seconds),
        ]
    }));
    let widths: [usize; 12] = std::array::from_fn(|k| lines.iter().map(|line| line[k].len()).max().unwrap_or(0));
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(widths).enumerate().map(|(k, (cell, width))| match k {
            0 | 1 | 10 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
    let mebibytes = |bytes: Option<u64>| bytes.map_or("?".to_owned(), |b| format!("{:.1}", b as f64 / 1_048_576.0));
    text + &format!(
        "\n{} steps in {:.0} s from seed {}: {} edits, {} tears, {} snapshots returned to; no NaN, energy at most {:.1} of {:.1} J/kg, backends agree on every bit, nothing left behind; resident {} MiB after the first lives, {} MiB at the end",
        sum(|row| row.steps),
        took.as_secs_f64(),
        args.seed,
        sum(|row| row.edits),
        sum(|row| row.tears),
        sum(|row| row.snapshots),
        rows.iter().map(|row| row.energy).fold(0.0, f64::max),
        ENERGY_BOUND,
        mebibytes(warm),
        mebibytes(resident_bytes()),
    )
}
