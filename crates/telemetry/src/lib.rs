//! What is seen of Steward from outside: spans for an OTLP receiver, metrics for Prometheus, a log
//! on standard error.
//!
//! Code says what it does once, as a `tracing` span with the names of the GenAI semantic
//! conventions (`chat`, `execute_tool`, `invoke_agent`); everything here is made from those spans.
//!
//! Invariants
//! - What is off costs nothing: with nothing asked for no subscriber is installed.
//! - Nothing that was said leaves: names, ids, counts, durations, outcomes and codes do; prompts,
//!   arguments, results, texts and keys do not (see `span::ATTRIBUTES`).
//! - Nobody waits for a receiver: a span that finds no room is dropped and counted, and the end of
//!   the program has a deadline.
//!
//! It does not keep anything: what happened is in the journal, also when nobody was looking.

mod collect;
mod error;
mod log;
mod metrics;
mod options;
mod otlp;
mod span;
mod trace_context;

use std::time::Duration;

use tracing::Dispatch;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::Registry;

pub use error::{Error, Result};
pub use metrics::Metrics;
pub use options::{Endpoint, Headers, LogFilter, LogFormat, Options};
pub use otlp::Delivered;
pub use trace_context::traceparent;

/// Telemetry that runs. Dropping it sends the last spans, within the time of the options.
#[derive(Debug)]
#[must_use = "telemetry ends when this is dropped"]
pub struct Telemetry {
    metrics: Option<Metrics>,
    exporter: Option<otlp::Exporter>,
    flush_within: Duration,
}

impl Telemetry {
    /// The metrics, when they are counted.
    #[must_use]
    pub fn metrics(&self) -> Option<Metrics> {
        self.metrics.clone()
    }

    /// What became of spans so far.
    #[must_use]
    pub fn delivered(&self) -> Delivered {
        self.exporter.as_ref().map(|exporter| exporter.delivery().so_far()).unwrap_or_default()
    }

    /// Sends the last spans within this time, and tells what became of all of them. It blocks for
    /// that long at most.
    pub fn shutdown(mut self, within: Duration) -> Delivered {
        self.exporter.take().map(|mut exporter| exporter.finish(within)).unwrap_or_default()
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(exporter) = &mut self.exporter {
            exporter.finish(self.flush_within);
        }
    }
}

/// Starts what the options ask for, for the whole process. With nothing asked for, nothing is
/// installed.
pub fn start(options: &Options) -> Result<Telemetry> {
    let (telemetry, dispatch) = prepare(options)?;
    if let Some(dispatch) = dispatch {
        tracing::dispatcher::set_global_default(dispatch).map_err(|_| Error::Taken)?;
    }
    Ok(telemetry)
}

/// Makes what the options ask for without installing it, for whoever wants it in one place only.
pub fn prepare(options: &Options) -> Result<(Telemetry, Option<Dispatch>)> {
    let (exporter, queue) = match &options.endpoint {
        Some(endpoint) => {
            let (exporter, queue) = otlp::Exporter::start(endpoint, &options.headers, &options.service_name)?;
            (Some(exporter), Some(queue))
        }
        None => (None, None),
    };
    let delivery = exporter.as_ref().map(otlp::Exporter::delivery);
    let metrics = options.metrics.then(|| Metrics::new(options.label_sets, delivery));
    let log = options.log.clone().map(|filter| log::Log::new(filter, options.log_format));
    let on = queue.is_some() || metrics.is_some() || log.is_some();
    let layer = collect::Collect { metrics: metrics.clone(), queue, log, ids: span::Ids::default() };
    let dispatch = on.then(|| Dispatch::new(Registry::default().with(layer)));
    Ok((Telemetry { metrics, exporter, flush_within: options.flush_within }, dispatch))
}
