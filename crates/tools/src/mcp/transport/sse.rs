//! The older SSE transport: one event stream from the server, and a URL to which messages are
//! posted.
//!
//! Invariants
//! - Messages are posted only to the configured origin, whatever URL the server names.
//! - The size of an event in memory is limited.

use crate::error::{Error, Result};
use crate::mcp::calls::{ConnectionMonitor, DisconnectReason};
use crate::mcp::log::Log;
use crate::mcp::oauth::{self, Credentials};
use crate::mcp::server::Shared;
use crate::mcp::start::failed;
use crate::mcp::transport::http::{address, client, headers};
use ::http::HeaderMap;
use ::http::header::{ACCEPT, WWW_AUTHENTICATE};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::streamable_http_client::AuthRequiredError;
use rmcp::transport::{AuthError, AuthorizationManager, Transport};
use sse_stream::{Sse as Event, SseByteStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use url::Url;

/// Errors of sending a message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error("{0}")]
    Http(#[from] reqwest::Error),
    #[error("the server answered with HTTP {0}")]
    Status(u16),
    #[error("a login is needed")]
    Login(#[source] AuthRequiredError),
    #[error("{0}")]
    Auth(#[from] AuthError),
}

/// The credentials of requests.
#[derive(Clone)]
enum Proof {
    None,
    Bearer(Arc<str>),
    Login(Arc<AuthorizationManager>),
}

impl Proof {
    async fn apply(&self, request: reqwest::RequestBuilder) -> Result<reqwest::RequestBuilder, AuthError> {
        Ok(match self {
            Self::None => request,
            Self::Bearer(token) => request.bearer_auth(token),
            Self::Login(manager) => request.bearer_auth(manager.get_access_token().await?),
        })
    }
}

/// An event stream and the URL for messages.
pub(crate) struct Sse {
    events: BoxStream<'static, Result<Event, String>>,
    client: reqwest::Client,
    endpoint: Url,
    headers: HeaderMap,
    proof: Proof,
    tap: Arc<ConnectionMonitor>,
    log: Arc<Log>,
}

/// Opens the stream and waits until the server names the URL for messages.
pub(crate) async fn connect(shared: &Shared, tap: Arc<ConnectionMonitor>) -> Result<Sse> {
    let told = |detail: String| failed(shared, detail);
    let base: Url =
        address(shared).parse().map_err(|error| told(format!("its address is wrong: {error}")))?;
    let (client, headers) = (client(shared)?, headers(shared)?);
    let proof = match oauth::credentials(shared).await? {
        Credentials::None => Proof::None,
        Credentials::Bearer(token) => Proof::Bearer(token.into()),
        Credentials::Login(manager) => Proof::Login(Arc::from(manager)),
    };
    let request = client.get(base.clone()).headers(headers.clone()).header(ACCEPT, "text/event-stream");
    let response = async { checked(proof.apply(request).await?.send().await?) }.await;
    let response = response.map_err(|error: SendError| refused(shared, &error))?;
    let limit = shared.options.message_bytes;
    let mut events = bounded(response, limit, Arc::clone(&tap));
    let endpoint = loop {
        match events.next().await {
            Some(Ok(event)) if event.event.as_deref() == Some("endpoint") => {
                break event.data.unwrap_or_default();
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(told(error)),
            None => return Err(told("it closed the stream before it said where to send messages".into())),
        }
    };
    let endpoint = same_origin(&base, endpoint.trim()).map_err(told)?;
    let log = Arc::clone(&shared.log);
    Ok(Sse { events, client, endpoint, headers, proof, tap, log })
}

fn refused(shared: &Shared, error: &SendError) -> Error {
    let login = crate::mcp::connection::login_needed(&shared.server.name, error);
    login.unwrap_or_else(|| failed(shared, crate::mcp::connection::deepest(error)))
}

/// The URL for messages. It must have the same origin as the stream.
fn same_origin(base: &Url, endpoint: &str) -> Result<Url, String> {
    let endpoint = base.join(endpoint).map_err(|error| format!("it names a wrong address: {error}"))?;
    if endpoint.origin() != base.origin() {
        return Err(format!(
            "it wants messages to be sent to {}, which is another origin",
            endpoint.origin().ascii_serialization()
        ));
    }
    Ok(endpoint)
}

fn checked(response: reqwest::Response) -> Result<reqwest::Response, SendError> {
    if response.status() == reqwest::StatusCode::UNAUTHORIZED {
        let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        return Err(SendError::Login(AuthRequiredError::new(challenge.unwrap_or_default().to_owned())));
    }
    if response.status().is_success() {
        Ok(response)
    } else {
        Err(SendError::Status(response.status().as_u16()))
    }
}

/// The events of a response. The bytes since the last complete event are counted; too many end the
/// stream.
fn bounded(
    response: reqwest::Response,
    limit: usize,
    tap: Arc<ConnectionMonitor>,
) -> BoxStream<'static, Result<Event, String>> {
    let pending = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&pending);
    let bytes = response.bytes_stream().map_err(|error| error.to_string()).and_then(move |chunk| {
        let held = counted.fetch_add(chunk.len(), Ordering::AcqRel) + chunk.len();
        let fits = held <= limit;
        if !fits {
            tap.lose(DisconnectReason::TooLarge(limit));
        }
        std::future::ready(if fits {
            Ok(chunk)
        } else {
            Err(format!("an event is larger than {limit} bytes"))
        })
    });
    // A complete event resets the count. The rest of its chunk is small compared with the limit.
    let events = SseByteStream::new(bytes.map_err(std::io::Error::other));
    events
        .map(move |event| {
            pending.store(0, Ordering::Release);
            event.map_err(|error| error.to_string())
        })
        .boxed()
}

impl Transport<RoleClient> for Sse {
    type Error = SendError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let request = self.client.post(self.endpoint.clone()).headers(self.headers.clone()).json(&item);
        let proof = self.proof.clone();
        async move {
            checked(proof.apply(request).await?.send().await?)?;
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let event = match self.events.next().await? {
                Ok(event) => event,
                Err(error) => {
                    self.tap.lose(DisconnectReason::Closed(format!("its stream broke ({error})")));
                    return None;
                }
            };
            if event.event.as_deref().is_some_and(|kind| kind != "message") {
                continue;
            }
            let data = event.data.unwrap_or_default();
            match serde_json::from_str::<ServerJsonRpcMessage>(&data) {
                Ok(message) => return Some(message),
                Err(_) if data.is_empty() => {}
                Err(_) if serde_json::from_str::<serde_json::Value>(&data).is_ok() => {
                    self.log.push("event", &data);
                }
                Err(error) => {
                    self.tap.lose(DisconnectReason::Protocol(format!(
                        "it sent an event that is not JSON ({error})"
                    )));
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events = futures_util::stream::empty().boxed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::same_origin;

    #[test]
    fn messages_are_posted_to_same_origin_only() {
        let base = "http://127.0.0.1:8080/sse".parse().unwrap();
        let at = |endpoint| same_origin(&base, endpoint).map(|url| url.to_string());
        assert_eq!(at("/message?id=1"), Ok("http://127.0.0.1:8080/message?id=1".into()));
        assert_eq!(at("message"), Ok("http://127.0.0.1:8080/message".into()));
        for elsewhere in [
            "http://127.0.0.1:8081/message",
            "https://127.0.0.1:8080/message",
            "//example.com/x",
            "file:///etc",
        ] {
            assert!(at(elsewhere).is_err(), "{elsewhere}");
        }
    }
}
