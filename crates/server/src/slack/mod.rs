//! The Slack integration: users mention Steward or write to it, and get answers in the thread.
//!
//! Invariants
//! - Nothing runs for users that [`People`] does not know. The right to approve is checked with
//!   [`People`] when a button is pressed.
//! - In a thread, each person has one conversation. Its turns run in the order in which Slack sent
//!   them.
//! - Slack gets its response at once. The work runs afterwards in tasks that [`Slack::close`] waits
//!   for.
//! - Channel content is untrusted data. Only a message to Steward becomes a turn.
//!
//! Users come from [`People`], and conversations are held by [`ChatService`].

mod api;
mod error;
mod event;
mod http;
mod mrkdwn;
mod notice;
mod options;
mod place;
mod press;
mod seen;
mod show;
mod signature;
mod socket;
mod summary;
mod table;
mod turn;

pub use api::MOST_MESSAGES;
pub use error::Error;
pub use http::router;
pub use options::{Options, Secret};
pub use socket::socket;

use api::Api;
use seen::EventDedup;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steward_domain::Coded as _;
use steward_policy::Caller;
use steward_runtime::converse::ChatService;
use steward_runtime::run::Runner;
use tokio::sync::{OnceCell, OwnedMutexGuard, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

/// The maximum number of queued items. Beyond it, events are rejected and Slack retries them.
const BACKLOG: usize = 1000;

/// Maps Slack users to callers. A user is identified by workspace and user id: the same id in
/// another workspace is another person.
pub trait People: Send + Sync {
    /// The caller for a Slack user. `None` if the user is unknown.
    fn caller(&self, team: &str, slack_user: &str) -> Option<Caller>;
    /// Whether the user may decide on an approval: by one of these roles, or by all of these tools
    /// if there are no roles.
    fn may_decide(&self, team: &str, slack_user: &str, roles: &[String], tools: &[&str]) -> bool;
}

/// The Slack integration.
pub struct Slack {
    chat: Arc<ChatService>,
    runner: Runner,
    people: Arc<dyn People>,
    options: Options,
    api: Api,
    /// Received events and messages, for deduplication.
    seen: EventDedup,
    /// Threads in which the bot takes part, and threads in which it does not.
    threads: EventDedup,
    others: EventDedup,
    names: Mutex<HashMap<String, String>>,
    bot: OnceCell<String>,
    /// The turn queues, by conversation or by call.
    turns: Mutex<HashMap<Uuid, Arc<tokio::sync::Mutex<()>>>>,
    room: Semaphore,
    tasks: TaskTracker,
    /// Cancelled when no new events are accepted.
    closed: CancellationToken,
    /// Cancelled when running work must be dropped.
    stop: CancellationToken,
}

impl Slack {
    /// Creates the integration. No request is sent.
    pub fn new(
        chat: Arc<ChatService>,
        runner: Runner,
        people: Arc<dyn People>,
        options: Options,
    ) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self {
            chat,
            runner,
            people,
            api: Api::new(&options)?,
            seen: EventDedup::default(),
            threads: EventDedup::default(),
            others: EventDedup::default(),
            names: Mutex::default(),
            bot: OnceCell::new(),
            turns: Mutex::default(),
            room: Semaphore::new(options.at_once.max(1)),
            tasks: TaskTracker::new(),
            closed: CancellationToken::new(),
            stop: CancellationToken::new(),
            options,
        }))
    }

    /// Accepts no new events, waits for running work, and drops what is not done in time.
    pub async fn close(&self, within: Duration) {
        self.closed.cancel();
        self.tasks.close();
        if tokio::time::timeout(within, self.tasks.wait()).await.is_err() {
            self.stop.cancel();
            self.tasks.wait().await;
        }
    }

    /// Waits until all accepted work is done.
    pub async fn idle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }

    /// Accepts an event. It is processed in the background.
    async fn take(self: &Arc<Self>, envelope: &Json) -> Result<(), Error> {
        if envelope.get("type").and_then(Json::as_str) != Some("event_callback") {
            return Ok(());
        }
        let id = envelope.get("event_id").and_then(Json::as_str).map(|id| format!("event {id}"));
        if id.as_ref().is_some_and(|id| self.seen.knows(id)) {
            return Ok(());
        }
        let bot = match event::bot(envelope) {
            Some(bot) => bot,
            None => self.bot.get_or_try_init(|| self.api.own_user()).await?.clone(),
        };
        let Some(message) = event::message(envelope, &bot) else { return Ok(()) };
        self.room_for_more()?;
        if id.is_some_and(|id| !self.seen.is_new(&id)) {
            return Ok(());
        }
        // A mention arrives twice: as a mention and as a channel message.
        if !self.seen.is_new(&format!("message {} {}", message.place.channel, message.ts)) {
            return Ok(());
        }
        let slack = self.clone();
        let Some(caller) = self.people.caller(&message.by.team, &message.by.user) else {
            if message.addressed {
                self.spawn(None, async move { slack.refuse(message.place.to(), &message.by).await });
            }
            return Ok(());
        };
        let turn = self.queue(place::id(&message.place, &caller.user, 0).0).await;
        self.spawn(Some(turn), async move { slack.answer(&message, caller).await });
        Ok(())
    }

    fn room_for_more(&self) -> Result<(), Error> {
        if self.tasks.len() >= BACKLOG || self.closed.is_cancelled() { Err(Error::Full) } else { Ok(()) }
    }

    /// Runs work in the background, in queue order and within the concurrency limit. Errors are
    /// logged by their code.
    fn spawn(
        self: &Arc<Self>,
        turn: Option<Queued>,
        work: impl Future<Output = Result<(), Error>> + Send + 'static,
    ) {
        let slack = self.clone();
        self.tasks.spawn(async move {
            let work = async {
                let _mine = match turn {
                    Some(turn) => Some(turn.wait().await),
                    None => None,
                };
                let _room = slack.room.acquire().await;
                if let Err(error) = Box::pin(work).await {
                    tracing::warn!(code = error.code(), "a message from Slack could not be answered");
                }
            };
            tokio::select! {
                () = slack.stop.cancelled() => {}
                () = work => {}
            }
            slack.forget_turns();
        });
    }

    /// Joins the queue of a conversation or a call. The order is that of the calls to this
    /// function.
    async fn queue(&self, key: Uuid) -> Queued {
        let lock = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            turns.entry(key).or_default().clone()
        };
        let mut turn: Waits = Box::pin(lock.lock_owned());
        // Polling the lock once joins its queue. The lock is granted in that order.
        let first = tokio::select! {
            biased;
            mine = &mut turn => Some(mine),
            () = std::future::ready(()) => None,
        };
        match first {
            Some(mine) => Queued::Mine(mine),
            None => Queued::Waits(turn),
        }
    }

    /// Removes the locks of empty queues.
    fn forget_turns(&self) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, lock| Arc::strong_count(lock) > 1);
    }
}

type Waits = Pin<Box<dyn Future<Output = OwnedMutexGuard<()>> + Send>>;

/// A position in a queue.
enum Queued {
    Mine(OwnedMutexGuard<()>),
    Waits(Waits),
}

impl Queued {
    async fn wait(self) -> OwnedMutexGuard<()> {
        match self {
            Self::Mine(mine) => mine,
            Self::Waits(turn) => turn.await,
        }
    }
}
