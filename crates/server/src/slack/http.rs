//! Events and buttons over HTTP.
//!
//! Invariant: a request is parsed only after the signature over its raw bytes is verified. Slack
//! gets its response before the work is done.

use super::signature::check;
use super::{Error, Slack, event};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Json as Body, Response};
use axum::routing::post;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use steward_domain::Coded as _;
use url::form_urlencoded;

/// The maximum size of a request, in bytes.
const LARGEST: usize = 1024 * 1024;

/// `POST /slack/events` and `POST /slack/interactions`.
pub fn router(slack: Arc<Slack>) -> Router {
    Router::new()
        .route("/slack/events", post(events))
        .route("/slack/interactions", post(interactions))
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(slack)
}

fn refused(status: StatusCode, why: &str) -> Response {
    (status, why.to_owned()).into_response()
}

/// The rejection of a request that is not from Slack. `None` if the signature is valid.
fn stranger(slack: &Slack, headers: &HeaderMap, body: &[u8]) -> Option<Response> {
    let Some(secret) = &slack.options.signing_secret else {
        return Some(refused(StatusCode::NOT_FOUND, "events over HTTP are not set up"));
    };
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (timestamp, signature) = (header("x-slack-request-timestamp"), header("x-slack-signature"));
    let now = slack.chat.toolbox().app().clock.now();
    let checked = check(secret, timestamp, signature, body, now);
    checked.err().map(|why| refused(StatusCode::UNAUTHORIZED, &why.to_string()))
}

fn answer(taken: Result<(), Error>) -> Response {
    match taken {
        Ok(()) => StatusCode::OK.into_response(),
        // Slack retries requests that do not return 200.
        Err(error) => {
            tracing::warn!(code = error.code(), "an event of Slack was not taken");
            refused(StatusCode::SERVICE_UNAVAILABLE, error.code())
        }
    }
}

async fn events(State(slack): State<Arc<Slack>>, headers: HeaderMap, body: Bytes) -> Response {
    if let Some(refusal) = stranger(&slack, &headers, &body) {
        return refusal;
    }
    let Ok(envelope) = serde_json::from_slice::<Json>(&body) else {
        return refused(StatusCode::BAD_REQUEST, "this is no JSON");
    };
    if envelope.get("type").and_then(Json::as_str) == Some("url_verification") {
        return Body(json!({ "challenge": envelope.get("challenge") })).into_response();
    }
    // A retry is handled like any other request. Events are deduplicated by id.
    answer(slack.take(&envelope).await)
}

async fn interactions(State(slack): State<Arc<Slack>>, headers: HeaderMap, body: Bytes) -> Response {
    if let Some(refusal) = stranger(&slack, &headers, &body) {
        return refusal;
    }
    let payload = form_urlencoded::parse(&body).find(|(name, _)| name == "payload");
    let payload = payload.and_then(|(_, payload)| serde_json::from_str::<Json>(&payload).ok());
    let Some(payload) = payload else { return refused(StatusCode::BAD_REQUEST, "there is no payload") };
    for press in event::presses(&payload) {
        if let Err(error) = slack.press(press).await {
            return answer(Err(error));
        }
    }
    StatusCode::OK.into_response()
}
