//! Parses durations and times of day as people write them. The functions are pure: the current time
//! is an argument.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp as Instant, ToSpan as _};
use steward_domain::Timestamp;

/// The longest wait: ten years. A longer one is treated as a mistake.
const LONGEST: i64 = 10 * 366 * 86_400_000_000;

/// Microseconds of `90s`, `15m`, `2h`, `1d`, `1w`, `500ms`, `1h 30m`; a plain number is seconds.
pub(crate) fn parse_duration(text: &str) -> Result<i64, String> {
    let unread = || format!("{text:?} is no duration. Write such as 90s, 15m, 2h, 1d or 1h 30m");
    let text_left = text.trim();
    if let Ok(seconds) = text_left.parse::<f64>() {
        return bounded(seconds * 1e6).ok_or_else(unread);
    }
    let (mut sum, mut number, mut unit, mut parts) = (0.0, String::new(), String::new(), 0);
    for c in text_left.chars().chain(['\0']) {
        let starts_next = c == '\0' || c.is_whitespace() || (c.is_ascii_digit() && !unit.is_empty());
        if starts_next && !(number.is_empty() && unit.is_empty()) {
            if unit.is_empty() && c.is_whitespace() {
                continue;
            }
            let micros = match unit.as_str() {
                "ms" => 1e3,
                "s" | "sec" | "second" | "seconds" => 1e6,
                "m" | "min" | "minute" | "minutes" => 6e7,
                "h" | "hour" | "hours" => 3.6e9,
                "d" | "day" | "days" => 8.64e10,
                "w" | "week" | "weeks" => 6.048e11,
                _ => return Err(unread()),
            };
            sum += number.parse::<f64>().map_err(|_| unread())? * micros;
            parts += 1;
            number.clear();
            unit.clear();
        }
        match c {
            '0'..='9' | '.' => number.push(c),
            c if c.is_ascii_alphabetic() => unit.push(c.to_ascii_lowercase()),
            c if c.is_whitespace() || c == '\0' => {}
            _ => return Err(unread()),
        }
    }
    if parts == 0 {
        return Err(unread());
    }
    bounded(sum).ok_or_else(unread)
}

fn bounded(micros: f64) -> Option<i64> {
    (micros.is_finite() && micros >= 0.0 && micros <= LONGEST as f64).then_some(micros as i64)
}

/// The time zone of this name.
pub(crate) fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name).map_err(|_| format!("there is no time zone {name:?}. Write such as Europe/Berlin"))
}

/// The time that a text names, after `now`. A time of day is its next occurrence in the zone; a
/// date and time without an offset is in the zone. When clocks go forward, a time of day in the gap
/// is the first moment after the gap. When clocks go back, the first of the two counts.
pub(crate) fn moment_after(text: &str, zone_name: &str, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    let zone = zone(zone_name)?;
    if let Some(time) = time_of_day(text) {
        let instant = Instant::from_microsecond(now.micros()).map_err(|error| error.to_string())?;
        let mut day = instant.to_zoned(zone.clone()).date();
        // Today or tomorrow; one day later where a zone skips a day.
        for _ in 0..3 {
            let at = day.to_datetime(time).to_zoned(zone.clone()).map_err(|error| error.to_string())?;
            let at = at.timestamp().as_microsecond();
            if at > now.micros() {
                return Ok(Timestamp::from_micros(at));
            }
            day = day.checked_add(1.day()).map_err(|error| error.to_string())?;
        }
    }
    moment(text, zone)
}

/// Parses a date, a date and time, or one with an offset.
pub(crate) fn moment(text: &str, zone: TimeZone) -> Result<Timestamp, String> {
    let text = text.trim();
    let unread = || {
        format!(
            "{text:?} is no time. Write such as 03:00, 2026-11-30, 2026-11-30T08:00 or 2026-11-30T08:00:00Z"
        )
    };
    if let Ok(instant) = text.parse::<Instant>() {
        return Ok(Timestamp::from_micros(instant.as_microsecond()));
    }
    let local: DateTime = match (text.parse::<DateTime>(), text.parse::<Date>()) {
        (Ok(local), _) => local,
        (_, Ok(day)) => day.to_datetime(Time::midnight()),
        _ => return Err(unread()),
    };
    let zoned = local.to_zoned(zone).map_err(|error| error.to_string())?;
    Ok(Timestamp::from_micros(zoned.timestamp().as_microsecond()))
}

fn time_of_day(text: &str) -> Option<Time> {
    let mut parts = text.split(':');
    let mut next = |most: i8| -> Option<i8> {
        let part = parts.next()?;
        let number: i8 = part.parse().ok().filter(|_| part.len() <= 2)?;
        (0..=most).contains(&number).then_some(number)
    };
    let (hour, minute) = (next(23)?, next(59)?);
    let second = if text.matches(':').count() == 2 { next(59)? } else { 0 };
    if text.matches(':').count() > 2 {
        return None;
    }
    Time::new(hour, minute, second, 0).ok()
}

/// Formats a time in a zone, with a format such as `%Y-%m-%d %H:%M`.
pub(crate) fn written(at: Timestamp, format: &str, zone: TimeZone) -> Result<String, String> {
    let instant = Instant::from_microsecond(at.micros()).map_err(|error| error.to_string())?;
    jiff::fmt::strtime::format(format, &instant.to_zoned(zone))
        .map_err(|error| format!("{format:?} is no format: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, micros) in [
            ("90s", 90_000_000),
            ("15m", 900_000_000),
            ("1h 30m", 5_400_000_000),
            ("1h30m", 5_400_000_000),
            ("2 days", 172_800_000_000),
            ("0.5", 500_000),
            ("250ms", 250_000),
        ] {
            assert_eq!(parse_duration(text), Ok(micros), "{text}");
        }
        for text in ["", "soon", "5 parsecs", "-3s", "1e99 s", "h", "1000w"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_next_time_of_day_follows_the_zone() {
        let at = |text: &str| moment(text, TimeZone::UTC).unwrap();
        for (now, text, zone, next) in [
            ("2026-11-18T13:00:00Z", "03:00", "Europe/Berlin", "2026-11-19T02:00:00Z"),
            ("2026-11-18T01:00:00Z", "03:00", "Europe/Berlin", "2026-11-18T02:00:00Z"),
            // A time equal to now is tomorrow.
            ("2026-11-18T03:00:00Z", "03:00", "UTC", "2026-11-19T03:00:00Z"),
            // 02:30 does not exist in the night of 29 March 2026.
            ("2026-03-28T12:00:00Z", "02:30", "Europe/Berlin", "2026-03-29T01:30:00Z"),
            // 02:30 occurs twice in the night of 25 October 2026: the first counts.
            ("2026-10-24T12:00:00Z", "02:30", "Europe/Berlin", "2026-10-25T00:30:00Z"),
            ("2026-11-18T13:00:00Z", "2026-12-01T08:00", "Europe/Berlin", "2026-12-01T07:00:00Z"),
            ("2026-11-18T13:00:00Z", "2026-12-01", "UTC", "2026-12-01T00:00:00Z"),
        ] {
            assert_eq!(moment_after(text, zone, at(now)), Ok(at(next)), "{now} {text} {zone}");
        }
        assert!(moment_after("25:00", "UTC", at("2026-11-18")).is_err());
        assert!(moment_after("03:00", "Mars/Olympus", at("2026-11-18")).unwrap_err().contains("time zone"));
    }
}
