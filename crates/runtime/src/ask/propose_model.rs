//! A model proposes queries: what it writes is admitted, run and given back with its error until it works, and compared
//! with what the built-in reader found.
//!
//! Invariants
//! - A model is shown granted, unblocked names only. An error that names anything else is not passed on in its words.
//! - It has at most three attempts. One that does not work leaves the reader's answer as it was.
//! - What a model says of its own certainty never makes an answer sure. That both found the same result may.

use super::plan::{SURE, Work};
use super::{AppContext, Ask};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use steward_analysis::catalogue::Catalogue;
use steward_analysis::frame::Frame;
use steward_analysis::model_planner::{self, ModelPlan};
use steward_analysis::planner::Reading;
use steward_analysis::tools::Workbench;
use steward_domain::ErrorCategory;
use steward_models::{Model, ModelError};

/// Attempts of the model, the first included.
const ATTEMPTS: usize = 3;
/// How long the query of a proposal may run.
const TRIAL: Duration = Duration::from_secs(20);
/// How often a proposal of a model that was admitted and ran is right, as a prior.
const PRIOR: f64 = 0.6;
/// The most that agreement makes of a probability.
const MOST: f64 = 0.97;

/// What a model proposed.
pub(super) struct ModelProposal {
    pub(super) plan: ModelPlan,
    /// How likely it is right.
    pub(super) confidence: f64,
    /// Whether the reader's query gave the same result; then the reader's is taken, with this confidence.
    pub(super) agrees: bool,
    /// Whether its query was admitted and ran.
    pub(super) works: bool,
}

/// Asks the model, and again with what was wrong. `local` is what the reader found.
pub(super) async fn propose(
    house: &AppContext,
    model: &dyn Model,
    ask: &Ask,
    bench: &Workbench,
    visible: &Catalogue,
    hint: Option<&Reading>,
    local: Option<&Work>,
) -> Result<ModelProposal, ModelError> {
    let today = house.clock.now().to_chrono().date_naive();
    let samples = house.samples_to_model;
    let mut feedback: Option<(ModelPlan, String)> = None;
    let mut last = None;
    for attempt in 1..=ATTEMPTS {
        let before = feedback.as_ref().map(|(plan, problem)| (plan, problem.as_str()));
        let asked = model_planner::plan(model, &ask.question, visible, hint, samples, today, before).await;
        let plan = match (asked, last.take()) {
            (Ok(plan), _) => plan,
            // A model that does not answer again leaves what it wrote before.
            (Err(_), Some(plan)) => return Ok(proposal(plan, false)),
            (Err(error), None) => return Err(error),
        };
        match trial(bench, &plan, visible, attempt < ATTEMPTS).await {
            Err(problem) => {
                feedback = Some((plan.clone(), problem));
                last = Some(plan);
            }
            Ok(frame) => {
                let mut found = proposal(plan, true);
                if let Some(work) = local
                    && let Some(sql) = first_statement(work)
                    && let Some(other) = run(bench, &sql).await.ok().flatten()
                {
                    found.agrees = same_rows(&frame, &other);
                    if found.agrees {
                        found.confidence = (1.0 - (1.0 - work.confidence) * (1.0 - PRIOR)).min(MOST);
                    }
                }
                return Ok(found);
            }
        }
    }
    match last {
        Some(plan) => Ok(proposal(plan, false)),
        None => Err(ModelError::NotJson { detail: "the plan has no query".to_owned() }),
    }
}

fn proposal(plan: ModelPlan, works: bool) -> ModelProposal {
    let said = plan.confidence.clamp(0.0, 1.0);
    // What it says of itself is not calibrated: it may lower the prior and not make anything sure.
    let confidence = if works { said.min(SURE - 0.01) } else { said.min(0.3) };
    ModelProposal { plan, confidence, agrees: false, works }
}

/// Whether the first query works; else what is told to the model.
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
    "the statement reads something that may not be read. Use only the tables and columns that are listed, by name, and \
     no star"
        .to_owned()
}

/// An error in its own words, unless they name something that the model was not shown.
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
        return "the statement names something that is not there. Use only the tables and columns that are listed".to_owned();
    }
    error
}

fn first_statement(work: &Work) -> Option<String> {
    let step = work.steps.iter().find(|step| step.shown && step.after.is_empty())?;
    step.arguments.get("sql")?.as_str().map(str::to_owned)
}

/// Whether two results hold the same rows, whatever their order, the order of their columns and the names of those.
fn same_rows(one: &Frame, other: &Frame) -> bool {
    let rows = |frame: &Frame| -> Vec<Vec<String>> {
        let cell = |value: &steward_analysis::frame::Value| match value.number() {
            Some(number) => format!("{number:.6e}"),
            None => value.plain().trim().to_lowercase(),
        };
        let mut rows: Vec<Vec<String>> =
            frame.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        rows.iter_mut().for_each(|row: &mut Vec<String>| row.sort());
        rows.sort();
        rows
    };
    !one.rows.is_empty() && one.rows.len() == other.rows.len() && rows(one) == rows(other)
}
