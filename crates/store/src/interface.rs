//! The interface that every store keeps.

use crate::audit::RawPayload;
use crate::change::{Commit, Committed};
use crate::error::Result;
use crate::query::{
    ConversationFilter, EntitySearch, ExecutionFilter, Head, InvocationFilter, LogEntry, Nearest, Page,
    Scope, TaskFilter,
};
use crate::queue::{Depth, Lease};
use crate::retention::RetentionReport;
use crate::usage::Analytics;
use async_trait::async_trait;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{
    AgentExecution, AnalysisRequest, Artifact, ChainId, Checkpoint, Conversation, ConversationEntity,
    ConversationId, DomainName, ExecutionId, Label, Message, ModelUsage, Plan, Recipe, RecipeId,
    RetentionPolicy, SavedItem, SavedKind, ScheduleId, ScheduleTick, SemanticVersion, Sha256Hex,
    SubAgentSession, Task, TaskId, Timestamp, ToolDefinition, ToolInvocation, ToolName, Valid,
};
use steward_journal::ChainTip;
use steward_journal::clock::Clock;
use steward_journal::note::NoteSigner;
use steward_journal::random::Random;
use steward_journal::redact::Redactor;
use uuid::Uuid;

/// What every store is built with: its clock, its randomness, its key.
#[derive(Clone)]
pub struct StoreOptions {
    /// Tells the time of entries.
    pub clock: Arc<dyn Clock>,
    /// Makes ids and salts.
    pub random: Arc<dyn Random>,
    /// Hides what must not be written.
    pub redactor: Arc<Redactor>,
    /// Signs heads.
    pub signer: Arc<NoteSigner>,
}

/// A store. All of it can be called at once from anywhere.
#[async_trait]
pub trait Store: Send + Sync {
    /// Writes entries and changes in one transaction and returns when they are on disk, or only
    /// written when the commit asks for no more ([`Durability`](crate::Durability)). A commit of
    /// nothing takes to the disk what is only written.
    async fn commit(&self, scope: &Scope, commit: Commit) -> Result<Committed>;

    /// One conversation.
    async fn conversation(&self, scope: &Scope, id: ConversationId) -> Result<Option<Valid<Conversation>>>;
    /// Conversations, newest first.
    async fn conversations(
        &self,
        scope: &Scope,
        filter: ConversationFilter,
        page: Page,
    ) -> Result<Vec<Valid<Conversation>>>;
    /// The last `size` messages in the order they were said: the sliding window.
    async fn window(&self, scope: &Scope, id: ConversationId, size: u32) -> Result<Vec<Valid<Message>>>;
    /// All messages in the order they were said.
    async fn history(&self, scope: &Scope, id: ConversationId, page: Page) -> Result<Vec<Valid<Message>>>;
    /// Entities of a conversation.
    async fn entities(
        &self,
        scope: &Scope,
        id: ConversationId,
        search: EntitySearch,
        limit: u32,
    ) -> Result<Vec<Valid<ConversationEntity>>>;

    /// One run of an agent.
    async fn execution(&self, scope: &Scope, id: ExecutionId) -> Result<Option<Valid<AgentExecution>>>;
    /// Runs of agents, newest first.
    async fn executions(
        &self,
        scope: &Scope,
        filter: ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Valid<AgentExecution>>>;
    /// Calls of tools in the order of their start.
    async fn invocations(
        &self,
        scope: &Scope,
        filter: InvocationFilter,
        page: Page,
    ) -> Result<Vec<Valid<ToolInvocation>>>;
    /// Success, mean and p95 by tool and by agent, for what began from `from` until before `to`.
    async fn analytics(&self, scope: &Scope, from: Timestamp, to: Timestamp) -> Result<Analytics>;
    /// What models used from the first of these days to the last, by day, person and model.
    async fn model_usage(&self, scope: &Scope, from_day: &str, to_day: &str) -> Result<Vec<ModelUsage>>;

    /// A tool: in this version, or in its newest active one.
    async fn tool(
        &self,
        name: &ToolName,
        version: Option<&SemanticVersion>,
    ) -> Result<Option<Valid<ToolDefinition>>>;
    /// Active tools by name, of one domain or of all.
    async fn tools(&self, domain: Option<&DomainName>, page: Page) -> Result<Vec<Valid<ToolDefinition>>>;
    /// Active tools nearest in meaning.
    async fn nearest_tools(
        &self,
        meaning: &[f32],
        domain: Option<&DomainName>,
        limit: u32,
    ) -> Result<Vec<Nearest<Valid<ToolDefinition>>>>;

    /// One recipe.
    async fn recipe(&self, scope: &Scope, id: RecipeId) -> Result<Option<Valid<Recipe>>>;
    /// Recipes, last used first.
    async fn recipes(&self, scope: &Scope, page: Page) -> Result<Vec<Valid<Recipe>>>;
    /// Recipes for these schemas, nearest in meaning first.
    async fn nearest_recipes(
        &self,
        scope: &Scope,
        schema: &Sha256Hex,
        meaning: &[f32],
        limit: u32,
    ) -> Result<Vec<Nearest<Valid<Recipe>>>>;

    /// One task.
    async fn task(&self, scope: &Scope, id: TaskId) -> Result<Option<Valid<Task>>>;
    /// Tasks, newest first.
    async fn tasks(&self, scope: &Scope, filter: TaskFilter, page: Page) -> Result<Vec<Valid<Task>>>;
    /// The analysis request of this id.
    async fn request(&self, scope: &Scope, id: TaskId) -> Result<Option<Valid<AnalysisRequest>>>;
    /// The plans of a request, first made first.
    async fn plans(&self, scope: &Scope, request: TaskId) -> Result<Vec<Valid<Plan>>>;
    /// The checkpoints of a task in order.
    async fn checkpoints(&self, scope: &Scope, task: TaskId) -> Result<Vec<Valid<Checkpoint>>>;
    /// The sub-agents' sessions of a task, first begun first.
    async fn sessions(&self, scope: &Scope, task: TaskId) -> Result<Vec<Valid<SubAgentSession>>>;
    /// The artifacts of a request, first made first.
    async fn artifacts(&self, scope: &Scope, request: TaskId) -> Result<Vec<Valid<Artifact>>>;

    /// What somebody keeps: one's own, and what is shared.
    async fn saved(&self, scope: &Scope, kind: SavedKind, id: Uuid) -> Result<Option<Valid<SavedItem>>>;
    /// What is kept of a kind, newest first: one's own, and what is shared.
    async fn saved_items(&self, scope: &Scope, kind: SavedKind, page: Page) -> Result<Vec<Valid<SavedItem>>>;
    /// What of a kind something is to be done with by now, whoever owns it; longest due first.
    async fn due_items(&self, kind: SavedKind, now: Timestamp, limit: u32) -> Result<Vec<Valid<SavedItem>>>;
    /// The ticks of a schedule, newest first.
    async fn ticks(&self, scope: &Scope, schedule: ScheduleId, page: Page) -> Result<Vec<ScheduleTick>>;
    /// Ticks that are not settled, whoever owns them; longest due first.
    async fn open_ticks(&self, limit: u32) -> Result<Vec<ScheduleTick>>;

    /// The end of a chain.
    async fn chain(&self, scope: &Scope, chain: ChainId) -> Result<Option<ChainTip>>;
    /// Entries of a chain after a place, in order.
    async fn entries(&self, scope: &Scope, chain: ChainId, after: u64, limit: u32) -> Result<Vec<LogEntry>>;
    /// Entries of the whole log from an index on, in the log's order.
    async fn log(&self, from: u64, limit: u32) -> Result<Vec<LogEntry>>;
    /// The ends of all chains after this one, in the order of their ids.
    async fn chains(&self, scope: &Scope, after: Option<ChainId>, limit: u32) -> Result<Vec<ChainTip>>;
    /// The payloads of a chain.
    async fn payloads(&self, scope: &Scope, chain: ChainId) -> Result<Vec<RawPayload>>;
    /// Takes every committed entry into the Merkle log and signs its head. What it covers is on
    /// disk: a head that was shown to somebody must not be taken back by a power cut.
    async fn head(&self) -> Result<Option<Head>>;

    /// Takes tasks for a worker that are ready and that nobody holds, or whose lease ran out: at
    /// most `limit`, first come first served, but a user's second task waits behind the first ones
    /// of others, and nobody has more than `per_user` tasks in the hands of workers. Each lease has
    /// a token greater than every one before.
    async fn claim(
        &self,
        worker: &Label,
        now: Timestamp,
        lease: Duration,
        limit: u32,
        per_user: u32,
    ) -> Result<Vec<Lease>>;
    /// Holds a task for longer: the worker's heartbeat. `LeaseLost` when it is not ours any more.
    async fn renew(&self, lease: &Lease, until: Timestamp) -> Result<Lease>;
    /// Gives a task back in its old place, ready at a time. `LeaseLost` when it is not ours any
    /// more.
    async fn release(&self, lease: &Lease, ready_at: Timestamp) -> Result<()>;
    /// Gives back everything that a worker of this name holds: it begins anew, or ends.
    async fn release_all(&self, worker: &Label, ready_at: Timestamp) -> Result<()>;
    /// Who holds a task, if anybody does; the lease may have run out.
    async fn lease(&self, task: TaskId) -> Result<Option<Lease>>;
    /// How many tasks wait and how many are held.
    async fn queue_depth(&self, now: Timestamp) -> Result<Depth>;
    /// Returns when a task may have become ready, or when the time is over. What happened since the
    /// last wait counts, so whoever claims in vain and then waits misses nothing. A delayed task or
    /// a lease that runs out wakes nobody: `at_most` is how late they may be noticed.
    async fn wait_for_work(&self, at_most: Duration) -> Result<()>;

    /// Applies the policy, or says what it would do. What was purged is recorded in the system's own
    /// chain.
    async fn retain(
        &self,
        policy: &Valid<RetentionPolicy>,
        now: Timestamp,
        dry_run: bool,
    ) -> Result<RetentionReport>;
    /// Looks the database over: its own consistency check, in words.
    async fn check(&self) -> Result<String>;
    /// The schema's version.
    async fn schema_version(&self) -> Result<i64>;
    /// Writes the whole store to a new file, as one moment saw it. Others go on working meanwhile.
    async fn snapshot(&self, to: &Path) -> Result<()>;
}
