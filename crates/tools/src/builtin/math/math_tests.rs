//! Tests of expressions: results and errors.

use super::{Number, evaluate};
use crate::builtin::Options;
use crate::builtin::tests::{run, tool};
use proptest::prelude::*;
use serde_json::json;

#[track_caller]
fn check(text: &str, expected: &str) {
    let result = evaluate(text).map_or_else(|error| error.to_string(), |number| number.to_string());
    assert_eq!(result, expected, "{text}");
}

#[track_caller]
fn wrong(text: &str, part: &str) {
    let error = evaluate(text).expect_err(text).to_string();
    assert!(error.contains(part) && error.contains("at character"), "{text}: {error}");
}

#[test]
fn results() {
    for (text, expected) in [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("2^3^2", "512"),
        ("-2^2", "-4"),
        ("2^-1", "0.5"),
        ("2 ** 10", "1024"),
        ("--3", "3"),
        ("10 / 4", "2.5"),
        ("10 / 5", "2"),
        ("7 % 3", "1"),
        ("-7 % 3", "2"),
        ("7 mod 3", "1"),
        ("mod(10, -3)", "-2"),
        ("15% of 80", "12"),
        ("15%", "0.15"),
        ("50% * 8", "4"),
        ("20% - 5", "-4.8"),
        ("(5)%", "0.05"),
        ("5!", "120"),
        ("3!^2", "36"),
        ("25!", "15511210043330985984000000"),
        ("0.1 + 0.2", "0.3"),
        ("1.5e3", "1500"),
        ("2 × 3 ÷ 4 − 1", "0.5"),
        ("sqrt(16)", "4"),
        ("sqrt(2)", "1.4142135623731"),
        ("round(2.5)", "3"),
        ("round(3.14159, 2)", "3.14"),
        ("floor(-1.5)", "-2"),
        ("min(3, 1, 2)", "1"),
        ("max(3, 1, 2)", "3"),
        ("sum()", "0"),
        ("mean(3, 5, 10)", "6"),
        ("median(5, 1, 3, 2)", "2.5"),
        ("stdev(2, 4, 4, 4, 5, 5, 7, 9)", "2.1380899352994"),
        ("pstdev(2, 4, 4, 4, 5, 5, 7, 9)", "2"),
        ("gcd(12, 18)", "6"),
        ("lcm(4, 6)", "12"),
        ("ln(e)", "1"),
        ("log10(1000)", "3"),
        ("log(8, 2)", "3"),
        ("cos(0)", "1"),
        ("2 * PI", "6.28318530717959"),
        ("170141183460469231731687303715884105727 - 1", "170141183460469231731687303715884105726"),
        ("2^200", "1.60693804425899e60"),
        ("1e-9", "1e-9"),
    ] {
        check(text, expected);
    }
}

#[test]
fn invalid_expression_reports_position() {
    for (text, part) in [
        ("", "nothing to work out"),
        ("1 +", "missing at the end"),
        ("1,000 + 1", "thousands separators"),
        ("max(1,000)", "thousands separators"),
        ("1'000", "thousands separators"),
        ("1_000", "thousands separators"),
        ("1.000.000", "more than one point"),
        ("1, 5", "a comma stands only"),
        ("1/0", "division by zero (at character 2)"),
        ("5 % 0", "division by zero"),
        ("0^-1", "division by zero"),
        ("(1", "never closed (at character 1)"),
        ("1)", "never opened (at character 2)"),
        ("2(3)", "an operator is missing"),
        ("2 pi", "an operator is missing"),
        ("foo(1)", "no function foo"),
        ("x + 1", "no variables"),
        ("sqrt", "is a function"),
        ("sqrt(-1)", "no real square root"),
        ("(-8)^0.5", "no real power"),
        ("ln(0)", "above zero"),
        ("asin(2)", "from -1 to 1"),
        ("171!", "too large"),
        ("1.5!", "factorial"),
        ("1e308 * 10", "too large"),
        ("1e999", "too large"),
        ("10 % -3", "two things"),
        ("1 = 1", "equations"),
        ("$5", "currency"),
        ("stdev(1)", "at least two"),
        ("atan2(1)", "does not take one number"),
        ("sin(1, 2)", "does not take 2 numbers"),
    ] {
        wrong(text, part);
    }
}

#[test]
fn nesting_and_length_are_bounded() {
    wrong(&"(".repeat(3000), "nested deeper");
    wrong(&"-".repeat(3000), "nested deeper");
    wrong(&"2^".repeat(1500), "nested deeper");
    check(&format!("1{}", " + 1".repeat(900)), "901");
    assert!(evaluate(&"1".repeat(5000)).unwrap_err().to_string().contains("more than 4000"));
}

#[tokio::test]
async fn math_tool_returns_digits_and_number() {
    let tool = tool(&Options::default(), "math.eval");
    let output = run(&tool, "ana", 1, json!({ "expression": "17 * 23" })).await.unwrap();
    assert_eq!(output.words(), "17 * 23 = 391");
    let structured = output.structured.unwrap();
    assert_eq!((&structured["value"], &structured["exact"]), (&json!(391), &json!(true)));
}

/// An expression tree, which is printed and evaluated independently.
#[derive(Debug, Clone)]
enum Tree {
    Whole(i64),
    Real(f64),
    Minus(Box<Tree>),
    Both(char, Box<Tree>, Box<Tree>),
}

impl Tree {
    fn written(&self) -> String {
        match self {
            Self::Whole(number) if *number < 0 => format!("({number})"),
            Self::Whole(number) => number.to_string(),
            Self::Real(number) => format!("({number})"),
            Self::Minus(inner) => format!("(-{})", inner.written()),
            Self::Both(sign, left, right) => format!("({} {sign} {})", left.written(), right.written()),
        }
    }

    fn value(&self) -> f64 {
        match self {
            Self::Whole(number) => *number as f64,
            Self::Real(number) => *number,
            Self::Minus(inner) => -inner.value(),
            Self::Both('+', left, right) => left.value() + right.value(),
            Self::Both('-', left, right) => left.value() - right.value(),
            Self::Both('*', left, right) => left.value() * right.value(),
            Self::Both(_, left, right) => left.value() / right.value(),
        }
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![(-50_i64..50).prop_map(Tree::Whole), (-50.0_f64..50.0).prop_map(Tree::Real)];
    leaf.prop_recursive(5, 40, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|tree| Tree::Minus(Box::new(tree))),
            (prop::sample::select(vec!['+', '-', '*', '/']), inner.clone(), inner)
                .prop_map(|(sign, left, right)| Tree::Both(sign, Box::new(left), Box::new(right))),
        ]
    })
}

proptest! {
    #[test]
    fn never_panics(text in "[0-9a-z+*/^%!(),. -]{0,80}") {
        if let Ok(Number::Real(real)) = evaluate(&text) {
            prop_assert!(real.is_finite());
        }
    }

    #[test]
    fn any_text_is_parsed_without_panic(text in any::<String>()) {
        let _ = evaluate(&text);
    }

    #[test]
    fn calculation_matches_reference(tree in trees()) {
        let expected = tree.value();
        match evaluate(&tree.written()) {
            Ok(number) => {
                let difference = (number.real() - expected).abs();
                // Whole numbers are exact here and floats there, so sums near zero differ slightly.
                prop_assert!(
                    difference <= 1e-6 * expected.abs().max(1.0) || !expected.is_finite() || expected.abs() > 1e9,
                    "{} = {number}, not {expected}", tree.written()
                );
            }
            Err(error) => prop_assert!(!expected.is_finite() || error.to_string().contains("zero"), "{error}"),
        }
    }
}
