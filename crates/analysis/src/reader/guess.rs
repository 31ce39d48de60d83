//! Decides the format of a column from its values and its name.
//!
//! A column is read as numbers or dates only if at least 98 % of its values fit. Values that do not
//! fit are counted, and every decision that the values did not force is reported.

use super::evidence::{Evidence, enough};
use super::moment::{Order, Shape};
use super::names;
use super::number;
use super::value_format::{ValueFormat, is_nothing};
use crate::frame::{Kind, Unit};

/// The format that a column seems to have.
#[derive(Debug, Clone, PartialEq)]
pub struct Guess {
    /// How its values are read.
    pub format: ValueFormat,
    /// What it holds.
    pub kind: Kind,
    /// How its numbers are shown.
    pub unit: Unit,
    /// How many values are empty or mean a missing value.
    pub nulls: usize,
    /// How many values do not fit and are read as null.
    pub bad: usize,
    /// The first few of them.
    pub examples: Vec<String>,
    /// Assumptions that the values did not force.
    pub assumptions: Vec<String>,
    /// What a profile says about the reading, and answers do not.
    pub notes: Vec<String>,
    /// Whether every value is in machine format, so that a typed reader may be used.
    pub plain: bool,
}

/// What a column's name tells about its values.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Hint {
    pub(super) date: bool,
    pub(super) year: bool,
    pub(super) part_of_date: bool,
    /// Numbers with at least this many digits are identifiers.
    pub(super) identifier: Option<usize>,
    pub(super) calendar: bool,
    pub(super) percent: bool,
    pub(super) currency: Option<char>,
}

impl Hint {
    /// Derives the hint from the words of a name.
    fn of(label: &str) -> Self {
        let name = names::clean(label);
        let has = |words: &[&str]| name.split('_').any(|part| words.contains(&part));
        let year = has(&["year", "yr", "jahr", "année", "año", "anno", "ano"]) || name.ends_with("year");
        let date = has(&[
            "date",
            "day",
            "dt",
            "datetime",
            "time",
            "timestamp",
            "ts",
            "epoch",
            "unix",
            "datum",
            "fecha",
            "created",
        ]) || has(&[
            "updated", "modified", "period", "at", "when", "month", "ymd", "yyyymmdd", "jour", "tag", "data",
        ]) || name.ends_with("date")
            || name.ends_with("time");
        let postal = has(&["zip", "zipcode", "postal", "postcode", "plz", "fips"]);
        let dialled =
            has(&["phone", "telephone", "tel", "fax", "mobile", "isbn", "iban", "ssn", "ean", "upc"]);
        // `mobile` may also name a count of visits: only long numbers are phone numbers.
        let identifier = if postal { Some(4) } else { dialled.then_some(6) };
        let currency = match () {
            // A name that is only a currency means its exchange rate.
            () if !name.contains('_') => None,
            () if label.contains('$') || has(&["usd"]) => Some('$'),
            () if label.contains('€') || has(&["eur"]) => Some('€'),
            () if label.contains('£') || has(&["gbp"]) => Some('£'),
            () => None,
        };
        Self {
            date: date && !has(&["id", "ids", "count", "number", "num", "hours", "days"]),
            year,
            part_of_date: has(&[
                "hour", "month", "day", "minute", "second", "week", "quarter", "hr", "min", "sec",
            ]),
            identifier,
            calendar: has(&[
                "date",
                "period",
                "season",
                "founded",
                "established",
                "built",
                "born",
                "died",
                "since",
            ]) || has(&["released", "vintage"]),
            percent: label.contains('%') || has(&["pct", "percent", "percentage"]),
            currency,
        }
    }
}

/// Decides the format of a column. `label` is its name in the file, which may tell that numbers are
/// dates or years; `decimal_comma` tells how other columns of the file write fractions.
pub fn guess<'a>(values: impl Iterator<Item = &'a str> + Clone, label: &str, decimal_comma: bool) -> Guess {
    let hint = Hint::of(label);
    let mut evidence = Evidence::default();
    for value in values.clone() {
        evidence.add(value);
    }
    let mut assumptions = Vec::new();
    let mut notes = Vec::new();
    let format = choose(&evidence, values.clone(), hint, decimal_comma, &mut assumptions, &mut notes);
    let guess = Guess { notes, ..settle(format, &evidence, values.clone(), assumptions) };
    if enough(evidence.total - guess.bad.min(evidence.total), evidence.total)
        || guess.format == ValueFormat::Text
    {
        return with_unit(guess, hint, values);
    }
    settle(ValueFormat::Text, &evidence, values, Vec::new())
}

/// The format that the evidence supports.
fn choose<'a>(
    evidence: &Evidence,
    values: impl Iterator<Item = &'a str> + Clone,
    hint: Hint,
    decimal_comma: bool,
    assumptions: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> ValueFormat {
    if let Some(words) = evidence.words() {
        return ValueFormat::Boolean { words };
    }
    let dates = &evidence.dates;
    if enough(dates.count, evidence.total) && !dates.is_seasons() {
        let order = dates.order(values, decimal_comma, assumptions);
        let shape = dates.shape();
        assumptions.extend(dates.future.clone());
        if dates.zoned > 0 {
            assumptions.push("times with a zone were converted to UTC".to_owned());
        }
        // Spreadsheets add midnight to every date.
        let days = dates.past_midnight == 0 && dates.zoned == 0;
        return if dates.clocks == 0 || days {
            ValueFormat::Date { order, shape }
        } else {
            ValueFormat::Timestamp { order, shape }
        };
    }
    if !enough(evidence.numbers, evidence.total)
        || evidence.is_identifier(hint)
        || !evidence.scale_is_clear()
        || !evidence.spaces_are_clear()
    {
        return ValueFormat::Text;
    }
    if let Some(format) = counted_time(evidence, values.clone(), hint, assumptions) {
        return format;
    }
    let style = evidence.style(decimal_comma, assumptions, notes);
    let whole = !style.percent && !style.scaled && evidence.exponents == 0;
    let written_whole = values.filter(|text| !is_nothing(text)).all(|text| {
        // `5.0` is whole, but was written as a measurement.
        number::look(text).is_none_or(|look| !look.bare.core.contains(style.decimal))
    });
    if whole && written_whole { ValueFormat::Integer { style } } else { ValueFormat::Number { style } }
}

/// Dates such as `20210304` and counts of seconds, which only the name distinguishes from amounts.
fn counted_time<'a>(
    evidence: &Evidence,
    values: impl Iterator<Item = &'a str> + Clone,
    hint: Hint,
    assumptions: &mut Vec<String>,
) -> Option<ValueFormat> {
    if !hint.date || evidence.signed + evidence.percent + evidence.scaled + usize::from(evidence.grouped) > 0
    {
        return None;
    }
    let filled = values.filter(|text| !is_nothing(text));
    let order = Order::Ymd;
    let shapes = [Shape::Compact, Shape::UnixSeconds, Shape::UnixMilliseconds];
    let shape = shapes.into_iter().find(|shape| {
        let format = ValueFormat::Timestamp { order, shape: *shape };
        let fit = filled.clone().filter(|text| format.fits(text)).count();
        enough(fit, evidence.total)
    })?;
    if shape == Shape::Compact {
        return Some(ValueFormat::Date { order, shape });
    }
    let unit = if shape == Shape::UnixSeconds { "seconds" } else { "milliseconds" };
    assumptions.push(format!("the numbers were read as {unit} since 1970, in UTC"));
    Some(ValueFormat::Timestamp { order, shape })
}

/// Applies the format to every value and counts what does not fit.
fn settle<'a>(
    format: ValueFormat,
    evidence: &Evidence,
    values: impl Iterator<Item = &'a str>,
    assumptions: Vec<String>,
) -> Guess {
    let (mut bad, mut plain, mut examples) = (0, true, Vec::new());
    for text in values {
        if text.is_empty() {
            continue;
        }
        plain = plain && format.is_plain(text);
        if !is_nothing(text) && !format.fits(text) {
            bad += 1;
            if examples.len() < 3 {
                examples.push(text.trim().chars().take(40).collect());
            }
        }
    }
    let words = if format == ValueFormat::Text { evidence.empty_text } else { evidence.nothing };
    Guess {
        format,
        kind: format.kind(),
        unit: Unit::Plain,
        nulls: evidence.empty + words,
        bad,
        examples,
        assumptions,
        notes: Vec::new(),
        plain,
    }
}

/// Adds how the numbers are shown.
fn with_unit<'a>(mut guess: Guess, hint: Hint, values: impl Iterator<Item = &'a str>) -> Guess {
    if !guess.kind.is_number() {
        return guess;
    }
    let style = guess.format.style();
    if let Some(sign) = style.currency.filter(|sign| *sign != '¤') {
        guess.unit = Unit::Currency(sign);
        return guess;
    }
    let (mut count, mut years, mut high) = (0_usize, 0_usize, f64::NEG_INFINITY);
    let range = if hint.year { 1000.0..=2200.0 } else { 1800.0..=2100.0 };
    for number in values.filter_map(|text| guess.format.number(text)) {
        count += 1;
        years += usize::from(range.contains(&number));
        high = high.max(number);
    }
    let calendar = enough(years, count) && (hint.year || (hint.calendar && guess.kind == Kind::Integer));
    guess.unit = if style.percent || (hint.percent && high > 1.0 && high <= 1000.0) {
        Unit::Percent
    } else if calendar && style.group.is_none() {
        Unit::Year
    } else {
        hint.currency.map_or(Unit::Plain, Unit::Currency)
    };
    guess
}
