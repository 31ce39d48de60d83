//! Names in a statement that a model wrote: what is meant without doubt is spelled as the schema
//! spells it, and for what is not known the nearest names are found.
//!
//! Only the catalogue that the caller may read is used, so nothing blocked can be named.

use crate::catalogue::{Catalogue, Column, Table};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem, Statement,
    TableFactor, TableWithJoins, Value, Visit, VisitMut, Visitor, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use steward_text::tokens::{distance, name_words, stem};

/// Names that are proposed for one that is not known.
const NEAREST: usize = 4;
/// Columns that a star stands for at most.
const STAR: usize = 80;

/// A statement after its names were looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelled {
    /// The statement.
    pub sql: String,
    /// What is not known in it, with what may be meant.
    pub unknown: Vec<String>,
}

/// Looks up every name of a statement. What does not parse is left as it is.
#[must_use]
pub fn spell(sql: &str, catalogue: &Catalogue) -> Spelled {
    let as_it_is = || Spelled { sql: sql.to_owned(), unknown: Vec::new() };
    let Ok(mut statements) = Parser::parse_sql(&GenericDialect {}, sql) else { return as_it_is() };
    let [statement @ Statement::Query(_)] = statements.as_mut_slice() else { return as_it_is() };
    let before = statement.to_string();
    let mut scope = Scope { catalogue, relations: Vec::new(), made: BTreeSet::new() };
    let _ = Visit::visit(&*statement, &mut scope);
    let mut speller = Speller { scope, unknown: BTreeSet::new() };
    let _ = VisitMut::visit(statement, &mut speller);
    let after = statement.to_string();
    let sql = if after == before { sql.to_owned() } else { after };
    Spelled { sql, unknown: speller.unknown.into_iter().collect() }
}

/// Letters and digits in lower case: `Order Date`, `order_date` and `OrderDate` are the same.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

fn last(name: &ObjectName) -> Option<&Ident> {
    match name.0.last()? {
        ObjectNamePart::Identifier(ident) => Some(ident),
        ObjectNamePart::Function(_) => None,
    }
}

/// The column of a table that a name means: its own spelling, else the only one that is written
/// alike.
fn column_of<'a>(table: &'a Table, name: &str) -> Option<&'a Column> {
    let exact = table.columns.iter().find(|column| column.name == name);
    exact.or_else(|| table.column(name)).or_else(|| {
        let wanted = plain(name);
        let mut alike = table
            .columns
            .iter()
            .filter(|column| plain(&column.name) == wanted || plain(&column.label) == wanted);
        let first = alike.next()?;
        alike.next().is_none().then_some(first)
    })
}

/// What the statement names itself, and the tables it reads.
struct Scope<'a> {
    catalogue: &'a Catalogue,
    /// What a table is called in the statement, in lower case, and which one it is.
    relations: Vec<(String, &'a Table)>,
    /// Names that the statement makes: results of other queries, and columns it names.
    made: BTreeSet<String>,
}

impl<'a> Scope<'a> {
    fn table(&self, name: &str) -> Option<&'a Table> {
        self.catalogue.table(name).or_else(|| {
            let wanted = plain(name);
            let mut alike = self.catalogue.tables.iter().filter(|table| plain(&table.name) == wanted);
            let first = alike.next()?;
            alike.next().is_none().then_some(first)
        })
    }

    fn called(&self, name: &str) -> Vec<&'a Table> {
        let lower = name.to_lowercase();
        self.relations.iter().filter(|(called, _)| *called == lower).map(|(_, table)| *table).collect()
    }
}

impl Visitor for Scope<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for made in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.made.insert(made.alias.name.value.to_lowercase());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let alias = |alias: &Option<datafusion::sql::sqlparser::ast::TableAlias>| {
            alias.as_ref().map(|alias| alias.name.value.to_lowercase())
        };
        match factor {
            TableFactor::Table { name, alias: given, .. } => {
                let own = last(name).map(|ident| ident.value.clone()).unwrap_or_default();
                if !self.made.contains(&own.to_lowercase())
                    && let Some(table) = self.table(&own)
                {
                    self.relations.push((alias(given).unwrap_or(own.to_lowercase()), table));
                } else {
                    self.made.extend(alias(given));
                }
            }
            TableFactor::Derived { alias: given, .. } => self.made.extend(alias(given)),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.made.insert(alias.value.to_lowercase());
            }
        }
        ControlFlow::Continue(())
    }
}

struct Speller<'a> {
    scope: Scope<'a>,
    unknown: BTreeSet<String>,
}

impl<'a> Speller<'a> {
    /// The column of a comparison, when its side is one.
    fn column(&self, expr: &Expr) -> Option<&'a Column> {
        match expr {
            Expr::CompoundIdentifier(parts) => {
                let [table, column] = parts.as_slice() else { return None };
                self.scope.called(&table.value).into_iter().find_map(|table| table.column(&column.value))
            }
            Expr::Identifier(ident) => {
                self.scope.relations.iter().find_map(|(_, table)| table.column(&ident.value))
            }
            Expr::Nested(inner) => self.column(inner),
            _ => None,
        }
    }

    /// A text is spelled as the column's cells are.
    fn spell_text(column: &Column, expr: &mut Expr) {
        let Expr::Value(value) = expr else { return };
        let (Value::SingleQuotedString(text) | Value::DoubleQuotedString(text)) = &mut value.value else {
            return;
        };
        if column.values.iter().any(|(known, _)| known == text) {
            return;
        }
        let wanted = text.trim().to_lowercase();
        let mut alike = column.values.iter().filter(|(known, _)| known.trim().to_lowercase() == wanted);
        if let (Some((known, _)), None) = (alike.next(), alike.next()) {
            text.clone_from(known);
        }
    }

    fn compound(&mut self, parts: &mut [Ident]) {
        let [table, column] = parts else { return };
        let called = self.scope.called(&table.value);
        if called.is_empty() {
            return;
        }
        if let Some((known, found)) =
            called.iter().find_map(|known| Some((*known, column_of(known, &column.value)?)))
        {
            // A table that is called by its own name needs its own letters; an alias has the
            // statement's.
            if known.name.eq_ignore_ascii_case(&table.value) {
                *table = quoted(&known.name);
            }
            *column = quoted(&found.name);
            return;
        }
        let mut others = self.scope.relations.iter().filter_map(|(name, known)| {
            let found = column_of(known, &column.value)?;
            Some((name, known, found))
        });
        if let (Some((name, known, found)), None) = (others.next(), others.next()) {
            let own = known.name.eq_ignore_ascii_case(name);
            *table = if own { quoted(&known.name) } else { Ident::new(name.clone()) };
            *column = quoted(&found.name);
            return;
        }
        drop(others);
        let named: Vec<&str> = called.iter().map(|table| table.name.as_str()).collect();
        let problem = format!("\"{}\" is no column of \"{}\"", column.value, named.join("\", \""));
        self.unknown.insert(format!("{problem}. {}", nearest(&column.value, self.scope.catalogue)));
    }

    fn single(&mut self, expr: &mut Expr) {
        let Expr::Identifier(ident) = expr else { return };
        let lower = ident.value.to_lowercase();
        let mut found: Vec<&Column> = Vec::new();
        for (_, table) in &self.scope.relations {
            found.extend(column_of(table, &ident.value));
        }
        let exact = found.iter().any(|column| column.name == ident.value);
        if self.scope.made.contains(&lower) || (exact && ident.quote_style.is_some()) {
            return;
        }
        match found.first() {
            Some(column) => *ident = quoted(&column.name),
            // SQLite takes a name in quotes that it does not know for a text, and so do models.
            None if ident.quote_style.is_some() => {
                *expr = Expr::value(Value::SingleQuotedString(ident.value.clone()));
            }
            None if self.scope.relations.is_empty() => {}
            None => {
                let near = nearest(&ident.value, self.scope.catalogue);
                self.unknown.insert(format!("\"{}\" is no column of the tables used. {near}", ident.value));
            }
        }
    }

    /// The columns that a star stands for, of tables that are all known.
    fn star(&self, from: &[TableWithJoins]) -> Option<Vec<SelectItem>> {
        let mut items = Vec::new();
        for part in from {
            let factors = std::iter::once(&part.relation).chain(part.joins.iter().map(|join| &join.relation));
            for factor in factors {
                let TableFactor::Table { name, alias, .. } = factor else { return None };
                let own = last(name)?;
                if self.scope.made.contains(&own.value.to_lowercase()) {
                    return None;
                }
                let table = self.scope.table(&own.value)?;
                let called = alias.as_ref().map_or_else(|| quoted(&table.name), |alias| alias.name.clone());
                items.extend(table.columns.iter().map(|column| {
                    let parts = vec![called.clone(), quoted(&column.name)];
                    SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))
                }));
            }
        }
        (!items.is_empty() && items.len() <= STAR).then_some(items)
    }
}

impl VisitorMut for Speller<'_> {
    type Break = ();

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if let [SelectItem::Wildcard(_)] = select.projection.as_slice()
            && let Some(items) = self.star(&select.from)
        {
            select.projection = items;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, .. } = factor
            && let Some(ObjectNamePart::Identifier(own)) = name.0.last_mut()
            && !self.scope.made.contains(&own.value.to_lowercase())
        {
            match self.scope.table(&own.value) {
                Some(table) => *own = quoted(&table.name),
                None => {
                    let tables: Vec<&str> = self
                        .scope
                        .catalogue
                        .tables
                        .iter()
                        .take(20)
                        .map(|table| table.name.as_str())
                        .collect();
                    let problem = format!("there is no table \"{}\"", own.value);
                    self.unknown.insert(format!("{problem}. The tables are: \"{}\"", tables.join("\", \"")));
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::CompoundIdentifier(parts) => self.compound(parts),
            Expr::Identifier(_) => self.single(expr),
            Expr::BinaryOp { left, op: BinaryOperator::Eq | BinaryOperator::NotEq, right } => {
                if let Some(column) = self.column(left) {
                    Self::spell_text(column, right);
                } else if let Some(column) = self.column(right) {
                    Self::spell_text(column, left);
                }
            }
            Expr::InList { expr, list, .. } => {
                if let Some(column) = self.column(expr) {
                    list.iter_mut().for_each(|item| Self::spell_text(column, item));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The columns whose names are most like one that is not known.
fn nearest(name: &str, catalogue: &Catalogue) -> String {
    let words: BTreeSet<String> = name_words(name).iter().map(|word| stem(word)).collect();
    let wanted = plain(name);
    let mut scored: Vec<(usize, String)> = Vec::new();
    for table in &catalogue.tables {
        for column in &table.columns {
            let own = plain(&column.name);
            let shared = name_words(&column.name).iter().filter(|word| words.contains(&stem(word))).count();
            let most = own.chars().count().max(wanted.chars().count());
            let apart = distance(&own, &wanted, most);
            if shared > 0 || apart * 5 <= most * 2 {
                let score = (apart * 10).saturating_sub(shared * 40);
                scored.push((score, format!("\"{}\".\"{}\"", table.name, column.name)));
            }
        }
    }
    scored.sort();
    let names: Vec<String> = scored.into_iter().take(NEAREST).map(|(_, name)| name).collect();
    match names.as_slice() {
        [] => "Use only columns of the schema".to_owned(),
        names => format!("Columns like it: {}", names.join(", ")),
    }
}
