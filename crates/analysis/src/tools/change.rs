//! `change.explain`: which values a change between two periods comes from. The parts sum to the
//! total change.

use super::{Output, Workbench};
use crate::error::{Error, Result};
use crate::frame::{Field, Frame, Kind, Unit, Value, group, show};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steward_domain::ErrorCategory;
use steward_query::outlook::{Span, Split};
use steward_text::period::Period;

/// Maximum number of named values of a column; the others are combined.
const NAMED: usize = 6;
/// Maximum number of columns in the answer.
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
    /// Its contribution to the total change.
    change: f64,
}

/// A column with the parts of the change.
struct Column {
    label: String,
    parts: Vec<Part>,
    /// How well it explains the change: 0 if all values changed alike, or if rises and falls cancel
    /// out.
    tells: f64,
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
    columns.sort_by(|a, b| b.tells.total_cmp(&a.tells));
    columns.truncate(if arguments.only_best { 1 } else { SHOWN });
    let change = after - before;
    let frame = frame(&columns, change, result, unit);
    bench.keep(result, &frame)?;
    // A chart needs no text: it accompanies the table.
    let text = (!arguments.only_best).then(|| tell(split, before, after, &columns, unit));
    Ok(Output { frame: Some(frame), text, ..Output::default() })
}

/// The numbers of one row: both periods, and for an average the row counts.
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

/// The parts of the change by the values of a column, largest first.
fn column(frame: &Frame, label: &str, whole: &Pair, split: &Split) -> Column {
    let mut parts = Vec::new();
    let mut shares = Vec::new();
    for row in 0..frame.rows.len() {
        let pair = numbers(frame, row, 1, split.is_average);
        let value = match frame.cell(row, 0) {
            Value::Null => "(empty)".to_owned(),
            value => value.plain(),
        };
        let (before, after) = (pair.before(split).unwrap_or(0.0), pair.after(split).unwrap_or(0.0));
        let change = if split.is_average { mixed(&pair, whole) } else { pair.after - pair.before };
        let (part, all) = if split.is_average {
            (pair.rows_before + pair.rows_after, whole.rows_before + whole.rows_after)
        } else {
            (pair.before, whole.before)
        };
        shares.push(if all == 0.0 { 0.0 } else { part / all });
        parts.push(Part { value, before, after, change });
    }
    let tells = tells(&parts, &shares);
    parts.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    Column { label: label.to_owned(), parts, tells }
}

/// How well a column explains a change: how much the parts of the change differ from the previous
/// shares of the values, reduced if the parts cancel out.
fn tells(parts: &[Part], shares: &[f64]) -> f64 {
    let change: f64 = parts.iter().map(|part| part.change).sum();
    let moved: f64 = parts.iter().map(|part| part.change.abs()).sum();
    if change == 0.0 || moved == 0.0 {
        return 0.0;
    }
    let apart = parts.iter().zip(shares).map(|(part, share)| (part.change / change - share).abs());
    apart.sum::<f64>() / 2.0 * (change.abs() / moved).powf(1.5)
}

/// The contribution of a value to the change of an average: its own average changed, and its share
/// of the rows changed. Over all values this sums to the total change.
fn mixed(pair: &Pair, whole: &Pair) -> f64 {
    let (before, after) = (whole.before / whole.rows_before, whole.after / whole.rows_after);
    let (p, q) = (pair.rows_before / whole.rows_before, pair.rows_after / whole.rows_after);
    let old = if pair.rows_before > 0.0 { pair.before / pair.rows_before } else { before };
    let new = if pair.rows_after > 0.0 { pair.after / pair.rows_after } else { after };
    // Values without rows in one period are assigned the overall average there.
    (p + q) / 2.0 * (new - old) + (q - p) * ((old + new) / 2.0 - (before + after) / 2.0)
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
        // If rises and falls cancel out, shares of the rest are meaningless.
        let moved: f64 = column.parts.iter().map(|part| part.change.abs()).sum();
        let cancels = moved > 4.0 * change.abs();
        let named: Vec<String> = (column.parts.iter())
            .filter(|part| part.change != 0.0)
            .take(if at == 0 { 3 } else { 2 })
            .map(|part| {
                let share = part.change / change * 100.0;
                let sign = if part.change > 0.0 { "+" } else { "" };
                let share = if cancels {
                    String::new()
                } else {
                    format!(" ({} % of the change)", group(share, 0, false))
                };
                format!("{} {sign}{}{share}", part.value, figure(part.change))
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

#[cfg(test)]
mod check {
    use super::*;

    fn split(is_average: bool) -> Split {
        let day = |text: &str| text.parse().unwrap();
        Split {
            value: "revenue".into(),
            before: Span { from: day("2024-02-01"), to: day("2024-03-01") },
            after: Span { from: day("2024-03-01"), to: day("2024-04-01") },
            is_average,
            last_day: day("2024-03-31"),
            rises: Some(false),
            columns: Vec::new(),
        }
    }

    fn frame_of(rows: &[(&str, &[f64])]) -> Frame {
        let cells = |(name, numbers): &(&str, &[f64])| {
            let head = std::iter::once(Value::Text((*name).into()));
            head.chain(numbers.iter().map(|number| Value::Float(*number))).collect()
        };
        Frame { name: "part".into(), fields: Vec::new(), rows: rows.iter().map(cells).collect() }
    }

    #[test]
    fn parts_add_up_and_the_telling_column_comes_first() {
        let whole = Pair { before: 100.0, after: 80.0, rows_before: 0.0, rows_after: 0.0 };
        let region = frame_of(&[("West", &[50.0, 30.0]), ("East", &[50.0, 50.0])]);
        let region = column(&region, "region", &whole, &split(false));
        let noise = frame_of(&[("a", &[30.0, 60.0]), ("b", &[40.0, 5.0]), ("c", &[30.0, 15.0])]);
        let noise = column(&noise, "noise", &whole, &split(false));
        let alike = frame_of(&[("x", &[90.0, 72.0]), ("y", &[10.0, 8.0])]);
        let alike = column(&alike, "alike", &whole, &split(false));
        assert!(
            region.tells > noise.tells && noise.tells > alike.tells,
            "{} {} {}",
            region.tells,
            noise.tells,
            alike.tells
        );
        for column in [&region, &noise, &alike] {
            let sum: f64 = column.parts.iter().map(|part| part.change).sum();
            assert!((sum + 20.0).abs() < 1e-9, "{}: {sum}", column.label);
        }
        let text = tell(&split(false), 100.0, 80.0, &[region], Unit::Plain);
        assert!(
            text.starts_with("Revenue fell from 100 in February 2024 to 80 in March 2024, by 20 (-20 %)."),
            "{text}"
        );
        assert!(text.contains("region: West -20 (100 % of the change)."), "{text}");
    }

    #[test]
    fn parts_of_an_average_add_up_too() {
        // Sums and numbers of rows: the averages are 10 and 20 before, 12 and 20 after, with other
        // shares of the rows.
        let whole = Pair { before: 500.0, after: 680.0, rows_before: 30.0, rows_after: 40.0 };
        let of = frame_of(&[("a", &[100.0, 180.0, 10.0, 15.0]), ("b", &[400.0, 500.0, 20.0, 25.0])]);
        let column = column(&of, "kind", &whole, &split(true));
        let sum: f64 = column.parts.iter().map(|part| part.change).sum();
        assert!((sum - (680.0 / 40.0 - 500.0 / 30.0)).abs() < 1e-9, "{sum}");
    }
}
