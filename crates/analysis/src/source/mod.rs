//! Where data comes from: what was named on the command line or in a request, and what it turns out to be.

pub(crate) mod files;
pub(crate) mod sqlite;

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use steward_domain::{DataSource, SourceKind};

/// More files than this in one folder are taken for a mistake.
const MAX_FILES: usize = 1_000;

/// A source as it was named, told apart by kind. Nothing has been read yet but the first bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file of rows, with the name its table is to have.
    File {
        /// Where it is.
        path: PathBuf,
        /// How it is read.
        format: Format,
        /// The table's name, when it was given: `sales=2021.csv`.
        name: Option<String>,
    },
    /// A SQLite database.
    Sqlite(PathBuf),
    /// A database server.
    Server(String),
}

/// File formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Format {
    Csv,
    Json,
    Ndjson,
    Parquet,
}

impl Place {
    /// Told to the journal: what kind, and where. Passwords in addresses are taken out.
    #[must_use]
    pub fn describe(&self) -> DataSource {
        let file = |kind, path: &Path| DataSource {
            kind,
            connection_string: None,
            file_path: Some(path.display().to_string()),
            schema_fingerprint: None,
        };
        match self {
            Self::File { path, format: Format::Csv, .. } => file(SourceKind::Csv, path),
            Self::File { path, format: Format::Json | Format::Ndjson, .. } => file(SourceKind::Json, path),
            Self::File { path, format: Format::Parquet, .. } => file(SourceKind::Parquet, path),
            Self::Sqlite(path) => sql(format!("sqlite:{}", path.display())),
            Self::Server(address) => sql(without_password(address)),
        }
    }

    /// Short, for people: the file's name, or the address without its password.
    #[must_use]
    pub fn label(&self) -> String {
        let last = |path: &Path| {
            path.file_name()
                .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
        };
        match self {
            Self::File { path, .. } | Self::Sqlite(path) => last(path),
            Self::Server(address) => without_password(address),
        }
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

/// What was named, fit to be kept: the address of a server loses its password and everything after `?`.
#[must_use]
pub fn without_password(named: &str) -> String {
    if named.contains("://") { crate::database::redact(named) } else { named.to_owned() }
}

/// Runs a statement on a SQLite source without policy before it, to show that the source refuses by itself. For tests.
#[doc(hidden)]
pub fn try_unchecked(path: &Path, sql: &str) -> Result<()> {
    sqlite::SqliteSource::open(path)?.rows(sql, 1).map(drop)
}

/// Finds what was named: a file, a folder, a pattern, a database file or a server's address; `name=` before it names the
/// table.
pub fn find(named: &str) -> Result<Vec<Place>> {
    let named = named.trim();
    let nothing = |detail: &str| Error::Source { what: named.to_owned(), detail: detail.to_owned() };
    if named.is_empty() {
        return Err(nothing("name a file, a folder, a pattern such as data/*.csv, or a database address"));
    }
    if let Some((scheme, _)) = named.split_once("://") {
        return match scheme {
            "postgres" | "postgresql" | "mysql" | "mariadb" => Ok(vec![Place::Server(named.to_owned())]),
            "sqlite" | "file" => find(named.split_once("://").map_or("", |(_, path)| path)),
            _ => Err(nothing("addresses may begin with postgres://, mysql://, mariadb:// or sqlite://")),
        };
    }
    if let Some(path) = named.strip_prefix("sqlite:") {
        return Ok(vec![Place::Sqlite(path.into())]);
    }
    let path = Path::new(named);
    if !path.exists() {
        if let Some((name, rest)) = named.split_once('=')
            && is_name(name)
            && Path::new(rest).is_file()
        {
            let places = find(rest)?.into_iter().map(|place| match place {
                Place::File { path, format, .. } => Place::File { path, format, name: Some(name.to_owned()) },
                other => other,
            });
            return Ok(places.collect());
        }
        if named.contains(['*', '?', '[']) {
            return pattern(named);
        }
    }
    let metadata = std::fs::metadata(path)
        .map_err(|error| Error::File { path: path.to_owned(), detail: error.to_string() })?;
    if metadata.is_dir() { folder(path) } else { file(path).map(|place| vec![place]) }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_numeric())
}

fn pattern(named: &str) -> Result<Vec<Place>> {
    let wrong = |detail: String| Error::Source { what: named.to_owned(), detail };
    let paths = glob::glob(named).map_err(|error| wrong(error.to_string()))?;
    let mut paths: Vec<PathBuf> =
        paths.filter_map(std::result::Result::ok).filter(|path| path.is_file()).take(MAX_FILES + 1).collect();
    paths.sort();
    several(named, &paths)
}

fn folder(path: &Path) -> Result<Vec<Place>> {
    let failed = |error: std::io::Error| Error::File { path: path.to_owned(), detail: error.to_string() };
    let entries = std::fs::read_dir(path).map_err(failed)?;
    let known = ["csv", "tsv", "tab", "json", "ndjson", "jsonl", "parquet", "sqlite", "sqlite3", "db"];
    let mut paths: Vec<PathBuf> = (entries.filter_map(std::result::Result::ok).map(|entry| entry.path()))
        .filter(|path| path.is_file() && known.contains(&extension(path).as_str()))
        .take(MAX_FILES + 1)
        .collect();
    paths.sort();
    several(&path.display().to_string(), &paths)
}

fn several(named: &str, paths: &[PathBuf]) -> Result<Vec<Place>> {
    let nothing = |detail: String| Error::Source { what: named.to_owned(), detail };
    if paths.is_empty() {
        return Err(nothing("there is no CSV, JSON, NDJSON, Parquet or SQLite file in it".to_owned()));
    }
    if paths.len() > MAX_FILES {
        return Err(nothing(format!(
            "there are more than {MAX_FILES} files in it. Name fewer with a pattern"
        )));
    }
    paths.iter().map(|path| file(path)).collect()
}

fn extension(path: &Path) -> String {
    path.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// Tells a file's format from its first bytes, and from its name where the bytes do not say.
fn file(path: &Path) -> Result<Place> {
    use std::io::Read as _;
    let failed = |error: std::io::Error| Error::File { path: path.to_owned(), detail: error.to_string() };
    let mut head = Vec::new();
    std::fs::File::open(path).map_err(failed)?.take(4096).read_to_end(&mut head).map_err(failed)?;
    let end = extension(path);
    let format = match () {
        () if head.starts_with(b"SQLite format 3\0") => return Ok(Place::Sqlite(path.to_owned())),
        () if head.is_empty() && ["sqlite", "sqlite3", "db"].contains(&end.as_str()) => {
            return Ok(Place::Sqlite(path.to_owned()));
        }
        () if head.starts_with(b"PAR1") => Format::Parquet,
        () if end == "ndjson" || end == "jsonl" => Format::Ndjson,
        () if end == "json" => Format::Json,
        () if end != "csv" && end != "tsv" && looks_json(&head) => Format::Json,
        () => Format::Csv,
    };
    Ok(Place::File { path: path.to_owned(), format, name: None })
}

fn looks_json(head: &[u8]) -> bool {
    let mut bytes = head.iter().filter(|byte| !byte.is_ascii_whitespace());
    let first = (bytes.next(), bytes.next());
    matches!(first, (Some(b'['), Some(b'{' | b'[' | b']')) | (Some(b'{'), Some(b'"' | b'}')))
}
