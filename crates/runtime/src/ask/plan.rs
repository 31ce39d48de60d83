//! Plans the steps of a question: by a recipe, by the built-in planner, or by a model. The first
//! planner with high confidence wins.

use super::propose_model::{self, Alternative};
use super::{AppContext, Ask, Planner, recipe, talk::Talk, verified};
use serde_json::{Value as Json, json};
use steward_analysis::blocked;
use steward_analysis::catalogue::{Catalogue, Table};
use steward_analysis::judge::ModelVerdict;
use steward_analysis::outlook::{self, Afterwards};
use steward_analysis::planner::{ChartKind, ChartWish, Choice, Outcome, Reading};
use steward_analysis::procedure::{self, Procedure};
use steward_analysis::query::{Dialect, Expr, Item, Query};
use steward_analysis::tools::Workbench;
use steward_analysis::{model_planner, propose, semantics, shape, share, sql};
use steward_domain::{Coded as _, ModelUsage, RecipeId};

/// The threshold for high confidence; below it a model is asked, if there is one.
pub(super) const SURE: f64 = steward_analysis::propose::SURE;

/// The probability from which agreement with a model replaces a clarifying question.
const SETTLED: f64 = 0.8;

/// The confidence from which a question is treated as written instructions.
const INSTRUCTIONS_THRESHOLD: f64 = 0.75;

/// The confidence from which a filtered reading has priority over unfiltered statistics.
const LIKELY: f64 = 0.3;

/// The number of words from which a text is treated as instructions. A shorter one may be a plain
/// question with words that statistics leave unused: it is answered without high confidence.
const INSTRUCTIONS: usize = 20;

/// The name of the result of a forecast or a change explanation, and of the one for its chart.
const RESULT: &str = "outlook";
const DRAWN: &str = "outlook_course";

/// The sample size for instructions: enough to know the columns and their values.
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

/// The plan of an answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    pub(super) steps: Vec<Step>,
    pub(super) planner: &'static str,
    pub(super) confidence: f64,
    pub(super) assumptions: Vec<String>,
    pub(super) reasoning: Vec<String>,
    pub(super) reading: Option<Reading>,
    pub(super) recipe: Option<RecipeId>,
    /// The verified answer that it uses.
    pub(super) verified: Option<super::VerifiedMark>,
    /// The plan of a model.
    pub(super) model_plan: Option<model_planner::ModelPlan>,
}

/// The result of planning.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "one of it at a time")]
pub(super) enum Planned {
    Work(Work),
    Ask { question: String, options: Vec<Choice> },
    Unanswerable { why: String, can_answer: Vec<String> },
}

pub(super) async fn choose(
    app: &AppContext,
    ask: &Ask,
    talk: &Talk,
    bench: &Workbench,
    fingerprint: &str,
    warming: &mut tokio::task::JoinSet<()>,
    used: &mut Vec<ModelUsage>,
) -> Planned {
    let visible = bench.session.visible(&bench.access);
    let everything = bench.session.catalogue();
    if let Some(mut work) = given_sql(&ask.question) {
        for step in work.steps.iter_mut().filter(|step| everything.table(&step.name).is_some()) {
            step.name.push_str("_rows");
        }
        return Planned::Work(work);
    }
    // Policy refuses a blocked column with its rule. Ignoring the word would answer another
    // question.
    if let Some((table, column)) = blocked::asked_for(&ask.question, &bench.session, &bench.access) {
        return Planned::Work(refused_column(&table, &column, bench));
    }
    let auto = ask.planner.is_none();
    if (auto || ask.planner == Some(Planner::Verified))
        && talk.earlier.is_none()
        && let Some(work) = verified::find(app, ask, bench, &visible).await
    {
        return Planned::Work(work);
    }
    if ask.planner == Some(Planner::Verified) {
        let why = "no verified answer fits this question. `steward verify add` verifies one".to_owned();
        return Planned::Unanswerable { why, can_answer: Vec::new() };
    }
    let (worded, notes) = in_words_of_data(app, ask, &visible);
    // A synonym of a blocked column is refused like its name.
    if !notes.is_empty()
        && let Some((table, column)) = blocked::asked_for(&worded.question, &bench.session, &bench.access)
    {
        return Planned::Work(refused_column(&table, &column, bench));
    }
    // A named metric has one definition: no other planner may answer for it.
    if auto
        && talk.earlier.is_none()
        && let Some(planned) = metric(app, &worded, bench, &visible)
    {
        return with_notes(planned, &notes);
    }
    if (auto || ask.planner == Some(Planner::Recipe))
        && talk.earlier.is_none()
        && let Some((id, kept)) = recipe::find(app, ask, &visible, fingerprint).await
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
    // A successful answer is learned, which needs the encoder. Its weights load in the background.
    let encoder = app.encoder.clone();
    warming.spawn_blocking(move || encoder.warm());
    let (local, alternatives) = local(app, &worded, talk, bench, &visible, everything).await;
    let local = with_notes(local, &notes);
    let sure = matches!(&local, Planned::Work(work) if work.confidence >= SURE);
    // The model sees this question only. A follow-up without the previous question would be another
    // question.
    let follows_up = talk.earlier.is_some() && matches!(local, Planned::Work(_));
    let wants_model = ask.planner == Some(Planner::Model) || (auto && !sure && !follows_up);
    if wants_model && let Some(model) = &app.model {
        let counted = propose_model::CountedModel::new(app, &**model, &ask.user);
        let proposed = propose_model::propose(app, &counted, ask, bench, &visible, &alternatives).await;
        used.extend(counted.into_used());
        match proposed {
            Ok(proposal) if ask.planner == Some(Planner::Model) => {
                return Planned::Work(from_model(proposal.plan));
            }
            Ok(proposal) => return judged(proposal, local, alternatives, bench, &visible),
            Err(error) if ask.planner == Some(Planner::Model) => {
                return Planned::Unanswerable {
                    why: format!("{} {error}", error.code()),
                    can_answer: Vec::new(),
                };
            }
            Err(error) => {
                // When the model fails, the built-in reading is used, and the answer says so.
                return match local {
                    Planned::Work(mut work) => {
                        work.assumptions.push(format!(
                            "The model could not be used ({error}), so the built-in reading was taken."
                        ));
                        Planned::Work(work)
                    }
                    Planned::Unanswerable { why, can_answer } => {
                        let why = format!("{why} The model could not be used ({error}).");
                        Planned::Unanswerable { why, can_answer }
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

/// A question with the synonyms of the semantic model exchanged, and what was exchanged. A model
/// that cannot be read is reported where metrics are looked for.
fn in_words_of_data(app: &AppContext, ask: &Ask, visible: &Catalogue) -> (Ask, Vec<String>) {
    let model = app.semantic_model().unwrap_or_default();
    match semantics::rephrase(&ask.question, &model, visible) {
        Some(told) => (Ask { question: told.question, ..ask.clone() }, told.notes),
        None => (ask.clone(), Vec::new()),
    }
}

fn with_notes(planned: Planned, notes: &[String]) -> Planned {
    match planned {
        Planned::Work(mut work) => {
            work.assumptions.extend_from_slice(notes);
            Planned::Work(work)
        }
        other => other,
    }
}

/// A question that names a metric of the semantic model, compiled from its definition.
fn metric(app: &AppContext, ask: &Ask, bench: &Workbench, visible: &Catalogue) -> Option<Planned> {
    let home = app.artifacts.parent()?;
    let refused = |why: String| Some(Planned::Unanswerable { why, can_answer: Vec::new() });
    let model = match crate::semantics::load_semantics(home) {
        Ok(model) if model.metrics.is_empty() => return None,
        Ok(model) => model,
        Err(error) => return refused(error.to_string()),
    };
    let today = app.clock.now().to_chrono().date_naive();
    let meaning = |a: &str, b: &str| app.encoder.similarity(a, b);
    match semantics::read(&ask.question, &model, visible, today, &meaning)? {
        semantics::MetricOutcome::Refused(why) => refused(why),
        semantics::MetricOutcome::Read(reading, metric) => {
            let mut work = from_reading(*reading, bench, visible, "metric");
            work.assumptions.push(format!("The definition used is {}.", metric.definition));
            Some(Planned::Work(work))
        }
    }
}

/// Combines a model's proposal with the local readings, by the judge's verdict.
fn judged(
    proposal: propose_model::ModelProposal,
    local: Planned,
    alternatives: Vec<Alternative>,
    bench: &Workbench,
    visible: &Catalogue,
) -> Planned {
    let Some(verdict) = proposal.verdict else {
        // The query of the proposal failed.
        return match local {
            Planned::Work(mut work) => {
                let note = "The model's query did not work, so the built-in reading was taken.";
                work.assumptions.push(note.to_owned());
                Planned::Work(work)
            }
            other => other,
        };
    };
    match (verdict, local) {
        (ModelVerdict::Reading { place, probability }, local) => {
            let Some(alternative) = alternatives.into_iter().nth(place) else { return local };
            let agreed = probability > alternative.reading.confidence;
            // Only a highly probable agreement replaces a clarifying question.
            if matches!(local, Planned::Ask { .. }) && !(agreed && probability >= SETTLED) {
                return local;
            }
            // A weak reading does not override the finding that the data has no answer.
            if matches!(local, Planned::Unanswerable { .. }) && !agreed {
                return local;
            }
            let mut reading = alternative.reading;
            // An unused meaningful word prevents high confidence, even when both agree.
            let most = if reading.unexplained.is_empty() { 1.0 } else { SURE - 0.01 };
            reading.confidence = probability.min(most);
            let note = if agreed {
                "A model's query gave the same result."
            } else {
                "A model's query gave another result."
            };
            match local {
                // The plan may hold more than its query, such as charts or a shared base.
                Planned::Work(mut work) if is_same(&work, &reading) => {
                    work.confidence = reading.confidence;
                    work.reasoning.push(note.to_owned());
                    Planned::Work(work)
                }
                _ => {
                    let mut work = from_reading(reading, bench, visible, "local");
                    work.reasoning.push(note.to_owned());
                    Planned::Work(work)
                }
            }
        }
        (ModelVerdict::Model { probability }, local) => {
            let mut work = Work { confidence: probability.min(SURE - 0.01), ..from_model(proposal.plan) };
            match local {
                // Statistics by written instructions have no query that could be compared.
                Planned::Work(read) if read.reading.is_none() && read.confidence > work.confidence => {
                    return Planned::Work(read);
                }
                Planned::Unanswerable { why, .. } => work.assumptions.push(why),
                _ => {}
            }
            Planned::Work(work)
        }
    }
}

/// Whether a plan belongs to a reading.
fn is_same(work: &Work, reading: &Reading) -> bool {
    let first = |reading: &Reading| reading.queries.first().map(|named| named.query.clone());
    work.reading.as_ref().is_some_and(|own| first(own) == first(reading))
}

/// The built-in planner: written instructions for statistics first, then questions.
async fn local(
    app: &AppContext,
    ask: &Ask,
    talk: &Talk,
    bench: &Workbench,
    visible: &Catalogue,
    everything: &Catalogue,
) -> (Planned, Vec<Alternative>) {
    let today = app.clock.now().to_chrono().date_naive();
    let meaning = |a: &str, b: &str| app.encoder.similarity(a, b);
    let follows = talk.earlier.as_ref().is_some_and(|reading| reading.form.is_some());
    if let Some(outlook) = outlook::outlook(&ask.question, visible, today, follows) {
        let earlier = talk.earlier.as_ref();
        let considered = propose::consider(&outlook.question, visible, earlier, today, &meaning);
        let mut shapes = Vec::new();
        for proposal in considered.proposals() {
            shapes.push(bench.probe(proposal.query, visible).await);
        }
        let planned = match outlook.apply(considered.readings(&shapes), &ask.question, visible) {
            Outcome::Read(reading) => Planned::Work(from_reading(reading, bench, visible, "local")),
            Outcome::Ask { question, options } => Planned::Ask { question, options },
            Outcome::Unanswerable { why, can_answer } => Planned::Unanswerable { why, can_answer },
        };
        return (planned, Vec::new());
    }
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
    let is_short = ask.question.split_whitespace().count() < INSTRUCTIONS;
    if let Some((table, procedure)) = &procedure
        && procedure.confidence >= INSTRUCTIONS_THRESHOLD
        && (!is_short || has_conditions(procedure))
    {
        return (Planned::Work(from_procedure(table, procedure.clone(), visible)), Vec::new());
    }
    let consider =
        |catalogue| propose::consider(&ask.question, catalogue, talk.earlier.as_ref(), today, &meaning);
    let (outcome, alternatives) = {
        let considered = consider(visible);
        let mut shapes = Vec::new();
        for proposal in considered.proposals() {
            shapes.push(bench.probe(proposal.query, visible).await);
        }
        let readings = considered.readings(&shapes).into_iter().zip(&shapes);
        let alternatives =
            readings.map(|(reading, shape)| Alternative { reading, shape: shape.clone() }).collect();
        (considered.decide(&shapes), alternatives)
    };
    let outcome = match &outcome {
        // The question may be about data that the user may not read. Then policy reports it,
        // instead of "there is no such thing".
        Outcome::Read(reading) if reading.confidence >= SURE => outcome,
        // Restricted data is not queried: both readings are compared without results.
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
    let planned = match (outcome, procedure) {
        (Outcome::Read(reading), Some((table, procedure)))
            if procedure.confidence > reading.confidence.min(INSTRUCTIONS_THRESHOLD)
                && (has_conditions(&procedure) || !has_likely_filter(&reading)) =>
        {
            Planned::Work(from_procedure(&table, procedure, visible))
        }
        (Outcome::Read(reading), _) => Planned::Work(from_reading(reading, bench, visible, "local")),
        (_, Some((table, procedure))) => Planned::Work(from_procedure(&table, procedure, visible)),
        (Outcome::Ask { question, options }, None) => Planned::Ask { question, options },
        (Outcome::Unanswerable { why, can_answer }, None) => Planned::Unanswerable { why, can_answer },
    };
    (planned, alternatives)
}

/// Whether statistics use some rows only.
fn has_conditions(procedure: &Procedure) -> bool {
    procedure.steps.iter().any(|step| matches!(step, procedure::Step::Filter { .. }))
        || (procedure.answers.iter().flat_map(|asked| &asked.parts)).any(|part| !part.conditions.is_empty())
}

/// Whether a reading filters rows and has enough confidence.
fn has_likely_filter(reading: &Reading) -> bool {
    reading.confidence >= LIKELY && reading.queries.iter().any(|named| named.query.filter.is_some())
}

/// A statement for the requested column, which policy refuses before anything runs.
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

/// A question that is SQL already is run as it is.
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

/// The labels of the columns as the source spells them, made unique. A column without a name cannot
/// be referenced.
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
    let mut steps = vec![step("rows", "Rows", "sql.run", json!({ "sql": load }), false), statistics];
    if let Some((x, y)) = steward_analysis::procedure::correlated_columns(&procedure) {
        let title = format!("{x} and {y}");
        let arguments =
            json!({ "input": "rows", "kind": ChartKind::Scatter, "title": title, "x": x, "y": [y] });
        let mut drawing = step("chart_1", &title, "plot.render", arguments, false);
        drawing.after.push("rows".to_owned());
        steps.push(drawing);
    }
    Work {
        steps,
        planner: "local",
        confidence: procedure.confidence,
        assumptions: procedure.assumptions.clone(),
        reasoning: procedure.reasoning,
        ..Work::default()
    }
}

/// Renames results with the name of a table, so that later steps can distinguish them.
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
    super::naming::settle_names(&mut reading);
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
    for (place, (named, query)) in reading.queries.iter().zip(&queries).enumerate() {
        let arguments = if base.is_some() {
            json!({ "sql": sql::write(query, Dialect::DataFusion), "in_engine": true })
        } else {
            run_arguments(bench, query)
        };
        // All values of a column are drawn, not listed.
        let is_drawn_only = place > 0
            && (reading.charts.iter()).any(|wish| {
                wish.query == place && matches!(wish.kind, ChartKind::Box | ChartKind::Histogram)
            });
        let shown = reading.then.is_none() && !is_drawn_only;
        let mut run = step(&named.name, &named.title, "sql.run", arguments, shown);
        run.after.extend(base.clone());
        if query.filter.is_some() && !query.group.is_empty() {
            run.invariants.push("filter before aggregate".to_owned());
        }
        steps.push(run);
    }
    steps.extend(afterwards(&reading));
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

/// The steps after the queries of a reading: one for the answer and one for the chart.
fn afterwards(reading: &Reading) -> Vec<Step> {
    let names: Vec<String> = reading.queries.iter().map(|named| named.name.clone()).collect();
    let title = reading.queries.first().map(|named| named.title.as_str()).unwrap_or_default();
    let (tool, shown, drawn) = match &reading.then {
        None => return Vec::new(),
        Some(Afterwards::Forecast(course)) => {
            let arguments = |with_history: bool| json!({ "input": names.first(), "course": course, "with_history": with_history });
            ("forecast.run", arguments(false), arguments(true))
        }
        Some(Afterwards::Change(split)) => {
            let arguments =
                |only_best: bool| json!({ "inputs": names, "split": split, "only_best": only_best });
            ("change.explain", arguments(false), arguments(true))
        }
    };
    let mut steps = vec![step(RESULT, title, tool, shown, true), step(DRAWN, title, tool, drawn, false)];
    steps.iter_mut().for_each(|step| step.after.clone_from(&names));
    steps
}

/// The arguments of `sql.run`: the source's own dialect where it supports the query.
pub(crate) fn run_arguments(bench: &Workbench, query: &Query) -> Json {
    let dialect = bench.session.dialect(&shape::tables(query));
    if sql::supports(query, dialect) {
        json!({ "sql": sql::write(query, dialect) })
    } else {
        json!({ "sql": sql::write(query, Dialect::DataFusion), "in_engine": true })
    }
}

fn chart(place: usize, wish: &ChartWish, reading: &Reading) -> Option<Step> {
    let read = &reading.queries.get(wish.query)?.name;
    let input = if reading.then.is_some() { DRAWN } else { read.as_str() };
    let filters: Vec<&str> = reading.parameters.iter().map(|parameter| parameter.value.as_str()).collect();
    let subtitle = (!filters.is_empty()).then(|| filters.join(" · "));
    let arguments = json!({ "input": input, "kind": wish.kind, "title": wish.title, "subtitle": subtitle, "x": wish.x, "y": wish.y, "series": wish.series });
    let mut drawing = step(&format!("chart_{}", place + 1), &wish.title, "plot.render", arguments, false);
    drawing.after.push(input.to_owned());
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
        // A model's own confidence is not calibrated, so it never counts as high.
        confidence: plan.confidence.clamp(0.0, 1.0).min(SURE - 0.01),
        assumptions: plan.assumptions.clone(),
        reasoning: plan.reasoning.clone(),
        model_plan: Some(plan),
        ..Work::default()
    }
}
