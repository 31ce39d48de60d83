//! Measures the overhead of an instrumented call that does nothing: with telemetry off, with
//! metrics, and with spans for a receiver.
//!
//! `cargo run --profile bench -p steward-telemetry --example off_cost`. Each mode is measured in
//! rounds, and the median round is shown.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program of its own, not a part of Steward"
)]

use std::hint::black_box;
use std::time::Instant;

use steward_telemetry::{Endpoint, Options, prepare};
use tracing::Instrument as _;
use tracing::field::{Empty, display};

const CALLS: u32 = 50_000;
const ROUNDS: usize = 15;

/// The same instrumentation as around a tool call.
async fn instrumented(tool: &str, number: u64) -> u64 {
    let span = tracing::info_span!(
        target: "steward_tools", "execute_tool",
        otel.name = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = Empty,
        gen_ai.tool.call.id = Empty,
        steward.attempts = Empty,
        steward.outcome = Empty,
        error.type = Empty,
    );
    let result = plain(tool, number).instrument(span.clone()).await;
    if !span.is_disabled() {
        span.record("otel.name", display(format_args!("execute_tool {tool}")));
        span.record("gen_ai.tool.name", tool);
        span.record("gen_ai.tool.call.id", number);
        span.record("steward.attempts", 1);
        span.record("steward.outcome", "success");
    }
    result
}

async fn plain(tool: &str, number: u64) -> u64 {
    black_box(tool.len() as u64) + black_box(number)
}

fn nanoseconds<W: Future<Output = u64>>(call: impl Fn(u64) -> W) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            runtime.block_on(async {
                for number in 0..CALLS {
                    black_box(call(number.into()).await);
                }
            });
            began.elapsed().as_nanos() as f64 / f64::from(CALLS)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds.get(ROUNDS / 2).copied().unwrap_or_default()
}

fn under(options: &Options) -> f64 {
    let (telemetry, dispatch) = prepare(options).unwrap();
    let cost = match &dispatch {
        Some(dispatch) => tracing::dispatcher::with_default(dispatch, || {
            nanoseconds(|number| instrumented("crm.find", number))
        }),
        None => nanoseconds(|number| instrumented("crm.find", number)),
    };
    let delivered = telemetry.shutdown(std::time::Duration::from_millis(100));
    if options.endpoint.is_some() {
        println!("  ({delivered:?})");
    }
    cost
}

fn main() {
    let dead = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:9".to_owned());
    let endpoint = Some(Endpoint::parse(&dead).unwrap());
    let bare = nanoseconds(|number| plain("crm.find", number));
    println!("not instrumented     {bare:8.1} ns a call");
    println!("nobody listens       {:8.1} ns", under(&Options::default()));
    println!("metrics              {:8.1} ns", under(&Options { metrics: true, ..Options::default() }));
    println!("OTLP to {dead}");
    println!(
        "OTLP                 {:8.1} ns",
        under(&Options { endpoint: endpoint.clone(), ..Options::default() })
    );
    println!(
        "OTLP and metrics     {:8.1} ns",
        under(&Options { endpoint, metrics: true, ..Options::default() })
    );
}
