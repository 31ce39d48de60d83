//! A question from end to end: conversation, data, plan, policy, work, artifacts, answer, memory.

mod answer;
mod artifacts;
mod carry;
mod plan;
mod recipe;
mod record;
mod suggest;
mod talk;
mod words;

pub use answer::{Answer, Clarification, Evidence, SourceUsed, SqlRun};

use crate::error::{Error, Result};
pub(crate) use artifacts::keep as keep_artifact;
pub use artifacts::placed;
pub(crate) use record::Record;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
pub(crate) use steward_analysis::planner::Reading;
use steward_analysis::session::{Options, Session};
use steward_analysis::tools::Workbench;
use steward_domain::{
    AnalysisRequest, Constraints, ConversationId, Deliverable, EventType, Question, RequestPolicy,
    RequestStatus, UserId,
};
use steward_journal::clock::Clock;
use steward_journal::random::Random;
use steward_language::Encoder;
use steward_language::model::Model;
use steward_policy::{Access, Limits, RowRules};
use steward_store::Store;

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
    /// What a session may use.
    pub options: Options,
}

/// Who plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planner {
    /// Only what worked before.
    Recipe,
    /// Only the built-in planner.
    Local,
    /// The language model.
    Model,
}

/// A question.
#[derive(Debug, Clone)]
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
    /// Who plans; in order of recipe, built-in, model when nothing is said.
    pub planner: Option<Planner>,
    /// What may be read.
    pub policy: RequestPolicy,
    /// The only tables that may be read, each with its columns; all when empty.
    pub tables: BTreeMap<String, BTreeSet<String>>,
    /// What holds for their rows.
    pub rows: RowRules,
    /// How much it may take.
    pub constraints: Constraints,
}

/// What is happening, for whoever waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// In a few words.
    pub doing: String,
}

impl AppContext {
    /// Answers a question. Whatever fails on the way is an answer with the status `failed`; an error means that the
    /// question could not be taken or the answer not be kept.
    pub async fn ask(&self, ask: &Ask, progress: &(dyn Fn(Progress) + Sync)) -> Result<Answer> {
        let talk = talk::Talk::open(self, ask).await?;
        let data = if ask.data.is_empty() { talk.data.clone() } else { ask.data.clone() };
        let (mut answer, record) = self.answer(ask, &talk, &data, progress).await?;
        answer.conversation_id = Some(talk.id);
        talk.close(self, ask, &data, &answer, &record).await?;
        Ok(answer)
    }

    /// Answers a question inside of a conversation that somebody else keeps.
    pub(crate) async fn answer_within(
        &self,
        ask: &Ask,
        earlier: Option<Reading>,
        conversation: ConversationId,
    ) -> Result<Answer> {
        let talk = talk::Talk::within(conversation, earlier);
        let (mut answer, _) = self.answer(ask, &talk, &ask.data, &|_| {}).await?;
        answer.conversation_id = Some(conversation);
        Ok(answer)
    }

    async fn answer<'a>(
        &'a self,
        ask: &Ask,
        talk: &talk::Talk,
        data: &[String],
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(Answer, Record<'a>)> {
        let began = self.clock.monotonic();
        let tell = |doing: &str| progress(Progress { doing: doing.to_owned() });
        let intent = Question::new(ask.question.trim())?;
        // Passwords are not kept, so an address that needs one has to be named again.
        if data.is_empty() || (ask.data.is_empty() && data.iter().any(|named| named.contains(":***@"))) {
            return Err(Error::NoData);
        }
        tell("Reading the data");
        let session = Session::open(data, self.options).await?;
        let mut record = Record::new(self, ask.user.clone())?;
        let request = AnalysisRequest {
            request_id: record.task,
            user_id: ask.user.clone(),
            intent,
            data_sources: session
                .places()
                .iter()
                .map(steward_analysis::source::SourceLocation::describe)
                .collect(),
            constraints: ask.constraints,
            deliverables: ask.deliver.clone(),
            policy: ask.policy.clone(),
            timestamp: self.clock.now(),
            status: RequestStatus::Planning,
        };
        record.submit(request)?;
        let access = Access {
            allowed_columns: ask.policy.allowed_columns.iter().cloned().collect(),
            blocked_patterns: ask.policy.blocked_patterns.clone(),
            tables: ask.tables.clone(),
            rows: ask.rows.clone(),
        };
        let limits = Limits { rows: ask.constraints.row_limit, timeout: ask.constraints.timeout_seconds };
        let bench = Workbench::new(session, access, limits);
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
        let planned = plan::choose(self, ask, talk, &bench, &fingerprint, &mut warming).await;
        let answer = carry::carry_out(self, ask, &bench, planned, &mut record, &tell, began).await?;
        while warming.join_next().await.is_some() {}
        Ok((answer, record))
    }
}
