//! Measures by groups: one value per group, the group with the largest, the column with the
//! largest.

use super::evaluate::evaluate;
use super::numbers::{numeric, written};
use super::outcome::show_number;
use super::types::Measure;
use crate::frame::{Frame, Value};

/// The rows of each combination of values, in order of the values.
#[must_use]
pub(super) fn split_by(frame: &Frame, by: &[String]) -> Vec<(Vec<Value>, Frame)> {
    let places: Vec<usize> = by.iter().filter_map(|name| frame.position(name)).collect();
    let mut groups: Vec<(Vec<Value>, Frame)> = Vec::new();
    let mut seen: std::collections::HashMap<Vec<String>, usize> = std::collections::HashMap::new();
    for row in &frame.rows {
        let key: Vec<Value> = places.iter().filter_map(|p| row.get(*p)).cloned().collect();
        if key.iter().any(Value::is_null) {
            continue;
        }
        let text: Vec<String> = key.iter().map(written).collect();
        let place = *seen.entry(text).or_insert_with(|| {
            groups.push((
                key.clone(),
                Frame { name: frame.name.clone(), fields: frame.fields.clone(), rows: Vec::new() },
            ));
            groups.len() - 1
        });
        if let Some((_, part)) = groups.get_mut(place) {
            part.rows.push(row.clone());
        }
    }
    groups.sort_by(|a, b| compare(&a.0, &b.0));
    groups
}

fn compare(a: &[Value], b: &[Value]) -> std::cmp::Ordering {
    for (x, y) in a.iter().zip(b) {
        let order = match (numeric(x), numeric(y)) {
            (Some(x), Some(y)) => x.total_cmp(&y),
            _ => written(x).cmp(&written(y)),
        };
        if order.is_ne() {
            return order;
        }
    }
    std::cmp::Ordering::Equal
}

/// The group with the largest or smallest measure, and that measure.
pub(super) fn best_group(
    frame: &Frame,
    by: &[String],
    inner: &Measure,
    columns: &[String],
    largest: bool,
) -> Result<(Value, Value), String> {
    let mut best: Option<(f64, Vec<Value>, Value)> = None;
    for (key, part) in split_by(frame, by) {
        let Ok(value) = evaluate(inner, &part, columns) else { continue };
        let Some(number) = value.number() else { continue };
        if best.as_ref().is_none_or(|(top, _, _)| if largest { number > *top } else { number < *top }) {
            best = Some((number, key, value));
        }
    }
    let (_, key, value) = best.ok_or("There are no groups to compare.")?;
    let key = match key.as_slice() {
        [one] => one.clone(),
        many => Value::Text(many.iter().map(written).collect::<Vec<_>>().join(", ")),
    };
    Ok((key, value))
}

/// The column with the largest or smallest measure.
pub(super) fn best_column(
    frame: &Frame,
    inner: &Measure,
    columns: &[String],
    largest: bool,
) -> Result<Value, String> {
    let mut best: Option<(f64, String)> = None;
    for column in columns {
        let Some(number) = evaluate(inner, frame, std::slice::from_ref(column)).ok().and_then(|v| v.number())
        else {
            continue;
        };
        if best.as_ref().is_none_or(|(top, _)| if largest { number > *top } else { number < *top }) {
            best = Some((number, column.trim().to_owned()));
        }
    }
    best.map(|(_, name)| Value::Text(name)).ok_or_else(|| "There are no columns to compare.".into())
}

/// The measure of every group, as text in the form of a list of pairs.
pub(super) fn grouped(
    frame: &Frame,
    by: &[String],
    inner: &Measure,
    columns: &[String],
) -> Result<Value, String> {
    let mut pairs = Vec::new();
    for (key, part) in split_by(frame, by) {
        let value = evaluate(inner, &part, columns)?;
        let key: Vec<String> = key.iter().map(written).collect();
        let shown = value.number().map_or_else(|| written(&value), |n| show_number(n, Some(2)));
        pairs.push(format!("'{}': {shown}", key.join(", ")));
    }
    Ok(Value::Text(format!("{{{}}}", pairs.join(", "))))
}
