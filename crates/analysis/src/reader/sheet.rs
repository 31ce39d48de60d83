//! Finds the tables in a worksheet: titles above, notes below, merged headers, several tables on
//! one sheet.
//!
//! A sheet is split at blank columns and blank rows into blocks. A block that continues the table
//! above is joined to it again; a block of a few words is a note. Whatever is omitted is reported
//! in `warnings`, with its row in the sheet.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use chrono::NaiveDateTime;

use super::header;
use super::layout::Row;
use super::read::{Read, count};
use super::sheet_columns;
use super::sheet_totals;

/// How many records are used to find the header.
const LOOKED_AT: usize = 60;
/// Maximum number of header rows.
const DEEPEST_HEADER: usize = 4;
/// Maximum length of a joined header label.
const LONGEST_LABEL: usize = 200;

/// One cell of a worksheet.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Cell {
    /// Nothing.
    #[default]
    Empty,
    /// A number.
    Number(f64),
    /// Words.
    Text(String),
    /// True or false.
    Bool(bool),
    /// A day or a moment.
    Moment(NaiveDateTime),
    /// A time of the day or a duration, as `hours:minutes:seconds`.
    Clock(String),
    /// An error such as `#DIV/0!`.
    Error(&'static str),
}

impl Cell {
    /// Holds nothing, or only spaces.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Text(text) => text.trim().is_empty(),
            _ => false,
        }
    }

    /// The cell as a CSV file would have it.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Empty => Cow::Borrowed(""),
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Text(text) | Self::Clock(text) => Cow::Borrowed(text),
            Self::Bool(truth) => Cow::Borrowed(if *truth { "true" } else { "false" }),
            Self::Moment(moment) => Cow::Owned(show(*moment)),
            Self::Error(name) => Cow::Borrowed(name),
        }
    }
}

/// A day without its midnight, a moment with its seconds.
pub(super) fn show(moment: NaiveDateTime) -> String {
    let midnight = moment.time() == chrono::NaiveTime::MIN;
    moment.format(if midnight { "%Y-%m-%d" } else { "%Y-%m-%dT%H:%M:%S%.f" }).to_string()
}

/// One row that holds something, up to its last filled cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SheetRow {
    /// Its place in the sheet, from 0.
    pub number: u32,
    /// Its cells from column A.
    pub cells: Vec<Cell>,
}

/// Merged cells; the value is in the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First row, from 0.
    pub top: u32,
    /// First column, from 0.
    pub left: u32,
    /// Last row.
    pub bottom: u32,
    /// Last column.
    pub right: u32,
}

/// A worksheet: only rows that hold something.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sheet {
    /// Its name.
    pub name: String,
    /// The rows in order.
    pub rows: Vec<SheetRow>,
    /// Merged cells.
    pub spans: Vec<Span>,
    /// Formulas whose value is not stored in the file.
    pub uncomputed: usize,
}

impl Sheet {
    fn cell(&self, row: usize, column: usize) -> &Cell {
        static EMPTY: Cell = Cell::Empty;
        self.rows.get(row).and_then(|row| row.cells.get(column)).unwrap_or(&EMPTY)
    }

    fn number(&self, row: usize) -> u32 {
        self.rows.get(row).map_or(0, |row| row.number)
    }
}

/// A table that was found in a sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetTable {
    /// The words above it, when there are some.
    pub title: Option<String>,
    /// The table.
    pub read: Read,
}

/// A rectangle of a sheet: places in `Sheet::rows`, and columns.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    rows: Vec<usize>,
    columns: Range<usize>,
}

/// All tables of a sheet, and warnings about what was omitted.
#[must_use]
pub fn find_tables(sheet: &Sheet) -> (Vec<SheetTable>, Vec<String>) {
    let width = sheet.rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let whole = Block { rows: (0..sheet.rows.len()).collect(), columns: 0..width };
    let mut blocks = Vec::new();
    cut(sheet, whole, &mut blocks);
    let tables: Vec<bool> = blocks.iter().map(|block| is_table(sheet, block, &blocks)).collect();
    let (mut found, mut warnings, mut title) = (Vec::new(), Vec::new(), None);
    for (block, is_table) in blocks.iter().zip(tables) {
        if is_table {
            let mut table = read_block(sheet, block);
            table.title = table.title.or_else(|| title.take());
            title = None;
            found.push(table);
        } else {
            let words = words_of(sheet, block);
            if block.rows.len() == 1 && title.is_none() {
                title = Some(words.clone());
            }
            warnings.push(format!(
                "{}: {} was read as a note and left out: {}",
                sheet.name,
                place(sheet, block),
                shorten(&words)
            ));
        }
    }
    (found, warnings)
}

/// The words of a note on one line.
fn words_of(sheet: &Sheet, block: &Block) -> String {
    let cells =
        block.rows.iter().flat_map(|row| block.columns.clone().map(|column| sheet.cell(*row, column)));
    let texts: Vec<String> =
        cells.filter(|cell| !cell.is_blank()).map(|cell| cell.text().trim().to_owned()).collect();
    texts.join(" ")
}

fn shorten(words: &str) -> String {
    let short: String = words.chars().take(80).collect();
    if short.len() < words.len() { format!("{short}…") } else { short }
}

/// The location of a block in spreadsheet terms: `row 3`, `rows 3 to 7`.
fn place(sheet: &Sheet, block: &Block) -> String {
    let (first, last) = (block.rows.first(), block.rows.last());
    let number = |row: Option<&usize>| row.map_or(0, |row| sheet.number(*row)) + 1;
    match (number(first), number(last)) {
        (first, last) if first == last => format!("row {first}"),
        (first, last) => format!("rows {first} to {last}"),
    }
}

/// Splits at blank columns, then at blank rows, until nothing can be split.
#[allow(clippy::needless_pass_by_value, reason = "a block is cut up or kept")]
fn cut(sheet: &Sheet, block: Block, blocks: &mut Vec<Block>) {
    let beside = beside(sheet, &block);
    if beside.len() > 1 {
        for part in beside {
            cut(sheet, part, blocks);
        }
        return;
    }
    let Some(block) = beside.into_iter().next() else { return };
    let below = below(sheet, &block);
    if below.len() > 1 {
        for part in below {
            cut(sheet, part, blocks);
        }
    } else if let Some(block) = below.into_iter().next() {
        blocks.push(block);
    }
}

/// The parts of a block between its blank columns, each with its filled rows only.
fn beside(sheet: &Sheet, block: &Block) -> Vec<Block> {
    let mut filled = vec![false; block.columns.len()];
    for row in &block.rows {
        for (place, column) in block.columns.clone().enumerate() {
            if let Some(mark) = filled.get_mut(place).filter(|mark| !**mark) {
                *mark = !sheet.cell(*row, column).is_blank();
            }
        }
    }
    let mut parts: Vec<Block> = Vec::new();
    let mut start = None;
    for (place, mark) in filled.iter().copied().chain([false]).enumerate() {
        match (mark, start) {
            (true, None) => start = Some(place),
            (false, Some(first)) => {
                let columns = block.columns.start + first..block.columns.start + place;
                parts.push(with_filled_rows(sheet, &block.rows, columns));
                start = None;
            }
            _ => {}
        }
    }
    join_spaced(sheet, parts)
}

/// Reports leave a narrow column empty between their columns: a one-column part beside a part of
/// the same height belongs to it.
fn join_spaced(sheet: &Sheet, parts: Vec<Block>) -> Vec<Block> {
    let mut joined: Vec<Block> = Vec::new();
    for part in parts {
        if let Some(last) = joined.last_mut()
            && (part.columns.len() == 1 || last.columns.len() == 1)
            && part.columns.start - last.columns.end == 1
            && last.rows.len() > 1
            && (last.rows.last() == part.rows.last() || last.rows.first() == part.rows.first())
            && part.rows.len() * 2 > last.rows.len()
            && last.rows.len() * 2 > part.rows.len()
        {
            *last =
                with_filled_rows(sheet, &merge(&last.rows, &part.rows), last.columns.start..part.columns.end);
        } else {
            joined.push(part);
        }
    }
    joined
}

fn merge(left: &[usize], right: &[usize]) -> Vec<usize> {
    let mut rows: Vec<usize> = left.iter().chain(right).copied().collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

fn with_filled_rows(sheet: &Sheet, rows: &[usize], columns: Range<usize>) -> Block {
    let filled = |row: &&usize| columns.clone().any(|column| !sheet.cell(**row, column).is_blank());
    Block { rows: rows.iter().filter(filled).copied().collect(), columns }
}

/// The parts of a block between its blank rows. A part without its own header continues the table
/// above.
fn below(sheet: &Sheet, block: &Block) -> Vec<Block> {
    let mut parts: Vec<Block> = Vec::new();
    let mut last = None;
    for row in &block.rows {
        let number = sheet.number(*row);
        let apart = last.is_none_or(|last| number > last + 1);
        last = Some(number);
        match parts.last_mut() {
            Some(part) if !apart => part.rows.push(*row),
            _ => parts.push(Block { rows: vec![*row], columns: block.columns.clone() }),
        }
    }
    let mut joined: Vec<Block> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(above) if continues(sheet, above, &part) => above.rows.extend(part.rows),
            _ => joined.push(part),
        }
    }
    joined
}

/// Whether a part below a blank row continues the table above.
fn continues(sheet: &Sheet, above: &Block, part: &Block) -> bool {
    let filled = |block: &Block, row: usize| {
        block.columns.clone().filter(|column| !sheet.cell(row, *column).is_blank()).count()
    };
    let widest = |block: &Block| block.rows.iter().map(|row| filled(block, *row)).max().unwrap_or(0);
    let (upper, lower) = (widest(above), widest(part));
    if above.rows.len() < 2 || upper < 2 || lower < 2 || lower > upper {
        return false;
    }
    let typed = |row: usize| {
        let cells =
            part.columns.clone().map(|column| sheet.cell(row, column)).filter(|cell| !cell.is_blank());
        cells.filter(|cell| !matches!(cell, Cell::Text(_))).count()
    };
    let Some(first) = part.rows.first().copied() else { return false };
    if part.rows.len() == 1 {
        return typed(first) > 0;
    }
    // A row of names over values is a separate table.
    let rows = texts(sheet, part, LOOKED_AT);
    let Some((head, table)) = rows.split_first() else { return false };
    let table: Vec<&Row<'_>> = table.iter().collect();
    typed(first) > 0 && !header::has_header(head, &table)
}

/// The first rows of a block as text.
fn texts<'a>(sheet: &'a Sheet, block: &Block, limit: usize) -> Vec<Row<'a>> {
    let row = |row: &usize| block.columns.clone().map(|column| sheet.cell(*row, column).text()).collect();
    block.rows.iter().take(limit).map(row).collect()
}

/// Is a block a table, or a note beside one?
fn is_table(sheet: &Sheet, block: &Block, all: &[Block]) -> bool {
    let (height, width) = (block.rows.len(), block.columns.len());
    let alone = all.len() == 1;
    let larger =
        all.iter().any(|other| other != block && other.columns.len() > width.max(1) && other.rows.len() > 1);
    let words = |column: usize| {
        block.rows.iter().all(|row| matches!(sheet.cell(*row, column), Cell::Text(_) | Cell::Empty))
    };
    if height < 2 || width == 0 {
        return alone && width > 1;
    }
    if width == 1 {
        return alone || !(larger && words(block.columns.start));
    }
    // `Prepared by: | Ann` above a table.
    let named = |row: &usize| matches!(sheet.cell(*row, block.columns.start), Cell::Text(text) if text.trim_end().ends_with(':'));
    !(width == 2 && larger && height <= 8 && block.rows.iter().filter(|row| named(row)).count() * 2 > height)
}

/// Reads the table of a block.
fn read_block(sheet: &Sheet, block: &Block) -> SheetTable {
    let top = texts(sheet, block, LOOKED_AT);
    // A title is one cell: without the empty cells beside it, it is a short record as in a text
    // file.
    let trimmed: Vec<Row<'_>> = (top.iter())
        .map(|row| {
            let end = row.iter().rposition(|cell| !cell.trim().is_empty()).map_or(0, |last| last + 1);
            row.iter().take(end).cloned().collect()
        })
        .collect();
    let first = header::first_of_table(&trimmed);
    let title = top.iter().take(first).find_map(|row| row.iter().find(|cell| !cell.trim().is_empty()));
    let title = title.map(|title| title.trim().to_owned());
    let depth = header_depth(sheet, block, first, &top);
    let body: Vec<&Row<'_>> = top.iter().skip(first + depth).collect();
    let head: Row<'_> = top.get(first + depth - 1).cloned().unwrap_or_default();
    let has_header =
        depth > 1 || header::has_header(&head, &body) || all_words_over_values(sheet, block, first);
    let mut warnings = Vec::new();
    if first > 0 {
        warnings.push(format!("{} above the table left out.", rows_were(first)));
    }
    let labels: Vec<String> = if has_header {
        block.columns.clone().map(|column| label(sheet, block, first, depth, column)).collect()
    } else {
        warnings.push("The table has no row of column names: they are column_1, column_2….".to_owned());
        (1..=block.columns.len()).map(|place| format!("column_{place}")).collect()
    };
    let skipped = first + if has_header { depth } else { 0 };
    let names: Vec<String> = head.iter().map(|cell| cell.trim().to_owned()).collect();
    let rows = body_rows(sheet, block, skipped, has_header.then_some(&names), &mut warnings);
    let rows = sheet_totals::leave_out(rows, &labels, &mut warnings);
    if sheet.uncomputed > 0 {
        warnings.push(format!(
            "{} on the sheet {} no stored value and count as empty: open the file in a spreadsheet program \
                and save it.",
            count(sheet.uncomputed, "formula"),
            if sheet.uncomputed == 1 { "has" } else { "have" }
        ));
    }
    SheetTable { title, read: sheet_columns::read(&rows, &labels, has_header, warnings) }
}

fn rows_were(number: usize) -> String {
    format!("{} {}", count(number, "row"), if number == 1 { "was" } else { "were" })
}

/// Text above cells that are all numbers or dates is a header, whatever it looks like.
fn all_words_over_values(sheet: &Sheet, block: &Block, first: usize) -> bool {
    let Some(head) = block.rows.get(first) else { return false };
    let words = block.columns.clone().all(|column| matches!(sheet.cell(*head, column), Cell::Text(_)));
    let typed = block.columns.clone().any(|column| {
        let mut below = (block.rows.iter().skip(first + 1))
            .map(|row| sheet.cell(*row, column))
            .filter(|cell| !cell.is_blank());
        below.clone().next().is_some() && below.all(|cell| !matches!(cell, Cell::Text(_)))
    });
    words && typed
}

/// The number of header rows: from merged cells, or a row of groups over a row of names.
fn header_depth(sheet: &Sheet, block: &Block, first: usize, top: &[Row<'_>]) -> usize {
    let row_at = |place: usize| block.rows.get(place).map(|row| sheet.number(*row));
    let Some(start) = row_at(first) else { return 1 };
    let inside = |span: &&Span| {
        let (left, right) = (span.left as usize, span.right as usize);
        left >= block.columns.start && right < block.columns.end && span.top >= start
    };
    let mut depth = 1;
    while depth < DEEPEST_HEADER {
        let Some(number) = row_at(first + depth - 1) else { break };
        let here =
            || sheet.spans.iter().filter(inside).filter(|span| span.top <= number && span.bottom >= number);
        let deeper = here().any(|span| span.bottom > number);
        let grouped = here().any(|span| span.right > span.left && span.bottom == number);
        let next = block.rows.get(first + depth);
        // Below a group stand names, not values.
        let names = next.is_some_and(|row| {
            let cells = || block.columns.clone().map(|column| sheet.cell(*row, column));
            cells().any(|cell| matches!(cell, Cell::Text(_)))
                && cells().filter(|cell| matches!(cell, Cell::Number(n) if !is_year(*n))).count() == 0
        });
        if (deeper || grouped) && names {
            depth += 1;
        } else {
            break;
        }
    }
    if depth == 1 && header::is_upper_header(top.get(first..).unwrap_or_default()) {
        depth = 2;
    }
    depth
}

fn is_year(number: f64) -> bool {
    number.fract() == 0.0 && (1800.0..=2200.0).contains(&number)
}

/// The words over a column, from the top down. A merged cell stands over all of its columns.
fn label(sheet: &Sheet, block: &Block, first: usize, depth: usize, column: usize) -> String {
    let mut words: Vec<String> = Vec::new();
    for level in 0..depth {
        let Some(row) = block.rows.get(first + level).copied() else { continue };
        let number = sheet.number(row);
        let span = sheet.spans.iter().find(|span| {
            (span.top..=span.bottom).contains(&number)
                && (span.left as usize..=span.right as usize).contains(&column)
        });
        let cell = match span {
            Some(span) => {
                let top = sheet.rows.binary_search_by_key(&span.top, |row| row.number);
                top.map_or(sheet.cell(row, column), |top| sheet.cell(top, span.left as usize))
            }
            // Without merged cells a group extends to the next one.
            None if level + 1 < depth && sheet.spans.is_empty() => (block.columns.start..=column)
                .rev()
                .map(|column| sheet.cell(row, column))
                .find(|cell| !cell.is_blank())
                .unwrap_or(&Cell::Empty),
            None => sheet.cell(row, column),
        };
        let text = cell.text().split_whitespace().collect::<Vec<_>>().join(" ");
        if !text.is_empty() && words.last() != Some(&text) {
            words.push(text);
        }
    }
    words.join(" ").chars().take(LONGEST_LABEL).collect()
}

/// A row below the header, with its place in the sheet from 1.
pub(super) type BodyRow = (u32, Vec<Cell>);

/// The rows below the header. Vertically merged cells count in each of their rows; repeated headers
/// are omitted.
fn body_rows(
    sheet: &Sheet,
    block: &Block,
    skipped: usize,
    names: Option<&Vec<String>>,
    warnings: &mut Vec<String>,
) -> Vec<BodyRow> {
    let mut merged: HashMap<(u32, usize), Cell> = HashMap::new();
    for span in sheet.spans.iter().filter(|span| span.bottom > span.top && span.left == span.right) {
        let column = span.left as usize;
        let Ok(top) = sheet.rows.binary_search_by_key(&span.top, |row| row.number) else { continue };
        let cell = sheet.cell(top, column);
        for row in sheet.rows.iter().skip(top + 1).take_while(|row| row.number <= span.bottom) {
            merged.insert((row.number, column), cell.clone());
        }
    }
    let mut repeated = 0;
    let mut rows = Vec::with_capacity(block.rows.len());
    for row in block.rows.iter().skip(skipped) {
        let number = sheet.number(*row);
        let cells: Vec<Cell> = (block.columns.clone())
            .map(|column| match merged.get(&(number, column)) {
                Some(cell) => cell.clone(),
                None => sheet.cell(*row, column).clone(),
            })
            .collect();
        if names.is_some_and(|names| {
            names.len() > 1 && names.iter().zip(&cells).all(|(name, cell)| *name == cell.text().trim())
        }) {
            repeated += 1;
            continue;
        }
        rows.push((number + 1, cells));
    }
    if repeated > 0 {
        warnings.push(format!("{} that repeated the column names left out.", rows_were(repeated)));
    }
    rows
}
