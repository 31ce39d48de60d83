//! A metric asked for in the plain form: a metric, what it is broken down by, conditions, a period.
//! "revenue by segment and month where channel is web in 2023" is compiled word by word.
//!
//! Invariant: every word is understood, or nothing is compiled and the reader tries. A column is
//! one of the metric's table or of a table that each of its rows belongs to once, by one way only.

use super::{Compiled, literal, one_of, rename};
use crate::catalogue::{Catalogue, Column, Join, Table};
use crate::chart::ChartKind;
use crate::frame::Kind;
use crate::planner::{ChartWish, Intent, Named, Reading, Sketch};
use crate::query::{Compare, Condition, Expr, Grain, Item, Joined, Literal, Query};
use chrono::NaiveDate;
use std::collections::BTreeSet;
use steward_text::period::{Period, read_times};
use steward_text::tokens::{Token, name_words, stem, tokenize};

/// How sure a question is that was understood word by word.
const CONFIDENCE: f64 = 0.98;
/// Words before a metric that only ask.
const ASKING: &str =
    "what is was are were the show me us give list tell our please can could you i we want to see need";
/// Words after which a group comes.
const BREAKDOWN: &str = "by per each every";
/// Words after which a condition or a period comes.
const CONDITION: &str = "where with for in of and when whose during on";

/// What the words before and after a metric ask for; nothing when a word is not understood.
pub(super) fn read(
    (before, after): (&[Token], &[Token]),
    compiled: &Compiled,
    (name, default_time): (&str, Option<&str>),
    catalogue: &Catalogue,
    today: NaiveDate,
) -> Option<Reading> {
    if before.iter().any(|token| !token.is_sign() && !listed(ASKING, &token.word)) {
        return None;
    }
    let root = catalogue.table(&compiled.table)?;
    let mut parser = Parser {
        tokens: after,
        place: 0,
        times: read_times(after, today),
        reach: reach(catalogue, root),
        root,
        default_time,
        groups: Vec::new(),
        filters: compiled.condition.iter().cloned().collect(),
        used: BTreeSet::new(),
    };
    parser.whole()?;
    Some(parser.reading(compiled, name))
}

fn listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// A table that each row of the root belongs to once, with the joins that lead to it.
struct Reached<'a> {
    table: &'a Table,
    path: Vec<&'a Join>,
}

/// The tables that each row of the root belongs to once, by one way only.
fn reach<'a>(catalogue: &'a Catalogue, root: &'a Table) -> Vec<Reached<'a>> {
    let mut found = vec![Reached { table: root, path: Vec::new() }];
    let mut twice: BTreeSet<&str> = BTreeSet::new();
    let mut place = 0;
    while let Some((from, path)) = found.get(place).map(|one| (one.table, one.path.clone())) {
        for join in catalogue.joins.iter().filter(|join| join.from.0.eq_ignore_ascii_case(&from.name)) {
            let Some(table) = catalogue.table(&join.to.0) else { continue };
            if found.iter().any(|one| one.table.name == table.name) {
                twice.insert(&table.name);
                continue;
            }
            found.push(Reached { table, path: path.iter().copied().chain([join]).collect() });
        }
        place += 1;
    }
    found
        .retain(|one| one.path.is_empty() || !one.path.iter().any(|join| twice.contains(join.to.0.as_str())));
    found
}

struct Parser<'a> {
    tokens: &'a [Token],
    place: usize,
    times: Vec<(usize, usize, Period)>,
    reach: Vec<Reached<'a>>,
    root: &'a Table,
    default_time: Option<&'a str>,
    groups: Vec<(Expr, String)>,
    filters: Vec<Condition>,
    used: BTreeSet<&'a str>,
}

impl<'a> Parser<'a> {
    fn word(&self, offset: usize) -> &'a str {
        self.tokens.get(self.place + offset).map(|token| token.word.as_str()).unwrap_or_default()
    }

    fn whole(&mut self) -> Option<()> {
        while self.place < self.tokens.len() {
            let word = self.word(0);
            if matches!(word, "," | "?" | "." | "please") {
                self.place += 1;
            } else if listed(BREAKDOWN, word) || word == "for" && listed(BREAKDOWN, self.word(1)) {
                self.place += if word == "for" { 2 } else { 1 };
                self.groups()?;
            } else if self.period().is_none() {
                self.place += usize::from(listed(CONDITION, word));
                if self.period().is_none() {
                    self.condition()?;
                }
            }
        }
        Some(())
    }

    /// "segment, month and channel".
    fn groups(&mut self) -> Option<()> {
        loop {
            self.place += usize::from(self.word(0) == "the");
            self.group()?;
            let next = if self.word(0) == "," && self.word(1) == "and" { 2 } else { 1 };
            let kept = self.place;
            if !matches!(self.word(0), "," | "and") {
                return Some(());
            }
            self.place += next;
            // What comes behind may be a condition.
            if self.column().is_none() && self.grain().is_none() {
                self.place = kept;
                return Some(());
            }
        }
    }

    fn grain(&self) -> Option<Grain> {
        Some(match self.word(0) {
            "day" => Grain::Day,
            "week" => Grain::Week,
            "month" => Grain::Month,
            "quarter" => Grain::Quarter,
            "year" => Grain::Year,
            _ => return None,
        })
    }

    fn group(&mut self) -> Option<()> {
        if let Some((reached, column, length)) = self.column() {
            self.place += length;
            let expr = self.expr(reached, column);
            // Moments would be a group each.
            if column.kind.is_time() || self.groups.iter().any(|(known, _)| *known == expr) {
                return None;
            }
            self.groups.push((expr, column.label.clone()));
            return Some(());
        }
        let grain = self.grain()?;
        let expr = Expr::Truncate(grain, Box::new(self.time()?));
        self.groups.push((expr, self.word(0).to_owned()));
        self.place += 1;
        Some(())
    }

    /// The column that is named here: the longest name counts, of two the metric's own table.
    fn column(&self) -> Option<(usize, &'a Column, usize)> {
        let mut best: Option<(usize, &'a Column, usize)> = None;
        let mut tied = false;
        for (place, reached) in self.reach.iter().enumerate() {
            let table: &'a Table = reached.table;
            for column in &table.columns {
                let label = stems(&column.label);
                let long: Vec<String> = stems(&table.label).into_iter().chain(label.clone()).collect();
                for words in [label, long] {
                    if words.is_empty() || !self.stands_here(&words) {
                        continue;
                    }
                    let longest = best.map_or(0, |(.., length)| length);
                    if words.len() > longest {
                        (best, tied) = (Some((place, column, words.len())), false);
                    } else if words.len() == longest && best.is_some_and(|(known, ..)| known != place) {
                        // The root is the first of them.
                        tied = best.is_some_and(|(known, ..)| known != 0);
                    }
                }
            }
        }
        best.filter(|_| !tied)
    }

    fn stands_here(&self, words: &[String]) -> bool {
        let window = self.tokens.get(self.place..self.place + words.len());
        window.is_some_and(|window| window.iter().zip(words).all(|(token, word)| token.stem == *word))
    }

    fn expr(&mut self, reached: usize, column: &Column) -> Expr {
        let Some(table) = self.reach.get(reached).map(|one| one.table) else {
            return Expr::Column(self.root.name.clone(), column.name.clone());
        };
        self.used.insert(&table.name);
        Expr::Column(table.name.clone(), column.name.clone())
    }

    /// The default time of the metric's table, or its only one.
    fn time(&self) -> Option<Expr> {
        let mut times = self.root.columns.iter().filter(|column| column.kind.is_time());
        let column = match self.default_time.and_then(|name| self.root.column(name)) {
            Some(column) => column,
            None => {
                let only = times.next()?;
                times.next().is_none().then_some(only)?
            }
        };
        Some(Expr::Column(self.root.name.clone(), column.name.clone()))
    }

    /// "in 2023", "from 2023-01-10 to 2023-02-01", "since 2022".
    fn period(&mut self) -> Option<()> {
        let span = |at: usize| {
            let here = self.times.iter().filter(|(start, ..)| *start == at);
            here.max_by_key(|(_, end, _)| *end).map(|(_, end, when)| (*end, when.clone()))
        };
        let lead = self.word(0);
        let leads = matches!(
            lead,
            "in" | "during"
                | "for"
                | "since"
                | "after"
                | "before"
                | "until"
                | "till"
                | "from"
                | "between"
                | "of"
        );
        let (mut end, when) = span(self.place + usize::from(leads))?;
        let (mut from, mut to) = (Some(when.from), Some(when.to));
        match lead {
            "since" => to = None,
            "after" => (from, to) = (Some(when.to), None),
            "before" => (from, to) = (None, Some(when.from)),
            "until" | "till" => from = None,
            "from" | "between" => {
                let until = self.tokens.get(end).map(|token| token.word.as_str()).unwrap_or_default();
                if matches!(until, "to" | "until" | "till" | "through" | "and") {
                    let (last, other) = span(end + 1)?;
                    (end, to) = (last, Some(other.to));
                } else if lead == "from" {
                    to = None;
                } else {
                    return None;
                }
            }
            _ => {}
        }
        let time = self.time()?;
        let day = |day| Expr::Literal(Literal::Date(day));
        self.filters.push(match (from, to) {
            (Some(from), Some(to)) => Condition::Within(time, Literal::Date(from), Literal::Date(to)),
            (Some(from), None) => Condition::Compare(time, Compare::GreaterOrEqual, day(from)),
            (None, Some(to)) => Condition::Compare(time, Compare::Less, day(to)),
            (None, None) => return None,
        });
        self.place = end;
        Some(())
    }

    /// "channel is web", "status is not pending", "country Italy", "Italy".
    fn condition(&mut self) -> Option<()> {
        self.place += usize::from(self.word(0) == "the");
        let Some((reached, column, length)) = self.column() else { return self.value() };
        self.place += length;
        self.place += usize::from(matches!(self.word(0), "is" | "are" | "was" | "=" | "equals"));
        let negated = self.word(0) == "not";
        self.place += usize::from(negated);
        let (value, length) = known_value(column, self.rest())?;
        self.place += length;
        self.restrict(reached, column, &value, negated)
    }

    /// A value that one column alone has.
    fn value(&mut self) -> Option<()> {
        let mut found: Vec<(usize, &'a Column, String, usize)> = Vec::new();
        for (place, reached) in self.reach.iter().enumerate() {
            let table: &'a Table = reached.table;
            for column in table.columns.iter().filter(|column| column.kind == Kind::Text) {
                if let Some((value, length)) = known_value(column, self.rest()) {
                    found.push((place, column, value, length));
                }
            }
        }
        let longest = found.iter().map(|(.., length)| *length).max()?;
        found.retain(|(.., length)| *length == longest);
        let [(reached, column, value, length)] = found.as_slice() else { return None };
        self.place += length;
        self.restrict(*reached, column, value, false)
    }

    fn rest(&self) -> &'a [Token] {
        self.tokens.get(self.place..).unwrap_or_default()
    }

    fn restrict(&mut self, reached: usize, column: &Column, value: &str, negated: bool) -> Option<()> {
        let expr = self.expr(reached, column);
        let one = one_of(&expr, vec![literal(value, column.kind).ok()?]);
        self.filters.push(if negated { Condition::Not(Box::new(one)) } else { one });
        Some(())
    }

    fn reading(self, compiled: &Compiled, name: &str) -> Reading {
        let root = self.root.name.clone();
        let mut measure = compiled.expr.clone();
        rename(&mut measure, &compiled.table, &root);
        let mut joins: Vec<Joined> = Vec::new();
        let reached = self.reach.iter().filter(|one| self.used.contains(one.table.name.as_str()));
        for join in reached.flat_map(|one| &one.path) {
            if !joins.iter().any(|known| known.table == join.to.0) {
                joins.push(joined(join));
            }
        }
        let timed = self.groups.iter().any(|(expr, _)| matches!(expr, Expr::Truncate(..)));
        let by_group = || self.groups.iter().map(|(expr, _)| (expr.clone(), false)).collect();
        let order = if timed || self.groups.len() > 1 { by_group() } else { vec![(measure.clone(), true)] };
        let mut items: Vec<Item> =
            self.groups.iter().map(|(expr, name)| Item { expr: expr.clone(), name: name.clone() }).collect();
        items.push(Item { expr: measure, name: name.to_owned() });
        let mut filters = self.filters;
        let filter = match filters.len() {
            0 | 1 => filters.pop(),
            _ => Some(Condition::All(filters)),
        };
        let names: Vec<String> = self.groups.iter().map(|(_, name)| name.clone()).collect();
        let query = Query {
            items,
            table: root.clone(),
            alias: root,
            joins,
            filter,
            order: if self.groups.is_empty() { Vec::new() } else { order },
            group: self.groups.into_iter().map(|(expr, _)| expr).collect(),
            ..Query::default()
        };
        Reading {
            intent: if timed { Intent::Trend } else { Intent::Lookup },
            charts: chart(&query.group, &names, name).into_iter().collect(),
            queries: vec![Named { name: "answer".to_owned(), title: String::new(), query }],
            confidence: CONFIDENCE,
            assumptions: Vec::new(),
            reasoning: Vec::new(),
            parameters: Vec::new(),
            sketch: Sketch::default(),
            form: None,
            unexplained: Vec::new(),
            then: None,
        }
    }
}

/// A chart of one or two groups.
fn chart(groups: &[Expr], names: &[String], metric: &str) -> Option<ChartWish> {
    let time = groups.iter().position(|expr| matches!(expr, Expr::Truncate(..)));
    let at = time.unwrap_or(0);
    let x = names.get(at)?.clone();
    let series = names.iter().enumerate().find(|(place, _)| *place != at).map(|(_, name)| name.clone());
    let kind = match (time, &series) {
        (Some(_), _) => ChartKind::Line,
        (None, Some(_)) => ChartKind::GroupedBar,
        (None, None) => ChartKind::Bar,
    };
    (names.len() < 3).then(|| ChartWish {
        query: 0,
        kind,
        x,
        y: vec![metric.to_owned()],
        series,
        title: String::new(),
    })
}

/// A join of the catalogue that keeps rows without a partner.
fn joined(join: &Join) -> Joined {
    let side = |(table, columns): &(String, Vec<String>)| -> Vec<Expr> {
        columns.iter().map(|column| Expr::Column(table.clone(), column.clone())).collect()
    };
    let on = side(&join.from).into_iter().zip(side(&join.to)).collect();
    Joined { table: join.to.0.clone(), alias: join.to.0.clone(), on, outer: true }
}

/// The longest value of a column that stands at the beginning, and how many words it has.
fn known_value(column: &Column, tokens: &[Token]) -> Option<(String, usize)> {
    let fits = |value: &String| {
        let (words, _) = tokenize(value);
        let window = tokens.get(..words.len()).filter(|window| !window.is_empty())?;
        let same = window.iter().zip(&words).all(|(token, word)| token.word == word.word);
        same.then(|| (value.clone(), words.len()))
    };
    column.values.iter().filter_map(|(value, _)| fits(value)).max_by_key(|(_, length)| *length)
}

fn stems(name: &str) -> Vec<String> {
    name_words(name).iter().map(|word| stem(word)).collect()
}
