//! Streamed replies.
//!
//! The request is part of the stream: dropping the stream cancels the request, and no task is left
//! behind. Events only add to what was sent before; the last one carries the complete reply, or
//! there is an error instead.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::Stream;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::ModelError;
use super::chat::{Answer, ToolCall, Usage};

/// Capacity of the channel: a slow listener then slows down the server.
const WAITING: usize = 64;

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// More text.
    TextDelta(String),
    /// More of a call: its name and id come with the first part, its arguments as raw text.
    ToolCallDelta {
        /// The index of the call.
        index: usize,
        /// Its id, if this part contains it.
        id: Option<String>,
        /// Its tool, if this part contains it.
        name: Option<String>,
        /// More of the arguments, as raw text.
        arguments: String,
    },
    /// A call is complete. Calls that a small model wrote into its text appear only here.
    ToolCallDone(ToolCall),
    /// Token counts so far.
    Usage(Usage),
    /// The complete reply; it is the last event.
    Done(Box<Answer>),
}

/// The sender of a reply's events.
#[derive(Debug)]
pub struct Listener {
    sender: mpsc::Sender<Event>,
    heard: AtomicBool,
}

impl Listener {
    /// Sends an event; waits if the listener is slow.
    pub async fn tell(&self, event: Event) {
        self.heard.store(true, Ordering::Relaxed);
        // The receiver is gone: then the stream was dropped, and this future with it.
        let _gone = self.sender.send(event).await;
    }

    /// Whether an event was sent. Then a retry is no longer possible.
    #[must_use]
    pub fn has_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    /// Sends a complete reply at once, for models without streaming.
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
    /// The events that `work` sends, followed by its result.
    pub(super) fn new<W>(work: W) -> Self
    where
        W: FnOnce(Listener) -> BoxFuture<'a, Result<Answer, ModelError>>,
    {
        let (sender, receiver) = mpsc::channel(WAITING);
        let listener = Listener { sender, heard: AtomicBool::new(false) };
        Self { work: Some(work(listener)), receiver, last: None }
    }

    /// The next event; none after the last.
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
            // The sender is dropped with the work, so all events have been received.
            Poll::Ready(None) => Poll::Ready(this.last.take()),
            Poll::Pending => Poll::Pending,
        }
    }
}
