//! `steward approvals`: calls that wait for approval.
//!
//! Invariant: a decision applies to what was shown. At a terminal the call is shown and confirmed;
//! elsewhere `--digest` identifies it. Repeating a command never decides the next gate.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, short, table};
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};
use std::io::{IsTerminal as _, Write as _};
use steward_domain::{ErrorClass, HumanAction, JsonObject, Label, TaskId};
use steward_runtime::run::{Decided, DecisionOutcome, Runner};
use steward_runtime::toolbox::{Toolbox, Waiting};
use steward_store::{Page, Scope};

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward approvals list
  steward approvals approve 018f…                      shows it and asks
  steward approvals approve 018f… --digest 3fa9c1d208b4  what `list` showed
  steward approvals reject 018f… --why \"wrong customer\"")]
pub(crate) enum Approvals {
    /// Lists pending calls: tool, exact arguments, their provenance, and why approval is needed.
    List,
    /// Shows what was decided, newest first: who, what, when, and what came of it.
    History {
        /// At most so many.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Makes the call that was shown, and no other.
    Approve {
        #[command(flatten)]
        shown: ShownArgs,
    },
    /// Continues with changes: a message for the agent, other arguments, other state values.
    Modify {
        #[command(flatten)]
        shown: ShownArgs,
        /// A message for the agent.
        #[arg(long, default_value = "")]
        message: String,
        /// Changes of the state, as one JSON object; `{"arguments": {…}}` proposes other arguments.
        #[arg(long, default_value = "{}", value_name = "JSON")]
        set: String,
    },
    /// Rejects the call.
    Reject {
        #[command(flatten)]
        shown: ShownArgs,
        /// The reason, for the journal.
        #[arg(long, default_value = "")]
        why: String,
    },
}

/// The call to decide on.
#[derive(Args, Clone)]
pub(crate) struct ShownArgs {
    /// The id of the waiting task.
    id: TaskId,
    /// The digest from `list`, or at least its first 12 characters. Without it the call is shown
    /// and confirmed at the terminal.
    #[arg(long)]
    digest: Option<String>,
}

/// Minimum number of characters that identify a digest.
const PREFIX: usize = 12;

/// The pending call, if it is what was shown: its digest was named, or it is shown here and the
/// user confirms.
async fn shown(
    context: &Context,
    runner: &Runner,
    shown: &ShownArgs,
    verb: &str,
) -> Result<Waiting, Failure> {
    let waiting = runner.find_decidable(shown.id, &context.settings.user).await?;
    if let Some(digest) = &shown.digest {
        if digest.len() < PREFIX {
            let told = format!("--digest needs at least {PREFIX} characters of what `approvals list` shows");
            return Err(Failure::user("CLI004", told));
        }
        return match waiting.digest.starts_with(digest.as_str()) {
            true => Ok(waiting),
            false => Err(steward_runtime::Error::OtherCall(shown.id.to_string()).into()),
        };
    }
    if !std::io::stdin().is_terminal() || context.json {
        let told = format!(
            "without a terminal the decision names what it is about. Waiting: {} {}. To decide on exactly \
             this: `{}`",
            waiting.tool,
            Json::Object(waiting.arguments.clone()),
            command(verb, &waiting)
        );
        return Err(Failure::user("CLI004", told));
    }
    eprintln!("{}.", waiting.reason);
    eprintln!("{} {}", paint(Tone::Strong, &waiting.tool), Json::Object(waiting.arguments.clone()));
    eprint!("{}? [y/N] ", question(verb));
    let _shown = std::io::stderr().flush();
    let mut line = String::new();
    let _read = std::io::stdin().read_line(&mut line);
    match line.trim().eq_ignore_ascii_case("y") {
        true => Ok(waiting),
        false => {
            Err(Failure::of("TOL006", ErrorClass::Denied, "nothing was decided: it still waits".to_owned()))
        }
    }
}

/// The whole command that decides on a waiting call, with the digest of what is shown.
fn command(action: &str, waiting: &Waiting) -> String {
    let digest: String = waiting.digest.chars().take(PREFIX).collect();
    format!("steward approvals {action} {} --digest {digest}", waiting.task)
}

/// The command that approves what a task waits for. It also works without a terminal.
pub(super) async fn approve_command(context: &Context, toolbox: &Toolbox, task: TaskId) -> String {
    let waiting = toolbox.approvals().list(&context.scope).await.unwrap_or_default();
    match waiting.iter().find(|call| call.task == task) {
        Some(call) => command("approve", call),
        None => format!("steward approvals approve {task}"),
    }
}

pub(super) async fn run(context: &Context, command: Approvals) -> Result<(), Failure> {
    let (runner, toolbox) = super::run::runner(context).await?;
    let result = match command {
        Approvals::List => list(context, &runner).await,
        Approvals::History { limit } => history(context, &toolbox, limit).await,
        decision => decide(context, &runner, &toolbox, decision).await,
    };
    toolbox.close().await;
    result
}

/// What the user may decide on, and what the user's own tasks wait for. `--all-users` shows all.
async fn list(context: &Context, runner: &Runner) -> Result<(), Failure> {
    let waiting = match &context.scope {
        Scope::User(user) => runner.visible_approvals(user).await?,
        scope => runner.toolbox().approvals().list(scope).await?,
    };
    if context.json {
        document(&json!({ "approvals": waiting }));
        return Ok(());
    }
    let rows = waiting.iter().map(|call| {
        let arguments = call.arguments.iter().map(|(name, value)| {
            let from = call.provenance.get(name).and_then(Json::as_str).unwrap_or("untrusted");
            format!("{name} = {value} ({from})")
        });
        vec![
            call.task.to_string(),
            call.tool.clone(),
            arguments.collect::<Vec<_>>().join("\n"),
            call.reason.clone(),
            call.digest.chars().take(PREFIX).collect(),
            call.until.to_string(),
        ]
    });
    let columns = ["id", "tool", "arguments", "why it is asked", "digest", "until"];
    table(&columns, rows.collect(), "nothing waits");
    Ok(())
}

/// Decides on a waiting call or run. The roles of the user count here as everywhere else.
async fn decide(
    context: &Context,
    runner: &Runner,
    toolbox: &Toolbox,
    command: Approvals,
) -> Result<(), Failure> {
    let (about, action, message, updates) = match command {
        Approvals::List | Approvals::History { .. } => return Ok(()),
        Approvals::Approve { shown } => (shown, HumanAction::Approve, String::new(), JsonObject::new()),
        Approvals::Reject { shown, why } => (shown, HumanAction::Reject, why, JsonObject::new()),
        Approvals::Modify { shown, message, set } => {
            let updates = serde_json::from_str(&set)
                .map_err(|error| Failure::user("CLI004", format!("--set is no JSON object: {error}")))?;
            (shown, HumanAction::Modify, message, updates)
        }
    };
    let user = &context.settings.user;
    let by = Label::new(user.as_str())?;
    let shown = shown(context, runner, &about, verb(action)).await?.shown()?.digest;
    let decided = Decided { action, message, updates, by, from: "cli".to_owned(), shown };
    match runner.decide_waiting(about.id, user, decided, Some(super::run::watch())).await? {
        DecisionOutcome::Ran(ran) => super::run::shown(context, toolbox, &ran).await,
        DecisionOutcome::NotCalled(waiting) if context.json => {
            document(&json!({ "rejected": waiting.task, "tool_name": waiting.tool }));
            Ok(())
        }
        DecisionOutcome::NotCalled(waiting) => {
            say(format!("{} is not called", waiting.tool));
            Ok(())
        }
        DecisionOutcome::Called(receipt) if context.json => {
            document(
                &json!({ "call_id": receipt.call, "tool_name": receipt.tool, "output": receipt.output }),
            );
            Ok(())
        }
        DecisionOutcome::Called(receipt) => {
            say(receipt.output.words());
            say(paint(Tone::Good, &format!("{} was called", receipt.tool)));
            Ok(())
        }
    }
}

async fn history(context: &Context, toolbox: &Toolbox, limit: u32) -> Result<(), Failure> {
    let store = &toolbox.approvals().store;
    let decided = store.decisions(&context.scope, Page::first(limit)).await?;
    let mut lines = Vec::new();
    for (user, decision) in decided {
        let task = store.task(&context.scope, decision.gate.task).await?;
        lines.push((user, decision, task));
    }
    if context.json {
        let shown = lines.iter().map(|(user, decision, task)| {
            json!({
                "task": decision.gate.task, "user": user, "decision": decision.verdict, "by": decision.by,
                "at": decision.at, "digest": decision.digest,
                "description": task.as_ref().map(|task| task.description.to_string()),
                "status": task.as_ref().map(|task| task.status_name()),
            })
        });
        document(&json!({ "decisions": shown.collect::<Vec<_>>() }));
        return Ok(());
    }
    let rows = lines.iter().map(|(_, decision, task)| {
        vec![
            decision.at.to_string(),
            format!("{:?}", decision.verdict).to_lowercase(),
            decision.by.to_string(),
            task.as_ref().map_or_else(String::new, |task| short(&task.description, 40)),
            task.as_ref().map_or("gone", |task| task.status_name()).to_owned(),
            decision.gate.task.to_string(),
        ]
    });
    table(&["when", "decision", "by", "what", "task is", "id"], rows.collect(), "nothing was decided");
    Ok(())
}

fn verb(action: HumanAction) -> &'static str {
    match action {
        HumanAction::Approve => "approve",
        HumanAction::Reject => "reject",
        HumanAction::Modify => "modify",
    }
}

fn question(verb: &str) -> &'static str {
    match verb {
        "approve" => "Approve it",
        "reject" => "Reject it",
        _ => "Change it",
    }
}
