//! Admission of SQL: one parser, one way through.

mod functions;
mod resolve;
mod shape;

use crate::access::{Access, Limits, Schema};
use crate::error::Denied;
use sqlparser::ast::{Query, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use std::collections::BTreeSet;

/// Longer statements are not written by people or planners.
const MAX_LENGTH: usize = 100_000;

/// SQL that may run: one read-only query over tables and columns that its caller may see. Only [`admit`] makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct AdmittedSql {
    query: Box<Query>,
    text: String,
    tables: BTreeSet<String>,
    limits: Limits,
}

impl AdmittedSql {
    /// The statement, written anew from what was understood.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The query, for whoever plans it further.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// The tables it reads.
    pub fn tables(&self) -> &BTreeSet<String> {
        &self.tables
    }

    /// What it may take.
    pub fn limits(&self) -> Limits {
        self.limits
    }
}

/// Admits a statement, or says which rule, which part, and what to do.
pub fn admit(sql: &str, schema: &Schema, access: &Access, limits: Limits) -> Result<AdmittedSql, Denied> {
    let found = sql.chars().count();
    if found > MAX_LENGTH {
        return Err(Denied::TooLong { found, limit: MAX_LENGTH });
    }
    let parsed = Parser::parse_sql(&GenericDialect {}, sql);
    let mut statements = parsed.map_err(|error| Denied::Syntax { detail: error.to_string() })?;
    let query = match (statements.pop(), statements.len()) {
        (None, _) => return Err(Denied::Syntax { detail: "it is empty".to_owned() }),
        (Some(Statement::Query(query)), 0) => query,
        (Some(other), 0) => return Err(Denied::NotReadOnly { what: shape::verb(&other) }),
        (Some(_), rest) => return Err(Denied::ManyStatements { count: rest + 1 }),
    };
    let tables = resolve::check(&query, schema, access)?;
    let text = query.to_string();
    // What is written must read back as the same query: a printer that loses a quote must not open a door.
    match Parser::parse_sql(&GenericDialect {}, &text).as_deref() {
        Ok([Statement::Query(again)]) if *again == query => Ok(AdmittedSql { query, text, tables, limits }),
        _ => Err(Denied::Construct { what: "text that cannot be written down unambiguously".to_owned() }),
    }
}
