//! Recovery of questions, chat turns and approved calls whose process stopped: another process
//! answers them, or ends them with the reason.
//!
//! Invariants
//! - The lease is taken before the task is read: a process that still works on it cannot write.
//! - A question only reads, so it is answered again. A turn may have changed something, so it is
//!   ended, and the conversation lists what was done and what is unknown. An approved call may have
//!   had its effect, so it is never repeated.

use super::log::{self, Log};
use super::{Ran, RunStatus, Runner};
use crate::ask::{AppContext, Record, StoredQuestion};
use crate::error::{Error, Result};
use crate::journal_writer::{JournalWriter, LeaseConflict, LeaseHolder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use steward_domain::{
    Check as _, Checkpoint, Conversation, ConversationId, ConversationStatus, DomainName, Task, TaskId,
    TaskStatus, Valid,
};
use steward_engine::{NodeStatus, Root};
use steward_journal::redact::Redactor;
use steward_store::{Change, Commit, Lease, Page, Scope, TaskFilter};

/// A turn as it is stored while it runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredTurn {
    pub(crate) said: String,
    pub(crate) conversation: ConversationId,
}

/// The subject of a task that is not a run.
pub(super) enum Subject {
    Question(Box<StoredQuestion>),
    Turn(StoredTurn),
    /// A validation of a message, without changes or an answer.
    Check,
    /// An approved call of this tool.
    Call(String),
}

/// The subject in the first row of a task; `None` for a run.
pub(super) fn subject(rows: &[Valid<Checkpoint>]) -> Option<Subject> {
    let metadata = &rows.first()?.state.metadata;
    let read = |name: &str| metadata.get(name).cloned();
    if let Some(question) = read("question") {
        return serde_json::from_value(question).ok().map(|stored| Subject::Question(Box::new(stored)));
    }
    if let Some(turn) = read("turn") {
        return serde_json::from_value(turn).ok().map(Subject::Turn);
    }
    if let (Some(Json::String(tool)), Some(_), None) = (read("tool"), read("digest"), read("effect")) {
        return Some(Subject::Call(tool));
    }
    read("check").map(|_| Subject::Check)
}

/// How a task is recovered.
pub(super) enum RecoveryAction {
    /// A question is answered; a turn is ended.
    Answer,
    /// It is ended with this reason.
    End(String),
    /// This user cancelled it.
    CalledOff(String),
}

/// The error of a task that is not resumed.
const CUT_OFF: &str = "it was cut off: the process that worked on it ended";

impl Ran {
    /// The status of a question or a turn, from its task.
    pub(super) fn of_task(task: &Task) -> Self {
        let standing = match task.status {
            TaskStatus::Completed => RunStatus::Completed(task.result.clone().into()),
            TaskStatus::Failed => RunStatus::Failed(task.error.clone().unwrap_or_default()),
            TaskStatus::Cancelled => RunStatus::Cancelled(String::new()),
            TaskStatus::Rejected => RunStatus::Rejected(task.error.clone().unwrap_or_default()),
            TaskStatus::Pending | TaskStatus::Running | TaskStatus::Paused => RunStatus::Waiting,
        };
        Self { task: task.id, standing, steps: 0, parent: None, awaited: None, page: None }
    }
}

impl Runner {
    /// Recovers a question or a turn whose lease is held.
    pub(super) async fn take_up(
        &self,
        lease: Option<Lease>,
        task: Valid<Task>,
        rows: Vec<Valid<Checkpoint>>,
        subject: Subject,
        cancelled: Option<String>,
    ) -> Result<Ran> {
        let how = match (cancelled, self.toolbox.callers().now(&task.user_id)) {
            (Some(by), _) => RecoveryAction::CalledOff(by),
            (None, Err(error)) => RecoveryAction::End(error.to_string()),
            (None, Ok(_)) => RecoveryAction::Answer,
        };
        let taken = Taken { context: self.app(), holder: self.holder.clone(), lease, task, rows };
        taken.go_on(subject, how).await
    }
}

impl Runner {
    /// Forks a question: it is asked again in its conversation, because the rows of its steps are
    /// not stored. A turn cannot be forked; the user has to repeat it.
    pub(super) async fn fork_question(&self, task: TaskId, subject: Subject) -> Result<Ran> {
        let Subject::Question(stored) = subject else { return Err(Error::NotARun(task.to_string())) };
        self.toolbox.callers().now(&stored.ask.user)?;
        let answer = self.app().ask(&stored.ask, &|_| {}).await?;
        let standing = match answer.response.error {
            Some(why) => RunStatus::Failed(why),
            None => RunStatus::Completed(answer.answer.into()),
        };
        Ok(Ran {
            task: answer.response.request_id,
            standing,
            steps: 0,
            parent: None,
            awaited: None,
            page: None,
        })
    }
}

/// An interrupted task that this process holds.
struct Taken<'a> {
    context: &'a AppContext,
    holder: LeaseHolder,
    lease: Option<Lease>,
    task: Valid<Task>,
    rows: Vec<Valid<Checkpoint>>,
}

impl Taken<'_> {
    async fn go_on(self, subject: Subject, how: RecoveryAction) -> Result<Ran> {
        let Self { context, holder, lease, task, rows } = self;
        let id = task.id;
        let takeovers = rows.iter().filter(|row| row.position.as_str() == log::TAKEOVER_POSITION).count();
        let writer = JournalWriter::new(context.store.clone(), task.user_id.clone(), id.into(), lease);
        let sequence = rows.last().map_or(0, |row| row.sequence + 1);
        let agent = task.assigned_agent.clone();
        let mut log = Log {
            app: context.clone(),
            journal_writer: Arc::new(writer),
            task: task.clone(),
            sequence,
            agent,
        };
        // A pending task starts; it was not interrupted.
        if log.task.status == TaskStatus::Pending {
            log.resume()?;
        } else {
            log.take_up(&holder)?;
        }
        log.journal_writer.write().await?;
        let mut record = Record::over(context, log, holder);
        let standing = match (subject, how) {
            (_, RecoveryAction::CalledOff(by)) => {
                record.log.call_off(&by)?;
                record.flush().await?;
                RunStatus::Cancelled(by)
            }
            (Subject::Question(stored), how) => {
                let obstacle = match how {
                    RecoveryAction::End(why) => Some(why),
                    _ => stored.obstacle(takeovers).map(|why| format!("{CUT_OFF}; {why}. Ask it again")),
                };
                match obstacle {
                    Some(why) => {
                        context.fail_question(record, &why).await?;
                        RunStatus::Failed(why)
                    }
                    None => match Box::pin(context.resume_question(&stored, record)).await? {
                        Ok(answer) => RunStatus::Completed(answer.into()),
                        Err(why) => RunStatus::Failed(why),
                    },
                }
            }
            (Subject::Turn(turn), how) => {
                let why = match how {
                    RecoveryAction::End(why) => why,
                    _ => CUT_OFF.to_owned(),
                };
                end_turn(context, &mut record, &turn, progress(task, rows), why).await?
            }
            (Subject::Call(tool), _) => {
                let why = format!(
                    "{CUT_OFF} while {tool} was called. It is not known what came of it, and it is not \
                        repeated. Look before you ask for it again"
                );
                record.end(Err(why.clone())).await?;
                RunStatus::Failed(why)
            }
            (Subject::Check, _) => {
                record.end(Err(CUT_OFF.to_owned())).await?;
                RunStatus::Failed(CUT_OFF.to_owned())
            }
        };
        Ok(Ran { task: id, standing, steps: 0, parent: None, awaited: None, page: None })
    }
}

/// The steps of a turn: those that are done, and those that started and have no result.
fn progress(task: Valid<Task>, rows: Vec<Valid<Checkpoint>>) -> (Vec<String>, Vec<String>) {
    let (mut done, mut open) = (Vec::new(), Vec::new());
    let Ok(stored) = log::read(task, rows) else { return (done, open) };
    let state = steward_engine::fold(&stored.program, &stored.events);
    let Root::Plan(plan) = &stored.program.definition().root else { return (done, open) };
    for step in &plan.subtasks {
        match state.node(&stored.program, step.task_id.as_str()).map(|node| node.status) {
            Some(NodeStatus::Done) => done.push(step.description.clone()),
            Some(NodeStatus::Running | NodeStatus::Asking) => open.push(step.description.clone()),
            _ => {}
        }
    }
    (done, open)
}

/// Ends a turn: the conversation lists what was done and what is unknown.
async fn end_turn(
    context: &AppContext,
    record: &mut Record,
    turn: &StoredTurn,
    (done, open): (Vec<String>, Vec<String>),
    why: String,
) -> Result<RunStatus> {
    if let Some(answer) = context.answered(record, turn.conversation).await? {
        record.end(Ok(answer.clone())).await?;
        return Ok(RunStatus::Completed(answer.into()));
    }
    let mut text = format!("I could not finish this: {why}.");
    if !done.is_empty() {
        text.push_str(&format!(" Done before that: {}.", done.join(", ")));
    }
    if !open.is_empty() {
        let open = open.join(", ");
        text.push_str(&format!(" It is not known what came of: {open}. Look before you ask for it again."));
    }
    if done.is_empty() && open.is_empty() {
        text.push_str(" Nothing was changed. Say it again if you still want it.");
    }
    let mut metadata = Map::new();
    metadata.insert("request_id".into(), json!(record.task));
    metadata.insert("outcome".into(), json!("failed"));
    let answer = (text, metadata, Vec::new());
    let (entries, messages) =
        record.exchange(turn.conversation, "orchestrator", turn.said.clone(), answer)?;
    let mut changes = Vec::new();
    let scope = Scope::User(record.user.clone());
    if context.store.conversation(&scope, turn.conversation).await?.is_none() {
        let now = context.clock.now();
        let conversation = Conversation {
            id: turn.conversation,
            user_id: record.user.clone(),
            application_domain: DomainName::new("generic")?,
            created_at: now,
            updated_at: now,
            status: ConversationStatus::Active,
            metadata: Map::new(),
        };
        changes.push(Change::PutConversation(conversation.validate()?));
    }
    changes.extend(messages);
    record.converse(turn.conversation, entries, changes).await?;
    record.end(Err(why.clone())).await?;
    Ok(RunStatus::Failed(why))
}

/// The maximum number of tasks that are searched for interrupted ones.
const MOST: u32 = 1000;

/// The running tasks of a scope whose process on this machine has ended, with their leases.
async fn cut_off(context: &AppContext, scope: &Scope) -> Result<Vec<(Valid<Task>, Lease)>> {
    let filter = TaskFilter { status: Some(TaskStatus::Running) };
    let mut found = Vec::new();
    for task in context.store.tasks(scope, filter, Page::first(MOST)).await? {
        if let Some(lease) = context.store.lease(task.id).await?
            && LeaseHolder::is_gone(&lease.worker)
        {
            found.push((task, lease));
        }
    }
    Ok(found)
}

/// Ends the questions and turns of stopped processes of this machine, with the reason. Returns
/// their ids. Runs are left to a worker.
pub async fn end_interrupted(context: &AppContext, scope: &Scope) -> Result<Vec<TaskId>> {
    let mut ended = Vec::new();
    for (task, _) in cut_off(context, scope).await? {
        let user = Scope::User(task.user_id.clone());
        let rows = context.store.checkpoints(&user, task.id).await?;
        let Some(subject) = subject(&rows) else { continue };
        let holder = LeaseHolder::this_process(context)?.clone();
        let held = holder.hold(task.id, context.clock.now(), LeaseConflict::Anyhow);
        let commit = Commit::new(task.user_id.clone(), task.id).change(held);
        let lease = JournalWriter::write_once(&*context.store, &user, commit).await?.lease;
        let id = task.id;
        let taken = Taken { context, holder, lease, task, rows };
        Box::pin(taken.go_on(subject, RecoveryAction::End(format!("{CUT_OFF}. Ask it again")))).await?;
        ended.push(id);
    }
    Ok(ended)
}

/// Releases the tasks of stopped processes of this machine, so that a worker claims them at once.
pub(super) async fn release_interrupted(context: &AppContext) -> Result<()> {
    for (_, lease) in cut_off(context, &Scope::System).await? {
        match context.store.release(&lease, context.clock.now()).await {
            // Another process was faster.
            Ok(()) | Err(steward_store::Error::LeaseLost) => {}
            Err(error) => return Err(Error::from(error)),
        }
    }
    Ok(())
}

/// The subject of a turn, for its first row.
pub(crate) fn turn_subject(said: &str, conversation: ConversationId) -> Json {
    // The text is only shown if the turn is interrupted; it is never executed from here.
    let said = Redactor::shared().redact_secrets(said).into_owned();
    json!({ "turn": StoredTurn { said, conversation } })
}
