//! PostgreSQL, against a real server. `STEWARD_TEST_POSTGRES` names it; without it, these tests
//! fail unless `STEWARD_SKIP` names it.

use std::time::Duration;

use crate::servers::{all, bounds, one, refused};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use steward_analysis::catalogue::Evidence;
use steward_analysis::database::{Bounds, Category, DatabaseError, connect};
use steward_analysis::frame::{Kind, Value};

/// A fresh database with data in it, and its address.
async fn fresh(name: &str) -> Option<String> {
    let server = crate::servers::server("STEWARD_TEST_POSTGRES", "postgres")?;
    let mut admin = PgConnection::connect(&format!("{server}/postgres")).await.unwrap();
    let name = format!("remote_{name}");
    admin.execute(AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))).await.unwrap();
    admin.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
    Some(format!("{server}/{name}"))
}

async fn run(url: &str, sql: &'static str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection.execute(sqlx::raw_sql(sql)).await.unwrap();
}

const SHOP: &str = r#"
    CREATE TABLE customer (id int PRIMARY KEY, "Full Name" text NOT NULL, city varchar(20), since date, rating numeric(4,2));
    INSERT INTO customer VALUES (1, 'Ann', 'Berlin', '2020-01-02', 4.50), (2, 'Bob', 'Paris', '2021-03-04', NULL), (3, 'Cid', 'Berlin', NULL, 1.25);
    CREATE TABLE item (shop int, number int, label text, PRIMARY KEY (shop, number));
    INSERT INTO item VALUES (1, 1, 'a'), (1, 2, 'b');
    CREATE TABLE sale (id bigserial PRIMARY KEY, customer int REFERENCES customer, shop int, item int, at timestamptz, paid boolean,
        FOREIGN KEY (shop, item) REFERENCES item (shop, number));
    INSERT INTO sale (customer, shop, item, at, paid) SELECT 1 + n % 3, 1, 1 + n % 2, '2024-01-01T00:00:00+02'::timestamptz + n * interval '1 hour', n % 2 = 0 FROM generate_series(1, 30) n;
    CREATE VIEW berliner AS SELECT * FROM customer WHERE city = 'Berlin';
    CREATE MATERIALIZED VIEW by_city AS SELECT city, count(*) FROM customer GROUP BY 1;
    CREATE TABLE part (day date, n int) PARTITION BY RANGE (day);
    CREATE TABLE part_2024 PARTITION OF part FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
    INSERT INTO part VALUES ('2024-05-05', 1), ('2024-06-06', 2);
    CREATE SCHEMA "Other";
    CREATE TABLE "Other"."Odd ""one" (a int);
    CREATE VIEW broken AS SELECT 1 / (id - id) AS x FROM customer;
"#;

#[tokio::test]
async fn discovers_tables_keys_and_values() {
    let Some(url) = fresh("discover").await else { return };
    run(&url, SHOP).await;
    let found = connect(&url).await.unwrap().discover().await.unwrap();
    let names: Vec<&str> = found.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["berliner", "by_city", "customer", "item", "part", "sale", "Other.Odd \"one"]);
    assert!(
        found
            .warnings
            .iter()
            .any(|warning| warning.contains("broken") && warning.contains("division by zero")),
        "{:?}",
        found.warnings
    );
    let table = |name: &str| found.tables.iter().find(|table| table.name == name).unwrap();
    let customer = table("customer");
    assert_eq!((customer.rows, customer.primary_key.as_slice()), (Some(3), &["id".to_owned()][..]));
    assert_eq!(table("item").primary_key, ["shop", "number"]);
    assert_eq!(table("part").rows, Some(2));
    let column = |table: &str, name: &str| {
        found.tables.iter().find(|t| t.name == table).unwrap().column(name).unwrap().clone()
    };
    let city = column("customer", "city");
    assert_eq!(
        (city.values.as_slice(), city.complete, city.distinct),
        (&[("Berlin".to_owned(), 2), ("Paris".to_owned(), 1)][..], true, 2)
    );
    let since = column("customer", "since");
    assert_eq!((since.kind, since.nulls, since.seen), (Kind::Date, 1, 3));
    assert_eq!(since.min, Value::Date("2020-01-02".parse().unwrap()));
    assert_eq!(column("customer", "rating").max, Value::Float(4.5));
    assert_eq!(column("customer", "rating").kind, Kind::Number);
    assert_eq!(column("sale", "at").min, Value::Time("2023-12-31T23:00:00".parse().unwrap()));
    assert_eq!((column("sale", "paid").kind, column("sale", "id").kind), (Kind::Boolean, Kind::Integer));
    assert_eq!(found.joins.len(), 2, "{:?}", found.joins);
    let composite = found.joins.iter().find(|join| join.to.0 == "item").unwrap();
    assert_eq!(composite.from, ("sale".to_owned(), vec!["shop".to_owned(), "item".to_owned()]));
    assert_eq!(composite.to.1, ["shop", "number"]);
    assert!(found.joins.iter().all(|join| join.evidence == Evidence::Constraint));
}

#[tokio::test]
async fn large_tables_are_sampled() {
    let Some(url) = fresh("large").await else { return };
    run(
        &url,
        "CREATE TABLE big AS SELECT n AS id, 'kind ' || n % 50 AS kind, CASE WHEN n = 777777 THEN 'rare' \
            ELSE 'common' END AS flag,
        'row ' || n AS name, date '2000-01-01' + n / 100 AS day FROM generate_series(1, 900000) n; ANALYZE big",
    )
    .await;
    let database = connect(&url).await.unwrap();
    let found = database.discover().await.unwrap();
    let big = &found.tables[0];
    assert_eq!(big.rows, Some(900_000));
    let id = big.column("id").unwrap();
    assert_eq!((id.min.clone(), id.max.clone()), (Value::Int(1), Value::Int(900_000)));
    assert!(id.seen >= 500 && id.seen <= 20_000 && !id.complete);
    let kind = big.column("kind").unwrap();
    assert_eq!((kind.values.len(), kind.complete, kind.seen, kind.values[0].1), (50, true, 900_000, 18_000));
    // The value is not in the sample, but is found by the exact query.
    assert!(big.column("flag").unwrap().values.contains(&("rare".to_owned(), 1)));
    let name = big.column("name").unwrap();
    assert!(!name.complete && name.values.len() == 1_000);
}

#[tokio::test]
async fn every_type_can_be_read() {
    let Some(url) = fresh("types").await else { return };
    run(
        &url,
        "CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE DOMAIN positive AS numeric CHECK (VALUE > 0);
        CREATE TYPE pair AS (a int, b text); CREATE TABLE own (m mood, p positive, c pair, ms mood[], r int4range);
        INSERT INTO own VALUES ('glad', 1.5, (1, 'x'), '{sad,glad}', '[1,5)')",
    )
    .await;
    let database = connect(&url).await.unwrap();
    let text = |t: &str| Value::Text(t.into());
    let cases: Vec<(&str, Value)> = vec![
        ("true", Value::Bool(true)),
        ("1::int2", Value::Int(1)),
        ("-5", Value::Int(-5)),
        ("9223372036854775807", Value::Int(i64::MAX)),
        ("0.1::float4", Value::Float(0.1)),
        ("1e300::float8", Value::Float(1e300)),
        ("'NaN'::float8", Value::Null),
        ("1234567.891::numeric", Value::Float(1_234_567.891)),
        ("'NaN'::numeric", Value::Null),
        ("'Infinity'::numeric", Value::Null),
        ("repeat('9', 60)::numeric", Value::Float(1e60)),
        ("0.0001::numeric", Value::Float(0.0001)),
        ("-10000::numeric", Value::Int(-10_000)),
        ("sum(3::int8)", Value::Int(3)),
        ("(12.5)::numeric::money", Value::Float(12.5)),
        ("'a'::text", text("a")),
        ("'a'::char(3)", text("a  ")),
        ("'a'::name", text("a")),
        ("'a'::\"char\"", text("a")),
        ("'lit'", text("lit")),
        ("'2024-02-29'::date", Value::Date("2024-02-29".parse().unwrap())),
        ("'infinity'::date", Value::Null),
        ("'2024-02-29 01:02:03.5'::timestamp", Value::Time("2024-02-29T01:02:03.5".parse().unwrap())),
        ("'2024-02-29 01:02:03+02'::timestamptz", Value::Time("2024-02-28T23:02:03".parse().unwrap())),
        ("'-infinity'::timestamp", Value::Null),
        ("'01:02:03'::time", text("01:02:03")),
        ("'01:02:03+02'::timetz", text("01:02:03+02")),
        ("interval '1 day 2 hours'", text("1 day 02:00:00")),
        ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        ("'{\"a\": 1}'::json", text("{\"a\": 1}")),
        ("'{\"a\":1}'::jsonb", text("{\"a\": 1}")),
        ("'{1,2}'::int[]", text("{1,2}")),
        ("'{{a,b},{c,NULL}}'::text[]", text("{{a,b},{c,NULL}}")),
        ("'\\x0102'::bytea", text("0x0102")),
        ("decode(repeat('ab', 100), 'hex')", text("(100 bytes)")),
        ("'127.0.0.1'::inet", text("127.0.0.1")),
        ("'(1,2)'::point", text("(1,2)")),
        ("'a b'::tsvector", text("'a' 'b'")),
        ("B'101'", text("101")),
        ("'08:00:2b:01:02:03'::macaddr", text("08:00:2b:01:02:03")),
        ("int4range(1, 5)", text("[1,5)")),
        ("ROW(1, 'x')", text("(1,x)")),
        ("NULL", Value::Null),
        ("NULL::int", Value::Null),
        ("pg_sleep(0)", Value::Null),
        ("'pg_class'::regclass", text("pg_class")),
        ("1::oid", Value::Int(1)),
        ("'1/2'::pg_lsn", text("1/2")),
        ("'4713-01-01 BC'::date::text", text("4713-01-01 BC")),
        ("'4713-01-01 BC'::date IS NOT NULL", Value::Bool(true)),
        (
            "(SELECT relacl FROM pg_class WHERE relname = 'pg_class')",
            text("{steward=arwdDxtm/steward,=r/steward}"),
        ),
    ];
    for (sql, wanted) in cases {
        assert_eq!(one(&*database, &format!("SELECT {sql} AS x")).await, wanted, "{sql}");
    }
    let (frame, _) = database.query("SELECT m, p, c, ms, r, m AS m FROM own", bounds(5)).await.unwrap();
    let row: Vec<String> = frame.rows[0].iter().map(Value::plain).collect();
    assert_eq!(row, ["glad", "1.5", "(1,x)", "{sad,glad}", "[1,5)", "glad"]);
    // Names may be duplicates, and a result may have no rows.
    let (frame, cut) =
        database.query("SELECT 1 AS a, 'x' AS a, 2.5 AS \"B c\" WHERE false;", bounds(5)).await.unwrap();
    assert_eq!(
        frame.fields.iter().map(|field| (field.name.as_str(), field.kind)).collect::<Vec<_>>(),
        [("a", Kind::Integer), ("a", Kind::Text), ("B c", Kind::Number)]
    );
    assert!(frame.rows.is_empty() && !cut);
    assert!(refused(&database.query("SELECT", bounds(5)).await));
}

#[tokio::test]
async fn nothing_can_be_written() {
    let Some(url) = fresh("hostile").await else { return };
    run(
        &url,
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE SEQUENCE s; CREATE FUNCTION w() \
        RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (9) RETURNING a';
        CREATE PROCEDURE p() LANGUAGE plpgsql AS $$BEGIN COMMIT; INSERT INTO t VALUES (8); COMMIT; END$$;
        CREATE FUNCTION d() RETURNS int LANGUAGE plpgsql AS $$BEGIN PERFORM set_config('transaction_read_only', 'off', false); INSERT INTO t VALUES (7); RETURN 1; END$$",
    )
    .await;
    let database = connect(&url).await.unwrap();
    for sql in [
        "COMMIT; INSERT INTO t VALUES (2)",
        "COMMIT",
        "ROLLBACK",
        "SET TRANSACTION READ WRITE",
        "SET default_transaction_read_only = off",
        "SELECT 1; INSERT INTO t VALUES (2)",
        "INSERT INTO t VALUES (2)",
        "DELETE FROM t",
        "UPDATE t SET a = 2",
        "TRUNCATE t",
        "DROP TABLE t",
        "CREATE TABLE u (a int)",
        "WITH x AS (INSERT INTO t VALUES (2) RETURNING a) SELECT * FROM x",
        "WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x",
        "WITH x AS (UPDATE t SET a = 3 RETURNING a) SELECT * FROM x",
        "SELECT * INTO u FROM t",
        "SELECT w()",
        "SELECT d()",
        "CALL p()",
        "DO $$BEGIN COMMIT; END$$",
        "SELECT nextval('s')",
        "SELECT setval('s', 5)",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SELECT set_config('transaction_read_only', 'off', false), w()",
        "COPY t TO PROGRAM 'true'",
        "SELECT * FROM t FOR UPDATE",
        "EXPLAIN ANALYZE DELETE FROM t",
        "PREPARE x AS DELETE FROM t",
        "SELECT 1) AS q(c0); DELETE FROM t; --",
        "SELECT 1) AS q(c0); COMMIT; DELETE FROM t --",
        "SELECT lo_create(0)",
        "VACUUM",
        "LOCK TABLE t",
        "NOTIFY x",
    ] {
        let error = database.query(sql, bounds(10)).await.map(|_| ()).unwrap_err();
        assert!(
            !matches!(error, DatabaseError::Vanished { .. } | DatabaseError::Timeout { .. }),
            "{sql}: {error}"
        );
    }
    // A setting may be accepted, but it does not persist.
    let _passes =
        database.query("SELECT set_config('default_transaction_read_only', 'off', false)", bounds(1)).await;
    let _passes = database.query("SELECT set_config('statement_timeout', '0', false)", bounds(1)).await;
    for _ in 0..4 {
        assert!(refused(&database.query("SELECT w()", bounds(1)).await));
        assert_eq!(
            one(&*database, "SELECT current_setting('transaction_read_only')").await,
            Value::Text("on".into())
        );
        assert_eq!(
            one(&*database, "SELECT current_setting('default_transaction_read_only')").await,
            Value::Text("on".into())
        );
    }
    assert_eq!(
        all(
            &*database,
            "SELECT array_agg(a)::text, (SELECT count(*) FROM pg_class WHERE relname = 'u') FROM t"
        )
        .await,
        [[Value::Text("{1}".into()), Value::Int(0)]]
    );
}

#[tokio::test]
async fn limits_hold() {
    let Some(url) = fresh("limits").await else { return };
    let database = connect(&url).await.unwrap();
    let (frame, cut) = database
        .query("SELECT n FROM generate_series(1, 1000000) n ORDER BY n DESC", bounds(10))
        .await
        .unwrap();
    assert_eq!((frame.rows.len(), cut, frame.rows[0][0].clone()), (10, true, Value::Int(1_000_000)));
    let (frame, cut) = database.query("SELECT n FROM generate_series(1, 10) n", bounds(10)).await.unwrap();
    assert_eq!((frame.rows.len(), cut), (10, false));
    let (frame, cut) = database.query("SELECT 1", bounds(0)).await.unwrap();
    assert_eq!((frame.rows.len(), cut), (0, true));
    let short = Bounds { rows: 1, timeout: Duration::from_millis(300) };
    let slow = "SELECT count(*) FROM generate_series(1, 1000000000)";
    let started = tokio::time::Instant::now();
    let error = database.query(slow, short).await.unwrap_err();
    assert_eq!(
        (error.clone(), error.category()),
        (DatabaseError::Timeout { milliseconds: 300 }, Category::Resource)
    );
    assert!(started.elapsed() < Duration::from_secs(5));
    // A query that disables its own time limit is stopped from here.
    let error = database
        .query("SELECT set_config('statement_timeout', '0', true), pg_sleep(60)", short)
        .await
        .unwrap_err();
    assert!(matches!(error, DatabaseError::Timeout { .. }), "{error}");
    // So is an abandoned query.
    let sleeping = "SELECT pg_sleep(55)";
    assert!(
        tokio::time::timeout(Duration::from_millis(300), database.query(sleeping, bounds(1))).await.is_err()
    );
    let mut running = Value::Null;
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        running = one(
            &*database,
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND datname = current_database() \
                AND pid <> pg_backend_pid()",
        )
        .await;
        if running == Value::Int(0) {
            break;
        }
    }
    assert_eq!(running, Value::Int(0));
}

#[tokio::test]
async fn many_at_once() {
    let Some(url) = fresh("many").await else { return };
    let database = connect(&url).await.unwrap();
    let asks: Vec<_> = (0..20)
        .map(|n| {
            let database = &database;
            async move { one(&**database, &format!("SELECT {n}, pg_sleep(0.02)")).await }
        })
        .collect();
    let answers = futures_util::future::join_all(asks).await;
    assert_eq!(answers, (0..20).map(Value::Int).collect::<Vec<_>>());
    let open =
        one(&*database, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").await;
    assert!(open.number().unwrap() <= 2.0, "{open:?}");
}

#[tokio::test]
async fn errors_are_clear() {
    let Some(url) = fresh("errors").await else { return };
    run(&url, "CREATE TABLE t (a int, b text)").await;
    let database = connect(&url).await.unwrap();
    for (sql, category) in [
        ("SELECT FROM WHERE", Category::Syntax),
        ("SELECT a FROM t GROUP BY b", Category::Syntax),
        ("SELECT 'x", Category::Syntax),
        ("SELECT $1", Category::Syntax),
        ("SELECT nope FROM t", Category::MissingColumn),
        ("SELECT * FROM nope", Category::MissingTable),
        ("SELECT sum(b) FROM t", Category::Type),
        ("SELECT 'x'::int", Category::Type),
        ("SELECT 1/0", Category::Type),
        ("SELECT nope(1)", Category::Type),
        ("SELECT a = b FROM t", Category::Type),
        ("", Category::Syntax),
    ] {
        let error = database.query(sql, bounds(1)).await.unwrap_err();
        assert!(matches!(&error, DatabaseError::Sql { .. }), "{sql}: {error:?}");
        assert_eq!(error.category(), category, "{sql}: {error}");
    }
    // An error does not affect the next query.
    assert_eq!(one(&*database, "SELECT 1").await, Value::Int(1));
    let failed = connect(&format!("{url}_not_there")).await.map(|_| ()).unwrap_err();
    assert!(matches!(failed, DatabaseError::NoDatabase { .. }), "{failed}");
    let failed = connect(&format!("{url}?sslmode=verify-full")).await.map(|_| ()).unwrap_err();
    assert!(matches!(failed, DatabaseError::Tls { .. }), "{failed}");
}

#[tokio::test]
async fn rights_are_respected() {
    let Some(url) = fresh("rights").await else { return };
    run(
        &url,
        "DROP ROLE IF EXISTS remote_reader; CREATE ROLE remote_reader LOGIN; CREATE TABLE open (a int, \
        hidden int); CREATE TABLE closed (a int);
        INSERT INTO open VALUES (1, 2); GRANT SELECT (a) ON open TO remote_reader",
    )
    .await;
    let url = url.replace("//steward@", "//remote_reader@");
    let database = connect(&url).await.unwrap();
    let found = database.discover().await.unwrap();
    assert_eq!(found.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(), ["open"]);
    assert_eq!(found.tables[0].columns.len(), 1);
    assert!(found.warnings.iter().any(|warning| warning.starts_with("closed ")), "{:?}", found.warnings);
    for sql in ["SELECT * FROM closed", "SELECT hidden FROM open"] {
        assert!(matches!(database.query(sql, bounds(1)).await, Err(DatabaseError::Permission { .. })));
    }
}

#[tokio::test]
async fn a_vanished_server_is_noticed() {
    let Some(url) = fresh("vanish").await else { return };
    let database = connect(&url).await.unwrap();
    let kill = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        run(
            &url.replace("remote_vanish", "postgres"),
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'remote_vanish'",
        )
        .await;
    };
    let (result, ()) = tokio::join!(database.query("SELECT pg_sleep(20)", bounds(1)), kill);
    assert!(matches!(result, Err(DatabaseError::Vanished { .. })), "{result:?}");
    // A connection that was closed while idle is replaced.
    assert_eq!(one(&*database, "SELECT 1").await, Value::Int(1));
    run(
        &url.replace("remote_vanish", "postgres"),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'remote_vanish'",
    )
    .await;
    assert_eq!(one(&*database, "SELECT 1").await, Value::Int(1));
}
