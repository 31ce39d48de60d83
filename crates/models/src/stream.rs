//! An answer as it arrives.
//!
//! The request lives inside the stream and nowhere else: whoever drops the stream ends the request,
//! and no task is left behind. Events only ever add to what was heard; the last one carries the
//! whole answer, or there is an error instead.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::Stream;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::ModelError;
use super::chat::{Answer, ToolCall, Usage};

/// Events that wait for a slow listener before the server has to.
const WAITING: usize = 64;

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// More words.
    TextDelta(String),
    /// More of a call: its name and id come with the first part, its arguments as raw text.
    ToolCallDelta {
        /// Which of the calls.
        index: usize,
        /// Its id, when this part names it.
        id: Option<String>,
        /// Its tool, when this part names it.
        name: Option<String>,
        /// More of the arguments.
        arguments: String,
    },
    /// A call is whole. Calls that a small model wrote into its text appear only here.
    ToolCallDone(ToolCall),
    /// Tokens so far.
    Usage(Usage),
    /// The whole answer; nothing comes after it.
    Done(Box<Answer>),
}

/// Where a model tells what it has so far.
#[derive(Debug)]
pub struct Listener {
    sender: mpsc::Sender<Event>,
    heard: AtomicBool,
}

impl Listener {
    /// Passes an event on, at the pace of whoever listens.
    pub async fn tell(&self, event: Event) {
        self.heard.store(true, Ordering::Relaxed);
        // Nobody listens any more: then the stream is gone, and this future with it.
        let _gone = self.sender.send(event).await;
    }

    /// Has anything been told? Then it is too late for a second attempt.
    #[must_use]
    pub fn has_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    /// Tells a whole answer at once, for models that have no parts.
    pub async fn whole(&self, answer: &Answer) {
        if !answer.text.is_empty() {
            self.tell(Event::TextDelta(answer.text.clone())).await;
        }
        for call in &answer.calls {
            self.tell(Event::ToolCallDone(call.clone())).await;
        }
        self.tell(Event::Usage(answer.usage)).await;
    }
}

/// The events of one answer.
pub struct Events<'a> {
    work: Option<BoxFuture<'a, Result<Answer, ModelError>>>,
    receiver: mpsc::Receiver<Event>,
    last: Option<Result<Event, ModelError>>,
}

impl<'a> Events<'a> {
    /// The events that `work` tells, and its result as the last.
    pub(super) fn new<W>(work: W) -> Self
    where
        W: FnOnce(Listener) -> BoxFuture<'a, Result<Answer, ModelError>>,
    {
        let (sender, receiver) = mpsc::channel(WAITING);
        let listener = Listener { sender, heard: AtomicBool::new(false) };
        Self { work: Some(work(listener)), receiver, last: None }
    }

    /// The next event; nothing after the last.
    pub async fn next(&mut self) -> Option<Result<Event, ModelError>> {
        futures_util::StreamExt::next(self).await
    }
}

impl std::fmt::Debug for Events<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("running", &self.work.is_some()).finish()
    }
}

impl Stream for Events<'_> {
    type Item = Result<Event, ModelError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Some(work) = &mut this.work
            && let Poll::Ready(result) = work.as_mut().poll(context)
        {
            this.work = None;
            this.last = Some(result.map(|answer| Event::Done(Box::new(answer))));
        }
        match this.receiver.poll_recv(context) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(Ok(event))),
            // The sender went with the work, so that everything has been heard.
            Poll::Ready(None) => Poll::Ready(this.last.take()),
            Poll::Pending => Poll::Pending,
        }
    }
}
