//! Large CSV files: read directly by the engine, in parallel, only the columns that a query needs.
//!
//! Values in local formats are read as text and parsed by a UDF. Plain ones are read typed; if one
//! of them turns out not to be plain, the scan is registered again with every value parsed.

use super::Engine;
use super::convert::{data_type, days};
use crate::error::Result;
use crate::frame::Kind;
use crate::reader::ValueFormat;
use datafusion::arrow::array::{
    ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, Int64Array, TimestampMicrosecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::error::Result as EngineResult;
use datafusion::logical_expr::{ColumnarValue, Volatility, create_udf, ident};
use datafusion::prelude::CsvReadOptions;
use std::path::PathBuf;
use std::sync::Arc;

/// A CSV file, or several with the same columns, and how its values are parsed.
#[derive(Debug, Clone)]
pub(crate) struct CsvScan {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) delimiter: u8,
    pub(crate) quote: u8,
    pub(crate) escape: Option<u8>,
    pub(crate) has_header: bool,
    pub(crate) newlines_in_values: bool,
    pub(crate) columns: Vec<ScanColumn>,
}

/// One column of it.
#[derive(Debug, Clone)]
pub(crate) struct ScanColumn {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) format: ValueFormat,
    pub(crate) plain: bool,
}

impl CsvScan {
    /// The same scan with every value parsed: invalid values become null instead of an error.
    pub(crate) fn lenient(mut self) -> Self {
        for column in &mut self.columns {
            column.plain = column.kind == Kind::Text;
        }
        self
    }

    /// Whether some columns are still read typed.
    pub(crate) fn is_strict(&self) -> bool {
        self.columns.iter().any(|column| column.plain && column.kind != Kind::Text)
    }

    /// Registers it as a table of the engine.
    pub(crate) async fn register(&self, engine: &Engine, name: &str) -> Result<()> {
        let fields: Vec<Field> = (self.columns.iter())
            .map(|column| {
                let typed = if column.plain { data_type(column.kind) } else { DataType::Utf8 };
                Field::new(&column.name, typed, true)
            })
            .collect();
        let schema = Schema::new(fields);
        let mut options = CsvReadOptions::new()
            .schema(&schema)
            .has_header(self.has_header)
            .delimiter(self.delimiter)
            .quote(self.quote)
            .newlines_in_values(self.newlines_in_values)
            .truncated_rows(true);
        options.escape = self.escape;
        // The extension only filters folders; a file named by its path is always read.
        options.file_extension = "";
        let paths: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        let failed = |error| engine.failed(error);
        let raw = engine.context().read_csv(paths, options).await.map_err(failed)?;
        let columns: Vec<_> = (self.columns.iter())
            .map(|column| {
                let value = ident(&column.name);
                if column.plain { value } else { undress(column).call(vec![value]).alias(&column.name) }
            })
            .collect();
        let view = raw.select(columns).map_err(failed)?.into_view();
        engine.register(name, view)
    }
}

/// A function that parses one column.
fn undress(column: &ScanColumn) -> datafusion::logical_expr::ScalarUDF {
    let (format, kind) = (column.format, column.kind);
    let name = format!("undress_{}", column.name);
    let function = move |values: &[ColumnarValue]| -> EngineResult<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(values)?;
        let Some(array) = arrays.first() else {
            return datafusion::common::internal_err!("undress takes one value");
        };
        Ok(ColumnarValue::Array(parse_column(&format, kind, array)?))
    };
    create_udf(&name, vec![DataType::Utf8], data_type(kind), Volatility::Immutable, Arc::new(function))
}

fn parse_column(format: &ValueFormat, kind: Kind, array: &ArrayRef) -> EngineResult<ArrayRef> {
    let text = cast(array, &DataType::Utf8)?;
    let values = text.as_string::<i32>().iter();
    Ok(match kind {
        Kind::Boolean => Arc::new(BooleanArray::from_iter(values.map(|text| format.boolean(text?)))),
        Kind::Integer => Arc::new(Int64Array::from_iter(values.map(|text| format.integer(text?)))),
        Kind::Number => Arc::new(Float64Array::from_iter(values.map(|text| format.number(text?)))),
        Kind::Date => Arc::new(Date32Array::from_iter(values.map(|text| format.date(text?).map(days)))),
        Kind::Timestamp => Arc::new(TimestampMicrosecondArray::from_iter(
            values.map(|text| format.time(text?).map(|time| time.and_utc().timestamp_micros())),
        )),
        Kind::Text => text.clone(),
    })
}
