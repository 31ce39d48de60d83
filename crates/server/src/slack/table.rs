//! Tables in chat messages: the first rows as preformatted text, all rows as a file.

use steward_language::answer::{self, plain};
use steward_runtime::converse;

/// The maximum number of rows in a message.
const ROWS: usize = 20;
/// The maximum line width in a message.
const WIDTH: usize = 100;
/// The maximum number of characters of a cell.
const CELL: usize = 40;
/// The maximum number of characters of a table.
const LETTERS: usize = 2800;

/// Rows as text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rows {
    /// The title.
    pub(super) title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Formatted rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drawn {
    /// The text for the message. `None` if the rows are too wide.
    pub(super) text: Option<String>,
    /// All rows as CSV, if the message does not contain all of them.
    pub(super) csv: Option<Vec<u8>>,
}

impl From<&converse::Shown> for Rows {
    fn from(shown: &converse::Shown) -> Self {
        let answer::Table { noun, columns, rows, .. } = &shown.table;
        let title = [Some(shown.source.clone()), noun.clone()].into_iter().flatten();
        let title: Vec<String> = title.filter(|part| !part.is_empty()).collect();
        let rows = rows.iter().map(|row| row.iter().map(plain).collect()).collect();
        Self { title: title.join(": "), columns: columns.clone(), rows }
    }
}

impl Rows {
    pub(super) fn new(title: String, columns: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        Self { title, columns, rows }
    }

    /// Whether the text of the answer already contains the whole table.
    pub(super) fn is_small(&self) -> bool {
        self.rows.is_empty() || (self.rows.len() == 1 && self.columns.len() <= 1)
    }

    pub(super) fn draw(&self) -> Drawn {
        let head = std::iter::once(&self.columns);
        let cells = |row: &Vec<String>| row.iter().map(|cell| short(cell)).collect::<Vec<_>>();
        let lines: Vec<Vec<String>> = head.chain(self.rows.iter().take(ROWS)).map(cells).collect();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| lines.iter().filter_map(|line| line.get(at)).map(|cell| cell.chars().count()).max())
            .map(Option::unwrap_or_default)
            .collect();
        let wide = widths.iter().map(|width| width + 2).sum::<usize>() > WIDTH + 2;
        let mut text = String::new();
        for (place, line) in lines.iter().enumerate() {
            text.push_str(laid(line, &widths).trim_end());
            text.push('\n');
            if place == 0 {
                text.push_str(&widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("  "));
                text.push('\n');
            }
        }
        let wide = wide || text.chars().count() > LETTERS;
        let left = self.rows.len().saturating_sub(ROWS);
        if left > 0 {
            text.push_str(&format!("… and {left} more in the file\n"));
        }
        let shortened = self.rows.iter().take(ROWS).flatten().any(|cell| cell.chars().count() > CELL);
        Drawn { csv: (wide || left > 0 || shortened).then(|| self.csv()), text: (!wide).then_some(text) }
    }

    fn csv(&self) -> Vec<u8> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        // Writing to memory does not fail.
        for row in std::iter::once(&self.columns).chain(&self.rows) {
            let _written = writer.write_record(row.iter().map(|cell| harmless(cell)));
        }
        writer.into_inner().unwrap_or_default()
    }
}

/// Escapes a cell that a spreadsheet would execute as a formula.
fn harmless(cell: &str) -> String {
    let formula = cell.starts_with(['=', '@', '\t', '\r'])
        || (cell.starts_with(['+', '-']) && cell.parse::<f64>().is_err());
    if formula { format!("'{cell}") } else { cell.to_owned() }
}

fn short(cell: &str) -> String {
    let line: String = cell.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if line.chars().count() > CELL { line.chars().take(CELL - 1).chain(['…']).collect() } else { line }
}

fn laid(line: &[String], widths: &[usize]) -> String {
    let cells = line.iter().zip(widths).map(|(cell, width)| {
        let space = " ".repeat(width.saturating_sub(cell.chars().count()));
        // Numbers are right-aligned.
        if cell.parse::<f64>().is_ok() { format!("{space}{cell}") } else { format!("{cell}{space}") }
    });
    cells.collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize, cell: &str) -> Rows {
        let row = |number: usize| vec![number.to_string(), cell.to_owned()];
        let columns = vec!["id".to_owned(), "title".to_owned()];
        Rows { title: String::new(), columns, rows: (1..=count).map(row).collect() }
    }

    #[test]
    fn few_rows_are_shown_in_the_message() {
        let drawn = rows(2, "milk").draw();
        assert_eq!(drawn.text.unwrap(), "id  title\n──  ─────\n 1  milk\n 2  milk\n");
        assert_eq!(drawn.csv, None);
    }

    #[test]
    fn many_rows_and_long_cells_are_also_a_file() {
        let drawn = rows(30, "milk").draw();
        let text = drawn.text.unwrap();
        assert!(
            text.contains("20  milk") && !text.contains("21  milk") && text.contains("10 more"),
            "{text}"
        );
        let file = String::from_utf8(drawn.csv.unwrap()).unwrap();
        assert_eq!(file.lines().count(), 31);
        assert!(rows(1, &"x".repeat(60)).draw().csv.is_some());
    }

    #[test]
    fn wide_table_is_sent_as_file_only() {
        let columns: Vec<String> = (0..30).map(|number| format!("column {number}")).collect();
        let wide = Rows { title: String::new(), rows: vec![columns.clone()], columns };
        let drawn = wide.draw();
        assert!(drawn.text.is_none() && drawn.csv.is_some());
    }

    #[test]
    fn csv_cell_is_never_a_formula() {
        let mut rows = rows(1, "=HYPERLINK(\"x\")");
        rows.rows.push(vec!["-3".to_owned(), "+cmd".to_owned()]);
        assert_eq!(
            String::from_utf8(rows.csv()).unwrap(),
            "id,title\n1,\"'=HYPERLINK(\"\"x\"\")\"\n-3,'+cmd\n"
        );
    }
}
