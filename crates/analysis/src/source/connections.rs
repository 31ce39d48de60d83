//! Sources by a name: `connection:shop` stands for an address that the operator keeps, with its
//! password elsewhere.
//!
//! Invariant: whoever names a connection never sees its password. The name is what is written down;
//! the address with its password exists only where the source is opened.

use crate::error::{Error, Result};
use std::sync::OnceLock;

/// What names of connections begin with.
pub const PREFIX: &str = "connection:";

/// The address of a connection by its name, or why there is none.
pub type Resolver = Box<dyn Fn(&str) -> std::result::Result<String, String> + Send + Sync>;

static RESOLVER: OnceLock<Resolver> = OnceLock::new();

/// From now on names of connections are looked up here. The first word counts.
pub fn install(resolver: Resolver) {
    let _ = RESOLVER.set(resolver);
}

/// The address that a name stands for; anything else is itself.
pub(crate) fn resolve(named: &str) -> Result<String> {
    let Some(name) = named.trim().strip_prefix(PREFIX) else { return Ok(named.to_owned()) };
    let wrong = |detail: String| Error::Source { what: named.to_owned(), detail };
    let resolver = RESOLVER.get().ok_or_else(|| wrong("there are no connections here".to_owned()))?;
    let address = resolver(name).map_err(wrong)?;
    if address.starts_with(PREFIX) {
        return Err(wrong("a connection cannot name another one".to_owned()));
    }
    Ok(address)
}
