//! Bodies from tables: particles and springs as comma-separated values, checked row by row.

use std::io::Read as _;
use std::path::Path;

use pliant::core::body::{Body, Role};

use crate::failure::Failure;

/// The columns of a particle table.
const PARTICLES: [&str; 8] = ["x", "y", "z", "mass", "pinned", "vx", "vy", "vz"];
/// The columns of a spring table.
const SPRINGS: [&str; 4] = ["i", "j", "rest", "k"];

/// The text of a file, unpacked when its name ends in `.gz`.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let refuse = |error: std::io::Error| Failure::at(path, format!("cannot read: {error}"));
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut text = String::new();
        let packed = std::fs::File::open(path).map_err(refuse)?;
        flate2::read::GzDecoder::new(packed).read_to_string(&mut text).map_err(refuse)?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(refuse)
}

/// Line number and finite numbers of every row of a table with these columns.
fn numbers<const N: usize>(path: &Path, columns: [&str; N]) -> Result<Vec<(usize, [f64; N])>, Failure> {
    let text = read_text(path)?;
    let mut lines =
        text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())).filter(|(_, line)| !line.is_empty());
    let expected = columns.join(",");
    match lines.next() {
        Some((_, header)) if header == expected => {}
        found => {
            let found = found.map_or("nothing", |(_, header)| header);
            return Err(Failure::Input(format!(
                "{}:1: the header is `{found}`; expected `{expected}`",
                path.display()
            )));
        }
    }
    let mut rows = Vec::new();
    for (line, text) in lines {
        let fail = |problem: String| Failure::Input(format!("{}:{line}: {problem}", path.display()));
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        if cells.len() != N {
            return Err(fail(format!("{} values; expected {N}: {expected}", cells.len())));
        }
        let mut row = [0.0; N];
        for k in 0..N {
            row[k] = cells[k]
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite())
                .ok_or_else(|| fail(format!("field `{}`: `{}`; expected a finite number", columns[k], cells[k])))?;
        }
        rows.push((line, row));
    }
    Ok(rows)
}

/// A body of the particles and springs of two files. Springs are links of compliance 1/k.
pub fn body(particles: &Path, springs: &Path) -> Result<Body, Failure> {
    let at =
        |path: &Path, line: usize, problem: String| Failure::Input(format!("{}:{line}: {problem}", path.display()));
    let (mut positions, mut velocities, mut masses, mut pins) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (i, (line, [x, y, z, mass, pinned, vx, vy, vz])) in numbers(particles, PARTICLES)?.into_iter().enumerate() {
        if pinned != 0.0 && pinned != 1.0 {
            return Err(at(particles, line, format!("field `pinned`: {pinned}; expected 0 or 1")));
        }
        if mass <= 0.0 {
            return Err(at(particles, line, format!("field `mass`: {mass}; expected a number above 0")));
        }
        positions.push([x, y, z]);
        velocities.push([vx, vy, vz]);
        masses.push(mass);
        pins.extend((pinned == 1.0).then_some(i as u32));
    }
    let count = positions.len();
    let mut body = Body::particles(positions).with_velocities(velocities).with_masses(masses).pinned(pins);
    for (line, [i, j, rest, k]) in numbers(springs, SPRINGS)? {
        for (field, id) in [("i", i), ("j", j)] {
            if id.fract() != 0.0 || id < 0.0 || id >= count as f64 {
                return Err(at(
                    springs,
                    line,
                    format!("field `{field}`: {id}; expected a particle, 0 to {}", count.saturating_sub(1)),
                ));
            }
        }
        for (field, value, good, expected) in [
            ("j", j, i != j, "another particle than i"),
            ("rest", rest, rest >= 0.0, "0 or more"),
            ("k", k, k > 0.0, "a number above 0"),
        ] {
            if !good {
                return Err(at(springs, line, format!("field `{field}`: {value}; expected {expected}")));
            }
        }
        let table = &mut body.tables_mut().distance;
        table.push(Role::Stretch, 0, [i as u32, j as u32], [rest]);
        if let Some(last) = table.compliance.last_mut() {
            *last = 1.0 / k;
        }
    }
    Ok(body)
}
