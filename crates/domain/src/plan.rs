//! Plans: subtasks, their order and their estimated cost.

use crate::valid::require;
use crate::workflow::find_cycle;
use crate::{
    AnalysisTimeout, Check, Invalid, JsonObject, NodeName, PlanId, Problem, Seconds, States, TaskId,
    Timestamp, ToolName, Valid,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Subtasks that form a directed acyclic graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The plan's id.
    pub plan_id: PlanId,
    /// The request it serves.
    pub request_id: TaskId,
    /// The subtasks.
    pub subtasks: Vec<Subtask>,
    /// The sum of all estimates.
    pub total_estimated_seconds: Seconds,
    /// When it was made.
    pub created_at: Timestamp,
    /// The reasoning behind the plan.
    #[serde(default)]
    pub reasoning: String,
    /// The current status.
    #[serde(default)]
    pub status: PlanStatus,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subtask {
    /// Its name, unique in the plan: `load_sales`.
    pub task_id: NodeName,
    /// A description for people.
    pub description: String,
    /// The tool that executes it.
    pub tool_name: ToolName,
    /// Subtasks that must complete first.
    #[serde(default)]
    pub dependencies: Vec<NodeName>,
    /// Constraints, such as `filter before aggregate`.
    #[serde(default)]
    pub invariants: Vec<String>,
    /// The estimated duration.
    #[serde(default)]
    pub estimated_cost_seconds: Seconds,
    /// Names of the data it needs. The subtasks that produce them run first, even if `dependencies`
    /// does not name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<NodeName>,
    /// Names of the data it produces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<NodeName>,
    /// The arguments of the tool; `${…}` in a text holds an expression.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub arguments: JsonObject,
}

/// The states of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Created.
    #[default]
    Draft,
    /// Validated.
    Validated,
    /// Being executed.
    Executing,
    /// Completed.
    Completed,
    /// Abandoned.
    Abandoned,
}

impl States for PlanStatus {
    fn next(self) -> &'static [Self] {
        match self {
            Self::Draft => &[Self::Validated, Self::Abandoned],
            Self::Validated => &[Self::Executing, Self::Abandoned],
            Self::Executing => &[Self::Completed, Self::Abandoned],
            Self::Completed | Self::Abandoned => &[],
        }
    }
}

impl Check for Plan {
    const ENTITY: &'static str = "Plan";
    fn check(&self, problems: &mut Vec<Problem>) {
        require(problems, !self.subtasks.is_empty(), "subtasks", "must have at least 1 entry", "[]");
        let mut ways: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for task in &self.subtasks {
            let once = ways.insert(&task.task_id, task.dependencies.iter().map(|d| &**d).collect()).is_none();
            require(problems, once, "subtasks.task_id", "must be unique in the plan", &task.task_id);
        }
        for task in &self.subtasks {
            for dependency in &task.dependencies {
                let known = ways.contains_key(&**dependency);
                require(
                    problems,
                    known,
                    &format!("subtasks.{}.dependencies", task.task_id),
                    "must be subtasks of the plan",
                    dependency,
                );
            }
        }
        if let Some(cycle) = find_cycle(&ways) {
            problems.push(Problem::new(
                "subtasks",
                "must not depend on each other in a circle",
                cycle.join(" -> "),
            ));
        }
        let sum: f64 = self.subtasks.iter().map(|task| task.estimated_cost_seconds.get()).sum();
        let total = self.total_estimated_seconds.get();
        require(
            problems,
            (sum - total).abs() <= 1e-6 * sum.max(1.0),
            "total_estimated_seconds",
            &format!("must be the sum of the costs, {sum}"),
            total,
        );
    }
}

impl Valid<Plan> {
    /// The checks that need the request and the registry: the plan fits the time limit and its
    /// tools exist.
    pub fn admit(
        &self,
        timeout: AnalysisTimeout,
        registered: impl Fn(&ToolName) -> bool,
    ) -> Result<(), Invalid> {
        let mut problems = Vec::new();
        let total = self.total_estimated_seconds.get();
        require(
            &mut problems,
            total <= f64::from(timeout.get()),
            "total_estimated_seconds",
            &format!("must be at most the timeout of {timeout} s"),
            total,
        );
        for task in &self.subtasks {
            require(
                &mut problems,
                registered(&task.tool_name),
                &format!("subtasks.{}.tool_name", task.task_id),
                "must be a registered tool",
                &task.tool_name,
            );
        }
        if problems.is_empty() { Ok(()) } else { Err(Invalid { entity: Plan::ENTITY, problems }) }
    }
}
