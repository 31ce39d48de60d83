//! What makes groups: "by region and month", "per customer", "within each".

use super::super::form::{Group, Measure, OrderKey, Scalar};
use super::super::lexicon::{DatePart, Operator};
use super::super::link::{ColumnRef, Mark};
use super::Interpreter;
use crate::query::{Aggregate, Grain};
use crate::roles::Role;

impl Interpreter<'_> {
    pub(super) fn add_group(&mut self, group: Group) {
        if !self.form.groups.contains(&group) {
            self.form.groups.push(group);
        }
    }

    pub(super) fn grain_noun(&self, at: usize) -> Option<Group> {
        let word = self.text(at);
        let grain = match word.trim_end_matches('s') {
            "day" | "date" => Grain::Day,
            "week" => Grain::Week,
            "month" => Grain::Month,
            "quarter" => Grain::Quarter,
            "year" => Grain::Year,
            "weekday" | "day of week" | "day of the week" => {
                return self.time_column().map(|time| Group::Part(time, DatePart::Weekday));
            }
            "hour" => return self.time_column().map(|time| Group::Part(time, DatePart::Hour)),
            _ => return None,
        };
        if grain == Grain::Year
            && let Some(year) = self.year_column()
        {
            return Some(Group::Column(year));
        }
        self.time_column().map(|time| Group::Period(time, grain))
    }

    /// "by region and segment", "per customer", "for each month".
    pub(super) fn group_list(&mut self, at: usize) {
        let word = self.text(at);
        let mut from = at;
        let mut first = true;
        while let Some(next) = self.next(from) {
            let money = self.mark(next).is_some_and(|mark| !mark.products.is_empty());
            if first && word == "by" && (money || self.is_numeric(next)) && !self.exactly_groups(next) {
                self.ranking(next);
                return;
            }
            if first
                && word == "per"
                && let Some(next) = self.denominator(next)
                && let Some(measure) = self.form.measures.pop()
            {
                if let Some(place) = self.column(next, Role::is_number) {
                    self.take(next);
                    let summed = match measure {
                        Measure::Of(_, scalar) => Measure::Of(Aggregate::Sum, scalar),
                        other => other,
                    };
                    let whole = Measure::Of(Aggregate::Sum, Scalar::Column(place));
                    self.form.measures.push(Measure::Ratio(Box::new(summed), Box::new(whole)));
                }
                return;
            }
            // "customer segment": the last noun of a compound is the group.
            let compound = (self.is_groupable(next)
                || self.mark(next).is_some_and(|mark| mark.table_quality() >= 0.5))
                && self.mark(next + 1).is_some_and(|mark| mark.operator.is_none() && mark.values.is_empty())
                && self.is_groupable(next + 1);
            if compound {
                self.take(next);
                from = next;
                continue;
            }
            // "by invoiced amount": the thing that a number belongs to stands before it.
            if first
                && word == "by"
                && self.is_numeric(next + 1)
                && !self.is_groupable_value(next)
                && let Some(table) = self.table_at(next)
            {
                self.take(next);
                self.form.table = table;
                self.ranking(next + 1);
                return;
            }
            // "in 2023 (by sold date)": which time is meant.
            let aside = at
                .checked_sub(1)
                .is_some_and(|before| matches!(self.text(before).as_str(), "(" | "going" | "judging"));
            if first && word == "by" && aside && self.has_role(next, |role| role == Role::Time) {
                self.column(next, |role| role == Role::Time);
                self.take(next);
                if let Some(before) = at.checked_sub(1) {
                    self.take(before);
                }
                return;
            }
            // "by ticket count": the things are counted.
            if first && word == "by" && matches!(self.text(next + 1).as_str(), "count" | "counts") {
                self.take(next);
                self.take(next + 1);
                if let Some(table) = self.table_at(next) {
                    self.form.table = table;
                }
                self.form.measures.push(Measure::Rows);
                if let Some(top) = &self.superlative {
                    self.form.order = Some((OrderKey::Measure(self.form.measures.len() - 1), top.largest));
                }
                return;
            }
            // "average revenue per flight" over rows that are flights is the plain average.
            if first && word == "per" && self.is_grain(next) {
                self.take(next);
                return;
            }
            let Some(group) = self.group_at(next) else { break };
            self.take(next);
            if matches!(
                word.as_str(),
                "each"
                    | "every"
                    | "on each"
                    | "in each"
                    | "within each"
                    | "for each"
                    | "per"
                    | "of each"
                    | "for every"
            ) && (self.superlative.as_ref().is_some_and(|top| top.limit.is_some() || top.at + 1 < at)
                || self.ranks())
                && !self.subjects.is_empty()
            {
                self.form.groups.insert(0, group);
                self.form.within = Some(0);
            } else {
                if word.contains("each") || word.contains("every") {
                    self.each = Some(group.clone());
                }
                self.add_group(group);
            }
            first = false;
            let Some(link) = (next + 1..self.marks.len())
                .find(|at| !matches!(self.mark(*at).and_then(|mark| mark.operator), Some(Operator::Filler)))
            else {
                break;
            };
            let again =
                matches!(self.operator(link), Some(Operator::And | Operator::Versus | Operator::Group));
            let follows = self
                .next(link)
                .is_some_and(|after| self.group_at(after).is_some() && !self.is_plain_number(after));
            if !again || !follows {
                break;
            }
            self.take(link);
            from = link;
        }
    }

    /// Whether each row of what is averaged is one of the things that a mark names.
    fn is_grain(&self, at: usize) -> bool {
        let Some(Measure::Of(Aggregate::Average, Scalar::Column(place))) = self.form.measures.last() else {
            return false;
        };
        let row = self.mark(at).is_some_and(|mark| mark.tables.is_empty() && self.is_row_noun_of(mark));
        !self.implicit.contains(place) && (self.table_at(at) == Some(place.table) || row)
    }

    fn is_groupable_value(&self, at: usize) -> bool {
        self.has_role(at, |role| matches!(role, Role::Category))
            && self.mark(at).is_some_and(|mark| mark.column_quality() >= 0.9)
    }

    /// "per square metre", "per dollar spent": the column that a measure is divided by.
    fn denominator(&mut self, at: usize) -> Option<usize> {
        if self.is_plain_number(at) {
            return Some(at);
        }
        let unit = self.mark(at).is_some_and(Mark::is_unknown) && self.is_plain_number(at + 1);
        unit.then(|| {
            self.take(at);
            at + 1
        })
    }

    pub(super) fn ranks(&self) -> bool {
        self.marks.iter().any(|mark| {
            mark.operator == Some(Operator::Order) && mark.text.to_lowercase().starts_with("rank")
        })
    }

    /// A few whole numbers make groups although they are numbers.
    pub(super) fn exactly_groups(&self, at: usize) -> bool {
        self.superlative.is_none()
            && self.mark(at).is_some_and(|mark| {
                let most = if self.form.measures.is_empty() && !self.form.running { 20 } else { 50 };
                mark.columns.iter().any(|(place, quality)| {
                    *quality >= 0.9
                        && self.schema.column(*place).is_some_and(|column| {
                            column.distinct <= 20
                                || column.distinct <= most && column.kind == crate::frame::Kind::Integer
                        })
                })
            })
    }
    pub(super) fn is_plain_number(&self, at: usize) -> bool {
        self.is_numeric(at) && !self.exactly_groups(at)
    }

    pub(super) fn group_at(&mut self, at: usize) -> Option<Group> {
        if self.mark(at)?.period.is_some() {
            return None;
        }
        if let Some(Operator::Grain(grain)) = self.operator(at) {
            self.take(at);
            self.group_period(grain);
            return self.form.groups.last().cloned();
        }
        let noun = self.grain_noun(at);
        if noun.is_some() && self.mark(at).is_some_and(|mark| mark.column_quality() < 0.95) {
            return noun;
        }
        if let Some(table) = self.table_at(at) {
            let per = (0..at).rev().find(|before| self.text(*before) == "per");
            self.per_thing = self.per_thing.or(per.filter(|per| at - per <= 2).map(|per| (per, table)));
            let display = self.display(table)?;
            self.extra_groups.extend(display.iter().skip(1).map(|place| Group::Column(*place)));
            return display.first().map(|place| Group::Column(*place));
        }
        if self.names_column(at) {
            let place = self.column(at, |_| true)?;
            return Some(match self.schema.role(place) {
                Role::Time => Group::Period(place, self.default_grain(place)),
                _ => Group::Column(place),
            });
        }
        None
    }

    pub(super) fn default_grain(&self, place: ColumnRef) -> Grain {
        use crate::frame::Value;
        let day = |value: &Value| match value {
            Value::Date(day) => Some(*day),
            Value::Time(moment) => Some(moment.date()),
            _ => None,
        };
        let Some(column) = self.schema.column(place) else { return Grain::Month };
        match day(&column.min).zip(day(&column.max)).map(|(from, to)| (to - from).num_days()) {
            Some(days) if days <= 62 => Grain::Day,
            Some(days) if days > 365 * 6 => Grain::Year,
            _ => Grain::Month,
        }
    }

    /// The columns that name the things of a table.
    pub(super) fn display(&self, table: usize) -> Option<Vec<ColumnRef>> {
        self.schema.display(table)
    }

    pub(super) fn within(&mut self, at: usize) {
        self.group_list(at);
        if !self.form.groups.is_empty() {
            self.form.within = Some(self.form.groups.len() - 1);
        }
    }
}
