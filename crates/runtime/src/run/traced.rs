//! One span for each active phase of a run, by the GenAI semantic conventions: agent, task,
//! outcome. Prompts and answers are in none of its fields.

use super::{Ran, RunStatus};
use crate::error::Result;
use steward_domain::{Coded as _, TaskId};
use steward_engine::{Program, Root};
use tracing::field::{Empty, display};
use tracing::{Span, info_span};

/// The span of a run from here to its end, or to its next pause.
pub(super) fn span(program: &Program, task: TaskId) -> Span {
    let span = info_span!(
        "invoke_agent",
        otel.name = Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = Empty,
        gen_ai.conversation.id = Empty,
        steward.task.id = Empty,
        steward.task.kind = Empty,
        steward.steps = Empty,
        steward.outcome = Empty,
        error.type = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    let title = program.definition().root.title();
    let name = title.rsplit(' ').next().unwrap_or_default();
    span.record("otel.name", display(format_args!("invoke_agent {name}")));
    span.record("gen_ai.agent.name", name);
    span.record("gen_ai.conversation.id", display(task));
    span.record("steward.task.id", display(task));
    let kind = match program.definition().root {
        Root::Agent(_) => "agent",
        Root::Workflow(_) => "workflow",
        Root::Plan(_) => "plan",
        Root::StaticPlan(_) => "static_plan",
    };
    span.record("steward.task.kind", kind);
    span
}

/// Records the outcome.
pub(super) fn end(span: &Span, ran: &Result<Ran>) {
    if span.is_disabled() {
        return;
    }
    match ran {
        Ok(ran) => {
            span.record("steward.steps", ran.steps);
            let outcome = match ran.standing {
                RunStatus::Completed(_) => "completed",
                RunStatus::Failed(_) => "failed",
                RunStatus::Cancelled(_) => "cancelled",
                RunStatus::Rejected(_) => "rejected",
                RunStatus::Waiting | RunStatus::HandedOver => "paused",
            };
            span.record("steward.outcome", outcome);
            if matches!(ran.standing, RunStatus::Failed(_)) {
                span.record("error.type", ran.page.unwrap_or("ENG007"));
            }
        }
        Err(error) => {
            span.record("steward.outcome", "failed");
            span.record("error.type", error.code());
        }
    }
}
