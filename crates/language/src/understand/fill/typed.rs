//! Values that are identified by their format: ids, addresses, dates, numbers, choices, booleans.

use super::Filler;
use crate::understand::catalogue::{Role, ToolField};
use crate::understand::lexicon::{plural, root, said_for, same_field};
use crate::understand::values::{DateSpan, address, clocks, counted, numbers};
use crate::understand::verbs::unit;
use serde_json::json;

/// Field names for the start and the end of a date range.
const BEGINS: &[&str] = &["arrival", "arrive", "start", "begin", "pickup", "from", "opening"];
const ENDS: &[&str] =
    &["departure", "depart", "leave", "leaving", "end", "return", "finish", "until", "to", "closing"];

impl Filler<'_> {
    /// "#travel" is a tag.
    pub(super) fn hashes(&mut self) {
        let mut found: Vec<(usize, String)> = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let before = self.text.raw.get(..token.start).is_some_and(|before| before.ends_with('#'));
            if before && token.lower.parse::<u64>().is_err() && !token.quoted {
                found.push((at, self.text.slice(token.start, token.end).to_owned()));
            }
        }
        let Some(field) = self.open(Role::Tags).or_else(|| {
            self.tool.fields.iter().find(|field| {
                field.role == Role::Open && field.words.iter().any(|word| same_field(word, "tag"))
            })
        }) else {
            return;
        };
        let span =
            found.first().and_then(|(at, _)| self.tokens.get(*at)).map(|token| (token.start, token.end));
        let words: Vec<String> = found.iter().map(|(_, word)| word.clone()).collect();
        if let Some(first) = words.first() {
            let value = if field.role == Role::Tags { json!(words) } else { json!(first) };
            self.put(&field.name.clone(), value, span, "it is written as a tag", 1.5);
        }
        for (at, _) in found {
            self.take(at);
        }
    }

    pub(super) fn addresses(&mut self) {
        for (role, phone) in [(Role::Email, false), (Role::Phone, true)] {
            let Some(field) = self.open(role) else { continue };
            let plain = self.text.plain.get(self.start..self.end).unwrap_or_default();
            let Some((from, to)) = address(plain, phone) else { continue };
            let (from, to) = (self.start + from, self.start + to);
            let value = self.text.slice(from, to).trim().to_owned();
            self.mark(from, to);
            self.near(from, &field.words.clone());
            self.put(&field.name.clone(), json!(value), Some((from, to)), "it has the form of one", 1.5);
        }
    }

    /// Marks the field's words, and stop words, right before a position as used.
    pub(super) fn near(&mut self, start: usize, words: &[String]) {
        let before: Vec<usize> = (0..self.tokens.len())
            .filter(|at| self.tokens.get(*at).is_some_and(|token| token.end <= start))
            .collect();
        for at in before.into_iter().rev().take(4) {
            let word = self.lower(at).to_owned();
            let small = [
                "is", "to", "new", "number", "by", "on", "for", "due", "at", "with", "until", "before",
                "after", "the", "a", "worth", "of", "over", "above", "least", "than", "more", "from",
                "since",
            ]
            .contains(&word.as_str());
            if small || words.iter().any(|known| same_field(known, &word)) {
                self.take(at);
            } else {
                break;
            }
        }
    }

    /// "At 9:30", "3 pm", "noon". A time is not an id, whether or not a field takes it.
    pub(super) fn times(&mut self) {
        for (start, end, time) in clocks(&self.text.plain, self.start, self.end) {
            if self.quotes.iter().any(|quote| quote.start <= start && end <= quote.end) {
                continue;
            }
            if let Some(field) = self.open(Role::Time) {
                self.put(&field.name.clone(), json!(time), Some((start, end)), "it is a time of day", 1.2);
                self.near(start, &field.words.clone());
                self.mark(start, end);
            } else if self.tool.target().is_some() {
                self.mark(start, end);
                self.out.left += 1;
            }
        }
    }

    /// "task 6", "number 11", "#5", or a plain number if the tool acts on a record.
    pub(super) fn id(&mut self) {
        let Some(field) = self.tool.field(Role::Id) else { return };
        let whole = field.whole;
        for at in 0..self.tokens.len() {
            // An address or a time is not an id.
            let Some(token) = self.tokens.get(at).filter(|token| !token.quoted && !self.is_used(at)) else {
                continue;
            };
            let hash = self.text.raw.get(..token.start).is_some_and(|before| before.ends_with('#'));
            let before = at.checked_sub(1).map(|at| self.lower(at).to_owned()).unwrap_or_default();
            // "Bookings for room 201": a room number is not a booking id.
            let kinds = self.catalogue.types_of(&before);
            let own = |name: &str| self.tool.entity.as_deref() == Some(name);
            let named = ["number", "no", "nr", "id"].contains(&before.as_str())
                || kinds.iter().any(|kind| own(&kind.name))
                || (!kinds.is_empty()
                    && !self.tool.fields.iter().any(|field| {
                        field.of.as_ref().is_some_and(|of| kinds.iter().any(|kind| kind.name == *of))
                    })
                    && kinds.iter().all(|kind| kind.domain != self.tool.tool.domain));
            let alone = self.text.plain.get(self.start..token.start).is_some_and(|piece| {
                piece.split_whitespace().all(|word| {
                    ["tick", "off", "check", "and", "then", "delete", "open", "show", "complete", "first"]
                        .contains(&word)
                })
            });
            // "9400 km" is an amount. If the existing records are known, a number is an id only if
            // such a record exists.
            let entity = self.tool.entity.as_deref().unwrap_or_default();
            let seen = self.ground.world.iter().any(|seen| seen.thing.entity_type == entity);
            let alone = alone && unit(self.lower(at + 1)).is_none() && (!seen || at + 1 == self.tokens.len());
            let number = token.lower.parse::<u64>().ok();
            let coded =
                whole.then_some(()).is_none() && token.lower.chars().any(|c| c.is_ascii_digit()) && named;
            let after = self
                .tokens
                .get(at + 1)
                .is_some_and(|next| !self.catalogue.types_of(&next.lower).is_empty() && plural(&next.lower));
            if let (Some(number), true) = (number, (hash || named || alone) && !after) {
                let id = if whole { json!(number) } else { json!(token.lower) };
                self.out.id = Some((id, token.start, token.end));
            } else if coded {
                self.out.id = Some((json!(self.text.slice(token.start, token.end)), token.start, token.end));
            } else {
                continue;
            }
            self.take(at);
            if named && let Some(at) = at.checked_sub(1) {
                self.take(at);
            }
            return;
        }
    }

    pub(super) fn days(&mut self, days: &[DateSpan]) {
        let fields: Vec<&ToolField> =
            self.tool.fields.iter().filter(|field| field.role == Role::Day).collect();
        if fields.is_empty() {
            return;
        }
        let bound =
            |field: &ToolField, words: &[&str]| field.words.iter().any(|word| words.contains(&word.as_str()));
        let before = fields.iter().find(|field| bound(field, &["before", "until", "to", "end", "max"]));
        let after = fields.iter().find(|field| bound(field, &["after", "since", "from", "start", "min"]));
        let whens: Vec<DateSpan> =
            days.iter().filter(|when| when.start >= self.start && when.end <= self.end).cloned().collect();
        // "From friday to monday" fills an arrival and a departure, the two fields of a stay, a
        // loan or a rental.
        let pair = fields
            .iter()
            .find(|field| bound(field, BEGINS))
            .zip(fields.iter().find(|field| bound(field, ENDS)));
        let pair = pair.filter(|(first, last)| first.name != last.name);
        for (nth, when) in whens.into_iter().enumerate() {
            let lead = self.text.plain.get(self.start..when.start).unwrap_or_default().trim_end();
            let ends = |words: &[&str]| words.iter().any(|word| lead.ends_with(word));
            let (early, late) = (ends(&["before", "by", "until", "till"]), ends(&["after", "since", "from"]));
            let span = Some((when.start, when.end));
            let text = |day: chrono::NaiveDate| json!(day.to_string());
            let reason = "it is a day";
            if let Some((first, last)) = pair {
                let closes = ends(&[" to", "till", "until", "-", "–"])
                    || lead
                        .rsplit(|letter: char| !letter.is_alphabetic())
                        .take(2)
                        .any(|word| ENDS.iter().any(|end| word.starts_with(end)));
                let field = if closes || (nth > 0 && !late) { last } else { first };
                self.put(&field.name.clone(), text(when.from), span, reason, 0.8);
                self.near(when.start, &field.words.clone());
                if let Some(to) = when.to.filter(|_| field.name == first.name) {
                    self.put(&last.name.clone(), text(to), span, reason, 0.8);
                }
            } else if before.is_none() && after.is_none() {
                let Some(field) = fields.first() else { continue };
                self.put(&field.name.clone(), text(when.to.unwrap_or(when.from)), span, reason, 1.2);
                self.near(when.start, &field.words.clone());
            } else {
                if let Some(field) = after.filter(|_| !early) {
                    self.put(&field.name.clone(), text(when.from), span, reason, 0.8);
                    self.near(when.start, &field.words.clone());
                }
                if let Some(field) = before.filter(|_| !late) {
                    self.put(&field.name.clone(), text(when.to.unwrap_or(when.from)), span, reason, 0.8);
                    self.near(when.start, &field.words.clone());
                }
            }
            self.mark(when.start, when.end);
        }
    }

    /// A boolean field whose name is mentioned.
    pub(super) fn flags(&mut self) {
        for field in self.tool.fields.iter().filter(|field| field.role == Role::Flag) {
            let said = |filler: &Self, word: &String| {
                filler.tokens.iter().position(|token| !token.quoted && token.root == root(word))
            };
            let spoken = self.tokens.iter().position(|token| {
                !token.quoted
                    && (said_for(&field.name).any(|other| other == token.lower)
                        || field.yes.contains(&token.root))
            });
            let denied = self.tokens.iter().position(|token| {
                !token.quoted && field.no.contains(&token.root) && !field.yes.contains(&token.root)
            });
            if let Some((at, value)) = spoken.map(|at| (at, true)).or(denied.map(|at| (at, false))) {
                let span = self.tokens.get(at).map(|token| (token.start, token.end));
                self.put(&field.name, json!(value), span, "it is said in other words", 1.5);
                self.take(at);
                continue;
            }
            let telling: Vec<&String> = field
                .words
                .iter()
                .filter(|word| !["only", "is", "has", "include"].contains(&word.as_str()))
                .collect();
            let places: Vec<usize> = telling.iter().filter_map(|word| said(self, word)).collect();
            if places.len() == telling.len()
                && let Some(at) = places.first().copied()
            {
                let denied = at
                    .checked_sub(1)
                    .is_some_and(|at| ["not", "no", "without", "isn't"].contains(&self.lower(at)));
                let span = self.tokens.get(at).map(|token| (token.start, token.end));
                self.put(&field.name, json!(!denied), span, "its name is said", 1.5);
                places.into_iter().for_each(|at| self.take(at));
            }
        }
    }

    pub(super) fn counts(&mut self) {
        let used: Vec<(usize, usize)> = self
            .tokens
            .iter()
            .zip(&self.used)
            .filter(|(_, used)| **used)
            .map(|(token, _)| (token.start, token.end))
            .collect();
        let taken = |at: usize| {
            used.iter().any(|(start, end)| *start <= at && at < *end)
                || self.text.quotes.iter().any(|quote| quote.start <= at && at < quote.end)
        };
        let found: Vec<_> = numbers(self.text, &taken)
            .into_iter()
            .filter(|(start, end, _)| *start >= self.start && *end <= self.end)
            .collect();
        for (start, end, number) in found {
            let lead = self.text.plain.get(self.start..start).unwrap_or_default().trim_end();
            let ends = |words: &[&str]| words.iter().any(|word| lead.ends_with(word));
            // "All three" is not a count.
            if ends(&[" all", "both"]) || lead == "all" {
                continue;
            }
            let several =
                ends(&["next", "last", "latest", "first", "top", "only", "newest", "most", "recent", "past"]);
            // "My 3 newest notes".
            let rest = self.text.plain.get(end..self.end).unwrap_or_default().trim_start();
            let several = several
                || ["newest ", "latest ", "most recent ", "last ", "oldest ", "next "]
                    .iter()
                    .any(|word| rest.starts_with(word));
            if several {
                if let Some(field) = self.open(Role::Limit).filter(|_| number.fract() == 0.0) {
                    self.put(
                        &field.name.clone(),
                        json!(number as u64),
                        Some((start, end)),
                        "so many are asked for",
                        1.5,
                    );
                    self.mark(start, end);
                    self.before_number(start);
                }
                continue;
            }
            let (least, most) = (
                ends(&["over", "above", "least", "than", "from", "exceeding"])
                    && !ends(&["less than", "fewer than"]),
                ends(&["under", "below", "most", "less than", "up to"]),
            );
            let bounded = |field: &&ToolField| {
                let is = |words: &[&str]| field.words.iter().any(|word| words.contains(&word.as_str()));
                if least {
                    !is(&["max", "most"])
                } else if most {
                    !is(&["min", "least"])
                } else {
                    !is(&["min", "max"]) || self.tool.tool.read_only
                }
            };
            let field = self
                .tool
                .fields
                .iter()
                .filter(|field| field.role == Role::Number && !self.has(&field.name))
                .find(bounded);
            // A plain small number is rarely an amount.
            if let Some(field) = field.filter(|field| {
                counted(self.text.slice(start, end)).is_none()
                    || field.required
                    || self.counts_these(end, field)
            }) {
                let value =
                    if field.whole || number.fract() == 0.0 { json!(number as i64) } else { json!(number) };
                self.put(&field.name.clone(), value, Some((start, end)), "it is a number", 1.0);
                self.mark(start, end);
                let mut near: Vec<String> = field.words.clone();
                near.push("at".into());
                self.near(start, &near);
                self.shown_before(start, field);
                self.after_number(end, field);
            }
        }
    }

    /// "Five people", if the field is a number of people.
    fn counts_these(&self, end: usize, field: &ToolField) -> bool {
        self.tokens.iter().find(|token| token.start >= end).is_some_and(|next| {
            field.cues.contains(&next.root) || field.words.iter().any(|word| root(word) == next.root)
        })
    }

    /// "The odometer says 61480": the noun from the field's description.
    fn shown_before(&mut self, start: usize, field: &ToolField) {
        let before = (0..self.tokens.len()).rev();
        let before: Vec<usize> = before
            .filter(|at| self.tokens.get(*at).is_some_and(|token| token.end <= start && !token.quoted))
            .collect();
        for at in before.into_iter().take(4) {
            let Some(token) = self.tokens.get(at) else { return };
            let says = ["says", "shows", "reads", "reading", "about", "is", "now", "to"];
            if !says.contains(&token.lower.as_str()) && !field.cues.contains(&token.root) && !self.is_used(at)
            {
                return;
            }
            self.take(at);
        }
    }

    pub(super) fn before_number(&mut self, start: usize) {
        let before = (0..self.tokens.len())
            .rev()
            .find(|at| self.tokens.get(*at).is_some_and(|token| token.end <= start));
        if let Some(at) = before {
            self.take(at);
        }
    }

    /// A unit belongs to its number, and is evidence for a field whose description names it.
    pub(super) fn after_number(&mut self, end: usize, field: &ToolField) {
        let next =
            (0..self.tokens.len()).find(|at| self.tokens.get(*at).is_some_and(|token| token.start >= end));
        let Some(at) = next else { return };
        let fits = match unit(self.lower(at)) {
            Some(mut names) => names.any(|name| field.cues.contains(&root(name))),
            None => return,
        };
        self.take(at);
        if fits {
            self.out.evidence += if field.required { 1.5 } else { 0.8 };
        }
    }
}
