//! Approval results: the outcome of a call that waited for another person is reported in the
//! conversation that requested it.
//!
//! Invariant: each decision is reported once. The message names the task, and a named task is not
//! reported again. The message is written under the conversation's lock, so that concurrent readers
//! do not report it twice.

use super::ChatService;
use crate::error::Result;
use crate::journal_writer::JournalWriter;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use steward_domain::{
    ChainId, Content, ConversationId, EventType, HumanAction, Label, Message, MessageId, Role, Task, TaskId,
    TaskStatus, UserId,
};
use steward_engine::Event;
use steward_journal::Draft;
use steward_store::{Change, Commit, NewMessage, Scope};

/// The number of recent messages that are searched for waiting calls.
const WINDOW: u32 = 100;
/// The metadata key of a message for the call whose decision it reports.
pub(super) const DECIDED: &str = "decided";

impl ChatService {
    /// Reports all unreported decisions over calls of a conversation. Returns whether there was
    /// one.
    pub async fn report_decisions(&self, user: &UserId, id: ConversationId) -> Result<bool> {
        let lock = self.turn_of(id);
        let mine = lock.lock().await;
        let told = self.report_decided(user, id).await;
        drop(mine);
        self.forget_turn(Some(id));
        Ok(!told?.is_empty())
    }

    /// The same while the conversation's lock is held; returns the reported texts.
    pub(super) async fn report_decided(&self, user: &UserId, id: ConversationId) -> Result<Vec<String>> {
        let (store, scope) = (&self.app().store, Scope::User(user.clone()));
        let window = store.window(&scope, id, WINDOW).await?;
        let mut told = Vec::new();
        for task in open_calls(window.iter().map(|message| &**message)) {
            let Some(task) = store.task(&scope, task).await? else { continue };
            if !matches!(
                task.status,
                TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled | TaskStatus::Rejected
            ) {
                continue;
            }
            let entries = store.entries(&scope, ChainId::from(task.id), 0, 100).await?;
            let decided =
                entries.iter().rev().find(|entry| entry.entry.event_type == EventType::ApprovalDecided);
            let decision: Option<Json> =
                decided.and_then(|entry| serde_json::from_str(&entry.entry.event_data).ok());
            let decision = match decision {
                Some(decision) => decision,
                None => self.decided_in_run(&scope, task.id).await,
            };
            let text = told_of(&task, &decision);
            self.append(user, id, &task, text.clone()).await?;
            told.push(text);
        }
        Ok(told)
    }

    /// The last decision of a run, from its events.
    async fn decided_in_run(&self, scope: &Scope, task: TaskId) -> Json {
        let Ok((_, events)) = crate::run::history(&*self.app().store, scope, task).await else {
            return Json::Null;
        };
        let last = events.iter().rev().find_map(|event| match event {
            Event::HumanDecided { action, by, message, .. } => {
                let word = match action {
                    HumanAction::Approve | HumanAction::Modify => "approved",
                    HumanAction::Reject => "rejected",
                };
                Some(json!({ "decision": word, "by": by, "why": message }))
            }
            _ => None,
        });
        last.unwrap_or_default()
    }

    async fn append(&self, user: &UserId, id: ConversationId, task: &Task, text: String) -> Result<()> {
        let app = self.app();
        let now = app.clock.now();
        let mut metadata = Map::new();
        metadata.insert(DECIDED.into(), json!(task.id));
        metadata.insert("outcome".into(), json!(task.status));
        let message = NewMessage {
            id: MessageId(app.random.uuid_v7(now)?),
            conversation_id: id,
            role: Role::Agent,
            content: Content::new(text)?,
            timestamp: now,
            agent_type: Some(Label::new("approvals")?),
            tool_calls: Vec::new(),
            metadata,
        };
        let mut data = Map::new();
        data.insert("message_id".into(), json!(message.id));
        data.insert("role".into(), json!(message.role));
        data.insert("decided".into(), json!(task.id));
        let draft = Draft::new(EventType::MessageAppended, Label::new("runtime")?, data);
        let commit =
            Commit::new(user.clone(), ChainId::from(id)).entry(draft).change(Change::AppendMessage(message));
        JournalWriter::write_once(&*app.store, &Scope::User(user.clone()), commit).await?;
        Ok(())
    }
}

/// The waiting calls in the messages, without those whose decision was reported.
fn open_calls<'a>(messages: impl Iterator<Item = &'a Message>) -> BTreeSet<TaskId> {
    let mut waiting: BTreeSet<TaskId> = BTreeSet::new();
    let mut told: BTreeSet<TaskId> = BTreeSet::new();
    for message in messages {
        let read = |value: &Json| serde_json::from_value::<TaskId>(value.clone()).ok();
        let calls = message.metadata.get("waiting").and_then(Json::as_array);
        waiting.extend(calls.into_iter().flatten().filter_map(read));
        told.extend(message.metadata.get(DECIDED).and_then(read));
    }
    waiting.difference(&told).copied().collect()
}

/// The result of a task as text.
fn result_of(task: &Task) -> Option<String> {
    let result = task.result.as_deref().map(str::trim).filter(|result| !result.is_empty())?;
    let told = steward_language::answer::tell(None, None, result).text;
    (!told.trim().is_empty()).then_some(told)
}

/// The report of a decision: who decided what and why, and the outcome.
fn told_of(task: &Task, decision: &Json) -> String {
    let text = |name: &str| decision.get(name).and_then(Json::as_str).filter(|text| !text.trim().is_empty());
    let call = task.description.as_str();
    let by = text("by").map(|by| format!(" by {by}")).unwrap_or_default();
    let why = text("why").map(|why| format!(": {why}")).unwrap_or_default();
    let approved = text("decision") == Some("approved");
    match (approved, task.status) {
        (true, TaskStatus::Completed) => {
            let told = result_of(task).unwrap_or_else(|| "It was done.".to_owned());
            format!("“{call}” was approved{by}{why}. {told}")
        }
        // A run that continues after a rejection has its own result.
        (false, TaskStatus::Completed) if text("decision").is_some() => {
            let told = result_of(task).unwrap_or_else(|| "It was not done.".to_owned());
            format!("“{call}” was not approved{by}{why}. {told}")
        }
        (true, _) => {
            let doing = call.to_lowercase();
            let humane =
                steward_language::skill::humanise(task.error.as_deref().unwrap_or_default(), Some(&doing));
            format!("“{call}” was approved{by}{why}. {} {}", humane.message, humane.next)
        }
        (false, _) => format!("“{call}” was not approved{by}{why}. Nothing was done."),
    }
}
