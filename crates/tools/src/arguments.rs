//! Arguments in text form: a short description of a schema, and parsing of `name=value`.
//!
//! Nothing is validated here. The call path validates against the whole schema.

use serde_json::Value as Json;
use steward_domain::JsonObject;

/// The maximum number of listed choices. Of a longer list, only the count is shown.
const NAMED: usize = 12;

/// The type of an argument as text: `string`, `integer or null`, `one of: low, normal, high`.
#[must_use]
pub fn kind(schema: &JsonObject, property: &Json) -> String {
    let property = resolved(schema, property);
    let choices = choices(property);
    if choices.is_empty() {
        return types(schema, property).join(" or ");
    }
    let told: Vec<String> = choices
        .iter()
        .take(NAMED)
        .map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned))
        .collect();
    let more = choices.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("one of: {}{more}", told.join(", "))
}

/// Parses the text after `name=`. `7`, `true` and `[1, 2]` are parsed as JSON, unless the schema
/// expects a string.
#[must_use]
pub fn read(schema: &JsonObject, name: &str, text: &str) -> Json {
    let plain = || Json::from(text);
    let Ok(value) = serde_json::from_str::<Json>(text) else { return plain() };
    let Some(property) = schema.get("properties").and_then(|properties| properties.get(name)) else {
        return value;
    };
    let property = resolved(schema, property);
    let (choices, types) = (choices(property), types(schema, property));
    let is_meant = if choices.is_empty() {
        types.is_empty() || types.iter().any(|kind| is_of(&value, kind))
    } else {
        choices.contains(&&value)
    };
    let may_be_text = choices.contains(&&plain()) || types.contains(&"string");
    if !is_meant && may_be_text { plain() } else { value }
}

/// Resolves a reference within the schema. Other values are returned unchanged.
fn resolved<'a>(schema: &'a JsonObject, property: &'a Json) -> &'a Json {
    let place = property.get("$ref").and_then(Json::as_str).and_then(|place| place.strip_prefix("#/"));
    let found = place.and_then(|place| {
        let mut steps = place.split('/');
        steps
            .next()
            .and_then(|first| schema.get(first))
            .and_then(|from| steps.try_fold(from, |at, step| at.get(step)))
    });
    found.unwrap_or(property)
}

/// The allowed values, if they are enumerated.
fn choices(property: &Json) -> Vec<&Json> {
    let constant = property.get("const").into_iter();
    property.get("enum").and_then(Json::as_array).into_iter().flatten().chain(constant).collect()
}

/// The allowed types, including those of alternative schemas.
fn types<'a>(schema: &'a JsonObject, property: &'a Json) -> Vec<&'a str> {
    let own = match property.get("type") {
        Some(Json::String(kind)) => vec![kind.as_str()],
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    };
    let several = ["anyOf", "oneOf"].into_iter().filter_map(|word| property.get(word)?.as_array()).flatten();
    // Only one level is followed, so a circular reference cannot loop.
    let of_several = several.filter_map(|one| resolved(schema, one).get("type")?.as_str());
    let mut types = own;
    for kind in of_several {
        if !types.contains(&kind) {
            types.push(kind);
        }
    }
    types
}

fn is_of(value: &Json, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> JsonObject {
        let schema = json!({
            "$defs": { "Priority": { "enum": ["low", "normal", "high"] } },
            "properties": {
                "title": { "type": "string" }, "count": { "type": "integer" }, "share": { "type": "number" },
                "done": { "type": "boolean" }, "tags": { "type": "array" }, "id": { "type": ["string", "integer"] },
                "maybe": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                "priority": { "$ref": "#/$defs/Priority" }, "level": { "type": "string", "enum": ["1", "2"] },
                "grade": { "enum": [1, 2] }, "any": {}, "lost": { "$ref": "#/$defs/None" },
            },
        });
        schema.as_object().cloned().unwrap()
    }

    #[test]
    fn values_are_parsed_by_schema_type() {
        for (name, text, meant) in [
            ("title", "12", json!("12")),
            ("title", "true", json!("true")),
            ("title", "[1]", json!("[1]")),
            ("title", "\"quoted\"", json!("quoted")),
            ("title", "two words", json!("two words")),
            ("count", "12", json!(12)),
            ("count", "twelve", json!("twelve")),
            ("share", "0.5", json!(0.5)),
            ("done", "true", json!(true)),
            ("tags", "[1, 2]", json!([1, 2])),
            ("id", "12", json!(12)),
            ("id", "true", json!("true")),
            ("maybe", "null", json!(null)),
            ("maybe", "7", json!("7")),
            ("priority", "high", json!("high")),
            ("level", "1", json!("1")),
            ("grade", "1", json!(1)),
            ("any", "12", json!(12)),
            ("lost", "12", json!(12)),
            ("unknown", "12", json!(12)),
        ] {
            assert_eq!(read(&schema(), name, text), meant, "{name}={text}");
        }
    }

    #[test]
    fn argument_type_is_described_briefly() {
        let schema = schema();
        for (name, told) in [
            ("title", "string"),
            ("id", "string or integer"),
            ("maybe", "string or null"),
            ("priority", "one of: low, normal, high"),
            ("grade", "one of: 1, 2"),
            ("any", ""),
        ] {
            assert_eq!(kind(&schema, &schema["properties"][name]), told, "{name}");
        }
        let many = json!({ "enum": (0..15).collect::<Vec<_>>() });
        assert!(kind(&schema, &many).ends_with("10, 11 and 3 more"));
    }
}
