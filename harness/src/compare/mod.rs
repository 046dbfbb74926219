//! Every chosen solver on every chosen backend and scene, from the same start, under the same noise.

mod agree;
mod notes;
mod plan;
mod row;
mod table;
mod trial;

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::{CompareArgs, Format, say};
use crate::failure::Failure;
use crate::registry::Harness;
use crate::{interrupt, output, report, study};

pub use agree::{agreeing_groups, disagreements};
pub use notes::Softened;
pub use row::{PASSED, Row, fill_speedups};
pub use table::{csv, text};

/// What a comparison found.
pub struct Outcome {
    /// One row a solver, backend, precision and scene.
    pub rows: Vec<Row>,
    /// Rows that were asked for.
    pub planned: usize,
    /// A picture of every scene.
    pub shown: Vec<Shown>,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Whether the rows come from the results of other runs.
    pub merged: bool,
}

/// A picture of a scene.
pub struct Shown {
    /// What and when.
    pub caption: String,
    /// What the scene tests.
    pub about: &'static str,
    /// A PNG file.
    pub picture: Vec<u8>,
}

/// `pliant compare`.
pub fn run(harness: &Harness, args: &CompareArgs) -> Result<(), Failure> {
    if args.precision_study {
        return study::run(harness, args);
    }
    let plan = plan::Plan::new(harness, args)?;
    output::prepare_directory(&args.out)?;
    interrupt::listen();
    let bar = progress(plan.cell_count());
    let outcome = trial::measure(&plan, &bar)?;
    bar.finish_and_clear();
    finish(harness, &outcome, args.format, &args.out)
}

/// Prints the rows, writes the report, and says how it went.
pub fn finish(harness: &Harness, outcome: &Outcome, format: Format, out: &std::path::Path) -> Result<(), Failure> {
    let rows = &outcome.rows;
    let softened = notes::softened(harness, rows);
    let json = serde_json::to_string_pretty(rows).map_err(|error| Failure::Input(error.to_string()))?;
    output::write(&out.join("results.json"), json.as_bytes())?;
    match format {
        Format::Table => say(text(rows, softened.as_ref()).trim_end()),
        Format::Json => say(&json),
        Format::Csv => say(csv(rows)?.trim_end()),
    }
    output::write(&out.join("index.html"), report::html(outcome, softened.as_ref()).as_bytes())?;
    if std::io::stderr().is_terminal() {
        eprintln!("report: {}", out.join("index.html").display());
    }
    let disagreements = disagreements(rows);
    if outcome.interrupted {
        let (done, planned) = (rows.len(), outcome.planned);
        return Err(Failure::Interrupted(format!("stopped after {done} of {planned} rows; the report is partial")));
    }
    match disagreements.first() {
        None => Ok(()),
        Some(first) => Err(Failure::Check(format!(
            "{} group(s) of rows that must agree bit for bit do not; first: {first}",
            disagreements.len()
        ))),
    }
}

/// A bar on stderr, silent when nobody watches.
pub fn progress(length: usize) -> ProgressBar {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(length as u64), target);
    match ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
