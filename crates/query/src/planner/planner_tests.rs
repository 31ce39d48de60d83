//! The main mechanisms, on a small made-up library: authors, books, members and loans.

use chrono::NaiveDate;

use super::{ChartKind, Intent, NoMeaning, Outcome, Reading, read};
use crate::catalogue::{Catalogue, Column, Evidence, Join, Table};
use crate::frame::{Kind, Unit, Value};
use crate::query::Dialect;
use crate::sql::{supports, write};

fn column(name: &str, kind: Kind, values: &[&str], seen: u64) -> Column {
    let distinct = values.len() as u64;
    let numbers: Vec<f64> = values.iter().filter_map(|value| value.parse().ok()).collect();
    let (mut min, mut max) = (Value::Null, Value::Null);
    if kind.is_number() {
        min = numbers.iter().copied().reduce(f64::min).map_or(Value::Null, Value::Float);
        max = numbers.iter().copied().reduce(f64::max).map_or(Value::Null, Value::Float);
    }
    if kind.is_time() {
        min = values.iter().min().and_then(|day| day.parse().ok()).map_or(Value::Null, Value::Date);
        max = values.iter().max().and_then(|day| day.parse().ok()).map_or(Value::Null, Value::Date);
    }
    let values = values.iter().map(|value| ((*value).to_owned(), seen / distinct.max(1))).collect();
    let (name, label) = (name.to_owned(), name.to_owned());
    Column {
        name,
        label,
        kind,
        unit: Unit::Plain,
        nulls: 0,
        seen,
        distinct,
        min,
        max,
        values,
        complete: true,
        looks_like: None,
    }
}

fn table(name: &str, key: &str, rows: u64, columns: Vec<Column>) -> Table {
    let primary_key = vec![key.to_owned()];
    Table { name: name.to_owned(), label: name.to_owned(), source: 0, columns, rows: Some(rows), primary_key }
}

fn join(from: (&str, &str), to: (&str, &str)) -> Join {
    let side = |(table, column): (&str, &str)| (table.to_owned(), vec![column.to_owned()]);
    Join { from: side(from), to: side(to), evidence: Evidence::Constraint }
}

fn library() -> Catalogue {
    let authors = vec![
        column("author_id", Kind::Integer, &["1", "2", "3", "4"], 4),
        column("name", Kind::Text, &["Ann Lee", "Bo Moss", "Cy Ford", "Di Hart"], 4),
        column("country", Kind::Text, &["France", "Japan"], 4),
        column("birth_year", Kind::Integer, &["1950", "1961", "1972", "1983"], 4),
    ];
    let books = vec![
        column("book_id", Kind::Integer, &["1", "2", "3", "4", "5", "6"], 6),
        column(
            "title",
            Kind::Text,
            &["Red Sea", "Blue Hill", "Old Oak", "New Dawn", "Far Star", "Low Tide"],
            6,
        ),
        column("genre", Kind::Text, &["crime", "poetry", "travel"], 6),
        column("pages", Kind::Integer, &["120", "240", "310", "95", "400", "205"], 6),
        column("author_id", Kind::Integer, &["1", "2", "3"], 6),
    ];
    let loans = vec![
        column("loan_id", Kind::Integer, &["1", "2", "3"], 600),
        column("book_id", Kind::Integer, &["1", "2", "3"], 600),
        column("branch", Kind::Text, &["North", "South", "Harbour"], 600),
        column("loan_date", Kind::Date, &["2020-01-02", "2021-06-01", "2022-12-30"], 600),
        column("fee_amount", Kind::Number, &["0.5", "1.5", "2.5"], 600),
        column("late", Kind::Text, &["yes", "no"], 600),
    ];
    let tables = vec![
        table("authors", "author_id", 4, authors),
        table("books", "book_id", 6, books),
        table("loans", "loan_id", 600, loans),
    ];
    let joins = vec![
        join(("books", "author_id"), ("authors", "author_id")),
        join(("loans", "book_id"), ("books", "book_id")),
    ];
    Catalogue { tables, joins }
}

fn today() -> NaiveDate {
    NaiveDate::from_ymd_opt(2023, 1, 10).unwrap()
}

fn reading(question: &str, earlier: Option<&Reading>) -> Reading {
    match read(question, &library(), earlier, today(), &NoMeaning) {
        Outcome::Read(reading) => reading,
        other => panic!("{question}: {other:?}"),
    }
}

fn sql_of(reading: &Reading) -> String {
    write(&reading.queries[0].query, Dialect::Sqlite)
        .replace('"', "")
        .replace(" COLLATE NOCASE", "")
        .replace(" NULLS LAST", "")
}

fn sql(question: &str) -> String {
    sql_of(&reading(question, None))
}

#[test]
fn counts_rows_and_different_values() {
    assert_eq!(sql("How many books are there?"), "SELECT count(*) AS number of books FROM books AS books");
    assert_eq!(
        sql("How many different genres are there?"),
        "SELECT count(DISTINCT books.genre) AS number of different genre FROM books AS books"
    );
}

#[test]
fn a_value_finds_its_column() {
    assert!(sql("names of authors from Japan").ends_with("WHERE authors.country = 'Japan'"));
    assert!(sql("names of authors who are French").ends_with("WHERE authors.country = 'France'"));
    assert!(sql("Show the pages of \"Blue Hill\"").ends_with("WHERE books.title = 'Blue Hill'"));
    assert!(sql("What is the genre of Blu Hill?").ends_with("WHERE books.title = 'Blue Hill'"));
}

#[test]
fn comparisons_ranges_and_negation() {
    assert!(sql("titles of books with more than 200 pages").ends_with("WHERE books.pages > 200"));
    assert!(
        sql("titles of books with pages between 100 and 300")
            .ends_with("(books.pages >= 100 AND books.pages <= 300)")
    );
    assert!(sql("titles of books whose genre is not crime").ends_with("WHERE books.genre <> 'crime'"));
    assert!(
        sql("titles of books whose genre is crime or travel")
            .ends_with("WHERE books.genre IN ('crime', 'travel')")
    );
}

#[test]
fn aggregates_and_groups() {
    assert_eq!(
        sql("What is the average and maximum pages for each genre?"),
        "SELECT books.genre AS genre, avg(books.pages) AS average pages, max(books.pages) AS highest pages \
         FROM books AS books GROUP BY books.genre"
    );
    assert!(sql("number of books per genre").ends_with("GROUP BY books.genre"));
}

#[test]
fn superlatives_order_and_limit() {
    assert!(sql("title of the book with the most pages").ends_with("ORDER BY books.pages DESC LIMIT 1"));
    assert!(sql("Which author is the oldest?").ends_with("ORDER BY authors.birth_year ASC LIMIT 1"));
    assert!(sql("top 3 books by pages").ends_with("ORDER BY books.pages DESC LIMIT 3"));
    assert!(sql("titles of books in descending order of pages").ends_with("ORDER BY books.pages DESC"));
    assert_eq!(
        sql("What is the highest pages?"),
        "SELECT max(books.pages) AS highest pages FROM books AS books"
    );
}

#[test]
fn joins_over_more_than_one_step() {
    let text = sql("How many loans are there for authors from Japan?");
    assert!(text.contains("JOIN books") && text.contains("JOIN authors"), "{text}");
    assert!(text.contains("authors.country = 'Japan'"), "{text}");
}

#[test]
fn having_absence_and_averages() {
    let text = sql("names of authors with at least 2 books");
    assert!(text.ends_with("HAVING count(*) >= 2"), "{text}");
    let text = sql("names of authors without any books");
    assert!(text.contains("authors.author_id NOT IN (SELECT books.author_id"), "{text}");
    let text = sql("titles of books with pages above average");
    assert!(text.contains("books.pages > (SELECT avg(books.pages)"), "{text}");
}

#[test]
fn both_means_different_rows() {
    let text = sql("countries of authors who wrote both crime and poetry books");
    assert!(text.contains(" INTERSECT "), "{text}");
}

#[test]
fn times_become_ranges() {
    let text = sql("How many loans in Q1 2021?");
    assert!(text.contains("loans.loan_date >= '2021-01-01' AND loans.loan_date < '2021-04-01'"), "{text}");
    let text = sql("How many loans in the last 30 days?");
    assert!(text.contains(">= '2022-12-12'"), "{text}");
    let text = sql("total fee amount by month in 2021");
    assert!(text.contains("strftime('%Y-%m-01', loans.loan_date)"), "{text}");
}

#[test]
fn open_requests_give_several_queries_and_charts() {
    let reading = reading("Analyze 2021 loans of branch Harbour; trends and charts", None);
    assert_eq!(reading.intent, Intent::Overview);
    assert!(reading.queries.len() >= 3);
    assert!(reading.charts.iter().any(|chart| chart.kind == ChartKind::Line));
    assert!(reading.queries.iter().any(|query| query.name == "compared"));
    for chart in &reading.charts {
        let items = &reading.queries[chart.query].query.items;
        assert!(items.iter().any(|item| item.name == chart.x), "{chart:?}");
    }
}

#[test]
fn follow_ups_change_what_they_mention() {
    let first = reading("titles of crime books", None);
    let second = reading("what about poetry?", Some(&first));
    assert!(sql_of(&second).ends_with("WHERE books.genre = 'poetry'"), "{}", sql_of(&second));
    let third = reading("how many are there?", Some(&second));
    assert!(sql_of(&third).starts_with("SELECT count(*)"), "{}", sql_of(&third));
    let ordered = reading("sort them by pages", Some(&first));
    assert!(sql_of(&ordered).ends_with("ORDER BY books.pages ASC"), "{}", sql_of(&ordered));
    let more = reading("also show their pages", Some(&first));
    assert_eq!(more.sketch.targets.len(), 2);
}

#[test]
fn follow_ups_turn_comparisons_and_group_what_was_listed() {
    let first = reading("titles of books with more than 300 pages", None);
    assert!(sql_of(&first).contains("books.pages > 300"), "{}", sql_of(&first));
    let second = reading("how about less than?", Some(&first));
    assert!(sql_of(&second).contains("books.pages < 300"), "{}", sql_of(&second));
    let genres = reading("what are the different genres of books?", None);
    let longest = reading("for each of those, what is the maximum pages?", Some(&genres));
    let sql = sql_of(&longest);
    assert!(sql.contains("max(books.pages)") && sql.contains("GROUP BY books.genre"), "{sql}");
}

#[test]
fn follow_up_of_an_analysis_is_an_analysis() {
    let first = reading("Analyze 2021 loans of branch Harbour", None);
    let second = reading("and North?", Some(&first));
    assert_eq!(second.intent, Intent::Overview);
    assert!(sql_of(&second).contains("loans.branch = 'North'"));
    assert!(!sql_of(&second).contains("Harbour"));
}

#[test]
fn says_when_nothing_fits() {
    let outcome = read("what is the weather in Paris", &library(), None, today(), &NoMeaning);
    let Outcome::Unanswerable { can_answer, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(can_answer.len(), 3);
}

#[test]
fn unexplained_words_lower_the_confidence() {
    let sure = reading("How many books are there?", None).confidence;
    let unsure = reading("How many gloopy frobnicated books are there?", None).confidence;
    assert!(sure >= 0.75 && unsure < sure, "{sure} {unsure}");
}

#[test]
fn odd_input_is_survived() {
    let long = "books ".repeat(4_000);
    let odd = [
        "",
        " ",
        "???",
        "\"",
        "'''",
        "“”",
        "💥 books 💥",
        "% of",
        "top",
        "not",
        "between 3 and",
        "by by by",
        "last",
        long.as_str(),
    ];
    for question in odd {
        let first = read(question, &library(), None, today(), &NoMeaning);
        if let Outcome::Read(reading) = &first {
            let _ = read(question, &library(), Some(reading), today(), &NoMeaning);
        }
        let _ = read(question, &Catalogue::default(), None, today(), &NoMeaning);
    }
}

#[test]
fn a_reading_survives_serialization() {
    let reading = reading("total fee amount by month in 2021", None);
    let text = serde_json::to_string(&reading).unwrap();
    assert_eq!(serde_json::from_str::<Reading>(&text).unwrap(), reading);
}

#[test]
fn literals_and_names_are_quoted() {
    let mut catalogue = library();
    catalogue.tables[0].columns[1].values.push(("O'Hara \"X\"".to_owned(), 1));
    let outcome = read("country of author O'Hara \"X\"", &catalogue, None, today(), &NoMeaning);
    let Outcome::Read(reading) = outcome else { panic!("{outcome:?}") };
    assert!(write(&reading.queries[0].query, Dialect::Postgres).contains("lower('O''Hara \"X\"')"));
    assert!(write(&reading.queries[0].query, Dialect::MySql).contains("FROM `authors`"));
}

#[test]
fn knows_what_a_dialect_lacks() {
    let reading = reading("median pages per genre", None);
    assert!(!supports(&reading.queries[0].query, Dialect::Sqlite));
    assert!(supports(&reading.queries[0].query, Dialect::DataFusion));
}
