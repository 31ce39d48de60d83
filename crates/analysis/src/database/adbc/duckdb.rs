//! DuckDB: queried in its own SQL, read-only by its own settings.
//!
//! The database of the process is empty and in memory. The file is attached to it read-only, and
//! then access is locked: no other file, no network, no extension, no change of settings
//! (`enable_external_access`, `lock_configuration`). Macros of the file cannot be called, because
//! the file is not on the search path.
//!
//! Invariant: a caller's statement runs on its own connection, which has a temporary view for each
//! admitted table, with the admitted columns only. The statement can refer only to those views,
//! which DuckDB's own parse tree confirms ([`super::tree`]) before it runs.

use std::path::Path;
use std::sync::OnceLock;

use adbc_core::options::{OptionDatabase, OptionValue};
use adbc_driver_manager::ManagedConnection;
use async_trait::async_trait;

use super::super::discover::{self, ForeignKey, Listed, Reader};
use super::super::wall::{self, Admission, Wall};
use super::super::{Bounds, Database, DatabaseError, Discovered, Limits, guard};
use super::address::Address;
use super::{Link, StopHandle, StopOnDrop, blocking, literal, quote, tree};
use crate::frame::Frame;
use crate::query::Dialect;
use std::collections::BTreeMap;

/// The name of the attached file.
const FILE: &str = "file";
/// The schema of the views.
const VIEWS: [&str; 2] = ["temp", "main"];
/// Maximum disk space for spilling.
const SPILLED: &str = "8GB";

/// An open DuckDB file.
pub(super) struct DuckDb {
    link: Link,
    /// Schema and table by the name in the catalogue.
    paths: OnceLock<BTreeMap<String, Vec<String>>>,
}

impl DuckDb {
    pub(super) fn open(address: &Address, path: &Path, memory: usize) -> Result<Self, DatabaseError> {
        let name = path
            .file_name()
            .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let unreadable = |detail: String| DatabaseError::File { name: name.clone(), detail };
        let in_memory = OptionDatabase::Other("path".to_owned());
        let options = [(in_memory, OptionValue::String(":memory:".to_owned()))];
        let link = Link::open(address, &name, options)?;
        let file = path.canonicalize().map_err(|error| unreadable(error.to_string()))?;
        let Some(file) = file.to_str() else {
            return Err(unreadable("its path is not UTF-8".to_owned()));
        };
        let mut connection = link.connection()?;
        let spill = std::env::temp_dir().join(format!("steward-duckdb-{}", std::process::id()));
        let settings = [
            format!("SET memory_limit = '{}MB'", (memory >> 20).max(64)),
            format!("SET temp_directory = {}", literal(&spill.display().to_string())),
            format!("SET max_temp_directory_size = '{SPILLED}'"),
            "SET autoinstall_known_extensions = false".to_owned(),
            "SET autoload_known_extensions = false".to_owned(),
            "SET allow_community_extensions = false".to_owned(),
            "SET TimeZone = 'UTC'".to_owned(),
        ];
        for setting in &settings {
            // An older or smaller build lacks some of these settings; the essential ones follow,
            // and must work.
            let _known_to_this_build = link.execute(&mut connection, setting);
        }
        let attach = format!("ATTACH {} AS {FILE} (READ_ONLY, TYPE duckdb)", literal(file));
        link.execute(&mut connection, &attach).map_err(|error| match error {
            DatabaseError::Sql { message, .. } if message.contains(super::LOCKED) => {
                DatabaseError::Busy { host: name.clone(), detail: message }
            }
            DatabaseError::Sql { message, .. } => unreadable(message),
            DatabaseError::Unreachable { detail, .. } => unreadable(detail),
            other => other,
        })?;
        for setting in ["SET enable_external_access = false", "SET lock_configuration = true"] {
            link.execute(&mut connection, setting)?;
        }
        tree::probe(&link, &mut connection)?;
        Ok(Self { link, paths: OnceLock::new() })
    }

    /// Runs a statement on a connection prepared for it. Dropping the future stops it.
    async fn run(
        &self,
        sql: String,
        limits: Limits,
        prepare: impl FnOnce(&Link, &mut ManagedConnection) -> Result<(), DatabaseError> + Send + 'static,
    ) -> Result<(Frame, bool), DatabaseError> {
        let (link, stop) = (self.link.clone(), StopHandle::default());
        let running = stop.clone();
        let work = async move {
            let _stop = StopOnDrop(stop);
            blocking(move || {
                let mut connection = link.connection()?;
                prepare(&link, &mut connection)?;
                link.rows(&mut connection, &sql, limits, &running)
            })
            .await
        };
        limits.enforce(work).await
    }

    /// The catalogue name of a table by its schema and name.
    fn name_of(&self, schema: &str, table: &str) -> Result<&str, DatabaseError> {
        let mut known = self.paths.get().into_iter().flatten();
        let found = known.find(|(_, path)| path.iter().map(String::as_str).eq([schema, table]));
        found.map(|(name, _)| name.as_str()).ok_or_else(|| wall::refused("a table"))
    }

    /// The views of these tables with these columns, for one connection: the name and its CREATE
    /// statement.
    fn views(&self, admitted: &Admission) -> Result<BTreeMap<String, String>, DatabaseError> {
        let mut views = BTreeMap::new();
        for (schema, table) in admitted.tables() {
            let name = self.name_of(schema, table)?;
            let columns: Vec<String> =
                admitted.columns(schema, table).into_iter().flatten().map(|column| quote(column)).collect();
            let columns = if columns.is_empty() { "1 AS present".to_owned() } else { columns.join(", ") };
            let view = format!(
                "CREATE TEMP VIEW {} AS SELECT {columns} FROM {FILE}.{}.{}",
                quote(name),
                quote(schema),
                quote(table)
            );
            views.insert(name.to_owned(), view);
        }
        Ok(views)
    }
}

#[async_trait]
impl Database for DuckDb {
    fn dialect(&self) -> Dialect {
        Dialect::DuckDb
    }

    async fn discover(&self) -> Result<Discovered, DatabaseError> {
        let found = discover::discover(self).await?;
        let _first_discovery_counts = self.paths.set(found.paths.clone());
        Ok(found)
    }

    async fn query(&self, sql: &str, bounds: Bounds) -> Result<(Frame, bool), DatabaseError> {
        self.read(sql, bounds.into()).await
    }

    async fn query_admitted(
        &self,
        sql: &str,
        bounds: Bounds,
        admitted: &Admission,
    ) -> Result<(Frame, bool), DatabaseError> {
        let sql = guard::check(sql, Dialect::Postgres)?;
        let views = self.views(admitted)?;
        let text = sql.clone();
        self.run(sql, bounds.into(), move |link, connection| {
            tree::check(link, connection, &text, &views)?;
            views.values().try_for_each(|view| link.execute(connection, view))
        })
        .await
    }

    async fn columns_of(
        &self,
        path: &[String],
        columns: &[String],
        bounds: Bounds,
    ) -> Result<(Frame, bool), DatabaseError> {
        let [schema, table] = path else { return Err(wall::refused("a table")) };
        let name = self.name_of(schema, table)?;
        let list: Vec<String> = columns.iter().map(|column| quote(column)).collect();
        let list = if list.is_empty() { "1".to_owned() } else { list.join(", ") };
        let from = [VIEWS[0], VIEWS[1], name].map(quote).join(".");
        let admitted = Admission::new([(path, columns.iter().cloned().collect())]);
        self.query_admitted(&format!("SELECT {list} FROM {from}"), bounds, &admitted).await
    }

    async fn wall(&self) -> Result<Wall, DatabaseError> {
        Ok(Wall::Columns)
    }
}

const TABLES: &str = "
    SELECT schema_name, table_name, schema_name = 'main', true, estimated_size FROM duckdb_tables()
    WHERE database_name = 'file' AND NOT internal
    UNION ALL
    SELECT schema_name, view_name, schema_name = 'main', false, NULL FROM duckdb_views()
    WHERE database_name = 'file' AND NOT internal
    ORDER BY 3 DESC, 1, 2";

const COLUMNS: &str = "
    SELECT schema_name, table_name, column_name FROM duckdb_columns()
    WHERE database_name = 'file' AND NOT internal ORDER BY schema_name, table_name, column_index";

const PRIMARY_KEYS: &str = "
    SELECT schema_name, table_name, unnest(constraint_column_names) FROM duckdb_constraints()
    WHERE database_name = 'file' AND constraint_type = 'PRIMARY KEY'";

const FOREIGN_KEYS: &str = "
    SELECT schema_name || '.' || table_name || '.' || constraint_index, schema_name, table_name,
        unnest(constraint_column_names), schema_name, referenced_table, unnest(referenced_column_names)
    FROM duckdb_constraints() WHERE database_name = 'file' AND constraint_type = 'FOREIGN KEY'
    ORDER BY 1";

#[async_trait]
impl Reader for DuckDb {
    /// Runs one of our own statements, with the names of the file.
    async fn read(&self, sql: &str, limits: Limits) -> Result<(Frame, bool), DatabaseError> {
        let sql = guard::check(sql, Dialect::Postgres)?;
        self.run(sql, limits, |link, connection| link.execute(connection, &format!("USE {FILE}"))).await
    }

    async fn list(&self) -> Result<(Vec<Listed>, Vec<ForeignKey>), DatabaseError> {
        let limits = discover::list_limits();
        let (tables, _) = self.read(TABLES, limits).await?;
        let (columns, _) = self.read(COLUMNS, limits).await?;
        let (keys, _) = self.read(PRIMARY_KEYS, limits).await?;
        let (foreign, _) = self.read(FOREIGN_KEYS, limits).await?;
        let columns_of = discover::grouped(&columns, &[0, 1]);
        let keys_of = discover::grouped(&keys, &[0, 1]);
        let listed = (0..tables.rows.len()).map(|row| {
            let place = [discover::text(&tables, row, 0), discover::text(&tables, row, 1)];
            let of_table = |groups: &discover::Groups, frame: &Frame| -> Vec<String> {
                let rows = groups.get(place.as_slice()).into_iter().flatten();
                rows.map(|row| discover::text(frame, *row, 2)).collect()
            };
            Listed {
                schema: place[0].clone(),
                table: place[1].clone(),
                plain: tables.cell(row, 2).number() == Some(1.0),
                stored: tables.cell(row, 3).number() == Some(1.0),
                estimate: tables.cell(row, 4).number().filter(|rows| *rows > 0.0).map(|rows| rows as u64),
                columns: of_table(&columns_of, &columns)
                    .into_iter()
                    .map(|name| (name.clone(), quote(&name)))
                    .collect(),
                key: of_table(&keys_of, &keys),
            }
        });
        Ok((listed.collect(), discover::foreign_keys(&foreign)))
    }

    fn quote(&self, name: &str) -> String {
        quote(name)
    }

    fn random(&self, share: f64) -> String {
        // A fixed seed, so that the same data gives the same profile.
        format!("TABLESAMPLE SYSTEM ({:.6} PERCENT) REPEATABLE (1)", (share * 100.0).clamp(0.000_1, 100.0))
    }
}
