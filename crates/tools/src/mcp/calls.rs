//! The active calls of one connection, and why the connection ended.
//!
//! Every message passes through [`TappedTransport`], which sits between `rmcp` and the transport. A call is
//! therefore registered under its progress token before the server can answer it, it knows whether
//! it was sent, and a disconnect reaches every waiting call at once.

use crate::tool::{Context, Human, Progress};
use rmcp::model::{GetExtensions, GetMeta, JsonRpcMessage, ProgressToken, RequestId};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio_util::sync::CancellationToken;

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DisconnectReason {
    /// The server closed the connection.
    Closed(String),
    /// The server sent an invalid message.
    Protocol(String),
    /// The server sent a message above this size.
    TooLarge(usize),
    /// This side closed the connection.
    Stopped,
}

/// An active call: its progress listener, its user, and whether it was sent.
pub(crate) struct ActiveCall {
    progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    human: Arc<dyn Human>,
    sent: AtomicBool,
}

impl ActiveCall {
    /// A call with this context.
    pub(crate) fn of(context: &Context) -> Arc<Self> {
        Arc::new(Self {
            progress: context.progress.clone(),
            human: Arc::clone(&context.human),
            sent: AtomicBool::new(false),
        })
    }

    /// Whether the request was sent.
    pub(crate) fn was_sent(&self) -> bool {
        self.sent.load(Ordering::Acquire)
    }

    /// Calls the progress listener.
    pub(crate) fn tell(&self, progress: Progress) {
        if let Some(listener) = &self.progress {
            listener(progress);
        }
    }

    /// The person that the server may ask during this call.
    pub(crate) fn human(&self) -> Arc<dyn Human> {
        Arc::clone(&self.human)
    }
}

impl fmt::Debug for ActiveCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Underway").field("sent", &self.was_sent()).finish_non_exhaustive()
    }
}

/// The shared state of one connection.
#[derive(Debug, Default)]
pub(crate) struct ConnectionMonitor {
    gone: CancellationToken,
    why: OnceLock<DisconnectReason>,
    calls: Mutex<HashMap<ProgressToken, (RequestId, Arc<ActiveCall>)>>,
}

impl ConnectionMonitor {
    /// Marks the connection as lost. The first reason is kept.
    pub(crate) fn lose(&self, why: DisconnectReason) {
        let _ = self.why.set(why);
        self.gone.cancel();
    }

    /// Resolves when the connection is lost.
    pub(crate) async fn gone(&self) -> DisconnectReason {
        self.gone.cancelled().await;
        self.why()
    }

    /// Whether the connection is lost.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    /// Why the connection was lost.
    pub(crate) fn why(&self) -> DisconnectReason {
        self.why.get().cloned().unwrap_or_else(|| DisconnectReason::Closed("the connection ended".into()))
    }

    /// The call with this progress token.
    pub(crate) fn by_token(&self, token: &ProgressToken) -> Option<Arc<ActiveCall>> {
        self.lock().get(token).map(|(_, call)| Arc::clone(call))
    }

    /// The person to ask when the server sends a prompt. Over HTTP the prompt arrives on the stream
    /// of its call. Over a pipe its call is unknown, so a person is asked only if all active calls
    /// belong to that person. Otherwise one user could see data of another.
    pub(crate) fn person_for_prompt(&self, origin: Option<&RequestId>) -> Option<Arc<dyn Human>> {
        let calls = self.lock();
        if let Some(origin) = origin {
            return calls.values().find(|(id, _)| id == origin).map(|(_, call)| call.human());
        }
        let mut humans = calls.values().map(|(_, call)| &call.human);
        let first = humans.next()?;
        humans.all(|other| Arc::ptr_eq(first, other)).then(|| Arc::clone(first))
    }

    /// Removes a finished call. Later messages for it are dropped.
    pub(crate) fn forget(&self, token: &ProgressToken) {
        self.lock().remove(token);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, (RequestId, Arc<ActiveCall>)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A transport that reports its messages to the [`ConnectionMonitor`].
pub(crate) struct TappedTransport<T> {
    inner: T,
    tap: Arc<ConnectionMonitor>,
}

impl<T> TappedTransport<T> {
    /// Wraps `inner`.
    pub(crate) fn new(inner: T, tap: Arc<ConnectionMonitor>) -> Self {
        Self { inner, tap }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for TappedTransport<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let mut call = None;
        if let JsonRpcMessage::Request(message) = &item
            && let Some(underway) = message.request.extensions().get::<Arc<ActiveCall>>()
            && let Some(token) = message.request.get_meta().get_progress_token()
        {
            call = Some(Arc::clone(underway));
            self.tap.lock().insert(token, (message.id.clone(), Arc::clone(underway)));
        }
        let sending = self.inner.send(item);
        async move {
            // From here on the server may have received it, even if sending fails midway.
            if let Some(call) = call {
                call.sent.store(true, Ordering::Release);
            }
            sending.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.inner.receive().await;
        if message.is_none() {
            self.tap.lose(DisconnectReason::Closed("it closed the connection".into()));
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.tap.lose(DisconnectReason::Stopped);
        self.inner.close().await
    }
}
