//! A follow-up as an edit of the form before: another measure, group, condition, period, order or limit.

use super::form::{Filter, Form, Measure, OrderKey};
use super::interpret::Interpretation;
use super::lexicon::Operator;
use super::link::{Mark, Schema};
use crate::roles::Role;

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
    opens || bare
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
    let measures: Vec<Measure> =
        (new.measures.iter()).filter(|measure| counts || **measure != Measure::Rows).cloned().collect();
    if !measures.is_empty() && !lists {
        form.measures = measures;
        form.having.clear();
        if let Some((OrderKey::Measure(at), _)) = &mut form.order {
            *at = 0;
        }
    }
    if !new.groups.is_empty() {
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
    form.share = new.share || form.share && measures_kept(before, &form);
    form.change |= new.change;
    form.running |= new.running;
    form.chart = new.chart.or(form.chart);
    form
}

fn measures_kept(before: &Form, form: &Form) -> bool {
    before.measures == form.measures
}
