//! What the rows of a query look like, without the rows: enough to tell results apart and to hold
//! them against the question.

use crate::frame::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// The shape of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultShape {
    /// How many rows.
    pub rows: usize,
    /// Every cell is empty, or there is no row.
    pub is_empty: bool,
    /// One cell, and it is a number.
    pub is_number: bool,
    /// Every column as a hash of its values, whatever their order.
    columns: BTreeSet<[u8; 8]>,
}

impl ResultShape {
    /// The shape of rows.
    #[must_use]
    pub fn of(rows: &[Vec<Value>]) -> Self {
        let width = rows.first().map_or(0, Vec::len);
        let columns = (0..width).map(|at| {
            let mut cells: Vec<String> =
                rows.iter().map(|row| row.get(at).map(cell_text).unwrap_or_default()).collect();
            cells.sort_unstable();
            let hash = Sha256::digest(cells.join("\n").as_bytes());
            let mut short = [0; 8];
            short.iter_mut().zip(hash.iter()).for_each(|(into, byte)| *into = *byte);
            short
        });
        let single = match rows {
            [row] => row.first().filter(|_| width == 1),
            _ => None,
        };
        Self {
            rows: rows.len(),
            is_empty: rows.iter().flatten().all(Value::is_null),
            is_number: single.is_some_and(|cell| number_of(cell).is_some()),
            columns: columns.collect(),
        }
    }

    /// Whether two results say the same: one may show more columns than the other.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.rows == other.rows
            && (self.columns.is_subset(&other.columns) || other.columns.is_subset(&self.columns))
    }
}

fn number_of(cell: &Value) -> Option<f64> {
    match cell {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        _ => None,
    }
}

/// Six digits of a number, the lower case of a text: `3` and `3.0000000001` are the same result.
fn cell_text(cell: &Value) -> String {
    match number_of(cell) {
        Some(number) => format!("{number:.5e}"),
        None => cell.plain().trim().to_lowercase(),
    }
}
