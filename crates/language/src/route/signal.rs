//! The signals for an intent, and how they become a score, a share and a confidence.
//!
//! The weights are those of a conditional logit over all intents; [`scope`] is a logistic curve
//! over the best of them. They were fitted on one half of a public data set and measured on the
//! other, by `examples/eval_language.rs --fit`. In that half, one request in five was assumed to be
//! out of scope.

/// Number of signals.
pub const SIGNALS: usize = 7;

/// The signals for one intent, each about 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Signals {
    /// Similarity of the request to a phrasing of the name, or to the description.
    pub meaning: f32,
    /// Similarity to the name together with its domain's.
    pub context: f32,
    /// The share of the name that the request contains, including synonyms.
    pub name: f32,
    /// The share of the request that the name and its synonyms cover.
    pub cover: f32,
    /// Similarity to the centroid of the examples and the name.
    pub centre: f32,
    /// Similarity to the nearest example.
    pub nearest: f32,
    /// The share of the request's words and bigrams that the examples contain, weighted by rarity.
    pub wording: f32,
}

/// Weights and the scope curve, for intents with or without examples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// In the order of [`Signals::all`].
    pub signals: [f32; SIGNALS],
    /// The steepness of the scope curve.
    pub steep: f32,
    /// The score at which in scope and out of scope are equally likely.
    pub even: f32,
}

/// For intents with only a name and a description.
pub const BY_NAME: Weights =
    Weights { signals: [11.0, 7.2, 1.8, 2.8, 0.0, 0.0, 0.0], steep: 0.66, even: 8.2 };
/// For intents with examples.
pub const BY_EXAMPLE: Weights =
    Weights { signals: [2.8, 1.7, 0.9, 1.9, 7.7, 4.4, 8.9], steep: 0.89, even: 9.1 };

impl Signals {
    /// As an array.
    #[must_use]
    pub fn all(&self) -> [f32; SIGNALS] {
        [self.meaning, self.context, self.name, self.cover, self.centre, self.nearest, self.wording]
    }

    /// The weighted sum of all signals.
    #[must_use]
    pub fn score(&self, weights: &Weights) -> f32 {
        self.all().iter().zip(weights.signals).map(|(signal, weight)| signal * weight).sum()
    }
}

/// How many of the best scores decide the scope. Using all of them would make a long list of
/// intents look like a match.
const BEST: usize = 5;

/// The log-sum-exp of the best scores.
#[must_use]
pub fn peak(scores: &[f32]) -> f32 {
    let mut best: Vec<f32> = scores.to_vec();
    best.sort_by(|a, b| b.total_cmp(a));
    best.truncate(BEST);
    let Some(first) = best.first().copied() else { return f32::MIN };
    first + best.iter().map(|score| (score - first).exp()).sum::<f32>().ln()
}

/// The probability that a request with these scores is in scope.
#[must_use]
pub fn scope(scores: &[f32], weights: &Weights) -> f32 {
    1.0 / (1.0 + (-weights.steep * (peak(scores) - weights.even)).exp())
}

/// The softmax of the scores.
pub(super) fn shares(scores: &[f32]) -> Vec<f32> {
    let most = scores.iter().copied().fold(f32::MIN, f32::max);
    let raised: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
    let total = raised.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    raised.into_iter().map(|part| part / total).collect()
}
