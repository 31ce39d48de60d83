//! The layout of a delimited file: separator, quotes, lines before the table, column names.
//!
//! `sniff` decides once from a sample; the whole file is then read with the same layout, by this
//! crate or by an engine. `columns` are unique names for SQL and `labels` are the names in the
//! file, one for each field of a record.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::error::ReadError;
use super::header::{self, is_typed};
use super::names;
use super::records::{Records, Shape};

/// How lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminator {
    /// `\n`.
    Lf,
    /// `\r\n`.
    CrLf,
    /// `\r`.
    Cr,
}

/// How a delimited file is laid out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The separator of fields; a space stands for any number of spaces.
    pub delimiter: u8,
    /// The quote.
    pub quote: u8,
    /// The character before a quote inside quotes; `None` when quotes are doubled.
    pub escape: Option<u8>,
    /// Fields are separated by two or more spaces, and single ones may stand inside values.
    pub wide: bool,
    /// Does the first record hold the names?
    pub has_header: bool,
    /// Lines before the header (or before the first record): titles, comments, blanks.
    pub skip: usize,
    /// The same in bytes, after a byte order mark and in UTF-8.
    pub skip_bytes: usize,
    /// Names for SQL: unique, never empty.
    pub columns: Vec<String>,
    /// Names as in the file.
    pub labels: Vec<String>,
    /// Some records have more or fewer fields than there are columns.
    pub ragged: bool,
    /// Some quoted values hold line ends.
    pub newlines_in_values: bool,
    /// Fractions are written with a comma.
    pub decimal_comma: bool,
    /// How lines end.
    pub terminator: Terminator,
    /// Lines that start with this byte are comments.
    pub comment: Option<u8>,
    /// The header lacks the name of the first column, which holds row names.
    pub row_names: bool,
    /// Quotes in the sample were not well formed, or stand after spaces.
    pub loose_quotes: bool,
    /// A line of dashes stands below the header.
    pub ruled: bool,
}

impl Layout {
    /// How records are written.
    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape { delimiter: self.delimiter, quote: self.quote, escape: self.escape, wide: self.wide }
    }

    /// Whether a strict CSV reader with this layout would read the file as this crate does.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.delimiter != b' ' && !self.ragged && !self.row_names && !self.loose_quotes && !self.ruled
    }
}

/// Maximum size of the sample.
const SAMPLE: usize = 1 << 20;
/// At most this many records are looked at.
const RECORDS: usize = 1000;
/// At most this many records are looked at for each separator.
const TRIED: usize = 200;
/// Longer labels are cut.
const LONGEST_LABEL: usize = 500;
/// More columns than this indicate a wrong separator or a broken file.
pub const MOST_COLUMNS: usize = 8192;

/// The separators, whether they occur in runs of two or more, and their likelihood. The first of
/// equals wins.
const DELIMITERS: [(u8, bool, f64); 9] = [
    (b',', false, 1.0),
    (b'\t', false, 1.0),
    (b';', false, 1.0),
    (b'|', false, 1.0),
    (b'~', false, 0.9),
    (b'^', false, 0.9),
    (b':', false, 0.7),
    (b' ', true, 0.6),
    (b' ', false, 0.6),
];

/// One record of the sample, with where it starts.
pub(super) type Row<'a> = Vec<Cow<'a, str>>;

/// Detects the layout of a file.
///
/// # Errors
/// If it is empty, or is not a table.
pub fn sniff(sample: &str) -> Result<Layout, ReadError> {
    let text = cut(sample.strip_prefix('\u{feff}').unwrap_or(sample));
    if text.trim().is_empty() {
        return Err(ReadError::Empty);
    }
    refuse_markup(text)?;
    let (declared, start) = declared(text);
    let body = text.get(start..).unwrap_or_default();
    if body.trim().is_empty() {
        return Err(ReadError::Empty);
    }
    let shape = match declared {
        Some(delimiter) => shape_for(body, delimiter),
        None => best_shape(body),
    };
    let layout = describe(text, body, start, shape);
    if layout.columns.len() > MOST_COLUMNS {
        return Err(ReadError::TooLarge { what: "The number of columns", limit: MOST_COLUMNS });
    }
    Ok(layout)
}

/// The part of the sample that is used, without a truncated line.
fn cut(text: &str) -> &str {
    let Some(part) = text.get(..text.floor_char_boundary(SAMPLE)).filter(|part| part.len() < text.len())
    else {
        return text;
    };
    let end = part.rfind(['\n', '\r']).map_or(part.len(), |at| at + 1);
    part.get(..end).unwrap_or(part)
}

/// Refuses web pages and documents that are often saved instead of a table.
fn refuse_markup(text: &str) -> Result<(), ReadError> {
    let start = text.trim_start();
    let begins = |word: &str| start.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    if begins("<!doctype html") || begins("<html") {
        return Err(ReadError::NotTable(
            "this is a web page, perhaps an error message or a login form: download the file again",
        ));
    }
    if begins("<?xml") {
        return Err(ReadError::NotTable("this is an XML document: export the table as CSV"));
    }
    Ok(())
}

/// The separator of a `sep=;` line, and where the text after it starts.
fn declared(text: &str) -> (Option<u8>, usize) {
    let line = text.lines().next().unwrap_or_default();
    let word = line.trim_end_matches('\r').trim_matches('"');
    let found =
        word.get(..4).filter(|head| head.eq_ignore_ascii_case("sep=")).and_then(|_| word.as_bytes().get(4));
    match found {
        Some(delimiter) if word.len() == 5 && delimiter.is_ascii() => {
            let rest = text.get(line.len()..).unwrap_or_default();
            let skipped = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
            (Some(*delimiter), line.len() + skipped)
        }
        _ => (None, 0),
    }
}

/// The quote and the escape that go with a separator.
fn shape_for(text: &str, delimiter: u8) -> Shape {
    let bytes = text.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_none_or(|b| *b == delimiter || matches!(b, b'\n' | b'\r'));
    let (mut double, mut single_open, mut single_close, mut escaped, mut doubled) =
        (0_usize, 0_usize, 0_usize, 0_usize, 0_usize);
    for (at, byte) in bytes.iter().enumerate() {
        if !matches!(byte, b'"' | b'\'') {
            continue;
        }
        let (before, after) = (at.checked_sub(1).and_then(|at| bytes.get(at)), bytes.get(at + 1));
        if *byte == b'"' {
            double += usize::from(edge(before));
            escaped += usize::from(before == Some(&b'\\') && !edge(after));
            doubled += usize::from(
                before == Some(&b'"')
                    && !edge(after)
                    && !edge(at.checked_sub(2).and_then(|at| bytes.get(at))),
            );
        } else {
            single_open += usize::from(edge(before) && !edge(after));
            single_close += usize::from(edge(after) && !edge(before));
        }
    }
    let single = double == 0 && single_open >= 2 && single_open.abs_diff(single_close) * 5 <= single_open;
    let escape = (escaped > doubled).then_some(b'\\');
    Shape { delimiter, quote: if single { b'\'' } else { b'"' }, escape, wide: false }
}

/// The records of a text, at most as many as asked for.
pub(super) fn rows(text: &str, shape: Shape, most: usize) -> Vec<Row<'_>> {
    let mut records = Records::new(text, shape);
    let mut rows = Vec::new();
    let mut row = Vec::new();
    while rows.len() < most && records.next_into(&mut row) {
        rows.push(std::mem::take(&mut row));
    }
    rows
}

/// The width that most records have; the larger of equals.
pub(super) fn usual_width(rows: &[Row<'_>]) -> (usize, usize) {
    let mut counts = std::collections::BTreeMap::new();
    for row in rows {
        *counts.entry(row.len()).or_insert(0_usize) += 1;
    }
    counts.into_iter().max_by_key(|(width, count)| (*count, *width)).unwrap_or((1, 0))
}

/// The separator that splits the text most evenly into cells that look like values.
fn best_shape(text: &str) -> Shape {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(TRIED).collect();
    let mut best: Option<(Shape, f64)> = None;
    for (delimiter, wide, prior) in DELIMITERS {
        let used = text.as_bytes().contains(&delimiter);
        if !used || is_one_column(&lines, delimiter) || (delimiter == b':' && is_punctuation(&lines)) {
            continue;
        }
        let shape = Shape { wide, ..shape_for(text, delimiter) };
        let mut table = rows(text, shape, TRIED);
        let (usual, _) = usual_width(&table);
        table.retain(|row| !is_comment(row, usual));
        let Some(score) = score(&table, shape) else { continue };
        if best.is_none_or(|(_, known)| score * prior > known) {
            best = Some((shape, score * prior));
        }
    }
    // One column: with a separator that does not occur, every line stays whole.
    let unused =
        || b",\t;|~".iter().find(|delimiter| !text.as_bytes().contains(delimiter)).copied().unwrap_or(0x1f);
    best.map_or_else(|| shape_for(text, unused()), |(shape, _)| shape)
}

/// A file of one column whose values contain the separator: a name without it, then numbers or
/// times with it.
fn is_one_column(lines: &[&str], delimiter: u8) -> bool {
    let Some((first, rest)) = lines.split_first() else { return false };
    let delimiter = char::from(delimiter);
    !rest.is_empty()
        && !first.contains(delimiter)
        && !first.starts_with('#')
        && rest.iter().all(|line| is_typed(line))
}

/// Whether the colon occurs in times and URLs.
fn is_punctuation(lines: &[&str]) -> bool {
    let digits = |bytes: [&u8; 3]| bytes.iter().all(|b| b.is_ascii_digit());
    let time = |line: &str| {
        line.as_bytes().windows(4).any(|part| matches!(part, [a, b':', b, c] if digits([a, b, c])))
    };
    let count = lines.iter().filter(|line| line.contains("://") || time(line)).count();
    count * 2 >= lines.len()
}

/// How well a separator fits, from 0 to 1; `None` if it does not.
fn score(rows: &[Row<'_>], shape: Shape) -> Option<f64> {
    let delimiter = shape.delimiter;
    // Some programs omit the name of the first column.
    let unnamed = rows.len() > 2
        && rows.first().is_some_and(|head| rows.iter().skip(1).all(|row| row.len() == head.len() + 1));
    let rows = if unnamed { rows.get(1..).unwrap_or(rows) } else { rows };
    let (width, count) = usual_width(rows);
    if width < 2 {
        return None;
    }
    let total = rows.len() as f64;
    let even = count as f64 / total;
    // Some programs leave out empty fields at the end of a record.
    let head = rows.first().map_or(0, Vec::len);
    let within = rows.iter().filter(|row| row.len() <= head && row.len() * 2 > head).count() as f64 / total;
    let even = if head >= 3 { even.max(within * 0.8) } else { even };
    if even < if width >= 3 { 0.5 } else { 0.7 } {
        return None;
    }
    let (mut worth, mut typed, mut cells) = (0.0, 0_usize, 0_usize);
    for cell in rows.iter().flatten() {
        cells += 1;
        if is_typed(cell) {
            typed += 1;
            worth += 1.0;
        } else {
            // A cell that contains another separator was perhaps split wrongly.
            let uncut =
                cell.bytes().any(|b| matches!(b, b';' | b'\t' | b'|' | b'~' | b'^') && b != delimiter);
            worth += if uncut { 0.2 } else { 0.75 };
        }
    }
    // Spaces also separate words: only a table of mostly numbers is accepted.
    let enough = if shape.wide { rows.len() > 2 } else { typed * 2 >= cells };
    if delimiter == b' ' && (!enough || even < 0.9) {
        return None;
    }
    Some(even * even * worth / cells.max(1) as f64)
}

/// The first records, and where each of them starts.
fn gather<'a>(records: &mut Records<'a>, body: &str) -> (Vec<Row<'a>>, Vec<usize>) {
    let (mut all, mut starts, mut row) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let at = records.position();
        if all.len() >= RECORDS || !records.next_into(&mut row) {
            return (all, starts);
        }
        let blank = body.get(at..).map_or(0, |rest| rest.len() - rest.trim_start_matches(['\n', '\r']).len());
        starts.push(at + blank);
        all.push(std::mem::take(&mut row));
    }
}

/// Describes the file with a known separator.
fn describe(text: &str, body: &str, start: usize, shape: Shape) -> Layout {
    let mut records = Records::new(body, shape);
    let (all, starts) = gather(&mut records, body);
    let mut first = header::first_of_table(&all);
    let upper =
        all.get(first).filter(|_| header::is_upper_header(all.get(first..).unwrap_or_default())).cloned();
    first += usize::from(upper.is_some());
    let skip_bytes = start + starts.get(first).copied().unwrap_or(0);
    let (head, rest) = all
        .get(first..)
        .and_then(<[_]>::split_first)
        .map_or((&[][..], &[][..]), |(head, rest)| (head.as_slice(), rest));
    let usual = usual_width(all.get(first..).unwrap_or_default()).0;
    let comment = rest.iter().any(|row| is_comment(row, usual)).then_some(b'#');
    let ruled = rest.first().is_some_and(|row| is_rule(row));
    let rest = rest.get(usize::from(ruled)..).unwrap_or_default();
    let table: Vec<&Row<'_>> =
        rest.iter().filter(|row| comment.is_none() || !is_comment(row, usual)).collect();
    let has_header = header::has_header(head, &table);
    let row_names =
        has_header && head.len() + 1 == usual && usual > 1 && !header::is_last_empty(&table, usual);
    let mut labels = labels(head, usual, has_header, row_names);
    if let Some(upper) = upper.filter(|_| has_header) {
        header::join_headers(&upper, &mut labels);
    }
    // The last record of a sample may be truncated.
    let whole = if text.ends_with(['\n', '\r']) || table.len() < 2 { table.len() } else { table.len() - 1 };
    let uneven = |row: &&&Row<'_>| row.len() != labels.len();
    Layout {
        delimiter: shape.delimiter,
        quote: shape.quote,
        escape: shape.escape,
        wide: shape.wide,
        has_header,
        skip: line_count(text.get(..skip_bytes).unwrap_or_default()),
        skip_bytes,
        columns: names::unique(&labels),
        ragged: head.len() != labels.len() || table.iter().take(whole).any(|row| uneven(&row)),
        labels,
        newlines_in_values: records.newlines_in_values,
        decimal_comma: header::decimal_comma(&table, shape.delimiter),
        terminator: terminator(text),
        comment,
        row_names,
        loose_quotes: records.broken_quotes > 0 || records.spaced_quotes,
        // Without a header there is no ruled line.
        ruled: ruled && has_header,
    }
}

/// Whether it is a ruled line below the header, as terminal programs print it.
pub(super) fn is_rule(row: &[Cow<'_, str>]) -> bool {
    let drawn = |cell: &str| cell.bytes().all(|b| matches!(b, b'-' | b'=' | b'+' | b':' | b' '));
    row.iter().all(|cell| drawn(cell)) && row.iter().any(|cell| cell.contains("---") || cell.contains("==="))
}

/// Whether it is a comment. A record with the usual number of fields is data, whatever it starts
/// with.
pub(super) fn is_comment(row: &[Cow<'_, str>], usual: usize) -> bool {
    row.len() != usual && row.first().is_some_and(|cell| cell.trim_start().starts_with('#'))
}

/// One label for each field of a record.
fn labels(head: &[Cow<'_, str>], usual: usize, has_header: bool, row_names: bool) -> Vec<String> {
    let width = usual.max(head.len()).max(1);
    if !has_header {
        return (1..=width).map(|place| format!("column_{place}")).collect();
    }
    let shift = usize::from(row_names);
    let mut labels = vec![String::new(); shift];
    labels.extend(head.iter().map(|cell| label(cell)));
    labels.resize(width.max(labels.len()), String::new());
    labels
}

/// The words of a header cell on one line, cut when they are a whole paragraph.
fn label(cell: &str) -> String {
    let label = cell.split_whitespace().collect::<Vec<_>>().join(" ");
    if label.chars().count() > LONGEST_LABEL {
        label.chars().take(LONGEST_LABEL).chain(['…']).collect()
    } else {
        label
    }
}

/// How many lines a text has, all of them ended.
fn line_count(text: &str) -> usize {
    let feeds = text.bytes().filter(|b| *b == b'\n').count();
    if feeds > 0 { feeds } else { text.bytes().filter(|b| *b == b'\r').count() }
}

/// How most lines end.
fn terminator(text: &str) -> Terminator {
    let feeds = text.bytes().filter(|b| *b == b'\n').count();
    let both = text.matches("\r\n").count();
    let returns = text.bytes().filter(|b| *b == b'\r').count();
    if both * 2 > feeds {
        Terminator::CrLf
    } else if feeds == 0 && returns > 0 {
        Terminator::Cr
    } else {
        Terminator::Lf
    }
}
