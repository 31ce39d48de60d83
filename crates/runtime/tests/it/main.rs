//! Questions from end to end, with a real store, real files and the real journal.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::needless_pass_by_value,
    reason = "a test may fail loudly"
)]

mod answers;
mod approvals;
mod boards;
mod callers;
mod chat_servers;
mod conversations;
mod cut_off;
mod data_talks;
mod decide;
mod decisions;
mod documented;
mod edges;
mod fake_model;
mod live_model;
mod model_proposals;
mod model_turns;
mod plan_first;
mod records;
mod runs;
mod schedules;
mod secrets;
mod semantics;
mod server_resources;
mod stories;
mod talks;
mod toolbox;
mod verified;
mod walkthroughs;
mod workers;
mod workflow_examples;

use async_trait::async_trait;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use steward_analysis::session::Options;
use steward_domain::{ChainId, Constraints, RequestPolicy, TaskId, UserId};
use steward_journal::clock::SystemClock;
use steward_journal::keys;
use steward_journal::random::{Random as _, SystemRandom};
use steward_journal::redact::Redactor;
use steward_language::Encoder;
use steward_models::{Model, ModelError, Reply, Request};
use steward_policy::Caller;
use steward_runtime::Grants;
use steward_runtime::ask::{Answer, AppContext, Ask, Planner};
use steward_store::postgres::PostgresStore;
use steward_store::sqlite::SqliteStore;
use steward_store::{Scope, Store, StoreOptions};
use steward_tools::registry::Registry;

/// One for all tests: it remembers what it worked out.
static ENCODER: LazyLock<Arc<Encoder>> = LazyLock::new(Arc::default);

/// A app in a folder of its own.
pub(crate) struct Fixture {
    pub(crate) app: AppContext,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) grants: Arc<People>,
}

/// What people hold: everything, unless a test says otherwise.
#[derive(Default)]
pub(crate) struct People(Mutex<BTreeMap<UserId, Result<Caller, String>>>);

impl People {
    /// From now on this person holds that, or is not let in.
    pub(crate) fn set(&self, user: UserId, held: Result<Caller, &str>) {
        self.0.lock().unwrap().insert(user, held.map_err(str::to_owned));
    }
}

impl Grants for People {
    fn of(&self, user: &UserId, _: &Registry) -> Result<Caller, String> {
        let known = self.0.lock().unwrap().get(user).cloned();
        known.unwrap_or_else(|| Ok(Caller::owner(user.clone())))
    }
}

/// Stands for a model: gives the same reply to everything.
pub(crate) struct Parrot(pub(crate) serde_json::Value);

#[async_trait]
impl Model for Parrot {
    fn name(&self) -> &str {
        "parrot"
    }
    async fn complete(&self, _: &Request) -> Result<Reply, ModelError> {
        Ok(Reply {
            text: self.0.to_string(),
            json: Some(self.0.clone()),
            input_tokens: 1,
            output_tokens: 1,
            cost_micros: None,
            model: "parrot".to_owned(),
        })
    }
}

pub(crate) fn user() -> UserId {
    UserId::new("ana").unwrap()
}

/// A new database on the test server, as `cargo xtask services -- cargo test` starts one.
pub(crate) async fn database() -> Option<String> {
    let Ok(server) = std::env::var("STEWARD_TEST_POSTGRES") else {
        assert!(
            std::env::var("STEWARD_SKIP").is_ok_and(|skip| skip.contains("postgres")),
            "no PostgreSQL: run `cargo xtask services -- cargo test`, or set STEWARD_SKIP=postgres"
        );
        println!("skipped: postgres, as STEWARD_SKIP asks");
        return None;
    };
    let name = format!("t{}", SystemRandom.uuid_v4().unwrap().simple());
    let mut connection =
        <sqlx::PgConnection as sqlx::Connection>::connect(&format!("{server}/postgres")).await.unwrap();
    let create = sqlx::raw_sql(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}")));
    create.execute(&mut connection).await.unwrap();
    Some(format!("{server}/{name}"))
}

fn store_options(folder: &Path) -> StoreOptions {
    let signer = keys::load_or_create(&folder.join("journal.key"), &SystemRandom).unwrap();
    StoreOptions {
        clock: Arc::new(SystemClock::default()),
        random: Arc::new(SystemRandom),
        redactor: Arc::new(Redactor::default()),
        signer: Arc::new(signer),
    }
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("state.db"), store_options(folder.path())).unwrap();
        Self::over(folder, Arc::new(store))
    }

    /// A app over a new database of the test server.
    pub(crate) async fn on_postgres() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let store = PostgresStore::open(&database().await?, store_options(folder.path())).await.unwrap();
        Some(Self::over(folder, Arc::new(store)))
    }

    fn over(folder: tempfile::TempDir, store: Arc<dyn Store>) -> Self {
        let app = AppContext {
            store,
            clock: Arc::new(SystemClock::default()),
            random: Arc::new(SystemRandom),
            artifacts: folder.path().join("artifacts"),
            encoder: ENCODER.clone(),
            model: None,
            samples_to_model: false,
            model_name: steward_domain::Label::new("model").unwrap(),
            ledger: Default::default(),
            options: Options::default(),
        };
        Self { app, folder, grants: Arc::default() }
    }

    pub(crate) fn with_model(mut self, reply: serde_json::Value) -> Self {
        self.app.model = Some(Arc::new(Parrot(reply)));
        self
    }

    pub(crate) async fn ask(&self, ask: Ask) -> Answer {
        self.app.ask(&ask, &|_| {}).await.unwrap()
    }

    /// What the journal says of a request: event types in order, with their data.
    pub(crate) async fn journal(&self, task: TaskId) -> Vec<(String, serde_json::Value)> {
        let scope = Scope::User(user());
        let entries = self.app.store.entries(&scope, ChainId::from(task), 0, 1000).await.unwrap();
        entries
            .iter()
            .map(|entry| {
                (
                    entry.entry.event_type.name().to_owned(),
                    serde_json::from_str(&entry.entry.event_data).unwrap(),
                )
            })
            .collect()
    }

    /// How often an event happened.
    pub(crate) async fn count(&self, task: TaskId, event: &str) -> usize {
        self.journal(task).await.iter().filter(|(name, _)| name == event).count()
    }
}

pub(crate) fn retail(file: &str) -> String {
    let root = Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/runtime")).ancestors().nth(2).unwrap();
    root.join("examples/retail").join(file).display().to_string()
}

pub(crate) fn ask(question: &str, data: &[String]) -> Ask {
    Ask {
        tables: Default::default(),
        rows: Default::default(),
        question: question.to_owned(),
        data: data.to_vec(),
        conversation: None,
        user: user(),
        deliver: Vec::new(),
        out: None,
        planner: None,
        policy: RequestPolicy::default(),
        constraints: Constraints::default(),
    }
}

pub(crate) fn local(question: &str, data: &[String]) -> Ask {
    Ask { planner: Some(Planner::Local), ..ask(question, data) }
}

pub(crate) fn write(folder: &Path, name: &str, content: &str) -> String {
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.display().to_string()
}
