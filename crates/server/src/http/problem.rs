//! Error responses: `application/problem+json` with an error code, a description and advice.

use axum::Json;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use steward_domain::{Coded, ErrorClass};

tokio::task_local! {
    /// The id of the current request.
    pub(super) static REQUEST: Box<str>;
}

/// The body of an error response.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(super) struct ProblemBody {
    /// The documentation page of the code.
    #[serde(rename = "type")]
    kind: String,
    /// The status as text.
    title: String,
    /// The HTTP status.
    status: u16,
    /// The error code, such as `RUN007`.
    code: String,
    /// What went wrong, and what to do.
    detail: String,
    /// The request id, as in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
}

/// An error response.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    status: StatusCode,
    pub(super) code: Cow<'static, str>,
    pub(super) detail: String,
    request_id: Option<Box<str>>,
    retry_after: Option<u32>,
}

impl Problem {
    /// A problem with this status and code.
    pub(super) fn new(
        status: StatusCode,
        code: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) -> Self {
        let request_id = REQUEST.try_with(Clone::clone).ok();
        Self { status, code: code.into(), detail: detail.into(), request_id, retry_after: None }
    }

    /// The response body.
    pub(super) fn told(&self) -> ProblemBody {
        ProblemBody {
            kind: format!("/page/errors/{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: self.status.as_u16(),
            code: self.code.to_string(),
            detail: self.detail.clone(),
            request_id: self.request_id.as_deref().map(str::to_owned),
        }
    }

    /// 404: it does not exist, or it belongs to another user.
    pub(super) fn missing(what: &str, id: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, "STO001", format!("there is no {what} {id}"))
    }

    /// 422: the input is invalid.
    pub(super) fn input(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "WEB010", detail)
    }

    /// 403: the caller lacks the grant.
    pub(super) fn denied(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "WEB011", detail)
    }

    /// 429: too many requests.
    pub(super) fn busy(detail: impl Into<String>, seconds: u32) -> Self {
        let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "WEB012", detail);
        Self { retry_after: Some(seconds.max(1)), ..problem }
    }

    /// 500: an internal error.
    pub(super) fn bug() -> Self {
        let detail =
            "Steward made a mistake here. What was asked for may not have been done; the log has the details";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "WEB021", detail)
    }

    /// 503: the server is stopping.
    pub(super) fn stopping() -> Self {
        let problem = Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "WEB013",
            "this server is stopping. Ask again in a moment: another one takes over",
        );
        Self { retry_after: Some(2), ..problem }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, retry) = (self.status(), self.retry_after);
        let mut response = (status, Json(self.told())).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = retry {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"steward\""));
        }
        response
    }
}

impl<E: Coded> From<E> for Problem {
    fn from(error: E) -> Self {
        let status = status_of(error.code(), error.class());
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            // Internal details go to the log. The response only refers to it.
            eprintln!("{} {error}", error.code());
        }
        let problem = Self::new(status, error.code(), error.to_string());
        let transient = error.class() == ErrorClass::Transient;
        Self { retry_after: transient.then_some(2), ..problem }
    }
}

fn status_of(code: &str, class: ErrorClass) -> StatusCode {
    match (code, class) {
        ("WEB001" | "WEB002" | "WEB003", _) => StatusCode::UNAUTHORIZED,
        (
            "STO001" | "RUN002" | "RUN004" | "RUN006" | "RUN007" | "RUN012" | "TOL002" | "TOL020" | "WEB006",
            _,
        ) => StatusCode::NOT_FOUND,
        (
            "STO002" | "STO020" | "RUN008" | "RUN011" | "RUN016" | "RUN017" | "TOL015" | "TOL003" | "TOL009"
            | "TOL012" | "TOL013",
            _,
        ) => StatusCode::CONFLICT,
        ("RUN014" | "TOL014", _) => StatusCode::PAYLOAD_TOO_LARGE,
        ("TOL007", _) => StatusCode::TOO_MANY_REQUESTS,
        // A failed tool is not a failed server.
        (
            "TOL008" | "TOL010" | "TOL011" | "TOL021" | "TOL022" | "TOL023" | "TOL024" | "TOL026" | "TOL031",
            _,
        ) => StatusCode::FAILED_DEPENDENCY,
        (_, ErrorClass::Denied) => StatusCode::FORBIDDEN,
        (_, ErrorClass::User) => StatusCode::UNPROCESSABLE_ENTITY,
        (_, ErrorClass::Transient) => StatusCode::SERVICE_UNAVAILABLE,
        (_, ErrorClass::Bug) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
