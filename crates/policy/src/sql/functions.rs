//! The functions that a query may call, for each engine: built-in functions that compute from their
//! arguments and have no side effects. Any other name could be a user-defined function, so it is
//! refused.

use super::dialect::Dialect;

/// Part of every engine.
#[rustfmt::skip]
const EVERYWHERE: &[&str] = &[
    "abs", "acos", "asin", "atan", "atan2", "avg", "ceil", "ceiling", "coalesce", "concat", "concat_ws", "cos",
    "count", "cume_dist", "current_date", "current_time", "current_timestamp", "degrees", "dense_rank", "exp",
    "first_value", "floor", "lag", "last_value", "lead", "length", "ln", "log", "lower", "ltrim", "max", "min",
    "nth_value", "ntile", "nullif", "octet_length", "percent_rank", "pi", "pow", "power", "radians", "rank",
    "replace", "round", "row_number", "rtrim", "sign", "sin", "sqrt", "substr", "substring", "sum", "tan", "trim",
    "upper",
];

#[rustfmt::skip]
const DATAFUSION: &[&str] = &[
    "approx_distinct", "approx_median", "approx_percentile_cont", "array_agg", "array_length", "ascii", "bit_length",
    "bool_and", "bool_or", "btrim", "cbrt", "char_length", "character_length", "chr", "contains", "corr", "cosh",
    "cot", "covar", "covar_pop", "covar_samp", "date_bin", "date_part", "date_trunc", "datepart", "datetrunc",
    "ends_with", "extract", "factorial", "gcd", "greatest", "grouping", "initcap", "instr", "isnan", "iszero", "lcm",
    "least", "left", "levenshtein", "log10", "log2", "lpad", "make_date", "mean", "median", "md5", "nanvl", "now",
    "nvl", "nvl2", "percentile_cont", "position", "regexp_count", "regexp_like", "regexp_match", "regexp_replace",
    "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy",
    "regr_syy", "reverse", "right", "rpad", "signum", "sinh", "split_part", "starts_with", "stddev", "stddev_pop",
    "stddev_samp", "string_agg", "strpos", "substring_index", "tanh", "to_char", "to_date", "to_timestamp",
    "translate", "trunc", "var", "var_pop", "var_samp",
];

#[rustfmt::skip]
const SQLITE: &[&str] = &[
    "cosh", "date", "datetime", "group_concat", "if", "ifnull", "iif", "instr", "json_extract", "julianday", "log10",
    "log2", "mod", "sinh", "strftime", "string_agg", "tanh", "time", "timediff", "total", "trunc", "typeof", "unicode",
    "unixepoch",
];

#[rustfmt::skip]
const POSTGRES: &[&str] = &[
    "age", "array_agg", "array_length", "ascii", "bit_length", "bool_and", "bool_or", "btrim", "cbrt", "char_length",
    "character_length", "chr", "corr", "cosh", "cot", "covar_pop", "covar_samp", "date", "date_bin", "date_part",
    "date_trunc", "every", "extract", "factorial", "gcd", "greatest", "grouping", "initcap", "lcm", "least", "left",
    "localtime", "localtimestamp", "log10", "lpad", "make_date", "make_interval", "make_timestamp", "md5", "mod",
    "mode", "now", "percentile_cont", "percentile_disc", "position", "regexp_count", "regexp_like", "regexp_match",
    "regexp_replace", "regexp_substr", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2",
    "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "reverse", "right", "rpad", "sinh", "split_part", "starts_with",
    "stddev", "stddev_pop", "stddev_samp", "string_agg", "strpos", "tanh", "to_char", "to_date", "to_number",
    "to_timestamp", "translate", "trunc", "var_pop", "var_samp", "variance", "width_bucket",
];

#[rustfmt::skip]
const MYSQL: &[&str] = &[
    "adddate", "addtime", "any_value", "ascii", "bit_length", "char_length", "character_length", "convert_tz", "cot",
    "curdate", "curtime", "date", "date_add", "date_format", "date_sub", "datediff", "day", "dayname", "dayofmonth",
    "dayofweek", "dayofyear", "elt", "extract", "field", "find_in_set", "format", "from_days", "from_unixtime",
    "greatest", "group_concat", "grouping", "hour", "if", "ifnull", "instr", "isnull", "last_day", "lcase", "least",
    "left", "locate", "log10", "log2", "lpad", "makedate", "maketime", "md5", "microsecond", "mid", "minute", "mod",
    "month", "monthname", "now", "ord", "period_add", "period_diff", "position", "quarter", "regexp_instr",
    "regexp_like", "regexp_replace", "regexp_substr", "reverse", "right", "rpad", "sec_to_time", "second", "std",
    "stddev", "stddev_pop", "stddev_samp", "str_to_date", "strcmp", "subdate", "substring_index", "subtime", "time",
    "time_format", "time_to_sec", "timediff", "timestamp", "timestampadd", "timestampdiff", "to_days", "truncate",
    "ucase", "unix_timestamp", "utc_date", "var_pop", "var_samp", "variance", "week", "weekday", "weekofyear", "year",
    "yearweek",
];

#[rustfmt::skip]
const DUCKDB: &[&str] = &[
    "any_value", "approx_count_distinct", "arg_max", "arg_min", "ascii", "bit_length", "bool_and", "bool_or", "cbrt",
    "char_length", "character_length", "chr", "contains", "corr", "cosh", "cot", "covar_pop", "covar_samp", "date_diff",
    "date_part", "date_trunc", "datediff", "datepart", "datetrunc", "day", "dayname", "dayofmonth", "dayofweek",
    "dayofyear", "ends_with", "epoch", "extract", "factorial", "gcd", "greatest", "grouping", "hour", "ifnull", "instr",
    "isnan", "isodow", "kurtosis", "last_day", "lcm", "least", "left", "levenshtein", "log10", "log2", "lpad", "mad",
    "make_date", "make_timestamp", "md5", "mean", "median", "minute", "mod", "mode", "month", "monthname", "now",
    "percentile_cont", "percentile_disc", "position", "quantile", "quantile_cont", "quantile_disc", "quarter",
    "regexp_extract", "regexp_full_match", "regexp_matches", "regexp_replace", "regr_avgx", "regr_avgy", "regr_count",
    "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "reverse", "right", "rpad", "second",
    "sem", "sinh", "skewness", "split_part", "starts_with", "stddev", "stddev_pop", "stddev_samp", "strftime",
    "string_agg", "strlen", "strpos", "strptime", "tanh", "translate", "trunc", "typeof", "unicode", "var_pop",
    "var_samp", "variance", "week", "weekday", "weekofyear", "year", "yearweek",
];

/// Functions that are written without parentheses.
pub(super) const BARE: &[&str] =
    &["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"];

/// Functions whose result length is an argument: it must be a literal in the statement.
pub(super) const PADDING: &[&str] = &["lpad", "rpad"];

/// Maximum length of a padded text.
pub(super) const PADDED: u64 = 10_000;

/// Functions of MySQL whose first argument is a unit of time.
pub(super) const UNIT_FIRST: &[&str] = &["timestampadd", "timestampdiff"];

/// Whether a query for this engine may call a function. The name is in lower case.
pub(crate) fn is_allowed(dialect: Dialect, name: &str) -> bool {
    let own = match dialect {
        Dialect::DataFusion => DATAFUSION,
        Dialect::Sqlite => SQLITE,
        Dialect::Postgres => POSTGRES,
        Dialect::MySql => MYSQL,
        Dialect::DuckDb => DUCKDB,
    };
    EVERYWHERE.binary_search(&name).is_ok() || own.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_searched_and_names_nothing_twice() {
        assert!(EVERYWHERE.is_sorted());
        for list in [DATAFUSION, SQLITE, POSTGRES, MYSQL, DUCKDB] {
            let twice = list.iter().find(|name| EVERYWHERE.contains(name));
            assert_eq!(twice, None);
        }
    }
}
