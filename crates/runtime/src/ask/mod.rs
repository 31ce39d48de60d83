//! Answers questions: conversation, data, plan, policy, execution, artifacts, answer, memory.

mod answer;
mod artifacts;
mod carry;
mod effects;
mod naming;
mod option;
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
pub(crate) use option::chosen_option;
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

/// The dependencies for answering questions.
#[derive(Clone)]
pub struct AppContext {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The generator of ids.
    pub random: Arc<dyn Random>,
    /// The default folder for files.
    pub artifacts: PathBuf,
    /// The bundled encoder.
    pub encoder: Arc<Encoder>,
    /// A language model, when one is configured.
    pub model: Option<Arc<dyn Model>>,
    /// Whether the model may see values of the data. It always sees names and types.
    pub samples_to_model: bool,
    /// The name of that model in the settings.
    pub model_name: Label,
    /// Usage and limits of models.
    pub ledger: Arc<ModelLedger>,
    /// The limits of a session.
    pub options: Options,
}

/// The planner of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planner {
    /// Verified answers only.
    Verified,
    /// Recipes only.
    Recipe,
    /// The built-in planner only.
    Local,
    /// The language model.
    Model,
}

/// A question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ask {
    /// The text, in plain language, or one SELECT statement.
    pub question: String,
    /// Files, folders, patterns, addresses. When empty, those of the conversation.
    pub data: Vec<String>,
    /// The conversation; `None` starts a new one.
    pub conversation: Option<ConversationId>,
    /// The user.
    pub user: UserId,
    /// The requested deliverables; all when empty.
    pub deliver: Vec<Deliverable>,
    /// The output folder.
    pub out: Option<PathBuf>,
    /// The planner; by default verified answers, recipes, built-in and model, in this order.
    pub planner: Option<Planner>,
    /// The policy for what may be read.
    pub policy: RequestPolicy,
    /// The only tables that may be read, each with its columns; all when empty.
    pub tables: BTreeMap<String, BTreeSet<String>>,
    /// The row rules of the tables.
    #[serde(default)]
    pub rows: RowRules,
    /// The resource limits.
    pub constraints: Constraints,
}

impl Ask {
    /// The access rights of the question.
    pub(crate) fn access(&self) -> Access {
        Access {
            allowed_columns: self.policy.allowed_columns.iter().cloned().collect(),
            blocked_patterns: self.policy.blocked_patterns.clone(),
            tables: self.tables.clone(),
            rows: self.rows.clone(),
        }
    }

    /// The limits of one statement.
    pub(crate) fn limits(&self) -> Limits {
        Limits { rows: self.constraints.row_limit, timeout: self.constraints.timeout_seconds }
    }
}

/// Receives the progress of a question.
pub(crate) type Watch<'a> = &'a (dyn Fn(ProgressEvent) + Sync);

impl AppContext {
    /// Answers a question. A failure on the way gives an answer with the status `failed`. An error
    /// means that the question could not be accepted or the answer could not be stored.
    pub async fn ask(&self, ask: &Ask, watch: &(dyn Fn(ProgressEvent) + Sync)) -> Result<Answer> {
        let talk = talk::Talk::open(self, ask).await?;
        let data = if ask.data.is_empty() { talk.data.clone() } else { ask.data.clone() };
        match talk.chosen(&ask.question) {
            // The message chooses an option of the last clarifying question.
            Some(question) => {
                let ask = Ask { question, ..ask.clone() };
                self.answer(&ask, &talk, &data, None, watch).await
            }
            None => self.answer(ask, &talk, &data, None, watch).await,
        }
    }

    /// The sources of a question: its own, or those of its conversation.
    pub(crate) async fn sources_of(&self, ask: &Ask) -> Result<Vec<String>> {
        if !ask.data.is_empty() {
            return Ok(ask.data.clone());
        }
        Ok(talk::Talk::open(self, ask).await?.data)
    }

    /// Answers a question within a chat turn, which stores the conversation itself.
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
    /// Opens the task, with everything that another process needs to resume it.
    async fn open(&self, parent: Option<TaskId>) -> Result<Record> {
        let intent = Question::new(self.ask.question.trim())?;
        // Passwords are not stored, so an address with a password must be given again.
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

    /// Answers the question under its task, which ends with the answer or the error.
    async fn answer(&self, record: &mut Record) -> Result<Answer> {
        let answered = self.plan_and_execute(record).await;
        if let Err(error) = &answered {
            record.end(Err(error.to_string())).await?;
        }
        answered
    }

    async fn plan_and_execute(&self, record: &mut Record) -> Result<Answer> {
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
