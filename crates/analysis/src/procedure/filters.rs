//! Reading conditions on the rows: "for DIR equal to 180", "years beyond 2000", "the source 'ABC News'".

use super::reader::Context;
use super::types::{Compare, Condition, Step};
use super::words::Token;

/// The filter that the text states, as one step.
#[must_use]
pub fn read_filters(context: &Context) -> Option<Step> {
    let mut conditions: Vec<Condition> = Vec::new();
    for condition in compared(context).into_iter().chain(valued(context)) {
        let same = |other: &Condition| other.column == condition.column && other.is == condition.is;
        if !conditions.iter().any(same) {
            conditions.push(condition);
        }
    }
    (!conditions.is_empty()).then_some(Step::Filter { conditions })
}

/// A column, a comparison and a number: "DIR equal to 180", "year beyond 2000".
fn compared(context: &Context) -> Vec<Condition> {
    let mut found = Vec::new();
    for mention in context.mentions.iter().filter(|m| m.score >= 0.4) {
        let sentence = context.sentences.iter().find(|r| r.contains(&mention.start));
        let Some(sentence) = sentence else { continue };
        let words = context.sentence(sentence);
        if super::words::has_any(&words, &["outlier*", "z score*", "iqr", "p value", "categor*", "percentile", "skewness", "absolute value", "consider*"]) {
            continue;
        }
        let Some((is, number, at)) = comparison(&context.tokens, mention.end) else { continue };
        // A range of classes or a list of numbers is no filter.
        let next = context.tokens.get(at + 1).map_or("", |t| t.lower.as_str());
        if ["-", "to", "decimal", "decimals", "%"].contains(&next) || !context.is_numeric(&mention.column) {
            continue;
        }
        found.push(Condition { column: mention.column.clone(), is, value: format!("{number}") });
    }
    found
}

fn comparison(tokens: &[Token], start: usize) -> Option<(Compare, f64, usize)> {
    let word = |place: usize| tokens.get(start + place).map_or("", |t| t.lower.as_str());
    let mut place = 0;
    while ["is", "are", ")", "column", "value", "values", "was", "being", "of"].contains(&word(place)) {
        place += 1;
    }
    let (strict, loose) = match word(place) {
        "equal" | "equals" | "=" => (Compare::Equal, Compare::Equal),
        "greater" | "above" | "over" | "more" | "higher" | "larger" | ">" => (Compare::More, Compare::AtLeast),
        "beyond" | "after" | "since" => (Compare::AtLeast, Compare::AtLeast),
        "less" | "below" | "under" | "lower" | "smaller" | "<" => (Compare::Less, Compare::AtMost),
        "before" => (Compare::Less, Compare::Less),
        _ if tokens.get(start + place).is_some_and(|t| t.number().is_some_and(|n| (1000.0..3000.0).contains(&n))) => {
            // "year 2010" is a value; "years 2000 and beyond" a bound.
            let bound = word(place + 1) == "and" && ["beyond", "later", "after", "above", "onwards"].contains(&word(place + 2));
            let is = if bound { Compare::AtLeast } else { Compare::Equal };
            return Some((is, tokens.get(start + place)?.number()?, start + place));
        }
        _ => return None,
    };
    let mut is = strict;
    place += 1;
    while ["to", "than", "or", "equal", "=", "the", "year"].contains(&word(place)) {
        if word(place) == "equal" || (word(place) == "=" && strict != Compare::Equal) {
            is = loose;
        }
        place += 1;
    }
    let number = tokens.get(start + place)?.number()?;
    Some((is, number, start + place))
}

/// Values of a column of words, in quotes or plain: "the source 'ABC News'", "male passengers".
fn valued(context: &Context) -> Vec<Condition> {
    let mentions = context.lexicon.values(&context.tokens);
    let mut found: Vec<Condition> = Vec::new();
    for mention in &mentions {
        if context.derived.contains(&mention.column) || context.groups.contains(&mention.column) {
            continue;
        }
        let overlaps = context.mentions.iter().any(|m| m.score >= 0.7 && mention.start < m.end && mention.end > m.start);
        let named = context.mentions.iter().any(|m| m.column == mention.column && m.score >= 0.6);
        let others = mentions.iter().any(|m| m.column == mention.column && m.value != mention.value);
        let slot = context.request.slots.iter().any(|slot| slot.choices.iter().any(|c| c.eq_ignore_ascii_case(&mention.value)));
        let near = context.mentions.iter().any(|m| m.column == mention.column && m.start.abs_diff(mention.start) <= 5);
        let words = !context.is_numeric(&mention.column);
        if overlaps || others || slot || !words || !(mention.quoted && (named || near) || (near && named)) {
            continue;
        }
        found.push(Condition { column: mention.column.clone(), is: Compare::Equal, value: mention.value.clone() });
    }
    found
}
