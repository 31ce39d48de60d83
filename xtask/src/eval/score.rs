//! When an answer counts as right: the same rule as the sets' own description has.

use serde_json::Value;

/// A cell in a form that compares: numbers as numbers, text without regard to case.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Nothing,
    Number(f64),
    Text(String),
}

pub(super) fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Nothing,
        Value::Bool(truth) => Cell::Number(f64::from(u8::from(*truth))),
        Value::Number(number) => number.as_f64().map_or(Cell::Nothing, Cell::Number),
        Value::String(text) => {
            let text = text.trim();
            text.replace(',', "")
                .parse::<f64>()
                .ok()
                .filter(|n| n.is_finite())
                .map_or_else(|| Cell::Text(text.to_lowercase()), Cell::Number)
        }
        other => Cell::Text(other.to_string()),
    }
}

pub(super) fn same(a: &Cell, b: &Cell) -> bool {
    match (a, b) {
        (Cell::Number(a), Cell::Number(b)) => (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-9),
        _ => a == b,
    }
}

/// The rows of the first table.
fn rows(answer: &Value) -> Vec<Vec<Cell>> {
    let rows = answer.pointer("/tables/0/rows").and_then(Value::as_array);
    let row = |row: &Value| row.as_array().into_iter().flatten().map(cell).collect();
    rows.into_iter().flatten().map(row).collect()
}

/// The rule of `people/score.py`: a table of the answer has exactly the truth's rows; more columns
/// are fine. One row may also stand in the words of the answer.
pub(super) fn covers(truth: &Value, answer: &Value) -> bool {
    let list = |rows: Option<&Value>| -> Vec<Vec<Value>> {
        let rows = rows.and_then(Value::as_array).into_iter().flatten();
        rows.map(|row| row.as_array().cloned().unwrap_or_default()).collect()
    };
    let truth = list(Some(truth));
    let tables: Vec<Vec<Vec<Value>>> = (answer.get("tables").and_then(Value::as_array).into_iter().flatten())
        .map(|table| list(table.get("rows")))
        .collect();
    if tables.iter().any(|rows| rows_cover(&truth, rows)) {
        return true;
    }
    let [only] = truth.as_slice() else { return false };
    if tables.first().is_some_and(|rows| rows.len() > 1) {
        return false;
    }
    let words =
        answer.get("answer").and_then(Value::as_str).unwrap_or_default().to_lowercase().replace(',', "");
    let numbers: Vec<Value> = (words.split(|c: char| !c.is_ascii_digit() && c != '.' && c != '-'))
        .filter_map(|word| word.trim_end_matches('.').parse::<f64>().ok())
        .map(Value::from)
        .collect();
    only.iter().all(|cell| {
        numbers.iter().any(|number| same_loose(cell, number))
            || cell.as_str().is_some_and(|text| words.contains(&text.to_lowercase().replace(',', "")))
    })
}

fn rows_cover(truth: &[Vec<Value>], rows: &[Vec<Value>]) -> bool {
    let mut left: Vec<&Vec<Value>> = rows.iter().collect();
    truth.len() == rows.len()
        && truth.iter().all(|row| {
            let has =
                |got: &&Vec<Value>| row.iter().all(|cell| got.iter().any(|other| same_loose(cell, other)));
            left.iter().position(has).map(|at| left.remove(at)).is_some()
        })
}

/// Equal at half a per cent or at the shown rounding; a share and its percentage are the same.
fn same_loose(truth: &Value, got: &Value) -> bool {
    match (cell(truth), cell(got)) {
        (Cell::Nothing, other) => other == Cell::Nothing,
        (Cell::Number(x), Cell::Number(y)) => {
            (x - y).abs() <= 0.005 * x.abs().max(1e-9)
                || (x - y).abs() < 0.0051
                || (x * 100.0 - y).abs() <= 0.005 * (x * 100.0).abs().max(1.0)
        }
        (Cell::Number(x), Cell::Text(text)) => text.ends_with("-01-01") && text.starts_with(&format!("{x}-")),
        (Cell::Text(a), Cell::Text(b)) => {
            a == b || a.get(4..5) == Some("-") && a.len() >= 10 && a.get(..10) == b.get(..10)
        }
        _ => false,
    }
}

/// The set of values is the same.
pub(super) fn same_values(gold: &Value, answer: &Value) -> bool {
    let gold: Vec<Cell> = gold.as_array().into_iter().flatten().map(cell).collect();
    let got: Vec<Cell> = rows(answer).into_iter().flatten().collect();
    let within = |list: &[Cell], of: &[Cell]| list.iter().all(|a| of.iter().any(|b| same(a, b)));
    !got.is_empty() && within(&gold, &got) && within(&got, &gold)
}

/// The rows are the same, in whatever order unless it was asked for; the columns may stand in any
/// order.
pub(super) fn same_rows(gold: &Value, answer: &Value, ordered: bool) -> bool {
    let gold: Vec<Vec<Cell>> = (gold.as_array().into_iter().flatten())
        .map(|row| row.as_array().into_iter().flatten().map(cell).collect())
        .collect();
    let got = rows(answer);
    let asked = answer.pointer("/tables/0/rows").is_some();
    if gold.len() != got.len() {
        return false;
    }
    let width = gold.first().map_or(0, Vec::len);
    if gold.is_empty() {
        return asked;
    }
    if got.iter().any(|row| row.len() != width) {
        return false;
    }
    permutations(width).iter().any(|order| {
        let turned: Vec<Vec<&Cell>> =
            got.iter().map(|row| order.iter().filter_map(|place| row.get(*place)).collect()).collect();
        let equal =
            |a: &Vec<Cell>, b: &Vec<&Cell>| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b));
        if ordered {
            return gold.iter().zip(&turned).all(|(a, b)| equal(a, b));
        }
        let mut left: Vec<&Vec<&Cell>> = turned.iter().collect();
        gold.iter().all(|row| match left.iter().position(|other| equal(row, other)) {
            Some(place) => {
                left.swap_remove(place);
                true
            }
            None => false,
        })
    })
}

/// All orders of up to six columns; wider rows are compared as they stand.
fn permutations(width: usize) -> Vec<Vec<usize>> {
    if width > 6 {
        return vec![(0..width).collect()];
    }
    let mut all = vec![Vec::new()];
    for _ in 0..width {
        all = (all.iter())
            .flat_map(|order: &Vec<usize>| {
                (0..width)
                    .filter(|place| !order.contains(place))
                    .map(|place| [order.as_slice(), &[place]].concat())
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    all
}
