//! Sentence embeddings without a model server: a small BERT network whose weights are in `assets/`.
//!
//! Weights are unpacked once when the encoder loads, word vectors when a word occurs (ADR 14).
//! There is no build script and no fallback: the same program runs everywhere. A test compares
//! tokens and vectors with a NumPy reference.

mod network;
mod product;
mod tokenizer;
mod weights;

/// Dimensions of a vector.
pub const WIDTH: usize = 384;
/// Maximum length of a text in bytes. Only its first 128 tokens count.
const LONGEST: usize = 64 << 10;

/// Why a text has no vector.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is empty.
    #[error("the text is empty")]
    Empty,
    /// The text is too long.
    #[error("the text is longer than {LONGEST} bytes")]
    TooLong,
    /// The bundled weights are not what this program expects.
    #[error("the bundled encoder cannot be used: {0}")]
    Bundled(String),
}

impl Error {
    fn bundled(problem: impl std::fmt::Display) -> Self {
        Self::Bundled(problem.to_string())
    }
}

/// The id of the network: vectors of different networks must not be compared.
#[must_use]
pub fn identity() -> String {
    "paraphrase-MiniLM-L3-v2 q4-g32 dabb40d5d98a2237".to_owned()
}

/// The loaded network.
pub struct Encoder {
    network: network::Network,
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
        network::Network::load().map(|network| Self { network })
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
        self.network.embed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[derive(serde::Deserialize)]
    struct Reference {
        text: String,
        ids: Vec<u32>,
        vector: Vec<f32>,
    }

    #[test]
    fn tokens_and_vectors_match_the_reference() {
        let rows: Vec<Reference> = serde_json::from_str(include_str!("../tests/it/reference.json")).unwrap();
        let encoder = Encoder::load().unwrap();
        let tokenizer = tokenizer::Tokenizer::new(include_str!("../assets/vocabulary.txt"));
        for Reference { text, ids, vector } in &rows {
            assert_eq!(&tokenizer.encode(text, 128), ids, "{text:.60}");
            let ours = encoder.embed(text).unwrap();
            assert_eq!(ours.len(), WIDTH);
            let apart = ours.iter().zip(vector).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart < 2e-5, "{apart} apart: {text:.40}");
        }
    }

    #[test]
    fn the_weights_are_those_of_the_read_me() {
        let digest = Sha256::digest(include_bytes!("../assets/model.safetensors"));
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(include_str!("../assets/README.md").contains(&digest));
        assert!(digest.starts_with(identity().rsplit(' ').next().unwrap()));
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
