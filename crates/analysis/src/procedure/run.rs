//! Carrying out a procedure: the steps in order, each answer measured at its place among them.

use super::asked::{NamedFigure, Part, Procedure};
use super::evaluate::evaluate;
use super::group::split_by;
use super::numbers::{filtered, meets};
use super::outcome::{rounded, show};
use super::steps::apply;
use super::types::{Measure, Step};
use crate::frame::{Field, Frame, Kind, Value};

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
    Ok(if asked.parts.len() == 1 { (only, text) } else { (Value::Text(text.clone()), text) })
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
