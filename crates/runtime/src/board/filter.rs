//! Board filters as row rules: filtered rows are not in the relation that a statement reads from,
//! however the statement is written.
//!
//! Invariants
//! - A filter only removes rows. It is combined with the viewer's own rules by AND.
//! - A filter names columns that the viewer may read in full. Hidden, blocked or masked columns are
//!   not filtered: the remaining rows would reveal their values.
//! - Values of a filter reach the rule as literals, never as text of it.

use crate::error::{Error, Result};
use chrono::NaiveDate;
use std::collections::{BTreeMap, BTreeSet};
use steward_analysis::catalogue::{Catalogue, Column, Evidence, Table};
use steward_analysis::frame::Kind;
use steward_analysis::query::Dialect;
use steward_analysis::session::Session;
use steward_domain::BoardFilter;
use steward_policy::{Access, RowRules};

/// The rules of all filters over some data.
#[derive(Debug, Default)]
pub(super) struct FilterRules {
    /// The viewer's rules combined with those of the filters.
    pub(super) rows: RowRules,
    /// For each table, the columns of the filters that apply to it.
    pub(super) reach: BTreeMap<String, BTreeSet<String>>,
}

/// The table and column of a filter: the first table that has the column.
pub(super) fn filtered_column<'a>(
    filter: &BoardFilter,
    visible: &'a Catalogue,
    access: &Access,
) -> Option<(&'a Table, &'a Column)> {
    tables_with(filter, visible, access).into_iter().next()
}

/// The rules of a viewer, combined with the filters.
pub(super) fn filter_rules(
    filters: &[BoardFilter],
    visible: &Catalogue,
    access: &Access,
    session: &Session,
) -> Result<FilterRules> {
    let mut found = FilterRules { rows: access.rows.clone(), reach: BTreeMap::new() };
    for (place, filter) in filters.iter().enumerate().filter(|(_, filter)| filter.is_set()) {
        let mut reached: Vec<String> = Vec::new();
        for (table, column) in tables_with(filter, visible, access) {
            let quoted = quote(&column.name, dialect_of(session, &[&table.name]));
            let literals = Literals { rules: &mut found.rows, place };
            let rule = condition(filter, column, &quoted, literals)?;
            narrow(&mut found.rows, &table.name, &rule);
            reached.push(table.name.clone());
        }
        // Rows that reference a filtered row are filtered, too. The subquery reads the referenced
        // table with its own rule.
        let mut place = 0;
        while let Some(to) = reached.get(place).cloned() {
            for join in visible.joins.iter().filter(|join| join.to.0.eq_ignore_ascii_case(&to)) {
                let from = &join.from.0;
                let sure = matches!(join.evidence, Evidence::Name | Evidence::Constraint);
                let known = reached.iter().any(|table| table.eq_ignore_ascii_case(from));
                let (Some(table), [key], [other]) =
                    (visible.table(from), join.from.1.as_slice(), join.to.1.as_slice())
                else {
                    continue;
                };
                let dialect = dialect_of(session, &[from]);
                let together = dialect_of(session, &[from, &to]) == dialect;
                if known || !sure || !together || is_masked(access, &table.name, key) {
                    continue;
                }
                let rule = format!(
                    "{} IN (SELECT {} FROM {})",
                    quote(key, dialect),
                    quote(other, dialect),
                    quote(&to, dialect)
                );
                narrow(&mut found.rows, &table.name, &rule);
                reached.push(table.name.clone());
            }
            place += 1;
        }
        for table in reached {
            found.reach.entry(table).or_default().insert(filter.column.clone());
        }
    }
    Ok(found)
}

/// Tables with the column of a filter that the viewer may read in full. `table.column` names one.
fn tables_with<'a>(
    filter: &BoardFilter,
    visible: &'a Catalogue,
    access: &Access,
) -> Vec<(&'a Table, &'a Column)> {
    let named = |table: &Table, column: &Column| {
        let same = |name: &str| {
            name.eq_ignore_ascii_case(&column.name) || name.eq_ignore_ascii_case(column.label.trim())
        };
        let of_table = filter.column.split_once('.');
        same(&filter.column)
            || of_table.is_some_and(|(of, name)| of.eq_ignore_ascii_case(&table.name) && same(name))
    };
    let column = |table: &'a Table| {
        let found = table.columns.iter().find(|column| named(table, column))?;
        (!is_masked(access, &table.name, &found.name)).then_some((table, found))
    };
    visible.tables.iter().filter_map(column).collect()
}

fn is_masked(access: &Access, table: &str, column: &str) -> bool {
    let rules = access.rows.tables.iter().filter(|(name, _)| name.eq_ignore_ascii_case(table));
    rules.flat_map(|(_, rules)| rules.masks.keys()).any(|name| name.eq_ignore_ascii_case(column))
}

fn dialect_of(session: &Session, tables: &[&str]) -> Dialect {
    session.dialect(&tables.iter().map(|table| (*table).to_owned()).collect())
}

fn quote(name: &str, dialect: Dialect) -> String {
    let mark = if dialect == Dialect::MySql { '`' } else { '"' };
    format!("{mark}{}{mark}", name.replace(mark, &format!("{mark}{mark}")))
}

/// Adds a condition to the rules of a table.
fn narrow(rules: &mut RowRules, table: &str, condition: &str) {
    let known = rules.tables.keys().find(|name| name.eq_ignore_ascii_case(table)).cloned();
    let entry = rules.tables.entry(known.unwrap_or_else(|| table.to_owned())).or_default();
    entry.rows = Some(match entry.rows.take() {
        Some(rule) => format!("({rule}) AND ({condition})"),
        None => condition.to_owned(),
    });
}

/// Names values so that a rule can refer to them.
struct Literals<'a> {
    rules: &'a mut RowRules,
    place: usize,
}

impl Literals<'_> {
    /// The name of a value in a rule. It never collides with names of the operator.
    fn name(&mut self, value: &str) -> String {
        let mut number = 0;
        loop {
            let name = format!("board_filter_{}_{number}", self.place);
            match self.rules.attributes.get(&name) {
                Some(known) if known == value => return format!("caller.{name}"),
                Some(_) => number += 1,
                None => {
                    self.rules.attributes.insert(name.clone(), value.to_owned());
                    return format!("caller.{name}");
                }
            }
        }
    }
}

/// The condition of a filter over one column.
fn condition(
    filter: &BoardFilter,
    column: &Column,
    quoted: &str,
    mut literals: Literals<'_>,
) -> Result<String> {
    let unfit = |text: &str| {
        Error::Board(format!(
            "{text:?} is no value of {}, which holds a {}",
            filter.column,
            column.kind.word()
        ))
    };
    let mut parts = Vec::new();
    if !filter.values.is_empty() {
        let mut any = Vec::new();
        for value in &filter.values {
            any.push(match column.kind {
                Kind::Text => format!("{quoted} = {}", literals.name(value)),
                Kind::Boolean => format!("{quoted} = {}", truth(value).ok_or_else(|| unfit(value))?),
                Kind::Integer | Kind::Number => {
                    format!("{quoted} = {}", number(value).ok_or_else(|| unfit(value))?)
                }
                Kind::Date | Kind::Timestamp => {
                    let day = day(value).ok_or_else(|| unfit(value))?;
                    let next = day.succ_opt().ok_or_else(|| unfit(value))?;
                    let (from, until) = (literals.name(&day.to_string()), literals.name(&next.to_string()));
                    format!("({quoted} >= {from} AND {quoted} < {until})")
                }
            });
        }
        parts.push(format!("({})", any.join(" OR ")));
    }
    for (bound, sign) in [(&filter.from, ">="), (&filter.until, "<=")] {
        let Some(bound) = bound else { continue };
        parts.push(match column.kind {
            Kind::Date | Kind::Timestamp => {
                let day = day(bound).ok_or_else(|| unfit(bound))?;
                // The last day is included.
                let last = sign == "<=";
                let day = if last { day.succ_opt().ok_or_else(|| unfit(bound))? } else { day };
                format!("{quoted} {} {}", if last { "<" } else { sign }, literals.name(&day.to_string()))
            }
            Kind::Integer | Kind::Number => {
                format!("{quoted} {sign} {}", number(bound).ok_or_else(|| unfit(bound))?)
            }
            Kind::Text => format!("{quoted} {sign} {}", literals.name(bound)),
            Kind::Boolean => return Err(unfit(bound)),
        });
    }
    Ok(parts.join(" AND "))
}

fn truth(text: &str) -> Option<&'static str> {
    match text.trim().to_lowercase().as_str() {
        "yes" | "true" | "1" => Some("TRUE"),
        "no" | "false" | "0" => Some("FALSE"),
        _ => None,
    }
}

fn number(text: &str) -> Option<String> {
    let text = text.trim();
    match text.parse::<i64>() {
        Ok(whole) => Some(whole.to_string()),
        Err(_) => {
            text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| format!("{number:?}"))
        }
    }
}

fn day(text: &str) -> Option<NaiveDate> {
    text.trim().get(..10).and_then(|day| day.parse().ok())
}
