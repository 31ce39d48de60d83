//! From marks to a form: which span is a measure, a group, a condition, an order.
//!
//! Where two meanings are open a choice is made and recorded; the search makes the same reading
//! again with other choices.

mod averages;
mod conditions;
mod durations;
mod finish;
mod groups;
mod measures;
mod order;
mod periods;
mod ratios;
mod statistics;
mod superlatives;

use super::form::{Filter, Form, Group};
use super::lexicon::Operator;
use super::link::{ColumnRef, Mark, Schema};
use crate::query::Aggregate;
use crate::roles::Role;
use std::collections::BTreeMap;
use steward_text::tokens::{name_words, stem};

/// Choices that were open, and the ones that are to be made otherwise.
#[derive(Debug, Clone, Default)]
pub(super) struct Choices {
    /// Option to take at a choice, by its number.
    pub other: BTreeMap<usize, usize>,
    /// For each choice the evidence of its options, best first.
    pub open: Vec<Vec<f32>>,
}

impl Choices {
    fn take<T: Clone>(&mut self, mut options: Vec<(T, f32)>) -> Option<T> {
        options.sort_by(|a, b| b.1.total_cmp(&a.1));
        if options.len() < 2 {
            return options.into_iter().next().map(|(option, _)| option);
        }
        options.truncate(3);
        let at = self.other.get(&self.open.len()).copied().unwrap_or(0);
        self.open.push(options.iter().map(|(_, score)| *score).collect());
        options.get(at).or(options.first()).map(|(option, _)| option.clone())
    }
}

/// What an interpretation came to.
pub(super) struct Interpretation {
    pub form: Form,
    pub choices: Choices,
    /// Which marks were used.
    pub used: Vec<bool>,
    /// Defaults that were taken, for people.
    pub assumptions: Vec<String>,
    /// Parts that no word supports.
    pub defaults: usize,
    /// Which column each mark was taken for.
    pub columns: Vec<(usize, ColumnRef)>,
}

/// A superlative that waits for its measure and its things.
#[derive(Debug, Clone)]
struct Superlative {
    largest: bool,
    about: Vec<&'static str>,
    at: usize,
    limit: Option<u64>,
    count: bool,
}

pub(super) struct Interpreter<'a> {
    schema: &'a Schema<'a>,
    marks: &'a [Mark],
    used: Vec<bool>,
    choices: Choices,
    form: Form,
    assumptions: Vec<String>,
    defaults: usize,
    /// Columns named as subjects, with their mark.
    subjects: Vec<(usize, ColumnRef)>,
    /// Tables named, with their mark.
    tables: Vec<(usize, usize)>,
    superlative: Option<Superlative>,
    share: bool,
    correlated: bool,
    contrast: bool,
    /// Months, days and hours that are named as things.
    moments: Vec<(usize, Group)>,
    /// An aggregate that waits for its measure.
    pending: Option<Aggregate>,
    /// Columns whose aggregate nobody asked for.
    implicit: Vec<ColumnRef>,
    columns: Vec<(usize, ColumnRef)>,
    /// Further columns that name the things of a group.
    extra_groups: Vec<Group>,
    /// Measures that are divided by the one behind them.
    fractions: Vec<(usize, ratios::Fraction)>,
    /// Conditions with their mark.
    conditions: Vec<(usize, Filter)>,
    /// Aggregates that share the column of a later one.
    waiting: Vec<Aggregate>,
    /// A superlative and its opposite: both ends are asked for.
    both_ends: bool,
    /// The order that was said, without a limit.
    direction: Option<bool>,
    /// The group that a superlative holds within.
    each: Option<Group>,
    /// An amount is asked for, not an average.
    amount: bool,
    /// "per match": the mark of the group and the table of the things.
    per_thing: Option<(usize, usize)>,
    /// Marks that open a list of groups.
    grouped_at: Vec<usize>,
    /// Things that are counted, with their mark.
    counted: Option<(usize, ColumnRef)>,
}

/// Reads marks into a form.
pub(super) fn interpret(schema: &Schema, marks: &[Mark], choices: Choices) -> Interpretation {
    let mut reader = Interpreter {
        schema,
        marks,
        used: vec![false; marks.len()],
        choices,
        form: Form::default(),
        assumptions: Vec::new(),
        defaults: 0,
        subjects: Vec::new(),
        tables: Vec::new(),
        superlative: None,
        share: false,
        correlated: false,
        contrast: false,
        moments: Vec::new(),
        pending: None,
        implicit: Vec::new(),
        columns: Vec::new(),
        extra_groups: Vec::new(),
        fractions: Vec::new(),
        conditions: Vec::new(),
        waiting: Vec::new(),
        both_ends: false,
        direction: None,
        each: None,
        amount: false,
        counted: None,
        per_thing: None,
        grouped_at: Vec::new(),
    };
    reader.choose_table();
    reader.scan();
    reader.finish();
    reader.form.via = reader.ways();
    let Interpreter { form, choices, used, assumptions, defaults, columns, .. } = reader;
    Interpretation { form, choices, used, assumptions, defaults, columns }
}

impl Interpreter<'_> {
    pub(super) fn mark(&self, at: usize) -> Option<&Mark> {
        self.marks.get(at)
    }
    pub(super) fn operator(&self, at: usize) -> Option<Operator> {
        self.mark(at)?.operator.filter(|_| !self.is_used(at))
    }
    pub(super) fn is_used(&self, at: usize) -> bool {
        self.used.get(at).copied().unwrap_or(true)
    }
    pub(super) fn take(&mut self, at: usize) {
        if let Some(used) = self.used.get_mut(at) {
            *used = true;
        }
    }
    pub(super) fn label(&self, place: ColumnRef) -> String {
        self.schema.column(place).map(|column| column.label.clone()).unwrap_or_default()
    }
    pub(super) fn text(&self, at: usize) -> String {
        self.mark(at).map(|mark| mark.text.to_lowercase()).unwrap_or_default()
    }

    /// References that the question names by the word that tells them from others: "home" of
    /// `home_team_id`, "origin".
    fn ways(&self) -> Vec<ColumnRef> {
        let catalogue = self.schema.catalogue;
        let mut ways = Vec::new();
        for join in &catalogue.joins {
            let several = catalogue
                .joins
                .iter()
                .filter(|other| other.from.0 == join.from.0 && other.to.0 == join.to.0)
                .count();
            let Some(name) = join.from.1.first().filter(|_| several > 1) else { continue };
            let target: Vec<String> = name_words(&join.to.0).iter().map(|word| stem(word)).collect();
            let own = name_words(name).into_iter().map(|word| stem(&word)).filter(|word| {
                !target.contains(word) && !matches!(word.as_str(), "id" | "code" | "key" | "no")
            });
            let said = own.into_iter().any(|word| {
                (0..self.marks.len()).any(|at| self.text(at).split(' ').any(|said| stem(said) == word))
            });
            let table = catalogue.tables.iter().position(|table| table.name == join.from.0);
            let Some(table) = table.filter(|_| said) else { continue };
            let columns = self.schema.table(table).map(|table| table.columns.as_slice()).unwrap_or_default();
            if let Some(column) = columns.iter().position(|column| column.name == *name) {
                ways.push(ColumnRef { table, column });
            }
        }
        // Two ends of one way name neither.
        let one = |place: &ColumnRef| ways.iter().filter(|other| other.table == place.table).count() == 1;
        ways.iter().copied().filter(one).collect()
    }

    /// The next mark that is not mere glue.
    pub(super) fn next(&self, at: usize) -> Option<usize> {
        (at + 1..self.marks.len()).find(|at| {
            !matches!(
                self.mark(*at).and_then(|mark| mark.operator),
                Some(Operator::Filler | Operator::Of | Operator::Distinct | Operator::Is)
            ) || self.mark(*at).is_some_and(|mark| !mark.columns.is_empty())
        })
    }
    pub(super) fn previous(&self, at: usize) -> Option<usize> {
        (0..at).rev().find(|at| {
            !matches!(
                self.mark(*at).and_then(|mark| mark.operator),
                Some(Operator::Filler | Operator::Of | Operator::Is)
            )
        })
    }

    /// The table whose rows are asked about: the one that is named, else the one with most of the
    /// named columns.
    pub(super) fn choose_table(&mut self) {
        let mut scores: Vec<(usize, f32)> = Vec::new();
        for (table, known) in self.schema.catalogue.tables.iter().enumerate() {
            let mut score = 0.0;
            for mark in self.marks {
                let named =
                    mark.tables.iter().filter(|(at, _)| *at == table).map(|(_, q)| *q).fold(0.0, f32::max);
                let column = mark
                    .columns
                    .iter()
                    .filter(|(place, _)| place.table == table)
                    .map(|(_, q)| *q)
                    .fold(0.0, f32::max);
                let value = mark
                    .values
                    .iter()
                    .filter(|link| link.place.table == table)
                    .map(|link| link.quality)
                    .fold(0.0, f32::max);
                score += (1.1 * named).max(column).max(0.8 * value);
            }
            let rows = known.rows.unwrap_or(1).max(1) as f32;
            scores.push((table, score + 0.01 * rows.ln()));
        }
        self.form.table = scores.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(table, _)| *table);
    }

    /// The column that a mark means.
    pub(super) fn column(&mut self, at: usize, wanted: impl Fn(Role) -> bool) -> Option<ColumnRef> {
        let table = self.form.table;
        let options: Vec<(ColumnRef, f32)> = (self.mark(at)?.columns.iter())
            .filter(|(place, _)| wanted(self.schema.role(*place)))
            .map(|(place, quality)| {
                let role = self.schema.role(*place);
                let near = if place.table == table { 0.06 } else { 0.0 };
                let id = match role {
                    Role::Identifier => -0.08,
                    Role::Time => -0.1,
                    _ => 0.0,
                };
                (*place, quality + near + id)
            })
            .collect();
        let best = options.iter().map(|(_, score)| *score).fold(0.0, f32::max);
        let options = options.into_iter().filter(|(_, score)| *score >= best - 0.25).collect();
        let place = self.choices.take(options)?;
        // A link by meaning alone is a guess, not one of two things that were said.
        if self.mark(at).is_some_and(|mark| !mark.by_meaning) {
            self.columns.push((at, place));
        }
        Some(place)
    }

    /// The table that a mark names. Its identifier in other tables stands for the same things.
    pub(super) fn table_at(&self, at: usize) -> Option<usize> {
        let mark = self.mark(at)?;
        let (table, quality) = mark.tables.iter().max_by(|a, b| a.1.total_cmp(&b.1)).copied()?;
        let best = mark.column_quality();
        let ids = mark.columns.iter().filter(|(_, quality)| *quality >= best - 0.05).all(|(place, _)| {
            matches!(self.schema.role(*place), Role::Identifier)
                || self.display(table).is_some_and(|display| display.contains(place))
        });
        let repeats = self.schema.catalogue.tables.len() == 1 && self.names_repeat(mark, table);
        (!repeats && (quality >= best || ids && quality >= 0.6)).then_some(table)
    }

    /// Whether the things that a mark names come up in many rows of their table.
    fn names_repeat(&self, mark: &Mark, table: usize) -> bool {
        let mut named = mark.columns.iter().filter(|(place, quality)| {
            place.table == table
                && *quality >= 0.7
                && matches!(self.schema.role(*place), Role::Text | Role::Category | Role::Identifier)
        });
        let mut any = false;
        let all = named.all(|(place, _)| {
            any = true;
            self.schema.column(*place).is_some_and(|column| column.distinct * 2 < column.seen)
        });
        any && all
    }

    pub(super) fn names_column(&self, at: usize) -> bool {
        self.mark(at).is_some_and(|mark| {
            mark.column_quality() >= 0.3
                && mark.column_quality() + 0.02 >= mark.value_quality()
                && mark.period.is_none()
        })
    }
    pub(super) fn has_role(&self, at: usize, wanted: impl Fn(Role) -> bool) -> bool {
        self.names_column(at)
            && self.mark(at).is_some_and(|mark| {
                let best = mark.column_quality();
                mark.columns
                    .iter()
                    .any(|(place, quality)| *quality >= best - 0.1 && wanted(self.schema.role(*place)))
            })
    }
    pub(super) fn is_numeric(&self, at: usize) -> bool {
        self.has_role(at, Role::is_number)
    }
    pub(super) fn is_groupable(&self, at: usize) -> bool {
        self.has_role(at, |role| {
            matches!(role, Role::Category | Role::Text | Role::Flag | Role::Year | Role::Identifier)
        })
    }

    pub(super) fn scan(&mut self) {
        let mut at = 0;
        while at < self.marks.len() {
            if !self.is_used(at) {
                self.visit(at);
            }
            at += 1;
        }
    }

    pub(super) fn visit(&mut self, at: usize) {
        let Some(mark) = self.mark(at).cloned() else { return };
        if self.against_before(at) {
            return;
        }
        if let Some(period) =
            mark.period.clone().filter(|_| mark.values.is_empty() || mark.value_quality() < 0.9)
        {
            self.period(at, &period);
            return;
        }
        if self.value_rate(at) || self.said_order(at) || self.edges(at) || self.than_average(at) {
            return;
        }
        if self.slash(at) || self.percentile(at) || self.brackets(at) {
            return;
        }
        let names = self.names_column(at) || mark.value_quality() >= 0.6 || mark.table_quality() >= 0.5;
        let measured = matches!(mark.operator, Some(Operator::Aggregate(_)))
            && self.next(at).is_some_and(|next| {
                self.is_numeric(next)
                    || self.mark(next).is_some_and(|mark| {
                        !mark.products.is_empty() || mark.operator == Some(Operator::Count)
                    })
            });
        if let Some(operator) = mark.operator.filter(|_| {
            measured
                || !names
                || mark.column_quality().max(mark.value_quality()).max(mark.table_quality()) < 0.95
        }) {
            self.visit_operator(at, operator);
            return;
        }
        if self.superlative_adjective(at)
            || self.period_before(at)
            || self.value_rate(at)
            || self.earnings(at)
            || self.money(at)
        {
            return;
        }
        if mark.number.is_some() {
            self.number(at);
            return;
        }
        if mark.column_quality() < 0.9
            && matches!(self.text(at).as_str(), "months" | "month" | "weeks" | "quarters" | "years")
            && let Some(group) = self.grain_noun(at)
        {
            self.take(at);
            self.moments.push((at, group));
            return;
        }
        if mark.value_quality() >= mark.column_quality().max(0.3)
            && mark.table_quality() <= mark.value_quality()
        {
            self.value(at);
            return;
        }
        if let Some(table) = self.table_at(at) {
            self.tables.push((at, table));
            self.take(at);
            return;
        }
        if let Some(group) = self.grain_noun(at).filter(|_| !self.names_column(at) && mark.values.is_empty())
        {
            self.take(at);
            self.moments.push((at, group));
            return;
        }
        if self.names_column(at) {
            self.bare_column(at);
        }
    }

    pub(super) fn visit_operator(&mut self, at: usize, operator: Operator) {
        self.take(at);
        match operator {
            Operator::Aggregate(aggregate) => self.aggregate(at, aggregate),
            Operator::Count => self.count(at),
            Operator::HowMuch => self.amount = true,
            Operator::Divide => self.divide(ratios::Fraction::Ratio),
            Operator::Top(largest) => self.top(at, largest),
            Operator::Superlative(largest) => self.superlative(at, largest, Vec::new(), false),
            Operator::Common(largest) => self.superlative(at, largest, Vec::new(), true),
            Operator::Compare(compare) => self.compare(at, compare),
            Operator::Between => self.between(at),
            Operator::Group => {
                self.grouped_at.push(at);
                self.group_list(at);
            }
            Operator::Within => self.within(at),
            Operator::Order => self.order(at),
            Operator::Direction(down) => {
                self.direction = Some(down);
                if let Some((_, known)) = &mut self.form.order {
                    *known = down;
                }
            }
            Operator::Not => self.not(at),
            Operator::Share => {
                if self.text(at).starts_with("as ") && !self.form.measures.is_empty() {
                    self.divide(ratios::Fraction::Percent);
                }
                self.share = true;
                let noun = self.next(at).filter(|next| self.mark(*next).is_some_and(Mark::is_unknown));
                if let Some(noun) = noun {
                    self.take(noun);
                    self.defaults += 1;
                }
            }
            Operator::Growth => self.growth(at),
            Operator::Running => self.form.running = true,
            Operator::Grain(grain) => self.group_period(grain),
            Operator::Part(part) => self.group_part(part),
            Operator::Missing => self.missing(at),
            Operator::Chart(kind) => self.form.chart = Some(kind),
            Operator::Correlation => self.correlated = true,
            Operator::Distribution => self.distribution(at),
            Operator::Pivot => self.form.pivot = true,
            Operator::Contrast => self.contrast = true,
            _ => {}
        }
    }
}
