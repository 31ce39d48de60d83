//! Entity extraction: dates, times, numbers, ids, titles, addresses, names, and the values that a
//! schema allows.
//!
//! Invariants
//! - Every entity is a span of the request, with its byte positions; nothing is invented. Entities
//!   do not overlap and are in order. More specific kinds win: quotes, addresses, dates, times,
//!   ids, allowed values, numbers, then names.
//! - No clock is read: "tomorrow" is resolved only if the caller passes the current date.

use super::sure;
use crate::pattern::pattern;
use crate::words::{name_words, stem, words};
use chrono::{Datelike, Days, Months, NaiveDate, Weekday};
use regex::{Captures, Regex};
use std::sync::LazyLock;
use steward_domain::Confidence;

/// The kind of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntityKind {
    /// A calendar day.
    Date,
    /// A time of the day.
    Time,
    /// A length of time.
    Duration,
    /// A number.
    Number,
    /// A percentage.
    Percent,
    /// An amount of money.
    Money,
    /// An id of an application: `TASK-12`, `#45`, a UUID.
    Id,
    /// Words between quotes, or after "called", "named", "titled".
    Title,
    /// An email address.
    Email,
    /// A URL.
    Link,
    /// Capitalised words.
    Name,
    /// A value that a schema allows.
    Choice,
}

/// The value of an entity.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// As text.
    Text(String),
    /// As a number.
    Number(f64),
    /// As a day.
    Day(NaiveDate),
}

/// An entity of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// The kind.
    pub kind: EntityKind,
    /// The text, without quotes.
    pub text: String,
    /// The value.
    pub value: Value,
    /// The field of the schema that allows it.
    pub field: Option<String>,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The confidence.
    pub confidence: Confidence,
    /// The reason.
    pub reason: String,
}

/// A field of a tool's schema: its name and the allowed values, if listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Field {
    /// Such as `status`.
    pub name: String,
    /// Such as `todo`, `in_progress`, `done`.
    pub choices: Vec<String>,
}

/// Maximum length of a request, in bytes; the rest is ignored.
const LONGEST: usize = 20_000;
const MONTHS: &str = "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";
const WEEKDAYS: &str =
    "mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thurs?(?:day)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?";

/// In order of precedence: kind, confidence, reason, pattern. A group `in` is the text if it is
/// shorter than the span.
static PATTERNS: LazyLock<Vec<(EntityKind, f32, &str, Regex)>> = LazyLock::new(|| {
    use EntityKind::{Date, Duration, Email, Id, Link, Money, Number, Percent, Time, Title};
    let rows: [(EntityKind, f32, &str, String); 19] = [
        (Title, 0.97, "it stands between quotes", r#""(?P<in>[^"\n]+)"|“(?P<a>[^”\n]+)”"#.into()),
        (Title, 0.95, "it stands between quotes", r"(?:^|[\s(,:])(?P<whole>['‘](?P<in>[^'’\n]+(?:['’]s [^'’\n]*)?)['’])(?:$|[\s.,;:?!)])".into()),
        (Email, 0.99, "it has the form of a mail address", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+".into()),
        (Link, 0.99, "it has the form of a web address", r#"(?i)\bhttps?://[^\s'",)]*[^\s'",).?!]"#.into()),
        (Id, 0.98, "it has the form of a UUID", r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b".into()),
        (Date, 0.98, "it is a calendar day", r"\b(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})\b".into()),
        (Date, 0.9, "it is a calendar day", r"\b(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})\b".into()),
        (Date, 0.75, "it is a calendar day, read as month, day, year", r"\b(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>\d{4})\b".into()),
        (Date, 0.95, "it names a day of a month", format!(r"(?i)\b(?P<month>{MONTHS})\.?\s(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s(?P<y>\d{{4}})\b)?")),
        (Date, 0.95, "it names a day of a month", format!(r"(?i)\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<month>{MONTHS})\b\.?(?:,?\s(?P<y>\d{{4}})\b)?")),
        (Date, 0.9, "it is a day seen from today", format!(r"(?i)\b(?:(?P<plain>day after tomorrow|day before yesterday|today|tonight|tomorrow|yesterday)|in (?P<ahead>\d{{1,3}}|an?|one|two|three|four|five|six) (?P<unit>day|week|month)s?|(?P<back>\d{{1,3}}|an?|one|two|three|four|five|six) (?P<unit2>day|week|month)s? ago|(?P<turn>next|last|this|on|by|until|coming)\s(?P<weekday>{WEEKDAYS})\b|(?P<turn2>next|last) (?P<unit3>week|month))\b")),
        (Time, 0.95, "it is a time of the day", r"(?i)\b(?:(?P<h>\d{1,2}):(?P<min>\d{2})(?:\s?(?P<half>[ap])\.?m\b\.?)?|(?P<h2>\d{1,2})\s?(?P<half2>[ap])\.?m\b\.?|noon\b|midnight\b)".into()),
        (Duration, 0.9, "it is a length of time", r"(?i)\b(?P<num>\d+(?:\.\d+)?|an?|half an|one|two|three|four|five|ten)[\s-](?:seconds?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?)\b".into()),
        (Money, 0.95, "a currency stands at it", r"(?i)[$€£]\s?(?P<num>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:\s?(?P<times>k|thousand|million|billion)\b)?|\b(?P<num2>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?(?:[€£$]|(?:dollars?|euros?|pounds?|usd|eur|gbp)\b)".into()),
        (Percent, 0.97, "it is said in per cent", r"(?i)(?P<num>[-+]?\d+(?:\.\d+)?)\s?(?:%|per\s?cent\b|percent\b)".into()),
        (Id, 0.9, "a number sign stands before it", r"(?:^|[\s(])(?P<whole>#(?P<in>\d+))\b".into()),
        (Id, 0.92, "letters and digits together look like an id", r"\b(?:[A-Z]{2,10}-\d+|[A-Za-z]+_\d+|[A-Za-z]{1,4}\d{3,}|(?:\d+[A-Za-z]+|[A-Za-z]+\d+)[A-Za-z0-9]{2,})\b".into()),
        (Id, 0.85, "it says that a number names the thing", r"(?i)\b(?:id|number|no\.|nr\.|ticket|order|task|invoice|case|issue|item|record)\s(?P<in>\d+)\b".into()),
        (Number, 0.95, "it is a number", r"(?:^|[\s(])(?P<whole>(?P<num>[-−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?))(?:\s?(?P<times>k|thousand|million|billion)\b)?)".into()),
    ];
    rows.into_iter().map(|(kind, sure, why, row)| (kind, sure, why, pattern(&row))).collect()
});

/// Words after "called", up to the end of the name.
static CALLED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)\b(?:called|named|titled|entitled|labell?ed|with (?:the )?(?:title|name|subject))[:\s]+(?P<in>[^\s,.;:?!"“'][^,.;:?!"“\n]*)"#,
    )
});
/// Words that end a name after "called".
const ENDS: &[&str] = &[
    "and", "as", "assigned", "at", "because", "before", "but", "by", "due", "for", "from", "in", "into",
    "on", "please", "so", "that", "then", "to", "under", "until", "which", "who", "with",
];

/// The entities of a request. `fields` are the fields of the available schemas; `today` is needed
/// to resolve relative dates.
#[must_use]
pub fn extract(text: &str, fields: &[Field], today: Option<NaiveDate>) -> Vec<Entity> {
    let text = cut(text);
    let mut found: Vec<Entity> = Vec::new();
    let before_choices = |kind: &EntityKind| !matches!(kind, EntityKind::Number);
    for (kind, share, why, pattern) in PATTERNS.iter().filter(|(kind, ..)| before_choices(kind)) {
        matches(text, *kind, *share, why, pattern, today, &mut found);
    }
    called(text, &mut found);
    choices(text, fields, &mut found);
    for (kind, share, why, pattern) in PATTERNS.iter().filter(|(kind, ..)| !before_choices(kind)) {
        matches(text, *kind, *share, why, pattern, today, &mut found);
    }
    names(text, &mut found);
    found.sort_by_key(|entity| entity.start);
    found
}

fn cut(text: &str) -> &str {
    let end = (0..=LONGEST.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or(text)
}

fn free(found: &[Entity], start: usize, end: usize) -> bool {
    found.iter().all(|entity| end <= entity.start || entity.end <= start)
}

fn matches(
    text: &str,
    kind: EntityKind,
    share: f32,
    why: &str,
    pattern: &Regex,
    today: Option<NaiveDate>,
    found: &mut Vec<Entity>,
) {
    for captures in pattern.captures_iter(text) {
        let Some(whole) = captures.name("whole").or_else(|| captures.get(0)) else { continue };
        let inner = captures.name("in").or_else(|| captures.name("a")).unwrap_or(whole);
        let said = inner.as_str().trim();
        let mut share = share;
        let value = match kind {
            EntityKind::Date => match day(&captures, today) {
                Read::Day(day) => Value::Day(day),
                Read::Words => {
                    share = share.min(0.6);
                    Value::Text(said.to_lowercase())
                }
                Read::Impossible => continue,
            },
            EntityKind::Time => match time(&captures, said) {
                Some(time) => Value::Text(time),
                None => continue,
            },
            EntityKind::Number | EntityKind::Percent | EntityKind::Money => match number(&captures) {
                Some(number) => Value::Number(number),
                None => continue,
            },
            _ => Value::Text(said.to_owned()),
        };
        // The words before an id's number are not part of it.
        let (start, end) =
            if kind == EntityKind::Id { (inner.start(), inner.end()) } else { (whole.start(), whole.end()) };
        if !said.is_empty() && free(found, start, end) {
            found.push(Entity {
                kind,
                text: said.to_owned(),
                value,
                field: None,
                start,
                end,
                confidence: sure(share),
                reason: why.to_owned(),
            });
        }
    }
}

/// The result of parsing a date expression.
enum Read {
    Day(NaiveDate),
    /// A date relative to an unknown current date.
    Words,
    /// It looks like a date but is invalid: 2026-02-30.
    Impossible,
}

fn day(captures: &Captures<'_>, today: Option<NaiveDate>) -> Read {
    let group = |name: &str| captures.name(name).map(|found| found.as_str().to_lowercase());
    let figure = |name: &str| group(name).and_then(|text| text.parse::<u32>().ok());
    let month = figure("m").or_else(|| group("month").as_deref().and_then(month_number));
    if let (Some(month), Some(day)) = (month, figure("d")) {
        let Some(year) =
            group("y").and_then(|year| year.parse::<i32>().ok()).or(today.map(|today| today.year()))
        else {
            return if NaiveDate::from_ymd_opt(2024, month, day).is_some() {
                Read::Words
            } else {
                Read::Impossible
            };
        };
        return NaiveDate::from_ymd_opt(year, month, day).map_or(Read::Impossible, Read::Day);
    }
    let Some(today) = today else { return Read::Words };
    relative(&group, today).map_or(Read::Words, Read::Day)
}

fn relative(group: &dyn Fn(&str) -> Option<String>, today: NaiveDate) -> Option<NaiveDate> {
    let shift = |count: u64, unit: &str, back: bool| match (unit, back) {
        ("month", false) => today.checked_add_months(Months::new(u32::try_from(count).ok()?)),
        ("month", true) => today.checked_sub_months(Months::new(u32::try_from(count).ok()?)),
        (_, back) => {
            let days = Days::new(if unit == "week" { count * 7 } else { count });
            if back { today.checked_sub_days(days) } else { today.checked_add_days(days) }
        }
    };
    if let Some(plain) = group("plain") {
        return match plain.as_str() {
            "day after tomorrow" => shift(2, "day", false),
            "day before yesterday" => shift(2, "day", true),
            "tomorrow" => shift(1, "day", false),
            "yesterday" => shift(1, "day", true),
            _ => Some(today),
        };
    }
    if let (Some(count), Some(unit)) = (group("ahead"), group("unit")) {
        return shift(counted(&count)?, &unit, false);
    }
    if let (Some(count), Some(unit)) = (group("back"), group("unit2")) {
        return shift(counted(&count)?, &unit, true);
    }
    if let (Some(turn), Some(unit)) = (group("turn2"), group("unit3")) {
        return shift(1, &unit, turn == "last");
    }
    let (turn, weekday) = (group("turn")?, weekday(&group("weekday")?)?);
    let ahead = u64::from((7 + weekday.num_days_from_monday() - today.weekday().num_days_from_monday()) % 7);
    match turn.as_str() {
        "last" => shift(7 - ahead, "day", true),
        // "Next Friday" is in next week; "Friday" and "this Friday" are the coming one.
        "next" => {
            let to_monday = 7 - u64::from(today.weekday().num_days_from_monday());
            shift(to_monday + u64::from(weekday.num_days_from_monday()), "day", false)
        }
        _ => shift(ahead, "day", false),
    }
}

fn counted(text: &str) -> Option<u64> {
    let word =
        |text: &str| ["", "one", "two", "three", "four", "five", "six"].iter().position(|word| *word == text);
    match text {
        "a" | "an" => Some(1),
        _ => text.parse().ok().or_else(|| word(text).map(|at| at as u64)),
    }
}

fn month_number(text: &str) -> Option<u32> {
    let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    names.iter().zip(1..).find(|(name, _)| text.starts_with(**name)).map(|(_, number)| number)
}

fn weekday(text: &str) -> Option<Weekday> {
    let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let at = names.iter().position(|name| text.starts_with(name))?;
    u8::try_from(at).ok().and_then(|at| Weekday::try_from(at).ok())
}

fn time(captures: &Captures<'_>, said: &str) -> Option<String> {
    let figure = |name: &str| captures.name(name).and_then(|found| found.as_str().parse::<u32>().ok());
    let (hour, minute) = match said.to_lowercase().as_str() {
        "noon" => (12, 0),
        "midnight" => (0, 0),
        _ => (figure("h").or_else(|| figure("h2"))?, figure("min").unwrap_or(0)),
    };
    let half =
        captures.name("half").or_else(|| captures.name("half2")).map(|half| half.as_str().to_lowercase());
    let hour = match half.as_deref() {
        Some("p") if hour < 12 => hour + 12,
        Some("a") if hour == 12 => 0,
        _ => hour,
    };
    (hour < 24 && minute < 60).then(|| format!("{hour:02}:{minute:02}"))
}

fn number(captures: &Captures<'_>) -> Option<f64> {
    let digits = captures.name("num").or_else(|| captures.name("num2"))?.as_str();
    let number: f64 = digits.replace(',', "").replace('−', "-").parse().ok()?;
    let times = match captures.name("times").map(|times| times.as_str().to_lowercase()).as_deref() {
        Some("k" | "thousand") => 1e3,
        Some("million") => 1e6,
        Some("billion") => 1e9,
        _ => 1.0,
    };
    Some(number * times)
}

fn called(text: &str, found: &mut Vec<Entity>) {
    let pattern = &*CALLED;
    for captures in pattern.captures_iter(text) {
        let Some(rest) = captures.name("in") else { continue };
        let stop = words(rest.as_str()).into_iter().skip(1).find(|word| ENDS.contains(&word.lower.as_str()));
        // A name also ends where another entity starts.
        let next = found.iter().filter(|entity| entity.start > rest.start()).map(|entity| entity.start).min();
        let length = stop
            .map_or(rest.len(), |word| word.start)
            .min(next.map_or(rest.len(), |next| next - rest.start()));
        let Some(said) = rest.as_str().get(..length).map(str::trim).filter(|said| !said.is_empty()) else {
            continue;
        };
        let (start, end) = (rest.start(), rest.start() + said.len());
        if free(found, start, end) {
            let reason = "it follows a word that gives a name".to_owned();
            found.push(Entity {
                kind: EntityKind::Title,
                text: said.to_owned(),
                value: Value::Text(said.to_owned()),
                field: None,
                start,
                end,
                confidence: sure(0.9),
                reason,
            });
        }
    }
}

/// Values that the schemas allow: literally, or in another form of the same words.
fn choices(text: &str, fields: &[Field], found: &mut Vec<Entity>) {
    let said = words(text);
    let mut readings: Vec<(usize, usize, usize, Entity)> = Vec::new();
    for field in fields {
        for choice in &field.choices {
            let wanted: Vec<String> = name_words(choice).iter().map(|word| stem(word)).collect();
            if wanted.is_empty() {
                continue;
            }
            for window in said.windows(wanted.len()) {
                let (Some(first), Some(last)) = (window.first(), window.last()) else { continue };
                if !window.iter().zip(&wanted).all(|(word, stem)| word.stem == *stem) {
                    continue;
                }
                let exact = window
                    .iter()
                    .map(|word| word.lower.as_str())
                    .eq(name_words(choice).iter().map(String::as_str));
                let near = said
                    .iter()
                    .any(|word| name_words(&field.name).iter().any(|name| stem(name) == word.stem));
                let share = if exact { 0.9 } else { 0.8 } + if near { 0.08 } else { 0.0 };
                readings.push((
                    wanted.len(),
                    usize::from(near),
                    readings.len(),
                    Entity {
                        kind: EntityKind::Choice,
                        text: text.get(first.start..last.end).unwrap_or_default().to_owned(),
                        value: Value::Text(choice.clone()),
                        field: Some(field.name.clone()),
                        start: first.start,
                        end: last.end,
                        confidence: sure(share),
                        reason: format!("{} may be {choice}", field.name),
                    },
                ));
            }
        }
    }
    // The longest first, then a field that is itself mentioned, then the order of the schema.
    readings.sort_by_key(|(length, near, order, _)| {
        (std::cmp::Reverse(*length), std::cmp::Reverse(*near), *order)
    });
    for (.., entity) in readings {
        if free(found, entity.start, entity.end) {
            found.push(entity);
        }
    }
}

/// Runs of capitalised words, without one that only starts a sentence.
fn names(text: &str, found: &mut Vec<Entity>) {
    let said = words(text);
    let opens = |at: usize| {
        let Some(word) = said.get(at) else { return true };
        let before = text.get(..word.start).unwrap_or_default().trim_end();
        before.is_empty() || before.ends_with(['.', '?', '!', ':'])
    };
    let proper = |at: usize| {
        said.get(at).is_some_and(|word| word.capital && !word.stop && weekday_or_month(&word.lower).is_none())
    };
    let mut at = 0;
    while at < said.len() {
        let next_to = |at: usize| {
            let gap = said.get(at).zip(said.get(at + 1)).and_then(|(a, b)| text.get(a.end..b.start));
            proper(at + 1) && gap.is_some_and(|gap| gap.trim().is_empty())
        };
        let mut last = at;
        while proper(at) && next_to(last) {
            last += 1;
        }
        // A capital at the start of a sentence is not significant.
        let first = if opens(at) { at + 1 } else { at };
        if proper(at)
            && first <= last
            && let (Some(from), Some(to)) = (said.get(first), said.get(last))
            && free(found, from.start, to.end)
            && let Some(name) = text.get(from.start..to.end)
        {
            let reason = "it is written with a capital".to_owned();
            found.push(Entity {
                kind: EntityKind::Name,
                text: name.to_owned(),
                value: Value::Text(name.to_owned()),
                field: None,
                start: from.start,
                end: to.end,
                confidence: sure(0.75),
                reason,
            });
        }
        at = last + 1;
    }
}

fn weekday_or_month(word: &str) -> Option<()> {
    static CALENDAR: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("^(?:{WEEKDAYS}|{MONTHS})$")));
    CALENDAR.is_match(word).then_some(())
}

#[cfg(test)]
#[path = "extract_tests.rs"]
mod tests;
