//! Statements that an engine reads differently from how they look, each for the engine it targets.
//!
//! `customers` has `secret_score`, which is not granted, and `contact`, which is blocked; `sales`
//! has `customer_email`.

use crate::ask_in;
use steward_domain::Coded;
use steward_policy::Dialect;

/// The expected decision.
enum Outcome {
    Denied(&'static str),
    /// Admitted, and this text runs.
    Runs(&'static str),
}
use Outcome::{Denied, Runs};

fn check(dialects: &[Dialect], sql: &str, outcome: &Outcome) {
    for dialect in dialects {
        match (ask_in(sql, *dialect), outcome) {
            (Err(denied), Denied(code)) => assert_eq!(denied.code(), *code, "{dialect:?} {sql}\n{denied}"),
            (Ok(admitted), Runs(text)) => assert_eq!(admitted.text(), *text, "{dialect:?} {sql}"),
            (Ok(admitted), Denied(_)) => panic!("{dialect:?} {sql}\n  was admitted as {}", admitted.text()),
            (Err(denied), Runs(_)) => panic!("{dialect:?} {sql}\n  was refused: {denied}"),
        }
    }
}

const ALL: &[Dialect] = &Dialect::ALL;
const QUOTED: &[Dialect] = &[Dialect::DataFusion, Dialect::Sqlite, Dialect::Postgres];
const POSTGRES: &[Dialect] = &[Dialect::Postgres];
const MYSQL: &[Dialect] = &[Dialect::MySql];
const SQLITE: &[Dialect] = &[Dialect::Sqlite];

/// A name of WITH is answered in the same way whether a table of that name exists without a grant
/// or not at all.
#[test]
fn a_name_in_with_does_not_tell_which_tables_exist() {
    for dialect in ALL {
        let said = |name: &str| {
            let texts = [
                format!("WITH {name} AS (SELECT 1 AS a) SELECT a FROM {name}"),
                format!(
                    "WITH RECURSIVE {name} AS (SELECT 1 AS a UNION ALL SELECT a FROM {name}) SELECT a FROM {name}"
                ),
                format!(
                    "SELECT 1 FROM (WITH {name} AS (SELECT id FROM customers) SELECT count(*) FROM {name}) x"
                ),
                format!("WITH {name} AS (SELECT 1 AS a) SELECT {name}.salary FROM {name}"),
                format!("WITH {name} AS (SELECT 1 AS a) SELECT a FROM {name} JOIN archive.{name} USING (a)"),
            ];
            texts.map(|sql| match ask_in(&sql, *dialect) {
                Ok(admitted) => admitted.text().replace(name, "NAME"),
                Err(denied) => denied.to_string().replace(name, "NAME"),
            })
        };
        assert_eq!(said("payroll"), said("qayroll"), "{dialect:?}");
    }
}

#[test]
fn a_query_named_like_a_qualified_table_is_not_that_table() {
    let shadow = |name: &str, table: &str| {
        format!(
            "WITH {name} AS (SELECT 1 AS contact, 2 AS secret_score) \
             SELECT c.contact FROM {table} c, (SELECT 1 FROM sales LIMIT 1) o"
        )
    };
    // A dot inside quotes is part of the identifier and not a separator.
    check(QUOTED, &shadow("\"main.customers\"", "main.customers"), &Denied("SQL004"));
    check(POSTGRES, &shadow("\"public.customers\"", "public.customers"), &Denied("SQL004"));
    check(POSTGRES, &shadow("\"pg_catalog.pg_authid\"", "pg_catalog.pg_authid"), &Denied("SQL004"));
    check(POSTGRES, &shadow("\"hr.people\"", "hr.people"), &Denied("SQL009"));
    check(QUOTED, &shadow("\"CUSTOMERS\"", "customers"), &Denied("SQL009"));
    check(QUOTED, &shadow("customers", "\"Customers\""), &Denied("SQL009"));
    // To PostgreSQL, a quoted name in another case is another table.
    check(POSTGRES, "WITH \"PG_AUTHID\" AS (SELECT 1 AS a) SELECT a FROM pg_authid", &Denied("SQL004"));
    check(POSTGRES, "WITH \"Sales_2020\" AS (SELECT 1 AS a) SELECT a FROM sales_2020", &Denied("SQL004"));
    check(
        POSTGRES,
        "WITH pg_authid AS (SELECT 1 AS a) SELECT a FROM pg_authid",
        &Runs(
            r#"WITH "pg_authid" AS (SELECT 1 AS "a") SELECT "pg_authid_2"."a" FROM "pg_authid" AS "pg_authid_2""#,
        ),
    );
}

#[test]
fn a_name_means_what_the_engine_takes_it_for() {
    let inner = |column: &str| {
        format!("SELECT id, (SELECT contact FROM (SELECT 1 AS {column}) x) AS y FROM customers")
    };
    // To PostgreSQL and DataFusion `"Contact"` is not `contact`, so the name means the outer
    // column.
    check(&[Dialect::Postgres, Dialect::DataFusion], &inner("\"Contact\""), &Denied("SQL006"));
    check(
        SQLITE,
        &inner("\"Contact\""),
        &Runs(
            r#"SELECT "customers"."id", (SELECT "x"."Contact" AS "Contact" FROM (SELECT 1 AS "Contact") AS "x") AS "y" FROM "customers" AS "customers""#,
        ),
    );
    // PostgreSQL truncates names at 63 bytes: these two are the same, and neither is the column.
    let long = "a".repeat(70);
    let cut = "a".repeat(63);
    let sql = format!("SELECT {cut} FROM (SELECT 1 AS {long}) x");
    assert!(ask_in(&sql, Dialect::Postgres).is_ok());
    assert!(ask_in(&sql, Dialect::Sqlite).is_err());
    // A double-quoted text is always a name here, never a string.
    check(QUOTED, "SELECT \"nothing\" FROM sales", &Denied("SQL005"));
    check(SQLITE, "SELECT [contact] FROM customers", &Denied("SQL006"));
    check(SQLITE, "SELECT `contact` FROM customers", &Denied("SQL006"));
    check(
        MYSQL,
        "SELECT \"contact\" AS x FROM customers",
        &Runs("SELECT 'contact' AS `x` FROM `customers` AS `customers`"),
    );
}

#[test]
fn a_qualifier_never_falls_outward() {
    check(
        ALL,
        "SELECT id FROM customers c WHERE EXISTS (SELECT c.id FROM (SELECT 1 AS other) c)",
        &Denied("SQL005"),
    );
    check(
        ALL,
        "SELECT id FROM customers c WHERE EXISTS (SELECT c.secret_score FROM (SELECT 1 AS other) c)",
        &Denied("SQL005"),
    );
    check(ALL, "SELECT c.contact FROM (SELECT 1 AS contact) x, customers c", &Denied("SQL006"));
    check(ALL, "SELECT id FROM customers, hr.people", &Denied("SQL012"));
}

#[test]
fn a_row_is_no_value() {
    for sql in [
        "SELECT c FROM customers c",
        "SELECT customers FROM customers",
        "SELECT CAST(c AS CHAR) FROM customers c",
        "SELECT count(c) FROM customers c",
        "SELECT id FROM customers c ORDER BY c",
        "SELECT id FROM customers c WHERE c IS NOT NULL",
        "SELECT id FROM customers c GROUP BY c.c",
    ] {
        check(ALL, sql, &Denied("SQL005"));
    }
    check(ALL, "SELECT c.row_to_json FROM customers c", &Denied("SQL005"));
    check(POSTGRES, "SELECT (c).contact FROM customers c", &Denied("SQL005"));
    check(POSTGRES, "SELECT (c).row_to_json FROM customers c", &Denied("SQL005"));
    check(POSTGRES, "SELECT (c.*).contact FROM customers c", &Denied("SQL009"));
    check(POSTGRES, "SELECT row_to_json(c) FROM customers c", &Denied("SQL008"));
    check(POSTGRES, "SELECT ROW(c.*) FROM customers c", &Denied("SQL008"));
    check(POSTGRES, "SELECT c::text FROM customers c", &Denied("SQL005"));
    check(POSTGRES, "SELECT to_json(c.*) FROM customers c", &Denied("SQL008"));
    check(POSTGRES, "SELECT count(c.*) FROM customers c", &Denied("SQL009"));
    // An alias that is also the name of a column means the alias, and the rendered text is
    // explicit.
    check(
        POSTGRES,
        "SELECT id AS c FROM customers c ORDER BY CAST(CAST(c AS text) AS int)",
        &Runs(
            r#"SELECT "c"."id" AS "c" FROM "customers" AS "c" ORDER BY CAST(CAST("c"."id" AS TEXT) AS INT)"#,
        ),
    );
}

#[test]
fn functional_notation_calls_nothing() {
    for sql in [
        "SELECT ('PG_VERSION'::text).pg_read_file",
        "SELECT (id).pg_terminate_backend FROM customers",
        "SELECT (customer_id).pg_sleep FROM sales",
        "SELECT (state).lower FROM sales",
    ] {
        check(POSTGRES, sql, &Denied("SQL009"));
    }
    check(POSTGRES, "SELECT id.pg_sleep FROM customers", &Denied("SQL005"));
    check(POSTGRES, "SELECT customers.id.pg_sleep FROM customers", &Denied("SQL005"));
    check(POSTGRES, "SELECT 'payroll'::regclass", &Denied("SQL009"));
    check(POSTGRES, "SELECT state::pg_catalog.regproc FROM sales", &Denied("SQL009"));
    check(POSTGRES, "SELECT regproc 'pg_sleep'", &Denied("SQL005"));
    check(POSTGRES, "SELECT state OPERATOR(pg_catalog.||) state FROM sales", &Denied("SQL009"));
    check(POSTGRES, "SELECT state COLLATE \"evil\" FROM sales", &Denied("SQL009"));
    check(POSTGRES, "SELECT median(amount) FROM sales", &Denied("SQL008"));
    check(POSTGRES, "SELECT public.abs(amount) FROM sales", &Denied("SQL008"));
    check(SQLITE, "SELECT printf('%999999999d', 1)", &Denied("SQL008"));
    check(SQLITE, "SELECT lpad('x', 1000000000)", &Denied("SQL008"));
    for dialect in [Dialect::DataFusion, Dialect::Postgres, Dialect::MySql] {
        check(&[dialect], "SELECT lpad('x', 1000000000, 'y')", &Denied("SQL009"));
        check(&[dialect], "SELECT rpad(state, amount, 'y') FROM sales", &Denied("SQL009"));
    }
}

#[test]
fn a_backslash_is_what_the_engine_takes_it_for() {
    let sql = r"SELECT 'a\', ', contact, secret_score FROM customers -- '";
    // To MySQL the first string continues after the backslash; to the others it ends there, and
    // there are only two strings.
    check(MYSQL, sql, &Denied("SQL006"));
    for dialect in QUOTED {
        assert!(ask_in(sql, *dialect).unwrap().reads().is_empty());
    }
    check(
        MYSQL,
        r"SELECT 'a\', contact FROM customers -- ' AS x FROM customers",
        &Runs("SELECT 'a'', contact FROM customers -- ' AS `x` FROM `customers` AS `customers`"),
    );
    check(
        MYSQL,
        r"SELECT 'a\\' AS x FROM customers",
        &Runs("SELECT _utf8mb4 X'615c' AS `x` FROM `customers` AS `customers`"),
    );
    check(MYSQL, "SELECT id /*!50000 , contact */ FROM customers", &Denied("SQL009"));
    check(MYSQL, "SELECT id /*M! , contact */ FROM customers", &Denied("SQL009"));
    check(
        MYSQL,
        "SELECT id FROM customers WHERE id = 1 # contact\n",
        &Runs("SELECT `customers`.`id` FROM `customers` AS `customers` WHERE `customers`.`id` = 1"),
    );
    check(MYSQL, "SELECT @@version", &Denied("SQL005"));
    check(MYSQL, "SELECT @x := contact FROM customers", &Denied("SQL009"));
    check(MYSQL, "SELECT id FROM customers PROCEDURE ANALYSE()", &Denied("SQL001"));
}

#[test]
fn what_is_deep_or_long_is_refused_before_it_is_followed() {
    let sums = "1+".repeat(49_000);
    let rows = [
        format!("SELECT {sums}1"),
        format!("SELECT {}1", "- ".repeat(30_000)),
        format!("SELECT {}true", "NOT ".repeat(20_000)),
        format!("SELECT 1{}", " IS NULL".repeat(10_000)),
        format!("SELECT 1{}", "::int".repeat(15_000)),
        format!("SELECT 1::int{}", "[]".repeat(30_000)),
        format!("SELECT CAST(1 AS {}INT)", "ARRAY<".repeat(12_000)),
        format!("SELECT 1{}", " UNION SELECT 1".repeat(6_000)),
        format!("SELECT {}1{}", "CASE WHEN ".repeat(5_000), " THEN 1 END".repeat(5_000)),
        format!("SELECT a{} FROM sales", ".a".repeat(40_000)),
        format!("SELECT 1 FROM sales{}", " JOIN sales".repeat(8_000)),
        format!("{}SELECT 1", "EXPLAIN ".repeat(10_000)),
        format!("SELECT {}1{}", "(".repeat(45_000), ")".repeat(45_000)),
        format!("SELECT state FROM sales WHERE state = 'a'{}", " OR state = 'a'".repeat(5_000)),
        format!("SELECT {}", "*,".repeat(40_000) + "*"),
        format!("SELECT amount AS x FROM sales ORDER BY {}x", "x+".repeat(45_000)),
    ];
    for sql in rows {
        for dialect in Dialect::ALL {
            // Worker threads have no larger stack than this.
            let began = std::time::Instant::now();
            let sql = sql.clone();
            let small = std::thread::Builder::new().stack_size(1 << 20);
            let refused =
                small.spawn(move || ask_in(&sql, dialect).map(|admitted| admitted.text().len())).unwrap();
            let refused = refused.join().unwrap();
            assert!(refused.is_err(), "{dialect:?} {refused:?}");
            assert!(began.elapsed().as_secs() < 10, "{dialect:?} {:?}", began.elapsed());
        }
    }
    let chain = format!("SELECT state FROM sales WHERE state = 'a'{}", " OR state = 'b'".repeat(400));
    assert!(ask_in(&chain, Dialect::DataFusion).is_ok());
}

/// A name that is not granted gives the same error as a name that does not exist, in every clause.
#[test]
fn hidden_columns_read_like_missing_ones() {
    let schema = steward_policy::Schema {
        tables: ["people", "places"]
            .map(|name| steward_policy::Table {
                name: name.to_owned(),
                path: Vec::new(),
                columns: ["id", "hidden"].map(steward_policy::Column::plain).into(),
                has_twin: false,
            })
            .into(),
    };
    let granted = ["people", "places"].map(|name| (name.to_owned(), ["id".to_owned()].into())).into();
    let access = steward_policy::Access { tables: granted, ..steward_policy::Access::default() };
    let said = |sql: &str, dialect| {
        let parameters = steward_policy::Parameters::new();
        let draft = steward_policy::Draft { sql, dialect, parameters: &parameters };
        let admitted = steward_policy::admit(&draft, &schema, &access, steward_policy::Limits::default());
        admitted.map(|sql| sql.text().to_owned()).map_err(|denied| denied.to_string())
    };
    for sql in [
        "SELECT NAME FROM people",
        "SELECT p.NAME FROM people p",
        "SELECT id FROM people WHERE NAME = 1",
        "SELECT id FROM people ORDER BY NAME",
        "SELECT (SELECT NAME FROM people) FROM (SELECT 1 AS NAME) x",
        "SELECT people.id FROM people JOIN places USING (NAME)",
        "SELECT id FROM people NATURAL JOIN places",
        "SELECT count(NAME) FROM people GROUP BY NAME",
        "SELECT id AS NAME FROM people ORDER BY NAME",
    ] {
        for dialect in Dialect::ALL {
            let hidden = said(&sql.replace("NAME", "hidden"), dialect);
            // No admitted text names the hidden column: an inner name that does not exist refers to
            // the outer one.
            let leads =
                |text: &String| text.contains("people\".\"hidden") || text.contains("people`.`hidden");
            assert!(!hidden.as_ref().is_ok_and(leads), "{hidden:?}");
            let missing = said(&sql.replace("NAME", "absent"), dialect);
            let read_alike = |text: Result<String, String>, name: &str| match text {
                Ok(text) => text.replace(name, "NAME"),
                Err(text) => text.replace(name, "NAME"),
            };
            assert_eq!(read_alike(hidden, "hidden"), read_alike(missing, "absent"), "{dialect:?} {sql}");
        }
    }
}

/// In PostgreSQL `customers` and `"Customers"` are two tables. Grants and columns apply to the
/// exact name.
#[test]
fn names_that_differ_in_case_are_two_names() {
    let table = |name: &str, path: &[&str], columns: &[&str]| steward_policy::Table {
        name: name.to_owned(),
        path: path.iter().map(|part| (*part).to_owned()).collect(),
        columns: columns.iter().map(|name| steward_policy::Column::plain(*name)).collect(),
        has_twin: false,
    };
    let schema = steward_policy::Schema::new(vec![
        table("customers", &["public", "customers"], &["id", "pay", "Pay"]),
        table("Customers", &["public", "Customers"], &["id", "pay"]),
        table("hr.staff", &["hr", "staff"], &["id"]),
        table("HR.staff", &["HR", "staff"], &["id"]),
        table("orders", &["public", "orders"], &["id"]),
    ]);
    let said = |sql: &str, granted: &[(&str, &[&str])]| {
        let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let tables = granted.iter().map(|(name, names)| ((*name).to_owned(), columns(names))).collect();
        let access = steward_policy::Access { tables, ..steward_policy::Access::default() };
        let parameters = steward_policy::Parameters::new();
        let draft = steward_policy::Draft { sql, dialect: Dialect::Postgres, parameters: &parameters };
        let admitted = steward_policy::admit(&draft, &schema, &access, steward_policy::Limits::default());
        admitted.map(|sql| sql.text().to_owned()).map_err(|denied| denied.to_string())
    };
    let reads = |sql: &str, granted: &[(&str, &[&str])], place: &str| {
        let text = said(sql, granted).unwrap_or_else(|denied| panic!("{sql}: {denied}"));
        assert!(text.contains(place), "{sql}: {text}");
    };
    // A table that is not granted is treated as missing: a granted table with another spelling may
    // be used instead, this one never is.
    let never_reads = |sql: &str, granted: &[(&str, &[&str])], name: &str| {
        let said = said(sql, granted);
        assert!(!said.as_ref().is_ok_and(|text| text.contains(name)), "{sql}: {said:?}");
    };
    reads("SELECT id FROM customers", &[("customers", &[])], "\"public\".\"customers\"");
    reads("SELECT id FROM \"Customers\"", &[("Customers", &[])], "\"public\".\"Customers\"");
    never_reads("SELECT id FROM \"Customers\"", &[("customers", &["id"]), ("orders", &[])], "\"Customers\"");
    never_reads("SELECT \"Pay\" FROM customers", &[("customers", &["id", "pay"])], "\"Pay\"");
    never_reads("SELECT * FROM customers", &[("customers", &["id", "pay"])], "\"Pay\"");
    reads("SELECT pay FROM customers", &[("customers", &["id", "pay"])], "\"pay\"");
    never_reads("SELECT id FROM \"HR\".staff", &[("hr.staff", &[])], "\"HR\"");
    reads("SELECT id FROM hr.staff", &[("hr.staff", &[])], "\"hr\".\"staff\"");
    // Two tables match this spelling in other letter case: the name is ambiguous.
    let both = [("customers", &[][..]), ("Customers", &[])];
    assert!(said("SELECT id FROM \"CUSTOMERS\"", &both).is_err());
    // A name without a twin matches in any letter case.
    reads("SELECT id FROM \"Orders\"", &[("ORDERS", &[])], "\"public\".\"orders\"");
}
