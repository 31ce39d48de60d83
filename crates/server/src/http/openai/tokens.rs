//! Token counts with the vocabulary `cl100k_base`, as OpenAI clients expect them.
//!
//! Clients such as LangChain send embedding input as tokens of this vocabulary. It also counts the
//! tokens of an answer when no model did.

use tiktoken_rs::{CoreBPE, cl100k_base_singleton};

fn vocabulary() -> &'static CoreBPE {
    cl100k_base_singleton()
}

/// The number of tokens of a text.
pub(super) fn count(text: &str) -> u64 {
    vocabulary().encode_ordinary(text).len() as u64
}

/// Decodes tokens. Returns `None` for an unknown token. A character that is cut at the end of a
/// chunk is replaced.
pub(super) fn text_of(tokens: &[u32]) -> Option<String> {
    Some(String::from_utf8_lossy(&vocabulary().decode_bytes(tokens).ok()?).into_owned())
}

/// The first `most` tokens of a text. `None` if the text is not longer.
pub(super) fn cut(text: &str, most: u32) -> Option<String> {
    let tokens = vocabulary().encode_ordinary(text);
    let kept = tokens.get(..most as usize).filter(|kept| kept.len() < tokens.len())?;
    let bytes = vocabulary().decode_bytes(kept).ok()?;
    // A character may be cut in two. Its incomplete bytes are dropped.
    let whole = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), |text| text.len());
    String::from_utf8(bytes.get(..whole)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_the_vocabulary() {
        assert_eq!(text_of(&[15339, 1917]).as_deref(), Some("hello world"));
        assert_eq!(count("hello world"), 2);
        assert_eq!(text_of(&[4_000_000]), None);
        assert_eq!(cut("hello world", 1).as_deref(), Some("hello"));
        assert_eq!(cut("hello world", 2), None);
        assert_eq!(cut("日本語の文字です", 1).map(|text| text.len() <= 3), Some(true));
    }
}
