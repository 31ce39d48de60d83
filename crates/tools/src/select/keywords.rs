//! Keyword search over tools with inverted lists (BM25 with one weight per field).
//!
//! Invariant: the lists depend only on the ordered tools, so the same tools give the same lists.

use super::words::{name_words, stem, words};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The weights of the fields.
const NAME: f32 = 2.5;
const DESCRIPTION: f32 = 1.0;
const PARAMETER: f32 = 0.7;
const DETAIL: f32 = 0.35;
const EXAMPLE: f32 = 1.0;
/// The BM25 parameters: saturation of term frequency, and length normalization.
const K1: f32 = 1.2;
const B: f32 = 0.5;

/// The words of one tool with their weights.
#[derive(Debug, Clone, Default)]
pub(super) struct Terms {
    weights: BTreeMap<String, f32>,
    /// The stems of the name, for the name score.
    pub(super) name: BTreeSet<String>,
    length: f32,
}

impl Terms {
    /// The terms of a name, a description, a schema and examples.
    pub(super) fn of(
        name: &str,
        description: &str,
        schema: &serde_json::Map<String, Json>,
        examples: &[String],
    ) -> Self {
        let mut terms = Self::default();
        for word in name_words(name) {
            let word = stem(&word);
            terms.add(&word, NAME);
            terms.name.insert(word);
        }
        terms.text(description, DESCRIPTION);
        terms.schema(schema, 0);
        for example in examples {
            terms.text(example, EXAMPLE);
        }
        terms
    }

    fn schema(&mut self, schema: &serde_json::Map<String, Json>, depth: usize) {
        let Some(properties) = schema.get("properties").and_then(Json::as_object).filter(|_| depth < 3)
        else {
            return;
        };
        for (name, property) in properties {
            for word in name_words(name) {
                self.add(&stem(&word), PARAMETER);
            }
            self.text(property.get("description").and_then(Json::as_str).unwrap_or_default(), DETAIL);
            let items = property.get("items").and_then(Json::as_object);
            for choices in
                [property.get("enum"), items.and_then(|items| items.get("enum"))].into_iter().flatten()
            {
                for choice in choices.as_array().into_iter().flatten().filter_map(Json::as_str) {
                    for word in name_words(choice) {
                        self.add(&stem(&word), DETAIL);
                    }
                }
            }
            for inner in [property.as_object(), items].into_iter().flatten() {
                self.schema(inner, depth + 1);
            }
        }
    }

    fn text(&mut self, text: &str, weight: f32) {
        for word in words(text).iter().filter(|word| !word.stop) {
            self.add(&word.stem, weight);
        }
    }

    fn add(&mut self, stem: &str, weight: f32) {
        *self.weights.entry(stem.to_owned()).or_default() += weight;
        self.length += weight;
    }
}

/// The inverted lists.
#[derive(Debug, Default)]
pub(super) struct Keywords {
    lists: HashMap<String, List>,
    /// The IDF of a word that no tool has.
    rarest: f32,
}

#[derive(Debug, Default)]
struct List {
    idf: f32,
    tools: Vec<(u32, f32)>,
}

impl Keywords {
    /// Builds the lists over all tools, in order.
    pub(super) fn over<'a>(tools: impl ExactSizeIterator<Item = &'a Terms> + Clone) -> Self {
        let count = tools.len() as f32;
        let average = tools.clone().map(|terms| terms.length).sum::<f32>() / count.max(1.0);
        let mut lists: HashMap<String, List> = HashMap::new();
        for (at, terms) in tools.enumerate() {
            let norm = K1 * (1.0 - B + B * terms.length / average.max(1.0));
            for (word, weight) in &terms.weights {
                let value = weight * (K1 + 1.0) / (weight + norm);
                lists.entry(word.clone()).or_default().tools.push((at as u32, value));
            }
        }
        for list in lists.values_mut() {
            list.idf = rarity(count, list.tools.len() as f32);
        }
        Self { lists, rarest: rarity(count, 0.0) }
    }

    /// The inverse document frequency of a word among the tools.
    pub(super) fn idf(&self, stem: &str) -> f32 {
        self.lists.get(stem).map_or(self.rarest, |list| list.idf)
    }

    /// Adds each tool's score for these words to `scores`.
    pub(super) fn score(&self, stems: &BTreeSet<&str>, scores: &mut [f32]) {
        for list in stems.iter().filter_map(|stem| self.lists.get(*stem)) {
            for (tool, value) in &list.tools {
                if let Some(score) = scores.get_mut(*tool as usize) {
                    *score += list.idf * value;
                }
            }
        }
    }

    /// The share of the name's words that the request contains, weighted by IDF.
    pub(super) fn name(&self, terms: &Terms, stems: &BTreeSet<&str>) -> f32 {
        let all: f32 = terms.name.iter().map(|word| self.idf(word)).sum();
        let said: f32 =
            terms.name.iter().filter(|word| stems.contains(word.as_str())).map(|word| self.idf(word)).sum();
        if all > 0.0 { said / all } else { 0.0 }
    }
}

fn rarity(count: f32, holders: f32) -> f32 {
    ((count - holders + 0.5) / (holders + 0.5) + 1.0).ln()
}
