//! Conditions beyond those that rules find. Each edit changes the conditions of an interpretation
//! in one point: another column for a period or a number, an empty cell, a limit for groups instead
//! of rows, a value that makes groups instead of choosing rows, or a condition less.

use super::super::form::{Filter, Form, Group, Measure, Scalar, Tally};
use super::super::lexicon::{Operator, adjective};
use super::super::link::{ColumnRef, Mark};
use super::mentions::Before;
use super::search::Search;
use crate::frame::Value;
use crate::query::{Aggregate, Compare};
use crate::roles::Role;

/// Edits of one interpretation at most.
const EDITS: usize = 14;

/// A number of the question with how it is compared, and the mark behind it.
pub(super) struct Bound {
    pub(super) number: f64,
    pub(super) compare: Compare,
    at: usize,
    noun: Option<usize>,
}

impl Search<'_> {
    /// Interpretations that differ from `base` in one condition.
    pub(super) fn edits(&self, base: &Form) -> Vec<Form> {
        let mut found: Vec<Form> = Vec::new();
        self.relations(base, &mut found);
        self.empty_cells(base, &mut found);
        self.splits(base, &mut found);
        self.group_limits(base, &mut found);
        self.other_times(base, &mut found);
        self.other_numbers(base, &mut found);
        self.compared_times(base, &mut found);
        self.dropped(base, &mut found);
        let mut kept: Vec<Form> = Vec::new();
        for form in found {
            if form != *base && !kept.contains(&form) {
                kept.push(form);
            }
        }
        kept.truncate(EDITS);
        kept
    }

    /// Whether a word says no to the name at a mark.
    pub(super) fn is_negated(&self, at: usize) -> bool {
        let no = |mark: &Mark| {
            matches!(mark.operator, Some(Operator::Not | Operator::Missing))
                || matches!(
                    mark.text.to_lowercase().as_str(),
                    "nobody" | "none" | "lacking" | "lack" | "skip"
                )
        };
        let before = self.marks.iter().take(at).rev().take(4).any(no);
        let behind =
            self.marks.iter().skip(at + 1).take(3).any(|mark| mark.operator == Some(Operator::Missing));
        before || behind || self.marks.get(at).is_some_and(|mark| opposite(mark).is_some())
    }

    fn has_gaps(&self, place: ColumnRef) -> bool {
        self.schema.column(place).is_some_and(|column| column.nulls > 0)
    }

    /// Columns with empty cells that a mark may speak of.
    fn gaps(&self, at: usize, mark: &Mark) -> Vec<ColumnRef> {
        if let Some(word) = opposite(mark) {
            let fits = |place: ColumnRef| self.schema.fits(place, &word) >= 0.6;
            let known = self.schema.places().filter(|(place, role)| {
                (*role == Role::Flag || self.has_gaps(*place) && *role == Role::Time) && fits(*place)
            });
            return known.map(|(place, _)| place).take(2).collect();
        }
        let named = self.mentions.iter().filter(|mention| {
            mention.at == at && mention.before != Before::Group && self.has_gaps(mention.place)
        });
        let mut places: Vec<ColumnRef> = named.map(|mention| mention.place).collect();
        if places.is_empty() && mark.is_unknown() {
            places.extend(self.time_by_root(mark).filter(|place| self.has_gaps(*place)));
        }
        places.truncate(2);
        places
    }

    /// The time whose name begins like a word that nothing else explains.
    pub(super) fn time_by_root(&self, mark: &Mark) -> Option<ColumnRef> {
        let word = mark.text.to_lowercase();
        let shared = |place: ColumnRef| {
            let label = self.schema.column(place).map(|column| column.label.as_str()).unwrap_or_default();
            steward_text::tokens::name_words(label)
                .iter()
                .map(|part| part.chars().zip(word.chars()).take_while(|(a, b)| a == b).count())
                .max()
                .unwrap_or_default()
        };
        let times = self.schema.places().filter(|(_, role)| *role == Role::Time);
        times
            .map(|(place, _)| (shared(place), place))
            .filter(|(shared, _)| *shared >= 5 || *shared >= 4 && word.len() <= 6)
            .max_by_key(|(shared, _)| *shared)
            .map(|(_, place)| place)
    }

    /// "without a manager", "not returned yet", "unpaid".
    fn empty_cells(&self, base: &Form, found: &mut Vec<Form>) {
        for (at, mark) in self.marks.iter().enumerate() {
            let negated = self.is_negated(at);
            for place in self.gaps(at, mark) {
                let role = self.schema.role(place);
                let filter = |missing: bool| match role {
                    Role::Flag => Filter::Flag(place, !missing),
                    _ => Filter::Missing(place, missing),
                };
                let mut filters: Vec<Filter> = (base.filters.iter())
                    .filter(|known| {
                        !matches!(known, Filter::Missing(..) | Filter::Flag(..)) || known.place() != place
                    })
                    .cloned()
                    .collect();
                if negated || role == Role::Time {
                    filters.push(filter(negated));
                    found.push(Form { filters, ..base.clone() });
                }
            }
        }
    }

    /// Values that are compared with each other make groups.
    fn splits(&self, base: &Form, found: &mut Vec<Form>) {
        for filter in &base.filters {
            let place = filter.place();
            if base.groups.iter().any(|group| group.place() == place) {
                continue;
            }
            let group = Group::Column(place);
            match filter {
                Filter::Values { values, negated: false, .. } if values.len() >= 2 => {
                    let groups = [std::slice::from_ref(&group), base.groups.as_slice()].concat();
                    found.push(Form { groups, ..base.clone() });
                    if !base.groups.is_empty() {
                        let groups = [base.groups.as_slice(), &[group]].concat();
                        found.push(Form { groups, pivot: true, ..base.clone() });
                    }
                }
                Filter::Flag(..) | Filter::Values { .. } if self.schema.role(place) == Role::Flag => {
                    let contrast = self.says(|operator| {
                        matches!(
                            operator,
                            Operator::Versus
                                | Operator::Contrast
                                | Operator::Not
                                | Operator::Or
                                | Operator::And
                        )
                    }) || self.marks.iter().any(|mark| mark.text.eq_ignore_ascii_case("than"));
                    if contrast {
                        let filters = base.filters.iter().filter(|known| *known != filter).cloned().collect();
                        let groups = [base.groups.as_slice(), &[group]].concat();
                        found.push(Form { groups, filters, ..base.clone() });
                    }
                }
                _ => {}
            }
        }
        // A flag that is named twice, once with "not": both sides are meant.
        for mention in self.mentions.iter().filter(|mention| mention.role == Role::Flag) {
            let twice = self.mentions.iter().filter(|other| other.place == mention.place).count() > 1;
            if twice && !base.groups.iter().any(|group| group.place() == mention.place) {
                let filters =
                    base.filters.iter().filter(|known| known.place() != mention.place).cloned().collect();
                let groups = [base.groups.as_slice(), &[Group::Column(mention.place)]].concat();
                found.push(Form { groups, filters, ..base.clone() });
            }
        }
    }

    /// Numbers that something is compared with.
    pub(super) fn bounds(&self) -> Vec<Bound> {
        let mut found = Vec::new();
        for (at, mark) in self.marks.iter().enumerate() {
            let Some(number) = mark.number.filter(|_| mark.period.is_none()) else { continue };
            let glue =
                |mark: &Mark| matches!(mark.operator, Some(Operator::Filler | Operator::Of | Operator::Is));
            let before = (0..at).rev().find(|at| self.marks.get(*at).is_some_and(|mark| !glue(mark)));
            let behind = (at + 1..self.marks.len()).take(2);
            let near = before.into_iter().chain(behind);
            let compare = near.into_iter().find_map(|near| {
                let mark = self.marks.get(near)?;
                match mark.operator {
                    Some(Operator::Compare(compare)) => Some(compare),
                    None if near < at => comparative(&mark.text.to_lowercase()),
                    _ => None,
                }
            });
            let Some(compare) = compare else { continue };
            // "5 won deals": a value says which things are counted.
            let noun = (at + 1..self.marks.len()).find(|at| {
                self.marks.get(*at).is_some_and(|mark| {
                    let value = mark.value_quality() >= 0.6 && mark.table_quality() < 0.5;
                    !glue(mark) && !value && !matches!(mark.operator, Some(Operator::Compare(_)))
                })
            });
            found.push(Bound { number, compare, at, noun });
        }
        found
    }

    /// "at least 5 orders", "whose average rating is above 4": limits for groups.
    fn group_limits(&self, base: &Form, found: &mut Vec<Form>) {
        let counts = self.says(|operator| operator == Operator::Count);
        let mut push = |form: Form| {
            for group in self.entities(&form).into_iter().take(2) {
                let groups = if base.groups.is_empty() { vec![group] } else { base.groups.clone() };
                let grouped = Form { groups, tally: None, order: None, limit: None, ..form.clone() };
                if counts {
                    found.push(Form { tally: Some(Tally::Groups), ..grouped.clone() });
                }
                found.push(grouped);
            }
        };
        for bound in self.bounds() {
            let others: Vec<Filter> =
                (base.filters.iter()).filter(|filter| !has_number(filter, bound.number)).cloned().collect();
            for filter in base.filters.iter().filter(|filter| has_number(filter, bound.number)) {
                let Filter::Number(place, compare, number) = filter else { continue };
                let said = self.said_aggregates();
                let usual = if self.schema.role(*place) == Role::Measure && said.is_empty() {
                    vec![Aggregate::Sum, Aggregate::Average]
                } else {
                    vec![Aggregate::Average, Aggregate::Sum]
                };
                let wanted = if said.is_empty() { usual } else { said };
                for aggregate in wanted.into_iter().take(2) {
                    push(Form {
                        filters: others.clone(),
                        measures: vec![Measure::Of(aggregate, Scalar::Column(*place))],
                        having: vec![(0, *compare, *number)],
                        ..base.clone()
                    });
                }
            }
            // "more than 1500 tonnes in total": the noun behind the number is a number itself.
            let measured = self.mentions.iter().find(|mention| {
                mention.role.is_number()
                    && (Some(mention.at) == bound.noun || mention.at == bound.at + 1)
                    && !base.filters.iter().any(|filter| has_number(filter, bound.number))
            });
            if let Some(mention) = measured {
                let said = self.said_aggregates().into_iter().chain([Aggregate::Sum]).next();
                let aggregate = said.unwrap_or(Aggregate::Sum);
                push(Form {
                    filters: others.clone(),
                    measures: vec![Measure::Of(aggregate, Scalar::Column(mention.place))],
                    having: vec![(0, bound.compare, bound.number)],
                    ..base.clone()
                });
            }
            let Some(noun) = bound.noun.and_then(|at| self.marks.get(at)) else { continue };
            let table = noun.tables.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(table, _)| *table);
            let times = matches!(noun.text.to_lowercase().as_str(), "times" | "time" | "rows" | "entries");
            let thing =
                self.mentions.iter().any(|mention| Some(mention.at) == bound.noun && mention.is_group());
            if table.is_some() || times || thing || noun.is_unknown() {
                push(Form {
                    table: table.unwrap_or(base.table),
                    filters: others.clone(),
                    measures: vec![Measure::Rows],
                    having: vec![(0, bound.compare, bound.number)],
                    ..base.clone()
                });
            }
        }
    }

    /// Things that groups may be made of: named ones that are no condition.
    pub(super) fn entities(&self, form: &Form) -> Vec<Group> {
        let mut found: Vec<Group> = Vec::new();
        let mut at_end: Vec<Group> = Vec::new();
        for (at, mark) in self.marks.iter().enumerate() {
            let behind = self.marks.iter().take(at).rev().take(3).any(|mark| mark.number.is_some());
            let named = self.free(form).filter(|mention| mention.at == at && mention.is_group()).take(1);
            let mut groups: Vec<Group> = named.map(|mention| Group::Column(mention.place)).collect();
            for (table, quality) in mark.tables.iter().filter(|(_, quality)| *quality >= 0.5) {
                let display = self.schema.display(*table).filter(|_| *quality >= mark.column_quality() - 0.3);
                groups.extend(display.and_then(|places| places.first().copied()).map(Group::Column));
            }
            for group in groups {
                if !found.contains(&group) {
                    if behind { at_end.push(group) } else { found.push(group) }
                }
            }
        }
        found.extend(at_end);
        found
    }

    /// Another time for a period.
    fn other_times(&self, base: &Form, found: &mut Vec<Form>) {
        for (at, filter) in base.filters.iter().enumerate() {
            let times = self.time_columns(base);
            for time in times.into_iter().filter(|time| *time != filter.place()).take(3) {
                let moved = match filter {
                    Filter::Within(_, from, to) => Filter::Within(time, *from, *to),
                    Filter::WithinAny(_, spans) => Filter::WithinAny(time, spans.clone()),
                    Filter::Parts(_, part, parts) => Filter::Parts(time, *part, parts.clone()),
                    _ => break,
                };
                found.push(replaced(base, at, moved));
            }
        }
    }

    /// Numbers that a comparison may be about: named ones first, then those that reach so far.
    fn comparable(&self, base: &Form, number: f64) -> Vec<ColumnRef> {
        let mut places: Vec<ColumnRef> =
            self.free(base).filter(|mention| mention.role.is_number()).map(|mention| mention.place).collect();
        let own = self.schema.places().filter(|(place, role)| {
            place.table == base.table && role.is_number() && self.reaches(*place, number)
        });
        places.extend(own.map(|(place, _)| place).take(4));
        let mut kept: Vec<ColumnRef> = Vec::new();
        for place in places {
            if !kept.contains(&place) {
                kept.push(place);
            }
        }
        kept
    }

    /// Whether a number lies between the smallest and the largest value of a column.
    pub(super) fn reaches(&self, place: ColumnRef, number: f64) -> bool {
        let value = |value: &Value| match value {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        };
        let column = self.schema.column(place);
        let ends = column.and_then(|column| value(&column.min).zip(value(&column.max)));
        ends.is_none_or(|(low, high)| (low..=high).contains(&number))
    }

    /// Another number column for a comparison, or one for a comparison that has none.
    fn other_numbers(&self, base: &Form, found: &mut Vec<Form>) {
        for (at, filter) in base.filters.iter().enumerate() {
            let (place, number) = match filter {
                Filter::Number(place, _, number) | Filter::Between(place, number, _) => (*place, *number),
                _ => continue,
            };
            for other in self.comparable(base, number).into_iter().filter(|other| *other != place).take(3) {
                let moved = match filter {
                    Filter::Number(_, compare, number) => Filter::Number(other, *compare, *number),
                    Filter::Between(_, low, high) => Filter::Between(other, *low, *high),
                    _ => continue,
                };
                found.push(replaced(base, at, moved));
            }
        }
        for bound in self.bounds() {
            let used = base.filters.iter().any(|filter| has_number(filter, bound.number))
                || base.having.iter().any(|(.., number)| (number - bound.number).abs() < 1e-9);
            if used || self.marks.get(bound.at).is_some_and(|mark| mark.percent) {
                continue;
            }
            for place in self.comparable(base, bound.number).into_iter().take(2) {
                let mut form = base.clone();
                form.filters.push(Filter::Number(place, bound.compare, bound.number));
                found.push(form);
            }
        }
    }

    /// "returned after the due date": two times of a row compared.
    fn compared_times(&self, base: &Form, found: &mut Vec<Form>) {
        let word = |words: &[&str]| {
            self.marks.iter().any(|mark| {
                mark.text.to_lowercase().split(' ').any(|said| words.contains(&said)) && mark.period.is_none()
            })
        };
        let later = word(&["after", "later", "late", "past", "overdue"]);
        let earlier = word(&["before", "earlier", "early", "ahead"]);
        if !later && !earlier {
            return;
        }
        let compare = if later { Compare::Greater } else { Compare::Less };
        let named: Vec<ColumnRef> = (self.mentions.iter())
            .filter(|mention| mention.role == Role::Time)
            .map(|mention| mention.place)
            .collect();
        for right in named.iter().rev().take(2) {
            let mut lefts: Vec<ColumnRef> = named.iter().copied().filter(|place| place != right).collect();
            lefts.extend(
                self.schema
                    .places()
                    .filter(|(place, role)| {
                        *role == Role::Time && place.table == right.table && place != right
                    })
                    .map(|(place, _)| place),
            );
            for left in lefts.into_iter().take(2) {
                let mut form = base.clone();
                form.filters.retain(|filter| {
                    !matches!(filter, Filter::Missing(..)) || ![left, *right].contains(&filter.place())
                });
                form.filters.push(Filter::Columns(left, compare, *right));
                found.push(form);
            }
        }
    }

    /// A condition less, the weakest first: a common word may be no value.
    fn dropped(&self, base: &Form, found: &mut Vec<Form>) {
        let quality = |filter: &Filter| match filter {
            Filter::Values { place, values, .. } => (self.marks.iter())
                .flat_map(|mark| &mark.values)
                .filter(|link| link.place == *place && link.values.iter().any(|value| values.contains(value)))
                .map(|link| link.quality)
                .fold(0.0, f32::max),
            Filter::Number(..) | Filter::Missing(..) | Filter::Flag(..) => 0.9,
            _ => 1.0,
        };
        let mut order: Vec<(usize, f32)> =
            base.filters.iter().enumerate().map(|(at, filter)| (at, quality(filter))).collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        for (at, _) in order.into_iter().filter(|(_, quality)| *quality < 0.97).take(2) {
            let mut form = base.clone();
            form.filters.remove(at);
            found.push(form);
        }
    }
}

fn replaced(base: &Form, at: usize, filter: Filter) -> Form {
    let mut form = base.clone();
    if let Some(known) = form.filters.get_mut(at) {
        *known = filter;
    }
    form
}

fn has_number(filter: &Filter, number: f64) -> bool {
    matches!(filter, Filter::Number(_, _, known) if (known - number).abs() < 1e-9)
}

/// What "unpaid", "unfinished" or "non-refundable" says no to.
fn opposite(mark: &Mark) -> Option<String> {
    let word = mark.text.to_lowercase();
    let rest = ["un", "non-", "in"].iter().find_map(|prefix| word.strip_prefix(prefix))?;
    let open = mark.is_unknown() || mark.by_meaning;
    (open && rest.len() >= 4).then(|| rest.to_owned())
}

/// The comparison of "colder", "heavier": by the direction of its adjective.
fn comparative(word: &str) -> Option<Compare> {
    let root = word.strip_suffix("er")?;
    let found = adjective(&format!("{root}est"), true)?;
    Some(if found.largest { Compare::Greater } else { Compare::Less })
}
