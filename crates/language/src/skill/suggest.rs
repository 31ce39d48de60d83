//! Follow-up suggestions: up to three, from domains related to the one that answered.
//!
//! Invariant: a suggestion is a capability of an enabled domain that was not just requested. If
//! nothing fits, there is none; suggestions are never invented.

use super::sure;
use crate::words::telling;
use steward_domain::{Confidence, Domain, DomainName};

/// Maximum number of suggestions.
const MOST: usize = 3;

/// The question that was just answered.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// The question.
    pub question: &'a str,
    /// The domains that answered it.
    pub domains: &'a [DomainName],
}

/// A suggestion.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The text, as the user could say it.
    pub text: String,
    /// The domain it would be routed to.
    pub domain: DomainName,
    /// How likely it is useful.
    pub confidence: Confidence,
    /// The reason.
    pub reason: String,
}

/// Up to three suggestions, most likely first. Each domain gets one before any gets a second.
/// `answerable` tells whether a text would be understood and answered.
#[must_use]
pub fn suggest(
    answered: Answered<'_>,
    domains: &[Domain],
    answerable: impl Fn(&str) -> bool,
) -> Vec<Suggestion> {
    let said = telling(answered.question);
    let home: Vec<&Domain> =
        domains.iter().filter(|domain| answered.domains.contains(&domain.name)).collect();
    let mut all: Vec<(usize, f32, Suggestion)> = Vec::new();
    for domain in domains.iter().filter(|domain| domain.enabled) {
        let here = answered.domains.contains(&domain.name);
        let from = home.iter().find(|home| home.related_domains.contains(&domain.name));
        let (base, reason) = match (here, from) {
            (false, Some(home)) => {
                (0.5, format!("{} is related to {}", domain.display_name, home.display_name))
            }
            (true, _) => (0.3, format!("{} can answer this too", domain.display_name)),
            (false, None) => continue,
        };
        let mut here: Vec<(f32, Suggestion)> = Vec::new();
        for capability in &domain.capabilities {
            let words = telling(capability);
            let shared = words.intersection(&said).count();
            // If all its words were in the question, it was just answered.
            if words.is_empty() || shared == words.len() {
                continue;
            }
            let score = base + 0.4 * shared as f32 / words.len() as f32;
            let text = sayable(capability);
            here.push((
                score,
                Suggestion {
                    text,
                    domain: domain.name.clone(),
                    confidence: sure(score),
                    reason: reason.clone(),
                },
            ));
        }
        here.sort_by(|a, b| b.0.total_cmp(&a.0));
        all.extend(here.into_iter().enumerate().map(|(turn, (score, suggestion))| (turn, score, suggestion)));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let said = all.into_iter().map(|(.., suggestion)| suggestion);
    said.filter(|suggestion| answerable(&suggestion.text)).take(MOST).collect()
}

/// A capability phrased as a user's request: a question, a command, or something to be shown.
fn sayable(capability: &str) -> String {
    let plain = capability.trim().trim_end_matches(['.', '?', '!']);
    let first = plain.split_whitespace().next().unwrap_or_default().to_lowercase();
    let asks = ["what", "which", "who", "whose", "how", "when", "where", "why", "is", "are", "does", "do"];
    match () {
        () if asks.contains(&first.as_str()) => format!("{plain}?"),
        () if crate::understand::is_verb(&first) => plain.to_owned(),
        () => format!("Show me {}", lowered(plain)),
    }
}

/// With a small first letter, unless it is an abbreviation.
fn lowered(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(name: &str, capabilities: &[&str], related: &[&str], enabled: bool) -> Domain {
        serde_json::from_value(serde_json::json!({
            "name": name, "display_name": name, "description": "Something that is long enough to be read as \
                a description.",
            "capabilities": capabilities, "data_sources": ["a.csv"], "related_domains": related, "enabled": enabled
        }))
        .unwrap()
    }

    fn texts(question: &str, domains: &[Domain]) -> Vec<String> {
        let name = DomainName::new("behavior").unwrap();
        suggest(Answered { question, domains: &[name] }, domains, |_| true)
            .into_iter()
            .map(|found| found.text)
            .collect()
    }

    #[test]
    fn capabilities_become_what_somebody_would_say() {
        for (capability, said) in [
            ("Stock of products", "Show me stock of products"),
            ("What is due", "What is due?"),
            ("Which vehicles are available?", "Which vehicles are available?"),
            ("Find people and companies", "Find people and companies"),
            ("CRM contacts", "Show me CRM contacts"),
        ] {
            assert_eq!(sayable(capability), said);
        }
    }

    #[test]
    fn related_domains_come_first_and_what_was_asked_is_left_out() {
        let domains = [
            domain("behavior", &["Cart abandonment", "Customer segmentation"], &["stock", "closed"], true),
            domain("stock", &["Replenishment times", "Stock of products"], &[], true),
            domain("closed", &["Secret things"], &[], false),
            domain("far", &["Far things"], &[], true),
        ];
        let found = texts("which products have the highest cart abandonment", &domains);
        assert_eq!(
            found,
            ["Show me stock of products", "Show me customer segmentation", "Show me replenishment times",]
        );
        let answerable = |text: &str| !text.contains("stock");
        let name = DomainName::new("behavior").unwrap();
        let asked =
            Answered { question: "which products have the highest cart abandonment", domains: &[name] };
        assert!(suggest(asked, &domains, answerable).iter().all(|found| !found.text.contains("stock")));
        assert!(texts("anything", &[domain("far", &["Far things"], &[], true)]).is_empty());
    }
}
