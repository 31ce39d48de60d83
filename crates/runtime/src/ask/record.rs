//! The record of a question or a chat turn: its task, its journal, its messages.
//!
//! Invariants
//! - The task is written and leased by this process before any data is read for it. So an
//!   interrupted task is found and resumed, or ended with the reason.
//! - Entries are collected by the task's [`JournalWriter`] and written in few commits: before
//!   anything is visible from outside, and at the end.

use crate::error::Result;
use crate::journal_writer::{JournalWriter, LeaseHolder};
use crate::run::Log;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use steward_domain::{
    AgentName, AnalysisRequest, CallId, ChainId, Check as _, Content, ConversationId, Description, EventType,
    Label, MessageId, RequestStatus, Role, States as _, Task, TaskId, ToolCall, UserId, Valid,
};
use steward_journal::Draft;
use steward_store::{Change, Commit, NewMessage, Scope};
use tokio::task::JoinSet;
use uuid::Uuid;

/// The data that opens a task.
pub(crate) struct Opening<'a> {
    pub(crate) user: UserId,
    /// The parent task.
    pub(crate) parent: Option<TaskId>,
    /// The user's text.
    pub(crate) said: &'a str,
    pub(crate) agent: &'a str,
    /// The data that another process needs to resume it, keyed by its kind.
    pub(crate) subject: Json,
    /// The data of the first entry.
    pub(crate) data: Json,
}

/// The record of one question or turn.
pub(crate) struct Record {
    context: super::AppContext,
    pub(crate) user: UserId,
    pub(crate) task: TaskId,
    pub(crate) log: Log,
    /// The current request, once it was submitted.
    request: Option<Valid<AnalysisRequest>>,
    /// Renews the lease while the record exists.
    heartbeat: JoinSet<()>,
}

impl Record {
    /// Opens the task. It is stored when this returns, so it survives this process.
    pub(crate) async fn open(context: &super::AppContext, opening: Opening<'_>) -> Result<Self> {
        let now = context.clock.now();
        let id = TaskId(context.random.uuid_v7(now)?);
        let words: String = opening.said.chars().take(1000).collect();
        let agent = AgentName::new(opening.agent)?;
        let task = Task {
            parent_task_id: opening.parent,
            ..Task::running(id, opening.user.clone(), Description::new(words)?, agent.clone(), now)
        };
        let writer = JournalWriter::new(context.store.clone(), opening.user.clone(), id.into(), None);
        let holder = LeaseHolder::this_process(context)?;
        let mut log = Log {
            app: context.clone(),
            journal_writer: Arc::new(writer),
            task: task.validate()?,
            sequence: 0,
            agent,
        };
        let mut personal = Map::new();
        personal.insert("intent".to_owned(), opening.said.into());
        log.open(opening.subject, opening.data, personal, holder)?;
        log.journal_writer.write().await?;
        Ok(Self::over(context, log, holder.clone()))
    }

    /// The record of a resumed task: the log's writer holds its lease.
    pub(crate) fn over(context: &super::AppContext, log: Log, holder: LeaseHolder) -> Self {
        let (user, task) = (log.task.user_id.clone(), log.task.id);
        let mut heartbeat = JoinSet::new();
        let (writer, clock) = (log.journal_writer.clone(), context.clock.clone());
        heartbeat.spawn(async move {
            loop {
                tokio::time::sleep(holder.lease / 3).await;
                // A lost lease fails the next write; an unavailable store may recover.
                let _fails_next_write = writer.renew(holder.until(clock.now())).await;
            }
        });
        Self { context: context.clone(), user, task, log, request: None, heartbeat }
    }

    /// The journal writer for its calls.
    pub(crate) fn writer(&self) -> &Arc<JournalWriter> {
        &self.log.journal_writer
    }

    pub(crate) fn id(&self) -> Result<Uuid> {
        Ok(self.context.random.uuid_v7(self.now())?)
    }

    /// Adds an entry; the next [`Record::flush`] writes it.
    pub(crate) fn note(&self, event: EventType, actor: &str, data: Json) -> Result<()> {
        self.note_personal(event, actor, data, Map::new())
    }

    /// Adds an entry with personal data, which is stored by salted hash and can be erased.
    pub(crate) fn note_personal(
        &self,
        event: EventType,
        actor: &str,
        data: Json,
        personal: Map<String, Json>,
    ) -> Result<()> {
        self.log.journal_writer.entry(event, actor, data, personal)
    }

    /// Adds a change of state to the next commit.
    pub(crate) fn change(&self, change: Change) {
        self.log.journal_writer.note([], [change]);
    }

    /// Writes all pending entries and changes in one transaction.
    pub(crate) async fn flush(&self) -> Result<()> {
        Ok(self.log.journal_writer.flush().await?)
    }

    /// Stores the request of a question.
    pub(crate) fn submit(&mut self, request: AnalysisRequest) -> Result<()> {
        let request = request.validate()?;
        self.change(Change::PutRequest(request.clone()));
        self.request = Some(request);
        Ok(())
    }

    /// Sets the request of a resumed task.
    pub(crate) fn set_request(&mut self, request: Option<Valid<AnalysisRequest>>) {
        self.request = request;
    }

    /// Sets the status of the request.
    pub(crate) fn advance(&mut self, status: RequestStatus) -> Result<()> {
        if let Some(request) = self.request.take() {
            let request = request.with(|request| request.status = status)?;
            self.change(Change::PutRequest(request.clone()));
            self.request = Some(request);
        }
        Ok(())
    }

    /// Ends the request and its task.
    pub(crate) async fn finish(
        &mut self,
        status: RequestStatus,
        outcome: std::result::Result<String, String>,
    ) -> Result<()> {
        self.advance(status)?;
        self.end(outcome).await
    }

    /// Ends the task and writes everything.
    pub(crate) async fn end(&mut self, outcome: std::result::Result<String, String>) -> Result<()> {
        self.log.close(outcome)?;
        self.heartbeat.abort_all();
        self.flush().await
    }

    /// Ends the task as cancelled by a user.
    pub(crate) async fn call_off(&mut self, by: &str) -> Result<()> {
        self.log.call_off(by)?;
        self.heartbeat.abort_all();
        self.flush().await
    }

    /// A question and its answer as messages, with their entries.
    pub(crate) fn exchange(
        &self,
        conversation: ConversationId,
        agent: &str,
        said: String,
        answer: (String, Map<String, Json>, Vec<ToolCall>),
    ) -> Result<(Vec<Draft>, Vec<Change>)> {
        let now = self.now();
        let (content, metadata, tool_calls) = answer;
        let mut messages = Vec::new();
        for (role, content, metadata, tool_calls) in
            [(Role::User, said, Map::new(), Vec::new()), (Role::Agent, content, metadata, tool_calls)]
        {
            messages.push(NewMessage {
                id: MessageId(self.id()?),
                conversation_id: conversation,
                role,
                content: Content::new(content)?,
                timestamp: now,
                agent_type: if role == Role::Agent { Some(Label::new(agent)?) } else { None },
                tool_calls,
                metadata,
            });
        }
        let entry = |message: &NewMessage| -> Result<Draft> {
            let mut data = Map::new();
            data.insert("message_id".into(), json!(message.id));
            data.insert("role".into(), json!(message.role));
            data.insert("request_id".into(), json!(self.task));
            Ok(Draft::new(EventType::MessageAppended, Label::new("runtime")?, data))
        };
        let entries = messages.iter().map(entry).collect::<Result<_>>()?;
        Ok((entries, messages.into_iter().map(Change::AppendMessage).collect()))
    }

    /// Writes a commit on the conversation's own chain.
    pub(crate) async fn converse(
        &self,
        conversation: ConversationId,
        entries: Vec<Draft>,
        changes: Vec<Change>,
    ) -> Result<()> {
        let mut commit = Commit::new(self.user.clone(), ChainId::from(conversation));
        (commit.entries, commit.changes) = (entries, changes);
        JournalWriter::write_once(&*self.context.store, &Scope::User(self.user.clone()), commit).await?;
        Ok(())
    }

    pub(crate) fn call_id(&self) -> Result<CallId> {
        Ok(CallId(self.id()?))
    }

    pub(crate) fn now(&self) -> steward_domain::Timestamp {
        self.context.clock.now()
    }

    pub(crate) fn elapsed(&self) -> std::time::Duration {
        self.context.clock.monotonic()
    }
}

/// A record that is dropped early ends its task: the caller has gone and the work has stopped.
impl Drop for Record {
    fn drop(&mut self) {
        self.heartbeat.abort_all();
        if self.log.task.status.is_final() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        if self.log.close(Err("it was called off before its end".to_owned())).is_ok() {
            let writer = self.log.journal_writer.clone();
            self.heartbeat.spawn(async move {
                let _or_lease_expires = writer.flush().await;
            });
            self.heartbeat.detach_all();
        }
    }
}
