//! JSON Schemas of inputs, results and signals, compiled once for each program.
//!
//! Patterns run on an engine without backtracking. References cannot leave the schema.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use steward_domain::JsonObject;

/// The maximum number of problems in one message.
const LISTED: usize = 5;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Schema {
    validator: Validator,
    source: JsonObject,
}

impl Schema {
    /// Compiles a schema, or reports what is wrong.
    pub(crate) fn compile(source: &JsonObject) -> Result<Self, String> {
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        let built = options.build(&Value::Object(source.clone()));
        let validator = built.map_err(|error| format!("must be a JSON Schema: {error}"))?;
        Ok(Self { validator, source: source.clone() })
    }

    /// Validates a value; the error lists the problems with their places.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let problems: Vec<String> = self
            .validator
            .iter_errors(value)
            .take(LISTED)
            .map(|error| {
                let place = error.instance_path().to_string();
                if place.is_empty() { error.to_string() } else { format!("{place}: {error}") }
            })
            .collect();
        Err(problems.join("; "))
    }

    /// The value with the defaults of missing properties. At the top level, null becomes an object
    /// where the schema has properties.
    pub(crate) fn with_defaults(&self, value: &Value) -> Value {
        fill(&self.source, value, 0)
    }
}

fn fill(schema: &JsonObject, value: &Value, depth: usize) -> Value {
    let Some(Value::Object(properties)) = schema.get("properties").filter(|_| depth < 20) else {
        return value.clone();
    };
    let mut filled = match value {
        Value::Object(object) => object.clone(),
        Value::Null if depth == 0 => JsonObject::new(),
        other => return other.clone(),
    };
    for (name, property) in properties {
        let Value::Object(property) = property else { continue };
        match filled.get(name) {
            Some(part) => {
                let part = fill(property, part, depth + 1);
                filled.insert(name.clone(), part);
            }
            None => {
                if let Some(default) = property.get("default") {
                    filled.insert(name.clone(), default.clone());
                }
            }
        }
    }
    Value::Object(filled)
}
