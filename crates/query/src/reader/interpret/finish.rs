//! What holds for the question as a whole, once every mark was looked at.

use super::super::form::{Filter, Group, Measure, OrderKey, Scalar};
use super::super::lexicon::{DatePart, Operator};
use super::super::link::{ColumnRef, Mark};
use super::{Interpreter, Superlative};
use crate::query::{Aggregate, Compare, Grain};
use crate::roles::Role;
use chrono::{Datelike, NaiveDate};

impl Interpreter<'_> {
    pub(super) fn finish(&mut self) {
        self.finish_fractions();
        self.drop_repeated();
        self.finish_contrast();
        self.finish_rates();
        self.finish_tally();
        self.finish_lookup();
        self.finish_correlation();
        self.finish_per_thing();
        self.finish_periods();
        self.finish_trend();
        self.finish_superlative();
        self.finish_subjects();
        self.finish_share();
        self.finish_empty();
        self.row_noun();
        self.finish_order();
        self.finish_times();
    }

    /// A measure that is named twice is one.
    fn drop_repeated(&mut self) {
        if self.form.having.is_empty() && self.form.beyond.is_empty() && self.form.order.is_none() {
            let measures = std::mem::take(&mut self.form.measures);
            for measure in measures {
                if !self.form.measures.contains(&measure) {
                    self.form.measures.push(measure);
                }
            }
        }
    }

    /// Numbers of one row are shown as they are: "the population of India in 2007".
    pub(super) fn finish_lookup(&mut self) {
        let plain = self.form.groups.is_empty()
            && self.superlative.is_none()
            && self.form.having.is_empty()
            && !self.share
            && !self.form.change
            && !self.contrast
            && !self.correlated
            && !self.form.filters.is_empty()
            && !self.form.measures.is_empty();
        let columns: Vec<ColumnRef> = (self.form.measures.iter())
            .filter_map(|measure| match measure {
                Measure::Of(_, Scalar::Column(place)) if self.implicit.contains(place) => Some(*place),
                _ => None,
            })
            .collect();
        if plain && columns.len() == self.form.measures.len() && self.estimated_rows() <= 1.5 {
            self.form.measures.clear();
            for place in columns {
                if !self.form.show.contains(&place) {
                    self.form.show.push(place);
                }
            }
        }
    }

    /// How many rows the conditions leave, if they do not depend on each other.
    pub(super) fn estimated_rows(&self) -> f64 {
        let table = self.schema.table(self.form.table);
        let mut rows = table.and_then(|table| table.rows).unwrap_or(1000) as f64;
        for filter in &self.form.filters {
            let Some(column) = self.schema.column(filter.place()) else { continue };
            let (seen, distinct) = (column.seen.max(1) as f64, column.distinct.max(1) as f64);
            rows *= match filter {
                Filter::Values { values, negated: false, .. } => {
                    let counted: u64 = (column.values.iter())
                        .filter(|(value, _)| values.contains(value))
                        .map(|(_, count)| *count)
                        .sum();
                    (counted.max(1) as f64) / seen
                }
                Filter::Number(_, Compare::Equal, _) => 1.0 / distinct,
                _ => 1.0,
            };
        }
        rows
    }

    /// "are discounts hurting profit": two numbers that move together.
    pub(super) fn finish_correlation(&mut self) {
        if !self.correlated {
            return;
        }
        let mut columns: Vec<ColumnRef> = (self.form.measures.iter())
            .filter_map(|measure| match measure {
                Measure::Of(_, Scalar::Column(place)) => Some(*place),
                _ => None,
            })
            .collect();
        // A number with few values was taken for a category.
        let numeric = |place: &ColumnRef| {
            self.schema.column(*place).is_some_and(|column| column.kind.is_number())
                && self.schema.role(*place) == Role::Category
        };
        let few: Vec<ColumnRef> = self.subjects.iter().map(|(_, place)| *place).filter(numeric).collect();
        if columns.len() == 1 {
            columns.extend(few.first());
        }
        columns.dedup();
        if let [left, right] = columns.as_slice() {
            self.form.measures = vec![Measure::Correlation(*left, *right)];
            self.subjects.retain(|(_, place)| !few.contains(place));
            let words = (0..self.marks.len()).filter(|at| self.text(*at) == "coefficient");
            words.collect::<Vec<_>>().into_iter().for_each(|at| self.take(at));
        }
    }

    /// "orders per customer on average": one count over another.
    pub(super) fn finish_per_thing(&mut self) {
        let average =
            self.marks.iter().any(|mark| mark.operator == Some(Operator::Aggregate(Aggregate::Average)));
        let counted = match self.form.measures.as_slice() {
            [Measure::Rows | Measure::Of(Aggregate::CountDistinct, _)] => self.form.measures.first().cloned(),
            _ => None,
        };
        if let (true, Some(counted), [Group::Column(thing)]) = (average, counted, self.form.groups.as_slice())
        {
            let things = Measure::Of(Aggregate::CountDistinct, Scalar::Column(*thing));
            self.form.measures = vec![Measure::Ratio(Box::new(counted), Box::new(things))];
            self.form.groups.clear();
            return;
        }
        let counted = self.form.measures.first().cloned().filter(|measure| {
            self.form.measures.len() == 1 && (*measure == Measure::Rows || matches!(measure, Measure::Of(Aggregate::Average, Scalar::Column(place)) if self.schema.role(*place) == Role::Measure))
        });
        if let (true, Some(counted), [Group::Period(time, grain)]) =
            (average, counted, self.form.groups.as_slice())
            && (0..self.marks.len()).any(|at| {
                matches!(
                    self.text(at).as_str(),
                    "per day" | "per week" | "per month" | "per year" | "a day" | "a month" | "daily"
                )
            })
            && counted == Measure::Rows
        {
            let periods = Measure::Of(Aggregate::CountDistinct, Scalar::Period(*time, *grain));
            self.form.measures = vec![Measure::Ratio(Box::new(counted), Box::new(periods))];
            self.form.groups.clear();
        }
    }

    /// Two periods side by side are groups.
    pub(super) fn finish_periods(&mut self) {
        self.finish_months();
        let spans: Vec<(ColumnRef, NaiveDate, NaiveDate)> = (self.form.filters.iter())
            .filter_map(|filter| match filter {
                Filter::Within(place, from, to) => Some((*place, *from, *to)),
                _ => None,
            })
            .collect();
        let years: Vec<(ColumnRef, f64)> = (self.form.filters.iter())
            .filter_map(|filter| match filter {
                Filter::Number(place, Compare::Equal, number) if self.schema.role(*place) == Role::Year => {
                    Some((*place, *number))
                }
                _ => None,
            })
            .collect();
        if let [(year, _), _, ..] = years.as_slice() {
            let year = *year;
            let values = years.iter().map(|(_, number)| number.to_string()).collect();
            self.form.filters.retain(|filter| filter.place() != year);
            self.form.filters.push(Filter::Values { place: year, values, negated: false });
            self.add_group(Group::Column(year));
        }
        let Some((time, from, to)) = spans.first().copied().filter(|_| spans.len() > 1) else { return };
        self.form.filters.retain(|filter| filter.place() != time);
        let all: Vec<(NaiveDate, NaiveDate)> = spans.iter().map(|(_, from, to)| (*from, *to)).collect();
        self.form.filters.push(Filter::WithinAny(time, all));
        let grain = match (to - from).num_days() {
            0..=1 => Grain::Day,
            2..=7 => Grain::Week,
            8..=31 => Grain::Month,
            32..=92 => Grain::Quarter,
            _ => Grain::Year,
        };
        self.add_group(Group::Period(time, grain));
    }

    /// "June, July and August" of no year are those months of every year.
    fn finish_months(&mut self) {
        let months: Vec<(NaiveDate, u32)> = (self.marks.iter())
            .filter_map(|mark| mark.period.as_ref().filter(|period| period.yearless))
            .map(|period| (period.from, period.from.month()))
            .collect();
        let is_month = |filter: &Filter| matches!(filter, Filter::Within(_, from, _) if months.iter().any(|(known, _)| known == from));
        let listed: Vec<ColumnRef> =
            self.form.filters.iter().filter(|filter| is_month(filter)).map(Filter::place).collect();
        let Some(time) = listed.first().copied().filter(|_| listed.len() >= 2) else { return };
        if listed.len() != months.len() || self.contrast {
            return;
        }
        self.form.filters.retain(|filter| !is_month(filter));
        let parts = months.iter().map(|(_, month)| *month).collect();
        let filter = Filter::Parts(time, DatePart::Month, parts);
        self.conditions.push((usize::MAX, filter.clone()));
        self.form.filters.push(filter);
    }

    pub(super) fn finish_trend(&mut self) {
        let versus = self.marks.iter().any(|mark| mark.operator == Some(Operator::Versus));
        let named = self.form.filters.iter().any(|filter| matches!(filter, Filter::WithinAny(..)));
        if self.form.change && versus && named {
            self.form.has_before = true;
        }
        let asks = self.marks.iter().any(|mark| mark.operator == Some(Operator::Trend))
            || self.form.change
            || self.form.running;
        let timed = self.form.groups.iter().any(|group| {
            matches!(group, Group::Period(..) | Group::Part(..))
                || matches!(group, Group::Column(place) if self.schema.role(*place) == Role::Year)
        });
        if !asks || timed || self.form.measures.is_empty() {
            return;
        }
        if let Some(year) = self.year_column() {
            self.add_group(Group::Column(year));
        } else if let Some(time) = self.time_column() {
            let grain = self.default_grain(time);
            self.add_group(Group::Period(time, grain));
        }
    }

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

    /// "the 10 wettest days with station, date and rain": rows, when a moment and more of each is asked for.
    fn lists_rows(&mut self, top: &Superlative, measure: Option<&Measure>) -> bool {
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

    /// "the 10 largest transactions: type and amount": rows of the table that the superlative is about.
    fn lists_table(&mut self, top: &Superlative, measure: Option<&Measure>) -> bool {
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
    fn person(&mut self) -> Option<ColumnRef> {
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

    /// In a single table an unknown plural noun stands for its rows: "trips", "passengers".
    pub(super) fn row_noun(&mut self) {
        if self.schema.catalogue.tables.len() != 1 {
            return;
        }
        let noun = (0..self.marks.len()).find(|at| {
            !self.is_used(*at) && self.mark(*at).is_some_and(|mark| mark.is_unknown() && mark.plural)
        });
        if let Some(noun) = noun {
            self.take(noun);
            self.defaults += 1;
            let word = self.text(noun);
            self.assumptions.push(format!("“{word}” is taken to mean the rows."));
        }
    }

    /// What a table is mostly about: the money in it.
    pub(super) fn main_measure(&mut self) -> Option<Measure> {
        let scalar = self.revenue()?;
        let label = match &scalar {
            Scalar::Column(place) => self.label(*place),
            _ => "revenue".to_owned(),
        };
        self.assumptions.push(format!("No measure was named, so {label} is taken."));
        self.defaults += 1;
        Some(Measure::Of(Aggregate::Sum, scalar))
    }

    /// Whether a table's rows have a name of their own.
    pub(super) fn names_rows(&self, table: usize) -> bool {
        self.display(table)
            .is_some_and(|places| places.iter().any(|place| self.schema.role(*place) == Role::Text))
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

    /// Columns that were named without an operator: groups of a measure, or what is listed.
    pub(super) fn finish_subjects(&mut self) {
        let subjects = std::mem::take(&mut self.subjects);
        if self.form.measures.is_empty() {
            let fixed = |place: &ColumnRef| {
                self.form.filters.iter().any(|filter| matches!(filter, Filter::Values { place: known, negated: false, .. } | Filter::Number(known, Compare::Equal, _) if known == place))
            };
            let free: Vec<(usize, ColumnRef)> =
                subjects.iter().filter(|(_, place)| !fixed(place)).copied().collect();
            let subjects = if free.is_empty() && self.form.show.is_empty() { subjects } else { free };
            for (_, place) in &subjects {
                if !self.form.show.contains(place) {
                    self.form.show.insert(self.form.show.len().min(subjects.len().saturating_sub(1)), *place);
                }
            }
            self.form.show.sort_by_key(|place| !subjects.iter().any(|(_, subject)| subject == place));
            let one = self.form.show.len() == 1 && subjects.len() == 1;
            let repeats =
                subjects.first().is_some_and(|(_, place)| self.schema.role(*place) != Role::Identifier);
            self.form.distinct = (one || self.form.show.len() <= 2)
                && repeats
                && self.form.order.is_none()
                && !subjects.is_empty();
            return;
        }
        let asked = self.marks.iter().any(|mark| mark.operator == Some(Operator::Which));
        for (_, group) in std::mem::take(&mut self.moments) {
            if asked && self.form.groups.is_empty() {
                self.add_group(group);
            }
        }
        for group in std::mem::take(&mut self.extra_groups) {
            self.add_group(group);
        }
        for (_, place) in subjects {
            let role = self.schema.role(place);
            let groups = matches!(role, Role::Category | Role::Text | Role::Year | Role::Identifier);
            let counted = self.form.measures.iter().any(|measure| matches!(measure, Measure::Of(Aggregate::CountDistinct, Scalar::Column(known)) if *known == place));
            if groups
                && !counted
                && !self.form.filters.iter().any(|filter| {
                    filter.place() == place && !matches!(filter, Filter::Number(..) | Filter::Missing(..))
                })
            {
                self.add_group(Group::Column(place));
            }
        }
    }

    /// Groups without a measure are counted; nothing at all lists rows.
    pub(super) fn finish_empty(&mut self) {
        let counts = (self.marks.iter().enumerate()).any(|(at, mark)| {
            mark.operator == Some(Operator::Count)
                && self.mark(at + 1).is_none_or(|next| next.operator != Some(Operator::Share))
        });
        if counts && self.form.measures.is_empty() && self.form.order.is_none() {
            self.form.measures.push(Measure::Rows);
            self.form.show.clear();
            self.form.distinct = false;
        }
        if self.form.measures.is_empty() && !self.form.groups.is_empty() {
            let compared =
                self.contrast || self.marks.iter().any(|mark| mark.operator == Some(Operator::Versus));
            if let Some(measure) = self.main_measure().filter(|_| compared) {
                self.form.measures.push(measure);
            }
            self.form.measures.push(Measure::Rows);
            self.defaults += 1;
        }
        if self.form.measures.is_empty()
            && let Some((_, table)) = self.tables.first().copied()
        {
            // Things of a table that fulfil a condition: all that is known of them.
            let compared = self
                .form
                .show
                .iter()
                .all(|place| self.form.filters.iter().any(|filter| filter.place() == *place));
            if compared {
                self.form.table = table;
                self.form.show.clear();
                self.form.distinct = false;
            }
        }
    }
}
