//! `steward run` and `steward workflow`: workflows and agents.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, short};
use crate::toolbox;
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;
use steward_engine::{Effect, Event, ToolOutcome};
use steward_runtime::run::{Awaited, ProgressEvent, Ran, RunStatus, Runner, Watch};
use steward_runtime::toolbox::Toolbox;

#[derive(Args)]
#[command(after_help = "Examples:
  steward run summarize_sales --input '{\"file\": \"sales.csv\"}'
  steward run examples/workflows/tool_fallback.yaml --input '{\"city\": \"Oslo\"}' --watch
  steward run assistant --input 'what is 15% of 80?'")]
pub(crate) struct Run {
    /// A workflow or an agent: its name in the home, or a file.
    name: String,
    /// The input: JSON, or text.
    #[arg(long, short, default_value = "null")]
    input: String,
    /// Show each step while it runs.
    #[arg(long)]
    watch: bool,
    /// Queue it for the workers and return at once.
    #[arg(long, conflicts_with = "watch")]
    detach: bool,
}

#[derive(Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Checks a workflow or an agent without running it.
    Check {
        /// Its name, or a file.
        name: String,
    },
    /// Draws the graph, as Mermaid or, with --out FILE.svg, as SVG.
    Graph {
        /// Its name, or a file.
        name: String,
        /// The output file.
        #[arg(long, short)]
        out: Option<PathBuf>,
    },
}

/// The runner for a command.
pub(super) async fn runner(context: &Context) -> Result<(Runner, Arc<Toolbox>), Failure> {
    let toolbox = Arc::new(toolbox::open(context, false).await?);
    Ok((over(context, &toolbox)?, toolbox))
}

/// The same with an open toolbox.
pub(super) fn over(context: &Context, toolbox: &Arc<Toolbox>) -> Result<Runner, Failure> {
    Ok(Runner::new(toolbox.clone(), context.models()?, context.home.path.clone())?)
}

pub(super) async fn run(context: &Context, command: Run) -> Result<(), Failure> {
    let (runner, toolbox) = runner(context).await?;
    let input = serde_json::from_str(&command.input).unwrap_or_else(|_| Json::from(command.input.clone()));
    if command.detach {
        let task = runner.submit(&context.settings.user, &command.name, &input).await;
        toolbox.close().await;
        return queued(context, task?);
    }
    let watch = command.watch.then(watch);
    let ran = runner.start(&context.settings.user, &command.name, input, watch).await;
    let result = match ran {
        Ok(ran) => shown(context, &toolbox, &ran).await,
        Err(error) => Err(error.into()),
    };
    toolbox.close().await;
    result
}

fn queued(context: &Context, task: steward_domain::TaskId) -> Result<(), Failure> {
    if context.json {
        document(&json!({ "task": task, "status": "pending" }));
    } else {
        say(format!("queued · task {task}"));
        say(paint(
            Tone::Quiet,
            &format!("steward worker takes it up; steward task watch {task} shows how it goes"),
        ));
    }
    Ok(())
}

pub(super) async fn workflow(context: &Context, command: WorkflowCommand) -> Result<(), Failure> {
    let (runner, toolbox) = runner(context).await?;
    let result = match &command {
        WorkflowCommand::Check { name } | WorkflowCommand::Graph { name, .. } => runner.program(name).await,
    };
    toolbox.close().await;
    let program = result?;
    match command {
        WorkflowCommand::Check { .. } if context.json => {
            document(&json!({ "valid": true, "version": program.version(), "nodes": program.nodes().len() }));
        }
        WorkflowCommand::Check { .. } => {
            say(format!(
                "{} {}, {} nodes",
                paint(Tone::Good, "valid:"),
                program.definition().root.title(),
                program.nodes().len()
            ));
        }
        WorkflowCommand::Graph { out: Some(path), .. }
            if path.extension().is_some_and(|ending| ending == "svg") =>
        {
            std::fs::write(&path, program.to_svg(None)).map_err(|error| Failure::file(&path, &error))?;
            say(path.display());
        }
        WorkflowCommand::Graph { out: Some(path), .. } => {
            std::fs::write(&path, program.to_mermaid(None)).map_err(|error| Failure::file(&path, &error))?;
            say(path.display());
        }
        WorkflowCommand::Graph { out: None, .. } => say(program.to_mermaid(None)),
    }
    Ok(())
}

/// Shows the status of a run. A failed run fails the command.
pub(super) async fn shown(context: &Context, toolbox: &Toolbox, ran: &Ran) -> Result<(), Failure> {
    let (status, detail) = match &ran.standing {
        RunStatus::Completed(result) => ("completed", result.clone()),
        RunStatus::Failed(why) => ("failed", Json::from(why.as_str())),
        RunStatus::Rejected(why) => ("rejected", Json::from(why.as_str())),
        RunStatus::Cancelled(by) => ("cancelled", Json::from(by.as_str())),
        RunStatus::Waiting => ("paused", Json::Null),
        RunStatus::HandedOver => ("running", Json::Null),
    };
    if context.json {
        document(&json!({ "task": ran.task, "status": status, "steps": ran.steps, "result": detail }));
    } else {
        match &ran.standing {
            RunStatus::Completed(Json::String(text)) => say(text),
            RunStatus::Completed(result) => say(serde_json::to_string_pretty(result).unwrap_or_default()),
            RunStatus::Waiting => say(waits(context, toolbox, ran).await),
            RunStatus::Rejected(why) => say(paint(Tone::Warn, why)),
            RunStatus::Cancelled(by) => say(format!("called off by {by}")),
            RunStatus::HandedOver => say("handed over: whoever is free goes on with it"),
            RunStatus::Failed(_) => {}
        }
        say(paint(Tone::Quiet, &format!("{status} after {} events · task {}", ran.steps, ran.task)));
    }
    match &ran.standing {
        RunStatus::Failed(why) => {
            let page = ran.page.unwrap_or("ENG007");
            Err(Failure::of(page, steward_domain::ErrorClass::User, why.clone()))
        }
        _ => Ok(()),
    }
}

/// What a run waits for, and what brings it on.
async fn waits(context: &Context, toolbox: &Toolbox, ran: &Ran) -> String {
    let task = ran.task;
    match &ran.awaited {
        Some(Awaited::Signal(name)) => {
            format!("waits for the signal {name}: steward task signal {task} {name} --data '{{…}}'")
        }
        Some(Awaited::Until(at)) => {
            format!("waits until {at}: a worker goes on then, or steward task resume {task}")
        }
        Some(Awaited::SubTask) => "waits for a task that it started".to_owned(),
        Some(Awaited::Person) | None => {
            let command = super::approvals::approve_command(context, toolbox, task).await;
            format!("waits for a person: {command}")
        }
    }
}

/// One line for each step, on the error output.
pub(super) fn watch() -> Watch {
    Arc::new(|seen| {
        if let Some(line) = line(seen) {
            eprintln!("{line}");
        }
    })
}

/// The line for a progress event.
pub(super) fn line(seen: ProgressEvent) -> Option<String> {
    Some(match seen {
        ProgressEvent::Started(task) => format!("{} {task}", paint(Tone::Strong, "run")),
        ProgressEvent::Doing(Effect::CallTool { tool, arguments, attempt, .. }) => {
            let again = if attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
            format!("→ {tool} {}{again}", short(&Json::Object(arguments).to_string(), 80))
        }
        ProgressEvent::Doing(Effect::CallModel { agent, .. }) => format!("→ {agent} thinks"),
        ProgressEvent::Doing(Effect::StartSub { agent, task, .. }) => {
            format!("→ {agent}: {}", short(&task, 80))
        }
        ProgressEvent::Doing(Effect::StartWorkflow { workflow, task_id, .. }) => {
            format!("→ workflow {workflow}: task {task_id}")
        }
        ProgressEvent::Doing(Effect::AwaitSignal { name, .. }) => {
            paint(Tone::Warn, &format!("? waits for the signal {name}"))
        }
        ProgressEvent::Doing(Effect::AskHuman { question, .. }) => {
            paint(Tone::Warn, &format!("? {}", short(&question.text, 100)))
        }
        ProgressEvent::Doing(Effect::Checkpoint { position, .. }) => {
            paint(Tone::Quiet, &format!("  at {position}"))
        }
        ProgressEvent::Happened(Event::ToolEnded { outcome, .. }) => match outcome {
            ToolOutcome::Success { output, .. } | ToolOutcome::Found { output, .. } => {
                paint(Tone::Good, &format!("← {}", short(&output.to_string(), 90)))
            }
            other => paint(Tone::Bad, &format!("← {}", short(&format!("{other:?}"), 90))),
        },
        ProgressEvent::Happened(Event::ModelReplied { reply, .. }) if !reply.text.is_empty() => {
            format!("← {}", short(&reply.text, 90))
        }
        ProgressEvent::Happened(Event::ModelFailed { message, .. }) => {
            paint(Tone::Bad, &format!("← {}", short(&message, 90)))
        }
        _ => return None,
    })
}
