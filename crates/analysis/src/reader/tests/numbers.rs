//! Numbers, their formats and their columns.

use super::*;

#[test]
fn every_dress_of_a_number_is_read() {
    let cases = [
        ("1,234.50", '.', 1234.5),
        ("1.234,50", ',', 1234.5),
        ("1 234,50", ',', 1234.5),
        ("1\u{a0}234,50", ',', 1234.5),
        ("1\u{202f}234\u{202f}567,5", ',', 1_234_567.5),
        ("1'234'567.5", '.', 1_234_567.5),
        ("12,34,567.8", '.', 1_234_567.8),
        ("$1,234.50", '.', 1234.5),
        ("-$5", '.', -5.0),
        ("$-5", '.', -5.0),
        ("€ 1.234", ',', 1234.0),
        ("12,5 €", ',', 12.5),
        ("£0.99", '.', 0.99),
        ("¥500", '.', 500.0),
        ("12%", '.', 12.0),
        ("12.5 %", '.', 12.5),
        ("(123)", '.', -123.0),
        ("($1,234.5)", '.', -1234.5),
        ("(5%)", '.', -5.0),
        ("+5", '.', 5.0),
        ("1e6", '.', 1e6),
        ("1.5E-3", '.', 0.0015),
        (".5", '.', 0.5),
        ("-.5", '.', -0.5),
        ("5.", '.', 5.0),
        ("5-", '.', -5.0),
        ("USD 5", '.', 5.0),
        ("5 USD", '.', 5.0),
        ("US$5.5", '.', 5.5),
        ("\u{2212}3.5", '.', -3.5),
        ("1.5M", '.', 1_500_000.0),
        ("$2.5bn", '.', 2.5e9),
        ("20k", '.', 20_000.0),
        ("  7 ", '.', 7.0),
    ];
    for (text, decimal, expected) in cases {
        assert_eq!(number::number(text, decimal), Some(expected), "{text}");
    }
}

#[test]
fn what_is_not_a_number_is_nothing() {
    let not = [
        "", "-", "--", "abc", "inf", "NaN", "infinity", "1,23.4", "1,2345", "1..2", "1-2", "(5", "5)", "1e",
        "e5", "0x10", "12 34", "1,234,5", "$", "%", "1 2 3", "--5", "5%%", "$$5", "1.2.3", "12:30", "1e9999",
        "٣", "5 apples", ",", "1,,234", "+-5", "1_000",
    ];
    for text in not {
        assert_eq!(number::number(text, '.'), None, "{text}");
    }
}

#[test]
fn whole_numbers_keep_every_digit() {
    assert_eq!(number::integer("9007199254740993", '.'), Some(9_007_199_254_740_993));
    assert_eq!(number::integer("9,007,199,254,740,993", '.'), Some(9_007_199_254_740_993));
    assert_eq!(number::integer("-9223372036854775808", '.'), Some(i64::MIN));
    assert_eq!(number::integer("92233720368547758080", '.'), None);
    assert_eq!(number::integer("(1,000)", '.'), Some(-1000));
    assert_eq!(number::integer("1.5", '.'), None);
}

#[test]
fn the_column_decides_which_separator_is_decimal() {
    let european = column("x", &["1.234", "1.234,5", "7"]);
    assert_eq!(european.format.number("1.234"), Some(1234.0));
    let english = column("x", &["1,234", "1,234.5", "7"]);
    assert_eq!(english.format.number("1,234"), Some(1234.0));
    let fraction = column("x", &["1,5", "2,25", "7"]);
    assert_eq!(fraction.format.number("2,25"), Some(2.25));
    assert_eq!(fraction.kind, Kind::Number);
    let ambiguous = column("x", &["1,234", "5,678"]);
    assert_eq!((ambiguous.kind, ambiguous.format.integer("1,234")), (Kind::Integer, Some(1234)));
    assert_eq!(ambiguous.notes, ["1,234 was read as the number 1234"]);
    let by_file = guess(["1,234", "5,678"].into_iter(), "x", true);
    assert_eq!(by_file.format.number("1,234"), Some(1.234));
    let points = column("x", &["1.234", "5.678"]);
    assert_eq!(points.format.number("1.234"), Some(1.234));
    assert!(points.plain && points.assumptions.is_empty());
}

#[test]
fn units_are_seen() {
    assert_eq!(column("x", &["$5", "$1,000"]).unit, Unit::Currency('$'));
    assert_eq!(column("x", &["5 €", "7 €"]).unit, Unit::Currency('€'));
    assert_eq!(column("x", &["EUR 5.10", "EUR 7"]).unit, Unit::Currency('€'));
    assert_eq!(column("x", &["12%", "7.5%"]).unit, Unit::Percent);
    assert_eq!(column("win %", &["12", "57"]).unit, Unit::Percent);
    assert_eq!(column("price (usd)", &["12", "57"]).unit, Unit::Currency('$'));
    assert_eq!(column("year", &["1999", "2021"]).unit, Unit::Year);
    assert_eq!(column("model_year", &["1999", "2021"]).unit, Unit::Year);
    assert_eq!(column("price", &["1999", "2021"]).unit, Unit::Plain);
    assert_eq!(column("year", &["1", "2"]).unit, Unit::Plain);
    let mixed = column("x", &["$5", "€7"]);
    assert_eq!((mixed.kind, mixed.unit, mixed.assumptions.len()), (Kind::Integer, Unit::Plain, 1));
}

#[test]
fn identifiers_stay_words() {
    for values in [
        &["00123", "45678"][..],
        &["02134", "90210"],
        &["+491701234567", "+491709999999"],
        &["12345678901234567890", "1"],
    ] {
        assert_eq!(column("x", values).kind, Kind::Text, "{values:?}");
    }
    assert_eq!(column("phone", &["5551234", "5559876"]).kind, Kind::Text);
    let tweet = column("tweet", &["1234567890123456789"]);
    assert_eq!(tweet.format.value("1234567890123456789"), Value::Int(1_234_567_890_123_456_789));
    assert_eq!(column("mobile", &["512", "1204"]).kind, Kind::Integer);
    assert_eq!(column("zip", &["90210", "10001"]).kind, Kind::Text);
    assert_eq!(column("month", &["01", "12"]).kind, Kind::Integer);
    assert_eq!(column("x", &["0", "10"]).kind, Kind::Integer);
    assert_eq!(column("x", &["0.5", "10"]).kind, Kind::Number);
    assert_eq!(column("x", &["3B", "1B", "2B"]).kind, Kind::Text);
    assert_eq!(column("size", &["19M", "201k", "1.5M"]).kind, Kind::Number);
    assert_eq!(column("length", &["5m", "7m"]).kind, Kind::Text);
    assert_eq!(column("list", &["1", "2", "448 441", "7"]).kind, Kind::Text);
    assert_eq!(column("version", &["1.2.3", "1.10.0"]).kind, Kind::Text);
    assert_eq!(column("address", &["10.0.0.1", "192.168.1.1"]).kind, Kind::Text);
}

#[test]
fn two_in_a_hundred_may_be_bad() {
    let mut values = vec!["5"; 98];
    values.extend(["x", "y"]);
    let found = column("x", &values);
    assert_eq!((found.kind, found.bad, found.plain), (Kind::Integer, 2, false));
    assert_eq!(found.examples, ["x", "y"]);
    values.push("z");
    assert_eq!(column("x", &values).kind, Kind::Text);
    assert_eq!(column("x", &["1", "two", "3"]).kind, Kind::Text);
}

#[test]
fn words_for_nothing_are_empty_among_numbers_and_kept_among_words() {
    let found = column("x", &["1", "NA", "n/a", "-", "?", "NULL", "None", "#N/A", "", "2"]);
    assert_eq!((found.kind, found.nulls, found.bad, found.plain), (Kind::Integer, 8, 0, false));
    let words = column("country", &["NA", "DE", "None", "", "NULL", "Null"]);
    assert_eq!((words.kind, words.nulls), (Kind::Text, 2));
    assert_eq!(words.format.value("NA"), Value::Text("NA".into()));
    assert_eq!(words.format.value("NULL"), Value::Null);
    let empty = column("x", &["", "", "NA"]);
    assert_eq!(empty.kind, Kind::Text);
    assert!(is_nothing(" n/a ") && !is_nothing("nothing"));
}

#[test]
fn truths() {
    assert_eq!(column("x", &["True", "False", ""]).kind, Kind::Boolean);
    assert_eq!(column("x", &["yes", "NO"]).format.boolean("Yes"), Some(true));
    assert_eq!(column("x", &["Y", "N"]).format.value("n"), Value::Bool(false));
    assert_eq!(column("x", &["yes", "no", "unknown"]).kind, Kind::Text);
    assert_eq!(column("x", &["true", "false", "None"]).kind, Kind::Boolean);
    assert_eq!(column("x", &["Y", "Y"]).kind, Kind::Text);
    assert_eq!(column("x", &["yes", "no", "maybe"]).kind, Kind::Text);
    assert_eq!(column("x", &["1", "0"]).kind, Kind::Integer);
}

#[test]
fn plain_columns_are_told() {
    assert!(column("x", &["1", "-2", ""]).plain);
    assert!(column("x", &["1.5", "2e3"]).plain);
    assert!(column("x", &["2021-03-04", ""]).plain);
    assert!(column("x", &["2021-03-04 10:00:01", "2021-03-04T10:00:00.5"]).plain);
    for values in [
        &["1 ", "2"][..],
        &["1,000", "2"],
        &["3/4/2021"],
        &["2021-03-04T10:00:00Z"],
        &["NA", "1"],
        &["a ", "b"],
    ] {
        assert!(!column("x", values).plain, "{values:?}");
    }
}
