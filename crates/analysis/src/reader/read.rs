//! Reads a small file into a frame: delimited text here, JSON through `json`.
//!
//! Whatever could not be read as written is counted and reported in `warnings`; the only errors are
//! files without a table. Memory is bounded by the size of the file and by the constants below.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::encoding::{self, Charset, Detected};
use super::error::ReadError;
use super::json;
use super::layout::{self, Layout};
use super::names;
use super::records::Records;
use super::sheet_totals::{self, TotalLines};
use super::value_format::{Guess, ValueFormat, guess, is_nothing};
use crate::frame::{Field, Frame, Value};

/// Larger files are not read into memory.
pub const MOST_BYTES: usize = 512 << 20;
/// At most this many cells are held.
pub const MOST_CELLS: usize = 20_000_000;
/// Maximum number of original time spellings kept for a column.
const MOST_SPELLED: usize = 20_000;
/// How much of a file is used to detect its encoding.
const SAMPLE: usize = 1 << 18;

/// How one column was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnRead {
    /// Where the column stands in a record of the file.
    pub source: usize,
    /// How its values are read.
    pub format: ValueFormat,
    /// How many values are empty.
    pub nulls: usize,
    /// How many values did not fit and were read as null.
    pub bad: usize,
    /// The assumptions.
    pub assumptions: Vec<String>,
    /// What a profile says about the reading, and answers do not.
    pub notes: Vec<String>,
    /// Whether every value is in machine format.
    pub plain: bool,
    /// For times in local formats: the original spelling of each.
    pub spelled: BTreeMap<String, String>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The table. Its fields have names for SQL.
    pub frame: Frame,
    /// The names as in the file, one for each field.
    pub labels: Vec<String>,
    /// How each column was read.
    pub columns: Vec<ColumnRead>,
    /// Warnings for people.
    pub warnings: Vec<String>,
    /// How the file is laid out; `None` for JSON.
    pub layout: Option<Layout>,
    /// The name of its encoding.
    pub encoding: &'static str,
    /// There are more rows than were asked for.
    pub cut: bool,
}

/// The text of a file.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) charset: Charset,
    pub(super) warnings: Vec<String>,
}

/// Decodes a file.
pub(super) fn text_of(bytes: &[u8]) -> Result<Text, ReadError> {
    if bytes.len() > MOST_BYTES {
        return Err(ReadError::TooLarge { what: "The file (in bytes)", limit: MOST_BYTES });
    }
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    let charset = match encoding::detect(bytes.get(..SAMPLE).unwrap_or(bytes)) {
        Detected::Text(charset) => charset,
        Detected::Binary(what) => return Err(ReadError::Binary(what)),
    };
    let mut decoded = encoding::decode(bytes, charset);
    let mut charset = charset;
    // The sample was plain ASCII, and the rest of the file is in a legacy encoding.
    if decoded.bad > 0
        && charset.is_utf8()
        && charset.mark == 0
        && let Detected::Text(other) = encoding::detect(bytes)
    {
        charset = other;
        decoded = encoding::decode(bytes, charset);
    }
    let mut warnings = Vec::new();
    if !charset.sure {
        warnings
            .push(format!("The encoding was guessed to be {}: check letters with accents.", charset.name()));
    }
    if decoded.bad > 0 {
        warnings.push(format!("{} could not be read and became \u{fffd}.", count(decoded.bad, "character")));
    }
    // A duplicated byte order mark is not part of the first name.
    if decoded.text.starts_with('\u{feff}') {
        decoded.text = decoded.text.trim_start_matches('\u{feff}').to_owned();
    }
    Ok(Text { text: decoded.text, charset, warnings })
}

/// `1 row`, `2 rows`.
pub(crate) fn count(number: usize, word: &str) -> String {
    if number == 1 {
        format!("1 {word}")
    } else {
        format!("{} {word}s", crate::frame::group(number as f64, 0, false))
    }
}

/// Cells in rows of one width, as written in the file.
pub(super) struct Cells<'a> {
    pub(super) width: usize,
    pub(super) cells: Vec<Cow<'a, str>>,
}

impl Cells<'_> {
    /// The values of a column.
    pub(super) fn column(&self, place: usize) -> impl Iterator<Item = &str> + Clone {
        self.cells.iter().skip(place).step_by(self.width.max(1)).map(AsRef::as_ref)
    }
}

/// Reads a file of any kind that is known here: JSON when it starts like JSON, delimited text
/// otherwise.
///
/// # Errors
/// When there is no table in it.
pub fn read_any(bytes: &[u8], limit_rows: usize) -> Result<Read, ReadError> {
    let text = text_of(bytes)?;
    match text.text.trim_start_matches('\u{feff}').trim_start().chars().next() {
        Some('{') if json::starts_with_line(&text.text) => lines_of(text, limit_rows),
        Some('{' | '[') => {
            let table = json::table(&text.text, limit_rows)?;
            Ok(from_table(table, text.charset, text.warnings))
        }
        _ => table_of(text, limit_rows),
    }
}

/// Reads delimited text.
///
/// # Errors
/// When there is no table in it.
pub fn read_csv(bytes: &[u8], limit_rows: usize) -> Result<Read, ReadError> {
    table_of(text_of(bytes)?, limit_rows)
}

/// Inspects the first part of a large file: its layout and the format of its columns. The last line
/// of the sample is ignored, because it may be truncated.
///
/// # Errors
/// If there is no table in it.
pub fn inspect(sample: &[u8], limit_rows: usize) -> Result<Read, ReadError> {
    let mut text = text_of(sample)?;
    if let Some(end) = text.text.rfind(['\n', '\r']) {
        text.text.truncate(end + 1);
    }
    // A multi-line value may be truncated as well.
    let layout = layout::sniff(&text.text)?;
    if layout.newlines_in_values {
        let mut records = Records::new(&text.text, layout.shape());
        let mut row = Vec::new();
        while records.next_into(&mut row) {}
        if let Some(start) = records.open_at.filter(|start| *start > layout.skip_bytes) {
            text.text.truncate(start);
        }
    }
    let mut read = table_of(text, limit_rows)?;
    read.cut = true;
    Ok(read)
}

/// Reads delimited text that was decoded.
fn table_of(text: Text, limit_rows: usize) -> Result<Read, ReadError> {
    let Text { text, charset, mut warnings } = text;
    let layout = layout::sniff(&text)?;
    let (cells, cut) = cells(&text, &layout, limit_rows, &mut warnings);
    if layout.skip > 0 {
        warnings.push(format!(
            "{} before the table {} skipped.",
            count(layout.skip, "line"),
            was(layout.skip)
        ));
    }
    if !layout.has_header {
        warnings.push("The file has no line of column names: they are column_1, column_2….".to_owned());
    }
    let mut read =
        assemble(cells, &layout.columns, &layout.labels, layout.decimal_comma, layout.has_header, warnings);
    if cut {
        read.warnings.push(format!("Only the first {} were read.", count(read.frame.rows.len(), "row")));
    }
    read.cut = cut;
    read.layout = Some(layout);
    read.encoding = charset.name();
    Ok(read)
}

/// `was` or `were`.
fn was(number: usize) -> &'static str {
    if number == 1 { "was" } else { "were" }
}

/// Irregularities of the records of a file.
#[derive(Default)]
struct Odd {
    repeated: usize,
    short: usize,
    long: usize,
    quotes: usize,
}

impl Odd {
    /// Adds them to the warnings.
    fn warn(&self, warnings: &mut Vec<String>) {
        if self.repeated > 0 {
            let (rows, was) = (count(self.repeated, "row"), was(self.repeated));
            warnings.push(format!("{rows} that repeated the column names {was} left out."));
        }
        if self.short > 0 {
            let rows = count(self.short, "row");
            warnings
                .push(format!("{rows} had fewer values than there are columns: the missing ones are empty."));
        }
        if self.long > 0 {
            let rows = count(self.long, "row");
            warnings.push(format!("{rows} had more values than there are columns: the rest was left out."));
        }
        if self.quotes > 0 {
            let (quotes, was) = (count(self.quotes, "quote"), was(self.quotes));
            warnings.push(format!("{quotes} {was} not closed properly: check the values there."));
        }
    }
}

/// The records below the header, padded or truncated to the columns, and whether there were more.
fn cells<'a>(
    text: &'a str,
    layout: &Layout,
    limit_rows: usize,
    warnings: &mut Vec<String>,
) -> (Cells<'a>, bool) {
    let width = layout.labels.len().max(1);
    let limit = limit_rows.min(MOST_CELLS / width).saturating_mul(width);
    let mut records = Records::new(text.get(layout.skip_bytes..).unwrap_or_default(), layout.shape());
    let (mut cells, mut row, mut names, mut odd, mut more) =
        (Vec::new(), Vec::new(), Vec::new(), Odd::default(), false);
    if layout.has_header {
        records.next_into(&mut names);
    }
    if layout.ruled {
        records.next_into(&mut row);
    }
    while records.next_into(&mut row) {
        if layout.comment.is_some() && layout::is_comment(&row, width) {
            continue;
        }
        // Concatenated files repeat their header.
        if names.len() > 1 && row == names {
            odd.repeated += 1;
            continue;
        }
        if cells.len() >= limit {
            more = true;
            break;
        }
        odd.short += usize::from(row.len() < width);
        // Separators after the last value are not values.
        odd.long += usize::from(row.iter().skip(width).any(|cell| !cell.trim().is_empty()));
        row.resize(width, Cow::Borrowed(""));
        row.iter_mut().for_each(unwrap_formula);
        cells.append(&mut row);
    }
    odd.quotes = records.broken_quotes;
    odd.warn(warnings);
    (Cells { width, cells }, more)
}

/// Values are written as formulas to keep leading zeros: `="00123"`.
fn unwrap_formula(cell: &mut Cow<'_, str>) {
    let inner = cell.strip_prefix("=\"").and_then(|rest| rest.strip_suffix('"'));
    if let Some(inner) = inner.filter(|inner| !inner.contains('"')) {
        *cell = Cow::Owned(inner.to_owned());
    }
}

/// Decides how each column is read, and reads it. Lines of totals are left out: they would double
/// every sum, and their label may not fit its column.
pub(super) fn assemble(
    mut cells: Cells<'_>,
    names: &[String],
    labels: &[String],
    decimal_comma: bool,
    named: bool,
    warnings: Vec<String>,
) -> Read {
    let mut read = columns_of(&cells, names, labels, decimal_comma, named, warnings.clone());
    let totals = total_lines(&cells, &read);
    if !totals.is_empty() {
        let (width, mut place) = (cells.width.max(1), 0_usize);
        cells.cells.retain(|_| {
            place += 1;
            !totals.is_total((place - 1) / width)
        });
        read = columns_of(&cells, names, labels, decimal_comma, named, warnings);
    }
    totals.warn(&|row| row + 1, &mut read.warnings);
    read
}

/// The lines that add up the lines above.
fn total_lines(cells: &Cells<'_>, read: &Read) -> TotalLines {
    let width = cells.width.max(1);
    let value = |row: usize, column: usize| read.frame.rows.get(row).and_then(|row| row.get(column));
    let is_number = |column: usize| read.frame.fields.get(column).is_some_and(|field| field.kind.is_number());
    let label = |row: usize| {
        let text = (read.columns.iter().enumerate()).find_map(|(column, of)| {
            let text = cells.cells.get(row * width + of.source)?.trim();
            let is_word = !is_nothing(text) && (!is_number(column) || value(row, column)?.is_null());
            is_word.then_some(text)
        })?;
        sheet_totals::is_total_label(text).then(|| text.to_owned())
    };
    let number = |row: usize, column: usize| value(row, column)?.number().filter(|_| is_number(column));
    sheet_totals::find(read.frame.rows.len(), read.frame.fields.len(), label, number)
}

/// Decides how each column is read, and reads it.
fn columns_of(
    cells: &Cells<'_>,
    names: &[String],
    labels: &[String],
    decimal_comma: bool,
    named: bool,
    warnings: Vec<String>,
) -> Read {
    let mut read = Read {
        frame: Frame::default(),
        labels: Vec::new(),
        columns: Vec::new(),
        warnings,
        layout: None,
        encoding: "UTF-8",
        cut: false,
    };
    let mut dropped = 0;
    for (place, (name, label)) in names.iter().zip(labels).enumerate() {
        // Trailing separators on every line make a column without name and values.
        if named
            && label.trim().is_empty()
            && cells.width > 1
            && cells.column(place).all(|cell| cell.trim().is_empty())
        {
            dropped += 1;
            continue;
        }
        add_column(&mut read, place, name, label, guess(cells.column(place), label, decimal_comma));
    }
    if dropped > 0 {
        read.warnings.push(format!(
            "{} without a name and without values {} left out.",
            count(dropped, "column"),
            was(dropped)
        ));
    }
    read.columns.iter_mut().for_each(|column| spell(cells, column));
    read.frame.rows = cells.cells.chunks(cells.width.max(1)).map(|row| values(row, &read.columns)).collect();
    read
}

/// Adds how one column is read, and says what could not be.
fn add_column(read: &mut Read, source: usize, name: &str, label: &str, found: Guess) {
    if found.bad > 0 {
        let shown = if label.is_empty() { name } else { label };
        let (values, was, examples) = (count(found.bad, "value"), was(found.bad), found.examples.join(", "));
        read.warnings.push(format!("{shown}: {values} did not fit and {was} read as empty ({examples})."));
    }
    read.frame.fields.push(Field { name: name.to_owned(), kind: found.kind, unit: found.unit });
    read.labels.push(label.to_owned());
    read.columns.push(ColumnRead {
        source,
        format: found.format,
        nulls: found.nulls,
        bad: found.bad,
        assumptions: found.assumptions,
        notes: found.notes,
        plain: found.plain,
        spelled: BTreeMap::new(),
    });
}

/// The original spellings of a column's times, so that answers can show them as written.
fn spell(cells: &Cells<'_>, column: &mut ColumnRead) {
    if column.plain || !column.format.kind().is_time() {
        return;
    }
    for cell in cells.column(column.source) {
        let value = column.format.value(cell);
        if !value.is_null() && column.spelled.len() < MOST_SPELLED {
            column.spelled.entry(value.plain()).or_insert_with(|| cell.trim().to_owned());
        }
    }
}

/// The cells of one row.
fn values(row: &[Cow<'_, str>], columns: &[ColumnRead]) -> Vec<Value> {
    columns
        .iter()
        .map(|column| row.get(column.source).map_or(Value::Null, |cell| column.format.value(cell)))
        .collect()
}

/// Reads JSON: a list of objects, an object of lists, or an object that holds a list of objects.
///
/// # Errors
/// When it is not JSON, or when there are no records in it.
pub fn read_json(bytes: &[u8], limit_rows: usize) -> Result<Read, ReadError> {
    let Text { text, charset, warnings } = text_of(bytes)?;
    let table = json::table(&text, limit_rows)?;
    Ok(from_table(table, charset, warnings))
}

/// Reads one JSON object from each line. Lines that are broken are counted and left out.
///
/// # Errors
/// When no line is good.
pub fn read_ndjson(bytes: &[u8], limit_rows: usize) -> Result<Read, ReadError> {
    lines_of(text_of(bytes)?, limit_rows)
}

/// Reads one JSON object from each line of a text that was decoded.
fn lines_of(text: Text, limit_rows: usize) -> Result<Read, ReadError> {
    let Text { text, charset, mut warnings } = text;
    let (table, bad) = json::lines(&text, limit_rows)?;
    if bad.count > 0 {
        let lines = count(bad.count, "line");
        let (first, was) = (bad.first, was(bad.count));
        warnings
            .push(format!("{lines} {was} not a JSON object and {was} left out (the first is line {first})."));
    }
    Ok(from_table(table, charset, warnings))
}

/// Reads the cells of a JSON table.
fn from_table(table: json::Table, charset: Charset, warnings: Vec<String>) -> Read {
    let json::Table { labels, cells, cut } = table;
    let names = names::unique(&labels);
    let cells = Cells { width: labels.len().max(1), cells: cells.into_iter().map(Cow::Owned).collect() };
    let mut read = assemble(cells, &names, &labels, false, false, warnings);
    if cut {
        read.warnings.push(format!("Only the first {} were read.", count(read.frame.rows.len(), "row")));
    }
    read.cut = cut;
    read.encoding = charset.name();
    read
}
