//! Authentication and grants: users and roles from `config/access.yaml`, API keys, signed tokens,
//! and page sessions.
//!
//! Invariants
//! - Unauthenticated requests are rejected; there is no guest. While no users are configured, a
//!   loopback request is authenticated as the owner of the machine.
//! - Only the hash of a key is stored. A revoked or expired key is invalid from the next request
//!   on.
//! - Access is denied by default. Roles add up, and an empty role grants nothing.
//!
//! This module authenticates. What a caller may do is decided by policy
//! ([`steward_policy::Caller`]).

mod fetch;
mod file;
mod grants;
mod journal;
mod keys;
mod session;
mod sign_in;
mod token;

pub use fetch::HttpsFetch;
pub use file::{AccessFile, Oidc, OidcSignIn, Role, User};
pub use grants::FileGrants;
pub(crate) use grants::caller_of;
pub use journal::{AccessJournal, Administrator};
pub use keys::{KeyRecord, NewKey, replace as replace_file, revoke_keys_of};
use session::EndedSessions;
pub use session::Secret;
pub use sign_in::{PROVIDER_SESSION, SignInStart};
pub use token::{Fetch, Tokens};

use keys::Keys;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;
use steward_domain::{Coded, ErrorClass, Label, Timestamp, UserId};
use steward_journal::clock::Clock;
use steward_journal::random::Random;
use steward_policy::{Caller, RowRules};

/// Errors of authentication and access files.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    #[error("sign in first: send an API key as `Authorization: Bearer KEY` (`steward keys add` makes one)")]
    Nobody,
    #[error(
        "the key is not valid: it is mistyped, revoked or has run out. `steward keys list` shows what there is"
    )]
    Key,
    #[error("the token is not valid: {0}")]
    Token(String),
    #[error("{path}:{line}: {problem}")]
    File { path: String, line: u64, problem: String },
    #[error("{path}: {problem}")]
    Unwritten { path: String, problem: String },
    #[error("there is no {what} {name}. There is: {known}")]
    Unknown { what: &'static str, name: String, known: String },
    #[error(transparent)]
    Random(#[from] steward_journal::Error),
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Nobody => "WEB001",
            Self::Key => "WEB002",
            Self::Token(_) => "WEB003",
            Self::File { .. } => "WEB004",
            Self::Unwritten { .. } => "WEB005",
            Self::Unknown { .. } => "WEB006",
            Self::Random(error) => error.code(),
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Nobody | Self::Key | Self::Token(_) => ErrorClass::Denied,
            Self::File { .. } | Self::Unknown { .. } => ErrorClass::User,
            Self::Unwritten { .. } => ErrorClass::Transient,
            Self::Random(error) => error.class(),
        }
    }
}

/// The result of this module.
pub type Result<T> = std::result::Result<T, Error>;

/// A right that a route requires and that a key can be limited to.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Ask questions, use conversations, read one's own resources.
    Ask,
    /// Call tools directly.
    Tools,
    /// Run workflows and agents.
    Run,
    /// Decide on pending approvals.
    Approve,
    /// Verify the whole journal.
    Audit,
    /// Verify answers and read feedback.
    Verify,
    /// Create keys, read users and settings.
    Admin,
}

impl Right {
    /// All rights.
    pub const ALL: [Self; 7] =
        [Self::Ask, Self::Tools, Self::Run, Self::Approve, Self::Audit, Self::Verify, Self::Admin];

    /// A description for users.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Ask => "Ask questions, hold conversations",
            Self::Tools => "Call tools by hand",
            Self::Run => "Run workflows and agents",
            Self::Approve => "Decide on calls that wait",
            Self::Audit => "Verify the whole journal",
            Self::Verify => "Vouch for answers, look through what people say of them",
            Self::Admin => "Make keys, see users and settings",
        }
    }

    /// The right with this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.name() == name)
    }

    /// The name in files and documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Tools => "tools",
            Self::Run => "run",
            Self::Approve => "approve",
            Self::Audit => "audit",
            Self::Verify => "verify",
            Self::Admin => "admin",
        }
    }
}

/// How a caller was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    /// As the owner, over loopback.
    Loopback,
    /// By an API key in the request.
    Key,
    /// By the session cookie of the page.
    Session,
    /// By a token of the identity provider.
    Token,
    /// By Slack, in a signed request.
    Slack,
}

/// An authenticated caller of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// The user.
    pub user: UserId,
    /// The display name.
    pub name: String,
    /// The names of the roles.
    pub roles: Vec<String>,
    /// The method of authentication.
    pub by: AuthMethod,
    /// The scopes of the key. `None` means no restriction.
    pub scopes: Option<BTreeSet<Right>>,
    /// The grants of the roles. `None` means all.
    pub grants: Option<Role>,
    /// The attributes of the user, for row rules.
    pub attributes: BTreeMap<String, String>,
    /// The id of the API key, if one was used.
    pub key: Option<String>,
    /// The id of the page session, if one was used.
    pub session: Option<String>,
}

impl Identity {
    /// The identity of the owner of the machine.
    #[must_use]
    pub fn owner(user: UserId) -> Self {
        Self {
            name: user.to_string(),
            user,
            roles: vec![OWNER.to_owned()],
            by: AuthMethod::Loopback,
            scopes: None,
            grants: None,
            attributes: BTreeMap::new(),
            key: None,
            session: None,
        }
    }

    /// Whether the caller has this right.
    #[must_use]
    pub fn may(&self, right: Right) -> bool {
        let held = match (&self.grants, right) {
            (None, _) | (Some(_), Right::Ask) => true,
            (Some(role), Right::Tools) => !(role.tools.is_empty() && role.domains.is_empty()),
            (Some(role), Right::Run) => !role.run.is_empty(),
            (Some(role), Right::Approve) => !role.approve.is_empty(),
            (Some(role), Right::Audit) => role.audit || role.admin,
            (Some(role), Right::Verify) => role.verify || role.admin,
            (Some(role), Right::Admin) => role.admin,
        };
        held && self.scopes.as_ref().is_none_or(|scopes| scopes.contains(&right))
    }

    /// Whether the caller may run this workflow or agent.
    #[must_use]
    pub fn runs(&self, name: &str) -> bool {
        self.may(Right::Run) && self.grants.as_ref().is_none_or(|role| fits_any(&role.run, name))
    }

    /// Whether the caller may decide on calls of this tool.
    #[must_use]
    pub fn approves(&self, tool: &str) -> bool {
        self.may(Right::Approve) && self.grants.as_ref().is_none_or(|role| fits_any(&role.approve, tool))
    }

    /// Whether the caller may decide on an approval: by its roles, or by its tools if none.
    #[must_use]
    pub fn decides<'a>(&self, roles: &[String], mut tools: impl Iterator<Item = &'a str>) -> bool {
        if roles.is_empty() {
            return tools.all(|tool| self.approves(tool));
        }
        let is_asked = |role: &String| role == OWNER || roles.contains(role);
        self.may(Right::Approve) && self.roles.iter().any(is_asked)
    }

    /// Converts to a caller of policy. `tools_of` lists the tools of a domain; a domain grant
    /// includes them.
    #[must_use]
    pub fn caller(&self, tools_of: impl Fn(&str) -> Vec<String>) -> Caller {
        let key = self.key.as_deref().and_then(|key| Label::new(key).ok());
        let Some(role) = &self.grants else {
            // A key that was cut down decides nothing that its scopes leave out.
            let administrator = self.may(Right::Approve) && self.may(Right::Tools);
            return Caller { key, administrator, ..Caller::owner(self.user.clone()) };
        };
        let of_domains = role.domains.iter().flat_map(|domain| tools_of(domain));
        let permissions = role.permissions.iter().filter_map(|name| Label::new(name.as_str()).ok());
        Caller {
            user: self.user.clone(),
            permissions: Some(permissions.collect()),
            tools: Some(role.tools.iter().cloned().chain(of_domains).collect()),
            domains: Some(role.domains.clone()),
            tables: role.tables.clone(),
            rows: RowRules { tables: role.rules.clone(), attributes: self.attributes.clone() },
            administrator: false,
            key,
        }
    }
}

pub(crate) fn fits_any(patterns: &BTreeSet<String>, name: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    })
}

/// The built-in role with all grants.
pub const OWNER: &str = "owner";

/// The loaded configuration and the modification times of its files.
struct Loaded {
    access: AccessFile,
    keys: Keys,
    ended: EndedSessions,
    changed: [Option<SystemTime>; 3],
}

/// The users, roles and keys of a home.
pub struct Directory {
    home: PathBuf,
    /// The owner of the machine.
    owner: UserId,
    clock: Arc<dyn Clock>,
    loaded: RwLock<Loaded>,
    secret: Secret,
    /// Fetches documents of the identity provider.
    fetch: Option<Arc<dyn Fetch>>,
    tokens: RwLock<Option<Arc<Tokens>>>,
    /// Changes found in the file that are not in the journal yet.
    noticed: Mutex<Vec<serde_json::Value>>,
}

impl Directory {
    /// Opens the files of a home. An invalid file is an error here. If one becomes invalid later,
    /// the last valid version stays in effect.
    pub fn open(
        home: &Path,
        owner: UserId,
        clock: Arc<dyn Clock>,
        random: &dyn Random,
        fetch: Option<Arc<dyn Fetch>>,
    ) -> Result<Self> {
        let loaded = Loaded {
            access: AccessFile::load(home)?,
            keys: Keys::load(home)?,
            ended: EndedSessions::load(home)?,
            changed: changed(home),
        };
        let secret = Secret::open(home, random)?;
        let (loaded, tokens, noticed) = (RwLock::new(loaded), RwLock::default(), Mutex::default());
        let home = home.to_owned();
        let directory = Self { home, owner, clock, loaded, secret, fetch, tokens, noticed };
        let provider = directory.read(|loaded| directory.provider(&loaded.access));
        *directory.tokens.write().unwrap_or_else(PoisonError::into_inner) = provider;
        Ok(directory)
    }

    /// The secret that signs cookies and links.
    #[must_use]
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Whether any user is configured. Until then the machine has a single user.
    #[must_use]
    pub fn has_users(&self) -> bool {
        self.look();
        !self.read(|loaded| loaded.access.users.is_empty())
    }

    /// The configured identity provider.
    #[must_use]
    pub fn oidc(&self) -> Option<Oidc> {
        self.look();
        self.read(|loaded| loaded.access.oidc.clone())
    }

    fn read<T>(&self, of: impl FnOnce(&Loaded) -> T) -> T {
        of(&self.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reloads the files if they changed on disk.
    fn look(&self) {
        let found = changed(&self.home);
        if self.read(|loaded| loaded.changed == found) {
            return;
        }
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        let read =
            || Ok((AccessFile::load(&self.home)?, Keys::load(&self.home)?, EndedSessions::load(&self.home)?));
        match read() {
            Ok((access, keys, ended)) => {
                if access.oidc != loaded.access.oidc {
                    *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = self.provider(&access);
                }
                if access != loaded.access {
                    let mut noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
                    noticed.push(loaded.access.differences(&access));
                }
                *loaded = Loaded { access, keys, ended, changed: found };
            }
            // The last valid version stays in effect. `open` would report the error.
            Err(error) => {
                let error: Error = error;
                loaded.changed = found;
                eprintln!("access is left as it was: {error}");
            }
        }
    }

    /// Returns and clears the changes of the file that were made outside this process.
    pub fn take_file_changes(&self) -> Vec<serde_json::Value> {
        std::mem::take(&mut *self.noticed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn provider(&self, access: &AccessFile) -> Option<Arc<Tokens>> {
        let (oidc, fetch) = (access.oidc.clone()?, self.fetch.clone()?);
        Some(Arc::new(Tokens::new(oidc, fetch, self.clock.clone())))
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The owner of the machine.
    #[must_use]
    pub fn machine_owner(&self) -> &UserId {
        &self.owner
    }

    /// The identity of the owner, while no users are configured.
    #[must_use]
    pub fn owner(&self) -> Option<Identity> {
        (!self.has_users()).then(|| Identity::owner(self.owner.clone()))
    }

    /// Authenticates an API key.
    pub fn by_key(&self, key: &str) -> Result<Identity> {
        self.look();
        let now = self.now();
        let record = self.read(|loaded| loaded.keys.open(key, now).cloned()).ok_or(Error::Key)?;
        let mut identity = self.named(&record.user, AuthMethod::Key).ok_or(Error::Key)?;
        identity.scopes = (!record.scopes.is_empty()).then(|| record.scopes.clone());
        identity.key = Some(record.id);
        Ok(identity)
    }

    /// Authenticates a bearer value: an identity provider's token or an API key.
    pub async fn by_bearer(&self, bearer: &str) -> Result<Identity> {
        self.look();
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner).clone();
        match tokens {
            Some(tokens) if bearer.split('.').count() == 3 => {
                let subjects = tokens.check(bearer).await?;
                self.look();
                let user = self.read(|loaded| loaded.access.of_subject(&subjects));
                let unknown = || Error::Token("it names nobody who is set up here".to_owned());
                self.named(&user.ok_or_else(unknown)?, AuthMethod::Token).ok_or_else(unknown)
            }
            _ => self.by_key(bearer),
        }
    }

    /// Authenticates a session cookie. Its key must still be valid.
    pub fn by_cookie(&self, cookie: &str) -> Result<Identity> {
        self.look();
        let now = self.now();
        let session = self.secret.open_cookie(cookie, now).ok_or(Error::Nobody)?;
        if self.read(|loaded| loaded.ended.contains(&session)) {
            return Err(Error::Nobody);
        }
        if let Some(user) = sign_in::user_of(&session.key) {
            let identity = self.named(&user, AuthMethod::Session).ok_or(Error::Nobody)?;
            return Ok(Identity { session: Some(session.id), ..identity });
        }
        let record = self.read(|loaded| loaded.keys.live(&session.key, now).cloned()).ok_or(Error::Nobody)?;
        let mut identity = self.named(&record.user, AuthMethod::Session).ok_or(Error::Nobody)?;
        identity.scopes = (!record.scopes.is_empty()).then(|| record.scopes.clone());
        identity.key = Some(record.id);
        identity.session = Some(session.id);
        Ok(identity)
    }

    /// Creates a session cookie for a caller with an API key. `session` is the session id.
    #[must_use]
    pub fn cookie(&self, identity: &Identity, session: uuid::Uuid) -> Option<String> {
        Some(self.secret.cookie(identity.key.as_deref()?, session, self.now()))
    }

    /// Ends the session of a cookie, which is invalid from then on. An invalid cookie is ignored.
    pub fn end_session(&self, cookie: &str) -> Result<()> {
        let now = self.now();
        let Some(session) = self.secret.open_cookie(cookie, now) else { return Ok(()) };
        let _alone = keys::locked(&self.home)?;
        let mut ended = EndedSessions::load(&self.home)?;
        ended.end(&self.home, &session, now)?;
        self.loaded.write().unwrap_or_else(PoisonError::into_inner).ended = ended;
        Ok(())
    }

    /// The CSRF token of a caller.
    #[must_use]
    pub fn csrf(&self, identity: &Identity) -> String {
        let session = identity.session.as_deref().or(identity.key.as_deref());
        self.secret.csrf(session.unwrap_or(identity.user.as_str()))
    }

    /// Checks a CSRF token.
    #[must_use]
    pub fn csrf_matches(&self, identity: &Identity, sent: &str) -> bool {
        session::same(self.csrf(identity).as_bytes(), sent.as_bytes())
    }

    /// The identity of a user by user id.
    #[must_use]
    pub fn named(&self, user: &UserId, by: AuthMethod) -> Option<Identity> {
        self.read(|loaded| {
            // The machine's owner may have keys before any user is configured.
            if loaded.access.users.is_empty() && *user == self.owner {
                return Some(Identity { by, ..Identity::owner(user.clone()) });
            }
            loaded.access.identity(user, by)
        })
    }

    /// The identity of a user by Slack id: `TEAM/USER`.
    #[must_use]
    pub fn by_slack(&self, team: &str, user: &str) -> Option<Identity> {
        self.look();
        if let Some(owner) = self.owner() {
            // On a single-user machine, only the listed Slack ids of the owner are accepted.
            return self.read(|loaded| loaded.access.slack_owner(team, user)).then_some(owner);
        }
        let found = self.read(|loaded| loaded.access.of_slack(team, user))?;
        self.named(&found, AuthMethod::Slack)
    }

    /// The users, for administrators.
    #[must_use]
    pub fn users(&self) -> BTreeMap<UserId, User> {
        self.look();
        self.read(|loaded| loaded.access.users.clone())
    }

    /// The roles, for administrators.
    #[must_use]
    pub fn roles(&self) -> BTreeMap<String, Role> {
        self.look();
        self.read(|loaded| loaded.access.roles.clone())
    }

    /// A copy of users and roles, to test a change on.
    #[must_use]
    pub fn access_file(&self) -> AccessFile {
        self.look();
        self.read(|loaded| loaded.access.clone())
    }

    /// Applies `change` to the users and roles and saves them. It takes effect at once.
    pub fn change(&self, change: impl FnOnce(&mut AccessFile) -> Result<()>) -> Result<()> {
        {
            let (mut file, _alone) = AccessFile::to_change(&self.home)?;
            change(&mut file)?;
            file.save(&self.home)?;
        }
        self.look();
        // The caller has already journaled this change with its author.
        drop(self.take_file_changes());
        Ok(())
    }

    /// The key records, without their hashes.
    #[must_use]
    pub fn keys(&self) -> Vec<KeyRecord> {
        self.look();
        self.read(|loaded| loaded.keys.all().to_vec())
    }

    /// Creates a key. The key itself is returned only once.
    pub fn add_key(&self, new: &NewKey, random: &dyn Random) -> Result<(KeyRecord, String)> {
        self.known(&new.user)?;
        let _alone = keys::locked(&self.home)?;
        let mut keys = Keys::load(&self.home)?;
        let made = keys.add(new, self.now(), random)?;
        keys.save(&self.home)?;
        self.take(keys);
        Ok(made)
    }

    /// Revokes a key.
    pub fn revoke_key(&self, id: &str) -> Result<()> {
        let _alone = keys::locked(&self.home)?;
        let mut keys = Keys::load(&self.home)?;
        keys.revoke(id, self.now())?;
        keys.save(&self.home)?;
        self.take(keys);
        Ok(())
    }

    /// Revokes all keys of a user who is removed.
    pub fn revoke_keys_of(&self, user: &UserId) -> Result<()> {
        keys::revoke_keys_of(&self.home, user, self.now())?;
        self.take(Keys::load(&self.home)?);
        Ok(())
    }

    fn take(&self, keys: Keys) {
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        loaded.keys = keys;
    }

    /// Checks that the user exists, before a key is created.
    pub fn known(&self, user: &UserId) -> Result<()> {
        let known =
            self.read(|loaded| loaded.access.users.keys().map(ToString::to_string).collect::<Vec<_>>());
        let there =
            known.iter().any(|name| name == user.as_str()) || (known.is_empty() && *user == self.owner);
        if there {
            return Ok(());
        }
        let known = if known.is_empty() { self.owner.to_string() } else { known.join(", ") };
        Err(Error::Unknown { what: "user", name: user.to_string(), known })
    }
}

fn changed(home: &Path) -> [Option<SystemTime>; 3] {
    [file::path(home), keys::path(home), EndedSessions::path(home)]
        .map(|path| std::fs::metadata(path).ok()?.modified().ok())
}

#[cfg(test)]
mod tests {
    use super::{Identity, Right};

    #[test]
    fn an_owners_key_without_the_scope_approves_nothing() {
        let owner = Identity::owner("ada".parse().unwrap());
        assert!(owner.caller(|_| Vec::new()).administrator);
        let cut = Identity { scopes: Some([Right::Ask].into()), ..owner };
        assert!(!cut.caller(|_| Vec::new()).administrator);
    }
}
