//! Opens a session: sources are found, profiled in parallel, and combined into one catalogue.

use super::lists::ChildTable;
use super::{Options, Session, TableLocation};
use crate::catalogue::{Catalogue, Join, Table};
use crate::database::{self, Database};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::frame::Kind;
use crate::isolation::{Description, Remote};
use crate::profile;
use crate::reader::wide;
use crate::source::files::{self, Loaded, Rows};
use crate::source::sqlite::SqliteSource;
use crate::source::unpack::Scratch;
use crate::source::{Format, SourceLocation, connections, delta, partitions, remote};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A profiled source.
enum Opened {
    Files(Vec<Loaded>),
    /// Tables with the location of their rows.
    Database {
        tables: Vec<(Table, TableLocation)>,
        joins: Vec<Join>,
        warnings: Vec<String>,
    },
}

/// A table of a file that is being added to the catalogue.
struct Arrival {
    source: usize,
    /// The given name, or that of its file.
    wanted: String,
    loaded: Loaded,
    /// Whether rows of further files were added.
    grown: bool,
}

/// The progress of opening a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenProgress {
    /// Sources profiled so far.
    pub sources: usize,
    /// All sources.
    pub of: usize,
    /// Bytes of the files profiled so far.
    pub bytes: u64,
    /// Bytes of all files.
    pub of_bytes: u64,
}

impl Session {
    /// Opens and profiles all sources.
    ///
    /// A server opens them in another process: see [`crate::isolation`].
    pub async fn open(named: &[String], options: Options) -> Result<Self> {
        Self::open_watched(named, options, &|_| ()).await
    }

    /// The same, with a progress callback after each source. A session of another process reports
    /// no progress.
    pub async fn open_watched(
        named: &[String],
        options: Options,
        watch: &(dyn Fn(OpenProgress) + Sync),
    ) -> Result<Self> {
        let named: Vec<String> =
            named.iter().map(|name| connections::resolve(name)).collect::<Result<_>>()?;
        let named = named.as_slice();
        let Some(pool) = crate::isolation::pool_for(named) else {
            return Box::pin(Self::open_here(named, options, watch)).await;
        };
        let (remote, description) = Box::pin(pool.open(named, options)).await?;
        Self::over(remote, description, options)
    }

    /// A session whose data is held by another process.
    pub(crate) fn over(holder: Remote, described: Description, options: Options) -> Result<Self> {
        let Description { places, catalogue, tables, spelled, warnings, assumptions, notes, fetched } =
            described;
        let traffic = remote::Traffic::default();
        traffic.add(fetched);
        Ok(Self {
            places,
            shown: catalogue.clone(),
            ruled: BTreeSet::new(),
            catalogue,
            withheld: Mutex::default(),
            rooms: tables.into_iter().map(|(dialect, path)| TableLocation::Apart(dialect, path)).collect(),
            engine: Engine::new(options.memory)?,
            options,
            scans: Mutex::default(),
            spelled: spelled.into_iter().map(|(table, column, words)| ((table, column), words)).collect(),
            warnings,
            assumptions,
            notes,
            scratch: Arc::new(Scratch::new(options.unpacked)),
            traffic,
            remote: Some(holder),
        })
    }

    /// Opens and profiles all sources in this process.
    pub(crate) async fn open_here(
        named: &[String],
        options: Options,
        watch: &(dyn Fn(OpenProgress) + Sync),
    ) -> Result<Self> {
        let (mut places, mut warnings): (Vec<(SourceLocation, bool)>, Vec<String>) = Default::default();
        for name in named {
            let found = crate::source::find(name)?;
            warnings.extend(files::said_left_out(Path::new(name.trim()), &found.left_out));
            for place in found.places {
                if !places.iter().any(|(known, _)| *known == place) {
                    places.push((place, found.by_folder));
                }
            }
        }
        let mut session = Self {
            places: Vec::new(),
            catalogue: Catalogue::default(),
            shown: Catalogue::default(),
            ruled: BTreeSet::new(),
            withheld: Mutex::default(),
            rooms: Vec::new(),
            engine: Engine::new(options.memory)?,
            options,
            scans: Mutex::default(),
            spelled: BTreeMap::new(),
            warnings,
            assumptions: Vec::new(),
            notes: Vec::new(),
            scratch: Arc::new(Scratch::new(options.unpacked)),
            traffic: remote::Traffic::default(),
            remote: None,
        };
        let opened = session.look_over(&places, watch).await;
        session.add_all(places, opened).await?;
        profile::find_joins(&mut session.catalogue);
        session.shown = session.catalogue.clone();
        Ok(session)
    }

    /// Profiles all sources, as many in parallel as there are processors.
    async fn look_over(
        &self,
        places: &[(SourceLocation, bool)],
        watch: &(dyn Fn(OpenProgress) + Sync),
    ) -> Vec<Result<Opened>> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let options = share_budget(places, self.options);
        let mut looking: Vec<BoxFuture<'_, Result<Opened>>> = Vec::new();
        for (place, _) in places {
            looking.push(Box::pin(self.look(place, options)));
        }
        let size = |place: &SourceLocation| match place {
            SourceLocation::File { path, .. } => std::fs::metadata(path).map_or(0, |file| file.len()),
            _ => 0,
        };
        let sizes: Vec<u64> = places.iter().map(|(place, _)| size(place)).collect();
        let mut progress =
            OpenProgress { of: places.len(), of_bytes: sizes.iter().sum(), ..OpenProgress::default() };
        let mut opened = Vec::new();
        let mut finished = futures_util::stream::iter(looking).buffered(cores);
        while let Some(one) = finished.next().await {
            progress.bytes += sizes.get(opened.len()).copied().unwrap_or(0);
            opened.push(one);
            progress.sources = opened.len();
            watch(progress);
        }
        drop(finished);
        opened
    }

    async fn look(&self, place: &SourceLocation, options: Options) -> Result<Opened> {
        match place {
            SourceLocation::Sqlite(path) => {
                let opened = path.clone();
                let looked = tokio::task::spawn_blocking(move || {
                    let database = SqliteSource::open(&opened)?;
                    let found = database.discover()?;
                    Ok((database, found))
                });
                let (database, (tables, joins, left_out)) = looked.await.unwrap_or_else(|error| {
                    Err(Error::Source { what: place.label(), detail: error.to_string() })
                })?;
                has_tables(place, &tables, "the database has no tables")?;
                let room = TableLocation::Sqlite(Arc::new(database));
                let tables = tables.into_iter().map(|table| (table, room.clone())).collect();
                let name = place.label();
                let warnings = left_out.into_iter().map(|what| format!("{name}: {what}")).collect();
                Ok(Opened::Database { tables, joins, warnings })
            }
            SourceLocation::Server(_) | SourceLocation::DuckDb(_) => {
                let database: Arc<dyn Database> = match place {
                    SourceLocation::Server(address) => {
                        database::connect_within(address, options.memory).await?
                    }
                    SourceLocation::DuckDb(path) => database::adbc::open_duckdb(path, options.memory).await?,
                    _ => return Err(Error::Source { what: place.label(), detail: "no database".to_owned() }),
                }
                .into();
                let found = database.discover().await?;
                has_tables(place, &found.tables, "there is no table in it that you may read")?;
                let room = |table: &Table| {
                    let path =
                        found.paths.get(&table.name).cloned().unwrap_or_else(|| vec![table.name.clone()]);
                    TableLocation::Server(database.clone(), path)
                };
                let tables = (found.tables.into_iter()).map(|table| (table.clone(), room(&table))).collect();
                Ok(Opened::Database { tables, joins: found.joins, warnings: found.warnings })
            }
            SourceLocation::Remote(address) => {
                let (engine, scratch) = (&self.engine, &self.scratch);
                remote::load(address, engine, &options, scratch, &self.traffic).await.map(Opened::Files)
            }
            SourceLocation::File { path, format, .. } => {
                files::load(path, *format, &self.engine, &options, &self.scratch).await.map(Opened::Files)
            }
            SourceLocation::Partitions { path, files, format, keys } => {
                let partitions = partitions::Partitions { path, files, format: *format, keys };
                let loaded = partitions.load(&self.engine, &options, &self.scratch).await?;
                Ok(Opened::Files(vec![loaded]))
            }
            SourceLocation::Delta { path, version } => {
                let folder = delta::TableFolder::local(path, &self.engine)?;
                let loaded = Box::pin(delta::load(&folder, *version, &self.engine)).await?;
                Ok(Opened::Files(vec![loaded]))
            }
        }
    }

    /// Combines what was opened. A broken file of a folder is skipped, unless it is the only one.
    async fn add_all(
        &mut self,
        places: Vec<(SourceLocation, bool)>,
        opened: Vec<Result<Opened>>,
    ) -> Result<()> {
        let (mut arrivals, mut first_error): (Vec<Arrival>, _) = (Vec::new(), None);
        for ((place, by_folder), opened) in places.into_iter().zip(opened) {
            let source = self.places.len();
            match opened {
                Err(error) if by_folder => {
                    self.warnings.push(format!("{}: left out, because {error}", place.label()));
                    first_error.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error),
                Ok(Opened::Database { tables, joins, warnings }) => {
                    // Tables of files that were named earlier keep their names.
                    self.settle(std::mem::take(&mut arrivals)).await?;
                    self.warnings.extend(warnings);
                    self.add_database(source, &place.label(), tables, joins);
                }
                Ok(Opened::Files(tables)) => {
                    let several = tables.len() > 1;
                    for mut loaded in tables {
                        self.warnings.append(&mut loaded.warnings);
                        self.assumptions.append(&mut loaded.assumptions);
                        self.notes.append(&mut loaded.notes);
                        let plain = files::table_name(&loaded.stem);
                        let wanted = match &place {
                            SourceLocation::File { name: Some(name), .. } if several => {
                                format!("{name}_{plain}")
                            }
                            SourceLocation::File { name: Some(name), .. } => name.clone(),
                            _ => plain,
                        };
                        arrive(&mut arrivals, Arrival { source, wanted, loaded, grown: false });
                    }
                }
            }
            self.places.push(place);
        }
        self.settle(arrivals).await?;
        match first_error {
            Some(error) if self.catalogue.tables.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// Names every table and registers it with the engine.
    async fn settle(&mut self, arrivals: Vec<Arrival>) -> Result<()> {
        let mut longs = Vec::new();
        let mut lists: Vec<ChildTable> = Vec::new();
        for Arrival { source, wanted, loaded, grown } in arrivals {
            let Loaded { stem, mut table, rows, spelled, .. } = loaded;
            let unique = self.unique(&wanted);
            self.spelled.extend(spelled.into_iter().map(|(column, words)| ((unique.clone(), column), words)));
            match rows {
                Rows::Frame(frame) => {
                    if grown {
                        let labels: Vec<String> =
                            table.columns.iter().map(|column| column.label.clone()).collect();
                        table.columns = profile::columns(&frame, &labels, true);
                        table.primary_key = profile::key(&table.columns);
                    }
                    let frame = ChildTable::split(source, &unique, &mut table, frame, &mut lists);
                    self.engine.add_frame(&unique, &frame)?;
                    let labels: Vec<String> =
                        table.columns.iter().map(|column| column.label.clone()).collect();
                    if let Some(long) = wide::long_form(&frame, &labels) {
                        longs.push((source, unique.clone(), stem.clone(), long));
                    }
                }
                Rows::Scan(scan) => {
                    scan.register(&self.engine, &unique).await?;
                    self.scans().insert(unique.clone(), scan);
                }
                Rows::Registered(provider) => self.engine.register(&unique, provider)?,
            }
            self.catalogue.tables.push(Table { name: unique, label: stem, source, ..table });
            self.rooms.push(TableLocation::Engine);
        }
        for (source, name, stem, long) in longs {
            self.add_long(source, &name, &stem, &long)?;
        }
        for list in lists {
            self.add_list(&list)?;
        }
        Ok(())
    }

    /// Adds the long form of a wide table beside it.
    fn add_long(&mut self, source: usize, wide: &str, stem: &str, long: &wide::Long) -> Result<()> {
        let name = self.unique(&profile::long_name(wide));
        self.engine.add_frame(&name, &long.frame)?;
        let columns = profile::columns(&long.frame, &long.labels, true);
        let period = long
            .frame
            .fields
            .iter()
            .rev()
            .find(|field| matches!(field.name.as_str(), "year" | "quarter" | "month" | "date"));
        let period = period.map_or("period", |field| field.name.as_str());
        self.assumptions.push(format!(
            "{stem}: its {} columns named by a {period} are also rows of the table {name}",
            long.periods
        ));
        self.catalogue.tables.push(Table {
            name,
            label: format!("{stem} by {period}"),
            source,
            rows: Some(long.frame.rows.len() as u64),
            primary_key: Vec::new(),
            columns,
        });
        self.rooms.push(TableLocation::Engine);
        Ok(())
    }

    fn add_database(
        &mut self,
        source: usize,
        label: &str,
        tables: Vec<(Table, TableLocation)>,
        joins: Vec<Join>,
    ) {
        // Two databases may both have `orders`. The first keeps the name; joins of the second are
        // then ambiguous.
        for (table, room) in tables {
            // In one database, `"Orders"` and `orders` are different.
            let taken = |known: &&Table| {
                known.name == table.name
                    || (known.source != source && known.name.eq_ignore_ascii_case(&table.name))
            };
            if self.catalogue.tables.iter().any(|known| taken(&known)) {
                self.warnings
                    .push(format!("{label} has a second table named {}, which was left out", table.name));
                continue;
            }
            self.catalogue.tables.push(Table { source, ..table });
            self.rooms.push(room);
        }
        self.catalogue.joins.extend(joins);
    }

    pub(super) fn unique(&self, wanted: &str) -> String {
        let taken = |name: &str| self.catalogue.table(name).is_some();
        let mut name = wanted.to_owned();
        let mut count = 2;
        while taken(&name) {
            name = format!("{wanted}_{count}");
            count += 1;
        }
        name
    }
}

/// Up to this many files are each read completely as if they were alone.
const FEW_FILES: usize = 4;
/// With more files: total bytes that are read completely, and total bytes of samples of the others.
const WHOLE_BYTES: u64 = 8 << 20;
const SAMPLED_BYTES: u64 = 4 << 20;

/// Many files share the budget of a few: the smallest are read completely, the others are sampled,
/// so that the first answer over a folder takes seconds.
fn share_budget(places: &[(SourceLocation, bool)], options: Options) -> Options {
    let mut sizes: Vec<u64> = (places.iter())
        .filter_map(|(place, _)| match place {
            SourceLocation::File { path, format: Format::Csv, .. } => {
                Some(std::fs::metadata(path).ok()?.len())
            }
            _ => None,
        })
        .collect();
    if sizes.len() <= FEW_FILES {
        return options;
    }
    sizes.sort_unstable();
    let (mut left, mut small_file, mut whole) = (WHOLE_BYTES.min(options.small_file * 2), 0, 0);
    for size in sizes.iter().filter(|size| **size <= options.small_file) {
        let Some(rest) = left.checked_sub(*size) else { break };
        (left, small_file, whole) = (rest, *size, whole + 1);
    }
    let others = (sizes.len() - whole) as u64;
    if others == 0 {
        return options;
    }
    // Some files of the same size would fit; then none of them is read completely.
    if sizes.get(whole) == Some(&small_file) {
        small_file -= 1;
    }
    let sample = (SAMPLED_BYTES / others).max(files::SMALLEST_SAMPLE).min(options.sample);
    Options { small_file, sample, ..options }
}

fn has_tables(place: &SourceLocation, tables: &[Table], detail: &str) -> Result<()> {
    if tables.is_empty() {
        return Err(Error::Source { what: place.label(), detail: detail.to_owned() });
    }
    Ok(())
}

/// Adds a table, or its rows to an earlier one: files with the same columns and names that differ
/// only in digits are one table, such as `sales_2020.csv` and `sales_2021.csv`.
fn arrive(arrivals: &mut Vec<Arrival>, mut arrival: Arrival) {
    let base = files::series_name(&arrival.wanted);
    let columns = |table: &Table| -> Vec<(String, Kind)> {
        table.columns.iter().map(|column| (column.name.clone(), column.kind)).collect()
    };
    let known = arrivals.iter_mut().find(|known| {
        known.loaded.series
            && arrival.loaded.series
            && base != arrival.wanted
            && files::series_name(&known.wanted) == base
            && columns(&known.loaded.table) == columns(&arrival.loaded.table)
    });
    let Some(known) = known else { return arrivals.push(arrival) };
    let joined = match (&mut known.loaded.rows, &mut arrival.loaded.rows) {
        (Rows::Frame(first), Rows::Frame(more)) => {
            Arc::make_mut(first).rows.append(&mut Arc::make_mut(more).rows);
            true
        }
        (Rows::Scan(first), Rows::Scan(more))
            if first.delimiter == more.delimiter && first.has_header == more.has_header =>
        {
            first.paths.append(&mut more.paths);
            true
        }
        _ => false,
    };
    if !joined {
        return arrivals.push(arrival);
    }
    known.grown = true;
    let rows = |table: &Table| table.rows;
    known.loaded.table.rows = rows(&known.loaded.table).zip(rows(&arrival.loaded.table)).map(|(a, b)| a + b);
}
