//! Row-level rules: filters, masks and minimum group sizes.

use crate::{access, ask_as, schema};
use steward_domain::Coded as _;
use steward_policy::{Access, Dialect, Mask, RowRules, TableRules};

const ENGINES: [Dialect; 5] = Dialect::ALL;

fn ruled(table: &str, rules: TableRules) -> Access {
    Access {
        rows: RowRules {
            tables: [(table.to_owned(), rules)].into(),
            attributes: [("state".to_owned(), "it's \\ Arizona".to_owned())].into(),
        },
        ..access()
    }
}

fn rows(rule: &str) -> Access {
    ruled("sales", TableRules { rows: Some(rule.to_owned()), ..TableRules::default() })
}

/// The rendered statement, without the quotes of names.
fn text(sql: &str, dialect: Dialect, access: &Access) -> String {
    let admitted = ask_as(sql, dialect, access).unwrap_or_else(|denied| panic!("{sql}: {denied}"));
    admitted.text().replace(['"', '`'], "")
}

fn code(sql: &str, access: &Access) -> &'static str {
    ENGINES
        .iter()
        .map(|dialect| ask_as(sql, *dialect, access).map_or_else(|denied| denied.code(), |_| "admitted"))
        .fold("", |all, one| {
            assert!(all.is_empty() || all == one, "{sql}: {all} and {one}");
            one
        })
}

#[test]
fn every_way_to_a_table_goes_through_its_rows() {
    let access = rows("state = caller.state OR city = 'Oslo'");
    for dialect in ENGINES {
        let literal = match dialect {
            // The meaning of a backslash in MySQL depends on settings, so the text is written as
            // bytes.
            Dialect::MySql => "_utf8mb4 X'69742773205c204172697a6f6e61'",
            Dialect::Postgres => "E'it''s \\\\ Arizona'",
            _ => "'it''s \\ Arizona'",
        };
        let part = format!("AS rows WHERE ((rows.state = {literal}) OR (rows.city = 'Oslo')) ");
        for sql in [
            "SELECT sum(amount) FROM sales",
            "SELECT s.city FROM sales s JOIN customers c ON c.state = s.state",
            "WITH x AS (SELECT city FROM sales) SELECT city FROM x",
            "SELECT name FROM customers WHERE EXISTS (SELECT 1 FROM SALES WHERE SALES.state = customers.state)",
        ] {
            let found = text(sql, dialect, &access);
            assert!(found.contains(&part), "{dialect:?} {sql}:\n{found}\n{part}");
        }
    }
    // Tables without a rule are read as before.
    assert!(!text("SELECT name FROM customers", Dialect::Sqlite, &access).contains("WHERE"));
}

#[test]
fn a_rule_that_cannot_be_applied_lets_nothing_through() {
    for rule in [
        "state = caller.team",
        "state = ",
        "state = 'a'; SELECT 1",
        "nowhere = 1",
        "state = caller.",
        "pg_sleep(1) = 1",
    ] {
        assert_eq!(code("SELECT city FROM sales", &rows(rule)), "SQL013", "{rule}");
    }
}

#[test]
fn a_mask_shows_a_part_and_nothing_else_of_the_column() {
    let masks = [("contact".to_owned(), Mask::LastFour), ("name".to_owned(), Mask::FirstLetter)].into();
    let access = ruled("customers", TableRules { masks, ..TableRules::default() });
    assert_eq!(
        text("SELECT contact FROM customers WHERE name = 'A'", Dialect::Sqlite, &access),
        "SELECT customers.contact FROM (SELECT rows.id AS id, substr(CAST(rows.name AS TEXT), 1, 1) AS name, \
            rows.segment AS segment, substr(CAST(rows.contact AS TEXT), -4) AS contact, rows.state AS state \
            FROM customers AS rows) AS \
         customers WHERE customers.name = 'A'"
    );
    // A mask does not grant a column that is not granted.
    let masks = [("secret_score".to_owned(), Mask::LastFour)].into();
    let access = ruled("customers", TableRules { masks, ..TableRules::default() });
    assert_eq!(code("SELECT secret_score FROM customers", &access), "SQL005");
}

#[test]
fn of_a_guarded_table_only_large_groups_are_seen() {
    let access = ruled("sales", TableRules { smallest_group: Some(5), ..TableRules::default() });
    for sql in [
        "SELECT count(*) FROM sales",
        "SELECT state, round(avg(amount), 2) AS mean, count(DISTINCT city) FROM sales WHERE category = 'x' \
            GROUP BY state ORDER BY mean",
        "SELECT upper(state), sum(amount) + 1 FROM sales GROUP BY 1 HAVING sum(amount) > 10 ORDER BY 2",
        "SELECT name FROM customers WHERE state IN (SELECT state FROM sales GROUP BY state)",
        "WITH x AS (SELECT state, sum(amount) AS a FROM sales GROUP BY state) SELECT max(a) FROM x",
    ] {
        for dialect in ENGINES {
            let found = text(sql, dialect, &access);
            assert!(found.contains("count(*) >= 5"), "{dialect:?} {sql}: {found}");
        }
    }
    for sql in [
        "SELECT city FROM sales",
        "SELECT max(amount) FROM sales",
        "SELECT city, count(*) FROM sales GROUP BY state",
        "SELECT sum(CASE WHEN city = 'Oslo' THEN amount END) FROM sales",
        "SELECT sum(amount * (city = 'Oslo')) FROM sales",
        "SELECT sum(amount) OVER () FROM sales",
        "SELECT count(*) FROM sales s JOIN customers c ON c.state = s.state",
        "SELECT state FROM sales GROUP BY state HAVING max(amount) > 5",
        "SELECT state FROM sales GROUP BY state ORDER BY max(amount)",
        "SELECT name FROM customers c WHERE EXISTS (SELECT city FROM sales s WHERE s.state = c.state)",
        "SELECT coalesce(city, 'x') FROM sales",
        // What fails for one row and not for another reveals it.
        "SELECT count(*) FROM sales WHERE CAST(CASE WHEN city = 'Oslo' THEN city ELSE '1' END AS int) = 1",
        "SELECT count(*) FROM sales WHERE CASE WHEN amount > 5 THEN abs(-9223372036854775807 - 1) ELSE 1 END = 1",
        "SELECT count(*) FROM sales WHERE 1 / (amount - 5) > 0",
        "SELECT CAST(city AS int), count(*) FROM sales GROUP BY 1",
    ] {
        assert_eq!(code(sql, &access), "SQL014", "{sql}");
    }
}

#[test]
fn a_rule_reaches_the_tables_that_a_session_makes_of_its_table() {
    let access = rows("state = 'a'");
    let table = |name: &str| {
        let mut schema = schema();
        let table = schema.tables.iter_mut().find(|table| table.name == "sales").unwrap();
        table.name = name.to_owned();
        table.clone()
    };
    for name in ["sales", "SALES", "sales_long", "sales_2", "sales_2_long", "sales_long_3"] {
        assert!(access.is_ruled(&table(name)), "{name}");
    }
    for name in ["resales", "sales_old", "long", "_2"] {
        assert!(!access.is_ruled(&table(name)), "{name}");
    }
}

#[test]
fn two_roles_let_a_caller_see_what_either_does() {
    let rules = |rows: Option<&str>, least: Option<u32>| TableRules {
        rows: rows.map(str::to_owned),
        smallest_group: least,
        masks: [("name".to_owned(), Mask::Empty)].into(),
    };
    let both = rules(Some("a = 1"), Some(5)).either(&rules(Some("b = 2"), Some(3)));
    assert_eq!((both.rows.as_deref(), both.smallest_group), (Some("(a = 1) OR (b = 2)"), Some(3)));
    let open = rules(Some("a = 1"), Some(5)).either(&TableRules::default());
    assert_eq!(open, TableRules::default());
}
