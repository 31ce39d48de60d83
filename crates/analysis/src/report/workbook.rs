//! The answer as a workbook: findings, a sheet for each table, charts, and the origin of each
//! number.
//!
//! Invariant: text is written as text. Data can never become a formula.

use super::ReportInput;
use crate::error::{Error, Result};
use crate::frame::{Field, Frame, Kind, Unit, Value};
use rust_xlsxwriter::{Color, Format, Image, Workbook, Worksheet, XlsxError};

/// Rows that a sheet can hold below its header.
const MOST_ROWS: usize = 1_048_575;
/// Letters that a cell can hold.
const MOST_LETTERS: usize = 32_767;
/// Whole numbers up to this are exact in a spreadsheet.
const EXACT: i64 = 9_007_199_254_740_992;
/// Letters of a sheet's name.
const LONGEST_NAME: usize = 31;

/// The origin of one number of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NumberOrigin {
    /// The number as it is written in the text.
    pub text: String,
    /// The title of the answer's table.
    pub table: String,
    /// The column.
    pub column: String,
    /// The row numbers as the sheet counts them, or `all`.
    pub rows: String,
    /// The operation on the cells.
    pub operation: String,
    /// The call in the journal that returned the rows.
    pub call: String,
}

/// The workbook as bytes. `pictures` are PNG files with their titles.
pub fn workbook(
    input: &ReportInput<'_>,
    pictures: &[(String, &[u8])],
    origins: &[NumberOrigin],
) -> Result<Vec<u8>> {
    write(input, pictures, origins).map_err(|error: XlsxError| Error::Export { detail: error.to_string() })
}

fn write(
    input: &ReportInput<'_>,
    pictures: &[(String, &[u8])],
    origins: &[NumberOrigin],
) -> std::result::Result<Vec<u8>, XlsxError> {
    let mut book = Workbook::new();
    let mut names = Vec::new();
    let bold = Format::new().set_bold();
    let sheet = book.add_worksheet().set_name(free_name("Answer", &mut names))?;
    write_answer(sheet, input, &bold)?;
    for (frame, title) in &input.tables {
        let name = free_name(if title.is_empty() { &frame.name } else { title }, &mut names);
        write_table(book.add_worksheet().set_name(name)?, frame)?;
    }
    if !pictures.is_empty() {
        let sheet = book.add_worksheet().set_name(free_name("Charts", &mut names))?;
        let mut row = 0;
        for (title, png) in pictures {
            sheet.write_string_with_format(row, 0, cut(title), &bold)?;
            let image =
                Image::new_from_buffer(png)?.set_scale_width(0.6).set_scale_height(0.6).set_alt_text(title);
            sheet.insert_image(row + 1, 0, &image)?;
            // A row is 20 pixels high.
            row += 4 + (image.height() * 0.6 / 20.0).ceil() as u32;
        }
    }
    let sheet = book.add_worksheet().set_name(free_name("Sources", &mut names))?;
    write_sources(sheet, input, origins, &bold)?;
    book.save_to_buffer()
}

/// Lines under a heading, when there are some.
fn write_list(
    sheet: &mut Worksheet,
    row: &mut u32,
    heading: &str,
    lines: &[String],
    bold: &Format,
) -> std::result::Result<(), XlsxError> {
    if lines.is_empty() {
        return Ok(());
    }
    sheet.write_string_with_format(*row, 0, heading, bold)?;
    for line in lines {
        *row += 1;
        sheet.write_string(*row, 0, cut(line))?;
    }
    *row += 2;
    Ok(())
}

fn write_answer(
    sheet: &mut Worksheet,
    input: &ReportInput<'_>,
    bold: &Format,
) -> std::result::Result<(), XlsxError> {
    sheet.set_column_width(0, 110)?;
    let mut row = 0;
    let plain = |text: &str| text.lines().map(|line| line.replace("**", "")).collect::<Vec<_>>();
    write_list(sheet, &mut row, "Question", std::slice::from_ref(&input.question), bold)?;
    write_list(sheet, &mut row, "Answer", &plain(&input.answer), bold)?;
    write_list(sheet, &mut row, "Findings", &input.findings, bold)?;
    write_list(sheet, &mut row, "Warnings", &input.warnings, bold)?;
    write_list(sheet, &mut row, "Assumptions", &input.assumptions, bold)?;
    let confidence = input.confidence.iter().map(|confidence| confidence.level.word().to_owned());
    write_list(sheet, &mut row, "Confidence", &confidence.collect::<Vec<_>>(), bold)
}

fn write_table(sheet: &mut Worksheet, frame: &Frame) -> std::result::Result<(), XlsxError> {
    let head = Format::new().set_bold().set_background_color(Color::RGB(0x00EE_EEEE));
    for (column, field) in (0..).zip(&frame.fields) {
        sheet.write_string_with_format(0, column, &field.name, &head)?;
    }
    let formats: Vec<Format> = frame.fields.iter().map(format).collect();
    for (row, values) in (1..).zip(frame.rows.iter().take(MOST_ROWS)) {
        for ((column, value), format) in (0..).zip(values).zip(&formats) {
            write_value(sheet, (row, column), value, format)?;
        }
    }
    sheet.set_freeze_panes(1, 0)?;
    sheet.autofit();
    Ok(())
}

fn write_value(
    sheet: &mut Worksheet,
    (row, column): (u32, u16),
    value: &Value,
    format: &Format,
) -> std::result::Result<(), XlsxError> {
    match value {
        Value::Null => return Ok(()),
        Value::Bool(truth) => sheet.write_boolean(row, column, *truth)?,
        Value::Int(number) if number.abs() <= EXACT => {
            sheet.write_number_with_format(row, column, *number as f64, format)?
        }
        Value::Float(number) if number.is_finite() => {
            sheet.write_number_with_format(row, column, *number, format)?
        }
        // A spreadsheet's calendar begins in 1900.
        Value::Date(day) if chrono::Datelike::year(day) > 1900 => {
            sheet.write_datetime_with_format(row, column, day, format)?
        }
        Value::Time(time) if chrono::Datelike::year(time) > 1900 => {
            sheet.write_datetime_with_format(row, column, time, format)?
        }
        other => sheet.write_string(row, column, cut(&other.plain()))?,
    };
    Ok(())
}

/// How the cells of a column are shown.
fn format(field: &Field) -> Format {
    let shown = match (field.unit, field.kind) {
        (_, Kind::Date) => "yyyy-mm-dd".to_owned(),
        (_, Kind::Timestamp) => "yyyy-mm-dd hh:mm:ss".to_owned(),
        (Unit::Currency(sign), _) => format!("[${sign}]#,##0.00"),
        (Unit::Share, _) => "0.0%".to_owned(),
        (Unit::Percent, _) => "0.0\"%\"".to_owned(),
        (Unit::Year, _) => "0".to_owned(),
        (_, Kind::Integer) => "#,##0".to_owned(),
        _ => "General".to_owned(),
    };
    Format::new().set_num_format(shown)
}

fn write_sources(
    sheet: &mut Worksheet,
    input: &ReportInput<'_>,
    origins: &[NumberOrigin],
    bold: &Format,
) -> std::result::Result<(), XlsxError> {
    let mut row = 0;
    let mut put = |sheet: &mut Worksheet, heading: &str, head: &[&str], lines: &[Vec<String>]| {
        if lines.is_empty() {
            return Ok::<(), XlsxError>(());
        }
        sheet.write_string_with_format(row, 0, heading, bold)?;
        row += 1;
        for (column, name) in (0..).zip(head) {
            sheet.write_string_with_format(row, column, *name, bold)?;
        }
        for line in lines {
            row += 1;
            for (column, cell) in (0..).zip(line) {
                sheet.write_string(row, column, cut(cell))?;
            }
        }
        row += 2;
        Ok(())
    };
    let pairs = |list: &[(String, String)]| -> Vec<Vec<String>> {
        list.iter().map(|(name, detail)| vec![name.clone(), detail.clone()]).collect()
    };
    let numbers: Vec<Vec<String>> = (origins.iter())
        .map(|origin| {
            let NumberOrigin { text, table, column, rows, operation, call } = origin.clone();
            vec![text, table, column, rows, operation, call]
        })
        .collect();
    put(
        sheet,
        "Where each number comes from",
        &["number", "table", "column", "rows", "operation", "call"],
        &numbers,
    )?;
    put(sheet, "Data", &["source", "tables"], &pairs(&input.sources))?;
    put(sheet, "Queries", &["what", "SQL"], &pairs(&input.queries))?;
    let mut proof = pairs(&input.proof);
    proof.push(vec!["Made".to_owned(), input.generated.clone()]);
    put(sheet, "Proof", &["what", "value"], &proof)?;
    for (column, width) in [(0, 30), (1, 60), (2, 24), (3, 14), (4, 14), (5, 38)] {
        sheet.set_column_width(column, width)?;
    }
    Ok(())
}

/// A unique sheet name: without the characters that Excel forbids, and within its length limit.
fn free_name(wanted: &str, names: &mut Vec<String>) -> String {
    let plain: String = (wanted.chars())
        .map(
            |c| if matches!(c, '[' | ']' | ':' | '*' | '?' | '/' | '\\') || c.is_control() { ' ' } else { c },
        )
        .collect();
    let plain = plain.trim_matches(['\'', ' ']);
    let plain = if plain.is_empty() { "Table" } else { plain };
    for count in 1.. {
        let end = if count == 1 { String::new() } else { format!(" {count}") };
        let room = LONGEST_NAME - end.len();
        let mut name = String::new();
        // Excel counts in UTF-16.
        for c in plain.chars() {
            if name.encode_utf16().count() + c.len_utf16() > room {
                break;
            }
            name.push(c);
        }
        let name = format!("{}{end}", name.trim_end_matches(['\'', ' ']));
        if !names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            names.push(name.clone());
            return name;
        }
    }
    plain.to_owned()
}

fn cut(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).take(MOST_LETTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::{NumberOrigin, free_name, workbook};
    use crate::frame::{Field, Frame, Kind, Unit, Value};
    use crate::report::ReportInput;
    use calamine::{Data, Reader as _, Xlsx};
    use chrono::NaiveDate;

    #[test]
    fn an_answer_is_a_workbook_that_says_where_its_numbers_come_from() {
        let day = NaiveDate::from_ymd_opt(2024, 3, 1).unwrap();
        let frame = Frame {
            name: "by_city".to_owned(),
            fields: vec![
                Field::new("city", Kind::Text),
                Field { unit: Unit::Currency('€'), ..Field::new("amount", Kind::Number) },
                Field::new("day", Kind::Date),
                Field::new("id", Kind::Integer),
            ],
            rows: vec![
                vec![
                    Value::Text("=1+1".to_owned()),
                    Value::Float(1.5),
                    Value::Date(day),
                    Value::Int(i64::MAX),
                ],
                vec![Value::Text("Rome".to_owned()), Value::Null, Value::Null, Value::Int(2)],
            ],
        };
        let input = ReportInput {
            question: "amount by city".to_owned(),
            answer: "The amount is **1.5**.".to_owned(),
            tables: vec![(&frame, "Amount by city: 2024/25, all of the departments together".to_owned())],
            queries: vec![("Amount".to_owned(), "SELECT 1".to_owned())],
            ..ReportInput::default()
        };
        let origin = NumberOrigin { text: "1.5".to_owned(), rows: "2".to_owned(), ..NumberOrigin::default() };
        let bytes = workbook(&input, &[], &[origin]).unwrap();
        let mut book: Xlsx<_> = Xlsx::new(std::io::Cursor::new(bytes)).unwrap();
        let names = book.sheet_names();
        assert_eq!(names, ["Answer", "Amount by city  2024 25, all of", "Sources"]);
        let table = book.worksheet_range(&names[1]).unwrap();
        assert_eq!(table.get((1, 0)), Some(&Data::String("=1+1".to_owned())), "text never becomes a formula");
        assert!(book.worksheet_formula(&names[1]).unwrap().is_empty());
        assert_eq!(table.get((1, 1)), Some(&Data::Float(1.5)));
        assert!(
            matches!(table.get((1, 2)), Some(Data::DateTime(time)) if time.as_datetime().unwrap().date() == day)
        );
        assert_eq!(table.get((1, 3)), Some(&Data::String(i64::MAX.to_string())), "no digit is lost");
        assert_eq!(table.get((2, 1)), Some(&Data::Empty));
        let sources = book.worksheet_range("Sources").unwrap();
        assert_eq!(sources.get((2, 0)), Some(&Data::String("1.5".to_owned())));
    }

    #[test]
    fn names_of_sheets_are_short_and_different() {
        let mut names = Vec::new();
        for wanted in ["a/b", "a:b", "", "'x'", &"long ".repeat(20), &"long ".repeat(20)] {
            let name = free_name(wanted, &mut names);
            assert!(name.encode_utf16().count() <= 31 && !name.contains(['/', ':']), "{name}");
        }
        assert_eq!(names.len(), 6);
    }
}
