//! Queries of first contacts as files hold them: tables like `ccd_queries.csv.gz`, and the public benchmarks, whose files hold
//! a query in eight rows of rational coordinates. Those of Wang et al. 2021 lie in folders `edge-edge` and `vertex-face` and
//! tell the truth in a seventh column; those of the data set of times of impact are called `queries/12ee.csv` and
//! `queries/12vf.csv` after a time step, and `mma_bool/12ee_mma_bool.json` beside them lists the truth.

use std::path::Path;

use pliant::core::collide::ccd::Corners;
use pliant::core::collide::distance::Pair;
use serde_json::Value;

use super::collision::pair;
use super::float::parse_float;
use super::stem;
use super::table::Table;
use crate::failure::Failure;
use crate::scene::tables::read_text;

/// How names of lists of truths end.
pub const LIST: &str = "_mma_bool.json";

/// A pair on its way, and what is known about it.
pub struct Query {
    pub name: String,
    pub pair: Pair,
    pub start: Corners,
    pub end: Corners,
    pub hit: bool,
    /// The time of the first contact, and the smallest distance of a miss, where known.
    pub time: Option<f64>,
    pub distance: Option<f64>,
}

/// Whether a file holds queries, by what its first line looks like or by how it and its folder are named.
pub fn recognises(path: &Path) -> bool {
    let text = read_text(path).unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let columns: Vec<&str> = first.split(',').map(str::trim).collect();
    let table = ["kind", "truth", "ax_t0"].iter().all(|column| columns.contains(column));
    // What is named like queries is not passed over because it cannot be read.
    table || rational(first).is_some() || kind(path, 2).is_some()
}

/// The queries of a file.
pub fn read(path: &Path) -> Result<Vec<Query>, Failure> {
    let text = read_text(path)?;
    let first = text.lines().next().unwrap_or_default();
    let named = kind(path, 2).is_some() && !first.split(',').any(|column| column.trim() == "kind");
    if named || rational(first).is_some() { benchmark(path, &text) } else { table(&Table::read(path)?) }
}

/// The kind of pair that a file's name tells, or the nearest folder's that tells one, up to some names away.
fn kind(path: &Path, names: usize) -> Option<Pair> {
    let told = |path: &Path| path.iter().rev().take(names).find_map(|name| kind_in(&name.to_string_lossy()));
    // `.` has a name too; but what a link is called comes before what it leads to.
    told(path).or_else(|| told(&path.canonicalize().ok()?))
}

fn kind_in(name: &str) -> Option<Pair> {
    // A number before the letters: `tree` is no step.
    let step =
        |ending: &str| stem(name).strip_suffix(ending).is_some_and(|step| step.ends_with(|c: char| c.is_ascii_digit()));
    match (name.rfind("edge-edge"), name.rfind("vertex-face")) {
        (edges, faces) if edges > faces => Some(Pair::EdgeEdge),
        (_, Some(_)) => Some(Pair::VertexTriangle),
        _ if step("ee") => Some(Pair::EdgeEdge),
        _ => step("vf").then_some(Pair::VertexTriangle),
    }
}

fn table(table: &Table) -> Result<Vec<Query>, Failure> {
    let query = |row: usize| {
        // Unknown numbers are NaN, or have no column.
        let known = |column: &str| table.number(row, column).ok().filter(|value| !value.is_nan());
        let said = table.text(row, "truth")?;
        Ok(Query {
            name: table.text(row, "id").map_or_else(|_| format!("row {row}"), |id| format!("row {row} (id {id})")),
            pair: pair(table.text(row, "kind")?)?,
            start: corners(table, row, "t0")?,
            end: corners(table, row, "t1")?,
            hit: truth(said).ok_or_else(|| Failure::Input(format!("row {row}, column `truth`: {}", no_truth(said))))?,
            time: known("toi_exact"),
            distance: known("dmin"),
        })
    };
    (0..table.len()).map(query).collect()
}

/// Whether a query is a hit: 1 or `true`, 0 or `false`.
fn truth(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
        return Some(text.eq_ignore_ascii_case("true"));
    }
    // Anything else is a mistake, and no miss.
    parse_float(text).filter(|&number| number == 0.0 || number == 1.0).map(|number| number == 1.0)
}

fn no_truth(text: impl std::fmt::Display) -> String {
    format!("`{text}` is no truth; expected 0, 1, true or false")
}

fn corners(table: &Table, row: usize, moment: &str) -> Result<Corners, Failure> {
    let mut corners = [[0.0; 3]; 4];
    for (corner, name) in corners.iter_mut().zip(["a", "b", "c", "d"]) {
        for (value, axis) in corner.iter_mut().zip(["x", "y", "z"]) {
            *value = table.number(row, &format!("{name}{axis}_{moment}"))?;
        }
    }
    Ok(corners)
}

/// A row of a benchmark: a corner, and whether the query is a hit where a seventh cell tells.
type Row = ([f64; 3], Option<bool>);

/// Three fractions and perhaps a truth. The fractions are doubles, so that numerators and denominators are exact in double
/// precision.
fn rational(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let (&[a, b, c, d, e, f], told) = cells.split_first_chunk()?;
    let fraction = |over: &str, under: &str| {
        let [over, under] = [over.parse::<f64>().ok()?, under.parse::<f64>().ok()?];
        // Not by 0, and not of numbers too large to be read.
        (under.is_finite() && (over / under).is_finite()).then_some(over / under)
    };
    let hit = match told {
        [] => None,
        [told] => Some(truth(told)?),
        _ => return None,
    };
    Some(([fraction(a, b)?, fraction(c, d)?, fraction(e, f)?], hit))
}

/// Four corners at the start, then the same four at the end, a row each. Which pair they are is in the path.
fn benchmark(path: &Path, text: &str) -> Result<Vec<Query>, Failure> {
    let nameless =
        "neither it nor a folder around it is named `edge-edge` or `vertex-face`, nor it a number and `ee` or `vf`";
    let pair = kind(path, usize::MAX).ok_or_else(|| Failure::at(path, nameless))?;
    let mut rows: Vec<Row> = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        // All rows tell the truth, or none.
        let first = rows.first().map(|first| first.1.is_some());
        let row = rational(line).filter(|row| first.is_none_or(|told| told == row.1.is_some()));
        let expected = first.map_or("six or seven", |told| if told { "seven" } else { "six" });
        rows.push(row.ok_or_else(|| Failure::at(path, format!("line {}: expected {expected} numbers", at + 1)))?);
    }
    let (queries, rest) = rows.as_chunks::<8>();
    if queries.is_empty() || !rest.is_empty() {
        return Err(Failure::at(path, format!("{} rows; expected eight a query", rows.len())));
    }
    let told: Option<Vec<bool>> = queries.iter().map(|rows| rows[0].1).collect();
    let hits = told.map_or_else(|| listed_truths(path, queries.len()), Ok)?;
    let query = |(at, (rows, hit)): (usize, (&[Row; 8], bool))| Query {
        name: format!("query {at}"),
        pair,
        start: std::array::from_fn(|k| rows[k].0),
        end: std::array::from_fn(|k| rows[k + 4].0),
        hit,
        time: None,
        distance: None,
    };
    Ok(queries.iter().zip(hits).enumerate().map(query).collect())
}

/// Whether queries without a truth are hits, as a list in the folder beside theirs tells.
fn listed_truths(path: &Path, count: usize) -> Result<Vec<bool>, Failure> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let list = path.with_file_name("..").join("mma_bool").join(format!("{}{LIST}", stem(&name)));
    if !list.is_file() {
        return Err(Failure::at(path, format!("truth is missing: no seventh column, and no {}", list.display())));
    }
    let problem = |error| Failure::at(&list, format!("is no list in JSON: {error}"));
    let values: Vec<Value> = serde_json::from_str(&read_text(&list)?).map_err(problem)?;
    if values.len() != count {
        return Err(Failure::at(&list, format!("{} truths; there are {count} queries", values.len())));
    }
    let hit = |(at, value): (usize, &Value)| {
        truth(&value.to_string()).ok_or_else(|| Failure::at(&list, format!("value {at}: {}", no_truth(value))))
    };
    values.iter().enumerate().map(hit).collect()
}
