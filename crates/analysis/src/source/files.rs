//! Files as tables: small ones are read completely, large ones scanned in place, compressed ones
//! unpacked first.

use crate::catalogue::Table;
use crate::engine::{CsvScan, Engine, ScanColumn};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::profile;
use crate::reader::encoding::{self, Detected};
use crate::reader::{self, Read, sheet};
use crate::session::Options;
use crate::source::remembered::{self, Identity};
use crate::source::unpack::{self, Scratch};
use crate::source::{Format, detect, tabular, workbook};
use datafusion::catalog::TableProvider;
use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Minimum size of a sample.
pub(crate) const SMALLEST_SAMPLE: u64 = 128 << 10;
/// Positions of a large file, beside its start, that are sampled. The start gets four sevenths of
/// the sample.
const SLICES: u64 = 6;
/// Maximum nesting: a compressed file inside a compressed archive.
const DEEPEST: usize = 3;
/// Maximum length of a title that becomes the name of a table.
const LONGEST_NAME: usize = 40;

/// The location of the rows.
#[derive(Clone)]
pub(crate) enum Rows {
    Frame(Arc<Frame>),
    Scan(CsvScan),
    Registered(Arc<dyn TableProvider>),
}

/// A profiled table of a file.
#[derive(Clone)]
pub(crate) struct Loaded {
    /// The base of its name: the file, its archive member, or its sheet.
    pub(crate) stem: String,
    pub(crate) table: Table,
    pub(crate) rows: Rows,
    pub(crate) warnings: Vec<String>,
    pub(crate) assumptions: Vec<String>,
    /// What a profile says about the reading, and answers do not.
    pub(crate) notes: Vec<String>,
    /// Original spellings of times: (column, value, spelling).
    pub(crate) spelled: Vec<(String, BTreeMap<String, String>)>,
    /// Whether files of a series with it are one table.
    pub(crate) series: bool,
    pub(crate) path: PathBuf,
}

/// A plain file: named directly, or unpacked.
struct Piece {
    path: PathBuf,
    /// The path shown to people.
    shown: PathBuf,
    stem: String,
    format: Format,
}

/// Profiles a file and prepares the rows of its tables.
pub(crate) async fn load(
    path: &Path,
    format: Format,
    engine: &Engine,
    options: &Options,
    scratch: &Arc<Scratch>,
) -> Result<Vec<Loaded>> {
    let identity = Identity::of(path, (options.small_file, options.sample));
    if let Some(known) = identity.as_ref().and_then(remembered::recall) {
        return Ok(known.to_vec());
    }
    let tables = read(path, format, engine, options, scratch).await?;
    if let Some(identity) = identity {
        remembered::remember(identity, path, &tables);
    }
    Ok(tables)
}

async fn read(
    path: &Path,
    format: Format,
    engine: &Engine,
    options: &Options,
    scratch: &Arc<Scratch>,
) -> Result<Vec<Loaded>> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let whole = Piece { path: path.to_owned(), shown: path.to_owned(), stem: detect::stem(&name), format };
    let scratch = scratch.clone();
    let (pieces, mut warnings) = blocking(path, move || resolve(whole, &name, &scratch, 0)).await?;
    let mut tables = Vec::new();
    for piece in pieces {
        let shown = piece.shown.clone();
        tables.extend(load_piece(piece, engine, options).await.map_err(|error| error.at(&shown))?);
    }
    if let Some(first) = tables.first_mut() {
        warnings.append(&mut first.warnings);
        first.warnings = warnings;
    }
    Ok(tables)
}

/// Runs CPU-bound work on another thread. A panic of a reader is reported as an error of the file.
pub(crate) async fn blocking<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
        let detail = "its parts contradict each other; it is damaged".to_owned();
        Err(Error::Format { path: path.to_owned(), detail })
    })
}

/// Unpacks what is packed. Returns plain files, and what was skipped.
fn resolve(piece: Piece, name: &str, scratch: &Scratch, depth: usize) -> Result<(Vec<Piece>, Vec<String>)> {
    let wrong = |detail: &str| Error::Format { path: piece.shown.clone(), detail: detail.to_owned() };
    let inner = match piece.format {
        Format::Packed(packing) => {
            if depth >= DEEPEST {
                return Err(wrong("it is compressed again and again. Unpack it first"));
            }
            let place =
                unpack::unpack(&piece.path, packing, scratch).map_err(|error| error.at(&piece.shown))?;
            let name = unpack::inner_name(name);
            let format = detect::detect(&place, &name).map_err(|error| error.at(&piece.shown))?;
            let format = format.ok_or_else(|| wrong("it holds a SQLite database. Unpack it first"))?;
            return resolve(Piece { path: place, format, ..piece }, &name, scratch, depth + 1);
        }
        Format::Zip => unpack::unzip(&piece.path, scratch, &detect::is_data_name),
        Format::Tar => unpack::untar(&piece.path, scratch, &detect::is_data_name),
        _ => return Ok((vec![piece], Vec::new())),
    };
    let (members, others) = inner.map_err(|error| error.at(&piece.shown))?;
    if depth >= DEEPEST {
        return Err(wrong("it is an archive inside of an archive. Unpack it first"));
    }
    let mut left_out: Vec<String> = others.into_iter().map(|(name, why)| format!("{name} ({why})")).collect();
    let mut pieces = Vec::new();
    for member in members {
        let shown = piece.shown.join(&member.name);
        let plain = match detect::detect(&member.path, &member.name) {
            Ok(Some(Format::Zip | Format::Tar)) => Err("an archive inside of an archive".to_owned()),
            Ok(None) => Err("a SQLite database inside of an archive".to_owned()),
            Ok(Some(format)) => {
                let part = Piece { path: member.path, shown, stem: detect::stem(&member.name), format };
                resolve(part, &member.name, scratch, DEEPEST - 1).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        match plain {
            Ok((plain, more)) => {
                pieces.extend(plain);
                left_out.extend(more);
            }
            Err(why) => left_out.push(format!("{} ({why})", member.name)),
        }
    }
    if pieces.is_empty() {
        let only = left_out.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        return Err(wrong(&format!("there is no data in the archive that can be read, only: {only}")));
    }
    Ok((pieces, said_left_out(&piece.shown, &left_out).into_iter().collect()))
}

/// One line about what was skipped in a folder or an archive.
pub(crate) fn said_left_out(of: &Path, left_out: &[String]) -> Option<String> {
    let shown: Vec<&str> = left_out.iter().take(5).map(String::as_str).collect();
    let more = left_out.len().saturating_sub(shown.len());
    let name =
        of.file_name().map_or_else(|| of.display().to_string(), |name| name.to_string_lossy().into_owned());
    let end = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| format!("{name}: left out {}{end}", shown.join(", ")))
}

/// Looks a plain file over.
async fn load_piece(piece: Piece, engine: &Engine, options: &Options) -> Result<Vec<Loaded>> {
    let path = piece.path.clone();
    let one = |loaded: Loaded| vec![loaded];
    match piece.format {
        Format::Parquet => tabular::parquet(&piece.path, &piece.stem, engine).await.map(one),
        Format::Arrow | Format::Avro => {
            let memory = options.memory;
            blocking(&path, move || tabular::batches(&piece.path, &piece.stem, piece.format, memory))
                .await
                .map(one)
        }
        Format::Workbook => blocking(&path, move || load_workbook(&piece)).await,
        _ => {
            let options = *options;
            blocking(&path, move || load_text(&piece, &options)).await.map(one)
        }
    }
}

fn load_text(piece: &Piece, options: &Options) -> Result<Loaded> {
    let path = &piece.path;
    let failed = |error: std::io::Error| Error::File { path: path.clone(), detail: error.to_string() };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if piece.format == Format::Csv && size > options.small_file {
        return large_csv(piece, size, options.sample);
    }
    if size as usize > reader::read::MOST_BYTES {
        let detail = format!(
            "it has {} MB, and files of this kind are read whole. Convert it to CSV or Parquet",
            size >> 20
        );
        return Err(Error::Format { path: path.clone(), detail });
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let wrong = |error: reader::ReadError| Error::Format { path: path.clone(), detail: error.to_string() };
    let read = match piece.format {
        Format::Json => reader::read_json(&bytes, usize::MAX),
        Format::Ndjson => reader::read_ndjson(&bytes, usize::MAX),
        _ => reader::read_csv(&bytes, usize::MAX),
    };
    let mut loaded = whole(piece, read.map_err(wrong)?);
    if let Some(warning) = misnamed(piece) {
        loaded.warnings.insert(0, warning);
    }
    Ok(loaded)
}

/// Text with the extension of a workbook, as web sites and old programs write it.
fn misnamed(piece: &Piece) -> Option<String> {
    let name = piece.shown.file_name()?.to_string_lossy().into_owned();
    let end = detect::ending(&unpack::inner_name(&name));
    matches!(end.as_str(), "xlsx" | "xls" | "xlsb" | "xlsm" | "ods" | "parquet" | "avro" | "arrow")
        .then(|| format!("{name}: it is named .{end} but is text, and was read as delimited text"))
}

/// Every table of every sheet.
fn load_workbook(piece: &Piece) -> Result<Vec<Loaded>> {
    let kind =
        if is_zip(&piece.path)? { unpack::workbook_kind(&piece.path)? } else { Some(workbook::Kind::Xls) };
    let book = workbook::read(&piece.path, kind.unwrap_or(workbook::Kind::Xlsx))?;
    let file = piece.shown.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut warnings: Vec<String> =
        book.warnings.iter().map(|warning| format!("{file}: {warning}")).collect();
    let (mut tables, mut empty) = (Vec::new(), Vec::new());
    let mut filled = 0;
    for sheet in &book.sheets {
        let (found, notes) = sheet::find_tables(sheet);
        warnings.extend(notes.into_iter().map(|note| format!("{file}: {note}")));
        if found.is_empty() {
            empty.push(sheet.name.clone());
        } else {
            filled += 1;
        }
        let several = found.len() > 1;
        for (place, found) in found.into_iter().enumerate() {
            let titled = found.title.filter(|title| several && title.chars().count() <= LONGEST_NAME);
            tables.push((sheet.name.clone(), titled, place, found.read));
        }
    }
    if tables.is_empty() {
        let detail = "there is no table in the workbook, only empty sheets or notes".to_owned();
        return Err(Error::Format { path: piece.path.clone(), detail });
    }
    if !empty.is_empty() {
        warnings.push(format!("{file}: no table was found on {}", empty.join(", ")));
    }
    let mut loaded: Vec<Loaded> = Vec::new();
    for (sheet, title, place, read) in tables {
        let base = if filled == 1 { piece.stem.clone() } else { sheet.clone() };
        let stem = match title {
            Some(title) => title,
            None if place > 0 => format!("{base} {}", place + 1),
            None => base,
        };
        let shown = PathBuf::from(if filled == 1 { file.clone() } else { format!("{file}, {sheet}") });
        let part = Piece { path: piece.path.clone(), shown, stem, format: piece.format };
        loaded.push(Loaded { series: filled == 1 && place == 0, ..whole(&part, read) });
    }
    if let Some(first) = loaded.first_mut() {
        warnings.append(&mut first.warnings);
        first.warnings = warnings;
    }
    Ok(loaded)
}

fn is_zip(path: &Path) -> Result<bool> {
    let failed = |error: std::io::Error| Error::File { path: path.to_owned(), detail: error.to_string() };
    let mut head = [0; 2];
    let read = std::fs::File::open(path).map_err(failed)?.read(&mut head).map_err(failed)?;
    Ok(read == 2 && head == *b"PK")
}

/// A file that was read completely.
fn whole(piece: &Piece, read: Read) -> Loaded {
    let columns = profile::columns(&read.frame, &read.labels, true);
    let table = Table {
        name: String::new(),
        label: String::new(),
        source: 0,
        rows: Some(read.frame.rows.len() as u64),
        primary_key: profile::key(&columns),
        columns,
    };
    let (warnings, assumptions, notes) = said(&piece.shown, &read);
    let spelled = (read.frame.fields.iter().zip(&read.columns))
        .filter(|(_, column)| !column.spelled.is_empty())
        .map(|(field, column)| (field.name.clone(), column.spelled.clone()))
        .collect();
    Loaded {
        stem: piece.stem.clone(),
        table,
        rows: Rows::Frame(Arc::new(read.frame)),
        warnings,
        assumptions,
        notes,
        spelled,
        series: true,
        path: piece.path.clone(),
    }
}

fn said(path: &Path, read: &Read) -> (Vec<String>, Vec<String>, Vec<String>) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let warnings = read.warnings.iter().map(|warning| format!("{name}: {warning}")).collect();
    let named = |said: &String| format!("{name}: {said}");
    let assumptions = read.columns.iter().flat_map(|column| &column.assumptions).map(named).collect();
    let notes = read.columns.iter().flat_map(|column| &column.notes).map(named).collect();
    (warnings, assumptions, notes)
}

fn large_csv(piece: &Piece, size: u64, looked_at: u64) -> Result<Loaded> {
    let path = piece.path.as_path();
    let failed = |error: std::io::Error| Error::File { path: path.to_owned(), detail: error.to_string() };
    let wrong = |error: reader::ReadError| Error::Format { path: path.to_owned(), detail: error.to_string() };
    let mut file = std::fs::File::open(path).map_err(failed)?;
    let head = looked_at / 7 * 4;
    let mut head = vec![0; usize::try_from(head.min(size)).unwrap_or_default()];
    file.read_exact(&mut head).map_err(failed)?;
    let utf8 = matches!(encoding::detect(&head), Detected::Text(charset) if charset.is_utf8());
    let sample = if utf8 { sample(&mut file, head, size, looked_at / 14).map_err(failed)? } else { head };
    let read = reader::read_csv(&sample, usize::MAX).map_err(wrong)?;
    let direct = utf8 && read.layout.as_ref().is_some_and(|layout| layout.is_strict() && layout.skip == 0 && layout.comment.is_none())
        // A column that our reader omitted still has its position in the file.
        && read.columns.iter().enumerate().all(|(place, column)| column.source == place)
        && read.layout.as_ref().is_some_and(|layout| layout.columns.len() == read.columns.len());
    let Some(layout) = read.layout.clone().filter(|_| direct) else {
        // Titles above the table, ragged rows, another encoding: the engine cannot read these, our
        // reader can.
        if size as usize > reader::read::MOST_BYTES {
            let detail = format!(
                "it has {} MB and is not plain UTF-8 CSV with a header line. Convert it first",
                size >> 20
            );
            return Err(Error::Format { path: path.to_owned(), detail });
        }
        let bytes = std::fs::read(path).map_err(failed)?;
        return Ok(whole(piece, reader::read_csv(&bytes, usize::MAX).map_err(wrong)?));
    };
    let rows = (read.frame.rows.len() as u64).max(1) * size / (sample.len() as u64).max(1);
    let columns = profile::columns(&read.frame, &read.labels, false);
    let scan = CsvScan {
        paths: vec![path.to_owned()],
        delimiter: layout.delimiter,
        quote: layout.quote,
        escape: layout.escape,
        has_header: layout.has_header,
        newlines_in_values: layout.newlines_in_values,
        columns: (read.frame.fields.iter().zip(&read.columns))
            .map(|(field, column)| ScanColumn {
                name: field.name.clone(),
                kind: field.kind,
                format: column.format,
                plain: column.plain,
            })
            .collect(),
    };
    let (warnings, mut assumptions, notes) = said(&piece.shown, &read);
    assumptions.retain(|said| !said.is_empty());
    let table = Table {
        name: String::new(),
        label: String::new(),
        source: 0,
        rows: Some(rows),
        primary_key: profile::key(&columns),
        columns,
    };
    Ok(Loaded {
        stem: piece.stem.clone(),
        table,
        rows: Rows::Scan(scan),
        warnings,
        assumptions,
        notes,
        spelled: Vec::new(),
        series: true,
        path: path.to_owned(),
    })
}

/// Whole lines from the start and from positions all over the file.
fn sample(file: &mut std::fs::File, mut head: Vec<u8>, size: u64, part: u64) -> std::io::Result<Vec<u8>> {
    let begun = head.len() as u64;
    let cut = |bytes: &mut Vec<u8>| {
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
        if end > 0 {
            bytes.truncate(end);
        }
    };
    cut(&mut head);
    // A quote that is open at the start of a slice would invert the sample.
    let quotes = memchr_count(&head);
    if quotes > 0 {
        return Ok(head);
    }
    for place in 1..=SLICES {
        let start = size / (SLICES + 1) * place;
        if start + part >= size || start < begun {
            continue;
        }
        file.seek(SeekFrom::Start(start))?;
        let mut slice = vec![0; usize::try_from(part).unwrap_or_default()];
        file.read_exact(&mut slice)?;
        let begin = slice.iter().position(|byte| *byte == b'\n').map_or(slice.len(), |place| place + 1);
        slice.drain(..begin);
        cut(&mut slice);
        if memchr_count(&slice) == 0 {
            head.extend(slice);
        }
    }
    Ok(head)
}

fn memchr_count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'"').count()
}

/// A table's name from a file's: lower case, words joined by `_`.
pub(crate) fn table_name(stem: &str) -> String {
    reader::names::clean(stem)
}

/// The name without the digits that number a series: `sales_2021` and `sales-2022` are both
/// `sales`.
pub(crate) fn series_name(name: &str) -> String {
    let words: Vec<&str> = name
        .split(['_', '-', ' ', '.'])
        .filter(|word| !word.is_empty() && !word.chars().all(|c| c.is_ascii_digit()))
        .collect();
    if words.is_empty() { name.to_owned() } else { words.join("_") }
}
