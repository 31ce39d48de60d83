//! MCP over Streamable HTTP: sessions up to 2025-11-25, requests that stand alone from 2026-07-28
//! on.
//!
//! Invariants
//! - No request reaches the gateway whose Host or Origin is not allowed; by default only loopback
//!   is.
//! - A session belongs to who opened it, ends when it is idle, and is not idle while a call runs in
//!   it.
//! - A server that stops takes no new calls, waits for those that run, then closes the streams.

use super::gateway::{Caller, Gateway};
use super::guard::{self, RequestGuard};
use super::handler::{Handler, Shared};
use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::serve::ListenerExt as _;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Finds out who asks, from a request's headers and what a door in front of it found out.
pub type Check = Arc<dyn Fn(&axum::http::request::Parts) -> Result<Caller, Refused> + Send + Sync>;

/// Why somebody is not let in.
#[derive(Debug, Clone)]
pub struct Refused {
    /// `401` or `403`.
    pub status: StatusCode,
    /// What `WWW-Authenticate` says.
    pub challenge: Option<String>,
    /// What to do.
    pub message: String,
}

/// What can be set.
#[derive(Clone)]
pub struct Options {
    /// Where it is served.
    pub path: String,
    /// The hosts it answers to, with or without a port.
    pub hosts: Vec<String>,
    /// The origins that a browser may come from; `:*` stands for any port.
    pub origins: Vec<String>,
    /// How large a request may be.
    pub body_bytes: usize,
    /// How many sessions may be open.
    pub sessions: usize,
    /// After how much silence a session is closed.
    pub idle: Duration,
    /// How many items a page of a list holds.
    pub page: usize,
    /// How often a silent stream says that it is alive.
    pub keep_alive: Duration,
    /// How long a server that stops waits for the calls that run.
    pub grace: Duration,
    /// Who is let in. Without it, whoever reaches the port is the owner.
    pub check: Option<Check>,
}

impl Default for Options {
    fn default() -> Self {
        let loopback = ["localhost", "127.0.0.1", "[::1]"];
        let origins =
            loopback.iter().flat_map(|host| [format!("http://{host}:*"), format!("https://{host}:*")]);
        Self {
            path: "/mcp".into(),
            hosts: loopback.map(str::to_owned).to_vec(),
            origins: origins.collect(),
            body_bytes: 4 * 1024 * 1024,
            sessions: 256,
            idle: Duration::from_secs(1800),
            page: 100,
            keep_alive: Duration::from_secs(15),
            grace: Duration::from_secs(5),
            check: None,
        }
    }
}

/// The sessions over HTTP, and after how much silence they end.
pub(super) struct HttpSessions {
    pub(super) sessions: Arc<LocalSessionManager>,
    pub(super) idle: Duration,
}

/// Keeps one session from being taken for idle.
pub(super) struct Keep {
    sessions: Arc<LocalSessionManager>,
    id: SessionId,
    pause: Duration,
}

impl Keep {
    /// The session that a request belongs to, if it belongs to one.
    pub(super) fn session_id(context: &RequestContext<RoleServer>) -> Option<String> {
        let parts = context.extensions.get::<axum::http::request::Parts>()?;
        Some(parts.headers.get(guard::SESSION)?.to_str().ok()?.to_owned())
    }

    pub(super) fn new(hold: &HttpSessions, context: &RequestContext<RoleServer>) -> Option<Self> {
        let id = Self::session_id(context)?.into();
        Some(Self { sessions: hold.sessions.clone(), id, pause: hold.idle / 3 })
    }

    /// Waits for a third of the time, then makes the session hear something. Closing a stream that
    /// does not exist is heard and changes nothing.
    pub(super) async fn touch_later(&self) {
        tokio::time::sleep(self.pause).await;
        let handle = self.sessions.sessions.read().await.get(&self.id).cloned();
        if let Some(handle) = handle {
            drop(handle.close_request_wise_channel(u64::MAX).await);
        }
    }
}

/// All that serving over HTTP needs.
struct Service {
    router: Router,
    shared: Arc<Shared>,
    sessions: Arc<LocalSessionManager>,
    streams: CancellationToken,
    grace: Duration,
}

/// The handler of MCP for a larger server. Its streams end when `shutdown` is set, its sessions
/// when they are idle. Whoever listens should switch Nagle's algorithm off, as [`serve_http`] does:
/// events are small.
pub fn router(gateway: Arc<dyn Gateway>, options: &Options, shutdown: CancellationToken) -> Router {
    service(gateway, options, shutdown).router
}

fn service(gateway: Arc<dyn Gateway>, options: &Options, streams: CancellationToken) -> Service {
    let mut sessions = LocalSessionManager::default();
    let mut config = SessionConfig::default();
    config.keep_alive = Some(options.idle);
    // A stream that breaks is taken up again from its last event; the first event of each stream
    // carries its number.
    config.sse_retry = Some(Duration::from_secs(1));
    config.channel_capacity = 64;
    sessions.session_config = config;
    let sessions = Arc::new(sessions);
    let hold = HttpSessions { sessions: sessions.clone(), idle: options.idle };
    let shared = Shared::new(gateway, options.page, Some(hold), streams.clone());
    let mut config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(options.hosts.clone())
        .with_allowed_origins(options.origins.clone())
        .enforce_origin_validation()
        .with_json_response(true)
        .with_sse_keep_alive(Some(options.keep_alive))
        .with_cancellation_token(streams.clone());
    config.max_request_body_bytes = options.body_bytes;
    let one = shared.clone();
    let service = StreamableHttpService::new(move || Ok(Handler::new(one.clone())), sessions.clone(), config);
    let doorkeeper = Arc::new(RequestGuard::new(options, sessions.clone()));
    let router = Router::new()
        .route_service(&options.path, service)
        .layer(from_fn_with_state(doorkeeper, guard::admit));
    Service { router, shared, sessions, streams, grace: options.grace }
}

/// Serves until `shutdown` is set; then waits for the calls that run, closes what is open, and
/// ends.
///
/// # Errors
/// When the listener fails.
pub async fn serve_http(
    listener: TcpListener,
    gateway: Arc<dyn Gateway>,
    options: Options,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let Service { router, shared, sessions, streams, grace } =
        service(gateway, &options, CancellationToken::new());
    // Events are small and must not wait for each other.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let stopping = shutdown.clone().cancelled_owned();
    let serving = axum::serve(listener, router).with_graceful_shutdown(stopping).into_future();
    tokio::pin!(serving);
    let mut sweep = tokio::time::interval(Duration::from_secs(30));
    loop {
        tokio::select! {
            ended = &mut serving => return ended,
            _ = sweep.tick() => shared.room.sweep(),
            () = shutdown.cancelled() => break,
        }
    }
    shared.stopping.cancel();
    shared.calls.close();
    let finished = async {
        shared.calls.wait().await;
        // What is left are streams on which nothing more will come. Those with an answer end by
        // themselves.
        close_listening(&sessions).await;
    };
    let in_time = async { tokio::join!(finished, &mut serving).1 };
    let ended = tokio::time::timeout(grace, in_time).await;
    shared.off.cancel();
    shared.room.clear();
    streams.cancel();
    close_all(&sessions).await;
    match ended {
        Ok(ended) => ended,
        Err(_) => tokio::time::timeout(grace, &mut serving).await.unwrap_or(Ok(())),
    }
}

/// Closes the streams that clients listen on beside their calls.
async fn close_listening(sessions: &LocalSessionManager) {
    let open: Vec<_> = sessions.sessions.read().await.values().cloned().collect();
    for handle in open {
        drop(tokio::time::timeout(Duration::from_secs(1), handle.close_standalone_sse_stream(None)).await);
    }
}

async fn close_all(sessions: &LocalSessionManager) {
    let open: Vec<_> = sessions.sessions.write().await.drain().map(|(_, handle)| handle).collect();
    for handle in open {
        drop(tokio::time::timeout(Duration::from_secs(1), handle.close()).await);
    }
}
