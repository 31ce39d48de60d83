//! The times of a schedule: a cron pattern or plain words, in an IANA time zone.
//!
//! Invariants
//! - The next tick depends only on the pattern, the zone and a time: every replica computes the
//!   same one.
//! - When clocks go forward, a time of day in the gap runs at the first moment after the gap. When
//!   clocks go back, a time of day that occurs twice runs at the first. Patterns that repeat within
//!   the hour run through both.

use crate::error::{Error, Result};
use croner::Cron;
use croner::parser::{CronParser, Seconds};
use jiff::tz::TimeZone;
use jiff::{Timestamp as Instant, Zoned};
use steward_domain::Timestamp;

/// The maximum number of skipped gaps: no zone has this many between two real ticks.
const MAX_GAPS: usize = 64;

/// The times of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cadence {
    /// Minute, hour, day of month, month, day of week; or with seconds first.
    pub cron: String,
    /// The IANA zone.
    pub zone: String,
}

const EXAMPLES: &str = "Write such as \"every Monday 8:00 Europe/Berlin\", \"weekdays at 7:30\", \"every 15 \
    minutes\", \"monthly on the 1st at 6:00\", or a cron pattern such as \"0 8 * * 1\"";

impl Cadence {
    /// Parses a cadence. The zone may be at its end; otherwise it is `zone`.
    pub fn read(text: &str, zone: &str) -> Result<Self> {
        let mut words: Vec<String> =
            text.split_whitespace().map(|word| word.trim_matches(',').to_owned()).collect();
        words.retain(|word| !word.is_empty());
        let named = words.last().is_some_and(|word| is_zone(word)).then(|| words.pop()).flatten();
        let zone = named.unwrap_or_else(|| zone.to_owned());
        let first = words.first().map(String::as_str).unwrap_or_default();
        let is_pattern = matches!(words.len(), 5 | 6)
            && first.chars().next().is_some_and(|letter| letter.is_ascii_digit() || letter == '*')
            && !first.contains(':');
        let cron = if is_pattern { words.join(" ") } else { in_words(&words).ok_or_else(|| unread(text))? };
        let cadence = Self { cron, zone };
        cadence.pattern()?;
        cadence.time_zone()?;
        Ok(cadence)
    }

    fn pattern(&self) -> Result<Cron> {
        let parser = CronParser::builder().seconds(Seconds::Optional).build();
        let unread =
            |error| Error::Cadence(format!("the cron pattern {:?} cannot be read: {error}", self.cron));
        parser.parse(&self.cron).map_err(unread)
    }

    fn time_zone(&self) -> Result<TimeZone> {
        let unknown =
            |_| Error::Cadence(format!("there is no time zone {:?}. Write such as Europe/Berlin", self.zone));
        TimeZone::get(&self.zone).map_err(unknown)
    }

    /// The first tick after a time; `None` when the pattern has no more.
    pub fn next_after(&self, moment: Timestamp) -> Result<Option<Timestamp>> {
        let (pattern, zone) = (self.pattern()?, self.time_zone()?);
        let instant = Instant::from_microsecond(moment.micros())
            .map_err(|error| Error::Cadence(format!("the time {moment} cannot be used: {error}")))?;
        let mut from = instant.to_zoned(zone);
        // When clocks go forward, the cron library also returns the end of the gap for times of day
        // outside the gap. Those are no ticks.
        for _ in 0..MAX_GAPS {
            let Ok(next) = pattern.find_next_occurrence(&from, false) else { return Ok(None) };
            if pattern.is_time_matching(&next).unwrap_or(false) || is_in_gap_before(&pattern, &next) {
                return Ok(Some(Timestamp::from_micros(next.timestamp().as_microsecond())));
            }
            from = next;
        }
        Ok(None)
    }

    /// The minute of the day at a time in a zone.
    pub(super) fn minute_of_day(zone: &str, moment: Timestamp) -> Result<u16> {
        let cadence = Self { cron: String::new(), zone: zone.to_owned() };
        let instant = Instant::from_microsecond(moment.micros())
            .map_err(|error| Error::Cadence(format!("the time {moment} cannot be used: {error}")))?;
        let local = instant.to_zoned(cadence.time_zone()?);
        Ok(u16::try_from(i32::from(local.hour()) * 60 + i32::from(local.minute())).unwrap_or(0))
    }
}

/// Whether a time of day of the pattern is in the gap that ends at a time.
fn is_in_gap_before(pattern: &Cron, moment: &Zoned) -> bool {
    let Ok(before) = moment.checked_sub(jiff::Span::new().seconds(1)) else { return false };
    let gap = moment.offset().seconds() - before.offset().seconds();
    let end = moment.datetime();
    (1..=gap / 60).any(|minutes| {
        let missing = end.checked_sub(jiff::Span::new().minutes(i64::from(minutes)));
        let missing = missing.and_then(|time| time.to_zoned(TimeZone::UTC));
        missing.is_ok_and(|time| pattern.is_time_matching(&time).unwrap_or(false))
    })
}

fn unread(text: &str) -> Error {
    Error::Cadence(format!("{text:?} cannot be read. {EXAMPLES}"))
}

fn is_zone(word: &str) -> bool {
    word.eq_ignore_ascii_case("utc")
        || word.contains('/') && !word.contains('*') && TimeZone::get(word).is_ok()
}

const DAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// The cron pattern of plain words.
fn in_words(words: &[String]) -> Option<String> {
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let mut time: Option<(u32, u32)> = None;
    let mut days: Vec<usize> = Vec::new();
    let mut months: Vec<String> = Vec::new();
    let mut unit: Option<&str> = None;
    let mut number: Option<u32> = None;
    let mut rest = lower.iter().map(String::as_str).peekable();
    while let Some(word) = rest.next() {
        match word {
            "every" | "each" | "on" | "at" | "and" | "the" | "of" | "a" | "o'clock" => {}
            "noon" => time = Some((12, 0)),
            "midnight" => time = Some((0, 0)),
            "minute" | "minutes" | "hourly" | "hour" | "hours" | "daily" | "day" | "days" | "weekly"
            | "week" | "monthly" | "month" => unit = Some(word),
            "weekday" | "weekdays" => days.extend(1..=5),
            "weekend" | "weekends" => days.extend([6, 0]),
            "last" => {
                months.push("L".to_owned());
            }
            _ => {
                let ordinal = ["st", "nd", "rd", "th"]
                    .iter()
                    .find_map(|end| word.strip_suffix(end)?.parse::<u32>().ok());
                if let Some(day) = ordinal.filter(|day| (1..=31).contains(day)) {
                    months.push(day.to_string());
                } else if let Some(day) = day_of(word) {
                    days.push(day);
                } else if let Some(clock) = clock(word, rest.peek().copied()) {
                    if matches!(rest.peek(), Some(&("am" | "pm"))) {
                        rest.next();
                    }
                    time = Some(clock);
                } else {
                    number = Some(word.parse().ok()?);
                }
            }
        }
    }
    days.sort_unstable();
    days.dedup();
    let listed = |days: &[usize]| days.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    match (unit, number) {
        (Some("minute" | "minutes"), count) if time.is_none() => {
            let count = count.unwrap_or(1);
            (count > 0 && 60 % count == 0).then(|| format!("*/{count} * * * {}", or_any(&listed(&days))))
        }
        (Some("hour" | "hours" | "hourly"), count) if time.is_none() => {
            let count = count.unwrap_or(1);
            (count > 0 && 24 % count == 0).then(|| format!("0 */{count} * * {}", or_any(&listed(&days))))
        }
        (_, Some(_)) => None,
        (unit, None) => {
            let (hour, minute) = time?;
            let monthly = matches!(unit, Some("month" | "monthly")) || !months.is_empty();
            let of_month =
                if months.is_empty() && monthly { "1".to_owned() } else { or_any(&months.join(",")) };
            if matches!(unit, Some("week" | "weekly")) && days.is_empty() {
                days.push(1);
            }
            let named = unit.is_some() || !days.is_empty() || monthly;
            named.then(|| format!("{minute} {hour} {of_month} * {}", or_any(&listed(&days))))
        }
    }
}

fn or_any(text: &str) -> String {
    if text.is_empty() { "*".to_owned() } else { text.to_owned() }
}

fn day_of(word: &str) -> Option<usize> {
    let bare = word.strip_suffix('s').filter(|bare| bare.ends_with("day")).unwrap_or(word);
    DAYS.iter().position(|day| *day == bare || bare.len() == 3 && day.starts_with(bare))
}

/// A time of day: `8:00`, `8am`, `8 pm`.
fn clock(word: &str, next: Option<&str>) -> Option<(u32, u32)> {
    let (digits, half) = match word.strip_suffix("am").map(|rest| (rest, "am")) {
        Some(found) => found,
        None => match word.strip_suffix("pm") {
            Some(rest) => (rest, "pm"),
            None => (word, next.filter(|next| matches!(*next, "am" | "pm")).unwrap_or_default()),
        },
    };
    if half.is_empty() && !digits.contains(':') {
        return None;
    }
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        "am" => hour % 12 + if hour > 12 { 99 } else { 0 },
        "pm" => hour % 12 + if hour > 12 { 99 } else { 12 },
        _ => hour,
    };
    (hour < 24 && minute < 60).then_some((hour, minute))
}

#[cfg(test)]
#[path = "cadence_tests.rs"]
mod tests;
