//! A chat turn as a program of the engine: its steps form a plan, and this module executes them.
//!
//! Invariants
//! - A step ends before the deadline of the turn, with its outcome or as a timeout.
//! - The engine gets only the shape of a result: the calls and the outcome. The results of tools
//!   stay in the records of the calls.

use super::carry::{Ended, Found, StepOutcome, Work, bare, what};
use super::confirm::Exact;
use crate::error::{Error, Result};
use crate::run::{EffectHandler, EffectOutcome, Work as Effort};
use serde_json::json;
use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{
    Idempotency, JsonObject, NodeName, Plan, PlanId, PlanStatus, Seconds, Subtask, ToolName,
};
use steward_engine::{
    Class, Definition, Effect, EffectId, Event, OnFailure, OnUnknown, Program, Root, Settings, State,
    ToolOutcome, ToolSpec,
};
use steward_language::understand::Step;

/// One step of a turn's plan.
pub(super) enum TurnStep {
    /// A step of the understood message.
    Understood(Step),
    /// A confirmed call, with its number among the shown calls.
    Agreed(u64, Exact),
}

impl TurnStep {
    pub(super) fn step(&self) -> &Step {
        match self {
            Self::Understood(step) => step,
            Self::Agreed(_, exact) => &exact.step,
        }
    }
}

/// The steps of one turn.
#[derive(Clone)]
pub(super) struct TurnEffects(Arc<Inner>);

struct Inner {
    work: Arc<Work>,
    steps: Vec<TurnStep>,
    ended: Mutex<BTreeMap<usize, Ended>>,
}

impl TurnEffects {
    pub(super) fn new(work: &Arc<Work>, steps: Vec<TurnStep>) -> Self {
        Self(Arc::new(Inner { work: work.clone(), steps, ended: Mutex::default() }))
    }

    pub(super) fn steps(&self) -> &[TurnStep] {
        &self.0.steps
    }

    /// The outcomes of all started steps.
    pub(super) fn take_ended(&self) -> BTreeMap<usize, Ended> {
        std::mem::take(&mut *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The steps as a plan. When a step fails, only dependent steps are skipped.
    pub(super) fn program(&self) -> Result<Program> {
        let (steps, work) = (&self.0.steps, &self.0.work);
        let (mut subtasks, mut tools) = (Vec::new(), BTreeMap::new());
        // Confirmed calls run one after the other, before everything else.
        let agreed = steps.iter().filter(|step| matches!(step, TurnStep::Agreed(..))).count();
        for (place, one) in steps.iter().enumerate() {
            let step = one.step();
            let before: Vec<usize> = match one {
                TurnStep::Agreed(..) => place.checked_sub(1).into_iter().collect(),
                TurnStep::Understood(_) if agreed > 0 => vec![agreed - 1],
                TurnStep::Understood(step) => step.after.clone(),
            };
            let tool = tool_of(step)?;
            let safety = if step.read_only { Idempotency::ReadOnly } else { Idempotency::None };
            let timeout = work.chat.limits.answer.as_secs().max(1);
            let spec = ToolSpec {
                name: tool.clone(),
                server: None,
                safety,
                timeout_seconds: u32::try_from(timeout).unwrap_or(u32::MAX),
                fallback_tools: Vec::new(),
                trusted_fields: Vec::new(),
            };
            tools.insert(tool.clone(), spec);
            subtasks.push(Subtask {
                task_id: name_of(place)?,
                description: what(step),
                tool_name: tool,
                dependencies: before.into_iter().map(name_of).collect::<Result<_>>()?,
                invariants: Vec::new(),
                estimated_cost_seconds: Seconds::default(),
                inputs: Vec::new(),
                outputs: Vec::new(),
                arguments: JsonObject::new(),
            });
        }
        let app = work.chat.app();
        let plan = Plan {
            plan_id: PlanId(app.random.uuid_v7(app.clock.now())?),
            request_id: work.task,
            subtasks,
            total_estimated_seconds: Seconds::default(),
            created_at: app.clock.now(),
            reasoning: String::new(),
            status: PlanStatus::Executing,
        };
        // The gateway retries calls where that is safe; the engine does not retry steps.
        let settings = Settings {
            retries: 0,
            on_failure: OnFailure::Continue,
            on_unknown: OnUnknown::Fail,
            ..Settings::default()
        };
        let definition = Definition {
            root: Root::Plan(plan),
            agents: BTreeMap::new(),
            tools,
            workflows: BTreeMap::new(),
            settings,
        };
        Program::from_definition(definition).map_err(|problems| Error::Program(problems.to_string()))
    }
}

/// The tool of a step; analysis handles steps without one.
fn tool_of(step: &Step) -> Result<ToolName> {
    let named = step.tool().and_then(|tool| ToolName::new(tool).ok());
    Ok(named.map_or_else(|| ToolName::new("analyst"), Ok)?)
}

fn name_of(place: usize) -> Result<NodeName> {
    Ok(NodeName::new(format!("step_{}", place + 1))?)
}

impl EffectHandler for TurnEffects {
    fn call_tool(&self, effect: Effect) -> Effort {
        let Effect::CallTool { id, node, .. } = effect else {
            return Box::pin(ready(EffectOutcome::Nothing));
        };
        let inner = self.0.clone();
        Box::pin(async move {
            let outcome = inner.carry_out(&node).await;
            let at = inner.work.chat.app().clock.now();
            EffectOutcome::Happened(Event::ToolEnded { effect: id, outcome, at })
        })
    }

    fn ask_model(&self, _: &Program, _: &State, _: EffectId) -> Effort {
        Box::pin(ready(EffectOutcome::Nothing))
    }

    fn start_sub(&self, _: &Program, _: Effect) -> Effort {
        Box::pin(ready(EffectOutcome::Nothing))
    }
}

impl Inner {
    async fn carry_out(&self, node: &NodeName) -> ToolOutcome {
        let place = node.as_str().strip_prefix("step_").and_then(|place| place.parse::<usize>().ok());
        let place = place.and_then(|place| place.checked_sub(1)).unwrap_or(usize::MAX);
        let Some(one) = self.steps.get(place) else {
            return ToolOutcome::Denied { message: format!("the plan has no step {node}") };
        };
        let ended = tokio::time::timeout(self.work.left(), self.step(one)).await;
        let ended = ended.unwrap_or_else(|_| Ended {
            took: self.work.chat.limits.answer,
            ..bare(one.step(), StepOutcome::Late)
        });
        let outcome = outcome(&ended);
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).insert(place, ended);
        outcome
    }

    async fn step(&self, one: &TurnStep) -> Ended {
        match one {
            TurnStep::Agreed(number, exact) => self.work.agreed(*number, exact).await,
            TurnStep::Understood(step) => {
                let given: BTreeMap<usize, Found> = {
                    let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
                    ended.iter().map(|(place, ended)| (*place, Found::of(ended))).collect()
                };
                Box::pin(self.work.one(step, &given)).await
            }
        }
    }
}

/// The outcome of a step for the engine.
fn outcome(ended: &Ended) -> ToolOutcome {
    let failed = |class: Class, message: String| ToolOutcome::Failed { class, message, sent: true };
    match &ended.came {
        StepOutcome::Done => {
            let calls = ended.calls.iter().filter_map(|call| call.result.as_ref().ok());
            let calls: Vec<_> = calls.map(|receipt| receipt.call).collect();
            ToolOutcome::Success { output: json!({ "calls": calls }), artifact: None }
        }
        StepOutcome::Late => ToolOutcome::TimedOut,
        StepOutcome::NotFound(_) => failed(Class::User, "what it acts on was not found".to_owned()),
        StepOutcome::Ask(_) => failed(Class::User, "a question must be answered first".to_owned()),
        StepOutcome::Confirm(_) => failed(Class::User, "a decision is needed first".to_owned()),
        StepOutcome::Failed { code, .. } => failed(Class::User, format!("it failed with {code}")),
        StepOutcome::Skipped(_) => failed(Class::User, "what it builds on is missing".to_owned()),
    }
}
