//! Writes a query as SQL text for a dialect.
//!
//! The invariant: every name is quoted and every literal is escaped, so nothing from a question or
//! a table can become syntax.

use std::fmt::Write as _;

use crate::query::{
    Aggregate, Compare, Condition, Dialect, Expr, Grain, Joined, Literal, Query, SetOperation,
};

/// The SQL text of a query.
#[must_use]
pub fn write(query: &Query, dialect: Dialect) -> String {
    let writer = Writer { dialect };
    writer.query(query)
}

/// Can the dialect compute everything in the query? When not, the rows are better fetched and
/// computed by the engine.
#[must_use]
pub fn supports(query: &Query, dialect: Dialect) -> bool {
    let lacks = |aggregate: Aggregate| match dialect {
        Dialect::DataFusion | Dialect::Postgres | Dialect::DuckDb => false,
        Dialect::Sqlite => {
            matches!(
                aggregate,
                Aggregate::Median | Aggregate::StdDev | Aggregate::Correlation | Aggregate::Percentile(_)
            )
        }
        Dialect::MySql => {
            matches!(aggregate, Aggregate::Median | Aggregate::Correlation | Aggregate::Percentile(_))
        }
    };
    !aggregates(query).into_iter().any(lacks)
}

/// All aggregates used anywhere in a query.
fn aggregates(query: &Query) -> Vec<Aggregate> {
    let mut found = Vec::new();
    let exprs = (query.items.iter().map(|item| &item.expr))
        .chain(&query.group)
        .chain(query.order.iter().map(|(expr, _)| expr));
    for expr in exprs {
        in_expr(expr, &mut found);
    }
    for condition in query.filter.iter().chain(&query.having) {
        in_condition(condition, &mut found);
    }
    if let Some((_, other)) = &query.set {
        found.extend(aggregates(other));
    }
    if let Some(from) = &query.from {
        found.extend(aggregates(from));
    }
    found
}

fn in_expr(expr: &Expr, found: &mut Vec<Aggregate>) {
    match expr {
        Expr::Aggregate(aggregate, arguments) => {
            found.push(*aggregate);
            arguments.iter().for_each(|argument| in_expr(argument, found));
        }
        Expr::Scalar(query) => found.extend(aggregates(query)),
        Expr::When(condition, _) | Expr::Choose(condition, ..) => {
            in_condition(condition, found);
            expr.children().into_iter().for_each(|inner| in_expr(inner, found));
        }
        other => other.children().into_iter().for_each(|inner| in_expr(inner, found)),
    }
}

fn in_condition(condition: &Condition, found: &mut Vec<Aggregate>) {
    match condition {
        Condition::Compare(left, _, right) => {
            in_expr(left, found);
            in_expr(right, found);
        }
        Condition::In(expr, _)
        | Condition::Like(expr, _)
        | Condition::IsNull(expr)
        | Condition::Within(expr, _, _) => {
            in_expr(expr, found);
        }
        Condition::InQuery(expr, query, _) => {
            in_expr(expr, found);
            found.extend(aggregates(query));
        }
        Condition::All(all) | Condition::Any(all) => {
            all.iter().for_each(|condition| in_condition(condition, found));
        }
        Condition::Not(inner) => in_condition(inner, found),
    }
}

struct Writer {
    dialect: Dialect,
}

impl Writer {
    fn name(&self, name: &str) -> String {
        match self.dialect {
            Dialect::MySql => format!("`{}`", name.replace('`', "``")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    fn text(&self, text: &str) -> String {
        let text = text.replace('\0', "");
        match self.dialect {
            Dialect::MySql => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
            _ => format!("'{}'", text.replace('\'', "''")),
        }
    }

    fn literal(&self, literal: &Literal) -> String {
        match literal {
            Literal::Null => "NULL".to_owned(),
            Literal::Bool(truth) if self.dialect == Dialect::Sqlite => u8::from(*truth).to_string(),
            Literal::Bool(truth) => truth.to_string(),
            Literal::Int(number) => number.to_string(),
            Literal::Float(number) if number.is_finite() => format!("{number:?}"),
            Literal::Float(_) => "NULL".to_owned(),
            Literal::Text(text) => self.text(text),
            Literal::Date(date) if self.dialect == Dialect::Sqlite => format!("'{date}'"),
            Literal::Date(date) => format!("DATE '{date}'"),
            Literal::Time(time) => {
                let time = time.format("%Y-%m-%d %H:%M:%S");
                if self.dialect == Dialect::Sqlite {
                    format!("'{time}'")
                } else {
                    format!("TIMESTAMP '{time}'")
                }
            }
        }
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Column(table, column) if table.is_empty() => self.name(column),
            Expr::Column(table, column) => format!("{}.{}", self.name(table), self.name(column)),
            Expr::Literal(literal) => self.literal(literal),
            Expr::Star => "*".to_owned(),
            Expr::Aggregate(aggregate, arguments) => self.aggregate(*aggregate, arguments),
            Expr::Truncate(grain, inner) => self.truncate(*grain, &self.expr(inner)),
            Expr::Part(grain, inner) => self.part(*grain, &self.expr(inner)),
            Expr::Arithmetic('/', left, right) => {
                format!("({} * 1.0 / nullif({}, 0))", self.expr(left), self.expr(right))
            }
            Expr::Arithmetic(sign, left, right) => {
                format!("({} {sign} {})", self.expr(left), self.expr(right))
            }
            Expr::Scalar(query) => format!("({})", self.query(query)),
            Expr::ShareOfTotal(part) => {
                let part = self.expr(part);
                format!("({part} * 1.0 / nullif(sum({part}) OVER (), 0))")
            }
            Expr::When(condition, inner) => {
                format!("CASE WHEN {} THEN {} END", self.condition(condition), self.expr(inner))
            }
            Expr::Choose(condition, then, other) => {
                let (then, other) = (self.expr(then), self.expr(other));
                format!("CASE WHEN {} THEN {then} ELSE {other} END", self.condition(condition))
            }
            Expr::Days(from, to) => self.days(&self.expr(from), &self.expr(to)),
            Expr::Hour(time) => {
                let time = self.expr(time);
                match self.dialect {
                    Dialect::DataFusion | Dialect::Postgres | Dialect::DuckDb => {
                        format!("extract(hour FROM {time})")
                    }
                    Dialect::Sqlite => format!("CAST(strftime('%H', {time}) AS INTEGER)"),
                    Dialect::MySql => format!("hour({time})"),
                }
            }
            Expr::NumberIn(text) => self.number_in(&self.expr(text)),
            Expr::RowNumber { partition, order } => {
                format!("row_number() OVER ({})", self.window(partition, order))
            }
            Expr::Previous { value, partition, order } => {
                format!("lag({}) OVER ({})", self.expr(value), self.window(partition, order))
            }
            Expr::RunningSum { value, partition, order } => {
                format!("sum({}) OVER ({})", self.expr(value), self.window(partition, order))
            }
        }
    }

    /// The first number in a text. A text without one gives nothing.
    fn number_in(&self, text: &str) -> String {
        let plain = format!("replace({text}, ',', '')");
        match self.dialect {
            Dialect::Sqlite => {
                let start = format!("ltrim({plain}, '+$€£#@~<>=Tt ')");
                let digits = format!("ltrim({start}, '-')");
                format!(
                    "CASE WHEN ltrim({digits}, '0123456789') = {digits} THEN NULL \
                     WHEN instr({text}, ':') > 0 THEN CAST({text} AS REAL) * 60 + \
                     CAST(substr({text}, instr({text}, ':') + 1) AS REAL) ELSE CAST({start} AS REAL) END"
                )
            }
            Dialect::DataFusion => format!(
                "CASE WHEN strpos({text}, ':') > 0 THEN \
                 TRY_CAST(regexp_replace(split_part({text}, ':', 1), '[^0-9]', '', 'g') AS DOUBLE) * 60 + \
                 TRY_CAST(regexp_replace(split_part({text}, ':', 2), '[^0-9.]', '', 'g') AS DOUBLE) ELSE \
                 TRY_CAST(regexp_replace({plain}, '(?s)^[^0-9-]*(-?[0-9]+([.][0-9]+)?).*$', '\\1') AS DOUBLE) END"
            ),
            Dialect::Postgres => {
                format!("CAST(substring({plain} from '-?[0-9]+[.]?[0-9]*') AS double precision)")
            }
            Dialect::DuckDb => {
                format!("TRY_CAST(regexp_extract({plain}, '-?[0-9]+[.]?[0-9]*') AS DOUBLE)")
            }
            Dialect::MySql => format!("(regexp_substr({plain}, '-?[0-9]+[.]?[0-9]*') + 0)"),
        }
    }

    fn days(&self, from: &str, to: &str) -> String {
        match self.dialect {
            Dialect::DataFusion | Dialect::Postgres | Dialect::DuckDb => {
                format!("((extract(epoch FROM {to}) - extract(epoch FROM {from})) / 86400.0)")
            }
            Dialect::Sqlite => format!("(julianday({to}) - julianday({from}))"),
            Dialect::MySql => format!("(timestampdiff(SECOND, {from}, {to}) / 86400.0)"),
        }
    }

    fn window(&self, partition: &[Expr], order: &[(Expr, bool)]) -> String {
        let mut parts = Vec::new();
        if !partition.is_empty() {
            let list: Vec<String> = partition.iter().map(|expr| self.expr(expr)).collect();
            parts.push(format!("PARTITION BY {}", list.join(", ")));
        }
        if !order.is_empty() {
            parts.push(format!("ORDER BY {}", self.order(order)));
        }
        parts.join(" ")
    }

    /// The keys of an order. Empty cells come last, whichever way.
    fn order(&self, order: &[(Expr, bool)]) -> String {
        let keys: Vec<String> = (order.iter())
            .map(|(expr, down)| {
                let way = if *down { "DESC" } else { "ASC" };
                match self.dialect {
                    Dialect::MySql => format!("{} {way}", self.expr(expr)),
                    _ => format!("{} {way} NULLS LAST", self.expr(expr)),
                }
            })
            .collect();
        keys.join(", ")
    }

    fn aggregate(&self, aggregate: Aggregate, arguments: &[Expr]) -> String {
        let inner = arguments.iter().map(|argument| self.expr(argument)).collect::<Vec<_>>().join(", ");
        match (aggregate, self.dialect) {
            (Aggregate::Count, _) => format!("count({inner})"),
            (Aggregate::CountDistinct, _) => format!("count(DISTINCT {inner})"),
            (Aggregate::Sum, _) => format!("sum({inner})"),
            (Aggregate::Average, _) => format!("avg({inner})"),
            (Aggregate::Min, _) => format!("min({inner})"),
            (Aggregate::Max, _) => format!("max({inner})"),
            (Aggregate::Median, Dialect::Postgres) => {
                format!("percentile_cont(0.5) WITHIN GROUP (ORDER BY {inner})")
            }
            (Aggregate::Median, _) => format!("median({inner})"),
            (Aggregate::StdDev, Dialect::MySql) => format!("stddev_samp({inner})"),
            (Aggregate::StdDev, _) => format!("stddev({inner})"),
            (Aggregate::Correlation, _) => format!("corr({inner})"),
            (Aggregate::Percentile(percent), Dialect::DataFusion | Dialect::Postgres | Dialect::DuckDb) => {
                let share = f64::from(percent) / 100.0;
                format!("percentile_cont({share}) WITHIN GROUP (ORDER BY {inner})")
            }
            (Aggregate::Percentile(percent), _) => format!("percentile({inner}, {percent})"),
        }
    }

    fn truncate(&self, grain: Grain, time: &str) -> String {
        match self.dialect {
            Dialect::DataFusion | Dialect::Postgres | Dialect::DuckDb => {
                format!("date_trunc('{}', {time})", grain_word(grain))
            }
            Dialect::Sqlite => match grain {
                Grain::Day => format!("date({time})"),
                Grain::Week => format!("date({time}, 'weekday 0', '-6 days')"),
                Grain::Month => format!("strftime('%Y-%m-01', {time})"),
                Grain::Quarter => {
                    format!(
                        "(strftime('%Y', {time}) || substr('-01-04-07-10', ((strftime('%m', {time}) - 1) / \
                            3) * 3 + 1, 3) || '-01')"
                    )
                }
                Grain::Year => format!("strftime('%Y-01-01', {time})"),
            },
            Dialect::MySql => match grain {
                Grain::Day => format!("date({time})"),
                Grain::Week => format!("date_sub(date({time}), INTERVAL weekday({time}) DAY)"),
                Grain::Month => format!("date_format({time}, '%Y-%m-01')"),
                Grain::Quarter => {
                    format!("makedate(year({time}), 1) + INTERVAL (quarter({time}) - 1) QUARTER")
                }
                Grain::Year => format!("date_format({time}, '%Y-01-01')"),
            },
        }
    }

    fn part(&self, grain: Grain, time: &str) -> String {
        match self.dialect {
            Dialect::DataFusion | Dialect::Postgres | Dialect::DuckDb => match grain {
                Grain::Day => format!("((extract(dow FROM {time}) + 6) % 7 + 1)"),
                other => format!("extract({} FROM {time})", grain_word(other)),
            },
            Dialect::Sqlite => match grain {
                Grain::Day => format!("((CAST(strftime('%w', {time}) AS INTEGER) + 6) % 7 + 1)"),
                Grain::Week => format!("CAST(strftime('%W', {time}) AS INTEGER)"),
                Grain::Month => format!("CAST(strftime('%m', {time}) AS INTEGER)"),
                Grain::Quarter => format!("((CAST(strftime('%m', {time}) AS INTEGER) + 2) / 3)"),
                Grain::Year => format!("CAST(strftime('%Y', {time}) AS INTEGER)"),
            },
            Dialect::MySql => match grain {
                Grain::Day => format!("(weekday({time}) + 1)"),
                Grain::Week => format!("week({time}, 3)"),
                other => format!("{}({time})", grain_word(other)),
            },
        }
    }

    fn condition(&self, condition: &Condition) -> String {
        match condition {
            Condition::Compare(left, compare, right) => self.compare(left, *compare, right),
            Condition::In(expr, values) => self.any_of(expr, values),
            Condition::InQuery(expr, query, negated) => {
                format!(
                    "{} {}IN ({})",
                    self.expr(expr),
                    if *negated { "NOT " } else { "" },
                    self.query(query)
                )
            }
            Condition::Like(expr, pattern) => match self.dialect {
                Dialect::Sqlite => format!("{} LIKE {}", self.expr(expr), self.text(pattern)),
                _ => format!("lower({}) LIKE lower({})", self.expr(expr), self.text(pattern)),
            },
            Condition::IsNull(expr) => format!("{} IS NULL", self.expr(expr)),
            Condition::Within(expr, from, to) => {
                let expr = self.expr(expr);
                format!("({expr} >= {} AND {expr} < {})", self.literal(from), self.literal(to))
            }
            Condition::All(all) if all.is_empty() => "1 = 1".to_owned(),
            Condition::Any(any) if any.is_empty() => "1 = 0".to_owned(),
            Condition::All(all) => self.several(all, " AND "),
            Condition::Any(any) => self.several(any, " OR "),
            Condition::Not(inner) => format!("NOT ({})", self.condition(inner)),
        }
    }

    fn several(&self, conditions: &[Condition], between: &str) -> String {
        let parts: Vec<String> = conditions.iter().map(|condition| self.condition(condition)).collect();
        if let [only] = parts.as_slice() { only.clone() } else { format!("({})", parts.join(between)) }
    }

    fn compare(&self, left: &Expr, compare: Compare, right: &Expr) -> String {
        let sign = match compare {
            Compare::Equal => "=",
            Compare::NotEqual => "<>",
            Compare::Less => "<",
            Compare::LessOrEqual => "<=",
            Compare::Greater => ">",
            Compare::GreaterOrEqual => ">=",
        };
        let is_text = matches!(right, Expr::Literal(Literal::Text(_)));
        let (left, right) = (self.expr(left), self.expr(right));
        match compare {
            Compare::Equal | Compare::NotEqual if is_text && self.dialect == Dialect::Sqlite => {
                format!("{left} {sign} {right} COLLATE NOCASE")
            }
            Compare::Equal | Compare::NotEqual if is_text => format!("lower({left}) {sign} lower({right})"),
            _ => format!("{left} {sign} {right}"),
        }
    }

    fn any_of(&self, expr: &Expr, values: &[Literal]) -> String {
        let is_text = values.iter().any(|value| matches!(value, Literal::Text(_)));
        let list: Vec<String> = values.iter().map(|value| self.literal(value)).collect();
        let expr = self.expr(expr);
        if values.is_empty() {
            "1 = 0".to_owned()
        } else if is_text && self.dialect == Dialect::Sqlite {
            format!("{expr} COLLATE NOCASE IN ({})", list.join(", "))
        } else if is_text {
            let lowered: Vec<String> = list.iter().map(|value| format!("lower({value})")).collect();
            format!("lower({expr}) IN ({})", lowered.join(", "))
        } else {
            format!("{expr} IN ({})", list.join(", "))
        }
    }

    fn join(&self, joined: &Joined) -> String {
        let word = if joined.outer { "LEFT JOIN" } else { "JOIN" };
        let on: Vec<String> = (joined.on.iter())
            .map(|(left, right)| format!("{} = {}", self.expr(left), self.expr(right)))
            .collect();
        let on = if on.is_empty() { "1 = 1".to_owned() } else { on.join(" AND ") };
        format!(" {word} {} AS {} ON {on}", self.name(&joined.table), self.name(&joined.alias))
    }

    fn query(&self, query: &Query) -> String {
        let mut text = self.core(query);
        let mut set = &query.set;
        while let Some((operation, other)) = set {
            let word = match operation {
                SetOperation::Union => "UNION",
                SetOperation::Intersect => "INTERSECT",
                SetOperation::Except => "EXCEPT",
            };
            let _ = write!(text, " {word} {}", self.core(other));
            set = &other.set;
        }
        if !query.order.is_empty() {
            let _ = write!(text, " ORDER BY {}", self.order(&query.order));
        }
        match (query.limit, query.skip) {
            (None, 0) => {}
            (Some(limit), 0) => {
                let _ = write!(text, " LIMIT {limit}");
            }
            (limit, skip) => {
                let _ = write!(text, " LIMIT {} OFFSET {skip}", limit.unwrap_or(i64::MAX as u64));
            }
        }
        text
    }

    /// Everything of a query but its set operation, order and limit.
    fn core(&self, query: &Query) -> String {
        let mut text = String::from(if query.distinct { "SELECT DISTINCT " } else { "SELECT " });
        let items: Vec<String> = (query.items.iter())
            .map(|item| match &item.expr {
                Expr::Star => "*".to_owned(),
                Expr::Column(table, star) if star == "*" => format!("{}.*", self.name(table)),
                expr => format!("{} AS {}", self.expr(expr), self.name(&item.name)),
            })
            .collect();
        text.push_str(&if items.is_empty() { "*".to_owned() } else { items.join(", ") });
        match &query.from {
            Some(from) => {
                let _ = write!(text, " FROM ({}) AS {}", self.query(from), self.name(&query.alias));
            }
            None => {
                let _ = write!(text, " FROM {} AS {}", self.name(&query.table), self.name(&query.alias));
            }
        }
        for joined in &query.joins {
            text.push_str(&self.join(joined));
        }
        if let Some(filter) = &query.filter {
            let _ = write!(text, " WHERE {}", self.condition(filter));
        }
        if !query.group.is_empty() {
            let group: Vec<String> = query.group.iter().map(|expr| self.expr(expr)).collect();
            let _ = write!(text, " GROUP BY {}", group.join(", "));
        }
        if let Some(having) = &query.having {
            let _ = write!(text, " HAVING {}", self.condition(having));
        }
        text
    }
}

fn grain_word(grain: Grain) -> &'static str {
    match grain {
        Grain::Day => "day",
        Grain::Week => "week",
        Grain::Month => "month",
        Grain::Quarter => "quarter",
        Grain::Year => "year",
    }
}
