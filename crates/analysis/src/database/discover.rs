//! Profiles every table of a database: a sample of its rows, and, while time lasts, exact ranges
//! and values of large tables.
//!
//! A table that cannot be read is skipped with a warning and does not affect the others. Only a
//! lost connection ends the discovery.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{FutureExt as _, StreamExt as _, stream};

use super::error::DatabaseError;
use super::{Discovered, Limits, profile};
use crate::catalogue::{Column, Evidence, Join, Table};
use crate::frame::{Frame, Kind, Value};

/// Maximum number of tables profiled.
const TABLES: usize = 500;
/// Maximum rows of a sample.
const SAMPLE: usize = 20_000;
/// Maximum memory of a sample: wide tables give fewer rows.
const SAMPLE_BYTES: usize = 64 * 1024 * 1024;
/// Minimum rows of a useful random sample.
const POOR_SAMPLE: usize = 500;
/// Tables up to this estimated size are counted exactly.
const COUNTED: u64 = 1_000_000;
/// Time limit of listing the tables.
const LIST_WITHIN: Duration = Duration::from_secs(60);
/// Time limit of one sample.
const SAMPLE_WITHIN: Duration = Duration::from_secs(10);
/// Time limit of all samples together.
const SAMPLES_WITHIN: Duration = Duration::from_secs(180);
/// Time limit of one exact query on a large table.
const EXACT_WITHIN: Duration = Duration::from_secs(5);
/// Time limit of all exact queries together.
const EXACTS_WITHIN: Duration = Duration::from_secs(60);
/// Maximum number of columns with an exact range.
const EXACT_COLUMNS: usize = 200;

/// A table before profiling.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Listed {
    /// Its schema.
    pub(super) schema: String,
    /// Its name in the schema.
    pub(super) table: String,
    /// Whether it can be named without its schema.
    pub(super) plain: bool,
    /// Whether it stores rows itself, so that a random part can be read.
    pub(super) stored: bool,
    /// Estimated rows, from the server's statistics.
    pub(super) estimate: Option<u64>,
    /// Readable columns, each with its SQL for the sample.
    pub(super) columns: Vec<(String, String)>,
    /// Columns of the primary key.
    pub(super) key: Vec<String>,
}

impl Listed {
    /// The name in the catalogue.
    pub(super) fn name(&self) -> String {
        if self.plain { self.table.clone() } else { format!("{}.{}", self.schema, self.table) }
    }
}

/// A foreign key: the referring (schema, table, columns), and the referenced one.
pub(super) type ForeignKey = ((String, String, Vec<String>), (String, String, Vec<String>));

/// What discovery needs from a database.
#[async_trait]
pub(super) trait Reader: Send + Sync {
    /// Runs one of our own statements, under the same protections as callers' statements.
    async fn read(&self, sql: &str, limits: Limits) -> Result<(Frame, bool), DatabaseError>;
    /// The tables, most important first, with columns and keys.
    async fn list(&self) -> Result<(Vec<Listed>, Vec<ForeignKey>), DatabaseError>;
    /// A name in quotes.
    fn quote(&self, name: &str) -> String;
    /// The clause after a table's name that selects about this share of its rows at random.
    fn random(&self, share: f64) -> String;
}

/// Profiles all tables.
pub(super) async fn discover(reader: &dyn Reader) -> Result<Discovered, DatabaseError> {
    let (listed, keys) = reader.list().await?;
    let mut found = Discovered::default();
    let listed = choose(listed, &mut found.warnings);
    found.paths =
        listed.iter().map(|table| (table.name(), vec![table.schema.clone(), table.table.clone()])).collect();
    let looks: Vec<_> = listed.iter().map(|table| look(reader, table).boxed()).collect();
    let mut profiles = stream::iter(looks).buffered(2);
    let mut finished = 0_usize;
    let mut large: Vec<(usize, &Listed)> = Vec::new();
    let samples = async {
        while let Some(looked) = profiles.next().await {
            let place = listed.get(finished);
            finished += 1;
            match (looked, place) {
                (Ok(DiscoveredTable { table, whole, warning }), Some(listed)) => {
                    found.warnings.extend(warning);
                    if !whole && listed.stored {
                        large.push((found.tables.len(), listed));
                    }
                    found.tables.push(table);
                }
                (Err(error), place) => skip(error, place, &mut found.warnings)?,
                (Ok(_), None) => {}
            }
        }
        Ok(())
    };
    let in_time = tokio::time::timeout(SAMPLES_WITHIN, samples).await;
    drop(profiles);
    match in_time {
        Ok(result) => result?,
        Err(_) => {
            let names: Vec<String> = listed.iter().skip(finished).take(10).map(Listed::name).collect();
            let left = listed.len().saturating_sub(finished);
            found
                .warnings
                .push(format!("{left} tables were not looked at, time was over: {}…", names.join(", ")));
        }
    }
    // Whatever is not exact when time is up keeps the values of the sample.
    large.sort_by_key(|(_, listed)| listed.estimate.unwrap_or(u64::MAX));
    let _in_time = tokio::time::timeout(EXACTS_WITHIN, sharpen(reader, &large, &mut found.tables)).await;
    found.joins = joins(&found.tables, &listed, keys);
    Ok(found)
}

/// Skips a table that cannot be read; a lost connection is an error.
fn skip(
    error: DatabaseError,
    listed: Option<&Listed>,
    warnings: &mut Vec<String>,
) -> Result<(), DatabaseError> {
    let name = listed.map(Listed::name).unwrap_or_default();
    match error {
        DatabaseError::Permission { detail } => {
            warnings.push(format!("{name} is left out, this user may not read it: {detail}"));
        }
        DatabaseError::Sql { message, .. } => {
            warnings.push(format!("{name} is left out, it cannot be read: {message}"));
        }
        DatabaseError::NotReadOnly { detail } => {
            warnings.push(format!("{name} is left out, reading it would write: {detail}"));
        }
        DatabaseError::Timeout { .. } => {
            warnings.push(format!("{name} is left out, it did not answer in time"));
        }
        lost => return Err(lost),
    }
    Ok(())
}

/// Skips unusable tables: without readable columns, with a duplicate name, or beyond the limit.
fn choose(listed: Vec<Listed>, warnings: &mut Vec<String>) -> Vec<Listed> {
    let mut names = HashSet::new();
    let mut chosen = Vec::new();
    let total = listed.len();
    for table in listed {
        if chosen.len() == TABLES {
            warnings.push(format!(
                "there are {total} tables; the first {TABLES} are used. Give the user \
                rights on fewer tables to choose"
            ));
            break;
        }
        if table.columns.is_empty() {
            warnings.push(format!("{} is left out, this user may read none of its columns", table.name()));
        } else if !names.insert(table.name()) {
            warnings.push(format!("a second {} is left out", table.name()));
        } else {
            chosen.push(table);
        }
    }
    chosen
}

struct DiscoveredTable {
    table: Table,
    /// Whether every row was read.
    whole: bool,
    warning: Option<String>,
}

/// The sample of one table.
async fn look(reader: &dyn Reader, listed: &Listed) -> Result<DiscoveredTable, DatabaseError> {
    let limits = Limits { rows: SAMPLE, bytes: SAMPLE_BYTES, timeout: SAMPLE_WITHIN };
    let from = from(reader, listed);
    let items: Vec<String> =
        listed.columns.iter().map(|(name, sql)| format!("{sql} AS {}", reader.quote(name))).collect();
    let select = format!("SELECT {} FROM {from}", items.join(", "));
    let mut sample = None;
    if let Some(estimate) = listed.estimate.filter(|rows| listed.stored && *rows > 3 * SAMPLE as u64) {
        // A little more than needed, because the estimate may be outdated and sampling is not
        // exact.
        let share = SAMPLE as f64 * 1.3 / estimate as f64;
        let picked = reader.read(&format!("{select} {}", reader.random(share)), limits).await;
        sample =
            picked.ok().filter(|(frame, _)| frame.rows.len() >= POOR_SAMPLE).map(|(frame, _)| (frame, false));
    }
    let (frame, whole) = match sample {
        Some(sample) => sample,
        None => match reader.read(&format!("{select} LIMIT {}", SAMPLE + 1), limits).await {
            Ok((frame, cut)) => (frame, !cut),
            Err(DatabaseError::Timeout { .. }) => return only_named(reader, listed, &select).await,
            Err(error) => return Err(error),
        },
    };
    let rows = if whole { Some(frame.rows.len() as u64) } else { count(reader, listed, &from).await };
    let columns = profile::columns(&frame, whole);
    Ok(DiscoveredTable { table: table(listed, columns, rows), whole, warning: None })
}

/// A table that is too slow to read: its columns are known, its values are not.
async fn only_named(
    reader: &dyn Reader,
    listed: &Listed,
    select: &str,
) -> Result<DiscoveredTable, DatabaseError> {
    let limits = Limits { rows: 1, bytes: SAMPLE_BYTES, timeout: SAMPLE_WITHIN };
    let (frame, _) = reader.read(&format!("{select} LIMIT 0"), limits).await?;
    let columns =
        frame.fields.iter().map(|field| profile::bare(&field.name, field.kind, field.unit)).collect();
    let warning = Some(format!("{} is slow, its values were not looked at", listed.name()));
    Ok(DiscoveredTable { table: table(listed, columns, listed.estimate), whole: true, warning })
}

fn table(listed: &Listed, columns: Vec<Column>, rows: Option<u64>) -> Table {
    let name = listed.name();
    // A key with an unreadable column is not usable as a key.
    let readable = listed.key.iter().all(|key| columns.iter().any(|column| column.name == *key));
    let primary_key = if readable { listed.key.clone() } else { Vec::new() };
    Table { label: name.clone(), name, source: 0, columns, rows, primary_key }
}

fn from(reader: &dyn Reader, listed: &Listed) -> String {
    format!("{}.{}", reader.quote(&listed.schema), reader.quote(&listed.table))
}

/// The number of rows: counted if that is fast, otherwise from the statistics.
async fn count(reader: &dyn Reader, listed: &Listed, from: &str) -> Option<u64> {
    if listed.estimate.is_some_and(|rows| rows > COUNTED) {
        return listed.estimate;
    }
    let limits = Limits { rows: 1, bytes: SAMPLE_BYTES, timeout: EXACT_WITHIN };
    let counted = reader.read(&format!("SELECT count(*) FROM {from}"), limits).await.ok();
    counted.and_then(|(frame, _)| whole(frame.cell(0, 0))).or(listed.estimate)
}

fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Int(count) => u64::try_from(*count).ok(),
        Value::Float(count) if *count >= 0.0 => Some(*count as u64),
        _ => None,
    }
}

/// Exact ranges and values of large tables, smallest first.
async fn sharpen(reader: &dyn Reader, large: &[(usize, &Listed)], tables: &mut [Table]) {
    for (place, listed) in large {
        let Some(table) = tables.get_mut(*place) else { continue };
        ranges(reader, listed, table).await;
        let rows = table.rows;
        for column in &mut table.columns {
            // A sample full of distinct values is free text or a unique name per row: listing the
            // values is useless.
            if column.kind == Kind::Text
                && column.distinct > 0
                && column.distinct <= profile::TEXT_VALUES as u64
            {
                values(reader, listed, column, rows).await;
            }
        }
    }
}

async fn ranges(reader: &dyn Reader, listed: &Listed, table: &mut Table) {
    let limits = Limits { rows: 1, bytes: SAMPLE_BYTES, timeout: EXACT_WITHIN };
    let ranged = |column: &&mut Column| column.kind.is_number() || column.kind.is_time();
    let names: Vec<String> =
        table.columns.iter_mut().filter(ranged).take(EXACT_COLUMNS).map(|c| reader.quote(&c.name)).collect();
    let items: String = names.iter().map(|name| format!(", min({name}), max({name})")).collect();
    let sql = format!("SELECT count(*){items} FROM {}", from(reader, listed));
    let Ok((frame, _)) = reader.read(&sql, limits).await else { return };
    table.rows = whole(frame.cell(0, 0)).or(table.rows);
    for (place, column) in table.columns.iter_mut().filter(ranged).take(EXACT_COLUMNS).enumerate() {
        for end in [frame.cell(0, 1 + 2 * place), frame.cell(0, 2 + 2 * place)] {
            if !end.is_null() {
                profile::widen(column, end);
            }
        }
    }
}

async fn values(reader: &dyn Reader, listed: &Listed, column: &mut Column, rows: Option<u64>) {
    let limits = Limits { rows: profile::TEXT_VALUES + 2, bytes: SAMPLE_BYTES, timeout: EXACT_WITHIN };
    let name = reader.quote(&column.name);
    let limit = profile::TEXT_VALUES + 2;
    let sql = format!(
        "SELECT {name}, count(*) FROM {} GROUP BY {name} ORDER BY count(*) DESC LIMIT {limit}",
        from(reader, listed)
    );
    let Ok((frame, _)) = reader.read(&sql, limits).await else { return };
    let counted = |place: usize| whole(frame.cell(place, 1)).unwrap_or(0);
    let (mut nulls, mut counts) = (0, HashMap::<String, u64>::new());
    for (place, value) in frame.column(0).enumerate() {
        if value.is_null() {
            nulls += counted(place);
        } else {
            *counts.entry(value.plain()).or_default() += counted(place);
        }
    }
    let all = frame.rows.len() < limit;
    let (seen, distinct): (u64, u64) = (counts.values().sum::<u64>() + nulls, column.distinct);
    profile::list(column, counts.into_iter().collect(), all);
    if all || seen >= column.seen {
        column.seen = rows.filter(|_| all).unwrap_or(seen);
        column.nulls = nulls;
    }
    column.distinct = column.distinct.max(distinct);
}

/// Foreign keys between readable tables.
fn joins(tables: &[Table], listed: &[Listed], keys: Vec<ForeignKey>) -> Vec<Join> {
    let names: HashMap<(&str, &str), String> =
        listed.iter().map(|table| ((table.schema.as_str(), table.table.as_str()), table.name())).collect();
    let known = |(schema, table, columns): (String, String, Vec<String>)| {
        let name = names.get(&(schema.as_str(), table.as_str()))?;
        let table = tables.iter().find(|table| table.name == *name)?;
        let readable = columns.iter().all(|column| table.columns.iter().any(|known| known.name == *column));
        readable.then(|| (name.clone(), columns))
    };
    keys.into_iter()
        .filter_map(|(from, to)| {
            Some(Join { from: known(from)?, to: known(to)?, evidence: Evidence::Constraint })
        })
        .collect()
}

/// The limits for listing tables and columns.
pub(super) fn list_limits() -> Limits {
    Limits { rows: 200_000, bytes: SAMPLE_BYTES, timeout: LIST_WITHIN }
}

/// Rows of a list, grouped by the texts in some of its columns.
pub(super) type Groups = HashMap<Vec<String>, Vec<usize>>;

/// Groups rows with the same texts in these columns.
pub(super) fn grouped(frame: &Frame, columns: &[usize]) -> Groups {
    let mut groups = Groups::new();
    for row in 0..frame.rows.len() {
        groups.entry(columns.iter().map(|column| text(frame, row, *column)).collect()).or_default().push(row);
    }
    groups
}

/// The text of a cell.
pub(super) fn text(frame: &Frame, row: usize, column: usize) -> String {
    frame.cell(row, column).plain()
}

/// Foreign keys from rows (name, schema, table, column, schema, table, column), sorted by name and
/// position.
pub(super) fn foreign_keys(frame: &Frame) -> Vec<ForeignKey> {
    let mut keys: Vec<(String, ForeignKey)> = Vec::new();
    for row in 0..frame.rows.len() {
        let cell = |column| text(frame, row, column);
        if keys.last().is_none_or(|(name, _)| *name != cell(0)) {
            keys.push((cell(0), ((cell(1), cell(2), Vec::new()), (cell(4), cell(5), Vec::new()))));
        }
        if let Some((_, (from, to))) = keys.last_mut() {
            from.2.push(cell(3));
            to.2.push(cell(6));
        }
    }
    keys.into_iter().map(|(_, key)| key).collect()
}
