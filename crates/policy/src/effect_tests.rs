//! Many tools and arguments, one table of effects.

#![allow(clippy::needless_pass_by_value, reason = "rows read better without references")]

use super::*;
use serde_json::{Value, json};

fn tool(name: &str, changes: Value) -> ToolDefinition {
    let mut definition = json!({
        "id": "018f0000-0000-7000-8000-000000000001", "tool_name": name, "tool_version": "1.0.0",
        "application_domain": "generic", "origin": "mcp", "server": "s", "description": "Does something.",
        "parameter_schema": { "type": "object", "properties": { "id": { "type": "string" } } },
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    });
    definition.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    serde_json::from_value(definition).unwrap()
}

fn object(value: Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

fn statement(name: &str, parameter: &str) -> ToolDefinition {
    let schema = json!({ "type": "object", "properties": { parameter: { "type": "string" } } });
    tool(name, json!({ "parameter_schema": schema }))
}

#[test]
fn definitions_come_before_hints_and_hints_before_names() {
    for (name, changes, expected) in [
        ("todo.get_task", json!({ "idempotency": "read_only" }), Effect::Read),
        // The declaration takes precedence over the name, in both directions.
        ("todo.delete_preview", json!({ "idempotency": "read_only" }), Effect::Read),
        ("todo.tidy", json!({ "metadata": { "destructive": true } }), Effect::Destroy),
        ("todo.remove_label", json!({ "metadata": { "destructive": false } }), Effect::Change),
        (
            "http.fetch",
            json!({ "idempotency": "read_only", "metadata": { "effect": "change" } }),
            Effect::Change,
        ),
        ("todo.add_task", json!({}), Effect::Change),
        ("todo.list_tasks", json!({}), Effect::Read),
        ("mail.getInbox", json!({}), Effect::Read),
        ("todo.get_and_delete", json!({}), Effect::Destroy),
        ("hotel.list_empty_rooms", json!({}), Effect::Read),
        ("hotel.empty_room", json!({}), Effect::Destroy),
        ("todo.targeted_mail", json!({}), Effect::Change),
        ("todo.update_task", json!({ "idempotency": "keyed" }), Effect::Change),
        ("todo.delete_task", json!({}), Effect::Destroy),
        ("todo.delete_task", json!({ "idempotency": "keyed" }), Effect::Destroy),
        ("crm.deleteContact", json!({}), Effect::Destroy),
        ("crm.bulk-remove", json!({}), Effect::Destroy),
        ("db.drop_table", json!({}), Effect::Destroy),
        ("calendar.cancel_event", json!({}), Effect::Destroy),
        // Substrings of other words do not count.
        ("shop.backdrop", json!({}), Effect::Change),
        ("mail.send", json!({}), Effect::Change),
    ] {
        let definition = tool(name, changes.clone());
        assert_eq!(effect_of(&definition, &object(json!({ "id": "7" }))), expected, "{name} {changes}");
        assert_eq!(worst_effect_of(&definition), expected, "{name} {changes}");
    }
}

#[test]
fn a_text_that_is_carried_out_does_what_it_says() {
    let write = statement("sqlite.write_query", "query");
    assert_eq!(worst_effect_of(&write), Effect::Destroy);
    for (text, expected) in [
        ("INSERT INTO customers (name) VALUES ('Umbrella')", Effect::Change),
        ("CREATE TABLE t (a INT)", Effect::Change),
        ("SELECT 1", Effect::Change),
        ("DELETE FROM customers", Effect::Destroy),
        ("delete from customers where id = 1", Effect::Destroy),
        ("UPDATE customers SET name = ''", Effect::Destroy),
        ("DROP TABLE customers", Effect::Destroy),
        ("INSERT INTO t VALUES (1); DELETE FROM customers", Effect::Destroy),
        ("INSERT OR REPLACE INTO t VALUES (1)", Effect::Destroy),
        ("REPLACE INTO t VALUES (1)", Effect::Destroy),
        ("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2", Effect::Destroy),
        ("CREATE OR REPLACE TABLE t (a INT)", Effect::Destroy),
        ("WITH gone AS (DELETE FROM customers RETURNING id) SELECT * FROM gone", Effect::Destroy),
        ("PRAGMA writable_schema = 1", Effect::Destroy),
        ("/* SELECT 1 */ DELETE FROM customers", Effect::Destroy),
        ("rm -rf /", Effect::Destroy),
        ("", Effect::Destroy),
    ] {
        assert_eq!(effect_of(&write, &object(json!({ "query": text }))), expected, "{text}");
    }
    assert_eq!(effect_of(&write, &object(json!({ "query": 7 }))), Effect::Destroy);
    assert_eq!(
        effect_of(&statement("box.run", "command"), &object(json!({ "command": "ls" }))),
        Effect::Destroy
    );
    // A text can destroy although the server declares its tool harmless.
    let harmless = tool(
        "sqlite.write_query",
        json!({ "metadata": { "destructive": false },
        "parameter_schema": { "type": "object", "properties": { "query": { "type": "string" } } } }),
    );
    assert_eq!(effect_of(&harmless, &object(json!({ "query": "DELETE FROM t" }))), Effect::Destroy);
    // `code` is a value, unless the tool runs it.
    let coupon = statement("shop.apply_coupon", "code");
    assert_eq!(effect_of(&coupon, &object(json!({ "code": "X" }))), Effect::Change);
    let python = statement("box.run_python", "code");
    assert_eq!(effect_of(&python, &object(json!({ "code": "import os" }))), Effect::Destroy);
    let plain = statement("web.search", "query");
    assert_eq!(effect_of(&plain, &object(json!({ "query": "delete from" }))), Effect::Read);
    // A search also takes a `query`; it is a read because its server declares it.
    let schema = json!({ "type": "object", "properties": { "query": { "type": "string" } } });
    let search = tool("web.search", json!({ "idempotency": "read_only", "parameter_schema": schema }));
    assert_eq!(effect_of(&search, &object(json!({ "query": "delete from" }))), Effect::Read);
}
