//! MySQL and MariaDB, against a real server. `STEWARD_TEST_MYSQL` names it; without it, these tests
//! fail unless `STEWARD_SKIP` names it. The user in it must be allowed to create databases and
//! users.

use std::time::Duration;

use crate::servers::{all, bounds, one, refused};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection};
use steward_analysis::database::{Bounds, Category, DatabaseError, connect};
use steward_analysis::frame::{Kind, Unit, Value};

/// A fresh database, and its address.
async fn fresh(name: &str) -> Option<String> {
    let server = crate::servers::server("STEWARD_TEST_MYSQL", "mysql")?;
    let mut admin = MySqlConnection::connect(&format!("{server}/mysql")).await.unwrap();
    admin.execute(AssertSqlSafe(format!("DROP DATABASE IF EXISTS remote_{name}"))).await.unwrap();
    admin.execute(AssertSqlSafe(format!("CREATE DATABASE remote_{name}"))).await.unwrap();
    Some(format!("{server}/remote_{name}"))
}

async fn run(url: &str, sql: &str) {
    let mut connection = MySqlConnection::connect(url).await.unwrap();
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await.unwrap();
}

/// Other tests create databases at the same time; only this test's tables count.
async fn tables(url: &str) -> steward_analysis::database::Discovered {
    let mut found = connect(url).await.unwrap().discover().await.unwrap();
    found.tables.retain(|table| !table.name.contains('.'));
    found.joins.retain(|join| !join.from.0.contains('.'));
    found
}

#[tokio::test]
async fn discovers_tables_keys_and_values() {
    let Some(url) = fresh("discover").await else { return };
    run(
        &url,
        "CREATE TABLE customer (id int PRIMARY KEY, `Full Name` text NOT NULL, city varchar(20), since \
        date, rating decimal(4,2), born year, vip tinyint(1));
        INSERT INTO customer VALUES (1, 'Ann', 'Berlin', '2020-01-02', 4.50, 1990, 1), (2, 'Bob', 'Paris', \
        '2021-03-04', NULL, 1985, 0), (3, 'Cid', 'Berlin', NULL, 1.25, NULL, NULL);
        CREATE TABLE item (shop int, number int, label text, PRIMARY KEY (shop, number)); INSERT INTO item \
        VALUES (1, 1, 'a'), (1, 2, 'b');
        CREATE TABLE sale (id bigint AUTO_INCREMENT PRIMARY KEY, customer int, shop int, item int, at \
        datetime, photo longblob, FOREIGN KEY (customer) REFERENCES customer (id),
            FOREIGN KEY (shop, item) REFERENCES item (shop, number));
        INSERT INTO sale (customer, shop, item, at) VALUES (1, 1, 1, '2024-01-01 10:00:00'), (2, 1, 2, \
        '2024-02-01 10:00:00.0');
        CREATE VIEW berliner AS SELECT * FROM customer WHERE city = 'Berlin';
        CREATE TABLE gone (a int); CREATE VIEW broken AS SELECT a FROM gone; DROP TABLE gone;
        CREATE TABLE `odd \"one` (`select` int); INSERT INTO `odd \"one` VALUES (5)",
    )
    .await;
    let found = tables(&url).await;
    let names: Vec<&str> = found.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["berliner", "customer", "item", "odd \"one", "sale"], "{:?}", found.warnings);
    assert!(found.warnings.iter().any(|warning| warning.starts_with("broken ")), "{:?}", found.warnings);
    let column = |table: &str, name: &str| {
        found.tables.iter().find(|t| t.name == table).unwrap().column(name).unwrap().clone()
    };
    let city = column("customer", "city");
    assert_eq!(
        (city.values.as_slice(), city.complete, city.distinct),
        (&[("Berlin".to_owned(), 2), ("Paris".to_owned(), 1)][..], true, 2)
    );
    assert_eq!((column("customer", "since").kind, column("customer", "since").nulls), (Kind::Date, 1));
    assert_eq!(
        (column("customer", "rating").kind, column("customer", "rating").max),
        (Kind::Number, Value::Float(4.5))
    );
    assert_eq!(
        (column("customer", "born").kind, column("customer", "born").unit),
        (Kind::Integer, Unit::Year)
    );
    assert_eq!((column("customer", "vip").kind, column("sale", "at").kind), (Kind::Boolean, Kind::Timestamp));
    assert_eq!(column("odd \"one", "select").max, Value::Int(5));
    assert_eq!(found.tables[1].primary_key, ["id"]);
    assert_eq!(found.tables[2].primary_key, ["shop", "number"]);
    assert_eq!(found.joins.len(), 2, "{:?}", found.joins);
    let composite = found.joins.iter().find(|join| join.to.0 == "item").unwrap();
    assert_eq!(
        (composite.from.1.as_slice(), composite.to.1.as_slice()),
        (&["shop".to_owned(), "item".to_owned()][..], &["shop".to_owned(), "number".to_owned()][..])
    );
}

#[tokio::test]
async fn large_tables_are_sampled() {
    let Some(url) = fresh("large").await else { return };
    run(&url, "CREATE TABLE digit (d int); INSERT INTO digit VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);
        CREATE TABLE big (id int PRIMARY KEY, kind varchar(20), flag varchar(10), name varchar(20));
        INSERT INTO big SELECT n, CONCAT('kind ', n % 50), IF(n = 77777, 'rare', 'common'), CONCAT('row ', n) FROM
            (SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d + 100000*g.d AS n FROM digit a, digit b, \
            digit c, digit e, digit f, digit g WHERE g.d < 2) x;
        ANALYZE TABLE big").await;
    let found = tables(&url).await;
    let big = &found.tables[0];
    assert_eq!((big.name.as_str(), big.rows), ("big", Some(200_000)));
    let id = big.column("id").unwrap();
    assert_eq!((id.min.clone(), id.max.clone()), (Value::Int(0), Value::Int(199_999)));
    let kind = big.column("kind").unwrap();
    assert_eq!((kind.values.len(), kind.complete, kind.seen, kind.values[0].1), (50, true, 200_000, 4_000));
    assert!(big.column("flag").unwrap().values.contains(&("rare".to_owned(), 1)));
    assert!(!big.column("name").unwrap().complete);
}

#[tokio::test]
async fn every_type_can_be_read() {
    let Some(url) = fresh("types").await else { return };
    run(
        &url,
        "SET sql_mode = ''; CREATE TABLE t (a tinyint, b smallint unsigned, c mediumint, d int \
        unsigned, e bigint, f bigint unsigned, g float, h double, i decimal(40,20),
        j date, k datetime(6), l timestamp NULL, m time(3), n year, o char(3), p varbinary(10), q text, r \
        longblob, s enum('x','y'), t set('p','q'), u json, v bit(1), w bit(12), x geometry,
        y tinyint(1), z varchar(20) COLLATE utf8mb4_bin, aa date, bb binary(4), cc time);
        INSERT INTO t VALUES (-1, 65535, -70000, 4000000000, -5, 18446744073709551615, 0.1, 1e300, \
        12345678901234567890.5, '2024-02-29', '2024-02-29 01:02:03.5',
        '2024-02-29 01:02:03', '-100:30:00.25', 2024, 'ab', x'ff00', 'täxt', repeat(x'00', 100), 'y', 'p,q', \
        '{\"a\": 1}', b'1', b'100000000001', POINT(1, 2), 7, 'bin', '0000-00-00', x'01020304', '01:02:03')",
    )
    .await;
    let database = connect(&url).await.unwrap();
    let (frame, _) = database.query("SELECT * FROM t", bounds(5)).await.unwrap();
    let row: Vec<String> = frame.rows[0].iter().map(Value::plain).collect();
    let wanted = [
        "-1",
        "65535",
        "-70000",
        "4000000000",
        "-5",
        "18446744073709552000",
        "0.1",
        &1e300.to_string(),
        "12345678901234567000",
        "2024-02-29",
        "2024-02-29T01:02:03",
        "2024-02-29T01:02:03",
        "-100:30:00.25",
        "2024",
        "ab",
        "0xff00",
        "täxt",
        "(100 bytes)",
        "y",
        "p,q",
        "{\"a\": 1}",
        "true",
        "2049",
        "0x00000000010100000000000000",
        "7",
        "bin",
        "",
        "0x01020304",
        "01:02:03",
    ];
    for ((cell, wanted), field) in row.iter().zip(wanted).zip(&frame.fields) {
        assert!(cell == wanted || (field.name == "x" && !cell.is_empty()), "{}: {cell} {wanted}", field.name);
    }
    let kinds: String = frame.fields.iter().map(|field| field.kind.word().chars().next().unwrap()).collect();
    assert_eq!(kinds, "wwwwwnnnndddtwtttttttywtwtdtt");
    for (sql, wanted) in [
        ("NULL", Value::Null),
        ("1 = 1", Value::Int(1)),
        ("SUM(3)", Value::Int(3)),
        ("AVG(3)", Value::Float(3.0)),
        ("'a' || 'b'", Value::Text("ab".into())),
        ("CAST('x' AS BINARY)", Value::Text("x".into())),
        ("NOW() IS NOT NULL", Value::Int(1)),
        ("1.5", Value::Float(1.5)),
        ("1/3 > 0", Value::Int(1)),
        ("'it\\'s'", Value::Text("it's".into())),
        ("UUID() IS NOT NULL", Value::Int(1)),
        ("''", Value::Text(String::new())),
    ] {
        let found = one(&*database, &format!("SELECT {sql} AS x")).await;
        assert_eq!(found, wanted, "{sql}");
    }
    let (frame, _) = database.query("SELECT a, a, \"o\" FROM \"t\" WHERE false;", bounds(5)).await.unwrap();
    assert_eq!((frame.fields.len(), frame.rows.len(), frame.fields[2].kind), (3, 0, Kind::Text));
}

#[tokio::test]
async fn nothing_can_be_written() {
    let Some(url) = fresh("hostile").await else { return };
    run(
        &url,
        "CREATE TABLE t (a int) ENGINE=InnoDB; INSERT INTO t VALUES (1); CREATE TABLE m (a int) \
        ENGINE=MyISAM; INSERT INTO m VALUES (1);
        CREATE FUNCTION w() RETURNS int MODIFIES SQL DATA BEGIN INSERT INTO t VALUES (9); RETURN 1; END;
        CREATE FUNCTION wm() RETURNS int MODIFIES SQL DATA BEGIN INSERT INTO m VALUES (9); RETURN 1; END;
        CREATE FUNCTION d() RETURNS int MODIFIES SQL DATA BEGIN SET SESSION TRANSACTION READ WRITE; INSERT \
        INTO t VALUES (7); RETURN 1; END",
    )
    .await;
    let file =
        std::env::temp_dir().join(format!("remote-outfile-{}", std::process::id())).display().to_string();
    let database = connect(&url).await.unwrap();
    let outfile = format!("SELECT 1 INTO OUTFILE '{file}'");
    let hidden = format!("SELECT 1 /*!50000 INTO OUTFILE '{file}' */");
    let paren = format!("SELECT 1) q INTO OUTFILE '{file}' -- ");
    for sql in [
        "COMMIT; INSERT INTO t VALUES (2)",
        "COMMIT",
        "SET TRANSACTION READ WRITE",
        "SET SESSION TRANSACTION READ WRITE",
        "START TRANSACTION READ WRITE",
        "SELECT 1; INSERT INTO t VALUES (2)",
        "INSERT INTO t VALUES (2)",
        "INSERT INTO m VALUES (2)",
        "DELETE FROM t",
        "UPDATE t SET a = 2",
        "TRUNCATE t",
        "DROP TABLE t",
        "CREATE TABLE u (a int)",
        "SELECT w()",
        "SELECT wm()",
        "SELECT d()",
        &outfile,
        &hidden,
        &paren,
        "SELECT 1 INTO @x",
        "HANDLER t OPEN",
        "LOCK TABLES t WRITE",
        "FLUSH TABLES",
        "SET GLOBAL max_connections = 5",
        "CALL p()",
        "WITH x AS (SELECT 1) DELETE FROM t",
        "LOAD DATA INFILE 'x' INTO TABLE t",
        "PREPARE x FROM 'DELETE FROM t'",
        "EXECUTE IMMEDIATE 'DELETE FROM t'",
        "/*! DELETE FROM t */",
        "SELECT 1 /*M! ; DELETE FROM t */",
        "XA START 'x'",
        "DO w()",
        "GRANT ALL ON *.* TO x",
    ] {
        let error = database.query(sql, bounds(10)).await.map(|_| ()).unwrap_err();
        assert!(
            !matches!(error, DatabaseError::Vanished { .. } | DatabaseError::Timeout { .. }),
            "{sql}: {error}"
        );
    }
    for _ in 0..4 {
        assert!(refused(&database.query("SELECT w()", bounds(1)).await));
    }
    assert_eq!(
        all(&*database, "SELECT (SELECT GROUP_CONCAT(a) FROM t), (SELECT GROUP_CONCAT(a) FROM m)").await,
        [[Value::Text("1".into()), Value::Text("1".into())]]
    );
    assert!(!std::path::Path::new(&file).exists());
}

#[tokio::test]
async fn a_sequence_stays_where_it_is() {
    let Some(url) = fresh("sequence").await else { return };
    let mut admin = MySqlConnection::connect(&url).await.unwrap();
    if admin.execute("CREATE SEQUENCE s").await.is_err() {
        return; // MySQL has none.
    }
    let database = connect(&url).await.unwrap();
    for sql in ["SELECT NEXTVAL(s)", "SELECT NEXT VALUE FOR s", "SELECT SETVAL(s, 500)"] {
        let result = database.query(sql, bounds(1)).await;
        assert!(result.is_err(), "{sql}: {result:?}");
    }
}

#[tokio::test]
async fn limits_hold() {
    let Some(url) = fresh("limits").await else { return };
    run(&url, "CREATE TABLE digit (d int); INSERT INTO digit VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
        .await;
    let database = connect(&url).await.unwrap();
    let million =
        "SELECT a.d + 10*b.d + 100*c.d AS n FROM digit a, digit b, digit c, digit e, digit f, digit g";
    let (frame, cut) = database.query(&format!("{million} ORDER BY n DESC"), bounds(10)).await.unwrap();
    assert_eq!((frame.rows.len(), cut, frame.rows[0][0].clone()), (10, true, Value::Int(999)));
    // Its own limit is larger than ours: reading stops anyway, and the next query gets a
    // connection.
    let (frame, cut) = database.query(&format!("{million} LIMIT 900000"), bounds(10)).await.unwrap();
    assert_eq!((frame.rows.len(), cut), (10, true));
    let (frame, cut) = database.query("SELECT d FROM digit", bounds(10)).await.unwrap();
    assert_eq!((frame.rows.len(), cut), (10, false));
    let short = Bounds { rows: 1, timeout: Duration::from_millis(300) };
    let slow = "SELECT COUNT(*), SUM(SQRT(a.d*b.d+c.d*e.d)) FROM digit a, digit b, digit c, digit e, digit \
        f, digit g, digit h, digit i, digit j, digit k";
    let started = tokio::time::Instant::now();
    let error = database.query(slow, short).await.unwrap_err();
    assert_eq!(
        (error.clone(), error.category()),
        (DatabaseError::Timeout { milliseconds: 300 }, Category::Resource)
    );
    assert!(started.elapsed() < Duration::from_secs(5));
    // An abandoned query is cancelled on the server.
    assert!(tokio::time::timeout(Duration::from_millis(300), database.query(slow, bounds(1))).await.is_err());
    let mut running = Value::Null;
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        running = one(
            &*database,
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SQRT(a.d%' AND id <> \
                CONNECTION_ID()",
        )
        .await;
        if running == Value::Int(0) {
            break;
        }
    }
    assert_eq!(running, Value::Int(0));
}

#[tokio::test]
async fn errors_are_clear() {
    let Some(url) = fresh("errors").await else { return };
    run(&url, "CREATE TABLE t (a int, b text)").await;
    let database = connect(&url).await.unwrap();
    for (sql, category) in [
        ("SELECT FROM WHERE", Category::Syntax),
        ("SELECT 'x", Category::Syntax),
        ("SELECT ?", Category::Syntax),
        ("SELECT nope FROM t", Category::MissingColumn),
        ("SELECT * FROM nope", Category::MissingTable),
        ("SELECT nope(1)", Category::Type),
        ("SELECT SUM(SUM(a)) FROM t", Category::Syntax),
        ("", Category::Syntax),
    ] {
        let error = database.query(sql, bounds(1)).await.unwrap_err();
        assert!(matches!(&error, DatabaseError::Sql { .. }), "{sql}: {error:?}");
        assert_eq!(error.category(), category, "{sql}: {error}");
    }
    assert_eq!(one(&*database, "SELECT 1").await, Value::Int(1));
    let failed = connect(&format!("{url}_not_there")).await.map(|_| ()).unwrap_err();
    assert!(matches!(failed, DatabaseError::NoDatabase { .. }), "{failed}");
    run(
        &url,
        "DROP USER IF EXISTS remote_reader; CREATE USER remote_reader IDENTIFIED BY 'right'; CREATE TABLE \
            closed (a int);
        GRANT SELECT ON remote_errors.t TO remote_reader",
    )
    .await;
    let (_, host) = url.rsplit_once('@').unwrap();
    let failed =
        connect(&format!("mysql://remote_reader:wrong-secret@{host}")).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(failed, DatabaseError::Password { .. }) && !failed.to_string().contains("secret"),
        "{failed}"
    );
    let failed = connect(&format!("mysql://remote_reader:right@{host}?ssl-mode=VERIFY_IDENTITY"))
        .await
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(failed, DatabaseError::Tls { .. }), "{failed}");
    let database = connect(&format!("mariadb://remote_reader:right@{host}")).await.unwrap();
    assert!(matches!(
        database.query("SELECT * FROM closed", bounds(1)).await,
        Err(DatabaseError::Permission { .. })
    ));
    let found = database.discover().await.unwrap();
    assert_eq!(found.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(), ["t"]);
}

#[tokio::test]
async fn a_vanished_server_is_noticed() {
    let Some(url) = fresh("vanish").await else { return };
    let database = connect(&url).await.unwrap();
    let Value::Int(id) = one(&*database, "SELECT CAST(CONNECTION_ID() AS SIGNED)").await else { panic!() };
    let kill = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        run(&url, &format!("KILL {id}")).await;
    };
    let (result, ()) = tokio::join!(database.query("SELECT SLEEP(20)", bounds(1)), kill);
    assert!(matches!(result, Err(DatabaseError::Vanished { .. })), "{result:?}");
    let Value::Int(id) = one(&*database, "SELECT CAST(CONNECTION_ID() AS SIGNED)").await else { panic!() };
    run(&url, &format!("KILL {id}")).await;
    assert_eq!(one(&*database, "SELECT 1").await, Value::Int(1));
}
