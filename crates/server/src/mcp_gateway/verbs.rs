//! The tools on offer: Steward's own verbs, and registered tools under their own names.

use super::apps::view_of;
use crate::mcp::Offered;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use steward_domain::Idempotency;
use steward_tools::Registered;

/// A registered tool as it is listed to a client.
pub(super) fn offered(tool: &Registered) -> Offered {
    let definition = &tool.definition;
    let read_only = definition.idempotency == Idempotency::ReadOnly;
    let returns = &definition.return_schema;
    Offered {
        name: definition.tool_name.to_string(),
        title: None,
        description: definition.description.to_string(),
        input_schema: Arc::new(definition.parameter_schema.clone()),
        output_schema: (!returns.is_empty()).then(|| Arc::new(returns.clone())),
        read_only,
        destructive: !read_only,
        idempotent: definition.idempotency != Idempotency::None,
        open_world: definition.server.is_some(),
        view: None,
    }
}

/// The verbs of Steward.
pub(super) fn verbs() -> Vec<Offered> {
    let with_view = |tool: Offered| Offered { view: view_of(&tool.name), ..tool };
    plain_verbs().into_iter().map(with_view).collect()
}

fn plain_verbs() -> Vec<Offered> {
    let schema = |properties: Json, required: &[&str]| {
        let schema = json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
        Arc::new(schema.as_object().cloned().unwrap_or_default())
    };
    let text = |about: &str| json!({ "type": "string", "description": about });
    let data = json!({ "type": "array", "items": { "type": "string" }, "description": "Files, folders, \
        patterns or database addresses." });
    let task = text("The id of a task.");
    let decide = Offered {
        read_only: false,
        destructive: true,
        idempotent: false,
        ..Offered::new(
            "approvals_decide",
            "Approves or rejects a call that waits. To approve, the person at the client is asked.",
            schema(
                json!({ "task": task, "digest": text("The digest that approvals_list shows for \
                    it."), "decision": { "type": "string", "enum": ["approve", "reject"] }, "why": text("For \
                    the record.") }),
                &["task", "digest", "decision"],
            ),
        )
    };
    let call = Offered {
        read_only: false,
        destructive: true,
        idempotent: false,
        open_world: true,
        ..Offered::new(
            "tools_call",
            "Calls a registered tool by its name. Arguments are checked against its schema, policy decides, \
                and some calls wait for a person.",
            schema(
                json!({ "tool": text("Its name, such as crm.find."), "arguments": { "type": "object", "description": "What it takes." } }),
                &["tool"],
            ),
        )
    };
    vec![
        Offered::new(
            "ask",
            "Answers a question in plain language about files and databases: text, findings, tables, charts, \
                sources and confidence.",
            schema(
                json!({ "question": text("In plain language, or one SELECT statement."), "data": data, "conversation": text("Goes on with this conversation.") }),
                &["question"],
            ),
        ),
        Offered::new(
            "analyse",
            "Looks a table over: types, empty cells, distinct values, quantiles, outliers, keys, joins and \
                quality.",
            schema(
                json!({ "data": data, "table": text("The table; a file's table is called like the file.") }),
                &["data", "table"],
            ),
        ),
        Offered::new(
            "tools_search",
            "Finds the registered tools that a request in plain words may mean, with their schemas and the \
                arguments that the request gives.",
            schema(
                json!({ "request": text("What is wanted."), "limit": { "type": "integer", "minimum": 1, "maximum": 20 } }),
                &["request"],
            ),
        ),
        call,
        Offered {
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: true,
            ..Offered::new(
                "run_workflow",
                "Runs a workflow or an agent of this home until it ends or waits for a person.",
                schema(
                    json!({ "name": text("The workflow or agent."), "input": { "description": "What it is \
                        given." } }),
                    &["name"],
                ),
            )
        },
        Offered::new(
            "task_status",
            "Says how a task is and which artifacts it made.",
            schema(json!({ "task": task }), &["task"]),
        ),
        Offered::new(
            "approvals_list",
            "Lists the calls that wait for a person, with exactly what they would do.",
            schema(json!({}), &[]),
        ),
        decide,
    ]
}
