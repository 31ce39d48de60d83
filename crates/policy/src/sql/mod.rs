//! Admission of SQL by rendering. A statement is parsed in the dialect of its engine, every name is
//! resolved to a table or column that the caller may read, and a new statement is written from the
//! result. Only the new statement runs.
//!
//! How the engine would have read the original text does not matter, because the engine never sees
//! it.

mod call;
mod dialect;
mod expr;
mod from;
mod functions;
mod groups;
mod limits;
mod names;
mod query;
mod render;
mod rows;
mod shape;

pub use dialect::{Dialect, RESULT_NAME_BYTES};

use crate::access::{Access, Limits, Schema};
use crate::error::Denied;
use query::{ClauseContext, QueryLevel};
use render::Renderer;
use sqlparser::ast::Statement;
use sqlparser::parser::Parser;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum recursion depth of the parser; rendering enforces a further limit.
const PARSER_DEPTH: usize = 120;
/// The stack size for parsing one statement. [`limits`] bounds the recursion, and this size is
/// sufficient for it.
const PARSER_STACK: usize = 64 << 20;

/// A value for a parameter of a statement.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the name of each variant says what it holds")]
pub enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

/// The values of parameters such as `:name`, by name.
pub type Parameters = BTreeMap<String, Literal>;

/// A statement before admission.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    /// The text.
    pub sql: &'a str,
    /// The engine that it is for.
    pub dialect: Dialect,
    /// Values for its parameters.
    pub parameters: &'a Parameters,
}

/// Admitted SQL: one read-only query over tables and columns that its caller may see. Only
/// [`admit`] creates one.
#[derive(Debug, Clone, PartialEq)]
pub struct AdmittedSql {
    text: String,
    dialect: Dialect,
    tables: BTreeSet<String>,
    reads: BTreeMap<String, BTreeSet<String>>,
    limits: Limits,
}

impl AdmittedSql {
    /// The rendered statement.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The engine it was written for; it must not run on another.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The tables it reads.
    pub fn tables(&self) -> &BTreeSet<String> {
        &self.tables
    }

    /// The columns it reads, by table; a table whose rows are only counted has none.
    pub fn reads(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.reads
    }

    /// Its limits.
    pub fn limits(&self) -> Limits {
        self.limits
    }
}

/// Whether queries for this engine may call a function.
pub fn is_function_allowed(dialect: Dialect, name: &str) -> bool {
    functions::is_allowed(dialect, &name.to_lowercase())
}

/// Admits a statement, or returns the rule, the part of the statement, and what to do.
pub fn admit(
    draft: &Draft<'_>,
    schema: &Schema,
    access: &Access,
    limits: Limits,
) -> Result<AdmittedSql, Denied> {
    let tokens = limits::tokens(draft.sql, draft.dialect)?;
    let grammar = draft.dialect.grammar();
    stacker::grow(PARSER_STACK, || {
        let mut parser = Parser::new(&*grammar).with_recursion_limit(PARSER_DEPTH).with_tokens(tokens);
        let parsed = parser.parse_statements();
        let mut statements = parsed.map_err(|error| Denied::Syntax { detail: error.to_string() })?;
        let query = match (statements.pop(), statements.len()) {
            (None, _) => return Err(Denied::Syntax { detail: "it is empty".to_owned() }),
            (Some(Statement::Query(query)), 0) => query,
            (Some(other), 0) => return Err(Denied::NotReadOnly { what: shape::verb(&other) }),
            (Some(_), rest) => return Err(Denied::ManyStatements { count: rest + 1 }),
        };
        let mut renderer = Renderer::new(draft.dialect, schema, access, draft.parameters);
        let around = ClauseContext {
            named: &[],
            outer: None,
            windows: &[],
            place: QueryLevel::Top,
            depth: 0,
            queries: 0,
        };
        let text = renderer.query(&query, &[], around)?.sql;
        let tables = renderer.reads.keys().cloned().collect();
        Ok(AdmittedSql { text, dialect: draft.dialect, tables, reads: renderer.reads, limits })
    })
}
