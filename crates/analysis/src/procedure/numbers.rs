//! Cells as numbers, dates and texts, when a statistic needs them so.
//!
//! Text that plainly is a number ("37,410", "15.17%", "$5") or a clock time ("00:01:30", in
//! seconds) is read as one.

use super::types::{Compare, Condition, DatePart};
use crate::frame::{Frame, Value};
use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};

/// The number in a cell, also from text that plainly is one.
#[must_use]
pub(super) fn numeric(value: &Value) -> Option<f64> {
    match value {
        Value::Text(text) => text_number(text),
        other => other.number(),
    }
}

fn text_number(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some(seconds) = clock(text) {
        return Some(seconds);
    }
    let clean: String = text.chars().filter(|c| !",$€£% ".contains(*c)).collect();
    if !clean.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return None;
    }
    clean.parse().ok().filter(|n: &f64| n.is_finite())
}

/// Seconds of a time written as hours, minutes and seconds.
fn clock(text: &str) -> Option<f64> {
    let parts: Vec<&str> = text.split(':').collect();
    if !(2..=3).contains(&parts.len()) || parts.iter().any(|p| p.is_empty() || p.len() > 6) {
        return None;
    }
    let numbers: Option<Vec<f64>> = parts.iter().map(|p| p.parse().ok()).collect();
    let total = numbers?.iter().fold(0.0, |sum, part| sum * 60.0 + part);
    Some(if parts.len() == 2 { total * 60.0 } else { total })
}

/// The moment in a cell, also from text in a common form.
#[must_use]
pub(super) fn moment(value: &Value) -> Option<NaiveDateTime> {
    match value {
        Value::Date(day) => day.and_hms_opt(0, 0, 0),
        Value::Time(moment) => Some(*moment),
        Value::Text(text) => parse_moment(text),
        Value::Int(number) if (10_000_101..=99_991_231).contains(number) => {
            NaiveDate::parse_from_str(&number.to_string(), "%Y%m%d").ok()?.and_hms_opt(0, 0, 0)
        }
        Value::Int(year) if (1000..=2999).contains(year) => {
            NaiveDate::from_ymd_opt(i32::try_from(*year).ok()?, 1, 1)?.and_hms_opt(0, 0, 0)
        }
        _ => None,
    }
}

/// A moment written in one of the common forms.
#[must_use]
pub(super) fn parse_moment(text: &str) -> Option<NaiveDateTime> {
    const MOMENTS: [&str; 12] = [
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%d %H:%M",
        "%m/%d/%Y %H:%M:%S",
        "%m/%d/%Y %H:%M",
        "%m/%d/%Y %I:%M:%S %p",
        "%b %d %Y %I:%M:%S %p",
        "%Y-%m-%dT%H:%M:%S%.f",
        "%Y-%m-%d %H:%M:%S%.f",
        "%Y%m%d_%H%M%S",
        "%d/%m/%Y %H:%M",
    ];
    const DAYS: [&str; 11] = [
        "%Y-%m-%d",
        "%Y/%m/%d",
        "%m/%d/%Y",
        "%d-%b-%y",
        "%d-%b-%Y",
        "%d %b %Y",
        "%b %d, %Y",
        "%B %d, %Y",
        "%d/%m/%Y",
        "%d.%m.%Y",
        "%m/%d/%y",
    ];
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.len() < 6 || text.len() > 32 || !text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    MOMENTS.iter().find_map(|form| NaiveDateTime::parse_from_str(&text, form).ok()).or_else(|| {
        DAYS.iter().find_map(|form| NaiveDate::parse_from_str(&text, form).ok()?.and_hms_opt(0, 0, 0))
    })
}

/// A part of a moment.
#[must_use]
pub(super) fn date_part(value: &Value, part: DatePart) -> Value {
    let Some(moment) = moment(value) else { return Value::Null };
    match part {
        DatePart::Year => Value::Int(moment.year().into()),
        DatePart::Month => Value::Int(moment.month().into()),
        DatePart::Day => Value::Int(moment.day().into()),
        DatePart::Hour => Value::Int(moment.hour().into()),
        DatePart::Quarter => Value::Int((moment.month0() / 3 + 1).into()),
        DatePart::Weekday => Value::Text(moment.format("%A").to_string()),
    }
}

/// The numbers of a column, empty cells and words left out.
#[must_use]
pub(super) fn column_numbers(frame: &Frame, name: &str) -> Option<Vec<f64>> {
    let place = frame.position(name)?;
    Some(frame.column(place).filter_map(numeric).collect())
}

/// The rows in which all these columns hold numbers.
#[must_use]
pub(super) fn complete(frame: &Frame, names: &[String]) -> Option<Vec<Vec<f64>>> {
    let places: Option<Vec<usize>> = names.iter().map(|n| frame.position(n)).collect();
    let places = places?;
    let row = |row: usize| {
        places.iter().map(|place| numeric(frame.cell(row, *place))).collect::<Option<Vec<f64>>>()
    };
    Some((0..frame.rows.len()).filter_map(row).collect())
}

/// A cell as people would write it in a list of groups: whole floats without a point.
#[must_use]
pub(super) fn written(value: &Value) -> String {
    match value {
        Value::Float(f) if f.fract() == 0.0 && f.abs() < 1e15 => format!("{f:.0}"),
        Value::Time(t) if t.num_seconds_from_midnight() == 0 => t.date().to_string(),
        Value::Time(t) => t.format("%Y-%m-%d %H:%M:%S").to_string(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        other => other.plain().trim().to_owned(),
    }
}

/// Does a row meet all conditions?
#[must_use]
pub(super) fn meets(frame: &Frame, row: usize, conditions: &[Condition]) -> bool {
    conditions.iter().all(|condition| {
        let Some(place) = frame.position(&condition.column) else { return false };
        holds(frame.cell(row, place), condition)
    })
}

fn holds(value: &Value, condition: &Condition) -> bool {
    if value.is_null() {
        return false;
    }
    if condition.is == Compare::OneOf {
        let own = written(value).to_lowercase();
        return condition.value.split('|').any(|v| v.trim().to_lowercase() == own);
    }
    let order = match (numeric(value), text_number(&condition.value)) {
        (Some(a), Some(b)) => a.partial_cmp(&b),
        _ => match (moment(value), parse_moment(&condition.value)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => Some(written(value).to_lowercase().cmp(&condition.value.trim().to_lowercase())),
        },
    };
    let Some(order) = order else { return false };
    match condition.is {
        Compare::Equal | Compare::OneOf => order.is_eq(),
        Compare::Different => order.is_ne(),
        Compare::Less => order.is_lt(),
        Compare::AtMost => order.is_le(),
        Compare::More => order.is_gt(),
        Compare::AtLeast => order.is_ge(),
    }
}

/// The frame with only the rows that meet all conditions.
#[must_use]
pub(super) fn filtered(frame: &Frame, conditions: &[Condition]) -> Frame {
    let rows = frame
        .rows
        .iter()
        .enumerate()
        .filter(|(place, _)| meets(frame, *place, conditions))
        .map(|(_, row)| row.clone());
    Frame { name: frame.name.clone(), fields: frame.fields.clone(), rows: rows.collect() }
}

#[cfg(test)]
mod check {
    use super::*;

    #[test]
    fn text_as_numbers_and_dates() {
        assert_eq!(numeric(&Value::Text("37,410".into())), Some(37410.0));
        assert_eq!(numeric(&Value::Text("15.17%".into())), Some(15.17));
        assert_eq!(numeric(&Value::Text("00:01:30".into())), Some(90.0));
        assert_eq!(numeric(&Value::Text("male".into())), None);
        assert_eq!(date_part(&Value::Text("19-Jan-18".into()), DatePart::Year), Value::Int(2018));
        assert_eq!(date_part(&Value::Int(18_640_226), DatePart::Month), Value::Int(2));
    }
}
