//! What happens while a task is carried out: one type of event from the engine to the page.
//!
//! A question, a chat turn, a workflow and an agent all report by it. [`ProgressEvent::Doing`] and
//! [`ProgressEvent::Happened`] are what the engine asked for and took; the others say in words where
//! the task is.

use std::time::Duration;
use steward_domain::TaskId;
use steward_engine::{Effect, Event};

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
    /// The engine asked for an effect.
    Doing(Effect),
    /// The engine took an event.
    Happened(Event),
}

impl ProgressEvent {
    /// Whether it is in words, and not an effect or an event of the engine.
    #[must_use]
    pub fn is_in_words(&self) -> bool {
        !matches!(self, Self::Started(_) | Self::Doing(_) | Self::Happened(_))
    }
}
