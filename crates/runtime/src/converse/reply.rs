//! What comes back from a turn.

use crate::ask::Answer;
use crate::run::ClientCall;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use steward_domain::{AgentResponse, CallId, ConversationId, DomainRoutingDecision, TaskId};
use steward_language::answer::Table;
use steward_language::understand::RecordRef;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done, or answered.
    Answered,
    /// A part of it was; `missing` says which was not.
    Partial,
    /// A question was asked back.
    Asked,
    /// A decision is asked for before something is done.
    Confirm,
    /// The person did not want it.
    Declined,
    /// There is no such thing.
    NotFound,
    /// It went wrong.
    Failed,
    /// Small talk.
    Chat,
    /// What can be done was asked.
    Help,
    /// Nothing here can do it.
    OutOfScope,
}

/// The answer to what was said.
#[derive(Debug, Clone, Serialize)]
pub struct Reply {
    /// The conversation to go on with.
    pub conversation_id: ConversationId,
    /// The task in the journal.
    pub task_id: TaskId,
    /// How it ended.
    pub outcome: Outcome,
    /// S0's response.
    #[serde(flatten)]
    pub response: AgentResponse,
    /// What is asked back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Asked>,
    /// The rows behind the words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Shown>,
    /// What was done, step by step.
    pub steps: Vec<StepDone>,
    /// What is missing, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// Where the sources do not agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// Where it went, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing: Option<DomainRoutingDecision>,
    /// How it was read.
    pub reasons: Vec<String>,
    /// What was taken over from earlier turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<super::Carried>,
    /// What others decided meanwhile over calls of this conversation; each is a message of its own,
    /// too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// Calls that wait for somebody else's approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<TaskId>,
    /// The model that wrote the answer, when one did, and what it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<ModelUsed>>,
    /// Calls of the client's own tools that it is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_calls: Vec<ClientCall>,
    /// What the model wrote beside such calls, or until the limit of tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_text: Option<String>,
    /// Whether the client's limit of tokens cut the answer off.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
    /// Figures that no result supports, until they are part of `model`.
    #[serde(skip)]
    pub(super) unverified: Vec<String>,
    /// What analysis said, with its charts and files.
    #[serde(skip)]
    pub analyses: Vec<Answer>,
}

/// How a model worked on a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// All steps were written before any result was seen.
    PlanFirst,
    /// The model read each result before it chose the next step.
    StepByStep,
}

/// The model that worked on a turn, and what it used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelUsed {
    /// Its name in the settings.
    pub name: String,
    /// The task of its run.
    pub run: TaskId,
    /// How it worked.
    pub strategy: Strategy,
    /// Why no plan was carried out, where one was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not_planned: Option<String>,
    /// How often it was asked.
    pub rounds: u32,
    /// Tokens, read and written.
    pub tokens: u64,
    /// Tokens that the run of the answer read.
    pub input_tokens: u64,
    /// Tokens that the run of the answer wrote.
    pub output_tokens: u64,
    /// What it cost in millionths, when the price is known; else 0.
    pub cost_micros: u64,
    /// Figures of its answer that no result supports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
}

impl Reply {
    /// As one JSON document, with the tables and charts of every analysis. Files are named, not
    /// placed: where they lie on this machine is nobody's business.
    #[must_use]
    pub fn json(&self) -> Json {
        let mut document = json!(self);
        if let (Some(document), false) = (document.as_object_mut(), self.analyses.is_empty()) {
            document.insert("analyses".into(), self.analyses.iter().map(without_places).collect());
        }
        document
    }
}

fn without_places(answer: &Answer) -> Json {
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

/// A question back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// In words.
    pub text: String,
    /// What it may be answered with.
    pub options: Vec<Offered>,
}

/// One of the answers to a question back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    /// As it is shown. A decision is named by what it does.
    pub label: String,
    /// What to say to choose it where only words can be sent. A click sends its place instead.
    pub say: String,
    /// The record that it stands for: its domain, type and id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordRef>,
}

/// Rows, and where they come from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// The source's name for people.
    pub source: String,
    /// The call whose rows these are.
    pub call_id: CallId,
    /// The rows.
    #[serde(flatten)]
    pub table: Table,
}

/// One step, as it went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepDone {
    /// What was done, in a few words.
    pub what: String,
    /// The tool, when it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether it gave what it should.
    pub well: bool,
    /// How long it took.
    pub milliseconds: u64,
    /// The calls that were made for it.
    pub calls: Vec<CallId>,
}

/// A part that could not be answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Missing {
    /// Which part.
    pub part: String,
    /// Why, for people.
    pub reason: String,
    /// What to do about it.
    pub next: String,
    /// The code of the error; nothing when it only waits for another part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
}
