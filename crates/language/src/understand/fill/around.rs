//! Values that are identified by their position: after a preposition, before a noun, as the
//! subject.

use super::{Filler, PREPOSITIONS};
use crate::understand::catalogue::{Role, ToolField};
use crate::understand::lexicon::{is_person, plural, root, same_field};
use crate::understand::values::counted;
use crate::understand::verbs::Class;

impl Filler<'_> {
    /// "at Acme", "in Hamburg", "for travel": values of open fields. "Move Ann to 202", "bookings
    /// for room 201": the number of a record of another type, if a field takes one.
    pub(super) fn numbered(&mut self) {
        for at in 0..self.tokens.len() {
            if !["to", "in", "into", "for", "from", "on"].contains(&self.lower(at)) {
                continue;
            }
            let skip = usize::from(["the", "our", "my"].contains(&self.lower(at + 1)));
            let kinds: Vec<String> = self
                .catalogue
                .types_of(self.lower(at + skip + 1))
                .iter()
                .map(|kind| kind.name.clone())
                .collect();
            let from = at + skip + 1 + usize::from(!kinds.is_empty());
            let number = self.lower(from).parse::<u64>().is_ok() && !self.is_used(from) && !self.is_day(from);
            let takes = |field: &&ToolField| {
                let of = field.of.as_ref().filter(|of| kinds.is_empty() || kinds.contains(of));
                of.is_some() && field.role == Role::Open && !self.has(&field.name)
            };
            let Some(field) = self.tool.fields.iter().find(takes).filter(|_| number) else { continue };
            if let Some(piece) = self.piece(from, from) {
                (at..from).for_each(|at| self.take(at));
                let span = Some((piece.start, piece.end));
                self.put(&field.name, Self::text_value(&piece), span, "it is the number of one", 1.2);
                self.out.refs.push((field.name.clone(), piece));
            }
        }
    }

    pub(super) fn prepositions(&mut self) {
        let read = self.tool.tool.read_only;
        if self.between.is_some() || read {
            self.subject();
        }
        for at in 0..self.tokens.len() {
            let word = self.lower(at).to_owned();
            if !PREPOSITIONS.contains(&word.as_str())
                || word == "about"
                || (self.is_used(at) && self.tool.class == Class::Create)
            {
                continue;
            }
            let mut from = at + 1;
            while ["the", "a", "our", "my"].contains(&self.lower(from)) {
                from += 1;
            }
            let Some((from, to)) = self.run(from, false) else { continue };
            // A name ends with its last capitalised word.
            let capitals = (from..=to)
                .take_while(|place| self.tokens.get(*place).is_some_and(|token| token.capital))
                .last();
            let to = capitals.unwrap_or(to);
            let to = (from..=to)
                .find(|place| ["and", "now", "called", "named", "as", "of"].contains(&self.lower(*place)))
                .map_or(to, |stop| stop.saturating_sub(1));
            let (Some(first), true) = (self.tokens.get(from), to >= from) else { continue };
            let capital = first.capital;
            if counted(&first.lower).is_some() || first.lower.starts_with(|c: char| c.is_ascii_digit()) {
                continue;
            }
            let example = |field: &&ToolField| field.examples.contains(&first.lower);
            let fields: Vec<&ToolField> = self
                .tool
                .fields
                .iter()
                .filter(|field| field.role == Role::Open && !self.has(&field.name))
                .collect();
            let by =
                |field: &&ToolField| word == "by" && field.words.iter().any(|known| same_field(known, "by"));
            let whom = |field: &&ToolField| {
                field.person
                    && ["to", "for", "by", "with"].contains(&word.as_str())
                    && (field.required || read)
            };
            let place = |field: &&ToolField| {
                ["where", "city", "place", "location", "town", "country"]
                    .iter()
                    .any(|word| field.cues.contains(&root(word)) || field.words.contains(&(*word).to_owned()))
            };
            // In "the role of Ann" the name is the record that is acted on.
            let own = self.tool.class == Class::Update
                && self.tool.target().is_some()
                && !["to", "for", "at"].contains(&word.as_str());
            let seen = |of: &String| self.ground.world.iter().any(|seen| seen.thing.entity_type == *of);
            let named = |field: &&ToolField| {
                // If the existing records are known, a matching name has already been assigned.
                field.of.as_ref().is_some_and(|of| !seen(of))
                    && !own
                    && ["with", "at", "from", "for", "of", "to", "by", "in"].contains(&word.as_str())
            };
            let fits = if let Some(field) = fields.iter().copied().find(|field| capital && by(field)) {
                Some(field)
            } else if let Some(field) = fields
                .iter()
                .copied()
                .find(|field| whom(field) && (capital || (to + 1 == self.tokens.len() && from == to)))
            {
                Some(field)
            } else if word == "to" && self.tool.class != Class::Update {
                None
            } else if let Some(field) = fields.iter().find(|field| example(field)) {
                Some(*field)
            } else if capital && ["in", "from"].contains(&word.as_str()) && fields.iter().any(place) {
                fields.iter().copied().find(|field| place(field))
            } else if capital
                || (read
                    && from == to
                    && ["at", "from", "of"].contains(&word.as_str())
                    && fields.iter().any(named))
            {
                fields
                    .iter()
                    .copied()
                    .find(|field| named(field))
                    .or_else(|| fields.first().copied().filter(|_| read))
            } else if read
                && ["for", "under", "at", "in", "of"].contains(&word.as_str())
                && self.tool.class == Class::List
            {
                fields.iter().copied().find(|field| field.of.is_none() && !field.person)
            } else if self.tool.class == Class::Update
                && self.tool.target().is_some()
                && ["to", "under"].contains(&word.as_str())
            {
                // "belongs to home": the field's description says so.
                fields
                    .iter()
                    .copied()
                    .find(|field| self.tokens.iter().take(at).any(|token| field.cues.contains(&token.root)))
            } else {
                None
            };
            let Some(field) =
                fits.filter(|_| !["another", "other", "different", "else"].contains(&self.lower(from)))
            else {
                continue;
            };
            if !(from..=to)
                .any(|place| self.telling(place) || self.tokens.get(place).is_some_and(|token| token.capital))
            {
                continue;
            }
            if let Some(piece) = self.piece(from, to) {
                self.take(at);
                self.put(
                    &field.name,
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it follows a word of place or belonging",
                    1.0,
                );
                if field.of.is_some() {
                    self.out.refs.push((field.name.clone(), piece));
                }
            }
        }
        self.subject();
        self.unled();
    }

    /// "Mira wants to take it", "what does Mira have", "put Ada on the list": a named person, if a
    /// field takes one.
    pub(super) fn subject(&mut self) {
        let field = self.tool.fields.iter().find(|field| {
            field.role == Role::Open
                && field.person
                && field.of.is_none()
                && !self.has(&field.name)
                && !same_field(&field.name, "author")
        });
        let Some(field) = field.filter(|field| field.required || self.tool.tool.read_only) else { return };
        let single = |filler: &Self, at: usize| {
            let capital =
                |at: usize| filler.tokens.get(at).is_some_and(|token| token.capital && !token.quoted);
            capital(at) && filler.telling(at) && !capital(at + 1) && (at == 0 || !capital(at - 1))
        };
        let verb = |filler: &Self, at: usize| {
            filler.is_used(at)
                || ["is", "has", "have", "wants", "would", "needs", "got", "does", "on"]
                    .contains(&filler.lower(at))
        };
        let target = self.tool.target().is_some();
        // "Give Lena the van": indirect object, then direct object.
        let whom = |filler: &Self, at: usize| {
            at == 1 && filler.is_used(0) && ["the", "my", "our", "a", "an"].contains(&filler.lower(2))
        };
        let follows = |filler: &Self, at: usize| {
            at + 1 < filler.tokens.len() && (verb(filler, at + 1) || whom(filler, at))
        };
        let asked = |filler: &Self, at: usize| {
            ["does", "did", "put", "is"].contains(&filler.lower(at)) || (filler.lower(at) == "has" && at == 0)
        };
        let found = (0..self.tokens.len()).find(|at| {
            single(self, *at)
                && (!target || follows(self, *at))
                && (*at == 0 || (self.is_used(at - 1) && target) || asked(self, at - 1))
        });
        if let Some(piece) = found.and_then(|at| self.piece(at, at)) {
            self.put(
                &field.name,
                Self::text_value(&piece),
                Some((piece.start, piece.end)),
                "it is a name",
                0.8,
            );
        }
    }

    /// The name of a required record of another type without a preposition: "I emailed Priya Shah
    /// the contract".
    pub(super) fn unled(&mut self) {
        let Some(field) = self
            .tool
            .refers()
            .filter(|field| field.required && !self.has(&field.name) && self.tool.target().is_none())
        else {
            return;
        };
        // If the existing records are known, names have already been assigned.
        if self.ground.world.iter().any(|seen| Some(&seen.thing.entity_type) == field.of.as_ref()) {
            return;
        }
        let person = field.of.as_deref().is_some_and(is_person);
        let Some(from) = (0..self.tokens.len()).find(|at| {
            self.telling(*at)
                && self.tokens.get(*at).is_some_and(|token| token.capital && !token.quoted)
                && (*at > 0 || person)
        }) else {
            return;
        };
        let to = (from..self.tokens.len())
            .take_while(|at| self.telling(*at) && self.tokens.get(*at).is_some_and(|token| token.capital))
            .last();
        if self.tool.field(Role::Title).is_some() && !self.has_title() {
            return;
        }
        if let Some(piece) = to.and_then(|to| self.piece(from, to)) {
            self.put(
                &field.name.clone(),
                Self::text_value(&piece),
                Some((piece.start, piece.end)),
                "it is a name",
                1.0,
            );
            self.out.refs.push((field.name.clone(), piece));
        }
    }

    /// "my work tasks", "software companies", "my recipes".
    pub(super) fn modifiers(&mut self) {
        if !self.tool.tool.read_only
            || !matches!(self.tool.class, Class::List | Class::Search)
            || self.tool.field(Role::Query).is_some()
        {
            return;
        }
        let fields: Vec<&ToolField> = self
            .tool
            .fields
            .iter()
            .filter(|field| field.role == Role::Open && !self.has(&field.name))
            .collect();
        for at in 0..self.tokens.len() {
            let Some(token) = self.tokens.get(at).filter(|token| !token.quoted) else { continue };
            if !self.telling(at) || self.catalogue.containers.contains(&token.root) {
                continue;
            }
            let example = fields.iter().find(|field| {
                field.examples.contains(&token.lower)
                    || field.examples.iter().any(|known| root(known) == token.root)
            });
            let part = ["section", "category", "department", "selection"].contains(&self.lower(at + 1));
            let before_type = part
                || self.tokens.get(at + 1).is_some_and(|next| {
                    self.catalogue
                        .types_of(&next.lower)
                        .iter()
                        .any(|kind| Some(&kind.name) == self.tool.entity.as_ref())
                });
            let mine = at.checked_sub(1).is_some_and(|at| ["my", "our"].contains(&self.lower(at)))
                && plural(&token.lower);
            let place = |field: &&&ToolField| {
                field.person
                    || field.words.iter().any(|word| ["city", "place", "location"].contains(&word.as_str()))
            };
            let field = example.or_else(|| {
                if before_type || mine {
                    fields.iter().find(|field| !place(field) && field.of.is_none())
                } else {
                    None
                }
            });
            if let (Some(field), false) = (field, self.catalogue.is_verb(&token.root) && at == 0)
                && let Some(piece) = self.piece(at, at)
            {
                self.put(
                    &field.name,
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it stands before what is asked for",
                    if example.is_some() { 1.5 } else { 0.8 },
                );
                return;
            }
        }
    }
}
