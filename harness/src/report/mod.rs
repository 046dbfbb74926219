//! The report: one HTML file with tables, charts and pictures that needs nothing else.

mod charts;
mod study;

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use self::charts::Chart;
use crate::compare::{Outcome, Row, Softened, agreeing_groups, disagreements};
use crate::{info, machine};

pub use study::html as study;

const STYLE: &str = include_str!("style.css");
const SORT: &str = include_str!("sort.js");

/// The page.
pub fn html(outcome: &Outcome, softened: Option<&Softened>) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write_page(&mut page, outcome, softened);
    page
}

fn write_page(page: &mut String, outcome: &Outcome, softened: Option<&Softened>) -> std::fmt::Result {
    begin(page, "pliant: comparison")?;
    if outcome.interrupted {
        let (done, planned) = (outcome.rows.len(), outcome.planned);
        write!(page, "<p class=\"note bad\">Partial report: stopped after {done} of {planned} rows.</p>")?;
    }
    agreement(page, &outcome.rows)?;
    machine(page)?;
    if !outcome.shown.is_empty() {
        write!(page, "<h2>Scenes</h2><div class=\"pictures\">")?;
        for shown in &outcome.shown {
            write!(
                page,
                "<figure><img alt=\"{0}\" src=\"data:image/png;base64,{1}\"><figcaption><b>{0}</b><br>{2}</figcaption></figure>",
                escape(&shown.caption),
                STANDARD.encode(&shown.picture),
                escape(shown.about)
            )?;
        }
        write!(page, "</div>")?;
    }
    if outcome.merged {
        write!(
            page,
            "<p>Merged from several runs: pictures were not carried over, each run's own report has them.</p>"
        )?;
    }
    for chart in charts::all(&outcome.rows) {
        draw(page, &chart)?;
    }
    rows(page, &outcome.rows, softened)?;
    end(page)
}

fn begin(page: &mut String, title: &str) -> std::fmt::Result {
    write!(
        page,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style></head><body><main>\
         <h1>{title}</h1>"
    )
}

fn end(page: &mut String) -> std::fmt::Result {
    write!(page, "</main><script>{SORT}</script></body></html>")
}

fn draw(page: &mut String, Chart { title, note, legend, svg }: &Chart) -> std::fmt::Result {
    write!(page, "<h2>{title}</h2><p>{note}</p><p class=\"legend\">")?;
    for (name, colour) in legend {
        write!(page, "<span><i style=\"background:{colour}\"></i>{}</span>", escape(name))?;
    }
    write!(page, "</p><div class=\"chart\">{svg}</div>")
}

fn agreement(page: &mut String, rows: &[Row]) -> std::fmt::Result {
    let bad = disagreements(rows);
    if bad.is_empty() {
        let groups = agreeing_groups(rows);
        write!(page, "<p class=\"note good\">Backends agree bit for bit in all {groups} groups of rows.</p>")
    } else {
        write!(
            page,
            "<p class=\"note bad\">Backends disagree:<br>{}</p>",
            bad.iter().map(|line| escape(line)).collect::<Vec<_>>().join("<br>")
        )
    }
}

fn machine(page: &mut String) -> std::fmt::Result {
    let command: Vec<String> = std::env::args().skip(1).collect();
    write!(page, "<dl>")?;
    for (key, value) in [
        ("Machine", format!("{}, {} threads, {}", machine::processor(), machine::cores(), std::env::consts::OS)),
        ("Date", machine::date()),
        ("Version", format!("pliant {}", info::VERSION)),
        ("Command", format!("pliant {}", command.join(" "))),
    ] {
        write!(page, "<dt>{key}</dt><dd>{}</dd>", escape(&value))?;
    }
    write!(page, "</dl>")
}

/// Title, whether it is a number, and the text of a column.
type Column = (&'static str, bool, fn(&Row, Option<&Softened>) -> String);

const COLUMNS: [Column; 14] = [
    ("scene", false, |row, _| row.scene.clone()),
    ("solver", false, |row, softened| Softened::name(softened, row)),
    ("backend", false, |row, _| row.backend.clone()),
    ("isa", false, |row, _| row.isa.clone()),
    ("precision", false, |row, _| row.precision.clone()),
    ("threads", true, |row, _| row.threads.to_string()),
    ("constraints", true, |row, _| row.constraints.to_string()),
    ("ms a frame, min", true, |row, _| number(row.ms_per_frame_min, 3)),
    ("median", true, |row, _| number(row.ms_per_frame_median, 3)),
    ("ns a projection", true, |row, _| number(row.ns_per_projection_min, 2)),
    ("speed-up", true, |row, _| number(row.speedup_vs_scalar, 2)),
    ("allocations a step", true, |row, _| number(row.allocations_per_step, 0)),
    ("max strain, %", true, |row, _| number(row.max_strain.map(|strain| 100.0 * strain), 2)),
    ("status", false, |row, _| row.status.clone()),
];

fn rows(page: &mut String, rows: &[Row], softened: Option<&Softened>) -> std::fmt::Result {
    write!(page, "<h2>All rows</h2><p>Click a column to sort by it.</p><div class=\"wide\"><table><thead><tr>")?;
    for (title, ..) in COLUMNS {
        write!(page, "<th>{title}</th>")?;
    }
    write!(page, "</tr></thead><tbody>")?;
    for row in rows {
        let class = match row.is_ok() {
            true => "",
            false if row.was_left_out() => " class=\"left-out\"",
            false => " class=\"failed\"",
        };
        write!(page, "<tr{class}>")?;
        for (_, numeric, cell) in COLUMNS {
            write!(page, "<td{}>{}</td>", if numeric { " class=\"n\"" } else { "" }, escape(&cell(row, softened)))?;
        }
        write!(page, "</tr>")?;
    }
    write!(page, "</tbody></table></div>")?;
    match softened {
        Some(softened) => write!(page, "<p>{}</p>", escape(&softened.text())),
        None => Ok(()),
    }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(String::new, |value| format!("{value:.digits$}"))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
