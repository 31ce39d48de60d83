//! Output: tables and colour on a terminal, one JSON document with `--json`.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use steward_analysis::frame::{Frame, show};

/// The tone of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tone {
    Good,
    Bad,
    Warn,
    Quiet,
    Strong,
}

/// Colours a text on a terminal; `NO_COLOR` and pipes get it plain.
pub(crate) fn paint(tone: Tone, text: &str) -> String {
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || !std::io::stdout().is_terminal()
    {
        return text.to_owned();
    }
    let code = match tone {
        Tone::Good => 32,
        Tone::Bad => 31,
        Tone::Warn => 33,
        Tone::Quiet => 90,
        Tone::Strong => 1,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Prints a line. A closed reader (`| head`) is no error.
pub(crate) fn say(text: impl std::fmt::Display) {
    let _reader_gone = writeln!(std::io::stdout(), "{text}");
}

/// Prints a JSON document.
pub(crate) fn document(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => say(text),
        Err(error) => eprintln!("{error}"),
    }
}

/// Prints rows with headings, or a text if there are none.
pub(crate) fn table(headings: &[&str], rows: Vec<Vec<String>>, none: &str) {
    if rows.is_empty() {
        return say(paint(Tone::Quiet, none));
    }
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(headings);
    if !std::io::stdout().is_terminal() {
        // A pipe has no width: rows stay on one line each.
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    }
    table.add_rows(rows);
    say(table);
}

/// `1 chain`, `2 chains`, `3 entries`.
pub(crate) fn count(number: u64, what: &str) -> String {
    match (number, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {what}s"),
    }
}

/// The beginning of a text, on one line.
pub(crate) fn short(text: &str, length: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= length {
        line
    } else {
        line.chars().take(length.saturating_sub(1)).chain(['…']).collect()
    }
}

/// Prints at most `most` rows of a result, numbers right-aligned.
pub(crate) fn frame(frame: &Frame, most: usize) {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(frame.fields.iter().map(|field| field.name.replace('_', " ")));
    if !std::io::stdout().is_terminal() {
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    }
    for row in frame.rows.iter().take(most) {
        table.add_row(row.iter().zip(&frame.fields).map(|(cell, field)| {
            let shown = Cell::new(short(&show(cell, field.unit), 60));
            if field.kind.is_number() { shown.set_alignment(CellAlignment::Right) } else { shown }
        }));
    }
    say(table);
    if frame.rows.len() > most {
        say(paint(
            Tone::Quiet,
            &format!("… {} more in the CSV file", count((frame.rows.len() - most) as u64, "row")),
        ));
    }
}
