//! Questions about rows of one table: which row, how many rows, the row next to another, the
//! difference of two rows.
//!
//! People ask so of small tables that they can see. The answer is a cell, a count or one number
//! over a few cells.

mod conditions;

use super::form::{Beside, Filter, Form, Group, Measure, OrderKey, Scalar};
use super::lexicon::{Operator, adjective};
use super::link::{ColumnRef, Mark, Schema};
use super::lists::{ListReading, has_word};
use crate::query::{Aggregate, Compare};
use crate::roles::Role;

const NEXT: &str = "after next following follows followed behind below succeeded";
const PREVIOUS: &str = "before previous preceding precedes preceded above prior ahead";
const MORE: &str =
    "more higher greater larger bigger longer better later older taller heavier most highest largest";
const LESS: &str =
    "less lower fewer smaller shorter worse earlier younger lighter least lowest smallest fewest";
const FIRST: &str = "first earliest 1st initial";
const LAST: &str = "last latest final recent newest";
const LISTED: &str = "listed list table chart row rows entries entry times time total number";

/// Rows of a table that people look at one by one.
const SMALL: u64 = 500;

/// A reader of one question.
struct Reader<'a> {
    marks: &'a [Mark],
    schema: &'a Schema<'a>,
    used: Vec<bool>,
    /// Conditions, with the marks that say them.
    filters: Vec<(usize, Filter)>,
    cost: f32,
}

/// Readings of a question about the rows of the only table.
pub(super) fn read(marks: &[Mark], schema: &Schema) -> Vec<ListReading> {
    // The rows of a large table are not looked at one by one: its cells are added up.
    let small = schema.table(0).is_some_and(|table| table.rows.is_some_and(|rows| rows <= SMALL));
    if schema.catalogue.tables.len() != 1 || !small {
        return Vec::new();
    }
    let mut reader = Reader { marks, schema, used: vec![false; marks.len()], filters: Vec::new(), cost: 0.0 };
    reader.read_conditions();
    let mut readings = Vec::new();
    for choice in 0..3 {
        let mut reader = Reader {
            marks,
            schema,
            used: reader.used.clone(),
            filters: reader.filters.clone(),
            cost: 0.15 * choice as f32,
        };
        let Some(form) = reader.form(choice) else { break };
        if !readings.iter().any(|known: &ListReading| known.form == form) {
            readings.push(ListReading { form, used: reader.used, cost: reader.cost });
        }
    }
    readings
}

impl Reader<'_> {
    fn text(&self, at: usize) -> String {
        self.marks.get(at).map(|mark| mark.text.to_lowercase()).unwrap_or_default()
    }
    fn operator(&self, at: usize) -> Option<Operator> {
        self.marks.get(at)?.operator
    }
    fn take(&mut self, at: usize) {
        if let Some(used) = self.used.get_mut(at) {
            *used = true;
        }
    }
    fn is_used(&self, at: usize) -> bool {
        self.used.get(at).copied().unwrap_or(true)
    }
    fn find_word(&self, list: &str) -> Option<usize> {
        (0..self.marks.len()).find(|at| has_word(list, &self.text(*at)) && self.is_free(*at))
    }
    /// Says nothing about a column or a value.
    fn is_free(&self, at: usize) -> bool {
        self.marks.get(at).is_some_and(|mark| mark.column_quality() < 0.95 && mark.value_quality() < 0.95)
            && !self.filters.iter().any(|(known, _)| *known == at)
    }
    /// The column that a mark names, with how well.
    fn column_at(&self, at: usize) -> Option<(ColumnRef, f32)> {
        let mark = self.marks.get(at)?;
        let best = mark.columns.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (best.1 >= 0.4 && best.1 + 0.05 >= mark.value_quality()).then_some(best)
    }
    /// A column whose cells can be compared as numbers or moments.
    fn is_scale(&self, place: ColumnRef) -> bool {
        let kind = self.schema.column(place).map(|column| column.kind);
        kind.is_some_and(|kind| kind.is_number() || kind.is_time()) || self.schema.has_numbers(place)
    }
    fn is_number(&self, place: ColumnRef) -> bool {
        self.schema.column(place).is_some_and(|column| column.kind.is_number())
            || self.schema.has_numbers(place)
    }

    /// Two values of one column: the things that a question compares.
    fn compared(&self) -> Option<(ColumnRef, Vec<String>)> {
        let mut found: Option<(ColumnRef, Vec<String>)> = None;
        for (_, filter) in &self.filters {
            let Filter::Values { place, values, negated: false } = filter else { continue };
            match &mut found {
                Some((known, all)) if known == place => all.extend(values.iter().cloned()),
                Some(_) => {}
                None => found = Some((*place, values.clone())),
            }
        }
        let marks =
            |place: ColumnRef| self.filters.iter().filter(|(_, filter)| filter.place() == place).count();
        found.filter(|(place, _)| marks(*place) == 2)
    }

    /// A mark between a question word and the noun that it asks for.
    fn is_passed_over(&self, at: usize) -> bool {
        let text = self.text(at);
        let small = matches!(
            self.operator(at),
            Some(
                Operator::Filler
                    | Operator::Of
                    | Operator::Is
                    | Operator::Superlative(_)
                    | Operator::Top(_)
                    | Operator::Distinct
                    | Operator::Only
            )
        );
        small
            || self.marks.get(at).is_some_and(|mark| mark.number.is_some())
            || [FIRST, LAST, NEXT, PREVIOUS].iter().any(|list| has_word(list, &text))
            || adjective(&text, true).is_some()
    }

    /// The column that an answer is taken from, best first.
    fn targets(&self, without: &[ColumnRef]) -> Vec<ColumnRef> {
        let wh = (0..self.marks.len()).find(|at| {
            matches!(self.operator(*at), Some(Operator::Which | Operator::Show)) && self.is_free(*at)
        });
        let word = wh.map(|at| self.text(at)).unwrap_or_default();
        let asked = wh.and_then(|at| (at + 1..self.marks.len()).find(|next| !self.is_passed_over(*next)));
        let noun = asked.map(|at| self.text(at)).unwrap_or_default();
        let filtered = |place: ColumnRef| self.filters.iter().any(|(_, filter)| filter.place() == place);
        let display = self.schema.display_without(0, without).and_then(|places| places.first().copied());
        let mut scores: Vec<(ColumnRef, f32)> = Vec::new();
        for (place, role) in self.schema.places() {
            if without.contains(&place) {
                continue;
            }
            let mut score = 0.0_f32;
            for at in 0..self.marks.len() {
                if let Some((known, quality)) = self.column_at(at).filter(|(known, _)| *known == place) {
                    let near = if Some(at) == asked {
                        1.0
                    } else if self.is_used(at) {
                        0.0
                    } else {
                        0.45
                    };
                    score = score.max(quality * near);
                    let _ = known;
                }
            }
            let label =
                self.schema.column(place).map(|column| column.label.to_lowercase()).unwrap_or_default();
            let fits = |list: &str| list.split(' ').any(|word| label.contains(word));
            let time = matches!(role, Role::Time | Role::Year);
            let typed = match (word.as_str(), noun.as_str()) {
                ("who" | "whom" | "who is", _) if role != Role::Identifier && !self.is_scale(place) => {
                    if fits("name player driver artist winner person nominee actor rider director candidate")
                    {
                        0.5
                    } else {
                        0.05
                    }
                }
                ("when", _) | (_, "year" | "date" | "season") if time || fits("year date season") => 0.6,
                ("where", _) | (_, "place" | "location" | "city")
                    if fits("location venue place city site country") =>
                {
                    0.6
                }
                _ => 0.0,
            };
            score = score.max(typed);
            if Some(place) == display {
                score += 0.3;
            } else if matches!(role, Role::Text | Role::Category) && !self.is_scale(place) {
                score += 0.12 - 0.01 * place.column as f32;
            }
            if filtered(place) {
                score -= 0.45;
            }
            scores.push((place, score));
        }
        scores.sort_by(|a, b| b.1.total_cmp(&a.1));
        scores.into_iter().map(|(place, _)| place).collect()
    }

    /// Uses the mark that names a column.
    fn use_column(&mut self, place: ColumnRef) {
        for at in 0..self.marks.len() {
            if self.column_at(at).is_some_and(|(known, _)| known == place) {
                self.take(at);
            }
        }
    }

    fn form(&mut self, choice: usize) -> Option<Form> {
        let count =
            (0..self.marks.len()).find(|at| self.operator(*at) == Some(Operator::Count) && self.is_free(*at));
        self.difference()
            .or_else(|| self.contest(choice))
            .or_else(|| self.neighbour(choice, count.is_some()))
            .or_else(|| count.and_then(|at| self.count(at, choice)))
            .or_else(|| self.aggregate(choice))
            .or_else(|| self.extreme(choice))
            .or_else(|| self.lookup(choice))
    }

    /// The numeric column that a question names, outside of its conditions.
    fn measured(&self) -> Option<(usize, ColumnRef)> {
        (0..self.marks.len())
            .filter(|at| !self.is_used(*at))
            .filter_map(|at| Some((at, self.column_at(at)?)))
            .filter(|(_, (place, _))| self.is_scale(*place))
            .max_by(|a, b| a.1.1.total_cmp(&b.1.1).then(b.0.cmp(&a.0)))
            .map(|(at, (place, _))| (at, place))
    }

    /// "how many more points does A have than B", "the difference in area between A and B".
    fn difference(&mut self) -> Option<Form> {
        let said = (0..self.marks.len()).find(|at| {
            let (text, next) = (self.text(*at), self.text(at + 1));
            has_word("difference differ", &text)
                || has_word("many much", &text) && has_word("more less fewer", &next)
        })?;
        let (_, _) = self.compared()?;
        let (at, measure) = self.measured()?;
        if !self.is_number(measure) {
            return None;
        }
        [said, said + 1, at].into_iter().for_each(|at| self.take(at));
        self.use_words("than between from and");
        let of = |aggregate| Box::new(Measure::Of(aggregate, Scalar::Column(measure)));
        Some(Form {
            measures: vec![Measure::Less(of(Aggregate::Max), of(Aggregate::Min))],
            filters: self.all_filters(),
            ..Form::default()
        })
    }

    fn use_words(&mut self, list: &str) {
        for at in 0..self.marks.len() {
            if has_word(list, &self.text(at)) && self.is_free(at) {
                self.take(at);
            }
        }
    }

    /// "who scored more points, A or B": one of two things.
    fn contest(&mut self, choice: usize) -> Option<Form> {
        let (place, _) = self.compared()?;
        (0..self.marks.len()).find(|at| self.text(*at) == "or")?;
        let key = self.key();
        let more = self.find_word(MORE);
        let less = self.find_word(LESS);
        let order = match (self.find_word(FIRST).or_else(|| self.find_word("before earlier")), key) {
            (Some(first), _) => {
                self.take(first);
                (OrderKey::Position, false)
            }
            (None, Some((at, key))) => {
                self.take(at);
                (OrderKey::Column(key), less.is_none())
            }
            (None, None) if self.find_word(LAST).is_some() => (OrderKey::Position, true),
            (None, None) if more.is_some() || less.is_some() => {
                // The thing that stands in more rows.
                self.use_words(MORE);
                return Some(Form {
                    measures: vec![Measure::Rows],
                    groups: vec![Group::Column(place)],
                    filters: self.all_filters(),
                    order: Some((OrderKey::Measure(0), more.is_some())),
                    limit: Some(1),
                    ..Form::default()
                });
            }
            _ => return None,
        };
        if choice > 0 {
            return None;
        }
        self.use_words(MORE);
        self.use_words(LESS);
        self.use_words("or than which");
        Some(Form {
            filters: self.all_filters(),
            show: vec![place],
            order: Some(order),
            limit: Some(1),
            ..Form::default()
        })
    }

    /// The row right after or before another one.
    fn neighbour(&mut self, choice: usize, counts: bool) -> Option<Form> {
        let is_name = |filter: &Filter| {
            matches!(
                filter,
                Filter::Values { negated: false, .. }
                    | Filter::Within(..)
                    | Filter::Number(_, Compare::Equal | Compare::Greater | Compare::Less, _)
            )
        };
        let (cue, after) = (0..self.marks.len()).find_map(|at| {
            let free = self.is_free(at) || self.operator(at).is_some();
            let text = self.text(at);
            if !free || self.is_used(at) && !matches!(self.operator(at), Some(Operator::Compare(_))) {
                return None;
            }
            match (has_word(NEXT, &text), has_word(PREVIOUS, &text)) {
                (true, _) => Some((at, true)),
                (_, true) => Some((at, false)),
                _ => None,
            }
        })?;
        let anchor = (self.filters.iter())
            .find(|(at, filter)| *at > cue && is_name(filter))
            .or_else(|| self.filters.iter().rev().find(|(at, filter)| *at < cue && is_name(filter)))?
            .clone();
        // "after 1975" compares years; "after the game in 1975" does not.
        let numeric = matches!(anchor.1, Filter::Number(..) | Filter::Within(..));
        let direct =
            has_word("next previous following preceding directly immediately right just", &self.text(cue))
                || self.find_word("next previous following directly immediately").is_some();
        if numeric && !direct {
            return None;
        }
        self.take(cue);
        self.use_words("next directly immediately right comes came listed finished placed to prior just");
        let rest: Vec<Filter> =
            self.filters.iter().filter(|(at, _)| *at != anchor.0).map(|(_, filter)| filter.clone()).collect();
        let anchor = match anchor.1 {
            Filter::Number(place, _, number) => Filter::Number(place, Compare::Equal, number),
            other => other,
        };
        let beside = Some(Box::new(Beside { anchor: vec![anchor.clone()], after }));
        if counts {
            return Some(Form { measures: vec![Measure::Rows], filters: rest, beside, ..Form::default() });
        }
        let mut targets = self.targets(&[]);
        // "who came after A": the answer is of the same kind as A, unless another column is named.
        let named = targets.first().copied().filter(|place| {
            (0..self.marks.len())
                .any(|at| self.column_at(at).is_some_and(|(known, fit)| known == *place && fit >= 0.6))
        });
        if named.is_none() {
            targets.insert(0, anchor.place());
        }
        let target = *targets.get(choice)?;
        self.use_column(target);
        Some(Form {
            filters: rest,
            show: vec![target],
            order: Some((OrderKey::Position, !after)),
            limit: Some(1),
            beside,
            ..Form::default()
        })
    }

    /// "how many …": rows, different values, or a number that the table holds.
    fn count(&mut self, at: usize, choice: usize) -> Option<Form> {
        self.take(at);
        let next = (at + 1..self.marks.len()).find(|next| {
            !matches!(self.operator(*next), Some(Operator::Filler | Operator::Of | Operator::Is))
        });
        let distinct = next.is_some_and(|next| self.operator(next) == Some(Operator::Distinct));
        let next = if distinct {
            next.and_then(|next| {
                self.take(next);
                (next + 1..self.marks.len()).find(|at| !matches!(self.operator(*at), Some(Operator::Filler)))
            })
        } else {
            next
        };
        let column = next
            .and_then(|next| self.column_at(next))
            .filter(|_| next.is_some_and(|next| !self.is_used(next)));
        let filters = self.all_filters();
        let rows = || Form { measures: vec![Measure::Rows], filters: filters.clone(), ..Form::default() };
        let of = |aggregate, place| Form {
            measures: vec![Measure::Of(aggregate, Scalar::Column(place))],
            filters: filters.clone(),
            ..Form::default()
        };
        if let (Some(next), Some((place, quality))) = (next, column) {
            self.take(next);
            let numeric = self.is_number(place) && quality >= 0.5 && self.schema.role(place) != Role::Year;
            let options = match () {
                () if numeric && !filters.is_empty() => {
                    vec![of(Aggregate::Sum, place), rows(), of(Aggregate::CountDistinct, place)]
                }
                () if numeric => vec![of(Aggregate::Sum, place), rows()],
                () if distinct || filters.is_empty() => vec![of(Aggregate::CountDistinct, place), rows()],
                () => vec![rows(), of(Aggregate::CountDistinct, place)],
            };
            return options.into_iter().nth(choice);
        }
        self.use_words(LISTED);
        let noun =
            next.filter(|next| self.marks.get(*next).is_some_and(Mark::is_unknown) && !self.is_used(*next));
        if let Some(noun) = noun {
            self.take(noun);
            self.cost += 0.05;
        }
        let display = self.schema.display_without(0, &[]).and_then(|places| places.first().copied());
        match choice {
            0 => Some(rows()),
            1 => display.map(|place| of(Aggregate::CountDistinct, place)),
            _ => None,
        }
    }

    /// Totals and averages of a column.
    fn aggregate(&mut self, choice: usize) -> Option<Form> {
        let (at, aggregate) = (0..self.marks.len()).find_map(|at| match self.operator(at) {
            Some(Operator::Aggregate(aggregate)) if self.is_free(at) => Some((at, aggregate)),
            _ => None,
        })?;
        let (column, place) = self.measured().filter(|(_, place)| self.is_number(*place))?;
        self.take(at);
        self.take(column);
        (choice == 0).then(|| Form {
            measures: vec![Measure::Of(aggregate, Scalar::Column(place))],
            filters: self.all_filters(),
            ..Form::default()
        })
    }

    /// What a superlative or a comparison is about.
    fn key(&self) -> Option<(usize, ColumnRef)> {
        let about = (0..self.marks.len()).find_map(|at| {
            let text = self.text(at);
            let comparative = text.strip_suffix("er").map(|root| format!("{root}est"));
            let found = adjective(&text, true)
                .or_else(|| comparative.as_deref().and_then(|text| adjective(text, true)))
                .or_else(|| adjective(&text, false))?;
            Some((at, found))
        });
        // The scale stands behind the superlative; what is asked for stands before it.
        let cue = (0..self.marks.len()).find(|at| {
            let text = self.text(*at);
            matches!(self.operator(*at), Some(Operator::Superlative(_) | Operator::Top(_)))
                || has_word(MORE, &text)
                || has_word(LESS, &text)
                || adjective(&text, true).is_some()
        });
        let behind = cue.and_then(|cue| {
            (cue + 1..self.marks.len())
                .filter(|at| !self.is_used(*at))
                .filter_map(|at| Some((at, self.column_at(at)?)))
                .find(|(_, (place, fit))| self.is_scale(*place) && *fit >= 0.5)
                .map(|(at, (place, _))| (at, place))
        });
        if let Some(found) = behind.or_else(|| self.measured().filter(|_| about.is_none())) {
            return Some(found);
        }
        let (at, adjective) = about?;
        let mut options: Vec<(ColumnRef, f32)> = Vec::new();
        for (rank, word) in adjective.about.iter().enumerate() {
            for (place, _) in self.schema.places().filter(|(place, _)| self.is_scale(*place)) {
                let fit = self.schema.fits(place, word);
                if fit >= 0.6 {
                    options.push((place, fit - 0.03 * rank as f32));
                }
            }
        }
        let best = options.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((at, best.0))
    }

    /// "the player with the most points", "the last game", "listed the most".
    fn extreme(&mut self, choice: usize) -> Option<Form> {
        let found = (0..self.marks.len()).find_map(|at| {
            if !self.is_free(at) || self.is_used(at) {
                return None;
            }
            let text = self.text(at);
            if has_word(FIRST, &text) || has_word(LAST, &text) {
                return Some((at, has_word(LAST, &text), true));
            }
            if let Some(found) = adjective(&text, true) {
                return Some((at, found.largest, false));
            }
            match self.operator(at) {
                Some(Operator::Superlative(largest)) => Some((at, largest, false)),
                Some(Operator::Common(largest)) => Some((at, largest, false)),
                Some(Operator::Top(largest)) => Some((at, largest, false)),
                _ => None,
            }
        });
        let (at, largest, placed) = found?;
        let mut largest = largest;
        self.take(at);
        let limit = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().find_map(|near| {
            let number = self.marks.get(near)?.number.filter(|number| (1.0..50.0).contains(number))?;
            (!self.filters.iter().any(|(known, _)| *known == near)).then_some((near, number as u64))
        });
        if let Some((near, _)) = limit {
            self.take(near);
        }
        let limit = Some(limit.map_or(1, |(_, limit)| limit));
        if placed {
            let target = *self.targets(&[]).get(choice)?;
            self.use_column(target);
            self.use_words(LISTED);
            return Some(Form {
                filters: self.all_filters(),
                show: vec![target],
                order: Some((OrderKey::Position, largest)),
                limit,
                ..Form::default()
            });
        }
        let common = matches!(self.operator(at), Some(Operator::Common(_)));
        if let Some((key_at, key)) = self.key().filter(|_| !common) {
            if let Some(found) = adjective(&self.text(at + 1), false).filter(|_| key_at == at + 1) {
                largest = largest == found.largest;
            }
            self.take(key_at);
            let target = *self.targets(&[key]).get(choice)?;
            let asked = (0..key_at)
                .any(|at| matches!(self.operator(at), Some(Operator::Which | Operator::Show)))
                && (0..self.marks.len())
                    .any(|at| self.column_at(at).is_some_and(|(place, fit)| place == target && fit >= 0.6));
            let who = (0..self.marks.len()).any(|at| has_word("who which whom", &self.text(at)));
            let show = if asked || who {
                target
            } else if choice == 0 {
                key
            } else {
                *self.targets(&[key]).get(choice - 1)?
            };
            self.use_column(show);
            return Some(Form {
                filters: self.all_filters(),
                show: vec![show],
                order: Some((OrderKey::Column(key), largest)),
                limit,
                ..Form::default()
            });
        }
        // No scale is named: the value that stands in most rows.
        let target = *self.targets(&[]).get(choice)?;
        self.use_column(target);
        self.use_words("often times listed appear appears frequently number of");
        Some(Form {
            measures: vec![Measure::Rows],
            groups: vec![Group::Column(target)],
            filters: self.all_filters(),
            order: Some((OrderKey::Measure(0), largest)),
            limit,
            ..Form::default()
        })
    }

    /// Cells of the rows that fulfil the conditions.
    fn lookup(&mut self, choice: usize) -> Option<Form> {
        if self.filters.is_empty() {
            return None;
        }
        // "the same country as A", "besides A": other rows that are alike.
        let same = self.find_word("same");
        if let Some(same) = same
            && let Some((at, place)) =
                (same + 1..self.marks.len()).find_map(|at| Some((at, self.column_at(at)?.0)))
        {
            self.take(same);
            self.take(at);
            let of = self.all_filters();
            let target = *self.targets(&[place]).get(choice)?;
            let anchor = of.first().map(Filter::place)?;
            let show = if choice == 0 { anchor } else { target };
            return Some(Form {
                filters: vec![Filter::SameAs(place, of)],
                show: vec![show],
                ..Form::default()
            });
        }
        let target = *self.targets(&[]).get(choice)?;
        self.use_column(target);
        self.use_words("only");
        Some(Form { filters: self.all_filters(), show: vec![target], distinct: true, ..Form::default() })
    }
}
