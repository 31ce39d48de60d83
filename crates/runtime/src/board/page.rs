//! A board as one HTML page that works offline.

use super::view::{BoardView, TileRows, TileStatus};
use steward_analysis::report::{self, BoardInput, TileBody, TileInput};
use steward_domain::{BoardFilter, TileView, TileWidth};

/// The page of a board as one viewer sees it. `seen_by` names the user whose grants were used.
#[must_use]
pub fn board_page(view: &BoardView, seen_by: &str) -> String {
    let mut facts = vec![format!("As of {}", view.as_of.to_chrono().format("%Y-%m-%d %H:%M:%S UTC"))];
    facts.push(format!("As seen by {seen_by}"));
    facts.extend(view.filters.iter().filter(|one| one.filter.is_set()).map(|one| filter_text(&one.filter)));
    let input = BoardInput {
        title: view.board.name.to_string(),
        facts,
        tiles: view.tiles.iter().map(tile_input).collect(),
    };
    report::board(&input)
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
