//! The trace of a task, derived from its journal: steps, calls with their results, sub-agents.

use crate::error::Result;
use crate::interface::Store;
use crate::query::Scope;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use steward_domain::{
    Check, EventType, Label, StepLevel, StepRecord, SubAgentSessionInfo, TaskId, Timestamp, ToolCallRecord,
    ToolName, TraceLog, Valid,
};
use steward_journal::Sealed;

/// Entries read at a time.
const PAGE: u32 = 1000;

/// The trace of a task; none if the scope can see no journal for it.
pub async fn trace(store: &dyn Store, scope: &Scope, id: TaskId) -> Result<Option<Valid<TraceLog>>> {
    let mut steps = Steps::default();
    let mut read = 0;
    loop {
        let page = store.entries(scope, id.into(), read, PAGE).await?;
        let Some(last) = page.last() else { break };
        read = last.entry.sequence;
        for found in &page {
            steps.take(&found.entry)?;
        }
    }
    let (Some(first), Some(last)) = (steps.first, steps.last) else { return Ok(None) };
    let mut sessions = BTreeMap::new();
    for session in store.sessions(scope, id).await? {
        let info = SubAgentSessionInfo {
            session_id: session.session_id,
            agent: session.agent_name.clone(),
            message_count: session.message_history.len() as u64,
            status: session.status,
        };
        sessions.insert(session.session_id, info);
    }
    let log = TraceLog {
        task_id: id,
        steps: steps.records,
        sub_agent_sessions: sessions,
        created_at: first,
        updated_at: last,
    };
    Ok(Some(log.validate()?))
}

#[derive(Default)]
struct Steps {
    records: Vec<StepRecord>,
    /// Calls without an observation yet: their step and when they were made.
    open: HashMap<String, (usize, Timestamp)>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Steps {
    fn take(&mut self, entry: &Sealed) -> Result<()> {
        let data: Map<String, Value> = serde_json::from_str(&entry.event_data)?;
        self.first.get_or_insert(entry.timestamp);
        self.last = Some(entry.timestamp);
        let call_id = data.get("call_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        if entry.event_type == EventType::ObservationRecorded && self.close(&call_id, &data, entry.timestamp)
        {
            return Ok(());
        }
        let mut record = StepRecord {
            step_name: Label::new(entry.event_type.name())?,
            message: summary(&data),
            timestamp: entry.timestamp,
            status: level(entry.event_type, &data),
            agent: Label::new(entry.actor.clone())?,
            tool_calls: Vec::new(),
            duration_ms: data.get("duration_ms").and_then(Value::as_u64).unwrap_or(0),
        };
        if entry.event_type == EventType::ToolCalled {
            record.tool_calls.extend(call(&data));
            if let Some(call) = record.tool_calls.first() {
                record.message = format!("{} {}", call.tool, Value::Object(call.arguments.clone()));
            }
            self.open.insert(call_id, (self.records.len(), entry.timestamp));
        }
        self.records.push(record);
        Ok(())
    }

    /// Joins an observation with its call; false if there is no such call.
    fn close(&mut self, call_id: &str, data: &Map<String, Value>, now: Timestamp) -> bool {
        let Some((place, made)) = self.open.remove(call_id) else { return false };
        let Some(record) = self.records.get_mut(place) else { return false };
        record.duration_ms = now.millis_since(made);
        record.status = level(EventType::ObservationRecorded, data);
        if let Some(call) = record.tool_calls.first_mut() {
            call.duration_ms = record.duration_ms;
            call.result = data.get("data").cloned();
            call.error = data.get("error_message").and_then(Value::as_str).map(str::to_owned);
            if record.status != StepLevel::Info {
                record.message.push_str(&format!(": {}", call.error.as_deref().unwrap_or("no answer")));
            }
        }
        true
    }
}

fn call(data: &Map<String, Value>) -> Option<ToolCallRecord> {
    let text = |name: &str| data.get(name).and_then(Value::as_str);
    Some(ToolCallRecord {
        server: text("server").and_then(|server| server.parse().ok()),
        tool: ToolName::new(text("tool_name")?).ok()?,
        arguments: data.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default(),
        result: None,
        error: None,
        duration_ms: 0,
    })
}

/// The severity of an outcome or a decision.
fn level(event: EventType, data: &Map<String, Value>) -> StepLevel {
    let word = ["status", "decision", "outcome"]
        .iter()
        .find_map(|name| data.get(*name)?.as_str())
        .unwrap_or_default();
    match (event, word) {
        (_, "error" | "failed" | "failure" | "timeout" | "resource_limit" | "deny" | "denied" | "reject") => {
            StepLevel::Error
        }
        (_, "unknown" | "cancelled" | "partial" | "partial_success" | "ask") => StepLevel::Warning,
        _ => StepLevel::Info,
    }
}

/// The members on one line; payload references are shown as such.
fn summary(data: &Map<String, Value>) -> String {
    let member = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        Value::Object(object) if object.contains_key("payload_id") => format!("{name}: (kept aside)"),
        other => format!("{name}: {other}"),
    };
    data.iter().map(member).collect::<Vec<_>>().join(", ")
}
