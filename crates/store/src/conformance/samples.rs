//! Values to fill a store with.

use crate::change::{Change, Commit, Mention, NewMessage};
use crate::query::Scope;
use serde_json::{Map, Value, json};
use steward_domain::*;
use steward_journal::Draft;
use steward_journal::random::{Random, SystemRandom};
use uuid::Uuid;

pub fn uuid() -> Uuid {
    SystemRandom.uuid_v4().unwrap()
}

/// A new, unique user.
pub fn user() -> UserId {
    UserId::new(format!("user-{}", uuid())).unwrap()
}

pub fn scope(user: &UserId) -> Scope {
    Scope::User(user.clone())
}

/// This many seconds after a fixed time.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_768_559_400_000_000 + seconds * 1_000_000)
}

pub fn object(value: Value) -> JsonObject {
    value.as_object().cloned().unwrap()
}

pub fn conversation(user: &UserId) -> Valid<Conversation> {
    let draft = Conversation {
        id: uuid().into(),
        user_id: user.clone(),
        application_domain: DomainName::new("todo").unwrap(),
        created_at: at(0),
        updated_at: at(0),
        status: ConversationStatus::Active,
        metadata: object(json!({ "tags": ["a", "ü"] })),
    };
    draft.validate().unwrap()
}

pub fn message(conversation: ConversationId, text: &str, seconds: i64) -> NewMessage {
    NewMessage {
        id: uuid().into(),
        conversation_id: conversation,
        role: Role::User,
        content: Content::new(text).unwrap(),
        timestamp: at(seconds),
        agent_type: None,
        tool_calls: Vec::new(),
        metadata: Map::new(),
    }
}

pub fn mention(
    conversation: ConversationId,
    kind: &str,
    id: &str,
    name: Option<&str>,
    seconds: i64,
) -> Change {
    Change::MentionEntity(Mention {
        id: uuid().into(),
        conversation_id: conversation,
        entity_type: EntityType::new(kind).unwrap(),
        entity_id: EntityId::new(id).unwrap(),
        entity_name: name.map(|name| EntityName::new(name).unwrap()),
        at: at(seconds),
        metadata: Map::new(),
    })
}

pub fn execution(
    user: &UserId,
    conversation: Option<ConversationId>,
    agent: AgentKind,
    seconds: i64,
    millis: i64,
) -> Valid<AgentExecution> {
    let start = at(seconds);
    let draft = AgentExecution {
        id: uuid().into(),
        conversation_id: conversation,
        user_id: user.clone(),
        agent_type: agent,
        input_data: json!({ "request": "show my tasks" }),
        output_data: json!({ "tool": "list_todos", "score": 0.92 }),
        execution_start: start,
        execution_end: Timestamp::from_micros(start.micros() + millis * 1000),
        duration_ms: millis as u64,
        status: ExecutionStatus::Success,
        error_details: None,
        reasoning_trace: ReasoningTrace {
            steps: vec![ReasoningStep {
                step: 1,
                action: Label::new("classify_intent").unwrap(),
                input: json!("show my tasks"),
                output: json!("list"),
                confidence: Confidence::new(0.95).unwrap(),
                timestamp: start,
            }],
        },
        confidence_scores: [("intent".to_owned(), Confidence::new(0.95).unwrap())].into(),
        tools_invoked: vec![ToolName::new("list_todos").unwrap()],
    };
    draft.validate().unwrap()
}

pub fn invocation(
    user: &UserId,
    execution: Option<ExecutionId>,
    tool: ToolId,
    seconds: i64,
    millis: i64,
    status: Outcome,
) -> Valid<ToolInvocation> {
    let start = at(seconds);
    let success = status == Outcome::Success;
    let draft = ToolInvocation {
        id: uuid().into(),
        user_id: user.clone(),
        agent_execution_id: execution,
        tool_definition_id: tool,
        input_parameters: object(json!({ "limit": 10 })),
        output_result: success.then(|| json!([1, 2, 3])),
        invocation_start: start,
        invocation_end: Timestamp::from_micros(start.micros() + millis * 1000),
        duration_ms: millis as u64,
        status,
        error_details: (!success).then(|| json!({ "message": "no" })),
        retry_count: 1,
    };
    draft.validate().unwrap()
}

/// A tool with a unique name that starts with the prefix.
pub fn tool(prefix: &str, domain: &str, vector: Option<Vec<f32>>) -> ToolDefinition {
    ToolDefinition {
        id: uuid().into(),
        tool_name: ToolName::new(format!("{prefix}_{}", uuid().simple())).unwrap(),
        tool_version: SemanticVersion::new("1.0.0").unwrap(),
        application_domain: DomainName::new(domain).unwrap(),
        origin: ToolOrigin::Configured,
        server: None,
        category: None,
        description: Description::new(
            "Lists the tasks of the user, newest first, with their titles and due dates.",
        )
        .unwrap(),
        description_embedding: vector,
        parameter_schema: object(
            json!({ "type": "object", "properties": { "title": { "type": "string" } } }),
        ),
        return_schema: object(json!({ "type": "array" })),
        is_active: true,
        requires_validation: false,
        timeout_seconds: ToolTimeout::default(),
        fallback_tools: Vec::new(),
        approval: ApprovalMode::Never,
        idempotency: Idempotency::ReadOnly,
        created_at: at(0),
        updated_at: at(0),
        metadata: Map::new(),
    }
}

pub fn recipe(user: &UserId, schema: &Sha256Hex, vector: Vec<f32>) -> Valid<Recipe> {
    let draft = Recipe {
        recipe_id: uuid().into(),
        user_id: user.clone(),
        schema_fingerprint: schema.clone(),
        intent_template: Template::new("Analyze {time_range} {location} sales").unwrap(),
        intent_embedding: vector,
        plan_structure: PlanTemplate {
            subtasks: vec![SubtaskTemplate {
                task_id: NodeName::new("load").unwrap(),
                tool_name: ToolName::new("sql.run").unwrap(),
                arg_template: "SELECT * FROM sales WHERE state = {location}".into(),
                dependencies: Vec::new(),
            }],
        },
        tool_argument_templates: vec![object(json!({ "row_limit": 100 }))],
        success_count: 1,
        created_at: at(0),
        last_used_at: at(0),
    };
    draft.validate().unwrap()
}

pub fn task(user: &UserId, seconds: i64) -> Valid<Task> {
    let draft = Task {
        id: uuid().into(),
        user_id: user.clone(),
        description: Description::new("Summarise the quarter").unwrap(),
        status: TaskStatus::Pending,
        assigned_agent: AgentName::new("analyst").unwrap(),
        result: None,
        error: None,
        created_at: at(seconds),
        started_at: None,
        completed_at: None,
        retention_days: None,
        label: None,
        parent_task_id: None,
    };
    draft.validate().unwrap()
}

pub fn fingerprint() -> Sha256Hex {
    Sha256Hex::new(format!("{}{}", uuid().simple(), uuid().simple())).unwrap()
}

pub fn draft(event: EventType, data: Value) -> Draft {
    Draft::new(event, Label::new("planner").unwrap(), object(data))
}

/// A commit to a new chain.
pub fn commit(user: &UserId) -> Commit {
    Commit::new(user.clone(), TaskId(uuid()))
}
