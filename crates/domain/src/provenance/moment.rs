//! Dates and times of day as people type them. Typing "May 19th at 12:00, for one hour" proves
//! `2024-05-19 13:00`.

use std::collections::BTreeSet;
use steward_text::calendar::MONTHS;

const NUMBERS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];
/// Maximum distance in words between a day and its month: "from the 11th to the 15th of January".
const NEAR: usize = 5;

/// The dates and times found in a text.
#[derive(Debug, Default)]
pub(super) struct Moments {
    /// (year if stated, month, day).
    days: BTreeSet<(Option<u16>, u8, u8)>,
    /// Years found in the text. A day without a year may be in any of these, or in any year if
    /// there are none.
    years: BTreeSet<u16>,
    /// Minutes since midnight.
    times: BTreeSet<u16>,
    /// Minutes.
    lengths: BTreeSet<u16>,
}

impl Moments {
    /// Expects `text` in lower case, with one space between words.
    pub(super) fn find(text: &str) -> Self {
        let mark = |c: char| !c.is_alphanumeric();
        let words: Vec<&str> = text.split([' ', '/']).map(|word| word.trim_matches(mark)).collect();
        let mut found = Self::default();
        for (place, word) in words.iter().enumerate() {
            let next = words.get(place + 1).copied().unwrap_or_default();
            found.years.extend(year(word));
            found
                .times
                .extend(time(word).or_else(|| half_day(&format!("{word}{next}"))).or_else(|| half_day(word)));
            if let Some((year, month, day)) = iso(word) {
                found.years.insert(year);
                found.days.insert((Some(year), month, day));
            }
            if let Some(month) = month(word) {
                let near = words.iter().enumerate().filter(|(at, _)| at.abs_diff(place) <= NEAR);
                found.days.extend(near.filter_map(|(_, word)| Some((None, month, day(word)?))));
            }
            let (amount, unit) = word.split_once('-').unwrap_or((word, next));
            let per = match unit {
                _ if unit.starts_with("hour") => 60,
                _ if unit.starts_with("minute") => 1,
                _ => continue,
            };
            let spelled = NUMBERS.iter().position(|name| *name == amount).or((amount == "an").then_some(1));
            let amount = spelled.and_then(|n| u16::try_from(n).ok()).or_else(|| amount.parse().ok());
            found.lengths.extend(amount.and_then(|amount| amount.checked_mul(per)));
        }
        found
    }

    /// Whether a value such as `2024-05-19`, `2024-05-19 13:00` or `13:00` is a date or time of the
    /// text, or the end of an event that starts at such a time and has a duration given in the
    /// text.
    pub(super) fn has(&self, value: &str) -> bool {
        let (date, clock) = match value.split_once([' ', 't']) {
            Some((date, clock)) => (Some(date), Some(clock)),
            None if value.contains(':') => (None, Some(value)),
            None => (Some(value), None),
        };
        let day = date
            .is_none_or(|date| iso(date).is_some_and(|(year, month, day)| self.has_day(year, month, day)));
        let time = clock.is_none_or(|clock| {
            time(clock.trim_end_matches('z')).is_some_and(|minutes| {
                let ends = |length: &u16| {
                    minutes.checked_sub(*length).is_some_and(|begin| self.times.contains(&begin))
                };
                self.times.contains(&minutes) || self.lengths.iter().any(ends)
            })
        });
        day && time
    }

    fn has_day(&self, year: u16, month: u8, day: u8) -> bool {
        self.days.contains(&(Some(year), month, day))
            || (self.days.contains(&(None, month, day))
                && (self.years.is_empty() || self.years.contains(&year)))
    }
}

/// Whether a value is exactly a date or a timestamp in machine notation: `2024-05-19`,
/// `2024-05-19T13:00:00`.
pub(super) fn is_moment(value: &str) -> bool {
    let (date, clock) =
        value.split_once([' ', 'T']).map_or((value, None), |(date, clock)| (date, Some(clock)));
    iso(date).is_some() && clock.is_none_or(|clock| time(clock.trim_end_matches('Z')).is_some())
}

fn iso(word: &str) -> Option<(u16, u8, u8)> {
    let mut parts = word.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let whole = parts.next().is_none() && (year.len(), month.len(), day.len()) == (4, 2, 2);
    let (month, day): (u8, u8) = (month.parse().ok()?, day.parse().ok()?);
    (whole && (1..=12).contains(&month) && (1..=31).contains(&day)).then_some((
        year.parse().ok()?,
        month,
        day,
    ))
}

fn year(word: &str) -> Option<u16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..=2100).contains(year))
}

fn month(word: &str) -> Option<u8> {
    let is = |name: &str| word == name || (word.len() == 3 && name.starts_with(word));
    MONTHS.iter().position(|name| is(name)).and_then(|place| u8::try_from(place + 1).ok())
}

fn day(word: &str) -> Option<u8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    digits.parse().ok().filter(|day| digits.len() <= 2 && (1..=31).contains(day))
}

/// `12:00`, `9:30`, `18:00:00`.
fn time(word: &str) -> Option<u16> {
    let mut parts = word.split(':');
    let (hours, minutes) = (parts.next()?.parse::<u16>().ok()?, parts.next()?);
    let seconds = parts.next().is_none_or(|seconds| seconds.trim_end_matches(['0', '.']).is_empty());
    let whole = seconds && parts.next().is_none() && minutes.len() == 2;
    let minutes: u16 = minutes.parse().ok()?;
    (whole && hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

/// `6pm`, `10am`, `10:30am`.
fn half_day(word: &str) -> Option<u16> {
    let (clock, later) = match (word.strip_suffix("am"), word.strip_suffix("pm")) {
        (Some(clock), _) => (clock, 0),
        (_, Some(clock)) => (clock, 12 * 60),
        _ => return None,
    };
    let minutes = time(clock).or_else(|| clock.parse::<u16>().ok().map(|hours| hours * 60))?;
    (minutes < 13 * 60).then_some(minutes % (12 * 60) + later)
}
