//! How values are spread: distribution, correlation, outliers, empty cells.
//!
//! The invariant: statistics are computed by the engine that holds the rows, never here.

use crate::query::{Aggregate, Compare, Condition, Expr, Item, Literal, Query};

use super::ChartKind;
use super::analysis::{Measure, Plan};
use super::reader::Reader;
use super::schema::Place;
use super::sketch::{Sketch, Target};
use super::targets::aggregate_word;

impl Reader<'_> {
    pub(super) fn distribution(&mut self, plan: &mut Plan, measure: &Measure) -> Option<Sketch> {
        let dimension = self
            .sketch
            .targets
            .iter()
            .chain([])
            .filter_map(|target| self.place_of(&target.expr))
            .chain(self.sketch.groups.iter().filter_map(|group| self.place_of(group)))
            .find(|place| !self.schema.is_measure(*place));
        if let Some(place) = dimension {
            let label = self.label(place);
            let counted = Measure {
                expr: Expr::Aggregate(Aggregate::Count, vec![Expr::Star]),
                name: "count".to_owned(),
                table: place.table,
                place: None,
            };
            let sketch = self.breakdown(&counted, place);
            plan.add(&sketch, "answer", format!("How often each {label} occurs"), self);
            plan.chart(ChartKind::Bar, &label, "count", format!("How often each {label} occurs"));
            return Some(sketch);
        }
        let place = measure.place?;
        let label = self.label(place);
        let column = self.expr(place);
        let mut spread = self.base();
        for aggregate in [
            Aggregate::Count,
            Aggregate::Min,
            Aggregate::Median,
            Aggregate::Average,
            Aggregate::Max,
            Aggregate::StdDev,
        ] {
            spread.targets.push(Target {
                expr: Expr::Aggregate(aggregate, vec![column.clone()]),
                name: format!("{} {label}", aggregate_word(aggregate)),
            });
        }
        let mut values = self.base();
        values.targets = vec![Target { expr: column, name: label.clone() }];
        plan.add(&spread, "answer", format!("How {label} is spread"), self);
        plan.add(&values, "values", format!("All values of {label}"), self);
        plan.chart_of(
            ChartKind::Histogram,
            &label,
            vec![label.clone()],
            None,
            format!("Distribution of {label}"),
        );
        Some(spread)
    }

    pub(super) fn correlation(&mut self, plan: &mut Plan) -> Option<Sketch> {
        let mut places: Vec<Place> = self
            .sketch
            .targets
            .iter()
            .filter_map(|target| match &target.expr {
                Expr::Aggregate(_, inner) => inner.first().and_then(|inner| self.place_of(inner)),
                other => self.place_of(other),
            })
            .collect();
        places.retain(|place| self.schema.is_measure(*place));
        let [first, second] = [places.first().copied()?, places.get(1).copied()?];
        let (a, b) = (self.expr(first), self.expr(second));
        let (x, y) = (self.label(first), self.label(second));
        let mut answer = self.base();
        answer.targets = vec![Target {
            expr: Expr::Aggregate(Aggregate::Correlation, vec![a.clone(), b.clone()]),
            name: "correlation".to_owned(),
        }];
        let mut points = self.base();
        points.targets = vec![Target { expr: a, name: x.clone() }, Target { expr: b, name: y.clone() }];
        plan.add(&answer, "answer", format!("Correlation of {x} and {y}"), self);
        plan.add(&points, "points", format!("{x} and {y}"), self);
        plan.chart_of(ChartKind::Scatter, &x, vec![y.clone()], None, format!("{y} against {x}"));
        Some(answer)
    }

    /// Rows further than three standard deviations from the mean.
    pub(super) fn outliers(&mut self, plan: &mut Plan, measure: &Measure) -> Option<Sketch> {
        let place = measure.place.or_else(|| self.main_measure(self.head))?;
        let column = self.expr(place);
        let label = self.label(place);
        let table = self.table_name(place.table);
        let scalar = |aggregate: Aggregate| {
            let items = vec![Item {
                expr: Expr::Aggregate(aggregate, vec![column.clone()]),
                name: "value".to_owned(),
            }];
            Box::new(Expr::Scalar(Box::new(Query {
                items,
                table: table.clone(),
                alias: table.clone(),
                filter: super::build::all(self.sketch.filters.clone()),
                ..Query::default()
            })))
        };
        let far = Box::new(Expr::Arithmetic(
            '*',
            Box::new(Expr::Literal(Literal::Int(3))),
            scalar(Aggregate::StdDev),
        ));
        let high = Condition::Compare(
            column.clone(),
            Compare::Greater,
            Expr::Arithmetic('+', scalar(Aggregate::Average), far.clone()),
        );
        let low = Condition::Compare(
            column.clone(),
            Compare::Less,
            Expr::Arithmetic('-', scalar(Aggregate::Average), far),
        );
        let mut sketch = self.base();
        sketch.targets =
            vec![Target { expr: Expr::Column(table.clone(), "*".to_owned()), name: "*".to_owned() }];
        sketch.filters.push(Condition::Any(vec![high, low]));
        sketch.order = vec![(column.clone(), true)];
        sketch.limit = Some(100);
        let mut values = self.base();
        values.targets = vec![Target { expr: column, name: label.clone() }];
        plan.add(&sketch, "answer", format!("Rows with an unusual {label}"), self);
        plan.add(&values, "values", format!("All values of {label}"), self);
        plan.chart_of(ChartKind::Box, &label, vec![label.clone()], None, format!("Spread of {label}"));
        self.assumptions
            .push(format!("Unusual means more than three standard deviations from the average {label}."));
        Some(sketch)
    }

    /// How many cells of each column are empty.
    pub(super) fn missing(&mut self, plan: &mut Plan) -> Option<Sketch> {
        let table = self.schema.table(self.head)?;
        let mut sketch = self.base();
        sketch.also.push(table.name.clone());
        sketch.filters.retain(|condition| !matches!(condition, Condition::IsNull(_)));
        sketch.targets.push(Target {
            expr: Expr::Aggregate(Aggregate::Count, vec![Expr::Star]),
            name: "rows".to_owned(),
        });
        let chosen: Vec<Place> = self
            .sketch
            .targets
            .iter()
            .filter_map(|target| self.place_of(&target.expr))
            .filter(|place| place.table == self.head)
            .collect();
        for (position, column) in table.columns.iter().enumerate().take(40) {
            if !chosen.is_empty() && !chosen.iter().any(|place| place.column == position) {
                continue;
            }
            let empty = Condition::IsNull(Expr::Column(table.name.clone(), column.name.clone()));
            let one = Expr::When(Box::new(empty), Box::new(Expr::Literal(Literal::Int(1))));
            sketch.targets.push(Target {
                expr: Expr::Aggregate(Aggregate::Count, vec![one]),
                name: format!("{} missing", column.label),
            });
        }
        plan.add(&sketch, "answer", format!("Empty cells in {}", table.label), self);
        Some(sketch)
    }
}
