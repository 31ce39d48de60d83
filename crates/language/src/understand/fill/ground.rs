//! Names of what is there: what the tool acts on, or a value of one of its fields.
//!
//! Invariant: only words that name something that was seen are taken here. Two names that can be of one thing are of that thing: "Sofia's
//! Luna" is the Luna that is Sofia's.

use super::{Filler, Piece};
use crate::understand::catalogue::{Known, Role};
use crate::understand::ground::{Mention, shape};
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
    /// Whether something in the clause is named by more than a single word of a longer name.
    pub(in crate::understand) firm: bool,
}

impl Filler<'_> {
    /// The places in the world of what a mention means among the things that this tool acts on.
    fn own(&self, mention: &Mention, named: bool) -> BTreeSet<usize> {
        let entity = self.tool.entity.as_deref().unwrap_or_default();
        let fits = |at: &usize| {
            self.ground
                .world
                .get(*at)
                .is_some_and(|seen| seen.thing.entity_type == entity && seen.domain == self.tool.tool.domain)
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
            (field.role == Role::Title && own)
                || kinds.iter().any(|kind| {
                    field.of.as_deref() == Some(kind)
                        || field.words.iter().any(|word| singular(word) == *kind || same_noun(word, kind))
                })
        };
        let here = |seen: &BTreeSet<usize>| {
            seen.iter()
                .any(|at| self.ground.world.get(*at).is_some_and(|seen| seen.domain == self.tool.tool.domain))
        };
        let valued = |field: &&Known| {
            mention.valued.iter().any(|(name, seen)| {
                here(seen)
                    && (*name == field.name || field.words.last().is_some_and(|word| same_field(word, name)))
            })
        };
        let query = |field: &&Known| field.role == Role::Query && !kinds.is_empty();
        let needed = |field: &&Known| {
            let article = self.tokens.iter().rev().find(|token| token.end <= mention.start);
            let some = article.is_some_and(|token| ["the", "a", "an", "my"].contains(&token.lower.as_str()));
            field.required
                && field.role == Role::Open
                && mention.capital
                && mention.named.is_empty()
                && !some
                && self.bears_names(field)
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
        let word = before.find(|token| {
            !["the", "a", "an", "my", "our", "mr", "mrs", "ms", "dr"].contains(&token.lower.as_str())
        });
        word.is_some_and(|word| ["to", "into", "onto", "with", "as", "by"].contains(&word.lower.as_str()))
    }

    fn thing(&self, at: usize) -> Option<Thing> {
        let seen = self.ground.world.get(at)?;
        let (entity_type, name) = (seen.thing.entity_type.clone(), seen.thing.name.clone());
        Some(Thing { entity_type, id: seen.thing.id_text(), name, by: Some(seen.by.clone()) })
    }

    /// "Bella's": what follows is hers.
    fn possessive(&self, mention: &Mention) -> bool {
        let rest = self.text.raw.get(mention.end..).unwrap_or_default();
        rest.starts_with("'s") || rest.starts_with("’s")
    }

    /// Names of what is there that nothing was made of yet. Days are no names, and a number by itself is an amount where the tool takes one.
    fn mentions(&self) -> Vec<Mention> {
        let inside = |mention: &Mention, at: usize| {
            self.tokens.get(at).is_some_and(|token| token.start >= mention.start && token.end <= mention.end)
        };
        let free = |mention: &&Mention| {
            let own: Vec<usize> = (0..self.tokens.len()).filter(|at| inside(mention, *at)).collect();
            let number = self.text.slice(mention.start, mention.end).parse::<u64>().is_ok();
            let amount = number
                && !mention.numbered
                && own.first().is_some_and(|at| *at > 1)
                && self.tool.field(Role::Number).is_some();
            own.iter().any(|at| !self.is_used(*at)) && !own.iter().any(|at| self.is_day(*at)) && !amount
        };
        self.ground.within(self.start, self.end).filter(free).cloned().collect()
    }

    /// Whether one name is said after another to be one of several: "Bella and Coco".
    fn joined(&self, first: &Mention, second: &Mention) -> bool {
        let between = self.text.plain.get(first.end..second.start).unwrap_or_default().trim();
        let between = between.trim_end_matches(" the").trim_end_matches(" my").trim();
        [",", "and", "&", ", and", "plus"].contains(&between)
    }

    /// Puts every name of something that is there where it belongs.
    pub(super) fn grounded(&mut self) {
        let mentions = self.mentions();
        let acts = self.tool.target().is_some() && self.out.id.is_none();
        let mut rest: Vec<&Mention> = Vec::new();
        // One set for each name that stands by itself.
        let mut sets: Vec<(&Mention, BTreeSet<usize>)> = Vec::new();
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
            match sets.last_mut() {
                None => sets.push((mention, own)),
                Some((last, _)) if self.joined(last, mention) => sets.push((mention, own)),
                Some((last, known)) if !known.is_disjoint(&own) => {
                    known.retain(|at| own.contains(at));
                    *last = mention;
                }
                Some(_) => rest.push(mention),
            }
        }
        // One of several that may be two things is asked about by whoever looks it up.
        if sets.len() > 1 && sets.iter().any(|(_, set)| set.len() != 1) {
            return;
        }
        let all = sets.len() > 1;
        let by_name = !sets.is_empty();
        let mut meant: Vec<usize> = sets.iter().flat_map(|(_, set)| set.iter().copied()).collect();
        if by_name {
            let used: Vec<(usize, usize)> = mentions
                .iter()
                .filter(|mention| {
                    !rest.iter().any(|other| other.start == mention.start)
                        && !self.own(mention, true).is_empty()
                })
                .map(|mention| (mention.start, mention.end))
                .collect();
            used.into_iter().for_each(|(start, end)| self.mark(start, end));
        }
        let late = self.place(rest, acts, all, &mut meant);
        self.out.unplaced = late.len();
        if !meant.is_empty() {
            let places = self.on_the_day(meant, all);
            let things = places.iter().filter_map(|at| self.thing(*at)).collect();
            self.out.grounded =
                Some(Grounded { things, all, by_name, firm: mentions.iter().any(Mention::is_firm) });
        }
    }

    /// Puts names of other things into fields, or lets them say which one is meant. Gives back what could not be placed.
    fn place<'m>(
        &mut self,
        rest: Vec<&'m Mention>,
        acts: bool,
        all: bool,
        meant: &mut Vec<usize>,
    ) -> Vec<&'m Mention> {
        let points = (0..self.tokens.len()).any(|at| self.points(at));
        let mut late: Vec<&Mention> = Vec::new();
        for mention in rest {
            let own = if acts { self.own(mention, false) } else { BTreeSet::new() };
            let field = self.takes(mention);
            // What narrows down which one is meant, or is the only thing that says it.
            let narrows = if meant.is_empty() {
                let taken = field.as_ref().is_some_and(|field| field.required || self.leads(mention));
                !own.is_empty() && !taken && (!points || self.possessive(mention))
            } else {
                let led = field.is_some() && self.leads(mention);
                !all && meant.len() > 1 && meant.iter().any(|at| own.contains(at)) && !led
            };
            if narrows {
                if meant.is_empty() {
                    meant.extend(&own);
                } else {
                    meant.retain(|at| own.contains(at));
                }
                self.mark(mention.start, mention.end);
                continue;
            }
            let Some(field) = field else {
                // Whose it is, is known of it already.
                if meant.iter().any(|at| own.contains(at)) {
                    self.mark(mention.start, mention.end);
                } else {
                    late.push(mention);
                }
                continue;
            };
            self.put_name(mention, &field);
        }
        if meant.is_empty() && acts {
            self.known_by_another(&mut late);
        }
        late
    }

    /// A name as the value of a field.
    fn put_name(&mut self, mention: &Mention, field: &Known) {
        let words = self.text.slice(mention.start, mention.end).to_owned();
        let piece = Piece { words, start: mention.start, end: mention.end };
        self.mark(mention.start, mention.end);
        self.near(mention.start, &field.words.clone());
        let span = Some((piece.start, piece.end));
        self.put(&field.name, Self::text_value(&piece), span, "it is the name of one", 1.5);
        if field.of.is_some() && field.role == Role::Open {
            let of = |at: &&usize| {
                self.ground
                    .world
                    .get(**at)
                    .is_some_and(|seen| Some(&seen.thing.entity_type) == field.of.as_ref())
            };
            let things: Vec<Thing> =
                mention.named.iter().filter(of).filter_map(|at| self.thing(*at)).collect();
            if let [only] = things.as_slice() {
                self.out.known.insert(field.name.clone(), only.clone());
            }
            self.out.refs.push((field.name.clone(), piece));
        }
        self.out.placed += 1;
        self.out.firm |= mention.is_firm();
    }

    /// "Table 4 has paid": a bill is known by its table.
    fn known_by_another(&mut self, late: &mut Vec<&Mention>) {
        let Some(selector) = self.tool.field(Role::Selector) else { return };
        let kind = |at: &usize| {
            self.ground.world.get(*at).is_some_and(|seen| {
                seen.domain == self.tool.tool.domain
                    && selector.words.iter().any(|word| singular(word) == seen.thing.entity_type)
            })
        };
        let Some(at) = late.iter().position(|mention| mention.named.iter().any(kind)) else { return };
        let mention = late.remove(at);
        let words = self.text.slice(mention.start, mention.end).to_owned();
        self.mark(mention.start, mention.end);
        self.out.target = Some(Piece { words, start: mention.start, end: mention.end });
        self.out.firm |= mention.is_firm();
        self.out.placed += 1;
    }

    /// "Tuesday's Spinning": of several with one name, those of the day that is said. Where a day is to be set, and behind a word that leads to
    /// one, it says nothing of which.
    fn on_the_day(&mut self, places: Vec<usize>, all: bool) -> Vec<usize> {
        if places.len() < 2 || all || (self.tool.field(Role::Day).is_some() && !self.tool.tool.read_only) {
            return places;
        }
        let days: Vec<_> =
            self.days.iter().filter(|day| day.start >= self.start && day.end <= self.end).cloned().collect();
        for day in days {
            let lead = self.text.plain.get(self.start..day.start).unwrap_or_default().trim_end();
            if ["to", "until", "till", "by", "before"].iter().any(|word| lead.ends_with(word)) {
                continue;
            }
            let date = day.from.to_string();
            let on = |at: &usize| {
                self.ground.world.get(*at).is_some_and(|seen| {
                    let dated = |(field, value): (&String, &serde_json::Value)| {
                        !field.contains("created")
                            && !field.contains("updated")
                            && value.as_str().is_some_and(|value| value.starts_with(&date))
                    };
                    seen.thing.attributes.iter().any(dated)
                })
            };
            let some: Vec<usize> = places.iter().copied().filter(on).collect();
            if !some.is_empty() && some.len() < places.len() {
                self.mark(day.start, day.end);
                return some;
            }
        }
        places
    }

    /// Whether values of a field are names, by what is there or by its description.
    pub(super) fn bears_names(&self, field: &Known) -> bool {
        let lower = ["name", "who", "person", "firm", "company"];
        if field.person
            || lower.iter().any(|word| field.cues.contains(&crate::understand::lexicon::root(word)))
        {
            return true;
        }
        let looks = self.ground.looks(self.tool.tool.domain.as_ref(), &field.name);
        looks.is_some_and(|looks| looks.all > 1 && looks.names * 3 > looks.all * 2)
    }

    /// Names that nobody knows yet go to the fields that need a name: "open a ticket for Mia Lang".
    pub(super) fn names_left(&mut self) {
        if self.tool.tool.read_only {
            return;
        }
        let needed = |filler: &Self| -> Option<Known> {
            let open = |field: &&Known| {
                field.required
                    && field.role == Role::Open
                    && !filler.has(&field.name)
                    && filler.bears_names(field)
            };
            // A name that nobody knows is rather that of something of which nothing is known at all.
            let unseen = |field: &&Known| {
                !filler.ground.world.iter().any(|seen| Some(&seen.thing.entity_type) == field.of.as_ref())
            };
            let fields = || filler.tool.fields.iter().filter(open);
            fields().find(unseen).or_else(|| fields().next()).cloned()
        };
        let titled =
            self.open(Role::Title).is_some_and(|field| field.required) && self.tool.class == Class::Create;
        // What a word leads to comes first; the first name by itself is the title of what is made.
        for led_only in [true, false] {
            while let Some(field) = needed(self) {
                let Some((from, to)) = self.free_name(led_only, titled) else { break };
                let Some(piece) = self.piece(from, to) else { break };
                let (value, span) = (Self::text_value(&piece), Some((piece.start, piece.end)));
                self.near(piece.start, &field.words.clone());
                self.put(&field.name, value, span, "it is a name, and one is needed", 0.8);
                let added =
                    self.tool.tool.description.contains("not known yet") || field.cues.contains("full");
                if field.of.is_some()
                    && !added
                    && self.ground.world.iter().any(|seen| Some(&seen.thing.entity_type) == field.of.as_ref())
                {
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
        let seen = |field: &Known| {
            self.ground.world.iter().any(|seen| Some(&seen.thing.entity_type) == field.of.as_ref())
        };
        let open = |field: &&Known| {
            field.role == Role::Open && !field.required && !self.has(&field.name) && seen(field)
        };
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
            self.tokens
                .get(at)
                .is_some_and(|token| token.capital && !token.quoted && self.ground.at(token.start).is_none())
                && !self.is_used(at)
                && !self.is_day(at)
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
            let opens = at == 0
                && to == 0
                && !["has", "is", "wants", "would", "will", "needs", "gets", "takes"]
                    .contains(&self.lower(1));
            if !opens {
                runs.push((at, to));
            }
            at = to + 1;
        }
        let led = |from: usize| {
            from.checked_sub(1).is_some_and(|before| {
                ["for", "from", "by", "to", "with", "of", "at", "mr", "mrs", "ms", "dr"]
                    .contains(&self.lower(before))
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
            let Some(looks) = self.ground.looks(self.tool.tool.domain.as_ref(), &field.name) else {
                continue;
            };
            if looks.shapes.is_empty() {
                continue;
            }
            let piece = self.text.raw.get(self.start..self.end).unwrap_or_default();
            let mut at = self.start;
            for word in piece.split(' ') {
                let bare = word.trim_matches([',', '.', '?', '!', ';']);
                let from = at + word.find(bare).unwrap_or(0);
                at += word.len() + 1;
                let used = (0..self.tokens.len()).any(|place| {
                    self.tokens
                        .get(place)
                        .is_some_and(|token| token.start >= from && token.end <= from + bare.len())
                        && self.is_used(place)
                });
                if !bare.is_empty() && !used && looks.shapes.contains(&shape(bare)) {
                    self.mark(from, from + bare.len());
                    self.near(from, &field.words.clone());
                    self.put(
                        &field.name,
                        serde_json::json!(bare),
                        Some((from, from + bare.len())),
                        "it is written like its values",
                        1.5,
                    );
                    break;
                }
            }
        }
    }

    /// The one text that a tool still needs, once it is known what it acts on: "record a flea treatment for Oliver".
    pub(super) fn needed_text(&mut self) {
        let points = (0..self.tokens.len()).any(|at| self.points(at));
        if self.tool.tool.read_only
            || !(self.out.grounded.is_some() || self.out.id.is_some() || points || self.out.placed > 0)
        {
            return;
        }
        let needed = |field: &&Known| {
            field.required
                && matches!(field.role, Role::Open | Role::Long | Role::Title)
                && !self.has(&field.name)
        };
        let fields: Vec<Known> = self.tool.fields.iter().filter(needed).cloned().collect();
        let [field] = fields.as_slice() else { return };
        if field.person {
            return;
        }
        // Words that only say how it is are no text, and one word is no message.
        for at in 0..self.tokens.len() {
            let how = [
                "here", "there", "now", "back", "again", "already", "just", "yet", "away", "ready", "today",
                "still",
            ];
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
