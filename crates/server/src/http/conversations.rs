//! Conversations: the list, the messages and state of one, and its export as a document.

use super::extract::{Authenticated, Input, PathParam, Queried};
use super::openapi::Api;
use super::problem::Problem;
use super::stream::{self, Frame, Next, Source};
use super::{Listed, Paging, Shared, scope};
use crate::identity::Identity;
use axum::Json;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, patch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use steward_domain::{Conversation, ConversationId, ConversationStatus, Message, Role, Timestamp, Valid};
use steward_runtime::converse::{self, ConversationEndedBy, Ending, MAX_TITLE_CHARS, title_of};
use steward_store::{ConversationFilter, EntitySearch, Page};

/// A conversation in a list.
#[derive(Serialize, JsonSchema)]
struct Line {
    id: ConversationId,
    /// The given title, or the first message.
    title: String,
    application_domain: String,
    status: ConversationStatus,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct ListQuery {
    limit: Option<u32>,
    cursor: Option<String>,
    search: Option<String>,
    status: Option<Open>,
}

/// The status filter. Deleted conversations are never listed.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Open {
    Active,
    Archived,
    All,
}

/// The changes to a conversation.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConversationChange {
    /// `archived` makes it read-only; `active` accepts messages again.
    #[serde(default)]
    status: Option<NewStatus>,
    /// The title. An empty one removes the given title.
    #[serde(default)]
    #[schemars(length(max = 200))]
    title: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NewStatus {
    Active,
    Archived,
}

pub(super) fn routes(api: &mut Api) {
    api.get("/api/v1/conversations", "Your conversations, newest first")
        .paged()
        .query("search", json!({ "type": "string", "maxLength": 200 }), "Only those in which this was said.")
        .query(
            "status",
            json!({ "type": "string", "enum": ["active", "archived", "all"], "default": "active" }),
            "Which.",
        )
        .gives_page::<Line>()
        .to(get(list));
    api.get("/api/v1/conversations/{id}", "A conversation with its last 200 messages and what it is about")
        .gives_object(200, "`conversation`, `messages`, `entities`.")
        .to(get(show));
    api.get(
        "/api/v1/conversations/{id}/events",
        "New messages of a conversation as they are written, decisions over its calls included; Last-Event-ID resumes",
    )
    .gives_kind(200, "message.", "text/event-stream")
    .to(get(events));
    api.patch("/api/v1/conversations/{id}", "Rename, archive or restore a conversation")
        .takes::<ConversationChange>()
        .gives_nothing("It is changed. An archived one takes no messages until it is active again.")
        .to(patch(change));
    api.delete(
        "/api/v1/conversations/{id}",
        "Delete the messages, entities and answers of a conversation, for good",
    )
    .gives_nothing("It is gone. Its tasks stay in the journal until the retention policy takes them.")
    .to(delete(remove));
    api.get("/api/v1/conversations/{id}/export", "A conversation as a document")
        .gives_kind(200, "Markdown.", "text/markdown")
        .to(get(export));
}

/// The maximum number of conversations that a search reads.
const SEARCHED: u32 = 500;

async fn list(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(wanted): Queried<ListQuery>,
) -> Result<Json<Listed<Line>>, Problem> {
    let page = Paging { limit: wanted.limit, cursor: wanted.cursor }.page()?;
    let (scope, store) = (scope(&identity), site.store());
    let search = wanted.search.map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty());
    let status = match wanted.status.unwrap_or(Open::Active) {
        Open::Active => Some(ConversationStatus::Active),
        Open::Archived => Some(ConversationStatus::Archived),
        Open::All => None,
    };
    let filter = ConversationFilter { status, application_domain: None };
    let reach = if search.is_some() { Page::first(SEARCHED) } else { page };
    let found = store.conversations(&scope, filter, reach).await?;
    let mut lines = Vec::new();
    for conversation in found.into_iter().filter(|one| one.status != ConversationStatus::Deleted) {
        let said = store
            .history(&scope, conversation.id, Page::first(if search.is_some() { 100 } else { 1 }))
            .await?;
        let fits =
            |text: &String| said.iter().any(|message| message.content.to_lowercase().contains(text.as_str()));
        let named = |text: &String| title_of(&conversation).is_some_and(|t| t.to_lowercase().contains(text));
        if search.as_ref().is_none_or(|text| fits(text) || named(text)) {
            lines.push(line(&conversation, said.first().map(|message| &**message)));
        }
    }
    if search.is_some() {
        lines.drain(..lines.len().min(page.offset as usize));
    }
    Ok(Json(Paging::listed(page, lines)))
}

fn line(conversation: &Conversation, first: Option<&Message>) -> Line {
    let said = first.map_or("", |message| message.content.as_str());
    let title = title_of(conversation).unwrap_or(said);
    Line {
        id: conversation.id,
        title: title.chars().take(120).collect(),
        application_domain: conversation.application_domain.to_string(),
        status: conversation.status,
        created_at: conversation.created_at,
        updated_at: conversation.updated_at,
    }
}

/// A conversation of the caller. Deleted conversations return 404.
async fn own(site: &Shared, identity: &Identity, id: ConversationId) -> Result<Valid<Conversation>, Problem> {
    let found = site.store().conversation(&scope(identity), id).await?;
    found
        .filter(|found| found.status != ConversationStatus::Deleted)
        .ok_or_else(|| Problem::missing("conversation", id))
}

/// A message as the page shows it, with its attached files.
fn message(site: &Shared, identity: &Identity, message: &Message) -> Value {
    let of = |name: &str| message.metadata.get(name).cloned().unwrap_or_default();
    json!({
        "id": message.id, "role": message.role, "content": message.content, "sequence_number": message.sequence_number,
        "timestamp": message.timestamp, "task_id": of("request_id"), "outcome": of("outcome"),
        "files": site.attached(identity, &of("attached")),
    })
}

async fn show(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<ConversationId>,
) -> Result<Json<Value>, Problem> {
    let conversation = own(&site, &identity, id).await?;
    let scope = scope(&identity);
    // Decisions taken meanwhile are added to the conversation before it is shown.
    if conversation.status == ConversationStatus::Active {
        site.chat.report_decisions(&identity.user, id).await?;
    }
    let messages = site.store().window(&scope, id, 200).await?;
    let entities = site.store().entities(&scope, id, EntitySearch::Recent, 50).await?;
    let first = messages.first().map(|message| &**message);
    Ok(Json(json!({
        "conversation": line(&conversation, first),
        "messages": messages.iter().map(|one| message(&site, &identity, one)).collect::<Vec<_>>(),
        "entities": entities,
    })))
}

async fn events(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<ConversationId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    own(&site, &identity, id).await?;
    let last = match stream::last_event(&headers) {
        0 => site
            .store()
            .window(&scope(&identity), id, 1)
            .await?
            .last()
            .map_or(0, |last| last.sequence_number.get()),
        known => known,
    };
    Ok(stream::respond(&site, MessageSource { site: site.clone(), identity, id, last }))
}

/// Reads new messages of a conversation from the store, whichever process wrote them.
struct MessageSource {
    site: Shared,
    identity: Identity,
    id: ConversationId,
    /// The sequence number of the last message that was sent.
    last: u64,
}

/// The interval at which the store is polled for new messages.
const LOOK: Duration = Duration::from_secs(1);

impl MessageSource {
    async fn look(&mut self) -> Option<Vec<Frame>> {
        // A user who is disabled meanwhile gets nothing more.
        self.site.toolbox().callers().now(&self.identity.user).ok()?;
        let conversation = own(&self.site, &self.identity, self.id).await.ok()?;
        if conversation.status == ConversationStatus::Active {
            self.site.chat.report_decisions(&self.identity.user, self.id).await.ok()?;
        }
        let messages = self.site.store().window(&scope(&self.identity), self.id, 50).await.ok()?;
        let last = self.last;
        let new = messages.iter().filter(|message| message.sequence_number.get() > last);
        let frames: Vec<Frame> = new
            .map(|one| {
                let shown = message(&self.site, &self.identity, one);
                Frame::new(one.sequence_number.get(), "message", &shown)
            })
            .collect();
        self.last = frames.last().and_then(|frame| frame.id).unwrap_or(last);
        Some(frames)
    }
}

impl Source for MessageSource {
    fn next(&mut self) -> Next<'_> {
        Box::pin(async move {
            loop {
                let frames = self.look().await?;
                if !frames.is_empty() {
                    return Some(frames);
                }
                tokio::time::sleep(LOOK).await;
            }
        })
    }
}

async fn end(
    site: &Shared,
    identity: &Identity,
    id: ConversationId,
    ending: Ending,
) -> Result<StatusCode, Problem> {
    let by = ConversationEndedBy { user: &identity.user, door: "server", at: site.now() };
    converse::end(&**site.store(), &site.app().artifacts, &scope(identity), id, ending, by).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn change(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<ConversationId>,
    Input(ConversationChange { status, title }): Input<ConversationChange>,
) -> Result<StatusCode, Problem> {
    if status.is_none() && title.is_none() {
        return Err(Problem::input("say what changes: `title`, `status` or both"));
    }
    if title.as_ref().is_some_and(|title| title.chars().count() > MAX_TITLE_CHARS) {
        return Err(Problem::input(format!("title: at most {MAX_TITLE_CHARS} characters")));
    }
    let scope = scope(&identity);
    let by = ConversationEndedBy { user: &identity.user, door: "server", at: site.now() };
    if let Some(title) = title {
        converse::rename(&**site.store(), &scope, id, &title, by).await?;
    }
    match status {
        Some(NewStatus::Active) => converse::restore(&**site.store(), &scope, id, by).await?,
        Some(NewStatus::Archived) => drop(end(&site, &identity, id, Ending::Archived).await?),
        None => {}
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn remove(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<ConversationId>,
) -> Result<StatusCode, Problem> {
    end(&site, &identity, id, Ending::Deleted).await
}

async fn export(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<ConversationId>,
) -> Result<Response, Problem> {
    let conversation = own(&site, &identity, id).await?;
    let messages = site.store().window(&scope(&identity), id, 1000).await?;
    let mut text = format!("# Conversation of {}\n\n`{id}`\n", conversation.created_at);
    for message in &messages {
        let who = if message.role == Role::User { "**You**" } else { "**Steward**" };
        let sources = message.metadata.get("sources").and_then(Value::as_array);
        text.push_str(&format!("\n{who} · {}\n\n{}\n", message.timestamp, message.content));
        if let Some(sources) = sources.filter(|sources| !sources.is_empty()) {
            let names: Vec<&str> = sources.iter().filter_map(Value::as_str).collect();
            text.push_str(&format!("\n_Sources: {}_\n", names.join(", ")));
        }
    }
    let disposition = format!("attachment; filename=\"conversation-{id}.md\"");
    let headers =
        [(CONTENT_TYPE, "text/markdown; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, disposition)];
    Ok((headers, text).into_response())
}
