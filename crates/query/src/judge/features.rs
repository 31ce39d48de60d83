//! Holds the words of a question against the parts of a query, and the parts against the words.

use super::facts::{ColumnName, Facts, aggregate_name};
use super::focus::{Focus, Wanted};
use super::result::ResultShape;
use super::{Judge, Proposal, Proposer};
use crate::query::Aggregate;
use crate::reader::{Grammar, Mark, Operator, days_of, is_never, is_superlative};
use crate::roles::Role;
use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

static LIGHT: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("../english/light_words.txt").lines();
    lines.filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect()
});

/// Whether a word carries little meaning of its own.
pub(crate) fn is_light(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.split_whitespace().all(|word| LIGHT.contains(word) || word.chars().count() < 2)
}

/// Whether a mark is written as a name: with a capital, and not as the first word.
pub(super) fn is_name(mark: &Mark) -> bool {
    mark.from > 0 && mark.text.starts_with(char::is_uppercase)
}

/// A number with its name.
pub type Feature = (&'static str, f64);

/// What holding words against a query gives.
pub(super) struct Account {
    pub features: Vec<Feature>,
    /// Words that carry meaning and that nothing in the query explains, by position of their mark.
    pub unexplained: Vec<usize>,
}

/// What is known of the other proposals.
pub(super) struct Company<'a> {
    /// Another kind of proposer asks the same of the same columns.
    pub agrees: bool,
    /// No other kind of proposer has anything.
    pub alone: bool,
    pub result: Option<&'a ResultShape>,
    /// What the other kind of proposer gets, where it was run.
    pub others: Vec<&'a ResultShape>,
    /// The likelihood of all forms with this result, among those that were run.
    pub agreeing_forms: f64,
    /// How many of the other proposals that were run have this result, as a share.
    pub agreeing_share: f64,
}

#[derive(Default)]
struct Missing {
    unknown: usize,
    names: usize,
    operators: usize,
    numbers: usize,
    periods: usize,
    columns: usize,
    values: usize,
    tables: usize,
    aggregate: usize,
    group: usize,
    superlative: usize,
    negation: usize,
}

impl Missing {
    /// Counts a mark that nothing in the query explains.
    fn count(&mut self, mark: &Mark) {
        let superlative = is_superlative(mark);
        if mark.number.is_some() && mark.period.is_none() {
            self.numbers += 1;
        } else if mark.period.is_some() {
            self.periods += 1;
        } else if !mark.values.is_empty() {
            self.values += 1;
        } else if let Some(operator) = mark.operator {
            self.operators += 1;
            match operator {
                Operator::Aggregate(_) | Operator::Count => self.aggregate += 1,
                Operator::Group | Operator::Grain(_) | Operator::Part(_) => self.group += 1,
                Operator::Top(_) | Operator::Superlative(_) | Operator::Common(_) => self.superlative += 1,
                Operator::Not => self.negation += 1,
                _ => {}
            }
        } else if superlative {
            self.operators += 1;
            self.superlative += 1;
        } else if !mark.columns.is_empty() {
            self.columns += 1;
        } else if !mark.tables.is_empty() {
            self.tables += 1;
        } else if is_name(mark) {
            self.names += 1;
        } else if !is_light(&mark.text) {
            self.unknown += 1;
        }
    }
}

impl Judge<'_> {
    pub(super) fn account(&self, proposal: &Proposal, facts: &Facts, company: &Company) -> Account {
        let columns = facts.columns();
        let mut missing = Missing::default();
        let mut unexplained = Vec::new();
        let (mut content, mut left, mut rivals, mut by_meaning) = (0_usize, 0_usize, 0_usize, 0_usize);
        let mut links: Vec<f32> = Vec::new();
        for (at, mark) in self.marks.iter().enumerate() {
            if mark.is_glue() {
                continue;
            }
            content += 1;
            let used = self.used_columns(mark, &columns);
            if let Some(quality) = used.iter().copied().reduce(f32::max) {
                by_meaning += usize::from(mark.by_meaning);
                links.push(quality);
                let beside = mark.columns.iter().filter(|(place, other)| {
                    *other >= quality - 0.05 && !columns.contains(&self.name(*place))
                });
                rivals += beside.count();
            }
            if !used.is_empty() || self.is_explained(mark, facts, &columns) {
                continue;
            }
            left += 1;
            missing.count(mark);
            if !(mark.is_unknown() && is_light(&mark.text)) {
                unexplained.push(at);
            }
        }
        let support = self.support(facts, &columns);
        let raw = facts.aggregates.is_empty()
            && facts.filtered.is_empty()
            && facts.limit.is_none()
            && facts.nested == 0
            && !facts.set;
        let mean = if links.is_empty() { 0.0 } else { links.iter().sum::<f32>() / links.len() as f32 };
        let weakest = links.iter().copied().fold(1.0_f32, f32::min);
        let planner = match proposal.proposer {
            Proposer::Planner(confidence) => Some(f64::from(confidence) / 1000.0),
            _ => None,
        };
        let analytic = self.has(|operator| {
            matches!(
                operator,
                Operator::Aggregate(_)
                    | Operator::Group
                    | Operator::Grain(_)
                    | Operator::Part(_)
                    | Operator::Trend
                    | Operator::Share
                    | Operator::Rate
                    | Operator::Growth
                    | Operator::Versus
                    | Operator::Contrast
            )
        });
        let largest = facts.tables.iter().filter_map(|table| self.schema.catalogue.table(table)?.rows).max();
        let rows = (largest.unwrap_or(1000) as f64 + 1.0).log10();
        let tables = (self.schema.catalogue.tables.len() as f64).max(1.0).ln();
        let reader = planner.is_none();
        let plain = facts.aggregates.is_empty();
        // A number of every row, listed and not added up.
        let listed =
            plain && facts.groups == 0 && facts.shown.iter().any(|column| self.role(column) == Role::Measure);
        let hidden = facts.limit.is_some() && !facts.ordered.is_subset(&facts.shown);
        let hidden_measure = facts.limit.is_some() && !plain && !facts.measure_shown;
        let mut features: Vec<Feature> = vec![
            ("unknown words", count(missing.unknown)),
            ("unknown names", count(missing.names)),
            ("operators missing", count(missing.operators)),
            ("numbers missing", count(missing.numbers)),
            ("periods missing", count(missing.periods)),
            ("columns missing", count(missing.columns)),
            ("values missing", count(missing.values)),
            ("tables missing", count(missing.tables)),
            ("coverage", 1.0 - left as f64 / content.max(1) as f64),
            ("aggregate missing", count(missing.aggregate)),
            ("group missing", count(missing.group)),
            ("superlative missing", count(missing.superlative)),
            ("negation missing", count(missing.negation)),
            ("columns unsupported", count(support.columns)),
            ("shown unsupported", count(support.shown)),
            ("conditions unsupported", count(support.filtered)),
            ("texts unsupported", count(support.texts)),
            ("numbers unsupported", count(support.numbers)),
            ("aggregate unsupported", yes(support.aggregate)),
            ("group unsupported", yes(support.group)),
            ("limit unsupported", yes(support.limit)),
            ("by meaning", count(by_meaning)),
            ("mean link", f64::from(mean)),
            ("weakest link", f64::from(weakest)),
            ("rivals", count(rivals)),
            ("sum of rate", count(support.sums_rate)),
            ("number of identifier", count(support.counts_ids)),
            ("raw list", yes(raw)),
            ("long list", yes(raw && facts.items > 3)),
            ("listed measure", if listed { rows } else { 0.0 }),
            ("hidden order", if hidden || hidden_measure { rows } else { 0.0 }),
            ("joins", count(facts.joins)),
            ("multiplies", yes(proposal.multiplies)),
            ("nested", count(facts.nested)),
            ("set operation", yes(facts.set)),
            ("conditions", count(facts.filtered.len())),
            ("outside range", yes(self.is_outside(facts))),
            ("cost", proposal.cost.clamp(0.0, 2.0)),
            // Some readings are proposed ahead of the others; that is for the choice alone.
            ("ahead", (-proposal.cost).clamp(0.0, 2.0)),
            ("defaults", count(proposal.defaults)),
            ("lists", yes(proposal.grammar == Some(Grammar::Lists))),
            ("rows of one table", yes(proposal.grammar == Some(Grammar::Rows))),
            ("composed", yes(proposal.grammar == Some(Grammar::Composed))),
            ("not among forms", yes(proposal.standing.is_none())),
            ("first of forms", yes(proposal.standing.is_some_and(|standing| standing.rank == 0))),
            ("likely form", proposal.standing.map_or(0.0, |standing| f64::from(standing.probability))),
            (
                "unlikely form",
                proposal.standing.map_or(1.0, |s| (-f64::from(s.probability.max(1e-4)).ln() / 4.0).min(2.0)),
            ),
            ("likely row form", proposal.row_probability.map_or(0.0, f64::from)),
            (
                "unlikely row form",
                proposal.row_probability.map_or(0.0, |p| (-f64::from(p.max(1e-4)).ln() / 4.0).min(2.0)),
            ),
            ("is planner", yes(!reader)),
            ("planner confidence", planner.unwrap_or(0.0)),
            ("planner doubt", planner.map_or(0.0, |confidence| (1.0 - confidence).max(0.0).ln_1p())),
            ("agrees", yes(company.agrees)),
            ("alone", yes(company.alone)),
            ("words", (self.words as f64).min(40.0) / 10.0),
            ("tables in data", tables),
            ("follows", yes(proposal.follows)),
            ("rows", rows),
            ("reader analytic", yes(reader && analytic)),
            ("planner analytic", yes(!reader && analytic)),
            ("reader lookup", yes(reader && plain)),
            ("reader joins", if reader { count(facts.joins) } else { 0.0 }),
            ("reader unknown", if reader { count(missing.unknown) } else { 0.0 }),
            ("reader missing", if reader { count(left) } else { 0.0 }),
            ("planner missing", if reader { 0.0 } else { count(left) }),
            ("reader aggregate", yes(reader && !plain && self.any_aggregate())),
            ("reader rows", if reader { rows } else { 0.0 }),
            ("raw rows", if raw { rows } else { 0.0 }),
            ("lookup rows", if plain { rows } else { 0.0 }),
            ("reader tables", if reader { tables } else { 0.0 }),
        ];
        features.extend(self.focus_features(facts, &columns, company.result));
        features.extend(self.result_features(facts, company));
        Account { features, unexplained }
    }

    fn used_columns(&self, mark: &Mark, columns: &BTreeSet<&ColumnName>) -> Vec<f32> {
        let best = mark.column_quality();
        (mark.columns.iter())
            .filter(|(place, quality)| *quality >= best - 0.35 && columns.contains(&self.name(*place)))
            .map(|(_, quality)| *quality)
            .collect()
    }

    /// Whether a value, a table, a number, a time or an operator of the query is what a mark says.
    fn is_explained(&self, mark: &Mark, facts: &Facts, columns: &BTreeSet<&ColumnName>) -> bool {
        let by_value = mark.values.iter().flat_map(|link| &link.values).any(|value| {
            facts.texts.contains(&value.to_lowercase())
                || value
                    .parse::<f64>()
                    .is_ok_and(|number| facts.numbers.iter().any(|n| (n - number).abs() < 1e-9))
        });
        let by_table = mark.tables.iter().any(|(table, _)| {
            self.schema.table(*table).is_some_and(|table| facts.tables.contains(&table.name))
        });
        let product = |(a, b): &(_, _)| columns.contains(&self.name(*a)) && columns.contains(&self.name(*b));
        let by_number = mark.number.is_some_and(|number| {
            let magnitudes: &[f64] = if mark.text.contains(' ') { &[1.0, 1e3, 1e6, 1e9] } else { &[1.0] };
            (facts.numbers.iter()).any(|n| {
                magnitudes.iter().any(|times| (n * times - number).abs() <= 1e-9 * number.abs().max(1.0))
            }) || facts.limit.is_some_and(|limit| (limit as f64 - number).abs() < 1e-9)
                || facts.dates.iter().any(|date| date.starts_with(&format!("{number}")))
        });
        let by_period = mark.period.as_ref().is_some_and(|period| {
            facts.dates.contains(&period.from.to_string()) || facts.dates.contains(&period.to.to_string())
        });
        let by_operator = mark.operator.is_some_and(|operator| explains(operator, facts))
            && (facts.excludes || !is_never(mark) || self.shows_each_row(facts))
            || is_superlative(mark)
                && (facts.limit.is_some()
                    || facts.nested > 0
                    || facts.aggregates.contains("max")
                    || facts.aggregates.contains("min"));
        // "90th percentile".
        let word = mark.text.to_lowercase();
        let ordinal = word.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse::<f64>();
        let by_statistic = facts.aggregates.contains("percentile")
            && (word.starts_with("percentile")
                || ordinal.is_ok_and(|n| facts.numbers.iter().any(|known| (known - n).abs() < 1e-9)));
        let by_time = mark.is_time_word() && facts.truncates
            || facts.elapsed && word.split(' ').any(crate::reader::is_duration_word);
        // "ignore those without one": two words of negation ask for filled cells.
        let negations = self.marks.iter().filter(|mark| {
            matches!(mark.operator, Some(Operator::Not | Operator::Missing))
                || matches!(mark.text.to_lowercase().as_str(), "skip" | "drop")
        });
        let by_presence = facts.tests_present
            && (mark.operator == Some(Operator::Not) || matches!(word.as_str(), "skip" | "drop"))
            && negations.count() > 1;
        // "more deaths than births", "per capita", "on a weekend".
        let by_relation = facts.compares_columns
            && matches!(word.as_str(), "more" | "fewer" | "less" | "higher" | "lower" | "greater")
            || facts.divides && word == "capita"
            || facts.parts && days_of(mark).is_some();
        by_value
            || by_relation
            || by_statistic
            || by_time
            || by_presence
            || by_table
            || mark.products.iter().any(product)
            || by_number
            || by_period
            || by_operator
    }

    /// Whether a thing that is shown comes up in one row only: then no row and never are the same.
    fn shows_each_row(&self, facts: &Facts) -> bool {
        facts.shown.iter().any(|(table, name)| {
            let table = self.schema.catalogue.table(table);
            let column = table.and_then(|table| table.columns.iter().find(|column| column.name == *name));
            column.is_some_and(|column| column.distinct >= column.seen)
        })
    }

    fn has(&self, wanted: fn(Operator) -> bool) -> bool {
        self.marks.iter().any(|mark| mark.operator.is_some_and(wanted))
    }

    fn any_aggregate(&self) -> bool {
        self.has(|operator| {
            matches!(
                operator,
                Operator::Aggregate(_)
                    | Operator::Count
                    | Operator::HowMuch
                    | Operator::Superlative(_)
                    | Operator::Common(_)
                    | Operator::Top(_)
                    | Operator::Share
                    | Operator::Rate
                    | Operator::Group
                    | Operator::Grain(_)
            )
        }) || self.marks.iter().any(is_superlative)
    }

    /// Parts of the query that no word asks for.
    fn support(&self, facts: &Facts, columns: &BTreeSet<&ColumnName>) -> Support {
        let says = |test: &dyn Fn(&Mark) -> bool| self.marks.iter().any(test);
        let supported = |column: &ColumnName| {
            says(&|mark| {
                mark.columns.iter().any(|(place, quality)| *quality >= 0.3 && self.name(*place) == *column)
                    || mark.values.iter().any(|link| self.name(link.place) == *column)
                    || (mark.products.iter())
                        .any(|(a, b)| self.name(*a) == *column || self.name(*b) == *column)
            })
        };
        let timed = |column: &ColumnName| {
            self.role(column) == Role::Time && says(&|mark| mark.period.is_some() || mark.is_time_word())
        };
        let value_said = |text: &String| {
            says(&|mark| {
                mark.values.iter().flat_map(|link| &link.values).any(|value| value.to_lowercase() == *text)
                    || mark.text.to_lowercase().contains(text.as_str())
            })
        };
        let number_said = |number: f64| {
            says(&|mark| {
                mark.number.is_some_and(|n| (n - number).abs() <= 1e-9 * n.abs().max(1.0))
                    || (mark.values.iter().flat_map(|link| &link.values))
                        .any(|value| value.parse::<f64>().is_ok_and(|n| (n - number).abs() < 1e-9))
                    || mark.period.is_some()
            })
        };
        let plain = |number: f64| [0.0, 1.0, 100.0].iter().any(|n: &f64| (number - n).abs() < 1e-9);
        let grouping = self.has(|operator| {
            matches!(
                operator,
                Operator::Group
                    | Operator::Grain(_)
                    | Operator::Part(_)
                    | Operator::Trend
                    | Operator::Versus
                    | Operator::Contrast
                    | Operator::Superlative(_)
                    | Operator::Top(_)
                    | Operator::Common(_)
                    | Operator::Compare(_)
                    | Operator::Which
            )
        });
        let limiting = self.has(|operator| {
            matches!(operator, Operator::Top(_) | Operator::Superlative(_) | Operator::Common(_))
        });
        let aggregated = |names: &[&str], roles: &[Role]| {
            let misfit = |(aggregate, column): &&(String, ColumnName)| {
                names.contains(&aggregate.as_str()) && roles.contains(&self.role(column))
            };
            facts.aggregated.iter().filter(misfit).count()
        };
        let bare = |list: &BTreeSet<ColumnName>| {
            list.iter().filter(|column| !supported(column) && !timed(column)).count()
        };
        Support {
            shown: if facts.aggregates.is_empty() { bare(&facts.shown) } else { bare(&facts.grouped) },
            filtered: bare(&facts.filtered),
            columns: columns.iter().filter(|column| !supported(column) && !timed(column)).count(),
            texts: facts.texts.iter().filter(|text| !value_said(text)).count(),
            numbers: facts.numbers.iter().filter(|n| !plain(**n) && !number_said(**n)).count(),
            aggregate: !facts.aggregates.is_empty() && !self.any_aggregate(),
            group: facts.groups > 0 && !grouping,
            limit: facts.limit.is_some() && !limiting && !says(&is_superlative),
            sums_rate: aggregated(&["sum"], &[Role::Rate, Role::Year]),
            counts_ids: aggregated(&["sum", "average"], &[Role::Identifier]),
        }
    }

    /// Whether the query gives what the question asks for.
    fn focus_features(
        &self,
        facts: &Facts,
        columns: &BTreeSet<&ColumnName>,
        result: Option<&ResultShape>,
    ) -> Vec<Feature> {
        let Focus { wanted, mark, single } = self.focus;
        let mark = mark.and_then(|at| self.marks.get(at));
        let best = mark.map_or(0.0, Mark::column_quality);
        let names = |column: &ColumnName| {
            mark.is_some_and(|mark| {
                (mark.columns.iter())
                    .any(|(place, quality)| *quality >= best - 0.35 && self.name(*place) == *column)
            })
        };
        let unknown = mark.is_some_and(|mark| mark.is_unknown() && !is_light(&mark.text));
        let weak = mark.is_some_and(|mark| {
            !mark.is_unknown()
                && mark.table_quality() < 0.5
                && mark.value_quality() < 0.8
                && mark.column_quality() < 0.65
        });
        let linked = mark.is_some_and(|mark| mark.column_quality() >= 0.5);
        let unshown = linked
            && matches!(wanted, Wanted::Thing)
            && !facts.shown.iter().chain(&facts.grouped).any(&names)
            && !facts.aggregated.iter().any(|(_, column)| names(column));
        // "Which city has the most people" is not answered by the number of people.
        let numbered = matches!(wanted, Wanted::Thing | Wanted::Person)
            && single
            && !facts.aggregates.is_empty()
            && facts.groups == 0
            && facts.shown.is_empty();
        let uncounted = wanted == Wanted::Count
            && facts.aggregates.is_empty()
            && !columns.iter().any(|column| names(column) && self.role(column).is_number());
        let no_number = matches!(wanted, Wanted::Count | Wanted::Amount)
            && facts.groups == 0
            && self.marks.iter().all(|mark| !matches!(mark.operator, Some(Operator::Group)))
            && result.is_some_and(|result| !result.is_number && result.rows > 1);
        let roles = |wanted: &[Role]| facts.shown.iter().any(|column| wanted.contains(&self.role(column)));
        let no_time = wanted == Wanted::Moment && !roles(&[Role::Time, Role::Year]);
        let many = single && result.is_some_and(|result| result.rows > 1);
        vec![
            ("focus unknown", yes(unknown)),
            ("focus weak", yes(weak)),
            ("focus not shown", yes(unshown)),
            ("number for thing", yes(numbered)),
            ("count asked", yes(wanted == Wanted::Count)),
            ("not counted", yes(uncounted)),
            ("no number", yes(no_number)),
            ("no time", yes(no_time)),
            ("many for one", yes(many)),
            ("person asked", yes(wanted == Wanted::Person)),
        ]
    }

    fn result_features(&self, facts: &Facts, company: &Company) -> Vec<Feature> {
        let Some(result) = company.result else {
            return [
                "not run",
                "empty result",
                "same result",
                "other result",
                "agreeing forms",
                "agreeing share",
                "many rows",
                "very many rows",
                "one row",
                "every row",
            ]
            .into_iter()
            .map(|name| (name, yes(name == "not run")))
            .collect();
        };
        let all = facts.tables.iter().filter_map(|table| self.schema.catalogue.table(table)?.rows).max();
        let agree = company.others.iter().any(|other| other.agrees_with(result));
        let every = result.rows > 10 && all.is_some_and(|all| result.rows as u64 >= all);
        vec![
            ("not run", 0.0),
            ("empty result", yes(result.is_empty)),
            ("same result", yes(agree)),
            ("other result", yes(!agree && !company.others.is_empty())),
            ("agreeing forms", if result.is_empty { 0.0 } else { company.agreeing_forms }),
            ("agreeing share", if result.is_empty { 0.0 } else { company.agreeing_share }),
            ("many rows", yes(result.rows > 20)),
            ("very many rows", yes(result.rows > 200)),
            ("one row", yes(result.rows == 1)),
            ("every row", yes(every)),
        ]
    }
}

struct Support {
    shown: usize,
    filtered: usize,
    columns: usize,
    texts: usize,
    numbers: usize,
    aggregate: bool,
    group: bool,
    limit: bool,
    sums_rate: usize,
    counts_ids: usize,
}

fn count(n: usize) -> f64 {
    (n as f64).min(3.0)
}

fn yes(truth: bool) -> f64 {
    f64::from(u8::from(truth))
}

/// Whether a part of the query does what an operator says.
fn explains(operator: Operator, facts: &Facts) -> bool {
    let has = |aggregate: Aggregate| facts.aggregates.contains(aggregate_name(aggregate));
    match operator {
        Operator::Aggregate(Aggregate::Sum) => has(Aggregate::Sum) || has(Aggregate::Count) || facts.divides,
        Operator::Aggregate(Aggregate::Average) => has(Aggregate::Average) || facts.divides,
        Operator::Aggregate(Aggregate::Min) => has(Aggregate::Min) || facts.limit.is_some(),
        Operator::Aggregate(Aggregate::Max) => has(Aggregate::Max) || facts.limit.is_some(),
        Operator::Aggregate(aggregate) => has(aggregate),
        Operator::Count => has(Aggregate::Count) || has(Aggregate::CountDistinct) || has(Aggregate::Sum),
        Operator::HowMuch => !facts.aggregates.is_empty() || facts.items == 1,
        Operator::Distinct => facts.distinct || has(Aggregate::CountDistinct) || facts.groups > 0,
        Operator::Top(_) | Operator::Superlative(_) | Operator::Common(_) => {
            facts.limit.is_some()
                || facts.nested > 0
                || has(Aggregate::Max)
                || has(Aggregate::Min)
                || facts.windows
        }
        Operator::Compare(_) | Operator::Between => facts.compares || facts.having,
        Operator::Group | Operator::Within | Operator::Grain(_) | Operator::Part(_) => {
            facts.groups > 0 || facts.order.is_some() || facts.divides
        }
        Operator::Order | Operator::Direction(_) => facts.order.is_some() || facts.windows,
        Operator::Not => facts.negates || facts.tests_null || facts.numbers.contains(&0.0),
        Operator::Or | Operator::Versus | Operator::Contrast => facts.one_of || facts.groups > 0 || facts.set,
        Operator::Share | Operator::Rate => facts.divides,
        Operator::Growth => facts.windows || facts.truncates || facts.groups > 0,
        Operator::Trend => facts.groups > 0,
        Operator::Running | Operator::Rolling => facts.windows,
        Operator::Missing => facts.tests_null || facts.tests_present,
        Operator::Correlation => has(Aggregate::Correlation),
        Operator::Chart(_) | Operator::Pivot | Operator::Whole => true,
        Operator::Distribution | Operator::Instead => false,
        _ => true,
    }
}
