//! The engine in this process: DataFusion with a memory limit, over files and over frames.
//!
//! Invariant: it runs [`AdmittedSql`] and nothing else, with DDL, DML and statements switched off besides.

pub(crate) mod convert;
mod scan;

use crate::error::{Error, Result};
use crate::frame::Frame;
use datafusion::datasource::MemTable;
use datafusion::execution::context::{SQLOptions, SessionConfig, SessionContext};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use futures_util::StreamExt as _;
use std::sync::Arc;
use steward_policy::AdmittedSql;

pub(crate) use scan::{CsvScan, ScanColumn};

/// The engine and what it may use.
pub(crate) struct Engine {
    context: SessionContext,
    memory: usize,
}

impl Engine {
    /// An engine that keeps to so many bytes of memory and spills to disk beyond.
    pub(crate) fn new(memory: usize) -> Result<Self> {
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(memory, 1.0).build_arc();
        let runtime = runtime.map_err(|error| Error::engine(&error, memory))?;
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let mut config = SessionConfig::new()
            .with_target_partitions(cores)
            .with_information_schema(false)
            .with_collect_statistics(false);
        // Small results should not be spread over partitions: starting those costs more than the work.
        config.options_mut().optimizer.repartition_file_min_size = 4 << 20;
        Ok(Self { context: SessionContext::new_with_config_rt(config, runtime), memory })
    }

    /// Gives a frame a name that queries can use.
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
        let reference = datafusion::common::TableReference::bare(name);
        let _ = self.context.deregister_table(reference.clone()).map_err(|error| self.failed(error))?;
        self.context.register_table(reference, table).map(drop).map_err(|error| self.failed(error))
    }

    /// Whether a table of this name is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.context.table_exist(datafusion::common::TableReference::bare(name)).unwrap_or(false)
    }

    /// Runs a query and gives back at most `limit` rows, and whether there were more. Dropping the future stops it.
    pub(crate) async fn run(&self, sql: &AdmittedSql, limit: usize) -> Result<(Frame, bool)> {
        self.run_text(sql.text(), limit).await
    }

    async fn run_text(&self, sql: &str, limit: usize) -> Result<(Frame, bool)> {
        let options =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let frame = self.context.sql_with_options(sql, options).await.map_err(|error| self.failed(error))?;
        self.collect(frame, limit).await
    }

    async fn collect(&self, frame: datafusion::dataframe::DataFrame, limit: usize) -> Result<(Frame, bool)> {
        let mut stream = frame.execute_stream().await.map_err(|error| self.failed(error))?;
        let mut result = convert::empty("result", &stream.schema());
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(|error| self.failed(error))?;
            let more = result.rows.len() + batch.num_rows() > limit;
            convert::append(&mut result, &batch, limit).map_err(|error| self.failed(error.into()))?;
            if more {
                return Ok((result, true));
            }
        }
        Ok((result, false))
    }

    /// Runs a query and makes its result a table. Gives back the columns, with no rows.
    pub(crate) async fn materialise(&self, sql: &AdmittedSql, name: &str) -> Result<Frame> {
        let options =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let frame =
            self.context.sql_with_options(sql.text(), options).await.map_err(|error| self.failed(error))?;
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
        let reference = datafusion::common::TableReference::bare(name);
        let table = self.context.table(reference).await.map_err(|error| self.failed(error))?;
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
