//! Metrics, counted from closed spans: code is instrumented once. Rendered as Prometheus text.
//!
//! Memory is bounded: each metric has a maximum number of label sets, and further ones are counted
//! as `other`. Labels with fixed values (outcomes, directions) keep their value even then, so that
//! error rates stay right.

mod family;

use std::sync::{Arc, Mutex, PoisonError};

use crate::otlp::Delivery;
use crate::span::Span;
use family::{Counter, Family, Histogram};

/// The known outcomes. Others are counted as `other`.
const OUTCOMES: [&str; 12] = [
    "approval_needed",
    "cancelled",
    "completed",
    "denied",
    "error",
    "failed",
    "partial_success",
    "paused",
    "resource_limit",
    "success",
    "timeout",
    "unknown",
];

/// A cheap handle on the metrics of this process.
#[derive(Debug, Clone)]
pub struct Metrics {
    families: Arc<Mutex<Families>>,
    delivery: Option<Arc<Delivery>>,
}

#[derive(Debug)]
struct Families {
    tool_calls: Family<Counter>,
    tool_seconds: Family<Histogram>,
    model_calls: Family<Counter>,
    model_seconds: Family<Histogram>,
    tokens: Family<Counter>,
    cost: Family<Counter>,
    tasks: Family<Counter>,
    task_seconds: Family<Histogram>,
}

impl Metrics {
    /// The content type of [`render`](Self::render), for an HTTP response.
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    pub(crate) fn new(label_sets: usize, delivery: Option<Arc<Delivery>>) -> Self {
        let families = Families {
            tool_calls: Family::new(
                "steward_tool_calls_total",
                "Tool calls, by how they ended.",
                &["tool", "outcome"],
                1,
                label_sets,
            ),
            tool_seconds: Family::new(
                "steward_tool_call_duration_seconds",
                "How long tool calls took, with all their attempts.",
                &["tool"],
                1,
                label_sets,
            ),
            model_calls: Family::new(
                "steward_model_calls_total",
                "Model calls, by how they ended.",
                &["provider", "model", "outcome"],
                2,
                label_sets,
            ),
            model_seconds: Family::new(
                "steward_model_call_duration_seconds",
                "How long model calls took, with all their attempts.",
                &["provider", "model"],
                2,
                label_sets,
            ),
            tokens: Family::new(
                "steward_model_tokens_total",
                "Tokens that models read and wrote, as their servers count.",
                &["provider", "model", "direction"],
                2,
                label_sets,
            ),
            cost: Family::new(
                "steward_model_cost_total",
                "What models cost, in the currency of the settings.",
                &["provider", "model"],
                2,
                label_sets,
            )
            .in_millionths(),
            tasks: Family::new(
                "steward_tasks_total",
                "Tasks, by how they ended.",
                &["kind", "outcome"],
                1,
                label_sets,
            ),
            task_seconds: Family::new(
                "steward_task_duration_seconds",
                "How long tasks took.",
                &["kind"],
                1,
                label_sets,
            ),
        };
        Self { families: Arc::new(Mutex::new(families)), delivery }
    }

    /// Counts a closed span.
    pub(crate) fn observe(&self, span: &Span) {
        let outcome = span.outcome();
        let outcome = if OUTCOMES.contains(&outcome) { outcome } else { "other" };
        let named = |name: &str| span.text(name).unwrap_or("unknown");
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        match span.text("gen_ai.operation.name") {
            Some("execute_tool") => {
                let tool = named("gen_ai.tool.name");
                families.tool_calls.at(&[tool, outcome]).add(1);
                families.tool_seconds.at(&[tool]).note(span.took);
            }
            Some("chat") => {
                let (provider, model) = (named("gen_ai.provider.name"), named("gen_ai.request.model"));
                families.model_calls.at(&[provider, model, outcome]).add(1);
                families.model_seconds.at(&[provider, model]).note(span.took);
                for (direction, field) in
                    [("input", "gen_ai.usage.input_tokens"), ("output", "gen_ai.usage.output_tokens")]
                {
                    if let Some(tokens) = span.count(field) {
                        families.tokens.at(&[provider, model, direction]).add(tokens);
                    }
                }
                if let Some(cost) = span.count("steward.cost_micros") {
                    families.cost.at(&[provider, model]).add(cost);
                }
            }
            _ => {}
        }
        if let Some(kind) = span.text("steward.task.kind") {
            families.tasks.at(&[kind, outcome]).add(1);
            families.task_seconds.at(&[kind]).note(span.took);
        }
    }

    /// All metrics in Prometheus format.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        {
            let families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
            families.tool_calls.render(&mut text);
            families.tool_seconds.render(&mut text);
            families.model_calls.render(&mut text);
            families.model_seconds.render(&mut text);
            families.tokens.render(&mut text);
            families.cost.render(&mut text);
            families.tasks.render(&mut text);
            families.task_seconds.render(&mut text);
        }
        if let Some(delivery) = &self.delivery {
            let delivered = delivery.so_far();
            let mut spans: Family<Counter> = Family::new(
                "steward_telemetry_spans_total",
                "Spans for the OTLP receiver, by what became of them.",
                &["outcome"],
                0,
                4,
            );
            spans.at(&["exported"]).add(delivered.exported);
            spans.at(&["failed"]).add(delivered.failed);
            spans.at(&["dropped"]).add(delivered.dropped);
            spans.render(&mut text);
        }
        text
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
