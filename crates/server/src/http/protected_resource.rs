//! OAuth 2.0 protected resource metadata for `/mcp` (RFC 9728): the document that names the
//! identity provider, and the challenge that refers to the document.
//!
//! Without a provider the document is 404 and the challenge is the default one.

use super::Shared;
use super::openapi::Api;
use super::problem::Problem;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::{HOST, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

const DOCUMENT: &str = "/.well-known/oauth-protected-resource";
const DOCUMENT_OF_MCP: &str = "/.well-known/oauth-protected-resource/mcp";
const RESOURCE: &str = "/mcp";

pub(super) fn routes(api: &mut Api) {
    for path in [DOCUMENT, DOCUMENT_OF_MCP] {
        api.get(path, "Where a client of MCP signs in (RFC 9728)")
            .open()
            .gives_object(200, "The resource and its identity provider.")
            .to(get(document));
    }
}

async fn document(State(site): State<Shared>, headers: HeaderMap) -> Result<Json<Value>, Problem> {
    let provider = site.directory.oidc().ok_or_else(|| Problem::missing("identity provider", RESOURCE))?;
    Ok(Json(json!({
        "resource": format!("{}{RESOURCE}", base(&headers)),
        "resource_name": "Steward",
        "authorization_servers": [provider.issuer],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["openid"],
    })))
}

/// The base address that the client used. `X-Forwarded-Proto` tells whether it was HTTPS.
fn base(headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let scheme = if text("x-forwarded-proto") == "https" { "https" } else { "http" };
    format!("{scheme}://{}", text(HOST.as_str()))
}

/// Adds the document's address to the challenge of `/mcp`.
pub(super) async fn challenge(State(site): State<Shared>, request: Request, next: Next) -> Response {
    let asks = request.uri().path() == RESOURCE;
    let base = asks.then(|| base(request.headers()));
    let mut response = next.run(request).await;
    if let Some(base) = base.filter(|_| response.status() == StatusCode::UNAUTHORIZED)
        && site.directory.oidc().is_some()
        && let Ok(challenge) = HeaderValue::from_str(&format!(
            "Bearer realm=\"steward\", resource_metadata=\"{base}{DOCUMENT_OF_MCP}\""
        ))
    {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::base;
    use axum::http::HeaderMap;

    #[test]
    fn base_address_uses_host_and_forwarded_scheme() {
        let mut headers = HeaderMap::new();
        headers.insert("host", "steward.example:8443".parse().unwrap());
        assert_eq!(base(&headers), "http://steward.example:8443");
        headers.insert("x-forwarded-proto", "https".parse().unwrap());
        assert_eq!(base(&headers), "https://steward.example:8443");
    }
}
