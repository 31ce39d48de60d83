//! Tool selection: the tools that a natural-language request may mean, their confidence and
//! reasons, and the arguments in the request.
//!
//! Invariants
//! - The same tools and the same request give the same selection, in any order of the tools. Ties
//!   are broken by name and version.
//! - Below the threshold the result is a question with options, not a guess.
//! - No argument is invented: each has its source text in the request, or is a constant of the
//!   schema.
//! - The code contains no words of particular tools or requests. The few weights in [`score`] were
//!   learned.

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

/// The number of candidates that are scored in detail.
const CLOSE: usize = 24;
/// The default number of candidates.
pub const LIMIT: usize = 5;
/// The default confidence threshold.
pub const THRESHOLD: f32 = 0.75;

/// A tool in the index.
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
    /// Example requests.
    pub examples: Vec<String>,
    /// The call history.
    pub past: CallHistory,
}

/// Counts of past calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallHistory {
    /// Successful calls.
    pub successes: u32,
    /// Failed calls.
    pub failures: u32,
}

/// A selection request.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The text of the user.
    pub text: &'a str,
    /// The application of the conversation, if known.
    pub domain: Option<&'a DomainName>,
    /// Which tools may be offered. `None` means all.
    pub allowed: Option<&'a (dyn Fn(&ToolName) -> bool + 'a)>,
    /// The number of candidates.
    pub limit: usize,
    /// The minimum confidence of the first candidate. Below it a question is asked.
    pub threshold: f32,
}

impl<'a> Request<'a> {
    /// A request with defaults.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, domain: None, allowed: None, limit: LIMIT, threshold: THRESHOLD }
    }
}

/// The result of a selection.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The candidates, the most likely first.
    pub candidates: Vec<Candidate>,
    /// The question, if the result is not clear enough.
    pub question: Option<Question>,
}

/// A tool that may be meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The tool.
    pub tool: ToolName,
    /// The version.
    pub version: SemanticVersion,
    /// The probability, 0 to 1. The rest belongs to other tools and to none.
    pub confidence: f32,
    /// The reasons as text.
    pub reasons: Vec<String>,
    /// The arguments in the request.
    pub arguments: Filling,
    /// The signals behind the confidence.
    pub signals: Signals,
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The text.
    pub text: String,
    /// The tools to choose from, with descriptions.
    pub options: Vec<(ToolName, String)>,
}

/// The result of an update.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Updated {
    /// The number of tools in the index.
    pub tools: usize,
    /// The number of new or changed tools.
    pub changed: usize,
    /// The number of removed tools.
    pub removed: usize,
    /// The number of embedded texts.
    pub embedded: usize,
}

/// The search index over all tools. Reading needs no lock: keep it in an `Arc` and replace it after
/// an update.
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

/// The precomputed data of one tool.
struct Item {
    entry: Entry,
    terms: Terms,
    shape: fill::Shape,
    /// The texts for the first comparison: the whole text, then each example.
    first: Vec<String>,
    /// The texts that only close candidates are compared with.
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

/// The prepared arrays, in the order of names and versions.
#[derive(Default)]
struct Ready {
    items: Vec<(Arc<Item>, Vec<Packed>)>,
    flat: Flat,
    keywords: Keywords,
}

impl Index {
    /// An empty index with an encoder.
    pub fn new(embed: Arc<dyn Embed>) -> Self {
        Self { embed, items: BTreeMap::new(), vectors: BTreeMap::new(), ready: Arc::default() }
    }

    /// The number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the index is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Replaces the tools by `entries`. Only new texts are embedded. If this fails, the index is
    /// unchanged.
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

    /// Selects the tools that a request may mean. Without the encoder it uses words only, and the
    /// meaning signals are absent.
    #[must_use]
    pub fn select(&self, request: &Request<'_>) -> Selection {
        let vector = self.embed.embed(&[request.text]).ok().and_then(|vectors| vectors.into_iter().next());
        self.select_near(request, vector.as_deref())
    }

    /// Selects with a given vector of the request.
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
        // The items are ordered by name and version. This stable sort keeps that order.
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

    /// The arguments in a request for one tool, in its latest version. `None` if the tool does not
    /// exist.
    #[must_use]
    pub fn fill(&self, tool: &ToolName, request: &str) -> Option<Filling> {
        let (_, item) = self.items.iter().rfind(|((name, _), _)| name == tool)?;
        Some(fill::fill(&item.shape, &fill::RequestText::read(request, &words(request))))
    }

    /// The close candidates, ordered by name and version, with their similarity and keyword scores.
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
