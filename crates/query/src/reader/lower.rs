//! A form as a query: joins, expressions, names of result columns, an order that fits.
//!
//! A measure is never summed over rows that a join has multiplied: `lower` says when that would
//! happen.

use super::form::{Filter, Form, Group, Measure, OrderKey, Scalar, TimeUnit};
use super::link::{ColumnRef, Schema};
use crate::catalogue::{Catalogue, Join};
use crate::frame::Kind;
use crate::planner::joins;
use crate::query::{Aggregate, Compare, Condition, Expr, Grain, Item, Literal, Query, SetOperation};
use crate::roles::Role;
use std::collections::BTreeSet;

/// The name of the result column with the change against the group before.
pub(super) const CHANGE: &str = "change";

/// A query made from a form.
#[derive(Debug, Clone)]
pub(crate) struct Lowered {
    pub query: Query,
    /// A join may multiply rows that are summed or counted.
    pub multiplies: bool,
}

/// Turns a form into a query. Nothing when its tables cannot be joined.
pub(crate) fn lower(form: &Form, schema: &Schema) -> Option<Lowered> {
    let mut lowered = Writer { form, schema }.query()?;
    if let Some(also) = &form.also {
        let other = lower(also, schema)?;
        lowered.multiplies |= other.multiplies;
        lowered.query.set = Some((SetOperation::Union, Box::new(other.query)));
    }
    Some(lowered)
}

pub(super) struct Writer<'a> {
    pub(super) form: &'a Form,
    pub(super) schema: &'a Schema<'a>,
}

impl Writer<'_> {
    pub(super) fn table_name(&self, table: usize) -> Option<String> {
        Some(self.schema.table(table)?.name.clone())
    }

    pub(super) fn column(&self, place: ColumnRef) -> Expr {
        let table = self.table_name(place.table).unwrap_or_default();
        Expr::Column(table, self.schema.column(place).map(|column| column.name.clone()).unwrap_or_default())
    }

    pub(super) fn label(&self, place: ColumnRef) -> String {
        self.schema.column(place).map_or_else(String::new, |column| {
            if column.label.is_empty() { column.name.clone() } else { column.label.clone() }
        })
    }

    pub(super) fn places(&self) -> Vec<ColumnRef> {
        let form = self.form;
        let mut places: Vec<ColumnRef> = form.show.clone();
        // What a condition looks at in rows of its own is not joined.
        places.extend(form.filters.iter().flat_map(|filter| match filter {
            Filter::Never(place, _) => vec![*place],
            other => other.places(),
        }));
        places.extend(form.groups.iter().map(Group::place));
        form.measures.iter().for_each(|measure| measure_places(measure, &mut places));
        if let Some((OrderKey::Column(place), _)) = form.order {
            places.push(place);
        }
        places
    }

    pub(super) fn query(&self) -> Option<Lowered> {
        let form = self.form;
        let mut tables: BTreeSet<usize> = self.places().iter().map(|place| place.table).collect();
        if tables.is_empty() || form.measures.contains(&Measure::Rows) {
            tables.insert(form.table);
        }
        tables.extend(form.every);
        let mut measured = Vec::new();
        form.measures.iter().for_each(|measure| measure_places(measure, &mut measured));
        let first = measured.first().map(|place| place.table);
        let counts = form.measures.contains(&Measure::Rows).then_some(form.table);
        let head = first.or(counts).filter(|table| tables.contains(table)).or_else(|| {
            tables.contains(&form.table).then_some(form.table).or_else(|| tables.first().copied())
        })?;
        let names: Vec<String> = tables.iter().filter_map(|table| self.table_name(*table)).collect();
        let head_name = self.table_name(head)?;
        let joins = if form.via.is_empty() {
            joins::tree(self.schema.catalogue, &head_name, &names)?
        } else {
            joins::tree(&self.preferring(&form.via), &head_name, &names)?
        };
        let fans = names.iter().any(|other| joins::fans_out(self.schema.catalogue, &head_name, other));
        // Rows that a join repeats are counted by their key.
        let key = self.key(head).filter(|_| fans);
        let counted = |measure: &Measure| match (measure, key) {
            (Measure::Rows, Some(key)) => Measure::Of(Aggregate::CountDistinct, Scalar::Column(key)),
            (other, _) => other.clone(),
        };
        let fixed = Form { measures: form.measures.iter().map(counted).collect(), ..form.clone() };
        let writer = Writer { form: &fixed, schema: self.schema };
        let multiplies = fans && fixed.measures.iter().any(|measure| !is_safe(measure));
        let mut query = Query {
            table: head_name.clone(),
            alias: head_name,
            joins,
            distinct: form.distinct,
            ..Query::default()
        };
        let conditions = form.filters.iter().map(|filter| self.condition(filter));
        query.filter = all(conditions.chain(self.named_groups()).collect());
        self.place_rows(&mut query, head);
        if form.measures.is_empty() {
            self.list(&mut query, head);
            if let Some(every) = form.every {
                self.relate_to_every(&mut query, head, every)?;
            }
            let query = if form.within.is_some() { self.rows_within(query) } else { query };
            return Some(Lowered { query, multiplies });
        }
        if form.pivot
            && let Some(query) = writer.pivot(query.clone())
        {
            return Some(Lowered { query, multiplies });
        }
        writer.aggregate(&mut query);
        let query = match form.tally {
            Some(tally) => writer.tally(query, tally),
            None if form.within.is_some() => writer.within_groups(query),
            None if form.change => writer.with_before(query),
            None => query,
        };
        Some(Lowered { query, multiplies })
    }

    /// The catalogue without the ways between two tables that were not named, where one was.
    pub(super) fn preferring(&self, via: &[ColumnRef]) -> Catalogue {
        let named = |join: &Join| {
            via.iter().any(|place| {
                self.schema.table(place.table).is_some_and(|table| table.name == join.from.0)
                    && self
                        .schema
                        .column(*place)
                        .is_some_and(|column| join.from.1.first() == Some(&column.name))
            })
        };
        let known = self.schema.catalogue;
        let joins = known.joins.iter().filter(|join| {
            named(join)
                || !known
                    .joins
                    .iter()
                    .any(|other| named(other) && other.from.0 == join.from.0 && other.to.0 == join.to.0)
        });
        Catalogue { joins: joins.cloned().collect(), tables: known.tables.clone() }
    }

    /// The one column that tells the rows of a table apart.
    pub(super) fn key(&self, table: usize) -> Option<ColumnRef> {
        let known = self.schema.table(table)?;
        let [name] = known.primary_key.as_slice() else { return None };
        let column = known.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))?;
        Some(ColumnRef { table, column })
    }

    /// Keeps the things of `head` that are related to as many things of `every` as there are.
    pub(super) fn relate_to_every(&self, query: &mut Query, head: usize, every: usize) -> Option<()> {
        let column =
            |table: usize| Some(self.column(self.key(table).unwrap_or(ColumnRef { table, column: 0 })));
        let (thing, other) = (column(head)?, column(every)?);
        query.group = query.items.iter().map(|item| item.expr.clone()).collect();
        if !query.group.contains(&thing) {
            query.group.insert(0, thing);
        }
        let name = self.table_name(every)?;
        let count = Expr::Aggregate(Aggregate::Count, vec![Expr::Star]);
        let whole = Query {
            items: vec![Item { expr: count, name: "count".to_owned() }],
            table: name.clone(),
            alias: name,
            ..Query::default()
        };
        let met = Expr::Aggregate(Aggregate::CountDistinct, vec![other]);
        query.having = Some(Condition::Compare(met, Compare::Equal, Expr::Scalar(Box::new(whole))));
        Some(())
    }

    pub(super) fn list(&self, query: &mut Query, head: usize) {
        let form = self.form;
        let mut items: Vec<Item> = Vec::new();
        let columns = self.schema.table(head).map_or(0, |table| table.columns.len());
        let every: Vec<ColumnRef> = (0..columns).map(|column| ColumnRef { table: head, column }).collect();
        for place in if form.show.is_empty() { &every } else { &form.show } {
            let item = Item { expr: self.column(*place), name: self.label(*place) };
            if !items.iter().any(|known| known.expr == item.expr) {
                items.push(item);
            }
        }
        unique(&mut items);
        query.items = items;
        if let Some((OrderKey::Column(place), down)) = form.order {
            let key = self.number(place);
            // Empty cells are no extremes.
            let there = Condition::Not(Box::new(Condition::IsNull(key.clone())));
            if form.limit.is_some() {
                query.filter = all(query.filter.take().into_iter().chain([there]).collect());
            }
            query.order = vec![(key, down)];
        }
        if let Some((OrderKey::Position, down)) = form.order {
            query.order = vec![(self.position(head), down)];
        }
        query.limit = form.limit;
        // A list of what there is has no line for what is not there.
        if let ([only], true) = (form.show.as_slice(), form.distinct)
            && self.schema.column(*only).is_some_and(|column| column.nulls > 0)
            && !form.filters.iter().any(|filter| filter.place() == *only)
        {
            let there = Condition::Not(Box::new(Condition::IsNull(self.column(*only))));
            query.filter = all(query.filter.take().into_iter().chain([there]).collect());
        }
    }

    pub(super) fn aggregate(&self, query: &mut Query) {
        let form = self.form;
        let groups: Vec<Expr> = form.groups.iter().map(|group| self.group(group)).collect();
        for (group, expr) in form.groups.iter().zip(&groups) {
            query.items.push(Item { expr: self.group_label(group, expr), name: self.group_name(group) });
        }
        let measures: Vec<Expr> = form.measures.iter().map(|measure| self.measure(measure)).collect();
        let timed =
            form.groups.iter().position(|group| matches!(group, Group::Period(..)) || self.is_year(group));
        let listed = if form.names_only && !groups.is_empty() { &[] } else { form.measures.as_slice() };
        for (measure, expr) in listed.iter().zip(&measures) {
            let name = self.measure_name(measure);
            query.items.push(Item { expr: expr.clone(), name: name.clone() });
            if form.share && !groups.is_empty() {
                query.items.push(Item {
                    expr: hundred(Expr::ShareOfTotal(Box::new(expr.clone()))),
                    name: format!("share of {name} in %"),
                });
            }
            let ordered = timed.or_else(|| self.ordered_group().filter(|_| form.running));
            let Some(time) = ordered.and_then(|at| groups.get(at)) else { continue };
            let others: Vec<Expr> = groups.iter().filter(|group| *group != time).cloned().collect();
            let before = Expr::Previous {
                value: Box::new(expr.clone()),
                partition: others.clone(),
                order: vec![(time.clone(), false)],
            };
            if form.change {
                let change = Expr::Arithmetic('-', Box::new(expr.clone()), Box::new(before.clone()));
                let rate = Expr::Arithmetic('/', Box::new(change.clone()), Box::new(before));
                query.items.push(Item { expr: change, name: CHANGE.to_owned() });
                query.items.push(Item { expr: hundred(rate), name: "change in %".to_owned() });
            }
            if form.running {
                let running = Expr::RunningSum {
                    value: Box::new(expr.clone()),
                    partition: others,
                    order: vec![(time.clone(), false)],
                };
                query.items.push(Item { expr: running, name: format!("running {name}") });
            }
        }
        unique(&mut query.items);
        query.group = groups.clone();
        let having = form.having.iter().filter_map(|(measure, compare, number)| {
            Some(Condition::Compare(
                measures.get(*measure)?.clone(),
                *compare,
                Expr::Literal(literal(*number)),
            ))
        });
        let beyond = form.beyond.iter().filter_map(|(measure, compare, baseline)| {
            let measure = measures.get(*measure)?.clone();
            let baseline = self.baseline(query, &measure, *baseline);
            Some(Condition::Compare(measure, *compare, baseline))
        });
        let conditions: Vec<Condition> = having.chain(beyond).collect();
        query.having = all(conditions);
        query.limit = form.limit;
        query.order = match form.order {
            Some((OrderKey::Measure(at), down)) => {
                measures.get(at).map(|measure| (measure.clone(), down)).into_iter().collect()
            }
            Some((OrderKey::Column(place), down)) => vec![(self.column(place), down)],
            Some((OrderKey::Position, _)) | None => self.natural_order(&groups, &measures, timed),
        };
    }

    /// Rows without the value that makes their group are no extreme of it.
    fn named_groups(&self) -> Vec<Condition> {
        let form = self.form;
        let ranked = form.limit.is_some()
            && matches!(form.order, Some((OrderKey::Measure(_), _)))
            && !form.measures.is_empty();
        let gaps = form.groups.iter().filter_map(|group| match group {
            Group::Column(place) if ranked => {
                let column = self.schema.column(*place).filter(|column| column.nulls > 0)?;
                let asked = form.filters.iter().any(|filter| filter.place() == *place);
                (!asked && column.distinct > 0).then_some(*place)
            }
            _ => None,
        });
        gaps.map(|place| Condition::Not(Box::new(Condition::IsNull(self.column(place))))).collect()
    }

    /// The values of the last group as columns.
    pub(super) fn pivot(&self, mut query: Query) -> Option<Query> {
        let (last, rows) = self.form.groups.split_last()?;
        let Group::Column(place) = last else { return None };
        let column =
            self.schema.column(*place).filter(|column| column.complete && column.values.len() <= 20)?;
        let measure = self.form.measures.first().map(|measure| self.measure(measure))?;
        let Expr::Aggregate(aggregate, arguments) = measure else { return None };
        let counted = arguments.first().filter(|argument| **argument != Expr::Star).cloned();
        let counted = counted.unwrap_or(Expr::Literal(Literal::Int(1)));
        for group in rows {
            query.items.push(Item { expr: self.group(group), name: self.group_name(group) });
            query.group.push(self.group(group));
            query.order.push((self.group(group), false));
        }
        let mut values: Vec<&String> = column.values.iter().map(|(value, _)| value).collect();
        values.sort();
        for value in values {
            let filter = Filter::Values { place: *place, values: vec![value.clone()], negated: false };
            let cell = Expr::When(Box::new(self.condition(&filter)), Box::new(counted.clone()));
            query.items.push(Item { expr: Expr::Aggregate(aggregate, vec![cell]), name: value.clone() });
        }
        unique(&mut query.items);
        Some(query)
    }

    /// The first group of numbers: its values follow each other.
    pub(super) fn ordered_group(&self) -> Option<usize> {
        self.form.groups.iter().position(|group| {
            matches!(group, Group::Column(place)
                if self.schema.column(*place).is_some_and(|column| column.kind.is_number()))
        })
    }

    /// Time ascending; otherwise the largest first.
    pub(super) fn natural_order(
        &self,
        groups: &[Expr],
        measures: &[Expr],
        timed: Option<usize>,
    ) -> Vec<(Expr, bool)> {
        let ordered = |at: usize| match self.form.groups.get(at) {
            Some(Group::Period(..) | Group::Part(..) | Group::Bracket(..)) => true,
            Some(Group::Column(place)) => {
                self.schema.column(*place).is_some_and(|column| column.kind != Kind::Text)
            }
            Some(Group::Holds(_)) | None => false,
        };
        if let Some(at) = timed.or_else(|| (groups.len() == 1 && ordered(0)).then_some(0)) {
            let mut order: Vec<(Expr, bool)> =
                groups.get(at).map(|group| (group.clone(), false)).into_iter().collect();
            order.extend(
                groups
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other != at)
                    .map(|(_, group)| (group.clone(), false)),
            );
            return order;
        }
        if groups.len() > 1 {
            return groups.iter().map(|group| (group.clone(), false)).collect();
        }
        measures
            .first()
            .filter(|_| !groups.is_empty())
            .map(|measure| (measure.clone(), true))
            .into_iter()
            .collect()
    }

    pub(super) fn is_year(&self, group: &Group) -> bool {
        matches!(group, Group::Column(place) if self.schema.role(*place) == Role::Year)
    }
}

/// Whether a measure stays right when rows are repeated.
fn is_safe(measure: &Measure) -> bool {
    match measure {
        Measure::Of(aggregate, _) => {
            matches!(aggregate, Aggregate::CountDistinct | Aggregate::Min | Aggregate::Max)
        }
        Measure::Ratio(left, right)
        | Measure::Percent(left, right)
        | Measure::PerMany(left, _, right)
        | Measure::Less(left, right) => is_safe(left) && is_safe(right),
        Measure::Span(..) => true,
        Measure::OfWhere(aggregate, ..) => {
            matches!(aggregate, Aggregate::CountDistinct | Aggregate::Min | Aggregate::Max)
        }
        Measure::Rows | Measure::ShareWhere(_) | Measure::RowsWhere(_) | Measure::Correlation(..) => false,
    }
}

pub(crate) fn measure_places(measure: &Measure, places: &mut Vec<ColumnRef>) {
    match measure {
        Measure::Rows => {}
        Measure::Of(_, scalar) => scalar_places(scalar, places),
        Measure::OfWhere(_, scalar, filter) => {
            scalar_places(scalar, places);
            places.extend(filter.places());
        }
        Measure::Span(place, _) => places.push(*place),
        Measure::Ratio(left, right)
        | Measure::Percent(left, right)
        | Measure::PerMany(left, _, right)
        | Measure::Less(left, right) => {
            measure_places(left, places);
            measure_places(right, places);
        }
        Measure::ShareWhere(filter) | Measure::RowsWhere(filter) => places.extend(filter.places()),
        Measure::Correlation(left, right) => places.extend([*left, *right]),
    }
}

fn scalar_places(scalar: &Scalar, places: &mut Vec<ColumnRef>) {
    match scalar {
        Scalar::Column(place) | Scalar::Period(place, _) => places.push(*place),
        Scalar::Product(a, b)
        | Scalar::Quotient(a, b)
        | Scalar::Difference(a, b)
        | Scalar::Elapsed(a, b, _) => places.extend([*a, *b]),
    }
}

/// Days in another unit.
pub(super) fn in_unit(days: Expr, unit: TimeUnit) -> Expr {
    let times = match unit {
        TimeUnit::Days => return days,
        TimeUnit::Hours => 24,
        TimeUnit::Minutes => 24 * 60,
    };
    Expr::Arithmetic('*', Box::new(days), Box::new(Expr::Literal(Literal::Int(times))))
}

pub(super) fn grain_name(grain: Grain) -> &'static str {
    match grain {
        Grain::Day => "day",
        Grain::Week => "week",
        Grain::Month => "month",
        Grain::Quarter => "quarter",
        Grain::Year => "year",
    }
}

pub(super) fn hundred(share: Expr) -> Expr {
    Expr::Arithmetic('*', Box::new(share), Box::new(Expr::Literal(Literal::Int(100))))
}

/// A number as the smallest literal that holds it.
pub(super) fn literal(number: f64) -> Literal {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        Literal::Int(number as i64)
    } else {
        Literal::Float(number)
    }
}

pub(super) fn all(mut conditions: Vec<Condition>) -> Option<Condition> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => Some(Condition::All(conditions)),
    }
}

/// Result columns have different names.
fn unique(items: &mut [Item]) {
    for at in 0..items.len() {
        let (before, rest) = items.split_at_mut(at);
        let Some(item) = rest.first_mut() else { continue };
        let mut count = 2;
        let base = item.name.clone();
        while before.iter().any(|known| known.name.eq_ignore_ascii_case(&item.name)) {
            item.name = format!("{base} {count}");
            count += 1;
        }
    }
}
