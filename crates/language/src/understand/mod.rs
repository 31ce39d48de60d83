//! Turns an utterance into steps that a runtime can execute.
//!
//! Invariants
//! - Pure and deterministic: the same catalogue, text and context give the same result. No clock is
//!   read.
//! - Nothing is specific to an application. Tools are known by their schemas, names, descriptions
//!   and examples.
//! - Quoted text, and text where a title is expected, is data: it is never interpreted as a
//!   request.
//! - Nothing is guessed. An ambiguity becomes a clarifying question with options.
//!
//! This module calls nothing: [`Reader::finder`] names the lookup that would help,
//! [`Reader::settle`] interprets its result.

mod answer;
mod catalogue;
mod choose;
mod cues;
mod data;
mod field;
mod fill;
mod follow;
mod ground;
mod kinds;
mod lexicon;
mod lexis;
mod literal;
mod namesake;
mod notice;
mod place;
mod plan;
mod point;
mod prepare;
mod recall;
mod record;
mod refer;
mod referent;
mod route;
mod scope;
mod settle;
mod signal;
mod steps;
mod talk;
mod text;
mod types;
mod unsure;
mod values;
mod verbs;
mod wish;
mod world;

pub use scope::SCOPE;
pub use signal::SIGNALS;
pub use types::{
    Act, Answered, Argument, Choice, FOLLOWS, Kind, Lookup, Need, Noticed, Pending, Pick, Question,
    QuestionKind, RecordRef, SeenRecord, Settled, ShownList, Step, Target, Tool, TurnContext, Understood,
};

use crate::Encoder;
use crate::route::{Router, Topic};
use catalogue::Catalogue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{DomainName, IntentKind};

/// Interprets utterances against a catalogue of domains and tools, prepared once. Put it behind an
/// `Arc`.
pub struct Reader {
    encoder: Arc<Encoder>,
    domains: Vec<Topic>,
    catalogue: Catalogue,
    /// Routes to domains; none if there is only one.
    router: Option<Router>,
    /// The cache of [`Reader::shows`].
    shown: Mutex<BTreeMap<String, bool>>,
}

/// Maximum size of that cache.
const KNOWN: usize = 500;

/// Whether a word is a verb of a request.
pub(crate) fn is_verb(word: &str) -> bool {
    !verbs::verb_groups(&lexicon::root(word)).is_empty()
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("tools", &self.catalogue.tools.len()).finish_non_exhaustive()
    }
}

impl Reader {
    /// A reader over these domains and tools. A domain without tools is queried ([`Act::Ask`]).
    #[must_use]
    pub fn new(encoder: Arc<Encoder>, domains: Vec<Topic>, tools: Vec<Tool>) -> Self {
        let titles: BTreeMap<_, _> =
            domains.iter().map(|topic| (topic.name.clone(), topic.title.clone())).collect();
        let asked = |topic: &Topic| tools.iter().all(|tool| tool.domain.as_ref() != Some(&topic.name));
        let router =
            (domains.len() > 1 || domains.iter().any(asked)).then(|| Router::new(encoder.clone(), &domains));
        let catalogue = Catalogue::new(&encoder, tools, &titles);
        Self { encoder, domains, catalogue, router, shown: Mutex::default() }
    }

    /// Its domains.
    pub fn domains(&self) -> impl Iterator<Item = &Topic> {
        self.domains.iter()
    }

    /// A statement of SQL, asked of a domain of data as it stands. Nothing when there is no such
    /// domain.
    #[must_use]
    pub fn statement(&self, data: &DomainName, said: &str) -> Option<Understood> {
        data::statement(self, data, said)
    }

    /// A message that goes on from the last question about data, asked of that data as it stands.
    #[must_use]
    pub fn follow_up(&self, data: &DomainName, said: &str, sureness: f32) -> Understood {
        data::follow_up(data, said, sureness)
    }

    /// The same understanding, or one that asks data that was brought along, where a tool or
    /// nothing was only a guess. `data` is the domain under which it is known, `came_now` whether
    /// it came with these very words.
    #[must_use]
    pub fn about_data(
        &self,
        data: &DomainName,
        said: &str,
        came_now: bool,
        understood: Understood,
    ) -> Understood {
        data::about(self, data, said, came_now, understood)
    }

    /// Whether a text by itself asks to see something that exists here, so that it can be
    /// suggested.
    #[must_use]
    pub fn shows(&self, said: &str) -> bool {
        let mut known = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shows) = known.get(said) {
            return *shows;
        }
        let given = TurnContext::on(chrono::NaiveDate::default());
        let read = self.understand(said, &given);
        let shows = read.kind == Kind::Act
            && read.question.is_none()
            && !read.steps.is_empty()
            && read
                .steps
                .iter()
                .all(|step| step.read_only && step.missing.is_empty() && step.target.is_none());
        if known.len() < KNOWN {
            known.insert(said.to_owned(), shows);
        }
        shows
    }

    /// Interprets an utterance.
    #[must_use]
    pub fn understand(&self, said: &str, given: &TurnContext<'_>) -> Understood {
        plan::understand(self, said, given)
    }

    /// The intent of a tool, from its definition.
    #[must_use]
    pub fn stands_for(&self, tool: &str) -> Option<IntentKind> {
        self.catalogue.tool(tool).map(steps::stands_for)
    }

    /// The signals of each tool for the first request of an utterance, for fitting their weights:
    /// see [`SIGNALS`].
    #[must_use]
    pub fn signals(&self, said: &str, given: &TurnContext<'_>) -> Vec<(String, Vec<f32>)> {
        let named = |found: &choose::Candidate| {
            Some((self.catalogue.tools.get(found.at)?.tool.name.clone(), found.signals.to_vec()))
        };
        plan::first(self, said, given, |_, _, _, found| found.iter().filter_map(named).collect())
            .unwrap_or_default()
    }

    /// The scope signals of the first request of an utterance, for fitting their weights: see
    /// [`SCOPE`].
    #[must_use]
    pub fn scope(&self, said: &str, given: &TurnContext<'_>) -> Vec<f32> {
        let best = |said: &fill::UtteranceContext<'_>,
                    clause: &wish::Clause,
                    around: &choose::ChoiceContext<'_>,
                    found: &[choose::Candidate]| {
            found.first().map(|best| scope::signals(said, best, clause, around).to_vec())
        };
        plan::first(self, said, given, best).flatten().unwrap_or_default()
    }

    /// The lookups that can find a step's target, best first. Try the next one if one settles as
    /// missing.
    #[must_use]
    pub fn lookups(&self, step: &Step) -> Vec<Lookup> {
        settle::lookups(&self.catalogue, step)
    }

    /// The lookups that list the records of a domain, so that their names can be recognised:
    /// [`TurnContext::world`].
    #[must_use]
    pub fn survey(&self, domain: &DomainName) -> Vec<Lookup> {
        world::survey(&self.catalogue, domain)
    }

    /// The records from the results of such lookups, for [`TurnContext::world`].
    #[must_use]
    pub fn gather(&self, shown: &[(Lookup, Value)]) -> Vec<SeenRecord> {
        world::gather(&self.catalogue, shown)
    }

    /// The same as [`Reader::settle`] for the result of one lookup: a tool that returns one record
    /// for exactly these words has found it.
    #[must_use]
    pub fn settle_by(&self, step: &Step, lookup: &Lookup, seen: &[Noticed]) -> Settled {
        world::settle_by(&self.catalogue, step, lookup, seen)
    }

    /// The best of [`Reader::lookups`]. None if the target needs none, or no tool can look it up.
    #[must_use]
    pub fn finder(&self, step: &Step) -> Option<Lookup> {
        self.lookups(step).into_iter().next()
    }

    /// The records in a tool's result, in order.
    #[must_use]
    pub fn notice(&self, tool: &str, arguments: &Map<String, Value>, result: &Value) -> Vec<Noticed> {
        let _ = arguments;
        notice::notice(&self.catalogue, tool, result)
    }

    /// The record of each displayed table row, among the records of the same result.
    #[must_use]
    pub fn rows(&self, table: &crate::answer::Table, noticed: &[Noticed]) -> Vec<Option<Noticed>> {
        notice::rows_of(table, noticed)
    }

    /// Resolves a step's target from the result of a lookup or an earlier step. A target of the
    /// conversation needs no result.
    #[must_use]
    pub fn settle(&self, step: &Step, seen: &[Noticed]) -> Settled {
        settle::settle(&self.catalogue, 0, step, seen)
    }

    /// The step with the tool that acts on the record found: "delete Reed" may delete a contact or
    /// a deal.
    #[must_use]
    pub fn fit(&self, step: &Step, found: &[Noticed]) -> Step {
        settle::fit(&self.catalogue, step, found)
    }

    /// The arguments of each call of a step, once its target is found: one call for each record. A
    /// target of the conversation ([`Target::Known`]) needs no lookup: pass nothing.
    #[must_use]
    pub fn calls(&self, step: &Step, found: &[Noticed]) -> Vec<Map<String, Value>> {
        settle::calls(&self.catalogue, step, found)
    }
}
