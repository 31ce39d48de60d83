//! The TPC-H queries: `tpch steward|plain SOURCE QUERIES MEMORY_MB`.
//!
//! `steward` admits each query and runs it where the data is; `plain` gives its text to DataFusion
//! unchanged. One line of JSON for each query: its name, the seconds, and the rows or the error.
#![allow(clippy::disallowed_methods, reason = "it measures real time")]

use datafusion::prelude::{ParquetReadOptions, SessionContext};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::time::Instant;
use steward_analysis::frame::{Frame, Value};
use steward_analysis::session::{Options, Session};
use steward_analysis::tools::Workbench;
use steward_domain::{AnalysisTimeout, RowLimit};
use steward_policy::{Access, Limits};

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, source, queries, megabytes] = arguments.as_slice() else {
        return Err("name steward or plain, the source, the folder of queries, and the memory in MB".into());
    };
    let mut queries: Vec<PathBuf> =
        std::fs::read_dir(queries)?.map(|entry| Ok(entry?.path())).collect::<Result<_, Failure>>()?;
    queries.retain(|query| query.extension().is_some_and(|ending| ending == "sql"));
    queries.sort();
    let memory = megabytes.parse::<usize>()? << 20;
    if mode == "plain" { plain(source, &queries).await } else { admitted(source, &queries, memory).await }
}

async fn admitted(source: &str, queries: &[PathBuf], memory: usize) -> Result<(), Failure> {
    let options = Options { memory, ..Options::default() };
    let session = Session::open(&[source.to_owned()], options).await?;
    let limits = Limits {
        rows: RowLimit::default(),
        timeout: AnalysisTimeout::new(180).map_err(|problem| problem.rule)?,
    };
    let bench = Workbench::new(session, Access::default(), limits);
    for query in queries {
        let text = std::fs::read_to_string(query)?;
        let start = Instant::now();
        let ran = bench.call("sql.run", &json!({ "sql": text }), "result").await;
        let seconds = start.elapsed().as_secs_f64();
        print(query, seconds, ran.map(|output| output.frame).map_err(|error| error.to_string()));
    }
    Ok(())
}

async fn plain(folder: &str, queries: &[PathBuf]) -> Result<(), Failure> {
    let context = SessionContext::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "parquet") {
            let options = ParquetReadOptions::default();
            context.register_parquet(stem(&path), path.display().to_string(), options).await?;
        }
    }
    for query in queries {
        let text = std::fs::read_to_string(query)?;
        let start = Instant::now();
        let ran = async { context.sql(&text).await?.collect().await }.await;
        let rows = ran.map(|_| None).map_err(|error| error.to_string());
        print(query, start.elapsed().as_secs_f64(), rows);
    }
    Ok(())
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn print(query: &Path, seconds: f64, ran: Result<Option<Frame>, String>) {
    let (name, said) = match ran {
        Ok(Some(frame)) => ("rows", frame.rows.iter().map(|row| cells(row)).collect()),
        Ok(None) => ("rows", Json::Null),
        Err(error) => ("error", Json::from(error)),
    };
    println!("{}", json!({ "query": stem(query), "seconds": seconds, name: said }));
}

fn cells(row: &[Value]) -> Json {
    let cell = |value: &Value| match value {
        Value::Null => Json::Null,
        Value::Int(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        other => Json::from(other.plain()),
    };
    row.iter().map(cell).collect()
}
