//! `stats.run`: a statistical procedure over an earlier result.

use super::{Output, Workbench};
use crate::error::{Error, Result};
use crate::frame::{Field, Frame, Kind, Value};
use crate::procedure::{self, Procedure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steward_domain::ErrorCategory;

/// What `stats.run` takes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatsRun {
    /// The earlier result it works on.
    pub input: String,
    /// The steps: filters, new columns, missing values, groups, statistics.
    #[schemars(with = "serde_json::Value")]
    pub procedure: Procedure,
}

pub(super) async fn run(bench: &Workbench, arguments: &StatsRun, result: &str) -> Result<Output> {
    let frame = bench.result(&arguments.input).ok_or_else(|| Error::Arguments {
        tool: "stats.run",
        detail: format!("there is no earlier result named {}", arguments.input),
    })?;
    let procedure = arguments.procedure.clone();
    // Statistics over many rows would block this thread.
    let work = tokio::task::spawn_blocking(move || procedure::run(&procedure, frame));
    let report = work.await.unwrap_or_else(|error| Err(error.to_string()));
    let report = report.map_err(|detail| Error::Query { detail, category: ErrorCategory::ToolFailure })?;
    let frame = report.tables.into_iter().next().unwrap_or_else(|| named(&report.values));
    let frame = Frame { name: result.to_owned(), ..frame };
    bench.keep(result, &frame)?;
    Ok(Output {
        frame: Some(frame),
        text: Some(report.text),
        values: report.values,
        warnings: report.warnings,
        ..Output::default()
    })
}

/// Named values as a table.
fn named(values: &[(String, Value)]) -> Frame {
    let kind =
        if values.iter().all(|(_, value)| value.number().is_some()) { Kind::Number } else { Kind::Text };
    let fields = vec![Field::new("name", Kind::Text), Field::new("value", kind)];
    let cell = |value: &Value| if kind == Kind::Text { Value::Text(value.plain()) } else { value.clone() };
    let rows = values.iter().map(|(name, value)| vec![Value::Text(name.clone()), cell(value)]).collect();
    Frame { name: "values".to_owned(), fields, rows }
}
