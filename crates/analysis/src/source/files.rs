//! Files as tables: small ones whole, large ones scanned where they lie.

use crate::catalogue::Table;
use crate::engine::{CsvScan, Engine, ScanColumn};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::profile;
use crate::reader::encoding::{self, Detected};
use crate::reader::{self, Read};
use crate::session::Options;
use crate::source::Format;
use datafusion::catalog::TableProvider;
use datafusion::prelude::ParquetReadOptions;
use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

/// Bytes from the beginning of a large file that are looked at.
const HEAD: u64 = 1 << 20;
/// Further places of it, and bytes at each.
const SLICES: u64 = 6;
const SLICE: u64 = 128 << 10;
/// Rows of a Parquet file that are looked at.
const SAMPLE_ROWS: usize = 20_000;

/// Where the rows are.
pub(crate) enum Rows {
    Frame(Frame),
    Scan(CsvScan),
    Registered(Arc<dyn TableProvider>),
}

/// A file that was looked over.
pub(crate) struct Loaded {
    pub(crate) table: Table,
    pub(crate) rows: Rows,
    pub(crate) warnings: Vec<String>,
    pub(crate) assumptions: Vec<String>,
    /// How the file spells its times: (column, value, spelling).
    pub(crate) spelled: Vec<(String, BTreeMap<String, String>)>,
}

/// Looks a file over and gets its rows ready.
pub(crate) async fn load(path: &Path, format: Format, engine: &Engine, options: &Options) -> Result<Loaded> {
    let failed = |error: std::io::Error| Error::File { path: path.to_owned(), detail: error.to_string() };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    match format {
        Format::Parquet => parquet(path, engine).await,
        Format::Csv if size > options.small_file => large_csv(path, size, options),
        _ => {
            if size as usize > reader::read::MOST_BYTES {
                let detail = format!(
                    "it has {} MB, and files of this kind are read whole. Convert it to CSV or Parquet",
                    size >> 20
                );
                return Err(Error::Format { path: path.to_owned(), detail });
            }
            let bytes = std::fs::read(path).map_err(failed)?;
            let wrong =
                |error: reader::ReadError| Error::Format { path: path.to_owned(), detail: error.to_string() };
            let read = match format {
                Format::Csv => reader::read_csv(&bytes, usize::MAX),
                Format::Json => reader::read_json(&bytes, usize::MAX),
                Format::Ndjson | Format::Parquet => reader::read_ndjson(&bytes, usize::MAX),
            };
            Ok(whole(path, read.map_err(wrong)?))
        }
    }
}

/// A file that was read whole.
fn whole(path: &Path, read: Read) -> Loaded {
    let columns = profile::columns(&read.frame, &read.labels, true);
    let table = Table {
        name: String::new(),
        label: String::new(),
        source: 0,
        rows: Some(read.frame.rows.len() as u64),
        primary_key: profile::key(&columns),
        columns,
    };
    let (warnings, assumptions) = said(path, &read);
    let spelled = (read.frame.fields.iter().zip(&read.columns))
        .filter(|(_, column)| !column.spelled.is_empty())
        .map(|(field, column)| (field.name.clone(), column.spelled.clone()))
        .collect();
    Loaded { table, rows: Rows::Frame(read.frame), warnings, assumptions, spelled }
}

fn said(path: &Path, read: &Read) -> (Vec<String>, Vec<String>) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let warnings = read.warnings.iter().map(|warning| format!("{name}: {warning}")).collect();
    let assumptions = read
        .columns
        .iter()
        .flat_map(|column| &column.assumptions)
        .map(|said| format!("{name}: {said}"))
        .collect();
    (warnings, assumptions)
}

fn large_csv(path: &Path, size: u64, options: &Options) -> Result<Loaded> {
    let failed = |error: std::io::Error| Error::File { path: path.to_owned(), detail: error.to_string() };
    let wrong = |error: reader::ReadError| Error::Format { path: path.to_owned(), detail: error.to_string() };
    let mut file = std::fs::File::open(path).map_err(failed)?;
    let mut head = vec![0; usize::try_from(HEAD.min(size)).unwrap_or_default()];
    file.read_exact(&mut head).map_err(failed)?;
    let utf8 = matches!(encoding::detect(&head), Detected::Text(charset) if charset.is_utf8());
    let sample = if utf8 { sample(&mut file, head, size).map_err(failed)? } else { head };
    let read = reader::read_csv(&sample, usize::MAX).map_err(wrong)?;
    let direct = utf8 && read.layout.as_ref().is_some_and(|layout| layout.is_strict() && layout.skip == 0 && layout.comment.is_none())
        // A column that our reader left out still has its place in the file.
        && read.columns.iter().enumerate().all(|(place, column)| column.source == place)
        && read.layout.as_ref().is_some_and(|layout| layout.columns.len() == read.columns.len());
    let Some(layout) = read.layout.clone().filter(|_| direct) else {
        // Titles above the table, ragged rows, another encoding: the engine cannot read these, our reader can.
        if size as usize > reader::read::MOST_BYTES {
            let detail = format!(
                "it has {} MB and is not plain UTF-8 CSV with a header line. Convert it first",
                size >> 20
            );
            return Err(Error::Format { path: path.to_owned(), detail });
        }
        let bytes = std::fs::read(path).map_err(failed)?;
        return Ok(whole(path, reader::read_csv(&bytes, usize::MAX).map_err(wrong)?));
    };
    let _ = options;
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
                dress: column.dress,
                plain: column.plain,
            })
            .collect(),
    };
    let (warnings, mut assumptions) = said(path, &read);
    assumptions.retain(|said| !said.is_empty());
    let table = Table {
        name: String::new(),
        label: String::new(),
        source: 0,
        rows: Some(rows),
        primary_key: profile::key(&columns),
        columns,
    };
    Ok(Loaded { table, rows: Rows::Scan(scan), warnings, assumptions, spelled: Vec::new() })
}

/// Whole lines from the beginning and from places all over the file.
fn sample(file: &mut std::fs::File, mut head: Vec<u8>, size: u64) -> std::io::Result<Vec<u8>> {
    let cut = |bytes: &mut Vec<u8>| {
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
        if end > 0 {
            bytes.truncate(end);
        }
    };
    cut(&mut head);
    // A quote that is open at a slice's beginning would turn the sample inside out.
    let quotes = memchr_count(&head);
    if quotes > 0 {
        return Ok(head);
    }
    for place in 1..=SLICES {
        let start = size / (SLICES + 1) * place;
        if start + SLICE >= size || start < HEAD {
            continue;
        }
        file.seek(SeekFrom::Start(start))?;
        let mut slice = vec![0; usize::try_from(SLICE).unwrap_or_default()];
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

async fn parquet(path: &Path, engine: &Engine) -> Result<Loaded> {
    let wrong = |error: datafusion::error::DataFusionError| Error::Format {
        path: path.to_owned(),
        detail: error.to_string(),
    };
    let options = ParquetReadOptions { file_extension: "", ..ParquetReadOptions::default() };
    let frame = engine.context().read_parquet(path.display().to_string(), options).await.map_err(wrong)?;
    let rows = frame.clone().count().await.map_err(wrong)? as u64;
    let view = frame.into_view();
    let name = "__sample";
    engine.register(name, view.clone())?;
    let (sample, cut) = engine.head(name, SAMPLE_ROWS).await?;
    let columns = profile::columns(&sample, &[], !cut);
    let table = Table {
        name: String::new(),
        label: String::new(),
        source: 0,
        rows: Some(rows),
        primary_key: profile::key(&columns),
        columns,
    };
    Ok(Loaded {
        table,
        rows: Rows::Registered(view),
        warnings: Vec::new(),
        assumptions: Vec::new(),
        spelled: Vec::new(),
    })
}

/// A table's name from a file's: lower case, words joined by `_`.
pub(crate) fn table_name(stem: &str) -> String {
    reader::names::clean(stem)
}

/// The name without the digits that number a series: `sales_2021` and `sales-2022` are both `sales`.
pub(crate) fn series_name(name: &str) -> String {
    let words: Vec<&str> = name
        .split(['_', '-', ' ', '.'])
        .filter(|word| !word.is_empty() && !word.chars().all(|c| c.is_ascii_digit()))
        .collect();
    if words.is_empty() { name.to_owned() } else { words.join("_") }
}
