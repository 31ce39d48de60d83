//! The HTTP connection to model servers: response sizes and the meaning of errors.
//!
//! Redirects and proxies are not followed, so that the key goes only to the configured server. The
//! key is redacted in all messages of a server.

use std::time::Duration;

use reqwest::{Client, Response, StatusCode, Url};

use super::reply::complaint;
use super::{ModelError, Secret};

/// Maximum size of a response.
pub(super) const BODY: usize = 4 * 1024 * 1024;
/// Maximum size of a stream, in which each word may carry a kilobyte of metadata.
pub(super) const STREAM: usize = 64 * 1024 * 1024;
/// Time limit of connecting.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// How an attempt failed.
pub(super) enum Failed {
    /// A retry may help, after this wait if the server named one.
    Again(ModelError, Option<Duration>),
    /// The server rejects the request format.
    Form(ModelError, String),
    /// A retry does not help.
    Final(ModelError),
}

/// The server, for error messages.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) host: String,
    pub(super) model: String,
    pub(super) key: Option<Secret>,
}

impl Peer {
    /// Redacts the key in a server's message.
    pub(super) fn redact(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.redact(text))
    }

    pub(super) fn garbled(&self, detail: &str) -> ModelError {
        ModelError::Garbled { host: self.host.clone(), detail: self.redact(detail) }
    }

    pub(super) fn broke_off(&self, detail: &str) -> ModelError {
        ModelError::BrokeOff { host: self.host.clone(), detail: self.redact(detail) }
    }

    pub(super) fn unreachable(&self, error: reqwest::Error) -> ModelError {
        ModelError::Unreachable { host: self.host.clone(), detail: self.redact(&cause(error)) }
    }

    /// Reads the body, up to the limit.
    pub(super) async fn read(&self, mut response: Response) -> Result<Vec<u8>, Failed> {
        let mut bytes = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if bytes.len() + chunk.len() > BODY => {
                    return Err(Failed::Final(ModelError::TooLarge { limit: BODY }));
                }
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => return Ok(bytes),
                Err(error) => return Err(Failed::Again(self.broke_off(&cause(error)), None)),
            }
        }
    }

    /// The meaning of a status other than success.
    pub(super) fn refusal(&self, status: u16, body: &[u8], wait: Option<Duration>) -> Failed {
        let said = self.redact(&complaint(body));
        let (host, model, detail) = (self.host.clone(), self.model.clone(), said.clone());
        let lower = said.to_ascii_lowercase();
        match status {
            // Some servers report a context overflow as an internal error.
            400 | 413 | 422 | 500 if is_overflow(&lower) => {
                Failed::Final(ModelError::ContextOverflow { model, detail })
            }
            401 | 403 => Failed::Final(ModelError::Unauthorised { host, detail }),
            400 if lower.contains("api key not valid") || lower.contains("api_key_invalid") => {
                Failed::Final(ModelError::Unauthorised { host, detail })
            }
            404 if lower.contains("model") => Failed::Final(ModelError::NoModel { host, model, detail }),
            400 if lower.contains("model_not_found") => {
                Failed::Final(ModelError::NoModel { host, model, detail })
            }
            400 | 415 | 422 => Failed::Form(ModelError::Refused { host, status, detail }, said),
            // Waiting does not help if the quota of the account is used up.
            429 if lower.contains("insufficient_quota") => {
                Failed::Final(ModelError::RateLimited { host, detail })
            }
            429 => Failed::Again(ModelError::RateLimited { host, detail }, wait),
            // Some servers reject the format with 501 Not Implemented.
            501 => Failed::Form(ModelError::Server { host, status, detail }, said),
            408 | 425 | 500..=599 => Failed::Again(ModelError::Server { host, status, detail }, wait),
            _ => Failed::Final(ModelError::Refused { host, status, detail }),
        }
    }
}

/// Whether the server reports that the conversation exceeds its context window.
fn is_overflow(said: &str) -> bool {
    const PHRASES: [&str; 11] = [
        "context length",
        "context_length",
        "context window",
        "context size",
        "context_size",
        "maximum context",
        "prompt is too long",
        "input is too long",
        "too many tokens",
        "exceeds the maximum number of tokens",
        "input token count",
    ];
    PHRASES.iter().any(|phrase| said.contains(phrase))
}

/// The innermost cause is the most specific ("connection refused"); the outer ones repeat the
/// address.
pub(super) fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Parses an address from the settings, and its host for messages.
pub(super) fn address(text: &str) -> Result<(Url, String), ModelError> {
    let wrong = |detail: String| ModelError::Address { detail };
    let address = Url::parse(text.trim()).map_err(|error| wrong(error.to_string()))?;
    if !address.username().is_empty() || address.password().is_some() {
        return Err(wrong("it holds a user or a password; give the key apart".to_owned()));
    }
    match (address.host_str(), address.port_or_known_default()) {
        (Some(host), Some(port)) if matches!(address.scheme(), "http" | "https") => {
            let host = format!("{host}:{port}");
            Ok((address, host))
        }
        _ => Err(wrong("it begins neither with http:// nor with https://".to_owned())),
    }
}

/// An HTTP client for addresses of the operator: no proxy, no redirect, no hidden retry. Without
/// TLS, no system certificates are needed, which a minimal container may lack.
pub fn connection(tls: bool) -> Result<Client, String> {
    let builder = Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_WITHIN)
        .pool_idle_timeout(Duration::from_secs(30))
        .user_agent("steward");
    let builder = if tls {
        // If another part of the program has already installed a provider, that one stays.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
        builder.tls_backend_rustls()
    } else {
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let config =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config =
            config.map_err(|error| error.to_string())?.with_root_certificates(rustls::RootCertStore::empty());
        builder.tls_backend_preconfigured(config.with_no_client_auth())
    };
    builder.build().map_err(|error| error.to_string())
}

/// Where the header `traceparent` of a request comes from.
static TRACE_CONTEXT: std::sync::OnceLock<fn() -> Option<String>> = std::sync::OnceLock::new();

/// Names the function that gives the W3C trace context of a request. The first one counts.
pub fn trace_context_from(source: fn() -> Option<String>) {
    let _named_before = TRACE_CONTEXT.set(source);
}

/// The trace context of a request that is sent now.
pub(super) fn traceparent() -> Option<reqwest::header::HeaderValue> {
    let header = TRACE_CONTEXT.get()?()?;
    reqwest::header::HeaderValue::from_str(&header).ok()
}

/// Whether the response is a single JSON value, even if a stream was requested.
pub(super) fn is_single(response: &Response) -> bool {
    let kind = response.headers().get(reqwest::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().starts_with("application/json"))
}

/// Whether the status is a success.
pub(super) fn is_fine(status: StatusCode) -> bool {
    status.is_success()
}
