//! Metrics by name: what they compile to, and what is refused.

use super::*;
use crate::catalogue::{Column, Evidence, Join};
use crate::frame::{Unit, Value};
use crate::planner::NoMeaning;
use crate::query::Dialect;
use steward_domain::Check as _;

fn column(name: &str, kind: Kind, values: &[&str], distinct: u64) -> Column {
    let day = |month, day| Value::Date(NaiveDate::from_ymd_opt(2021, month, day).unwrap());
    let (min, max) = match kind {
        Kind::Date => (day(1, 1), day(12, 31)),
        Kind::Number | Kind::Integer => (Value::Float(1.0), Value::Float(900.0)),
        _ => (Value::Null, Value::Null),
    };
    Column {
        name: name.to_owned(),
        label: name.to_owned(),
        kind,
        unit: Unit::Plain,
        nulls: 0,
        seen: 5_000,
        distinct,
        min,
        max,
        values: values.iter().map(|value| ((*value).to_owned(), 1_000)).collect(),
        complete: !values.is_empty(),
        looks_like: None,
    }
}

fn table(name: &str, columns: Vec<Column>, key: &str) -> Table {
    let primary_key = vec![key.to_owned()];
    Table {
        name: name.to_owned(),
        label: name.to_owned(),
        source: 0,
        columns,
        rows: Some(5_000),
        primary_key,
    }
}

fn catalogue() -> Catalogue {
    let orders = vec![
        column("order_id", Kind::Integer, &[], 5_000),
        column("customer_id", Kind::Integer, &[], 400),
        column("order_date", Kind::Date, &[], 366),
        column("state", Kind::Text, &["Arizona", "Texas"], 2),
        column("amount", Kind::Number, &[], 4_000),
        column("cost", Kind::Number, &[], 4_000),
        column("returned", Kind::Text, &["yes", "no"], 2),
    ];
    let visits = vec![column("visit_id", Kind::Integer, &[], 900), column("minutes", Kind::Number, &[], 90)];
    Catalogue {
        tables: vec![table("orders", orders, "order_id"), table("visits", visits, "visit_id")],
        joins: vec![Join {
            from: ("visits".to_owned(), vec!["visit_id".to_owned()]),
            to: ("orders".to_owned(), vec!["order_id".to_owned()]),
            evidence: Evidence::Constraint,
        }],
    }
}

fn metric(table: Option<&str>, expression: &str) -> Metric {
    Metric { table: table.map(str::to_owned), expression: Some(expression.to_owned()), ..Metric::default() }
}

fn model() -> SemanticModel {
    let mut metrics = BTreeMap::new();
    let kept =
        MetricFilter { column: "returned".to_owned(), is: vec!["no".to_owned()], ..MetricFilter::default() };
    let revenue = Metric {
        filters: vec![kept],
        synonyms: vec!["turnover".to_owned()],
        ..metric(Some("orders"), "sum(amount)")
    };
    metrics.insert("revenue".to_owned(), revenue);
    metrics.insert("gross profit".to_owned(), metric(Some("orders"), "sum(amount - cost)"));
    metrics.insert("buyers".to_owned(), metric(Some("orders"), "count_distinct(customer_id)"));
    let ratio =
        steward_domain::Ratio { numerator: "gross profit".to_owned(), denominator: "revenue".to_owned() };
    metrics.insert("margin".to_owned(), Metric { ratio: Some(ratio), ..Metric::default() });
    let derived = Some("{gross profit} / ({buyers} + {buyers})".to_owned());
    metrics.insert("half profit".to_owned(), Metric { derived, ..Metric::default() });
    SemanticModel { metrics, ..SemanticModel::default() }.validate().unwrap().into_inner()
}

fn sql(question: &str) -> Result<String, String> {
    let today = NaiveDate::from_ymd_opt(2026, 11, 18).unwrap();
    match read(question, &model(), &catalogue(), today, &NoMeaning) {
        Some(MetricOutcome::Read(reading, _)) => {
            Ok(crate::sql::write(&reading.queries[0].query, Dialect::DataFusion))
        }
        Some(MetricOutcome::Refused(why)) => Err(why),
        None => Err("no metric".to_owned()),
    }
}

#[test]
fn a_metric_is_compiled_with_its_filter_whatever_it_is_called() {
    for question in ["revenue by state", "total revenue by state", "the turnover by state"] {
        let sql = sql(question).unwrap().to_lowercase();
        assert!(
            sql.contains("where") && sql.contains("'no'") && sql.contains("group by"),
            "{question}: {sql}"
        );
    }
    let sql = sql("gross profit in Arizona").unwrap();
    assert!(sql.contains('-') && sql.contains("'Arizona'"), "{sql}");
}

#[test]
fn a_ratio_is_one_sum_over_another_in_each_group() {
    let sql = sql("margin by state").unwrap().to_lowercase();
    let (selected, _) = sql.split_once(" from ").unwrap();
    assert_eq!(selected.matches("sum(").count(), 2, "{sql}");
    assert!(selected.contains('/') && !selected.contains("sum(sum"), "{sql}");
}

#[test]
fn other_questions_are_left_to_the_reader() {
    for question in ["average revenue by state", "number of orders by state", "total cost in Texas"] {
        assert_eq!(sql(question).unwrap_err(), "no metric", "{question}");
    }
}

#[test]
fn what_is_wrong_with_a_model_is_said() {
    let catalogue = catalogue();
    assert_eq!(problems(&model(), &catalogue), Vec::<String>::new());
    let with = |name: &str, metric: Metric| {
        let mut model = model();
        model.metrics.insert(name.to_owned(), metric);
        problems(&model, &catalogue)
    };
    let told = |metric: Metric| with("x", metric).join("; ");
    assert!(told(metric(Some("sales"), "sum(amount)")).contains("no table sales"));
    assert!(told(metric(Some("orders"), "sum(price)")).contains("no column price"));
    assert!(told(metric(Some("orders"), "total(amount)")).contains("no aggregate total"));
    assert!(told(metric(Some("orders"), "sum(amount -)")).contains("ends too early"));
    assert!(
        told(Metric { derived: Some("{x} + {revenue}".to_owned()), ..Metric::default() })
            .contains("by itself")
    );
    let mut visits = model();
    visits.metrics.insert("minutes".to_owned(), metric(Some("visits"), "sum(minutes)"));
    visits.metrics.insert(
        "mixed".to_owned(),
        Metric { derived: Some("{minutes} / {revenue}".to_owned()), ..Metric::default() },
    );
    assert!(problems(&visits, &catalogue).join(";").contains("another grain"));
    let kept = MetricFilter {
        column: "order_date".to_owned(),
        is: vec!["soon".to_owned()],
        ..MetricFilter::default()
    };
    assert!(
        told(Metric { filters: vec![kept], ..metric(Some("orders"), "count(*)") })
            .contains("no value of a column")
    );
    let same = Metric { synonyms: vec!["turnover".to_owned()], ..metric(Some("orders"), "count(*)") };
    assert!(told(same).contains("is a name of"));
}

#[test]
fn a_breakdown_that_counts_rows_twice_is_refused() {
    assert!(belongs_to(&catalogue(), "visits", "orders"));
    assert!(!belongs_to(&catalogue(), "orders", "visits"));
    let compiled = compile(&model(), "revenue", &catalogue(), &mut BTreeSet::new())
        .unwrap_or_else(|why| panic!("{why}"));
    let total = Expr::Aggregate(Aggregate::Sum, vec![Expr::Column("orders".to_owned(), "amount".to_owned())]);
    let mut query = Query {
        items: vec![crate::query::Item { expr: total, name: "total".to_owned() }],
        table: "orders".to_owned(),
        alias: "orders".to_owned(),
        joins: vec![crate::query::Joined {
            table: "visits".to_owned(),
            alias: "v".to_owned(),
            on: Vec::new(),
            outer: false,
        }],
        ..Query::default()
    };
    let why = exchange(&mut query, &compiled, "revenue", &catalogue()).unwrap_err();
    assert!(why.contains("cannot be broken down by visits"), "{why}");
}

#[test]
fn a_breakdown_that_is_left_out_is_named() {
    assert_eq!(dropped_column(&["minutes".to_owned()], &catalogue()), Some("minutes"));
    assert_eq!(dropped_column(&["please".to_owned()], &catalogue()), None);
}

/// The model with a cumulative metric, a segment and a calendar.
fn wide() -> SemanticModel {
    let mut model = model();
    let cumulative = |since| Metric {
        cumulative: Some(steward_domain::Cumulative { of: "gross profit".to_owned(), since }),
        ..Metric::default()
    };
    model.metrics.insert("profit so far".to_owned(), cumulative(CumulativeSince::Start));
    model.metrics.insert("profit to date".to_owned(), cumulative(CumulativeSince::Year));
    let large = MetricFilter { column: "amount".to_owned(), above: Some(500.0), ..MetricFilter::default() };
    let segment = steward_domain::Segment {
        synonyms: vec!["big orders".to_owned()],
        description: String::new(),
        table: "orders".to_owned(),
        filters: vec![large],
    };
    model.segments.insert("large orders".to_owned(), segment);
    let named = steward_domain::FiscalYearName::End;
    model.calendar = Some(steward_domain::Calendar { fiscal_year_starts: 4, fiscal_year_named_by: named });
    model.validate().unwrap().into_inner()
}

fn wide_sql(question: &str) -> Result<String, String> {
    let today = NaiveDate::from_ymd_opt(2026, 11, 18).unwrap();
    match read(question, &wide(), &catalogue(), today, &NoMeaning) {
        Some(MetricOutcome::Read(reading, _)) => {
            Ok(crate::sql::write(&reading.queries[0].query, Dialect::DataFusion))
        }
        Some(MetricOutcome::Refused(why)) => Err(why),
        None => Err("no metric".to_owned()),
    }
}

#[test]
fn a_cumulative_metric_counts_what_came_before_its_period() {
    assert_eq!(problems(&wide(), &catalogue()), Vec::<String>::new());
    let sql = wide_sql("profit so far by month").unwrap();
    assert!(sql.contains("OVER (") && !sql.contains("PARTITION"), "{sql}");
    let period = wide_sql("profit so far by month in 2021").unwrap();
    // The rows of the sum end with the period and do not begin with it.
    let (outer, inner) = period.split_once("OVER (").unwrap();
    assert!(inner.contains("2022-01-01") && inner.contains(">=") && !outer.contains(">="), "{period}");
    let anew = wide_sql("profit to date by month").unwrap();
    assert!(anew.contains("PARTITION BY"), "{anew}");
    let states = wide_sql("profit so far by month and state").unwrap();
    assert!(states.contains("PARTITION BY"), "{states}");
    // Without a time it is the sum of everything.
    assert!(!wide_sql("profit so far by state").unwrap().contains("OVER"));
    let mut ratio = wide();
    let of = |of: &str| Metric {
        cumulative: Some(steward_domain::Cumulative { of: of.to_owned(), since: CumulativeSince::Start }),
        ..Metric::default()
    };
    ratio.metrics.insert("x".to_owned(), of("margin"));
    ratio.metrics.insert("y".to_owned(), of("buyers"));
    ratio.metrics.insert("z".to_owned(), of("profit so far"));
    let told = problems(&ratio, &catalogue());
    assert_eq!(told.iter().filter(|line| line.contains("added up over time")).count(), 3, "{told:?}");
}

#[test]
fn a_segment_leaves_its_rows_only() {
    for question in ["revenue of large orders by state", "revenue from big orders by state"] {
        let sql = wide_sql(question).unwrap();
        assert!(sql.contains("> 500") && sql.contains("GROUP BY"), "{question}: {sql}");
    }
    assert!(!wide_sql("revenue by state").unwrap().contains("500"));
}

#[test]
fn fiscal_years_are_days_of_the_calendar() {
    for question in ["revenue in fiscal year 2021", "revenue in FY2021", "revenue in FY 21"] {
        let sql = wide_sql(question).unwrap();
        assert!(sql.contains("2020-04-01") && sql.contains("2021-04-01"), "{question}: {sql}");
    }
    let grouped = wide_sql("revenue by fiscal year").unwrap();
    assert!(grouped.contains("CASE WHEN") && grouped.contains("fiscal year"), "{grouped}");
    let mut odd = wide();
    odd.calendar = Some(steward_domain::Calendar {
        fiscal_year_starts: 2,
        fiscal_year_named_by: steward_domain::FiscalYearName::Start,
    });
    let today = NaiveDate::from_ymd_opt(2026, 11, 18).unwrap();
    let quarters = read("revenue by fiscal quarter", &odd, &catalogue(), today, &NoMeaning);
    assert!(matches!(quarters, Some(MetricOutcome::Refused(why)) if why.contains("no quarters")));
}

/// Visits of orders, and a second time of orders.
fn timed() -> (SemanticModel, Catalogue) {
    let (mut model, mut data) = (model(), catalogue());
    data.tables[0].columns.push(column("shipped_at", Kind::Date, &[], 300));
    data.tables[1].columns.push(column("started_on", Kind::Date, &[], 300));
    model.metrics.insert("minutes spent".to_owned(), metric(Some("visits"), "sum(minutes)"));
    for (table, time) in [("orders", "shipped_at"), ("visits", "started_on")] {
        let default_time = Some(time.to_owned());
        let meaning = steward_domain::TableMeaning { default_time, ..Default::default() };
        model.tables.insert(table.to_owned(), meaning);
    }
    (model, data)
}

fn timed_sql(question: &str) -> String {
    let (model, data) = timed();
    let today = NaiveDate::from_ymd_opt(2026, 11, 18).unwrap();
    match read(question, &model, &data, today, &NoMeaning) {
        Some(MetricOutcome::Read(reading, _)) => {
            crate::sql::write(&reading.queries[0].query, Dialect::DataFusion)
        }
        other => panic!("{question}: {other:?}"),
    }
}

#[test]
fn every_row_of_a_metric_counts_without_a_partner_too() {
    let sql = timed_sql("minutes spent by state");
    assert!(sql.contains("FROM \"visits\"") && sql.contains("LEFT JOIN \"orders\""), "{sql}");
}

#[test]
fn a_metric_has_the_default_time_of_its_table() {
    for (question, time) in [
        ("revenue by month", "shipped_at"),
        ("revenue in 2021", "shipped_at"),
        ("minutes spent by month", "started_on"),
        ("minutes spent by state in 2021", "started_on"),
    ] {
        let sql = timed_sql(question);
        let others = ["shipped_at", "started_on", "order_date"].into_iter().filter(|other| *other != time);
        assert!(sql.contains(time), "{question}: {sql}");
        others.for_each(|other| assert!(!sql.contains(other), "{question}: {sql}"));
    }
}

#[test]
fn a_metric_of_other_data_is_none_of_this_data() {
    let mut model = model();
    let elsewhere = Metric { synonyms: vec!["buyers by state".to_owned()], ..metric(Some("x"), "count(*)") };
    model.metrics.insert("elsewhere".to_owned(), elsewhere);
    let today = NaiveDate::from_ymd_opt(2026, 11, 18).unwrap();
    let found = read("how many buyers by state", &model, &catalogue(), today, &NoMeaning);
    assert!(matches!(found, Some(MetricOutcome::Read(_, metric)) if metric.name == "buyers"));
}

#[test]
fn a_condition_by_another_query_is_refused() {
    let compiled = compile(&model(), "revenue", &catalogue(), &mut BTreeSet::new())
        .unwrap_or_else(|why| panic!("{why}"));
    let total = Expr::Aggregate(Aggregate::Sum, vec![Expr::Column("orders".to_owned(), "amount".to_owned())]);
    let key = Expr::Column("orders".to_owned(), "order_id".to_owned());
    let mut query = Query {
        items: vec![crate::query::Item { expr: total, name: "total".to_owned() }],
        table: "orders".to_owned(),
        alias: "orders".to_owned(),
        filter: Some(Condition::Not(Box::new(Condition::InQuery(key, Box::default(), false)))),
        ..Query::default()
    };
    let why = exchange(&mut query, &compiled, "revenue", &catalogue()).unwrap_err();
    assert!(why.contains("one query inside another"), "{why}");
}
