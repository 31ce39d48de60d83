//! MCP over Streamable HTTP: with sessions up to 2025-11-25, stateless from 2026-07-28 on.
//!
//! Invariants
//! - Requests with a Host or Origin that is not allowed never reach the gateway. By default only
//!   loopback is allowed.
//! - A session belongs to the user who opened it. It is closed when idle, but not while a call
//!   runs.
//! - A server that stops accepts no new calls, waits for running calls, then closes the streams.

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

/// Authenticates a request from its headers and the extensions of outer middleware.
pub type Check = Arc<dyn Fn(&axum::http::request::Parts) -> Result<Caller, Refused> + Send + Sync>;

/// A rejected request.
#[derive(Debug, Clone)]
pub struct Refused {
    /// `401` or `403`.
    pub status: StatusCode,
    /// The value of `WWW-Authenticate`.
    pub challenge: Option<String>,
    /// The message for the client.
    pub message: String,
}

/// The options of MCP over HTTP.
#[derive(Clone)]
pub struct Options {
    /// The path.
    pub path: String,
    /// The allowed hosts, with or without a port.
    pub hosts: Vec<String>,
    /// The allowed origins; `:*` stands for any port.
    pub origins: Vec<String>,
    /// The maximum size of a request.
    pub body_bytes: usize,
    /// The maximum number of open sessions.
    pub sessions: usize,
    /// The idle timeout of a session.
    pub idle: Duration,
    /// The page size of lists.
    pub page: usize,
    /// The keep-alive interval of an idle stream.
    pub keep_alive: Duration,
    /// How long a server that stops waits for running calls.
    pub grace: Duration,
    /// Authenticates requests. Without it every client is the owner.
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

/// The HTTP sessions and their idle timeout.
pub(super) struct HttpSessions {
    pub(super) sessions: Arc<LocalSessionManager>,
    pub(super) idle: Duration,
}

/// Keeps one session from being closed as idle.
pub(super) struct Keep {
    sessions: Arc<LocalSessionManager>,
    id: SessionId,
    pause: Duration,
}

impl Keep {
    /// The session id of a request, if it has one.
    pub(super) fn session_id(context: &RequestContext<RoleServer>) -> Option<String> {
        let parts = context.extensions.get::<axum::http::request::Parts>()?;
        Some(parts.headers.get(guard::SESSION)?.to_str().ok()?.to_owned())
    }

    pub(super) fn new(hold: &HttpSessions, context: &RequestContext<RoleServer>) -> Option<Self> {
        let id = Self::session_id(context)?.into();
        Some(Self { sessions: hold.sessions.clone(), id, pause: hold.idle / 3 })
    }

    /// Waits for a third of the idle timeout, then resets it. Closing a stream that does not exist
    /// counts as activity and has no other effect.
    pub(super) async fn reset_idle_timer(&self) {
        tokio::time::sleep(self.pause).await;
        let handle = self.sessions.sessions.read().await.get(&self.id).cloned();
        if let Some(handle) = handle {
            drop(handle.close_request_wise_channel(u64::MAX).await);
        }
    }
}

/// The parts of the HTTP service.
struct Service {
    router: Router,
    shared: Arc<Shared>,
    sessions: Arc<LocalSessionManager>,
    streams: CancellationToken,
    grace: Duration,
}

/// The MCP routes, for embedding in a larger server. Streams end when `shutdown` is cancelled,
/// sessions when they are idle. The listener should disable Nagle's algorithm, as [`serve_http`]
/// does, because events are small.
pub fn router(gateway: Arc<dyn Gateway>, options: &Options, shutdown: CancellationToken) -> Router {
    service(gateway, options, shutdown).router
}

fn service(gateway: Arc<dyn Gateway>, options: &Options, streams: CancellationToken) -> Service {
    let mut sessions = LocalSessionManager::default();
    let mut config = SessionConfig::default();
    config.keep_alive = Some(options.idle);
    // A broken stream can be resumed from its last event. The first event of each stream carries
    // its id.
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

/// Serves until `shutdown` is cancelled. It then waits for running calls, closes all streams and
/// returns.
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
    // Events are small and must not be delayed by Nagle's algorithm.
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
        // The remaining streams carry only notifications. Streams with a response end by
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

/// Closes the notification streams of clients.
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
