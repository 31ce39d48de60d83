//! What a model's result says about the readings that were judged.
//!
//! A model and the reader come to a query on ways that have little in common, so that both come to
//! the same rows is strong evidence, and that they do not is evidence against both. Only results
//! are compared: what a model says of its own certainty counts for nothing.

/// How often the result of a model's query is right when it is admitted and runs.
const MODEL_IS_RIGHT: f64 = 0.55;
/// How often a model comes to the result of a reading that is wrong.
const SHARED_MISTAKE: f64 = 0.07;
/// No agreement makes an answer more likely than this.
const MOST: f64 = 0.97;

/// A reading as it stands before the model is heard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedReading {
    /// How likely it is right.
    pub probability: f64,
    /// Whether the model's query gives the same result.
    pub agrees: bool,
}

/// Whose query is taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ModelVerdict {
    /// The reading at this place.
    Reading {
        /// Its place.
        place: usize,
        /// How likely it is right, now.
        probability: f64,
    },
    /// The model's.
    Model {
        /// How likely it is right.
        probability: f64,
    },
}

/// Decides between readings and a model whose query ran.
#[must_use]
pub fn weigh_model(readings: &[JudgedReading]) -> ModelVerdict {
    let best = |agrees: bool| {
        let fits = readings.iter().enumerate().filter(|(_, reading)| reading.agrees == agrees);
        fits.max_by(|(_, a), (_, b)| a.probability.total_cmp(&b.probability))
            .map(|(place, reading)| (place, reading.probability.clamp(0.01, 0.99)))
    };
    let (hit, miss) = (MODEL_IS_RIGHT, 1.0 - MODEL_IS_RIGHT);
    let agreed = best(true).map(|(place, prior)| {
        let probability = prior * hit / (prior * hit + (1.0 - prior) * SHARED_MISTAKE);
        (place, probability.min(MOST))
    });
    let other = best(false).map(|(place, prior)| (place, prior * miss / (prior * miss + 1.0 - prior)));
    match (agreed, other) {
        (Some((place, probability)), Some((_, against))) if probability >= against => {
            ModelVerdict::Reading { place, probability }
        }
        (Some((place, probability)), None) => ModelVerdict::Reading { place, probability },
        (_, Some((place, probability))) => {
            // Nobody agrees: the model is right where the reading is not, as often as it is.
            let prior = readings.get(place).map_or(0.0, |reading| reading.probability);
            let model = (1.0 - prior) * hit / (1.0 - prior * hit);
            if agreed.is_none() && model > probability {
                ModelVerdict::Model { probability: model }
            } else {
                ModelVerdict::Reading { place, probability }
            }
        }
        (None, None) => ModelVerdict::Model { probability: MODEL_IS_RIGHT },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(readings: &[(f64, bool)]) -> ModelVerdict {
        let readings: Vec<JudgedReading> = readings
            .iter()
            .map(|(probability, agrees)| JudgedReading { probability: *probability, agrees: *agrees })
            .collect();
        weigh_model(&readings)
    }

    #[test]
    fn agreement_raises_and_disagreement_lowers() {
        let ModelVerdict::Reading { place: 0, probability } = verdict(&[(0.6, true), (0.3, false)]) else {
            panic!()
        };
        assert!(probability > 0.9, "{probability}");
        let ModelVerdict::Reading { place: 0, probability } = verdict(&[(0.9, false)]) else { panic!() };
        assert!((0.7..0.85).contains(&probability), "{probability}");
        // A weak reading that a model confirms is better than before, and not sure.
        let ModelVerdict::Reading { place: 0, probability } = verdict(&[(0.2, true)]) else { panic!() };
        assert!((0.6..0.7).contains(&probability), "{probability}");
    }

    #[test]
    fn a_reading_that_was_not_first_is_taken_when_the_model_agrees_with_it() {
        assert!(matches!(verdict(&[(0.5, false), (0.4, true)]), ModelVerdict::Reading { place: 1, .. }));
        // Not against one that is nearly certain.
        assert!(matches!(verdict(&[(0.97, false), (0.05, true)]), ModelVerdict::Reading { place: 0, .. }));
    }

    #[test]
    fn alone_a_model_is_never_sure() {
        for readings in [&[][..], &[(0.05, false)], &[(0.3, false), (0.2, false)]] {
            let ModelVerdict::Model { probability } = verdict(readings) else { panic!("{readings:?}") };
            assert!(probability < 0.6, "{probability}");
        }
    }
}
