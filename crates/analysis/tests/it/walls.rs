//! The second check of PostgreSQL and MariaDB alone: statements without policy, with what they were
//! admitted to.

use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use std::collections::BTreeSet;
use std::time::Duration;
use steward_analysis::database::{Admission, Bounds, Database, Wall, connect};
use steward_domain::Coded as _;

const TABLES: &str = "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40), email VARCHAR(80), ssn \
    VARCHAR(80));
    INSERT INTO customers VALUES (1, 'Ada', 'CANARY1@x.example', 'CANARY-1'), (2, 'Bob', \
    'CANARY2@x.example', 'CANARY-2');
    CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT, amount INT);
    INSERT INTO orders VALUES (10, 1, 5), (11, 2, 7);
    CREATE TABLE payroll (id INT, salary INT); INSERT INTO payroll VALUES (1, 918273645)";

fn admitted(schema: &str) -> Admission {
    let path = |table: &str| [schema.to_owned(), table.to_owned()];
    let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    Admission::new([
        (path("customers").as_slice(), columns(&["id", "name"])),
        (path("orders").as_slice(), columns(&["id", "customer_id", "amount"])),
    ])
}

fn bounds() -> Bounds {
    Bounds { rows: 100, timeout: Duration::from_secs(10) }
}

/// Statements that read only what was admitted.
const READS: [&str; 10] = [
    "SELECT customers.id FROM (SELECT c.id FROM customers AS c WHERE c.name = 'Ada' LIMIT 10) AS customers",
    "SELECT c.id, UPPER(c.name) AS n FROM customers AS c WHERE c.id = 1",
    "SELECT COUNT(*) FROM customers",
    "SELECT c.name, SUM(o.amount) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.name \
        ORDER BY 2 DESC",
    "WITH w AS (SELECT id AS email, name FROM customers) SELECT w.email FROM w JOIN w AS v ON v.email = w.email",
    "SELECT q.ssn FROM (SELECT amount AS ssn FROM orders) AS q WHERE q.ssn > 5 UNION SELECT id FROM customers",
    "SELECT 'customers.email' AS x, TRIM(name) FROM customers WHERE name LIKE 'A%' OR id IN (SELECT \
        customer_id FROM orders)",
    "SELECT RANK() OVER (PARTITION BY c.name ORDER BY c.id) FROM customers c",
    "SELECT EXTRACT(YEAR FROM CURRENT_DATE) + 1.5, CAST(amount AS CHAR(9)) FROM orders",
    "SELECT 1 AS id, 2 AS id",
];

/// Statements that read more than was admitted.
const REACHES: [&str; 16] = [
    "SELECT email FROM customers",
    "SELECT c.id FROM customers c WHERE c.id = 1 AND c.email LIKE 'C%'",
    "SELECT id FROM customers WHERE id = 1 AND email LIKE 'X%'",
    "SELECT COUNT(*) FROM customers GROUP BY ssn",
    "SELECT id FROM customers ORDER BY ssn",
    "SELECT * FROM customers",
    "SELECT MAX(c.ssn) FROM customers c",
    "SELECT q.x FROM (SELECT email AS x FROM customers) AS q",
    "WITH w AS (SELECT ssn AS x FROM customers) SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM w WHERE \
        w.x LIKE 'C%')",
    "SELECT (SELECT email FROM customers x WHERE x.id = o.customer_id) FROM orders o",
    "SELECT o.id FROM orders o JOIN customers o2 ON o2.ssn > 'A' AND o2.id = o.customer_id",
    "SELECT RANK() OVER (PARTITION BY c.email ORDER BY c.id) FROM customers c",
    "SELECT salary FROM payroll",
    "SELECT 1 FROM payroll",
    "SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM payroll)",
    "SELECT id FROM orders UNION ALL SELECT salary FROM payroll",
];

async fn check(database: &dyn Database, schema: &str, reads: &[&str], reaches: &[&str]) {
    for sql in reads {
        let ran = database.query_admitted(sql, bounds(), &admitted(schema)).await;
        assert!(ran.is_ok(), "{sql}\n{}", ran.unwrap_err());
    }
    for sql in reaches {
        let error = database.query_admitted(sql, bounds(), &admitted(schema)).await.map(|_| ());
        let error = error.expect_err(sql);
        assert_eq!(error.code(), "DBS012", "{sql}\n{error}");
        let said = format!("{error} {error:?}");
        let names = ["CANARY", "918273645", "email", "ssn", "payroll"];
        assert!(!names.iter().any(|name| said.contains(name)), "{said}");
    }
}

/// The same for PostgreSQL only.
const POSTGRES_REACHES: [&str; 10] = [
    "SELECT c FROM customers c",
    "SELECT row_to_json(c) FROM customers c",
    "SELECT c::text FROM customers c",
    "SELECT c.id FROM customers c WHERE (c).ssn LIKE 'C%'",
    "SELECT id, (SELECT email FROM (SELECT 1 AS \"Email\") x) FROM customers",
    "SELECT query_to_xml('select email from customers', true, false, '')",
    "SELECT table_to_xml('customers', true, false, '')::text FROM orders",
    "SELECT pg_read_file('PG_VERSION') FROM orders",
    "SELECT set_config('role', 'none', true) FROM orders",
    "SELECT rolname FROM pg_authid",
];

async fn postgres(server: &str, name: &str) -> (sqlx::PgConnection, String) {
    let mut admin = sqlx::PgConnection::connect(&format!("{server}/postgres")).await.unwrap();
    admin.execute(AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))).await.unwrap();
    admin.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
    let mut own = sqlx::PgConnection::connect(&format!("{server}/{name}")).await.unwrap();
    own.execute(sqlx::raw_sql(AssertSqlSafe(TABLES.to_owned()))).await.unwrap();
    let account = format!(
        "DO $$BEGIN CREATE ROLE {name}_reader LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END$$;
         GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}_reader"
    );
    own.execute(sqlx::raw_sql(AssertSqlSafe(account))).await.unwrap();
    let reader = server.replacen("//steward", &format!("//{name}_reader"), 1);
    (own, format!("{reader}/{name}"))
}

#[tokio::test]
async fn postgres_says_what_a_statement_reads() {
    let Some(server) = crate::servers::server("STEWARD_TEST_POSTGRES", "postgres") else { return };
    let (mut own, reader) = postgres(&server, "wall_columns").await;
    let database = connect(&reader).await.unwrap();
    assert!(matches!(database.wall().await.unwrap(), Wall::Columns));
    check(&*database, "public", &READS, &REACHES).await;
    check(&*database, "public", &[], &POSTGRES_REACHES).await;
    // A view is checked as a view: the tables behind it are not.
    own.execute("CREATE VIEW known AS SELECT id, left(ssn, 2) AS start FROM customers").await.unwrap();
    own.execute("GRANT SELECT ON known TO wall_columns_reader").await.unwrap();
    let path = ["public".to_owned(), "known".to_owned()];
    let view = Admission::new([(path.as_slice(), BTreeSet::from(["id".to_owned(), "start".to_owned()]))]);
    assert!(database.query_admitted("SELECT id, start FROM known", bounds(), &view).await.is_ok());
    let error = database.query_admitted("SELECT k.id FROM known k, customers c", bounds(), &view).await;
    assert_eq!(error.unwrap_err().code(), "DBS012");
    // No temporary objects are left.
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_class WHERE relname = 'steward_read'")
        .fetch_one(&mut own)
        .await
        .unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_statement_of_postgres_runs_under_a_role_that_holds_nothing() {
    let Some(server) = crate::servers::server("STEWARD_TEST_POSTGRES", "postgres") else { return };
    let (mut own, reader) = postgres(&server, "wall_role").await;
    let role = "DO $$BEGIN CREATE ROLE steward_sandbox; EXCEPTION WHEN duplicate_object OR unique_violation \
        THEN NULL; END$$;
        GRANT steward_sandbox TO wall_role_reader";
    own.execute(sqlx::raw_sql(role)).await.unwrap();
    let database = connect(&reader).await.unwrap();
    assert_eq!(database.wall().await.unwrap(), Wall::Role("steward_sandbox".to_owned()));
    check(&*database, "public", &READS, &REACHES).await;
    check(&*database, "public", &[], &POSTGRES_REACHES).await;
    // A function that was accepted by mistake would run as this role, which has no privileges.
    let (frame, _) =
        database.query_admitted("SELECT current_user", bounds(), &admitted("public")).await.unwrap();
    assert!(format!("{:?}", frame.rows).contains("steward_sandbox"), "{:?}", frame.rows);
}

#[tokio::test]
async fn without_temporary_views_the_tables_of_the_plan_count() {
    let Some(server) = crate::servers::server("STEWARD_TEST_POSTGRES", "postgres") else { return };
    let (mut own, reader) = postgres(&server, "wall_tables").await;
    own.execute("REVOKE TEMPORARY ON DATABASE wall_tables FROM PUBLIC").await.unwrap();
    own.execute(sqlx::raw_sql(
        "CREATE TABLE sales (id int, day date) PARTITION BY RANGE (day);
         CREATE TABLE sales_24 PARTITION OF sales FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
         CREATE VIEW known AS SELECT id FROM customers;
         GRANT SELECT ON ALL TABLES IN SCHEMA public TO wall_tables_reader",
    ))
    .await
    .unwrap();
    let database = connect(&reader).await.unwrap();
    assert_eq!(database.wall().await.unwrap(), Wall::Tables);
    let tables: Vec<&str> = REACHES.iter().copied().filter(|sql| sql.contains("payroll")).collect();
    check(&*database, "public", &READS, &tables).await;
    let path = |table: &str| ["public".to_owned(), table.to_owned()];
    let parts = Admission::new([
        (path("sales").as_slice(), BTreeSet::from(["id".to_owned()])),
        (path("known").as_slice(), BTreeSet::from(["id".to_owned()])),
    ]);
    let sql = "SELECT s.id FROM sales s JOIN known k ON k.id = s.id";
    assert!(database.query_admitted(sql, bounds(), &parts).await.is_ok());
}

#[tokio::test]
async fn mariadb_says_what_a_statement_reads() {
    let Some(server) = crate::servers::server("STEWARD_TEST_MYSQL", "mysql") else { return };
    let mut admin = sqlx::MySqlConnection::connect(&format!("{server}/mysql")).await.unwrap();
    for sql in [
        "DROP DATABASE IF EXISTS wall_columns",
        "CREATE DATABASE wall_columns",
        "CREATE OR REPLACE USER 'wall_reader'@'%' IDENTIFIED BY 'wall'",
        "GRANT SELECT ON wall_columns.* TO 'wall_reader'@'%'",
    ] {
        admin.execute(sqlx::raw_sql(sql)).await.unwrap();
    }
    let mut own = sqlx::MySqlConnection::connect(&format!("{server}/wall_columns")).await.unwrap();
    own.execute(sqlx::raw_sql(AssertSqlSafe(TABLES.to_owned()))).await.unwrap();
    let reader = server.replacen("//steward:steward", "//wall_reader:wall", 1);
    let database = connect(&format!("{reader}/wall_columns")).await.unwrap();
    assert_eq!(database.wall().await.unwrap(), Wall::Columns);
    check(&*database, "wall_columns", &READS, &REACHES).await;
    let reaches = [
        "SELECT LOAD_FILE('/etc/passwd') FROM orders",
        "SELECT SLEEP(0) FROM orders",
        "SELECT id FROM orders NATURAL JOIN customers WHERE ssn > ''",
        "SELECT GROUP_CONCAT(o.id ORDER BY (SELECT MAX(email) FROM customers)) FROM orders o",
        "SELECT table_name FROM information_schema.tables",
        "SELECT `c`.`email` FROM `wall_columns`.`customers` `c`",
        "SELECT id FROM customers HAVING MAX(ssn) > ''",
    ];
    check(&*database, "wall_columns", &[], &reaches).await;
    // A statement over a view passes, whatever tables are behind it.
    own.execute("CREATE VIEW known AS SELECT id, LEFT(ssn, 2) AS start FROM customers").await.unwrap();
    let path = ["wall_columns".to_owned(), "known".to_owned()];
    let view = Admission::new([(path.as_slice(), BTreeSet::from(["id".to_owned(), "start".to_owned()]))]);
    assert!(database.query_admitted("SELECT k.id, k.start FROM known k", bounds(), &view).await.is_ok());
}
