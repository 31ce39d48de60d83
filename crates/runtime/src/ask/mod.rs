//! A question from end to end: conversation, data, plan, policy, work, artifacts, answer, memory.

mod answer;
mod artifacts;
mod carry;
mod effects;
mod plan;
mod propose_model;
mod recipe;
mod record;
mod resume;
mod suggest;
mod talk;
mod verified;
mod words;

pub use suggest::first_questions;

pub use answer::{Answer, Clarification, Evidence, SourceUsed, SqlRun};
pub use verified::VerifiedMark;

use crate::ModelLedger;
use crate::error::{Error, Result};
use crate::progress::ProgressEvent;
pub(crate) use answer::sources_of_statement;
pub(crate) use artifacts::keep as keep_artifact;
pub use artifacts::placed;
pub(crate) use plan::run_arguments;
pub(crate) use record::{Opening, Record};
pub(crate) use resume::StoredQuestion;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
pub(crate) use steward_analysis::planner::Reading;
use steward_analysis::session::{OpenProgress, Options, Session};
use steward_analysis::tools::Workbench;
use steward_domain::{
    AnalysisRequest, Constraints, ConversationId, Deliverable, EventType, Label, Question, RequestPolicy,
    RequestStatus, TaskId, UserId,
};
use steward_journal::clock::Clock;
use steward_journal::random::Random;
use steward_language::Encoder;
use steward_models::Model;
use steward_policy::{Access, Limits, RowRules};
use steward_store::{Change, Store};
pub(crate) use verified::{EarlierAnswer, Workspace, earlier_answer, read_question};

/// What questions are answered with.
#[derive(Clone)]
pub struct AppContext {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub random: Arc<dyn Random>,
    /// Where files go, unless a question says otherwise.
    pub artifacts: PathBuf,
    /// The bundled encoder.
    pub encoder: Arc<Encoder>,
    /// A language model, when one is configured.
    pub model: Option<Arc<dyn Model>>,
    /// Whether values of the data may be shown to the model. Names and types always are.
    pub samples_to_model: bool,
    /// The name of that model in the settings.
    pub model_name: Label,
    /// What models used, and what they may use.
    pub ledger: Arc<ModelLedger>,
    /// What a session may use.
    pub options: Options,
}

/// Who plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planner {
    /// Only what a person verified.
    Verified,
    /// Only what worked before.
    Recipe,
    /// Only the built-in planner.
    Local,
    /// The language model.
    Model,
}

/// A question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ask {
    /// In plain language, or one SELECT statement.
    pub question: String,
    /// Files, folders, patterns, addresses. Empty: those of the conversation.
    pub data: Vec<String>,
    /// The conversation it belongs to; a new one when there is none.
    pub conversation: Option<ConversationId>,
    /// Who asks.
    pub user: UserId,
    /// What is to come out; everything when empty.
    pub deliver: Vec<Deliverable>,
    /// Where the files go.
    pub out: Option<PathBuf>,
    /// Who plans; in order of verified answer, recipe, built-in, model when nothing is said.
    pub planner: Option<Planner>,
    /// What may be read.
    pub policy: RequestPolicy,
    /// The only tables that may be read, each with its columns; all when empty.
    pub tables: BTreeMap<String, BTreeSet<String>>,
    /// What holds for their rows.
    #[serde(default)]
    pub rows: RowRules,
    /// How much it may take.
    pub constraints: Constraints,
}

impl Ask {
    /// What may be read.
    pub(crate) fn access(&self) -> Access {
        Access {
            allowed_columns: self.policy.allowed_columns.iter().cloned().collect(),
            blocked_patterns: self.policy.blocked_patterns.clone(),
            tables: self.tables.clone(),
            rows: self.rows.clone(),
        }
    }

    /// What one statement may take.
    pub(crate) fn limits(&self) -> Limits {
        Limits { rows: self.constraints.row_limit, timeout: self.constraints.timeout_seconds }
    }
}

/// Receives the progress of a question.
pub(crate) type Watch<'a> = &'a (dyn Fn(ProgressEvent) + Sync);

impl AppContext {
    /// Answers a question. Whatever fails on the way is an answer with the status `failed`; an
    /// error means that the question could not be taken or the answer not be kept.
    pub async fn ask(&self, ask: &Ask, watch: &(dyn Fn(ProgressEvent) + Sync)) -> Result<Answer> {
        let talk = talk::Talk::open(self, ask).await?;
        let data = if ask.data.is_empty() { talk.data.clone() } else { ask.data.clone() };
        self.answer(ask, &talk, &data, None, watch).await
    }

    /// The sources that a question reads: those that it names, or those of its conversation.
    pub(crate) async fn sources_of(&self, ask: &Ask) -> Result<Vec<String>> {
        if !ask.data.is_empty() {
            return Ok(ask.data.clone());
        }
        Ok(talk::Talk::open(self, ask).await?.data)
    }

    /// Answers a question that is a step of a chat turn: the turn keeps the conversation.
    pub(crate) async fn answer_within(
        &self,
        ask: &Ask,
        earlier: Option<Reading>,
        conversation: ConversationId,
        turn: TaskId,
    ) -> Result<Answer> {
        let talk = talk::Talk::within(conversation, earlier);
        self.answer(ask, &talk, &ask.data, Some(turn), &|_| {}).await
    }

    async fn answer(
        &self,
        ask: &Ask,
        talk: &talk::Talk,
        data: &[String],
        parent: Option<TaskId>,
        watch: Watch<'_>,
    ) -> Result<Answer> {
        let began = self.clock.monotonic();
        let question = carry::Question { context: self, ask, talk, data, watch, began };
        let mut record = question.open(parent).await?;
        watch(ProgressEvent::Started(record.task));
        question.answer(&mut record).await
    }
}

impl carry::Question<'_> {
    /// Opens the task, with what another process needs to take it up.
    async fn open(&self, parent: Option<TaskId>) -> Result<Record> {
        let intent = Question::new(self.ask.question.trim())?;
        // Passwords are not kept, so an address that needs one has to be named again.
        if self.data.is_empty()
            || (self.ask.data.is_empty() && self.data.iter().any(|named| named.contains(":***@")))
        {
            return Err(Error::NoData);
        }
        let stored = StoredQuestion::new(self.ask, self.talk, self.data);
        let data = json!({
            "data_sources": stored.ask.data, "constraints": self.ask.constraints, "policy": self.ask.policy,
            "deliverables": self.ask.deliver,
        });
        let opening = record::Opening {
            user: self.ask.user.clone(),
            parent,
            said: intent.as_str(),
            agent: "analyst",
            subject: json!({ "question": stored }),
            data,
        };
        Record::open(self.context, opening).await
    }

    /// Answers the question under its task, which ends with the answer or with the reason.
    async fn answer(&self, record: &mut Record) -> Result<Answer> {
        let answered = self.plan_and_carry_out(record).await;
        if let Err(error) = &answered {
            record.end(Err(error.to_string())).await?;
        }
        answered
    }

    async fn plan_and_carry_out(&self, record: &mut Record) -> Result<Answer> {
        let Self { context, ask, talk, data, watch, .. } = self;
        let tell = |what: &str| watch(ProgressEvent::Working { what: what.to_owned() });
        tell("Reading the data");
        let (clock, since) = (&context.clock, context.clock.monotonic());
        let progress = |progress: OpenProgress| {
            let took = clock.monotonic().saturating_sub(since);
            if let Some(said) = words::reading(progress, took) {
                tell(&said);
            }
        };
        let session = Session::open_watched(data, context.options, &progress).await?;
        record.submit(AnalysisRequest {
            request_id: record.task,
            user_id: ask.user.clone(),
            intent: Question::new(ask.question.trim())?,
            data_sources: session
                .places()
                .iter()
                .map(steward_analysis::source::SourceLocation::describe)
                .collect(),
            constraints: ask.constraints,
            deliverables: ask.deliver.clone(),
            policy: ask.policy.clone(),
            timestamp: context.clock.now(),
            status: RequestStatus::Planning,
        })?;
        let bench = Arc::new(Workbench::new(session, ask.access(), ask.limits()));
        let fingerprint = bench.session.catalogue().fingerprint();
        let tables: Vec<&str> =
            bench.session.catalogue().tables.iter().map(|table| table.name.as_str()).collect();
        record.note(
            EventType::StepRecorded,
            "analysis",
            json!({ "step": "profile", "tables": tables, "schema_fingerprint": fingerprint }),
        )?;
        tell("Planning");
        let mut warming = tokio::task::JoinSet::new();
        let mut used = Vec::new();
        let planned = plan::choose(context, ask, talk, &bench, &fingerprint, &mut warming, &mut used).await;
        for usage in used {
            record.change(Change::AddModelUsage(usage));
        }
        let answer = self.carry_out(&bench, planned, record).await?;
        while warming.join_next().await.is_some() {}
        Ok(answer)
    }
}
