//! The columns of a sheet's table: cells are typed already, and only text is parsed like a text
//! file.

use std::collections::BTreeMap;

use super::guess::{Guess, guess};
use super::names;
use super::read::{ColumnRead, Read, count};
use super::sheet::{BodyRow, Cell, show};
use super::value_format::{ValueFormat, is_nothing};
use crate::frame::{Field, Frame, Kind, Unit, Value};

/// Whole numbers up to this are exact in a spreadsheet.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A column that was decided on.
struct Typed {
    kind: Kind,
    unit: Unit,
    values: Vec<Value>,
    bad: Misfits,
    assumptions: Vec<String>,
}

/// Values that do not fit, and the first few of them.
#[derive(Default)]
struct Misfits {
    count: usize,
    examples: Vec<String>,
}

/// What the cells of a column are.
#[derive(Default)]
struct Tally {
    numbers: usize,
    moments: usize,
    bools: usize,
    words: usize,
    errors: usize,
}

/// Reads the rows of a table into a frame.
pub(super) fn read(rows: &[BodyRow], labels: &[String], named: bool, warnings: Vec<String>) -> Read {
    let mut read = Read {
        frame: Frame { rows: vec![Vec::new(); rows.len()], ..Frame::default() },
        labels: Vec::new(),
        columns: Vec::new(),
        warnings,
        layout: None,
        encoding: "workbook",
        cut: false,
    };
    let names = names::unique(labels);
    let (mut errors, mut dropped) = (0, 0);
    for (place, (name, label)) in names.iter().zip(labels).enumerate() {
        let cells: Vec<&Cell> = rows.iter().map(|(_, row)| row.get(place).unwrap_or(&Cell::Empty)).collect();
        let tally = tally(&cells);
        errors += tally.errors;
        if named && label.trim().is_empty() && tally.is_empty() {
            dropped += 1;
            continue;
        }
        let typed = column(&cells, &tally, label);
        if typed.bad.count > 0 {
            let shown = if label.is_empty() { name } else { label };
            read.warnings.push(format!(
                "{shown}: {} did not fit and {} read as empty ({}).",
                count(typed.bad.count, "value"),
                if typed.bad.count == 1 { "was" } else { "were" },
                typed.bad.examples.join(", ")
            ));
        }
        let nulls = typed.values.iter().filter(|value| value.is_null()).count();
        read.frame.fields.push(Field { name: name.clone(), kind: typed.kind, unit: typed.unit });
        read.labels.push(label.clone());
        read.columns.push(ColumnRead {
            source: place,
            format: ValueFormat::Text,
            nulls,
            bad: typed.bad.count,
            assumptions: typed.assumptions,
            notes: Vec::new(),
            plain: true,
            spelled: BTreeMap::new(),
        });
        for (row, value) in read.frame.rows.iter_mut().zip(typed.values) {
            row.push(value);
        }
    }
    if dropped > 0 {
        read.warnings
            .push(format!("{} without a name and without values left out.", count(dropped, "column")));
    }
    if errors > 0 {
        let cells = count(errors, "cell");
        read.warnings.push(format!("{cells} with an error such as #DIV/0! read as empty."));
    }
    read
}

impl Tally {
    fn is_empty(&self) -> bool {
        self.numbers + self.moments + self.bools + self.words == 0
    }
}

fn tally(cells: &[&Cell]) -> Tally {
    let mut tally = Tally::default();
    for cell in cells {
        match cell {
            Cell::Empty => {}
            Cell::Number(_) => tally.numbers += 1,
            Cell::Moment(_) => tally.moments += 1,
            Cell::Bool(_) => tally.bools += 1,
            Cell::Error(_) => tally.errors += 1,
            // Missing-value markers among numbers or dates have no vote.
            Cell::Text(text) | Cell::Clock(text) => tally.words += usize::from(!is_nothing(text)),
        }
    }
    tally
}

/// Decides what a column holds, and reads it.
fn column(cells: &[&Cell], tally: &Tally, label: &str) -> Typed {
    let typed = tally.numbers + tally.moments + tally.bools;
    // A few texts among many numbers are errors, as in a text file.
    let slips = |typed: usize| tally.words * 50 <= typed + tally.words;
    match tally {
        Tally { numbers: 1.., moments: 0, bools: 0, .. } if slips(typed) => numbers(cells, label),
        Tally { numbers: 0, moments: 1.., bools: 0, .. } if slips(typed) => moments(cells),
        Tally { numbers: 0, moments: 0, bools: 1.., words: 0, .. } => bools(cells),
        Tally { words: 1.., .. } => words(cells, tally, label),
        Tally { words: 0, numbers: 0, moments: 0, bools: 0, .. } => {
            let text = cells.iter().any(|cell| matches!(cell, Cell::Text(text) if !text.trim().is_empty()));
            let values = cells.iter().map(|cell| if text { as_text(cell) } else { Value::Null }).collect();
            Typed {
                kind: Kind::Text,
                unit: Unit::Plain,
                values,
                bad: Misfits::default(),
                assumptions: Vec::new(),
            }
        }
        _ => texts(cells),
    }
}

/// Numbers, exactly as they are stored. The name may tell that they are years, amounts of money,
/// dates or identifiers.
fn numbers(cells: &[&Cell], label: &str) -> Typed {
    let shown: Vec<String> = (cells.iter())
        .map(|cell| if let Cell::Number(number) = cell { number.to_string() } else { String::new() })
        .collect();
    let guess = guess(shown.iter().map(String::as_str), label, false);
    let whole = cells.iter().all(|cell| match cell {
        Cell::Number(number) => number.fract() == 0.0 && number.abs() <= EXACT,
        _ => true,
    });
    if whole && (guess.kind.is_time() || guess.kind == Kind::Text) {
        let values = shown.iter().map(|text| guess.format.value(text)).collect();
        return Typed {
            kind: guess.kind,
            unit: guess.unit,
            values,
            bad: bad(cells),
            assumptions: guess.assumptions,
        };
    }
    let value = |cell: &&Cell| match cell {
        Cell::Number(number) if whole => Value::Int(*number as i64),
        Cell::Number(number) => Value::Float(*number),
        _ => Value::Null,
    };
    Typed {
        kind: if whole { Kind::Integer } else { Kind::Number },
        unit: if guess.kind.is_number() { guess.unit } else { Unit::Plain },
        values: cells.iter().map(value).collect(),
        bad: bad(cells),
        assumptions: Vec::new(),
    }
}

/// Words that are not empty where numbers or dates are expected.
fn bad(cells: &[&Cell]) -> Misfits {
    let mut misfits = Misfits::default();
    for cell in cells {
        if let Cell::Text(text) | Cell::Clock(text) = cell
            && !is_nothing(text)
        {
            misfits.count += 1;
            if misfits.examples.len() < 3 {
                misfits.examples.push(text.trim().chars().take(40).collect());
            }
        }
    }
    misfits
}

fn moments(cells: &[&Cell]) -> Typed {
    let midnight = chrono::NaiveTime::MIN;
    let days = cells.iter().all(|cell| !matches!(cell, Cell::Moment(moment) if moment.time() != midnight));
    let value = |cell: &&Cell| match cell {
        Cell::Moment(moment) if days => Value::Date(moment.date()),
        Cell::Moment(moment) => Value::Time(*moment),
        _ => Value::Null,
    };
    Typed {
        kind: if days { Kind::Date } else { Kind::Timestamp },
        unit: Unit::Plain,
        values: cells.iter().map(value).collect(),
        bad: bad(cells),
        assumptions: Vec::new(),
    }
}

fn bools(cells: &[&Cell]) -> Typed {
    let value = |cell: &&Cell| if let Cell::Bool(truth) = cell { Value::Bool(*truth) } else { Value::Null };
    Typed {
        kind: Kind::Boolean,
        unit: Unit::Plain,
        values: cells.iter().map(value).collect(),
        bad: Misfits::default(),
        assumptions: Vec::new(),
    }
}

/// Text may be numbers or dates stored as text; then it is parsed like a text file, and typed cells
/// beside it stay as they are.
fn words(cells: &[&Cell], tally: &Tally, label: &str) -> Typed {
    let written = |cell: &&Cell| match cell {
        Cell::Text(text) | Cell::Clock(text) => text.clone(),
        _ => String::new(),
    };
    let texts_only: Vec<String> = cells.iter().map(written).collect();
    let guess: Guess = guess(texts_only.iter().map(String::as_str), label, false);
    let fits = match guess.kind {
        Kind::Integer | Kind::Number => tally.moments + tally.bools == 0,
        Kind::Date | Kind::Timestamp => tally.numbers + tally.bools == 0,
        Kind::Boolean => tally.numbers + tally.moments == 0,
        Kind::Text => tally.numbers + tally.moments + tally.bools == 0,
    };
    if !fits {
        return texts(cells);
    }
    let mixed = guess.kind == Kind::Integer
        && cells.iter().any(|cell| matches!(cell, Cell::Number(number) if number.fract() != 0.0));
    let timed = guess.kind == Kind::Date
        && cells.iter().any(|cell| matches!(cell, Cell::Moment(m) if m.time() != chrono::NaiveTime::MIN));
    let kind = match guess.kind {
        Kind::Integer if mixed => Kind::Number,
        Kind::Date if timed => Kind::Timestamp,
        other => other,
    };
    let value = |(cell, text): (&&Cell, &String)| match (cell, kind) {
        (Cell::Number(number), Kind::Integer) => Value::Int(*number as i64),
        (Cell::Number(number), _) => Value::Float(*number),
        (Cell::Moment(moment), Kind::Date) => Value::Date(moment.date()),
        (Cell::Moment(moment), _) => Value::Time(*moment),
        (Cell::Bool(truth), _) => Value::Bool(*truth),
        (Cell::Text(_) | Cell::Clock(_), _) => match (guess.format.value(text), kind) {
            (Value::Int(number), Kind::Number) => Value::Float(number as f64),
            (Value::Date(date), Kind::Timestamp) => Value::Time(date.and_time(chrono::NaiveTime::MIN)),
            (value, _) => value,
        },
        _ => Value::Null,
    };
    Typed {
        kind,
        unit: guess.unit,
        values: cells.iter().zip(&texts_only).map(value).collect(),
        bad: Misfits { count: guess.bad, examples: guess.examples },
        assumptions: guess.assumptions,
    }
}

/// Cells of several types: all as words.
fn texts(cells: &[&Cell]) -> Typed {
    Typed {
        kind: Kind::Text,
        unit: Unit::Plain,
        values: cells.iter().map(|cell| as_text(cell)).collect(),
        bad: Misfits::default(),
        assumptions: Vec::new(),
    }
}

fn as_text(cell: &Cell) -> Value {
    match cell {
        Cell::Empty | Cell::Error(_) => Value::Null,
        Cell::Moment(moment) => Value::Text(show(*moment)),
        Cell::Text(text) if text.trim().is_empty() => Value::Null,
        other => Value::Text(other.text().into_owned()),
    }
}
