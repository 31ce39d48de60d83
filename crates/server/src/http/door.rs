//! The middleware of every request: request id, host and origin checks, authentication, rate limit.
//!
//! Invariants
//! - A page of another site cannot change anything. Its origin is not allowed, it has no CSRF
//!   token, and the session cookie is not sent with its requests.
//! - Loopback access without sign-in requires a direct loopback connection. Proxied requests are
//!   not accepted.

use super::Shared;
use super::problem::{Problem, REQUEST};
use crate::identity::{Administrator, AuthMethod, Identity};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_LENGTH, COOKIE, HOST, ORIGIN,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The name of the session cookie.
pub(super) const COOKIE_NAME: &str = "steward_session";
/// The header with the CSRF token of the page.
const CSRF: &str = "x-csrf-token";
const REQUEST_ID: &str = "x-request-id";

tokio::task_local! {
    /// The header `traceparent` of the request, if it has one.
    pub(super) static TRACE: Option<Box<str>>;
}

/// The remote address of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// The outermost middleware of a request and its response.
pub(super) async fn admit(State(site): State<Shared>, request: Request, next: Next) -> Response {
    let began = site.clock().monotonic();
    let id = request_id(&site, request.headers());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let origin = request.headers().get(ORIGIN).cloned();
    let trace = request.headers().get("traceparent").and_then(|header| header.to_str().ok()).map(Box::from);
    let preflight =
        method == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    // Set by the handler, read by the log.
    let user = Arc::new(OnceLock::new());
    let known = user.clone();
    let answer = async {
        let (parts, body) = request.into_parts();
        let passed = passes(&site, &parts).await;
        let mut request = Request::from_parts(parts, body);
        match passed {
            Ok(_) if preflight => StatusCode::NO_CONTENT.into_response(),
            Ok(identity) => {
                if let Some(identity) = &identity {
                    let _first = known.set(identity.user.to_string());
                }
                identity.map(|identity| request.extensions_mut().insert(identity));
                next.run(request).await
            }
            Err(problem) => problem.into_response(),
        }
    };
    let answer = TRACE.scope(trace, answer);
    let answered = AssertUnwindSafe(REQUEST.scope(id.as_str().into(), answer)).catch_unwind().await;
    // A panic in one handler becomes a 500 response and does not affect other requests.
    let mut response = answered.unwrap_or_else(|_| Problem::bug().into_response());
    if let Some(origin) =
        origin.filter(|origin| site.options.origins.iter().any(|known| *origin == known.as_str()))
    {
        shared_with(response.headers_mut(), origin);
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(HeaderName::from_static(REQUEST_ID), value);
    }
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), microphone=(), geolocation=(), interest-cohort=()"),
        ("content-security-policy", POLICY),
        ("cache-control", "no-store"),
    ] {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    let took = site.clock().monotonic().saturating_sub(began);
    site.log(&method, &path, response.status(), took, &id, user.get().map(String::as_str));
    response
}

/// Sets the CORS headers for an origin that the operator allowed. Credentials are not allowed.
fn shared_with(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert("access-control-allow-origin", origin);
    for (name, value) in [
        ("access-control-allow-methods", "GET, POST, PATCH, DELETE"),
        (
            "access-control-allow-headers",
            "authorization, content-type, idempotency-key, last-event-id, x-request-id",
        ),
        ("access-control-expose-headers", "retry-after, x-request-id, x-steward-head"),
        ("access-control-max-age", "600"),
        ("vary", "Origin"),
        ("cross-origin-resource-policy", "cross-origin"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}

/// The content security policy of the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Authenticates a request and checks whether it is admitted. `None` is unauthenticated.
async fn passes(site: &Shared, request: &Parts) -> Result<Option<Identity>, Problem> {
    let headers = &request.headers;
    // Two `Host` headers, or another host in the URI, are rejected: a proxy in front may have
    // checked the other one.
    let named = request.uri.authority().map(|authority| authority.as_str());
    let mut hosts = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
    let host = hosts.next().unwrap_or_default();
    if hosts.next().is_some() || named.is_some_and(|named| !named.eq_ignore_ascii_case(host)) {
        let detail =
            "a request names one host: there is more than one `Host`, or it is not that of the address";
        return Err(Problem::new(StatusCode::BAD_REQUEST, "WEB015", detail));
    }
    if !site
        .options
        .hosts
        .iter()
        .any(|known| known == "*" || bare(host).is_some_and(|host| known.eq_ignore_ascii_case(host)))
    {
        let detail = format!("this server does not answer to {host:?}. Name it with --host-name");
        return Err(Problem::new(axum::http::StatusCode::MISDIRECTED_REQUEST, "WEB015", detail));
    }
    // An unreadable origin is treated as a foreign one.
    let origin = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or("?"));
    let from_page = origin.is_some() || headers.contains_key("sec-fetch-site");
    if let Some(origin) = origin
        && !own_origin(origin, host)
        && !site.options.origins.iter().any(|known| known == origin)
    {
        return Err(Problem::denied(format!("pages of {origin} may not use this server")));
    }
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let most = super::largest(request.uri.path());
    if announced.is_some_and(|length| length > most) {
        let detail = format!("at most {most} bytes are taken here");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "WEB014", detail));
    }
    let (limiter, now, most) = (&site.limiter, site.clock().monotonic(), site.options.per_minute);
    let identity = identify(site, request).await;
    // Unauthenticated requests are rate-limited by address. The page and its files are exempt.
    if !matches!(identity, Ok(Some(_))) && !open(request.uri.path()) {
        let from = request.extensions.get::<Peer>().map(|peer| peer.0.ip().to_canonical().to_string());
        limiter.take(&format!("from {}", from.unwrap_or_default()), now, most)?;
    }
    if identity.is_err() {
        site.access.refused("request").await?;
    }
    for changes in site.directory.take_file_changes() {
        let by = Administrator { user: site.directory.machine_owner().clone(), key: None };
        site.access.changed(&by, "file_changed", changes).await?;
    }
    let identity = identity?;
    if let Some(identity) = &identity {
        let safe = matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS);
        // A client sends a key or a token on purpose. A browser sends a cookie and uses loopback
        // without the user's intent.
        let by_itself = match identity.by {
            AuthMethod::Session => true,
            // A page that uses MCP is recognized by its allowed origin; it has no CSRF token.
            AuthMethod::Loopback => from_page && !(origin.is_some() && request.uri.path() == "/mcp"),
            AuthMethod::Key | AuthMethod::Token | AuthMethod::Slack => false,
        };
        if by_itself && !safe {
            let sent = headers.get(CSRF).and_then(|token| token.to_str().ok()).unwrap_or_default();
            if !site.directory.csrf_matches(identity, sent) {
                return Err(Problem::denied(
                    "the token of the page is missing or old (X-CSRF-Token): load it anew",
                ));
            }
        }
        limiter.take(identity.user.as_str(), now, most)?;
    }
    Ok(identity)
}

/// Paths with the same cheap response for every caller.
fn open(path: &str) -> bool {
    matches!(path, "/" | "/health" | "/ready" | "/favicon.ico" | "/favicon.svg") || path.starts_with("/page/")
}

async fn identify(site: &Shared, request: &Parts) -> Result<Option<Identity>, Problem> {
    let headers = &request.headers;
    if let Some(sent) = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()) {
        let mut words = sent.split_ascii_whitespace();
        let bearer = match (words.next(), words.next(), words.next()) {
            (Some(scheme), Some(bearer), None) if scheme.eq_ignore_ascii_case("bearer") => bearer,
            _ => return Err(crate::identity::Error::Key.into()),
        };
        // Some clients require a key and send a dummy. For the loopback owner an invalid key is
        // ignored.
        match site.directory.by_bearer(bearer).await {
            Ok(identity) => return Ok(Some(identity)),
            Err(error) => {
                return owner(site, request).map_or_else(|| Err(error.into()), |owner| Ok(Some(owner)));
            }
        }
    }
    if let Some(cookie) = cookie(headers)
        && let Ok(identity) = site.directory.by_cookie(&cookie)
    {
        return Ok(Some(identity));
    }
    Ok(owner(site, request))
}

/// The owner of the machine, for direct loopback connections only.
fn owner(site: &Shared, request: &Parts) -> Option<Identity> {
    let peer = request.extensions.get::<Peer>()?;
    let handed_on = [
        "forwarded",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-real-ip",
        "x-client-ip",
        "via",
        "cf-connecting-ip",
        "true-client-ip",
    ]
    .iter()
    .any(|name| request.headers.contains_key(*name));
    if !site.options.loopback_owner || !peer.0.ip().to_canonical().is_loopback() || handed_on {
        return None;
    }
    site.directory.owner()
}

/// The session cookie, if present.
pub(super) fn cookie(headers: &HeaderMap) -> Option<String> {
    cookie_named(headers, COOKIE_NAME)
}

/// The cookie with this name.
pub(super) fn cookie_named(headers: &HeaderMap, wanted: &str) -> Option<String> {
    let sent = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = sent.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned())
}

/// The host without its port. `None` if it is malformed.
fn bare(host: &str) -> Option<&str> {
    let (name, rest) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.split_at_checked(host.find(':').unwrap_or(host.len()))?,
    };
    let port = rest.strip_prefix(':').unwrap_or(rest);
    (rest.is_empty() || (rest.starts_with(':') && port.bytes().all(|byte| byte.is_ascii_digit())))
        .then_some(name)
}

fn own_origin(origin: &str, host: &str) -> bool {
    origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"))
        .is_some_and(|named| named == host)
}

/// The request id of the client if it is safe to log, otherwise a new one.
fn request_id(site: &Shared, headers: &HeaderMap) -> String {
    let sent = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let harmless = |id: &&str| {
        (8..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    match sent.filter(harmless) {
        Some(id) => id.to_owned(),
        None => site.new_id().map(|id| id.to_string()).unwrap_or_default(),
    }
}

/// A rate limiter with one token bucket per caller.
#[derive(Default)]
pub(super) struct Limiter {
    buckets: Mutex<HashMap<String, (f64, Duration)>>,
}

/// The maximum number of buckets.
const BUCKETS: usize = 10_000;

impl Limiter {
    fn take(&self, who: &str, now: Duration, per_minute: u32) -> Result<(), Problem> {
        let rate = f64::from(per_minute) / 60.0;
        // A burst may use the quota of 15 seconds.
        let most = (rate * 15.0).max(1.0);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= BUCKETS && !buckets.contains_key(who) {
            buckets.retain(|_, (left, at)| *left + now.saturating_sub(*at).as_secs_f64() * rate < most);
        }
        let (left, at) = buckets.entry(who.to_owned()).or_insert((most, now));
        *left = (*left + now.saturating_sub(*at).as_secs_f64() * rate).min(most);
        *at = now;
        if *left < 1.0 {
            let seconds = ((1.0 - *left) / rate).ceil();
            return Err(Problem::busy(
                format!("more than {per_minute} requests a minute: wait {seconds} s"),
                seconds as u32,
            ));
        }
        *left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_limit_bucket_refills_over_time() {
        let limiter = Limiter::default();
        let at = Duration::from_secs;
        for _ in 0..15 {
            limiter.take("ada", at(0), 60).unwrap();
        }
        assert!(
            limiter.take("ada", at(0), 60).is_err(),
            "15 at once are as many as a quarter of a minute gives"
        );
        limiter.take("bob", at(0), 60).unwrap();
        limiter.take("ada", at(1), 60).unwrap();
        assert!(limiter.take("ada", at(1), 60).is_err());
    }

    #[test]
    fn hosts_and_origins_are_compared_as_a_whole() {
        assert_eq!(bare("127.0.0.1:80"), Some("127.0.0.1"));
        assert_eq!(bare("[::1]:80"), Some("::1"));
        assert_eq!(bare("localhost"), Some("localhost"));
        assert_eq!(bare("127.0.0.1:80@evil"), None);
        assert_eq!(bare("[::1]evil"), None);
        assert!(own_origin("http://localhost:1", "localhost:1"));
        assert!(!own_origin("http://localhost:1.evil.example", "localhost:1"));
        assert!(!own_origin("null", "localhost:1"));
    }
}
