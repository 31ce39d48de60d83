//! Links for words that no name, value or operator explains: parts of values, money, and columns
//! that are near in meaning.

use super::{ColumnRef, Mark, Schema, ValueLink};
use crate::frame::Kind;
use crate::planner::Meaning;
use crate::reader::lexicon::{Operator, are_same_value};
use crate::roles::Role;
use steward_text::synonyms::demonym;
use steward_text::tokens::{Token, distance, stem};

/// Words that nothing explains: a value in part or in another form, or a column by meaning.
pub(super) fn link_rest(marks: &mut [Mark], tokens: &[Token], schema: &Schema, meaning: &dyn Meaning) {
    for at in 0..marks.len() {
        // "return rate": an operator's word may still be a value.
        let rated = marks.get(at + 1).is_some_and(|next| next.operator == Some(Operator::Rate));
        let Some(mark) = marks.get_mut(at) else { continue };
        if !(mark.is_unknown() || rated && mark.operator == Some(Operator::Show)) {
            continue;
        }
        let Some(token) = tokens.get(mark.from) else { continue };
        if token.word.chars().count() < 3 {
            continue;
        }
        mark.values = partial_values(token, schema);
        if mark.values.is_empty() {
            mark.columns = schema.misspelled(&token.word);
        }
        if mark.values.is_empty() && mark.columns.is_empty() {
            link_by_meaning(mark, &token.word, schema, meaning);
        }
    }
}

/// Links a word to the columns and tables nearest in meaning, weakly: it may be something that the
/// data does not have.
fn link_by_meaning(mark: &mut Mark, word: &str, schema: &Schema, meaning: &dyn Meaning) {
    // Words that say how things are related, and names, are no columns by meaning.
    const RELATED: &str =
        "common shared both together corresponding respective same simultaneously mutual either neither";
    let named = mark.from > 0 && mark.text.starts_with(char::is_uppercase);
    if named || crate::judge::is_light(word) || RELATED.split(' ').any(|known| known == word) {
        return;
    }
    let near = |text: &str| meaning.similarity(word, text);
    let mut columns: Vec<(ColumnRef, f32)> = (schema.columns.iter().take(80))
        .map(|(place, words, _)| {
            let said: Vec<&str> =
                words.iter().filter(|(_, weight)| *weight > 0.1).map(|(word, _)| word.as_str()).collect();
            (*place, near(&said.join(" ")))
        })
        .collect();
    let best = columns.iter().map(|(_, near)| *near).fold(0.0, f32::max);
    columns.retain(|(_, near)| *near >= 0.55 && *near >= best - 0.06);
    columns.sort_by(|a, b| b.1.total_cmp(&a.1));
    columns.truncate(3);
    mark.columns = columns.into_iter().map(|(place, near)| (place, 0.6 * near)).collect();
    mark.by_meaning = !mark.columns.is_empty();
}

/// Words for money that comes in, and how columns with it are called.
const MONEY: &str = "revenue sales turnover takings spending spend spent income business earned earn \
    earnings sold paid money cash billed";
const AMOUNTS: [&str; 5] = ["revenue", "sales", "amount", "total", "subtotal"];

/// Revenue that no column is called after: a total, or a price times a quantity.
pub(super) fn link_money(marks: &mut [Mark], tokens: &[Token], schema: &Schema) {
    for mark in marks.iter_mut() {
        let Some(token) = tokens.get(mark.from).filter(|_| mark.to == mark.from + 1) else { continue };
        let money = MONEY.split(' ').any(|word| word == token.word || stem(word) == token.stem);
        if !money || mark.column_quality() >= 0.7 {
            continue;
        }
        for (place, _, role) in &schema.columns {
            if !role.is_number() {
                continue;
            }
            let fit = AMOUNTS.iter().map(|word| schema.fits(*place, word)).fold(0.0, f32::max);
            if fit >= 0.95 && !mark.columns.iter().any(|(known, _)| known == place) {
                mark.columns.push((*place, 0.6));
            }
            let quantity = |other: &ColumnRef| {
                other.table == place.table
                    && other != place
                    && ["quantity", "qty", "units"].iter().any(|word| schema.fits(*other, word) >= 0.95)
                    && schema.fits(*other, "price") < 0.5
            };
            if schema.fits(*place, "price") >= 0.9
                && let Some((other, ..)) = schema.columns.iter().find(|(other, ..)| quantity(other))
            {
                mark.products.push((*place, *other));
            }
        }
        if !mark.columns.is_empty() || !mark.products.is_empty() {
            mark.operator = None;
        }
        // What is spent is a number, whatever else is called after it.
        let is_number = |place: &ColumnRef| schema.role(*place).is_number();
        if mark.columns.iter().any(|(place, _)| is_number(place)) {
            mark.columns.retain(|(place, quality)| is_number(place) || *quality >= 0.95);
        }
    }
    // A generic noun right behind a column belongs to it: "payment type", "customer name".
    for at in 1..marks.len() {
        let (before, rest) = marks.split_at_mut(at);
        let (Some(previous), Some(mark)) = (before.last(), rest.first_mut()) else { continue };
        let generic = "type types kind name names number id code date column field method status".split(' ');
        if mark.is_unknown()
            && previous.column_quality() >= 0.5
            && generic.into_iter().any(|word| word == mark.text.to_lowercase())
        {
            mark.operator = Some(Operator::Filler);
        }
        let units = "dollars dollar usd eur euros euro pounds bucks years year-old miles km kilometers kg \
            lbs pounds cents"
            .split(' ');
        if mark.is_unknown()
            && previous.number.is_some()
            && units.into_iter().any(|word| word == mark.text.to_lowercase())
        {
            mark.operator = Some(Operator::Filler);
        }
    }
}

/// The root that "rejected" and "rejection" share.
fn root(word: &str) -> &str {
    const ENDINGS: [&str; 9] = ["ations", "ation", "ions", "ion", "ments", "ment", "ing", "ed", "al"];
    ENDINGS.iter().find_map(|end| word.strip_suffix(end).filter(|root| root.len() >= 4)).unwrap_or(word)
}

fn partial_values(token: &Token, schema: &Schema) -> Vec<ValueLink> {
    let countries = demonym(&token.word).unwrap_or_default();
    let mut links = Vec::new();
    for (place, _, role) in &schema.columns {
        let Some(column) = schema.column(*place).filter(|column| column.kind == Kind::Text) else { continue };
        let few = column.distinct <= 80;
        let mut best = 0.0_f32;
        let mut values: Vec<(String, f32)> = Vec::new();
        for (value, _) in column.values.iter().filter(|(value, _)| value.len() <= 80) {
            let lower = value.to_lowercase();
            // "W 4-3" is a win.
            let opening = lower.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            let quality = if countries.contains(&lower.as_str()) || are_same_value(&token.stem, &stem(&lower))
            {
                0.95
            } else if few
                && column.distinct <= 30
                && token.word.len() >= 6
                && root(&token.word) != token.word
                && root(&lower) == root(&token.word)
            {
                0.9
            } else if few && are_same_value(&token.stem, &stem(opening))
                || lower.chars().count() >= 5 && distance(&token.word, &lower, 1) <= 1
            {
                0.8
            } else if few && matches!(role, Role::Category | Role::Text) {
                let words: Vec<String> = lower
                    .split(|c: char| !c.is_alphanumeric())
                    .filter(|word| !word.is_empty())
                    .map(stem)
                    .collect();
                let at = words.iter().position(|word| *word == token.stem && word.len() >= 4);
                // A common word alone is no long value.
                let long = words.len() > 2 && !token.capital;
                // Nor are several things: "loads" is not 'Load rejected'.
                let several = words.len() > 1 && token.word != token.stem && !lower.contains(&token.word);
                at.map_or(0.0, |at| match () {
                    () if long || several => 0.4,
                    () if at == 0 => 0.8,
                    () if token.capital || words.len() == 1 => 0.65,
                    () => 0.45,
                })
            } else {
                0.0
            };
            if quality > 0.0 {
                best = best.max(quality);
                values.push((value.clone(), quality));
            }
        }
        let values: Vec<String> = values
            .into_iter()
            .filter(|(_, quality)| *quality >= best - 0.2)
            .map(|(value, _)| value)
            .collect();
        if !values.is_empty() && values.len() <= 40 {
            links.push(ValueLink { place: *place, values, quality: best });
        }
    }
    links
}
