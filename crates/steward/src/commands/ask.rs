//! `steward ask`.

use super::{Context, chat};
use crate::config::Settings;
use crate::error::Failure;
use crate::home::Opened;
use crate::output::{Tone, document, frame, paint, say};
use clap::{Args, ValueEnum};
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use steward_analysis::session::Options;
use steward_domain::{
    Certainty, Constraints, ConversationId, Deliverable, ErrorClass, Label, RequestPolicy, ResponseStatus,
};
use steward_journal::clock::SystemClock;
use steward_journal::random::SystemRandom;
use steward_language::Encoder;
use steward_models::{Model, ModelPurpose, OpenAi, Options as ModelOptions, Secret};
use steward_runtime::ask::{Answer, AppContext, Ask, Planner};
use steward_runtime::converse::ChatService;
use steward_runtime::{ModelLedger, ProgressEvent};
use steward_store::{ConversationFilter, Page};

#[derive(Args)]
#[command(after_help = "Examples:
  steward ask \"Analyze Q1 2021 Arizona sales; trends + charts\" --data sales.csv
  steward ask \"and Texas?\" --conversation last
  steward ask \"top 5 customers by total amount\" --data orders.csv --data customers.csv
  steward ask \"how many orders are open?\" --data postgres://reader@db.example/shop --json
  steward ask --data sales.csv          a prompt, for one question after the other")]
pub(crate) struct AskCommand {
    /// The question, in plain language. Without it, an interactive prompt starts.
    question: Option<String>,
    /// A file, a folder, a pattern or a database address; repeat it for several. `name=FILE` names
    /// the table.
    #[arg(long, short, value_name = "SOURCE")]
    data: Vec<String>,
    /// Continue this conversation; `last` is the previous one.
    #[arg(long, short, value_name = "ID")]
    conversation: Option<String>,
    /// What to write; tables, charts, reports and the summary by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    deliver: Vec<Deliver>,
    /// The output folder.
    #[arg(long, short, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Which planner to use.
    #[arg(long, value_enum)]
    planner: Option<PlannerChoice>,
    /// A model of the settings, or one at an OpenAI-compatible address:
    /// `NAME@http://127.0.0.1:8080/v1`.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Show how the question was interpreted, and the SQL.
    #[arg(long)]
    explain: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Deliver {
    Tables,
    Charts,
    Reports,
    Summary,
    /// One .xlsx file; only on request.
    Workbook,
    /// The tables as Parquet; only on request.
    Parquet,
}

#[derive(Clone, Copy, ValueEnum)]
enum PlannerChoice {
    Verified,
    Recipe,
    Local,
    Model,
}

pub(super) async fn run(context: &Context, command: AskCommand) -> Result<(), Failure> {
    let opened = context.open().await?;
    let app = app(context, command.model.as_deref(), &opened)?;
    end_interrupted(&app, &context.scope).await;
    let mut ask = Ask {
        question: command.question.clone().unwrap_or_default(),
        data: command.data.clone(),
        conversation: conversation(context, &opened, command.conversation.as_deref()).await?,
        deliver: command.deliver.iter().map(|deliver| (*deliver).into()).collect(),
        out: command.out.clone(),
        planner: command.planner.map(Into::into),
        ..plain(context)
    };
    // Without sources, the question goes to the configured domains and tools.
    if let (Some(question), true) = (&command.question, ask.data.is_empty())
        && let Some(chat) = talked(context, &opened, &ask).await?
    {
        let turn = chat::turn(context, question, ask.conversation);
        let answered = chat::one(&chat, &turn, context.json, command.explain).await;
        chat.toolbox().close().await;
        return answered;
    }
    match command.question {
        Some(_) => {
            let answer = one(&app, &ask, context.json).await?;
            show(&answer, context.json, command.explain);
            failed(&answer)
        }
        None => prompt(&app, &mut ask, command.explain).await,
    }
}

/// An empty request with the limits of the settings.
pub(super) fn plain(context: &Context) -> Ask {
    let rules = &context.settings.analysis;
    Ask {
        question: String::new(),
        data: Vec::new(),
        conversation: None,
        user: context.settings.user.clone(),
        deliver: Vec::new(),
        out: None,
        planner: None,
        tables: std::collections::BTreeMap::new(),
        rows: Default::default(),
        policy: RequestPolicy {
            allowed_columns: rules.allowed_columns.clone(),
            blocked_patterns: rules.blocked_patterns.clone(),
        },
        constraints: Constraints { row_limit: rules.row_limit, timeout_seconds: rules.timeout_seconds },
    }
}

/// The chat service for a question without data: the configured tools and domains, unless the
/// conversation is about data that was named.
async fn talked(context: &Context, opened: &Opened, ask: &Ask) -> Result<Option<ChatService>, Failure> {
    if let Some(id) = ask.conversation {
        let window = opened.store.window(&context.scope, id, 10).await?;
        let last = window.iter().rev().find(|message| message.role == steward_domain::Role::Agent);
        if !last.is_some_and(|message| message.metadata.contains_key("outcome")) {
            return Ok(None);
        }
        return chat::chat_service(context).await.map(Some);
    }
    let chat = chat::chat_service(context).await?;
    if chat::has_domains(&chat, context).await? {
        return Ok(Some(chat));
    }
    chat.toolbox().close().await;
    Ok(None)
}

/// Ends questions and turns that an earlier process left unfinished. A failure does not prevent
/// answering.
pub(super) async fn end_interrupted(app: &AppContext, scope: &steward_store::Scope) {
    if let Ok(ended) = steward_runtime::run::end_interrupted(app, scope).await {
        for task in ended {
            let told = format!(
                "{task} was cut off with its process and is ended. `steward task show {task}` shows it"
            );
            eprintln!("{}", paint(Tone::Quiet, &told));
        }
    }
}

/// The application context for answering questions.
pub(super) fn app(context: &Context, model: Option<&str>, opened: &Opened) -> Result<AppContext, Failure> {
    app_over(context, model, opened.store.clone())
}

/// The same with another store.
pub(super) fn app_over(
    context: &Context,
    model: Option<&str>,
    store: Arc<dyn steward_store::Store>,
) -> Result<AppContext, Failure> {
    let settings = &context.settings;
    let (model, name, samples_to_model) = match model {
        Some(named) => (Some(named_model(context, named)?), named.to_owned(), older_samples(settings)),
        None => match context.models()?.for_purpose(ModelPurpose::Ask) {
            Some(chosen) => (Some(chosen.model), chosen.name, chosen.send_samples),
            None => (older_model(settings)?, "model".to_owned(), older_samples(settings)),
        },
    };
    Ok(AppContext {
        store,
        clock: Arc::new(SystemClock::default()),
        random: Arc::new(SystemRandom),
        artifacts: context.home.path.join("artifacts"),
        encoder: Arc::new(Encoder::kept_in(context.home.path.join("cache/vectors"))),
        model,
        samples_to_model,
        model_name: Label::new(name)?,
        ledger: Arc::new(ModelLedger::new(settings.models.budget)),
        options: Options { memory: context.memory(), ..Options::default() },
    })
}

/// The model named on the command line: one of the settings, or `NAME@URL`.
fn named_model(context: &Context, named: &str) -> Result<Arc<dyn Model>, Failure> {
    if let Some((name, url)) = named.split_once('@') {
        let mut options = ModelOptions::new(url, name);
        options.api_key = std::env::var("STEWARD_MODEL_KEY").ok().map(Secret::new);
        return Ok(Arc::new(OpenAi::new(options)?));
    }
    context.models()?.get(named).ok_or_else(|| {
        let message =
            format!("--model: there is no model {named:?} in the settings. Write its name, or NAME@URL");
        Failure::user("CLI004", message)
    })
}

/// The model of the deprecated setting.
fn older_model(settings: &Settings) -> Result<Option<Arc<dyn Model>>, Failure> {
    let Some(older) = &settings.model else { return Ok(None) };
    let mut options = ModelOptions::new(older.base_url.clone(), older.name.clone());
    options.api_key = older.key_variable.as_ref().and_then(|name| std::env::var(name).ok()).map(Secret::new);
    Ok(Some(Arc::new(OpenAi::new(options)?)))
}

fn older_samples(settings: &Settings) -> bool {
    settings.model.as_ref().is_some_and(|model| model.send_samples)
}

pub(super) async fn conversation(
    context: &Context,
    opened: &Opened,
    named: Option<&str>,
) -> Result<Option<ConversationId>, Failure> {
    match named {
        None => Ok(None),
        Some("last") => {
            let page = Page::first(1);
            let found =
                opened.store.conversations(&context.scope, ConversationFilter::default(), page).await?;
            let last = found.first().map(|conversation| conversation.id);
            last.map(Some).ok_or_else(|| {
                Failure::user("RUN002", "there is no conversation yet. Ask a question with --data first")
            })
        }
        Some(id) => id.parse().map(Some).map_err(|problem: steward_domain::Problem| {
            Failure::user("CLI004", format!("--conversation: {problem}"))
        }),
    }
}

async fn one(app: &AppContext, ask: &Ask, json: bool) -> Result<Answer, Failure> {
    let terminal = std::io::stderr().is_terminal() && !json;
    let tell = move |event: ProgressEvent| {
        if let (true, ProgressEvent::Working { what } | ProgressEvent::Began { what, .. }) = (terminal, event)
        {
            eprint!("\r\u{1b}[2K{what} …");
            let _shown = std::io::stderr().flush();
        }
    };
    let answer = app.ask(ask, &tell).await;
    if terminal {
        eprint!("\r\u{1b}[2K");
    }
    Ok(answer?)
}

/// A failed answer fails the command, unless the answer is that the data does not contain it.
fn failed(answer: &Answer) -> Result<(), Failure> {
    match (&answer.response.status, answer.error_code) {
        (ResponseStatus::Failed, Some(code)) if code != "ASK001" => {
            let message = answer.response.error.clone().unwrap_or_default();
            let message = message.strip_prefix(code).unwrap_or(&message).trim().to_owned();
            Err(Failure::of(code, answer.error_class.unwrap_or(ErrorClass::User), message))
        }
        _ => Ok(()),
    }
}

fn show(answer: &Answer, json: bool, explain: bool) {
    if json {
        return document(&answer.json());
    }
    if answer.response.status == ResponseStatus::Failed && answer.error_code != Some("ASK001") {
        return;
    }
    say(&answer.answer);
    for finding in &answer.response.summary.key_findings {
        say(format!("  • {finding}"));
    }
    tables(answer);
    if let Some(clarification) = &answer.clarification {
        if clarification.question != answer.answer {
            say("");
            say(&clarification.question);
        }
        for (place, option) in clarification.options.iter().enumerate() {
            say(format!("  {}. {}", place + 1, option.label));
        }
    }
    notes(answer, explain);
}

/// The tables and charts of an answer.
pub(super) fn tables(answer: &Answer) {
    let width = comfy_table::Table::new().width().map_or(100, usize::from);
    for table in answer.tables.iter().take(3) {
        let lone = table.frame.rows.len() <= 1 && table.frame.fields.len() <= 1;
        let chart = answer.charts.iter().find(|chart| chart.input == table.frame.name);
        if !lone {
            say("");
            say(paint(Tone::Strong, &table.title));
            frame(&table.frame, 12);
        }
        if let Some(drawn) = chart.and_then(|chart| {
            steward_analysis::chart::terminal(
                &chart.spec,
                &table.frame,
                width.min(100),
                std::io::stdout().is_terminal(),
            )
        }) {
            say("");
            say(drawn);
        }
    }
}

fn notes(answer: &Answer, explain: bool) {
    let quiet = |text: &str| say(paint(Tone::Quiet, text));
    if !answer.assumptions.is_empty() || !answer.response.summary.warnings.is_empty() {
        say("");
    }
    answer.assumptions.iter().for_each(|assumption| quiet(&format!("Assumed: {assumption}")));
    answer
        .response
        .summary
        .warnings
        .iter()
        .for_each(|warning| say(paint(Tone::Warn, &format!("Careful: {warning}"))));
    if explain {
        say("");
        say(paint(Tone::Strong, "How the question was read"));
        answer.reasoning.iter().for_each(|line| say(format!("  {line}")));
        for run in &answer.sql {
            say("");
            say(paint(Tone::Strong, &run.title));
            say(&run.sql);
        }
    }
    let reports = answer.response.artifacts.iter().filter(|artifact| {
        let end = artifact.content_ref.rsplit('.').next().unwrap_or_default();
        matches!(end, "html" | "png" | "csv")
    });
    let mut paths: Vec<&str> = reports.map(|artifact| artifact.content_ref.as_str()).collect();
    paths.sort_by_key(|path| (!path.ends_with("html"), !path.ends_with("png")));
    if !paths.is_empty() {
        say("");
    }
    paths.iter().take(6).for_each(|path| quiet(path));
    if paths.len() > 6 {
        quiet(&format!("and {} more files beside them", paths.len() - 6));
    }
    if !answer.suggestions.is_empty() {
        say("");
        answer
            .suggestions
            .iter()
            .for_each(|suggestion| say(format!("{} {suggestion}", paint(Tone::Quiet, "next:"))));
    }
    if answer.tables.is_empty() {
        // A clarifying question, or "the data does not say": there is no confidence to show.
        return;
    }
    let confidence = match answer.confidence {
        Certainty::High => paint(Tone::Good, "high confidence"),
        Certainty::Medium => paint(Tone::Warn, "medium confidence: check the SQL with --explain"),
        Certainty::Low => paint(Tone::Bad, "low confidence"),
    };
    if let Some(mark) = &answer.verified {
        say("");
        say(paint(Tone::Good, &format!("verified by {} on {}", mark.by, mark.at.day())));
    }
    let sources: Vec<&str> = answer.sources.iter().map(|source| source.name.as_str()).collect();
    let from = if sources.is_empty() { String::new() } else { format!(" · {}", sources.join(", ")) };
    let talk = answer.conversation_id.map(|id| format!(" · conversation {id}")).unwrap_or_default();
    say("");
    say(format!(
        "{confidence}{}",
        paint(
            Tone::Quiet,
            &format!(
                "{from} · planned by {} · {} ms{talk}",
                answer.planner, answer.response.metrics.execution_time_ms
            )
        )
    ));
}

/// An interactive prompt for one conversation. The input history is kept in the home folder.
async fn prompt(app: &AppContext, ask: &mut Ask, explain: bool) -> Result<(), Failure> {
    say("Ask about the data. An empty line or Ctrl-D ends it; `?` shows what was asked before.");
    let history = app.artifacts.parent().map(|home| home.join("history"));
    let mut options: Vec<String> = Vec::new();
    let mut lines = std::io::stdin().lock().lines();
    loop {
        // If the reader of the output is gone, the prompt ends.
        let mut terminal = std::io::stdout();
        if write!(terminal, "{} ", paint(Tone::Strong, "›")).and_then(|()| terminal.flush()).is_err() {
            break;
        }
        let Some(Ok(line)) = lines.next() else { break };
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if line == "?" {
            let known =
                history.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
            known.lines().rev().take(20).for_each(|line| say(paint(Tone::Quiet, line)));
            continue;
        }
        // A number selects an option of the clarifying question.
        let chosen =
            line.parse::<usize>().ok().and_then(|number| options.get(number.wrapping_sub(1)).cloned());
        ask.question = chosen.unwrap_or_else(|| line.to_owned());
        if let Some(path) = &history {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            let _kept = file.and_then(|mut file| writeln!(file, "{}", ask.question));
        }
        match one(app, ask, false).await {
            Ok(answer) => {
                show(&answer, false, explain);
                ask.conversation = answer.conversation_id;
                options = answer
                    .clarification
                    .iter()
                    .flat_map(|asked| &asked.options)
                    .map(|option| option.question.clone())
                    .collect();
                if let Err(failure) = failed(&answer) {
                    failure.print(false);
                }
            }
            Err(failure) => failure.print(false),
        }
        say("");
    }
    Ok(())
}

impl From<Deliver> for Deliverable {
    fn from(deliver: Deliver) -> Self {
        match deliver {
            Deliver::Tables => Self::Tables,
            Deliver::Charts => Self::Charts,
            Deliver::Reports => Self::Reports,
            Deliver::Summary => Self::Summary,
            Deliver::Workbook => Self::Workbook,
            Deliver::Parquet => Self::Parquet,
        }
    }
}

impl From<PlannerChoice> for Planner {
    fn from(choice: PlannerChoice) -> Self {
        match choice {
            PlannerChoice::Verified => Self::Verified,
            PlannerChoice::Recipe => Self::Recipe,
            PlannerChoice::Local => Self::Local,
            PlannerChoice::Model => Self::Model,
        }
    }
}
