//! Names of known records: the record that the tool acts on, or the value of one of its fields.
//!
//! Invariant: only words that name a known record are used here. Two names that can refer to one
//! record refer to that record: "Sofia's Luna" is the Luna whose owner is Sofia.

use super::{Filler, Piece};
use crate::understand::catalogue::{Role, ToolField};
use crate::understand::ground::Mention;
use crate::understand::lexicon::{same_field, same_noun, singular};
use crate::understand::types::RecordRef;
use crate::understand::verbs::Class;
use std::collections::BTreeSet;

/// The record that is acted on, by its name.
#[derive(Debug, Clone, Default)]
pub(in crate::understand) struct Grounded {
    /// The records that are meant, or the candidates.
    pub(in crate::understand) things: Vec<RecordRef>,
    /// Whether all of them are meant: "Bella and Coco".
    pub(in crate::understand) all: bool,
    /// Whether it was found by its own name, and not only by one of its values.
    pub(in crate::understand) by_name: bool,
    /// Whether a name in the clause matches more than a single word of a longer name.
    pub(in crate::understand) firm: bool,
}

impl Filler<'_> {
    /// The indexes of the known records that a mention refers to, among those that this tool acts
    /// on.
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

    /// The field that takes the named value: by the type of the record with that name, or by the
    /// field with that value.
    fn takes(&self, mention: &Mention) -> Option<ToolField> {
        let kinds: BTreeSet<&str> = mention
            .named
            .iter()
            .filter_map(|at| self.ground.world.get(*at))
            .filter(|seen| seen.domain == self.tool.tool.domain)
            .map(|seen| seen.thing.entity_type.as_str())
            .collect();
        let free = |field: &&ToolField| {
            matches!(field.role, Role::Open | Role::Query | Role::Selector | Role::Title)
                && !self.has(&field.name)
                && !(field.role == Role::Title && self.tool.class == Class::Create)
                && field.role != Role::Selector
        };
        let fields = || self.tool.fields.iter().filter(free);
        let typed = |field: &&ToolField| {
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
        let valued = |field: &&ToolField| {
            mention.valued.iter().any(|(name, seen)| {
                here(seen)
                    && (*name == field.name || field.words.last().is_some_and(|word| same_field(word, name)))
            })
        };
        let query = |field: &&ToolField| field.role == Role::Query && !kinds.is_empty();
        let needed = |field: &&ToolField| {
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

    /// Whether a preposition that introduces a value precedes: "to the Family loft".
    fn leads(&self, mention: &Mention) -> bool {
        let mut before = self.tokens.iter().rev().filter(|token| token.end <= mention.start);
        let word = before.find(|token| {
            !["the", "a", "an", "my", "our", "mr", "mrs", "ms", "dr"].contains(&token.lower.as_str())
        });
        word.is_some_and(|word| ["to", "into", "onto", "with", "as", "by"].contains(&word.lower.as_str()))
    }

    fn thing(&self, at: usize) -> Option<RecordRef> {
        let seen = self.ground.world.get(at)?;
        let (entity_type, name) = (seen.thing.entity_type.clone(), seen.thing.name.clone());
        let (domain, by) = (seen.domain.clone(), Some(seen.by.clone()));
        Some(RecordRef { entity_type, id: seen.thing.id_text(), name, domain, by, removed: false })
    }

    /// A possessive: "Bella's".
    fn possessive(&self, mention: &Mention) -> bool {
        let rest = self.text.raw.get(mention.end..).unwrap_or_default();
        rest.starts_with("'s") || rest.starts_with("’s")
    }

    /// Names of known records that were not used yet. Dates are not names, and a plain number is an
    /// amount if the tool takes one.
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

    /// Whether two names are coordinated: "Bella and Coco".
    fn joined(&self, first: &Mention, second: &Mention) -> bool {
        let between = self.text.plain.get(first.end..second.start).unwrap_or_default().trim();
        let between = between.trim_end_matches(" the").trim_end_matches(" my").trim();
        [",", "and", "&", ", and", "plus"].contains(&between)
    }

    /// Assigns every name of a known record.
    pub(super) fn grounded(&mut self) {
        let mentions = self.mentions();
        let acts = self.tool.target().is_some() && self.out.id.is_none();
        let mut rest: Vec<&Mention> = Vec::new();
        // One set for each independent name.
        let mut sets: Vec<(&Mention, BTreeSet<usize>)> = Vec::new();
        for mention in &mentions {
            let own = self.own(mention, true);
            // A lower-case part of a name is ignored if something is created.
            let vague = !mention.whole && !mention.capital && self.tool.class == Class::Create;
            if vague && self.takes(mention).is_none_or(|field| field.of.is_none()) {
                continue;
            }
            // "Rename task 1 to Buy oat milk": the record is already identified by its number.
            if self.out.id.is_some() && !mention.whole && !own.is_empty() {
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
        // If one of several names is ambiguous, the lookup asks about it.
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

    /// Assigns names of other records to fields, or uses them to narrow down the target. Returns
    /// those that could not be assigned.
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
            // Narrows down the target, or is the only hint for it.
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
                // The owner is already a known value of the target.
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

    /// Assigns a name to a field.
    fn put_name(&mut self, mention: &Mention, field: &ToolField) {
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
            let things: Vec<RecordRef> =
                mention.named.iter().filter(of).filter_map(|at| self.thing(*at)).collect();
            if let [only] = things.as_slice() {
                self.out.known.insert(field.name.clone(), only.clone());
            }
            self.out.refs.push((field.name.clone(), piece));
        }
        self.out.placed += 1;
        self.out.firm |= mention.is_firm();
    }

    /// "Table 4 has paid": a bill is identified by its table.
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
        self.out.by_another = true;
        self.out.firm |= mention.is_firm();
        self.out.placed += 1;
    }

    /// "Tuesday's Spinning": of several records of one name, those of the given day. A day that is
    /// to be set, or that follows a preposition, does not identify a record.
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
}
