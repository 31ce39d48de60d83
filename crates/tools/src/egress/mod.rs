//! Outbound HTTP of tools: an allow-list, one DNS lookup, one check, one connection.
//!
//! Invariants
//! - Only hosts on the operator's list are reached. An empty list allows nothing.
//! - A name is resolved once per hop. Every address is checked, and the connection goes to one of
//!   these addresses, which prevents DNS rebinding.
//! - A redirect is a new destination: it passes all checks again, drops headers meant for the first
//!   one, and never goes from https to http.
//! - The body, the headers, the number of hops and the time are limited.
//!
//! It deliberately does not support environment proxies, cookies, compression or connection reuse.
//! Each would be a way around one of the rules above.

mod address;
mod rules;
mod target;
mod tool;
mod wire;

pub use address::{Reach, address_allowed, reach};
pub use rules::{HostRule, Rules, Scheme};
pub use tool::HttpFetch;
pub use wire::{Connector, Resolver, Stream, System};

use crate::error::{Error, Result};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap};
use http::{Method, StatusCode};
use rules::Listing;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use target::{Target, name_is_metadata, name_is_private};
use url::Host;
use wire::{Answer, Outgoing};

/// A request. Use `..Request::get(url)` for the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// `GET`, `HEAD`, and if the operator allows writes `POST`, `PUT`, `PATCH`, `DELETE`.
    pub method: Method,
    /// The absolute URL.
    pub url: String,
    /// Name and value of each header.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// A size limit below that of the rules.
    pub max_bytes: Option<usize>,
    /// A timeout below that of the rules.
    pub timeout: Option<Duration>,
}

impl Request {
    /// A GET request.
    pub fn get(url: impl Into<String>) -> Self {
        let (method, headers, body) = (Method::GET, Vec::new(), Vec::new());
        Self { method, url: url.into(), headers, body, max_bytes: None, timeout: None }
    }
}

/// A response. All of it is untrusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// The body, up to the size limit.
    pub body: Vec<u8>,
    /// The URL after redirects.
    pub final_url: String,
    /// Whether the body was truncated.
    pub truncated: bool,
}

/// The maximum size of a request body.
const MAX_REQUEST_BODY: usize = 8 * 1024 * 1024;
/// The connect timeout of one address, if there are several.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// The outbound HTTP client.
pub struct EgressClient {
    rules: Rules,
    resolver: Arc<dyn Resolver>,
    connector: Arc<dyn Connector>,
    tls: OnceLock<Result<Arc<rustls::ClientConfig>, String>>,
}

impl fmt::Debug for EgressClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl EgressClient {
    /// A client with the system's resolver and sockets.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self::with(rules, Arc::new(System), Arc::new(System))
    }

    /// A client with another resolver and connector. The checks are the same.
    #[must_use]
    pub fn with(rules: Rules, resolver: Arc<dyn Resolver>, connector: Arc<dyn Connector>) -> Self {
        Self { rules, resolver, connector, tls: OnceLock::new() }
    }

    /// Uses other root certificates than those of the system, such as a company's own.
    #[must_use]
    pub fn trusting(self, tls: Arc<rustls::ClientConfig>) -> Self {
        Self { tls: OnceLock::from(Ok(tls)), ..self }
    }

    /// The operator's rules.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Sends a request. Dropping the future cancels it.
    pub async fn fetch(&self, request: Request) -> Result<Response> {
        let after = request.timeout.map_or(self.rules.timeout(), |asked| asked.min(self.rules.timeout()));
        let (shown, writes) = (shown(&request.url), !request.method.is_safe());
        let sent = AtomicBool::new(false);
        match tokio::time::timeout(after, Box::pin(self.follow(request, &sent))).await {
            Ok(outcome) => outcome,
            // The request may have been executed, so the error must not look retryable.
            Err(_) if writes && sent.load(Ordering::Relaxed) => {
                let detail = format!("no answer within {:.1} s", after.as_secs_f64());
                Err(Error::UnknownOutcome { tool: shown, detail })
            }
            Err(_) => Err(Error::Timeout { tool: shown, after }),
        }
    }

    async fn follow(&self, request: Request, sent: &AtomicBool) -> Result<Response> {
        let limit = request.max_bytes.unwrap_or(usize::MAX).min(self.rules.max_body_bytes);
        let mut journey = self.begin(request)?;
        for _ in 0..=self.rules.max_redirects.min(Rules::MOST_REDIRECTS) {
            let answer = self.hop(&journey, limit, sent).await?;
            let Some(location) = answer.location() else {
                let Answer { status, headers, body, truncated } = answer;
                return Ok(Response {
                    status,
                    headers,
                    body,
                    final_url: journey.target.url.into(),
                    truncated,
                });
            };
            let refused =
                |rule: &str| refusal(journey.target.url.as_str(), &format!("it redirects, but {rule}"));
            let location = location.to_str().map_err(|_| refused("not to an address"))?;
            let next = journey.target.redirected(location).map_err(refused)?;
            journey.turn(answer.status, next)?;
        }
        Err(refusal(journey.target.url.as_str(), "it redirects more often than is followed"))
    }

    /// Validates what does not depend on the destination.
    fn begin(&self, request: Request) -> Result<RedirectState> {
        let Request { method, url, headers, body, .. } = request;
        let refused = |rule: &str| refusal(&url, rule);
        let target = Target::parse(&url).map_err(refused)?;
        let known = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        if !known.contains(&method) {
            return Err(refused("this method is not spoken"));
        }
        if !method.is_safe() && !self.rules.allow_writes {
            return Err(refused("only reading is allowed: the operator may set allow_writes"));
        }
        if method.is_safe() && !body.is_empty() {
            return Err(refused("a request that reads has no body"));
        }
        if body.len() > MAX_REQUEST_BODY {
            return Err(Error::TooLarge {
                what: "the body that is to be sent".into(),
                limit: MAX_REQUEST_BODY,
            });
        }
        let headers = wire::headers_of(&headers).map_err(|rule| refused(&rule))?;
        Ok(RedirectState { target, method, headers, body: body.into() })
    }

    async fn hop(&self, journey: &RedirectState, limit: usize, sent: &AtomicBool) -> Result<Answer> {
        let target = &journey.target;
        let addresses = self.admit(target).await?;
        let stream = self.connect(target, &addresses).await?;
        let unreachable = |detail| Error::Unreachable { host: target.host.to_string(), detail };
        let tls = || self.tls.get_or_init(wire::system_tls).clone();
        let stream = wire::secured(stream, target, tls).await.map_err(unreachable)?;
        sent.store(true, Ordering::Relaxed);
        let outgoing =
            Outgoing { method: &journey.method, headers: &journey.headers, body: journey.body.clone() };
        wire::exchange(stream, target, outgoing, limit).await.map_err(|detail| {
            if journey.method.is_safe() {
                unreachable(detail)
            } else {
                Error::UnknownOutcome { tool: shown(target.url.as_str()), detail }
            }
        })
    }

    /// Checks one destination: scheme, allow-list, name, and every address of the name.
    async fn admit(&self, target: &Target) -> Result<Vec<IpAddr>> {
        let refused = |rule: &str| refusal(target.url.as_str(), rule);
        if !self.rules.schemes.contains(&target.scheme) {
            return Err(refused(&format!("{} is not allowed", target.scheme.name())));
        }
        let private = match self.rules.listing(&target.host, target.port, target.scheme) {
            Listing::Absent => return Err(refused("it is not on the operator's list of hosts and ports")),
            Listing::Public => false,
            Listing::Private => true,
        };
        let addresses = match &target.host {
            Host::Domain(name) if name_is_metadata(name) => {
                return Err(refused("it is the metadata service of a cloud"));
            }
            Host::Domain(name) if name_is_private(name) && !private => {
                return Err(refused("the name means this machine or its network"));
            }
            Host::Domain(name) => self.resolver.resolve(name).await.map_err(|error| Error::Unreachable {
                host: name.clone(),
                detail: format!("its name is not known: {error}"),
            })?,
            Host::Ipv4(address) => vec![(*address).into()],
            Host::Ipv6(address) => vec![(*address).into()],
        };
        for address in &addresses {
            address_allowed(*address, private).map_err(|what| refused(&format!("it leads to {what}")))?;
        }
        Ok(addresses)
    }

    /// Connects to the first checked address that answers.
    async fn connect(&self, target: &Target, addresses: &[IpAddr]) -> Result<Box<dyn Stream>> {
        let mut detail = "its name has no address".to_owned();
        for address in addresses {
            let attempt = self.connector.connect(SocketAddr::new(*address, target.port));
            match tokio::time::timeout(CONNECT_WITHIN, attempt).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => detail = error.to_string(),
                Err(_) => detail = format!("no connection within {} s", CONNECT_WITHIN.as_secs()),
            }
        }
        Err(Error::Unreachable { host: target.host.to_string(), detail })
    }
}

/// A request across redirects.
struct RedirectState {
    target: Target,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
}

impl RedirectState {
    /// Moves to the next destination and drops what it must not receive.
    fn turn(&mut self, status: StatusCode, next: Target) -> Result<()> {
        let refused = |rule: &str| refusal(self.target.url.as_str(), rule);
        if self.target.scheme == Scheme::Https && next.scheme == Scheme::Http {
            return Err(refused("it redirects from https to http"));
        }
        let becomes_get = match status.as_u16() {
            303 => self.method != Method::HEAD,
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = Bytes::new();
            self.headers.remove(CONTENT_TYPE);
        }
        if !next.same_origin(&self.target) {
            if !self.method.is_safe() {
                return Err(refused("it redirects a request that changes something to another host"));
            }
            wire::retain_safe_headers(&mut self.headers);
        }
        self.target = next;
        Ok(())
    }
}

fn refusal(url: &str, rule: &str) -> Error {
    Error::Egress { url: shown(url), rule: rule.to_owned() }
}

/// A URL for messages and the journal: without password, query and control characters, and
/// truncated.
fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, after)| after);
    let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    format!("{scheme}{rest}").chars().take(200).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
#[path = "mod_tests.rs"]
mod tests;
