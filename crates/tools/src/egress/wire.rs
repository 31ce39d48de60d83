//! The resolver and connector of outbound HTTP, and one HTTP/1.1 exchange over a connection.
//!
//! Invariant: nothing here chooses a destination. A connection is opened to the given address, and
//! the name is used only for the Host header and TLS.

use super::rules::Scheme;
use super::target::Target;
use async_trait::async_trait;
use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// Resolves names.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// All addresses of a name. It is called once per hop.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// A connection.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Opens connections.
#[async_trait]
pub trait Connector: Send + Sync {
    /// A connection to exactly this address.
    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>>;
}

/// The machine's resolver and its sockets.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

#[async_trait]
impl Resolver for System {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

#[async_trait]
impl Connector for System {
    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        let stream = tokio::net::TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}

/// A TLS configuration with the system's root certificates.
pub(super) fn system_tls() -> Result<Arc<rustls::ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let builder = builder.with_platform_verifier().map_err(|error| error.to_string())?;
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Wraps a connection in TLS if the target uses https. The certificate must match the name, not the
/// address.
pub(super) async fn secured(
    stream: Box<dyn Stream>,
    target: &Target,
    tls: impl FnOnce() -> Result<Arc<rustls::ClientConfig>, String>,
) -> Result<Box<dyn Stream>, String> {
    if target.scheme == Scheme::Http {
        return Ok(stream);
    }
    let name = match (target.literal(), target.url.host_str()) {
        (Some(address), _) => ServerName::from(address),
        (None, Some(name)) => ServerName::try_from(name.to_owned()).map_err(|error| error.to_string())?,
        (None, None) => return Err("it has no host".into()),
    };
    let connector = tokio_rustls::TlsConnector::from(tls()?);
    let stream = connector.connect(name, stream).await.map_err(|error| format!("TLS: {error}"))?;
    Ok(Box::new(stream))
}

/// A request over one connection.
pub(super) struct Outgoing<'a> {
    pub(super) method: &'a http::Method,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: Bytes,
}

/// A response over one connection.
pub(super) struct Answer {
    pub(super) status: http::StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) truncated: bool,
}

impl Answer {
    /// The redirect location, if there is one.
    pub(super) fn location(&self) -> Option<&HeaderValue> {
        location(self.status, &self.headers)
    }
}

fn location(status: http::StatusCode, headers: &HeaderMap) -> Option<&HeaderValue> {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308).then(|| headers.get(http::header::LOCATION))?
}

/// The maximum number of response headers.
const HEADER_LINES: usize = 100;
/// The maximum size of the response headers, in bytes.
const HEADER_BYTES: usize = 64 * 1024;

/// Sends one request and reads its response. The connection is closed afterwards.
pub(super) async fn exchange(
    stream: Box<dyn Stream>,
    target: &Target,
    outgoing: Outgoing<'_>,
    limit: usize,
) -> Result<Answer, String> {
    let request = written(target, outgoing)?;
    let mut builder = http1::Builder::new();
    builder.max_headers(HEADER_LINES).max_buf_size(HEADER_BYTES);
    let (mut sender, connection) =
        builder.handshake(TokioIo::new(stream)).await.map_err(|error| told(&error))?;
    let conversation = async {
        let response = sender.send_request(request).await.map_err(|error| told(&error))?;
        let (head, mut body) = response.into_parts();
        let (mut kept, mut truncated) = (Vec::new(), false);
        // The body of a redirect is not read.
        while location(head.status, &head.headers).is_none() && !truncated {
            let Some(frame) = body.frame().await else { break };
            let Ok(data) = frame.map_err(|error| told(&error))?.into_data() else { continue };
            let room = limit.saturating_sub(kept.len());
            truncated = data.len() > room;
            kept.extend(data.iter().take(room));
        }
        Ok(Answer { status: head.status, headers: head.headers, body: kept, truncated })
    };
    tokio::pin!(conversation, connection);
    // The connection is driven here and not in its own task, so that it ends when this future is
    // dropped.
    tokio::select! {
        biased;
        answer = &mut conversation => answer,
        _ended = &mut connection => conversation.await,
    }
}

fn written(target: &Target, outgoing: Outgoing<'_>) -> Result<http::Request<Full<Bytes>>, String> {
    let mut request = http::Request::builder().method(outgoing.method).uri(target.path());
    if let Some(headers) = request.headers_mut() {
        headers.extend(outgoing.headers.clone());
        let host = HeaderValue::from_str(&target.authority()).map_err(|error| error.to_string())?;
        headers.insert(http::header::HOST, host);
        headers.insert(http::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(http::header::CONNECTION, HeaderValue::from_static("close"));
        let agent = HeaderValue::from_static(concat!("steward/", env!("CARGO_PKG_VERSION")));
        headers.entry(http::header::USER_AGENT).or_insert(agent);
    }
    request.body(Full::new(outgoing.body)).map_err(|error| error.to_string())
}

/// The message of a hyper error, with its source.
fn told(error: &hyper::Error) -> String {
    let below = std::error::Error::source(error).map(|source| format!(": {source}"));
    format!("{error}{}", below.unwrap_or_default())
}

/// The maximum number of request headers.
const SENT_LINES: usize = 64;
/// The maximum size of the request headers, in bytes.
const SENT_BYTES: usize = 16 * 1024;

/// Validates the caller's headers. Framing headers and `Host` are set by this module only.
pub(super) fn headers_of(pairs: &[(String, String)]) -> Result<HeaderMap, String> {
    const OURS: [&str; 14] = [
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
        "keep-alive",
        "expect",
        "accept-encoding",
        "http2-settings",
        "via",
        "forwarded",
        "proxy-authorization",
    ];
    let bytes: usize = pairs.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
    if pairs.len() > SENT_LINES || bytes > SENT_BYTES {
        return Err(format!("at most {SENT_LINES} headers with {SENT_BYTES} bytes are sent"));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let wrong = |_| format!("the header {name:?} holds characters that no header may hold");
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong(()))?;
        if OURS.contains(&parsed.as_str())
            || parsed.as_str().starts_with("proxy-")
            || parsed.as_str().starts_with("x-forwarded-")
        {
            return Err(format!("the header {name:?} is not the caller's to set"));
        }
        headers.append(parsed, HeaderValue::from_str(value).map_err(|_| wrong(()))?);
    }
    Ok(headers)
}

/// Keeps only headers that may go to another origin. It is an allow-list, because secrets can be in
/// headers of any name.
pub(super) fn retain_safe_headers(headers: &mut HeaderMap) {
    const HARMLESS: [HeaderName; 4] =
        [http::header::ACCEPT, http::header::ACCEPT_LANGUAGE, http::header::USER_AGENT, http::header::RANGE];
    let kept = std::mem::take(headers);
    for name in HARMLESS {
        if let Some(value) = kept.get(&name) {
            headers.insert(name, value.clone());
        }
    }
}
