//! The rule at the end of a zone file, such as `CET-1CEST,M3.5.0,M10.5.0/3`: the daylight saving
//! changes of all later years (POSIX `TZ`, with the wider hours of RFC 9636).

use super::zone::Offset;
use chrono::{DateTime, Datelike, NaiveDate, Weekday};

/// A parser over the rule's text.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// Takes the leading characters that match.
    fn take(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|c| !fits(c)).unwrap_or(self.0.len());
        let (front, rest) = self.0.split_at_checked(end).unwrap_or((self.0, ""));
        self.0 = rest;
        front
    }

    fn eat(&mut self, c: char) -> bool {
        let rest = self.0.strip_prefix(c);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn number(&mut self) -> Option<i64> {
        self.take(|c| c.is_ascii_digit()).parse().ok().filter(|number| *number <= 1000)
    }

    /// `CET` or `<+03>`.
    fn name(&mut self) -> Option<String> {
        let name = if self.eat('<') {
            let name = self.take(|c| c != '>');
            self.eat('>').then_some(name)?
        } else {
            self.take(|c| c.is_ascii_alphabetic())
        };
        (!name.is_empty()).then(|| name.to_owned())
    }

    /// `[+-]hh[:mm[:ss]]` in seconds.
    fn time(&mut self) -> Option<i64> {
        let sign = if self.eat('-') { -1 } else { 1 };
        self.eat('+');
        let mut seconds = self.number()? * 3600;
        if self.eat(':') {
            seconds += self.number()? * 60;
            if self.eat(':') {
                seconds += self.number()?;
            }
        }
        (seconds <= 167 * 3600 + 3599).then_some(sign * seconds)
    }

    /// The time of a change in a year, in local seconds since 1970.
    fn change(&mut self, year: i32) -> Option<i64> {
        let day = if self.eat('M') {
            let month = u32::try_from(self.number()?).ok()?;
            let week = self.eat('.').then(|| self.number())??;
            let weekday = self.eat('.').then(|| self.number())??;
            nth_weekday(year, month, week, weekday)?
        } else if self.eat('J') {
            // February 29 is not counted.
            let day = self.number()?;
            let leap = NaiveDate::from_ymd_opt(year, 2, 29).is_some();
            let shift = i64::from(leap && day >= 60);
            of_year(year, day - 1 + shift)?
        } else {
            of_year(year, self.number()?)?
        };
        let time = if self.eat('/') { self.time()? } else { 7200 };
        Some(day.and_hms_opt(0, 0, 0)?.and_utc().timestamp() + time)
    }
}

fn of_year(year: i32, day: i64) -> Option<NaiveDate> {
    NaiveDate::from_yo_opt(year, 1 + u32::try_from(day).ok()?)
}

/// The `week`-th given weekday of the month; 5 is the last.
fn nth_weekday(year: i32, month: u32, week: i64, weekday: i64) -> Option<NaiveDate> {
    let weekday = match weekday {
        0 => Weekday::Sun,
        1 => Weekday::Mon,
        2 => Weekday::Tue,
        3 => Weekday::Wed,
        4 => Weekday::Thu,
        5 => Weekday::Fri,
        6 => Weekday::Sat,
        _ => return None,
    };
    let week = u8::try_from(week).ok().filter(|week| (1..=5).contains(week))?;
    let fifth = NaiveDate::from_weekday_of_month_opt(year, month, weekday, week);
    fifth.or_else(|| NaiveDate::from_weekday_of_month_opt(year, month, weekday, 4))
}

/// The offset at a time according to the rule.
pub(super) fn at(rule: &str, unix: i64) -> Option<Offset> {
    let mut text = Text(rule);
    let name = text.name()?;
    // POSIX counts offsets west of UTC, all other formats east.
    let standard = -text.time()?;
    let offset = |name: String, seconds: i64| {
        let seconds = i32::try_from(seconds).ok().filter(|seconds| seconds.abs() < 86_400)?;
        Some(Offset { seconds, abbreviation: name })
    };
    if text.0.is_empty() {
        return offset(name, standard);
    }
    let summer_name = text.name()?;
    let summer = if text.0.starts_with(',') { standard + 3600 } else { -text.time()? };
    let year = DateTime::from_timestamp(unix.checked_add(standard)?, 0)?.year();
    let begin = text.eat(',').then(|| text.change(year))?? - standard;
    let end = text.eat(',').then(|| text.change(year))?? - summer;
    // In the southern hemisphere summer spans the turn of the year.
    let in_summer = if begin <= end { (begin..end).contains(&unix) } else { !(end..begin).contains(&unix) };
    if in_summer { offset(summer_name, summer) } else { offset(name, standard) }
}
