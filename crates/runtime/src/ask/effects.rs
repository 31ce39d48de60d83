//! Executes the steps of a question for the engine: each is a call of an analysis tool, with repair
//! of failures.
//!
//! Invariants
//! - Every attempt is in the journal, its intent before its result.
//! - The rows of a step stay in memory: the engine and the store get only their shape. So a process
//!   that takes over a question reads its data again.

use super::AppContext;
use super::carry::Ended;
use super::plan::{Step, Work};
use crate::error::Result;
use crate::journal_writer::JournalWriter;
use crate::run::{EffectHandler, EffectOutcome, Work as Effort, class};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steward_analysis::repair;
use steward_analysis::tools::{Output, Workbench};
use steward_domain::{
    Attempt, CallId, CallStatus, Check as _, Coded as _, EventType, NodeName, Observation, ObservationId,
    Outcome, Seconds, ToolCall, ToolName,
};
use steward_engine::{Effect, EffectId, Event, Program, State, ToolOutcome};
use tokio::time::Instant;

/// The maximum number of attempts of one step, including the first.
const ATTEMPTS: u8 = 3;

/// The result of one call.
type Called = std::result::Result<Output, steward_analysis::Error>;

/// The steps of one question.
#[derive(Clone)]
pub(super) struct QuestionEffects(Arc<Inner>);

struct Inner {
    context: AppContext,
    writer: Arc<JournalWriter>,
    bench: Arc<Workbench>,
    work: Work,
    /// The index of each step in the plan.
    places: BTreeMap<NodeName, usize>,
    deadline: Instant,
    ended: Mutex<BTreeMap<usize, Ended>>,
}

impl QuestionEffects {
    pub(super) fn new(
        context: &AppContext,
        writer: &Arc<JournalWriter>,
        bench: &Arc<Workbench>,
        work: &Work,
        names: &[NodeName],
        limit: Duration,
    ) -> Self {
        Self(Arc::new(Inner {
            context: context.clone(),
            writer: writer.clone(),
            bench: bench.clone(),
            work: work.clone(),
            places: names.iter().cloned().zip(0..).collect(),
            deadline: Instant::now() + limit,
            ended: Mutex::default(),
        }))
    }

    /// The results of all started steps.
    pub(super) fn into_ended(self) -> BTreeMap<usize, Ended> {
        std::mem::take(&mut *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl EffectHandler for QuestionEffects {
    fn call_tool(&self, effect: Effect) -> Effort {
        let Effect::CallTool { id, key, node, .. } = effect else {
            return Box::pin(ready(EffectOutcome::Nothing));
        };
        let inner = self.0.clone();
        Box::pin(async move {
            let outcome = inner.step(key, &node).await.unwrap_or_else(|error| ToolOutcome::Failed {
                class: class(error.class()),
                message: error.to_string(),
                sent: false,
            });
            EffectOutcome::Happened(Event::ToolEnded { effect: id, outcome, at: inner.context.clock.now() })
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
    /// Runs one step with all of its attempts.
    async fn step(&self, key: CallId, node: &NodeName) -> Result<ToolOutcome> {
        let place = self.places.get(node).copied().unwrap_or(usize::MAX);
        let Some(mut step) = self.work.steps.get(place).cloned() else {
            return Ok(ToolOutcome::Denied { message: format!("the plan has no step {node}") });
        };
        let (mut call, mut repairs, mut partial) = (key, Vec::new(), false);
        for attempt in 1..=ATTEMPTS {
            self.note_call(call, node, &step, attempt)?;
            // A read is sent once its intent is written; its result waits for the next flush.
            self.writer.write().await?;
            let began = Instant::now();
            let result = self.call(&step).await;
            self.note_observation(call, &result, began.elapsed())?;
            match self.repaired(&step, &result, attempt) {
                Some(again) => {
                    if let Some(arguments) = step.arguments.as_object_mut() {
                        arguments.insert("sql".to_owned(), again.sql.into());
                    }
                    repairs.push(again.what);
                    partial |= again.partial;
                    call = CallId(self.id()?);
                }
                None => {
                    let outcome = outcome(&result);
                    let mut ended = Ended { step, call, attempts: attempt, result, repairs, partial };
                    ended.decorate(&self.work, &self.bench);
                    self.ended.lock().unwrap_or_else(PoisonError::into_inner).insert(place, ended);
                    return Ok(outcome);
                }
            }
        }
        Ok(ToolOutcome::TimedOut)
    }

    async fn call(&self, step: &Step) -> Called {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let seconds = u32::try_from(left.as_secs()).unwrap_or(u32::MAX);
        let work = self.bench.call(step.tool, &step.arguments, &step.name);
        tokio::time::timeout_at(self.deadline, work)
            .await
            .unwrap_or(Err(steward_analysis::Error::Timeout { seconds }))
    }

    /// The corrected statement, if the failure can be repaired.
    fn repaired(&self, step: &Step, result: &Called, attempt: u8) -> Option<repair::Repaired> {
        let error = result.as_ref().err()?;
        if attempt >= ATTEMPTS || step.arguments.get("keep_in_engine").is_some() {
            return None;
        }
        let sql = step.arguments.get("sql").and_then(Json::as_str)?;
        repair::repair(sql, error, &self.bench.session.visible(&self.bench.access))
    }

    fn id(&self) -> Result<uuid::Uuid> {
        Ok(self.context.random.uuid_v7(self.context.clock.now())?)
    }

    fn note_call(&self, call_id: CallId, node: &NodeName, step: &Step, attempt: u8) -> Result<()> {
        let Json::Object(arguments) = step.arguments.clone() else { return Ok(()) };
        let call = ToolCall {
            call_id,
            task_id: Some(node.clone()),
            server: None,
            tool_name: ToolName::new(step.tool)?,
            domain: None,
            arguments,
            status: CallStatus::Pending,
            timestamp: self.context.clock.now(),
            attempt_number: Attempt::new(attempt)?,
        };
        self.writer.entry(EventType::ToolCalled, "runtime", json!(call), Map::new())
    }

    fn note_observation(&self, call_id: CallId, result: &Called, took: Duration) -> Result<()> {
        let error = result.as_ref().err();
        let status = match error {
            None => Outcome::Success,
            Some(steward_analysis::Error::Timeout { .. }) => Outcome::Timeout,
            Some(steward_analysis::Error::Memory { .. }) => Outcome::ResourceLimit,
            Some(_) => Outcome::Error,
        };
        let rows = result.as_ref().ok().and_then(|output| Some(output.frame.as_ref()?.rows.len() as u64));
        let observation = Observation {
            observation_id: ObservationId(self.id()?),
            call_id,
            status,
            data: result.as_ref().ok().map(shape),
            error_message: error.map(ToString::to_string),
            error_category: error.map(steward_analysis::Error::category),
            execution_time_seconds: Seconds::new(took.as_secs_f64().max(1e-6))?,
            row_count: rows,
            timestamp: self.context.clock.now(),
        };
        let observation = observation.validate()?;
        self.writer.entry(EventType::ObservationRecorded, "runtime", json!(*observation), Map::new())
    }
}

/// The stored shape of a result: row count, columns and statement.
fn shape(output: &Output) -> Json {
    let frame = output.frame.as_ref();
    let columns = frame.map(|frame| frame.fields.iter().map(|field| &field.name).collect::<Vec<_>>());
    json!({ "rows": frame.map(|frame| frame.rows.len()), "columns": columns, "cut": output.cut, "sql": output.sql })
}

fn outcome(result: &Called) -> ToolOutcome {
    match result {
        Ok(output) => ToolOutcome::Success { output: shape(output), artifact: None },
        Err(steward_analysis::Error::Timeout { .. }) => ToolOutcome::TimedOut,
        Err(error) => ToolOutcome::Failed {
            class: class(error.class()),
            message: format!("{} {error}", error.code()),
            sent: false,
        },
    }
}
