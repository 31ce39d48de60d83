//! One span per request, following the GenAI semantic conventions: tool, call, attempts, outcome.
//! The span never contains arguments, results, or the name of an unknown tool, because that is
//! arbitrary input.

use super::{Receipt, Request};
use crate::error::{Error, Result};
use steward_domain::{CallId, ChainId, Coded as _, ErrorClass, Idempotency, ToolDefinition};
use tracing::field::{Empty, display};
use tracing::{Span, info_span};

/// The span of a request. The tool is set once it is resolved.
pub(super) fn span(request: &Request) -> Span {
    info_span!(
        "execute_tool",
        otel.name = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = Empty,
        gen_ai.tool.type = Empty,
        gen_ai.tool.call.id = request.key.as_ref().map(display),
        steward.chain.id = request.chain.as_ref().map(display),
        steward.attempts = Empty,
        steward.outcome = Empty,
        error.type = Empty,
    )
}

/// Records the tool of the current attempt: the requested one or a fallback.
pub(super) fn tool(span: &Span, definition: &ToolDefinition) {
    if span.is_disabled() {
        return;
    }
    let name = &definition.tool_name;
    span.record("otel.name", display(format_args!("execute_tool {name}")));
    span.record("gen_ai.tool.name", display(name));
    span.record(
        "gen_ai.tool.type",
        if super::is_foreign(definition.origin) { "extension" } else { "function" },
    );
}

/// Records the current call. Each attempt is a call of its own; the span keeps the last.
pub(super) fn call(span: &Span, call: CallId, chain: ChainId, attempts: u32) {
    if span.is_disabled() {
        return;
    }
    span.record("gen_ai.tool.call.id", display(call));
    span.record("steward.chain.id", display(chain));
    span.record("steward.attempts", attempts);
}

/// Records the outcome of the request.
pub(super) fn end(span: &Span, result: &Result<Receipt>) {
    if span.is_disabled() {
        return;
    }
    let outcome = match result {
        Ok(_) => "success",
        Err(Error::ApprovalNeeded(_)) => "approval_needed",
        Err(error) if error.class() == ErrorClass::Denied => "denied",
        // A call that may have had an effect already has its own error here.
        Err(error) => super::attempt::outcome(error, Idempotency::ReadOnly).name(),
    };
    span.record("steward.outcome", outcome);
    if let Err(error) = result {
        span.record("error.type", error.code());
    }
}
