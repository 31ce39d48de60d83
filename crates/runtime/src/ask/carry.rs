//! Executes a plan: first admission, then the plan as a program of the engine, then the answer from
//! the results. The common executor ([`crate::run`]) schedules the steps.

use super::answer::{Answer, Done, compose};
use super::effects::QuestionEffects;
use super::plan::{Planned, Step, Work};
use super::record::Record;
use super::talk::Talk;
use super::{AppContext, Ask, Watch, artifacts, recipe};
use crate::crash::{self, CrashPoint};
use crate::error::{Error, Result};
use crate::progress::ProgressEvent;
use crate::run;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use steward_analysis::tools::{Output, TOOLS, Workbench};
use steward_domain::{
    CallId, Check as _, Coded as _, EventType, Idempotency, JsonObject, NodeName, Plan, PlanId, PlanStatus,
    Problem, RequestStatus, Seconds, Subtask, ToolName,
};
use steward_engine::{Definition, OnFailure, Program, Root, Settings, ToolSpec};
use steward_store::Change;

/// The result of one step.
pub(super) struct Ended {
    pub(super) step: Step,
    pub(super) call: CallId,
    pub(super) attempts: u8,
    pub(super) result: std::result::Result<Output, steward_analysis::Error>,
    pub(super) repairs: Vec<String>,
    /// Whether a repair reduced the result.
    pub(super) partial: bool,
}

/// A question in progress.
pub(super) struct Question<'a> {
    pub(super) context: &'a AppContext,
    pub(super) ask: &'a Ask,
    pub(super) talk: &'a Talk,
    pub(super) data: &'a [String],
    pub(super) watch: Watch<'a>,
    /// The start time, on the monotonic clock.
    pub(super) began: Duration,
}

impl Question<'_> {
    pub(super) async fn carry_out(
        &self,
        bench: &Arc<Workbench>,
        planned: Planned,
        record: &mut Record,
    ) -> Result<Answer> {
        let mut work = match planned {
            Planned::Work(work) => work,
            Planned::Ask { question, options } => {
                record.note(
                    EventType::Understood,
                    "planner",
                    json!({ "outcome": "question_back", "question": question, "options": options }),
                )?;
                let answer = Answer::question(record.task, question, options, bench);
                return self.end(answer, record).await;
            }
            Planned::Unanswerable { why, can_answer } => {
                record.note(
                    EventType::Understood,
                    "planner",
                    json!({ "outcome": "unanswerable", "why": why }),
                )?;
                let answer = Answer::unanswerable(record.task, why, can_answer, bench);
                return self.end(answer, record).await;
            }
        };
        record.note(EventType::Understood, "planner", json!({ "outcome": "read", "planner": work.planner, "confidence": work.confidence, "reasoning": work.reasoning, "assumptions": work.assumptions }))?;
        let names = node_names(&work.steps)?;
        let plan = plan_of(record, &work, &names, self.ask)?;
        // All admission checks that need no results happen before the first step runs.
        for step in &mut work.steps {
            let Some(decision) = bench.admit_call(&step.arguments) else { continue };
            if step.after.is_empty() {
                match decision {
                    Ok(_) => record.note(
                        EventType::PolicyDecision,
                        "policy",
                        json!({ "decision": "allow", "step": step.name }),
                    )?,
                    Err(error) if error.category() == steward_domain::ErrorCategory::Denied => {
                        let code = error.code();
                        record.note(EventType::PolicyDecision, "policy", json!({ "decision": "deny", "step": step.name, "rule": code, "reason": error.to_string() }))?;
                        let plan = plan.clone().with(|plan| plan.status = PlanStatus::Abandoned)?;
                        record.change(Change::PutPlan(plan));
                        let answer = Answer::failed(record.task, &work, &error, bench);
                        return self.end(answer, record).await;
                    }
                    // Broken SQL is repaired during execution, and every attempt is journalled.
                    Err(_) => {}
                }
            }
        }
        record.change(Change::PutPlan(plan.clone()));
        record.advance(RequestStatus::Executing)?;
        let steps = self.run_steps(bench, &work, &plan, &names, record).await?;
        (self.watch)(ProgressEvent::Working { what: "Writing the answer".to_owned() });
        let plan_id = plan.plan_id;
        record.change(Change::PutPlan(plan.with(|plan| plan.status = PlanStatus::Completed)?));
        let done = Done { steps, plan: plan_id, elapsed: record.elapsed().saturating_sub(self.began) };
        let mut answer = compose(bench, &work, done, record);
        artifacts::write(self.context, self.ask, &mut answer, bench, record)?;
        if answer.response.status == steward_domain::ResponseStatus::Completed {
            recipe::learn(self.context, self.ask, &work, bench, &answer, record)?;
        }
        self.end(answer, record).await
    }

    /// Runs the steps as a program of the engine. The results are in dependency order: steps
    /// without dependencies first.
    async fn run_steps(
        &self,
        bench: &Arc<Workbench>,
        work: &Work,
        plan: &Plan,
        names: &[NodeName],
        record: &mut Record,
    ) -> Result<Vec<Ended>> {
        let program = Arc::new(program_of(plan, work, self.ask)?);
        let limit = Duration::from_secs(u64::from(self.ask.constraints.timeout_seconds.get()));
        let effects = QuestionEffects::new(self.context, record.writer(), bench, work, names, limit);
        let input = json!({ "question": self.ask.question.trim() });
        run::execute_plan(&effects, &mut record.log, program, input, self.watch).await?;
        let mut ended = effects.into_ended();
        let mut steps: Vec<Ended> = Vec::new();
        for place in in_order(&work.steps) {
            let Some(step) = work.steps.get(place) else { continue };
            let one = match ended.remove(&place) {
                Some(one) => one,
                None => skipped(step, &steps, record)?,
            };
            steps.push(one);
        }
        Ok(steps)
    }

    /// Appends the answer to the conversation, then ends the task. If the process dies in between,
    /// the process that recovers the task ends it.
    async fn end(&self, mut answer: Answer, record: &mut Record) -> Result<Answer> {
        let elapsed = record.elapsed().saturating_sub(self.began);
        answer.response.metrics.execution_time_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        answer.conversation_id = Some(self.talk.id);
        record.note(
            EventType::Answered,
            "runtime",
            json!({ "status": answer.response.status, "confidence": answer.score, "planner": answer.planner, "metrics": answer.response.metrics, "evidence": answer.evidence }),
        )?;
        let status = match answer.response.status {
            steward_domain::ResponseStatus::Completed => RequestStatus::Completed,
            steward_domain::ResponseStatus::PartialSuccess => RequestStatus::PartialSuccess,
            steward_domain::ResponseStatus::Failed => RequestStatus::Failed,
        };
        let outcome = match &answer.response.error {
            Some(error) if status == RequestStatus::Failed => Err(error.clone()),
            _ => Ok(answer.answer.clone()),
        };
        self.talk.close(self.context, self.ask, self.data, &answer, record).await?;
        crash::here(CrashPoint::AfterAnswerBeforeEnd);
        record.finish(status, outcome).await?;
        Ok(answer)
    }
}

/// The indexes of the steps in dependency order, otherwise as planned.
fn in_order(steps: &[Step]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    loop {
        let ready: Vec<usize> = (steps.iter().enumerate())
            .filter(|(place, step)| {
                !order.contains(place) && step.after.iter().all(|name| done.contains(name.as_str()))
            })
            .map(|(place, _)| place)
            .collect();
        if ready.is_empty() {
            return order;
        }
        done.extend(ready.iter().filter_map(|place| steps.get(*place)).map(|step| step.name.as_str()));
        order.extend(ready);
    }
}

/// A step that was not started, because a dependency failed.
fn skipped(step: &Step, before: &[Ended], record: &Record) -> Result<Ended> {
    let needed = |ended: &&Ended| step.after.contains(&ended.step.name) && ended.result.is_err();
    let missing = before.iter().find(needed).map_or("a step", |ended| ended.step.title.as_str());
    let detail = format!("{missing} is missing, which this step needs");
    let result = Err(steward_analysis::Error::Arguments { tool: "plan", detail });
    let call = record.call_id()?;
    Ok(Ended { step: step.clone(), call, attempts: 0, result, repairs: Vec::new(), partial: false })
}

/// A plan name for each step. Steps are named after their result, which may hold characters that a
/// plan name must not have.
pub(super) fn node_names(steps: &[Step]) -> Result<Vec<NodeName>> {
    let mut names: Vec<NodeName> = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let name = NodeName::new(&step.name).ok();
        let name = match name.filter(|name| !names.contains(name)) {
            Some(name) => name,
            None => {
                let short: String = step.name.chars().map(plain).take(40).collect();
                NodeName::new(format!("s{}_{short}", place + 1))?
            }
        };
        names.push(name);
    }
    Ok(names)
}

/// The names of the steps that a step depends on.
pub(super) fn needs(step: &Step, steps: &[Step], names: &[NodeName]) -> Vec<NodeName> {
    let place = |name: &String| steps.iter().position(|other| other.name == *name);
    step.after.iter().filter_map(|name| names.get(place(name)?).cloned()).collect()
}

/// The validated plan, checked against the request and the tools.
fn plan_of(
    record: &Record,
    work: &Work,
    names: &[NodeName],
    ask: &Ask,
) -> Result<steward_domain::Valid<Plan>> {
    let cost = |step: &Step| if step.tool == "plot.render" { 0.1 } else { 0.5 };
    let subtasks: Vec<Subtask> = (work.steps.iter().zip(names))
        .map(|(step, name)| {
            Ok(Subtask {
                task_id: name.clone(),
                description: step.title.clone(),
                tool_name: ToolName::new(step.tool)?,
                dependencies: needs(step, &work.steps, names),
                invariants: step.invariants.clone(),
                estimated_cost_seconds: Seconds::new(cost(step))?,
                inputs: Vec::new(),
                outputs: Vec::new(),
                arguments: JsonObject::new(),
            })
        })
        .collect::<std::result::Result<_, Problem>>()?;
    let total = work.steps.iter().map(cost).sum();
    let plan = Plan {
        plan_id: PlanId(record.id()?),
        request_id: record.task,
        subtasks,
        total_estimated_seconds: Seconds::new(total)?,
        created_at: record.now(),
        reasoning: work.reasoning.join(" "),
        status: PlanStatus::Draft,
    };
    let plan = plan.validate()?;
    let registered = |name: &ToolName| TOOLS.iter().any(|(tool, _)| *tool == name.as_str());
    plan.admit(ask.constraints.timeout_seconds, registered)?;
    record.note(
        EventType::PlanCreated,
        "planner",
        json!({ "plan_id": plan.plan_id, "planner": work.planner, "subtasks": plan.subtasks }),
    )?;
    Ok(plan)
}

/// The program for the engine: the plan with the arguments of its steps. When a step fails, only
/// dependent steps are skipped.
fn program_of(plan: &Plan, work: &Work, ask: &Ask) -> Result<Program> {
    let mut plan = plan.clone();
    for (subtask, step) in plan.subtasks.iter_mut().zip(&work.steps) {
        // User text may contain `${`, which the engine would evaluate as an expression.
        if let (Json::Object(arguments), false) = (&step.arguments, step.arguments.to_string().contains("${"))
        {
            subtask.arguments.clone_from(arguments);
        }
    }
    let mut tools = BTreeMap::new();
    for (name, _) in TOOLS {
        let name = ToolName::new(*name)?;
        let spec = ToolSpec {
            name: name.clone(),
            server: None,
            safety: Idempotency::ReadOnly,
            timeout_seconds: ask.constraints.timeout_seconds.get(),
            fallback_tools: Vec::new(),
            trusted_fields: Vec::new(),
        };
        tools.insert(name, spec);
    }
    // Failed steps are repaired where they run; an engine retry would fail again.
    let settings = Settings { retries: 0, on_failure: OnFailure::Continue, ..Settings::default() };
    let definition = Definition {
        root: Root::Plan(plan),
        agents: BTreeMap::new(),
        tools,
        workflows: BTreeMap::new(),
        settings,
    };
    Program::from_definition(definition).map_err(|problems| Error::Program(problems.to_string()))
}

impl Ended {
    /// Sets units on the columns of a result: sums of money are money.
    pub(super) fn decorate(&mut self, work: &Work, bench: &Workbench) {
        let Ok(output) = &mut self.result else { return };
        let Some(frame) = &mut output.frame else { return };
        let named = work
            .reading
            .iter()
            .flat_map(|reading| &reading.queries)
            .find(|named| named.name == self.step.name);
        if let Some(named) = named {
            let units = steward_analysis::shape::units(&named.query, bench.session.catalogue());
            for (field, unit) in frame.fields.iter_mut().zip(units) {
                field.unit = unit;
            }
            steward_analysis::shape::restore_times(frame, &named.query, bench.session.catalogue());
            steward_analysis::shape::spell_times(frame, &named.query, &bench.session);
            let _kept = bench.keep(&self.step.name, frame);
        }
    }
}
