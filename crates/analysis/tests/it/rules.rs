//! Row-level rules on real engines: hidden rows affect no row, count, order or error.

use crate::write;
use steward_analysis::session::{Options, Session};
use steward_analysis::tools::Workbench;
use steward_domain::{AnalysisTimeout, Coded as _, RowLimit};
use steward_policy::{Access, Limits, Mask, RowRules, TableRules};

const PEOPLE: &str = "CREATE TABLE people (id INT, name VARCHAR(20), region VARCHAR(20), phone VARCHAR(20), \
    pay INT);
    INSERT INTO people VALUES (1, 'Ada', 'north', '415-555-2671', 10), (2, 'Bob', 'north', '415-555-2672', 20),
        (3, 'Cid', 'north', '415-555-2673', 30), (4, 'CANARY', 'south', '415-555-9999', 918273645);";

fn access(rules: TableRules) -> Access {
    let columns = ["id", "name", "phone", "pay"].map(str::to_owned).into();
    Access {
        tables: [("people".to_owned(), columns)].into(),
        blocked_patterns: vec!["phone".to_owned()],
        rows: RowRules {
            tables: [("people".to_owned(), rules)].into(),
            attributes: [("region".to_owned(), "north".to_owned())].into(),
        },
        ..Access::default()
    }
}

/// The same people in SQLite, in a file and in DuckDB.
async fn benches(folder: &std::path::Path, rules: &TableRules) -> Vec<Workbench> {
    let path = folder.join("people.sqlite");
    if !path.exists() {
        rusqlite::Connection::open(&path).unwrap().execute_batch(PEOPLE).unwrap();
    }
    let csv = "id,name,region,phone,pay\n1,Ada,north,415-555-2671,10\n2,Bob,north,415-555-2672,20\n\
        3,Cid,north,415-555-2673,30\n4,CANARY,south,415-555-9999,918273645\n";
    let file = write(folder, "people.csv", csv);
    let limits = Limits { rows: RowLimit::default(), timeout: AnalysisTimeout::default() };
    let mut all = Vec::new();
    let mut sources = vec![path.display().to_string(), file];
    if let Some(drivers) = crate::drivers::drivers() {
        let path = folder.join("people.duckdb");
        if !path.exists() {
            crate::drivers::make(&drivers, &path, PEOPLE);
        }
        sources.push(path.display().to_string());
    }
    for source in sources {
        let session = Session::open(&[source], Options::default()).await.unwrap();
        all.push(Workbench::new(session, access(rules.clone()), limits));
    }
    all
}

async fn run(bench: &Workbench, sql: &str) -> Result<String, String> {
    let output = bench.call("sql.run", &serde_json::json!({ "sql": sql }), "result").await;
    let rows = output.map_err(|error| format!("{} {error}", error.code()))?.frame.unwrap().rows;
    Ok(rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.plain()).collect::<Vec<_>>().join(","))
        .collect::<Vec<_>>()
        .join(" "))
}

#[tokio::test]
async fn rows_of_others_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let masks = [("phone".to_owned(), Mask::LastFour)].into();
    let rules =
        TableRules { rows: Some("region = caller.region".to_owned()), masks, ..TableRules::default() };
    for bench in benches(folder.path(), &rules).await {
        for (sql, expected) in [
            ("SELECT count(*) FROM people", "3"),
            ("SELECT max(pay) FROM people", "30"),
            ("SELECT name, phone FROM people ORDER BY id", "Ada,2671 Bob,2672 Cid,2673"),
            ("SELECT count(*) FROM people WHERE phone LIKE '415%'", "0"),
            ("SELECT count(*) FROM people a LEFT JOIN people b ON b.pay > 1000", "3"),
            ("SELECT name FROM people WHERE name = 'CANARY'", ""),
            ("WITH x AS (SELECT id FROM people) SELECT count(*) FROM x WHERE id = 4", "0"),
            // It would fail on a hidden row only.
            ("SELECT count(*) FROM people WHERE 10 / (pay - 918273645) >= -1", "3"),
        ] {
            assert_eq!(run(&bench, sql).await.as_deref(), Ok(expected), "{sql}");
        }
        // The column of the rule itself was not granted.
        assert!(run(&bench, "SELECT region FROM people").await.unwrap_err().starts_with("SQL005"));
        // What the built-in reader, boards, recipes and repairs read with is the second of these.
        let known = format!("{:?} {:?}", bench.session.catalogue(), bench.session.visible(&bench.access));
        assert!(!known.contains("Ada"), "nothing was learned from rows: {known}");
        assert!(!known.contains("CANARY") && !known.contains("918273645"), "{known}");
        let profile = bench.call("profiler.analyze", &serde_json::json!({ "table": "people" }), "p").await;
        assert!(profile.is_err(), "a profile is made of all rows");
    }
}

/// A conversion would fail on a hidden row only, and its error would contain the value.
#[tokio::test]
async fn nothing_is_tried_on_rows_of_others_in_duckdb() {
    let Some(drivers) = crate::drivers::drivers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.duckdb");
    let people = PEOPLE.replace("'Ada'", "'1'").replace("'Bob'", "'2'").replace("'Cid'", "'3'");
    crate::drivers::make(&drivers, &path, &people);
    let rules = TableRules { rows: Some("region = caller.region".to_owned()), ..TableRules::default() };
    let limits = Limits { rows: RowLimit::default(), timeout: AnalysisTimeout::default() };
    let session = Session::open(&[path.display().to_string()], Options::default()).await.unwrap();
    let bench = Workbench::new(session, access(rules), limits);
    let sql = "SELECT count(*) FROM people WHERE CAST(name AS INTEGER) > 0";
    assert_eq!(run(&bench, sql).await.as_deref(), Ok("3"));
}

#[tokio::test]
async fn small_groups_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let rules = TableRules { smallest_group: Some(3), ..TableRules::default() };
    for bench in benches(folder.path(), &rules).await {
        for (sql, expected) in [
            ("SELECT count(*) AS n FROM people", "4"),
            ("SELECT name, sum(pay) AS s FROM people GROUP BY name", ""),
            ("SELECT sum(pay) AS s FROM people WHERE id < 4", "60"),
            ("SELECT sum(pay) AS s FROM people WHERE id = 4", ""),
        ] {
            assert_eq!(run(&bench, sql).await.as_deref(), Ok(expected), "{sql}");
        }
        assert!(run(&bench, "SELECT max(pay) FROM people").await.unwrap_err().starts_with("SQL014"));
    }
}

/// Expressions that fail on hidden rows only, and their errors.
#[tokio::test]
async fn nothing_is_tried_on_rows_of_others_in_postgres() {
    use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
    let Some(server) = crate::servers::server("STEWARD_TEST_POSTGRES", "postgres") else { return };
    let mut admin = sqlx::PgConnection::connect(&format!("{server}/postgres")).await.unwrap();
    admin.execute("DROP DATABASE IF EXISTS rules_fence WITH (FORCE)").await.unwrap();
    admin.execute("CREATE DATABASE rules_fence").await.unwrap();
    let url = format!("{server}/rules_fence");
    let mut own = sqlx::PgConnection::connect(&url).await.unwrap();
    own.execute(sqlx::raw_sql(AssertSqlSafe(
        PEOPLE.replace("'Ada'", "'1'").replace("'Bob'", "'2'").replace("'Cid'", "'3'"),
    )))
    .await
    .unwrap();
    let rules = TableRules { rows: Some("region = caller.region".to_owned()), ..TableRules::default() };
    let limits = Limits { rows: RowLimit::default(), timeout: AnalysisTimeout::default() };
    let session = Session::open(&[url], Options::default()).await.unwrap();
    let bench = Workbench::new(session, access(rules), limits);
    for (sql, expected) in [
        ("SELECT count(*) FROM people WHERE 10 / (pay - 918273645) >= -1", "3"),
        ("SELECT count(*) FROM people WHERE CAST(name AS INTEGER) > 0", "3"),
    ] {
        assert_eq!(run(&bench, sql).await.as_deref(), Ok(expected), "{sql}");
    }
}

/// An engine's error must not quote the statement that ran: it contains the rule, with its columns
/// and values.
#[tokio::test]
async fn an_error_does_not_carry_the_rule() {
    let folder = tempfile::tempdir().unwrap();
    let rules = TableRules { rows: Some("region = 'SECRETPLACE'".to_owned()), ..TableRules::default() };
    for bench in benches(folder.path(), &rules).await {
        for sql in [
            "SELECT coalesce(name) FROM people",
            "SELECT name, substr() FROM people",
            "SELECT abs(1, 2) FROM people",
            "SELECT CAST(name AS INT) + 1 FROM people WHERE 1 / 0 = 1",
        ] {
            if let Err(said) = run(&bench, sql).await {
                assert!(!said.contains("SECRETPLACE") && !said.contains("region"), "{sql}: {said}");
            }
        }
    }
}
