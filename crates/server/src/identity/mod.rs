//! Who asks, and what they hold: users and roles from `config/access.yaml`, API keys, signed
//! tokens, sessions of the page.
//!
//! Invariants
//! - Whoever cannot be named is nobody: there is no guest. One person on their own machine, reached
//!   over loopback, is its owner as long as no users are set up.
//! - Of a key only its hash is kept. One that is revoked or run out opens nothing, from the next
//!   request on.
//! - What is not granted is not there: roles add up, and an empty role holds nothing.
//!
//! It decides who somebody is. What may be done with it is policy's business
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
pub use keys::{KeyRecord, NewKey, replace as replace_file};
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

/// What went wrong with an identity.
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

/// What a request needs, and what a key may be cut down to.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Ask questions, hold conversations, see one's own things.
    Ask,
    /// Call tools by hand.
    Tools,
    /// Run workflows and agents.
    Run,
    /// Decide on calls that wait.
    Approve,
    /// Verify the whole journal.
    Audit,
    /// Vouch for answers, look through what people say of them.
    Verify,
    /// Make keys, see users and settings.
    Admin,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Ask, Self::Tools, Self::Run, Self::Approve, Self::Audit, Self::Verify, Self::Admin];

    /// What it lets somebody do.
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

    /// The one of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.name() == name)
    }

    /// Its name in files and documents.
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

/// How somebody showed who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    /// The machine is theirs.
    Loopback,
    /// With a key in the request.
    Key,
    /// With the page's cookie.
    Session,
    /// With a token of the identity provider.
    Token,
    /// Slack says who they are, under its signature.
    Slack,
}

/// Somebody, for the length of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// Whose things these are.
    pub user: UserId,
    /// For people.
    pub name: String,
    /// The roles.
    pub roles: Vec<String>,
    /// How they showed it.
    pub by: AuthMethod,
    /// What the key was cut down to; nothing means no less than the roles.
    pub scopes: Option<BTreeSet<Right>>,
    /// What the roles hold. Nothing means: everything.
    pub grants: Option<Role>,
    /// What is known of them, for rules over rows.
    pub attributes: BTreeMap<String, String>,
    /// The key, when it was one.
    pub key: Option<String>,
    /// The session of the page, when it was one.
    pub session: Option<String>,
}

impl Identity {
    /// The owner of the machine.
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

    /// Whether they may do such things at all.
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

    /// Whether they may run this workflow or agent.
    #[must_use]
    pub fn runs(&self, name: &str) -> bool {
        self.may(Right::Run) && self.grants.as_ref().is_none_or(|role| fits_any(&role.run, name))
    }

    /// Whether they may decide on calls of this tool.
    #[must_use]
    pub fn approves(&self, tool: &str) -> bool {
        self.may(Right::Approve) && self.grants.as_ref().is_none_or(|role| fits_any(&role.approve, tool))
    }

    /// Whether they may decide on what asks these roles, or on these tools where it asks none.
    #[must_use]
    pub fn decides<'a>(&self, roles: &[String], mut tools: impl Iterator<Item = &'a str>) -> bool {
        if roles.is_empty() {
            return tools.all(|tool| self.approves(tool));
        }
        let is_asked = |role: &String| role == OWNER || roles.contains(role);
        self.may(Right::Approve) && self.roles.iter().any(is_asked)
    }

    /// In policy's words. `tools_of` names the tools of a domain: whoever holds the domain holds
    /// them.
    #[must_use]
    pub fn caller(&self, tools_of: impl Fn(&str) -> Vec<String>) -> Caller {
        let key = self.key.as_deref().and_then(|key| Label::new(key).ok());
        let Some(role) = &self.grants else { return Caller { key, ..Caller::owner(self.user.clone()) } };
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

/// The role that holds everything; it need not be written down.
pub const OWNER: &str = "owner";

/// What is in force, and how old the files are that it comes from.
struct Loaded {
    access: AccessFile,
    keys: Keys,
    ended: EndedSessions,
    changed: [Option<SystemTime>; 3],
}

/// The users, roles and keys of a home.
pub struct Directory {
    home: PathBuf,
    /// Who owns this machine.
    owner: UserId,
    clock: Arc<dyn Clock>,
    loaded: RwLock<Loaded>,
    secret: Secret,
    /// Gets documents of the identity provider.
    fetch: Option<Arc<dyn Fetch>>,
    tokens: RwLock<Option<Arc<Tokens>>>,
    /// What the file changed by itself, for the journal.
    noticed: Mutex<Vec<serde_json::Value>>,
}

impl Directory {
    /// Opens the files of a home. A wrong file is an error now, and changes nothing when it becomes
    /// wrong later.
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

    /// What cookies and links are signed with.
    #[must_use]
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Whether anybody is set up. Until then this is one person's machine.
    #[must_use]
    pub fn has_users(&self) -> bool {
        self.look();
        !self.read(|loaded| loaded.access.users.is_empty())
    }

    fn read<T>(&self, of: impl FnOnce(&Loaded) -> T) -> T {
        of(&self.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes over what changed on disk.
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
            // What is in force stays. Opening anew would say what is wrong.
            Err(error) => {
                let error: Error = error;
                loaded.changed = found;
                eprintln!("access is left as it was: {error}");
            }
        }
    }

    /// What changed in the file since this was last asked: it was edited, or a command changed it.
    pub fn take_noticed(&self) -> Vec<serde_json::Value> {
        std::mem::take(&mut *self.noticed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn provider(&self, access: &AccessFile) -> Option<Arc<Tokens>> {
        let (oidc, fetch) = (access.oidc.clone()?, self.fetch.clone()?);
        Some(Arc::new(Tokens::new(oidc, fetch, self.clock.clone())))
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Who owns this machine.
    #[must_use]
    pub fn machine_owner(&self) -> &UserId {
        &self.owner
    }

    /// The owner of the machine, when nobody is set up.
    #[must_use]
    pub fn owner(&self) -> Option<Identity> {
        (!self.has_users()).then(|| Identity::owner(self.owner.clone()))
    }

    /// Whoever holds this key.
    pub fn by_key(&self, key: &str) -> Result<Identity> {
        self.look();
        let now = self.now();
        let record = self.read(|loaded| loaded.keys.open(key, now).cloned()).ok_or(Error::Key)?;
        let mut identity = self.named(&record.user, AuthMethod::Key).ok_or(Error::Key)?;
        identity.scopes = (!record.scopes.is_empty()).then(|| record.scopes.clone());
        identity.key = Some(record.id);
        Ok(identity)
    }

    /// Whoever a key, a cookie of the page or a token names.
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

    /// Whoever a cookie names: its key must still be good.
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

    /// A cookie for whoever came with a key: a session of this id.
    #[must_use]
    pub fn cookie(&self, identity: &Identity, session: uuid::Uuid) -> Option<String> {
        Some(self.secret.cookie(identity.key.as_deref()?, session, self.now()))
    }

    /// Ends the session of a cookie: it opens nothing from now on. One that opens nothing anyway is
    /// left alone.
    pub fn end_session(&self, cookie: &str) -> Result<()> {
        let now = self.now();
        let Some(session) = self.secret.open_cookie(cookie, now) else { return Ok(()) };
        let _alone = keys::locked(&self.home)?;
        let mut ended = EndedSessions::load(&self.home)?;
        ended.end(&self.home, &session, now)?;
        self.loaded.write().unwrap_or_else(PoisonError::into_inner).ended = ended;
        Ok(())
    }

    /// What a page must send along with whatever changes something.
    #[must_use]
    pub fn csrf(&self, identity: &Identity) -> String {
        let session = identity.session.as_deref().or(identity.key.as_deref());
        self.secret.csrf(session.unwrap_or(identity.user.as_str()))
    }

    /// Whether that is what it sent.
    #[must_use]
    pub fn csrf_fits(&self, identity: &Identity, sent: &str) -> bool {
        session::same(self.csrf(identity).as_bytes(), sent.as_bytes())
    }

    /// A user by their name here.
    #[must_use]
    pub fn named(&self, user: &UserId, by: AuthMethod) -> Option<Identity> {
        self.read(|loaded| {
            // The machine's owner may have keys before anybody else is set up.
            if loaded.access.users.is_empty() && *user == self.owner {
                return Some(Identity { by, ..Identity::owner(user.clone()) });
            }
            loaded.access.identity(user, by)
        })
    }

    /// A user by their name in Slack: `TEAM/USER`.
    #[must_use]
    pub fn by_slack(&self, team: &str, user: &str) -> Option<Identity> {
        self.look();
        if let Some(owner) = self.owner() {
            // One person's machine: whoever their workspace lets in must still be named.
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

    /// Users and roles as they are, to try a change on.
    #[must_use]
    pub fn access_file(&self) -> AccessFile {
        self.look();
        self.read(|loaded| loaded.access.clone())
    }

    /// Changes users and roles: the file as it is goes through `change`, and counts from then on.
    pub fn change(&self, change: impl FnOnce(&mut AccessFile) -> Result<()>) -> Result<()> {
        {
            let (mut file, _alone) = AccessFile::to_change(&self.home)?;
            change(&mut file)?;
            file.save(&self.home)?;
        }
        self.look();
        // It is in the journal already, by whom.
        drop(self.take_noticed());
        Ok(())
    }

    /// The keys, without what opens them.
    #[must_use]
    pub fn keys(&self) -> Vec<KeyRecord> {
        self.look();
        self.read(|loaded| loaded.keys.all().to_vec())
    }

    /// Makes a key. What opens it is shown this once.
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

    fn take(&self, keys: Keys) {
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        loaded.keys = keys;
    }

    /// Whether there is such a user to make a key for.
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
