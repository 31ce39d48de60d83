//! `steward task`: tasks and their steps.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, short, table};
use clap::{Subcommand, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};
use steward_domain::{StepLevel, TaskId, TaskStatus};
use steward_runtime::run::NewSignal;
use steward_store::trace::trace;
use steward_store::{Error, Page, TaskFilter};

#[derive(Subcommand)]
pub(crate) enum Task {
    /// List tasks, newest first.
    List {
        /// Only those with this status.
        #[arg(long)]
        status: Option<Status>,
        /// Maximum number.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Show a task: its description and its result.
    Show {
        /// The task.
        id: TaskId,
        /// Show the state of the run after this many events instead.
        #[arg(long)]
        step: Option<usize>,
    },
    /// Follow a run, on whichever worker it runs.
    Watch {
        /// The task.
        id: TaskId,
        /// Keep following while it waits for a person.
        #[arg(long)]
        follow: bool,
    },
    /// Replay a run from its journal without calling anything. Reports the first step that differs.
    Replay {
        /// The task.
        id: TaskId,
        /// A workflow or agent other than the original: its name, or a file.
        #[arg(long, value_name = "NAME")]
        with: Option<String>,
    },
    /// Show the steps of a task, from its journal.
    Trace {
        /// The task.
        id: TaskId,
    },
    /// Resume an interrupted run of a workflow or an agent.
    Resume {
        /// The task.
        id: TaskId,
    },
    /// Send a run the signal that one of its nodes waits for.
    Signal {
        /// Which run.
        id: TaskId,
        /// The name of the signal.
        name: String,
        /// What it carries: JSON, or text.
        #[arg(long, default_value = "null")]
        data: String,
        /// A key that counts once: the same again changes nothing.
        #[arg(long)]
        key: Option<String>,
    },
    /// Call a run off.
    Cancel {
        /// The task.
        id: TaskId,
    },
    /// Start a new run with the first events of another.
    Fork {
        /// The task.
        id: TaskId,
        /// The number of events to copy.
        #[arg(long)]
        steps: usize,
    },
    /// Write task.json, checkpoint_NNN.json and trace.json into tasks/ID below a folder.
    Export {
        /// The task.
        id: TaskId,
        /// The folder.
        #[arg(long, default_value = ".", value_name = "FOLDER")]
        out: PathBuf,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Status {
    Pending,
    Running,
    Paused,
    Completed,
    Failed,
    Cancelled,
    Rejected,
}

impl From<Status> for TaskStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::Running => Self::Running,
            Status::Paused => Self::Paused,
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
            Status::Rejected => Self::Rejected,
        }
    }
}

pub(super) async fn run(context: &Context, task: Task) -> Result<(), Failure> {
    match task {
        Task::List { status, limit } => list(context, status, limit).await,
        Task::Show { id, step: None } => show(context, id).await,
        Task::Show { id, step: Some(step) } => super::watch::at(context, id, step).await,
        Task::Watch { id, follow } => super::watch::watch(context, id, follow).await,
        Task::Replay { id, with } => super::watch::replay(context, id, with.as_deref()).await,
        Task::Trace { id } => print_trace(context, id).await,
        Task::Export { id, out } => export(context, id, &out).await,
        Task::Resume { .. } | Task::Cancel { .. } | Task::Fork { .. } | Task::Signal { .. } => {
            take_up(context, &task).await
        }
    }
}

/// Resumes a stored run.
async fn take_up(context: &Context, task: &Task) -> Result<(), Failure> {
    let (runner, toolbox) = super::run::runner(context).await?;
    let watch = Some(super::run::watch());
    let ran = match task {
        Task::Resume { id } => runner.resume(&context.scope, *id, watch).await,
        Task::Fork { id, steps } => runner.fork(&context.scope, *id, *steps, watch).await,
        Task::Signal { id, name, data, key } => {
            let data = serde_json::from_str(data).unwrap_or_else(|_| data.as_str().into());
            let by = steward_domain::Label::new(context.settings.user.as_str())?;
            let new = NewSignal { task: *id, name: name.clone(), data, key: key.clone(), by };
            match runner.signal(&context.scope, new).await {
                Ok(_) => runner.resume(&context.scope, *id, watch).await,
                Err(error) => Err(error),
            }
        }
        Task::Cancel { id } => {
            let by = steward_domain::Label::new(context.settings.user.as_str())?;
            runner.cancel(&context.scope, *id, &by).await
        }
        _ => return Ok(()),
    };
    let result = match ran {
        Ok(ran) => super::run::shown(context, &toolbox, &ran).await,
        Err(error) => Err(error.into()),
    };
    toolbox.close().await;
    result
}

pub(super) fn missing(id: TaskId) -> Error {
    Error::NotFound { what: "task", id: id.to_string() }
}

async fn list(context: &Context, status: Option<Status>, limit: u32) -> Result<(), Failure> {
    let opened = context.open().await?;
    let found = opened
        .store
        .tasks(&context.scope, TaskFilter { status: status.map(Into::into) }, Page::first(limit))
        .await?;
    if context.json {
        document(&found);
        return Ok(());
    }
    let rows = found.iter().map(|task| {
        vec![
            task.id.to_string(),
            coloured(task.status),
            task.assigned_agent.to_string(),
            task.created_at.to_string(),
            short(&task.description, 60),
        ]
    });
    table(&["task", "state", "agent", "created", "what"], rows.collect(), "no tasks");
    Ok(())
}

fn coloured(status: TaskStatus) -> String {
    let word = format!("{status:?}").to_lowercase();
    match status {
        TaskStatus::Completed => paint(Tone::Good, &word),
        TaskStatus::Failed => paint(Tone::Bad, &word),
        TaskStatus::Paused | TaskStatus::Cancelled | TaskStatus::Rejected => paint(Tone::Warn, &word),
        TaskStatus::Pending | TaskStatus::Running => word,
    }
}

async fn show(context: &Context, id: TaskId) -> Result<(), Failure> {
    let opened = context.open().await?;
    let task = opened.store.task(&context.scope, id).await?.ok_or_else(|| missing(id))?;
    let artifacts = opened.store.artifacts(&context.scope, id).await?;
    let checkpoints = opened.store.checkpoints(&context.scope, id).await?;
    if context.json {
        document(&json!({ "task": task, "artifacts": artifacts, "checkpoints": checkpoints.len() }));
        return Ok(());
    }
    say(format!("{id}  {}", coloured(task.status)));
    say(format!("what      {}", task.description));
    say(format!("agent     {} for {}", task.assigned_agent, task.user_id));
    let times =
        [("created", Some(task.created_at)), ("started", task.started_at), ("ended", task.completed_at)];
    for (name, time) in times.into_iter().filter_map(|(name, time)| Some((name, time?))) {
        say(format!("{name:<9} {time}"));
    }
    for (name, text) in [("result", &task.result), ("error", &task.error)] {
        if let Some(text) = text {
            say(format!("{name:<9} {text}"));
        }
    }
    if !checkpoints.is_empty() {
        say(format!("saved     {} checkpoints", checkpoints.len()));
    }
    for artifact in artifacts {
        say(format!(
            "made      {} ({} bytes, sha256 {})",
            artifact.content_ref, artifact.size_bytes, artifact.content_hash
        ));
    }
    Ok(())
}

async fn print_trace(context: &Context, id: TaskId) -> Result<(), Failure> {
    let opened = context.open().await?;
    let trace = trace(&*opened.store, &context.scope, id).await?.ok_or_else(|| missing(id))?;
    if context.json {
        document(&trace);
        return Ok(());
    }
    say(paint(Tone::Quiet, &format!("{} steps, begun {}", trace.steps.len(), trace.created_at)));
    let longest = trace.steps.iter().map(|step| step.duration_ms).max().unwrap_or(0).max(1);
    let rows = trace.steps.iter().map(|step| {
        let tone = match step.status {
            StepLevel::Info => Tone::Quiet,
            StepLevel::Warning => Tone::Warn,
            StepLevel::Error => Tone::Bad,
        };
        // A bar that shows the step's duration relative to the longest.
        let bar = "█".repeat((step.duration_ms * 20).div_ceil(longest) as usize);
        vec![
            format!("+{:.3} s", step.timestamp.millis_since(trace.created_at) as f64 / 1000.0),
            paint(tone, &step.step_name),
            step.agent.to_string(),
            format!("{} ms", step.duration_ms),
            paint(tone, &bar),
            short(&step.message, 70),
        ]
    });
    table(&["at", "step", "by", "took", "", "what"], rows.collect(), "no steps");
    Ok(())
}

/// Writes `tasks/{id}/task.json`, `checkpoint_NNN.json`, `trace.json`.
async fn export(context: &Context, id: TaskId, out: &Path) -> Result<(), Failure> {
    let opened = context.open().await?;
    let task = opened.store.task(&context.scope, id).await?.ok_or_else(|| missing(id))?;
    let folder = out.join("tasks").join(id.to_string());
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))?;
    let mut written = Vec::new();
    let mut write = |name: String, value: serde_json::Result<String>| {
        let path = folder.join(name);
        let text = value.map_err(Failure::unexpected)?;
        std::fs::write(&path, text + "\n").map_err(|error| Failure::file(&path, &error))?;
        written.push(path);
        Ok::<_, Failure>(())
    };
    write("task.json".to_owned(), serde_json::to_string_pretty(&task))?;
    for checkpoint in opened.store.checkpoints(&context.scope, id).await? {
        write(
            format!("checkpoint_{:03}.json", checkpoint.sequence),
            serde_json::to_string_pretty(&checkpoint),
        )?;
    }
    if let Some(trace) = trace(&*opened.store, &context.scope, id).await? {
        write("trace.json".to_owned(), serde_json::to_string_pretty(&trace))?;
    }
    if context.json {
        document(&json!({ "files": written }));
    } else {
        written.iter().for_each(|path| say(path.display()));
    }
    Ok(())
}
