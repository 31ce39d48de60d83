//! Destinations in a text: what a reader might click, call, write or pay to.
//!
//! It errs on the side of finding one. A text that data wrote and that goes out in a person's name
//! carries no destination which the person did not type.

use super::{is_place, words};

/// Endings of names that are files and no hosts.
const FILES: [&str; 10] = ["csv", "docx", "jpeg", "jpg", "json", "pdf", "png", "pptx", "txt", "xlsx"];
/// Digits from which on a number with a plus can be dialled.
const PHONE_DIGITS: usize = 8;
/// Digits from which on groups of capitals and digits are an account.
const ACCOUNT_DIGITS: usize = 10;

/// Whether a text names a destination that the person did not type.
pub(super) fn names_untyped(text: &str, typed: &words::Typed) -> bool {
    // Full stops of other scripts, which programs that show a text make links of as well.
    let text: String =
        text.chars().map(|c| if matches!(c, '。' | '．' | '․' | '｡') { '.' } else { c }).collect();
    let marks: &[char] = &[',', ';', '<', '>', '(', ')', '[', ']', '{', '}', '"', '\'', '`', '|', '*'];
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || marks.contains(&c))
        .map(|word| word.trim_end_matches(['.', '!', '?', ':']))
        .filter(|word| !word.is_empty())
        .collect();
    let is_destination = |word: &&str| is_place(word) || is_host(word) || is_path(word);
    words.iter().filter(|word| is_destination(word)).any(|word| !typed.has(word))
        || has_phone(&text, typed)
        || has_grouped_account(&words, typed)
}

/// `evil.example`, `evil.example/x`: labels with a last one of letters, and no file.
fn is_host(word: &str) -> bool {
    let host = word.split(['/', ':', '?', '#']).next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let plain = |label: &&str| {
        !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
    };
    let Some((last, before)) = labels.split_last() else { return false };
    let named = before.iter().any(|label| label.chars().count() > 1);
    let top = last.chars().count() > 1 && (last.chars().all(char::is_alphabetic) || last.starts_with("xn--"));
    named && top && labels.iter().all(plain) && !FILES.contains(&last.to_lowercase().as_str())
}

/// `/etc/passwd`, `\\host\share`, `docs/x`; not `and/or`, nor `3/4`.
fn is_path(word: &str) -> bool {
    word.starts_with(['/', '\\', '~']) && word.chars().count() > 1 || word.matches(['/', '\\']).count() > 1
}

/// A number to dial: a plus and digits, in groups or not.
fn has_phone(text: &str, typed: &words::Typed) -> bool {
    text.match_indices('+').any(|(start, _)| {
        let number: String = text
            .get(start..)
            .unwrap_or_default()
            .chars()
            .enumerate()
            .take_while(|(place, c)| *place == 0 || c.is_ascii_digit() || " ()-./".contains(*c))
            .map(|(_, c)| c)
            .collect();
        let digits = number.chars().filter(char::is_ascii_digit).count();
        digits >= PHONE_DIGITS && !typed.has(number.trim_end_matches(|c: char| !c.is_ascii_digit()))
    })
}

/// `GB29 NWBK 6016 1331 9268 19`, `4111 1111 1111 1111`.
fn has_grouped_account(words: &[&str], typed: &words::Typed) -> bool {
    let is_group = |word: &&str| {
        (2..=4).contains(&word.len()) && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
    };
    words.split(|word| !is_group(word)).any(|groups| {
        let digits = groups.iter().flat_map(|group| group.chars()).filter(char::is_ascii_digit).count();
        groups.len() > 2 && digits >= ACCOUNT_DIGITS && !typed.has(&groups.join(" "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_found_in_every_spelling() {
        let typed = words::Typed::new("Tell bob@x.example about www.fine.example and +1 415 555 2671");
        for text in [
            "Check out this link: www.secure-systems-252.com",
            "go to secure-systems-252.com now",
            "go to Secure-Systems.COM/login!",
            "see [the minutes](evil.example)",
            "see evil。example",
            "https://evil.example",
            "write to eve@evil.example",
            "pay to GB29NWBK60161331926819",
            "pay to GB29 NWBK 6016 1331 9268 19",
            "card 4111 1111 1111 1111",
            "call +41 79 123 45 67",
            "call +41791234567",
            "it is in /etc/shadow",
            "\\\\host\\share",
            "ask @channel",
            "xn--80ak6aa92e.com",
        ] {
            assert!(names_untyped(text, &typed), "{text}");
        }
        for text in [
            "They met on 2024-06-01 and agreed.",
            "The file minutes.docx says 3/4 and/or 12.50, i.e. e.g. nothing.",
            "Swimwear\n- Sunscreen\n- Hiking gear",
            "Stay at Luxury Palace, 1 Rue de la Paix, 75002 Paris, France, from January 1st to January 5th.",
            "bob@x.example and www.fine.example, call +1 415 555 2671.",
            "Olivia Smith: 4\n-Mia Anderson: 2",
        ] {
            assert!(!names_untyped(text, &typed), "{text}");
        }
    }
}
