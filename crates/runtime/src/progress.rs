//! What happens while a task is carried out: one type of event from the engine to the page.
//!
//! A question, a chat turn, a workflow and an agent all report by it. [`ProgressEvent::Doing`] and
//! [`ProgressEvent::Happened`] are what the engine asked for and took; the others say in words
//! where the task is.

use std::time::Duration;
use steward_domain::TaskId;
use steward_engine::{Effect, EffectId, Event};

/// Something that happened to a task that is being carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgressEvent {
    /// The task exists.
    Started(TaskId),
    /// Servers are still being started; the answer waits for them.
    Waiting {
        /// Their names.
        servers: Vec<String>,
    },
    /// Work that is no step of a plan.
    Working {
        /// In a few words: "Reading the data".
        what: String,
    },
    /// The message was understood to be these steps.
    Understood {
        /// Each in a few words.
        steps: Vec<String>,
    },
    /// A step of a plan began.
    Began {
        /// Its index, from 0.
        step: usize,
        /// In a few words.
        what: String,
    },
    /// A step of a plan ended.
    Ended {
        /// Its index, from 0.
        step: usize,
        /// Whether it gave what it should.
        well: bool,
        /// How long it took.
        took: Duration,
    },
    /// A model wrote more words in a run. They are not checked yet, and a later round may replace
    /// them.
    Token {
        /// The question to the model that they answer.
        effect: EffectId,
        /// The words.
        delta: String,
    },
    /// A model wrote more words of a reply. They are not checked yet: the reply replaces them.
    Text {
        /// The words.
        delta: String,
    },
    /// What was written so far is no answer: the model goes on with something else.
    TextReset,
    /// The engine asked for an effect.
    Doing(Effect),
    /// The engine took an event.
    Happened(Event),
}

impl ProgressEvent {
    /// Whether it is in words, and not an effect or an event of the engine.
    #[must_use]
    pub fn is_in_words(&self) -> bool {
        !matches!(self, Self::Started(_) | Self::Doing(_) | Self::Happened(_) | Self::Token { .. })
    }
}
