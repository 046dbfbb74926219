//! Rows as text: aligned columns for people, comma-separated values for programs.

use std::fmt::Write as _;

use serde::Serialize;

use super::agree::{agreeing_groups, disagreements};
use super::notes::Softened;
use super::row::Row;
use crate::failure::Failure;

/// The rows as aligned columns, footnotes, and whether backends agree.
pub fn text(rows: &[Row], softened: Option<&Softened>) -> String {
    let header = [
        "scene",
        "solver",
        "backend",
        "isa",
        "prec",
        "thr",
        "constraints",
        "ms/frame",
        "median",
        "ns/proj",
        "speed-up",
        "allocs",
        "strain",
        "state",
        "status",
    ];
    let mut lines = vec![header.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| {
        [
            row.scene.clone(),
            Softened::name(softened, row),
            row.backend.clone(),
            row.isa.clone(),
            row.precision.clone(),
            row.threads.to_string(),
            row.constraints.to_string(),
            number(row.ms_per_frame_min, 3),
            number(row.ms_per_frame_median, 3),
            number(row.ns_per_projection_min, 2),
            number(row.speedup_vs_scalar, 2),
            number(row.allocations_per_step, 0),
            row.max_strain.map_or_else(dash, |strain| format!("{:.2}%", 100.0 * strain)),
            row.state_hash.as_deref().map_or_else(dash, |hash| hash[..8.min(hash.len())].to_owned()),
            row.status.clone(),
        ]
    }));
    let widths: [usize; 15] =
        std::array::from_fn(|k| lines.iter().map(|line| line[k].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(widths).enumerate().map(|(k, (cell, width))| match k {
            0..5 | 13 => format!("{cell:<width$}"),
            14 => cell.clone(),
            _ => format!("{cell:>width$}"),
        });
        let joined = cells.collect::<Vec<_>>().join("  ");
        text.push_str(joined.trim_end());
        text.push('\n');
    }
    // Writing to a string cannot fail.
    if let Some(softened) = softened {
        let _ = writeln!(text, "\n{}", softened.text());
    }
    let bad = disagreements(rows);
    let _ = match bad.as_slice() {
        [] => writeln!(text, "\nbackends agree bit for bit in all {} groups of rows", agreeing_groups(rows)),
        bad => writeln!(text, "\nbackends DISAGREE:\n  {}", bad.join("\n  ")),
    };
    text
}

fn dash() -> String {
    "-".to_owned()
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(dash, |value| format!("{value:.digits$}"))
}

/// The rows as comma-separated values with the names of the JSON keys on top.
pub fn csv(rows: &[impl Serialize]) -> Result<String, Failure> {
    let broken = |error: &dyn std::fmt::Display| Failure::Input(format!("cannot write the rows: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).map_err(|error| broken(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| broken(&error))?;
    String::from_utf8(bytes).map_err(|error| broken(&error))
}
