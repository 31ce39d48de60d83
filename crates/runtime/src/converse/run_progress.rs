//! The progress of a model's run.

use super::{ProgressEvent, Watch};
use std::collections::BTreeSet;
use std::time::Duration;
use steward_domain::TaskId;
use steward_engine::{Effect, EffectId, Event, ToolOutcome};
use steward_journal::clock::Clock;
use steward_language::words::name_words;

/// Converts the progress events of a run to those of a turn.
pub(crate) struct RunProgress<'a> {
    watch: Watch<'a>,
    clock: &'a dyn Clock,
    pub(crate) task: Option<TaskId>,
    /// The agent whose text is the answer; the text of others is not forwarded.
    speaker: Option<&'a str>,
    /// The model calls of that agent.
    spoken: BTreeSet<EffectId>,
    /// The started calls, in order, with their start times.
    steps: Vec<(EffectId, Duration)>,
    /// The model call whose text was forwarded last.
    wrote: Option<EffectId>,
}

impl<'a> RunProgress<'a> {
    pub(crate) fn new(
        watch: Watch<'a>,
        clock: &'a dyn Clock,
        task: Option<TaskId>,
        speaker: Option<&'a str>,
    ) -> Self {
        let (spoken, steps) = (BTreeSet::new(), Vec::new());
        Self { watch, clock, task, speaker, spoken, steps, wrote: None }
    }

    pub(crate) fn take(&mut self, event: ProgressEvent) {
        match event {
            ProgressEvent::Started(task) => self.task = Some(task),
            ProgressEvent::Doing(Effect::CallModel { id, agent, .. })
                if self.speaker == Some(agent.as_str()) =>
            {
                self.spoken.insert(id);
            }
            // A sub-task numbers its model calls again from 1.
            ProgressEvent::Doing(Effect::CallModel { id, .. }) => drop(self.spoken.remove(&id)),
            ProgressEvent::Token { effect, delta } => {
                if !self.spoken.contains(&effect) {
                    return;
                }
                if self.wrote.is_some_and(|wrote| wrote != effect) {
                    (self.watch)(ProgressEvent::TextReset);
                }
                self.wrote = Some(effect);
                (self.watch)(ProgressEvent::Text { delta });
            }
            ProgressEvent::Doing(Effect::CallTool { id, tool, .. }) => {
                self.steps.push((id, self.clock.monotonic()));
                let bare = tool.as_str().rsplit('.').next().unwrap_or_default().to_owned();
                let what = name_words(&bare).join(" ");
                (self.watch)(ProgressEvent::Began { step: self.steps.len() - 1, what });
            }
            ProgressEvent::Happened(Event::ToolEnded { effect, outcome, .. }) => {
                let begun = self.steps.iter().enumerate().find(|(_, (id, _))| *id == effect);
                let Some((step, (_, began))) = begun else { return };
                let took = self.clock.monotonic().saturating_sub(*began);
                let well = matches!(outcome, ToolOutcome::Success { .. } | ToolOutcome::Found { .. });
                (self.watch)(ProgressEvent::Ended { step, well, took });
            }
            _ => {}
        }
    }
}
