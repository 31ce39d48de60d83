//! Reads a large file once for several queries: the rows and columns that they need together are
//! loaded first, and the queries run on those.

use crate::catalogue::Catalogue;
use crate::query::{Condition, Expr, Item, Literal, Query};
use crate::shape::visit;
use std::collections::BTreeSet;

/// The name of the loaded rows.
pub const BASE: &str = "needed_rows";

/// Smaller tables are read again instead, which costs less.
const WORTH_IT: u64 = 50_000;
/// More rows than this are not held in memory; then each query scans the file.
const TOO_MANY: f64 = 3_000_000.0;

/// If all queries read the same large table: its name, the query that loads what they need, and the
/// queries rewritten to read that.
#[must_use]
pub fn base(queries: &[Query], catalogue: &Catalogue) -> Option<(String, Query, Vec<Query>)> {
    let first = queries.first()?;
    let table = catalogue.table(&first.table)?;
    let rows = table.rows?;
    if queries.len() < 2 || rows < WORTH_IT {
        return None;
    }
    let mut columns = BTreeSet::new();
    let mut alone = true;
    for query in queries {
        visit(query, &mut |query| {
            alone &= query.table == first.table && query.joins.is_empty() && query.from.is_none();
            collect(query, &mut columns);
        });
    }
    let columns: Vec<String> = columns.into_iter().filter(|name| table.column(name).is_some()).collect();
    if !alone || columns.is_empty() {
        return None;
    }
    let filter = common(queries);
    if filter.is_none() && rows as f64 > TOO_MANY {
        return None;
    }
    let alias = if first.alias.is_empty() { first.table.clone() } else { first.alias.clone() };
    let load = Query {
        items: columns
            .into_iter()
            .map(|name| Item { expr: Expr::Column(alias.clone(), name.clone()), name })
            .collect(),
        table: first.table.clone(),
        alias: first.alias.clone(),
        filter,
        ..Query::default()
    };
    let rewritten = queries.iter().map(|query| rename(query, &first.table)).collect();
    Some((first.table.clone(), load, rewritten))
}

/// The conditions common to all queries, with time ranges widened to include all of them.
fn common(queries: &[Query]) -> Option<Condition> {
    let parts: Vec<Vec<Condition>> = queries.iter().map(|query| conjuncts(query.filter.as_ref())).collect();
    let (first, rest) = parts.split_first()?;
    let mut shared: Vec<Condition> = first
        .iter()
        .filter(|condition| rest.iter().all(|other| other.contains(condition)))
        .cloned()
        .collect();
    let ranges: Vec<Option<(&Expr, &Literal, &Literal)>> =
        parts.iter().map(|list| list.iter().find_map(range)).collect();
    if let Some(ranges) = ranges.into_iter().collect::<Option<Vec<_>>>()
        && let Some((expr, from, to)) = ranges.first().copied()
        && ranges.iter().all(|(other, ..)| *other == expr)
    {
        let from = ranges.iter().fold(from, |low, (_, from, _)| if before(from, low) { from } else { low });
        let to = ranges.iter().fold(to, |high, (_, _, to)| if before(high, to) { to } else { high });
        let wide = Condition::Within(expr.clone(), from.clone(), to.clone());
        if !shared.contains(&wide) {
            shared.push(wide);
        }
    }
    match shared.len() {
        0 => None,
        1 => shared.pop(),
        _ => Some(Condition::All(shared)),
    }
}

fn conjuncts(condition: Option<&Condition>) -> Vec<Condition> {
    match condition {
        None => Vec::new(),
        Some(Condition::All(list)) => list.iter().flat_map(|condition| conjuncts(Some(condition))).collect(),
        Some(other) => vec![other.clone()],
    }
}

fn range(condition: &Condition) -> Option<(&Expr, &Literal, &Literal)> {
    match condition {
        Condition::Within(expr, from, to) => Some((expr, from, to)),
        _ => None,
    }
}

fn before(a: &Literal, b: &Literal) -> bool {
    match (a, b) {
        (Literal::Date(a), Literal::Date(b)) => a < b,
        (Literal::Time(a), Literal::Time(b)) => a < b,
        _ => false,
    }
}

fn collect(query: &Query, columns: &mut BTreeSet<String>) {
    fn expr(value: &Expr, columns: &mut BTreeSet<String>) {
        match value {
            Expr::Column(_, name) => {
                columns.insert(name.clone());
            }
            Expr::When(test, _) | Expr::Choose(test, ..) => {
                condition(test, columns);
                value.children().into_iter().for_each(|inner| expr(inner, columns));
            }
            other => other.children().into_iter().for_each(|inner| expr(inner, columns)),
        }
    }
    fn condition(value: &Condition, columns: &mut BTreeSet<String>) {
        match value {
            Condition::Compare(left, _, right) => {
                expr(left, columns);
                expr(right, columns);
            }
            Condition::In(inner, _)
            | Condition::InQuery(inner, ..)
            | Condition::Like(inner, _)
            | Condition::IsNull(inner)
            | Condition::Within(inner, ..) => {
                expr(inner, columns);
            }
            Condition::All(list) | Condition::Any(list) => {
                list.iter().for_each(|inner| condition(inner, columns));
            }
            Condition::Not(inner) => condition(inner, columns),
        }
    }
    query.items.iter().for_each(|item| expr(&item.expr, columns));
    query.group.iter().for_each(|group| expr(group, columns));
    query.order.iter().for_each(|(order, _)| expr(order, columns));
    query.filter.iter().chain(&query.having).for_each(|filter| condition(filter, columns));
}

/// The query with the table's name replaced; the alias stays, so columns keep their names.
fn rename(query: &Query, from: &str) -> Query {
    fn in_expr(value: &mut Expr, from: &str) {
        match value {
            Expr::Scalar(query) => **query = rename(query, from),
            Expr::When(test, _) | Expr::Choose(test, ..) => {
                in_condition(test, from);
                value.children_mut().into_iter().for_each(|inner| in_expr(inner, from));
            }
            other => other.children_mut().into_iter().for_each(|inner| in_expr(inner, from)),
        }
    }
    fn in_condition(value: &mut Condition, from: &str) {
        match value {
            Condition::Compare(left, _, right) => {
                in_expr(left, from);
                in_expr(right, from);
            }
            Condition::InQuery(inner, query, _) => {
                in_expr(inner, from);
                **query = rename(query, from);
            }
            Condition::In(inner, _)
            | Condition::Like(inner, _)
            | Condition::IsNull(inner)
            | Condition::Within(inner, ..) => in_expr(inner, from),
            Condition::All(list) | Condition::Any(list) => {
                list.iter_mut().for_each(|inner| in_condition(inner, from));
            }
            Condition::Not(inner) => in_condition(inner, from),
        }
    }
    let mut renamed = query.clone();
    if renamed.table == from {
        if renamed.alias.is_empty() {
            renamed.alias = renamed.table.clone();
        }
        renamed.table = BASE.to_owned();
    }
    renamed.items.iter_mut().for_each(|item| in_expr(&mut item.expr, from));
    renamed.group.iter_mut().for_each(|group| in_expr(group, from));
    renamed.order.iter_mut().for_each(|(order, _)| in_expr(order, from));
    renamed.filter.iter_mut().chain(&mut renamed.having).for_each(|condition| in_condition(condition, from));
    if let Some((_, second)) = &mut renamed.set {
        **second = rename(second, from);
    }
    renamed
}
