//! The report: one Markdown text and one self-contained HTML page from the same input.
//!
//! Invariant: text from data, a question or a model is never interpreted as markup. The page has no
//! script and loads nothing.

mod board;
mod board_pages;
mod html;
mod pdf;
mod text;
mod workbook;

use crate::chart::NumberFormat;
use crate::frame::{Frame, Kind, Value, group};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

pub use board::{BoardInput, TileBody, TileInput, board};
pub use board_pages::{board_pdf, board_png};
pub use html::{escape as escape_html, html, page_around};
pub use workbook::{NumberOrigin, workbook};

/// Maximum number of rows shown; the others are counted.
const MOST_ROWS: usize = 50;
/// Maximum number of characters of a cell.
const MOST_LETTERS: usize = 300;

/// The confidence level of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Checked and found right.
    High,
    /// Probably right; something was assumed.
    Medium,
    /// To be checked by a person.
    Low,
}

impl Level {
    /// The word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// The confidence of an answer, with the reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confidence {
    /// The level.
    pub level: Level,
    /// The reasons.
    pub reasons: Vec<String>,
}

/// The contents of a report. Empty parts are omitted.
#[derive(Debug, Clone, Default)]
pub struct ReportInput<'a> {
    /// The title.
    pub title: String,
    /// The question as it was asked.
    pub question: String,
    /// The answer: paragraphs and `- ` lists, with `**bold**` and `` `code` `` at most.
    pub answer: String,
    /// Key findings, most important first.
    pub findings: Vec<String>,
    /// Caveats about the numbers.
    pub warnings: Vec<String>,
    /// The assumptions.
    pub assumptions: Vec<String>,
    /// Result tables with their titles.
    pub tables: Vec<(&'a Frame, String)>,
    /// Charts: title, SVG document, name of the PNG file next to the report.
    pub charts: Vec<(String, String, String)>,
    /// Where the data comes from: name and detail.
    pub sources: Vec<(String, String)>,
    /// The queries: title and SQL.
    pub queries: Vec<(String, String)>,
    /// Numbers in the answer and the findings, each with the place of its query.
    pub number_queries: Vec<(String, usize)>,
    /// The confidence.
    pub confidence: Option<Confidence>,
    /// Ids and hashes that link the report to its run.
    pub proof: Vec<(String, String)>,
    /// How long it took.
    pub duration_ms: u64,
    /// When it was generated, as text.
    pub generated: String,
}

/// A duration for people.
fn duration(ms: u64) -> String {
    match ms {
        0..=999 => format!("{ms} ms"),
        1000..=59_999 => format!("{} s", group(ms as f64 / 1000.0, 1, false)),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

/// A cell as text, not endless.
fn cell_text(frame: &Frame, row: usize, column: usize, format: NumberFormat) -> String {
    let value = frame.cell(row, column);
    let text = match value {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        value if value.is_null() => "–".to_owned(),
        other => format.show(other),
    };
    let short: String = text.chars().take(MOST_LETTERS).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// How the numbers of each column are written.
fn formats(frame: &Frame) -> Vec<NumberFormat> {
    (0..frame.fields.len()).map(|column| NumberFormat::of(frame, column)).collect()
}

/// Whether the cells of a column are numbers, which are right-aligned.
fn is_right(kind: Kind) -> bool {
    kind.is_number()
}

/// The note below a truncated table.
fn cut_note(frame: &Frame) -> Option<String> {
    let count = frame.rows.len();
    let note = |n: usize| format!("Showing the first {MOST_ROWS} of {} rows.", group(n as f64, 0, false));
    (count > MOST_ROWS).then(|| note(count))
}

/// Escapes text so that Markdown shows it literally, on one line. Only characters that would be
/// markup at their position are escaped, so that the source stays readable.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text = text.trim();
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        let next = letters.peek().copied().unwrap_or(' ');
        let start = out.is_empty();
        match c {
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' => out.extend(['\\', c]),
            '_' if before.is_alphanumeric() && next.is_alphanumeric() => out.push(c),
            '_' => out.extend(['\\', c]),
            '#' | '>' if start => out.extend(['\\', c]),
            '-' | '+' if start && next == ' ' => out.extend(['\\', c]),
            '<' if next.is_alphabetic() || matches!(next, '/' | '!' | '?') => out.push_str("&lt;"),
            '&' if next.is_alphanumeric() || next == '#' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// A list under a heading, or nothing.
fn list(out: &mut String, heading: &str, items: &[String], ordered: bool) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "## {heading}\n");
    for (index, item) in items.iter().enumerate() {
        let mark = if ordered { format!("{}.", index + 1) } else { "-".to_owned() };
        let _ = writeln!(out, "{mark} {}", plain(item));
    }
    out.push('\n');
}

/// The report as Markdown.
#[must_use]
pub fn markdown(input: &ReportInput<'_>) -> String {
    let mut out = format!("# {}\n\n", plain(&input.title));
    if !input.question.trim().is_empty() && input.question.trim() != input.title.trim() {
        let _ = writeln!(out, "> **Question:** {}\n", plain(&input.question));
    }
    let mut facts = Vec::new();
    if let Some(confidence) = &input.confidence {
        facts.push(format!("Confidence: {}", confidence.level.word()));
    }
    if !input.generated.trim().is_empty() {
        facts.push(plain(&input.generated));
    }
    facts.push(duration(input.duration_ms));
    let _ = writeln!(out, "*{}*\n", facts.join(" · "));
    if !input.answer.trim().is_empty() {
        let _ = writeln!(out, "## Answer\n\n{}\n", text::markdown(&input.answer));
    }
    if !input.warnings.is_empty() {
        out.push_str("> **Please note**\n>\n");
        for warning in &input.warnings {
            let _ = writeln!(out, "> - {}", plain(warning));
        }
        out.push('\n');
    }
    list(&mut out, "Key findings", &input.findings, true);
    for (index, (title, _, file)) in input.charts.iter().enumerate() {
        if index == 0 {
            out.push_str("## Charts\n\n");
        }
        let _ = writeln!(out, "![{}]({})\n", plain(title), address(file));
    }
    for (index, (frame, title)) in input.tables.iter().enumerate() {
        if index == 0 {
            out.push_str(if input.tables.len() == 1 { "## Data\n\n" } else { "## Tables\n\n" });
        }
        table(&mut out, frame, title);
    }
    list(&mut out, "Assumptions", &input.assumptions, false);
    let reasons = input.confidence.as_ref().map(|c| c.reasons.clone()).unwrap_or_default();
    list(&mut out, "Why this confidence", &reasons, false);
    appendix(&mut out, input);
    out
}

/// A file name as a URL, percent-encoded.
fn address(file: &str) -> String {
    let mut out = String::new();
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'/' => out.push(char::from(byte)),
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

fn table(out: &mut String, frame: &Frame, title: &str) {
    if !title.trim().is_empty() {
        let _ = writeln!(out, "### {}\n", plain(title));
    }
    if frame.rows.is_empty() || frame.fields.is_empty() {
        out.push_str("No rows.\n\n");
        return;
    }
    for field in &frame.fields {
        let _ = write!(out, "| {} ", plain(&field.name));
    }
    out.push_str("|\n");
    for field in &frame.fields {
        out.push_str(if is_right(field.kind) { "| ---: " } else { "| --- " });
    }
    out.push_str("|\n");
    let formats = formats(frame);
    for row in 0..frame.rows.len().min(MOST_ROWS) {
        for (column, format) in formats.iter().enumerate() {
            let _ = write!(out, "| {} ", plain(&cell_text(frame, row, column, *format)));
        }
        out.push_str("|\n");
    }
    out.push('\n');
    if let Some(note) = cut_note(frame) {
        let _ = writeln!(out, "{note}\n");
    }
}

fn appendix(out: &mut String, input: &ReportInput<'_>) {
    if !input.sources.is_empty() {
        out.push_str("## Sources\n\n");
        for (name, detail) in &input.sources {
            let detail =
                if detail.trim().is_empty() { String::new() } else { format!(": {}", plain(detail)) };
            let _ = writeln!(out, "- **{}**{detail}", plain(name));
        }
        out.push('\n');
    }
    for (index, (title, sql)) in input.queries.iter().enumerate() {
        if index == 0 {
            out.push_str("## Queries\n\n");
        }
        let fence = "`".repeat(longest_run(sql, '`').max(2) + 1);
        let _ = writeln!(out, "### {}\n\n{fence}sql\n{}\n{fence}\n", plain(title), sql.trim_end());
    }
    if !input.proof.is_empty() {
        out.push_str("## Proof\n\n| What | Value |\n| --- | --- |\n");
        for (name, value) in &input.proof {
            let _ = writeln!(out, "| {} | {} |", plain(name), plain(value));
        }
        out.push('\n');
    }
}

/// The longest run of a letter in a text.
fn longest_run(text: &str, letter: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == letter { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests;
