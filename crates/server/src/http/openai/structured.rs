//! Structured answers without a model: the rows of an answer are mapped to the fields of a schema
//! by name, and validated.
//!
//! Invariant: no value is invented. If the rows do not fill the schema, the request fails and the
//! error names what is missing.

use crate::http::problem::Problem;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use steward_models::ReplySchema;
use steward_tools::call::misfits;

/// Rows, each keyed by column name.
struct Rows(Vec<Map<String, Value>>);

/// Converts the answer of a reply to the schema.
pub(super) fn answer(reply: &Value, schema: &ReplySchema) -> Result<String, Problem> {
    let tables = tables(reply);
    let text = reply.get("answer").and_then(Value::as_str).unwrap_or_default();
    let any = schema.schema.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty);
    let value = if any && schema.schema.get("type").is_some_and(|kind| kind == "object") {
        let rows: Vec<&Vec<Map<String, Value>>> = tables.iter().map(|table| &table.0).collect();
        Some(json!({ "answer": text, "tables": rows }))
    } else {
        tables.iter().find_map(|rows| fill(&schema.schema, rows))
    };
    let refused = |why: &str| {
        let detail = format!(
            "response_format: the answer cannot be given in this form without a model: {why}. Ask for `json_object`, \
             name the fields as the columns are named, or set up a model"
        );
        Problem::new(StatusCode::BAD_REQUEST, "MDL010", detail)
    };
    let value = value.ok_or_else(|| match tables.first().and_then(|rows| rows.0.first()) {
        None => refused("the answer has no rows"),
        Some(row) => {
            let columns: Vec<&str> = row.keys().map(String::as_str).collect();
            refused(&format!("its rows have the columns {}", columns.join(", ")))
        }
    })?;
    match misfits(&schema.schema, &value) {
        Ok(problems) if problems.is_empty() => Ok(value.to_string()),
        Ok(problems) => Err(refused(&problems.join("; "))),
        Err(why) => Err(refused(&why)),
    }
}

/// The tables of a reply, including those of its analyses.
fn tables(reply: &Value) -> Vec<Rows> {
    let of = |value: &Value| -> Option<Rows> {
        let columns: Vec<String> = value
            .get("columns")?
            .as_array()?
            .iter()
            .map(|column| {
                let name = column.as_str().or_else(|| column.get("name").and_then(Value::as_str));
                name.unwrap_or_default().to_owned()
            })
            .collect();
        let rows = value.get("rows")?.as_array()?.iter().map(|row| match row {
            Value::Array(cells) => columns.iter().cloned().zip(cells.iter().cloned()).collect(),
            Value::Object(row) => row.clone(),
            _ => Map::new(),
        });
        Some(Rows(rows.collect()))
    };
    let own = reply.get("tables").and_then(Value::as_array).into_iter().flatten();
    let analysed = reply.get("analyses").and_then(Value::as_array).into_iter().flatten();
    let within = analysed.flat_map(|one| one.get("tables").and_then(Value::as_array).into_iter().flatten());
    own.chain(within).filter_map(of).collect()
}

/// Builds a value of the schema from rows: a list of rows, an object with one list, or one row.
fn fill(schema: &Value, rows: &Rows) -> Option<Value> {
    let resolved = resolve(schema, schema)?;
    fill_in(schema, resolved, rows)
}

fn fill_in(root: &Value, schema: &Value, rows: &Rows) -> Option<Value> {
    match kind(schema) {
        "array" => {
            let item = resolve(root, schema.get("items")?)?;
            rows.0.iter().map(|row| from_row(root, item, row)).collect::<Option<Vec<_>>>().map(Value::from)
        }
        "object" => {
            let properties = schema.get("properties")?.as_object()?;
            let lists: Vec<&String> = properties
                .iter()
                .filter(|(_, about)| resolve(root, about).is_some_and(|about| kind(about) == "array"))
                .map(|(name, _)| name)
                .collect();
            match (lists.as_slice(), rows.0.as_slice()) {
                ([name], _) if properties.len() == 1 => {
                    let list = fill_in(root, resolve(root, properties.get(*name)?)?, rows)?;
                    Some(json!({ *name: list }))
                }
                (_, [row]) => from_row(root, schema, row),
                _ => None,
            }
        }
        _ => match rows.0.as_slice() {
            [row] if row.len() == 1 => row.values().next().map(|cell| typed(schema, cell)),
            _ => None,
        },
    }
}

/// One row as an object of the schema, or as its single value.
fn from_row(root: &Value, schema: &Value, row: &Map<String, Value>) -> Option<Value> {
    let schema = resolve(root, schema)?;
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        // A list of scalars takes the first column of a matching type.
        let cell = row.values().find(|cell| fits(schema, cell)).or_else(|| row.values().next())?;
        return Some(typed(schema, cell));
    };
    let required: Vec<&str> = (schema.get("required").and_then(Value::as_array).into_iter().flatten())
        .filter_map(Value::as_str)
        .collect();
    let mut filled = Map::new();
    for (name, about) in properties {
        let found = row.iter().find(|(column, _)| plain(column) == plain(name));
        match found {
            Some((_, cell)) => drop(filled.insert(name.clone(), typed(resolve(root, about)?, cell))),
            None if required.contains(&name.as_str()) => return None,
            None => {}
        }
    }
    (!filled.is_empty()).then_some(Value::Object(filled))
}

/// Resolves a `$ref` within the schema.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(path) => root.pointer(path.strip_prefix('#')?),
        None => Some(schema),
    }
}

fn kind(schema: &Value) -> &str {
    schema.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Normalizes a name: `Order ID` and `order_id` are equal.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn fits(schema: &Value, cell: &Value) -> bool {
    match kind(schema) {
        "string" => cell.is_string(),
        "integer" => cell.is_i64() || cell.is_u64(),
        "number" => cell.is_number(),
        "boolean" => cell.is_boolean(),
        _ => true,
    }
}

/// Converts a cell to the required type, where the conversion is lossless.
fn typed(schema: &Value, cell: &Value) -> Value {
    match (kind(schema), cell) {
        ("string", Value::Number(_) | Value::Bool(_)) => Value::String(cell.to_string()),
        ("number" | "integer", Value::String(text)) => {
            serde_json::from_str(text).ok().filter(Value::is_number).unwrap_or_else(|| cell.clone())
        }
        ("integer", Value::Number(number)) => match number.as_f64() {
            Some(whole) if number.is_f64() && whole.fract() == 0.0 && whole.abs() < 9e15 => {
                Value::from(whole as i64)
            }
            _ => cell.clone(),
        },
        _ => cell.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(schema: Value, reply: &Value) -> Result<Value, String> {
        let schema = ReplySchema { name: "x".into(), schema };
        answer(reply, &schema).map(|text| serde_json::from_str(&text).unwrap()).map_err(|told| told.detail)
    }

    #[test]
    fn rows_fill_the_fields_of_their_names_and_nothing_is_invented() {
        let reply = json!({ "answer": "2 tasks", "tables": [{ "columns": ["id", "Title", "done"],
            "rows": [[1, "milk", false], [2, "tea", true]] }] });
        let item = json!({ "type": "object", "required": ["id", "title"], "additionalProperties": false,
            "properties": { "id": { "type": "string" }, "title": { "type": "string" } } });
        let list = json!({ "type": "object", "required": ["tasks"], "properties": { "tasks": { "type": "array", "items": { "$ref": "#/$defs/T" } } },
            "$defs": { "T": item } });
        let filled = read(list, &reply).unwrap();
        assert_eq!(
            filled,
            json!({ "tasks": [{ "id": "1", "title": "milk" }, { "id": "2", "title": "tea" }] })
        );
        let names = json!({ "type": "array", "items": { "type": "string" } });
        assert_eq!(read(names, &reply).unwrap(), json!(["milk", "tea"]));
        let object = read(json!({ "type": "object" }), &reply).unwrap();
        assert_eq!(object["tables"][0][1]["Title"], "tea");
        let other = json!({ "type": "object", "required": ["price"], "properties": { "price": { "type": "number" } } });
        let told = read(other, &reply).unwrap_err();
        assert!(told.contains("Title, done, id"), "{told}");
        let one = json!({ "answer": "", "tables": [{ "columns": ["total"], "rows": [[7.0]] }] });
        let total = json!({ "type": "object", "required": ["total"], "properties": { "total": { "type": "integer" } } });
        assert_eq!(read(total, &one).unwrap(), json!({ "total": 7 }));
    }
}
