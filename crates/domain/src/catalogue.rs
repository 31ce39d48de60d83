//! The JSON Schemas of all entities by name. They are used for `docs/schemas/`, for editors, and by
//! the test that checks `docs/seeds.md`.

use crate::*;
use schemars::{JsonSchema, Schema};
use std::collections::BTreeMap;

/// Entity name to JSON Schema.
pub fn schemas() -> BTreeMap<&'static str, Schema> {
    fn of<T: JsonSchema>() -> Schema {
        schemars::schema_for!(T)
    }
    macro_rules! list {
        ($($name:ident),* $(,)?) => { BTreeMap::from([$((stringify!($name), of::<$name>())),*]) };
    }
    list![
        Agent,
        AgentExecution,
        AgentResponse,
        Alert,
        AnalysisRequest,
        AnalysisResponse,
        Artifact,
        AuditEntry,
        Board,
        Checkpoint,
        Constraints,
        Conversation,
        ConversationEntity,
        DataSource,
        Delivery,
        Domain,
        DomainRoutingDecision,
        EdgeDef,
        EvalSuite,
        Feedback,
        HumanFeedback,
        LlmConfig,
        McpServer,
        Message,
        NodeDef,
        Observation,
        Plan,
        PlanTemplate,
        ReasoningStep,
        ReasoningTrace,
        Recipe,
        RequestPolicy,
        ResponseMetrics,
        RetentionPolicy,
        Schedule,
        ScheduleTick,
        SemanticModel,
        ServerConfig,
        Signal,
        State,
        StepRecord,
        SubAgentSession,
        SubAgentSessionInfo,
        Subtask,
        SubtaskTemplate,
        Summary,
        Task,
        ToolCall,
        ToolCallRecord,
        ToolCategory,
        ToolConfiguration,
        ToolDefinition,
        ToolExecutionContext,
        ToolInvocation,
        TraceLog,
        UserIntent,
        VerifiedAnswer,
        VerifiedResult,
        Workflow,
    ]
}
