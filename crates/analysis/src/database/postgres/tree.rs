//! Parses what PostgreSQL reports that a statement reads.
//!
//! The statement is stored as a temporary view, so its text is parsed once, and what was parsed is
//! what runs. The stored query refers to each table by its OID, with the columns that the server
//! would check privileges for, and to each function. A name in the statement can look like part of
//! the stored query; that only adds something to check.

use std::collections::{BTreeMap, BTreeSet};

/// The tables, columns and functions of the stored query.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StoredQuery {
    /// Column numbers by the OID of their table. Zero is the whole row, and negative ones are
    /// system columns.
    pub(super) reads: BTreeMap<i64, BTreeSet<i64>>,
    /// OIDs of functions.
    pub(super) functions: BTreeSet<i64>,
}

impl StoredQuery {
    /// Parses a stored query. `lowest` is one less than the number of the lowest system column.
    /// None if the format is unknown.
    pub(super) fn parse(text: &str, lowest: i64) -> Option<Self> {
        let mut found = Self::default();
        let mut table = None;
        let mut tokens = text
            .split(|c: char| c.is_ascii_whitespace() || "(){}".contains(c))
            .filter(|token| !token.is_empty())
            .peekable();
        while let Some(token) = tokens.next() {
            match token {
                ":relid" => {
                    let number: i64 = tokens.next()?.parse().ok()?;
                    table = Some(number);
                    if number != 0 {
                        found.reads.entry(number).or_default();
                    }
                }
                ":selectedCols" => {
                    if tokens.next()? != "b" {
                        return None;
                    }
                    // Before version 16, entries that are not tables have such a list too, an empty
                    // one.
                    let table = table.take().filter(|number| *number != 0);
                    while let Some(bit) = tokens.peek().and_then(|token| token.parse::<i64>().ok()) {
                        found.reads.entry(table?).or_default().insert(bit + lowest);
                        tokens.next();
                    }
                }
                ":funcid" | ":aggfnoid" | ":winfnoid" | ":opfuncid" => {
                    let number: i64 = tokens.next()?.parse().ok()?;
                    if number != 0 {
                        found.functions.insert(number);
                    }
                }
                _ => {}
            }
        }
        Some(found)
    }
}

/// Functions behind special expression syntax: `TRIM`, `AT TIME ZONE`, `SIMILAR TO`, `OVERLAY`.
const SYNTAX: [&str; 8] = [
    "btrim",
    "like_escape",
    "normalize",
    "overlay",
    "similar_to_escape",
    "timezone",
    "is_normalized",
    "bpchar",
];

/// Whether a built-in function computes only from its arguments, without side effects. `coerces`
/// means that an operator or a cast calls it.
pub(super) fn is_harmless(name: &str, coerces: bool) -> bool {
    coerces
        || SYNTAX.contains(&name)
        || steward_policy::is_function_allowed(steward_policy::Dialect::Postgres, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_by_table() {
        let text = "({QUERY :rtable ({RANGETBLENTRY :alias {ALIAS :aliasname :x :colnames <>} :rtekind 0 \
            :relid 16388 :inh true} {RANGETBLENTRY :rtekind 1 :relid 0}) :rteperminfos ({RTEPERMISSIONINFO \
            :relid 16388 :requiredPerms 2 \
            :selectedCols (b 7 8 10) :insertedCols (b)}) :expr {FUNCEXPR :funcid 871 :args ({OPEXPR :opno 1 \
            :opfuncid 0})})";
        let found = StoredQuery::parse(text, -7).unwrap();
        assert_eq!(found.reads, [(16388, [0, 1, 3].into())].into());
        assert_eq!(found.functions, [871].into());
    }

    #[test]
    fn what_is_written_otherwise_is_not_guessed_at() {
        assert_eq!(StoredQuery::parse(":relid x", -7), None);
        assert_eq!(StoredQuery::parse(":relid 5 :selectedCols <>", -7), None);
        assert_eq!(StoredQuery::parse(":selectedCols (b 1)", -7), None);
    }

    #[test]
    fn functions_that_reach_out_are_not_harmless() {
        for name in
            ["query_to_xml", "pg_read_file", "set_config", "table_to_xml", "lo_get", "pg_sleep", "dblink"]
        {
            assert!(!is_harmless(name, false), "{name}");
        }
        for name in ["upper", "count", "btrim", "timezone", "date_trunc"] {
            assert!(is_harmless(name, false), "{name}");
        }
    }
}
