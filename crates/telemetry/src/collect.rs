//! The tracing layer: it reads each span once and, when the span closes, passes it to the metrics,
//! the exporter and the log.
//!
//! It declares its interest once per callsite, and `tracing` caches the result: a span without a
//! consumer costs one atomic load.

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::log::Log;
use crate::metrics::Metrics;
use crate::otlp::Queue;
use crate::span::{Ids, OURS, Span};
use crate::trace_context::remote_parent;

/// Collects spans for their consumers.
#[derive(Debug)]
pub(crate) struct Collect {
    pub(crate) metrics: Option<Metrics>,
    pub(crate) queue: Option<Queue>,
    pub(crate) log: Option<Log>,
    pub(crate) ids: Ids,
}

impl Collect {
    fn wants(&self, about: &Metadata<'_>) -> bool {
        let counted = self.metrics.is_some() || self.queue.is_some();
        (counted && is_ours(about)) || self.log.as_ref().is_some_and(|log| log.wants(about))
    }
}

/// Whether a span belongs to one of our crates.
fn is_ours(about: &Metadata<'_>) -> bool {
    about.is_span() && about.target().starts_with(OURS) && *about.level() <= Level::INFO
}

impl<S> Layer<S> for Collect
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn register_callsite(&self, about: &'static Metadata<'static>) -> Interest {
        if self.wants(about) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, about: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.wants(about)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let counted = self.metrics.is_some() || self.queue.is_some();
        let counted = if counted { LevelFilter::INFO } else { LevelFilter::OFF };
        Some(self.log.as_ref().map_or(counted, |log| log.level().max(counted)))
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let about = attributes.metadata();
        let Some(span) = context.span(id).filter(|_| is_ours(about)) else { return };
        let shown = self.queue.is_some() || self.log.is_some();
        let place = shown.then(|| {
            let above = span.scope().skip(1).find_map(|above| above.extensions().get::<Span>()?.place);
            self.ids.place(above.or_else(|| remote_parent(attributes)))
        });
        let mut ours = Span::begin(about.name(), place);
        attributes.record(&mut ours);
        span.extensions_mut().insert(ours);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(ours) = span.extensions_mut().get_mut::<Span>()
        {
            values.record(ours);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if let Some(log) = self.log.as_ref().filter(|log| log.wants(event.metadata())) {
            let inside = context
                .event_scope(event)
                .and_then(|mut scope| scope.find_map(|span| span.extensions().get::<Span>()?.place));
            log.event(event, inside);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(mut ours) = span.extensions_mut().remove::<Span>() else { return };
        ours.end();
        if let Some(metrics) = &self.metrics {
            metrics.observe(&ours);
        }
        if let Some(log) = self.log.as_ref().filter(|log| log.wants(span.metadata())) {
            log.closed(span.metadata(), &ours);
        }
        if let Some(queue) = &self.queue {
            queue.put(ours);
        }
    }
}
