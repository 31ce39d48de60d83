//! Verified answers, and feedback on answers.

use super::extract::{Authenticated, Input, PathParam, Queried};
use super::openapi::Api;
use super::problem::Problem;
use super::{Listed, Paging, Shared, scope};
use crate::identity::Right;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use steward_domain::{Feedback, FeedbackId, FeedbackStatus, Rating, TaskId, VerifiedAnswer, VerifiedId};
use steward_runtime::{NewVerified, Opinion, find_saved, list_saved};
use steward_store::{Page, Scope};

/// An answer to verify.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct VerifyRequest {
    /// The task of one of your answers.
    task_id: TaskId,
    /// The correct SQL, if it differs from the executed statement.
    #[serde(default)]
    #[schemars(length(max = 100_000))]
    sql: Option<String>,
    /// Paraphrases of the question with the same values.
    #[serde(default)]
    paraphrases: Vec<String>,
    /// A note for other users.
    #[serde(default)]
    #[schemars(length(max = 10_000))]
    note: String,
}

/// A paraphrase for a verified answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ParaphraseRequest {
    /// The paraphrase, with the same values.
    #[schemars(length(min = 1, max = 10_000))]
    question: String,
}

/// Feedback on an answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FeedbackRequest {
    /// The task of one of your answers.
    task_id: TaskId,
    /// Good or bad.
    rating: Rating,
    /// A comment.
    #[serde(default)]
    #[schemars(length(max = 10_000))]
    comment: String,
    /// The SQL that would have been correct.
    #[serde(default)]
    #[schemars(length(max = 100_000))]
    sql: Option<String>,
}

pub(super) fn routes(api: &mut Api) {
    api.get("/api/v1/verified", "Answers that people vouch for, newest first")
        .paged()
        .gives_page::<VerifiedAnswer>()
        .to(get(list));
    api.post("/api/v1/verified", "Vouch for one of your answers")
        .needs(Right::Verify)
        .takes::<VerifyRequest>()
        .gives::<VerifiedAnswer>(201, "It answers the question from now on.")
        .to(post(add));
    api.get("/api/v1/verified/{id}", "A verified answer")
        .gives::<VerifiedAnswer>(200, "With its statement.")
        .to(get(show));
    api.delete("/api/v1/verified/{id}", "Take back that you vouch for an answer")
        .needs(Right::Verify)
        .gives_nothing("It is gone.")
        .to(delete(remove));
    api.post("/api/v1/verified/check", "Run verified answers again with your grants, and say what moved")
        .needs(Right::Verify)
        .gives_object(200, "`checks`.")
        .to(post(check));
    api.get("/api/v1/feedback", "What you said of answers; with the right to verify, what everybody said")
        .paged()
        .gives_page::<Feedback>()
        .to(get(opinions));
    api.post("/api/v1/feedback", "Say what you think of an answer")
        .takes::<FeedbackRequest>()
        .gives::<Feedback>(201, "It is kept.")
        .to(post(rate));
    api.get(
        "/api/v1/feedback/gaps",
        "Questions that were not answered or badly, grouped by meaning, with what would help",
    )
    .needs(Right::Verify)
    .gives_object(200, "`groups`.")
    .to(get(gaps));
    api.post("/api/v1/verified/{id}/paraphrases", "Give a verified answer of yours other words")
        .needs(Right::Verify)
        .takes::<ParaphraseRequest>()
        .gives::<VerifiedAnswer>(200, "It answers them, too.")
        .to(post(paraphrase));
    api.post("/api/v1/feedback/{id}/dismiss", "Put feedback aside")
        .needs(Right::Verify)
        .gives_nothing("It is put aside.")
        .to(post(dismiss));
}

async fn list(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(paging): Queried<Paging>,
) -> Result<Json<Listed<VerifiedAnswer>>, Problem> {
    let page = paging.page()?;
    Ok(Json(Paging::listed(page, list_saved(&**site.store(), &scope(&identity), page).await?)))
}

async fn show(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<VerifiedId>,
) -> Result<Json<VerifiedAnswer>, Problem> {
    Ok(Json(find_saved(&**site.store(), &scope(&identity), id.0).await?))
}

async fn add(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(wanted): Input<VerifyRequest>,
) -> Result<(StatusCode, Json<VerifiedAnswer>), Problem> {
    let (app, scope) = (site.app(), scope(&identity));
    let data = app.data_of(&scope, wanted.task_id).await?;
    let ask = site.toolbox().question_for_caller(&site.caller(&identity), &identity.user, "", &data)?;
    let VerifyRequest { task_id, sql, paraphrases, note } = wanted;
    let new = NewVerified { sql, origin: None, paraphrases, note };
    let answer = app.verify_earlier(ask, &scope, task_id, new, "api").await?;
    Ok((StatusCode::CREATED, Json(answer)))
}

async fn remove(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<VerifiedId>,
) -> Result<StatusCode, Problem> {
    // All users see a verified answer. Only its verifier can withdraw it.
    let found: VerifiedAnswer = find_saved(&**site.store(), &scope(&identity), id.0).await?;
    if found.user_id != identity.user {
        return Err(Problem::denied(format!(
            "{} vouches for this answer: only they take it back",
            found.user_id
        )));
    }
    site.app().unverify(&scope(&identity), id, "api").await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn check(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
) -> Result<Json<Value>, Problem> {
    let caller = site.caller(&identity);
    let all: Vec<VerifiedAnswer> = list_saved(&**site.store(), &scope(&identity), Page::first(1000)).await?;
    let mut checks = Vec::new();
    for one in all {
        // Answers over data that the caller may not read are skipped.
        let Ok(ask) = site.toolbox().question_for_caller(&caller, &one.user_id, "", &one.data) else {
            continue;
        };
        checks.extend(site.app().check_verified(&ask, &[one.id], "api").await?);
    }
    Ok(Json(json!({ "checks": checks })))
}

async fn opinions(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(paging): Queried<Paging>,
) -> Result<Json<Listed<Feedback>>, Problem> {
    let page = paging.page()?;
    let whose = if identity.may(Right::Verify) { Scope::System } else { scope(&identity) };
    let found: Vec<Feedback> = list_saved(&**site.store(), &whose, page).await?;
    let listed = Paging::listed(page, found);
    let items = listed.items.into_iter().filter(|one| one.status == FeedbackStatus::Open).collect();
    Ok(Json(Listed { items, next: listed.next }))
}

async fn gaps(State(site): State<Shared>, Authenticated(_): Authenticated) -> Result<Json<Value>, Problem> {
    Ok(Json(json!({ "groups": site.app().gaps(&Scope::System).await? })))
}

async fn paraphrase(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<VerifiedId>,
    Input(wanted): Input<ParaphraseRequest>,
) -> Result<Json<VerifiedAnswer>, Problem> {
    Ok(Json(site.app().add_paraphrase(&identity.user, id, &wanted.question, "api").await?))
}

async fn rate(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(wanted): Input<FeedbackRequest>,
) -> Result<(StatusCode, Json<Feedback>), Problem> {
    let FeedbackRequest { task_id, rating, comment, sql } = wanted;
    let opinion = Opinion { task: task_id, rating, comment, corrected_sql: sql };
    let feedback = site.app().rate(&identity.user, opinion, "api").await?;
    Ok((StatusCode::CREATED, Json(feedback)))
}

async fn dismiss(
    State(site): State<Shared>,
    Authenticated(_): Authenticated,
    PathParam(id): PathParam<FeedbackId>,
) -> Result<StatusCode, Problem> {
    site.app().dismiss_feedback(&Scope::System, id, "api").await?;
    Ok(StatusCode::NO_CONTENT)
}
