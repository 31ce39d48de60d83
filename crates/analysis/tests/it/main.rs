//! The crate from outside: files good and bad, databases, hostile SQL, tools.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and makes the databases that it asks"
)]

mod attack;
mod bad_input;
mod bombs;
mod buckets;
mod delta;
mod drivers;
mod hostile;
mod mysql;
mod packed;
mod partitions;
mod postgres;
mod remote;
mod rules;
mod servers;
mod sources;
mod tools;
mod tpch;
mod walls;
mod workbooks;

use std::path::Path;
use steward_analysis::session::{Options, Session};
use steward_analysis::tools::{Output, Workbench};
use steward_analysis::{Error, Result};
use steward_domain::{AnalysisTimeout, RequestPolicy, RowLimit};
use steward_policy::{Access, Limits};

pub(crate) async fn open(sources: &[String]) -> Result<Workbench> {
    open_with(sources, Options::default()).await
}

pub(crate) async fn open_with(sources: &[String], options: Options) -> Result<Workbench> {
    let access = Access { blocked_patterns: RequestPolicy::default().blocked_patterns, ..Access::default() };
    let limits = Limits { rows: RowLimit::default(), timeout: AnalysisTimeout::default() };
    Ok(Workbench::new(Session::open(sources, options).await?, access, limits))
}

pub(crate) async fn sql(bench: &Workbench, text: &str) -> Result<Output> {
    bench.call("sql.run", &serde_json::json!({ "sql": text }), "result").await
}

/// The rows of a query as text.
pub(crate) async fn rows(bench: &Workbench, text: &str) -> Vec<Vec<String>> {
    let output = sql(bench, text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    output
        .frame
        .unwrap()
        .rows
        .iter()
        .map(|row| row.iter().map(steward_analysis::frame::Value::plain).collect())
        .collect()
}

pub(crate) fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.display().to_string()
}

pub(crate) fn code(error: &Error) -> &'static str {
    steward_domain::Coded::code(error)
}
