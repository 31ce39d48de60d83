//! New columns: computing a formula for every row.

use super::numbers::{date_part, numeric};
use super::types::Formula;
use crate::frame::{Frame, Value};

/// The cells of a new column. A row with a missing part gets nothing.
pub(super) fn compute(formula: &Formula, frame: &Frame) -> Result<Vec<Value>, String> {
    match formula {
        Formula::DatePart(column, part) => {
            let place = find(frame, column)?;
            Ok(frame.column(place).map(|value| date_part(value, *part)).collect())
        }
        Formula::Column(column) => {
            let place = find(frame, column)?;
            Ok(frame.column(place).cloned().collect())
        }
        other => {
            Ok(numbers(other, frame)?.into_iter().map(|n| n.map_or(Value::Null, Value::Float)).collect())
        }
    }
}

fn find(frame: &Frame, column: &str) -> Result<usize, String> {
    frame.position(column).ok_or_else(|| format!("There is no column {column}."))
}

fn numbers(formula: &Formula, frame: &Frame) -> Result<Vec<Option<f64>>, String> {
    let column = |name: &str| -> Result<Vec<Option<f64>>, String> {
        let place = find(frame, name)?;
        Ok(frame.column(place).map(numeric).collect())
    };
    Ok(match formula {
        Formula::Column(name) => column(name)?,
        Formula::Number(number) => vec![Some(*number); frame.rows.len()],
        Formula::Sum(names) | Formula::Mean(names) => {
            let columns: Result<Vec<_>, String> = names.iter().map(|name| column(name)).collect();
            let columns = columns?;
            let divisor = if matches!(formula, Formula::Mean(_)) { names.len() as f64 } else { 1.0 };
            (0..frame.rows.len())
                .map(|row| {
                    let cells: Option<Vec<f64>> =
                        columns.iter().map(|c| c.get(row).copied().flatten()).collect();
                    cells.map(|cells| cells.iter().sum::<f64>() / divisor)
                })
                .collect()
        }
        Formula::Operation(sign, left, right) => {
            let (left, right) = (numbers(left, frame)?, numbers(right, frame)?);
            left.iter().zip(&right).map(|(a, b)| operate(*sign, (*a)?, (*b)?)).collect()
        }
        Formula::Change(name, percent) => {
            let cells = column(name)?;
            let before = std::iter::once(&None).chain(&cells);
            let change = |(now, before): (&Option<f64>, &Option<f64>)| {
                let (now, before) = ((*now)?, (*before)?);
                if *percent { operate('/', (now - before) * 100.0, before) } else { Some(now - before) }
            };
            cells.iter().zip(before).map(change).collect()
        }
        Formula::Rolling(name, window) => {
            let cells = column(name)?;
            let mean = |place: usize| {
                let from = (place + 1).checked_sub(*window)?;
                let part: Option<Vec<f64>> = cells.iter().skip(from).take(*window).copied().collect();
                part.map(|part| part.iter().sum::<f64>() / *window as f64)
            };
            (0..cells.len()).map(mean).collect()
        }
        Formula::Length(name, without_blanks) => {
            let place = find(frame, name)?;
            let length = |value: &Value| {
                let text = value.plain();
                let count = text.chars().filter(|c| !*without_blanks || !c.is_whitespace()).count();
                (!value.is_null()).then_some(count as f64)
            };
            frame.column(place).map(length).collect()
        }
        Formula::Log(inner) => {
            numbers(inner, frame)?.into_iter().map(|n| n.filter(|n| *n > 0.0).map(f64::ln)).collect()
        }
        Formula::Absolute(inner) => numbers(inner, frame)?.into_iter().map(|n| n.map(f64::abs)).collect(),
        Formula::DatePart(name, part) => {
            let place = find(frame, name)?;
            frame.column(place).map(|value| date_part(value, *part).number()).collect()
        }
    })
}

fn operate(sign: char, a: f64, b: f64) -> Option<f64> {
    match sign {
        '+' => Some(a + b),
        '-' => Some(a - b),
        '*' => Some(a * b),
        '/' => (b != 0.0).then(|| a / b),
        _ => None,
    }
}
