//! Ranks sentences: central to the text, early, neither short nor long, and not redundant.
//!
//! Each sentence is a TF-IDF vector of its words. The centroid is the sum of all vectors. Sentences
//! are chosen one by one by maximal marginal relevance. Ties go to the earlier sentence, and maps
//! are ordered, so the result is deterministic.

use std::collections::{BTreeMap, BTreeSet};
use steward_text::tokens::singular;

/// Stop words.
const STOPWORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "but", "by", "can", "could", "did", "do", "does", "for", "from", "get", "got", "had", "has",
    "have", "he", "her", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "like", "me",
    "more", "my", "no", "not", "now", "of", "on", "one", "or", "our", "out", "over", "she", "should", "so",
    "some", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "too",
    "up", "us", "was", "we", "were", "what", "when", "where", "which", "while", "who", "will", "with",
    "would", "you", "your", "der", "die", "das", "und", "ist", "ein", "eine", "nicht", "mit", "von", "zu",
    "den", "im", "auf", "für",
];
/// The weight of the redundancy penalty.
const REDUNDANCY: f64 = 0.6;

/// The weight of a sentence's position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Earlier sentences count more.
    Article,
    /// All positions count the same.
    Even,
}

/// Sentences with their vectors and the centroid.
pub(super) struct Ranked {
    vectors: Vec<BTreeMap<String, f64>>,
    lengths: Vec<usize>,
    centre: BTreeMap<String, f64>,
}

impl Ranked {
    #[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
    pub(super) fn new(sentences: &[&str]) -> Self {
        let words: Vec<Vec<String>> = sentences.iter().map(|sentence| words(sentence)).collect();
        let mut among: BTreeMap<&str, usize> = BTreeMap::new();
        for sentence in &words {
            for word in sentence.iter().map(String::as_str).collect::<BTreeSet<_>>() {
                *among.entry(word).or_default() += 1;
            }
        }
        let total = sentences.len() as f64;
        let mut vectors = Vec::with_capacity(words.len());
        let mut centre: BTreeMap<String, f64> = BTreeMap::new();
        for sentence in &words {
            let mut vector: BTreeMap<String, f64> = BTreeMap::new();
            for word in sentence {
                let rare = 1.0 + (total / (1.0 + among.get(word.as_str()).copied().unwrap_or(0) as f64)).ln();
                *vector.entry(word.clone()).or_default() += rare.max(0.1);
            }
            for (word, weight) in &vector {
                *centre.entry(word.clone()).or_default() += weight;
            }
            vectors.push(vector);
        }
        // A word that occurs in only one sentence says little about the whole.
        centre.retain(|word, _| among.get(word.as_str()).is_some_and(|count| *count > 1) || total < 4.0);
        Self { vectors, lengths: words.iter().map(Vec::len).collect(), centre }
    }

    /// The words with the highest weight in the centroid.
    pub(super) fn keywords(&self, most: usize) -> Vec<&str> {
        let mut words: Vec<(&str, f64)> =
            self.centre.iter().map(|(word, weight)| (word.as_str(), *weight)).collect();
        words.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        words.into_iter().take(most).map(|(word, _)| word).collect()
    }

    /// The best `count` sentences with their scores, in text order.
    pub(super) fn choose(&self, count: usize, position: Position) -> Vec<(usize, f64)> {
        let scores: Vec<f64> = (0..self.vectors.len()).map(|place| self.score(place, position)).collect();
        let highest = scores.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let mut chosen: Vec<(usize, f64)> = Vec::new();
        // The similarity of each sentence to the chosen ones. It is updated incrementally, so the
        // cost is count × sentences.
        let mut alike = vec![0.0_f64; self.vectors.len()];
        while chosen.len() < count {
            let mut best: Option<(usize, f64)> = None;
            for (place, (score, alike)) in scores.iter().zip(&alike).enumerate() {
                // Near-duplicates come last.
                let again = if *alike > 0.9 { 1.0 } else { 0.0 };
                let value = score / highest - REDUNDANCY * alike - again;
                let taken = chosen.iter().any(|(taken, _)| *taken == place);
                if !taken && best.is_none_or(|(_, most)| value > most) {
                    best = Some((place, value));
                }
            }
            let Some((place, _)) = best else { break };
            chosen.push((place, round(scores.get(place).copied().unwrap_or_default() / highest)));
            if let Some(vector) = self.vectors.get(place) {
                for (other, alike) in self.vectors.iter().zip(&mut alike) {
                    *alike = alike.max(cosine(vector, other));
                }
            }
        }
        chosen.sort_by_key(|(place, _)| *place);
        chosen
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of sentences are small")]
    fn score(&self, place: usize, position: Position) -> f64 {
        let Some(vector) = self.vectors.get(place) else { return 0.0 };
        let central = cosine(vector, &self.centre);
        let length = self.lengths.get(place).copied().unwrap_or_default() as f64;
        // Sentences of fewer than 4 or more than 40 words are penalized.
        let fit = (length / 4.0).min(1.0) * (40.0 / length.max(40.0));
        let early = match position {
            Position::Even => 0.0,
            Position::Article => 0.25 / (1.0 + place as f64),
        };
        (central + early) * fit
    }
}

fn round(score: f64) -> f64 {
    (score * 1000.0).round() / 1000.0
}

fn cosine(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) -> f64 {
    let (small, large) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let dot: f64 = small.iter().filter_map(|(word, weight)| Some(weight * large.get(word)?)).sum();
    let norm =
        |vector: &BTreeMap<String, f64>| vector.values().map(|weight| weight * weight).sum::<f64>().sqrt();
    let product = norm(a) * norm(b);
    if product > 0.0 { dot / product } else { 0.0 }
}

/// The content words of a text, in lower case and in the singular.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .map(|word| word.trim_matches(['\'', '’']).to_lowercase())
        .filter(|word| word.chars().count() > 1 && !STOPWORDS.contains(&word.as_str()))
        .map(|word| singular(word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(&word)))
        .collect()
}
