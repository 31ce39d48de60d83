//! A valid example of each entity.

use serde_json::{Value, json};

pub(crate) const ID: &str = "550e8400-e29b-41d4-a716-446655440000";
pub(crate) const OTHER: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
pub(crate) const T: &str = "2026-01-16T10:30:00Z";
pub(crate) const LATER: &str = "2026-01-16T10:30:00.150Z";

pub(crate) fn example(entity: &str) -> Value {
    let hash = "a3f5b8c0".repeat(8);
    match entity {
        "Conversation" => {
            json!({ "session_id": ID, "user_id": "user@example.com", "application_domain": "todo", "created_at": T, "last_updated": LATER, "metadata": { "domains_accessed": ["inventory"] } })
        }
        "Message" => {
            json!({ "id": ID, "conversation_id": OTHER, "role": "user", "content": "What products are \
                frequently abandoned in carts?", "sequence_number": 1, "timestamp": T })
        }
        "ConversationEntity" => {
            json!({ "id": ID, "conversation_id": OTHER, "entity_type": "task", "entity_id": "1", "entity_name": "Buy milk", "first_mentioned_at": T, "last_mentioned_at": LATER, "mention_count": 2 })
        }
        "AgentExecution" => {
            json!({ "id": ID, "user_id": "u", "agent_type": "orchestrator", "input_data": {}, "output_data": {}, "execution_start": T, "execution_end": LATER, "duration_ms": 150, "status": "success",
            "reasoning_trace": { "steps": [{ "step": 1, "action": "classify_intent", "input": "show my \
                tasks", "output": "list", "confidence": 0.95, "timestamp": T }] } })
        }
        "ToolDefinition" => {
            json!({ "id": ID, "tool_name": "list_todos", "tool_version": "1.0.0", "application_domain": "todo", "origin": "configured", "description": "Lists the tasks of the user, newest first, with titles and due dates.",
            "parameter_schema": { "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"] }, "return_schema": {}, "created_at": T, "updated_at": T })
        }
        "ToolInvocation" => {
            json!({ "id": ID, "user_id": "u", "tool_definition_id": OTHER, "input_parameters": {}, "output_result": [1], "invocation_start": T, "invocation_end": LATER, "duration_ms": 150, "status": "success" })
        }
        "ToolCall" => {
            json!({ "tool_id": ID, "tool_name": "query_space_01f09cdbacf01b5fa7ff7c237365502c", "domain": "customer_behavior", "input_params": { "query": "top 10?" }, "status": "in_progress", "started_at": T })
        }
        "Observation" => {
            json!({ "observation_id": ID, "call_id": OTHER, "status": "success", "data": { "rows": 3 }, "execution_time_seconds": 0.2, "timestamp": T })
        }
        "Domain" => {
            json!({ "name": "customer_behavior", "display_name": "Customer Behavior", "description": "Customer purchasing patterns", "capabilities": ["Cart abandonment \
                analysis"], "mcp_tools": ["query_space_1", "poll_response_1"], "related_domains": ["inventory"], "enabled": true })
        }
        "AgentResponse" => {
            json!({ "answer": "Product A", "sources": ["customer_behavior.genie"], "tool_calls_made": [example("ToolCall")], "suggestions": ["And demographics?"], "confidence": "high", "total_execution_time_ms": 12500 })
        }
        "DomainRoutingDecision" => {
            json!({ "user_query": "Why are customers not buying?", "identified_domains": ["inventory"], "reasoning": "stock", "confidence": 0.85 })
        }
        "ToolConfiguration" => {
            json!({ "tool_name": "slack.history", "rate_limits": { "per_minute": 60 }, "environment_overrides": { "staging": { "limit": 5 } } })
        }
        "ToolCategory" => {
            json!({ "name": "slack_tools", "permissions": ["channels:history"], "tools": { "slack.history": example("ToolConfiguration") } })
        }
        "ToolExecutionContext" => {
            json!({ "user_request": "summarize this channel", "channel_id": "C024BE91L", "user_id": "U1", "thread_ts": "1482960137.003543", "available_tools": ["slack.history"], "environment": "production" })
        }
        "UserIntent" => json!({ "intent_type": "summarize", "confidence": 0.9 }),
        "Task" => {
            json!({ "id": ID, "user_id": "u", "description": "Count", "status": "pending", "assigned_agent": "analyst", "created_at": T })
        }
        "Agent" => {
            json!({ "name": "writer", "role": "Writes", "system_prompt": "Write.", "tools": ["a", "b"], "llm_config": { "model": "local" } })
        }
        "McpServer" => {
            json!({ "name": "time", "transport": "stdio", "config": { "command": "mcp-server-time", "args": ["--utc"], "env": { "TZ": "UTC" } } })
        }
        "Workflow" => {
            json!({ "name": "review", "patterns": ["react"], "entry_point": "draft", "nodes": { "draft": { "type": "agent", "agent": "writer" }, "ok": { "type": "human" } }, "edges": [{ "from": "draft", "to": "ok" }, { "from": "ok", "to": "__end__" }], "checkpoints": ["ok"] })
        }
        "Checkpoint" => {
            json!({ "checkpoint_id": ID, "task_id": OTHER, "state": { "messages": [], "current_agent": "writer" }, "position": "ok", "sequence": 0, "created_at": T, "awaiting_human": true })
        }
        "HumanFeedback" => {
            json!({ "action": "modify", "message": "shorter", "state_updates": { "length": 1 } })
        }
        "SubAgentSession" => {
            json!({ "session_id": ID, "parent_task_id": OTHER, "agent_name": "writer", "task_description": "x", "message_history": [], "status": "running", "created_at": T })
        }
        "AnalysisRequest" => {
            json!({ "request_id": ID, "user_id": "u", "intent": "Analyze Q1 2021 Arizona sales; trends + \
                charts", "data_sources": [{ "type": "csv", "file_path": "sales.csv" }], "constraints": { "row_limit": 1000, "timeout_seconds": 30 }, "deliverables": ["tables", "charts"], "timestamp": T })
        }
        "Plan" => json!({ "plan_id": ID, "request_id": OTHER, "subtasks": [
            { "task_id": "load_sales", "description": "Load", "tool_name": "sql.run", "dependencies": [], "invariants": ["filter first"], "estimated_cost_seconds": 2.5 },
            { "task_id": "plot", "description": "Plot", "tool_name": "plot.render", "dependencies": ["load_sales"], "estimated_cost_seconds": 1.5 }], "total_estimated_seconds": 4.0, "created_at": T }),
        "Recipe" => {
            json!({ "recipe_id": ID, "user_id": "u", "schema_fingerprint": hash, "intent_template": "Analyze \
                {time_range} {location} sales", "intent_embedding": [0.1, 0.2], "plan_structure": { "subtasks": [{ "task_id": "load", "tool_name": "sql.run", "arg_template": "SELECT {x}" }] }, "tool_argument_templates": [{}], "success_count": 12, "created_at": T, "last_used_at": LATER })
        }
        "Artifact" => {
            json!({ "artifact_id": ID, "request_id": OTHER, "artifact_type": "chart", "content_ref": "artifacts/charts/x/trend.png", "content_hash": hash, "metadata": { "chart_type": "line" }, "size_bytes": 10, "created_at": T })
        }
        "RetentionPolicy" => {
            json!({ "default_days": 7, "by_task": { "critical": 30 }, "by_status": { "failed": 14 } })
        }
        other => panic!("no example of {other}"),
    }
}
