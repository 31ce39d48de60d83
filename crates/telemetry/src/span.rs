//! The exported data of a span: names, duration and outcome, but no content.
//!
//! Only the fields of [`ATTRIBUTES`] are read, so that a prompt, an argument or a key that is put
//! into a span by mistake is not exported. Texts are truncated.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tracing::field::{Field, Visit};

/// Prefix of the names of Steward's crates. Spans of other crates are ignored.
pub(crate) const OURS: &str = "steward";

/// The fields that are exported: names, ids, counts and outcomes.
pub(crate) const ATTRIBUTES: [&str; 23] = [
    "error.type",
    "gen_ai.agent.id",
    "gen_ai.agent.name",
    "gen_ai.conversation.id",
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.max_tokens",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "gen_ai.tool.call.id",
    "gen_ai.tool.name",
    "gen_ai.tool.type",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.workflow.name",
    "steward.attempts",
    "steward.chain.id",
    "steward.cost_micros",
    "steward.outcome",
    "steward.steps",
    "steward.task.id",
    "steward.task.kind",
];

/// Maximum number of characters of a text.
const LONGEST: usize = 128;

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Int(i64),
    Float(f64),
    Flag(bool),
}

/// The kind of a span: internal, client or server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    #[default]
    Internal,
    Server,
    Client,
}

/// The position of a span in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpanPosition {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
    pub(crate) parent: Option<[u8; 8]>,
}

/// A span, from start to end.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    /// The name in the code.
    pub(crate) kind_name: &'static str,
    /// The displayed name.
    pub(crate) name: Option<String>,
    pub(crate) kind: Kind,
    /// None if only metrics are enabled.
    pub(crate) place: Option<SpanPosition>,
    /// Wall time in nanoseconds since 1970.
    pub(crate) began: u64,
    started: Instant,
    pub(crate) took: Duration,
    pub(crate) fields: Vec<(&'static str, Value)>,
}

impl Span {
    pub(crate) fn begin(kind_name: &'static str, place: Option<SpanPosition>) -> Self {
        let (began, started) = now();
        Self {
            kind_name,
            name: None,
            kind: Kind::Internal,
            place,
            began,
            started,
            took: Duration::ZERO,
            fields: Vec::with_capacity(12),
        }
    }

    pub(crate) fn end(&mut self) {
        self.took = self.started.elapsed();
    }

    pub(crate) fn shown(&self) -> &str {
        self.name.as_deref().unwrap_or(self.kind_name)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Value::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// The outcome. A span that closes without one was cancelled: its future was dropped.
    pub(crate) fn outcome(&self) -> &str {
        self.text("steward.outcome").unwrap_or("cancelled")
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    fn put(&mut self, field: &Field, value: impl FnOnce() -> Value) {
        match field.name() {
            "otel.name" => {
                if let Value::Text(text) = value() {
                    self.name = Some(text);
                }
            }
            "otel.kind" => {
                if let Value::Text(text) = value() {
                    self.kind = match text.as_str() {
                        "client" => Kind::Client,
                        "server" => Kind::Server,
                        _ => Kind::Internal,
                    };
                }
            }
            name if ATTRIBUTES.contains(&name) => {
                match self.fields.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) => *known = value(),
                    None => self.fields.push((name, value())),
                }
            }
            _ => {}
        }
    }
}

impl Visit for Span {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, || Value::Float(value));
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, || Value::Int(value));
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, || Value::Int(i64::try_from(value).unwrap_or(i64::MAX)));
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, || Value::Flag(value));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, || Value::Text(cut(value)));
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, || Value::Text(cut(&format!("{value:?}"))));
    }
}

/// Truncates a name and removes line breaks.
fn cut(text: &str) -> String {
    text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Generates ids. They must be unique but not secret: a counter, hashed with a random key of the
/// process.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    keys: RandomState,
    next: AtomicU64,
}

impl Ids {
    /// The position of a new span below its parent, or at the root of a new trace.
    pub(crate) fn place(&self, parent: Option<SpanPosition>) -> SpanPosition {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let part = |salt: u8| self.keys.hash_one((number, salt)).max(1).to_be_bytes();
        let trace = parent.map_or_else(
            || {
                let mut trace = [0; 16];
                trace.iter_mut().zip(part(1).into_iter().chain(part(2))).for_each(|(to, from)| *to = from);
                trace
            },
            |parent| parent.trace,
        );
        SpanPosition { trace, span: part(0), parent: parent.map(|parent| parent.span) }
    }
}

/// The current time, for records and for durations.
#[allow(clippy::disallowed_methods, reason = "nothing is decided by it: it is only shown")]
fn now() -> (u64, Instant) {
    (unix_nanos(), Instant::now())
}

/// Nanoseconds since 1970.
#[allow(clippy::disallowed_methods, reason = "nothing is decided by it: it is only shown")]
pub(crate) fn unix_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_children_share_the_trace() {
        let ids = Ids::default();
        let root = ids.place(None);
        let child = ids.place(Some(root));
        assert_eq!((child.trace, child.parent), (root.trace, Some(root.span)));
        let mut seen = std::collections::HashSet::from([root.span, child.span]);
        for _ in 0..10_000 {
            let other = ids.place(None);
            assert!(seen.insert(other.span) && other.trace != root.trace && other.trace != [0; 16]);
        }
    }

    #[test]
    fn names_are_short_and_have_no_lines() {
        assert_eq!(cut("a\nb\u{7}"), "a b ");
        assert_eq!(cut(&"ü".repeat(500)).chars().count(), LONGEST);
    }

    #[test]
    fn attributes_are_sorted_and_hold_nothing_that_was_said() {
        assert!(ATTRIBUTES.is_sorted());
        for word in ["message", "prompt", "arguments", "result", "content", "instructions", "description"] {
            assert!(!ATTRIBUTES.iter().any(|name| name.contains(word)), "{word}");
        }
    }
}
