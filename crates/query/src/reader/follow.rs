//! A follow-up as an edit of the form before: another measure, group, condition, period, order or
//! limit.
//!
//! The invariant: what a follow-up does not mention stays as it was.

use super::form::{Filter, Form, Group, Measure, OrderKey, Scalar};
use super::interpret::Interpretation;
use super::lexicon::Operator;
use super::link::{ColumnRef, Mark, Schema};
use crate::query::Aggregate;
use crate::roles::Role;

/// How many marks say what is wanted: "revenue instead of orders" says after "instead of" what is
/// not.
pub(super) fn wanted(marks: &[Mark]) -> usize {
    let replaced = marks
        .iter()
        .skip(1)
        .position(|mark| mark.operator == Some(Operator::Instead) && mark.text.to_lowercase() != "instead");
    replaced.map_or(marks.len(), |at| at + 1)
}

/// Whether a question leans on the one before.
pub(super) fn leans(marks: &[Mark], read: &Interpretation) -> bool {
    let text = |at: usize| marks.get(at).map(|mark| mark.text.to_lowercase()).unwrap_or_default();
    let first = text(0);
    let opens = matches!(
        first.as_str(),
        "and"
            | "now"
            | "only"
            | "without"
            | "excluding"
            | "except"
            | "exclude"
            | "by"
            | "as"
            | "instead"
            | "also"
            | "then"
            | "just"
            | "same"
            | "sort"
            | "sort by"
            | "order by"
            | "sorted by"
            | "ok"
            | "but"
            | "per"
            | "for"
            | "in"
            | "with"
            | "remove"
            | "limit"
            | "restrict"
            | "filter"
            | "keep"
            | "drop"
            | "leave out"
            | "add"
            | "include"
            | "which ones"
    ) || first == "what" && text(1) == "about"
        || first == "how" && text(1) == "about"
        || marks.iter().any(|mark| matches!(mark.operator, Some(Operator::Instead)))
        || marks.iter().any(|mark| {
            matches!(
                mark.text.to_lowercase().as_str(),
                "that" | "those" | "them" | "these" | "it" | "same" | "their"
            )
        });
    let bare = read.form.measures.iter().all(|measure| *measure == Measure::Rows) && marks.len() <= 6;
    opens || bare && !names_things(marks)
}

/// "Show all votes": what is asked for is named in full.
fn names_things(marks: &[Mark]) -> bool {
    let asks = matches!(marks.first().and_then(|mark| mark.operator), Some(Operator::Show));
    asks && marks.iter().any(|mark| mark.table_quality() >= 0.95 && mark.values.is_empty())
}

/// The aggregate of a follow-up that names no column for it: "and the median?".
fn bare_aggregate(read: &Interpretation, marks: &[Mark]) -> Option<Aggregate> {
    let named = read.form.measures.iter().any(|measure| *measure != Measure::Rows);
    let said = marks.iter().find_map(|mark| match mark.operator {
        Some(Operator::Aggregate(aggregate)) => Some(aggregate),
        _ => None,
    });
    // "as a share of the total" names no sum.
    let whole = read.form.share || marks.iter().any(|mark| mark.operator == Some(Operator::Share));
    said.filter(|_| !named && !whole)
}

/// The columns that a follow-up of a list wants to see, where it asks for nothing else.
fn listed(before: &Form, read: &Interpretation, marks: &[Mark]) -> Option<Vec<ColumnRef>> {
    let has = |wanted: fn(Operator) -> bool| marks.iter().any(|mark| mark.operator.is_some_and(wanted));
    let shows = has(|operator| matches!(operator, Operator::Show | Operator::Which | Operator::Only));
    let measures = has(|operator| {
        matches!(
            operator,
            Operator::Aggregate(_)
                | Operator::Count
                | Operator::Group
                | Operator::HowMuch
                | Operator::Top(_)
                | Operator::Superlative(_)
                | Operator::Common(_)
                | Operator::Share
                | Operator::Order
                | Operator::Grain(_)
        )
    });
    let is_list = before.measures.is_empty() && before.order.is_none_or(|_| before.limit.is_none());
    let mut places: Vec<ColumnRef> = Vec::new();
    for (_, place) in &read.columns {
        if !places.contains(place) && !read.form.filters.iter().any(|filter| filter.places().contains(place))
        {
            places.push(*place);
        }
    }
    (is_list && shows && !measures && !read.form.measures.is_empty() && !places.is_empty()).then_some(places)
}

/// A condition on the column of the same name in the table that was asked about, where the form
/// before does not know the other table.
fn near(filter: &Filter, before: &Form, schema: &Schema) -> Filter {
    let Filter::Values { place, values, negated } = filter else { return filter.clone() };
    let known = before.filters.iter().flat_map(Filter::places).chain(before.groups.iter().map(Group::place));
    let known = known.chain(before.show.iter().copied()).any(|other| other.table == place.table);
    let name = |place: ColumnRef| schema.column(place).map(|column| column.name.to_lowercase());
    let columns = schema.table(before.table).map_or(0, |table| table.columns.len());
    let twin = (0..columns)
        .map(|column| ColumnRef { table: before.table, column })
        .find(|twin| name(*twin).is_some() && name(*twin) == name(*place))
        .filter(|_| !known && place.table != before.table);
    Filter::Values { place: twin.unwrap_or(*place), values: values.clone(), negated: *negated }
}

/// The form before with the changes that a follow-up names.
pub(super) fn edit(before: &Form, read: &Interpretation, marks: &[Mark], schema: &Schema) -> Form {
    let mut form = before.clone();
    let new = &read.form;
    let has = |wanted: fn(Operator) -> bool| marks.iter().any(|mark| mark.operator.is_some_and(wanted));
    let counts = has(|operator| operator == Operator::Count);
    let lists = has(|operator| operator == Operator::Show) && new.measures.is_empty() && !new.show.is_empty();
    if lists {
        form = Form {
            filters: form.filters,
            table: new.table,
            show: new.show.clone(),
            distinct: new.distinct,
            ..Form::default()
        };
    }
    // "list the countries", then "sort by life expectancy": what is sorted by is shown.
    if form.measures.is_empty()
        && let Some((OrderKey::Column(place), down)) = new.order
    {
        if !form.show.is_empty() && !form.show.contains(&place) {
            form.show.push(place);
            form.distinct = false;
        }
        form.order = Some((OrderKey::Column(place), down));
    }
    let columns = listed(before, read, marks);
    if let Some(columns) = &columns {
        form.show.clone_from(columns);
    }
    if let Some(aggregate) = bare_aggregate(read, marks) {
        for measure in &mut form.measures {
            if let Measure::Of(known, Scalar::Column(_) | Scalar::Product(..)) = measure {
                *known = aggregate;
            }
        }
    }
    let lists = lists || columns.is_some();
    let measures: Vec<Measure> =
        (new.measures.iter()).filter(|measure| counts || **measure != Measure::Rows).cloned().collect();
    if !measures.is_empty() && !lists {
        form.measures = measures;
        form.having.clear();
        if let Some((OrderKey::Measure(at), _)) = &mut form.order {
            *at = 0;
        }
    }
    if !new.groups.is_empty() && columns.is_none() {
        form.groups = new.groups.clone();
        if form.measures.is_empty() {
            form.measures.push(Measure::Rows);
        }
        form.show.clear();
        form.within = None;
        let timed = form.groups.iter().any(|group| matches!(group, super::Group::Period(..)));
        if timed || new.limit.is_none() && before.groups != form.groups && form.limit == Some(1) {
            form.limit = None;
            form.order = None;
        }
    }
    for filter in &new.filters {
        let filter = &near(filter, before, schema);
        let place = filter.place();
        let negated = matches!(filter, Filter::Values { negated: true, .. });
        form.filters.retain(|known| {
            let both_negated = matches!(known, Filter::Values { negated: true, .. }) == negated;
            let time = |filter: &Filter| matches!(schema.role(filter.place()), Role::Time | Role::Year);
            !(known.place() == place && both_negated || time(known) && time(filter))
        });
        form.filters.push(filter.clone());
        // A group that is now one value says nothing.
        if let Filter::Values { values, negated: false, .. } = filter
            && values.len() == 1
            && form.groups.len() == 1
        {
            form.groups.retain(|group| *group != super::Group::Column(place));
        }
    }
    if let Some(limit) = new.limit {
        form.limit = Some(limit);
        if form.order.is_none() && !form.measures.is_empty() {
            form.order = Some((OrderKey::Measure(0), !matches!(new.order, Some((_, false)))));
        }
    }
    if let Some((OrderKey::Column(place), down)) = new.order
        && !form.measures.is_empty()
    {
        form.order = Some((order_key(&mut form, place, schema), down));
    }
    form.share = new.share || form.share && measures_kept(before, &form);
    form.change |= new.change;
    form.running |= new.running;
    form.chart = new.chart.or(form.chart);
    form
}

/// What the rows of measures are sorted by: a group, a measure of the column, or a new one of it,
/// because what is sorted by is shown.
fn order_key(form: &mut Form, place: ColumnRef, schema: &Schema) -> OrderKey {
    if form.groups.iter().any(|group| group.place() == place) || !schema.role(place).is_number() {
        return OrderKey::Column(place);
    }
    let is_of = |measure: &Measure| matches!(measure, Measure::Of(_, Scalar::Column(of)) if *of == place);
    let known = form.measures.iter().position(is_of);
    OrderKey::Measure(known.unwrap_or_else(|| {
        let aggregate = if schema.role(place) == Role::Measure { Aggregate::Sum } else { Aggregate::Average };
        form.measures.push(Measure::Of(aggregate, Scalar::Column(place)));
        form.measures.len() - 1
    }))
}

fn measures_kept(before: &Form, form: &Form) -> bool {
    before.measures == form.measures
}
