//! Key findings: plain sentences computed from a result table.
//!
//! Invariant: every number in a sentence is one of its cells, with the rows and the column that it
//! came from. Numbers that must not be summed (averages, shares) are never summed, and a trend is
//! only claimed if a statistical test supports it.

mod category;
mod series;
mod trend;

use crate::chart::{
    NumberFormat, additive, capital, clean, grain, many_years, moment, moment_label, plural, seconds,
};
use crate::frame::{Field, Frame, Kind, Unit, Value, group, show};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Maximum number of findings.
const MOST: usize = 6;

/// The roles of columns, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Roles {
    /// The time column.
    pub time: Option<String>,
    /// The category column.
    pub category: Option<String>,
    /// The numeric columns; the first is the one that the question is about.
    pub measures: Vec<String>,
    /// The same number in an earlier period, compared with the first measure.
    pub previous: Option<String>,
    /// Columns whose numbers must not be added up, beyond those whose names show it.
    #[serde(default)]
    pub not_additive: Vec<String>,
    /// The first day of a last period that the data does not cover to its end. It is not compared
    /// with others.
    #[serde(default)]
    pub unfinished: Option<chrono::NaiveDate>,
}

/// The origin of a number in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The text of the number in the sentence.
    pub text: String,
    /// `value`, `label`, `sum`, `mean`, `median`, `count`, `slope`, `p_value`; `change` and
    /// `change_percent` from the first of the rows to the last; `share` of the sum of the column,
    /// in percent; `ratio` of the first row to the last.
    pub operation: String,
    /// The rows, counted from 0.
    pub rows: Vec<usize>,
    /// The column.
    pub column: String,
}

/// One sentence with its numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Finding {
    /// The sentence.
    pub text: String,
    /// The origins of its numbers.
    pub cells: Vec<Cell>,
}

impl Finding {
    /// Appends text without numbers.
    fn say(mut self, words: &str) -> Self {
        self.text.push_str(words);
        self
    }

    /// Appends a number and its origin.
    fn cell(mut self, text: &str, operation: &str, rows: &[usize], column: &str) -> Self {
        self.text.push_str(text);
        let (text, column) = (text.to_owned(), column.to_owned());
        self.cells.push(Cell { text, operation: operation.to_owned(), rows: rows.to_vec(), column });
        self
    }
}

impl Roles {
    /// Infers the roles from the kinds and names of the columns.
    #[must_use]
    pub fn guess(frame: &Frame) -> Self {
        let all = || 0..frame.fields.len();
        let time = all().find(|at| is_time(frame, *at)).or_else(|| all().find(|at| is_part(frame, *at)));
        let words = |(at, field): &(usize, &Field)| {
            Some(*at) != time && matches!(field.kind, Kind::Text | Kind::Boolean) && !is_time(frame, *at)
        };
        // A key column is used as the category if there is no better one.
        let fields = || frame.fields.iter().enumerate();
        let key = || fields().find(|(_, field)| field.kind.is_number() && is_key(&field.name));
        let category = fields().find(words).or_else(key);
        let mut measures: Vec<&Field> = Vec::new();
        let mut previous = None;
        for (at, field) in frame.fields.iter().enumerate() {
            let named = is_key(&field.name) || is_time(frame, at) || is_part(frame, at);
            if Some(at) == time || !field.kind.is_number() || named {
                continue;
            }
            if has_word(&field.name, &["previous", "prev", "prior", "before"])
                || field.name.to_lowercase().contains("last_year")
            {
                previous = previous.or_else(|| Some(field.name.clone()));
            } else {
                measures.push(field);
            }
        }
        // An additive column is more often the subject of a question than a ratio derived from it.
        let first = measures.iter().position(|field| additive(field)).unwrap_or(0);
        if first < measures.len() {
            let main = measures.remove(first);
            measures.insert(0, main);
        }
        Self {
            time: time.and_then(|at| frame.fields.get(at)).map(|field| field.name.clone()),
            category: category.map(|(_, field)| field.name.clone()),
            measures: measures.into_iter().map(|field| field.name.clone()).collect(),
            previous,
            ..Self::default()
        }
    }
}

fn has_word(name: &str, words: &[&str]) -> bool {
    let name = name.to_lowercase();
    name.split(|c: char| !c.is_alphanumeric()).any(|part| words.contains(&part))
}

/// Whether it is a key or a position in a list, which is not a quantity. A count of keys is not a
/// key.
fn is_key(name: &str) -> bool {
    let counted = ["count", "sum", "total", "distinct", "avg", "average", "min", "max", "unique"];
    let lower = name.to_lowercase();
    let parts: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let last = parts.last().copied().unwrap_or_default();
    let key = matches!(last, "id" | "key" | "code" | "rank" | "zip" | "rownum" | "uuid");
    let listed = parts.len() > 1 && matches!(last, "number" | "no");
    let camel = name.len() > 2 && (name.ends_with("Id") || name.ends_with("ID"));
    (key || listed || camel) && !has_word(name, &counted)
}

/// Whether a column holds times, or years.
fn is_time(frame: &Frame, at: usize) -> bool {
    let Some(field) = frame.fields.get(at) else { return false };
    if field.kind.is_time() || field.unit == Unit::Year {
        return true;
    }
    let mut filled = frame.column(at).filter(|value| !value.is_null()).peekable();
    if filled.peek().is_none() {
        return false;
    }
    match field.kind {
        Kind::Text => filled.all(|value| moment(value).is_some()),
        Kind::Integer => {
            has_word(&field.name, &["year"])
                && filled.all(|v| v.number().is_some_and(|n| (1000.0..3000.0).contains(&n)))
        }
        _ => false,
    }
}

/// Whether it is a number of a month, an hour and the like, which has an order but is not a
/// quantity.
fn is_part(frame: &Frame, at: usize) -> bool {
    const PARTS: [&str; 8] = ["month", "quarter", "week", "weekday", "day", "hour", "minute", "dow"];
    let Some(field) = frame.fields.get(at) else { return false };
    let last = words(&field.name).split(' ').next_back().is_some_and(|word| PARTS.contains(&word));
    let small = || {
        frame.column(at).all(|v| v.number().is_none_or(|n| (0.0..=366.0).contains(&n) && n.fract() == 0.0))
    };
    field.kind == Kind::Integer
        && last
        && !has_word(&field.name, &["count", "per", "avg", "sum", "total"])
        && small()
}

/// A group of rows with its name and its number.
#[derive(Debug, Clone, PartialEq)]
struct Group {
    label: String,
    rows: Vec<usize>,
    value: f64,
    at: f64,
}

/// The column under analysis, and its wording.
struct Measure<'a> {
    frame: &'a Frame,
    at: usize,
    column: &'a str,
    unit: Unit,
    whole: bool,
    additive: bool,
    format: NumberFormat,
}

impl<'a> Measure<'a> {
    fn new(frame: &'a Frame, name: &str) -> Option<Self> {
        let at = frame.position(name)?;
        let field = frame.fields.get(at)?;
        // A number is formatted like its cell in the table, where `5` and `5.00` differ.
        let whole = frame.column(at).all(|value| !matches!(value, Value::Float(_)));
        let known = frame.numbers(at).iter().any(|number| number.abs() < 1e150);
        known.then_some(Self {
            frame,
            at,
            column: &field.name,
            unit: field.unit,
            whole,
            additive: additive(field),
            format: NumberFormat::of(frame, at),
        })
    }

    /// Its name in the middle of a sentence.
    fn name(&self) -> String {
        let name = clean(&self.column.replace('_', " "));
        let shouting = name.chars().filter(|c| c.is_uppercase()).count() > 1;
        if shouting { name } else { name.to_lowercase() }
    }

    /// Its name at the start of a sentence.
    fn title(&self) -> String {
        capital(&self.name())
    }

    /// A number with its unit.
    fn say(&self, value: f64) -> String {
        let exact = self.whole && value.fract() == 0.0 && value.abs() < 9e15;
        self.format.show(&if exact { Value::Int(value as i64) } else { Value::Float(value) })
    }

    /// Counts are most or fewest; amounts are highest or lowest.
    fn superlative(&self, high: bool) -> &'static str {
        let counted = self.whole && self.additive && self.unit == Unit::Plain && self.column.ends_with('s');
        match (counted, high) {
            (true, true) => "most",
            (true, false) => "fewest",
            (false, true) => "highest",
            (false, false) => "lowest",
        }
    }

    /// The amount of a change, without its sign: percentages change by points.
    fn step(&self, change: f64) -> String {
        let size = change.abs();
        match self.unit {
            Unit::Share => points(size * 100.0),
            Unit::Percent => points(size),
            _ => self.say(size),
        }
    }

    fn number(&self, row: usize) -> Option<f64> {
        // Beyond this a sum could be infinite; no measured quantity is that large.
        self.frame.cell(row, self.at).number().filter(|number| number.abs() < 1e150)
    }

    /// The sum of some rows; none if they must not be summed.
    fn together(&self, rows: &[usize]) -> Option<f64> {
        let numbers: Vec<f64> = rows.iter().filter_map(|row| self.number(*row)).collect();
        match numbers.as_slice() {
            [only] => Some(*only),
            [] => None,
            many if self.additive => Some(many.iter().sum::<f64>()).filter(|sum| sum.is_finite()),
            _ => None,
        }
    }

    /// The operation that gave the number of some rows.
    fn operation(rows: &[usize]) -> &'static str {
        if rows.len() == 1 { "value" } else { "sum" }
    }
}

fn points(size: f64) -> String {
    let text = group(size, 1, false);
    format!("{text} percentage {}", if text == "1" { "point" } else { "points" })
}

/// A relative change, if it is meaningful.
fn percent(from: f64, to: f64) -> Option<String> {
    let share = (to - from) / from * 100.0;
    (from > 0.0 && to >= 0.0 && share.is_finite() && share.abs() < 100_000.0)
        .then(|| format!("{}{} %", if share >= 0.0 { "+" } else { "-" }, group(share.abs(), 1, false)))
}

/// The rows of a table grouped by a column, in the order of time or of the rows. Only rows with a
/// number count.
fn groups(measure: &Measure<'_>, by: usize, time: bool) -> Vec<Group> {
    let frame = measure.frame;
    let moments: Vec<f64> = frame.column(by).filter_map(moment).map(seconds).collect();
    let (grain, years) = (grain(&moments), many_years(&moments));
    let unit = frame.fields.get(by).map_or(Unit::Plain, |field| field.unit);
    let name = frame.fields.get(by).map_or_else(String::new, |field| words(&field.name));
    let mut out: Vec<Group> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for row in 0..frame.rows.len() {
        let cell = frame.cell(row, by);
        let nameless = cell.is_null() || matches!(cell, Value::Float(n) if !n.is_finite());
        if measure.number(row).is_none() || nameless {
            continue;
        }
        let (label, at) = match (time, moment(cell), cell.number()) {
            (true, Some(moment), _) => (moment_label(seconds(moment), grain, years), seconds(moment)),
            (true, None, Some(year)) if year >= 1000.0 => (cell.plain(), year),
            (true, None, Some(part)) => (format!("{name} {}", label(cell, Unit::Year)), part),
            (true, None, None) => continue,
            _ if matches!(cell, Value::Text(_)) => (label(cell, unit), row as f64),
            (_, _, Some(_)) if !matches!(cell, Value::Bool(_)) => {
                (capital(&format!("{name} {}", label(cell, Unit::Year))), row as f64)
            }
            _ => (format!("{name} = {}", label(cell, unit)), row as f64),
        };
        let next = out.len();
        let index = *known.entry(cell.plain()).or_insert(next);
        if index == next {
            out.push(Group { label, rows: Vec::new(), value: 0.0, at });
        }
        if let Some(group) = out.get_mut(index) {
            group.rows.push(row);
        }
    }
    out.sort_by(|a, b| a.at.total_cmp(&b.at));
    for group in &mut out {
        group.value = measure.together(&group.rows).unwrap_or(f64::NAN);
    }
    out
}

/// A name for a sentence: on one line and of limited length.
fn label(cell: &Value, unit: Unit) -> String {
    let text = clean(&show(cell, unit));
    let short: String = text.chars().take(60).collect();
    match (cell, short.is_empty()) {
        (Value::Bool(true), _) => "yes".to_owned(),
        (Value::Bool(false), _) => "no".to_owned(),
        (_, true) => "(blank)".to_owned(),
        _ if short.len() < text.len() => format!("{short}…"),
        _ => short,
    }
}

/// The key findings of a table, most important first, at most six.
#[must_use]
pub fn findings(frame: &Frame, roles: &Roles) -> Vec<Finding> {
    if frame.rows.len() == 1 {
        return single(frame, roles);
    }
    let mut out = Vec::new();
    for (index, name) in roles.measures.iter().take(3).enumerate() {
        let Some(mut measure) = Measure::new(frame, name) else { continue };
        measure.additive &= !roles.not_additive.contains(name);
        let found = one_measure(&measure, roles, index == 0);
        // The first measure is the subject; of the others only the most important sentence is kept.
        out.extend(found.into_iter().take(if index == 0 { MOST } else { 1 }));
        if index == 0 && roles.measures.len() > 1 {
            out.truncate(MOST - 1);
        }
    }
    out.truncate(MOST);
    out
}

fn one_measure(measure: &Measure<'_>, roles: &Roles, main: bool) -> Vec<Finding> {
    let column = |name: &Option<String>| name.as_deref().and_then(|name| measure.frame.position(name));
    let previous =
        roles.previous.as_deref().filter(|_| main).and_then(|name| Measure::new(measure.frame, name));
    let category = column(&roles.category);
    let mut out = Vec::new();
    if let Some(previous) = previous {
        out.extend(series::compared(measure, &previous, category));
    }
    if let Some(time) = column(&roles.time) {
        let times = groups(measure, time, true);
        let whole = finished(measure.frame, time, &times, roles.unfinished);
        let name = measure.frame.fields.get(time).map_or("", |field| field.name.as_str());
        if times.len() > 1 {
            if times.iter().all(|group| group.value.is_finite()) {
                out.extend(series::over_time(measure, &whole, &times, name, category));
            }
            if let Some(category) = category {
                out.extend(series::movers(measure, &whole, name, category));
            }
            return out;
        }
    }
    if let Some(category) = category {
        let parts = groups(measure, category, false);
        let name = measure.frame.fields.get(category).map_or("", |field| field.name.as_str());
        if parts.len() > 1 && parts.iter().all(|group| group.value.is_finite()) {
            out.extend(category::by_category(measure, parts, name));
            return out;
        }
    }
    out.extend(spread(measure));
    out
}

/// The groups without a last period that is not finished.
fn finished(
    frame: &Frame,
    time: usize,
    times: &[Group],
    unfinished: Option<chrono::NaiveDate>,
) -> Vec<Group> {
    let is_whole = |group: &&Group| {
        let (Some(from), Some(row)) = (unfinished, group.rows.first()) else { return true };
        match (moment(frame.cell(*row, time)), frame.cell(*row, time).number()) {
            (Some(moment), _) => moment.date() < from,
            (None, Some(year)) if year >= 1000.0 => year < f64::from(chrono::Datelike::year(&from)),
            _ => true,
        }
    };
    times.iter().filter(is_whole).cloned().collect()
}

/// A single row is not a pattern: it is only read out.
fn single(frame: &Frame, roles: &Roles) -> Vec<Finding> {
    let measures = roles.measures.iter().filter_map(|name| Measure::new(frame, name));
    let one = |measure: Measure<'_>| {
        let value = measure.number(0)?;
        let start = format!("{}: ", measure.title());
        Some(Finding::default().say(&start).cell(&measure.say(value), "value", &[0], measure.column).say("."))
    };
    measures.filter_map(one).take(MOST).collect()
}

/// The distribution of numbers without time and categories.
fn spread(measure: &Measure<'_>) -> Option<Finding> {
    let rows: Vec<usize> =
        (0..measure.frame.rows.len()).filter(|row| measure.number(*row).is_some()).collect();
    let by_size = |a: &&usize, b: &&usize| {
        measure.number(**a).partial_cmp(&measure.number(**b)).unwrap_or(std::cmp::Ordering::Equal)
    };
    let (low, high) = (*rows.iter().min_by(by_size)?, *rows.iter().max_by(by_size)?);
    if rows.len() < 2 {
        return None;
    }
    if measure.number(low) == measure.number(high) {
        let all = Finding::default().say("All ").cell(
            &group(rows.len() as f64, 0, false),
            "count",
            &rows,
            measure.column,
        );
        let all = all.say(&format!(" rows have the same {}: ", measure.name()));
        return Some(all.cell(&measure.say(measure.number(low)?), "value", &[low], measure.column).say("."));
    }
    let mut numbers: Vec<f64> = rows.iter().filter_map(|row| measure.number(*row)).collect();
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let middle = trend::median(&mut numbers)?;
    let column = measure.column;
    Some(
        Finding::default()
            .say(&format!("The range of {} is from ", measure.name()))
            .cell(&measure.say(measure.number(low)?), "value", &[low], column)
            .say(" to ")
            .cell(&measure.say(measure.number(high)?), "value", &[high], column)
            .say(" over ")
            .cell(&group(rows.len() as f64, 0, false), "count", &rows, column)
            .say(" rows; the mean is ")
            .cell(&measure.say(mean), "mean", &rows, column)
            .say(" and the median ")
            .cell(&measure.say(middle), "median", &rows, column)
            .say("."),
    )
}

/// A column's name as words.
fn words(column: &str) -> String {
    clean(&column.replace('_', " ")).to_lowercase()
}

#[cfg(test)]
mod tests;
