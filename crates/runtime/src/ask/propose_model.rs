//! A model proposes queries. Each is admitted and run, and errors go back to the model until a
//! query works. The judge then compares its result with the results of the readings.
//!
//! Invariants
//! - A model is shown granted, unblocked names only. The text of an error that names anything else
//!   is not passed on.
//! - It has at most three attempts. If none works, the reader's answer stays.
//! - A model's own statement of certainty is ignored. Its agreement with the result of a reading
//!   counts.

use super::{AppContext, Ask};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use steward_analysis::catalogue::Catalogue;
use steward_analysis::frame::Frame;
use steward_analysis::judge::{JudgedReading, ModelVerdict, ResultShape, weigh_model};
use steward_analysis::model_planner::{self, ModelPlan, PlanRequest, WrittenPlan};
use steward_analysis::planner::Reading;
use steward_analysis::query::Dialect;
use steward_analysis::tools::Workbench;
use steward_analysis::{shape, sql};
use steward_domain::{ErrorCategory, ModelUsage, UserId};
use steward_models::{Model, ModelError, Reply, Request, Usage};

/// The maximum number of model calls, including the first.
const ATTEMPTS: usize = 3;
/// The timeout of a proposal's query.
const TRIAL: Duration = Duration::from_secs(20);
/// A model that records usage for a user and enforces the user's limits.
pub(super) struct CountedModel<'a> {
    app: &'a AppContext,
    model: &'a dyn Model,
    user: &'a UserId,
    used: Mutex<Vec<ModelUsage>>,
}

impl<'a> CountedModel<'a> {
    pub(super) fn new(app: &'a AppContext, model: &'a dyn Model, user: &'a UserId) -> Self {
        Self { app, model, user, used: Mutex::default() }
    }

    /// The recorded usage.
    pub(super) fn into_used(self) -> Vec<ModelUsage> {
        self.used.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl Model for CountedModel<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ModelError> {
        let AppContext { ledger, store, clock, model_name, .. } = self.app;
        ledger.check(&**store, &**clock, self.user).await?;
        let (tokens, cost) = (self.used.lock().unwrap_or_else(PoisonError::into_inner).iter())
            .fold((0, 0), |(tokens, cost), one| (tokens + one.tokens(), cost + one.cost_micros));
        if let Some(detail) = ledger.budget().answer.exceeded_by(tokens, cost) {
            return Err(ModelError::OverBudget { which: "of one answer", detail });
        }
        let reply = self.model.complete(request).await?;
        let usage = Usage { input: reply.input_tokens, output: reply.output_tokens, cached: 0 };
        let cost = reply.cost_micros.unwrap_or_default();
        let row = ledger.add(self.user, model_name, usage, cost, clock.now());
        self.used.lock().unwrap_or_else(PoisonError::into_inner).push(row);
        Ok(reply)
    }
}

/// A reading of the question, with the result of its query where it was run.
#[derive(Debug, Clone)]
pub(super) struct Alternative {
    pub(super) reading: Reading,
    pub(super) shape: Option<ResultShape>,
}

/// The proposal of a model.
pub(super) struct ModelProposal {
    pub(super) plan: ModelPlan,
    /// The judge's verdict beside the readings; `None` when its query failed.
    pub(super) verdict: Option<ModelVerdict>,
}

/// Asks the model, and again with the error. The model does not see the readings; otherwise its
/// agreement would mean little.
pub(super) async fn propose(
    app: &AppContext,
    model: &dyn Model,
    ask: &Ask,
    bench: &Workbench,
    visible: &Catalogue,
    readings: &[Alternative],
) -> Result<ModelProposal, ModelError> {
    let tables = visible.tables.iter().map(|table| table.name.clone()).collect();
    let wanted = PlanRequest {
        question: &ask.question,
        catalogue: visible,
        dialect: bench.session.dialect(&tables),
        samples: app.samples_to_model,
        today: app.clock.now().to_chrono().date_naive(),
    };
    let mut feedback: Option<(WrittenPlan, String)> = None;
    for attempt in 1..=ATTEMPTS {
        let before = feedback.as_ref().map(|(written, problem)| (written, problem.as_str()));
        let mut written = match (model_planner::plan(model, &wanted, before).await, feedback.take()) {
            (Ok(written), _) => written,
            // If a repeated model call fails, its previous proposal is kept.
            (Err(_), Some((written, _))) => return Ok(ModelProposal { plan: written.plan, verdict: None }),
            (Err(error), None) => return Err(error),
        };
        let mut unknown = Vec::new();
        for query in &mut written.plan.queries {
            let spelled = model_planner::spell(&query.sql, visible);
            query.sql = spelled.sql;
            unknown.extend(spelled.unknown);
        }
        match trial(bench, &written.plan, visible, attempt < ATTEMPTS).await {
            Err(problem) => {
                let problem = if unknown.is_empty() { problem } else { unknown.join(". ") };
                feedback = Some((written, problem));
            }
            Ok(frame) => {
                let result = ResultShape::of(&frame.rows);
                let judged = compare(bench, visible, readings, &result).await;
                return Ok(ModelProposal { plan: written.plan, verdict: Some(weigh_model(&judged)) });
            }
        }
    }
    match feedback {
        Some((written, _)) => Ok(ModelProposal { plan: written.plan, verdict: None }),
        None => Err(ModelError::NotJson { detail: "the plan has no query".to_owned() }),
    }
}

/// Compares the model's result with each reading. A query that was too large to run for every
/// reading is run for the likeliest one.
async fn compare(
    bench: &Workbench,
    visible: &Catalogue,
    readings: &[Alternative],
    result: &ResultShape,
) -> Vec<JudgedReading> {
    let likeliest = readings.iter().map(|one| one.reading.confidence).fold(0.0, f64::max);
    let mut judged = Vec::with_capacity(readings.len());
    for Alternative { reading, shape } in readings {
        let ran = match (shape, reading.queries.first()) {
            (None, Some(named)) if reading.confidence >= likeliest => {
                let mut query = named.query.clone();
                shape::expand_star(&mut query, visible);
                let frame = run(bench, &sql::write(&query, Dialect::DataFusion)).await.ok().flatten();
                frame.map(|frame| ResultShape::of(&frame.rows))
            }
            (shape, _) => shape.clone(),
        };
        let agrees = ran.is_some_and(|ran| !ran.is_empty && ran.agrees_with(result));
        judged.push(JudgedReading { probability: reading.confidence, agrees });
    }
    judged
}

/// Runs the first query; the error is the text for the model.
async fn trial(
    bench: &Workbench,
    plan: &ModelPlan,
    visible: &Catalogue,
    can_repair: bool,
) -> Result<Frame, String> {
    for query in &plan.queries {
        if let Err(error) = bench.admit(&query.sql) {
            let told = match error.category() {
                ErrorCategory::Denied => refusal(),
                _ => safe(&error.to_string(), bench, visible),
            };
            return Err(format!("{}: {told}", query.name));
        }
    }
    let Some(first) = plan.queries.first() else { return Err("there is no query".to_owned()) };
    match run(bench, &first.sql).await {
        Ok(Some(frame)) if frame.rows.is_empty() && can_repair => {
            Err("the result has no rows. Check the values in the filters and the joins".to_owned())
        }
        Ok(Some(frame)) => Ok(frame),
        Ok(None) => Err("the statement gives no rows".to_owned()),
        Err(error) => Err(safe(&error, bench, visible)),
    }
}

async fn run(bench: &Workbench, sql: &str) -> Result<Option<Frame>, String> {
    let arguments = json!({ "sql": sql, "in_engine": false });
    match tokio::time::timeout(TRIAL, bench.call("sql.run", &arguments, "trial")).await {
        Ok(Ok(output)) => Ok(output.frame),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("the query took longer than {} s", TRIAL.as_secs())),
    }
}

fn refusal() -> String {
    "the statement reads something that may not be read. Use only the tables and columns that are listed, by \
        name, and no star"
        .to_owned()
}

/// The text of an error, unless it names something that the model must not see.
fn safe(error: &str, bench: &Workbench, visible: &Catalogue) -> String {
    let names = |catalogue: &Catalogue| -> BTreeSet<String> {
        let columns = |table: &steward_analysis::catalogue::Table| {
            let own = table
                .columns
                .iter()
                .flat_map(|column| [column.name.to_lowercase(), column.label.to_lowercase()]);
            own.chain([table.name.to_lowercase()]).collect::<Vec<_>>()
        };
        catalogue.tables.iter().flat_map(columns).filter(|name| !name.trim().is_empty()).collect()
    };
    let (shown, all) = (names(visible), names(bench.session.catalogue()));
    let error: String = error.chars().take(600).collect();
    let lower = error.to_lowercase();
    let hidden = |name: &&String| !shown.contains(*name) && lower.contains(name.as_str());
    if all.iter().any(|name| hidden(&name)) {
        return "the statement names something that is not there. Use only the tables and columns that are \
            listed"
            .to_owned();
    }
    error
}
