//! How the signals become one score, and the score a confidence.
//!
//! The weights are those of a conditional logit: of all close candidates and "none of them", how
//! likely is each the one that was meant. They were learned on public requests by
//! `examples/eval_tools.rs --fit`, which prints them with their cross-validation.

use super::words::Word;
use super::{CallHistory, Filling};
use std::collections::BTreeSet;
use steward_domain::DomainName;

/// What speaks for a tool, each about 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Signals {
    /// How near the request is to the tool's name and description, or to an example.
    pub meaning: f32,
    /// How near it is to the name or the description alone.
    pub detail: f32,
    /// How many of the request's rare words the tool's texts hold.
    pub keywords: f32,
    /// How much of the tool's name the request says.
    pub name: f32,
    /// What share of the required arguments the request gives.
    pub fit: f32,
    /// What share of the request's values have a place among the arguments.
    pub home: f32,
    /// How it went so far, from -0.5 to 0.5.
    pub past: f32,
    /// Whether it belongs to the application at hand (1), to none (0), to another (-1).
    pub domain: f32,
}

/// How many signals are learned.
pub const LEARNED: usize = 6;
/// The weights of the signals that are learned, in the order of [`Signals::learned`], and of "none
/// of them".
pub const WEIGHTS: [f32; LEARNED + 1] = [6.6, 3.3, 11.4, 0.2, 2.2, 1.2, 9.4];
/// The weights of what the public requests cannot teach.
const PAST: f32 = 1.0;
const DOMAIN: f32 = 1.0;

impl Signals {
    /// The signals that weights were learned for.
    #[must_use]
    pub fn learned(&self) -> [f32; LEARNED] {
        [self.meaning, self.detail, self.keywords, self.name, self.fit, self.home]
    }

    /// All signals in one number.
    #[must_use]
    pub fn score(&self) -> f32 {
        let learned: f32 = self.learned().iter().zip(WEIGHTS).map(|(signal, weight)| signal * weight).sum();
        learned + PAST * self.past + DOMAIN * self.domain
    }

    /// In words, the strongest first.
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

/// The weight of "none of them".
pub(super) fn none() -> f32 {
    let [.., none] = WEIGHTS;
    none.exp()
}

/// The score by which candidates for a closer look are found.
pub(super) fn rough(meaning: f32, keywords: f32) -> f32 {
    let [near, more, words, ..] = WEIGHTS;
    (near + more) * meaning + words * keywords
}

/// How it went so far, drawn to the middle while there is little to go by.
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
