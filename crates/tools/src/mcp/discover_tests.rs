//! Tests of discover.

use super::*;
use serde_json::json;

fn server() -> Valid<McpServer> {
    serde_json::from_value(json!({
        "name": "files", "transport": "stdio", "config": { "command": "x" }, "timeout_seconds": 7
    }))
    .unwrap()
}

fn define(tool: serde_json::Value) -> Result<Valid<ToolDefinition>, String> {
    let tool: Tool = serde_json::from_value(tool).unwrap();
    definition(&server(), &first_version(), &tool, Timestamp::from_micros(0))
}

#[test]
fn tool_is_converted_to_a_definition() {
    let read = define(json!({
        "name": "read", "description": "Reads\u{7} a\u{200b} file.", "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true }
    }))
    .unwrap();
    assert_eq!(read.tool_name.as_str(), "files.read");
    assert_eq!(read.description.as_str(), "Reads a file.");
    assert_eq!(read.idempotency, Idempotency::ReadOnly);
    assert_eq!(read.timeout_seconds.get(), 7);
    assert_eq!(read.approval, steward_domain::ApprovalMode::WhenUntrusted);
    let again = define(json!({ "name": "read", "inputSchema": {} })).unwrap();
    assert_eq!(again.id, read.id, "the id stands on name and version alone");
    assert_eq!(again.description.as_str(), "read of files");
}

#[test]
fn tool_hints_are_parsed_conservatively() {
    let hint =
        |hints| define(json!({ "name": "t", "inputSchema": {}, "annotations": hints })).unwrap().idempotency;
    assert_eq!(hint(json!({ "idempotentHint": true })), Idempotency::Keyed);
    assert_eq!(hint(json!({ "destructiveHint": false })), Idempotency::None);
    assert_eq!(hint(json!({})), Idempotency::None);
}

#[test]
fn invalid_tool_names_are_rejected() {
    assert!(define(json!({ "name": "a b", "inputSchema": {} })).is_err());
    assert!(define(json!({ "name": "x".repeat(300), "inputSchema": {} })).is_err());
}
