//! What analysts write every day must pass.

use crate::{access, ask, schema};
use steward_policy::{Limits, admit};

#[test]
fn ordinary_questions_pass() {
    for sql in [
        "SELECT 1",
        "SELECT state, sum(amount) AS total FROM sales WHERE order_date >= '2021-01-01' GROUP BY state HAVING sum(amount) > 10 ORDER BY total DESC LIMIT 5",
        "select count(*) from sales",
        "SELECT s.state, c.segment, avg(s.amount) FROM sales s JOIN customers c ON c.id = s.customer_id GROUP BY 1, 2",
        "SELECT state, amount FROM sales s JOIN hr.people p ON p.id = s.customer_id",
        "SELECT id FROM hr.people",
        "WITH monthly AS (SELECT date_trunc('month', order_date) AS month, sum(amount) AS total FROM sales GROUP BY 1) SELECT * FROM monthly WHERE total > (SELECT avg(total) FROM monthly)",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n",
        "WITH a (x) AS (SELECT amount FROM sales) SELECT x FROM a",
        "SELECT product FROM sales WHERE customer_id NOT IN (SELECT id FROM customers WHERE segment = 'new')",
        "SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM sales s WHERE s.customer_id = c.id)",
        "SELECT state, amount, rank() OVER (PARTITION BY state ORDER BY amount DESC) AS place FROM sales",
        "SELECT state FROM (SELECT state, sum(amount) AS total FROM sales GROUP BY state) t WHERE total > 5",
        "SELECT * FROM (SELECT id, name FROM customers) c",
        "SELECT p.* FROM hr.people p",
        "SELECT state FROM sales UNION SELECT segment FROM customers ORDER BY 1",
        "SELECT CASE WHEN amount > 10 THEN 'high' ELSE 'low' END AS band, count(DISTINCT customer_id) FROM sales GROUP BY band",
        "SELECT coalesce(city, 'none'), round(amount / nullif(quantity, 0), 2) FROM sales WHERE state ILIKE 'ari%' AND amount BETWEEN 1 AND 2",
        "SELECT extract(year FROM order_date), CAST(amount AS integer), order_date + interval '1 day' FROM sales",
        "SELECT \"state\" FROM \"sales\" -- a comment\n WHERE amount > $1",
        "SELECT s.state, t.total FROM sales s, LATERAL (SELECT sum(amount) AS total FROM customers c WHERE c.id = s.customer_id) t",
        "SELECT sales.amount FROM sales",
        "VALUES (1, 'a'), (2, 'b')",
        "SELECT s.state FROM sales s JOIN customers c USING (state)",
        "SELECT corr(quantity, amount), stddev(amount), percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM sales",
    ] {
        let admitted = ask(sql).unwrap_or_else(|denied| panic!("{sql}\n{denied}"));
        let again = ask(admitted.text()).unwrap_or_else(|denied| panic!("{}\n{denied}", admitted.text()));
        assert_eq!(again.text(), admitted.text(), "what is admitted is its own canonical form");
    }
}

#[test]
fn what_runs_is_what_was_understood() {
    let admitted = ask("select/**/state--x\nfrom/*;drop table sales*/sales").unwrap();
    assert_eq!(admitted.text(), "SELECT state FROM sales");
    assert_eq!(admitted.tables().iter().collect::<Vec<_>>(), ["sales"]);
}

#[test]
fn without_grants_everything_but_the_blocked_is_seen() {
    let open = steward_policy::Access { tables: std::collections::BTreeMap::new(), ..access() };
    assert!(admit("SELECT salary FROM payroll", &schema(), &open, Limits::default()).is_ok());
    assert!(admit("SELECT customer_email FROM sales", &schema(), &open, Limits::default()).is_err());
    let narrow = steward_policy::Access { allowed_columns: ["state".to_owned()].into(), ..open };
    assert!(admit("SELECT state FROM sales", &schema(), &narrow, Limits::default()).is_ok());
    assert!(admit("SELECT amount FROM sales", &schema(), &narrow, Limits::default()).is_err());
}
