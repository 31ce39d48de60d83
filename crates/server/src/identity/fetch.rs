//! Fetches documents of the identity provider over HTTPS.

use super::token::Fetch;
use async_trait::async_trait;
use serde_json::Value as Json;
use std::time::Duration;

/// The request timeout.
const TIME: Duration = Duration::from_secs(10);
/// The maximum size of a document.
const LARGEST: usize = 1024 * 1024;

/// Fetches documents of the configured provider. Redirects are not followed, so keys come only from
/// the configured address.
#[derive(Debug, Default)]
pub struct HttpsFetch;

#[async_trait]
impl Fetch for HttpsFetch {
    async fn get(&self, url: &str) -> std::result::Result<Json, String> {
        document(url, |client| client.get(url)).await
    }

    async fn post(&self, url: &str, form: &[(&str, &str)]) -> std::result::Result<Json, String> {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let kind = "application/x-www-form-urlencoded";
        document(url, |client| client.post(url).header("content-type", kind).body(body)).await
    }
}

/// Sends a request and parses the JSON response.
async fn document(
    url: &str,
    request: impl FnOnce(&reqwest::Client) -> reqwest::RequestBuilder,
) -> std::result::Result<Json, String> {
    let secure = url.starts_with("https://");
    let local = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"]
        .iter()
        .any(|start| url.starts_with(start));
    if !secure && !local {
        return Err(format!("{url}: the provider is spoken to over https only"));
    }
    let got = async {
        let client = steward_models::connection(secure)?;
        let mut answer = request(&client).send().await.map_err(|error| error.to_string())?;
        if !answer.status().is_success() {
            return Err(format!("{url} answers {}", answer.status()));
        }
        let mut bytes = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| error.to_string())? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > LARGEST {
                return Err(format!("{url} sends more than {LARGEST} bytes"));
            }
        }
        serde_json::from_slice(&bytes).map_err(|error| format!("{url}: {error}"))
    };
    tokio::time::timeout(TIME, got).await.map_err(|_| format!("{url} does not answer"))?
}
