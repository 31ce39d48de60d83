//! Routing: which domain a question belongs to, which of its intents is meant, with which
//! confidence, and the clarifying question if it is too low.
//!
//! Invariants
//! - The same domains and question give the same result; ties are resolved by the order of the
//!   domains and intents.
//! - Below the threshold the result has a clarifying question with options. An out-of-scope
//!   question is reported as such, with the names of the domains.
//! - No word of a particular application is in the code. The lexicon is everyday English, and the
//!   few weights in [`signal`] were fitted on one half of a public data set.
//!
//! It does not select tools or fill arguments; selection does.

mod label;
mod lexicon;
pub mod signal;

use crate::Encoder;
use crate::skill::sure;
use label::{EncodedRequest, IntentLabel, Rarity};
use lexicon::Lexicon;
use signal::{BY_EXAMPLE, BY_NAME, Signals, Weights, scope, shares};
use std::sync::Arc;
use steward_domain::{Confidence, Domain, DomainName, DomainRoutingDecision, Question};

/// Whether a word, in lower case, is known as everyday English.
pub(crate) fn everyday(word: &str) -> bool {
    lexicon::everyday().knows(word)
}

/// Whether two stems are in the same synonym group.
pub(crate) fn same_group(a: &str, b: &str) -> bool {
    let (a, b) = (lexicon::everyday().of(a), lexicon::everyday().of(b));
    a.iter().any(|group| b.contains(group))
}

/// Default confidence threshold.
pub const THRESHOLD: f32 = 0.75;
/// Minimum probability that a question is in scope.
const INSIDE: f32 = 0.5;
/// A domain with this share of the first one's probability is an alternative.
const READING: f32 = 0.25;
/// Maximum number of intents shown, and of options offered.
const SHOWN: usize = 5;
const OPTIONS: usize = 3;

/// A domain with its intents.
#[derive(Debug, Clone, PartialEq)]
pub struct Topic {
    /// Its name, unique.
    pub name: DomainName,
    /// Its name for people.
    pub title: String,
    /// What it covers; may be empty.
    pub description: String,
    /// Its intents: tools and capabilities.
    pub intents: Vec<Label>,
}

/// Something that can be requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Label {
    /// A name such as `pay_bill`, or a few words.
    pub name: String,
    /// What it is; may be empty.
    pub description: String,
    /// Example requests; may be empty.
    pub examples: Vec<String>,
}

impl From<&Domain> for Topic {
    /// The domain of a configuration with its capabilities; the caller adds its tools.
    fn from(domain: &Domain) -> Self {
        let intent =
            |capability: &steward_domain::Label| Label { name: capability.to_string(), ..Label::default() };
        Self {
            name: domain.name.clone(),
            title: domain.display_name.to_string(),
            description: domain.description.to_string(),
            intents: domain.capabilities.iter().map(intent).collect(),
        }
    }
}

/// The result of routing a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Understanding {
    /// Possible domains with their probability, most likely first.
    pub domains: Vec<(DomainName, Confidence)>,
    /// Possible intents, most likely first.
    pub intents: Vec<RankedIntent>,
    /// The domains of the parts of a question, if it is about several at once.
    pub joined: Vec<DomainName>,
    /// The confidence of the routing.
    pub confidence: Confidence,
    /// The probability that it is in scope.
    pub scope: Confidence,
    /// Whether it seems to be out of scope.
    pub out_of_scope: bool,
    /// Whether another domain is also likely.
    pub ambiguous: bool,
    /// The clarifying question, if the confidence is too low.
    pub question: Option<Clarification>,
    /// The reasons, as text.
    pub reasons: Vec<String>,
}

/// A possible intent.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedIntent {
    /// The domain.
    pub domain: DomainName,
    /// The intent's name.
    pub intent: String,
    /// The confidence.
    pub confidence: Confidence,
}

/// A clarifying question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clarification {
    /// The text.
    pub text: String,
    /// The domains to choose from, with their names for people.
    pub options: Vec<(DomainName, String)>,
}

impl Understanding {
    /// The most likely domain, if any.
    #[must_use]
    pub fn domain(&self) -> Option<&DomainName> {
        self.domains.first().filter(|_| !self.out_of_scope).map(|(name, _)| name)
    }

    /// The same as a decision that can be stored.
    #[must_use]
    pub fn decision(&self, query: Question) -> DomainRoutingDecision {
        let first: Vec<DomainName> = self.domain().cloned().into_iter().collect();
        let identified = if self.joined.is_empty() { first } else { self.joined.clone() };
        let close = self.domains.iter().filter(|(_, share)| share.get() >= 0.05).map(|(name, _)| name);
        DomainRoutingDecision {
            user_query: query,
            alternatives: close.filter(|name| !identified.contains(name)).take(OPTIONS).cloned().collect(),
            identified_domains: identified,
            reasoning: self.reasons.join("; "),
            confidence: self.confidence,
            ambiguity_detected: self.ambiguous,
            clarification_needed: self.question.is_some(),
        }
    }
}

/// Routes questions to domains. It is immutable: put it behind an `Arc` and build another one when
/// the domains change.
pub struct Router {
    encoder: Arc<Encoder>,
    lexicon: &'static Lexicon,
    topics: Vec<Topic>,
    known: Vec<IntentLabel>,
    rarity: Rarity,
    weights: Weights,
    threshold: f32,
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Router").field("topics", &self.topics.len()).finish_non_exhaustive()
    }
}

impl Router {
    /// A router over these domains. Each phrasing and example is embedded once, which takes a few
    /// milliseconds for each.
    #[must_use]
    pub fn new(encoder: Arc<Encoder>, topics: &[Topic]) -> Self {
        Self::with(encoder, topics, lexicon::everyday())
    }

    /// The same without the lexicon, for measuring its effect.
    #[must_use]
    pub fn without_lexicon(encoder: Arc<Encoder>, topics: &[Topic]) -> Self {
        Self::with(encoder, topics, lexicon::none())
    }

    fn with(encoder: Arc<Encoder>, topics: &[Topic], lexicon: &'static Lexicon) -> Self {
        let mut labels: Vec<((usize, usize), &Topic, Label)> = Vec::new();
        for (at, topic) in topics.iter().enumerate() {
            let intents = topic.intents.iter().enumerate();
            labels.extend(intents.map(|(intent, label)| ((at, intent), topic, label.clone())));
            // The description of the domain itself is added as an intent without a name.
            if topic.intents.is_empty() || !topic.description.trim().is_empty() {
                let whole = Label {
                    name: topic.title.clone(),
                    description: topic.description.clone(),
                    examples: Vec::new(),
                };
                labels.push(((at, usize::MAX), topic, whole));
            }
        }
        let texts: Vec<String> =
            labels.iter().flat_map(|(_, topic, label)| label::texts(topic, label, lexicon)).collect();
        encoder.prepare(&texts);
        let known: Vec<IntentLabel> = labels
            .iter()
            .map(|(place, topic, label)| IntentLabel::of(*place, topic, label, &encoder, lexicon))
            .collect();
        let weights = if known.iter().any(IntentLabel::has_examples) { BY_EXAMPLE } else { BY_NAME };
        Self {
            rarity: Rarity::over(&known),
            encoder,
            lexicon,
            topics: topics.to_vec(),
            known,
            weights,
            threshold: THRESHOLD,
        }
    }

    /// Sets another threshold.
    #[must_use]
    pub fn threshold(mut self, threshold: f32) -> Self {
        self.threshold = threshold;
        self
    }

    /// Routes a question.
    #[must_use]
    pub fn understand(&self, text: &str) -> Understanding {
        let mut whole = self.one(text);
        let parts = parts(text);
        if parts.len() > 1 {
            let each: Vec<Understanding> = parts.iter().map(|part| self.one(part)).collect();
            self.join(&mut whole, &each);
        }
        self.ask(&mut whole);
        whole
    }

    /// The signals of every intent for a question, in the order of domains and intents, for fitting
    /// the weights.
    #[must_use]
    pub fn signals(&self, text: &str) -> Vec<Signals> {
        let asked = EncodedRequest::read(text, &self.encoder, self.lexicon);
        self.known.iter().map(|known| known.signals(&asked, &self.rarity)).collect()
    }

    /// The current weights.
    #[must_use]
    pub fn weights(&self) -> Weights {
        self.weights
    }

    fn one(&self, text: &str) -> Understanding {
        let asked = EncodedRequest::read(text, &self.encoder, self.lexicon);
        let signals: Vec<Signals> =
            self.known.iter().map(|known| known.signals(&asked, &self.rarity)).collect();
        let scores: Vec<f32> = signals.iter().map(|signals| signals.score(&self.weights)).collect();
        let inside = if text.trim().is_empty() { 0.0 } else { scope(&scores, &self.weights) };
        let shares = shares(&scores);
        let mut domains: Vec<(usize, f32)> = (0..self.topics.len()).map(|at| (at, 0.0)).collect();
        for (known, share) in self.known.iter().zip(&shares) {
            if let Some((_, sum)) = domains.get_mut(known.place.0) {
                *sum += share;
            }
        }
        // Stable sorts keep the order of the domains among equals.
        domains.sort_by(|a, b| b.1.total_cmp(&a.1));
        let best = domains.first().map_or(usize::MAX, |(at, _)| *at);
        let mut intents: Vec<(usize, f32)> = shares.iter().copied().enumerate().collect();
        let home = |at: usize| self.known.get(at).is_some_and(|known| known.place.0 == best);
        intents.sort_by(|a, b| home(b.0).cmp(&home(a.0)).then(b.1.total_cmp(&a.1)));
        let name = |at: &usize| self.topics.get(*at).map(|topic| topic.name.clone());
        let second = domains.get(1).map_or(0.0, |(_, share)| *share);
        let first = domains.first().map_or(0.0, |(_, share)| *share);
        let reasons = self.reasons(&asked, &intents, &signals, inside);
        Understanding {
            domains: domains
                .iter()
                .filter_map(|(at, share)| Some((name(at)?, sure(share * inside))))
                .collect(),
            intents: intents
                .iter()
                .filter_map(|(at, share)| self.meant(*at, share * inside))
                .take(SHOWN)
                .collect(),
            joined: Vec::new(),
            confidence: sure(first * inside),
            scope: sure(inside),
            out_of_scope: inside < INSIDE,
            ambiguous: inside >= INSIDE && second >= READING * first,
            question: None,
            reasons,
        }
    }

    fn meant(&self, at: usize, share: f32) -> Option<RankedIntent> {
        let (topic, intent) = self.known.get(at)?.place;
        let topic = self.topics.get(topic)?;
        let intent = topic.intents.get(intent)?.name.clone();
        Some(RankedIntent { domain: topic.name.clone(), intent, confidence: sure(share) })
    }

    fn title(&self, name: &DomainName) -> String {
        self.topics
            .iter()
            .find(|topic| topic.name == *name)
            .map_or_else(|| name.to_string(), |topic| topic.title.clone())
    }

    fn reasons(
        &self,
        asked: &EncodedRequest,
        intents: &[(usize, f32)],
        signals: &[Signals],
        inside: f32,
    ) -> Vec<String> {
        let Some((best, known, signal)) =
            intents.first().and_then(|(at, _)| Some((*at, self.known.get(*at)?, signals.get(*at)?)))
        else {
            return vec!["no domain is known".into()];
        };
        let mut reasons = Vec::new();
        if let Some(meant) = self.meant(best, 0.0) {
            reasons.push(format!(
                "it is nearest to {} of {}",
                meant.intent.replace('_', " "),
                self.title(&meant.domain)
            ));
        } else if let Some(topic) = self.topics.get(known.place.0) {
            reasons.push(format!("it is nearest to what {} knows", topic.title));
        }
        let shared = asked.shared(known);
        if !shared.is_empty() {
            reasons.push(format!("its name says {}", shared.join(", ")));
        } else if signal.name > 0.0 || signal.cover > 0.0 {
            reasons.push("it says the name in other words".into());
        }
        if self.weights == BY_EXAMPLE && known.has_examples() && signal.nearest > 0.7 {
            reasons.push("it is close to an example".into());
        }
        if asked.vector.is_none() {
            reasons.push("meaning could not be compared, so it went by words alone".into());
        }
        if inside < INSIDE {
            reasons.push("nothing that can be asked is near enough".into());
        }
        reasons
    }

    /// A question about several topics is routed to the domain of each, if every part is clear by
    /// itself.
    fn join(&self, whole: &mut Understanding, parts: &[Understanding]) {
        let clear = |part: &&Understanding| part.confidence.get() >= f64::from(self.threshold);
        let mut domains: Vec<DomainName> = Vec::new();
        for name in parts.iter().filter(clear).filter_map(Understanding::domain) {
            if !domains.contains(name) {
                domains.push(name.clone());
            }
        }
        if domains.len() < 2 || !parts.iter().all(|part| clear(&part)) {
            return;
        }
        let titles: Vec<String> = domains.iter().map(|name| self.title(name)).collect();
        whole.reasons = vec![format!("its parts belong to {}", titles.join(" and "))];
        whole.confidence =
            parts.iter().map(|part| part.confidence).fold(Confidence::default(), |least, one| {
                if least == Confidence::default() || one < least { one } else { least }
            });
        whole.joined = domains;
        (whole.ambiguous, whole.out_of_scope) = (false, false);
    }

    fn ask(&self, whole: &mut Understanding) {
        let option = |name: &DomainName| (name.clone(), self.title(name));
        if whole.out_of_scope {
            let options: Vec<_> = whole.domains.iter().map(|(name, _)| option(name)).collect();
            let titles: Vec<&str> = options.iter().map(|(_, title)| title.as_str()).collect();
            let text = match titles.as_slice() {
                [] => "There is nothing that I can answer about yet.".to_owned(),
                titles => format!(
                    "This seems to be outside of what I know. I can answer about {}. What do you mean?",
                    listed(titles)
                ),
            };
            whole.question = Some(Clarification { text, options });
            return;
        }
        if whole.confidence.get() >= f64::from(self.threshold) {
            return;
        }
        let first = whole.domains.first().map_or(0.0, |(_, share)| share.get());
        let near =
            whole.domains.iter().filter(|(_, share)| share.get() >= f64::from(READING) * first).take(OPTIONS);
        let options: Vec<_> = near.map(|(name, _)| option(name)).collect();
        let titles: Vec<&str> = options.iter().map(|(_, title)| title.as_str()).collect();
        let text = match titles.as_slice() {
            [only] => format!("Is this about {only}?"),
            titles => format!("Is this about {}?", titles.join(" or ")),
        };
        if options.len() > 1 {
            whole.reasons.push(format!(
                "it could as well belong to {}",
                titles.iter().skip(1).copied().collect::<Vec<_>>().join(" or ")
            ));
        }
        whole.question = Some(Clarification { text, options });
    }
}

fn listed(titles: &[&str]) -> String {
    match titles.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => titles.concat(),
    }
}

/// The parts of a question that could each be asked alone: at least two content words, or three
/// words, in each.
fn parts(text: &str) -> Vec<&str> {
    let cut = [" and then ", " and also ", " and ", "; ", ", then ", ", also "];
    let found = cut.iter().find_map(|word| text.split_once(word));
    let Some((first, rest)) = found else { return vec![text] };
    let speaks = |part: &str| {
        let words = crate::words::words(part);
        words.iter().filter(|word| !word.stop).count() >= 2 && words.len() >= 3
    };
    if speaks(first) && speaks(rest) { vec![first.trim(), rest.trim()] } else { vec![text] }
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
