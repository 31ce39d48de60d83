//! What a query does, taken apart so that words can be held against it.

use crate::query::{Aggregate, Compare, Condition, Expr, Literal, Query, SetOperation};
use std::collections::BTreeSet;

/// A column by table and name.
pub(super) type ColumnName = (String, String);

/// The parts of a query, nested ones included.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Facts {
    pub tables: BTreeSet<String>,
    pub shown: BTreeSet<ColumnName>,
    pub grouped: BTreeSet<ColumnName>,
    pub filtered: BTreeSet<ColumnName>,
    pub ordered: BTreeSet<ColumnName>,
    pub aggregated: BTreeSet<(String, ColumnName)>,
    pub aggregates: BTreeSet<String>,
    pub texts: BTreeSet<String>,
    pub numbers: Vec<f64>,
    pub dates: BTreeSet<String>,
    pub compares: bool,
    pub negates: bool,
    pub divides: bool,
    pub windows: bool,
    pub truncates: bool,
    pub tests_null: bool,
    /// Only rows whose cell is filled.
    pub tests_present: bool,
    /// Time between two moments.
    pub elapsed: bool,
    pub one_of: bool,
    /// Leaves out what a nested query finds.
    pub excludes: bool,
    /// Weekdays, hours or months of a moment.
    pub parts: bool,
    /// Two columns are compared with each other.
    pub compares_columns: bool,
    pub nested: usize,
    pub joins: usize,
    pub distinct: bool,
    pub groups: usize,
    pub limit: Option<u64>,
    pub order: Option<bool>,
    pub having: bool,
    pub set: bool,
    pub items: usize,
    /// A number over rows is among the columns of the result.
    pub measure_shown: bool,
    /// Columns that must lie in a range: from and to.
    pub ranges: Vec<(ColumnName, Literal, Literal)>,
}

impl Facts {
    pub(super) fn of(query: &Query) -> Self {
        let mut facts = Self::default();
        facts.query(query, true);
        facts
    }

    /// All columns that are used anywhere.
    pub(super) fn columns(&self) -> BTreeSet<&ColumnName> {
        let aggregated = self.aggregated.iter().map(|(_, column)| column);
        let plain = [&self.shown, &self.grouped, &self.filtered, &self.ordered];
        plain.into_iter().flatten().chain(aggregated).collect()
    }

    fn query(&mut self, query: &Query, outer: bool) {
        if query.from.is_none() {
            self.tables.insert(query.table.clone());
        }
        self.joins += query.joins.len();
        self.tables.extend(query.joins.iter().map(|join| join.table.clone()));
        let named = |alias: &str| -> String {
            let join = query.joins.iter().find(|join| join.alias.eq_ignore_ascii_case(alias));
            join.map_or_else(|| query.table.clone(), |join| join.table.clone())
        };
        if outer {
            self.items = query.items.len();
            self.measure_shown = query.items.iter().any(|item| has_aggregate(&item.expr));
            self.limit = query.limit;
            self.order = query.order.first().map(|(_, down)| *down);
        }
        self.limit = self.limit.or(query.limit);
        self.distinct |= query.distinct;
        self.groups = self.groups.max(query.group.len());
        self.having |= query.having.is_some();
        for item in &query.items {
            let into = &mut BTreeSet::new();
            self.expr(&item.expr, &named, into);
            if query.from.is_none() {
                self.shown.append(into);
            }
        }
        for expr in &query.group {
            let into = &mut BTreeSet::new();
            self.expr(expr, &named, into);
            self.grouped.append(into);
        }
        for (expr, _) in &query.order {
            let into = &mut BTreeSet::new();
            self.expr(expr, &named, into);
            if query.from.is_none() {
                self.ordered.append(into);
            }
        }
        for condition in query.filter.iter().chain(&query.having) {
            self.condition(condition, &named);
        }
        if let Some((operation, other)) = &query.set {
            self.set = true;
            self.negates |= *operation == SetOperation::Except;
            self.excludes |= *operation == SetOperation::Except;
            self.query(other, false);
        }
        if let Some(from) = &query.from {
            self.query(from, false);
        }
    }

    fn expr(&mut self, expr: &Expr, named: &dyn Fn(&str) -> String, into: &mut BTreeSet<ColumnName>) {
        match expr {
            Expr::Column(table, column) => {
                into.insert((named(table), column.clone()));
            }
            Expr::Literal(literal) => self.literal(literal),
            Expr::Aggregate(aggregate, arguments) => {
                let name = aggregate_name(*aggregate).to_owned();
                self.aggregates.insert(name.clone());
                if let Aggregate::Percentile(percent) = aggregate {
                    self.numbers.push(f64::from(*percent));
                }
                let mut inside = BTreeSet::new();
                arguments.iter().for_each(|argument| self.expr(argument, named, &mut inside));
                self.aggregated.extend(inside.into_iter().map(|column| (name.clone(), column)));
            }
            Expr::Scalar(query) => {
                self.nested += 1;
                self.query(query, false);
            }
            other => {
                match other {
                    Expr::Arithmetic('/', ..) | Expr::ShareOfTotal(_) => self.divides = true,
                    Expr::Truncate(..) => self.truncates = true,
                    Expr::Part(..) | Expr::Hour(_) => (self.truncates, self.parts) = (true, true),
                    Expr::RowNumber { .. } | Expr::Previous { .. } | Expr::RunningSum { .. } => {
                        self.windows = true;
                    }
                    Expr::Days(..) => self.elapsed = true,
                    Expr::When(condition, _) => self.condition(condition, named),
                    Expr::Choose(condition, ..) => {
                        self.divides = true;
                        self.condition(condition, named);
                    }
                    _ => {}
                }
                other.children().into_iter().for_each(|inner| self.expr(inner, named, into));
            }
        }
    }

    fn condition(&mut self, condition: &Condition, named: &dyn Fn(&str) -> String) {
        let mut columns = BTreeSet::new();
        match condition {
            Condition::Compare(left, compare, right) => {
                self.compares |= !matches!(compare, Compare::Equal | Compare::NotEqual);
                self.negates |= *compare == Compare::NotEqual;
                self.compares_columns |= matches!((left, right), (Expr::Column(..), Expr::Column(..)));
                self.expr(left, named, &mut columns);
                self.expr(right, named, &mut columns);
                if let (Expr::Column(table, column), Compare::Equal, Expr::Literal(value)) =
                    (left, compare, right)
                {
                    self.ranges.push(((named(table), column.clone()), value.clone(), value.clone()));
                }
            }
            Condition::In(expr, values) => {
                self.one_of = true;
                self.expr(expr, named, &mut columns);
                values.iter().for_each(|value| self.literal(value));
            }
            Condition::InQuery(expr, query, negated) => {
                self.negates |= negated;
                self.excludes |= negated;
                self.nested += 1;
                self.expr(expr, named, &mut columns);
                self.query(query, false);
            }
            Condition::Like(expr, pattern) => {
                self.texts.insert(pattern.trim_matches('%').to_lowercase());
                self.expr(expr, named, &mut columns);
            }
            Condition::IsNull(expr) => {
                self.tests_null = true;
                self.expr(expr, named, &mut columns);
            }
            Condition::Within(expr, from, to) => {
                self.compares = true;
                self.expr(expr, named, &mut columns);
                if let Expr::Column(table, column) = expr {
                    self.ranges.push(((named(table), column.clone()), from.clone(), to.clone()));
                }
                self.literal(from);
                self.literal(to);
            }
            Condition::All(list) => list.iter().for_each(|inner| self.condition(inner, named)),
            Condition::Any(list) => {
                self.one_of = true;
                list.iter().for_each(|inner| self.condition(inner, named));
            }
            Condition::Not(inner) if matches!(**inner, Condition::IsNull(_)) => {
                self.tests_present = true;
                if let Condition::IsNull(expr) = &**inner {
                    self.expr(expr, named, &mut columns);
                }
            }
            Condition::Not(inner) => {
                self.negates = true;
                self.condition(inner, named);
            }
        }
        self.filtered.append(&mut columns);
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Int(number) => self.numbers.push(*number as f64),
            Literal::Float(number) => self.numbers.push(*number),
            Literal::Text(text) => {
                self.texts.insert(text.to_lowercase());
            }
            Literal::Date(date) => {
                self.dates.insert(date.to_string());
            }
            Literal::Time(time) => {
                self.dates.insert(time.date().to_string());
            }
            Literal::Null | Literal::Bool(_) => {}
        }
    }
}

pub(super) fn aggregate_name(aggregate: Aggregate) -> &'static str {
    match aggregate {
        Aggregate::Count => "count",
        Aggregate::CountDistinct => "count distinct",
        Aggregate::Sum => "sum",
        Aggregate::Average => "average",
        Aggregate::Min => "min",
        Aggregate::Max => "max",
        Aggregate::Median => "median",
        Aggregate::StdDev => "standard deviation",
        Aggregate::Percentile(_) => "percentile",
        Aggregate::Correlation => "correlation",
    }
}

fn has_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::Aggregate(..)) || expr.children().into_iter().any(has_aggregate)
}
