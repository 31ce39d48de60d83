//! Wide tables, with a column for each month or year: unpivoted into a row for each of them.
//!
//! The wide table is kept; the long one is added beside it, because "by year" needs a column.

use chrono::{Datelike as _, NaiveDate};

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
pub(super) enum Period {
    Year(i32),
    Quarter(Option<i32>, u32),
    Month(Option<i32>, u32),
    Day(NaiveDate),
}

impl Period {
    /// Periods of one kind make one column.
    fn same_kind(self, other: Self) -> bool {
        match (self, other) {
            (Self::Year(_), Self::Year(_)) | (Self::Day(_), Self::Day(_)) => true,
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
            Self::Day(_) => Field::new("date", Kind::Date),
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
            Self::Day(day) => Value::Date(day),
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
    let mut found: Vec<PeriodColumn> = (frame.fields.iter().zip(labels).enumerate())
        .filter(|(_, (field, _))| field.kind.is_number())
        .filter_map(|(place, (_, label))| period(label).map(|(period, rest)| (place, period, rest)))
        .collect();
    as_months(&mut found);
    let alike = |period: Period| found.iter().filter(|(_, other, _)| period.same_kind(*other)).count();
    let (_, usual, _) = found.iter().max_by_key(|(_, period, _)| alike(*period))?;
    let columns: Vec<PeriodColumn> =
        found.iter().filter(|(_, period, _)| usual.same_kind(*period)).cloned().collect();
    let twice = columns.iter().enumerate().any(|(at, (_, period, rest))| {
        columns.iter().skip(at + 1).any(|(_, other, words)| other == period && words == rest)
    });
    (columns.len() >= FEWEST && !twice).then_some(columns)
}

/// Columns named by the first or the last day of each month are months.
fn as_months(columns: &mut [PeriodColumn]) {
    let is_edge = |period: &Period| match period {
        Period::Day(day) => day.day() == 1 || day.succ_opt().is_some_and(|next| next.day() == 1),
        _ => true,
    };
    let month = |day: NaiveDate| Period::Month(Some(day.year()), day.month());
    let days: Vec<NaiveDate> = (columns.iter())
        .filter_map(|(_, period, _)| if let Period::Day(day) = period { Some(*day) } else { None })
        .collect();
    let mut months: Vec<(Period, &str)> = (columns.iter())
        .filter_map(|(_, period, rest)| match period {
            Period::Day(day) => Some((month(*day), rest.as_str())),
            _ => None,
        })
        .collect();
    months.sort_unstable();
    months.dedup();
    if months.len() < days.len() || !columns.iter().all(|(_, period, _)| is_edge(period)) {
        return;
    }
    for (_, period, _) in columns {
        if let Period::Day(day) = period {
            *period = month(*day);
        }
    }
}

/// The period in a column's name, and the words beside it.
pub(super) fn period(label: &str) -> Option<(Period, String)> {
    let words: Vec<String> = (label.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let (mut year, mut quarter, mut month, mut rest) = (None, None, None, Vec::new());
    // Other numbers, with whether they stand after the year.
    let mut numbers: Vec<(u32, bool)> = Vec::new();
    let mut fiscal = false;
    for word in &words {
        if let Some(found) = as_year(word).filter(|_| year.is_none()) {
            fiscal |= word.starts_with("fy");
            year = Some(found);
        } else if let Some((found, of)) = as_quarter(word).filter(|_| quarter.is_none()) {
            quarter = Some(found);
            year = year.or(of);
        } else if let Some(found) = month_named(word).filter(|_| month.is_none()) {
            month = Some(found);
        } else if let Some(number) = as_number(word) {
            numbers.push((number, year.is_some()));
        } else {
            rest.push(word.clone());
        }
    }
    let period = match (year, quarter, month, numbers.as_slice()) {
        (year, Some(quarter), None, []) => Period::Quarter(year, quarter),
        (None, Some(quarter), None, [(short, _)]) if *short >= 10 => {
            Period::Quarter(Some(century(*short)), quarter)
        }
        (year, None, Some(month), []) => Period::Month(year, month),
        // `Jan 24`, `1 Jan 2024`.
        (None, None, Some(month), [(short, _)]) if *short >= 10 => {
            Period::Month(Some(century(*short)), month)
        }
        (Some(year), None, Some(month), [(day, _)]) => {
            Period::Day(NaiveDate::from_ymd_opt(year, month, *day)?)
        }
        (Some(year), None, None, []) => Period::Year(year),
        // `FY20/21`.
        (Some(year), None, None, [(next, true)]) if fiscal && century(*next) == year + 1 => {
            Period::Year(year)
        }
        (Some(year), None, None, numbers) => written_in_numbers(year, numbers, label, rest.is_empty())?,
        _ => return None,
    };
    (rest.len() <= 4).then(|| (period, rest.join(" ")))
}

/// `2024-03`, `2024-03-31`, `03/2024`, `31.03.2024`.
fn written_in_numbers(year: i32, numbers: &[(u32, bool)], label: &str, alone: bool) -> Option<Period> {
    let month = |month: u32| (1..=12).contains(&month).then_some(Period::Month(Some(year), month));
    let day = |month, day| NaiveDate::from_ymd_opt(year, month, day).map(Period::Day);
    match *numbers {
        [(number, true)] => month(number),
        [(number, false)] if alone => month(number),
        [(number, true), (last, true)] => day(number, last),
        // A day above 12 tells the order; points are written with the day first.
        [(first, false), (second, false)] if alone && (first > 12 || label.contains('.')) => {
            day(second, first)
        }
        [(first, false), (second, false)] if alone && second > 12 => day(first, second),
        _ => None,
    }
}

fn as_number(word: &str) -> Option<u32> {
    word.parse().ok().filter(|_| word.len() <= 2)
}

/// The year of two digits: 1970 to 2069.
fn century(short: u32) -> i32 {
    let short = short as i32;
    if short < 70 { 2000 + short } else { 1900 + short }
}

/// `2024`, `FY2024`, `FY24`, `FY24E`.
fn as_year(word: &str) -> Option<i32> {
    let marked = ["fy", "cy"].iter().find_map(|mark| word.strip_prefix(mark));
    if let Some(short) = marked.map(|digits| digits.trim_end_matches(['a', 'b', 'e', 'f', 'p']))
        && short.len() == 2
    {
        return short.parse().ok().map(century);
    }
    let digits = marked.or_else(|| word.strip_prefix('y')).unwrap_or(word);
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
        let day = |year, month, day| Period::Day(chrono::NaiveDate::from_ymd_opt(year, month, day).unwrap());
        let rows = [
            ("2024", Period::Year(2024), ""),
            ("FY2021", Period::Year(2021), ""),
            ("Sales 2021", Period::Year(2021), "sales"),
            ("2024-03", Period::Month(Some(2024), 3), ""),
            ("2024-03-15", day(2024, 3, 15), ""),
            ("31.03.2024", day(2024, 3, 31), ""),
            ("3/31/2024", day(2024, 3, 31), ""),
            ("01/2026", Period::Month(Some(2026), 1), ""),
            ("Jan-26", Period::Month(Some(2026), 1), ""),
            ("Jan '26", Period::Month(Some(2026), 1), ""),
            ("January 2026", Period::Month(Some(2026), 1), ""),
            ("FY20", Period::Year(2020), ""),
            ("FY24E", Period::Year(2024), ""),
            ("FY20/21", Period::Year(2020), ""),
            ("Q1 '24", Period::Quarter(Some(2024), 1), ""),
            ("Jan 24", Period::Month(Some(2024), 1), ""),
            ("März", Period::Month(None, 3), ""),
            ("Q3 2022", Period::Quarter(Some(2022), 3), ""),
            ("2022Q3 units", Period::Quarter(Some(2022), 3), "units"),
        ];
        for (label, expected, rest) in rows {
            assert_eq!(period(label), Some((expected, rest.to_owned())), "{label}");
        }
        for label in ["amount", "top 10", "id", "2024-13-77", "year", "5 stars", "week 1 2024"] {
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
    fn months_and_fiscal_years_of_a_csv_file_become_rows() {
        let cases = [
            (["Jan 2026", "Feb 2026", "Mar 2026", "Apr 2026"], "month"),
            (["January 2026", "February 2026", "March 2026", "April 2026"], "month"),
            (["Jan-26", "Feb-26", "Mar-26", "Apr-26"], "month"),
            (["Jan '26", "Feb '26", "Mar '26", "Apr '26"], "month"),
            (["2026-01", "2026-02", "2026-03", "2026-04"], "month"),
            (["01/2026", "02/2026", "03/2026", "04/2026"], "month"),
            (["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30"], "month"),
            (["2026-01-05", "2026-01-06", "2026-01-07", "2026-01-08"], "date"),
            (["FY20", "FY21", "FY22", "FY23"], "year"),
        ];
        for (head, period) in cases {
            let file = format!(
                "Department,Cost type,{},Total\nSales,Travel,10,20,30,40,100\n\
                 Sales,Rent,1,\"1,200\",3,4,1208\nHR,Rent,5,6,7,8,26\n",
                head.join(",")
            );
            let read = read_csv(file.as_bytes(), 100).unwrap();
            assert_eq!(read.labels.get(2).map(String::as_str), Some(head[0]), "{:?}", read.warnings);
            let long = long_form(&read.frame, &read.labels).unwrap();
            let names: Vec<&str> = long.frame.fields.iter().map(|field| field.name.as_str()).collect();
            assert_eq!(names, ["department", "cost_type", period, "value"], "{head:?}");
            assert_eq!(long.frame.rows.len(), 12, "{head:?}");
        }
    }

    #[test]
    fn three_years_or_words_are_no_wide_table() {
        let read = read_csv(b"a,2019,2020,2021\nx,1,2,3\ny,4,5,6\n", 100).unwrap();
        assert!(long_form(&read.frame, &read.labels).is_none());
    }
}
