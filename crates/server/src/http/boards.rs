//! Boards: pinned answers, read with the grants of the viewer.
//!
//! Invariant: a link shows what its viewer may see at the time it is opened. Its signature, its
//! expiry and its record on the board are all checked.

use super::extract::{Authenticated, Input, PathParam, Queried};
use super::openapi::Api;
use super::problem::Problem;
use super::{Listed, Paging, Shared, scope};
use crate::identity::{Identity, Right};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, patch, post};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use steward_domain::{
    Board, BoardFilter, BoardId, BoardLinkId, Label, TaskId, TileContent, TileId, TileView, TileWidth, UserId,
};
use steward_runtime::ask::Ask;
use steward_runtime::board::{
    BoardChoice, BoardFormat, BoardView, NewTile, TileEdit, board_file, board_page,
};
use steward_runtime::list_saved;

/// A board to create.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BoardRequest {
    /// The name of the board.
    name: Label,
}

/// The changes to a board.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BoardChange {
    /// The name of the board.
    #[serde(default)]
    name: Option<Label>,
    /// Whether all users see it.
    #[serde(default)]
    is_shared: Option<bool>,
    /// How many seconds a result is cached; 0 reads the data each time.
    #[serde(default)]
    #[schemars(range(max = 86_400))]
    fresh_seconds: Option<u32>,
    /// The filters of all tiles.
    #[serde(default)]
    filters: Option<Vec<BoardFilter>>,
    /// The new order of the tiles. Tiles that are not named follow.
    #[serde(default)]
    order: Option<Vec<TileId>>,
}

/// A tile to pin: one of your answers, or text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TileRequest {
    /// The task of one of your answers.
    #[serde(default)]
    task_id: Option<TaskId>,
    /// Text instead of an answer.
    #[serde(default)]
    #[schemars(length(max = 20_000))]
    text: Option<String>,
    /// Another question on the same data.
    #[serde(default)]
    #[schemars(length(max = 10_000))]
    question: Option<String>,
    /// SQL to run instead of the original statement.
    #[serde(default)]
    #[schemars(length(max = 100_000))]
    sql: Option<String>,
    /// The title of the tile.
    #[serde(default)]
    #[schemars(length(max = 200))]
    title: Option<String>,
    /// The visualization of the rows.
    #[serde(default)]
    view: Option<TileView>,
    /// The width of the tile.
    #[serde(default)]
    width: Option<TileWidth>,
}

/// A link to create.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LinkRequest {
    /// The lifetime in hours.
    #[schemars(range(min = 1, max = 2160))]
    hours: u32,
    /// The user whose grants are used to read the board. The default is you.
    #[serde(default)]
    viewer: Option<UserId>,
    /// Filters that a viewer cannot remove.
    #[serde(default)]
    filters: Vec<BoardFilter>,
}

/// The query parameters for viewing a board.
#[derive(Debug, Deserialize)]
struct Look {
    filters: Option<String>,
    #[serde(default)]
    refresh: bool,
    #[serde(default)]
    format: BoardFormat,
}

impl Look {
    fn choice(&self) -> Result<BoardChoice, Problem> {
        let filters: Vec<BoardFilter> = match self.filters.as_deref().filter(|text| !text.is_empty()) {
            None => Vec::new(),
            Some(text) => serde_json::from_str(text)
                .map_err(|error| Problem::input(format!("filters is no JSON list of filters: {error}")))?,
        };
        let many = filters.len() > steward_domain::MOST_FILTERS
            || filters.iter().any(|filter| filter.values.len() > steward_domain::MOST_FILTER_VALUES);
        if many {
            return Err(Problem::input("at most 12 filters with 200 values each"));
        }
        Ok(BoardChoice { filters, locked: Vec::new(), refresh: self.refresh })
    }
}

pub(super) fn routes(api: &mut Api) {
    let filters = json!({ "type": "string", "maxLength": 4_000 });
    let refresh = json!({ "type": "boolean" });
    api.get("/api/v1/boards", "Your boards and those that are shared, newest first")
        .paged()
        .gives_page::<Board>()
        .to(get(list));
    api.post("/api/v1/boards", "Make a board")
        .takes::<BoardRequest>()
        .gives::<Board>(201, "It is empty.")
        .to(post(add));
    api.get("/api/v1/boards/{id}", "A board: its tiles and filters, without rows")
        .gives::<Board>(200, "As it is kept.")
        .to(get(show));
    api.patch("/api/v1/boards/{id}", "Change a board of yours")
        .takes::<BoardChange>()
        .gives::<Board>(200, "As it is now.")
        .to(patch(change));
    api.delete("/api/v1/boards/{id}", "Remove a board of yours")
        .gives_nothing("It is gone, and its links with it.")
        .to(delete(remove));
    api.get("/api/v1/boards/{id}/view", "A board with its rows, read with your grants")
        .query("filters", filters.clone(), "A JSON list of filters in place of the board's.")
        .query("refresh", refresh.clone(), "Read anew.")
        .gives_object(200, "`board`, `as_of`, `fresh_until`, `cached`, `filters`, `tiles`.")
        .to(get(view));
    api.get("/api/v1/boards/{id}/export", "A board with its rows as one file that works offline")
        .query("filters", filters, "A JSON list of filters in place of the board's.")
        .query("refresh", refresh, "Read anew.")
        .query("format", json!({ "enum": ["html", "pdf", "png"] }), "The format; `html` by default.")
        .gives_kinds(200, "The file.", &["text/html", "application/pdf", "image/png"])
        .to(get(export));
    api.post("/api/v1/boards/{id}/tiles", "Pin one of your answers, or words")
        .takes::<TileRequest>()
        .gives::<Board>(201, "With the tile.")
        .to(post(pin));
    api.patch("/api/v1/boards/{id}/tiles/{tile}", "Change a tile: its title, view, question, SQL or words")
        .takes::<TileRequest>()
        .gives::<Board>(200, "As it is now.")
        .to(patch(edit));
    api.delete("/api/v1/boards/{id}/tiles/{tile}", "Take a tile off a board")
        .gives::<Board>(200, "Without it.")
        .to(delete(unpin));
    api.post(
        "/api/v1/boards/{id}/links",
        "Make a link that shows a board without a sign-in until it expires",
    )
    .needs(Right::Admin)
    .takes::<LinkRequest>()
    .gives_object(201, "`link` and its `address`, which is shown once.")
    .to(post(add_link));
    api.delete("/api/v1/boards/{id}/links/{link}", "End a link before its time")
        .gives_nothing("It shows nothing any more.")
        .to(delete(remove_link));
    api.get("/embed/{token}", "A board by a signed link, as its viewer sees it")
        .open()
        .gives_kind(200, "The page.", "text/html")
        .to(get(embed));
}

/// Removes the paths of data files from a board. They are internal to the server.
fn without_paths(mut board: Board) -> Board {
    for tile in &mut board.tiles {
        if let TileContent::Answer { data, .. } = &mut tile.content {
            for named in data.iter_mut().filter(|named| !named.contains("://")) {
                *named = named.rsplit('/').next().unwrap_or_default().to_owned();
            }
        }
    }
    board
}

async fn list(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(paging): Queried<Paging>,
) -> Result<Json<Listed<Board>>, Problem> {
    let page = paging.page()?;
    let mut found: Vec<Board> = list_saved(&**site.store(), &scope(&identity), page).await?;
    found.iter_mut().filter(|board| board.user_id != identity.user).for_each(|board| board.links.clear());
    Ok(Json(Paging::listed(page, found.into_iter().map(without_paths).collect())))
}

async fn add(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(wanted): Input<BoardRequest>,
) -> Result<(StatusCode, Json<Board>), Problem> {
    let board = site.app().add_board(&identity.user, wanted.name, "api").await?;
    Ok((StatusCode::CREATED, Json(without_paths(board))))
}

async fn show(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<BoardId>,
) -> Result<Json<Board>, Problem> {
    Ok(Json(without_paths(site.app().board(&identity.user, id).await?)))
}

async fn change(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<BoardId>,
    Input(wanted): Input<BoardChange>,
) -> Result<Json<Board>, Problem> {
    let put = |board: &mut Board| {
        board.name = wanted.name.unwrap_or_else(|| board.name.clone());
        board.is_shared = wanted.is_shared.unwrap_or(board.is_shared);
        board.fresh_seconds = wanted.fresh_seconds.unwrap_or(board.fresh_seconds);
        board.filters = wanted.filters.unwrap_or_else(|| board.filters.clone());
        if let Some(order) = wanted.order {
            let place = |id: &TileId| order.iter().position(|known| known == id).unwrap_or(usize::MAX);
            board.tiles.sort_by_key(|tile| place(&tile.id));
        }
        Ok(())
    };
    let board = site.app().change_board(&identity.user, id, "changed", "api", put).await?;
    Ok(Json(without_paths(board)))
}

async fn remove(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<BoardId>,
) -> Result<StatusCode, Problem> {
    site.app().remove_board(&identity.user, id, "api").await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn look(site: &Shared, identity: &Identity, id: BoardId, look: &Look) -> Result<BoardView, Problem> {
    let board = site.app().board(&identity.user, id).await?;
    let caller = site.caller(identity);
    let (toolbox, owner) = (site.toolbox(), board.user_id.clone());
    let grants = move |data: &[String]| toolbox.question_for_caller(&caller, &owner, "", data);
    let choice = look.choice()?;
    let seen = site.app().view_board(&board, &identity.user, &choice, &grants, Some(&site.boards)).await?;
    Ok(BoardView { board: without_paths(seen.board.clone()), ..seen })
}

async fn view(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<BoardId>,
    Queried(wanted): Queried<Look>,
) -> Result<Json<BoardView>, Problem> {
    Ok(Json(look(&site, &identity, id, &wanted).await?))
}

async fn export(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<BoardId>,
    Queried(wanted): Queried<Look>,
) -> Result<Response, Problem> {
    let view = look(&site, &identity, id, &wanted).await?;
    let user = identity.user.clone();
    let name: String =
        view.board.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let format = wanted.format;
    // Pictures take a while to draw.
    let drawn = tokio::task::spawn_blocking(move || board_file(&view, user.as_str(), format)).await;
    let failed =
        |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "RUN034", "the board could not be drawn");
    let file = drawn.map_err(failed)??;
    let headers = [
        (CONTENT_TYPE, format.media_type().to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}.{}\"", format.ending())),
        (CONTENT_SECURITY_POLICY, DOCUMENT_POLICY.to_owned()),
    ];
    Ok((headers, file).into_response())
}

/// The content security policy of a static document.
const DOCUMENT_POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'";

/// Converts the request to a tile of the runtime.
fn new_tile(wanted: &TileRequest) -> NewTile {
    NewTile {
        title: wanted.title.clone(),
        view: wanted.view,
        width: wanted.width,
        sql: wanted.sql.clone(),
        origin: wanted.task_id,
    }
}

async fn pin(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<BoardId>,
    Input(wanted): Input<TileRequest>,
) -> Result<(StatusCode, Json<Board>), Problem> {
    let (app, mut new) = (site.app(), new_tile(&wanted));
    let board = match (wanted.task_id, wanted.text) {
        (Some(task), None) => {
            // The scope allows only the caller's tasks; `pin` checks the board's owner.
            let (question, data) = app.earlier_question(&scope(&identity), task).await?;
            if wanted.question.is_some() {
                new.origin = None;
            }
            let question = wanted.question.unwrap_or(question);
            let caller = site.caller(&identity);
            let ask = site.toolbox().question_for_caller(&caller, &identity.user, &question, &data)?;
            app.pin(&ask, id, new, "api").await?.0
        }
        (None, Some(text)) => app.add_text(&identity.user, id, text, new, "api").await?.0,
        _ => return Err(Problem::input("give task_id or text, one of both")),
    };
    Ok((StatusCode::CREATED, Json(without_paths(board))))
}

async fn edit(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam((id, tile)): PathParam<(BoardId, TileId)>,
    Input(wanted): Input<TileRequest>,
) -> Result<Json<Board>, Problem> {
    if wanted.task_id.is_some() {
        return Err(Problem::input("task_id: a tile keeps its data. Pin the other answer as a new tile"));
    }
    let board = site.app().board(&identity.user, id).await?;
    let known =
        board.tiles.iter().find(|one| one.id == tile).ok_or_else(|| Problem::missing("tile", tile))?;
    let data = match &known.content {
        TileContent::Answer { data, .. } => data.as_slice(),
        TileContent::Text(_) => &[],
    };
    let ask: Ask = site.toolbox().question_for_caller(&site.caller(&identity), &board.user_id, "", data)?;
    let edit = TileEdit { new: new_tile(&wanted), question: wanted.question, text: wanted.text };
    Ok(Json(without_paths(site.app().edit_tile(&ask, id, tile, edit, "api").await?)))
}

async fn unpin(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam((id, tile)): PathParam<(BoardId, TileId)>,
) -> Result<Json<Board>, Problem> {
    Ok(Json(without_paths(site.app().unpin(&identity.user, id, tile, "api").await?)))
}

async fn add_link(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<BoardId>,
    Input(wanted): Input<LinkRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let viewer = wanted.viewer.unwrap_or_else(|| identity.user.clone());
    // A viewer without access would see nothing.
    site.toolbox().callers().now(&viewer)?;
    // A link shows what its viewer may see. Only an owner links a board as an owner.
    super::admin::require_owner_for_owner(&site, &identity, &viewer)?;
    let app = site.app();
    let link = app.add_link(&identity.user, id, &viewer, wanted.hours, wanted.filters, "api").await?;
    let token = site.directory.secret().link_token(id.0, link.id.0, link.expires_at);
    Ok((StatusCode::CREATED, Json(json!({ "link": link, "address": format!("/embed/{token}") }))))
}

async fn remove_link(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam((id, link)): PathParam<(BoardId, BoardLinkId)>,
) -> Result<StatusCode, Problem> {
    site.app().remove_link(&identity.user, id, link, "api").await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn embed(State(site): State<Shared>, PathParam(token): PathParam<String>) -> Result<Response, Problem> {
    // Invalid, expired and revoked links return the same 404.
    let missing = || Problem::missing("board", "under this link, or its time is over");
    let (board, link) = site.directory.secret().open_link(&token, site.now()).ok_or_else(missing)?;
    let found = site.app().linked_board(BoardId(board), BoardLinkId(link)).await;
    let (board, link) = found.map_err(|_| missing())?;
    let (toolbox, viewer, owner) = (site.toolbox(), link.viewer.clone(), board.user_id.clone());
    toolbox.callers().now(&viewer).map_err(|_| missing())?;
    let grants = |data: &[String]| toolbox.ask_as(&viewer, &owner, data);
    let choice = BoardChoice { locked: link.filters, ..BoardChoice::default() };
    let view = site.app().view_board(&board, &viewer, &choice, &grants, Some(&site.boards)).await?;
    let page = board_page(&view, viewer.as_str());
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        // Other sites may embed the page: it has no script, no form and no cookie.
        (CONTENT_SECURITY_POLICY, format!("{DOCUMENT_POLICY}; frame-ancestors *")),
        (HeaderName::from_static("x-frame-options"), "ALLOWALL".to_owned()),
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin".to_owned()),
    ];
    Ok((headers, page).into_response())
}
