//! The current identity, sign-in and sign-out, and administration of users, keys and settings.

use super::door::COOKIE_NAME;
use super::extract::{Authenticated, Input, PathParam};
use super::openapi::Api;
use super::problem::Problem;
use super::{Listed, Shared};
use crate::identity::{AuthMethod, Identity, KeyRecord, NewKey, Right};
use axum::Json;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use steward_domain::UserId;

/// An API key to sign in with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SignIn {
    #[schemars(length(max = 200))]
    key: String,
}

/// An API key to create.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Make {
    user: UserId,
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// The scopes of the key. An empty set means all rights of the user.
    #[serde(default)]
    scopes: BTreeSet<Right>,
    /// The lifetime in days.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3650))]
    days: Option<u32>,
}

/// A created API key. The key is shown only once.
#[derive(Serialize, JsonSchema)]
struct Made {
    id: String,
    key: String,
}

pub(super) fn routes(api: &mut Api) {
    api.get("/api/v1/me", "Who you are, and what you may do")
        .gives_object(200, "`user`, `roles`, `may`, `csrf`.")
        .to(get(me));
    api.post("/api/v1/session", "Sign in to the page with a key")
        .open()
        .takes::<SignIn>()
        .gives_nothing("A cookie for twelve hours.")
        .to(post(sign_in));
    api.delete("/api/v1/session", "Sign out")
        .open()
        .gives_nothing("The session is over; its cookie opens nothing any more.")
        .to(delete(sign_out));
    api.get("/api/v1/settings", "The settings, without secrets")
        .needs(Right::Admin)
        .gives_object(200, "`settings`, `version`.")
        .to(get(settings));
    api.get("/api/v1/admin/users", "Who there is")
        .needs(Right::Admin)
        .gives_object(200, "`items`.")
        .to(get(users));
    api.get("/api/v1/admin/keys", "The keys, without what opens them")
        .needs(Right::Admin)
        .gives_page::<KeyRecord>()
        .to(get(keys));
    api.post("/api/v1/admin/keys", "Make a key; it is shown this once")
        .needs(Right::Admin)
        .takes::<Make>()
        .gives::<Made>(201, "The key.")
        .to(post(make));
    api.delete("/api/v1/admin/keys/{key}", "Revoke a key")
        .needs(Right::Admin)
        .gives_nothing("It opens nothing any more.")
        .to(delete(revoke));
}

async fn me(State(site): State<Shared>, Authenticated(identity): Authenticated) -> Json<Value> {
    let may: serde_json::Map<String, Value> =
        Right::ALL.into_iter().map(|right| (right.name().to_owned(), identity.may(right).into())).collect();
    Json(json!({
        "user": identity.user, "name": identity.name, "roles": identity.roles, "administrator": identity.may(Right::Admin),
        "signed_in_with": identity.by, "csrf": site.directory.csrf(&identity), "version": env!("CARGO_PKG_VERSION"), "may": may,
    }))
}

pub(super) fn cookie(site: &Shared, value: &str, seconds: u32) -> String {
    let secure = if site.options.secure_cookies { "; Secure" } else { "" };
    format!("{COOKIE_NAME}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

async fn sign_in(
    State(site): State<Shared>,
    Input(SignIn { key }): Input<SignIn>,
) -> Result<Response, Problem> {
    let identity = match site.directory.by_key(key.trim()) {
        Ok(identity) => identity,
        Err(error) => {
            site.access.refused("page").await?;
            return Err(error.into());
        }
    };
    site.access.signed_in(&identity).await?;
    let value = site.directory.cookie(&identity, site.new_id()?).ok_or(crate::identity::Error::Key)?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie(&site, &value, 43_200))]).into_response())
}

/// Ends the session on the server. Its cookie is invalid in every browser.
async fn sign_out(State(site): State<Shared>, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(held) = super::door::cookie(&headers) {
        site.directory.end_session(&held)?;
    }
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie(&site, "", 0))]).into_response())
}

async fn settings(State(site): State<Shared>, Authenticated(_): Authenticated) -> Json<Value> {
    Json(site.shown.clone())
}

async fn users(State(site): State<Shared>, Authenticated(_): Authenticated) -> Json<Value> {
    let items: Vec<Value> = site
        .directory
        .users()
        .into_iter()
        .map(|(id, user)| json!({ "user": id, "name": user.name, "roles": user.roles, "subjects": user.subjects, "disabled": user.disabled }))
        .collect();
    Json(json!({ "items": items, "next": null }))
}

async fn keys(State(site): State<Shared>, Authenticated(_): Authenticated) -> Json<Listed<KeyRecord>> {
    Json(Listed { items: site.directory.keys().into_iter().map(KeyRecord::shown).collect(), next: None })
}

async fn make(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(make): Input<Make>,
) -> Result<(StatusCode, Json<Made>), Problem> {
    if make.name.trim().is_empty() || make.name.len() > 100 {
        return Err(Problem::input("name must have 1 to 100 letters"));
    }
    if make.days.is_some_and(|days| !(1..=3650).contains(&days)) {
        return Err(Problem::input("days must be from 1 to 3650"));
    }
    // A key cannot have more scopes than the key that creates it.
    let cut = identity.scopes.as_ref().filter(|held| make.scopes.is_empty() || !make.scopes.is_subset(held));
    if cut.is_some() {
        return Err(Problem::denied(
            "the key that you use is cut down: make one with no more scopes than it has",
        ));
    }
    require_owner_for_owner(&site, &identity, &make.user)?;
    let new = NewKey { user: make.user, name: make.name, scopes: make.scopes, days: make.days };
    let about = json!({ "user": new.user, "name": new.name, "scopes": new.scopes, "days": new.days });
    site.directory.known(&new.user)?;
    site.access.changed(&(&identity).into(), "key_added", about).await?;
    let (record, key) = site.directory.add_key(&new, &*site.app().random)?;
    Ok((StatusCode::CREATED, Json(Made { id: record.id, key })))
}

/// Only an owner acts in the place of an owner: makes and revokes their keys, links boards as them.
pub(super) fn require_owner_for_owner(
    site: &Shared,
    identity: &Identity,
    user: &UserId,
) -> Result<(), Problem> {
    let owner = site.directory.named(user, AuthMethod::Key).is_some_and(|user| user.grants.is_none());
    if owner && identity.grants.is_some() {
        return Err(Problem::denied(format!("{user} is an owner: only an owner acts for them")));
    }
    Ok(())
}

async fn revoke(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<String>,
) -> Result<StatusCode, Problem> {
    if let Some(key) = site.directory.keys().iter().find(|key| key.id == id) {
        require_owner_for_owner(&site, &identity, &key.user)?;
    }
    site.access.changed(&(&identity).into(), "key_revoked", json!({ "key": id })).await?;
    site.directory.revoke_key(&id)?;
    Ok(StatusCode::NO_CONTENT)
}
