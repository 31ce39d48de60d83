//! Typed values of an utterance: dates and date ranges, numbers, addresses.

use super::lexicon::{root, said_for};
use super::text::{Text, Token};
use crate::pattern::pattern;
use crate::skill::{self, EntityKind};
use crate::words::name_words;
use chrono::{Datelike, Days, Months, NaiveDate};
use regex::Regex;
use std::sync::LazyLock;

/// A date or a date range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DateSpan {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) from: NaiveDate,
    /// The last day of a range.
    pub(super) to: Option<NaiveDate>,
}

static SPANS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?P<week>this week)\b|\b(?P<month>this month)\b|\b(?P<nextweek>next week)\b|\b(?P<endmonth>(?:the )?end of (?:the|this) month|month'?s end)\b|\b(?P<endweek>(?:the )?end of (?:the|this) week)\b|\bthe (?P<nth>\d{1,2})(?:st|nd|rd|th)\b|\b(?P<day>monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
    )
});

/// The times of day between two positions, each with its span, as hours and minutes.
pub(super) fn clocks(plain: &str, from: usize, to: usize) -> Vec<(usize, usize, String)> {
    static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:(?P<h>\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?:[:.](?P<m>[0-5]\d))?(?: ?(?:o'clock|o’clock))?(?: ?(?P<half>a\.?m\b|p\.?m\b)\.?| (?:in the|at|this) (?P<part>morning|afternoon|evening|night))|(?P<hh>[01]?\d|2[0-3]):(?P<mm>[0-5]\d)\b|(?P<word>noon|midday|midnight)\b)",
        )
    });
    const HOURS: [&str; 12] =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let Some(piece) = plain.get(from..to) else { return Vec::new() };
    let read = |found: &regex::Captures<'_>| -> Option<(usize, usize, String)> {
        let whole = found.get(0)?;
        let number = |name: &str| {
            let text = found.name(name)?.as_str();
            text.parse::<u32>().ok().or_else(|| {
                HOURS.iter().position(|hour| *hour == text).and_then(|at| u32::try_from(at + 1).ok())
            })
        };
        let (hour, minute) = if let Some(word) = found.name("word") {
            (if word.as_str() == "midnight" { 0 } else { 12 }, 0)
        } else if let Some(hour) = number("hh") {
            (hour, number("mm")?)
        } else {
            let hour = number("h").filter(|hour| (1..=12).contains(hour))?;
            let half = found.name("half").or_else(|| found.name("part")).map_or("", |half| half.as_str());
            let late = half.starts_with('p') || ["afternoon", "evening", "night"].contains(&half);
            (hour % 12 + if late { 12 } else { 0 }, number("m").unwrap_or(0))
        };
        Some((from + whole.start(), from + whole.end(), format!("{hour:02}:{minute:02}")))
    };
    CLOCK.captures_iter(piece).take(8).filter_map(|found| read(&found)).collect()
}

/// The dates of an utterance, in order. Quoted text is ignored.
pub(super) fn days(text: &Text, today: NaiveDate) -> Vec<DateSpan> {
    let mut found: Vec<DateSpan> = Vec::new();
    let quoted = |at: usize| text.quotes.iter().any(|quote| quote.start <= at && at < quote.end);
    for captures in SPANS.captures_iter(&text.plain) {
        let Some(whole) = captures.get(0).filter(|whole| !quoted(whole.start())) else { continue };
        let group = |name: &str| captures.name(name).is_some();
        let monday = today.checked_sub_days(Days::new(u64::from(today.weekday().num_days_from_monday())));
        let first = today.with_day(1);
        let last =
            first.and_then(|first| first.checked_add_months(Months::new(1))).and_then(|next| next.pred_opt());
        let later =
            |day: Option<NaiveDate>, days: u64| day.and_then(|day| day.checked_add_days(Days::new(days)));
        let span = if group("week") {
            monday.map(|_| (Some(today.max(monday.unwrap_or(today))), later(monday, 6)))
        } else if group("month") {
            Some((first, last))
        } else if group("nextweek") {
            Some((later(monday, 7), later(monday, 13)))
        } else if group("endmonth") {
            Some((last, None))
        } else if group("endweek") {
            Some((later(monday, 6), None))
        } else if let Some(nth) = captures.name("nth").and_then(|nth| nth.as_str().parse::<u32>().ok()) {
            let here = today.with_day(nth).filter(|day| *day >= today);
            Some((
                here.or_else(|| today.checked_add_months(Months::new(1)).and_then(|next| next.with_day(nth))),
                None,
            ))
        } else {
            // Weekdays with "next" and "last" are handled by the skill; a plain one is the next
            // occurrence.
            let before = text.plain.get(..whole.start()).unwrap_or_default().trim_end();
            let turned = ["next", "last", "this", "on", "by", "until", "coming"]
                .iter()
                .any(|turn| before.ends_with(turn));
            (!turned).then(|| (weekday(whole.as_str(), today), None))
        };
        if let Some((Some(from), to)) = span {
            found.push(DateSpan { start: whole.start(), end: whole.end(), from, to });
        }
    }
    for entity in skill::extract(&text.raw, &[], Some(today)) {
        if let (EntityKind::Date, skill::Value::Day(day)) = (entity.kind, &entity.value)
            && !quoted(entity.start)
            && found.iter().all(|known| entity.end <= known.start || known.end <= entity.start)
        {
            // A date without a year that is long past is in the next year.
            let (start, end) = leading(&text.plain, entity.start, entity.end);
            found.push(DateSpan { start, end, from: *day, to: None });
        }
    }
    found.sort_by_key(|when| when.start);
    found
}

/// The skill includes the preposition in "by friday"; it is not part of the date.
fn leading(plain: &str, start: usize, end: usize) -> (usize, usize) {
    let said = plain.get(start..end).unwrap_or_default();
    let skip = ["on ", "by ", "until ", "this ", "coming "].iter().find(|turn| said.starts_with(**turn));
    (start + skip.map_or(0, |turn| turn.len()), end)
}

fn weekday(name: &str, today: NaiveDate) -> Option<NaiveDate> {
    let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let wanted = u64::try_from(names.iter().position(|known| *known == name)?).ok()?;
    let ahead = (7 + wanted - u64::from(today.weekday().num_days_from_monday())) % 7;
    today.checked_add_days(Days::new(if ahead == 0 { 7 } else { ahead }))
}

/// Numbers with their positions, including number words. Ids and dates are excluded by `taken`.
pub(super) fn numbers(text: &Text, taken: &dyn Fn(usize) -> bool) -> Vec<(usize, usize, f64)> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?P<n>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?(?P<k>k\b|thousand\b|million\b|m\b)?")
    });
    let mut found = Vec::new();
    let pattern = &*NUMBER;
    for captures in pattern.captures_iter(&text.plain) {
        let (Some(whole), Some(digits)) = (captures.get(0), captures.name("n")) else { continue };
        let before =
            text.plain.get(..whole.start()).and_then(|before| before.chars().next_back()).unwrap_or(' ');
        let end = whole.start() + whole.as_str().trim_end().len();
        let after = text.plain.get(end..).and_then(|after| after.chars().next()).unwrap_or(' ');
        let glued = before.is_alphanumeric()
            || before == '-'
            || after.is_alphanumeric()
            || after == '-'
            || before == '.';
        if glued || taken(whole.start()) {
            continue;
        }
        let Ok(number) = digits.as_str().replace(',', "").parse::<f64>() else { continue };
        let times = match captures.name("k").map(|times| times.as_str()) {
            Some("k" | "thousand") => 1e3,
            Some("m" | "million") => 1e6,
            _ => 1.0,
        };
        found.push((whole.start(), end, number * times));
    }
    for token in text.tokens.iter().filter(|token| !token.quoted && !taken(token.start)) {
        if let Some(number) = counted(&token.lower) {
            found.push((token.start, token.end, number));
        }
    }
    found.sort_by_key(|(start, ..)| *start);
    found
}

/// Number words from two to twenty. "One" is too often not a number.
pub(super) fn counted(word: &str) -> Option<f64> {
    let words = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    words
        .iter()
        .position(|known| *known == word)
        .and_then(|at| u32::try_from(at).ok())
        .map(|at| f64::from(at + 2))
}

/// Matches a choice value: its own words, or synonyms. The flag tells whether they are its own.
pub(super) fn choice_at(tokens: &[&Token], at: usize, choice: &str) -> Option<(usize, bool)> {
    let fits = |wanted: &[String], exact: bool| -> Option<usize> {
        let window = tokens.get(at..at + wanted.len())?;
        let same = window.iter().zip(wanted).all(|(token, word)| {
            !token.quoted && if exact { token.lower == *word } else { token.root == root(word) }
        });
        (same && !wanted.is_empty()).then_some(wanted.len())
    };
    let own = name_words(choice);
    if let Some(length) = fits(&own, false) {
        return Some((length, true));
    }
    // "In the chair" matches `in_chair`.
    let article = tokens.get(at + 1).is_some_and(|token| token.lower == "the");
    if let ([first, rest @ ..], true) = (own.as_slice(), article)
        && !rest.is_empty()
        && fits(std::slice::from_ref(first), false).is_some()
        && tokens.get(at + 2..at + 2 + rest.len()).is_some_and(|window| {
            window.iter().zip(rest).all(|(token, word)| !token.quoted && token.root == root(word))
        })
    {
        return Some((own.len() + 1, true));
    }
    let others = said_for(choice).map(|said| said.split([' ', '_']).map(str::to_owned).collect::<Vec<_>>());
    others.filter_map(|said| fits(&said, true)).max().map(|length| (length, false))
}

/// The span of an email address, or of a phone number.
pub(super) fn address(text: &str, phone: bool) -> Option<(usize, usize)> {
    static EMAIL: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"));
    static PHONE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\+?\d[\d ()/-]{4,}\d"));
    let pattern = if phone { &*PHONE } else { &*EMAIL };
    pattern.find(text).map(|found| (found.start(), found.end()))
}

#[cfg(test)]
mod tests {
    use super::clocks;

    #[test]
    fn times_of_day_are_read_and_numbers_are_not() {
        for (said, expected) in [
            ("at 9:30", vec!["09:30"]),
            ("3 pm", vec!["15:00"]),
            ("12 am and 12 pm", vec!["00:00", "12:00"]),
            ("from 11am to 4.30 p.m.", vec!["11:00", "16:30"]),
            ("ten in the morning", vec!["10:00"]),
            ("noon", vec!["12:00"]),
            ("reschedule 307 to 17:00", vec!["17:00"]),
            ("task 12", vec![]),
            ("25:10", vec![]),
            ("one more night", vec![]),
        ] {
            let found: Vec<String> = clocks(said, 0, said.len()).into_iter().map(|(.., time)| time).collect();
            assert_eq!(found, expected, "{said}");
        }
    }
}
