//! Databases with any other driver: their tables are read column by column, and the engine of this
//! process does the rest.
//!
//! Invariant: the only statement sent is `SELECT "column", … FROM "table"`. It contains no text of
//! a caller, so nothing needs admission in an unknown dialect, and it cannot write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::time::Duration;

use adbc_core::options::{ObjectDepth, OptionConnection, OptionValue};
use adbc_core::{Connection as _, Optionable as _};
use async_trait::async_trait;

use super::super::wall::{Admission, Wall};
use super::super::{Bounds, Database, DatabaseError, Discovered, Limits, profile};
use super::address::Address;
use super::objects::{self, Object};
use super::{Link, StopHandle, StopOnDrop, blocking, failure, quote};
use crate::catalogue::Table;
use crate::frame::Frame;
use crate::query::Dialect;

/// Maximum number of tables profiled.
const TABLES: usize = 200;
/// Maximum rows and bytes of a sample.
const SAMPLE: usize = 20_000;
const SAMPLE_BYTES: usize = 64 << 20;
/// Time limit of one sample.
const SAMPLE_WITHIN: Duration = Duration::from_secs(10);

/// A database with any driver.
pub(super) struct DriverTables {
    link: Link,
    /// The path of each table, by its catalogue name.
    places: OnceLock<BTreeMap<String, Vec<String>>>,
    /// Whether the driver does not support read-only connections.
    writable: bool,
}

impl DriverTables {
    pub(super) fn open(address: &Address) -> Result<Self, DatabaseError> {
        let name = format!("{}://{}", super::SCHEME, address.driver);
        let link = Link::open(address, &name, address.database_options())?;
        let mut connection = link.connection()?;
        let read_only = OptionValue::String("true".to_owned());
        let writable = connection.set_option(OptionConnection::ReadOnly, read_only).is_err();
        Ok(Self { link, places: OnceLock::new(), writable })
    }

    async fn rows(
        &self,
        place: &[String],
        columns: &[String],
        limits: Limits,
    ) -> Result<(Frame, bool), DatabaseError> {
        let list: Vec<String> = columns.iter().map(|column| quote(column)).collect();
        let list = if list.is_empty() { "1".to_owned() } else { list.join(", ") };
        let from: Vec<String> = place.iter().map(|part| quote(part)).collect();
        let sql = format!("SELECT {list} FROM {}", from.join("."));
        let (link, stop, writable) = (self.link.clone(), StopHandle::default(), self.writable);
        let running = stop.clone();
        let work = async move {
            let _stop = StopOnDrop(stop);
            blocking(move || {
                let mut connection = link.connection()?;
                if !writable {
                    let read_only = OptionValue::String("true".to_owned());
                    let set = connection.set_option(OptionConnection::ReadOnly, read_only);
                    set.map_err(|error| failure(&link.name, &error))?;
                }
                link.rows(&mut connection, &sql, limits, &running)
            })
            .await
        };
        limits.enforce(work).await
    }

    async fn objects(&self) -> Result<Vec<Object>, DatabaseError> {
        let link = self.link.clone();
        blocking(move || {
            let connection = link.connection()?;
            let failed = |error: adbc_core::error::Error| failure(&link.name, &error);
            let reader =
                connection.get_objects(ObjectDepth::All, None, None, None, None, None).map_err(failed)?;
            let mut found = Vec::new();
            for batch in reader {
                let batch = batch.map_err(|error| super::sorted(&error.to_string()))?;
                found.extend(objects::tables(&batch));
            }
            Ok(found)
        })
        .await
    }
}

#[async_trait]
impl Database for DriverTables {
    /// Statements are never sent in its own SQL.
    fn dialect(&self) -> Dialect {
        Dialect::DataFusion
    }

    async fn discover(&self) -> Result<Discovered, DatabaseError> {
        let (mut found, mut places) = (Discovered::default(), BTreeMap::new());
        let objects = self.objects().await?;
        let total = objects.len();
        let mut taken = BTreeSet::new();
        for Object { place, table, columns } in objects {
            if found.tables.len() == TABLES {
                found.warnings.push(format!("there are {total} tables; the first {TABLES} are used"));
                break;
            }
            let path: Vec<String> = place.iter().cloned().chain([table.clone()]).collect();
            let name = if taken.insert(table.clone()) { table } else { path.join(".") };
            let limits = Limits { rows: SAMPLE, bytes: SAMPLE_BYTES, timeout: SAMPLE_WITHIN };
            match self.rows(&path, &columns, limits).await {
                Ok((frame, cut)) => {
                    let rows = (!cut).then_some(frame.rows.len() as u64);
                    let columns = profile::columns(&frame, !cut);
                    let primary_key = crate::profile::key(&columns);
                    let label = name.clone();
                    found.tables.push(Table {
                        name: name.clone(),
                        label,
                        source: 0,
                        columns,
                        rows,
                        primary_key,
                    });
                    found.paths.insert(name.clone(), vec![name.clone()]);
                    places.insert(name, path);
                }
                Err(error @ (DatabaseError::Unreachable { .. } | DatabaseError::Password { .. })) => {
                    return Err(error);
                }
                Err(error) => found.warnings.push(format!("{name} is left out: {error}")),
            }
        }
        if self.writable {
            found.warnings.push(format!(
                "{}: the driver cannot make a connection read-only. Steward only reads columns of tables \
                    through it",
                self.link.name
            ));
        }
        let _first_discovery_counts = self.places.set(places);
        Ok(found)
    }

    async fn query(&self, _: &str, _: Bounds) -> Result<(Frame, bool), DatabaseError> {
        Err(DatabaseError::NotReadOnly { detail: "this driver gets no statements".to_owned() })
    }

    async fn query_admitted(
        &self,
        sql: &str,
        bounds: Bounds,
        _: &Admission,
    ) -> Result<(Frame, bool), DatabaseError> {
        self.query(sql, bounds).await
    }

    async fn columns_of(
        &self,
        path: &[String],
        columns: &[String],
        bounds: Bounds,
    ) -> Result<(Frame, bool), DatabaseError> {
        let place = path.last().and_then(|name| self.places.get()?.get(name));
        let place = place.ok_or_else(|| super::super::wall::refused("a table"))?;
        self.rows(place, columns, bounds.into()).await
    }

    async fn wall(&self) -> Result<Wall, DatabaseError> {
        Ok(Wall::Columns)
    }
}
