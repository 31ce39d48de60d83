//! JSON Schemas of the three files, for editors and for `docs/schemas/config/`.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value as Json, json};
use steward_domain::{Domain, Environment, McpServer, ToolCategory, ToolConfiguration};

/// The file names, without extension, and their JSON Schemas.
#[must_use]
pub fn schemas() -> [(&'static str, Json); 3] {
    [
        (
            "domains",
            listing::<Domain>("Domains", "Fields of knowledge that questions are routed to.", "domains"),
        ),
        (
            "mcp_servers",
            listing::<McpServer>("MCP servers", "The MCP servers whose tools are offered.", "servers"),
        ),
        ("tools", tools()),
    ]
}

fn listing<T: JsonSchema>(title: &str, description: &str, section: &str) -> Json {
    let mut generator = SchemaGenerator::default();
    let item = generator.subschema_for::<T>().to_value();
    let properties = json!({ section: list_or_map(&item) });
    file(title, description, &properties, generator)
}

fn tools() -> Json {
    let mut generator = SchemaGenerator::default();
    let environment = generator.subschema_for::<Environment>().to_value();
    let category = generator.subschema_for::<ToolCategory>().to_value();
    let tool = generator.subschema_for::<ToolConfiguration>().to_value();
    let properties = json!({
        "environment": environment,
        "categories": list_or_map(&category),
        "tools": { "description": "Settings of tools that are in no category.", "type": "object", "additionalProperties": tool },
    });
    file("Tools", "Categories, and the settings of single tools.", &properties, generator)
}

/// A list of items with names, or a mapping of names to items.
fn list_or_map(item: &Json) -> Json {
    json!({ "anyOf": [
        { "type": "array", "items": { "allOf": [item], "required": ["name"] } },
        { "type": "object", "additionalProperties": item },
    ] })
}

fn file(title: &str, description: &str, properties: &Json, mut generator: SchemaGenerator) -> Json {
    let mut definitions = Json::Object(generator.take_definitions(true).into_iter().collect());
    // An item in a mapping need not repeat its name.
    for (entity, field) in [
        ("Domain", "name"),
        ("McpServer", "name"),
        ("ToolCategory", "name"),
        ("ToolConfiguration", "tool_name"),
    ] {
        if let Some(Json::Array(required)) = definitions.pointer_mut(&format!("/{entity}/required")) {
            required.retain(|name| name != field);
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": description,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "$defs": definitions,
    })
}
