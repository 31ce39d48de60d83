//! Expressions and texts: results, errors, and robustness against any input.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn scope(name: &str) -> Option<Value> {
    match name {
        "input" => {
            Some(json!({ "n": 3, "half": 0.5, "name": "Ada", "xs": [1, 2, 3], "map": { "b": 1, "a": 2 } }))
        }
        "state" => Some(json!({ "ok": true })),
        _ => None,
    }
}

#[test]
fn texts_keep_types_and_fill_in_words() {
    for (template, value) in [
        ("${input.n}", json!(3)),
        ("${input.n + 1}", json!(4)),
        ("${input.half}", json!(0.5)),
        ("n is ${input.n}, name is ${input.name}", json!("n is 3, name is Ada")),
        ("${input.map}", json!({ "a": 2, "b": 1 })),
        ("${size(input.xs.filter(x, x > 1))}", json!(2)),
        ("${input.xs.exists(x, input.xs.exists(y, x + y == 6))}", json!(true)),
        ("${\"}\" + input.name}", json!("}Ada")),
        ("${{\"a\": input.n}.a}", json!(3)),
        ("$${input.n}", json!("${input.n}")),
        ("plain", json!("plain")),
        ("${input.n > 2 ? \"many\" : \"few\"}", json!("many")),
    ] {
        let compiled = Template::text(template).unwrap_or_else(|why| panic!("{template}: {why}"));
        assert_eq!(compiled.render(&scope), Ok(value), "{template}");
    }
}

#[test]
fn failures_say_what_and_where() {
    for (source, words) in [
        ("input.missing", "no missing"),
        ("input.n / 0", "division by zero"),
        ("input.xs[9]", "shorter"),
        ("input.n + input.name", "do not fit together"),
    ] {
        let why = Expression::compile(source).unwrap().evaluate(&scope).unwrap_err();
        assert!(why.contains(words) && why.contains(source), "{why}");
    }
    let deep = "input.xs.all(a, input.xs.all(b, input.xs.all(c, a + b + c > 0)))";
    assert!(Expression::compile(deep).unwrap_err().contains("2 deep"));
    let many = |_: &str| Some(json!({ "xs": vec![1; VALUES + 1] }));
    let why = Expression::compile("size(input.xs) > 1").unwrap().evaluate(&many).unwrap_err();
    assert!(why.contains("more than"), "{why}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_text_breaks_the_compiler(text in "[a-z0-9 .,+*()<>=!&|?:\\[\\]{}$\"'-]{0,60}") {
        if let Ok(template) = Template::text(&text) {
            let _ = template.render(&scope);
        }
        if let Ok(expression) = Expression::compile(&text) {
            let first = expression.evaluate(&scope);
            prop_assert_eq!(first, expression.evaluate(&scope));
        }
    }
}

#[test]
fn functions_work_on_json() {
    for (source, value) in [
        (r#"parse_json("{\"a\": [1, 2]}").a[1]"#, json!(2)),
        (r#"to_json({"b": 1, "a": [true]})"#, json!(r#"{"a":[true],"b":1}"#)),
        (r#"split("a,b,c", ",")"#, json!(["a", "b", "c"])),
        (r#"join(input.xs, "-")"#, json!("1-2-3")),
        (r#"format("{} of {{{}}}", input.n, input.name)"#, json!("3 of {Ada}")),
        (r#"number("42") + 1"#, json!(43)),
        (r#"number(" 1.5 ")"#, json!(1.5)),
        ("round(10.0 / 3.0, 2)", json!(3.33)),
        ("sum(input.xs)", json!(6)),
        ("text(sum([11.9, 11.9, 11.9]))", json!("35.7")),
        ("'total ' + text(0.1 + 0.2)", json!("total 0.3")),
        ("sort([3, 1, 2])", json!([1, 2, 3])),
        (r#"unique(["a", "b", "a"])"#, json!(["a", "b"])),
        ("flatten([[1], [2, 3], 4])", json!([1, 2, 3, 4])),
        ("keys(input.map)", json!(["a", "b"])),
        (r#"get(input, "nothing", 7)"#, json!(7)),
        ("input.xs.map(x, x * 2)", json!([2, 4, 6])),
        ("input.xs.filter(x, x > 1)", json!([2, 3])),
        // A loop over an object iterates over its sorted keys.
        ("input.map.map(key, key)", json!(["a", "b"])),
        (r#"date("2026-11-30")"#, json!("2026-11-30T00:00:00.000000Z")),
        (r#"date("2026-11-30T08:00", "Europe/Berlin")"#, json!("2026-11-30T07:00:00.000000Z")),
        (r#"date_add("2026-11-30", "-1d")"#, json!("2026-11-29T00:00:00.000000Z")),
        (r#"date_format("2026-11-30T23:30:00Z", "%d.%m.%Y", "Europe/Berlin")"#, json!("01.12.2026")),
        (r#"seconds_between("2026-11-30", "2026-12-01")"#, json!(86400)),
        (r#"upper(trim(" a ")) + lower("B") + replace("x-y", "-", "+")"#, json!("Abx+y")),
    ] {
        let compiled = Expression::compile(source).unwrap_or_else(|why| panic!("{source}: {why}"));
        assert_eq!(compiled.evaluate(&scope), Ok(value), "{source}");
    }
}

#[test]
fn misused_functions_say_where() {
    let why = |source: &str| match Expression::compile(source) {
        Err(why) => why,
        Ok(expression) => expression.evaluate(&scope).unwrap_err(),
    };
    for (source, words) in [
        ("1 + shout(input.name)", "column 10: calls shout"),
        ("input.n.round()", "as a method"),
        (r#"parse_json("{oops")"#, "column 1: parse_json: the text is no JSON"),
        ("sum(input.name)", "must be a list"),
        ("split(input.name)", "needs 2 values"),
        ("input.map.missing.deep", "column 10: there is no missing"),
        ("input.n + ", "line 1, column"),
    ] {
        assert!(why(source).contains(words), "{source}: {}", why(source));
    }
    let many = |_: &str| Some(json!({ "xs": vec![1; 1000] }));
    let deep = Expression::compile("input.xs.map(x, input.xs.map(y, x + y))").unwrap();
    assert!(deep.evaluate(&many).unwrap_err().contains("more than 200000 times"));
}
