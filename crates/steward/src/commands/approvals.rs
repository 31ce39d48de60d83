//! `steward approvals`: calls that wait for a person.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, table};
use crate::toolbox;
use clap::Subcommand;
use serde_json::{Value as Json, json};
use steward_domain::{HumanAction, JsonObject, Label, TaskId};
use steward_runtime::run::Decided;

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward approvals list
  steward approvals approve 018f…
  steward approvals reject 018f… --why \"wrong customer\"")]
pub(crate) enum Approvals {
    /// Shows every call that waits: which tool, with exactly which arguments, where each came from, and why it is asked about.
    List,
    /// Makes the call that was shown, and no other.
    Approve {
        /// The id of the waiting task.
        id: TaskId,
    },
    /// Goes on with changes: words for the agent, other arguments, other values of the state.
    Modify {
        /// The id of the waiting task.
        id: TaskId,
        /// Words for the agent.
        #[arg(long, default_value = "")]
        message: String,
        /// Changes of the state, as one JSON object; `{"arguments": {…}}` proposes a call with others.
        #[arg(long, default_value = "{}", value_name = "JSON")]
        set: String,
    },
    /// Refuses the call.
    Reject {
        /// The id of the waiting task.
        id: TaskId,
        /// Why, for the record.
        #[arg(long, default_value = "")]
        why: String,
    },
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
    toolbox: &steward_runtime::toolbox::Toolbox,
    command: &Approvals,
) -> Result<Option<(TaskId, Decided)>, Failure> {
    let (id, action, message, updates) = match command {
        Approvals::List => return Ok(None),
        Approvals::Approve { id } => (*id, HumanAction::Approve, String::new(), JsonObject::new()),
        Approvals::Reject { id, why } => (*id, HumanAction::Reject, why.clone(), JsonObject::new()),
        Approvals::Modify { id, message, set } => {
            let updates = serde_json::from_str(set)
                .map_err(|error| Failure::user("CLI004", format!("--set is no JSON object: {error}")))?;
            (*id, HumanAction::Modify, message.clone(), updates)
        }
    };
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
    Ok(Some((id, Decided { action, message, updates, by, from: "cli".to_owned() })))
}

async fn decide(
    context: &Context,
    toolbox: &steward_runtime::toolbox::Toolbox,
    command: Approvals,
) -> Result<(), Failure> {
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
                    call.until.to_string(),
                ]
            });
            table(&["id", "tool", "arguments", "why it is asked", "until"], rows.collect(), "nothing waits");
        }
        Approvals::Approve { id } => {
            let caller = toolbox::caller(context);
            let receipt =
                toolbox.approvals().approve(toolbox.desk(), &context.scope, id, &by, &caller).await?;
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
        Approvals::Reject { id, why } => {
            let waiting = toolbox.approvals().reject(&context.scope, id, &by, &why).await?;
            if context.json {
                document(&json!({ "rejected": waiting.task, "tool_name": waiting.tool }));
            } else {
                say(format!("{} is not called", waiting.tool));
            }
        }
    }
    Ok(())
}
