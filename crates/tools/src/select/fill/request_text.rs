//! Finds the spans of a request that can be values, with their positions.
//!
//! Invariants
//! - Spans do not overlap and are in text order. The most specific kind wins: JSON, quotes,
//!   addresses, dates, numbers, then names and codes.
//! - No clock is read: "tomorrow" is kept as a word.

use super::super::words::{Word, is_stop};
use regex::Regex;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The kind of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A JSON array or object.
    Json,
    /// Quoted text.
    Quoted,
    /// A URL, mail address, IP address or path.
    Link,
    /// A date, with or without a time.
    Date,
    /// A time of day.
    Time,
    /// A number.
    Number,
    /// A percentage.
    Percent,
    /// An id: letters mixed with digits or signs.
    Code,
    /// A formula.
    Formula,
    /// Capitalized words.
    Name,
}

/// A part of the request that can be a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The text without its quotes.
    pub(super) text: String,
    /// The number or the JSON value, if it is one.
    pub(super) value: Option<Json>,
    /// Year, month and day of a date. The year is 0 if it is not given.
    pub(super) day: Option<(u32, u32, u32)>,
    /// Whether it has a currency sign.
    pub(super) money: bool,
    /// The number of words before it.
    pub(super) before: usize,
    /// The number of words before its end.
    pub(super) after: usize,
}

/// A parsed request.
#[derive(Debug)]
pub(in super::super) struct RequestText {
    pub(super) text: String,
    pub(super) words: Vec<Word>,
    pub(super) spans: Vec<Span>,
    /// Which words are part of a span.
    pub(super) taken: Vec<bool>,
}

/// The maximum number of values in one request.
const MOST: usize = 60;

const MONTH: &str = r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";

/// The patterns in order of precedence. A group `in` is the value if the span contains more.
static PATTERNS: LazyLock<Vec<(Kind, Regex)>> = LazyLock::new(|| {
    let patterns: [(Kind, String); 17] = [
        (Kind::Quoted, r#""(?P<in>[^"]+)"|“(?P<a>[^”]+)”|`(?P<b>[^`]+)`|‘(?P<c>[^’]+)’"#.into()),
        (Kind::Quoted, r"(?:^|[\s(\[,:=])(?P<whole>'(?P<in>[^'\n]+(?:'[a-z]+ [^'\n]*)*)')(?:$|[\s.,;:?!)\]])".into()),
        (Kind::Link, r#"(?i)\b(?:https?|ftp|file|s3)://[^\s'",)]*[^\s'",).?!]"#.into()),
        (Kind::Link, r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+".into()),
        (Kind::Link, r"\b\d{1,3}(?:\.\d{1,3}){3}\b".into()),
        (Kind::Link, r"(?:^|\s)(?P<whole>(?:[A-Za-z]:\\|~?/|\./)(?P<rest>[\w./\\-]*\w))".into()),
        (Kind::Link, r"\b[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)*\.[a-z]{2,5}\b".into()),
        (Kind::Date, r"\b(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?:[T ]\d{2}:\d{2}(?::\d{2})?Z?)?\b".into()),
        (Kind::Date, r"\b(?P<m>\d{1,2})[/.-](?P<d>\d{1,2})[/.-](?P<y>\d{4})\b".into()),
        (Kind::Date, format!(r"(?i)\b{MONTH}\b\.?\s?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?:(?:\s?,\s?|\s)(?P<y>\d{{4}})\b)?")),
        (Kind::Date, format!(r"(?i)\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{MONTH}\b\.?(?:,?\s(?:of\s)?(?P<y>\d{{4}})\b)?")),
        (Kind::Date, format!(r"(?i)\b{MONTH}\b\.?,?\s(?:of\s)?(?P<y>\d{{4}})\b")),
        (Kind::Time, r"(?i)\b\d{1,2}(?::\d{2}){1,2}(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}\s?[ap]\.?m\b\.?".into()),
        (Kind::Formula, r"[-+]?(?:\d+(?:\.\d+)?\*?)?\b?[a-z](?:\s?(?:\^|\*\*)\s?\d+|\s?[-+*/]\s?\d+)(?:\s?[-+*/]\s?(?:\d+(?:\.\d+)?\*?)?(?:[a-z]\b(?:\s?(?:\^|\*\*)\s?\d+)?|\b))*".into()),
        (Kind::Percent, r"[-+]?\d+(?:\.\d+)?\s?(?:%|per\s?cent\b)".into()),
        (Kind::Code, r"\b(?:[A-Za-z]+[-_]?\d[\w-]*|\d+[-_]?[A-Za-z]*\d+[A-Za-z][\w-]*|\d+(?:-\d+)+|\w+(?:_\w+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)\b".into()),
        (Kind::Number, r"(?P<num>[-−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+))(?:\s?(?P<times>thousand|million|billion|trillion|[kK])\b)?".into()),
    ];
    patterns.into_iter().filter_map(|(kind, pattern)| Some((kind, Regex::new(&pattern).ok()?))).collect()
});

impl RequestText {
    /// Parses a request whose words are given.
    pub(in super::super) fn read(text: &str, words: &[Word]) -> Self {
        let mut spans: Vec<Span> = Vec::new();
        written(text, &mut spans);
        for (kind, pattern) in PATTERNS.iter() {
            for found in pattern.captures_iter(text) {
                let Some(whole) = found.name("whole").or_else(|| found.get(0)) else { continue };
                let inner = ["in", "a", "b", "c"].iter().find_map(|name| found.name(name)).unwrap_or(whole);
                let mut span = span(*kind, whole.start(), whole.end(), inner.as_str().trim());
                match kind {
                    Kind::Number => span.value = number(&found),
                    Kind::Percent => {
                        span.value = amount(span.text.trim_end_matches(|c: char| !c.is_ascii_digit()));
                    }
                    Kind::Date => span.day = day(&found),
                    _ => {}
                }
                let before = text.get(..whole.start()).unwrap_or_default();
                let attached = matches!(kind, Kind::Number | Kind::Formula) && joined(before);
                span.money = *kind == Kind::Number && before.ends_with(['$', '€', '£', '¥', '₹']);
                if !attached {
                    add(&mut spans, span);
                }
            }
        }
        spelled(words, &mut spans);
        names(text, words, &mut spans);
        spans.sort_by_key(|span| span.start);
        spans.truncate(MOST);
        let taken = vec![false; words.len()];
        let mut said = Self { text: text.to_owned(), words: words.to_vec(), spans, taken };
        said.finish();
        said
    }

    /// Sets the word positions of spans. A date without a year gets the year of the request, if
    /// there is exactly one.
    fn finish(&mut self) {
        let year = |span: &Span| {
            span.value.as_ref().and_then(Json::as_u64).filter(|year| (1900..2100).contains(year))
        };
        let dated = |span: &Span| span.day.map(|(year, ..)| year).filter(|year| *year > 0);
        let years: BTreeSet<u32> =
            self.spans.iter().filter_map(|s| dated(s).or(year(s).map(|year| year as u32))).collect();
        let only = years.first().copied().filter(|_| years.len() == 1).unwrap_or(0);
        for span in &mut self.spans {
            span.before = self.words.iter().filter(|word| word.start < span.start).count();
            span.after = self.words.iter().filter(|word| word.start < span.end).count();
            self.taken.iter_mut().take(span.after).skip(span.before).for_each(|taken| *taken = true);
            if let Some((year @ 0, ..)) = &mut span.day {
                *year = only;
            }
        }
    }
}

fn span(kind: Kind, start: usize, end: usize, text: &str) -> Span {
    Span {
        kind,
        start,
        end,
        text: text.to_owned(),
        value: None,
        day: None,
        money: false,
        before: 0,
        after: 0,
    }
}

fn add(spans: &mut Vec<Span>, span: Span) {
    if !span.text.is_empty() && spans.iter().all(|other| span.end <= other.start || span.start >= other.end) {
        spans.push(span);
    }
}

/// Whether a number after this text is part of a longer token.
fn joined(before: &str) -> bool {
    before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '^' | '.'))
}

/// Finds JSON arrays and objects.
fn written(text: &str, spans: &mut Vec<Span>) {
    let mut open: Vec<(usize, char)> = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' => open.push((at, c)),
            ']' | '}' => {
                let Some((from, _)) = open.pop() else { continue };
                if !open.is_empty() {
                    continue;
                }
                let raw = text.get(from..=at).unwrap_or_default();
                let parsed = serde_json::from_str(raw)
                    .ok()
                    .or_else(|| serde_json::from_str(&raw.replace('\'', "\"")).ok());
                let bare = || {
                    let inside = raw.strip_prefix('[')?.strip_suffix(']')?;
                    (!inside.contains(['[', '{']))
                        .then(|| inside.split(',').map(|part| Json::from(part.trim())).collect())
                };
                if let Some(value) = parsed.or_else(bare) {
                    let mut span = span(Kind::Json, from, at + 1, raw);
                    span.value = Some(value);
                    add(spans, span);
                }
            }
            _ => {}
        }
    }
}

/// Parses a number in digits.
pub(super) fn amount(text: &str) -> Option<Json> {
    let plain: String = text.replace('−', "-").chars().filter(|c| *c != ',').collect();
    let whole = plain.parse::<i64>().map(Json::from).ok();
    whole.or_else(|| plain.parse::<f64>().ok().filter(|x| x.is_finite()).map(Json::from))
}

fn number(found: &regex::Captures<'_>) -> Option<Json> {
    let base = amount(found.name("num")?.as_str())?;
    let times = match found.name("times").map(|word| word.as_str().to_lowercase()).as_deref() {
        Some("k" | "thousand") => 1e3,
        Some("million") => 1e6,
        Some("billion") => 1e9,
        Some("trillion") => 1e12,
        _ => return Some(base),
    };
    let value = base.as_f64()? * times;
    Some(if value.fract() == 0.0 && value.abs() < 9e15 {
        Json::from(value as i64)
    } else {
        Json::from(value)
    })
}

fn day(found: &regex::Captures<'_>) -> Option<(u32, u32, u32)> {
    let part = |name: &str| found.name(name).and_then(|part| part.as_str().parse::<u32>().ok());
    let month = match found.name("month") {
        Some(word) => {
            const MONTHS: [&str; 12] =
                ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
            let word = word.as_str().to_lowercase();
            MONTHS.iter().position(|month| word.starts_with(month))? as u32 + 1
        }
        None => part("m")?,
    };
    // A month alone has no day.
    let day = if found.name("d").is_some() { part("d")? } else { 0 };
    ((1..=12).contains(&month) && (0..=31).contains(&day)).then(|| (part("y").unwrap_or(0), month, day))
}

/// Finds numbers in words.
fn spelled(words: &[Word], spans: &mut Vec<Span>) {
    const SMALL: [&str; 21] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    for (at, word) in words.iter().enumerate() {
        let Some(value) = SMALL.iter().position(|small| *small == word.lower) else { continue };
        // "This one" and "one of" are not numbers.
        let next = words.get(at + 1).map_or("", |next| next.lower.as_str());
        if value == 1 && (is_stop(next) || next.is_empty()) {
            continue;
        }
        let mut span = span(Kind::Number, word.start, word.end, &word.lower);
        span.value = Some(Json::from(value));
        add(spans, span);
    }
}

/// Finds capitalized words that do not just start a sentence.
fn names(text: &str, words: &[Word], spans: &mut Vec<Span>) {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let before = text.get(..word.start).unwrap_or_default().trim_end_matches([' ', '"', '\'', '(', '“']);
        let begins = before.is_empty() || before.ends_with(['.', '!', '?', ':', '\n']);
        if !word.capital || begins || word.lower.starts_with("i'") || word.lower == "i" {
            at += 1;
            continue;
        }
        let last = reach(text, words, at);
        let end = words.get(last).map_or(word.end, |last| last.end);
        // "St." and "Inc." keep their period.
        let raw = text.get(word.start..end).unwrap_or_default();
        add(spans, span(Kind::Name, word.start, end, raw));
        at = last + 1;
    }
}

/// The last word of the name that starts at `first`.
fn reach(text: &str, words: &[Word], first: usize) -> usize {
    let mut last = first;
    let mut commas = 0;
    let gap = |a: usize, b: usize| Some(text.get(words.get(a)?.end..words.get(b)?.start)?.to_owned());
    loop {
        let Some(next) = words.get(last + 1) else { return last };
        let between = gap(last, last + 1).unwrap_or_default();
        let tight = matches!(between.as_str(), " " | "-" | "." | ". " | "&" | " & " | "'" | "/");
        let capital = next.capital && next.lower != "i";
        if tight
            && capital
            && !(between == ". " && words.get(last).is_some_and(|word| word.end - word.start > 3))
        {
            last += 1;
            continue;
        }
        let small = matches!(next.lower.as_str(), "of" | "the" | "de" | "la" | "del" | "von" | "van" | "for");
        let beyond = words.get(last + 2).is_some_and(|word| word.capital);
        if between == " "
            && small
            && beyond
            && gap(last + 1, last + 2).as_deref() == Some(" ")
            && next.lower != "for"
        {
            last += 2;
            continue;
        }
        // A town and its region: one comma, and no list continues after it.
        if between == ", " && capital && commas == 0 {
            let mut end = last + 1;
            while gap(end, end + 1).as_deref() == Some(" ")
                && words.get(end + 1).is_some_and(|word| word.capital)
            {
                end += 1;
            }
            let behind = gap(end, end + 1).unwrap_or_default();
            let listed = behind.starts_with(',')
                && words.get(end + 1).is_some_and(|word| word.capital || word.lower == "and")
                || words.get(end + 1).is_some_and(|word| matches!(word.lower.as_str(), "and" | "or"));
            let code = words.get(last + 1).is_some_and(|word| {
                let raw = text.get(word.start..word.end).unwrap_or_default();
                raw.len() <= 3 && raw.chars().all(char::is_uppercase)
            });
            if !listed || code {
                commas += 1;
                last = end;
                continue;
            }
        }
        return last;
    }
}
