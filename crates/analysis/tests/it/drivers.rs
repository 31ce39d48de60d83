//! Databases with ADBC drivers: real libraries, loaded at run time.

use crate::{code, open, rows, sql, write};
use adbc_core::options::{AdbcVersion, OptionDatabase, OptionValue};
use adbc_core::{Connection as _, Database as _, Driver as _, Statement as _};
use adbc_driver_manager::ManagedDriver;
use std::path::{Path, PathBuf};
use steward_analysis::database::{self, Admission, Bounds};
use steward_analysis::session::{Options, Session};
use steward_analysis::tools::Workbench;
use steward_domain::{AnalysisTimeout, Coded as _, RowLimit};
use steward_policy::{Access, Limits};

/// The folder of drivers, if they are there.
pub(crate) fn drivers() -> Option<PathBuf> {
    crate::servers::server("STEWARD_DRIVERS", "drivers").map(PathBuf::from)
}

/// Makes a DuckDB file with these statements.
pub(crate) fn make(drivers: &Path, path: &Path, statements: &str) {
    let library = drivers.join("libduckdb.so");
    let entrypoint: Option<&[u8]> = Some(b"duckdb_adbc_init");
    let mut driver =
        ManagedDriver::load_dynamic_from_filename(library, entrypoint, AdbcVersion::V110).unwrap();
    let path = OptionValue::String(path.display().to_string());
    let database = driver.new_database_with_opts([(OptionDatabase::Other("path".to_owned()), path)]).unwrap();
    let mut connection = database.new_connection().unwrap();
    for sql in statements.split(';').filter(|sql| !sql.trim().is_empty()) {
        let mut statement = connection.new_statement().unwrap();
        statement.set_sql_query(sql).unwrap();
        statement.execute().unwrap_or_else(|error| panic!("{sql}: {error}")).for_each(drop);
    }
}

const SHOP: &str = "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR, email VARCHAR, since DATE, \
    rating DECIMAL(4, 2));
    INSERT INTO customers VALUES (1, 'Ada', 'CANARY@example.com', '2023-05-01', 4.5), (2, 'Bob', NULL, \
    '2024-02-29', NULL);
    CREATE TABLE orders (id INT, customer_id INT REFERENCES customers (id), amount DOUBLE, placed TIMESTAMP, \
    tags VARCHAR[]);
    INSERT INTO orders VALUES (10, 1, 5.5, '2024-01-02 03:04:05', ['a', 'b']), (11, 1, 7, '2024-02-01 \
    00:00:00', NULL),
        (12, 2, 1, '2024-02-03 12:00:00', []);
    CREATE SCHEMA hr; CREATE TABLE hr.payroll (id INT, salary HUGEINT); INSERT INTO hr.payroll VALUES (1, \
    918273645);
    CREATE VIEW spent AS SELECT customer_id, sum(amount) AS total FROM orders GROUP BY customer_id;
    CREATE VIEW stolen AS SELECT * FROM read_text('/etc/hostname');
    CREATE MACRO upper(x) AS 'shadowed'";

fn shop(drivers: &Path, folder: &Path) -> String {
    let path = folder.join("shop.duckdb");
    make(drivers, &path, SHOP);
    path.display().to_string()
}

#[tokio::test]
async fn a_duckdb_file_is_discovered_asked_and_joined() {
    let Some(drivers) = drivers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = shop(&drivers, folder.path());
    let before = std::fs::read(&path).unwrap();
    let cities = write(folder.path(), "cities.csv", "customer,city\n1,Mesa\n2,Austin\n");
    let bench = open(&[path.clone(), cities]).await.unwrap();
    let catalogue = bench.session.catalogue();
    let customers = catalogue.table("customers").unwrap();
    assert_eq!((customers.rows, customers.primary_key.clone()), (Some(2), vec!["id".to_owned()]));
    assert_eq!(customers.column("since").unwrap().kind, steward_analysis::frame::Kind::Date);
    assert!(catalogue.table("hr.payroll").is_some() && catalogue.table("spent").is_some());
    assert!(catalogue.joins.iter().any(|join| join.from.0 == "orders" && join.to.0 == "customers"));
    // A view that reads a local file is skipped with a warning.
    assert!(catalogue.table("stolen").is_none());
    assert!(bench.session.warnings().iter().any(|warning| warning.contains("stolen")));
    for (text, expected) in [
        ("SELECT count(*), sum(amount) FROM orders", vec![vec!["3", "13.5"]]),
        (
            "SELECT name, total FROM customers JOIN spent ON id = customer_id ORDER BY total",
            vec![vec!["Bob", "1"], vec!["Ada", "12.5"]],
        ),
        ("SELECT salary FROM hr.payroll", vec![vec!["918273645"]]),
        ("SELECT upper(name) FROM customers WHERE name ILIKE 'a%'", vec![vec!["ADA"]]),
        (
            "SELECT date_trunc('month', placed) AS m, count(*) FROM orders GROUP BY 1 ORDER BY 1",
            vec![vec!["2024-01-01T00:00:00", "1"], vec!["2024-02-01T00:00:00", "2"]],
        ),
        (
            "SELECT median(amount), percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM orders",
            vec![vec!["5.5", "5.5"]],
        ),
        // Rows of both sources are joined in the engine.
        (
            "SELECT c.city, sum(o.amount) FROM orders o JOIN cities c ON c.customer = o.customer_id GROUP BY \
                c.city ORDER BY 1",
            vec![vec!["Austin", "1"], vec!["Mesa", "12.5"]],
        ),
    ] {
        assert_eq!(rows(&bench, text).await, expected, "{text}");
    }
    assert_eq!(before, std::fs::read(&path).unwrap(), "the database was written to");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "a file was made");
}

#[tokio::test]
async fn nothing_hostile_runs_in_duckdb_and_nothing_changes() {
    let Some(drivers) = drivers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = shop(&drivers, folder.path());
    let before = std::fs::read(&path).unwrap();
    let bench = open(std::slice::from_ref(&path)).await.unwrap();
    for statement in crate::hostile::statements().iter().map(String::as_str).chain([
        "COPY orders TO 'out.csv'",
        "ATTACH 'other.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "EXPORT DATABASE 'out'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM file.main.customers",
        "SELECT * FROM duckdb_settings()",
        "FROM orders",
        "SELECT getvariable('x')",
        "SELECT * FROM query('SELECT 1')",
        "SELECT current_setting('access_mode')",
    ]) {
        if let Ok(output) = sql(&bench, statement).await {
            let said = format!("{:?}", output.frame);
            assert!(
                !said.contains("CANARY") || statement.to_lowercase().starts_with("select"),
                "{statement}"
            );
        }
    }
    assert_eq!(before, std::fs::read(&path).unwrap(), "the database was written to");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a file was made");
}

/// What DuckDB itself refuses without policy: its settings, and the check of its parse tree.
#[tokio::test]
async fn duckdb_refuses_by_itself() {
    let Some(drivers) = drivers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = shop(&drivers, folder.path());
    let before = std::fs::read(&path).unwrap();
    let database = database::connect(&format!("adbc://duckdb?path={path}")).await.unwrap();
    database.discover().await.unwrap();
    let bounds = Bounds { rows: 10, timeout: std::time::Duration::from_secs(10) };
    let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let place = ["main", "customers"].map(str::to_owned);
    let admitted = Admission::new([(&place[..], columns(&["id", "name"]))]);
    for (statement, expected) in [
        ("SELECT email FROM temp.main.customers", "DBS011"),
        ("SELECT * FROM file.main.customers", "DBS012"),
        ("SELECT * FROM customers", "DBS012"),
        ("SELECT * FROM hr.payroll", "DBS012"),
        ("SELECT id FROM temp.main.customers WHERE id IN (SELECT id FROM file.hr.payroll)", "DBS012"),
        ("WITH x AS (SELECT * FROM file.main.customers) SELECT * FROM x", "DBS012"),
        ("SELECT id FROM temp.main.customers UNION ALL SELECT salary FROM file.hr.payroll", "DBS012"),
        ("SELECT (SELECT max(salary) FROM file.hr.payroll) FROM temp.main.customers", "DBS012"),
        ("SELECT * FROM read_text('/etc/hostname')", "DBS012"),
        ("SELECT * FROM '/etc/hostname'", "DBS012"),
        ("SELECT * FROM duckdb_tables()", "DBS012"),
        ("SELECT 1 FROM temp.main.customers, LATERAL (SELECT * FROM file.hr.payroll) x", "DBS012"),
        ("TABLE customers", "DBS012"),
        ("DELETE FROM file.main.customers", "DBS010"),
        ("COPY customers TO 'x.csv'", "DBS010"),
    ] {
        let error = database.query_admitted(statement, bounds, &admitted).await.map(|_| ()).unwrap_err();
        assert_eq!(error.code(), expected, "{statement}: {error}");
        assert!(!error.to_string().contains("CANARY"), "{statement}: {error}");
    }
    for statement in [
        "SELECT * FROM temp.main.customers",
        "WITH x AS (SELECT id FROM temp.main.customers) SELECT count(*) FROM x a JOIN x b ON a.id = b.id",
        "SELECT id FROM temp.main.customers EXCEPT SELECT 5",
        "SELECT * FROM (VALUES (1)) v(a), temp.main.customers",
    ] {
        let result = database.query_admitted(statement, bounds, &admitted).await;
        let (frame, _) = result.unwrap_or_else(|error| panic!("{statement}: {error}"));
        assert!(!format!("{frame:?}").contains("CANARY"), "{statement}");
    }
    // Our own statements have no views, and still cannot write.
    for statement in ["SELECT 1; DROP TABLE customers", "SELECT * FROM read_text('/etc/hostname')"] {
        assert!(database.query(statement, bounds).await.is_err(), "{statement}");
    }
    assert_eq!(before, std::fs::read(&path).unwrap());
}

#[tokio::test]
async fn a_statement_of_duckdb_ends_with_its_time() {
    let Some(drivers) = drivers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.duckdb");
    make(&drivers, &path, "CREATE TABLE n AS SELECT range AS i FROM range(3000000)");
    let session = Session::open(&[path.display().to_string()], Options::default()).await.unwrap();
    let limits = Limits { rows: RowLimit::default(), timeout: AnalysisTimeout::new(2).unwrap() };
    let bench = Workbench::new(session, Access::default(), limits);
    let started = std::time::Instant::now();
    let error = sql(&bench, "SELECT sum(sin(a.i * b.i)) FROM n a, n b").await.unwrap_err();
    assert!(["ANA006", "DBS007"].contains(&code(&error)), "{error}");
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    // The connection was separate; the next statement works.
    assert_eq!(rows(&bench, "SELECT count(*) FROM n").await, [["3000000"]]);
}

#[tokio::test]
async fn tables_of_any_driver_are_read_by_the_engine() {
    let Some(_) = drivers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let tables = "CREATE TABLE orders (id INTEGER, state TEXT, amount REAL, email TEXT);
        INSERT INTO orders VALUES (1, 'Arizona', 5.5, 'CANARY@example.com'), (2, 'Texas', 7, NULL), (3, \
        'Texas', 1, NULL);";
    rusqlite::Connection::open(&path).unwrap().execute_batch(tables).unwrap();
    let before = std::fs::read(&path).unwrap();
    let address = format!("adbc://sqlite?uri=file:{}%3Fmode%3Dro", path.display());
    let bench = open(std::slice::from_ref(&address)).await.unwrap();
    let spent = rows(&bench, "SELECT state, sum(amount) FROM orders GROUP BY state ORDER BY 1").await;
    assert_eq!(spent, [["Arizona", "5.5"], ["Texas", "8"]]);
    assert!(sql(&bench, "DELETE FROM orders").await.is_err());
    assert!(sql(&bench, "SELECT sqlite_version()").await.is_err());
    let described = bench.session.places().first().unwrap().describe();
    assert_eq!(described.connection_string.as_deref(), Some("adbc://sqlite"));
    assert_eq!(before, std::fs::read(&path).unwrap(), "the database was written to");
}

#[tokio::test]
async fn a_driver_that_is_missing_says_what_to_install() {
    for (address, expected) in [
        ("adbc://nothing-like-it?uri=x", "pip install adbc-driver-nothing-like-it"),
        ("adbc:///nowhere/libduckdb.so?path=x.duckdb", "dbc install duckdb"),
        ("adbc:///nowhere/libadbc_driver_snowflake.so", "pip install adbc-driver-snowflake"),
    ] {
        let error = open(&[address.to_owned()]).await.map(|_| ()).unwrap_err();
        assert_eq!(code(&error), "DBS013", "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let library = write(folder.path(), "libbroken.so", "this is no library");
    let error = open(&[format!("adbc://{library}")]).await.map(|_| ()).unwrap_err();
    assert_eq!(code(&error), "DBS013", "{error}");
    if drivers().is_some() {
        let mut bytes = vec![0; 5000];
        bytes[8..12].copy_from_slice(b"DUCK");
        let path = write(folder.path(), "broken.duckdb", bytes);
        let error = open(&[path]).await.map(|_| ()).unwrap_err();
        assert_eq!(code(&error), "DBS014", "{error}");
    }
}
