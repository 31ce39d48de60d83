//! Detects the type of a file from its first bytes, and from its name if the bytes are ambiguous.

use super::unpack::{self, Packing};
use super::{Format, SourceLocation};
use crate::error::{Error, Result};
use std::path::Path;
use steward_domain::SourceKind;

/// Extensions of data files, without those of compression.
pub const ENDINGS: [&str; 28] = [
    "csv", "tsv", "tab", "json", "ndjson", "jsonl", "parquet", "pq", "arrow", "feather", "ipc", "avro",
    "xlsx", "xlsm", "xls", "xlsb", "ods", "sqlite", "sqlite3", "db", "duckdb", "ddb", "zip", "tar", "tgz",
    "tbz2", "txz", "tzst",
];

/// Extensions of compressed files.
pub const PACKED_ENDINGS: [&str; 6] = ["gz", "gzip", "zst", "zstd", "bz2", "xz"];

/// The ending of a name, in lower case.
pub(crate) fn ending(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    last.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default()
}

/// Whether the name is that of a data file, compressed or not.
pub(crate) fn is_data_name(name: &str) -> bool {
    ENDINGS.contains(&ending(&unpack::inner_name(name)).as_str()) || ENDINGS.contains(&ending(name).as_str())
}

/// The name without folders and extensions, which becomes the table's name.
pub(crate) fn stem(name: &str) -> String {
    let inner = unpack::inner_name(name);
    let last = inner.rsplit(['/', '\\']).next().unwrap_or(&inner);
    match last.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => last.to_owned(),
    }
}

/// The kind of a source, before it is read.
pub(crate) fn source_kind(path: &Path, format: Format) -> SourceKind {
    match format {
        Format::Csv => SourceKind::Csv,
        Format::Json | Format::Ndjson => SourceKind::Json,
        Format::Parquet => SourceKind::Parquet,
        Format::Arrow => SourceKind::Arrow,
        Format::Avro => SourceKind::Avro,
        Format::Workbook => SourceKind::Workbook,
        Format::Zip | Format::Tar => SourceKind::Archive,
        Format::Packed(_) => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            match ending(&unpack::inner_name(&name)).as_str() {
                "json" | "ndjson" | "jsonl" => SourceKind::Json,
                "parquet" | "pq" => SourceKind::Parquet,
                "tar" => SourceKind::Archive,
                "xlsx" | "xlsm" | "xls" | "xlsb" | "ods" => SourceKind::Workbook,
                "avro" => SourceKind::Avro,
                "arrow" | "feather" | "ipc" => SourceKind::Arrow,
                _ => SourceKind::Csv,
            }
        }
    }
}

/// Detects the type of a named file.
pub(crate) fn detect_file(path: &Path) -> Result<SourceLocation> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if is_duckdb(&head(path)?) {
        return Ok(SourceLocation::DuckDb(path.to_owned()));
    }
    Ok(match detect(path, &name)? {
        Some(format) => SourceLocation::File { path: path.to_owned(), format, name: None },
        None => SourceLocation::Sqlite(path.to_owned()),
    })
}

/// The format of the file `name` at `path`; none for a SQLite database.
pub(crate) fn detect(path: &Path, name: &str) -> Result<Option<Format>> {
    let head = head(path)?;
    let end = ending(name);
    let is = |endings: &[&str]| endings.contains(&end.as_str());
    Ok(Some(match () {
        () if head.starts_with(b"SQLite format 3\0") => return Ok(None),
        () if head.is_empty() && is(&["sqlite", "sqlite3", "db"]) => return Ok(None),
        () if is_duckdb(&head) => {
            let detail = "a DuckDB database inside of an archive or among partitions: name it by itself";
            return Err(Error::Format { path: path.to_owned(), detail: detail.to_owned() });
        }
        () if head.starts_with(b"PAR1") => Format::Parquet,
        () if head.starts_with(b"ARROW1") || head.starts_with(b"\xff\xff\xff\xff") => Format::Arrow,
        () if head.starts_with(b"Obj\x01") => Format::Avro,
        () if head.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") => Format::Workbook,
        () if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") => {
            if unpack::workbook_kind(path)?.is_some() { Format::Workbook } else { Format::Zip }
        }
        () if head.get(257..262) == Some(b"ustar") => Format::Tar,
        () if let Some(packing) = Packing::of(&head) => Format::Packed(packing),
        () if is(&["ndjson", "jsonl"]) => Format::Ndjson,
        () if end == "json" => Format::Json,
        () if !is(&["csv", "tsv"]) && looks_json(&head) => Format::Json,
        () => Format::Csv,
    }))
}

/// The first bytes of a file.
fn head(path: &Path) -> Result<Vec<u8>> {
    use std::io::Read as _;
    let failed = |error: std::io::Error| Error::File { path: path.to_owned(), detail: error.to_string() };
    let mut head = Vec::new();
    std::fs::File::open(path).map_err(failed)?.take(4096).read_to_end(&mut head).map_err(failed)?;
    Ok(head)
}

/// A DuckDB file starts with a checksum, followed by its signature.
fn is_duckdb(head: &[u8]) -> bool {
    head.get(8..12) == Some(b"DUCK")
}

fn looks_json(head: &[u8]) -> bool {
    let mut bytes = head.iter().filter(|byte| !byte.is_ascii_whitespace());
    let first = (bytes.next(), bytes.next());
    matches!(first, (Some(b'['), Some(b'{' | b'[' | b']')) | (Some(b'{'), Some(b'"' | b'}')))
}
