//! Steward over HTTP: the API, the page, and other protocols, behind one middleware.
//!
//! Invariants
//! - Handlers read and write with the scope of the authenticated user. Other users' resources
//!   return 404.
//! - Work outlives its connection. An accepted question is answered and stored even if the client
//!   disconnects, and events can be resumed from the last one received.
//! - A server that stops accepts no new work, waits for running work, and loses nothing it
//!   accepted.
//!
//! This module knows HTTP only. The work itself is done by `runtime`.

mod a2a;
mod access_admin;
mod admin;
mod agents;
mod ages;
mod agui;
mod approvals;
mod artifacts;
mod audience;
mod audit;
mod boards;
mod connections;
mod conversations;
mod decide;
mod door;
mod etag;
mod extract;
mod listen;
mod members;
mod once;
mod openai;
mod openapi;
mod page;
mod problem;
mod protected_resource;
mod records;
mod runs;
mod schedules;
mod shares;
mod sign_in;
mod stream;
mod tasks;
mod tools;
mod turns;
mod uploads;
mod verified;
mod witness;

pub use audience::NoticeOptions;
pub use listen::serve;
pub use witness::LogWitness;

use crate::identity::{AccessJournal, AuthMethod, Directory, Identity, Right, caller_of};
use crate::mcp;
use crate::slack::Slack;
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::get;
use openapi::Api;
use problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{Coded as _, Timestamp};
use steward_journal::clock::Clock;
use steward_journal::note::NoteSigner;
use steward_policy::Caller;
use steward_runtime::ask::AppContext;
use steward_runtime::board::BoardCache;
use steward_runtime::converse::ChatService;
use steward_runtime::run::Runner;
use steward_runtime::toolbox::Toolbox;
use steward_store::{Page as StorePage, Scope, Store};
use steward_telemetry::Metrics;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

/// The options of the HTTP server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The accepted host names; `*` accepts every name.
    pub hosts: Vec<String>,
    /// Other origins whose pages may use the API.
    pub origins: Vec<String>,
    /// Whether loopback requests are authenticated as the owner while no users are configured.
    pub loopback_owner: bool,
    /// The maximum number of requests per minute for one identity.
    pub per_minute: u32,
    /// The maximum number of concurrent turns. Above it, clients get 429.
    pub at_once: usize,
    /// How long running work may take to finish when the server stops.
    pub drain: Duration,
    /// Whether cookies require TLS.
    pub secure_cookies: bool,
    /// Whether every request is logged to stderr.
    pub log: bool,
    /// The home directory. Uploads are stored below it.
    pub home: PathBuf,
}

/// The shared state of all handlers.
pub struct AppState {
    pub(crate) chat: Arc<ChatService>,
    runner: Runner,
    directory: Arc<Directory>,
    access: AccessJournal,
    signer: Arc<NoteSigner>,
    metrics: Option<Metrics>,
    shown: Json,
    options: Options,
    turns: turns::Turns,
    histories: openai::Histories,
    uploading: tokio::sync::Semaphore,
    a2a: a2a::Tasks,
    limiter: door::Limiter,
    once: once::IdempotencyCache,
    boards: BoardCache,
    /// Background work that outlives its request.
    work: TaskTracker,
    /// Cancelled when no new work is accepted.
    stopping: CancellationToken,
    /// Cancelled when open event streams must end.
    over: CancellationToken,
    page: page::Page,
    /// The witness for the logs of other servers.
    witness: std::sync::OnceLock<Arc<witness::LogWitness>>,
}

/// The state as handlers hold it.
pub(crate) type Shared = Arc<AppState>;

/// The parts of an [`AppState`].
pub struct Parts {
    /// The chat service.
    pub chat: Arc<ChatService>,
    /// Runs workflows and agents.
    pub runner: Runner,
    /// The users, roles and keys.
    pub directory: Arc<Directory>,
    /// Signs exports of the journal.
    pub signer: Arc<NoteSigner>,
    /// The collected metrics.
    pub metrics: Option<Metrics>,
    /// The settings that administrators see, without secrets.
    pub shown: Json,
    /// The options.
    pub options: Options,
}

impl AppState {
    /// Builds the state from its parts.
    #[must_use]
    pub fn new(parts: Parts) -> Arc<Self> {
        let Parts { chat, runner, directory, signer, metrics, shown, options } = parts;
        let app = chat.toolbox().app();
        let access = AccessJournal::new(app.store.clone(), app.clock.clone());
        uploads::clean(&options.home);
        Arc::new(Self {
            turns: turns::Turns::new(options.at_once),
            chat,
            runner,
            directory,
            signer,
            metrics,
            shown,
            options,
            histories: openai::Histories::default(),
            uploading: tokio::sync::Semaphore::new(uploads::AT_ONCE),
            a2a: a2a::Tasks::default(),
            limiter: door::Limiter::default(),
            once: once::IdempotencyCache::default(),
            boards: BoardCache::default(),
            work: TaskTracker::new(),
            stopping: CancellationToken::new(),
            over: CancellationToken::new(),
            page: page::Page::default(),
            witness: std::sync::OnceLock::new(),
            access,
        })
    }

    fn toolbox(&self) -> &Arc<Toolbox> {
        self.chat.toolbox()
    }

    fn app(&self) -> &AppContext {
        self.toolbox().app()
    }

    fn store(&self) -> &Arc<dyn Store> {
        &self.app().store
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.app().clock
    }

    fn now(&self) -> Timestamp {
        self.clock().now()
    }

    fn new_id(&self) -> Result<Uuid, Problem> {
        Ok(self.app().random.uuid_v7(self.now())?)
    }

    /// The caller of policy for an identity.
    fn caller(&self, identity: &Identity) -> Caller {
        caller_of(identity, &self.toolbox().registry().snapshot())
    }

    fn log(
        &self,
        method: &Method,
        path: &str,
        status: StatusCode,
        took: Duration,
        id: &str,
        user: Option<&str>,
    ) {
        if self.options.log {
            let at = self.now();
            eprintln!(
                "{}",
                json!({ "at": at, "method": method.as_str(), "path": path, "status": status.as_u16(), "ms": took.as_millis() as u64, "request_id": id, "user": user })
            );
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Loads the configured tools and sources in the background, so that the first question does
    /// not wait for them.
    pub fn warm(self: &Arc<Self>) {
        let site = self.clone();
        self.work.spawn(async move {
            let owner = Caller::owner(site.directory.machine_owner().clone());
            let read = site.chat.reader(&owner, &[]);
            let _error_is_reported_on_request = site.stopping.run_until_cancelled(read).await;
        });
    }

    /// Accepts no new work and waits for running work. Work that does not finish in time is
    /// cancelled and ends with that reason.
    pub async fn drain(&self) {
        self.stopping.cancel();
        self.work.close();
        if tokio::time::timeout(self.options.drain, self.work.wait()).await.is_err() {
            self.turns.stop_all();
            let _remaining_work_is_dropped =
                tokio::time::timeout(Duration::from_secs(5), self.work.wait()).await;
        }
        self.over.cancel();
    }
}

/// The store scope of an identity.
fn scope(identity: &Identity) -> Scope {
    Scope::User(identity.user.clone())
}

/// One page of a list.
#[derive(Serialize, JsonSchema)]
struct Listed<T> {
    items: Vec<T>,
    next: Option<String>,
}

/// The paging parameters.
#[derive(Debug, Deserialize)]
struct Paging {
    limit: Option<u32>,
    cursor: Option<String>,
}

/// The maximum page size.
const MOST: u32 = 200;

impl Paging {
    /// The page of the store, with one more item to detect a next page.
    fn page(&self) -> Result<StorePage, Problem> {
        let limit = self.limit.unwrap_or(50);
        if !(1..=MOST).contains(&limit) {
            return Err(Problem::input(format!("limit must be from 1 to {MOST}, found {limit}")));
        }
        let offset = match self.cursor.as_deref().filter(|cursor| !cursor.is_empty()) {
            None => 0,
            Some(cursor) => cursor
                .strip_prefix('p')
                .and_then(|rest| rest.parse().ok())
                .filter(|offset| *offset < 10_000_000)
                .ok_or_else(|| Problem::input("cursor is not one that `next` gave"))?,
        };
        Ok(StorePage { limit: limit + 1, offset })
    }

    fn listed<T>(page: StorePage, mut items: Vec<T>) -> Listed<T> {
        let limit = page.limit.saturating_sub(1);
        let more = items.len() > limit as usize;
        items.truncate(limit as usize);
        Listed { items, next: more.then(|| format!("p{}", page.offset + limit)) }
    }
}

/// The largest document that the response middleware buffers.
const MAX_BUFFERED_RESPONSE: usize = 64 * 1024 * 1024;
/// The maximum body size, unless a route sets another.
const BODY: usize = 1024 * 1024;

/// The maximum body size of a path. A larger `Content-Length` is rejected at once.
fn largest(path: &str) -> u64 {
    let most = match path {
        "/api/v1/uploads" => uploads::LARGEST,
        "/mcp" => 4 * BODY,
        _ => BODY,
    };
    most as u64
}

/// All routes, behind the middleware.
pub fn router(site: &Arc<AppState>, gateway: Arc<dyn mcp::Gateway>, slack: Option<Arc<Slack>>) -> Router {
    let mut api = Api::new();
    turns::routes(&mut api);
    conversations::routes(&mut api);
    uploads::routes(&mut api);
    tasks::routes(&mut api);
    runs::routes(&mut api);
    approvals::routes(&mut api);
    tools::routes(&mut api);
    records::routes(&mut api);
    verified::routes(&mut api);
    schedules::routes(&mut api);
    boards::routes(&mut api);
    audit::routes(&mut api);
    artifacts::routes(&mut api);
    agents::routes(&mut api);
    access_admin::routes(&mut api);
    connections::routes(&mut api);
    shares::routes(&mut api);
    sign_in::routes(&mut api);
    admin::routes(&mut api);
    openai::routes(&mut api);
    agui::routes(&mut api);
    a2a::routes(&mut api);
    witness::routes(&mut api);
    protected_resource::routes(&mut api);
    api.get("/health", "Whether the process lives").open().gives_object(200, "It does.").to(get(health));
    api.get("/ready", "Whether it takes work").open().gives_object(200, "It does.").to(get(ready));
    let (routes, document) = api.finish(env!("CARGO_PKG_VERSION"));
    let document = Arc::new(document.to_string());
    let described = move || {
        let document = document.clone();
        async move { ([("content-type", "application/json")], document.to_string()) }
    };
    let routes = routes
        .route("/", get(page::serve))
        .route("/openapi.json", get(described))
        .route("/metrics", get(metrics))
        .fallback(page::serve)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn(etag::tag))
        .layer(from_fn_with_state(site.clone(), once::once))
        .layer(DefaultBodyLimit::max(BODY));
    let mcp = mcp_router(site, gateway);
    // Requests from Slack are authenticated by their signature.
    let slack = slack.map_or_else(Router::new, crate::slack::router);
    routes
        .with_state(site.clone())
        .merge(mcp)
        .merge(slack)
        .layer(from_fn_with_state(site.clone(), door::admit))
        .layer(from_fn(openai::in_form))
        .layer(from_fn_with_state(site.clone(), protected_resource::challenge))
}

/// MCP over Streamable HTTP, for authenticated callers.
fn mcp_router(site: &Arc<AppState>, gateway: Arc<dyn mcp::Gateway>) -> Router {
    let known = site.clone();
    let options = mcp::Options {
        hosts: vec!["localhost".into(), "127.0.0.1".into(), "[::1]".into()]
            .into_iter()
            .chain(site.options.hosts.clone())
            .collect(),
        check: Some(Arc::new(move |parts| {
            let identity = parts.extensions.get::<Identity>().ok_or_else(|| mcp::Refused {
                status: StatusCode::UNAUTHORIZED,
                challenge: Some("Bearer realm=\"steward\"".to_owned()),
                message: crate::identity::Error::Nobody.to_string(),
            })?;
            if !identity.may(Right::Tools) {
                return Err(mcp::Refused {
                    status: StatusCode::FORBIDDEN,
                    challenge: None,
                    message: format!("{} does not hold `tools` here", identity.user),
                });
            }
            // Over loopback the user of the client is the owner. Otherwise roles decide which
            // approvals count.
            let held = (identity.by != AuthMethod::Loopback).then(|| {
                let caller = known.caller(identity);
                // A key without the run scope cannot run workflows over MCP either.
                let administrator = caller.administrator && identity.may(Right::Run);
                Arc::new(Caller { administrator, ..caller })
            });
            let all = || std::collections::BTreeSet::from(["*".to_owned()]);
            let approve = match &identity.grants {
                _ if !identity.may(Right::Approve) => std::collections::BTreeSet::new(),
                Some(role) => role.approve.clone(),
                None => all(),
            };
            let decides = identity.roles.iter().filter(|_| identity.may(Right::Approve));
            let roles = decides.cloned().collect();
            Ok(mcp::Caller { user: identity.user.to_string(), grants: None, held, approve, roles })
        })),
        ..mcp::Options::default()
    };
    mcp::router(gateway, &options, site.over.clone())
}

async fn health() -> impl IntoResponse {
    axum::Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// The timeout of the store in the readiness check.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

fn late() -> Problem {
    let detail = format!("the store does not answer within {} s", STORE_TIMEOUT.as_secs());
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "STO009", detail)
}

/// Ready when the server accepts work and the store answers within a deadline.
async fn ready(State(site): State<Shared>) -> Result<impl IntoResponse, Problem> {
    if site.is_stopping() {
        return Err(Problem::stopping());
    }
    let store = site.store();
    let asked = tokio::time::timeout(STORE_TIMEOUT, store.schema_version()).await;
    let version = asked.map_err(|_| late())?.map_err(|error| {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            error.code(),
            format!("the store does not answer: {error}"),
        )
    })?;
    Ok(axum::Json(json!({ "status": "ready", "schema": version, "running": site.turns.running() })))
}

/// Metrics for Prometheus. Only administrators may read them.
async fn metrics(
    State(site): State<Shared>,
    extract::Authenticated(identity): extract::Authenticated,
) -> Result<impl IntoResponse, Problem> {
    if !identity.may(Right::Admin) {
        return Err(Problem::denied("metrics are for administrators"));
    }
    let told = site.metrics.as_ref().map(Metrics::render).unwrap_or_default();
    Ok(([("content-type", Metrics::CONTENT_TYPE)], told))
}

async fn wrong_method() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "WEB010",
        "this address does not take that method. /openapi.json says which it takes",
    )
}
