//! Export of spans to an OTLP receiver, with HTTP and protobuf.
//!
//! Closing a span puts it into a queue without waiting; a dedicated thread takes batches out and
//! posts them. If the queue is full, the span is dropped and counted. The thread has its own small
//! runtime, so that the last spans can be sent while the program shuts down, within a time limit.

mod http;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use prost::Message as _;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use crate::error::{Error, Result};
use crate::options::{Endpoint, Headers};
use crate::span::Span;
use http::{Posted, Receiver};

/// Maximum number of queued spans; a few kilobytes each.
const WAITING: usize = 4096;
/// Spans per POST.
const BATCH: usize = 512;
/// How long the first span of a batch waits for others.
const GATHER: Duration = Duration::from_secs(1);
/// Attempts per batch.
const ATTEMPTS: u32 = 3;
/// The wait after the first failure; it doubles each time.
const BACKOFF: Duration = Duration::from_secs(1);

/// Delivery counts of spans so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Delivered {
    /// The receiver accepted them.
    pub exported: u64,
    /// The receiver refused them or could not be reached.
    pub failed: u64,
    /// The queue was full: the receiver is too slow, or gone.
    pub dropped: u64,
}

/// Counts spans.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    queued: AtomicU64,
    exported: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

impl Delivery {
    pub(crate) fn so_far(&self) -> Delivered {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Delivered { exported: read(&self.exported), failed: read(&self.failed), dropped: read(&self.dropped) }
    }
}

/// The queue of spans. It never blocks.
#[derive(Debug)]
pub(crate) struct Queue {
    sender: mpsc::Sender<Span>,
    delivery: Arc<Delivery>,
}

impl Queue {
    pub(crate) fn put(&self, span: Span) {
        let count = match self.sender.try_send(span) {
            Ok(()) => &self.delivery.queued,
            Err(_) => &self.delivery.dropped,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// The owner of the thread.
#[derive(Debug)]
pub(crate) struct Exporter {
    stop: watch::Sender<Option<Duration>>,
    thread: Option<JoinHandle<()>>,
    delivery: Arc<Delivery>,
}

impl Exporter {
    /// Starts the thread; sends nothing yet.
    #[allow(clippy::disallowed_methods, reason = "this is the owner that waits for the thread")]
    pub(crate) fn start(endpoint: &Endpoint, headers: &Headers, service: &str) -> Result<(Self, Queue)> {
        let failed = |detail: String| Error::NotStarted { detail };
        let receiver = Receiver::new(endpoint, headers).map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let (sender, spans) = mpsc::channel(WAITING);
        let (stop, stopping) = watch::channel(None);
        let delivery = Arc::<Delivery>::default();
        let post = Post {
            receiver,
            service: service.to_owned(),
            delivery: Arc::clone(&delivery),
            stopping: stopping.clone(),
        };
        let thread = std::thread::Builder::new().name("steward-otlp".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = post.run(spans) => {}
                    () = too_late(stopping) => {}
                }
            });
            // A pending DNS lookup must not delay the shutdown.
            runtime.shutdown_timeout(Duration::ZERO);
        });
        let thread = Some(thread.map_err(|error| failed(error.to_string()))?);
        Ok((Self { stop, thread, delivery: Arc::clone(&delivery) }, Queue { sender, delivery }))
    }

    pub(crate) fn delivery(&self) -> Arc<Delivery> {
        Arc::clone(&self.delivery)
    }

    /// Sends queued spans within this time, and ends the thread. Spans that could not be sent count
    /// as failed.
    pub(crate) fn finish(&mut self, within: Duration) -> Delivered {
        if let Some(thread) = self.thread.take() {
            self.stop.send_replace(Some(within));
            // The thread ends by itself: every wait in it is bounded by `too_late`.
            let _ended = thread.join();
            let known = self.delivery.so_far();
            let queued = self.delivery.queued.load(Ordering::Relaxed);
            let lost = queued.saturating_sub(known.exported + known.failed);
            self.delivery.failed.fetch_add(lost, Ordering::Relaxed);
        }
        self.delivery.so_far()
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.finish(Duration::ZERO);
    }
}

/// Waits until shutdown; returns its time limit.
async fn told(stopping: &mut watch::Receiver<Option<Duration>>) -> Option<Duration> {
    match stopping.wait_for(Option::is_some).await {
        Ok(within) => *within,
        // The owner was dropped without a shutdown: no time is left.
        Err(_) => None,
    }
}

/// Returns when the time limit of the shutdown has passed.
async fn too_late(mut stopping: watch::Receiver<Option<Duration>>) {
    sleep(told(&mut stopping).await.unwrap_or_default()).await;
}

/// Posts batches.
struct Post {
    receiver: Receiver,
    service: String,
    delivery: Arc<Delivery>,
    stopping: watch::Receiver<Option<Duration>>,
}

impl Post {
    async fn run(mut self, mut spans: mpsc::Receiver<Span>) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let ending = tokio::select! {
                // None means that all senders are gone.
                taken = spans.recv_many(&mut batch, BATCH) => taken == 0,
                _ = told(&mut self.stopping) => true,
            };
            if ending || self.gather(&mut spans, &mut batch).await {
                break;
            }
            self.send(std::mem::take(&mut batch)).await;
        }
        // No more spans are accepted; queued ones are sent.
        spans.close();
        loop {
            while batch.len() < BATCH
                && let Ok(span) = spans.try_recv()
            {
                batch.push(span);
            }
            if batch.is_empty() {
                return;
            }
            self.send(std::mem::take(&mut batch)).await;
        }
    }

    /// Fills the batch until it is full or has waited long enough. True at shutdown.
    async fn gather(&mut self, spans: &mut mpsc::Receiver<Span>, batch: &mut Vec<Span>) -> bool {
        let enough = sleep(GATHER);
        tokio::pin!(enough);
        while batch.len() < BATCH {
            let room = BATCH - batch.len();
            tokio::select! {
                taken = spans.recv_many(batch, room) => if taken == 0 { return true },
                () = &mut enough => return false,
                _ = told(&mut self.stopping) => return true,
            }
        }
        false
    }

    async fn send(&mut self, batch: Vec<Span>) {
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let body = wire::request(&self.service, batch).encode_to_vec();
        let mut wait = BACKOFF;
        for attempt in 1..=ATTEMPTS {
            let asked = match self.receiver.post(body.clone()).await {
                Posted::Taken { rejected } => {
                    let rejected = rejected.min(count);
                    self.delivery.exported.fetch_add(count - rejected, Ordering::Relaxed);
                    self.delivery.failed.fetch_add(rejected, Ordering::Relaxed);
                    return;
                }
                Posted::Refused => break,
                Posted::Again(asked) => asked,
            };
            // A shutdown does not retry.
            let ending = self.stopping.borrow().is_some();
            if ending || attempt == ATTEMPTS {
                break;
            }
            tokio::select! {
                () = sleep(asked.unwrap_or(wait)) => {}
                _ = told(&mut self.stopping) => {}
            }
            wait *= 2;
        }
        self.delivery.failed.fetch_add(count, Ordering::Relaxed);
    }
}
