//! `ETag` support: a client that has the current document gets 304. Browsers must not cache
//! responses (`no-store`), so that nothing stays on a shared machine.

use super::problem::Problem;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

/// Sets the `ETag` of a document response.
pub(super) async fn tag(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let reads = request.method() == Method::GET
        && (path.starts_with("/api/v1/") || path.starts_with("/.well-known/"));
    let known = request.headers().get(IF_NONE_MATCH).cloned();
    let response = next.run(request).await;
    let headers = response.headers();
    let document = headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if !reads || !document || response.status() != StatusCode::OK || headers.contains_key(ETAG) {
        return response;
    }
    // Streams and very large responses are not buffered.
    if response.body().size_hint().exact().is_none_or(|size| size > super::MAX_BUFFERED_RESPONSE as u64) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, super::MAX_BUFFERED_RESPONSE).await else {
        return Problem::bug().into_response();
    };
    let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", of(&body))) else {
        return Response::from_parts(parts, Body::from(body));
    };
    let same = known.is_some_and(|known| fits(&known, &tag));
    parts.headers.insert(ETAG, tag);
    if same {
        parts.headers.remove(CONTENT_TYPE);
        parts.status = StatusCode::NOT_MODIFIED;
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(body))
}

/// The first half of a SHA-256 digest, which is enough to distinguish documents.
pub(super) fn of(body: &[u8]) -> String {
    let digest = Sha256::digest(body);
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Whether one of the client's tags matches.
pub(super) fn fits(known: &HeaderValue, tag: &HeaderValue) -> bool {
    let (Ok(known), Ok(tag)) = (known.to_str(), tag.to_str()) else { return false };
    known.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etag_matches_as_a_whole() {
        let tag = HeaderValue::from_static("\"abc\"");
        for (known, expected) in [
            ("\"abc\"", true),
            ("W/\"abc\"", true),
            ("\"x\", \"abc\"", true),
            ("*", true),
            ("abc", false),
            ("\"ab\"", false),
        ] {
            assert_eq!(fits(&HeaderValue::from_static(known), &tag), expected, "{known}");
        }
    }
}
