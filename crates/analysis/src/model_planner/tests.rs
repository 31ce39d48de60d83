//! What a model is told, how its reply is read, and which names are spelled for it.

use super::*;
use crate::catalogue::{Column, Join, Table};
use crate::frame::{Kind, Unit, Value};

fn column(name: &str, kind: Kind, values: &[&str]) -> Column {
    Column {
        name: name.to_owned(),
        label: name.to_owned(),
        kind,
        unit: Unit::default(),
        nulls: 0,
        seen: 10,
        distinct: 3,
        min: Value::Null,
        max: Value::Null,
        values: values.iter().map(|value| ((*value).to_owned(), 1)).collect(),
        complete: true,
        looks_like: None,
    }
}

fn catalogue() -> Catalogue {
    let table = |name: &str, columns: Vec<Column>| Table {
        name: name.to_owned(),
        label: name.to_owned(),
        source: 0,
        columns,
        rows: Some(10),
        primary_key: Vec::new(),
    };
    Catalogue {
        tables: vec![
            table(
                "Customers",
                vec![
                    column("Customer_Id", Kind::Integer, &[]),
                    column("Country", Kind::Text, &["France", "United States"]),
                ],
            ),
            table(
                "Orders",
                vec![column("Customer_Id", Kind::Integer, &[]), column("Order Date", Kind::Date, &[])],
            ),
        ],
        joins: vec![Join {
            from: ("Orders".to_owned(), vec!["Customer_Id".to_owned()]),
            to: ("Customers".to_owned(), vec!["Customer_Id".to_owned()]),
            evidence: crate::catalogue::Evidence::Constraint,
        }],
    }
}

fn wanted<'a>(question: &'a str, catalogue: &'a Catalogue, samples: bool) -> PlanRequest<'a> {
    let today = NaiveDate::from_ymd_opt(2026, 3, 1).unwrap();
    PlanRequest { question, catalogue, dialect: Dialect::Sqlite, samples, today }
}

#[test]
fn the_rules_and_the_schema_are_the_same_for_every_question() {
    let catalogue = catalogue();
    let one = prompt::rules(&wanted("How many orders?", &catalogue, true), false);
    let other = prompt::rules(&wanted("Customers of France this year?", &catalogue, true), false);
    assert_eq!(one, other);
    assert!(one.contains("FOREIGN KEY (\"Customer_Id\") REFERENCES \"Customers\"(\"Customer_Id\")"), "{one}");
}

#[test]
fn values_are_named_only_where_samples_may_be_sent() {
    let catalogue = catalogue();
    let question = "Customers of france";
    let with = wanted(question, &catalogue, true);
    assert!(prompt::question(&with).contains("\"Customers\".\"Country\" has the value 'France'."));
    let without = wanted(question, &catalogue, false);
    assert_eq!(prompt::question(&without), "Question: Customers of france");
    assert!(!prompt::rules(&without, false).contains("France"));
}

#[test]
fn a_reply_is_read_in_a_fence_alone_or_as_json() {
    for (text, expected) in [
        ("SELECT 1", "SELECT 1"),
        ("```sql\nSELECT a FROM t;\n```\nThis counts.", "SELECT a FROM t"),
        ("Here it is with joins: SELECT ';' AS x FROM t; SELECT 2", "SELECT ';' AS x FROM t"),
        ("WITH x AS (SELECT 1 AS a) SELECT a FROM x", "WITH x AS (SELECT 1 AS a) SELECT a FROM x"),
        (r#"{"queries": [{"name": "a", "sql": "SELECT 3"}]}"#, "SELECT 3"),
    ] {
        let plan = read(text).unwrap();
        let found = &plan.queries.first().unwrap().sql;
        assert!(found.ends_with(expected), "{found}");
    }
    for text in ["", "I cannot do that.", "selected with care", "{}"] {
        assert!(matches!(read(text), Err(ModelError::NotJson { .. })), "{text}");
    }
}

#[test]
fn names_are_spelled_as_the_schema_has_them() {
    let catalogue = catalogue();
    for (sql, expected) in [
        ("SELECT order_date FROM orders", r#"SELECT "Order Date" FROM "Orders""#),
        ("SELECT orders.OrderDate FROM orders", r#"SELECT "Orders"."Order Date" FROM "Orders""#),
        // A column of the other table of the join.
        (
            "SELECT T1.Country FROM Orders AS T1 JOIN Customers AS T2 ON T1.Customer_Id = T2.Customer_Id",
            r#"SELECT t2."Country" FROM "Orders" AS T1 JOIN "Customers" AS T2 ON T1."Customer_Id" = T2."Customer_Id""#,
        ),
        // A text in the quotes of a name, and a value in other letters.
        (
            r#"SELECT COUNT(*) FROM Customers WHERE Country = "united states""#,
            r#"SELECT COUNT(*) FROM "Customers" WHERE "Country" = 'United States'"#,
        ),
        ("SELECT * FROM Orders AS o", r#"SELECT o."Customer_Id", o."Order Date" FROM "Orders" AS o"#),
        // Names that the statement makes are its own.
        (
            r#"SELECT "Country", COUNT(*) AS n FROM "Customers" GROUP BY "Country" ORDER BY n DESC"#,
            r#"SELECT "Country", COUNT(*) AS n FROM "Customers" GROUP BY "Country" ORDER BY n DESC"#,
        ),
        (
            r#"WITH x AS (SELECT "Country" AS c FROM "Customers") SELECT c FROM x"#,
            r#"WITH x AS (SELECT "Country" AS c FROM "Customers") SELECT c FROM x"#,
        ),
    ] {
        let spelled = spell(sql, &catalogue);
        assert_eq!(spelled.sql, expected);
        assert_eq!(spelled.unknown, Vec::<String>::new(), "{sql}");
    }
}

#[test]
fn what_is_not_known_gets_the_nearest_names() {
    let spelled = spell("SELECT T1.Customer_Country FROM Orders AS T1", &catalogue());
    let [problem] = spelled.unknown.as_slice() else { panic!("{spelled:?}") };
    assert!(problem.starts_with("\"Customer_Country\" is no column of \"Orders\""), "{problem}");
    assert!(problem.contains("\"Customers\".\"Country\""), "{problem}");
    let spelled = spell("SELECT x FROM Invoices", &catalogue());
    assert!(spelled.unknown.iter().any(|problem| problem.contains("no table \"Invoices\"")), "{spelled:?}");
}
