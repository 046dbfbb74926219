//! The contract that a backend changes speed and never results, checked on the rows of a comparison.

use super::row::{Row, key};

/// One line for every group of rows (same scene, solver and precision, other backend) whose states differ in a bit.
pub fn disagreements(rows: &[Row]) -> Vec<String> {
    let mut found = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let first_of_group = rows[..i].iter().all(|other| work(other) != work(row));
        let group = || rows[i..].iter().filter(|other| work(other) == work(row) && other.is_ok());
        let differs = group().any(|other| group().any(|another| other.state_hash != another.state_hash));
        if first_of_group && differs {
            let states: Vec<_> = group()
                .map(|other| format!("{} {}", other.backend, other.state_hash.as_deref().unwrap_or("none")))
                .collect();
            let [scene, solver, precision] = key(row);
            found.push(format!("{scene}, {solver}, {precision}: {}", states.join(", ")));
        }
    }
    found
}

/// Groups of two rows and more that do agree.
pub fn agreeing_groups(rows: &[Row]) -> usize {
    let pairs = |i: usize| rows[i + 1..].iter().any(|other| work(other) == work(&rows[i]) && other.is_ok());
    let first = |i: usize| rows[..i].iter().all(|other| work(other) != work(&rows[i]) || !other.is_ok());
    let groups = (0..rows.len()).filter(|&i| rows[i].is_ok() && first(i) && pairs(i)).count();
    groups - disagreements(rows).len()
}

fn work(row: &Row) -> ([String; 3], [usize; 3]) {
    (key(row), [row.frames, row.substeps, row.iterations])
}
