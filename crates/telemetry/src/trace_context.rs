//! W3C trace context: a trace that began elsewhere goes on here, and goes on elsewhere from here.
//!
//! A span with the field `otel.parent` stands below the span of that header, unless another span of
//! ours is above it.

use crate::span::{Span, SpanPosition};
use std::fmt::{self, Write as _};
use tracing::field::{Field, Visit};
use tracing::span::Attributes;
use tracing_subscriber::registry::{LookupSpan as _, Registry};

/// The field that names the span of another process.
const PARENT: &str = "otel.parent";

/// The header `traceparent` for what is called from here; nothing when no span is exported.
#[must_use]
pub fn traceparent() -> Option<String> {
    let position = tracing::Span::current().with_subscriber(|(id, dispatch)| {
        let span = dispatch.downcast_ref::<Registry>()?.span(id)?;
        span.scope().find_map(|span| span.extensions().get::<Span>()?.place)
    })??;
    let mut header = String::from("00-");
    for byte in position.trace {
        let _infallible = write!(header, "{byte:02x}");
    }
    header.push('-');
    for byte in position.span {
        let _infallible = write!(header, "{byte:02x}");
    }
    header.push_str("-01");
    Some(header)
}

/// The position that a new span says it stands below.
pub(crate) fn remote_parent(attributes: &Attributes<'_>) -> Option<SpanPosition> {
    struct Header(Option<SpanPosition>);
    impl Visit for Header {
        fn record_str(&mut self, field: &Field, value: &str) {
            if field.name() == PARENT {
                self.0 = parse(value);
            }
        }
        fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
    }
    let mut header = Header(None);
    attributes.record(&mut header);
    header.0
}

/// Reads a header; nothing when it is not of that form.
fn parse(header: &str) -> Option<SpanPosition> {
    let mut parts = header.trim().split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    let flags = parts.next()?;
    let known = version.len() == 2 && version != "ff" && flags.len() == 2;
    if !known || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let (trace, span) = (bytes::<16>(trace)?, bytes::<8>(span)?);
    (trace != [0; 16] && span != [0; 8]).then_some(SpanPosition { trace, span, parent: None })
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 2 * N || !text.bytes().all(plain) {
        return None;
    }
    let mut bytes = [0; N];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, prepare};
    use tracing::info_span;

    const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_header_is_read_strictly() {
        assert!(parse(HEADER).is_some());
        for wrong in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_trace_goes_on_from_its_header_and_out_again() {
        let log = Some(crate::options::LogFilter::parse("info").unwrap());
        let (_running, dispatch) = prepare(&Options { log, ..Options::default() }).unwrap();
        tracing::dispatcher::with_default(&dispatch.unwrap(), || {
            assert_eq!(traceparent(), None);
            let outer = info_span!(target: "steward_test", "handle_turn", otel.parent = HEADER);
            let _entered = outer.enter();
            let one = traceparent().unwrap();
            assert!(one.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && one != HEADER, "{one}");
            let inner = info_span!(target: "steward_test", "chat");
            let two = inner.in_scope(traceparent).unwrap();
            assert!(two.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && two != one, "{two}");
        });
    }
}
