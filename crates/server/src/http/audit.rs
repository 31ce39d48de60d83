//! The journal over HTTP: its signed head, its chains, proofs, and a verification of all of it.

use super::extract::{Authenticated, PathParam, Queried};
use super::openapi::Api;
use super::problem::Problem;
use super::{Shared, scope};
use crate::identity::{Identity, Right};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};
use steward_domain::ChainId;
use steward_store::{Scope, audit};

#[derive(Deserialize)]
struct Since {
    since: Option<u64>,
}

#[derive(Deserialize)]
struct After {
    after: Option<u64>,
    limit: Option<u32>,
}

pub(super) fn routes(api: &mut Api) {
    api.get("/api/v1/audit/head", "The signed head of the journal")
        .gives_object(200, "`size`, `root`, `note`, `vkey`.")
        .to(get(head));
    api.post("/api/v1/audit/verify", "Verify the whole journal")
        .needs(Right::Audit)
        .gives_object(200, "What was found.")
        .to(post(verify));
    let size = json!({ "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32 });
    api.get("/api/v1/audit/chains/{chain}/entries", "Entries of a task's or a conversation's journal")
        .query("after", size.clone(), "From the entry after this one.")
        .query(
            "limit",
            json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 100 }),
            "At most so many.",
        )
        .gives_object(200, "`items`: `index` in the log and the `entry`.")
        .to(get(entries));
    api.get(
        "/api/v1/audit/chains/{chain}/export",
        "A chain as JSONL; its signed head is in the header X-Steward-Head",
    )
    .gives_kind(200, "One entry in a line.", "application/x-ndjson")
    .to(get(export));
    api.get("/api/v1/audit/proofs/{chain}/{sequence}", "Prove that an entry is in the log")
        .query("since", size, "Also prove that the log continues the one of this size.")
        .gives_object(200, "The proof, as `steward audit prove` gives it.")
        .to(get(proof));
}

fn chain(text: &str) -> Result<ChainId, Problem> {
    text.parse().map_err(|_| Problem::missing("journal of", text))
}

/// The system chain has no owner. Callers with the audit right may read it.
fn scope_of(identity: &Identity, chain: ChainId) -> Scope {
    if chain == ChainId::SYSTEM && identity.may(Right::Audit) { Scope::System } else { scope(identity) }
}

async fn head(State(site): State<Shared>, Authenticated(_): Authenticated) -> Result<Json<Value>, Problem> {
    match site.store().head().await? {
        Some(head) => Ok(Json(json!(head))),
        None => {
            Err(Problem::new(StatusCode::NOT_FOUND, "STO001", "the journal is empty: nothing to sign yet"))
        }
    }
}

async fn verify(State(site): State<Shared>, Authenticated(_): Authenticated) -> Result<Json<Value>, Problem> {
    let verified = audit::verify(&**site.store(), site.signer.verifier(), None).await?;
    Ok(Json(json!({
        "valid": true, "entries": verified.entries, "chains": verified.chains, "signed": verified.signed,
        "payloads": verified.payloads, "erased": verified.erased, "vkey": site.signer.verifier().vkey(),
    })))
}

async fn entries(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(named): PathParam<String>,
    Queried(wanted): Queried<After>,
) -> Result<Json<Value>, Problem> {
    let chain = chain(&named)?;
    let limit = wanted.limit.unwrap_or(100);
    if !(1..=1000).contains(&limit) {
        return Err(Problem::input(format!("limit must be from 1 to 1000, found {limit}")));
    }
    let scope = scope_of(&identity, chain);
    let found = site.store().entries(&scope, chain, wanted.after.unwrap_or(0), limit).await?;
    if found.is_empty() && site.store().chain(&scope, chain).await?.is_none() {
        return Err(Problem::missing("journal of", named));
    }
    let items: Vec<Value> = found
        .iter()
        .map(|one| json!({ "index": one.index, "entry": one.entry.to_entry().map_err(|error| json!(error)).map_or_else(|told| told, |entry| json!(entry)) }))
        .collect();
    Ok(Json(json!({ "items": items, "next": null })))
}

async fn export(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(named): PathParam<String>,
) -> Result<Response, Problem> {
    let chain = chain(&named)?;
    let mut out = Vec::new();
    let (_, head) =
        audit::export(&**site.store(), &scope_of(&identity, chain), chain, &site.signer, &mut out).await?;
    let disposition = format!("attachment; filename=\"{chain}.jsonl\"");
    // The head has several lines, and a header must be one line.
    let head: String =
        percent_encoding::utf8_percent_encode(&head, percent_encoding::NON_ALPHANUMERIC).to_string();
    let headers = [
        (CONTENT_TYPE.as_str(), "application/x-ndjson"),
        (CONTENT_DISPOSITION.as_str(), &disposition),
        ("x-steward-head", &head),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok((axum::response::AppendHeaders(headers), out).into_response())
}

async fn proof(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam((named, sequence)): PathParam<(String, u64)>,
    Queried(Since { since }): Queried<Since>,
) -> Result<Json<Value>, Problem> {
    let chain = chain(&named)?;
    let proof = audit::prove(&**site.store(), &scope_of(&identity, chain), chain, sequence, since).await?;
    Ok(Json(json!(proof)))
}
