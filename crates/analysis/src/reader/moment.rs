//! Dates and times as people write them: ISO, slashes and dots, month names, clock times, zones.
//!
//! Nothing here fails or allocates. A time with a zone is converted to UTC. The caller specifies
//! whether `3/4/2021` starts with the day or the month, because a single value cannot tell.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use serde::{Deserialize, Serialize};

use super::clock::{Cursor, Digits, clock, same, zone};

/// The order of the parts of a numeric date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Day, month, year.
    Dmy,
    /// Month, day, year.
    Mdy,
    /// Year, month, day.
    Ymd,
}

impl Order {
    /// The order as text for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Dmy => "day/month/year",
            Self::Mdy => "month/day/year",
            Self::Ymd => "year/month/day",
        }
    }
}

/// How a date is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// `2021-03-04`, with or without a time.
    Iso,
    /// Three numbers with separators.
    Numeric,
    /// With the name of the month.
    Named,
    /// A month without a day: its first day is meant.
    Month,
    /// `20210304`.
    Compact,
    /// Seconds since 1970.
    UnixSeconds,
    /// Milliseconds since 1970.
    UnixMilliseconds,
}

/// A parsed date.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// The day, in UTC when there was a zone.
    pub day: NaiveDate,
    /// The time of the day, when one was written.
    pub clock: Option<NaiveTime>,
    /// How it was written.
    pub shape: Shape,
    /// The first two numbers and the separator, if their order depends on convention.
    pub parts: Option<(u32, u32, u8)>,
    /// Did it name a zone other than UTC?
    pub zoned: bool,
}

impl Moment {
    /// The moment; midnight when no time was written.
    #[must_use]
    pub fn time(&self) -> NaiveDateTime {
        self.day.and_time(self.clock.unwrap_or(NaiveTime::MIN))
    }
}

/// Longer texts are not dates.
const LONGEST: usize = 64;

/// The months, by the start of their English name and by common names in other languages.
#[rustfmt::skip]
const MONTHS: [(&str, u32); 46] = [
    ("jan", 1), ("feb", 2), ("mar", 3), ("apr", 4), ("may", 5), ("jun", 6), ("jul", 7), ("aug", 8), ("sep", 9), ("sept", 9),
    ("oct", 10), ("nov", 11), ("dec", 12), ("january", 1), ("february", 2), ("march", 3), ("april", 4), ("june", 6),
    ("july", 7), ("august", 8), ("september", 9), ("october", 10), ("november", 11), ("december", 12), ("januar", 1),
    ("februar", 2), ("märz", 3), ("mai", 5), ("juni", 6), ("juli", 7), ("okt", 10), ("oktober", 10), ("dez", 12),
    ("dezember", 12), ("janvier", 1), ("février", 2), ("mars", 3), ("avril", 4), ("juin", 6), ("juillet", 7), ("août", 8),
    ("septembre", 9), ("octobre", 10), ("novembre", 11), ("décembre", 12), ("enero", 1),
];

/// Weekdays, which are skipped.
const WEEKDAYS: [&str; 16] = [
    "mon",
    "tue",
    "tues",
    "wed",
    "thu",
    "thur",
    "thurs",
    "fri",
    "sat",
    "sun",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

/// The month with this name.
pub(super) fn month_named(word: &str) -> Option<u32> {
    MONTHS.iter().find(|(name, _)| same(word, name)).map(|(_, month)| *month)
}

/// One part of a date.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Number(u32, usize),
    Month(u32),
}

/// A number of fixed length at a position: the fast path for ISO dates.
fn fixed(bytes: &[u8], from: usize, length: usize) -> Option<u32> {
    let mut value = 0_u32;
    for byte in bytes.get(from..from + length)? {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u32::from(byte - b'0');
    }
    Some(value)
}

/// `2021-03-04` at the start of the text.
fn iso_day(bytes: &[u8]) -> Option<NaiveDate> {
    if bytes.get(4) != Some(&b'-') || bytes.get(7) != Some(&b'-') {
        return None;
    }
    NaiveDate::from_ymd_opt(
        i32::try_from(fixed(bytes, 0, 4)?).ok()?,
        fixed(bytes, 5, 2)?,
        fixed(bytes, 8, 2)?,
    )
}

/// Reads a date, with or without a time of the day.
#[must_use]
pub fn moment(text: &str, order: Order) -> Option<Moment> {
    let text = text.trim();
    if text.len() < 6 || text.len() > LONGEST || !text.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    if let Some(day) = iso_day(text.as_bytes()) {
        let mut cursor = Cursor { text, at: 10 };
        if cursor.done() {
            return Some(Moment { day, clock: None, shape: Shape::Iso, parts: None, zoned: false });
        }
        if let Some(clock) = iso_clock(text.as_bytes()) {
            return Some(Moment { day, clock: Some(clock), shape: Shape::Iso, parts: None, zoned: false });
        }
        let marked = cursor.eat(b'T') || cursor.eat(b't') || cursor.eat(b'_') || cursor.spaces();
        if !marked || cursor.done() {
            return None;
        }
        return finish(day, cursor, Shape::Iso, None);
    }
    slashed(text, order).or_else(|| basic(text)).or_else(|| spelled(text, order))
}

/// `T10:05:06` or ` 10:05:06`, with or without `Z`, after an ISO date: the usual machine format,
/// parsed by position.
fn iso_clock(bytes: &[u8]) -> Option<NaiveTime> {
    let (Some(b'T' | b' '), Some(b':'), Some(b':')) = (bytes.get(10), bytes.get(13), bytes.get(16)) else {
        return None;
    };
    if bytes.len() != 19 && !(bytes.len() == 20 && bytes.get(19) == Some(&b'Z')) {
        return None;
    }
    NaiveTime::from_hms_opt(fixed(bytes, 11, 2)?, fixed(bytes, 14, 2)?, fixed(bytes, 17, 2)?)
}

/// Three numbers with the same separator and nothing else: the usual format of people, parsed
/// without looking for words.
fn slashed(text: &str, order: Order) -> Option<Moment> {
    let mut cursor = Cursor { text, at: 0 };
    let first = cursor.digits()?;
    let separator = cursor.peek().filter(|b| matches!(b, b'/' | b'-' | b'.'))?;
    cursor.at += 1;
    let second = cursor.digits()?;
    if !cursor.eat(separator) {
        return None;
    }
    let third = cursor.digits().filter(|_| cursor.done())?;
    let (day, parts) = numeric(first, second, third, separator, order)?;
    Some(Moment { day, clock: None, shape: Shape::Numeric, parts, zoned: false })
}

/// `20210304T100506Z`.
fn basic(text: &str) -> Option<Moment> {
    let (day, clock) = text.split_once('T')?;
    let day = compact(day)?;
    let clock = clock.strip_suffix('Z').unwrap_or(clock).as_bytes();
    let second = if clock.len() == 4 { 0 } else { fixed(clock, 4, 2)? };
    let time = NaiveTime::from_hms_opt(fixed(clock, 0, 2)?, fixed(clock, 2, 2)?, second)?;
    Some(Moment { day, clock: Some(time), shape: Shape::Numeric, parts: None, zoned: false })
        .filter(|_| clock.len() <= 6)
}

/// The general case: up to three parts, then a time.
fn spelled(text: &str, order: Order) -> Option<Moment> {
    let mut cursor = Cursor { text, at: 0 };
    let mut parts = [None::<Part>; 3];
    let mut gaps = [0_u8; 3];
    let mut count = 0;
    while count < 3 && !cursor.done() {
        let before = cursor;
        let part = part(&mut cursor)?;
        // A colon right after a number means that the time has started.
        if matches!(part, Some(Part::Number(..))) && cursor.peek() == Some(b':') {
            cursor = before;
            break;
        }
        if let Some(part) = part {
            *parts.get_mut(count)? = Some(part);
            count += 1;
        }
        let gap = gap(&mut cursor);
        if count > 0 {
            *gaps.get_mut(count - 1)? = gap;
        }
        if gap == b'T' {
            break;
        }
    }
    match (count, parts) {
        (3, [Some(a), Some(b), Some(c)]) => three(a, b, c, gaps, order, cursor),
        (2, [Some(a), Some(b), _]) => two(a, b, gaps, cursor),
        _ => None,
    }
}

/// The next part; `Some(None)` for a word that is skipped.
fn part(cursor: &mut Cursor<'_>) -> Option<Option<Part>> {
    if let Some((value, length)) = cursor.digits() {
        // `4th of March`.
        let mut ahead = *cursor;
        let ending = ahead.word();
        if length <= 2 && ["st", "nd", "rd", "th"].iter().any(|end| same(ending, end)) {
            *cursor = ahead;
        }
        return Some(Some(Part::Number(value, length)));
    }
    let word = cursor.word();
    if let Some(month) = month_named(word) {
        return Some(Some(Part::Month(month)));
    }
    let over = WEEKDAYS.iter().any(|day| same(word, day))
        || same(word, "sunday")
        || same(word, "of")
        || same(word, "de");
    over.then_some(None)
}

/// The separator between two parts: `b' '` for spaces, `T` before a time, 0 for none.
fn gap(cursor: &mut Cursor<'_>) -> u8 {
    let mut found = if cursor.spaces() { b' ' } else { 0 };
    if let Some(byte) = cursor.peek().filter(|b| matches!(b, b'-' | b'/' | b'.' | b',' | b'\'')) {
        cursor.at += 1;
        found = byte;
        cursor.spaces();
    } else if cursor.peek() == Some(b'T')
        && cursor.text.as_bytes().get(cursor.at + 1).is_some_and(u8::is_ascii_digit)
    {
        cursor.at += 1;
        found = b'T';
    }
    found
}

/// A four-digit year, or a two-digit one: up to 68 is this century.
fn year((value, length): Digits) -> Option<i32> {
    let value = i32::try_from(value).ok()?;
    match length {
        4 => Some(value),
        2 if value <= 68 => Some(2000 + value),
        2 => Some(1900 + value),
        _ => None,
    }
}

/// A whole date from three parts.
fn three(a: Part, b: Part, c: Part, gaps: [u8; 3], order: Order, cursor: Cursor<'_>) -> Option<Moment> {
    let [first, second, _] = gaps;
    // `Aug 22 - 25` is a range of days: a two-digit year needs the separators of a date.
    let even = first == second || matches!(second, b',' | b'\'');
    let named = |y: Digits, month: u32, d: Digits| {
        let fits = d.1 <= 2 && (y.1 == 4 || even);
        NaiveDate::from_ymd_opt(year(y)?, month, Some(d.0).filter(|_| fits)?)
    };
    match (a, b, c) {
        (Part::Number(x, n), Part::Month(month), Part::Number(y, m)) if n == 4 => {
            finish(named((x, n), month, (y, m))?, cursor, Shape::Named, None)
        }
        (Part::Number(x, n), Part::Month(month), Part::Number(y, m)) => {
            finish(named((y, m), month, (x, n))?, cursor, Shape::Named, None)
        }
        (Part::Month(month), Part::Number(x, n), Part::Number(y, m)) => {
            finish(named((y, m), month, (x, n))?, cursor, Shape::Named, None)
        }
        (Part::Number(x, n), Part::Number(y, m), Part::Number(z, k)) => {
            // Three plain numbers separated by spaces are not a date.
            if first != second || !matches!(first, b'-' | b'/' | b'.') {
                return None;
            }
            let (day, parts) = numeric((x, n), (y, m), (z, k), first, order)?;
            finish(day, cursor, Shape::Numeric, parts)
        }
        _ => None,
    }
}

/// The date, and the two numbers whose order depends on convention.
type Resolved = (NaiveDate, Option<(u32, u32, u8)>);

/// Three numbers.
fn numeric(x: Digits, y: Digits, z: Digits, separator: u8, order: Order) -> Option<Resolved> {
    if x.1 == 4 {
        let short = y.1 <= 2 && z.1 <= 2;
        return Some((NaiveDate::from_ymd_opt(year(x)?, y.0, z.0).filter(|_| short)?, None));
    }
    if x.1 > 2 || y.1 > 2 {
        return None;
    }
    let parts = Some((x.0, y.0, separator));
    let day = match order {
        Order::Ymd if z.1 <= 2 && x.1 == 2 => NaiveDate::from_ymd_opt(year(x)?, y.0, z.0)?,
        Order::Dmy => NaiveDate::from_ymd_opt(year(z)?, y.0, x.0)?,
        Order::Mdy | Order::Ymd => NaiveDate::from_ymd_opt(year(z)?, x.0, y.0)?,
    };
    Some((day, parts))
}

/// A month from two parts, or a date whose year follows the time as in `Wed Aug 27 13:08:45 +0000
/// 2008`.
fn two(a: Part, b: Part, gaps: [u8; 3], cursor: Cursor<'_>) -> Option<Moment> {
    let [gap, ..] = gaps;
    // `1901 - 02` is a range of years.
    let tight = !cursor.text.contains(' ');
    if cursor.done() {
        let day = match (a, b) {
            (Part::Month(month), Part::Number(y, n)) if n == 4 || (n == 2 && matches!(gap, b'-' | b'\'')) => {
                NaiveDate::from_ymd_opt(year((y, n))?, month, 1)
            }
            (Part::Number(y, 4), Part::Month(month)) => NaiveDate::from_ymd_opt(year((y, 4))?, month, 1),
            (Part::Number(y, 4), Part::Number(month, 2)) if tight && matches!(gap, b'-' | b'/') => {
                NaiveDate::from_ymd_opt(year((y, 4))?, month, 1)
            }
            (Part::Number(month, 1 | 2), Part::Number(y, 4)) if tight && matches!(gap, b'-' | b'/') => {
                NaiveDate::from_ymd_opt(year((y, 4))?, month, 1)
            }
            _ => None,
        }?;
        return Some(Moment { day, clock: None, shape: Shape::Month, parts: None, zoned: false });
    }
    let (Part::Month(month), Part::Number(day, 1 | 2)) = (a, b) else { return None };
    let (clock, rest) = cursor.text.get(cursor.at..)?.rsplit_once(' ').and_then(|(clock, year)| {
        Some((clock, Cursor { text: year, at: 0 }.digits().filter(|_| year.len() == 4)?))
    })?;
    let day = NaiveDate::from_ymd_opt(year(rest)?, month, day)?;
    finish(day, Cursor { text: clock, at: 0 }, Shape::Named, None)
}

/// Reads the time and the zone after a day, up to the end of the text.
fn finish(
    day: NaiveDate,
    mut cursor: Cursor<'_>,
    shape: Shape,
    parts: Option<(u32, u32, u8)>,
) -> Option<Moment> {
    cursor.spaces();
    if cursor.done() {
        return Some(Moment { day, clock: None, shape, parts, zoned: false });
    }
    let before = cursor;
    if !same(cursor.word(), "at") {
        cursor = before;
    }
    cursor.spaces();
    let clock = clock(&mut cursor)?;
    let offset = zone(&mut cursor)?;
    if !cursor.done() {
        return None;
    }
    let time = day.and_time(clock).checked_sub_signed(TimeDelta::try_minutes(offset)?)?;
    Some(Moment { day: time.date(), clock: Some(time.time()), shape, parts, zoned: offset != 0 })
}

/// `20210304`.
#[must_use]
pub fn compact(text: &str) -> Option<NaiveDate> {
    let bytes = text.trim().as_bytes();
    let year = fixed(bytes, 0, 4).filter(|year| bytes.len() == 8 && (1700..=2200).contains(year))?;
    NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, fixed(bytes, 4, 2)?, fixed(bytes, 6, 2)?)
}

/// A Unix time between 1990 and 2100: other numbers are amounts.
#[must_use]
pub fn unix(text: &str, milliseconds: bool) -> Option<NaiveDateTime> {
    const FROM: f64 = 631_152_000.0;
    const TO: f64 = 4_102_444_800.0;
    let text = text.trim();
    let count = text.parse::<f64>().ok().filter(|_| super::number::is_plain(text))?;
    let seconds = if milliseconds { count / 1000.0 } else { count };
    if !(FROM..=TO).contains(&seconds) {
        return None;
    }
    DateTime::from_timestamp_micros((seconds * 1e6).round() as i64).map(|moment| moment.naive_utc())
}
