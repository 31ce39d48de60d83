//! Observability: spans for an OTLP receiver, metrics for Prometheus, a log on standard error.
//!
//! Code is instrumented once, with `tracing` spans named after the GenAI semantic conventions
//! (`chat`, `execute_tool`, `invoke_agent`); all telemetry is derived from those spans.
//!
//! Invariants
//! - Disabled telemetry costs nothing: if no option is set, no subscriber is installed.
//! - No content is exported: names, ids, counts, durations, outcomes and codes are; prompts,
//!   arguments, results, texts and keys are not (see `span::ATTRIBUTES`).
//! - Instrumented code never waits for a receiver: if the queue is full, a span is dropped and
//!   counted, and shutdown has a deadline.
//!
//! This crate stores nothing: the journal records what happened, whether telemetry is on or not.

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

/// Running telemetry. Dropping it sends the last spans, within the time limit of the options.
#[derive(Debug)]
#[must_use = "telemetry ends when this is dropped"]
pub struct Telemetry {
    metrics: Option<Metrics>,
    exporter: Option<otlp::Exporter>,
    flush_within: Duration,
}

impl Telemetry {
    /// The metrics, if enabled.
    #[must_use]
    pub fn metrics(&self) -> Option<Metrics> {
        self.metrics.clone()
    }

    /// Delivery counts of spans so far.
    #[must_use]
    pub fn delivered(&self) -> Delivered {
        self.exporter.as_ref().map(|exporter| exporter.delivery().so_far()).unwrap_or_default()
    }

    /// Sends the last spans within this time, and returns the delivery counts. It blocks at most
    /// that long.
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

/// Starts the telemetry that the options enable, for the whole process. If none is enabled, nothing
/// is installed.
pub fn start(options: &Options) -> Result<Telemetry> {
    let (telemetry, dispatch) = prepare(options)?;
    if let Some(dispatch) = dispatch {
        tracing::dispatcher::set_global_default(dispatch).map_err(|_| Error::Taken)?;
    }
    Ok(telemetry)
}

/// Creates the telemetry without installing it, for local use.
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
