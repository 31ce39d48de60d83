//! The reply to a turn that a model handled, with its figures checked, and the confirmation
//! question of a call that needs a decision.

use super::carry::Done;
use super::compose::millis;
use super::model_turn::PausedRun;
use super::{Asked, ChatService, Offered, Opened, Outcome, Reply, StepDone, confirm};
use crate::ask::Record;
use crate::run::internal::ASK_DATA;
use crate::run::{ModelTokens, RunStatus, replay_events};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use steward_domain::{
    AgentResponse, ApprovalMode, Attempt, CallId, CallStatus, Certainty, Idempotency, JsonObject, Label,
    Role, TaskId, Timestamp, ToolCall, ToolName,
};
use steward_engine::{EarlierMessage, Effect, EffectId, Event, Program, Root, ToolOutcome, Used};
use steward_language::answer::{Evidence, MARK, check_figures, plain};
use steward_language::words::name_words;
use steward_policy::{Effect as PolicyEffect, effect_of};

/// A call that a run made.
pub(super) struct RunCall {
    key: CallId,
    tool: ToolName,
    arguments: JsonObject,
    safety: Idempotency,
    began: Timestamp,
    ended: Option<(Timestamp, ToolOutcome)>,
}

/// What a run did, read from its events.
pub(super) struct RunRecord {
    calls: BTreeMap<EffectId, RunCall>,
    pub(super) used: Used,
    /// The tokens of its models.
    pub(super) tokens: ModelTokens,
    /// Whether it was a static plan.
    pub(super) planned: bool,
}

impl RunRecord {
    pub(super) fn of(program: &Program, events: &[Event]) -> Self {
        let mut calls: BTreeMap<EffectId, RunCall> = BTreeMap::new();
        let state = replay_events(program, events, |event, effects| {
            for effect in effects {
                if let Effect::CallTool { id, key, tool, arguments, safety, .. } = effect {
                    let (tool, arguments) = (tool.clone(), arguments.clone());
                    let (key, safety, began) = (*key, *safety, event.at());
                    calls.insert(*id, RunCall { key, tool, arguments, safety, began, ended: None });
                }
            }
            if let Event::ToolEnded { effect, outcome, at } = event
                && let Some(call) = calls.get_mut(effect)
            {
                call.ended = Some((*at, outcome.clone()));
            }
        });
        let planned = matches!(program.definition().root, Root::StaticPlan(_));
        Self { calls, used: state.used(), tokens: ModelTokens::of(events), planned }
    }

    /// Whether a call that may have side effects was made.
    pub(super) fn has_changes(&self) -> bool {
        self.calls.values().any(|call| {
            let refused = matches!(
                call.ended,
                Some((_, ToolOutcome::Denied { .. } | ToolOutcome::ApprovalNeeded { .. }))
            );
            call.safety != Idempotency::ReadOnly && !refused
        })
    }

    /// The called tools, without those of the runtime itself.
    pub(super) fn tools(&self) -> Vec<ToolName> {
        let mut tools: Vec<ToolName> = Vec::new();
        for call in self.calls.values() {
            if !tools.contains(&call.tool) && !call.tool.as_str().starts_with("steward.") {
                tools.push(call.tool.clone());
            }
        }
        tools
    }

    fn steps(&self) -> Vec<StepDone> {
        let step = |call: &RunCall| StepDone {
            what: name_words(call.tool.as_str().rsplit('.').next().unwrap_or_default()).join(" "),
            tool: Some(call.tool.to_string()),
            well: call.is_well(),
            milliseconds: call.ended.as_ref().map_or(0, |(at, _)| at.millis_since(call.began)),
            calls: vec![call.key],
        };
        self.calls.values().map(step).collect()
    }

    /// The successful calls.
    fn made(&self) -> Vec<ToolCall> {
        let made = |call: &RunCall| ToolCall {
            call_id: call.key,
            task_id: None,
            server: None,
            tool_name: call.tool.clone(),
            domain: None,
            arguments: call.arguments.clone(),
            status: CallStatus::Completed,
            timestamp: call.began,
            attempt_number: Attempt::default(),
        };
        self.calls.values().filter(|call| call.is_well()).map(made).collect()
    }

    fn sources(&self) -> Vec<Label> {
        let mut sources: Vec<Label> = Vec::new();
        for call in self.calls.values().filter(|call| call.is_well()) {
            let name = if call.tool.as_str() == ASK_DATA {
                call.arguments.get("source").and_then(Json::as_str).unwrap_or("your data")
            } else {
                call.tool.as_str().split('.').next().unwrap_or_default()
            };
            if let Ok(label) = Label::new(name)
                && !sources.contains(&label)
            {
                sources.push(label);
            }
        }
        sources
    }
}

impl RunCall {
    fn is_well(&self) -> bool {
        matches!(self.ended, Some((_, ToolOutcome::Success { .. } | ToolOutcome::Found { .. })))
    }
}

fn reply_of(
    service: &ChatService,
    opened: &Opened,
    record: &Record,
    run: &RunRecord,
    outcome: Outcome,
    answer: String,
) -> Reply {
    let elapsed = service.app().clock.monotonic().saturating_sub(opened.began);
    let (sources, made) = (run.sources(), run.made());
    let long = elapsed.as_secs() >= 60;
    Reply {
        conversation_id: opened.memory.id,
        task_id: record.task,
        outcome,
        response: AgentResponse {
            answer,
            partial_results: long || outcome == Outcome::Failed || (sources.is_empty() && !made.is_empty()),
            sources,
            tool_calls_made: made,
            suggestions: Vec::new(),
            confidence: Certainty::Medium,
            total_execution_time_ms: millis(elapsed),
        },
        question: None,
        tables: Vec::new(),
        steps: run.steps(),
        missing: Vec::new(),
        conflicts: Vec::new(),
        routing: None,
        reasons: vec!["the built-in reader was not sure, so a model worked on it".to_owned()],
        carried: Vec::new(),
        decisions: Vec::new(),
        waiting: Vec::new(),
        analyses: Vec::new(),
        model: None,
        client_calls: Vec::new(),
        client_text: None,
        cut_off: false,
        unverified: Vec::new(),
    }
}

/// The reply of a finished run.
pub(super) fn answer_of(
    service: &ChatService,
    opened: &Opened,
    record: &Record,
    status: &RunStatus,
    run: &RunRecord,
    earlier: &[EarlierMessage],
) -> Reply {
    let text = match status {
        RunStatus::Completed(Json::String(text)) => text.trim().to_owned(),
        RunStatus::Completed(other) => plain(other),
        RunStatus::Failed(why) => {
            let done = run.calls.values().filter(|call| call.is_well()).count();
            let text = format!("This was not finished: {why}. {done} calls were made before that.");
            return reply_of(service, opened, record, run, Outcome::Failed, text);
        }
        RunStatus::Rejected(why) => {
            let text = format!("It was not done: {why}.");
            return reply_of(service, opened, record, run, Outcome::Declined, text);
        }
        RunStatus::Cancelled(by) => {
            let text = format!("It was called off by {by}.");
            return reply_of(service, opened, record, run, Outcome::Declined, text);
        }
        RunStatus::Waiting | RunStatus::HandedOver => {
            let text = "This process ends. The work goes on elsewhere; ask again in a moment.".to_owned();
            return reply_of(service, opened, record, run, Outcome::Failed, text);
        }
    };
    let mut evidence = Evidence::default();
    evidence.add_said(&opened.turn.said);
    if let Some(own) = opened.client.as_ref().and_then(|client| client.request.instructions.as_deref()) {
        evidence.add_said(own);
    }
    evidence.add_said(&service.app().clock.now().day());
    for message in earlier.iter().filter(|message| message.role == Role::User || !message.text.contains(MARK))
    {
        evidence.add_said(&message.text);
    }
    for call in run.calls.values() {
        if let Some((_, ToolOutcome::Success { output, .. })) = &call.ended {
            evidence.add_result(output);
        }
    }
    let mut checked = check_figures(&text, &evidence);
    // Marks would break the response schema; the figures are listed separately.
    if opened.client.as_ref().is_some_and(|client| client.request.schema.is_some()) {
        checked.text.clone_from(&text);
    }
    let asks = text.trim_end().ends_with('?');
    let outcome = if asks { Outcome::Asked } else { Outcome::Answered };
    let answer = if checked.text.trim().is_empty() { "Done.".to_owned() } else { checked.text };
    let mut reply = reply_of(service, opened, record, run, outcome, answer);
    if asks {
        reply.question = Some(Asked { text: reply.response.answer.clone(), options: Vec::new() });
    }
    if !checked.unsupported.is_empty() {
        reply.response.confidence = Certainty::Low;
        reply.reasons.push(format!(
            "{} of {} figures are in no result and are marked",
            checked.unsupported.len(),
            checked.figures
        ));
    }
    reply.unverified = checked.unsupported;
    reply
}

/// The reply of a run that waits for a decision.
pub(super) fn paused_reply(
    service: &ChatService,
    opened: &Opened,
    record: &Record,
    task: TaskId,
    run: &RunRecord,
    waits: &Map<String, Json>,
    done: &mut Done,
) -> Reply {
    let text = |name: &str| waits.get(name).and_then(Json::as_str).unwrap_or_default();
    let tool = text("tool");
    let arguments = waits.get("arguments").and_then(Json::as_object).cloned().unwrap_or_default();
    let what = sentence(tool, &arguments);
    let until = waits.get("until").and_then(|until| serde_json::from_value(until.clone()).ok());
    let paused = text("digest").parse().ok().zip(until);
    let theirs = can_decide(service, opened, tool, &arguments);
    let Some((digest, until)) = paused.filter(|_| theirs) else {
        done.waiting.push(task);
        let answer = format!(
            "To go on I would {what}. This waits for a person who may approve it (task {task}). What they \
                decide is told here."
        );
        let mut reply = reply_of(service, opened, record, run, Outcome::Confirm, answer);
        reply.waiting = vec![task];
        return reply;
    };
    let destroys = is_destructive(service, tool, &arguments);
    let last = if destroys { " This cannot be undone." } else { "" };
    let question = format!("Shall I {what}?{last}");
    let mut letters = what.chars();
    let label: String =
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default();
    let offer = |label: String| Offered { say: label.clone(), label, record: None };
    let options = vec![offer(label), offer(confirm::DECLINE_LABEL.to_owned())];
    done.model.paused = Some(PausedRun { task, digest, what, until });
    let mut reply = reply_of(service, opened, record, run, Outcome::Confirm, question.clone());
    reply.question = Some(Asked { text: question, options });
    reply
}

/// Whether this user may decide on a call: an administrator on any. Other users may decide on a
/// non-destructive call that needs approval only because of the provenance of its values.
fn can_decide(service: &ChatService, opened: &Opened, tool: &str, arguments: &JsonObject) -> bool {
    if opened.turn.caller.administrator {
        return true;
    }
    let found = tool.parse::<ToolName>().ok().and_then(|name| service.toolbox().registry().get(&name, None));
    found.is_some_and(|found| {
        found.definition.approval == ApprovalMode::WhenUntrusted
            && effect_of(&found.definition, arguments) != PolicyEffect::Destroy
    })
}

fn is_destructive(service: &ChatService, tool: &str, arguments: &JsonObject) -> bool {
    let found = tool.parse::<ToolName>().ok().and_then(|name| service.toolbox().registry().get(&name, None));
    found.is_none_or(|found| effect_of(&found.definition, arguments) == PolicyEffect::Destroy)
}

/// The description of a call, with all of its values.
fn sentence(tool: &str, arguments: &JsonObject) -> String {
    let verb = name_words(tool.rsplit('.').next().unwrap_or_default()).join(" ");
    let place = tool.split_once('.').map(|(server, _)| format!(" in {server}")).unwrap_or_default();
    let values: Vec<String> = arguments
        .iter()
        .map(|(name, value)| format!("{} {}", name_words(name).join(" "), plain(value)))
        .collect();
    if values.is_empty() {
        format!("{verb}{place}")
    } else {
        format!("{verb}{place} ({})", values.join(", "))
    }
}
