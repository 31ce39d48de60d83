//! Open requests: overview, trend, comparison of periods, distribution, correlation, outliers,
//! missing values.
//!
//! The invariant: every query of an analysis keeps the conditions of the question; the first query
//! is the answer.

use crate::frame::Kind;
use crate::query::{Aggregate, Compare, Condition, Expr, Grain};

use super::build::{build, has_aggregate};
use super::filters::date_of;
use super::link::Mark;
use super::measure::measures;
use super::reader::Reader;
use super::schema::Place;
use super::sketch::{Sketch, Target};
use super::targets::{aggregate_word, grain_word};
use super::{ChartKind, ChartWish, Intent, Named, Outcome, Reading};

/// What is summed up, in which table, and what it is called.
#[derive(Debug, Clone)]
pub(super) struct Measure {
    pub expr: Expr,
    pub name: String,
    pub table: usize,
    /// The single column behind it.
    pub place: Option<Place>,
}

/// The kind of analysis a question asks for, if it asks for one.
pub(super) fn intent(marks: &[Mark]) -> Option<(Intent, Vec<usize>)> {
    let mut found: Option<Intent> = None;
    let mut used = Vec::new();
    for (place, mark) in marks.iter().enumerate() {
        let free = mark.columns.is_empty() && mark.tables.is_empty() && mark.values.is_empty();
        if !free {
            continue;
        }
        let text = mark.text.to_lowercase();
        let next = marks.get(place + 1).map(|mark| mark.text.to_lowercase()).unwrap_or_default();
        let intent = match text.as_str() {
            "analyze" | "analyse" | "analysis" | "overview" | "summary" | "summarize" | "summarise"
            | "insights" | "explore" | "dashboard" | "why" | "drivers" => Intent::Overview,
            "trend" | "trends" | "trending" | "evolution" | "evolve" | "evolved" | "seasonality" => {
                Intent::Trend
            }
            "over" if next == "time" => Intent::Trend,
            "compare" | "compared" | "comparison" | "versus" | "vs" => Intent::Compare,
            "distribution" | "distributed" | "histogram" => Intent::Distribution,
            "correlation" | "correlate" | "correlated" | "correlates" | "relationship" => Intent::Correlation,
            "outlier" | "outliers" | "anomaly" | "anomalies" | "anomalous" => Intent::Outliers,
            "missing" if matches!(next.as_str(), "values" | "data" | "cells" | "?" | "") => Intent::Missing,
            "incomplete" => Intent::Missing,
            _ => continue,
        };
        used.push(place);
        let rank = |intent: &Intent| matches!(intent, Intent::Trend | Intent::Overview);
        if found.is_none_or(|known| {
            rank(&known) && !rank(&intent) || intent == Intent::Overview && known == Intent::Trend
        }) {
            found = Some(intent);
        }
    }
    found.map(|intent| (intent, used))
}

impl Reader<'_> {
    /// Answers an open request with several queries.
    pub(super) fn analyse(mut self, intent: Intent) -> Outcome {
        let measure = self.measure();
        let mut plan = Plan { queries: Vec::new(), charts: Vec::new() };
        let first = match intent {
            Intent::Missing => self.missing(&mut plan),
            Intent::Correlation => self.correlation(&mut plan),
            Intent::Distribution => self.distribution(&mut plan, &measure),
            Intent::Outliers => self.outliers(&mut plan, &measure),
            Intent::Compare => self.compare(&mut plan, &measure),
            Intent::Overview | Intent::Trend | Intent::Lookup => self.overview(&mut plan, &measure, intent),
        };
        let Some(sketch) = first.filter(|_| !plan.queries.is_empty()) else { return self.unanswerable() };
        self.note_anchor();
        let confidence = self.confidence(None).min(0.93);
        Outcome::Read(Reading {
            intent,
            queries: plan.queries,
            charts: plan.charts,
            confidence,
            assumptions: self.assumptions,
            reasoning: self.reasoning,
            parameters: self.parameters,
            sketch,
            form: None,
            unexplained: Vec::new(),
            then: None,
        })
    }

    /// What the analysis is about: said in the question, derived, or the main number of the table.
    pub(super) fn measure(&mut self) -> Measure {
        let target = self.sketch.targets.iter().find(|target| has_aggregate(&target.expr)).cloned();
        if let Some(target) = target {
            let mut tables = Vec::new();
            super::build::tables_of(&target.expr, &mut tables);
            let table = tables
                .first()
                .and_then(|name| self.schema.catalogue.tables.iter().position(|table| table.name == *name))
                .unwrap_or(self.head);
            return Measure { expr: target.expr, name: target.name, table, place: None };
        }
        let place = self
            .sketch
            .targets
            .iter()
            .filter_map(|target| self.place_of(&target.expr))
            .find(|place| self.schema.is_measure(*place));
        if let Some(place) = place {
            let aggregate = if self.additive(place) { Aggregate::Sum } else { Aggregate::Average };
            return self.measure_of(aggregate, place);
        }
        if let Some(measure) = self.derived() {
            return measure;
        }
        match measures(self.schema, self.head).first() {
            Some((place, score)) if *score > 0.2 => {
                let (place, aggregate) =
                    (*place, if *score > 0.7 { Aggregate::Sum } else { Aggregate::Average });
                let label = self.label(place);
                let table = self.table_name(self.head);
                self.assumptions
                    .push(format!("“{table}” is measured by the {} {label}.", aggregate_word(aggregate)));
                self.measure_of(aggregate, place)
            }
            _ => {
                let table = self.table_name(self.head);
                Measure {
                    expr: Expr::Aggregate(Aggregate::Count, vec![Expr::Star]),
                    name: format!("number of {table}"),
                    table: self.head,
                    place: None,
                }
            }
        }
    }

    pub(super) fn measure_of(&self, aggregate: Aggregate, place: Place) -> Measure {
        let name = format!("{} {}", aggregate_word(aggregate), self.label(place));
        Measure {
            expr: Expr::Aggregate(aggregate, vec![self.expr(place)]),
            name,
            table: place.table,
            place: Some(place),
        }
    }

    /// "margin" and "profit" from what was earned and what it cost.
    pub(super) fn derived(&mut self) -> Option<Measure> {
        let (expr, table) = self.profit()?;
        self.assumptions.push("Profit is the amount less the cost.".to_owned());
        Some(Measure { expr, name: "profit".to_owned(), table, place: None })
    }

    /// The earned amount less the cost, when the question says "margin" or "profit" and both
    /// columns exist in one table.
    pub(super) fn profit(&mut self) -> Option<(Expr, usize)> {
        let at = (0..self.marks.len()).find(|at| {
            self.mark(*at).is_some_and(|mark| {
                matches!(
                    mark.text.to_lowercase().as_str(),
                    "margin" | "margins" | "profit" | "profits" | "profitable" | "profitability"
                ) && mark.unknown()
            })
        })?;
        let tables =
            [self.head].into_iter().chain((0..self.schema.tables.len()).filter(|table| *table != self.head));
        let mut best: Option<(u64, Expr, usize)> = None;
        for table in tables {
            let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
            let rows = self.schema.table(table).and_then(|table| table.rows).unwrap_or(0);
            let find = |stems: &[&str]| {
                (0..columns).map(|column| Place { table, column }).find(|place| {
                    self.schema.is_measure(*place)
                        && self.schema.has_stem(*place, stems)
                        && !self.schema.has_stem(*place, &["cost"])
                })
            };
            let cost = (0..columns).map(|column| Place { table, column }).find(|place| {
                self.schema.is_measure(*place) && self.schema.has_stem(*place, &["cost", "expense"])
            });
            let (Some(gain), Some(cost)) =
                (find(&["amount", "revenue", "sale"]).or_else(|| find(&["price"])), cost)
            else {
                continue;
            };
            let sum = |place: Place| Box::new(Expr::Aggregate(Aggregate::Sum, vec![self.expr(place)]));
            if best.as_ref().is_none_or(|(known, _, _)| rows > *known) {
                best = Some((rows, Expr::Arithmetic('-', sum(gain), sum(cost)), table));
            }
        }
        let (_, expr, table) = best?;
        self.take(at);
        Some((expr, table))
    }

    /// Is a sum of it a sensible number?
    pub(super) fn additive(&self, place: Place) -> bool {
        measures(self.schema, place.table).iter().any(|(known, score)| *known == place && *score > 0.7)
    }

    /// The column of times of a table.
    pub(super) fn time_of(&self, table: usize) -> Option<Place> {
        let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
        (0..columns)
            .map(|column| Place { table, column })
            .filter(|place| self.schema.column(*place).is_some_and(|column| column.kind.is_time()))
            .min_by_key(|place| self.time_rank(*place))
    }

    /// Columns with few values that split a table well, the best first.
    pub(super) fn dimensions(&self, table: usize) -> Vec<Place> {
        let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
        let fixed = |place: &Place| self.is_fixed(*place);
        let mut found: Vec<Place> = (0..columns)
            .map(|column| Place { table, column })
            .filter(|place| !fixed(place) && !self.schema.is_key(*place) && !self.schema.refers(*place))
            .filter(|place| {
                self.schema.column(*place).is_some_and(|column| {
                    matches!(column.kind, Kind::Text | Kind::Boolean)
                        && (2..=30).contains(&column.distinct)
                        && column.looks_like.is_none()
                })
            })
            .collect();
        found.sort_by_key(|place| {
            let distinct = self.schema.column(*place).map_or(0, |column| column.distinct);
            (usize::from(!(3..=12).contains(&distinct)), place.column)
        });
        found
    }

    /// Is the column held to one value by a condition?
    pub(super) fn is_fixed(&self, place: Place) -> bool {
        let expr = self.expr(place);
        self.sketch.filters.iter().any(
            |condition| matches!(condition, Condition::Compare(column, Compare::Equal, _) if *column == expr),
        )
    }

    pub(super) fn base(&self) -> Sketch {
        Sketch {
            head: self.sketch.head.clone(),
            filters: self.sketch.filters.clone(),
            both: None,
            absent: self.sketch.absent.clone(),
            ..Sketch::default()
        }
    }

    pub(super) fn said_grain(&self) -> Option<Grain> {
        let said = self
            .sketch
            .groups
            .iter()
            .find_map(|expr| if let Expr::Truncate(grain, _) = expr { Some(*grain) } else { None });
        said.or_else(|| {
            self.marks
                .iter()
                .filter(|mark| mark.unknown() || mark.used)
                .find_map(|mark| grain_word(&mark.text))
        })
    }

    pub(super) fn fitting_grain(&self, time: Place) -> Grain {
        let column = self.schema.column(time);
        let (from, to) = match self.period() {
            Some((_, when)) => (Some(when.from), Some(when.to)),
            None => (
                column.and_then(|column| date_of(&column.min)),
                column.and_then(|column| date_of(&column.max)),
            ),
        };
        let days = from.zip(to).map_or(365, |(from, to)| (to - from).num_days());
        match days {
            0..=45 => Grain::Day,
            46..=62 => Grain::Week,
            63..=2200 => Grain::Month,
            _ => Grain::Year,
        }
    }

    pub(super) fn trend(&self, measure: &Measure, grain: Grain, time: Place) -> Sketch {
        let group = Expr::Truncate(grain, Box::new(self.expr(time)));
        let name = format!("{grain:?}").to_lowercase();
        let mut sketch = self.base();
        sketch.targets = vec![
            Target { expr: group.clone(), name },
            Target { expr: measure.expr.clone(), name: measure.name.clone() },
        ];
        sketch.groups = vec![group.clone()];
        sketch.order = vec![(group, false)];
        sketch.also.push(self.table_name(measure.table));
        sketch
    }

    pub(super) fn breakdown(&self, measure: &Measure, by: Place) -> Sketch {
        let group = self.expr(by);
        let mut sketch = self.base();
        sketch.targets = vec![
            Target { expr: group.clone(), name: self.label(by) },
            Target { expr: measure.expr.clone(), name: measure.name.clone() },
        ];
        sketch.groups = vec![group];
        sketch.order = vec![(measure.expr.clone(), true)];
        sketch.also.push(self.table_name(measure.table));
        sketch
    }

    pub(super) fn overview(&mut self, plan: &mut Plan, measure: &Measure, intent: Intent) -> Option<Sketch> {
        let mut first = None;
        let time = self.time_of(measure.table);
        let extreme = self.extreme_period();
        let grain = self.said_grain();
        if let (Some((at, down)), Some(time)) = (extreme, time) {
            let grain = grain.unwrap_or(Grain::Month);
            let mut sketch = self.trend(measure, grain, time);
            sketch.order = vec![(measure.expr.clone(), down)];
            sketch.limit = Some(1);
            self.take(at);
            plan.add(
                &sketch,
                "answer",
                format!(
                    "The {} {} by {}",
                    if down { "best" } else { "worst" },
                    format!("{grain:?}").to_lowercase(),
                    measure.name
                ),
                self,
            );
            self.explain_extreme(plan, measure, grain, time, down);
            first = Some(sketch);
        }
        if let Some(time) = time {
            let grain = grain.unwrap_or_else(|| self.fitting_grain(time));
            let sketch = self.trend(measure, grain, time);
            let word = format!("{grain:?}").to_lowercase();
            plan.add(&sketch, "trend", format!("{} by {word}", capital(&measure.name)), self);
            plan.chart(
                ChartKind::Line,
                &word,
                &measure.name,
                format!("{} by {word}", capital(&measure.name)),
            );
            first = first.or(Some(sketch));
        }
        let groups: Vec<Place> = self
            .sketch
            .groups
            .iter()
            .chain(self.sketch.targets.iter().map(|target| &target.expr))
            .filter_map(|expr| self.place_of(expr))
            .filter(|place| !self.schema.is_measure(*place))
            .collect();
        let most = if intent == Intent::Trend && !groups.is_empty() { 0 } else { 3 };
        let splits: Vec<Place> = groups
            .iter()
            .copied()
            .chain(
                self.dimensions(measure.table).into_iter().filter(|place| !groups.contains(place)).take(most),
            )
            .collect();
        let totals = self.totals(measure);
        plan.add(&totals, "totals", "Totals".to_owned(), self);
        first = first.or(Some(totals));
        self.before(plan, measure, time);
        for place in splits {
            let label = self.label(place);
            let sketch = self.breakdown(measure, place);
            plan.add(&sketch, &format!("by_{label}"), format!("{} by {label}", capital(&measure.name)), self);
            plan.chart(
                ChartKind::Bar,
                &label,
                &measure.name,
                format!("{} by {label}", capital(&measure.name)),
            );
        }
        first
    }

    pub(super) fn totals(&self, measure: &Measure) -> Sketch {
        let mut sketch = self.base();
        sketch.targets = vec![Target { expr: measure.expr.clone(), name: measure.name.clone() }];
        if let Some(place) =
            measure.place.filter(|_| !matches!(measure.expr, Expr::Aggregate(Aggregate::Average, _)))
        {
            let column = self.expr(place);
            sketch.targets.push(Target {
                expr: Expr::Aggregate(Aggregate::Average, vec![column]),
                name: format!("average {}", self.label(place)),
            });
        }
        sketch.targets.push(Target {
            expr: Expr::Aggregate(Aggregate::Count, vec![Expr::Star]),
            name: "number of rows".to_owned(),
        });
        sketch.also.push(self.table_name(measure.table));
        sketch
    }
}

pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Queries and charts as they are planned.
pub(super) struct Plan {
    pub queries: Vec<Named>,
    pub charts: Vec<ChartWish>,
}

impl Plan {
    pub(super) fn add(&mut self, sketch: &Sketch, name: &str, title: String, reader: &Reader) {
        if let Some(query) = build(sketch, reader.schema) {
            self.queries.push(Named { name: name.to_owned(), title, query });
        }
    }

    /// A chart of the query that was added last.
    pub(super) fn chart(&mut self, kind: ChartKind, x: &str, y: &str, title: String) {
        self.chart_of(kind, x, vec![y.to_owned()], None, title);
    }

    pub(super) fn chart_of(
        &mut self,
        kind: ChartKind,
        x: &str,
        y: Vec<String>,
        series: Option<String>,
        title: String,
    ) {
        let Some(query) = self.queries.len().checked_sub(1) else { return };
        self.charts.push(ChartWish { query, kind, x: x.to_owned(), y, series, title });
    }
}
