//! Administration of users and roles by owners: lists, changes, and effective permissions.
//!
//! Invariants
//! - A change is written to the journal, with its author, before it takes effect.
//! - Only an owner changes users and roles. Another administrator could raise their own rights.
//! - The last owner cannot be removed. Without an owner, access could not be changed.

use super::extract::{Authenticated, Input, PathParam};
use super::openapi::Api;
use super::problem::Problem;
use super::{AppState, Shared};
use crate::identity::{AccessFile, AuthMethod, Identity, OWNER, Right, Role, User};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use steward_domain::UserId;
use steward_tools::registry::Filter;

/// A user to create or change.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UserRequest {
    user: UserId,
    #[serde(default)]
    #[schemars(length(max = 200))]
    name: String,
    /// `owner`, or names of roles.
    #[serde(default)]
    #[schemars(length(max = 50))]
    roles: Vec<String>,
    /// Subjects at the identity provider: `sub` or verified `email`.
    #[serde(default)]
    #[schemars(length(max = 20))]
    subjects: BTreeSet<String>,
    /// Whether the user is denied access.
    #[serde(default)]
    disabled: bool,
}

/// A role to create or change. Patterns are names or `prefix*`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RoleRequest {
    #[schemars(length(min = 1, max = 100))]
    name: String,
    #[serde(default)]
    domains: BTreeSet<String>,
    #[serde(default)]
    tools: BTreeSet<String>,
    /// Readable tables with their readable columns. An empty list means all columns.
    #[serde(default)]
    tables: BTreeMap<String, BTreeSet<String>>,
    #[serde(default)]
    run: BTreeSet<String>,
    #[serde(default)]
    approve: BTreeSet<String>,
    #[serde(default)]
    audit: bool,
    #[serde(default)]
    verify: bool,
    #[serde(default)]
    admin: bool,
}

pub(super) fn routes(api: &mut Api) {
    api.post("/api/v1/admin/users", "Make or change a user")
        .needs(Right::Admin)
        .takes::<UserRequest>()
        .gives_nothing("It counts from the next request on.")
        .to(post(put_user));
    api.delete("/api/v1/admin/users/{user}", "Remove a user; their keys open nothing any more")
        .needs(Right::Admin)
        .gives_nothing("They are not let in any more. What they did stays in the journal.")
        .to(delete(remove_user));
    api.get("/api/v1/admin/users/{user}/access", "What a user may do in effect")
        .needs(Right::Admin)
        .gives_object(200, "`may`, `domains`, `tools`, `workflows`, `is_owner`.")
        .to(get(effect));
    api.get("/api/v1/admin/roles", "The roles and what they hold")
        .needs(Right::Admin)
        .gives_object(200, "`items`, and what can be granted: `domains`, `tools`, `workflows`.")
        .to(get(roles));
    api.post("/api/v1/admin/roles", "Make or change a role")
        .needs(Right::Admin)
        .takes::<RoleRequest>()
        .gives_nothing("It counts from the next request on.")
        .to(post(put_role));
    api.delete("/api/v1/admin/roles/{role}", "Remove a role")
        .needs(Right::Admin)
        .gives_nothing("It is gone.")
        .to(delete(remove_role));
}

fn only_owners(identity: &Identity) -> Result<(), Problem> {
    if identity.grants.is_none() {
        return Ok(());
    }
    Err(Problem::denied("only an owner changes users and roles"))
}

impl AppState {
    /// Writes the change to the journal, then applies it.
    async fn change_access(
        &self,
        identity: &Identity,
        what: &str,
        about: Value,
        check: impl Fn(&mut AccessFile) -> Result<(), String>,
    ) -> Result<(), Problem> {
        only_owners(identity)?;
        // An invalid change is not written to the journal.
        let mut tried = self.directory.access_file();
        check(&mut tried).map_err(Problem::input)?;
        self.access.changed(&identity.into(), what, about).await?;
        self.directory.change(|file| check(file).map_err(crate::identity::Error::Token).map(drop))?;
        Ok(())
    }
}

/// Checks that at least one enabled owner remains.
fn check_owner_remains(file: &AccessFile) -> Result<(), String> {
    let owner = |user: &User| !user.disabled && user.roles.iter().any(|role| role == OWNER);
    if file.users.is_empty() || file.users.values().any(owner) {
        return Ok(());
    }
    Err("one user must be an owner: give somebody the role `owner` first".to_owned())
}

async fn put_user(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(wanted): Input<UserRequest>,
) -> Result<StatusCode, Problem> {
    let about = json!({ "user": wanted.user, "roles": wanted.roles, "disabled": wanted.disabled });
    let first = !site.directory.has_users();
    site.change_access(&identity, "user_changed", about, |file| {
        if let Some(unknown) =
            wanted.roles.iter().find(|role| *role != OWNER && !file.roles.contains_key(*role))
        {
            return Err(format!("there is no role {unknown:?}: make it first"));
        }
        let taken =
            |(id, user): (&UserId, &User)| *id != wanted.user && !user.subjects.is_disjoint(&wanted.subjects);
        if file.users.iter().any(taken) {
            return Err("another user has one of these names at the provider".to_owned());
        }
        let known = file.users.entry(wanted.user.clone()).or_default();
        known.name.clone_from(&wanted.name);
        known.roles.clone_from(&wanted.roles);
        known.subjects.clone_from(&wanted.subjects);
        known.disabled = wanted.disabled;
        // With the first user, the machine's owner needs a user entry to keep access.
        if first && !wanted.roles.iter().any(|role| role == OWNER) {
            let owner = file.users.entry(identity.user.clone()).or_default();
            owner.roles = vec![OWNER.to_owned()];
        }
        check_owner_remains(file)
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove_user(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(user): PathParam<UserId>,
) -> Result<StatusCode, Problem> {
    site.directory.known(&user)?;
    site.change_access(&identity, "user_removed", json!({ "user": user }), |file| {
        file.users.remove(&user);
        if file.users.is_empty() {
            return Err("the last user stays: without users whoever reaches this machine owns it".to_owned());
        }
        check_owner_remains(file)
    })
    .await?;
    site.directory.revoke_keys_of(&user)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn effect(
    State(site): State<Shared>,
    Authenticated(_): Authenticated,
    PathParam(user): PathParam<UserId>,
) -> Result<Json<Value>, Problem> {
    site.directory.known(&user)?;
    let found = site.directory.named(&user, AuthMethod::Key);
    let Some(identity) = found else {
        return Ok(Json(json!({ "may": {}, "domains": [], "tools": 0, "workflows": [], "disabled": true })));
    };
    let may: serde_json::Map<String, Value> =
        Right::ALL.into_iter().map(|right| (right.name().to_owned(), identity.may(right).into())).collect();
    let caller = site.caller(&identity);
    let snapshot = site.toolbox().registry().snapshot();
    let tools = snapshot.list(&Filter { caller: Some(&caller), ..Filter::default() }).count();
    let domains: Vec<&str> =
        snapshot.domains.keys().map(|name| name.as_str()).filter(|name| caller.asks(name)).collect();
    let (workflows, agents) = site.runner.defined();
    let workflows: Vec<String> =
        workflows.into_iter().chain(agents).filter(|name| identity.runs(name)).collect();
    Ok(Json(json!({
        "may": may, "domains": domains, "tools": tools, "workflows": workflows,
        "is_owner": identity.grants.is_none(),
    })))
}

async fn roles(State(site): State<Shared>, Authenticated(_): Authenticated) -> Json<Value> {
    let items: Vec<Value> = site
        .directory
        .roles()
        .into_iter()
        .map(|(name, role)| {
            json!({
                "name": name, "domains": role.domains, "tools": role.tools, "tables": role.tables,
                "run": role.run, "approve": role.approve, "audit": role.audit, "verify": role.verify,
                "admin": role.admin, "rules": role.rules.len(),
            })
        })
        .collect();
    let snapshot = site.toolbox().registry().snapshot();
    let domains: Vec<&str> = snapshot.domains.keys().map(|name| name.as_str()).collect();
    let tools: Vec<String> = snapshot
        .list(&Filter::default())
        .map(|entry| entry.registered.definition.tool_name.to_string())
        .collect();
    let (workflows, agents) = site.runner.defined();
    let workflows: Vec<String> = workflows.into_iter().chain(agents).collect();
    Json(json!({ "items": items, "next": null, "domains": domains, "tools": tools, "workflows": workflows }))
}

async fn put_role(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(wanted): Input<RoleRequest>,
) -> Result<StatusCode, Problem> {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if wanted.name.is_empty() || wanted.name.len() > 100 || !wanted.name.chars().all(plain) {
        return Err(Problem::input("name: letters, digits, `_` and `-`, at most 100"));
    }
    if wanted.name == OWNER {
        return Err(Problem::input("`owner` holds everything and cannot be changed"));
    }
    let about = json!({
        "role": wanted.name, "domains": wanted.domains, "tools": wanted.tools, "run": wanted.run,
        "approve": wanted.approve, "audit": wanted.audit, "verify": wanted.verify, "admin": wanted.admin,
    });
    site.change_access(&identity, "role_changed", about, |file| {
        let known = file.roles.entry(wanted.name.clone()).or_default();
        // The page does not show row rules and permissions, so they keep their values.
        *known = Role {
            domains: wanted.domains.clone(),
            tools: wanted.tools.clone(),
            tables: wanted.tables.clone(),
            run: wanted.run.clone(),
            approve: wanted.approve.clone(),
            audit: wanted.audit,
            verify: wanted.verify,
            admin: wanted.admin,
            rules: std::mem::take(&mut known.rules),
            permissions: std::mem::take(&mut known.permissions),
        };
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove_role(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(role): PathParam<String>,
) -> Result<StatusCode, Problem> {
    if !site.directory.roles().contains_key(&role) {
        return Err(Problem::missing("role", role));
    }
    site.change_access(&identity, "role_removed", json!({ "role": role }), |file| {
        if let Some((user, _)) = file.users.iter().find(|(_, user)| user.roles.contains(&role)) {
            return Err(format!("{user} has this role: take it from them first"));
        }
        file.roles.remove(&role).map(drop).ok_or_else(|| format!("there is no role {role:?}"))
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}
