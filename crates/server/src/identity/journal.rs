//! Journals access changes, sign-ins and rejected authentications in the system chain.
//!
//! Invariants
//! - A change of users, roles, grants or keys is journaled before it takes effect. If it cannot be
//!   written, the change is not made.
//! - Rejected sign-ins are aggregated, so a brute-force attack does not flood the journal.
//!
//! Keys and tokens are never written, only the id of a key.

use super::file::AccessFile;
use super::{Identity, Result};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steward_domain::{ChainId, EventType, Label, UserId};
use steward_journal::Draft;
use steward_journal::clock::Clock;
use steward_store::audit::system_owner;
use steward_store::{Commit, Scope, Store};

/// Rejections within this interval are one entry.
const REJECTION_WINDOW: Duration = Duration::from_secs(60);

/// The author of an access change.
#[derive(Debug, Clone)]
pub struct Administrator {
    /// The user.
    pub user: UserId,
    /// The id of the API key that was used. `None` at the terminal.
    pub key: Option<String>,
}

impl From<&Identity> for Administrator {
    fn from(identity: &Identity) -> Self {
        Self { user: identity.user.clone(), key: identity.key.clone() }
    }
}

/// Writes access changes and sign-ins to the journal.
pub struct AccessJournal {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    refused: Mutex<Refusals>,
}

/// Rejected sign-ins that are not written yet.
#[derive(Default)]
struct Refusals {
    /// When the last entry was written.
    written: Option<Duration>,
    /// The number of rejections since then, by reason.
    since: BTreeMap<&'static str, u64>,
}

impl AccessJournal {
    /// A journal in this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, refused: Mutex::default() }
    }

    /// Records a change of users, roles, grants or keys.
    pub async fn changed(&self, by: &Administrator, change: &str, about: Json) -> Result<()> {
        let data = json!({ "change": change, "by": by.user, "key": by.key, "about": about });
        self.write(EventType::AccessChanged, data).await
    }

    /// Records a sign-in to the page.
    pub async fn signed_in(&self, identity: &Identity) -> Result<()> {
        let data = json!({ "user": identity.user, "key": identity.key, "with": identity.by });
        self.write(EventType::SignedIn, data).await
    }

    /// Records a rejected key, token or cookie. The first is written at once; those within the next
    /// minute are aggregated.
    pub async fn refused(&self, why: &'static str) -> Result<()> {
        let now = self.clock.monotonic();
        let counted = {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            *refused.since.entry(why).or_default() += 1;
            if refused.written.is_some_and(|at| now.saturating_sub(at) < REJECTION_WINDOW) {
                return Ok(());
            }
            refused.written = Some(now);
            std::mem::take(&mut refused.since)
        };
        self.write(EventType::SignInRefused, json!({ "refused": counted })).await
    }

    async fn write(&self, event: EventType, data: Json) -> Result<()> {
        let data = match data {
            Json::Object(data) => data,
            _ => Map::new(),
        };
        let unwritten =
            |error: String| super::Error::Unwritten { path: "the journal".into(), problem: error };
        let actor = Label::new("access").map_err(|problem| unwritten(problem.to_string()))?;
        let owner = system_owner().map_err(|error| unwritten(error.to_string()))?;
        let commit = Commit::new(owner, ChainId::SYSTEM).entry(Draft::new(event, actor, data));
        self.store.commit(&Scope::System, commit).await.map_err(|error| unwritten(error.to_string()))?;
        Ok(())
    }
}

impl AccessFile {
    /// The names of what another version of the file changes, for the journal.
    #[must_use]
    pub fn differences(&self, new: &Self) -> Json {
        fn between<K: Ord + ToString, V: PartialEq>(old: &BTreeMap<K, V>, new: &BTreeMap<K, V>) -> Json {
            let names = |of: Vec<&K>| of.into_iter().map(ToString::to_string).collect::<Vec<_>>();
            let added = names(new.keys().filter(|name| !old.contains_key(*name)).collect());
            let removed = names(old.keys().filter(|name| !new.contains_key(*name)).collect());
            let changed = |(name, value): &(&K, &V)| old.get(*name).is_some_and(|before| before != *value);
            let changed = names(new.iter().filter(changed).map(|(name, _)| name).collect());
            json!({ "added": added, "removed": removed, "changed": changed })
        }
        json!({
            "users": between(&self.users, &new.users), "roles": between(&self.roles, &new.roles),
            "provider_changed": self.oidc != new.oidc,
        })
    }
}
