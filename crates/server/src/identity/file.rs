//! `config/access.yaml`: users, roles and the identity provider.

use super::{AuthMethod, Error, Identity, OWNER, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use steward_domain::UserId;
use steward_policy::TableRules;

/// The access file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AccessFile {
    /// The users.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub users: BTreeMap<UserId, User>,
    /// The roles, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, Role>,
    /// The identity provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oidc: Option<Oidc>,
    /// The Slack ids of the owner, as `TEAM/USER`, while no users are configured.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub owner_slack: BTreeSet<String>,
}

/// A user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct User {
    /// The display name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The names of the roles.
    pub roles: Vec<String>,
    /// Subjects at the identity provider: the `sub` or the verified `email` of a token.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub subjects: BTreeSet<String>,
    /// Slack ids, as `TEAM/USER`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub slack: BTreeSet<String>,
    /// Attributes that row rules can use, as `caller.NAME`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Whether the user is denied access.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

/// The grants of a role. Patterns are names or `prefix*`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Role {
    /// Domains that may be queried, with all their tools.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub domains: BTreeSet<String>,
    /// Tools that may be called.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub tools: BTreeSet<String>,
    /// The readable tables of the domains, each with its readable columns. Empty means all.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, BTreeSet<String>>,
    /// Rules per table: which rows are visible, how values are masked, and the minimum group size.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rules: BTreeMap<String, TableRules>,
    /// Permissions that tools require.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub permissions: BTreeSet<String>,
    /// Workflows and agents that may be run.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub run: BTreeSet<String>,
    /// Tools whose pending calls may be approved or rejected.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub approve: BTreeSet<String>,
    /// Whether the whole journal may be verified.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub audit: bool,
    /// Whether answers may be verified and feedback may be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
    /// Whether keys, users and settings may be read and changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
}

impl Role {
    /// The union of two roles. If either may read every table, the union may as well.
    fn and(mut self, other: &Self) -> Self {
        let every_table = |role: &Self| role.tables.is_empty() && !role.domains.is_empty();
        // A role that reads a table without a rule removes the rule of the other role.
        let reads = |role: &Self, table: &String| every_table(role) || role.tables.contains_key(table);
        let free = |role: &Self, table: &String| reads(role, table) && !role.rules.contains_key(table);
        for (table, rules) in &other.rules {
            match self.rules.remove(table) {
                Some(held) => drop(self.rules.insert(table.clone(), held.either(rules))),
                None if free(&self, table) => {}
                None => drop(self.rules.insert(table.clone(), rules.clone())),
            }
        }
        self.rules.retain(|table, _| !free(other, table));
        if every_table(&self) || every_table(other) {
            self.tables.clear();
        } else {
            for (table, columns) in &other.tables {
                match self.tables.get_mut(table) {
                    // An empty set of columns means all columns.
                    Some(held) if held.is_empty() || columns.is_empty() => held.clear(),
                    Some(held) => held.extend(columns.iter().cloned()),
                    None => drop(self.tables.insert(table.clone(), columns.clone())),
                }
            }
        }
        self.domains.extend(other.domains.iter().cloned());
        self.tools.extend(other.tools.iter().cloned());
        self.permissions.extend(other.permissions.iter().cloned());
        self.run.extend(other.run.iter().cloned());
        self.approve.extend(other.approve.iter().cloned());
        (self.audit, self.admin) = (self.audit || other.audit, self.admin || other.admin);
        self.verify = self.verify || other.verify;
        self
    }
}

/// An identity provider whose tokens are accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oidc {
    /// The required `iss` of a token.
    pub issuer: String,
    /// The required `aud` of a token.
    pub audience: String,
    /// The address of its keys. If absent, it is discovered through the issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_url: Option<String>,
    /// Sign-in to the page through the provider. Without it the page accepts keys only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_in: Option<OidcSignIn>,
}

/// Sign-in at the provider: authorization code with PKCE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcSignIn {
    /// The client id of this server at the provider. It is the audience of identity tokens.
    pub client_id: String,
    /// The environment variable with the client secret. A public client has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_variable: Option<String>,
    /// The label of the sign-in button after "Sign in with".
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// The lock that is held while the file is changed.
struct Alone(std::fs::File);

impl Drop for Alone {
    fn drop(&mut self) {
        let _process_exit_unlocks = self.0.unlock();
    }
}

const HEADER: &str = "# Who may use this Steward over the network, and what they hold. `steward users`, \
    `steward grants` and\n\
# `steward keys` change it, or edit it by hand: it counts from the next request on. See docs/access.md.\n";

pub(super) fn path(home: &Path) -> PathBuf {
    home.join("config/access.yaml")
}

impl AccessFile {
    /// Loads the file of a home. A missing file means no users.
    pub fn load(home: &Path) -> Result<Self> {
        let path = path(home);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(Error::Unwritten {
                    path: path.display().to_string(),
                    problem: error.to_string(),
                });
            }
        };
        let wrong =
            |line: u64, problem: String| Error::File { path: path.display().to_string(), line, problem };
        let empty = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        let file: Self = serde_saphyr::from_str(if empty { "{}" } else { &text }).map_err(|error| {
            let line = error.location().map_or(1, |location| location.line());
            wrong(line, error.to_string().lines().next().unwrap_or_default().to_owned())
        })?;
        for (user, found) in &file.users {
            if let Some(unknown) =
                found.roles.iter().find(|role| *role != OWNER && !file.roles.contains_key(*role))
            {
                let line = text
                    .lines()
                    .position(|line| line.contains(unknown.as_str()))
                    .map_or(1, |at| at as u64 + 1);
                return Err(wrong(
                    line,
                    format!("{user} has the role {unknown:?}, which is not under `roles`"),
                ));
            }
        }
        Ok(file)
    }

    /// Loads the file for a change. The second value is a lock that excludes other writers.
    pub fn to_change(home: &Path) -> Result<(Self, impl Drop + use<>)> {
        let alone = Alone(super::keys::locked(home)?);
        Ok((Self::load(home)?, alone))
    }

    /// Writes the file atomically.
    pub fn save(&self, home: &Path) -> Result<()> {
        let path = path(home);
        let failed = |problem: String| Error::Unwritten { path: path.display().to_string(), problem };
        let text = serde_saphyr::to_string(self).map_err(|error| failed(error.to_string()))?;
        super::keys::replace(&path, format!("{HEADER}{text}").as_bytes())
            .map_err(|error| failed(error.to_string()))
    }

    /// The identity of a user with the grants of the roles. `None` if the user is disabled.
    pub(super) fn identity(&self, user: &UserId, by: AuthMethod) -> Option<Identity> {
        let found = self.users.get(user).filter(|found| !found.disabled)?;
        let name = if found.name.is_empty() { user.to_string() } else { found.name.clone() };
        let (roles, grants) = (found.roles.clone(), self.grants(found));
        let attributes = found.attributes.clone();
        Some(Identity {
            user: user.clone(),
            name,
            roles,
            by,
            scopes: None,
            grants,
            attributes,
            key: None,
            session: None,
        })
    }

    /// The grants of a user. `None` means all.
    pub(super) fn grants(&self, user: &User) -> Option<Role> {
        if user.roles.iter().any(|role| role == OWNER) {
            return None;
        }
        let held = user.roles.iter().filter_map(|role| self.roles.get(role));
        Some(
            held.fold(None, |sum: Option<Role>, role| {
                Some(match sum {
                    None => role.clone(),
                    Some(sum) => sum.and(role),
                })
            })
            .unwrap_or_default(),
        )
    }

    pub(super) fn of_subject(&self, subjects: &[String]) -> Option<UserId> {
        let fits = |user: &User| subjects.iter().any(|subject| user.subjects.contains(subject));
        self.users.iter().find(|(_, user)| fits(user)).map(|(id, _)| id.clone())
    }

    pub(super) fn of_slack(&self, team: &str, user: &str) -> Option<UserId> {
        let name = format!("{team}/{user}");
        self.users.iter().find(|(_, known)| known.slack.contains(&name)).map(|(id, _)| id.clone())
    }

    pub(super) fn slack_owner(&self, team: &str, user: &str) -> bool {
        self.owner_slack.contains(&format!("{team}/{user}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn roles_add_up_and_never_narrow() {
        let narrow = Role {
            domains: set(&["sales"]),
            tables: BTreeMap::from([("sales".into(), set(&["month"])), ("people".into(), set(&["name"]))]),
            ..Role::default()
        };
        let other = Role {
            tables: BTreeMap::from([("sales".into(), set(&["amount"])), ("people".into(), set(&[]))]),
            approve: set(&["todo.*"]),
            ..Role::default()
        };
        let both = narrow.clone().and(&other);
        assert_eq!(both.tables["sales"], set(&["month", "amount"]));
        assert_eq!(both.tables["people"], set(&[]), "no columns named means all of them");
        assert_eq!(both.approve, set(&["todo.*"]));
        let ruled = |rows: &str| Role {
            tables: BTreeMap::from([("sales".into(), set(&[]))]),
            rules: BTreeMap::from([(
                "sales".into(),
                TableRules { rows: Some(rows.into()), ..TableRules::default() },
            )]),
            ..Role::default()
        };
        assert_eq!(
            ruled("a = 1").and(&ruled("b = 2")).rules["sales"].rows.as_deref(),
            Some("(a = 1) OR (b = 2)")
        );
        assert!(ruled("a = 1").and(&other).rules.is_empty() && other.and(&ruled("a = 1")).rules.is_empty());
        let wide = Role { domains: set(&["crm"]), ..Role::default() };
        assert!(narrow.and(&wide).tables.is_empty(), "a role that may read every table widens the other");
    }

    #[test]
    fn unknown_role_is_reported_with_its_line() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("config")).unwrap();
        std::fs::write(path(home.path()), "users:\n  ada:\n    roles: [analyst]\n").unwrap();
        let told = AccessFile::load(home.path()).unwrap_err().to_string();
        assert!(told.contains("access.yaml:3:") && told.contains("analyst"), "{told}");
    }

    #[test]
    fn access_file_round_trips() {
        let home = tempfile::tempdir().unwrap();
        let mut file = AccessFile::default();
        file.roles
            .insert("analyst".into(), Role { domains: set(&["sales"]), admin: true, ..Role::default() });
        let user = User { roles: vec!["analyst".into()], slack: set(&["T1/U1"]), ..User::default() };
        file.users.insert("ada".parse().unwrap(), user);
        file.save(home.path()).unwrap();
        assert_eq!(AccessFile::load(home.path()).unwrap(), file);
    }
}
