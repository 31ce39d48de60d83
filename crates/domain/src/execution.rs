//! Records of agent runs, and the context in which tools are selected.

use crate::valid::{require, require_span};
use crate::{
    Check, Confidence, ConversationId, ExecutionId, Label, Message, Problem, Question, Timestamp, ToolName,
    UserId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One recorded run of an agent: its input, its decisions and its reasoning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentExecution {
    /// The record's id.
    pub id: ExecutionId,
    /// The conversation, if there is one.
    #[serde(default)]
    pub conversation_id: Option<ConversationId>,
    /// The user on whose behalf it ran.
    pub user_id: UserId,
    /// The agent.
    pub agent_type: AgentKind,
    /// The input.
    pub input_data: serde_json::Value,
    /// The output.
    pub output_data: serde_json::Value,
    /// When it began.
    pub execution_start: Timestamp,
    /// When it ended.
    pub execution_end: Timestamp,
    /// How long it took.
    pub duration_ms: u64,
    /// The final status.
    pub status: ExecutionStatus,
    /// The error message; required unless the run succeeded.
    #[serde(default)]
    pub error_details: Option<serde_json::Value>,
    /// The reasoning steps.
    #[serde(default)]
    pub reasoning_trace: ReasoningTrace,
    /// The confidence of each decision.
    #[serde(default)]
    pub confidence_scores: BTreeMap<String, Confidence>,
    /// The tools it called.
    #[serde(default)]
    pub tools_invoked: Vec<ToolName>,
}

/// The four built-in agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// Plans and delegates.
    Orchestrator,
    /// Checks that the entities which a request refers to exist.
    Validation,
    /// Resolves references.
    Conversation,
    /// Turns errors into next steps.
    ErrorRecovery,
}

impl AgentKind {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Orchestrator, Self::Validation, Self::Conversation, Self::ErrorRecovery];

    /// The kind as it is written in JSON and SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Orchestrator => "orchestrator",
            Self::Validation => "validation",
            Self::Conversation => "conversation",
            Self::ErrorRecovery => "error_recovery",
        }
    }
}

/// The final status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
    /// Everything succeeded.
    Success,
    /// Nothing succeeded.
    Failure,
    /// Some of it succeeded.
    Partial,
}

impl ExecutionStatus {
    /// The status as it is written in JSON and SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Partial => "partial",
        }
    }
}

/// The steps of an agent's reasoning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReasoningTrace {
    /// The steps in order.
    pub steps: Vec<ReasoningStep>,
}

/// One step of reasoning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReasoningStep {
    /// Its number, from 1.
    pub step: u32,
    /// The action, such as `classify_intent`.
    pub action: Label,
    /// The input of the step.
    pub input: serde_json::Value,
    /// The output of the step.
    pub output: serde_json::Value,
    /// The confidence.
    pub confidence: Confidence,
    /// When the step was taken.
    pub timestamp: Timestamp,
}

impl Check for AgentExecution {
    const ENTITY: &'static str = "AgentExecution";
    fn check(&self, problems: &mut Vec<Problem>) {
        require_span(problems, "execution", self.execution_start, self.execution_end, self.duration_ms);
        let well = self.status == ExecutionStatus::Success;
        require(
            problems,
            well || self.error_details.is_some(),
            "error_details",
            "is required when the status is failure or partial",
            "nothing",
        );
        let counted = self.reasoning_trace.steps.iter().zip(1..).all(|(step, place)| step.step == place);
        require(
            problems,
            counted,
            "reasoning_trace.steps",
            "must be numbered 1, 2, 3, …",
            self.reasoning_trace.steps.len(),
        );
    }
}

/// The environment of a deployment; settings may differ between environments.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    /// A developer's machine.
    Development,
    /// The test environment before production.
    Staging,
    /// Production.
    #[default]
    Production,
}

/// The context of a request for tool selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolExecutionContext {
    /// The user's message.
    pub user_request: Question,
    /// The Slack channel, if it came from Slack.
    #[serde(default)]
    pub channel_id: Option<Label>,
    /// The user who asks.
    pub user_id: UserId,
    /// The Slack thread, if there is one.
    #[serde(default)]
    pub thread_ts: Option<Label>,
    /// The tools that may be selected.
    pub available_tools: Vec<ToolName>,
    /// The preceding messages, at most 100.
    #[serde(default)]
    pub conversation_history: Vec<Message>,
    /// The environment of this deployment.
    #[serde(default)]
    pub environment: Environment,
}

impl Check for ToolExecutionContext {
    const ENTITY: &'static str = "ToolExecutionContext";
    fn check(&self, problems: &mut Vec<Problem>) {
        let length = self.conversation_history.len();
        require(problems, length <= 100, "conversation_history", "must have at most 100 messages", length);
        if let Some(channel) = &self.channel_id {
            let slack = channel.starts_with(['C', 'D', 'G'])
                && channel.len() >= 9
                && channel.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
            require(problems, slack, "channel_id", "must be a Slack channel id such as C024BE91L", channel);
        }
        let thread = self.thread_ts.as_ref().is_none_or(|ts| {
            ts.split_once('.').is_some_and(|(s, f)| {
                [s, f].iter().all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
            })
        });
        require(
            problems,
            thread,
            "thread_ts",
            "must be a Slack timestamp such as 1482960137.003543",
            self.thread_ts.as_deref().unwrap_or_default(),
        );
    }
}
