//! Streamable HTTP, by `rmcp`'s client over this crate's way of building connections.
//!
//! Redirects are not followed: a server that moved is a change of configuration, and a header with
//! a secret must not travel to an address that nobody wrote down.

use crate::error::Result;
use crate::mcp::oauth::{self, Credentials};
use crate::mcp::server::Shared;
use crate::mcp::start::failed;
use crate::mcp::transport::fill_all;
use ::http::{HeaderMap, HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::common::client_side_sse::SseRetryPolicy;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use std::sync::Arc;
use std::time::Duration;

/// How long opening a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// How often and how soon a stream that broke off is taken up again: a hiccup is bridged, and after
/// about a second a server that died is known to be dead. A pause that the server itself asks for
/// is kept to by `rmcp`.
#[derive(Debug)]
struct Resume;

impl SseRetryPolicy for Resume {
    fn retry(&self, tried: usize) -> Option<Duration> {
        [100, 300, 600].get(tried).map(|pause| Duration::from_millis(*pause))
    }
}

/// With and without a login.
pub(crate) enum Http {
    /// Nothing, or a token that does not change.
    Open(StreamableHttpClientTransport<reqwest::Client>),
    /// A login that is renewed by itself.
    Authorized(StreamableHttpClientTransport<AuthClient<reqwest::Client>>),
}

/// A connection to the server's address. Nothing is sent yet.
pub(crate) async fn connect(shared: &Shared) -> Result<Http> {
    let client = client(shared)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(address(shared))
        .custom_headers(
            headers(shared)?.into_iter().filter_map(|(name, value)| Some((name?, value))).collect(),
        )
        .max_sse_event_size(shared.options.message_bytes)
        .max_concurrent_requests(shared.options.concurrent);
    // A request that ran into an expired session may have had an effect; whether it is repeated is
    // the call path's decision.
    config.reinit_on_expired_session = false;
    config.retry_config = Arc::new(Resume);
    Ok(match oauth::credentials(shared).await? {
        Credentials::None => Http::Open(StreamableHttpClientTransport::with_client(client, config)),
        Credentials::Bearer(token) => {
            Http::Open(StreamableHttpClientTransport::with_client(client, config.auth_header(token)))
        }
        Credentials::Login(manager) => {
            let client = AuthClient::new(client, *manager);
            Http::Authorized(StreamableHttpClientTransport::with_client(client, config))
        }
    })
}

/// The server's address, as it is configured.
pub(crate) fn address(shared: &Shared) -> String {
    shared.server.config.url.clone().unwrap_or_default()
}

/// The configured headers with their values filled in.
pub(crate) fn headers(shared: &Shared) -> Result<HeaderMap> {
    let filled = fill_all(&shared.server.config.headers, &*shared.options.variables)
        .map_err(|detail| failed(shared, detail))?;
    let mut headers = HeaderMap::new();
    for (name, value) in filled {
        let told = |problem: &str| failed(shared, format!("the header {name} {problem}"));
        let key = name.parse::<HeaderName>().map_err(|_| told("has no proper name"))?;
        // The value may be a secret, so it is not shown.
        let mut value = HeaderValue::from_str(&value).map_err(|_| told("has a value that cannot be sent"))?;
        value.set_sensitive(true);
        headers.append(key, value);
    }
    Ok(headers)
}

/// What connects.
pub(crate) fn client(shared: &Shared) -> Result<reqwest::Client> {
    ring();
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_WITHIN)
        .pool_idle_timeout(Duration::from_secs(30))
        .user_agent("steward")
        .tls_backend_rustls()
        .build()
        .map_err(|error| failed(shared, error.to_string()))
}

/// Chooses who encrypts. If another part of the program has already chosen, that stays.
pub(crate) fn ring() {
    let _chosen = rustls::crypto::ring::default_provider().install_default();
}
