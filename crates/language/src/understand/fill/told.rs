//! Statements about a record: "report a broken mirror on the van", "the scooter has a flat tyre",
//! "ticket 4: it crashes again".
//!
//! Invariant: only a required text of a tool that acts on a record is filled here, and words that
//! name the record are left for it.

use super::Filler;
use crate::understand::catalogue::{Role, ToolField};

/// Names of fields for a statement.
const TOLD: &[&str] = &[
    "what",
    "reason",
    "why",
    "problem",
    "issue",
    "description",
    "note",
    "comment",
    "text",
    "details",
    "message",
    "symptom",
    "complaint",
];

impl Filler<'_> {
    /// The required text of a tool that acts on a record, if it has no value yet.
    fn told_field(&self) -> Option<ToolField> {
        self.tool.target()?;
        let free = |field: &&ToolField| {
            field.required
                && matches!(field.role, Role::Open | Role::Long)
                && !field.person
                && field.of.is_none()
                && !self.has(&field.name)
                && field.words.last().is_some_and(|word| TOLD.contains(&word.as_str()))
        };
        let fields: Vec<&ToolField> = self.tool.fields.iter().filter(free).collect();
        match fields.as_slice() {
            [only] if only.role == Role::Open => Some((*only).clone()),
            _ => None,
        }
    }

    /// Splits the remaining words into the record and the statement.
    pub(super) fn told_of(&mut self) {
        // The nouns of the tool's own name describe the action.
        for at in 0..self.tokens.len() {
            let own = self.tokens.get(at).is_some_and(|token| {
                !token.quoted && !token.capital && self.tool.nouns.contains(&token.root)
            });
            if own && self.tool.target().is_some() {
                self.take(at);
            }
        }
        let Some(field) = self.told_field() else { return };
        let count = self.tokens.len();
        let some = |filler: &Self, from: usize, to: usize| (from..to).any(|at| filler.telling(at));
        let colon = self
            .text
            .plain
            .get(self.start..self.end)
            .and_then(|plain| plain.find(": "))
            .map(|at| self.start + at)
            .and_then(|byte| {
                (0..count).find(|at| self.tokens.get(*at).is_some_and(|token| token.start > byte))
            });
        let says = (1..count).find(|at| {
            ["has", "have", "with", "is", "are", "needs"].contains(&self.lower(*at))
                && some(self, 0, *at)
                && some(self, at + 1, count)
        });
        let led = (1..count).rev().find(|at| {
            ["on", "to", "of", "at", "for", "in", "with", "from"].contains(&self.lower(*at))
                && !self.is_used(*at)
                && some(self, 0, *at)
                && (some(self, at + 1, count) || self.out.id.is_some())
        });
        let place = if let Some(first) = colon {
            self.until_comma(first, count)
        } else if let Some(at) = says {
            self.until_comma(at + 1, count)
        } else if let Some(at) = led {
            let told: Vec<usize> = (0..at).filter(|place| self.telling(*place)).collect();
            told.first().copied().zip(told.last().copied())
        } else if self.out.id.is_some() || (0..count).any(|at| self.points(at)) {
            self.longest(true)
        } else {
            None
        };
        let Some(piece) = place.and_then(|(from, to)| self.piece(from, to)) else { return };
        let span = Some((piece.start, piece.end));
        self.put(&field.name, Self::text_value(&piece), span, "it is told of what is named", 1.0);
        for at in [led, says].into_iter().flatten() {
            self.take(at);
        }
    }

    /// The words up to the next comma, or to a word that was already used.
    fn until_comma(&self, from: usize, count: usize) -> Option<(usize, usize)> {
        let first = (from..count).find(|at| self.telling(*at))?;
        let last = (first..count)
            .take_while(|at| !self.is_used(*at) && (*at == first || !self.follows_comma(*at)))
            .filter(|at| self.telling(*at))
            .last()?;
        Some((first, last))
    }
}
