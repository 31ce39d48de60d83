//! Commits: the changes that can be written, and their common form.

use crate::queue::{Fence, Lease};
use std::borrow::Cow;
use std::collections::BTreeMap;
use steward_domain::{
    AgentExecution, AnalysisRequest, Artifact, CallId, ChainId, Checkpoint, Content, Conversation,
    ConversationId, ConversationStatus, Description, EntityId, EntityName, EntityRef, EntityType, Gate,
    JsonObject, Label, MessageId, ModelUsage, OnBehalf, PayloadId, Plan, Question, Recipe, RecipeId, Role,
    SavedItem, SavedKind, ScheduleId, ScheduleTick, Sha256Hex, SubAgentSession, Task, TaskId, Timestamp,
    ToolCall, ToolDefinition, ToolId, ToolInvocation, UserId, Valid,
};
use steward_journal::redact::Redactor;
use steward_journal::{Draft, Prepared, Sealed, prepare};
use uuid::Uuid;

/// Journal entries and the changes they record, written atomically.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The owner of the rows.
    pub owner: UserId,
    /// The chain the entries are appended to.
    pub chain: ChainId,
    /// The journal entries.
    pub entries: Vec<Draft>,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// The lease it is made under. If the lease is lost, the whole commit is refused.
    pub fence: Option<Fence>,
    /// What a successful result guarantees.
    pub durability: Durability,
}

/// What a successful commit guarantees. Commits keep their order in both modes: when a synced
/// commit returns, all earlier commits are on disk too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// It is on disk and survives a power failure.
    #[default]
    Synced,
    /// It is written: visible to all readers, and it survives the death of this process. The next
    /// synced commit takes it to the disk, or the store does within about a second. A power failure
    /// before that may lose it, but no commit that was synced after it. For data that nothing
    /// depends on before a later commit is synced, such as the intent of a read.
    WithNext,
}

impl Commit {
    /// A commit with no changes yet.
    pub fn new(owner: UserId, chain: impl Into<ChainId>) -> Self {
        let (entries, changes, durability) = Default::default();
        Self { owner, chain: chain.into(), entries, changes, fence: None, durability }
    }

    /// Adds an entry.
    #[must_use]
    pub fn entry(mut self, draft: Draft) -> Self {
        self.entries.push(draft);
        self
    }

    /// Adds a change.
    #[must_use]
    pub fn change(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }

    /// Makes the commit conditional on this lease.
    #[must_use]
    pub fn fenced(mut self, fence: Fence) -> Self {
        self.fence = Some(fence);
        self
    }

    /// Written at once, synced with the next commit: see [`Durability::WithNext`].
    #[must_use]
    pub fn with_next(mut self) -> Self {
        self.durability = Durability::WithNext;
        self
    }
}

/// The result of a commit.
#[derive(Debug, Clone, Default)]
pub struct Committed {
    /// The sealed entries.
    pub entries: Vec<Sealed>,
    /// The sequence numbers assigned to appended messages.
    pub sequence_numbers: BTreeMap<MessageId, u64>,
    /// The lease that a [`Change::Hold`] created.
    pub lease: Option<Lease>,
}

/// One change of state.
#[derive(Debug, Clone)]
pub enum Change {
    /// Inserts or updates a conversation.
    PutConversation(Valid<Conversation>),
    /// Changes the status of a conversation. `Deleted` also deletes its messages and entities.
    SetConversationStatus {
        /// The conversation.
        id: ConversationId,
        /// The new status.
        status: ConversationStatus,
        /// The time of the change.
        at: Timestamp,
    },
    /// Appends a message; the store assigns its sequence number.
    AppendMessage(NewMessage),
    /// Records that an entity was mentioned.
    MentionEntity(Mention),
    /// Records an agent run.
    PutExecution(Valid<AgentExecution>),
    /// Records a tool call.
    PutInvocation(Valid<ToolInvocation>),
    /// Inserts or updates a tool definition.
    PutTool(Valid<ToolDefinition>),
    /// Disables a tool; its history stays.
    RetireTool {
        /// The tool.
        id: ToolId,
        /// The time of the change.
        at: Timestamp,
    },
    /// Inserts or updates a recipe.
    PutRecipe(Valid<Recipe>),
    /// Counts a successful use of a recipe.
    UseRecipe {
        /// The recipe.
        id: RecipeId,
        /// The time of the use.
        at: Timestamp,
    },
    /// Deletes a recipe.
    DeleteRecipe {
        /// The recipe.
        id: RecipeId,
    },
    /// Inserts or updates a task.
    PutTask(Valid<Task>),
    /// Queues a task of the owner. A task that is already queued keeps its place; a task that is
    /// held loses its lease and is queued behind the others.
    Enqueue {
        /// The task.
        task: TaskId,
        /// The earliest time at which it may be claimed.
        ready_at: Timestamp,
    },
    /// Gives a worker the lease on a task, whether it is queued or not. Writes of the previous
    /// holder are refused from now on.
    Hold {
        /// The task.
        task: TaskId,
        /// The worker.
        worker: Label,
        /// When the lease expires without a heartbeat.
        until: Timestamp,
        /// The current time, if an unexpired lease of another worker should be respected: then the
        /// commit is refused. With `None` the task is taken in any case.
        unless_held: Option<Timestamp>,
    },
    /// Removes a task from the queue: it ended, or waits for a person. Its holder loses the lease.
    Dequeue {
        /// The task.
        task: TaskId,
    },
    /// Inserts or updates an analysis request.
    PutRequest(Valid<AnalysisRequest>),
    /// Inserts or updates a plan.
    PutPlan(Valid<Plan>),
    /// Inserts a checkpoint.
    PutCheckpoint(Valid<Checkpoint>),
    /// Inserts or updates the session of a sub-agent.
    PutSession(Valid<SubAgentSession>),
    /// Records an artifact.
    PutArtifact(Valid<Artifact>),
    /// Decides a gate, or records the call that its approval releases. The commit is refused if the
    /// gate was decided differently, or if its approval released another call.
    Decide(GateDecision),
    /// Adds the usage of a model call.
    AddModelUsage(ModelUsage),
    /// Inserts or updates a saved item.
    PutSaved {
        /// The item.
        item: Valid<SavedItem>,
        /// The expected `updated_at` of the item it replaces: any other value refuses the commit.
        /// With `None` it is written in any case.
        replaces: Option<Timestamp>,
    },
    /// Deletes a saved item.
    DeleteSaved {
        /// Its kind.
        kind: SavedKind,
        /// The item.
        id: Uuid,
    },
    /// Claims a tick of a schedule. If the tick was already claimed, the commit is refused: only
    /// one replica queues its task.
    TakeTick(ScheduleTick),
    /// Marks a tick as settled: its task ended and was evaluated. If it is already settled, the
    /// commit is refused.
    SettleTick {
        /// The schedule.
        schedule: ScheduleId,
        /// When the tick was due.
        due_at: Timestamp,
        /// The time of the change.
        at: Timestamp,
    },
    /// Erases a payload; its hash stays in the journal.
    ErasePayload {
        /// The payload.
        id: PayloadId,
        /// The time of the erasure.
        at: Timestamp,
    },
}

/// The decision on a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateDecision {
    /// The gate.
    pub gate: Gate,
    /// The digest of what was shown.
    pub digest: Sha256Hex,
    /// The decision.
    pub verdict: Verdict,
    /// The person who decided.
    pub by: Label,
    /// The time of the decision.
    pub at: Timestamp,
    /// The key of the call that the approval releases. The same key may be used again for a retry
    /// of that call.
    pub call: Option<CallId>,
}

/// How a gate was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call that was shown may be made, once.
    Approved,
    /// The call is not made.
    Rejected,
    /// The call is to be changed; a call with other arguments is a new gate.
    Modified,
    /// No decision arrived in time.
    Expired,
}

/// A message without a sequence number.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// Its id.
    pub id: MessageId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// The author.
    pub role: Role,
    /// The text.
    pub content: Content,
    /// When it was written.
    pub timestamp: Timestamp,
    /// The agent that wrote it.
    pub agent_type: Option<Label>,
    /// The calls made for it.
    pub tool_calls: Vec<ToolCall>,
    /// Anything else.
    pub metadata: JsonObject,
}

/// The mention of an entity, new to the conversation or not.
#[derive(Debug, Clone)]
pub struct Mention {
    /// The id of the reference, if it is new.
    pub id: EntityRef,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The type of the entity.
    pub entity_type: EntityType,
    /// The application's id of the entity.
    pub entity_id: EntityId,
    /// Its title; if absent, a stored title is kept.
    pub entity_name: Option<EntityName>,
    /// The time of the mention.
    pub at: Timestamp,
    /// Attributes; they replace the stored ones unless empty.
    pub metadata: JsonObject,
}

impl Commit {
    /// Prepares the entries for sealing: everything that does not need the end of the chain.
    /// Records of runs and calls are logs, so they are redacted like entries. Texts of users are
    /// kept as written, except for secrets.
    pub(crate) fn prepare(&mut self, options: &crate::StoreOptions) -> crate::Result<Vec<Prepared>> {
        let now = options.clock.now();
        for change in &mut self.changes {
            redact(change, &options.redactor)?;
        }
        let sealed_rows = crate::sealed::seals(self, &options.signer)?;
        let mut drafts = std::mem::take(&mut self.entries);
        if !sealed_rows.is_empty() {
            // Rows that are written without an entry get one: every change must be in the journal.
            if drafts.is_empty() {
                let mut data = serde_json::Map::new();
                data.insert("step".into(), "rows".into());
                drafts.push(Draft::new(steward_domain::EventType::StepRecorded, Label::new("store")?, data));
            }
            // Seals go into the first entry: everything before it in the log is older than its
            // rows.
            if let Some(first) = drafts.first_mut() {
                first.sealed_rows = sealed_rows;
            }
        }
        for draft in &mut drafts {
            let on_behalf = draft.on_behalf.get_or_insert_with(|| OnBehalf::of(self.owner.clone()));
            if on_behalf.user != self.owner {
                return Err(crate::Error::OtherOwner);
            }
        }
        let prepared = drafts
            .into_iter()
            .map(|draft| prepare(self.chain, draft, now, &options.redactor, &*options.random));
        Ok(prepared.collect::<steward_journal::Result<_>>()?)
    }
}

/// Data that waits for a person's approval is stored unchanged, because they approve exactly that.
const DECIDED_ON: [&str; 5] = ["pending", "confirming", "question", "waiting", "model_run"];

fn redact(change: &mut Change, redactor: &Redactor) -> crate::Result<()> {
    match change {
        Change::PutExecution(execution) => {
            *execution = execution.clone().with(|run| {
                for value in
                    [&mut run.input_data, &mut run.output_data].into_iter().chain(&mut run.error_details)
                {
                    *value = redactor.redact(value.take());
                }
                for step in &mut run.reasoning_trace.steps {
                    step.input = redactor.redact(step.input.take());
                    step.output = redactor.redact(step.output.take());
                }
            })?;
        }
        Change::PutInvocation(invocation) => {
            *invocation = invocation.clone().with(|call| {
                call.input_parameters = redactor.redact_map(std::mem::take(&mut call.input_parameters));
                for value in call.output_result.iter_mut().chain(&mut call.error_details) {
                    *value = redactor.redact(value.take());
                }
            })?;
        }
        Change::AppendMessage(message) => {
            if let Cow::Owned(hidden) = redactor.redact_secrets(message.content.as_str()) {
                message.content = Content::new(hidden)?;
            }
            for (_, value) in
                message.metadata.iter_mut().filter(|(name, _)| !DECIDED_ON.contains(&name.as_str()))
            {
                *value = redactor.redact_secrets_in(value.take());
            }
            for value in message.tool_calls.iter_mut().flat_map(|call| call.arguments.values_mut()) {
                *value = redactor.redact_secrets_in(value.take());
            }
        }
        Change::MentionEntity(mention) => {
            for value in mention.metadata.values_mut() {
                *value = redactor.redact_secrets_in(value.take());
            }
            let hidden = mention.entity_name.as_ref().map(|name| redactor.redact_secrets(name.as_str()));
            if let Some(Cow::Owned(hidden)) = hidden {
                mention.entity_name = Some(EntityName::new(hidden)?);
            }
        }
        Change::PutTask(task) => {
            let hidden = |text: &str| redactor.redact_secrets(text).into_owned();
            let description = Description::new(hidden(task.description.as_str()))?;
            *task = task.clone().with(|task| {
                task.description = description;
                for text in task.result.iter_mut().chain(&mut task.error) {
                    *text = hidden(text);
                }
            })?;
        }
        Change::PutRequest(request) => {
            if let Cow::Owned(hidden) = redactor.redact_secrets(request.intent.as_str()) {
                let intent = Question::new(hidden)?;
                *request = request.clone().with(|request| request.intent = intent)?;
            }
        }
        _ => {}
    }
    Ok(())
}
