//! What a question leaves behind: its task, its journal, its messages. Entries are gathered and written in few commits:
//! before anything can be seen from outside, and at the end.

use crate::error::Result;
use serde_json::{Map, Value as Json, json};
use steward_domain::{
    AnalysisRequest, CallId, ChainId, Check as _, Content, ConversationId, EventType, Label, MessageId,
    RequestStatus, Role, Task, TaskId, TaskStatus, ToolCall, UserId, Valid,
};
use steward_journal::Draft;
use steward_journal::clock::Clock;
use steward_journal::random::Random;
use steward_store::{Change, Commit, NewMessage, Scope, Store};
use uuid::Uuid;

/// The pen of one request.
pub(crate) struct Record<'a> {
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    random: &'a dyn Random,
    user: UserId,
    pub(crate) task: TaskId,
    waiting: Commit,
    /// The request as it stands, once it was submitted.
    request: Option<Valid<AnalysisRequest>>,
}

impl<'a> Record<'a> {
    pub(crate) fn new(house: &'a super::AppContext, user: UserId) -> Result<Self> {
        let task = TaskId(house.random.uuid_v7(house.clock.now())?);
        let (store, clock, random) = (&*house.store, &*house.clock, &*house.random);
        Ok(Self { store, clock, random, waiting: Commit::new(user.clone(), task), user, task, request: None })
    }

    pub(crate) fn id(&self) -> Result<Uuid> {
        Ok(self.random.uuid_v7(self.clock.now())?)
    }

    /// Notes what happened; it is written with the next [`Record::flush`].
    pub(crate) fn note(&mut self, event: EventType, actor: &str, data: Json) -> Result<()> {
        self.note_personal(event, actor, data, Map::new())
    }

    /// Notes what happened, with particulars that enter by salted hash and can be erased.
    pub(crate) fn note_personal(
        &mut self,
        event: EventType,
        actor: &str,
        data: Json,
        personal: Map<String, Json>,
    ) -> Result<()> {
        let Json::Object(data) = data else { return Ok(()) };
        let mut draft = Draft::new(event, Label::new(actor)?, data);
        draft.personal = personal;
        self.waiting.entries.push(draft);
        Ok(())
    }

    /// Adds a change of state to the next commit.
    pub(crate) fn change(&mut self, change: Change) {
        self.waiting.changes.push(change);
    }

    /// Writes everything that waits, in one transaction.
    pub(crate) async fn flush(&mut self) -> Result<()> {
        if self.waiting.entries.is_empty() && self.waiting.changes.is_empty() {
            return Ok(());
        }
        let next = Commit::new(self.user.clone(), self.task);
        let commit = std::mem::replace(&mut self.waiting, next);
        self.store.commit(&Scope::User(self.user.clone()), commit).await?;
        Ok(())
    }

    /// Takes the request: it is a task from now on, and running.
    pub(crate) fn submit(&mut self, request: AnalysisRequest) -> Result<()> {
        let now = self.clock.now();
        let request = request.validate()?;
        let description = steward_domain::Description::new(request.intent.as_str())?;
        let agent = steward_domain::AgentName::new("analyst")?;
        let task = Task::running(self.task, self.user.clone(), description, agent, now);
        let mut personal = Map::new();
        personal.insert("intent".to_owned(), request.intent.as_str().into());
        let sources: Vec<Json> = request.data_sources.iter().map(|source| json!(source)).collect();
        let data = json!({ "data_sources": sources, "constraints": request.constraints, "policy": request.policy, "deliverables": request.deliverables });
        self.note_personal(EventType::RequestSubmitted, "runtime", data, personal)?;
        self.change(Change::PutTask(task.validate()?));
        self.change(Change::PutRequest(request.clone()));
        self.request = Some(request);
        Ok(())
    }

    /// Takes what was said: it is a task from now on, and running.
    pub(crate) fn begin(&mut self, said: &str, agent: &str) -> Result<()> {
        let words: String = said.chars().take(1000).collect();
        let agent = steward_domain::AgentName::new(agent)?;
        let description = steward_domain::Description::new(words)?;
        let task = Task::running(self.task, self.user.clone(), description, agent, self.clock.now());
        let mut personal = Map::new();
        personal.insert("intent".to_owned(), said.into());
        self.note_personal(
            EventType::RequestSubmitted,
            "runtime",
            json!({ "from": "conversation" }),
            personal,
        )?;
        self.change(Change::PutTask(task.validate()?));
        Ok(())
    }

    /// Moves the request along its life.
    pub(crate) fn advance(&mut self, status: RequestStatus) -> Result<()> {
        if let Some(request) = self.request.take() {
            let request = request.with(|request| request.status = status)?;
            self.change(Change::PutRequest(request.clone()));
            self.request = Some(request);
        }
        Ok(())
    }

    /// Ends the request with its task.
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
        let now = self.clock.now();
        let scope = Scope::User(self.user.clone());
        let known = match self.store.task(&scope, self.task).await? {
            Some(task) => Some(task),
            // Nothing was flushed yet: the task still waits in this commit.
            None => self.waiting.changes.iter().find_map(|change| match change {
                Change::PutTask(task) => Some(task.clone()),
                _ => None,
            }),
        };
        if let Some(task) = known {
            let task = task.with(|task| {
                task.completed_at = Some(now);
                match outcome {
                    Ok(result) => (task.status, task.result) = (TaskStatus::Completed, Some(result)),
                    Err(error) => (task.status, task.error) = (TaskStatus::Failed, Some(error)),
                }
            })?;
            let name = if task.status == TaskStatus::Completed { "completed" } else { "failed" };
            self.note(EventType::TaskChanged, "runtime", json!({ "status": name }))?;
            self.change(Change::PutTask(task));
        }
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
        self.store.commit(&Scope::User(self.user.clone()), commit).await?;
        Ok(())
    }

    pub(crate) fn call_id(&self) -> Result<CallId> {
        Ok(CallId(self.id()?))
    }

    pub(crate) fn now(&self) -> steward_domain::Timestamp {
        self.clock.now()
    }

    pub(crate) fn elapsed(&self) -> std::time::Duration {
        self.clock.monotonic()
    }
}
