//! The OTLP messages that spans need, in protobuf. Names and numbers are those of the published
//! protocol; fields that we never send (events, links, states) are omitted, as protobuf allows.

use prost::{Message, Oneof};

use crate::span::{Kind, Span as Closed, Value};

/// The body of a POST to `/v1/traces`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Request {
    #[prost(message, repeated, tag = "1")]
    pub(crate) resource_spans: Vec<ResourceSpans>,
}

/// The response.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Response {
    #[prost(message, optional, tag = "1")]
    pub(crate) partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub(crate) rejected_spans: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub(crate) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(crate) attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub(crate) scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Scope {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Span {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(crate) name: String,
    #[prost(int32, tag = "6")]
    pub(crate) kind: i32,
    #[prost(fixed64, tag = "7")]
    pub(crate) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    pub(crate) end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub(crate) attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    pub(crate) status: Option<Status>,
}

/// The status of a span. The message is omitted, since it may contain content.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Status {
    #[prost(int32, tag = "3")]
    pub(crate) code: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AnyValue {
    #[prost(oneof = "Any", tags = "1, 2, 3, 4")]
    pub(crate) value: Option<Any>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Any {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Flag(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Float(f64),
}

/// The status codes of a span: unset, and error.
const UNSET: i32 = 0;
const ERROR: i32 = 2;

/// The request for a batch of spans.
pub(crate) fn request(service: &str, spans: impl IntoIterator<Item = Closed>) -> Request {
    let version = env!("CARGO_PKG_VERSION");
    let about = [
        ("service.name", service),
        ("service.version", version),
        ("telemetry.sdk.name", "steward"),
        ("telemetry.sdk.language", "rust"),
        ("telemetry.sdk.version", version),
    ];
    let attributes = about.map(|(key, value)| pair(key, Any::Text(value.to_owned()))).to_vec();
    let scope = Scope { name: "steward".to_owned(), version: version.to_owned() };
    let spans = spans.into_iter().filter_map(span).collect();
    Request {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource { attributes }),
            scope_spans: vec![ScopeSpans { scope: Some(scope), spans }],
        }],
    }
}

fn span(closed: Closed) -> Option<Span> {
    let place = closed.place?;
    let failed = closed.text("error.type").is_some();
    let took = u64::try_from(closed.took.as_nanos()).unwrap_or(u64::MAX);
    Some(Span {
        trace_id: place.trace.to_vec(),
        span_id: place.span.to_vec(),
        parent_span_id: place.parent.map(|id| id.to_vec()).unwrap_or_default(),
        name: closed.shown().to_owned(),
        kind: match closed.kind {
            Kind::Internal => 1,
            Kind::Server => 2,
            Kind::Client => 3,
        },
        start_time_unix_nano: closed.began,
        end_time_unix_nano: closed.began.saturating_add(took),
        // Some receivers read it without checking that it is present.
        status: Some(Status { code: if failed { ERROR } else { UNSET } }),
        attributes: closed.fields.into_iter().map(|(key, value)| pair(key, any(value))).collect(),
    })
}

fn pair(key: &str, value: Any) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

fn any(value: Value) -> Any {
    match value {
        Value::Text(text) => Any::Text(text),
        Value::Int(number) => Any::Int(number),
        Value::Float(number) => Any::Float(number),
        Value::Flag(flag) => Any::Flag(flag),
    }
}
