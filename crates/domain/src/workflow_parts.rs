//! Parts of a workflow's nodes: retries, escalation, the items of a `map`; and which field belongs
//! to which kind of node.

use crate::valid::require;
use crate::{Label, NodeDef, NodeKind, NodeName, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often and when a node's work is tried again. Work that may have had an effect and cannot be
/// repeated safely is never tried again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryPolicy {
    /// Attempts in all, the first included.
    #[schemars(range(min = 1, max = 20))]
    pub attempts: u32,
    /// The wait before the second attempt; it doubles each time.
    #[serde(default = "half_a_second")]
    pub backoff_seconds: f64,
    /// The longest wait between two attempts.
    #[serde(default = "a_minute")]
    pub max_backoff_seconds: f64,
    /// Which failures are tried again.
    #[serde(default = "passing")]
    pub on: Vec<RetryClass>,
    /// For `workflow` nodes and maps of workflows: the author accepts that what a failed attempt
    /// did is done again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeat_effects: bool,
}

fn half_a_second() -> f64 {
    0.5
}

fn a_minute() -> f64 {
    60.0
}

fn passing() -> Vec<RetryClass> {
    vec![RetryClass::Transient, RetryClass::Timeout]
}

/// A kind of failure that a [`RetryPolicy`] may try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryClass {
    /// The world was in the way: a server that cannot be reached, a rate limit.
    Transient,
    /// No answer in time.
    Timeout,
    /// The tool, the agent or the workflow said that it failed.
    Failed,
}

/// Who is asked next about a `human` node when there is no answer in time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Escalation {
    /// The roles that may decide then.
    pub to: Vec<Label>,
    /// How long they may take; as long as the node says when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_seconds: Option<u32>,
}

/// What becomes of a `map` when the work on an item fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemFailure {
    /// The node fails, and what is under way is called off.
    #[default]
    Fail,
    /// The result has an object with `error` in the place of the item.
    Keep,
    /// The item is left out of the result.
    Skip,
}

impl ItemFailure {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A field of a node, whether it is there, and the kinds that may have it.
type FieldRule = (&'static str, bool, &'static [NodeKind]);

/// Each kind has the fields that it needs and none that it ignores.
pub(crate) fn check_fields(problems: &mut Vec<Problem>, name: &NodeName, node: &NodeDef) {
    use NodeKind::{Agent, Human, Map, Signal, Timer, Tool, Transform, Workflow};
    let field = format!("nodes.{name}");
    let rules: [FieldRule; 17] = [
        ("agent", node.agent.is_some(), &[Agent, Map]),
        ("tool", node.tool.is_some(), &[Tool, Map]),
        ("workflow", node.workflow.is_some(), &[Workflow, Map]),
        ("over", node.over.is_some(), &[Map]),
        ("concurrency", node.concurrency.is_some(), &[Map]),
        ("on_item_error", node.on_item_error != ItemFailure::Fail, &[Map]),
        ("value", node.value.is_some(), &[Transform]),
        ("duration", node.duration.is_some(), &[Timer]),
        ("until", node.until.is_some(), &[Timer]),
        ("zone", node.zone.is_some(), &[Timer]),
        ("signal", node.signal.is_some(), &[Signal]),
        ("schema", node.schema.is_some(), &[Signal]),
        ("retry", node.retry.is_some(), &[Tool, Agent, Workflow, Map]),
        ("approvers", !node.approvers.is_empty(), &[Human]),
        ("escalate", !node.escalate.is_empty(), &[Human]),
        ("arguments", !node.arguments.is_empty(), &[Tool, Map, Workflow]),
        ("input", node.input.is_some(), &[Agent, Human, Map, Workflow]),
    ];
    for (part, is_there, kinds) in rules {
        let named = kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        let rule = format!("belongs to nodes of the type {named}; this is a {}", node.kind.name());
        require(problems, !is_there || kinds.contains(&node.kind), &format!("{field}.{part}"), &rule, name);
    }
    let needs: &[(&str, bool)] = match node.kind {
        Agent => {
            &[("names an agent exactly when its type is agent: write `agent: NAME`", node.agent.is_some())]
        }
        Tool => &[("names a tool exactly when its type is tool: write `tool: NAME`", node.tool.is_some())],
        Workflow => &[("needs `workflow: NAME`", node.workflow.is_some())],
        Transform => &[("needs `value`", node.value.is_some())],
        Timer => &[
            ("needs `duration` or `until`", node.duration.is_some() || node.until.is_some()),
            ("has `duration` or `until`, not both", node.duration.is_none() || node.until.is_none()),
            ("has a `zone` only beside `until`", node.zone.is_none() || node.until.is_some()),
        ],
        Map => &[
            ("needs `over`: an expression that gives a list", node.over.is_some()),
            (
                "needs exactly one of `tool`, `agent` and `workflow`",
                [node.tool.is_some(), node.agent.is_some(), node.workflow.is_some()]
                    .into_iter()
                    .filter(|is_there| *is_there)
                    .count()
                    == 1,
            ),
        ],
        _ => &[],
    };
    for (rule, holds) in needs {
        require(problems, *holds, &field, rule, name);
    }
    check_retry(problems, &field, node);
    for (number, step) in node.escalate.iter().enumerate() {
        let at = format!("{field}.escalate[{number}].to");
        require(problems, !step.to.is_empty(), &at, "must name at least one role", "[]");
    }
}

fn check_retry(problems: &mut Vec<Problem>, field: &str, node: &NodeDef) {
    let Some(retry) = &node.retry else { return };
    let at = |part: &str| format!("{field}.retry.{part}");
    require(
        problems,
        (1..=20).contains(&retry.attempts),
        &at("attempts"),
        "must be from 1 to 20",
        retry.attempts,
    );
    for (part, seconds) in
        [("backoff_seconds", retry.backoff_seconds), ("max_backoff_seconds", retry.max_backoff_seconds)]
    {
        let fits = (0.0..=86_400.0).contains(&seconds);
        require(problems, fits, &at(part), "must be from 0 to 86400", seconds);
    }
    require(problems, !retry.on.is_empty(), &at("on"), "must name at least one class", "[]");
}
