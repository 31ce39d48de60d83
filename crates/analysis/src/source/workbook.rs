//! Workbooks as sheets: Excel's three formats and OpenDocument, read by `calamine`.
//!
//! Invariant: nothing is parsed before its size is known. The parts of a workbook are unpacked once
//! within bounds, cells are counted while they are read, and a panic of the parser is reported as
//! an error of the file.

use super::unpack;
use crate::error::{Error, Result};
use crate::reader::read::MOST_CELLS;
use crate::reader::sheet::{Cell, Sheet, SheetRow, Span};
use calamine::{
    CellErrorType, Data, DataRef, Dimensions, ExcelDateTime, Ods, OdsError, Reader, SheetType, SheetVisible,
    Xls, XlsError, Xlsb, XlsbError, Xlsx, XlsxError,
};
use chrono::{NaiveDate, NaiveDateTime};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// No spreadsheet program writes more columns.
const MOST_COLUMNS: u32 = 16_384;

/// The kinds of workbooks, detected from the contents of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Xlsx,
    Xlsb,
    Xls,
    Ods,
}

/// The contents of a workbook.
pub(crate) struct Book {
    pub(crate) sheets: Vec<Sheet>,
    /// Sheets that were skipped, and why.
    pub(crate) warnings: Vec<String>,
}

/// Reads all visible worksheets.
pub(crate) fn read(path: &Path, kind: Kind) -> Result<Book> {
    if kind != Kind::Xls {
        unpack::check_parts(path)?;
    }
    let reading = AssertUnwindSafe(|| match kind {
        Kind::Xlsx => xlsx(path),
        Kind::Xlsb => xlsb(path),
        Kind::Xls => xls(path),
        Kind::Ods => ods(path),
    });
    catch_unwind(reading).unwrap_or_else(|_| Err(broken(path, "its parts contradict each other")))
}

fn broken(path: &Path, detail: impl std::fmt::Display) -> Error {
    let detail =
        format!("the workbook is damaged ({detail}). Open it in a spreadsheet program and save it again");
    Error::Format { path: path.to_owned(), detail }
}

fn open(path: &Path) -> Result<BufReader<File>> {
    let file =
        File::open(path).map_err(|error| Error::File { path: path.to_owned(), detail: error.to_string() })?;
    Ok(BufReader::new(file))
}

/// Visible sheets with cells, and messages about the others.
fn visible(sheets: &[calamine::Sheet]) -> (Vec<String>, Vec<String>) {
    let (mut names, mut hidden) = (Vec::new(), Vec::new());
    for sheet in sheets.iter().filter(|sheet| sheet.typ == SheetType::WorkSheet) {
        let list = if sheet.visible == SheetVisible::Visible { &mut names } else { &mut hidden };
        list.push(sheet.name.clone());
    }
    if names.is_empty() {
        return (hidden, Vec::new());
    }
    let warnings = (!hidden.is_empty()).then(|| {
        format!("hidden sheets were left out: {}. Unhide them to ask about them", hidden.join(", "))
    });
    (names, warnings.into_iter().collect())
}

/// Cells in order of arrival, by row, up to the limit.
struct Cells<'a> {
    path: &'a Path,
    rows: BTreeMap<u32, Vec<(u32, Cell)>>,
    /// Cells of all sheets so far, including gaps.
    held: &'a mut usize,
    uncomputed: usize,
}

impl<'a> Cells<'a> {
    fn new(path: &'a Path, held: &'a mut usize) -> Self {
        Self { path, rows: BTreeMap::new(), held, uncomputed: 0 }
    }

    fn too_large(&self) -> Error {
        let detail = format!(
            "the workbook holds more than {} cells, or cells far from all others. Save the sheet you need as \
                CSV or Parquet",
            crate::frame::group(MOST_CELLS as f64, 0, false)
        );
        Error::Format { path: self.path.to_owned(), detail }
    }

    fn add(&mut self, (row, column): (u32, u32), cell: Cell) -> Result<()> {
        if matches!(cell, Cell::Empty) {
            return Ok(());
        }
        if column >= MOST_COLUMNS {
            let detail = format!(
                "a sheet has a cell in column {}, and no spreadsheet has more than {MOST_COLUMNS}",
                u64::from(column) + 1
            );
            return Err(Error::Format { path: self.path.to_owned(), detail });
        }
        *self.held += 1;
        if *self.held > MOST_CELLS {
            return Err(self.too_large());
        }
        self.rows.entry(row).or_default().push((column, cell));
        Ok(())
    }

    fn sheet(self, name: String, spans: Vec<Span>) -> Result<Sheet> {
        let error = self.too_large();
        let mut rows = Vec::with_capacity(self.rows.len());
        for (number, mut cells) in self.rows {
            cells.sort_by_key(|(column, _)| *column);
            let width = cells.last().map_or(0, |(column, _)| *column as usize + 1);
            *self.held += width - cells.len().min(width);
            if *self.held > MOST_CELLS {
                return Err(error);
            }
            let mut dense = vec![Cell::Empty; width];
            for (column, cell) in cells {
                if let Some(place) = dense.get_mut(column as usize) {
                    *place = cell;
                }
            }
            rows.push(SheetRow { number, cells: dense });
        }
        Ok(Sheet { name, rows, spans, uncomputed: self.uncomputed })
    }
}

fn spans(merged: Vec<Dimensions>) -> Vec<Span> {
    let span = |cells: Dimensions| Span {
        top: cells.start.0,
        left: cells.start.1,
        bottom: cells.end.0,
        right: cells.end.1,
    };
    merged.into_iter().map(span).filter(|span| span.top <= span.bottom && span.left <= span.right).collect()
}

fn xlsx(path: &Path) -> Result<Book> {
    let failed = |error: XlsxError| match error {
        XlsxError::Password => Error::Protected { path: path.to_owned() },
        other => broken(path, other),
    };
    let mut book = Xlsx::new(open(path)?).map_err(failed)?;
    let (names, warnings) = visible(book.sheets_metadata());
    let (mut sheets, mut held) = (Vec::new(), 0);
    for name in names {
        let mut cells = Cells::new(path, &mut held);
        let mut reader = match book.worksheet_cells_reader(&name) {
            Err(XlsxError::NotAWorksheet(_)) => continue,
            other => other.map_err(failed)?,
        };
        while let Some(record) = reader.next_cell_with_formula_metadata().map_err(failed)? {
            let empty = matches!(record.value, DataRef::Empty);
            cells.uncomputed += usize::from(empty && record.formula.is_some());
            cells.add(record.pos, cell(record.value.into()))?;
        }
        drop(reader);
        let merged = book.merge_cells_by_sheet_name(&name).unwrap_or_default();
        sheets.push(cells.sheet(name, spans(merged))?);
    }
    Ok(Book { sheets, warnings })
}

fn xlsb(path: &Path) -> Result<Book> {
    let failed = |error: XlsbError| match error {
        XlsbError::Password => Error::Protected { path: path.to_owned() },
        other => broken(path, other),
    };
    let mut book = Xlsb::new(open(path)?).map_err(failed)?;
    let (names, warnings) = visible(book.sheets_metadata());
    let (mut sheets, mut held) = (Vec::new(), 0);
    for name in names {
        let mut cells = Cells::new(path, &mut held);
        let mut reader = book.worksheet_cells_reader(&name).map_err(failed)?;
        while let Some(found) = reader.next_cell().map_err(failed)? {
            cells.add(found.get_position(), cell(found.get_value().clone().into()))?;
        }
        drop(reader);
        sheets.push(cells.sheet(name, Vec::new())?);
    }
    Ok(Book { sheets, warnings })
}

fn xls(path: &Path) -> Result<Book> {
    let failed = |error: XlsError| match error {
        XlsError::Password => Error::Protected { path: path.to_owned() },
        other => broken(path, other),
    };
    // An encrypted workbook is an old-format container around the new format.
    if matches!(Xlsx::new(open(path)?), Err(XlsxError::Password)) {
        return Err(Error::Protected { path: path.to_owned() });
    }
    let mut book: Xls<_> = Xls::new(open(path)?).map_err(failed)?;
    let (names, warnings) = visible(book.sheets_metadata());
    let (mut sheets, mut held) = (Vec::new(), 0);
    for name in names {
        let range = book.worksheet_range(&name).map_err(failed)?;
        let merged = book.merge_cells_by_sheet_name(&name).unwrap_or_default();
        sheets.push(from_range(path, name, &range, spans(merged), &mut held)?);
    }
    Ok(Book { sheets, warnings })
}

fn ods(path: &Path) -> Result<Book> {
    let failed = |error: OdsError| match error {
        OdsError::Password => Error::Protected { path: path.to_owned() },
        other => broken(path, other),
    };
    let mut book: Ods<_> = Ods::new(open(path)?).map_err(failed)?;
    let (names, warnings) = visible(book.sheets_metadata());
    let (mut sheets, mut held) = (Vec::new(), 0);
    for name in names {
        let range = book.worksheet_range(&name).map_err(failed)?;
        sheets.push(from_range(path, name, &range, Vec::new(), &mut held)?);
    }
    Ok(Book { sheets, warnings })
}

fn from_range(
    path: &Path,
    name: String,
    range: &calamine::Range<Data>,
    spans: Vec<Span>,
    held: &mut usize,
) -> Result<Sheet> {
    let (top, left) = range.start().unwrap_or_default();
    let mut cells = Cells::new(path, held);
    for (row, column, data) in range.used_cells() {
        let at = |start: u32, place: usize| start.saturating_add(u32::try_from(place).unwrap_or(u32::MAX));
        cells.add((at(top, row), at(left, column)), cell(data.clone()))?;
    }
    cells.sheet(name, spans)
}

fn cell(data: Data) -> Cell {
    match data {
        Data::Empty => Cell::Empty,
        Data::Int(number) => Cell::Number(number as f64),
        Data::Float(number) if number.is_finite() => Cell::Number(number),
        Data::Float(_) => Cell::Error("#NUM!"),
        Data::String(text) => Cell::Text(text),
        Data::Bool(truth) => Cell::Bool(truth),
        Data::DateTime(time) => moment(time),
        Data::DateTimeIso(text) => iso(&text).map_or(Cell::Text(text), Cell::Moment),
        Data::DurationIso(text) => duration(&text).map_or(Cell::Text(text), Cell::Clock),
        Data::Error(error) => Cell::Error(match error {
            CellErrorType::Div0 => "#DIV/0!",
            CellErrorType::NA => "#N/A",
            CellErrorType::Name => "#NAME?",
            CellErrorType::Null => "#NULL!",
            CellErrorType::Num => "#NUM!",
            CellErrorType::Ref => "#REF!",
            CellErrorType::Value => "#VALUE!",
            _ => "#ERROR!",
        }),
    }
}

/// A serial number: whole days since 1900 or 1904, and the time of day as a fraction.
fn moment(time: ExcelDateTime) -> Cell {
    let days = time.as_f64();
    if time.is_duration() || (0.0..1.0).contains(&days) {
        return Cell::Clock(clock((days * 86_400.0).round()));
    }
    time.as_datetime().filter(|_| days > 0.0).map_or(Cell::Number(days), Cell::Moment)
}

fn clock(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "-" } else { "" };
    let seconds = seconds.abs() as u64;
    format!("{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// `2024-03-01` or `2024-03-01T12:30:00.5`.
fn iso(text: &str) -> Option<NaiveDateTime> {
    let text = text.trim_end_matches('Z');
    NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f")
        .ok()
        .or_else(|| NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M").ok())
        .or_else(|| {
            NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().map(|day| day.and_time(chrono::NaiveTime::MIN))
        })
}

/// `PT12H30M05S` as `12:30:05`.
fn duration(text: &str) -> Option<String> {
    let (sign, rest) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let mut rest = rest.strip_prefix("PT")?;
    let mut seconds = 0.0;
    for (unit, size) in [('H', 3600.0), ('M', 60.0), ('S', 1.0)] {
        if let Some((number, after)) = rest.split_once(unit) {
            seconds += number.parse::<f64>().ok()? * size;
            rest = after;
        }
    }
    rest.is_empty().then(|| clock((sign * seconds).round()))
}
