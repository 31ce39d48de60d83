//! `steward task watch`, `show --step` and `replay`: follows a run, shows its state at a step,
//! replays it.

use super::Context;
use super::run::line;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, short};
use serde_json::json;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;
use steward_domain::{States as _, TaskId, TaskStatus, Timestamp};
use steward_engine::{NodeStatus, Program, State};
use steward_runtime::run::{ProgressEvent, history};

/// How often the store is polled.
const LOOK: Duration = Duration::from_millis(150);

/// Shows each step of a task as it is recorded, on whichever worker it runs, until it ends or waits
/// for a person.
pub(super) async fn watch(context: &Context, id: TaskId, follow: bool) -> Result<(), Failure> {
    let opened = context.open().await?;
    let (mut seen, mut entries, mut state) = (0, 0, None);
    loop {
        let task = opened.store.task(&context.scope, id).await?.ok_or_else(|| super::task::missing(id))?;
        let tip = opened.store.chain(&context.scope, id.into()).await?.map_or(0, |tip| tip.entries);
        if tip != entries {
            entries = tip;
            let (program, events) = history(&*opened.store, &context.scope, id).await?;
            let mut at = state.take().unwrap_or_else(|| State::new(&program));
            for event in events.iter().skip(seen) {
                let effects = at.apply(&program, event).unwrap_or_default();
                tell(event.at(), ProgressEvent::Happened(event.clone()));
                effects.into_iter().for_each(|effect| tell(event.at(), ProgressEvent::Doing(effect)));
            }
            seen = events.len();
            status(&program, &at, seen);
            state = Some(at);
        }
        let over = task.status.is_final() || (task.status == TaskStatus::Paused && !follow);
        if over {
            clear();
            return ended(context, &task);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn tell(at: Timestamp, seen: ProgressEvent) {
    if let Some(line) = line(seen) {
        clear();
        let time: String = at.to_string().chars().skip(11).take(12).collect();
        eprintln!("{} {line}", paint(Tone::Quiet, &time));
    }
}

fn ended(context: &Context, task: &steward_domain::Task) -> Result<(), Failure> {
    if context.json {
        document(task);
        return Ok(());
    }
    match task.status {
        TaskStatus::Completed => say(task.result.as_deref().unwrap_or_default()),
        TaskStatus::Failed => say(paint(Tone::Bad, task.error.as_deref().unwrap_or_default())),
        TaskStatus::Rejected => say(paint(Tone::Warn, task.error.as_deref().unwrap_or_default())),
        TaskStatus::Paused => say(format!("waits for a person: steward approvals approve {}", task.id)),
        _ => {}
    }
    say(paint(Tone::Quiet, &format!("{} · task {}", task.status_name(), task.id)));
    Ok(())
}

/// The status of the nodes, in one line that is overwritten.
fn status(program: &Program, state: &State, steps: usize) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let nodes = program.nodes().iter().map(|node| {
        let name = node.name.as_str();
        match state.node(program, name).map(|run| run.status) {
            Some(NodeStatus::Done) => paint(Tone::Good, &format!("● {name}")),
            Some(NodeStatus::Failed) => paint(Tone::Bad, &format!("✕ {name}")),
            Some(NodeStatus::Running | NodeStatus::Asking | NodeStatus::Waiting) => {
                paint(Tone::Warn, &format!("◐ {name}"))
            }
            _ => paint(Tone::Quiet, &format!("○ {name}")),
        }
    });
    let line = nodes.collect::<Vec<_>>().join("  ");
    eprint!("\r\x1b[2K{line}  {}", paint(Tone::Quiet, &format!("{steps} steps")));
    let _receiver_closed_in_example = std::io::stderr().flush();
}

fn clear() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[2K");
    }
}

/// The state of a run after this many events.
pub(super) async fn at(context: &Context, id: TaskId, step: usize) -> Result<(), Failure> {
    let opened = context.open().await?;
    let at = steward_runtime::run::at(&*opened.store, &context.scope, id, step).await?;
    if context.json {
        document(&json!({
            "task": id, "step": at.step, "steps": at.steps, "event": at.event, "effects": at.effects, "state": at.state,
        }));
        return Ok(());
    }
    say(format!("{id} after step {} of {}", at.step, at.steps));
    if let Some(event) = &at.event {
        say(format!("happened  {}", short(&json!(event).to_string(), 160)));
    }
    for effect in &at.effects {
        say(format!("then      {}", short(&json!(effect).to_string(), 160)));
    }
    let used = at.state.used();
    say(format!("used      {}", short(&format!("{used:?}"), 160)));
    for (name, value) in at.state.metadata() {
        say(format!("state     {name} = {}", short(&value.to_string(), 140)));
    }
    let pending: Vec<String> = at.state.pending().map(|id| id.to_string()).collect();
    say(format!("pending   {}", if pending.is_empty() { "nothing".to_owned() } else { pending.join(", ") }));
    Ok(())
}

/// Replays a run from its journal, with its own definition or another.
pub(super) async fn replay(context: &Context, id: TaskId, with: Option<&str>) -> Result<(), Failure> {
    let (runner, toolbox) = super::run::runner(context).await?;
    let result = async {
        let other = match with {
            Some(name) => Some(runner.program(name).await?),
            None => None,
        };
        runner.replay(&context.scope, id, other).await
    };
    let result = result.await;
    toolbox.close().await;
    let replayed = result?;
    if context.json {
        let parted = replayed.parted.as_ref();
        let parted = parted.map(|p| json!({ "step": p.step, "then": p.then, "now": p.now }));
        document(&json!({ "task": id, "steps": replayed.steps, "calls": replayed.calls, "parted": parted }));
    } else if let Some(parted) = &replayed.parted {
        say(paint(Tone::Warn, &format!("goes another way at step {}", parted.step)));
        say(format!("then  {}", short(&parted.then.to_string(), 300)));
        say(format!("now   {}", short(&parted.now.to_string(), 300)));
    } else {
        say(format!(
            "{} {} steps, {} calls, nothing called again",
            paint(Tone::Good, "the same:"),
            replayed.steps,
            replayed.calls
        ));
    }
    Ok(())
}
