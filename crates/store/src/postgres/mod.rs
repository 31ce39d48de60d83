//! PostgreSQL: for more than one process or machine. The conformance suite checks that it behaves
//! like SQLite.

mod analytics;
mod approvals;
mod changes;
mod connection;
mod conversations;
mod documents;
mod dump;
mod executions;
mod journal;
mod model_usage;
mod queue;
mod recipes;
mod retention;
mod saved;
mod tools;

use crate::audit::RawPayload;
use crate::change::{Commit, Committed, GateDecision};
use crate::error::Result;
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
use connection::Database;
use std::path::Path;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;
use steward_domain::{
    AgentExecution, AnalysisRequest, Artifact, ChainId, Checkpoint, Conversation, ConversationEntity,
    ConversationId, DomainName, ExecutionId, Label, Message, ModelUsage, Plan, Recipe, RecipeId,
    RetentionPolicy, SavedItem, SavedKind, ScheduleId, ScheduleTick, SemanticVersion, Sha256Hex,
    SubAgentSession, Task, TaskId, Timestamp, ToolDefinition, ToolInvocation, ToolName, UserId, Valid,
};
use steward_journal::ChainTip;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use uuid::Uuid;

/// A store in a PostgreSQL database. Replicas that use the same database share its log and its key.
pub struct PostgresStore {
    db: Database,
    options: StoreOptions,
    committed: Arc<Notify>,
    wake: Arc<Wake>,
    listening: Once,
    /// Background tasks: adding committed entries to the log, and listening for work. They end when
    /// this set is dropped.
    background: Mutex<JoinSet<()>>,
}

impl PostgresStore {
    /// Connects and migrates the schema. The role in the address owns the tables; all work runs
    /// under the two roles that the first migration creates.
    pub async fn open(address: &str, options: StoreOptions) -> Result<Self> {
        let db = Database::connect(address, i64::MAX).await?;
        journal::check_key(&db, &options.signer).await?;
        let committed = Arc::new(Notify::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(journal::integrate_forever(db.clone(), options.clone(), committed.clone()));
        let (wake, background) = (Arc::default(), Mutex::new(tasks));
        Ok(Self { db, options, committed, wake, listening: Once::new(), background })
    }

    /// Creates the schema at an older version, for the migration test.
    #[doc(hidden)]
    pub async fn create_at_version(address: &str, version: i64) -> Result<()> {
        Database::connect(address, version).await.map(drop)
    }

    /// Restores a file written by [`Store::snapshot`] into an empty database.
    pub async fn restore(address: &str, from: &Path) -> Result<()> {
        dump::read(address, from).await
    }

    /// Tables with user data that lack forced row-level security; should be empty.
    pub async fn unprotected_tables(&self) -> Result<Vec<String>> {
        self.db.unprotected_tables().await
    }
}

/// For tests.
#[cfg(feature = "conformance")]
impl PostgresStore {
    /// The query plan, as JSON, of finding the user whose task is claimed next.
    pub async fn explain_claim_for_test(&self, now: Timestamp, limit: u32) -> Result<serde_json::Value> {
        queue::explain(&self.db, now, limit).await
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn commit(&self, scope: &Scope, commit: Commit) -> Result<Committed> {
        may_write(scope, &commit)?;
        let committed = changes::apply(&self.db, &self.options, scope, commit).await?;
        if !committed.entries.is_empty() {
            self.committed.notify_one();
        }
        Ok(committed)
    }

    async fn conversation(&self, scope: &Scope, id: ConversationId) -> Result<Option<Valid<Conversation>>> {
        conversations::one(&mut self.db.begin(scope).await?, id).await
    }
    async fn conversations(
        &self,
        scope: &Scope,
        filter: ConversationFilter,
        page: Page,
    ) -> Result<Vec<Valid<Conversation>>> {
        conversations::list(&mut self.db.begin(scope).await?, &filter, page).await
    }
    async fn window(&self, scope: &Scope, id: ConversationId, size: u32) -> Result<Vec<Valid<Message>>> {
        conversations::window(&mut self.db.begin(scope).await?, id, size).await
    }
    async fn history(&self, scope: &Scope, id: ConversationId, page: Page) -> Result<Vec<Valid<Message>>> {
        conversations::history(&mut self.db.begin(scope).await?, id, page).await
    }
    async fn entities(
        &self,
        scope: &Scope,
        id: ConversationId,
        search: EntitySearch,
        limit: u32,
    ) -> Result<Vec<Valid<ConversationEntity>>> {
        conversations::entities(&mut self.db.begin(scope).await?, id, &search, limit).await
    }

    async fn execution(&self, scope: &Scope, id: ExecutionId) -> Result<Option<Valid<AgentExecution>>> {
        executions::one(&mut self.db.begin(scope).await?, id).await
    }
    async fn executions(
        &self,
        scope: &Scope,
        filter: ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Valid<AgentExecution>>> {
        executions::list(&mut self.db.begin(scope).await?, &filter, page).await
    }
    async fn invocations(
        &self,
        scope: &Scope,
        filter: InvocationFilter,
        page: Page,
    ) -> Result<Vec<Valid<ToolInvocation>>> {
        executions::invocations(&mut self.db.begin(scope).await?, &filter, page).await
    }
    async fn model_usage(&self, scope: &Scope, from_day: &str, to_day: &str) -> Result<Vec<ModelUsage>> {
        model_usage::list(&mut self.db.begin(scope).await?, from_day, to_day).await
    }
    async fn analytics(&self, scope: &Scope, from: Timestamp, to: Timestamp) -> Result<Analytics> {
        analytics::over(&mut self.db.begin(scope).await?, from, to).await
    }

    async fn tool(
        &self,
        name: &ToolName,
        version: Option<&SemanticVersion>,
    ) -> Result<Option<Valid<ToolDefinition>>> {
        tools::one(&mut self.db.begin(&Scope::System).await?, name, version).await
    }
    async fn tools(&self, domain: Option<&DomainName>, page: Page) -> Result<Vec<Valid<ToolDefinition>>> {
        tools::list(&mut self.db.begin(&Scope::System).await?, domain, page).await
    }
    async fn nearest_tools(
        &self,
        meaning: &[f32],
        domain: Option<&DomainName>,
        limit: u32,
    ) -> Result<Vec<Nearest<Valid<ToolDefinition>>>> {
        tools::nearest(&self.db, meaning, domain, limit).await
    }

    async fn recipe(&self, scope: &Scope, id: RecipeId) -> Result<Option<Valid<Recipe>>> {
        recipes::one(&mut self.db.begin(scope).await?, id).await
    }
    async fn recipes(&self, scope: &Scope, page: Page) -> Result<Vec<Valid<Recipe>>> {
        recipes::list(&mut self.db.begin(scope).await?, page).await
    }
    async fn nearest_recipes(
        &self,
        scope: &Scope,
        schema: &Sha256Hex,
        meaning: &[f32],
        limit: u32,
    ) -> Result<Vec<Nearest<Valid<Recipe>>>> {
        recipes::nearest(&mut self.db.begin(scope).await?, schema, meaning, limit).await
    }

    async fn task(&self, scope: &Scope, id: TaskId) -> Result<Option<Valid<Task>>> {
        documents::one(&mut self.db.begin(scope).await?, "SELECT body FROM task WHERE id = $1", id.0).await
    }
    async fn tasks(&self, scope: &Scope, filter: TaskFilter, page: Page) -> Result<Vec<Valid<Task>>> {
        documents::tasks(&mut self.db.begin(scope).await?, &filter, page).await
    }
    async fn request(&self, scope: &Scope, id: TaskId) -> Result<Option<Valid<AnalysisRequest>>> {
        documents::one(
            &mut self.db.begin(scope).await?,
            "SELECT body FROM analysis_request WHERE id = $1",
            id.0,
        )
        .await
    }
    async fn plans(&self, scope: &Scope, request: TaskId) -> Result<Vec<Valid<Plan>>> {
        documents::all(
            &mut self.db.begin(scope).await?,
            "SELECT body FROM plan WHERE task_id = $1 ORDER BY created_at, id",
            request.0,
        )
        .await
    }
    async fn checkpoints(&self, scope: &Scope, task: TaskId) -> Result<Vec<Valid<Checkpoint>>> {
        documents::all(
            &mut self.db.begin(scope).await?,
            "SELECT body FROM checkpoint WHERE task_id = $1 ORDER BY sequence",
            task.0,
        )
        .await
    }
    async fn sessions(&self, scope: &Scope, task: TaskId) -> Result<Vec<Valid<SubAgentSession>>> {
        let sql = "SELECT body FROM sub_agent_session WHERE task_id = $1 ORDER BY created_at, id";
        documents::all(&mut self.db.begin(scope).await?, sql, task.0).await
    }
    async fn artifacts(&self, scope: &Scope, request: TaskId) -> Result<Vec<Valid<Artifact>>> {
        documents::all(
            &mut self.db.begin(scope).await?,
            "SELECT body FROM artifact WHERE task_id = $1 ORDER BY created_at, id",
            request.0,
        )
        .await
    }

    async fn saved(&self, scope: &Scope, kind: SavedKind, id: Uuid) -> Result<Option<Valid<SavedItem>>> {
        saved::one(&mut self.db.begin(scope).await?, kind, id).await
    }
    async fn saved_items(&self, scope: &Scope, kind: SavedKind, page: Page) -> Result<Vec<Valid<SavedItem>>> {
        saved::list(&mut self.db.begin(scope).await?, kind, page).await
    }
    async fn due_items(&self, kind: SavedKind, now: Timestamp, limit: u32) -> Result<Vec<Valid<SavedItem>>> {
        saved::due(&mut self.db.begin(&Scope::System).await?, kind, now, limit).await
    }
    async fn ticks(&self, scope: &Scope, schedule: ScheduleId, page: Page) -> Result<Vec<ScheduleTick>> {
        saved::ticks(&mut self.db.begin(scope).await?, schedule, page).await
    }
    async fn open_ticks(&self, limit: u32) -> Result<Vec<ScheduleTick>> {
        saved::open_ticks(&mut self.db.begin(&Scope::System).await?, limit).await
    }

    async fn decisions(&self, scope: &Scope, page: Page) -> Result<Vec<(UserId, GateDecision)>> {
        approvals::list(&mut self.db.begin(scope).await?, page).await
    }
    async fn lookup_rows(&self, table: LookupTable, page: Page) -> Result<Vec<LookupRow>> {
        documents::lookup_rows(&mut self.db.begin(&Scope::System).await?, table, page).await
    }
    async fn chain(&self, scope: &Scope, chain: ChainId) -> Result<Option<ChainTip>> {
        journal::tip(&mut self.db.begin(scope).await?, chain).await
    }
    async fn entries(&self, scope: &Scope, chain: ChainId, after: u64, limit: u32) -> Result<Vec<LogEntry>> {
        journal::entries(&mut self.db.begin(scope).await?, chain, after, limit).await
    }
    async fn log(&self, from: u64, limit: u32) -> Result<Vec<LogEntry>> {
        journal::log(&mut self.db.begin(&Scope::System).await?, from, limit).await
    }
    async fn chains(&self, scope: &Scope, after: Option<ChainId>, limit: u32) -> Result<Vec<ChainTip>> {
        journal::chains(&mut self.db.begin(scope).await?, after, limit).await
    }
    async fn payloads(&self, scope: &Scope, chain: ChainId) -> Result<Vec<RawPayload>> {
        journal::payloads(&mut self.db.begin(scope).await?, chain).await
    }
    async fn head(&self) -> Result<Option<Head>> {
        journal::integrate(&self.db, &self.options).await?;
        journal::head(&mut self.db.begin(&Scope::System).await?).await
    }

    async fn claim(
        &self,
        worker: &Label,
        now: Timestamp,
        lease: Duration,
        limit: u32,
        per_user: u32,
    ) -> Result<Vec<Lease>> {
        let claim = queue::Claim { worker, now, until: after(now, lease), limit, per_user };
        let claimed = claim.run(&self.db).await?;
        self.wake.pass_on(&claimed, limit);
        Ok(claimed)
    }
    async fn renew(&self, lease: &Lease, until: Timestamp) -> Result<Lease> {
        queue::renew(&self.db, lease, until).await
    }
    async fn release(&self, lease: &Lease, ready_at: Timestamp) -> Result<()> {
        queue::release(&self.db, lease, ready_at).await
    }
    async fn release_all(&self, worker: &Label, ready_at: Timestamp) -> Result<()> {
        queue::release_all(&self.db, worker, ready_at).await
    }
    async fn lease(&self, task: TaskId) -> Result<Option<Lease>> {
        queue::lease(&mut self.db.begin(&Scope::System).await?, task).await
    }
    async fn queue_depth(&self, now: Timestamp) -> Result<Depth> {
        queue::depth(&mut self.db.begin(&Scope::System).await?, now).await
    }
    /// Listening starts with the first wait; a process that never waits needs no connection for it.
    async fn wait_for_work(&self, at_most: Duration) -> Result<()> {
        self.listening.call_once(|| {
            if let Ok(mut background) = self.background.lock() {
                background.spawn(queue::listen_forever(self.db.clone(), self.wake.clone()));
            }
        });
        self.wake.wait(at_most).await;
        Ok(())
    }

    async fn retain(
        &self,
        policy: &Valid<RetentionPolicy>,
        now: Timestamp,
        dry_run: bool,
    ) -> Result<RetentionReport> {
        let report = retention::run(&self.db, &self.options, policy, now, dry_run).await?;
        self.committed.notify_one();
        Ok(report)
    }
    async fn check(&self) -> Result<String> {
        self.db.check().await
    }
    async fn schema_version(&self) -> Result<i64> {
        self.db.schema_version().await
    }
    async fn snapshot(&self, to: &Path) -> Result<()> {
        dump::write(&self.db, to).await
    }
}
