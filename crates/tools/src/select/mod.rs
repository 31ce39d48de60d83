//! Selection: the tools that a request in plain language may mean, how sure that is and why, and
//! what the request says for their arguments.
//!
//! Invariants
//! - The same tools and the same request give the same selection, in whatever order the tools came.
//!   Ties go by name and version.
//! - Below the threshold the answer is a question with options, not a guess.
//! - No argument is invented: each comes with the words of the request, or the schema's own
//!   constant, that gave it.
//! - No word of any particular tool or request is written in the code; the few weights in [`score`]
//!   were learned.

mod fill;
mod keywords;
mod score;
mod vectors;

pub use fill::{FillSource, Filling, Mapping};
pub use score::{LEARNED, Signals, WEIGHTS};
pub use vectors::Embed;

use crate::Result;
use keywords::{Keywords, Terms};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use steward_domain::{DomainName, JsonObject, SemanticVersion, ToolName};
use steward_language::words::{self, name_words, words};
use vectors::{Flat, Packed};

/// How many candidates are looked at closely.
const CLOSE: usize = 24;
/// How many are shown when nothing is said.
pub const LIMIT: usize = 5;
/// How sure a selection must be when nothing is said.
pub const THRESHOLD: f32 = 0.75;

/// A tool as selection knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: ToolName,
    /// Its version; name and version together are unique.
    pub version: SemanticVersion,
    /// The application it belongs to.
    pub domain: Option<DomainName>,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameter_schema: JsonObject,
    /// Requests in people's words that it is for.
    pub examples: Vec<String>,
    /// How it went so far.
    pub past: CallHistory,
}

/// How calls went so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallHistory {
    /// Calls that worked.
    pub successes: u32,
    /// Calls that failed.
    pub failures: u32,
}

/// What is asked of the index.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// In people's words.
    pub text: &'a str,
    /// The application that the conversation is about, when known.
    pub domain: Option<&'a DomainName>,
    /// Which tools may be offered; all when nothing is said.
    pub allowed: Option<&'a (dyn Fn(&ToolName) -> bool + 'a)>,
    /// How many candidates are wanted.
    pub limit: usize,
    /// How sure the first must be for no question to be asked.
    pub threshold: f32,
}

impl<'a> Request<'a> {
    /// With everything allowed and the usual limits.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, domain: None, allowed: None, limit: LIMIT, threshold: THRESHOLD }
    }
}

/// What a request may mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The likeliest first.
    pub candidates: Vec<Candidate>,
    /// What to ask when it is not clear enough which is meant.
    pub question: Option<Question>,
}

/// A tool that may be meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Which.
    pub tool: ToolName,
    /// In which version.
    pub version: SemanticVersion,
    /// How likely it is the one, 0 to 1. What is left over stands for the others and for none.
    pub confidence: f32,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// What the request says for its arguments.
    pub arguments: Filling,
    /// What the confidence was worked out from.
    pub signals: Signals,
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// In words.
    pub text: String,
    /// The tools to choose from, with what they do.
    pub options: Vec<(ToolName, String)>,
}

/// What an update did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Updated {
    /// Tools that are known now.
    pub tools: usize,
    /// Tools that were new or had changed.
    pub changed: usize,
    /// Tools that went.
    pub removed: usize,
    /// Texts that had to be embedded.
    pub embedded: usize,
}

/// All tools, ready to be selected from. Reading needs no lock: put it behind an `Arc` and replace
/// it after an update.
#[derive(Clone)]
pub struct Index {
    embed: Arc<dyn Embed>,
    items: BTreeMap<(ToolName, SemanticVersion), Arc<Item>>,
    vectors: BTreeMap<String, Packed>,
    ready: Arc<Ready>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("tools", &self.items.len()).finish_non_exhaustive()
    }
}

/// What is worked out once for each tool.
struct Item {
    entry: Entry,
    terms: Terms,
    shape: fill::Shape,
    /// The texts that requests are compared with: all of it, then each example.
    first: Vec<String>,
    /// Texts that only close candidates are compared with.
    close: Vec<String>,
}

impl Item {
    fn of(entry: &Entry) -> Self {
        let name = name_words(&entry.name).join(" ");
        let examples = entry.examples.iter().filter(|example| !example.trim().is_empty()).cloned();
        let terms = Terms::of(&entry.name, &entry.description, &entry.parameter_schema, &entry.examples);
        Self {
            shape: fill::Shape::of(&entry.parameter_schema, &terms.name),
            terms,
            first: std::iter::once(format!("{name}: {}", entry.description)).chain(examples).collect(),
            close: vec![name, entry.description.clone()],
            entry: entry.clone(),
        }
    }
}

/// What a request is held against: arrays in the order of names and versions.
#[derive(Default)]
struct Ready {
    items: Vec<(Arc<Item>, Vec<Packed>)>,
    flat: Flat,
    keywords: Keywords,
}

impl Index {
    /// Empty, with what turns texts into vectors.
    pub fn new(embed: Arc<dyn Embed>) -> Self {
        Self { embed, items: BTreeMap::new(), vectors: BTreeMap::new(), ready: Arc::default() }
    }

    /// How many tools are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether no tool is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Takes `entries` as all tools there are: only texts that are new are embedded, and tools that
    /// are not among them go. When this fails nothing has changed.
    pub fn update(&mut self, entries: &[Entry]) -> Result<Updated> {
        let mut items = BTreeMap::new();
        let mut done = Updated::default();
        for entry in entries {
            let key = (entry.name.clone(), entry.version.clone());
            let known = self.items.get(&key).filter(|item| item.entry == *entry);
            done.changed += usize::from(known.is_none());
            items.insert(key, known.cloned().unwrap_or_else(|| Arc::new(Item::of(entry))));
        }
        let wanted: BTreeSet<&String> =
            items.values().flat_map(|item| item.first.iter().chain(&item.close)).collect();
        let fresh: Vec<&str> = wanted
            .iter()
            .filter(|text| !self.vectors.contains_key(**text))
            .map(|text| text.as_str())
            .collect();
        self.embed.prepare(&fresh);
        let made = if fresh.is_empty() { Vec::new() } else { self.embed.embed(&fresh)? };
        let made: BTreeMap<String, Packed> = fresh
            .iter()
            .map(|text| (*text).to_owned())
            .zip(made.iter().map(|vector| vectors::pack(vector)))
            .collect();
        done.embedded = made.len();
        self.vectors.retain(|text, _| wanted.contains(text));
        self.vectors.extend(made);
        done.removed = self.items.keys().filter(|key| !items.contains_key(*key)).count();
        done.tools = items.len();
        self.items = items;
        self.ready = Arc::new(self.arrange());
        Ok(done)
    }

    fn arrange(&self) -> Ready {
        let mut ready = Ready::default();
        for (at, item) in self.items.values().enumerate() {
            for vector in item.first.iter().filter_map(|text| self.vectors.get(text)) {
                ready.flat.push(at as u32, vector);
            }
            let close = item.close.iter().filter_map(|text| self.vectors.get(text)).cloned().collect();
            ready.items.push((item.clone(), close));
        }
        ready.keywords = Keywords::over(ready.items.iter().map(|(item, _)| &item.terms));
        ready
    }

    /// The tools that the request may mean. Without the encoder it goes by words alone and says so
    /// in no signal of meaning.
    #[must_use]
    pub fn select(&self, request: &Request<'_>) -> Selection {
        let vector = self.embed.embed(&[request.text]).ok().and_then(|vectors| vectors.into_iter().next());
        self.select_near(request, vector.as_deref())
    }

    /// The same with the request's vector at hand.
    #[must_use]
    pub fn select_near(&self, request: &Request<'_>, vector: Option<&[f32]>) -> Selection {
        let said = words(request.text);
        let stems: BTreeSet<&str> =
            said.iter().filter(|word| !word.stop).map(|word| word.stem.as_str()).collect();
        let vector = vector.map(vectors::pack);
        let close = self.close(request, &stems, vector.as_ref());
        let values = fill::RequestText::read(request.text, &said);
        let mut scored: Vec<(&Item, Signals, Filling, f32)> = Vec::with_capacity(close.len());
        for (item, near, more, keywords) in close {
            let filling = fill::fill(&item.shape, &values);
            let signals = Signals {
                meaning: near,
                detail: more,
                keywords,
                name: self.ready.keywords.name(&item.terms, &stems),
                fit: filling.fit(),
                home: filling.home(),
                past: score::past(item.entry.past),
                domain: score::domain(request.domain, item.entry.domain.as_ref()),
            };
            let score = signals.score();
            scored.push((item, signals, filling, score));
        }
        // The items come in the order of name and version, and this sort keeps it among equals.
        scored.sort_by(|a, b| b.3.total_cmp(&a.3));
        let total = score::none() + scored.iter().map(|(.., score)| score.exp()).sum::<f32>();
        let candidates: Vec<Candidate> = scored
            .into_iter()
            .take(request.limit)
            .map(|(item, signals, arguments, score)| Candidate {
                tool: item.entry.name.clone(),
                version: item.entry.version.clone(),
                confidence: score.exp() / total,
                reasons: signals.reasons(&item.terms.name, &said, &arguments),
                arguments,
                signals,
            })
            .collect();
        let question = self.question(request, &candidates);
        Selection { candidates, question }
    }

    /// What the request says for the arguments of one tool, in its latest version. Nothing when
    /// there is no such tool.
    #[must_use]
    pub fn fill(&self, tool: &ToolName, request: &str) -> Option<Filling> {
        let (_, item) = self.items.iter().rfind(|((name, _), _)| name == tool)?;
        Some(fill::fill(&item.shape, &fill::RequestText::read(request, &words(request))))
    }

    /// The tools worth a closer look, in the order of name and version, with their nearness and
    /// keyword scores.
    fn close(
        &self,
        request: &Request<'_>,
        stems: &BTreeSet<&str>,
        vector: Option<&Packed>,
    ) -> Vec<(&Item, f32, f32, f32)> {
        let count = self.ready.items.len();
        let (mut near, mut said) = (vec![0.0_f32; count], vec![0.0_f32; count]);
        if let Some(vector) = vector {
            self.ready.flat.nearest(vector, &mut near);
        }
        self.ready.keywords.score(stems, &mut said);
        let most: f32 = stems.iter().map(|stem| self.ready.keywords.idf(stem)).sum::<f32>().max(1.0);
        let mut order: Vec<(f32, usize)> = Vec::with_capacity(count);
        for (at, (item, _)) in self.ready.items.iter().enumerate() {
            if request.allowed.is_some_and(|allowed| !allowed(&item.entry.name)) {
                continue;
            }
            let (near, said) =
                (near.get(at).copied().unwrap_or(0.0), said.get(at).copied().unwrap_or(0.0) / most);
            order.push((score::rough(near, said), at));
        }
        let best = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        let wanted = CLOSE.max(request.limit);
        if order.len() > wanted {
            order.select_nth_unstable_by(wanted, best);
            order.truncate(wanted);
        }
        let mut chosen: Vec<usize> = order.into_iter().map(|(_, at)| at).collect();
        chosen.sort_unstable();
        let look = |at: usize| {
            let (item, close) = self.ready.items.get(at)?;
            let more = vector.map_or(0.0, |vector| {
                close.iter().map(|text| vectors::cosine(vector, text)).fold(0.0, f32::max)
            });
            Some((item.as_ref(), near.get(at).copied()?, more, said.get(at).copied()? / most))
        };
        chosen.into_iter().filter_map(look).collect()
    }

    fn question(&self, request: &Request<'_>, candidates: &[Candidate]) -> Option<Question> {
        let sure = candidates.first().map_or(0.0, |first| first.confidence);
        if sure >= request.threshold {
            return None;
        }
        if candidates.is_empty() {
            return Some(Question {
                text: "No tool is known for this. What should be done?".into(),
                options: Vec::new(),
            });
        }
        let describe = |candidate: &Candidate| {
            let entry =
                self.items.get(&(candidate.tool.clone(), candidate.version.clone())).map(|item| &item.entry);
            (
                candidate.tool.clone(),
                entry.map(|entry| score::first_sentence(&entry.description)).unwrap_or_default(),
            )
        };
        Some(Question {
            text: "It is not clear which tool is meant. Which of these, or none?".into(),
            options: candidates.iter().map(describe).collect(),
        })
    }
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
