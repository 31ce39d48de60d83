//! The interface to one server. [`Server::new`] returns a [`Handle`] that is cheap to clone; its
//! supervisor starts, monitors and stops the server.
//!
//! Invariant: when the last handle is dropped, the supervisor, the connection and the process group
//! end.

use crate::error::{Error, Result};
use crate::mcp::connection::Connection;
use crate::mcp::log::Log;
use crate::mcp::state::{BackoffSettings, Breaker, Gate, State, Status};
use crate::mcp::supervisor::{Command, Supervisor};
use crate::mcp::transport::MESSAGE_BYTES;
use crate::tool::{Context, Output};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use steward_domain::{JsonObject, McpServer, ServerName, Valid};
use steward_journal::clock::{Clock, SystemClock};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Returns the value of an environment variable, if set.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The options of supervision.
#[derive(Clone)]
pub struct Options {
    /// The timeout of a start, including the handshake.
    pub start_within: Duration,
    /// How long a process may take to exit by itself, and again after SIGTERM, before it is killed.
    pub grace: Duration,
    /// The interval of health checks on an idle server.
    pub health_every: Duration,
    /// The timeout of a health check.
    pub health_within: Duration,
    /// The idle time after which a server is stopped. `None` means never.
    pub idle_stop: Option<Duration>,
    /// The delay after the first failed start. It doubles with every further failure.
    pub backoff_first: Duration,
    /// The maximum delay.
    pub backoff_most: Duration,
    /// The number of consecutive failures that opens the circuit.
    pub break_after: u32,
    /// How long the circuit stays open the first time.
    pub break_for: Duration,
    /// The maximum number of concurrent calls. Further calls wait.
    pub concurrent: usize,
    /// The maximum size of a message.
    pub message_bytes: usize,
    /// The number of log lines that are kept.
    pub log_lines: usize,
    /// The launcher that sandboxes server programs: this binary.
    pub launcher: Option<PathBuf>,
    /// Steward's home. Its `tmp/` contains the temporary folders of servers; the standard sandbox
    /// denies the rest.
    pub home: Option<PathBuf>,
    /// The folder of stored logins.
    pub logins: Option<PathBuf>,
    /// The source of values for `${NAME}`.
    pub variables: Variables,
    /// The clock for timestamps.
    pub clock: Arc<dyn Clock>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            start_within: Duration::from_secs(30),
            grace: Duration::from_millis(500),
            health_every: Duration::from_secs(30),
            health_within: Duration::from_secs(5),
            idle_stop: Some(Duration::from_secs(600)),
            backoff_first: Duration::from_millis(200),
            backoff_most: Duration::from_secs(30),
            break_after: 5,
            break_for: Duration::from_secs(30),
            concurrent: 64,
            message_bytes: MESSAGE_BYTES,
            log_lines: 500,
            launcher: None,
            home: None,
            logins: None,
            variables: Arc::new(|name| std::env::var(name).ok()),
            clock: Arc::new(SystemClock::default()),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("logins", &self.logins).finish_non_exhaustive()
    }
}

impl Options {
    pub(crate) fn patience(&self) -> BackoffSettings {
        BackoffSettings {
            first: self.backoff_first,
            most: self.backoff_most,
            failures: self.break_after,
            open: self.break_for,
        }
    }
}

/// The phase of the supervisor, for status queries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Stopped,
    Starting,
    Ready,
    Closed,
}

/// The state shared by handles and supervisor. It is locked briefly, never across an await.
#[derive(Debug, Default)]
pub(crate) struct ServerStatus {
    pub(crate) phase: Phase,
    pub(crate) breaker: Breaker,
    pub(crate) starts: u32,
    pub(crate) last_error: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) software: Option<String>,
    pub(crate) live: Option<Arc<Connection>>,
}

/// The parts of one server.
pub(crate) struct Shared {
    pub(crate) server: Valid<McpServer>,
    pub(crate) options: Options,
    pub(crate) log: Arc<Log>,
    pub(crate) changed: watch::Sender<u64>,
    seen: Mutex<ServerStatus>,
}

impl Shared {
    pub(crate) fn seen(&self) -> MutexGuard<'_, ServerStatus> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A supervised server.
#[derive(Debug, Clone, Copy)]
pub struct Server;

impl Server {
    /// Supervises a server. It is started when first needed.
    #[must_use]
    #[allow(clippy::new_ret_no_self, reason = "the handle is all that anybody needs of it")]
    pub fn new(server: Valid<McpServer>, options: Options) -> Handle {
        let log = Arc::new(Log::new(options.log_lines));
        let (changed, _) = watch::channel(0);
        let shared = Arc::new(Shared { server, options, log, changed, seen: Mutex::default() });
        let (commands, queue) = mpsc::channel(256);
        let mut tasks = JoinSet::new();
        tasks.spawn(Supervisor::new(Arc::clone(&shared), queue).run());
        Handle(Arc::new(Inner { shared, commands, _tasks: Mutex::new(tasks) }))
    }
}

struct Inner {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    // Dropped with the last handle, which ends the supervisor.
    _tasks: Mutex<JoinSet<()>>,
}

/// A handle to a server.
#[derive(Clone)]
pub struct Handle(Arc<Inner>);

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("server", &self.name()).field("state", &self.state()).finish()
    }
}

impl Handle {
    /// The name of the server.
    #[must_use]
    pub fn name(&self) -> &ServerName {
        &self.0.shared.server.name
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Valid<McpServer> {
        &self.0.shared.server
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.shared.options
    }

    /// Calls a tool by its name on the server. Starts the server if it is not running.
    ///
    /// # Errors
    /// [`Error::Timeout`] and [`Error::Cancelled`] according to the context; [`Error::ServerGone`]
    /// at once when the server disconnects, with whether the request was sent; [`Error::Failed`]
    /// when the tool reports an error.
    pub async fn call(&self, tool: &str, arguments: &JsonObject, context: &Context) -> Result<Output> {
        let full = || format!("{}.{tool}", self.name());
        let work = async {
            let connection = self.connect().await?;
            let called = connection.call_tool(tool, arguments, context).await;
            self.judge(&called);
            called
        };
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(Error::Cancelled { tool: full() }),
            called = tokio::time::timeout(context.timeout, work) => called.unwrap_or_else(|_| {
                // Either this call is slow or the server hangs. The supervisor checks the server.
                let _ = self.0.commands.try_send(Command::Suspect);
                Err(Error::Timeout { tool: full(), after: context.timeout })
            }),
        }
    }

    /// The connection of a running server.
    pub(crate) fn live(&self) -> Option<Arc<Connection>> {
        self.0.shared.seen().live.clone().filter(|live| !live.is_gone())
    }

    /// The connection; the server is started if there is none.
    pub(crate) async fn connect(&self) -> Result<Arc<Connection>> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        let (reply, answer) = oneshot::channel();
        let closed = |_| Error::ServerGone {
            server: self.name().to_string(),
            detail: "it was closed; the request had not been sent".into(),
            sent: false,
        };
        self.0.commands.send(Command::Connect(reply)).await.map_err(|_| closed(()))?;
        answer.await.map_err(|_| closed(()))?
    }

    /// Any response, even an error, shows that the server works.
    pub(crate) fn judge<T>(&self, answered: &Result<T>) {
        if matches!(answered, Ok(_) | Err(Error::Failed { .. })) {
            let mut seen = self.0.shared.seen();
            if seen.breaker.failures > 0 {
                seen.breaker.worked();
            }
        }
    }

    /// Checks that the server responds. Starts it if it is not running.
    ///
    /// # Errors
    /// The reason why it does not respond.
    pub async fn health(&self) -> Result<()> {
        let connection = self.connect().await?;
        let answered = connection.ping(self.options().health_within).await;
        self.judge(&answered);
        answered
    }

    /// The last log lines of the server.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.0.shared.log.lines()
    }

    /// The state of the server.
    #[must_use]
    pub fn state(&self) -> State {
        let seen = self.0.shared.seen();
        let now = Instant::now();
        match (seen.phase, seen.breaker.gate) {
            (Phase::Closed, _) => State::Closed,
            (Phase::Ready, _) => State::Ready,
            (Phase::Starting, _) => State::Starting,
            (Phase::Stopped, Gate::Wait(until)) if until > now => State::Backoff { retry_in: until - now },
            (Phase::Stopped, Gate::Refuse(until)) if until > now => State::Open { retry_in: until - now },
            (Phase::Stopped, _) => State::Stopped,
        }
    }

    /// The status of the server.
    #[must_use]
    pub fn status(&self) -> Status {
        let state = self.state();
        let seen = self.0.shared.seen();
        Status {
            state,
            restarts: seen.starts.saturating_sub(1),
            failures: seen.breaker.failures,
            last_error: seen.last_error.clone(),
            protocol: seen.protocol.clone(),
            software: seen.software.clone(),
        }
    }

    /// Increases when the server reports that its tools, resources or prompts changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.shared.changed.subscribe()
    }

    /// Appends a line of Steward to the server's log.
    pub(crate) fn note(&self, line: &str) {
        self.0.shared.log.push("steward", line);
    }

    /// Stops the server and waits until its process group has ended. The next call restarts it.
    pub async fn stop(&self) {
        self.order(Command::Stop).await;
    }

    /// Stops the server permanently. Calls through any handle fail from now on.
    pub async fn close(&self) {
        self.order(Command::Close).await;
    }

    async fn order(&self, command: impl FnOnce(oneshot::Sender<()>) -> Command) {
        let (done, stopped) = oneshot::channel();
        if self.0.commands.send(command(done)).await.is_ok() {
            let _ = stopped.await;
        }
    }
}
