//! The data of one request: its sources opened, looked over and ready to be asked.
//!
//! A session is opened for each request and reads the data fresh. Queries go where the data is: to the database when all
//! their tables are in one, otherwise to the engine, which then gets the rows of the database's tables.

use crate::catalogue::{Catalogue, Table};
use crate::database::{self, Bounds, Database};
use crate::engine::{CsvScan, Engine};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::profile;
use crate::query::Dialect;
use crate::source::sqlite::SqliteSource;
use crate::source::{Place, files};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steward_domain::ErrorCategory;
use steward_policy::{Access, AdmittedSql};

/// What a session may use.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes of memory for queries; beyond, they spill to disk or fail.
    pub memory: usize,
    /// Files up to this size are read whole; larger ones are sampled and scanned.
    pub small_file: u64,
    /// Rows that are fetched from a database's table to be joined with other sources.
    pub fetch_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { memory: 1 << 30, small_file: 8 << 20, fetch_rows: 2_000_000 }
    }
}

/// Where a table's rows are.
#[derive(Clone)]
enum Room {
    Engine,
    Sqlite(Arc<SqliteSource>),
    Server(Arc<dyn Database>),
}

/// One result.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The rows.
    pub frame: Frame,
    /// There were more than the limit.
    pub cut: bool,
}

/// The open data of one request.
pub struct Session {
    places: Vec<Place>,
    catalogue: Catalogue,
    rooms: Vec<Room>,
    engine: Engine,
    options: Options,
    scans: Mutex<BTreeMap<String, CsvScan>>,
    /// How files spell their times, by table and column.
    spelled: BTreeMap<(String, String), BTreeMap<String, String>>,
    /// What the reader of an answer should know about the data: lines left out, formats assumed.
    warnings: Vec<String>,
    assumptions: Vec<String>,
}

impl Session {
    /// Opens and looks over everything that was named.
    pub async fn open(named: &[String], options: Options) -> Result<Self> {
        let mut places = Vec::new();
        for name in named {
            for place in crate::source::find(name)? {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        let mut session = Self {
            places,
            catalogue: Catalogue::default(),
            rooms: Vec::new(),
            engine: Engine::new(options.memory)?,
            options,
            scans: Mutex::default(),
            spelled: BTreeMap::new(),
            warnings: Vec::new(),
            assumptions: Vec::new(),
        };
        for index in 0..session.places.len() {
            let Some(place) = session.places.get(index).cloned() else { continue };
            session.add(index, &place).await?;
        }
        profile::find_joins(&mut session.catalogue);
        Ok(session)
    }

    async fn add(&mut self, source: usize, place: &Place) -> Result<()> {
        match place {
            Place::Sqlite(path) => {
                let database = SqliteSource::open(path)?;
                let (tables, joins) = database.discover()?;
                let label = place.label();
                if tables.is_empty() {
                    return Err(Error::Source {
                        what: label,
                        detail: "the database has no tables".to_owned(),
                    });
                }
                self.add_database(source, &label, tables, joins, &Room::Sqlite(Arc::new(database)));
            }
            Place::Server(address) => {
                let database: Arc<dyn Database> = database::connect(address).await?.into();
                let found = database.discover().await?;
                self.warnings.extend(found.warnings);
                let label = place.label();
                if found.tables.is_empty() {
                    let detail = "there is no table in it that you may read".to_owned();
                    return Err(Error::Source { what: label, detail });
                }
                self.add_database(source, &label, found.tables, found.joins, &Room::Server(database));
            }
            Place::File { path, format, name } => {
                let loaded = files::load(path, *format, &self.engine, &self.options).await?;
                self.warnings.extend(loaded.warnings);
                self.assumptions.extend(loaded.assumptions);
                let stem =
                    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                let wanted = name.clone().unwrap_or_else(|| files::table_name(&stem));
                if self.append(path, &wanted, &loaded.table, &loaded.rows).await? {
                    return Ok(());
                }
                let unique = self.unique(&wanted);
                let spelled =
                    loaded.spelled.into_iter().map(|(column, words)| ((unique.clone(), column), words));
                self.spelled.extend(spelled);
                match loaded.rows {
                    files::Rows::Frame(frame) => self.engine.add_frame(&unique, &frame)?,
                    files::Rows::Scan(scan) => {
                        scan.register(&self.engine, &unique).await?;
                        self.scans().insert(unique.clone(), scan);
                    }
                    files::Rows::Registered(provider) => self.engine.register(&unique, provider)?,
                }
                self.catalogue.tables.push(Table { name: unique, label: stem, source, ..loaded.table });
                self.rooms.push(Room::Engine);
            }
        }
        Ok(())
    }

    /// Files with the same columns and names that differ in digits only are one table: `sales_2020.csv`, `sales_2021.csv`.
    async fn append(
        &mut self,
        path: &std::path::Path,
        wanted: &str,
        table: &Table,
        rows: &files::Rows,
    ) -> Result<bool> {
        let base = files::series_name(wanted);
        let columns = |table: &Table| -> Vec<(String, crate::frame::Kind)> {
            table.columns.iter().map(|column| (column.name.clone(), column.kind)).collect()
        };
        let Some(known) = (self.catalogue.tables.iter_mut()).find(|known| {
            files::series_name(&known.name) == base && base != *wanted && columns(known) == columns(table)
        }) else {
            return Ok(false);
        };
        let name = known.name.clone();
        match rows {
            files::Rows::Scan(scan) => {
                let Some(merged) = merge(&self.scans, &name, scan, path) else { return Ok(false) };
                merged.register(&self.engine, &name).await?;
            }
            files::Rows::Frame(frame) => {
                let (mut first, cut) = self.engine.head(&name, 5_000_000).await?;
                if cut || self.scans.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&name) {
                    return Ok(false);
                }
                first.rows.extend(frame.rows.iter().cloned());
                for (field, column) in first.fields.iter_mut().zip(&known.columns) {
                    field.unit = column.unit;
                }
                let labels: Vec<String> = known.columns.iter().map(|column| column.label.clone()).collect();
                known.columns = profile::columns(&first, &labels, true);
                known.rows = Some(first.rows.len() as u64);
                self.engine.add_frame(&name, &first)?;
                return Ok(true);
            }
            files::Rows::Registered(_) => return Ok(false),
        }
        known.rows = known.rows.zip(table.rows).map(|(a, b)| a + b);
        Ok(true)
    }

    fn add_database(
        &mut self,
        source: usize,
        label: &str,
        tables: Vec<Table>,
        joins: Vec<crate::catalogue::Join>,
        room: &Room,
    ) {
        // Two databases may both have `orders`. The first keeps the name; joins of the second cannot then be told apart.
        for table in tables {
            if self.catalogue.table(&table.name).is_some() {
                self.warnings
                    .push(format!("{label} has a second table named {}, which was left out", table.name));
                continue;
            }
            self.catalogue.tables.push(Table { source, ..table });
            self.rooms.push(room.clone());
        }
        self.catalogue.joins.extend(joins);
    }

    fn unique(&self, wanted: &str) -> String {
        let taken = |name: &str| self.catalogue.table(name).is_some();
        let mut name = wanted.to_owned();
        let mut count = 2;
        while taken(&name) {
            name = format!("{wanted}_{count}");
            count += 1;
        }
        name
    }

    fn scans(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, CsvScan>> {
        self.scans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the data is.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Where it came from.
    #[must_use]
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// How the file spells a time of this column, if not the way we would.
    pub(crate) fn spelling(&self, table: &str, column: &str, value: &str) -> Option<&str> {
        self.spelled.get(&(table.to_owned(), column.to_owned()))?.get(value).map(String::as_str)
    }

    /// What a reader of the answer should know about the data.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// How values were read where more than one way was open.
    #[must_use]
    pub fn assumptions(&self) -> &[String] {
        &self.assumptions
    }

    /// The schema in policy's terms.
    #[must_use]
    pub fn schema(&self) -> steward_policy::Schema {
        let column = |column: &crate::catalogue::Column| steward_policy::Column {
            name: column.name.clone(),
            looks_like: column.looks_like.clone(),
        };
        let table = |table: &Table| steward_policy::Table {
            name: table.name.clone(),
            columns: table.columns.iter().map(column).collect(),
        };
        steward_policy::Schema { tables: self.catalogue.tables.iter().map(table).collect() }
    }

    /// The catalogue with only what the caller may read.
    #[must_use]
    pub fn visible(&self, access: &Access) -> Catalogue {
        let schema = self.schema();
        let mut visible = self.catalogue.clone();
        for (table, known) in visible.tables.iter_mut().zip(&schema.tables) {
            let mut allowed = known.columns.iter().map(|column| access.allows(known, column));
            table.columns.retain(|_| allowed.next().unwrap_or(false));
        }
        visible.tables.retain(|table| !table.columns.is_empty());
        visible
    }

    /// The SQL to be written for a query over these tables.
    #[must_use]
    pub fn dialect(&self, tables: &BTreeSet<String>) -> Dialect {
        match self.room(tables) {
            Some(Room::Sqlite(_)) => Dialect::Sqlite,
            Some(Room::Server(server)) => server.dialect(),
            _ => Dialect::DataFusion,
        }
    }

    /// The one room that has all the tables, if there is one.
    fn room(&self, tables: &BTreeSet<String>) -> Option<Room> {
        let mut found: Option<(usize, Room)> = None;
        for name in tables {
            let place =
                self.catalogue.tables.iter().position(|table| table.name.eq_ignore_ascii_case(name))?;
            let source = self.catalogue.tables.get(place)?.source;
            let room = self.rooms.get(place)?;
            match &found {
                None => found = Some((source, room.clone())),
                Some((known, _)) if *known == source => {}
                Some(_) if matches!(room, Room::Engine) && matches!(found, Some((_, Room::Engine))) => {}
                Some(_) => return None,
            }
        }
        found.map(|(_, room)| room)
    }

    /// Runs an admitted statement in its dialect, within its limits.
    pub async fn run(&self, sql: &AdmittedSql, dialect: Dialect) -> Result<Ran> {
        let limits = sql.limits();
        let (rows, seconds) = (limits.rows.get() as usize, limits.timeout.get());
        let timeout = Duration::from_secs(u64::from(seconds));
        let work = async {
            let (frame, cut) = match self.room(sql.tables()) {
                Some(Room::Sqlite(database)) if dialect == Dialect::Sqlite => {
                    database.query(sql.text(), rows).await?
                }
                Some(Room::Server(server)) if dialect == server.dialect() => {
                    server.query(sql.text(), Bounds { rows, timeout }).await?
                }
                _ => self.in_engine(sql, rows).await?,
            };
            Ok(Ran { frame, cut })
        };
        tokio::time::timeout(timeout, work).await.unwrap_or(Err(Error::Timeout { seconds }))
    }

    async fn in_engine(&self, sql: &AdmittedSql, rows: usize) -> Result<(Frame, bool)> {
        for name in sql.tables() {
            self.bring(name).await?;
        }
        match self.engine.run(sql, rows).await {
            Err(Error::Query { category: ErrorCategory::TypeMismatch, .. })
                if self.relax(sql.tables()).await? =>
            {
                self.engine.run(sql, rows).await
            }
            result => result,
        }
    }

    /// Runs a statement and keeps its rows in the engine under a name, without copying them out. Gives back the columns, with
    /// no rows.
    pub(crate) async fn materialise(&self, sql: &AdmittedSql, name: &str) -> Result<Frame> {
        let seconds = sql.limits().timeout.get();
        let work = async {
            for table in sql.tables() {
                self.bring(table).await?;
            }
            match self.engine.materialise(sql, name).await {
                Err(Error::Query { category: ErrorCategory::TypeMismatch, .. })
                    if self.relax(sql.tables()).await? =>
                {
                    self.engine.materialise(sql, name).await
                }
                result => result,
            }
        };
        let timeout = Duration::from_secs(u64::from(seconds));
        tokio::time::timeout(timeout, work).await.unwrap_or(Err(Error::Timeout { seconds }))
    }

    /// Reads the scanned files among these leniently from now on. `false` when that changes nothing.
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

    /// Makes sure that the engine has a table: rows of a database's table are fetched once.
    async fn bring(&self, name: &str) -> Result<()> {
        if self.engine.has(name) {
            return Ok(());
        }
        let Some(place) =
            self.catalogue.tables.iter().position(|table| table.name.eq_ignore_ascii_case(name))
        else {
            return Ok(());
        };
        let (Some(table), Some(room)) = (self.catalogue.tables.get(place), self.rooms.get(place)) else {
            return Ok(());
        };
        if matches!(room, Room::Engine) {
            return Ok(());
        }
        let limit = self.options.fetch_rows;
        let (frame, cut) = self.fetch(table, room, limit).await?;
        if cut {
            return Err(Error::TooManyRows { table: table.name.clone(), rows: limit });
        }
        self.engine.add_frame(&table.name, &frame)
    }

    /// Rows of a database's table, as they stand there.
    async fn fetch(&self, table: &Table, room: &Room, limit: usize) -> Result<(Frame, bool)> {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
        let from: Vec<String> = table.name.split('.').map(quoted).collect();
        let sql = format!("SELECT {} FROM {}", columns.join(", "), from.join("."));
        let (mut frame, cut) = match room {
            Room::Engine => self.engine.head(&table.name, limit).await?,
            Room::Sqlite(database) => database.query(&sql, limit).await?,
            Room::Server(server) => {
                server.query(&sql, Bounds { rows: limit, timeout: Duration::from_secs(180) }).await?
            }
        };
        for (field, column) in frame.fields.iter_mut().zip(&table.columns) {
            field.kind = column.kind;
        }
        crate::reader::undress_times(&mut frame);
        Ok((frame, cut))
    }

    /// Rows of a table that only this process made, for further steps: `df.transform` works on them.
    pub(crate) fn add_frame(&self, name: &str, frame: &Frame) -> Result<()> {
        self.engine.add_frame(name, frame)
    }

    /// The first rows of a table.
    pub async fn head(&self, table: &str, rows: usize) -> Result<(Frame, bool)> {
        let place = self.catalogue.tables.iter().position(|known| known.name.eq_ignore_ascii_case(table));
        match place.and_then(|place| self.catalogue.tables.get(place).zip(self.rooms.get(place))) {
            Some((known, room)) if !matches!(room, Room::Engine) => self.fetch(known, room, rows).await,
            _ => self.engine.head(table, rows).await,
        }
    }
}

/// Adds a file to a scan that is laid out the same way.
fn merge(
    scans: &Mutex<BTreeMap<String, CsvScan>>,
    name: &str,
    scan: &CsvScan,
    path: &std::path::Path,
) -> Option<CsvScan> {
    let mut scans = scans.lock().unwrap_or_else(PoisonError::into_inner);
    let first = scans.get_mut(name)?;
    if first.delimiter != scan.delimiter || first.has_header != scan.has_header {
        return None;
    }
    first.paths.push(path.to_owned());
    Some(first.clone())
}
