//! The supervisor of one server: starts it on demand, monitors it, and stops it.
//!
//! Invariants
//! - Only the supervisor starts and stops the server. It gives callers a connection or an error.
//! - It never blocks: starts, checks and shutdowns run as tasks that it owns, so a stop is handled
//!   at any time.
//! - Failures count until a success: a server that starts well and crashes with every call opens
//!   its circuit as well.

use crate::error::{Error, Result};
use crate::mcp::calls::DisconnectReason;
use crate::mcp::connection::Connection;
use crate::mcp::server::{Phase, Shared};
use crate::mcp::start::{Live, start};
use std::sync::Arc;
use std::time::Duration;
use steward_journal::random::{Random, SystemRandom};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Commands of handles to the supervisor.
pub(crate) enum Command {
    /// Request a connection; start the server if there is none.
    Connect(oneshot::Sender<Result<Arc<Connection>>>),
    /// A call timed out: check the server.
    Suspect,
    /// Stop. The next call restarts it.
    Stop(oneshot::Sender<()>),
    /// Stop permanently.
    Close(oneshot::Sender<()>),
}

/// The supervisor of one server.
pub(crate) struct Supervisor {
    shared: Arc<Shared>,
    commands: mpsc::Receiver<Command>,
    waiting: Vec<oneshot::Sender<Result<Arc<Connection>>>>,
    live: Option<Live>,
    starting: JoinSet<Result<Live>>,
    checks: JoinSet<(Arc<Connection>, Result<()>)>,
    endings: JoinSet<()>,
    checked: Instant,
}

impl Supervisor {
    /// A supervisor with no running server.
    pub(crate) fn new(shared: Arc<Shared>, commands: mpsc::Receiver<Command>) -> Self {
        Self {
            shared,
            commands,
            waiting: Vec::new(),
            live: None,
            starting: JoinSet::new(),
            checks: JoinSet::new(),
            endings: JoinSet::new(),
            checked: Instant::now(),
        }
    }

    /// Runs until it is closed or the last handle is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            let wake = self.wake_at();
            tokio::select! {
                command = self.commands.recv() => match command {
                    None => break,
                    Some(Command::Connect(reply)) => self.connect(reply),
                    Some(Command::Suspect) => self.check(),
                    Some(Command::Stop(done)) => {
                        self.stop().await;
                        let _ = done.send(());
                    }
                    Some(Command::Close(done)) => {
                        self.commands.close();
                        self.stop().await;
                        self.shared.seen().phase = Phase::Closed;
                        let _ = done.send(());
                        break;
                    }
                },
                Some(started) = self.starting.join_next(), if !self.starting.is_empty() => {
                    let lost = |e: tokio::task::JoinError| Err(Error::Bug { detail: e.to_string() });
                    self.settle(started.unwrap_or_else(lost));
                }
                Some(Ok((connection, healthy))) = self.checks.join_next(), if !self.checks.is_empty() => {
                    if let Err(error) = healthy {
                        connection.lose(DisconnectReason::Closed(format!("it does not answer ({error})")));
                    }
                }
                Some(_) = self.endings.join_next(), if !self.endings.is_empty() => {}
                why = lost(self.live.as_ref()) => self.crashed(why),
                () = tokio::time::sleep_until(wake) => self.wake(),
            }
        }
    }

    fn connect(&mut self, reply: oneshot::Sender<Result<Arc<Connection>>>) {
        if let Some(live) = self.live.as_ref().filter(|live| !live.connection.is_gone()) {
            let _ = reply.send(Ok(Arc::clone(&live.connection)));
            return;
        }
        let (refuses, failures) = {
            let seen = self.shared.seen();
            (seen.breaker.refuses(Instant::now()), seen.breaker.failures)
        };
        if let Some(retry_after) = refuses {
            let server = self.shared.server.name.to_string();
            let _ = reply.send(Err(Error::CircuitOpen { server, failures, retry_after }));
            return;
        }
        self.waiting.push(reply);
        self.start_if_due();
    }

    /// Starts the server if a caller waits, none is running, and the backoff is over.
    fn start_if_due(&mut self) {
        self.waiting.retain(|reply| !reply.is_closed());
        if self.waiting.is_empty() || self.live.is_some() || !self.starting.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut seen = self.shared.seen();
        if seen.breaker.next_try(now) <= now {
            seen.phase = Phase::Starting;
            drop(seen);
            self.starting.spawn(start(Arc::clone(&self.shared)));
        }
    }

    /// Handles the result of a start.
    fn settle(&mut self, started: Result<Live>) {
        match started {
            Ok(live) => {
                {
                    let info = &live.connection.info;
                    let mut seen = self.shared.seen();
                    seen.phase = Phase::Ready;
                    seen.starts = seen.starts.saturating_add(1);
                    seen.protocol = Some(info.protocol_version.to_string());
                    seen.software = info.server_info.as_ref().map(|it| format!("{} {}", it.name, it.version));
                    seen.live = Some(Arc::clone(&live.connection));
                }
                for reply in self.waiting.drain(..) {
                    let _ = reply.send(Ok(Arc::clone(&live.connection)));
                }
                self.checked = Instant::now();
                self.live = Some(live);
            }
            Err(error) => {
                // A server that requires a login works. There is no backoff, so that a call right
                // after the login succeeds.
                if matches!(error, Error::LoginNeeded { .. }) {
                    let mut seen = self.shared.seen();
                    seen.phase = Phase::Stopped;
                    seen.last_error = Some(error.to_string());
                } else {
                    self.failed(error.to_string());
                }
                for reply in self.waiting.drain(..) {
                    let _ = reply.send(Err(error.clone()));
                }
            }
        }
    }

    fn failed(&mut self, told: String) {
        self.shared.log.push("steward", &told);
        let mut seen = self.shared.seen();
        seen.phase = Phase::Stopped;
        seen.live = None;
        seen.breaker.failed(&self.shared.options.patience(), Instant::now(), chance());
        seen.last_error = Some(told);
    }

    /// Handles a lost connection.
    fn crashed(&mut self, why: DisconnectReason) {
        let told = match why {
            DisconnectReason::Closed(detail) => detail,
            DisconnectReason::Protocol(detail) => format!("it does not keep to the protocol: {detail}"),
            DisconnectReason::TooLarge(limit) => format!("it sent a message of more than {limit} bytes"),
            DisconnectReason::Stopped => "it was stopped".to_owned(),
        };
        self.failed(told);
        self.stop_live_server(Duration::ZERO);
        self.start_if_due();
    }

    /// Stops the running server in a separate task.
    fn stop_live_server(&mut self, grace: Duration) {
        if let Some(live) = self.live.take() {
            self.endings.spawn(live.end(grace));
        }
    }

    async fn stop(&mut self) {
        self.starting.shutdown().await;
        self.checks.shutdown().await;
        {
            let mut seen = self.shared.seen();
            seen.phase = Phase::Stopped;
            seen.live = None;
        }
        self.stop_live_server(self.shared.options.grace);
        for reply in self.waiting.drain(..) {
            let server = self.shared.server.name.to_string();
            let detail = "it was stopped; the request had not been sent".to_owned();
            let _ = reply.send(Err(Error::ServerGone { server, detail, sent: false }));
        }
        while self.endings.join_next().await.is_some() {}
    }

    /// The time of the next action.
    fn wake_at(&self) -> Instant {
        let now = Instant::now();
        if self.live.is_none() {
            let due = !self.waiting.is_empty() && self.starting.is_empty();
            // Without a waiting caller, no action is due.
            return if due {
                self.shared.seen().breaker.next_try(now)
            } else {
                now + Duration::from_secs(3600)
            };
        }
        let options = &self.shared.options;
        now + options
            .health_every
            .min(options.idle_stop.unwrap_or(Duration::MAX))
            .max(Duration::from_millis(10))
            / 2
    }

    fn wake(&mut self) {
        self.start_if_due();
        let Some(idle) = self.live.as_ref().and_then(|live| live.connection.idle_for()) else { return };
        let options = &self.shared.options;
        if options.idle_stop.is_some_and(|most| idle >= most) {
            {
                let mut seen = self.shared.seen();
                seen.phase = Phase::Stopped;
                seen.live = None;
            }
            self.shared.log.push("steward", "stopped: nobody needed it");
            self.stop_live_server(self.shared.options.grace);
        } else if idle.min(self.checked.elapsed()) >= options.health_every {
            self.check();
        }
    }

    /// Starts a health check in the background.
    fn check(&mut self) {
        let Some(live) = &self.live else { return };
        if !self.checks.is_empty() || live.connection.is_gone() {
            return;
        }
        self.checked = Instant::now();
        let connection = Arc::clone(&live.connection);
        let within = self.shared.options.health_within;
        self.checks.spawn(async move {
            let healthy = connection.ping(within).await;
            (connection, healthy)
        });
    }
}

/// Resolves when the connection is lost. Never resolves if no server is running.
async fn lost(live: Option<&Live>) -> DisconnectReason {
    match live {
        Some(live) => live.connection.gone().await,
        None => std::future::pending().await,
    }
}

/// A random number between 0 and 1.
fn chance() -> f64 {
    let byte = SystemRandom.bytes().ok().and_then(|bytes| bytes.first().copied());
    f64::from(byte.unwrap_or(128)) / 255.0
}
