//! Two lists in one question: "jazz bands and rock bands from 1985", "all chefs and just the
//! waiters who speak French".
//!
//! A condition that stands behind the second list may hold for both. Words decide where they can;
//! else both are proposed.

use super::form::{Filter, Form};
use super::lexicon::Operator;
use super::link::{ColumnRef, Mark, Schema, ValueLink};
use super::lists::{ListReading, computes, has_word, table_of, targets};
use crate::query::Compare;
use crate::roles::Role;

/// What one of the two lists holds.
#[derive(Debug, Clone)]
enum Head {
    /// Rows with a value.
    Value(ValueLink),
    /// Things of a table, or one column of it.
    Things(usize, Vec<ColumnRef>),
}

/// A condition with the mark it stands at and the columns that it may be about.
struct Condition {
    at: usize,
    options: Vec<Filter>,
}

const BOTH: &str = "both either same there those too";
const APART: &str = "also addition just only then include including combined";

/// Readings of a question as two lists.
pub(super) fn read(marks: &[Mark], schema: &Schema) -> Vec<ListReading> {
    if marks.iter().any(computes) {
        return Vec::new();
    }
    let Some(((first, one), (second, two))) = heads(marks, schema) else { return Vec::new() };
    let mut used = vec![false; marks.len()];
    let conditions = conditions(marks, schema, (first, second), &mut used);
    if conditions.is_empty() {
        return Vec::new();
    }
    for at in [first, second].into_iter().chain(conditions.iter().map(|condition| condition.at)) {
        if let Some(cell) = used.get_mut(at) {
            *cell = true;
        }
    }
    let shared = form(marks, schema, (&one, &two), &conditions, &|_, _| true, &mut used);
    let apart = form(
        marks,
        schema,
        (&one, &two),
        &conditions,
        &|condition, list| match list {
            0 => condition < first || condition < joint(marks, first, second),
            _ => condition < first || condition > joint(marks, first, second),
        },
        &mut used,
    );
    for (mark, cell) in marks.iter().zip(used.iter_mut()) {
        *cell |=
            has_word(BOTH, &mark.text) || has_word(APART, &mark.text) || has_word("list lists", &mark.text);
    }
    let between = |list: &str| {
        (first + 1..second).any(|at| marks.get(at).is_some_and(|mark| has_word(list, &mark.text)))
    };
    let repeats = (first + 1..second)
        .any(|at| marks.get(at).is_some_and(|mark| matches!(mark.operator, Some(Operator::Show))));
    let anywhere = |list: &str| marks.iter().any(|mark| has_word(list, &mark.text));
    let twice = conditions.iter().enumerate().any(|(at, condition)| {
        conditions.iter().skip(at + 1).any(|other| other.options.first() == condition.options.first())
    });
    let separate = between(APART) || repeats || anywhere("only just");
    let (both, one_alone) = match (anywhere(BOTH) || twice, separate) {
        (true, false) => (0.0, 0.4),
        (false, true) => (0.4, 0.0),
        (true, true) if twice || anywhere("same there either") => (0.0, 0.1),
        _ => (0.0, 0.05),
    };
    let mut readings: Vec<ListReading> = Vec::new();
    for (form, cost) in [(shared, both), (apart, one_alone)] {
        if let Some(form) = form.filter(|form| !readings.iter().any(|known| known.form == *form)) {
            readings.push(ListReading { form, used: used.clone(), cost, probability: None });
        }
    }
    readings
}

/// The mark that joins two lists.
fn joint(marks: &[Mark], first: usize, second: usize) -> usize {
    let joins = |at: &usize| {
        marks.get(*at).is_some_and(|mark| {
            matches!(mark.operator, Some(Operator::And | Operator::Or))
                || has_word("and or also addition then combined", &mark.text)
        })
    };
    (first + 1..second).rev().find(joins).unwrap_or(second)
}

/// Two values of one column, two tables, or columns of two tables, with a conjunction between them.
fn heads(marks: &[Mark], schema: &Schema) -> Option<((usize, Head), (usize, Head))> {
    let joined = |first: usize, second: usize| joint(marks, first, second) != second;
    for (first, mark) in marks.iter().enumerate() {
        for link in mark.values.iter().filter(|link| link.quality >= 0.6 && !mark.quoted) {
            for (second, other) in marks.iter().enumerate().skip(first + 1) {
                let same = other.values.iter().find(|known| {
                    known.place == link.place && known.quality >= 0.6 && known.values != link.values
                });
                if let Some(same) = same.filter(|_| joined(first, second)) {
                    return Some(((first, Head::Value(link.clone())), (second, Head::Value(same.clone()))));
                }
            }
        }
    }
    let things: Vec<(usize, Head, usize)> = (marks.iter().enumerate())
        .filter_map(|(at, mark)| {
            let column = mark.columns.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
            match (table_of(schema, mark), column) {
                (Some((table, quality)), column) if column.is_none_or(|(_, fit)| quality >= fit) => {
                    Some((at, Head::Things(table, schema.names(table)), table))
                }
                (_, Some((place, fit))) if fit >= 0.7 && mark.value_quality() < fit => {
                    Some((at, Head::Things(place.table, vec![place]), place.table))
                }
                _ => None,
            }
        })
        .filter(|(_, _, table)| !schema.is_bridge(*table))
        .collect();
    for (position, (first, one, table)) in things.iter().enumerate() {
        let other = things
            .iter()
            .skip(position + 1)
            .find(|(second, _, other)| other != table && joined(*first, *second));
        if let Some((second, two, _)) = other {
            return Some(((*first, one.clone()), (*second, two.clone())));
        }
    }
    None
}

/// Conditions of the question, with every column that each may be about.
fn conditions(marks: &[Mark], schema: &Schema, heads: (usize, usize), used: &mut [bool]) -> Vec<Condition> {
    let mut found = Vec::new();
    for (at, mark) in marks.iter().enumerate() {
        if at == heads.0 || at == heads.1 {
            continue;
        }
        if mark.value_quality() >= 0.5
            && mark.value_quality() > mark.column_quality()
            && mark.value_quality() > mark.table_quality()
        {
            let options = (mark.values.iter()).map(|link| Filter::Values {
                place: link.place,
                values: link.values.clone(),
                negated: false,
            });
            found.push(Condition { at, options: options.collect() });
            continue;
        }
        let year = mark.period.as_ref().map(|period| f64::from(chrono::Datelike::year(&period.from)));
        let Some(number) = mark.number.or(year) else { continue };
        let near = (at.saturating_sub(3)..at + 3).filter(|other| *other != at).filter_map(|other| {
            let fits = marks.get(other).filter(|mark| mark.column_quality() >= 0.4)?;
            Some((other, fits))
        });
        let mut options = Vec::new();
        for (other, mark) in near {
            for (place, _) in mark.columns.iter().filter(|(_, quality)| *quality >= 0.4) {
                if holds(schema, *place, number) {
                    options.push(number_filter(schema, *place, number));
                    if let Some(cell) = used.get_mut(other) {
                        *cell = true;
                    }
                }
            }
        }
        let others = schema.places().map(|(place, _)| place).filter(|place| holds(schema, *place, number));
        for place in others {
            let filter = number_filter(schema, place, number);
            if !options.contains(&filter) {
                options.push(filter);
            }
        }
        if !options.is_empty() {
            found.push(Condition { at, options });
        }
    }
    found
}

fn number_filter(schema: &Schema, place: ColumnRef, number: f64) -> Filter {
    if schema.column(place).is_some_and(|column| column.kind.is_number()) {
        return Filter::Number(place, Compare::Equal, number);
    }
    Filter::Values { place, values: vec![number.to_string()], negated: false }
}

/// Whether a column is known to hold a number.
fn holds(schema: &Schema, place: ColumnRef, number: f64) -> bool {
    schema.role(place) != Role::Identifier
        && schema.column(place).is_some_and(|column| {
            column
                .values
                .iter()
                .any(|(value, _)| value.parse::<f64>().is_ok_and(|known| (known - number).abs() < 1e-9))
        })
}

/// The form of two lists. `holds(condition, list)` says which conditions a list has.
fn form(
    marks: &[Mark],
    schema: &Schema,
    (one, two): (&Head, &Head),
    conditions: &[Condition],
    holds: &dyn Fn(usize, usize) -> bool,
    used: &mut [bool],
) -> Option<Form> {
    // The option in the list's own table, else the first one that is not in the table of the other
    // list.
    let resolve = |table: usize, other: Option<usize>, list: usize| -> Vec<Filter> {
        let mut filters: Vec<Filter> = Vec::new();
        for condition in conditions.iter().filter(|condition| holds(condition.at, list)) {
            let own = condition.options.iter().find(|filter| filter.place().table == table);
            let near = || condition.options.iter().find(|filter| Some(filter.place().table) != other);
            if let Some(filter) = own.or_else(near).filter(|filter| !filters.contains(filter)) {
                filters.push(filter.clone());
            }
        }
        filters
    };
    match (one, two) {
        (Head::Value(left), Head::Value(right)) => {
            let table = left.place.table;
            let value = |link: &ValueLink| Filter::Values {
                place: link.place,
                values: link.values.clone(),
                negated: false,
            };
            let skip = |at: usize| {
                conditions.iter().any(|condition| condition.at == at)
                    || marks.get(at).is_some_and(|mark| {
                        mark.value_quality() >= 0.5 && mark.value_quality() > mark.column_quality()
                            || mark.columns.iter().any(|(place, quality)| {
                                *quality >= 0.5
                                    && (*place == left.place
                                        || conditions.iter().any(|condition| {
                                            condition.options.iter().any(|filter| filter.place() == *place)
                                        }))
                            })
                    })
            };
            let mut show = targets(marks, schema, None, &skip, used);
            let conditions = (resolve(table, None, 0), resolve(table, None, 1));
            if show.is_empty() || show == [left.place] {
                show = schema.display_without(table, &[left.place]).unwrap_or(show);
            }
            let filters = if conditions.0 == conditions.1 {
                let mut values = left.values.clone();
                values.extend(right.values.iter().cloned());
                let either = Filter::Values { place: left.place, values, negated: false };
                [vec![either], conditions.0].concat()
            } else {
                vec![Filter::Any(vec![
                    [vec![value(left)], conditions.0].concat(),
                    [vec![value(right)], conditions.1].concat(),
                ])]
            };
            Some(Form { table, show, filters, ..Form::default() })
        }
        (Head::Things(left, first), Head::Things(right, second)) => {
            if first.len() != second.len() {
                return None;
            }
            let also = Form {
                table: *right,
                show: second.clone(),
                filters: resolve(*right, Some(*left), 1),
                ..Form::default()
            };
            Some(Form {
                table: *left,
                show: first.clone(),
                filters: resolve(*left, Some(*right), 0),
                also: Some(Box::new(also)),
                ..Form::default()
            })
        }
        _ => None,
    }
}
