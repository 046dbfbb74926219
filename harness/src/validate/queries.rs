//! Queries of first contacts as files hold them: tables like `ccd_queries.csv.gz`, and the public benchmark of Wang et al. 2021,
//! whose files hold a query in eight rows of rational coordinates and lie in folders `edge-edge` and `vertex-face`.

use std::path::Path;

use pliant::core::collide::ccd::Corners;
use pliant::core::collide::distance::Pair;

use super::collision::pair;
use super::float::parse_float;
use super::table::Table;
use crate::failure::Failure;
use crate::scene::tables::read_text;

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

/// Whether a file holds queries, by what its first line looks like.
pub fn recognises(path: &Path) -> bool {
    let text = read_text(path).unwrap_or_default();
    let first: Vec<&str> = text.lines().next().unwrap_or_default().split(',').map(str::trim).collect();
    let table = ["kind", "truth", "ax_t0"].iter().all(|column| first.contains(column));
    // What is named like queries is not passed over because it cannot be read.
    table || rational(&first).is_some() || kind(path, 2).is_some()
}

/// The queries of a file.
pub fn read(path: &Path) -> Result<Vec<Query>, Failure> {
    let text = read_text(path)?;
    let first: Vec<&str> = text.lines().next().unwrap_or_default().split(',').map(str::trim).collect();
    let named = kind(path, 2).is_some() && !first.contains(&"kind");
    if named || rational(&first).is_some() { benchmark(path, &text) } else { table(&Table::read(path)?) }
}

/// The kind of pair that a file's name tells, or the nearest folder's that tells one, up to some names away.
fn kind(path: &Path, names: usize) -> Option<Pair> {
    let told = |path: &Path| path.iter().rev().take(names).find_map(|name| kind_in(&name.to_string_lossy()));
    // `.` has a name too; but what a link is called comes before what it leads to.
    told(path).or_else(|| told(&path.canonicalize().ok()?))
}

fn kind_in(name: &str) -> Option<Pair> {
    match (name.rfind("edge-edge"), name.rfind("vertex-face")) {
        (edges, faces) if edges > faces => Some(Pair::EdgeEdge),
        (_, faces) => faces.map(|_| Pair::VertexTriangle),
    }
}

fn table(table: &Table) -> Result<Vec<Query>, Failure> {
    let query = |row: usize| {
        // Unknown numbers are NaN, or have no column.
        let known = |column: &str| table.number(row, column).ok().filter(|value| !value.is_nan());
        let said = table.text(row, "truth")?;
        Ok(Query {
            name: format!("row {row}"),
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

/// A row of the benchmark: three fractions and whether the query is a hit. The fractions are doubles, so that numerators and
/// denominators are exact in double precision.
fn rational(cells: &[&str]) -> Option<([f64; 3], bool)> {
    let [a, b, c, d, e, f, told] = cells else { return None };
    let fraction = |over: &str, under: &str| {
        let [over, under] = [over.trim().parse::<f64>().ok()?, under.trim().parse::<f64>().ok()?];
        // Not by 0, and not of numbers too large to be read.
        (under.is_finite() && (over / under).is_finite()).then_some(over / under)
    };
    Some(([fraction(a, b)?, fraction(c, d)?, fraction(e, f)?], truth(told.trim())?))
}

/// Four corners at the start, then the same four at the end, a row each. Which pair they are is in the path.
fn benchmark(path: &Path, text: &str) -> Result<Vec<Query>, Failure> {
    let nameless = || Failure::at(path, "neither it nor a folder around it is named `edge-edge` or `vertex-face`");
    let pair = kind(path, usize::MAX).ok_or_else(nameless)?;
    let mut rows = Vec::new();
    for (line, cells) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row = rational(&cells.split(',').collect::<Vec<_>>());
        rows.push(row.ok_or_else(|| Failure::at(path, format!("line {}: expected seven numbers", line + 1)))?);
    }
    let (queries, rest) = rows.as_chunks::<8>();
    if queries.is_empty() || !rest.is_empty() {
        return Err(Failure::at(path, format!("{} rows; expected eight a query", rows.len())));
    }
    let query = |(at, rows): (usize, &[([f64; 3], bool); 8])| Query {
        name: format!("query {at}"),
        pair,
        start: std::array::from_fn(|k| rows[k].0),
        end: std::array::from_fn(|k| rows[k + 4].0),
        hit: rows[0].1,
        time: None,
        distance: None,
    };
    Ok(queries.iter().enumerate().map(query).collect())
}
