//! `profiler.analyze`: the contents and the quality of a table.

use super::{Output, Workbench};
use crate::catalogue::{Column, Table};
use crate::error::{Error, Result};
use crate::frame::{Frame, Value};
use crate::statistics::describe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Maximum number of rows used for quantiles and outliers.
const ROWS: usize = 200_000;

/// What `profiler.analyze` takes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfilerAnalyze {
    /// The table.
    pub table: String,
}

pub(super) async fn run(bench: &Workbench, arguments: &ProfilerAnalyze) -> Result<Output> {
    let visible = bench.session.visible(&bench.access);
    let table = visible.table(&arguments.table).ok_or_else(|| {
        let names: Vec<&str> = visible.tables.iter().map(|table| table.name.as_str()).collect();
        let detail = format!("there is no table named {}. There is: {}", arguments.table, names.join(", "));
        Error::Arguments { tool: "profiler.analyze", detail }
    })?;
    let ruled = |known: &steward_policy::Table| known.name == table.name && bench.access.is_ruled(known);
    if bench.session.schema().tables.iter().any(ruled) {
        let detail =
            format!("you see a part of the rows of {}, and a profile is made of all of them", table.name);
        return Err(Error::Arguments { tool: "profiler.analyze", detail });
    }
    let (frame, cut) = bench.session.head(&table.name, ROWS).await?;
    let columns: Vec<Json> = table.columns.iter().map(|column| describe(column, &frame)).collect();
    let joins: Vec<Json> = (visible.joins.iter())
        .filter(|join| join.from.0 == table.name || join.to.0 == table.name)
        .map(|join| json!({ "from": { "table": join.from.0, "columns": join.from.1 }, "to": { "table": join.to.0, "columns": join.to.1 }, "evidence": join.evidence }))
        .collect();
    let hidden =
        bench.session.catalogue().table(&table.name).map_or(0, |all| all.columns.len() - table.columns.len());
    let profile = json!({
        "table": table.name,
        "rows": table.rows,
        "rows_looked_at": frame.rows.len(),
        "sampled": cut,
        "columns_hidden_by_policy": hidden,
        "key": table.primary_key,
        "columns": columns,
        "joins": joins,
        "quality": quality(table, &frame),
    });
    Ok(Output { profile: Some(profile), ..Output::default() })
}

fn describe(column: &Column, frame: &Frame) -> Json {
    let mut text = json!({
        "name": column.name,
        "label": column.label,
        "type": column.kind,
        "empty": column.nulls,
        "distinct": column.distinct,
        "distinct_is_exact": column.complete,
        "top_values": column.values.iter().take(5).map(|(value, count)| json!({ "value": value, "count": count })).collect::<Vec<_>>(),
    });
    if let Some(index) = frame.position(&column.name)
        && let Some(object) = text.as_object_mut()
    {
        let mut nulls = 0_u64;
        frame.column(index).for_each(|cell| nulls += u64::from(cell.is_null()));
        object.insert("empty".to_owned(), nulls.into());
        if column.kind.is_number() {
            let numbers = frame.numbers(index);
            object.insert("quantiles".to_owned(), quantiles(&numbers));
            object.insert("mean".to_owned(), json!(describe::mean(&numbers)));
            object.insert("standard_deviation".to_owned(), json!(describe::std(&numbers, 1)));
            object.insert("outliers".to_owned(), json!(outliers(&numbers)));
        } else if column.kind.is_time() {
            object.insert("min".to_owned(), column.min.json());
            object.insert("max".to_owned(), column.max.json());
        }
    }
    text
}

fn quantiles(numbers: &[f64]) -> Json {
    let at = |share: f64| json!(describe::quantile(numbers, share));
    json!({ "min": at(0.0), "p25": at(0.25), "median": at(0.5), "p75": at(0.75), "max": at(1.0) })
}

/// The number of values more than 1.5 interquartile ranges outside the quartiles.
fn outliers(numbers: &[f64]) -> usize {
    let (Some(low), Some(high)) = (describe::quantile(numbers, 0.25), describe::quantile(numbers, 0.75))
    else {
        return 0;
    };
    let reach = 1.5 * (high - low);
    numbers.iter().filter(|n| **n < low - reach || **n > high + reach).count()
}

/// Caveats about the quality, as sentences.
fn quality(table: &Table, frame: &Frame) -> Vec<String> {
    let mut warnings = Vec::new();
    if frame.rows.is_empty() {
        warnings.push("The table is empty.".to_owned());
        return warnings;
    }
    for column in &table.columns {
        let Some(index) = frame.position(&column.name) else { continue };
        let empty = frame.column(index).filter(|cell| cell.is_null()).count();
        if empty == frame.rows.len() {
            warnings.push(format!("{} is empty throughout.", column.label));
        } else if empty * 20 >= frame.rows.len() {
            let share = 100.0 * empty as f64 / frame.rows.len() as f64;
            warnings.push(format!("{} is empty in {share:.1} % of the rows.", column.label));
        } else if column.distinct == 1 && frame.rows.len() > 1 {
            warnings.push(format!("{} has the same value in every row.", column.label));
        }
    }
    let mut seen = std::collections::HashSet::new();
    let doubles = frame
        .rows
        .iter()
        .filter(|row| !seen.insert(row.iter().map(Value::plain).collect::<Vec<_>>().join("\u{1f}")))
        .count();
    if doubles > 0 {
        let (count, verb) = if doubles == 1 { ("1 row", "is") } else { ("rows", "are") };
        let count = if doubles == 1 { count.to_owned() } else { format!("{doubles} {count}") };
        warnings.push(format!("{count} {verb} an exact repeat of another."));
    }
    warnings
}
