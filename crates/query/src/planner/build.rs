//! Turns a sketch into a query: finds the tables it needs, joins them, and writes nested parts.
//!
//! The invariant: every column in the query belongs to a table that the query joins.

use crate::query::{Aggregate, Compare, Condition, Expr, Item, Joined, Query, SetOperation};

use super::joins;
use super::schema::{Place, Schema};
use super::sketch::{Absent, Sketch};

/// The query for a sketch, or `None` when its tables cannot be joined.
pub(super) fn build(sketch: &Sketch, schema: &Schema) -> Option<Query> {
    let mut query = match &sketch.both {
        Some((first, second)) => {
            let mut left = plain(sketch, first, schema)?;
            let mut right = plain(sketch, second, schema)?;
            left.order.clear();
            right.order.clear();
            left.set = Some((SetOperation::Intersect, Box::new(right)));
            left
        }
        None => plain(sketch, &[], schema)?,
    };
    if sketch.count_rows {
        let item =
            Item { expr: Expr::Aggregate(Aggregate::Count, vec![Expr::Star]), name: "count".to_owned() };
        query.order.clear();
        query = Query {
            items: vec![item],
            from: Some(Box::new(query)),
            alias: "counted".to_owned(),
            ..Query::default()
        };
    }
    Some(query)
}

fn plain(sketch: &Sketch, more: &[Condition], schema: &Schema) -> Option<Query> {
    let mut tables: Vec<String> = sketch.also.clone();
    sketch.targets.iter().for_each(|target| tables_of(&target.expr, &mut tables));
    sketch.groups.iter().for_each(|expr| tables_of(expr, &mut tables));
    sketch.order.iter().for_each(|(expr, _)| tables_of(expr, &mut tables));
    (sketch.filters.iter().chain(more).chain(&sketch.having))
        .for_each(|condition| tables_in(condition, &mut tables));
    tables.extend(sketch.entities.iter().cloned());
    tables.extend(sketch.absent.iter().map(|absent| absent.entity.clone()));
    let mut unique: Vec<String> = Vec::new();
    for table in tables {
        if !unique.contains(&table) {
            unique.push(table);
        }
    }
    let head = if unique.contains(&sketch.head) || unique.is_empty() {
        sketch.head.clone()
    } else {
        unique.first()?.clone()
    };
    let joins = joins::tree(schema.catalogue, &head, &unique)?;
    let mut conditions: Vec<Condition> = sketch.filters.iter().chain(more).cloned().collect();
    for absent in &sketch.absent {
        conditions.push(missing_value(sketch, absent, schema).or_else(|| missing(absent, schema))?);
    }
    if let Some((by, down, within)) = &sketch.per_group {
        conditions.push(extreme(by, *down, within)?);
    }
    conditions.extend(no_empty_first(sketch, schema));
    let mut group = sketch.groups.clone();
    for entity in &sketch.entities {
        let table = schema.catalogue.tables.iter().position(|table| &table.name == entity)?;
        let named = sketch.targets.iter().any(|target| !has_aggregate(&target.expr));
        let key = schema
            .key(table)
            .or_else(|| schema.display(table).filter(|_| !named))
            .and_then(|place| column_expr(schema, place));
        group.extend(key);
    }
    if !group.is_empty() || !sketch.entities.is_empty() {
        for target in &sketch.targets {
            if !has_aggregate(&target.expr) && !group.contains(&target.expr) && target.expr != Expr::Star {
                group.push(target.expr.clone());
            }
        }
        for (expr, _) in &sketch.order {
            if !has_aggregate(expr) && !group.contains(expr) {
                group.push(expr.clone());
            }
        }
    }
    let items = sketch
        .targets
        .iter()
        .map(|target| Item { expr: target.expr.clone(), name: target.name.clone() })
        .collect();
    Some(Query {
        items,
        distinct: sketch.distinct,
        alias: head.clone(),
        table: head,
        joins,
        filter: all(conditions),
        group,
        having: all(sketch.having.clone()),
        order: sketch.order.clone(),
        limit: sketch.limit,
        ..Query::default()
    })
}

/// Empty cells sort first in some databases: they are no answer to "the lowest".
fn no_empty_first(sketch: &Sketch, schema: &Schema) -> Vec<Condition> {
    if sketch.limit.is_none() {
        return Vec::new();
    }
    (sketch.order.iter())
        .filter_map(|(expr, down)| {
            let Expr::Column(table, column) = expr else { return None };
            let known = schema.catalogue.table(table)?.column(column)?;
            (!down && known.nulls > 0).then(|| Condition::Not(Box::new(Condition::IsNull(expr.clone()))))
        })
        .collect()
}

/// One condition out of many.
pub(super) fn all(mut conditions: Vec<Condition>) -> Option<Condition> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => Some(Condition::All(conditions)),
    }
}

/// A column as an expression.
pub(super) fn column_expr(schema: &Schema, place: Place) -> Option<Expr> {
    let table = schema.table(place.table)?;
    Some(Expr::Column(table.name.clone(), table.columns.get(place.column)?.name.clone()))
}

/// "countries without …": when the answer shows a value that many things share, none of them may
/// have a partner.
fn missing_value(sketch: &Sketch, absent: &Absent, schema: &Schema) -> Option<Condition> {
    let [target] = sketch.targets.as_slice() else { return None };
    let Expr::Column(table, name) = &target.expr else { return None };
    let position =
        schema.catalogue.tables.iter().position(|known| known.name == *table && *table == absent.entity)?;
    let column = schema.table(position)?.columns.iter().position(|known| known.name == *name)?;
    let place = Place { table: position, column };
    let shared = schema.column(place).is_some_and(|column| column.distinct * 3 < column.seen * 2)
        && !schema.is_key(place)
        && schema.display(position) != Some(place);
    if !shared || !absent.by_value || absent.conditions.is_empty() {
        return None;
    }
    let joins = joins::tree(schema.catalogue, &absent.entity, &absent.tables)?;
    let mut conditions = absent.conditions.clone();
    conditions.push(Condition::Not(Box::new(Condition::IsNull(target.expr.clone()))));
    let items = vec![Item { expr: target.expr.clone(), name: "value".to_owned() }];
    let query = Query {
        items,
        table: absent.entity.clone(),
        alias: absent.entity.clone(),
        joins,
        filter: all(conditions),
        ..Query::default()
    };
    Some(Condition::InQuery(target.expr.clone(), Box::new(query), true))
}

/// Not one of the rows that exist.
fn missing(absent: &Absent, schema: &Schema) -> Option<Condition> {
    let joined = joins::tree(schema.catalogue, &absent.entity, &absent.tables)?;
    let (first, rest) = joined.split_first()?;
    let (left, right) = first.on.first()?;
    let (outer, inner) = if matches!(left, Expr::Column(table, _) if *table == absent.entity) {
        (left, right)
    } else {
        (right, left)
    };
    let chained = rest.iter().all(|step: &Joined| {
        step.on.iter().all(|(a, b)| {
            ![a, b].iter().any(|side| matches!(side, Expr::Column(table, _) if *table == absent.entity))
        })
    });
    if !chained || absent.conditions.iter().any(|condition| mentions(condition, &absent.entity)) {
        return None;
    }
    let mut conditions = absent.conditions.clone();
    conditions.push(Condition::Not(Box::new(Condition::IsNull(inner.clone()))));
    let query = Query {
        items: vec![Item { expr: inner.clone(), name: "key".to_owned() }],
        table: first.table.clone(),
        alias: first.alias.clone(),
        joins: rest.to_vec(),
        filter: all(conditions),
        ..Query::default()
    };
    Some(Condition::InQuery(outer.clone(), Box::new(query), true))
}

fn mentions(condition: &Condition, table: &str) -> bool {
    let mut tables = Vec::new();
    tables_in(condition, &mut tables);
    tables.iter().any(|known| known == table)
}

/// The largest or smallest within the same group.
fn extreme(by: &Expr, down: bool, within: &Expr) -> Option<Condition> {
    let (Expr::Column(table, column), Expr::Column(group_table, group)) = (by, within) else { return None };
    if table != group_table {
        return None;
    }
    let alias = format!("{table}_inner");
    let inner = |name: &String| Expr::Column(alias.clone(), name.clone());
    let aggregate = if down { Aggregate::Max } else { Aggregate::Min };
    let query = Query {
        items: vec![Item {
            expr: Expr::Aggregate(aggregate, vec![inner(column)]),
            name: "extreme".to_owned(),
        }],
        table: table.clone(),
        alias: alias.clone(),
        filter: Some(Condition::Compare(inner(group), Compare::Equal, within.clone())),
        ..Query::default()
    };
    Some(Condition::Compare(by.clone(), Compare::Equal, Expr::Scalar(Box::new(query))))
}

/// Does an expression run over many rows?
pub(super) fn has_aggregate(expr: &Expr) -> bool {
    match expr {
        Expr::Aggregate(..) => true,
        other => other.children().into_iter().any(has_aggregate),
    }
}

/// The tables that an expression needs.
pub(super) fn tables_of(expr: &Expr, tables: &mut Vec<String>) {
    match expr {
        Expr::Column(table, _) => {
            if !tables.contains(table) {
                tables.push(table.clone());
            }
        }
        Expr::When(condition, _) | Expr::Choose(condition, ..) => {
            tables_in(condition, tables);
            expr.children().into_iter().for_each(|inner| tables_of(inner, tables));
        }
        other => other.children().into_iter().for_each(|inner| tables_of(inner, tables)),
    }
}

/// The tables that a condition needs.
pub(super) fn tables_in(condition: &Condition, tables: &mut Vec<String>) {
    match condition {
        Condition::Compare(left, _, right) => {
            tables_of(left, tables);
            tables_of(right, tables);
        }
        Condition::In(expr, _)
        | Condition::InQuery(expr, _, _)
        | Condition::Like(expr, _)
        | Condition::IsNull(expr)
        | Condition::Within(expr, _, _) => {
            tables_of(expr, tables);
        }
        Condition::All(all) | Condition::Any(all) => {
            all.iter().for_each(|condition| tables_in(condition, tables));
        }
        Condition::Not(inner) => tables_in(inner, tables),
    }
}
