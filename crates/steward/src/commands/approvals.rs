//! `steward approvals`: calls that wait for a person.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, table};
use crate::toolbox;
use clap::Subcommand;
use serde_json::{Value as Json, json};
use steward_domain::{Label, TaskId};

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
    let toolbox = toolbox::open(context, false).await?;
    let result = decide(context, &toolbox, command).await;
    toolbox.close().await;
    result
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
