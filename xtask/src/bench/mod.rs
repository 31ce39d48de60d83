//! Benchmarks. Each prints what was measured, the goal, and whether it was met; ours and theirs run
//! in one go, because machines are noisy and only the ratio means something.

mod analysis;
mod journal;
mod models;
mod runtime;
mod store;
mod tools;
mod tpch;

use anyhow::Result;
use std::time::{Duration, Instant};

/// What to measure.
#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// A question against the script that an analyst would write.
    Analysis(analysis::Options),
    /// Verifying a log against Python's verifier, and durable appends against plain SQLite.
    Journal(journal::Options),
    /// A long run with a model: storage, taking it up again, what a step costs.
    Models(models::Options),
    /// Steps a second, waiting tasks and storage beside Python's agent frameworks.
    Runtime(runtime::Options),
    /// The window and semantic search on both stores.
    Store(store::Options),
    /// Choosing among tools, what a call costs beside a bare one, and the gateway beside a FastMCP
    /// server.
    Tools(tools::Options),
    /// The queries of TPC-H on files and in PostgreSQL beside DuckDB and plain DataFusion: rows and times.
    Tpch(tpch::Options),
}

pub(crate) fn run(bench: &Bench) -> Result<()> {
    if cfg!(debug_assertions) {
        // Measure the optimised build: start again in the profile made for it.
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let line = [
            &["cargo", "run", "--quiet", "--profile", "bench", "--package", "xtask", "--"][..],
            &arguments.iter().map(String::as_str).collect::<Vec<_>>(),
        ]
        .concat();
        return crate::process::run(&line);
    }
    match bench {
        Bench::Analysis(options) => analysis::run(options),
        Bench::Journal(options) => journal::run(options),
        Bench::Models(options) => models::run(options),
        Bench::Runtime(options) => runtime::run(options),
        Bench::Store(options) => store::run(options),
        Bench::Tools(options) => tools::run(options),
        Bench::Tpch(options) => tpch::run(options),
    }
}

/// How long something takes.
#[allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

/// How long something asynchronous takes.
#[allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) async fn timed_async<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let start = Instant::now();
    let result = work.await;
    (result, start.elapsed())
}

/// One line of a report.
pub(crate) fn line(what: &str, measured: &str, goal: &str, met: bool) {
    println!("{what:<58} {measured:>22}   goal {goal:<18} {}", if met { "met" } else { "MISSED" });
}

/// The middle and the slowest of a hundred.
pub(crate) fn percentiles(mut samples: Vec<Duration>) -> (Duration, Duration) {
    samples.sort_unstable();
    let at = |share: f64| {
        samples.get(((samples.len() as f64 - 1.0) * share) as usize).copied().unwrap_or_default()
    };
    (at(0.5), at(0.99))
}
