//! Parses the metadata of a driver: catalogues, schemas, tables and columns, nested as ADBC
//! defines.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StructArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;

/// A table with the names of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    /// Catalogue and schema, if they have a name.
    pub(super) place: Vec<String>,
    pub(super) table: String,
    pub(super) columns: Vec<String>,
}

/// Types of tables without user data.
const INTERNAL: [&str; 4] = ["system", "index", "sequence", "toast"];
/// Schemas with metadata.
const DESCRIBING: [&str; 4] = ["information_schema", "pg_catalog", "pg_toast", "sys"];

/// The tables in a batch of `get_objects`.
pub(super) fn tables(batch: &RecordBatch) -> Vec<Object> {
    let mut found = Vec::new();
    let catalogs = texts(batch.column_by_name("catalog_name"));
    for (row, catalog) in catalogs.into_iter().enumerate() {
        if let Some(schemas) = nested(batch.column_by_name("catalog_db_schemas"), row) {
            let names = texts(schemas.column_by_name("db_schema_name"));
            for (row, schema) in names.into_iter().enumerate() {
                if schema.as_deref().is_some_and(|name| DESCRIBING.contains(&name.to_lowercase().as_str())) {
                    continue;
                }
                let place = [catalog.clone(), schema].into_iter().flatten().filter(|name| !name.is_empty());
                let place: Vec<String> = place.collect();
                if let Some(tables) = nested(schemas.column_by_name("db_schema_tables"), row) {
                    collect(&tables, &place, &mut found);
                }
            }
        }
    }
    found
}

fn collect(tables: &StructArray, place: &[String], found: &mut Vec<Object>) {
    let kinds = texts(tables.column_by_name("table_type"));
    for (row, table) in texts(tables.column_by_name("table_name")).into_iter().enumerate() {
        let kind = kinds.get(row).cloned().flatten().unwrap_or_default().to_lowercase();
        let Some(table) = table.filter(|_| !INTERNAL.iter().any(|word| kind.contains(word))) else {
            continue;
        };
        let columns = nested(tables.column_by_name("table_columns"), row)
            .iter()
            .flat_map(|columns| texts(columns.column_by_name("column_name")))
            .flatten()
            .collect();
        found.push(Object { place: place.to_vec(), table, columns });
    }
}

/// The structs in a row of a list.
fn nested(list: Option<&ArrayRef>, row: usize) -> Option<StructArray> {
    let list = list?.as_list_opt::<i32>()?;
    if row >= list.len() || list.is_null(row) {
        return None;
    }
    list.value(row).as_struct_opt().cloned()
}

fn texts(array: Option<&ArrayRef>) -> Vec<Option<String>> {
    let Some(array) = array.and_then(|array| cast(array, &DataType::Utf8).ok()) else { return Vec::new() };
    array.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}
