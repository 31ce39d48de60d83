//! What is known about the data before a question is read: tables, columns, values, keys and ways
//! to join.
//!
//! The catalogue is plain data. Sources fill it, the planner reads it, and neither knows the other.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::frame::{Kind, Unit, Value};

/// One column and what its profile says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The name in SQL, unique in its table.
    pub name: String,
    /// The name as the source spells it, for people.
    pub label: String,
    /// What it holds, after local formats were resolved.
    pub kind: Kind,
    /// How its numbers are dressed.
    pub unit: Unit,
    /// Empty cells among those looked at.
    pub nulls: u64,
    /// Cells looked at: all rows, or a sample.
    pub seen: u64,
    /// Different values among those looked at.
    pub distinct: u64,
    /// Smallest value (numbers and times).
    pub min: Value,
    /// Largest value (numbers and times).
    pub max: Value,
    /// Different values with how often they occur, most frequent first. For text all that were
    /// seen, up to a limit; for other kinds the most frequent.
    pub values: Vec<(String, u64)>,
    /// `values` holds every value of the column.
    pub complete: bool,
    /// The name of a blocked pattern that the values look like ("email").
    pub looks_like: Option<String>,
}

/// One table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The name in SQL, unique in the catalogue.
    pub name: String,
    /// The name for people.
    pub label: String,
    /// Which source it comes from: its place among the request's sources.
    pub source: usize,
    /// The columns in order.
    pub columns: Vec<Column>,
    /// How many rows, when it is known.
    pub rows: Option<u64>,
    /// Columns that tell rows apart, when declared or seen.
    pub primary_key: Vec<String>,
}

impl Table {
    /// A column by its SQL name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }
}

/// Why two columns are thought to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The values overlap.
    Values,
    /// The names agree.
    Name,
    /// The database declares it.
    Constraint,
}

/// A way to join two tables. `from` refers to `to`: many rows to one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Join {
    /// Table and columns that refer.
    pub from: (String, Vec<String>),
    /// Table and columns referred to.
    pub to: (String, Vec<String>),
    /// Why.
    pub evidence: Evidence,
}

/// All tables of a request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Catalogue {
    /// The tables.
    pub tables: Vec<Table>,
    /// Ways to join them.
    pub joins: Vec<Join>,
}

impl Catalogue {
    /// A table by its SQL name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(self.place_of(name)?)
    }

    /// The place of a table: by its exact name, else in other letters.
    #[must_use]
    pub fn place_of(&self, name: &str) -> Option<usize> {
        let exact = self.tables.iter().position(|table| table.name == name);
        exact.or_else(|| self.tables.iter().position(|table| table.name.eq_ignore_ascii_case(name)))
    }

    /// SHA-256 over the sorted names and types: the same schema has the same fingerprint, whatever
    /// its data.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut lines: Vec<String> = (self.tables.iter())
            .flat_map(|table| {
                table
                    .columns
                    .iter()
                    .map(move |column| format!("{}.{}:{}", table.name, column.name, column.kind.word()))
            })
            .collect();
        lines.sort();
        Sha256::digest(lines.join("\n").as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
