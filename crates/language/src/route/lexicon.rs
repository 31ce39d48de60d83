//! Synonyms of everyday English in requests.
//!
//! Invariant: the lexicon is the same for every application. Vocabulary of a single application
//! belongs in its descriptions and examples, not here.

use crate::words::{stem, words};
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// Maximum length of a phrase, in words.
const LONGEST: usize = 6;

/// The lexicon, read once.
pub(super) struct Lexicon {
    groups: Vec<Vec<&'static str>>,
    /// The groups of a phrase, by its stems.
    places: HashMap<String, Vec<usize>>,
    /// All its words, in lower case.
    words: BTreeSet<String>,
}

static EVERYDAY: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::read(include_str!("lexicon.txt")));
static NONE: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::read(""));

/// The lexicon of everyday English.
pub(super) fn everyday() -> &'static Lexicon {
    &EVERYDAY
}

/// An empty lexicon, for measuring the effect of the other one.
pub(super) fn none() -> &'static Lexicon {
    &NONE
}

/// The stems of a phrase, separated by one space.
pub(super) fn stems(text: &str) -> Vec<String> {
    words(text).into_iter().map(|word| word.stem).collect()
}

impl Lexicon {
    fn read(text: &'static str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        let groups: Vec<Vec<&'static str>> = lines
            .map(|line| line.split(',').map(str::trim).filter(|phrase| !phrase.is_empty()).collect())
            .collect();
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (group, phrases) in groups.iter().enumerate() {
            for phrase in phrases {
                let known = places.entry(stems(phrase).join(" ")).or_default();
                if !known.contains(&group) {
                    known.push(group);
                }
            }
        }
        let all = groups.iter().flatten().flat_map(|phrase| words(phrase)).map(|word| word.lower).collect();
        Self { groups, places, words: all }
    }

    /// The groups that occur in a text.
    pub(super) fn groups(&self, stems: &[String]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for length in 1..=LONGEST.min(stems.len()) {
            for window in stems.windows(length) {
                found.extend(self.places.get(&window.join(" ")).into_iter().flatten().copied());
            }
        }
        found
    }

    /// Whether a word stands anywhere in it.
    pub(super) fn knows(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// The groups of one word.
    pub(super) fn of(&self, stem: &str) -> &[usize] {
        self.places.get(stem).map_or(&[], Vec::as_slice)
    }

    /// The stems of all phrases of a group.
    pub(super) fn words(&self, group: usize) -> impl Iterator<Item = String> {
        self.groups.get(group).into_iter().flatten().flat_map(|phrase| stems(phrase))
    }

    /// Variants of a name: each part in the lexicon is replaced by synonyms, the longest parts
    /// first.
    pub(super) fn variants(&self, name: &[String], most: usize) -> Vec<String> {
        let known: Vec<String> = name.iter().map(|word| stem(word)).collect();
        let mut found: Vec<String> = Vec::new();
        for length in (1..=name.len().min(LONGEST)).rev() {
            for (at, part) in known.windows(length).enumerate() {
                let key = part.join(" ");
                for phrase in self
                    .places
                    .get(&key)
                    .into_iter()
                    .flatten()
                    .filter_map(|group| self.groups.get(*group))
                    .flatten()
                {
                    if stems(phrase).join(" ") == key {
                        continue;
                    }
                    let (before, after) = (name.iter().take(at), name.iter().skip(at + length));
                    let said: Vec<&str> = before
                        .map(String::as_str)
                        .chain([*phrase])
                        .chain(after.map(String::as_str))
                        .collect();
                    let said = said.join(" ");
                    if !found.contains(&said) {
                        found.push(said);
                    }
                }
            }
        }
        found.truncate(most);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_said_in_other_words() {
        let name = ["pto", "balance"].map(str::to_owned);
        let said = everyday().variants(&name, 20);
        assert!(said.contains(&"vacation days balance".to_owned()), "{said:?}");
        assert!(none().variants(&name, 20).is_empty());
    }

    #[test]
    fn phrases_are_found_in_any_form() {
        let found = everyday().groups(&stems("I would like to take out some cash, where is a cash machine"));
        assert!(found.iter().any(|group| everyday().of("atm").contains(group)));
    }

    #[test]
    fn no_group_is_a_single_phrase() {
        assert!(everyday().groups.len() > 200);
        assert!(everyday().groups.iter().all(|group| group.len() > 1));
    }
}
