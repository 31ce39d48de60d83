//! The data of one request: its sources, opened, profiled and ready to be queried.
//!
//! A session is opened for each request and reads the data again. A query runs where the data is:
//! in the database if all its tables are in one, otherwise in the engine, which then loads the rows
//! of the database's tables.
//!
//! Invariant: where a statement runs, only the columns exist that policy admitted it to.

mod lists;
mod open;
mod statement;

pub use open::OpenProgress;
pub(crate) use statement::Statement;

use crate::catalogue::{Catalogue, Table};
use crate::database::{Admission, Bounds, Database, Wall};
use crate::engine::{CsvScan, Engine};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::isolation::{Description, Remote};
use crate::query::Dialect;
use crate::source::SourceLocation;
use crate::source::remote::Traffic;
use crate::source::sqlite::SqliteSource;
use crate::source::unpack::Scratch;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steward_domain::ErrorCategory;
use steward_policy::{Access, AdmittedSql};

/// The limits of a session.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Memory limit of queries in bytes; beyond it they spill to disk or fail.
    pub memory: usize,
    /// Files up to this size are read completely; larger ones are sampled and scanned.
    pub small_file: u64,
    /// Maximum number of rows fetched from a database's table to be joined with other sources.
    pub fetch_rows: usize,
    /// Bytes of a larger file that are sampled.
    pub sample: u64,
    /// Maximum unpacked size of a compressed file or an archive in bytes.
    pub unpacked: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory: 1 << 30,
            small_file: 8 << 20,
            fetch_rows: 2_000_000,
            sample: 1_835_008,
            unpacked: 8 << 30,
        }
    }
}

/// The location of a table's rows.
#[derive(Clone)]
enum TableLocation {
    Engine,
    Sqlite(Arc<SqliteSource>),
    /// A database, and the path of the table in it.
    Server(Arc<dyn Database>, Vec<String>),
    /// Another process, with the dialect and path of the table there.
    Apart(Dialect, Vec<String>),
}

impl TableLocation {
    fn dialect(&self) -> Dialect {
        match self {
            Self::Engine => Dialect::DataFusion,
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Server(server, _) => server.dialect(),
            Self::Apart(dialect, _) => *dialect,
        }
    }
}

/// One result.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The rows.
    pub frame: Frame,
    /// Whether there were more rows than the limit.
    pub cut: bool,
}

/// The open data of one request.
pub struct Session {
    places: Vec<SourceLocation>,
    /// The full catalogue.
    catalogue: Catalogue,
    /// The part that the caller may know: see [`Session::restrict`].
    shown: Catalogue,
    /// Tables of which the caller sees only some rows, some values or only groups.
    ruled: BTreeSet<String>,
    /// Tables and columns whose values must not be read.
    withheld: Mutex<BTreeSet<(String, String)>>,
    rooms: Vec<TableLocation>,
    engine: Engine,
    options: Options,
    scans: Mutex<BTreeMap<String, CsvScan>>,
    /// Original spellings of times, by table and column.
    spelled: BTreeMap<(String, String), BTreeMap<String, String>>,
    /// Notes about the data for the reader of an answer: lines omitted, formats assumed.
    warnings: Vec<String>,
    assumptions: Vec<String>,
    notes: Vec<String>,
    /// The temporary folder of unpacked files.
    scratch: Arc<Scratch>,
    /// Bytes fetched from other machines.
    traffic: Traffic,
    /// The process that holds the data, if it is not this one.
    remote: Option<Remote>,
}

impl Session {
    fn scans(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, CsvScan>> {
        self.scans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The catalogue, as far as the caller may know it.
    #[must_use]
    #[allow(clippy::misnamed_getters, reason = "what was found is for the session alone")]
    pub fn catalogue(&self) -> &Catalogue {
        &self.shown
    }

    /// Reduces [`Session::catalogue`] to what this caller may know. Columns that are not granted
    /// are removed. Of a blocked column only the name is kept, so that asking for it can be
    /// refused.
    pub fn restrict(&mut self, access: &Access) {
        let schema = self.schema();
        self.shown = self.catalogue.clone();
        let mut withheld = BTreeSet::new();
        for (table, known) in self.shown.tables.iter_mut().zip(&schema.tables) {
            let mut columns = std::mem::take(&mut table.columns);
            let ruled = access.is_ruled(known);
            for (column, policy) in columns.iter_mut().zip(&known.columns) {
                let hidden = !access.allows(known, policy);
                // A row-level rule may read columns that its caller may not: they exist where the
                // statement runs.
                if hidden && !ruled {
                    withheld.insert((table.name.clone(), column.name.clone()));
                }
                if hidden {
                    *column = crate::profile::name_only(column);
                }
            }
            let mut granted = known.columns.iter().map(|column| access.grants(known, column));
            columns.retain(|_| granted.next().unwrap_or(false));
            table.columns = columns;
            if ruled {
                forget_rows(table);
                self.ruled.insert(table.name.clone());
            }
        }
        keep_tables(&mut self.shown);
        self.withhold(withheld);
    }

    /// Sets the columns whose values must not be read.
    pub(crate) fn withhold(&self, columns: BTreeSet<(String, String)>) {
        if let Some(remote) = &self.remote {
            remote.withhold(columns.clone());
        }
        *self.withheld.lock().unwrap_or_else(PoisonError::into_inner) = columns;
    }

    /// The description for another process.
    pub(crate) fn describe(&self) -> Description {
        let paths = self.schema().tables.into_iter().map(|table| table.path);
        Description {
            places: self.places.clone(),
            catalogue: self.catalogue.clone(),
            tables: self.rooms.iter().map(TableLocation::dialect).zip(paths).collect(),
            spelled: (self.spelled.iter())
                .map(|((table, column), words)| (table.clone(), column.clone(), words.clone()))
                .collect(),
            warnings: self.warnings.clone(),
            assumptions: self.assumptions.clone(),
            notes: self.notes.clone(),
            fetched: self.bytes_fetched(),
        }
    }

    /// Its sources.
    #[must_use]
    pub fn places(&self) -> &[SourceLocation] {
        &self.places
    }

    /// The temporary folder while the session is open. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn scratch_folder(&self) -> Option<std::path::PathBuf> {
        self.scratch.folder().map(std::path::Path::to_owned)
    }

    /// The original spelling of a time in this column, if it differs from ours.
    pub(crate) fn spelling(&self, table: &str, column: &str, value: &str) -> Option<&str> {
        self.spelled.get(&(table.to_owned(), column.to_owned()))?.get(value).map(String::as_str)
    }

    /// Notes about the data for the reader of an answer.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The assumptions made while reading values.
    #[must_use]
    pub fn assumptions(&self) -> &[String] {
        &self.assumptions
    }

    /// What a profile says about how values were read, and answers do not repeat.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Bytes fetched from buckets and web servers so far.
    #[must_use]
    pub fn bytes_fetched(&self) -> u64 {
        self.traffic.bytes()
    }

    /// The schema in policy's terms.
    #[must_use]
    pub fn schema(&self) -> steward_policy::Schema {
        let column = |column: &crate::catalogue::Column| steward_policy::Column {
            name: column.name.clone(),
            looks_like: column.looks_like.clone(),
        };
        let table = |(table, room): (&Table, &TableLocation)| steward_policy::Table {
            name: table.name.clone(),
            path: match room {
                TableLocation::Engine => vec![table.name.clone()],
                TableLocation::Sqlite(_) => vec!["main".to_owned(), table.name.clone()],
                TableLocation::Server(_, path) | TableLocation::Apart(_, path) => path.clone(),
            },
            columns: table.columns.iter().map(column).collect(),
            has_twin: false,
        };
        let tables = self.catalogue.tables.iter().zip(&self.rooms).map(table);
        steward_policy::Schema::new(tables.collect())
    }

    /// The catalogue with only what the caller may read: of a table under row rules names and
    /// kinds, because values, counts and ranges are those of all its rows.
    #[must_use]
    pub fn visible(&self, access: &Access) -> Catalogue {
        let schema = self.schema();
        let mut visible = self.catalogue.clone();
        for (table, known) in visible.tables.iter_mut().zip(&schema.tables) {
            if access.is_ruled(known) {
                forget_rows(table);
            }
            let mut allowed = known.columns.iter().map(|column| access.allows(known, column));
            table.columns.retain(|_| allowed.next().unwrap_or(false));
        }
        keep_tables(&mut visible);
        visible
    }

    /// The dialects of the sources, the engine's own last.
    pub(crate) fn dialects(&self) -> Vec<Dialect> {
        let mut dialects: Vec<Dialect> = Vec::new();
        for dialect in self.rooms.iter().map(TableLocation::dialect).filter(|d| *d != Dialect::DataFusion) {
            if !dialects.contains(&dialect) {
                dialects.push(dialect);
            }
        }
        dialects.push(Dialect::DataFusion);
        dialects
    }

    /// The dialect for a query over these tables.
    #[must_use]
    pub fn dialect(&self, tables: &BTreeSet<String>) -> Dialect {
        self.room(tables).map_or(Dialect::DataFusion, |room| room.dialect())
    }

    /// The location that has all the tables, if there is one.
    fn room(&self, tables: &BTreeSet<String>) -> Option<TableLocation> {
        let mut found: Option<(usize, TableLocation)> = None;
        for name in tables {
            let place = self.catalogue.place_of(name)?;
            let source = self.catalogue.tables.get(place)?.source;
            let room = self.rooms.get(place)?;
            match &found {
                None => found = Some((source, room.clone())),
                Some((known, _)) if *known == source => {}
                Some(_)
                    if room.dialect() == Dialect::DataFusion
                        && found.as_ref().is_some_and(|(_, room)| room.dialect() == Dialect::DataFusion) => {}
                Some(_) => return None,
            }
        }
        found.map(|(_, room)| room)
    }

    /// Runs an admitted statement in the engine of its dialect, within its limits.
    pub async fn run(&self, sql: &AdmittedSql) -> Result<Ran> {
        let statement = Statement::from(sql);
        let ruled = statement.tables.iter().any(|table| self.ruled.contains(table));
        let ran = match &self.remote {
            Some(remote) => Box::pin(remote.run(statement)).await.map(|(frame, cut, fetched)| {
                self.traffic.add(fetched);
                Ran { frame, cut }
            }),
            None => Box::pin(self.run_statement(&statement)).await,
        };
        ran.map_err(|error| if ruled { error.without_values() } else { error })
    }

    pub(crate) async fn run_statement(&self, sql: &Statement) -> Result<Ran> {
        let (dialect, rows, timeout) = (sql.dialect, sql.rows, sql.timeout());
        let work = async {
            let (frame, cut) = match self.room(&sql.tables) {
                Some(TableLocation::Sqlite(database)) if dialect == Dialect::Sqlite => {
                    database.query(sql, rows).await?
                }
                Some(TableLocation::Server(server, _))
                    if dialect == server.dialect() && dialect != Dialect::DataFusion =>
                {
                    let admitted = self.admission(sql);
                    server.query_admitted(&sql.text, Bounds { rows, timeout }, &admitted).await?
                }
                _ if dialect == Dialect::DataFusion => self.in_engine(sql, rows).await?,
                _ => {
                    let detail = "the statement was written for another engine".to_owned();
                    return Err(Error::Query { detail, category: ErrorCategory::ToolFailure });
                }
            };
            Ok(Ran { frame, cut })
        };
        tokio::time::timeout(timeout, work).await.unwrap_or(Err(Error::Timeout { seconds: sql.seconds }))
    }

    /// The paths of an admitted statement's tables, and the columns it may read.
    fn admission(&self, sql: &Statement) -> Admission {
        let placed = |(name, columns): (&String, &BTreeSet<String>)| {
            let place = self.catalogue.tables.iter().position(|table| table.name == *name)?;
            match self.rooms.get(place)? {
                TableLocation::Server(_, path) => Some((path.as_slice(), columns.clone())),
                _ => None,
            }
        };
        Admission::new(sql.reads.iter().filter_map(placed))
    }

    /// The protection that remains if admission is wrong, for each database server of the session.
    pub async fn walls(&self) -> Result<Vec<Wall>> {
        let mut walls = Vec::new();
        let mut seen = BTreeSet::new();
        for (table, room) in self.catalogue.tables.iter().zip(&self.rooms) {
            if let TableLocation::Server(server, _) = room
                && seen.insert(table.source)
            {
                walls.push(server.wall().await?);
            }
        }
        Ok(walls)
    }

    async fn in_engine(&self, sql: &Statement, rows: usize) -> Result<(Frame, bool)> {
        for name in &sql.tables {
            self.bring(name).await?;
        }
        match self.engine.run(sql, rows).await {
            Err(Error::Query { category: ErrorCategory::TypeMismatch, .. })
                if self.relax(&sql.tables).await? =>
            {
                self.engine.run(sql, rows).await
            }
            result => result,
        }
    }

    /// Runs a statement and stores its rows in the engine under a name, without copying them out.
    /// Returns the columns without rows.
    pub(crate) async fn materialise(&self, sql: &AdmittedSql, name: &str) -> Result<Frame> {
        let statement = Statement::from(sql);
        match &self.remote {
            Some(remote) => Box::pin(remote.materialise(statement, name)).await,
            None => Box::pin(self.materialise_statement(&statement, name)).await,
        }
    }

    pub(crate) async fn materialise_statement(&self, sql: &Statement, name: &str) -> Result<Frame> {
        let work = async {
            for table in &sql.tables {
                self.bring(table).await?;
            }
            match self.engine.materialise(sql, name).await {
                Err(Error::Query { category: ErrorCategory::TypeMismatch, .. })
                    if self.relax(&sql.tables).await? =>
                {
                    self.engine.materialise(sql, name).await
                }
                result => result,
            }
        };
        let late = || Err(Error::Timeout { seconds: sql.seconds });
        tokio::time::timeout(sql.timeout(), work).await.unwrap_or_else(|_| late())
    }

    /// Reads the scanned files among these leniently from now on. `false` if that changes nothing.
    async fn relax(&self, tables: &BTreeSet<String>) -> Result<bool> {
        let strict: Vec<(String, CsvScan)> = (self.scans().iter())
            .filter(|(name, scan)| {
                tables.iter().any(|table| table.eq_ignore_ascii_case(name)) && scan.is_strict()
            })
            .map(|(name, scan)| (name.clone(), scan.clone().lenient()))
            .collect();
        for (name, scan) in &strict {
            scan.register(&self.engine, name).await?;
            self.scans().insert(name.clone(), scan.clone());
        }
        Ok(!strict.is_empty())
    }

    /// Makes a table available to the engine: rows of a database's table are fetched once.
    async fn bring(&self, name: &str) -> Result<()> {
        if self.engine.has(name) {
            return Ok(());
        }
        let Some(place) = self.catalogue.place_of(name) else {
            return Ok(());
        };
        let (Some(table), Some(room)) = (self.catalogue.tables.get(place), self.rooms.get(place)) else {
            return Ok(());
        };
        if matches!(room, TableLocation::Engine | TableLocation::Apart(..)) {
            return Ok(());
        }
        let limit = self.options.fetch_rows;
        let (frame, cut) = self.fetch(table, room, limit).await?;
        if cut {
            return Err(Error::TooManyRows { table: table.name.clone(), rows: limit });
        }
        self.engine.add_frame(&table.name, &frame)
    }

    /// Rows of a database's table, without changes: only the readable columns.
    async fn fetch(&self, table: &Table, room: &TableLocation, limit: usize) -> Result<(Frame, bool)> {
        let readable: Vec<&crate::catalogue::Column> =
            table.columns.iter().filter(|column| !self.is_withheld(&table.name, &column.name)).collect();
        let (mut frame, cut) = match room {
            TableLocation::Engine | TableLocation::Apart(..) => {
                let names: Vec<&str> = readable.iter().map(|column| column.name.as_str()).collect();
                self.engine.head_of(&table.name, &names, limit).await?
            }
            TableLocation::Sqlite(database) => {
                let names: Vec<String> = readable.iter().map(|column| column.name.clone()).collect();
                database.fetch(&table.name, &names, limit).await?
            }
            TableLocation::Server(server, path) => {
                let names: Vec<String> = readable.iter().map(|column| column.name.clone()).collect();
                let bounds = Bounds { rows: limit, timeout: Duration::from_secs(180) };
                server.columns_of(path, &names, bounds).await?
            }
        };
        for (field, column) in frame.fields.iter_mut().zip(&readable) {
            field.kind = column.kind;
        }
        crate::reader::undress_times(&mut frame);
        Ok((frame, cut))
    }

    fn is_withheld(&self, table: &str, column: &str) -> bool {
        self.withheld
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&(table.to_owned(), column.to_owned()))
    }

    /// Adds rows computed by this process as a table, for further steps such as `df.transform`.
    pub(crate) fn add_frame(&self, name: &str, frame: &Frame) -> Result<()> {
        match &self.remote {
            Some(remote) => remote.add_frame(name, frame),
            None => self.engine.add_frame(name, frame),
        }
    }

    /// The first rows of a table.
    pub async fn head(&self, table: &str, rows: usize) -> Result<(Frame, bool)> {
        if let Some(remote) = &self.remote {
            return Box::pin(remote.head(table, rows)).await;
        }
        let place = self.catalogue.place_of(table);
        match place.and_then(|place| self.catalogue.tables.get(place).zip(self.rooms.get(place))) {
            Some((known, room)) => self.fetch(known, room, rows).await,
            None => self.engine.head(table, rows).await,
        }
    }
}

/// Removes from a table what was learned from its rows.
fn forget_rows(table: &mut Table) {
    table.rows = None;
    for column in &mut table.columns {
        *column = crate::profile::name_only(column);
    }
}

/// Removes tables without columns, and joins on a removed column.
fn keep_tables(catalogue: &mut Catalogue) {
    catalogue.tables.retain(|table| !table.columns.is_empty());
    for table in &mut catalogue.tables {
        let known = |key: &String| table.columns.iter().any(|column| column.name.eq_ignore_ascii_case(key));
        if !table.primary_key.iter().all(known) {
            table.primary_key.clear();
        }
    }
    let tables = std::mem::take(&mut catalogue.tables);
    let known = |(name, columns): &(String, Vec<String>)| {
        let exact = tables.iter().find(|table| table.name == *name);
        let table = exact.or_else(|| tables.iter().find(|table| table.name.eq_ignore_ascii_case(name)));
        table.is_some_and(|table| columns.iter().all(|column| table.column(column).is_some()))
    };
    catalogue.joins.retain(|join| known(&join.from) && known(&join.to));
    catalogue.tables = tables;
}

/// The dialect as a policy type.
pub(crate) fn to_policy(dialect: Dialect) -> steward_policy::Dialect {
    match dialect {
        Dialect::DataFusion => steward_policy::Dialect::DataFusion,
        Dialect::Sqlite => steward_policy::Dialect::Sqlite,
        Dialect::Postgres => steward_policy::Dialect::Postgres,
        Dialect::MySql => steward_policy::Dialect::MySql,
        Dialect::DuckDb => steward_policy::Dialect::DuckDb,
    }
}

fn of_policy(dialect: steward_policy::Dialect) -> Dialect {
    match dialect {
        steward_policy::Dialect::DataFusion => Dialect::DataFusion,
        steward_policy::Dialect::Sqlite => Dialect::Sqlite,
        steward_policy::Dialect::Postgres => Dialect::Postgres,
        steward_policy::Dialect::MySql => Dialect::MySql,
        steward_policy::Dialect::DuckDb => Dialect::DuckDb,
    }
}
