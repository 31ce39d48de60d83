//! One span for each model call, following the GenAI semantic conventions: model, duration, tokens,
//! cost, outcome. No field contains the request or the reply.

use steward_domain::{Coded, ErrorClass};
use tracing::field::{Empty, display};
use tracing::{Instrument as _, Span, info_span};

use super::ModelError;
use super::chat::{Answer, Chat};

/// Makes the call inside its span. A cancelled call closes its span without an outcome.
pub(super) async fn traced(
    provider: &str,
    model: &str,
    chat: &Chat,
    call: impl Future<Output = Result<Answer, ModelError>>,
) -> Result<Answer, ModelError> {
    let span = info_span!(
        "chat",
        otel.name = %format_args!("chat {model}"),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider,
        gen_ai.request.model = model,
        gen_ai.request.max_tokens = chat.max_tokens,
        gen_ai.response.model = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        steward.cost_micros = Empty,
        steward.outcome = Empty,
        error.type = Empty,
    );
    let result = call.instrument(span.clone()).await;
    if !span.is_disabled() {
        record(&span, &result);
    }
    result
}

fn record(span: &Span, result: &Result<Answer, ModelError>) {
    match result {
        Ok(answer) => {
            span.record("steward.outcome", "success");
            if is_name(&answer.model) {
                span.record("gen_ai.response.model", display(&answer.model));
            }
            // Zero means that the server reports no counts.
            if answer.usage.input + answer.usage.output > 0 {
                span.record("gen_ai.usage.input_tokens", answer.usage.input);
                span.record("gen_ai.usage.output_tokens", answer.usage.output);
            }
            if answer.usage.cached > 0 {
                span.record("gen_ai.usage.cache_read.input_tokens", answer.usage.cached);
            }
            if let Some(cost) = answer.cost_micros {
                span.record("steward.cost_micros", cost);
            }
        }
        Err(error) => {
            let outcome = match error {
                ModelError::Timeout { .. } => "timeout",
                other if other.class() == ErrorClass::Denied => "denied",
                _ => "error",
            };
            span.record("steward.outcome", outcome);
            span.record("error.type", error.code());
        }
    }
}

/// Whether a text looks like a model name: a server may send anything in that field.
fn is_name(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || "-_.:/@".contains(c);
    (1..=128).contains(&text.len()) && text.chars().all(word)
}
