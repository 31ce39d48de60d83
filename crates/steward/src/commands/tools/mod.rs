//! `steward tools`: lists, searches and calls tools.

mod person;
mod result;

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, short, table};
use crate::toolbox;
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;
use steward_domain::{JsonObject, Label, ToolOrigin};
use steward_policy::Approval;
use steward_runtime::toolbox::Toolbox;
use steward_tools::call::{Receipt, Request};
use steward_tools::registry::Filter;
use steward_tools::{ApprovalRequest, Registered};

use person::Terminal;
use result::{print, printable};

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward tools list
  steward tools search \"what time is it in Tokyo?\"
  steward tools show math.eval
  steward tools call math.eval expression='15% of 80'
  steward tools call file.read --args '{\"path\": \"notes.txt\"}'
  steward tools test everything.echo")]
pub(crate) enum Tools {
    /// Lists every tool, with its origin and whether it can be called.
    List {
        /// Only tools of this domain.
        #[arg(long)]
        domain: Option<String>,
        /// Only tools of this category.
        #[arg(long)]
        category: Option<String>,
        /// Only tools of this MCP server.
        #[arg(long)]
        server: Option<String>,
        /// Refresh the tool lists of all MCP servers.
        #[arg(long)]
        refresh: bool,
    },
    /// Shows a tool: its parameters, its result and its settings.
    Show {
        /// The tool's name.
        name: String,
    },
    /// Finds the tools for a request in plain language, and fills in their arguments.
    Search {
        /// The request, in plain language.
        request: String,
        /// How many to show.
        #[arg(long, default_value_t = 5)]
        limit: usize,
    },
    /// Calls a tool.
    Call(Call),
    /// Calls a tool with its example, or without arguments, and shows the outcome and the duration.
    Test {
        /// The tool's name.
        name: String,
        /// Arguments, as one JSON object.
        #[arg(long, value_name = "JSON")]
        args: Option<String>,
    },
}

#[derive(Args)]
pub(crate) struct Call {
    /// The tool's name; the server may be omitted if the name is unique.
    name: String,
    /// Arguments as `name=value`. A value is parsed as JSON if possible, unless the tool expects
    /// text.
    arguments: Vec<String>,
    /// Arguments, as one JSON object.
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Time limit in seconds.
    #[arg(long, default_value_t = 300)]
    timeout: u64,
    /// The folder for images and audio.
    #[arg(long, short, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Approve the call with this digest in advance.
    #[arg(long, value_name = "DIGEST")]
    approve: Option<String>,
}

pub(super) async fn run(context: &Context, command: Tools) -> Result<(), Failure> {
    let toolbox = toolbox::open(context, false).await?;
    let result = match command {
        Tools::List { domain, category, server, refresh } => {
            list(context, &toolbox, domain.as_deref(), category.as_deref(), server.as_deref(), refresh).await
        }
        Tools::Show { name } => show(context, &toolbox, &name).await,
        Tools::Search { request, limit } => search(context, &toolbox, &request, limit).await,
        Tools::Call(call) => self::call(context, &toolbox, &call).await,
        Tools::Test { name, args } => test(context, &toolbox, &name, args.as_deref()).await,
    };
    toolbox.close().await;
    result
}

async fn list(
    context: &Context,
    toolbox: &Toolbox,
    domain: Option<&str>,
    category: Option<&str>,
    server: Option<&str>,
    refresh: bool,
) -> Result<(), Failure> {
    let looked = if refresh { toolbox.review_all_servers().await } else { Vec::new() };
    tell_missing(looked.into_iter().filter_map(|(name, looked)| Some((name, looked.err()?))).collect());
    tell_missing(toolbox.review_new_servers().await);
    let domain = domain.map(str::parse).transpose()?;
    let category = category.map(str::parse).transpose()?;
    let server = server.map(str::parse).transpose()?;
    let filter = Filter {
        domain: domain.as_ref(),
        category: category.as_ref(),
        server: server.as_ref(),
        everything: true,
        ..Filter::default()
    };
    let tools = toolbox.registry().list(&filter);
    let held = held_back(toolbox, &tools)?;
    if context.json {
        let tools = tools.iter().map(|tool| described(tool, &held));
        document(&json!({ "tools": tools.collect::<Vec<_>>() }));
        return Ok(());
    }
    let rows = tools.iter().map(|tool| {
        let definition = &tool.definition;
        let state = match (&tool.settings.off, held.get(definition.tool_name.as_str())) {
            (Some(_), _) => paint(Tone::Quiet, "off"),
            (None, Some(_)) => paint(Tone::Warn, "held back"),
            (None, None) => paint(Tone::Good, "ready"),
        };
        vec![
            definition.tool_name.to_string(),
            definition.tool_version.to_string(),
            origin(tool),
            state,
            short(&definition.description, 70),
        ]
    });
    table(&["tool", "version", "from", "state", "what it does"], rows.collect(), "no tools fit");
    for name in held.keys() {
        let (server, _) = name.split_once('.').unwrap_or_default();
        say(paint(
            Tone::Warn,
            &format!(
                "{name} was changed by its server: `steward tools show {name}`, then `steward mcp-servers \
                    accept {server}`"
            ),
        ));
    }
    for problem in &toolbox.registry().snapshot().problems {
        say(paint(Tone::Warn, problem));
    }
    Ok(())
}

fn origin(tool: &Registered) -> String {
    match (tool.definition.origin, &tool.definition.server) {
        (ToolOrigin::Mcp, Some(server)) => format!("mcp: {server}"),
        (ToolOrigin::SubAgent, _) => "agent".to_owned(),
        (ToolOrigin::Configured, _) => "configured".to_owned(),
        _ => "built in".to_owned(),
    }
}

/// Tools that are blocked until a person accepts a change of their server, each with the change.
fn held_back(toolbox: &Toolbox, tools: &[Registered]) -> Result<BTreeMap<String, String>, Failure> {
    let servers: BTreeSet<_> = tools.iter().filter_map(|tool| tool.definition.server.as_ref()).collect();
    let mut held = BTreeMap::new();
    for server in servers {
        held.extend(toolbox.pins().held_back(server)?);
    }
    held.retain(|name, _| tools.iter().any(|tool| tool.definition.tool_name.as_str() == name));
    Ok(held)
}

fn described(tool: &Registered, held: &BTreeMap<String, String>) -> Json {
    let mut definition = serde_json::to_value(&**tool.definition).unwrap_or_default();
    if let Json::Object(definition) = &mut definition {
        definition.insert("settings".into(), json!(*tool.settings));
        if let Some(change) = held.get(tool.definition.tool_name.as_str()) {
            definition.insert("held_back".into(), json!(change));
        }
    }
    definition
}

async fn show(context: &Context, toolbox: &Toolbox, name: &str) -> Result<(), Failure> {
    let tool = resolve(toolbox, name).await?;
    let held = held_back(toolbox, std::slice::from_ref(&tool))?;
    if context.json {
        document(&described(&tool, &held));
        return Ok(());
    }
    let definition = &tool.definition;
    say(format!("{} {}", paint(Tone::Strong, definition.tool_name.as_str()), definition.tool_version));
    say(&*definition.description);
    say("");
    let settings = &tool.settings;
    let permissions: Vec<&str> = settings.permissions.iter().map(Label::as_str).collect();
    let limits: Vec<String> =
        settings.rate_limits.iter().map(|(window, most)| format!("{most} {window}")).collect();
    let fallbacks: Vec<&str> =
        definition.fallback_tools.iter().map(steward_domain::ToolName::as_str).collect();
    let state = match (&settings.off, held.is_empty()) {
        (Some(why), _) => format!("off: {why}"),
        (None, true) => "ready".to_owned(),
        (None, false) => "held back: its server changed it".to_owned(),
    };
    let word = |value: Json| value.as_str().unwrap_or_default().replace('_', " ");
    let facts = [
        ("from", origin(&tool)),
        ("state", state),
        ("domain", definition.application_domain.to_string()),
        ("category", definition.category.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("asks a person", word(json!(definition.approval))),
        ("repeating it", word(json!(definition.idempotency))),
        ("time", format!("{} s", definition.timeout_seconds)),
        ("retries", settings.retries.to_string()),
        ("needs", permissions.join(", ")),
        ("limits", limits.join(", ")),
        ("stands in", fallbacks.join(", ")),
    ];
    for (fact, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        say(format!("{} {value}", paint(Tone::Quiet, &format!("{fact:>14}"))));
    }
    say("");
    say(paint(Tone::Strong, "Arguments"));
    arguments_table(&definition.parameter_schema);
    for example in settings.examples.iter().take(4) {
        say(paint(Tone::Quiet, &format!("  “{}”", example.request)));
    }
    if let Some(server) = &definition.server {
        for (tool, change) in toolbox.pins().waiting(server)? {
            say(paint(Tone::Warn, &format!("{tool} waits to be accepted: {change}")));
            say(paint(Tone::Warn, &format!("  accept it with `steward mcp-servers accept {server}`")));
        }
    }
    Ok(())
}

fn arguments_table(schema: &JsonObject) {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Json::as_object);
    let rows = properties.into_iter().flatten().map(|(name, property)| {
        let kind = steward_tools::arguments::kind(schema, property);
        let needed = if required.contains(&name.as_str()) { "yes" } else { "" };
        let about = property.get("description").and_then(Json::as_str).unwrap_or_default();
        vec![name.clone(), kind, needed.to_owned(), short(about, 80)]
    });
    table(&["name", "type", "needed", "what"], rows.collect(), "  takes nothing");
}

/// The tool of this name; servers that were never contacted are queried.
async fn resolve(toolbox: &Toolbox, name: &str) -> Result<Registered, Failure> {
    if let Ok(found) = toolbox.registry().resolve(None, name) {
        return Ok(found.registered);
    }
    toolbox.review_all_servers().await;
    Ok(toolbox.registry().resolve(None, name)?.registered)
}

/// Reports which servers' tools are missing from the list, and why.
fn tell_missing(servers: Vec<(steward_domain::ServerName, steward_tools::Error)>) {
    for (name, error) in servers {
        eprintln!("{}", paint(Tone::Warn, &format!("without the tools of {name}: {error}")));
    }
}

async fn search(context: &Context, toolbox: &Toolbox, request: &str, limit: usize) -> Result<(), Failure> {
    tell_missing(toolbox.review_new_servers().await);
    let found = toolbox.search(&toolbox::caller(context), request, limit.clamp(1, 50)).await?;
    if context.json {
        let candidates = found.candidates.iter().map(|candidate| {
            let mappings = candidate.arguments.mappings.iter().map(|mapping| {
                json!({ "parameter": mapping.parameter, "value": mapping.value, "said": mapping.said.as_ref().map(|said| &said.0) })
            });
            json!({
                "tool_name": candidate.tool, "tool_version": candidate.version, "confidence": candidate.confidence,
                "reasons": candidate.reasons, "arguments": candidate.arguments.arguments,
                "mapping": mappings.collect::<Vec<_>>(), "missing": candidate.arguments.missing,
            })
        });
        let question = found.question.as_ref().map(|question| {
            let options =
                question.options.iter().map(|(tool, what)| json!({ "tool_name": tool, "what": what }));
            json!({ "text": question.text, "options": options.collect::<Vec<_>>() })
        });
        document(&json!({ "candidates": candidates.collect::<Vec<_>>(), "question": question }));
        return Ok(());
    }
    for candidate in &found.candidates {
        let sure = format!("{:3.0} %", candidate.confidence * 100.0);
        say(format!("{sure}  {}", paint(Tone::Strong, candidate.tool.as_str())));
        say(paint(Tone::Quiet, &format!("       {}", candidate.reasons.join("; "))));
        for mapping in &candidate.arguments.mappings {
            let said = mapping.said.as_ref().map(|said| format!("  from “{}”", said.0)).unwrap_or_default();
            say(format!("       {} = {}{}", mapping.parameter, mapping.value, paint(Tone::Quiet, &said)));
        }
        if !candidate.arguments.missing.is_empty() {
            say(paint(
                Tone::Warn,
                &format!("       still needed: {}", candidate.arguments.missing.join(", ")),
            ));
        }
    }
    if let Some(question) = &found.question {
        say("");
        say(&question.text);
    }
    Ok(())
}

async fn call(context: &Context, toolbox: &Toolbox, call: &Call) -> Result<(), Failure> {
    // How a value is parsed depends on the tool's schema; an unknown tool is reported by the call
    // itself.
    let schema = if call.arguments.is_empty() {
        JsonObject::new()
    } else {
        let tool = resolve(toolbox, &call.name).await;
        tool.map(|tool| tool.definition.parameter_schema.clone()).unwrap_or_default()
    };
    let mut request = Request::new(toolbox::caller(context), &call.name, arguments(call, &schema)?);
    request.context.timeout = Duration::from_secs(call.timeout.clamp(1, 3600));
    request.context.human = std::sync::Arc::new(Terminal);
    if let Some(digest) = &call.approve {
        request.approval = Some(Approval {
            digest: digest.parse()?,
            by: Label::new(context.settings.user.as_str())?,
            gate: None,
        });
    }
    let terminal = std::io::stderr().is_terminal() && !context.json;
    if terminal {
        request.context.progress = Some(std::sync::Arc::new(|progress: steward_tools::Progress| {
            let total = progress.total.map(|total| format!("/{total}")).unwrap_or_default();
            eprint!("\r\u{1b}[2K{}{total} {} …", progress.done, progress.message.unwrap_or_default());
            let _shown = std::io::stderr().flush();
        }));
    }
    let cancel = request.context.cancel.clone();
    let result = {
        let mut calling = std::pin::pin!(toolbox.call(&request));
        tokio::select! {
            result = &mut calling => result,
            _ = tokio::signal::ctrl_c() => {
                // The call ends by itself, and its end is recorded.
                cancel.cancel();
                calling.await
            }
        }
    };
    if terminal {
        eprint!("\r\u{1b}[2K");
    }
    let receipt = match result {
        Err(steward_runtime::Error::Tools(steward_tools::Error::ApprovalNeeded(needed))) => {
            approved(context, toolbox, request, &needed).await?
        }
        other => other?,
    };
    shown(context, call, &receipt)
}

/// Asks for approval at the terminal; without one, the call waits as a task.
async fn approved(
    context: &Context,
    toolbox: &Toolbox,
    mut request: Request,
    needed: &ApprovalRequest,
) -> Result<Receipt, Failure> {
    let ApprovalRequest { tool, digest, reason } = needed;
    if !std::io::stdin().is_terminal() || context.json {
        let waiting = toolbox.approvals().wait(&request, needed).await?;
        let command = super::approvals::approve_command(context, toolbox, waiting.task).await;
        let message = format!("{reason}. It waits: `{command}`");
        return Err(Failure::of("TOL006", steward_domain::ErrorClass::Denied, message));
    }
    eprintln!("{reason}.");
    eprintln!("{} {}", paint(Tone::Strong, tool.as_str()), Json::Object(request.arguments.clone()));
    eprint!("Call it? [y/N] ");
    let _shown = std::io::stderr().flush();
    let mut line = String::new();
    let _read = std::io::stdin().read_line(&mut line);
    if !line.trim().eq_ignore_ascii_case("y") {
        return Err(Failure::of("TOL006", steward_domain::ErrorClass::Denied, "not approved".to_owned()));
    }
    let by = Label::new(context.settings.user.as_str())?;
    request.approval = Some(Approval { digest: digest.clone(), by, gate: None });
    Ok(toolbox.call(&request).await?)
}

fn arguments(call: &Call, schema: &JsonObject) -> Result<JsonObject, Failure> {
    let wrong = |what: String| Failure::user("CLI004", what);
    let mut arguments: JsonObject = match &call.args {
        Some(text) => {
            serde_json::from_str(text).map_err(|error| wrong(format!("--args is no JSON object: {error}")))?
        }
        None => JsonObject::new(),
    };
    for pair in &call.arguments {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            wrong(format!("{pair:?}: write arguments as name=value, or all of them with --args"))
        })?;
        arguments.insert(name.to_owned(), steward_tools::arguments::read(schema, name, value));
    }
    Ok(arguments)
}

fn shown(context: &Context, call: &Call, receipt: &Receipt) -> Result<(), Failure> {
    if context.json {
        document(&json!({
            "call_id": receipt.call, "tool_name": receipt.tool, "tool_version": receipt.version,
            "chain": receipt.chain, "notes": receipt.notes, "attempts": receipt.attempts,
            "took_ms": receipt.took.as_secs_f64() * 1000.0, "trust": "untrusted", "output": receipt.output,
        }));
        return Ok(());
    }
    for note in &receipt.notes {
        eprintln!("{}", paint(Tone::Warn, note));
    }
    print(&receipt.output, call.out.as_deref())?;
    eprintln!(
        "{}",
        paint(
            Tone::Quiet,
            &format!(
                "{} · {:.0} ms · steward audit export {}",
                receipt.tool,
                receipt.took.as_secs_f64() * 1000.0,
                receipt.chain
            )
        )
    );
    Ok(())
}

async fn test(context: &Context, toolbox: &Toolbox, name: &str, args: Option<&str>) -> Result<(), Failure> {
    let tool = resolve(toolbox, name).await?;
    let arguments: JsonObject = match args {
        Some(text) => {
            serde_json::from_str(text).map_err(|error| Failure::user("CLI004", format!("--args: {error}")))?
        }
        None => {
            let with_arguments = tool.settings.examples.iter().find(|example| !example.arguments.is_empty());
            with_arguments.map(|example| example.arguments.clone()).unwrap_or_default()
        }
    };
    let mut request =
        Request::new(toolbox::caller(context), tool.definition.tool_name.as_str(), arguments.clone());
    request.context.timeout = Duration::from_secs(60);
    say(format!("{} {}", paint(Tone::Strong, tool.definition.tool_name.as_str()), Json::Object(arguments)));
    let receipt = toolbox.call(&request).await?;
    say(short(&printable(&receipt.output.words()), 300));
    say(format!(
        "{} in {:.0} ms, {} attempt(s)",
        paint(Tone::Good, "works"),
        receipt.took.as_secs_f64() * 1000.0,
        receipt.attempts
    ));
    Ok(())
}
