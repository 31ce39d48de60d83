//! Validates arguments and results against the JSON Schemas of a tool, compiled once per
//! definition.
//!
//! Patterns use a regex engine without backtracking, and external references are not resolved. A
//! foreign schema can neither stall the process nor trigger a request.

use crate::error::{Error, Result};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use steward_domain::{JsonObject, ToolDefinition, ToolId, Valid};

/// Compiled schemas by definition.
#[derive(Default)]
pub(crate) struct Schemas {
    known: RwLock<HashMap<ToolId, Arc<Compiled>>>,
}

struct Compiled {
    definition: Arc<Valid<ToolDefinition>>,
    arguments: Option<Validator>,
    result: Option<Validator>,
}

/// The maximum number of reported problems.
const TOLD: usize = 5;

impl Schemas {
    /// Validates arguments.
    pub(crate) fn arguments(&self, of: &Arc<Valid<ToolDefinition>>, arguments: &JsonObject) -> Result<()> {
        let compiled = self.compiled(of)?;
        let Some(validator) = &compiled.arguments else { return Ok(()) };
        let value = Json::Object(arguments.clone());
        if validator.is_valid(&value) {
            return Ok(());
        }
        Err(Error::Arguments { tool: of.tool_name.to_string(), problems: problems(validator, &value) })
    }

    /// Validates a result.
    pub(crate) fn result(&self, of: &Arc<Valid<ToolDefinition>>, result: Option<&Json>) -> Result<()> {
        let compiled = self.compiled(of)?;
        let Some(validator) = &compiled.result else { return Ok(()) };
        let bad = |problem: String| Error::BadResult { tool: of.tool_name.to_string(), problem };
        let result = result.ok_or_else(|| bad("it promises structured content and sent none".into()))?;
        if validator.is_valid(result) {
            return Ok(());
        }
        Err(bad(problems(validator, result).join("; ")))
    }

    fn compiled(&self, definition: &Arc<Valid<ToolDefinition>>) -> Result<Arc<Compiled>> {
        {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = known.get(&definition.id)
                && (Arc::ptr_eq(&found.definition, definition) || same(&found.definition, definition))
            {
                return Ok(Arc::clone(found));
            }
        }
        let compile = |schema: &JsonObject| {
            if schema.is_empty() {
                return Ok(None);
            }
            let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
            let built = options.build(&Json::Object(schema.clone()));
            built.map(Some).map_err(|error| Error::BadResult {
                tool: definition.tool_name.to_string(),
                problem: format!("its schema cannot be used: {error}"),
            })
        };
        let compiled = Arc::new(Compiled {
            arguments: compile(&definition.parameter_schema)?,
            result: compile(&definition.return_schema)?,
            definition: Arc::clone(definition),
        });
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(definition.id, Arc::clone(&compiled));
        Ok(compiled)
    }
}

fn same(one: &ToolDefinition, other: &ToolDefinition) -> bool {
    one.parameter_schema == other.parameter_schema && one.return_schema == other.return_schema
}

/// The validation errors of a value against a client's schema. `Err` if the schema itself is
/// invalid.
pub fn misfits(schema: &Json, value: &Json) -> std::result::Result<Vec<String>, String> {
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    let validator = options.build(schema).map_err(|error| error.to_string())?;
    Ok(problems(&validator, value))
}

/// The validation errors with their paths: `limit: 500 is greater than the maximum of 100`.
fn problems(validator: &Validator, value: &Json) -> Vec<String> {
    let mut told: Vec<String> = validator
        .iter_errors(value)
        .take(TOLD)
        .map(|error| {
            let place = error.instance_path().to_string();
            let place = place.trim_start_matches('/').replace('/', ".");
            let mut text = error.to_string();
            if text.chars().count() > 200 {
                text = text.chars().take(199).chain(['…']).collect();
            }
            if place.is_empty() { text } else { format!("{place}: {text}") }
        })
        .collect();
    told.dedup();
    told
}
