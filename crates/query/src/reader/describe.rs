//! A form in plain words, for assumptions, questions back and titles.

use super::form::{Baseline, Filter, Form, Group, Measure, OrderKey, Scalar, Tally, TimeUnit};
use super::lexicon::DatePart;
use super::link::{ColumnRef, Schema};
use super::lower::grain_name;
use crate::query::{Aggregate, Compare};

/// What a form asks, as a phrase.
pub(super) fn describe(form: &Form, schema: &Schema) -> String {
    let label =
        |place: ColumnRef| schema.column(place).map_or_else(String::new, |column| column.label.clone());
    let mut parts: Vec<String> = Vec::new();
    let measures: Vec<String> = form.measures.iter().map(|measure| measure_words(measure, &label)).collect();
    if measures.is_empty() {
        let shown: Vec<String> = form.show.iter().map(|place| label(*place)).collect();
        let table = schema.table(form.table).map_or_else(String::new, |table| table.label.clone());
        parts.push(if shown.is_empty() { format!("rows of {table}") } else { shown.join(", ") });
    } else {
        parts.push(measures.join(" and "));
    }
    let groups: Vec<String> = form.groups.iter().map(|group| group_words(group, &label)).collect();
    if !groups.is_empty() {
        parts.push(format!("by {}", groups.join(" and ")));
    }
    let filters: Vec<String> = form.filters.iter().map(|filter| filter_words(filter, &label)).collect();
    if !filters.is_empty() {
        parts.push(format!("where {}", filters.join(" and ")));
    }
    for (measure, compare, number) in &form.having {
        let words = measures.get(*measure).cloned().unwrap_or_default();
        parts.push(format!("with {words} {} {number}", compare_words(*compare)));
    }
    for (measure, compare, baseline) in &form.beyond {
        let words = measures.get(*measure).cloned().unwrap_or_default();
        let than = match baseline {
            Baseline::Overall => "that of all rows",
            Baseline::Groups => "the average of all",
        };
        parts.push(format!("with {words} {} {than}", compare_words(*compare)));
    }
    match form.tally {
        Some(Tally::Groups) => parts.insert(0, "how many groups there are of".to_owned()),
        Some(Tally::Sizes) => parts.insert(0, "how many groups have each".to_owned()),
        None => {}
    }
    if let Some(limit) = form.limit {
        let end = match form.order {
            Some((OrderKey::Position, true)) => "last rows first",
            Some((OrderKey::Position, false)) => "in the order of the table",
            Some((_, true)) => "largest first",
            Some((_, false)) => "smallest first",
            None => "as they come",
        };
        let within = form
            .within
            .and_then(|at| within_words(form, at, &groups, &label))
            .map(|group| format!(" for each {group}"));
        parts.push(format!("the first {limit}{}, {end}", within.unwrap_or_default()));
    } else if let Some((OrderKey::Column(place), down)) = form.order {
        parts.push(format!("ordered by {}{}", label(place), if down { ", largest first" } else { "" }));
    }
    if let Some(every) = form.every.and_then(|table| schema.table(table)) {
        parts.push(format!("common to all rows of {}", every.label));
    }
    if let Some(also) = &form.also {
        parts.push(format!("and {}", describe(also, schema)));
    }
    if let Some(beside) = &form.beside {
        let anchor: Vec<String> = beside.anchor.iter().map(|filter| filter_words(filter, &label)).collect();
        parts.push(format!(
            "right {} the row where {}",
            if beside.after { "after" } else { "before" },
            anchor.join(" and ")
        ));
    }
    if form.share {
        parts.push("as a share of the total".to_owned());
    }
    if form.change {
        parts.push("with the change against the one before".to_owned());
    }
    parts.join(" ")
}

fn within_words(
    form: &Form,
    at: usize,
    groups: &[String],
    label: &dyn Fn(ColumnRef) -> String,
) -> Option<String> {
    groups.get(at).cloned().or_else(|| form.show.get(at).map(|place| label(*place)))
}

fn measure_words(measure: &Measure, label: &dyn Fn(ColumnRef) -> String) -> String {
    match measure {
        Measure::Rows => "number of rows".to_owned(),
        Measure::Of(aggregate, scalar) => {
            let of = match scalar {
                Scalar::Column(place) => label(*place),
                Scalar::Product(left, right) => format!("{} times {}", label(*left), label(*right)),
                Scalar::Quotient(left, right) => format!("{} over {}", label(*left), label(*right)),
                Scalar::Difference(left, right) => format!("{} less {}", label(*left), label(*right)),
                Scalar::Elapsed(from, to, unit) => {
                    let unit = match unit {
                        TimeUnit::Minutes => "minutes",
                        TimeUnit::Hours => "hours",
                        TimeUnit::Days => "days",
                    };
                    format!("{unit} from {} to {}", label(*from), label(*to))
                }
                Scalar::Period(_, grain) => format!("{}s", grain_name(*grain)),
            };
            let word = match aggregate {
                Aggregate::Sum => "total",
                Aggregate::Average => "average",
                Aggregate::Min => "lowest",
                Aggregate::Max => "highest",
                Aggregate::Median => "median",
                Aggregate::StdDev => "standard deviation of",
                Aggregate::Count | Aggregate::Correlation => "count of",
                Aggregate::CountDistinct => "number of different",
                Aggregate::Percentile(percent) => return format!("{percent}th percentile of {of}"),
            };
            format!("{word} {of}")
        }
        Measure::Ratio(left, right) => {
            format!("{} per {}", measure_words(left, label), measure_words(right, label))
        }
        Measure::Percent(left, right) => {
            format!("{} in % of {}", measure_words(left, label), measure_words(right, label))
        }
        Measure::Less(left, right) => {
            format!("{} less {}", measure_words(left, label), measure_words(right, label))
        }
        Measure::ShareWhere(filter) => format!("% of rows where {}", filter_words(filter, label)),
        Measure::RowsWhere(filter) => format!("number of rows where {}", filter_words(filter, label)),
        Measure::Correlation(left, right) => format!("correlation of {} and {}", label(*left), label(*right)),
        Measure::OfWhere(aggregate, scalar, filter) => {
            let whole = measure_words(&Measure::Of(*aggregate, scalar.clone()), label);
            format!("{whole} where {}", filter_words(filter, label))
        }
        Measure::PerMany(left, many, right) => {
            format!("{} per {many} of {}", measure_words(left, label), measure_words(right, label))
        }
        Measure::Span(place, _) => format!("time from the first to the last {}", label(*place)),
    }
}

fn group_words(group: &Group, label: &dyn Fn(ColumnRef) -> String) -> String {
    match group {
        Group::Column(place) => label(*place),
        Group::Period(place, grain) => format!("{} of {}", grain_name(*grain), label(*place)),
        Group::Part(place, part) => {
            let part = match part {
                DatePart::Weekday => "weekday",
                DatePart::Hour => "hour",
                DatePart::Month => "calendar month",
            };
            format!("{part} of {}", label(*place))
        }
        Group::Bracket(place, _) => format!("brackets of {}", label(*place)),
        Group::Holds(filter) => format!("whether {}", filter_words(filter, label)),
    }
}

fn filter_words(filter: &Filter, label: &dyn Fn(ColumnRef) -> String) -> String {
    let last = |to: &chrono::NaiveDate| to.pred_opt().unwrap_or(*to);
    match filter {
        Filter::Values { place, values, negated } => {
            format!("{} is {}{}", label(*place), if *negated { "not " } else { "" }, values.join(" or "))
        }
        Filter::Number(place, compare, number) => {
            format!("{} {} {number}", label(*place), compare_words(*compare))
        }
        Filter::Between(place, low, high) => format!("{} from {low} to {high}", label(*place)),
        Filter::Within(place, from, to) => format!("{} from {from} to {}", label(*place), last(to)),
        Filter::WithinAny(place, spans) => {
            let spans: Vec<String> =
                spans.iter().map(|(from, to)| format!("{from} to {}", last(to))).collect();
            format!("{} in {}", label(*place), spans.join(" or "))
        }
        Filter::Flag(place, set) => format!("{} is {}", label(*place), if *set { "yes" } else { "no" }),
        Filter::Missing(place, missing) => {
            format!("{} is {}", label(*place), if *missing { "empty" } else { "not empty" })
        }
        Filter::Columns(left, compare, right) => {
            format!("{} {} {}", label(*left), compare_words(*compare), label(*right))
        }
        Filter::Average(place, compare, within) => {
            let of = within.map_or_else(String::new, |within| format!(" of the same {}", label(within)));
            format!("{} {} the average{of}", label(*place), compare_words(*compare))
        }
        Filter::Parts(place, _, parts) => {
            let parts: Vec<String> = parts.iter().map(u32::to_string).collect();
            format!("{} in {}", label(*place), parts.join(", "))
        }
        Filter::SameAs(place, of) => {
            let of: Vec<String> = of.iter().map(|filter| filter_words(filter, label)).collect();
            format!("{} is the same as where {}", label(*place), of.join(" and "))
        }
        Filter::Never(place, of) => {
            let of: Vec<String> = of.iter().map(|filter| filter_words(filter, label)).collect();
            format!("{} without any row where {}", label(*place), of.join(" and "))
        }
        Filter::Any(sets) => {
            let set = |set: &Vec<Filter>| {
                let words: Vec<String> = set.iter().map(|filter| filter_words(filter, label)).collect();
                words.join(" and ")
            };
            sets.iter().map(set).collect::<Vec<_>>().join(", or ")
        }
    }
}

fn compare_words(compare: Compare) -> &'static str {
    match compare {
        Compare::Equal => "is",
        Compare::NotEqual => "is not",
        Compare::Less => "below",
        Compare::LessOrEqual => "at most",
        Compare::Greater => "above",
        Compare::GreaterOrEqual => "at least",
    }
}
