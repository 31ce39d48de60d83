//! Verified answers as planners: a question that equals a verified one, apart from its values, is
//! answered by the verified statement.

use super::plan::{Step, Work, from_reading, run_arguments};
use super::{AppContext, Ask, Reading};
use crate::error::{Error, Result};
use crate::verified::{MOST, fingerprint, list_saved, loaded};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use steward_analysis::catalogue::Catalogue;
use steward_analysis::planner::Outcome;
use steward_analysis::session::Session;
use steward_analysis::tools::Workbench;
use steward_analysis::verified::{Matcher, Statement, Verified, fit_reading, fit_words};
use steward_analysis::{propose, shape};
use steward_domain::{ConversationId, Question, TaskId, Timestamp, UserId, VerifiedAnswer, VerifiedId};
use steward_store::{Page, Scope, Store};

/// The number of similar verified answers whose readings are compared.
const NEAREST: usize = 4;
/// The similarity from which two questions may be paraphrases.
const NEAR: f32 = 0.45;
/// The confidence of an answer with a verified statement.
const VERIFIED_CONFIDENCE: f64 = 0.98;

/// The verification of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedMark {
    /// The verified answer.
    pub id: VerifiedId,
    /// The verified question.
    pub question: Question,
    /// The user who verified it.
    pub by: UserId,
    /// The time of the verification.
    pub at: Timestamp,
    /// The user's note.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The answer to an earlier question.
pub(crate) struct EarlierAnswer {
    pub(crate) question: String,
    pub(crate) data: Vec<String>,
    pub(crate) reading: Option<Reading>,
    pub(crate) sql: Option<String>,
    /// The first number of the answer and its rows.
    pub(crate) result: Json,
    pub(crate) text: String,
}

/// Opened data on which statements run.
pub(crate) struct Workspace<'a> {
    pub(crate) bench: &'a Workbench,
    pub(crate) visible: &'a Catalogue,
}

impl Workspace<'_> {
    /// The arguments for running a statement.
    pub(crate) fn arguments(&self, statement: &Statement) -> Result<Json> {
        match statement {
            Statement::Sql(sql) => Ok(json!({ "sql": sql, "in_engine": false })),
            Statement::Reading(reading) => {
                let first = reading.queries.first();
                let mut query =
                    first.ok_or_else(|| Error::Stored("a reading without a query".to_owned()))?.query.clone();
                shape::expand_star(&mut query, self.visible);
                Ok(run_arguments(self.bench, &query))
            }
        }
    }
}

impl AppContext {
    /// Opens the data of a question with the access rights of its user.
    pub(crate) async fn open_data(&self, ask: &Ask) -> Result<Arc<Workbench>> {
        if ask.data.is_empty() {
            return Err(Error::NoData);
        }
        let session = Session::open(&ask.data, self.options).await?;
        Ok(Arc::new(Workbench::new(session, ask.access(), ask.limits())))
    }
}

/// The built-in reader's reading of a question.
pub(crate) async fn read_question(context: &AppContext, ask: &Ask, bench: &Workbench) -> Option<Reading> {
    let visible = bench.session.visible(&bench.access);
    let today = context.clock.now().to_chrono().date_naive();
    let meaning = |a: &str, b: &str| context.encoder.similarity(a, b);
    let considered = propose::consider(&ask.question, &visible, None, today, &meaning);
    let mut shapes = Vec::new();
    for proposal in considered.proposals() {
        shapes.push(bench.probe(proposal.query, &visible).await);
    }
    match considered.decide(&shapes) {
        Outcome::Read(reading) => Some(reading),
        _ => None,
    }
}

/// The plan of a verified answer that matches this question.
pub(super) async fn find(
    context: &AppContext,
    ask: &Ask,
    bench: &Workbench,
    visible: &Catalogue,
) -> Option<Work> {
    let scope = Scope::User(ask.user.clone());
    let all: Vec<VerifiedAnswer> = list_saved(&*context.store, &scope, Page::first(MOST)).await.ok()?;
    let everything = bench.session.catalogue();
    let fitting: Vec<(VerifiedAnswer, Statement)> = all
        .into_iter()
        .filter(|one| fingerprint(everything, &one.tables).is_ok_and(|found| found == one.schema_fingerprint))
        .filter_map(|one| {
            let statement = loaded(&one.statement).ok()?;
            Some((one, statement))
        })
        .collect();
    if fitting.is_empty() {
        return None;
    }
    let today = context.clock.now().to_chrono().date_naive();
    let meaning = |a: &str, b: &str| context.encoder.similarity(a, b);
    let matcher = Matcher { catalogue: visible, today, meaning: &meaning };
    let phrases = |one: &VerifiedAnswer| -> Vec<String> {
        std::iter::once(&one.question).chain(&one.paraphrases).map(ToString::to_string).collect()
    };
    let words = fitting.iter().find_map(|(one, statement)| {
        let phrases = phrases(one);
        let verified = Verified { phrases: phrases.iter().map(String::as_str).collect(), statement };
        fit_words(&ask.question, &verified, &matcher).map(|statement| (one, statement))
    });
    let found = words.or_else(|| {
        let near = |one: &VerifiedAnswer| context.encoder.similarity(&ask.question, one.question.as_str());
        let mut nearest: Vec<_> =
            fitting.iter().map(|(one, statement)| (near(one), one, statement)).collect();
        nearest.retain(|(near, ..)| *near >= NEAR);
        nearest.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        nearest.into_iter().take(NEAREST).find_map(|(_, one, statement)| {
            let verified = Verified { phrases: vec![one.question.as_str()], statement };
            fit_reading(&ask.question, &verified, &matcher).map(|statement| (one, statement))
        })
    });
    let (one, statement) = found?;
    let mark = VerifiedMark {
        id: one.id,
        question: one.question.clone(),
        by: one.user_id.clone(),
        at: one.updated_at,
        note: one.note.clone(),
    };
    let said = format!("Verified by {} on {}: “{}”.", mark.by, mark.at.day(), mark.question);
    let mut work = match statement {
        Statement::Reading(mut reading) => {
            reading.unexplained.clear();
            reading.confidence = VERIFIED_CONFIDENCE;
            for named in &mut reading.queries {
                named.title = ask.question.trim().to_owned();
            }
            from_reading(*reading, bench, visible, "verified")
        }
        Statement::Sql(sql) => Work {
            steps: vec![Step {
                name: "answer".to_owned(),
                title: ask.question.trim().to_owned(),
                tool: "sql.run",
                arguments: json!({ "sql": sql, "in_engine": false }),
                after: Vec::new(),
                invariants: vec!["read-only".to_owned()],
                shown: true,
            }],
            planner: "verified",
            confidence: VERIFIED_CONFIDENCE,
            ..Work::default()
        },
    };
    work.reasoning.push(said);
    work.verified = Some(mark);
    Some(work)
}

/// The answer to a task's question, from its conversation.
pub(crate) async fn earlier_answer(store: &dyn Store, scope: &Scope, id: TaskId) -> Result<EarlierAnswer> {
    let missing = || Error::NoTask(id.to_string());
    let task = store.task(scope, id).await?.ok_or_else(missing)?;
    let rows = store.checkpoints(scope, id).await?;
    let first = rows.first().map(|row| row.state.metadata.clone()).unwrap_or_default();
    let of = |kind: &str, name: &str| first.get(kind).and_then(|subject| subject.get(name)).cloned();
    let conversation = of("question", "conversation").or_else(|| of("turn", "conversation"));
    let conversation: ConversationId =
        conversation.and_then(|id| serde_json::from_value(id).ok()).ok_or_else(missing)?;
    let asked = first.get("question").and_then(|question| question.get("ask")?.get("question")?.as_str());
    let question = asked.map_or_else(|| task.description.to_string(), str::to_owned);
    let mut page = Page::first(200);
    loop {
        let messages = store.history(scope, conversation, page).await?;
        let of_task = |message: &&steward_domain::Valid<steward_domain::Message>| {
            let told = message.metadata.get("request_id");
            told == Some(&json!(id)) || task.parent_task_id.is_some_and(|above| told == Some(&json!(above)))
        };
        if let Some(message) = messages.iter().find(of_task) {
            let read = |name: &str| message.metadata.get(name).filter(|value| !value.is_null()).cloned();
            let mut data: Vec<String> =
                read("data").and_then(|data| serde_json::from_value(data).ok()).unwrap_or_default();
            // A turn without data of its own used the data of a domain, which its question names.
            if let (true, Some(task)) = (data.is_empty(), read("analysis_task")) {
                let task: TaskId = serde_json::from_value(task).map_err(|_| missing())?;
                let rows = store.checkpoints(scope, task).await?;
                let asked =
                    rows.first().and_then(|row| row.state.metadata.get("question")?.get("ask")?.get("data"));
                data = asked.and_then(|data| serde_json::from_value(data.clone()).ok()).unwrap_or_default();
            }
            return Ok(EarlierAnswer {
                question,
                data,
                reading: read("reading").and_then(|reading| serde_json::from_value(reading).ok()),
                sql: read("sql").and_then(|sql| sql.as_str().map(str::to_owned)),
                result: read("result").unwrap_or_default(),
                text: message.content.to_string(),
            });
        }
        if messages.len() < page.limit as usize {
            return Err(missing());
        }
        page.offset += page.limit;
    }
}
