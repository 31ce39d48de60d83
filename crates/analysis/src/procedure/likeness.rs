//! How a name may be hidden in words: by the beginnings of words, and which of several mentions is
//! kept.

use super::columns::Mention;

/// Is the name made of beginnings of the words, one after the other? Gives the token after the
/// last.
pub(super) fn joined_prefixes(name: &str, words: &[(usize, &str)]) -> Option<usize> {
    fn fits(rest: &str, words: &[(usize, &str)], used: usize) -> Option<(usize, usize)> {
        let ((place, word), others) = words.split_first()?;
        let common = rest.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
        for length in (1..=common).rev() {
            let rest: String = rest.chars().skip(length).collect();
            if rest.is_empty() {
                return (used >= 1 && length >= 2).then_some((place + 1, used + 1));
            }
            if used < 2
                && let Some(end) = fits(&rest, others, used + 1)
            {
                return Some(end);
            }
        }
        None
    }
    fits(name, words, 0).map(|(end, _)| end)
}

/// Does every word of the name begin a word of the text, in order?
pub(super) fn word_prefixes(name: &[String], words: &[(usize, &str)]) -> Option<usize> {
    let mut wanted = name.iter();
    let mut next = wanted.next()?;
    for (count, (place, word)) in words.iter().enumerate() {
        if word.starts_with(next.as_str()) && word.len() <= next.len() + 10 {
            match wanted.next() {
                Some(following) => next = following,
                None => return Some(place + 1),
            }
        } else if count == 0 {
            return None;
        }
    }
    None
}

/// Drops mentions that overlap a better one.
pub(super) fn keep_best(mut found: Vec<Mention>) -> Vec<Mention> {
    let weight = |m: &Mention| m.score + 0.02 * (m.end - m.start) as f64;
    found.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let mut kept: Vec<Mention> = Vec::new();
    for mention in found {
        if kept.iter().all(|other| mention.end <= other.start || mention.start >= other.end) {
            kept.push(mention);
        }
    }
    kept.sort_by_key(|m| m.start);
    kept
}
