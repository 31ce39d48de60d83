//! An intent in the router: the vectors of its phrasings, its words with their weights, its
//! examples.
//!
//! Invariant: computed once from names, descriptions and examples; queries change nothing.

use super::lexicon::{Lexicon, stems};
use super::signal::Signals;
use super::{Label, Topic};
use crate::Encoder;
use crate::words::{is_stop, name_words, stem, words};
use std::collections::{BTreeSet, HashMap};

/// Maximum number of phrasings of a name, without and with a description.
const VARIANTS: usize = 10;
const DESCRIBED: usize = 2;
/// The weight of a stop word such as "how" in a name, relative to a content word.
const STOP: f32 = 0.2;

/// The prepared data of one intent.
pub(super) struct IntentLabel {
    /// The index of the domain and of the intent in it.
    pub(super) place: (usize, usize),
    name: Vec<Part>,
    /// Stems of the name, its synonyms and the description.
    spoken: BTreeSet<String>,
    phrasings: Vec<Vec<f32>>,
    context: Vec<f32>,
    examples: Vec<Vec<f32>>,
    centre: Vec<f32>,
    /// The words of the examples and their bigrams.
    wording: BTreeSet<String>,
}

/// A word of a name.
struct Part {
    word: String,
    stem: String,
    weight: f32,
    /// The synonym groups of the lexicon that it belongs to.
    groups: BTreeSet<usize>,
}

/// A request, prepared for comparison with the intents.
pub(super) struct EncodedRequest {
    pub(super) vector: Option<Vec<f32>>,
    stems: BTreeSet<String>,
    telling: Vec<String>,
    turns: Vec<String>,
    groups: BTreeSet<usize>,
}

impl EncodedRequest {
    pub(super) fn read(text: &str, encoder: &Encoder, lexicon: &Lexicon) -> Self {
        let said = words(text);
        let all: Vec<String> = said.iter().map(|word| word.stem.clone()).collect();
        Self {
            vector: encoder.embed(text).map(|vector| unit(vector.to_vec())),
            telling: said.iter().filter(|word| !word.stop).map(|word| word.stem.clone()).collect(),
            groups: lexicon.groups(&all),
            turns: turns(&all).into_iter().collect(),
            stems: all.into_iter().collect(),
        }
    }

    /// Words that the request shares with a name, for the reasons.
    pub(super) fn shared<'a>(&self, known: &'a IntentLabel) -> Vec<&'a str> {
        let shared = known.name.iter().filter(|part| self.stems.contains(&part.stem));
        shared.map(|part| part.word.as_str()).collect()
    }
}

/// The phrasings of an intent. A name is not a sentence; embedded in a plain sentence it is closer
/// to what users ask.
fn phrasings(label: &Label, lexicon: &Lexicon) -> Vec<String> {
    let name = name_words(&label.name);
    let plain = name.join(" ");
    let mut said: Vec<String> = vec![format!("tell me about {plain}")];
    let described = !label.description.trim().is_empty();
    // A description is more informative than synonyms of the name.
    let variants = lexicon.variants(&name, if described { DESCRIBED } else { VARIANTS });
    said.extend(variants.iter().map(|variant| format!("tell me about {variant}")));
    if described {
        said.push(label.description.clone());
        said.push(format!("{plain}: {}", label.description));
    }
    said
}

/// An intent's name with its domain's.
fn in_context(topic: &Topic, label: &Label) -> String {
    format!("{} {}", name_words(&topic.name).join(" "), name_words(&label.name).join(" "))
}

/// Every text whose vector [`IntentLabel::of`] needs.
pub(super) fn texts(topic: &Topic, label: &Label, lexicon: &Lexicon) -> Vec<String> {
    let mut all = phrasings(label, lexicon);
    all.push(in_context(topic, label));
    all.push(name_words(&label.name).join(" "));
    all.extend(label.examples.iter().cloned());
    all
}

impl IntentLabel {
    pub(super) fn of(
        place: (usize, usize),
        topic: &Topic,
        label: &Label,
        encoder: &Encoder,
        lexicon: &Lexicon,
    ) -> Self {
        let vector = |text: &str| encoder.embed(text).map(|vector| unit(vector.to_vec()));
        let name = name_words(&label.name);
        let (plain, said) = (name.join(" "), phrasings(label, lexicon));
        let part = |word: &String| Part {
            word: word.clone(),
            stem: stem(word),
            weight: if is_stop(word) { STOP } else { 1.0 },
            groups: lexicon.of(&stem(word)).iter().copied().collect(),
        };
        let mut spoken: BTreeSet<String> = name.iter().map(|word| stem(word)).collect();
        for group in lexicon.groups(&stems(&plain)) {
            spoken.extend(lexicon.words(group));
        }
        spoken.extend(words(&label.description).into_iter().filter(|word| !word.stop).map(|word| word.stem));
        let examples: Vec<Vec<f32>> = label.examples.iter().filter_map(|example| vector(example)).collect();
        let wording = label.examples.iter().flat_map(|example| turns(&stems(example))).collect();
        Self {
            place,
            name: name.iter().map(part).collect(),
            spoken,
            phrasings: said.iter().filter_map(|text| vector(text)).collect(),
            context: vector(&in_context(topic, label)).unwrap_or_default(),
            centre: middle(&examples, vector(&plain).as_deref()),
            examples,
            wording,
        }
    }

    /// Whether it has examples.
    pub(super) fn has_examples(&self) -> bool {
        !self.examples.is_empty()
    }

    /// The signals for it. Without examples, the phrasings are used instead.
    pub(super) fn signals(&self, asked: &EncodedRequest, rarity: &Rarity) -> Signals {
        let near = |vectors: &[Vec<f32>]| -> f32 {
            let Some(vector) = &asked.vector else { return 0.0 };
            vectors.iter().map(|other| product(vector, other)).fold(0.0, f32::max)
        };
        let meaning = near(&self.phrasings);
        let cover =
            covered(&asked.telling, |stem| f32::from(u8::from(self.spoken.contains(stem))), &rarity.spoken);
        let context = asked.vector.as_ref().map_or(0.0, |vector| product(vector, &self.context));
        let said = |part: &&Part| asked.stems.contains(&part.stem) || !part.groups.is_disjoint(&asked.groups);
        let weight = |part: &Part| part.weight * rarity.name.of(&part.stem);
        let whole: f32 = self.name.iter().map(weight).sum();
        let part: f32 = self.name.iter().filter(said).map(weight).sum();
        let signals = Signals {
            meaning,
            context,
            name: if whole > 0.0 { part / whole } else { 0.0 },
            cover,
            ..Signals::default()
        };
        if self.examples.is_empty() {
            return Signals { centre: meaning, nearest: meaning, wording: cover, ..signals };
        }
        let held = |turn: &str| f32::from(u8::from(self.wording.contains(turn)));
        Signals {
            centre: asked.vector.as_ref().map_or(0.0, |vector| product(vector, &self.centre)),
            nearest: near(&self.examples),
            wording: covered(&asked.turns, held, &rarity.wording),
            ..signals
        }
    }
}

/// The share of the words that are covered, weighted by rarity.
fn covered(stems: &[String], held: impl Fn(&str) -> f32, rarity: &Rare) -> f32 {
    let whole: f32 = stems.iter().map(|stem| rarity.of(stem)).sum();
    let part: f32 = stems.iter().map(|stem| rarity.of(stem) * held(stem)).sum();
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The rarity of words among the intents: in their names, in all their texts, in their examples.
#[derive(Default)]
pub(super) struct Rarity {
    name: Rare,
    spoken: Rare,
    wording: Rare,
}

#[derive(Default)]
struct Rare {
    count: f32,
    holders: HashMap<String, f32>,
}

impl Rare {
    fn over<'a>(all: impl Iterator<Item = BTreeSet<&'a String>>) -> Self {
        let mut rare = Self::default();
        for stems in all {
            rare.count += 1.0;
            for stem in stems {
                *rare.holders.entry(stem.clone()).or_default() += 1.0;
            }
        }
        rare
    }

    fn of(&self, stem: &str) -> f32 {
        ((self.count + 1.0) / (self.holders.get(stem).copied().unwrap_or(0.0) + 0.5)).ln().max(0.1)
    }
}

impl Rarity {
    pub(super) fn over(all: &[IntentLabel]) -> Self {
        Self {
            name: Rare::over(all.iter().map(|known| known.name.iter().map(|part| &part.stem).collect())),
            spoken: Rare::over(all.iter().map(|known| known.spoken.iter().collect())),
            wording: Rare::over(all.iter().map(|known| known.wording.iter().collect())),
        }
    }
}

fn product(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = product(&vector, &vector).sqrt().max(f32::MIN_POSITIVE);
    vector.iter_mut().for_each(|x| *x /= length);
    vector
}

/// The weight of the name relative to all examples together: it matters more with few examples.
const NAME: f32 = 0.5;

/// The centroid of the examples, shifted slightly towards the name.
fn middle(vectors: &[Vec<f32>], name: Option<&[f32]>) -> Vec<f32> {
    let Some(first) = vectors.first() else { return Vec::new() };
    let mut sum = vec![0.0; first.len()];
    for vector in vectors {
        sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x / vectors.len() as f32);
    }
    sum.iter_mut().zip(name.unwrap_or_default()).for_each(|(sum, x)| *sum += NAME * x);
    unit(sum)
}

/// The words of a text and its bigrams, including the edges: "how long" and "long ago" share a
/// word, but no bigram.
fn turns(stems: &[String]) -> BTreeSet<String> {
    let edge = String::new();
    let padded: Vec<&String> = [&edge].into_iter().chain(stems).chain([&edge]).collect();
    let pairs = padded.windows(2).filter_map(|pair| match pair {
        [a, b] => Some(format!("{a} {b}")),
        _ => None,
    });
    pairs.chain(stems.iter().cloned()).collect()
}
