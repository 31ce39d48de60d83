//! Boards: pinned answers. A tile is a statement that runs with the grants of its viewer.
//!
//! Invariants
//! - A board holds no rows. Every tile runs through admission with the viewer's current grants, so
//!   a shared board shows each viewer only what they may read.
//! - Only its owner changes a board. Each change is an entry of the board's own chain, in the
//!   transaction of the change; each read is an entry of a chain of its viewer.

mod cache;
mod filter;
mod page;
mod view;

pub use cache::BoardCache;
pub use page::{BoardFormat, board_file, board_page};
pub use view::{BoardChoice, BoardView, DataGrantsResolver, FilterChoices, TileColumn, TileRows, TileStatus};

use crate::ask::{AppContext, Ask, Workspace};
use crate::error::{Error, Result};
use crate::verified::{after, find_saved, put_saved, stored, write_saved};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use steward_analysis::tools::is_statement;
use steward_analysis::verified::Statement;
use steward_domain::{
    Board, BoardFilter, BoardId, BoardLink, BoardLinkId, EventType, Label, Question, SavedKind, TaskId, Tile,
    TileContent, TileId, TileView, TileWidth, Timestamp, UserId,
};
use steward_store::{Change, Scope};
use uuid::Uuid;

/// The default number of seconds for which the results of a board are cached.
pub const FRESH_SECONDS: u32 = 60;
/// The maximum lifetime of a link, in hours.
pub const MAX_LINK_HOURS: u32 = 24 * 90;

/// A new tile for an answer, or the changes of a tile.
#[derive(Debug, Clone, Default)]
pub struct NewTile {
    /// The title; by default the question.
    pub title: Option<String>,
    /// How its rows are shown.
    pub view: Option<TileView>,
    /// The width in its row.
    pub width: Option<TileWidth>,
    /// The SQL; without it the reading of the question, or the statement of `origin`.
    pub sql: Option<String>,
    /// The task of the answer that is pinned.
    pub origin: Option<TaskId>,
}

impl AppContext {
    /// Creates an empty board.
    pub async fn add_board(&self, user: &UserId, name: Label, surface: &str) -> Result<Board> {
        let now = self.clock.now();
        let board = Board {
            id: BoardId(self.random.uuid_v7(now)?),
            user_id: user.clone(),
            name,
            is_shared: false,
            tiles: Vec::new(),
            filters: Vec::new(),
            links: Vec::new(),
            fresh_seconds: FRESH_SECONDS,
            created_at: now,
            updated_at: now,
        };
        let data = json!({ "action": "made", "board": board.id, "name": board.name });
        let changes = vec![put_saved(board.clone(), None)?];
        write_saved(&*self.store, user, board.id.0, EventType::BoardChanged, surface, data, changes).await?;
        Ok(board)
    }

    /// A board that a user may see: their own or a shared one.
    pub async fn board(&self, user: &UserId, id: BoardId) -> Result<Board> {
        let mut board: Board = find_saved(&*self.store, &Scope::User(user.clone()), id.0).await?;
        if board.user_id != *user {
            board.links.clear();
        }
        Ok(board)
    }

    /// A board that a user may change: their own.
    async fn own_board(&self, user: &UserId, id: BoardId) -> Result<Board> {
        let board = self.board(user, id).await?;
        if board.user_id != *user {
            let reason = format!("the board belongs to {}", board.user_id);
            return Err(Error::NotAdmitted { user: user.to_string(), reason });
        }
        Ok(board)
    }

    /// Changes a board of the user.
    pub async fn change_board(
        &self,
        user: &UserId,
        id: BoardId,
        action: &str,
        surface: &str,
        change: impl FnOnce(&mut Board) -> Result<()> + Send,
    ) -> Result<Board> {
        let mut board = self.own_board(user, id).await?;
        let (now, seen) = (self.clock.now(), board.updated_at);
        change(&mut board)?;
        board.updated_at = after(now, seen);
        let data = json!({
            "action": action, "board": id, "shared": board.is_shared, "tiles": board.tiles.len(),
            "filters": board.filters, "links": board.links.len(),
        });
        let changes = vec![put_saved(board.clone(), Some(seen))?];
        write_saved(&*self.store, user, id.0, EventType::BoardChanged, surface, data, changes).await?;
        Ok(board)
    }

    /// Removes a board of the user, with its links.
    pub async fn remove_board(&self, user: &UserId, id: BoardId, surface: &str) -> Result<()> {
        self.own_board(user, id).await?;
        let data = json!({ "action": "removed", "board": id });
        let changes = vec![Change::DeleteSaved { kind: SavedKind::Board, id: id.0 }];
        write_saved(&*self.store, user, id.0, EventType::BoardChanged, surface, data, changes).await
    }

    /// Pins an answer: its statement runs once with the user's grants, and is stored without its
    /// rows.
    pub async fn pin(&self, ask: &Ask, id: BoardId, new: NewTile, surface: &str) -> Result<(Board, TileId)> {
        self.own_board(&ask.user, id).await?;
        let content = self.tile_content(ask, &new).await?;
        let tile = Tile {
            id: TileId(self.random.uuid_v7(self.clock.now())?),
            title: new.title.unwrap_or_else(|| title_of(ask.question.trim())),
            width: new.width.unwrap_or_default(),
            content,
        };
        let made = tile.id;
        let add = |board: &mut Board| {
            board.tiles.push(tile);
            Ok(())
        };
        Ok((self.change_board(&ask.user, id, "pinned", surface, add).await?, made))
    }

    /// Adds a text tile to a board.
    pub async fn add_text(
        &self,
        user: &UserId,
        id: BoardId,
        text: String,
        new: NewTile,
        surface: &str,
    ) -> Result<(Board, TileId)> {
        let tile = Tile {
            id: TileId(self.random.uuid_v7(self.clock.now())?),
            title: new.title.unwrap_or_default(),
            width: new.width.unwrap_or_default(),
            content: TileContent::Text(text),
        };
        let made = tile.id;
        let add = |board: &mut Board| {
            board.tiles.push(tile);
            Ok(())
        };
        Ok((self.change_board(user, id, "pinned", surface, add).await?, made))
    }

    /// Changes a tile: its title, view, text, question or SQL. A new question or statement runs
    /// once before it is stored. `ask` holds the access rights to the tile's data.
    pub async fn edit_tile(
        &self,
        ask: &Ask,
        id: BoardId,
        tile: TileId,
        edit: TileEdit,
        surface: &str,
    ) -> Result<Board> {
        let board = self.own_board(&ask.user, id).await?;
        let known = board.tiles.iter().find(|one| one.id == tile).ok_or_else(|| no_tile(tile))?;
        let mut changed = known.clone();
        match (&mut changed.content, edit.text) {
            (TileContent::Text(text), Some(words)) => *text = words,
            (TileContent::Answer { .. }, Some(_)) => {
                return Err(Error::Board("this tile holds an answer, no text".to_owned()));
            }
            _ => {}
        }
        if let TileContent::Answer { question, data, statement, view, origin } = &mut changed.content {
            if edit.question.is_some() || edit.new.sql.is_some() {
                let asked = edit.question.unwrap_or_else(|| question.to_string());
                let ask = Ask { question: asked, data: data.clone(), ..ask.clone() };
                let made = self.tile_content(&ask, &NewTile { origin: None, ..edit.new.clone() }).await?;
                if let TileContent::Answer { question: asked, statement: made, .. } = made {
                    (*question, *statement, *origin) = (asked, made, None);
                }
            }
            *view = edit.new.view.unwrap_or(*view);
        }
        changed.title = edit.new.title.unwrap_or(changed.title);
        changed.width = edit.new.width.unwrap_or(changed.width);
        let put = |board: &mut Board| match board.tiles.iter_mut().find(|one| one.id == tile) {
            Some(place) => {
                *place = changed;
                Ok(())
            }
            None => Err(no_tile(tile)),
        };
        self.change_board(&ask.user, id, "edited", surface, put).await
    }

    /// Removes a tile from a board.
    pub async fn unpin(&self, user: &UserId, id: BoardId, tile: TileId, surface: &str) -> Result<Board> {
        let take = |board: &mut Board| {
            let before = board.tiles.len();
            board.tiles.retain(|one| one.id != tile);
            if board.tiles.len() == before { Err(no_tile(tile)) } else { Ok(()) }
        };
        self.change_board(user, id, "unpinned", surface, take).await
    }

    /// Creates a link that shows a board without authentication, with the grants that `viewer` has
    /// at the time of each access.
    pub async fn add_link(
        &self,
        user: &UserId,
        id: BoardId,
        viewer: &UserId,
        hours: u32,
        filters: Vec<BoardFilter>,
        surface: &str,
    ) -> Result<BoardLink> {
        if !(1..=MAX_LINK_HOURS).contains(&hours) {
            return Err(Error::Board(format!("a link lives from 1 to {MAX_LINK_HOURS} hours, not {hours}")));
        }
        let now = self.clock.now();
        let link = BoardLink {
            id: BoardLinkId(self.random.uuid_v7(now)?),
            viewer: viewer.clone(),
            filters,
            created_at: now,
            expires_at: Timestamp::from_micros(now.micros().saturating_add(i64::from(hours) * 3_600_000_000)),
        };
        let made = link.clone();
        let add = |board: &mut Board| {
            board.links.retain(|known| known.expires_at > now);
            board.links.push(link);
            Ok(())
        };
        self.change_board(user, id, "linked", surface, add).await?;
        Ok(made)
    }

    /// Revokes a link.
    pub async fn remove_link(
        &self,
        user: &UserId,
        id: BoardId,
        link: BoardLinkId,
        surface: &str,
    ) -> Result<()> {
        let take = |board: &mut Board| {
            let before = board.links.len();
            board.links.retain(|one| one.id != link);
            if board.links.len() == before {
                return Err(Error::Board(format!("there is no link {link} on this board")));
            }
            Ok(())
        };
        self.change_board(user, id, "unlinked", surface, take).await.map(|_| ())
    }

    /// The board of a link that has not expired. The caller has checked the signature.
    pub async fn linked_board(&self, id: BoardId, link: BoardLinkId) -> Result<(Board, BoardLink)> {
        let board: Board = find_saved(&*self.store, &Scope::System, id.0).await?;
        let now = self.clock.now();
        let found = board.links.iter().find(|one| one.id == link && one.expires_at > now).cloned();
        let found =
            found.ok_or_else(|| steward_store::Error::NotFound { what: "link", id: link.to_string() })?;
        Ok((board, found))
    }

    /// The content of a tile, after its statement ran once.
    async fn tile_content(&self, ask: &Ask, new: &NewTile) -> Result<TileContent> {
        let question = Question::new(ask.question.trim())?;
        let bench = self.open_data(ask).await?;
        let visible = bench.session.visible(&bench.access);
        let statement = match &new.sql {
            Some(sql) => Statement::Sql(plain_sql(sql)),
            None if is_statement(question.as_str()) => Statement::Sql(plain_sql(question.as_str())),
            None => match self.metric_reading(question.as_str(), &self.semantic_model()?, &visible)? {
                Some((reading, _)) => Statement::Reading(Box::new(reading)),
                None => self.statement_of(ask, new.origin, &bench).await?,
            },
        };
        let arguments = Workspace { bench: &bench, visible: &visible }.arguments(&statement)?;
        bench.call("sql.run", &arguments, "tile_rows").await?;
        Ok(TileContent::Answer {
            question,
            data: ask.data.iter().map(|named| steward_analysis::source::without_password(named)).collect(),
            statement: stored(&statement)?,
            view: new.view.unwrap_or_default(),
            origin: new.origin,
        })
    }

    /// Journals that tiles were read for a viewer, on a chain of the viewer.
    pub(super) async fn note_board_read(
        &self,
        board: &Board,
        viewer: &UserId,
        as_of: Timestamp,
        cached: bool,
    ) -> Result<()> {
        let data = json!({
            "action": "read", "board": board.id, "owner": board.user_id, "board_changed_at": board.updated_at,
            "as_of": as_of, "cached": cached,
        });
        let chain = reading_chain(board.id, viewer);
        write_saved(&*self.store, viewer, chain, EventType::BoardRead, "board", data, Vec::new()).await
    }
}

/// Changes of a tile.
#[derive(Debug, Clone, Default)]
pub struct TileEdit {
    /// A new question over the same data.
    pub question: Option<String>,
    /// A new text of a text tile.
    pub text: Option<String>,
    /// A new title, view, width or SQL.
    pub new: NewTile,
}

/// The chain with the reads of a board by one viewer. A chain has one owner, and a board has many
/// viewers.
fn reading_chain(board: BoardId, viewer: &UserId) -> Uuid {
    let hash = Sha256::digest(format!("board read\n{board}\n{viewer}").as_bytes());
    let mut bytes = [0_u8; 16];
    bytes.iter_mut().zip(hash.iter()).for_each(|(byte, from)| *byte = *from);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

fn plain_sql(sql: &str) -> String {
    sql.trim().trim_end_matches(';').trim().to_owned()
}

/// A title from a question: its first 120 characters, capitalised.
fn title_of(question: &str) -> String {
    let mut letters = question.chars().take(120);
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn no_tile(tile: TileId) -> Error {
    steward_store::Error::NotFound { what: "tile", id: tile.to_string() }.into()
}
