//! Questions about what comes next ("forecast sales for the next quarter") and about why something
//! changed ("why did revenue drop in March?").
//!
//! Both are a plain question with something done to its rows afterwards: the plain question is read
//! like any other, and [`Afterwards`] says what follows.

mod change;
mod forecast;

pub use forecast::{Horizon, Span};

use crate::catalogue::Catalogue;
use crate::frame::Kind;
use crate::planner::{Outcome, Reading};
use crate::query::Grain;
use crate::roles::{Role, role};
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use steward_text::period::{Period, read_times};
use steward_text::tokens::{Token, name_words, stem, tokenize};

/// What is done with the rows of a reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Afterwards {
    /// The first query is a course over time that is carried on.
    Forecast(forecast::Course),
    /// The first query has the totals of two periods, the others split them up.
    Change(change::Split),
}

pub use change::Split;
pub use forecast::Course;

/// A question that wants more than rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlook {
    /// The plain question whose rows are needed.
    pub question: String,
    /// Whether no word names the rows: they are those of the question before.
    pub is_bare: bool,
    wish: Wish,
}

#[derive(Debug, Clone, PartialEq)]
enum Wish {
    Forecast(forecast::Wish),
    Change(change::Wish),
}

/// Takes a question apart that asks what comes next or why something changed. `anchor` is the day
/// that relative times are counted from.
#[must_use]
pub fn outlook(question: &str, catalogue: &Catalogue, today: NaiveDate, follows: bool) -> Option<Outlook> {
    let anchor = crate::planner::confidence::anchor(catalogue, today);
    let (tokens, _) = tokenize(question);
    if tokens.len() > 60 {
        return None;
    }
    let (rest, grain, wish) = forecast::wish(&tokens, catalogue, anchor)
        .map(|(rest, grain, wish)| (rest, grain, Wish::Forecast(wish)))
        .or_else(|| {
            let (rest, wish) = change::wish(&tokens, catalogue, anchor)?;
            Some((rest, Grain::Month, Wish::Change(wish)))
        })?;
    let says_something = rest.iter().any(|token| !token.is_sign() && !among(EMPTY, &token.word));
    if !says_something && !follows {
        return None;
    }
    let mut words: Vec<&str> = rest.iter().map(|token| token.text.as_str()).collect();
    if !says_something {
        words.clear();
    }
    let named = rest.iter().any(|token| grain_of(&token.word).is_some());
    let by = ["by", grain_word(grain)];
    if !named {
        words.extend(by);
    }
    Some(Outlook { question: words.join(" "), is_bare: !says_something, wish })
}

impl Outlook {
    /// Adds what follows to the best reading that has the rows for it; otherwise says what it
    /// lacks.
    #[must_use]
    pub fn apply(&self, readings: Vec<Reading>, asked: &str, catalogue: &Catalogue) -> Outcome {
        let mut sorted = readings;
        sorted.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        let found = sorted.into_iter().find_map(|reading| match &self.wish {
            Wish::Forecast(wish) => forecast::apply(wish, reading, asked, catalogue),
            Wish::Change(wish) => change::apply(wish, reading, asked, catalogue),
        });
        if let Some(mut reading) = found {
            // What was not observed is never sure.
            reading.confidence = reading.confidence.min(crate::propose::SURE - 0.01);
            return Outcome::Read(reading);
        }
        let why = match &self.wish {
            Wish::Forecast(_) => "A forecast needs one number over time, such as “forecast sales by month”.",
            Wish::Change(_) => {
                "To explain a change there must be one number and a time, such as “why did sales drop in May?”."
            }
        };
        let can_answer = measures(catalogue);
        Outcome::Unanswerable { why: why.to_owned(), can_answer }
    }
}

/// Questions that could be asked instead.
fn measures(catalogue: &Catalogue) -> Vec<String> {
    let timed =
        catalogue.tables.iter().filter(|table| table.columns.iter().any(|column| column.kind.is_time()));
    timed
        .flat_map(|table| {
            let columns = table.columns.iter();
            columns.filter(|column| role(catalogue, table, column) == Role::Measure)
        })
        .map(|column| format!("Forecast {} by month", column.label))
        .take(3)
        .collect()
}

/// Words that say nothing on their own.
const EMPTY: &str = "it this that they them the a an for of in by is was what will be please me us our to \
    and do did you can could would give show tell make next how why then now";

fn among(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// The grain that a word names.
fn grain_of(word: &str) -> Option<Grain> {
    Some(match word {
        "day" | "days" | "daily" => Grain::Day,
        "week" | "weeks" | "weekly" => Grain::Week,
        "month" | "months" | "monthly" => Grain::Month,
        "quarter" | "quarters" | "quarterly" => Grain::Quarter,
        "year" | "years" | "yearly" | "annual" | "annually" => Grain::Year,
        _ => return None,
    })
}

fn grain_word(grain: Grain) -> &'static str {
    match grain {
        Grain::Day => "day",
        Grain::Week => "week",
        Grain::Month => "month",
        Grain::Quarter => "quarter",
        Grain::Year => "year",
    }
}

/// Days from the first to the last one that the data knows.
fn known_days(catalogue: &Catalogue) -> i64 {
    let columns = catalogue.tables.iter().flat_map(|table| &table.columns);
    columns
        .filter(|column| matches!(column.kind, Kind::Date | Kind::Timestamp))
        .filter_map(|column| {
            let day = |value| crate::planner::filters::date_of(value);
            Some((day(&column.max)? - day(&column.min)?).num_days())
        })
        .max()
        .unwrap_or(0)
}

/// Whether a word is part of the name of a table or column, and so means that.
fn is_name(word: &str, catalogue: &Catalogue) -> bool {
    let wanted = stem(word);
    let names = catalogue.tables.iter().flat_map(|table| {
        std::iter::once(&table.label).chain(table.columns.iter().map(|column| &column.label))
    });
    names.flat_map(|name| name_words(name)).any(|part| stem(&part) == wanted)
}

/// The times that are named, each by all of its words.
fn times(tokens: &[Token], anchor: NaiveDate) -> Vec<(usize, usize, Period)> {
    let mut found = read_times(tokens, anchor);
    found.sort_by_key(|(from, to, _)| (std::cmp::Reverse(to - from), *from));
    let mut kept: Vec<(usize, usize, Period)> = Vec::new();
    for (from, to, period) in found {
        if kept.iter().all(|(first, last, _)| to <= *first || from >= *last) {
            kept.push((from, to, period));
        }
    }
    kept.sort_by_key(|(from, ..)| *from);
    kept
}

fn take(taken: &mut [bool], from: usize, to: usize) {
    taken.iter_mut().take(to).skip(from).for_each(|one| *one = true);
}

/// The tokens that were not taken.
fn without(tokens: &[Token], taken: &[bool]) -> Vec<Token> {
    tokens.iter().zip(taken).filter(|(_, taken)| !**taken).map(|(token, _)| token.clone()).collect()
}

#[cfg(test)]
#[path = "outlook_tests.rs"]
mod tests;
