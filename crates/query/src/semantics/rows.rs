//! The rows and the time of a metric: its table's default time, and every row of its table once.

use crate::catalogue::{Catalogue, Column};
use crate::query::{Condition, Expr, Joined, Query};
use std::collections::BTreeSet;
use steward_domain::SemanticModel;
use steward_text::tokens::{Token, name_words, stem};

/// Words of time columns that do not tell one from another.
const GENERIC: &str = "at on date day time datetime timestamp month year quarter week period";

/// The data with the default time of a table as its only time, but for times that the question
/// names. Without a default time the data as it is.
pub(super) fn with_default_time(
    catalogue: &Catalogue,
    model: &SemanticModel,
    table: &str,
    question: &[Token],
) -> Catalogue {
    let mut shown = catalogue.clone();
    let meaning = model.tables.iter().find(|(name, _)| name.eq_ignore_ascii_case(table));
    let default = meaning.and_then(|(_, meaning)| meaning.default_time.as_deref());
    let known = default.filter(|name| catalogue.table(table).is_some_and(|of| of.column(name).is_some()));
    let Some(default) = known else { return shown };
    let named = |column: &Column| {
        let words = name_words(&column.label);
        let telling = words.iter().filter(|word| !GENERIC.split(' ').any(|known| known == word.as_str()));
        telling.map(|word| stem(word)).any(|word| question.iter().any(|token| token.stem == word))
    };
    for one in &mut shown.tables {
        let own = one.name.eq_ignore_ascii_case(table);
        one.columns.retain(|column| {
            !column.kind.is_time() || own && column.name.eq_ignore_ascii_case(default) || named(column)
        });
    }
    shown
}

/// Reads the tables of a query from the metric's table on, and keeps its rows that have no partner.
/// A query whose joins cannot be followed stays as it is.
pub(super) fn keep_rows(query: &mut Query, root: &str) {
    keep_empty_groups(query);
    let mut open: Vec<Joined> = query.joins.clone();
    let mut tables: Vec<(String, String)> = vec![(query.alias.clone(), query.table.clone())];
    tables.extend(query.joins.iter().map(|one| (one.alias.clone(), one.table.clone())));
    let table_of = |alias: &str| tables.iter().find(|(known, _)| known == alias).map(|(_, table)| table);
    let Some(table) = table_of(root).cloned() else { return };
    let mut placed: BTreeSet<String> = BTreeSet::from([root.to_owned()]);
    let mut joins = Vec::new();
    while !open.is_empty() {
        let next = open.iter().enumerate().find_map(|(place, one)| {
            let ends = ends(one)?;
            let mut new = ends.iter().filter(|alias| !placed.contains(*alias));
            let (first, rest) = (new.next().cloned(), new.next());
            (rest.is_none() && ends.len() == 2).then_some((place, first?))
        });
        let Some((place, alias)) = next else { return };
        let Some(table) = table_of(&alias).cloned() else { return };
        let on = open.remove(place).on;
        joins.push(Joined { table, alias: alias.clone(), on, outer: true });
        placed.insert(alias);
    }
    (query.table, query.alias, query.joins) = (table, root.to_owned(), joins);
}

/// Takes off the conditions that leave out rows whose group is empty, unless groups are ranked.
fn keep_empty_groups(query: &mut Query) {
    if query.limit.is_some() {
        return;
    }
    let groups = query.group.clone();
    let drops = |condition: &Condition| match condition {
        Condition::Not(inner) => matches!(&**inner, Condition::IsNull(expr) if groups.contains(expr)),
        _ => false,
    };
    query.filter = match query.filter.take() {
        Some(Condition::All(mut all)) => {
            all.retain(|one| !drops(one));
            (!all.is_empty()).then_some(Condition::All(all))
        }
        other => other.filter(|one| !drops(one)),
    };
}

/// The two tables that a join is between.
fn ends(joined: &Joined) -> Option<BTreeSet<String>> {
    let mut ends = BTreeSet::new();
    for (left, right) in &joined.on {
        for side in [left, right] {
            let Expr::Column(alias, _) = side else { return None };
            ends.insert(alias.clone());
        }
    }
    Some(ends)
}
