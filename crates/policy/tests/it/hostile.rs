//! Hostile statements, all of which must be refused, and generated variants of each. Add new ones
//! to `hostile.txt`.

use crate::{ask, ask_in};
use steward_domain::{Coded, ErrorClass};
use steward_policy::Dialect;

/// Code and statement. `SQL001` is a statement that the parser does not accept, which also counts
/// as refused.
const STATEMENTS: &str = include_str!("hostile.txt");

fn rows() -> Vec<(&'static str, &'static str)> {
    let lines = STATEMENTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once('\t').unwrap_or_else(|| panic!("{line:?} has no tab"))).collect()
}

#[test]
fn every_hostile_statement_is_refused_with_its_code() {
    let mut wrong = Vec::new();
    for (code, sql) in rows() {
        // The code may differ between engines, because their grammars differ; the refusal may not.
        // A double-quoted text is a string to MySQL.
        for dialect in Dialect::ALL.into_iter().filter(|d| *d != Dialect::MySql || !sql.contains('"')) {
            if let Ok(admitted) = ask_in(sql, dialect) {
                wrong.push(format!("{dialect:?}: {sql}\n  admitted as {}", admitted.text()));
            }
        }
        match ask(sql) {
            Ok(admitted) => wrong.push(format!("{code}: {sql}\n  admitted as {}", admitted.text())),
            Err(denied) if denied.code() != code => {
                wrong.push(format!("{code}: {sql}\n  refused as {} {denied}", denied.code()));
            }
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows().len(), wrong.join("\n"));
}

/// Each of them with comments, changed case, white space, stacked statements, subqueries and
/// unions.
#[test]
fn disguises_do_not_help() {
    let disguises: &[fn(&str) -> String] = &[
        |sql| format!("/* harmless */ {sql}"),
        |sql| format!("-- harmless\n{sql}"),
        |sql| format!("  \t\n{sql}  ;"),
        |sql| format!("SELECT 1; {sql}"),
        |sql| format!("{sql}; SELECT 1"),
        |sql| format!("SELECT * FROM ({sql}) AS x"),
        |sql| format!("WITH x AS ({sql}) SELECT 1"),
        |sql| format!("SELECT 1 WHERE EXISTS ({sql})"),
        |sql| format!("SELECT state FROM sales UNION ALL {sql}"),
        |sql| sql.replace(' ', "\n"),
        |sql| sql.replace(' ', "/**/ "),
        |sql| format!("\u{feff}{sql}"),
    ];
    let mut tried = 0;
    for (_, sql) in rows() {
        for disguise in disguises {
            let disguised = disguise(sql.trim_end_matches(';'));
            tried += 1;
            if let Ok(admitted) = ask(&disguised) {
                panic!("{disguised}\n  was admitted as {}", admitted.text());
            }
        }
    }
    assert!(rows().len() >= 300 && tried >= 3600, "{} statements, {tried} disguises", rows().len());
}

/// A refusal says what to do, and never names something that the caller may not see.
#[test]
fn refusals_teach_and_keep_secrets() {
    for (_, sql) in rows() {
        let denied = ask(sql).unwrap_err();
        assert!(denied.to_string().len() > 30, "{denied}");
        assert!(matches!(denied.class(), ErrorClass::Denied | ErrorClass::User));
        for secret in ["secret_score", "salary"] {
            let said = denied.to_string().replace(sql, "");
            assert!(
                !said.contains(secret) || sql.to_lowercase().contains(secret),
                "{sql}\n  gives {secret} away: {denied}"
            );
        }
    }
    let unknown = |sql| ask(sql).unwrap_err().to_string().replace("payroll", "T").replace("nowhere", "T");
    assert_eq!(
        unknown("SELECT 1 FROM payroll"),
        unknown("SELECT 1 FROM nowhere"),
        "hidden and missing look the same"
    );
}

#[test]
fn length_and_depth_are_bounded() {
    assert_eq!(ask(&format!("SELECT '{}'", "x".repeat(100_001))).unwrap_err().code(), "SQL010");
    let deep = |n: usize| {
        (0..n).fold("SELECT 1 AS a".to_owned(), |inner, _| format!("SELECT a FROM ({inner}) AS t"))
    };
    assert!(ask(&deep(10)).is_ok());
    assert!(["SQL011", "SQL001"].contains(&ask(&deep(40)).unwrap_err().code()));
    assert!(ask(&format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000))).is_err());
    let wide = (0..2000).map(|i| format!("amount + {i}")).collect::<Vec<_>>().join(", ");
    assert!(ask(&format!("SELECT {wide} FROM sales")).is_ok());
}
