//! Whole sentences are compared, so that a wrong word or number fails.

use super::*;
use chrono::NaiveDate;

fn frame(fields: &[(&str, Kind, Unit)], rows: Vec<Vec<Value>>) -> Frame {
    let field =
        |(name, kind, unit): &(&str, Kind, Unit)| Field { name: (*name).into(), kind: *kind, unit: *unit };
    Frame { name: "t".into(), fields: fields.iter().map(field).collect(), rows }
}

fn texts(frame: &Frame) -> Vec<String> {
    let all = findings(frame, &Roles::guess(frame));
    assert!(all.len() <= MOST);
    for finding in &all {
        assert!(!finding.text.contains("NaN") && !finding.text.contains("inf"), "{}", finding.text);
        let mut rest = finding.text.clone();
        for cell in &finding.cells {
            assert!(finding.text.contains(&cell.text), "{cell:?} is not in {}", finding.text);
            assert!(frame.position(&cell.column).is_some(), "{cell:?}");
            assert!(!cell.rows.is_empty() && cell.rows.iter().all(|row| *row < frame.rows.len()), "{cell:?}");
            rest = rest.replacen(&cell.text, "", 1);
        }
        assert!(
            !rest.chars().any(|c| c.is_ascii_digit()),
            "a number without a cell in {}: {rest}",
            finding.text
        );
    }
    all.into_iter().map(|finding| finding.text).collect()
}

fn monthly(values: &[f64]) -> Frame {
    let day = |month: usize| {
        NaiveDate::from_ymd_opt(2021 + (month / 12) as i32, 1 + (month % 12) as u32, 1).unwrap()
    };
    let rows = values.iter().enumerate().map(|(i, v)| vec![Value::Date(day(i)), Value::Float(*v)]).collect();
    frame(&[("month", Kind::Date, Unit::Plain), ("revenue", Kind::Number, Unit::Currency('$'))], rows)
}

#[test]
fn a_series_with_a_trend() {
    let found = texts(&monthly(&[100.0, 95.0, 125.0, 140.0, 150.0, 181.0, 185.0]));
    assert_eq!(found[0], "Revenue rose from $100.00 in Jan 2021 to $185.00 in Jul 2021, up $85.00 (+85 %).");
    assert!(found[1].starts_with("The trend is upward: typically $"), "{found:?}");
    assert!(found[1].ends_with("(Mann-Kendall test over 7 months, p = 0.003)."), "{found:?}");
    assert_eq!(found[2], "Revenue peaked at $185.00 in Jul 2021; the lowest value is $95.00 in Feb 2021.");
    assert_eq!(
        found[3],
        "The largest change between neighbours was from May 2021 to Jun 2021: up $31.00 (+20.7 %)."
    );
    assert_eq!(found[4], "The total of revenue over 7 months is $976.00, on average $139.43 each month.");
}

#[test]
fn the_same_month_a_year_before() {
    let values: Vec<f64> = (0..14).map(|month| 100.0 + f64::from(month) * 10.0).collect();
    let found = texts(&monthly(&values));
    assert_eq!(
        found[2],
        "Compared with the same month a year before (Feb 2021: $110.00), Feb 2022 is up $120.00 (+109.1 %)."
    );
    assert!(
        !texts(&monthly(&values[..13])).iter().any(|text| text.contains("a year before")),
        "said already"
    );
}

#[test]
fn noise_has_no_clear_trend() {
    let found = texts(&monthly(&[100.0, 90.0, 105.0, 95.0, 102.0, 97.0, 99.0]));
    assert!(found.iter().any(|text| text.starts_with("There is no clear trend in revenue")), "{found:?}");
}

#[test]
fn categories_with_shares() {
    let rows = [("a", 50), ("b", 20), ("c", 15), ("d", 10), ("e", 5)];
    let rows = rows.iter().map(|(n, v)| vec![Value::Text((*n).into()), Value::Int(*v)]).collect();
    let found =
        texts(&frame(&[("city", Kind::Text, Unit::Plain), ("orders", Kind::Integer, Unit::Plain)], rows));
    assert_eq!(found[0], "a has the most orders: 50, 50 % of the 100 in this table; next is b with 20.");
    assert_eq!(found[1], "The top 3 of 5 cities make up 85 % of orders.");
    assert_eq!(found[2], "e has the fewest orders: 5; the highest is 10 times as much.");
    assert_eq!(found[3], "The 5 cities add up to 100 in orders, on average 20 each.");
}

#[test]
fn averages_are_never_added_up() {
    let rows = [("a", 4.5), ("b", 3.0), ("c", 2.0)];
    let rows = rows.iter().map(|(n, v)| vec![Value::Text((*n).into()), Value::Float(*v)]).collect();
    let found =
        texts(&frame(&[("shop", Kind::Text, Unit::Plain), ("avg_rating", Kind::Number, Unit::Plain)], rows));
    assert_eq!(found[0], "a has the highest avg rating: 4.5; next is b with 3.0.");
    assert!(found.iter().all(|text| !text.contains("9.5") && !text.contains("together")), "{found:?}");
}

#[test]
fn shares_change_by_points() {
    let rows = [(2019, 0.10), (2020, 0.11), (2021, 0.145)];
    let rows = rows.iter().map(|(y, v)| vec![Value::Int(*y), Value::Float(*v)]).collect();
    let found =
        texts(&frame(&[("year", Kind::Integer, Unit::Plain), ("churn", Kind::Number, Unit::Share)], rows));
    assert_eq!(found[0], "Churn rose from 10 % in 2019 to 14.5 % in 2021, up 4.5 percentage points.");
}

#[test]
fn compared_with_a_previous_period() {
    let rows = [("a", 120.0, 100.0), ("b", 80.0, 100.0)];
    let rows = rows
        .iter()
        .map(|(n, v, p)| vec![Value::Text((*n).into()), Value::Float(*v), Value::Float(*p)])
        .collect();
    let fields = [
        ("shop", Kind::Text, Unit::Plain),
        ("sales", Kind::Number, Unit::Plain),
        ("previous_sales", Kind::Number, Unit::Plain),
    ];
    let found = texts(&frame(&fields, rows));
    assert_eq!(found[0], "Sales: 200 against 200 in previous sales, no change.");
    assert_eq!(
        found[1],
        "Compared with before, a rose most, up 20 (+20 %), and b fell most, down 20 (-20 %)."
    );
}

#[test]
fn categories_over_time() {
    let day = |m| Value::Date(NaiveDate::from_ymd_opt(2021, m, 1).unwrap());
    let row = |m, n: &str, v| vec![day(m), Value::Text(n.into()), Value::Int(v)];
    let rows = vec![row(1, "x", 10), row(1, "y", 20), row(2, "x", 30), row(2, "y", 15)];
    let fields = [
        ("month", Kind::Date, Unit::Plain),
        ("shop", Kind::Text, Unit::Plain),
        ("visits", Kind::Integer, Unit::Plain),
    ];
    let found = texts(&frame(&fields, rows));
    assert_eq!(found[0], "Visits rose from 30 in Jan 2021 to 45 in Feb 2021, up 15 (+50 %).");
    assert_eq!(
        found[1],
        "From Jan 2021 to Feb 2021, x rose most, up 20 (+200 %), and y fell most, down 5 (-25 %)."
    );
}

#[test]
fn small_and_odd_tables_say_little_and_never_nonsense() {
    assert_eq!(texts(&monthly(&[])), Vec::<String>::new());
    assert_eq!(texts(&monthly(&[5.0])), ["Revenue: $5.00."]);
    assert_eq!(
        texts(&monthly(&[5.0, 5.0])).first().unwrap(),
        "Revenue did not change from first to last: $5.00 in Jan 2021 and $5.00 in Feb 2021."
    );
    for values in [[f64::NAN, f64::INFINITY], [1e308, 1e308], [-5.0, 5.0], [0.0, 3.0]] {
        let found = texts(&monthly(&values));
        assert!(found.iter().all(|text| !text.contains("inf")), "{found:?}");
    }
    let zero = texts(&monthly(&[0.0, 3.0]));
    assert_eq!(zero[0], "Revenue rose from $0.00 in Jan 2021 to $3.00 in Feb 2021, up $3.00.");
    let same =
        vec![vec![Value::Text("a".into()), Value::Int(2)], vec![Value::Text("b".into()), Value::Int(2)]];
    let same = frame(&[("shop", Kind::Text, Unit::Plain), ("visits", Kind::Integer, Unit::Plain)], same);
    assert_eq!(texts(&same), ["All 2 shops have the same visits: 2."]);
    let nulls = frame(
        &[("shop", Kind::Text, Unit::Plain), ("visits", Kind::Integer, Unit::Plain)],
        vec![vec![Value::Null, Value::Null]; 3],
    );
    assert_eq!(texts(&nulls), Vec::<String>::new());
    let bare =
        frame(&[("visits", Kind::Integer, Unit::Plain)], (1..=4).map(|n| vec![Value::Int(n)]).collect());
    assert_eq!(
        texts(&bare),
        ["The range of visits is from 1 to 4 over 4 rows; the mean is 2.5 and the median 2.5."]
    );
}

#[test]
fn parts_of_time_and_keys_order_and_name() {
    let rows = (1..=6).map(|m| vec![Value::Int(m), Value::Int(100 - (m - 3).abs() * 10)]).collect();
    let found =
        texts(&frame(&[("month", Kind::Integer, Unit::Plain), ("orders", Kind::Integer, Unit::Plain)], rows));
    assert_eq!(found[0], "Orders fell from 80 in month 1 to 70 in month 6, down 10 (-12.5 %).");
    let rows = [(17, 5.0), (18, 9.0), (4, 1.0)]
        .iter()
        .map(|(k, v)| vec![Value::Int(*k), Value::Float(*v)])
        .collect();
    let found = texts(&frame(
        &[("customer_id", Kind::Integer, Unit::Plain), ("sales", Kind::Number, Unit::Plain)],
        rows,
    ));
    assert!(found[0].starts_with("Customer id 18 has the highest sales: 9, 60 % of the 15"), "{found:?}");
    let rows = [(true, 5), (false, 2)].iter().map(|(k, v)| vec![Value::Bool(*k), Value::Int(*v)]).collect();
    let found =
        texts(&frame(&[("active", Kind::Boolean, Unit::Plain), ("users", Kind::Integer, Unit::Plain)], rows));
    assert!(found[0].starts_with("active = yes has the most users: 5"), "{found:?}");
}

#[test]
fn keys_are_no_measures() {
    for key in ["customer_id", "CustomerID", "invoice number", "rank", "zip"] {
        assert!(is_key(key), "{key}");
    }
    for measure in ["number_of_orders", "count(customer_id)", "number", "valid", "distinct id"] {
        assert!(!is_key(measure), "{measure}");
    }
    let fields = [
        ("customer_id", Kind::Integer, Unit::Plain),
        ("name", Kind::Text, Unit::Plain),
        ("amount", Kind::Number, Unit::Plain),
    ];
    let roles = Roles::guess(&frame(&fields, vec![]));
    assert_eq!(
        (roles.time, roles.category.as_deref(), roles.measures),
        (None, Some("name"), vec!["amount".to_owned()])
    );
}

#[test]
fn an_unfinished_last_period_is_not_compared() {
    let frame = monthly(&[100.0, 95.0, 125.0, 140.0, 150.0, 181.0, 12.0]);
    let roles = Roles { unfinished: NaiveDate::from_ymd_opt(2021, 7, 1), ..Roles::guess(&frame) };
    let found: Vec<String> = findings(&frame, &roles).into_iter().map(|finding| finding.text).collect();
    assert_eq!(found[0], "Revenue rose from $100.00 in Jan 2021 to $181.00 in Jun 2021, up $81.00 (+81 %).");
    assert!(found.iter().all(|text| !text.contains("Jul 2021")), "{found:?}");
    assert!(
        found.last().unwrap().contains("over 7 months is $803.00"),
        "the total is that of all: {found:?}"
    );
}

#[test]
fn numbers_that_must_not_be_added_up_are_not() {
    let text = |word: &str| Value::Text(word.to_owned());
    let rows = (1..=6).map(|n| vec![text(&format!("r{n}")), Value::Float(f64::from(n))]).collect();
    let frame =
        frame(&[("region", Kind::Text, Unit::Plain), ("order value", Kind::Number, Unit::Plain)], rows);
    let roles = Roles { not_additive: vec!["order value".to_owned()], ..Roles::guess(&frame) };
    let found: Vec<String> = findings(&frame, &roles).into_iter().map(|finding| finding.text).collect();
    assert!(
        !found.is_empty() && found.iter().all(|text| !text.contains("add up") && !text.contains('%')),
        "{found:?}"
    );
}
