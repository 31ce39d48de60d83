//! The trace of a task (`TraceLog`), derived from its events: it cannot disagree with them.

use crate::effect::Effect;
use crate::state::{Pending, State, Target};
use crate::{EffectId, Event, Program, ToolOutcome};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use steward_domain::{
    Label, SessionId, StepLevel, StepRecord, SubAgentSessionInfo, SubAgentStatus, Timestamp, ToolCallRecord,
    TraceLog,
};

/// An issued effect, kept until it is answered.
struct Issued {
    effect: Effect,
    at: Timestamp,
    who: String,
}

/// The trace of these events; `None` before the task has started.
#[must_use]
pub fn trace(program: &Program, events: &[Event]) -> Option<TraceLog> {
    let mut state = State::new(program);
    let mut log: Option<TraceLog> = None;
    let mut issued: BTreeMap<EffectId, Issued> = BTreeMap::new();
    for event in events {
        let at = event.at();
        let about = event.effect().and_then(|id| issued.remove(&id).map(|issued| (id, issued)));
        let outcome = state.apply(program, event);
        let log = match (&mut log, event) {
            (Some(log), _) => log,
            (None, Event::Started { task, .. }) => log.insert(TraceLog {
                task_id: *task,
                steps: Vec::new(),
                sub_agent_sessions: BTreeMap::new(),
                created_at: at,
                updated_at: at,
            }),
            (None, _) => continue,
        };
        log.updated_at = log.updated_at.max(at);
        let effects = match outcome {
            Ok(effects) => effects,
            Err(rejected) => {
                issued.extend(about);
                log.steps.push(step("ignored", rejected.to_string(), at, StepLevel::Warning, "engine"));
                continue;
            }
        };
        log.steps.push(record(event, about.as_ref().map(|(_, issued)| issued)));
        if let (
            Event::SubEnded { summary, .. },
            Some((
                _,
                Issued {
                    effect: Effect::StartSub { task_id, .. } | Effect::StartWorkflow { task_id, .. },
                    ..
                },
            )),
        ) = (event, &about)
            && let Some(session) = log.sub_agent_sessions.get_mut(&SessionId(task_id.0))
        {
            session.status = if summary.is_ok() { SubAgentStatus::Completed } else { SubAgentStatus::Failed };
        }
        for effect in effects {
            note(log, &effect, at);
            if let Some(id) = effect.id() {
                let who = who(program, &state, id);
                issued.entry(id).or_insert(Issued { effect, at, who });
            }
        }
    }
    log
}

/// The agent or node on whose behalf an effect is pending.
fn who(program: &Program, state: &State, id: EffectId) -> String {
    let Some(pending) = state.pending.get(&id) else { return "engine".to_owned() };
    let session = match pending {
        Pending::Model { session, .. }
        | Pending::Mandate { session }
        | Pending::ModelBackoff { session, .. } => state.session(*session),
        Pending::Tool { call } | Pending::Sub { call } | Pending::Backoff { call, .. } => {
            match state.calls.get(call).map(|call| (&call.owner, &call.target)) {
                Some((crate::state::Owner::Slot(session, _), Target::Tool(_) | Target::Agent(..))) => {
                    state.session(*session)
                }
                _ => None,
            }
        }
        _ => None,
    };
    let agent = session.and_then(|session| program.agent(session.agent)).map(|spec| spec.agent.name.as_str());
    let node = || state.node_of(pending).and_then(|place| program.node(place)).map(|node| node.name.as_str());
    agent.or_else(node).unwrap_or("engine").to_owned()
}

fn step(name: &str, message: String, at: Timestamp, status: StepLevel, agent: &str) -> StepRecord {
    let label = |text: &str| Label::new(text).unwrap_or_else(|_| unnamed());
    StepRecord {
        step_name: label(name),
        message,
        timestamp: at,
        status,
        agent: label(agent),
        tool_calls: Vec::new(),
        duration_ms: 0,
    }
}

/// Stands for the unreachable branch: names of nodes and agents are always valid labels.
#[allow(clippy::unwrap_used, reason = "a dash is a label")]
fn unnamed() -> Label {
    Label::new("-").unwrap()
}

fn record(event: &Event, issued: Option<&Issued>) -> StepRecord {
    let at = event.at();
    let who = issued.map_or("engine", |issued| issued.who.as_str());
    let mut record = match event {
        Event::Started { .. } => step("started", "the task began".to_owned(), at, StepLevel::Info, who),
        Event::ModelReplied { reply, .. } => {
            let message = match reply.tool_calls.as_slice() {
                [] => short(&reply.text),
                calls => {
                    let names: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
                    format!("asks for {}", names.join(", "))
                }
            };
            step("model", message, at, StepLevel::Info, who)
        }
        Event::ModelFailed { message, .. } => step("model", short(message), at, StepLevel::Error, who),
        Event::ToolEnded { outcome, .. } => tool(outcome, issued, at, who),
        Event::TimerFired { .. } => step("timer", "a wait is over".to_owned(), at, StepLevel::Info, who),
        Event::HumanDecided { action, message, by, .. } => {
            let text = format!("{by} decided: {action:?} {message}");
            step("human", short(text.trim()), at, StepLevel::Info, who)
        }
        Event::SubEnded { summary, .. } => {
            let (level, text) = match summary {
                Ok(text) => (StepLevel::Info, text),
                Err(text) => (StepLevel::Error, text),
            };
            step("sub_agent", short(text), at, level, who)
        }
        Event::Signalled { name, by, .. } => {
            step("signal", format!("{by} sent the signal {name}"), at, StepLevel::Info, who)
        }
        Event::CancelRequested { by, .. } => {
            step("cancel", format!("{by} wants it to stop"), at, StepLevel::Warning, who)
        }
        Event::Refused { reason, .. } => step("refused", reason.clone(), at, StepLevel::Error, who),
        Event::Recovered { in_flight, .. } => {
            let message = format!("another process took over; {} effects had no receipt", in_flight.len());
            step("recovered", message, at, StepLevel::Warning, who)
        }
    };
    record.duration_ms = issued.map_or(0, |issued| at.millis_since(issued.at));
    record
}

fn tool(outcome: &ToolOutcome, issued: Option<&Issued>, at: Timestamp, who: &str) -> StepRecord {
    let (level, result, error): (_, Option<Value>, Option<String>) = match outcome {
        ToolOutcome::Success { output, .. } | ToolOutcome::Found { output, .. } => {
            (StepLevel::Info, Some(output.clone()), None)
        }
        ToolOutcome::Failed { message, .. } => (StepLevel::Error, None, Some(message.clone())),
        ToolOutcome::TimedOut => (StepLevel::Error, None, Some("did not answer in time".to_owned())),
        ToolOutcome::Unknown => (StepLevel::Error, None, Some("nobody knows what came of it".to_owned())),
        ToolOutcome::Denied { message } => (StepLevel::Warning, None, Some(message.clone())),
        ToolOutcome::ApprovalNeeded { reason, .. } => (StepLevel::Warning, None, Some(reason.clone())),
    };
    let mut record = step("tool", String::new(), at, level, who);
    if let Some(Issued {
        effect: Effect::CallTool { tool, server, arguments, attempt, .. }, at: begun, ..
    }) = issued
    {
        let end = error.as_deref().map_or_else(|| "answered".to_owned(), short);
        let again = if *attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
        record.message = format!("{tool}{again}: {end}");
        record.tool_calls.push(ToolCallRecord {
            server: server.clone(),
            tool: tool.clone(),
            arguments: arguments.clone(),
            result,
            error,
            duration_ms: at.millis_since(*begun),
        });
    }
    record
}

/// Adds an effect to the trace.
fn note(log: &mut TraceLog, effect: &Effect, at: Timestamp) {
    match effect {
        Effect::StartSub { task_id, agent, .. } | Effect::StartWorkflow { task_id, workflow: agent, .. } => {
            let session_id = SessionId(task_id.0);
            let info = SubAgentSessionInfo {
                session_id,
                agent: agent.clone(),
                message_count: 0,
                status: SubAgentStatus::Running,
            };
            log.sub_agent_sessions.entry(session_id).or_insert(info);
        }
        Effect::AskHuman { question, .. } => {
            let message = format!("waits for a person: {}", short(&question.text));
            log.steps.push(step("paused", message, at, StepLevel::Warning, question.node.as_str()));
        }
        Effect::Finish { .. } => {
            log.steps.push(step("completed", "the task is done".to_owned(), at, StepLevel::Info, "engine"));
        }
        Effect::Fail { code, message } => {
            log.steps.push(step("failed", format!("{code}: {message}"), at, StepLevel::Error, "engine"));
        }
        Effect::Rejected { message } => {
            log.steps.push(step("rejected", message.clone(), at, StepLevel::Warning, "engine"));
        }
        Effect::AwaitSignal { name, node, .. } => {
            let message = format!("waits for the signal {name}");
            log.steps.push(step("paused", message, at, StepLevel::Info, node.as_str()));
        }
        Effect::Cancelled { by } => {
            let message = format!("called off by {by}");
            log.steps.push(step("cancelled", message, at, StepLevel::Warning, "engine"));
        }
        _ => {}
    }
}

fn short(text: &str) -> String {
    let line = text.replace(['\n', '\r'], " ");
    if line.chars().count() > 200 { line.chars().take(199).chain(['…']).collect() } else { line }
}

/// A trace for a terminal: bars show the share of time, marks show failures.
#[must_use]
pub fn glance(log: &TraceLog) -> String {
    let longest = log.steps.iter().map(|step| step.duration_ms).max().unwrap_or_default().max(1);
    let mut out = String::new();
    for record in &log.steps {
        let width = usize::try_from(record.duration_ms * 20 / longest).unwrap_or(20);
        let mark = match record.status {
            StepLevel::Info => ' ',
            StepLevel::Warning => '!',
            StepLevel::Error => 'x',
        };
        let since = record.timestamp.millis_since(log.created_at);
        let _ = writeln!(
            out,
            "{since:>9} ms {mark} {:<20} {:>8} ms  {} {}: {}",
            "█".repeat(width),
            record.duration_ms,
            record.agent,
            record.step_name,
            record.message
        );
    }
    out
}
