//! The evidence for a written answer: the numbers and texts of the results it was written from.

use super::number::{FigureKind, scan};
use serde_json::Value;
use std::collections::BTreeSet;
use steward_text::calendar::MONTHS;

/// Maximum number of cells of one result.
const CELLS: usize = 50_000;

/// Rows of a result: numbers by column, and the texts that identify each row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Grid {
    /// How many rows there are.
    pub(super) rows: usize,
    /// The numbers of each numeric column, by row.
    pub(super) columns: Vec<Vec<Option<f64>>>,
    /// The texts of each row, in lower case.
    pub(super) labels: Vec<Vec<String>>,
}

impl Grid {
    /// Whether a line, in lower case, mentions a row.
    pub(super) fn is_named(&self, row: usize, line: &str) -> bool {
        self.labels.get(row).is_some_and(|labels| labels.iter().any(|label| stands_in(label, line)))
    }
}

/// All evidence for an answer.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    pub(super) grids: Vec<Grid>,
    scalars: Vec<f64>,
    said: Vec<f64>,
    texts: Vec<String>,
    days: BTreeSet<(u32, u32)>,
    cells: usize,
}

impl Evidence {
    /// Adds the user's text.
    pub fn add_said(&mut self, words: &str) {
        let figures = scan(words);
        self.said.extend(figures.iter().map(|figure| figure.number));
        self.said.extend(figures.iter().filter(|figure| figure.scale > 1.0).map(|f| f.number / f.scale));
        self.add_days(words);
        self.texts.push(words.to_lowercase());
    }

    /// Adds a tool result: JSON, or text.
    pub fn add_result(&mut self, result: &Value) {
        match result {
            Value::String(text) => match serde_json::from_str::<Value>(text.trim()) {
                Ok(value) if value.is_object() || value.is_array() => self.walk(&value, 0),
                _ => self.add_text(text),
            },
            other => self.walk(other, 0),
        }
    }

    fn walk(&mut self, value: &Value, depth: usize) {
        self.cells += 1;
        if depth > 32 || self.cells > CELLS {
            return;
        }
        match value {
            Value::Number(number) => self.scalars.extend(number.as_f64()),
            Value::String(text) => self.add_text(text),
            Value::Array(rows) => {
                self.scalars.push(rows.len() as f64);
                self.add_rows(rows);
                rows.iter().for_each(|row| self.walk(row, depth + 1));
            }
            Value::Object(fields) => fields.values().for_each(|field| self.walk(field, depth + 1)),
            Value::Bool(_) | Value::Null => {}
        }
    }

    /// A list of objects, or a list of lists, is a table.
    fn add_rows(&mut self, rows: &[Value]) {
        let width = rows.iter().map(|row| row.as_array().map_or(0, Vec::len)).max().unwrap_or(0);
        let mut names: Vec<&str> = Vec::new();
        for row in rows.iter().filter_map(Value::as_object) {
            for name in row.keys() {
                if !names.contains(&name.as_str()) && names.len() < 200 {
                    names.push(name);
                }
            }
        }
        if width == 0 && names.is_empty() {
            if rows.iter().all(Value::is_number) && rows.len() > 1 {
                let column = rows.iter().map(Value::as_f64).collect();
                self.grids.push(Grid {
                    rows: rows.len(),
                    columns: vec![column],
                    labels: vec![Vec::new(); rows.len()],
                });
            }
            return;
        }
        let cell = |row: &Value, at: usize| -> Option<Value> {
            match row {
                Value::Array(cells) => cells.get(at).cloned(),
                Value::Object(fields) => names.get(at).and_then(|name| fields.get(*name)).cloned(),
                _ => None,
            }
        };
        let mut grid = Grid { rows: rows.len(), columns: Vec::new(), labels: vec![Vec::new(); rows.len()] };
        for at in 0..width.max(names.len()) {
            let mut column = Vec::with_capacity(rows.len());
            for (row, labels) in rows.iter().zip(&mut grid.labels) {
                let value = cell(row, at);
                column.push(match &value {
                    Some(Value::Number(number)) => number.as_f64(),
                    Some(Value::String(text)) => lone_number(text),
                    _ => None,
                });
                if let Some(Value::String(text)) = value {
                    labels.extend(label(&text));
                }
            }
            if column.iter().any(Option::is_some) {
                grid.columns.push(column);
            }
        }
        self.grids.push(grid);
    }

    fn add_text(&mut self, text: &str) {
        for figure in scan(text) {
            self.scalars.push(figure.number);
            if figure.kind == FigureKind::Date {
                let written = text.get(figure.start..figure.end).unwrap_or_default();
                let parts = written.split(['-', '/', ':', 'T']).filter_map(|part| part.parse().ok());
                self.scalars.extend(parts.map(|part: u32| f64::from(part)));
            }
        }
        self.add_days(text);
        if self.texts.len() < CELLS {
            self.texts.push(text.to_lowercase());
        }
    }

    /// Adds the days of dates, in any notation.
    fn add_days(&mut self, text: &str) {
        for figure in scan(text) {
            self.days.extend(figure.day_of);
            if figure.kind != FigureKind::Date {
                continue;
            }
            let written = text.get(figure.start..figure.end).unwrap_or_default();
            let parts: Vec<u32> =
                written.split(['-', '/', 'T']).filter_map(|part| part.parse().ok()).collect();
            if let [year, month, day] = parts.as_slice()
                && *year > 31
            {
                self.days.insert((*month, *day));
            } else if let [one, other, _] = parts.as_slice() {
                self.days.extend([(*one, *other), (*other, *one)]);
            }
        }
    }

    pub(super) fn said(&self) -> impl Iterator<Item = f64> + '_ {
        self.said.iter().copied()
    }

    pub(super) fn scalars(&self) -> impl Iterator<Item = f64> + '_ {
        self.scalars.iter().copied()
    }

    pub(super) fn has_text(&self, written: &str) -> bool {
        let written = written.to_lowercase();
        self.texts.iter().any(|text| text.contains(&written))
    }

    pub(super) fn has_day(&self, month: u32, day: u32) -> bool {
        self.days.contains(&(month, day))
    }
}

/// The number, if the whole text is one: "1,200", "$5.10".
fn lone_number(text: &str) -> Option<f64> {
    let bare = text.trim().trim_start_matches(['$', '€', '£', '-', '+']).trim_end_matches('%').trim();
    let figures = scan(bare);
    match figures.as_slice() {
        [one] if one.start == 0 && one.end == bare.len() && one.kind == FigureKind::Number => {
            Some(one.number)
        }
        _ => None,
    }
}

/// The labels of a row: its short texts, and the month of a date.
fn label(text: &str) -> Vec<String> {
    let short = text.trim().to_lowercase();
    if short.chars().count() < 2 || short.chars().count() > 60 {
        return Vec::new();
    }
    let mut labels = vec![short.clone()];
    // "2021-03" is March.
    let mut parts = short.split('-');
    if let (Some(year), Some(month)) = (parts.next(), parts.next())
        && year.len() == 4
        && year.parse::<u32>().is_ok()
        && let Ok(month) = month.parse::<u32>()
    {
        let name = usize::try_from(month).ok().and_then(|month| MONTHS.get(month.checked_sub(1)?));
        labels.extend(
            name.into_iter().flat_map(|name| [name.get(..3), Some(*name)]).flatten().map(str::to_owned),
        );
    }
    labels
}

/// Whether a text occurs in another as whole words.
fn stands_in(needle: &str, text: &str) -> bool {
    text.match_indices(needle).any(|(start, found)| {
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        let after = text.get(start + found.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}
