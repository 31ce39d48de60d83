//! `forecast.run`: continues a time series, with intervals and an assessment of their reliability.

use super::{Output, Workbench};
use crate::error::{Error, Result};
use crate::frame::{Field, Frame, Kind, Unit, Value, show};
use crate::statistics::forecast::{FEWEST, Forecast, Method, forecast};
use chrono::{Days, Months, NaiveDate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use steward_domain::ErrorCategory;
use steward_query::outlook::{Course, Horizon, Span};
use steward_text::period::{Grain, Period, containing};

/// Maximum number of forecast periods.
const FARTHEST: usize = 400;
/// Maximum number of parallel series.
const COURSES: usize = 12;
/// A last, incomplete period below this share of the periods before it is dropped.
const CUT_OFF: f64 = 0.85;

/// What `forecast.run` takes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForecastRun {
    /// The earlier result: one row for each period.
    pub input: String,
    /// The columns of time and number, what a period is, and how far.
    #[schemars(with = "serde_json::Value")]
    pub course: Course,
    /// The known periods stand before the forecast, for a chart.
    #[serde(default)]
    pub with_history: bool,
}

/// One series with its forecast.
struct Carried {
    name: Option<String>,
    known: Vec<(NaiveDate, f64)>,
    /// First days of the forecast periods.
    ahead: Vec<NaiveDate>,
    forecast: Forecast,
    left_out: Option<NaiveDate>,
}

pub(super) fn run(bench: &Workbench, arguments: &ForecastRun, result: &str) -> Result<Output> {
    let input = bench.result(&arguments.input).ok_or_else(|| Error::Arguments {
        tool: "forecast.run",
        detail: format!("there is no earlier result named {}", arguments.input),
    })?;
    let course = &arguments.course;
    let refused = |detail: String| Error::Query { detail, category: ErrorCategory::ToolFailure };
    let courses = courses(&input, course).map_err(refused)?;
    let mut carried = Vec::new();
    let mut warnings = Vec::new();
    for (name, known) in courses {
        match carry(name.clone(), &known, course) {
            Ok(one) => carried.push(one),
            Err(why) => warnings.push(name.map_or(why.clone(), |name| format!("{name}: {why}"))),
        }
    }
    if carried.is_empty() {
        return Err(refused(
            warnings.into_iter().next().unwrap_or_else(|| "there are no rows to carry on".to_owned()),
        ));
    }
    let unit = unit_of(&input, &course.value);
    let frame = frame(&carried, arguments, result, unit);
    bench.keep(result, &frame)?;
    let text = carried.iter().map(|one| words(one, course, unit)).collect::<Vec<_>>().join("\n");
    // A chart needs no text: it accompanies the forecast itself.
    let (text, warnings) = if arguments.with_history { (None, Vec::new()) } else { (Some(text), warnings) };
    Ok(Output { frame: Some(frame), text, warnings, ..Output::default() })
}

fn unit_of(frame: &Frame, column: &str) -> Unit {
    frame.position(column).and_then(|at| frame.fields.get(at)).map(|field| field.unit).unwrap_or_default()
}

type Points = Vec<(NaiveDate, f64)>;

/// The series of a result, each in order of time.
fn courses(frame: &Frame, course: &Course) -> std::result::Result<Vec<(Option<String>, Points)>, String> {
    let place = |name: &str| frame.position(name).ok_or_else(|| format!("the result has no column {name}"));
    let (time, value) = (place(&course.time)?, place(&course.value)?);
    let series = course.series.as_deref().map(place).transpose()?;
    let mut found: BTreeMap<Option<String>, BTreeMap<NaiveDate, f64>> = BTreeMap::new();
    for row in 0..frame.rows.len() {
        let Some(day) = day_of(frame.cell(row, time)) else { continue };
        let Some(number) = frame.cell(row, value).number() else { continue };
        let name = series.map(|series| frame.cell(row, series).plain());
        let start = containing(day, course.grain).map_or(day, |period| period.from);
        *found.entry(name).or_default().entry(start).or_default() += number;
    }
    let mut all: Vec<(Option<String>, Points)> =
        found.into_iter().map(|(name, points)| (name, points.into_iter().collect())).collect();
    let size = |points: &Points| points.iter().map(|(_, value)| value.abs()).sum::<f64>();
    all.sort_by(|a, b| size(&b.1).total_cmp(&size(&a.1)));
    all.truncate(COURSES);
    Ok(all)
}

/// The date of a cell: a date, a timestamp, or a year.
fn day_of(value: &Value) -> Option<NaiveDate> {
    match value {
        Value::Date(day) => Some(*day),
        Value::Time(moment) => Some(moment.date()),
        Value::Int(year) => NaiveDate::from_ymd_opt(i32::try_from(*year).ok()?, 1, 1),
        Value::Text(text) => {
            let whole = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
            whole(text)
                .or_else(|| whole(&format!("{text}-01")))
                .or_else(|| day_of(&Value::Int(text.parse().ok()?)))
        }
        _ => None,
    }
}

/// The first day of the period after the one that begins here.
fn after(day: NaiveDate, grain: Grain) -> Option<NaiveDate> {
    match grain {
        Grain::Day => day.checked_add_days(Days::new(1)),
        Grain::Week => day.checked_add_days(Days::new(7)),
        Grain::Month => day.checked_add_months(Months::new(1)),
        Grain::Quarter => day.checked_add_months(Months::new(3)),
        Grain::Year => day.checked_add_months(Months::new(12)),
    }
}

/// A series without gaps and without an incomplete last period.
fn carry(name: Option<String>, points: &Points, course: &Course) -> std::result::Result<Carried, String> {
    let (mut known, left_out) = whole(points, course);
    let periods = plural(course.grain);
    if known.len() < FEWEST {
        return Err(format!(
            "a forecast needs at least {FEWEST} whole {periods}, and the data has {}. Ask by a shorter \
                period, or add data",
            known.len()
        ));
    }
    if known.len() > 20_000 {
        known.drain(..known.len() - 20_000);
    }
    let last = known.last().map(|(day, _)| *day).unwrap_or_default();
    let reaches = |day: NaiveDate, count: usize| match course.horizon {
        Horizon::Periods(periods) => count < periods,
        Horizon::Span(span) => day < span.to,
    };
    let mut ahead = Vec::new();
    let mut next = after(last, course.grain);
    while let Some(day) = next.filter(|day| reaches(*day, ahead.len()) && ahead.len() < FARTHEST) {
        ahead.push(day);
        next = after(day, course.grain);
    }
    if ahead.is_empty() {
        return Err(format!("the time asked for is not after the last whole period, which begins on {last}"));
    }
    let season = match course.grain {
        Grain::Day => Some(7),
        Grain::Week => Some(52),
        Grain::Month => Some(12),
        Grain::Quarter => Some(4),
        Grain::Year => None,
    };
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let forecast = forecast(&values, season, ahead.len()).ok_or("the course cannot be carried on")?;
    Ok(Carried { name, known, ahead, forecast, left_out })
}

/// Fills gaps, and drops a last period that the data does not fully cover.
fn whole(points: &Points, course: &Course) -> (Points, Option<NaiveDate>) {
    let mut filled: Points = Vec::new();
    for (day, value) in points {
        while let Some((last, before)) = filled.last().copied()
            && let Some(next) = after(last, course.grain)
            && next < *day
            && filled.len() < 40_000
        {
            // A period without rows has a sum of zero; an average keeps its last value.
            filled.push((next, if course.adds_up { 0.0 } else { before }));
        }
        filled.push((*day, *value));
    }
    let cut = filled.last().copied().filter(|(day, value)| {
        let end = after(*day, course.grain).unwrap_or(*day);
        let before: Vec<f64> = filled.iter().rev().skip(1).take(3).map(|(_, value)| *value).collect();
        let mean = before.iter().sum::<f64>() / before.len().max(1) as f64;
        course.adds_up && course.last_day + Days::new(1) < end && *value < CUT_OFF * mean
    });
    if cut.is_some() {
        filled.pop();
    }
    (filled, cut.map(|(day, _)| day))
}

fn frame(carried: &[Carried], arguments: &ForecastRun, result: &str, unit: Unit) -> Frame {
    let course = &arguments.course;
    let number = |name: &str| Field { unit, ..Field::new(name, Kind::Number) };
    let mut fields = vec![Field::new(&course.time, Kind::Date)];
    fields.extend(course.series.iter().map(|name| Field::new(name, Kind::Text)));
    if arguments.with_history {
        fields.push(number(&course.value));
    }
    fields.extend(["forecast", "low", "high"].map(number));
    let mut rows = Vec::new();
    for one in carried {
        let head = |day: &NaiveDate| {
            let mut row = vec![Value::Date(*day)];
            row.extend(one.name.iter().map(|name| Value::Text(name.clone())));
            row
        };
        let forecast = &one.forecast;
        if arguments.with_history {
            let last = one.known.len().saturating_sub(1);
            for (at, (day, value)) in one.known.iter().enumerate() {
                let mut row = head(day);
                row.push(Value::Float(*value));
                // The forecast line starts where the known one ends.
                let joint = if at == last { Value::Float(*value) } else { Value::Null };
                row.extend([joint.clone(), joint.clone(), joint]);
                rows.push(row);
            }
        }
        let cells = forecast.point.iter().zip(&forecast.low).zip(&forecast.high);
        for (day, ((point, low), high)) in one.ahead.iter().zip(cells) {
            let mut row = head(day);
            if arguments.with_history {
                // With one line for each series, the forecast continues that line.
                row.push(if course.series.is_some() { Value::Float(*point) } else { Value::Null });
            }
            row.extend([point, low, high].map(|number| Value::Float(rounded(*number))));
            rows.push(row);
        }
    }
    Frame { name: result.to_owned(), fields, rows }
}

/// Rounds a forecast to four significant digits.
fn rounded(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    let scale = 10f64.powi(3 - number.abs().log10().floor() as i32);
    (number * scale).round() / scale
}

/// The forecast as text: the value, its interval, and the backtest error.
fn words(one: &Carried, course: &Course, unit: Unit) -> String {
    let figure = |number: f64| show(&Value::Float(rounded(number)), unit);
    let forecast = &one.forecast;
    let label = course.value.replace('_', " ");
    let subject = one.name.as_ref().map_or_else(|| capital(&label), |name| format!("{name}: {label}"));
    let span = match course.horizon {
        Horizon::Span(span) => span,
        Horizon::Periods(_) => Span {
            from: one.ahead.first().copied().unwrap_or_default(),
            to: one.ahead.last().and_then(|day| after(*day, course.grain)).unwrap_or_default(),
        },
    };
    let first = one.ahead.iter().position(|day| *day >= span.from).unwrap_or(0);
    let range = first..one.ahead.len();
    let when = Period::span(span.from, span.to).words();
    let mut text = if range.len() == 1 || course.adds_up {
        let (sum, low, high) = forecast.sum(range.clone());
        let of = if range.len() == 1 { String::new() } else { " in all".to_owned() };
        format!(
            "{subject} for {when}: about {}{of}, most likely between {} and {}.",
            figure(sum),
            figure(low),
            figure(high)
        )
    } else {
        let mean = |list: &[f64]| {
            list.get(range.clone()).unwrap_or_default().iter().sum::<f64>() / range.len() as f64
        };
        format!(
            "{subject} for {when}: about {} on average, most likely between {} and {}.",
            figure(mean(&forecast.point)),
            figure(mean(&forecast.low)),
            figure(mean(&forecast.high))
        )
    };
    let periods = plural(course.grain);
    if let Some(error) = forecast.error {
        let sure = match error {
            error if error < 0.05 => "That is a steady course.",
            error if error < 0.15 => "Take it as a guide.",
            error if error < 0.35 => "Take it as a rough guide.",
            _ => "The course is too unsteady to rely on this.",
        };
        text.push_str(&format!(
            " Tried on the last {periods} without knowing them, the method was off by {} % on average",
            crate::frame::group(error * 100.0, if error < 0.1 { 1 } else { 0 }, false)
        ));
        if let Some(plain) = forecast.plain_error.filter(|plain| *plain > error * 1.02) {
            let again = match forecast.method {
                Method::Seasonal(_) => "last season's values again",
                _ => "the same as before",
            };
            text.push_str(&format!(
                " ({again} would have been off by {} %)",
                crate::frame::group(plain * 100.0, 0, false)
            ));
        }
        text.push_str(&format!(". {sure}"));
    }
    if let Some(day) = one.left_out {
        let cut = containing(day, course.grain).map_or_else(|| day.to_string(), |period| period.words());
        text.push_str(&format!(
            " {cut} is not whole in the data, which ends on {}, and was left out.",
            course.last_day
        ));
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn plural(grain: Grain) -> &'static str {
    match grain {
        Grain::Day => "days",
        Grain::Week => "weeks",
        Grain::Month => "months",
        Grain::Quarter => "quarters",
        Grain::Year => "years",
    }
}

#[cfg(test)]
mod check {
    use super::*;

    fn course(horizon: Horizon) -> Course {
        Course {
            time: "month".into(),
            value: "sales".into(),
            series: None,
            grain: Grain::Month,
            horizon,
            adds_up: true,
            last_day: "2024-03-10".parse().unwrap(),
        }
    }

    /// Months from January 2022 on, without one of them.
    fn months(values: &[f64], gap: usize) -> Points {
        let first: NaiveDate = "2022-01-01".parse().unwrap();
        let all = values.iter().enumerate();
        let day = |at: usize| first.checked_add_months(Months::new(u32::try_from(at).unwrap())).unwrap();
        all.filter(|(at, _)| *at != gap).map(|(at, value)| (day(at), *value)).collect()
    }

    #[test]
    fn gaps_are_filled_and_a_month_that_is_not_whole_is_left_out() {
        let mut values = vec![100.0; 27];
        values[26] = 20.0;
        let carried = carry(None, &months(&values, 5), &course(Horizon::Periods(3))).ok().unwrap();
        assert_eq!(carried.known.len(), 26);
        assert_eq!(carried.known[5].1, 0.0);
        assert_eq!(carried.left_out, "2024-03-01".parse().ok());
        assert_eq!(carried.ahead.len(), 3);
        let told = words(&carried, &course(Horizon::Periods(3)), Unit::Plain);
        assert!(told.starts_with("Sales for 2024-03-01 to 2024-05-31: about "), "{told}");
        assert!(told.contains("March 2024 is not whole in the data, which ends on 2024-03-10"), "{told}");
    }

    #[test]
    fn a_span_reaches_its_end_and_too_little_is_said() {
        let span = Span { from: "2024-07-01".parse().unwrap(), to: "2024-10-01".parse().unwrap() };
        let carried = carry(None, &months(&[100.0; 26], 99), &course(Horizon::Span(span))).ok().unwrap();
        assert_eq!(carried.ahead.len(), 7);
        let told = words(&carried, &course(Horizon::Span(span)), Unit::Plain);
        assert!(told.starts_with("Sales for Q3 2024: about 300 in all"), "{told}");
        let why = carry(None, &months(&[1.0; 5], 99), &course(Horizon::Periods(3))).err().unwrap();
        assert!(why.contains("at least 8 whole months, and the data has 5"), "{why}");
    }
}
