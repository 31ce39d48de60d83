//! Uses the remaining words of a clause: as the title of a new record, as search words, or as the
//! target.

use super::{Filler, listed};
use crate::understand::catalogue::{Role, ToolField};
use crate::understand::lexicon::{is_person, same_field};
use crate::understand::verbs::Class;
use serde_json::{Value, json};

/// Words after a name that start a statement about it.
const SAYS: &[&str] = &[
    "wants", "wishes", "needs", "would", "will", "has", "had", "is", "was", "called", "rang", "phoned",
    "wrote", "says", "said", "asked", "asks", "likes", "prefers", "just", "can't", "cannot", "won't",
];
/// Light verbs, which only introduce the actual action.
const LIGHT: &[&str] = &["take", "put", "get", "have", "bring", "let", "give", "make", "set", "mark", "keep"];

impl Filler<'_> {
    /// The name in the remaining words, if a person is created: "I met Ben Cole".
    pub(super) fn proper(&self, from: usize, to: usize) -> (usize, usize) {
        let capital = |at: usize| self.tokens.get(at).is_some_and(|token| token.capital);
        if !self.tool.entity.as_deref().is_some_and(is_person) {
            return (from, to);
        }
        let first = (from..=to).find(|at| capital(*at));
        first.map_or((from, to), |first| {
            (first, (first..=to).take_while(|at| capital(*at)).last().unwrap_or(first))
        })
    }

    /// Includes the words that introduce a text: "about the roof", "she needs a quote".
    pub(super) fn with_lead(&self, at: usize) -> usize {
        let mut from = self.with_article(at);
        while let Some(before) = from.checked_sub(1).filter(|before| {
            ["about", "she", "he", "they", "it", "we", "that"].contains(&self.lower(*before))
                && !self.is_used(*before)
        }) {
            from = before;
        }
        from
    }

    /// Assigns the remaining words: the title of a new record, search words, or the target.
    pub(super) fn rest(&mut self) {
        // "As a contact" names the new type.
        for at in 0..self.tokens.len() {
            let kind = !self.catalogue.types_of(self.lower(at + 2)).is_empty();
            if self.lower(at) == "as" && ["a", "an", "the"].contains(&self.lower(at + 1)) && kind {
                (at..=at + 2).for_each(|at| self.take(at));
            }
        }
        let create = self.tool.class == Class::Create;
        if create && self.open(Role::Title).is_none() {
            self.whom();
        }
        if let Some(field) = self.open(Role::Title).filter(|_| create) {
            self.first_type();
            let name = if self.bears_names(field) && !self.ground.world.is_empty() {
                self.free_name(false, false)
            } else {
                None
            };
            let place = name.or_else(|| self.longest(false).map(|(from, to)| self.proper(from, to)));
            // "I need a new task" gives no title.
            let place = place.filter(|(from, to)| (*from..=*to).any(|at| self.lower(at) != "new"));
            if let Some((from, to)) = place
                && let Some(piece) = self.piece(self.with_article(from), to)
            {
                self.put(
                    &field.name.clone(),
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it is what is left of the wish",
                    0.3,
                );
            }
            return;
        }
        // The remaining words beside a title are the text.
        if let Some(field) =
            self.open(Role::Long).filter(|field| !field.required && create && self.has_title())
        {
            self.first_type();
            // "To the waffle recipe" is a destination, and not a text.
            let goes = |from: usize| {
                let before = self.with_article(from).checked_sub(1).map_or("", |at| self.lower(at));
                self.with_article(from) < from && ["to", "into", "onto", "on", "from"].contains(&before)
            };
            if let Some((from, to)) = self.longest(true).filter(|(from, _)| !goes(*from))
                && let Some(piece) = self.piece(self.with_article(from), to)
            {
                self.put(
                    &field.name.clone(),
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it is what is left of the wish",
                    0.0,
                );
            }
            return;
        }
        if let Some(field) = self.open(Role::Long).filter(|field| field.required && create) {
            if let Some((from, to)) = self.longest(true)
                && let Some(piece) = self.piece(self.with_lead(from), to)
            {
                self.put(
                    &field.name.clone(),
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "it is what is left of the wish",
                    0.3,
                );
            }
            return;
        }
        if let Some(field) = self.open(Role::Query) {
            if self.tool.free {
                return;
            }
            for at in 0..self.tokens.len() {
                let token = self.tokens.get(at).filter(|token| !token.quoted);
                let about =
                    token.is_some_and(|token| field.cues.contains(&token.root) && !token.capital) && at > 0;
                if ["called", "named", "titled"].contains(&self.lower(at)) || about {
                    self.take(at);
                }
            }
            if let Some((from, to)) = self.longest(false)
                && let Some(piece) = self.piece(from, to)
            {
                self.put(
                    &field.name.clone(),
                    Self::text_value(&piece),
                    Some((piece.start, piece.end)),
                    "these are the words to look for",
                    0.5,
                );
            }
            return;
        }
        if self.tool.target().is_some() && self.out.target.is_none() {
            if self.tool.class == Class::Read {
                self.asked();
            }
            self.no_names();
            self.bystanders();
            let open: Vec<&ToolField> = self
                .tool
                .fields
                .iter()
                .filter(|field| {
                    field.required
                        && matches!(field.role, Role::Open | Role::Tags | Role::Long)
                        && !self.has(&field.name)
                })
                .collect();
            if let Some(field) = open.first() {
                self.required_open(field);
            }
            // If the existing records are known, an unknown name takes precedence over other words.
            let stranger = if self.ground.world.is_empty() { None } else { self.free_name(false, false) };
            if let Some((from, to)) = stranger.filter(|_| self.out.grounded.is_none()) {
                self.out.target = self.piece(from, to);
            } else if let Some((from, to)) = self.longest(false).filter(|_| self.out.grounded.is_none()) {
                self.out.target = self.piece(from, self.name_ends(from, to));
            }
            self.is_said();
        }
    }

    /// The person that a new record is for, if one is required: "book Anders Holm into 202".
    fn whom(&mut self) {
        let needed = |field: &&ToolField| {
            field.required && field.person && field.role == Role::Open && !self.has(&field.name)
        };
        let Some(field) = self.tool.fields.iter().find(needed) else { return };
        let free = |at: usize| {
            self.tokens.get(at).is_some_and(|token| token.capital && !token.quoted) && !self.is_used(at)
        };
        let Some(from) = (0..self.tokens.len()).find(|at| free(*at) && (*at > 0 || free(at + 1))) else {
            return;
        };
        let to = (from..self.tokens.len()).take_while(|at| free(*at)).last().unwrap_or(from);
        if let Some(piece) = self.piece(from, to) {
            let span = Some((piece.start, piece.end));
            self.put(&field.name, Self::text_value(&piece), span, "it is somebody's name", 1.0);
        }
    }

    pub(super) fn is_day(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| {
            self.whens.iter().any(|(start, end)| token.start >= *start && token.end <= *end)
        })
    }

    /// The end of a name that is followed by a statement: "Peter Quinn wants to stay", "Ann Bell to
    /// 202".
    fn name_ends(&self, from: usize, to: usize) -> usize {
        let capital = |at: usize| self.tokens.get(at).is_some_and(|token| token.capital && !token.quoted);
        let number = |at: usize| self.lower(at).parse::<u64>().is_ok();
        let ends = |at: usize| {
            SAYS.contains(&self.lower(at))
                || (["to", "in", "into", "on", "from"].contains(&self.lower(at)) && number(at + 1))
        };
        // "When does Ann Bell leave": in a question a verb follows the name.
        let run = (from..=to).take_while(|at| capital(*at)).last();
        let asks =
            ["when", "how", "has", "is", "does", "did", "was", "where", "will"].contains(&self.lower(0));
        let article = from.checked_sub(1).is_some_and(|before| super::is_determiner(self.lower(before)));
        let asks = asks && !article;
        if let Some(last) = run.filter(|last| asks && (last + 1..=to).all(|at| !capital(at))) {
            return last;
        }
        (from + 1..=to).find(|at| capital(at - 1) && !capital(*at) && ends(*at)).map_or(to, |at| at - 1)
    }

    /// A date is not a name, and neither is a light verb: "take the room out of order".
    fn no_names(&mut self) {
        for at in 0..self.tokens.len() {
            let Some(token) = self.tokens.get(at).copied().filter(|token| !token.quoted) else { continue };
            if self.is_used(at) {
                continue;
            }
            let day = self.is_day(at);
            let somebody = ["anyone", "anybody", "someone", "somebody", "nobody", "everyone", "everybody"]
                .contains(&token.lower.as_str());
            let ordinal = token.lower.starts_with(|letter: char| letter.is_ascii_digit());
            let light = at == 0 && LIGHT.contains(&token.lower.as_str());
            // "Ann has arrived": a verb of the tool's description is not part of the name either.
            let bent = !token.capital && token.root != token.lower && self.tool.telling.contains(&token.root);
            if (day && !ordinal) || light || bent || somebody {
                self.take(at);
            }
        }
    }

    /// The subject and the beneficiary are not the target: "Jon returned Persuasion", "renew Dune
    /// for Mira".
    pub(super) fn bystanders(&mut self) {
        let capital = |filler: &Self, at: usize| {
            filler.tokens.get(at).is_some_and(|token| token.capital && !token.quoted)
        };
        let telling = |filler: &Self, from: usize, to: usize| (from..to).any(|at| filler.telling(at));
        let count = self.tokens.len();
        let acts = ["needs", "wants", "would", "just", "has"].contains(&self.lower(1)) || self.is_used(1);
        if capital(self, 0)
            && !self.is_used(0)
            && acts
            && count > 2
            && telling(self, 2, count)
            && self.between.is_none_or(|(from, to)| {
                let within = |at: usize| {
                    self.tokens.get(at).is_some_and(|token| token.start >= from && token.end <= to)
                };
                (2..count).any(|at| within(at) && self.telling(at))
            })
        {
            self.take(0);
            if !self.is_used(1) {
                self.take(1);
            }
            if self.lower(1) == "just" {
                self.take(2);
            }
        }
        for at in 1..count {
            let led = ["for", "by"].contains(&self.lower(at)) && capital(self, at + 1) && at + 2 >= count;
            if led && telling(self, 0, at) && self.tool.class == Class::Update {
                self.take(at);
                self.take(at + 1);
            }
        }
    }

    /// A required value without its field's name: "tag it birthday", "untag note 8 home", "put
    /// customer on it", "with spring".
    pub(super) fn required_open(&mut self, field: &ToolField) {
        let after = |filler: &Self, word: &str| {
            (0..filler.tokens.len())
                .rev()
                .find(|at| filler.lower(*at) == word && filler.tokens.get(at + 1).is_some())
        };
        // "take sales off": between the two parts of the verb.
        let inner: Vec<usize> = self.between.map_or_else(Vec::new, |(from, to)| {
            (0..self.tokens.len())
                .filter(|at| {
                    self.telling(*at)
                        && self.tokens.get(*at).is_some_and(|token| token.start >= from && token.end <= to)
                })
                .collect()
        });
        let led = ["with", "as", "under", "by"]
            .iter()
            .find_map(|word| after(self, word).filter(|at| self.telling(at + 1)));
        let last = self.tokens.len().saturating_sub(1);
        let place = if let ([only], true) = (inner.as_slice(), field.role != Role::Long) {
            Some((*only, *only))
        } else if let Some(at) = led {
            self.run(at + 1, field.role == Role::Tags || field.role == Role::Long)
        } else if self.out.id.is_some()
            || self.points(last.saturating_sub(1))
            || self.points(last.saturating_sub(2))
        {
            // The word after a number or a pronoun.
            (self.telling(last)).then_some((last, last))
        } else {
            // The word before "off" or "on", right after the verb.
            (0..self.tokens.len())
                .find(|at| self.telling(*at))
                .filter(|at| self.is_used(at + 1) && *at < last)
                .map(|at| (at, at))
        };
        // Somebody has a name.
        let named = |at: usize| self.tokens.get(at).is_some_and(|token| token.capital || token.quoted);
        let Some((from, to)) = place.filter(|(from, _)| !field.person || named(*from)) else { return };
        if let Some(piece) = self.piece(from, to) {
            let value =
                if field.role == Role::Tags { json!(listed(&piece.words)) } else { Self::text_value(&piece) };
            let span = Some((piece.start, piece.end));
            self.put(&field.name, value, span, "it stands where the value is expected", 0.8);
            if let Some(at) = led.filter(|at| at + 1 == from) {
                self.take(at);
            }
            if field.of.is_some() && field.role == Role::Open {
                self.out.refs.push((field.name.clone(), piece));
            }
        }
    }

    /// "Gift ideas is not family": the predicate, if a value is required and none was found.
    pub(super) fn is_said(&mut self) {
        let needed = self
            .tool
            .fields
            .iter()
            .find(|field| field.required && field.role == Role::Open && !self.has(&field.name));
        let Some(field) = needed else { return };
        let be = (0..self.tokens.len()).find(|at| ["is", "are"].contains(&self.lower(*at)));
        let at = be.map(|at| if ["not", "no"].contains(&self.lower(at + 1)) { at + 2 } else { at + 1 });
        if let Some(piece) = at.filter(|at| self.telling(*at)).and_then(|at| self.piece(at, at)) {
            self.put(
                &field.name,
                Self::text_value(&piece),
                Some((piece.start, piece.end)),
                "it is said of it",
                0.5,
            );
            if field.of.is_some() {
                self.out.refs.push((field.name.clone(), piece));
            }
        }
    }

    pub(super) fn points(&self, at: usize) -> bool {
        ["it", "that", "this", "one", "them", "all", "both", "first", "second", "third", "last", "him", "her"]
            .contains(&self.lower(at))
    }

    /// The requested attribute is not part of the name: "what's the priority of …".
    pub(super) fn asked(&mut self) {
        let entity = self.tool.entity.as_deref();
        let mut names: Vec<String> = Vec::new();
        for tool in self.catalogue.tools.iter().filter(|tool| tool.entity.as_deref() == entity) {
            names.extend(tool.fields.iter().flat_map(|field| field.words.iter().cloned()));
        }
        let output = self
            .tool
            .tool
            .output
            .as_ref()
            .and_then(|output| output.get("properties"))
            .and_then(Value::as_object);
        names.extend(output.into_iter().flat_map(|fields| fields.keys().cloned()));
        for at in 0..self.tokens.len() {
            let word = self.lower(at).to_owned();
            if self.tokens.get(at).is_some_and(|token| !token.quoted && !token.capital)
                && names.iter().any(|name| same_field(name, &word))
            {
                self.take(at);
                self.out.evidence += 1.0;
            }
        }
    }

    /// The first type word near the verb names what is created.
    pub(super) fn first_type(&mut self) {
        let kind = |filler: &Self, at: usize| {
            filler
                .catalogue
                .types_of(filler.lower(at))
                .iter()
                .any(|kind| Some(&kind.name) == filler.tool.entity.as_ref())
        };
        if let Some(at) = (0..self.tokens.len().min(6)).find(|at| !self.is_used(*at) && kind(self, *at)) {
            self.take(at);
            // "A task to order ink": what follows is the title.
            if ["to", "for", "that", "about"].contains(&self.lower(at + 1)) {
                self.take(at + 1);
            }
        }
    }
}
