//! Parses a URL to a destination without ambiguity.
//!
//! Invariant: two parsers agree on a [`Target`]. The strict one here parses the authority by hand
//! and rejects what URL parsers are known to read differently: user names, backslashes, blanks,
//! escapes and non-ASCII letters in the host, numbers that are not a plain dotted quad, zone ids,
//! trailing dots. The `url` crate then parses the same string, and its host and port must be
//! identical.

use super::rules::Scheme;
use std::net::{IpAddr, Ipv6Addr};
use url::{Host, Url};

/// The destination of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    pub(super) url: Url,
    pub(super) scheme: Scheme,
    pub(super) host: Host<String>,
    pub(super) port: u16,
}

/// The maximum length of a URL.
const LONGEST: usize = 8 * 1024;

impl Target {
    /// Parses an absolute URL. The error is the violated rule.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        plain(text)?;
        let (scheme, rest) = text.split_once("://").ok_or("write it out, as in https://example.com/")?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err("only http and https are spoken"),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at_checked(end).ok_or("it has no host")?;
        if tail.starts_with(['?', '#']) {
            return Err("write a slash after the host");
        }
        let (host, port) = authority_of(authority)?;
        let port = port.unwrap_or(scheme.port());
        let mut url = Url::parse(text).map_err(|_| "it is not an address")?;
        url.set_fragment(None);
        let agreed = url.scheme() == scheme.name()
            && url.host().map(|host| host.to_owned()).as_ref() == Some(&host)
            && url.port_or_known_default() == Some(port)
            && url.username().is_empty()
            && url.password().is_none();
        if agreed { Ok(Self { url, scheme, host, port }) } else { Err("it can be read in two ways") }
    }

    /// Parses the location of a redirect from here.
    pub(super) fn redirected(&self, location: &str) -> Result<Self, &'static str> {
        plain(location)?;
        if location.is_empty() {
            return Err("the redirect leads nowhere");
        }
        if location.starts_with("//") {
            return Self::parse(&format!("{}:{location}", self.scheme.name()));
        }
        // A colon before the first slash is a scheme, whatever follows. It is never read as a path.
        let before_slash = location.split(['/', '?', '#']).next().unwrap_or_default();
        if before_slash.contains(':') {
            return Self::parse(location);
        }
        let joined = self.url.join(location).map_err(|_| "the redirect is not an address")?;
        let target = Self::parse(joined.as_str())?;
        if target.same_origin(self) { Ok(target) } else { Err("it can be read in two ways") }
    }

    /// Whether both are the same scheme, host and port.
    pub(super) fn same_origin(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }

    /// The IP address, if the host is one.
    pub(super) fn literal(&self) -> Option<IpAddr> {
        match self.host {
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
            Host::Domain(_) => None,
        }
    }

    /// `host` or `host:port`, for the Host header.
    pub(super) fn authority(&self) -> String {
        if self.port == self.scheme.port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Path and query, for the request line.
    pub(super) fn path(&self) -> String {
        match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        }
    }
}

/// Rejects characters that URL parsers strip, trim or convert differently.
fn plain(text: &str) -> Result<(), &'static str> {
    if text.len() > LONGEST {
        return Err("it is longer than 8 KiB");
    }
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("it holds blanks or control characters");
    }
    if text.contains('\\') {
        return Err("it holds a backslash");
    }
    Ok(())
}

fn authority_of(authority: &str) -> Result<(Host<String>, Option<u16>), &'static str> {
    if authority.contains('@') {
        return Err("it holds a user name or a password");
    }
    if authority.contains('%') {
        return Err("its host is written with escapes or a zone");
    }
    if !authority.is_ascii() {
        return Err("its host holds letters beyond ASCII: write the xn-- form");
    }
    if let Some(inner) = authority.strip_prefix('[') {
        let (inside, after) = inner.split_once(']').ok_or("its host is not an address")?;
        let address: Ipv6Addr = inside.parse().map_err(|_| "its host is not an address")?;
        return match after {
            "" => Ok((Host::Ipv6(address), None)),
            _ => Ok((
                Host::Ipv6(address),
                Some(port(after.strip_prefix(':').ok_or("its host is not an address")?)?),
            )),
        };
    }
    let (name, written) = match authority.split_once(':') {
        Some((name, digits)) => (name, Some(port(digits)?)),
        None => (authority, None),
    };
    Ok((name_of(name)?, written))
}

fn port(digits: &str) -> Result<u16, &'static str> {
    match digits.parse::<u16>() {
        Ok(number) if number > 0 && number.to_string() == digits => Ok(number),
        _ => Err("its port is not a number from 1 to 65535"),
    }
}

fn name_of(name: &str) -> Result<Host<String>, &'static str> {
    let name = name.to_ascii_lowercase();
    if name.is_empty() || name.len() > 253 {
        return Err("it has no host");
    }
    if name.ends_with('.') {
        return Err("its host ends in a dot");
    }
    let good = |label: &str| {
        let letters = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        (1..=63).contains(&label.len()) && letters && !label.starts_with('-') && !label.ends_with('-')
    };
    if !name.split('.').all(good) {
        return Err("its host is not a name");
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    // A host whose last label is a number, in any base, is an IPv4 address or invalid. Only the
    // plain form is accepted.
    let numeric = last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x");
    if numeric {
        let address = name.parse().map_err(|_| "its host is a number that is not a plain IPv4 address")?;
        return Ok(Host::Ipv4(address));
    }
    Ok(Host::Domain(name))
}

/// Names of this machine or its network, whatever a resolver returns for them.
pub(super) fn name_is_private(name: &str) -> bool {
    const ENDINGS: [&str; 17] = [
        "localhost",
        "localdomain",
        "localhost6",
        "localdomain6",
        "local",
        "internal",
        "intranet",
        "lan",
        "home",
        "corp",
        "private",
        "svc",
        "arpa",
        "onion",
        "invalid",
        "consul",
        "localnet",
    ];
    let last = name.rsplit('.').next().unwrap_or(name);
    // A name with one label is resolved in the search domains of this machine.
    !name.contains('.') || ENDINGS.contains(&last)
}

/// Names of metadata services. They are never allowed, even if listed.
pub(super) fn name_is_metadata(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "instance-data",
        "instance-data.ec2.internal",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "metadata.platformequinix.com",
    ];
    NAMES.iter().any(|bad| name == *bad || name.strip_suffix(bad).is_some_and(|rest| rest.ends_with('.')))
}
