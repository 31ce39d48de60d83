//! Partitioned folders: `year=2024/month=01/…` is one table with the columns `year` and `month`.
//!
//! Parquet and plain CSV are scanned in place, and a filter on those columns skips whole files.
//! Everything else is read completely.

use super::files::{self, Loaded, Rows};
use super::folder::partition;
use super::unpack::Scratch;
use super::{Format, tabular};
use crate::engine::{Engine, convert};
use crate::error::{Error, Result};
use crate::frame::{Field, Frame, Kind, Value};
use crate::profile;
use crate::session::Options;
use chrono::NaiveDate;
use datafusion::prelude::{ParquetReadOptions, cast, ident, lit};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The Hive name of a missing value.
const NOTHING: &str = "__HIVE_DEFAULT_PARTITION__";
/// Maximum number of rows if files are read completely.
const MOST_ROWS: usize = 5_000_000;

/// Which files are used to profile a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sample {
    Everywhere,
    /// The first one: fetching parts of many remote files costs too much.
    FirstFile,
}

/// A partitioned folder.
pub(crate) struct Partitions<'a> {
    pub(crate) path: &'a Path,
    pub(crate) files: &'a [PathBuf],
    pub(crate) format: Format,
    pub(crate) keys: &'a [String],
}

impl Partitions<'_> {
    /// Profiles the folder as one table.
    pub(crate) async fn load(
        &self,
        engine: &Engine,
        options: &Options,
        scratch: &Arc<Scratch>,
    ) -> Result<Loaded> {
        if self.format == Format::Parquet {
            let address = |path: &Path| path.display().to_string();
            return self.scan_parquet(engine, &address, Sample::Everywhere).await;
        }
        let values: Vec<Vec<Value>> = self.files.iter().map(|file| self.values(file)).collect();
        let kinds: Vec<Kind> = (0..self.keys.len()).map(|key| kind(&values, key)).collect();
        self.read_whole(engine, options, scratch, (&self.stem(), &kinds, &values)).await
    }

    /// The same for Parquet in a bucket.
    pub(crate) async fn load_at(&self, root: &url::Url, engine: &Engine) -> Result<Loaded> {
        let address = |path: &Path| {
            let mut url = root.clone();
            url.set_path(&path.display().to_string());
            url.to_string()
        };
        self.scan_parquet(engine, &address, Sample::FirstFile).await
    }

    fn stem(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The partition values of a file.
    fn values(&self, file: &Path) -> Vec<Value> {
        let inside = file.strip_prefix(self.path).unwrap_or(file);
        let parts: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let value = |key: &String| {
            let found = parts.iter().filter_map(|part| partition(part)).find(|(name, _)| name == key);
            found
                .filter(|(_, value)| *value != NOTHING)
                .map_or(Value::Null, |(_, text)| Value::Text(decode(text)))
        };
        self.keys.iter().map(value).collect()
    }

    async fn scan_parquet(
        &self,
        engine: &Engine,
        address: &(dyn Fn(&Path) -> String + Sync),
        sample: Sample,
    ) -> Result<Loaded> {
        let values: Vec<Vec<Value>> = self.files.iter().map(|file| self.values(file)).collect();
        let kinds: Vec<Kind> = (0..self.keys.len()).map(|key| kind(&values, key)).collect();
        let wrong = |error: datafusion::error::DataFusionError| tabular::wrong(self.path, error);
        let first = self.files.first().map(|path| address(path)).unwrap_or_default();
        let alone = ParquetReadOptions { file_extension: "", ..ParquetReadOptions::default() };
        let first = engine.context().read_parquet(first, alone).await.map_err(wrong)?;
        // The schema of one file is used for all: the others are opened only when their rows are
        // needed.
        let schema = first.schema().as_arrow().clone();
        // The engine looks for `month=2` when a query filters by it, and would not find `month=02`.
        // Values in another spelling are text to the engine, and are cast to numbers afterwards.
        let padded: Vec<&String> = (self.keys.iter().enumerate())
            .filter(|(place, _)| kinds.get(*place) == Some(&Kind::Integer) && is_padded(&values, *place))
            .map(|(_, key)| key)
            .collect();
        let columns = self.keys.iter().zip(&kinds).map(|(key, kind)| {
            let kind = if padded.contains(&key) { Kind::Text } else { *kind };
            (key.clone(), convert::data_type(kind))
        });
        let ending =
            self.files.first().and_then(|path| path.extension()).unwrap_or_default().to_string_lossy();
        let ending = format!(".{ending}");
        let options = ParquetReadOptions {
            file_extension: &ending,
            table_partition_cols: columns.collect(),
            schema: Some(&schema),
            ..ParquetReadOptions::default()
        };
        let root = format!("{}/", address(self.path));
        let mut frame = engine.context().read_parquet(root, options).await.map_err(wrong)?;
        for key in padded {
            let number = cast(ident(key), convert::data_type(Kind::Integer));
            frame = frame.with_column(key, number).map_err(wrong)?;
        }
        let mut part = frame.clone();
        if sample == Sample::FirstFile {
            for ((key, kind), value) in self.keys.iter().zip(&kinds).zip(values.first().into_iter().flatten())
            {
                let first = match typed(value, *kind) {
                    Value::Int(number) => ident(key).eq(lit(number)),
                    Value::Text(text) => ident(key).eq(lit(text)),
                    _ => continue,
                };
                part = part.filter(first).map_err(wrong)?;
            }
        }
        let mut loaded = tabular::scanned_by(self.path, &self.stem(), frame, part, engine).await?;
        let keys: Vec<(String, Kind)> = self.keys.iter().cloned().zip(kinds).collect();
        profile_keys(&mut loaded, &keys, &values);
        Ok(loaded)
    }

    /// Reads all files and concatenates their rows.
    async fn read_whole(
        &self,
        engine: &Engine,
        options: &Options,
        scratch: &Arc<Scratch>,
        (stem, kinds, values): (&str, &[Kind], &[Vec<Value>]),
    ) -> Result<Loaded> {
        // A file of a partition is never scanned alone: its rows are combined with those of the
        // others.
        let options = Options { small_file: u64::MAX, ..*options };
        let mut all: Option<Loaded> = None;
        for (file, values) in self.files.iter().zip(values) {
            let format = super::detect::detect(file, &file.to_string_lossy())?.unwrap_or(self.format);
            let Some(mut loaded) =
                files::load(file, format, engine, &options, scratch).await?.into_iter().next()
            else {
                continue;
            };
            if let Rows::Registered(provider) = &loaded.rows {
                let rows =
                    engine.context().read_table(provider.clone()).map_err(|error| engine.failed(error))?;
                loaded.rows = Rows::Frame(Arc::new(engine.sample(rows, MOST_ROWS).await?.0));
            }
            let Rows::Frame(frame) = &mut loaded.rows else { continue };
            let frame = Arc::make_mut(frame);
            for ((key, kind), value) in self.keys.iter().zip(kinds).zip(values) {
                let value = typed(value, *kind);
                frame.fields.push(Field::new(key, *kind));
                frame.rows.iter_mut().for_each(|row| row.push(value.clone()));
            }
            match &mut all {
                None => all = Some(loaded),
                Some(first) => self.append(first, loaded)?,
            }
        }
        let nothing =
            || Error::Source { what: self.path.display().to_string(), detail: "it is empty".to_owned() };
        let mut all = all.ok_or_else(nothing)?;
        if let Rows::Frame(frame) = &mut all.rows {
            let frame = Arc::make_mut(frame);
            for row in &mut frame.rows {
                for (value, field) in row.iter_mut().zip(&frame.fields) {
                    if field.kind == Kind::Text && !matches!(value, Value::Text(_) | Value::Null) {
                        *value = Value::Text(value.plain());
                    }
                }
            }
            let labels: Vec<String> = (all.table.columns.iter().map(|column| column.label.clone()))
                .chain(self.keys.iter().cloned())
                .collect();
            all.table.columns = profile::columns(frame, &labels, true);
            all.table.rows = Some(frame.rows.len() as u64);
            all.table.primary_key = profile::key(&all.table.columns);
        }
        Ok(Loaded { stem: stem.to_owned(), series: false, path: self.path.to_owned(), ..all })
    }

    fn append(&self, first: &mut Loaded, more: Loaded) -> Result<()> {
        let (Rows::Frame(frame), Rows::Frame(other)) = (&mut first.rows, more.rows) else { return Ok(()) };
        let (frame, other) = (Arc::make_mut(frame), Arc::unwrap_or_clone(other));
        let names = |frame: &Frame| frame.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
        if names(frame) != names(&other) {
            let detail =
                format!("its columns are not those of the other partitions of {}", self.path.display());
            return Err(Error::Format { path: more.path, detail });
        }
        if frame.rows.len() + other.rows.len() > MOST_ROWS {
            let detail = format!("the partitions have more than {MOST_ROWS} rows. Convert them to Parquet");
            return Err(Error::Format { path: self.path.to_owned(), detail });
        }
        for (field, theirs) in frame.fields.iter_mut().zip(&other.fields) {
            field.kind = common_kind(field.kind, theirs.kind);
        }
        frame.rows.extend(other.rows);
        first.warnings.extend(more.warnings);
        Ok(())
    }
}

/// Profiles the partition columns from the values of all files: a sample has those of few.
pub(super) fn profile_keys(loaded: &mut Loaded, keys: &[(String, Kind)], values: &[Vec<Value>]) {
    let fields = keys.iter().map(|(key, kind)| Field::new(key, *kind)).collect();
    let rows: Vec<Vec<Value>> = values
        .iter()
        .map(|row| row.iter().zip(keys).map(|(value, (_, kind))| typed(value, *kind)).collect())
        .collect();
    let files = (rows.len() as u64).max(1);
    let share = (loaded.table.rows.unwrap_or(files) / files).max(1);
    for mut key in profile::columns(&Frame { fields, rows, ..Frame::default() }, &[], true) {
        key.values.iter_mut().for_each(|(_, count)| *count *= share);
        (key.seen, key.nulls) = (key.seen * share, key.nulls * share);
        if let Some(column) = loaded.table.columns.iter_mut().find(|column| column.name == key.name) {
            *column = key;
        }
    }
    loaded.table.primary_key = profile::key(&loaded.table.columns);
}

/// The kind that can hold the values of both.
fn common_kind(a: Kind, b: Kind) -> Kind {
    match (a, b) {
        _ if a == b => a,
        _ if a.is_number() && b.is_number() => Kind::Number,
        _ if a.is_time() && b.is_time() => Kind::Timestamp,
        _ => Kind::Text,
    }
}

/// Whether some whole numbers have an unusual spelling: `01`, `+1`.
fn is_padded(values: &[Vec<Value>], key: usize) -> bool {
    let texts =
        values.iter().filter_map(|row| row.get(key)).filter(|value| !value.is_null()).map(Value::plain);
    texts.into_iter().any(|text| text.parse::<i64>().is_ok_and(|number| number.to_string() != text))
}

/// The kind of the partition values.
fn kind(values: &[Vec<Value>], key: usize) -> Kind {
    let texts =
        || values.iter().filter_map(|row| row.get(key)).filter(|value| !value.is_null()).map(Value::plain);
    match () {
        () if texts().next().is_none() => Kind::Text,
        () if texts().all(|text| text.len() < 18 && text.parse::<i64>().is_ok()) => Kind::Integer,
        () if texts().all(|text| text.parse::<NaiveDate>().is_ok()) => Kind::Date,
        () => Kind::Text,
    }
}

fn typed(value: &Value, kind: Kind) -> Value {
    let text = value.plain();
    match kind {
        _ if value.is_null() => Value::Null,
        Kind::Integer => text.parse().map_or(Value::Null, Value::Int),
        Kind::Date => text.parse().map_or(Value::Null, Value::Date),
        _ => Value::Text(text),
    }
}

/// Percent-decodes a value: `New%20York` is `New York`.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
