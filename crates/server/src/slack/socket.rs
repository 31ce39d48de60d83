//! Socket Mode: events and buttons over an outgoing connection, for servers Slack cannot reach.
//!
//! Invariants
//! - An envelope is acknowledged after it was accepted and before it is processed. If the queue is
//!   full, it is not acknowledged and Slack retries it.
//! - A closed connection is reopened, with exponential backoff while it fails.

use super::error::Error;
use super::options::Secret;
use super::{Slack, event};
use futures_util::{SinkExt as _, StreamExt as _};
use rustls_platform_verifier::BuilderVerifierExt as _;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::Coded as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use tokio_util::sync::CancellationToken;
use url::Url;

/// The maximum size of a message, in bytes.
const LARGEST: usize = 4 * 1024 * 1024;
/// The timeout for opening a connection.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);
/// After this idle time a ping is sent. After the same time again the connection is closed.
const SILENCE: Duration = Duration::from_secs(30);
/// The maximum backoff.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The transport of a socket.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}
type Socket = WebSocketStream<Box<dyn Stream>>;

/// Why a connection ended.
enum Ended {
    /// Slack requested a reconnect.
    Refresh,
    /// Slack disabled Socket Mode, or the connection broke.
    Broken(String),
    /// The caller requested a stop.
    Stopped,
}

/// Keeps a socket open until `stop` is cancelled. It fails if there is no app token.
pub async fn socket(slack: Arc<Slack>, stop: CancellationToken) -> Result<(), Error> {
    let Some(token) = slack.options.app_token.clone() else {
        return Err(Error::Setup("STEWARD_SLACK_APP_TOKEN is not set".to_owned()));
    };
    let first = slack.options.reconnect_after;
    let mut pause = first;
    loop {
        let opened = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            opened = tokio::time::timeout(OPEN_TIMEOUT * 2, open(&slack, &token)) => opened,
        };
        let why = match opened {
            Ok(Ok(mut socket)) => match serve(&slack, &mut socket, &stop, || pause = first).await {
                Ended::Stopped => {
                    let _closed = tokio::time::timeout(Duration::from_secs(2), socket.close(None)).await;
                    return Ok(());
                }
                Ended::Refresh => continue,
                Ended::Broken(why) => why,
            },
            Ok(Err(error)) => error.to_string(),
            Err(_) => "nobody answered in time".to_owned(),
        };
        tracing::warn!(
            code = "SLK003",
            why,
            pause_ms = pause.as_millis(),
            "the socket to Slack is opened again"
        );
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(jittered(&slack, pause)) => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// A random delay of 75 to 100 % of a pause, so that many clients do not reconnect at once.
fn jittered(slack: &Slack, pause: Duration) -> Duration {
    let drawn = slack.chat.toolbox().app().random.bytes().ok();
    let share = drawn.and_then(|bytes| bytes.first().copied()).unwrap_or(255);
    pause.mul_f64(0.75 + 0.25 * f64::from(share) / 255.0)
}

async fn open(slack: &Slack, token: &Secret) -> Result<Socket, Error> {
    let address = slack.api.open_socket(token).await?;
    let broken = |detail: String| Error::Unreachable { method: "the socket".to_owned(), detail };
    let url = Url::parse(&address).map_err(|error| broken(error.to_string()))?;
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(broken("its address has no host".to_owned()));
    };
    let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await;
    let stream = stream.map_err(|error| broken(error.to_string()))?;
    let _at_once = stream.set_nodelay(true);
    let stream: Box<dyn Stream> = match url.scheme() {
        "wss" => Box::new(secured(stream, host).await.map_err(broken)?),
        "ws" if !slack.api.secure() => Box::new(stream),
        other => return Err(broken(format!("{other} is not encrypted"))),
    };
    let config = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
    let opened = client_async_with_config(address.as_str(), stream, Some(config)).await;
    // The error may contain the address, which is a secret.
    let (socket, _) = opened.map_err(|_| broken("the handshake failed".to_owned()))?;
    Ok(socket)
}

async fn secured(
    stream: TcpStream,
    host: &str,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let config = builder.with_platform_verifier().map_err(|error| error.to_string())?.with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|error| format!("TLS: {error}"))
}

/// Reads until the connection ends. `greeted` is called when Slack sends `hello`.
async fn serve(
    slack: &Arc<Slack>,
    socket: &mut Socket,
    stop: &CancellationToken,
    mut greeted: impl FnMut(),
) -> Ended {
    let mut asked = false;
    loop {
        let next = tokio::select! {
            () = stop.cancelled() => return Ended::Stopped,
            next = tokio::time::timeout(SILENCE, socket.next()) => next,
        };
        let message = match next {
            Err(_) if asked => return Ended::Broken("there was no sign of life".to_owned()),
            Err(_) => {
                asked = true;
                if socket.send(Message::Ping(Bytes::new())).await.is_err() {
                    return Ended::Broken("the connection broke".to_owned());
                }
                continue;
            }
            Ok(None) => return Ended::Broken("the connection was closed".to_owned()),
            Ok(Some(Err(_))) => return Ended::Broken("the connection broke".to_owned()),
            Ok(Some(Ok(message))) => message,
        };
        asked = false;
        let Message::Text(text) = message else { continue };
        let Ok(envelope) = serde_json::from_str::<Json>(&text) else { continue };
        match envelope.get("type").and_then(Json::as_str) {
            Some("hello") => greeted(),
            Some("disconnect") => {
                return match envelope.get("reason").and_then(Json::as_str) {
                    Some("link_disabled") => {
                        Ended::Broken("Socket Mode is switched off in the app's settings".to_owned())
                    }
                    _ => Ended::Refresh,
                };
            }
            kind => {
                if !taken(slack, kind, &envelope).await {
                    continue;
                }
                let Some(id) = envelope.get("envelope_id").and_then(Json::as_str) else { continue };
                let ack = json!({ "envelope_id": id }).to_string();
                if socket.send(Message::text(ack)).await.is_err() {
                    return Ended::Broken("the connection broke".to_owned());
                }
            }
        }
    }
}

/// Whether an envelope was accepted, or needs no processing.
async fn taken(slack: &Arc<Slack>, kind: Option<&str>, envelope: &Json) -> bool {
    let Some(payload) = envelope.get("payload") else { return true };
    let mut done = Ok(());
    match kind {
        Some("events_api") => done = slack.take(payload).await,
        Some("interactive") => {
            for press in event::presses(payload) {
                done = done.and(slack.press(press).await);
            }
        }
        _ => {}
    }
    if let Err(error) = &done {
        tracing::warn!(code = error.code(), "an event of Slack was not taken");
    }
    done.is_ok()
}
