//! Finds skills for a request: by common words, and by embedding if an encoder is given.

use super::Skill;
use crate::builtin::summarize::words;
use std::collections::BTreeSet;

/// Embeds texts as vectors, if an encoder is available.
pub type Embed<'a> = dyn Fn(&[&str]) -> Option<Vec<Vec<f32>>> + 'a;

/// The maximum number of offered skills.
const MOST: usize = 3;
/// The minimum scores of a match.
const COMMON: f64 = 0.3;
const NEAR: f64 = 0.4;

/// A matching skill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer<'a> {
    /// The skill.
    pub skill: &'a Skill,
    /// The score, up to 1.
    pub score: f64,
}

/// The matching skills, best first. Ties are ordered by name.
pub(super) fn offer<'a>(skills: &'a [Skill], request: &str, embed: Option<&Embed<'_>>) -> Vec<Offer<'a>> {
    let asked: BTreeSet<String> = words(request).into_iter().collect();
    let near = embed.and_then(|embed| meaning(skills, request, embed));
    let mut offers: Vec<Offer<'a>> = (skills.iter().enumerate())
        .filter_map(|(place, skill)| {
            let common = common(&asked, skill);
            let score = match near.as_ref().and_then(|near| near.get(place).copied()) {
                Some(near) if near >= NEAR || common >= COMMON => 0.6 * near.max(0.0) + 0.4 * common,
                None if common >= COMMON => common,
                _ => return None,
            };
            Some(Offer { skill, score: (score.min(1.0) * 1000.0).round() / 1000.0 })
        })
        .collect();
    offers.sort_by(|a, b| b.score.total_cmp(&a.score));
    offers.truncate(MOST);
    offers
}

/// The share of the request's words in the skill's name and description.
#[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
fn common(asked: &BTreeSet<String>, skill: &Skill) -> f64 {
    let said: BTreeSet<String> =
        words(&format!("{} {}", skill.name.replace('-', " "), skill.description)).into_iter().collect();
    let shared = asked.iter().filter(|word| said.contains(*word)).count();
    if asked.is_empty() { 0.0 } else { shared as f64 / asked.len() as f64 }
}

fn meaning(skills: &[Skill], request: &str, embed: &Embed<'_>) -> Option<Vec<f64>> {
    let texts: Vec<&str> =
        std::iter::once(request).chain(skills.iter().map(|skill| skill.description.as_str())).collect();
    let vectors = embed(&texts)?;
    let (asked, others) = vectors.split_first()?;
    let near: Vec<f64> =
        others.iter().map(|other| f64::from(steward_language::cosine(asked, other))).collect();
    (near.len() == skills.len()).then_some(near)
}
