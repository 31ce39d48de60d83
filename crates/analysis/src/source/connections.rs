//! Named sources: `connection:shop` refers to an address in the settings, whose password is stored
//! separately.
//!
//! Invariant: a user of a connection never sees its password. Only the name is recorded; the
//! address with its password exists only where the source is opened.

use crate::error::{Error, Result};
use std::sync::OnceLock;

/// The prefix of connection names.
pub const PREFIX: &str = "connection:";

/// Returns the address of a connection by its name, or the error.
pub type Resolver = Box<dyn Fn(&str) -> std::result::Result<String, String> + Send + Sync>;

static RESOLVER: OnceLock<Resolver> = OnceLock::new();

/// Sets the resolver of connection names. Only the first call has an effect.
pub fn install(resolver: Resolver) {
    let _ = RESOLVER.set(resolver);
}

/// The address of a connection name; anything else is returned unchanged.
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
