//! Progress of a running task: one event type from the engine to the page.
//!
//! Questions, chat turns, workflows and agents all report with it. [`ProgressEvent::Doing`] and
//! [`ProgressEvent::Happened`] are effects and events of the engine; the others describe the
//! progress as text.

use std::time::Duration;
use steward_domain::TaskId;
use steward_engine::{Effect, EffectId, Event};

/// A progress event of a running task.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgressEvent {
    /// The task was created.
    Started(TaskId),
    /// Servers are still being started; the answer waits for them.
    Waiting {
        /// Their names.
        servers: Vec<String>,
    },
    /// Work outside of a plan.
    Working {
        /// A short description: "Reading the data".
        what: String,
    },
    /// The message was interpreted as these steps.
    Understood {
        /// A short description of each step.
        steps: Vec<String>,
    },
    /// A step of a plan started.
    Began {
        /// Its index, from 0.
        step: usize,
        /// A short description.
        what: String,
    },
    /// A step of a plan ended.
    Ended {
        /// Its index, from 0.
        step: usize,
        /// Whether it succeeded.
        well: bool,
        /// The duration.
        took: Duration,
    },
    /// A model wrote more text in a run. It is not checked yet, and a later round may replace it.
    Token {
        /// The model call of the text.
        effect: EffectId,
        /// The text.
        delta: String,
    },
    /// A model wrote more text of a reply. It is not checked yet: the final reply replaces it.
    Text {
        /// The text.
        delta: String,
    },
    /// The text so far is not the answer: the model continues with something else.
    TextReset,
    /// The engine requested an effect.
    Doing(Effect),
    /// The engine accepted an event.
    Happened(Event),
}

impl ProgressEvent {
    /// Whether it is a text for people, not an effect or an event of the engine.
    #[must_use]
    pub fn is_text_event(&self) -> bool {
        !matches!(self, Self::Started(_) | Self::Doing(_) | Self::Happened(_) | Self::Token { .. })
    }
}
