//! `steward chat`: one conversation over all configured data and tools.

use super::{Context, ask};
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, short};
use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};
use rustyline::error::ReadlineError;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steward_domain::{Certainty, ConversationId, Label};
use steward_language::answer::plain;
use steward_models::ModelPurpose;
use steward_runtime::converse::{
    Asked, ChatModel, ChatService, Limits, ModelLimits, ModelUsed, OptionChoice, Outcome, ProgressEvent,
    Reply, Shown, Strategy, Turn,
};
use tokio_util::sync::CancellationToken;

#[derive(Args)]
#[command(after_help = "Examples:
  steward chat                             a prompt; /help says what it understands
  steward chat 'show my tasks'             one message, one answer
  steward chat 'mark the first one done' --conversation last
  steward chat --data sales.csv            with data of your own beside what is set up")]
pub(crate) struct Chat {
    /// The message. Without it, an interactive prompt starts.
    message: Option<String>,
    /// A file, a folder, a pattern or a database address; repeat it for several.
    #[arg(long, short, value_name = "SOURCE")]
    data: Vec<String>,
    /// Continue this conversation; `last` is the previous one.
    #[arg(long, short, value_name = "ID")]
    conversation: Option<String>,
    /// Show how each message was interpreted.
    #[arg(long)]
    explain: bool,
}

pub(super) async fn run(context: &Context, command: Chat) -> Result<(), Failure> {
    let opened = context.open().await?;
    let conversation = ask::conversation(context, &opened, command.conversation.as_deref()).await?;
    let chat = chat_service(context).await?;
    ask::end_interrupted(chat.toolbox().app(), &context.scope).await;
    let turn = Turn {
        said: command.message.clone().unwrap_or_default(),
        conversation,
        caller: crate::toolbox::caller(context),
        data: command.data.clone(),
        choice: None,
    };
    let ended = match command.message {
        Some(_) => one(&chat, &turn, context.json, command.explain).await,
        None => {
            let history = context.home.path.join("history");
            Box::pin(prompt(&chat, turn, history, command.explain)).await
        }
    };
    chat.toolbox().close().await;
    ended
}

/// The chat service with the toolbox of this home.
pub(super) async fn chat_service(context: &Context) -> Result<ChatService, Failure> {
    let toolbox = Arc::new(crate::toolbox::open(context, true).await?);
    let limits = &context.settings.conversation;
    let service = ChatService::new(
        toolbox.clone(),
        Limits {
            call: Duration::from_secs(u64::from(limits.call_seconds)),
            answer: Duration::from_secs(u64::from(limits.answer_seconds)),
        },
    );
    // A conversation needs results, so a model that may not receive them is not used for it.
    let chosen = context.models()?.for_purpose(ModelPurpose::Chat).filter(|chosen| chosen.send_results);
    let Some(chosen) = chosen else { return Ok(service) };
    let budget = &context.settings.models.budget;
    let reads = context.models()?.for_purpose(ModelPurpose::Extract).filter(|chosen| chosen.send_results);
    Ok(service.with_model(ChatModel {
        runner: super::run::over(context, &toolbox)?,
        extractor: Label::new(reads.map_or_else(|| chosen.name.clone(), |reads| reads.name))?,
        name: Label::new(chosen.name)?,
        plan_first: limits.plan_first,
        limits: ModelLimits {
            steps: u32::from(limits.model_steps.max(1)),
            tokens: budget.answer.tokens.map_or(limits.model_tokens, |most| most.min(limits.model_tokens)),
            money: budget.answer.money,
            seconds: limits.model_seconds,
        },
    }))
}

/// One message and its answer.
pub(super) async fn one(chat: &ChatService, turn: &Turn, json: bool, explain: bool) -> Result<(), Failure> {
    let said = say_it(chat, turn, json).await?;
    if json {
        document(&said.reply);
    } else {
        show(&said, explain);
    }
    let PrintedReply { reply, .. } = said;
    match (reply.outcome, reply.missing.first()) {
        // There is no result, and a retry may help.
        (Outcome::Failed, Some(missing)) => Err(Failure::of(
            missing.code.unwrap_or("TOL011"),
            steward_domain::ErrorClass::Transient,
            format!("{} {}", missing.reason, missing.next),
        )),
        _ => Ok(()),
    }
}

/// A reply, and whether its text was already printed.
struct PrintedReply {
    reply: Reply,
    streamed: bool,
}

/// Sends one message. The text of a model is printed as it arrives; Ctrl-C cancels the turn, not
/// the program.
async fn say_it(chat: &ChatService, turn: &Turn, json: bool) -> Result<PrintedReply, Failure> {
    let terminal = std::io::stderr().is_terminal() && !json;
    let streams = std::io::stdout().is_terminal() && !json;
    let written = Mutex::new(String::new());
    let tell = |heard: ProgressEvent| {
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        let line = match heard {
            ProgressEvent::Text { delta } => {
                let plain: String = delta.chars().filter(|c| !c.is_control() || *c == '\n').collect();
                if streams {
                    print!("{plain}");
                    let _shown = std::io::stdout().flush();
                    written.push_str(&plain);
                }
                return;
            }
            ProgressEvent::TextReset => {
                if streams && !std::mem::take(&mut *written).is_empty() {
                    say("");
                }
                return;
            }
            _ if !terminal => return,
            ProgressEvent::Waiting { servers } => format!("· wait for {} to start …", servers.join(", ")),
            ProgressEvent::Working { what } => format!("· {what} …"),
            ProgressEvent::Began { what, .. } => format!("· {what} …"),
            ProgressEvent::Ended { well, took, .. } => {
                format!("{} {} ms\n", if well { "✓" } else { "✗" }, took.as_millis())
            }
            ProgressEvent::Understood { .. }
            | ProgressEvent::Started(_)
            | ProgressEvent::Token { .. }
            | ProgressEvent::Doing(_)
            | ProgressEvent::Happened(_) => return,
        };
        eprint!("\r\u{1b}[2K\u{1b}[90m{line}\u{1b}[0m");
        let _shown = std::io::stderr().flush();
    };
    let stop = CancellationToken::new();
    let saying = chat.answer_until(turn, &tell, &stop);
    tokio::pin!(saying);
    let reply = tokio::select! {
        reply = &mut saying => reply,
        _ = tokio::signal::ctrl_c() => {
            stop.cancel();
            saying.await
        }
    };
    let written = written.lock().unwrap_or_else(PoisonError::into_inner);
    if !written.is_empty() {
        say("");
    }
    let reply = reply?;
    let streamed = !written.is_empty() && written.trim() == reply.response.answer.trim();
    Ok(PrintedReply { reply, streamed })
}

fn show(said: &PrintedReply, explain: bool) {
    let PrintedReply { reply, streamed } = said;
    reply.decisions.iter().for_each(|told| say(paint(Tone::Strong, told)));
    if *streamed {
        // It was already printed.
    } else if let Some(question) = &reply.question {
        let before =
            reply.response.answer.strip_suffix(question.text.as_str()).unwrap_or(&reply.response.answer);
        if !before.trim().is_empty() {
            say(before.trim_end());
        }
    } else {
        say(&reply.response.answer);
    }
    reply.tables.iter().take(4).for_each(rows);
    reply.analyses.iter().for_each(ask::tables);
    for missing in reply.missing.iter().filter(|_| reply.outcome == Outcome::Partial) {
        say(paint(Tone::Warn, &format!("Missing: {}. {}", missing.part, missing.reason)));
    }
    if let Some(question) = &reply.question {
        asked(question, *streamed);
    }
    for task in &reply.waiting {
        say(paint(Tone::Quiet, &format!("decide with: steward approvals approve {task}")));
    }
    if explain {
        say("");
        reply.reasons.iter().for_each(|reason| say(paint(Tone::Quiet, &format!("  {reason}"))));
        for step in &reply.steps {
            let tool = step.tool.as_deref().unwrap_or("analysis");
            say(paint(Tone::Quiet, &format!("  {tool}: {} ms", step.milliseconds)));
        }
    }
    if !reply.response.suggestions.is_empty() {
        say("");
        for suggestion in &reply.response.suggestions {
            say(format!("{} {suggestion}", paint(Tone::Quiet, "next:")));
        }
    }
    footer(reply);
}

fn asked(question: &Asked, is_written: bool) {
    if !is_written {
        say(&question.text);
    }
    for (place, option) in question.options.iter().enumerate() {
        say(format!("  {}. {}", place + 1, option.label));
    }
}

/// Rows of a tool's result.
fn rows(shown: &Shown) {
    // One row with one or two cells is already part of the sentence.
    if shown.table.rows.len() < 2 {
        return;
    }
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(shown.table.columns.iter().map(|name| name.replace('_', " ")));
    if !std::io::stdout().is_terminal() {
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    }
    for row in shown.table.rows.iter().take(20) {
        table.add_row(row.iter().map(|cell| short(&plain(cell), 60)));
    }
    say("");
    say(table);
    let more = shown.table.rows.len().saturating_sub(20);
    if more > 0 {
        say(paint(Tone::Quiet, &format!("… {more} more")));
    }
}

fn footer(reply: &Reply) {
    if !matches!(reply.outcome, Outcome::Answered | Outcome::Partial) {
        return;
    }
    let confidence = match reply.response.confidence {
        Certainty::High => paint(Tone::Good, "high confidence"),
        Certainty::Medium => paint(Tone::Warn, "medium confidence"),
        Certainty::Low => paint(Tone::Bad, "low confidence"),
    };
    let sources: Vec<&str> = reply.response.sources.iter().map(|source| source.as_str()).collect();
    let from = if sources.is_empty() { String::new() } else { format!(" · {}", sources.join(", ")) };
    let by = reply.model.as_deref().map(model_line).unwrap_or_default();
    let rest = format!(
        "{from}{by} · {} ms · conversation {}",
        reply.response.total_execution_time_ms, reply.conversation_id
    );
    say(format!("{confidence}{}", paint(Tone::Quiet, &rest)));
}

/// The model and its usage.
fn model_line(used: &ModelUsed) -> String {
    let cost = match used.cost_micros {
        0 => String::new(),
        micros => format!(", {:.4}", micros as f64 / 1e6),
    };
    let how = match used.strategy {
        Strategy::PlanFirst => "plan first",
        Strategy::StepByStep => "step by step",
    };
    format!(" · {} ({how}, {} tokens{cost})", used.name, used.tokens)
}

const HELP: &str = "Say what you want to know or have done. A number chooses from a list.
  /new       begin anew          /why    how the last message was read
  /history   what was said       /tools  what can be used
  /quit      leave (or Ctrl-D)";

/// The source of input lines: an editor at a terminal, plain lines from a pipe.
enum Lines {
    Editor(Box<rustyline::DefaultEditor>, PathBuf),
    Pipe,
}

impl Lines {
    fn open(history: PathBuf) -> Self {
        if !std::io::stdin().is_terminal() {
            return Self::Pipe;
        }
        match rustyline::DefaultEditor::new() {
            Ok(mut editor) => {
                let _there_is_none_yet = editor.load_history(&history);
                Self::Editor(Box::new(editor), history)
            }
            Err(_) => Self::Pipe,
        }
    }

    fn next(&mut self) -> Option<String> {
        match self {
            Self::Editor(editor, history) => loop {
                match editor.readline("› ") {
                    Ok(line) => {
                        let _only_for_comfort = editor.add_history_entry(line.as_str());
                        let _only_for_comfort = editor.save_history(history);
                        return Some(line);
                    }
                    // Ctrl-C discards the line, not the conversation.
                    Err(ReadlineError::Interrupted) => {}
                    Err(_) => return None,
                }
            },
            Self::Pipe => {
                let mut line = String::new();
                let read = std::io::stdin().lock().read_line(&mut line).ok()?;
                (read > 0).then(|| line.trim_end_matches('\n').to_owned())
            }
        }
    }
}

/// An interactive prompt for one conversation.
async fn prompt(chat: &ChatService, mut turn: Turn, history: PathBuf, explain: bool) -> Result<(), Failure> {
    if std::io::stdin().is_terminal() {
        say(paint(Tone::Quiet, "Say what you want to know or have done. /help for more, Ctrl-D to leave."));
    }
    let mut lines = Lines::open(history);
    let mut last: Option<Reply> = None;
    while let Some(line) = lines.next() {
        let line = line.trim().to_owned();
        match line.as_str() {
            "" => continue,
            "/quit" | "/exit" => break,
            "/help" => say(HELP),
            "/new" => {
                (turn.conversation, last) = (None, None);
                say(paint(Tone::Quiet, "A new conversation."));
            }
            "/why" => match &last {
                Some(reply) => reply.reasons.iter().for_each(|reason| say(format!("  {reason}"))),
                None => say(paint(Tone::Quiet, "Nothing was said yet.")),
            },
            "/history" => shown_before(chat, &turn).await?,
            "/tools" => tools(chat, &turn).await?,
            command if command.starts_with('/') => say(format!("There is no {command}.\n{HELP}")),
            _ => {
                turn.choice = chosen(&line, last.as_ref());
                turn.said = line;
                match say_it(chat, &turn, false).await {
                    Ok(said) => {
                        turn.conversation = Some(said.reply.conversation_id);
                        show(&said, explain);
                        last = Some(said.reply);
                    }
                    Err(failure) => failure.print(false),
                }
                say("");
            }
        }
    }
    Ok(())
}

/// A number selects one of the options offered.
fn chosen(line: &str, last: Option<&Reply>) -> Option<OptionChoice> {
    let option = line.parse::<usize>().ok()?.checked_sub(1)?;
    let reply = last?;
    reply.question.as_ref()?.options.get(option)?;
    Some(OptionChoice { question: Some(reply.task_id), option })
}

async fn shown_before(chat: &ChatService, turn: &Turn) -> Result<(), Failure> {
    let Some(id) = turn.conversation else {
        say(paint(Tone::Quiet, "Nothing was said yet."));
        return Ok(());
    };
    let store = &chat.toolbox().app().store;
    let scope = steward_store::Scope::User(turn.caller.user.clone());
    for message in store.history(&scope, id, steward_store::Page::first(50)).await? {
        let who = if message.role == steward_domain::Role::User { "›" } else { " " };
        say(format!("{} {}", paint(Tone::Strong, who), short(message.content.as_str(), 200)));
    }
    Ok(())
}

async fn tools(chat: &ChatService, turn: &Turn) -> Result<(), Failure> {
    let reader = chat.reader(&turn.caller, &turn.data).await?;
    for topic in reader.domains() {
        say(paint(Tone::Strong, &topic.title));
        for intent in &topic.intents {
            say(format!("  {} {}", intent.name, paint(Tone::Quiet, &short(&intent.description, 80))));
        }
    }
    Ok(())
}

/// Whether any domain is configured.
pub(super) async fn has_domains(chat: &ChatService, context: &Context) -> Result<bool, Failure> {
    let caller = crate::toolbox::caller(context);
    Ok(chat.reader(&caller, &[]).await?.domains().next().is_some())
}

/// A turn of one question.
pub(super) fn turn(context: &Context, said: &str, conversation: Option<ConversationId>) -> Turn {
    let caller = crate::toolbox::caller(context);
    Turn { said: said.to_owned(), conversation, caller, data: Vec::new(), choice: None }
}
