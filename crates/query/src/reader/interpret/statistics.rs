//! Percentiles, brackets, and how often each size occurs.

use super::super::form::{Filter, Group, Measure, Scalar, Tally};
use super::super::lexicon::Operator;
use super::super::link::ColumnRef;
use super::Interpreter;
use crate::query::Aggregate;
use crate::roles::Role;

impl Interpreter<'_> {
    /// "90th percentile of the delay", "95 percentile".
    pub(super) fn percentile(&mut self, at: usize) -> bool {
        if !matches!(self.text(at + 1).as_str(), "percentile" | "percentiles") {
            return false;
        }
        let digits: String = self.text(at).chars().take_while(char::is_ascii_digit).collect();
        let Some(percent) = digits.parse::<u8>().ok().filter(|percent| (1..100).contains(percent)) else {
            return false;
        };
        let number = (at + 2..self.marks.len()).find(|at| self.is_numeric(*at) && !self.is_used(*at));
        let Some(place) = number.and_then(|number| self.column(number, Role::is_number)) else {
            return false;
        };
        number.into_iter().chain([at, at + 1]).for_each(|at| self.take(at));
        self.form.measures.push(Measure::Of(Aggregate::Percentile(percent), Scalar::Column(place)));
        true
    }

    /// "0-17, 18-39, 40-64, 65+": the brackets of the number that is named before them.
    pub(super) fn brackets(&mut self, at: usize) -> bool {
        let number = |reader: &Self, at: usize| reader.mark(at).and_then(|mark| mark.number);
        let mut found: Vec<(f64, Option<f64>)> = Vec::new();
        let mut next = at;
        let mut end = at;
        while let Some(low) = number(self, next) {
            match self.text(next + 1).as_str() {
                "-" | "to" | "–" => {
                    let Some(high) = number(self, next + 2).filter(|high| *high > low) else { break };
                    found.push((low, Some(high)));
                    end = next + 2;
                }
                "+" | "or more" => {
                    found.push((low, None));
                    end = next + 1;
                }
                _ => break,
            }
            next = end + 1;
            while matches!(self.text(next).as_str(), "," | "and" | ";") {
                next += 1;
            }
        }
        let before = (0..at).rev().find(|before| self.is_numeric(*before));
        let Some(before) = before.filter(|_| found.len() >= 2) else { return false };
        let Some(place) = self.column(before, Role::is_number) else { return false };
        (at..=end).chain([before]).for_each(|at| self.take(at));
        self.forget(place);
        self.form.groups.retain(|group| *group != Group::Column(place));
        for noun in before + 1..at {
            if matches!(
                self.text(noun).as_str(),
                "bracket" | "brackets" | "band" | "bands" | "group" | "groups"
            ) {
                self.take(noun);
            }
        }
        self.form.groups.push(Group::Bracket(place, found));
        if self.form.measures.is_empty() {
            self.form.measures.push(Measure::Rows);
        }
        true
    }

    /// "how many orders have 1 item, 2 items and so on": things by how many others belong to them.
    fn sizes(&mut self, at: usize) -> bool {
        let count = (at + 1..self.marks.len()).find(|at| self.operator(*at) == Some(Operator::Count));
        let Some(count) = count else { return false };
        let Some((first, things)) =
            (count + 1..self.marks.len()).find_map(|at| Some((at, self.table_at(at)?)))
        else {
            return false;
        };
        let parts = (first + 1..self.marks.len())
            .filter_map(|at| self.mark(at))
            .flat_map(|mark| &mark.tables)
            .map(|(table, _)| *table)
            .find(|table| self.refers(*table, things));
        let (Some(parts), Some(key)) = (parts, self.key_of(things)) else { return false };
        (0..self.marks.len()).for_each(|at| self.take(at));
        self.form.table = parts;
        self.form.groups = vec![Group::Column(key)];
        self.form.measures = vec![Measure::Rows];
        self.form.tally = Some(Tally::Sizes);
        true
    }

    /// Whether each row of a table belongs to one of another.
    fn refers(&self, table: usize, to: usize) -> bool {
        let name = |table: usize| self.schema.table(table).map(|table| table.name.as_str());
        (self.schema.catalogue.joins.iter())
            .any(|join| Some(join.from.0.as_str()) == name(table) && Some(join.to.0.as_str()) == name(to))
    }

    fn key_of(&self, table: usize) -> Option<ColumnRef> {
        let known = self.schema.table(table)?;
        let key = known.primary_key.first()?;
        let column = known.columns.iter().position(|column| column.name.eq_ignore_ascii_case(key))?;
        Some(ColumnRef { table, column })
    }

    /// "cards per match for every referee", "tickets per agent by team": one count over another.
    pub(super) fn finish_rates(&mut self) {
        let Some((per, thing)) = self.per_thing else { return };
        let [first, _, ..] = self.form.groups.as_slice() else { return };
        let later = self.grouped_at.iter().any(|at| *at > per);
        let counted = match self.form.measures.as_slice() {
            [] => Measure::Rows,
            [measure @ (Measure::Rows | Measure::Of(Aggregate::Sum, _))] => measure.clone(),
            _ => return,
        };
        let is_thing = |group: &Group| group.place().table == thing;
        if !later || !is_thing(first) {
            return;
        }
        let Some(key) = self.key_of(thing) else { return };
        // Both are said; a rate is likelier when the counted things have a table of their own.
        let options = vec![(true, 0.6), (false, 0.5)];
        if !self.choices.take(options).unwrap_or(false) {
            return;
        }
        if let Some((_, table)) = self.tables.iter().find(|(at, table)| *at < per && *table != thing) {
            self.form.table = *table;
        }
        self.form.groups.retain(|group| !is_thing(group));
        self.extra_groups.retain(|group| !is_thing(group));
        let things = Measure::Of(Aggregate::CountDistinct, Scalar::Column(key));
        self.form.measures = vec![Measure::Ratio(Box::new(counted), Box::new(things))];
    }

    /// "with solar versus without", "members vs everyone else": a condition and its opposite are
    /// groups.
    pub(super) fn finish_contrast(&mut self) {
        let compares = self.contrast || self.marks.iter().any(|mark| mark.operator == Some(Operator::Versus));
        let opposite = (0..self.marks.len()).find(|at| {
            matches!(
                self.text(*at).as_str(),
                "other"
                    | "others"
                    | "else"
                    | "everyone else"
                    | "rest"
                    | "without"
                    | "no"
                    | "not"
                    | "non"
                    | "part"
            )
        });
        let Some(opposite) = opposite.filter(|_| compares) else { return };
        let one = self.form.filters.iter().rposition(|filter| {
            matches!(filter, Filter::Flag(..))
                || matches!(filter, Filter::Values { negated: false, .. })
                    && matches!(self.text(opposite).as_str(), "other" | "others" | "else" | "rest")
        });
        let Some(one) = one else { return };
        let filter = self.form.filters.remove(one);
        self.form.filters.retain(|known| known.place() != filter.place());
        self.take(opposite);
        let group = match &filter {
            Filter::Flag(place, _) => Group::Column(*place),
            _ => Group::Holds(Box::new(filter)),
        };
        self.form.groups.retain(|known| known.place() != group.place());
        self.subjects.retain(|(_, place)| *place != group.place());
        self.form.groups.push(group);
    }

    /// "how many customers have more than 3 orders": groups that fulfil a condition are counted.
    pub(super) fn finish_tally(&mut self) {
        let Some((_, thing)) = self.counted.or_else(|| self.counted_table()) else { return };
        if self.form.having.is_empty() && self.form.beyond.is_empty() {
            return;
        }
        let at = self
            .form
            .measures
            .iter()
            .position(|measure| *measure == Measure::Of(Aggregate::CountDistinct, Scalar::Column(thing)));
        if let Some(at) = at
            && !self.form.having.iter().any(|(measure, ..)| *measure == at)
        {
            self.form.measures.remove(at);
            self.form.having.iter_mut().filter(|(measure, ..)| *measure > at).for_each(|one| one.0 -= 1);
            self.form.beyond.iter_mut().filter(|(measure, ..)| *measure > at).for_each(|one| one.0 -= 1);
        }
        self.form.groups = vec![Group::Column(thing)];
        self.subjects.clear();
        self.tables.clear();
        self.form.tally = Some(Tally::Groups);
    }

    /// The key of a table whose things are counted while a condition is about another one.
    fn counted_table(&self) -> Option<(usize, ColumnRef)> {
        let counts = self.mark(0).and_then(|mark| mark.operator) == Some(Operator::Count);
        let (at, table) = self.tables.first().copied().filter(|_| counts)?;
        let known = self.schema.table(table).filter(|_| table != self.form.table)?;
        let key = known.primary_key.first()?;
        let column = known.columns.iter().position(|column| column.name.eq_ignore_ascii_case(key))?;
        Some((at, ColumnRef { table, column }))
    }

    /// "distribution of scores", "how are the scores distributed": each value with its count.
    pub(super) fn distribution(&mut self, at: usize) {
        let column = (at + 1..self.marks.len()).take(4).chain((0..at).rev().take(4)).find(|at| {
            let few = |place: ColumnRef| self.schema.column(place).is_some_and(|known| known.distinct <= 40);
            self.names_column(*at)
                && (self.is_numeric(*at) || self.is_groupable(*at))
                && self.mark(*at).is_some_and(|mark| {
                    let best = mark.column_quality();
                    mark.columns.iter().any(|(place, quality)| *quality >= best - 0.05 && few(*place))
                })
        });
        if column.is_none() && self.sizes(at) {
            return;
        }
        let Some(column) = column else { return };
        let Some(place) = self.column(column, |role| role != Role::Time) else { return };
        if self.schema.column(place).is_none_or(|known| known.distinct > 40) {
            return;
        }
        if self.schema.column(place).is_some_and(|known| known.nulls > 0) {
            self.form.filters.push(Filter::Missing(place, false));
        }
        self.take(column);
        self.forget(place);
        self.subjects.retain(|(_, known)| *known != place);
        self.add_group(Group::Column(place));
        // "how many 1s, 2s and 3s" says the same again.
        let listed = (0..self.marks.len()).filter(|at| {
            let text = self.text(*at);
            let digits = text.trim_end_matches('s').trim_end_matches('\'');
            !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
        });
        for at in listed.collect::<Vec<_>>() {
            self.take(at);
        }
        let counts: Vec<usize> =
            (0..self.marks.len()).filter(|at| self.operator(*at) == Some(Operator::Count)).collect();
        for count in counts {
            self.take(count);
        }
        if !self.form.measures.contains(&Measure::Rows) {
            self.form.measures.push(Measure::Rows);
        }
        let named = (at + 1..self.marks.len()).find(|at| self.table_at(*at).is_some());
        if let Some(named) = named {
            self.take(named);
            self.form.table = self.table_at(named).unwrap_or(self.form.table);
        }
    }
}
