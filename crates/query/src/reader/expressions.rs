//! Parts of a form as expressions and conditions, and the names of result columns.

use super::form::{Filter, Group, Measure, Scalar, TimeUnit};
use super::lexicon::DatePart;
use super::link::ColumnRef;
use super::lower::{Writer, all, grain_name, hundred, in_unit, literal};
use crate::frame::Kind;
use crate::query::{Aggregate, Compare, Condition, Expr, Grain, Literal};
use crate::roles::Role;

impl Writer<'_> {
    pub(super) fn group(&self, group: &Group) -> Expr {
        match group {
            Group::Column(place) => self.column(*place),
            Group::Period(place, grain) => Expr::Truncate(*grain, Box::new(self.column(*place))),
            Group::Part(place, DatePart::Weekday) => Expr::Part(Grain::Day, Box::new(self.column(*place))),
            Group::Part(place, DatePart::Month) => Expr::Part(Grain::Month, Box::new(self.column(*place))),
            Group::Part(place, DatePart::Hour) => Expr::Hour(Box::new(self.column(*place))),
            Group::Bracket(place, brackets) => self.bracket(*place, brackets),
            Group::Holds(filter) => self.one_where(filter, 1.0),
        }
    }

    /// What stands in the result for a group: weekdays by their names.
    pub(super) fn group_label(&self, group: &Group, expr: &Expr) -> Expr {
        const DAYS: [&str; 7] =
            ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
        if !matches!(group, Group::Part(_, DatePart::Weekday)) {
            return expr.clone();
        }
        let text = |text: &str| Expr::Literal(Literal::Text(text.to_owned()));
        DAYS.iter().enumerate().rev().fold(Expr::Literal(Literal::Null), |other, (at, name)| {
            let number = Expr::Literal(Literal::Int(at as i64 + 1));
            let today = Condition::Compare(expr.clone(), Compare::Equal, number);
            Expr::Choose(Box::new(today), Box::new(text(name)), Box::new(other))
        })
    }

    /// The bracket that a number falls in, as people write it.
    pub(super) fn bracket(&self, place: ColumnRef, brackets: &[(f64, Option<f64>)]) -> Expr {
        let mut expr = Expr::Literal(Literal::Null);
        for (low, high) in brackets.iter().rev() {
            let (words, condition) = match high {
                Some(high) => (format!("{low}-{high}"), Filter::Between(place, *low, *high)),
                None => (format!("{low}+"), Filter::Number(place, Compare::GreaterOrEqual, *low)),
            };
            expr = Expr::Choose(
                Box::new(self.condition(&condition)),
                Box::new(Expr::Literal(Literal::Text(words))),
                Box::new(expr),
            );
        }
        expr
    }

    pub(super) fn group_name(&self, group: &Group) -> String {
        match group {
            Group::Column(place) => self.label(*place),
            Group::Period(_, grain) => grain_name(*grain).to_owned(),
            Group::Part(_, DatePart::Weekday) => "weekday".to_owned(),
            Group::Part(_, DatePart::Month) => "month".to_owned(),
            Group::Part(_, DatePart::Hour) => "hour".to_owned(),
            Group::Bracket(place, _) => self.label(*place),
            Group::Holds(filter) => self.filter_words(filter),
        }
    }

    pub(super) fn scalar(&self, scalar: &Scalar) -> Expr {
        let two = |sign: char, left: ColumnRef, right: ColumnRef| {
            Expr::Arithmetic(sign, Box::new(self.column(left)), Box::new(self.column(right)))
        };
        match scalar {
            Scalar::Column(place) => self.number(*place),
            Scalar::Product(left, right) => two('*', *left, *right),
            Scalar::Quotient(left, right) => two('/', *left, *right),
            Scalar::Difference(left, right) => two('-', *left, *right),
            Scalar::Elapsed(from, to, unit) => {
                in_unit(Expr::Days(Box::new(self.column(*from)), Box::new(self.column(*to))), *unit)
            }
            Scalar::Period(place, grain) => Expr::Truncate(*grain, Box::new(self.column(*place))),
        }
    }

    /// A column as a number: a flag counts 1 where it is set.
    pub(super) fn number(&self, place: ColumnRef) -> Expr {
        let column = self.schema.column(place);
        if self.schema.role(place) == Role::Flag && !column.is_some_and(|column| column.kind.is_number()) {
            return Expr::Choose(
                Box::new(self.condition(&Filter::Flag(place, true))),
                Box::new(Expr::Literal(Literal::Int(1))),
                Box::new(Expr::Literal(Literal::Int(0))),
            );
        }
        if self.schema.has_numbers(place) {
            return Expr::NumberIn(Box::new(self.column(place)));
        }
        self.column(place)
    }

    pub(super) fn measure(&self, measure: &Measure) -> Expr {
        match measure {
            Measure::Rows => Expr::Aggregate(Aggregate::Count, vec![Expr::Star]),
            Measure::Of(Aggregate::CountDistinct, Scalar::Column(place)) => {
                Expr::Aggregate(Aggregate::CountDistinct, vec![self.column(*place)])
            }
            Measure::Of(aggregate, scalar) => Expr::Aggregate(*aggregate, vec![self.scalar(scalar)]),
            Measure::Ratio(left, right) => {
                Expr::Arithmetic('/', Box::new(self.measure(left)), Box::new(self.measure(right)))
            }
            Measure::Percent(left, right) => {
                hundred(Expr::Arithmetic('/', Box::new(self.measure(left)), Box::new(self.measure(right))))
            }
            Measure::ShareWhere(filter) => {
                Expr::Aggregate(Aggregate::Average, vec![self.one_where(filter, 100.0)])
            }
            Measure::RowsWhere(filter) => Expr::Aggregate(Aggregate::Sum, vec![self.one_where(filter, 1.0)]),
            Measure::Less(left, right) => {
                Expr::Arithmetic('-', Box::new(self.measure(left)), Box::new(self.measure(right)))
            }
            Measure::Correlation(left, right) => {
                Expr::Aggregate(Aggregate::Correlation, vec![self.column(*left), self.column(*right)])
            }
            Measure::OfWhere(aggregate, scalar, filter) => {
                let cell = Expr::When(Box::new(self.condition(filter)), Box::new(self.scalar(scalar)));
                Expr::Aggregate(*aggregate, vec![cell])
            }
            Measure::PerMany(left, many, right) => {
                let each = Expr::Arithmetic('/', Box::new(self.measure(left)), Box::new(self.measure(right)));
                Expr::Arithmetic('*', Box::new(each), Box::new(Expr::Literal(literal(*many))))
            }
            Measure::Span(place, unit) => {
                let edge =
                    |aggregate: Aggregate| Box::new(Expr::Aggregate(aggregate, vec![self.column(*place)]));
                in_unit(Expr::Days(edge(Aggregate::Min), edge(Aggregate::Max)), *unit)
            }
        }
    }

    pub(super) fn one_where(&self, filter: &Filter, one: f64) -> Expr {
        Expr::Choose(
            Box::new(self.condition(filter)),
            Box::new(Expr::Literal(literal(one))),
            Box::new(Expr::Literal(literal(0.0))),
        )
    }

    pub(super) fn measure_name(&self, measure: &Measure) -> String {
        match measure {
            Measure::Rows => "count".to_owned(),
            Measure::Of(aggregate, scalar) => {
                let of = match scalar {
                    Scalar::Column(place) => self.label(*place),
                    Scalar::Product(left, right) => format!("{} x {}", self.label(*left), self.label(*right)),
                    Scalar::Quotient(left, right) => {
                        format!("{} / {}", self.label(*left), self.label(*right))
                    }
                    Scalar::Difference(left, right) => {
                        format!("{} - {}", self.label(*left), self.label(*right))
                    }
                    Scalar::Elapsed(from, to, unit) => {
                        let unit = match unit {
                            TimeUnit::Minutes => "minutes",
                            TimeUnit::Hours => "hours",
                            TimeUnit::Days => "days",
                        };
                        format!("{unit} from {} to {}", self.label(*from), self.label(*to))
                    }
                    Scalar::Period(_, grain) => format!("{}s", grain_name(*grain)),
                };
                match aggregate {
                    Aggregate::Sum => format!("total {of}"),
                    Aggregate::Average => format!("average {of}"),
                    Aggregate::Min => format!("lowest {of}"),
                    Aggregate::Max => format!("highest {of}"),
                    Aggregate::Median => format!("median {of}"),
                    Aggregate::StdDev => format!("standard deviation of {of}"),
                    Aggregate::CountDistinct => format!("number of {of}"),
                    Aggregate::Count | Aggregate::Correlation => format!("count of {of}"),
                    Aggregate::Percentile(percent) => format!("{percent}th percentile of {of}"),
                }
            }
            Measure::Ratio(left, right) => {
                format!("{} / {}", self.measure_name(left), self.measure_name(right))
            }
            Measure::Percent(left, right) => {
                format!("{} in % of {}", self.measure_name(left), self.measure_name(right))
            }
            Measure::ShareWhere(filter) => format!("% with {}", self.filter_words(filter)),
            Measure::RowsWhere(filter) => format!("count of {}", self.filter_words(filter)),
            Measure::Less(..) => "difference".to_owned(),
            Measure::Correlation(left, right) => {
                format!("correlation of {} and {}", self.label(*left), self.label(*right))
            }
            Measure::OfWhere(aggregate, scalar, filter) => {
                let whole = self.measure_name(&Measure::Of(*aggregate, scalar.clone()));
                format!("{whole} with {}", self.filter_words(filter))
            }
            Measure::PerMany(left, many, right) => {
                format!("{} per {many} {}", self.measure_name(left), self.measure_name(right))
            }
            Measure::Span(place, _) => format!("time from first to last {}", self.label(*place)),
        }
    }

    pub(super) fn filter_words(&self, filter: &Filter) -> String {
        match filter {
            Filter::Values { place, values, .. } => format!("{} {}", self.label(*place), values.join(" or ")),
            other => self.label(other.place()),
        }
    }

    pub(super) fn condition(&self, filter: &Filter) -> Condition {
        let not = |negated: bool, condition: Condition| {
            if negated { Condition::Not(Box::new(condition)) } else { condition }
        };
        match filter {
            Filter::Values { place, values, negated } => {
                let column = self.column(*place);
                let literals: Vec<Literal> =
                    values.iter().map(|value| self.value_literal(*place, value)).collect();
                match literals.as_slice() {
                    [one] => {
                        let compare = if *negated { Compare::NotEqual } else { Compare::Equal };
                        Condition::Compare(column, compare, Expr::Literal(one.clone()))
                    }
                    _ => not(*negated, Condition::In(column, literals)),
                }
            }
            Filter::Number(place, compare, number) => {
                Condition::Compare(self.number(*place), *compare, Expr::Literal(literal(*number)))
            }
            Filter::Between(place, low, high) => Condition::All(vec![
                Condition::Compare(
                    self.number(*place),
                    Compare::GreaterOrEqual,
                    Expr::Literal(literal(*low)),
                ),
                Condition::Compare(self.number(*place), Compare::LessOrEqual, Expr::Literal(literal(*high))),
            ]),
            Filter::Within(place, from, to) => {
                Condition::Within(self.column(*place), Literal::Date(*from), Literal::Date(*to))
            }
            Filter::WithinAny(place, spans) => Condition::Any(
                (spans.iter())
                    .map(|(from, to)| {
                        Condition::Within(self.column(*place), Literal::Date(*from), Literal::Date(*to))
                    })
                    .collect(),
            ),
            Filter::Flag(place, set) => self.flag(*place, *set),
            Filter::Missing(place, missing) => not(!missing, Condition::IsNull(self.column(*place))),
            Filter::SameAs(place, of) => self.same_as(*place, of),
            Filter::Never(place, of) => self.never(*place, of),
            Filter::Columns(left, compare, right) => {
                Condition::Compare(self.column(*left), *compare, self.column(*right))
            }
            Filter::Average(place, compare, within) => self.beside_average(*place, *compare, *within),
            Filter::Parts(place, part, parts) => {
                let part = self.group(&Group::Part(*place, *part));
                Condition::In(part, parts.iter().map(|part| Literal::Int(i64::from(*part))).collect())
            }
            Filter::Any(sets) => Condition::Any(
                (sets.iter())
                    .filter_map(|set| all(set.iter().map(|filter| self.condition(filter)).collect()))
                    .collect(),
            ),
        }
    }

    pub(super) fn flag(&self, place: ColumnRef, set: bool) -> Condition {
        let column = self.schema.column(place);
        let literal = match column.map(|column| column.kind) {
            Some(Kind::Boolean) => Literal::Bool(set),
            Some(Kind::Text) => {
                let yes =
                    |value: &str| matches!(value.to_lowercase().as_str(), "yes" | "true" | "y" | "t" | "1");
                let values = column.map(|column| column.values.as_slice()).unwrap_or_default();
                let found = values.iter().find(|(value, _)| yes(value) == set);
                Literal::Text(found.map(|(value, _)| value.clone()).unwrap_or_default())
            }
            _ => Literal::Int(i64::from(set)),
        };
        Condition::Compare(self.column(place), Compare::Equal, Expr::Literal(literal))
    }

    pub(super) fn value_literal(&self, place: ColumnRef, value: &str) -> Literal {
        match self.schema.column(place).map(|column| column.kind) {
            Some(Kind::Integer | Kind::Number) => {
                value.parse::<f64>().map_or_else(|_| Literal::Text(value.to_owned()), literal)
            }
            Some(Kind::Boolean) => {
                Literal::Bool(matches!(value.to_lowercase().as_str(), "true" | "1" | "yes"))
            }
            _ => Literal::Text(value.to_owned()),
        }
    }
}
