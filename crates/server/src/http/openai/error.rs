//! Errors below `/v1` in OpenAI's format, wherever they arise: in a handler, in the middleware, or
//! for an unknown path.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::{Value, json};

/// The maximum size of a problem body.
const LARGEST: usize = 64 * 1024;

/// Converts a problem to an OpenAI error with its status. 422 becomes 400.
pub(super) fn error_of(problem: &Value, status: StatusCode) -> (Value, StatusCode) {
    let status = match status {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        other => other,
    };
    let text = |name: &str| problem.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let detail = text("detail");
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.[]".contains(c);
    let param = detail
        .split_once(": ")
        .map(|(name, _)| name)
        .filter(|name| !name.is_empty() && name.chars().all(is_name) && status == StatusCode::BAD_REQUEST);
    (json!({ "message": detail, "type": kind, "param": param, "code": text("code") }), status)
}

/// Rewrites problem responses of requests below `/v1`.
pub(crate) async fn in_form(request: Request, next: Next) -> Response {
    let ours = request.uri().path().starts_with("/v1/") || request.uri().path() == "/v1";
    let response = next.run(request).await;
    let is_problem = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/problem+json"));
    if !ours || !is_problem {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let bytes = to_bytes(body, LARGEST).await.unwrap_or_default();
    let problem: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let (error, status) = error_of(&problem, head.status);
    head.status = status;
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Body::from(json!({ "error": error }).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_is_named() {
        let told = json!({ "detail": "messages[0].role: user, found x", "code": "WEB010" });
        let (error, status) = error_of(&told, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!((status.as_u16(), &error["param"]), (400, &json!("messages[0].role")));
        let told = json!({ "detail": "there is no model: x", "code": "RUN006" });
        assert_eq!(error_of(&told, StatusCode::NOT_FOUND).0["param"], Value::Null);
    }
}
