//! One connection to a server. Its requests run concurrently, each with its own deadline.
//!
//! Invariants
//! - A request that is dropped before its response is cancelled at the server, and its slot is
//!   released at once.
//! - When the connection is lost, every request on it fails at once and reports whether it was
//!   sent.

use crate::error::{Error, Result};
use crate::mcp::calls::{ActiveCall, ConnectionMonitor, DisconnectReason};
use crate::mcp::client::ask;
use crate::mcp::result;
use crate::tool::{Context, Output};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelTaskParams, CancelledNotificationParam, ClientRequest,
    ErrorCode, ErrorData, GetExtensions, InputRequest, InputRequiredResult, InputResponses, ListToolsRequest,
    PingRequest, ProgressToken, RequestId, ServerPeerInfo, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use rmcp::transport::AuthError;
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steward_domain::{JsonObject, ServerName};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

/// The maximum number of prompt rounds in one call (newest protocol version).
const ROUNDS: usize = 10;
/// The timeout for sending a cancellation.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// A connected server.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) server: ServerName,
    pub(crate) info: Arc<ServerPeerInfo>,
    peer: Peer<RoleClient>,
    tap: Arc<ConnectionMonitor>,
    abandoned: mpsc::UnboundedSender<Abandoned>,
    slots: Semaphore,
    busy: AtomicUsize,
    used: Mutex<Instant>,
}

/// Sends cancellations of abandoned requests. The supervisor runs it.
pub(crate) struct Reaper {
    peer: Peer<RoleClient>,
    abandoned: mpsc::UnboundedReceiver<Abandoned>,
}

/// A request or task without a waiting caller.
#[derive(Debug)]
pub(crate) enum Abandoned {
    Request(RequestId),
    Task(String),
}

impl Reaper {
    /// Runs until the connection is dropped.
    pub(crate) async fn run(mut self) {
        while let Some(abandoned) = self.abandoned.recv().await {
            match abandoned {
                Abandoned::Request(id) => {
                    let told = CancelledNotificationParam::new(Some(id), Some("the caller gave up".into()));
                    let _ = tokio::time::timeout(CANCEL_TIMEOUT, self.peer.notify_cancelled(told)).await;
                }
                Abandoned::Task(id) => {
                    let told = self.peer.cancel_task(CancelTaskParams::new(id));
                    let _ = tokio::time::timeout(CANCEL_TIMEOUT, told).await;
                }
            }
        }
    }
}

/// A pending request. If it is dropped before its response, it is abandoned.
struct Pending<'a> {
    connection: &'a Connection,
    id: Option<RequestId>,
    token: ProgressToken,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.connection.tap.forget(&self.token);
        if let Some(id) = self.id.take() {
            let _ = self.connection.abandoned.send(Abandoned::Request(id));
        }
    }
}

/// Counts a running request, so that a busy server is not stopped as idle.
struct Busy<'a>(&'a Connection);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
        *self.0.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

impl Connection {
    /// A connection over this peer with a limit on concurrent requests.
    pub(crate) fn new(
        server: ServerName,
        info: Arc<ServerPeerInfo>,
        peer: Peer<RoleClient>,
        tap: Arc<ConnectionMonitor>,
        most: usize,
    ) -> (Arc<Self>, Reaper) {
        let (abandoned, queue) = mpsc::unbounded_channel();
        let reaper = Reaper { peer: peer.clone(), abandoned: queue };
        let (slots, busy, used) =
            (Semaphore::new(most.max(1)), AtomicUsize::new(0), Mutex::new(Instant::now()));
        (Arc::new(Self { server, info, peer, tap, abandoned, slots, busy, used }), reaper)
    }

    /// How long the connection has been idle. `None` while a request runs.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        let idle = self.busy.load(Ordering::Acquire) == 0;
        idle.then(|| self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed())
    }

    /// Whether the connection is lost.
    pub(crate) fn is_gone(&self) -> bool {
        self.tap.is_gone()
    }

    /// Waits until the connection is lost.
    pub(crate) async fn gone(&self) -> DisconnectReason {
        self.tap.gone().await
    }

    /// Cancels a request or task at the server.
    pub(crate) fn abandon(&self, what: Abandoned) {
        let _connection_may_be_closed = self.abandoned.send(what);
    }

    /// Closes the connection with this reason.
    pub(crate) fn lose(&self, why: DisconnectReason) {
        self.tap.lose(why);
    }

    /// Calls a tool, and answers the prompts of the server meanwhile.
    pub(crate) async fn call_tool(
        &self,
        tool: &str,
        arguments: &JsonObject,
        context: &Context,
    ) -> Result<Output> {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments.clone());
        if let Some(key) = context.key {
            let meta = params.meta.get_or_insert_default();
            meta.0.0.insert("idempotency_key".to_owned(), key.to_string().into());
        }
        let full = format!("{}.{tool}", self.server);
        for round in 0..ROUNDS {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            match self.request(&full, request, ActiveCall::of(context)).await? {
                ServerResult::CallToolResult(result) => return result::output(&full, result),
                ServerResult::CreateTaskResult(made) => {
                    return self.follow_task(&full, made.task, context).await;
                }
                ServerResult::InputRequiredResult(asked) => {
                    params.request_state.clone_from(&asked.request_state);
                    params.input_responses = self.answer(asked, context, round).await?;
                }
                other => return Err(self.unexpected("tools/call", &other)),
            }
        }
        Err(self.protocol(format!("{full} asked back {ROUNDS} times without an end")))
    }

    /// Answers the prompts of a server of the newest protocol version.
    pub(crate) async fn answer(
        &self,
        asked: InputRequiredResult,
        context: &Context,
        round: usize,
    ) -> Result<Option<InputResponses>> {
        let questions = asked.input_requests.unwrap_or_default();
        if questions.is_empty() {
            // The server wants a retry later. The delay grows with each round.
            let rest = Duration::from_millis(50 << round.min(6));
            tokio::time::sleep(rest).await;
            return Ok(None);
        }
        let mut answers = InputResponses::new();
        for (name, question) in questions {
            let InputRequest::Elicitation(question) = question else {
                return Err(self.protocol("it asks for something that this client does not offer".into()));
            };
            let answer = ask(&self.server, &*context.human, question.params).await;
            let answer = serde_json::to_value(answer).map_err(|e| Error::Bug { detail: e.to_string() })?;
            answers.insert(name, answer);
        }
        Ok(Some(answers))
    }

    /// Checks that the server responds. The newest protocol version has no ping, so the tools are
    /// listed instead.
    pub(crate) async fn ping(&self, within: Duration) -> Result<()> {
        let request = if self.info.protocol_version.has_initialize() {
            ClientRequest::PingRequest(PingRequest::default())
        } else {
            ClientRequest::ListToolsRequest(ListToolsRequest::default())
        };
        let context = Context::within(within);
        let pinged = self.request("ping", request, ActiveCall::of(&context));
        match tokio::time::timeout(within, pinged).await {
            // An error response also shows that the server is alive.
            Ok(Ok(_) | Err(Error::Failed { .. })) => Ok(()),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(Error::Timeout { tool: format!("{} (ping)", self.server), after: within }),
        }
    }

    /// Sends one request and awaits its response. The caller enforces the timeout by dropping.
    pub(crate) async fn request(
        &self,
        what: &str,
        mut request: ClientRequest,
        underway: Arc<ActiveCall>,
    ) -> Result<ServerResult> {
        self.busy.fetch_add(1, Ordering::AcqRel);
        let _busy = Busy(self);
        let _slot = self.slots.acquire().await.map_err(|e| Error::Bug { detail: e.to_string() })?;
        request.extensions_mut().insert(Arc::clone(&underway));
        let sending = self.peer.send_request_with_option(request, PeerRequestOptions::no_options());
        let handle = tokio::select! {
            handle = sending => handle.map_err(|error| self.explain(what, error, &underway))?,
            why = self.tap.gone() => return Err(self.disconnect_error(why, &underway)),
        };
        let token = handle.progress_token.clone();
        let mut pending = Pending { connection: self, id: Some(handle.id.clone()), token };
        let answer = tokio::select! {
            biased;
            answer = handle.await_response() => answer,
            why = self.tap.gone() => {
                pending.id = None;
                return Err(self.disconnect_error(why, &underway));
            }
        };
        pending.id = None;
        answer.map_err(|error| self.explain(what, error, &underway))
    }

    /// Converts a connection error for the caller.
    fn explain(&self, what: &str, error: ServiceError, underway: &ActiveCall) -> Error {
        match error {
            ServiceError::McpError(error) => self.refused(what, &error),
            ServiceError::TransportSend(error) => {
                if let Some(login) = login_needed(&self.server, &error) {
                    return login;
                }
                let unsent = sources(&error)
                    .any(|e| e.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect));
                let detail = deepest(&error);
                self.tap.lose(DisconnectReason::Closed(detail.clone()));
                self.lost(&detail, underway.was_sent() && !unsent)
            }
            ServiceError::TransportClosed => {
                self.tap.lose(DisconnectReason::Closed("it broke off the answer".into()));
                self.disconnect_error(self.tap.why(), underway)
            }
            ServiceError::Cancelled { .. } => Error::Cancelled { tool: what.to_owned() },
            other => self.protocol(other.to_string()),
        }
    }

    fn refused(&self, what: &str, error: &ErrorData) -> Error {
        match error.code {
            ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST => self.protocol(error.message.to_string()),
            _ => {
                let message = error.message.chars().filter(|c| !c.is_control()).take(4_000).collect();
                Error::Failed { tool: what.to_owned(), message, transient: false }
            }
        }
    }

    fn disconnect_error(&self, why: DisconnectReason, underway: &ActiveCall) -> Error {
        match why {
            DisconnectReason::Closed(detail) => self.lost(&detail, underway.was_sent()),
            DisconnectReason::Stopped => self.lost("it was stopped", underway.was_sent()),
            DisconnectReason::Protocol(detail) => self.protocol(detail),
            DisconnectReason::TooLarge(limit) => {
                Error::TooLarge { what: format!("the MCP server {}", self.server), limit }
            }
        }
    }

    fn lost(&self, detail: &str, sent: bool) -> Error {
        let told = if sent { "the request had been sent" } else { "the request had not been sent" };
        Error::ServerGone { server: self.server.to_string(), detail: format!("{detail}; {told}"), sent }
    }

    pub(crate) fn protocol(&self, detail: String) -> Error {
        Error::Protocol { server: self.server.to_string(), detail }
    }

    /// The error for a response of the wrong type.
    pub(crate) fn unexpected(&self, question: &str, answer: &ServerResult) -> Error {
        let answer: String = format!("{answer:?}").chars().take(80).collect();
        self.protocol(format!("it answered {question} with {answer}"))
    }
}

/// The chain of causes of an error, starting with the error itself.
pub(crate) fn sources<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// The innermost cause, which is the most specific one.
pub(crate) fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words: Vec<String> = sources(error).map(ToString::to_string).collect();
    words.dedup();
    words.pop().unwrap_or_default().chars().take(500).collect()
}

/// The error for a server that requires a login, if that is the cause.
pub(crate) fn login_needed(server: &ServerName, error: &(dyn std::error::Error + 'static)) -> Option<Error> {
    let detail = sources(error).find_map(|cause| {
        if let Some(auth) = cause.downcast_ref::<AuthRequiredError>() {
            return Some(auth.www_authenticate_header.clone());
        }
        if let Some(scope) = cause.downcast_ref::<InsufficientScopeError>() {
            return Some(scope.www_authenticate_header.clone());
        }
        match cause.downcast_ref::<AuthError>()? {
            AuthError::AuthorizationRequired => Some("nobody has logged in yet, or the login ran out".into()),
            other => Some(other.to_string()),
        }
    })?;
    Some(Error::LoginNeeded { server: server.to_string(), detail })
}
