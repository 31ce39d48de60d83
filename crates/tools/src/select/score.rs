//! Combines the signals to a score, and the score to a confidence.
//!
//! The weights are those of a conditional logit over all close candidates and "none of them". They
//! were learned on public requests by `examples/eval_tools.rs --fit`, which prints them with their
//! cross-validation.

use super::words::Word;
use super::{CallHistory, Filling};
use std::collections::BTreeSet;
use steward_domain::DomainName;

/// The signals of a tool, each about 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Signals {
    /// The similarity of the request to the name and description, or to an example.
    pub meaning: f32,
    /// The similarity to the name or the description alone.
    pub detail: f32,
    /// The share of the request's rare words in the tool's texts.
    pub keywords: f32,
    /// The share of the tool's name in the request.
    pub name: f32,
    /// The share of required arguments that the request provides.
    pub fit: f32,
    /// The share of the request's values that fit an argument.
    pub home: f32,
    /// The success of past calls, from -0.5 to 0.5.
    pub past: f32,
    /// Whether it belongs to the current application (1), to none (0), to another (-1).
    pub domain: f32,
}

/// The number of learned signals.
pub const LEARNED: usize = 6;
/// The learned weights, in the order of [`Signals::learned`], and the weight of "none of them".
pub const WEIGHTS: [f32; LEARNED + 1] = [6.6, 3.3, 11.4, 0.2, 2.2, 1.2, 9.4];
/// The weights of signals that public requests cannot teach.
const PAST: f32 = 1.0;
const DOMAIN: f32 = 1.0;

impl Signals {
    /// The signals with learned weights.
    #[must_use]
    pub fn learned(&self) -> [f32; LEARNED] {
        [self.meaning, self.detail, self.keywords, self.name, self.fit, self.home]
    }

    /// The weighted sum of all signals.
    #[must_use]
    pub fn score(&self) -> f32 {
        let learned: f32 = self.learned().iter().zip(WEIGHTS).map(|(signal, weight)| signal * weight).sum();
        learned + PAST * self.past + DOMAIN * self.domain
    }

    /// The reasons as text, the strongest first.
    pub(super) fn reasons(&self, name: &BTreeSet<String>, said: &[Word], filling: &Filling) -> Vec<String> {
        let mut reasons = vec![format!("meaning {:.2}", self.meaning.max(self.detail))];
        let mut shared: Vec<&str> =
            said.iter().filter(|word| name.contains(&word.stem)).map(|word| word.lower.as_str()).collect();
        shared.dedup();
        if !shared.is_empty() {
            reasons.push(format!("its name shares {}", shared.join(", ")));
        }
        if self.keywords > 0.0 {
            reasons.push(format!("keywords {:.2}", self.keywords));
        }
        if !filling.mappings.is_empty() {
            let given: Vec<&str> =
                filling.mappings.iter().map(|mapping| mapping.parameter.as_str()).collect();
            reasons.push(format!("the request gives {}", given.join(", ")));
        }
        if !filling.missing.is_empty() {
            reasons.push(format!("the request does not give {}", filling.missing.join(", ")));
        }
        if self.past != 0.0 {
            let word = if self.past > 0.0 { "mostly worked" } else { "often failed" };
            reasons.push(format!("it {word} so far"));
        }
        if self.domain > 0.0 {
            reasons.push("it belongs to the application at hand".into());
        }
        reasons
    }
}

/// The exponentiated weight of "none of them".
pub(super) fn none() -> f32 {
    let [.., none] = WEIGHTS;
    none.exp()
}

/// The score that selects close candidates.
pub(super) fn rough(meaning: f32, keywords: f32) -> f32 {
    let [near, more, words, ..] = WEIGHTS;
    (near + more) * meaning + words * keywords
}

/// The smoothed success rate of past calls, minus 0.5.
pub(super) fn past(past: CallHistory) -> f32 {
    let (successes, failures) = (past.successes as f32, past.failures as f32);
    (successes + 2.0) / (successes + failures + 4.0) - 0.5
}

pub(super) fn domain(wanted: Option<&DomainName>, has: Option<&DomainName>) -> f32 {
    match (wanted, has) {
        (Some(wanted), Some(has)) if wanted == has => 1.0,
        (Some(_), Some(has)) if has.as_str() != "generic" => -1.0,
        _ => 0.0,
    }
}

/// The first sentence of a description, for options.
pub(super) fn first_sentence(text: &str) -> String {
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text.get(..end).unwrap_or(text).trim().chars().take(160).collect()
}
