//! Boards: pinned answers, side by side, that are run again with the grants of each viewer.
//!
//! A board stores no rows. The rows of a tile are read for the current viewer, so the same board
//! can show different rows to different people.

use crate::valid::require;
use crate::verified::require_order;
use crate::{
    BoardId, BoardLinkId, Check, Label, Problem, Question, TaskId, TileId, Timestamp, UserId,
    VerifiedStatement,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Maximum number of tiles of a board.
pub const MOST_TILES: usize = 50;
/// Maximum number of filters of a board.
pub const MOST_FILTERS: usize = 12;
/// Maximum number of values of a filter.
pub const MOST_FILTER_VALUES: usize = 200;
/// Maximum number of links of a board.
pub const MOST_LINKS: usize = 50;
/// Maximum number of characters of a text tile.
const MOST_LETTERS: usize = 20_000;
/// The longest time that a cached result is shown: one day, in seconds.
const LONGEST_FRESH: u32 = 86_400;

/// A board of answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Its id.
    pub id: BoardId,
    /// The owner.
    pub user_id: UserId,
    /// The name of the board.
    pub name: Label,
    /// Whether all users see it. What its tiles show depends on the viewer's grants.
    #[serde(default)]
    pub is_shared: bool,
    /// Its tiles in order.
    #[serde(default)]
    pub tiles: Vec<Tile>,
    /// Filters that apply to all tiles.
    #[serde(default)]
    pub filters: Vec<BoardFilter>,
    /// Links that show it without a sign-in until they expire. Only the owner sees them.
    #[serde(default)]
    pub links: Vec<BoardLink>,
    /// How many seconds a result is served from the cache; 0 disables the cache.
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
    /// The title.
    pub title: String,
    /// The share of the row it takes.
    #[serde(default)]
    pub width: TileWidth,
    /// The content.
    pub content: TileContent,
}

/// The share of the row that a tile takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TileWidth {
    /// A third.
    Small,
    /// Half.
    #[default]
    Medium,
    /// The whole row.
    Wide,
}

/// How the rows of a tile are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TileView {
    /// One value as a number, otherwise a chart where one fits, otherwise a table.
    #[default]
    Auto,
    /// A chart.
    Chart,
    /// A table.
    Table,
    /// The first number.
    Number,
}

/// The content of a tile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TileContent {
    /// Text.
    Text(String),
    /// A question with its statement, run again for each viewer.
    Answer {
        /// The question.
        question: Question,
        /// Sources: files, folders, addresses without passwords.
        data: Vec<String>,
        /// The statement that is run.
        statement: VerifiedStatement,
        /// How its rows are shown.
        #[serde(default)]
        view: TileView,
        /// The task of the answer that was pinned.
        #[serde(default)]
        origin: Option<TaskId>,
    },
}

/// A filter of the tiles of a board. It applies to every table with this column, and to tables
/// whose rows each belong to one row of such a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardFilter {
    /// The column.
    pub column: String,
    /// The values that are shown; all when empty.
    #[serde(default)]
    pub values: Vec<String>,
    /// The first day or number that is shown.
    #[serde(default)]
    pub from: Option<String>,
    /// The last day or number that is shown.
    #[serde(default)]
    pub until: Option<String>,
}

impl BoardFilter {
    /// Whether it restricts anything.
    #[must_use]
    pub fn is_set(&self) -> bool {
        !self.values.is_empty() || self.from.is_some() || self.until.is_some()
    }
}

/// A link that shows a board without a sign-in. It shows what its viewer may see at that moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardLink {
    /// Its id.
    pub id: BoardLinkId,
    /// The user whose grants are used to read the board.
    pub viewer: UserId,
    /// Filters of the link, which its visitors cannot remove.
    #[serde(default)]
    pub filters: Vec<BoardFilter>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When the link expires.
    pub expires_at: Timestamp,
}

impl Check for Board {
    const ENTITY: &'static str = "Board";
    fn check(&self, problems: &mut Vec<Problem>) {
        require_order(problems, self.created_at, self.updated_at);
        let few = self.tiles.len() <= MOST_TILES;
        require(problems, few, "tiles", "must have at most 50 entries", self.tiles.len());
        let ids: BTreeSet<TileId> = self.tiles.iter().map(|tile| tile.id).collect();
        let own = ids.len() == self.tiles.len();
        require(problems, own, "tiles", "must have ids of their own", "twice the same");
        for tile in &self.tiles {
            let letters = tile.title.chars().count();
            require(problems, letters <= 200, "tiles.title", "must have at most 200 letters", letters);
            if let TileContent::Text(text) = &tile.content {
                let letters = text.chars().count();
                let few = letters <= MOST_LETTERS;
                require(problems, few, "tiles.content.text", "must have at most 20000 letters", letters);
            }
        }
        check_filters(problems, "filters", &self.filters);
        let few = self.links.len() <= MOST_LINKS;
        require(problems, few, "links", "must have at most 50 entries", self.links.len());
        for link in &self.links {
            check_filters(problems, "links.filters", &link.filters);
        }
        let fresh = self.fresh_seconds <= LONGEST_FRESH;
        require(problems, fresh, "fresh_seconds", "must be at most 86400", self.fresh_seconds);
    }
}

/// Checks filters, those of boards and those of links alike.
fn check_filters(problems: &mut Vec<Problem>, field: &'static str, filters: &[BoardFilter]) {
    let few = filters.len() <= MOST_FILTERS;
    require(problems, few, field, "must have at most 12 entries", filters.len());
    let columns: BTreeSet<String> = filters.iter().map(|filter| filter.column.to_lowercase()).collect();
    require(problems, columns.len() == filters.len(), field, "must name each column once", "twice the same");
    for filter in filters {
        let named = !filter.column.trim().is_empty() && filter.column.chars().count() <= 200;
        require(problems, named, field, "must name a column", &filter.column);
        let few = filter.values.len() <= MOST_FILTER_VALUES;
        require(problems, few, field, "must have at most 200 values", filter.values.len());
    }
}
