//! The agents of a turn on record: their input, decisions and reasons. The decisions are made in
//! `language`, `find` and `carry`; here each becomes an [`AgentExecution`].

use super::carry::{Done, Ended, StepOutcome, what};
use super::compose::{brief, millis};
use super::memory::Memory;
use super::{Turn, find};
use crate::ask::AppContext;
use crate::error::Result;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use steward_domain::{
    AgentExecution, AgentKind, Check as _, Confidence, ConversationId, ExecutionId, ExecutionStatus, Label,
    ReasoningStep, ReasoningTrace, Timestamp, ToolName, UserId,
};
use steward_language::understand::{Answered, Target, Understood};
use steward_store::Change;

/// The executions of one turn.
pub(super) struct Agents<'a> {
    app: &'a AppContext,
    user: UserId,
    conversation: ConversationId,
    began: Timestamp,
    runs: Vec<AgentExecution>,
}

impl<'a> Agents<'a> {
    pub(super) fn new(app: &'a AppContext, user: &UserId, conversation: ConversationId) -> Self {
        Self { app, user: user.clone(), conversation, began: app.clock.now(), runs: Vec::new() }
    }

    fn run(&mut self, agent: AgentKind, input: Json, output: Json) -> Result<&mut AgentExecution> {
        let now = self.app.clock.now().max(self.began);
        self.runs.push(AgentExecution {
            id: ExecutionId(self.app.random.uuid_v7(now)?),
            conversation_id: Some(self.conversation),
            user_id: self.user.clone(),
            agent_type: agent,
            input_data: input,
            output_data: output,
            execution_start: self.began,
            execution_end: now,
            duration_ms: now.millis_since(self.began),
            status: ExecutionStatus::Success,
            error_details: None,
            reasoning_trace: ReasoningTrace::default(),
            confidence_scores: BTreeMap::new(),
            tools_invoked: Vec::new(),
        });
        let last = self.runs.len().saturating_sub(1);
        self.runs
            .get_mut(last)
            .ok_or_else(|| steward_tools::Error::Bug { detail: "a run was just added".into() }.into())
    }

    /// Records the orchestrator's reading, and the entities that the conversation agent resolved.
    pub(super) fn understood(&mut self, turn: &Turn, understood: &Understood, memory: &Memory) -> Result<()> {
        let at = self.app.clock.now();
        let steps: Vec<ReasoningStep> = understood
            .reasons
            .iter()
            .zip(1..)
            .map(|(reason, step)| {
                reasoned(
                    step,
                    "understand",
                    json!({ "said": turn.said }),
                    json!(reason),
                    understood.confidence,
                    at,
                )
            })
            .collect::<Result<_>>()?;
        let run = self.run(AgentKind::Orchestrator, json!({ "said": turn.said }), json!(understood))?;
        run.reasoning_trace = ReasoningTrace { steps };
        run.confidence_scores.insert("understanding".into(), understood.confidence);
        for (domain, share) in &understood.domains {
            run.confidence_scores.insert(format!("domain:{domain}"), *share);
        }
        let referred: Vec<&Target> = understood
            .steps
            .iter()
            .filter_map(|step| step.target.as_ref())
            .filter(|target| matches!(target, Target::Known { .. } | Target::OfStep { .. }))
            .collect();
        let answers = understood.answered != Answered::Nothing;
        if !referred.is_empty() || answers {
            let input = json!({ "said": turn.said, "entities": memory.recent.len(), "pending": memory.pending.is_some() });
            let output = json!({ "stands_for": referred, "answered": understood.answered });
            let reasons = understood.steps.iter().flat_map(|step| &step.reasons);
            let steps: Vec<ReasoningStep> = reasons
                .zip(1..)
                .map(|(reason, step)| {
                    reasoned(
                        step,
                        "resolve_references",
                        json!(null),
                        json!(reason),
                        understood.confidence,
                        at,
                    )
                })
                .collect::<Result<_>>()?;
            let run = self.run(AgentKind::Conversation, input, output)?;
            run.reasoning_trace = ReasoningTrace { steps };
            run.confidence_scores.insert("references".into(), understood.confidence);
        }
        Ok(())
    }

    /// Records the results of validation and error recovery, and the orchestrator's steps.
    pub(super) fn carried(&mut self, done: &Done) -> Result<()> {
        for ended in &done.ended {
            for check in &ended.checks {
                self.checked(ended, check)?;
            }
            self.recovered(ended)?;
        }
        let well = done
            .ended
            .iter()
            .filter(|ended| {
                matches!(ended.came, StepOutcome::Done | StepOutcome::Confirm(_) | StepOutcome::Ask(_))
            })
            .count();
        let now = self.app.clock.now().max(self.began);
        let Some(run) = self.runs.first_mut() else { return Ok(()) };
        let place = u32::try_from(run.reasoning_trace.steps.len()).unwrap_or(u32::MAX);
        for (ended, step) in done.ended.iter().zip(place.saturating_add(1)..) {
            let output = json!({ "well": matches!(ended.came, StepOutcome::Done), "milliseconds": millis(ended.took), "calls": ended.calls.iter().map(brief).collect::<Vec<_>>() });
            run.reasoning_trace.steps.push(reasoned(
                step,
                "carry_out",
                json!(what(&ended.step)),
                output,
                ended.step.confidence,
                now,
            )?);
            run.tools_invoked
                .extend(ended.calls.iter().filter_map(|call| call.tool.parse::<ToolName>().ok()));
        }
        (run.execution_end, run.duration_ms) = (now, now.millis_since(run.execution_start));
        if well < done.ended.len() {
            let troubles: Vec<Json> = done.ended.iter().filter_map(trouble).collect();
            run.status = if well == 0 { ExecutionStatus::Failure } else { ExecutionStatus::Partial };
            run.error_details = Some(json!({ "steps": troubles }));
        }
        Ok(())
    }

    fn checked(&mut self, ended: &Ended, check: &find::Checked) -> Result<()> {
        let at = self.app.clock.now();
        let trace = reasoned(1, "look_up", check.wanted.clone(), check.came.clone(), check.confidence, at)?;
        let input = json!({ "step": what(&ended.step), "target": check.wanted });
        let run = self.run(AgentKind::Validation, input, check.came.clone())?;
        run.tools_invoked.clone_from(&check.tools);
        run.reasoning_trace = ReasoningTrace { steps: vec![trace] };
        run.confidence_scores.insert("exists".into(), check.confidence);
        if !check.well {
            (run.status, run.error_details) = (ExecutionStatus::Failure, Some(check.came.clone()));
        }
        Ok(())
    }

    /// Records the raw error; the user gets a readable message.
    fn recovered(&mut self, ended: &Ended) -> Result<()> {
        let StepOutcome::Failed { humane, code, raw } = &ended.came else { return Ok(()) };
        let at = self.app.clock.now();
        let output = json!({ "remedy": format!("{:?}", humane.remedy), "message": humane.message, "next": humane.next });
        let trace = reasoned(1, "humanise", json!(raw), output.clone(), humane.confidence, at)?;
        let input = json!({ "step": what(&ended.step), "code": code, "error": raw });
        let run = self.run(AgentKind::ErrorRecovery, input, output)?;
        run.reasoning_trace = ReasoningTrace { steps: vec![trace] };
        run.confidence_scores.insert("reading".into(), humane.confidence);
        Ok(())
    }

    pub(super) fn into_changes(self) -> Result<Vec<Change>> {
        self.runs.into_iter().map(|run| Ok(Change::PutExecution(run.validate()?))).collect()
    }
}

fn trouble(ended: &Ended) -> Option<Json> {
    match &ended.came {
        StepOutcome::Failed { code, raw, .. } => {
            Some(json!({ "step": what(&ended.step), "code": code, "error": raw }))
        }
        StepOutcome::NotFound(text) => Some(json!({ "step": what(&ended.step), "error": text })),
        StepOutcome::Late => Some(json!({ "step": what(&ended.step), "error": "the time was up" })),
        StepOutcome::Skipped(before) => {
            Some(json!({ "step": what(&ended.step), "error": format!("it builds on step {}", before + 1) }))
        }
        StepOutcome::Done | StepOutcome::Ask(_) | StepOutcome::Confirm(_) => None,
    }
}

fn reasoned(
    step: u32,
    action: &str,
    input: Json,
    output: Json,
    confidence: Confidence,
    timestamp: Timestamp,
) -> Result<ReasoningStep> {
    Ok(ReasoningStep { step, action: Label::new(action)?, input, output, confidence, timestamp })
}
