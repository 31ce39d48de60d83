//! Values as they stand in an answer: rounded half to even where a binary fraction says so, dates
//! as days.

use super::numbers::written;
use crate::frame::Value;

/// A value as text, rounded to so many places when it is a number.
#[must_use]
pub(super) fn show(value: &Value, decimals: Option<usize>) -> String {
    match value {
        Value::Float(number) => show_number(*number, decimals),
        Value::Null => String::new(),
        other => written(other),
    }
}

/// A number with at most so many places.
#[must_use]
pub(super) fn show_number(number: f64, decimals: Option<usize>) -> String {
    match decimals {
        Some(places) => {
            let text = format!("{number:.places$}");
            let zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
            if zero { text.trim_start_matches('-').to_owned() } else { text }
        }
        None if number.fract() == 0.0 && number.abs() < 1e15 => format!("{number:.0}"),
        None => format!("{number}"),
    }
}

/// The value itself, rounded.
#[must_use]
pub(super) fn rounded(value: &Value, decimals: Option<usize>) -> Value {
    match (value, decimals) {
        (Value::Float(number), Some(places)) => {
            format!("{number:.places$}").parse().map_or_else(|_| value.clone(), Value::Float)
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod check {
    use super::*;

    #[test]
    fn rounding() {
        assert_eq!(show(&Value::Float(-0.001), Some(2)), "0.00");
        assert_eq!(show(&Value::Float(34.646), Some(2)), "34.65");
        assert_eq!(show(&Value::Int(5), Some(2)), "5");
        assert_eq!(rounded(&Value::Float(1.005), Some(1)), Value::Float(1.0));
    }
}
