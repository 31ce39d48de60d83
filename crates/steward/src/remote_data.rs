//! Remote files: uses `tools::egress` with the operator's list of allowed hosts.

use async_trait::async_trait;
use http::Method;
use std::sync::Arc;
use steward_analysis::source::remote::{self, HttpReader, HttpRequest, HttpResponse};
use steward_tools::egress::{EgressClient, Request, Rules};

/// The hint for a host that is not allowed.
const ALLOW: &str = "Add the host to `sources: { allow: [...] }` in config/steward.yaml";
/// Maximum size of one response, regardless of the rules.
const MOST_BYTES: usize = 64 << 20;
/// The variable that passes the rules to the process that holds the data.
pub(crate) const VARIABLE: &str = "STEWARD_SOURCE_RULES";
/// Environment variables of AWS, Azure and Google Cloud.
pub(crate) const OF_BUCKETS: [&str; 16] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AZURE_STORAGE_ACCOUNT",
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_ENDPOINT",
    "GOOGLE_OAUTH_ACCESS_TOKEN",
    "CLOUDSDK_AUTH_ACCESS_TOKEN",
    "STORAGE_EMULATOR_HOST",
];

/// Allows sources on hosts of these rules from now on.
pub(crate) fn install(rules: &Rules) {
    let rules = Rules { max_body_bytes: MOST_BYTES, allow_writes: false, ..rules.clone() };
    remote::install(Arc::new(Door(EgressClient::new(rules))));
}

/// The same in a child process, from its environment.
pub(crate) fn install_from_environment() {
    let rules = std::env::var(VARIABLE).ok().and_then(|text| serde_json::from_str(&text).ok());
    install(&rules.unwrap_or_default());
}

struct Door(EgressClient);

#[async_trait]
impl HttpReader for Door {
    async fn read(&self, request: HttpRequest) -> Result<HttpResponse, String> {
        let method = if request.head { Method::HEAD } else { Method::GET };
        let HttpRequest { url, headers, max_bytes, .. } = request;
        let request = Request { method, headers, max_bytes: Some(max_bytes), ..Request::get(url) };
        let response = self.0.fetch(request).await.map_err(|error| match error {
            steward_tools::Error::Egress { url, rule } => {
                format!("{url} is not reached: {rule}. {ALLOW}")
            }
            other => other.to_string(),
        })?;
        let headers = response
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
        Ok(HttpResponse {
            status: response.status.as_u16(),
            headers: headers.collect(),
            body: response.body,
            truncated: response.truncated,
        })
    }
}
