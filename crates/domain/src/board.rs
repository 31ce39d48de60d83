//! Boards: answers that are pinned side by side and run anew with the viewer's grants.

use crate::valid::require;
use crate::verified::require_order;
use crate::{BoardId, Check, Label, Problem, Question, TileId, Timestamp, UserId, VerifiedStatement};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tiles that a board may have.
pub const MOST_TILES: usize = 50;

/// Answers that are shown together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Its id.
    pub id: BoardId,
    /// Whose it is.
    pub user_id: UserId,
    /// What it is called.
    pub name: Label,
    /// Whether everybody here sees it. What its tiles show depends on the viewer's grants.
    #[serde(default)]
    pub is_shared: bool,
    /// Its tiles in order.
    #[serde(default)]
    pub tiles: Vec<Tile>,
    /// Values that all tiles with such a column are filtered by.
    #[serde(default)]
    pub filters: Vec<BoardFilter>,
    /// For so many seconds a result is shown again before it is read anew.
    #[serde(default)]
    pub fresh_seconds: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// One tile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tile {
    /// Its id.
    pub id: TileId,
    /// What stands above it.
    pub title: String,
    /// What it holds.
    pub content: TileContent,
}

/// What a tile holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TileContent {
    /// Words.
    Text(String),
    /// A question with its statement, run anew for whoever looks.
    Answer {
        /// The question.
        question: Question,
        /// Files, folders, addresses without passwords.
        data: Vec<String>,
        /// What is run.
        statement: VerifiedStatement,
    },
}

/// A value that the tiles of a board are filtered by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardFilter {
    /// The column.
    pub column: String,
    /// The value it has.
    pub value: String,
}

impl Check for Board {
    const ENTITY: &'static str = "Board";
    fn check(&self, problems: &mut Vec<Problem>) {
        require_order(problems, self.created_at, self.updated_at);
        let few = self.tiles.len() <= MOST_TILES;
        require(problems, few, "tiles", "must have at most 50 entries", self.tiles.len());
        let mut ids: Vec<TileId> = self.tiles.iter().map(|tile| tile.id).collect();
        ids.sort();
        ids.dedup();
        require(
            problems,
            ids.len() == self.tiles.len(),
            "tiles",
            "must have ids of their own",
            "twice the same",
        );
    }
}
