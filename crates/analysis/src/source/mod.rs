//! Data sources: what was named on the command line or in a request, and what it turns out to be.

pub mod connections;
pub(crate) mod delta;
pub(crate) mod detect;
pub(crate) mod files;
mod folder;
pub(crate) mod partitions;
mod remembered;
pub mod remote;
pub(crate) mod sqlite;
mod tabular;
pub(crate) mod unpack;
pub(crate) mod workbook;

pub use delta::TableVersion;
pub use detect::{ENDINGS, PACKED_ENDINGS};

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use steward_domain::{DataSource, SourceKind};

/// More files than this in one folder are refused as a mistake.
pub(crate) const MAX_FILES: usize = 1_000;

/// A source, classified by kind. Only its first bytes have been read.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum SourceLocation {
    /// A data file.
    File {
        /// Where it is.
        path: PathBuf,
        /// Its format.
        format: Format,
        /// The table's name, if given: `sales=2021.csv`.
        name: Option<String>,
    },
    /// A folder with partitions: `year=2024/month=01/`.
    Partitions {
        /// The folder.
        path: PathBuf,
        /// Its files, all of one format.
        files: Vec<PathBuf>,
        /// Their format.
        format: Format,
        /// The partition columns, from the outside in.
        keys: Vec<String>,
    },
    /// A Delta Lake table.
    Delta {
        /// Its folder.
        path: PathBuf,
        /// The version that was asked for; the newest without one.
        version: Option<TableVersion>,
    },
    /// A SQLite database.
    Sqlite(PathBuf),
    /// A DuckDB database, read with a driver of this machine.
    DuckDb(PathBuf),
    /// A database server.
    Server(String),
    /// A bucket or a web server.
    Remote(String),
}

/// File formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum Format {
    Csv,
    Json,
    Ndjson,
    Parquet,
    Arrow,
    Avro,
    Workbook,
    /// One compressed file.
    Packed(unpack::Packing),
    Zip,
    Tar,
}

impl SourceLocation {
    /// Whether it needs a driver library, which is third-party code.
    #[must_use]
    pub(crate) fn needs_driver(&self) -> bool {
        match self {
            Self::DuckDb(_) => true,
            Self::Server(address) => address.starts_with(crate::database::adbc::SCHEME),
            _ => false,
        }
    }

    /// The source for the journal: its kind and location, without passwords.
    #[must_use]
    pub fn describe(&self) -> DataSource {
        let file = |kind, path: &Path| DataSource {
            kind,
            connection_string: None,
            file_path: Some(path.display().to_string()),
            schema_fingerprint: None,
        };
        match self {
            Self::File { path, format, .. } | Self::Partitions { path, format, .. } => {
                file(detect::source_kind(path, *format), path)
            }
            Self::Delta { path, version } => {
                file(SourceKind::Parquet, Path::new(&versioned(path.display().to_string(), *version)))
            }
            Self::Sqlite(path) => sql(format!("sqlite:{}", path.display())),
            Self::DuckDb(path) => sql(format!("duckdb:{}", path.display())),
            Self::Server(address) => sql(without_password(address)),
            Self::Remote(address) => {
                let path = without_password(address);
                let kind = match detect::ending(&path).as_str() {
                    "csv" | "tsv" | "tab" => SourceKind::Csv,
                    "json" | "ndjson" | "jsonl" => SourceKind::Json,
                    _ => SourceKind::Parquet,
                };
                file(kind, Path::new(&path))
            }
        }
    }

    /// A short name for people: the file's name, or the address without its password.
    #[must_use]
    pub fn label(&self) -> String {
        let last = |path: &Path| {
            path.file_name()
                .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
        };
        match self {
            Self::File { path, .. }
            | Self::Partitions { path, .. }
            | Self::Sqlite(path)
            | Self::DuckDb(path) => last(path),
            Self::Delta { path, version } => versioned(last(path), *version),
            Self::Server(address) | Self::Remote(address) => without_password(address),
        }
    }
}

/// `table@v3`.
fn versioned(table: String, version: Option<TableVersion>) -> String {
    match version {
        Some(version) => format!("{table}@{version}"),
        None => table,
    }
}

fn sql(connection: String) -> DataSource {
    DataSource {
        kind: SourceKind::Sql,
        connection_string: Some(connection),
        file_path: None,
        schema_fingerprint: None,
    }
}

/// The source as it may be stored: without the password of a server's address and everything after
/// `?`.
#[must_use]
pub fn without_password(named: &str) -> String {
    if named.contains("://") { crate::database::redact(named) } else { named.to_owned() }
}

/// Runs a statement on a SQLite source without policy, to test that the source itself refuses it.
#[doc(hidden)]
pub fn try_unchecked(path: &Path, sql: &str) -> Result<()> {
    sqlite::SqliteSource::open(path)?.rows(sql, 1).map(drop)
}

/// The sources found, and what was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundSources {
    /// The sources.
    pub places: Vec<SourceLocation>,
    /// Files of a folder that are not data, each with the reason.
    pub left_out: Vec<String>,
    /// Whether they were found in a folder: then a file that cannot be read is skipped and not an
    /// error.
    pub by_folder: bool,
}

impl FoundSources {
    fn one(place: SourceLocation) -> Self {
        Self { places: vec![place], ..Self::default() }
    }
}

/// Runs a statement as if it had been admitted to these columns, without policy. For tests.
#[doc(hidden)]
pub async fn try_confined(path: &Path, sql: &str, reads: &[(&str, &[&str])]) -> Result<crate::frame::Frame> {
    let columns = |columns: &[&str]| columns.iter().map(|column| (*column).to_owned()).collect();
    let reads = reads.iter().map(|(table, names)| ((*table).to_owned(), columns(names))).collect();
    let source = sqlite::SqliteSource::open(path)?;
    let bounds = sqlite::Bounds { rows: 100, within: std::time::Duration::from_secs(10) };
    source.read_only(sql.to_owned(), reads, bounds).await.map(|(frame, _)| frame)
}

/// A source that is about to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening<'a> {
    /// A file, by its resolved path.
    File(&'a Path),
    /// A database server, by its address.
    Server(&'a str),
}

/// Checks everything that a name resolves to, before any of it is opened.
pub type Guard<'a> = &'a dyn Fn(Opening<'_>) -> Result<()>;

/// Finds a source by name: a file, a folder, a pattern, a database file or a server's address; a
/// prefix `name=` names the table.
pub fn find(named: &str) -> Result<FoundSources> {
    find_guarded(named, &|_| Ok(()))
}

/// The same for a caller with restricted access. The guard sees what will be opened, never the
/// original text: a check that parses the text differently from this function could be bypassed.
pub fn find_guarded(named: &str, guard: Guard<'_>) -> Result<FoundSources> {
    let named = named.trim();
    let nothing = |detail: &str| Error::Source { what: named.to_owned(), detail: detail.to_owned() };
    if named.is_empty() {
        return Err(nothing("name a file, a folder, a pattern such as data/*.csv, or a database address"));
    }
    if named.starts_with(connections::PREFIX) {
        guard(Opening::Server(named))?;
        return find(&connections::resolve(named)?);
    }
    if let Some((scheme, _)) = named.split_once("://") {
        return match scheme {
            "postgres" | "postgresql" | "mysql" | "mariadb" | crate::database::adbc::SCHEME => {
                guard(Opening::Server(named))?;
                Ok(FoundSources::one(SourceLocation::Server(named.to_owned())))
            }
            remote if remote::SCHEMES.contains(&remote) => {
                guard(Opening::Server(named))?;
                Ok(FoundSources::one(SourceLocation::Remote(named.to_owned())))
            }
            "sqlite" | "file" => find_guarded(named.split_once("://").map_or("", |(_, path)| path), guard),
            _ => Err(nothing(
                "addresses may begin with postgres://, mysql://, mariadb://, adbc://, sqlite://, s3://, gs://, az:// or https://",
            )),
        };
    }
    if let Some(path) = named.strip_prefix("sqlite:") {
        guard(Opening::File(Path::new(path)))?;
        return Ok(FoundSources::one(SourceLocation::Sqlite(path.into())));
    }
    let path = Path::new(named);
    if !path.exists() {
        if let Some((name, rest)) = named.split_once('=')
            && is_name(name)
            && Path::new(rest).is_file()
        {
            let mut found = find_guarded(rest, guard)?;
            for place in &mut found.places {
                if let SourceLocation::File { name: given, .. } = place {
                    *given = Some(name.to_owned());
                }
            }
            return Ok(found);
        }
        if let Some((table, version)) = TableVersion::split(named)
            && Path::new(table).is_dir()
        {
            return folder::find_table(Path::new(table), Some(version), guard);
        }
        if named.contains(['*', '?', '[']) {
            return folder::find_pattern(named, guard);
        }
    }
    let metadata = std::fs::metadata(path)
        .map_err(|error| Error::File { path: path.to_owned(), detail: error.to_string() })?;
    if metadata.is_dir() {
        if delta::is_table(path) {
            return folder::find_table(path, None, guard);
        }
        return folder::find_folder(path, guard);
    }
    guard(Opening::File(path))?;
    detect::detect_file(path).map(FoundSources::one)
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_numeric())
}
