//! Open requests: overview, trend, comparison of periods, distribution, correlation, outliers, missing values.
//!
//! The invariant: every query of an analysis keeps the conditions of the question; the first query is the answer.

use crate::frame::Kind;
use crate::query::{Aggregate, Compare, Condition, Expr, Grain, Item, Literal, Query};

use super::build::{build, has_aggregate, tables_in};
use super::filters::date_of;
use super::lexicon::Key;
use super::link::Mark;
use super::measure::measures;
use super::reader::Reader;
use super::schema::Place;
use super::sketch::{Sketch, Target};
use super::targets::{aggregate_word, grain_word};
use super::time::{When, containing};
use super::{ChartKind, ChartWish, Intent, Named, Outcome, Reading};

/// What is summed up, in which table, and what it is called.
#[derive(Debug, Clone)]
struct Measure {
    expr: Expr,
    name: String,
    table: usize,
    /// The single column behind it.
    place: Option<Place>,
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
            "analyze" | "analyse" | "analysis" | "overview" | "summary" | "summarize" | "summarise" | "insights" | "explore" | "dashboard" | "why" | "drivers" => Intent::Overview,
            "trend" | "trends" | "trending" | "evolution" | "evolve" | "evolved" | "seasonality" => Intent::Trend,
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
        if found.is_none_or(|known| rank(&known) && !rank(&intent) || intent == Intent::Overview && known == Intent::Trend) {
            found = Some(intent);
        }
    }
    found.map(|intent| (intent, used))
}

impl Reader<'_> {
    /// Answers an open request with several queries.
    pub(super) fn analyse(mut self, intent: Intent, question: &str) -> Outcome {
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
        let confidence = self.confidence().min(0.93);
        let _ = question;
        Outcome::Read(Reading {
            intent,
            queries: plan.queries,
            charts: plan.charts,
            confidence,
            assumptions: self.assumptions,
            reasoning: self.reasoning,
            parameters: self.parameters,
            sketch,
        })
    }

    /// What the analysis is about: said in the question, derived, or the main number of the table.
    fn measure(&mut self) -> Measure {
        let target = self.sketch.targets.iter().find(|target| has_aggregate(&target.expr)).cloned();
        if let Some(target) = target {
            let mut tables = Vec::new();
            super::build::tables_of(&target.expr, &mut tables);
            let table = tables.first().and_then(|name| self.schema.catalogue.tables.iter().position(|table| table.name == *name)).unwrap_or(self.head);
            return Measure { expr: target.expr, name: target.name, table, place: None };
        }
        let place = self.sketch.targets.iter().filter_map(|target| self.place_of(&target.expr)).find(|place| self.schema.is_measure(*place));
        if let Some(place) = place {
            let aggregate = if self.additive(place) { Aggregate::Sum } else { Aggregate::Average };
            return self.measure_of(aggregate, place);
        }
        if let Some(measure) = self.derived() {
            return measure;
        }
        match measures(self.schema, self.head).first() {
            Some((place, score)) if *score > 0.8 => {
                let label = self.label(*place);
                let table = self.table_name(self.head);
                self.assumptions.push(format!("“{table}” is measured by the total of {label}."));
                self.measure_of(Aggregate::Sum, *place)
            }
            _ => {
                let table = self.table_name(self.head);
                Measure { expr: Expr::Aggregate(Aggregate::Count, vec![Expr::Star]), name: format!("number of {table}"), table: self.head, place: None }
            }
        }
    }

    fn measure_of(&self, aggregate: Aggregate, place: Place) -> Measure {
        let name = format!("{} {}", aggregate_word(aggregate), self.label(place));
        Measure { expr: Expr::Aggregate(aggregate, vec![self.expr(place)]), name, table: place.table, place: Some(place) }
    }

    /// "margin" and "profit" from what was earned and what it cost.
    fn derived(&mut self) -> Option<Measure> {
        let (expr, table) = self.profit()?;
        self.assumptions.push("Profit is the amount less the cost.".to_owned());
        Some(Measure { expr, name: "profit".to_owned(), table, place: None })
    }

    /// The earned amount less the cost, when the question says "margin" or "profit" and both columns exist in one table.
    pub(super) fn profit(&mut self) -> Option<(Expr, usize)> {
        let at = (0..self.marks.len()).find(|at| self.mark(*at).is_some_and(|mark| matches!(mark.text.to_lowercase().as_str(), "margin" | "margins" | "profit" | "profits" | "profitable" | "profitability") && mark.unknown()))?;
        let tables = [self.head].into_iter().chain((0..self.schema.tables.len()).filter(|table| *table != self.head));
        let mut best: Option<(u64, Expr, usize)> = None;
        for table in tables {
            let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
            let rows = self.schema.table(table).and_then(|table| table.rows).unwrap_or(0);
            let find = |stems: &[&str]| (0..columns).map(|column| Place { table, column }).find(|place| self.schema.is_measure(*place) && self.schema.has_stem(*place, stems) && !self.schema.has_stem(*place, &["cost"]));
            let cost = (0..columns).map(|column| Place { table, column }).find(|place| self.schema.is_measure(*place) && self.schema.has_stem(*place, &["cost", "expense"]));
            let (Some(gain), Some(cost)) = (find(&["amount", "revenue", "sale"]).or_else(|| find(&["price"])), cost) else { continue };
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
        (0..columns).map(|column| Place { table, column }).filter(|place| self.schema.column(*place).is_some_and(|column| column.kind.is_time())).min_by_key(|place| self.time_rank(*place))
    }

    /// Columns with few values that split a table well, the best first.
    fn dimensions(&self, table: usize) -> Vec<Place> {
        let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
        let fixed = |place: &Place| self.is_fixed(*place);
        let mut found: Vec<Place> = (0..columns)
            .map(|column| Place { table, column })
            .filter(|place| !fixed(place) && !self.schema.is_key(*place) && !self.schema.refers(*place))
            .filter(|place| self.schema.column(*place).is_some_and(|column| matches!(column.kind, Kind::Text | Kind::Boolean) && (2..=30).contains(&column.distinct) && column.looks_like.is_none()))
            .collect();
        found.sort_by_key(|place| {
            let distinct = self.schema.column(*place).map_or(0, |column| column.distinct);
            (usize::from(!(3..=12).contains(&distinct)), place.column)
        });
        found
    }

    fn period(&self) -> Option<(Condition, When)> {
        self.sketch.filters.iter().find_map(|condition| match condition {
            Condition::Within(_, Literal::Date(from), Literal::Date(to)) => Some((condition.clone(), When::span(*from, *to))),
            _ => None,
        })
    }

    /// Is the column held to one value by a condition?
    fn is_fixed(&self, place: Place) -> bool {
        let expr = self.expr(place);
        self.sketch.filters.iter().any(|condition| matches!(condition, Condition::Compare(column, Compare::Equal, _) if *column == expr))
    }

    fn base(&self) -> Sketch {
        Sketch { head: self.sketch.head.clone(), filters: self.sketch.filters.clone(), both: None, absent: self.sketch.absent.clone(), ..Sketch::default() }
    }

    fn said_grain(&self) -> Option<Grain> {
        let said = self.sketch.groups.iter().find_map(|expr| if let Expr::Truncate(grain, _) = expr { Some(*grain) } else { None });
        said.or_else(|| self.marks.iter().filter(|mark| mark.unknown() || mark.used).find_map(|mark| grain_word(&mark.text)))
    }

    fn fitting_grain(&self, time: Place) -> Grain {
        let column = self.schema.column(time);
        let (from, to) = match self.period() {
            Some((_, when)) => (Some(when.from), Some(when.to)),
            None => (column.and_then(|column| date_of(&column.min)), column.and_then(|column| date_of(&column.max))),
        };
        let days = from.zip(to).map_or(365, |(from, to)| (to - from).num_days());
        match days {
            0..=45 => Grain::Day,
            46..=62 => Grain::Week,
            63..=2200 => Grain::Month,
            _ => Grain::Year,
        }
    }

    fn trend(&self, measure: &Measure, grain: Grain, time: Place) -> Sketch {
        let group = Expr::Truncate(grain, Box::new(self.expr(time)));
        let name = format!("{grain:?}").to_lowercase();
        let mut sketch = self.base();
        sketch.targets = vec![Target { expr: group.clone(), name }, Target { expr: measure.expr.clone(), name: measure.name.clone() }];
        sketch.groups = vec![group.clone()];
        sketch.order = vec![(group, false)];
        sketch.also.push(self.table_name(measure.table));
        sketch
    }

    fn breakdown(&self, measure: &Measure, by: Place) -> Sketch {
        let group = self.expr(by);
        let mut sketch = self.base();
        sketch.targets = vec![Target { expr: group.clone(), name: self.label(by) }, Target { expr: measure.expr.clone(), name: measure.name.clone() }];
        sketch.groups = vec![group];
        sketch.order = vec![(measure.expr.clone(), true)];
        sketch.also.push(self.table_name(measure.table));
        sketch
    }

    fn overview(&mut self, plan: &mut Plan, measure: &Measure, intent: Intent) -> Option<Sketch> {
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
            plan.add(&sketch, "answer", format!("The {} {} by {}", if down { "best" } else { "worst" }, format!("{grain:?}").to_lowercase(), measure.name), self);
            self.explain_extreme(plan, measure, grain, time, down);
            first = Some(sketch);
        }
        if let Some(time) = time {
            let grain = grain.unwrap_or_else(|| self.fitting_grain(time));
            let sketch = self.trend(measure, grain, time);
            let word = format!("{grain:?}").to_lowercase();
            plan.add(&sketch, "trend", format!("{} by {word}", capital(&measure.name)), self);
            plan.chart(ChartKind::Line, &word, &measure.name, format!("{} by {word}", capital(&measure.name)));
            first = first.or(Some(sketch));
        }
        let groups: Vec<Place> = self.sketch.groups.iter().chain(self.sketch.targets.iter().map(|target| &target.expr)).filter_map(|expr| self.place_of(expr)).filter(|place| !self.schema.is_measure(*place)).collect();
        let most = if intent == Intent::Trend && !groups.is_empty() { 0 } else { 3 };
        let splits: Vec<Place> = groups.iter().copied().chain(self.dimensions(measure.table).into_iter().filter(|place| !groups.contains(place)).take(most)).collect();
        let totals = self.totals(measure);
        plan.add(&totals, "totals", "Totals".to_owned(), self);
        first = first.or(Some(totals));
        self.before(plan, measure, time);
        for place in splits {
            let label = self.label(place);
            let sketch = self.breakdown(measure, place);
            plan.add(&sketch, &format!("by_{label}"), format!("{} by {label}", capital(&measure.name)), self);
            plan.chart(ChartKind::Bar, &label, &measure.name, format!("{} by {label}", capital(&measure.name)));
        }
        first
    }

    fn totals(&self, measure: &Measure) -> Sketch {
        let mut sketch = self.base();
        sketch.targets = vec![Target { expr: measure.expr.clone(), name: measure.name.clone() }];
        if let Some(place) = measure.place {
            let column = self.expr(place);
            sketch.targets.push(Target { expr: Expr::Aggregate(Aggregate::Average, vec![column]), name: format!("average {}", self.label(place)) });
        }
        sketch.targets.push(Target { expr: Expr::Aggregate(Aggregate::Count, vec![Expr::Star]), name: "number of rows".to_owned() });
        sketch.also.push(self.table_name(measure.table));
        sketch
    }

    /// "worst month", "best quarter": where the superlative stands, and whether the largest is meant.
    fn extreme_period(&self) -> Option<(usize, bool)> {
        let grain = self.marks.iter().any(|mark| grain_word(&mark.text).is_some() && mark.columns.is_empty());
        (0..self.marks.len()).filter(|_| grain).find_map(|at| match self.key(at) {
            Some(Key::Super(down, _)) => Some((at, down)),
            _ => None,
        })
    }

    /// The period in question against the average period, split by the best dimensions.
    fn explain_extreme(&self, plan: &mut Plan, measure: &Measure, grain: Grain, time: Place, down: bool) {
        let group = Expr::Truncate(grain, Box::new(self.expr(time)));
        let mut inner = self.trend(measure, grain, time);
        inner.targets.truncate(1);
        inner.order = vec![(measure.expr.clone(), down)];
        inner.limit = Some(1);
        let Some(inner) = build(&inner, self.schema) else { return };
        let in_it = Condition::Compare(group.clone(), Compare::Equal, Expr::Scalar(Box::new(inner)));
        let (Expr::Aggregate(aggregate, arguments), word) = (&measure.expr, format!("{grain:?}").to_lowercase()) else { return };
        let inside = match arguments.first() {
            Some(Expr::Star) | None => Expr::Literal(Literal::Int(1)),
            Some(argument) => argument.clone(),
        };
        let within = Expr::Aggregate(*aggregate, vec![Expr::When(Box::new(in_it), Box::new(inside))]);
        let periods = Expr::Aggregate(Aggregate::CountDistinct, vec![group]);
        let usual = Expr::Arithmetic('/', Box::new(measure.expr.clone()), Box::new(periods));
        for place in self.dimensions(measure.table).into_iter().take(3) {
            let label = self.label(place);
            let mut sketch = self.breakdown(measure, place);
            let that = format!("that {word}");
            let usually = format!("average {word}");
            sketch.targets.truncate(1);
            sketch.targets.push(Target { expr: within.clone(), name: that.clone() });
            sketch.targets.push(Target { expr: usual.clone(), name: usually.clone() });
            sketch.order = vec![(Expr::Arithmetic('-', Box::new(usual.clone()), Box::new(within.clone())), !down)];
            plan.add(&sketch, &format!("why_{label}"), format!("That {word} against an average {word}, by {label}"), self);
            plan.chart_of(ChartKind::GroupedBar, &label, vec![that, usually], None, format!("That {word} against an average one, by {label}"));
        }
    }

    /// The period, the one before it, and the same one a year earlier.
    fn before(&self, plan: &mut Plan, measure: &Measure, time: Option<Place>) {
        let (Some((mine, when)), Some(time)) = (self.period(), time) else { return };
        let mut periods = vec![when.clone()];
        periods.extend(when.before());
        periods.extend(when.year_before().filter(|year| Some(year.from) != when.before().map(|before| before.from)));
        let mut sketch = self.base();
        sketch.filters.retain(|condition| *condition != mine);
        sketch.targets = periods.iter().filter_map(|period| self.during(measure, time, period)).collect();
        sketch.also.push(self.table_name(measure.table));
        if sketch.targets.len() > 1 {
            plan.add(&sketch, "compared", "Compared with the period before".to_owned(), self);
        }
    }

    /// The measure within a period.
    fn during(&self, measure: &Measure, time: Place, when: &When) -> Option<Target> {
        let condition = Condition::Within(self.expr(time), Literal::Date(when.from), Literal::Date(when.to));
        Some(Target { expr: limited(&measure.expr, &condition)?, name: when.words() })
    }

    /// Two periods or several groups side by side.
    fn compare(&mut self, plan: &mut Plan, measure: &Measure) -> Option<Sketch> {
        let time = self.time_of(measure.table);
        let whens: Vec<When> = self.marks.iter().filter_map(|mark| mark.time.clone()).collect();
        let groups: Vec<Place> = self.sketch.groups.iter().chain(self.sketch.targets.iter().map(|target| &target.expr)).filter_map(|expr| self.place_of(expr)).filter(|place| !self.schema.is_measure(*place)).collect();
        if let (Some(time), Some(other)) = (time, whens.last().cloned()) {
            let current = match whens.as_slice() {
                [first, _, ..] => Some(first.clone()),
                _ => self.latest(time, other.grain).filter(|latest| *latest != other),
            };
            if let Some(current) = current {
                return self.compare_periods(plan, measure, time, &current, &other, &groups);
            }
        }
        let mut first = None;
        let values: Vec<Place> = self.found.iter().filter(|found| found.equal).map(|found| found.place).collect();
        for place in groups.iter().chain(&values).copied().collect::<Vec<_>>() {
            let label = self.label(place);
            let sketch = self.breakdown(measure, place);
            plan.add(&sketch, &format!("by_{label}"), format!("{} by {label}", capital(&measure.name)), self);
            plan.chart(ChartKind::Bar, &label, &measure.name, format!("{} by {label}", capital(&measure.name)));
            first = first.or(Some(sketch));
        }
        if first.is_none() {
            return self.overview(plan, measure, Intent::Overview);
        }
        first
    }

    fn compare_periods(&mut self, plan: &mut Plan, measure: &Measure, time: Place, current: &When, other: &When, groups: &[Place]) -> Option<Sketch> {
        let mut sketch = self.base();
        let timed: Vec<Condition> = self.found.iter().filter(|found| self.mark(found.at).is_some_and(|mark| mark.time.is_some())).map(|found| found.condition.clone()).collect();
        let about_time = self.expr(time);
        sketch.filters.retain(|condition| {
            let mut tables = Vec::new();
            tables_in(condition, &mut tables);
            !timed.contains(condition) && !matches!(condition, Condition::Within(expr, _, _) | Condition::Compare(expr, _, _) if *expr == about_time) && !matches!(condition, Condition::Any(all) if all.iter().all(|one| timed.contains(one)))
        });
        let (now, then) = (self.during(measure, time, current)?, self.during(measure, time, other)?);
        let change = Expr::Arithmetic('/', Box::new(Expr::Arithmetic('-', Box::new(now.expr.clone()), Box::new(then.expr.clone()))), Box::new(then.expr.clone()));
        let names = vec![now.name.clone(), then.name.clone()];
        let mut title = format!("{} in {} and {}", capital(&measure.name), now.name, then.name);
        if let Some(place) = groups.first() {
            let group = self.expr(*place);
            sketch.targets.push(Target { expr: group.clone(), name: self.label(*place) });
            sketch.groups = vec![group];
            sketch.order = vec![(now.expr.clone(), true)];
            title = format!("{title}, by {}", self.label(*place));
        }
        sketch.targets.extend([now, then, Target { expr: change, name: "change".to_owned() }]);
        sketch.also.push(self.table_name(measure.table));
        plan.add(&sketch, "answer", title.clone(), self);
        if let Some(place) = groups.first() {
            let label = self.label(*place);
            plan.chart_of(ChartKind::GroupedBar, &label, names, None, title);
        }
        for at in 0..self.marks.len() {
            if self.mark(at).is_some_and(|mark| mark.time.is_some()) {
                self.take(at);
            }
        }
        Some(sketch)
    }

    /// The last whole period that the data reaches.
    fn latest(&self, time: Place, grain: Grain) -> Option<When> {
        containing(date_of(&self.schema.column(time)?.max)?.min(self.today), grain)
    }

    fn distribution(&mut self, plan: &mut Plan, measure: &Measure) -> Option<Sketch> {
        let dimension = self.sketch.targets.iter().chain([]).filter_map(|target| self.place_of(&target.expr)).chain(self.sketch.groups.iter().filter_map(|group| self.place_of(group))).find(|place| !self.schema.is_measure(*place));
        if let Some(place) = dimension {
            let label = self.label(place);
            let counted = Measure { expr: Expr::Aggregate(Aggregate::Count, vec![Expr::Star]), name: "count".to_owned(), table: place.table, place: None };
            let sketch = self.breakdown(&counted, place);
            plan.add(&sketch, "answer", format!("How often each {label} occurs"), self);
            plan.chart(ChartKind::Bar, &label, "count", format!("How often each {label} occurs"));
            return Some(sketch);
        }
        let place = measure.place?;
        let label = self.label(place);
        let column = self.expr(place);
        let mut spread = self.base();
        for aggregate in [Aggregate::Count, Aggregate::Min, Aggregate::Median, Aggregate::Average, Aggregate::Max, Aggregate::StdDev] {
            spread.targets.push(Target { expr: Expr::Aggregate(aggregate, vec![column.clone()]), name: format!("{} {label}", aggregate_word(aggregate)) });
        }
        let mut values = self.base();
        values.targets = vec![Target { expr: column, name: label.clone() }];
        plan.add(&spread, "answer", format!("How {label} is spread"), self);
        plan.add(&values, "values", format!("All values of {label}"), self);
        plan.chart_of(ChartKind::Histogram, &label, vec![label.clone()], None, format!("Distribution of {label}"));
        Some(spread)
    }

    fn correlation(&mut self, plan: &mut Plan) -> Option<Sketch> {
        let mut places: Vec<Place> = self.sketch.targets.iter().filter_map(|target| match &target.expr {
            Expr::Aggregate(_, inner) => inner.first().and_then(|inner| self.place_of(inner)),
            other => self.place_of(other),
        }).collect();
        places.retain(|place| self.schema.is_measure(*place));
        let [first, second] = [places.first().copied()?, places.get(1).copied()?];
        let (a, b) = (self.expr(first), self.expr(second));
        let (x, y) = (self.label(first), self.label(second));
        let mut answer = self.base();
        answer.targets = vec![Target { expr: Expr::Aggregate(Aggregate::Correlation, vec![a.clone(), b.clone()]), name: "correlation".to_owned() }];
        let mut points = self.base();
        points.targets = vec![Target { expr: a, name: x.clone() }, Target { expr: b, name: y.clone() }];
        plan.add(&answer, "answer", format!("Correlation of {x} and {y}"), self);
        plan.add(&points, "points", format!("{x} and {y}"), self);
        plan.chart_of(ChartKind::Scatter, &x, vec![y.clone()], None, format!("{y} against {x}"));
        Some(answer)
    }

    /// Rows further than three standard deviations from the mean.
    fn outliers(&mut self, plan: &mut Plan, measure: &Measure) -> Option<Sketch> {
        let place = measure.place.or_else(|| self.main_measure(self.head))?;
        let column = self.expr(place);
        let label = self.label(place);
        let table = self.table_name(place.table);
        let scalar = |aggregate: Aggregate| {
            let items = vec![Item { expr: Expr::Aggregate(aggregate, vec![column.clone()]), name: "value".to_owned() }];
            Box::new(Expr::Scalar(Box::new(Query { items, table: table.clone(), alias: table.clone(), filter: super::build::all(self.sketch.filters.clone()), ..Query::default() })))
        };
        let far = Box::new(Expr::Arithmetic('*', Box::new(Expr::Literal(Literal::Int(3))), scalar(Aggregate::StdDev)));
        let high = Condition::Compare(column.clone(), Compare::Greater, Expr::Arithmetic('+', scalar(Aggregate::Average), far.clone()));
        let low = Condition::Compare(column.clone(), Compare::Less, Expr::Arithmetic('-', scalar(Aggregate::Average), far));
        let mut sketch = self.base();
        sketch.targets = vec![Target { expr: Expr::Column(table.clone(), "*".to_owned()), name: "*".to_owned() }];
        sketch.filters.push(Condition::Any(vec![high, low]));
        sketch.order = vec![(column.clone(), true)];
        sketch.limit = Some(100);
        let mut values = self.base();
        values.targets = vec![Target { expr: column, name: label.clone() }];
        plan.add(&sketch, "answer", format!("Rows with an unusual {label}"), self);
        plan.add(&values, "values", format!("All values of {label}"), self);
        plan.chart_of(ChartKind::Box, &label, vec![label.clone()], None, format!("Spread of {label}"));
        self.assumptions.push(format!("Unusual means more than three standard deviations from the average {label}."));
        Some(sketch)
    }

    /// How many cells of each column are empty.
    fn missing(&mut self, plan: &mut Plan) -> Option<Sketch> {
        let table = self.schema.table(self.head)?;
        let mut sketch = self.base();
        sketch.also.push(table.name.clone());
        sketch.filters.retain(|condition| !matches!(condition, Condition::IsNull(_)));
        sketch.targets.push(Target { expr: Expr::Aggregate(Aggregate::Count, vec![Expr::Star]), name: "rows".to_owned() });
        let chosen: Vec<Place> = self.sketch.targets.iter().filter_map(|target| self.place_of(&target.expr)).filter(|place| place.table == self.head).collect();
        for (position, column) in table.columns.iter().enumerate().take(40) {
            if !chosen.is_empty() && !chosen.iter().any(|place| place.column == position) {
                continue;
            }
            let empty = Condition::IsNull(Expr::Column(table.name.clone(), column.name.clone()));
            let one = Expr::When(Box::new(empty), Box::new(Expr::Literal(Literal::Int(1))));
            sketch.targets.push(Target { expr: Expr::Aggregate(Aggregate::Count, vec![one]), name: format!("{} missing", column.label) });
        }
        plan.add(&sketch, "answer", format!("Empty cells in {}", table.label), self);
        Some(sketch)
    }
}

/// An aggregate over the rows of a period only.
fn limited(expr: &Expr, condition: &Condition) -> Option<Expr> {
    match expr {
        Expr::Aggregate(aggregate, arguments) => {
            let inner = match arguments.first()? {
                Expr::Star => Expr::Literal(Literal::Int(1)),
                other => other.clone(),
            };
            Some(Expr::Aggregate(*aggregate, vec![Expr::When(Box::new(condition.clone()), Box::new(inner))]))
        }
        Expr::Arithmetic(sign, left, right) => Some(Expr::Arithmetic(*sign, Box::new(limited(left, condition)?), Box::new(limited(right, condition)?))),
        _ => None,
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Queries and charts as they are planned.
struct Plan {
    queries: Vec<Named>,
    charts: Vec<ChartWish>,
}

impl Plan {
    fn add(&mut self, sketch: &Sketch, name: &str, title: String, reader: &Reader) {
        if let Some(query) = build(sketch, reader.schema) {
            self.queries.push(Named { name: name.to_owned(), title, query });
        }
    }

    /// A chart of the query that was added last.
    fn chart(&mut self, kind: ChartKind, x: &str, y: &str, title: String) {
        self.chart_of(kind, x, vec![y.to_owned()], None, title);
    }

    fn chart_of(&mut self, kind: ChartKind, x: &str, y: Vec<String>, series: Option<String>, title: String) {
        let Some(query) = self.queries.len().checked_sub(1) else { return };
        self.charts.push(ChartWish { query, kind, x: x.to_owned(), y, series, title });
    }
}
