//! What several test crates share: reference tables, and the seeded random generator of the harness.
#![allow(dead_code, unused_imports, reason = "each test crate uses a part of this module")]

use std::collections::HashMap;
use std::path::Path;

// The harness needs both too, and the tests of `core` cannot depend on it: one file each serves all.
#[path = "../../harness/src/validate/float.rs"]
mod float;
#[path = "../../harness/src/random.rs"]
mod random;

pub use float::parse_float;
pub use random::Random;

/// A reference table of `tests/data`: comma-separated, the first line names the columns.
pub struct Table {
    name: String,
    columns: HashMap<String, usize>,
    cells: Vec<Vec<String>>,
}

impl Table {
    /// Reads `tests/data/<name>`.
    pub fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::parse(name, &text)
    }

    /// From the text of a file.
    pub fn parse(name: &str, text: &str) -> Self {
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_else(|| panic!("{name} is empty"));
        let columns: HashMap<_, _> =
            header.split(',').enumerate().map(|(at, column)| (column.to_owned(), at)).collect();
        let cells: Vec<Vec<String>> = lines.map(|line| line.split(',').map(str::to_owned).collect()).collect();
        for (row, values) in cells.iter().enumerate() {
            assert_eq!(values.len(), columns.len(), "{name}, row {row}: as many values as columns");
        }
        Self { name: name.to_owned(), columns, cells }
    }

    /// The rows, in the order of the file.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.cells.iter().map(|cells| Row { table: self, cells })
    }
}

/// One row of a [`Table`], read by column names.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table,
    cells: &'a [String],
}

impl Row<'_> {
    /// The text in a column.
    pub fn text(&self, column: &str) -> &str {
        let at = self.table.columns.get(column).unwrap_or_else(|| panic!("{} has no column {column}", self.table.name));
        &self.cells[*at]
    }

    /// The number in a column.
    pub fn number(&self, column: &str) -> f64 {
        let text = self.text(column);
        parse_float(text).unwrap_or_else(|| panic!("{}, column {column}: `{text}` is no number", self.table.name))
    }

    /// The numbers in the columns `prefix0`, `prefix1`, ...
    pub fn numbers<const N: usize>(&self, prefix: &str) -> [f64; N] {
        std::array::from_fn(|i| self.number(&format!("{prefix}{i}")))
    }

    /// The vectors in the columns `prefix0x`, `prefix0y`, `prefix0z`, `prefix1x`, ...
    pub fn vectors<const N: usize>(&self, prefix: &str) -> [[f64; 3]; N] {
        std::array::from_fn(|i| ["x", "y", "z"].map(|axis| self.number(&format!("{prefix}{i}{axis}"))))
    }
}
