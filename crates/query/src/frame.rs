//! A small table in memory: what a query gave back, and what charts, reports and statistics work
//! on.
//!
//! A frame holds at most as many rows as the request allows, so it is plain rows, not columns.
//! Large data never comes here: it is filtered and summed by the engine or the database first.

use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// True or false.
    Boolean,
    /// Whole numbers.
    Integer,
    /// Numbers with a fraction.
    Number,
    /// Words.
    Text,
    /// Days.
    Date,
    /// Moments.
    Timestamp,
}

impl Kind {
    /// Can it be summed?
    #[must_use]
    pub fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Number)
    }

    /// Is it a day or a moment?
    #[must_use]
    pub fn is_time(self) -> bool {
        matches!(self, Self::Date | Self::Timestamp)
    }

    /// The word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Boolean => "yes/no",
            Self::Integer => "whole number",
            Self::Number => "number",
            Self::Text => "text",
            Self::Date => "date",
            Self::Timestamp => "date and time",
        }
    }
}

/// How a number is dressed for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bare.
    #[default]
    Plain,
    /// Money, with its sign.
    Currency(char),
    /// A share: 0.12 is shown as 12 %.
    Share,
    /// A number that is already a percentage: 12 is shown as 12 %.
    Percent,
    /// A calendar year: no thousands separator.
    Year,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub enum Value {
    /// Nothing there.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Words.
    Text(String),
    /// A day.
    Date(NaiveDate),
    /// A moment.
    Time(NaiveDateTime),
}

impl Value {
    /// The number in it, if it is one. Truth counts as 1 and 0.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Int(n) => Some(*n as f64),
            Self::Float(n) if n.is_finite() => Some(*n),
            Self::Bool(b) => Some(f64::from(u8::from(*b))),
            _ => None,
        }
    }

    /// Nothing there?
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null) || matches!(self, Self::Float(f) if f.is_nan())
    }

    /// Plain text, as it would be written to a CSV file: no formatting, nothing for null.
    #[must_use]
    pub fn plain(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(b) => b.to_string(),
            Self::Int(n) => n.to_string(),
            Self::Float(n) => n.to_string(),
            Self::Text(t) => t.clone(),
            Self::Date(d) => d.to_string(),
            Self::Time(t) => t.format("%Y-%m-%dT%H:%M:%S").to_string(),
        }
    }

    /// As JSON: numbers stay numbers, dates are ISO text.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(b) => (*b).into(),
            Self::Int(n) => (*n).into(),
            Self::Float(n) => serde_json::Number::from_f64(*n).map_or(serde_json::Value::Null, Into::into),
            Self::Text(_) | Self::Date(_) | Self::Time(_) => self.plain().into(),
        }
    }
}

/// A named column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its name, as people read it in the result.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// How its numbers are dressed.
    pub unit: Unit,
}

impl Field {
    /// A bare column.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind, unit: Unit::Plain }
    }
}

/// Rows under named columns. Every row is as long as `fields`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Frame {
    /// What it is called in the answer.
    pub name: String,
    /// The columns.
    pub fields: Vec<Field>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
}

impl Frame {
    /// Where a column stands, by name, whatever its case.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        (self.fields.iter().position(|field| field.name == name))
            .or_else(|| self.fields.iter().position(|field| field.name.eq_ignore_ascii_case(name)))
    }

    /// The cell, or null when there is none.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> &Value {
        static NULL: Value = Value::Null;
        self.rows.get(row).and_then(|row| row.get(column)).unwrap_or(&NULL)
    }

    /// All cells of a column.
    pub fn column(&self, column: usize) -> impl Iterator<Item = &Value> + '_ {
        (0..self.rows.len()).map(move |row| self.cell(row, column))
    }

    /// Keeps the columns that are marked.
    pub fn keep_columns(&mut self, kept: &[bool]) {
        let keep = |place: usize| kept.get(place).copied().unwrap_or(true);
        let mut place = 0;
        self.fields.retain(|_| {
            place += 1;
            keep(place - 1)
        });
        for row in &mut self.rows {
            let mut place = 0;
            row.retain(|_| {
                place += 1;
                keep(place - 1)
            });
        }
    }

    /// The numbers of a column, without the empty cells.
    #[must_use]
    pub fn numbers(&self, column: usize) -> Vec<f64> {
        self.column(column).filter_map(Value::number).collect()
    }
}

/// Groups thousands and cuts to at most `decimals` places, without trailing zeros unless `fixed`.
#[must_use]
pub fn group(number: f64, decimals: usize, fixed: bool) -> String {
    let text = format!("{:.decimals$}", number.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let fraction = if fixed { fraction } else { fraction.trim_end_matches('0') };
    let zero = grouped == "0" && fraction.chars().all(|c| c == '0');
    let sign = if number < 0.0 && !zero { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped}.{fraction}") }
}

/// A cell for people: thousands separators, currency and percent signs, dates as ISO, `–` for
/// nothing.
#[must_use]
pub fn show(value: &Value, unit: Unit) -> String {
    let Some(number) = value.number().filter(|_| !matches!(value, Value::Bool(_))) else {
        return match value {
            Value::Null => "–".to_owned(),
            Value::Time(moment) => moment.format("%Y-%m-%d %H:%M").to_string(),
            other => other.plain(),
        };
    };
    let decimals = match number.abs() {
        size if matches!(value, Value::Int(_)) || size >= 100_000.0 => 0,
        size if size >= 1.0 || size == 0.0 => 2,
        size if size >= 0.01 => 4,
        _ => 6,
    };
    match unit {
        Unit::Plain => group(number, decimals, false),
        Unit::Year => format!("{number}"),
        Unit::Currency(sign) if number < 0.0 => {
            format!("-{sign}{}", group(-number, decimals.min(2), decimals > 0))
        }
        Unit::Currency(sign) => format!("{sign}{}", group(number, decimals.min(2), decimals > 0)),
        Unit::Share => format!("{} %", group(number * 100.0, 1, false)),
        Unit::Percent => format!("{} %", group(number, 1, false)),
    }
}
