//! `df.transform`: steps over a table or an earlier result, compiled to one query and admitted like
//! any other.

use super::{Output, Workbench};
use crate::error::{Error, Result};
use crate::query::Dialect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steward_policy::Parameters;

/// Maximum number of pivot columns; more indicate a mistake.
const MAX_PIVOT: usize = 200;

/// What `df.transform` takes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DfTransform {
    /// A table, or the name of an earlier result.
    pub input: String,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// One step. Expressions are SQL expressions over the columns that the step before left.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum Step {
    /// Keeps rows.
    Filter { condition: String },
    /// Keeps columns.
    Select { columns: Vec<String> },
    /// Adds a column.
    Derive { name: String, expression: String },
    /// Joins another table or result on pairs of columns.
    Join {
        with: String,
        on: Vec<(String, String)>,
        #[serde(default)]
        keep_unmatched: bool,
    },
    /// One row for each group, with named aggregates such as `sum(amount)`.
    Group { by: Vec<String>, aggregates: Vec<(String, String)> },
    /// One column for each value of a column.
    Pivot {
        rows: Vec<String>,
        column: String,
        value: String,
        #[serde(default = "sum")]
        aggregate: String,
    },
    /// Adds a column computed over other rows, such as `lag(amount) OVER (ORDER BY month)`.
    Window { name: String, expression: String },
    /// Orders rows.
    Sort {
        by: Vec<String>,
        #[serde(default)]
        descending: bool,
    },
    /// Takes every so-many-th row, the same ones every time.
    Sample { rows: u64 },
}

fn sum() -> String {
    "sum".to_owned()
}

pub(super) async fn run(bench: &Workbench, arguments: &DfTransform, result: &str) -> Result<Output> {
    let mut columns = columns_of(bench, &arguments.input)?;
    let mut sql = format!("SELECT {} FROM {}", list(&columns), name(&arguments.input));
    for (place, step) in arguments.steps.iter().enumerate() {
        let from = format!("({sql}) AS step_{place}");
        sql = apply(bench, step, &from, &mut columns).await?;
    }
    let admitted = bench.admit_in(&sql, Dialect::DataFusion, &Parameters::new())?;
    let ran = bench.run(&admitted, result).await?;
    bench.keep(result, &ran.frame)?;
    Ok(Output {
        sql: Some(admitted.text().to_owned()),
        cut: ran.cut,
        frame: Some(ran.frame),
        ..Output::default()
    })
}

async fn apply(bench: &Workbench, step: &Step, from: &str, columns: &mut Vec<String>) -> Result<String> {
    let all = list(columns);
    Ok(match step {
        Step::Filter { condition } => format!("SELECT {all} FROM {from} WHERE ({condition})"),
        Step::Select { columns: kept } => {
            known(kept, columns)?;
            *columns = kept.clone();
            format!("SELECT {} FROM {from}", list(columns))
        }
        Step::Derive { name: new, expression } | Step::Window { name: new, expression } => {
            columns.push(new.clone());
            format!("SELECT {all}, ({expression}) AS {} FROM {from}", name(new))
        }
        Step::Join { with, on, keep_unmatched } => {
            let other: Vec<String> = columns_of(bench, with)?;
            let joined: Vec<String> =
                other.iter().filter(|column| !columns.contains(column)).cloned().collect();
            let pairs: Vec<String> =
                on.iter().map(|(a, b)| format!("l.{} = r.{}", name(a), name(b))).collect();
            let left = columns.iter().map(|column| format!("l.{}", name(column)));
            let items: Vec<String> =
                left.chain(joined.iter().map(|column| format!("r.{}", name(column)))).collect();
            let how = if *keep_unmatched { "LEFT JOIN" } else { "JOIN" };
            let wanted = format!("(SELECT {} FROM {}) AS r", list(&other), name(with));
            columns.extend(joined);
            // `from` already has an alias, so it is wrapped once more.
            let inner = format!("(SELECT {all} FROM {from}) AS l");
            format!("SELECT {} FROM {inner} {how} {wanted} ON {}", items.join(", "), pairs.join(" AND "))
        }
        Step::Group { by, aggregates } => {
            known(by, columns)?;
            let keys: Vec<String> = by.iter().map(|column| name(column)).collect();
            let values = aggregates.iter().map(|(new, expression)| format!("{expression} AS {}", name(new)));
            let items: Vec<String> = keys.iter().cloned().chain(values).collect();
            *columns = by.iter().cloned().chain(aggregates.iter().map(|(new, _)| new.clone())).collect();
            let group =
                if keys.is_empty() { String::new() } else { format!(" GROUP BY {}", keys.join(", ")) };
            format!("SELECT {} FROM {from}{group}", items.join(", "))
        }
        Step::Pivot { rows, column, value, aggregate } => {
            pivot(bench, (rows, column, value, aggregate), from, columns).await?
        }
        Step::Sort { by, descending } => {
            known(by, columns)?;
            let way = if *descending { " DESC" } else { "" };
            let keys: Vec<String> = by.iter().map(|column| format!("{}{way}", name(column))).collect();
            format!("SELECT {all} FROM {from} ORDER BY {}", keys.join(", "))
        }
        Step::Sample { rows } => {
            let numbered = format!(
                "(SELECT {all}, row_number() OVER () AS place, count(*) OVER () AS total FROM {from}) AS numbered"
            );
            format!(
                "SELECT {all} FROM {numbered} WHERE place % greatest(total / {}, 1) = 0 LIMIT {rows}",
                (*rows).max(1)
            )
        }
    })
}

async fn pivot(
    bench: &Workbench,
    (rows, column, value, aggregate): (&[String], &String, &String, &str),
    from: &str,
    columns: &mut Vec<String>,
) -> Result<String> {
    known(rows, columns)?;
    known(&[column.clone(), value.clone()], columns)?;
    let values = format!(
        "SELECT DISTINCT {0} FROM {from} WHERE {0} IS NOT NULL ORDER BY {0} LIMIT {1}",
        name(column),
        MAX_PIVOT + 1
    );
    let admitted = bench.admit_in(&values, Dialect::DataFusion, &Parameters::new())?;
    let found = bench.run(&admitted, "pivot").await?.frame;
    if found.rows.len() > MAX_PIVOT {
        let detail = format!("{column} has more than {MAX_PIVOT} values; a pivot would have as many columns");
        return Err(Error::Arguments { tool: "df.transform", detail });
    }
    let keys: Vec<String> = rows.iter().map(|row| name(row)).collect();
    let texts: Vec<String> =
        found.rows.iter().filter_map(|row| row.first()).map(crate::frame::Value::plain).collect();
    let cells = texts.iter().map(|text| {
        let literal = text.replace('\'', "''");
        format!(
            "{aggregate}(CASE WHEN CAST({} AS VARCHAR) = '{literal}' THEN {} END) AS {}",
            name(column),
            name(value),
            name(text)
        )
    });
    let items: Vec<String> = keys.iter().cloned().chain(cells).collect();
    *columns = rows.iter().cloned().chain(texts).collect();
    let group =
        if keys.is_empty() { String::new() } else { format!(" GROUP BY {0} ORDER BY {0}", keys.join(", ")) };
    Ok(format!("SELECT {} FROM {from}{group}", items.join(", ")))
}

/// The columns of a table or an earlier result that the caller may read.
fn columns_of(bench: &Workbench, input: &str) -> Result<Vec<String>> {
    if let Some(frame) = bench.result(input) {
        return Ok(frame.fields.into_iter().map(|field| field.name).collect());
    }
    let visible = bench.session.visible(&bench.access);
    let table = visible.table(input).ok_or_else(|| {
        let names: Vec<&str> = visible.tables.iter().map(|table| table.name.as_str()).collect();
        let detail = format!("there is no table or result named {input}. There is: {}", names.join(", "));
        Error::Arguments { tool: "df.transform", detail }
    })?;
    Ok(table.columns.iter().map(|column| column.name.clone()).collect())
}

fn known(wanted: &[String], columns: &[String]) -> Result<()> {
    match wanted.iter().find(|column| !columns.contains(column)) {
        None => Ok(()),
        Some(missing) => {
            let detail = format!("there is no column {missing} here. There is: {}", columns.join(", "));
            Err(Error::Arguments { tool: "df.transform", detail })
        }
    }
}

fn name(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn list(columns: &[String]) -> String {
    columns.iter().map(|column| name(column)).collect::<Vec<_>>().join(", ")
}
