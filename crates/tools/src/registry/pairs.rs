//! Polling pairs: a tool that starts work and a tool that returns the result are exposed as one
//! tool.

use crate::tool::{Poll, Registered};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use steward_domain::ToolName;

/// The name prefixes of both tools. The rest of the name is the same.
const PAIRS: [(&str, &str); 3] =
    [("query_space_", "poll_response_"), ("start_", "poll_"), ("submit_", "poll_")];

/// The pairs among the tools of one server: the first tool's name and how its result is polled.
pub(super) fn find(tools: &[Registered]) -> BTreeMap<ToolName, Poll> {
    let named: BTreeMap<&str, &Registered> = tools.iter().map(|tool| (bare(tool), tool)).collect();
    let mut pairs = BTreeMap::new();
    for (name, tool) in &named {
        let second = PAIRS.iter().find_map(|(start, poll)| {
            let rest = name.strip_prefix(start).filter(|rest| !rest.is_empty())?;
            named.get(format!("{poll}{rest}").as_str())
        });
        if let Some(second) = second {
            let poll = Poll::of(second.definition.tool_name.clone(), carried(second));
            pairs.insert(tool.definition.tool_name.clone(), poll);
        }
    }
    pairs
}

/// The name without the server.
pub(super) fn bare(tool: &Registered) -> &str {
    let name = tool.definition.tool_name.as_str();
    let of_server = tool
        .definition
        .server
        .as_ref()
        .and_then(|server| name.strip_prefix(server.as_str()).and_then(|rest| rest.strip_prefix('.')));
    of_server.unwrap_or(name)
}

/// The arguments of the second tool: the required ones, or else all.
fn carried(second: &Registered) -> Vec<String> {
    let schema = &second.definition.parameter_schema;
    let required = schema.get("required").and_then(Json::as_array);
    let required = required.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned);
    let required: Vec<String> = required.collect();
    if !required.is_empty() {
        return required;
    }
    let taken = schema.get("properties").and_then(Json::as_object);
    taken.into_iter().flat_map(|properties| properties.keys().cloned()).collect()
}
