//! API keys. A key is shown once and stored as a hash.

use super::session::same;
use super::{Error, Result, Right};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use steward_domain::{Timestamp, UserId};
use steward_journal::random::Random;

/// The prefix of every key, so that leaked keys can be detected.
const PREFIX: &str = "stw_";

/// A stored key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KeyRecord {
    /// The key id: the first part of the key.
    pub id: String,
    /// The owner.
    pub user: UserId,
    /// The display name.
    pub name: String,
    /// The scopes of the key. An empty set means all rights of the user.
    #[serde(default)]
    pub scopes: BTreeSet<Right>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(default)]
    pub revoked_at: Option<Timestamp>,
    /// The SHA-256 of the key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(skip)]
    sha256: String,
}

/// A key to create.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// The owner.
    pub user: UserId,
    /// The display name.
    pub name: String,
    /// The scopes of the key.
    pub scopes: BTreeSet<Right>,
    /// The lifetime in days.
    pub days: Option<u32>,
}

impl KeyRecord {
    /// The record without the hash.
    #[must_use]
    pub fn shown(mut self) -> Self {
        self.sha256.clear();
        self
    }

    /// Whether the key is neither revoked nor expired.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// All keys of a home.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Keys {
    #[serde(default)]
    keys: Vec<KeyRecord>,
}

pub(super) fn path(home: &Path) -> PathBuf {
    home.join("keys/access_keys.json")
}

impl Keys {
    pub(super) fn load(home: &Path) -> Result<Self> {
        let path = path(home);
        let problem =
            |line: u64, problem: String| Error::File { path: path.display().to_string(), line, problem };
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| problem(error.line() as u64, error.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(problem(1, error.to_string())),
        }
    }

    pub(super) fn save(&self, home: &Path) -> Result<()> {
        let path = path(home);
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        replace(&path, &text).map_err(|error| Error::Unwritten {
            path: path.display().to_string(),
            problem: error.to_string(),
        })
    }

    pub(super) fn all(&self) -> &[KeyRecord] {
        &self.keys
    }

    pub(super) fn add(
        &mut self,
        new: &NewKey,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<(KeyRecord, String)> {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes).replace(['-', '_'], "x");
        let (id, secret) = (random.bytes()?, random.bytes()?);
        let id: String = encode(&id).chars().take(10).collect();
        let key = format!("{PREFIX}{id}_{}", encode(&secret));
        let record = KeyRecord {
            id,
            user: new.user.clone(),
            name: new.name.clone(),
            scopes: new.scopes.clone(),
            created_at: now,
            expires_at: new
                .days
                .map(|days| Timestamp::from_micros(now.micros() + i64::from(days) * 86_400_000_000)),
            revoked_at: None,
            sha256: hash(&key),
        };
        self.keys.push(record.clone());
        Ok((record.shown(), key))
    }

    pub(super) fn revoke(&mut self, id: &str, now: Timestamp) -> Result<()> {
        let known = || self.keys.iter().map(|key| key.id.clone()).collect::<Vec<_>>().join(", ");
        let missing = Error::Unknown { what: "key", name: id.to_owned(), known: known() };
        let key = self.keys.iter_mut().find(|key| key.id == id).ok_or(missing)?;
        key.revoked_at.get_or_insert(now);
        Ok(())
    }

    /// Revokes all keys of a user.
    fn revoke_all_of(&mut self, user: &UserId, now: Timestamp) {
        for key in self.keys.iter_mut().filter(|key| key.user == *user) {
            key.revoked_at.get_or_insert(now);
        }
    }

    /// Finds the record of a valid key. The hash is computed before the lookup and compared in
    /// constant time.
    pub(super) fn open(&self, key: &str, now: Timestamp) -> Option<&KeyRecord> {
        let given = hash(key);
        let id = key.strip_prefix(PREFIX)?.split('_').next()?;
        self.live(id, now).filter(|record| same(record.sha256.as_bytes(), given.as_bytes()))
    }

    pub(super) fn live(&self, id: &str, now: Timestamp) -> Option<&KeyRecord> {
        self.keys.iter().find(|record| record.id == id).filter(|record| record.is_live(now))
    }
}

fn hash(key: &str) -> String {
    Sha256::digest(key.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Revokes all keys of a user who is removed: a later user of the same name is another person.
pub fn revoke_keys_of(home: &Path, user: &UserId, now: Timestamp) -> Result<()> {
    let _alone = locked(home)?;
    let mut keys = Keys::load(home)?;
    keys.revoke_all_of(user, now);
    keys.save(home)
}

/// Locks the access files of a home against other processes.
pub(super) fn locked(home: &Path) -> Result<std::fs::File> {
    let path = home.join("keys/access.lock");
    let open = || {
        std::fs::create_dir_all(home.join("keys"))?;
        let file = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
        file.lock()?;
        Ok(file)
    };
    open().map_err(|error: std::io::Error| Error::Unwritten {
        path: path.display().to_string(),
        problem: error.to_string(),
    })
}

/// Writes a file atomically. Only its owner can read it.
pub fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // The temporary name is unique, so that two writers do not conflict.
    let aside = path.with_extension(
        format!("{}.{:?}.part", std::process::id(), std::thread::current().id()).replace(['(', ')'], ""),
    );
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(aside, path)
}

#[cfg(test)]
mod tests {
    use super::{KeyRecord, Keys, hash};
    use steward_domain::Timestamp;

    #[test]
    fn keys_of_a_removed_user_stay_revoked() {
        let key = |id: &str, user: &str| KeyRecord {
            id: id.to_owned(),
            user: user.parse().unwrap(),
            name: "test".to_owned(),
            scopes: Default::default(),
            created_at: Timestamp::from_micros(1),
            expires_at: None,
            revoked_at: None,
            sha256: hash(id),
        };
        let mut keys = Keys { keys: vec![key("a", "ada"), key("b", "bob")] };
        let now = Timestamp::from_micros(2);
        keys.revoke_all_of(&"ada".parse().unwrap(), now);
        assert!(keys.live("a", now).is_none());
        assert!(keys.live("b", now).is_some());
    }
}
