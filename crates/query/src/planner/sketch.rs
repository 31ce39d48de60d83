//! What a question asks, before joins: targets, conditions, groups, order. Follow-up questions
//! change it.
//!
//! The invariant: columns are written with the name of their table, never an alias; `build` turns a
//! sketch into a query.

use serde::{Deserialize, Serialize};

use crate::query::{Condition, Expr};

/// Rows that must not exist: things of `entity` without a partner among `tables` that fulfils
/// `conditions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Absent {
    /// Table of the things asked for.
    pub entity: String,
    /// Tables in which nothing may be found.
    pub tables: Vec<String>,
    /// What the missing rows would fulfil.
    pub conditions: Vec<Condition>,
    /// The question names a value that things share, not the things: "countries without …".
    #[serde(default)]
    pub by_value: bool,
}

/// One column of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// What it is.
    pub expr: Expr,
    /// What it is called.
    pub name: String,
}

/// What a question asks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sketch {
    /// The table asked about.
    pub head: String,
    /// Columns of the answer.
    pub targets: Vec<Target>,
    /// Equal rows once.
    pub distinct: bool,
    /// Conditions that all hold.
    pub filters: Vec<Condition>,
    /// Two sets of conditions that hold for different rows of the same thing.
    pub both: Option<(Vec<Condition>, Vec<Condition>)>,
    /// One row for each.
    pub groups: Vec<Expr>,
    /// Tables of which every thing is a group.
    pub entities: Vec<String>,
    /// Conditions on groups.
    pub having: Vec<Condition>,
    /// Order, `true` for descending.
    pub order: Vec<(Expr, bool)>,
    /// At most so many rows.
    pub limit: Option<u64>,
    /// Tables that take part without a column.
    pub also: Vec<String>,
    /// What must not exist.
    pub absent: Vec<Absent>,
    /// The rows with the largest (`true`) or smallest value of a column within each group of
    /// another one.
    pub per_group: Option<(Expr, bool, Expr)>,
    /// The answer is how many rows the rest gives.
    pub count_rows: bool,
}
