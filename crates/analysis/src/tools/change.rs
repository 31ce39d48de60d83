//! `change.explain`: which values a change between two periods comes from. The parts add up to the whole.

use super::{Output, Workbench};
use crate::error::{Error, Result};
use crate::frame::{Field, Frame, Kind, Unit, Value, group, show};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steward_domain::ErrorCategory;
use steward_query::outlook::{Span, Split};
use steward_text::period::Period;

/// Values of a column that are named; the others are put together.
const NAMED: usize = 6;
/// Columns that the answer shows.
const SHOWN: usize = 3;

/// What `change.explain` takes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeExplain {
    /// The earlier results: the totals of both periods, then one for each column of the split.
    pub inputs: Vec<String>,
    /// What changed, between which periods, split over which columns.
    #[schemars(with = "serde_json::Value")]
    pub split: Split,
    /// Only the column that explains most, for a chart.
    #[serde(default)]
    pub only_best: bool,
}

/// One value of a column.
struct Part {
    value: String,
    before: f64,
    after: f64,
    /// What it adds to the change of the whole.
    change: f64,
}

/// A column with the parts that the change falls into.
struct Column {
    label: String,
    parts: Vec<Part>,
    /// How much its values moved against each other: 0 when all changed alike.
    moved: f64,
}

pub(super) fn run(bench: &Workbench, arguments: &ChangeExplain, result: &str) -> Result<Output> {
    let split = &arguments.split;
    let input = |name: &String| {
        bench.result(name).ok_or_else(|| Error::Arguments {
            tool: "change.explain",
            detail: format!("there is no earlier result named {name}"),
        })
    };
    let mut frames = arguments.inputs.iter().map(input).collect::<Result<Vec<Frame>>>()?.into_iter();
    let refused = |detail: String| Error::Query { detail, category: ErrorCategory::ToolFailure };
    let totals = frames.next().ok_or_else(|| refused("there are no totals".to_owned()))?;
    let unit = totals.fields.first().map(|field| field.unit).unwrap_or_default();
    let whole = numbers(&totals, 0, 0, split.is_average);
    let both =
        whole.before(split).zip(whole.after(split)).filter(|(before, after)| *before != 0.0 || *after != 0.0);
    let Some((before, after)) = both else {
        let (earlier, later) = (words(split.before), words(split.after));
        let last = split.last_day;
        return Err(refused(format!(
            "there is nothing to compare in {earlier} and {later}; the data ends on {last}"
        )));
    };
    let mut columns: Vec<Column> =
        frames.zip(&split.columns).map(|(frame, label)| column(&frame, label, &whole, split)).collect();
    columns.retain(|column| column.parts.len() > 1);
    columns.sort_by(|a, b| b.moved.total_cmp(&a.moved));
    columns.truncate(if arguments.only_best { 1 } else { SHOWN });
    let change = after - before;
    let frame = frame(&columns, change, result, unit);
    bench.keep(result, &frame)?;
    // What is drawn was said with the table.
    let text = (!arguments.only_best).then(|| tell(split, before, after, &columns, unit));
    Ok(Output { frame: Some(frame), text, ..Output::default() })
}

/// The numbers of one row: both periods, and of an average how many rows each stands for.
struct Pair {
    before: f64,
    after: f64,
    rows_before: f64,
    rows_after: f64,
}

impl Pair {
    fn before(&self, split: &Split) -> Option<f64> {
        if split.is_average {
            (self.rows_before > 0.0).then(|| self.before / self.rows_before)
        } else {
            Some(self.before)
        }
    }

    fn after(&self, split: &Split) -> Option<f64> {
        if split.is_average {
            (self.rows_after > 0.0).then(|| self.after / self.rows_after)
        } else {
            Some(self.after)
        }
    }
}

fn numbers(frame: &Frame, row: usize, first: usize, is_average: bool) -> Pair {
    let number = |at: usize| frame.cell(row, first + at).number().unwrap_or(0.0);
    let rows = |at: usize| if is_average { number(at) } else { 0.0 };
    Pair { before: number(0), after: number(1), rows_before: rows(2), rows_after: rows(3) }
}

/// The parts of the change by the values of a column, the largest first.
fn column(frame: &Frame, label: &str, whole: &Pair, split: &Split) -> Column {
    let mut parts = Vec::new();
    let mut moved = 0.0;
    for row in 0..frame.rows.len() {
        let pair = numbers(frame, row, 1, split.is_average);
        let value = match frame.cell(row, 0) {
            Value::Null => "(empty)".to_owned(),
            value => value.plain(),
        };
        let (before, after) = (pair.before(split), pair.after(split));
        let change = if split.is_average { mixed(&pair, whole) } else { pair.after - pair.before };
        let share = |part: f64, all: f64| if all.abs() > 0.0 { (part / all).clamp(0.0, 1.0) } else { 0.0 };
        let (p, q) = if split.is_average {
            (share(pair.rows_before, whole.rows_before), share(pair.rows_after, whole.rows_after))
        } else {
            (share(pair.before, whole.before), share(pair.after, whole.after))
        };
        moved += surprise(p, q);
        if split.is_average {
            // A value whose own average moved counts, too.
            let (old, new) = (before.unwrap_or(0.0), after.unwrap_or(0.0));
            moved += (p + q) / 2.0 * ((new - old) / whole_average(whole).max(f64::EPSILON)).powi(2);
        }
        parts.push(Part { value, before: before.unwrap_or(0.0), after: after.unwrap_or(0.0), change });
    }
    parts.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    Column { label: label.to_owned(), parts, moved }
}

fn whole_average(whole: &Pair) -> f64 {
    ((whole.before / whole.rows_before + whole.after / whole.rows_after) / 2.0).abs()
}

/// What a value adds to the change of an average: its own average moved, and its share of the rows moved. Over all values that
/// adds up to the change of the whole.
fn mixed(pair: &Pair, whole: &Pair) -> f64 {
    let (before, after) = (whole.before / whole.rows_before, whole.after / whole.rows_after);
    let (p, q) = (pair.rows_before / whole.rows_before, pair.rows_after / whole.rows_after);
    let old = if pair.rows_before > 0.0 { pair.before / pair.rows_before } else { before };
    let new = if pair.rows_after > 0.0 { pair.after / pair.rows_after } else { after };
    // Two values that have no rows in one period are taken at the average of the whole there.
    (p + q) / 2.0 * (new - old) + (q - p) * ((old + new) / 2.0 - (before + after) / 2.0)
}

/// How far two shares are apart (one term of the Jensen-Shannon divergence).
fn surprise(p: f64, q: f64) -> f64 {
    let middle = f64::midpoint(p, q);
    let term = |part: f64| if part > 0.0 && middle > 0.0 { part * (part / middle).ln() } else { 0.0 };
    f64::midpoint(term(p), term(q))
}

fn frame(columns: &[Column], change: f64, result: &str, unit: Unit) -> Frame {
    let number = |name: &str, unit| Field { unit, ..Field::new(name, Kind::Number) };
    let fields = vec![
        Field::new("column", Kind::Text),
        Field::new("value", Kind::Text),
        number("before", unit),
        number("after", unit),
        number("change", unit),
        number("share_of_change", Unit::Percent),
    ];
    let mut rows = Vec::new();
    for column in columns {
        let mut row = |value: String, before: Value, after: Value, part: f64| {
            let share = if change.abs() > 0.0 { Value::Float(part / change * 100.0) } else { Value::Null };
            rows.push(vec![
                Value::Text(column.label.clone()),
                Value::Text(value),
                before,
                after,
                Value::Float(part),
                share,
            ]);
        };
        for part in column.parts.iter().take(NAMED) {
            row(part.value.clone(), Value::Float(part.before), Value::Float(part.after), part.change);
        }
        let others = column.parts.get(NAMED..).unwrap_or_default();
        if !others.is_empty() {
            let sum = others.iter().map(|part| part.change).sum();
            row(format!("{} others", others.len()), Value::Null, Value::Null, sum);
        }
    }
    Frame { name: result.to_owned(), fields, rows }
}

fn words(span: Span) -> String {
    Period::span(span.from, span.to).words()
}

fn tell(split: &Split, before: f64, after: f64, columns: &[Column], unit: Unit) -> String {
    let figure = |number: f64| show(&Value::Float(number), unit);
    let change = after - before;
    let (earlier, later) = (words(split.before), words(split.after));
    let label = split.value.replace('_', " ");
    let percent = |part: f64, all: f64| group(part / all.abs() * 100.0, 1, false);
    let of = if split.is_average { "The average of " } else { "" };
    let verb = if change > 0.0 { "rose" } else { "fell" };
    let mut text = if change.abs() < f64::EPSILON {
        format!("{of}{label} did not change: {} in {earlier} and in {later}.", figure(after))
    } else {
        let relative =
            if before == 0.0 { String::new() } else { format!(" ({} %)", percent(change, before)) };
        format!(
            "{of}{label} {verb} from {} in {earlier} to {} in {later}, by {}{relative}.",
            figure(before),
            figure(after),
            figure(change.abs())
        )
    };
    if let Some(first) = text.get(..1).map(str::to_uppercase) {
        text.replace_range(..1, &first);
    }
    if split.rises.is_some_and(|rises| change != 0.0 && rises != (change > 0.0)) {
        let asked = if change > 0.0 { "drop" } else { "rise" };
        text = format!("There was no {asked} between these periods; name the ones you mean. {text}");
    }
    for (at, column) in columns.iter().enumerate().filter(|_| change != 0.0) {
        // Shares of what is left when rises and falls cancel out say nothing.
        let moved: f64 = column.parts.iter().map(|part| part.change.abs()).sum();
        let cancels = moved > 4.0 * change.abs();
        let named: Vec<String> = (column.parts.iter())
            .filter(|part| part.change != 0.0)
            .take(if at == 0 { 3 } else { 2 })
            .map(|part| {
                let share = part.change / change * 100.0;
                let sign = if part.change > 0.0 { "+" } else { "" };
                format!(
                    "{} {sign}{} ({} % of the change)",
                    part.value,
                    figure(part.change),
                    group(share, 0, false)
                )
            })
            .collect();
        let lead = if at == 0 { "It shows most by" } else { "By" };
        if !named.is_empty() {
            let note = if cancels { " Rises and falls nearly cancel out." } else { "" };
            text.push_str(&format!("\n{lead} {}: {}.{note}", column.label, named.join(", ")));
        }
    }
    text.push_str("\nThis says where the change is, not what caused it.");
    text
}
