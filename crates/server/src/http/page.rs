//! The page: the files of `web/`, embedded in the binary, compressed once, tagged by hash.
//!
//! Invariant: files are looked up by name in the embedded table, never on disk.

use super::Shared;
use super::problem::Problem;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// A file with its compressed form.
#[derive(Clone)]
struct Ready {
    plain: Bytes,
    compressed: Bytes,
    tag: String,
}

/// The files that were requested so far.
#[derive(Default)]
pub(super) struct Page {
    ready: Mutex<HashMap<&'static str, Ready>>,
}

impl Page {
    fn get(&self, path: &str) -> Option<(&'static str, Ready)> {
        let (name, content) = FILES.iter().find(|(name, _)| *name == path)?;
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let made = ready.entry(name).or_insert_with(|| prepare(content));
        Some((name, made.clone()))
    }
}

fn prepare(content: &'static [u8]) -> Ready {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let compressed = encoder.write_all(content).and_then(|()| encoder.finish()).unwrap_or_default();
    Ready {
        plain: Bytes::from_static(content),
        compressed: compressed.into(),
        tag: format!("\"{}\"", super::etag::of(content)),
    }
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" | "map" => "application/json",
        "png" => "image/png",
        "md" | "txt" => "text/plain; charset=utf-8",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// The fallback route: a file of the page, or 404.
pub(super) async fn serve(State(site): State<Shared>, request: Request) -> Response {
    let path = request.uri().path();
    let missing = || {
        let detail =
            format!("there is nothing at {path}. The API is described at /openapi.json, the page is at /");
        Problem::new(StatusCode::NOT_FOUND, "WEB018", detail).into_response()
    };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return missing();
    }
    let name = match path {
        "/" => "index.html",
        "/favicon.ico" | "/favicon.svg" => "icon.svg",
        other => match other.strip_prefix("/page/") {
            Some(name) => name,
            None => return missing(),
        },
    };
    if let Some(code) = name.strip_prefix("errors/") {
        return explained(code).unwrap_or_else(missing);
    }
    let Some((name, file)) = site.page.get(name) else { return missing() };
    let header =
        |name| request.headers().get(name).and_then(|value: &axum::http::HeaderValue| value.to_str().ok());
    let common = [
        (ETAG, file.tag.clone()),
        (CACHE_CONTROL, "no-cache".to_owned()),
        (VARY, "Accept-Encoding".to_owned()),
    ];
    if header(IF_NONE_MATCH) == Some(file.tag.as_str()) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    let packed = header(ACCEPT_ENCODING).is_some_and(|kinds| kinds.contains("gzip"))
        && file.compressed.len() < file.plain.len();
    let kind = [(CONTENT_TYPE, kind(name))];
    if packed {
        (common, kind, [(CONTENT_ENCODING, "gzip")], file.compressed).into_response()
    } else {
        (common, kind, file.plain).into_response()
    }
}

/// The documentation page of an error code.
fn explained(code: &str) -> Option<Response> {
    let (_, text) = ERRORS.iter().find(|(known, _)| *known == code)?;
    Some(([(CONTENT_TYPE, "text/plain; charset=utf-8")], *text).into_response())
}
