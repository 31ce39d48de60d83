//! The shape of a query: which clauses it may have.

use super::dialect::Dialect;
use crate::error::Denied;
use sqlparser::ast::{Distinct, Query, Select, Statement, TableFactor, WildcardAdditionalOptions};

/// The first word of a statement, to name it in a refusal.
pub(super) fn verb(statement: &Statement) -> String {
    statement.to_string().split_whitespace().next().unwrap_or("an unknown statement").to_uppercase()
}

fn refuse(present: bool, what: &str) -> Result<(), Denied> {
    if present { Err(Denied::Construct { what: what.to_owned() }) } else { Ok(()) }
}

/// Clauses of a query that lock, set or format.
pub(super) fn query(query: &Query) -> Result<(), Denied> {
    if !query.locks.is_empty() {
        return Err(Denied::NotReadOnly { what: "FOR UPDATE or FOR SHARE locks rows".to_owned() });
    }
    refuse(query.for_clause.is_some(), "FOR XML or FOR JSON")?;
    refuse(query.settings.is_some(), "SETTINGS")?;
    refuse(query.format_clause.is_some(), "FORMAT")?;
    refuse(!query.pipe_operators.is_empty(), "a pipe operator")
}

/// Clauses of a SELECT that write, or that only some databases know.
pub(super) fn select(select: &Select, dialect: Dialect) -> Result<(), Denied> {
    if select.into.is_some() {
        return Err(Denied::NotReadOnly { what: "SELECT INTO makes a table or a file".to_owned() });
    }
    refuse(!select.optimizer_hints.is_empty(), "an optimizer hint")?;
    refuse(select.select_modifiers.is_some(), "a MySQL modifier of SELECT")?;
    refuse(!select.lateral_views.is_empty(), "LATERAL VIEW")?;
    refuse(!select.connect_by.is_empty(), "CONNECT BY")?;
    refuse(select.prewhere.is_some(), "PREWHERE")?;
    refuse(select.value_table_mode.is_some(), "SELECT AS VALUE or AS STRUCT")?;
    refuse(select.exclude.is_some(), "EXCLUDE")?;
    refuse(select.top.is_some(), "TOP")?;
    let distinct_on = matches!(select.distinct, Some(Distinct::On(_)));
    refuse(
        distinct_on && !matches!(dialect, Dialect::DataFusion | Dialect::Postgres | Dialect::DuckDb),
        "DISTINCT ON",
    )?;
    refuse(select.qualify.is_some() && dialect != Dialect::DataFusion, "QUALIFY")?;
    refuse(
        !select.cluster_by.is_empty() || !select.distribute_by.is_empty() || !select.sort_by.is_empty(),
        "CLUSTER, DISTRIBUTE or SORT BY",
    )
}

/// The allowed factors of FROM: plain tables and queries.
pub(super) fn factor(factor: &TableFactor) -> Result<(), Denied> {
    match factor {
        TableFactor::Table {
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
            alias,
            ..
        } => {
            refuse(args.is_some(), "a function in FROM")?;
            refuse(!with_hints.is_empty() || !index_hints.is_empty(), "a table hint")?;
            refuse(version.is_some(), "a table version")?;
            refuse(*with_ordinality || !partitions.is_empty() || json_path.is_some(), "a part of a table")?;
            refuse(sample.is_some(), "TABLESAMPLE")?;
            // Renaming a table's columns by position could give a hidden column a name.
            refuse(
                alias.as_ref().is_some_and(|alias| !alias.columns.is_empty() || alias.at.is_some()),
                "a list of column aliases on a table",
            )
        }
        TableFactor::Derived { sample, .. } => refuse(sample.is_some(), "TABLESAMPLE"),
        TableFactor::NestedJoin { alias, .. } => refuse(alias.is_some(), "an alias of a join"),
        _ => refuse(true, "a function, UNNEST, PIVOT or the like in FROM"),
    }
}

/// A plain `*` only: it is expanded, and nothing may be excluded or added.
pub(super) fn star(options: &WildcardAdditionalOptions) -> Result<(), Denied> {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude,
        opt_except,
        opt_replace,
        opt_rename,
        opt_alias,
    } = options;
    let changed = opt_ilike.is_some()
        || opt_exclude.is_some()
        || opt_except.is_some()
        || opt_replace.is_some()
        || opt_rename.is_some()
        || opt_alias.is_some();
    refuse(changed, "`*` with anything added to it")
}
