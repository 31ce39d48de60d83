//! `steward board`: pinned answers, side by side, run again for each viewer.

use super::{Context, ask};
use crate::error::Failure;
use crate::output::{Tone, document, frame, paint, say, short, table};
use clap::{Args, Subcommand, ValueEnum};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use steward_analysis::chart::terminal;
use steward_domain::{
    Board, BoardFilter, BoardId, BoardLinkId, Label, TaskId, TileContent, TileId, TileView, TileWidth, UserId,
};
use steward_journal::random::SystemRandom;
use steward_runtime::ask::{AppContext, Ask};
use steward_runtime::board::{
    BoardChoice, BoardFormat, BoardView, NewTile, TileEdit, TileStatus, board_file,
};
use steward_runtime::list_saved;
use steward_server::identity::Secret;
use steward_store::Page;

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward board new Sales
  steward board pin Sales \"total amount by state\" --data sales.csv
  steward board pin Sales --from TASK           an answer that you have
  steward board filter Sales state Arizona      every tile, by the column they share
  steward board show Sales
  steward board export Sales --out sales.html")]
pub(crate) enum BoardCommand {
    /// Create an empty board.
    New {
        /// The name of the board.
        name: String,
    },
    /// List your boards and shared ones, newest first.
    List,
    /// Run the tiles of a board and show them.
    Show {
        /// Its name or id.
        id: String,
        #[command(flatten)]
        look: LookArgs,
    },
    /// Pin the answer to a question, or an earlier answer.
    Pin(Pin),
    /// Add a text tile to a board.
    Text {
        /// Its name or id.
        id: String,
        /// The text: paragraphs and lists, with **bold** and `code`.
        text: String,
        #[command(flatten)]
        form: Form,
    },
    /// Change a tile: its title, display, question, SQL or text.
    Edit(Edit),
    /// Remove a tile from a board.
    Unpin {
        /// The name or id of the board.
        id: String,
        /// The title or id of the tile.
        tile: String,
    },
    /// Filter all tiles by a column; without values, viewers choose.
    Filter(Filter),
    /// Share a board with all users of this Steward; each sees it with their own grants.
    Share {
        /// Its name or id.
        id: String,
        /// Stop sharing it.
        #[arg(long)]
        stop: bool,
    },
    /// Set how many seconds results are served from the cache.
    Fresh {
        /// Its name or id.
        id: String,
        /// Seconds; 0 disables the cache.
        seconds: u32,
    },
    /// Write a board with its rows to one file that works offline: HTML, PDF or PNG.
    Export {
        /// Its name or id.
        id: String,
        /// The output file. Its ending is the format: .html, .pdf or .png.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        #[command(flatten)]
        look: LookArgs,
    },
    /// Create a link that shows a board without a sign-in until it expires.
    Link {
        /// Its name or id.
        id: String,
        /// Hours until it expires.
        #[arg(long, default_value_t = 168)]
        hours: u32,
        /// The user whose grants are used to read it; you by default.
        #[arg(long, value_name = "USER")]
        viewer: Option<UserId>,
        /// A fixed filter, as COLUMN=VALUE; repeat it for several.
        #[arg(long, value_name = "COLUMN=VALUE")]
        filter: Vec<String>,
        /// The public address of `steward serve`.
        #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8088")]
        server: String,
    },
    /// Revoke a link before it expires.
    Unlink {
        /// The name or id of the board.
        id: String,
        /// The link.
        link: BoardLinkId,
    },
    /// Remove a board.
    Remove {
        /// Its name or id.
        id: String,
    },
}

#[derive(Args)]
pub(crate) struct LookArgs {
    /// Overrides the board's filter on this column, as COLUMN=VALUE or COLUMN=FROM..UNTIL; repeat
    /// it for several.
    #[arg(long, value_name = "COLUMN=VALUE")]
    filter: Vec<String>,
}

#[derive(Args)]
pub(crate) struct Form {
    /// The title.
    #[arg(long)]
    title: Option<String>,
    /// How its rows are shown.
    #[arg(long, value_enum)]
    view: Option<ViewChoice>,
    /// The share of the row it takes.
    #[arg(long, value_enum)]
    width: Option<WidthChoice>,
}

#[derive(Args)]
pub(crate) struct Pin {
    /// The name or id of the board.
    id: String,
    /// The question, or one SELECT statement.
    #[arg(required_unless_present = "from")]
    question: Option<String>,
    /// A file, a folder, a pattern or a database address; repeat it for several.
    #[arg(long, short, value_name = "SOURCE")]
    data: Vec<String>,
    /// The SELECT statement that answers it; derived from the question by default.
    #[arg(long)]
    sql: Option<String>,
    /// The task of an earlier answer.
    #[arg(long, value_name = "TASK", conflicts_with = "question")]
    from: Option<TaskId>,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
pub(crate) struct Edit {
    /// The name or id of the board.
    id: String,
    /// The title or id of the tile.
    tile: String,
    /// Another question over the same data.
    #[arg(long)]
    question: Option<String>,
    /// A new SELECT statement.
    #[arg(long)]
    sql: Option<String>,
    /// A new text for a text tile.
    #[arg(long)]
    text: Option<String>,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
pub(crate) struct Filter {
    /// The name or id of the board.
    id: String,
    /// The column, or TABLE.COLUMN.
    column: String,
    /// The values that are shown; all of them by default, until a viewer chooses.
    values: Vec<String>,
    /// The first day or number that is shown.
    #[arg(long)]
    from: Option<String>,
    /// The last day or number that is shown.
    #[arg(long)]
    until: Option<String>,
    /// Remove the filter.
    #[arg(long)]
    remove: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum ViewChoice {
    /// A number, a chart or a table, depending on the rows.
    Auto,
    /// A chart.
    Chart,
    /// A table.
    Table,
    /// The first number.
    Number,
}

#[derive(Clone, Copy, ValueEnum)]
enum WidthChoice {
    /// A third of the row.
    Small,
    /// Half of the row.
    Medium,
    /// The whole row.
    Wide,
}

impl Form {
    fn tile(self, sql: Option<String>, origin: Option<TaskId>) -> NewTile {
        let view = self.view.map(|view| match view {
            ViewChoice::Auto => TileView::Auto,
            ViewChoice::Chart => TileView::Chart,
            ViewChoice::Table => TileView::Table,
            ViewChoice::Number => TileView::Number,
        });
        let width = self.width.map(|width| match width {
            WidthChoice::Small => TileWidth::Small,
            WidthChoice::Medium => TileWidth::Medium,
            WidthChoice::Wide => TileWidth::Wide,
        });
        NewTile { title: self.title, view, width, sql, origin }
    }
}

pub(super) async fn run(context: &Context, command: BoardCommand) -> Result<(), Failure> {
    let opened = context.open().await?;
    let app = super::app(context, &opened)?;
    let user = &context.settings.user;
    match command {
        BoardCommand::New { name } => {
            let board = app.add_board(user, Label::new(name)?, "cli").await?;
            told(context, &board, &format!("made {}", board.id));
        }
        BoardCommand::List => list(context, &app).await?,
        BoardCommand::Show { id, look } => {
            let view = look_at(context, &app, &id, &look.filter).await?;
            if context.json { document(&view) } else { shown(&view) }
        }
        BoardCommand::Pin(pin) => {
            let (question, data) = match pin.from {
                Some(task) => app.earlier_question(&context.scope, task).await?,
                None => (pin.question.unwrap_or_default(), Vec::new()),
            };
            let data =
                if pin.data.is_empty() { data } else { pin.data.iter().map(|named| whole(named)).collect() };
            let asked = Ask { question, data, ..ask::plain(context) };
            let (board, tile) = app
                .pin(&asked, named(context, &app, &pin.id).await?.id, pin.form.tile(pin.sql, pin.from), "cli")
                .await?;
            told(context, &board, &format!("pinned {tile}"));
        }
        BoardCommand::Text { id, text, form } => {
            let id = named(context, &app, &id).await?.id;
            let (board, tile) = app.add_text(user, id, text, form.tile(None, None), "cli").await?;
            told(context, &board, &format!("pinned {tile}"));
        }
        BoardCommand::Edit(edit) => {
            let change =
                TileEdit { question: edit.question, text: edit.text, new: edit.form.tile(edit.sql, None) };
            let board = named(context, &app, &edit.id).await?;
            let tile = tile_named(&board, &edit.tile)?;
            let board = app.edit_tile(&ask::plain(context), board.id, tile, change, "cli").await?;
            told(context, &board, &format!("changed {tile}"));
        }
        BoardCommand::Unpin { id, tile } => {
            let board = named(context, &app, &id).await?;
            let tile = tile_named(&board, &tile)?;
            let board = app.unpin(user, board.id, tile, "cli").await?;
            told(context, &board, &format!("took off {tile}"));
        }
        BoardCommand::Filter(filter) => {
            let said = if filter.remove { "took off the filter" } else { "filtered by" };
            let said = format!("{said} {}", filter.column);
            let id = named(context, &app, &filter.id).await?.id;
            let put = |board: &mut Board| {
                board.filters.retain(|known| !known.column.eq_ignore_ascii_case(&filter.column));
                if !filter.remove {
                    let Filter { column, values, from, until, .. } = filter;
                    board.filters.push(BoardFilter { column, values, from, until });
                }
                Ok(())
            };
            let board = app.change_board(user, id, "filtered", "cli", put).await?;
            told(context, &board, &said);
        }
        BoardCommand::Share { id, stop } => {
            let put = |board: &mut Board| {
                board.is_shared = !stop;
                Ok(())
            };
            let board =
                app.change_board(user, named(context, &app, &id).await?.id, "shared", "cli", put).await?;
            told(context, &board, if stop { "no longer shared" } else { "shared" });
        }
        BoardCommand::Fresh { id, seconds } => {
            let put = |board: &mut Board| {
                board.fresh_seconds = seconds;
                Ok(())
            };
            let board =
                app.change_board(user, named(context, &app, &id).await?.id, "changed", "cli", put).await?;
            told(context, &board, &format!("results are shown again for {seconds} s"));
        }
        BoardCommand::Export { id, out, look } => {
            let ending = out.extension().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
            let format = BoardFormat::of_ending(ending).ok_or_else(|| {
                let why = format!("{}: name a file that ends with .html, .pdf or .png", out.display());
                Failure::user("RUN034", why)
            })?;
            let view = look_at(context, &app, &id, &look.filter).await?;
            let unwritten =
                |error: std::io::Error| Failure::user("RUN034", format!("{}: {error}", out.display()));
            std::fs::write(&out, board_file(&view, user.as_str(), format)?).map_err(unwritten)?;
            say(format!("wrote {}", out.display()));
        }
        BoardCommand::Link { id, hours, viewer, filter, server } => {
            let viewer = viewer.unwrap_or_else(|| user.clone());
            let filters = filters(&filter)?;
            let id = named(context, &app, &id).await?.id;
            let link = app.add_link(user, id, &viewer, hours, filters, "cli").await?;
            let secret = Secret::open(&context.home.path, &SystemRandom)?;
            let token = secret.link_token(id.0, link.id.0, link.expires_at);
            let address = format!("{}/embed/{token}", server.trim_end_matches('/'));
            if context.json {
                document(&serde_json::json!({ "link": link, "address": address }));
            } else {
                say(format!("link {} as seen by {viewer}, until {}", link.id, link.expires_at));
                say(address);
            }
        }
        BoardCommand::Unlink { id, link } => {
            app.remove_link(user, named(context, &app, &id).await?.id, link, "cli").await?;
            say(format!("ended {link}"));
        }
        BoardCommand::Remove { id } => {
            let id = named(context, &app, &id).await?.id;
            app.remove_board(user, id, "cli").await?;
            say(format!("removed {id}"));
        }
    }
    Ok(())
}

/// Finds a board by its id, or by its name if that is unique.
async fn named(context: &Context, app: &AppContext, text: &str) -> Result<Board, Failure> {
    let user = &context.settings.user;
    if let Ok(id) = text.parse::<BoardId>() {
        return Ok(app.board(user, id).await?);
    }
    let scope = steward_store::Scope::User(user.clone());
    let all: Vec<Board> = list_saved(&*app.store, &scope, Page::first(1000)).await?;
    let mut found = all.into_iter().filter(|board| board.name.eq_ignore_ascii_case(text.trim()));
    match (found.next(), found.next()) {
        (Some(board), None) => Ok(app.board(user, board.id).await?),
        (None, _) => Err(Failure::user(
            "RUN034",
            format!("there is no board {text:?}. `steward board list` shows what there is"),
        )),
        (Some(_), Some(_)) => {
            Err(Failure::user("RUN034", format!("several boards are called {text:?}: name one by its id")))
        }
    }
}

/// Finds a tile by its id, or by its title if that is unique.
fn tile_named(board: &Board, text: &str) -> Result<TileId, Failure> {
    let id = text.parse::<TileId>().ok();
    let same = |tile: &&steward_domain::Tile| {
        Some(tile.id) == id || tile.title.trim().eq_ignore_ascii_case(text.trim())
    };
    let found: Vec<TileId> = board.tiles.iter().filter(same).map(|tile| tile.id).collect();
    match found.as_slice() {
        [tile] => Ok(*tile),
        _ => Err(Failure::user(
            "RUN034",
            format!("{} tiles of {} are called {text:?}: name one by its id", found.len(), board.name),
        )),
    }
}

async fn list(context: &Context, app: &AppContext) -> Result<(), Failure> {
    let found: Vec<Board> = list_saved(&*app.store, &context.scope, Page::first(1000)).await?;
    if context.json {
        document(&found);
        return Ok(());
    }
    let row = |board: &Board| {
        let shared = if board.is_shared { "shared" } else { "" };
        let tiles = board.tiles.len().to_string();
        let (id, name) = (board.id.to_string(), short(board.name.as_str(), 50));
        vec![id, name, tiles, board.user_id.to_string(), shared.to_owned(), board.updated_at.day()]
    };
    let head = ["board", "name", "tiles", "of", "", "changed"];
    table(&head, found.iter().map(row).collect(), "no boards yet: `steward board new NAME`");
    Ok(())
}

/// A board with its rows, read with the limits of the settings.
async fn look_at(
    context: &Context,
    app: &AppContext,
    board: &str,
    chosen: &[String],
) -> Result<BoardView, Failure> {
    let user = &context.settings.user;
    let board = named(context, app, board).await?;
    let choice = BoardChoice { filters: filters(chosen)?, ..BoardChoice::default() };
    let plain = ask::plain(context);
    let grants = |data: &[String]| Ok(Ask { data: data.to_vec(), ..plain.clone() });
    Ok(app.view_board(&board, user, &choice, &grants, None).await?)
}

/// Parses filters of the command line. Several of one column are combined.
fn filters(written: &[String]) -> Result<Vec<BoardFilter>, Failure> {
    let mut filters: Vec<BoardFilter> = Vec::new();
    for text in written {
        let unread =
            || Failure::user("RUN034", format!("{text:?}: write COLUMN=VALUE or COLUMN=FROM..UNTIL"));
        let (column, value) = text.split_once('=').ok_or_else(unread)?;
        let known = filters.iter().position(|filter| filter.column.eq_ignore_ascii_case(column));
        let place = known.unwrap_or(filters.len());
        if known.is_none() {
            let column = column.trim().to_owned();
            filters.push(BoardFilter { column, values: Vec::new(), from: None, until: None });
        }
        let Some(filter) = filters.get_mut(place) else { continue };
        let end = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        match value.split_once("..") {
            Some((from, until)) => (filter.from, filter.until) = (end(from), end(until)),
            None if value.is_empty() => {}
            None => filter.values.push(value.to_owned()),
        }
    }
    Ok(filters)
}

/// An absolute source, which can be opened from any working directory.
fn whole(named: &str) -> String {
    let path = Path::new(named);
    if named.contains("://") || path.is_absolute() {
        return named.to_owned();
    }
    std::path::absolute(path).map_or_else(|_| named.to_owned(), |path| path.display().to_string())
}

fn told(context: &Context, board: &Board, what: &str) {
    if context.json {
        return document(board);
    }
    say(what);
}

fn shown(view: &BoardView) {
    say(paint(Tone::Strong, view.board.name.as_str()));
    say(paint(Tone::Quiet, &format!("as of {}, board {}", view.as_of, view.board.id)));
    for filter in view.filters.iter().filter(|one| one.filter.is_set()) {
        let BoardFilter { column, values, from, until } = &filter.filter;
        let range = [from, until].map(|end| end.clone().unwrap_or_default()).join("..");
        let range = if range == ".." { String::new() } else { range };
        say(format!("{column}: {}{range}", values.join(", ")));
    }
    for tile in &view.tiles {
        say("");
        say(format!("{}  {}", paint(Tone::Strong, &tile.title), paint(Tone::Quiet, &tile.id.to_string())));
        match (&tile.text, tile.status, &tile.number, &tile.frame) {
            (Some(text), ..) => say(text),
            (_, TileStatus::Refused | TileStatus::Failed, ..) => {
                let code = tile.error_code.as_deref().unwrap_or_default();
                say(paint(Tone::Bad, &format!("{code} {}", tile.error.as_deref().unwrap_or_default())));
            }
            (_, _, Some(number), _) => say(number),
            (_, _, _, Some(rows)) => {
                let colour = std::io::stdout().is_terminal();
                let drawn = tile.drawing.as_ref().and_then(|(spec, _)| terminal(spec, rows, 100, colour));
                match drawn {
                    Some(picture) => say(picture),
                    None => frame(rows, 20),
                }
            }
            _ => {}
        }
        if !tile.not_filtered_by.is_empty() {
            say(paint(Tone::Warn, &format!("not filtered by {}", tile.not_filtered_by.join(", "))));
        }
    }
    if view.board.tiles.iter().all(|tile| matches!(tile.content, TileContent::Text(_))) {
        say(paint(Tone::Quiet, "no answers yet: `steward board pin BOARD QUESTION --data SOURCE`"));
    }
}
