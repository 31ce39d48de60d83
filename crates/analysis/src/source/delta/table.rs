//! The data files of a version as a table of the engine. Files that a filter excludes by their
//! partition or their statistics are not opened.

use super::TableFolder;
use super::action::{AddFile, FileKey, FileStatistics};
use super::columns::{Column, Columns};
use super::log::Snapshot;
use crate::error::Result;
use async_trait::async_trait;
use chrono::NaiveDate;
use datafusion::arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column as ColumnName, DFSchema, ScalarValue};
use datafusion::datasource::TableType;
use datafusion::datasource::file_format::FileFormat as _;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result as EngineResult;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::parquet::arrow::arrow_reader::RowSelection;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The first bytes that are fetched of the end of a Parquet file.
const METADATA_HINT: usize = 64 << 10;

/// A version of a table.
#[derive(Debug)]
pub(super) struct DeltaTable {
    store_url: ObjectStoreUrl,
    schema: TableSchema,
    files: Vec<DataFile>,
}

/// One of its files.
#[derive(Debug)]
struct DataFile {
    file: PartitionedFile,
    statistics: FileStatistics,
}

impl DeltaTable {
    pub(super) fn new(
        folder: &TableFolder,
        columns: &Columns,
        snapshot: &Snapshot,
        mut deleted: BTreeMap<FileKey, RowSelection>,
    ) -> Result<Self> {
        let field = |column: &Column| Arc::new(Field::new(&column.physical, column.data_type.clone(), true));
        let (keys, inside): (Vec<&Column>, Vec<&Column>) =
            columns.all.iter().partition(|column| column.is_partition);
        let schema: SchemaRef =
            Arc::new(Schema::new(inside.iter().map(|column| field(column)).collect::<Vec<_>>()));
        let keyed: Vec<_> = keys.iter().map(|column| field(column)).collect();
        let schema = TableSchema::builder(schema).with_table_partition_cols(keyed).build();
        let mut files = Vec::new();
        for (key, added) in &snapshot.files {
            let values = keys.iter().map(|column| partition_value(added, column));
            let values =
                values.collect::<EngineResult<Vec<_>>>().map_err(|error| folder.broken(error.to_string()))?;
            let mut file = PartitionedFile::new("", added.size).with_partition_values(values);
            file.object_meta.location = folder.data_file(&added.path)?;
            file.metadata_size_hint = Some(METADATA_HINT);
            if let Some(selection) = deleted.remove(key) {
                file = file.with_extension(ParquetRowSelection::new(selection));
            }
            files.push(DataFile { file, statistics: added.statistics() });
        }
        Ok(Self { store_url: folder.store_url.clone(), schema, files })
    }

    /// The files that may have rows for these filters.
    fn prune(&self, state: &dyn Session, filters: &[Expr]) -> EngineResult<Vec<PartitionedFile>> {
        let all = || self.files.iter().map(|file| file.file.clone()).collect();
        let Some(filter) = conjunction(filters.iter().cloned()) else { return Ok(all()) };
        let schema = self.schema.table_schema();
        let filter = state.create_physical_expr(filter, &DFSchema::try_from(schema.clone())?)?;
        let predicate = PruningPredicateBuilder::new().with_file_schema(schema.clone()).try_build(filter)?;
        let kept = predicate.prune(self)?;
        Ok(self.files.iter().zip(kept).filter(|(_, kept)| *kept).map(|(file, _)| file.file.clone()).collect())
    }

    /// The bound of a column in every file; none where it is unknown.
    fn bounds(&self, column: &ColumnName, bound: Bound) -> Option<ArrayRef> {
        let data_type = self.schema.table_schema().field_with_name(&column.name).ok()?.data_type();
        let key = self.schema.table_partition_cols().iter().position(|field| *field.name() == column.name);
        let value = |file: &DataFile| match key {
            Some(place) => file.file.partition_values.get(place).cloned(),
            None => bound_value(&file.statistics, &column.name, data_type, bound),
        };
        let unknown = || ScalarValue::try_from(data_type).unwrap_or(ScalarValue::Null);
        let values: Vec<ScalarValue> =
            self.files.iter().map(|file| value(file).unwrap_or_else(unknown)).collect();
        ScalarValue::iter_to_array(values).ok()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Min,
    Max,
}

fn partition_value(file: &AddFile, column: &Column) -> EngineResult<ScalarValue> {
    let text = file.partition_values.get(&column.physical).cloned().flatten();
    match text.filter(|text| !text.is_empty()) {
        Some(text) => ScalarValue::try_from_string(text, &column.data_type),
        None => ScalarValue::try_from(&column.data_type),
    }
}

/// A bound of the log. Only types whose bounds are exact in JSON are used.
fn bound_value(
    statistics: &FileStatistics,
    column: &str,
    data_type: &DataType,
    bound: Bound,
) -> Option<ScalarValue> {
    let values = if bound == Bound::Min { &statistics.min_values } else { &statistics.max_values };
    match (data_type, values.get(column)?) {
        (DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64, Value::Number(number)) => {
            ScalarValue::from(number.as_i64()?).cast_to(data_type).ok()
        }
        (DataType::Utf8View, Value::String(text)) => Some(ScalarValue::Utf8View(Some(text.clone()))),
        (DataType::Date32, Value::String(text)) => {
            let day = text.parse::<NaiveDate>().ok()?;
            Some(ScalarValue::Date32(Some(crate::engine::convert::days(day))))
        }
        _ => None,
    }
}

impl PruningStatistics for DeltaTable {
    fn min_values(&self, column: &ColumnName) -> Option<ArrayRef> {
        self.bounds(column, Bound::Min)
    }

    fn max_values(&self, column: &ColumnName) -> Option<ArrayRef> {
        self.bounds(column, Bound::Max)
    }

    fn num_containers(&self) -> usize {
        self.files.len()
    }

    fn null_counts(&self, column: &ColumnName) -> Option<ArrayRef> {
        let key = self.schema.table_partition_cols().iter().position(|field| *field.name() == column.name);
        let count = |file: &DataFile| match key {
            Some(place) if file.file.partition_values.get(place)?.is_null() => file.statistics.num_records,
            Some(_) => Some(0),
            None => file.statistics.null_count.get(&column.name)?.as_u64(),
        };
        Some(Arc::new(self.files.iter().map(count).collect::<UInt64Array>()))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let counts = self.files.iter().map(|file| file.statistics.num_records);
        Some(Arc::new(counts.collect::<UInt64Array>()))
    }

    fn contained(&self, _: &ColumnName, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

#[async_trait]
impl TableProvider for DeltaTable {
    fn schema(&self) -> SchemaRef {
        self.schema.table_schema().clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> EngineResult<Vec<TableProviderFilterPushDown>> {
        // The engine filters the rows of the files that are left.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let files = self.prune(state, filters)?;
        if files.is_empty() {
            let schema = self.schema();
            let schema = match projection {
                Some(places) => Arc::new(schema.project(places)?),
                None => schema,
            };
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let groups = FileGroup::new(files).split_files(state.config().target_partitions());
        let source = Arc::new(ParquetSource::new(self.schema.clone()));
        let config = FileScanConfigBuilder::new(self.store_url.clone(), source)
            .with_file_groups(groups)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        let format = ParquetFormat::default().with_options(state.table_options().parquet.clone());
        format.create_physical_plan(state, config).await
    }
}
