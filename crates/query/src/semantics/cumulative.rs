//! Cumulative metrics: what had come together by the end of each day, month or year.
//!
//! Invariant: a period of the question says which rows are shown, not where the sum begins. What
//! came before the period counts, unless the metric begins anew with its year, quarter or month.

use crate::catalogue::Catalogue;
use crate::query::{Aggregate, Compare, Condition, Expr, Grain, Item, Literal, Query};
use steward_domain::CumulativeSince;

/// The names of the queries inside each other.
const GROUPED: &str = "grouped";
const SUMMED: &str = "summed";

/// Whether a number can be added up over time.
pub(super) fn is_additive(expr: &Expr) -> bool {
    match expr {
        Expr::Aggregate(Aggregate::Sum | Aggregate::Count, _) | Expr::Literal(_) => true,
        Expr::Arithmetic('+' | '-', left, right) => is_additive(left) && is_additive(right),
        _ => false,
    }
}

/// Adds the metric in the column `metric` up over the time that the query is broken down by.
/// Without a time the sum of all rows is what had come together.
pub(super) fn accumulate(
    query: Query,
    metric: &str,
    since: CumulativeSince,
    catalogue: &Catalogue,
) -> Result<Query, String> {
    let is_time = |expr: &Expr| match expr {
        Expr::Truncate(..) => true,
        Expr::Column(alias, name) => {
            let tables = std::iter::once((&query.table, &query.alias))
                .chain(query.joins.iter().map(|one| (&one.table, &one.alias)));
            let table = tables.into_iter().find(|(_, known)| *known == alias).map(|(table, _)| table);
            let column = table.and_then(|table| catalogue.table(table)?.column(name));
            column.is_some_and(|column| column.kind.is_time())
        }
        _ => false,
    };
    let Some(time) = query.group.iter().find(|expr| is_time(expr)).cloned() else { return Ok(query) };
    let limit = query.limit;
    let mut inner = Query { order: Vec::new(), limit: None, ..query };
    let start = inner.filter.take().and_then(|filter| {
        let (rest, start) = without_start(filter, as_column(&time));
        inner.filter = rest;
        start
    });
    let named = |expr: &Expr| {
        let item = inner.items.iter().find(|item| item.expr == *expr);
        item.map(|item| item.name.clone())
            .ok_or_else(|| "is broken down by something that is not shown".to_owned())
    };
    let of = |from: &str, name: &str| Expr::Column(from.to_owned(), name.to_owned());
    let time_name = named(&time)?;
    let mut partition = Vec::new();
    for group in inner.group.iter().filter(|group| **group != time) {
        partition.push(of(GROUPED, &named(group)?));
    }
    let grain = match since {
        CumulativeSince::Start => None,
        CumulativeSince::Year => Some(Grain::Year),
        CumulativeSince::Quarter => Some(Grain::Quarter),
        CumulativeSince::Month => Some(Grain::Month),
    };
    partition.extend(grain.map(|grain| Expr::Truncate(grain, Box::new(of(GROUPED, &time_name)))));
    let items: Vec<Item> = inner
        .items
        .iter()
        .map(|item| {
            let value = of(GROUPED, &item.name);
            let expr = if item.name == metric {
                let order = vec![(of(GROUPED, &time_name), false)];
                Expr::RunningSum { value: Box::new(value), partition: partition.clone(), order }
            } else {
                value
            };
            Item { expr, name: item.name.clone() }
        })
        .collect();
    let over = |inner: Query, alias: &str, items: Vec<Item>| Query {
        items,
        from: Some(Box::new(inner)),
        alias: alias.to_owned(),
        ..Query::default()
    };
    let names: Vec<String> = inner.items.iter().map(|item| item.name.clone()).collect();
    let summed = over(inner, GROUPED, items);
    let items = names.into_iter().map(|name| Item { expr: of(SUMMED, &name), name }).collect();
    let shown = |start: Literal| {
        Condition::Compare(of(SUMMED, &time_name), Compare::GreaterOrEqual, Expr::Literal(start))
    };
    let mut outer = over(summed, SUMMED, items);
    outer.filter = start.map(|start| shown(cut(start, &time)));
    outer.order = vec![(of(SUMMED, &time_name), false)];
    outer.limit = limit;
    Ok(outer)
}

fn as_column(expr: &Expr) -> &Expr {
    match expr {
        Expr::Truncate(_, inner) => as_column(inner),
        other => other,
    }
}

/// A condition without where its period begins, and where that is.
fn without_start(filter: Condition, time: &Expr) -> (Option<Condition>, Option<Literal>) {
    match filter {
        Condition::Within(expr, from, until) if as_column(&expr) == time => {
            let before = Condition::Compare(expr, Compare::Less, Expr::Literal(until));
            (Some(before), Some(from))
        }
        Condition::Compare(expr, Compare::GreaterOrEqual, Expr::Literal(from))
            if as_column(&expr) == time =>
        {
            (None, Some(from))
        }
        Condition::All(all) => {
            let mut start = None;
            let mut rest = Vec::new();
            for condition in all {
                let (kept, found) = without_start(condition, time);
                rest.extend(kept);
                start = start.or(found);
            }
            (if rest.is_empty() { None } else { Some(Condition::All(rest)) }, start)
        }
        other => (Some(other), None),
    }
}

/// The first moment of the group that a moment falls into.
fn cut(start: Literal, time: &Expr) -> Literal {
    use chrono::Datelike as _;
    let Expr::Truncate(grain, _) = time else { return start };
    let day = match &start {
        Literal::Date(day) => *day,
        Literal::Time(moment) => moment.date(),
        _ => return start,
    };
    let first = match grain {
        Grain::Year => day.with_day(1).and_then(|day| day.with_month(1)),
        Grain::Quarter => day.with_day(1).and_then(|day| day.with_month(day.month0() / 3 * 3 + 1)),
        Grain::Month => day.with_day(1),
        Grain::Week => {
            day.checked_sub_days(chrono::Days::new(u64::from(day.weekday().num_days_from_monday())))
        }
        Grain::Day => Some(day),
    };
    first.map_or(start, Literal::Date)
}
