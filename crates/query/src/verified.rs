//! Whether a question is a verified one with other particulars.
//!
//! Two questions are the same when their words are, but for particulars and fillers; or when the
//! reader makes the same query of both and every word that differs is a filler or another word for
//! the same thing. Near in meaning is never enough: "total" and "average" are near. A question that
//! is not recognised is read as any other; one that is recognised wrongly would be called verified,
//! so in doubt nothing fits.

use crate::catalogue::Catalogue;
use crate::planner::particulars::{self, Found, TIME};
use crate::planner::{Meaning, Outcome, Parameter, Reading};
use crate::propose;
use chrono::NaiveDate;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use steward_text::period::{Period, read_times};
use steward_text::synonyms::synonyms;
use steward_text::tokens::{name_words, stem, tokenize};

/// What a verified answer runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// A reading of the built-in reader.
    Reading(Box<Reading>),
    /// One SELECT statement.
    Sql(String),
}

/// A verified answer as it is matched.
pub struct Verified<'a> {
    /// The question in the words it was verified with, then in other words.
    pub phrases: Vec<&'a str>,
    /// What it runs.
    pub statement: &'a Statement,
}

/// What questions are compared with.
pub struct Matcher<'a> {
    /// The data.
    pub catalogue: &'a Catalogue,
    /// The day that relative times are counted from.
    pub today: NaiveDate,
    /// Nearness in meaning, for the reader.
    pub meaning: &'a dyn Meaning,
}

/// Below this two questions are not about the same, whatever the reader made of them.
const NEAR: f32 = 0.3;

/// Words that ask without saying what.
const FILLERS: &str = "a an the please show me give tell display list find get what which is are was were be \
    do does did can could you i we us want would like know see let need our my there s of for in on at from \
    to during within with \
    over all that had have has it its this these those how much so just now then here out up about";
/// Words of which one asks for something else than another: each line is one meaning.
const OPERATORS: &[&str] = &[
    "total sum overall altogether combined",
    "average mean avg typical",
    "median middle",
    "count many number quantity",
    "highest most maximum max largest biggest greatest top best",
    "lowest least minimum min smallest worst bottom fewest",
    "not no without except excluding never other non",
    "share percent percentage proportion fraction ratio rate",
    "growth change increase decrease difference compare versus vs",
    "unique distinct different",
    "cumulative running",
    "each every per by",
    "or either",
    "before after since until between",
    "more above over greater exceeding",
    "less below under fewer",
];

/// The statement for this question, when it is the verified one with other particulars.
#[must_use]
pub fn fit(question: &str, verified: &Verified<'_>, matcher: &Matcher<'_>) -> Option<Statement> {
    fit_words(question, verified, matcher).or_else(|| fit_reading(question, verified, matcher))
}

/// The same words but for particulars and fillers. Quick.
#[must_use]
pub fn fit_words(question: &str, verified: &Verified<'_>, matcher: &Matcher<'_>) -> Option<Statement> {
    let parameters = parameters(verified.phrases.first()?, verified.statement, matcher)?;
    by_words(question, verified, &parameters, matcher)
}

/// Another wording that the reader makes the same query of. As slow as reading both questions.
#[must_use]
pub fn fit_reading(question: &str, verified: &Verified<'_>, matcher: &Matcher<'_>) -> Option<Statement> {
    by_reading(question, verified.phrases.first()?, verified, matcher)
}

/// Why a statement cannot stand for later questions of this kind.
#[must_use]
pub fn obstacle(question: &str, statement: &Statement, matcher: &Matcher<'_>) -> Option<&'static str> {
    let relative = times(question, matcher.today).iter().any(|period| period.relative || period.yearless);
    let fixed = match statement {
        Statement::Reading(reading) => has_dates(reading),
        Statement::Sql(sql) => !dates_of(sql).is_empty(),
    };
    (relative && fixed).then_some(
        "the question counts its time from the day it is asked, and the statement holds fixed days. Name the \
            days in the question, or give SQL that counts them itself",
    )
}

/// The same words but for particulars and fillers.
fn by_words(
    question: &str,
    verified: &Verified<'_>,
    parameters: &[Parameter],
    matcher: &Matcher<'_>,
) -> Option<Statement> {
    let found = particulars::find(question, parameters, matcher.catalogue, matcher.today)?;
    let asked = plain(&found.template);
    let same = verified.phrases.iter().any(|phrase| {
        particulars::template(phrase, parameters, matcher.catalogue, matcher.today)
            .is_some_and(|template| plain(&template) == asked)
    });
    if !same {
        return None;
    }
    exchange(verified.statement, parameters, &found, matcher.today)
}

/// Another wording that the reader makes the same query of.
fn by_reading(
    question: &str,
    first: &str,
    verified: &Verified<'_>,
    matcher: &Matcher<'_>,
) -> Option<Statement> {
    let read = |text: &str| match propose::read(text, matcher.catalogue, None, matcher.today, matcher.meaning)
    {
        Outcome::Read(reading) if !reading.queries.is_empty() => Some(reading),
        _ => None,
    };
    if matcher.meaning.similarity(question, first) < NEAR {
        return None;
    }
    let (asked, known) = (read(question)?, read(first)?);
    let unexplained = |reading: &Reading| -> BTreeSet<String> {
        reading.unexplained.iter().map(|word| stem(&word.to_lowercase())).collect()
    };
    let names = |reading: &Reading| -> Vec<String> {
        reading.parameters.iter().map(|parameter| parameter.name.clone()).collect()
    };
    let alike = unexplained(&asked) == unexplained(&known)
        && names(&asked) == names(&known)
        // A query over days that no parameter stands for holds for those days only.
        && (!has_dates(&known) || names(&known).iter().any(|name| name == TIME));
    if !alike || !words_agree(question, &asked, first, &known, matcher) {
        return None;
    }
    let found = found_of(&asked, matcher.today)?;
    if shape(&particulars::exchange(&known, &found, matcher.today)?) != shape(&asked) {
        return None;
    }
    match verified.statement {
        Statement::Reading(reading) => {
            // The statement may have been read by an earlier version: it must still be what its own
            // words are read as.
            (reading.parameters == known.parameters)
                .then(|| particulars::exchange(reading, &found, matcher.today))
                .flatten()
                .map(|reading| Statement::Reading(Box::new(reading)))
        }
        Statement::Sql(_) => {
            let own = parameters(first, verified.statement, matcher)?;
            let value = |name: &str, reading: &Reading| {
                let column = |parameter: &&Parameter| parameter.name.eq_ignore_ascii_case(name);
                reading.parameters.iter().find(column).map(|parameter| parameter.value.clone())
            };
            // What the statement does not hold as a parameter must be the same in both.
            let fixed = known.parameters.iter().all(|parameter| {
                own.iter().any(|one| one.name.eq_ignore_ascii_case(&parameter.name))
                    || value(&parameter.name, &asked).as_ref() == Some(&parameter.value)
            });
            let values = own
                .iter()
                .map(|parameter| match parameter.name.as_str() {
                    TIME => Some(None),
                    name => {
                        let known = value(name, &known)?;
                        known
                            .eq_ignore_ascii_case(&parameter.value)
                            .then(|| value(name, &asked))
                            .flatten()
                            .map(Some)
                    }
                })
                .collect::<Option<Vec<_>>>()?;
            let found = Found { values, ..found };
            fixed.then(|| exchange(verified.statement, &own, &found, matcher.today)).flatten()
        }
    }
}

/// The particulars that a reading found.
fn found_of(reading: &Reading, today: NaiveDate) -> Option<Found> {
    let mut time = None;
    let mut values = Vec::new();
    for parameter in &reading.parameters {
        if parameter.name == TIME {
            time = Some(particulars::span(&parameter.value, today)?);
            values.push(None);
        } else {
            values.push(Some(parameter.value.clone()));
        }
    }
    Some(Found { template: String::new(), values, time })
}

/// The queries of a reading without the names of their results.
fn shape(reading: &Reading) -> Json {
    fn strip(json: &mut Json) {
        match json {
            Json::Object(map) => {
                if map.contains_key("expr") {
                    map.remove("name");
                }
                map.values_mut().for_each(strip);
            }
            Json::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut json: Json = reading.queries.iter().map(|named| serde_json::json!(named.query)).collect();
    strip(&mut json);
    json
}

/// Whether the words that differ between two questions say the same.
fn words_agree(question: &str, asked: &Reading, first: &str, known: &Reading, matcher: &Matcher<'_>) -> bool {
    let words = |text: &str, reading: &Reading| content(text, &reading.parameters, matcher);
    let (left, right) = (words(question, asked), words(first, known));
    let numbers = |words: &[String]| -> Vec<String> {
        words.iter().filter(|word| word.parse::<f64>().is_ok()).cloned().collect()
    };
    if numbers(&left) != numbers(&right) || operators(&left) != operators(&right) {
        return false;
    }
    let mut named: Vec<String> = Vec::new();
    for (table, column) in columns(asked) {
        named.extend(name_words(&table).iter().map(|word| stem(word)));
        named.extend(name_words(&column).iter().map(|word| stem(word)));
    }
    let covered = |word: &String, others: &[String]| {
        others.contains(word)
            || named.contains(word)
            || others.iter().chain(&named).any(|other| synonyms(word, other))
            || class(word).is_some()
            || word.parse::<f64>().is_ok()
    };
    left.iter().all(|word| covered(word, &right)) && right.iter().all(|word| covered(word, &left))
}

/// The stems of the words that say something, without particulars.
fn content(text: &str, parameters: &[Parameter], matcher: &Matcher<'_>) -> Vec<String> {
    let template = match particulars::find(text, parameters, matcher.catalogue, matcher.today) {
        Some(found) => found.template,
        None => text.to_owned(),
    };
    plain(&template).into_iter().filter(|word| !word.starts_with('{')).collect()
}

/// The words of a template that say something, as stems. Placeholders stay as they are.
fn plain(template: &str) -> Vec<String> {
    let is_filler = |word: &str| FILLERS.split_whitespace().any(|filler| filler == word);
    template
        .split_whitespace()
        .map(str::to_lowercase)
        .filter(|word| word.starts_with('{') || class(&stem(word)).is_some() || !is_filler(word))
        .map(|word| if word.starts_with('{') { word } else { stem(&word) })
        .collect()
}

/// Which operation a word asks for.
fn class(word: &str) -> Option<usize> {
    OPERATORS.iter().position(|line| line.split_whitespace().any(|known| stem(known) == word))
}

fn operators(words: &[String]) -> BTreeSet<usize> {
    words.iter().filter_map(|word| class(word)).collect()
}

/// The columns that a reading's queries name, with their tables.
fn columns(reading: &Reading) -> BTreeSet<(String, String)> {
    fn walk(json: &Json, found: &mut BTreeSet<(String, String)>) {
        match json {
            Json::Object(map) => {
                if let Some([Json::String(table), Json::String(column)]) =
                    map.get("column").and_then(Json::as_array).map(Vec::as_slice)
                {
                    found.insert((table.clone(), column.clone()));
                }
                map.values().for_each(|value| walk(value, found));
            }
            Json::Array(list) => list.iter().for_each(|value| walk(value, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    for named in &reading.queries {
        found.insert((named.query.table.clone(), String::new()));
        walk(&serde_json::json!(named.query), &mut found);
    }
    found
}

/// The times that a question names, without those that are part of a longer one.
fn times(question: &str, today: NaiveDate) -> Vec<Period> {
    let (tokens, _) = tokenize(question);
    let all = read_times(&tokens, today);
    let within = |start: usize, end: usize| {
        all.iter().any(|(from, to, _)| *from <= start && end <= *to && end - start < to - from)
    };
    all.iter().filter(|(start, end, _)| !within(*start, *end)).map(|(_, _, period)| period.clone()).collect()
}

/// Whether a reading's queries hold days.
fn has_dates(reading: &Reading) -> bool {
    fn walk(json: &Json) -> bool {
        match json {
            Json::Object(map) => map.iter().any(|(key, value)| {
                matches!(key.as_str(), "date" | "time") && value.is_string() || walk(value)
            }),
            Json::Array(list) => list.iter().any(walk),
            _ => false,
        }
    }
    reading.queries.iter().any(|named| walk(&serde_json::json!(named.query)))
}

/// The parameters of a statement: what of it the question names, and what may be exchanged for
/// others. Nothing when the statement holds days that the question counts from the day it is asked.
fn parameters(question: &str, statement: &Statement, matcher: &Matcher<'_>) -> Option<Vec<Parameter>> {
    if obstacle(question, statement, matcher).is_some() {
        return None;
    }
    let sql = match statement {
        Statement::Reading(reading) => return Some(reading.parameters.clone()),
        Statement::Sql(sql) => sql,
    };
    let mut found = particulars::literals(question, quoted(sql), matcher.catalogue);
    if let [period] = times(question, matcher.today).as_slice()
        && !dates_of(sql).is_empty()
        && dates_of(sql).iter().all(|date| ends(period).contains(date))
        && !holds_number(sql, &period.from.format("%Y").to_string())
    {
        let value = period.words();
        found.push(Parameter { name: TIME.to_owned(), column: TIME.to_owned(), value });
    }
    Some(found)
}

/// The first day of a span, the day after it, and its last day.
fn ends(period: &Period) -> [NaiveDate; 3] {
    [period.from, period.to, period.to.pred_opt().unwrap_or(period.to)]
}

/// A statement with other particulars.
fn exchange(
    statement: &Statement,
    parameters: &[Parameter],
    found: &Found,
    today: NaiveDate,
) -> Option<Statement> {
    let sql = match statement {
        Statement::Reading(reading) => {
            return particulars::exchange(reading, found, today)
                .map(|reading| Statement::Reading(Box::new(reading)));
        }
        Statement::Sql(sql) => sql,
    };
    // Marks first, so that what was put in is not exchanged again.
    let mut sql = sql.clone();
    let mut marked: Vec<(String, String)> = Vec::new();
    let mut mark = |sql: &mut String, old: String, new: String| {
        let mark = format!("\u{1}{}\u{2}", marked.len());
        *sql = sql.replace(&old, &mark);
        marked.push((mark, new));
    };
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    for (parameter, value) in parameters.iter().zip(&found.values) {
        if parameter.name == TIME {
            let (old, new) = (particulars::span(&parameter.value, today)?, found.time.clone()?);
            for (old, new) in ends(&old).into_iter().zip(ends(&new)) {
                mark(&mut sql, old.to_string(), new.to_string());
            }
        } else {
            mark(&mut sql, quoted(&parameter.value), quoted(value.as_ref()?));
        }
    }
    for (mark, new) in marked {
        sql = sql.replace(&mark, &new);
    }
    Some(Statement::Sql(sql))
}

/// The texts in quotes of a statement.
fn quoted(sql: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = sql;
    while let Some((_, after)) = rest.split_once('\'') {
        let mut text = String::new();
        let mut letters = after.char_indices().peekable();
        let mut end = after.len();
        while let Some((place, letter)) = letters.next() {
            if letter != '\'' {
                text.push(letter);
            } else if letters.peek().is_some_and(|(_, next)| *next == '\'') {
                text.push('\'');
                letters.next();
            } else {
                end = place + 1;
                break;
            }
        }
        texts.push(text);
        rest = after.get(end..).unwrap_or_default();
    }
    texts
}

/// The days in the texts of a statement.
fn dates_of(sql: &str) -> Vec<NaiveDate> {
    let day = |text: &String| text.get(..10).and_then(|day| day.parse().ok());
    quoted(sql).iter().filter_map(day).collect()
}

/// Whether a number stands outside of the texts of a statement.
fn holds_number(sql: &str, number: &str) -> bool {
    let mut inside = false;
    let outside: String = sql
        .chars()
        .map(|letter| {
            inside ^= letter == '\'';
            if inside { ' ' } else { letter }
        })
        .collect();
    outside.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|word| word == number)
}

#[cfg(test)]
#[path = "verified_tests.rs"]
mod tests;
