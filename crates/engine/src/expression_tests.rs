//! Expressions and texts: what they give, what they refuse, and that nothing a person writes can
//! break them.

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
