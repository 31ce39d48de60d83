//! Drives one call to its end, sends its notifications and receives the client's responses.
//!
//! Invariant: the task that handles the request polls the call, so that the library can relate a
//! prompt to its request. Notifications made before the result are sent before it.

use super::convert;
use super::gateway::{Failure, Message, ResourceBody};
use super::session::{Ask, Note, SessionChannels};
use super::tasks::DetachedCall;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use steward_tools::{Output, Progress};
use tokio_util::sync::CancellationToken;

/// The result of a request.
pub(super) enum Reply {
    Tool(Output),
    Prompt(Vec<Message>),
    Read(Vec<ResourceBody>),
}

/// The outcome of a request of any kind.
pub(super) type Outcome = Result<Reply, Failure>;

/// How long a call may continue after it was cancelled.
const GRACE: Duration = Duration::from_secs(5);
/// The timeout for a client's response to a prompt.
const ANSWER: Duration = Duration::from_secs(600);

/// The current connection of a call.
pub(super) struct Round {
    pub(super) peer: Peer<RoleServer>,
    pub(super) token: Option<ProgressToken>,
    pub(super) cancel: CancellationToken,
    /// Cancelled when the server's grace period for running calls is over.
    pub(super) off: CancellationToken,
    /// Whether prompts are server requests (up to 2025-11-25) or results (from 2026-07-28 on).
    pub(super) may_request: bool,
    /// Keeps the HTTP session from being closed as idle while the call runs.
    pub(super) keep: Option<super::http::Keep>,
    /// The time after which a call becomes a task, if the client supports tasks.
    pub(super) patience: Option<Duration>,
}

impl Round {
    async fn called_off(&self) {
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.off.cancelled() => {}
        }
    }
}

/// A running call.
pub(super) struct Running {
    call: Pin<Box<dyn Future<Output = Outcome> + Send>>,
    wires: SessionChannels,
}

/// Why driving a call stopped.
pub(super) enum Step {
    /// The call ended.
    Done(Outcome),
    /// The call waits for responses of the client and then continues.
    Asks(Running, Ask),
    /// The call continues as a task: a task of the gateway with this id, or one of this server.
    Detached(Running, Option<String>),
    /// The call was cancelled and did not end in time.
    Dropped,
}

impl Running {
    pub(super) fn new(
        mut call: Pin<Box<dyn Future<Output = Outcome> + Send>>,
        wires: SessionChannels,
    ) -> Self {
        // A panic in one call becomes that call's result, so that the client does not wait.
        let guarded = poll_fn(move |context| {
            let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context)));
            polled.unwrap_or_else(|_| Poll::Ready(Err(Failure::fault())))
        });
        Self { call: Box::pin(guarded), wires }
    }

    /// Drives the call until it ends, prompts the client, or becomes a task.
    pub(super) async fn drive(mut self, round: &Round) -> Step {
        let mut asking: Option<Pin<Box<dyn Future<Output = ()> + Send>>> = None;
        let mut grace: Option<Pin<Box<tokio::time::Sleep>>> = None;
        let mut patience = round.patience.map(|patience| Box::pin(tokio::time::sleep(patience)));
        loop {
            tokio::select! {
                biased;
                outcome = &mut self.call => {
                    while let Ok(note) = self.wires.notes.try_recv() {
                        deliver(note, round).await;
                    }
                    return Step::Done(outcome);
                }
                () = round.called_off(), if grace.is_none() => {
                    self.wires.cancel.cancel();
                    grace = Some(Box::pin(tokio::time::sleep(GRACE)));
                }
                () = finish(&mut grace), if grace.is_some() => return Step::Dropped,
                Some(id) = self.wires.detached.recv() => return Step::Detached(self, id),
                () = finish(&mut patience), if patience.is_some() && asking.is_none() => {
                    return Step::Detached(self, None);
                }
                Some(note) = self.wires.notes.recv() => deliver(note, round).await,
                () = finish(&mut asking), if asking.is_some() => asking = None,
                Some(ask) = self.wires.asks.recv(), if asking.is_none() => {
                    if !round.may_request {
                        return Step::Asks(self, ask);
                    }
                    asking = Some(Box::pin(request(ask, round.peer.clone())));
                }
                () = keep(round.keep.as_ref()), if round.keep.is_some() => {}
            }
        }
    }
}

impl Running {
    /// Drives the call without a connection until it ends. `None` if it was cancelled and did not
    /// end in time.
    pub(super) async fn drive_detached(
        mut self,
        task: &DetachedCall,
        ended: &CancellationToken,
    ) -> Option<Outcome> {
        let mut grace: Option<Pin<Box<tokio::time::Sleep>>> = None;
        loop {
            let called_off = async {
                tokio::select! {
                    () = task.cancelled() => {}
                    () = ended.cancelled() => {}
                }
            };
            tokio::select! {
                biased;
                outcome = &mut self.call => return Some(outcome),
                () = called_off, if grace.is_none() => {
                    self.wires.cancel.cancel();
                    grace = Some(Box::pin(tokio::time::sleep(GRACE)));
                }
                () = finish(&mut grace), if grace.is_some() => return None,
                Some(note) = self.wires.notes.recv() => {
                    if let Note::Progress(Progress { message: Some(message), .. }) = note {
                        task.report(message);
                    }
                }
                Some(ask) = self.wires.asks.recv(), if !task.is_asking() => task.ask(ask),
            }
        }
    }

    /// Drives the call of a gateway task until it ends. The gateway records the result.
    pub(super) async fn drive_durable(mut self, ended: CancellationToken) {
        tokio::select! {
            _ = &mut self.call => {}
            () = ended.cancelled() => self.wires.cancel.cancel(),
        }
    }
}

async fn finish<F: Future<Output = ()> + ?Sized>(future: &mut Option<Pin<Box<F>>>) {
    if let Some(future) = future {
        future.await;
    }
}

async fn keep(keep: Option<&super::http::Keep>) {
    if let Some(keep) = keep {
        keep.reset_idle_timer().await;
    }
}

/// Sends a notification. If the connection is gone, it is lost; the call is then cancelled as well.
#[allow(
    deprecated,
    reason = "the log is part of every revision up to 2025-11-25, and of later ones on request"
)]
async fn deliver(note: Note, round: &Round) {
    let sent = match note {
        Note::Progress(progress) => {
            let Some(token) = round.token.clone() else { return };
            let mut params = ProgressNotificationParam::new(token, progress.done);
            params.total = progress.total;
            params.message = progress.message;
            round.peer.notify_progress(params).await
        }
        Note::Log { level, logger, data } => {
            let mut params = rmcp::model::LoggingMessageNotificationParam::new(convert::level(level), data);
            params.logger = logger;
            round.peer.notify_logging_message(params).await
        }
    };
    drop(sent);
}

/// Sends the prompts as server requests, one after the other.
async fn request(ask: Ask, peer: Peer<RoleServer>) {
    let mut answers = BTreeMap::new();
    for (key, want) in ask.wants {
        let answer = tokio::time::timeout(ANSWER, convert::request(&peer, want)).await;
        let answer = answer.unwrap_or_else(|_| Err(Failure::unanswered("the client did not answer in time")));
        match answer {
            Ok(answer) => drop(answers.insert(key, answer)),
            Err(failure) => return drop(ask.reply.send(Err(failure))),
        }
    }
    drop(ask.reply.send(Ok(answers)));
}
