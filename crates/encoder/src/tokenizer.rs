//! The WordPiece tokenizer of the uncased BERT models.
//!
//! Control characters are removed, Chinese characters become separate words, accents and case are
//! dropped, words are split at white space and punctuation, and each word is split into the longest
//! pieces of the vocabulary.

use std::collections::HashMap;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

const UNKNOWN: u32 = 100;
const BEGIN: u32 = 101;
const END: u32 = 102;
/// A longer word is unknown as a whole.
const LONGEST_WORD: usize = 100;

/// The vocabulary, prepared for splitting words.
pub(crate) struct Tokenizer {
    pieces: HashMap<&'static str, u32>,
}

impl Tokenizer {
    /// Reads a vocabulary: one piece per line; the line number is the id.
    pub(crate) fn new(vocabulary: &'static str) -> Self {
        Self { pieces: vocabulary.lines().zip(0..).collect() }
    }

    /// The number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Ids of at most `most` pieces, including the start and end tokens.
    pub(crate) fn encode(&self, text: &str, most: usize) -> Vec<u32> {
        let mut ids = vec![BEGIN];
        let room = most.saturating_sub(1);
        let normal: String =
            clean(text).nfd().filter(|c| !is_accent(*c)).flat_map(char::to_lowercase).collect();
        for word in normal.split_whitespace().flat_map(split_punctuation) {
            if ids.len() >= room {
                break;
            }
            self.cut(word, &mut ids);
        }
        ids.truncate(room);
        ids.push(END);
        ids
    }

    /// The longest pieces from the left, or the token for an unknown word.
    fn cut(&self, word: &str, ids: &mut Vec<u32>) {
        let before = ids.len();
        if word.chars().count() > LONGEST_WORD {
            ids.push(UNKNOWN);
            return;
        }
        let mut rest = word;
        while !rest.is_empty() {
            let found = rest.char_indices().rev().find_map(|(at, last)| {
                let (piece, after) = rest.split_at_checked(at + last.len_utf8())?;
                let id = if rest.len() == word.len() {
                    self.pieces.get(piece)
                } else {
                    self.pieces.get(format!("##{piece}").as_str())
                };
                Some((*id?, after))
            });
            let Some((id, after)) = found else {
                ids.truncate(before);
                ids.push(UNKNOWN);
                return;
            };
            ids.push(id);
            rest = after;
        }
    }
}

/// Removes control characters, normalises white space, separates Chinese characters.
fn clean(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|c| !is_control(*c)).flat_map(|c| {
        let (before, c, after) = match c {
            c if c.is_whitespace() => (None, ' ', None),
            c if is_chinese(c) => (Some(' '), c, Some(' ')),
            c => (None, c, None),
        };
        before.into_iter().chain([c]).chain(after)
    })
}

fn is_control(c: char) -> bool {
    let blank = matches!(c, '\t' | '\n' | '\r');
    c == '\u{fffd}' || !blank && c.general_category_group() == GeneralCategoryGroup::Other
}

fn is_accent(c: char) -> bool {
    c.general_category() == GeneralCategory::NonspacingMark
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || c.general_category_group() == GeneralCategoryGroup::Punctuation
}

fn is_chinese(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F
        | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}

/// Splits a word at punctuation; each mark is separate.
fn split_punctuation(word: &str) -> impl Iterator<Item = &str> {
    word.split_inclusive(is_punctuation).flat_map(|part| {
        let mark = part.chars().next_back().filter(|c| is_punctuation(*c)).map_or(0, char::len_utf8);
        let (text, mark) = part.split_at_checked(part.len() - mark).unwrap_or((part, ""));
        [text, mark].into_iter().filter(|part| !part.is_empty())
    })
}
