//! The in-process engine: DataFusion with a memory limit, over files and frames.
//!
//! Invariant: it runs only admitted statements, with DDL, DML and other statements disabled, in a
//! context that contains only the columns that the statement was admitted to.

pub(crate) mod convert;
mod scan;

use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::session::Statement;
use datafusion::common::TableReference;
use datafusion::dataframe::DataFrame;
use datafusion::datasource::MemTable;
use datafusion::execution::context::{SQLOptions, SessionConfig, SessionContext};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) use scan::{CsvScan, ScanColumn};

/// Maximum size of a result's cells.
const RESULT_BYTES: usize = 64 << 20;
/// Maximum size of a sample's cells.
pub(crate) const SAMPLE_BYTES: usize = 64 << 20;
/// Disk space for spilling, as a multiple of the memory limit.
const SPILL: u64 = 8;
/// Minimum disk space for spilling.
const LEAST_SPILL: u64 = 1 << 30;

/// The engine and its limits.
pub(crate) struct Engine {
    /// Holds the tables; no statement runs in this context.
    context: SessionContext,
    memory: usize,
}

impl Engine {
    /// An engine with a memory limit in bytes; it spills to disk beyond that.
    pub(crate) fn new(memory: usize) -> Result<Self> {
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_limit(memory, 1.0)
            .with_max_temp_directory_size((memory as u64).saturating_mul(SPILL).max(LEAST_SPILL))
            .build_arc();
        let runtime = runtime.map_err(|error| Error::engine(&error, memory))?;
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let mut config = SessionConfig::new()
            .with_target_partitions(cores)
            .with_information_schema(false)
            .with_collect_statistics(false);
        // Small files are not split into partitions: starting those costs more than the work.
        config.options_mut().optimizer.repartition_file_min_size = 4 << 20;
        // The metadata of a Parquet file is at its end. This much is fetched first; more if needed.
        config.options_mut().execution.parquet.metadata_size_hint = Some(64 << 10);
        // Admitted statements are already bounded, and may be deeper than the parser's default
        // limit.
        config = config.set_usize("datafusion.sql_parser.recursion_limit", 256);
        Ok(Self { context: SessionContext::new_with_config_rt(config, runtime), memory })
    }

    /// Registers a frame as a table.
    pub(crate) fn add_frame(&self, name: &str, frame: &Frame) -> Result<()> {
        let batch = convert::to_batch(frame).map_err(|error| self.failed(error.into()))?;
        let table =
            MemTable::try_new(batch.schema(), vec![vec![batch]]).map_err(|error| self.failed(error))?;
        self.register(name, Arc::new(table))
    }

    pub(crate) fn register(
        &self,
        name: &str,
        table: Arc<dyn datafusion::catalog::TableProvider>,
    ) -> Result<()> {
        let reference = TableReference::bare(name);
        let _ = self.context.deregister_table(reference.clone()).map_err(|error| self.failed(error))?;
        self.context.register_table(reference, table).map(drop).map_err(|error| self.failed(error))
    }

    /// Whether a table of this name is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.context.table_exist(TableReference::bare(name)).unwrap_or(false)
    }

    /// Runs a query; returns at most `limit` rows, and whether there were more. Dropping the future
    /// stops it.
    pub(crate) async fn run(&self, sql: &Statement, limit: usize) -> Result<(Frame, bool)> {
        let frame = self.plan(sql).await?;
        self.collect(frame, limit).await
    }

    /// Plans a statement in a context with only its admitted columns. Boxed, so that the engine's
    /// types do not become part of every caller's future.
    fn plan<'a>(&'a self, sql: &'a Statement) -> BoxFuture<'a, Result<DataFrame>> {
        let work = async move {
            let confined = self.confine(&sql.reads).await?;
            let options =
                SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
            confined.sql_with_options(&sql.text, options).await.map_err(|error| self.failed(error))
        };
        work.boxed()
    }

    /// A context with only these columns of these tables.
    async fn confine(&self, reads: &BTreeMap<String, BTreeSet<String>>) -> Result<SessionContext> {
        let confined =
            SessionContext::new_with_config_rt(self.context.copied_config(), self.context.runtime_env());
        for (name, columns) in reads {
            let reference = TableReference::bare(name.as_str());
            let table = self.context.table(reference.clone()).await.map_err(|error| self.failed(error))?;
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            let view = project(table, &columns).map_err(|error| self.failed(error))?.into_view();
            confined.register_table(reference, view).map_err(|error| self.failed(error))?;
        }
        Ok(confined)
    }

    async fn collect(&self, frame: DataFrame, limit: usize) -> Result<(Frame, bool)> {
        match self.gather(frame, limit, RESULT_BYTES).await? {
            (_, Gathered::Heavy) => Err(Error::Output { megabytes: RESULT_BYTES >> 20 }),
            (frame, gathered) => Ok((frame, gathered == Gathered::More)),
        }
    }

    async fn gather(&self, frame: DataFrame, limit: usize, mut bytes: usize) -> Result<(Frame, Gathered)> {
        let mut stream = frame.execute_stream().await.map_err(|error| self.failed(error))?;
        let mut result = convert::empty("result", &stream.schema());
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(|error| self.failed(error))?;
            let more = result.rows.len() + batch.num_rows() > limit;
            let fits = convert::append(&mut result, &batch, limit, &mut bytes);
            if !fits.map_err(|error| self.failed(error.into()))? {
                return Ok((result, Gathered::Heavy));
            }
            if more {
                return Ok((result, Gathered::More));
            }
        }
        Ok((result, Gathered::All))
    }

    /// Runs a query and stores its result as a table. Returns the columns without rows.
    pub(crate) async fn materialise(&self, sql: &Statement, name: &str) -> Result<Frame> {
        let frame = self.plan(sql).await?;
        let schema = Arc::new(frame.schema().as_arrow().clone());
        let partitions = frame.collect_partitioned().await.map_err(|error| self.failed(error))?;
        let bytes: usize = partitions.iter().flatten().map(|batch| batch.get_array_memory_size()).sum();
        if bytes > self.memory {
            return Err(Error::Memory { megabytes: self.memory >> 20 });
        }
        let columns = convert::empty(name, &schema);
        let table = MemTable::try_new(schema, partitions).map_err(|error| self.failed(error))?;
        self.register(name, Arc::new(table))?;
        Ok(columns)
    }

    /// The first rows of a registered table.
    pub(crate) async fn head(&self, name: &str, rows: usize) -> Result<(Frame, bool)> {
        let reference = TableReference::bare(name);
        let table = self.context.table(reference).await.map_err(|error| self.failed(error))?;
        self.sample(table, rows).await
    }

    /// The first rows of a frame, and whether there are more.
    pub(crate) async fn sample(
        &self,
        frame: datafusion::dataframe::DataFrame,
        rows: usize,
    ) -> Result<(Frame, bool)> {
        let frame = frame.limit(0, Some(rows + 1)).map_err(|error| self.failed(error))?;
        let (frame, gathered) = self.gather(frame, rows, SAMPLE_BYTES).await?;
        if gathered == Gathered::Heavy && frame.rows.is_empty() {
            return Err(Error::Output { megabytes: SAMPLE_BYTES >> 20 });
        }
        Ok((frame, gathered != Gathered::All))
    }

    /// These columns of the first rows of a registered table.
    pub(crate) async fn head_of(&self, name: &str, columns: &[&str], rows: usize) -> Result<(Frame, bool)> {
        let table =
            self.context.table(TableReference::bare(name)).await.map_err(|error| self.failed(error))?;
        let table = project(table, columns).map_err(|error| self.failed(error))?;
        let table = table.limit(0, Some(rows + 1)).map_err(|error| self.failed(error))?;
        self.collect(table, rows).await
    }

    pub(crate) fn context(&self) -> &SessionContext {
        &self.context
    }

    #[allow(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
    pub(crate) fn failed(&self, error: datafusion::error::DataFusionError) -> Error {
        Error::engine(&error, self.memory)
    }
}

/// How completely the rows of a result were collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gathered {
    All,
    /// There are more rows than the limit.
    More,
    /// Their cells exceed the size limit.
    Heavy,
}

/// These columns of a table; a constant for a table whose rows are only counted.
fn project(table: DataFrame, columns: &[&str]) -> datafusion::error::Result<DataFrame> {
    if columns.is_empty() {
        return table.select(vec![datafusion::logical_expr::lit(1_i64).alias("present")]);
    }
    table.select_columns(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Field, Kind, Value};

    /// The protection behind policy: whatever the statement's text, other columns and tables do not
    /// exist.
    #[tokio::test]
    async fn a_statement_finds_only_what_it_was_admitted_to() {
        let engine = Engine::new(1 << 26).unwrap();
        let frame = Frame {
            name: "t".to_owned(),
            fields: ["id", "email"].map(|name| Field::new(name, Kind::Text)).to_vec(),
            rows: vec![vec![Value::Text("1".to_owned()), Value::Text("CANARY".to_owned())]],
        };
        engine.add_frame("t", &frame).unwrap();
        engine.add_frame("other", &frame).unwrap();
        let reads = BTreeMap::from([("t".to_owned(), BTreeSet::from(["id".to_owned()]))]);
        let confined = engine.confine(&reads).await.unwrap();
        for sql in [
            "SELECT email FROM t",
            "SELECT t.\"email\" FROM t",
            "SELECT id FROM t WHERE email = 'CANARY'",
            "SELECT id FROM other",
            "SELECT id FROM datafusion.public.other",
        ] {
            let refused = confined.sql(sql).await.err().map(|error| error.to_string());
            assert!(refused.is_some_and(|error| !error.contains("CANARY")), "{sql}");
        }
        let star = confined.sql("SELECT * FROM t").await.unwrap();
        assert_eq!(star.schema().fields().len(), 1);
        let counted = BTreeMap::from([("t".to_owned(), BTreeSet::new())]);
        let counted = engine.confine(&counted).await.unwrap();
        assert!(counted.sql("SELECT id FROM t").await.is_err());
        let batches = counted.sql("SELECT count(*) FROM t").await.unwrap().collect().await.unwrap();
        assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
    }
}
