//! Features of conditions: whether the column of each is named, and whether its sense is said.

use super::super::form::{Filter, Form, Group, Measure, Scalar};
use super::super::lexicon::Operator;
use super::super::link::ColumnRef;
use super::features::Features;
use super::mentions::{Before, Behind, Mention};
use super::search::Search;
use crate::query::Aggregate;
use crate::roles::Role;

fn named<'a>(search: &'a Search, place: ColumnRef) -> Option<&'a Mention> {
    (search.mentions.iter())
        .filter(|mention| mention.place == place)
        .max_by(|a, b| a.quality.total_cmp(&b.quality))
}

/// Adds the features of a form's conditions.
pub(super) fn add(search: &Search, form: &Form, out: &mut Features) {
    for filter in &form.filters {
        condition(search, form, filter, out);
    }
    for (at, _, _) in &form.having {
        let name = match form.measures.get(*at) {
            Some(Measure::Rows) => "having rows",
            Some(Measure::Of(aggregate, _)) if search.said_aggregates().contains(aggregate) => "having, said",
            Some(Measure::Of(Aggregate::CountDistinct, _)) => "having things",
            _ => "having, not said",
        };
        out.push((name.to_owned(), 1.0));
        if form.tally.is_some() {
            out.push((format!("counted groups, {name}"), 1.0));
        }
    }
    for group in &form.groups {
        group_of_condition(search, form, group, out);
    }
    if form.pivot {
        out.push(("pivot".to_owned(), 1.0));
    }
    for measure in &form.measures {
        if let Measure::Of(_, Scalar::Elapsed(from, to, _)) = measure {
            duration(search, *from, *to, out);
        }
    }
}

fn condition(search: &Search, form: &Form, filter: &Filter, out: &mut Features) {
    let place = filter.place();
    match filter {
        Filter::Within(..) | Filter::WithinAny(..) | Filter::Parts(..) => {
            out.push((format!("period on {}", time_name(search, place)), 1.0));
            if place.table != form.table {
                out.push(("period of another table".to_owned(), 1.0));
            }
        }
        Filter::Number(_, _, number) | Filter::Between(_, number, _) => {
            let name = match named(search, place) {
                Some(mention)
                    if matches!(mention.before, Before::Compare | Before::Number)
                        || matches!(mention.behind, Behind::Compare | Behind::Value) =>
                {
                    "number on adjacent name"
                }
                Some(_) => "number on named column",
                None => "number on column not named",
            };
            out.push((name.to_owned(), 1.0));
            if !search.schema.role(place).is_number() {
                out.push(("number on no measure".to_owned(), 1.0));
            }
            if !search.reaches(place, *number) {
                out.push(("number out of reach".to_owned(), 1.0));
            }
        }
        Filter::Missing(_, missing) => {
            if !missing && form.groups.iter().any(|group| group.place() == place) {
                let said = search.says(|operator| matches!(operator, Operator::Not | Operator::Missing));
                out.push((format!("empty groups left out, {}", if said { "said" } else { "not said" }), 1.0));
                return;
            }
            let sense = if *missing { "missing" } else { "present" };
            let name = match named(search, place) {
                Some(mention) if search.is_negated(mention.at) => "negated",
                Some(_) => "not negated",
                None => "not named",
            };
            out.push((format!("{sense}, {name}"), 1.0));
            out.push((
                format!("{sense} {}", if search.schema.role(place) == Role::Time { "time" } else { "cell" }),
                1.0,
            ));
        }
        Filter::Flag(_, set) => {
            let name = match named(search, place) {
                Some(mention) if search.is_negated(mention.at) => "negated",
                Some(_) => "not negated",
                None => "not named",
            };
            out.push((format!("flag {}, {name}", if *set { "set" } else { "not set" }), 1.0));
        }
        Filter::Columns(left, _, right) => {
            let both = named(search, *left).is_some() && named(search, *right).is_some();
            out.push((format!("columns compared, {} named", if both { "both" } else { "one" }), 1.0));
        }
        _ => {}
    }
}

fn time_name(search: &Search, place: ColumnRef) -> &'static str {
    if named(search, place).is_some() {
        return "named time";
    }
    if search.named_times().contains(&place) {
        return "time by root";
    }
    let first =
        search.schema.places().find(|(other, role)| *role == Role::Time && other.table == place.table);
    if first.is_some_and(|(first, _)| first == place) { "first time" } else { "other time" }
}

/// Groups of a period, and those whose values a condition lists.
fn group_of_condition(search: &Search, form: &Form, group: &Group, out: &mut Features) {
    let place = group.place();
    if matches!(group, Group::Period(..) | Group::Part(..)) {
        out.push((format!("period group on {}", time_name(search, place)), 1.0));
        if place.table != form.table {
            out.push(("period group of another table".to_owned(), 1.0));
        }
        return;
    }
    let listed = form.filters.iter().any(|filter| {
        matches!(filter, Filter::Values { place: known, values, negated: false } if *known == place && values.len() > 1)
    });
    if listed {
        let contrast = search.says(|operator| matches!(operator, Operator::Versus | Operator::Contrast));
        let either = search.says(|operator| operator == Operator::Or);
        let name = if contrast {
            "compared"
        } else if either {
            "either"
        } else {
            "listed"
        };
        out.push((format!("group of values, {name}"), 1.0));
    }
    let other = form.filters.iter().any(|filter| {
        matches!(filter, Filter::Values { place: known, values, negated: false } if *known != place && values.len() > 1)
    });
    if other {
        out.push(("values listed, other group".to_owned(), 1.0));
    }
}

fn duration(search: &Search, from: ColumnRef, to: ColumnRef, out: &mut Features) {
    let times = search.named_times();
    let known = [from, to].iter().filter(|place| times.contains(place)).count();
    let name = ["none", "one", "both"].get(known).copied().unwrap_or_default();
    out.push((format!("duration, {name} named"), 1.0));
    let asked = if search.counts_time() { "asked" } else { "not asked" };
    out.push((format!("duration, {asked}"), 1.0));
    if from.table != to.table {
        out.push(("duration over two tables".to_owned(), 1.0));
    }
}
