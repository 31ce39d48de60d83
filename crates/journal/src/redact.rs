//! Redaction of secrets and personal data before anything is written: by the name of a member and
//! by the pattern of a value. It prefers false positives.

use regex::{Captures, Regex, RegexSet};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Finds and redacts secrets and personal data.
#[derive(Debug, Clone)]
pub struct Redactor {
    any: RegexSet,
    rules: Vec<Rule>,
    names: Vec<String>,
}

#[derive(Debug, Clone)]
struct Rule {
    kind: &'static str,
    pattern: Regex,
}

/// Kind and pattern. A group named `keep` in front of the secret is not redacted.
const PATTERNS: &[(&str, &str)] = &[
    ("private_key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)"),
    ("url_password", r"(?P<keep>\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+@"),
    ("bearer", r"(?i)(?P<keep>\b(?:bearer|basic)\s+)[a-z0-9._~+/=-]{8,}"),
    ("api_key", r"\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{16,}\b"),
    // Keys made by `steward keys add`: a holder of one authenticates as its user.
    ("steward_key", r"\bstw_[A-Za-z0-9]+_[A-Za-z0-9_-]{16,}"),
    ("api_key", r"\bAIza[0-9A-Za-z_-]{30,}"),
    ("slack_token", r"\bxox[abeoprs]-[A-Za-z0-9-]{8,}"),
    ("github_token", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ("aws_key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    (
        "assigned_secret",
        r#"(?i)(?P<keep>\b(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key)\s*[=:]\s*["']?)[^\s"',;&]{4,}"#,
    ),
    // "my password is hunter2", "the PIN was '0417'": quoted, or containing a character that is not
    // a letter.
    (
        "told_secret",
        r#"(?i)(?P<keep>\b(?:password|passphrase|passwd|pwd|passcode|pin|api key|secret key|token)\s+(?:is|was|to|=|:)\s+)(?:["'][^"'\s]{4,}["']|[^\s"',;]*[0-9!#$%&*+^_](?:[^\s"',;]*[^\s"',;.!?])?)"#,
    ),
    ("email", r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"),
    ("ssn", r"\b\d{3}-\d{2}-\d{4}\b"),
    ("credit_card", r"\b[3-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,7}\b"),
    (
        "phone",
        r"(?:\+\d{1,3}[ .-]?)?\(\d{2,4}\)[ .-]?\d{3,4}[ .-]\d{3,4}\b|\+\d{1,3}(?:[ .-]?\d{2,4}){3,4}\b|\b\d{3}[ .-]\d{3}[ .-]\d{4}\b",
    ),
];

/// Members with such a name are redacted whatever their value.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "authorization",
    "credential",
    "cookie",
    "access_token",
    "refresh_token",
    "auth_token",
    "bot_token",
    "ssn",
    "social_security",
    "email",
    "phone",
    "credit_card",
    "card_number",
    "cvv",
];

impl Default for Redactor {
    fn default() -> Self {
        let compiled = |pattern: &&(&'static str, &str)| {
            Regex::new(&ascii(pattern.1)).ok().map(|regex| Rule { kind: pattern.0, pattern: regex })
        };
        // The patterns are constants; a test asserts that every one of them compiles.
        Self {
            any: RegexSet::new(PATTERNS.iter().map(|(_, pattern)| ascii(pattern)))
                .unwrap_or_else(|_| RegexSet::empty()),
            rules: PATTERNS.iter().filter_map(|pattern| compiled(&pattern)).collect(),
            names: NAMES.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

impl Redactor {
    /// The shared instance with only the patterns of this file.
    #[must_use]
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<Redactor> = LazyLock::new(Redactor::default);
        &SHARED
    }

    /// Also redacts members whose names contain these words.
    pub fn with_names(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.names.extend(names.into_iter().map(|name| name.to_lowercase()));
        self
    }

    /// Redacts every member of an object.
    pub fn redact_map(&self, map: Map<String, Value>) -> Map<String, Value> {
        map.into_iter()
            .map(|(name, value)| {
                let value = self.redact_member(&name, value);
                // A name can itself be the secret: `{"jane@example.com": 3}`.
                (self.redact_text(&name).into_owned(), value)
            })
            .collect()
    }

    /// Redacts a member. If its name demands it, everything below it is redacted.
    pub fn redact_member(&self, name: &str, value: Value) -> Value {
        let lower = name.to_ascii_lowercase();
        let named = |word: &&String| lower.contains(word.as_str());
        let hidden =
            self.names.iter().find(named).map(String::as_str).or((lower == "token").then_some("token"));
        match hidden {
            Some(word) => hide(value, word),
            None => self.redact(value),
        }
    }

    /// Redacts a value of any kind.
    pub fn redact(&self, value: Value) -> Value {
        match value {
            Value::String(text) => match self.redact_text(&text) {
                Cow::Borrowed(_) => Value::String(text),
                Cow::Owned(hidden) => Value::String(hidden),
            },
            Value::Array(items) => items.into_iter().map(|item| self.redact(item)).collect(),
            Value::Object(map) => Value::Object(self.redact_map(map)),
            Value::Number(number) if luhn(&number.to_string()) => Value::String(marker("credit_card")),
            other => other,
        }
    }

    /// Redacts a text; borrows it if nothing was found.
    pub fn redact_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact_kinds(text, |_| true)
    }

    /// Redacts keys, passwords, card and social security numbers in a user's message. Addresses and
    /// phone numbers stay, because messages are about them.
    pub fn redact_secrets<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact_kinds(text, |kind| !["email", "phone"].contains(&kind))
    }

    /// The same for every text of a value.
    pub fn redact_secrets_in(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact_secrets(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.redact_secrets_in(item)).collect(),
            Value::Object(map) => {
                map.into_iter().map(|(name, value)| (name, self.redact_secrets_in(value))).collect()
            }
            other => other,
        }
    }

    fn redact_kinds<'a>(&self, text: &'a str, hides: impl Fn(&str) -> bool) -> Cow<'a, str> {
        // Every pattern needs a digit run, an `@`, or one of a few words; most texts have none of
        // them.
        if text.len() < 6 || !self.any.is_match(text) {
            return Cow::Borrowed(text);
        }
        let mut hidden = Cow::Borrowed(text);
        for rule in self.rules.iter().filter(|rule| hides(rule.kind)) {
            let replaced = rule.pattern.replace_all(&hidden, |found: &Captures<'_>| {
                let whole = found.get(0).map_or("", |m| m.as_str());
                if rule.kind == "credit_card" && !luhn(whole) {
                    return whole.to_owned();
                }
                let keep = found.name("keep").map_or("", |m| m.as_str());
                let end = if rule.kind == "url_password" { "@" } else { "" };
                format!("{keep}{}{end}", marker(rule.kind))
            });
            if let Cow::Owned(next) = replaced {
                hidden = Cow::Owned(next);
            }
        }
        if hidden == text { Cow::Borrowed(text) } else { hidden }
    }
}

/// Redacts every text and number of a value; its structure stays.
fn hide(value: Value, kind: &str) -> Value {
    match value {
        Value::String(text) if text.is_empty() => Value::String(text),
        Value::String(_) | Value::Number(_) => Value::String(marker(kind)),
        Value::Array(items) => items.into_iter().map(|item| hide(item, kind)).collect(),
        Value::Object(map) => map.into_iter().map(|(name, value)| (name, hide(value, kind))).collect(),
        other => other,
    }
}

/// Restricts word boundaries and classes to ASCII: the patterns are ASCII, and matching is faster.
fn ascii(pattern: &str) -> String {
    pattern.replace(r"\b", r"(?-u:\b)").replace(r"\d", "[0-9]")
}

fn marker(kind: &str) -> String {
    format!("[redacted:{kind}]")
}

/// The Luhn checksum of card numbers.
fn luhn(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(
            |(place, digit)| if place % 2 == 0 { *digit } else { digit * 2 - if *digit > 4 { 9 } else { 0 } },
        )
        .sum();
    let issued = digits.first().is_some_and(|first| (3..=6).contains(first));
    (13..=19).contains(&digits.len()) && issued && sum.is_multiple_of(10) && !text.contains(['.', 'e', 'E'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(Redactor::default().rules.len(), PATTERNS.len());
        assert_eq!(Redactor::default().any.len(), PATTERNS.len());
    }

    #[test]
    fn secrets_are_hidden_in_what_people_write_and_addresses_stay() {
        let redactor = Redactor::default();
        for (text, hidden) in [
            ("my password is hunter2!", "my password is [redacted:told_secret]"),
            ("my password is hunter2.", "my password is [redacted:told_secret]."),
            ("change the password to '1j1l-2k3j'", "change the password to [redacted:told_secret]"),
            ("the password is wrong", "the password is wrong"),
            ("write to bob@x.example or +1 415 555 2671", "write to bob@x.example or +1 415 555 2671"),
            ("pay with 4111 1111 1111 1111 please", "pay with [redacted:credit_card] please"),
            ("use sk-proj-abcdefghijklmnop1234", "use [redacted:api_key]"),
            ("ssn 123-45-6789", "ssn [redacted:ssn]"),
            ("order 1234567890123456", "order 1234567890123456"),
        ] {
            assert_eq!(redactor.redact_secrets(text), hidden);
        }
        let value = json!({ "a": ["password: hunter22", { "to": "bob@x.example" }] });
        let hidden = json!({ "a": ["password: [redacted:assigned_secret]", { "to": "bob@x.example" }] });
        assert_eq!(redactor.redact_secrets_in(value), hidden);
    }

    #[test]
    fn hides_what_must_not_be_written() {
        let redactor = Redactor::default();
        for (text, kind) in [
            ("write to jane.doe@example.co.uk please", "email"),
            ("my ssn is 123-45-6789", "ssn"),
            ("card 4111 1111 1111 1111 expires soon", "credit_card"),
            ("card 4111111111111111", "credit_card"),
            ("call +1 415 555 2671 now", "phone"),
            ("call (415) 555-2671 now", "phone"),
            ("Authorization: Bearer abcdef0123456789", "bearer"),
            ("key sk-proj-abcdefghijklmnop1234", "api_key"),
            ("use stw_k3f9a2_Zm9vYmFyYmF6cXV4MTIzNDU2Nzg for it", "steward_key"),
            ("xoxb-1234567890-abcdef", "slack_token"),
            ("AKIAIOSFODNN7EXAMPLE", "aws_key"),
            ("postgres://bob:hunter2@db/x", "url_password"),
            ("password=hunter2", "assigned_secret"),
            ("-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----", "private_key"),
        ] {
            let hidden = redactor.redact_text(text);
            assert!(hidden.contains(&marker(kind)), "{text:?} became {hidden:?}");
        }
    }

    #[test]
    fn leaves_ordinary_texts_alone() {
        let redactor = Redactor::default();
        for text in [
            "Analyze Q1 2021 Arizona sales; trends + charts",
            "550e8400-e29b-41d4-a716-446655440000",
            "2026-01-16T10:30:00.150000Z",
            "SELECT sum(amount) FROM sales WHERE state = 'Arizona' AND order_date >= '2021-01-01'",
            "4111111111111112 is no card number",
            "https://example.com:8080/path",
        ] {
            assert_eq!(redactor.redact_text(text), text);
        }
    }

    #[test]
    fn names_demand_it_whatever_the_value() {
        let hidden = Redactor::default()
            .redact(json!({"user": {"Password": "x", "email": ["a"], "note": "fine"}, "a@b.example": 1}));
        assert_eq!(
            hidden,
            json!({"user": {"Password": "[redacted:password]", "email": ["[redacted:email]"], "note": "fine"}, "[redacted:email]": 1})
        );
    }
}
