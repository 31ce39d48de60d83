//! Generated hostile statements, run against real engines whose blocked columns contain canaries:
//! none may leak, in a row or in an error, and nothing may be written. The same statements run
//! again with row-level rules, where hidden rows must not leak either. `cargo xtask attack sql`
//! runs many more of them.

mod grammar;
mod scoped;

use crate::write;
use grammar::{Generated, Grammar};
use steward_analysis::frame::{Frame, Value};
use steward_analysis::query::Dialect;
use steward_analysis::session::{Options, Session};
use steward_analysis::tools::Workbench;
use steward_domain::{AnalysisTimeout, RowLimit};
use steward_policy::{Access, Limits, RowRules, TableRules};

/// Part of every value that must not leak.
const CANARY: &str = "CANARY";
/// The number that must not leak.
const NUMBER: &str = "918273645";
/// Part of every value in a hidden row.
const HIDDEN: &str = "HIDDEN";

/// Statements for each engine, once without row-level rules and once with them, unless
/// STEWARD_ATTACK_STATEMENTS is set.
const STATEMENTS: usize = 750;

const TABLES: &str = "CREATE TABLE customers (id INT, name VARCHAR(40), segment VARCHAR(40), email \
    VARCHAR(80), ssn VARCHAR(80),
        state VARCHAR(40), secret_score INT);
    INSERT INTO customers VALUES (1, 'Ada', 'new', 'CANARY1@example.com', 'CANARY-1', 'Arizona', 918273645);
    INSERT INTO customers VALUES (2, 'Bob', 'old', 'CANARY2@example.com', 'CANARY-2', 'Texas', 918273645);
    INSERT INTO customers VALUES (3, 'HIDDEN', 'HIDDEN', 'CANARY3@example.com', 'CANARY-3', 'HIDDEN', 918273645);
    CREATE TABLE orders (id INT, customer_id INT, amount INT, state VARCHAR(40), customer_email VARCHAR(80));
    INSERT INTO orders VALUES (10, 1, 5, 'Arizona', 'CANARY1@example.com');
    INSERT INTO orders VALUES (11, 2, 7, 'Texas', 'CANARY2@example.com');
    INSERT INTO orders VALUES (12, 3, 9, 'HIDDEN', 'CANARY3@example.com');
    CREATE TABLE payroll (id INT, name VARCHAR(40), salary INT);
    INSERT INTO payroll VALUES (1, 'CANARY', 918273645);";

fn access() -> Access {
    let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Access {
        tables: [
            ("customers".to_owned(), columns(&["id", "name", "segment", "email", "ssn", "state"])),
            ("orders".to_owned(), columns(&[])),
        ]
        .into(),
        allowed_columns: columns(&[]),
        blocked_patterns: vec!["email".to_owned(), "ssn".to_owned()],
        ..Access::default()
    }
}

/// The same with rules that hide the third row of each table.
fn ruled() -> Access {
    let rows = |rule: &str| TableRules { rows: Some(rule.to_owned()), ..TableRules::default() };
    let tables = [
        ("customers".to_owned(), rows("state = caller.state OR ssn = 'CANARY-2'")),
        ("orders".to_owned(), rows("customer_id < 3")),
    ];
    let attributes = [("state".to_owned(), "Arizona".to_owned())].into();
    Access { rows: RowRules { tables: tables.into(), attributes }, ..access() }
}

async fn open(sources: &[String], access: Access) -> Workbench {
    let limits = Limits { rows: RowLimit::default(), timeout: AnalysisTimeout::default() };
    Workbench::new(Session::open(sources, Options::default()).await.unwrap(), access, limits)
}

/// Attacks an engine without row-level rules, then with them. `oracles` are copies of the data with
/// only what each of the two may see.
async fn attack_twice(sources: &[String], dialect: Dialect, oracles: Option<[&Oracle; 2]>) {
    let [all, own] = match oracles {
        Some([all, own]) => [Some(all), Some(own)],
        None => [None, None],
    };
    attack(&open(sources, access()).await, dialect, all, false).await;
    attack(&open(sources, ruled()).await, dialect, own, true).await;
}

fn count() -> usize {
    std::env::var("STEWARD_ATTACK_STATEMENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(STATEMENTS)
}

fn seed() -> u64 {
    std::env::var("STEWARD_ATTACK_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Whether a text contains a canary, literally, in another case or reversed.
fn leaks(text: &str) -> bool {
    let upper = text.to_uppercase();
    let reversed: String = CANARY.chars().rev().collect();
    upper.contains(CANARY) || upper.contains(&reversed) || upper.contains(NUMBER)
}

/// The result of a statement on a copy without the blocked columns; none if it does not run there.
type Oracle = dyn Fn(&str) -> Option<Vec<String>>;

/// Runs generated statements. An admitted one must not leak a canary, and must return the same as
/// the original text on a copy without the blocked columns.
async fn attack(bench: &Workbench, dialect: Dialect, oracle: Option<&Oracle>, rules: bool) {
    let mut grammar = Grammar::new(seed(), dialect);
    let (mut admissible, mut admitted, mut ran, mut compared) = (0, 0, 0, 0);
    for place in 0..count() {
        let Generated { sql, admissible: meant } = grammar.statement();
        let passed = bench.admit(&sql);
        admissible += usize::from(meant);
        admitted += usize::from(passed.is_ok());
        let at = || format!("{dialect:?}, seed {}, statement {place}:\n{sql}", seed());
        if let (true, Err(denied)) = (meant && std::env::var_os("STEWARD_ATTACK_REFUSED").is_some(), &passed)
        {
            eprintln!("{}\n{denied}", at());
        }
        let said = match bench.call("sql.run", &serde_json::json!({ "sql": sql }), "result").await {
            Ok(output) => {
                ran += 1;
                let found = output.frame.as_ref().map(rows).unwrap_or_default();
                // A result that was cut at the row limit is incomplete.
                let whole = found.len() < RowLimit::default().get() as usize;
                if let (true, Some(expected)) = (meant && whole, oracle.and_then(|oracle| oracle(&sql))) {
                    compared += 1;
                    assert_eq!(found, expected, "what runs means something else. {}", at());
                }
                format!("{:?}", output.frame)
            }
            // An error may repeat a name of the statement, but never data.
            Err(error) => {
                // The second check must never refuse an admitted statement.
                assert_ne!(steward_domain::Coded::code(&error), "DBS012", "{}", at());
                if passed.is_ok() && std::env::var_os("STEWARD_ATTACK_REFUSED").is_some() {
                    eprintln!("{}\n{error}", at());
                }
                format!("{error} {error:?}")
            }
        };
        assert!(!leaks(&said), "{}\n{said}", at());
        let shown = rules && said.to_uppercase().contains(HIDDEN);
        assert!(!shown, "a row of others left. {}\n{said}", at());
    }
    let share = 100 * admitted / count().max(1);
    eprintln!(
        "{dialect:?}{}: {} statements, {admissible} meant to pass, {admitted} admitted ({share} %), {ran} \
            ran, {compared} compared",
        if rules { " with row rules" } else { "" },
        count()
    );
    assert!(share >= 60, "only {admitted} of {} were admitted: the grammar tries too little", count());
    assert!(ran * 10 > admitted * 7, "only {ran} of {admitted} admitted statements ran");
    assert!(oracle.is_none() || compared * 2 > ran, "only {compared} of {ran} could be compared");
}

/// The rows as sorted texts.
fn rows(frame: &Frame) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        other => format!("{other:?}"),
    };
    let line = |row: &Vec<Value>| row.iter().map(text).collect::<Vec<_>>().join("|");
    let mut rows: Vec<String> = frame.rows.iter().map(line).collect();
    rows.sort();
    rows
}

/// Queries a SQLite copy in memory that has only the readable columns.
fn sqlite_oracle(rules: bool) -> impl Fn(&str) -> Option<Vec<String>> {
    use rusqlite::types::ValueRef;
    let copy = rusqlite::Connection::open_in_memory().unwrap();
    copy.execute_batch(
        "CREATE TABLE customers (id INT, name VARCHAR(40), segment VARCHAR(40), state VARCHAR(40));
         INSERT INTO customers VALUES (1, 'Ada', 'new', 'Arizona'), (2, 'Bob', 'old', 'Texas');
         CREATE TABLE orders (id INT, customer_id INT, amount INT, state VARCHAR(40));
         INSERT INTO orders VALUES (10, 1, 5, 'Arizona'), (11, 2, 7, 'Texas');",
    )
    .unwrap();
    if !rules {
        let more = "INSERT INTO customers VALUES (3, 'HIDDEN', 'HIDDEN', 'HIDDEN'); INSERT INTO orders \
            VALUES (12, 3, 9, 'HIDDEN')";
        copy.execute_batch(more).unwrap();
    }
    move |sql| {
        let mut statement = copy.prepare(sql).ok()?;
        let width = statement.column_count();
        let mut found = statement.query([]).ok()?;
        let mut rows = Vec::new();
        while let Some(row) = found.next().ok()? {
            let text = |place: usize| match row.get_ref(place).unwrap() {
                ValueRef::Null => "-".to_owned(),
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Real(number) => number.to_string(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                ValueRef::Blob(bytes) => format!("{bytes:?}"),
            };
            rows.push((0..width).map(text).collect::<Vec<_>>().join("|"));
        }
        rows.sort();
        Some(rows)
    }
}

#[tokio::test]
async fn no_canary_leaves_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sqlite");
    rusqlite::Connection::open(&path).unwrap().execute_batch(TABLES).unwrap();
    let before = std::fs::read(&path).unwrap();
    let oracles: [&Oracle; 2] = [&sqlite_oracle(false), &sqlite_oracle(true)];
    attack_twice(&[path.display().to_string()], Dialect::Sqlite, Some(oracles)).await;
    assert_eq!(before, std::fs::read(&path).unwrap(), "the database was written to");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a file was made");
}

#[tokio::test]
async fn no_canary_leaves_files() {
    let folder = tempfile::tempdir().unwrap();
    let customers = "id,name,segment,email,ssn,state,secret_score\n1,Ada,new,CANARY1@example.com,CANARY-1,Arizona,918273645\n\
        2,Bob,old,CANARY2@example.com,CANARY-2,Texas,918273645\n3,HIDDEN,HIDDEN,CANARY3@example.com,CANARY-3,HIDDEN,918273645\n";
    let orders = "id,customer_id,amount,state,customer_email\n10,1,5,Arizona,CANARY1@example.com\n\
        11,2,7,Texas,CANARY2@example.com\n12,3,9,HIDDEN,CANARY3@example.com\n";
    let sources = [
        write(folder.path(), "customers.csv", customers),
        write(folder.path(), "orders.csv", orders),
        write(folder.path(), "payroll.csv", "id,name,salary\n1,CANARY,918273645\n2,CANARY,918273645\n"),
    ];
    attack_twice(&sources, Dialect::DataFusion, None).await;
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "a file was made");
}

#[tokio::test]
async fn no_canary_leaves_duckdb() {
    let Some(drivers) = crate::drivers::drivers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.duckdb");
    crate::drivers::make(&drivers, &path, TABLES);
    let before = std::fs::read(&path).unwrap();
    attack_twice(&[path.display().to_string()], Dialect::DuckDb, None).await;
    assert_eq!(before, std::fs::read(&path).unwrap(), "the database was written to");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a file was made");
}

#[tokio::test]
async fn no_canary_leaves_postgres() {
    use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};
    let Some(server) = crate::servers::server("STEWARD_TEST_POSTGRES", "postgres") else { return };
    let mut admin = sqlx::PgConnection::connect(&format!("{server}/postgres")).await.unwrap();
    admin.execute("DROP DATABASE IF EXISTS attack_canaries WITH (FORCE)").await.unwrap();
    admin.execute("CREATE DATABASE attack_canaries").await.unwrap();
    let url = format!("{server}/attack_canaries");
    let mut own = sqlx::PgConnection::connect(&url).await.unwrap();
    own.execute(sqlx::raw_sql(AssertSqlSafe(TABLES.to_owned()))).await.unwrap();
    let state = "SELECT (SELECT count(*) FROM pg_class)::text || ' ' || (SELECT md5(string_agg(c::text, '')) \
        FROM customers c)";
    let before: String = own.fetch_one(state).await.unwrap().get(0);
    attack_twice(&[url], Dialect::Postgres, None).await;
    assert_eq!(before, own.fetch_one(state).await.unwrap().get::<String, _>(0), "something was written");
}

#[tokio::test]
async fn no_canary_leaves_mysql() {
    use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};
    let Some(server) = crate::servers::server("STEWARD_TEST_MYSQL", "mysql") else { return };
    let mut admin = sqlx::MySqlConnection::connect(&format!("{server}/mysql")).await.unwrap();
    admin.execute("DROP DATABASE IF EXISTS attack_canaries").await.unwrap();
    admin.execute("CREATE DATABASE attack_canaries").await.unwrap();
    let url = format!("{server}/attack_canaries");
    let mut own = sqlx::MySqlConnection::connect(&url).await.unwrap();
    own.execute(sqlx::raw_sql(AssertSqlSafe(TABLES.to_owned()))).await.unwrap();
    let state = "SELECT CONCAT((SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = \
        'attack_canaries'), ' ', (SELECT SUM(id) FROM customers), ' ', (SELECT SUM(amount) FROM orders))";
    let before: String = own.fetch_one(state).await.unwrap().get(0);
    attack_twice(&[url], Dialect::MySql, None).await;
    assert_eq!(before, own.fetch_one(state).await.unwrap().get::<String, _>(0), "something was written");
}

/// Two tables and two schemas whose names differ only in case: a grant of one reveals nothing of
/// the other, and both can be read if both are granted.
#[tokio::test]
async fn names_that_differ_in_case_are_two_in_postgres() {
    use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
    let Some(server) = crate::servers::server("STEWARD_TEST_POSTGRES", "postgres") else { return };
    let mut admin = sqlx::PgConnection::connect(&format!("{server}/postgres")).await.unwrap();
    admin.execute("DROP DATABASE IF EXISTS attack_case WITH (FORCE)").await.unwrap();
    admin.execute("CREATE DATABASE attack_case").await.unwrap();
    let url = format!("{server}/attack_case");
    let mut own = sqlx::PgConnection::connect(&url).await.unwrap();
    let tables = r#"CREATE TABLE customers (id INT, note TEXT, "Note" TEXT); INSERT INTO customers VALUES (1, 'plain', 'CANARY');
        CREATE TABLE "Customers" (id INT, note TEXT); INSERT INTO "Customers" VALUES (2, 'CANARY');
        CREATE SCHEMA hr; CREATE TABLE hr.staff (id INT, note TEXT); INSERT INTO hr.staff VALUES (3, 'staff');
        CREATE SCHEMA "HR"; CREATE TABLE "HR".staff (id INT, note TEXT); INSERT INTO "HR".staff VALUES (4, 'CANARY');"#;
    own.execute(sqlx::raw_sql(AssertSqlSafe(tables.to_owned()))).await.unwrap();
    let columns = || ["id", "note"].map(str::to_owned).into();
    let granted = |names: &[&str]| Access {
        tables: names.iter().map(|name| ((*name).to_owned(), columns())).collect(),
        ..Access::default()
    };
    let sources = [url];
    let own = open(&sources, granted(&["customers", "hr.staff"])).await;
    for sql in [
        r#"SELECT note FROM "Customers""#,
        r#"SELECT * FROM "Customers""#,
        "SELECT * FROM customers",
        r#"SELECT "Note" FROM customers"#,
        r#"SELECT c."Note" FROM public.customers c"#,
        r#"SELECT note FROM "HR".staff"#,
        r#"SELECT s.* FROM "HR"."staff" s JOIN hr.staff t ON true"#,
        r#"SELECT note FROM "public"."Customers" UNION SELECT note FROM customers"#,
    ] {
        let said = match own.call("sql.run", &serde_json::json!({ "sql": sql }), "result").await {
            Ok(output) => format!("{:?}", output.frame),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!leaks(&said), "{sql}\n{said}");
    }
    let both = open(&sources, granted(&["customers", "Customers", "hr.staff", "HR.staff"])).await;
    for (sql, id) in [
        ("SELECT id FROM customers", "1"),
        (r#"SELECT id FROM "Customers""#, "2"),
        ("SELECT id FROM hr.staff", "3"),
        (r#"SELECT id FROM "HR".staff"#, "4"),
    ] {
        let output = both.call("sql.run", &serde_json::json!({ "sql": sql }), "result").await.unwrap();
        assert_eq!(output.frame.as_ref().map(rows), Some(vec![id.to_owned()]), "{sql}");
    }
}
