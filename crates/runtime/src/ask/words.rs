//! The text of an answer, computed from the rows. Each number has the call and the cells that it
//! comes from.

use super::answer::{Answer, Evidence, Shown};
use chrono::NaiveDate;
use std::time::Duration;
use steward_analysis::about::{COLUMNS, FIRST_ROWS};
use steward_analysis::findings::Finding;
use steward_analysis::frame::{Frame, Unit, Value, show};
use steward_analysis::query::{Expr, Grain};
use steward_analysis::session::OpenProgress;
use steward_analysis::shape;
use steward_domain::CallId;

/// Listed rows with more columns are not described by one of their numbers.
const MOST_DESCRIBED: usize = 4;

/// Writes the text: that of a procedure, or the first table in a sentence, then findings.
pub(super) fn tell(
    answer: &mut Answer,
    found: Vec<(CallId, Vec<Finding>)>,
    spoken: &[String],
    values: &[(String, Value)],
) {
    let mut lines: Vec<String> = spoken.to_vec();
    let calls: Vec<CallId> = found.iter().map(|(call, _)| *call).collect();
    if let (Some(first), Some(call)) = (answer.tables.first(), calls.first())
        && lines.is_empty()
    {
        let lone = first.frame.rows.len() == 1;
        let (line, evidence) = if lone { None } else { headline(&answer.tables, &calls) }
            .unwrap_or_else(|| sentence(first, *call, &Wording::of(answer, first)));
        lines.push(line);
        answer.evidence.extend(evidence);
    }
    let many = answer.tables.len() > 1;
    for (index, (call, list)) in found.into_iter().enumerate() {
        let Some(table) = answer.tables.get(index) else { continue };
        // A single number or a short list needs no findings.
        let as_such = matches!(table.frame.name.as_str(), COLUMNS | FIRST_ROWS);
        let worth = table.frame.rows.len() > 2 && values.is_empty() && !as_such;
        for finding in list.into_iter().take(if index == 0 { 3 } else { 1 }).filter(|_| worth) {
            answer.evidence.extend(finding.cells.into_iter().map(|cell| Evidence {
                text: cell.text,
                call_id: call,
                table: table.frame.name.clone(),
                column: cell.column,
                rows: cell.rows,
                operation: cell.operation,
            }));
            let text =
                if many && index > 0 { format!("{}: {}", table.title, finding.text) } else { finding.text };
            answer.response.summary.key_findings.push(text);
        }
    }
    // The text of a procedure already has its values.
    if spoken.is_empty() {
        let line = |(name, value): &(String, Value)| format!("{name}: {}", show(value, Unit::Plain));
        answer.response.summary.key_findings.extend(values.iter().map(line));
    }
    answer.answer = lines.join("\n");
    if answer.answer.trim().is_empty() {
        "There is nothing to show.".clone_into(&mut answer.answer);
    }
}

/// What the query says about the wording of its result.
#[derive(Debug, Default)]
struct Wording {
    /// The columns that are periods.
    grains: Vec<Option<Grain>>,
    /// The column that the question is about.
    main: Option<String>,
    /// The first day of a last period that is not finished.
    unfinished: Option<NaiveDate>,
    /// Rows are listed as they are, in the order of this column.
    listed_by: Option<String>,
    /// At most so many rows were asked for.
    limit: Option<u64>,
}

impl Wording {
    fn of(answer: &Answer, table: &Shown) -> Self {
        let Some(reading) = &answer.reading else { return Self::default() };
        let place = reading.queries.iter().position(|named| named.name == table.frame.name);
        let Some((place, named)) = place.and_then(|place| Some((place, reading.queries.get(place)?))) else {
            return Self::default();
        };
        let query = &named.query;
        let wish = reading.charts.iter().find(|wish| wish.query == place);
        let order = query.order.first().and_then(|(expr, _)| match expr {
            Expr::Column(_, name) => Some(name.clone()),
            _ => None,
        });
        Self {
            grains: shape::grains(query),
            main: wish.and_then(|wish| wish.y.first().cloned()),
            unfinished: answer.unfinished.map(|period| period.from),
            listed_by: order.filter(|_| shape::lists_rows(query)),
            limit: query.limit,
        }
    }
}

/// The first table in a sentence.
fn sentence(table: &Shown, call: CallId, wording: &Wording) -> (String, Vec<Evidence>) {
    let frame = &table.frame;
    let cell = |row: usize, column: usize| {
        let value = frame.cell(row, column);
        let day = match value {
            Value::Date(day) => Some(*day),
            Value::Time(moment) => Some(moment.date()),
            _ => None,
        };
        let grain = wording.grains.get(column).copied().flatten();
        match (day, grain) {
            (Some(day), Some(grain @ (Grain::Month | Grain::Quarter | Grain::Year))) => {
                shape::period_words(day, grain)
            }
            _ => show(value, frame.fields.get(column).map(|field| field.unit).unwrap_or_default()),
        }
    };
    let trace = |row: usize, column: usize| Evidence {
        text: cell(row, column),
        call_id: call,
        table: frame.name.clone(),
        column: frame.fields.get(column).map(|field| field.name.clone()).unwrap_or_default(),
        rows: vec![row],
        operation: "value".to_owned(),
    };
    let label = |column: usize| {
        frame.fields.get(column).map(|field| field.name.replace('_', " ")).unwrap_or_default()
    };
    let list = |rows: usize, of: &dyn Fn(usize) -> String| {
        let some: Vec<String> = (0..rows.min(10)).map(of).collect();
        let rest = if rows > 10 { format!(" and {} more", rows - 10) } else { String::new() };
        format!("{}{rest}", some.join(", "))
    };
    let columns = frame.fields.len();
    match frame.name.as_str() {
        COLUMNS => return (columns_line(frame, &cell), Vec::new()),
        FIRST_ROWS if !frame.rows.is_empty() => {
            return (format!("The first {} rows, with {columns} columns.", frame.rows.len()), Vec::new());
        }
        _ => {}
    }
    match (frame.rows.len(), columns) {
        (0, _) => ("There is nothing that fits.".to_owned(), Vec::new()),
        (1, 1) => (format!("{}: {}.", capital(&label(0)), cell(0, 0)), vec![trace(0, 0)]),
        (1, _) => {
            let parts: Vec<String> =
                (0..columns.min(8)).map(|column| format!("{} {}", label(column), cell(0, column))).collect();
            (
                format!("{}.", capital(&parts.join(", "))),
                (0..columns.min(8)).map(|column| trace(0, column)).collect(),
            )
        }
        (rows, 1) => (
            format!("{}: {}.", capital(&label(0)), list(rows, &|row| cell(row, 0))),
            (0..rows.min(10)).map(|row| trace(row, 0)).collect(),
        ),
        (rows, 2) if rows <= 10 => {
            let evidence = (0..rows).flat_map(|row| [trace(row, 0), trace(row, 1)]).collect();
            let pairs = list(rows, &|row| format!("{} ({})", cell(row, 0), cell(row, 1)));
            (format!("{} by {}: {pairs}.", capital(&label(1)), label(0)), evidence)
        }
        (rows, _) if columns > MOST_DESCRIBED && wording.listed_by.is_some() => listed(table, wording, &cell)
            .map_or_else(
                || (format!("{}: {rows} rows.", table.title), Vec::new()),
                |(line, cells)| (line, cells.into_iter().map(|(row, column)| trace(row, column)).collect()),
            ),
        (rows, _) => extremes(frame, wording, &cell, &label).map_or_else(
            || {
                let names: Vec<String> = (0..columns.min(6)).map(label).collect();
                let rows = steward_analysis::frame::group(rows as f64, 0, false);
                (format!("{rows} rows with {}.", names.join(", ")), Vec::new())
            },
            |(line, cells)| (line, cells.into_iter().map(|(row, column)| trace(row, column)).collect()),
        ),
    }
}

/// The number of columns, and their names.
fn columns_line(frame: &Frame, cell: &dyn Fn(usize, usize) -> String) -> String {
    let mut tables: Vec<(String, Vec<String>)> = Vec::new();
    for row in 0..frame.rows.len() {
        let (table, column) = (cell(row, 1), format!("{} ({})", cell(row, 2), cell(row, 3)));
        match tables.iter_mut().find(|(known, _)| *known == table) {
            Some((_, columns)) => columns.push(column),
            None => tables.push((table, vec![column])),
        }
    }
    let lines = tables
        .iter()
        .map(|(table, columns)| format!("{table} has {} columns: {}.", columns.len(), columns.join(", ")));
    lines.collect::<Vec<_>>().join("\n")
}

/// The largest and the smallest value of the first measure, with their labels.
fn extremes(
    frame: &Frame,
    wording: &Wording,
    cell: &dyn Fn(usize, usize) -> String,
    label: &dyn Fn(usize) -> String,
) -> Option<(String, Vec<(usize, usize)>)> {
    let is_measure =
        |column: &usize| {
            frame.fields.get(*column).is_some_and(|field| {
                field.kind.is_number() && field.unit != Unit::Year && field.name != "rank"
            }) && frame.column(*column).any(|value| value.number().is_some())
        };
    let measure = (1..frame.fields.len()).find(is_measure)?;
    // What stands before the first number names the rows; the number that is meant may stand later.
    let names = measure;
    let main = wording.main.as_deref().and_then(|name| frame.position(name));
    let measure = main.filter(|column| *column > measure && is_measure(column)).unwrap_or(measure);
    let is_whole = |row: &usize| {
        let Some(from) = wording.unfinished else { return true };
        (0..names).all(|column| match frame.cell(*row, column) {
            Value::Date(day) => *day < from,
            Value::Time(moment) => moment.date() < from,
            _ => true,
        })
    };
    let whole = (0..frame.rows.len()).filter(is_whole);
    let numbers = || whole.clone().filter_map(|row| Some((row, frame.cell(row, measure).number()?)));
    let (highest, _) = numbers().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    let (lowest, _) = numbers().min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)))?;
    let name = |row: usize| (0..names).map(|column| cell(row, column)).collect::<Vec<_>>().join(" · ");
    let line = format!(
        "{} is highest for {} ({}) and lowest for {} ({}), of {} rows.",
        capital(&label(measure)),
        name(highest),
        cell(highest, measure),
        name(lowest),
        cell(lowest, measure),
        frame.rows.len()
    );
    let labels = |row: usize| (0..names).chain([measure]).map(move |column| (row, column));
    Some((line, labels(highest).chain(labels(lowest)).collect()))
}

/// Rows that are listed as they are: how many, and the range of what they are ordered by.
fn listed(
    table: &Shown,
    wording: &Wording,
    cell: &dyn Fn(usize, usize) -> String,
) -> Option<(String, Vec<(usize, usize)>)> {
    let frame = &table.frame;
    let column = frame.position(wording.listed_by.as_deref()?)?;
    let name = frame.fields.get(column)?.name.replace('_', " ");
    let last = frame.rows.len().checked_sub(1)?;
    let count = steward_analysis::frame::group(frame.rows.len() as f64, 0, false);
    let first = if wording.limit == Some(frame.rows.len() as u64) { "the first " } else { "" };
    let (from, to) = (cell(0, column), cell(last, column));
    let line = format!("{}: {first}{count} rows, ordered by {name}, from {from} to {to}.", table.title);
    Some((line, vec![(0, column), (last, column)]))
}

/// The total in one line, with its change against the previous period.
fn headline(tables: &[Shown], calls: &[CallId]) -> Option<(String, Vec<Evidence>)> {
    let find = |name: &str| {
        tables.iter().zip(calls).find(|(table, _)| table.frame.name == name && table.frame.rows.len() == 1)
    };
    let (totals, call) = find("totals")?;
    let field = totals.frame.fields.first()?;
    let total = totals.frame.cell(0, 0);
    let mut evidence = vec![traced(&totals.frame, *call, 0)];
    let mut line = format!("{}: {}", capital(&field.name.replace('_', " ")), show(total, field.unit));
    if let Some((compared, call)) = tables
        .iter()
        .zip(calls)
        .find(|(table, _)| table.title.starts_with("Compared") && table.frame.rows.len() == 1)
    {
        for place in 1..compared.frame.fields.len() {
            let (Some(now), Some(before), Some(name)) =
                (total.number(), compared.frame.cell(0, place).number(), compared.frame.fields.get(place))
            else {
                continue;
            };
            if before != 0.0 {
                let change = 100.0 * (now - before) / before.abs();
                let way = if change >= 0.0 { "up" } else { "down" };
                line.push_str(&format!(
                    ", {way} {} % from {} ({})",
                    steward_analysis::frame::group(change.abs(), 1, false),
                    show(compared.frame.cell(0, place), name.unit),
                    name.name
                ));
                evidence.push(traced(&compared.frame, *call, place));
            }
        }
    }
    Some((format!("{line}."), evidence))
}

fn traced(frame: &Frame, call_id: CallId, column: usize) -> Evidence {
    let field = frame.fields.get(column);
    Evidence {
        text: show(frame.cell(0, column), field.map(|field| field.unit).unwrap_or_default()),
        call_id,
        table: frame.name.clone(),
        column: field.map(|field| field.name.clone()).unwrap_or_default(),
        rows: vec![0],
        operation: "value".to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The time before progress is reported.
const QUICK: Duration = Duration::from_secs(2);

/// The progress: "Reading the data: 12 of 27 sources, 35 of 78 MB, about 4 s left".
pub(super) fn reading(progress: OpenProgress, took: Duration) -> Option<String> {
    if took < QUICK || progress.of < 2 || progress.sources == progress.of {
        return None;
    }
    let mut said = format!("Reading the data: {} of {} sources", progress.sources, progress.of);
    let (read, all) = (progress.bytes, progress.of_bytes);
    if read > 0 && all >= read {
        let left = took.as_secs_f64() * (all - read) as f64 / read as f64;
        said.push_str(&format!(
            ", {} of {} MB, about {:.0} s left",
            read / 1_000_000,
            all / 1_000_000,
            left.ceil()
        ));
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_read_reports_progress() {
        let progress = OpenProgress { sources: 12, of: 27, bytes: 20_000_000, of_bytes: 80_000_000 };
        assert_eq!(reading(progress, Duration::from_secs(1)), None);
        assert_eq!(
            reading(progress, Duration::from_secs(3)).as_deref(),
            Some("Reading the data: 12 of 27 sources, 20 of 80 MB, about 9 s left")
        );
        let servers = OpenProgress { sources: 1, of: 2, ..OpenProgress::default() };
        assert_eq!(
            reading(servers, Duration::from_secs(3)).as_deref(),
            Some("Reading the data: 1 of 2 sources")
        );
        assert_eq!(reading(OpenProgress { sources: 2, ..servers }, Duration::from_secs(3)), None);
    }
}
