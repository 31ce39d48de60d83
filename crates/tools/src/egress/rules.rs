//! The operator's rules for outbound requests.
//!
//! Invariant: the default allows nothing. A private destination needs two settings: the host by its
//! full name, and `allow_private`.

use crate::error::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use url::Host;

/// The allowed destinations and limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Hosts: `api.example.com`, `*.example.com`, `api.example.com:8443`, `[2606:4700::1111]`. An
    /// empty list allows nothing. Without a port the default of the scheme applies.
    pub allow: Vec<HostRule>,
    /// Whether hosts listed by their full name may be on this machine or in its networks.
    pub allow_private: bool,
    /// Whether methods that change something (`POST`, `PUT`, `PATCH`, `DELETE`) may be used.
    pub allow_writes: bool,
    /// The allowed schemes: `https`, and `http` if configured.
    pub schemes: Vec<Scheme>,
    /// The maximum number of redirects. Each is checked like the first address.
    pub max_redirects: u8,
    /// The maximum size of a body.
    pub max_body_bytes: usize,
    /// The timeout of a request, including redirects.
    pub timeout_seconds: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            allow_private: false,
            allow_writes: false,
            schemes: vec![Scheme::Https, Scheme::Http],
            max_redirects: 5,
            max_body_bytes: 1024 * 1024,
            timeout_seconds: 30.0,
        }
    }
}

impl Rules {
    /// The upper bound of `max_redirects`.
    pub const MOST_REDIRECTS: u8 = 5;

    /// Parses the operator's parameters, such as `Settings::parameters`.
    pub fn from_json(parameters: &serde_json::Value) -> Result<Self> {
        let refused = |problem: String| Error::Config { file: "egress".into(), line: 0, problem };
        let rules: Self =
            serde_path_to_error::deserialize(parameters).map_err(|error| refused(error.to_string()))?;
        if rules.max_redirects > Self::MOST_REDIRECTS {
            return Err(refused(format!("max_redirects may be at most {}", Self::MOST_REDIRECTS)));
        }
        if !(rules.timeout_seconds > 0.0 && rules.timeout_seconds <= 600.0) {
            return Err(refused("timeout_seconds must be between 0 and 600".into()));
        }
        Ok(rules)
    }

    /// The timeout of a request. An invalid value counts as zero.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::try_from_secs_f64(self.timeout_seconds).unwrap_or_default().min(Duration::from_secs(600))
    }

    /// Looks up a host and port in the allow-list.
    pub(super) fn listing(&self, host: &Host<String>, port: u16, scheme: Scheme) -> Listing {
        let fits = |rule: &&HostRule| rule.fits(host) && rule.port.unwrap_or(scheme.port()) == port;
        let mut found = Listing::Absent;
        for rule in self.allow.iter().filter(fits) {
            if matches!(rule.pattern, Pattern::Exact(_)) {
                return if self.allow_private { Listing::Private } else { Listing::Public };
            }
            found = Listing::Public;
        }
        found
    }
}

/// The result of a lookup in the allow-list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    /// It is not on the list.
    Absent,
    /// Allowed on the public Internet.
    Public,
    /// Allowed on the public Internet and in private networks.
    Private,
}

/// The URL scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

impl Scheme {
    /// The default port.
    #[must_use]
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// The name before `://`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// One entry of the allow-list.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRule {
    pattern: Pattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq)]
enum Pattern {
    /// This host.
    Exact(Host<String>),
    /// Every name with this suffix, which starts with a dot.
    Below(String),
}

impl HostRule {
    fn fits(&self, host: &Host<String>) -> bool {
        match (&self.pattern, host) {
            (Pattern::Exact(listed), host) => listed == host,
            (Pattern::Below(suffix), Host::Domain(name)) => {
                name.strip_suffix(suffix.as_str()).is_some_and(|rest| !rest.is_empty())
            }
            (Pattern::Below(_), _) => false,
        }
    }
}

impl FromStr for HostRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("{text:?} is not a host: {why}"));
        let (host, port) = match text.rsplit_once(':') {
            Some((host, _)) if host.starts_with('[') && !host.ends_with(']') => (text, None),
            Some((host, port)) => match port.parse::<u16>() {
                Ok(number) if number > 0 && number.to_string() == port => (host, Some(number)),
                _ => return wrong("what stands after the colon is not a port"),
            },
            None => (text, None),
        };
        let (name, below) = match host.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (host, false),
        };
        if name.is_empty() || name.ends_with('.') || name.contains(['*', '/', '@', '%', '\\', '#', '?', ' '])
        {
            return wrong("write api.example.com, *.example.com or api.example.com:8443");
        }
        let parsed = Host::parse(name).map_err(|error| format!("{text:?} is not a host: {error}"))?;
        let pattern = match parsed {
            host if !below => Pattern::Exact(host),
            Host::Domain(name) if name.contains('.') => Pattern::Below(format!(".{name}")),
            _ => return wrong("a star stands before at least two labels, as in *.example.com"),
        };
        Ok(Self { pattern, port })
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Pattern::Exact(host) => write!(f, "{host}")?,
            Pattern::Below(suffix) => write!(f, "*{suffix}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl Serialize for HostRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HostRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
