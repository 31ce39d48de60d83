//! Retry delays: the delay that the server requests, or exponential backoff, with jitter so that
//! clients do not retry in step. The delay that a server may request is bounded.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;
use steward_domain::Timestamp;
use steward_journal::random::Random;

/// Maximum number of attempts.
pub(super) const ATTEMPTS: u32 = 3;
/// Maximum delay that a server may request.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// The delay after this many failures; none if a retry is not worthwhile.
pub(super) fn pause(
    failures: u32,
    asked: Option<Duration>,
    backoff: Duration,
    random: &dyn Random,
) -> Option<Duration> {
    let chance = chance(random);
    let wait = match asked {
        // Never earlier than the server requested.
        Some(asked) => asked.saturating_add((asked / 10).min(Duration::from_millis(250)).mul_f64(chance)),
        None => backoff.saturating_mul(1 << failures.saturating_sub(1).min(10)).mul_f64(0.5 + chance / 2.0),
    };
    (failures < ATTEMPTS && asked.unwrap_or(wait) <= LONGEST_WAIT).then_some(wait)
}

/// A random number from 0 to 1.
fn chance(random: &dyn Random) -> f64 {
    let byte = random.bytes().ok().and_then(|bytes| bytes.first().copied());
    f64::from(byte.unwrap_or(u8::MAX)) / 255.0
}

/// The delay that a server requests: in a header, as seconds or as a date, or in the body (Google).
pub(super) fn asked(headers: &HeaderMap, body: &[u8], now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let milliseconds = || Some(Duration::from_millis(text("retry-after-ms")?.parse().ok()?));
    let header = || {
        let value = text(RETRY_AFTER.as_str())?;
        seconds(value).or_else(|| until(value, now))
    };
    let body = || {
        let body: Value = serde_json::from_slice(body).ok()?;
        let details = body.pointer("/error/details").or_else(|| body.pointer("/0/error/details"))?;
        let delay = details.as_array()?.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
        seconds(delay.strip_suffix('s')?)
    };
    milliseconds().or_else(header).or_else(body)
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

/// The time until a date such as `Wed, 21 Oct 2026 07:28:00 GMT`.
fn until(date: &str, now: Timestamp) -> Option<Duration> {
    let parts: Vec<&str> = date.split([' ', ',', ':']).filter(|part| !part.is_empty()).collect();
    let [_, day, month, year, hour, minute, second, "GMT"] = parts.as_slice() else { return None };
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = i64::try_from(months.iter().position(|name| name == month)?).ok()?;
    let number = |text: &&str| text.parse::<i64>().ok().filter(|number| (0..10_000).contains(number));
    let (year, day) = (number(year)?, number(day)?);
    // Days since 1970, with years that start in March so that the leap day comes last.
    let (years, months) = if month >= 2 { (year, month - 2) } else { (year - 1, month + 10) };
    let days =
        years * 365 + years / 4 - years / 100 + years / 400 + (months * 153 + 2) / 5 + day - 1 - 719_468;
    let moment = ((days * 24 + number(hour)?) * 60 + number(minute)?) * 60 + number(second)?;
    let micros = moment.checked_mul(1_000_000)?.checked_sub(now.micros())?;
    Some(Duration::from_micros(u64::try_from(micros).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;
    use steward_journal::random::SeededRandom;

    #[test]
    fn waits_that_servers_ask_for() {
        // 2026-10-21T07:28:00Z less ten seconds.
        let now = Timestamp::from_micros((1_792_567_680 - 10) * 1_000_000);
        let google = r#"{"error":{"details":[{"@type":"x"},{"@type":"RetryInfo","retryDelay":"3.5s"}]}}"#;
        for (name, value, body, wanted) in [
            ("retry-after", "2", "", Some(2000)),
            ("retry-after", "0.5", "", Some(500)),
            ("retry-after-ms", "70", "", Some(70)),
            ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT", "", Some(10_000)),
            ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT", "", Some(0)),
            ("retry-after", "soon", "", None),
            ("retry-after", "-1", "", None),
            ("retry-after", "1e400", "", None),
            ("x", "y", google, Some(3500)),
            ("x", "y", "{}", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            let found = asked(&headers, body.as_bytes(), now);
            assert_eq!(found, wanted.map(Duration::from_millis), "{name}: {value} {body}");
        }
    }

    #[test]
    fn pauses_grow_and_end() {
        let random = SeededRandom::new(1);
        let step = Duration::from_millis(100);
        for _ in 0..50 {
            let (first, second) =
                (pause(1, None, step, &random).unwrap(), pause(2, None, step, &random).unwrap());
            assert!(first >= step / 2 && first <= step, "{first:?}");
            assert!(second >= step && second <= step * 2, "{second:?}");
            let asked = pause(1, Some(step), step, &random).unwrap();
            assert!(asked >= step && asked <= step * 2);
        }
        assert_eq!(pause(3, None, step, &random), None);
        assert_eq!(pause(1, Some(Duration::from_secs(21)), step, &random), None);
    }
}
