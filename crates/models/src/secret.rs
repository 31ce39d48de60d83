//! API keys: loading them, and never printing them.
//!
//! Invariant: the only access to the text of a [`Secret`] is `expose`, which is called only by the
//! module that writes the header.

use std::fmt;
use std::path::Path;

use super::ModelError;

/// Maximum size of a key file.
const LONGEST_KEY: u64 = 16 * 1024;

/// A value that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    #[must_use]
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// From an environment variable.
    pub fn from_variable(name: &str) -> Result<Self, ModelError> {
        match std::env::var(name) {
            Ok(key) if !key.trim().is_empty() => Ok(Self(key)),
            _ => Err(ModelError::NoKey {
                detail: format!("the environment variable {name} is empty or not set"),
            }),
        }
    }

    /// From a file that only its owner may read.
    pub fn from_file(path: &Path) -> Result<Self, ModelError> {
        let wrong = |detail: &str| ModelError::NoKey { detail: format!("{}: {detail}", path.display()) };
        let about = std::fs::metadata(path).map_err(|error| wrong(&error.to_string()))?;
        if !about.is_file() || about.len() > LONGEST_KEY {
            return Err(wrong("this is not a file with a key"));
        }
        #[cfg(unix)]
        if std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0 {
            return Err(wrong(
                "others may read this file. Run chmod 600 on it, and change the key if it is in use",
            ));
        }
        let key = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
        if key.trim().is_empty() {
            return Err(wrong("the file is empty"));
        }
        Ok(Self(key.trim().to_owned()))
    }

    pub(super) fn expose(&self) -> &str {
        self.0.trim()
    }

    /// Redacts it in a server's message.
    pub(super) fn redact(&self, text: &str) -> String {
        if self.expose().is_empty() { text.to_owned() } else { text.replace(self.expose(), "***") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
