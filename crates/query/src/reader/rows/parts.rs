//! What is asked for, and what rows are compared by.

use super::super::lexicon::{Operator, adjective};
use super::super::link::ColumnRef;
use super::super::lists::has_word;
use super::conditions::ConditionSet;
use super::{Question, RowFeature, weigh};
use crate::roles::Role;

/// Columns that are tried as what is asked for, and as a scale.
const TARGETS: usize = 5;
const KEYS: usize = 4;

/// A column with the features of its part.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub place: ColumnRef,
    pub features: Vec<RowFeature>,
}

const PEOPLE: &str = "name player driver artist winner person nominee actor rider director candidate athlete \
    champion author swimmer skater president coach manager member recipient singer performer";
const PLACES: &str = "location venue place city site country stadium town state region";
const RANKS: &str = "rank position pos place no # number";

impl Question<'_> {
    pub(super) fn text(&self, at: usize) -> String {
        self.marks.get(at).map(|mark| mark.text.to_lowercase()).unwrap_or_default()
    }
    pub(super) fn operator(&self, at: usize) -> Option<Operator> {
        self.marks.get(at)?.operator
    }
    pub(super) fn has(&self, name: &str) -> bool {
        self.cues.iter().any(|cue| cue.name == name)
    }
    pub(super) fn label(&self, place: ColumnRef) -> String {
        self.schema.column(place).map(|column| column.label.to_lowercase()).unwrap_or_default()
    }
    /// A column whose cells can be compared as numbers or moments.
    pub(super) fn is_scale(&self, place: ColumnRef) -> bool {
        let kind = self.schema.column(place).map(|column| column.kind);
        kind.is_some_and(|kind| kind.is_number() || kind.is_time()) || self.schema.has_numbers(place)
    }
    pub(super) fn is_number(&self, place: ColumnRef) -> bool {
        self.schema.column(place).is_some_and(|column| column.kind.is_number())
            || self.schema.has_numbers(place)
    }
    /// How well a mark names a column, where it does not rather name a value.
    pub(super) fn naming(&self, at: usize, place: ColumnRef) -> f32 {
        let Some(mark) = self.marks.get(at) else { return 0.0 };
        let found = mark.columns.iter().find(|(known, _)| *known == place).map_or(0.0, |(_, fit)| *fit);
        let best = mark.column_quality();
        if found + 0.05 < mark.value_quality() || found + 0.3 < best { 0.0 } else { found }
    }

    /// The mark right behind the question word: what is asked for.
    fn asked(&self) -> Option<usize> {
        let wh = (0..self.marks.len()).find(|at| {
            matches!(self.operator(*at), Some(Operator::Which | Operator::Show | Operator::Count))
        })?;
        (wh + 1..self.marks.len()).find(|next| {
            let small = matches!(
                self.operator(*next),
                Some(
                    Operator::Filler
                        | Operator::Of
                        | Operator::Is
                        | Operator::Superlative(_)
                        | Operator::Top(_)
                        | Operator::Distinct
                        | Operator::Only
                        | Operator::Common(_)
                )
            );
            let number = self.marks.get(*next).is_some_and(|mark| mark.number.is_some());
            let cue = self
                .cues
                .iter()
                .any(|cue| cue.mark == *next && ["first", "last", "next", "previous"].contains(&cue.name));
            !(small || number || cue || adjective(&self.text(*next), true).is_some())
        })
    }

    fn named(&self, part: &'static str, place: ColumnRef, set: &ConditionSet) -> Vec<RowFeature> {
        let mut best: Option<(usize, f32)> = None;
        for at in 0..self.marks.len() {
            let fit = self.naming(at, place) * if set.uses(at) { 0.6 } else { 1.0 };
            if fit > best.map_or(0.25, |(_, known)| known) {
                best = Some((at, fit));
            }
        }
        let name = match best {
            Some((_, fit)) if fit >= 0.95 => "named whole",
            Some((_, fit)) if fit >= 0.6 => "named well",
            Some((_, fit)) if fit >= 0.45 => "named in part",
            Some(_) => "named weakly",
            None => "not named",
        };
        vec![((part, name), 1.0)]
    }

    /// Columns that may be asked for, the likeliest first.
    pub(super) fn targets(&self, set: &ConditionSet) -> Vec<Part> {
        const PART: &str = "target";
        let asked = self.asked();
        let display = self.schema.display_without(0, &[]).and_then(|places| places.first().copied());
        let first_text = self
            .schema
            .places()
            .find(|(place, role)| matches!(role, Role::Text | Role::Category) && !self.is_scale(*place));
        let mut found: Vec<(Part, f32)> = Vec::new();
        for (place, role) in self.schema.places() {
            let mut features = self.named(PART, place, set);
            let mut add = |name: &'static str| features.push(((PART, name), 1.0));
            if let Some(asked) = asked {
                match self.naming(asked, place) {
                    fit if fit >= 0.95 => add("asked whole"),
                    fit if fit >= 0.5 => add("asked"),
                    fit if fit > 0.2 => add("asked weakly"),
                    _ => {}
                }
            }
            let label = self.label(place);
            let fits = |list: &str| {
                label.split(|c: char| !c.is_alphanumeric()).any(|word| {
                    list.split_whitespace()
                        .any(|known| known == word || word.strip_suffix('s') == Some(known))
                })
            };
            let time = matches!(role, Role::Time | Role::Year) || fits("year date season");
            let number = self.is_number(place);
            let opening = self.marks.iter().position(|mark| mark.operator == Some(Operator::Which));
            let word = opening.map(|at| self.text(at)).unwrap_or_default();
            match () {
                () if has_word("who whom", &word) && fits(PEOPLE) => add("person asked"),
                () if has_word("who whom", &word) && number => add("person asked, number"),
                () if has_word("who whom", &word) => add("person asked, other"),
                () if has_word("when", &word) && time => add("time asked"),
                () if has_word("when", &word) => add("time asked, other"),
                () if has_word("where", &word) && fits(PLACES) => add("place asked"),
                () if has_word("where", &word) && number => add("place asked, number"),
                () => {}
            }
            if self.has("when") && time {
                add("time word");
            }
            if Some(place) == display {
                add("display");
            }
            if first_text.is_some_and(|(known, _)| known == place) {
                add("first text");
            }
            if place.column == 0 {
                add("first column");
            }
            if set.has_place(place) {
                add("under a condition");
            }
            if number {
                add(if self.has("count") || self.has("much") { "number, counted" } else { "number" });
            }
            if role == Role::Identifier || fits(RANKS) {
                add("identifier");
            }
            let score = weigh(&features);
            found.push((Part { place, features }, score));
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.into_iter().take(TARGETS).map(|(part, _)| part).collect()
    }

    /// Scales that rows may be compared by, the likeliest first.
    pub(super) fn keys(&self, set: &ConditionSet) -> Vec<Part> {
        const PART: &str = "key";
        let cue = self.cues.iter().find(|cue| {
            [
                "largest",
                "smallest",
                "more",
                "less",
                "first",
                "last",
                "difference",
                "average",
                "total",
                "count",
            ]
            .contains(&cue.name)
        });
        let behind = cue.and_then(|cue| {
            (cue.mark..self.marks.len()).find(|at| {
                !set.uses(*at)
                    && self
                        .schema
                        .places()
                        .any(|(place, _)| self.is_scale(place) && self.naming(*at, place) >= 0.45)
            })
        });
        let scales: Vec<(ColumnRef, Role)> =
            self.schema.places().filter(|(place, _)| self.is_scale(*place)).collect();
        let plain = |role: Role| matches!(role, Role::Measure | Role::Rate);
        let single = scales.iter().filter(|(_, role)| plain(*role)).count() == 1;
        let mut found: Vec<(Part, f32)> = Vec::new();
        for (place, role) in scales {
            let mut features = self.named(PART, place, set);
            let mut add = |name: &'static str| features.push(((PART, name), 1.0));
            if behind.is_some_and(|at| self.naming(at, place) >= 0.45) {
                add("behind the cue");
            }
            if let Some(fit) = self.adjective_fit(place) {
                add(if fit >= 0.9 { "of the adjective" } else { "near the adjective" });
            }
            if single && plain(role) {
                add("only scale");
            }
            add(match role {
                Role::Year => "year",
                Role::Time => "time",
                Role::Identifier => "identifier",
                Role::Measure => "measure",
                Role::Rate => "rate",
                _ => "text",
            });
            let label = self.label(place);
            if RANKS.split_whitespace().any(|word| label.split(' ').any(|known| known == word)) {
                add("rank");
            }
            if set.has_place(place) {
                add("under a condition");
            }
            let score = weigh(&features);
            found.push((Part { place, features }, score));
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.into_iter().take(KEYS).map(|(part, _)| part).collect()
    }

    /// How well a column fits an adjective of the question: "oldest" and age.
    fn adjective_fit(&self, place: ColumnRef) -> Option<f32> {
        let mut best: Option<f32> = None;
        for at in 0..self.marks.len() {
            let text = self.text(at);
            let comparative = text.strip_suffix("er").map(|root| format!("{root}est"));
            let found = adjective(&text, true)
                .or_else(|| comparative.as_deref().and_then(|text| adjective(text, true)))
                .or_else(|| adjective(&text, false));
            let Some(found) = found else { continue };
            for (rank, word) in found.about.iter().enumerate() {
                let fit = self.schema.fits(place, word) - 0.03 * rank as f32;
                if fit >= 0.55 && best.is_none_or(|known| fit > known) {
                    best = Some(fit);
                }
            }
        }
        best
    }
}
