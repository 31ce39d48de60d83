//! Wide tables, with a column for each month or year: unpivoted into a row for each of them.
//!
//! The wide table is kept; the long one is added beside it, because "by year" needs a column.

use chrono::NaiveDate;

use super::moment::month_named;
use super::names;
use crate::frame::{Field, Frame, Kind, Unit, Value};

/// Minimum number of period columns.
const FEWEST: usize = 4;
/// Larger results are not created.
const MOST_CELLS: usize = 5_000_000;

/// Columns that add up the others, in lower case.
const TOTALS: [&str; 8] =
    ["total", "totals", "sum", "grand_total", "summe", "gesamt", "total_general", "ytd"];

/// The period in a column's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Period {
    Year(i32),
    Quarter(Option<i32>, u32),
    Month(Option<i32>, u32),
}

impl Period {
    /// Periods of one kind make one column.
    fn same_kind(self, other: Self) -> bool {
        match (self, other) {
            (Self::Year(_), Self::Year(_)) => true,
            (Self::Quarter(a, _), Self::Quarter(b, _)) | (Self::Month(a, _), Self::Month(b, _)) => {
                a.is_some() == b.is_some()
            }
            _ => false,
        }
    }

    fn field(self) -> Field {
        match self {
            Self::Year(_) => Field { name: "year".to_owned(), kind: Kind::Integer, unit: Unit::Year },
            Self::Quarter(Some(_), _) => Field::new("quarter", Kind::Date),
            Self::Quarter(None, _) => Field::new("quarter", Kind::Text),
            Self::Month(Some(_), _) => Field::new("month", Kind::Date),
            Self::Month(None, _) => Field::new("month", Kind::Integer),
        }
    }

    fn value(self) -> Value {
        let first = |year, month| NaiveDate::from_ymd_opt(year, month, 1).map_or(Value::Null, Value::Date);
        match self {
            Self::Year(year) => Value::Int(i64::from(year)),
            Self::Quarter(Some(year), quarter) => first(year, quarter * 3 - 2),
            Self::Quarter(None, quarter) => Value::Text(format!("Q{quarter}")),
            Self::Month(Some(year), month) => first(year, month),
            Self::Month(None, month) => Value::Int(i64::from(month)),
        }
    }
}

/// The unpivoted table, and its column names as people write them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Long {
    pub(crate) frame: Frame,
    pub(crate) labels: Vec<String>,
    /// How many columns became rows.
    pub(crate) periods: usize,
}

/// A column of one period: where it stands, the period, and the other words of its name.
type PeriodColumn = (usize, Period, String);

/// The long form of a wide table, when at least four columns of numbers are named by periods of one
/// kind.
pub(crate) fn long_form(frame: &Frame, labels: &[String]) -> Option<Long> {
    let columns = period_columns(frame, labels)?;
    let mut periods: Vec<Period> = columns.iter().map(|(_, period, _)| *period).collect();
    periods.sort_unstable();
    periods.dedup();
    let mut measures: Vec<&str> = Vec::new();
    for (_, _, rest) in &columns {
        if !measures.contains(&rest.as_str()) {
            measures.push(rest);
        }
    }
    let place = |period: Period, measure: &str| {
        columns.iter().find(|(_, known, rest)| *known == period && rest == measure).map(|(place, ..)| *place)
    };
    if periods.len() < FEWEST || frame.rows.len().saturating_mul(columns.len()) > MOST_CELLS {
        return None;
    }
    let taken = |index: &usize| columns.iter().any(|(place, ..)| place == index);
    let is_total = |index: &usize| {
        frame
            .fields
            .get(*index)
            .is_some_and(|field| field.kind.is_number() && TOTALS.contains(&field.name.as_str()))
    };
    let kept: Vec<usize> =
        (0..frame.fields.len()).filter(|index| !taken(index) && !is_total(index)).collect();
    let (mut fields, mut long_labels) = (Vec::new(), Vec::new());
    for index in &kept {
        fields.extend(frame.fields.get(*index).cloned());
        long_labels.push(labels.get(*index).cloned().unwrap_or_default());
    }
    let period_field = periods.first()?.field();
    long_labels.push(period_field.name.clone());
    fields.push(period_field);
    for measure in &measures {
        let numbers = || {
            columns
                .iter()
                .filter(|(_, _, rest)| rest == measure)
                .filter_map(|(place, ..)| frame.fields.get(*place))
        };
        let whole = numbers().all(|field| field.kind == Kind::Integer);
        let label = if measure.is_empty() { "value" } else { measure };
        long_labels.push(label.to_owned());
        fields.push(Field {
            name: label.to_owned(),
            kind: if whole { Kind::Integer } else { Kind::Number },
            unit: numbers()
                .next()
                .map(|field| field.unit)
                .filter(|unit| *unit != Unit::Year)
                .unwrap_or_default(),
        });
    }
    for (field, name) in fields.iter_mut().zip(names::unique(&long_labels)) {
        field.name = name;
    }
    let mut rows = Vec::new();
    for (number, row) in frame.rows.iter().enumerate() {
        for period in &periods {
            let values: Vec<Value> = measures
                .iter()
                .map(|measure| {
                    place(*period, measure).map_or(Value::Null, |place| frame.cell(number, place).clone())
                })
                .collect();
            if values.iter().all(Value::is_null) {
                continue;
            }
            let ids = kept.iter().map(|index| row.get(*index).cloned().unwrap_or_default());
            rows.push(ids.chain([period.value()]).chain(values).collect());
        }
    }
    let frame = Frame { name: frame.name.clone(), fields, rows };
    Some(Long { frame, labels: long_labels, periods: periods.len() })
}

/// The columns of the most frequent kind of period. Two columns of the same period and the same
/// other words make it ambiguous.
fn period_columns(frame: &Frame, labels: &[String]) -> Option<Vec<PeriodColumn>> {
    let found: Vec<PeriodColumn> = (frame.fields.iter().zip(labels).enumerate())
        .filter(|(_, (field, _))| field.kind.is_number())
        .filter_map(|(place, (_, label))| period(label).map(|(period, rest)| (place, period, rest)))
        .collect();
    let alike = |period: Period| found.iter().filter(|(_, other, _)| period.same_kind(*other)).count();
    let (_, usual, _) = found.iter().max_by_key(|(_, period, _)| alike(*period))?;
    let columns: Vec<PeriodColumn> =
        found.iter().filter(|(_, period, _)| usual.same_kind(*period)).cloned().collect();
    let twice = columns.iter().enumerate().any(|(at, (_, period, rest))| {
        columns.iter().skip(at + 1).any(|(_, other, words)| other == period && words == rest)
    });
    (columns.len() >= FEWEST && !twice).then_some(columns)
}

/// The period in a column's name, and the words beside it.
fn period(label: &str) -> Option<(Period, String)> {
    let words: Vec<String> = (label.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let (mut year, mut quarter, mut month, mut rest) = (None, None, None, Vec::new());
    for (place, word) in words.iter().enumerate() {
        if let Some(found) = as_year(word).filter(|_| year.is_none()) {
            year = Some(found);
        } else if let Some((found, of)) = as_quarter(word).filter(|_| quarter.is_none()) {
            quarter = Some(found);
            year = year.or(of);
        } else if let Some(found) = month_named(word).filter(|_| month.is_none()) {
            month = Some(found);
        } else if let Some(number) = as_number(word) {
            // `2024-03` and `2024-03-01`, `Jan 24`.
            match (year, month) {
                (Some(_), None) if (1..=12).contains(&number) && place > 0 => month = Some(number),
                (Some(_), Some(_)) if number == 1 => {}
                (None, Some(_)) if word.len() == 2 => year = Some(2000 + number as i32),
                _ => return None,
            }
        } else {
            rest.push(word.clone());
        }
    }
    let period = match (year, quarter, month) {
        (year, Some(quarter), None) => Period::Quarter(year, quarter),
        (year, None, Some(month)) => Period::Month(year, month),
        (Some(year), None, None) => Period::Year(year),
        _ => return None,
    };
    (rest.len() <= 4).then(|| (period, rest.join(" ")))
}

fn as_number(word: &str) -> Option<u32> {
    word.parse().ok().filter(|_| word.len() <= 2)
}

fn as_year(word: &str) -> Option<i32> {
    let digits = ["fy", "cy", "y"].iter().find_map(|mark| word.strip_prefix(mark)).unwrap_or(word);
    digits.parse().ok().filter(|year| digits.len() == 4 && (1900..=2100).contains(year))
}

/// `q1`, `2024q1`.
fn as_quarter(word: &str) -> Option<(u32, Option<i32>)> {
    let (before, number) = word.split_once('q')?;
    let quarter = number.parse().ok().filter(|quarter| (1..=4).contains(quarter) && number.len() == 1)?;
    if before.is_empty() { Some((quarter, None)) } else { as_year(before).map(|year| (quarter, Some(year))) }
}

#[cfg(test)]
mod tests {
    use super::{Period, long_form, period};
    use crate::frame::Value;
    use crate::reader::read_csv;

    #[test]
    fn names_of_columns_tell_periods() {
        let rows = [
            ("2024", Period::Year(2024), ""),
            ("FY2021", Period::Year(2021), ""),
            ("Sales 2021", Period::Year(2021), "sales"),
            ("2024-03", Period::Month(Some(2024), 3), ""),
            ("2024-03-01", Period::Month(Some(2024), 3), ""),
            ("Jan 24", Period::Month(Some(2024), 1), ""),
            ("März", Period::Month(None, 3), ""),
            ("Q3 2022", Period::Quarter(Some(2022), 3), ""),
            ("2022Q3 units", Period::Quarter(Some(2022), 3), "units"),
        ];
        for (label, expected, rest) in rows {
            assert_eq!(period(label), Some((expected, rest.to_owned())), "{label}");
        }
        for label in ["amount", "top 10", "id", "2024-13-77", "year", "5 stars"] {
            assert_eq!(period(label), None, "{label}");
        }
    }

    #[test]
    fn a_column_for_each_year_becomes_a_row_for_each_year() {
        let read =
            read_csv(b"country,2019,2020,2021,2022,total\nChile,1,2,,4,7\nPeru,5,6,7,8,26\n", 100).unwrap();
        let long = long_form(&read.frame, &read.labels).unwrap();
        let names: Vec<&str> = long.frame.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["country", "year", "value"]);
        assert_eq!(long.frame.rows.len(), 7, "an empty cell is no row");
        assert_eq!(long.frame.rows[2], [Value::Text("Chile".to_owned()), Value::Int(2022), Value::Int(4)]);
    }

    #[test]
    fn several_measures_become_several_columns() {
        let head =
            "shop,sales 2020,units 2020,sales 2021,units 2021,sales 2022,units 2022,sales 2023,units 2023";
        let read =
            read_csv(format!("{head}\nA,1.5,2,3,4,5,6,7,8\nB,1,2,3,4,5,6,7,8\n").as_bytes(), 100).unwrap();
        let long = long_form(&read.frame, &read.labels).unwrap();
        let names: Vec<&str> = long.frame.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["shop", "year", "sales", "units"]);
        assert_eq!(long.frame.rows.len(), 8);
    }

    #[test]
    fn three_years_or_words_are_no_wide_table() {
        let read = read_csv(b"a,2019,2020,2021\nx,1,2,3\ny,4,5,6\n", 100).unwrap();
        assert!(long_form(&read.frame, &read.labels).is_none());
    }
}
