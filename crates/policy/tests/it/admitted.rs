//! Everyday queries of analysts, which must be admitted.

use crate::{access, ask, ask_as, schema};
use steward_policy::{Dialect, Draft, Limits, Literal, Parameters, admit};

#[test]
fn ordinary_questions_pass() {
    for sql in [
        "SELECT 1",
        "SELECT state, sum(amount) AS total FROM sales WHERE order_date >= '2021-01-01' GROUP BY state \
            HAVING sum(amount) > 10 ORDER BY total DESC LIMIT 5",
        "select count(*) from sales",
        "SELECT s.state, c.segment, avg(s.amount) FROM sales s JOIN customers c ON c.id = s.customer_id \
            GROUP BY 1, 2",
        "SELECT state, amount FROM sales s JOIN hr.people p ON p.id = s.customer_id",
        "SELECT id FROM hr.people",
        "WITH monthly AS (SELECT date_trunc('month', order_date) AS month, sum(amount) AS total FROM sales \
            GROUP BY 1) SELECT * FROM monthly WHERE total > (SELECT avg(total) FROM monthly)",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n",
        "WITH a (x) AS (SELECT amount FROM sales) SELECT x FROM a",
        "SELECT product FROM sales WHERE customer_id NOT IN (SELECT id FROM customers WHERE segment = 'new')",
        "SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM sales s WHERE s.customer_id = c.id)",
        "SELECT state, amount, rank() OVER (PARTITION BY state ORDER BY amount DESC) AS place FROM sales",
        "SELECT state FROM (SELECT state, sum(amount) AS total FROM sales GROUP BY state) t WHERE total > 5",
        "SELECT * FROM (SELECT id, name FROM customers) c",
        "SELECT p.* FROM hr.people p",
        "SELECT state FROM sales UNION SELECT segment FROM customers ORDER BY 1",
        "SELECT CASE WHEN amount > 10 THEN 'high' ELSE 'low' END AS band, count(DISTINCT customer_id) FROM \
            sales GROUP BY band",
        "SELECT coalesce(city, 'none'), round(amount / nullif(quantity, 0), 2) FROM sales WHERE state ILIKE \
            'ari%' AND amount BETWEEN 1 AND 2",
        "SELECT extract(year FROM order_date), CAST(amount AS integer), order_date + interval '1 day' FROM sales",
        "SELECT \"state\" FROM \"sales\" -- a comment\n WHERE amount > 1",
        "SELECT s.state, t.total FROM sales s, LATERAL (SELECT sum(amount) AS total FROM customers c WHERE \
            c.id = s.customer_id) t",
        "SELECT sales.amount FROM sales",
        "VALUES (1, 'a'), (2, 'b')",
        "SELECT s.state FROM sales s JOIN customers c USING (state)",
        // Only one of two tables of this name is visible, and an alias is not the hidden column of
        // the same name.
        "SELECT * FROM people",
        "SELECT id AS secret_score FROM customers ORDER BY secret_score",
        "SELECT corr(quantity, amount), stddev(amount), percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) \
            FROM sales",
    ] {
        let admitted = ask(sql).unwrap_or_else(|denied| panic!("{sql}\n{denied}"));
        let again = ask(admitted.text()).unwrap_or_else(|denied| panic!("{}\n{denied}", admitted.text()));
        assert_eq!(again.text(), admitted.text(), "what is admitted is its own canonical form");
    }
}

#[test]
fn what_runs_is_what_was_resolved() {
    let admitted = ask("select/**/state--x\nfrom/*;drop table sales*/sales").unwrap();
    assert_eq!(admitted.text(), r#"SELECT "sales"."state" FROM "sales" AS "sales""#);
    assert_eq!(admitted.tables().iter().collect::<Vec<_>>(), ["sales"]);
    let reads: Vec<_> = admitted.reads().iter().map(|(t, c)| (t.as_str(), c.len())).collect();
    assert_eq!(reads, [("sales", 1)]);
}

/// The whole text, for each engine: its quoting, table paths, and aliases by position.
#[test]
fn each_engine_gets_its_own_text() {
    let sql = "SELECT p.id, 'a''b\\c' AS x FROM hr.people p ORDER BY x";
    for (dialect, expected) in [
        (Dialect::DataFusion, r#"SELECT "p"."id", 'a''b\c' AS "x" FROM "hr.people" AS "p" ORDER BY 2"#),
        (Dialect::Sqlite, r#"SELECT "p"."id", 'a''b\c' AS "x" FROM "hr"."people" AS "p" ORDER BY 2"#),
        (Dialect::Postgres, r#"SELECT "p"."id", E'a''b\\c' AS "x" FROM "hr"."people" AS "p" ORDER BY 2"#),
        (
            Dialect::DuckDb,
            r#"SELECT "p"."id", 'a''b\c' AS "x" FROM "temp"."main"."hr.people" AS "p" ORDER BY 2"#,
        ),
        (Dialect::MySql, "SELECT `p`.`id`, 'a''bc' AS `x` FROM `hr`.`people` AS `p` ORDER BY 2"),
    ] {
        assert_eq!(ask_as(sql, dialect, &access()).unwrap().text(), expected);
    }
}

#[test]
fn parameters_are_values() {
    let parameters = Parameters::from([
        ("state".to_owned(), Literal::Text("x' OR 1=1; --".to_owned())),
        ("n".to_owned(), Literal::Int(-3)),
    ]);
    let sql = "SELECT ':n' FROM sales WHERE state = :state AND amount > -:n";
    let draft = Draft { sql, dialect: Dialect::DataFusion, parameters: &parameters };
    let admitted = admit(&draft, &schema(), &access(), Limits::default()).unwrap();
    assert!(admitted.text().contains(r#""sales"."state" = 'x'' OR 1=1; --'"#), "{}", admitted.text());
    assert!(admitted.text().contains("-(-3)"), "{}", admitted.text());
    assert!(ask("SELECT state FROM sales WHERE state = :missing").is_err());
}

#[test]
fn without_grants_everything_but_the_blocked_is_seen() {
    let open = steward_policy::Access { tables: std::collections::BTreeMap::new(), ..access() };
    let ask = |sql: &str, access: &_| ask_as(sql, Dialect::Sqlite, access);
    assert!(ask("SELECT salary FROM payroll", &open).is_ok());
    assert!(ask("SELECT customer_email FROM sales", &open).is_err());
    let narrow = steward_policy::Access { allowed_columns: ["state".to_owned()].into(), ..open };
    assert!(ask("SELECT state FROM sales", &narrow).is_ok());
    assert!(ask("SELECT amount FROM sales", &narrow).is_err());
    // Columns that are not granted do not exist, so a star expands to the rest.
    let narrow = steward_policy::Access { blocked_patterns: Vec::new(), ..narrow };
    let star = ask("SELECT * FROM sales", &narrow).unwrap();
    assert_eq!(star.text(), r#"SELECT "sales"."state" FROM "sales" AS "sales""#);
}
