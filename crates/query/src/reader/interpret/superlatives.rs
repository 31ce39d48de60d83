//! Superlatives: what is ranked, by which measure, and whether rows or groups are meant.

use super::super::form::{Group, Measure, OrderKey, Scalar};
use super::super::link::{ColumnRef, Mark};
use super::{Interpreter, Superlative};
use crate::query::{Aggregate, Grain};
use crate::roles::Role;

impl Interpreter<'_> {
    /// The things that a superlative chooses among, and what it measures.
    pub(super) fn finish_superlative(&mut self) {
        let Some(mut top) = self.superlative.take() else { return };
        let mut measure = self.superlative_measure(&top);
        // The oldest has the earliest date of birth.
        if let Some(Measure::Of(_, Scalar::Column(place))) = &measure
            && top.about.contains(&"age")
            && matches!(self.schema.role(*place), Role::Time | Role::Year)
        {
            top.largest = !top.largest;
        }
        if self.both_ends
            && let Some(Measure::Of(_, scalar)) = &measure
        {
            let of = |aggregate: Aggregate| Measure::Of(aggregate, scalar.clone());
            self.form.measures = vec![of(Aggregate::Min), of(Aggregate::Max)];
            if !matches!(scalar, Scalar::Column(_)) || self.form.groups.is_empty() {
                self.subjects.clear();
            }
            return;
        }
        if measure.is_none() && top.about.is_empty() && !self.moments.is_empty() {
            measure = self.main_measure();
        }
        if let (Some((_, group)), Some(measure)) = (self.moments.first().cloned(), measure.clone()) {
            self.add_group(group);
            self.order_by(measure, top.largest, top.limit.unwrap_or(1));
            self.limit_each();
            return;
        }
        if self.lists_rows(&top, measure.as_ref()) || self.lists_table(&top, measure.as_ref()) {
            return;
        }
        let things = self.subjects.iter().position(|(at, place)| {
            let groups = matches!(
                self.schema.role(*place),
                Role::Category | Role::Text | Role::Identifier | Role::Year
            );
            groups && *at != top.at
        });
        let table = self.tables.first().map(|(_, table)| *table);
        if things.is_none()
            && measure.is_none()
            && table.is_some()
            && self.said("who")
            && top.about.is_empty()
        {
            measure = Some(Measure::Rows);
        }
        let counts = measure == Some(Measure::Rows);
        let person = if things.is_none() && (table.is_none() || counts) { self.person() } else { None };
        if let (Some(person), Some(measure)) = (person, measure.clone()) {
            self.add_group(Group::Column(person));
            self.order_by(measure, top.largest, top.limit.unwrap_or(1));
            self.limit_each();
            return;
        }
        let plural = things
            .and_then(|things| self.subjects.get(things))
            .and_then(|(at, _)| self.mark(*at))
            .is_some_and(|mark| mark.plural);
        let limit = top.limit.unwrap_or(if plural && self.text(top.at) == "top" { 10 } else { 1 });
        // Things of a table by a measure of another one, or by a count.
        if let (None, Some(table), Some(measure)) = (things, table, measure.clone()) {
            let mut places = Vec::new();
            crate::reader::lower::measure_places(&measure, &mut places);
            let elsewhere = places.first().map_or(self.form.table != table, |place| place.table != table);
            if elsewhere && let Some(display) = self.display(table) {
                display.into_iter().for_each(|place| self.add_group(Group::Column(place)));
                self.order_by(measure, top.largest, limit);
                self.limit_each();
                return;
            }
        }
        match (things, measure) {
            (Some(things), Some(measure)) => {
                let (_, place) = self.subjects.remove(things);
                self.add_group(Group::Column(place));
                self.order_by(measure, top.largest, limit);
                self.limit_each();
            }
            (None, Some(Measure::Of(_, Scalar::Column(place))))
                if table.is_some() || self.noun_after(&top) =>
            {
                // Rows of a table: the whole row of the extreme.
                self.form.measures.clear();
                if let Some(table) = table {
                    self.form.table = table;
                }
                self.form.order = Some((OrderKey::Column(place), top.largest));
                self.form.limit = Some(limit);
                if let Some(display) =
                    self.display(place.table).filter(|_| top.limit.is_some() || self.names_rows(place.table))
                {
                    self.form.show = display;
                    self.form.show.push(place);
                }
                self.limit_rows_each();
            }
            (None, Some(Measure::Of(_, scalar)))
                if self.form.groups.is_empty() || self.is_implicit(&scalar) && top.limit.is_none() =>
            {
                let aggregate = if top.largest { Aggregate::Max } else { Aggregate::Min };
                self.form.measures = vec![Measure::Of(aggregate, scalar)];
            }
            (None, Some(measure)) => self.order_by(measure, top.largest, limit),
            (_, None) => {
                if let Some(limit) = top.limit {
                    self.form.limit = Some(limit);
                }
            }
        }
    }

    /// "the 10 wettest days with station, date and rain": rows, when a moment and more of each is
    /// asked for.
    pub(super) fn lists_rows(&mut self, top: &Superlative, measure: Option<&Measure>) -> bool {
        let Some(Measure::Of(_, Scalar::Column(place))) = measure else { return false };
        let place = *place;
        if !self.implicit.contains(&place) && self.each.is_none() || self.form.measures.len() > 1 {
            return false;
        }
        let is_time = |subject: &ColumnRef| self.schema.role(*subject) == Role::Time;
        let time = self.subjects.iter().map(|(_, subject)| *subject).find(is_time);
        let day = self.moments.iter().find_map(|(_, group)| match group {
            Group::Period(time, Grain::Day) => Some(*time),
            _ => None,
        });
        let others = self.subjects.iter().filter(|(_, subject)| !is_time(subject)).count();
        let Some(time) = time.or(day).filter(|time| time.table == place.table) else { return false };
        let alone = others == 0 && self.each.is_none();
        let table = place.table;
        if alone || self.subjects.iter().any(|(_, subject)| subject.table != table) {
            if alone && self.subjects.len() == 1 {
                // "on what day": the day is the group.
                self.subjects.clear();
                let measure = self.form.measures.first().cloned();
                self.add_group(Group::Period(time, Grain::Day));
                if let Some(measure) = measure {
                    self.order_by(measure, top.largest, top.limit.unwrap_or(1));
                    return true;
                }
            }
            return false;
        }
        self.form.table = table;
        self.form.show = std::mem::take(&mut self.subjects).into_iter().map(|(_, subject)| subject).collect();
        for shown in [time, place] {
            if !self.form.show.contains(&shown) {
                self.form.show.push(shown);
            }
        }
        self.moments.clear();
        self.form.measures.clear();
        self.form.order = Some((OrderKey::Column(place), top.largest));
        self.form.limit = Some(top.limit.unwrap_or(1));
        self.limit_rows_each();
        true
    }

    /// "the 10 largest transactions: type and amount": rows of the table that the superlative is
    /// about.
    pub(super) fn lists_table(&mut self, top: &Superlative, measure: Option<&Measure>) -> bool {
        let Some(Measure::Of(_, Scalar::Column(place))) = measure else { return false };
        let place = *place;
        let near = (top.at + 1..self.marks.len()).take(4).find(|at| self.table_at(*at).is_some());
        let table = near.and_then(|near| self.table_at(near));
        if table != Some(place.table) || !self.implicit.contains(&place) || top.limit.is_none() {
            return false;
        }
        let table = place.table;
        if self.subjects.is_empty() || self.subjects.iter().any(|(_, subject)| subject.table != table) {
            return false;
        }
        self.form.table = table;
        self.form.show = self.display(table).unwrap_or_default();
        for (_, shown) in std::mem::take(&mut self.subjects).into_iter().chain([(0, place)]) {
            if !self.form.show.contains(&shown) {
                self.form.show.push(shown);
            }
        }
        self.form.measures.clear();
        self.form.groups.retain(|group| self.each.as_ref() == Some(group));
        self.form.order = Some((OrderKey::Column(place), top.largest));
        self.form.limit = top.limit;
        self.limit_rows_each();
        true
    }

    /// "who": the people of the data, where no word names them.
    pub(super) fn person(&mut self) -> Option<ColumnRef> {
        const PEOPLE: [&str; 24] = [
            "doctor",
            "agent",
            "director",
            "customer",
            "client",
            "employee",
            "consultant",
            "player",
            "driver",
            "author",
            "artist",
            "teacher",
            "student",
            "seller",
            "manager",
            "user",
            "member",
            "rep",
            "owner",
            "worker",
            "actor",
            "farmer",
            "guest",
            "staff",
        ];
        if !self.said("who") {
            return None;
        }
        let mut options: Vec<(ColumnRef, f32)> = Vec::new();
        for (rank, word) in PEOPLE.iter().enumerate() {
            for (place, role) in self.schema.places() {
                let fits = self.schema.fits(place, word) >= 0.95;
                if fits && matches!(role, Role::Text | Role::Category) {
                    let near = if place.table == self.form.table { 0.2 } else { 0.0 };
                    options.push((place, 1.0 + near - 0.01 * rank as f32));
                }
            }
            for (table, known) in self.schema.catalogue.tables.iter().enumerate() {
                let called = known.label.to_lowercase();
                if (called == *word || called == format!("{word}s"))
                    && let Some(place) = self.display(table).and_then(|display| display.first().copied())
                {
                    options.push((place, 1.1 - 0.01 * rank as f32));
                }
            }
        }
        let person = self.choices.take(options)?;
        self.defaults += 1;
        Some(person)
    }

    pub(super) fn order_by(&mut self, measure: Measure, largest: bool, limit: u64) {
        let position = self.form.measures.iter().position(|known| *known == measure).unwrap_or_else(|| {
            self.form.measures.insert(0, measure);
            0
        });
        self.form.order = Some((OrderKey::Measure(position), largest));
        self.form.limit = Some(limit);
    }

    /// A noun that the data does not name right after the superlative: "oldest passenger".
    pub(super) fn noun_after(&mut self, top: &Superlative) -> bool {
        let noun = self
            .next(top.at)
            .filter(|next| self.mark(*next).is_some_and(Mark::is_unknown) && !self.is_used(*next));
        if let Some(noun) = noun {
            self.take(noun);
            self.defaults += 1;
        }
        noun.is_some()
    }

    pub(super) fn superlative_measure(&mut self, top: &Superlative) -> Option<Measure> {
        if top.count {
            return Some(Measure::Rows);
        }
        if let Some(measure) = self.form.measures.first() {
            return Some(measure.clone());
        }
        // The adjective's own columns, best fit first.
        let mut options: Vec<(ColumnRef, f32)> = Vec::new();
        for (rank, word) in top.about.iter().enumerate() {
            if *word == "count" {
                return Some(Measure::Rows);
            }
            for (place, role) in self.schema.places() {
                let fit = self.schema.fits(place, word);
                if fit >= 0.8 && (role.is_number() || role == Role::Time || role == Role::Year) {
                    let near = if place.table == self.form.table { 0.1 } else { 0.0 };
                    options.push((place, fit + near - 0.03 * rank as f32));
                }
            }
        }
        if let Some(place) = self.choices.take(options) {
            if matches!(self.schema.role(place), Role::Time | Role::Year) {
                let born = top.about.contains(&"age");
                let aggregate = if top.largest == born { Aggregate::Min } else { Aggregate::Max };
                return Some(Measure::Of(aggregate, Scalar::Column(place)));
            }
            return Some(self.default_measure(place));
        }
        if (top.at..top.at + 3).any(|at| self.text(at).contains("sell"))
            && let Some(scalar) = self.revenue()
        {
            (top.at..top.at + 3)
                .filter(|at| self.text(*at).contains("sell"))
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|at| self.take(at));
            return Some(Measure::Of(Aggregate::Sum, scalar));
        }
        // "most orders": the things that are counted.
        let next = self.next(top.at)?;
        if self.mark(next)?.is_unknown()
            && !self.is_used(next)
            && (!self.subjects.is_empty() || !self.moments.is_empty())
        {
            self.take(next);
            self.defaults += 1;
            return Some(Measure::Rows);
        }
        if let Some(table) = self
            .table_at(next)
            .filter(|table| self.tables.iter().any(|(_, other)| other != table) || !self.subjects.is_empty())
        {
            self.form.table = table;
            self.tables.retain(|(at, _)| *at != next);
            return Some(Measure::Rows);
        }
        let counted = self.subjects.iter().position(|(at, _)| *at == next)?;
        if self.subjects.len() > 1 {
            let (_, place) = self.subjects.remove(counted);
            return Some(Measure::Of(Aggregate::CountDistinct, Scalar::Column(place)));
        }
        None
    }
}
