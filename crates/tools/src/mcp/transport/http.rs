//! Streamable HTTP with the client of `rmcp`.
//!
//! Redirects are not followed: a moved server is a configuration change, and a secret header must
//! not be sent to an address that is not configured.

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

/// The connect timeout.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Retries of a broken stream. A short interruption is bridged; a dead server is detected after
/// about a second. `rmcp` honours a delay that the server requests.
#[derive(Debug)]
struct Resume;

impl SseRetryPolicy for Resume {
    fn retry(&self, tried: usize) -> Option<Duration> {
        [100, 300, 600].get(tried).map(|pause| Duration::from_millis(*pause))
    }
}

/// The transport, with and without a login.
pub(crate) enum Http {
    /// No credentials, or a static token.
    Open(StreamableHttpClientTransport<reqwest::Client>),
    /// A login that is refreshed automatically.
    Authorized(StreamableHttpClientTransport<AuthClient<reqwest::Client>>),
}

/// Creates the transport. No request is sent.
pub(crate) async fn connect(shared: &Shared) -> Result<Http> {
    let client = client(shared)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(address(shared))
        .custom_headers(
            headers(shared)?.into_iter().filter_map(|(name, value)| Some((name?, value))).collect(),
        )
        .max_sse_event_size(shared.options.message_bytes)
        .max_concurrent_requests(shared.options.concurrent);
    // A request that hit an expired session may have had an effect. The call path decides whether
    // to repeat it.
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

/// The configured URL of the server.
pub(crate) fn address(shared: &Shared) -> String {
    shared.server.config.url.clone().unwrap_or_default()
}

/// The configured headers with variables filled in.
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

/// The HTTP client.
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

/// Installs the TLS crypto provider. An earlier choice in this process is kept.
pub(crate) fn ring() {
    let _chosen = rustls::crypto::ring::default_provider().install_default();
}
