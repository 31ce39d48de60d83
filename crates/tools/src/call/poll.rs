//! Polling: a tool that reports a pending result is called again here, within the timeout of the
//! call. The caller sees one call.

use super::{Job, rules};
use crate::error::{Error, Result};
use crate::registry::Resolved;
use crate::tool::{Context, Output, Poll, Progress};
use serde_json::Value as Json;
use std::time::Duration;
use steward_domain::JsonObject;
use steward_policy::{AdmittedCall, Decision, Proposal};

/// The maximum polling interval.
const LONGEST: Duration = Duration::from_secs(5);

/// Polls until the result is ready. The deadline of the call is enforced outside.
pub(super) async fn to_the_end(
    job: &Job<'_>,
    poll: &Poll,
    first: &AdmittedCall,
    mut output: Output,
    context: &Context,
) -> Result<Output> {
    let Resolved { registered, .. } = job.gateway.registry.resolve(first.server(), poll.tool.as_str())?;
    let mut carried = JsonObject::new();
    let mut pause = Duration::from_millis(poll.interval_ms.max(1));
    let mut asked = 0_u32;
    while let Some(answer) = answer_of(&output).filter(|answer| is_pending(answer, poll)) {
        for name in &poll.carry {
            if let Some(value) = answer.get(name) {
                carried.insert(name.clone(), value.clone());
            }
        }
        if let Some(report) = &context.progress {
            let status = answer.get(&poll.status).and_then(Json::as_str).map(str::to_owned);
            report(Progress { done: f64::from(asked), total: None, message: status });
        }
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(LONGEST);
        asked += 1;
        let definition = &registered.definition;
        job.gateway.schemas.arguments(definition, &carried)?;
        let proposal = Proposal {
            // The carried values came from the server and only identify the result.
            default_provenance: steward_policy::Provenance::Operator,
            ..Proposal::new(first.call(), definition, carried.clone())
        };
        let admitted = match proposal.decide(first.caller(), &rules(&registered)) {
            Decision::Allow(admitted) => admitted,
            Decision::Ask { reason, .. } => {
                let tool = definition.tool_name.to_string();
                return Err(Error::Denied { tool, rule: "approval", told: reason });
            }
            Decision::Deny(refusal) => {
                let tool = definition.tool_name.to_string();
                return Err(Error::Denied { tool, rule: refusal.rule, told: refusal.told });
            }
        };
        output = registered.tool.call(&admitted, context).await?;
    }
    Ok(output)
}

/// The result as an object: structured content, or text that is a JSON object.
fn answer_of(output: &Output) -> Option<JsonObject> {
    match &output.structured {
        Some(Json::Object(answer)) => Some(answer.clone()),
        Some(_) => None,
        None => serde_json::from_str(&output.words()).ok(),
    }
}

fn is_pending(answer: &JsonObject, poll: &Poll) -> bool {
    let status = answer.get(&poll.status).and_then(Json::as_str).unwrap_or_default();
    poll.pending.iter().any(|pending| pending.eq_ignore_ascii_case(status))
}
