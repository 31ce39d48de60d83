//! The log on standard error: a line for each event that passes the filter, and one for each of our
//! spans that closes.
//!
//! Both formats have the same content. Lines are written immediately, so that nothing is lost when
//! the program dies.

use std::fmt;
use std::io::Write as _;

use serde_json::{Map, Value as Json};
use steward_domain::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata};
use tracing_subscriber::filter::LevelFilter;

use crate::options::{LogFilter, LogFormat};
use crate::span::{Span, SpanPosition, Value, unix_nanos};

/// Writes the log.
#[derive(Debug)]
pub(crate) struct Log {
    filter: LogFilter,
    format: LogFormat,
}

impl Log {
    pub(crate) fn new(filter: LogFilter, format: LogFormat) -> Self {
        Self { filter, format }
    }

    pub(crate) fn wants(&self, about: &Metadata<'_>) -> bool {
        self.filter.0.would_enable(about.target(), about.level())
    }

    /// The most verbose level of the filter.
    pub(crate) fn level(&self) -> LevelFilter {
        let named = self.filter.0.iter().map(|(_, level)| level);
        named.chain(self.filter.0.default_level()).max().unwrap_or(LevelFilter::OFF)
    }

    pub(crate) fn event(&self, event: &Event<'_>, inside: Option<SpanPosition>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let message = fields.0.remove("message");
        let said = message.as_ref().and_then(Json::as_str).unwrap_or_else(|| event.metadata().name());
        let about = (*event.metadata().level(), event.metadata().target());
        self.write(&self.line(unix_nanos(), about, said, inside, fields.0));
    }

    pub(crate) fn closed(&self, about: &Metadata<'_>, span: &Span) {
        let mut fields = Map::new();
        fields.insert("duration_ms".to_owned(), (span.took.as_micros() as f64 / 1000.0).into());
        for (name, value) in &span.fields {
            fields.insert((*name).to_owned(), json(value));
        }
        let ended = span.began.saturating_add(u64::try_from(span.took.as_nanos()).unwrap_or(u64::MAX));
        self.write(&self.line(ended, (*about.level(), about.target()), span.shown(), span.place, fields));
    }

    fn line(
        &self,
        nanos: u64,
        (level, target): (Level, &str),
        said: &str,
        place: Option<SpanPosition>,
        fields: Map<String, Json>,
    ) -> String {
        let time = Timestamp::from_micros(i64::try_from(nanos / 1000).unwrap_or(i64::MAX)).to_string();
        let trace = place.map(|place| hex(&place.trace));
        match self.format {
            LogFormat::Text => {
                let mut line = format!("{time} {:5} {}: {}", level.as_str(), target, plain(said));
                for (name, value) in &fields {
                    line.push_str(&match value {
                        Json::String(text) if is_word(text) => format!(" {name}={text}"),
                        other => format!(" {name}={other}"),
                    });
                }
                line.extend(trace.map(|trace| format!(" trace_id={trace}")));
                line.push('\n');
                line
            }
            LogFormat::Json => {
                let mut line = Map::new();
                line.insert("timestamp".to_owned(), time.into());
                line.insert("level".to_owned(), level.as_str().into());
                line.insert("target".to_owned(), target.into());
                line.insert("message".to_owned(), said.into());
                if let Some(place) = place {
                    line.insert("trace_id".to_owned(), hex(&place.trace).into());
                    line.insert("span_id".to_owned(), hex(&place.span).into());
                }
                line.insert("fields".to_owned(), Json::Object(fields));
                let mut line = Json::Object(line).to_string();
                line.push('\n');
                line
            }
        }
    }

    fn write(&self, line: &str) {
        // One write, so that lines of several threads do not mix. A failure cannot be reported
        // anywhere.
        let _lost = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

/// The fields of an event as JSON.
#[derive(Default)]
struct Fields(Map<String, Json>);

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}

fn json(value: &Value) -> Json {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Flag(flag) => (*flag).into(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A text without line breaks.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-.:/".contains(c))
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
