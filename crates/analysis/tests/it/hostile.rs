//! Hostile SQL against real sources: everything is refused, and files and databases are unchanged
//! afterwards.

use crate::{open, sql, write};
use std::collections::BTreeMap;
use std::path::Path;

/// The statements that policy's own tests refuse, and more that need a database.
pub(crate) fn statements() -> Vec<String> {
    let listed = include_str!("../../../policy/tests/it/hostile.txt");
    let mut statements: Vec<String> = (listed.lines())
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .map(|(_, statement)| statement.replace("\\n", "\n"))
        .collect();
    let more = [
        "ATTACH DATABASE 'evil.db' AS evil",
        "VACUUM INTO 'copy.db'",
        "SELECT load_extension('evil')",
        "SELECT writefile('x', 'y')",
        "SELECT readfile('/etc/hostname')",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM sqlite_master",
        "PRAGMA writable_schema = 1",
        "SELECT 1; DELETE FROM sales",
        "WITH gone AS (DELETE FROM sales RETURNING *) SELECT * FROM gone",
    ];
    statements.extend(more.map(str::to_owned));
    statements
}

fn bytes_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect()
}

#[tokio::test]
async fn nothing_hostile_runs_and_nothing_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sqlite");
    let database = rusqlite::Connection::open(&path).unwrap();
    let tables = "CREATE TABLE sales (order_id INT, order_date TEXT, state TEXT, city TEXT, category TEXT, \
        product TEXT, quantity INT,
        unit_price REAL, amount REAL, customer_id INT, customer_email TEXT);
        INSERT INTO sales VALUES (1, '2021-01-01', 'Arizona', 'Mesa', 'A', 'B', 1, 2.0, 2.0, 7, 'a@example.com');
        CREATE TABLE customers (id INT, name TEXT, segment TEXT, contact TEXT, state TEXT);
        INSERT INTO customers VALUES (7, 'Ada', 'Consumer', '555-0100', 'Arizona');";
    database.execute_batch(tables).unwrap();
    drop(database);
    let csv = write(folder.path(), "orders.csv", "id,amount\n1,2\n");
    let bench = open(&[path.display().to_string(), csv]).await.unwrap();
    let before = bytes_of(folder.path());
    let statements = statements();
    assert!(statements.len() >= 300, "{}", statements.len());
    let mut ran = Vec::new();
    for statement in &statements {
        // What policy admits, such as a column that only its own tests hide, must still be a plain
        // read.
        if sql(&bench, statement).await.is_ok() {
            ran.push(statement.clone());
        }
    }
    assert_eq!(before, bytes_of(folder.path()), "a file was changed or made");
    let reads = |statement: &&String| {
        statement.trim_start().to_lowercase().starts_with("select")
            || statement.trim_start().to_lowercase().starts_with("with")
    };
    assert!(ran.iter().all(|statement| reads(&statement)), "{ran:?}");
    assert!(ran.len() * 10 < statements.len(), "{} of {} ran: {ran:?}", ran.len(), statements.len());
}

/// The database itself refuses, even without policy.
#[tokio::test]
async fn a_sqlite_source_refuses_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sqlite");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
        .unwrap();
    let before = bytes_of(folder.path());
    for statement in [
        "ATTACH 'evil.db' AS e",
        "VACUUM INTO 'copy.db'",
        "DELETE FROM t",
        "CREATE TEMP TABLE x (a)",
        "PRAGMA query_only = 0",
        "SELECT load_extension('x')",
    ] {
        let refused = steward_analysis::source::try_unchecked(&path, statement);
        assert!(refused.is_err(), "{statement} ran");
    }
    assert!(steward_analysis::source::try_unchecked(&path, "SELECT a FROM t").is_ok());
    assert_eq!(before, bytes_of(folder.path()));
}

/// The second check of a SQLite source: an authorizer for each statement, which checks every column
/// that is read.
#[tokio::test]
async fn a_sqlite_source_gives_out_only_admitted_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sqlite");
    let tables = "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT);
        CREATE TABLE payroll (id INT, salary INT);
        CREATE VIEW public_customers AS SELECT id, name FROM customers WHERE email IS NOT NULL;
        CREATE VIEW all_customers AS SELECT * FROM customers;
        INSERT INTO customers VALUES (1, 'Ada', 'CANARY@example.com');";
    rusqlite::Connection::open(&path).unwrap().execute_batch(tables).unwrap();
    let reads: &[(&str, &[&str])] = &[("customers", &["id", "name"]), ("public_customers", &["name"])];
    for refused in [
        "SELECT email FROM customers",
        "SELECT * FROM customers",
        "SELECT id FROM customers WHERE email LIKE 'C%'",
        "SELECT id FROM customers ORDER BY email",
        "WITH c AS (SELECT email AS id FROM customers) SELECT id FROM c",
        "WITH public_customers AS (SELECT email AS name FROM customers) SELECT salary FROM payroll",
        "SELECT id FROM public_customers",
        "SELECT email FROM all_customers",
        "SELECT name FROM all_customers",
        "SELECT count(*) FROM payroll",
        "SELECT sql FROM sqlite_master",
        "SELECT load_extension('x')",
        "SELECT randomblob(10)",
        "PRAGMA table_info(customers)",
        "SELECT * FROM pragma_table_info('customers')",
        "DELETE FROM customers",
    ] {
        let result = steward_analysis::source::try_confined(&path, refused, reads).await;
        let error = result.map(|frame| frame.rows).unwrap_err().to_string();
        assert!(!error.contains("CANARY"), "{refused}: {error}");
    }
    for allowed in [
        "SELECT id, name FROM customers",
        "SELECT count(*) FROM customers",
        "SELECT name FROM public_customers",
        "SELECT upper(name) FROM customers WHERE name LIKE 'A%'",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n, customers",
    ] {
        steward_analysis::source::try_confined(&path, allowed, reads)
            .await
            .unwrap_or_else(|e| panic!("{allowed}: {e}"));
    }
}
