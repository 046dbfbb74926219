//! What several test crates share: reference tables and a seeded random generator.
#![allow(dead_code, reason = "each test crate uses a part of this module")]

use std::collections::HashMap;
use std::path::Path;

// The harness reads the same tables, and the facade cannot depend on it: one file serves both.
#[path = "../../harness/src/validate/float.rs"]
mod float;

pub use float::parse_float;

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

/// SplitMix64: a small random generator with the same numbers everywhere.
pub struct Random(u64);

impl Random {
    /// A generator that always yields the same sequence for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64))
    }

    /// A point in the cube [−half, half)³.
    pub fn point(&mut self, half: f64) -> [f64; 3] {
        std::array::from_fn(|_| self.between(-half, half))
    }

    /// A unit vector, every direction equally likely.
    pub fn direction(&mut self) -> [f64; 3] {
        loop {
            let p = self.point(1.0);
            let length_sq: f64 = p.iter().map(|c| c * c).sum();
            if (1e-3..1.0).contains(&length_sq) {
                return p.map(|c| c / length_sq.sqrt());
            }
        }
    }
}
