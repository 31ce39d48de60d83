//! The state of rendering: names in use, columns read, and remaining limits.

use super::dialect::{Dialect, plain_name};
use super::names::{Offered, Relation, identifiers};
use super::{Literal, Parameters};
use crate::access::{Access, Schema, Table, Verdict};
use crate::error::Denied;
use sqlparser::ast::{Ident, ObjectName};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Maximum nesting of queries and expressions.
pub(super) const MAX_DEPTH: usize = 60;
/// Maximum nesting of queries.
pub(super) const MAX_QUERIES: usize = 24;
/// Maximum length of a chain such as `a AND b AND c …`.
pub(super) const MAX_CHAIN: usize = 500;
/// Maximum number of tables and queries of a statement.
const MAX_RELATIONS: usize = 300;
/// How many bytes a statement may grow when columns and aliases are expanded.
const MAX_GROWTH: usize = 1 << 20;

/// A part of the new statement.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub(super) sql: String,
    /// Whether it remains a single operand next to any operator.
    pub(super) atomic: bool,
}

impl Text {
    pub(super) fn atom(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), atomic: true }
    }

    pub(super) fn open(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), atomic: false }
    }

    /// The text as an operand, in parentheses if needed.
    pub(super) fn operand(self) -> String {
        if self.atomic { self.sql } else { format!("({})", self.sql) }
    }
}

/// A query that WITH defines.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) written: String,
    pub(super) columns: Rc<[Offered]>,
}

pub(super) struct Renderer<'a> {
    pub(super) dialect: Dialect,
    schema: &'a Schema,
    pub(super) access: &'a Access,
    parameters: &'a Parameters,
    /// The columns that are read, by table.
    pub(super) reads: BTreeMap<String, BTreeSet<String>>,
    /// Relation names in use, in lower case.
    taken: BTreeSet<String>,
    grown: usize,
}

impl<'a> Renderer<'a> {
    pub(super) fn new(
        dialect: Dialect,
        schema: &'a Schema,
        access: &'a Access,
        parameters: &'a Parameters,
    ) -> Self {
        // `taken` starts empty: a relation may have the name of its table. Further relations of
        // that name get a suffix.
        Self { dialect, schema, access, parameters, reads: BTreeMap::new(), taken: BTreeSet::new(), grown: 0 }
    }

    /// Counts bytes written in addition to the original length.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Denied> {
        self.grown = self.grown.saturating_add(bytes);
        if self.grown > MAX_GROWTH {
            return Err(Denied::TooLong { found: self.grown, limit: MAX_GROWTH });
        }
        Ok(())
    }

    /// A relation name that is unique in this statement.
    pub(super) fn relation_name(&mut self, wanted: &str) -> Result<String, Denied> {
        if self.taken.len() >= MAX_RELATIONS {
            return Err(Denied::TooDeep { limit: MAX_RELATIONS });
        }
        let wanted = plain_name(wanted, "source");
        let mut name = wanted.clone();
        let mut count = 2;
        while !self.taken.insert(name.to_lowercase()) {
            name = format!("{wanted}_{count}");
            count += 1;
        }
        Ok(name)
    }

    /// Records a column as read, and renders it.
    pub(super) fn column(&mut self, relation: &Relation, column: &Offered) -> Text {
        if let Some((table, column)) = &column.origin {
            self.reads.entry(table.clone()).or_default().insert(column.clone());
        }
        let quote = |name: &str| self.dialect.quote(name);
        Text::atom(format!("{}.{}", quote(&relation.written), quote(&column.written)))
    }

    /// Resolves a table name, and renders it.
    pub(super) fn table(
        &mut self,
        name: &ObjectName,
        alias: Option<&Ident>,
    ) -> Result<(Relation, String), Denied> {
        let parts = identifiers(name)?;
        let names: Vec<String> = parts.iter().map(|part| self.dialect.fold(part)).collect();
        let visible = |table: &&Table| self.access.sees_table(table);
        let matching = |same: fn(Dialect, &str, &str) -> bool| -> Vec<&Table> {
            let is = |table: &&Table| goes_by(table, &names, |a, b| same(self.dialect, a, b));
            self.schema.tables.iter().filter(visible).filter(is).collect()
        };
        let lenient = |_: Dialect, a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
        let mut found = matching(Dialect::same);
        if found.is_empty() {
            found = matching(lenient);
        }
        // A full match takes precedence over a match of the last parts.
        let whole: Vec<&Table> = found.iter().copied().filter(|table| is_whole(table, &names)).collect();
        if !whole.is_empty() {
            found = whole;
        }
        // If the engine distinguishes case, the exact match is meant.
        let exact: Vec<&Table> =
            found.iter().copied().filter(|table| goes_by(table, &names, |a, b| a == b)).collect();
        if exact.len() == 1 {
            found = exact;
        }
        let [table] = found.as_slice() else {
            let known: Vec<&str> =
                self.schema.tables.iter().filter(visible).map(|t| t.name.as_str()).take(10).collect();
            return Err(Denied::Table { table: joined(&parts), known: known.join(", ") });
        };
        let table = (*table).clone();
        self.reads.entry(table.name.clone()).or_default();
        let offer = |column: &crate::access::Column| Offered {
            name: column.name.clone(),
            written: column.name.clone(),
            verdict: self.access.verdict(&table, column),
            origin: Some((table.name.clone(), column.name.clone())),
        };
        // A column that is not granted gives the same error as one that does not exist.
        let granted = |column: &Offered| column.verdict != Verdict::Hidden;
        let columns = table.columns.iter().map(offer).filter(granted).collect();
        let full = table.full_path();
        let path = match alias {
            Some(alias) => vec![self.dialect.fold(alias)],
            None => full.clone(),
        };
        let place = match self.dialect {
            // DataFusion knows tables by a single name.
            Dialect::DataFusion => self.dialect.quote(&table.name),
            // For DuckDB, temporary views of the readable tables are created under their catalogue
            // names.
            Dialect::DuckDb => format!("\"temp\".\"main\".{}", self.dialect.quote(&table.name)),
            dialect => full.iter().map(|part| dialect.quote(part)).collect::<Vec<_>>().join("."),
        };
        let wanted = path.last().cloned().unwrap_or_default();
        let written = self.relation_name(&wanted)?;
        let rules = self.access.rules_of(&table).cloned();
        let place = match &rules {
            Some(rules) => self.restricted(&table, &place, rules)?,
            None => place,
        };
        let sql = format!("{place} AS {}", self.dialect.quote(&written));
        self.grow(sql.len())?;
        let smallest = rules.and_then(|rules| rules.smallest_group).map(|least| (table.name.clone(), least));
        Ok((Relation { path, written, columns, merged: Vec::new(), smallest }, sql))
    }

    /// Whether a visible table has this name. A table that is not granted does not count: a refusal
    /// would say that it exists. It is never rendered, so nothing can be mistaken for it.
    pub(super) fn is_visible_table(&self, name: &str) -> bool {
        let same = |part: &str| part.to_lowercase() == name.to_lowercase();
        self.schema
            .tables
            .iter()
            .filter(|table| self.access.sees_table(table))
            .any(|table| same(&table.name) || table.full_path().last().is_some_and(|p| same(p)))
    }

    /// The value of a parameter, as a literal.
    pub(super) fn parameter(&self, placeholder: &str) -> Result<Text, Denied> {
        let name = placeholder.trim_start_matches([':', '$', '@', '?']);
        let value = self.parameters.get(name).ok_or_else(|| Denied::Syntax {
            detail: format!("there is no value for the parameter {placeholder}"),
        })?;
        Ok(match value {
            Literal::Null => Text::atom("NULL"),
            Literal::Bool(truth) => Text::atom(self.dialect.boolean(*truth)),
            Literal::Int(number) if *number < 0 => Text::open(number.to_string()),
            Literal::Int(number) => Text::atom(number.to_string()),
            Literal::Float(number) if number.is_finite() => Text::open(format!("{number:?}")),
            Literal::Float(_) => Text::atom("NULL"),
            Literal::Text(text) => Text::atom(self.dialect.text(text)),
        })
    }
}

/// Whether a table has this name: its full path, the end of it, or its name in the catalogue.
fn goes_by(table: &Table, names: &[String], same: impl Fn(&str, &str) -> bool) -> bool {
    let path = table.full_path();
    let ends =
        names.len() <= path.len() && names.iter().rev().zip(path.iter().rev()).all(|(a, b)| same(a, b));
    ends || matches!(names, [name] if same(name, &table.name))
}

fn is_whole(table: &Table, names: &[String]) -> bool {
    let lower = |names: &[String]| names.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>();
    lower(&table.full_path()) == lower(names)
        || matches!(names, [name] if name.to_lowercase() == table.name.to_lowercase())
}

fn joined(parts: &[&Ident]) -> String {
    parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")
}

/// A column that a query computed.
pub(super) fn computed(name: String, written: String) -> Offered {
    Offered { name, written, verdict: Verdict::Allowed, origin: None }
}
