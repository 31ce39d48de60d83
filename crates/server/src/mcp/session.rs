//! What a call sees of the client that made it: who it is, what it can do, and how to reach it
//! while the call runs.
//!
//! Invariant: a session never talks to the wire. It hands notes and questions to the driver of its
//! call (`drive`), which knows the connection of the moment; so a call may go on over another
//! connection than the one it began on.

use super::gateway::{Caller, Client, Failure, Message};
use async_trait::async_trait;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use steward_domain::JsonObject;
use steward_tools::{Answered, Content, Context, Elicitation, Human, Progress};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// One call's view of its client. Cheap to clone; it may be handed to tasks that the call starts.
#[derive(Debug, Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    caller: Caller,
    client: Client,
    can: ClientFeatures,
    cancel: CancellationToken,
    progress: bool,
    threshold: Threshold,
    notes: mpsc::Sender<Note>,
    asks: mpsc::Sender<Ask>,
    detached: mpsc::Sender<Option<String>>,
}

/// What the client says it can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ClientFeatures {
    pub(super) form: bool,
    pub(super) url: bool,
    pub(super) sample: bool,
    pub(super) roots: bool,
    pub(super) tasks: bool,
}

/// The least severity that is sent. It is shared by all calls of a session, so that
/// `logging/setLevel` holds at once.
#[derive(Debug, Clone)]
pub(super) struct Threshold(Arc<AtomicU8>);

impl Threshold {
    /// Nothing below `level`; nothing at all when there is none.
    pub(super) fn new(level: Option<Level>) -> Self {
        Self(Arc::new(AtomicU8::new(level.map_or(u8::MAX, |level| level as u8))))
    }

    pub(super) fn set(&self, level: Level) {
        self.0.store(level as u8, Ordering::Relaxed);
    }

    fn lets(&self, level: Level) -> bool {
        level as u8 >= self.0.load(Ordering::Relaxed)
    }
}

/// What is sent while a call runs, without an answer.
#[derive(Debug)]
pub(super) enum Note {
    Progress(Progress),
    Log { level: Level, logger: Option<String>, data: Json },
}

/// What a call wants to know from the client, and where the answers go.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) wants: BTreeMap<String, ClientPrompt>,
    pub(super) answers: BTreeMap<String, Json>,
    pub(super) reply: oneshot::Sender<Result<BTreeMap<String, Json>, Failure>>,
}

/// How bad it is (RFC 5424, the least first).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are those of syslog")]
#[repr(u8)]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// One thing that a call may want from the client.
#[derive(Debug, Clone)]
pub enum ClientPrompt {
    /// A form filled in by the person. The schema is an object of plain values.
    Form {
        /// The question.
        message: String,
        /// JSON Schema of the answer.
        schema: Json,
    },
    /// The person is to open an address.
    Url {
        /// Why.
        message: String,
        /// The address.
        url: String,
        /// Tells this request apart from others.
        id: String,
    },
    /// The client's model is to write the next message.
    Sample {
        /// What was said so far.
        messages: Vec<Message>,
        /// What the model is told beforehand.
        system: Option<String>,
        /// How long it may write.
        max_tokens: u32,
    },
    /// The folders that the client works in.
    Roots,
}

impl ClientPrompt {
    fn needs(&self, can: ClientFeatures) -> Result<(), Failure> {
        let (has, name) = match self {
            Self::Form { .. } => (can.form, "elicitation"),
            Self::Url { .. } => (can.url, "elicitation"),
            Self::Sample { .. } => (can.sample, "sampling"),
            Self::Roots => (can.roots, "roots"),
        };
        if has { Ok(()) } else { Err(Failure::needs(name)) }
    }
}

/// What the client's model wrote. Untrusted.
#[derive(Debug, Clone)]
pub struct Sampled {
    /// The model's name.
    pub model: String,
    /// What it wrote.
    pub content: Vec<Content>,
    /// Why it stopped.
    pub stop_reason: Option<String>,
}

/// The ends of a session's channels that its driver holds.
pub(super) struct Wires {
    pub(super) notes: mpsc::Receiver<Note>,
    pub(super) asks: mpsc::Receiver<Ask>,
    pub(super) detached: mpsc::Receiver<Option<String>>,
    pub(super) cancel: CancellationToken,
}

/// How many notes may wait. Progress beyond that is dropped: the next one says more.
const NOTES: usize = 32;

impl Session {
    pub(super) fn new(
        caller: Caller,
        client: Client,
        can: ClientFeatures,
        progress: bool,
        threshold: Threshold,
    ) -> (Self, Wires) {
        let (notes, notes_end) = mpsc::channel(NOTES);
        let (asks, asks_end) = mpsc::channel(1);
        let (detached, detached_end) = mpsc::channel(1);
        let cancel = CancellationToken::new();
        let wires =
            Wires { notes: notes_end, asks: asks_end, detached: detached_end, cancel: cancel.clone() };
        let inner = Inner { caller, client, can, cancel, progress, threshold, notes, asks, detached };
        (Self { inner: Arc::new(inner) }, wires)
    }

    /// For whom the call is made.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.inner.caller
    }

    /// What the client says of itself.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Set when the client does not want the call any more, or went away.
    #[must_use]
    pub fn cancelled(&self) -> &CancellationToken {
        &self.inner.cancel
    }

    /// Whether anybody hears of progress.
    #[must_use]
    pub fn wants_progress(&self) -> bool {
        self.inner.progress
    }

    /// Whether the client takes a task in place of a result.
    #[must_use]
    pub fn can_start_task(&self) -> bool {
        self.inner.can.tasks
    }

    /// Turns the rest of this call into a task, where the client knows tasks: it gets the task's id
    /// now, and asks for the result later. `id` names a task that the gateway itself can tell about
    /// ([`super::Gateway::task`]); without it the server holds the task until its time is over.
    /// Gives back whether it did.
    pub fn start_task(&self, id: Option<String>) -> bool {
        self.inner.can.tasks && self.inner.detached.try_send(id).is_ok()
    }

    /// Tells how far the call is. It never waits: when notes pile up, this one is dropped.
    pub fn progress(&self, progress: Progress) {
        if self.inner.progress {
            let _ = self.inner.notes.try_send(Note::Progress(progress));
        }
    }

    /// Writes to the client's log, if the client wants to hear of this level.
    pub async fn log(&self, level: Level, logger: Option<&str>, data: Json) {
        if self.inner.threshold.lets(level) {
            let note = Note::Log { level, logger: logger.map(str::to_owned), data };
            let _ = self.inner.notes.send(note).await;
        }
    }

    /// Asks the client for several things at once and waits, until the call is cancelled. The
    /// answers are in the protocol's own shape and have been checked against it.
    ///
    /// # Errors
    /// When the client did not say that it can do this, or does not answer.
    pub async fn ask(
        &self,
        wants: BTreeMap<String, ClientPrompt>,
    ) -> Result<BTreeMap<String, Json>, Failure> {
        for want in wants.values() {
            want.needs(self.inner.can)?;
        }
        let (reply, answers) = oneshot::channel();
        let ask = Ask { wants, answers: BTreeMap::new(), reply };
        self.inner.asks.send(ask).await.map_err(|_| gone())?;
        tokio::select! {
            answers = answers => answers.map_err(|_| gone())?,
            () = self.inner.cancel.cancelled() => Err(gone()),
        }
    }

    async fn ask_one(&self, want: ClientPrompt) -> Result<Json, Failure> {
        let mut answers = self.ask(BTreeMap::from([("answer".to_owned(), want)])).await?;
        answers.remove("answer").ok_or_else(gone)
    }

    /// Asks the person behind the client to fill in a form.
    ///
    /// # Errors
    /// When the client has no forms, or does not answer.
    pub async fn elicit(&self, message: impl Into<String>, schema: Json) -> Result<Answered, Failure> {
        Ok(answered(&self.ask_one(ClientPrompt::Form { message: message.into(), schema }).await?))
    }

    /// Lets the client's model write the next message.
    ///
    /// # Errors
    /// When the client has no model, or does not answer.
    pub async fn sample(
        &self,
        messages: Vec<Message>,
        system: Option<String>,
        max_tokens: u32,
    ) -> Result<Sampled, Failure> {
        super::convert::sampled(self.ask_one(ClientPrompt::Sample { messages, system, max_tokens }).await?)
    }

    /// The folders that the client works in, as addresses with their names.
    ///
    /// # Errors
    /// When the client has none to tell, or does not answer.
    pub async fn roots(&self) -> Result<Vec<(String, Option<String>)>, Failure> {
        super::convert::roots(self.ask_one(ClientPrompt::Roots).await?)
    }

    /// What a tool is called in: this session's progress, cancellation and person.
    #[must_use]
    pub fn context(&self, timeout: Duration) -> Context {
        let listener = self.clone();
        Context {
            timeout,
            cancel: self.inner.cancel.clone(),
            progress: self.inner.progress.then(|| {
                Arc::new(move |progress| listener.progress(progress)) as Arc<dyn Fn(Progress) + Send + Sync>
            }),
            human: Arc::new(self.clone()),
            key: None,
        }
    }
}

fn gone() -> Failure {
    Failure::unanswered("the client went away before it answered; call again")
}

/// What the person said, from the protocol's words.
pub(crate) fn answered(answer: &Json) -> Answered {
    match (answer.get("action").and_then(Json::as_str), answer.get("content")) {
        (Some("accept"), Some(Json::Object(content))) => Answered::Accepted(content.clone()),
        (Some("accept"), _) => Answered::Accepted(JsonObject::new()),
        (Some("decline"), _) => Answered::Declined,
        _ => Answered::Cancelled,
    }
}

#[async_trait]
impl Human for Session {
    /// The person sees who asks, because the question comes from a tool and may pretend to be
    /// somebody else.
    async fn ask(&self, question: Elicitation) -> Answered {
        let Elicitation { server, message, schema, url } = question;
        let message = if server.is_empty() { message } else { format!("{server} asks: {message}") };
        let want = match url {
            Some(url) => ClientPrompt::Url { message, url, id: super::parked::fresh_id() },
            None => ClientPrompt::Form { message, schema: schema.unwrap_or_else(super::convert::empty_form) },
        };
        self.ask_one(want).await.map_or(Answered::Cancelled, |answer| answered(&answer))
    }
}
