//! Idempotency: an `Idempotency-Key` header prevents a change from being made twice.
//!
//! Invariants
//! - A request with a key is completed even if the client disconnects. The same request with the
//!   same key gets the same response for a day, or until newer responses need the space.
//! - A key identifies one request of one user. The same key with another body is rejected.
//!
//! Responses are kept in memory. Behind a load balancer, a client must reach the same process
//! again.

use super::Shared;
use super::ages::{Ages, RetentionLimits};
use super::extract::whole;
use super::problem::{Problem, REQUEST};
use crate::identity::Identity;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use steward_domain::UserId;

/// How long responses are replayed, and how much memory they may use.
const ROOM: RetentionLimits =
    RetentionLimits { kept: Duration::from_secs(24 * 3600), bytes: 16 * 1024 * 1024 };
/// The overhead of one response, in bytes.
const EACH: usize = 512;
/// The largest response that is kept for replay.
const LARGEST: usize = 1024 * 1024;

/// The user and the idempotency key.
type Key = (UserId, String);

#[derive(Clone)]
struct Answer {
    status: StatusCode,
    kind: Option<HeaderValue>,
    body: Bytes,
}

enum Stage {
    Running,
    Done(Answer),
}

/// The requests with keys, and their responses.
#[derive(Default)]
struct KeyedRequests {
    requests: HashMap<Key, ([u8; 32], Stage)>,
    answered: Ages<Key>,
}

/// All idempotency keys of this process.
#[derive(Default)]
pub(super) struct IdempotencyCache(Mutex<KeyedRequests>);

/// Whether a request is new.
enum First {
    /// It is the first request with this key.
    Yes,
    /// It was answered before.
    No(Answer),
}

impl IdempotencyCache {
    fn enter(&self, key: &Key, digest: [u8; 32], now: Duration) -> Result<First, Problem> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(old) = known.answered.next_out(now, ROOM) {
            known.requests.remove(&old);
        }
        match known.requests.get(key) {
            None => {
                known.requests.insert(key.clone(), (digest, Stage::Running));
                Ok(First::Yes)
            }
            Some((before, _)) if *before != digest => {
                Err(Problem::input("Idempotency-Key: this key was sent with another request. Take a new one"))
            }
            Some((_, Stage::Running)) => Err(Problem::new(
                StatusCode::CONFLICT,
                "WEB022",
                "the request with this Idempotency-Key is still worked on. Send it again in a moment",
            )),
            Some((_, Stage::Done(answer))) => Ok(First::No(answer.clone())),
        }
    }

    /// Removes a key, so that its request can be tried again.
    fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).requests.remove(key);
    }

    fn keep(&self, key: Key, answer: Answer, now: Duration) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let size = EACH + answer.body.len() + key.1.len();
        if let Some((_, stage)) = known.requests.get_mut(&key) {
            *stage = Stage::Done(answer);
            known.answered.add(key, now, size);
        }
    }
}

/// The idempotency key of a request, if it has one.
fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(sent) = headers.get("idempotency-key") else { return Ok(None) };
    match sent.to_str() {
        Ok(key) if (1..=200).contains(&key.len()) => Ok(Some(key.to_owned())),
        _ => Err(Problem::input("Idempotency-Key must have 1 to 200 plain letters")),
    }
}

/// Replays the response of a request that was answered before.
pub(super) async fn once(State(site): State<Shared>, request: Request, next: Next) -> Response {
    match answer(&site, request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn answer(site: &Shared, request: Request, next: Next) -> Result<Response, Problem> {
    let path = request.uri().path();
    let changes = matches!(*request.method(), Method::POST | Method::PATCH | Method::DELETE);
    // Uploads are exempt because of their size. A repeated upload is stored twice.
    let covered = changes && path.starts_with("/api/v1/") && path != "/api/v1/uploads";
    let identity = request.extensions().get::<Identity>().cloned();
    let (Some(identity), Some(sent), true) = (identity, key(request.headers())?, covered) else {
        return Ok(next.run(request).await);
    };
    // Another key of the same user may have fewer rights: it shares no responses.
    let scopes = identity.scopes.as_ref().map(|scopes| format!("{scopes:?}")).unwrap_or_default();
    let by = identity.key.clone().unwrap_or_default();
    let key = (identity.user, format!("{by} {scopes} {sent}"));
    let (parts, body) = request.into_parts();
    let mut outline = Request::new(body);
    *outline.extensions_mut() = parts.extensions.clone();
    let body = whole(outline, site).await?;
    let mut digest = Sha256::new();
    for part in [parts.method.as_str().as_bytes(), parts.uri.to_string().as_bytes(), &body] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    if let First::No(answer) = site.once.enter(&key, digest.finalize().into(), site.clock().monotonic())? {
        let mut response = (answer.status, answer.body).into_response();
        if let Some(kind) = answer.kind {
            response.headers_mut().insert(CONTENT_TYPE, kind);
        } else {
            response.headers_mut().remove(CONTENT_TYPE);
        }
        response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
        return Ok(response);
    }
    let request = Request::from_parts(parts, Body::from(body));
    let id = REQUEST.try_with(Clone::clone).unwrap_or_default();
    let one = site.clone();
    let running = site.work.spawn(REQUEST.scope(id, async move {
        let forget = Forget(&one.once, Some(key));
        let response = next.run(request).await;
        kept(&one, forget, response).await
    }));
    running.await.unwrap_or_else(|_| Err(Problem::bug()))
}

/// Releases the key when dropped, unless the response was stored.
struct Forget<'a>(&'a IdempotencyCache, Option<Key>);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.1.take() {
            self.0.forget(&key);
        }
    }
}

/// Stores a final response. Temporary errors and streams are not stored.
async fn kept(site: &Shared, mut forget: Forget<'_>, response: Response) -> Result<Response, Problem> {
    let status = response.status();
    let passing = status.is_server_error()
        || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
    let kind = response.headers().get(CONTENT_TYPE).cloned();
    let document = kind.as_ref().is_none_or(|kind| kind.to_str().is_ok_and(|kind| kind.contains("json")));
    if passing || !document {
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, super::MAX_BUFFERED_RESPONSE).await.map_err(|_| Problem::bug())?;
    if body.len() <= LARGEST
        && let Some(key) = forget.1.take()
    {
        let answer = Answer { status, kind, body: body.clone() };
        site.once.keep(key, answer, site.clock().monotonic());
    }
    Ok(Response::from_parts(parts, Body::from(body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada(key: &str) -> Key {
        (UserId::new("ada").unwrap(), key.to_owned())
    }

    fn answer(size: usize) -> Answer {
        Answer { status: StatusCode::OK, kind: None, body: Bytes::from(vec![b'x'; size]) }
    }

    #[test]
    fn idempotency_key_identifies_one_request_and_response() {
        let (once, at) = (IdempotencyCache::default(), Duration::from_secs);
        assert!(matches!(once.enter(&ada("a"), [1; 32], at(0)), Ok(First::Yes)));
        let busy = once.enter(&ada("a"), [1; 32], at(0)).err().unwrap();
        assert_eq!(busy.code, "WEB022", "it is worked on");
        once.keep(ada("a"), answer(3), at(1));
        assert!(
            matches!(once.enter(&ada("a"), [1; 32], at(2)), Ok(First::No(answer)) if answer.body == "xxx")
        );
        let other = once.enter(&ada("a"), [2; 32], at(2)).err().unwrap();
        assert_eq!(other.code, "WEB010", "another request");
        let bob = (UserId::new("bob").unwrap(), "a".to_owned());
        assert!(matches!(once.enter(&bob, [2; 32], at(2)), Ok(First::Yes)), "another person's key");
        let later = at(2) + ROOM.kept;
        assert!(matches!(once.enter(&ada("a"), [2; 32], later), Ok(First::Yes)), "after a day");
        once.forget(&ada("a"));
        assert!(matches!(once.enter(&ada("a"), [3; 32], later), Ok(First::Yes)), "it failed before");
    }

    #[test]
    fn oldest_responses_are_evicted() {
        let once = IdempotencyCache::default();
        let now = Duration::from_secs(1);
        let many = ROOM.bytes / LARGEST + 2;
        for number in 0..many {
            let key = ada(&number.to_string());
            assert!(matches!(once.enter(&key, [0; 32], now), Ok(First::Yes)));
            once.keep(key, answer(LARGEST), now);
        }
        assert!(matches!(once.enter(&ada("0"), [0; 32], now), Ok(First::Yes)), "gone");
        let last = ada(&(many - 1).to_string());
        assert!(matches!(once.enter(&last, [0; 32], now), Ok(First::No(_))), "still there");
    }
}
