//! Strict extractors for bodies, queries and path ids. Invalid input is a problem that names the
//! field.

use super::problem::Problem;
use crate::identity::Identity;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The timeout for receiving a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A JSON body.
pub(super) struct Input<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Input<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind =
            request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        // A form of another site can send text, but not JSON.
        if kind != "application/json" && !kind.ends_with("+json") {
            return Err(Problem::new(
                axum::http::StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "WEB010",
                "send JSON, with `Content-Type: application/json`",
            ));
        }
        let bytes = whole(request, state).await?;
        // A JSON list would be read as the fields in their order, which is never intended.
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Err(Problem::input("the body must be a JSON object"));
        }
        let mut reader = serde_json::Deserializer::from_slice(&bytes);
        let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            let place = if path == "." { String::new() } else { format!("{path}: ") };
            Problem::input(format!("{place}{}", error.into_inner()))
        })?;
        reader.end().map_err(|error| Problem::input(error.to_string()))?;
        Ok(Self(value))
    }
}

/// Reads the whole body, within its size limit and timeout.
pub(super) async fn whole<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    let late =
        || Problem::new(axum::http::StatusCode::REQUEST_TIMEOUT, "WEB010", "the body did not arrive in time");
    let read =
        tokio::time::timeout(BODY_TIMEOUT, Bytes::from_request(request, state)).await.map_err(|_| late())?;
    read.map_err(|rejected| {
        let status = rejected.status();
        let code = if status.as_u16() == 413 { "WEB014" } else { "WEB010" };
        Problem::new(status, code, rejected.body_text())
    })
}

/// The query parameters.
pub(super) struct Queried<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Queried<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(value)| Self(value)).map_err(|rejected| Problem::input(rejected.body_text()))
    }
}

/// The path parameters. An invalid id is a 404.
pub(super) struct PathParam<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParam<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(value)| Self(value)).map_err(|rejected| {
            Problem::new(axum::http::StatusCode::NOT_FOUND, "STO001", rejected.body_text())
        })
    }
}

/// The authenticated caller.
pub(super) struct Authenticated(pub(super) Identity);

impl<S: Send + Sync> FromRequestParts<S> for Authenticated {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts
            .extensions
            .get::<Identity>()
            .cloned()
            .map(Self)
            .ok_or_else(|| crate::identity::Error::Nobody.into())
    }
}
