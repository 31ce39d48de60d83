//! Dumps the whole database to one file, and restores it into an empty database.
//!
//! Invariants
//! - The dump is a consistent snapshot: one transaction reads everything.
//! - A restore is all or nothing, at the schema version of the dump; opening the database then
//!   migrates it.
//!
//! The file is a sequence of frames: a letter, a length, and that many bytes. Tables are in
//! PostgreSQL's text format.

use super::connection::Database;
use crate::error::{Error, Result};
use crate::migrate::{POSTGRES, newest};
use crate::query::Scope;
use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, PgConnection, Row as _};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader, BufWriter};

/// The header of the file.
const KIND: &str = "steward postgres 1";
/// Maximum length of a frame: PostgreSQL sends one row at a time, and rows are far smaller.
const LONGEST: u32 = 1024 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct DumpHeader {
    kind: String,
    schema: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Table {
    name: String,
    columns: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Sequence {
    name: String,
    value: i64,
}

fn file_error(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull => Error::DiskFull { detail: error.to_string() },
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => {
            Error::Corrupt { path: path.to_owned(), detail: format!("the copy of the database: {error}") }
        }
        _ => Error::ReadOnly { path: path.to_owned(), detail: error.to_string() },
    }
}

/// The tables, in order of their foreign keys.
async fn tables(connection: &mut PgConnection) -> Result<Vec<Table>> {
    let rows = sqlx::query(
        "SELECT c.relname::text, array_agg(a.attname::text ORDER BY a.attnum),
                (SELECT coalesce(array_agg(f.confrelid::regclass::text), '{}') FROM pg_constraint f
                 WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.confrelid <> c.oid)
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
         AND a.attgenerated = ''
         WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname <> 'schema_version'
         GROUP BY c.oid, c.relname ORDER BY c.relname",
    )
    .fetch_all(connection)
    .await?;
    let mut left: Vec<(Table, Vec<String>)> = Vec::new();
    for row in rows {
        let table = Table { name: row.try_get(0)?, columns: row.try_get(1)? };
        left.push((table, row.try_get(2)?));
    }
    let mut ordered: Vec<Table> = Vec::new();
    while !left.is_empty() {
        let placed: BTreeSet<String> = ordered.iter().map(|table| table.name.clone()).collect();
        let (ready, later): (Vec<_>, Vec<_>) = left
            .into_iter()
            .partition(|(_, needs)| needs.iter().all(|need| placed.contains(need.trim_matches('"'))));
        if ready.is_empty() {
            let round: Vec<String> = later.into_iter().map(|(table, _)| table.name).collect();
            return Err(Error::Setup {
                detail: format!("tables refer to each other in a circle: {}", round.join(", ")),
            });
        }
        ordered.extend(ready.into_iter().map(|(table, _)| table));
        left = later;
    }
    Ok(ordered)
}

fn columns(table: &Table) -> String {
    table.columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// Writes everything to a new file.
pub(super) async fn write(db: &Database, path: &Path) -> Result<()> {
    let wrong = |error: io::Error| file_error(path, &error);
    let schema = db.schema_version().await?;
    let mut tx = db.begin_as_of_now().await?;
    let mut file = BufWriter::new(File::create_new(path).await.map_err(wrong)?);
    let about = DumpHeader { kind: KIND.to_owned(), schema };
    frame(&mut file, b'V', &json(&about)?).await.map_err(wrong)?;
    for table in tables(&mut tx).await? {
        frame(&mut file, b'T', &json(&table)?).await.map_err(wrong)?;
        let sql = format!("COPY \"{}\" ({}) TO STDOUT", table.name, columns(&table));
        let mut rows = tx.copy_out_raw(&sql).await?;
        while let Some(bytes) = rows.try_next().await? {
            frame(&mut file, b'D', &bytes).await.map_err(wrong)?;
        }
    }
    // Sequences belong to the owner and may be ahead of the snapshot: then some numbers are
    // skipped.
    sqlx::raw_sql("SET LOCAL ROLE NONE").execute(&mut *tx).await?;
    let sequences = sqlx::query(
        "SELECT sequencename::text, last_value FROM pg_sequences WHERE schemaname = current_schema() AND \
            last_value IS NOT NULL",
    );
    for row in sequences.fetch_all(&mut *tx).await? {
        let sequence = Sequence { name: row.try_get(0)?, value: row.try_get(1)? };
        frame(&mut file, b'S', &json(&sequence)?).await.map_err(wrong)?;
    }
    frame(&mut file, b'E', &[]).await.map_err(wrong)?;
    file.flush().await.map_err(wrong)?;
    file.into_inner().sync_all().await.map_err(wrong)
}

fn json<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| Error::BadRow(error.to_string()))
}

async fn frame(file: &mut BufWriter<File>, kind: u8, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    file.write_u8(kind).await?;
    file.write_u32(length).await?;
    file.write_all(bytes).await
}

async fn next(file: &mut BufReader<File>) -> io::Result<(u8, Vec<u8>)> {
    let kind = file.read_u8().await?;
    let length = file.read_u32().await?;
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a part is longer than it can be"));
    }
    // The length in a damaged file is not trusted: no memory is reserved for it in advance.
    let mut bytes = Vec::new();
    let read = (&mut *file).take(u64::from(length)).read_to_end(&mut bytes).await?;
    if read < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok((kind, bytes))
}

/// Restores such a file into the empty database at an address.
pub(super) async fn read(address: &str, path: &Path) -> Result<()> {
    let wrong = |error: io::Error| file_error(path, &error);
    let damaged = |what: &str| Error::Corrupt {
        path: path.to_owned(),
        detail: format!("the copy of the database: {what}"),
    };
    let mut file = BufReader::new(File::open(path).await.map_err(wrong)?);
    let about: DumpHeader = match next(&mut file).await.map_err(wrong)? {
        (b'V', bytes) => serde_json::from_slice(&bytes).map_err(|_| damaged("it does not say what it is"))?,
        _ => return Err(damaged("it does not begin with its kind")),
    };
    if about.kind != KIND {
        return Err(damaged("it is of a kind that this program does not know"));
    }
    let known = newest(POSTGRES);
    if about.schema > known {
        return Err(Error::NewerSchema { found: about.schema, known });
    }
    let db = Database::connect(address, about.schema).await?;
    empty(&db, about.schema).await?;
    let mut tx = db.begin_as_owner().await?;
    let known = tables(&mut tx).await?;
    // Row-level security prevents copying rows in, even for the owner. It is forced again before
    // the transaction commits.
    let forced: Vec<String> = sqlx::query_scalar(
        "SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND \
            relforcerowsecurity",
    )
    .fetch_all(&mut *tx)
    .await?;
    let policies = |force: &str| -> String {
        forced.iter().map(|table| format!("ALTER TABLE \"{table}\" {force} ROW LEVEL SECURITY;")).collect()
    };
    sqlx::raw_sql(AssertSqlSafe(policies("NO FORCE"))).execute(&mut *tx).await?;
    let (mut kind, mut bytes) = next(&mut file).await.map_err(wrong)?;
    loop {
        match kind {
            b'T' => {
                let table: Table =
                    serde_json::from_slice(&bytes).map_err(|_| damaged("a table has no name"))?;
                if !known.contains(&table) {
                    return Err(damaged(&format!("there is no table {} of that form", table.name)));
                }
                let sql = format!("COPY \"{}\" ({}) FROM STDIN", table.name, columns(&table));
                let mut rows = tx.copy_in_raw(&sql).await?;
                loop {
                    (kind, bytes) = next(&mut file).await.map_err(wrong)?;
                    if kind != b'D' {
                        break;
                    }
                    rows.send(bytes.as_slice()).await?;
                }
                rows.finish().await?;
                continue;
            }
            b'S' => {
                let sequence: Sequence =
                    serde_json::from_slice(&bytes).map_err(|_| damaged("a sequence has no name"))?;
                let name = format!("\"{}\"", sequence.name.replace('"', ""));
                let set = sqlx::query("SELECT setval($1::regclass, $2)").bind(name).bind(sequence.value);
                set.execute(&mut *tx).await?;
            }
            b'E' => break,
            _ => return Err(damaged("a part is of no kind")),
        }
        (kind, bytes) = next(&mut file).await.map_err(wrong)?;
    }
    sqlx::raw_sql(AssertSqlSafe(policies("FORCE"))).execute(&mut *tx).await?;
    Ok(tx.commit().await?)
}

/// Refuses a database that is not empty.
async fn empty(db: &Database, schema: i64) -> Result<()> {
    let found = db.schema_version().await?;
    let mut tx = db.begin(&Scope::System).await?;
    let used: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM conversation) OR EXISTS (SELECT FROM task) OR EXISTS (SELECT FROM \
            journal_entry) OR EXISTS (SELECT FROM log_head)",
    )
    .fetch_one(&mut *tx)
    .await?;
    if used || found != schema {
        let detail = "name an empty database in config/steward.yaml or STEWARD_STORE; nothing was changed";
        return Err(Error::Conflict { what: "data in this database".to_owned(), detail: detail.to_owned() });
    }
    Ok(())
}
