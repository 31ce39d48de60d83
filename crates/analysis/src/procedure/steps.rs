//! Carrying out the steps that prepare the rows.

use super::evaluate::finding;
use super::formula::compute;
use super::numbers::{column_numbers, filtered, numeric, written};
use super::types::{Bin, Fill, Outlier, Scale, Step, Test};
use crate::frame::{Field, Frame, Kind, Value};
use crate::statistics::describe::{max, mean, median, min, mode, quantile, std};
use crate::statistics::outliers::{iqr_fences, outside, z_fences};
use std::collections::{BTreeMap, HashSet};

/// Does one step. A step that shows a table changes nothing.
pub(super) fn apply(step: &Step, mut frame: Frame, notes: &mut Vec<String>) -> Result<Frame, String> {
    let before = frame.rows.len();
    match step {
        Step::Filter { conditions } => {
            let kept = filtered(&frame, conditions);
            notes.push(format!("{} of {before} rows kept by the filter.", kept.rows.len()));
            return Ok(kept);
        }
        Step::Derive { name, formula } => {
            let cells = compute(formula, &frame)?;
            put(&mut frame, name, cells);
        }
        Step::Bin { column, name, bins, quantiles } => {
            let cells = binned(&frame, column, bins, *quantiles)?;
            put(&mut frame, name, cells);
        }
        Step::FillMissing { columns, how } => {
            for place in places(&frame, columns)? {
                fill(&mut frame, place, how);
            }
        }
        Step::DropMissing { columns } => {
            let places = places(&frame, columns)?;
            frame.rows.retain(|row| places.iter().all(|p| row.get(*p).is_some_and(|v| !v.is_null())));
            notes.push(format!("{} rows with missing cells dropped.", before - frame.rows.len()));
        }
        Step::DropDuplicates => {
            let mut seen = HashSet::new();
            frame
                .rows
                .retain(|row| seen.insert(row.iter().map(Value::plain).collect::<Vec<_>>().join("\u{1}")));
            notes.push(format!("{} repeated rows dropped.", before - frame.rows.len()));
        }
        Step::RemoveOutliers { column, rule, replace } => {
            remove_outliers(&mut frame, column, *rule, *replace, notes)?;
        }
        Step::Normalise { columns, how, unless_normal } => {
            for place in places(&frame, columns)? {
                rescale(&mut frame, place, *how, *unless_normal, notes);
            }
        }
        Step::Encode { column } => encode(&mut frame, column)?,
        Step::Top { column, count, largest } => {
            sort(&mut frame, column, *largest)?;
            frame.rows.truncate(*count);
        }
        Step::Sort { column, descending } => sort(&mut frame, column, *descending)?,
        Step::Statistic { .. } => {}
    }
    Ok(frame)
}

fn places(frame: &Frame, columns: &[String]) -> Result<Vec<usize>, String> {
    if columns.is_empty() {
        return Ok((0..frame.fields.len()).collect());
    }
    columns.iter().map(|c| frame.position(c).ok_or_else(|| format!("There is no column {c}."))).collect()
}

/// Adds a column, or puts new cells into the one of that name.
pub(super) fn put(frame: &mut Frame, name: &str, cells: Vec<Value>) {
    let words = cells.iter().any(|v| matches!(v, Value::Text(_)));
    let whole = cells.iter().all(|v| matches!(v, Value::Int(_) | Value::Null));
    let kind = if words {
        Kind::Text
    } else if whole {
        Kind::Integer
    } else {
        Kind::Number
    };
    match frame.position(name) {
        Some(place) => {
            if let Some(field) = frame.fields.get_mut(place) {
                field.kind = kind;
            }
            for (row, cell) in frame.rows.iter_mut().zip(cells) {
                if let Some(figure) = row.get_mut(place) {
                    *figure = cell;
                }
            }
        }
        None => {
            frame.fields.push(Field::new(name, kind));
            frame.rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
        }
    }
}

fn binned(frame: &Frame, column: &str, bins: &[Bin], quantiles: bool) -> Result<Vec<Value>, String> {
    let numbers = column_numbers(frame, column).ok_or_else(|| format!("There is no column {column}."))?;
    let place = frame.position(column).unwrap_or_default();
    let bound = |limit: Option<f64>| {
        if quantiles { limit.and_then(|share| quantile(&numbers, share)) } else { limit }
    };
    let inside = |bin: &Bin, number: f64| {
        bound(bin.low).is_none_or(|low| number > low || (bin.low_inside && number == low))
            && bound(bin.high).is_none_or(|high| number < high || (bin.high_inside && number == high))
    };
    let label = |value: &Value| {
        let Some(number) = numeric(value) else { return Value::Null };
        bins.iter().find(|bin| inside(bin, number)).map_or(Value::Null, |bin| Value::Text(bin.label.clone()))
    };
    Ok(frame.column(place).map(label).collect())
}

fn fill(frame: &mut Frame, place: usize, how: &Fill) {
    let numbers: Vec<f64> = frame.column(place).filter_map(numeric).collect();
    let present = frame.column(place).filter(|v| !v.is_null()).count();
    let numeric_column = numbers.len() == present && present > 0;
    let value = match how {
        Fill::Mean if numeric_column => mean(&numbers).map(Value::Float),
        Fill::Median if numeric_column => median(&numbers).map(Value::Float),
        Fill::Mode if numeric_column => mode(&numbers).map(Value::Float),
        Fill::Mode => most_frequent(frame, place).map(Value::Text),
        Fill::Fixed(text) => Some(text.parse().map_or_else(|_| Value::Text(text.clone()), Value::Float)),
        Fill::Forward | Fill::Backward => {
            carry(frame, place, matches!(how, Fill::Backward));
            None
        }
        Fill::Mean | Fill::Median => None,
    };
    let Some(value) = value else { return };
    for row in &mut frame.rows {
        if let Some(cell) = row.get_mut(place).filter(|v| v.is_null()) {
            *cell = value.clone();
        }
    }
}

fn carry(frame: &mut Frame, place: usize, backward: bool) {
    let mut last = Value::Null;
    let mut visit = |row: &mut Vec<Value>| {
        if let Some(cell) = row.get_mut(place) {
            if cell.is_null() {
                *cell = last.clone();
            } else {
                last = cell.clone();
            }
        }
    };
    if backward {
        frame.rows.iter_mut().rev().for_each(&mut visit);
    } else {
        frame.rows.iter_mut().for_each(&mut visit);
    }
}

/// The most frequent text of a column; the first in order of the alphabet when several are.
#[must_use]
pub(super) fn most_frequent(frame: &Frame, place: usize) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for value in frame.column(place).filter(|v| !v.is_null()) {
        *counts.entry(written(value)).or_default() += 1;
    }
    let top = counts.values().max().copied()?;
    counts.into_iter().find(|(_, count)| *count == top).map(|(value, _)| value)
}

/// The fences of a rule over some numbers.
#[must_use]
pub(super) fn fences(rule: Outlier, numbers: &[f64]) -> Option<(f64, f64)> {
    match rule {
        Outlier::Iqr(factor) => iqr_fences(numbers, factor),
        Outlier::ZScore(threshold, sample) => z_fences(numbers, threshold, usize::from(sample)),
    }
}

fn remove_outliers(
    frame: &mut Frame,
    column: &str,
    rule: Outlier,
    replace: bool,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let place = frame.position(column).ok_or_else(|| format!("There is no column {column}."))?;
    let numbers: Vec<f64> = frame.column(place).filter_map(numeric).collect();
    let limits =
        fences(rule, &numbers).ok_or_else(|| format!("{column} has too few numbers for outliers."))?;
    let before = frame.rows.len();
    if replace {
        let centre = mean(&numbers).map_or(Value::Null, Value::Float);
        for row in &mut frame.rows {
            if let Some(cell) = row.get_mut(place).filter(|v| numeric(v).is_some_and(|n| outside(n, limits)))
            {
                *cell = centre.clone();
            }
        }
        return Ok(());
    }
    frame.rows.retain(|row| !row.get(place).and_then(numeric).is_some_and(|n| outside(n, limits)));
    notes.push(format!("{} rows with outliers in {column} removed.", before - frame.rows.len()));
    Ok(())
}

fn rescale(
    frame: &mut Frame,
    place: usize,
    how: Scale,
    unless: Option<(Test, f64)>,
    notes: &mut Vec<String>,
) {
    let numbers: Vec<f64> = frame.column(place).filter_map(numeric).collect();
    let name = frame.fields.get(place).map(|f| f.name.clone()).unwrap_or_default();
    if let Some((test, level)) = unless
        && finding(test, frame, std::slice::from_ref(&name)).is_ok_and(|found| found.p >= level)
    {
        notes.push(format!("{name} is normally distributed already and was left as it is."));
        return;
    }
    let (Some(low), Some(high), Some(centre)) = (min(&numbers), max(&numbers), mean(&numbers)) else {
        return;
    };
    let spread = std(&numbers, 0).unwrap_or(1.0);
    let change = |x: f64| match how {
        Scale::MinMax => (x - low) / (high - low),
        Scale::ZScore => (x - centre) / spread,
        Scale::Log => x.ln(),
        Scale::LogPlusOne => x.ln_1p(),
        Scale::Log10 => x.log10(),
        Scale::SquareRoot => x.sqrt(),
    };
    for row in &mut frame.rows {
        if let Some(cell) = row.get_mut(place) {
            let changed = numeric(cell).map(change);
            if changed.is_some_and(|x| !x.is_finite()) {
                *cell = Value::Null;
            } else if let Some(x) = changed {
                *cell = Value::Float(x);
            }
        }
    }
    if let Some(field) = frame.fields.get_mut(place) {
        field.kind = Kind::Number;
    }
}

fn encode(frame: &mut Frame, column: &str) -> Result<(), String> {
    let place = frame.position(column).ok_or_else(|| format!("There is no column {column}."))?;
    let mut words: Vec<String> = frame.column(place).filter(|v| !v.is_null()).map(written).collect();
    words.sort();
    words.dedup();
    let cells = frame
        .column(place)
        .map(|v| {
            if v.is_null() {
                Value::Null
            } else {
                words.binary_search(&written(v)).map_or(Value::Null, |p| Value::Int(p as i64))
            }
        })
        .collect();
    put(frame, column, cells);
    Ok(())
}

fn sort(frame: &mut Frame, column: &str, descending: bool) -> Result<(), String> {
    let place = frame.position(column).ok_or_else(|| format!("There is no column {column}."))?;
    let compare = |a: &Vec<Value>, b: &Vec<Value>| {
        let (a, b) = (a.get(place).unwrap_or(&Value::Null), b.get(place).unwrap_or(&Value::Null));
        match (super::numbers::moment(a), super::numbers::moment(b), numeric(a), numeric(b)) {
            (Some(a), Some(b), _, _) => a.cmp(&b),
            (_, _, Some(a), Some(b)) => a.total_cmp(&b),
            _ => written(a).cmp(&written(b)),
        }
    };
    frame.rows.sort_by(|a, b| if descending { compare(b, a) } else { compare(a, b) });
    Ok(())
}
