//! Queries over queries: the first rows of each group, groups that are counted, groups with the one
//! before them, comparisons with an average.

use super::form::{Baseline, Filter, Group, Tally};
use super::link::ColumnRef;
use super::lower::{CHANGE, Writer, all};
use crate::query::{Aggregate, Compare, Condition, Expr, Grain, Item, Literal, Query};
use chrono::{Days, Months, NaiveDate};

impl Writer<'_> {
    /// The first rows of each value of one group, by the order of the measure.
    pub(super) fn within_groups(&self, mut inner: Query) -> Query {
        let at = self.form.within.unwrap_or_default();
        let partition: Vec<Expr> = inner.group.get(at).cloned().into_iter().collect();
        let order = std::mem::take(&mut inner.order);
        let limit = inner.limit.take();
        let rank = "rank".to_owned();
        inner.items.push(Item { expr: Expr::RowNumber { partition, order }, name: rank.clone() });
        let ranked = "ranked".to_owned();
        let column = |name: &str| Expr::Column(ranked.clone(), name.to_owned());
        let items: Vec<Item> = inner
            .items
            .iter()
            .map(|item| Item { expr: column(&item.name), name: item.name.clone() })
            .collect();
        let first = inner.items.get(at).map(|item| column(&item.name));
        let limit = limit.map(|limit| {
            let number = i64::try_from(limit).unwrap_or(i64::MAX);
            Condition::Compare(column(&rank), Compare::LessOrEqual, Expr::Literal(Literal::Int(number)))
        });
        Query {
            items,
            from: Some(Box::new(inner)),
            alias: ranked.clone(),
            filter: limit,
            order: first.into_iter().map(|first| (first, false)).chain([(column(&rank), false)]).collect(),
            ..Query::default()
        }
    }

    /// The first rows of each value of a listed column.
    pub(super) fn rows_within(&self, mut inner: Query) -> Query {
        let at = self.form.within.unwrap_or_default();
        inner.group = inner.items.iter().map(|item| item.expr.clone()).collect();
        let mut outer = self.within_groups(inner);
        if let Some(from) = &mut outer.from {
            from.group.clear();
            from.distinct = false;
        }
        debug_assert!(at < outer.items.len());
        outer
    }

    /// Counts the groups of a query, all of them or by the value of their first measure.
    pub(super) fn tally(&self, mut inner: Query, tally: Tally) -> Query {
        inner.order.clear();
        inner.limit = None;
        let groups = "groups".to_owned();
        let count = Expr::Aggregate(Aggregate::Count, vec![Expr::Star]);
        let mut outer = Query { alias: groups.clone(), ..Query::default() };
        if tally == Tally::Sizes
            && let Some(size) = inner.items.get(inner.group.len())
        {
            let size = Item { expr: Expr::Column(groups, size.name.clone()), name: size.name.clone() };
            outer.group = vec![size.expr.clone()];
            outer.order = vec![(size.expr.clone(), false)];
            outer.items.push(size);
        }
        let taken = outer.items.iter().any(|item| item.name == "count");
        let name = if taken { "number" } else { "count" };
        outer.items.push(Item { expr: count, name: name.to_owned() });
        outer.from = Some(Box::new(inner));
        outer
    }

    /// Periods with the change against the one before, which may lie outside of what was asked for.
    pub(super) fn with_before(&self, mut inner: Query) -> Query {
        let start = self.widened();
        if start.is_none() && !self.form.has_before {
            return inner;
        }
        let ranked = "compared".to_owned();
        let column = |name: &str| Expr::Column(ranked.clone(), name.to_owned());
        let mut conditions: Vec<Condition> = Vec::new();
        if let Some((at, filter, first)) = start {
            inner.filter = all((self.form.filters.iter().enumerate())
                .map(|(place, known)| self.condition(if place == at { &filter } else { known }))
                .collect());
            let timed = self.form.groups.iter().position(|group| group.place() == filter.place());
            if let Some(item) = timed.and_then(|timed| inner.items.get(timed)) {
                conditions.push(Condition::Compare(
                    column(&item.name),
                    Compare::GreaterOrEqual,
                    Expr::Literal(first),
                ));
            }
        }
        if self.form.has_before {
            conditions.push(Condition::Not(Box::new(Condition::IsNull(column(CHANGE)))));
        }
        let items = inner.items.iter().map(|item| Item { expr: column(&item.name), name: item.name.clone() });
        let items: Vec<Item> = items.collect();
        let place = |expr: &Expr| inner.items.iter().find(|item| item.expr == *expr).map(|item| &item.name);
        let order: Vec<(Expr, bool)> =
            inner.order.iter().filter_map(|(expr, down)| Some((column(place(expr)?), *down))).collect();
        let limit = inner.limit.take();
        inner.order.clear();
        Query {
            items,
            from: Some(Box::new(inner)),
            alias: ranked,
            filter: all(conditions),
            order,
            limit,
            ..Query::default()
        }
    }

    /// The condition on periods that also takes in the one before: its position, itself, and the
    /// first period that was asked for.
    fn widened(&self) -> Option<(usize, Filter, Literal)> {
        let groups = &self.form.groups;
        (self.form.filters.iter().enumerate()).find_map(|(at, filter)| match filter {
            Filter::Within(place, from, to) => {
                let grain = groups.iter().find_map(|group| match group {
                    Group::Period(known, grain) if known == place => Some(*grain),
                    _ => None,
                })?;
                let wide = Filter::Within(*place, before(*from, grain)?, *to);
                Some((at, wide, Literal::Date(*from)))
            }
            Filter::Between(place, from, to) if groups.contains(&Group::Column(*place)) => {
                Some((at, Filter::Between(*place, from - 1.0, *to), super::lower::literal(*from)))
            }
            _ => None,
        })
    }

    /// What the measure of each group is compared with.
    pub(super) fn baseline(&self, query: &Query, measure: &Expr, baseline: Baseline) -> Expr {
        let value = "value".to_owned();
        let mut whole = Query {
            items: vec![Item { expr: measure.clone(), name: value.clone() }],
            table: query.table.clone(),
            alias: query.alias.clone(),
            joins: query.joins.clone(),
            filter: query.filter.clone(),
            ..Query::default()
        };
        if baseline == Baseline::Groups {
            whole.group = self.form.groups.iter().map(|group| self.group(group)).collect();
            let groups = "groups".to_owned();
            let column = Expr::Column(groups.clone(), value.clone());
            whole = Query {
                items: vec![Item { expr: Expr::Aggregate(Aggregate::Average, vec![column]), name: value }],
                from: Some(Box::new(whole)),
                alias: groups,
                ..Query::default()
            };
        }
        Expr::Scalar(Box::new(whole))
    }

    /// A value beside the average of its column.
    pub(super) fn beside_average(
        &self,
        place: ColumnRef,
        compare: Compare,
        within: Option<ColumnRef>,
    ) -> Condition {
        let table = self.table_name(place.table).unwrap_or_default();
        let alias = "others".to_owned();
        let there = |place: ColumnRef| match self.column(place) {
            Expr::Column(_, name) => Expr::Column(alias.clone(), name),
            other => other,
        };
        let filter = match within {
            Some(within) => Some(Condition::Compare(there(within), Compare::Equal, self.column(within))),
            None => {
                let same = self.form.filters.iter().filter(|filter| {
                    !matches!(filter, Filter::Average(..))
                        && filter.places().iter().all(|other| other.table == place.table)
                });
                all(same.map(|filter| renamed(self.condition(filter), &table, &alias)).collect())
            }
        };
        let average = Expr::Aggregate(Aggregate::Average, vec![there(place)]);
        let whole = Query {
            items: vec![Item { expr: average, name: "average".to_owned() }],
            table,
            alias,
            filter,
            ..Query::default()
        };
        Condition::Compare(self.column(place), compare, Expr::Scalar(Box::new(whole)))
    }
}

/// A condition over a table as one over the same table under another name.
fn renamed(condition: Condition, table: &str, alias: &str) -> Condition {
    let each = |list: Vec<Condition>| list.into_iter().map(|one| renamed(one, table, alias)).collect();
    let name = |mut expr: Expr| {
        rename(&mut expr, table, alias);
        expr
    };
    match condition {
        Condition::Compare(left, compare, right) => Condition::Compare(name(left), compare, name(right)),
        Condition::In(expr, values) => Condition::In(name(expr), values),
        Condition::InQuery(expr, query, negated) => Condition::InQuery(name(expr), query, negated),
        Condition::Like(expr, pattern) => Condition::Like(name(expr), pattern),
        Condition::IsNull(expr) => Condition::IsNull(name(expr)),
        Condition::Within(expr, from, to) => Condition::Within(name(expr), from, to),
        Condition::All(list) => Condition::All(each(list)),
        Condition::Any(list) => Condition::Any(each(list)),
        Condition::Not(inner) => Condition::Not(Box::new(renamed(*inner, table, alias))),
    }
}

fn rename(expr: &mut Expr, table: &str, alias: &str) {
    if let Expr::Column(known, _) = expr
        && known == table
    {
        alias.clone_into(known);
    }
    expr.children_mut().into_iter().for_each(|inner| rename(inner, table, alias));
}

/// The first day of the period before.
fn before(from: NaiveDate, grain: Grain) -> Option<NaiveDate> {
    match grain {
        Grain::Day => from.checked_sub_days(Days::new(1)),
        Grain::Week => from.checked_sub_days(Days::new(7)),
        Grain::Month => from.checked_sub_months(Months::new(1)),
        Grain::Quarter => from.checked_sub_months(Months::new(3)),
        Grain::Year => from.checked_sub_months(Months::new(12)),
    }
}
