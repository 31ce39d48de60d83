//! Server-sent events. Events are numbered, so a client can resume after a disconnect.

use super::Shared;
use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value as Json;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// The interval of keep-alive comments on an idle stream.
const ALIVE: Duration = Duration::from_secs(15);

/// One event.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// The event number, if the stream can be resumed from it.
    pub(super) id: Option<u64>,
    /// The event name. `None` for protocols that use data only.
    pub(super) name: Option<&'static str>,
    /// The content.
    pub(super) data: String,
}

impl Frame {
    pub(super) fn new(id: u64, name: &'static str, data: &Json) -> Self {
        Self { id: Some(id), name: Some(name), data: data.to_string() }
    }

    /// An event with data only, for other protocols.
    pub(super) fn data(data: impl Into<String>) -> Self {
        Self { id: None, name: None, data: data.into() }
    }

    fn bytes(&self) -> Bytes {
        let mut text = String::with_capacity(self.data.len() + 32);
        if let Some(id) = self.id {
            text.push_str(&format!("id: {id}\n"));
        }
        if let Some(name) = self.name {
            text.push_str(&format!("event: {name}\n"));
        }
        // JSON has no raw line breaks. Other text may.
        for line in self.data.split('\n') {
            text.push_str("data: ");
            text.push_str(line);
            text.push('\n');
        }
        text.push('\n');
        Bytes::from(text)
    }
}

/// The future of the next frames. `None` ends the stream.
pub(super) type Next<'a> = Pin<Box<dyn Future<Output = Option<Vec<Frame>>> + Send + 'a>>;

/// A source of frames.
pub(super) trait Source: Send + 'static {
    /// Waits for the next frames.
    fn next(&mut self) -> Next<'_>;
}

/// Streams a source until it ends, the client disconnects, or the server stops.
pub(super) fn respond(site: &Shared, source: impl Source) -> Response {
    let over = site.over.clone();
    let frames = stream::unfold((source, over), |(mut source, over)| async move {
        let next = tokio::select! {
            () = over.cancelled() => None,
            next = tokio::time::timeout(ALIVE, source.next()) => match next {
                Ok(frames) => frames,
                Err(_) => return Some((Ok::<_, Infallible>(Bytes::from_static(b": alive\n\n")), (source, over))),
            },
        };
        let bytes: Vec<u8> = next?.iter().flat_map(|frame| frame.bytes()).collect();
        Some((Ok(Bytes::from(bytes)), (source, over)))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache, no-transform")];
    (headers, [("x-accel-buffering", "no")], Body::from_stream(frames)).into_response()
}

/// The number of the last event that the client received.
pub(super) fn last_event(headers: &HeaderMap) -> u64 {
    let sent = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    sent.and_then(|id| id.parse().ok()).unwrap_or(0)
}
