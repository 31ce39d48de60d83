//! The middleware of MCP over HTTP: authentication and session limits.

use super::gateway::Caller;
use super::http::{Check, Options, Refused};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The session header.
pub(super) const SESSION: &str = "mcp-session-id";
/// The protocol version header.
const VERSION: &str = "mcp-protocol-version";

/// Admits requests.
pub(super) struct RequestGuard {
    check: Option<Check>,
    limit: usize,
    sessions: Arc<LocalSessionManager>,
    /// The number of sessions that are being opened.
    opening: AtomicUsize,
    /// The user who opened each session. Recorded only if callers are authenticated.
    owners: Mutex<HashMap<String, String>>,
}

impl RequestGuard {
    pub(super) fn new(options: &Options, sessions: Arc<LocalSessionManager>) -> Self {
        Self {
            check: options.check.clone(),
            limit: options.sessions,
            sessions,
            opening: AtomicUsize::new(0),
            owners: Mutex::default(),
        }
    }

    fn owns(&self, session: &str, user: &str) -> bool {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.get(session).is_none_or(|owner| owner == user)
    }

    /// Records the owner of a new session, and removes closed sessions.
    async fn opened(&self, session: &str, user: &str) {
        let open: Vec<_> = self.sessions.sessions.read().await.keys().cloned().collect();
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|id, _| open.iter().any(|one| **one == **id));
        owners.insert(session.to_owned(), user.to_owned());
    }
}

/// Counts a session while it is being opened.
struct Opening<'a>(&'a AtomicUsize);

impl<'a> Opening<'a> {
    fn new(count: &'a AtomicUsize) -> (Self, usize) {
        let others = count.fetch_add(1, Ordering::AcqRel);
        (Self(count), others)
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Admits a request, or returns the rejection.
pub(super) async fn admit(
    State(door): State<Arc<RequestGuard>>,
    mut request: Request,
    next: Next,
) -> Response {
    let mut user = None;
    if let Some(check) = &door.check {
        let (parts, body) = request.into_parts();
        let checked = check(&parts);
        request = Request::from_parts(parts, body);
        match checked {
            Ok(caller) => {
                user = Some(caller.user.clone());
                request.extensions_mut().insert::<Caller>(caller);
            }
            Err(refused) => return refuse(&refused),
        }
    }
    let session = text(request.headers(), SESSION);
    if let (Some(session), Some(user)) = (session, &user)
        && !door.owns(session, user)
    {
        // Sessions of other users return 404.
        return answer(StatusCode::NOT_FOUND, "there is no such session; open one with initialize");
    }
    // From version 2026-07-28 on there are no sessions.
    let opens = request.method() == Method::POST
        && session.is_none()
        && text(request.headers(), VERSION).is_none_or(|version| version < "2026-07-28");
    if !opens {
        return next.run(request).await;
    }
    let (_opening, others) = Opening::new(&door.opening);
    if door.sessions.sessions.read().await.len() + others >= door.limit {
        let mut response =
            answer(StatusCode::SERVICE_UNAVAILABLE, "too many sessions are open; close one or try later");
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
        return response;
    }
    let response = next.run(request).await;
    if let (Some(user), Some(session)) = (user, text(response.headers(), SESSION)) {
        door.opened(session, &user).await;
    }
    response
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn refuse(refused: &Refused) -> Response {
    let mut response = answer(refused.status, &refused.message);
    let challenge = refused.challenge.as_deref().and_then(|challenge| HeaderValue::from_str(challenge).ok());
    if let Some(challenge) = challenge {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

fn answer(status: StatusCode, message: &str) -> Response {
    let mut response = Response::new(Body::from(message.to_owned()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
