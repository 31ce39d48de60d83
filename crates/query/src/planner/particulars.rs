//! The particulars of a question: the values and the time that it names, apart from what it asks
//! about them.

use super::{Parameter, Reading};
use crate::catalogue::Catalogue;
use chrono::NaiveDate;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value as Json;
use steward_text::period::{Period, read_times};
use steward_text::tokens::{Token, tokenize};

/// The name of the parameter that is a span of time.
pub(crate) const TIME: &str = "time_range";
/// Stands for the data in templates that have no other particulars: a template has at least one.
const DATA: &str = "{data}";

/// The question with its particulars taken out, such as `total sales in {state} in {time_range}`.
/// Nothing when one of them cannot be found in its words.
#[must_use]
pub fn template(
    question: &str,
    parameters: &[Parameter],
    catalogue: &Catalogue,
    today: NaiveDate,
) -> Option<String> {
    let found = find(question, parameters, catalogue, today)?;
    // The words must mean what the reading says they mean, or the template would bend later
    // questions.
    let same = parameters.iter().zip(&found.values).all(|(parameter, value)| {
        parameter.name == TIME
            || value.as_deref().is_some_and(|value| value.eq_ignore_ascii_case(&parameter.value))
    });
    same.then_some(found.template)
}

/// The particulars of a plan that a model wrote: texts of its SQL that are values of the data and
/// stand in the question.
#[must_use]
pub fn literals(question: &str, texts: Vec<String>, catalogue: &Catalogue) -> Vec<Parameter> {
    let (tokens, _) = tokenize(question);
    let mut parameters: Vec<Parameter> = Vec::new();
    for text in texts {
        let holds =
            |column: &&crate::catalogue::Column| column.values.iter().any(|(value, _)| *value == text);
        let Some(column) = catalogue.tables.iter().flat_map(|table| &table.columns).find(holds) else {
            continue;
        };
        let known =
            parameters.iter().any(|parameter| parameter.value == text || parameter.column == column.name);
        let said =
            longest_value(&tokens, &column.name, catalogue, &[]).is_some_and(|(.., value)| value == text);
        if said
            && !known
            && !text.contains('\'')
            && column.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            parameters.push(Parameter {
                name: column.name.clone(),
                column: column.name.clone(),
                value: text,
            });
        }
    }
    parameters
}

/// A model's plan with the particulars of this question put in; only if it is the same question but
/// for those.
#[must_use]
pub fn adapt_plan<P: Serialize + DeserializeOwned>(
    question: &str,
    template: &str,
    plan: &P,
    parameters: &[Parameter],
    catalogue: &Catalogue,
    today: NaiveDate,
) -> Option<P> {
    let found = find(question, parameters, catalogue, today)?;
    let values: Vec<String> = found.values.iter().cloned().collect::<Option<_>>()?;
    if found.template != template || values.iter().any(|value| value.contains('\'')) {
        return None;
    }
    let words: Vec<(String, String)> =
        parameters.iter().map(|parameter| parameter.value.clone()).zip(values).collect();
    let mut json = serde_json::to_value(plan).ok()?;
    replace_words(&mut json, &words);
    serde_json::from_value(json).ok()
}

/// The reading of a template's first question, with the particulars of this one put in; only if it
/// is the same question but for those.
#[must_use]
pub fn adapt(
    question: &str,
    template: &str,
    reading: &Reading,
    catalogue: &Catalogue,
    today: NaiveDate,
) -> Option<Reading> {
    let found = find(question, &reading.parameters, catalogue, today)?;
    if found.template != template {
        return None;
    }
    exchange(reading, &found, today)
}

/// A reading with other particulars: a value for each of its parameters, and the time.
pub(crate) fn exchange(reading: &Reading, found: &Found, today: NaiveDate) -> Option<Reading> {
    let mut json = serde_json::to_value(reading).ok()?;
    let mut words: Vec<(String, String)> = Vec::new();
    for (parameter, value) in reading.parameters.iter().zip(&found.values) {
        if parameter.name == TIME {
            let (old, new) = (span(&parameter.value, today)?, found.time.clone()?);
            replace_dates(&mut json, &old, &new)?;
            let kin = |when: &Period| {
                [Some(when.clone()), when.before(), when.year_before()]
                    .map(|when| when.map(|when| when.words()).unwrap_or_default())
            };
            words.push((parameter.value.clone(), new.words()));
            words.extend(kin(&old).into_iter().zip(kin(&new)));
        } else {
            words.push((parameter.value.clone(), value.clone()?));
        }
    }
    replace_words(&mut json, &words);
    serde_json::from_value(json).ok()
}

/// The particulars of a question.
pub(crate) struct Found {
    /// The question without them.
    pub(crate) template: String,
    /// For each parameter its value in this question; nothing for the time.
    pub(crate) values: Vec<Option<String>>,
    /// The span of time that it names.
    pub(crate) time: Option<Period>,
}

/// Finds the particulars that these parameters stand for.
pub(crate) fn find(
    question: &str,
    parameters: &[Parameter],
    catalogue: &Catalogue,
    today: NaiveDate,
) -> Option<Found> {
    let (tokens, _) = tokenize(question);
    // Token ranges that are particulars, with what stands for them.
    let mut spans: Vec<(usize, usize, String)> = Vec::new();
    let mut values = Vec::new();
    let mut time = None;
    for parameter in parameters {
        if parameter.name == TIME {
            let times = read_times(&tokens, today);
            let (start, end, when) =
                times.into_iter().max_by_key(|(start, end, _)| (end - start, usize::MAX - start))?;
            time = Some(when);
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
    Some(Found { template: parts.join(" "), values, time })
}

/// The longest value of a column that stands in the question, outside of what is taken.
fn longest_value(
    tokens: &[Token],
    column: &str,
    catalogue: &Catalogue,
    taken: &[(usize, usize, String)],
) -> Option<(usize, usize, String)> {
    let (table, name) = column.split_once('.').map_or((None, column), |(table, name)| (Some(table), name));
    let tables = catalogue
        .tables
        .iter()
        .filter(|known| table.is_none_or(|table| known.name.eq_ignore_ascii_case(table)));
    let values: Vec<&str> = tables
        .flat_map(|table| &table.columns)
        .filter(|column| column.name.eq_ignore_ascii_case(name) || column.label.eq_ignore_ascii_case(name))
        .flat_map(|column| &column.values)
        .map(|(value, _)| value.as_str())
        .collect();
    let mut best: Option<(usize, usize, String)> = None;
    for value in values {
        let (parts, _) = tokenize(value);
        if parts.is_empty() || best.as_ref().is_some_and(|(start, end, _)| end - start >= parts.len()) {
            continue;
        }
        let at = tokens
            .windows(parts.len())
            .position(|window| window.iter().zip(&parts).all(|(a, b)| a.word == b.word));
        if let Some(start) = at {
            let end = start + parts.len();
            if taken.iter().all(|(from, to, _)| end <= *from || start >= *to) {
                best = Some((start, end, value.to_owned()));
            }
        }
    }
    best
}

/// The span that a parameter names in words: the longest time in it must be all of it.
pub(crate) fn span(value: &str, today: NaiveDate) -> Option<Period> {
    let (tokens, _) = tokenize(value);
    let (_, _, when) =
        read_times(&tokens, today).into_iter().find(|(start, end, _)| *start == 0 && *end == tokens.len())?;
    Some(when)
}

/// Moves every date of the reading: the span itself, the one before it, and the same one a year
/// earlier. A date that is none of these would be left behind, so the recipe does not fit then.
fn replace_dates(json: &mut Json, old: &Period, new: &Period) -> Option<()> {
    let moved: Vec<(NaiveDate, NaiveDate)> = ends(old).into_iter().zip(ends(new)).collect();
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
                        // Elsewhere a date stands bare; there only what belongs to the span is
                        // moved.
                        Json::String(text) => {
                            if let Some((_, new)) = moved.iter().find(|(old, _)| *text == old.to_string()) {
                                *text = new.to_string();
                            }
                        }
                        other => walk(other, moved)?,
                    }
                }
            }
            Json::Array(list) => list.iter_mut().try_for_each(|value| walk(value, moved))?,
            Json::String(text) => {
                if let Some((_, new)) = moved.iter().find(|(old, _)| *text == old.to_string()) {
                    *text = new.to_string();
                }
            }
            _ => {}
        }
        Some(())
    }
    ["queries", "sketch", "form"]
        .into_iter()
        .try_for_each(|part| json.get_mut(part).map_or(Some(()), |part| walk(part, &moved)))
}

/// The ends of a span, of the one before it, and of the same one a year earlier.
fn ends(when: &Period) -> Vec<NaiveDate> {
    let spans = [Some(when.clone()), when.before(), when.year_before()];
    spans.into_iter().flatten().flat_map(|span| [span.from, span.to]).collect()
}

/// Puts the new words in place of the old ones, in literals, titles and explanations alike. What
/// was put in is not looked at again: `Q1` may become `Q2` while `Q2` becomes `Q3`.
fn replace_words(json: &mut Json, words: &[(String, String)]) {
    match json {
        Json::Object(map) => map.values_mut().for_each(|value| replace_words(value, words)),
        Json::Array(list) => list.iter_mut().for_each(|value| replace_words(value, words)),
        Json::String(text) => {
            let mark = |place: usize| format!("\u{1}{place}\u{2}");
            for (place, (old, _)) in words.iter().enumerate().filter(|(_, (old, _))| !old.is_empty()) {
                if text.contains(old.as_str()) {
                    *text = text.replace(old.as_str(), &mark(place));
                }
            }
            for (place, (_, new)) in words.iter().enumerate() {
                if text.contains('\u{1}') {
                    *text = text.replace(&mark(place), new);
                }
            }
        }
        _ => {}
    }
}
