//! SQLite: one writer with group commit, many readers, everything in one file.

mod analytics;
mod approvals;
mod changes;
mod connection;
mod conversations;
mod documents;
mod executions;
mod journal;
mod model_usage;
mod queue;
mod recipes;
mod retention;
mod saved;
mod sync;
mod tools;
mod vectors;
mod wal;
mod writer;

use crate::audit::RawPayload;
use crate::change::{Change, Commit, Committed, GateDecision};
use crate::error::{Error, Result};
use crate::interface::{Store, StoreOptions};
use crate::lookup::{LookupRow, LookupTable};
use crate::query::{
    ConversationFilter, EntitySearch, ExecutionFilter, Head, InvocationFilter, LogEntry, Nearest, Page,
    Scope, TaskFilter,
};
use crate::queue::{Depth, Lease, Wake, after};
use crate::retention::RetentionReport;
use crate::rules::may_write;
use crate::usage::Analytics;
use async_trait::async_trait;
use connection::Readers;
use queue::Ask;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{
    AgentExecution, AnalysisRequest, Artifact, ChainId, Checkpoint, Conversation, ConversationEntity,
    ConversationId, DomainName, ExecutionId, Label, Message, ModelUsage, Plan, Recipe, RecipeId,
    RetentionPolicy, SavedItem, SavedKind, ScheduleId, ScheduleTick, SemanticVersion, Sha256Hex,
    SubAgentSession, Task, TaskId, Timestamp, ToolDefinition, ToolInvocation, ToolName, UserId, Valid,
};
use steward_journal::ChainTip;
use uuid::Uuid;
use writer::Writer;

/// A store in one SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    options: StoreOptions,
    writer: Writer,
    readers: Arc<Readers>,
    tool_vectors: Arc<vectors::ToolVectors>,
    wake: Wake,
}

impl SqliteStore {
    /// Opens the file; creates or migrates it if needed.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self> {
        let connection = connection::open_writer(path)?;
        Ok(Self {
            path: path.to_owned(),
            writer: Writer::start(connection, options.clone(), path)?,
            options,
            readers: Arc::new(Readers::new(path)),
            tool_vectors: Arc::default(),
            wake: Wake::default(),
        })
    }

    /// Creates the file at an older version of the schema, for the migration test.
    #[doc(hidden)]
    pub fn create_at_version(path: &Path, version: i64) -> Result<()> {
        connection::create_at_version(path, version)
    }

    /// Limits the file to this many pages, to simulate a full disk.
    #[cfg(feature = "conformance")]
    pub async fn limit_pages_for_test(&self, pages: u32) -> Result<()> {
        self.writer.limit_pages(pages).await
    }

    /// Runs a query on one of the readers, outside the async threads.
    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.readers.run(query).await
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn commit(&self, scope: &Scope, mut commit: Commit) -> Result<Committed> {
        may_write(scope, &commit)?;
        // Done here, not in the writer: redaction and canonical text take longer than the insert,
        // and callers run in parallel.
        let prepared = commit.prepare(&self.options)?;
        let wakes = commit.changes.iter().any(|change| matches!(change, Change::Enqueue { .. }));
        let committed = self.writer.commit(scope.clone(), commit, prepared).await?;
        if wakes {
            self.wake.all();
        }
        Ok(committed)
    }

    async fn conversation(&self, scope: &Scope, id: ConversationId) -> Result<Option<Valid<Conversation>>> {
        let scope = scope.clone();
        self.read(move |db| conversations::one(db, &scope, id)).await
    }
    async fn conversations(
        &self,
        scope: &Scope,
        filter: ConversationFilter,
        page: Page,
    ) -> Result<Vec<Valid<Conversation>>> {
        let scope = scope.clone();
        self.read(move |db| conversations::list(db, &scope, &filter, page)).await
    }
    async fn window(&self, scope: &Scope, id: ConversationId, size: u32) -> Result<Vec<Valid<Message>>> {
        let scope = scope.clone();
        self.read(move |db| conversations::window(db, &scope, id, size)).await
    }
    async fn history(&self, scope: &Scope, id: ConversationId, page: Page) -> Result<Vec<Valid<Message>>> {
        let scope = scope.clone();
        self.read(move |db| conversations::history(db, &scope, id, page)).await
    }
    async fn entities(
        &self,
        scope: &Scope,
        id: ConversationId,
        search: EntitySearch,
        limit: u32,
    ) -> Result<Vec<Valid<ConversationEntity>>> {
        let scope = scope.clone();
        self.read(move |db| conversations::entities(db, &scope, id, &search, limit)).await
    }

    async fn execution(&self, scope: &Scope, id: ExecutionId) -> Result<Option<Valid<AgentExecution>>> {
        let scope = scope.clone();
        self.read(move |db| executions::one(db, &scope, id)).await
    }
    async fn executions(
        &self,
        scope: &Scope,
        filter: ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Valid<AgentExecution>>> {
        let scope = scope.clone();
        self.read(move |db| executions::list(db, &scope, &filter, page)).await
    }
    async fn invocations(
        &self,
        scope: &Scope,
        filter: InvocationFilter,
        page: Page,
    ) -> Result<Vec<Valid<ToolInvocation>>> {
        let scope = scope.clone();
        self.read(move |db| executions::invocations(db, &scope, &filter, page)).await
    }
    async fn model_usage(&self, scope: &Scope, from_day: &str, to_day: &str) -> Result<Vec<ModelUsage>> {
        let (scope, from_day, to_day) = (scope.clone(), from_day.to_owned(), to_day.to_owned());
        self.read(move |db| model_usage::list(db, &scope, &from_day, &to_day)).await
    }
    async fn analytics(&self, scope: &Scope, from: Timestamp, to: Timestamp) -> Result<Analytics> {
        let scope = scope.clone();
        self.read(move |db| analytics::over(db, &scope, from, to)).await
    }

    async fn tool(
        &self,
        name: &ToolName,
        version: Option<&SemanticVersion>,
    ) -> Result<Option<Valid<ToolDefinition>>> {
        let (name, version) = (name.clone(), version.cloned());
        self.read(move |db| tools::one(db, &name, version.as_ref())).await
    }
    async fn tools(&self, domain: Option<&DomainName>, page: Page) -> Result<Vec<Valid<ToolDefinition>>> {
        let domain = domain.cloned();
        self.read(move |db| tools::list(db, domain.as_ref(), page)).await
    }
    async fn nearest_tools(
        &self,
        meaning: &[f32],
        domain: Option<&DomainName>,
        limit: u32,
    ) -> Result<Vec<Nearest<Valid<ToolDefinition>>>> {
        let (meaning, domain, vectors) = (meaning.to_vec(), domain.cloned(), self.tool_vectors.clone());
        self.read(move |db| tools::nearest(db, &vectors, &meaning, domain.as_ref(), limit)).await
    }

    async fn recipe(&self, scope: &Scope, id: RecipeId) -> Result<Option<Valid<Recipe>>> {
        let scope = scope.clone();
        self.read(move |db| recipes::one(db, &scope, id)).await
    }
    async fn recipes(&self, scope: &Scope, page: Page) -> Result<Vec<Valid<Recipe>>> {
        let scope = scope.clone();
        self.read(move |db| recipes::list(db, &scope, page)).await
    }
    async fn nearest_recipes(
        &self,
        scope: &Scope,
        schema: &Sha256Hex,
        meaning: &[f32],
        limit: u32,
    ) -> Result<Vec<Nearest<Valid<Recipe>>>> {
        let (scope, schema, meaning) = (scope.clone(), schema.clone(), meaning.to_vec());
        self.read(move |db| recipes::nearest(db, &scope, &schema, &meaning, limit)).await
    }

    async fn task(&self, scope: &Scope, id: TaskId) -> Result<Option<Valid<Task>>> {
        let scope = scope.clone();
        self.read(move |db| documents::one(db, &scope, "task", id.0)).await
    }
    async fn tasks(&self, scope: &Scope, filter: TaskFilter, page: Page) -> Result<Vec<Valid<Task>>> {
        let scope = scope.clone();
        self.read(move |db| documents::tasks(db, &scope, &filter, page)).await
    }
    async fn request(&self, scope: &Scope, id: TaskId) -> Result<Option<Valid<AnalysisRequest>>> {
        let scope = scope.clone();
        self.read(move |db| documents::one(db, &scope, "analysis_request", id.0)).await
    }
    async fn plans(&self, scope: &Scope, request: TaskId) -> Result<Vec<Valid<Plan>>> {
        let scope = scope.clone();
        self.read(move |db| documents::of_task(db, &scope, "plan", request)).await
    }
    async fn checkpoints(&self, scope: &Scope, task: TaskId) -> Result<Vec<Valid<Checkpoint>>> {
        let scope = scope.clone();
        self.read(move |db| documents::of_task(db, &scope, "checkpoint", task)).await
    }
    async fn sessions(&self, scope: &Scope, task: TaskId) -> Result<Vec<Valid<SubAgentSession>>> {
        let scope = scope.clone();
        self.read(move |db| documents::of_task(db, &scope, "sub_agent_session", task)).await
    }
    async fn artifacts(&self, scope: &Scope, request: TaskId) -> Result<Vec<Valid<Artifact>>> {
        let scope = scope.clone();
        self.read(move |db| documents::of_task(db, &scope, "artifact", request)).await
    }

    async fn saved(&self, scope: &Scope, kind: SavedKind, id: Uuid) -> Result<Option<Valid<SavedItem>>> {
        let scope = scope.clone();
        self.read(move |db| saved::one(db, &scope, kind, id)).await
    }
    async fn saved_items(&self, scope: &Scope, kind: SavedKind, page: Page) -> Result<Vec<Valid<SavedItem>>> {
        let scope = scope.clone();
        self.read(move |db| saved::list(db, &scope, kind, page)).await
    }
    async fn due_items(&self, kind: SavedKind, now: Timestamp, limit: u32) -> Result<Vec<Valid<SavedItem>>> {
        self.read(move |db| saved::due(db, kind, now, limit)).await
    }
    async fn ticks(&self, scope: &Scope, schedule: ScheduleId, page: Page) -> Result<Vec<ScheduleTick>> {
        let scope = scope.clone();
        self.read(move |db| saved::ticks(db, &scope, schedule, page)).await
    }
    async fn open_ticks(&self, limit: u32) -> Result<Vec<ScheduleTick>> {
        self.read(move |db| saved::open_ticks(db, limit)).await
    }

    async fn decisions(&self, scope: &Scope, page: Page) -> Result<Vec<(UserId, GateDecision)>> {
        let scope = scope.clone();
        self.read(move |db| approvals::list(db, &scope, page)).await
    }
    async fn lookup_rows(&self, table: LookupTable, page: Page) -> Result<Vec<LookupRow>> {
        self.read(move |db| documents::lookup_rows(db, table, page)).await
    }
    async fn chain(&self, scope: &Scope, chain: ChainId) -> Result<Option<ChainTip>> {
        let scope = scope.clone();
        self.read(move |db| journal::tip(db, &scope, chain)).await
    }
    async fn entries(&self, scope: &Scope, chain: ChainId, after: u64, limit: u32) -> Result<Vec<LogEntry>> {
        let scope = scope.clone();
        self.read(move |db| journal::entries(db, &scope, chain, after, limit)).await
    }
    async fn log(&self, from: u64, limit: u32) -> Result<Vec<LogEntry>> {
        self.read(move |db| journal::log(db, from, limit)).await
    }
    async fn chains(&self, scope: &Scope, after: Option<ChainId>, limit: u32) -> Result<Vec<ChainTip>> {
        let scope = scope.clone();
        self.read(move |db| journal::chains(db, &scope, after, limit)).await
    }
    async fn payloads(&self, scope: &Scope, chain: ChainId) -> Result<Vec<RawPayload>> {
        let scope = scope.clone();
        self.read(move |db| journal::payloads(db, &scope, chain)).await
    }
    async fn head(&self) -> Result<Option<Head>> {
        let log = sync::log_of(&self.path);
        self.read(move |db| {
            let head = journal::head(db)?;
            sync::sync_log(&log).map_err(|error| writer::not_synced(&error))?;
            Ok(head)
        })
        .await
    }

    async fn claim(
        &self,
        worker: &Label,
        now: Timestamp,
        lease: Duration,
        limit: u32,
        per_user: u32,
    ) -> Result<Vec<Lease>> {
        let until = after(now, lease);
        let claimed =
            self.writer.queue(Ask::Claim { worker: worker.clone(), now, until, limit, per_user }).await?;
        self.wake.pass_on(&claimed, limit);
        Ok(claimed)
    }
    async fn renew(&self, lease: &Lease, until: Timestamp) -> Result<Lease> {
        let renewed = self.writer.queue(Ask::Renew { lease: lease.clone(), until }).await?;
        renewed.into_iter().next().ok_or(Error::LeaseLost)
    }
    async fn release(&self, lease: &Lease, ready_at: Timestamp) -> Result<()> {
        self.writer.queue(Ask::Release { lease: lease.clone(), ready_at }).await?;
        self.wake.all();
        Ok(())
    }
    async fn release_all(&self, worker: &Label, ready_at: Timestamp) -> Result<()> {
        self.writer.queue(Ask::ReleaseAll { worker: worker.clone(), ready_at }).await?;
        self.wake.all();
        Ok(())
    }
    async fn lease(&self, task: TaskId) -> Result<Option<Lease>> {
        self.read(move |db| queue::lease(db, task)).await
    }
    async fn queue_depth(&self, now: Timestamp) -> Result<Depth> {
        self.read(move |db| queue::depth(db, now)).await
    }
    /// Other processes on the same file send no notifications; their work is found at the timeout.
    async fn wait_for_work(&self, at_most: Duration) -> Result<()> {
        self.wake.wait(at_most).await;
        Ok(())
    }

    async fn retain(
        &self,
        policy: &Valid<RetentionPolicy>,
        now: Timestamp,
        dry_run: bool,
    ) -> Result<RetentionReport> {
        self.writer.retain(policy.clone(), now, dry_run).await
    }
    async fn check(&self) -> Result<String> {
        let path = self.path.clone();
        self.read(move |db| connection::check(db, &path)).await
    }
    async fn schema_version(&self) -> Result<i64> {
        self.read(connection::schema_version).await
    }
    async fn snapshot(&self, to: &Path) -> Result<()> {
        let (path, to) = (self.path.clone(), to.to_owned());
        self.read(move |_| connection::copy(&path, &to)).await
    }
}
