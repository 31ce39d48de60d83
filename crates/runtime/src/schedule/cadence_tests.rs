//! Words and patterns, and their ticks at clock changes.

use super::*;

fn check(text: &str, cron: &str, zone: &str) {
    let expected = Cadence { cron: cron.to_owned(), zone: zone.to_owned() };
    assert_eq!(Cadence::read(text, "UTC").ok(), Some(expected), "{text}");
}

#[test]
fn words_and_patterns_are_read() {
    check("every Monday 8:00 Europe/Berlin", "0 8 * * 1", "Europe/Berlin");
    check("every day at 8am", "0 8 * * *", "UTC");
    check("daily at 12:30 pm America/New_York", "30 12 * * *", "America/New_York");
    check("weekdays at 7:30", "30 7 * * 1,2,3,4,5", "UTC");
    check("every Tuesday and Friday at 17:05 Asia/Tokyo", "5 17 * * 2,5", "Asia/Tokyo");
    check("every 15 minutes", "*/15 * * * *", "UTC");
    check("every hour", "0 */1 * * *", "UTC");
    check("every 6 hours", "0 */6 * * *", "UTC");
    check("monthly on the 1st at 6:00", "0 6 1 * *", "UTC");
    check("every month on the 15th at 6:00", "0 6 15 * *", "UTC");
    check("the last day of every month at 18:00", "0 18 L * *", "UTC");
    check("weekly at 9:00", "0 9 * * 1", "UTC");
    check("at midnight every day", "0 0 * * *", "UTC");
    check("0 8 * * 1", "0 8 * * 1", "UTC");
    check("*/5 * * * * Europe/Berlin", "*/5 * * * *", "Europe/Berlin");
}

#[test]
fn invalid_cadence_is_reported() {
    for text in [
        "",
        "soon",
        "every blue moon at 8:00",
        "8:00",
        "every 7 minutes",
        "every day at 25:00",
        "61 8 * * 1",
        "every day",
        "every Monday",
    ] {
        let told = Cadence::read(text, "UTC").err().map(|error| error.to_string());
        assert!(told.is_some_and(|told| told.contains("cannot be read")), "{text}");
    }
    let told = Cadence::read("every day at 8:00", "Mars/Olympus").unwrap_err().to_string();
    assert!(told.contains("no time zone"), "{told}");
}

fn ticks(text: &str, from: &str, count: usize) -> Vec<String> {
    let cadence = Cadence::read(text, "UTC").unwrap();
    let mut moment: Timestamp = from.parse().unwrap();
    let mut found = Vec::new();
    for _ in 0..count {
        moment = cadence.next_after(moment).unwrap().unwrap();
        found.push(moment.to_string().replace(":00.000000Z", "Z"));
    }
    found
}

#[test]
fn a_time_of_day_that_is_skipped_runs_after_the_gap_and_one_that_repeats_runs_once() {
    assert_eq!(
        ticks("every day 2:30 Europe/Berlin", "2026-03-28T00:00:00Z", 3),
        ["2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"],
    );
    assert_eq!(
        ticks("every day 2:30 Europe/Berlin", "2026-10-24T12:00:00Z", 2),
        ["2026-10-25T00:30Z", "2026-10-26T01:30Z"],
    );
    assert_eq!(
        ticks("every 30 minutes Europe/Berlin", "2026-10-25T00:10:00Z", 4),
        ["2026-10-25T00:30Z", "2026-10-25T01:00Z", "2026-10-25T01:30Z", "2026-10-25T02:00Z"],
    );
}

#[test]
fn a_gap_makes_no_tick_for_a_time_of_day_outside_of_it() {
    assert_eq!(
        ticks("every day 1:30 America/New_York", "2020-03-08T00:00:00Z", 2),
        ["2020-03-08T06:30Z", "2020-03-09T05:30Z"],
    );
}
