//! Invalid values and their error messages.

use crate::examples::{ID, LATER, T, example};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use steward_domain::*;

/// Parses by the entity's name.
fn outcome(entity: &str, text: &str) -> Result<(), Invalid> {
    fn of<T: Check + DeserializeOwned>(text: &str) -> Result<(), Invalid> {
        parse::<T>(text).map(drop)
    }
    macro_rules! table {
        ($($name:ident),*) => { match entity { $(stringify!($name) => of::<$name>(text),)* other => panic!("{other}") } };
    }
    table!(
        Conversation,
        Message,
        ConversationEntity,
        AgentExecution,
        ToolDefinition,
        ToolInvocation,
        ToolCall,
        Observation,
        Domain,
        AgentResponse,
        DomainRoutingDecision,
        ToolConfiguration,
        ToolCategory,
        ToolExecutionContext,
        UserIntent,
        Task,
        Agent,
        McpServer,
        Workflow,
        Checkpoint,
        HumanFeedback,
        SubAgentSession,
        AnalysisRequest,
        Plan,
        Recipe,
        Artifact,
        RetentionPolicy
    )
}

const ENTITIES: &[&str] = &[
    "Conversation",
    "Message",
    "ConversationEntity",
    "AgentExecution",
    "ToolDefinition",
    "ToolInvocation",
    "ToolCall",
    "Observation",
    "Domain",
    "AgentResponse",
    "DomainRoutingDecision",
    "ToolConfiguration",
    "ToolCategory",
    "ToolExecutionContext",
    "UserIntent",
    "Task",
    "Agent",
    "McpServer",
    "Workflow",
    "Checkpoint",
    "HumanFeedback",
    "SubAgentSession",
    "AnalysisRequest",
    "Plan",
    "Recipe",
    "Artifact",
    "RetentionPolicy",
];

#[test]
fn every_example_is_valid_and_unknown_fields_are_not() {
    for entity in ENTITIES {
        let mut value = example(entity);
        outcome(entity, &value.to_string()).unwrap_or_else(|invalid| panic!("{invalid}"));
        value["surprise"] = json!(1);
        let refused = outcome(entity, &value.to_string()).unwrap_err().to_string();
        assert!(refused.contains("surprise"), "{entity}: {refused}");
        assert!(
            outcome(entity, "").is_err()
                && outcome(entity, "[]").is_err()
                && outcome(entity, "{} {}").is_err()
        );
    }
}

/// Entity, path, new value, and words of the error. `null` removes the field.
#[test]
fn every_rule_names_field_rule_and_value() {
    let long = |n: usize| json!("x".repeat(n));
    let rows: Vec<(&str, &str, Value, &[&str])> = vec![
        ("Conversation", "/user_id", json!(""), &["user_id", "1 to 255", "\"\""]),
        ("Conversation", "/user_id", long(256), &["1 to 255"]),
        ("Conversation", "/application_domain", json!("To Do"), &["application_domain", "^[a-z]", "To Do"]),
        ("Conversation", "/session_id", json!("42"), &["UUID"]),
        (
            "Conversation",
            "/last_updated",
            json!("2020-01-01T00:00:00Z"),
            &["updated_at", "must not be before created_at", "2020-01-01"],
        ),
        ("Conversation", "/created_at", json!("yesterday"), &["ISO 8601", "yesterday"]),
        ("Message", "/role", json!("robot"), &["role", "robot"]),
        ("Message", "/content", json!(""), &["content", "1 to 1000000"]),
        ("Message", "/content", json!("a\u{0}b"), &["U+0000"]),
        ("Message", "/sequence_number", json!(0), &["sequence_number", "between 1 and"]),
        ("Message", "/role", json!("assistant"), &["agent_type", "is required when role is agent"]),
        (
            "Message",
            "/tool_calls",
            json!([example("ToolCall")]),
            &["tool_calls", "only present when role is agent"],
        ),
        ("ConversationEntity", "/mention_count", json!(0), &["mention_count", "at least 1"]),
        ("ConversationEntity", "/entity_id", json!(" "), &["entity_id"]),
        (
            "ConversationEntity",
            "/last_mentioned_at",
            json!("2020-01-01T00:00:00Z"),
            &["last_mentioned_at", "first_mentioned_at"],
        ),
        ("AgentExecution", "/duration_ms", json!(151), &["duration_ms", "150 ms between", "151"]),
        ("AgentExecution", "/execution_end", json!("2020-01-01T00:00:00Z"), &["execution_end"]),
        ("AgentExecution", "/status", json!("partial"), &["error_details", "required"]),
        ("AgentExecution", "/agent_type", json!("poet"), &["agent_type", "poet"]),
        ("AgentExecution", "/reasoning_trace/steps/0/step", json!(2), &["numbered 1, 2, 3"]),
        ("AgentExecution", "/reasoning_trace/steps/0/confidence", json!(1.01), &["between 0", "1.01"]),
        ("ToolDefinition", "/tool_version", json!("1.0"), &["tool_version"]),
        ("ToolDefinition", "/tool_version", json!("v1.0.0"), &["SemanticVersion must match"]),
        ("ToolDefinition", "/tool_name", json!("list todos"), &["tool_name"]),
        ("ToolDefinition", "/description", json!("Too short to find."), &["description", "50 to 500"]),
        ("ToolDefinition", "/origin", json!("mcp"), &["server"]),
        ("ToolDefinition", "/parameter_schema", json!([]), &["parameter_schema"]),
        ("ToolDefinition", "/parameter_schema/type", json!(1), &["JSON Schema"]),
        ("ToolDefinition", "/description_embedding", json!([]), &["description_embedding"]),
        ("ToolDefinition", "/timeout_seconds", json!(301), &["between 1 and 300", "301"]),
        ("ToolDefinition", "/fallback_tools", json!(["list_todos"]), &["fallback_tools", "itself"]),
        ("ToolInvocation", "/status", json!("timeout"), &["error_details", "output_result"]),
        ("ToolInvocation", "/retry_count", json!(-1), &["retry_count"]),
        ("ToolInvocation", "/duration_ms", json!(1), &["duration_ms"]),
        ("ToolCall", "/attempt_number", json!(4), &["between 1 and 3", "4"]),
        ("ToolCall", "/domain", json!("Customer"), &["domain"]),
        ("Observation", "/data", Value::Null, &["data", "success"]),
        ("Observation", "/status", json!("error"), &["error_message", "error_category"]),
        ("Observation", "/execution_time_seconds", json!(0.0), &["above 0"]),
        ("Domain", "/name", json!("Customer"), &["DomainName must match"]),
        ("Domain", "/mcp_tools", json!([]), &["at least one"]),
        ("Domain", "/related_domains", json!(["customer_behavior"]), &["itself"]),
        ("AgentResponse", "/answer", json!(" "), &["answer"]),
        ("AgentResponse", "/sources", json!([]), &["sources", "rests on data"]),
        ("AgentResponse", "/suggestions", json!(["a", "b", "c", "d"]), &["at most 3", "4"]),
        ("AgentResponse", "/total_execution_time_ms", json!(60_000), &["60000"]),
        ("DomainRoutingDecision", "/identified_domains", json!([]), &["identified_domains"]),
        ("DomainRoutingDecision", "/confidence", json!(-0.1), &["-0.1"]),
        ("ToolConfiguration", "/rate_limits/per_minute", json!(0), &["rate_limits.per_minute", "positive"]),
        ("ToolConfiguration", "/rate_limits/per_blink", json!(1), &["per_second"]),
        ("ToolConfiguration", "/environment_overrides/moon", json!({}), &["moon"]),
        (
            "ToolCategory",
            "/tools/slack.history/tool_name",
            json!("other"),
            &["tools.slack.history.tool_name"],
        ),
        ("ToolExecutionContext", "/user_request", long(2001), &["1 to 2000"]),
        ("ToolExecutionContext", "/channel_id", json!("general"), &["Slack channel"]),
        ("ToolExecutionContext", "/thread_ts", json!("now"), &["Slack timestamp"]),
        ("ToolExecutionContext", "/environment", json!("moon"), &["moon"]),
        ("UserIntent", "/intent_type", json!("dance"), &["dance"]),
        ("Task", "/description", json!(""), &["description"]),
        ("Task", "/assigned_agent", json!("The Analyst"), &["assigned_agent"]),
        ("Task", "/status", json!("running"), &["started_at", "required"]),
        ("Task", "/status", json!("completed"), &["completed_at"]),
        ("Task", "/error", json!("x"), &["error", "exactly when the task has failed"]),
        ("Task", "/parent_task_id", json!(ID), &["parent_task_id", "another task"]),
        ("Agent", "/name", json!("Writer"), &["^[a-z][a-z0-9_]*$", "Writer"]),
        ("Agent", "/tools", json!(["a", "a"]), &["tools", "unique"]),
        ("Agent", "/temperature", json!(2.1), &["between 0", "2.1"]),
        ("Agent", "/max_iterations", json!(0), &["max_iterations"]),
        (
            "Agent",
            "/llm_config/api_key",
            json!("sk-live-123"),
            &["NAME of an environment variable", "(hidden)"],
        ),
        ("McpServer", "/transport", json!("http"), &["config.url"]),
        ("McpServer", "/config/command", json!(""), &["config.command"]),
        ("McpServer", "/config/url", json!("http://x"), &["not used with stdio"]),
        ("Workflow", "/entry_point", json!("nowhere"), &["entry_point", "nowhere"]),
        ("Workflow", "/edges/0/to", json!("nowhere"), &["edges[0].to", "__end__"]),
        ("Workflow", "/edges/1/to", json!("draft"), &["cycle", "draft -> ok -> draft"]),
        ("Workflow", "/nodes/draft/agent", Value::Null, &["nodes.draft", "names an agent"]),
        ("Workflow", "/nodes/lost", json!({ "type": "human" }), &["nodes.lost", "reachable"]),
        ("Workflow", "/checkpoints", json!(["x"]), &["checkpoints"]),
        ("Checkpoint", "/resumed_at", json!(LATER), &["awaiting_human"]),
        ("Checkpoint", "/sequence", json!(-1), &["sequence"]),
        ("HumanFeedback", "/action", json!("approve"), &["state_updates", "only allowed with modify"]),
        ("SubAgentSession", "/status", json!("completed"), &["summary"]),
        ("AnalysisRequest", "/intent", json!("  "), &["intent"]),
        ("AnalysisRequest", "/intent", long(2001), &["1 to 2000"]),
        ("AnalysisRequest", "/data_sources", json!([]), &["data_sources", "at least 1"]),
        ("AnalysisRequest", "/data_sources/0/type", json!("sql"), &["connection_string"]),
        (
            "AnalysisRequest",
            "/constraints/row_limit",
            json!(200_001),
            &["constraints.row_limit", "between 1 and 200000", "200001"],
        ),
        ("AnalysisRequest", "/constraints/timeout_seconds", json!(0), &["between 1 and 180"]),
        (
            "Plan",
            "/subtasks/0/dependencies",
            json!(["plot"]),
            &["circle", "load_sales -> plot -> load_sales"],
        ),
        ("Plan", "/subtasks/1/dependencies", json!(["x"]), &["subtasks.plot.dependencies"]),
        ("Plan", "/subtasks/1/task_id", json!("load_sales"), &["unique"]),
        ("Plan", "/total_estimated_seconds", json!(5.0), &["the sum of the costs, 4"]),
        ("Plan", "/subtasks", json!([]), &["at least 1"]),
        ("Recipe", "/schema_fingerprint", json!("a3f5b8c..."), &["schema_fingerprint", "64"]),
        ("Recipe", "/intent_template", json!("Analyze sales"), &["intent_template"]),
        ("Recipe", "/success_count", json!(0), &["at least 1"]),
        ("Artifact", "/content_ref", json!("../../etc/passwd"), &["content_ref", ".."]),
        ("Artifact", "/content_hash", json!("xyz"), &["content_hash"]),
        ("RetentionPolicy", "/by_status/sleeping", json!(1), &["by_status.sleeping"]),
    ];
    for (entity, path, value, words) in rows {
        let mut changed = example(entity);
        let (parent, field) = path.rsplit_once('/').unwrap();
        let place = changed.pointer_mut(parent).unwrap();
        match (place, value) {
            (Value::Object(members), Value::Null) => drop(members.remove(field)),
            (Value::Object(members), value) => drop(members.insert(field.to_owned(), value)),
            (Value::Array(items), value) => items[field.parse::<usize>().unwrap()] = value,
            _ => panic!("{entity} {path}"),
        }
        let refused = outcome(entity, &changed.to_string())
            .err()
            .unwrap_or_else(|| panic!("{entity} {path} must be refused"))
            .to_string();
        for word in words {
            assert!(refused.contains(word), "{entity} {path}: {word:?} is not in {refused:?}");
        }
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let mut task = example("Task");
    task["status"] = json!("failed");
    let invalid = parse::<Task>(&task.to_string()).unwrap_err();
    assert_eq!(invalid.problems.len(), 3, "{invalid}");
}

#[test]
fn the_seeds_other_names_are_read() {
    let call = parse::<ToolCall>(&example("ToolCall").to_string()).unwrap();
    assert_eq!(call.call_id.to_string(), ID);
    let role: Role = serde_json::from_value(json!("assistant")).unwrap();
    assert_eq!((role, serde_json::to_value(role).unwrap()), (Role::Agent, json!("agent")));
    assert_eq!(serde_json::from_value::<Outcome>(json!("failure")).unwrap(), Outcome::Error);
}

#[test]
fn times_keep_microseconds() {
    let time: Timestamp = T.parse().unwrap();
    assert_eq!(time.to_string(), "2026-01-16T10:30:00.000000Z");
    assert_eq!("2026-01-16T11:30:00.0000019+01:00".parse::<Timestamp>().unwrap().micros(), time.micros() + 1);
    assert_eq!(Timestamp::from_micros(i64::MAX).to_string(), "9999-12-31T23:59:59.999999Z");
}
