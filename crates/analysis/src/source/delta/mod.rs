//! Delta Lake tables: Parquet files, and a log that says which of them are the table.
//!
//! The log is read here, without Delta's own library (ADR 21). A snapshot is the newest version, or
//! the one that was asked for (`table@v3`, `table@2024-03-01`). Files are pruned by their partition
//! and by the statistics of the log; deleted rows are skipped while a file is scanned.
//!
//! Invariants: nothing outside of the table's folder is read, whatever its log says. A table that
//! needs a feature which is not known here is refused.

mod action;
mod columns;
mod deletion;
mod log;
mod table;
mod version;

pub(crate) use log::LOG_FOLDER;
pub use version::TableVersion;

use super::files::Loaded;
use super::{partitions, tabular};
use crate::engine::{Engine, convert};
use crate::error::{Error, Result};
use crate::frame::{Kind, Value};
use columns::Columns;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::object_store::ObjectStore;
use datafusion::object_store::path::Path as StorePath;
use datafusion::prelude::ident;
use log::Snapshot;
use std::path::Path;
use std::sync::Arc;

/// The folder of a table in its store.
pub(crate) struct TableFolder {
    /// The address as people wrote it, for messages.
    pub(crate) shown: String,
    /// The name of the table.
    pub(crate) stem: String,
    store: Arc<dyn ObjectStore>,
    store_url: ObjectStoreUrl,
    /// The path below the store's root, without a slash at the end.
    path: String,
    /// Whether the store's paths are percent-encoded keys.
    encoded: bool,
}

impl TableFolder {
    /// A folder of this machine.
    pub(crate) fn local(folder: &Path, engine: &Engine) -> Result<Self> {
        let failed = |detail: String| Error::File { path: folder.to_owned(), detail };
        let real = folder.canonicalize().map_err(|error| failed(error.to_string()))?;
        let store_url = ObjectStoreUrl::local_filesystem();
        let store = engine.context().runtime_env().object_store(&store_url);
        let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let path = real.to_str().ok_or_else(|| failed("its path is not UTF-8".to_owned()))?;
        Ok(Self {
            shown: folder.display().to_string(),
            stem: name,
            store: store.map_err(|error| failed(error.to_string()))?,
            store_url,
            path: path.trim_matches('/').to_owned(),
            encoded: false,
        })
    }

    /// A folder of a bucket that is registered with the engine.
    pub(crate) fn remote(shown: &str, root: &url::Url, key: &str, engine: &Engine) -> Result<Self> {
        let failed = |detail: String| Error::Source { what: shown.to_owned(), detail };
        let store_url = ObjectStoreUrl::parse(root).map_err(|error| failed(error.to_string()))?;
        let store = engine.context().runtime_env().object_store(&store_url);
        let path = key.trim_matches('/').to_owned();
        let stem = path.rsplit('/').next().filter(|name| !name.is_empty()).or(root.host_str());
        Ok(Self {
            shown: shown.to_owned(),
            stem: stem.unwrap_or_default().to_owned(),
            store: store.map_err(|error| failed(error.to_string()))?,
            store_url,
            path,
            encoded: true,
        })
    }

    /// The path of a file below the folder.
    fn child(&self, relative: &str) -> Result<StorePath> {
        let whole =
            if self.path.is_empty() { relative.to_owned() } else { format!("{}/{relative}", self.path) };
        if self.encoded {
            return Ok(StorePath::from_iter(whole.split('/')));
        }
        StorePath::parse(&whole).map_err(|error| self.broken(error.to_string()))
    }

    /// The path of a data file as the log writes it: percent-encoded and relative to the folder.
    fn data_file(&self, written: &str) -> Result<StorePath> {
        let outside =
            written.starts_with('/') || written.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme));
        let decoded = percent_encoding::percent_decode_str(written).decode_utf8();
        let decoded = decoded.map_err(|error| self.broken(format!("a file name: {error}")))?;
        if outside || decoded.split('/').any(|part| matches!(part, "" | "." | "..")) {
            let detail = format!(
                "its log names a file outside of the table's folder: {written}. Copies that share files with \
                 another table (shallow clones) are not read"
            );
            return Err(Error::Source { what: self.shown.clone(), detail });
        }
        self.child(&decoded)
    }

    fn broken(&self, detail: impl Into<String>) -> Error {
        Error::Format { path: self.shown.clone().into(), detail: detail.into() }
    }

    fn refused(&self, detail: impl Into<String>) -> Error {
        Error::Source { what: self.shown.clone(), detail: detail.into() }
    }
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Whether a folder of this machine is a Delta table.
pub(crate) fn is_table(folder: &Path) -> bool {
    folder.join(LOG_FOLDER).is_dir()
}

/// Profiles a version of a table.
pub(crate) async fn load(
    folder: &TableFolder,
    version: Option<TableVersion>,
    engine: &Engine,
) -> Result<Loaded> {
    let snapshot = log::read(folder, version).await?;
    let columns = Columns::of(folder, &snapshot.metadata)?;
    let deleted = deletion::selections(folder, &snapshot).await?;
    let table = table::DeltaTable::new(folder, &columns, &snapshot, deleted)?;
    let failed = |error| engine.failed(error);
    let frame = engine.context().read_table(Arc::new(table)).map_err(failed)?;
    let logical: Vec<_> =
        columns.all.iter().map(|column| ident(&column.physical).alias(&column.name)).collect();
    let frame = frame.select(logical).map_err(failed)?;
    let rows = match snapshot.rows() {
        Some(rows) => rows,
        None => frame.clone().count().await.map_err(failed)? as u64,
    };
    let (sample, cut) = engine.sample(frame.clone(), tabular::SAMPLE_ROWS).await?;
    let cut = cut || (sample.rows.len() as u64) < rows;
    let shown = Path::new(&folder.shown);
    let mut loaded = tabular::sampled(shown, &folder.stem, rows, (&sample, cut), frame.into_view());
    profile_partitions(&mut loaded, &columns, &snapshot);
    let said = format!("{}: {}", folder.stem, snapshot.described());
    if version.is_some() {
        loaded.assumptions.push(said);
    } else {
        loaded.notes.push(said);
    }
    Ok(loaded)
}

/// The log has the values of all partitions; a sample has those of few.
fn profile_partitions(loaded: &mut Loaded, columns: &Columns, snapshot: &Snapshot) {
    let keys: Vec<(&columns::Column, Kind)> = (columns.all.iter())
        .filter(|column| column.is_partition)
        .map(|column| (column, convert::kind(&column.data_type)))
        .filter(|(_, kind)| matches!(kind, Kind::Integer | Kind::Date | Kind::Text))
        .collect();
    if keys.is_empty() {
        return;
    }
    let value = |file: &action::AddFile, column: &columns::Column| {
        let text = file.partition_values.get(&column.physical).cloned().flatten();
        text.filter(|text| !text.is_empty()).map_or(Value::Null, Value::Text)
    };
    let values: Vec<Vec<Value>> = snapshot
        .files
        .values()
        .map(|file| keys.iter().map(|(column, _)| value(file, column)).collect())
        .collect();
    let names: Vec<(String, Kind)> = keys.iter().map(|(column, kind)| (column.name.clone(), *kind)).collect();
    partitions::profile_keys(loaded, &names, &values);
}
