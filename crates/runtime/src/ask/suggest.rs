//! Suggested next questions: the same measure over time, by another dimension, or filtered to its
//! largest part.

use steward_analysis::catalogue::{Catalogue, Column, Table};
use steward_analysis::planner::Reading;
use steward_analysis::query::{Expr, Query};
use steward_analysis::roles::{Role, role};

/// At most three questions that the built-in planner can answer.
pub(super) fn next(reading: &Reading, catalogue: &Catalogue) -> Vec<String> {
    let Some(query) = reading.queries.first().map(|named| &named.query) else { return Vec::new() };
    let Some(table) = catalogue.table(&query.table) else { return Vec::new() };
    let measure = (query.items.iter())
        .find_map(|item| {
            let column = column_of(&item.expr).and_then(|name| table.column(name))?;
            is_measure(catalogue, table, column).then_some(column)
        })
        .or_else(|| table.columns.iter().find(|column| is_measure(catalogue, table, column)));
    let mut used: Vec<String> = query.group.iter().filter_map(column_of).map(str::to_owned).collect();
    used.extend(
        reading
            .parameters
            .iter()
            .map(|parameter| parameter.column.rsplit('.').next().unwrap_or_default().to_owned()),
    );
    used.extend(
        reading.queries.iter().flat_map(|named| &named.query.group).filter_map(column_of).map(str::to_owned),
    );
    let what = measure.map_or_else(
        || format!("number of {}", table.label),
        |column| {
            // A rate is averaged: its sum has no meaning.
            let added = role(catalogue, table, column) == Role::Measure;
            format!("{} {}", if added { "total" } else { "average" }, column.label.replace('_', " "))
        },
    );
    let mut questions = Vec::new();
    let over_time = query.group.iter().any(|expr| matches!(expr, Expr::Truncate(..) | Expr::Part(..)));
    if !over_time && table.columns.iter().any(|column| column.kind.is_time()) {
        questions.push(format!("{} by month", capital(&what)));
    }
    for column in dimensions(table).into_iter().filter(|column| !used.contains(&column.name)).take(2) {
        questions.push(format!("{} by {}", capital(&what), column.label.replace('_', " ")));
    }
    if questions.len() < 3 && measure.is_none() && !filtered(query) {
        questions.push(format!("How many {} are there?", table.label));
    }
    questions.truncate(3);
    questions
}

/// At most three first questions about new data: over time, by a dimension, and the largest part.
#[must_use]
pub fn first_questions(catalogue: &Catalogue) -> Vec<String> {
    // Prefers a table with measures and dimensions.
    let worth = |table: &&Table| {
        let measured = table.columns.iter().any(|column| is_measure(catalogue, table, column));
        (measured, !dimensions(table).is_empty(), table.rows.unwrap_or(0))
    };
    let Some(table) = catalogue.tables.iter().max_by_key(worth) else { return Vec::new() };
    let measures = table.columns.iter().filter(|column| is_measure(catalogue, table, column));
    let summed = |column: &&Column| role(catalogue, table, column) == Role::Measure;
    // Among several measures the one with the largest values, which is more often money.
    let size = |column: &&Column| column.max.json().as_f64().map_or(0, |most| most.abs() as u64);
    let measure = measures.clone().filter(summed).max_by_key(size).or_else(|| measures.clone().next());
    let what = measure.map_or_else(
        || format!("number of {}", table.label.replace('_', " ")),
        |column| format!("{} {}", if summed(&column) { "total" } else { "average" }, plain(column)),
    );
    let mut questions = Vec::new();
    if table.columns.iter().any(|column| column.kind.is_time()) {
        questions.push(format!("{} by month as a chart", capital(&what)));
    }
    let mut by = dimensions(table);
    // Few values make a readable chart; two are too few.
    by.sort_by_key(|column| (column.distinct < 3, column.distinct > 15));
    if let Some(first) = by.first() {
        questions.push(format!("{} by {}", capital(&what), plain(first)));
    }
    // A list of the largest values is more useful with more values.
    if let Some(other) = by.iter().max_by_key(|column| column.distinct) {
        questions.push(match measure {
            Some(_) if other.distinct > 5 => format!("Top 5 {} by {what}", plural(&plain(other))),
            _ => format!("Number of {} by {}", table.label.replace('_', " "), plain(other)),
        });
    }
    if questions.len() < 3 {
        questions.push(format!("How many {} are there?", table.label.replace('_', " ")));
    }
    questions.truncate(3);
    questions
}

/// The plural of a noun; column names are usually singular.
fn plural(noun: &str) -> String {
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if noun.ends_with('s') => noun.to_owned(),
        _ => format!("{noun}s"),
    }
}

fn plain(column: &Column) -> String {
    column.label.replace('_', " ").to_lowercase()
}

fn filtered(query: &Query) -> bool {
    query.filter.is_some()
}

fn is_measure(catalogue: &Catalogue, table: &Table, column: &Column) -> bool {
    role(catalogue, table, column).is_number()
}

/// Columns with few values, for grouping.
fn dimensions(table: &Table) -> Vec<&Column> {
    let few = |column: &&Column| {
        !column.kind.is_time()
            && !column.kind.is_number()
            && (2..=50).contains(&column.distinct)
            && column.looks_like.is_none()
    };
    table.columns.iter().filter(few).collect()
}

fn column_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Column(_, name) => Some(name),
        Expr::Aggregate(_, arguments) => arguments.iter().find_map(column_of),
        Expr::Truncate(_, inner) | Expr::Part(_, inner) | Expr::ShareOfTotal(inner) => column_of(inner),
        _ => None,
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
