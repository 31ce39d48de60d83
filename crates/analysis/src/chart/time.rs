//! Time axes: the granularity of a date column, its labels, and its ticks.
//!
//! Invariant: times are seconds since 1970 without a zone, and ticks lie on calendar boundaries.

use crate::frame::Value;
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, Timelike};

/// The granularity of a set of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grain {
    Minute,
    Hour,
    Day,
    Month,
    Quarter,
    Year,
}

/// The time in a cell: a date, a timestamp, or text like `2021-03`, `2021-Q1` or `2021-03-05`.
pub(crate) fn moment(value: &Value) -> Option<NaiveDateTime> {
    match value {
        Value::Date(day) => Some(day.and_time(NaiveTime::MIN)),
        Value::Time(moment) => Some(*moment),
        Value::Text(text) => parse(text.trim()),
        _ => None,
    }
}

fn parse(text: &str) -> Option<NaiveDateTime> {
    let (year, rest) = text.split_once('-')?;
    if year.len() != 4 || !year.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let start = |year: &str, month: u32| NaiveDate::from_ymd_opt(year.parse().ok()?, month, 1);
    let day = if let Some(quarter) = rest.strip_prefix(['Q', 'q']) {
        let quarter: u32 = quarter.parse().ok().filter(|q| (1..=4).contains(q))?;
        start(year, quarter * 3 - 2)?
    } else if rest.len() == 2 {
        start(year, rest.parse().ok()?)?
    } else if text.len() == 10 {
        NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?
    } else {
        let text = text.replace('T', " ");
        let text = text.split(['.', 'Z', '+']).next().unwrap_or_default();
        return NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").ok();
    };
    Some(day.and_time(NaiveTime::MIN))
}

/// Seconds since 1970.
pub(crate) fn seconds(moment: NaiveDateTime) -> f64 {
    moment.and_utc().timestamp() as f64
}

/// The time at a number of seconds.
pub(crate) fn at(seconds: f64) -> NaiveDateTime {
    DateTime::from_timestamp(seconds as i64, 0).map(|moment| moment.naive_utc()).unwrap_or_default()
}

/// The coarsest granularity that fits all times.
pub(crate) fn grain(seconds: &[f64]) -> Grain {
    let mut grain = Grain::Year;
    for moment in seconds.iter().map(|s| at(*s)) {
        let here = if moment.time() != NaiveTime::MIN {
            if moment.minute() == 0 && moment.second() == 0 { Grain::Hour } else { Grain::Minute }
        } else if moment.day() != 1 {
            Grain::Day
        } else if moment.month() == 1 {
            Grain::Year
        } else if moment.month() % 3 == 1 {
            Grain::Quarter
        } else {
            Grain::Month
        };
        grain = grain.min(here);
    }
    // A single first of January does not tell how fine the column is.
    if seconds.len() < 2 && grain == Grain::Year { Grain::Day } else { grain }
}

/// A time formatted for people. The year of a day is omitted if all days are in the same year.
pub(crate) fn label(seconds: f64, grain: Grain, with_year: bool) -> String {
    let moment = at(seconds);
    match grain {
        Grain::Year => moment.format("%Y").to_string(),
        Grain::Quarter => format!("Q{} {}", moment.month0() / 3 + 1, moment.format("%Y")),
        Grain::Month => moment.format("%b %Y").to_string(),
        Grain::Day if with_year => moment.format("%-d %b %Y").to_string(),
        Grain::Day => moment.format("%-d %b").to_string(),
        Grain::Hour | Grain::Minute if with_year => moment.format("%-d %b %Y %H:%M").to_string(),
        Grain::Hour | Grain::Minute => moment.format("%-d %b %H:%M").to_string(),
    }
}

/// The name of one step of a granularity.
pub(crate) fn label_text(grain: Grain) -> &'static str {
    match grain {
        Grain::Minute => "minute",
        Grain::Hour => "hour",
        Grain::Day => "day",
        Grain::Month => "month",
        Grain::Quarter => "quarter",
        Grain::Year => "year",
    }
}

/// Whether the times are in more than one year.
pub(crate) fn many_years(seconds: &[f64]) -> bool {
    let mut years = seconds.iter().map(|s| at(*s).year());
    let first = years.next();
    years.any(|year| Some(year) != first)
}

/// All places from the first to the last time at their regular distance, if there are not too many.
pub(crate) fn regular(seconds: &[f64], grain: Grain, most: usize) -> Option<Vec<f64>> {
    let (first, last) = (*seconds.first()?, *seconds.last()?);
    let weekly = seconds.iter().all(|s| (s - first) % 604_800.0 == 0.0);
    let step = match grain {
        Grain::Minute => return None,
        Grain::Hour => Step::Minutes(60),
        Grain::Day => Step::Days(if weekly { 7 } else { 1 }),
        Grain::Month => Step::Months(1),
        Grain::Quarter => Step::Months(3),
        Grain::Year => Step::Months(12),
    };
    let mut out = vec![first];
    let mut count = 1_u32;
    while *out.last()? < last {
        if out.len() >= most {
            return None;
        }
        out.push(match step {
            Step::Minutes(minutes) => first + f64::from(count) * minutes as f64 * 60.0,
            Step::Days(days) => first + f64::from(count) * days as f64 * 86_400.0,
            Step::Months(months) => at(first)
                .checked_add_months(chrono::Months::new(count.checked_mul(u32::try_from(months).ok()?)?))
                .map(self::seconds)?,
        });
        count += 1;
    }
    Some(out)
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Minutes(i64),
    Days(i64),
    Months(i32),
}

const STEPS: [(Step, f64); 24] = [
    (Step::Minutes(1), 60.0),
    (Step::Minutes(5), 300.0),
    (Step::Minutes(15), 900.0),
    (Step::Minutes(30), 1800.0),
    (Step::Minutes(60), 3600.0),
    (Step::Minutes(180), 10_800.0),
    (Step::Minutes(360), 21_600.0),
    (Step::Minutes(720), 43_200.0),
    (Step::Days(1), 86_400.0),
    (Step::Days(2), 172_800.0),
    (Step::Days(7), 604_800.0),
    (Step::Days(14), 1_209_600.0),
    (Step::Months(1), 2.63e6),
    (Step::Months(2), 5.26e6),
    (Step::Months(3), 7.89e6),
    (Step::Months(6), 1.578e7),
    (Step::Months(12), 3.156e7),
    (Step::Months(24), 6.312e7),
    (Step::Months(60), 1.578e8),
    (Step::Months(120), 3.156e8),
    (Step::Months(240), 6.312e8),
    (Step::Months(600), 1.578e9),
    (Step::Months(1200), 3.156e9),
    (Step::Months(12_000), 3.156e10),
];

/// Ticks between two times, at most `most`, none finer than the granularity: position and label.
pub(crate) fn ticks(low: f64, high: f64, grain: Grain, most: usize) -> Vec<(f64, String)> {
    let finest = match grain {
        Grain::Minute => 0.0,
        Grain::Hour => 3600.0,
        Grain::Day => 86_400.0,
        Grain::Month => 2.63e6,
        Grain::Quarter => 7.89e6,
        Grain::Year => 3.156e7,
    };
    let span = (high - low).max(1.0);
    let step = STEPS
        .iter()
        .find(|(_, size)| *size >= finest && span / size <= most as f64)
        .map_or(Step::Months(120_000), |(step, _)| *step);
    let many = at(low).year() != at(high).year();
    boundaries(low, high, step).into_iter().map(|s| (s, tick_label(s, step, grain, many))).collect()
}

/// Calendar edges that enclose two times: hours, days, weeks, months or years, at most about
/// `most`.
pub(crate) fn edges(low: f64, high: f64, most: usize) -> Vec<f64> {
    let span = (high - low).max(1.0);
    let daily = low % 86_400.0 == 0.0 && high % 86_400.0 == 0.0;
    let finest = if daily { 86_400.0 } else { 60.0 };
    let (step, size) = STEPS
        .iter()
        .find(|(_, size)| *size >= finest && span / size <= most as f64)
        .copied()
        .unwrap_or((Step::Months(12_000), 3.156e10));
    let all = boundaries(low - size * 1.1, high + size * 1.1, step);
    let first = all.partition_point(|edge| *edge <= low).saturating_sub(1);
    let last = all.partition_point(|edge| *edge <= high);
    let edges: Vec<f64> = all.into_iter().skip(first).take(last + 1 - first).collect();
    // Outside the calendar range there are no boundaries, only the two ends.
    if edges.len() < 2 { vec![low, high.max(low + 1.0)] } else { edges }
}

fn boundaries(low: f64, high: f64, step: Step) -> Vec<f64> {
    let mut out = Vec::new();
    let fixed = |size: f64, origin: f64| {
        let first = ((low - origin) / size).ceil() as i64;
        (first..first + 200).map(|k| origin + k as f64 * size).take_while(|s| *s <= high).collect::<Vec<_>>()
    };
    match step {
        Step::Minutes(minutes) => out = fixed(minutes as f64 * 60.0, 0.0),
        // 1970-01-05 was a Monday: weeks start there.
        Step::Days(days) => out = fixed(days as f64 * 86_400.0, if days >= 7 { 345_600.0 } else { 0.0 }),
        Step::Months(months) => {
            let start = at(low);
            let mut count = (start.year() * 12 + start.month0() as i32).div_euclid(months) * months;
            for _ in 0..400 {
                let day = NaiveDate::from_ymd_opt(count.div_euclid(12), count.rem_euclid(12) as u32 + 1, 1);
                let Some(day) = day else { break };
                let here = seconds(day.and_time(NaiveTime::MIN));
                if here > high {
                    break;
                }
                if here >= low {
                    out.push(here);
                }
                count += months;
            }
        }
    }
    out
}

fn tick_label(seconds: f64, step: Step, grain: Grain, many_years: bool) -> String {
    let moment = at(seconds);
    match step {
        Step::Minutes(_) if moment.time() == NaiveTime::MIN => label(seconds, Grain::Day, false),
        Step::Minutes(_) => moment.format("%H:%M").to_string(),
        Step::Days(_) => label(seconds, Grain::Day, many_years),
        Step::Months(months) if months >= 12 => label(seconds, Grain::Year, true),
        Step::Months(_) if grain == Grain::Quarter => label(seconds, Grain::Quarter, true),
        Step::Months(_) => label(seconds, Grain::Month, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(y: i32, m: u32, d: u32) -> f64 {
        seconds(NaiveDate::from_ymd_opt(y, m, d).unwrap().and_time(NaiveTime::MIN))
    }

    #[test]
    fn grain_is_the_coarsest_that_fits_all() {
        assert_eq!(grain(&[day(2020, 1, 1), day(2021, 1, 1)]), Grain::Year);
        assert_eq!(grain(&[day(2020, 1, 1), day(2020, 4, 1)]), Grain::Quarter);
        assert_eq!(grain(&[day(2020, 1, 1), day(2020, 2, 1)]), Grain::Month);
        assert_eq!(grain(&[day(2020, 1, 1), day(2020, 2, 3)]), Grain::Day);
        assert_eq!(label(day(2021, 4, 1), Grain::Quarter, true), "Q2 2021");
        assert_eq!(label(day(2021, 2, 3), Grain::Day, false), "3 Feb");
    }

    #[test]
    fn text_months_and_quarters_are_moments() {
        assert_eq!(moment(&Value::Text("2021-03".into())).map(seconds), Some(day(2021, 3, 1)));
        assert_eq!(moment(&Value::Text("2021-Q3".into())).map(seconds), Some(day(2021, 7, 1)));
        assert_eq!(moment(&Value::Text("2021-13".into())), None);
        assert_eq!(moment(&Value::Text("é21-Q3".into())), None);
    }

    #[test]
    fn missing_months_are_found() {
        let given = [day(2021, 1, 1), day(2021, 2, 1), day(2021, 5, 1)];
        assert_eq!(regular(&given, Grain::Month, 100).unwrap().len(), 5);
        assert_eq!(regular(&given, Grain::Month, 3), None);
        let weeks = [day(2021, 1, 4), day(2021, 1, 11), day(2021, 1, 25)];
        assert_eq!(regular(&weeks, Grain::Day, 100).unwrap().len(), 4);
    }

    #[test]
    fn ticks_are_few_and_on_boundaries() {
        let ticks = ticks(day(2019, 2, 1), day(2021, 12, 1), Grain::Month, 8);
        assert!(ticks.len() <= 8 && ticks.len() >= 3, "{ticks:?}");
        assert!(ticks.iter().all(|(s, _)| at(*s).day() == 1));
        let one = super::ticks(day(2021, 1, 1), day(2021, 1, 1), Grain::Day, 8);
        assert_eq!(one.len(), 1);
    }
}
