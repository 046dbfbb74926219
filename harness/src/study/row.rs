//! Rows of the study: its fields are the keys of the JSON and the columns of the CSV.

use std::fmt::Write as _;

use serde::Serialize;

use super::Study;
use super::reach::{LEVELS, MEASURES, reaches};

/// One method at one iteration count. Figures of a run that failed are absent.
#[derive(Clone, Debug, Serialize)]
pub struct StudyRow {
    pub scene: String,
    pub method: String,
    pub backend: String,
    pub precision: String,
    pub isa: String,
    pub threads: usize,
    pub particles: usize,
    pub constraints: usize,
    pub substeps: usize,
    pub iterations: usize,
    pub ms_per_step_min: Option<f64>,
    pub ms_per_step_median: Option<f64>,
    pub objective_gap: Option<f64>,
    pub position_error: Option<f64>,
    pub status: String,
}

/// The rows as aligned columns, and who reaches which error first.
pub fn text(study: &Study) -> String {
    let mut lines = vec![
        ["scene", "method", "prec", "substeps", "iterations", "ms/step", "gap", "error", "status"].map(str::to_owned),
    ];
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2e}"));
    lines.extend(study.rows.iter().map(|row| {
        [
            row.scene.clone(),
            row.method.clone(),
            row.precision.clone(),
            row.substeps.to_string(),
            row.iterations.to_string(),
            row.ms_per_step_min.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.3}")),
            number(row.objective_gap),
            number(row.position_error),
            row.status.clone(),
        ]
    }));
    let mut text = aligned(&lines, 3);
    for measure in MEASURES {
        let mut lines = vec![["scene", "method", "prec"].map(str::to_owned).to_vec()];
        lines[0].extend(LEVELS.map(|level| format!("{level:.0e}")));
        lines.extend(reaches(&study.rows, measure).into_iter().map(|reach| {
            let mut line = vec![reach.scene, reach.method, reach.precision];
            line.extend(reach.ms.iter().zip(reach.first).map(|(ms, first)| match ms {
                Some(ms) => format!("{ms:.3}{}", if first { "*" } else { " " }),
                None => "- ".to_owned(),
            }));
            line
        }));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\nms to an {} of; * the first to reach it", measure.name);
        text.push_str(&aligned(&lines, 3));
    }
    text.push('\n');
    for line in &study.references {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Columns side by side: the first `left` to the left, the others to the right, the last as it is.
fn aligned<L: AsRef<[String]>>(lines: &[L], left: usize) -> String {
    let mut widths = Vec::new();
    for line in lines {
        for (k, cell) in line.as_ref().iter().enumerate() {
            widths.resize(widths.len().max(k + 1), 0);
            widths[k] = widths[k].max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in lines {
        let last = line.as_ref().len() - 1;
        let cells = line.as_ref().iter().zip(&widths).enumerate().map(|(k, (cell, &width))| match k {
            k if k < left => format!("{cell:<width$}"),
            k if k == last && widths.len() == 9 => cell.clone(),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
