//! Metrics as code: a metric that a question names is compiled from its one definition, never
//! guessed.
//!
//! The rest of the question (groups, conditions, periods, order) is read as ever, with a column of
//! the metric's table in the metric's place; then the measure of that query is exchanged for the
//! metric.
//!
//! Invariants
//! - A ratio is computed from the sums of its parts in each group. It is never added up or
//!   averaged.
//! - A metric is broken down only by tables that each of its rows belongs to once. Anything else
//!   would count rows twice, and is refused with the reason.
//! - Every row of the metric's table counts, also one that has no partner in a table it is broken
//!   down by: the parts add up to the whole.

mod cumulative;
mod fiscal;
mod import;
mod plain;
mod rows;
mod segment;
mod wording;

pub use import::{Imported, export, import};
pub use wording::{Rephrased, rephrase};

use crate::catalogue::{Catalogue, Table};
use crate::frame::Kind;
use crate::planner::{Meaning, Outcome, Reading};
use crate::propose;
use crate::query::{Aggregate, Compare, Condition, Expr, Literal, Query};
use chrono::NaiveDate;
use std::collections::{BTreeMap, BTreeSet};
use steward_domain::{CumulativeSince, Metric, MetricFilter, SemanticModel};
use steward_text::tokens::{Token, name_words, stem, tokenize};

/// A metric that a question names.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricUse {
    /// Its name in the model.
    pub name: String,
    /// What the answer says of it.
    pub definition: String,
}

/// What became of a question that names a metric.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricOutcome {
    /// It was compiled.
    Read(Box<Reading>, MetricUse),
    /// It cannot be computed as asked.
    Refused(String),
}

/// Words that ask for something else of a metric than its value.
const OTHERWISE: &str = "average mean median avg minimum maximum distribution correlation";
/// Words before a metric that say nothing more.
const PLAIN: &str = "total overall the our sum of";

/// What is wrong with a model for this data, each in a sentence that begins with the name of the
/// metric or table.
#[must_use]
pub fn problems(model: &SemanticModel, catalogue: &Catalogue) -> Vec<String> {
    let mut found = wording::ambiguous(model);
    for (name, table) in &model.tables {
        let Some(known) = catalogue.table(name) else {
            found.push(format!("{name}: there is no such table"));
            continue;
        };
        let named = table.columns.keys().chain(&table.key).chain(&table.default_time);
        found.extend(
            named
                .filter(|column| known.column(column).is_none())
                .map(|column| format!("{name}: there is no column {column}")),
        );
    }
    for (name, segment) in &model.segments {
        let Some(known) = catalogue.table(&segment.table) else {
            found.push(format!("{name}: there is no table {}", segment.table));
            continue;
        };
        let wrong = segment.filters.iter().filter_map(|filter| condition(filter, known).err());
        found.extend(wrong.map(|why| format!("{name}: {why}")));
    }
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for (name, metric) in &model.metrics {
        for word in std::iter::once(name).chain(&metric.synonyms) {
            let (tokens, _) = tokenize(word);
            let stems: Vec<&str> = tokens.iter().map(|token| token.stem.as_str()).collect();
            if let Some(other) = names.insert(stems.join(" "), name).filter(|other| *other != name) {
                found.push(format!("{name}: {word:?} is a name of {other}, too"));
            }
        }
        if let Err(why) = compile(model, name, catalogue, &mut BTreeSet::new()) {
            found.push(format!("{name}: {why}"));
        }
    }
    found
}

/// Reads a question that names a metric; nothing when it names none.
#[must_use]
pub fn read(
    question: &str,
    model: &SemanticModel,
    catalogue: &Catalogue,
    today: NaiveDate,
    meaning: &dyn Meaning,
) -> Option<MetricOutcome> {
    let (tokens, _) = tokenize(question);
    let model = &present(model, catalogue);
    mention(&tokens, model)?;
    let refused = |why: String| Some(MetricOutcome::Refused(why));
    let (in_days, by_fiscal_year) = match &model.calendar {
        None => (question.to_owned(), false),
        Some(calendar) => match fiscal::in_calendar_days(question, calendar) {
            Ok(told) => told,
            Err(why) => return refused(format!("This cannot be computed: {why}.")),
        },
    };
    let (tokens, _) = tokenize(&in_days);
    let (start, end, name) = mention(&tokens, model)?;
    let segments = segment::mentions(&tokens, model, (start, end));
    let word = |place: usize| tokens.get(place).map(|token| token.word.as_str()).unwrap_or_default();
    let listed = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let before: Vec<&str> = (start.saturating_sub(3)..start).map(word).collect();
    // "average margin" asks for another number than the metric.
    if before.iter().rev().take_while(|word| !word.is_empty()).any(|word| listed(OTHERWISE, word)) {
        return None;
    }
    // What exactly is missing is for the author of the model: it may be a column that this caller
    // must not know of.
    let Ok(compiled) = compile(model, name, catalogue, &mut BTreeSet::new()) else {
        let why = "its definition uses something that is not there or may not be read. `steward semantics \
            check` says what";
        return Some(MetricOutcome::Refused(format!("The metric {name} cannot be computed: {why}.")));
    };
    let mut first = start;
    while first > 0 && listed(PLAIN, word(first - 1)) {
        first -= 1;
    }
    // "how many buyers": the metric says what is counted.
    if first >= 2 && word(first - 2) == "how" && matches!(word(first - 1), "many" | "much") {
        first -= 2;
    } else if first >= 1 && word(first) == "of" && matches!(word(first - 1), "number" | "count") {
        first -= 1;
    }
    let inside = |place: usize| segments.iter().any(|one| (one.start..one.end).contains(&place));
    let left = |from: usize, until: usize| -> Vec<Token> {
        let tokens = tokens.iter().enumerate().take(until).skip(from);
        tokens.filter(|(place, _)| !inside(*place)).map(|(_, token)| token.clone()).collect()
    };
    let (before, after) = (left(0, first), left(end, tokens.len()));
    let mut tables = model.tables.iter();
    let meaning_of = tables.find(|(table, _)| table.eq_ignore_ascii_case(&compiled.table));
    let default_time = meaning_of.and_then(|(_, meaning)| meaning.default_time.as_deref());
    let understood = plain::read((&before, &after), &compiled, (name, default_time), catalogue, today);
    let mut reading = match understood {
        Some(reading) => reading,
        None => {
            let timed = rows::with_default_time(catalogue, model, &compiled.table, &tokens);
            match stand_in_reading((&before, &after), &compiled, name, (&timed, catalogue), today, meaning) {
                Ok(reading) => reading,
                Err(why) => return refused(why),
            }
        }
    };
    let named = reading.queries.first_mut()?;
    for one in &segments {
        if let Err(why) = segment::restrict(&mut named.query, one.name, one.segment, catalogue) {
            return refused(format!("The metric {name} {why}."));
        }
    }
    if let Some(calendar) = model.calendar.as_ref().filter(|_| by_fiscal_year)
        && let Err(why) = fiscal::group_by_fiscal_year(&mut named.query, calendar)
    {
        return refused(format!("The metric {name} {why}."));
    }
    if let Some(since) = compiled.cumulative {
        match cumulative::accumulate(named.query.clone(), name, since, catalogue) {
            Ok(query) => named.query = query,
            Err(why) => return refused(format!("The metric {name} {why}.")),
        }
    }
    named.title = question.trim().to_owned();
    let old = compiled.measure_name(&reading.charts);
    for chart in &mut reading.charts {
        chart.title = question.trim().to_owned();
        chart.y.iter_mut().filter(|y| Some(y.as_str()) == old.as_deref()).for_each(|y| *y = name.to_owned());
    }
    reading.form = None;
    reading.parameters.clear();
    let metric = model.metrics.get(name)?;
    let definition = definition(name, metric);
    reading.reasoning = vec![format!("Metric {definition}")];
    for one in &segments {
        let filters: Vec<String> = one.segment.filters.iter().map(said).collect();
        reading.reasoning.push(format!("Segment {} = {}", one.name, filters.join(" and ")));
    }
    if by_fiscal_year {
        // A chart of calendar years would be drawn over a column that is no longer there.
        reading.charts.clear();
    }
    Some(MetricOutcome::Read(Box::new(reading), MetricUse { name: name.to_owned(), definition }))
}

/// The part of a model that is about this data. A model may define more than the data has, and the
/// same name for other data.
fn present(model: &SemanticModel, catalogue: &Catalogue) -> SemanticModel {
    let mut part = model.clone();
    part.metrics.retain(|name, _| {
        tables(model, name, &mut BTreeSet::new()).iter().all(|table| catalogue.table(table).is_some())
    });
    part.segments.retain(|_, segment| catalogue.table(&segment.table).is_some());
    part
}

/// Reads the question with a column in the place of the metric, and puts the metric there.
fn stand_in_reading(
    (before, after): (&[Token], &[Token]),
    compiled: &Compiled,
    name: &str,
    (timed, catalogue): (&Catalogue, &Catalogue),
    today: NaiveDate,
    meaning: &dyn Meaning,
) -> Result<Reading, String> {
    let told = |tokens: &[Token]| tokens.iter().map(|token| token.text.clone()).collect::<Vec<_>>();
    let words = [told(before), vec![format!("total {}", compiled.stand_in)], told(after)].concat();
    let Outcome::Read(mut reading) = propose::read(&words.join(" "), timed, None, today, meaning) else {
        return Err(format!(
            "The metric {name} was understood, and what it is asked for was not. Name the columns it is to \
                be broken down by."
        ));
    };
    if let Some(word) = dropped_column(&reading.unexplained, catalogue) {
        return Err(format!(
            "The metric {name} cannot be broken down by “{word}”: nothing leads from its table there without \
                counting rows more than once."
        ));
    }
    reading.queries.truncate(1);
    if let Some(named) = reading.queries.first_mut() {
        exchange(&mut named.query, compiled, name, catalogue)
            .map_err(|why| format!("The metric {name} {why}."))?;
    }
    Ok(reading)
}

/// A word that names a column and that a reading leaves out.
fn dropped_column<'a>(unexplained: &'a [String], catalogue: &Catalogue) -> Option<&'a str> {
    let names: BTreeSet<String> = (catalogue.tables.iter().flat_map(|table| &table.columns))
        .flat_map(|column| name_words(&column.label))
        .map(|word| stem(&word))
        .collect();
    let named = |text: &&String| text.split(' ').any(|word| names.contains(&stem(&word.to_lowercase())));
    unexplained.iter().find(named).map(String::as_str)
}

/// How a metric is defined, in one line.
#[must_use]
pub fn definition(name: &str, metric: &Metric) -> String {
    let how = match (&metric.expression, &metric.ratio, &metric.derived) {
        (Some(expression), ..) => expression.clone(),
        (_, Some(ratio), _) => format!("{} / {}", ratio.numerator, ratio.denominator),
        (.., Some(derived)) => derived.clone(),
        _ => metric.cumulative.as_ref().map(accumulated).unwrap_or_default(),
    };
    let filters: Vec<String> = metric.filters.iter().map(said).collect();
    let only = if filters.is_empty() { String::new() } else { format!(" where {}", filters.join(" and ")) };
    let about =
        if metric.description.is_empty() { String::new() } else { format!(" ({})", metric.description) };
    format!("{name} = {how}{only}{about}")
}

fn accumulated(cumulative: &steward_domain::Cumulative) -> String {
    let since = match cumulative.since {
        CumulativeSince::Start => "from the start",
        CumulativeSince::Year => "from the start of the year",
        CumulativeSince::Quarter => "from the start of the quarter",
        CumulativeSince::Month => "from the start of the month",
    };
    format!("{} added up {since}", cumulative.of)
}

fn said(filter: &MetricFilter) -> String {
    let column = &filter.column;
    match (filter.above, filter.below) {
        (Some(above), _) => format!("{column} > {above}"),
        (_, Some(below)) => format!("{column} < {below}"),
        _ if filter.is.is_empty() => format!("{column} is not {}", filter.is_not.join(" or ")),
        _ => format!("{column} is {}", filter.is.join(" or ")),
    }
}

/// The tables that a metric is computed over.
fn tables<'a>(model: &'a SemanticModel, name: &str, seen: &mut BTreeSet<String>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let Some(metric) = model.metrics.get(name).filter(|_| seen.insert(name.to_owned())) else { return found };
    found.extend(metric.table.as_deref());
    found.extend(metric.cumulative.iter().flat_map(|one| tables(model, &one.of, seen)));
    for part in metric.ratio.iter().flat_map(|ratio| [&ratio.numerator, &ratio.denominator]) {
        found.extend(tables(model, part, seen));
    }
    for part in metric.derived.iter().flat_map(|derived| derived.split('{').skip(1)) {
        found.extend(tables(model, part.split('}').next().unwrap_or_default().trim(), seen));
    }
    found
}

/// The longest name of a metric in a question.
fn mention<'a>(tokens: &[Token], model: &'a SemanticModel) -> Option<(usize, usize, &'a str)> {
    let mut best: Option<(usize, usize, &str)> = None;
    for (name, metric) in &model.metrics {
        for word in std::iter::once(name).chain(&metric.synonyms) {
            let (parts, _) = tokenize(word);
            if parts.is_empty() || best.is_some_and(|(start, end, _)| end - start >= parts.len()) {
                continue;
            }
            let same = |window: &[Token]| window.iter().zip(&parts).all(|(a, b)| a.stem == b.stem);
            if let Some(start) = tokens.windows(parts.len()).position(same) {
                best = Some((start, start + parts.len(), name));
            }
        }
    }
    best
}

/// A metric as an expression over the rows of one table.
struct Compiled {
    table: String,
    expr: Expr,
    /// A column of the table that stands for the metric while the question is read.
    stand_in: String,
    /// Which rows count, when the same holds for all of it.
    condition: Option<Condition>,
    /// Where it begins, when it is added up over time.
    cumulative: Option<CumulativeSince>,
}

impl Compiled {
    /// The expression with its condition inside, to stand beside others.
    fn whole(self) -> Expr {
        match (self.expr, self.condition) {
            (Expr::Aggregate(aggregate, arguments), Some(condition)) => {
                let value = arguments.into_iter().next().filter(|value| *value != Expr::Star);
                let value = value.unwrap_or(Expr::Literal(Literal::Int(1)));
                Expr::Aggregate(aggregate, vec![Expr::When(Box::new(condition), Box::new(value))])
            }
            (expr, _) => expr,
        }
    }

    /// The name under which the charts show the measure.
    fn measure_name(&self, charts: &[crate::planner::ChartWish]) -> Option<String> {
        charts.first().and_then(|chart| chart.y.first().cloned())
    }
}

fn compile(
    model: &SemanticModel,
    name: &str,
    catalogue: &Catalogue,
    above: &mut BTreeSet<String>,
) -> Result<Compiled, String> {
    let metric = model.metrics.get(name).ok_or_else(|| format!("there is no metric {name}"))?;
    if !above.insert(name.to_owned()) {
        return Err(format!("{name} is defined by itself"));
    }
    let compiled = match (&metric.expression, &metric.ratio, &metric.derived) {
        (Some(expression), ..) => simple(metric, expression, catalogue),
        (_, Some(ratio), _) => {
            let top = compile(model, &ratio.numerator, catalogue, above)?;
            let bottom = compile(model, &ratio.denominator, catalogue, above)?;
            combine('/', top, bottom)
        }
        (.., Some(derived)) => {
            let parts = &mut |name: &str| compile(model, name, catalogue, above);
            Parser::new(derived).whole(parts)
        }
        _ => match &metric.cumulative {
            Some(one) => {
                let inner = compile(model, &one.of, catalogue, above)?;
                if inner.cumulative.is_some() || !cumulative::is_additive(&inner.expr) {
                    return Err(format!("{} cannot be added up over time: only sums and counts can", one.of));
                }
                Ok(Compiled { cumulative: Some(one.since), ..inner })
            }
            None => Err("it has no definition".to_owned()),
        },
    };
    above.remove(name);
    compiled
}

/// Two metrics in one: they must be over the rows of the same table, or their grains differ.
fn combine(sign: char, left: Compiled, right: Compiled) -> Result<Compiled, String> {
    if !left.table.eq_ignore_ascii_case(&right.table) {
        return Err(format!(
            "it combines rows of {} with rows of {}, which have another grain",
            left.table, right.table
        ));
    }
    if left.cumulative.is_some() || right.cumulative.is_some() {
        return Err("a metric that is added up over time cannot be part of another".to_owned());
    }
    let (table, stand_in) = (left.table.clone(), left.stand_in.clone());
    let expr = Expr::Arithmetic(sign, Box::new(left.whole()), Box::new(right.whole()));
    Ok(Compiled { table, expr, stand_in, condition: None, cumulative: None })
}

fn simple(metric: &Metric, expression: &str, catalogue: &Catalogue) -> Result<Compiled, String> {
    let name = metric.table.as_deref().unwrap_or_default();
    let table = catalogue.table(name).ok_or_else(|| format!("there is no table {name}"))?;
    let column = |column: &str| -> Result<Expr, String> {
        let known = table.column(column).ok_or_else(|| format!("{name} has no column {column}"))?;
        Ok(Expr::Column(table.name.clone(), known.name.clone()))
    };
    let filters =
        metric.filters.iter().map(|filter| condition(filter, table)).collect::<Result<Vec<_>, _>>()?;
    let (aggregate, argument) = expression.trim().split_once('(').ok_or("write such as sum(amount)")?;
    let argument = argument.strip_suffix(')').ok_or("a closing bracket is missing")?.trim();
    let aggregate = match aggregate.trim().to_lowercase().as_str() {
        "sum" => Aggregate::Sum,
        "avg" | "average" | "mean" => Aggregate::Average,
        "count" => Aggregate::Count,
        "count_distinct" => Aggregate::CountDistinct,
        "min" => Aggregate::Min,
        "max" => Aggregate::Max,
        "median" => Aggregate::Median,
        other => {
            return Err(format!(
                "there is no aggregate {other}: sum, avg, count, count_distinct, min, max, median"
            ));
        }
    };
    let value = match argument {
        "*" if aggregate == Aggregate::Count => Expr::Star,
        text => Parser::new(text).value(&column)?,
    };
    let condition = match filters.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        _ => Some(Condition::All(filters)),
    };
    let number = table
        .columns
        .iter()
        .find(|column| argument.contains(column.name.as_str()) && column.kind.is_number());
    let stand_in = number.or_else(|| table.columns.iter().find(|column| column.kind.is_number()));
    let stand_in = stand_in.ok_or_else(|| format!("{name} has no column with numbers"))?;
    let label = if stand_in.label.is_empty() { &stand_in.name } else { &stand_in.label };
    let expr = Expr::Aggregate(aggregate, vec![value]);
    Ok(Compiled { table: table.name.clone(), expr, stand_in: label.clone(), condition, cumulative: None })
}

fn condition(filter: &MetricFilter, table: &Table) -> Result<Condition, String> {
    let missing = || format!("{} has no column {}", table.name, filter.column);
    let column = table.column(&filter.column).ok_or_else(missing)?;
    let value = Expr::Column(table.name.clone(), column.name.clone());
    let typed = |values: &[String]| {
        values.iter().map(|text| literal(text, column.kind)).collect::<Result<Vec<_>, _>>()
    };
    let limit = |limit: f64| Expr::Literal(Literal::Float(limit));
    Ok(match (filter.above, filter.below) {
        (Some(above), _) => Condition::Compare(value, Compare::Greater, limit(above)),
        (_, Some(below)) => Condition::Compare(value, Compare::Less, limit(below)),
        _ if filter.is.is_empty() => Condition::Not(Box::new(one_of(&value, typed(&filter.is_not)?))),
        _ => one_of(&value, typed(&filter.is)?),
    })
}

/// Words are compared as a list without regard to case, everything else as it is.
fn one_of(value: &Expr, literals: Vec<Literal>) -> Condition {
    if literals.iter().all(|literal| matches!(literal, Literal::Text(_))) {
        return Condition::In(value.clone(), literals);
    }
    let equal = |literal| Condition::Compare(value.clone(), Compare::Equal, Expr::Literal(literal));
    Condition::Any(literals.into_iter().map(equal).collect())
}

/// A value of a filter as the column holds it.
fn literal(text: &str, kind: Kind) -> Result<Literal, String> {
    let unfit = || format!("{text:?} is no value of a column of the kind {}", kind.word());
    Ok(match kind {
        Kind::Boolean => match text.trim().to_lowercase().as_str() {
            "yes" | "true" | "y" | "t" | "1" => Literal::Bool(true),
            "no" | "false" | "n" | "f" | "0" => Literal::Bool(false),
            _ => return Err(unfit()),
        },
        Kind::Integer | Kind::Number => Literal::Float(text.trim().parse().map_err(|_| unfit())?),
        Kind::Date | Kind::Timestamp => Literal::Date(text.trim().parse().map_err(|_| unfit())?),
        Kind::Text => Literal::Text(text.to_owned()),
    })
}

/// Whether a condition is about the rows of a query of its own: that may lead to any table.
fn asks_another_query(condition: &Condition) -> bool {
    match condition {
        Condition::InQuery(..) => true,
        Condition::All(parts) | Condition::Any(parts) => parts.iter().any(asks_another_query),
        Condition::Not(part) => asks_another_query(part),
        _ => false,
    }
}

/// Puts a metric in the place of the one measure of a query.
fn exchange(query: &mut Query, compiled: &Compiled, name: &str, catalogue: &Catalogue) -> Result<(), String> {
    if query.from.is_some() || query.set.is_some() || query.filter.as_ref().is_some_and(asks_another_query) {
        return Err("cannot be asked for in this way: the question needs one query inside another".to_owned());
    }
    let measures: Vec<usize> = (query.items.iter().enumerate())
        .filter(|(_, item)| has_aggregate(&item.expr))
        .map(|(at, _)| at)
        .collect();
    let [place] = measures.as_slice() else {
        return Err("is not the only number that is asked for; ask for one at a time".to_owned());
    };
    let scope = std::iter::once((&query.table, &query.alias))
        .chain(query.joins.iter().map(|one| (&one.table, &one.alias)));
    let mut alias = None;
    for (table, known) in scope {
        if table.eq_ignore_ascii_case(&compiled.table) {
            alias = Some(known.clone());
        } else if !belongs_to(catalogue, &compiled.table, table) {
            let own = &compiled.table;
            return Err(format!(
                "cannot be broken down by {table}: a row of {own} does not belong to one row of it"
            ));
        }
    }
    let alias = alias.ok_or("was read over other tables than its own")?;
    let mut metric = compiled.expr.clone();
    rename(&mut metric, &compiled.table, &alias);
    let item = query.items.get_mut(*place).ok_or("has no place in the query")?;
    // A share or a change of the stand-in is a share or a change of the metric only for what can be
    // added up.
    let old = match &item.expr {
        whole @ Expr::Aggregate(..) => whole.clone(),
        _ => return Err("is asked for in a way that needs another number beside it".to_owned()),
    };
    item.name = name.to_owned();
    replace(&mut item.expr, &old, &metric);
    for (expr, _) in &mut query.order {
        replace(expr, &old, &metric);
    }
    if query.having.is_some() {
        return Err("cannot be compared with a number inside a question yet".to_owned());
    }
    if let Some(mut condition) = compiled.condition.clone() {
        rename_condition(&mut condition, &compiled.table, &alias);
        let rest = query.filter.take();
        query.filter = Some(match rest {
            None => condition,
            Some(rest) => Condition::All(vec![rest, condition]),
        });
    }
    rows::keep_rows(query, &alias);
    Ok(())
}

/// Whether each row of one table belongs to at most one row of another.
fn belongs_to(catalogue: &Catalogue, from: &str, to: &str) -> bool {
    let mut reached = vec![from.to_lowercase()];
    let mut place = 0;
    while let Some(table) = reached.get(place).cloned() {
        for join in catalogue.joins.iter().filter(|join| join.from.0.eq_ignore_ascii_case(&table)) {
            let next = join.to.0.to_lowercase();
            if !reached.contains(&next) {
                reached.push(next);
            }
        }
        place += 1;
    }
    reached.iter().any(|table| table.eq_ignore_ascii_case(to))
}

fn has_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::Aggregate(..)) || expr.children().into_iter().any(has_aggregate)
}

fn replace(expr: &mut Expr, old: &Expr, new: &Expr) {
    if expr == old {
        *expr = new.clone();
    } else {
        expr.children_mut().into_iter().for_each(|child| replace(child, old, new));
    }
}

/// Names the columns of a table by its alias.
fn rename(expr: &mut Expr, table: &str, alias: &str) {
    match expr {
        Expr::Column(of, _) if of == table => alias.clone_into(of),
        Expr::When(condition, _) => rename_condition(condition, table, alias),
        _ => {}
    }
    expr.children_mut().into_iter().for_each(|child| rename(child, table, alias));
}

fn rename_condition(condition: &mut Condition, table: &str, alias: &str) {
    match condition {
        Condition::Compare(left, _, right) => {
            rename(left, table, alias);
            rename(right, table, alias);
        }
        Condition::In(expr, _) => rename(expr, table, alias),
        Condition::Not(inner) => rename_condition(inner, table, alias),
        Condition::All(all) | Condition::Any(all) => {
            all.iter_mut().for_each(|one| rename_condition(one, table, alias));
        }
        _ => {}
    }
}

/// Reads arithmetic: `amount - cost * 2`, `({revenue} - {refunds}) / {orders}`.
struct Parser {
    parts: Vec<String>,
    place: usize,
}

/// What arithmetic is made of.
trait Operand: Sized {
    fn join(sign: char, left: Self, right: Self) -> Result<Self, String>;
}

impl Operand for Expr {
    fn join(sign: char, left: Self, right: Self) -> Result<Self, String> {
        Ok(Self::Arithmetic(sign, Box::new(left), Box::new(right)))
    }
}

impl Operand for Compiled {
    fn join(sign: char, left: Self, right: Self) -> Result<Self, String> {
        combine(sign, left, right)
    }
}

type Read<'a, T> = &'a mut dyn FnMut(&str) -> Result<T, String>;

impl Parser {
    fn new(text: &str) -> Self {
        let mut parts: Vec<String> = Vec::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter.is_whitespace() {
                continue;
            }
            let mut part = letter.to_string();
            if letter == '{' || letter == '"' {
                let close = if letter == '{' { '}' } else { '"' };
                for next in letters.by_ref() {
                    part.push(next);
                    if next == close {
                        break;
                    }
                }
            } else if letter.is_alphanumeric() || letter == '_' {
                while let Some(next) =
                    letters.next_if(|next| next.is_alphanumeric() || matches!(next, '_' | '.'))
                {
                    part.push(next);
                }
            }
            parts.push(part);
        }
        Self { parts, place: 0 }
    }

    /// Arithmetic over metrics.
    fn whole(mut self, metric: Read<'_, Compiled>) -> Result<Compiled, String> {
        let found =
            self.sum(&mut |part| match part.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                Some(name) => metric(name.trim()),
                None => Err(format!("{part} is no metric in braces")),
            })?;
        self.ended(found)
    }

    /// Arithmetic over columns and numbers.
    fn value(mut self, column: &dyn Fn(&str) -> Result<Expr, String>) -> Result<Expr, String> {
        let found = self.sum(&mut |part| match part.parse::<f64>() {
            Ok(number) => Ok(Expr::Literal(Literal::Float(number))),
            Err(_) => column(part.trim_matches('"')),
        })?;
        self.ended(found)
    }

    fn ended<T>(&self, found: T) -> Result<T, String> {
        match self.parts.get(self.place) {
            None => Ok(found),
            Some(part) => Err(format!("{part} is not expected")),
        }
    }

    fn sign(&mut self, signs: &str) -> Option<char> {
        let sign = self.parts.get(self.place)?.chars().next().filter(|sign| signs.contains(*sign))?;
        self.place += 1;
        Some(sign)
    }

    fn sum<T: Operand>(&mut self, read: Read<'_, T>) -> Result<T, String> {
        let mut left = self.product(read)?;
        while let Some(sign) = self.sign("+-") {
            left = T::join(sign, left, self.product(read)?)?;
        }
        Ok(left)
    }

    fn product<T: Operand>(&mut self, read: Read<'_, T>) -> Result<T, String> {
        let mut left = self.one(read)?;
        while let Some(sign) = self.sign("*/") {
            left = T::join(sign, left, self.one(read)?)?;
        }
        Ok(left)
    }

    fn one<T: Operand>(&mut self, read: Read<'_, T>) -> Result<T, String> {
        let part = self.parts.get(self.place).cloned().ok_or("the expression ends too early")?;
        self.place += 1;
        if part != "(" {
            return read(&part);
        }
        let inner = self.sum(read)?;
        self.sign(")").ok_or("a closing bracket is missing")?;
        Ok(inner)
    }
}

#[cfg(test)]
#[path = "semantics_tests.rs"]
mod tests;
