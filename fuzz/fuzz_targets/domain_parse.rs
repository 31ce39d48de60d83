//! Strict parsing never panics, and what it accepts it accepts again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steward_domain::{AgentExecution, Check, Conversation, Plan, Task, ToolDefinition, Workflow, parse};

fn again<T: Check + serde::de::DeserializeOwned + serde::Serialize>(text: &str) {
    if let Ok(value) = parse::<T>(text) {
        let written = serde_json::to_string(&*value).expect("a valid value can be written");
        parse::<T>(&written).expect("what was written can be read");
    }
}

fuzz_target!(|text: &str| {
    again::<Task>(text);
    again::<Plan>(text);
    again::<Workflow>(text);
    again::<Conversation>(text);
    again::<AgentExecution>(text);
    again::<ToolDefinition>(text);
});
