//! From a question to steps: by a recipe that worked before, by the built-in planner, or by a model, whoever is sure first.

use super::propose_model;
use super::{AppContext, Ask, Planner, recipe, talk::Talk, verified};
use serde_json::{Value as Json, json};
use steward_analysis::blocked;
use steward_analysis::catalogue::{Catalogue, Table};
use steward_analysis::planner::{ChartWish, Choice, Outcome, Reading};
use steward_analysis::procedure::{self, Procedure};
use steward_analysis::query::{Dialect, Expr, Item, Query};
use steward_analysis::tools::Workbench;
use steward_analysis::{model_planner, propose, semantics, shape, share, sql};
use steward_domain::{Coded as _, RecipeId};

/// From here on an answer is given with high confidence; below, a model is asked if there is one.
pub(super) const SURE: f64 = steward_analysis::propose::SURE;

/// From here on a question is taken for written instructions.
const INSTRUCTED: f64 = 0.75;

/// Words from which on a text is written instructions. A shorter one may be a plain question that statistics leave words of
/// unused: such an answer is given, and is not sure.
const INSTRUCTIONS: usize = 20;

/// Rows that instructions are read against: enough to know the columns and their values.
const SAMPLE: usize = 5_000;

/// One call of a tool.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) tool: &'static str,
    pub(super) arguments: Json,
    pub(super) after: Vec<String>,
    pub(super) invariants: Vec<String>,
    /// Whether its rows are part of the answer.
    pub(super) shown: bool,
}

/// How a question is to be answered.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    pub(super) steps: Vec<Step>,
    pub(super) planner: &'static str,
    pub(super) confidence: f64,
    pub(super) assumptions: Vec<String>,
    pub(super) reasoning: Vec<String>,
    pub(super) reading: Option<Reading>,
    pub(super) recipe: Option<RecipeId>,
    /// The verified answer that it is.
    pub(super) verified: Option<super::VerifiedMark>,
    /// What a model wrote.
    pub(super) model_plan: Option<model_planner::ModelPlan>,
}

/// What planning came to.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "one of it at a time")]
pub(super) enum Planned {
    Work(Work),
    Ask { question: String, options: Vec<Choice> },
    Unanswerable { why: String, can_answer: Vec<String> },
}

pub(super) async fn choose(
    house: &AppContext,
    ask: &Ask,
    talk: &Talk,
    bench: &Workbench,
    fingerprint: &str,
    warming: &mut tokio::task::JoinSet<()>,
) -> Planned {
    let visible = bench.session.visible(&bench.access);
    let everything = bench.session.catalogue();
    if let Some(mut work) = given_sql(&ask.question) {
        for step in work.steps.iter_mut().filter(|step| everything.table(&step.name).is_some()) {
            step.name.push_str("_rows");
        }
        return Planned::Work(work);
    }
    // A blocked column that is asked for is refused by policy with its rule; reading on without the word would answer
    // another question.
    if let Some((table, column)) = blocked::asked_for(&ask.question, &bench.session, &bench.access) {
        return Planned::Work(refused_column(&table, &column, bench));
    }
    let auto = ask.planner.is_none();
    if (auto || ask.planner == Some(Planner::Verified))
        && talk.earlier.is_none()
        && let Some(work) = verified::find(house, ask, bench, &visible).await
    {
        return Planned::Work(work);
    }
    if ask.planner == Some(Planner::Verified) {
        let why = "no verified answer fits this question. `steward verify add` verifies one".to_owned();
        return Planned::Unanswerable { why, can_answer: Vec::new() };
    }
    // A metric that is named has one definition: nothing else may answer for it.
    if auto
        && talk.earlier.is_none()
        && let Some(planned) = metric(house, ask, bench, &visible)
    {
        return planned;
    }
    if (auto || ask.planner == Some(Planner::Recipe))
        && talk.earlier.is_none()
        && let Some((id, kept)) = recipe::find(house, ask, &visible, fingerprint).await
    {
        let work = match kept {
            recipe::Kept::Reading { reading } => from_reading(*reading, bench, &visible, "recipe"),
            recipe::Kept::Model { plan, .. } => Work { planner: "recipe", ..from_model(plan) },
        };
        return Planned::Work(Work { recipe: Some(id), ..work });
    }
    if ask.planner == Some(Planner::Recipe) {
        let why = "no recipe fits this question yet. Ask it once without --planner recipe".to_owned();
        return Planned::Unanswerable { why, can_answer: Vec::new() };
    }
    // A success will be learned, which needs the encoder: its weights are loaded beside the work.
    let encoder = house.encoder.clone();
    warming.spawn_blocking(move || encoder.warm());
    let local = local(house, ask, talk, bench, &visible, everything).await;
    let sure = matches!(&local, Planned::Work(work) if work.confidence >= SURE);
    let wants_model = ask.planner == Some(Planner::Model) || (auto && !sure);
    if wants_model && let Some(model) = &house.model {
        // The reading holds values as the data spells them, and may name columns that only policy may see.
        let hint = match &local {
            Planned::Work(work) if house.samples_to_model && admitted(work, bench) => work.reading.as_ref(),
            _ => None,
        };
        let read = match &local {
            Planned::Work(work) if admitted(work, bench) => Some(work),
            _ => None,
        };
        let proposed = propose_model::propose(house, &**model, ask, bench, &visible, hint, read).await;
        match proposed {
            Ok(proposal) => return judged(proposal, local, ask.planner == Some(Planner::Model)),
            Err(error) if ask.planner == Some(Planner::Model) => {
                return Planned::Unanswerable {
                    why: format!("{} {error}", error.code()),
                    can_answer: Vec::new(),
                };
            }
            Err(error) => {
                // The model's failure is no reason to give nothing; it is said, and the built-in reading stands.
                return match local {
                    Planned::Work(mut work) => {
                        work.assumptions.push(format!(
                            "The model could not be used ({error}), so the built-in reading was taken."
                        ));
                        Planned::Work(work)
                    }
                    other => other,
                };
            }
        }
    }
    if ask.planner == Some(Planner::Model) {
        let why =
            "no model is used for questions. Add one with `steward models add`, or pass --model".to_owned();
        return Planned::Unanswerable { why, can_answer: Vec::new() };
    }
    local
}

/// A question that names a metric of the home's semantics, compiled from its definition.
fn metric(house: &AppContext, ask: &Ask, bench: &Workbench, visible: &Catalogue) -> Option<Planned> {
    let home = house.artifacts.parent()?;
    let refused = |why: String| Some(Planned::Unanswerable { why, can_answer: Vec::new() });
    let model = match crate::semantics::load_semantics(home) {
        Ok(model) if model.metrics.is_empty() => return None,
        Ok(model) => model,
        Err(error) => return refused(error.to_string()),
    };
    let today = house.clock.now().to_chrono().date_naive();
    let meaning = |a: &str, b: &str| house.encoder.similarity(a, b);
    match semantics::read(&ask.question, &model, visible, today, &meaning)? {
        semantics::MetricOutcome::Refused(why) => refused(why),
        semantics::MetricOutcome::Read(reading, metric) => {
            let mut work = from_reading(*reading, bench, visible, "metric");
            work.assumptions.push(format!("The definition used is {}.", metric.definition));
            Some(Planned::Work(work))
        }
    }
}

/// Between what a model proposed and what the reader found.
fn judged(proposal: propose_model::ModelProposal, local: Planned, wants_model: bool) -> Planned {
    let from_model = Work { confidence: proposal.confidence, ..from_model(proposal.plan) };
    match local {
        Planned::Work(mut work) if proposal.agrees && !wants_model => {
            work.confidence = proposal.confidence;
            work.reasoning.push("A model's query gave the same result.".to_owned());
            Planned::Work(work)
        }
        // A proposal that does not run is no answer; policy's refusal of one that was wished for is.
        Planned::Work(mut work) if !proposal.works && !wants_model => {
            let note = "The model's query did not work, so the built-in reading was taken.";
            work.assumptions.push(note.to_owned());
            Planned::Work(work)
        }
        Planned::Work(work) if work.confidence > proposal.confidence && !wants_model => Planned::Work(work),
        other if !proposal.works && !wants_model => other,
        _ => Planned::Work(from_model),
    }
}

/// Whether policy lets every statement of a reading through.
fn admitted(work: &Work, bench: &Workbench) -> bool {
    let statements = work
        .steps
        .iter()
        .filter(|step| step.after.is_empty())
        .filter_map(|step| step.arguments.get("sql")?.as_str());
    statements.into_iter().all(|sql| bench.admit(sql).is_ok())
}

/// The built-in planner: written instructions for statistics first, then questions.
async fn local(
    house: &AppContext,
    ask: &Ask,
    talk: &Talk,
    bench: &Workbench,
    visible: &Catalogue,
    everything: &Catalogue,
) -> Planned {
    let procedure = match visible.tables.as_slice() {
        [table] if talk.earlier.is_none() => {
            // Instructions name columns as the file does.
            let labels = labels(table);
            let head = bench.session.head(&table.name, SAMPLE).await;
            head.ok()
                .and_then(|(mut frame, _)| {
                    let named =
                        |name: &str| table.column(name).is_some_and(|column| !column.label.trim().is_empty());
                    let kept: Vec<bool> = frame.fields.iter().map(|field| named(&field.name)).collect();
                    frame.keep_columns(&kept);
                    for (field, label) in frame.fields.iter_mut().zip(&labels) {
                        field.name.clone_from(label);
                    }
                    procedure::read(&ask.question, &frame)
                })
                .map(|mut procedure| {
                    if ask.question.split_whitespace().count() < INSTRUCTIONS {
                        procedure.confidence = procedure.confidence.min(SURE - 0.01);
                    }
                    (table.name.clone(), procedure)
                })
        }
        _ => None,
    };
    if let Some((table, procedure)) = &procedure
        && procedure.confidence >= INSTRUCTED
    {
        return Planned::Work(from_procedure(table, procedure.clone(), visible));
    }
    let today = house.clock.now().to_chrono().date_naive();
    let meaning = |a: &str, b: &str| house.encoder.similarity(a, b);
    let consider =
        |catalogue| propose::consider(&ask.question, catalogue, talk.earlier.as_ref(), today, &meaning);
    let outcome = {
        let considered = consider(visible);
        let mut shapes = Vec::new();
        for proposal in considered.proposals() {
            shapes.push(bench.probe(proposal.query, visible).await);
        }
        considered.decide(&shapes)
    };
    let outcome = match &outcome {
        // What the question is about may be there but not to be read: then policy says so, instead of "there is no such thing".
        Outcome::Read(reading) if reading.confidence >= SURE => outcome,
        // What may not be read is not run: both sides are compared without results.
        _ if visible != everything => match (consider(everything).decide(&[]), consider(visible).decide(&[]))
        {
            (Outcome::Read(whole), Outcome::Read(seen)) if whole.confidence > seen.confidence + 0.1 => {
                Outcome::Read(whole)
            }
            (Outcome::Read(whole), Outcome::Ask { .. } | Outcome::Unanswerable { .. }) => {
                Outcome::Read(whole)
            }
            _ => outcome,
        },
        _ => outcome,
    };
    match (outcome, procedure) {
        (Outcome::Read(reading), Some((table, procedure))) if procedure.confidence > reading.confidence => {
            Planned::Work(from_procedure(&table, procedure, visible))
        }
        (Outcome::Read(reading), _) => Planned::Work(from_reading(reading, bench, visible, "local")),
        (_, Some((table, procedure))) => Planned::Work(from_procedure(&table, procedure, visible)),
        (Outcome::Ask { question, options }, None) => Planned::Ask { question, options },
        (Outcome::Unanswerable { why, can_answer }, None) => Planned::Unanswerable { why, can_answer },
    }
}

/// A statement for the column that was asked for, which policy refuses before anything runs.
fn refused_column(table: &str, column: &str, bench: &Workbench) -> Work {
    let item = Item { expr: Expr::Column(table.to_owned(), column.to_owned()), name: column.to_owned() };
    let query =
        Query { items: vec![item], table: table.to_owned(), alias: table.to_owned(), ..Query::default() };
    let dialect = bench.session.dialect(&[table.to_owned()].into());
    Work {
        steps: vec![step("result", "Result", "sql.run", json!({ "sql": sql::write(&query, dialect) }), true)],
        planner: "local",
        confidence: 1.0,
        reasoning: vec!["The question asks for a column that is blocked.".to_owned()],
        ..Work::default()
    }
}

/// A question that is SQL already is taken at its word.
fn given_sql(question: &str) -> Option<Work> {
    let text = question.trim();
    steward_analysis::tools::is_statement(text).then(|| Work {
        steps: vec![step("result", "Result", "sql.run", json!({ "sql": text }), true)],
        planner: "sql",
        confidence: 1.0,
        reasoning: vec!["The question is SQL, so it is run as it stands.".to_owned()],
        ..Work::default()
    })
}

fn step(name: &str, title: &str, tool: &'static str, arguments: Json, shown: bool) -> Step {
    let invariants = vec!["read-only".to_owned()];
    Step {
        name: name.to_owned(),
        title: title.to_owned(),
        tool,
        arguments,
        after: Vec::new(),
        invariants,
        shown,
    }
}

/// The names of the columns that have one, as the source spells them, made unique. A column without a name cannot be
/// meant by any word.
fn labels(table: &Table) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for column in table.columns.iter().filter(|column| !column.label.trim().is_empty()) {
        let label = column.label.trim();
        let taken = label.is_empty()
            || label.contains('\n')
            || labels.iter().any(|known| known.eq_ignore_ascii_case(label));
        labels.push(if taken { column.name.clone() } else { label.to_owned() });
    }
    labels
}

fn from_procedure(table: &str, procedure: Procedure, visible: &Catalogue) -> Work {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let known = visible.table(table);
    let columns = known.map(|table| table.columns.as_slice()).unwrap_or_default();
    let labels = known.map(labels).unwrap_or_default();
    let columns = columns.iter().filter(|column| !column.label.trim().is_empty());
    let list: Vec<String> = columns
        .zip(&labels)
        .map(|(column, label)| format!("{} AS {}", quoted(&column.name), quoted(label)))
        .collect();
    let load = format!("SELECT {} FROM {}", list.join(", "), quoted(table));
    let mut statistics = step(
        "statistics",
        "Statistics",
        "stats.run",
        json!({ "input": "rows", "procedure": procedure }),
        true,
    );
    statistics.after.push("rows".to_owned());
    statistics.invariants = procedure.assumptions.clone();
    Work {
        steps: vec![step("rows", "Rows", "sql.run", json!({ "sql": load }), false), statistics],
        planner: "local",
        confidence: procedure.confidence,
        assumptions: procedure.assumptions.clone(),
        reasoning: procedure.reasoning,
        ..Work::default()
    }
}

/// A result must not be called like a table, or later steps could not tell them apart.
fn rename(reading: &mut Reading, catalogue: &Catalogue) {
    for named in &mut reading.queries {
        while catalogue.table(&named.name).is_some() {
            named.name.push_str("_rows");
        }
    }
}

pub(super) fn from_reading(
    mut reading: Reading,
    bench: &Workbench,
    visible: &Catalogue,
    planner: &'static str,
) -> Work {
    rename(&mut reading, bench.session.catalogue());
    let mut steps = Vec::new();
    let mut queries: Vec<Query> = reading.queries.iter().map(|named| named.query.clone()).collect();
    for query in &mut queries {
        shape::expand_star(query, visible);
    }
    let mut base = None;
    if let Some((table, load, rewritten)) = share::base(&queries, bench.session.catalogue()) {
        let mut loading = step(
            share::BASE,
            &format!("The rows of {table} that are needed"),
            "sql.run",
            run_arguments(bench, &load),
            false,
        );
        loading.invariants.push("read each file once".to_owned());
        if let Some(arguments) = loading.arguments.as_object_mut() {
            arguments.insert("keep_in_engine".to_owned(), true.into());
        }
        steps.push(loading);
        queries = rewritten;
        base = Some(share::BASE.to_owned());
    }
    for (named, query) in reading.queries.iter().zip(&queries) {
        let arguments = if base.is_some() {
            json!({ "sql": sql::write(query, Dialect::DataFusion), "in_engine": true })
        } else {
            run_arguments(bench, query)
        };
        let mut run = step(&named.name, &named.title, "sql.run", arguments, true);
        run.after.extend(base.clone());
        if query.filter.is_some() && !query.group.is_empty() {
            run.invariants.push("filter before aggregate".to_owned());
        }
        steps.push(run);
    }
    let charts: Vec<Step> =
        reading.charts.iter().enumerate().filter_map(|(place, wish)| chart(place, wish, &reading)).collect();
    steps.extend(charts);
    Work {
        steps,
        planner,
        confidence: reading.confidence,
        assumptions: reading.assumptions.clone(),
        reasoning: reading.reasoning.clone(),
        reading: Some(reading),
        ..Work::default()
    }
}

pub(super) fn run_arguments(bench: &Workbench, query: &Query) -> Json {
    let dialect = bench.session.dialect(&shape::tables(query));
    if sql::supports(query, dialect) {
        json!({ "sql": sql::write(query, dialect) })
    } else {
        json!({ "sql": sql::write(query, Dialect::DataFusion), "in_engine": true })
    }
}

fn chart(place: usize, wish: &ChartWish, reading: &Reading) -> Option<Step> {
    let input = &reading.queries.get(wish.query)?.name;
    let filters: Vec<&str> = reading.parameters.iter().map(|parameter| parameter.value.as_str()).collect();
    let subtitle = (!filters.is_empty()).then(|| filters.join(" · "));
    let arguments = json!({ "input": input, "kind": wish.kind, "title": wish.title, "subtitle": subtitle, "x": wish.x, "y": wish.y, "series": wish.series });
    let mut drawing = step(&format!("chart_{}", place + 1), &wish.title, "plot.render", arguments, false);
    drawing.after.push(input.clone());
    drawing.invariants = vec!["bars begin at zero".to_owned()];
    Some(drawing)
}

fn from_model(plan: model_planner::ModelPlan) -> Work {
    let mut steps: Vec<Step> = (plan.queries.iter())
        .map(|query| {
            step(&query.name, &query.title, "sql.run", json!({ "sql": query.sql, "in_engine": false }), true)
        })
        .collect();
    for (place, chart) in plan.charts.iter().enumerate() {
        let mut drawing =
            step(&format!("chart_{}", place + 1), &chart.title, "plot.render", json!(chart), false);
        drawing.after.push(chart.input.clone());
        steps.push(drawing);
    }
    Work {
        steps,
        planner: "model",
        // What a model says of itself is not calibrated, so it makes nothing sure.
        confidence: plan.confidence.clamp(0.0, 1.0).min(SURE - 0.01),
        assumptions: plan.assumptions.clone(),
        reasoning: plan.reasoning.clone(),
        model_plan: Some(plan),
        ..Work::default()
    }
}
