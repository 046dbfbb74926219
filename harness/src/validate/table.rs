//! Reference tables: named columns of decimal or hexadecimal floats.

use std::collections::HashMap;
use std::path::Path;

use super::float::parse_float;
use crate::failure::Failure;
use crate::scene::tables::read_text;

/// A table with its numbers read where asked for.
pub struct Table {
    columns: HashMap<String, usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads a csv or csv.gz file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = read_text(path)?;
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let header = lines.next().ok_or_else(|| Failure::at(path, "is empty"))?;
        let columns: HashMap<_, _> =
            header.split(',').enumerate().map(|(at, name)| (name.trim().to_owned(), at)).collect();
        let rows: Vec<Vec<String>> =
            lines.map(|line| line.split(',').map(|cell| cell.trim().to_owned()).collect()).collect();
        match rows.iter().position(|row| row.len() != columns.len()) {
            Some(row) => Err(Failure::at(
                path,
                format!("row {row} has {} values, the header {}", rows[row].len(), columns.len()),
            )),
            None if rows.is_empty() => Err(Failure::at(path, "has no rows")),
            None => Ok(Self { columns, rows }),
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The text in a row and column.
    pub fn text(&self, row: usize, column: &str) -> Result<&str, Failure> {
        let at = *self.columns.get(column).ok_or_else(|| Failure::Input(format!("there is no column `{column}`")))?;
        Ok(&self.rows[row][at])
    }

    /// The number in a row and column.
    pub fn number(&self, row: usize, column: &str) -> Result<f64, Failure> {
        let text = self.text(row, column)?;
        parse_float(text).ok_or_else(|| Failure::Input(format!("row {row}, column `{column}`: `{text}` is no number")))
    }

    /// The numbers in columns `prefix0`, `prefix1`, ...
    pub fn numbers<const N: usize>(&self, row: usize, prefix: &str) -> Result<[f64; N], Failure> {
        let mut values = [0.0; N];
        for (i, value) in values.iter_mut().enumerate() {
            *value = self.number(row, &format!("{prefix}{i}"))?;
        }
        Ok(values)
    }

    /// The vectors in columns `prefix0x`, `prefix0y`, `prefix0z`, `prefix1x`, ...
    pub fn vectors<const N: usize>(&self, row: usize, prefix: &str) -> Result<[[f64; 3]; N], Failure> {
        let mut values = [[0.0; 3]; N];
        for (i, vector) in values.iter_mut().enumerate() {
            for (value, axis) in vector.iter_mut().zip(["x", "y", "z"]) {
                *value = self.number(row, &format!("{prefix}{i}{axis}"))?;
            }
        }
        Ok(values)
    }
}
