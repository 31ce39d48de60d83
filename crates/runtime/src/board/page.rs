//! A board as one file: an HTML page that works offline, a PDF or a PNG.

use super::view::{BoardView, TileRows, TileStatus};
use crate::error::{Error, Result};
use steward_analysis::report::{self, BoardInput, TileBody, TileInput};
use steward_domain::{BoardFilter, TileView, TileWidth};

/// The format of an exported board.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoardFormat {
    /// One page with charts, rows and statements.
    #[default]
    Html,
    /// Pages for print, as pictures.
    Pdf,
    /// One picture.
    Png,
}

impl BoardFormat {
    /// The format of a file by its ending.
    #[must_use]
    pub fn of_ending(ending: &str) -> Option<Self> {
        match ending.to_lowercase().as_str() {
            "html" | "htm" => Some(Self::Html),
            "pdf" => Some(Self::Pdf),
            "png" => Some(Self::Png),
            _ => None,
        }
    }

    /// The ending of its files.
    #[must_use]
    pub fn ending(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Pdf => "pdf",
            Self::Png => "png",
        }
    }

    /// Its media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Pdf => "application/pdf",
            Self::Png => "image/png",
        }
    }
}

/// The file of a board as one viewer sees it. `seen_by` names the user whose grants were used.
pub fn board_file(view: &BoardView, seen_by: &str, format: BoardFormat) -> Result<Vec<u8>> {
    let input = board_input(view, seen_by);
    match format {
        BoardFormat::Html => Ok(report::board(&input).into_bytes()),
        BoardFormat::Pdf => report::board_pdf(&input).map_err(Error::from),
        BoardFormat::Png => report::board_png(&input).map_err(Error::from),
    }
}

/// The page of a board as one viewer sees it. `seen_by` names the user whose grants were used.
#[must_use]
pub fn board_page(view: &BoardView, seen_by: &str) -> String {
    report::board(&board_input(view, seen_by))
}

fn board_input<'a>(view: &'a BoardView, seen_by: &str) -> BoardInput<'a> {
    let mut facts = vec![format!("As of {}", view.as_of.to_chrono().format("%Y-%m-%d %H:%M:%S UTC"))];
    facts.push(format!("As seen by {seen_by}"));
    facts.extend(view.filters.iter().filter(|one| one.filter.is_set()).map(|one| filter_text(&one.filter)));
    BoardInput {
        title: view.board.name.to_string(),
        facts,
        tiles: view.tiles.iter().map(tile_input).collect(),
    }
}

/// A filter as text.
fn filter_text(filter: &BoardFilter) -> String {
    let column = &filter.column;
    let values = (!filter.values.is_empty()).then(|| filter.values.join(" or "));
    let from = filter.from.as_ref().map(|from| format!("from {from}"));
    let until = filter.until.as_ref().map(|until| format!("to {until}"));
    let parts: Vec<String> = [values, from, until].into_iter().flatten().collect();
    format!("{column}: {}", parts.join(" "))
}

fn tile_input(tile: &TileRows) -> TileInput<'_> {
    let body = match (&tile.text, &tile.frame, &tile.drawing, tile.status) {
        (Some(text), ..) => TileBody::Text(text.clone()),
        (_, _, _, TileStatus::Refused | TileStatus::Failed) => {
            let code = tile.error_code.as_deref().unwrap_or_default();
            TileBody::Problem(format!("{code} {}", tile.error.as_deref().unwrap_or_default()))
        }
        (_, Some(_), _, _) if tile.view == TileView::Number => {
            TileBody::Number(tile.number.clone().unwrap_or_else(|| "no value".to_owned()))
        }
        (_, Some(frame), Some((_, svg)), _) => TileBody::Chart(svg.clone(), frame),
        (_, Some(frame), None, _) => TileBody::Table(frame),
        _ => TileBody::Problem("there are no rows".to_owned()),
    };
    let mut notes = Vec::new();
    if tile.truncated {
        notes.push(format!("Only the first {} rows.", tile.rows.len()));
    }
    if !tile.not_filtered_by.is_empty() {
        notes.push(format!("Not filtered by {}.", tile.not_filtered_by.join(", ")));
    }
    notes.extend(tile.definition.iter().map(|definition| format!("Metric: {definition}")));
    TileInput {
        title: tile.title.clone(),
        width: match tile.width {
            TileWidth::Small => "small",
            TileWidth::Medium => "medium",
            TileWidth::Wide => "wide",
        },
        body,
        notes,
        sql: tile.sql.clone(),
        sources: tile.sources.iter().map(|source| source.name.clone()).collect(),
    }
}
