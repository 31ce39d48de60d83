//! The grants of a user at the time a task runs. The file is reloaded when it changes.
//!
//! Invariants
//! - A disabled or unknown user has no grants. The owner of the machine need not be in the file; if
//!   listed, the owner has the listed grants.
//! - If the file becomes unreadable, the last valid version stays in effect.

use super::file::{self, AccessFile};
use super::{AuthMethod, Identity, Result};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::SystemTime;
use steward_domain::UserId;
use steward_policy::Caller;
use steward_runtime::Grants;
use steward_tools::registry::{Registry, Snapshot};

/// The grants of the users of a home.
pub struct FileGrants {
    home: PathBuf,
    /// The owner of the machine.
    owner: UserId,
    loaded: RwLock<(Option<SystemTime>, AccessFile)>,
}

impl FileGrants {
    /// Opens the file of a home. An invalid file is an error here. If it becomes invalid later, the
    /// last valid version stays in effect.
    pub fn open(home: &Path, owner: UserId) -> Result<Self> {
        let loaded = RwLock::new((changed(home), AccessFile::load(home)?));
        Ok(Self { home: home.to_owned(), owner, loaded })
    }

    fn look(&self) {
        let found = changed(&self.home);
        if self.loaded.read().unwrap_or_else(PoisonError::into_inner).0 == found {
            return;
        }
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        match AccessFile::load(&self.home) {
            Ok(access) => *loaded = (found, access),
            Err(error) => {
                loaded.0 = found;
                eprintln!("access is left as it was: {error}");
            }
        }
    }
}

impl Grants for FileGrants {
    fn of(&self, user: &UserId, registry: &Registry) -> std::result::Result<Caller, String> {
        self.look();
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        match loaded.1.users.get(user) {
            Some(found) if found.disabled => Err("they are disabled".to_owned()),
            Some(_) => {
                let identity = loaded.1.identity(user, AuthMethod::Key);
                let identity = identity.ok_or_else(|| "they are disabled".to_owned())?;
                Ok(caller_of(&identity, &registry.snapshot()))
            }
            None if *user == self.owner => Ok(Caller::owner(user.clone())),
            None => Err("they are not set up here".to_owned()),
        }
    }

    fn may_decide(&self, user: &UserId, _: &Registry, roles: &[String], tools: &[&str]) -> bool {
        self.look();
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        if !loaded.1.users.contains_key(user) {
            return *user == self.owner;
        }
        let identity = loaded.1.identity(user, AuthMethod::Key);
        identity.is_some_and(|identity| identity.decides(roles, tools.iter().copied()))
    }
}

/// Converts an identity to a caller of policy. A domain grant includes the domain's tools.
pub(crate) fn caller_of(identity: &Identity, snapshot: &Snapshot) -> Caller {
    identity.caller(|domain| {
        let named = snapshot.domains.iter().filter(|(name, _)| name.as_str() == domain);
        let named = named.flat_map(|(_, field)| field.tools.iter().map(ToString::to_string));
        let own = snapshot.tools.keys().filter(|tool| {
            let found = snapshot.get(tool, None);
            found.is_some_and(|found| found.definition.application_domain.as_str() == domain)
        });
        named.chain(own.map(ToString::to_string)).collect()
    })
}

fn changed(home: &Path) -> Option<SystemTime> {
    std::fs::metadata(file::path(home)).ok()?.modified().ok()
}
