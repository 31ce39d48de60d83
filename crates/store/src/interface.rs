//! The interface of every store.

use crate::audit::RawPayload;
use crate::change::{Commit, Committed, GateDecision};
use crate::error::Result;
use crate::lookup::{LookupRow, LookupTable};
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
    SubAgentSession, Task, TaskId, Timestamp, ToolDefinition, ToolInvocation, ToolName, UserId, Valid,
};
use steward_journal::ChainTip;
use steward_journal::clock::Clock;
use steward_journal::note::NoteSigner;
use steward_journal::random::Random;
use steward_journal::redact::Redactor;
use uuid::Uuid;

/// The dependencies of every store: clock, randomness, redaction and signing key.
#[derive(Clone)]
pub struct StoreOptions {
    /// The clock for entries.
    pub clock: Arc<dyn Clock>,
    /// The source of ids and salts.
    pub random: Arc<dyn Random>,
    /// Redacts secrets before anything is written.
    pub redactor: Arc<Redactor>,
    /// Signs heads.
    pub signer: Arc<NoteSigner>,
}

/// A store. All methods may be called concurrently.
#[async_trait]
pub trait Store: Send + Sync {
    /// Writes entries and changes in one transaction. Returns when they are on disk, or only
    /// written if the commit asks for no more ([`Durability`](crate::Durability)). An empty commit
    /// syncs everything that is written but not synced.
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
    /// The last `size` messages in order: the sliding window.
    async fn window(&self, scope: &Scope, id: ConversationId, size: u32) -> Result<Vec<Valid<Message>>>;
    /// All messages in order.
    async fn history(&self, scope: &Scope, id: ConversationId, page: Page) -> Result<Vec<Valid<Message>>>;
    /// Entities of a conversation.
    async fn entities(
        &self,
        scope: &Scope,
        id: ConversationId,
        search: EntitySearch,
        limit: u32,
    ) -> Result<Vec<Valid<ConversationEntity>>>;

    /// One agent run.
    async fn execution(&self, scope: &Scope, id: ExecutionId) -> Result<Option<Valid<AgentExecution>>>;
    /// Agent runs, newest first.
    async fn executions(
        &self,
        scope: &Scope,
        filter: ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Valid<AgentExecution>>>;
    /// Tool calls in order of their start.
    async fn invocations(
        &self,
        scope: &Scope,
        filter: InvocationFilter,
        page: Page,
    ) -> Result<Vec<Valid<ToolInvocation>>>;
    /// Success rate, mean and p95 by tool and by agent, for everything started in `from..to`.
    async fn analytics(&self, scope: &Scope, from: Timestamp, to: Timestamp) -> Result<Analytics>;
    /// Model usage between these days, inclusive, by day, user and model.
    async fn model_usage(&self, scope: &Scope, from_day: &str, to_day: &str) -> Result<Vec<ModelUsage>>;

    /// A tool: in this version, or in its newest active one.
    async fn tool(
        &self,
        name: &ToolName,
        version: Option<&SemanticVersion>,
    ) -> Result<Option<Valid<ToolDefinition>>>;
    /// Active tools by name, of one domain or of all.
    async fn tools(&self, domain: Option<&DomainName>, page: Page) -> Result<Vec<Valid<ToolDefinition>>>;
    /// Active tools, nearest by embedding.
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
    /// Recipes for these schemas, nearest by embedding first.
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
    /// The plans of a request, oldest first.
    async fn plans(&self, scope: &Scope, request: TaskId) -> Result<Vec<Valid<Plan>>>;
    /// The checkpoints of a task in order.
    async fn checkpoints(&self, scope: &Scope, task: TaskId) -> Result<Vec<Valid<Checkpoint>>>;
    /// The sub-agent sessions of a task, oldest first.
    async fn sessions(&self, scope: &Scope, task: TaskId) -> Result<Vec<Valid<SubAgentSession>>>;
    /// The artifacts of a request, oldest first.
    async fn artifacts(&self, scope: &Scope, request: TaskId) -> Result<Vec<Valid<Artifact>>>;

    /// A saved item: the user's own, or a shared one.
    async fn saved(&self, scope: &Scope, kind: SavedKind, id: Uuid) -> Result<Option<Valid<SavedItem>>>;
    /// Saved items of a kind, newest first: the user's own, and shared ones.
    async fn saved_items(&self, scope: &Scope, kind: SavedKind, page: Page) -> Result<Vec<Valid<SavedItem>>>;
    /// Items of a kind that are due, of all users; longest due first.
    async fn due_items(&self, kind: SavedKind, now: Timestamp, limit: u32) -> Result<Vec<Valid<SavedItem>>>;
    /// The ticks of a schedule, newest first.
    async fn ticks(&self, scope: &Scope, schedule: ScheduleId, page: Page) -> Result<Vec<ScheduleTick>>;
    /// Ticks that are not settled, of all users; longest due first.
    async fn open_ticks(&self, limit: u32) -> Result<Vec<ScheduleTick>>;

    /// Decisions over gates, newest first, each with the owner of its task.
    async fn decisions(&self, scope: &Scope, page: Page) -> Result<Vec<(UserId, GateDecision)>>;

    /// The rows of a table as they are searched, of all users, in a fixed order. For the audit.
    async fn lookup_rows(&self, table: LookupTable, page: Page) -> Result<Vec<LookupRow>>;

    /// The end of a chain.
    async fn chain(&self, scope: &Scope, chain: ChainId) -> Result<Option<ChainTip>>;
    /// Entries of a chain after a sequence number, in order.
    async fn entries(&self, scope: &Scope, chain: ChainId, after: u64, limit: u32) -> Result<Vec<LogEntry>>;
    /// Entries of the whole log from an index on, in the log's order.
    async fn log(&self, from: u64, limit: u32) -> Result<Vec<LogEntry>>;
    /// The ends of all chains after this one, in the order of their ids.
    async fn chains(&self, scope: &Scope, after: Option<ChainId>, limit: u32) -> Result<Vec<ChainTip>>;
    /// The payloads of a chain.
    async fn payloads(&self, scope: &Scope, chain: ChainId) -> Result<Vec<RawPayload>>;
    /// Adds every committed entry to the Merkle log and signs its head. The entries it covers are
    /// on disk first: a power failure must not revoke a published head.
    async fn head(&self) -> Result<Option<Head>>;

    /// Claims tasks for a worker: at most `limit` that are ready and have no valid lease. They are
    /// served first come, first served, but a user's second task waits behind the first tasks of
    /// other users, and no user has more than `per_user` tasks in progress. The token of each lease
    /// is greater than all earlier ones.
    async fn claim(
        &self,
        worker: &Label,
        now: Timestamp,
        lease: Duration,
        limit: u32,
        per_user: u32,
    ) -> Result<Vec<Lease>>;
    /// Extends a lease: the worker's heartbeat. `LeaseLost` if the lease is no longer valid.
    async fn renew(&self, lease: &Lease, until: Timestamp) -> Result<Lease>;
    /// Returns a task to its old place in the queue, ready at a time. `LeaseLost` if the lease is
    /// no longer valid.
    async fn release(&self, lease: &Lease, ready_at: Timestamp) -> Result<()>;
    /// Releases all leases of a worker of this name, when it restarts or ends.
    async fn release_all(&self, worker: &Label, ready_at: Timestamp) -> Result<()>;
    /// The lease on a task, if any; it may have expired.
    async fn lease(&self, task: TaskId) -> Result<Option<Lease>>;
    /// How many tasks are waiting and how many are held.
    async fn queue_depth(&self, now: Timestamp) -> Result<Depth>;
    /// Returns when a task may have become ready, or at the timeout. Notifications since the last
    /// wait count, so a worker that claims nothing and then waits misses none. Delayed tasks and
    /// expiring leases send no notification: `at_most` bounds how late they are noticed.
    async fn wait_for_work(&self, at_most: Duration) -> Result<()>;

    /// Applies the retention policy, or reports what it would do. Purges are recorded in the system
    /// chain.
    async fn retain(
        &self,
        policy: &Valid<RetentionPolicy>,
        now: Timestamp,
        dry_run: bool,
    ) -> Result<RetentionReport>;
    /// Runs the database's own consistency check and returns its report.
    async fn check(&self) -> Result<String>;
    /// The schema's version.
    async fn schema_version(&self) -> Result<i64>;
    /// Writes a consistent snapshot of the whole store to a new file. Other processes may continue
    /// to work meanwhile.
    async fn snapshot(&self, to: &Path) -> Result<()>;
}
