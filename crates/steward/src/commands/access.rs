//! `steward users`, `steward keys`, `steward grants`: who may use this Steward over the network,
//! and their grants.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, table};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::json;
use std::collections::BTreeSet;
use steward_domain::UserId;
use steward_journal::clock::{Clock as _, SystemClock};
use steward_journal::random::SystemRandom;
use steward_server::identity::{
    AccessFile, AccessJournal, Administrator, NewKey, OWNER, Right, Role, revoke_keys_of,
};

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward users add ada --name 'Ada Lovelace' --role analyst
  steward users list
  steward users remove ada")]
pub(crate) enum Users {
    /// Adds a user, or changes their name and roles.
    Add(AddUser),
    /// Lists the users.
    List,
    /// Removes a user; their keys no longer work.
    Remove {
        /// The user.
        #[arg(id = "who", value_name = "USER")]
        user: UserId,
    },
}

#[derive(Args)]
pub(crate) struct AddUser {
    /// The user: a short name without spaces.
    #[arg(id = "who", value_name = "USER")]
    user: UserId,
    /// Display name.
    #[arg(long, default_value = "")]
    name: String,
    /// A role of `steward grants`, or `owner` for everything; repeat it for several.
    #[arg(long)]
    role: Vec<String>,
    /// Their name at the identity provider: the `sub` or the verified `email` of a token.
    #[arg(long, value_name = "SUBJECT")]
    subject: Vec<String>,
    /// Their name in Slack, as TEAM/USER.
    #[arg(long, value_name = "TEAM/USER")]
    slack: Vec<String>,
}

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward keys add ada --name laptop --days 90
  steward keys add ada --name dashboard --scope ask
  steward keys list
  steward keys revoke Xk3mPq8aTz")]
pub(crate) enum Keys {
    /// Creates a key and shows it once.
    Add {
        /// The user who owns it.
        #[arg(id = "who", value_name = "USER")]
        user: UserId,
        /// Display name.
        #[arg(long, default_value = "key")]
        name: String,
        /// Limit the key to these rights; all rights of the user by default.
        #[arg(long, value_parser = right())]
        scope: Vec<Right>,
        /// Days until it expires.
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: Option<u32>,
    },
    /// Lists the keys, without their secrets.
    List,
    /// Revokes a key. It stops working with the next request.
    Revoke {
        /// The id: the first part of the key.
        id: String,
    },
}

/// Parses a right by its name; the help lists all of them.
fn right() -> impl TypedValueParser<Value = Right> {
    let known = Right::ALL.map(|right| PossibleValue::new(right.name()).help(right.about()));
    PossibleValuesParser::new(known).try_map(|name| Right::of(&name).ok_or("no such right"))
}

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward grants add analyst --domain sales --tool 'todo.*'
  steward grants add analyst --table sales=month,amount     the only columns of the only table
  steward grants add lead --approve 'todo.*' --run '*' --audit
  steward grants list
  steward grants remove analyst --tool 'todo.*'")]
pub(crate) enum Grants {
    /// Adds grants to a role; creates the role if needed.
    Add(Grant),
    /// Removes grants from a role, or the whole role if none are named.
    Remove(Grant),
    /// Lists the roles.
    List,
}

#[derive(Args)]
pub(crate) struct Grant {
    /// The role.
    role: String,
    /// A domain that may be queried, with its tools.
    #[arg(long)]
    domain: Vec<String>,
    /// A tool that may be called, or `prefix*`.
    #[arg(long)]
    tool: Vec<String>,
    /// A table of the domains' data, as TABLE or TABLE=COLUMN,COLUMN. All tables by default.
    #[arg(long, value_name = "TABLE[=COLUMNS]")]
    table: Vec<String>,
    /// A permission that tools require.
    #[arg(long)]
    permission: Vec<String>,
    /// A workflow or an agent that may be run, or `prefix*`.
    #[arg(long)]
    run: Vec<String>,
    /// A tool whose pending calls may be approved, or `prefix*`.
    #[arg(long)]
    approve: Vec<String>,
    /// Allow verifying the whole journal.
    #[arg(long)]
    audit: bool,
    /// Allow verifying answers.
    #[arg(long)]
    verify: bool,
    /// Allow managing keys, users and settings.
    #[arg(long)]
    admin: bool,
}

/// Writes a change into the journal before it takes effect.
async fn journalled(context: &Context, change: &str, about: serde_json::Value) -> Result<(), Failure> {
    let opened = context.open().await?;
    let clock = std::sync::Arc::new(SystemClock::default());
    let by = Administrator { user: context.settings.user.clone(), key: None };
    Ok(AccessJournal::new(opened.store.clone(), clock).changed(&by, change, about).await?)
}

pub(super) async fn users(context: &Context, command: Users) -> Result<(), Failure> {
    context.home.create()?;
    let home = &context.home.path;
    let (mut file, alone) = AccessFile::to_change(home)?;
    match command {
        Users::Add(add) => {
            if let Some(role) = add.role.iter().find(|role| *role != OWNER && !file.roles.contains_key(*role))
            {
                return Err(Failure::user(
                    "WEB006",
                    format!(
                        "there is no role {role}. Make it with `steward grants add {role} …`, or give `owner`"
                    ),
                ));
            }
            let user = file.users.entry(add.user.clone()).or_default();
            if !add.name.is_empty() {
                user.name = add.name;
            }
            if !add.role.is_empty() {
                user.roles = add.role;
            }
            user.subjects.extend(add.subject);
            user.slack.extend(add.slack);
            if user.roles.is_empty() {
                say(paint(
                    Tone::Warn,
                    "they have no role yet, and so nothing to see but their own things: --role",
                ));
            }
            journalled(
                context,
                "user_set",
                json!({ "user": add.user, "settings": file.users.get(&add.user) }),
            )
            .await?;
            file.save(home)?;
            say(format!("{} {}", paint(Tone::Good, "set up"), add.user));
            say(paint(Tone::Quiet, &format!("steward keys add {} makes a key for them", add.user)));
        }
        Users::Remove { user } => {
            if file.users.remove(&user).is_none() {
                return Err(Failure::user(
                    "WEB006",
                    format!("there is no user {user}. `steward users list` shows who there is"),
                ));
            }
            journalled(context, "user_removed", json!({ "user": user })).await?;
            file.save(home)?;
            drop(alone);
            revoke_keys_of(home, &user, SystemClock::default().now())?;
            say(format!("{user} is not let in any more"));
        }
        Users::List if context.json => document(&file.users),
        Users::List => {
            let rows = file.users.iter().map(|(id, user)| {
                let slack: Vec<&str> = user.slack.iter().map(String::as_str).collect();
                vec![id.to_string(), user.name.clone(), user.roles.join(", "), slack.join(", ")]
            });
            table(
                &["user", "name", "roles", "slack"],
                rows.collect(),
                "nobody is set up: this is one person's machine",
            );
        }
    }
    Ok(())
}

pub(super) async fn keys(context: &Context, command: Keys) -> Result<(), Failure> {
    context.home.create()?;
    let directory = super::serve::directory(context)?;
    match command {
        Keys::Add { user, name, scope, days } => {
            let new = NewKey { user, name, scopes: scope.into_iter().collect(), days };
            let about = json!({ "user": new.user, "name": new.name, "scopes": new.scopes, "days": new.days });
            directory.known(&new.user)?;
            journalled(context, "key_added", about).await?;
            let (record, key) = directory.add_key(&new, &SystemRandom)?;
            if context.json {
                document(&json!({ "id": record.id, "key": key }));
            } else {
                say(&key);
                eprintln!(
                    "{}",
                    paint(
                        Tone::Quiet,
                        "keep it: it is not shown again. Send it as `Authorization: Bearer KEY`"
                    )
                );
            }
        }
        Keys::Revoke { id } => {
            journalled(context, "key_revoked", json!({ "key": id })).await?;
            directory.revoke_key(&id)?;
            say(format!("{id} opens nothing any more"));
        }
        Keys::List => {
            let keys: Vec<_> =
                directory.keys().into_iter().map(steward_server::identity::KeyRecord::shown).collect();
            if context.json {
                document(&keys);
                return Ok(());
            }
            let rows = keys.iter().map(|key| {
                let scopes: Vec<&str> = key.scopes.iter().map(|right| right.name()).collect();
                let state = match (key.revoked_at, key.expires_at) {
                    (Some(at), _) => format!("revoked {at}"),
                    (None, Some(at)) => format!("until {at}"),
                    (None, None) => "good".to_owned(),
                };
                let scopes =
                    if scopes.is_empty() { "everything of theirs".to_owned() } else { scopes.join(", ") };
                vec![key.id.clone(), key.user.to_string(), key.name.clone(), scopes, state]
            });
            table(&["key", "user", "name", "opens", "state"], rows.collect(), "no keys");
        }
    }
    Ok(())
}

pub(super) async fn grants(context: &Context, command: Grants) -> Result<(), Failure> {
    context.home.create()?;
    let home = &context.home.path;
    let (mut file, _alone) = AccessFile::to_change(home)?;
    match command {
        Grants::Add(grant) => {
            if grant.role == OWNER {
                return Err(Failure::user("CLI004", "`owner` holds everything already"));
            }
            let tables = grant.table.iter().map(|text| columns(text));
            let role = file.roles.entry(grant.role.clone()).or_default();
            role.tables.extend(tables);
            for (held, more) in lists(role, &grant) {
                held.extend(more.iter().cloned());
            }
            role.audit |= grant.audit;
            role.verify |= grant.verify;
            role.admin |= grant.admin;
            journalled(context, "role_set", json!({ "role": grant.role, "holds": role })).await?;
            file.save(home)?;
            say(format!("{} {}", paint(Tone::Good, "granted to"), grant.role));
        }
        Grants::Remove(grant) => {
            remove(&mut file, &grant)?;
            let holds = file.roles.get(&grant.role);
            journalled(context, "role_set", json!({ "role": grant.role, "holds": holds })).await?;
            file.save(home)?;
            say(format!("taken from {}", grant.role));
        }
        Grants::List if context.json => document(&file.roles),
        Grants::List => {
            let rows = file.roles.iter().map(|(name, role)| vec![name.clone(), told(role)]);
            table(
                &["role", "holds"],
                rows.collect(),
                "no roles: `steward grants add ROLE --domain …` makes one",
            );
        }
    }
    Ok(())
}

fn remove(file: &mut AccessFile, grant: &Grant) -> Result<(), Failure> {
    let unknown = || {
        Failure::user("WEB006", format!("there is no role {}. `steward grants list` shows them", grant.role))
    };
    let role = file.roles.get_mut(&grant.role).ok_or_else(unknown)?;
    let mut whole = grant.table.is_empty() && !grant.audit && !grant.verify && !grant.admin;
    for (held, less) in lists(role, grant) {
        whole &= less.is_empty();
        held.retain(|name| !less.contains(name));
    }
    for text in &grant.table {
        role.tables.remove(&columns(text).0);
    }
    role.audit &= !grant.audit;
    role.verify &= !grant.verify;
    role.admin &= !grant.admin;
    if whole {
        if let Some((user, _)) = file.users.iter().find(|(_, user)| user.roles.contains(&grant.role)) {
            return Err(Failure::user(
                "WEB006",
                format!(
                    "{user} still has the role {}: change that first with `steward users add {user} --role …`",
                    grant.role
                ),
            ));
        }
        file.roles.remove(&grant.role);
    }
    Ok(())
}

/// The lists of a role, each with what the command names for it.
fn lists<'a>(role: &'a mut Role, grant: &'a Grant) -> [(&'a mut BTreeSet<String>, &'a [String]); 5] {
    [
        (&mut role.domains, &grant.domain),
        (&mut role.tools, &grant.tool),
        (&mut role.permissions, &grant.permission),
        (&mut role.run, &grant.run),
        (&mut role.approve, &grant.approve),
    ]
}

/// `TABLE` or `TABLE=COLUMN,COLUMN`.
fn columns(text: &str) -> (String, BTreeSet<String>) {
    match text.split_once('=') {
        Some((table, columns)) => {
            (table.to_owned(), columns.split(',').map(|name| name.trim().to_owned()).collect())
        }
        None => (text.to_owned(), BTreeSet::new()),
    }
}

fn told(role: &Role) -> String {
    let mut parts = Vec::new();
    for (what, names) in [
        ("domains", &role.domains),
        ("tools", &role.tools),
        ("permissions", &role.permissions),
        ("may run", &role.run),
        ("decides on", &role.approve),
    ] {
        if !names.is_empty() {
            parts.push(format!("{what} {}", names.iter().cloned().collect::<Vec<_>>().join(", ")));
        }
    }
    let tables = role.tables.iter().map(|(table, columns)| match columns.is_empty() {
        true => table.clone(),
        false => format!("{table} ({})", columns.iter().cloned().collect::<Vec<_>>().join(", ")),
    });
    let tables: Vec<String> = tables.collect();
    if !tables.is_empty() {
        parts.push(format!("tables {}", tables.join(", ")));
    }
    for (held, what) in
        [(role.audit, "verifies the journal"), (role.verify, "verifies answers"), (role.admin, "administers")]
    {
        if held {
            parts.push(what.to_owned());
        }
    }
    parts.join("; ")
}
