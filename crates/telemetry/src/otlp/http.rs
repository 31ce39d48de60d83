//! The HTTP client for the receiver: one POST of a batch, and the meaning of the response.
//!
//! Redirects and proxies are not followed, so that the headers go only to the configured receiver.

use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};

use super::wire;
use crate::options::{Endpoint, Headers};

/// Time limit of one POST.
const WITHIN: Duration = Duration::from_secs(10);
/// Time limit of connecting.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Maximum wait that a receiver may request.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Maximum size of a response.
const ANSWER: usize = 64 * 1024;

/// The outcome of a batch.
pub(super) enum Posted {
    /// Accepted, except for this many spans.
    Taken { rejected: u64 },
    /// A retry may help, after this wait if the receiver named one.
    Again(Option<Duration>),
    /// Refused; a retry does not help.
    Refused,
}

/// The receiver.
pub(super) struct Receiver {
    client: Client,
    address: Url,
    headers: HeaderMap,
}

impl Receiver {
    /// Sends nothing yet. Without TLS, no system certificates are needed, which a minimal container
    /// may lack.
    pub(super) fn new(endpoint: &Endpoint, headers: &Headers) -> Result<Self, String> {
        let builder = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_WITHIN)
            .timeout(WITHIN)
            .user_agent("steward");
        let builder = if endpoint.is_https() {
            // If another part of the program has already installed a provider, that one stays.
            let _chosen = rustls::crypto::ring::default_provider().install_default();
            builder.tls_backend_rustls()
        } else {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = rustls::ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .map_err(|error| error.to_string())?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            builder.tls_backend_preconfigured(config)
        };
        let client = builder.build().map_err(|error| error.without_url().to_string())?;
        let mut headers = headers.map();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        Ok(Self { client, address: endpoint.traces(), headers })
    }

    pub(super) async fn post(&self, body: Vec<u8>) -> Posted {
        let post = self.client.post(self.address.clone()).headers(self.headers.clone()).body(body);
        let Ok(response) = post.send().await else { return Posted::Again(None) };
        match response.status() {
            status if status.is_success() => Posted::Taken { rejected: rejected(response).await },
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
                let asked = asked.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
                Posted::Again(asked.map(|asked| asked.min(LONGEST_WAIT)))
            }
            _ => Posted::Refused,
        }
    }
}

/// The number of spans that the receiver rejected. A response that cannot be parsed counts as none.
async fn rejected(mut response: Response) -> u64 {
    let mut answer = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        if answer.len() + chunk.len() > ANSWER {
            return 0;
        }
        answer.extend_from_slice(&chunk);
    }
    let partial = wire::Response::decode(answer.as_slice()).ok().and_then(|answer| answer.partial_success);
    partial.and_then(|partial| u64::try_from(partial.rejected_spans).ok()).unwrap_or(0)
}
