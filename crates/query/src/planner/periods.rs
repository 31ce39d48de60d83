//! Periods in an analysis: the one asked about, the one before, and which one was best or worst.
//!
//! The invariant: two periods are compared within one query, so that both rest on the same rows.

use crate::query::{Aggregate, Compare, Condition, Expr, Grain, Literal};

use super::analysis::{Measure, Plan, capital};
use super::build::build;
use super::filters::date_of;
use super::lexicon::Key;
use super::reader::Reader;
use super::schema::Place;
use super::sketch::{Sketch, Target};
use super::targets::grain_word;
use super::{ChartKind, Intent};
use steward_text::period::{Period, containing};

impl Reader<'_> {
    pub(super) fn period(&self) -> Option<(Condition, Period)> {
        self.sketch.filters.iter().find_map(|condition| match condition {
            Condition::Within(_, Literal::Date(from), Literal::Date(to)) => {
                Some((condition.clone(), Period::span(*from, *to)))
            }
            _ => None,
        })
    }

    /// "worst month", "best quarter": where the superlative stands, and whether the largest is
    /// meant.
    pub(super) fn extreme_period(&self) -> Option<(usize, bool)> {
        let grain = self.marks.iter().any(|mark| grain_word(&mark.text).is_some() && mark.columns.is_empty());
        (0..self.marks.len()).filter(|_| grain).find_map(|at| match self.key(at) {
            Some(Key::Super(down, _)) => Some((at, down)),
            _ => None,
        })
    }

    /// The period in question against the average period, split by the best dimensions.
    pub(super) fn explain_extreme(
        &self,
        plan: &mut Plan,
        measure: &Measure,
        grain: Grain,
        time: Place,
        down: bool,
    ) {
        let group = Expr::Truncate(grain, Box::new(self.expr(time)));
        let mut inner = self.trend(measure, grain, time);
        inner.targets.truncate(1);
        inner.order = vec![(measure.expr.clone(), down)];
        inner.limit = Some(1);
        let Some(inner) = build(&inner, self.schema) else { return };
        let in_it = Condition::Compare(group.clone(), Compare::Equal, Expr::Scalar(Box::new(inner)));
        let (Expr::Aggregate(aggregate, arguments), word) =
            (&measure.expr, format!("{grain:?}").to_lowercase())
        else {
            return;
        };
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
            sketch.order =
                vec![(Expr::Arithmetic('-', Box::new(usual.clone()), Box::new(within.clone())), !down)];
            plan.add(
                &sketch,
                &format!("why_{label}"),
                format!("That {word} against an average {word}, by {label}"),
                self,
            );
            plan.chart_of(
                ChartKind::GroupedBar,
                &label,
                vec![that, usually],
                None,
                format!("That {word} against an average one, by {label}"),
            );
        }
    }

    /// The period, the one before it, and the same one a year earlier.
    pub(super) fn before(&self, plan: &mut Plan, measure: &Measure, time: Option<Place>) {
        let (Some((mine, when)), Some(time)) = (self.period(), time) else { return };
        let mut periods = vec![when.clone()];
        periods.extend(when.before());
        periods.extend(
            when.year_before().filter(|year| Some(year.from) != when.before().map(|before| before.from)),
        );
        let mut sketch = self.base();
        sketch.filters.retain(|condition| *condition != mine);
        sketch.targets = periods.iter().filter_map(|period| self.during(measure, time, period)).collect();
        sketch.also.push(self.table_name(measure.table));
        if sketch.targets.len() > 1 {
            plan.add(&sketch, "compared", "Compared with the period before".to_owned(), self);
        }
    }

    /// The measure within a period.
    pub(super) fn during(&self, measure: &Measure, time: Place, when: &Period) -> Option<Target> {
        let condition = Condition::Within(self.expr(time), Literal::Date(when.from), Literal::Date(when.to));
        Some(Target { expr: limited(&measure.expr, &condition)?, name: when.words() })
    }

    /// Two periods or several groups side by side.
    pub(super) fn compare(&mut self, plan: &mut Plan, measure: &Measure) -> Option<Sketch> {
        let time = self.time_of(measure.table);
        let whens: Vec<Period> = self.marks.iter().filter_map(|mark| mark.time.clone()).collect();
        let groups: Vec<Place> = self
            .sketch
            .groups
            .iter()
            .chain(self.sketch.targets.iter().map(|target| &target.expr))
            .filter_map(|expr| self.place_of(expr))
            .filter(|place| !self.schema.is_measure(*place))
            .collect();
        let sides = self.sketch.filters.iter().any(|condition| matches!(condition, Condition::In(..)));
        let one_period = whens.len() == 1 && whens.iter().all(|when| !when.relative) && sides;
        if let (Some(time), Some(other), false) = (time, whens.last().cloned(), one_period) {
            let current = match whens.as_slice() {
                [first, _, ..] => Some(first.clone()),
                _ => self.latest(time, other.grain).filter(|latest| *latest != other),
            };
            if let Some(current) = current {
                return self.compare_periods(plan, measure, time, &current, &other, &groups);
            }
        }
        let mut first = None;
        let mut values: Vec<Place> = self
            .found
            .iter()
            .filter(|found| {
                found.equal
                    && !self.is_fixed(found.place)
                    && self.mark(found.at).is_none_or(|mark| mark.time.is_none())
            })
            .map(|found| found.place)
            .collect();
        values.dedup();
        for place in groups.iter().chain(&values).copied().collect::<Vec<_>>() {
            let label = self.label(place);
            let sketch = self.breakdown(measure, place);
            plan.add(&sketch, &format!("by_{label}"), format!("{} by {label}", capital(&measure.name)), self);
            plan.chart(
                ChartKind::Bar,
                &label,
                &measure.name,
                format!("{} by {label}", capital(&measure.name)),
            );
            first = first.or(Some(sketch));
        }
        if first.is_none() {
            return self.overview(plan, measure, Intent::Overview);
        }
        first
    }

    pub(super) fn compare_periods(
        &mut self,
        plan: &mut Plan,
        measure: &Measure,
        time: Place,
        current: &Period,
        other: &Period,
        groups: &[Place],
    ) -> Option<Sketch> {
        let mut sketch = self.base();
        let timed: Vec<Condition> = self
            .found
            .iter()
            .filter(|found| self.mark(found.at).is_some_and(|mark| mark.time.is_some()))
            .map(|found| found.condition.clone())
            .collect();
        let about_time = self.expr(time);
        sketch.filters.retain(|condition| {
            let of_time = match condition {
                Condition::Within(expr, _, _) | Condition::Compare(expr, _, _) => *expr == about_time,
                Condition::Any(all) => all.iter().all(|one| timed.contains(one)),
                _ => false,
            };
            !timed.contains(condition) && !of_time
        });
        let (now, then) = (self.during(measure, time, current)?, self.during(measure, time, other)?);
        let change = Expr::Arithmetic(
            '/',
            Box::new(Expr::Arithmetic('-', Box::new(now.expr.clone()), Box::new(then.expr.clone()))),
            Box::new(then.expr.clone()),
        );
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
    pub(super) fn latest(&self, time: Place, grain: Grain) -> Option<Period> {
        containing(date_of(&self.schema.column(time)?.max)?.min(self.today), grain)
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
        Expr::Arithmetic(sign, left, right) => Some(Expr::Arithmetic(
            *sign,
            Box::new(limited(left, condition)?),
            Box::new(limited(right, condition)?),
        )),
        _ => None,
    }
}
