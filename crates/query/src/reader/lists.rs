//! Lists over two kinds of things: "for each club, its members" (pairs) and "members common to all
//! clubs" (division).
//!
//! One quantifier often allows both. Then both are proposed, and the evidence for each says how
//! likely it is.

use super::compose::is_never;
use super::form::Form;
use super::lexicon::Operator;
use super::link::{ColumnRef, Mark, Schema};
use crate::roles::Role;

/// A list that was read: its form, the marks it used, the evidence that it gives up, and which
/// readings compete.
pub(super) struct ListReading {
    pub form: Form,
    pub used: Vec<bool>,
    pub cost: f32,
    /// Its share of the likelihood, where its grammar ranks all forms.
    pub probability: Option<f32>,
}

/// Words that say that all things share something.
const SHARED: &str =
    "common shared share shares sharing same equally together typical alike simultaneously universally once";
/// Words that say that things are told apart.
const APART: &str = "corresponding respective respectively associated individual individually specific own";

pub(super) fn has_word(list: &str, text: &str) -> bool {
    text.to_lowercase().split(' ').any(|word| list.split(' ').any(|known| known == word))
}

/// The table that a mark names best. Tables that only tie others together come last.
pub(super) fn table_of(schema: &Schema, mark: &Mark) -> Option<(usize, f32)> {
    let rank = |(table, quality): (usize, f32)| quality - if schema.is_bridge(table) { 0.4 } else { 0.0 };
    let best = mark.tables.iter().copied().max_by(|a, b| rank(*a).total_cmp(&rank(*b)))?;
    (best.1 >= 0.5).then_some(best)
}

/// Whether a mark measures, counts, compares or ranks: then the question is no plain list.
pub(super) fn computes(mark: &Mark) -> bool {
    let cue = has_word(SHARED, &mark.text) || has_word("at least once", &mark.text);
    !cue && mark.columns.is_empty()
        && matches!(
            mark.operator,
            Some(
                Operator::Aggregate(_)
                    | Operator::Count
                    | Operator::HowMuch
                    | Operator::Top(_)
                    | Operator::Superlative(_)
                    | Operator::Common(_)
                    | Operator::Share
                    | Operator::Growth
                    | Operator::Trend
                    | Operator::Running
                    | Operator::Order
                    | Operator::Correlation
                    | Operator::Compare(_)
                    | Operator::Between
            )
        )
}

/// The quantifier of a question: its mark, the mark of the things it goes over, and their table.
fn quantifier(marks: &[Mark], schema: &Schema) -> Option<(usize, usize, usize)> {
    let ends = |mark: &Mark| {
        let text = mark.text.to_lowercase();
        let last = text.rsplit(' ').next().unwrap_or_default();
        matches!(last, "each" | "every" | "all" | "any") && mark.columns.is_empty() && mark.values.is_empty()
    };
    let small = |mark: &Mark| {
        matches!(mark.operator, Some(Operator::Of | Operator::Filler | Operator::Only))
            || has_word("single specific of the our your given", &mark.text)
    };
    let mut found = (0..marks.len()).filter(|at| marks.get(*at).is_some_and(ends)).filter_map(|at| {
        let over = (at + 1..marks.len()).find(|next| !marks.get(*next).is_some_and(small))?;
        let (table, _) = marks.get(over).and_then(|mark| table_of(schema, mark))?;
        Some((at, over, table))
    });
    // "all the tools used by every crew": the last quantifier goes over the others.
    found.next_back()
}

/// The columns of a list: those that are named, else the names of the things that are named.
pub(super) fn targets(
    marks: &[Mark],
    schema: &Schema,
    apart: Option<usize>,
    skip: &dyn Fn(usize) -> bool,
    used: &mut [bool],
) -> Vec<ColumnRef> {
    let open = || marks.iter().enumerate().filter(|(at, _)| !skip(*at));
    let named: Vec<(usize, usize)> = open()
        .filter_map(|(at, mark)| table_of(schema, mark).map(|(table, quality)| (at, table, quality, mark)))
        .filter(|(_, table, quality, mark)| Some(*table) != apart && *quality >= mark.column_quality() - 0.3)
        .map(|(at, table, ..)| (at, table))
        .collect();
    let mut shown: Vec<(usize, ColumnRef)> = Vec::new();
    for (at, mark) in open() {
        let is_thing = named.iter().any(|(known, _)| *known == at);
        if is_thing && mark.column_quality() < 0.95 || mark.column_quality() < 0.45 {
            continue;
        }
        let rank = |(place, quality): &(ColumnRef, f32)| {
            let table = place.table;
            let near = named.iter().any(|(_, known)| *known == table);
            let role = schema.role(*place);
            quality + if near { 0.3 } else { 0.0 }
                - if Some(table) == apart { 0.35 } else { 0.0 }
                - if schema.is_bridge(table) { 0.2 } else { 0.0 }
                - if role == Role::Identifier && !has_word("id ids number code", &mark.text) {
                    0.25
                } else {
                    0.0
                }
        };
        let best = mark.columns.iter().max_by(|a, b| rank(a).total_cmp(&rank(b)));
        if let Some((place, _)) = best.filter(|(place, _)| Some(place.table) != apart || named.is_empty()) {
            shown.push((at, *place));
            if let Some(cell) = used.get_mut(at) {
                *cell = true;
            }
        }
    }
    let mut places: Vec<ColumnRef> = Vec::new();
    for (at, table) in named {
        if let Some(cell) = used.get_mut(at) {
            *cell = true;
        }
        // "names of the tools" lists the names alone; "tools and their prices" lists both.
        let described =
            shown.iter().any(|(column, place)| place.table == table && (*column < at || *column == at + 1));
        if !described {
            places.extend(schema.names(table));
        }
    }
    places.extend(shown.iter().map(|(_, place)| *place));
    let mut seen: Vec<ColumnRef> = Vec::new();
    places.retain(|place| {
        let fresh = !seen.contains(place);
        seen.push(*place);
        fresh
    });
    places
}

/// Readings of a question as a list over two kinds of things.
pub(super) fn read(marks: &[Mark], schema: &Schema) -> Vec<ListReading> {
    if marks.iter().any(computes) || marks.iter().any(is_never) {
        return Vec::new();
    }
    let Some((at, over, table)) = quantifier(marks, schema).or_else(|| possessive(marks, schema)) else {
        return Vec::new();
    };
    let mut used = vec![false; marks.len()];
    [at, over].into_iter().for_each(|at| {
        if let Some(cell) = used.get_mut(at) {
            *cell = true;
        }
    });
    let shown = targets(marks, schema, Some(table), &|mark| mark == over, &mut used);
    let Some(first) = shown.first().copied() else { return Vec::new() };
    if marks.iter().any(|mark| mark.value_quality() >= 0.9 && mark.columns.is_empty()) {
        return Vec::new();
    }
    let cue = |list: &str| marks.iter().any(|mark| has_word(list, &mark.text) && mark.columns.is_empty());
    let shared = cue(SHARED);
    let apart = cue(APART) || at == over;
    for (mark, cell) in marks.iter().zip(used.iter_mut()) {
        *cell |= has_word(SHARED, &mark.text) || has_word(APART, &mark.text);
    }
    let opens = marks.iter().take(at).all(Mark::is_glue);
    let each = marks.get(at).is_some_and(|mark| mark.text.to_lowercase().ends_with("each"));
    let (pairs, division) = match (shared, apart || opens) {
        (true, false) => (0.5, 0.0),
        (false, true) => (0.0, 0.5),
        _ if each => (0.0, 0.05),
        _ => (0.05, 0.0),
    };
    let mut readings = Vec::new();
    let mut both = schema.names(table);
    both.extend(shown.iter().filter(|place| place.table != table));
    if !both.iter().all(|place| place.table == table) {
        let form = Form { table, show: both, ..Form::default() };
        readings.push(ListReading { form, used: used.clone(), cost: pairs, probability: None });
    }
    if first.table != table && at != over {
        let form = Form { table: first.table, show: shown, every: Some(table), ..Form::default() };
        readings.push(ListReading { form, used, cost: division, probability: None });
    }
    readings.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    readings
}

/// "The crews and their tools": things and what belongs to them. The mark of the things stands for
/// both.
fn possessive(marks: &[Mark], schema: &Schema) -> Option<(usize, usize, usize)> {
    let owned = marks.iter().position(|mark| {
        has_word("their its his her corresponding respective", &mark.text) && mark.columns.is_empty()
    })?;
    let at =
        (0..owned).rev().find(|at| marks.get(*at).is_some_and(|mark| table_of(schema, mark).is_some()))?;
    let (table, _) = marks.get(at).and_then(|mark| table_of(schema, mark))?;
    Some((at, at, table))
}
