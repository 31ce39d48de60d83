//! From what was said to steps that a runtime can carry out.
//!
//! Invariants
//! - Pure and deterministic: the same catalogue, words and context give the same understanding. No clock is read.
//! - Nothing of any application is written here. Tools are known by their schemas, names, descriptions and examples.
//! - Text between quotes, and what stands where a title is expected, is data: it is never read as a wish.
//! - Nothing is guessed. What may mean several things becomes a question with options.
//!
//! It calls nothing: [`Reader::finder`] says which lookup would help, [`Reader::settle`] reads what came back.

mod types;

pub use types::{
    Act, Answered, Argument, Choice, Given, Kind, Lookup, Need, Noticed, Pending, Pick, Question, Settled,
    Step, Target, Thing, Tool, Understood, Why,
};

use crate::Encoder;
use crate::route::Topic;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Reads what is said against a catalogue of domains and tools, prepared once. Put it behind an `Arc`.
pub struct Reader {
    encoder: Arc<Encoder>,
    domains: Vec<Topic>,
    tools: Vec<Tool>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("tools", &self.tools.len()).finish_non_exhaustive()
    }
}

impl Reader {
    /// Over these domains and tools. A domain without tools is one that is asked ([`Act::Ask`]).
    #[must_use]
    pub fn new(encoder: Arc<Encoder>, domains: Vec<Topic>, tools: Vec<Tool>) -> Self {
        Self { encoder, domains, tools }
    }

    /// The domains that it reads against.
    pub fn domains(&self) -> impl Iterator<Item = &Topic> {
        self.domains.iter()
    }

    /// What was meant.
    #[must_use]
    pub fn understand(&self, said: &str, given: &Given<'_>) -> Understood {
        let _ = (said, given, &self.encoder, &self.domains);
        Understood::plain(Kind::Chat, "nothing is read yet")
    }

    /// The lookups by which a step's target can be found, the best first. The next is worth a try when one settles as missing.
    #[must_use]
    pub fn lookups(&self, step: &Step) -> Vec<Lookup> {
        let _ = step;
        Vec::new()
    }

    /// The best of [`Reader::lookups`]. Nothing when the target needs none, or nothing here can look it up.
    #[must_use]
    pub fn finder(&self, step: &Step) -> Option<Lookup> {
        self.lookups(step).into_iter().next()
    }

    /// The things that a tool's result speaks of, in order.
    #[must_use]
    pub fn notice(&self, tool: &str, arguments: &Map<String, Value>, result: &Value) -> Vec<Noticed> {
        let _ = (tool, arguments, result);
        Vec::new()
    }

    /// What a step's target is, by what a lookup or an earlier step gave.
    #[must_use]
    pub fn settle(&self, step: &Step, seen: &[Noticed]) -> Settled {
        let _ = (step, seen);
        Settled::Missing { text: String::new(), words: String::new() }
    }

    /// The arguments of each call that a step comes to, once its target is found: one call for each thing.
    /// A target of the conversation ([`Target::Known`]) needs no finding: hand in nothing.
    #[must_use]
    pub fn calls(&self, step: &Step, found: &[Noticed]) -> Vec<Map<String, Value>> {
        let _ = (step, found);
        Vec::new()
    }
}
