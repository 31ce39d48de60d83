//! The entities of Steward, their rules and their states.
//!
//! Invariants
//! - No I/O, no async, no clock, no randomness: time and ids are arguments.
//! - A rule about one field lives in that field's type ([`UserId`], [`Confidence`], …), so the
//!   field cannot hold a wrong value. A rule about several fields lives in [`Check`], and only
//!   [`Valid`] proves that it holds: stores, engine and tools take `Valid<T>`.
//! - The error of a rejected value names the field, the rule and the value found ([`Invalid`]).

mod agent;
mod analysis;
mod answer;
mod audit;
mod board;
mod call;
mod conversation;
mod error;
mod eval;
mod execution;
mod ids;
mod intent;
mod model_usage;
mod number;
mod parse;
mod plan;
mod provenance;
mod recipe;
mod retention;
mod saved;
mod schedule;
mod semantics;
mod server;
mod signal;
mod state;
mod task;
mod text;
mod time;
mod tool;
mod trace;
mod valid;
mod verified;
mod workflow;
mod workflow_parts;

pub mod catalogue;

pub use agent::{Agent, AgentApprovals, Limits, LlmConfig, Pattern};
pub use analysis::{
    AnalysisRequest, Constraints, DataSource, Deliverable, RequestPolicy, RequestStatus, SourceKind,
};
pub use answer::{AgentResponse, AnalysisResponse, Certainty, ResponseMetrics, ResponseStatus, Summary};
pub use audit::{AuditEntry, EventType, OnBehalf};
pub use board::{
    Board, BoardFilter, BoardLink, MOST_FILTER_VALUES, MOST_FILTERS, MOST_LINKS, MOST_TILES, Tile,
    TileContent, TileView, TileWidth,
};
pub use call::{CallStatus, ErrorCategory, Gate, Observation, Outcome, ToolCall, ToolInvocation};
pub use conversation::{Activity, Conversation, ConversationEntity, ConversationStatus, Message, Role};
pub use error::{Coded, ErrorClass, Invalid, Problem};
pub use eval::{EvalBudget, EvalCase, EvalOutcome, EvalSuite, Expectation};
pub use execution::{
    AgentExecution, AgentKind, Environment, ExecutionStatus, ReasoningStep, ReasoningTrace,
    ToolExecutionContext,
};
pub use ids::*;
pub use intent::{DomainRoutingDecision, IntentKind, UserIntent};
pub use model_usage::ModelUsage;
pub use number::*;
pub use parse::parse;
pub use plan::{Plan, PlanStatus, Subtask};
pub use provenance::{CallOrigin, Mandate, MandatedCall, Provenance, Release, Taint, is_typed};
pub use recipe::{Artifact, ArtifactKind, PlanTemplate, Recipe, SubtaskTemplate};
pub use retention::RetentionPolicy;
pub use saved::{SavedEntity, SavedItem, SavedKind};
pub use schedule::{
    Alert, AlertCondition, AlertStatus, CatchUp, Delivery, DeliveryStatus, DeliveryTarget, QuietHours,
    Schedule, ScheduleStatus, ScheduleSubject, ScheduleTick,
};
pub use semantics::{
    Calendar, ColumnMeaning, Cumulative, CumulativeSince, FiscalYearName, Metric, MetricFilter, Ratio,
    Segment, SemanticModel, TableMeaning,
};
pub use server::{McpServer, Sandbox, SandboxOff, SandboxRules, ServerAuth, ServerConfig, Transport};
pub use signal::Signal;
pub use state::{
    Checkpoint, CheckpointStatus, HumanAction, HumanFeedback, State, StateUpdate, SubAgentSession,
    SubAgentStatus,
};
pub use task::{Task, TaskStatus};
pub use text::*;
pub use time::Timestamp;
pub use tool::{
    ApprovalMode, Domain, Idempotency, ToolCategory, ToolConfiguration, ToolDefinition, ToolExample,
    ToolOrigin, ToolPoll,
};
pub use trace::{StepLevel, StepRecord, SubAgentSessionInfo, ToolCallRecord, TraceLog};
pub use valid::{Check, States, Valid, step};
pub use verified::{Feedback, FeedbackStatus, Rating, VerifiedAnswer, VerifiedResult, VerifiedStatement};
pub use workflow::{
    EdgeDef, EdgeTarget, Join, JoinWord, NodeDef, NodeKind, TimeoutOutcome, Workflow, find_cycle,
};
pub use workflow_parts::{Escalation, ItemFailure, RetryClass, RetryPolicy};

/// A JSON object: metadata, arguments, state updates.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
