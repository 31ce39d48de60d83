//! Forms that are never meant, whatever the words: they are removed before anything is ranked.

use super::super::form::{Filter, Form, Group, Measure, Scalar};
use super::super::lexicon::Operator;
use super::super::link::{ColumnRef, Mark};
use super::mentions::{Before, Mention};
use super::search::Search;
use crate::frame::Kind;
use crate::query::{Aggregate, Compare};
use crate::roles::Role;
use steward_text::tokens::{name_words, stem};

/// Last words of names that say of what kind a thing is, not which thing.
const KINDS: [&str; 7] = ["type", "kind", "class", "category", "status", "group", "code"];

impl Search<'_> {
    /// Whether the form is never meant with these words.
    pub(super) fn is_senseless(&self, form: &Form) -> bool {
        limits_nothing(form)
            || self.counts_one_value(form)
            || self.groups_what_is_counted(form)
            || self.groups_a_number(form)
            || self.takes_unsaid_extreme(form)
            || self.sums_half_a_name(form)
            || self.repeats_a_number(form)
            || self.adds_up_averages(form)
            || self.computes_no_number(form)
    }

    /// Whether a column's last word says a kind, and no word of the question names it.
    pub(super) fn is_unsaid_kind(&self, place: ColumnRef) -> bool {
        let label = self.schema.column(place).map(|column| column.label.as_str()).unwrap_or_default();
        let words = name_words(label);
        let Some(last) = words.last().filter(|last| words.len() > 1 && KINDS.contains(&last.as_str())) else {
            return false;
        };
        let says = |mark: &Mark| {
            mark.text
                .to_lowercase()
                .split(' ')
                .any(|said| stem(said) == stem(last) || KINDS.contains(&stem(said).as_str()))
        };
        !self.marks.iter().any(says)
    }

    /// How many different values there are of which only one is left, or how many kinds where
    /// things are asked for.
    fn counts_one_value(&self, form: &Form) -> bool {
        form.measures.iter().any(|measure| match measure {
            Measure::Of(Aggregate::CountDistinct, Scalar::Column(place)) => {
                has_one_value(form, *place) || self.is_unsaid_kind(*place)
            }
            _ => false,
        })
    }

    /// Whether a mark is what "how many" or "number of" asks for, with other names before it.
    fn is_counted(&self, at: usize) -> bool {
        for mark in self.marks.iter().take(at).rev() {
            match mark.operator {
                Some(Operator::Count) => return true,
                Some(Operator::Filler | Operator::Distinct) => {}
                Some(_) => return false,
                None if mark.is_unknown() || mark.period.is_some() || mark.number.is_some() => return false,
                None => {}
            }
        }
        false
    }

    fn mentions_of(&self, place: ColumnRef) -> impl Iterator<Item = &Mention> {
        self.mentions.iter().filter(move |mention| mention.place == place)
    }

    /// "How many coastal districts": one number, not one for each district.
    fn groups_what_is_counted(&self, form: &Form) -> bool {
        if form.measures.is_empty() || form.limit.is_some() || form.tally.is_some() || !form.having.is_empty()
        {
            return false;
        }
        form.groups.iter().any(|group| {
            let Group::Column(place) = group else { return false };
            let counted = self.mentions_of(*place).any(|mention| self.is_counted(mention.at));
            let said = self.mentions_of(*place).any(|mention| mention.before == Before::Group);
            counted && !said && !self.says(|operator| operator == Operator::Share)
        })
    }

    /// "How many nights do guests stay": no row for each number of guests is wanted.
    fn groups_a_number(&self, form: &Form) -> bool {
        form.groups.iter().any(|group| {
            let Group::Column(place) = group else { return false };
            let number = self.schema.column(*place).is_some_and(|column| column.kind.is_number())
                && matches!(self.schema.role(*place), Role::Category | Role::Measure | Role::Rate);
            let fixed = form.filters.iter().any(|filter| filter.place() == *place);
            let asked = self.mentions_of(*place).any(|mention| {
                matches!(
                    mention.before,
                    Before::Group | Before::Which | Before::Show | Before::Extreme | Before::Order
                )
            });
            number && !fixed && !asked && self.mentions_of(*place).next().is_some()
        })
    }

    /// The smallest of a number where nothing small is asked for.
    fn takes_unsaid_extreme(&self, form: &Form) -> bool {
        let said = self.said_aggregates();
        form.measures.iter().any(|measure| match measure {
            Measure::Of(aggregate @ (Aggregate::Min | Aggregate::Max), Scalar::Column(place)) => {
                self.schema.role(*place).is_number() && !said.contains(aggregate)
            }
            _ => false,
        })
    }

    /// "How many entries": no sum of the entry fees.
    fn sums_half_a_name(&self, form: &Form) -> bool {
        form.measures.iter().any(|measure| {
            let Measure::Of(Aggregate::Sum | Aggregate::Average, Scalar::Column(place)) = measure else {
                return false;
            };
            let mut counted = self.mentions_of(*place).peekable();
            counted.peek().is_some()
                && counted.all(|mention| mention.before == Before::Count && mention.quality <= 0.5)
        })
    }

    /// "20 or more units" with something that equals 20 besides.
    fn repeats_a_number(&self, form: &Form) -> bool {
        self.bounds().iter().any(|bound| {
            let twice = self.marks.iter().filter(|mark| mark.number == Some(bound.number)).count() > 1;
            bound.compare != Compare::Equal
                && !twice
                && form.filters.iter().any(|filter| match filter {
                    Filter::Values { values, .. } => values.contains(&format!("{}", bound.number)),
                    Filter::Number(_, Compare::Equal, known) => (known - bound.number).abs() < 1e-9,
                    _ => false,
                })
        })
    }

    /// An average of keys, a sum of moments or of words.
    fn computes_no_number(&self, form: &Form) -> bool {
        form.measures.iter().any(|measure| match measure {
            Measure::Of(aggregate, Scalar::Column(place)) => {
                let role = self.schema.role(*place);
                let kind = self.schema.column(*place).map(|column| column.kind);
                let is_time = role == Role::Time || kind.is_some_and(Kind::is_time);
                match aggregate {
                    Aggregate::Sum | Aggregate::Average | Aggregate::StdDev => {
                        role == Role::Identifier || is_time
                    }
                    _ => false,
                }
            }
            _ => false,
        })
    }

    /// A running total of averages.
    fn adds_up_averages(&self, form: &Form) -> bool {
        let average = |measure: &Measure| matches!(measure, Measure::Of(Aggregate::Average, _));
        form.running
            && form.measures.iter().any(average)
            && !self.says(|operator| operator == Operator::Aggregate(Aggregate::Average))
    }
}

/// A limit on groups where there are none.
fn limits_nothing(form: &Form) -> bool {
    form.groups.is_empty() && !form.having.is_empty() && !form.measures.is_empty() && form.tally.is_none()
}

/// Whether the conditions leave one value of a column.
fn has_one_value(form: &Form, place: ColumnRef) -> bool {
    form.filters.iter().any(|filter| match filter {
        Filter::Values { place: known, values, negated: false } => *known == place && values.len() == 1,
        Filter::Number(known, Compare::Equal, _) | Filter::Flag(known, _) | Filter::Missing(known, true) => {
            *known == place
        }
        _ => false,
    })
}
