//! Files with typed columns: Parquet is scanned in place, Arrow and Avro are read into memory.

use crate::catalogue::Table;
use crate::engine::{Engine, SAMPLE_BYTES, convert};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::profile;
use crate::source::Format;
use crate::source::files::{Loaded, Rows};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::{FileReader, StreamReader};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::prelude::{DataFrame, ParquetReadOptions};
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of rows sampled.
pub(super) const SAMPLE_ROWS: usize = 20_000;

/// A table whose rows are elsewhere, profiled from a sample.
pub(super) fn sampled(
    path: &Path,
    stem: &str,
    rows: u64,
    (sample, cut): (&Frame, bool),
    provider: Arc<dyn TableProvider>,
) -> Loaded {
    let columns = profile::columns(sample, &[], !cut);
    let table = Table {
        name: String::new(),
        label: String::new(),
        source: 0,
        rows: Some(rows),
        primary_key: profile::key(&columns),
        columns,
    };
    Loaded {
        stem: stem.to_owned(),
        table,
        rows: Rows::Registered(provider),
        warnings: Vec::new(),
        assumptions: Vec::new(),
        notes: Vec::new(),
        spelled: Vec::new(),
        series: false,
        path: path.to_owned(),
    }
}

pub(super) async fn parquet(path: &Path, stem: &str, engine: &Engine) -> Result<Loaded> {
    parquet_at(&path.display().to_string(), stem, engine).await
}

/// The same by a path or an address.
pub(super) async fn parquet_at(address: &str, stem: &str, engine: &Engine) -> Result<Loaded> {
    let path = Path::new(address);
    let options = ParquetReadOptions { file_extension: "", ..ParquetReadOptions::default() };
    let frame = engine.context().read_parquet(address, options).await;
    let frame = frame.map_err(|error| wrong(path, error))?;
    scanned(path, stem, frame, engine).await
}

/// A table that the engine scans.
pub(super) async fn scanned(path: &Path, stem: &str, frame: DataFrame, engine: &Engine) -> Result<Loaded> {
    let sample = frame.clone();
    scanned_by(path, stem, frame, sample, engine).await
}

/// The same, profiled from a sample of some of its rows.
pub(super) async fn scanned_by(
    path: &Path,
    stem: &str,
    frame: DataFrame,
    part: DataFrame,
    engine: &Engine,
) -> Result<Loaded> {
    let rows = frame.clone().count().await.map_err(|error| wrong(path, error))? as u64;
    let (sample, cut) = engine.sample(part, SAMPLE_ROWS).await?;
    let cut = cut || (sample.rows.len() as u64) < rows;
    Ok(sampled(path, stem, rows, (&sample, cut), frame.into_view()))
}

pub(super) fn wrong(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::Format { path: path.to_owned(), detail: error.to_string() }
}

/// Reads a file of record batches completely, within the memory limit of a query.
pub(super) fn batches(path: &Path, stem: &str, format: Format, memory: usize) -> Result<Loaded> {
    let failed = |error: std::io::Error| Error::File { path: path.to_owned(), detail: error.to_string() };
    let mut head = [0; 6];
    let read = File::open(path).map_err(failed)?.read(&mut head).map_err(failed)?;
    let file = BufReader::new(File::open(path).map_err(failed)?);
    let bad = |error: ArrowError| wrong(path, error);
    let (schema, batches) = if format == Format::Avro {
        let reader = arrow_avro::reader::ReaderBuilder::new().build(file).map_err(bad)?;
        let schema = reader.schema();
        (schema, collect(reader, memory, bad)?)
    } else if read == 6 && head == *b"ARROW1" {
        let reader = FileReader::try_new(file, None).map_err(bad)?;
        (reader.schema(), collect(reader, memory, bad)?)
    } else {
        let reader = StreamReader::try_new(file, None).map_err(bad)?;
        (reader.schema(), collect(reader, memory, bad)?)
    };
    in_memory(path, stem, schema, batches)
}

fn collect(
    reader: impl Iterator<Item = std::result::Result<RecordBatch, ArrowError>>,
    memory: usize,
    bad: impl Fn(ArrowError) -> Error,
) -> Result<Vec<RecordBatch>> {
    let (mut batches, mut bytes) = (Vec::new(), 0);
    for batch in reader {
        let batch = batch.map_err(&bad)?;
        bytes += batch.get_array_memory_size();
        if bytes > memory {
            return Err(Error::Memory { megabytes: memory >> 20 });
        }
        batches.push(batch);
    }
    Ok(batches)
}

fn in_memory(path: &Path, stem: &str, schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Loaded> {
    let mut sample = convert::empty("sample", &schema);
    let mut bytes = SAMPLE_BYTES;
    let mut whole = true;
    for batch in &batches {
        whole &= convert::append(&mut sample, batch, SAMPLE_ROWS, &mut bytes)
            .map_err(|error| wrong(path, error))?;
        if !whole {
            break;
        }
    }
    let rows = batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    let table = MemTable::try_new(schema, vec![batches]).map_err(|error| wrong(path, error))?;
    Ok(sampled(path, stem, rows as u64, (&sample, !whole || rows > SAMPLE_ROWS), Arc::new(table)))
}
