//! Unknown names, codes, and a text that is still required, if the existing records are known.
//!
//! Invariant: the words used here name no known record. A field for records of a known type is
//! checked before anything is executed.

use super::Filler;
use crate::understand::catalogue::{Role, ToolField};
use crate::understand::ground::shape;
use crate::understand::lexicon::{root, same_field};
use crate::understand::verbs::Class;

impl Filler<'_> {
    /// Whether values of a field are names, by the known values or by its description.
    pub(super) fn bears_names(&self, field: &ToolField) -> bool {
        let lower = ["name", "who", "person", "firm", "company"];
        if field.person || lower.iter().any(|word| field.cues.contains(&root(word))) {
            return true;
        }
        let looks = self.ground.looks(self.tool.tool.domain.as_ref(), &field.name);
        looks.is_some_and(|looks| looks.all > 1 && looks.names * 3 > looks.all * 2)
    }

    /// Assigns unknown names to the fields that need a name: "open a ticket for Mia Lang".
    pub(super) fn names_left(&mut self) {
        if self.tool.tool.read_only {
            return;
        }
        let needed = |filler: &Self| -> Option<ToolField> {
            let open = |field: &&ToolField| {
                field.required
                    && field.role == Role::Open
                    && !filler.has(&field.name)
                    && filler.bears_names(field)
            };
            // An unknown name is more likely of a type without known records.
            let unseen = |field: &&ToolField| {
                !filler.ground.world.iter().any(|seen| Some(&seen.thing.entity_type) == field.of.as_ref())
            };
            let fields = || filler.tool.fields.iter().filter(open);
            fields().find(unseen).or_else(|| fields().next()).cloned()
        };
        let titled =
            self.open(Role::Title).is_some_and(|field| field.required) && self.tool.class == Class::Create;
        // Names after a preposition come first; the first name without one is the title of the new
        // record.
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

    /// An unknown name for an optional field of an existing record: "add Ella Dorn at Umbrella".
    pub(super) fn strangers(&mut self) {
        if self.tool.tool.read_only || self.ground.world.is_empty() {
            return;
        }
        let seen = |field: &ToolField| {
            self.ground.world.iter().any(|seen| Some(&seen.thing.entity_type) == field.of.as_ref())
        };
        let open = |field: &&ToolField| {
            field.role == Role::Open && !field.required && !self.has(&field.name) && seen(field)
        };
        let Some(field) = self.tool.fields.iter().find(open).cloned() else { return };
        let Some((from, to)) = self.free_name(true, false) else { return };
        let Some(piece) = self.piece(from, to) else { return };
        let (value, span) = (Self::text_value(&piece), Some((piece.start, piece.end)));
        self.put(&field.name, value, span, "it is a name, and one may be given", 0.5);
        self.out.refs.push((field.name.clone(), piece));
    }

    /// The next unused run of words that is written as a name.
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
            // A capital at the start is a name only if another follows, or a statement about it.
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

    /// "To D-06": a code with the same pattern as a field's known values.
    pub(super) fn coded(&mut self) {
        let fields: Vec<ToolField> = self
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

    /// The only text that a tool still requires, once its target is known: "record a flea treatment
    /// for Oliver".
    pub(super) fn needed_text(&mut self) {
        let points = (0..self.tokens.len()).any(|at| self.points(at));
        if self.tool.tool.read_only
            || !(self.out.grounded.is_some() || self.out.id.is_some() || points || self.out.placed > 0)
        {
            return;
        }
        let needed = |field: &&ToolField| {
            field.required
                && matches!(field.role, Role::Open | Role::Long | Role::Title)
                && !self.has(&field.name)
        };
        let fields: Vec<ToolField> = self.tool.fields.iter().filter(needed).cloned().collect();
        let [field] = fields.as_slice() else { return };
        if field.person {
            return;
        }
        // Adverbs are not a text, and one word is not a message.
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
        // The field's name is part of the text if something precedes it: "a flea treatment".
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
