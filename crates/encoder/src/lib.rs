//! A sentence as a vector of length 1, without a model server: the network that comes with the crate `pocket-encoder`, worked out by our own
//! arithmetic.
//!
//! The crate's own way, through candle, lays out the weights anew for each text and unpacks all words when it loads. Here the weights
//! are laid out once and words are unpacked when somebody says them (ADR 14). The vectors are the same to five digits; a test compares them.

#[cfg(own_arithmetic)]
mod network;
#[cfg(own_arithmetic)]
mod product;
#[cfg(own_arithmetic)]
mod weights;

/// Numbers in a vector.
pub const WIDTH: usize = 384;
/// The longest text that is read, in bytes. Of it the first 128 tokens count.
const LONGEST: usize = 64 << 10;

/// Why a text has no vector.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text says nothing.
    #[error("the text is empty")]
    Empty,
    /// The text is too long.
    #[error("the text is longer than {LONGEST} bytes")]
    TooLong,
    /// The weights that were built in are not what this program expects.
    #[error("the bundled encoder cannot be used: {0}")]
    Bundled(String),
}

impl Error {
    fn bundled(problem: impl std::fmt::Display) -> Self {
        Self::Bundled(problem.to_string())
    }
}

/// Which network it is: vectors of another one must not be compared with these.
#[must_use]
pub fn identity() -> String {
    format!("{:?}", pocket_encoder::model_info())
}

/// The network, ready to work.
pub struct Encoder {
    #[cfg(own_arithmetic)]
    inner: network::Network,
    #[cfg(not(own_arithmetic))]
    inner: pocket_encoder::Encoder,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}

impl Encoder {
    /// Loads the weights that are part of the program.
    ///
    /// # Errors
    /// When they are not what is expected.
    pub fn load() -> Result<Self, Error> {
        #[cfg(own_arithmetic)]
        let inner = network::Network::load()?;
        #[cfg(not(own_arithmetic))]
        let inner = pocket_encoder::Encoder::new().map_err(Error::bundled)?;
        Ok(Self { inner })
    }

    /// The vector of a text.
    ///
    /// # Errors
    /// When the text is empty or too long.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>, Error> {
        if text.trim().is_empty() {
            return Err(Error::Empty);
        }
        if text.len() > LONGEST {
            return Err(Error::TooLong);
        }
        #[cfg(own_arithmetic)]
        return self.inner.embed(text);
        #[cfg(not(own_arithmetic))]
        return self.inner.embed(&[text]).map_err(Error::bundled)?.pop().ok_or(Error::Empty);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_those_of_the_crate() {
        let (ours, theirs) = (Encoder::load().unwrap(), pocket_encoder::Encoder::new().unwrap());
        let long = "word after word ".repeat(200);
        let texts = [
            "a",
            "Send a document",
            "Which vehicles are due for service before the end of the month, and who drives them?",
            "The cat chased the dog. The dog chased the cat.",
            "日本語 中文 مرحبا café 🦀 \u{0} \u{7}",
            "\"quoted\" 12.5% of $3,400 (net) – see https://example.com/a?b=c",
            &long,
        ];
        for text in texts {
            let (ours, theirs) = (ours.embed(text).unwrap(), theirs.embed(&[text]).unwrap().remove(0));
            assert_eq!(ours.len(), WIDTH);
            let apart = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart < 2e-5, "{apart} apart: {text:.40}");
            let length: f32 = ours.iter().map(|x| x * x).sum();
            assert!((length - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn the_same_text_has_the_same_vector() {
        let encoder = Encoder::load().unwrap();
        let first = encoder.embed("move the meeting to Friday").unwrap();
        assert!((0..3).all(|_| encoder.embed("move the meeting to Friday").unwrap() == first));
    }

    #[test]
    fn texts_without_a_vector() {
        let encoder = Encoder::load().unwrap();
        assert!(matches!(encoder.embed(" \n"), Err(Error::Empty)));
        assert!(matches!(encoder.embed(&"a".repeat(LONGEST + 1)), Err(Error::TooLong)));
        assert!(encoder.embed(&"a ".repeat(LONGEST / 2)).is_ok());
    }
}
