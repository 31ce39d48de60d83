//! Names of what is there: what the tool acts on, or a value of one of its fields.
//!
//! Invariant: only words that name something that was seen are taken here. Two names that can be of one thing are of that thing: "Sofia's
//! Luna" is the Luna that is Sofia's.

use super::{Filler, Piece};
use crate::understand::catalogue::{Known, Role};
use crate::understand::ground::Mention;
use crate::understand::lexicon::{same_field, same_noun, singular};
use crate::understand::types::Thing;
use crate::understand::verbs::Class;
use std::collections::BTreeSet;

/// What is acted on, by its name.
#[derive(Debug, Clone, Default)]
pub(in crate::understand) struct Grounded {
    /// Those that are meant, or among which the one is that is meant.
    pub(in crate::understand) things: Vec<Thing>,
    /// Whether all of them are meant: "Bella and Coco".
    pub(in crate::understand) all: bool,
    /// Whether a name of its own led to it, and not only a value that it has.
    pub(in crate::understand) by_name: bool,
    /// Whether more than one word of a longer name led to it.
    pub(in crate::understand) firm: bool,
}

impl Filler<'_> {
    /// The places in the world of what a mention means among the things that this tool acts on.
    fn own(&self, mention: &Mention, named: bool) -> BTreeSet<usize> {
        let entity = self.tool.entity.as_deref().unwrap_or_default();
        let fits = |at: &usize| {
            self.ground.world.get(*at).is_some_and(|seen| {
                seen.thing.entity_type == entity && seen.domain == self.tool.tool.domain
            })
        };
        if named {
            mention.named.iter().copied().filter(fits).collect()
        } else {
            mention.valued.values().flatten().copied().filter(fits).collect()
        }
    }

    /// The field that takes what a mention names: by the type of what bears it, or by the field that has it as a value.
    fn takes(&self, mention: &Mention) -> Option<Known> {
        let kinds: BTreeSet<&str> = mention
            .named
            .iter()
            .filter_map(|at| self.ground.world.get(*at))
            .filter(|seen| seen.domain == self.tool.tool.domain)
            .map(|seen| seen.thing.entity_type.as_str())
            .collect();
        let free = |field: &&Known| {
            matches!(field.role, Role::Open | Role::Query | Role::Selector | Role::Title)
                && !self.has(&field.name)
                && !(field.role == Role::Title && self.tool.class == Class::Create)
                && field.role != Role::Selector
        };
        let fields = || self.tool.fields.iter().filter(free);
        let typed = |field: &&Known| {
            let own = self.tool.entity.as_deref().is_some_and(|entity| kinds.contains(entity));
            (field.role == Role::Title && own) || kinds.iter().any(|kind| {
                field.of.as_deref() == Some(kind)
                    || field.words.iter().any(|word| singular(word) == *kind || same_noun(word, kind))
            })
        };
        let here = |seen: &BTreeSet<usize>| {
            seen.iter().any(|at| self.ground.world.get(*at).is_some_and(|seen| seen.domain == self.tool.tool.domain))
        };
        let valued = |field: &&Known| {
            mention.valued.iter().any(|(name, seen)| {
                here(seen) && (*name == field.name || field.words.last().is_some_and(|word| same_field(word, name)))
            })
        };
        let query = |field: &&Known| field.role == Role::Query && !kinds.is_empty();
        let needed = |field: &&Known| {
            let article = self.tokens.iter().rev().find(|token| token.end <= mention.start);
            let some = article.is_some_and(|token| ["the", "a", "an", "my"].contains(&token.lower.as_str()));
            field.required && field.role == Role::Open && mention.capital && mention.named.is_empty() && !some && self.bears_names(field)
        };
        fields()
            .find(|field| field.role != Role::Query && typed(field))
            .or_else(|| fields().find(|field| field.role != Role::Query && valued(field)))
            .or_else(|| fields().find(needed))
            .or_else(|| fields().find(query))
            .cloned()
    }

    /// Whether a word stands before a place that leads to a value: "to the Family loft".
    fn leads(&self, mention: &Mention) -> bool {
        let mut before = self.tokens.iter().rev().filter(|token| token.end <= mention.start);
        let word = before.find(|token| !["the", "a", "an", "my", "our", "mr", "mrs", "ms", "dr"].contains(&token.lower.as_str()));
        word.is_some_and(|word| ["to", "into", "onto", "with", "as", "by"].contains(&word.lower.as_str()))
    }

    fn thing(&self, at: usize) -> Option<Thing> {
        let seen = self.ground.world.get(at)?;
        let (entity_type, name) = (seen.thing.entity_type.clone(), seen.thing.name.clone());
        Some(Thing { entity_type, id: seen.thing.id_text(), name })
    }

    /// "Bella's": what follows is hers.
    fn possessive(&self, mention: &Mention) -> bool {
        let rest = self.text.raw.get(mention.end..).unwrap_or_default();
        rest.starts_with("'s") || rest.starts_with("’s")
    }

    /// Puts every name of something that is there where it belongs.
    pub(super) fn grounded(&mut self) {
        let mentions: Vec<Mention> = self
            .ground
            .within(self.start, self.end)
            .filter(|mention| {
                (0..self.tokens.len())
                    .filter(|at| self.tokens.get(*at).is_some_and(|token| token.start >= mention.start && token.end <= mention.end))
                    .any(|at| !self.is_used(at))
            })
            .cloned()
            .collect();
        let acts = self.tool.target().is_some() && self.out.id.is_none();
        let mut rest: Vec<&Mention> = Vec::new();
        let mut meant: Option<(BTreeSet<usize>, bool, bool, usize)> = None;
        // As they were said.
        let mut order: Vec<usize> = Vec::new();
        for mention in &mentions {
            let own = self.own(mention, true);
            // A part of a name in small letters names nothing where something is made.
            let vague = !mention.whole && !mention.capital && self.tool.class == Class::Create;
            if vague && self.takes(mention).is_none_or(|field| field.of.is_none()) {
                continue;
            }
            if !acts || own.is_empty() {
                rest.push(mention);
                continue;
            }
            meant = Some(match meant {
                None => {
                    order.extend(own.iter().copied());
                    (own, false, true, mention.end)
                }
                Some((known, all, by_name, end)) => {
                    let both: BTreeSet<usize> = known.intersection(&own).copied().collect();
                    let between = self.text.plain.get(end..mention.start).unwrap_or_default().trim();
                    let between = between.trim_end_matches(" the").trim_end_matches(" my").trim();
                    let joined = [",", "and", "&", ", and", "plus"].contains(&between);
                    if !both.is_empty() {
                        (both, all, by_name, mention.end)
                    } else if joined {
                        order.extend(own.iter().copied());
                        (known.union(&own).copied().collect(), true, by_name, mention.end)
                    } else {
                        rest.push(mention);
                        (known, all, by_name, end)
                    }
                }
            });
            if !rest.last().is_some_and(|last| last.start == mention.start) {
                self.mark(mention.start, mention.end);
            }
        }
        let points = (0..self.tokens.len()).any(|at| self.points(at));
        let mut late: Vec<&Mention> = Vec::new();
        for mention in rest {
            let own = if acts { self.own(mention, false) } else { BTreeSet::new() };
            let field = self.takes(mention);
            // What narrows down which one is meant, or is the only thing that says it.
            let narrows = match &meant {
                Some((known, ..)) => known.len() > 1 && known.intersection(&own).next().is_some(),
                None => {
                    let taken = field.as_ref().is_some_and(|field| field.required || self.leads(mention));
                    !own.is_empty() && !taken && (!points || self.possessive(mention))
                }
            };
            if narrows && !(field.is_some() && meant.is_some() && self.leads(mention)) {
                meant = Some(match meant {
                    Some((known, all, by_name, end)) => (known.intersection(&own).copied().collect(), all, by_name, end),
                    None => (own, false, false, mention.end),
                });
                self.mark(mention.start, mention.end);
                continue;
            }
            let Some(field) = field else {
                // Whose it is, is known of it already.
                if meant.as_ref().is_some_and(|(known, ..)| !known.is_disjoint(&own)) {
                    self.mark(mention.start, mention.end);
                } else {
                    late.push(mention);
                }
                continue;
            };
            let words = self.text.slice(mention.start, mention.end).to_owned();
            let piece = Piece { words, start: mention.start, end: mention.end };
            self.mark(mention.start, mention.end);
            self.near(mention.start, &field.words.clone());
            self.put(&field.name, Self::text_value(&piece), Some((piece.start, piece.end)), "it is the name of one", 1.5);
            if field.of.is_some() && field.role == Role::Open {
                let of = |at: &&usize| {
                    self.ground.world.get(**at).is_some_and(|seen| Some(&seen.thing.entity_type) == field.of.as_ref())
                };
                let things: Vec<Thing> = mention.named.iter().filter(of).filter_map(|at| self.thing(*at)).collect();
                if let [only] = things.as_slice() {
                    self.out.known.insert(field.name.clone(), only.clone());
                }
                self.out.refs.push((field.name.clone(), piece));
            }
            self.out.placed += 1;
            self.out.firm |= mention.is_firm();
        }
        // "Table 4 has paid": a bill is known by its table.
        if meant.is_none() && acts {
            let selects = |mention: &&&Mention| {
                let selector = self.tool.field(Role::Selector)?;
                let kind = |at: &usize| {
                    self.ground.world.get(*at).is_some_and(|seen| {
                        seen.domain == self.tool.tool.domain
                            && selector.words.iter().any(|word| singular(word) == seen.thing.entity_type)
                    })
                };
                mention.named.iter().any(kind).then_some(())
            };
            if let Some(mention) = late.iter().find(|mention| selects(mention).is_some()).copied() {
                let words = self.text.slice(mention.start, mention.end).to_owned();
                self.mark(mention.start, mention.end);
                self.out.target = Some(Piece { words, start: mention.start, end: mention.end });
                self.out.firm |= mention.is_firm();
                self.out.placed += 1;
                late.retain(|other| other.start != mention.start);
            }
        }
        self.out.unplaced = late.len();
        if let Some((places, all, by_name, _)) = meant {
            let places = self.on_the_day(places, all);
            let said = order.iter().filter(|at| places.contains(at));
            let others = places.iter().filter(|at| !order.contains(at));
            let things = said.chain(others).filter_map(|at| self.thing(*at)).collect();
            self.out.grounded = Some(Grounded { things, all, by_name, firm: mentions.iter().any(Mention::is_firm) });
        }
    }

    /// "Tuesday's Spinning": of several with one name, those of the day that is said.
    fn on_the_day(&mut self, places: BTreeSet<usize>, all: bool) -> BTreeSet<usize> {
        let days: Vec<_> = self.days.iter().filter(|day| day.start >= self.start && day.end <= self.end).cloned().collect();
        if places.len() < 2 || all {
            return places;
        }
        for day in days {
            let date = day.from.to_string();
            let on = |at: &usize| {
                self.ground.world.get(*at).is_some_and(|seen| {
                    seen.thing.attributes.values().filter_map(|value| value.as_str()).any(|value| value.starts_with(&date))
                })
            };
            let some: BTreeSet<usize> = places.iter().copied().filter(on).collect();
            if !some.is_empty() && some.len() < places.len() {
                if self.tool.field(Role::Day).is_none() {
                    self.mark(day.start, day.end);
                }
                return some;
            }
        }
        places
    }

    /// Whether values of a field are names, by what is there or by its description.
    pub(super) fn bears_names(&self, field: &Known) -> bool {
        let lower = ["name", "who", "person", "firm", "company"];
        if field.person || lower.iter().any(|word| field.cues.contains(&crate::understand::lexicon::root(word))) {
            return true;
        }
        let values = self.ground.world.iter().filter(|seen| seen.domain == self.tool.tool.domain);
        let values: Vec<&str> =
            values.filter_map(|seen| seen.thing.attributes.get(&field.name)?.as_str()).filter(|text| !text.is_empty()).collect();
        let named = values.iter().filter(|text| text.split(' ').all(|word| word.starts_with(char::is_uppercase))).count();
        values.len() > 1 && named * 3 > values.len() * 2
    }

    /// Names that nobody knows yet go to the fields that need a name: "open a ticket for Mia Lang".
    pub(super) fn names_left(&mut self) {
        if self.tool.tool.read_only {
            return;
        }
        let needed = |filler: &Self| -> Option<Known> {
            let open = |field: &&Known| {
                field.required && field.role == Role::Open && !filler.has(&field.name) && filler.bears_names(field)
            };
            // A name that nobody knows is rather that of something of which nothing is known at all.
            let unseen = |field: &&Known| !filler.ground.world.iter().any(|seen| Some(&seen.thing.entity_type) == field.of.as_ref());
            let fields = || filler.tool.fields.iter().filter(open);
            fields().find(unseen).or_else(|| fields().next()).cloned()
        };
        let titled = self.open(Role::Title).is_some_and(|field| field.required) && self.tool.class == Class::Create;
        // What a word leads to comes first; the first name by itself is the title of what is made.
        for led_only in [true, false] {
            while let Some(field) = needed(self) {
                let Some((from, to)) = self.free_name(led_only, titled) else { break };
                let Some(piece) = self.piece(from, to) else { break };
                let (value, span) = (Self::text_value(&piece), Some((piece.start, piece.end)));
                self.near(piece.start, &field.words.clone());
                self.put(&field.name, value, span, "it is a name, and one is needed", 0.8);
                let added = self.tool.tool.description.contains("not known yet") || field.cues.contains("full");
                if field.of.is_some() && !added && self.ground.world.iter().any(|seen| Some(&seen.thing.entity_type) == field.of.as_ref()) {
                    self.out.refs.push((field.name.clone(), piece));
                }
            }
        }
    }

    /// A name that nobody knows, where something that should be there may be given: "add Ella Dorn at Umbrella".
    pub(super) fn strangers(&mut self) {
        if self.tool.tool.read_only || self.ground.world.is_empty() {
            return;
        }
        let seen = |field: &Known| self.ground.world.iter().any(|seen| Some(&seen.thing.entity_type) == field.of.as_ref());
        let open = |field: &&Known| field.role == Role::Open && !field.required && !self.has(&field.name) && seen(field);
        let Some(field) = self.tool.fields.iter().find(open).cloned() else { return };
        let Some((from, to)) = self.free_name(true, false) else { return };
        let Some(piece) = self.piece(from, to) else { return };
        let (value, span) = (Self::text_value(&piece), Some((piece.start, piece.end)));
        self.put(&field.name, value, span, "it is a name, and one may be given", 0.5);
        self.out.refs.push((field.name.clone(), piece));
    }

    /// The next run of words that is written as a name and was not made anything of.
    pub(super) fn free_name(&self, led_only: bool, titled: bool) -> Option<(usize, usize)> {
        let name = |at: usize| {
            self.tokens.get(at).is_some_and(|token| token.capital && !token.quoted) && !self.is_used(at) && !self.is_day(at)
        };
        let mut runs: Vec<(usize, usize)> = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            if !name(at) {
                at += 1;
                continue;
            }
            let mut to = at;
            let number = |at: usize| self.lower(at).parse::<u32>().is_ok() && !self.is_used(at);
            while (name(to + 1) || number(to + 1)) && !self.follows_comma(to + 1) {
                to += 1;
            }
            // A capital at the head is a name only with another behind it, or with something said of it.
            let opens = at == 0 && to == 0 && !["has", "is", "wants", "would", "will", "needs", "gets", "takes"].contains(&self.lower(1));
            if !opens {
                runs.push((at, to));
            }
            at = to + 1;
        }
        let led = |from: usize| {
            from.checked_sub(1).is_some_and(|before| {
                ["for", "from", "by", "to", "with", "of", "at", "mr", "mrs", "ms", "dr"].contains(&self.lower(before))
            })
        };
        if led_only {
            return runs.into_iter().find(|(from, _)| led(*from));
        }
        if titled && runs.len() < 2 {
            return None;
        }
        if titled { runs.get(1).copied() } else { runs.first().copied() }
    }

    /// "To D-06": a code that is written like the values that a field has.
    pub(super) fn coded(&mut self) {
        let fields: Vec<Known> = self
            .tool
            .fields
            .iter()
            .filter(|field| field.role == Role::Open && !self.has(&field.name))
            .cloned()
            .collect();
        for field in fields {
            let values = self.ground.world.iter().filter(|seen| seen.domain == self.tool.tool.domain);
            let shapes: BTreeSet<String> = values
                .filter_map(|seen| seen.thing.attributes.get(&field.name)?.as_str())
                .filter(|text| text.chars().any(|c| c.is_ascii_digit()) && !text.contains(' '))
                .map(shape)
                .collect();
            if shapes.is_empty() {
                continue;
            }
            let piece = self.text.raw.get(self.start..self.end).unwrap_or_default();
            let mut at = self.start;
            for word in piece.split(' ') {
                let bare = word.trim_matches([',', '.', '?', '!', ';']);
                let from = at + word.find(bare).unwrap_or(0);
                at += word.len() + 1;
                let used = (0..self.tokens.len()).any(|place| {
                    self.tokens.get(place).is_some_and(|token| token.start >= from && token.end <= from + bare.len()) && self.is_used(place)
                });
                if !bare.is_empty() && !used && shapes.contains(&shape(bare)) {
                    self.mark(from, from + bare.len());
                    self.near(from, &field.words.clone());
                    self.put(&field.name, serde_json::json!(bare), Some((from, from + bare.len())), "it is written like its values", 1.5);
                    break;
                }
            }
        }
    }

    /// The one text that a tool still needs, once it is known what it acts on: "record a flea treatment for Oliver".
    pub(super) fn needed_text(&mut self) {
        let points = (0..self.tokens.len()).any(|at| self.points(at));
        if self.tool.tool.read_only || !(self.out.grounded.is_some() || self.out.id.is_some() || points || self.out.placed > 0) {
            return;
        }
        let needed = |field: &&Known| {
            field.required && matches!(field.role, Role::Open | Role::Long | Role::Title) && !self.has(&field.name)
        };
        let fields: Vec<Known> = self.tool.fields.iter().filter(needed).cloned().collect();
        let [field] = fields.as_slice() else { return };
        if field.person {
            return;
        }
        // Words that only say how it is are no text, and one word is no message.
        for at in 0..self.tokens.len() {
            let how = ["here", "there", "now", "back", "again", "already", "just", "yet", "away", "ready", "today", "still"];
            if how.contains(&self.lower(at)) && !self.tokens.get(at).is_some_and(|token| token.quoted) {
                self.take(at);
            }
        }
        let message = field.role == Role::Long;
        // The word for the field is part of the text where something stands before it: "a flea treatment".
        let Some((from, mut to)) = self.longest(false) else { return };
        while self.tokens.get(to + 1).is_some_and(|next| {
            !self.is_used(to + 1) && field.words.iter().any(|word| same_field(word, &next.lower))
        }) {
            to += 1;
        }
        if message && to < from + 2 {
            return;
        }
        if let Some(piece) = self.piece(from, to) {
            let span = Some((piece.start, piece.end));
            self.put(&field.name, Self::text_value(&piece), span, "it is told of what is named", 0.3);
            self.out.absorbed += to + 1 - from;
        }
    }
}

/// What a code looks like: "B-03" and "D-06" look the same.
fn shape(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            c if c.is_ascii_digit() => '0',
            c if c.is_alphabetic() => 'a',
            c => c,
        })
        .collect()
}
