//! Carries out a plan: admission first, then the steps, those that do not depend on each other at the same time; repair of
//! what fails; and in the end the answer from whatever arrived.

use super::answer::{Answer, Done, compose};
use super::plan::{Planned, Step, Work};
use super::record::Record;
use super::{AppContext, Ask, artifacts, recipe};
use crate::error::Result;
use futures_util::future::join_all;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::time::Duration;
use steward_analysis::repair;
use steward_analysis::tools::{Output, Workbench};
use steward_domain::{
    Attempt, CallId, CallStatus, Check as _, Coded as _, EventType, Invalid, JsonObject, NodeName,
    Observation, ObservationId, Outcome, Plan, PlanId, PlanStatus, Problem, RequestStatus, Seconds, Subtask,
    ToolCall, ToolName,
};
use steward_store::Change;

/// Attempts at one step, the first included.
const ATTEMPTS: u8 = 3;

/// What came of one step.
pub(super) struct Ended {
    pub(super) step: Step,
    pub(super) call: CallId,
    pub(super) attempts: u8,
    pub(super) result: std::result::Result<Output, steward_analysis::Error>,
    pub(super) repairs: Vec<String>,
    /// A repair cut the result down.
    pub(super) partial: bool,
}

pub(super) async fn carry_out(
    house: &AppContext,
    ask: &Ask,
    bench: &Workbench,
    planned: Planned,
    record: &mut Record<'_>,
    tell: &(dyn Fn(&str) + Sync),
    began: Duration,
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
            return end(answer, record, began).await;
        }
        Planned::Unanswerable { why, can_answer } => {
            record.note(
                EventType::Understood,
                "planner",
                json!({ "outcome": "unanswerable", "why": why }),
            )?;
            let answer = Answer::unanswerable(record.task, why, can_answer, bench);
            return end(answer, record, began).await;
        }
    };
    record.note(EventType::Understood, "planner", json!({ "outcome": "read", "planner": work.planner, "confidence": work.confidence, "reasoning": work.reasoning, "assumptions": work.assumptions }))?;
    let plan = plan_of(record, &work, ask)?;
    // Everything that can be decided before anything runs is decided before anything runs.
    for step in &mut work.steps {
        let Some(sql) = step.arguments.get("sql").and_then(Json::as_str).map(str::to_owned) else { continue };
        if step.after.is_empty() {
            match bench.admit(&sql) {
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
                    return end(answer, record, began).await;
                }
                // Broken SQL is repaired below, where every attempt is written down.
                Err(_) => {}
            }
        }
    }
    record.change(Change::PutPlan(plan.clone()));
    record.advance(RequestStatus::Executing)?;
    let limit = Duration::from_secs(u64::from(ask.constraints.timeout_seconds.get()));
    let done = run_all(bench, &work, record, tell, limit).await?;
    tell("Writing the answer");
    let plan_id = plan.plan_id;
    record.change(Change::PutPlan(plan.with(|plan| plan.status = PlanStatus::Completed)?));
    let done = Done { steps: done, plan: plan_id, elapsed: record.elapsed().saturating_sub(began) };
    let mut answer = compose(bench, &work, done, record);
    artifacts::write(house, ask, &mut answer, bench, record)?;
    if answer.response.status == steward_domain::ResponseStatus::Completed {
        recipe::learn(house, ask, &work, bench, &answer, record)?;
    }
    end(answer, record, began).await
}

async fn end(mut answer: Answer, record: &mut Record<'_>, began: Duration) -> Result<Answer> {
    let elapsed = record.elapsed().saturating_sub(began);
    answer.response.metrics.execution_time_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
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
    record.finish(status, outcome).await?;
    Ok(answer)
}

/// The plan as S3 has it, checked against the request and the tools.
fn plan_of(record: &mut Record<'_>, work: &Work, ask: &Ask) -> Result<steward_domain::Valid<Plan>> {
    let cost = |step: &Step| if step.tool == "plot.render" { 0.1 } else { 0.5 };
    let subtasks: Vec<Subtask> = (work.steps.iter())
        .map(|step| {
            Ok(Subtask {
                task_id: node(&step.name)?,
                description: step.title.clone(),
                tool_name: ToolName::new(step.tool)?,
                dependencies: step
                    .after
                    .iter()
                    .map(|name| node(name))
                    .collect::<std::result::Result<_, _>>()?,
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
    let registered =
        |name: &ToolName| steward_analysis::tools::TOOLS.iter().any(|(tool, _)| *tool == name.as_str());
    plan.admit(ask.constraints.timeout_seconds, registered)?;
    record.note(
        EventType::PlanCreated,
        "planner",
        json!({ "plan_id": plan.plan_id, "planner": work.planner, "subtasks": plan.subtasks }),
    )?;
    Ok(plan)
}

fn node(name: &str) -> std::result::Result<NodeName, Problem> {
    NodeName::new(name)
}

/// Runs the steps in waves: each wave is everything whose inputs are there.
async fn run_all(
    bench: &Workbench,
    work: &Work,
    record: &mut Record<'_>,
    tell: &(dyn Fn(&str) + Sync),
    limit: Duration,
) -> Result<Vec<Ended>> {
    let deadline = tokio::time::Instant::now() + limit;
    let mut waiting: Vec<Step> = work.steps.clone();
    let mut done: Vec<Ended> = Vec::new();
    while !waiting.is_empty() {
        let ready: BTreeSet<String> = done.iter().map(|ended| ended.step.name.clone()).collect();
        let (wave, rest): (Vec<Step>, Vec<Step>) =
            waiting.into_iter().partition(|step| step.after.iter().all(|name| ready.contains(name)));
        waiting = rest;
        if wave.is_empty() {
            break;
        }
        tell(wave.first().map_or("Working", |step| step.title.as_str()));
        done.extend(run_wave(bench, work, wave, &done, record, deadline).await?);
    }
    Ok(done)
}

async fn run_wave(
    bench: &Workbench,
    work: &Work,
    wave: Vec<Step>,
    before: &[Ended],
    record: &mut Record<'_>,
    deadline: tokio::time::Instant,
) -> Result<Vec<Ended>> {
    let mut open: Vec<(Step, u8, Vec<String>, bool)> =
        wave.into_iter().map(|step| (step, 1, Vec::new(), false)).collect();
    let mut done = Vec::new();
    while !open.is_empty() {
        let mut calls = Vec::new();
        for (step, attempt, repairs, partial) in open.drain(..) {
            let call = record.call_id()?;
            note_call(record, call, &step, attempt)?;
            calls.push((step, attempt, repairs, partial, call));
        }
        record.flush().await?;
        let results = join_all(calls.iter().map(|(step, ..)| run_step(bench, step, before, deadline))).await;
        for ((mut step, attempt, mut repairs, partial, call), (result, took)) in
            calls.into_iter().zip(results)
        {
            note_observation(record, call, &result, took)?;
            if let Err(error) = &result
                && attempt < ATTEMPTS
                && step.arguments.get("keep_in_engine").is_none()
                && let Some(sql) = step.arguments.get("sql").and_then(Json::as_str)
                && let Some(repaired) = repair::repair(sql, error, &bench.session.visible(&bench.access))
                && let Some(arguments) = step.arguments.as_object_mut()
            {
                arguments.insert("sql".to_owned(), repaired.sql.into());
                repairs.push(repaired.what);
                open.push((step, attempt + 1, repairs, partial || repaired.partial));
                continue;
            }
            let mut ended = Ended { step, call, attempts: attempt, result, repairs, partial };
            decorate(&mut ended, work, bench);
            done.push(ended);
        }
    }
    Ok(done)
}

async fn run_step(
    bench: &Workbench,
    step: &Step,
    before: &[Ended],
    deadline: tokio::time::Instant,
) -> (std::result::Result<Output, steward_analysis::Error>, Duration) {
    let began = tokio::time::Instant::now();
    let seconds = u32::try_from((deadline - began).as_secs()).unwrap_or(u32::MAX);
    let missing = before.iter().find(|ended| step.after.contains(&ended.step.name) && ended.result.is_err());
    let result = match missing {
        Some(missing) => Err(steward_analysis::Error::Arguments {
            tool: "plan",
            detail: format!("{} is missing, which this step needs", missing.step.title),
        }),
        None => {
            let work = bench.call(step.tool, &step.arguments, &step.name);
            tokio::time::timeout_at(deadline, work)
                .await
                .unwrap_or(Err(steward_analysis::Error::Timeout { seconds }))
        }
    };
    (result, began.elapsed())
}

fn note_call(record: &mut Record<'_>, call_id: CallId, step: &Step, attempt: u8) -> Result<()> {
    let Json::Object(arguments) = step.arguments.clone() else { return Ok(()) };
    let call = ToolCall {
        call_id,
        task_id: Some(node(&step.name)?),
        server: None,
        tool_name: ToolName::new(step.tool)?,
        domain: None,
        arguments,
        status: CallStatus::Pending,
        timestamp: record.now(),
        attempt_number: Attempt::new(attempt)?,
    };
    record.note(EventType::ToolCalled, "runtime", json!(call))
}

fn note_observation(
    record: &mut Record<'_>,
    call_id: CallId,
    result: &std::result::Result<Output, steward_analysis::Error>,
    took: Duration,
) -> Result<()> {
    let (status, data, error) = match result {
        Ok(output) => {
            let frame = output.frame.as_ref();
            let data = json!({ "rows": frame.map(|frame| frame.rows.len()), "columns": frame.map(|frame| frame.fields.iter().map(|field| &field.name).collect::<Vec<_>>()), "cut": output.cut, "sql": output.sql });
            (Outcome::Success, Some(data), None)
        }
        Err(error) => {
            let status = match error {
                steward_analysis::Error::Timeout { .. } => Outcome::Timeout,
                steward_analysis::Error::Memory { .. } => Outcome::ResourceLimit,
                _ => Outcome::Error,
            };
            (status, None, Some(error))
        }
    };
    let rows =
        result.as_ref().ok().and_then(|output| output.frame.as_ref()).map(|frame| frame.rows.len() as u64);
    let observation = Observation {
        observation_id: ObservationId(record.id()?),
        call_id,
        status,
        data,
        error_message: error.map(ToString::to_string),
        error_category: error.map(steward_analysis::Error::category),
        execution_time_seconds: Seconds::new(took.as_secs_f64().max(1e-6))?,
        row_count: rows,
        timestamp: record.now(),
    };
    let observation = observation.validate().map_err(|invalid: Invalid| crate::Error::Invalid(invalid))?;
    record.note(EventType::ObservationRecorded, "runtime", json!(*observation))
}

/// Puts units on the columns of a result: sums of money are money.
fn decorate(ended: &mut Ended, work: &Work, bench: &Workbench) {
    let Ok(output) = &mut ended.result else { return };
    let Some(frame) = &mut output.frame else { return };
    let named =
        work.reading.iter().flat_map(|reading| &reading.queries).find(|named| named.name == ended.step.name);
    if let Some(named) = named {
        let units = steward_analysis::shape::units(&named.query, bench.session.catalogue());
        for (field, unit) in frame.fields.iter_mut().zip(units) {
            field.unit = unit;
        }
        steward_analysis::shape::restore_times(frame, &named.query, bench.session.catalogue());
        steward_analysis::shape::spell_times(frame, &named.query, &bench.session);
        let _kept = bench.keep(&ended.step.name, frame);
    }
}
