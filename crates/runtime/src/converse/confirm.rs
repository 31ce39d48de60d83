//! Confirmations in a conversation: the exact calls, and the effect of a yes or a no.
//!
//! Invariants
//! - A yes is valid for the digests that were shown: the tool in its version with exactly these
//!   arguments. If the tool has changed since, a new confirmation is requested.
//! - A yes is a message of nothing but agreement. "Yes, and delete the other one too" is a new
//!   request.

use super::call::Call;
use super::carry::{Done, Ended, StepOutcome, Work, bare};
use super::effects::TurnStep;
use super::memory::Memory;
use super::{Turn, Watch};
use crate::ask::Record;
use crate::error::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{ApprovalMode, CallId, EventType, Gate, Label, Sha256Hex, TaskId, Timestamp};
use steward_language::answer::plain;
use steward_language::skill::agrees;
use steward_language::understand::{Noticed, Step, Target, Understood};
use steward_language::words::words;
use steward_policy::{Approval, Proposal, Provenance};
use steward_tools::ApprovalRequest;
use steward_tools::call::Request;

/// The timeout of a confirmation.
const PATIENCE: Duration = Duration::from_secs(3600);

/// A call that waits for confirmation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Exact {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Json>,
    /// The digest that a confirmation is bound to.
    pub(super) digest: String,
    /// The description for the user.
    pub(super) what: String,
    /// Whether the operator's configuration requires approval.
    pub(super) approval: bool,
    pub(super) step: Step,
    pub(super) targets: Vec<Noticed>,
}

/// Calls that wait for confirmation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PendingConfirmation {
    pub(super) calls: Vec<Exact>,
    /// The turn that asked: each call is a gate of it, which is decided once.
    pub(super) task: TaskId,
    /// The steps after the calls.
    #[serde(default)]
    pub(super) rest: Vec<Step>,
    pub(super) until: Timestamp,
}

/// The decision of the user.
pub(super) enum Decided<'a> {
    Yes(&'a PendingConfirmation),
    No,
}

/// The decision in a message about waiting calls; `None` when it is about something else.
pub(super) fn decided<'a>(
    memory: &'a Memory,
    turn: &Turn,
    understood: &Understood,
    now: Timestamp,
) -> Option<Decided<'a>> {
    let confirming = memory.confirming.as_ref().filter(|confirming| now <= confirming.until)?;
    // The exact label of a button, or its number, counts as pressing it.
    let folded = |text: &str| words(text).into_iter().map(|word| word.lower).collect::<Vec<_>>();
    let said = folded(&turn.said);
    let agreed = match turn.choice {
        Some(choice) => Some(choice.option == 0),
        None if said == folded(&label(confirming)) || said == ["1"] => Some(true),
        None if said == ["2"] => Some(false),
        None => agrees(&turn.said),
    };
    match agreed {
        Some(true) => Some(Decided::Yes(confirming)),
        Some(false) => Some(Decided::No),
        None if understood.steps.is_empty() && understood.question.is_none() => Some(Decided::No),
        None => None,
    }
}

impl Exact {
    /// The call that policy requires approval for: the tool as resolved.
    pub(super) fn new(call: &Call, needed: &ApprovalRequest, step: &Step, targets: &[Noticed]) -> Self {
        Self {
            tool: needed.tool.to_string(),
            arguments: call.arguments.clone(),
            digest: needed.digest.to_string(),
            what: sentence(step, targets, &call.arguments),
            approval: true,
            step: step.clone(),
            targets: targets.to_vec(),
        }
    }
}

/// "delete task 7 “Water the plants”", with all values of the call.
fn sentence(step: &Step, targets: &[Noticed], arguments: &Map<String, Json>) -> String {
    let verb = steward_language::words::name_words(
        step.tool().unwrap_or_default().rsplit('.').next().unwrap_or_default(),
    )
    .join(" ");
    let named = |target: &Noticed| match &target.name {
        Some(name) => format!("{} “{name}”", target.id_text()),
        None => target.id_text(),
    };
    let thing = targets.iter().find(|target| arguments.values().any(|value| same(value, &target.id)));
    let rest: Vec<String> = arguments
        .iter()
        .filter(|(_, value)| thing.is_none_or(|thing| !same(value, &thing.id)))
        .map(|(name, value)| {
            format!("{} {}", steward_language::words::name_words(name).join(" "), plain(value))
        })
        .collect();
    let thing = thing.map(|thing| format!(" {}", named(thing))).unwrap_or_default();
    if rest.is_empty() { format!("{verb}{thing}") } else { format!("{verb}{thing} ({})", rest.join(", ")) }
}

fn same(one: &Json, other: &Json) -> bool {
    one == other || plain(one) == plain(other)
}

impl Work {
    /// The calls of a step that a person must confirm first.
    pub(super) fn exact(
        &self,
        step: &Step,
        tool: &str,
        calls: Vec<Map<String, Json>>,
        targets: &[Noticed],
    ) -> Vec<Exact> {
        // The user confirms a guess; a call that policy restricts needs a user with the right to
        // approve.
        let approval = self.registered(tool).is_some_and(|tool| match tool.definition.approval {
            ApprovalMode::Never => false,
            ApprovalMode::WhenUntrusted => step.destructive,
            ApprovalMode::Always => true,
        });
        calls
            .into_iter()
            .map(|arguments| Exact {
                tool: tool.to_owned(),
                digest: self.digest(tool, &arguments).map(|digest| digest.to_string()).unwrap_or_default(),
                what: sentence(step, targets, &arguments),
                approval,
                arguments,
                step: step.clone(),
                targets: targets.to_vec(),
            })
            .collect()
    }

    /// The current digest that an approval of this call is bound to.
    fn digest(&self, tool: &str, arguments: &Map<String, Json>) -> Option<Sha256Hex> {
        let registered = self.registered(tool)?;
        let definition = &registered.definition;
        Some(Proposal::new(CallId(uuid::Uuid::nil()), definition, arguments.clone()).digest())
    }

    /// Makes the confirmed calls one after the other, and then the steps after them. The first
    /// failure ends it.
    pub(super) async fn confirmed(
        self: &Arc<Self>,
        confirming: &PendingConfirmation,
        record: &mut Record,
        watch: Watch<'_>,
    ) -> Result<Done> {
        let by = Label::new(self.turn.caller.user.as_str())?;
        self.note(
            record,
            EventType::ApprovalDecided,
            &confirming.calls,
            json!({ "decision": "approved", "by": by }),
        )?;
        record.flush().await?;
        let agreed =
            (0..).zip(&confirming.calls).map(|(number, exact)| TurnStep::Agreed(number, exact.clone()));
        let rest = confirming.rest.iter().cloned().map(TurnStep::Understood);
        self.carry(agreed.chain(rest).collect(), record, watch).await
    }

    /// Makes one confirmed call. If the tool has changed since, a new confirmation is requested.
    pub(super) async fn agreed(&self, number: u64, exact: &Exact) -> Ended {
        let mut ended = bare(&exact.step, StepOutcome::Done);
        ended.targets.clone_from(&exact.targets);
        ended.targets.retain(|target| exact.arguments.values().any(|value| same(value, &target.id)));
        let shown =
            self.digest(&exact.tool, &exact.arguments).filter(|digest| digest.as_str() == exact.digest);
        let by = Label::new(self.turn.caller.user.as_str()).ok();
        let (Some(digest), Some(by), Some(confirming)) = (shown, by, &self.memory.confirming) else {
            let calls = vec![exact.arguments.clone()];
            ended.came = StepOutcome::Confirm(self.exact(&exact.step, &exact.tool, calls, &exact.targets));
            return ended;
        };
        let began = self.chat.app().clock.monotonic();
        let gate = Some(Gate { task: confirming.task, number });
        let approval = Some(Approval { digest, by, gate });
        let of = Some((&exact.step, exact.targets.as_slice()));
        let call = self.call(&exact.tool, exact.arguments.clone(), of, approval).await;
        ended.came = self.learn(&exact.step, call, &mut ended);
        ended.took = self.chat.app().clock.monotonic().saturating_sub(began);
        ended
    }

    /// Journals that the shown calls are not made: they were rejected, or the user sent something
    /// else.
    pub(super) fn record_declined(&self, record: &mut Record, decision: &str) -> Result<()> {
        let Some(confirming) = &self.memory.confirming else { return Ok(()) };
        let by = Label::new(self.turn.caller.user.as_str())?;
        self.note(
            record,
            EventType::ApprovalDecided,
            &confirming.calls,
            json!({ "decision": decision, "by": by }),
        )
    }

    fn note(&self, record: &mut Record, event: EventType, calls: &[Exact], more: Json) -> Result<()> {
        let shown: Vec<Json> =
            calls.iter().map(|call| json!({ "tool_name": call.tool, "digest": call.digest })).collect();
        let mut data = json!({ "calls": shown, "from": "conversation", "conversation_id": self.memory.id });
        if let (Some(data), Json::Object(more)) = (data.as_object_mut(), more) {
            data.extend(more);
        }
        let mut personal = Map::new();
        let arguments: Vec<&Map<String, Json>> = calls.iter().map(|call| &call.arguments).collect();
        personal.insert("arguments".into(), json!(arguments));
        record.note_personal(event, "runtime", data, personal)
    }

    /// Collects the calls that need a decision. The user decides where allowed; the other calls
    /// wait for an approver.
    pub(super) async fn ask_for_decisions(&self, done: &mut Done, record: &mut Record) -> Result<()> {
        let mut calls: Vec<Exact> = Vec::new();
        for ended in &done.ended {
            if let StepOutcome::Confirm(exact) = &ended.came {
                calls.extend(exact.iter().cloned());
            }
        }
        if calls.is_empty() {
            return Ok(());
        }
        let caller = &self.turn.caller;
        let (theirs, others): (Vec<Exact>, Vec<Exact>) =
            calls.into_iter().partition(|call| caller.administrator || !call.approval);
        for call in others {
            let mut request = Request::new(caller.clone(), call.tool.clone(), call.arguments.clone());
            request.default_provenance = Provenance::User;
            let reason = format!("{} asks to {} in a conversation", caller.user, call.what);
            let needed = ApprovalRequest { tool: call.tool.parse()?, digest: call.digest.parse()?, reason };
            let waiting = self.chat.toolbox.approvals().wait(&request, &needed).await?;
            done.waiting.push(waiting.task);
        }
        if !theirs.is_empty() {
            let micros = i64::try_from(PATIENCE.as_micros()).unwrap_or(i64::MAX);
            let until = Timestamp::from_micros(record.now().micros().saturating_add(micros));
            self.note(record, EventType::ApprovalRequested, &theirs, json!({ "until": until }))?;
            let rest = rest(&done.ended);
            done.confirming = Some(PendingConfirmation { calls: theirs, task: self.task, rest, until });
        }
        Ok(())
    }
}

/// The steps that wait only for the decision. Steps that act on its result are left out: there is
/// no result yet.
fn rest(ended: &[Ended]) -> Vec<Step> {
    let decided =
        |place: &usize| ended.get(*place).is_some_and(|ended| matches!(ended.came, StepOutcome::Confirm(_)));
    let waits = |step: &&Ended| matches!(&step.came, StepOutcome::Skipped(before) if decided(before));
    let steps = ended.iter().filter(waits).map(|ended| Step { after: Vec::new(), ..ended.step.clone() });
    steps.filter(|step| !matches!(step.target, Some(Target::OfStep { .. }))).collect()
}

/// The label of the option that declines.
pub(super) const DECLINE_LABEL: &str = "Leave it as it is";

/// The label of the option that confirms: "Delete note 3 “Garden plan”".
pub(super) fn label(confirming: &PendingConfirmation) -> String {
    let mut letters = confirming.calls.first().map_or("do it", |call| call.what.as_str()).chars();
    let first: String =
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default();
    match confirming.calls.len().saturating_sub(1) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The confirmation question.
pub(super) fn question(confirming: &PendingConfirmation) -> String {
    let final_word = if confirming.calls.iter().any(|call| call.step.destructive) {
        " This cannot be undone."
    } else {
        ""
    };
    match confirming.calls.as_slice() {
        [one] => format!("Shall I {}?{final_word}", one.what),
        several => {
            let lines: Vec<String> = several.iter().map(|call| format!("  • {}", call.what)).collect();
            format!("Shall I do these {}?{final_word}\n{}", several.len(), lines.join("\n"))
        }
    }
}
