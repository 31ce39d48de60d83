//! The reply of a turn.

use crate::ask::{Answer, Clarification};
use crate::run::ClientCall;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use steward_analysis::planner::Choice;
use steward_domain::{AgentResponse, CallId, ConversationId, DomainRoutingDecision, TaskId};
use steward_language::answer::Table;
use steward_language::understand::RecordRef;

/// The outcome of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The request was done or answered.
    Answered,
    /// A part of it was done; `missing` lists the rest.
    Partial,
    /// A clarifying question was asked.
    Asked,
    /// A confirmation is required first.
    Confirm,
    /// The user declined.
    Declined,
    /// The target does not exist.
    NotFound,
    /// The turn failed.
    Failed,
    /// Small talk.
    Chat,
    /// The user asked what can be done.
    Help,
    /// Nothing here can do it.
    OutOfScope,
}

/// The reply to a message.
#[derive(Debug, Clone, Serialize)]
pub struct Reply {
    /// The conversation for the next message.
    pub conversation_id: ConversationId,
    /// The task in the journal.
    pub task_id: TaskId,
    /// The outcome.
    pub outcome: Outcome,
    /// The response of the agent API.
    #[serde(flatten)]
    pub response: AgentResponse,
    /// The clarifying question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Asked>,
    /// The rows behind the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Shown>,
    /// The executed steps.
    pub steps: Vec<StepDone>,
    /// The missing parts, with reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// Contradictions between sources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// The routing decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing: Option<DomainRoutingDecision>,
    /// The reasons of the interpretation.
    pub reasons: Vec<String>,
    /// The context that was reused from earlier turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<super::Carried>,
    /// Decisions of others on calls of this conversation; each is also a separate message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// Calls that wait for approval by another user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<TaskId>,
    /// The model that wrote the answer, if one did, and its usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<ModelUsed>>,
    /// Calls of the client's own tools, for the client to execute.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_calls: Vec<ClientCall>,
    /// The model's text with such calls, or up to the token limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_text: Option<String>,
    /// Whether the client's token limit truncated the answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
    /// Figures that no result supports, until they are moved to `model`.
    #[serde(skip)]
    pub(super) unverified: Vec<String>,
    /// The answers of analysis, with charts and files.
    #[serde(skip)]
    pub analyses: Vec<Answer>,
}

/// How a model handled a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// All steps were planned before any result was read.
    PlanFirst,
    /// The model read each result before it chose the next step.
    StepByStep,
}

/// The model that handled a turn, and its usage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelUsed {
    /// Its name in the settings.
    pub name: String,
    /// The task of its run.
    pub run: TaskId,
    /// The strategy.
    pub strategy: Strategy,
    /// Why no plan was executed, where one was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not_planned: Option<String>,
    /// The number of model calls.
    pub rounds: u32,
    /// Input and output tokens.
    pub tokens: u64,
    /// Input tokens of the run of the answer.
    pub input_tokens: u64,
    /// Output tokens of the run of the answer.
    pub output_tokens: u64,
    /// The cost in millionths, if the price is known; otherwise 0.
    pub cost_micros: u64,
    /// Figures of its answer that no result supports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
}

impl Reply {
    /// The reply as one JSON document, with the tables and charts of every analysis. Files are
    /// given by name only: paths on this machine are private.
    #[must_use]
    pub fn json(&self) -> Json {
        let mut document = json!(self);
        if let (Some(document), false) = (document.as_object_mut(), self.analyses.is_empty()) {
            document.insert("analyses".into(), self.analyses.iter().map(without_paths).collect());
            // The same fields as in the document of an analysis.
            let score = self.confidence_score().map(|score| (score * 1000.0).round() / 1000.0);
            document.insert("confidence_score".into(), json!(score));
            document.insert("unexplained".into(), self.unexplained().collect::<Vec<_>>().into());
        }
        document
    }
}

fn without_paths(answer: &Answer) -> Json {
    let mut document = answer.json();
    for (list, place) in [("artifacts", "content_ref"), ("sources", "location")] {
        for one in document.get_mut(list).and_then(Json::as_array_mut).into_iter().flatten() {
            if let Some(Json::String(path)) = one.get_mut(place) {
                *path = path.rsplit('/').next().unwrap_or_default().to_owned();
            }
        }
    }
    document
}

/// A clarifying question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The text.
    pub text: String,
    /// The options.
    pub options: Vec<Offered>,
}

impl From<&Clarification> for Asked {
    fn from(asked: &Clarification) -> Self {
        let offer = |choice: &Choice| Offered {
            label: choice.label.clone(),
            say: choice.question.clone(),
            record: None,
        };
        Self { text: asked.question.clone(), options: asked.options.iter().map(offer).collect() }
    }
}

/// An option of a clarifying question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    /// The label. The label of a decision names its effect.
    pub label: String,
    /// The text that chooses it, for channels without buttons. A click sends its index instead.
    pub say: String,
    /// The record of the option: its domain, type and id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordRef>,
}

/// Rows with their source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// The source's name for people.
    pub source: String,
    /// The call that returned the rows.
    pub call_id: CallId,
    /// The rows.
    #[serde(flatten)]
    pub table: Table,
}

/// One executed step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepDone {
    /// A short description.
    pub what: String,
    /// The tool, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether it succeeded.
    pub well: bool,
    /// The duration.
    pub milliseconds: u64,
    /// The calls of the step.
    pub calls: Vec<CallId>,
}

/// A part that could not be answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Missing {
    /// The part.
    pub part: String,
    /// The reason, for people.
    pub reason: String,
    /// The suggested next action.
    pub next: String,
    /// The error code; `None` when it only waits for another part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
}
