//! The particulars of a question: the values and the time that it names, apart from what it asks about them.

use super::time::read_times;
use super::tokens::{Token, tokenize};
use super::{Parameter, Reading};
use crate::catalogue::Catalogue;
use chrono::NaiveDate;
use serde_json::Value as Json;

/// The name of the parameter that is a span of time.
const TIME: &str = "time_range";
/// Stands for the data in templates that have no other particulars: a template has at least one.
const DATA: &str = "{data}";

/// A span of days: the first, and the one after the last.
type Span = (NaiveDate, NaiveDate);

/// The question with its particulars taken out, such as `total sales in {state} in {time_range}`. Nothing when one of
/// them cannot be found in its words.
#[must_use]
pub fn template(question: &str, reading: &Reading, catalogue: &Catalogue, today: NaiveDate) -> Option<String> {
    let found = find(question, &reading.parameters, catalogue, today)?;
    // The words must mean what the reading says they mean, or the template would bend later questions.
    let same = reading.parameters.iter().zip(&found.values).all(|(parameter, value)| {
        parameter.name == TIME || value.as_deref().is_some_and(|value| value.eq_ignore_ascii_case(&parameter.value))
    });
    same.then_some(found.template)
}

/// The reading of a template's first question, with the particulars of this one put in; only if it is the same question
/// but for those.
#[must_use]
pub fn adapt(question: &str, template: &str, reading: &Reading, catalogue: &Catalogue, today: NaiveDate) -> Option<Reading> {
    let found = find(question, &reading.parameters, catalogue, today)?;
    if found.template != template {
        return None;
    }
    let mut json = serde_json::to_value(reading).ok()?;
    let mut words: Vec<(String, String)> = Vec::new();
    for (parameter, value) in reading.parameters.iter().zip(&found.values) {
        if parameter.name == TIME {
            let (old, new) = (span(&parameter.value)?, found.time?);
            replace_dates(&mut json, old, new)?;
            words.push((parameter.value.clone(), format!("{}/{}", new.0, new.1)));
        } else {
            words.push((parameter.value.clone(), value.clone()?));
        }
    }
    words.extend(found.time_words.iter().zip(reading_time_words(reading)).map(|(new, old)| (old, new.clone())));
    replace_words(&mut json, &words);
    serde_json::from_value(json).ok()
}

struct Found {
    template: String,
    /// For each parameter its value in this question; nothing for the time.
    values: Vec<Option<String>>,
    time: Option<Span>,
    time_words: Vec<String>,
}

fn find(question: &str, parameters: &[Parameter], catalogue: &Catalogue, today: NaiveDate) -> Option<Found> {
    let (tokens, _) = tokenize(question);
    // Token ranges that are particulars, with what stands for them.
    let mut spans: Vec<(usize, usize, String)> = Vec::new();
    let mut values = Vec::new();
    let (mut time, mut time_words) = (None, Vec::new());
    for parameter in parameters {
        if parameter.name == TIME {
            let times = read_times(&tokens, today);
            let (start, end, when) = times.into_iter().max_by_key(|(start, end, _)| (end - start, usize::MAX - start))?;
            time = Some((when.from, when.to));
            time_words.push(when.words());
            spans.push((start, end, format!("{{{TIME}}}")));
            values.push(None);
            continue;
        }
        let (start, end, value) = longest_value(&tokens, &parameter.column, catalogue, &spans)?;
        spans.push((start, end, format!("{{{}}}", parameter.name)));
        values.push(Some(value));
    }
    let mut parts = Vec::new();
    let mut place = 0;
    while let Some(token) = tokens.get(place) {
        if let Some((_, end, name)) = spans.iter().find(|(start, ..)| *start == place) {
            parts.push(name.clone());
            place = *end;
        } else {
            if !token.is_sign() || "<>=%".contains(token.word.as_str()) {
                parts.push(token.word.clone());
            }
            place += 1;
        }
    }
    if spans.is_empty() {
        parts.push(DATA.to_owned());
    }
    Some(Found { template: parts.join(" "), values, time, time_words })
}

/// The longest value of a column that stands in the question, outside of what is taken.
fn longest_value(tokens: &[Token], column: &str, catalogue: &Catalogue, taken: &[(usize, usize, String)]) -> Option<(usize, usize, String)> {
    let (table, name) = column.split_once('.').map_or((None, column), |(table, name)| (Some(table), name));
    let tables = catalogue.tables.iter().filter(|known| table.is_none_or(|table| known.name.eq_ignore_ascii_case(table)));
    let values: Vec<&str> = tables.filter_map(|table| table.column(name)).flat_map(|column| &column.values).map(|(value, _)| value.as_str()).collect();
    let mut best: Option<(usize, usize, String)> = None;
    for value in values {
        let (parts, _) = tokenize(value);
        if parts.is_empty() || best.as_ref().is_some_and(|(start, end, _)| end - start >= parts.len()) {
            continue;
        }
        let at = tokens.windows(parts.len()).position(|window| window.iter().zip(&parts).all(|(a, b)| a.word == b.word));
        if let Some(start) = at {
            let end = start + parts.len();
            if taken.iter().all(|(from, to, _)| end <= *from || start >= *to) {
                best = Some((start, end, value.to_owned()));
            }
        }
    }
    best
}

fn span(value: &str) -> Option<Span> {
    let (from, to) = value.split_once('/')?;
    Some((from.trim().parse().ok()?, to.trim().parse().ok()?))
}

fn reading_time_words(reading: &Reading) -> Vec<String> {
    let spans = reading.parameters.iter().filter(|parameter| parameter.name == TIME).filter_map(|parameter| span(&parameter.value));
    spans.map(|(from, to)| super::time::words_of(from, to)).collect()
}

/// Moves every date of the reading: the span itself, the one before it, and the same one a year earlier. A date that is
/// none of these would be left behind, so the recipe does not fit then.
fn replace_dates(json: &mut Json, old: Span, new: Span) -> Option<()> {
    let moved: Vec<(NaiveDate, NaiveDate)> = super::time::relatives(old.0, old.1).into_iter().zip(super::time::relatives(new.0, new.1)).collect();
    fn walk(json: &mut Json, moved: &[(NaiveDate, NaiveDate)]) -> Option<()> {
        match json {
            Json::Object(map) => {
                for (key, value) in map.iter_mut() {
                    match value {
                        Json::String(text) if key == "date" => {
                            let date: NaiveDate = text.parse().ok()?;
                            *text = moved.iter().find(|(old, _)| *old == date)?.1.to_string();
                        }
                        Json::String(text) if key == "time" => {
                            let (date, rest) = text.split_once('T')?;
                            let date: NaiveDate = date.parse().ok()?;
                            *text = format!("{}T{rest}", moved.iter().find(|(old, _)| *old == date)?.1);
                        }
                        other => walk(other, moved)?,
                    }
                }
            }
            Json::Array(list) => list.iter_mut().try_for_each(|value| walk(value, moved))?,
            _ => {}
        }
        Some(())
    }
    walk(json.get_mut("queries")?, &moved)
}

/// Puts the new words in place of the old ones, in literals, titles and explanations alike.
fn replace_words(json: &mut Json, words: &[(String, String)]) {
    match json {
        Json::Object(map) => map.values_mut().for_each(|value| replace_words(value, words)),
        Json::Array(list) => list.iter_mut().for_each(|value| replace_words(value, words)),
        Json::String(text) => {
            for (old, new) in words.iter().filter(|(old, new)| old != new && !old.is_empty()) {
                if text.contains(old.as_str()) {
                    *text = text.replace(old.as_str(), new);
                }
            }
        }
        _ => {}
    }
}
