//! What can be written, and the one shape in which it is handed over.

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

/// Journal entries and the changes they stand for: all of it happens, or none.
#[derive(Debug, Clone)]
pub struct Commit {
    /// To whom the rows belong.
    pub owner: UserId,
    /// The chain the entries are appended to.
    pub chain: ChainId,
    /// What happened.
    pub entries: Vec<Draft>,
    /// What it changes, in order.
    pub changes: Vec<Change>,
    /// The lease it is made under. When that is lost, all of it is refused.
    pub fence: Option<Fence>,
    /// What its answer means.
    pub durability: Durability,
}

/// What the answer to a commit means. Commits keep their order whichever they ask for: once one
/// that is synced was answered, everything that was answered before it is on disk too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// It is on disk: a power cut does not take it.
    #[default]
    Synced,
    /// It is written: everybody sees it, and the death of this process does not take it. The next
    /// commit that is synced takes it to the disk, or the store does within about a second. A power
    /// cut before may take it, but nothing that was answered as synced after it. For what nobody
    /// acts on before a later commit is on disk, such as the intent of a read.
    WithNext,
}

impl Commit {
    /// A commit with no changes yet.
    pub fn new(owner: UserId, chain: impl Into<ChainId>) -> Self {
        let (entries, changes, durability) = Default::default();
        Self { owner, chain: chain.into(), entries, changes, fence: None, durability }
    }

    /// With this entry.
    #[must_use]
    pub fn entry(mut self, draft: Draft) -> Self {
        self.entries.push(draft);
        self
    }

    /// With this change.
    #[must_use]
    pub fn change(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }

    /// Only while this lease stands.
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

/// What a commit made.
#[derive(Debug, Clone, Default)]
pub struct Committed {
    /// The sealed entries.
    pub entries: Vec<Sealed>,
    /// The places that appended messages were given.
    pub sequence_numbers: BTreeMap<MessageId, u64>,
    /// The lease that a [`Change::Hold`] gave.
    pub lease: Option<Lease>,
}

/// One change of state.
#[derive(Debug, Clone)]
pub enum Change {
    /// Writes a conversation, new or known.
    PutConversation(Valid<Conversation>),
    /// Moves a conversation along its life. `Deleted` takes its messages and entities with it.
    SetConversationStatus {
        /// Which.
        id: ConversationId,
        /// Where to.
        status: ConversationStatus,
        /// When.
        at: Timestamp,
    },
    /// Appends a message; the store gives it its place.
    AppendMessage(NewMessage),
    /// Notes that an entity was mentioned.
    MentionEntity(Mention),
    /// Records an agent's run.
    PutExecution(Valid<AgentExecution>),
    /// Records a tool's call.
    PutInvocation(Valid<ToolInvocation>),
    /// Writes a tool definition, new or known.
    PutTool(Valid<ToolDefinition>),
    /// Takes a tool out of use; its history stays.
    RetireTool {
        /// Which.
        id: ToolId,
        /// When.
        at: Timestamp,
    },
    /// Writes a recipe, new or known.
    PutRecipe(Valid<Recipe>),
    /// Counts a recipe's success.
    UseRecipe {
        /// Which.
        id: RecipeId,
        /// When.
        at: Timestamp,
    },
    /// Forgets a recipe.
    DeleteRecipe {
        /// Which.
        id: RecipeId,
    },
    /// Writes a task, new or known.
    PutTask(Valid<Task>),
    /// Makes a task of the owner ready for a worker at a time. One that waits already keeps its
    /// place; one that is held is taken from its holder and waits behind the others.
    Enqueue {
        /// Which.
        task: TaskId,
        /// From when on it may be claimed.
        ready_at: Timestamp,
    },
    /// Gives a task to a worker, in the queue or new to it. Whoever held it before finds their
    /// writes refused from now on.
    Hold {
        /// Which.
        task: TaskId,
        /// To whom.
        worker: Label,
        /// Until when without a sign of life.
        until: Timestamp,
        /// The time now, when another's lease that still runs is to be respected: then the commit
        /// is refused. Nothing takes the task whoever has it.
        unless_held: Option<Timestamp>,
    },
    /// Takes a task out of the queue: it ended, or waits for a person. Whoever holds it loses it.
    Dequeue {
        /// Which.
        task: TaskId,
    },
    /// Writes an analysis request, new or known.
    PutRequest(Valid<AnalysisRequest>),
    /// Writes a plan, new or known.
    PutPlan(Valid<Plan>),
    /// Writes a checkpoint.
    PutCheckpoint(Valid<Checkpoint>),
    /// Writes a sub-agent's session, new or known.
    PutSession(Valid<SubAgentSession>),
    /// Records an artifact.
    PutArtifact(Valid<Artifact>),
    /// Decides a gate, or names the call that its approval releases. A gate that was decided
    /// otherwise, or whose approval released another call, refuses the commit.
    Decide(GateDecision),
    /// Adds what an answer of a model used.
    AddModelUsage(ModelUsage),
    /// Writes what a person keeps, new or known.
    PutSaved {
        /// The item.
        item: Valid<SavedItem>,
        /// When the one that it replaces was last changed: then anything else refuses the commit.
        /// Nothing writes it anyway.
        replaces: Option<Timestamp>,
    },
    /// Forgets what a person kept.
    DeleteSaved {
        /// Its kind.
        kind: SavedKind,
        /// Which.
        id: Uuid,
    },
    /// Takes a tick of a schedule. A tick that was taken already refuses the commit: of many
    /// replicas one queues its task.
    TakeTick(ScheduleTick),
    /// Notes that a tick's task ended and was looked at. One that was settled already refuses the
    /// commit.
    SettleTick {
        /// The schedule.
        schedule: ScheduleId,
        /// The moment of the tick.
        due_at: Timestamp,
        /// When.
        at: Timestamp,
    },
    /// Erases a payload; its hash stays in the journal.
    ErasePayload {
        /// Which.
        id: PayloadId,
        /// When.
        at: Timestamp,
    },
}

/// What was decided at a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateDecision {
    /// Which gate.
    pub gate: Gate,
    /// The digest of what was shown.
    pub digest: Sha256Hex,
    /// The decision.
    pub verdict: Verdict,
    /// Who decided.
    pub by: Label,
    /// When.
    pub at: Timestamp,
    /// The key of the call that the approval releases. The same key may come again: it is another
    /// attempt at that call.
    pub call: Option<CallId>,
}

/// How a gate was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// What was shown may be done, once.
    Approved,
    /// It is not done.
    Rejected,
    /// It is done differently; a call with other arguments is a new gate.
    Modified,
    /// The time for a decision ran out.
    Expired,
}

/// A message that has no place yet.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// Its id.
    pub id: MessageId,
    /// Where it belongs.
    pub conversation_id: ConversationId,
    /// Who speaks.
    pub role: Role,
    /// What was said.
    pub content: Content,
    /// When.
    pub timestamp: Timestamp,
    /// Which agent spoke.
    pub agent_type: Option<Label>,
    /// The calls made for it.
    pub tool_calls: Vec<ToolCall>,
    /// Anything else.
    pub metadata: JsonObject,
}

/// An entity that was mentioned: new to the conversation, or once more.
#[derive(Debug, Clone)]
pub struct Mention {
    /// The id it gets when it is new.
    pub id: EntityRef,
    /// Where it was mentioned.
    pub conversation_id: ConversationId,
    /// What kind of thing.
    pub entity_type: EntityType,
    /// Which one.
    pub entity_id: EntityId,
    /// Its title; a known one stays when this has none.
    pub entity_name: Option<EntityName>,
    /// When.
    pub at: Timestamp,
    /// Attributes; they replace the known ones unless empty.
    pub metadata: JsonObject,
}

impl Commit {
    /// Prepares the entries for sealing: everything that does not need the chain's end. Records of
    /// runs and calls are logs too, so they are redacted like entries. What people wrote stays as
    /// they wrote it, but for secrets.
    pub(crate) fn prepare(&mut self, options: &crate::StoreOptions) -> crate::Result<Vec<Prepared>> {
        let now = options.clock.now();
        for change in &mut self.changes {
            redact(change, &options.redactor)?;
        }
        let sealed_rows = crate::sealed::seals(self, &options.signer)?;
        let mut drafts = std::mem::take(&mut self.entries);
        if !sealed_rows.is_empty() {
            // Rows that are written without an entry get one: what is not in the journal did not
            // happen.
            if drafts.is_empty() {
                let mut data = serde_json::Map::new();
                data.insert("step".into(), "rows".into());
                drafts.push(Draft::new(steward_domain::EventType::StepRecorded, Label::new("store")?, data));
            }
            // In the first: what comes before it in the log is older than its rows.
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

/// What waits for the person's word is kept as it is: they agree to exactly that.
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
