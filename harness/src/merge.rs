//! Joins the rows of several runs, so that any scheduler can spread a comparison over machines.

use crate::cli::MergeArgs;
use crate::compare::{self, Outcome, Row, fill_speedups};
use crate::failure::Failure;
use crate::output;
use crate::registry::Harness;

/// `pliant merge`.
pub fn run(harness: &Harness, args: &MergeArgs) -> Result<(), Failure> {
    let mut rows: Vec<Row> = Vec::new();
    for path in &args.files {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::at(path, format!("cannot read: {error}")))?;
        let more: Vec<Row> =
            serde_json::from_str(&text).map_err(|error| Failure::at(path, format!("not a list of rows: {error}")))?;
        rows.extend(more);
    }
    fill_speedups(&mut rows);
    output::prepare_directory(&args.out)?;
    let outcome = Outcome { planned: rows.len(), rows, shown: Vec::new(), interrupted: false, merged: true };
    compare::finish(harness, &outcome, args.format, &args.out)
}
