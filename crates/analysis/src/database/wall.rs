//! The second wall of database servers: what a statement would read by the server's own reading of
//! it is compared with what policy admitted it to, before any of its rows is read.
//!
//! Invariant: nothing here looks at the words of the statement. The server has resolved every name
//! already.

use std::collections::BTreeSet;

use super::error::DatabaseError;

/// What a statement was admitted to, by where each table stands in its database: schema, table,
/// columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Admission {
    tables: Vec<(String, String, BTreeSet<String>)>,
}

impl Admission {
    /// From the path of each table, which ends with schema and table, and its columns.
    pub fn new<'a>(tables: impl IntoIterator<Item = (&'a [String], BTreeSet<String>)>) -> Self {
        let placed = |(path, columns): (&[String], _)| match path {
            [.., schema, table] => Some((schema.clone(), table.clone(), columns)),
            [table] => Some((String::new(), table.clone(), columns)),
            [] => None,
        };
        Self { tables: tables.into_iter().filter_map(placed).collect() }
    }

    /// The admitted columns of a table, if it is admitted.
    pub(super) fn columns(&self, schema: &str, table: &str) -> Option<&BTreeSet<String>> {
        self.tables.iter().find(|(s, t, _)| s == schema && t == table).map(|(_, _, columns)| columns)
    }

    /// The admitted tables of this name: the schema, and the columns.
    pub(super) fn named<'a>(
        &'a self,
        table: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a BTreeSet<String>)> {
        self.tables
            .iter()
            .filter(move |(_, name, _)| name == table)
            .map(|(schema, _, c)| (schema.as_str(), c))
    }

    /// Schema and name of every admitted table.
    pub(super) fn tables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tables.iter().map(|(schema, table, _)| (schema.as_str(), table.as_str()))
    }
}

/// What keeps a statement from columns that it was not admitted to when admission is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wall {
    /// The server's reading is compared, and the statement runs under this role, which holds
    /// nothing but the checked query.
    Role(String),
    /// The server's reading is compared: tables, columns and functions.
    Columns,
    /// Only the tables of the server's plan are compared.
    Tables,
    /// Nothing, and why.
    None(String),
}

/// The refusal of a statement that would read more than it was admitted to. It does not say what,
/// because the name of a hidden column is hidden too.
pub(super) fn refused(what: &str) -> DatabaseError {
    DatabaseError::Wall { detail: what.to_owned() }
}
