//! Carrying out a procedure: the steps in order, each answer measured at its place among them.

use super::asked::{NamedFigure, Part, Procedure};
use super::evaluate::evaluate;
use super::group::split_by;
use super::numbers::{filtered, meets};
use super::outcome::{rounded, show};
use super::steps::apply;
use super::types::{Give, Measure, Step, Test};
use crate::frame::{Field, Frame, Kind, Unit, Value};

/// Maximum number of columns that a sentence names.
const MOST_NAMED: usize = 8;

/// What a procedure found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Tables to show.
    pub tables: Vec<Frame>,
    /// The named answers.
    pub values: Vec<(String, Value)>,
    /// A line for each answer.
    pub text: String,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// Carries out a procedure over a frame.
///
/// # Errors
/// When a column is missing, or no answer at all could be measured.
pub fn run(procedure: &Procedure, frame: Frame) -> Result<Report, String> {
    let mut report = Report { warnings: procedure.assumptions.clone(), ..Report::default() };
    let mut stages = vec![frame];
    for step in &procedure.steps {
        let Some(last) = stages.last() else { break };
        if let Step::Statistic { what, columns, by } = step {
            report.tables.push(table(last, what, columns, by)?);
        }
        let next = apply(step, last.clone(), &mut report.warnings)?;
        stages.push(next);
    }
    let mut lines = Vec::new();
    let mut failures = Vec::new();
    for asked in &procedure.answers {
        if let Some((table, text)) = missing_table(asked, &stages) {
            report.tables.push(table);
            lines.push(text);
            continue;
        }
        match answer(asked, &stages) {
            Ok((value, text)) => {
                lines.push(format!("{}: {text}", asked.name));
                report.values.push((asked.name.clone(), value));
            }
            Err(reason) => failures.push(format!("{}: {reason}", asked.name)),
        }
    }
    if report.values.is_empty() && report.tables.is_empty() {
        return Err(failures.into_iter().next().unwrap_or_else(|| "Nothing was asked for.".into()));
    }
    report.warnings.extend(failures);
    if report.tables.is_empty()
        && procedure.answers.is_empty()
        && let Some(last) = stages.pop()
    {
        report.tables.push(last);
    }
    lines.splice(0..0, verdict(procedure, &report.values));
    report.text = lines.join("\n");
    Ok(report)
}

/// One answer: its value, and its text.
fn answer(asked: &NamedFigure, stages: &[Frame]) -> Result<(Value, String), String> {
    let mut texts = Vec::new();
    let mut only = Value::Null;
    for part in &asked.parts {
        let stage = stages.get(part.after).or(stages.last()).ok_or("There are no rows.")?;
        let value = round_list(&part.measure, measure(part, stage)?, part.decimals);
        texts.push(show(&value, part.decimals));
        only = rounded(&value, part.decimals);
    }
    let text = texts.join(", ");
    let decimals = asked.parts.first().and_then(|part| part.decimals);
    Ok(if asked.parts.len() == 1 {
        let text = if decimals.is_none() { brief(&only).unwrap_or(text) } else { text };
        (only, text)
    } else {
        (Value::Text(text.clone()), text)
    })
}

/// How many cells of each column are missing, as a table and a sentence.
fn missing_table(asked: &NamedFigure, stages: &[Frame]) -> Option<(Frame, String)> {
    let [Part { measure: Measure::MissingByColumn, after, .. }] = asked.parts.as_slice() else { return None };
    let frame = stages.get(*after).or(stages.last())?;
    let rows = frame.rows.len();
    let rows_text = crate::frame::group(rows as f64, 0, false);
    let missing = |place: usize| frame.column(place).filter(|value| value.is_null()).count();
    let mut counts: Vec<(String, usize)> = (frame.fields.iter().enumerate())
        .map(|(place, field)| (field.name.trim().to_owned(), missing(place)))
        .collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let row = |(name, count): &(String, usize)| {
        let share = 100.0 * *count as f64 / rows.max(1) as f64;
        vec![Value::Text(name.clone()), Value::Int(*count as i64), Value::Float(share)]
    };
    let fields = vec![
        Field::new("column", Kind::Text),
        Field::new("missing values", Kind::Integer),
        Field { unit: Unit::Percent, ..Field::new("missing in %", Kind::Number) },
    ];
    let table = Frame { name: "statistics".to_owned(), fields, rows: counts.iter().map(row).collect() };
    let gaps: Vec<String> = (counts.iter().filter(|(_, count)| *count > 0).take(MOST_NAMED))
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    let columns = counts.iter().filter(|(_, count)| *count > 0).count();
    let text = if columns == 0 {
        format!("No values are missing in {} columns of {rows_text} rows.", counts.len())
    } else {
        let total: usize = counts.iter().map(|(_, count)| count).sum();
        let more = columns.saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "{total} values are missing, in {columns} of {} columns of {rows_text} rows: {}{more}.",
            counts.len(),
            gaps.join(", ")
        )
    };
    Some((table, text))
}

/// What a correlation means, in words.
fn verdict(procedure: &Procedure, values: &[(String, Value)]) -> Option<String> {
    let value = |give: Give| {
        let asked = procedure.answers.iter().find(|asked| match asked.parts.as_slice() {
            [part] => is_correlation(&part.measure, give),
            _ => false,
        })?;
        let (_, value) = values.iter().find(|(name, _)| *name == asked.name)?;
        Some((asked.parts.first()?, value.number()?))
    };
    let (part, correlation) = value(Give::Statistic)?;
    // A figure that is asked for with its decimals is not explained.
    let [first, second] = part.columns.as_slice() else { return None };
    if part.decimals.is_some() {
        return None;
    }
    let strength = match correlation.abs() {
        size if size < 0.1 => return Some(format!("{first} and {second} are practically not correlated.")),
        size if size < 0.3 => "a weak",
        size if size < 0.5 => "a moderate",
        _ => "a strong",
    };
    let sign = if correlation < 0.0 { "negative" } else { "positive" };
    let chance = match value(Give::P) {
        Some((_, p)) if p >= 0.05 => "; it may be chance",
        _ => "",
    };
    Some(format!("There is {strength} {sign} correlation between {first} and {second}{chance}."))
}

/// The two columns of a procedure that only asks for their correlation.
#[must_use]
pub fn correlated_columns(procedure: &Procedure) -> Option<(&str, &str)> {
    let mut parts = procedure.answers.iter().flat_map(|asked| &asked.parts);
    let part = parts.find(|part| is_correlation(&part.measure, Give::Statistic))?;
    match part.columns.as_slice() {
        [first, second] if procedure.steps.is_empty() && part.conditions.is_empty() => Some((first, second)),
        _ => None,
    }
}

/// Whether a measure is this part of a correlation between two columns.
fn is_correlation(measure: &Measure, give: Give) -> bool {
    matches!(measure, Measure::Test(Test::Pearson | Test::Spearman | Test::Kendall, given) if *given == give)
}

/// A number with as many digits as a person reads.
fn brief(value: &Value) -> Option<String> {
    let Value::Float(number) = value else { return None };
    let size = number.abs();
    if !number.is_finite() || number.fract() == 0.0 || size >= 1e15 {
        return None;
    }
    let places = match size {
        size if size >= 1000.0 => 2,
        size if size >= 0.1 => 3,
        size if size >= 0.0001 => 4,
        _ => return Some(format!("{number:.2e}")),
    };
    let text = format!("{number:.places$}");
    Some(text.trim_end_matches('0').trim_end_matches('.').to_owned())
}

/// Rounds the numbers of a list of outlying values.
fn round_list(measure: &Measure, value: Value, decimals: Option<usize>) -> Value {
    let (Measure::OutlierValues(..), Value::Text(text), Some(places)) = (measure, &value, decimals) else {
        return value;
    };
    let round = |item: &str| match item.parse::<f64>() {
        Ok(number) if item.contains('.') => format!("{number:.places$}"),
        _ => item.to_owned(),
    };
    Value::Text(text.split(", ").map(round).collect::<Vec<_>>().join(", "))
}

fn measure(part: &Part, frame: &Frame) -> Result<Value, String> {
    if let Measure::Share(percent) = part.measure {
        let hits = (0..frame.rows.len()).filter(|row| meets(frame, *row, &part.conditions)).count();
        let share = hits as f64 / frame.rows.len().max(1) as f64;
        return Ok(Value::Float(if percent { share * 100.0 } else { share }));
    }
    if part.conditions.is_empty() {
        return evaluate(&part.measure, frame, &part.columns);
    }
    let kept = filtered(frame, &part.conditions);
    if kept.rows.is_empty() && !matches!(part.measure, Measure::Count | Measure::Outliers(_)) {
        return Err("no rows meet the conditions".into());
    }
    if kept.rows.is_empty() {
        return Ok(Value::Int(0));
    }
    evaluate(&part.measure, &kept, &part.columns)
}

/// A table with one row per group (or one in all) and one column per measure and column.
fn table(frame: &Frame, what: &[Measure], columns: &[String], by: &[String]) -> Result<Frame, String> {
    let groups = if by.is_empty() { vec![(Vec::new(), frame.clone())] } else { split_by(frame, by) };
    let mut fields: Vec<Field> = by
        .iter()
        .map(|name| {
            let kind = frame.position(name).and_then(|p| frame.fields.get(p)).map_or(Kind::Text, |f| f.kind);
            Field::new(name.clone(), kind)
        })
        .collect();
    let pairs: Vec<(&Measure, &String)> =
        what.iter().flat_map(|m| columns.iter().map(move |c| (m, c))).collect();
    fields.extend(
        pairs.iter().map(|(m, c)| Field::new(format!("{} of {c}", super::answers::word(m)), Kind::Number)),
    );
    let mut rows = Vec::new();
    for (key, part) in groups {
        let cells =
            pairs.iter().map(|(m, c)| evaluate(m, &part, std::slice::from_ref(*c)).unwrap_or(Value::Null));
        rows.push(key.into_iter().chain(cells).collect());
    }
    Ok(Frame { name: "statistics".into(), fields, rows })
}
