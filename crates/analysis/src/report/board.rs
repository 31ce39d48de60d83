//! A board as one HTML page that works offline: no script, no external resources.
//!
//! Invariant: all text goes through `escape`, and a drawing is only included if it has nothing but
//! shapes and text.

use super::html::{escape, harmless, inline, table};
use super::text::{Block, blocks};
use crate::frame::Frame;
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");
const BOARD_STYLE: &str = include_str!("board.css");

/// The contents of a board page.
#[derive(Debug, Clone, Default)]
pub struct BoardInput<'a> {
    /// The name of the board.
    pub title: String,
    /// Short facts, such as when its rows were read, and for whom.
    pub facts: Vec<String>,
    /// The tiles in order.
    pub tiles: Vec<TileInput<'a>>,
}

/// A tile of a board page.
#[derive(Debug, Clone)]
pub struct TileInput<'a> {
    /// The title.
    pub title: String,
    /// The share of the row it takes: `small`, `medium` or `wide`.
    pub width: &'static str,
    /// The content.
    pub body: TileBody<'a>,
    /// Notes: filters that do not apply to it, rows that were omitted.
    pub notes: Vec<String>,
    /// The statement that gave its rows.
    pub sql: Option<String>,
    /// Where its rows come from.
    pub sources: Vec<String>,
}

/// The content of a tile.
#[derive(Debug, Clone)]
pub enum TileBody<'a> {
    /// Words: paragraphs and lists with bold and code at most.
    Text(String),
    /// One value.
    Number(String),
    /// A drawing, with its rows.
    Chart(String, &'a Frame),
    /// Rows.
    Table(&'a Frame),
    /// An error.
    Problem(String),
}

/// The page.
#[must_use]
pub fn board(input: &BoardInput<'_>) -> String {
    let title = if input.title.trim().is_empty() { "Board" } else { input.title.trim() };
    let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
    );
    let name = escape(title);
    let _ = write!(out, "<title>{name}</title>\n<style>\n{STYLE}{BOARD_STYLE}</style>\n</head>\n<body>\n");
    let _ =
        write!(out, "<main class=\"board\">\n<header>\n<h1 dir=\"auto\">{name}</h1>\n<ul class=\"facts\">\n");
    for fact in &input.facts {
        let _ = writeln!(out, "<li>{}</li>", escape(fact));
    }
    out.push_str("</ul>\n</header>\n<div class=\"tiles\">\n");
    for (index, tile) in input.tiles.iter().enumerate() {
        write_tile(&mut out, tile, index);
    }
    out.push_str("</div>\n</main>\n</body>\n</html>\n");
    out
}

fn write_tile(out: &mut String, tile: &TileInput<'_>, index: usize) {
    let title = escape(tile.title.trim());
    let _ = writeln!(out, "<section class=\"tile {}\" aria-label=\"{title}\">", tile.width);
    if !title.is_empty() {
        let _ = writeln!(out, "<h2 dir=\"auto\">{title}</h2>");
    }
    match &tile.body {
        TileBody::Text(text) => write_text(out, text),
        TileBody::Number(value) => {
            let _ = writeln!(out, "<p class=\"number\">{}</p>", escape(value));
        }
        TileBody::Chart(svg, frame) if harmless(svg) => {
            let _ = writeln!(out, "<figure class=\"chart\" aria-label=\"{title}\">{}</figure>", svg.trim());
            out.push_str("<details><summary>Rows</summary>\n");
            table(out, frame, &tile.title, index);
            out.push_str("</details>\n");
        }
        TileBody::Chart(_, frame) | TileBody::Table(frame) => table(out, frame, &tile.title, index),
        TileBody::Problem(why) => {
            let _ = writeln!(out, "<p class=\"problem\">{}</p>", escape(why));
        }
    }
    for note in &tile.notes {
        let _ = writeln!(out, "<p class=\"small\">{}</p>", escape(note));
    }
    if let Some(sql) = &tile.sql {
        let _ =
            write!(out, "<details><summary>Evidence</summary>\n<pre><code>{}</code></pre>\n", escape(sql));
        if !tile.sources.is_empty() {
            let _ = writeln!(out, "<p class=\"small\">Source: {}</p>", escape(&tile.sources.join(", ")));
        }
        out.push_str("</details>\n");
    }
    out.push_str("</section>\n");
}

fn write_text(out: &mut String, text: &str) {
    for block in blocks(text) {
        match block {
            Block::Paragraph(text) => {
                let _ = writeln!(out, "<p dir=\"auto\">{}</p>", inline(&text));
            }
            Block::List(items) => {
                let items: String = items.iter().map(|item| format!("<li>{}</li>\n", inline(item))).collect();
                let _ = writeln!(out, "<ul>\n{items}</ul>");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_board_is_read_as_markup() {
        let tile = |body| TileInput {
            title: "<b>x</b>".into(),
            width: "small",
            body,
            notes: vec!["<i>note</i>".into()],
            sql: Some("SELECT '<script>'".into()),
            sources: vec!["<img src=x>".into()],
        };
        let frame = Frame::default();
        let bodies = [
            TileBody::Text("<script>x()</script>".into()),
            TileBody::Number("<script>1</script>".into()),
            TileBody::Chart("<svg onload=\"x()\"></svg>".into(), &frame),
            TileBody::Problem("<script>y()</script>".into()),
        ];
        let input = BoardInput {
            title: "<script>t</script>".into(),
            facts: vec!["<u>as of</u>".into()],
            tiles: bodies.into_iter().map(tile).collect(),
        };
        let page = board(&input);
        for bad in ["<script", "onload", "<b>", "<i>", "<u>", "<img"] {
            assert!(!page.contains(bad), "{bad}");
        }
        assert!(!page.contains("http://") && !page.contains("https://"));
    }
}
