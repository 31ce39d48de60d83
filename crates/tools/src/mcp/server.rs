//! One server from outside: [`Server::new`] gives a [`Handle`] that is cheap to copy; behind it a
//! supervisor starts, watches and stops the server.
//!
//! Invariant: when the last handle is dropped, the supervisor, the connection and the process group
//! go with it.

use crate::error::{Error, Result};
use crate::mcp::connection::Connection;
use crate::mcp::log::Log;
use crate::mcp::state::{Breaker, Gate, Patience, State, Status};
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

/// Gives the value of a variable of the environment, if it has one.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// How servers are supervised.
#[derive(Clone)]
pub struct Options {
    /// How long a start may take, the first exchange of messages included.
    pub start_within: Duration,
    /// How long a program has to end by itself before it is told to, and again before it is killed.
    pub grace: Duration,
    /// How often a server is asked whether it is there while nothing else is asked of it.
    pub health_every: Duration,
    /// How long that answer may take.
    pub health_within: Duration,
    /// After how long without a call a server is stopped; nothing means never.
    pub idle_stop: Option<Duration>,
    /// The pause after the first failed start; it doubles with every other failure.
    pub backoff_first: Duration,
    /// The longest such pause.
    pub backoff_most: Duration,
    /// So many failures in a row open the circuit.
    pub break_after: u32,
    /// How long the circuit stays open the first time.
    pub break_for: Duration,
    /// Calls at a time on one server; more wait for their turn.
    pub concurrent: usize,
    /// What one message may weigh.
    pub message_bytes: usize,
    /// Lines of a server's log that are kept.
    pub log_lines: usize,
    /// The program that shuts server programs in: this very binary.
    pub launcher: Option<PathBuf>,
    /// Steward's home: its `tmp/` holds the temporary folders of servers, and the standard sandbox
    /// grants none of the rest.
    pub home: Option<PathBuf>,
    /// The folder in which logins are kept.
    pub logins: Option<PathBuf>,
    /// Where values for `${NAME}` come from.
    pub variables: Variables,
    /// The time for records.
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
    pub(crate) fn patience(&self) -> Patience {
        Patience {
            first: self.backoff_first,
            most: self.backoff_most,
            failures: self.break_after,
            open: self.break_for,
        }
    }
}

/// What the supervisor is doing, for those who only look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Stopped,
    Starting,
    Ready,
    Closed,
}

/// What handles and supervisor both see. Locked for moments, never while waiting.
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

/// What belongs to one server.
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

/// A server that is supervised.
#[derive(Debug, Clone, Copy)]
pub struct Server;

impl Server {
    /// Supervises a server. Nothing is started before it is needed.
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

/// What a server is used through.
#[derive(Clone)]
pub struct Handle(Arc<Inner>);

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("server", &self.name()).field("state", &self.state()).finish()
    }
}

impl Handle {
    /// The server's name.
    #[must_use]
    pub fn name(&self) -> &ServerName {
        &self.0.shared.server.name
    }

    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> &Valid<McpServer> {
        &self.0.shared.server
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.shared.options
    }

    /// Calls a tool by the server's own name for it. Starts the server if it is not running.
    ///
    /// # Errors
    /// [`Error::Timeout`] and [`Error::Cancelled`] when the context says so; [`Error::ServerGone`]
    /// at once when the server goes away, with whether the request had been sent; [`Error::Failed`]
    /// when the tool says that it failed.
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
                // Perhaps only this call is slow, perhaps the server hangs: the supervisor finds
                // out.
                let _ = self.0.commands.try_send(Command::Suspect);
                Err(Error::Timeout { tool: full(), after: context.timeout })
            }),
        }
    }

    /// A connection, started if there is none.
    pub(crate) async fn connect(&self) -> Result<Arc<Connection>> {
        let live = self.0.shared.seen().live.clone();
        if let Some(live) = live.filter(|live| !live.is_gone()) {
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

    /// An answer, even one that says no, shows that the server works.
    pub(crate) fn judge<T>(&self, answered: &Result<T>) {
        if matches!(answered, Ok(_) | Err(Error::Failed { .. })) {
            let mut seen = self.0.shared.seen();
            if seen.breaker.failures > 0 {
                seen.breaker.worked();
            }
        }
    }

    /// Asks the server whether it is there; starts it if it is not running.
    ///
    /// # Errors
    /// Whatever keeps it from answering.
    pub async fn health(&self) -> Result<()> {
        let connection = self.connect().await?;
        let answered = connection.ping(self.options().health_within).await;
        self.judge(&answered);
        answered
    }

    /// The last lines that the server wrote beside its answers.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.0.shared.log.lines()
    }

    /// What the server is doing.
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

    /// How the server is doing.
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

    /// Counts up when the server says that its tools, resources or prompts changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.shared.changed.subscribe()
    }

    /// A line for the log from this side.
    pub(crate) fn note(&self, line: &str) {
        self.0.shared.log.push("steward", line);
    }

    /// Stops the server and waits until its process group is gone. The next call starts it again.
    pub async fn stop(&self) {
        self.order(Command::Stop).await;
    }

    /// Stops the server for good: calls through any handle are refused from now on.
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
