//! The columns of a table: their names, the names in its files, and their types.

use super::TableFolder;
use super::action::Metadata;
use crate::error::Result;
use datafusion::arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Maximum nesting of a column's type.
const DEEPEST: usize = 16;

/// The columns of a table in its order.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) all: Vec<Column>,
}

/// One column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// Its name in the data files and in the log.
    pub(super) physical: String,
    pub(super) data_type: DataType,
    pub(super) is_partition: bool,
}

#[derive(Deserialize)]
struct Written {
    name: String,
    #[serde(rename = "type")]
    data_type: Value,
    #[serde(default)]
    metadata: Map<String, Value>,
}

impl Written {
    fn physical(&self) -> &str {
        let mapped = self.metadata.get("delta.columnMapping.physicalName").and_then(Value::as_str);
        mapped.unwrap_or(&self.name)
    }
}

#[derive(Deserialize)]
struct WrittenStruct {
    fields: Vec<Written>,
}

impl Columns {
    /// The columns of a table's metadata.
    pub(super) fn of(folder: &TableFolder, metadata: &Metadata) -> Result<Self> {
        let mode = metadata.configuration.get("delta.columnMapping.mode").cloned().flatten();
        let mapped = match mode.as_deref() {
            None | Some("none") => false,
            Some("name") => true,
            Some(other) => {
                let detail = format!("its columns are mapped by {other}; mapping by name is read");
                return Err(folder.refused(detail));
            }
        };
        let written: WrittenStruct = serde_json::from_str(&metadata.schema_string)
            .map_err(|error| folder.broken(format!("the columns in its log: {error}")))?;
        let column = |written: &Written| {
            let data_type = data_type(&written.data_type, mapped, 0)
                .map_err(|detail| folder.refused(format!("its column {} {detail}", written.name)))?;
            Ok(Column {
                name: written.name.clone(),
                physical: if mapped { written.physical() } else { &written.name }.to_owned(),
                data_type,
                is_partition: metadata.partition_columns.contains(&written.name),
            })
        };
        let all = written.fields.iter().map(column).collect::<Result<Vec<_>>>()?;
        if all.is_empty() {
            return Err(folder.refused("it has no columns"));
        }
        Ok(Self { all })
    }
}

/// The type of a column in the engine.
fn data_type(written: &Value, mapped: bool, depth: usize) -> std::result::Result<DataType, String> {
    if depth > DEEPEST {
        return Err("is nested too deeply".to_owned());
    }
    if let Some(name) = written.as_str() {
        return primitive(name).ok_or_else(|| format!("has the type {name}, which is not read"));
    }
    let part = |name: &str| written.get(name).ok_or_else(|| format!("has a type without {name}"));
    let inner = |name: &str| data_type(part(name)?, mapped, depth + 1);
    match written.get("type").and_then(Value::as_str) {
        Some("array") => Ok(DataType::List(Arc::new(Field::new("element", inner("elementType")?, true)))),
        Some("map") => {
            let pair =
                [Field::new("key", inner("keyType")?, false), Field::new("value", inner("valueType")?, true)];
            let entries = Field::new("key_value", DataType::Struct(Fields::from(pair.to_vec())), false);
            Ok(DataType::Map(Arc::new(entries), false))
        }
        Some("struct") => {
            let fields: Vec<Written> =
                serde_json::from_value(part("fields")?.clone()).map_err(|error| error.to_string())?;
            let field = |field: &Written| {
                if mapped && field.physical() != field.name {
                    return Err(format!("has the part {}, which was renamed", field.name));
                }
                Ok(Field::new(&field.name, data_type(&field.data_type, mapped, depth + 1)?, true))
            };
            let fields: std::result::Result<Vec<Field>, String> = fields.iter().map(field).collect();
            Ok(DataType::Struct(fields?.into()))
        }
        other => Err(format!("has the type {}, which is not read", other.unwrap_or("without a name"))),
    }
}

fn primitive(name: &str) -> Option<DataType> {
    Some(match name {
        "string" => DataType::Utf8View,
        "long" => DataType::Int64,
        "integer" => DataType::Int32,
        "short" => DataType::Int16,
        "byte" => DataType::Int8,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "boolean" => DataType::Boolean,
        "binary" => DataType::BinaryView,
        "date" => DataType::Date32,
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        "timestamp_ntz" => DataType::Timestamp(TimeUnit::Microsecond, None),
        _ => {
            let (precision, scale) = name.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
            let precision = precision.trim().parse().ok().filter(|precision| (1..=38).contains(precision))?;
            DataType::Decimal128(
                precision,
                scale.trim().parse().ok().filter(|scale| *scale <= precision as i8)?,
            )
        }
    })
}
