//! Word overlap between an utterance and each tool's name, description and fields.
//!
//! Invariants
//! - A word counts by how well it discriminates: one that every tool of a domain uses counts
//!   nothing.
//! - Inflected forms are the same word; words of one family, and of one synonym group, are nearly
//!   the same. The encoder's similarity of single words added nothing, measured on eleven
//!   applications.

use super::catalogue::Prepared;
use super::lexicon::root;
use super::text::slip;
use super::verbs::is_plain_verb;
use crate::route::same_group;
use crate::words::{is_stop, name_words, words};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use steward_domain::DomainName;

/// Where a tool uses a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Zone {
    Name,
    Description,
    /// Names, descriptions and values of its arguments; names of its result fields.
    Fields,
}

/// All words of all tools.
#[derive(Debug, Default)]
pub(super) struct Lexis {
    /// Their stems, and their spellings.
    words: Vec<(String, String)>,
    by_root: HashMap<String, usize>,
    /// The words of each tool, in catalogue order.
    tools: Vec<BTreeMap<usize, Zone>>,
    /// How well each word discriminates in its zone, by domain.
    tells: HashMap<(Option<DomainName>, usize, Zone), f32>,
}

/// The overlap of a clause with a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Shared {
    pub(super) name: f32,
    pub(super) description: f32,
    pub(super) fields: f32,
}

impl Shared {
    pub(super) fn all(self) -> f32 {
        self.name + self.description + self.fields
    }
}

/// The similarity of a clause's word to every word of the tools.
pub(super) struct Similarity(Vec<(usize, f32)>);

impl Lexis {
    pub(super) fn new(tools: &[Prepared]) -> Self {
        let mut all: Vec<(String, String)> = Vec::new();
        let mut by_root: HashMap<String, usize> = HashMap::new();
        let mut own: Vec<BTreeMap<usize, Zone>> = Vec::new();
        for tool in tools {
            let mut used: BTreeMap<usize, Zone> = BTreeMap::new();
            for (word, zone) in spoken(tool) {
                let at = *by_root.entry(root(&word)).or_insert_with_key(|root| {
                    all.push((root.clone(), word.clone()));
                    all.len() - 1
                });
                let known = used.entry(at).or_insert(zone);
                *known = zone.min(*known);
            }
            own.push(used);
        }
        let tells = tells(tools, &own);
        Self { words: all, by_root, tools: own, tells }
    }

    /// The tool word that a word is a misspelling of. Short words are too similar to each other.
    pub(super) fn meant(&self, lower: &str, stem: &str) -> Option<&str> {
        if lower.len() < 6 || self.by_root.contains_key(stem) {
            return None;
        }
        let near = |word: &&String| {
            let root = root(word);
            word.len() > 4 && (slip(lower, word) || (stem.len() > 4 && root.len() > 4 && slip(stem, &root)))
        };
        self.words.iter().map(|(_, word)| word).find(near).map(String::as_str)
    }

    /// Compares a stem with all words of the tools.
    pub(super) fn like(&self, said: &str) -> Similarity {
        let like = |root: &str| match () {
            () if root == said => Some(1.0),
            () if kin(root, said) => Some(0.9),
            () if same_group(root, said) => Some(0.8),
            () => None,
        };
        Similarity(
            self.words.iter().enumerate().filter_map(|(at, (root, _))| Some((at, like(root)?))).collect(),
        )
    }

    /// The overlap of words with a tool.
    pub(super) fn shared(&self, said: &[Similarity], at: usize, domain: Option<&DomainName>) -> Shared {
        let mut shared = Shared::default();
        let Some(own) = self.tools.get(at) else { return shared };
        for word in said {
            let (mut most, mut zone) = (0.0_f32, Zone::Fields);
            for (known, like) in &word.0 {
                let Some(used) = own.get(known) else { continue };
                let weight = like * self.tells.get(&(domain.cloned(), *known, *used)).copied().unwrap_or(1.0);
                if weight > most {
                    (most, zone) = (weight, *used);
                }
            }
            match zone {
                Zone::Name => shared.name += most,
                Zone::Description => shared.description += most,
                Zone::Fields => shared.fields += most,
            }
        }
        shared
    }
}

/// Whether two stems belong to one family: "weigh" and "weight", "depart" and "departure".
fn kin(a: &str, b: &str) -> bool {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let (rest, other) = (a.len() - same, b.len() - same);
    (same >= 5 && rest.max(other) <= 3 && rest.min(other) == 0) || (same >= 4 && rest + other == 1)
}

/// The words that describe a tool.
fn spoken(tool: &Prepared) -> Vec<(String, Zone)> {
    let mut found: Vec<(String, Zone)> = Vec::new();
    let bare = tool.tool.name.rsplit('.').next().unwrap_or_default();
    found.extend(name_words(bare).into_iter().map(|word| (word, Zone::Name)));
    let mut text = |text: &str, zone: Zone| {
        found.extend(words(text).into_iter().filter(|word| !word.stop).map(|word| (word.lower, zone)));
    };
    text(&tool.tool.description, Zone::Description);
    let fields =
        |schema: &Value| schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, schema) in fields(&tool.tool.input) {
        text(&name_words(&name).join(" "), Zone::Fields);
        text(schema.get("description").and_then(Value::as_str).unwrap_or_default(), Zone::Fields);
        for choice in schema.get("enum").and_then(Value::as_array).into_iter().flatten() {
            text(&name_words(choice.as_str().unwrap_or_default()).join(" "), Zone::Fields);
        }
    }
    if let Some(output) = &tool.tool.output {
        given(output, 0, &mut |name| text(&name_words(name).join(" "), Zone::Fields));
    }
    // Plain verbs are scored elsewhere.
    found.retain(|(word, _)| word.len() > 1 && !is_stop(word) && !is_plain_verb(&root(word)));
    found
}

/// Names of the result fields, including nested ones.
fn given(schema: &Value, depth: usize, tell: &mut dyn FnMut(&str)) {
    if depth > 3 {
        return;
    }
    for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        tell(name);
        given(inner, depth + 1, tell);
    }
    if let Some(items) = schema.get("items") {
        given(items, depth + 1, tell);
    }
}

/// A word in a name is compared with other names, one in a description with names and descriptions,
/// one of the fields with all.
fn tells(
    tools: &[Prepared],
    own: &[BTreeMap<usize, Zone>],
) -> HashMap<(Option<DomainName>, usize, Zone), f32> {
    let mut counts: HashMap<(Option<DomainName>, usize, Zone), f32> = HashMap::new();
    let mut sizes: HashMap<Option<DomainName>, f32> = HashMap::new();
    for (tool, words) in tools.iter().zip(own) {
        let domain = tool.tool.domain.clone();
        *sizes.entry(domain.clone()).or_default() += 1.0;
        for (word, used) in words {
            for zone in [Zone::Name, Zone::Description, Zone::Fields].into_iter().filter(|zone| zone >= used)
            {
                *counts.entry((domain.clone(), *word, zone)).or_default() += 1.0;
            }
        }
    }
    let share = |(key, count): ((Option<DomainName>, usize, Zone), f32)| {
        let size = sizes.get(&key.0).copied().unwrap_or(1.0);
        let tells = ((size + 1.0) / count).ln() / (size + 1.0).ln();
        (key, tells)
    };
    counts.into_iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::kin;

    #[test]
    fn families_of_words() {
        for (a, b) in [("weigh", "weight"), ("depart", "departur"), ("arriv", "arrive"), ("settl", "settlem")]
        {
            assert!(kin(a, b), "{a} {b}");
        }
        for (a, b) in [("contact", "contract"), ("note", "nose"), ("plan", "plane t"), ("book", "boot")] {
            assert!(!kin(a, b), "{a} {b}");
        }
    }
}
