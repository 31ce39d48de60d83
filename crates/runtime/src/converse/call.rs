//! One call of a conversation: its arguments, their provenance, and the call through the gateway.
//!
//! Invariant: a value that one server returned and that is sent to another server is labelled
//! untrusted. Policy decides the consequences.

use super::ChatService;
use super::carry::{Ended, Found, Work};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::time::Duration;
use steward_domain::Timestamp;
use steward_language::understand::{Noticed, RecordRef, SeenRecord, Step, Target};
use steward_policy::{Approval, Provenance};
use steward_tools::call::{Receipt, Request};
use steward_tools::{Context, Error, Output, Registered};

/// The time reserved for composing the answer: calls end this long before the deadline.
pub(super) const GRACE: Duration = Duration::from_millis(300);

/// A call that was made.
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Json>,
    pub(super) at: Timestamp,
    pub(super) result: std::result::Result<Receipt, Error>,
}

impl Work {
    /// Completes the arguments: names of earlier results for pronouns, and the conversation id of a
    /// tool that keeps one.
    pub(super) fn complete_arguments(
        &self,
        tool: &str,
        step: &Step,
        given: &BTreeMap<usize, Found>,
        arguments: &mut Map<String, Json>,
    ) {
        let names: Vec<&str> = step
            .after
            .iter()
            .filter_map(|before| given.get(before))
            .flat_map(Found::names)
            .take(NAMED)
            .collect();
        let free = step.target_field.is_none() && points_back(&step.said);
        if let (Some(words), true, false) = (free_text(arguments), free, names.is_empty()) {
            *words = format!("{} ({})", step.said.trim(), names.join(", ")).into();
        }
        let Some(registered) = self.registered(tool) else { return };
        let fields = registered.definition.parameter_schema.get("properties");
        // Only a tool with polling keeps a conversation; elsewhere the field may mean anything.
        let takes =
            registered.settings.poll.is_some() && fields.is_some_and(|fields| fields.get(THREAD).is_some());
        if let (Some(thread), true) = (self.memory.threads.get(tool), takes) {
            // The tool keeps the conversation and can resolve pronouns such as "their" best, so it
            // gets the user's text.
            if let (Some(words), [_]) = (free_text(arguments), self.steps.as_slice()) {
                *words = self.turn.said.clone().into();
            }
            arguments.entry(THREAD).or_insert_with(|| thread.clone().into());
        }
    }

    /// The tool of another step of this turn.
    fn tool_of(&self, place: usize) -> Option<String> {
        self.steps.get(place)?.tool().map(str::to_owned)
    }

    pub(super) fn registered(&self, tool: &str) -> Option<Registered> {
        self.chat.toolbox.registry().get(&tool.parse().ok()?, None)
    }

    /// One call through the gateway, on the chain of this turn.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Json>,
        of: Option<(&Step, &[Noticed])>,
        approval: Option<Approval>,
    ) -> Call {
        let app = self.chat.app();
        let mut request = Request::new(self.turn.caller.clone(), tool, arguments.clone());
        request.chain = Some(self.task.into());
        request.approval = approval;
        if let Some((step, targets)) = of {
            request.provenance = provenance(self, tool, step, targets, &arguments);
        }
        request.context = Context::within(self.chat.limits.call.min(self.left().saturating_sub(GRACE)));
        let at = app.clock.now();
        let result = self.chat.call_gateway(&request).await;
        Call { tool: tool.to_owned(), arguments, at, result }
    }

    /// A record as a tool returned it before the message was read.
    pub(super) fn shown(&self, thing: &RecordRef) -> Option<&SeenRecord> {
        let by = thing.by.as_deref()?;
        self.world.iter().find(|seen| {
            seen.by == by && seen.thing.entity_type == thing.entity_type && seen.thing.id_text() == thing.id
        })
    }
}

impl ChatService {
    /// One call; other errors are converted to errors of the tools crate.
    pub(super) async fn call_gateway(&self, request: &Request) -> std::result::Result<Receipt, Error> {
        self.toolbox.call(request).await.map_err(|error| match error {
            crate::Error::Tools(error) => error,
            other => {
                Error::Failed { tool: request.tool.clone(), message: other.to_string(), transient: false }
            }
        })
    }
}

/// The maximum number of names of earlier results in the next call.
const NAMED: usize = 5;

/// The only text argument of a call, if there is exactly one.
fn free_text(arguments: &mut Map<String, Json>) -> Option<&mut Json> {
    let mut texts = arguments.iter_mut().filter(|(name, value)| *name != THREAD && value.is_string());
    match (texts.next(), texts.next()) {
        (Some((_, only)), None) => Some(only),
        _ => None,
    }
}

/// Whether a text refers to something mentioned before.
fn points_back(said: &str) -> bool {
    let back = ["their", "them", "they", "these", "those", "it", "its", "that"];
    said.split(|letter: char| !letter.is_alphabetic())
        .any(|word| back.contains(&word.to_lowercase().as_str()))
}

/// The field with the id of a conversation that the tool itself keeps.
const THREAD: &str = "conversation_id";

pub(super) fn threads(ended: &[Ended]) -> BTreeMap<String, String> {
    let calls = ended.iter().flat_map(|ended| &ended.calls);
    calls
        .filter_map(|call| {
            let thread = call.result.as_ref().ok()?.output.structured.as_ref()?.get(THREAD)?.as_str()?;
            Some((call.tool.clone(), thread.to_owned()))
        })
        .collect()
}

/// The provenance of each argument. A target that the same server returned counts as the user's
/// value. A target that another server returned is untrusted.
fn provenance(
    work: &Work,
    tool: &str,
    step: &Step,
    targets: &[Noticed],
    arguments: &Map<String, Json>,
) -> BTreeMap<String, Provenance> {
    let home = server_of(tool);
    let foreign = match &step.target {
        Some(Target::Known { things }) => {
            things.iter().any(|thing| match thing.by.as_deref().map(server_of) {
                Some(shown) => shown != home,
                None => !work.memory.is_from(home, &thing.entity_type, &thing.id),
            })
        }
        Some(Target::OfStep { step: before, .. }) => {
            work.tool_of(*before).is_none_or(|tool| server_of(&tool) != home)
        }
        None => {
            step.after.iter().any(|before| work.tool_of(*before).is_none_or(|tool| server_of(&tool) != home))
        }
        _ => false,
    };
    let named = |value: &Json| {
        targets.iter().any(|target| {
            target.id == *value
                || target
                    .name
                    .as_deref()
                    .is_some_and(|name| value.as_str().is_some_and(|text| text.contains(name)))
        })
    };
    let origin = |name: &String, value: &Json| {
        // A text that was completed with an earlier result has the provenance of that result.
        let filled = step.target.is_none()
            && value.as_str().is_some_and(|text| text != step.said && text.starts_with(step.said.trim()));
        let target = step.target_field.as_ref() == Some(name) || named(value) || filled;
        if foreign && target { Provenance::Untrusted } else { Provenance::User }
    };
    arguments.iter().map(|(name, value)| (name.clone(), origin(name, value))).collect()
}

/// The server of a tool.
pub(super) fn server_of(tool: &str) -> &str {
    tool.split('.').next().unwrap_or(tool)
}

/// A result as a JSON value; text that is JSON is parsed.
pub(super) fn value_of(output: &Output) -> Json {
    output.structured.clone().or_else(|| serde_json::from_str(output.words().trim()).ok()).unwrap_or_default()
}
