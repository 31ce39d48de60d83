//! Finds destinations in a text: links, addresses, phone numbers, paths and accounts.
//!
//! It prefers false positives. A text that was written from data and is sent in the user's name
//! must not contain a destination that the user did not type.

use super::{is_place, words};

/// Endings that mark a file name rather than a host name.
const FILES: [&str; 10] = ["csv", "docx", "jpeg", "jpg", "json", "pdf", "png", "pptx", "txt", "xlsx"];
/// Minimum number of digits of a phone number with a plus sign.
const PHONE_DIGITS: usize = 8;
/// Minimum number of digits of an account number in groups of capitals and digits.
const ACCOUNT_DIGITS: usize = 10;

/// Whether a text contains a destination that the user did not type.
pub(super) fn names_untyped(text: &str, typed: &words::Typed) -> bool {
    // Full stops of other scripts: programs that display a text make links of these as well.
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

/// A host name such as `evil.example` or `evil.example/x`: the last label is letters only, and the
/// word is not a file name.
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

/// `/etc/passwd`, `\\host\share`, `docs/x`; but not `and/or` or `3/4`.
fn is_path(word: &str) -> bool {
    word.starts_with(['/', '\\', '~']) && word.chars().count() > 1 || word.matches(['/', '\\']).count() > 1
}

/// A phone number: a plus sign and digits, grouped or not.
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

/// An account number in groups: `GB29 NWBK 6016 1331 9268 19`, `4111 1111 1111 1111`.
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
