//! The supervisor of one server: starts it when somebody needs it, watches it, and lets it go.
//!
//! Invariants
//! - It alone starts and stops; whoever wants a connection asks it and gets one, or the reason why
//!   not.
//! - It never waits itself: starts, checks and endings run as tasks that it owns, so a stop is
//!   obeyed at any time.
//! - A failure counts until something works: a server that starts well and dies with every call
//!   opens its circuit, too.

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

/// What handles ask of the supervisor.
pub(crate) enum Command {
    /// A connection, started if there is none.
    Connect(oneshot::Sender<Result<Arc<Connection>>>),
    /// A call took too long: look whether the server is there.
    Suspect,
    /// Stop; the next call starts again.
    Stop(oneshot::Sender<()>),
    /// Stop for good.
    Close(oneshot::Sender<()>),
}

/// What watches one server.
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
    /// Nothing runs yet.
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

    /// Runs until it is closed or the last handle is gone.
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

    /// Starts when somebody waits, nothing runs, and the pause after the last failure is over.
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

    /// A start came to its end.
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
                // A server that wants a login works; once somebody has logged in, nobody shall
                // wait.
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

    /// The connection ended by itself.
    fn crashed(&mut self, why: DisconnectReason) {
        let told = match why {
            DisconnectReason::Closed(detail) => detail,
            DisconnectReason::Protocol(detail) => format!("it does not keep to the protocol: {detail}"),
            DisconnectReason::TooLarge(limit) => format!("it sent a message of more than {limit} bytes"),
            DisconnectReason::Stopped => "it was stopped".to_owned(),
        };
        self.failed(told);
        self.let_go(Duration::ZERO);
        self.start_if_due();
    }

    /// Ends what runs, in a task of its own.
    fn let_go(&mut self, grace: Duration) {
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
        self.let_go(self.shared.options.grace);
        for reply in self.waiting.drain(..) {
            let server = self.shared.server.name.to_string();
            let detail = "it was stopped; the request had not been sent".to_owned();
            let _ = reply.send(Err(Error::ServerGone { server, detail, sent: false }));
        }
        while self.endings.join_next().await.is_some() {}
    }

    /// When something may be due next.
    fn wake_at(&self) -> Instant {
        let now = Instant::now();
        if self.live.is_none() {
            let due = !self.waiting.is_empty() && self.starting.is_empty();
            // Nobody waits: nothing is due before somebody does.
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
            self.let_go(self.shared.options.grace);
        } else if idle.min(self.checked.elapsed()) >= options.health_every {
            self.check();
        }
    }

    /// Looks whether the server is there, beside everything else.
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

/// Resolves when what runs is lost; never when nothing runs.
async fn lost(live: Option<&Live>) -> DisconnectReason {
    match live {
        Some(live) => live.connection.gone().await,
        None => std::future::pending().await,
    }
}

/// From 0 to 1.
fn chance() -> f64 {
    let byte = SystemRandom.bytes().ok().and_then(|bytes| bytes.first().copied());
    f64::from(byte.unwrap_or(128)) / 255.0
}
