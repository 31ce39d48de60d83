//! `steward approvals`: calls that wait for a person.
//!
//! Invariant: a decision is over what was shown: at a terminal it is shown here and agreed to,
//! elsewhere `--digest` names it. The same command given twice never decides the next gate.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, table};
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};
use std::io::{IsTerminal as _, Write as _};
use steward_domain::{ErrorClass, HumanAction, JsonObject, Label, TaskId};
use steward_runtime::run::Decided;
use steward_runtime::toolbox::{Toolbox, Waiting};

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward approvals list
  steward approvals approve 018f…                      shows it and asks
  steward approvals approve 018f… --digest 3fa9c1d208b4  what `list` showed
  steward approvals reject 018f… --why \"wrong customer\"")]
pub(crate) enum Approvals {
    /// Shows every call that waits: which tool, with exactly which arguments, where each came from,
    /// and why it is asked about.
    List,
    /// Makes the call that was shown, and no other.
    Approve {
        #[command(flatten)]
        shown: ShownArgs,
    },
    /// Goes on with changes: words for the agent, other arguments, other values of the state.
    Modify {
        #[command(flatten)]
        shown: ShownArgs,
        /// Words for the agent.
        #[arg(long, default_value = "")]
        message: String,
        /// Changes of the state, as one JSON object; `{"arguments": {…}}` proposes a call with
        /// others.
        #[arg(long, default_value = "{}", value_name = "JSON")]
        set: String,
    },
    /// Refuses the call.
    Reject {
        #[command(flatten)]
        shown: ShownArgs,
        /// Why, for the record.
        #[arg(long, default_value = "")]
        why: String,
    },
}

/// What a decision is about.
#[derive(Args, Clone)]
pub(crate) struct ShownArgs {
    /// The id of the waiting task.
    id: TaskId,
    /// The digest that `list` shows, or its first 12 characters or more. Without it the call is
    /// shown and asked about at the terminal.
    #[arg(long)]
    digest: Option<String>,
}

/// So many characters of a digest tell one call from another.
const PREFIX: usize = 12;

/// What waits, when it is what was shown: its digest was named, or it is shown here and the person
/// says yes.
async fn shown(
    context: &Context,
    toolbox: &Toolbox,
    shown: &ShownArgs,
    verb: &str,
) -> Result<Waiting, Failure> {
    let waiting = toolbox.approvals().list(&context.scope).await?;
    let waiting = waiting.into_iter().find(|call| call.task == shown.id);
    let waiting = waiting.ok_or_else(|| steward_runtime::Error::NotWaiting(shown.id.to_string()))?;
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
        let told = "say what you were shown with --digest; `steward approvals list` shows it";
        return Err(Failure::user("CLI004", told));
    }
    eprintln!("{}.", waiting.reason);
    eprintln!("{} {}", paint(Tone::Strong, &waiting.tool), Json::Object(waiting.arguments.clone()));
    eprint!("{verb}? [y/N] ");
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

pub(super) async fn run(context: &Context, command: Approvals) -> Result<(), Failure> {
    let (runner, toolbox) = super::run::runner(context).await?;
    let result = match decided(context, &toolbox, &command).await {
        Ok(Some((id, decided))) => {
            match runner.decide(&context.scope, id, decided, Some(super::run::watch())).await {
                Ok(ran) => super::run::shown(context, &ran),
                Err(error) => Err(error.into()),
            }
        }
        Ok(None) => decide(context, &toolbox, command).await,
        Err(failure) => Err(failure),
    };
    toolbox.close().await;
    result
}

/// The decision over a run that waits; nothing for a single call.
async fn decided(
    context: &Context,
    toolbox: &Toolbox,
    command: &Approvals,
) -> Result<Option<(TaskId, Decided)>, Failure> {
    let (about, action, message, updates) = match command {
        Approvals::List => return Ok(None),
        Approvals::Approve { shown } => (shown, HumanAction::Approve, String::new(), JsonObject::new()),
        Approvals::Reject { shown, why } => (shown, HumanAction::Reject, why.clone(), JsonObject::new()),
        Approvals::Modify { shown, message, set } => {
            let updates = serde_json::from_str(set)
                .map_err(|error| Failure::user("CLI004", format!("--set is no JSON object: {error}")))?;
            (shown, HumanAction::Modify, message.clone(), updates)
        }
    };
    let id = about.id;
    let modifies = action == HumanAction::Modify;
    if !toolbox.approvals().is_run(&context.scope, id).await? {
        return match modifies {
            true => Err(Failure::user(
                "RUN004",
                "a single call cannot be modified: reject it and make another".to_owned(),
            )),
            false => Ok(None),
        };
    }
    let by = Label::new(context.settings.user.as_str())?;
    let shown = shown(context, toolbox, about, verb(action)).await?.shown()?.digest;
    Ok(Some((id, Decided { action, message, updates, by, from: "cli".to_owned(), shown })))
}

async fn decide(context: &Context, toolbox: &Toolbox, command: Approvals) -> Result<(), Failure> {
    let by = Label::new(context.settings.user.as_str())?;
    match command {
        Approvals::List => {
            let waiting = toolbox.approvals().list(&context.scope).await?;
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
        }
        Approvals::Approve { shown: about } => {
            let call = shown(context, toolbox, &about, verb(HumanAction::Approve)).await?.shown()?;
            let receipt = toolbox.approvals().approve(toolbox.gateway(), &context.scope, &call, &by).await?;
            if context.json {
                document(
                    &json!({ "call_id": receipt.call, "tool_name": receipt.tool, "output": receipt.output }),
                );
            } else {
                say(receipt.output.words());
                say(paint(Tone::Good, &format!("{} was called", receipt.tool)));
            }
        }
        Approvals::Modify { .. } => {}
        Approvals::Reject { shown: about, why } => {
            let call = shown(context, toolbox, &about, verb(HumanAction::Reject)).await?.shown()?;
            let waiting = toolbox.approvals().reject(&context.scope, &call, &by, &why).await?;
            if context.json {
                document(&json!({ "rejected": waiting.task, "tool_name": waiting.tool }));
            } else {
                say(format!("{} is not called", waiting.tool));
            }
        }
    }
    Ok(())
}

fn verb(action: HumanAction) -> &'static str {
    match action {
        HumanAction::Approve => "Approve it",
        HumanAction::Reject => "Reject it",
        HumanAction::Modify => "Change it",
    }
}
