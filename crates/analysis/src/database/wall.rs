//! The second check for database servers: what the server would read is compared with what policy
//! admitted, before any row is read.
//!
//! Invariant: this check does not look at the text of the statement. The server has already
//! resolved every name.

use std::collections::BTreeSet;

use super::error::DatabaseError;

/// What a statement was admitted to: schema, table and columns.
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

/// Which protection remains if admission is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wall {
    /// The server's parse tree is compared, and the statement runs under this role, which may only
    /// read the checked query.
    Role(String),
    /// The server's parse tree is compared: tables, columns and functions.
    Columns,
    /// Only the tables of the server's plan are compared.
    Tables,
    /// None, with the reason.
    None(String),
}

/// The error for a statement that would read more than it was admitted to. It names nothing,
/// because the name of a hidden column is hidden too.
pub(super) fn refused(what: &str) -> DatabaseError {
    DatabaseError::Wall { detail: what.to_owned() }
}
