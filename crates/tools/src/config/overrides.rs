//! Environment overrides: settings are replaced, parameters and rate limits are merged.

use super::node::{Kind, Node};
use super::problem::meant;
use super::typed::ProblemList;
use serde_json::Value as Json;
use steward_domain::{Environment, JsonObject, ToolConfiguration};

/// Settings that an environment can override. Any other key must be the name of a parameter.
const SETTINGS: [&str; 14] = [
    "enabled",
    "version",
    "parameters",
    "permissions",
    "rate_limits",
    "timeout_seconds",
    "approval",
    "idempotency",
    "retries",
    "fallback_tools",
    "requires_validation",
    "result_bytes",
    "examples",
    "poll",
];

/// The settings of a tool with the overrides of an environment. The overrides were validated on
/// reading.
#[must_use]
pub fn in_environment(settings: &ToolConfiguration, environment: Environment) -> ToolConfiguration {
    let Some(changes) =
        settings.environment_overrides.get(&environment).filter(|changes| !changes.is_empty())
    else {
        return settings.clone();
    };
    let Ok(Json::Object(mut whole)) = serde_json::to_value(settings) else { return settings.clone() };
    for (key, value) in changes {
        if !SETTINGS.contains(&key.as_str()) {
            extend(&mut whole, "parameters", [(key.clone(), value.clone())]);
        } else if let (true, Json::Object(changed)) =
            (["parameters", "rate_limits"].contains(&key.as_str()), value)
        {
            extend(&mut whole, key, changed.clone());
        } else {
            whole.insert(key.clone(), value.clone());
        }
    }
    serde_json::from_value(Json::Object(whole)).unwrap_or_else(|_| settings.clone())
}

/// Merges into the object under a key, which is created if absent.
fn extend(whole: &mut JsonObject, key: &str, changes: impl IntoIterator<Item = (String, Json)>) {
    if let Json::Object(object) = whole.entry(key).or_insert_with(|| JsonObject::new().into()) {
        object.extend(changes);
    }
}

/// Validates the overrides of a tool: each is a valid setting, or a parameter of the tool or its
/// category.
pub(super) fn check(gathered: &mut ProblemList, tool: &str, node: &Node, shared: Option<&Node>) {
    let Some(environments) = node.get("environment_overrides").and_then(|entry| entry.value.entries()) else {
        return;
    };
    let own = node.get("parameters").and_then(|entry| entry.value.entries()).unwrap_or_default();
    let shared = shared.and_then(Node::entries).unwrap_or_default();
    let parameters: Vec<&str> = own.iter().chain(shared).map(|entry| entry.key.as_str()).collect();
    for environment in environments {
        let whose = format!("tool `{tool}` in {}", environment.key);
        let mut settings = environment.value.clone();
        let Kind::Map(entries) = &mut settings.kind else { continue };
        entries.retain(|entry| {
            let key = entry.key.as_str();
            if !SETTINGS.contains(&key) && !parameters.contains(&key) {
                let near = meant(key, SETTINGS.into_iter().chain(parameters.iter().copied()));
                let advice = "add it to `parameters` or `global_config` first";
                let problem =
                    format!("{whose}: `{key}` is neither a setting nor a parameter of the tool{near}");
                gathered
                    .add(entry.line, if near.is_empty() { format!("{problem}: {advice}") } else { problem });
            }
            SETTINGS.contains(&key)
        });
        settings.put("tool_name", tool);
        gathered.checked::<ToolConfiguration>(&settings, &whose);
    }
}
