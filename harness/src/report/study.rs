//! The page of the precision study: a chart a scene, who reaches which error first, and all rows.

use std::fmt::Write as _;

use super::{begin, charts, draw, end, escape, machine};
use crate::study::{LEVELS, MEASURES, Study, StudyRow, reaches};

/// The page.
pub fn html(study: &Study) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write_page(&mut page, study);
    page
}

fn write_page(page: &mut String, study: &Study) -> std::fmt::Result {
    begin(page, "pliant: work and precision")?;
    if study.interrupted {
        write!(page, "<p class=\"note bad\">Partial report: stopped after {} rows.</p>", study.rows.len())?;
    }
    write!(
        page,
        "<p>One step of every method from the same state, against the step that Newton's method takes when it converges in \
         double precision. Error: root mean square of the particles' distance from that minimum, over the mean edge. Setting \
         up (ordering, symbolic analysis, the constant factor of Projective Dynamics) is not counted. PBD and substeps solve \
         other equations: they end on a plateau, not at the minimum.</p>"
    )?;
    machine(page)?;
    let methods = charts::first_seen(study.rows.iter().map(|row| row.method.as_str()));
    for (scene, about) in scenes(study) {
        for precision in ["f64", "f32"] {
            let ran =
                |row: &&StudyRow| row.scene == scene && row.precision == precision && row.ms_per_step_min.is_some();
            let of: Vec<_> = study.rows.iter().filter(ran).collect();
            for measure in MEASURES {
                let title = format!("{scene}, {precision}: {}", measure.axis.trim_end_matches(" (log)"));
                if let Some(chart) = charts::precision(&title, &escape(about), measure, &methods, &of) {
                    draw(page, &chart)?;
                }
            }
        }
    }
    let mut heads = vec!["scene".to_owned(), "method".to_owned(), "precision".to_owned()];
    heads.extend(LEVELS.map(|level| format!("{level:.0e}")));
    for measure in MEASURES {
        write!(page, "<h2>Milliseconds to an {}</h2>", escape(measure.name))?;
        write!(page, "<p>Bold: the first to reach it. Empty: not reached.</p>")?;
        let lines = reaches(&study.rows, measure).into_iter().map(|reach| {
            let mut cells = vec![text(&reach.scene), text(&reach.method), text(&reach.precision)];
            cells.extend(reach.ms.iter().zip(reach.first).map(|(ms, first)| match ms {
                Some(ms) if first => format!("<td class=\"n\"><b>{ms:.3}</b></td>"),
                Some(ms) => format!("<td class=\"n\">{ms:.3}</td>"),
                None => "<td></td>".to_owned(),
            }));
            (true, cells)
        });
        table(page, &heads, lines)?;
    }
    write!(page, "<h2>All rows</h2><p>Click a column to sort by it.</p>")?;
    let heads =
        ["scene", "method", "precision", "substeps", "iterations", "ms a step", "objective gap", "error", "status"];
    let number = |value: Option<f64>, show: fn(f64) -> String| match value {
        Some(value) => format!("<td class=\"n\">{}</td>", show(value)),
        None => "<td></td>".to_owned(),
    };
    let lines = study.rows.iter().map(|row| {
        let cells = vec![
            text(&row.scene),
            text(&row.method),
            text(&row.precision),
            format!("<td class=\"n\">{}</td>", row.substeps),
            format!("<td class=\"n\">{}</td>", row.iterations),
            number(row.ms_per_step_min, |ms| format!("{ms:.3}")),
            number(row.objective_gap, |gap| format!("{gap:.2e}")),
            number(row.position_error, |error| format!("{error:.2e}")),
            text(&row.status),
        ];
        (row.status == "ok", cells)
    });
    table(page, &heads.map(str::to_owned), lines)?;
    end(page)
}

/// Scenes in order, each with the line about its reference.
fn scenes(study: &Study) -> impl Iterator<Item = (&str, &str)> {
    study.references.iter().filter_map(|line| line.split_once(": "))
}

fn text(cell: &str) -> String {
    format!("<td>{}</td>", escape(cell))
}

/// Heads, and cells of every row with whether it is one that succeeded.
fn table(page: &mut String, heads: &[String], rows: impl Iterator<Item = (bool, Vec<String>)>) -> std::fmt::Result {
    write!(page, "<div class=\"wide\"><table><thead><tr>")?;
    for head in heads {
        write!(page, "<th>{head}</th>")?;
    }
    write!(page, "</tr></thead><tbody>")?;
    for (good, cells) in rows {
        write!(page, "<tr{}>{}</tr>", if good { "" } else { " class=\"failed\"" }, cells.concat())?;
    }
    write!(page, "</tbody></table></div>")
}
