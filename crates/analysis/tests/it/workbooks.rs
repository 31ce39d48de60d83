//! Workbooks: what people see as a table is a table, whatever surrounds it.

use crate::{code, open, rows, write};
use rust_xlsxwriter::{ExcelDateTime, Format, Formula, Workbook, Worksheet};
use std::io::{Read as _, Write as _};
use std::path::Path;

/// Saves a workbook with one sheet.
fn book(folder: &Path, name: &str, fill: impl FnOnce(&mut Worksheet)) -> String {
    let mut book = Workbook::new();
    fill(book.add_worksheet());
    let path = folder.join(name);
    book.save(&path).unwrap();
    path.display().to_string()
}

/// Writes rows of text and numbers from a place on.
fn put(sheet: &mut Worksheet, (row, column): (u32, u16), lines: &[&[&str]]) {
    for (down, line) in (0..).zip(lines) {
        for (right, cell) in (0..).zip(*line) {
            match cell.parse::<f64>() {
                Ok(number) => sheet.write_number(row + down, column + right, number).map(drop).unwrap(),
                Err(_) if cell.is_empty() => {}
                Err(_) => sheet.write_string(row + down, column + right, *cell).map(drop).unwrap(),
            }
        }
    }
}

async fn tables(path: &str) -> Vec<(String, Vec<String>, u64)> {
    let bench = open(&[path.to_owned()]).await.unwrap();
    let tables = bench.session.catalogue().tables.iter().map(|table| {
        let columns = table.columns.iter().map(|column| column.name.clone()).collect();
        (table.name.clone(), columns, table.rows.unwrap())
    });
    tables.collect()
}

#[tokio::test]
async fn one_sheet_is_called_after_the_file_and_cells_keep_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let path = book(folder.path(), "trips.xlsx", |sheet| {
        put(sheet, (0, 0), &[&["id", "fare", "paid", "started", "code"]]);
        let days = Format::new().set_num_format("yyyy-mm-dd hh:mm");
        for row in 1..4_u32 {
            sheet.write_number(row, 0, row).unwrap();
            sheet.write_number(row, 1, f64::from(row) + 0.125).unwrap();
            sheet.write_boolean(row, 2, row % 2 == 0).unwrap();
            let time = ExcelDateTime::from_ymd(2019, 3, 23).unwrap().and_hms(20, 21, row as u16).unwrap();
            sheet.write_datetime_with_format(row, 3, &time, &days).unwrap();
            sheet.write_string(row, 4, format!("00{row}")).unwrap();
        }
        sheet.write_formula(4, 1, Formula::new("=SUM(B2:B4)").set_result("6.375")).unwrap();
        sheet.write_number(4, 0, 4).unwrap();
    });
    let bench = open(&[path]).await.unwrap();
    assert_eq!(
        rows(&bench, "SELECT id, fare, paid, started, code FROM trips ORDER BY id").await,
        [
            ["1", "1.125", "false", "2019-03-23T20:21:01", "001"],
            ["2", "2.125", "true", "2019-03-23T20:21:02", "002"],
            ["3", "3.125", "false", "2019-03-23T20:21:03", "003"],
            ["4", "6.375", "", "", ""],
        ],
        "a formula's stored value is the cell's value"
    );
}

#[tokio::test]
async fn several_sheets_are_called_by_their_names_and_joined() {
    let folder = tempfile::tempdir().unwrap();
    let mut book = Workbook::new();
    put(
        book.add_worksheet().set_name("Orders").unwrap(),
        (0, 0),
        &[&["order_id", "customer_id", "amount"], &["1", "7", "10.5"], &["2", "8", "20"], &["3", "7", "5"]],
    );
    put(
        book.add_worksheet().set_name("Customers").unwrap(),
        (0, 0),
        &[&["customer_id", "name"], &["7", "Ada"], &["8", "Bo"]],
    );
    let notes = book.add_worksheet().set_name("Read me").unwrap();
    put(notes, (0, 0), &[&["These figures are preliminary."]]);
    let hidden = book.add_worksheet().set_name("old").unwrap();
    hidden.set_hidden(true);
    put(hidden, (0, 0), &[&["a", "b"], &["1", "2"]]);
    let path = folder.path().join("shop.xlsx");
    book.save(&path).unwrap();
    let bench = open(&[path.display().to_string()]).await.unwrap();
    let names: Vec<&str> = bench.session.catalogue().tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["orders", "customers"]);
    let sql =
        "SELECT name, sum(amount) FROM orders JOIN customers USING (customer_id) GROUP BY name ORDER BY name";
    assert_eq!(rows(&bench, sql).await, [["Ada", "15.5"], ["Bo", "20"]]);
    assert_eq!(bench.session.catalogue().joins.len(), 1);
    let said = bench.session.warnings().join("\n");
    assert!(said.contains("hidden sheets were left out: old"), "{said}");
    assert!(said.contains("no table was found on Read me"), "{said}");
}

#[tokio::test]
async fn titles_notes_and_totals_are_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = book(folder.path(), "report.xlsx", |sheet| {
        put(sheet, (0, 0), &[&["Sales by region"], &["All amounts in EUR"]]);
        put(
            sheet,
            (3, 0),
            &[
                &["region", "units", "amount"],
                &["North", "1", "10"],
                &["South", "2", "20.5"],
                &["Subtotal", "3", "30.5"],
                &["East", "4", "40"],
                &["Subtotal", "4", "40"],
                &["Total", "7", "70.5"],
            ],
        );
        put(sheet, (11, 0), &[&["Source: our own books"]]);
    });
    let bench = open(&[path]).await.unwrap();
    assert_eq!(bench.session.catalogue().tables.len(), 1);
    assert_eq!(rows(&bench, "SELECT count(*), sum(amount) FROM report").await, [["3", "70.5"]]);
    let said = bench.session.warnings().join("\n");
    assert!(said.contains("3 totals were left out") && said.contains("row 7 (Subtotal)"), "{said}");
    assert!(said.contains("Source: our own books"), "{said}");
}

#[tokio::test]
async fn a_row_that_is_only_named_total_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = book(folder.path(), "firms.xlsx", |sheet| {
        put(sheet, (0, 0), &[&["firm", "sales"], &["Shell", "10"], &["Total", "99"], &["BP", "7"]]);
    });
    let bench = open(&[path]).await.unwrap();
    assert_eq!(rows(&bench, "SELECT sum(sales) FROM firms").await, [["116"]]);
    assert!(bench.session.warnings().join("\n").contains("counted as data: row 3 (Total)"));
}

#[tokio::test]
async fn merged_headers_stand_over_their_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = book(folder.path(), "plan.xlsx", |sheet| {
        let plain = Format::new();
        sheet.merge_range(0, 0, 1, 0, "Region", &plain).unwrap();
        sheet.merge_range(0, 1, 0, 2, "Plan", &plain).unwrap();
        sheet.merge_range(0, 3, 0, 4, "Actual", &plain).unwrap();
        put(sheet, (1, 1), &[&["units", "amount", "units", "amount"]]);
        sheet.merge_range(2, 0, 3, 0, "North", &plain).unwrap();
        put(sheet, (2, 1), &[&["1", "10", "2", "20"], &["3", "30", "4", "40"]]);
        put(sheet, (4, 0), &[&["South", "5", "50", "6", "60"]]);
    });
    let found = tables(&path).await;
    assert_eq!(found[0].1, ["region", "plan_units", "plan_amount", "actual_units", "actual_amount"]);
    let bench = open(&[path]).await.unwrap();
    assert_eq!(
        rows(&bench, "SELECT region, sum(actual_amount) FROM plan GROUP BY region ORDER BY region").await,
        [["North", "60"], ["South", "60"]],
        "a cell merged over two rows counts in both"
    );
}

#[tokio::test]
async fn tables_side_by_side_and_below_each_other_are_several() {
    let folder = tempfile::tempdir().unwrap();
    let path = book(folder.path(), "board.xlsx", |sheet| {
        put(
            sheet,
            (0, 0),
            &[&["Sales"], &["city", "amount"], &["Rome", "1"], &["Bari", "2"], &["Pisa", "3"]],
        );
        put(sheet, (1, 4), &[&["product", "price", "stock"], &["pen", "1.5", "10"], &["ink", "2.5", "20"]]);
        put(sheet, (8, 0), &[&["Staff"], &["name", "age"], &["Ada", "36"], &["Bo", "41"]]);
    });
    let found = tables(&path).await;
    let shape: Vec<(&str, usize, u64)> =
        found.iter().map(|(name, columns, rows)| (name.as_str(), columns.len(), *rows)).collect();
    assert_eq!(shape, [("sales", 2, 3), ("staff", 2, 2), ("board_3", 3, 2)]);
}

#[tokio::test]
async fn a_blank_line_inside_a_table_does_not_cut_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = book(folder.path(), "gaps.xlsx", |sheet| {
        put(sheet, (0, 0), &[&["city", "amount"], &["Rome", "1"], &["Bari", "2"]]);
        put(sheet, (4, 0), &[&["Pisa", "3"], &["Lodi", "4"]]);
    });
    let bench = open(&[path]).await.unwrap();
    assert_eq!(rows(&bench, "SELECT count(*), sum(amount) FROM gaps").await, [["4", "10"]]);
}

#[tokio::test]
async fn months_as_columns_are_offered_as_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = book(folder.path(), "budget.xlsx", |sheet| {
        put(
            sheet,
            (0, 0),
            &[
                &["department", "Jan 2024", "Feb 2024", "Mar 2024", "Apr 2024", "Total"],
                &["IT", "1", "2", "3", "4", "10"],
                &["HR", "5", "6", "7", "8", "26"],
            ],
        );
    });
    let bench = open(&[path]).await.unwrap();
    let sql = "SELECT month, sum(value) FROM budget_long GROUP BY month ORDER BY month";
    assert_eq!(
        rows(&bench, sql).await,
        [["2024-01-01", "6"], ["2024-02-01", "8"], ["2024-03-01", "10"], ["2024-04-01", "12"]]
    );
    assert_eq!(rows(&bench, "SELECT sum(total) FROM budget").await, [["36"]], "the wide one is still there");
}

/// A workbook whose only sheet has these cells, as other programs write it.
fn raw_book(cells: &str) -> Vec<u8> {
    let workbook = r#"<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>"#;
    let rels = r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#;
    let sheet = format!(
        r#"<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{cells}</sheetData></worksheet>"#
    );
    let root = r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
    zipped(&[
        ("_rels/.rels", root),
        ("xl/workbook.xml", workbook),
        ("xl/_rels/workbook.xml.rels", rels),
        ("xl/worksheets/sheet1.xml", &sheet),
    ])
}

#[tokio::test]
async fn formulas_that_were_never_computed_are_said() {
    let cells = r#"<row r="1"><c r="A1" t="str"><v>a</v></c><c r="B1" t="str"><v>b</v></c></row><row r="2"><c r="A2"><v>1</v></c><c r="B2"><f>A2*2</f><v></v></c></row><row r="3"><c r="A3"><v>2</v></c><c r="B3"><v>7</v></c></row>"#;
    let folder = tempfile::tempdir().unwrap();
    let bench = open(&[write(folder.path(), "fresh.xlsx", raw_book(cells))]).await.unwrap();
    assert_eq!(rows(&bench, "SELECT a, b FROM fresh ORDER BY a").await, [["1", ""], ["2", "7"]]);
    let said = bench.session.warnings().join("\n");
    assert!(said.contains("1 formula on the sheet has no stored value"), "{said}");
}

/// A zip archive of texts.
pub(crate) fn zipped(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in parts {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

const ODS: &str = "application/vnd.oasis.opendocument.spreadsheet";

fn ods(content: &str) -> Vec<u8> {
    let head = r#"<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>"#;
    let end = "</office:spreadsheet></office:body></office:document-content>";
    let manifest = r#"<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>"#;
    let content = format!("{head}{content}{end}");
    zipped(&[("mimetype", ODS), ("META-INF/manifest.xml", manifest), ("content.xml", &content)])
}

#[tokio::test]
async fn open_document_sheets_are_read() {
    let text = |text: &str| {
        format!(r#"<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>"#)
    };
    let number = |n: &str| {
        format!(
            r#"<table:table-cell office:value-type="float" office:value="{n}"><text:p>{n}</text:p></table:table-cell>"#
        )
    };
    let date = |d: &str| {
        format!(
            r#"<table:table-cell office:value-type="date" office:date-value="{d}"><text:p>{d}</text:p></table:table-cell>"#
        )
    };
    let row = |cells: &[String]| format!("<table:table-row>{}</table:table-row>", cells.concat());
    let body = [
        row(&[text("city"), text("amount"), text("day")]),
        row(&[text("Rome"), number("1.5"), date("2024-03-01")]),
        row(&[text("Bari"), number("2"), date("2024-03-02")]),
    ];
    let content = format!(r#"<table:table table:name="Sheet1">{}</table:table>"#, body.concat());
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "orte.ods", ods(&content));
    let bench = open(&[path]).await.unwrap();
    assert_eq!(
        rows(&bench, "SELECT city, amount, day FROM orte ORDER BY city").await,
        [["Bari", "2", "2024-03-02"], ["Rome", "1.5", "2024-03-01"]]
    );
}

#[tokio::test]
async fn broken_protected_and_giant_workbooks_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let good = book(folder.path(), "good.xlsx", |sheet| {
        put(sheet, (0, 0), &[&["a", "b"], &["1", "2"], &["3", "4"]]);
    });
    let mut bytes = Vec::new();
    std::fs::File::open(&good).unwrap().read_to_end(&mut bytes).unwrap();
    let cut = write(folder.path(), "cut.xlsx", &bytes[..bytes.len() / 2]);
    let wide = raw_book(r#"<row r="1"><c r="A1"><v>1</v></c><c r="BDWGN1"><v>2</v></c></row>"#);
    let far: String =
        (1..3_000).map(|row| format!(r#"<row r="{row}"><c r="XFD{row}"><v>1</v></c></row>"#)).collect();
    let absurd = raw_book(r#"<row r="1"><c r="ZZZZZZZZZZ99999999999"><v>1</v></c></row>"#);
    let zeros = format!("<row r=\"1\"><c r=\"A1\" t=\"str\"><v>{}</v></c></row>", "0".repeat(70 << 20));
    let encrypted = zipped(&[
        ("mimetype", ODS),
        ("META-INF/manifest.xml", "<manifest:manifest><manifest:encryption-data/></manifest:manifest>"),
        ("content.xml", "\u{1}\u{2}not xml"),
    ]);
    let endless = zipped(&[
        ("mimetype", ODS),
        ("META-INF/manifest.xml", "<manifest/>"),
        (
            "content.xml",
            "<office:document-content><office:body><office:spreadsheet><table:table table:name=\"a\"><table:table-row>",
        ),
    ]);
    for (name, bytes, expected, words) in [
        ("cut.xlsx", std::fs::read(&cut).unwrap(), "ANA002", "damaged or cut off"),
        ("wide.xlsx", wide, "ANA002", "column 1000000"),
        ("far.xlsx", raw_book(&far), "ANA002", "cells far from all others"),
        ("absurd.xlsx", absurd, "ANA002", "damaged"),
        ("bomb.xlsx", raw_book(&zeros), "ANA012", "decompression bomb"),
        ("secret.ods", encrypted, "ANA011", "password"),
        ("endless.ods", endless, "ANA002", "ends too early"),
        (
            "page.xls",
            b"<html><body><table><tr><td>1</td></tr></table></body></html>".to_vec(),
            "ANA002",
            "web page",
        ),
    ] {
        let path = write(folder.path(), name, bytes);
        let error = open(&[path]).await.err().unwrap_or_else(|| panic!("{name} was opened"));
        assert_eq!(code(&error), expected, "{name}: {error}");
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
}

#[tokio::test]
async fn a_wrong_ending_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let good = book(folder.path(), "good.xlsx", |sheet| put(sheet, (0, 0), &[&["a", "b"], &["1", "2"]]));
    let named = write(folder.path(), "book.csv", std::fs::read(good).unwrap());
    assert_eq!(rows(&open(&[named]).await.unwrap(), "SELECT a, b FROM book").await, [["1", "2"]]);
    let text = write(folder.path(), "export.xlsx", "a,b\n1,2\n");
    let bench = open(&[text]).await.unwrap();
    assert_eq!(rows(&bench, "SELECT a, b FROM export").await, [["1", "2"]]);
    assert!(bench.session.warnings()[0].contains("named .xlsx but is text"));
}
