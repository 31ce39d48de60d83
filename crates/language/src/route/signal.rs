//! What speaks for an intent, and how it becomes a score, a share and a confidence.
//!
//! The weights are those of a conditional logit over all intents; [`scope`] is a logistic curve
//! over the best of them. They were learned on one half of a public set of requests and measured on
//! the other, by `examples/eval_language.rs --fit`. In that half, one request in five was taken to
//! be outside of every domain.

/// How many signals there are.
pub const SIGNALS: usize = 7;

/// What speaks for one intent, each about 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Signals {
    /// How near the request is to the name in one of its phrasings, or to the description.
    pub meaning: f32,
    /// How near it is to the name together with its domain's.
    pub context: f32,
    /// What share of the name the request says, in these or in other words.
    pub name: f32,
    /// What share of the request the name and its other words say.
    pub cover: f32,
    /// How near it is to the middle of the examples and the name.
    pub centre: f32,
    /// How near it is to the nearest example.
    pub nearest: f32,
    /// What share of the request's words and pairs of words the examples hold, by their rarity.
    pub wording: f32,
}

/// Weights and the curve of the scope, for one way of knowing intents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// In the order of [`Signals::all`].
    pub signals: [f32; SIGNALS],
    /// How steep the curve of the scope is.
    pub steep: f32,
    /// The score at which a request is as likely inside as outside.
    pub even: f32,
}

/// For intents that are known by name and description alone.
pub const BY_NAME: Weights =
    Weights { signals: [11.0, 7.2, 1.8, 2.8, 0.0, 0.0, 0.0], steep: 0.66, even: 8.2 };
/// For intents that come with examples.
pub const BY_EXAMPLE: Weights =
    Weights { signals: [2.8, 1.7, 0.9, 1.9, 7.7, 4.4, 8.9], steep: 0.89, even: 9.1 };

impl Signals {
    /// As an array.
    #[must_use]
    pub fn all(&self) -> [f32; SIGNALS] {
        [self.meaning, self.context, self.name, self.cover, self.centre, self.nearest, self.wording]
    }

    /// All signals in one number.
    #[must_use]
    pub fn score(&self, weights: &Weights) -> f32 {
        self.all().iter().zip(weights.signals).map(|(signal, weight)| signal * weight).sum()
    }
}

/// How many of the best scores say whether a request is inside. All of them would make a long list
/// of intents look like a match.
const BEST: usize = 5;

/// The logarithm of the sum of the exponentials of the best scores.
#[must_use]
pub fn peak(scores: &[f32]) -> f32 {
    let mut best: Vec<f32> = scores.to_vec();
    best.sort_by(|a, b| b.total_cmp(a));
    best.truncate(BEST);
    let Some(first) = best.first().copied() else { return f32::MIN };
    first + best.iter().map(|score| (score - first).exp()).sum::<f32>().ln()
}

/// How likely a request with these scores is inside of some domain.
#[must_use]
pub fn scope(scores: &[f32], weights: &Weights) -> f32 {
    1.0 / (1.0 + (-weights.steep * (peak(scores) - weights.even)).exp())
}

/// The share of each score.
pub(super) fn shares(scores: &[f32]) -> Vec<f32> {
    let most = scores.iter().copied().fold(f32::MIN, f32::max);
    let raised: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
    let total = raised.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    raised.into_iter().map(|part| part / total).collect()
}
