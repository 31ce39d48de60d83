//! Properties of a query: the tables it reads, the expansion of its `*`, and the units of its
//! results.

mod periods;

use crate::catalogue::{Catalogue, Column};
use crate::frame::{Frame, Kind, Unit, Value};
use crate::query::{Aggregate, Condition, Expr, Item, Query};
use chrono::{NaiveDate, NaiveDateTime};
use std::collections::BTreeSet;

pub use periods::{UnfinishedPeriod, grains, not_additive, period_words, unfinished};

/// All tables that a query reads, including those of inner queries.
#[must_use]
pub fn tables(query: &Query) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    visit(query, &mut |query| {
        if query.from.is_none() {
            names.insert(query.table.clone());
        }
        names.extend(query.joins.iter().map(|join| join.table.clone()));
    });
    names
}

/// Calls `see` with a query and every query inside it.
pub(crate) fn visit(query: &Query, see: &mut dyn FnMut(&Query)) {
    see(query);
    let mut inner: Vec<&Query> = Vec::new();
    let conditions = query.filter.iter().chain(&query.having);
    conditions.for_each(|condition| in_condition(condition, &mut inner));
    let expressions = query
        .items
        .iter()
        .map(|item| &item.expr)
        .chain(&query.group)
        .chain(query.order.iter().map(|(expr, _)| expr));
    expressions.for_each(|expr| in_expr(expr, &mut inner));
    inner.extend(query.set.iter().map(|(_, second)| &**second));
    inner.extend(query.from.as_deref());
    for query in inner {
        visit(query, see);
    }
}

fn in_expr<'a>(expr: &'a Expr, found: &mut Vec<&'a Query>) {
    match expr {
        Expr::Scalar(query) => found.push(query),
        Expr::When(condition, _) | Expr::Choose(condition, ..) => {
            in_condition(condition, found);
            expr.children().into_iter().for_each(|inner| in_expr(inner, found));
        }
        other => other.children().into_iter().for_each(|inner| in_expr(inner, found)),
    }
}

fn in_condition<'a>(condition: &'a Condition, found: &mut Vec<&'a Query>) {
    match condition {
        Condition::Compare(left, _, right) => [left, right].into_iter().for_each(|side| in_expr(side, found)),
        Condition::InQuery(expr, query, _) => {
            in_expr(expr, found);
            found.push(query);
        }
        Condition::In(expr, _)
        | Condition::Like(expr, _)
        | Condition::IsNull(expr)
        | Condition::Within(expr, ..) => in_expr(expr, found),
        Condition::All(list) | Condition::Any(list) => {
            list.iter().for_each(|condition| in_condition(condition, found));
        }
        Condition::Not(inner) => in_condition(inner, found),
    }
}

/// Replaces a lone `*` by the readable columns.
pub fn expand_star(query: &mut Query, visible: &Catalogue) {
    let lone = query.from.is_none() && matches!(query.items.as_slice(), [Item { expr: Expr::Star, .. }]);
    if lone && let Some(table) = visible.table(&query.table) {
        let alias = if query.alias.is_empty() { query.table.clone() } else { query.alias.clone() };
        let item = |column: &Column| Item {
            expr: Expr::Column(alias.clone(), column.name.clone()),
            name: column.name.clone(),
        };
        query.items = table.columns.iter().map(item).collect();
    }
    if let Some((_, second)) = &mut query.set {
        expand_star(second, visible);
    }
}

/// The units of a query's results, in order.
#[must_use]
pub fn units(query: &Query, catalogue: &Catalogue) -> Vec<Unit> {
    query.items.iter().map(|item| item_unit(item, query, catalogue)).collect()
}

fn item_unit(item: &Item, query: &Query, catalogue: &Catalogue) -> Unit {
    match unit(&item.expr, query, catalogue) {
        // A ratio times 100 that is called a percentage.
        Unit::Plain if item.name.contains('%') && is_times_hundred(&item.expr) => Unit::Percent,
        unit => unit,
    }
}

/// Whether a value is multiplied by 100, or each row that counts is counted as 100.
fn is_times_hundred(expr: &Expr) -> bool {
    match expr {
        Expr::Arithmetic('*', left, right) => left.is_hundred() || right.is_hundred(),
        Expr::Aggregate(Aggregate::Average, arguments) => {
            matches!(arguments.as_slice(), [Expr::Choose(_, counted, _)] if counted.is_hundred())
        }
        _ => false,
    }
}

fn unit(expr: &Expr, query: &Query, catalogue: &Catalogue) -> Unit {
    match expr {
        Expr::Column(alias, name) => match &query.from {
            Some(inner) => (inner.items.iter().find(|item| item.name == *name))
                .map_or(Unit::Plain, |item| item_unit(item, inner, catalogue)),
            None => column(query, catalogue, alias, name).map_or(Unit::Plain, |column| column.unit),
        },
        Expr::Aggregate(Aggregate::Count | Aggregate::CountDistinct | Aggregate::Correlation, _) => {
            Unit::Plain
        }
        Expr::Aggregate(_, arguments) => {
            arguments.first().map_or(Unit::Plain, |argument| unit(argument, query, catalogue))
        }
        Expr::When(_, value) | Expr::Previous { value, .. } | Expr::RunningSum { value, .. } => {
            unit(value, query, catalogue)
        }
        Expr::ShareOfTotal(_) => Unit::Share,
        // A fraction times 100 is a percentage; times anything else it is neither.
        Expr::Arithmetic('*', left, right) if unit(left, query, catalogue) == Unit::Share => {
            if right.is_hundred() { Unit::Percent } else { Unit::Plain }
        }
        Expr::Arithmetic('+' | '-', left, right) => {
            let (left, right) = (unit(left, query, catalogue), unit(right, query, catalogue));
            if left == right { left } else { Unit::Plain }
        }
        // Money times a number is money; money divided by money has no unit.
        Expr::Arithmetic('*', left, right) => {
            match (unit(left, query, catalogue), unit(right, query, catalogue)) {
                (Unit::Plain, other) | (other, Unit::Plain) => other,
                _ => Unit::Plain,
            }
        }
        Expr::Arithmetic('/', left, right) if unit(right, query, catalogue) == Unit::Plain => {
            unit(left, query, catalogue)
        }
        Expr::Part(crate::query::Grain::Year, _) => Unit::Year,
        _ => Unit::Plain,
    }
}

fn column<'a>(query: &Query, catalogue: &'a Catalogue, alias: &str, name: &str) -> Option<&'a Column> {
    let named =
        |table: &str, known: &str| alias.eq_ignore_ascii_case(if known.is_empty() { table } else { known });
    let table = if named(&query.table, &query.alias) {
        Some(query.table.as_str())
    } else {
        query.joins.iter().find(|join| named(&join.table, &join.alias)).map(|join| join.table.as_str())
    };
    catalogue.table(table?)?.column(name)
}

/// Whether a query lists rows as they are: nothing is grouped or computed.
#[must_use]
pub fn lists_rows(query: &Query) -> bool {
    let is_column = |item: &Item| matches!(item.expr, Expr::Column(..) | Expr::Star);
    query.group.is_empty() && query.set.is_none() && query.items.iter().all(is_column)
}

/// SQLite and MySQL return dates as text; if the query shows that a column is a time, it is
/// converted back.
pub fn restore_times(frame: &mut Frame, query: &Query, catalogue: &Catalogue) {
    for (index, item) in query.items.iter().enumerate() {
        let time = match &item.expr {
            Expr::Truncate(..) => true,
            Expr::Column(alias, name) => {
                column(query, catalogue, alias, name).is_some_and(|column| column.kind.is_time())
            }
            Expr::Aggregate(Aggregate::Min | Aggregate::Max, arguments) => match arguments.first() {
                Some(Expr::Column(alias, name)) => {
                    column(query, catalogue, alias, name).is_some_and(|column| column.kind.is_time())
                }
                _ => false,
            },
            _ => false,
        };
        if time && frame.fields.get(index).is_some_and(|field| field.kind == Kind::Text) {
            parse_times(frame, index);
        }
        if matches!(item.expr, Expr::Truncate(..)) {
            days_only(frame, index);
        }
    }
}

/// Shows times as they are spelled in the file. Only in queries that list rows: where times are
/// aggregated, drawn or compared, they stay times.
pub fn spell_times(frame: &mut Frame, query: &Query, session: &crate::session::Session) {
    let lists =
        query.group.is_empty() && query.joins.is_empty() && query.from.is_none() && query.set.is_none();
    for (index, item) in query.items.iter().enumerate().filter(|_| lists) {
        let Expr::Column(_, name) = &item.expr else { continue };
        let words: Option<Vec<Value>> = (frame.column(index))
            .map(|cell| match cell {
                Value::Null => Some(Value::Null),
                Value::Date(_) | Value::Time(_) => session
                    .spelling(&query.table, name, &cell.plain())
                    .map(|words| Value::Text(words.to_owned())),
                _ => None,
            })
            .collect();
        let Some(words) = words.filter(|words| words.iter().any(|word| !word.is_null())) else { continue };
        for (row, word) in frame.rows.iter_mut().zip(words) {
            if let Some(cell) = row.get_mut(index) {
                *cell = word;
            }
        }
        if let Some(field) = frame.fields.get_mut(index) {
            field.kind = Kind::Text;
        }
    }
}

/// Timestamps that are all midnight become dates.
fn days_only(frame: &mut Frame, index: usize) {
    let midnight = |cell: &Value| match cell {
        Value::Time(time) => time.time() == chrono::NaiveTime::MIN,
        other => other.is_null(),
    };
    if !frame.column(index).all(midnight) {
        return;
    }
    for row in &mut frame.rows {
        if let Some(cell) = row.get_mut(index)
            && let Value::Time(time) = cell
        {
            *cell = Value::Date(time.date());
        }
    }
    if let Some(field) = frame.fields.get_mut(index).filter(|field| field.kind == Kind::Timestamp) {
        field.kind = Kind::Date;
    }
}

/// Converts a text column to dates if every cell is one.
pub(crate) fn parse_times(frame: &mut Frame, index: usize) {
    let read = |text: &str| -> Option<Value> {
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().map(Value::Date);
        let moment = || {
            ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M"]
                .iter()
                .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
        };
        date.or_else(|| moment().map(Value::Time))
    };
    let cells: Option<Vec<Value>> = (frame.column(index))
        .map(|cell| match cell {
            Value::Text(text) => read(text),
            Value::Null => Some(Value::Null),
            _ => None,
        })
        .collect();
    let Some(cells) = cells else { return };
    let moments = cells.iter().any(|cell| matches!(cell, Value::Time(_)));
    for (row, cell) in frame.rows.iter_mut().zip(cells) {
        if let Some(place) = row.get_mut(index) {
            *place = match cell {
                Value::Date(date) if moments => date.and_hms_opt(0, 0, 0).map_or(Value::Null, Value::Time),
                cell => cell,
            };
        }
    }
    if let Some(field) = frame.fields.get_mut(index) {
        field.kind = if moments { Kind::Timestamp } else { Kind::Date };
    }
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
